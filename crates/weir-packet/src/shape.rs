//! Shapes of headers, as data: the positions of fields, the length, and the payload.
//!
//! A protocol's file gives these once. The getter of a column, the width of a key, conditions on bytes,
//! what the kernel filters and the walk of what is compiled follow from it. Its `decode` function stays
//! what decides on odd packets: a header that has one of the protocol's [`HeaderShape`]s is *plain*, and
//! for plain headers the two must agree, which a test makes sure of on samples and on random bytes.

use weir_bytes::Bits;

use crate::protocol::{self, On};
use crate::{Layer, LinkType, Options};

/// A condition on some bits of a header, or of what stands behind it.
///
/// ```
/// use weir_bytes::Bits;
/// use weir_packet::BitsTest;
///
/// const IS_IPV4: BitsTest = BitsTest::new(Bits::byte(0).part(4, 4), &[(4, 4)]);
/// assert!(IS_IPV4.holds(&[0x45]));
/// assert!(!IS_IPV4.holds(&[0x60]) && !IS_IPV4.holds(&[]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitsTest {
    /// The tested bits, from the header's first byte on.
    pub bits: Bits,
    /// Ranges of values, both ends included and in order, in one of which the value has to be.
    pub ranges: &'static [(u64, u64)],
    /// The result where the bytes are missing.
    pub when_cut: bool,
}

impl BitsTest {
    /// Holds where the bits are there and their value is in one of the ranges.
    #[must_use]
    pub const fn new(bits: Bits, ranges: &'static [(u64, u64)]) -> Self {
        Self {
            bits,
            ranges,
            when_cut: false,
        }
    }

    /// The test that is also true where the bytes are missing.
    #[must_use]
    pub const fn or_cut(self) -> Self {
        Self {
            when_cut: true,
            ..self
        }
    }

    /// Whether the other holds wherever this one does.
    #[must_use]
    pub fn implies(&self, other: &Self) -> bool {
        let is_of = |bits: &Bits| (bits.offset(), bits.bytes(), bits.endian());
        if self.when_cut || is_of(&self.bits) != is_of(&other.bits) {
            return false;
        }
        if self.bits == other.bits {
            let is_within = |(low, high): &(u64, u64)| {
                let of_other = |(first, last): &(u64, u64)| first <= low && high <= last;
                other.ranges.iter().any(of_other)
            };
            return self.ranges.iter().all(is_within);
        }
        // Every part of a whole number with a single permitted value is known.
        let is_whole = self.bits.shift() == 0 && self.bits.width() == self.bits.bytes() * 8;
        matches!(self.ranges, [(low, high)] if low == high && is_whole
            && other.accepts(*low >> (other.bits.shift() & 63) & other.bits.mask()))
    }

    /// Whether it holds for the header that begins with the first of these bytes.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "folds to a comparison of a constant")]
    #[must_use]
    pub fn holds(&self, bytes: &[u8]) -> bool {
        match self.bits.read(bytes) {
            Some(value) => self.accepts(value),
            None => self.when_cut,
        }
    }

    /// Whether it holds for this value of the bits.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as holds")]
    #[must_use]
    pub fn accepts(&self, value: u64) -> bool {
        let mut index = 0;
        while index < self.ranges.len() {
            let (low, high) = self.ranges[index];
            if low <= value && value <= high {
                return true;
            }
            index += 1;
        }
        false
    }
}

/// The position of a plain field in the header of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// Whose header.
    pub layer: Layer,
    /// Conditions that the header has to meet, or it has no such field here.
    pub when: &'static [BitsTest],
    /// The part of the header.
    pub at: Extent,
}

/// The part of a header that a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// A number.
    Bits(Bits),
    /// Bytes, such as an address.
    Bytes {
        /// Offset of the first.
        offset: u32,
        /// The number of bytes.
        len: u32,
    },
}

impl Extent {
    /// The field as a big-endian number, when it has at most 64 bits.
    #[must_use]
    pub const fn bits(&self) -> Option<Bits> {
        match *self {
            Self::Bits(bits) => Some(bits),
            Self::Bytes {
                offset,
                len: len @ 1..=8,
            } => Some(Bits::whole(offset, len, weir_bytes::Endian::Big)),
            Self::Bytes { .. } => None,
        }
    }

    /// Offset behind the last byte that is read.
    #[must_use]
    pub const fn end(&self) -> u32 {
        match *self {
            Self::Bits(bits) => bits.end(),
            Self::Bytes { offset, len } => offset.saturating_add(len),
        }
    }

    /// Bits of the largest value.
    #[must_use]
    pub const fn width(&self) -> u32 {
        match *self {
            Self::Bits(bits) => bits.width(),
            Self::Bytes { len, .. } => len.saturating_mul(8),
        }
    }
}

impl Location {
    /// The bits of every header of `layer`.
    #[must_use]
    pub const fn bits(layer: Layer, bits: Bits) -> Self {
        Self {
            layer,
            when: &[],
            at: Extent::Bits(bits),
        }
    }

    /// `len` bytes at `offset` of every header of `layer`.
    #[must_use]
    pub const fn bytes(layer: Layer, offset: u32, len: u32) -> Self {
        Self {
            layer,
            when: &[],
            at: Extent::Bytes { offset, len },
        }
    }

    /// The same place, in headers that meet all of these conditions.
    #[must_use]
    pub const fn when(self, when: &'static [BitsTest]) -> Self {
        Self { when, ..self }
    }

    /// Whether the header that these bytes begin with has the field here.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "folds to comparisons of constants")]
    #[must_use]
    pub fn is_in(&self, header: &[u8]) -> bool {
        all_hold(self.when, header)
    }
}

/// A form of a protocol's header in which it is plain. A protocol has as many as it has forms that are
/// worth it; the first that matches counts.
///
/// A header matches when `len_min` bytes of it are there, all `tests` hold, its length as `len` gives it
/// is at least `len_min` and there, and `end` says where it ends as the header in front of it allows.
#[derive(Clone, Copy, Debug)]
pub struct HeaderShape {
    /// Bytes that must be there, of the bytes that the headers in front of it leave.
    pub len_min: u32,
    /// Bytes from the header's start to its payload.
    pub len: HeaderLen,
    /// The end of the payload.
    pub end: PayloadEnd,
    /// The tests of a plain header: all must be true. They may be about bytes after the header, within those that the headers
    /// before it leave.
    pub tests: &'static [BitsTest],
    /// The payload.
    pub next: NextHeader,
    /// The tests of which one is true when the payload has no header, whatever `next` is: in a later fragment.
    pub no_next: &'static [BitsTest],
    /// Whether the form is looked for with these options, which the record does not say; `None`: always.
    pub enabled: Option<fn(&Options) -> bool>,
}

impl HeaderShape {
    /// A header of `len` bytes that does not determine its payload's end.
    pub(crate) const fn fixed(len: u32, next: NextHeader) -> Self {
        Self {
            len_min: len,
            len: HeaderLen::Fixed,
            end: PayloadEnd::Outer,
            tests: &[],
            next,
            no_next: &[],
            enabled: None,
        }
    }

    pub(crate) const fn tests(self, tests: &'static [BitsTest]) -> Self {
        Self { tests, ..self }
    }

    pub(crate) const fn enabled(self, enabled: fn(&Options) -> bool) -> Self {
        Self {
            enabled: Some(enabled),
            ..self
        }
    }

    /// Whether this form is looked for with these options.
    #[must_use]
    pub fn is_enabled(&self, options: &Options) -> bool {
        self.enabled.is_none_or(|enabled| enabled(options))
    }

    /// The header at the start of `bytes`, which are what the headers in front of it leave and what was
    /// captured of that; `None` when it does not have this form.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "folds for a constant shape")]
    #[must_use]
    pub fn read(&self, bytes: &[u8]) -> Option<PlainHeader> {
        if bytes.len() < self.len_min as usize || !all_hold(self.tests, bytes) {
            return None;
        }
        let len = match self.len {
            HeaderLen::Fixed => self.len_min,
            HeaderLen::Field { bits, unit, base } => (bits.read(bytes)? as u32)
                .saturating_mul(unit)
                .saturating_add(base),
        };
        if len < self.len_min || len as usize > bytes.len() {
            return None;
        }
        let total = match self.end {
            PayloadEnd::Outer => PlainHeader::NO_TOTAL,
            PayloadEnd::Field {
                bits,
                base,
                zero_is_outer,
            } => match bits.read(bytes)? as u32 {
                0 if zero_is_outer => PlainHeader::NO_TOTAL,
                0 => return None,
                total => total.checked_add(base).filter(|total| *total >= len)?,
            },
        };
        let mut index = 0;
        let mut carries_header = true;
        while index < self.no_next.len() {
            carries_header &= !self.no_next[index].holds(bytes);
            index += 1;
        }
        let next = match carries_header {
            // The content decides what the ports leave open.
            true if self.next.is_doubtful(bytes) => return None,
            true => self.next.layer(bytes, len as usize),
            false => None,
        };
        let ip_protocol = match self.next {
            NextHeader::Number {
                bits,
                table: NextTable::IpProtocol,
            } => bits
                .read(bytes)
                .map(|number| (number as u8, !carries_header)),
            _ => None,
        };
        Some(PlainHeader {
            len,
            total,
            next,
            ip_protocol,
        })
    }
}

/// One of the shapes, by its place.
pub(crate) const fn nth(shapes: &[HeaderShape], index: usize) -> Option<HeaderShape> {
    if index < shapes.len() {
        Some(shapes[index])
    } else {
        None
    }
}

/// The protocol whose header a plain packet of this link type begins with; `None` when no packet of it is
/// plain.
#[must_use]
pub fn plain_link(link_type: LinkType) -> Option<Layer> {
    // A byte of direction stands in front of the header.
    let is_shifted = link_type == FRAME_RELAY_WITH_DIRECTION;
    let layer = NextTable::LinkType.layer(link_type.0.into());
    layer.filter(|layer| !is_shifted && !layer.shapes().is_empty())
}

const FRAME_RELAY_WITH_DIRECTION: LinkType = LinkType(206);

/// A header that was read by its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainHeader {
    /// Bytes to the payload.
    pub len: u32,
    /// Bytes of header and payload, or [`NO_TOTAL`](Self::NO_TOTAL).
    pub total: u32,
    /// The protocol of the payload; `None` when it is not decoded.
    pub next: Option<Layer>,
    /// The number of the payload's protocol, for a header that leads to IP protocols, and whether the payload is a later
    /// fragment.
    pub ip_protocol: Option<(u8, bool)>,
}

impl PlainHeader {
    /// The header does not say how long what it carries is.
    pub const NO_TOTAL: u32 = u32::MAX;
}

/// The length of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderLen {
    /// The length is the minimum.
    Fixed,
    /// `bits * unit + base` bytes.
    Field {
        /// The length field.
        bits: Bits,
        /// Bytes that one stands for.
        unit: u32,
        /// Bytes that the field does not count.
        base: u32,
    },
}

/// The end of a header's payload, if it is before the end that the headers around it set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadEnd {
    /// The payload ends with that of the header around it.
    Outer,
    /// `bits + base` bytes behind the header's start, which is not less than its length.
    Field {
        /// The length field.
        bits: Bits,
        /// Bytes that the field does not count.
        base: u32,
        /// 0 stands for [`PayloadEnd::Outer`]; otherwise a header with 0 is not plain.
        zero_is_outer: bool,
    },
}

/// The payload of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHeader {
    /// Nothing that is decoded.
    Payload,
    /// Always this.
    Layer(Layer),
    /// The protocol of a number of the header.
    Number {
        /// The number.
        bits: Bits,
        /// The kind of the number.
        table: NextTable,
    },
    /// The protocol of a pair of ports ([`udp_ports`]).
    UdpPorts {
        /// The sender's.
        source: Bits,
        /// The receiver's.
        destination: Bits,
    },
    /// IP of the version that the payload's first four bits name.
    IpVersion,
}

/// The kinds of numbers that protocols hang on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NextTable {
    /// Link types (LINKTYPE registry).
    LinkType,
    /// ERF record types.
    ErfType,
    /// Ethertypes.
    Ethertype,
    /// LLC's service access points.
    LlcSap,
    /// IP protocol numbers, including those of extension headers.
    IpProtocol,
    /// Network layer protocol identifiers (ISO/IEC TR 9577).
    Nlpid,
    /// PPP protocol numbers.
    Ppp,
}

impl NextTable {
    /// The protocol of `number`; `None` when it is not decoded.
    #[inline]
    #[must_use]
    pub fn layer(self, number: u64) -> Option<Layer> {
        protocol::layer_of(self, number)
    }

    /// All numbers on which something hangs, with what that is.
    pub fn entries(self) -> impl Iterator<Item = (u32, Layer)> {
        Layer::all().flat_map(move |layer| {
            let on = layer.protocol().on.iter();
            on.filter_map(move |on| on.number(self.sort()))
                .map(move |number| (number, layer))
        })
    }

    const fn sort(self) -> On {
        match self {
            Self::LinkType => On::Link(0),
            Self::ErfType => On::ErfType(0),
            Self::Ethertype => On::Ethertype(0),
            Self::LlcSap => On::LlcSap(0),
            Self::IpProtocol => On::IpProtocol(0),
            Self::Nlpid => On::Nlpid(0),
            Self::Ppp => On::Ppp(0),
        }
    }
}

/// The protocol of a pair of UDP ports, the sender's first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UdpPorts {
    /// Nothing that is decoded.
    Payload,
    /// This protocol.
    Layer(Layer),
    /// The content has to say what it is: such a header is not plain.
    Doubtful,
}

/// All UDP ports of a protocol: a datagram between two others carries nothing that is decoded.
pub fn known_udp_ports() -> impl Iterator<Item = u16> {
    let on = Layer::all().flat_map(|layer| layer.protocol().on.iter());
    on.filter_map(|on| match on {
        On::UdpPort(port) => Some(*port),
        _ => None,
    })
}

/// The protocol of a pair of UDP ports.
#[must_use]
pub fn udp_ports(source: u16, destination: u16) -> UdpPorts {
    if protocol::is_doubtful(source, destination) {
        return UdpPorts::Doubtful;
    }
    match protocol::Next::UdpPorts(source, destination).layer() {
        Some(layer) => UdpPorts::Layer(layer),
        None => UdpPorts::Payload,
    }
}

impl NextHeader {
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "folds for a constant shape")]
    fn is_doubtful(&self, bytes: &[u8]) -> bool {
        let Self::UdpPorts {
            source,
            destination,
        } = self
        else {
            return false;
        };
        let port = |bits: &Bits| bits.read(bytes).unwrap_or_default() as u16;
        protocol::is_doubtful(port(source), port(destination))
    }

    /// The protocol of the header behind one of `len` bytes that begins `bytes`.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "folds for a constant shape")]
    fn layer(&self, bytes: &[u8], len: usize) -> Option<Layer> {
        match self {
            Self::Payload => None,
            Self::Layer(layer) => Some(*layer),
            Self::Number { bits, table } => table.layer(bits.read(bytes)?),
            Self::UdpPorts {
                source,
                destination,
            } => {
                let (source, destination) = (source.read(bytes)?, destination.read(bytes)?);
                protocol::Next::UdpPorts(source as u16, destination as u16).layer()
            }
            Self::IpVersion => match bytes.get(len)? >> 4 {
                4 => Some(Layer::Ipv4),
                6 => Some(Layer::Ipv6),
                _ => None,
            },
        }
    }
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "as BitsTest::holds")]
pub(crate) fn all_hold(tests: &[BitsTest], bytes: &[u8]) -> bool {
    let mut index = 0;
    while index < tests.len() {
        if !tests[index].holds(bytes) {
            return false;
        }
        index += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use weir_testkit::Rng;

    use super::*;
    use crate::protocol::{Input, Next};
    use crate::{Decoder, Frame, Get, Needs, fields};

    /// A datagram between ports without a protocol is not decoded further.
    #[test]
    fn what_hangs_on_udp_ports_hangs_on_a_known_one() {
        let known: Vec<u16> = known_udp_ports().collect();
        assert!(known.contains(&4789));
        for port in 0..=u16::MAX {
            let is_known = udp_ports(port, port) != UdpPorts::Payload;
            assert_eq!(known.contains(&port), is_known, "{port}");
        }
    }

    /// Bytes that have a form of the layer as far as its tests say, and are random otherwise.
    fn shaped(random: &mut Rng, shape: &HeaderShape) -> Vec<u8> {
        let len = shape.len_min as usize + random.below(120) as usize;
        let mut bytes: Vec<u8> = (0..len.max(24)).map(|_| random.below(256) as u8).collect();
        for test in shape.tests {
            let (low, high) = test.ranges[random.below(test.ranges.len() as u64) as usize];
            put(&mut bytes, &test.bits, low + random.below(high - low + 1));
        }
        // Each protocol that may follow, also where few numbers lead to one.
        if let NextHeader::Number { bits, table } = shape.next
            && random.below(2) == 0
        {
            let numbers: Vec<u32> = table.entries().map(|(number, _)| number).collect();
            let number = numbers[random.below(numbers.len() as u64) as usize];
            put(&mut bytes, &bits, number.into());
        }
        // A length of eight bits and more is mostly longer than what is there.
        if let HeaderLen::Field { bits, unit, base } = shape.len
            && bits.width() >= 8
            && random.below(2) == 0
        {
            let most = (bytes.len() as u64 - u64::from(base)) / u64::from(unit);
            put(&mut bytes, &bits, random.below(most + 1));
        }
        bytes
    }

    fn put(bytes: &mut [u8], bits: &Bits, value: u64) {
        let (start, len) = (bits.offset() as usize, bits.bytes() as usize);
        let Some(word) = bits.word_at(bytes, 0) else {
            return;
        };
        let mask = u128::from(bits.mask()) << bits.shift();
        let word = word & !mask | u128::from(value) << bits.shift() & mask;
        let mut out = word.to_be_bytes()[16 - len..].to_vec();
        if bits.endian() == weir_bytes::Endian::Little {
            out.reverse();
        }
        bytes[start..start + len].copy_from_slice(&out);
    }

    fn value(get: Get, packet: &crate::Packet<'_>) -> Option<u64> {
        match get {
            Get::Bool(get) => get(packet).map(u64::from),
            Get::U8(get) => get(packet).map(u64::from),
            Get::U16(get) => get(packet).map(u64::from),
            Get::U32(get) => get(packet).map(u64::from),
            Get::U64(get) => get(packet),
            _ => panic!("no number"),
        }
    }

    #[test]
    fn plain_headers_are_what_decode_says_and_their_fields_lie_where_they_are_described() {
        let mut random = Rng::new(15);
        let options = Options::default();
        let mut decoder = Decoder::new(options.clone(), [Needs::All]);
        let (mut plain, mut compared) = (0_u64, 0_u64);
        for layer in Layer::all().filter(|layer| !layer.shapes().is_empty()) {
            let enabled = || layer.shapes().iter().filter(|it| it.is_enabled(&options));
            let mut found = 0_u64;
            for round in 0..20_000_usize {
                let shape = enabled().nth(round % enabled().count()).unwrap();
                let mut bytes = shaped(&mut random, shape);
                for _ in 0..random.below(3) {
                    let at = random.below(bytes.len() as u64) as usize;
                    bytes[at] ^= 1 << random.below(8);
                }
                if random.below(4) == 0 {
                    bytes.truncate(random.below(bytes.len() as u64 + 1) as usize);
                }
                let Some(header) = enabled().find_map(|shape| shape.read(&bytes)) else {
                    continue;
                };
                found += 1;
                let frame = Frame::new(LinkType::ETHERNET, &bytes);
                let input = Input {
                    bytes: &bytes,
                    declared: bytes.len(),
                    frame: &frame,
                    options: &options,
                };
                let read = (layer.protocol().decode)(&input);
                let read =
                    read.unwrap_or_else(|reason| panic!("{layer:?} {reason:?} {bytes:02x?}"));
                assert!(!read.foreign, "{layer:?} {bytes:02x?}");
                assert_eq!(
                    (read.len, read.total),
                    (header.len, header.total),
                    "{layer:?} {bytes:02x?}"
                );
                assert_eq!(read.next.layer(), header.next, "{layer:?} {bytes:02x?}");
                assert!(
                    !matches!(read.next, Next::Quote(_)),
                    "{layer:?} {bytes:02x?}"
                );
                let of_ip = match read.next {
                    Next::IpProtocol(number) => Some((number, false)),
                    Next::IpFragment(number) => Some((number, true)),
                    _ => None,
                };
                assert_eq!(of_ip, header.ip_protocol, "{layer:?} {bytes:02x?}");
                let packet = decoder.decode_as(frame, layer);
                for (field, needs) in fields() {
                    let of_layer = matches!(needs, Needs::Layer(of) if of == layer);
                    let is_number = field
                        .locations
                        .iter()
                        .all(|it| matches!(it.at, Extent::Bits(_)));
                    if !of_layer || field.locations.is_empty() || !is_number {
                        continue;
                    }
                    let described = packet.number(field.locations);
                    let got = value(field.get, &packet);
                    assert_eq!(described, got, "{} of {bytes:02x?}", field.name);
                    assert!(got.is_none_or(|got| got <= weir_bytes::mask(field.width())));
                    compared += 1;
                }
            }
            assert!(found > 2_000, "{layer:?}: {found} plain headers only");
            plain += found;
        }
        assert!(plain > 100_000 && compared > 500_000, "{plain} {compared}");
    }
}
