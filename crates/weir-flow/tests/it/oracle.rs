//! tshark as the judge: its conversations (`-z conv`), and the bytes of its followed streams (`-z follow`).
//!
//! Every eighth capture by default; `WEIR_ORACLE_STRIDE=1` for all of them, `WEIR_ORACLE_CAPTURE=NAME` for those
//! with NAME in their path. A capture that is not in the list of `docs/reference/tshark-flows.md`, which gives a
//! reason for each, must agree. Of streams in which something is missing only the number is compared: tshark
//! writes a remark into their bytes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use weir_flow::{
    Carried, Content, Endpoint, Interest, Options, Payload, Payloads, Sender, Tunnels,
};
use weir_testkit::peer::{self, Question};

use crate::capture::{self, Sent, decode};

/// Protocol and both ends, in order, as text.
type Ends = (String, String, String);

/// Packets of the first end and of the second.
type Totals = [u64; 2];

/// The bytes of both directions.
type Sides = [Vec<u8>; 2];

/// The conversations and streams of a capture, from tshark or from weir.
#[derive(Default)]
struct OracleAnswer {
    conversations: BTreeMap<Ends, Totals>,
    streams: Vec<Sides>,
    /// The number of weir's streams with gaps.
    with_gaps: usize,
}

fn is_installed() -> bool {
    let installed = peer::version("tshark").is_some();
    if !installed {
        weir_testkit::missing("tshark", "nothing judges flows and streams");
    }
    installed
}

/// The output of tshark about a capture.
fn tshark(capture: &Path, arguments: &[String]) -> Option<String> {
    let mut question = Question::to("tshark");
    question
        // Bytes are followed as segments carry them, not as the protocols above put them together.
        .args(["-n", "-o", "tcp.desegment_tcp_streams:FALSE"])
        .args(arguments)
        .arg("-r")
        .file(capture);
    Some(question.answer().ok()?.text())
}

/// The conversations and streams of a capture, from tshark.
fn by_tshark(capture: &Path) -> Option<OracleAnswer> {
    let arguments = "-T fields -e tcp.stream -z conv,tcp -z conv,udp".split(' ');
    let text = tshark(capture, &arguments.map(str::to_owned).collect::<Vec<_>>())?;
    let mut answer = OracleAnswer::default();
    let mut protocol = None;
    let mut streams = 0;
    for line in text.lines() {
        let numbers: Result<Vec<usize>, _> = line.split(',').map(str::parse).collect();
        if let Ok(numbers) = numbers {
            // The numbers of the streams that a packet is of: several where it has packets inside.
            streams = numbers
                .into_iter()
                .map(|number| number + 1)
                .fold(streams, usize::max);
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
    if streams > 0 {
        answer.streams = followed(capture, streams)?;
    }
    Some(answer)
}

/// The bytes of the first `streams` streams, without empty ones.
fn followed(capture: &Path, streams: usize) -> Option<Vec<Sides>> {
    let mut arguments = vec!["-q".to_owned()];
    for index in 0..streams {
        arguments.extend(["-z".to_owned(), format!("follow,tcp,raw,{index}")]);
    }
    let mut all = Vec::new();
    let mut sides = None;
    for line in tshark(capture, &arguments)?.lines() {
        if line.starts_with("Node 1") {
            sides = Some(Sides::default());
        } else if line.starts_with('=') {
            all.extend(sides.take());
        } else if let Some(sides) = &mut sides {
            let side = usize::from(line.starts_with('\t'));
            for pair in line.trim().as_bytes().chunks(2) {
                let digits = std::str::from_utf8(pair).ok()?;
                sides[side].push(u8::from_str_radix(digits, 16).ok()?);
            }
        }
    }
    for side in all.iter_mut().flatten() {
        // The first packet is a keep-alive, whose number is one below the first byte's.
        if side.starts_with(KEEP_ALIVE_REMARK) {
            side.drain(..KEEP_ALIVE_REMARK.len());
        }
    }
    all.retain(|sides| sides.iter().any(|side| !side.is_empty()));
    Some(all)
}

/// The text that tshark writes at the beginning of a stream whose first packet is a keep-alive.
const KEEP_ALIVE_REMARK: &[u8] = b"[1 bytes missing in capture file]\0";

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

fn by_us(packets: &[Sent]) -> OracleAnswer {
    let mut answer = OracleAnswer::default();
    // tshark has what a tunnel carries beside the tunnel.
    for tunnels in [Tunnels::Outer, Tunnels::Inner] {
        for (ends, [low, high]) in conversations(packets, tunnels) {
            let totals = answer.conversations.entry(ends).or_default();
            *totals = [totals[0].max(low), totals[1].max(high)];
        }
    }
    // Each side's bytes, and whether something is missing.
    let mut all: BTreeMap<u64, (Sides, bool)> = BTreeMap::new();
    let mut take = |payload: &Payload<'_>| {
        let Carried::Stream(chunk) = payload.carried else {
            return Interest::Ignore;
        };
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
    let mut payloads = Payloads::new();
    decode(packets, |packet| payloads.packet(packet, &mut take));
    payloads.finish(&mut take);
    all.retain(|_, (sides, _)| sides.iter().any(|side| !side.is_empty()));
    answer.with_gaps = all.values().filter(|(_, gaps)| *gaps).count();
    let whole = all.into_values().filter(|(_, gaps)| !gaps);
    answer.streams = whole.map(|(sides, _)| sides).collect();
    answer
}

fn conversations(packets: &[Sent], tunnels: Tunnels) -> BTreeMap<Ends, Totals> {
    let mut options = Options::default();
    options.tunnels = tunnels;
    let mut all = BTreeMap::new();
    for flow in capture::flows(packets, options) {
        let protocol = match flow.key.protocol() {
            6 => "tcp",
            17 => "udp",
            _ => continue,
        };
        let packets = [flow.sent.packets, flow.received.packets];
        if packets != [0, 0] {
            let name = |end: Endpoint| format!("{}:{}", end.address, end.port);
            let ends = [name(flow.originator), name(flow.responder)];
            add(&mut all, protocol, ends, packets);
        }
    }
    all
}

/// The differences of a capture, one per line, and the numbers of compared items.
fn differences(path: &Path, packets: &[Sent]) -> (Vec<String>, [usize; 3]) {
    let ours = by_us(packets);
    let Some(theirs) = by_tshark(path) else {
        panic!("{}: what tshark says cannot be read", path.display());
    };
    let mut lines = Vec::new();
    for (ends, packets) in &theirs.conversations {
        let ours = ours.conversations.get(ends);
        if ours != Some(packets) {
            lines.push(format!("{ends:?}: {packets:?} packets, ours {ours:?}"));
        }
    }
    for ends in ours.conversations.keys() {
        if !theirs.conversations.contains_key(ends) {
            lines.push(format!("{ends:?}: only ours"));
        }
    }
    let mut left = theirs.streams;
    let mut bytes = 0;
    for [low, high] in &ours.streams {
        bytes += low.len() + high.len();
        let is_it =
            |[one, other]: &Sides| (one, other) == (low, high) || (one, other) == (high, low);
        match left.iter().position(is_it) {
            Some(index) => drop(left.swap_remove(index)),
            None => lines.push(format!("only ours: a stream of {}", lengths(low, high))),
        }
    }
    // The others are those of ours in which something is missing.
    if left.len() != ours.with_gaps {
        let left: Vec<_> = left
            .iter()
            .map(|[one, other]| lengths(one, other))
            .collect();
        let with_gaps = ours.with_gaps;
        lines.push(format!("{with_gaps} with gaps, only tshark's: {left:?}"));
    }
    let compared = [theirs.conversations.len(), ours.streams.len(), bytes];
    (lines, compared)
}

fn lengths(one: &[u8], other: &[u8]) -> String {
    let (most, least) = (one.len().max(other.len()), one.len().min(other.len()));
    format!("{most} and {least} bytes")
}

/// The captures that differ, by the end of their names, with how many lines: the table of
/// `docs/reference/tshark-flows.md`.
fn listed() -> Vec<(String, usize)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/tshark-flows.md");
    let page = std::fs::read_to_string(path).unwrap();
    page.lines()
        .filter_map(|line| {
            let [_, name, count, _reason, _] = line.split('|').collect::<Vec<_>>()[..] else {
                return None;
            };
            let name = name.trim().trim_matches('`').to_owned();
            Some((name, count.trim().parse().ok()?))
        })
        .collect()
}

#[test]
fn conversations_and_streams_are_those_of_tshark() {
    if !is_installed() {
        return;
    }
    let stride = std::env::var("WEIR_ORACLE_STRIDE").map_or(8, |stride| stride.parse().unwrap());
    let only = std::env::var("WEIR_ORACLE_CAPTURE").unwrap_or_default();
    let mut paths = capture::shared();
    paths.retain(|path| path.to_string_lossy().contains(&only));
    let paths: Vec<PathBuf> = paths.into_iter().step_by(stride).collect();
    let listed = listed();
    let next = AtomicUsize::new(0);
    let report = Mutex::new((0, [0; 3], Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let packets = capture::read(path);
                    let (lines, compared) = differences(path, &packets);
                    let name = path.to_string_lossy();
                    let known = listed.iter().find(|(end, _)| name.ends_with(end));
                    for line in &lines {
                        println!(
                            "{}{name}: {line}",
                            if known.is_some() { "listed: " } else { "" }
                        );
                    }
                    let mut report = report.lock().unwrap();
                    report.0 += 1;
                    for (all, one) in report.1.iter_mut().zip(compared) {
                        *all += one;
                    }
                    let allowed = known.map_or(0, |(_, count)| *count);
                    // Fewer than are listed is a list that is no longer true.
                    if lines.len() != allowed {
                        let lines = lines.join("\n  ");
                        report.2.push(format!("{name}, {allowed} listed: {lines}"));
                    }
                }
            });
        }
    });
    let (captures, [conversations, streams, bytes], different) = report.into_inner().unwrap();
    println!(
        "{captures} captures: {conversations} conversations, {streams} streams of {bytes} bytes compared; \
         {} captures differ otherwise than listed",
        different.len()
    );
    assert!(different.is_empty(), "{}", different.join("\n"));
}
