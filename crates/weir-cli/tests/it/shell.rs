//! A folder with samples, and the real program run in it by a shell.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use weir_testkit::{Limited as _, until};

/// The result of a command line.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `None` for a signal.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A fresh folder with the demo's samples in `demo`, `cut.pcap`, `hosts.csv`, a SIP log and a Megaco message.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = crate::transcript::folder(name);
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
    put("message.txt", b"!/1 [10.0.0.1] T=1{C=-{AV=ROOT{AT{M}}}}\n");
    put("key", b"a key that is long enough\n");
    put(
        "lines.txt",
        &b"{\"price\":1,\"name\":\"weir\"}\n".repeat(200),
    );
    let made = run("weir clf write call.pcap -o calls.clf", &folder);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    folder
}

/// The command of a shell, with `weir` in its path.
pub(crate) fn command(line: &str, folder: &Path) -> Command {
    let program = Path::new(env!("CARGO_BIN_EXE_weir")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut command = heeding("sh");
    command
        .args(["-c", line])
        .current_dir(folder)
        .env_clear()
        .env("PATH", format!("{}:{path}", program.display()))
        .env("HOME", folder)
        .stdin(Stdio::null());
    command
}

/// A program that heeds the signals of terminals: what a script has in the background ignores them, and hands that on.
pub(crate) fn heeding(program: &str) -> Command {
    if !cfg!(target_os = "linux") {
        return Command::new(program);
    }
    let mut command = Command::new("env");
    command.args(["--default-signal=INT,QUIT,HUP", program]);
    command
}

/// Waits until a program captures on loopback, and returns the rest of its standard error; `None` where it may not capture.
pub(crate) fn until_it_captures(child: &mut Child) -> Option<BufReader<ChildStderr>> {
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("capturing on lo") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "it has ended");
        if line.contains("Operation not permitted") {
            weir_testkit::missing("capture-rights", &line);
            child.wait().unwrap();
            return None;
        }
        assert!(!line.starts_with("error:"), "{line}");
    }
    Some(stderr)
}

/// Sends a signal, by its name in kill(1).
pub(crate) fn signal(name: &str, child: &Child) {
    let id = child.id().to_string();
    let sent = Command::new("kill")
        .args(["-s", name, &id])
        .status_limited();
    assert!(sent.unwrap().success(), "{name} to {id}");
}

/// Runs a command line of a shell.
pub(crate) fn run(line: &str, folder: &Path) -> Ended {
    let output = command(line, folder).output_limited().unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The names in a folder, hidden ones too.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Waits until a program receives on a UDP port of this machine.
pub(crate) fn until_udp_port_is_taken(port: &str) {
    let end = format!(":{:04X}", port.parse::<u16>().unwrap());
    until("the port to be taken", || {
        ["udp", "udp6"].iter().any(|table| {
            let sockets = std::fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
            let mut local = sockets
                .lines()
                .filter_map(|line| line.split_whitespace().nth(1));
            local.any(|address| address.ends_with(&end))
        })
    });
}
