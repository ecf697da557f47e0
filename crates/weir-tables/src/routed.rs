//! The part of a packet that is the same before and behind a router, by which two copies of the packet are recognised.

use std::cell::RefCell;

use weir_packet::{
    Decoder, Extent, Frame, HeaderShape, Layer, LayerSet, LinkType, Needs, Options, PROTOCOLS,
    Packet, plain_link,
};

/// Writes the part of a frame that is the same on both sides of a router. For a frame with an IP packet that is the
/// packet and the headers in front of it, without the fields that a router changes ([`CHANGED`]) and without the
/// headers of one link alone ([`OF_ONE_LINK`]); for other frames it is the whole frame.
pub(crate) fn unrouted(link_type: u32, frame: &[u8], out: &mut Vec<u8>) {
    if write_plain(link_type, frame, out).is_some() {
        return;
    }
    out.clear();
    if write_decoded(link_type, frame, out).is_none() {
        out.clear();
        out.extend_from_slice(frame);
    }
}

/// Writes the part with the decoder, which supports all headers. Returns `None` without an IP header in the frame, and
/// with a truncated one.
fn write_decoded(link_type: u32, frame: &[u8], out: &mut Vec<u8>) -> Option<()> {
    DECODER.with_borrow_mut(|decoder| {
        let packet = decoder.decode(Frame::new(LinkType(link_type), frame));
        let network = packet.network()?;
        if packet
            .stop()
            .is_some_and(|stop| stop.layer == Some(network))
        {
            return None;
        }
        let (mut headers, mut ip) = (0, None);
        for (layer, place) in packet.places() {
            headers += 1;
            if layer == network {
                ip = Some(place);
                break;
            }
        }
        let ip = ip?;
        let end = match packet.is_aggregate() {
            // Other packets follow the first one.
            true => frame.len(),
            // Octets after the packet are padding of the frame.
            false => {
                packet_len(&packet).map_or(ip.end, |len| ip.end.min(ip.start.saturating_add(len)))
            }
        };
        let places = packet.places().map(|(layer, place)| (layer, place.start));
        write(places.take(headers), frame.get(..end)?, out)
    })
}

/// The length of the outermost IP packet by its header; `None` where it has none.
fn packet_len(packet: &Packet<'_>) -> Option<usize> {
    let len = match (packet.ipv4(), packet.ipv6()) {
        (Some(header), _) if packet.network() == Some(Layer::Ipv4) => header.total_len()?.into(),
        (_, Some(header)) => match header.payload_len()? {
            0 => 0,
            payload => usize::from(payload).saturating_add(IPV6_HEADER_LEN),
        },
        _ => 0,
    };
    (len > 0).then_some(len)
}

/// Reads a header, of a named protocol, that is plain.
macro_rules! plain {
    ($layer:ident, $bytes:expr) => {{
        const SHAPES: &[HeaderShape] = Layer::$layer.shapes();
        const { assert!(SHAPES.len() == 1, "name more of them here") };
        SHAPES[0].read($bytes)
    }};
}

/// Writes the part for packets whose headers are plain, as those of most are, at a third of the cost: the positions of
/// headers are not stored. Only the first of these headers and that of IP have parts that are left out.
#[inline]
fn write_plain(link_type: u32, frame: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let link = match LinkType(link_type) {
        LinkType::ETHERNET => Layer::Ethernet,
        other => plain_link(other)?,
    };
    let (mut layer, mut at, mut begin) = (link, 0_usize, left_out_at_beginning(link));
    for _ in 0..PLAIN_MAX {
        let bytes = frame.get(at..)?;
        let header = match layer {
            Layer::Ipv4 => {
                let end = at.saturating_add(plain!(Ipv4, bytes)?.total as usize);
                let packet = frame.get(..end).unwrap_or(frame);
                return write_ip(packet, begin, at, CHANGED_BYTES[Layer::Ipv4 as usize], out);
            }
            Layer::Ipv6 => {
                let end = at.saturating_add(plain!(Ipv6, bytes)?.total as usize);
                let packet = frame.get(..end).unwrap_or(frame);
                return write_ip(packet, begin, at, CHANGED_BYTES[Layer::Ipv6 as usize], out);
            }
            Layer::Ethernet => plain!(Ethernet, bytes)?,
            Layer::Vlan => plain!(Vlan, bytes)?,
            Layer::ServiceVlan => plain!(ServiceVlan, bytes)?,
            Layer::Sll => plain!(Sll, bytes)?,
            Layer::Sll2 => plain!(Sll2, bytes)?,
            Layer::RawIp => plain!(RawIp, bytes)?,
            _ => return None,
        };
        layer = header.next?;
        at = at.saturating_add(header.len as usize);
        if begin == usize::MAX {
            begin = at;
        }
    }
    None
}

/// The number of plain headers that are read: Ethernet, two tags, and IP.
const PLAIN_MAX: usize = 4;

/// The number of bytes that are left out at the beginning of a frame of this link; `usize::MAX` for all of the first
/// header.
#[inline]
fn left_out_at_beginning(link: Layer) -> usize {
    match CHANGED_BYTES[link as usize] {
        _ if OF_ONE_LINK.contains(link) => usize::MAX,
        [(0, end), _] => end.into(),
        _ => 0,
    }
}

/// Writes an IP packet whose header is at `at`, and the bytes in front of it from `begin` on.
#[inline(always)]
#[allow(clippy::inline_always, reason = "folds for constant places")]
fn write_ip(
    packet: &[u8],
    begin: usize,
    at: usize,
    changed: [(u8, u8); 2],
    out: &mut Vec<u8>,
) -> Option<()> {
    let before = out.len();
    out.extend_from_slice(packet.get(begin..)?);
    let header = out.get_mut(before.checked_add(at.checked_sub(begin)?)?..)?;
    for (first, end) in changed {
        clear(header, first.into(), usize::from(end.saturating_sub(first)));
    }
    Some(())
}

/// Writes the headers, the last of which is that of IP, and its packet, with which the frame ends. Parts that are left
/// out are omitted at the beginning, and zeros behind it.
#[inline]
fn write(
    mut headers: impl Iterator<Item = (Layer, usize)>,
    frame: &[u8],
    out: &mut Vec<u8>,
) -> Option<()> {
    let (mut layer, mut at) = headers.next()?;
    while OF_ONE_LINK.contains(layer) {
        (layer, at) = headers.next()?;
    }
    let begin = match CHANGED_BYTES[layer as usize] {
        [(0, end), _] => at.saturating_add(end.into()),
        _ => at,
    };
    let before = out.len();
    out.extend_from_slice(frame.get(begin..)?);
    let written = out.get_mut(before..)?;
    loop {
        for (first, end) in CHANGED_BYTES[layer as usize] {
            let bytes = usize::from(first)..usize::from(end);
            if let Some(from) = at.saturating_add(bytes.start).checked_sub(begin) {
                clear(written, from, bytes.len());
            }
        }
        let Some((next, behind)) = headers.next() else {
            return Some(());
        };
        if OF_ONE_LINK.contains(layer) {
            clear(written, at.checked_sub(begin)?, behind.checked_sub(at)?);
        }
        (layer, at) = (next, behind);
    }
}

/// Overwrites bytes with zeros. So few bytes are not worth a call.
#[inline]
fn clear(bytes: &mut [u8], from: usize, len: usize) {
    match bytes.get_mut(from..from.saturating_add(len)) {
        Some([one]) => *one = 0,
        Some([one, other]) => (*one, *other) = (0, 0),
        Some(bytes) if !bytes.is_empty() => bytes.fill(0),
        _ => {}
    }
}

/// The columns of the fields that a router changes in a packet, in its outermost IP header and in those in front of it.
const CHANGED: &[&str] = &[
    "ip.ttl",
    "ip.checksum",
    "ipv6.hlim",
    "mpls.ttl",
    "eth.dst",
    "eth.src",
    "ieee8021ah.cdst",
    "ieee8021ah.csrc",
    "switch_tag.dst",
    "switch_tag.src",
    "arcnet.dst",
    "arcnet.src",
];

/// Headers that only describe how a frame crossed one link and was captured there: stations, numbers that each sender
/// counts, times, interfaces, the path through a fabric of switches.
const OF_ONE_LINK: LayerSet = LayerSet::EMPTY
    .with(Layer::Erf)
    .with(Layer::FabricPath)
    .with(Layer::Fddi)
    .with(Layer::Ipnet)
    .with(Layer::Ipoib)
    .with(Layer::Juniper)
    .with(Layer::Netanalyzer)
    .with(Layer::Nflog)
    .with(Layer::Pktap)
    .with(Layer::Ppi)
    .with(Layer::Prism)
    .with(Layer::Radiotap)
    .with(Layer::Sll)
    .with(Layer::Sll2)
    .with(Layer::TokenRing)
    .with(Layer::Trill)
    .with(Layer::Wlan)
    .with(Layer::WlanCapture);

/// The bytes of the columns [`CHANGED`], by protocol: from the first of each two numbers to the second.
static CHANGED_BYTES: [[(u8, u8); 2]; Layer::COUNT] = changed_bytes();

const fn changed_bytes() -> [[(u8, u8); 2]; Layer::COUNT] {
    let mut of_layers = [[(0, 0); 2]; Layer::COUNT];
    let mut protocol = 0;
    while protocol < PROTOCOLS.len() {
        let fields = PROTOCOLS[protocol].fields;
        let mut field = 0;
        while field < fields.len() {
            let mut location = 0;
            while is_changed(fields[field].name) && location < fields[field].locations.len() {
                let found = &fields[field].locations[location];
                let first = match found.at {
                    Extent::Bits(bits) => bits.offset(),
                    Extent::Bytes { offset, .. } => offset,
                };
                add(
                    &mut of_layers[found.layer as usize],
                    first as u8,
                    found.at.end() as u8,
                );
                location += 1;
            }
            field += 1;
        }
        protocol += 1;
    }
    of_layers
}

/// Adds the bytes of a column, behind those of the columns in front of it.
const fn add(all: &mut [(u8, u8); 2], first: u8, end: u8) {
    if all[0].1 == 0 {
        all[0] = (first, end);
    } else if all[0].1 == first {
        all[0].1 = end;
    } else {
        assert!(all[1].1 == 0, "a protocol has two places at most");
        all[1] = (first, end);
    }
}

const fn is_changed(name: &str) -> bool {
    let mut index = 0;
    while index < CHANGED.len() {
        if is_same(CHANGED[index].as_bytes(), name.as_bytes()) {
            return true;
        }
        index += 1;
    }
    false
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}

thread_local! {
    /// The decoder stops at the IP header. Cells of ATM are compared one by one, so that none waits for others.
    static DECODER: RefCell<Decoder> = {
        let mut options = Options::default();
        options.aal5_connections_max = 0;
        options.aal5_bytes_max = 0;
        RefCell::new(Decoder::new(options, [Needs::Network]))
    };
}

/// Bytes of the fixed header of IPv6.
const IPV6_HEADER_LEN: usize = 40;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use weir_testkit::Rng;
    use weir_testkit::capture::{Endian, ErfRecord, ErfWriter};
    use weir_testkit::packet::{
        Ipv4, ethernet, ethertype, linux_cooked, linux_cooked_v2, mpls, null_loopback,
        pppoe_session, protocol, udp, vlan,
    };

    use super::*;

    fn key(link_type: u32, frame: &[u8]) -> Vec<u8> {
        let mut key = Vec::new();
        unrouted(link_type, frame, &mut key);
        key
    }

    /// A packet of IPv4, with a checksum that fits its TTL.
    fn ipv4(ttl: u8, payload: &[u8]) -> Vec<u8> {
        let (from, to) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 1, 1));
        let datagram = udp(from.into(), to.into(), 4000, 5000, payload);
        let packet = Ipv4::new(from, to, protocol::UDP).identification(7);
        let mut packet = packet.packet(&datagram);
        packet[8] = ttl;
        packet[10] = packet[10].wrapping_sub(ttl);
        packet
    }

    fn ipv6(hops: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, payload.len() as u8, 253, hops];
        packet.extend([1; 32]);
        packet.extend(payload);
        packet
    }

    const HERE: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const THERE: [u8; 6] = [2, 0, 0, 0, 0, 9];

    #[test]
    fn the_columns_that_a_router_changes_are_whole_bytes() {
        for name in CHANGED {
            let found = weir_packet::fields().find(|(field, _)| field.name == *name);
            let (field, _) = found.unwrap_or_else(|| panic!("no column {name}"));
            assert!(!field.locations.is_empty(), "{name}");
            assert!(
                field.locations.iter().all(|it| it.at.width() % 8 == 0),
                "{name}"
            );
        }
    }

    /// The fast path writes the same as the decoder.
    #[test]
    fn plain_packets_are_read_as_the_decoder_reads_them() {
        let mut random = Rng::new(5);
        let (mut plain, mut tried) = (0, 0);
        for (kind, packet) in [
            (ethertype::IPV4, ipv4(9, b"payload!")),
            (ethertype::IPV6, ipv6(9, b"payload!")),
        ] {
            for (name, carry) in CARRIED {
                let (link_type, frame) = carry(&packet, kind, true);
                for round in 0..2_000 {
                    let mut frame = frame.clone();
                    frame.extend(std::iter::repeat_n(7, random.below(20) as usize));
                    for _ in 0..round % 3 {
                        let at = random.below(frame.len() as u64) as usize;
                        frame[at] ^= 1 << random.below(8);
                    }
                    if round % 5 == 0 {
                        frame.truncate(random.below(frame.len() as u64) as usize);
                    }
                    let (mut one, mut other) = (Vec::new(), Vec::new());
                    tried += 1;
                    if write_plain(link_type, &frame, &mut one).is_some() {
                        plain += 1;
                        assert!(
                            write_decoded(link_type, &frame, &mut other).is_some(),
                            "{name}"
                        );
                        assert_eq!(one, other, "{name} {frame:02x?}");
                    }
                }
            }
        }
        assert!(plain * 4 > tried, "{plain} of {tried}");
    }

    #[test]
    fn what_a_router_changes_is_left_out() {
        let one = ethernet([2; 6], [4; 6], ethertype::IPV4, &ipv4(64, b"payload!"));
        let mut routed = ethernet([6; 6], [8; 6], ethertype::IPV4, &ipv4(63, b"payload!"));
        routed.extend([0; 18]);
        assert_eq!(key(1, &one), key(1, &routed));
        // Another packet, another VLAN and a frame that is not decoded give other parts.
        let other = ethernet([6; 6], [8; 6], ethertype::IPV4, &ipv4(63, b"payload?"));
        assert_ne!(key(1, &one), key(1, &other));
        let mut tagged = one.clone();
        tagged.splice(12..12, [0x81, 0, 0, 5]);
        assert_ne!(key(1, &one), key(1, &tagged));
        assert_eq!(key(147, &one), one);
        let one = ethernet([2; 6], [4; 6], ethertype::IPV6, &ipv6(64, &[9; 4]));
        let routed = ethernet([6; 6], [8; 6], ethertype::IPV6, &ipv6(60, &[9; 4]));
        assert_eq!(key(1, &one), key(1, &routed));
        let mut packet = ipv6(60, &[9; 4]);
        packet[8] = 9;
        let other = ethernet([6; 6], [8; 6], ethertype::IPV6, &packet);
        assert_ne!(key(1, &one), key(1, &other));
        // All bytes count of a frame that is truncated before its end is known.
        for length in 0..one.len() {
            let cut = &one[..length];
            assert!(key(1, cut) == cut || length >= 14 + 40);
        }
    }

    /// A frame of one link type and encapsulation around a packet, as one of two links carries it.
    type Carries = fn(&[u8], u16, bool) -> (u32, Vec<u8>);

    const CARRIED: &[(&str, Carries)] = &[
        ("Ethernet", |packet, kind, here| {
            let (to, from) = if here { (HERE, THERE) } else { (THERE, HERE) };
            (1, ethernet(to, from, kind, packet))
        }),
        ("a tag of 0x9100", |packet, kind, here| {
            let (to, from) = if here { (HERE, THERE) } else { (THERE, HERE) };
            (1, ethernet(to, from, 0x9100, &vlan(0, 7, kind, packet)))
        }),
        ("QinQ", |packet, kind, here| {
            let (to, from) = if here { (HERE, THERE) } else { (THERE, HERE) };
            let inner = vlan(0, 7, kind, packet);
            (1, ethernet(to, from, 0x88a8, &vlan(0, 8, 0x8100, &inner)))
        }),
        ("MPLS", |packet, _, here| {
            let (to, from, ttl) = if here {
                (HERE, THERE, 9)
            } else {
                (THERE, HERE, 8)
            };
            (
                1,
                ethernet(to, from, 0x8847, &mpls(&[100, 200], ttl, packet)),
            )
        }),
        ("PPPoE", |packet, kind, here| {
            let (to, from) = if here { (HERE, THERE) } else { (THERE, HERE) };
            let number = if kind == ethertype::IPV4 { 0x21 } else { 0x57 };
            (
                1,
                ethernet(to, from, 0x8864, &pppoe_session(5, number, packet)),
            )
        }),
        ("a backbone of providers", |packet, kind, here| {
            let (to, from) = if here { (HERE, THERE) } else { (THERE, HERE) };
            let inner = ethernet(to, from, kind, packet);
            let tagged = [&[0, 0, 1, 2][..], &inner].concat();
            (1, ethernet([2; 6], [4; 6], 0x88e7, &tagged))
        }),
        ("SLL", |packet, kind, here| match here {
            true => (113, linux_cooked(0, HERE, kind, packet)),
            false => (113, linux_cooked(4, THERE, kind, packet)),
        }),
        ("SLL with a tag", |packet, kind, here| {
            let tagged = vlan(0, 7, kind, packet);
            match here {
                true => (113, linux_cooked(0, HERE, 0x8100, &tagged)),
                false => (113, linux_cooked(4, THERE, 0x8100, &tagged)),
            }
        }),
        ("SLL2", |packet, kind, here| match here {
            true => (276, linux_cooked_v2(0, 2, HERE, kind, packet)),
            false => (276, linux_cooked_v2(4, 3, THERE, kind, packet)),
        }),
        ("raw IP", |packet, _, _| (101, packet.to_vec())),
        ("raw IP by its version", |packet, kind, _| match kind {
            ethertype::IPV4 => (228, packet.to_vec()),
            _ => (229, packet.to_vec()),
        }),
        ("PPP", |packet, kind, _| {
            let number = if kind == ethertype::IPV4 { 0x21 } else { 0x57 };
            (9, [&[0xff, 3, 0, number][..], packet].concat())
        }),
        ("loopback", |packet, kind, _| {
            let family = if kind == ethertype::IPV4 { 2 } else { 30 };
            (0, null_loopback(family, Endian::Little, packet))
        }),
        ("ERF", |packet, kind, here| {
            let (to, from, flags) = if here {
                (HERE, THERE, 4)
            } else {
                (THERE, HERE, 5)
            };
            let frame = ethernet(to, from, kind, packet);
            let record = ErfRecord {
                kind: 2,
                flags,
                wire_len: frame.len() as u16,
                payload: &frame,
                ..ErfRecord::default()
            };
            let mut bytes = Vec::new();
            let time = if here { 1_000 } else { 2_000_000_000 };
            ErfWriter::new(&mut bytes).record(time, &record).unwrap();
            (197, bytes)
        }),
        ("802.11 with radiotap", |packet, kind, here| {
            let (to, from, count) = if here {
                (HERE, THERE, 0x70)
            } else {
                (THERE, HERE, 0x90)
            };
            // The header has the signal strength.
            let mut frame = vec![0, 0, 9, 0, 0x20, 0, 0, 0, count];
            frame.extend([0x08, 1, count, 0]);
            frame.extend([to, from, to].concat());
            frame.extend([count, 0, 0xaa, 0xaa, 3, 0, 0, 0]);
            frame.extend(kind.to_be_bytes());
            frame.extend(packet);
            (127, frame)
        }),
    ];

    #[test]
    fn a_copy_behind_a_router_stayed_in_unless_it_was_plain_ethernet() {
        type Packet = fn(u8, &[u8]) -> Vec<u8>;
        for (kind, packet) in [(ethertype::IPV4, ipv4 as Packet), (ethertype::IPV6, ipv6)] {
            for (name, carry) in CARRIED {
                let keys = |ttl, payload: &[u8], here| {
                    let (link_type, frame) = carry(&packet(ttl, payload), kind, here);
                    key(link_type, &frame)
                };
                let one = keys(64, b"payload!", true);
                assert_eq!(one, keys(63, b"payload!", false), "{name}, {kind:04x}");
                assert_ne!(one, keys(63, b"payload?", false), "{name}, {kind:04x}");
            }
        }
    }

    #[test]
    fn what_no_router_changes_is_compared() {
        let packet = ipv4(64, b"payload!");
        let tagged = |id| ethernet(HERE, THERE, 0x9100, &vlan(0, id, ethertype::IPV4, &packet));
        assert_ne!(key(1, &tagged(7)), key(1, &tagged(8)));
        let labelled = |label| ethernet(HERE, THERE, 0x8847, &mpls(&[label], 9, &packet));
        assert_ne!(key(1, &labelled(100)), key(1, &labelled(200)));
        let session = |id| ethernet(HERE, THERE, 0x8864, &pppoe_session(id, 0x21, &packet));
        assert_ne!(key(1, &session(5)), key(1, &session(6)));
        // A packet in a tunnel is not changed by routers on its way.
        let (from, to) = (Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2));
        let tunnel = |ttl| Ipv4::new(from, to, 4).packet(&ipv4(ttl, b"payload!"));
        assert_ne!(key(101, &tunnel(64)), key(101, &tunnel(63)));
        // A frame without IP is not routed.
        let request = |from| ethernet([0xff; 6], from, 0x0806, &[0; 28]);
        assert_eq!(key(1, &request(HERE)), request(HERE));
        assert_eq!(key(113, &linux_cooked(0, HERE, 0x0806, &[0; 28])).len(), 44);
        // Cells of ATM are compared one by one.
        let cell = [0_u8; 53];
        for _ in 0..3 {
            assert_eq!(key(123, &cell), cell);
        }
    }
}
