//! Capturing on loopback as fast as packets can be sent there: what arrives is what was sent, losses are
//! counted, and memory stays flat. Beside tcpdump, which captures the same packets.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::comparison::Comparison;
use crate::process::{installed, run};
use crate::workspace::{cargo, target_dir};

/// Seconds of sending, unless `WEIR_LIVE_SECONDS` says otherwise: 300 shows that memory is flat.
const SECONDS: u64 = 10;
/// Bytes of a datagram.
const PAYLOAD_BYTES: usize = 100;
/// Most that the resident memory may grow by between the first quarter and the end.
const GROWTH_BYTES_MAX: u64 = 4 << 20;

/// The result of capturing the generator's packets.
struct CaptureOutcome {
    sent: u64,
    /// Packets that the capture counted.
    counted: u64,
    dropped: u64,
    /// Resident bytes after a quarter of the time and at the end.
    resident: (u64, u64),
    seconds: f64,
}

/// `cargo xtask bench live`.
pub(crate) fn run_bench() -> Result<Vec<Comparison>> {
    run(&mut cargo(&[
        "build",
        "--release",
        "-p",
        "weir-cli",
        "--features",
        "full",
    ])?)?;
    let seconds = match std::env::var("WEIR_LIVE_SECONDS") {
        Ok(seconds) => seconds.parse().context("WEIR_LIVE_SECONDS is a number")?,
        Err(_) => SECONDS,
    };
    let duration = Duration::from_secs(seconds);
    let weir = target_dir()?.join("release/weir");
    let kept = target_dir()?.join("live.pcap");
    let mut rows = Vec::new();
    for keeps in [false, true] {
        let name = if keeps { "count and keep" } else { "count" };
        let ours = weir_live(&weir, keeps.then_some(kept.as_path()), duration)?;
        describe(&format!("weir, {name}"), &ours);
        if ours.counted + ours.dropped != ours.sent {
            bail!(
                "{} packets sent, {} counted and {} reported as dropped",
                ours.sent,
                ours.counted,
                ours.dropped
            );
        }
        let (early, late) = ours.resident;
        if late > early + GROWTH_BYTES_MAX {
            bail!("memory grew from {early} to {late} bytes");
        }
        let lost =
            |outcome: &CaptureOutcome| 100.0 * outcome.dropped as f64 / outcome.sent.max(1) as f64;
        let mut row = |what: &str, unit: &str, ours: f64, peer: f64| {
            rows.push(Comparison {
                name: format!("live, {name}: {what}"),
                ours,
                peer,
                peer_name: "tcpdump".to_owned(),
                unit: unit.to_owned(),
            });
        };
        if !installed("tcpdump") {
            eprintln!("SKIPPED: tcpdump is not installed, and nothing is compared with it");
            continue;
        }
        let peer = tcpdump(keeps.then_some(kept.as_path()), duration)?;
        describe(&format!("tcpdump, {name}"), &peer);
        let rate = |outcome: &CaptureOutcome| 1e6 * outcome.seconds / outcome.sent.max(1) as f64;
        row(
            "microseconds between packets",
            "us",
            rate(&ours),
            rate(&peer),
        );
        // None lost is as good as it gets, and no divisor.
        row(
            "lost, and one in a million",
            "%",
            lost(&ours) + 1e-4,
            lost(&peer) + 1e-4,
        );
        row(
            "memory",
            "MB",
            ours.resident.1 as f64 / 1e6,
            peer.resident.1 as f64 / 1e6,
        );
    }
    // The capture is no longer needed.
    let _ = fs::remove_file(kept);
    Ok(rows)
}

fn describe(name: &str, outcome: &CaptureOutcome) {
    println!(
        "{name}: {} packets in {:.1} s ({:.0}/s), {} counted, {} dropped; {:.1} then {:.1} MB resident",
        outcome.sent,
        outcome.seconds,
        outcome.sent as f64 / outcome.seconds,
        outcome.counted,
        outcome.dropped,
        outcome.resident.0 as f64 / 1e6,
        outcome.resident.1 as f64 / 1e6,
    );
}

fn weir_live(
    program: &std::path::Path,
    kept: Option<&std::path::Path>,
    duration: Duration,
) -> Result<CaptureOutcome> {
    let sink = UdpSocket::bind("127.0.0.1:0")?;
    let port = sink.local_addr()?.port();
    let sql = format!("SELECT count(*) AS n FROM live WHERE udp.dstport = {port}");
    let mut command = Command::new(program);
    command.args(["live", "-i", "lo", &sql, "--format", "csv"]);
    if let Some(kept) = kept {
        command.arg("-w").arg(kept);
    }
    let (child, output, message) = observed(command, "capturing on", &sink, duration)?;
    let counted = output.lines().last().unwrap_or_default().parse();
    Ok(CaptureOutcome {
        counted: counted.with_context(|| format!("no count: {output}{message}"))?,
        dropped: number_before(&message, " dropped by the kernel")?,
        ..child
    })
}

fn tcpdump(kept: Option<&std::path::Path>, duration: Duration) -> Result<CaptureOutcome> {
    let sink = UdpSocket::bind("127.0.0.1:0")?;
    let filter = format!("udp dst port {}", sink.local_addr()?.port());
    let mut command = Command::new("tcpdump");
    // The buffer (-B) is as large as weir's. With -Z root tcpdump does not change to a user without write access to this folder.
    let file = kept.map_or("/dev/null".as_ref(), std::path::Path::as_os_str);
    command.args(["-i", "lo", "-n", "-B", "32768", "-Z", "root", "-w"]);
    command.arg(file).arg(filter);
    let (child, _, message) = observed(command, "listening on", &sink, duration)?;
    Ok(CaptureOutcome {
        counted: number_before(&message, " packets captured")?,
        dropped: number_before(&message, " packets dropped by kernel")?,
        ..child
    })
}

/// Runs a capture, sends to `sink` while it runs, and interrupts it: its figures but for the counts, and
/// what it wrote to standard output and error.
fn observed(
    mut command: Command,
    ready: &str,
    sink: &UdpSocket,
    duration: Duration,
) -> Result<(CaptureOutcome, String, String)> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("cannot start the capture")?;
    let mut stderr = BufReader::new(child.stderr.take().context("standard error is piped")?);
    let mut message = String::new();
    while !message.contains(ready) {
        if stderr.read_line(&mut message)? == 0 {
            bail!("the capture has ended: {message}");
        }
    }
    let from = UdpSocket::bind("127.0.0.1:0")?;
    from.connect(sink.local_addr()?)?;
    let started = Instant::now();
    let (mut sent, mut early) = (0, 0);
    while started.elapsed() < duration {
        for _ in 0..1_000 {
            // A receive buffer that is full is no error on loopback; the packet was seen.
            from.send(&[7; PAYLOAD_BYTES])?;
        }
        sent += 1_000;
        if early == 0 && started.elapsed() >= duration / 4 {
            early = resident(&child)?;
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    thread::sleep(Duration::from_millis(500));
    let late = resident(&child)?;
    run_quietly(Command::new("kill").args(["-INT", &child.id().to_string()]))?;
    let mut output = String::new();
    child
        .stdout
        .take()
        .context("standard output is piped")?
        .read_to_string(&mut output)?;
    stderr.read_to_string(&mut message)?;
    child.wait()?;
    let outcome = CaptureOutcome {
        sent,
        counted: 0,
        dropped: 0,
        resident: (early, late),
        seconds,
    };
    Ok((outcome, output, message))
}

fn run_quietly(command: &mut Command) -> Result<()> {
    match command.status()?.success() {
        true => Ok(()),
        false => bail!("the capture cannot be interrupted"),
    }
}

/// Bytes that a process has in memory.
fn resident(child: &Child) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kilobytes.context("no VmRSS")?.parse::<u64>()? * 1024)
}

/// The number that stands before some words, which may have commas.
fn number_before(text: &str, words: &str) -> Result<u64> {
    let end = text
        .find(words)
        .with_context(|| format!("nothing{words}: {text}"))?;
    let number = text[..end].rsplit([' ', '\n']).next().unwrap_or_default();
    Ok(number.replace(',', "").parse()?)
}
