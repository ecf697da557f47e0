//! pcapng files (draft-ietf-opsawg-pcapng).

use super::{Endian, length_u32};
use std::io::{self, Write};

/// Option codes that builders and tests name; all blocks share `COMMENT`.
pub mod option_code {
    /// A remark, UTF-8.
    pub const COMMENT: u16 = 1;
    /// Section header: the machine.
    pub const SHB_HARDWARE: u16 = 2;
    /// Interface description: its name.
    pub const IF_NAME: u16 = 2;
    /// Interface description: what it is.
    pub const IF_DESCRIPTION: u16 = 3;
    /// Interface description: its speed in bits a second, 64 bits.
    pub const IF_SPEED: u16 = 8;
    /// Interface description: resolution of its times, one byte.
    pub const IF_TSRESOL: u16 = 9;
    /// Interface description: seconds to add to its times, 64 bits.
    pub const IF_TSOFFSET: u16 = 14;
}

/// An interface as its description block has it.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    /// Link type, see [`link_type`](super::link_type).
    pub link_type: u16,
    /// Longest capture of a packet in bytes; 0 for no limit.
    pub snaplen: u32,
    /// Resolution of its times: `None` means microseconds and no option, else 10 to the power of
    /// minus this, or 2 to the power of minus the low seven bits if the high bit is set.
    pub resolution: Option<u8>,
    /// Seconds that its times lack and a reader adds.
    pub offset_s: Option<i64>,
    /// Further options, code and value.
    pub options: Vec<(u16, Vec<u8>)>,
}

impl Interface {
    /// An interface with microseconds and no snaplen.
    #[must_use]
    pub fn new(link_type: u16) -> Self {
        Self {
            link_type,
            ..Self::default()
        }
    }

    /// Sets the name of the interface.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        self.option(option_code::IF_NAME, name.as_bytes())
    }

    /// Adds an option.
    #[must_use]
    pub fn option(mut self, code: u16, value: &[u8]) -> Self {
        self.options.push((code, value.to_vec()));
        self
    }

    /// The time as this interface counts it.
    fn ticks(&self, time_ns: u64) -> u64 {
        let offset_ns = i128::from(self.offset_s.unwrap_or(0)) * 1_000_000_000;
        let ns = (i128::from(time_ns) - offset_ns).max(0) as u128;
        let ticks = match self.resolution.unwrap_or(6) {
            power if power & 0x80 != 0 => (ns << u32::from(power & 0x3f)) / 1_000_000_000,
            power if power <= 9 => ns / 10_u128.pow(9 - u32::from(power)),
            power => ns * 10_u128.pow(u32::from(power.min(18)) - 9),
        };
        ticks as u64
    }
}

/// Writes a pcapng file.
///
/// ```
/// use weir_samples::capture::{Endian, Interface, PcapngWriter, link_type};
///
/// let mut file = Vec::new();
/// let mut writer = PcapngWriter::new(&mut file, Endian::Little, &[])?;
/// let uplink = writer.interface(Interface::new(link_type::ETHERNET).name("uplink"))?;
/// writer.packet(uplink, 1_700_000_000_000_000_000, 60, &[0; 60], &[])?;
/// assert_eq!(file.len() % 4, 0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct PcapngWriter<W> {
    out: W,
    endian: Endian,
    interfaces: Vec<Interface>,
    records: u64,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the first section's header, with options.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn new(out: W, endian: Endian, options: &[(u16, &[u8])]) -> io::Result<Self> {
        let mut writer = Self {
            out,
            endian,
            interfaces: Vec::new(),
            records: 0,
        };
        writer.section(endian, options)?;
        Ok(writer)
    }

    /// Begins a section: its own byte order, and no interface yet.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn section(&mut self, endian: Endian, options: &[(u16, &[u8])]) -> io::Result<()> {
        self.endian = endian;
        self.interfaces.clear();
        let mut body = endian.u32(0x1a2b_3c4d).to_vec();
        body.extend_from_slice(&endian.u16(1));
        body.extend_from_slice(&endian.u16(0));
        // The section's length is not known in a single pass.
        body.extend_from_slice(&[0xff; 8]);
        self.append_options(&mut body, options);
        self.block(0x0a0d_0d0a, &body)
    }

    /// Describes an interface and gives its number within the section.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn interface(&mut self, interface: Interface) -> io::Result<u32> {
        let mut body = self.endian.u16(interface.link_type).to_vec();
        body.extend_from_slice(&[0, 0]);
        body.extend_from_slice(&self.endian.u32(interface.snaplen));
        let resolution = interface.resolution.map(|power| [power]);
        let offset = interface
            .offset_s
            .map(|seconds| self.endian.u64(seconds as u64));
        let mut options: Vec<(u16, &[u8])> = Vec::new();
        options.extend(
            interface
                .options
                .iter()
                .map(|(code, value)| (*code, value.as_slice())),
        );
        options.extend(
            resolution
                .iter()
                .map(|value| (option_code::IF_TSRESOL, &value[..])),
        );
        options.extend(
            offset
                .iter()
                .map(|value| (option_code::IF_TSOFFSET, &value[..])),
        );
        self.append_options(&mut body, &options);
        self.block(1, &body)?;
        self.interfaces.push(interface);
        Ok(length_u32(self.interfaces.len() - 1))
    }

    /// Writes an enhanced packet block; `data` beyond the interface's snaplen is cut off.
    ///
    /// # Errors
    /// The errors of the output. A number that [`Self::interface`] has not given is written with
    /// microseconds and no snaplen: tests need such files.
    pub fn packet(
        &mut self,
        interface: u32,
        time_ns: u64,
        wire_len: u32,
        data: &[u8],
        options: &[(u16, &[u8])],
    ) -> io::Result<()> {
        let head = self.endian.u32(interface).to_vec();
        self.packet_block(6, head, interface, (time_ns, wire_len), data, options)
    }

    /// Writes a packet block, the obsolete type 2, with a count of packets dropped before it.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn obsolete_packet(
        &mut self,
        interface: u16,
        drops: u16,
        time_ns: u64,
        wire_len: u32,
        data: &[u8],
    ) -> io::Result<()> {
        let mut head = self.endian.u16(interface).to_vec();
        head.extend_from_slice(&self.endian.u16(drops));
        self.packet_block(
            2,
            head,
            u32::from(interface),
            (time_ns, wire_len),
            data,
            &[],
        )
    }

    /// Writes a simple packet block, which belongs to interface 0 and has no time.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn simple_packet(&mut self, wire_len: u32, data: &[u8]) -> io::Result<()> {
        let mut body = self.endian.u32(wire_len).to_vec();
        body.extend_from_slice(self.cut(0, data));
        self.records += 1;
        self.block(3, &body)
    }

    /// Writes a name resolution block of IPv4 and IPv6 addresses.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn names(&mut self, names: &[(std::net::IpAddr, &str)]) -> io::Result<()> {
        let mut body = Vec::new();
        for (address, name) in names {
            let (kind, mut value) = match address {
                std::net::IpAddr::V4(address) => (1, address.octets().to_vec()),
                std::net::IpAddr::V6(address) => (2, address.octets().to_vec()),
            };
            value.extend_from_slice(name.as_bytes());
            value.push(0);
            self.append_tlv(&mut body, kind, &value);
        }
        body.extend_from_slice(&[0; 4]);
        self.block(4, &body)
    }

    /// Writes a decryption secrets block of TLS keys (type 544C534B).
    ///
    /// # Errors
    /// The errors of the output.
    pub fn secrets(&mut self, keys: &[u8]) -> io::Result<()> {
        let mut body = self.endian.u32(0x544c_534b).to_vec();
        body.extend_from_slice(&self.endian.u32(length_u32(keys.len())));
        body.extend_from_slice(keys);
        self.block(10, &body)
    }

    /// Writes an interface statistics block: packets received and dropped.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn statistics(
        &mut self,
        interface: u32,
        time_ns: u64,
        received: u64,
        dropped: u64,
    ) -> io::Result<()> {
        let ticks = self.ticks(interface, time_ns);
        let mut body = self.endian.u32(interface).to_vec();
        body.extend_from_slice(&self.endian.u32((ticks >> 32) as u32));
        body.extend_from_slice(&self.endian.u32(ticks as u32));
        let (received, dropped) = (self.endian.u64(received), self.endian.u64(dropped));
        self.append_options(&mut body, &[(4, &received), (5, &dropped)]);
        self.block(5, &body)
    }

    /// Writes a block of any type; the body is padded to four bytes.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let padded_len = body.len().next_multiple_of(4);
        let total = self.endian.u32(length_u32(padded_len + 12));
        let mut block = self.endian.u32(kind).to_vec();
        block.extend_from_slice(&total);
        block.extend_from_slice(body);
        block.resize(padded_len + 8, 0);
        block.extend_from_slice(&total);
        self.out.write_all(&block)
    }

    /// Packets written so far.
    #[must_use]
    pub const fn records(&self) -> u64 {
        self.records
    }

    /// Returns the output.
    #[must_use]
    pub fn into_inner(self) -> W {
        self.out
    }

    fn packet_block(
        &mut self,
        kind: u32,
        mut body: Vec<u8>,
        interface: u32,
        (time_ns, wire_len): (u64, u32),
        data: &[u8],
        options: &[(u16, &[u8])],
    ) -> io::Result<()> {
        let captured = self.cut(interface, data);
        let ticks = self.ticks(interface, time_ns);
        let numbers = [
            (ticks >> 32) as u32,
            ticks as u32,
            length_u32(captured.len()),
            wire_len,
        ];
        for number in numbers {
            body.extend_from_slice(&self.endian.u32(number));
        }
        body.extend_from_slice(captured);
        body.resize(body.len().next_multiple_of(4), 0);
        self.append_options(&mut body, options);
        self.records += 1;
        self.block(kind, &body)
    }

    fn cut<'a>(&self, interface: u32, data: &'a [u8]) -> &'a [u8] {
        match self.interfaces.get(interface as usize) {
            Some(Interface { snaplen, .. }) if *snaplen > 0 => {
                &data[..data.len().min(*snaplen as usize)]
            }
            _ => data,
        }
    }

    fn ticks(&self, interface: u32, time_ns: u64) -> u64 {
        match self.interfaces.get(interface as usize) {
            Some(interface) => interface.ticks(time_ns),
            None => time_ns / 1_000,
        }
    }

    fn append_options(&self, body: &mut Vec<u8>, options: &[(u16, &[u8])]) {
        for (code, value) in options {
            self.append_tlv(body, *code, value);
        }
        if !options.is_empty() {
            body.extend_from_slice(&[0; 4]);
        }
    }

    fn append_tlv(&self, body: &mut Vec<u8>, code: u16, value: &[u8]) {
        // Longer values have no place in an option: its length has 16 bits.
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        body.extend_from_slice(&self.endian.u16(code));
        body.extend_from_slice(&self.endian.u16(value.len() as u16));
        body.extend_from_slice(value);
        body.resize(body.len().next_multiple_of(4), 0);
    }
}
