//! Tests of filters on one packet, and of errors of filters with unknown fields.

use weir_packet::{Decoder, Frame, LinkType, Needs};

use super::*;
use crate::PacketFilter;

/// An echo request of 10.0.0.1 in a tunnel of 9.0.0.1, on a VLAN.
fn tunnel() -> Vec<u8> {
    let ip = |protocol: u8, src: u8, payload: &[u8]| {
        let len = (20 + payload.len()) as u16;
        let mut header = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, protocol, 0, 0];
        header[2..4].copy_from_slice(&len.to_be_bytes());
        header.extend([src, 0, 0, 1, src, 0, 0, 2]);
        header.extend(payload);
        header
    };
    let echo = [
        8, 0, 0xf7, 0xff, 0, 0, 0, 0, b'H', b'e', b'l', b'l', b'o', 0xff,
    ];
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x81, 0, 0, 5, 8, 0];
    frame.extend(ip(4, 9, &ip(1, 10, &echo)));
    frame
}

fn passes(filter: &str) -> bool {
    passes_of(&tunnel(), filter)
}

/// Whether a frame of Ethernet passes.
fn passes_of(data: &[u8], filter: &str) -> bool {
    let mut decoder = Decoder::default();
    let mut frame = Frame::new(LinkType::ETHERNET, data);
    frame.time_ns = Some(1_500_000_000);
    let packet = decoder.decode(frame);
    let filter = DisplayFilter::new(filter).unwrap_or_else(|error| panic!("{filter}: {error:?}"));
    filter.passes(&Row::new("x.pcap", &packet))
}

#[test]
fn filters_ask_all_headers_of_a_packet() {
    for filter in [
        "ip",
        "icmp",
        "eth",
        "frame",
        "not tcp",
        "!dns",
        "vlan.id == 5",
        "ip.addr == 9.0.0.1",
        "ip.addr == 10.0.0.2",
        "ip.src == 10.0.0.0/8",
        "ip.src in {10.0.0.0/8}",
        "ip.src#2 == 10.0.0.1",
        "ip.src#[1-2] == 10.0.0.1 and ip.src#[1-2] == 9.0.0.1",
        "ip.src#[-1] == 10.0.0.1 and ip.src#[-2] == 9.0.0.1",
        "ip.src#[:2] == 9.0.0.1 and ip.src#[2:] == 10.0.0.1",
        "!(ip.src#[:2] == 10.0.0.1 or ip.src#[-1] == 9.0.0.1)",
        "count(ip.src#[1,2]) == 2 and count(ip#[-2:]) == 2",
        "ip#[-1][12] == 0a and ip.src#[2][0:2] == 0a:00",
        "all ip.src#[2-9] == 10.0.0.1",
        "!(ip.src#1 == 10.0.0.1)",
        "count(ip.src) == 2",
        "count(ip.addr) == 4",
        "ip.src != 11.0.0.1",
        "!(ip.src != 10.0.0.1)",
        "ip.src ~= 10.0.0.1",
        "!(ip.src === 9.0.0.1)",
        "all ip.src > 8.0.0.0",
        "ip.src < ip.dst",
        "ip.src[0] == 0a",
        "-frame.len == -72",
        "frame.len & 7 + 1 == 8",
        "{frame.len & 8} + 1 == 9",
        "frame.time_epoch - 1 == 0.5",
        "frame.time_epoch == 1 + 0.5 and frame.time_epoch > 1 - 0.5",
        "frame[0] & 02 == 02",
        "ip.src_host[0] == 39",
        "ip.src_host[0:2] == \"10\"",
        "!(frame[0] & 10)",
        "frame[12:2] & ff:00 == 81:00",
        "icmp[0] & 8",
        "len(ip) == 20 and len(eth) == 14 and len(vlan) == 4",
        "len(icmp) == 14",
        "ip contains \"Hello\" and eth matches \"hello\"",
        "ip[19] == 02 and ip#2[12] == 0a",
        "eth.src & ff:00:00:00:00:00 == 02:00:00:00:00:00",
        "ip.src & 255.0.0.0 == 9.0.0.0",
        "ip.src > 9.0.0.0/8",
        "ip.src <= 9.0.0.0/8",
        "ip.src < 9.128.0.0/9",
        "all ip.src >= 9.0.0.0/8",
        "!(ip.src > 10.0.0.0/8)",
        "10.0.0.0/8 > ip.src",
        "ip.src in {8.0.0.0/8 .. 9.0.0.0/8}",
        "!(ip.src in {11.0.0.0/8 .. 12.0.0.0/8})",
        "frame[0:3] == 02.00.00",
        "1 + frame.time_epoch == 2.5",
        "-ip.ttl + 65 == 1",
        "frame.len > -frame.len",
        "frame.len -frame.len == 0",
        "eth.src[0:3] == 02:00:00",
        "eth.src[-1] == 1",
        "eth.addr == 02-00-00-00-00-01",
        "frame contains \"Hello\"",
        "icmp contains \"llo\"",
        "frame matches \"hel+o\"",
        "frame matches \"o\\xff$\"",
        "frame[-1] == ff",
        "len(eth.src) == 6",
        "icmp.type == 8",
        "icmp.type in {0, 8}",
        "icmp.type in {7..9}",
        "icmp.type & 8",
        "ip.ttl == 0x40",
        "ip.flags.df == 0",
        "ip.flags.df == False",
        "frame.time_epoch == 1.5",
        "frame.time < \"2000-01-01\"",
        "ip.len - 20 > 5",
        "frame.time == \"1970-01-01 00:00:01.5\"",
        "frame.time == \"Jan 1, 1970 00:00:01.5\" and frame.time < \"jan 11, 1970 00:00:00 UTC\"",
        "frame.time == \"1970-01-01 01:00:01.5+01:00\" and frame.time == \"1969-12-31T22:30:01.5-0130\"",
        "frame.time == \"1970-01-01 00:00:01.5 UTC\" and frame.time == \"1970-01-01 02:00:01.5+02\"",
        "9.0.0.1 == ip.src",
        "string(ip.src) contains \"10.\"",
        "string(ip.ttl) matches \"^6[0-9]$\"",
        "abs(ip.len - ip.ttl * 2) > 10",
        "max(ip.len, ip.ttl) == 64",
        "min(ip.src, ip.dst) == 9.0.0.1",
        "min(ip.ttl, 7) == 7",
        "eth.lg == 1 and eth.ig == 0",
        "eth.src.lg",
        "eth.src.oui == 0x020000",
        "ip.src_host == \"10.0.0.1\"",
        "eth.src[0:2] > ff and eth.src[0:2] < 01:00:00",
        "frame[0:2] in {ff .. 00:00:00}",
        "icmp > \"zz\"",
        "ip.src_host < \"2\" and ip.src_host in {\"1\" .. \"2\"}",
        "frame.file == x.pcap and frame.file contains pcap and frame.file in {x.pcap}",
        "ip.proto == ICMP and ip.proto in {icmp} and !(ip.flags.df == Set)",
        "frame[0] != a and frame[-1:] > ab",
        "frame contains :ff and frame[-1] == :ff",
        ".icmp and .ip.ttl == +64",
        "frame.time < 2000-01-01 and frame.time > 1969-12-31",
        "frame[0xc:0x2] == 81:00 and frame[014] == 81",
    ] {
        assert!(passes(filter), "{filter}");
    }
    for filter in [
        "tcp",
        "ip.addr == 11.0.0.1",
        "tcp.port != 80",
        "tcp.port == 80",
        "ip.src != 10.0.0.1",
        "frame contains \"hello\"",
        "frame[100] == 1",
        "ip[20] or eth[14] or len(ip) != 20",
        "icmp.type & 1",
        "count(tcp.port) == 0",
        "ip.src not in {10.0.0.0/8}",
        "eth.src[0:3] == 02:00:01",
        "ip.src == ip.dst",
        "ip.src != 10.0.0.0/8",
        "eth.src[0:2] < ff",
        "frame[0:2] in {00 .. ff}",
        "ip.src_host > \"a\"",
        "frame contains \"\" or ip.src_host contains \"\"",
    ] {
        assert!(!passes(filter), "{filter}");
    }
}

/// Headers in another form than the usual one of their protocol (UDP-Lite, Linux cooked captures of version 2, GTP', 802.11 as
/// controllers have it, VXLAN with the generic protocol extension) had no values and, where they have its name, were not the protocol's.
#[test]
fn headers_in_another_form_have_the_fields_of_their_protocol() {
    let mut lite = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    lite.extend([0x45, 0, 0, 32, 0, 1, 0, 0, 64, 136, 0, 0]);
    lite.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    lite.extend([0x13, 0xc4, 0, 53, 0, 8, 0x12, 0x34, 1, 2, 3, 4]);
    for filter in [
        "udplite",
        "udp.port == 53",
        "udp.srcport#1 == 5060",
        "count(udp.port) == 2",
    ] {
        assert!(passes_of(&lite, filter), "{filter}");
    }
    for filter in ["udp", "udp.port == 54", "udp.srcport#2"] {
        assert!(!passes_of(&lite, filter), "{filter}");
    }
    let mut extended = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    extended.extend([0x45, 0, 0, 36, 0, 1, 0, 0, 64, 17, 0, 0]);
    extended.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    extended.extend([0x13, 0xc4, 0x12, 0xb6, 0, 16, 0, 0]);
    extended.extend([0x0c, 0, 0, 0, 0, 0, 23, 0]);
    for filter in [
        "vxlan",
        "vxlan.vni == 23",
        "vxlan.flags == 0x0c",
        "vxlan.next_proto == 0",
        "count(vxlan.vni) == 1",
    ] {
        assert!(passes_of(&extended, filter), "{filter}");
    }
    for filter in ["vxlan.vni == 24", "vxlan.flag_i"] {
        assert!(!passes_of(&extended, filter), "{filter}");
    }
}

/// What is searched in ARP and IP went on behind them, into the padding of short frames.
#[test]
fn padding_is_no_part_of_ip_and_arp() {
    let mut arp = vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 8, 6];
    arp.extend([0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1]);
    arp.extend([0, 0, 0, 0, 0, 0, 10, 0, 0, 2]);
    let mut v4 = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    v4.extend([0x45, 0, 0, 24, 0, 1, 0, 0, 64, 253, 0, 0]);
    v4.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    v4.extend(b"data");
    let mut v6 = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd];
    v6.extend([0x60, 0, 0, 0, 0, 4, 253, 64]);
    v6.extend([0x20; 32]);
    v6.extend(b"data");
    for frame in [&mut arp, &mut v4, &mut v6] {
        frame.extend(b"padding of the frame");
    }
    for (frame, filter) in [
        (&arp, "arp[27] == 02 and len(arp) == 48"),
        (
            &arp,
            "arp contains 0a:00:00:02 and eth contains \"padding\"",
        ),
        (&v4, "ip contains \"data\" and frame contains \"padding\""),
        (&v4, "ip matches \"data$\""),
        (&v6, "ipv6 contains \"data\" and frame contains \"padding\""),
    ] {
        assert!(passes_of(frame, filter), "{filter}");
    }
    for (frame, filter) in [
        (&arp, "arp[28:] or arp[28]"),
        (&arp, "arp contains \"padding\" or arp matches \"pad\""),
        (&v4, "ip contains \"padding\" or ip matches \"pad\""),
        (&v6, "ipv6 contains \"padding\""),
    ] {
        assert!(!passes_of(frame, filter), "{filter}");
    }
}

/// Each label of a stack was a header with a number of its own; in Wireshark all of them have that of the stack.
#[test]
fn labels_of_a_stack_are_one_header() {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0x47];
    frame.extend([0, 1, 0, 10, 0, 1, 0x11, 11]);
    frame.extend([0x45, 0, 0, 20, 0, 1, 0, 0, 64, 59, 0, 0]);
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    for filter in [
        "mpls.label#1 == 16 and mpls.label#1 == 17",
        "count(mpls.label#1) == 2",
        "mpls.ttl#[-1] == 10",
        "mpls#1",
    ] {
        assert!(passes_of(&frame, filter), "{filter}");
    }
    for filter in ["mpls.label#2", "mpls#2"] {
        assert!(!passes_of(&frame, filter), "{filter}");
    }
}

/// As in Wireshark, `ip.version` is a field of IPv6, too.
#[test]
fn the_version_of_ip_is_that_of_both() {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd];
    frame.extend([0x60, 0, 0, 0, 0, 0, 59, 64]);
    frame.extend([0x20; 32]);
    assert!(passes_of(&frame, "ip.version == 6 and ip.version"));
    assert!(!passes_of(&frame, "ip.version == 4 or ip"));
    assert!(passes("ip.version == 4 and count(ip.version) == 2"));
    // A header of IPv4 behind one of IPv6 had the version of that.
    frame[18..21].copy_from_slice(&[0, 20, 4]);
    frame.extend([0x45, 0, 0, 20, 0, 1, 0, 0, 64, 59, 0, 0]);
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    for filter in [
        "ip.version == 4 and ip.version == 6",
        "count(ip.version) == 2 and ip",
        "ip.version#1 == 4 and ip.version#1 == 6 and !ip.version#2",
    ] {
        assert!(passes_of(&frame, filter), "{filter}");
    }
    assert!(!passes("ip.version == 6"));
}

/// The action and the change of the first option of IPv6 alone were fields.
#[test]
fn each_option_of_ipv6_has_an_action() {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd];
    frame.extend([0x60, 0, 0, 0, 0, 8, 0, 64]);
    frame.extend([0x20; 32]);
    frame.extend([59, 0, 0x81, 0, 0x22, 0, 1, 0]);
    for filter in [
        "ipv6.opt.type.action == 2 and ipv6.opt.type.action == 0",
        "ipv6.opt.type.change == 1 and ipv6.opt.type.change == 0",
        "count(ipv6.opt.type.action) == 3",
        "count(ipv6.opt.type.change) == 3",
    ] {
        assert!(passes_of(&frame, filter), "{filter}");
    }
}

/// An address that was receiver and destination, for example, was two values.
#[test]
fn each_address_of_a_wireless_frame_is_one_value() {
    // A beacon, data without a payload in two forms, PS-Poll, CF-End and an acknowledgment.
    for (control, addresses) in [
        ([0x80, 0], 3),
        ([0x48, 1], 3),
        ([0x48, 3], 4),
        ([0xa4, 0], 2),
        ([0xe4, 0], 2),
        ([0xd4, 0], 1),
    ] {
        let mut data: Vec<u8> = control.to_vec();
        data.extend([0, 0]);
        for address in 1..=addresses {
            data.extend([address; 6]);
            // The number of the frame is in front of the fourth one.
            data.extend(if address == 3 { &[0, 0][..] } else { &[] });
        }
        let mut decoder = Decoder::default();
        let packet = decoder.decode(Frame::new(LinkType(105), &data));
        let last = format!("{addresses:02x}");
        let last = [&*last; 6].join(":");
        let filter = format!("count(wlan.addr) == {addresses} and wlan.addr == {last}");
        let passes = DisplayFilter::new(&filter)
            .unwrap()
            .passes(&Row::new("x.pcap", &packet));
        assert!(passes, "{filter}");
    }
}

/// Pad1 of IPv6, a single byte, had an action and a change.
#[test]
fn padding_of_one_byte_has_no_action() {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd];
    frame.extend([0x60, 0, 0, 0, 0, 8, 0, 64]);
    frame.extend([0x20; 32]);
    let alone = [&frame[..], &[59, 0, 0, 0, 0, 0, 0, 0]].concat();
    for filter in [
        "ipv6.opt.type == 0",
        "!ipv6.opt.type.action",
        "!ipv6.opt.type.change",
    ] {
        assert!(passes_of(&alone, filter), "{filter}");
    }
    frame.extend([59, 0, 0, 0xc2, 0, 0, 0, 0]);
    for filter in [
        "count(ipv6.opt.type) == 5",
        "count(ipv6.opt.type.action) == 1 and ipv6.opt.type.action == 3",
        "count(ipv6.opt.type.change) == 1 and ipv6.opt.type.change == 0",
    ] {
        assert!(passes_of(&frame, filter), "{filter}");
    }
}

/// The prefix of a route was no field, though Wireshark has it as that of a link.
#[test]
fn routes_have_a_prefix() {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd];
    frame.extend([0x60, 0, 0, 0, 0, 40, 58, 255]);
    frame.extend([0x20; 32]);
    frame.extend([134, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    frame.extend([24, 1, 0, 0, 0, 0, 0, 60]);
    frame.extend([24, 2, 48, 0, 0, 0, 0, 60, 0x20, 1, 0xd, 0xb8, 0, 9, 0, 0]);
    for filter in [
        "icmpv6.opt.prefix == 2001:db8:9::",
        "icmpv6.opt.prefix.length == 0 and icmpv6.opt.type == 24",
    ] {
        assert!(passes_of(&frame, filter), "{filter}");
    }
}

/// Control messages of version 3 had no length and no sequence number.
#[test]
fn control_messages_of_l2tp_version_3_have_a_length() {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    frame.extend([0x45, 0, 0, 40, 0, 1, 0, 0, 64, 17, 0, 0]);
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([6, 0xa5, 6, 0xa5, 0, 20, 0, 0]);
    frame.extend([0xc8, 3, 0, 12, 0x36, 0x9a, 0xbd, 8, 0, 5, 0, 0]);
    assert!(passes_of(&frame, "l2tp.version == 3 and l2tp.length == 12"));
    assert!(passes_of(&frame, "l2tp.ns == 5 and !l2tp.tunnel"));
    // A data message has none.
    frame[42] = 0x48;
    assert!(!passes_of(&frame, "l2tp.length or l2tp.ns"));
}

/// An option of IPv4 for selective directed broadcasts was passed over.
#[test]
fn selective_directed_broadcast_is_an_option() {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    frame.extend([0x47, 0, 0, 28, 0, 1, 0, 0, 64, 253, 0, 0]);
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([149, 4, 1, 2, 148, 4, 0, 0]);
    for filter in [
        "ip.opt.type == 149 and ip.opt.type == 148",
        "ip.opt.type.number == 21 and count(ip.opt.len) == 2",
    ] {
        assert!(passes_of(&frame, filter), "{filter}");
    }
}

/// The bit of the first octet of an address of frame relay, and the subtype of the first multipath option, alone were fields.
#[test]
fn each_octet_of_an_address_and_each_multipath_option_has_its_field() {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x65, 0x59];
    frame.extend([
        0x18, 0x40, 0x41, 3, 0xcc, 0x45, 0, 0, 48, 0, 1, 0, 0, 64, 6, 0, 0,
    ]);
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([
        0x13, 0x88, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0x70, 0x10, 0, 100,
    ]);
    frame.extend([0, 0, 0, 0, 30, 4, 0x20, 0, 30, 4, 0x30, 0]);
    for filter in [
        "fr.ea == 0 and fr.ea == 1 and count(fr.ea) == 3",
        "tcp.options.mptcp.subtype == 2 and tcp.options.mptcp.subtype == 3",
        "count(tcp.options.mptcp.subtype) == 2 and max(tcp.options.mptcp.subtype) == 3",
    ] {
        assert!(passes_of(&frame, filter), "{filter}");
    }
    assert!(!passes_of(
        &frame,
        "all fr.ea == 0 or tcp.options.mptcp.subtype == 0"
    ));
}

/// The length of an option was no field, and of several blocks of selective acknowledgment the first one alone had its edges.
#[test]
fn each_option_of_tcp_has_its_length_and_each_block_its_edges() {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    frame.extend([0x45, 0, 0, 64, 0, 1, 0, 0, 64, 6, 0, 0]);
    frame.extend([10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend([
        0x13, 0x88, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0xb0, 0x10, 0, 100, 0, 0, 0, 0,
    ]);
    frame.extend([1, 1, 5, 18, 0, 0, 0, 9, 0, 0, 0, 10]);
    frame.extend([0, 0, 0, 5, 0, 0, 0, 6, 3, 3, 7, 0]);
    for filter in [
        "tcp.option_len == 18 and tcp.option_len == 3",
        "count(tcp.option_len) == 2 and max(tcp.option_len) == 18",
        "tcp.options.sack_le == 9 and tcp.options.sack_le == 5",
        "tcp.options.sack_re == 10 and tcp.options.sack_re == 6",
        "count(tcp.options.sack_le) == 2 and count(tcp.options.sack_re) == 2",
    ] {
        assert!(passes_of(&frame, filter), "{filter}");
    }
    assert!(!passes_of(
        &frame,
        "tcp.option_len == 1 or tcp.options.sack_le == 6"
    ));
    // The second block was cut behind its left edge.
    let cut = &frame[..70];
    assert!(passes_of(
        cut,
        "count(tcp.options.sack_le) == 2 and count(tcp.options.sack_re) == 1"
    ));
}

/// What Wireshark says of a segment or of ARP, and options without a value, were unknown.
#[test]
fn some_fields_are_conditions() {
    let tcp = |flags: u8| {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
        frame.extend([
            0x45, 0, 0, 44, 0, 1, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
        ]);
        frame.extend([0x13, 0x88, 0, 80, 0, 0, 0, 1, 0, 0, 0, 1, 0x60, flags]);
        frame.extend([0, 100, 0, 0, 0, 0, 1, 1, 1, 0]);
        frame
    };
    for (flags, filter) in [
        (0x02, "tcp.connection.syn and !tcp.connection.synack"),
        (0x12, "tcp.connection.synack and !tcp.connection.syn"),
        (0x11, "tcp.connection.fin and !tcp.connection.rst"),
        (0x04, "tcp.connection.rst and !tcp.connection.fin"),
        (0x10, "tcp.options.nop and tcp.options.eol"),
        (0x10, "!tcp.options.sack and !tcp.options.timestamp"),
    ] {
        assert!(passes_of(&tcp(flags), filter), "{filter}");
    }
    let mut arp = vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1, 8, 6];
    arp.extend([0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1]);
    arp.extend([0, 0, 0, 0, 0, 0, 10, 0, 0, 1]);
    assert!(passes_of(&arp, "arp.isgratuitous and !arp.isprobe"));
    // Comparisons were refused. Wireshark has the flag only where it is set.
    for filter in [
        "arp.isgratuitous == 1 and arp.isgratuitous == True",
        "!(arp.isgratuitous == 0) and !(arp.isprobe == 1)",
        "!(arp.isprobe == 0) and !(arp.isgratuitous != 1)",
    ] {
        assert!(passes_of(&arp, filter), "{filter}");
    }
    arp[28..32].copy_from_slice(&[0; 4]);
    assert!(passes_of(&arp, "arp.isprobe and !arp.isgratuitous"));
}

/// The filters that are compared with tshark.
#[test]
fn the_filters_of_the_comparison_are_known() {
    let text = include_str!("../../tests/filters.txt");
    let filters = text.lines().filter(|line| !line.starts_with('#'));
    let wrong: Vec<String> = filters
        .filter_map(|filter| {
            DisplayFilter::new(filter)
                .err()
                .map(|error| format!("{filter}: {error}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Names that a protocol had before, and those of the stages of PPP over Ethernet, were unknown.
#[test]
fn protocols_have_their_other_names() {
    for filter in [
        "bootp",
        "bootp.option.dhcp == 1",
        "bootp.hw.mac_addr[0:3] == 02:00:00",
        "ssl.handshake.type == 1",
    ] {
        assert!(DisplayFilter::new(filter).is_ok(), "{filter}");
    }
    assert!(DisplayFilter::new("sslx").is_err());
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0x63];
    frame.extend([0x11, 9, 0, 0, 0, 0]);
    assert!(passes_of(&frame, "pppoed and !pppoes"));
    frame[13..16].copy_from_slice(&[0x64, 0x11, 0]);
    assert!(passes_of(&frame, "pppoes and !pppoed"));
}

/// Parts of fields of messages were unknown.
#[test]
fn parts_of_fields_of_messages_are_fields() {
    for filter in [
        "stun.type.class == 0x10",
        "stun.type.method in {1, 3}",
        "rtp.version == 2",
        "rtcp.version == 2 and rtcp",
        "count(dns.a) > 1",
        "max(tcp.stream, 1) == 2",
    ] {
        let filter = DisplayFilter::new(filter);
        assert!(filter.is_ok_and(|filter| filter.has_messages()));
    }
}

/// They were refused as fields that are not there.
#[test]
fn names_of_hosts_may_begin_with_a_protocol_beside_text() {
    for filter in [
        "dns.qry.name == dns.google",
        "dns.qry.name != ntp.ubuntu.com",
        "dns.qry.name contains ntp.ubuntu",
        "http.host == ip.example.org",
        "tls.handshake.extensions_server_name == frame.com",
    ] {
        assert!(DisplayFilter::new(filter).is_ok(), "{filter}");
    }
    // A field is not a text, and neither is a word beside a number or an address.
    for filter in [
        "dns.qry.name == tcp.port",
        "dns.qry.name == ip.checksum.status",
        "dns.qry.name == tcp.connection.syn",
        "dns.qry.name == dns.qry_nme",
        "ip.src == dns.google",
        "tcp.port == dns.google",
    ] {
        assert!(DisplayFilter::new(filter).is_err(), "{filter}");
    }
}

#[test]
fn fields_that_packets_do_not_have_are_refused_with_their_place() {
    for (filter, message, start, hint) in [
        (
            "tcp.stream == flow.id",
            "packets have no field flow.id",
            14,
            "flow.id",
        ),
        (
            "tcp.seq == tcp.ack",
            "two message fields cannot be compared with each other",
            11,
            "flow_packets('trace.pcap')",
        ),
        (
            "ip && tls.handshake.early_data == 1",
            "packets have no field tls.handshake.early_data",
            6,
            "tls('trace.pcap')",
        ),
        ("smb2", "packets have no field smb2", 0, "tcp.port == 445"),
        (
            "ip.id == dns.id",
            "a message field is compared with a written value, not with a packet field",
            0,
            "FROM dns('trace.pcap')",
        ),
        (
            "dns.id == dns.flags",
            "two message fields cannot be compared with each other",
            10,
            "FROM dns('trace.pcap')",
        ),
        (
            "max(dns.id, ip.id) > 1",
            "a message field is compared with a written value, not with a packet field",
            0,
            "FROM dns('trace.pcap')",
        ),
        ("dns.a == 300.0.0.1", "expected an address", 9, "10.0.0.1"),
        ("tcp.port == http", "packets have no field http", 12, ""),
        (
            "tcp.segments",
            "packets have no field tcp.segments",
            0,
            "put segments together",
        ),
        (
            "ip.fragment.count > 1",
            "packets have no field ip.fragment.count",
            0,
            "flow_fragments('trace.pcap')",
        ),
        ("tcp.port == x", "expected a number", 12, "443"),
        ("ip.ttl == ip.x", "packets have no field ip.x", 10, ""),
        (
            "frame contains password",
            "expected bytes or a text",
            15,
            "double quotes",
        ),
        ("ip.proto == TPC", "expected the name of a value", 12, "\""),
        (
            "frame contains 00-0",
            "expected a value, and found a calculation",
            15,
            "double quotes",
        ),
        (
            "ip.src == 1 + 1",
            "expected a value, and found a calculation",
            10,
            "",
        ),
        (
            "frame.time_delta > 2 * 1",
            "expected a value, and found a calculation",
            19,
            "",
        ),
        ("ip.src == 10.0.0", "expected an address", 10, "10.0.0.1"),
        ("frame.time > \"23-11-14\"", "expected a time", 13, "UTC"),
        (
            "frame.time > \"Nov 14, 23 10:00:00\"",
            "expected a time",
            13,
            "UTC",
        ),
        (
            "frame.time > \"2023-11-14 10:00:00+1\"",
            "expected a time",
            13,
            "UTC",
        ),
        (
            "tcp.port == \"80\"",
            "expected a number",
            12,
            "without quotes",
        ),
        ("tcp.port contains 80", "contains is not for numbers", 0, ""),
        (
            "len(http) > 1",
            "a message of http may begin in another packet, and has no offsets here",
            4,
            "tcp.payload",
        ),
        (
            "tls contains \"x\"",
            "packets have no field tls",
            0,
            "tcp.payload contains",
        ),
        (
            "tcp.flags.syn == \"True\"",
            "expected the name of a value",
            17,
            "\"Set\", \"Not set\"",
        ),
        (
            "frame matches \"(\"",
            "invalid pattern: unclosed group",
            14,
            "a backslash",
        ),
        (
            "substr(ip.src) == \"x\"",
            "there is no function substr",
            0,
            "len",
        ),
        (
            "string(frame.time) == \"x\"",
            "string takes a number or an address",
            7,
            "",
        ),
        (
            "max(ip.src, ip.ttl) == 1",
            "max compares values of one kind",
            12,
            "",
        ),
        ("max(1, 2) == 1", "max takes fields", 0, "max(tcp.srcport"),
        (
            "tcp.port[0] == 1",
            "only bytes and text have slices",
            0,
            "tcp.flags & 0x02",
        ),
    ] {
        let error = DisplayFilter::new(filter).unwrap_err();
        assert_eq!(
            (error.message.as_str(), error.start),
            (message, start),
            "{filter}"
        );
        let found = error.hint.unwrap_or_default();
        assert!(found.contains(hint), "{filter}: {found}");
    }
}

/// A part behind the end had no value, so that no comparison was true of it; in Wireshark it is empty.
#[test]
fn slices_behind_the_end_are_empty() {
    for filter in [
        "frame[500] != 00 and frame[500:2] ~= 00:00",
        "eth.src[7:] < 00 and eth.src[4:9] <= 00",
        "eth.src[5,9] == 01 and eth.src[5,9]",
        "eth.src[7:] == eth.dst[8:]",
        "eth.src[7:] == \"\" and eth.src[7:][0] != 00",
        "ip.src_host[100] != 00",
    ] {
        assert!(passes(filter), "{filter}");
    }
    for filter in [
        "frame[500] or frame[500] == 00 or frame[500] > 00",
        "eth.src[7:] === 00 or eth.src[7:] & 01",
        "eth.src[7:] contains \"\" or eth.src[7:] matches \"^$\"",
        "tcp[0] != 00",
    ] {
        assert!(!passes(filter), "{filter}");
    }
}

/// They selected nothing, or all packets, without a word.
#[test]
fn comparisons_with_what_a_field_never_has_are_refused() {
    let of_packet = "a message field is compared with a written value, not with a packet field";
    for (filter, message, start, hint) in [
        (
            "ip.addr == 2001:db8::1",
            "ip.addr is an IPv4 address",
            11,
            "of IPv6 addresses write ipv6.addr",
        ),
        (
            "ipv6.dst in {::1, 10.0.0.0/8}",
            "ipv6.dst is an IPv6 address",
            18,
            "of IPv4 addresses write ip.addr",
        ),
        (
            "10.0.0.1 != eth.src#1",
            "eth.src is a MAC address",
            0,
            "ip.addr",
        ),
        (
            "arp.src.proto_ipv4 == 02:00:00:00:00:01",
            "arp.src.proto_ipv4 is an IPv4 address",
            22,
            "of MAC addresses write eth.addr",
        ),
        ("tcp.port == 65536", "tcp.port is never 65536", 12, "65535"),
        ("ip.ttl in {1..300}", "ip.ttl is never 300", 14, "255"),
        (
            "ip.src == eth.src",
            "addresses of different kinds are never equal",
            0,
            "",
        ),
        (
            "ipv6.addr != ip.addr",
            "addresses of different kinds are never equal",
            0,
            "",
        ),
        (
            "frame.time_delta < tcp.port",
            "a number is compared with a time",
            0,
            "",
        ),
        ("dns.qry.name == frame", of_packet, 0, "FROM dns"),
        ("tcp contains dns.qry.name", of_packet, 0, "FROM dns"),
        (
            "ip.src matches \"1\"",
            "a pattern matches text or bytes",
            0,
            "",
        ),
    ] {
        let error = DisplayFilter::new(filter).unwrap_err();
        assert_eq!(
            (error.message.as_str(), error.start),
            (message, start),
            "{filter}"
        );
        let found = error.hint.unwrap_or_default();
        assert!(found.contains(hint), "{filter}: {found}");
    }
    for filter in [
        "ip.addr == 10.0.0.1 or ip.addr == 10.0.0.0/8",
        "addr.src == 2001:db8::1 or addr.src == 10.0.0.1",
        "ip.src == arp.src.proto_ipv4 and eth.src == wlan.sa",
        "ip.src == frame[26:4]",
        "tcp.port <= 65535 and frame.len < 4294967295",
        "tcp.port + 65536 > 70000",
        "frame.time_delta < frame.time_relative",
        "max(dns.id, 5) == 5 and dns contains \"a\"",
    ] {
        assert!(DisplayFilter::new(filter).is_ok(), "{filter}");
    }
}

/// Patterns over MAC addresses were refused.
#[test]
fn patterns_match_mac_addresses() {
    assert!(passes("eth.src matches r\"\x00\x01$\""));
    assert!(!passes("eth.src matches r\"\x00\x02$\""));
}

/// Every packet was decoded to its last header to search its bytes for a text.
#[test]
fn tests_of_bytes_alone_decode_nothing() {
    for (filter, decodes) in [
        ("frame contains \"password\"", false),
        ("frame contains 01:02 and not frame matches \"a+\"", false),
        ("frame[0:2] == 02:00 or frame contains \"x\"", false),
        ("frame contains \"x\" and tcp", true),
        ("udp contains \"x\"", true),
        ("tcp.port == 80", true),
    ] {
        let filter = DisplayFilter::new(filter).unwrap();
        let columns = filter.columns();
        let found = columns.iter().any(|column| column.needs() != Needs::Record);
        assert_eq!(found, decodes, "{filter}");
    }
}
