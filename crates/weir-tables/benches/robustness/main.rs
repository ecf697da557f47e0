//! Does any capture make a table panic, hang, or take memory without end?
//!
//! Mutates good captures, runs queries of every table over each, and reports what panics, takes longer than
//! [`SECONDS_MAX`] of processor time, or makes the process larger than [`RESIDENT_MAX`]. Processes do the work, so that
//! one that runs out of stack is found as well; each mutated capture follows from the seed and its number.
//!
//! `cargo xtask bench robustness [--captures N] [--minutes M] [--seed S] [--only NUMBER]`; other words are
//! files and folders of captures to mutate.

mod cases;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use cases::{Bases, Question};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--test") || words.is_empty() {
        // `cargo test --all-targets` only checks that the benchmark starts.
        return ExitCode::SUCCESS;
    }
    let mut arguments = Arguments::default();
    let mut rest = words.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        let mut number = || -> u64 {
            let value = rest.next().and_then(|value| value.parse().ok());
            value.unwrap_or_else(|| panic!("{word} takes a number"))
        };
        match word {
            "--bench" => {}
            "--captures" => arguments.captures = Some(number()),
            "--minutes" => arguments.minutes = Some(number()),
            "--seed" => arguments.seed = number(),
            "--from" => arguments.from = number(),
            "--processes" => arguments.processes = number().max(1),
            "--only" => {
                arguments.from = number();
                arguments.captures = Some(1);
                arguments.processes = 1;
            }
            "--worker" => arguments.worker = Some(number()),
            folder => arguments.others.push(folder.into()),
        }
    }
    let folder = std::env::temp_dir().join(format!("weir-robustness-{}", arguments.seed));
    fs::create_dir_all(&folder).expect("the temporary folder can be written");
    match arguments.worker {
        Some(number) => work(&arguments, number, &folder),
        None => lead(&arguments, &words, &folder),
    }
}

/// The arguments of the command line.
#[derive(Clone)]
struct Arguments {
    captures: Option<u64>,
    minutes: Option<u64>,
    seed: u64,
    from: u64,
    processes: u64,
    worker: Option<u64>,
    others: Vec<PathBuf>,
}

impl Default for Arguments {
    fn default() -> Self {
        Self {
            captures: None,
            minutes: None,
            seed: 1,
            from: 0,
            processes: 2,
            worker: None,
            others: Vec::new(),
        }
    }
}

impl Arguments {
    /// Returns the number of the capture after the last one.
    fn end(&self) -> u64 {
        let many = match self.minutes {
            None => CAPTURES,
            Some(_) => u64::MAX,
        };
        self.from.saturating_add(self.captures.unwrap_or(many))
    }

    fn is_over(&self, begun: Instant) -> bool {
        let minutes = self
            .minutes
            .map(|minutes| Duration::from_secs(60 * minutes));
        minutes.is_some_and(|minutes| begun.elapsed() >= minutes)
    }
}

/// Starts the processes, and restarts them after a capture at which one of them ended.
fn lead(arguments: &Arguments, words: &[String], folder: &Path) -> ExitCode {
    let begun = Instant::now();
    let kept = std::env::current_dir()
        .unwrap_or_default()
        .join("robustness");
    println!(
        "mutated captures {} to {}, seed {}, {} processes; a run is too long from {SECONDS_MAX} s of processor time, too large from {} MB",
        arguments.from,
        arguments.end(),
        arguments.seed,
        arguments.processes,
        RESIDENT_MAX >> 20,
    );
    let (sender, lines) = mpsc::channel();
    let mut threads = Vec::new();
    for number in 0..arguments.processes {
        let (arguments, words, sender) = (arguments.clone(), words.to_vec(), sender.clone());
        let (folder, kept) = (folder.to_owned(), kept.clone());
        threads.push(std::thread::spawn(move || {
            let mut from = arguments.from + number;
            let end = arguments.end();
            while from < end && !arguments.is_over(begun) {
                let mut child = Command::new(std::env::current_exe().expect("this program"))
                    .args(&words)
                    .args(["--worker", &number.to_string(), "--from", &from.to_string()])
                    .args(["--captures", &(end - from).to_string()])
                    .args(["--processes", &arguments.processes.to_string()])
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null())
                    .spawn()
                    .expect("this program starts");
                let text = child.stdout.take().expect("it is piped");
                let mut at = from;
                let mut doing = String::new();
                for line in BufReader::new(text).lines().map_while(Result::ok) {
                    match line.split_once('\t') {
                        Some(("at", rest)) => {
                            let (case, what) = rest.split_once('\t').unwrap_or((rest, ""));
                            at = case.parse().unwrap_or(at);
                            doing = what.to_owned();
                        }
                        _ => {
                            let _ = sender.send(line);
                        }
                    }
                }
                let ended = child.wait().expect("it was started");
                if ended.success() {
                    break;
                }
                if ended.code() != Some(EXIT_REPORTED) {
                    let _ =
                        sender.send(format!("found\t{at}\t{doing}\tthe process ended: {ended}"));
                }
                let _ = fs::create_dir_all(&kept);
                let name = format!("seed-{}-{at}.pcap", arguments.seed);
                let _ = fs::copy(folder.join(format!("worker-{number}")), kept.join(name));
                from = at + arguments.processes;
            }
        }));
    }
    drop(sender);
    let mut tally = Tally::default();
    for line in lines {
        tally.take(&line, arguments.seed);
    }
    for thread in threads {
        thread.join().expect("it does not panic");
    }
    tally.print(begun.elapsed(), &kept);
    ExitCode::from(u8::from(!tally.found.is_empty()))
}

/// The sums of the results that the processes printed.
#[derive(Default)]
struct Tally {
    captures: u64,
    questions: u64,
    /// The rows by table, the longest time that one capture took there, in milliseconds, and the number of that
    /// capture.
    tables: BTreeMap<String, (u64, u64, u64)>,
    resident: u64,
    /// The number of occurrences of each finding, by table and message, and the number of the first capture with it.
    found: BTreeMap<String, (u64, u64)>,
}

impl Tally {
    fn take(&mut self, line: &str, seed: u64) {
        let words: Vec<&str> = line.split('\t').collect();
        let number = |word: &str| word.parse::<u64>().unwrap_or_default();
        match words.as_slice() {
            ["found", case, table, what] => {
                let known = self.found.entry(format!("{table}: {what}"));
                let known = known.or_insert((0, number(case)));
                known.0 += 1;
                if known.0 == 1 {
                    println!("capture {case} of seed {seed}: {table}: {what}");
                }
            }
            ["table", name, rows, slowest, case] => {
                let known = self.tables.entry((*name).to_owned()).or_default();
                known.0 += number(rows);
                if number(slowest) >= known.1 {
                    (known.1, known.2) = (number(slowest), number(case));
                }
            }
            ["done", captures, questions, resident] => {
                self.captures += number(captures);
                self.questions += number(questions);
                self.resident = self.resident.max(number(resident));
            }
            _ => println!("{line}"),
        }
    }

    fn print(&self, took: Duration, kept: &Path) {
        println!(
            "\n{:<34} {:>12} {:>14}  capture",
            "table", "rows", "slowest, ms"
        );
        for (name, (rows, slowest, case)) in &self.tables {
            println!("{name:<34} {rows:>12} {slowest:>14}  {case}");
        }
        println!(
            "\n{} captures, {} readings in {:.0} s; resident at most {} MB; {} things found",
            self.captures,
            self.questions,
            took.as_secs_f64(),
            self.resident >> 10,
            self.found.len(),
        );
        for (what, (times, case)) in &self.found {
            println!("{times} times, first by capture {case}: {what}");
        }
        if !self.found.is_empty() {
            println!(
                "the captures are in {}; --only NUMBER repeats one",
                kept.display()
            );
        }
    }
}

thread_local! {
    /// The message and the place of the last panic.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The number of the current capture and of the current query, and the processor time at which it began: the watching
/// thread ends the process when one takes too long.
static CASE: AtomicU64 = AtomicU64::new(0);
static QUESTION: AtomicU64 = AtomicU64::new(u64::MAX);
static BEGAN_MS: AtomicU64 = AtomicU64::new(0);

/// Processes every n-th capture in one process.
fn work(arguments: &Arguments, number: u64, folder: &Path) -> ExitCode {
    let folder_of_one = folder.join(format!("bases-{number}"));
    let bases = Bases::load(&folder_of_one, &arguments.others).expect("captures to mutate");
    let questions = Question::all();
    if number == 0 && arguments.from == 0 {
        println!("{} captures are mutated", bases.len());
    }
    let path = folder.join(format!("worker-{number}"));
    let names: Vec<String> = questions.iter().map(|it| it.name.clone()).collect();
    std::thread::spawn(move || watch(&names));
    panic::set_hook(Box::new(|info| {
        let text = info.to_string().replace(['\n', '\t'], " ");
        PANIC.with(|panic| *panic.borrow_mut() = text);
    }));
    let begun = Instant::now();
    let mut tallies = vec![(0_u64, 0_u64, 0_u64); questions.len()];
    let (mut captures, mut asked_in_all) = (0_u64, 0_u64);
    let mut case = arguments.from;
    while case < arguments.end() && !arguments.is_over(begun) {
        let (name, is_recorder) = bases
            .write(arguments.seed, case, &path)
            .expect("room for a file");
        CASE.store(case, Ordering::Relaxed);
        for (index, question) in questions.iter().enumerate() {
            if !question.is_asked_of(is_recorder) {
                continue;
            }
            say(&format!("at\t{case}\t{}", question.name));
            let began = processor_ms();
            BEGAN_MS.store(began, Ordering::Relaxed);
            QUESTION.store(index as u64, Ordering::Relaxed);
            match panic::catch_unwind(AssertUnwindSafe(|| question.ask(&path))) {
                Ok(rows) => tallies[index].0 += rows,
                Err(_) => {
                    let what = PANIC.with(|panic| panic.borrow().clone());
                    say(&format!("found\t{case}\t{}\t{what}", question.name));
                    let kept = std::env::current_dir()
                        .unwrap_or_default()
                        .join("robustness");
                    let _ = fs::create_dir_all(&kept);
                    let name = format!("seed-{}-{case}-of-{name}", arguments.seed);
                    let _ = fs::copy(&path, kept.join(name));
                }
            }
            QUESTION.store(u64::MAX, Ordering::Relaxed);
            let took = processor_ms().saturating_sub(began);
            if took > tallies[index].1 {
                (tallies[index].1, tallies[index].2) = (took, case);
            }
            asked_in_all += 1;
        }
        captures += 1;
        if captures.is_multiple_of(1_000) && number == 0 {
            println!(
                "{} captures in {:.0} s",
                captures * arguments.processes,
                begun.elapsed().as_secs_f64()
            );
        }
        case += arguments.processes;
    }
    for (question, (rows, slowest, case)) in questions.iter().zip(tallies) {
        println!("table\t{}\t{rows}\t{slowest}\t{case}", question.name);
    }
    println!("done\t{captures}\t{asked_in_all}\t{}", status_kb("VmHWM:"));
    ExitCode::SUCCESS
}

/// Ends the process when a query takes too long, or too much memory.
fn watch(names: &[String]) {
    loop {
        std::thread::sleep(Duration::from_millis(20));
        let question = QUESTION.load(Ordering::Relaxed);
        let Some(name) = names.get(usize::try_from(question).unwrap_or(usize::MAX)) else {
            continue;
        };
        let case = CASE.load(Ordering::Relaxed);
        let took = processor_ms().saturating_sub(BEGAN_MS.load(Ordering::Relaxed));
        let resident = status_kb("VmRSS:") << 10;
        let what = match (took > SECONDS_MAX * 1_000, resident > RESIDENT_MAX) {
            (true, _) => format!("more than {SECONDS_MAX} s of processor time"),
            (_, true) => format!("more than {} MB resident", RESIDENT_MAX >> 20),
            _ => continue,
        };
        if QUESTION.load(Ordering::Relaxed) == question && CASE.load(Ordering::Relaxed) == case {
            say(&format!("found\t{case}\t{name}\t{what}"));
            std::process::exit(EXIT_REPORTED);
        }
    }
}

/// Prints a line for the leading process at once, because this process may end at any moment.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

/// Returns the processor time of this process in milliseconds, which Linux gives in hundredths of a second; elsewhere
/// the elapsed time.
fn processor_ms() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in brackets, may have spaces.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let mut ticks = fields.split_whitespace().skip(11).take(2);
    let tick = |word: Option<&str>| word.and_then(|word| word.parse::<u64>().ok());
    match (tick(ticks.next()), tick(ticks.next())) {
        (Some(user), Some(system)) => 10 * (user + system),
        _ => {
            static BEGUN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
            let passed = BEGUN.get_or_init(Instant::now).elapsed();
            u64::try_from(passed.as_millis()).unwrap_or(u64::MAX)
        }
    }
}

/// Returns a figure of the process's memory in KiB on Linux; 0 elsewhere.
fn status_kb(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or_default()
}

/// The number of captures when the command line gives neither a number nor a time.
const CAPTURES: u64 = 5_000;
/// The processor time in seconds that a capture of some kilobytes may take in one table.
const SECONDS_MAX: u64 = 5;
/// The memory of the whole process in bytes.
const RESIDENT_MAX: u64 = 512 << 20;
/// The exit status of a process that has reported its finding.
const EXIT_REPORTED: i32 = 3;
