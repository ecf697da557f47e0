//! RTP (RFC 3550): one packet; its reports ([`rtcp`]), what a stream of them went through ([`Measure`]), and what
//! that sounds like ([`quality`]).

pub mod audio;
mod measure;
pub mod quality;
pub mod rtcp;

pub use measure::{Arrival, Measure};

use weir_bytes::{array_at, u8_at, u16_be_at, u32_be_at};

/// A packet whose header is whole.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'p> {
    bytes: &'p [u8],
    /// The offset of the header extension, if there is one; otherwise that of the payload.
    extension: usize,
    payload: (usize, usize),
    /// Octets of its end that were not captured.
    missing: usize,
    fault: Option<PacketFault>,
}

/// What contradicts the length of a packet, which then has no payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PacketFault {
    /// The header counts more contributing sources than there are octets.
    Sources,
    /// The header extension ends behind the packet.
    Extension,
    /// The last octet counts more padding than there is payload.
    Padding,
}

impl PacketFault {
    /// The description: lower case, without a full stop.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sources => "the list of sources is longer than the packet",
            Self::Extension => "the header extension is longer than the packet",
            Self::Padding => "the padding is longer than the payload",
        }
    }
}

/// Octets of a header without lists.
const HEADER_OCTETS: usize = 12;

impl<'p> Packet<'p> {
    /// A view of a packet; `None` for bytes that are not RTP: another version, a packet type of RTCP, a header beyond the end, or
    /// padding that is longer than the payload.
    #[must_use]
    pub fn new(bytes: &'p [u8]) -> Option<Self> {
        Self::cut(bytes, 0)
    }

    /// The same of the first octets of a packet, of which so many behind them were not captured. How much of those is padding, the
    /// last one says (RFC 3550, 5.1).
    #[must_use]
    pub fn cut(bytes: &'p [u8], missing: u64) -> Option<Self> {
        let packet = Self::sealed(bytes, missing)?;
        if !packet.has_padding() || missing > 0 {
            return Some(packet);
        }
        let (start, end) = packet.payload;
        let padding = usize::from(*bytes.last()?).max(1);
        let end = end.checked_sub(padding).filter(|end| start <= *end)?;
        Some(Self {
            payload: (start, end),
            ..packet
        })
    }

    /// The same of a packet of SRTP, whose padding is encrypted (RFC 3711, 3.1): all behind the header is payload.
    #[must_use]
    pub fn sealed(bytes: &'p [u8], missing: u64) -> Option<Self> {
        let first = u8_at(bytes, 0)?;
        if first >> 6 != 2 || is_rtcp_type(u8_at(bytes, 1)?) {
            return None;
        }
        let extension = HEADER_OCTETS + 4 * usize::from(first & 15);
        let start = match first & 0x10 {
            0 => extension,
            _ => extension + 4 + 4 * usize::from(u16_be_at(bytes, extension + 2)?),
        };
        let end = bytes.len();
        (start <= end).then_some(Self {
            bytes,
            extension,
            payload: (start, end),
            missing: usize::try_from(missing).unwrap_or(usize::MAX),
            fault: None,
        })
    }

    /// The same of octets that are known to be a packet: `None` only where less than the fixed header is there, or another version or a
    /// packet type of RTCP, or where the header was not captured. A packet whose lists or padding are longer than it is has a fault.
    #[must_use]
    pub fn damaged(bytes: &'p [u8], missing: u64) -> Option<Self> {
        if let Some(packet) = Self::cut(bytes, missing) {
            return Some(packet);
        }
        let (first, second) = (u8_at(bytes, 0)?, u8_at(bytes, 1)?);
        let end = bytes.len();
        if first >> 6 != 2 || is_rtcp_type(second) || missing > 0 || end < HEADER_OCTETS {
            return None;
        }
        let extension = HEADER_OCTETS + 4 * usize::from(first & 15);
        let (fault, payload) = match Self::sealed(bytes, 0) {
            Some(sealed) => (PacketFault::Padding, sealed.payload.0),
            None if extension > end => (PacketFault::Sources, end),
            None => (PacketFault::Extension, end),
        };
        Some(Self {
            bytes,
            extension,
            payload: (payload, payload),
            missing: 0,
            fault: Some(fault),
        })
    }

    /// What contradicts the length of the packet.
    #[must_use]
    pub const fn fault(&self) -> Option<PacketFault> {
        self.fault
    }

    /// The octets that it was read from.
    #[must_use]
    pub const fn bytes(&self) -> &'p [u8] {
        self.bytes
    }

    fn octet(&self, at: usize) -> u8 {
        u8_at(self.bytes, at).unwrap_or_default()
    }

    /// The payload ends in padding.
    #[must_use]
    pub fn has_padding(&self) -> bool {
        self.octet(0) & 0x20 != 0
    }

    /// The header has an extension.
    #[must_use]
    pub fn has_extension(&self) -> bool {
        self.octet(0) & 0x10 != 0
    }

    /// Sources that contribute, as the header counts them.
    #[must_use]
    pub fn contributors(&self) -> u8 {
        self.octet(0) & 15
    }

    /// The marker: of sound the first packet after a pause, of pictures the last of a frame.
    #[must_use]
    pub fn marker(&self) -> bool {
        self.octet(1) & 0x80 != 0
    }

    /// Payload type.
    #[must_use]
    pub fn payload_type(&self) -> u8 {
        self.octet(1) & 0x7f
    }

    /// Sequence number.
    #[must_use]
    pub fn sequence(&self) -> u16 {
        u16_be_at(self.bytes, 2).unwrap_or_default()
    }

    /// Time by the media's clock.
    #[must_use]
    pub fn timestamp(&self) -> u32 {
        u32_be_at(self.bytes, 4).unwrap_or_default()
    }

    /// Synchronization source.
    #[must_use]
    pub fn ssrc(&self) -> u32 {
        u32_be_at(self.bytes, 8).unwrap_or_default()
    }

    /// Contributing sources.
    pub fn csrcs(&self) -> impl Iterator<Item = u32> + use<'p> {
        let bytes = self.bytes;
        let count = usize::from(self.contributors());
        (0..count).filter_map(move |n| u32_be_at(bytes, HEADER_OCTETS + 4 * n))
    }

    /// The profile of the header extension, and its 32-bit words.
    #[must_use]
    pub fn extension(&self) -> Option<(u16, u16)> {
        if !self.has_extension() {
            return None;
        }
        let profile = u16_be_at(self.bytes, self.extension)?;
        Some((profile, u16_be_at(self.bytes, self.extension + 2)?))
    }

    /// An element of the header extension, by its number from 1 to 255 (RFC 8285, 4); `None` where the extension is
    /// another, or has none of this number.
    #[must_use]
    pub fn extension_element(&self, number: u8) -> Option<&'p [u8]> {
        let (profile, _) = self.extension()?;
        if self.fault == Some(PacketFault::Extension) {
            return None;
        }
        let octets_of_header = match profile {
            0xbede => 1,
            0x1000..=0x100f => 2,
            _ => return None,
        };
        let mut rest = self.bytes.get(self.extension + 4..self.payload.0)?;
        while let [first, behind @ ..] = rest {
            if *first == 0 {
                // Padding.
                rest = behind;
                continue;
            }
            let (found, length) = match octets_of_header {
                1 if first >> 4 == 15 => return None,
                1 => (first >> 4, usize::from(first & 15) + 1),
                _ => (*first, usize::from(*behind.first()?)),
            };
            let (element, behind) = rest.get(octets_of_header..)?.split_at_checked(length)?;
            if found == number {
                return Some(element);
            }
            rest = behind;
        }
        None
    }

    /// The payload without padding.
    #[must_use]
    pub fn payload(&self) -> &'p [u8] {
        let (start, end) = self.payload;
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// Octets of the payload, with those that were not captured; `None` where it is not known how many of them are padding, or
    /// where the packet has a fault.
    #[must_use]
    pub fn payload_len(&self) -> Option<usize> {
        let is_known = self.missing == 0 || !self.has_padding();
        (is_known && self.fault.is_none())
            .then(|| self.payload().len().saturating_add(self.missing))
    }

    /// The named event in the payload; `None` when it is too short for one.
    #[must_use]
    pub fn event(&self) -> Option<Event> {
        Event::read(self.payload())
    }

    /// The blocks of a payload of redundant data (RFC 2198, 3), of which the primary one is the last; they end before the first that
    /// is longer than the payload.
    pub fn blocks(&self) -> impl Iterator<Item = Block<'p>> + use<'p> {
        let mut headers = self.payload();
        let words = headers.chunks_exact(4);
        let redundant = words.take_while(|it| u8_at(it, 0) >= Some(0x80)).count();
        // The header of the primary block is one octet.
        let mut data = match headers.get(4 * redundant..) {
            Some([0..=0x7f, data @ ..]) => Some(data),
            _ => None,
        };
        std::iter::from_fn(move || {
            let rest = data.take()?;
            let first = u8_at(headers, 0)?;
            if first < 0x80 {
                return Some(Block {
                    payload_type: first,
                    offset: 0,
                    payload: rest,
                });
            }
            let offset = u16_be_at(headers, 1)? >> 2;
            let octets = usize::from(u16_be_at(headers, 2)? & 0x3ff);
            let (payload, behind) = rest.split_at_checked(octets)?;
            headers = headers.get(4..)?;
            data = Some(behind);
            Some(Block {
                payload_type: first & 0x7f,
                offset,
                payload,
            })
        })
    }
}

/// A block of redundant data (RFC 2198, 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'p> {
    /// Payload type.
    pub payload_type: u8,
    /// The ticks by which it is older than the timestamp of its packet.
    pub offset: u16,
    /// The payload.
    pub payload: &'p [u8],
}

/// True for the second octets that RTCP has where RTP has marker and payload type (RFC 5761, 4).
const fn is_rtcp_type(second: u8) -> bool {
    matches!(second, 192..=223)
}

/// A named event (RFC 4733, 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The event: 0 to 15 are the keys of a telephone.
    pub event: u8,
    /// The event has ended.
    pub is_end: bool,
    /// The level below full scale, in dB.
    pub volume: u8,
    /// The duration so far, in ticks of the media's clock.
    pub duration: u16,
}

impl Event {
    /// The event at the beginning of a payload; `None` where that is too short for one.
    #[must_use]
    pub fn read(payload: &[u8]) -> Option<Self> {
        let [event, flags, high, low] = array_at(payload, 0)?;
        Some(Self {
            event,
            is_end: flags & 0x80 != 0,
            volume: flags & 0x3f,
            duration: u16::from_be_bytes([high, low]),
        })
    }

    /// The events of a payload, each with the ticks from the timestamp of its packet to its beginning: several follow each other
    /// without a pause, and all but the first have a duration (RFC 4733, 2.5.1.5).
    pub fn all(payload: &[u8]) -> impl Iterator<Item = (u32, Self)> {
        let mut since = 0_u32;
        payload
            .chunks_exact(4)
            .enumerate()
            .map_while(|(number, octets)| {
                Self::read(octets).filter(|event| number == 0 || event.duration > 0)
            })
            .map(move |event| {
                let begin = since;
                since = since.saturating_add(event.duration.into());
                (begin, event)
            })
    }

    /// The key of a telephone that it is.
    #[must_use]
    pub fn key(self) -> Option<char> {
        b"0123456789*#ABCD"
            .get(usize::from(self.event))
            .map(|key| char::from(*key))
    }
}

/// The codec of a payload type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Codec {
    /// The name in `rtpmap`: `PCMU`, `telephone-event`, ….
    pub name: std::borrow::Cow<'static, str>,
    /// Ticks of the timestamp a second.
    pub clock_rate: u32,
}

impl Codec {
    /// Ticks of the timestamp a second, where these are sure. Some descriptions give G722 its sampling rate, which the timestamps of
    /// some of their senders follow and of others not (RFC 3551, 4.5.2), and opus another rate than it has (RFC 7587, 4.1).
    #[must_use]
    pub fn sure_clock_rate(&self) -> Option<u32> {
        let only = match &*self.name {
            name if name.eq_ignore_ascii_case("G722") => 8_000,
            name if name.eq_ignore_ascii_case("opus") => 48_000,
            _ => self.clock_rate,
        };
        (self.clock_rate == only).then_some(only)
    }

    /// Whether it carries named events (RFC 4733).
    #[must_use]
    pub fn is_events(&self) -> bool {
        self.name.eq_ignore_ascii_case("telephone-event")
    }

    /// Whether it is redundant data (RFC 2198), whose blocks have codecs of their own.
    #[must_use]
    pub fn is_redundant(&self) -> bool {
        self.name.eq_ignore_ascii_case("red")
    }

    /// Whether it is comfort noise (RFC 3389).
    #[must_use]
    pub fn is_comfort_noise(&self) -> bool {
        self.name.eq_ignore_ascii_case("CN")
    }

    /// The registered spelling of a name, of those that are common: descriptions have them in capitals or not (RFC 4855, 3).
    #[must_use]
    pub fn spelled(name: &str) -> Option<&'static str> {
        let mut all = NAMES.iter().copied();
        all.find(|known| known.eq_ignore_ascii_case(name))
    }

    /// The codec of a payload type with a static assignment (RFC 3551, 6).
    #[must_use]
    pub fn assigned(payload_type: u8) -> Option<Self> {
        let (name, clock_rate) = match payload_type {
            0 => ("PCMU", 8_000),
            3 => ("GSM", 8_000),
            4 => ("G723", 8_000),
            5 => ("DVI4", 8_000),
            6 => ("DVI4", 16_000),
            7 => ("LPC", 8_000),
            8 => ("PCMA", 8_000),
            9 => ("G722", 8_000),
            10 | 11 => ("L16", 44_100),
            12 => ("QCELP", 8_000),
            // 19 is what comfort noise had before there was an RFC for it.
            13 | 19 => ("CN", 8_000),
            14 => ("MPA", 90_000),
            15 => ("G728", 8_000),
            16 => ("DVI4", 11_025),
            17 => ("DVI4", 22_050),
            18 => ("G729", 8_000),
            25 => ("CelB", 90_000),
            26 => ("JPEG", 90_000),
            28 => ("nv", 90_000),
            31 => ("H261", 90_000),
            32 => ("MPV", 90_000),
            33 => ("MP2T", 90_000),
            34 => ("H263", 90_000),
            _ => return None,
        };
        Some(Self {
            name: name.into(),
            clock_rate,
        })
    }
}

/// Names of media subtypes of RTP as IANA has them.
const NAMES: [&str; 36] = [
    "PCMU",
    "PCMA",
    "GSM",
    "GSM-EFR",
    "G722",
    "G7221",
    "G723",
    "G726-16",
    "G726-24",
    "G726-32",
    "G726-40",
    "G728",
    "G729",
    "DVI4",
    "LPC",
    "L16",
    "QCELP",
    "iLBC",
    "speex",
    "opus",
    "AMR",
    "AMR-WB",
    "EVS",
    "CN",
    "red",
    "telephone-event",
    "rtx",
    "ulpfec",
    "JPEG",
    "H261",
    "H263",
    "H264",
    "H265",
    "VP8",
    "VP9",
    "AV1",
];

/// Whether this payload type is assigned or dynamic (RFC 3551, 6).
#[must_use]
pub const fn is_in_use(payload_type: u8) -> bool {
    matches!(payload_type, 0 | 3..=19 | 25..=26 | 28 | 31..=34 | 96..=127)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet() -> Vec<u8> {
        let mut bytes = vec![
            0xb1,
            0x80 | 101,
            0x12,
            0x34,
            0,
            0,
            0,
            160,
            0xde,
            0xad,
            0xbe,
            0xef,
        ];
        bytes.extend([0, 0, 0, 7]);
        bytes.extend([0xbe, 0xde, 0, 1, 1, 2, 3, 4]);
        bytes.extend([5, 0x8a, 3, 0x20]);
        bytes.extend([0, 2]);
        bytes
    }

    #[test]
    fn clock_rates_that_a_codec_does_not_have_are_not_sure() {
        let rate = |name: &'static str, clock_rate| {
            let name = name.into();
            Codec { name, clock_rate }.sure_clock_rate()
        };
        assert_eq!(rate("G722", 8_000), Some(8_000));
        assert_eq!(rate("G722", 16_000), None);
        assert_eq!(rate("opus", 48_000), Some(48_000));
        assert_eq!(rate("opus", 16_000), None);
        assert_eq!(rate("L16", 16_000), Some(16_000));
    }

    #[test]
    fn a_packet_is_read() {
        let bytes = packet();
        let packet = Packet::new(&bytes).unwrap();
        assert!(packet.marker() && packet.has_padding());
        assert_eq!((packet.payload_type(), packet.sequence()), (101, 0x1234));
        assert_eq!((packet.timestamp(), packet.ssrc()), (160, 0xdead_beef));
        assert_eq!(packet.csrcs().collect::<Vec<_>>(), [7]);
        assert_eq!(packet.extension(), Some((0xbede, 1)));
        let event = packet.event().unwrap();
        assert_eq!((event.key(), event.is_end), (Some('5'), true));
        assert_eq!((event.volume, event.duration), (10, 800));
    }

    /// RFC 4733, 2.5.1.5: each event begins where the one before it ends. Octets behind the first one without a duration are no event.
    #[test]
    fn several_events_of_a_packet_follow_each_other() {
        let begins = |payload: &[u8]| -> Vec<(u32, u8)> {
            let all = Event::all(payload);
            all.map(|(begin, event)| (begin, event.event)).collect()
        };
        let keys = [1, 0x8a, 3, 0x20, 2, 0x8a, 1, 0x90, 3, 10, 0, 0xa0];
        assert_eq!(begins(&keys), [(0, 1), (800, 2), (1_200, 3)]);
        assert_eq!(begins(&keys[..11]), [(0, 1), (800, 2)]);
        assert!(begins(&keys[..3]).is_empty());
        assert_eq!(begins(&[5, 10, 0, 0]), [(0, 5)]);
        assert_eq!(begins(&[5, 10, 0, 0, 0, 0, 0, 0]), [(0, 5)]);
    }

    /// RFC 2198, 3: each header but the last has the distance in time and the length of its block.
    #[test]
    fn blocks_of_redundant_data_are_read() {
        fn block(payload_type: u8, offset: u16, payload: &[u8]) -> Block<'_> {
            Block {
                payload_type,
                offset,
                payload,
            }
        }
        let bytes = [
            &[0x80_u8, 98, 0, 1, 0, 0, 0, 160, 0, 0, 0, 7][..],
            &[0x80 | 101, 0x0c, 0x80, 4, 0x80, 0x02, 0x80, 2, 96],
            b"abcdefghi",
        ]
        .concat();
        let all = [
            block(101, 800, b"abcd"),
            block(0, 160, b"ef"),
            block(96, 0, b"ghi"),
        ];
        let read = |bytes: &[u8], count: usize| {
            let found: Vec<_> = Packet::new(bytes).unwrap().blocks().collect();
            assert_eq!(found, all[..count], "{}", bytes.len());
        };
        read(&bytes, 3);
        read(&bytes[..26], 1);
        for length in 12..25 {
            read(&bytes[..length], 0);
        }
    }

    /// RFC 8285, 4.2 and 4.3.
    #[test]
    fn elements_of_an_extension_are_found() {
        let with = |profile: [u8; 2], elements: &[u8]| {
            let mut bytes = vec![0x90, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3];
            bytes.extend(profile);
            bytes.extend([0, (elements.len() / 4) as u8]);
            bytes.extend(elements);
            bytes.extend(b"payload");
            bytes
        };
        let one = with([0xbe, 0xde], b"\x30a\0\x41bcd\0\0\xf0\x50e");
        let two = with([0x10, 0x05], b"\x03\x01a\0\x04\x02bc\x06\0\x05\x03");
        for (bytes, number, element) in [
            (&one, 3, Some(&b"a"[..])),
            (&one, 4, Some(b"bc")),
            // The octets after it are an element of their own; number 15 ends the list.
            (&one, 5, None),
            (&two, 3, Some(b"a")),
            (&two, 4, Some(b"bc")),
            (&two, 6, Some(b"")),
            // The element is longer than the octets that are there.
            (&two, 5, None),
            (&with([1, 2], b"\x30a\0\0"), 3, None),
        ] {
            let packet = Packet::new(bytes).unwrap();
            assert_eq!(packet.extension_element(number), element, "{number}");
            assert_eq!(packet.payload(), b"payload");
        }
    }

    #[test]
    fn every_prefix_is_read_or_refused() {
        let bytes = packet();
        for length in 0..bytes.len() {
            let prefix = &bytes[..length];
            if let Some(packet) = Packet::new(prefix) {
                assert!(length >= 24, "{length}");
                assert!(packet.payload().len() < length);
            }
        }
        let mut plain = bytes[..12].to_vec();
        plain[0] = 0x80;
        assert!((0..12).all(|length| Packet::new(&plain[..length]).is_none()));
        assert_eq!(Packet::new(&plain).unwrap().payload(), b"");
    }

    /// The last octet has the length of the padding: without it the padding counted as payload.
    #[test]
    fn a_packet_that_was_cut_has_the_length_that_it_had() {
        let mut bytes = vec![0x80, 8, 0, 1, 0, 0, 0, 160, 0, 0, 0, 7];
        bytes.extend([0xd5; 160]);
        let whole = Packet::new(&bytes).unwrap();
        assert_eq!(whole.payload_len(), Some(160));
        let cut = Packet::cut(&bytes[..20], 152).unwrap();
        assert_eq!((cut.payload().len(), cut.payload_len()), (8, Some(160)));
        bytes[0] |= 0x20;
        assert!(Packet::new(&bytes[..20]).is_none());
        let sealed = Packet::sealed(&bytes[..20], 0).unwrap();
        assert_eq!(sealed.payload_len(), Some(8));
        let cut = Packet::cut(&bytes[..20], 152).unwrap();
        assert_eq!((cut.payload().len(), cut.payload_len()), (8, None));
        assert!(Packet::cut(&bytes[..11], 161).is_none());
    }

    #[test]
    fn lists_and_padding_beyond_a_packet_are_faults() {
        let read = |first: u8, behind: &[u8]| {
            let header = [first, 8, 0, 1, 0, 0, 0, 160, 0, 0, 0, 7];
            let bytes = [&header[..], behind].concat();
            assert!(Packet::new(&bytes).is_none(), "{first:x}");
            let packet = Packet::damaged(&bytes, 0).unwrap();
            assert_eq!((packet.sequence(), packet.ssrc()), (1, 7));
            assert_eq!((packet.payload(), packet.payload_len()), (&b""[..], None));
            assert_eq!(packet.extension_element(1), None);
            assert!(Packet::damaged(&bytes, 1).is_none_or(|cut| cut.fault().is_none()));
            let sources: Vec<u32> = packet.csrcs().collect();
            (packet.fault().unwrap(), packet.extension(), sources)
        };
        let sources = [0, 0, 0, 5, 0, 0];
        assert_eq!(read(0x82, &sources), (PacketFault::Sources, None, vec![5]));
        let extension = [0xbe, 0xde, 1, 0, 0x10, 7, 0, 0];
        let expected = (PacketFault::Extension, Some((0xbede, 256)), vec![]);
        assert_eq!(read(0x90, &extension), expected);
        assert_eq!(read(0x90, b"\xbe").0, PacketFault::Extension);
        assert_eq!(read(0xa0, &[5, 5, 4]).0, PacketFault::Padding);
        assert_eq!(read(0xa0, &[]).0, PacketFault::Padding);
        // Less than the fixed header, and reports, are no packets.
        assert!(Packet::damaged(&[0xa0, 8, 0, 1, 0, 0, 0, 160, 0, 0, 0], 0).is_none());
        assert!(Packet::damaged(&[0xa0, 200, 0, 1, 0, 0, 0, 160, 0, 0, 0, 9], 0).is_none());
    }

    #[test]
    fn reports_are_no_packets() {
        assert!(Packet::new(&[0x80, 200, 0, 6, 0, 0, 0, 1, 0, 0, 0, 0, 0]).is_none());
    }
}
