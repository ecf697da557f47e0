//! ERF, the extensible record format of Endace's capture cards.

use std::io::{self, Write};

/// Record types (the low seven bits of the type byte).
pub mod erf_type {
    /// HDLC frame: Cisco HDLC, PPP or frame relay.
    pub const HDLC: u8 = 1;
    /// Ethernet frame, behind an offset and a padding byte.
    pub const ETH: u8 = 2;
    /// ATM cell of 52 bytes, without HEC.
    pub const ATM: u8 = 3;
    /// AAL5 unit behind the four bytes of its cells' header.
    pub const AAL5: u8 = 4;
    /// HDLC frame behind a multi-channel header.
    pub const MC_HDLC: u8 = 5;
    /// ATM cell behind a multi-channel header.
    pub const MC_ATM: u8 = 7;
    /// AAL5 unit behind a multi-channel header and the four bytes of its cells' header.
    pub const MC_AAL5: u8 = 9;
    /// IPv4 packet.
    pub const IPV4: u8 = 22;
    /// IPv6 packet.
    pub const IPV6: u8 = 23;
    /// A record that only fills space.
    pub const PAD: u8 = 48;
}

/// The flags byte beside the interface number (its low two bits).
pub mod erf_flags {
    /// Records vary in length: each is as long as its packet.
    pub const VARYING_LENGTH: u8 = 0x04;
    /// The receiver saw an error on the line.
    pub const RECEIVE_ERROR: u8 = 0x10;
    /// The card's own data stream had an error.
    pub const INTERNAL_ERROR: u8 = 0x20;
}

/// One ERF record.
#[derive(Clone, Debug, Default)]
pub struct ErfRecord<'a> {
    /// Record type, see [`erf_type`]; without the high bit, which extension headers set.
    pub kind: u8,
    /// Interface number in the low two bits, and [`erf_flags`].
    pub flags: u8,
    /// Extension headers, each eight bytes on the wire. The type is the high byte, without the
    /// high bit that says that another one follows.
    pub extensions: &'a [u64],
    /// Losses since the record before; for types with colour, the colour.
    pub loss_counter: u16,
    /// The multi-channel header of types 5 to 9.
    pub multi_channel: Option<u32>,
    /// Length on the wire; 0 stands for the payload's length.
    pub wire_len: u16,
    /// The captured bytes.
    pub payload: &'a [u8],
}

/// Writes ERF records, each padded to a multiple of eight bytes.
///
/// ```
/// use weir_samples::capture::{ErfRecord, ErfWriter, erf_flags, erf_type, mc_hdlc};
///
/// let mut file = Vec::new();
/// let mut writer = ErfWriter::new(&mut file);
/// let frame = [0x18, 0x41, 0x03, 0xcc, 0x45];
/// writer.record(1_700_000_000_500_000_000, &ErfRecord {
///     kind: erf_type::MC_HDLC,
///     flags: erf_flags::VARYING_LENGTH | 1,
///     multi_channel: Some(mc_hdlc(37, 0)),
///     payload: &frame,
///     ..ErfRecord::default()
/// })?;
/// assert_eq!((file.len(), file[3], file[8], file[9]), (32, 0x80, 5, 5));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct ErfWriter<W> {
    out: W,
    records: u64,
}

impl<W: Write> ErfWriter<W> {
    /// ERF has no file header: nothing is written yet.
    pub const fn new(out: W) -> Self {
        Self { out, records: 0 }
    }

    /// Writes a record.
    ///
    /// # Errors
    /// The errors of the output, and `InvalidInput` when the record exceeds the 65,535 bytes that its
    /// length can say.
    pub fn record(&mut self, time_ns: u64, record: &ErfRecord<'_>) -> io::Result<()> {
        let mut bytes = erf_timestamp(time_ns).to_le_bytes().to_vec();
        let extended = if record.extensions.is_empty() {
            0
        } else {
            0x80
        };
        bytes.extend_from_slice(&[record.kind | extended, record.flags, 0, 0]);
        bytes.extend_from_slice(&record.loss_counter.to_be_bytes());
        let wire_len = match record.wire_len {
            0 => record.payload.len() as u16,
            wire_len => wire_len,
        };
        bytes.extend_from_slice(&wire_len.to_be_bytes());
        for (index, extension) in record.extensions.iter().enumerate() {
            let more = u64::from(index + 1 < record.extensions.len()) << 63;
            bytes.extend_from_slice(&(extension | more).to_be_bytes());
        }
        if let Some(header) = record.multi_channel {
            bytes.extend_from_slice(&header.to_be_bytes());
        }
        if record.kind == erf_type::ETH {
            // The two bytes are the offset of the record in the frame, and padding that aligns the IP header.
            bytes.extend_from_slice(&[0, 0]);
        }
        bytes.extend_from_slice(record.payload);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let record_len = u16::try_from(bytes.len())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "erf record too long"))?;
        bytes[10..12].copy_from_slice(&record_len.to_be_bytes());
        self.out.write_all(&bytes)?;
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

/// The multi-channel header of an HDLC record: a connection number of ten bits and error bits as
/// they stand in the word's high byte (01 FCS error, 02 short, 04 long, 08 aborted, 10 octet error,
/// 20 lost byte, 40 first record).
#[must_use]
pub const fn mc_hdlc(connection: u16, errors: u8) -> u32 {
    (connection as u32 & 0x3ff) | ((errors as u32) << 24)
}

/// The multi-channel header of an ATM or AAL5 record: a connection number of ten bits and a port of
/// four.
#[must_use]
pub const fn mc_atm(connection: u16, port: u8) -> u32 {
    (connection as u32 & 0x3ff) | ((port as u32 & 0x0f) << 16)
}

/// Nanoseconds as ERF counts time: seconds in the high 32 bits, 2^-32 s in the low ones, rounded to
/// the nearest.
#[inline]
#[must_use]
pub const fn erf_timestamp(time_ns: u64) -> u64 {
    let seconds = time_ns / 1_000_000_000;
    let nanoseconds = time_ns % 1_000_000_000;
    // The rounding cannot carry: 999,999,999 ns are 4.29 units short of a second.
    (seconds << 32) | (((nanoseconds << 32) + 500_000_000) / 1_000_000_000)
}
