//! `cargo xtask bench payload`: a text looked for in the bytes of packets, beside `grep` over the same file and tshark.
//!
//! `WEIR_PROGRAM=path/to/weir` measures that program instead of one that is built; `WEIR_ROWS=1000` makes a small trace,
//! which tries the benchmark and says little.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::net::Ipv4Addr;

use anyhow::{Context, Result, bail};
use weir_testkit::Rng;
use weir_testkit::capture::{Endian, PcapVariant, PcapWriter};
use weir_testkit::packet::{Ipv4, Tcp, protocol, tcp_flags};

use crate::comparison::Comparison;
use crate::measure::{Subject, alternate, median};
use crate::process::installed;
use crate::scan::{megabytes, program};

/// The searched text. It is on a separate line, so that the lines that grep counts are packets.
const TEXT: &str = "password=hunter2";
/// The distance between packets with the text.
const EVERY: u32 = 997;
/// Packets of the trace, some 250 MB.
const ROWS: u32 = 300_000;
const ROUNDS: usize = 5;
const RAW_IP: u16 = 101;
/// Shares of grep's speed, and multiples of tshark's, that are aimed at.
const GOALS: (f64, f64) = (0.7, 100.0);

/// Runs the benchmark.
pub(crate) fn run() -> Result<Vec<Comparison>> {
    let weir = program()?;
    let rows = match std::env::var("WEIR_ROWS") {
        Ok(rows) => rows.parse().context("WEIR_ROWS is a number")?,
        Err(_) => ROWS,
    };
    if !installed("tshark") || !installed("grep") {
        bail!("grep and tshark are the peers, and are not there");
    }
    let folder = std::env::temp_dir().join("weir-bench-payload");
    fs::create_dir_all(&folder)?;
    let path = folder.join("payload.pcap");
    let bytes = make(&mut BufWriter::new(File::create(&path)?), rows)?;
    let capture = path.to_str().context("the path of a trace is UTF-8")?;
    let outcome = measure(&weir, capture, bytes, rows);
    fs::remove_dir_all(&folder)?;
    outcome
}

/// Segments with bytes of all kinds, some of them with the text; gives the bytes of the file.
fn make(out: &mut impl Write, rows: u32) -> Result<u64> {
    let mut writer = PcapWriter::new(out, RAW_IP, 65_535, PcapVariant::Nano, Endian::Little)?;
    let mut rng = Rng::new(1);
    let (src, dst) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(192, 0, 2, 1));
    let mut bytes = 24;
    for number in 0..rows {
        let len = 400 + (rng.next_u64() % 1_000) as usize;
        // Letters, as in what people look through; none of them ends a line.
        let mut payload: Vec<u8> = Vec::with_capacity(len + 64);
        while payload.len() < len {
            let word = rng.next_u64().to_be_bytes();
            payload.extend(word.map(|byte| {
                if byte == b'\n' {
                    b' '
                } else {
                    byte & 0x7f | 0x20
                }
            }));
        }
        if number % EVERY == 0 {
            let at = payload.len() / 2;
            payload.splice(at..at, format!("\n{TEXT}\n").into_bytes());
        }
        let segment = Tcp::new(40_000, 80)
            .numbers(number, 1)
            .flags(tcp_flags::ACK)
            .segment(src.into(), dst.into(), &payload);
        let packet = Ipv4::new(src, dst, protocol::TCP).packet(&segment);
        let time_ns = 1_700_000_000_000_000_000 + u64::from(number) * 10_000;
        writer.packet(time_ns, packet.len() as u32, &packet)?;
        bytes += 16 + packet.len() as u64;
    }
    writer.into_inner().flush()?;
    Ok(bytes)
}

fn measure(weir: &str, capture: &str, bytes: u64, rows: u32) -> Result<Vec<Comparison>> {
    let asked = |condition: &str| format!("SELECT count(*) FROM '{capture}' WHERE {condition}");
    let frame = asked(&format!("display_filter('frame contains \"{TEXT}\"')"));
    let payload = asked(&format!("contains(tcp.payload, '{TEXT}')"));
    let like = asked(&format!("tcp.payload LIKE '%{TEXT}%'"));
    let query =
        |name: &str, sql: &str| Subject::new(name, weir, &["query", "-q", "--format", "csv", sql]);
    let filter = format!("frame contains \"{TEXT}\"");
    let subjects = [
        query("frame contains", &frame),
        query("contains(tcp.payload)", &payload),
        query("tcp.payload LIKE", &like),
        Subject::new("grep -c -a -F", "grep", &["-c", "-a", "-F", TEXT, capture]),
        Subject::new(
            "tshark -Y",
            "tshark",
            &[
                "-n",
                "-r",
                capture,
                "-Y",
                &filter,
                "-T",
                "fields",
                "-e",
                "frame.number",
            ],
        ),
    ];
    let results = alternate(&subjects, ROUNDS)?;
    let expected = u64::from(rows.div_ceil(EVERY));
    for (subject, (_, text)) in subjects.iter().zip(&results) {
        let found = match subject.name.as_str() {
            "tshark -Y" => text.lines().count() as u64,
            _ => text.lines().last().unwrap_or_default().parse()?,
        };
        if found != expected {
            bail!(
                "{}: {found} packets, and {expected} have the text",
                subject.name
            );
        }
    }
    let wall = |at: usize| median(&results[at].0, |cost| cost.wall);
    let mut comparisons = Vec::new();
    for at in 0..3 {
        let ours = wall(at);
        println!("{}: {:.0} MB/s", subjects[at].name, megabytes(bytes) / ours);
        for (peer, goal) in [(3, GOALS.0), (4, GOALS.1)] {
            println!(
                "  {:.2} times the speed of {} (goal {goal})",
                wall(peer) / ours,
                subjects[peer].name
            );
            comparisons.push(Comparison {
                name: subjects[at].name.clone(),
                ours,
                peer: wall(peer),
                peer_name: subjects[peer].name.clone(),
                unit: "s".to_owned(),
            });
        }
    }
    Ok(comparisons)
}
