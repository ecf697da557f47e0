//! Runs every command line and every SQL block of README and docs as written.
//!
//! Blocks of ```` ```sh ```` and ```` ```sql ```` run in the order in which they stand, in a folder a page that has
//! the output of `weir demo`, in `demo`, and the [`FILES`]. Commands that cannot run as written are in [`OTHERWISE`] with
//! the reason; an entry that is no longer needed fails the test. SQL has to give rows.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weir_testkit::Limited as _;
use weir_testkit::demo::write_demo;

/// Files that the samples do not have: name, and the sample that it is a copy of.
const FILES: &[(&str, &str)] = &[
    // A capture that another program still writes.
    ("growing.pcap", "demo/voip.pcap"),
];

/// The changed way to run a command that cannot run as written.
#[derive(Clone, Copy, Debug)]
enum Run {
    /// The command does not run.
    Not,
    /// The command runs with the second text in place of the first.
    With(&'static str, &'static str),
    /// The command runs on loopback instead of `eth0`, with packets, and gets the signal of Ctrl-C after three seconds.
    Live,
    /// Ended as by Ctrl-C after three seconds.
    Endless,
}

/// The first words of a command, the way to run it, and the reason.
const OTHERWISE: &[(&str, Run, &str)] = &[
    (
        "cargo run -- demo",
        Run::With("cargo run -- demo", "weir demo"),
        "the test has a program already, and a release takes minutes to build",
    ),
    (
        "cargo install --path crates/weir-cli",
        Run::Not,
        "it builds a release and writes into the user's home",
    ),
    (
        "weir query \"SELECT addr.src, count(*) FROM 's3://",
        Run::Not,
        "the bucket does not exist; remote.rs queries one of this machine",
    ),
    (
        "weir query \"SELECT * FROM flows('https://",
        Run::Not,
        "tests reach this machine only",
    ),
    (
        "weir query \"COPY (SELECT * FROM 's3://",
        Run::Not,
        "the bucket does not exist; remote.rs queries one of this machine",
    ),
    (
        "weir query \"SELECT * FROM calls('gs://",
        Run::Not,
        "the bucket does not exist",
    ),
    (
        "weir cluster scheduler",
        Run::Not,
        "it goes on until Ctrl-C; cluster.rs starts one",
    ),
    (
        "weir cluster executor --scheduler",
        Run::Not,
        "it goes on until Ctrl-C; cluster.rs starts some",
    ),
    (
        "openssl rand",
        Run::Not,
        "openssl is not on every machine, and the token is for machines that do not exist",
    ),
    (
        "weir cluster client-token",
        Run::Not,
        "the token file does not exist; cluster.rs makes one",
    ),
    (
        "weir query --cluster 127.0.0.1:50050",
        Run::Not,
        "no cluster listens there, and the bucket does not exist; cluster.rs starts a cluster",
    ),
    (
        "weir query --cluster head:50050",
        Run::Not,
        "its machines and certificates do not exist; cluster.rs makes some",
    ),
    ("cargo xtask test", Run::Not, "it is what runs this test"),
    (
        "weir live -i eth0",
        Run::Live,
        "interfaces are called otherwise elsewhere, and some commands end at Ctrl-C only",
    ),
    (
        "weir sip calls -i eth0",
        Run::Live,
        "an interface of this machine, for a few seconds",
    ),
    (
        "weir ws stats -i eth0",
        Run::Live,
        "interfaces are called otherwise elsewhere, and it reads for a minute",
    ),
    (
        "weir ws advise -i eth0",
        Run::Live,
        "interfaces are called otherwise elsewhere, and it reads for five minutes",
    ),
    (
        "weir ws study -i lo",
        Run::Live,
        "no program of the test sends the ten thousand messages that it waits for",
    ),
    (
        "weir clf write -i eth0",
        Run::Live,
        "interfaces are called otherwise elsewhere, and it ends at Ctrl-C only",
    ),
    ("weir live --hep", Run::Endless, "it listens until Ctrl-C"),
    (
        "weir clf write --hep",
        Run::Endless,
        "it listens until Ctrl-C",
    ),
    (
        "weir query --follow",
        Run::Endless,
        "it follows a capture until Ctrl-C",
    ),
    (
        "weir query \"SELECT frame.time, ip.src FROM packets('growing.pcap', follow => true)",
        Run::Endless,
        "it follows a capture until Ctrl-C",
    ),
];

#[test]
#[cfg_attr(
    not(feature = "full"),
    ignore = "documents are of the program with all features"
)]
fn every_command_and_every_query_of_the_documents_runs_as_it_is_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![root.join("README.md")];
    walk(&root.join("docs"), &mut pages);
    pages.sort();
    let busy = Busy::start();
    let mut used = vec![false; OTHERWISE.len()];
    let (mut queries, mut commands) = (0, 0);
    let mut wrong = String::new();
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        let found = blocks(&text);
        if found.is_empty() {
            continue;
        }
        let name = page.strip_prefix(&root).unwrap().display().to_string();
        let folder = folder(&name);
        for block in found {
            match block {
                FencedBlock::Sql(sql) => {
                    queries += 1;
                    if let Err(what) = query(sql, &folder) {
                        let _ = writeln!(wrong, "{name}:\n{sql}{what}");
                    }
                }
                FencedBlock::Command(line) => {
                    commands += 1;
                    if let Err(what) = command(&line, &folder, &mut used) {
                        let _ = writeln!(wrong, "{name}:\n$ {line}\n{what}");
                    }
                }
            }
        }
    }
    drop(busy);
    for ((line, ..), used) in OTHERWISE.iter().zip(used) {
        if !used {
            let _ = writeln!(
                wrong,
                "nothing begins with {line}: no entry is needed for it"
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    // Fewer would mean that blocks are not found any more.
    assert!(
        queries >= 46 && commands >= 35,
        "{queries} queries, {commands} commands"
    );
}

/// The content of a fenced block.
enum FencedBlock<'t> {
    Sql(&'t str),
    Command(String),
}

/// The blocks of a page that can be run.
fn blocks(text: &str) -> Vec<FencedBlock<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("```") {
        let (language, after) = rest[at + 3..].split_once('\n').unwrap();
        let end = after.find("```").expect("a fence is closed");
        let inside = &after[..end];
        rest = &after[end + 3..];
        match language {
            "sql" => found.push(FencedBlock::Sql(inside)),
            "sh" => found.extend(commands(inside).into_iter().map(FencedBlock::Command)),
            // The other blocks are output, formats and layouts, without commands.
            _ => assert!(
                !inside.lines().any(|line| line.starts_with("weir ")),
                "commands are to stand in ```sh:\n{inside}"
            ),
        }
    }
    found
}

/// The commands of a block: a line continues after a backslash or an open quote.
fn commands(block: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut open = false;
    for line in block.lines() {
        match commands.last_mut().filter(|_| open) {
            Some(command) => {
                command.push('\n');
                command.push_str(line);
            }
            None if line.trim().is_empty() || line.starts_with('#') => continue,
            None => commands.push(line.to_owned()),
        }
        let command = commands.last().unwrap();
        open = command.matches('"').count() % 2 == 1 || command.ends_with('\\');
    }
    commands
}

fn query(sql: &str, folder: &Path) -> Result<(), String> {
    fs::write(folder.join("block.sql"), sql).unwrap();
    let output = shell("weir query --format csv -f block.sql", folder);
    succeeded(&output)?;
    match output.stdout.iter().filter(|byte| **byte == b'\n').count() {
        0 | 1 => Err("no rows".to_owned()),
        _ => Ok(()),
    }
}

fn command(line: &str, folder: &Path, used: &mut [bool]) -> Result<(), String> {
    let known = OTHERWISE
        .iter()
        .position(|(begins, ..)| line.starts_with(begins));
    let run = known.map(|number| {
        used[number] = true;
        OTHERWISE[number].1
    });
    let (line, is_live) = match run {
        None => (line.to_owned(), false),
        Some(Run::Not) => return Ok(()),
        Some(Run::With(from, to)) => (line.replacen(from, to, 1), false),
        Some(Run::Endless) => (format!("{UNTIL_INTERRUPT}{line}"), false),
        Some(Run::Live) => {
            let line = line.replace("-i eth0", "-i lo");
            (format!("{UNTIL_INTERRUPT}{line}"), true)
        }
    };
    let output = shell(&line, folder);
    if is_live && String::from_utf8_lossy(&output.stderr).contains("Operation not permitted") {
        weir_testkit::missing("capture-rights", &line);
        return Ok(());
    }
    succeeded(&output)
}

fn succeeded(output: &Output) -> Result<(), String> {
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

fn shell(line: &str, folder: &Path) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_weir")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", program.display()))
        .env("HOME", folder)
        .stdin(Stdio::null())
        .output_limited()
        .unwrap()
}

/// A folder with the samples.
fn folder(page: &str) -> PathBuf {
    let name = page.replace(['/', '.'], "-");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("documents-{}", std::process::id()))
        .join(name);
    let _ = fs::remove_dir_all(&folder);
    write_demo(&folder.join("demo")).unwrap();
    for (name, sample) in FILES {
        fs::copy(folder.join(sample), folder.join(name)).unwrap();
    }
    folder
}

fn walk(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

/// Sends packets over loopback until it is dropped.
struct Busy(Arc<AtomicBool>, Option<std::thread::JoinHandle<()>>);

impl Busy {
    fn start() -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&done);
        let thread = std::thread::spawn(move || {
            let to = UdpSocket::bind("127.0.0.1:0").unwrap();
            let from = UdpSocket::bind("127.0.0.1:0").unwrap();
            while !seen.load(Ordering::Relaxed) {
                from.send_to(b"busy", to.local_addr().unwrap()).unwrap();
                websocket();
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        Self(done, Some(thread))
    }
}

/// A WebSocket connection with a message, for commands that need one.
fn websocket() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let mut read = [0; 512];
    client
        .write_all(
            b"GET / HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        )
        .unwrap();
    let _ = server.read(&mut read).unwrap();
    server
        .write_all(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
        )
        .unwrap();
    let _ = client.read(&mut read).unwrap();
    server.write_all(b"\x81\x0dhello, hello!").unwrap();
    let _ = client.read(&mut read).unwrap();
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        if let Some(thread) = self.1.take() {
            thread.join().unwrap();
        }
    }
}

/// Ends a command as Ctrl-C does, once, and gives its own exit status.
const UNTIL_INTERRUPT: &str = "timeout --foreground --preserve-status -s INT 3 ";
