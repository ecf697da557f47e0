//! `cargo xtask untidy`: captures as networks make them, and whether tables say of them what they said of the tidy ones.
//!
//! Each run takes a capture of the demo or of those beside the checkout, applies doses of untidiness to some of its
//! connections ([`weir_testkit::untidy`]), and asks the program for all tables of both captures. [`tables`] says of each
//! column what has to be as it was, [`judge`] holds the answers against each other.

mod answers;
mod carriers;
mod compare;
mod fate;
mod gone;
mod judge;
mod judged;
mod labels;
mod overlap;
mod silence;
mod tables;
mod tunnel;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use weir_testkit::untidy::{Account, Capture, Dose, Insertion, Plan};
use weir_testkit::{Rng, captures, demo};

use crate::workspace::{FULL, cargo, target_dir};
use answers::TableAnswers;
use judge::Discrepancy;
use judged::JudgedCapture;
use tables::{TABLES, TableRule};

/// Runs it with the words of the command line.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let options = UntidyArgs::of(words)?;
    let program = match &options.program {
        Some(program) => program
            .canonicalize()
            .with_context(|| program.display().to_string())?,
        None => {
            crate::process::run(cargo(&["build", "--package", "weir-cli"])?.args(FULL))?;
            target_dir()?.join("debug/weir")
        }
    };
    let folder = target_dir()?.join("untidy");
    fs::create_dir_all(&folder)?;
    let sources = sources(options.capture.as_deref())?;
    eprintln!(
        "{} captures, seeds {} to {}",
        sources.len(),
        options.seed,
        options.seed + options.runs.saturating_sub(1)
    );
    let mut trial = Trial {
        program,
        folder,
        capture: options.capture,
        kinds: BTreeMap::new(),
    };
    let started = Instant::now();
    let mut by_source: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for seed in options.seed..options.seed + options.runs {
        let source = Rng::new(seed ^ SOURCE).below(sources.len() as u64) as usize;
        by_source.entry(source).or_default().push(seed);
    }
    let mut done = 0;
    for (source, seeds) in by_source {
        trial.source(&sources[source], &seeds)?;
        done += seeds.len();
        eprintln!(
            "{done} runs, {} kinds of faults, {:.0} s",
            trial.kinds.len(),
            started.elapsed().as_secs_f64()
        );
    }
    trial.report(options.runs)
}

/// The arguments of the command.
#[derive(Debug)]
struct UntidyArgs {
    runs: u64,
    seed: u64,
    capture: Option<PathBuf>,
    program: Option<PathBuf>,
}

impl UntidyArgs {
    fn of(words: &[&str]) -> Result<Self> {
        let mut options = Self {
            runs: 200,
            seed: 1,
            capture: None,
            program: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words
                .next()
                .with_context(|| format!("{word} takes a value"))?;
            let number = || {
                value
                    .parse::<u64>()
                    .with_context(|| format!("{word} {value}"))
            };
            match *word {
                "--runs" => options.runs = number()?,
                "--seed" => options.seed = number()?,
                "--capture" => options.capture = Some(PathBuf::from(value)),
                "--program" => options.program = Some(PathBuf::from(value)),
                _ => bail!("--runs N, --seed S, --capture FILE, --program FILE"),
            }
        }
        Ok(options)
    }
}

/// A capture that doses are applied to.
#[derive(Debug)]
struct DosedCapture {
    name: String,
    capture: Capture,
}

/// The named capture, or the small captures of the demo and of the list beside the checkout.
fn sources(named: Option<&Path>) -> Result<Vec<DosedCapture>> {
    if let Some(path) = named {
        let demo = demo::demo_files()?
            .into_iter()
            .find(|(file, _)| Path::new(file.file_name) == path);
        let bytes = match demo {
            Some((_, bytes)) => bytes,
            None => fs::read(path).with_context(|| path.display().to_string())?,
        };
        let capture = Capture::read(&bytes).map_err(anyhow::Error::msg)?;
        return Ok(vec![DosedCapture {
            name: path.display().to_string(),
            capture,
        }]);
    }
    let mut all: Vec<(String, Vec<u8>)> = demo::demo_files()?
        .into_iter()
        .map(|(file, bytes)| (file.file_name.to_owned(), bytes))
        .collect();
    for file in captures::FOLDERS.map(captures::listed).concat() {
        all.push((
            file.path.canonicalize()?.display().to_string(),
            fs::read(&file.path)?,
        ));
    }
    let mut sources = Vec::new();
    for (name, bytes) in all {
        let Ok(capture) = Capture::read(&bytes) else {
            continue;
        };
        // Doses change only IP packets.
        let packets = capture
            .frames
            .iter()
            .filter(|frame| capture.header(frame).is_some());
        if packets.count() >= 2 && capture.frames.len() <= FRAMES_MAX {
            sources.push(DosedCapture { name, capture });
        }
    }
    Ok(sources)
}

/// The plan of a seed: mostly a single dose, which makes the cause of a fault clear.
fn plan(seed: u64) -> Plan {
    let mut random = Rng::new(seed);
    let count = if random.percent(70) {
        1
    } else {
        random.between(2, 3)
    };
    // The other seeds say what they said before there were these doses.
    let has_newer_doses = seed % 5 > 2;
    let mut doses: Vec<Dose> = (0..count)
        .map(|_| match has_newer_doses {
            true => newer_dose(&mut random),
            false => dose(&mut random),
        })
        .collect();
    // Others would not find the connections behind these.
    doses.sort_by_key(Dose::hides_connections);
    let hiding = doses.iter().filter(|dose| dose.hides_connections());
    let superfluous = hiding.count().saturating_sub(1);
    doses.truncate(doses.len().saturating_sub(superfluous));
    Plan {
        seed,
        doses,
        connections_per_mille: *random.pick(&[200, 500, 1_000]),
        only: None,
    }
}

fn dose(random: &mut Rng) -> Dose {
    let few = *random.pick(&[5, 20, 100]);
    let many = *random.pick(&[50, 300, 1_000]);
    match random.below(21) {
        0 => Dose::Loss { per_mille: few },
        1 => Dose::Duplicates {
            per_mille: many,
            distance: random.below(8) as u16,
        },
        2 => Dose::Reordering {
            per_mille: many,
            distance: random.between(1, 8) as u16,
            in_time: false,
        },
        3 => Dose::Reordering {
            per_mille: many,
            distance: random.between(1, 8) as u16,
            in_time: true,
        },
        4 => Dose::Cuts {
            per_mille: many,
            snap_len: random.between(54, 300) as u16,
        },
        5 => Dose::Attempts {
            per_mille: many,
            most: random.between(1, 3) as u8,
        },
        6 => {
            // A clock that is set forward is a pause, which ends what waits for it; back, by any time.
            let by_ms = match random.percent(25) {
                true => random.between(1, 900) as i64,
                false => -(*random.pick(&[3, 400, 1_500, 20_000, 90_000, 4_000_000, 90_000_000])),
            };
            Dose::ClockStep {
                at_per_mille: random.between(50, 950) as u16,
                by_ms,
            }
        }
        7 => Dose::SmallSegments {
            per_mille: many,
            octets: *random.pick(&[1, 7, 40, 200]),
        },
        8 => Dose::SmallRecords {
            per_mille: many,
            octets: *random.pick(&[1, 5, 40, 200]),
        },
        9 => Dose::Tags { per_mille: many },
        10 => Dose::OneDirection { per_mille: many },
        11 => Dose::LateBeginnings {
            per_mille: many,
            packets: *random.pick(&[1, 3, 10, 40]),
        },
        _ => unchanging_dose(random, many),
    }
}

/// A dose that adds something beside the packets of connections, or changes them in what no table says.
fn unchanging_dose(random: &mut Rng, many: u16) -> Dose {
    match random.below(9) {
        0 => Dose::RoutedCopies {
            per_mille: many,
            distance: random.below(8) as u16,
        },
        1 => Dose::DoubleTags { per_mille: many },
        2 => Dose::Labels {
            per_mille: many,
            count: random.between(1, 3) as u8,
        },
        3 => Dose::Padding {
            per_mille: many,
            octets: random.between(1, 60) as u16,
        },
        4 => Dose::OtherNumbers { per_mille: many },
        5 => Dose::Reuses { per_mille: many },
        6 => Dose::Fragments {
            per_mille: many,
            octets: *random.pick(&[24, 100, 600]),
        },
        7 => Dose::Tunnels { per_mille: many },
        _ => Dose::Insertions {
            per_mille: many,
            kind: *random.pick(&[
                Insertion::KeepAlive,
                Insertion::ForgedReset,
                Insertion::Altered,
                Insertion::ZeroWindow,
            ]),
        },
    }
}

/// A dose of what capturing makes of packets, or one of [`dose`]'s beside it.
fn newer_dose(random: &mut Rng) -> Dose {
    let many = *random.pick(&[50, 300, 1_000]);
    match random.below(10) {
        0 => Dose::PriorityTags { per_mille: many },
        1 => Dose::Sessions { per_mille: many },
        2 => Dose::Options { per_mille: many },
        3 => Dose::EqualTimes {
            within_us: *random.pick(&[20, 300, 2_000]),
        },
        4 => Dose::Interfaces { per_mille: many },
        5 => Dose::Retransmissions { per_mille: many },
        6 => Dose::LargeSegments { per_mille: many },
        7 => Dose::LostAcks { per_mille: many },
        _ => dose(random),
    }
}

/// The runs so far.
struct Trial {
    program: PathBuf,
    folder: PathBuf,
    capture: Option<PathBuf>,
    /// The number of faults by doses, table and rule, with the first seed and its report.
    kinds: BTreeMap<String, (u64, String)>,
}

/// A capture with what was done to it.
struct Case {
    seed: u64,
    plan: Plan,
    untidy: Capture,
    account: Account,
}

impl Trial {
    /// All runs over one capture: a few untidy captures in each process.
    fn source(&mut self, source: &DosedCapture, seeds: &[u64]) -> Result<()> {
        let all: Vec<&TableRule> = TABLES.iter().collect();
        let tidy = match self.ask(&[&source.capture], &all) {
            Ok(mut answers) => answers.swap_remove(0),
            Err(error) => {
                self.add(
                    source,
                    seeds[0],
                    &format!("the tidy capture: {error}"),
                    error.to_string(),
                );
                return Ok(());
            }
        };
        for seeds in seeds.chunks(AT_ONCE) {
            let cases: Vec<Case> = seeds
                .iter()
                .map(|seed| {
                    let plan = plan(*seed);
                    let (untidy, account) = plan.apply(&source.capture);
                    Case {
                        seed: *seed,
                        plan,
                        untidy,
                        account,
                    }
                })
                .filter(|case| case.untidy != source.capture)
                .collect();
            if cases.is_empty() {
                continue;
            }
            let tables = worth_asking(&tidy, seeds);
            let captures: Vec<&Capture> = cases.iter().map(|case| &case.untidy).collect();
            let answers = match self.ask(&captures, &tables) {
                Ok(answers) => answers.into_iter().map(Ok).collect(),
                // The captures are read one by one to find the one that fails.
                Err(_) => captures
                    .iter()
                    .map(|capture| {
                        self.ask(&[capture], &tables)
                            .map(|mut answers| answers.swap_remove(0))
                    })
                    .collect::<Vec<_>>(),
            };
            for (case, answer) in cases.iter().zip(answers) {
                match answer {
                    Ok(answer) => self.judge(source, &tidy, case, &answer)?,
                    Err(error) => {
                        self.add(
                            source,
                            case.seed,
                            &format!("the program: {error}"),
                            format!("{:?}", case.plan),
                        );
                    }
                }
            }
        }
        Ok(())
    }

    fn ask(
        &self,
        captures: &[&Capture],
        tables: &[&'static TableRule],
    ) -> Result<Vec<TableAnswers>> {
        let mut paths = Vec::new();
        for (index, capture) in captures.iter().enumerate() {
            let path = self.folder.join(format!("{index}.pcapng"));
            fs::write(&path, capture.write()?)?;
            paths.push(path);
        }
        answers::ask(&self.program, &paths, tables)
    }

    fn judge(
        &mut self,
        source: &DosedCapture,
        tidy: &TableAnswers,
        case: &Case,
        answer: &TableAnswers,
    ) -> Result<()> {
        let tidy = JudgedCapture {
            capture: &source.capture,
            answer: tidy,
        };
        let untidy = JudgedCapture {
            capture: &case.untidy,
            answer,
        };
        let faults = judge::faults(&tidy, &untidy, &case.account);
        let mut shown = BTreeSet::new();
        for fault in faults {
            let kind = kind(&fault);
            if !shown.insert(kind.clone()) {
                continue;
            }
            let mut text = String::new();
            if !self.kinds.contains_key(&kind) {
                let (smaller, paths) = self.smaller(source, case, &fault)?;
                text = self.text(source, case, &smaller.unwrap_or(fault), &paths);
                println!("{text}\n");
            }
            self.add(source, case.seed, &kind, text);
        }
        Ok(())
    }

    fn add(&mut self, source: &DosedCapture, seed: u64, kind: &str, text: String) {
        let first = format!("seed {seed}, {}", source.name);
        let entry = self
            .kinds
            .entry(kind.to_owned())
            .or_insert_with(|| (0, first));
        entry.0 += 1;
        if text.is_empty() {
            return;
        }
        let report = self.folder.join("faults.txt");
        let before = fs::read_to_string(&report).unwrap_or_default();
        let _ = fs::write(&report, format!("{before}{kind}\n{text}\n\n"));
    }

    fn text(
        &self,
        source: &DosedCapture,
        case: &Case,
        fault: &Discrepancy,
        paths: &[PathBuf; 2],
    ) -> String {
        let show = |name: &str, row: &Option<answers::TableRow>| match row {
            Some(row) => {
                let row: answers::TableRow = row
                    .iter()
                    .filter(|(_, value)| !value.is_null())
                    .map(|(column, value)| (column.clone(), shortened(value)))
                    .collect();
                format!("  {name}: {}\n", serde_json::Value::Object(row))
            }
            None => String::new(),
        };
        format!(
            "seed {}: {}\n  {:?}\n  {}: {}\n{}{}  {}\n  {} {}\n  cargo xtask untidy --runs 1 --seed {} --capture {}",
            case.seed,
            source.name,
            case.plan.doses,
            fault.table,
            fault.rule,
            show("tidy", &fault.tidy),
            show("untidy", &fault.untidy),
            fault.more,
            paths[0].display(),
            paths[1].display(),
            case.seed,
            source.name,
        )
    }

    /// Leaves a small capture that shows the same kind of fault: first without the connections that were not touched,
    /// then with half of what was touched, as long as it does. Gives what it shows, and where both captures are.
    fn smaller(
        &self,
        source: &DosedCapture,
        case: &Case,
        wanted: &Discrepancy,
    ) -> Result<(Option<Discrepancy>, [PathBuf; 2])> {
        let mut tidy = source.capture.clone();
        let mut plan = case.plan.clone();
        let mut found = None;
        let tables = tables::needed(wanted.table);
        let shows = |tidy: &Capture, plan: &Plan| -> Result<Option<Discrepancy>> {
            let (untidy, account) = plan.apply(tidy);
            let Ok(answers) = self.ask(&[tidy, &untidy], &tables) else {
                return Ok(None);
            };
            let one = JudgedCapture {
                capture: tidy,
                answer: &answers[0],
            };
            let two = JudgedCapture {
                capture: &untidy,
                answer: &answers[1],
            };
            let mut faults = judge::faults(&one, &two, &account).into_iter();
            Ok(faults.find(|fault| (fault.table, fault.rule) == (wanted.table, wanted.rule)))
        };
        let mut ends: Vec<_> = case.account.connections().into_keys().collect();
        let part = tidy.only(&ends.iter().copied().collect());
        if let Some(fault) = shows(&part, &plan)? {
            (tidy, found) = (part, Some(fault));
        }
        while ends.len() > 1 && found.is_some() {
            let (one, two) = ends.split_at(ends.len() / 2);
            let mut half = None;
            for ends in [one, two] {
                let part = tidy.only(&ends.iter().copied().collect());
                if let Some(fault) = shows(&part, &plan)? {
                    half = Some((ends.to_vec(), part, fault));
                    break;
                }
            }
            let Some((few, part, fault)) = half else {
                break;
            };
            (ends, tidy, found) = (few, part, Some(fault));
        }
        let mut only: Vec<usize> = {
            let (_, account) = plan.apply(&tidy);
            let all: BTreeSet<_> = account.touches.iter().map(|touch| touch.origin).collect();
            all.into_iter().collect()
        };
        while only.len() > 1 {
            let (one, two) = only.split_at(only.len() / 2);
            let mut half = None;
            for part in [one, two] {
                let mut smaller = plan.clone();
                smaller.only = Some(part.iter().copied().collect());
                if let Some(fault) = shows(&tidy, &smaller)? {
                    half = Some((part.to_vec(), smaller, fault));
                    break;
                }
            }
            let Some((part, smaller, fault)) = half else {
                break;
            };
            (only, plan, found) = (part, smaller, Some(fault));
        }
        let (untidy, _) = plan.apply(&tidy);
        let path = |name: &str| {
            self.folder.join(format!(
                "seed-{}-{}-{name}.pcapng",
                case.seed,
                self.kinds.len()
            ))
        };
        let paths = [path("tidy"), path("untidy")];
        fs::write(&paths[0], tidy.write()?)?;
        fs::write(&paths[1], untidy.write()?)?;
        Ok((found, paths))
    }

    fn report(&self, runs: u64) -> Result<()> {
        let mut kinds: Vec<_> = self.kinds.iter().collect();
        kinds.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        for (kind, (count, first)) in &kinds {
            println!("{count:>6}  {kind} (first: {first})");
        }
        let which = self
            .capture
            .as_ref()
            .map_or_else(String::new, |path| format!(" over {}", path.display()));
        match kinds.is_empty() {
            true => {
                println!("{runs} runs{which}: no fault");
                Ok(())
            }
            false => bail!(
                "{runs} runs{which}: {} kinds of faults; captures in {}",
                kinds.len(),
                self.folder.display()
            ),
        }
    }
}

/// The tables that the tidy capture has rows in, those that all others are judged by, and some of the rest, which have to
/// stay empty.
fn worth_asking(tidy: &TableAnswers, seeds: &[u64]) -> Vec<&'static TableRule> {
    let mut random = Rng::new(seeds.iter().fold(0, |all, seed| all ^ seed));
    let mut is_asked = |table: &&TableRule| {
        let is_empty = tidy.rows(table.name).is_empty();
        !is_empty || tables::judges_others(table.name) || random.percent(EMPTY_PERCENT)
    };
    TABLES.iter().filter(|table| is_asked(table)).collect()
}

/// The key by which faults are counted.
fn kind(fault: &Discrepancy) -> String {
    let hows: Vec<&str> = fault.hows.iter().copied().collect();
    format!("{} [{}]: {}", fault.table, hows.join(" "), fault.rule)
}

/// A value of at most so many characters.
fn shortened(value: &serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::String(text) if text.chars().count() > VALUE_MAX => {
            let text: String = text.chars().take(VALUE_MAX).collect();
            format!("{text}…").into()
        }
        other => other.clone(),
    }
}

/// The maximum number of frames in a capture, because each capture is read by many tables.
const FRAMES_MAX: usize = 2_000;
/// The percentage of tables without rows that are still queried.
const EMPTY_PERCENT: u64 = 15;
/// Untidy captures that one process answers for.
const AT_ONCE: usize = 8;
/// Characters of a value that are shown.
const VALUE_MAX: usize = 120;
/// The constant that the seed of a capture's choice is combined with.
const SOURCE: u64 = 0x5eed_0f5a_0ce5;
