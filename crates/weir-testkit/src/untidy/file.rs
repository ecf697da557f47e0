//! Captures out of files and into files: pcap and pcapng.

use std::io;

use super::{Capture, Frame};
use crate::capture::{Endian, Interface, PcapngWriter};

impl Capture {
    /// Reads a pcap or pcapng file, up to the first record that is not whole.
    ///
    /// # Errors
    /// The reason why the file is not such a capture.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        match bytes.get(..4) {
            Some([0x0a, 0x0d, 0x0d, 0x0a]) => Ok(pcapng(bytes)),
            Some(magic) => pcap(bytes, magic),
            None => Err("no capture: fewer than four octets".to_owned()),
        }
    }

    /// Writes a pcapng file whose times are nanoseconds, and of every other interface picoseconds behind an offset, so that a reader has
    /// to go by what each interface says of its own.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write(&self) -> io::Result<Vec<u8>> {
        let mut file = Vec::new();
        let mut writer = PcapngWriter::new(&mut file, Endian::Little, &[])?;
        let offset_s = self.offset_s();
        for (number, link_type) in self.link_types.iter().enumerate() {
            let offset_s = offset_s.filter(|_| number % 2 == 1);
            let resolution = if offset_s.is_some() { 12 } else { 9 };
            writer.interface(Interface {
                resolution: Some(resolution),
                offset_s,
                ..Interface::new(*link_type)
            })?;
        }
        for frame in &self.frames {
            writer.packet(
                frame.interface,
                frame.time_ns,
                frame.wire_len,
                &frame.bytes,
                &[],
            )?;
        }
        Ok(file)
    }

    /// The seconds of the earliest time, where 64 bits have room for the picoseconds from there to the latest one.
    fn offset_s(&self) -> Option<i64> {
        let times = self.frames.iter().map(|frame| frame.time_ns);
        let (first, last) = (times.clone().min()?, times.max()?);
        let offset_s = (first / 1_000_000_000).cast_signed();
        (last - first < SPAN_NS_MAX).then_some(offset_s)
    }

    fn push(&mut self, interface: u32, time_ns: u64, wire_len: u32, bytes: &[u8]) {
        self.frames.push(Frame {
            origin: Some(self.frames.len()),
            time_ns,
            wire_len,
            interface,
            bytes: bytes.to_vec(),
        });
    }
}

/// The longest time from the first frame to the last one that 64 bits have in picoseconds, with a second before it.
const SPAN_NS_MAX: u64 = 10_000_000_000_000_000;

/// Numbers of a file.
#[derive(Clone, Copy)]
struct Numbers<'b> {
    bytes: &'b [u8],
    is_big: bool,
}

impl Numbers<'_> {
    fn u16(self, at: usize) -> Option<u16> {
        let octets = self.bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(match self.is_big {
            true => u16::from_be_bytes(octets),
            false => u16::from_le_bytes(octets),
        })
    }

    fn u32(self, at: usize) -> Option<u32> {
        let octets = self.bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(match self.is_big {
            true => u32::from_be_bytes(octets),
            false => u32::from_le_bytes(octets),
        })
    }

    fn len(self, at: usize) -> Option<usize> {
        self.u32(at).map(|len| len as usize)
    }
}

fn pcap(bytes: &[u8], magic: &[u8]) -> Result<Capture, String> {
    let (is_big, unit_ns, header_len) = match magic {
        [0xa1, 0xb2, 0xc3, 0xd4] => (true, 1_000, 16),
        [0xd4, 0xc3, 0xb2, 0xa1] => (false, 1_000, 16),
        [0xa1, 0xb2, 0x3c, 0x4d] => (true, 1, 16),
        [0x4d, 0x3c, 0xb2, 0xa1] => (false, 1, 16),
        [0xa1, 0xb2, 0xcd, 0x34] => (true, 1_000, 24),
        [0x34, 0xcd, 0xb2, 0xa1] => (false, 1_000, 24),
        _ => return Err("neither pcap nor pcapng".to_owned()),
    };
    let numbers = Numbers { bytes, is_big };
    let link_type = numbers.u32(20).ok_or("the file header is not whole")?;
    let mut capture = Capture {
        // The high bits say whether frames end with a check sequence.
        link_types: vec![link_type as u16],
        frames: Vec::new(),
    };
    let mut at = 24;
    let mut record = || {
        let seconds = u64::from(numbers.u32(at)?);
        let fraction = u64::from(numbers.u32(at + 4)?);
        let len = numbers.len(at + 8)?;
        let wire_len = numbers.u32(at + 12)?;
        let data = bytes.get(at + header_len..(at + header_len).checked_add(len)?)?;
        capture.push(
            0,
            seconds * 1_000_000_000 + fraction * unit_ns,
            wire_len,
            data,
        );
        at += header_len + len;
        Some(())
    };
    while record().is_some() {}
    Ok(capture)
}

/// The description of an interface in a section.
#[derive(Clone, Copy)]
struct InterfaceDescription {
    /// The number of the interface, counted over all sections.
    number: u32,
    resolution: u8,
    offset_s: i64,
}

impl InterfaceDescription {
    fn time_ns(&self, ticks: u64) -> u64 {
        let ticks = u128::from(ticks);
        let ns = match self.resolution {
            power if power & 0x80 != 0 => (ticks * 1_000_000_000) >> u32::from(power & 0x3f),
            power if power <= 9 => ticks * 10_u128.pow(9 - u32::from(power)),
            power => ticks / 10_u128.pow(u32::from(power.min(38)) - 9),
        };
        let ns = i128::try_from(ns).unwrap_or(i128::MAX);
        let ns = ns.saturating_add(i128::from(self.offset_s) * 1_000_000_000);
        u64::try_from(ns.max(0)).unwrap_or(u64::MAX)
    }
}

fn pcapng(bytes: &[u8]) -> Capture {
    let mut capture = Capture::default();
    let mut interfaces: Vec<InterfaceDescription> = Vec::new();
    let mut is_big = false;
    let mut at = 0;
    while let Some(kind) = bytes.get(at..at + 4) {
        if kind == [0x0a, 0x0d, 0x0d, 0x0a] {
            interfaces.clear();
            is_big = bytes.get(at + 8) == Some(&0x1a);
        }
        let numbers = Numbers { bytes, is_big };
        let (Some(kind), Some(len)) = (numbers.u32(at), numbers.len(at + 4)) else {
            break;
        };
        let Some(end) = at
            .checked_add(len)
            .filter(|end| len >= 12 && *end <= bytes.len())
        else {
            break;
        };
        let mut packet = |interface: u32, ticks: Option<u64>, cap_len, wire_len, from: usize| {
            let described = interfaces.get(interface as usize)?;
            let time_ns = ticks.map_or(0, |ticks| described.time_ns(ticks));
            let data = bytes.get(from..from.checked_add(cap_len)?)?;
            capture.push(described.number, time_ns, wire_len, data);
            Some(())
        };
        let taken = match kind {
            1 => describe(numbers, at, end).map(|(link_type, mut described)| {
                described.number = capture.link_types.len() as u32;
                capture.link_types.push(link_type);
                interfaces.push(described);
            }),
            2 | 6 => (|| {
                let interface = match kind {
                    2 => u32::from(numbers.u16(at + 8)?),
                    _ => numbers.u32(at + 8)?,
                };
                let ticks =
                    u64::from(numbers.u32(at + 12)?) << 32 | u64::from(numbers.u32(at + 16)?);
                let wire_len = numbers.u32(at + 24)?;
                packet(
                    interface,
                    Some(ticks),
                    numbers.len(at + 20)?,
                    wire_len,
                    at + 28,
                )
            })(),
            3 => (|| {
                let wire_len = numbers.u32(at + 8)?;
                packet(
                    0,
                    None,
                    (wire_len as usize).min(len - 16),
                    wire_len,
                    at + 12,
                )
            })(),
            _ => Some(()),
        };
        if taken.is_none() {
            break;
        }
        at = end;
    }
    capture
}

/// An interface description block.
fn describe(numbers: Numbers<'_>, at: usize, end: usize) -> Option<(u16, InterfaceDescription)> {
    let link_type = numbers.u16(at + 8)?;
    let mut described = InterfaceDescription {
        number: 0,
        resolution: 6,
        offset_s: 0,
    };
    let mut option = at + 16;
    while option + 4 <= end - 4 {
        let (code, len) = (numbers.u16(option)?, usize::from(numbers.u16(option + 2)?));
        let value = numbers.bytes.get(option + 4..option + 4 + len)?;
        match (code, value) {
            (0, _) => break,
            (9, [resolution]) => described.resolution = *resolution,
            (14, value) if len == 8 => {
                let octets = value.try_into().ok()?;
                described.offset_s = match numbers.is_big {
                    true => i64::from_be_bytes(octets),
                    false => i64::from_le_bytes(octets),
                };
            }
            _ => {}
        }
        option += 4 + len.next_multiple_of(4);
    }
    Some((link_type, described))
}
