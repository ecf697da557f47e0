//! `weir sip calls`: on a terminal, which is a pseudo-terminal here, with captures and with sipp on loopback; and in a
//! pipe.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use weir_testkit::Limited as _;
use weir_testkit::web::Moto;

use crate::carve;
use crate::shell::{folder, run, until_udp_port_is_taken};

/// A program on a terminal of 80 by 24.
struct Terminal {
    child: Child,
    keys: Option<ChildStdin>,
    screen: Arc<Mutex<Screen>>,
}

/// The screen of a terminal, with the commands that the list uses.
struct Screen {
    cells: Vec<Vec<char>>,
    line: usize,
    column: usize,
    rest: Vec<u8>,
    is_at_end: bool,
}

impl Screen {
    fn new() -> Self {
        Self {
            cells: vec![vec![' '; 80]; 24],
            line: 0,
            column: 0,
            rest: Vec::new(),
            is_at_end: false,
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.cells {
            let line: String = line.iter().collect();
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }

    /// Applies the output to the screen, up to an incomplete command.
    fn take(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&self.rest) {
            Ok(_) => self.rest.len(),
            Err(error) => error.valid_up_to(),
        };
        let text = String::from_utf8(self.rest[..whole].to_vec()).unwrap();
        let mut left = text.as_str();
        while let Some(next) = left.chars().next() {
            if next != '\x1b' {
                self.put(next);
                left = &left[next.len_utf8()..];
                continue;
            }
            let Some(command) = left.strip_prefix("\x1b[") else {
                // Two characters; of the others it writes none.
                if left.len() < 2 {
                    break;
                }
                left = &left[2..];
                continue;
            };
            let Some(end) = command.find(|c: char| c.is_ascii_alphabetic()) else {
                break;
            };
            self.command(&command[..end], &command[end..=end]);
            left = &command[end + 1..];
        }
        let taken = whole - left.len();
        self.rest.drain(..taken);
    }

    fn put(&mut self, character: char) {
        match character {
            '\r' => self.column = 0,
            '\n' => {
                self.line += 1;
                if self.line == self.cells.len() {
                    self.line -= 1;
                    self.cells.remove(0);
                    self.cells.push(vec![' '; 80]);
                }
            }
            _ => {
                if let Some(cell) = self.cells[self.line].get_mut(self.column) {
                    *cell = character;
                }
                self.column += 1;
            }
        }
    }

    fn command(&mut self, numbers: &str, name: &str) {
        let mut values = numbers.split(';').map(|number| number.parse().unwrap_or(1));
        match name {
            "H" => {
                self.line = values.next().unwrap_or(1_usize) - 1;
                self.column = values.next().unwrap_or(1) - 1;
            }
            "J" => self.cells = vec![vec![' '; 80]; 24],
            // The other screen is left, and what was there before is empty here.
            "l" if numbers == "?1049" => {
                self.cells = vec![vec![' '; 80]; 24];
                (self.line, self.column) = (0, 0);
            }
            "m" | "h" | "l" => {}
            _ => panic!("a command of the terminal: {numbers}{name}"),
        }
    }
}

impl Terminal {
    /// `None` where there is no `script` of util-linux.
    fn open(folder: &Path, words: &str) -> Option<Self> {
        Self::open_with(folder, words, &[])
    }

    /// The same with variables of the environment.
    fn open_with(folder: &Path, words: &str, variables: &[(String, String)]) -> Option<Self> {
        let version = Command::new("script").arg("--version").output_limited();
        if !version
            .is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("util-linux"))
        {
            weir_testkit::missing("script", "what a terminal shows");
            return None;
        }
        let line = format!(
            "stty rows 24 cols 80; exec {} sip calls {words}",
            env!("CARGO_BIN_EXE_weir")
        );
        let mut child = Command::new("script")
            .args([
                "--quiet",
                "--flush",
                "--return",
                "--command",
                &line,
                "/dev/null",
            ])
            .current_dir(folder)
            .env("TERM", "xterm-256color")
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn_limited()
            .unwrap();
        let keys = child.stdin.take();
        let mut out = child.stdout.take().unwrap();
        let screen = Arc::new(Mutex::new(Screen::new()));
        let drawn = Arc::clone(&screen);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = out.read(&mut bytes) {
                drawn.lock().unwrap().take(&bytes[..read]);
            }
            drawn.lock().unwrap().is_at_end = true;
        });
        Some(Self {
            child,
            keys,
            screen,
        })
    }

    fn press(&mut self, keys: &str) {
        let pipe = self.keys.as_mut().unwrap();
        pipe.write_all(keys.as_bytes()).unwrap();
        pipe.flush().unwrap();
    }

    /// The screen, once it is as wanted.
    fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let (text, is_at_end) = {
                let screen = self.screen.lock().unwrap();
                (screen.text(), screen.is_at_end)
            };
            if wanted(&text) {
                return text;
            }
            let is_late = begun.elapsed() > Duration::from_secs(60);
            assert!(!is_late && !is_at_end, "{what} was not shown:\n{text}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn shows(&self, wanted: &str) -> String {
        self.until(wanted, |text| text.contains(wanted))
    }

    /// The exit status, and what the terminal shows then.
    fn end(mut self) -> (Option<i32>, String) {
        self.keys = None;
        let status = self.child.wait().unwrap();
        let begun = Instant::now();
        while !self.screen.lock().unwrap().is_at_end && begun.elapsed() < Duration::from_secs(5) {
            thread::sleep(Duration::from_millis(10));
        }
        let text = self.screen.lock().unwrap().text();
        (status.code(), text)
    }
}

/// A test that fails leaves no program behind.
impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const DOWN: &str = "\x1b[B";
const ENTER: &str = "\r";

#[test]
fn a_call_is_listed_drawn_opened_and_saved_on_a_terminal() {
    let folder = folder("a_call_is_listed_drawn_opened_and_saved_on_a_terminal");
    fs::write(folder.join("calls.pcap"), carve::calls()).unwrap();
    let Some(mut terminal) = Terminal::open(&folder, "calls.pcap") else {
        return;
    };
    let list = terminal.shows("at its end: 2 calls, 2 in call, 24 packets");
    assert_eq!(list.matches("a@x").count(), 2, "{list}");
    assert!(list.contains("MOS") && list.contains("4.4"), "{list}");
    // Filtered by what is typed; letters that are keys elsewhere are letters here.
    terminal.press("/second");
    terminal.shows("1 calls that match");
    terminal.press(ENTER);
    terminal.press(ENTER);
    let ladder = terminal.shows("INVITE (SDP) 1");
    assert!(ladder.contains("in_call second"), "{ladder}");
    assert!(ladder.contains("200 OK (SDP) 1 INVITE"), "{ladder}");
    assert!(ladder.contains("==== RTP ===="), "{ladder}");
    terminal.press(DOWN);
    terminal.press(ENTER);
    let message = terminal.shows("SIP/2.0 200 OK");
    assert!(message.contains("m=audio 4102 RTP/AVP 0"), "{message}");
    terminal.press("s");
    terminal.shows("save as: call-second.pcap_");
    terminal.press(ENTER);
    terminal.shows("12 packets are in call-second.pcap");
    let saved = fs::read(folder.join("call-second.pcap")).unwrap();
    // The saved capture is not overwritten.
    terminal.press("s");
    terminal.shows("save as:");
    terminal.press(ENTER);
    terminal.shows("already exists, and is not replaced");
    terminal.press("q");
    terminal.shows("INVITE (SDP) 1");
    terminal.press("q");
    terminal.shows("1 calls that match");
    terminal.press("q");
    let (status, _) = terminal.end();
    assert_eq!(status, Some(0));
    assert_eq!(fs::read(folder.join("call-second.pcap")).unwrap(), saved);
    let sql = "SELECT count(*), count(DISTINCT udp.dstport) FROM 'call-second.pcap'";
    let ended = run(&format!("weir query --format tsv \"{sql}\""), &folder);
    assert!(ended.stdout.ends_with("12\t2\n"), "{}", ended.stdout);
}

/// The list was refused where captures lie in a store, in a folder or in an archive.
#[test]
#[cfg_attr(not(feature = "remote"), ignore = "it reads a store")]
fn calls_in_a_store_and_in_a_folder_are_listed_and_saved() {
    let folder = folder("calls_in_a_store_and_in_a_folder_are_listed_and_saved");
    fs::create_dir(folder.join("day")).unwrap();
    fs::write(folder.join("day/calls.pcap"), carve::calls()).unwrap();
    fs::write(folder.join("day/notes.txt"), "none of it\n").unwrap();
    let Some(mut terminal) = Terminal::open(&folder, "day") else {
        return;
    };
    terminal.shows("at its end: 2 calls, 2 in call, 24 packets");
    terminal.press("q");
    let (status, text) = terminal.end();
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("1 of 2 files are not captures"), "{text}");

    let Some(moto) = Moto::start() else {
        weir_testkit::missing("moto", "calls in S3");
        return;
    };
    moto.put("day/calls.pcap", &carve::calls());
    let variables: Vec<(String, String)> = moto
        .environment()
        .into_iter()
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect();
    let open = |words: &str| Terminal::open_with(&folder, words, &variables);
    let Some(mut terminal) = open("'s3://bucket/day/*.pcap'") else {
        return;
    };
    terminal.shows("at its end: 2 calls, 2 in call, 24 packets");
    terminal.press("/second\r\r");
    let ladder = terminal.shows("==== RTP ====");
    assert!(ladder.contains("200 OK (SDP) 1 INVITE"), "{ladder}");
    terminal.press("s");
    terminal.shows("save as: call-second.pcap_");
    terminal.press(ENTER);
    terminal.shows("12 packets are in call-second.pcap");
    terminal.press("qqq");
    assert_eq!(terminal.end().0, Some(0));
    let Some(terminal) = open("s3://bucket/day/none.pcap") else {
        return;
    };
    let (status, text) = terminal.end();
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("s3://bucket/day/none.pcap"), "{text}");
}

#[test]
fn damage_is_reported_when_the_terminal_is_restored() {
    let folder = folder("damage_is_reported_when_the_terminal_is_restored");
    let whole = carve::calls();
    fs::write(folder.join("cut.pcap"), &whole[..whole.len() - 30]).unwrap();
    let Some(mut terminal) = Terminal::open(&folder, "cut.pcap") else {
        return;
    };
    terminal.shows("2 calls, 2 in call, 23 packets");
    terminal.press("q");
    let (status, text) = terminal.end();
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("error: cut.pcap: pcap record 24"), "{text}");
}

#[test]
fn in_a_pipe_calls_are_rows() {
    let folder = folder("in_a_pipe_calls_are_rows");
    let whole = carve::calls();
    fs::write(folder.join("calls.pcap"), &whole).unwrap();
    fs::write(folder.join("cut.pcap"), &whole[..whole.len() - 30]).unwrap();
    let ended = run("weir sip calls calls.pcap", &folder);
    let mut lines = ended.stdout.lines();
    assert_eq!(
        lines.next(),
        Some(
            "call.number,sip.call_id,call.first,call.from,call.to,call.state,call.status,call.duration,call.messages,\
             call.mos,addr.src,port.src,addr.dst,port.dst"
        )
    );
    let first = "1,first,1970-01-01T00:00:00.000000000Z,sip:a@x,sip:b@x,in_call,200,,2,";
    let line = lines.next().unwrap();
    assert!(line.starts_with(first), "{line}");
    assert!(line.ends_with(",10.0.0.1,5060,10.0.0.2,5060"), "{line}");
    assert_eq!((lines.count(), ended.code), (1, Some(0)));
    let ended = run("weir sip calls cut.pcap --format ndjson", &folder);
    assert_eq!((ended.stdout.lines().count(), ended.code), (2, Some(1)));
    let ended = run("weir sip calls", &folder);
    assert_eq!(ended.code, Some(2));
    let ended = run("weir sip calls calls.pcap -i lo", &folder);
    assert_eq!(ended.code, Some(2));
}

/// Calls that sipp makes while the list is shown, each INVITE, 180, 200, ACK, BYE and 200.
#[test]
fn calls_of_sipp_are_listed_as_they_come() {
    const CALLS: usize = 100;
    if Command::new("sipp").arg("-v").output_limited().is_err() {
        weir_testkit::missing("sipp", "calls on loopback");
        return;
    }
    let folder = folder("calls_of_sipp_are_listed_as_they_come");
    let Some(mut terminal) = Terminal::open(&folder, "-i lo --duration 2m") else {
        return;
    };
    let text = terminal.until("the list, or why not", |text| {
        text.contains("lo: 0 calls") || text.contains("error:")
    });
    if text.contains("Operation not permitted") {
        weir_testkit::missing("capture-rights", &text);
        terminal.end();
        return;
    }
    let port = || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.local_addr().unwrap().port().to_string()
    };
    let (server, client) = (port(), port());
    let sipp = |words: &[&str]| {
        let mut command = Command::new("sipp");
        command
            .args(["-i", "127.0.0.1", "-nostdin", "-m"])
            .arg(CALLS.to_string())
            .args(words)
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    };
    let mut callee = sipp(&["-sn", "uas", "-p", &server])
        .spawn_limited()
        .unwrap();
    until_udp_port_is_taken(&server);
    let to = format!("127.0.0.1:{server}");
    let caller =
        sipp(&["-sn", "uac", &to, "-p", &client, "-r", "50", "-d", "200"]).status_limited();
    assert!(caller.unwrap().success());
    callee.wait().unwrap();
    // Packets of other tests may be captured on loopback, too.
    terminal.press(&format!("/sipp {client}"));
    terminal.shows(&format!("{CALLS} calls that match"));
    terminal.press(" completed");
    let list = terminal.shows(&format!("{CALLS} calls that match"));
    assert!(list.matches(" completed ").count() >= 15, "{list}");
    terminal.press(ENTER);
    terminal.press(ENTER);
    let ladder = terminal.shows("BYE 2");
    for label in [
        "INVITE (SDP) 1",
        "180 Ringing 1 INVITE",
        "ACK 1",
        "200 OK 2 BYE",
    ] {
        assert!(ladder.contains(label), "{label}:\n{ladder}");
    }
    terminal.press("s");
    terminal.shows("save as:");
    terminal.press(&"\x7f".repeat(80));
    terminal.press("one.pcap");
    terminal.press(ENTER);
    terminal.shows("packets are in one.pcap");
    terminal.press("\x03");
    let (status, text) = terminal.end();
    assert_eq!(status, Some(0), "{text}");
    let sql = "SELECT count(*) AS n, count(DISTINCT sip.call_id) AS calls FROM sip('one.pcap')";
    let ended = run(&format!("weir query --format ndjson \"{sql}\""), &folder);
    assert!(ended.stdout.contains("\"calls\":1}"), "{}", ended.stdout);
}
