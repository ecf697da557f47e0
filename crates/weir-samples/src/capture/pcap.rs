//! Classic pcap files.

use super::{Endian, length_u32};
use std::io::{self, Write};

/// The format of records that a pcap file's magic number stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PcapVariant {
    /// Microseconds (magic A1B2C3D4).
    #[default]
    Micro,
    /// Nanoseconds (magic A1B23C4D).
    Nano,
    /// Microseconds and eight more bytes a record, as old patched Linux systems wrote (magic
    /// A1B2CD34).
    Modified,
}

/// Writes a pcap file.
///
/// ```
/// use weir_samples::capture::{Endian, PcapVariant, PcapWriter};
///
/// let mut file = Vec::new();
/// let mut writer = PcapWriter::new(&mut file, 1, 65_535, PcapVariant::Nano, Endian::Big)?;
/// writer.packet(1_700_000_000_000_000_001, 60, &[0; 60])?;
/// assert_eq!(file.len(), 24 + 16 + 60);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct PcapWriter<W> {
    out: W,
    endian: Endian,
    variant: PcapVariant,
    snaplen: u32,
    records: u64,
}

impl<W: Write> PcapWriter<W> {
    /// Writes the file header.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn new(
        mut out: W,
        link_type: u16,
        snaplen: u32,
        variant: PcapVariant,
        endian: Endian,
    ) -> io::Result<Self> {
        let magic = match variant {
            PcapVariant::Micro => 0xa1b2_c3d4,
            PcapVariant::Nano => 0xa1b2_3c4d,
            PcapVariant::Modified => 0xa1b2_cd34,
        };
        let mut header = Vec::with_capacity(24);
        header.extend_from_slice(&endian.u32(magic));
        header.extend_from_slice(&endian.u16(2));
        header.extend_from_slice(&endian.u16(4));
        // Time zone and accuracy, which no writer fills in.
        header.extend_from_slice(&[0; 8]);
        header.extend_from_slice(&endian.u32(snaplen));
        header.extend_from_slice(&endian.u32(u32::from(link_type)));
        out.write_all(&header)?;
        Ok(Self {
            out,
            endian,
            variant,
            snaplen,
            records: 0,
        })
    }

    /// Writes a record; `data` beyond the snaplen is cut off. Seconds beyond 32 bits wrap.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn packet(&mut self, time_ns: u64, wire_len: u32, data: &[u8]) -> io::Result<()> {
        let captured = &data[..data.len().min(self.snaplen as usize)];
        let nanoseconds = (time_ns % 1_000_000_000) as u32;
        let fraction = match self.variant {
            PcapVariant::Nano => nanoseconds,
            PcapVariant::Micro | PcapVariant::Modified => nanoseconds / 1_000,
        };
        let numbers = [
            (time_ns / 1_000_000_000) as u32,
            fraction,
            length_u32(captured.len()),
            wire_len,
        ];
        let mut header = Vec::with_capacity(24);
        for number in numbers {
            header.extend_from_slice(&self.endian.u32(number));
        }
        if self.variant == PcapVariant::Modified {
            // Interface index, protocol, packet type, padding.
            header.extend_from_slice(&self.endian.u32(2));
            header.extend_from_slice(&[0; 4]);
        }
        self.out.write_all(&header)?;
        self.out.write_all(captured)?;
        self.records += 1;
        Ok(())
    }

    /// Records written so far.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.records
    }

    /// Returns the output.
    #[must_use]
    pub fn into_inner(self) -> W {
        self.out
    }
}
