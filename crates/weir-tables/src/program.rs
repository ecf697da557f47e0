//! Questions as programs: what aggregates ask of each record becomes one loop over the bytes as they lie in the
//! buffer, which is compiled to machine code. A record that is not plain is left where it is, for the
//! decoder, and the loop goes on behind it.

mod ask;
mod facts;
mod give;
mod lower;
mod output;
#[cfg(test)]
mod tests;

use weir_compile::{Exit, Refusal, Runner};
use weir_packet::layout::Layout;
use weir_packet::{LinkType, Options};

use crate::Aggregate;
use ask::Asked;
pub(crate) use lower::Framing;
use lower::{FIRST_FREE_WORD, LEAVE_FULL, NUMBER_WORD, PORTS_WORD, TAKEN_WORD};
pub(crate) use output::{Column, MeasurePlan, Mode, Output};

/// The program of all that some aggregates ask of records that are alike.
pub(crate) struct Questions {
    runner: Runner,
    state: Vec<u64>,
    outputs: Vec<Output>,
}

/// What a program has passed over.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Passed {
    pub(crate) bytes: usize,
    pub(crate) records: u64,
    /// Records that some branch took up.
    pub(crate) taken: u64,
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
        let is_plain = match (framing, layout) {
            (Framing::Fixed(_), Some(_)) => true,
            // The card's header counts in the length of the record.
            (Framing::Capture(weir_capture::RecordFraming::Erf), None) => {
                link_type == LinkType::ERF
            }
            (Framing::Capture(_), None) => {
                link_type != LinkType::ERF && link_type.pseudo_header_len(&[]) == 0
            }
            _ => false,
        };
        let branches: Vec<_> = aggregates.iter().map(Aggregate::branches).collect();
        let count: usize = branches.iter().map(|branches| branches.len()).sum();
        if !is_plain || !(1..=BRANCHES_MAX).contains(&count) {
            return None;
        }
        let asked = Asked::new(&branches, layout)?;
        if asked.conditions.len() > CONDITIONS_MAX || asked.fields.len() > FIELDS_MAX {
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
            runner: Runner::interpreted(program),
            state: vec![0; word as usize],
            outputs,
        })
    }

    /// Makes it machine code.
    pub(crate) fn compile(&mut self) -> Result<(), Refusal> {
        self.runner.compile()
    }

    /// How large the program is.
    #[cfg(test)]
    pub(crate) fn steps(&self) -> usize {
        self.runner.program().steps()
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
        loop {
            let left = most.saturating_sub(passed.records);
            let mut spaces: Vec<&mut [u64]> = vec![&mut self.state];
            for (aggregate, output) in aggregates.iter_mut().zip(&self.outputs) {
                if let Mode::Direct { .. } = output.mode {
                    let (direct, entries) = aggregate.spaces();
                    spaces.extend([direct, entries]);
                }
            }
            let run = self.runner.run(window, passed.bytes, left, &mut spaces);
            passed.bytes = run.at;
            passed.records += run.records;
            for (aggregate, output) in aggregates.iter_mut().zip(&self.outputs) {
                let rows = std::mem::take(&mut self.state[output.rows_word as usize]) as usize;
                let first = output.first_word as usize;
                aggregate.end_run(output, &self.state[first..first + output.words()], rows);
            }
            if run.exit != Exit::Left(LEAVE_FULL) {
                break;
            }
        }
        passed.taken = self.state[TAKEN_WORD as usize];
        passed
    }
}

/// Branches of all aggregates, at most.
const BRANCHES_MAX: usize = 16;
/// Different conditions, at most.
const CONDITIONS_MAX: usize = 64;
/// Different fields of headers, at most.
const FIELDS_MAX: usize = 32;
/// Aggregates whose keys are numbers of a place, at most: each takes two spaces.
const DIRECT_MAX: usize = 2;
