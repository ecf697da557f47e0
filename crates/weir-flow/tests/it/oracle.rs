//! tshark as the judge: its conversations (`-z conv`), and the bytes of its followed streams (`-z follow`).
//!
//! Every eighth capture by default; `WEIR_ORACLE_STRIDE=1` for all of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use weir_flow::{Content, Endpoint, Interest, Options, Sender, StreamLimits, Streams, Tracker};

use crate::capture::{self, Sent, decode};

/// Protocol and both ends, in order, as text.
type Ends = (String, String, String);

/// Packets of the first end and of the second.
type Totals = [u64; 2];

/// The bytes of both directions.
type Sides = [Vec<u8>; 2];

/// What a capture has, by one or the other.
#[derive(Default)]
struct Answer {
    conversations: BTreeMap<Ends, Totals>,
    streams: Vec<Sides>,
    /// Of ours, streams where something is missing.
    with_gaps: usize,
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

/// What tshark says of conversations and of the first `streams` streams.
fn by_tshark(capture: &Path, streams: usize) -> Option<Answer> {
    let mut command = Command::new("tshark");
    // Bytes are followed as segments carry them, not as the protocols above put them together.
    command.args(["-n", "-q", "-o", "tcp.desegment_tcp_streams:FALSE"]);
    command.args(["-z", "conv,tcp", "-z", "conv,udp"]);
    for index in 0..streams {
        command.args(["-z", &format!("follow,tcp,raw,{index}")]);
    }
    let output = command
        .arg("-r")
        .arg(capture)
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let mut answer = Answer::default();
    let mut protocol = None;
    let mut sides = None;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if line.starts_with("Node 1") {
            sides = Some(Sides::default());
        } else if line.starts_with('=') {
            answer.streams.extend(sides.take());
        } else if let Some(sides) = &mut sides {
            let side = usize::from(line.starts_with('\t'));
            for pair in line.trim().as_bytes().chunks(2) {
                let digits = std::str::from_utf8(pair).ok()?;
                sides[side].push(u8::from_str_radix(digits, 16).ok()?);
            }
        } else if line.ends_with("Conversations") {
            protocol = line
                .split(' ')
                .next()
                .map(str::to_lowercase)
                .filter(|name| ["tcp", "udp"].contains(&name.as_str()));
        } else if let (Some(protocol), Some((from, rest))) = (&protocol, line.split_once("<->")) {
            let words: Vec<&str> = rest.split_whitespace().collect();
            let [to, received, _, _, sent, ..] = words[..] else {
                panic!("{line}");
            };
            let packets = [sent, received].map(|count| count.parse().unwrap());
            add(
                &mut answer.conversations,
                protocol,
                [from.trim(), to].map(str::to_owned),
                packets,
            );
        }
    }
    answer
        .streams
        .retain(|sides| sides.iter().any(|side| !side.is_empty()));
    Some(answer)
}

/// Adds packets to a conversation, whose lower end comes first.
fn add(all: &mut BTreeMap<Ends, Totals>, protocol: &str, ends: [String; 2], packets: Totals) {
    let [from, to] = ends;
    let side = usize::from(from > to);
    let ends = if side == 0 { (from, to) } else { (to, from) };
    let entry = all
        .entry((protocol.to_owned(), ends.0, ends.1))
        .or_default();
    for (index, packets) in packets.into_iter().enumerate() {
        entry[index ^ side] += packets;
    }
}

fn by_us(packets: &[Sent]) -> Answer {
    let mut answer = Answer::default();
    let mut tracker = Tracker::new(Options::default());
    let mut count = |flow: weir_flow::FlowRecord| {
        let protocol = match flow.key.protocol() {
            6 => "tcp",
            17 => "udp",
            _ => return,
        };
        let packets = [flow.sent.packets, flow.received.packets];
        if packets != [0, 0] {
            let name = |end: Endpoint| format!("{}:{}", end.address, end.port);
            let ends = [name(flow.originator), name(flow.responder)];
            add(&mut answer.conversations, protocol, ends, packets);
        }
    };
    let mut streams = Streams::new(StreamLimits::default());
    // Each side's bytes, and whether something is missing.
    let mut all: BTreeMap<u64, (Sides, bool)> = BTreeMap::new();
    let mut take = |chunk: &weir_flow::Chunk<'_>| {
        let (sides, gaps) = all.entry(chunk.connection).or_default();
        match chunk.content {
            Content::Bytes(bytes) => {
                sides[usize::from(chunk.sender == Sender::High)].extend_from_slice(bytes);
            }
            Content::Gap(_) => *gaps = true,
            Content::End(_) => {}
        }
        Interest::Follow
    };
    decode(packets, |packet| {
        tracker.packet(packet, &mut count);
        streams.packet(packet, &mut take);
    });
    tracker.finish(&mut count);
    streams.finish(&mut take);
    all.retain(|_, (sides, _)| sides.iter().any(|side| !side.is_empty()));
    answer.with_gaps = all.values().filter(|(_, gaps)| *gaps).count();
    let whole = all.into_values().filter(|(_, gaps)| !gaps);
    answer.streams = whole.map(|(sides, _)| sides).collect();
    answer
}

/// Why a capture is not compared: tshark shows packets in packets as conversations of their own, and reads
/// on in what is damaged.
fn excuse(packets: &[Sent]) -> Option<&'static str> {
    let mut excuse = None;
    decode(packets, |packet| {
        use weir_packet::Layer::{Gre, Gtp, Icmp, Icmpv6, Ipv4, Ipv6, Teredo, Vxlan};
        let is_any = |layers: &[weir_packet::Layer]| layers.iter().any(|layer| packet.has(*layer));
        let nested = matches!(packet.ip_protocol(), Some(4 | 41 | 94 | 97 | 137));
        if is_any(&[Gre, Gtp, Teredo, Vxlan]) || nested || packet.has(Ipv4) && packet.has(Ipv6) {
            excuse = Some("tunnels");
        } else if is_any(&[Icmp, Icmpv6]) {
            excuse = excuse.or(Some("quoted packets"));
        } else if packet.stop().is_some() {
            excuse = excuse.or(Some("damage"));
        }
    });
    excuse
}

#[test]
fn conversations_and_streams_are_those_of_tshark() {
    if !is_installed() {
        return;
    }
    let stride = std::env::var("WEIR_ORACLE_STRIDE").map_or(8, |stride| stride.parse().unwrap());
    let paths: Vec<PathBuf> = capture::shared().into_iter().step_by(stride).collect();
    if paths.is_empty() {
        return;
    }
    let next = AtomicUsize::new(0);
    let report = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let packets = capture::read(path);
                    if packets.is_empty() {
                        continue;
                    }
                    let ours = by_us(&packets);
                    let Some(theirs) =
                        by_tshark(path, (ours.streams.len() + ours.with_gaps) * 2 + 4)
                    else {
                        continue;
                    };
                    let mut lines = Vec::new();
                    for (ends, totals) in &theirs.conversations {
                        if ours.conversations.get(ends) != Some(totals) {
                            lines.push(format!(
                                "conv {ends:?} {totals:?} ours {:?}",
                                ours.conversations.get(ends)
                            ));
                        }
                    }
                    for ends in ours.conversations.keys() {
                        if !theirs.conversations.contains_key(ends) {
                            lines.push(format!("conv {ends:?} only ours"));
                        }
                    }
                    let mut left = theirs.streams;
                    let mut bytes = 0;
                    for sides in &ours.streams {
                        bytes += sides[0].len() + sides[1].len();
                        let [low, high] = sides;
                        match left.iter().position(|[one, other]| {
                            (one, other) == (low, high) || (one, other) == (high, low)
                        }) {
                            Some(index) => drop(left.swap_remove(index)),
                            None => lines.push(format!(
                                "stream {} {} not theirs",
                                low.len(),
                                high.len()
                            )),
                        }
                    }
                    println!(
                        "CAP {:?} conv {} streams {} bytes {bytes} gaps {} {}: {:?}",
                        path.file_name(),
                        theirs.conversations.len(),
                        ours.streams.len(),
                        ours.with_gaps,
                        lines.len(),
                        excuse(&packets)
                    );
                    for line in lines {
                        report
                            .lock()
                            .unwrap()
                            .push(format!("{:?}: {line}", path.file_name()));
                    }
                }
            });
        }
    });
    println!("{}", report.lock().unwrap().join("\n"));
}
