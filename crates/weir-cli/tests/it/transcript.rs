//! Transcripts: commands of a shell, with what they write and how they end.
//!
//! ```text
//! # a comment
//! $ weir query "SELECT 1 AS one"; echo done >&2
//! > one
//! > 1
//! ! done
//! ? 0
//! ```
//!
//! `>` is standard output, `!` standard error, `?` the exit status where it is not 0. A command goes
//! on in lines that are none of these, and records are separated by empty lines. Each transcript has
//! a folder of its own with the demo's captures in `demo` and some damaged ones. Times are masked,
//! the escape character is written `\e`. With `WEIR_BLESS=1` in the environment what was found is
//! written into the file.

use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use weir_testkit::Limited as _;
use weir_testkit::capture::{Endian, PcapVariant, PcapWriter};
use weir_testkit::demo::write_demo;
use weir_testkit::packet::{Ipv4, ethernet, protocol, udp};

/// Runs `tests/transcripts/NAME.txt`.
pub(crate) fn check(name: &str) {
    let folder = folder(name);
    let path = format!(
        "{}/tests/transcripts/{name}.txt",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&path).unwrap();
    let mut blessed = String::new();
    let mut wrong = String::new();
    let mut line = 1;
    for record in text.trim_end().split("\n\n") {
        let is_output = |line: &&str| [">", "!", "?"].iter().any(|mark| line.starts_with(mark));
        let lines: Vec<&str> = record.lines().collect();
        let output_at = lines.iter().position(is_output).unwrap_or(lines.len());
        let (question, expected) = lines.split_at(output_at);
        let command: Vec<&str> = question
            .iter()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.strip_prefix("$ ").unwrap_or(line))
            .collect();
        let found = run(&command.join("\n"), &folder);
        if found != expected.join("\n") {
            let (question, expected) = (question.join("\n"), expected.join("\n"));
            write!(
                wrong,
                "{path}:{line}\n{question}\nexpected:\n{expected}\nfound:\n{found}\n\n"
            )
            .unwrap();
        }
        blessed.push_str(&question.join("\n"));
        if !found.is_empty() {
            blessed.push('\n');
            blessed.push_str(&found);
        }
        blessed.push_str("\n\n");
        line += lines.len() + 1;
    }
    if std::env::var_os("WEIR_BLESS").is_some() {
        blessed.truncate(blessed.trim_end().len());
        blessed.push('\n');
        std::fs::write(&path, blessed).unwrap();
        return;
    }
    assert!(
        wrong.is_empty(),
        "\n{wrong}WEIR_BLESS=1 writes what was found"
    );
}

/// A fresh folder with captures.
pub(crate) fn folder(name: &str) -> PathBuf {
    // Checkouts that share a target directory must not share this one.
    let checkout = env!("CARGO_MANIFEST_DIR")
        .bytes()
        .fold(7_u64, |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(byte.into())
        });
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let folder = tmp.join(format!("transcripts-{checkout:016x}")).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    let demo = folder.join("demo");
    write_demo(&demo).unwrap();
    std::fs::create_dir(folder.join("empty")).unwrap();
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    let whole = std::fs::read(demo.join("framerelay.pcap")).unwrap();
    put("cut.pcap", &whole[..20_000]);
    let mut damaged = whole.clone();
    // The length of the first record.
    damaged[24 + 8..24 + 12].copy_from_slice(&[0xff; 4]);
    put("damaged.pcap", &damaged);
    let mut unknown = whole;
    // The link type becomes a number that is not assigned; the file is big-endian.
    unknown[20..24].copy_from_slice(&4_000_u32.to_be_bytes());
    put("unknown.pcap", &unknown);
    put("call.pcap", &call());
    put("notes.txt", b"10.0.0.1 is the router\n");
    put("notes.md", b"# 10.0.0.1 is the router\n");
    put("hosts.csv", b"address,name\n10.0.5.10,resolver\n");
    folder
}

/// A SIP call of two seconds on an odd port, with a retransmission, in a capture.
fn call() -> Vec<u8> {
    let messages = [
        (
            0,
            true,
            "INVITE sip:bob@b.example SIP/2.0",
            "",
            "1 INVITE",
            "v=0\r\n",
        ),
        (100, false, "SIP/2.0 180 Ringing", ";tag=b", "1 INVITE", ""),
        (600, false, "SIP/2.0 180 Ringing", ";tag=b", "1 INVITE", ""),
        (
            1000,
            false,
            "SIP/2.0 200 OK",
            ";tag=b",
            "1 INVITE",
            "v=0\r\n",
        ),
        (
            1001,
            true,
            "ACK sip:bob@b.example SIP/2.0",
            ";tag=b",
            "1 ACK",
            "",
        ),
        (
            3000,
            true,
            "BYE sip:bob@b.example SIP/2.0",
            ";tag=b",
            "2 BYE",
            "",
        ),
        (3020, false, "SIP/2.0 200 <b>OK</b>", ";tag=b", "2 BYE", ""),
    ];
    let (alice, bob) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let mut writer =
        PcapWriter::new(Vec::new(), 1, 65_535, PcapVariant::Micro, Endian::Little).unwrap();
    for (ms, from_alice, start, to_tag, cseq, body) in messages {
        let kind = match body {
            "" => "",
            _ => "Content-Type: application/sdp\r\n",
        };
        let branch = cseq.replace(' ', "");
        let text = format!(
            "{start}\r\nVia: SIP/2.0/UDP 10.0.0.1:7060;branch=z9hG4bK{branch}\r\n\
             From: \"Alice\" <sip:alice@a.example>;tag=a\r\nTo: <sip:bob@b.example>{to_tag}\r\n\
             Call-ID: it's-1@10.0.0.1\r\nCSeq: {cseq}\r\nMax-Forwards: 70\r\n{kind}\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let (src, dst, ports) = match from_alice {
            true => (alice, bob, (7060, 7061)),
            false => (bob, alice, (7061, 7060)),
        };
        let datagram = udp(src.into(), dst.into(), ports.0, ports.1, text.as_bytes());
        let packet = Ipv4::new(src, dst, protocol::UDP).packet(&datagram);
        let frame = ethernet([2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1], 0x0800, &packet);
        let time_ns = 1_767_225_600_000_000_000 + ms * 1_000_000;
        writer.packet(time_ns, frame.len() as u32, &frame).unwrap();
    }
    writer.into_inner()
}

/// The output and the exit status of a command.
fn run(command: &str, folder: &Path) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_weir")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder)
        .env_clear()
        .env("PATH", format!("{}:{path}", program.display()))
        .env("HOME", folder)
        .stdin(Stdio::null())
        .output_limited()
        .unwrap();
    let mut lines = Vec::new();
    for (mark, bytes) in [('>', &output.stdout), ('!', &output.stderr)] {
        let text = String::from_utf8_lossy(bytes).replace('\x1b', "\\e");
        for line in text.lines() {
            lines.push(format!("{mark} {}", mask(line)).trim_end().to_owned());
        }
    }
    match output.status.code() {
        Some(0) => {}
        Some(code) => lines.push(format!("? {code}")),
        None => lines.push("? a signal".to_owned()),
    }
    lines.join("\n")
}

/// Hides how long it took, the version and the profile.
fn mask(line: &str) -> String {
    let line = &line.replace(
        concat!("; ", env!("WEIR_PROFILE"), " build"),
        "; <profile> build",
    );
    if line.starts_with("weir ") {
        let version = concat!(env!("CARGO_PKG_VERSION"), " (", env!("WEIR_PROFILE"), ")");
        return line.replace(version, "<version>");
    }
    match (line.find(" in "), line.find("B/s)")) {
        (Some(start), Some(end)) if start < end => {
            format!(
                "{} in <time>{}",
                &line[..start],
                &line[end + "B/s)".len()..]
            )
        }
        _ => line.to_owned(),
    }
}
