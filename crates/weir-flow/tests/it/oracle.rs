//! tshark as the judge: its conversations, and the bytes of its followed streams.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use weir_flow::{Content, Interest, Options, StreamLimits, Streams, Tracker};

use crate::capture::{self, Sent, decode};

fn tshark(arguments: &[&str], capture: &Path) -> Option<String> {
    // Only the outermost packet counts here, and tshark is to put fragments together as we do.
    let output = Command::new("tshark")
        .args(["-n", "-o", "tcp.desegment_tcp_streams:FALSE"])
        .args(arguments)
        .arg("-r")
        .arg(capture)
        .stderr(Stdio::null())
        .output()
        .ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn is_installed() -> bool {
    let installed = Command::new("tshark")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !installed {
        eprintln!("SKIPPED: tshark is not installed: nothing judges flows and streams");
    }
    installed
}

/// Protocol and both ends, in order, as text.
type Ends = (String, String, String);

/// Packets and bytes of IP of the first end and of the second.
type Totals = [(u64, u64); 2];

/// Captures whose outermost addresses and ports are not the ones that tshark shows, or which it
/// reads otherwise: quoted or tunnelled packets show as conversations of their own there.
fn is_comparable(packets: &[Sent]) -> bool {
    let mut comparable = true;
    decode(packets, |packet| {
        use weir_packet::Layer::{Gre, Gtp, Icmp, Icmpv6, Ipv4, Ipv6, Teredo, Vxlan};
        let tunnels = [Gre, Gtp, Teredo, Vxlan]
            .into_iter()
            .any(|layer| packet.has(layer));
        let quotes = [Icmp, Icmpv6].into_iter().any(|layer| packet.has(layer));
        let both = packet.has(Ipv4) && packet.has(Ipv6);
        let nested = matches!(packet.ip_protocol(), Some(4 | 41 | 94 | 97 | 137));
        comparable &= !(tunnels || quotes || both || nested || packet.stop().is_some());
    });
    comparable
}

/// Packets and bytes a conversation of TCP or UDP, by tshark's fields a packet.
fn by_tshark(capture: &Path) -> Option<BTreeMap<Ends, Totals>> {
    let fields = [
        "ip.src",
        "ip.dst",
        "ipv6.src",
        "ipv6.dst",
        "tcp.srcport",
        "tcp.dstport",
        "udp.srcport",
        "udp.dstport",
    ];
    let mut arguments = vec!["-T", "fields", "-E", "occurrence=f", "-E", "separator=/t"];
    for field in fields {
        arguments.extend(["-e", field]);
    }
    let text = tshark(&arguments, capture)?;
    let mut all: BTreeMap<Ends, Totals> = BTreeMap::new();
    for line in text.lines() {
        let values: Vec<&str> = line.split('\t').collect();
        let first = |a: usize, b: usize| {
            let value = values.get(a).copied().unwrap_or_default();
            if value.is_empty() {
                values.get(b).copied().unwrap_or_default()
            } else {
                value
            }
        };
        let (from, to) = (first(0, 2), first(1, 3));
        let is_tcp = values.get(4).is_some_and(|port| !port.is_empty());
        let (from_port, to_port) = (first(4, 6), first(5, 7));
        if from.is_empty() || from_port.is_empty() {
            continue;
        }
        let from = format!("{from} {from_port}");
        let to = format!("{to} {to_port}");
        let protocol = if is_tcp { "tcp" } else { "udp" };
        let side = usize::from(from > to);
        let ends = if side == 0 { (from, to) } else { (to, from) };
        let entry = all
            .entry((protocol.to_owned(), ends.0, ends.1))
            .or_default();
        entry[side].0 += 1;
    }
    Some(all)
}

fn by_us(packets: &[Sent]) -> BTreeMap<Ends, Totals> {
    let mut all: BTreeMap<Ends, Totals> = BTreeMap::new();
    let mut tracker = Tracker::new(Options::default());
    let mut add = |flow: weir_flow::FlowRecord| {
        let protocol = match flow.key.protocol() {
            6 => "tcp",
            17 => "udp",
            _ => return,
        };
        let name = |end: weir_flow::Endpoint| format!("{} {}", end.address, end.port);
        let (from, to) = (name(flow.originator), name(flow.responder));
        let totals = [flow.sent, flow.received].map(|one| (one.packets, 0));
        let side = usize::from(from > to);
        let ends = if side == 0 { (from, to) } else { (to, from) };
        let entry = all
            .entry((protocol.to_owned(), ends.0, ends.1))
            .or_default();
        for (index, totals) in totals.into_iter().enumerate() {
            entry[index ^ side].0 += totals.0;
        }
    };
    decode(packets, |packet| {
        tracker.packet(packet, &mut add);
    });
    tracker.finish(&mut add);
    all.retain(|_, totals| totals[0].0 + totals[1].0 > 0);
    all
}

fn captures() -> Vec<(PathBuf, Vec<Sent>)> {
    let stride = std::env::var("WEIR_ORACLE_STRIDE").map_or(8, |stride| stride.parse().unwrap());
    capture::shared()
        .into_iter()
        .step_by(stride)
        .map(|path| {
            let packets = capture::read(&path);
            (path, packets)
        })
        .filter(|(_, packets)| {
            !packets.is_empty() && packets.len() < 20_000 && is_comparable(packets)
        })
        .collect()
}

#[test]
fn conversations_have_the_packets_that_tshark_counts() {
    if !is_installed() {
        return;
    }
    let mut compared = 0;
    let mut different = Vec::new();
    for (path, packets) in captures() {
        let Some(theirs) = by_tshark(&path) else {
            continue;
        };
        let ours = by_us(&packets);
        for (ends, totals) in &theirs {
            compared += 1;
            if ours.get(ends) != Some(totals) {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                different.push(format!("{name} {ends:?}: {totals:?}, {:?}", ours.get(ends)));
            }
        }
        for ends in ours.keys().filter(|ends| !theirs.contains_key(*ends)) {
            different.push(format!("{} {ends:?}: only ours", path.display()));
        }
    }
    println!(
        "{compared} conversations compared, {} differ",
        different.len()
    );
    let allowed = compared / 200;
    assert!(different.len() <= allowed, "{}", different.join("\n"));
}

/// The bytes of each direction of each stream, by `-z follow,tcp,raw`: `None` where it says that bytes are
/// missing.
fn followed(capture: &Path, stream: usize) -> Option<[Vec<u8>; 2]> {
    let follow = format!("follow,tcp,raw,{stream}");
    let text = tshark(&["-q", "-z", &follow], capture)?;
    let mut sides = [Vec::new(), Vec::new()];
    let mut is_body = false;
    for line in text.lines() {
        if line.starts_with("Node 1") {
            is_body = true;
            continue;
        }
        if !is_body || line.starts_with('=') {
            continue;
        }
        let side = usize::from(line.starts_with('\t'));
        let hex = line.trim();
        for pair in hex.as_bytes().chunks(2) {
            let digits = std::str::from_utf8(pair).ok()?;
            sides[side].push(u8::from_str_radix(digits, 16).ok()?);
        }
    }
    Some(sides)
}

/// Streams that tshark follows otherwise, by the end of the capture's name, and why.
const EXPLAINED: [(&str, &str); 2] = [
    (
        "443-firefox.pcap",
        "a reset ends both ways for us; tshark goes on with what was still under way",
    ),
    (
        "ndpi_match_string_subprotocol__error.pcapng",
        "two connections of the same ports, an hour apart, are one stream to tshark",
    ),
];

fn is_explained(path: &Path) -> bool {
    let name = path.to_string_lossy();
    EXPLAINED.iter().any(|(end, _)| name.ends_with(end))
}

#[test]
fn streams_have_the_bytes_that_tshark_follows() {
    if !is_installed() {
        return;
    }
    let (mut compared, mut bytes, mut with_gaps) = (0, 0, 0);
    let mut different = Vec::new();
    for (path, packets) in captures() {
        let mut streams = Streams::new(StreamLimits::default());
        // Each side's bytes, and whether something is missing.
        let mut all: BTreeMap<u64, ([Vec<u8>; 2], bool)> = BTreeMap::new();
        let mut add = |chunk: &weir_flow::Chunk<'_>| {
            let (sides, gaps) = all.entry(chunk.connection).or_default();
            match chunk.content {
                Content::Bytes(bytes) => {
                    sides[usize::from(chunk.sender == weir_flow::Sender::High)]
                        .extend_from_slice(bytes);
                }
                Content::Gap(_) => *gaps = true,
                Content::End(_) => {}
            }
            Interest::Follow
        };
        decode(&packets, |packet| streams.packet(packet, &mut add));
        streams.finish(&mut add);
        all.retain(|_, (sides, _)| sides.iter().any(|side| !side.is_empty()));
        if all.is_empty() || all.len() > 8 {
            continue;
        }
        let Some(indices) = tshark(
            &["-T", "fields", "-e", "tcp.stream", "-Y", "tcp.len > 0"],
            &path,
        ) else {
            continue;
        };
        let mut indices: Vec<usize> = indices
            .lines()
            .filter_map(|line| line.parse().ok())
            .collect();
        indices.sort_unstable();
        indices.dedup();
        let mut theirs: Vec<[Vec<u8>; 2]> = indices
            .iter()
            .filter_map(|index| followed(&path, *index))
            .collect();
        for (ours, gaps) in all.values() {
            if *gaps {
                with_gaps += 1;
                continue;
            }
            compared += 1;
            bytes += ours[0].len() + ours[1].len();
            let turned = [ours[1].clone(), ours[0].clone()];
            match theirs.iter().position(|one| one == ours || *one == turned) {
                Some(index) => drop(theirs.remove(index)),
                None if is_explained(&path) => {}
                None => different.push(format!(
                    "{}: {} and {} bytes; left: {:?}",
                    path.display(),
                    ours[0].len(),
                    ours[1].len(),
                    theirs
                        .iter()
                        .map(|one| (one[0].len(), one[1].len()))
                        .collect::<Vec<_>>()
                )),
            }
        }
    }
    println!(
        "{compared} streams of {bytes} bytes compared, {} differ, {with_gaps} have gaps",
        different.len()
    );
    assert!(different.len() * 50 <= compared, "{}", different.join("\n"));
}
