//! `cargo xtask bench hostile`: sends changed messages and statements to every port of `weir serve` for a chosen time; with
//! `--cluster` to those of `weir cluster` ([`cluster`]).
//!
//! A read-only server over the demo's captures gets first messages, later messages and statements, each changed by a seeded
//! generator. Meanwhile another client sends `SELECT 1`. The report says whether the server ended, how long that client
//! waited, how much memory the server and the processes of its statements took, and whether a file was changed.

mod cluster;
mod held;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use weir_testkit::{Rng, demo, mutate};

use crate::workspace::{FULL, cargo, target_dir};

/// Runs it with the words of the command line.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let options = HostileArgs::of(words)?;
    let program = match &options.program {
        Some(program) => program.clone(),
        None => {
            let mut build = cargo(&["build", "--release", "--package", "weir-cli"])?;
            crate::process::run(build.args(FULL))?;
            target_dir()?.join("release/weir")
        }
    };
    let folder = std::env::temp_dir().join(format!("weir-hostile-{}", std::process::id()));
    let root = folder.join("root");
    fs::create_dir_all(&root)?;
    let outcome = demo::write_demo(&root)
        .map_err(anyhow::Error::from)
        .and_then(|_| match options.is_cluster {
            true => cluster::attack(&program, &root, &options),
            false => attack(&program, &root, &options),
        });
    fs::remove_dir_all(&folder)?;
    outcome
}

/// The arguments of the command.
#[derive(Debug)]
struct HostileArgs {
    messages: u64,
    time: Option<Duration>,
    seed: u64,
    program: Option<PathBuf>,
    is_cluster: bool,
}

impl HostileArgs {
    fn of(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            messages: 100_000,
            time: None,
            seed: 1,
            program: None,
            is_cluster: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if *word == "--cluster" {
                options.is_cluster = true;
                continue;
            }
            let value = words
                .next()
                .with_context(|| format!("{word} takes a value"))?;
            let number = || {
                value
                    .parse::<u64>()
                    .with_context(|| format!("{word} {value}"))
            };
            match *word {
                "--messages" => options.messages = number()?,
                "--minutes" => options.time = Some(Duration::from_secs(60 * number()?)),
                "--seed" => options.seed = number()?,
                "--program" => options.program = Some(PathBuf::from(value)),
                _ => bail!("--cluster, --messages N, --minutes M, --seed S, --program FILE"),
            }
        }
        Ok(options)
    }
}

/// A server, which ends with this.
struct Served {
    child: Child,
    postgres: String,
    http: String,
    flight: String,
}

impl Served {
    fn start(program: &Path, root: &Path) -> Result<Self> {
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"])
            .args(["--flight", "127.0.0.1:0", "--max-queries", "4"])
            .args(["--max-time", "5s", "--memory-limit", MEMORY_LIMIT, "--root"])
            .arg(root)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let output = child.stdout.take().context("it has an output")?;
        let mut lines = BufReader::new(output).lines();
        let mut door = || -> Result<String> {
            let line = lines.next().context("the server names its doors")??;
            let address = line.split("://").nth(1).unwrap_or_default();
            Ok(address.split('/').next().unwrap_or_default().to_owned())
        };
        let (postgres, http, flight) = (door()?, door()?, door()?);
        Ok(Self {
            child,
            postgres,
            http,
            flight,
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The observations during the attack.
#[derive(Debug, Default)]
struct Observed {
    sent: AtomicU64,
    /// The times that another client waited for `SELECT 1`.
    waits: Mutex<Vec<Duration>>,
    unanswered: AtomicU64,
    own_bytes: AtomicU64,
    all_bytes: AtomicU64,
}

fn attack(program: &Path, folder: &Path, options: &HostileArgs) -> Result<()> {
    let before = below(folder)?;
    let mut served = Served::start(program, folder)?;
    let seen = Observed::default();
    let begun = Instant::now();
    let is_over = || {
        let sent = seen.sent.load(Ordering::Relaxed);
        match options.time {
            Some(time) => begun.elapsed() >= time,
            None => sent >= options.messages,
        }
    };
    let died = thread::scope(|scope| {
        for number in 0..SENDERS {
            let (served, seen) = (&served, &seen);
            let mut random = Rng::new(options.seed.wrapping_add(number << 32));
            scope.spawn(move || {
                while !is_over() {
                    send(served, &mut random);
                    seen.sent.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let mut misses = 0;
        while !is_over() && misses < MISSES_MAX {
            thread::sleep(Duration::from_millis(200));
            misses = match look(&served, &seen) {
                true => 0,
                false => misses + 1,
            };
        }
        if misses < MISSES_MAX {
            return false;
        }
        // The large number also stops the senders, because the server is gone.
        seen.sent.store(u64::MAX / 2, Ordering::Relaxed);
        true
    });
    let status = served.child.try_wait()?;
    print_seen(&seen, &served, begun.elapsed());
    if let Some(status) = status {
        bail!("the server ended: {status}");
    }
    if died {
        bail!("the server does not answer any more");
    }
    if below(folder)? != before {
        bail!("files below the root were changed");
    }
    Ok(())
}

fn print_seen(seen: &Observed, served: &Served, elapsed: Duration) {
    let mut waits = std::mem::take(
        &mut *seen
            .waits
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner),
    );
    waits.sort_unstable();
    let wait = |part: usize| {
        let place = waits.len().saturating_sub(1) * part / 1000;
        waits.get(place).map_or(f64::NAN, Duration::as_secs_f64)
    };
    let mib = |bytes: &AtomicU64| bytes.load(Ordering::Relaxed) >> 20;
    println!("messages            {}", seen.sent.load(Ordering::Relaxed));
    println!("seconds             {:.0}", elapsed.as_secs_f64());
    println!(
        "SELECT 1 meanwhile  {} times: median {:.3} s, 999 of 1,000 {:.3} s, most {:.3} s",
        waits.len(),
        wait(500),
        wait(999),
        wait(1000)
    );
    println!(
        "not answered        {}",
        seen.unanswered.load(Ordering::Relaxed)
    );
    println!(
        "memory of its own   {} MiB at most, of the server",
        mib(&seen.own_bytes)
    );
    println!(
        "                    {} MiB at most, with its processes (limit {MEMORY_LIMIT})",
        mib(&seen.all_bytes)
    );
    for (name, value) in metrics(served) {
        println!("{name:<35} {value}");
    }
}

/// Runs `SELECT 1` and reads the memory in use; false when there was no answer.
fn look(served: &Served, seen: &Observed) -> bool {
    let asked = Instant::now();
    let is_answered = request(&served.http, "SELECT 1", Duration::from_secs(20))
        .is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"));
    match is_answered {
        true => {
            let waits = seen.waits.lock();
            let mut waits = waits.unwrap_or_else(std::sync::PoisonError::into_inner);
            waits.push(asked.elapsed());
        }
        false => drop(seen.unanswered.fetch_add(1, Ordering::Relaxed)),
    }
    let own = own_bytes(served.child.id());
    let processes = children(served.child.id());
    let all = processes
        .into_iter()
        .map(own_bytes)
        .fold(own, u64::saturating_add);
    seen.own_bytes.fetch_max(own, Ordering::Relaxed);
    seen.all_bytes.fetch_max(all, Ordering::Relaxed);
    is_answered
}

/// Memory that no other process has, where the system tells.
fn own_bytes(process: u32) -> u64 {
    let pages = fs::read_to_string(format!("/proc/{process}/statm")).unwrap_or_default();
    let mut pages = pages
        .split(' ')
        .skip(1)
        .map(|pages| pages.parse().unwrap_or(0_u64));
    let (resident, shared) = (pages.next().unwrap_or(0), pages.next().unwrap_or(0));
    resident.saturating_sub(shared) * 4096
}

fn children(process: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task"))
        .into_iter()
        .flatten()
        .flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let all: String = lists.collect::<Vec<_>>().join(" ");
    all.split_whitespace()
        .filter_map(|number| number.parse().ok())
        .collect()
}

fn metrics(served: &Served) -> BTreeMap<String, String> {
    let text = exchange(
        &served.http,
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        Duration::from_secs(5),
    );
    let text = text.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let lines = text.lines().filter(|line| line.starts_with("weir_"));
    let pairs = lines.filter_map(|line| line.split_once(' '));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Files and folders below a folder, with what is in the files.
fn below(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path.clone());
                all.insert(path, Vec::new());
            } else {
                let bytes = fs::read(&path)?;
                all.insert(path, bytes);
            }
        }
    }
    Ok(all)
}

/// Sends one changed message to one of the doors.
fn send(served: &Served, random: &mut Rng) {
    let short = Duration::from_millis(300);
    let long = Duration::from_secs(10);
    // Replies are ignored here; the other client checks that the server still answers.
    let _ = match random.below(8) {
        0 => exchange(&served.postgres, &changed(random, STARTUPS), short),
        1 => exchange(&served.http, &changed(random, REQUESTS), short),
        2 => exchange(&served.flight, &changed(random, PREFACES), short),
        3 => {
            let mut messages = STARTUPS[0].to_vec();
            messages.extend(changed(random, MESSAGES));
            exchange(&served.postgres, &messages, short)
        }
        4 => {
            let sql = statement(random);
            let mut messages = STARTUPS[0].to_vec();
            messages.extend(prepared(&sql, random.percent(50)));
            exchange(&served.postgres, &messages, long)
        }
        5 => {
            let mut messages = STARTUPS[0].to_vec();
            messages.extend(message(b'Q', statement(random).as_bytes(), true));
            messages.extend(message(b'X', &[], false));
            exchange(&served.postgres, &messages, long)
        }
        _ => request(&served.http, &statement(random), long).map(String::into_bytes),
    };
}

/// Sends octets to a door, and reads what comes back for a while.
fn exchange(door: &str, octets: &[u8], wait: Duration) -> Result<Vec<u8>> {
    let mut socket = TcpStream::connect(door)?;
    socket.set_write_timeout(Some(wait))?;
    let until = Instant::now() + wait;
    socket.write_all(octets)?;
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while answer.len() < ANSWER_MAX {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        socket.set_read_timeout(Some(left))?;
        match socket.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(read) => answer.extend_from_slice(&piece[..read]),
        }
    }
    Ok(answer)
}

fn request(door: &str, sql: &str, wait: Duration) -> Result<String> {
    let head = "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sql\r\nConnection: close";
    let request = format!("{head}\r\nContent-Length: {}\r\n\r\n{sql}", sql.len());
    let answer = exchange(door, request.as_bytes(), wait)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn changed(random: &mut Rng, of: &[&[u8]]) -> Vec<u8> {
    let mut octets = random.pick(of).to_vec();
    for _ in 0..random.below(4) {
        mutate::bytes(random, &mut octets);
    }
    octets
}

/// A message of PostgreSQL's protocol.
fn message(kind: u8, body: &[u8], is_text: bool) -> Vec<u8> {
    let mut octets = vec![kind];
    let len = u32::try_from(body.len() + 4 + usize::from(is_text)).unwrap_or(u32::MAX);
    octets.extend(len.to_be_bytes());
    octets.extend(body);
    if is_text {
        octets.push(0);
    }
    octets
}

/// A statement that is prepared, described, bound and executed.
fn prepared(sql: &str, is_executed: bool) -> Vec<u8> {
    let parse = [b"\0", sql.as_bytes(), b"\0\0\0"].concat();
    let mut octets = message(b'P', &parse, false);
    octets.extend(message(b'D', b"S\0", false));
    if is_executed {
        octets.extend(message(b'B', b"\0\0\0\0\0\0\0\0", false));
        octets.extend(message(b'E', b"\0\0\0\0\0", false));
    }
    octets.extend(message(b'S', &[], false));
    octets.extend(message(b'X', &[], false));
    octets
}

/// A statement: one of the list, a changed one, or one that is deeply nested, long or expensive.
fn statement(random: &mut Rng) -> String {
    let number = |random: &mut Rng| {
        let powers = [10, 1_000, 100_000, 10_000_000, 4_000_000_000, u64::MAX];
        random.pick(&powers).wrapping_sub(random.below(3))
    };
    match random.below(6) {
        0 => (*random.pick(STATEMENTS)).to_owned(),
        1 => {
            let mut octets = random.pick(STATEMENTS).as_bytes().to_vec();
            for _ in 0..random.between(1, 6) {
                mutate::bytes(random, &mut octets);
            }
            String::from_utf8_lossy(&octets).into_owned()
        }
        2 => {
            let (before, middle, after) = *random.pick(NESTS);
            let depth = usize::try_from(random.between(1, 30_000)).unwrap_or(1);
            format!(
                "SELECT {}{middle}{}",
                before.repeat(depth),
                after.repeat(depth)
            )
        }
        3 => {
            let (one, other) = (number(random), number(random));
            let shape = random.pick(LARGE);
            shape
                .replace("{one}", &one.to_string())
                .replace("{other}", &other.to_string())
        }
        4 => {
            // The statement stands within others.
            let (one, other) = (*random.pick(STATEMENTS), *random.pick(STATEMENTS));
            match random.below(4) {
                0 => format!("WITH x AS ({one}) {other}"),
                1 => format!("SELECT * FROM ({one}) a CROSS JOIN ({other}) b"),
                2 => format!("{one} UNION ALL {other}"),
                _ => format!("EXPLAIN ANALYZE SELECT count(*) FROM ({one})"),
            }
        }
        _ => {
            let words: Vec<&str> = STATEMENTS.iter().flat_map(|one| one.split(' ')).collect();
            let count = random.between(1, 60);
            let words = (0..count).map(|_| *random.pick(&words));
            words.collect::<Vec<_>>().join(" ")
        }
    }
}

/// First messages of PostgreSQL's protocol: a beginning, the request for TLS, a cancel, a password, SASL.
const STARTUPS: &[&[u8]] = &[
    b"\0\0\0\x11\0\x03\0\0user\0me\0\0",
    b"\0\0\0\x08\x04\xd2\x16\x2f",
    b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\x01\0\0\0\x01",
    b"\0\0\0\x11\0\x03\0\0user\0me\0\0p\0\0\0\x0aright\0",
    b"\0\0\0\x11\0\x03\0\0user\0me\0\0p\0\0\0\x26SCRAM-SHA-256\0\0\0\0\x10n,,n=,r=abcdefgh",
];

/// Messages behind the first.
const MESSAGES: &[&[u8]] = &[
    b"Q\0\0\0\x0dSELECT 1\0",
    b"P\0\0\0\x12\0SELECT $1\0\0\x01\0\0\0\x17",
    b"P\0\0\0\x10\0SELECT 1\0\0\0B\0\0\0\x0c\0\0\0\0\0\0\0\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04",
    b"D\0\0\0\x06S\0C\0\0\0\x06P\0H\0\0\0\x04",
    b"d\0\0\0\x08abcdc\0\0\0\x04f\0\0\0\x05\0",
    b"F\0\0\0\x10\0\0\0\x01\0\0\0\0\0\0",
];

/// Requests of HTTP.
const REQUESTS: &[&[u8]] = &[
    b"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 41\r\n\r\n{\"sql\":\"SELECT $1\",\"params\":[1],\"limit\":1}",
    b"POST /query?format=csv HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 8\r\n\r\nSELECT 1",
    b"GET /query/x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"DELETE /query/x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /packet?path=office.pcapng&number=1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /ladder?path=voip.pcap&call_id=x&format=svg HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST /upload?name=x.pcap HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
];

/// First octets of HTTP/2, with settings and the head of a call.
const PREFACES: &[&[u8]] = &[
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\xff\xff\0\0\x04\x08\0\0\0\0\0\0\xff\0\0",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\x04\x01\x05\0\0\0\x01\x83\x86\x84\x87",
];

/// Statements that are answered, are refused, take long or take much.
const STATEMENTS: &[&str] = &[
    "SELECT 1",
    "SELECT count(*) FROM 'office.pcapng'",
    "SELECT * FROM 'office.pcapng' WHERE frame.number < 5",
    "FROM 'office.pcapng' |> WHERE tcp.flags.syn |> AGGREGATE count(*) GROUP BY ip.src |> ORDER BY 2 DESC |> LIMIT 3",
    "SELECT dns.qry.name, count(*) FROM dns('office.pcapng') GROUP BY 1",
    "SELECT * FROM flows('office.pcapng') ORDER BY flow.bytes DESC LIMIT 3",
    "SELECT ip.src, array_agg(DISTINCT tcp.dstport) FROM 'office.pcapng' GROUP BY 1",
    "SELECT relname FROM pg_catalog.pg_class WHERE relname LIKE '%pcap%'",
    "SELECT * FROM information_schema.columns",
    "SELECT array_agg(value) OVER (ORDER BY value) FROM generate_series(1, 1000000)",
    "SELECT a.value, b.value FROM generate_series(1, 1000000) a CROSS JOIN generate_series(1, 1000000) b",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r",
    "CREATE VIEW v AS SELECT 1 AS a; SELECT a FROM v",
    "PREPARE p AS SELECT $1 + 1; EXECUTE p(1)",
    "SET TIME ZONE 'Europe/Berlin'; SELECT max(frame.time) FROM 'office.pcapng'",
    "BEGIN; DECLARE c CURSOR FOR SELECT * FROM generate_series(1, 100000); FETCH 10 FROM c; COMMIT",
    "COPY (SELECT * FROM 'office.pcapng') TO 'evil.pcap'",
    "COPY (SELECT 1) TO STDOUT",
    "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
    "INSERT INTO 'office.pcapng' VALUES (1)",
    "SELECT * FROM '../../../../etc/passwd'",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM 'http://127.0.0.1:1/x.pcap'",
    "EXPLAIN ANALYZE SELECT count(*) FROM 'office.pcapng'",
    "SHOW ALL",
    "DESCRIBE 'office.pcapng'",
];

/// Nested constructs: the repeated prefix, the core, the repeated suffix.
const NESTS: &[(&str, &str, &str)] = &[
    ("(", "1", ")"),
    ("CASE WHEN true THEN ", "1", " END"),
    ("NOT ", "true", ""),
    ("[", "1", "]"),
    ("(SELECT ", "1", ")"),
    ("abs(", "1", ")"),
    ("1 + ", "1", ""),
    ("true AND ", "true", ""),
    ("- ", "1", ""),
    ("CAST(", "1", " AS INT)"),
    ("1 AS a UNION ALL SELECT ", "1", ""),
    ("", "* FROM 'x", "/**"),
];

/// Statements whose cost grows with their numbers.
const LARGE: &[&str] = &[
    "SELECT repeat('x', {one})",
    "SELECT length(lpad('x', {one}, repeat('y', {other})))",
    "SELECT array_resize([1], {one}, {other})",
    "SELECT range(1, {one})",
    "SELECT count(*) FROM generate_series(1, {one})",
    "SELECT approx_percentile_cont(value, 0.5, {one}) FROM generate_series(1, 10)",
    "SELECT sum(value) OVER (ROWS BETWEEN {one} PRECEDING AND {other} FOLLOWING) FROM generate_series(1, 100000)",
    "SELECT lag(value, {one}) OVER () FROM generate_series(1, 10)",
    "SELECT ntile({one}) OVER () FROM generate_series(1, 10)",
    "SELECT string_agg(repeat('x', {one}), ',') FROM generate_series(1, {other})",
    "SELECT count(*) FROM (SELECT array_agg(value) AS a FROM generate_series(1, {one})) CROSS JOIN generate_series(1, {other}) WHERE a[1] = 2",
    "SELECT max(repeat(value, {one})) OVER () FROM generate_series(1, {other})",
    "SELECT * FROM generate_series(1, {one}) a(x) JOIN generate_series(1, {other}) b(y) ON x % 7 = y % 7",
    "SELECT ${one}",
    "SELECT 1 LIMIT {one} OFFSET {other}",
    "SELECT arrow_cast(X'00', 'FixedSizeBinary({one})')",
    "SELECT array_repeat(array_repeat('x', {one}), {other})",
    "SELECT count(DISTINCT value * {one}) FROM generate_series(1, {other})",
];

/// The memory limit of the server, beside which the report shows the memory of its processes.
const MEMORY_LIMIT: &str = "300m";
/// Connections at once.
const SENDERS: u64 = 8;
/// Requests without an answer after which the server counts as gone.
const MISSES_MAX: u32 = 10;
/// Octets of an answer that are read.
const ANSWER_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_statements() {
        let statements = |seed| {
            let mut random = Rng::new(seed);
            (0..200).map(|_| statement(&mut random)).collect::<Vec<_>>()
        };
        assert_eq!(statements(7), statements(7));
        assert_ne!(statements(7), statements(8));
    }

    #[test]
    fn options_are_read() {
        let options = HostileArgs::of(&["--messages", "10", "--seed", "3"]).unwrap();
        assert_eq!((options.messages, options.seed), (10, 3));
        assert!(!options.is_cluster);
        let options = HostileArgs::of(&["--cluster", "--messages", "7"]).unwrap();
        assert_eq!((options.messages, options.is_cluster), (7, true));
        assert!(HostileArgs::of(&["--messages"]).is_err());
        assert!(HostileArgs::of(&["--message", "1"]).is_err());
    }
}
