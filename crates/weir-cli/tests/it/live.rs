//! `weir live` on loopback, and captures that are read while they grow. Tests that need the capability to capture are
//! skipped loudly without it.

#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};

use weir_capture::{WriteRecord, Writer};
use weir_testkit::{LIFE, Limited as _, until};

use crate::shell::{heeding, signal, until_it_captures, until_udp_port_is_taken};

fn folder(name: &str) -> PathBuf {
    let name = format!("live-{name}-{}", std::process::id());
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn weir(words: &[&str]) -> Command {
    let mut command = heeding(env!("CARGO_BIN_EXE_weir"));
    command
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A `weir live` that captures already, and what it says; `None` where it may not.
fn capturing(words: &[&str]) -> Option<(Child, BufReader<ChildStderr>)> {
    let mut child = weir(&[&["live", "-i", "lo"], words].concat())
        .spawn_limited()
        .unwrap();
    let stderr = until_it_captures(&mut child)?;
    Some((child, stderr))
}

/// Sends packets to a port of its own.
struct Sender(UdpSocket, UdpSocket);

impl Sender {
    fn new() -> Self {
        let to = UdpSocket::bind("127.0.0.1:0").unwrap();
        let from = UdpSocket::bind("127.0.0.1:0").unwrap();
        from.connect(to.local_addr().unwrap()).unwrap();
        to.set_read_timeout(Some(LIFE)).unwrap();
        Self(from, to)
    }

    fn port(&self) -> u16 {
        self.1.local_addr().unwrap().port()
    }

    fn send(&self, count: u32) {
        for _ in 0..count {
            self.send_message(&[7; 58]);
        }
    }

    /// Sends a message and takes it: the kernel hands a packet to those who capture before it hands it to its receiver.
    fn send_message(&self, message: &[u8]) {
        self.0.send(message).unwrap();
        let mut taken = [0; 4096];
        assert_eq!(self.1.recv(&mut taken).unwrap(), message.len());
    }
}

fn ended(child: Child, stderr: &mut impl Read) -> (Output, String) {
    let output = child.wait_with_output().unwrap();
    let mut message = String::new();
    stderr.read_to_string(&mut message).unwrap();
    (output, message)
}

/// Reads rows up to this one.
fn read_up_to(rows: &mut impl BufRead, wanted: &str) {
    let mut row = String::new();
    while row.trim() != wanted {
        row.clear();
        assert!(rows.read_line(&mut row).unwrap() > 0);
    }
}

/// A query that follows a capture with two frames of 60 and 61 octets, after these frames.
fn following(path: &Path) -> (Child, Lines<BufReader<ChildStdout>>) {
    let sql = format!("SELECT frame.number, frame.len FROM '{}'", path.display());
    let mut child = weir(&["query", "--follow", &sql]).spawn_limited().unwrap();
    let mut rows = BufReader::new(child.stdout.take().unwrap()).lines();
    for expected in ["frame.number,frame.len", "1,60", "2,61"] {
        assert_eq!(rows.next().unwrap().unwrap(), expected);
    }
    (child, rows)
}

/// Ends a query by a signal, and returns what it wrote to standard error.
fn terminated(child: Child) -> String {
    signal("TERM", &child);
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    errors
}

#[test]
fn ctrl_c_brings_the_final_groups() {
    let sender = Sender::new();
    let port = sender.port();
    let file = folder("groups").join("kept.pcap");
    let sql = format!(
        "SELECT count(*) AS packets, sum(frame.len) AS bytes FROM live WHERE udp.dstport = {port}"
    );
    let Some((child, mut stderr)) = capturing(&[&sql, "-w", file.to_str().unwrap()]) else {
        return;
    };
    // The answer has all packets that arrive before the signal.
    sender.send(1_000);
    signal("INT", &child);
    let (output, message) = ended(child, &mut stderr);
    let rows = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        rows.trim(),
        r#"{"packets":1000,"bytes":100000}"#,
        "{message}"
    );
    assert!(output.status.success());
    // The kernel has left out what is for others.
    assert!(
        message.contains("1,000 packets received on lo, 0 dropped by the kernel, 1,000 read"),
        "{message}"
    );
    assert!(message.contains("1,000 packets kept in"), "{message}");
    let sql = format!(
        "SELECT count(*), min(frame.len), max(udp.dstport) FROM '{}'",
        file.display()
    );
    let output = weir(&["query", &sql, "--format", "tsv"])
        .output_limited()
        .unwrap();
    let rows = String::from_utf8_lossy(&output.stdout);
    assert_eq!(
        rows.lines().last(),
        Some(format!("1000\t100\t{port}").as_str())
    );
}

#[test]
fn rows_come_before_the_end() {
    let sender = Sender::new();
    let port = sender.port();
    let sql = format!("SELECT ip.src, udp.length FROM live WHERE udp.dstport = {port}");
    let Some((mut child, _stderr)) = capturing(&[&sql]) else {
        return;
    };
    let mut rows = BufReader::new(child.stdout.take().unwrap());
    for _ in 0..3 {
        sender.send(1);
        let mut row = String::new();
        rows.read_line(&mut row).unwrap();
        assert_eq!(row, "{\"ip.src\":\"127.0.0.1\",\"udp.length\":66}\n");
    }
    signal("TERM", &child);
    assert!(child.wait().unwrap().success());
}

#[test]
fn groups_are_shown_as_they_stand() {
    let sender = Sender::new();
    let port = sender.port();
    let sql = format!(
        "SELECT count(*) AS packets FROM live WHERE udp.dstport = {port} HAVING count(*) > 0 ORDER BY 1"
    );
    let Some((mut child, _stderr)) = capturing(&[&sql, "--every", "100ms"]) else {
        return;
    };
    let mut rows = BufReader::new(child.stdout.take().unwrap());
    for count in [5, 10] {
        sender.send(5);
        read_up_to(&mut rows, &format!("{{\"packets\":{count}}}"));
    }
    signal("TERM", &child);
    assert!(child.wait().unwrap().success());
}

/// Groups of messages are shown at intervals, one answer after the other without a terminal.
#[test]
fn groups_of_messages_are_shown_as_they_stand() {
    let sender = Sender::new();
    let sql = format!(
        "SELECT sip.method, count(*) AS n FROM sip(live) WHERE port.dst = {} GROUP BY 1 HAVING count(*) > 0",
        sender.port()
    );
    let Some((mut child, _stderr)) = capturing(&[&sql, "--every", "100ms"]) else {
        return;
    };
    let mut rows = BufReader::new(child.stdout.take().unwrap());
    for count in 1..=3 {
        let message = format!(
            "OPTIONS sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP x;branch=z9hG4bK{count}\r\nFrom: <sip:a@x>;tag=1\r\n\
             To: <sip:b@x>\r\nCall-ID: {count}\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n"
        );
        sender.0.send(message.as_bytes()).unwrap();
        let row = format!("{{\"sip.method\":\"OPTIONS\",\"n\":{count}}}");
        read_up_to(&mut rows, &row);
    }
    signal("TERM", &child);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_count_ends_it_at_the_packet() {
    let sender = Sender::new();
    let file = folder("count").join("kept.pcap");
    let sql = format!(
        "SELECT count(*) AS n FROM live WHERE port.dst = {}",
        sender.port()
    );
    let words = [&sql, "--count", "7", "-w", file.to_str().unwrap()];
    let Some((child, mut stderr)) = capturing(&words) else {
        return;
    };
    sender.send(40);
    let (output, message) = ended(child, &mut stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), r#"{"n":7}"#);
    assert!(message.contains("7 packets kept in"), "{message}");
}

/// Killed at any moment, it leaves whole records but for the last one, and not none.
#[test]
fn what_is_kept_survives_a_kill() {
    for round in 0..6 {
        let sender = Sender::new();
        let file = folder(&format!("kill-{round}")).join("kept.pcap");
        let sql = format!(
            "SELECT count(*) FROM live WHERE udp.dstport = {}",
            sender.port()
        );
        let Some((mut child, _stderr)) = capturing(&[&sql, "-w", file.to_str().unwrap()]) else {
            return;
        };
        for part in 1..=1 + round {
            sender.send(100 + 77 * round);
            until("records in the file", || {
                fs::metadata(&file).is_ok_and(|file| file.len() > u64::from(part * 500))
            });
        }
        sender.send(200);
        child.kill().unwrap();
        child.wait().unwrap();
        let mut reader = weir_capture::open(&file).unwrap();
        let mut whole = 0;
        loop {
            match reader.next() {
                Ok(Some(record)) => {
                    assert_eq!((record.data.len(), record.wire_len), (100, 100));
                    whole += 1;
                }
                Ok(None) => break,
                Err(error) => {
                    let cut = matches!(error.reason(), Some(weir_capture::Reason::Cut { .. }));
                    assert!(cut, "{error}");
                    assert!(matches!(reader.next(), Ok(None)));
                    break;
                }
            }
        }
        assert!(whole >= 4 * (1 + round), "{whole} records");
    }
}

/// `-w` replaces a file that exists only with `--overwrite`, and not before the new capture is complete.
#[test]
fn a_live_capture_replaces_another_at_its_end_and_when_asked_to() {
    let file = folder("replaces").join("kept.pcap");
    let path = file.to_str().unwrap();
    let sender = Sender::new();
    let sql = format!(
        "SELECT count(*) FROM live WHERE udp.dstport = {}",
        sender.port()
    );
    let Some((child, mut stderr)) = capturing(&[&sql, "-w", path, "--count", "3"]) else {
        return;
    };
    sender.send(20);
    let (_, errors) = ended(child, &mut stderr);
    assert!(errors.contains("3 packets kept in"), "{errors}");
    let old = fs::read(&file).unwrap();
    let refused = weir(&["live", "-i", "lo", &sql, "-w", path])
        .output_limited()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert!(
        errors.contains("is a capture, and is not replaced"),
        "{errors}"
    );
    assert!(errors.contains("use --overwrite to replace it"), "{errors}");
    assert_eq!(fs::read(&file).unwrap(), old);

    let hidden = |file: &PathBuf| -> Vec<PathBuf> {
        let entries = fs::read_dir(file.parent().unwrap()).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path != file).collect()
    };
    for name in ["TERM", "KILL", "INT", "HUP"] {
        let words = [&sql, "-w", path, "--overwrite"];
        let Some((mut child, mut stderr)) = capturing(&words) else {
            return;
        };
        sender.send(50);
        until("50 records in a file with another name", || {
            hidden(&file)
                .iter()
                .any(|path| fs::metadata(path).is_ok_and(|file| file.len() == 24 + 50 * 116))
        });
        assert_eq!(fs::read(&file).unwrap(), old, "{name}");
        signal(name, &child);
        let left = match name {
            "KILL" => {
                child.wait().unwrap();
                assert_eq!(fs::read(&file).unwrap(), old);
                let left = hidden(&file);
                assert_eq!(left.len(), 1, "{left:?}");
                left[0].clone()
            }
            _ => {
                let (output, errors) = ended(child, &mut stderr);
                assert!(output.status.success(), "{name}: {errors}");
                assert_eq!(hidden(&file), [] as [PathBuf; 0], "{name}");
                file.clone()
            }
        };
        let sql = format!("SELECT count(*) FROM '{}'", left.display());
        let output = weir(&["query", &sql]).output_limited().unwrap();
        let rows = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(rows.ends_with("\n50\n"), "{name}: {rows}");
        if left != file {
            fs::remove_file(left).unwrap();
        }
        fs::write(&file, &old).unwrap();
    }
}

#[test]
fn a_live_question_that_fails_leaves_no_capture_and_rows_can_be_seen_growing() {
    let folder = folder("fails");
    let at = |name: &str| folder.join(name).display().to_string();
    let (capture, rows) = (at("new.pcap"), at("new.ndjson"));
    let words = ["live", "-i", "lo", "SELECT nothing FROM live"];
    let output = weir(&words)
        .args(["-w", &capture, "-o", &rows])
        .output_limited()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);

    let sender = Sender::new();
    let sql = format!(
        "SELECT frame.len FROM live WHERE udp.dstport = {}",
        sender.port()
    );
    let Some((child, mut stderr)) = capturing(&[&sql, "-o", &at("rows.ndjson")]) else {
        return;
    };
    sender.send(5);
    let grown = || fs::read_to_string(folder.join("rows.ndjson")).unwrap_or_default();
    until("5 rows in the file", || grown().matches('\n').count() == 5);
    let grown = grown();
    signal("TERM", &child);
    let (output, message) = ended(child, &mut stderr);
    assert!(output.status.success(), "{message}");
    assert_eq!(
        fs::read_to_string(folder.join("rows.ndjson")).unwrap(),
        grown
    );
}

/// Messages are rows as they come, and calls that go on are rows at the end.
#[test]
fn tables_of_what_packets_carry_are_live() {
    let sender = Sender::new();
    let port = sender.port();
    let invite = |number: u32| {
        format!(
            "INVITE sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP x;branch=z9hG4bK{number}\r\nFrom: <sip:a@x>;tag=1\r\n\
             To: <sip:b@x>\r\nCall-ID: live-{number}\r\nCSeq: 1 INVITE\r\nContent-Length: 0\r\n\r\n"
        )
    };
    let sql = format!("SELECT sip.method, sip.call_id FROM sip(live) WHERE port.dst = {port}");
    let Some((mut child, _stderr)) = capturing(&[&sql]) else {
        return;
    };
    let mut rows = BufReader::new(child.stdout.take().unwrap());
    for number in 0..3 {
        sender.0.send(invite(number).as_bytes()).unwrap();
        let mut row = String::new();
        rows.read_line(&mut row).unwrap();
        let expected = format!("{{\"sip.method\":\"INVITE\",\"sip.call_id\":\"live-{number}\"}}\n");
        assert_eq!(row, expected);
    }
    signal("TERM", &child);
    assert!(child.wait().unwrap().success());

    for (table, column, expected) in [
        ("calls", "call.state", "{\"call.state\":\"trying\"}"),
        ("flows", "flow.packets_src", "{\"flow.packets_src\":1}"),
    ] {
        let sql = format!("SELECT {column} FROM {table}(live) WHERE port.dst = {port}");
        let Some((child, mut stderr)) = capturing(&[&sql]) else {
            return;
        };
        sender.send_message(invite(9).as_bytes());
        signal("TERM", &child);
        let (output, message) = ended(child, &mut stderr);
        let rows = String::from_utf8_lossy(&output.stdout);
        assert_eq!(rows.trim(), expected, "{table}: {message}");
    }
}

#[test]
fn sources_that_cannot_be_captured_are_errors() {
    for (words, message) in [
        (
            &["live", "-i", "none0", "SELECT 1"][..],
            "error: no interface named none0\nhint: the interfaces are ",
        ),
        (
            &["live", "SELECT * FROM live"],
            "error: expected an interface and a statement\n",
        ),
    ] {
        let output = weir(words).output_limited().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.starts_with(message), "{errors}");
    }
    let output = weir(&["live", "-D"]).output_limited().unwrap();
    assert!(
        String::from_utf8_lossy(&output.stdout)
            .lines()
            .any(|line| line == "lo")
    );
}

/// The rows of a growing capture appear as they are written, and half a record waits for the rest.
#[test]
fn a_capture_that_grows_is_followed() {
    let path = folder("follow").join("grows.pcap");
    let mut file = File::create(&path).unwrap();
    let records = |numbers: std::ops::Range<i64>| {
        let mut writer = Writer::pcap_of(Vec::new(), 1).unwrap();
        for number in numbers {
            let data = vec![0xff; 60 + number as usize];
            writer.write(&WriteRecord::new(1, number, &data)).unwrap();
        }
        writer.finish().unwrap()
    };
    file.write_all(&records(0..2)).unwrap();
    let (child, mut rows) = following(&path);
    let mut expect = |expected: &str| assert_eq!(rows.next().unwrap().unwrap(), expected);
    let more = records(2..4);
    file.write_all(&more[24..80]).unwrap();
    read_to_its_end(&child, &path);
    file.write_all(&more[80..]).unwrap();
    expect("3,62");
    expect("4,63");
    // The beginning of a record is no damage while its writer is at it.
    file.write_all(&more[24..50]).unwrap();
    read_to_its_end(&child, &path);
    let errors = terminated(child);
    assert!(
        errors.contains("ended in the middle of a record"),
        "{errors}"
    );
    assert!(!errors.contains("--follow is for"), "{errors}");
}

/// A capture that another one replaced, or that was cut short and written anew, was waited for without an end.
#[test]
fn a_capture_that_is_replaced_is_read_anew() {
    let folder = folder("replaced");
    let (path, other) = (folder.join("grows.pcap"), folder.join("other.pcap"));
    let capture = |lengths: std::ops::Range<usize>| {
        let mut writer = Writer::pcap_of(Vec::new(), 1).unwrap();
        for length in lengths {
            let data = vec![0xff; length];
            writer.write(&WriteRecord::new(1, 0, &data)).unwrap();
        }
        writer.finish().unwrap()
    };
    fs::write(&path, capture(60..62)).unwrap();
    let (child, mut rows) = following(&path);
    let mut expect = |expected: &str| assert_eq!(rows.next().unwrap().unwrap(), expected);
    fs::write(&other, capture(70..72)).unwrap();
    fs::rename(&other, &path).unwrap();
    expect("1,70");
    expect("2,71");
    fs::write(&path, capture(80..81)).unwrap();
    expect("1,80");
    let errors = terminated(child);
    assert!(errors.contains("read anew from its beginning"), "{errors}");
}

#[test]
fn groups_of_a_capture_that_grows_come_at_the_end() {
    let path = folder("groups-follow").join("grows.pcap");
    let mut writer = Writer::pcap_of(File::create(&path).unwrap(), 1).unwrap();
    let sql = format!(
        "SELECT count(*) AS n FROM packets('{}', follow => true)",
        path.display()
    );
    let mut child = weir(&["query", &sql]).spawn_limited().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert_eq!(
        line,
        "note: the answer is shown at the end; Ctrl-C ends it\n"
    );
    for number in 0..20 {
        writer
            .write(&WriteRecord::new(1, number, &[0; 60]))
            .unwrap();
        writer.flush().unwrap();
        read_to_its_end(&child, &path);
    }
    signal("TERM", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "n\n20\n");
    assert!(output.status.success());
}

/// Waits until a process has read all that a file has.
fn read_to_its_end(child: &Child, path: &Path) {
    let folder = format!("/proc/{}", child.id());
    let length = fs::metadata(path).unwrap().len();
    until("the file to be read", || {
        fs::read_dir(format!("{folder}/fd"))
            .unwrap()
            .flatten()
            .any(|entry| {
                let number = entry.file_name().into_string().unwrap();
                let is_it = fs::read_link(entry.path()).is_ok_and(|target| target == path);
                let position = || {
                    let about = fs::read_to_string(format!("{folder}/fdinfo/{number}")).ok()?;
                    about
                        .lines()
                        .next()?
                        .strip_prefix("pos:")?
                        .trim()
                        .parse()
                        .ok()
                };
                is_it && position() == Some(length)
            })
    });
}

/// The screen of a terminal after these bytes.
fn shown(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = vec![String::new()];
    let mut at = 0;
    let mut rest = text.chars();
    while let Some(next) = rest.next() {
        match next {
            '\r' => {}
            '\n' => {
                at += 1;
                lines.resize(lines.len().max(at + 1), String::new());
            }
            '\x1b' => {
                let command: String = rest.by_ref().skip(1).take(1).collect();
                let mut command = command;
                while !command.ends_with(|last: char| last.is_ascii_alphabetic()) {
                    command.extend(rest.next());
                }
                let (number, name) = command.split_at(command.len() - 1);
                match name {
                    "A" => at -= number.parse::<usize>().unwrap(),
                    "J" => {
                        lines.truncate(at);
                        lines.push(String::new());
                    }
                    "m" => {}
                    _ => panic!("a command of the terminal: {command}"),
                }
            }
            letter => lines[at].push(letter),
        }
    }
    lines
}

/// On a terminal each intermediate answer replaces the one before, and the final one stays.
#[test]
fn a_terminal_shows_one_table() {
    if !Command::new("script")
        .arg("--version")
        .output_limited()
        .is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("util-linux"))
    {
        weir_testkit::missing("script", "what a terminal shows");
        return;
    }
    let folder = folder("terminal");
    let path = folder.join("grows.pcap");
    let mut writer = Writer::pcap_of(File::create(&path).unwrap(), 1).unwrap();
    let mut write = |numbers: std::ops::Range<i64>| {
        for number in numbers {
            let record = WriteRecord::new(1, number, &[0; 60][..58 + number as usize % 3]);
            writer.write(&record).unwrap();
        }
        writer.flush().unwrap();
    };
    write(0..2);
    let line = format!(
        "stty rows 24 cols 80; exec {} query --follow \
            'SELECT frame.len, count(*) AS n FROM \"{}\" GROUP BY 1' 2>/dev/null",
        env!("CARGO_BIN_EXE_weir"),
        path.display(),
    );
    let mut child = Command::new("script")
        .args(["--quiet", "--flush", "--return", "--command", &line])
        .arg("/dev/null")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn_limited()
        .unwrap();
    let mut keys = child.stdin.take().unwrap();
    let mut screen = child.stdout.take().unwrap();
    let mut bytes = Vec::new();
    let mut wait_for = |wanted: &str| {
        let mut more = [0; 4096];
        while !shown(&bytes).join("\n").contains(wanted) {
            let len = screen.read(&mut more).unwrap();
            assert!(len > 0, "{}", String::from_utf8_lossy(&bytes));
            bytes.extend_from_slice(&more[..len]);
        }
        bytes.len()
    };
    wait_for("59");
    // The last answer has one more group, and so one more line.
    write(2..30);
    wait_for("60");
    keys.write_all(b"\x03").unwrap();
    drop(keys);
    screen.read_to_end(&mut bytes).unwrap();
    assert!(child.wait().unwrap().success());
    let lines = shown(&bytes);
    let rows = |wanted: &str| lines.iter().filter(|line| line.contains(wanted)).count();
    assert_eq!(rows("frame.len"), 1, "{}", lines.join("\n"));
    assert_eq!(rows("10"), 3, "{}", lines.join("\n"));
}

/// A call of sipp whose caller plays a recording that three packets were taken out of: what `media` says was lost is them.
#[test]
fn a_live_call_lost_what_was_taken_out_of_its_recording() {
    const RECORDING: &str = "/usr/share/sip-tester/g711a.pcap";
    const LOST: [usize; 3] = [20, 21, 50];
    let scenario = Command::new("sipp")
        .args(["-sd", "uac_pcap"])
        .output_limited();
    let (Ok(scenario), true) = (scenario, fs::exists(RECORDING).unwrap()) else {
        weir_testkit::missing("sipp", "a call with media on loopback");
        return;
    };
    let folder = folder("media");
    write_recording(RECORDING, &folder.join("played.pcap"), 100, &LOST);
    let scenario = String::from_utf8(scenario.stdout).unwrap();
    let (begin, end) = (
        scenario.find("<?xml").unwrap(),
        scenario.find("  <!-- Play an out of band").unwrap(),
    );
    let bye = scenario.find("  <!-- The 'crlf' option").unwrap();
    let scenario = format!("{}{}", &scenario[begin..end], &scenario[bye..]);
    let scenario = scenario
        .replace("pcap/g711a.pcap", "played.pcap")
        .replace("\"8000\"", "\"3500\"");
    fs::write(folder.join("caller.xml"), scenario).unwrap();

    let ports: Vec<String> = (0..4).map(|_| Sender::new().port().to_string()).collect();
    let sql = format!(
        "SELECT media.codec, media.packets, media.lost, media.missing, media.gaps, media.found_by, port.src FROM media(live) WHERE port.src = {}",
        ports[3]
    );
    let Some((child, mut stderr)) = capturing(&[&sql]) else {
        return;
    };
    let sipp = |words: &[&str]| {
        let mut command = Command::new("sipp");
        command
            .args(["-i", "127.0.0.1", "-nostdin", "-m", "1", "-timeout", "60s"])
            .args(words)
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    };
    let callee = sipp(&["-sn", "uas", "-p", &ports[0], "-mp", &ports[1]]).spawn_limited();
    until_udp_port_is_taken(&ports[0]);
    let to = format!("127.0.0.1:{}", ports[0]);
    let caller = ["-sf", "caller.xml", &to, "-p", &ports[2], "-mp", &ports[3]];
    assert!(sipp(&caller).status_limited().unwrap().success());
    callee.unwrap().wait().unwrap();
    signal("TERM", &child);
    let (output, message) = ended(child, &mut stderr);
    let rows = String::from_utf8_lossy(&output.stdout);
    let expected = format!(
        "{{\"media.codec\":\"PCMA\",\"media.packets\":97,\"media.lost\":3,\"media.missing\":3,\"media.gaps\":2,\"media.found_by\":\"sip\",\"port.src\":{}}}",
        ports[3]
    );
    assert_eq!(rows.trim(), expected, "{message}");
}

/// The first records of a capture, without some of them, as a capture of its own.
fn write_recording(from: &str, to: &Path, count: usize, without: &[usize]) {
    let bytes = fs::read(from).unwrap();
    let mut kept = bytes[..24].to_vec();
    let mut at = 24;
    for number in 0..count {
        let length = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
        if !without.contains(&number) {
            kept.extend_from_slice(&bytes[at..at + 16 + length]);
        }
        at += 16 + length;
    }
    fs::write(to, kept).unwrap();
}
