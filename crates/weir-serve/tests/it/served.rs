//! A server for tests.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Output};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::sync::oneshot;
use weir_serve::{Options, Server, WorkerProgram};
use weir_testkit::Limited as _;

/// A server over the demo's captures, which ends with this.
pub(crate) struct Served {
    pub(crate) root: TempDir,
    pub(crate) postgres: SocketAddr,
    pub(crate) http: SocketAddr,
    pub(crate) flight: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    pub(crate) fn plain() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Options)) -> Self {
        let root = tempfile::tempdir().unwrap();
        weir_testkit::demo::write_demo(root.path()).unwrap();
        let mut options = Options::default();
        options.roots = vec![root.path().to_path_buf()];
        options.listen = Some("127.0.0.1:0".parse().unwrap());
        options.http = Some("127.0.0.1:0".parse().unwrap());
        options.flight = Some("127.0.0.1:0".parse().unwrap());
        change(&mut options);
        options.workers = Some(this_program(&options));
        let server = Server::start(options).unwrap();
        let (postgres, http) = (server.postgres().unwrap(), server.http().unwrap());
        let flight = server.flight().unwrap();
        let (end, ended) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .thread_stack_size(weir_serve::CONNECTION_STACK_BYTES)
                .build()
                .unwrap();
            let end = async {
                let _ = ended.await;
            };
            server.run_on(runtime, end).unwrap();
        });
        Self {
            root,
            postgres,
            http,
            flight,
            end: Some(end),
            thread: Some(thread),
        }
    }

    /// Adds a capture of about so many bytes.
    pub(crate) fn add_trace(&self, name: &str, bytes: u64) {
        let file = File::create(self.root.path().join(name)).unwrap();
        weir_testkit::trace::ethernet_pcap(BufWriter::new(file), 1, bytes).unwrap();
    }

    /// The output of psql for these commands, without headings.
    pub(crate) fn psql(&self, commands: &[&str]) -> Output {
        let mut psql = Command::new("psql");
        psql.args([
            "-X",
            "-A",
            "-t",
            "-h",
            "127.0.0.1",
            "-U",
            "me",
            "-d",
            "weir",
            "-p",
        ]);
        psql.arg(self.postgres.port().to_string());
        for command in commands {
            psql.args(["-c", command]);
        }
        psql.env("PGPASSWORD", "right")
            .env("PGCONNECT_TIMEOUT", "10");
        psql.output_limited().unwrap()
    }

    /// The output of psql, which must print no error.
    pub(crate) fn answer(&self, commands: &[&str]) -> String {
        let output = self.psql(commands);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.success() && !errors.contains("ERROR"),
            "{errors}"
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// The error that psql prints.
    pub(crate) fn error(&self, commands: &[&str]) -> String {
        String::from_utf8(self.psql(commands).stderr).unwrap()
    }

    /// The answer to a request as it came.
    pub(crate) fn request(&self, head: &str, body: &str) -> String {
        let mut socket = TcpStream::connect(self.http).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let text = format!(
            "{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(text.as_bytes()).unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Waits until the counters of the server have this in them.
    pub(crate) fn wait_for(&self, counter: &str) {
        let deadline = Instant::now() + Duration::from_secs(5);
        while !self.has_counter(counter) {
            assert!(Instant::now() < deadline, "{counter}: {}", self.counters());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn counters(&self) -> String {
        self.request("GET /metrics HTTP/1.1\r\nHost: localhost", "")
    }

    /// Whether the counters of the server have this in them now.
    pub(crate) fn has_counter(&self, counter: &str) -> bool {
        self.counters().lines().any(|line| line == counter)
    }

    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }
}

/// Writes a file `late.ndjson`, which has a column behind the bytes that the columns in lists are taken from.
pub(crate) fn write_late_column(folder: &Path) {
    let row = format!("{{\"a\":1,\"b\":\"{}\"}}\n", "x".repeat(1000));
    let text = row.repeat(5000) + "{\"a\":1.5,\"late\":true}\n";
    std::fs::write(folder.join("late.ndjson"), text).unwrap();
}

/// The program of the worker processes: this test program, whose test [`worker`] runs the statements.
fn this_program(options: &Options) -> WorkerProgram {
    let root = options.roots[0].display();
    let words = format!("{WORKER}{}:{root}", options.allow_write);
    let arguments = [
        "served::worker",
        "--exact",
        "--ignored",
        "--nocapture",
        &words,
    ];
    WorkerProgram {
        program: std::env::current_exe().unwrap(),
        arguments: arguments.map(Into::into).to_vec(),
        secrets: Vec::new(),
    }
}

/// No test, but the process of a server in one, which says by further names of tests what it is to do.
#[test]
#[ignore = "a server starts it"]
fn worker() {
    let words: Vec<String> = std::env::args().collect();
    let told = words.iter().find_map(|word| word.strip_prefix(WORKER));
    let Some((allow_write, root)) = told.and_then(|told| told.split_once(':')) else {
        return;
    };
    let mut options = Options::default();
    options.roots = vec![root.into()];
    options.allow_write = allow_write == "true";
    weir_serve::work(options, Path::new(words.last().unwrap())).unwrap();
    // The library of tests would print behind the last frame.
    std::process::exit(0);
}

const WORKER: &str = "worker:";

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the server ended badly");
        }
    }
}
