//! The captures that the tests query: the demo's, and small ones of which every byte is known.

use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use weir_testkit::capture::{
    Endian, Interface, PcapVariant, PcapWriter, PcapngWriter, link_type, option_code,
};
use weir_testkit::demo::write_demo;
use weir_testkit::packet::{
    Ipv4, Ipv6, Mac, Tcp, arp, ethernet, ethertype, icmp_echo, linux_cooked, protocol, tcp_flags,
    udp, vlan,
};

/// Makes the folder of samples the current one, so that statements name files as users do.
/// Made once a run of the tests.
pub(crate) fn enter() -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| {
        // Checkouts that share a target directory must not share this one.
        let checkout = env!("CARGO_MANIFEST_DIR")
            .bytes()
            .fold(7_u64, |hash, byte| {
                hash.wrapping_mul(31).wrapping_add(byte.into())
            });
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("samples-{checkout:016x}"));
        if dir.exists() {
            std::fs::remove_dir_all(&dir).unwrap();
        }
        std::fs::create_dir_all(&dir).unwrap();
        std::env::set_current_dir(&dir).unwrap();
        write_demo(Path::new("demo")).unwrap();
        write_small(&dir).unwrap();
        dir
    })
}

fn write_small(dir: &Path) -> std::io::Result<()> {
    let put = |name: &str, bytes: &[u8]| std::fs::write(dir.join(name), bytes);
    put("net.pcap", &pcap(link_type::ETHERNET, &net()))?;
    let twice: Vec<_> = net()
        .into_iter()
        .flat_map(|one| [one.clone(), one])
        .collect();
    put("twice.pcap", &pcap(link_type::ETHERNET, &twice))?;
    put("early.pcap", &pcap(link_type::ETHERNET, &every_other(0)))?;
    put("late.pcap", &pcap(link_type::ETHERNET, &every_other(1)))?;
    put("bytes.pcap", &pcap(link_type::ETHERNET, &bytes()))?;
    let mut backwards = every_other(0);
    backwards.swap(1, 2);
    put("backwards.pcap", &pcap(link_type::ETHERNET, &backwards))?;
    put("mixed.pcapng", &mixed()?)?;
    put("cooked.pcap", &pcap(link_type::LINUX_SLL, &cooked()))?;
    // No link type has this number.
    put("unknown.pcap", &pcap(4_000, &every_other(0)))?;

    let whole = pcap(link_type::ETHERNET, &net());
    put("cut.pcap", &whole[..whole.len() - 10])?;
    // The second record claims more bytes than any record has.
    let mut damaged = whole.clone();
    let second = 24 + 16 + net()[0].1.len();
    damaged[second + 8..second + 12].copy_from_slice(&[0xff; 4]);
    put("damaged.pcap", &damaged)?;
    let mut snapped = PcapWriter::new(
        Vec::new(),
        link_type::ETHERNET,
        40,
        PcapVariant::Nano,
        Endian::Big,
    )?;
    for (time_ns, bytes) in net() {
        snapped.packet(time_ns, bytes.len() as u32, &bytes)?;
    }
    put("snapped.pcap", &snapped.into_inner())?;
    put("no-packets.pcap", &pcap(link_type::ETHERNET, &[]))?;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&whole)?;
    // Content counts, not the name.
    put("net.capture", &gzip.finish()?)?;

    std::fs::create_dir_all(dir.join("day/.hidden"))?;
    put("day/b.pcap", &whole)?;
    put("day/a.capture", &pcap(link_type::ETHERNET, &every_other(0)))?;
    put("day/.hidden.pcap", &whole)?;
    put("day/notes.md", b"# Notes")?;
    let members: [(&str, &[u8]); 4] = [
        ("b.pcap", &whole),
        ("n/a.pcap", &pcap(link_type::ETHERNET, &every_other(0))),
        ("read.me", b"nothing"),
        ("hosts.csv", b"address,name\n10.0.0.1,router\n"),
    ];
    put("day.zip", &stored_zip(&members))?;
    put("text.zip", &stored_zip(&members[2..]))?;
    put("cut.zip", &stored_zip(&members)[..600])?;
    put("nothing.zip", &stored_zip(&members[2..3]))?;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"address,name\n10.0.0.1,router\n9.0.0.1,nine\n")?;
    put("hosts.csv.gz", &packed.finish()?)?;
    put(
        "rows.ndjson.zst",
        &zstd::encode_all(&b"{\"a\": 1}\n{\"a\": 2, \"b\": \"x\"}\n"[..], 1)?,
    )?;
    put(
        "marked.ndjson",
        b"\xef\xbb\xbf{\"a\": 1}\n{\"a\": 2, \"b\": \"x\"}\n",
    )?;
    put("marked.json", b"\xef\xbb\xbf [{\"a\": 1}]\n")?;
    put(
        "bad-hosts.txt",
        b"# seen on Monday\n10.0.0.1\r\n\n  9.0.0.1, not 9  \n0815\n10.0.0.2",
    )?;
    put("empty.pcap", b"")?;
    put("notes.txt", b"10.0.0.1 is the router\n")?;
    put("trace.c", b"int main(void) { return 0; }\n")?;
    std::fs::create_dir_all(dir.join("folder"))?;
    put("folder/a.pcap", &whole)?;
    put("folder/b.pcap", &whole)?;
    put(
        "hosts.csv",
        b"address,name\n10.0.0.1,router\n9.0.0.1,nine\n2001:db8::1,six\nnot an address,noname\n,nothing\n",
    )?;
    put("ports.tsv", b"port\tservice\n53\tdomain\n443\thttps\n")?;
    put(
        "struct.json",
        b"{\"ip\": {\"src\": \"10.0.0.1\", \"dst\": \"x\"}, \"frame\": {\"len\": 7}, \"site\": \"west\"}\n",
    )?;
    put("counter.toml", COUNTER_LAYOUT.as_bytes())?;
    put(
        "counter.bin",
        &[0, 0, 0, 1, 0xff, 0xf6, 0, 0, 0, 2, 0, 5, 0, 0],
    )?;
    put("kinds.toml", KINDS_LAYOUT.as_bytes())?;
    put("kinds.bin", &kinds())?;
    put(
        "bad.toml",
        b"[[field]]\nname = \"counter\"\ntype = \"u12\"\n",
    )
}

/// A zip archive whose members are not compressed.
fn stored_zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let mut fields = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let len = content.len() as u32;
        for number in [crc.sum(), len, len, name.len() as u32] {
            fields.extend(number.to_le_bytes());
        }
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(&fields);
        directory.extend([0; 10]);
        directory.extend((bytes.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        bytes.extend(b"PK\x03\x04");
        bytes.extend(fields);
        bytes.extend(name.as_bytes());
        bytes.extend(*content);
    }
    let at = bytes.len() as u32;
    let count = members.len() as u16;
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(at.to_le_bytes());
    bytes.extend([0, 0]);
    bytes
}

const COUNTER_LAYOUT: &str = r#"
[[field]]
name = "counter"
type = "u32"

[[field]]
name = "level"
type = "i16"
unit = "dBm"
"#;

const KINDS_LAYOUT: &str = r#"
[[field]]
name = "number"
type = "u8"

[[field]]
name = "signed"
type = "i8"

[[field]]
name = "big"
type = "u64"

[[field]]
name = "float"
type = "f64"

[[field]]
name = "flag"
type = "bool"

[[field]]
name = "label"
type = "ascii"
size = 2

[[field]]
name = "at"
type = "time_s"

[[field]]
name = "server"
type = "ipv4"
"#;

/// Records with a value of every type, at the ends and in the middle of its range.
fn kinds() -> Vec<u8> {
    type Row = (i8, u64, f64, bool, &'static [u8; 2], u32);
    let rows: [Row; 7] = [
        (-128, 0, f64::NEG_INFINITY, false, b"  ", 0),
        (-2, 1, -0.0, true, b"a ", 1),
        (-1, i64::MAX as u64, 0.0, false, b"b ", 2),
        (0, i64::MAX as u64 + 1, 0.5, true, b"ba", 3),
        (1, u64::MAX - 1, f64::INFINITY, false, b"c ", 4),
        (127, u64::MAX, f64::NAN, true, b"\xff ", u32::MAX),
        (5, 5, -f64::NAN, true, b"d ", 5),
    ];
    let mut bytes = Vec::new();
    for (number, (signed, big, float, flag, label, seconds)) in (1..).zip(rows) {
        bytes.push(number);
        bytes.extend_from_slice(&signed.to_be_bytes());
        bytes.extend_from_slice(&big.to_be_bytes());
        bytes.extend_from_slice(&float.to_be_bytes());
        bytes.push(u8::from(flag));
        bytes.extend_from_slice(label);
        bytes.extend_from_slice(&seconds.to_be_bytes());
        bytes.extend_from_slice(&[10, 0, 0, number]);
    }
    bytes
}

/// 2026-01-01T00:00:00Z.
const START_NS: u64 = 1_767_225_600_000_000_000;
const MS: u64 = 1_000_000;

fn pcap(link_type: u16, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let (variant, endian) = (PcapVariant::Micro, Endian::Little);
    let mut writer = PcapWriter::new(Vec::new(), link_type, 65_535, variant, endian).unwrap();
    for (time_ns, bytes) in packets {
        writer.packet(*time_ns, bytes.len() as u32, bytes).unwrap();
    }
    writer.into_inner()
}

const A: Mac = [2, 0, 0, 0, 0, 0x0a];
const B: Mac = [2, 0, 0, 0, 0, 0x0b];

fn v4(text: &str) -> Ipv4Addr {
    text.parse().unwrap()
}

fn udp4(src: &str, dst: &str, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let (src, dst) = (v4(src), v4(dst));
    let datagram = udp(src.into(), dst.into(), ports.0, ports.1, payload);
    Ipv4::new(src, dst, protocol::UDP).packet(&datagram)
}

/// Eight packets in which bytes and text of addresses are in a different order, and which have all
/// sorts of NULL.
fn net() -> Vec<(u64, Vec<u8>)> {
    let ip4 = |packet: &[u8]| ethernet(B, A, ethertype::IPV4, packet);
    let (src6, dst6): (Ipv6Addr, Ipv6Addr) = (
        "2001:db8::1".parse().unwrap(),
        "2001:db8::2".parse().unwrap(),
    );
    let hello = udp(IpAddr::V6(src6), IpAddr::V6(dst6), 5000, 53, b"hello");
    let syn = Tcp::new(40_000, 443).flags(tcp_flags::SYN);
    let syn = syn.segment(v4("10.0.0.2").into(), v4("10.0.0.10").into(), b"");
    let packets = [
        ip4(&udp4("10.0.0.1", "10.0.0.2", (5000, 53), b"one")),
        ip4(&udp4("9.0.0.1", "10.0.0.2", (5001, 53), b"two")),
        ip4(&Ipv4::new(v4("10.0.0.2"), v4("10.0.0.10"), protocol::TCP).packet(&syn)),
        ethernet(
            B,
            A,
            ethertype::IPV6,
            &Ipv6::new(src6, dst6, protocol::UDP).packet(&hello),
        ),
        ethernet(
            [0xff; 6],
            A,
            ethertype::ARP,
            &arp(1, (A, v4("10.0.0.1")), ([0; 6], v4("10.0.0.2"))),
        ),
        ethernet(
            B,
            A,
            ethertype::VLAN,
            &vlan(
                3,
                100,
                ethertype::IPV4,
                &udp4("10.0.0.10", "10.0.0.1", (53, 5000), &[7; 80]),
            ),
        ),
        ip4(&Ipv4::new(v4("10.0.0.10"), v4("9.0.0.1"), protocol::ICMP)
            .ttl(3)
            .packet(&icmp_echo(false, 1, 1, b"ping"))),
        ip4(&udp4("10.0.0.1", "224.0.0.251", (5353, 5353), b"")),
    ];
    (0..)
        .map(|index| START_NS + index * 10 * MS)
        .zip(packets)
        .collect()
}

/// Payloads of which the first is no text, and the last is empty.
fn bytes() -> Vec<(u64, Vec<u8>)> {
    let payloads: [&[u8]; 6] = [
        b"\xff\xfeGET /login HTTP/1.0\r\nHost: a.example\r\n\xff",
        b"GET / HTTP/1.1\r\nHost: b.example\r\n",
        b"\x12\x34\x00\x00\x00\x07rest",
        b"plain text",
        b"\x80",
        b"",
    ];
    (0..)
        .zip(payloads)
        .map(|(index, payload)| {
            let packet = udp4("10.0.0.1", "10.0.0.2", (6000 + index as u16, 9), payload);
            (
                START_NS + index * index * MS,
                ethernet(B, A, ethertype::IPV4, &packet),
            )
        })
        .collect()
}

/// Four packets 20 ms apart, `phase` times 10 ms late.
fn every_other(phase: u64) -> Vec<(u64, Vec<u8>)> {
    let packet = |index: u64| {
        let packet = udp4("10.0.0.1", "10.0.0.2", (7000 + index as u16, 53), b"tick");
        (
            START_NS + (2 * index + phase) * 10 * MS,
            ethernet(B, A, ethertype::IPV4, &packet),
        )
    };
    (0..4).map(packet).collect()
}

fn cooked() -> Vec<(u64, Vec<u8>)> {
    let packet = udp4("10.0.0.1", "10.0.0.2", (5000, 53), b"one");
    vec![(START_NS, linux_cooked(4, A, ethertype::IPV4, &packet))]
}

/// Two sections; interfaces with link types, names and clocks of their own.
fn mixed() -> std::io::Result<Vec<u8>> {
    let mut file = PcapngWriter::new(Vec::new(), Endian::Little, &[])?;
    let lan = file.interface(Interface::new(link_type::ETHERNET).name("lan"))?;
    let mut cooked_interface = Interface::new(link_type::LINUX_SLL).name("any");
    cooked_interface.resolution = Some(9);
    let any = file.interface(cooked_interface)?;
    let first = net();
    let remark: (u16, &[u8]) = (option_code::COMMENT, b"first of all");
    file.packet(lan, first[0].0, 60, &first[0].1, &[remark])?;
    let (_, bytes) = &cooked()[0];
    file.packet(any, START_NS + 1, bytes.len() as u32, bytes, &[])?;
    file.simple_packet(60, &first[1].1)?;
    file.section(Endian::Big, &[])?;
    let mut raw = Interface::new(link_type::RAW);
    raw.resolution = Some(3);
    let raw = file.interface(raw)?;
    let packet = udp4("10.0.0.3", "10.0.0.4", (1, 2), b"raw");
    file.packet(raw, START_NS + 5 * MS, packet.len() as u32, &packet, &[])?;
    Ok(file.into_inner())
}
