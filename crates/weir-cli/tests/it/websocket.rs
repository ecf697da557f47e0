//! `weir ws … -i` on loopback, with a real client and server. Skipped loudly without the capability to
//! capture, and without Python's websockets.

#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

use weir_testkit::Limited as _;
use weir_testkit::capture::{Endian, PcapVariant, PcapWriter};
use weir_testkit::http2;
use weir_testkit::packet::{Ipv4, Tcp, protocol, tcp_flags};

use crate::shell::{signal, until_it_captures};

/// A client that is connected to a server.
struct Peers {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    port: String,
}

impl Peers {
    /// `messages` are sent each way at a time.
    fn connect(messages: u32) -> Option<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/websocket.py");
        let mut child = Command::new("python3")
            .arg(script)
            .arg(messages.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn_limited()
            .ok()?;
        let mut from = BufReader::new(child.stdout.take().unwrap());
        let mut port = String::new();
        from.read_line(&mut port).unwrap();
        if port.is_empty() {
            let mut message = String::new();
            let mut stderr = child.stderr.take().unwrap();
            stderr.read_to_string(&mut message).unwrap();
            assert!(message.contains("ModuleNotFoundError"), "{message}");
            weir_testkit::missing("python-websockets", "connections that are captured live");
            return None;
        }
        Some(Self {
            to: child.stdin.take(),
            child,
            from,
            port: port.trim().to_owned(),
        })
    }

    fn send(&mut self) {
        self.to.as_mut().unwrap().write_all(b"\n").unwrap();
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        assert_eq!(line, "sent\n");
    }

    fn close(mut self) {
        self.to = None;
        assert!(self.child.wait().unwrap().success());
    }
}

/// A `weir ws` that captures already; `None` where it may not.
fn capturing(words: &[&str]) -> Option<(Child, BufReader<ChildStderr>)> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_weir"))
        .arg("ws")
        .args(words)
        .args(["-i", "lo"])
        .args(if words.contains(&"--format") {
            &[][..]
        } else {
            &["--format", "csv"]
        })
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn_limited()
        .unwrap();
    let stderr = until_it_captures(&mut child)?;
    Some((child, stderr))
}

/// Ends a program that captures. The kernel hands a packet to captures before its receiver has it, so that none is missing.
fn terminate(child: &Child) {
    signal("TERM", child);
}

/// The standard output and standard error of a program.
fn ended(child: Child, stderr: &mut impl Read) -> (String, String) {
    let output = child.wait_with_output().unwrap();
    let mut message = String::new();
    stderr.read_to_string(&mut message).unwrap();
    assert!(output.status.success(), "{message}");
    (String::from_utf8(output.stdout).unwrap(), message)
}

/// The columns of the line for a direction of the connection to a port.
fn line(csv: &str, port: &str, direction: &str) -> impl Fn(&str) -> String {
    // No value before these columns has a comma but the parameters, which are not asked for.
    let mut lines = csv.lines();
    let names: Vec<String> = lines
        .next()
        .unwrap()
        .split(',')
        .map(str::to_owned)
        .collect();
    let server = format!(",127.0.0.1:{port},");
    let found = lines
        .find(|line| line.contains(&server) && line.contains(&format!(",{direction},")))
        .unwrap_or_else(|| panic!("no line for {port} in\n{csv}"));
    let values: Vec<String> = found.split(',').map(str::to_owned).collect();
    move |name| {
        let at = names.iter().position(|known| known == name).unwrap();
        // The index counts from the end, because the parameters contain commas.
        values[values.len() - (names.len() - at)].clone()
    }
}

#[test]
fn connections_are_audited_as_they_cross_an_interface() {
    let Some((child, mut stderr)) = capturing(&["stats"]) else {
        return;
    };
    let Some(mut peers) = Peers::connect(50) else {
        terminate(&child);
        ended(child, &mut stderr);
        return;
    };
    let port = peers.port.clone();
    peers.send();
    peers.send();
    peers.close();
    terminate(&child);
    let (csv, message) = ended(child, &mut stderr);
    for direction in ["to_server", "to_client"] {
        let column = line(&csv, &port, direction);
        assert_eq!(column("messages"), "100", "{csv}\n{message}");
        assert_eq!(column("compressed_messages"), "100", "{csv}");
        assert_eq!(column("mid_stream"), "false", "{csv}");
        assert_eq!(column("violations"), "0", "{csv}");
        let bytes = |name: &str| column(name).parse::<u64>().unwrap();
        assert!(bytes("payload_bytes") * 2 < bytes("message_bytes"), "{csv}");
    }
    assert!(csv.contains("permessage-deflate"), "{csv}");
    assert!(message.contains("packets received on lo, "), "{message}");
    assert!(message.contains("dropped by the kernel, "), "{message}");
}

#[test]
fn the_audit_of_an_interface_is_a_page() {
    let Some((child, mut stderr)) = capturing(&["stats", "--format", "html"]) else {
        return;
    };
    let Some(mut peers) = Peers::connect(20) else {
        terminate(&child);
        ended(child, &mut stderr);
        return;
    };
    let end = format!("127.0.0.1:{}<td>permessage-deflate", peers.port);
    peers.send();
    peers.close();
    terminate(&child);
    let (page, message) = ended(child, &mut stderr);
    assert!(
        page.starts_with("<!doctype html>") && page.ends_with("</html>\n"),
        "{page}"
    );
    assert!(page.contains("WebSocket connections of lo</h1>"), "{page}");
    assert!(page.contains(&end), "{end} in {page}\n{message}");
    // Sizes before and after, ratios, windows.
    assert_eq!(page.matches("<svg").count(), 4, "{page}");
}

#[test]
fn a_connection_that_was_there_before_the_capture_is_flagged() {
    let Some(mut peers) = Peers::connect(10) else {
        return;
    };
    peers.send();
    let Some((child, mut stderr)) = capturing(&["stats"]) else {
        peers.close();
        return;
    };
    peers.send();
    let port = peers.port.clone();
    terminate(&child);
    let (csv, _) = ended(child, &mut stderr);
    peers.close();
    assert_eq!(
        line(&csv, &port, "to_server")("mid_stream"),
        "true",
        "{csv}"
    );
}

#[test]
fn a_study_of_an_interface_ends_after_so_many_messages() {
    let more = ["--cpu-times", "estimate", "--count", "40"];
    let Some((child, mut stderr)) = capturing(&[&["study"], &ONE_SETTING[..], &more].concat())
    else {
        return;
    };
    let Some(mut peers) = Peers::connect(30) else {
        terminate(&child);
        child.wait_with_output().unwrap();
        return;
    };
    // 60 messages: it ends by itself.
    peers.send();
    let (csv, message) = ended(child, &mut stderr);
    peers.close();
    let all = csv
        .lines()
        .find(|line| line.starts_with("all,all,true,15,6,8,"));
    let all = all.unwrap_or_else(|| panic!("{csv}\n{message}"));
    assert_eq!(all.split(',').nth(6), Some("40"), "{csv}");
    assert!(message.contains("packets received on lo, "), "{message}");
}

#[test]
fn an_interface_or_files_but_not_both() {
    for (words, expected) in [
        (&["ws", "study"][..], "required"),
        (
            &["ws", "stats", "-i", "lo", "x.pcap"],
            "cannot be used with",
        ),
        (
            &["ws", "study", "x.ndjson", "--count", "3"],
            "are for an interface",
        ),
        (
            &["ws", "stats", "-i", "nosuch"],
            "no interface named nosuch",
        ),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_weir"))
            .args(words)
            .stdin(Stdio::null())
            .output_limited()
            .unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {message}");
        assert!(message.contains(expected), "{words:?}: {message}");
    }
}

#[test]
fn what_else_was_studied_is_in_the_page() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("study-messages.txt");
    let lines = (0..200).map(|n| format!("{{\"type\":\"{}\",\"n\":{n}}}\n", n % 3));
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    let study = |format: &str| {
        Command::new(env!("CARGO_BIN_EXE_weir"))
            .args(["ws", "study"])
            .args(ONE_SETTING)
            .args(["--cpu-times", "estimate", "--more", "--strategies"])
            .args(["--format", format])
            .arg(&path)
            .output_limited()
            .unwrap()
    };
    let html = study("html");
    let page = String::from_utf8(html.stdout).unwrap();
    for heading in [
        "<h2>Messages below a threshold sent as they are</h2>",
        "<h2>The window lost after every N messages (0: never)</h2>",
        "<h2>200 messages to 1,000 clients each</h2>",
        "<h2>Each kind on a connection of its own</h2>",
        "<h2>Ratio by zlib&#39;s strategy, window 15, memLevel 8, level 6, on the first 200 messages</h2>",
    ] {
        assert!(page.contains(heading), "{heading} in {page}");
    }
    assert!(
        html.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&html.stderr)
    );
    let message = String::from_utf8(study("json").stderr).unwrap();
    assert!(
        message.contains("--more are for tables and pages"),
        "{message}"
    );
}

/// A grid of one cell.
const ONE_SETTING: [&str; 8] = [
    "--takeover",
    "yes",
    "--window",
    "15",
    "--level",
    "6",
    "--mem-level",
    "8",
];

/// A capture of a connection of HTTP/2 with WebSocket connections on two of its streams (RFC 8441).
fn write_streams(path: &Path) {
    let mut sent: Vec<(bool, Vec<u8>)> = vec![
        (true, [http2::PREFACE, &http2::settings(&[])].concat()),
        (false, http2::settings(&[(8, 1)])),
    ];
    let extensions = "permessage-deflate; client_no_context_takeover";
    for stream in [1, 5] {
        let request = [
            (":method", "CONNECT"),
            (":protocol", "websocket"),
            (":scheme", "https"),
            (":path", "/"),
            (":authority", "h"),
            ("sec-websocket-extensions", extensions),
        ];
        sent.push((true, http2::headers(stream, &request)));
        let response = [(":status", "200"), ("sec-websocket-extensions", extensions)];
        sent.push((false, http2::headers(stream, &response)));
    }
    for stream in [1, 5, 5] {
        let masked = [&[0x81, 0x82, 0, 0, 0, 0][..], b"hi"].concat();
        sent.push((true, http2::frame(http2::kind::DATA, 0, stream, &masked)));
        // "Hello", compressed (RFC 7692, 7.2.3.1).
        let compressed = [0xc1, 0x07, 0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
        sent.push((
            false,
            http2::frame(http2::kind::DATA, 0, stream, &compressed),
        ));
    }
    let ends = [([10, 0, 0, 1], 40_000), ([10, 0, 0, 2], 443)];
    let file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let mut writer = PcapWriter::new(file, 101, 65_535, PcapVariant::Nano, Endian::Little).unwrap();
    let mut numbers = [1, 1];
    let mut time_ns = 1_700_000_000_000_000_000;
    for (from_client, bytes) in sent {
        let at = usize::from(!from_client);
        let (from, to) = (ends[at], ends[1 - at]);
        let tcp = Tcp::new(from.1, to.1)
            .flags(tcp_flags::ACK)
            .numbers(numbers[at], numbers[1 - at]);
        let [source, destination] = [from.0, to.0].map(std::net::Ipv4Addr::from);
        let segment = tcp.segment(source.into(), destination.into(), &bytes);
        let packet = Ipv4::new(source, destination, protocol::TCP).packet(&segment);
        numbers[at] += bytes.len() as u32;
        time_ns += 1_000_000;
        writer
            .packet(time_ns, packet.len() as u32, &packet)
            .unwrap();
    }
    writer.into_inner().flush().unwrap();
}

/// RFC 8441: each stream is a connection.
#[test]
fn streams_of_http2_are_audited_and_studied() {
    let folder = crate::shell::folder("streams");
    write_streams(&folder.join("streams.pcap"));
    let ended = crate::shell::run("weir ws stats streams.pcap --format csv", &folder);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let mut lines = ended.stdout.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| names.len() - names.iter().position(|known| *known == name).unwrap();
    let mut found: Vec<[String; 4]> = lines
        .map(|line| {
            let values: Vec<&str> = line.split(',').collect();
            let value = |name: &str| values[values.len() - place(name)].to_owned();
            [
                "messages",
                "compressed_messages",
                "mid_stream",
                "violations",
            ]
            .map(value)
        })
        .collect();
    found.sort();
    let row =
        |messages: &str, compressed: &str| [messages, compressed, "false", "0"].map(str::to_owned);
    let expected = [row("1", "0"), row("1", "1"), row("2", "0"), row("2", "2")];
    assert_eq!(found, expected, "{}", ended.stdout);
    assert_eq!(ended.stdout.matches("permessage-deflate").count(), 4);
    let study = "weir ws study streams.pcap --cpu-times estimate --window 15 --level 6 --mem-level 8 --format csv";
    let ended = crate::shell::run(study, &folder);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        ended.stdout.contains("\nall,all,true,15,6,8,6,21,"),
        "{}",
        ended.stdout
    );
}
