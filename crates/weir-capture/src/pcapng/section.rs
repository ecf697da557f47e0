//! The blocks of one section: bytes in, values out.

use weir_bytes::{Endian, Reader as Bytes, Short};

use super::{
    clock::{Clock, Resolution},
    options::OptionIter,
};
use crate::{Interface, ReadOptions, error::Reason};

/// The state of the current section.
#[derive(Debug)]
pub(super) struct SectionState {
    endian: Endian,
    /// Number of the section, counted from 0; `None` before the first.
    number: Option<u32>,
    sources: Vec<PcapngInterface>,
}

/// The parameters of an interface for its packets.
#[derive(Debug)]
struct PcapngInterface {
    clock: Clock,
    record_bytes_max: u32,
}

/// The two numbers at the head of each block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockHeader {
    pub(super) kind: BlockKind,
    /// Bytes of the whole block as the header says.
    pub(super) len: u32,
}

/// The handling of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Section,
    Interface,
    Enhanced,
    Simple,
    Obsolete,
    /// Not a packet, but Wireshark gives it a frame number.
    CountedOther,
    /// Secrets by which packets are decrypted.
    Secrets,
    /// Names, statistics and unknown blocks.
    Other,
}

impl BlockKind {
    /// Bytes of a packet block before the packet data.
    #[inline]
    pub(super) fn packet_head_len(self) -> usize {
        match self {
            Self::Simple => SIMPLE_HEAD_LEN,
            _ => PACKET_HEAD_LEN,
        }
    }
}

/// The fixed part of a packet block.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketBlock {
    pub(super) interface: u32,
    pub(super) ticks: Option<u64>,
    pub(super) captured: u32,
    pub(super) wire_len: u32,
}

/// The values of a packet's options.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PacketOptions {
    /// Position in the bytes of the options, and length, of the first comment.
    pub(super) comment: Option<(usize, usize)>,
    pub(super) flags: Option<u32>,
}

/// Whether a stream with this beginning is pcapng: a section header block with its byte-order magic.
pub(crate) fn sniff(prefix: &[u8]) -> bool {
    let Some((kind, rest)) = prefix.split_first_chunk::<4>() else {
        return false;
    };
    *kind == SECTION_TYPE.to_be_bytes()
        && rest
            .get(4..8)
            .is_none_or(|magic| section_endian(magic).is_some())
}

/// The byte order that a section's magic shows.
fn section_endian(magic: &[u8]) -> Option<Endian> {
    match *magic.first_chunk::<4>()? {
        [0x1a, 0x2b, 0x3c, 0x4d] => Some(Endian::Big),
        [0x4d, 0x3c, 0x2b, 0x1a] => Some(Endian::Little),
        _ => None,
    }
}

impl SectionState {
    pub(super) fn new() -> Self {
        Self {
            endian: Endian::Little,
            number: None,
            sources: Vec::new(),
        }
    }

    /// Reads the head of a block from its first 12 bytes. A section header brings its own byte
    /// order, which holds from there on.
    #[inline]
    pub(super) fn block_header(
        &mut self,
        head: &[u8; BLOCK_LEN_MIN],
    ) -> Result<BlockHeader, Reason> {
        let [k0, k1, k2, k3, l0, l1, l2, l3, magic @ ..] = *head;
        let kind = self.u32([k0, k1, k2, k3]);
        if kind == SECTION_TYPE {
            let Some(endian) = section_endian(&magic) else {
                return Err(Reason::Unexpected {
                    part: "the byte-order magic of the section",
                    expected: "0x1a2b3c4d in either order",
                    found: u64::from(u32::from_be_bytes(magic)),
                });
            };
            self.endian = endian;
        }
        let len = self.u32([l0, l1, l2, l3]);
        let header = BlockHeader {
            kind: match kind {
                SECTION_TYPE => BlockKind::Section,
                1 => BlockKind::Interface,
                2 => BlockKind::Obsolete,
                3 => BlockKind::Simple,
                ENHANCED_TYPE => BlockKind::Enhanced,
                10 => BlockKind::Secrets,
                // Custom blocks, systemd journal entries, sysdig events.
                0x0bad | 0x4000_0bad | 9 | 0x204 | 0x216 | 0x221 => BlockKind::CountedOther,
                _ => BlockKind::Other,
            },
            len,
        };
        if self.number.is_none() && header.kind != BlockKind::Section {
            return Err(Reason::Unexpected {
                part: "the type of the first block",
                expected: "the type of a section header",
                found: u64::from(kind),
            });
        }
        if (len as usize) < BLOCK_LEN_MIN {
            return Err(Reason::Unexpected {
                part: "the length of the block",
                expected: "at least 12",
                found: u64::from(len),
            });
        }
        Ok(header)
    }

    /// Length of the block at the start of `bytes`, when it looks like one of this section: of a known
    /// type, and with the same length at both ends if both are there.
    pub(super) fn plausible_block(&self, bytes: &[u8]) -> Option<usize> {
        let [k0, k1, k2, k3, l0, l1, l2, l3] = *bytes.first_chunk()?;
        let known = matches!(
            self.u32([k0, k1, k2, k3]),
            SECTION_TYPE | 1..=6 | 9 | 10 | 0x0bad | 0x4000_0bad | 0x204 | 0x216 | 0x221
        );
        let len = self.u32([l0, l1, l2, l3]);
        let closing_at = (len as usize).checked_sub(4)?;
        let closes = match bytes.get(closing_at..).and_then(<[u8]>::first_chunk) {
            Some(closing) => self.u32(*closing) == len,
            // The option is behind the bytes that are there.
            None => true,
        };
        (known && len.is_multiple_of(4) && len as usize >= BLOCK_LEN_MIN && closes)
            .then_some(len as usize)
    }

    /// Begins the next section. `body` is the block without its head and its closing length.
    pub(super) fn begin(&mut self, body: &[u8]) -> Result<(), Reason> {
        let mut reader = Bytes::new(body);
        let mut fields = || -> Result<_, Short> {
            reader.skip(4)?;
            Ok((reader.u16(self.endian)?, reader.u16(self.endian)?))
        };
        let (major, minor) = fields().map_err(|short| cut("the section header", short))?;
        if major != 1 || !(minor == 0 || minor == 2) {
            return Err(Reason::Unexpected {
                part: "the version of the section (major << 16 | minor)",
                expected: "1.0 or 1.2",
                found: u64::from(major) << 16 | u64::from(minor),
            });
        }
        self.sources.clear();
        self.number = Some(self.number.map_or(0, |number| number.saturating_add(1)));
        Ok(())
    }

    /// Adds an interface. `body` is the block without its head and its closing length.
    pub(super) fn add_interface(
        &mut self,
        body: &[u8],
        options: &ReadOptions,
    ) -> Result<Interface, Reason> {
        let mut reader = Bytes::new(body);
        let mut fields = || -> Result<_, Short> {
            let link_type = reader.u16(self.endian)?;
            reader.skip(2)?;
            Ok((link_type, reader.u32(self.endian)?))
        };
        let (link_type, snap_len) =
            fields().map_err(|short| cut("the interface description", short))?;
        let mut interface = Interface::new(u32::from(link_type));
        interface.id = u32::try_from(self.sources.len()).unwrap_or(u32::MAX);
        interface.section = self.number.unwrap_or_default();
        interface.snap_len = snap_len;
        let mut clock = Clock {
            resolution: Resolution::Multiply(1000),
            offset_ns: 0,
        };
        let rest = reader.rest();
        for option in OptionIter::new(rest, self.endian) {
            let value = rest
                .get(option.start..option.start + option.len)
                .unwrap_or_default();
            match (option.code, value) {
                (OPTION_IF_NAME, _) => interface.name = name(value),
                (OPTION_IF_DESCRIPTION, _) => interface.description = name(value),
                (OPTION_IF_RESOLUTION, [exponent, ..]) => {
                    clock.resolution = Resolution::new(*exponent);
                }
                (OPTION_IF_FCS_LEN, [len, ..]) => {
                    // The specification says bits and its example bytes; both are written.
                    interface.fcs_len = Some(if *len < 8 { *len } else { *len / 8 });
                }

                (OPTION_IF_OFFSET, _) => {
                    if let Ok(seconds) = Bytes::new(value).u64(self.endian) {
                        clock.offset_ns = i128::from(seconds as i64) * 1_000_000_000;
                    }
                }
                _ => {}
            }
        }
        self.sources.push(PcapngInterface {
            clock,
            record_bytes_max: options.record_limit(u32::from(link_type)),
        });
        Ok(interface)
    }

    /// Nanoseconds since 1970 of a packet, and how many bytes it may have; `None` when its interface
    /// is not described.
    #[inline]
    pub(super) fn time_and_limit(&self, packet: &PacketBlock) -> Option<(Option<i128>, u32)> {
        let source = self.sources.get(packet.interface as usize)?;
        let time_ns = packet.ticks.map(|ticks| source.clock.time_ns(ticks));
        Some((time_ns, source.record_bytes_max))
    }

    /// The clock of an interface, and the maximum size of its packets.
    #[inline]
    pub(super) fn clock_and_limit(&self, interface: u32) -> Option<(Clock, u32)> {
        let source = self.sources.get(interface as usize)?;
        Some((source.clock, source.record_bytes_max))
    }

    /// Reads the fixed part of a packet block, head included.
    #[inline]
    pub(super) fn packet(&self, kind: BlockKind, block: &[u8]) -> Result<PacketBlock, Reason> {
        if kind == BlockKind::Enhanced
            && let Some(head) = block.first_chunk::<PACKET_HEAD_LEN>()
        {
            return Ok(self.enhanced_packet(head));
        }
        self.packet_fields(kind, block)
            .map_err(|short| cut("the packet block", short))
    }

    /// Reads the most common block without a check for each field.
    #[inline]
    fn enhanced_packet(&self, head: &[u8; PACKET_HEAD_LEN]) -> PacketBlock {
        let number = |at: usize| self.u32([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        PacketBlock {
            interface: number(8),
            ticks: Some(u64::from(number(12)) << 32 | u64::from(number(16))),
            captured: number(20),
            wire_len: number(24),
        }
    }

    fn packet_fields(&self, kind: BlockKind, block: &[u8]) -> Result<PacketBlock, Short> {
        let mut reader = Bytes::new(block);
        let endian = self.endian;
        reader.skip(HEAD_LEN)?;
        if kind == BlockKind::Simple {
            let wire_len = reader.u32(endian)?;
            return Ok(PacketBlock {
                interface: 0,
                ticks: None,
                captured: wire_len,
                wire_len,
            });
        }
        let interface = if kind == BlockKind::Enhanced {
            reader.u32(endian)?
        } else {
            let interface = reader.u16(endian)?;
            // Packets dropped before this one.
            reader.skip(2)?;
            u32::from(interface)
        };
        let high = reader.u32(endian)?;
        let low = reader.u32(endian)?;
        Ok(PacketBlock {
            interface,
            ticks: Some(u64::from(high) << 32 | u64::from(low)),
            captured: reader.u32(endian)?,
            wire_len: reader.u32(endian)?,
        })
    }

    /// The lines of a key log of TLS that a block of secrets holds; none of other secrets.
    pub(super) fn tls_secrets<'b>(&self, body: &'b [u8]) -> &'b [u8] {
        let mut reader = Bytes::new(body);
        let kind = reader.u32(self.endian);
        match (kind, reader.u32(self.endian)) {
            (Ok(TLS_KEY_LOG), Ok(len)) => {
                let rest = reader.rest();
                rest.get(..len as usize).unwrap_or(rest)
            }
            _ => &[],
        }
    }

    #[inline]
    pub(super) fn is_little_endian(&self) -> bool {
        self.endian == Endian::Little
    }

    fn u32(&self, bytes: [u8; 4]) -> u32 {
        match self.endian {
            Endian::Big => u32::from_be_bytes(bytes),
            Endian::Little => u32::from_le_bytes(bytes),
        }
    }

    /// Reads the options that follow the packet data.
    pub(super) fn packet_options(&self, bytes: &[u8]) -> PacketOptions {
        let mut found = PacketOptions::default();
        for option in OptionIter::new(bytes, self.endian) {
            match option.code {
                OPTION_COMMENT if found.comment.is_none() => {
                    found.comment = Some((option.start, option.len));
                }
                OPTION_PACKET_FLAGS if found.flags.is_none() => {
                    let value = bytes.get(option.start..).unwrap_or_default();
                    if option.len == 4 {
                        found.flags = Bytes::new(value).u32(self.endian).ok();
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// Checks the length that closes a block, at the start of `bytes`.
    #[inline]
    pub(super) fn check_closing_len(&self, bytes: &[u8], block_len: u32) -> Result<(), Reason> {
        match Bytes::new(bytes).u32(self.endian) {
            Ok(closing) if closing == block_len => Ok(()),
            closing => Err(Reason::Unexpected {
                part: "the length at the end of the block",
                expected: "the length at its beginning",
                found: u64::from(closing.unwrap_or_default()),
            }),
        }
    }
}

/// Text of an option; writers that end it with a zero byte are met.
fn text(value: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(value).ok()?.trim_end_matches('\0');
    (!text.is_empty()).then(|| text.to_owned())
}

fn cut(part: &'static str, short: Short) -> Reason {
    Reason::Cut {
        part,
        needed: (short.offset as u64).saturating_add(short.needed as u64),
        available: (short.offset as u64).saturating_add(short.available as u64),
    }
}

/// "TLSK".
const TLS_KEY_LOG: u32 = 0x544c_534b;
/// The same in both byte orders.
const SECTION_TYPE: u32 = 0x0a0d_0d0a;
const ENHANCED_TYPE: u32 = 6;
/// Type and length.
pub(super) const HEAD_LEN: usize = 8;
/// The length again.
pub(super) const CLOSING_LEN: usize = 4;
pub(super) const BLOCK_LEN_MIN: usize = HEAD_LEN + CLOSING_LEN;
pub(super) const PACKET_HEAD_LEN: usize = 28;
const SIMPLE_HEAD_LEN: usize = 12;

const OPTION_COMMENT: u16 = 1;
const OPTION_IF_NAME: u16 = 2;
const OPTION_IF_DESCRIPTION: u16 = 3;
const OPTION_IF_RESOLUTION: u16 = 9;
const OPTION_IF_FCS_LEN: u16 = 13;
const OPTION_IF_OFFSET: u16 = 14;
const OPTION_PACKET_FLAGS: u16 = 2;

/// A name that is kept as long as its section is read: cut, so that a section of many interfaces
/// cannot fill the memory.
fn name(value: &[u8]) -> Option<String> {
    let mut name = text(value)?;
    name.truncate(name.floor_char_boundary(NAME_BYTES_MAX));
    name.shrink_to_fit();
    Some(name)
}

/// Bytes of an interface's name or description that are kept.
const NAME_BYTES_MAX: usize = 256;
