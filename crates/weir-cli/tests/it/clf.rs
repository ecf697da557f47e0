//! `weir clf write` on loopback, and logs that are damaged. Tests that need the capability to capture, or sipp, are
//! skipped loudly without it.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::thread;

use weir_testkit::{Limited as _, until};

use crate::shell::{signal, until_it_captures, until_udp_port_is_taken};

fn folder(name: &str) -> PathBuf {
    let name = format!("clf-{name}-{}", std::process::id());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn weir(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command
        .args(words)
        .stdin(Stdio::null())
        .output_limited()
        .unwrap()
}

fn count(log: &Path, words: &[&str]) -> u64 {
    let words = [&["clf", "search", log.to_str().unwrap(), "--count"], words].concat();
    let output = weir(&words);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

/// A `weir clf write` that captures already; `None` where it may not.
struct Capture {
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Capture {
    fn start(log: &Path, words: &[&str]) -> Option<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_weir"))
            .args(["clf", "write", "-i", "lo", "-o"])
            .arg(log)
            .args(words)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn_limited()
            .unwrap();
        let stderr = until_it_captures(&mut child)?;
        Some(Self { child, stderr })
    }

    /// Ends it as a service manager does, and gives what it said.
    fn end(mut self) -> String {
        signal("TERM", &self.child);
        let mut message = String::new();
        self.stderr.read_to_string(&mut message).unwrap();
        assert!(self.child.wait().unwrap().success(), "{message}");
        message
    }
}

/// A request of a call of its own, with a body of so many bytes.
fn request(call: &str, via: &str, body_bytes: usize) -> Vec<u8> {
    format!(
        "OPTIONS sip:bob@b.example SIP/2.0\r\nVia: SIP/2.0/{via} 127.0.0.1;branch=z9hG4bK{call}\r\n\
         From: <sip:alice@a.example>;tag=1\r\nTo: <sip:bob@b.example>\r\nCall-ID: {call}\r\n\
         CSeq: 1 OPTIONS\r\nMax-Forwards: 70\r\nContent-Type: text/plain\r\n\
         Content-Length: {body_bytes}\r\n\r\n{}",
        "x".repeat(body_bytes)
    )
    .into_bytes()
}

#[test]
fn what_crosses_an_interface_is_logged() {
    let log = folder("interface").join("calls.clf");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let to = UdpSocket::bind("127.0.0.1:0").unwrap();
    let from = UdpSocket::bind("127.0.0.1:0").unwrap();
    let other = UdpSocket::bind("127.0.0.1:0").unwrap();
    let (tcp, udp) = (listener.local_addr().unwrap(), to.local_addr().unwrap());
    let ports = [tcp.port().to_string(), udp.port().to_string()];
    let words = ["--port", &ports[0], "--port", &ports[1]];
    let Some(capture) = Capture::start(&log, &words) else {
        return;
    };
    for number in 0..50 {
        let message = request(&format!("udp-{number}"), "UDP", 10);
        from.send_to(&message, udp).unwrap();
        // The filter leaves out what goes elsewhere.
        from.send_to(&message, other.local_addr().unwrap()).unwrap();
    }
    let mut stream = TcpStream::connect(tcp).unwrap();
    let (mut accepted, _) = listener.accept().unwrap();
    let reader = thread::spawn(move || accepted.read_to_end(&mut Vec::new()).unwrap());
    let mut bytes = Vec::new();
    for number in 0..20 {
        bytes.extend(request(&format!("tcp-{number}"), "TCP", 100 * number));
    }
    for piece in bytes.chunks(777) {
        stream.write_all(piece).unwrap();
        stream.flush().unwrap();
    }
    drop(stream);
    reader.join().unwrap();
    // The log is there to read before the end.
    until("70 records in the log", || {
        fs::metadata(&log).unwrap().len() > 0 && count(&log, &[]) == 70
    });
    let text = capture.end();
    assert!(text.contains(" 0 dropped by the kernel"), "{text}");
    assert!(text.contains("note: 70 records\n"), "{text}");
    for number in [0, 19, 49] {
        assert_eq!(count(&log, &["--call-id", &format!("udp-{number}")]), 1);
    }
    assert_eq!(count(&log, &["--call-id", "tcp-19"]), 1);
    assert_eq!(
        count(&log, &["--address", &format!("127.0.0.1:{}", ports[0])]),
        20
    );
    let check = weir(&["clf", "check", log.to_str().unwrap()]);
    assert!(check.status.success());
}

#[test]
fn a_duration_ends_it_and_the_log_goes_on() {
    let log = folder("duration").join("calls.clf");
    let to = UdpSocket::bind("127.0.0.1:0").unwrap();
    let from = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = to.local_addr().unwrap().port().to_string();
    for round in 1..=2 {
        let words = ["--port", &port, "--duration", "400ms", "--fsync", "100ms"];
        let Some(mut capture) = Capture::start(&log, &words) else {
            return;
        };
        let message = request(&format!("round-{round}"), "UDP", 0);
        from.send_to(&message, to.local_addr().unwrap()).unwrap();
        assert!(capture.child.wait().unwrap().success());
        assert_eq!(count(&log, &[]), round);
    }
}

/// Calls that sipp makes, each INVITE, 180, 200, ACK, BYE and 200.
#[test]
fn calls_of_sipp_are_logged_whole() {
    const CALLS: u64 = 300;
    if Command::new("sipp").arg("-v").output_limited().is_err() {
        weir_testkit::missing(
            "sipp",
            "calls that are logged live (apt-get install sip-tester)",
        );
        return;
    }
    let folder = folder("sipp");
    let log = folder.join("calls.clf");
    let port = |socket: &UdpSocket| socket.local_addr().unwrap().port().to_string();
    let sockets = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    let [server, client] = [port(&sockets[0]), port(&sockets[1])];
    drop(sockets);
    let Some(capture) = Capture::start(&log, &["--port", &server]) else {
        return;
    };
    let sipp = |words: &[&str]| {
        let mut command = Command::new("sipp");
        command
            .args(words)
            .args(["-i", "127.0.0.1", "-nostdin", "-m", &CALLS.to_string()]);
        command.env("TERM", "xterm").current_dir(&folder);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn_limited().unwrap()
    };
    let mut callee = sipp(&["-sn", "uas", "-p", &server]);
    until_udp_port_is_taken(&server);
    let to = format!("127.0.0.1:{server}");
    let mut caller = sipp(&["-sn", "uac", &to, "-p", &client, "-r", "300", "-d", "0"]);
    assert!(caller.wait().unwrap().success());
    callee.kill().unwrap();
    callee.wait().unwrap();
    let message = capture.end();
    assert!(message.contains(" 0 dropped by the kernel"), "{message}");
    let method = |name: &str, status: &str| count(&log, &["--method", name, "--status", status]);
    for (name, status) in [("INVITE", "180"), ("INVITE", "200"), ("BYE", "200")] {
        let found = method(name, status);
        // A machine under load makes sipp send again.
        assert!(
            (CALLS..CALLS * 2).contains(&found),
            "{name} {status}: {found}"
        );
    }
    let sql = format!(
        "SELECT count(DISTINCT clf.call_id) AS n FROM clf('{}') WHERE clf.method = 'BYE' AND clf.status = 200",
        log.display()
    );
    let output = weir(&["query", &sql, "--format", "tsv"]);
    let rows = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        rows.lines().last(),
        Some(CALLS.to_string().as_str()),
        "{rows}"
    );
}

/// Counting reports damage, too, in every way of searching.
#[test]
fn a_count_over_a_damaged_log_exits_1() {
    let folder = folder("count");
    let log = folder.join("calls.clf");
    let call = "weir clf write on a file of messages";
    let messages = folder.join("messages.txt");
    let mut bytes = Vec::new();
    for number in 0..2000 {
        bytes.extend(request(&format!("call-{number}"), "UDP", 3));
    }
    fs::write(&messages, &bytes).unwrap();
    let path = log.to_str().unwrap();
    let wrote = weir(&["clf", "write", messages.to_str().unwrap(), "-o", path]);
    assert!(wrote.status.success(), "{call}");
    let mut damaged = fs::read(&log).unwrap();
    // Four bytes of the length of a record in the middle.
    let at = damaged
        .windows(2)
        .skip(damaged.len() / 2)
        .position(|two| two == b"\nA")
        .unwrap();
    let at = damaged.len() / 2 + at;
    damaged[at + 3..at + 7].copy_from_slice(b"zzzz");
    fs::write(&log, &damaged).unwrap();
    for (words, records) in [
        (&["--call-id", "call-7"][..], "1\n"),
        (&["--method", "OPTIONS"], "1999\n"),
        (&["--status", "200"], "0\n"),
        (&["--text", "call-1999"], "1\n"),
        (&["--call-id", "^call-7$", "--regex"], "1\n"),
        (&[], "1999\n"),
    ] {
        for index in [&[][..], &["--no-index"], &["--threads", "1"]] {
            let words = [&["clf", "search", path, "--count"], words, index].concat();
            let output = weir(&words);
            assert_eq!(
                String::from_utf8_lossy(&output.stdout),
                records,
                "{words:?}"
            );
            assert_eq!(output.status.code(), Some(1), "{words:?}");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(
                errors.contains("error: a place in the log is not a record"),
                "{errors}"
            );
        }
    }
}
