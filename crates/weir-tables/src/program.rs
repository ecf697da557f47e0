//! Questions as programs: what aggregates, or the predicate of rows, ask of each record becomes one loop over the bytes as
//! they lie in the buffer, which is compiled to machine code. A record that is not plain is left where it is, for the
//! decoder, and so is one that becomes a row; the loop goes on behind it.

mod ask;
mod facts;
mod framing;
mod give;
mod lower;
mod output;
#[cfg(test)]
mod tests;

use weir_capture::RecordFraming;
use weir_compile::{Exit, Refusal, Runner};
use weir_packet::layout::Layout;
use weir_packet::{LinkType, NextTable, Options};

use crate::reading::COMPILED_BYTES_MIN;
use crate::{Aggregate, Branch, Compile, Predicate, Source};
use ask::Asked;
pub(crate) use framing::Framing;
use lower::{FIRST_FREE_WORD, LEAVE_FULL, LEAVE_RARE, NUMBER_WORD, PORTS_WORD, TAKEN_WORD};
pub(crate) use output::{Column, MeasurePlan, Mode, Output};

/// The program of all that some aggregates ask of records that are alike.
pub(crate) struct Questions {
    /// The whole program.
    whole: Runner,
    /// What is run: the program as far as records went through it, compiled.
    narrow: Option<Runner>,
    sample: Sample,
    state: Vec<u64>,
    outputs: Vec<Output>,
}

/// The ways that records go through a program: what a compiled one has none of is left to the decoder, so
/// that what is rare need not be compiled.
#[derive(Default)]
struct Sample {
    /// Which blocks of the program some record came through.
    visited: Vec<bool>,
    /// Records that are looked at before it is compiled again.
    left: u64,
    /// How many times it was compiled.
    compiled: u32,
    /// Records since then, and those of them that went other ways.
    records: u64,
    missed: u64,
}

/// Whether what an aggregate asks of sources is compiled, for who explains a plan: `Ok` when it is, as far as
/// the records are plain; otherwise why not. `None` where the sources are too small for that to matter.
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
    let asked = match aggregate.is_plain() {
        true => Asked::new(&[aggregate.branches()], layout.map(AsRef::as_ref)),
        false => None,
    };
    let branches = aggregate.branches().len();
    Some(match asked {
        None => Err("more than plain fields is asked for"),
        Some(asked) if !is_small(&asked, branches) => Err("too much is asked for at once"),
        Some(_) if layout.is_some_and(|layout| layout.plain_record_len().is_none()) => {
            Err("the records are not all of one length")
        }
        Some(_) => Ok(()),
    })
}

/// Whether the rows of sources that a predicate holds for are found by a compiled program, as [`compiles`] has it.
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
        Some(asked) if is_small(&asked, 1) => Ok(()),
        Some(_) => Err("too much is asked for at once"),
        None => Err("more than plain fields is asked for"),
    })
}

/// Why nothing that is asked of sources is compiled, if anything could be; inside, `None` where they are too small for
/// that to matter.
fn not_compiled(sources: &[Source], compile: Compile) -> Option<Option<&'static str>> {
    let lens = sources.iter().filter_map(Source::len);
    let is_large = lens.fold(0, u64::saturating_add) >= COMPILED_BYTES_MIN;
    match compile {
        Compile::Never => Some(Some("compiling is turned off")),
        Compile::Large if !is_large => Some(None),
        Compile::Large | Compile::Always => None,
    }
}

/// What a predicate asks of plain fields, without which it does not hold.
fn plain_part(predicate: &Predicate) -> Option<Asked> {
    let branch = |predicate: &Predicate| Branch {
        predicate: Some(predicate.clone()),
        keys: Vec::new(),
        arguments: Vec::new(),
        filters: Vec::new(),
    };
    let asked = |predicate: &Predicate| Asked::new(&[&[branch(predicate)]], None);
    match predicate {
        Predicate::And(parts) => {
            let plain: Vec<_> = parts
                .iter()
                .filter(|part| asked(part).is_some())
                .cloned()
                .collect();
            (!plain.is_empty()).then(|| asked(&Predicate::And(plain)))?
        }
        one => asked(one),
    }
}

/// Records of a capture whose data begins with a header that the link type names.
fn is_plain_capture(framing: Framing, link_type: LinkType) -> bool {
    match framing {
        Framing::Fixed(_) => false,
        // The card's header counts in the length of the record.
        Framing::Capture(RecordFraming::Erf) => link_type == LinkType::ERF,
        Framing::Capture(_) => link_type != LinkType::ERF && link_type.pseudo_header_len(&[]) == 0,
    }
}

/// Headers are asked for only where they are decoded: the decoder counts the records of other link types.
fn is_decoded(asked: &Asked, link_type: LinkType, layout: Option<&Layout>) -> bool {
    let is_known = || NextTable::LinkType.layer(link_type.0.into()).is_some();
    asked.fields.is_empty() || layout.is_some() || is_known()
}

/// What is asked makes no program that is too large.
fn is_small(asked: &Asked, branches: usize) -> bool {
    (1..=BRANCHES_MAX).contains(&branches)
        && asked.conditions.len() <= CONDITIONS_MAX
        && asked.fields.len() <= FIELDS_MAX
}

/// What a program has passed over.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passed {
    pub(crate) bytes: usize,
    pub(crate) records: u64,
    /// Records that some branch took up.
    pub(crate) taken: u64,
    /// Records that went through machine code.
    pub(crate) compiled: u64,
    /// The system gives no memory for machine code: the records were interpreted.
    pub(crate) is_refused: bool,
    /// It passes over too few records to be worth it.
    pub(crate) is_useless: bool,
}

impl Questions {
    /// The program of what `aggregates` ask; `None` when one of them asks for more than plain fields, or
    /// for so many that the program would be too large.
    pub(crate) fn new(
        aggregates: &[Aggregate],
        framing: Framing,
        link_type: LinkType,
        layout: Option<&Layout>,
        options: &Options,
    ) -> Option<Self> {
        if !aggregates.iter().all(Aggregate::is_plain) || aggregates.is_empty() {
            return None;
        }
        let is_plain = match layout {
            Some(_) => matches!(framing, Framing::Fixed(_)),
            None => is_plain_capture(framing, link_type),
        };
        let branches: Vec<_> = aggregates.iter().map(Aggregate::branches).collect();
        let count: usize = branches.iter().map(|branches| branches.len()).sum();
        if !is_plain {
            return None;
        }
        let asked = Asked::new(&branches, layout)?;
        if !is_small(&asked, count) || !is_decoded(&asked, link_type, layout) {
            return None;
        }
        let mut word = FIRST_FREE_WORD;
        let mut outputs = Vec::with_capacity(aggregates.len());
        let mut direct_left = DIRECT_MAX;
        for aggregate in aggregates {
            let mut output = aggregate.output();
            match output.mode {
                Mode::Direct { .. } if direct_left == 0 => output.mode = Mode::Rows,
                Mode::Direct { .. } => direct_left -= 1,
                _ => {}
            }
            output.rows_word = word;
            output.first_word = word + 1;
            word = output.first_word + u32::try_from(output.words()).ok()?;
            outputs.push(output);
        }
        let program = lower::lower(&asked, &outputs, word, framing, link_type, options).ok()?;
        Some(Self {
            whole: Runner::interpreted(program),
            narrow: None,
            sample: Sample::default(),
            state: vec![0; word as usize],
            outputs,
        })
    }

    /// The program that passes over records for which a predicate does not hold, as far as that asks for plain fields,
    /// and leaves all others to the decoder, which asks again; `None` when it asks for none.
    pub(crate) fn selecting(
        predicate: &Predicate,
        framing: Framing,
        link_type: LinkType,
        options: &Options,
    ) -> Option<Self> {
        let asked = plain_part(predicate)?;
        let is_plain = is_plain_capture(framing, link_type) && is_decoded(&asked, link_type, None);
        if !is_plain || !is_small(&asked, 1) {
            return None;
        }
        let program =
            lower::lower(&asked, &[], FIRST_FREE_WORD, framing, link_type, options).ok()?;
        Some(Self {
            whole: Runner::interpreted(program),
            narrow: None,
            sample: Sample::default(),
            state: vec![0; FIRST_FREE_WORD as usize],
            outputs: Vec::new(),
        })
    }

    /// Makes it machine code, whatever the records are.
    pub(crate) fn compile(&mut self) -> Result<(), Refusal> {
        self.whole.compile()
    }

    /// Makes it machine code once it has seen so many records.
    pub(crate) fn compile_behind(&mut self, records: u64) {
        self.sample = Sample {
            visited: vec![false; self.whole.program().blocks()],
            left: records,
            ..Sample::default()
        };
    }

    /// Compiles what the records of the sample went through; all of it when that keeps changing.
    fn compile_sample(&mut self) -> Result<(), Refusal> {
        let sample = &mut self.sample;
        sample.compiled += 1;
        (sample.records, sample.missed) = (0, 0);
        if sample.compiled > NARROWED_MAX {
            sample.visited.fill(true);
        }
        let program = self.whole.program().narrowed(&sample.visited, LEAVE_RARE);
        let mut runner = Runner::interpreted(program.map_err(Refusal::new)?);
        runner.compile()?;
        self.narrow = Some(runner);
        Ok(())
    }

    /// How large the program is.
    #[cfg(test)]
    pub(crate) fn steps(&self) -> usize {
        self.whole.program().steps()
    }

    /// Takes up records from the beginning of a window, `most` of them at most, up to one that has to be decoded
    /// or does not lie whole in it. `number` is that of the first record, and `ports` has a bit for each port of
    /// a capture whose records tell them.
    pub(crate) fn run(
        &mut self,
        aggregates: &mut [Aggregate],
        window: &[u8],
        number: u64,
        ports: u8,
        most: u64,
    ) -> Passed {
        let mut passed = Passed::default();
        self.state[PORTS_WORD as usize] = ports.into();
        self.state[NUMBER_WORD as usize] = number;
        self.state[TAKEN_WORD as usize] = 0;
        for (aggregate, output) in aggregates.iter_mut().zip(&self.outputs) {
            let first = output.first_word as usize;
            aggregate.begin_run(output, &mut self.state[first..first + output.words()]);
            self.state[output.rows_word as usize] = 0;
        }
        let was_seen = self.sample.left;
        loop {
            let left = most.saturating_sub(passed.records);
            let is_compiled =
                self.sample.left == 0 && self.narrow.as_ref().unwrap_or(&self.whole).is_compiled();
            let mut spaces: Vec<&mut [u64]> = vec![&mut self.state];
            for (aggregate, output) in aggregates.iter_mut().zip(&self.outputs) {
                if let Mode::Direct { .. } = output.mode {
                    let (direct, entries) = aggregate.spaces();
                    spaces.extend([direct, entries]);
                }
            }
            let run = match (&self.narrow, self.sample.left) {
                (_, to_see @ 1..) => {
                    let visited = &mut self.sample.visited;
                    let most = left.min(to_see);
                    let run = self
                        .whole
                        .sample(window, passed.bytes, most, &mut spaces, visited);
                    // One that is left is seen as well.
                    let seen = run.records.saturating_add(1).min(to_see);
                    self.sample.left -= seen;
                    run
                }
                (Some(narrow), _) => narrow.run(window, passed.bytes, left, &mut spaces),
                (None, _) => self.whole.run(window, passed.bytes, left, &mut spaces),
            };
            drop(spaces);
            passed.bytes = run.at;
            passed.records += run.records;
            if is_compiled {
                passed.compiled += run.records;
            }
            for (aggregate, output) in aggregates.iter_mut().zip(&self.outputs) {
                let rows = std::mem::take(&mut self.state[output.rows_word as usize]) as usize;
                let first = output.first_word as usize;
                aggregate.end_run(output, &self.state[first..first + output.words()], rows);
            }
            self.sample.records += run.records;
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
            // The records are others than those of the sample.
            self.sample.left = SAMPLE_RECORDS;
            (self.sample.records, self.sample.missed) = (0, 0);
        }
        passed.taken = self.state[TAKEN_WORD as usize];
        passed
    }
}

/// Records that are interpreted to see which ways they go.
pub(crate) const SAMPLE_RECORDS: u64 = 512;
/// A program is compiled as far as records go through it so many times, and then whole.
const NARROWED_MAX: u32 = 4;
/// So many records may go ways that are not compiled, or one in so many of all.
const MISSED_MAX: u64 = 1024;
const MISSED_SHARE: u64 = 100;
/// Branches of all aggregates, at most.
const BRANCHES_MAX: usize = 16;
/// Different conditions, at most.
const CONDITIONS_MAX: usize = 64;
/// Different fields of headers, at most.
const FIELDS_MAX: usize = 32;
/// Aggregates whose keys are numbers of a place, at most: each takes two spaces.
const DIRECT_MAX: usize = 2;
