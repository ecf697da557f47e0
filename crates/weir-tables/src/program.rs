//! Compiled queries: aggregates, or the predicate of rows, become one loop over the bytes of the buffer in machine
//! code. The loop leaves records that are not plain, and those that become rows, to the decoder, and continues after
//! them.

mod compiled;
mod condition;
mod decide;
mod facts;
mod framing;
mod give;
mod header;
mod lower;
mod output;
mod plan;
mod records;
#[cfg(test)]
mod tests;
mod value;

use std::sync::Arc;

use weir_capture::RecordFraming;
use weir_compile::{CompileError, Exit, Run, Runner};
use weir_layout::Layout;
use weir_packet::{LinkType, NextTable, Options};

use crate::{Aggregate, Branch, Compile, Predicate, Source};
use lower::{FIRST_FREE_WORD, LEAVE_FULL, LEAVE_RARE, NUMBER_WORD, PORTS_WORD, TAKEN_WORD};
pub(crate) use output::{MeasurePlan, Mode, Output, WaitingColumn};
use plan::ProgramPlan;
pub(crate) use records::{ProgramFraming, Records};

/// The program of all aggregates, for records of the same kind.
pub(crate) struct Questions {
    /// The whole program.
    whole: Runner,
    /// The compiled program, without the blocks that no record has entered.
    narrow: Option<Arc<Runner>>,
    sample: Sample,
    /// The statistics of a program that selects rows.
    selected: Option<Selected>,
    state: Vec<u64>,
    outputs: Vec<Output>,
    /// The statistics of places by a hash of keys.
    hashed: Option<Hashed>,
}

/// The number of records since the use of places by hash was last measured, and of rows among them whose groups were
/// not at their places.
#[derive(Default)]
struct Hashed {
    records: u64,
    searched: u64,
}

/// The sample of records by which a program is compiled: rare blocks are left to the decoder, and need not be compiled.
#[derive(Default)]
struct Sample {
    /// The blocks of the program that some record has entered.
    visited: Vec<bool>,
    /// The number of records that are interpreted before it is compiled again.
    left: u64,
    /// The number of compilations.
    compiled: u32,
    /// The number of records since then, and of those that entered other blocks.
    records: u64,
    missed: u64,
}

/// The number of runs of a program that selects rows, and of the records that it has skipped.
#[derive(Default)]
struct Selected {
    runs: u64,
    passed: u64,
}

/// Returns whether the computations of an aggregate over sources are compiled, for `EXPLAIN`: `Ok` when they are, as
/// far as the records are plain; otherwise the reason. `None` where the sources are too small.
#[must_use]
pub fn compiles(
    aggregate: &Aggregate,
    sources: &[Source],
    compile: Compile,
) -> Option<Result<(), &'static str>> {
    if let Some(not) = not_compiled(sources, compile) {
        return not.map(Err);
    }
    let layout = sources.first().and_then(Source::layout);
    let plan = match aggregate.is_plain() {
        true => ProgramPlan::new(&[aggregate.branches()], layout.map(AsRef::as_ref)),
        false => None,
    };
    let branches = aggregate.branches().len();
    Some(match plan {
        None => Err("more than plain fields is asked for"),
        Some(plan) if !is_small(&plan, branches) => Err("too much is asked for at once"),
        Some(_) if layout.is_some_and(|layout| layout.plain_record_len().is_none()) => {
            Err("the records are not all of one length")
        }
        Some(_) => Ok(()),
    })
}

/// Returns whether the rows of sources for which a predicate holds are found by a compiled program, with the results of
/// [`compiles`].
#[must_use]
pub fn selects(
    predicate: &Predicate,
    sources: &[Source],
    compile: Compile,
) -> Option<Result<(), &'static str>> {
    if let Some(not) = not_compiled(sources, compile) {
        return not.map(Err);
    }
    Some(match plain_part(predicate) {
        Some(plain) if selection(&[&plain]).is_some() => Ok(()),
        Some(_) => Err("too much is asked for at once"),
        None => Err("more than plain fields is asked for"),
    })
}

/// The reason why nothing is compiled for sources; inside, `None` where they are too small.
fn not_compiled(sources: &[Source], compile: Compile) -> Option<Option<&'static str>> {
    let lens = sources.iter().filter_map(Source::len);
    let is_large = lens.fold(0, u64::saturating_add) >= COMPILED_BYTES_MIN;
    match compile {
        Compile::Never => Some(Some("compiling is turned off")),
        Compile::Large if !is_large => Some(None),
        Compile::Large | Compile::Always => None,
    }
}

/// The conditions of predicates on plain fields, a branch each; `None` when one of them is true for all records.
fn selection(predicates: &[&Predicate]) -> Option<ProgramPlan> {
    let branches = predicates.iter().map(|predicate| {
        Some(Branch {
            predicate: Some(plain_part(predicate)?),
            keys: Vec::new(),
            arguments: Vec::new(),
            filters: Vec::new(),
        })
    });
    let branches = branches.collect::<Option<Vec<_>>>()?;
    let plan = ProgramPlan::new(&[&branches], None)?;
    is_small(&plan, branches.len()).then_some(plan)
}

/// The part of a predicate on plain fields, which must hold for the whole to hold.
fn plain_part(predicate: &Predicate) -> Option<Predicate> {
    let parts = match predicate {
        Predicate::And(parts) => &parts[..],
        one => std::slice::from_ref(one),
    };
    let plain = parts.iter().filter(|part| ProgramPlan::takes(part));
    let plain: Vec<_> = plain.cloned().collect();
    (!plain.is_empty()).then_some(Predicate::And(plain))
}

/// Returns whether the data of the records of a capture begin with a header that the link type names.
fn is_plain_capture(framing: ProgramFraming, link_type: LinkType) -> bool {
    match framing {
        ProgramFraming::Fixed(_) => false,
        // The capture card's header counts in the length of the record.
        ProgramFraming::Capture(RecordFraming::Erf) => link_type == LinkType::ERF,
        ProgramFraming::Capture(_) => {
            link_type != LinkType::ERF && link_type.pseudo_header_len(&[]) == 0
        }
    }
}

/// Returns whether records of the link type are decoded: the decoder counts the records of others.
fn is_decoded(plan: &ProgramPlan, link_type: LinkType, layout: Option<&Layout>) -> bool {
    let is_known = || NextTable::LinkType.layer(link_type.0.into()).is_some();
    plan.fields.is_empty() || layout.is_some() || is_known()
}

/// Returns whether the program of a plan is not too large.
fn is_small(plan: &ProgramPlan, branches: usize) -> bool {
    (1..=BRANCHES_MAX).contains(&branches)
        && plan.conditions.len() <= CONDITIONS_MAX
        && plan.fields.len() <= FIELDS_MAX
}

/// The records that a program has skipped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passed {
    pub(crate) bytes: usize,
    pub(crate) records: u64,
    /// The number of records that some branch selected.
    pub(crate) taken: u64,
    /// The number of records that were processed by machine code.
    pub(crate) compiled: u64,
    /// Whether the system gives no memory for machine code: the records were interpreted.
    pub(crate) is_refused: bool,
    /// Whether the program skips too few records.
    pub(crate) is_useless: bool,
}

impl Questions {
    /// Writes the program of `aggregates`; `None` when one of them needs more than plain fields, or so many that the
    /// program would be too large.
    pub(crate) fn new(
        aggregates: &[Aggregate],
        framing: ProgramFraming,
        link_type: LinkType,
        layout: Option<&Layout>,
        options: &Options,
    ) -> Option<Self> {
        if !aggregates.iter().all(Aggregate::is_plain) || aggregates.is_empty() {
            return None;
        }
        let is_plain = match layout {
            Some(_) => matches!(framing, ProgramFraming::Fixed(_)),
            None => is_plain_capture(framing, link_type),
        };
        let branches: Vec<_> = aggregates.iter().map(Aggregate::branches).collect();
        let count: usize = branches.iter().map(|branches| branches.len()).sum();
        if !is_plain {
            return None;
        }
        let plan = ProgramPlan::new(&branches, layout)?;
        if !is_small(&plan, count) || !is_decoded(&plan, link_type, layout) {
            return None;
        }
        let mut word = FIRST_FREE_WORD;
        let mut outputs = Vec::with_capacity(aggregates.len());
        let mut places_left = PLACES_MAX;
        for aggregate in aggregates {
            let mut output = aggregate.output();
            if output.mode.place_bits().is_some() {
                match places_left {
                    0 => output.mode = Mode::Rows,
                    _ => places_left -= 1,
                }
            }
            output.rows_word = word;
            output.multiplier_word = word + 1;
            output.first_word = word + 2;
            word = output.first_word + u32::try_from(output.words()).ok()?;
            outputs.push(output);
        }
        let program = lower::lower(&plan, &outputs, word, framing, link_type, options).ok()?;
        let mut modes = outputs.iter().map(|output| output.mode);
        let is_hashed = modes.any(|mode| mode == Mode::Hashed);
        let hashed = is_hashed.then(Hashed::default);
        Some(Self {
            whole: Runner::interpreted(program),
            narrow: None,
            sample: Sample::default(),
            selected: None,
            state: vec![0; word as usize],
            outputs,
            hashed,
        })
    }

    /// Writes the program that skips records for which none of the predicates holds, as far as they use plain fields,
    /// and leaves all others to the decoder, which tests again; `None` when one of them uses none.
    pub(crate) fn selecting(
        predicates: &[&Predicate],
        framing: ProgramFraming,
        link_type: LinkType,
        options: &Options,
    ) -> Option<Self> {
        let plan = selection(predicates)?;
        if !is_plain_capture(framing, link_type) || !is_decoded(&plan, link_type, None) {
            return None;
        }
        let words = FIRST_FREE_WORD;
        let program = lower::lower(&plan, &[], words, framing, link_type, options).ok()?;
        Some(Self {
            whole: Runner::interpreted(program),
            narrow: None,
            sample: Sample::default(),
            selected: Some(Selected::default()),
            state: vec![0; words as usize],
            outputs: Vec::new(),
            hashed: None,
        })
    }

    /// Compiles the program when that is wanted, after a sample of records where it is not wanted at once.
    pub(crate) fn prepare(&mut self, compile: Compile) -> Result<(), CompileError> {
        match compile {
            Compile::Large => self.compile_behind(SAMPLE_RECORDS),
            Compile::Always => self.compile()?,
            Compile::Never => {}
        }
        Ok(())
    }

    /// Compiles it for all kinds of records.
    pub(crate) fn compile(&mut self) -> Result<(), CompileError> {
        self.whole.compile()
    }

    /// Compiles the program after `records` records, or at once where such a program was compiled before.
    pub(crate) fn compile_behind(&mut self, records: u64) {
        self.sample = match compiled::latest(self.whole.program()) {
            Some(latest) => {
                self.narrow = Some(latest.runner);
                Sample {
                    visited: latest.visited.to_vec(),
                    compiled: 1,
                    ..Sample::default()
                }
            }
            None => Sample {
                visited: vec![false; self.whole.program().blocks()],
                left: records,
                ..Sample::default()
            },
        };
    }

    /// Compiles the blocks that the records of the sample entered; all blocks when these keep changing.
    fn compile_sample(&mut self) -> Result<(), CompileError> {
        let sample = &mut self.sample;
        sample.compiled += 1;
        (sample.records, sample.missed) = (0, 0);
        if sample.compiled > NARROWED_MAX {
            sample.visited.fill(true);
        }
        let compiled = compiled::compiled(self.whole.program(), &sample.visited)?;
        sample.visited.copy_from_slice(&compiled.visited);
        self.narrow = Some(compiled.runner);
        Ok(())
    }

    /// Stops using places once there are too many groups and many records are of groups that are not at theirs: rows
    /// without a place are looked up in batches.
    fn give_up_places(&mut self, aggregates: &mut [Aggregate]) {
        let Some(hashed) = &mut self.hashed else {
            return;
        };
        if hashed.records < HASHED_RECORDS {
            return;
        }
        let is_of_use = hashed.searched < hashed.records / SEARCHED_SHARE;
        *hashed = Hashed::default();
        if !is_of_use {
            aggregates.iter_mut().for_each(Aggregate::give_up_places);
        }
    }

    /// The size of the program.
    #[cfg(test)]
    pub(crate) fn steps(&self) -> usize {
        self.whole.program().steps()
    }

    /// Sets the words of the state that the program reads, and those of the aggregates.
    fn begin(&mut self, aggregates: &mut [Aggregate], number: u64, ports: u8) {
        self.state[PORTS_WORD as usize] = ports.into();
        self.state[NUMBER_WORD as usize] = number;
        self.state[TAKEN_WORD as usize] = 0;
        for (aggregate, output) in aggregates.iter_mut().zip(&self.outputs) {
            let first = output.first_word as usize;
            aggregate.begin_run(output, &mut self.state[first..first + output.words()]);
            self.state[output.rows_word as usize] = 0;
            if output.mode == Mode::Hashed {
                self.state[output.multiplier_word as usize] = aggregate.hash_places();
            }
        }
    }

    /// Runs the program from a place in the window on for `left` records at most, interpreted as long as there is a
    /// sample.
    fn run_once(
        &mut self,
        aggregates: &mut [Aggregate],
        window: &[u8],
        at: usize,
        left: u64,
    ) -> Run {
        // The spaces are an array, because a program that selects rows is run once for each of them.
        let mut spaces: [&mut [u64]; 1 + 2 * PLACES_MAX] = Default::default();
        let mut count = 1;
        spaces[0] = &mut self.state;
        for (aggregate, output) in aggregates.iter_mut().zip(&self.outputs) {
            if output.mode.place_bits().is_some() {
                let (places, entries) = aggregate.spaces();
                (spaces[count], spaces[count + 1]) = (places, entries);
                count += 2;
            }
        }
        let spaces = &mut spaces[..count];
        match (&self.narrow, self.sample.left) {
            (_, to_see @ 1..) => {
                let visited = &mut self.sample.visited;
                let most = left.min(to_see);
                let run = self.whole.sample(window, at, most, spaces, visited);
                // A record that is left to the decoder is counted as well.
                let seen = run.records.saturating_add(1).min(to_see);
                self.sample.left -= seen;
                run
            }
            (Some(narrow), _) => narrow.run(window, at, left, spaces),
            (None, _) => self.whole.run(window, at, left, spaces),
        }
    }

    /// Gives the aggregates the states and rows of a run, and counts its records for the sample and for the places.
    fn end(&mut self, aggregates: &mut [Aggregate], records: u64) {
        for (aggregate, output) in aggregates.iter_mut().zip(&self.outputs) {
            let rows = std::mem::take(&mut self.state[output.rows_word as usize]) as usize;
            if let (Mode::Hashed, Some(hashed)) = (output.mode, &mut self.hashed) {
                hashed.searched += rows as u64;
            }
            let first = output.first_word as usize;
            aggregate.end_run(output, &self.state[first..first + output.words()], rows);
        }
        self.sample.records += records;
        if let Some(hashed) = &mut self.hashed {
            hashed.records += records;
        }
    }

    /// Processes records from the beginning of a window, at most `most`, up to one that has to be decoded or is not
    /// whole in it. `number` is that of the first record, and `ports` has a bit for each port of a capture whose
    /// records have ports.
    pub(crate) fn run(
        &mut self,
        aggregates: &mut [Aggregate],
        window: &[u8],
        number: u64,
        ports: u8,
        most: u64,
    ) -> Passed {
        let mut passed = Passed::default();
        self.begin(aggregates, number, ports);
        let was_seen = self.sample.left;
        loop {
            let left = most.saturating_sub(passed.records);
            let is_compiled = self.sample.left == 0
                && self.narrow.as_deref().unwrap_or(&self.whole).is_compiled();
            let run = self.run_once(aggregates, window, passed.bytes, left);
            passed.bytes = run.at;
            passed.records += run.records;
            if is_compiled {
                passed.compiled += run.records;
            }
            self.end(aggregates, run.records);
            match run.exit {
                Exit::Left(LEAVE_FULL) => {}
                Exit::Left(LEAVE_RARE) => {
                    self.sample.missed += 1;
                    break;
                }
                Exit::Paused if passed.records < most => {}
                _ => break,
            }
        }
        if was_seen != self.sample.left && self.sample.left == 0 {
            passed.is_refused = self.compile_sample().is_err();
        }
        let Sample {
            records, missed, ..
        } = self.sample;
        if missed > MISSED_MAX && missed > records / MISSED_SHARE {
            // The records differ from those of the sample.
            self.sample.left = SAMPLE_RECORDS;
            (self.sample.records, self.sample.missed) = (0, 0);
        }
        if let Some(selected) = &mut self.selected {
            selected.runs += 1;
            selected.passed += passed.records;
            // When most rows are selected, looking at each record twice costs more than it saves.
            passed.is_useless = selected.runs > RUNS_MIN && selected.passed < selected.runs;
        }
        passed.taken = self.state[TAKEN_WORD as usize];
        self.give_up_places(aggregates);
        passed
    }
}

/// The number of bytes below which sources are decoded faster than a program is compiled.
pub(crate) const COMPILED_BYTES_MIN: u64 = 4 << 20;
/// The number of records that are interpreted to find the blocks that they enter.
pub(crate) const SAMPLE_RECORDS: u64 = 512;
/// The number of times that a program is compiled in part before it is compiled as a whole.
const NARROWED_MAX: u32 = 4;
/// The number, and the share of all, of records that may enter blocks that are not compiled.
const MISSED_MAX: u64 = 1024;
const MISSED_SHARE: u64 = 100;
/// The number of runs of a program that selects rows after which its use is measured.
const RUNS_MIN: u64 = 4096;
/// The number of records after which the use of places is measured.
const HASHED_RECORDS: u64 = 1 << 14;
/// The share of records of groups without a place from which on places cost more than they save.
const SEARCHED_SHARE: u64 = 16;
/// The number of branches of all aggregates, at most.
const BRANCHES_MAX: usize = 16;
/// The number of different conditions, at most.
const CONDITIONS_MAX: usize = 64;
/// The number of different fields of headers, at most.
const FIELDS_MAX: usize = 32;
/// The number of aggregates whose keys have places, at most: each takes two spaces.
const PLACES_MAX: usize = 6;
