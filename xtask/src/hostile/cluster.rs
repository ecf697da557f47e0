//! `cargo xtask bench hostile --cluster`: changed messages at every port of `weir cluster`, for as long as one likes.
//!
//! Two clusters run, each of a scheduler and two executors: one with a token, and one without. In the second each connection
//! leads through a recorder, so that what is changed and sent again are the messages of a client, of executors and of a scheduler
//! (gRPC and Arrow Flight, over HTTP/2); of the first it is the handshakes of TLS. Between them a client asks each cluster a
//! statement that an executor answers, and at the end beside connections and requests that are begun and not ended.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use weir_testkit::{Rng, mutate};

use super::held::{HOLDS, Held, Hold, PREFACE};
use super::{HostileArgs, below, own_bytes};

/// Attacks two clusters of this program, over the captures below a folder.
pub(super) fn attack(program: &Path, root: &Path, options: &HostileArgs) -> Result<()> {
    let home = root.with_file_name("home");
    fs::create_dir_all(&home)?;
    fs::write(home.join("token"), "0123456789abcdef0123456789abcdef\n")?;
    let before = below(root)?;
    let mut open = Cluster::start(program, root, &home, &["--no-token"])?;
    let token = ["--token-file", "../home/token"];
    let mut closed = Cluster::start(program, root, &home, &token)?;
    for cluster in [&open, &closed] {
        // The scheduler has its tasks cancelled while the next statements run.
        cluster.interrupt(LONG)?;
        for sql in STATEMENTS {
            cluster.ask(sql)?;
        }
        cluster.recorder.stop();
    }
    let seeds = [open.recorder.streams(), closed.recorder.streams()];
    for (name, seeds) in ["without a token", "with a token"].iter().zip(&seeds) {
        println!("recorded {name}: {} streams", seeds.len());
    }
    if seeds.iter().any(Vec::is_empty) {
        bail!("nothing was recorded");
    }
    // Handshakes go to the ports of the cluster with a token, and to those that have no TLS.
    let doors = [open.doors.clone(), closed.doors.clone()];
    send_changed(&mut open, &mut closed, &doors, &seeds, options);
    let mut wrong = Vec::new();
    for (name, cluster) in [
        ("without a token", &mut open),
        ("with a token", &mut closed),
    ] {
        for hold in HOLDS {
            if !cluster.answers_beside(name, hold) {
                wrong.push(format!("{name}: no answer beside {}", hold.name));
            }
        }
        // An executor that a client registered without a token counts as lost after a while.
        let answers = (0..RECOVERY).any(|_| cluster.ask(QUESTION).is_ok());
        cluster.look();
        cluster.report(name);
        let panics = cluster.panics();
        println!("{name}: {panics} panics in the logs");
        if panics > 0 {
            wrong.push(format!("{name}: {panics} panics in the logs"));
        }
        if let Some(end) = cluster.ended() {
            wrong.push(format!("{name}: {end}"));
        } else if !answers {
            wrong.push(format!("{name}: no statement is answered any more"));
        }
    }
    if below(root)? != before {
        wrong.push("files below the root were changed".to_owned());
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => bail!("{}", wrong.join("; ")),
    }
}

/// Sends changed streams to all doors until there were enough, or a cluster has ended.
fn send_changed(
    open: &mut Cluster,
    closed: &mut Cluster,
    doors: &[Vec<SocketAddr>; 2],
    seeds: &[Vec<Vec<u8>>; 2],
    options: &HostileArgs,
) {
    let sent = AtomicU64::new(0);
    let is_gone = AtomicBool::new(false);
    let begun = Instant::now();
    let is_over = || {
        is_gone.load(Ordering::Relaxed)
            || match options.time {
                Some(time) => begun.elapsed() >= time,
                None => sent.load(Ordering::Relaxed) >= options.messages,
            }
    };
    thread::scope(|scope| {
        for number in 0..SENDERS {
            let sent = &sent;
            let mut random = Rng::new(options.seed.wrapping_add(number << 32));
            scope.spawn(move || {
                let mut half_open = Vec::new();
                while !is_over() {
                    let streams = random.pick(seeds.as_slice());
                    let octets = random.pick(streams).clone();
                    let octets = changed(&mut random, &octets);
                    let doors = random.pick(doors.as_slice());
                    let door = *random.pick(doors);
                    send(door, &octets, &mut random, &mut half_open);
                    sent.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        while !is_over() {
            thread::sleep(Duration::from_millis(200));
            for cluster in [&mut *open, &mut *closed] {
                cluster.look();
                if cluster.ended().is_some() {
                    is_gone.store(true, Ordering::Relaxed);
                }
            }
        }
    });
    println!("messages            {}", sent.load(Ordering::Relaxed));
    println!("seconds             {:.0}", begun.elapsed().as_secs_f64());
}

/// A scheduler and two executors, which end with this.
struct Cluster {
    processes: Vec<Process>,
    /// The addresses on which the processes listen.
    doors: Vec<SocketAddr>,
    recorder: Recorder,
    /// The recorder in front of the scheduler.
    scheduler: SocketAddr,
    program: PathBuf,
    root: PathBuf,
    home: PathBuf,
    trust: Vec<String>,
    waits: Vec<Duration>,
    unanswered: u64,
}

struct Process {
    name: String,
    child: Child,
    bytes: u64,
    files: usize,
}

impl Cluster {
    fn start(program: &Path, root: &Path, home: &Path, trust: &[&str]) -> Result<Self> {
        let recorder = Recorder::default();
        let mut cluster = Self {
            processes: Vec::new(),
            doors: Vec::new(),
            scheduler: SocketAddr::from(([127, 0, 0, 1], 0)),
            recorder,
            program: program.to_owned(),
            root: root.to_owned(),
            home: home.to_owned(),
            trust: trust.iter().map(|word| (*word).to_owned()).collect(),
            waits: Vec::new(),
            unanswered: 0,
        };
        let words = ["scheduler", "--listen", "127.0.0.1:0"].map(ToOwned::to_owned);
        let mut scheduler = cluster.spawn("scheduler", &words)?;
        let output = scheduler.stdout.take().context("it has an output")?;
        cluster.push("scheduler".to_owned(), scheduler);
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let door: SocketAddr = line.trim().parse().context("where the scheduler listens")?;
        cluster.doors.push(door);
        let listener = TcpListener::bind("127.0.0.1:0")?;
        cluster.scheduler = listener.local_addr()?;
        cluster.recorder.forward(listener, door);
        for number in 0..2 {
            // Executors are reached by another address of this machine, where the recorder listens.
            let listener = TcpListener::bind("127.0.0.2:0")?;
            let door = SocketAddr::from(([127, 0, 0, 1], listener.local_addr()?.port()));
            cluster.recorder.forward(listener, door);
            let words = [
                "executor".to_owned(),
                "--scheduler".to_owned(),
                cluster.scheduler.to_string(),
                "--port".to_owned(),
                door.port().to_string(),
                "--advertise".to_owned(),
                "127.0.0.2".to_owned(),
                "--cores".to_owned(),
                "1".to_owned(),
                "--memory-limit".to_owned(),
                "200m".to_owned(),
                "--work-dir".to_owned(),
                "../home/work".to_owned(),
            ];
            let name = format!("executor {number}");
            let executor = cluster.spawn(&name, &words)?;
            cluster.push(name, executor);
            cluster.doors.push(door);
        }
        Ok(cluster)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(&self.root)
            .env("HOME", &self.home)
            .env_remove("XDG_CACHE_HOME")
            .env_remove("WEIR_CLUSTER")
            .env_remove("WEIR_CLUSTER_TOKEN")
            .stdin(Stdio::null());
        command
    }

    fn spawn(&self, name: &str, words: &[String]) -> Result<Child> {
        self.command()
            .arg("cluster")
            .args(words)
            .args(["--lost-after", "5s"])
            .args(&self.trust)
            .stdout(Stdio::piped())
            .stderr(fs::File::create(self.log(name))?)
            .spawn()
            .with_context(|| format!("cannot start {}", self.program.display()))
    }

    /// The file of what a process writes to its standard error.
    fn log(&self, name: &str) -> PathBuf {
        let kind = if self.trust.len() == 1 {
            "open"
        } else {
            "closed"
        };
        self.home.join(format!("{kind}-{name}.log"))
    }

    /// The number of panics whose texts its processes have written.
    fn panics(&self) -> usize {
        let logs = self.processes.iter().map(|process| {
            let log = fs::read_to_string(self.log(&process.name));
            log.unwrap_or_default().matches("panicked at").count()
        });
        logs.sum()
    }

    fn push(&mut self, name: String, child: Child) {
        self.processes.push(Process {
            name,
            child,
            bytes: 0,
            files: 0,
        });
    }

    /// The clock ticks for which its processes have computed so far.
    fn ticks(&self) -> u64 {
        let all = self.processes.iter();
        all.map(|process| ticks_of(process.child.id())).sum()
    }

    /// Starts a statement on the executors.
    fn begin(&self, sql: &str) -> Result<Child> {
        let scheduler = self.scheduler.to_string();
        let asked = self
            .command()
            .args(["query", "--cluster", &scheduler, "--format", "csv"])
            .args(&self.trust)
            .arg(sql)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        Ok(asked)
    }

    /// Interrupts a statement that executors are at work for.
    fn interrupt(&self, sql: &str) -> Result<()> {
        let before = self.ticks();
        let begun = Instant::now();
        let mut asked = self.begin(sql)?;
        while self.ticks() < before.saturating_add(WORK_TICKS) {
            if begun.elapsed() > ANSWER_WITHIN {
                asked.kill()?;
                asked.wait()?;
                bail!("{sql}: no executor is at work for it within {ANSWER_WITHIN:?}");
            }
            thread::sleep(Duration::from_millis(2));
        }
        let number = asked.id().to_string();
        Command::new("kill").args(["-INT", &number]).status()?;
        let output = asked.wait_with_output()?;
        match output.status.code() {
            Some(INTERRUPTED) => Ok(()),
            _ => bail!("{sql}: {}", String::from_utf8_lossy(&output.stderr)),
        }
    }

    /// Runs a statement on the executors.
    fn ask(&self, sql: &str) -> Result<Duration> {
        let begun = Instant::now();
        let mut asked = self.begin(sql)?;
        while asked.try_wait()?.is_none() {
            if begun.elapsed() > ANSWER_WITHIN {
                asked.kill()?;
                asked.wait()?;
                bail!("{sql}: no answer within {ANSWER_WITHIN:?}");
            }
            thread::sleep(Duration::from_millis(2));
        }
        let took = begun.elapsed();
        let output = asked.wait_with_output()?;
        match output.status.success() && !output.stdout.is_empty() {
            true => Ok(took),
            false => bail!("{sql}: {}", String::from_utf8_lossy(&output.stderr)),
        }
    }

    /// Whether statements are answered while connections and requests are held at all ports. Prints how long they took.
    fn answers_beside(&mut self, name: &str, hold: Hold) -> bool {
        let held: Vec<Held> = self
            .doors
            .iter()
            .enumerate()
            .map(|(place, door)| Held::open(hold, *door, place == 0))
            .collect();
        let mut waits: Vec<_> = (0..HELD_QUESTIONS)
            .filter_map(|_| self.ask(QUESTION).ok())
            .collect();
        drop(held);
        waits.sort_unstable();
        let seconds = |wait: Option<&Duration>| wait.map_or(f64::NAN, Duration::as_secs_f64);
        println!(
            "{name}: beside {} at each port {} of {HELD_QUESTIONS} answers, median {:.3} s, most {:.3} s",
            hold.name,
            waits.len(),
            seconds(waits.get(waits.len() / 2)),
            seconds(waits.last())
        );
        !waits.is_empty()
    }

    /// Runs a statement, and reads the memory in use and the number of open files.
    fn look(&mut self) {
        match self.ask(QUESTION) {
            Ok(took) => self.waits.push(took),
            Err(_) => self.unanswered += 1,
        }
        for process in &mut self.processes {
            let number = process.child.id();
            process.bytes = process.bytes.max(own_bytes(number));
            process.files = process.files.max(open_files(number));
        }
    }

    /// A process that has ended, and how.
    fn ended(&mut self) -> Option<String> {
        self.processes.iter_mut().find_map(|process| {
            let status = process.child.try_wait().ok()??;
            Some(format!("the {} ended: {status}", process.name))
        })
    }

    fn report(&mut self, name: &str) {
        self.waits.sort_unstable();
        let at = |place: usize| {
            self.waits
                .get(place)
                .map_or(f64::NAN, Duration::as_secs_f64)
        };
        println!(
            "{name}: {} answers meanwhile, median {:.3} s, most {:.3} s; {} without",
            self.waits.len(),
            at(self.waits.len() / 2),
            at(self.waits.len().saturating_sub(1)),
            self.unanswered
        );
        for process in &self.processes {
            println!(
                "    {:<12} {:>5} MiB and {:>4} open files at most, {:>4} at the end",
                process.name,
                process.bytes >> 20,
                process.files,
                open_files(process.child.id())
            );
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.child.kill();
            let _ = process.child.wait();
        }
    }
}

/// The clock ticks for which a process has computed: `utime` of proc(5), the fourteenth field.
fn ticks_of(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The second field is the name of the program in parentheses.
    let fields = status.rsplit_once(')').map_or("", |(_, fields)| fields);
    let utime = fields.split_whitespace().nth(11);
    utime
        .and_then(|ticks| ticks.parse().ok())
        .unwrap_or_default()
}

fn open_files(process: u32) -> usize {
    fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count)
}

/// Passes connections on, and keeps what their callers say.
#[derive(Clone, Default)]
struct Recorder {
    streams: Arc<Mutex<BTreeMap<u64, Vec<u8>>>>,
    is_over: Arc<AtomicBool>,
    connections: Arc<AtomicU64>,
}

impl Recorder {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Vec<u8>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stop(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn streams(&self) -> Vec<Vec<u8>> {
        self.lock().values().cloned().collect()
    }

    fn forward(&self, listener: TcpListener, to: SocketAddr) {
        let recorder = self.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (Ok(caller), Ok(called)) = (stream, TcpStream::connect(to)) else {
                    continue;
                };
                let number = recorder.connections.fetch_add(1, Ordering::Relaxed);
                if let (Ok(from), Ok(back)) = (caller.try_clone(), called.try_clone()) {
                    let recorder = recorder.clone();
                    thread::spawn(move || copy(from, called, |part| recorder.keep(number, part)));
                    thread::spawn(move || copy(back, caller, |_| {}));
                }
            }
        });
    }

    fn keep(&self, connection: u64, part: &[u8]) {
        if self.is_over.load(Ordering::Relaxed) {
            return;
        }
        let mut streams = self.lock();
        let stream = streams.entry(connection).or_default();
        if stream.len() + part.len() <= STREAM_MAX {
            stream.extend_from_slice(part);
        }
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, keep: impl Fn(&[u8])) {
    let mut part = vec![0; 1 << 16];
    while let Ok(count @ 1..) = from.read(&mut part) {
        let part = part.get(..count).unwrap_or_default();
        keep(part);
        if to.write_all(part).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// A stream with some changes: of its octets, or of its parts.
fn changed(random: &mut Rng, stream: &[u8]) -> Vec<u8> {
    let mut parts = parts(stream);
    for _ in 0..=random.below(3) {
        let place = usize::try_from(random.below(parts.len() as u64)).unwrap_or(0);
        match random.below(8) {
            // The content of a part changes, and its length field is corrected.
            0..=3 => change_part(random, &mut parts[place]),
            4 => {
                let again = parts[place].clone();
                parts.insert(place, again);
            }
            5 if parts.len() > 1 => drop(parts.remove(place)),
            6 => {
                let other = usize::try_from(random.below(parts.len() as u64)).unwrap_or(0);
                parts.swap(place, other);
            }
            _ => {
                let mut octets = parts.concat();
                mutate::bytes(random, &mut octets);
                return octets;
            }
        }
    }
    parts.concat()
}

/// The preface and the frames of HTTP/2 (RFC 9113, 4.1), or the records of TLS (RFC 8446, 5.1).
fn parts(stream: &[u8]) -> Vec<Vec<u8>> {
    let (mut parts, mut rest) = match stream.split_at_checked(PREFACE.len()) {
        Some((first, rest)) if first == PREFACE => (vec![first.to_vec()], rest),
        _ => (Vec::new(), stream),
    };
    while !rest.is_empty() {
        let len = head_len(rest) + body_len(rest);
        let (part, behind) = rest.split_at(len.min(rest.len()));
        parts.push(part.to_vec());
        rest = behind;
    }
    parts
}

fn is_tls(part: &[u8]) -> bool {
    matches!(part, [20..=23, 3, ..])
}

fn head_len(part: &[u8]) -> usize {
    if is_tls(part) { 5 } else { 9 }
}

fn body_len(part: &[u8]) -> usize {
    match part {
        [20..=23, 3, _, high, low, ..] => usize::from(u16::from_be_bytes([*high, *low])),
        [high, middle, low, ..] => {
            usize::try_from(u32::from_be_bytes([0, *high, *middle, *low])).unwrap_or(0)
        }
        _ => 0,
    }
}

/// Changes the content of a frame or record and corrects its length. A gRPC message within a data frame also keeps a correct
/// length.
fn change_part(random: &mut Rng, part: &mut Vec<u8>) {
    let is_tls = is_tls(part);
    let head = head_len(part);
    if part.len() <= head || part.starts_with(PREFACE) {
        mutate::bytes(random, part);
        return;
    }
    let mut body = part.split_off(head);
    let is_message = !is_tls && part.get(3) == Some(&0) && body.len() > 5;
    if is_message && random.percent(80) {
        let mut message = body.split_off(5);
        mutate::bytes(random, &mut message);
        let len = u32::try_from(message.len())
            .unwrap_or(u32::MAX)
            .to_be_bytes();
        body.splice(1.., len);
        body.extend(message);
    } else {
        mutate::bytes(random, &mut body);
    }
    let len = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes();
    match is_tls {
        true => drop(part.splice(3..5, len.into_iter().skip(2))),
        false => drop(part.splice(..3, len.into_iter().skip(1))),
    }
    part.append(&mut body);
}

/// Sends octets to a port, and reads what comes back for a while. Some connections stay half open.
fn send(door: SocketAddr, octets: &[u8], random: &mut Rng, half_open: &mut Vec<TcpStream>) {
    let Ok(mut stream) = TcpStream::connect_timeout(&door, Duration::from_secs(2)) else {
        return;
    };
    let _ = stream.set_write_timeout(Some(Duration::from_millis(500)));
    let _ = stream.set_read_timeout(Some(Duration::from_millis(100)));
    let _ = stream.write_all(octets);
    if random.percent(20) {
        half_open.push(stream);
        if half_open.len() > HALF_OPEN_MAX {
            half_open.remove(0);
        }
        return;
    }
    let mut answer = [0; 4096];
    let until = Instant::now() + Duration::from_millis(300);
    while Instant::now() < until && matches!(stream.read(&mut answer), Ok(1..)) {}
}

/// The statements whose messages are recorded and changed.
const STATEMENTS: &[&str] = &[
    "SELECT count(*) FROM 'office.pcapng'",
    "SELECT ip.src, count(*), sum(frame.len) FROM ['office.pcapng', 'voip.pcap'] GROUP BY 1 ORDER BY 1",
    "SELECT frame.number, ip.src FROM 'voip.pcap' WHERE frame.len BETWEEN 100 AND 200",
    "SELECT sip.method, count(*) FROM sip('voip.pcap') GROUP BY 1",
    "SELECT s, n, m, rank() OVER (ORDER BY n) FROM (SELECT ip.src AS s, count(*) AS n FROM 'office.pcapng' GROUP BY 1) \
     LEFT JOIN (SELECT ip.dst AS d, median(frame.len) AS m FROM 'voip.pcap' GROUP BY 1) ON s = d ORDER BY n DESC, s LIMIT 3",
    "SELECT x, count(*) FROM (SELECT frame.len AS x FROM 'voip.pcap' UNION ALL SELECT 2) GROUP BY 1",
];
/// A statement that takes long, and that is interrupted.
const LONG: &str = "SELECT sum(length(regexp_replace(CAST(a.frame.len + b.frame.len AS text), '[0-9]', 'x', 'g'))) \
                    FROM 'office.pcapng' a, 'office.pcapng' b";
/// Clock ticks of the cluster's processes (mostly a hundredth of a second) that planning it does not take: its tasks run.
const WORK_TICKS: u64 = 100;
/// The exit status of a statement that was interrupted.
const INTERRUPTED: i32 = 130;
/// The statement whose answers are timed meanwhile.
const QUESTION: &str = "SELECT count(*) FROM 'voip.pcap'";
/// The number of answers that are timed beside what is held.
const HELD_QUESTIONS: usize = 5;
const ANSWER_WITHIN: Duration = Duration::from_secs(20);
/// The number of statements that may fail after the attack has ended.
const RECOVERY: u32 = 10;
/// Connections at once.
const SENDERS: u64 = 8;
/// Connections of each sender that stay half open.
const HALF_OPEN_MAX: usize = 40;
/// Octets of a stream that are kept.
const STREAM_MAX: usize = 256 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
        let len = u8::try_from(body.len()).unwrap();
        [&[0, 0, len, kind, 0, 0, 0, 0, 1], body].concat()
    }

    #[test]
    fn a_stream_falls_into_its_frames_and_records() {
        let frames = [
            PREFACE.to_vec(),
            frame(4, b""),
            frame(1, b"head"),
            frame(0, b"\0\0\0\0\x03abc"),
        ];
        assert_eq!(parts(&frames.concat()), frames);
        let records = [vec![22, 3, 1, 0, 2, 1, 2], vec![20, 3, 3, 0, 1, 1]];
        assert_eq!(parts(&records.concat()), records);
        // A truncated record is a part of its own.
        assert_eq!(parts(&[22, 3, 1, 0, 9, 1]), [[22, 3, 1, 0, 9, 1]]);
        assert_eq!(parts(&[0]), [[0]]);
    }

    #[test]
    fn changed_parts_say_how_long_they_are() {
        let mut random = Rng::new(1);
        for seed in [
            frame(0, b"\0\0\0\0\x03abc"),
            frame(1, b"head"),
            vec![22, 3, 1, 0, 2, 1, 2],
        ] {
            for _ in 0..500 {
                let mut part = seed.clone();
                change_part(&mut random, &mut part);
                assert_eq!(part.len(), head_len(&part) + body_len(&part), "{part:?}");
            }
        }
    }

    #[test]
    fn a_seed_gives_the_same_changes() {
        let stream = [PREFACE.to_vec(), frame(4, b""), frame(1, b"head")].concat();
        let all = |seed| {
            let mut random = Rng::new(seed);
            (0..50)
                .map(|_| changed(&mut random, &stream))
                .collect::<Vec<_>>()
        };
        assert_eq!(all(3), all(3));
        assert_ne!(all(3), all(4));
    }
}
