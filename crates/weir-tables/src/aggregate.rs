//! Aggregates over groups of rows, which are added row by row without an Arrow array in between.

mod function;
mod measure;
mod numbers;
mod sketch;

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewBuilder, RecordBatch, RecordBatchOptions, StringViewBuilder,
};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use weir_packet::Kind;

use crate::groups::{Groups, PlaceHash};
use crate::key::{Key, TextInterner};
use crate::program::{MeasurePlan, Mode, Output, WaitingColumn as OutputColumn};
use crate::{Column, Expression, Origin, Predicate, Row};

pub use function::Function;
use measure::Measure;
pub(crate) use measure::ROWS;
use numbers::numbers;
use sketch::ResultKind;
pub use sketch::{Sketch, Sketches};

/// The rows of a source that an aggregation adds: those for which a predicate holds, with the expressions of their keys
/// and arguments. Several branches add rows of one reading, each as if it read the source alone, like the branches of a
/// UNION ALL.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Rows for which it is not true are left out.
    pub predicate: Option<Predicate>,
    /// The keys of the groups.
    pub keys: Vec<Expression>,
    /// The argument of each aggregate; `None` for [`Function::CountRows`].
    pub arguments: Vec<Option<Expression>>,
    /// Rows for which it is not true are left out of this aggregate alone (SQL's FILTER).
    pub filters: Vec<Option<Predicate>>,
}

/// An aggregation: rows on their way into groups.
pub struct Aggregate {
    branches: Vec<Branch>,
    key: Key,
    measures: Vec<Measure>,
    groups: Groups,
    words: TextInterner,
    /// The offset in the state of a group of the flags of measures that have seen a value.
    flags_at: usize,
    /// The number of rows that wait to be added to their groups, [`ROWS`] at most.
    waiting: usize,
    /// The keys of the waiting rows, one behind the other.
    keys: Vec<u64>,
    /// The numbers of the groups of the waiting rows.
    numbers: Vec<u32>,
    /// The number of groups that `next_batch` has returned.
    given: usize,
    gives_states: bool,
}

impl Aggregate {
    /// Creates the groups of the rows of all `branches`, which agree in number and types of keys and arguments, and in
    /// which aggregates have a filter. Returns `None` when a key has more than 12 words, or a type that makes no key or
    /// does not go with its function.
    #[must_use]
    pub fn new(branches: Vec<Branch>, functions: &[Function]) -> Option<Self> {
        let first = branches.first()?;
        let kinds: Vec<Kind> = first.keys.iter().map(Expression::kind).collect();
        let width = |part: usize| {
            let keys = branches.iter().filter_map(|branch| branch.keys.get(part));
            keys.map(Expression::width).max().unwrap_or(u64::BITS)
        };
        let widths: Vec<_> = kinds.iter().copied().zip((0..).map(width)).collect();
        let key = Key::of_widths(&widths)?;
        let (measures, mut fresh) = measures(&branches, functions)?;
        if !branches.iter().all(|it| it.agrees(&kinds, &measures)) {
            return None;
        }
        let flags_at = fresh.len();
        fresh.push(0);
        let mut groups = match key.bits() {
            Some(bits) => Groups::of_bits(bits, fresh),
            None => Groups::new(key.words(), fresh),
        };
        if kinds.is_empty() {
            // Without keys there is one group, also of no rows.
            groups.find_or_insert(&[]);
        }
        Some(Self {
            branches,
            waiting: 0,
            keys: vec![0; key.words() * ROWS],
            numbers: vec![0; ROWS],
            key,
            measures,
            groups,
            words: TextInterner::default(),
            flags_at,
            given: 0,
            gives_states: false,
        })
    }

    /// The same aggregate, whose batches have states in place of results, for an operator that merges those of a key.
    /// States equal the results, except for an average: a count, then a sum. `None` when a function has no such state.
    #[must_use]
    pub fn giving_states(mut self) -> Option<Self> {
        self.gives_states = self.measures.iter().all(|it| it.function.has_state());
        self.gives_states.then_some(self)
    }

    /// Calls `visit` with every column that is read.
    pub fn visit_columns(&self, visit: &mut dyn FnMut(&Column)) {
        for branch in &self.branches {
            branch.visit_columns(visit);
        }
    }

    /// Whether a file that is read in parts, which are then merged, gives an identical result: not for numbers of
    /// records and relative times, which a part does not know, and not for sums that are rounded.
    #[must_use]
    pub fn allows_parts(&self) -> bool {
        let mut knows_number = true;
        self.visit_columns(&mut |column| {
            knows_number &=
                &*column.name != "frame.number" && !matches!(column.origin, Origin::Since(_));
        });
        let rounds = |measure: &Measure| match &measure.function {
            Function::SumFloat => true,
            // Sums of small numbers are whole, and exact below 2^53.
            Function::Average => {
                !matches!(measure.kind, Kind::Bool | Kind::U8 | Kind::U16 | Kind::U32)
            }
            Function::Sketch(sketch) => !sketch.allows_parts(),
            _ => false,
        };
        knows_number && !self.measures.iter().any(rounds)
    }

    /// The number of groups.
    #[must_use]
    pub const fn groups(&self) -> usize {
        self.groups.len()
    }

    /// The number of bytes allocated for groups, keys, sets of values and sketches.
    #[must_use]
    pub fn allocated_bytes(&self) -> usize {
        let beside: usize = self.measures.iter().map(Measure::allocated_bytes).sum();
        self.groups.allocated_bytes() + self.words.allocated_bytes() + beside
    }

    /// Adds a row; returns true when any branch selected it.
    #[inline]
    pub fn push(&mut self, row: &Row<'_>) -> bool {
        let mut taken = false;
        for branch in 0..self.branches.len() {
            taken |= self.push_to(branch, row);
            if self.waiting == ROWS {
                self.flush();
            }
        }
        taken
    }

    #[inline]
    fn push_to(&mut self, branch: usize, row: &Row<'_>) -> bool {
        let branch = &self.branches[branch];
        if let Some(predicate) = &branch.predicate
            && predicate.decide(row) != Some(true)
        {
            return false;
        }
        // The number is always less; the remainder saves a further check of bounds.
        let at = self.waiting % ROWS;
        if !branch.keys.is_empty() {
            let words = self.key.words();
            let key = self.keys.get_mut(at * words..(at + 1) * words);
            let key = key.unwrap_or_default();
            // `fill` would be a call for a few words, and a slow path of the processor for none.
            key.iter_mut().for_each(|word| *word = 0);
            self.key.write(&branch.keys, row, &mut self.words, key);
        }
        let parts = branch.arguments.iter().zip(&branch.filters);
        for (measure, (argument, filter)) in self.measures.iter_mut().zip(parts) {
            measure.take(at, argument.as_ref(), filter.as_ref(), row, &mut self.words);
        }
        self.waiting += 1;
        true
    }

    /// Whether it can be computed from plain fields, as far as its branches allow: sets and texts need decoded packets.
    pub(crate) fn is_plain(&self) -> bool {
        self.measures.iter().all(Measure::is_plain)
    }

    /// Whether its values depend on the current record only.
    pub(crate) fn is_of_record(&self) -> bool {
        let mut is_of_record = true;
        self.visit_columns(&mut |column| {
            is_of_record &= !matches!(column.origin, Origin::Since(_));
        });
        is_of_record
    }

    pub(crate) fn branches(&self) -> &[Branch] {
        &self.branches
    }

    /// The places where a program stores the values, except those in its state.
    pub(crate) fn output(&self) -> Output {
        let plans: Option<Vec<_>> = self
            .measures
            .iter()
            .map(|measure| match (&measure.function, measure.is_wide) {
                // Each number is checked.
                (Function::Sum, true) => None,
                (function, _) => MeasurePlan::new(function, measure.kind, measure.at, measure.flag),
            })
            .collect();
        let mode = match (&plans, self.groups.direct_bits()) {
            (Some(_), _) if self.key.parts() == 0 => Mode::One,
            (Some(_), Some(bits)) => Mode::Direct { bits },
            (Some(_), None) if self.key.words() <= PlaceHash::WORDS_MAX => Mode::Hashed,
            _ => Mode::Rows,
        };
        let mut columns: Vec<_> = (0..self.key.words()).map(OutputColumn::Key).collect();
        for index in 0..self.measures.len() {
            let arguments = self
                .branches
                .iter()
                .map(|branch| branch.arguments.get(index));
            if arguments.flatten().any(Option::is_some) {
                columns.extend([OutputColumn::Value(index), OutputColumn::Validity(index)]);
            }
        }
        Output {
            mode,
            rows_word: 0,
            multiplier_word: 0,
            first_word: 0,
            columns,
            key: self.key.clone(),
            key_words: self.key.words(),
            measures: plans.unwrap_or_default(),
            state_len: self.flags_at + 1,
            flags_at: self.flags_at,
            branches: self.branches.len(),
        }
    }

    /// Prepares a run of a program with this output, whose words are `words`.
    pub(crate) fn begin_run(&mut self, output: &Output, words: &mut [u64]) {
        // Earlier rows are added first.
        if self.waiting > 0 {
            self.flush();
        }
        if output.mode == Mode::One {
            words.copy_from_slice(self.groups.state(0));
        }
    }

    /// Assigns places to groups by the hash of their keys; returns the multiplier of the hash.
    pub(crate) fn hash_places(&mut self) -> u64 {
        self.groups.hash_places()
    }

    /// Stops using places when there are too many groups for them.
    pub(crate) fn give_up_places(&mut self) {
        self.groups.give_up_places();
    }

    /// Keys and states of all groups, in their order.
    #[cfg(test)]
    pub(crate) fn groups_as_words(&mut self) -> Vec<(Vec<u64>, Vec<u64>)> {
        self.flush();
        let groups = 0..self.groups.len();
        groups
            .map(|group| {
                (
                    self.groups.key(group).to_vec(),
                    self.groups.state(group).to_vec(),
                )
            })
            .collect()
    }

    /// The index of groups with small keys, and the keys and states of all groups.
    pub(crate) fn spaces(&mut self) -> (&mut [u64], &mut [u64]) {
        self.groups.spaces()
    }

    /// Adds the values that a program has stored in the words of its output: a state, or waiting rows.
    pub(crate) fn end_run(&mut self, output: &Output, words: &[u64], rows: usize) {
        if output.mode == Mode::One {
            return self.groups.state_mut(0).copy_from_slice(words);
        }
        let rows = rows.min(ROWS);
        if rows == 0 {
            return;
        }
        let key_words = self.key.words();
        for (column, from) in output.columns.iter().zip(words.chunks_exact(ROWS)) {
            let from = &from[..rows];
            match *column {
                OutputColumn::Key(_) if key_words == 1 => self.keys[..rows].copy_from_slice(from),
                OutputColumn::Key(word) => {
                    let keys = self.keys.iter_mut().skip(word).step_by(key_words);
                    for (key, from) in keys.zip(from) {
                        *key = *from;
                    }
                }
                OutputColumn::Value(measure) => {
                    self.measures[measure].numbers().values[..rows].copy_from_slice(from);
                }
                OutputColumn::Validity(measure) => {
                    let validity = self.measures[measure].numbers().validity.iter_mut();
                    for (validity, from) in validity.zip(from) {
                        *validity = *from != 0;
                    }
                }
            }
        }
        self.waiting = rows;
        self.flush();
    }

    /// Adds the waiting rows to their groups, column by column: every aggregate has a loop of its own.
    fn flush(&mut self) {
        let rows = std::mem::take(&mut self.waiting);
        let numbers = &mut self.numbers[..rows];
        let keys = &self.keys[..rows * self.key.words()];
        self.groups.find_many(keys, numbers);
        for measure in &mut self.measures {
            measure.add(&mut self.groups, numbers, self.flags_at);
        }
    }

    /// The predicate without which no branch selects a row.
    pub(crate) fn wanted(&self) -> Option<Predicate> {
        let branches = self.branches.iter();
        let predicates: Option<Vec<_>> = branches.map(|branch| branch.predicate.clone()).collect();
        predicates.map(Predicate::Or)
    }

    /// The current groups as batches of `schema`. They stay, and more rows may be added.
    ///
    /// # Errors
    /// As [`Aggregate::next_batch`].
    pub fn snapshot(
        &mut self,
        schema: &SchemaRef,
        rows_max: usize,
    ) -> Result<Vec<RecordBatch>, ArrowError> {
        let mut batches = Vec::new();
        while let Some(batch) = self.batch(schema, rows_max, ResultKind::Snapshot)? {
            batches.push(batch);
        }
        self.given = 0;
        for sketched in self
            .measures
            .iter_mut()
            .filter_map(|it| it.sketched.as_mut())
        {
            sketched.rewind();
        }
        Ok(batches)
    }

    /// Removes the groups, and frees their memory.
    pub fn clear(&mut self) {
        self.flush();
        self.groups.reset();
        self.words = TextInterner::default();
        self.given = 0;
        for sketched in self
            .measures
            .iter_mut()
            .filter_map(|it| it.sketched.as_mut())
        {
            sketched.clear();
        }
        if self.key.parts() == 0 {
            self.groups.find_or_insert(&[]);
        }
    }

    /// Adds all rows of `other`, which has the same branches and functions, behind those of `self`.
    pub fn merge(&mut self, mut other: Self) {
        self.flush();
        other.flush();
        let texts = self.words.merge(&other.words);
        let mut numbers = Vec::with_capacity(other.groups.len());
        for first in (0..other.groups.len()).step_by(ROWS) {
            let wanted = first..other.groups.len().min(first + ROWS);
            let found = self.merge_states(&other.groups, wanted, &texts);
            numbers.extend(found.iter().map(|group| *group as usize));
        }
        for (measure, theirs) in self.measures.iter_mut().zip(&mut other.measures) {
            if let (Some(ours), Some(theirs)) = (&mut measure.sketched, &mut theirs.sketched) {
                ours.merge(theirs, &numbers, self.groups.len());
            }
            let (Some(seen), Some(others)) = (&mut measure.seen, &theirs.seen) else {
                continue;
            };
            for number in 0..others.groups.len() {
                let mut words = [0; Key::WORDS_MAX];
                let words = seen
                    .key
                    .translate(others.groups.key(number), &texts, &mut words);
                let of = seen.key.first_number(words);
                let Some(group) = numbers.get(of) else {
                    continue;
                };
                seen.key.set_first_number(words, *group);
                if seen.groups.find_or_insert(words).1
                    && let Some(count) = self.groups.state_mut(*group).get_mut(measure.at)
                {
                    *count += 1;
                }
            }
        }
    }

    /// Adds the states of at most [`ROWS`] groups of `other`, which are looked up together, as the cache misses of many keys
    /// overlap. `texts` has the new numbers of the texts in their keys. Returns the groups that they are in now.
    fn merge_states(&mut self, other: &Groups, wanted: Range<usize>, texts: &[u32]) -> &[u32] {
        let words = self.key.words();
        let keys = &mut self.keys[..wanted.len() * words];
        let mut buffer = [0; Key::WORDS_MAX];
        for (key, number) in keys.chunks_exact_mut(words.max(1)).zip(wanted.clone()) {
            key.copy_from_slice(self.key.translate(other.key(number), texts, &mut buffer));
        }
        let numbers = &mut self.numbers[..wanted.len()];
        self.groups.find_many(keys, numbers);
        for (group, number) in numbers.iter().zip(wanted) {
            let theirs = other.state(number);
            let ours = self.groups.state_mut(*group as usize);
            for measure in &self.measures {
                measure.merge(ours, theirs, self.flags_at);
            }
            if let (Some(ours), Some(theirs)) =
                (ours.get_mut(self.flags_at), theirs.get(self.flags_at))
            {
                // The flag of a NULL belongs to the value.
                *ours |= theirs & SEEN_FLAGS;
            }
        }
        numbers
    }

    /// The next groups, in the order in which their first rows came, as a batch of `schema`: keys, then aggregates.
    /// `None` after the last group.
    ///
    /// # Errors
    /// When the schema is not that of the keys and aggregates, or a [`Sketch`] failed.
    pub fn next_batch(
        &mut self,
        schema: &SchemaRef,
        rows_max: usize,
    ) -> Result<Option<RecordBatch>, ArrowError> {
        let result = match self.gives_states {
            true => ResultKind::States,
            false => ResultKind::Results,
        };
        self.batch(schema, rows_max, result)
    }

    fn batch(
        &mut self,
        schema: &SchemaRef,
        rows_max: usize,
        result: ResultKind,
    ) -> Result<Option<RecordBatch>, ArrowError> {
        self.flush();
        let groups = self.given..self.groups.len().min(self.given.saturating_add(rows_max));
        if groups.is_empty() {
            return Ok(None);
        }
        self.given = groups.end;
        let mut arrays = Vec::with_capacity(schema.fields().len());
        for part in 0..self.key.parts() {
            arrays.push(self.key_array(part, groups.clone()));
        }
        for measure in &mut self.measures {
            if let Some(sketched) = &mut measure.sketched {
                let all = sketched.given(self.groups.len(), result)?;
                arrays.extend(all.iter().map(|of| of.slice(groups.start, groups.len())));
                continue;
            }
            let states = groups.clone().map(|group| self.groups.state(group));
            measure.check(states.clone(), self.flags_at)?;
            match result {
                ResultKind::States => measure.state_arrays(states, self.flags_at, &mut arrays),
                _ => arrays.push(measure.array(states, self.flags_at)),
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(groups.len()));
        RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options).map(Some)
    }

    fn key_array(&self, part: usize, groups: Range<usize>) -> ArrayRef {
        let keys = groups.map(|group| self.groups.key(group));
        match self.key.kind(part) {
            Kind::Text => {
                let mut builder = StringViewBuilder::new().with_deduplicate_strings();
                for key in keys {
                    let number = self.key.number(part, key);
                    builder.append_option(number.and_then(|number| self.words.text(number)));
                }
                Arc::new(builder.finish())
            }
            Kind::Address => {
                let mut builder = BinaryViewBuilder::new();
                for key in keys {
                    let mut bytes = [0; 16];
                    builder.append_option(self.key.address(part, key, &mut bytes));
                }
                Arc::new(builder.finish())
            }
            kind => numbers(kind, keys.map(|key| self.key.number(part, key))),
        }
    }
}

/// The measures of functions on the arguments of branches, and the words of the state of a new group; `None` when an
/// argument does not go with its function.
fn measures(branches: &[Branch], functions: &[Function]) -> Option<(Vec<Measure>, Vec<u64>)> {
    let first = branches.first()?;
    let mut measures = Vec::with_capacity(functions.len());
    let mut fresh = Vec::new();
    for (index, function) in functions.iter().enumerate() {
        let argument = first.arguments.get(index)?.as_ref();
        let kind = argument.map_or(Kind::U64, Expression::kind);
        if argument.is_none() != matches!(function, Function::CountRows) {
            return None;
        }
        let mut filters = branches.iter().map(|branch| branch.filters.get(index));
        let is_filtered = filters.any(|filter| filter.is_some_and(Option::is_some));
        let arguments = branches
            .iter()
            .flat_map(|branch| branch.arguments.get(index));
        let mut widths = arguments.flatten().map(Expression::width);
        measures.push(Measure::new(
            function.clone(),
            kind,
            index,
            fresh.len(),
            is_filtered,
            widths.any(|width| width == u64::BITS),
        )?);
        fresh.push(function.fresh(kind));
        if matches!(function, Function::Average) {
            // The state is the sum, followed by the count.
            fresh.push(0);
        }
    }
    Some((measures, fresh))
}

impl Branch {
    /// Returns whether the keys have these types, and arguments and filters are those of the measures.
    fn agrees(&self, kinds: &[Kind], measures: &[Measure]) -> bool {
        let same_keys = self
            .keys
            .iter()
            .map(Expression::kind)
            .eq(kinds.iter().copied());
        let same_arguments = self.arguments.len() == measures.len()
            && self
                .arguments
                .iter()
                .zip(measures)
                .all(|(argument, measure)| {
                    argument
                        .as_ref()
                        .is_none_or(|argument| argument.kind() == measure.kind)
                });
        // Measures are filtered when some branch has a filter for them.
        let same_filters = self.filters.len() == measures.len()
            && self
                .filters
                .iter()
                .zip(measures)
                .all(|(filter, measure)| filter.is_some() == measure.is_filtered);
        same_keys && same_arguments && same_filters
    }

    /// Calls `visit` with every column that is read.
    pub fn visit_columns(&self, visit: &mut dyn FnMut(&Column)) {
        for predicate in self.predicate.iter().chain(self.filters.iter().flatten()) {
            predicate.visit_columns(visit);
        }
        for expression in self.keys.iter().chain(self.arguments.iter().flatten()) {
            expression.visit_columns(visit);
        }
    }
}

/// The flags of a group for measures that have seen a value. The other half has the flags of NULL.
const SEEN_FLAGS: u64 = (1 << 32) - 1;
