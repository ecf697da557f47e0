//! The sample captures: the same bytes every time, and what tshark thinks of them.

use crate::oracle;
use crate::scratch::{Scratch, hash};
use weir_testkit::capture::{Endian, PcapVariant, PcapWriter, link_type};
use weir_testkit::demo::{DemoFile, write_demo};

#[test]
fn the_same_bytes_everywhere() {
    let scratch = Scratch::new("demo-bytes");
    let files = write_demo(&scratch.0).unwrap();
    let mut found = String::new();
    let mut total_len = 0;
    for DemoFile {
        file_name, records, ..
    } in files
    {
        let bytes = std::fs::read(scratch.0.join(file_name)).unwrap();
        total_len += bytes.len();
        if !file_name.ends_with(".toml") {
            found.push_str(&format!("{file_name} {records} {:016x}\n", hash(&bytes)));
        }
    }
    assert!(total_len < 3_500_000, "{total_len}");
    // A deliberate change of a generator needs the new hashes in `EXPECTED`.
    assert_eq!(found, EXPECTED, "found:\n{found}");
}

#[test]
fn tshark_finds_nothing_wrong() {
    let scratch = Scratch::new("demo-tshark");
    for file in write_demo(&scratch.0).unwrap() {
        if file.file_name.starts_with("recorder") || file.file_name.ends_with(".ndjson") {
            continue;
        }
        let path = scratch.0.join(file.file_name);
        // The packets that are cut on purpose are damaged, and no others.
        let damaged = format!("({}) && frame.cap_len == frame.len", oracle::DAMAGED);
        let filters = ["frame", oracle::BAD_CHECKSUM, &damaged];
        let Some(counts) = oracle::counts(&path, &filters) else {
            return;
        };
        let name = file.file_name;
        assert_eq!(
            counts,
            [file.records, 0, 0],
            "{name}: records, bad checksums, damaged"
        );
    }
}

#[test]
fn the_samples_cover_what_they_promise() {
    let scratch = Scratch::new("demo-cover");
    write_demo(&scratch.0).unwrap();
    let mut file_names: Vec<&str> = COVERED.iter().map(|(file_name, _)| *file_name).collect();
    file_names.dedup();
    for file_name in file_names {
        // One run of tshark a file: a packet that matches several things counts for all of them.
        let filters: Vec<&str> = COVERED
            .iter()
            .filter(|(covered, _)| *covered == file_name)
            .map(|(_, filter)| *filter)
            .collect();
        let path = scratch.0.join(file_name);
        let Some(counts) = oracle::counts(&path, &filters) else {
            return;
        };
        for (filter, count) in filters.iter().zip(counts) {
            assert!(count > 0, "{file_name} has nothing that is {filter}");
        }
    }
}

#[test]
fn the_recorder_holds_frame_relay() {
    let scratch = Scratch::new("demo-recorder");
    let files = write_demo(&scratch.0).unwrap();
    let file = std::fs::read(scratch.0.join("recorder.bin")).unwrap();
    let link = link_type::FRAME_RELAY;
    let mut pcap =
        PcapWriter::new(Vec::new(), link, 65_535, PcapVariant::Micro, Endian::Big).unwrap();
    let mut by_message = [0_u64; 16];
    let mut rest = &file[..];
    while let Some(header) = rest.first_chunk::<16>() {
        let len = usize::from(u16::from_be_bytes([header[8], header[9]]));
        let wire_len = u32::from(u16::from_be_bytes([header[10], header[11]]));
        let (record, tail) = rest.split_at(len);
        rest = tail;
        let message = usize::from(header[12] >> 4);
        by_message[message] += 1;
        let [board, interface, channel] = [header[13], header[14], header[15]];
        assert!(board < 2 && interface < 3 && (1..=24).contains(&channel));
        match message {
            1 => {
                let seconds = u32::from_be_bytes([header[0], header[1], header[2], header[3]]);
                let time_ns = u64::from(seconds) * 1_000_000_000;
                pcap.packet(time_ns, wire_len, &record[16..]).unwrap();
            }
            2 => assert_eq!(record.len(), 24),
            3 => assert_eq!(record.len(), 20),
            other => panic!("message type {other}"),
        }
    }
    assert!(rest.is_empty());
    let records = files
        .iter()
        .find(|file| file.file_name == "recorder.bin")
        .unwrap()
        .records;
    assert_eq!(by_message.iter().sum::<u64>(), records);
    assert!(by_message[2] > 5 && by_message[3] > 1, "{by_message:?}");

    let path = scratch.file("recorder.pcap", &pcap.into_inner());
    let damaged = format!("({}) && frame.cap_len == frame.len", oracle::DAMAGED);
    let cut = "frame.cap_len < frame.len && fr";
    let Some(counts) = oracle::counts(&path, &["fr", &damaged, cut]) else {
        return;
    };
    assert_eq!(counts[..2], [by_message[1], 0], "frame relay, damaged");
    assert!(counts[2] > 10, "{counts:?}");
}

const EXPECTED: &str = "\
office.pcapng 6321 f19b4efc99794232
wan.erf 3003 c081880092a23096
framerelay.pcap 559 e6cff61fe93b4b32
atm.erf 3772 36050481f9b03b85
sunatm.pcap 309 128ed4f654093979
recorder.bin 1353 2a9f75c45e64f2c2
voip.pcap 40 942e65641a30505d
megaco.pcap 126 95595bb384715c37
websocket.pcap 162 4c6fd5e4a42de268
messages.ndjson 0 66cd3d1caf3a6d27
calls.pcap 825 ed1e5aed8774e2ba
services.pcap 130 2ef2f7d5551ac950
diameter.pcap 27 e0dd8ae517db2380
";

const COVERED: &[(&str, &str)] = &[
    (
        "office.pcapng",
        "frame.interface_id == 0 && vlan.id == 10 && tcp.flags.syn == 1",
    ),
    (
        "office.pcapng",
        "frame.interface_id == 1 && ieee8021ad && vlan.id == 11 && tcp",
    ),
    ("office.pcapng", "frame.cap_len < frame.len"),
    ("office.pcapng", "tcp.analysis.retransmission"),
    ("office.pcapng", "tcp.flags.fin == 1 && ipv6"),
    ("office.pcapng", "tcp.flags.reset == 1"),
    ("office.pcapng", "dns.flags.rcode == 3"),
    ("office.pcapng", "icmp.type == 11 && udp.dstport == 33435"),
    ("office.pcapng", "icmpv6.type == 2"),
    ("office.pcapng", "icmpv6.type == 135"),
    ("office.pcapng", "arp.opcode == 2"),
    ("office.pcapng", "stp"),
    ("office.pcapng", "ip.options.routeralert"),
    ("office.pcapng", "ip.flags.mf == 1"),
    ("office.pcapng", "ipv6.fraghdr.more == 1"),
    (
        "office.pcapng",
        "ipv6.hopopts && ipv6.dstopts && ipv6.routing && ipv6.fraghdr",
    ),
    ("office.pcapng", "ah"),
    ("office.pcapng", "sctp.chunk_type == 1"),
    ("office.pcapng", "sctp.chunk_type == 14"),
    ("office.pcapng", "diameter.cmd.code == 280"),
    ("office.pcapng", "gre.key && http"),
    ("office.pcapng", "vxlan && http"),
    ("office.pcapng", "gtp && http"),
    ("office.pcapng", "pppoes && http"),
    ("office.pcapng", "mpls && tcp"),
    (
        "wan.erf",
        "erf.flags.cap == 3 && erf.mchdlc.cn == 241 && http",
    ),
    ("wan.erf", "erf.flags.rxe == 1"),
    ("wan.erf", "erf.ehdr.types"),
    ("wan.erf", "fr.nlpid == 0xcc && tcp"),
    ("wan.erf", "fr.snaptype == 0x0800 && tcp"),
    ("wan.erf", "q933.message_type == 0x75"),
    ("wan.erf", "arp.opcode == 8"),
    ("framerelay.pcap", "fr.dlci == 65000 && tcp"),
    ("framerelay.pcap", "fr.dlci == 8000000 && tcp"),
    ("framerelay.pcap", "fr.chdlctype == 0x0800 && tcp"),
    ("framerelay.pcap", "ppp && icmp"),
    ("framerelay.pcap", "eth && tcp"),
    ("framerelay.pcap", "fr.nlpid == 0x8e && tcp"),
    ("atm.erf", "erf.types.type == 3"),
    ("atm.erf", "erf.types.type == 4 && http"),
    ("atm.erf", "erf.types.type == 7"),
    ("atm.erf", "erf.types.type == 9 && ipv6"),
    ("atm.erf", "oamaal"),
    ("voip.pcap", "sip.Status-Code == 486 && tcp"),
    ("voip.pcap", "sip.CSeq.method == \"BYE\" && udp"),
    ("voip.pcap", "tcp.analysis.retransmission"),
    ("megaco.pcap", "megaco"),
    (
        "websocket.pcap",
        "websocket.opcode == 1 && websocket.mask == 0",
    ),
    (
        "websocket.pcap",
        "websocket.opcode == 8 && websocket.mask == 1",
    ),
    ("sunatm.pcap", "lane && tcp"),
    ("calls.pcap", "sip.Method == \"REGISTER\""),
    ("calls.pcap", "rtp.p_type == 0 && rtp.ssrc == 0x0b0b0000"),
    ("calls.pcap", "rtcp.pt == 200"),
    ("services.pcap", "dhcp.option.dhcp == 5"),
    ("services.pcap", "arp.duplicate-address-detected"),
    ("services.pcap", "dns.flags.rcode == 3"),
    ("services.pcap", "ntp.stratum == 2"),
    ("services.pcap", "snmp.value.timeticks"),
    ("services.pcap", "radius.code == 3"),
    ("services.pcap", "mqtt.topic == \"site/4/air\""),
    ("services.pcap", "http.response.code == 404"),
    (
        "services.pcap",
        "tls.handshake.type == 11 && x509sat.uTF8String == \"shop.example.org\"",
    ),
    (
        "services.pcap",
        "quic && tls.handshake.extensions_server_name == \"video.example.org\"",
    ),
    ("services.pcap", "icmp.code == 3 && udp.dstport == 9101"),
    ("services.pcap", "vlan.id == 100 && vlan.id == 11"),
    ("services.pcap", "mpls.label == 26 && udp"),
    ("diameter.pcap", "diameter.Result-Code == 3002"),
    ("sunatm.pcap", "llc && ipv6"),
];
