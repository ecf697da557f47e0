//! The sample captures: the same bytes every time, and what tshark thinks of them.

mod oracle;

use std::path::PathBuf;
use weir_testkit::demo::{DemoFile, write_demo};

/// A directory of this test's own, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("weir-{name}-{}", std::process::id()));
        Self(dir)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// FNV-1a: enough to notice a changed byte.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

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
    // After a deliberate change of a generator, put here what is found.
    assert_eq!(found, EXPECTED, "found:\n{found}");
}

#[test]
fn tshark_finds_nothing_wrong() {
    let scratch = Scratch::new("demo-tshark");
    for file in write_demo(&scratch.0).unwrap() {
        if file.file_name.starts_with("recorder") {
            continue;
        }
        let path = scratch.0.join(file.file_name);
        let Some(all) = oracle::matching(&path, "frame") else {
            return;
        };
        assert_eq!(all.len() as u64, file.records, "{}", file.file_name);
        let bad = oracle::matching(&path, oracle::BAD_CHECKSUM).unwrap();
        assert_eq!(bad, [] as [u64; 0], "{}: bad checksums", file.file_name);
        // The packets that are cut on purpose are damaged, and no others.
        let damaged = format!("({}) && frame.cap_len == frame.len", oracle::DAMAGED);
        let damaged = oracle::matching(&path, &damaged).unwrap();
        assert_eq!(damaged, [] as [u64; 0], "{}: damaged", file.file_name);
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

const EXPECTED: &str = "\
office.pcapng 6321 f19b4efc99794232
wan.erf 3003 c081880092a23096
framerelay.pcap 559 e6cff61fe93b4b32
atm.erf 3772 36050481f9b03b85
sunatm.pcap 309 128ed4f654093979
recorder.bin 1353 2a9f75c45e64f2c2
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
    ("sunatm.pcap", "lane && tcp"),
    ("sunatm.pcap", "llc && ipv6"),
];
