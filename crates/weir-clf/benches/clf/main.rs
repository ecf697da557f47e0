//! Writing, searching, indexing and converting a million records, beside the peers of the seed.
//!
//!     cargo bench -p weir-clf --bench clf [-- RECORDS]
//!
//! Each figure is the median of alternating runs, page cache warm. Lines that begin with `@` are
//! comparisons: name, ours, the peer's, the peer's name, unit. The plain text writer formats the line
//! of draft-gurbani-01 into a buffer of 1 MiB and writes it when it is full. The figures of the files
//! under a temporary folder, `TMPDIR`.
#![allow(clippy::unwrap_used, reason = "a benchmark may panic")]

mod cost;
mod drafts;
mod lookup;

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use weir_clf::{
    Condition, Encoder, Field, Form, Query, Record, SearchOptions, Searcher, Segment, Target, Test,
    Time, Writer, WriterOptions, index, rfc6873, sidecar_path,
};
use weir_testkit::Rng;

/// The bytes of a record's fields, in one piece, so that making them costs next to nothing.
struct Calls {
    text: Vec<u8>,
    ends: Vec<[u32; Field::COUNT]>,
}

impl Calls {
    /// Calls of seven messages, a few hundred at a time.
    fn new(records: usize) -> Self {
        let mut rng = Rng::new(6873);
        let mut calls = Self {
            text: Vec::new(),
            ends: Vec::with_capacity(records),
        };
        let mut open: Vec<(u64, u64, usize)> = Vec::new();
        while calls.ends.len() < records {
            if open.len() < 300 {
                open.push((rng.next_u64(), rng.next_u64(), 0));
            }
            let at = rng.below(open.len() as u64) as usize;
            let (call, user, step) = open[at];
            calls.push(call, user, step);
            open[at].2 += 1;
            if step == 6 {
                open.swap_remove(at);
            }
        }
        calls
    }

    fn push(&mut self, call: u64, user: u64, step: usize) {
        const STEPS: [(&str, &str); 7] = [
            ("1 INVITE", "-"),
            ("1 INVITE", "100"),
            ("1 INVITE", "180"),
            ("1 INVITE", "200"),
            ("1 ACK", "-"),
            ("2 BYE", "-"),
            ("2 BYE", "200"),
        ];
        let (from, to) = (user % 50_000, user >> 32 & 0xf_ffff);
        let (cseq, status) = STEPS[step];
        let fields = [
            cseq.to_owned(),
            status.to_owned(),
            if status == "-" {
                format!("sip:+49{to:08}@sbc.example.net")
            } else {
                "-".into()
            },
            "192.0.2.200:5060".into(),
            "198.51.100.10:56485".into(),
            format!("sip:+49{to:08}@sbc.example.net"),
            if step == 0 {
                "-".into()
            } else {
                format!("{:08x}", call >> 40)
            },
            format!("sip:user{from:05}@pbx.example.com"),
            format!("DL{:08x}", call & 0xffff_ffff),
            format!("DL{call:016x}-10790515@198.51.100.10"),
            format!("z9hG4bK{:08x}", call >> 13 & 0xffff_ffff),
            format!("z9hG4bK{:08x}", call >> 19 & 0xffff_ffff),
        ];
        let ends = fields.map(|field| {
            self.text.extend_from_slice(field.as_bytes());
            self.text.len() as u32
        });
        self.ends.push(ends);
    }

    fn each(&self, mut each: impl FnMut(&Record<'_>)) {
        let mut start = 0;
        for (place, ends) in self.ends.iter().enumerate() {
            let mut record = Record {
                time: Time {
                    seconds: 1_328_821_153 + place as u64 / 2000,
                    nanoseconds: (place as u32 / 2 % 1000) * 1_000_000,
                },
                flags: weir_clf::Flags::from_letters(*b"RORUU").unwrap(),
                ..Record::default()
            };
            for (field, &end) in record.fields.iter_mut().zip(ends) {
                *field = &self.text[start..end as usize];
                start = end as usize;
            }
            record.flags.response = record.fields[1] != b"-";
            each(&record);
        }
    }
}

/// Returns the seconds of wall clock that `work` takes.
fn time(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_secs_f64()
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// Returns the medians of several measurements that take turns.
fn alternate<const N: usize>(rounds: usize, mut work: [&mut dyn FnMut() -> f64; N]) -> [f64; N] {
    let mut all: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..rounds {
        for (seconds, work) in all.iter_mut().zip(&mut work) {
            seconds.push(work());
        }
    }
    all.map(median)
}

fn report(name: &str, ours: f64, peer: f64, peer_name: &str, unit: &str) {
    println!("@{name}\t{ours}\t{peer}\t{peer_name}\t{unit}");
}

fn command(name: &str, arguments: &[&str]) -> f64 {
    let begin = Instant::now();
    let status = Command::new(name)
        .args(arguments)
        .env("LC_ALL", "C")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let seconds = begin.elapsed().as_secs_f64();
    if status.is_ok() { seconds } else { f64::NAN }
}

/// Returns whether a command exits with status 0.
fn succeeds(name: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(name);
    let status = command.args(arguments).stdout(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn is_installed(name: &str) -> bool {
    let found = Command::new(name)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if found.is_err() {
        println!("{name} is not installed: left out");
    }
    found.is_ok()
}

fn main() {
    let records = std::env::args()
        .skip(1)
        .find_map(|word| word.parse().ok())
        .unwrap_or(1_000_000);
    let folder = tempfile::tempdir().unwrap();
    let calls = Calls::new(records);
    let log = folder.path().join("calls.clf");
    let words: Vec<String> = std::env::args().collect();
    if let Some(place) = words.iter().position(|word| word == "cost") {
        let name = words.get(place + 1).filter(|word| !word.starts_with("--"));
        let rounds = words.get(place + 2).and_then(|word| word.parse().ok());
        return cost::run(
            &calls,
            folder.path(),
            name.map(String::as_str),
            rounds.unwrap_or(7),
        );
    }
    println!("{records} records, median of alternating runs");
    format_alone(&calls);
    write(&calls, folder.path(), &log);
    drafts::write(&calls, folder.path());
    lookup::in_process(&log, &calls);
    lookup::as_command(&log, &calls);
    scan(&log, &calls);
    build(&log);
    drafts::walk(&calls, folder.path(), &log);
    drafts::convert(&calls, folder.path());
    if records >= 500_000 {
        sqlite(&log, folder.path());
    }
}

fn format_alone(calls: &Calls) {
    let count = calls.ends.len() as f64;
    let mut text_bytes = 0;
    let mut encode = |form: Form| {
        let mut encoder = Encoder::new(form);
        let seconds = time(|| {
            calls.each(|record| {
                encoder.push(record);
                if encoder.bytes().len() > 64 << 10 {
                    text_bytes += black_box(encoder.bytes()).len();
                    encoder.clear();
                }
            });
        });
        seconds / count * 1e9
    };
    let mut binary = Vec::new();
    let mut ours = Vec::new();
    for _ in 0..9 {
        ours.push(encode(Form::Rfc6873));
        binary.push(encode(Form::Binary));
    }
    let mut out = vec![0_u8; 64 << 10];
    let source = vec![1_u8; 314];
    let copy = (0..9).map(|_| {
        time(|| {
            for place in 0..calls.ends.len() {
                let at = place % 200 * 314;
                out[at..at + 314].copy_from_slice(black_box(&source));
            }
        }) / count
            * 1e9
    });
    let (ours, copy) = (median(ours), median(copy.collect()));
    report(
        "format RFC 6873, a record",
        ours,
        225.0,
        "the best of the study (another run)",
        "ns",
    );
    report(
        "format RFC 6873, a record",
        ours,
        copy,
        "memcpy of 314 bytes",
        "ns",
    );
    report(
        "format draft binary, a record",
        median(binary),
        169.0,
        "the best of the study (another run)",
        "ns",
    );
}

/// Formats the line of draft-gurbani-01, as a careful programmer would.
fn text_line(record: &Record<'_>, second: &mut (u64, String), out: &mut Vec<u8>) {
    if second.0 != record.time.seconds {
        *second = (record.time.seconds, record.time.seconds.to_string());
    }
    out.extend_from_slice(second.1.as_bytes());
    let method = record.method().unwrap();
    for value in [
        record.field(Field::Source),
        b"-",
        method,
        record.field(Field::RequestUri),
        record.field(Field::FromUri),
    ] {
        out.push(b' ');
        out.extend_from_slice(value);
    }
    out.extend_from_slice(b";tag=");
    out.extend_from_slice(record.field(Field::FromTag));
    out.push(b' ');
    out.extend_from_slice(record.field(Field::ToUri));
    if record.field(Field::ToTag) != b"-" {
        out.extend_from_slice(b";tag=");
        out.extend_from_slice(record.field(Field::ToTag));
    }
    out.push(b' ');
    out.extend_from_slice(record.field(Field::CallId));
    out.extend_from_slice(b" \"<sip:user@198.51.100.10:56485>\"");
    for field in [Field::ServerTxn, Field::ClientTxn] {
        out.push(b' ');
        out.extend_from_slice(record.field(field));
    }
    out.extend_from_slice(b"\r\n");
}

fn write(calls: &Calls, folder: &Path, log: &Path) {
    let (text, copy) = (folder.join("calls.txt"), folder.join("copy"));
    let written = |index: bool| {
        let _ = fs::remove_file(log);
        let _ = fs::remove_file(sidecar_path(log));
        let mut options = WriterOptions::default();
        options.index = index;
        // Sealing a log synchronises it to the disk, which none of the peers does: the clock stops before.
        let (writer, _) = Writer::open(log, options).unwrap();
        let mut appender = writer.appender();
        let seconds = time(|| {
            calls.each(|record| appender.append(record).unwrap());
            appender.commit().unwrap();
        });
        drop(appender);
        writer.close().unwrap();
        seconds
    };
    let [text_seconds, plain, ours] = alternate(
        7,
        [
            &mut || {
                let _ = fs::remove_file(&text);
                let mut second = (0, String::new());
                let mut buffer = Vec::with_capacity(2 << 20);
                let mut file = File::create(&text).unwrap();
                time(|| {
                    calls.each(|record| {
                        text_line(record, &mut second, &mut buffer);
                        if buffer.len() >= 1 << 20 {
                            file.write_all(&buffer).unwrap();
                            buffer.clear();
                        }
                    });
                    file.write_all(&buffer).unwrap();
                })
            },
            &mut || written(false),
            &mut || written(true),
        ],
    );
    let from = log.to_str().unwrap().to_owned();
    let dd = (0..7).map(|_| {
        let _ = fs::remove_file(&copy);
        let (input, output) = (format!("if={from}"), format!("of={}", copy.display()));
        command("dd", &[&input, &output, "bs=1M"])
    });
    let dd = median(dd.collect());
    let bytes = fs::metadata(log).unwrap().len() as f64;
    let sidecar = fs::metadata(sidecar_path(log)).unwrap().len() as f64;
    let count = calls.ends.len() as f64;
    println!(
        "RFC 6873 {:.0} bytes a record, text {:.0}; sidecar {:.2} %",
        bytes / count,
        fs::metadata(&text).unwrap().len() as f64 / count,
        sidecar / bytes * 100.0
    );
    report(
        "write with sidecar",
        ours,
        text_seconds,
        "plain text writer",
        "s",
    );
    report("write with sidecar", ours, dd, "dd of the same bytes", "s");
    report(
        "write without sidecar",
        plain,
        text_seconds,
        "plain text writer",
        "s",
    );
    report(
        "sidecar, three keys",
        sidecar / bytes * 100.0,
        2.5,
        "goal",
        "% of the log",
    );
    let _ = fs::remove_file(&copy);
}

fn call_of(calls: &Calls, place: usize) -> String {
    let ends = calls.ends[place];
    let bytes = &calls.text[ends[8] as usize..ends[9] as usize];
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn query_of(calls: &Calls, place: usize) -> Query {
    let target = Target::Field(Field::CallId);
    Query::new().and(Condition::new(
        target,
        Test::Exact(call_of(calls, place).into_bytes()),
    ))
}

fn scan(log: &Path, calls: &Calls) {
    let last = calls.ends.len() - 1;
    let (query, call) = (query_of(calls, last), call_of(calls, last));
    let path = log.to_str().unwrap();
    let mut options = SearchOptions::default();
    options.index = false;
    let scanned = |threads: usize| {
        let mut options = options.clone();
        options.threads = threads;
        time(|| {
            let searcher = Searcher::open(&[log], options).unwrap();
            assert!(searcher.count(&query).unwrap().records >= 1);
        })
    };
    let mut buffer = vec![0_u8; 1 << 20];
    let [one, all, raw, cat, grep] = alternate(
        7,
        [
            &mut || scanned(1),
            &mut || scanned(0),
            &mut || {
                time(|| {
                    let mut file = File::open(log).unwrap();
                    while file.read(&mut buffer).unwrap() > 0 {}
                })
            },
            &mut || command("cat", &[path]),
            &mut || command("grep", &["-c", "-F", &call, path]),
        ],
    );
    report(
        "scan for a Call-ID, one thread",
        one,
        raw,
        "read of the file",
        "s",
    );
    report(
        "scan for a Call-ID, one thread",
        one,
        cat,
        "cat of the log",
        "s",
    );
    report("scan for a Call-ID, one thread", one, grep, "grep -F", "s");
    report(
        "scan for a Call-ID, all threads",
        all,
        raw,
        "read of the file",
        "s",
    );
    if is_installed("rg") {
        let [all, rg] = alternate(
            7,
            [&mut || scanned(0), &mut || {
                command("rg", &["-c", "-F", &call, path])
            }],
        );
        report(
            "scan for a Call-ID, all threads",
            all,
            rg,
            "ripgrep -F",
            "s",
        );
    }
    if is_installed("perl") {
        let program = format!("if (index($_, '{call}') >= 0) {{ $n++ }}");
        let perl = median(
            (0..3)
                .map(|_| command("perl", &["-ne", &program, path]))
                .collect(),
        );
        report(
            "scan for a Call-ID, all threads",
            all,
            perl,
            "perl, literal",
            "s",
        );
    }
}

fn build(log: &Path) {
    let [ours, cat] = alternate(
        7,
        [
            &mut || {
                let segment = Segment::open(log).unwrap();
                time(|| assert!(index(&segment).unwrap().records > 0))
            },
            &mut || command("cat", &[log.to_str().unwrap()]),
        ],
    );
    report("index an old log", ours, cat, "cat of the log", "s");
}

/// Reports the time that sqlite needs to make an old log searchable, and to search it.
fn sqlite(log: &Path, folder: &Path) {
    if !is_installed("sqlite3") {
        return;
    }
    let (csv, database) = (folder.join("log.tsv"), folder.join("log.sqlite"));
    let mut bytes = Vec::new();
    File::open(log).unwrap().read_to_end(&mut bytes).unwrap();
    let mut out = BufWriter::new(File::create(&csv).unwrap());
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let (record, len) = rfc6873::decode(rest).unwrap();
        out.write_all(&record.fields.join(&b'\t')).unwrap();
        out.write_all(b"\n").unwrap();
        at += len;
    }
    out.flush().unwrap();
    let names: Vec<&str> = Field::ALL.iter().map(|field| field.name()).collect();
    let script = format!(
        ".mode tabs\ncreate table log({});\n.import {} log\ncreate index c on log(call_id);\n",
        names.join(","),
        csv.display()
    );
    let run = folder.join("import.sql");
    fs::write(&run, script).unwrap();
    let read = format!(".read {}", run.display());
    let seconds = command("sqlite3", &[database.to_str().unwrap(), &read]);
    let ours = median(
        (0..3)
            .map(|_| {
                let segment = Segment::open(log).unwrap();
                time(|| assert!(index(&segment).unwrap().records > 0))
            })
            .collect(),
    );
    report(
        "make an old log searchable",
        ours,
        seconds,
        "sqlite3 import and index",
        "s",
    );
}
