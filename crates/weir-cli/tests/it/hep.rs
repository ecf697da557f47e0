//! Tests of messages that proxies and probes send by HEP: they are queried live and logged with the addresses that HEP names.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::{Child, ChildStderr, Command, Stdio};

use weir_testkit::{Limited as _, until};

use crate::shell::signal;

/// A `weir` that listens already, where, and what it says.
#[allow(
    clippy::zombie_processes,
    reason = "whoever asked for it waits, or the test has failed"
)]
fn listening(words: &[&str]) -> (Child, SocketAddr, BufReader<ChildStderr>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(words)
        .args(["--hep", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn_limited()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    loop {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0);
        assert!(!line.starts_with("error:"), "{line}");
        if let Some((_, rest)) = line.split_once("listening on ") {
            let address = rest.split(' ').next().unwrap().parse().unwrap();
            return (child, address, stderr);
        }
    }
}

/// An INVITE between two machines, as a probe sends it on.
fn sent_on(version: u8, call_id: &str) -> Vec<u8> {
    let message = format!(
        "INVITE sip:bob@biloxi.example SIP/2.0\r\nVia: SIP/2.0/UDP 192.0.2.1:5060;branch=z9hG4bK{call_id}\r\n\
         From: <sip:alice@atlanta.example>;tag=1\r\nTo: <sip:bob@biloxi.example>\r\nCall-ID: {call_id}\r\n\
         CSeq: 1 INVITE\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n"
    );
    let ends = ["192.0.2.1:5060", "192.0.2.2:5070"].map(|end| end.parse().unwrap());
    weir_messages::hep::write(version, ends[0], ends[1], 17, message.as_bytes())
}

/// Ends it as a service manager does; its messages.
fn ended(mut child: Child, stderr: &mut impl Read) -> String {
    signal("TERM", &child);
    let mut messages = String::new();
    stderr.read_to_string(&mut messages).unwrap();
    assert!(child.wait().unwrap().success(), "{messages}");
    messages
}

#[test]
fn messages_that_are_sent_on_are_rows_between_the_machines_that_they_went_between() {
    let sql = "SELECT sip.method, sip.call_id, addr.src, port.dst FROM sip(live)";
    let (mut child, address, mut stderr) = listening(&["live", sql]);
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let probe = UdpSocket::bind("127.0.0.1:0").unwrap();
    // Datagrams are read in their order: the first one was when the others are rows.
    probe.send_to(b"what is no HEP", address).unwrap();
    probe.send_to(&sent_on(2, "two"), address).unwrap();
    probe.send_to(&sent_on(3, "three"), address).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&sent_on(3, "stream")).unwrap();
    let mut rows = String::new();
    for _ in 0..3 {
        assert!(stdout.read_line(&mut rows).unwrap() > 0);
    }
    let message = ended(child, &mut stderr);
    stdout.read_to_string(&mut rows).unwrap();
    for call_id in ["two", "three", "stream"] {
        let row = format!(
            r#"{{"sip.method":"INVITE","sip.call_id":"{call_id}","addr.src":"192.0.2.1","port.dst":5070}}"#
        );
        assert_eq!(rows.matches(&row).count(), 1, "{rows}\n{message}");
    }
    assert_eq!(rows.lines().count(), 3, "{rows}");
    assert!(
        message.contains("4 messages received on hep:127.0.0.1:"),
        "{message}"
    );
    assert!(
        message.contains("1 of them are not HEP and were left out"),
        "{message}"
    );
}

#[test]
fn messages_that_are_sent_on_are_logged() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("calls.clf");
    let log = log.to_str().unwrap();
    let (child, address, mut stderr) = listening(&["clf", "write", "-o", log]);
    let probe = UdpSocket::bind("127.0.0.1:0").unwrap();
    for number in 0..20 {
        probe
            .send_to(&sent_on(3, &format!("call-{number}")), address)
            .unwrap();
    }
    until("the last record in the log", || {
        std::fs::read(log).is_ok_and(|log| String::from_utf8_lossy(&log).contains("\tcall-19\t"))
    });
    let message = ended(child, &mut stderr);
    assert!(message.contains("20 records"), "{message}");
    let found = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(["clf", "search", log, "--address", "192.0.2.2:5070"])
        .output_limited()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&found.stdout)
            .matches("\tcall-7\t")
            .count(),
        1
    );
}

#[test]
fn an_address_and_an_interface_are_not_both_listened_on() {
    for words in [
        &["live", "-i", "lo", "SELECT 1"][..],
        &["clf", "write", "-i", "lo", "-o", "x.clf"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_weir"))
            .args(words)
            .args(["--hep", "127.0.0.1:0"])
            .output_limited()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(errors.contains("cannot be used with"), "{errors}");
    }
}
