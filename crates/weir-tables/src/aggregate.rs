//! Aggregates over groups of rows, taken up row by row without an Arrow array in between.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewBuilder, BooleanArray, Float64Array, Int64Array, RecordBatch,
    RecordBatchOptions, StringViewBuilder, TimestampNanosecondArray, UInt8Array, UInt16Array,
    UInt32Array, UInt64Array,
};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use weir_packet::layout::Layout;
use weir_packet::{Kind, LayerSet, Outline};

use crate::groups::Groups;
use crate::key::{Key, Words};
use crate::raw::{RawBranch, RawRow};
use crate::{Column, Expression, Predicate, Row};

/// What is computed of each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names say it")]
pub enum Function {
    /// Rows, whatever is in them.
    CountRows,
    /// Rows in which the argument is not NULL.
    Count,
    /// Different values of the argument.
    CountDistinct,
    /// Of 64-bit integers, wrapping around; NULL without a value.
    Sum,
    /// As a floating-point number.
    SumFloat,
    /// As a floating-point number.
    Average,
    Minimum,
    Maximum,
    BitAnd,
    BitOr,
    BitExclusiveOr,
    BoolAnd,
    BoolOr,
    /// Of the first row, NULL or not.
    First,
    /// Of the last row, NULL or not.
    Last,
}

/// The rows that an aggregation takes up from a source: those for which a predicate holds, with what
/// they give to the keys and the aggregates. Several branches take up rows of one reading, each as
/// if it read the source alone, like the branches of a UNION ALL.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Rows for which it is not true are left out.
    pub predicate: Option<Predicate>,
    /// What the groups are keyed by.
    pub keys: Vec<Expression>,
    /// The argument of each aggregate; `None` for [`Function::CountRows`].
    pub arguments: Vec<Option<Expression>>,
    /// Rows for which it is not true are left out of this aggregate alone (SQL's FILTER).
    pub filters: Vec<Option<Predicate>>,
}

/// Rows on their way into groups.
pub struct Aggregate {
    branches: Vec<Branch>,
    /// The same for usual packets, when all ask for plain fields only; or none.
    raw: Vec<RawBranch>,
    key: Key,
    measures: Vec<Measure>,
    groups: Groups,
    words: Words,
    /// Of the state of a group: which of its measures have seen a value.
    flags_at: usize,
    /// Rows that wait to be added to their groups, many at a time.
    waiting: usize,
    /// Their keys, one behind the other.
    keys: Vec<u64>,
    /// Their groups.
    numbers: Vec<u32>,
    /// Groups given out by `next_batch`.
    given: usize,
}

/// An aggregate with its place in the state of a group.
struct Measure {
    function: Function,
    /// Type of the argument.
    kind: Kind,
    at: usize,
    flag: u64,
    /// For [`Function::CountDistinct`].
    seen: Option<Seen>,
    /// Some branch leaves rows out of this aggregate alone.
    is_filtered: bool,
    /// The arguments of the rows that wait.
    values: Box<[u64; ROWS]>,
    presence: Box<[Presence; ROWS]>,
}

/// What a waiting row has for an aggregate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// A filter leaves the row out.
    Out,
    Null,
    Value,
}

/// Values seen, each with the number of the group that it was seen in.
struct Seen {
    key: Key,
    groups: Groups,
    /// The keys of the rows that wait, their numbers still 0.
    keys: Vec<u64>,
}

impl Aggregate {
    /// Groups of the rows of all `branches`, which agree in number and types of keys and arguments,
    /// and in which aggregates have a filter.
    /// `None` when a key has more than 12 words, or a type that makes no key or does
    /// not go with its function.
    #[must_use]
    pub fn new(branches: Vec<Branch>, functions: &[Function]) -> Option<Self> {
        let first = branches.first()?;
        let kinds: Vec<Kind> = first.keys.iter().map(Expression::kind).collect();
        let key = Key::new(&kinds)?;
        let mut measures = Vec::with_capacity(functions.len());
        let mut fresh = Vec::new();
        for (index, function) in functions.iter().enumerate() {
            let argument = first.arguments.get(index)?.as_ref();
            let kind = argument.map_or(Kind::U64, Expression::kind);
            if !function.takes(kind) || argument.is_none() != (*function == Function::CountRows) {
                return None;
            }
            let seen = match function {
                Function::CountDistinct => {
                    let key = Key::new(&[Kind::U32, kind])?;
                    Some(Seen {
                        groups: Groups::new(key.words(), Vec::new()),
                        keys: vec![0; key.words() * ROWS],
                        key,
                    })
                }
                _ => None,
            };
            measures.push(Measure {
                function: *function,
                kind,
                at: fresh.len(),
                // Half of the bits: the others say that what was seen is NULL.
                flag: 1 << u32::try_from(index).ok().filter(|index| *index < 32)?,
                seen,
                is_filtered: branches
                    .iter()
                    .any(|branch| branch.filters.get(index).is_some_and(Option::is_some)),
                values: Box::new([0; ROWS]),
                presence: Box::new([Presence::Value; ROWS]),
            });
            fresh.push(function.fresh(kind));
            if *function == Function::Average {
                // The sum, and beside it the count.
                fresh.push(0);
            }
        }
        for branch in &branches {
            let same_keys = branch
                .keys
                .iter()
                .map(Expression::kind)
                .eq(kinds.iter().copied());
            let same_arguments = branch.arguments.len() == measures.len()
                && branch
                    .arguments
                    .iter()
                    .zip(&measures)
                    .all(|(argument, measure)| {
                        argument
                            .as_ref()
                            .is_none_or(|argument| argument.kind() == measure.kind)
                    });
            // A row without a filter does not say again that it counts.
            let same_filters = branch.filters.len() == measures.len()
                && branch
                    .filters
                    .iter()
                    .zip(&measures)
                    .all(|(filter, measure)| filter.is_some() == measure.is_filtered);
            if !same_keys || !same_arguments || !same_filters {
                return None;
            }
        }
        let flags_at = fresh.len();
        fresh.push(0);
        let mut groups = Groups::new(key.words(), fresh);
        if kinds.is_empty() {
            // One group, also of no rows.
            groups.find_or_insert(&[]);
        }
        Some(Self {
            raw: Vec::new(),
            branches,
            waiting: 0,
            keys: vec![0; key.words() * ROWS],
            numbers: vec![0; ROWS],
            key,
            measures,
            groups,
            words: Words::default(),
            flags_at,
            given: 0,
        })
    }

    /// Calls `visit` with every column that is read.
    pub fn visit_columns(&self, visit: &mut dyn FnMut(&Column)) {
        for branch in &self.branches {
            branch.visit_columns(visit);
        }
    }

    /// True when a file that is read in parts, which are then merged, gives the same to the last bit:
    /// not for numbers of records, which a part does not know, nor for sums that are rounded.
    #[must_use]
    pub fn allows_parts(&self) -> bool {
        let mut knows_number = true;
        self.visit_columns(&mut |column| knows_number &= &*column.name != "frame.number");
        let rounds = |measure: &Measure| match measure.function {
            Function::SumFloat => true,
            // Sums of small numbers are whole, and exact below 2^53.
            Function::Average => {
                !matches!(measure.kind, Kind::Bool | Kind::U8 | Kind::U16 | Kind::U32)
            }
            _ => false,
        };
        knows_number && !self.measures.iter().any(rounds)
    }

    /// How many groups there are.
    #[must_use]
    pub const fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Bytes allocated for groups, keys and sets of values.
    #[must_use]
    pub fn allocated_bytes(&self) -> usize {
        let seen = self
            .measures
            .iter()
            .filter_map(|measure| measure.seen.as_ref());
        let seen: usize = seen.map(|seen| seen.groups.allocated_bytes()).sum();
        self.groups.allocated_bytes() + self.words.allocated_bytes() + seen
    }

    /// Takes up a row; gives whether any branch did.
    #[inline]
    pub fn push(&mut self, row: &Row<'_>) -> bool {
        let mut taken = false;
        for branch in &self.branches {
            if let Some(predicate) = &branch.predicate
                && predicate.decide(row) != Some(true)
            {
                continue;
            }
            taken = true;
            // Always less; said so that no bound is checked again.
            let at = self.waiting % ROWS;
            if !branch.keys.is_empty() {
                let words = self.key.words();
                let key = self.keys.get_mut(at * words..(at + 1) * words);
                let key = key.unwrap_or_default();
                // Not `fill`: a call for a few words, and a trap of the CPU for none.
                key.iter_mut().for_each(|word| *word = 0);
                self.key.write(&branch.keys, row, &mut self.words, key);
            }
            let parts = branch.arguments.iter().zip(&branch.filters);
            for (measure, (argument, filter)) in self.measures.iter_mut().zip(parts) {
                match (argument, filter) {
                    // Every row counts: that is what `presence` says from the start.
                    (None, None) => {}
                    (Some(argument), None) => measure.take(at, argument, row, &mut self.words),
                    (argument, Some(filter)) => {
                        let presence = &mut measure.presence[at];
                        *presence = match filter.decide(row) {
                            Some(true) => Presence::Value,
                            _ => Presence::Out,
                        };
                        if let (Some(argument), Presence::Value) = (argument, *presence) {
                            measure.take(at, argument, row, &mut self.words);
                        }
                    }
                }
            }
            self.waiting += 1;
            if self.waiting == ROWS {
                add_waiting(
                    &mut self.groups,
                    &mut self.measures,
                    self.flags_at,
                    &self.keys,
                    &mut self.numbers,
                );
                self.waiting = 0;
            }
        }
        taken
    }

    /// Begins anew to give out the groups, which stay: those so far, each as it stands.
    pub const fn rewind(&mut self) {
        self.given = 0;
    }

    /// Rows for which it does not hold are taken up by no branch.
    pub(crate) fn wanted(&self) -> Option<Predicate> {
        let branches = self.branches.iter();
        let predicates: Option<Vec<_>> = branches.map(|branch| branch.predicate.clone()).collect();
        predicates.map(Predicate::Or)
    }

    /// Prepares to take up usual packets, or records of this layout, as they are. False when the
    /// question asks for more than plain fields.
    pub(crate) fn prepare_raw(&mut self, layout: Option<&Layout>) -> bool {
        // Sets and texts are taken up from decoded packets.
        let is_plain = self.measures.iter().all(|measure| {
            measure.seen.is_none()
                && !matches!(measure.kind, Kind::Text | Kind::Address | Kind::Bytes)
        });
        let branches = self.branches.iter();
        let raw: Option<Vec<_>> = branches
            .map(|branch| RawBranch::new(branch, layout))
            .collect();
        self.raw = raw.filter(|_| is_plain).unwrap_or_default();
        !self.raw.is_empty()
    }

    /// The headers that must be looked at for [`Aggregate::push_raw`].
    pub(crate) fn raw_layers(&self) -> LayerSet {
        let branches = self.raw.iter();
        branches.fold(LayerSet::EMPTY, |layers, branch| {
            layers.union(branch.layers())
        })
    }

    /// Takes up a usual packet; gives whether any branch did.
    #[inline]
    pub(crate) fn push_raw(&mut self, row: &RawRow<'_>, outline: &Outline) -> bool {
        let mut taken = false;
        for branch in &self.raw {
            if !branch.keeps(row, outline) {
                continue;
            }
            taken = true;
            // Always less; said so that no bound is checked again.
            let at = self.waiting % ROWS;
            if !branch.keys.is_empty() {
                let words = self.key.words();
                let key = self.keys.get_mut(at * words..(at + 1) * words);
                let key = key.unwrap_or_default();
                key.iter_mut().for_each(|word| *word = 0);
                for (part, load) in branch.keys.iter().enumerate() {
                    self.key.put(part, load.bits(row, outline), key);
                }
            }
            for (measure, load) in self.measures.iter_mut().zip(&branch.arguments) {
                if let Some(load) = load {
                    measure.presence[at] = match load.bits(row, outline) {
                        Some(value) => {
                            measure.values[at] = value;
                            Presence::Value
                        }
                        None => Presence::Null,
                    };
                }
            }
            self.waiting += 1;
            if self.waiting == ROWS {
                add_waiting(
                    &mut self.groups,
                    &mut self.measures,
                    self.flags_at,
                    &self.keys,
                    &mut self.numbers,
                );
                self.waiting = 0;
            }
        }
        taken
    }

    /// Adds the rows that wait to their groups.
    fn flush(&mut self) {
        let rows = std::mem::take(&mut self.waiting);
        add_waiting(
            &mut self.groups,
            &mut self.measures,
            self.flags_at,
            &self.keys[..rows * self.key.words()],
            &mut self.numbers[..rows],
        );
    }

    /// Takes up all that `other`, made with the same branches and functions, has taken up, as if its
    /// rows had come behind those of `self`.
    pub fn merge(&mut self, mut other: Self) {
        self.flush();
        other.flush();
        let texts = self.words.merge(&other.words);
        let mut numbers = Vec::with_capacity(other.groups.len());
        for number in 0..other.groups.len() {
            let mut key = [0; Key::WORDS_MAX];
            let key = self
                .key
                .translate(other.groups.key(number), &texts, &mut key);
            let group = self.groups.find_or_insert(key).0;
            numbers.push(group);
            let theirs = other.groups.state(number);
            let ours = self.groups.state_mut(group);
            for measure in &self.measures {
                measure.merge(ours, theirs, self.flags_at);
            }
            if let (Some(ours), Some(theirs)) =
                (ours.get_mut(self.flags_at), theirs.get(self.flags_at))
            {
                // What is NULL went with the value.
                *ours |= theirs & SEEN_FLAGS;
            }
        }
        for (measure, theirs) in self.measures.iter_mut().zip(&other.measures) {
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

    /// The next groups, in the order in which their first rows came, as a batch of `schema`: keys,
    /// then aggregates. `None` when all were given.
    ///
    /// # Errors
    /// When the schema is not that of the keys and aggregates.
    pub fn next_batch(
        &mut self,
        schema: &SchemaRef,
        rows_max: usize,
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
        for measure in &self.measures {
            let states = groups.clone().map(|group| self.groups.state(group));
            arrays.push(measure.array(states, self.flags_at));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(groups.len()));
        RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options).map(Some)
    }

    fn key_array(&self, part: usize, groups: std::ops::Range<usize>) -> ArrayRef {
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

impl Branch {
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

impl Function {
    /// True when the function can be computed of arguments of this type.
    #[must_use]
    pub const fn takes(self, kind: Kind) -> bool {
        match self {
            Self::CountRows => true,
            Self::Count => true,
            Self::CountDistinct => Key::takes(kind),
            Self::Sum => matches!(kind, Kind::U64 | Kind::I64),
            Self::SumFloat | Self::Average => {
                matches!(
                    kind,
                    Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::I64 | Kind::F64
                )
            }
            Self::Minimum | Self::Maximum | Self::First | Self::Last => matches!(
                kind,
                Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::I64 | Kind::Time
            ),
            Self::BitAnd | Self::BitOr | Self::BitExclusiveOr => {
                matches!(
                    kind,
                    Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::I64
                )
            }
            Self::BoolAnd | Self::BoolOr => matches!(kind, Kind::Bool),
        }
    }

    /// The state before any row.
    fn fresh(self, kind: Kind) -> u64 {
        let signed = matches!(kind, Kind::I64 | Kind::Time);
        match self {
            Self::Minimum if signed => i64::MAX as u64,
            Self::Minimum | Self::BitAnd => u64::MAX,
            Self::Maximum if signed => i64::MIN as u64,
            Self::BoolAnd => 1,
            Self::SumFloat | Self::Average => 0_f64.to_bits(),
            _ => 0,
        }
    }
}

impl Measure {
    /// Takes up the argument of a row, which waits at `at`.
    #[inline]
    fn take(&mut self, at: usize, argument: &Expression, row: &Row<'_>, words: &mut Words) {
        let there = match (&mut self.seen, self.kind) {
            (Some(seen), _) => {
                let words_of_key = seen.key.words();
                let key = seen
                    .keys
                    .get_mut(at * words_of_key..(at + 1) * words_of_key);
                let key = key.unwrap_or_default();
                key.fill(0);
                seen.key.write_value(argument, row, words, key)
            }
            (None, Kind::Text) => argument.with_text(row, |_| ()).is_some(),
            (None, Kind::Address) => argument.address(row).is_some(),
            (None, Kind::Bytes) => argument.has_bytes(row),
            (None, _) => match argument.bits(row) {
                Some(bits) => {
                    self.values[at] = bits;
                    true
                }
                None => false,
            },
        };
        self.presence[at] = if there {
            Presence::Value
        } else {
            Presence::Null
        };
    }

    /// Adds what waits to the groups with these numbers.
    fn add(&mut self, groups: &mut Groups, numbers: &[u32], flags_at: usize) {
        let signed = matches!(self.kind, Kind::I64 | Kind::Time);
        match self.function {
            // Of all rows, in the one group that there is.
            Function::CountRows if groups.len() == 1 && !self.is_filtered => {
                groups.state_mut(0)[self.at] += numbers.len() as u64;
            }
            Function::CountRows | Function::Count => {
                for (number, presence) in numbers.iter().zip(&*self.presence) {
                    let more = u64::from(*presence == Presence::Value);
                    groups.state_mut(*number as usize)[self.at] += more;
                }
            }
            Function::CountDistinct => {
                let Some(seen) = &mut self.seen else {
                    return;
                };
                let keys = seen.keys.chunks_exact_mut(seen.key.words());
                for ((number, presence), key) in numbers.iter().zip(&*self.presence).zip(keys) {
                    if *presence == Presence::Value {
                        seen.key.set_first_number(key, *number as usize);
                        if seen.groups.find_or_insert(key).1 {
                            groups.state_mut(*number as usize)[self.at] += 1;
                        }
                    }
                }
            }
            Function::First | Function::Last => self.add_in_order(groups, numbers, flags_at),
            Function::Average => {
                for (number, presence) in numbers.iter().zip(&*self.presence) {
                    let more = u64::from(*presence == Presence::Value);
                    groups.state_mut(*number as usize)[self.at + 1] += more;
                }
                self.add_floats(groups, numbers, flags_at);
            }
            Function::SumFloat => self.add_floats(groups, numbers, flags_at),
            Function::Sum => self.fold(groups, numbers, flags_at, u64::wrapping_add),
            Function::Minimum if signed => {
                self.fold(groups, numbers, flags_at, |a, b| {
                    (a as i64).min(b as i64) as u64
                });
            }
            Function::Minimum => self.fold(groups, numbers, flags_at, u64::min),
            Function::Maximum if signed => {
                self.fold(groups, numbers, flags_at, |a, b| {
                    (a as i64).max(b as i64) as u64
                });
            }
            Function::Maximum => self.fold(groups, numbers, flags_at, u64::max),
            Function::BitAnd | Function::BoolAnd => {
                self.fold(groups, numbers, flags_at, |a, b| a & b);
            }
            Function::BitOr | Function::BoolOr => {
                self.fold(groups, numbers, flags_at, |a, b| a | b);
            }
            Function::BitExclusiveOr => self.fold(groups, numbers, flags_at, |a, b| a ^ b),
        }
    }

    fn add_floats(&self, groups: &mut Groups, numbers: &[u32], flags_at: usize) {
        let add = |sum: u64, value: f64| (f64::from_bits(sum) + value).to_bits();
        match self.kind {
            Kind::F64 => self.fold(groups, numbers, flags_at, |a, b| add(a, f64::from_bits(b))),
            Kind::I64 => self.fold(groups, numbers, flags_at, |a, b| add(a, b as i64 as f64)),
            _ => self.fold(groups, numbers, flags_at, |a, b| add(a, b as f64)),
        }
    }

    /// Puts each value that is there into the state of its group.
    #[inline]
    fn fold(
        &self,
        groups: &mut Groups,
        numbers: &[u32],
        flags_at: usize,
        combine: impl Fn(u64, u64) -> u64,
    ) {
        let rows = numbers.iter().zip(self.values.iter().zip(&*self.presence));
        for (number, (value, presence)) in rows {
            if *presence == Presence::Value {
                let state = groups.state_mut(*number as usize);
                state[self.at] = combine(state[self.at], *value);
                state[flags_at] |= self.flag;
            }
        }
    }

    /// The first or the last row of a group, NULL or not.
    fn add_in_order(&self, groups: &mut Groups, numbers: &[u32], flags_at: usize) {
        let null = self.null_flag();
        let rows = numbers.iter().zip(self.values.iter().zip(&*self.presence));
        for (number, (value, presence)) in rows {
            let state = groups.state_mut(*number as usize);
            let is_set = state[flags_at] & self.flag != 0;
            if *presence == Presence::Out || (is_set && self.function == Function::First) {
                continue;
            }
            state[flags_at] |= self.flag;
            if *presence == Presence::Null {
                state[flags_at] |= null;
            } else {
                state[flags_at] &= !null;
                state[self.at] = *value;
            }
        }
    }

    /// The states of two groups in one.
    fn combine(&self, ours: u64, theirs: u64) -> u64 {
        let signed = matches!(self.kind, Kind::I64 | Kind::Time);
        match self.function {
            Function::Sum | Function::Count | Function::CountRows => ours.wrapping_add(theirs),
            Function::SumFloat | Function::Average => {
                (f64::from_bits(ours) + f64::from_bits(theirs)).to_bits()
            }
            Function::Minimum if signed => (ours as i64).min(theirs as i64) as u64,
            Function::Minimum => ours.min(theirs),
            Function::Maximum if signed => (ours as i64).max(theirs as i64) as u64,
            Function::Maximum => ours.max(theirs),
            Function::BitAnd | Function::BoolAnd => ours & theirs,
            Function::BitOr | Function::BoolOr => ours | theirs,
            Function::BitExclusiveOr => ours ^ theirs,
            // These have their own ways.
            Function::CountDistinct | Function::First | Function::Last => ours,
        }
    }

    fn merge(&self, ours: &mut [u64], theirs: &[u64], flags_at: usize) {
        let seen = theirs[flags_at] & self.flag != 0;
        match self.function {
            Function::CountDistinct => return,
            Function::First if ours[flags_at] & self.flag != 0 => return,
            Function::First | Function::Last => {
                if seen {
                    ours[self.at] = theirs[self.at];
                    let null = self.null_flag();
                    ours[flags_at] = ours[flags_at] & !null | theirs[flags_at] & null;
                }
                return;
            }
            Function::Average => ours[self.at + 1] += theirs[self.at + 1],
            Function::Count | Function::CountRows => {}
            _ if !seen => return,
            _ => {}
        }
        ours[self.at] = self.combine(ours[self.at], theirs[self.at]);
    }

    /// The bit that says that the value kept is NULL.
    const fn null_flag(&self) -> u64 {
        self.flag.rotate_left(32)
    }

    fn array<'s>(&self, states: impl Iterator<Item = &'s [u64]>, flags_at: usize) -> ArrayRef {
        let at = self.at;
        let seen = |state: &[u64]| state[flags_at] & self.flag != 0;
        match self.function {
            Function::CountRows | Function::Count | Function::CountDistinct => Arc::new(
                Int64Array::from_iter_values(states.map(|state| state[at] as i64)),
            ),
            Function::SumFloat => Arc::new(Float64Array::from_iter(
                states.map(|state| seen(state).then(|| f64::from_bits(state[at]))),
            )),
            Function::Average => Arc::new(Float64Array::from_iter(states.map(|state| {
                seen(state).then(|| f64::from_bits(state[at]) / state[at + 1] as f64)
            }))),
            Function::First | Function::Last => {
                let null = self.null_flag();
                let known = |state: &[u64]| seen(state) && state[flags_at] & null == 0;
                numbers(
                    self.kind,
                    states.map(|state| known(state).then(|| state[at])),
                )
            }
            _ => numbers(
                self.kind,
                states.map(|state| seen(state).then(|| state[at])),
            ),
        }
    }
}

/// Adds rows to their groups, column by column: every aggregate has a loop of its own.
fn add_waiting(
    groups: &mut Groups,
    measures: &mut [Measure],
    flags_at: usize,
    keys: &[u64],
    numbers: &mut [u32],
) {
    groups.find_many(keys, numbers);
    for measure in measures {
        measure.add(groups, numbers, flags_at);
    }
}

/// Of the flags of a group: which measures have seen a value. The other half says what was NULL.
const SEEN_FLAGS: u64 = (1 << 32) - 1;

/// Rows that wait for each other before they are added to their groups: few enough to stay in the
/// first cache, many enough to hide the wait for groups that are not.
const ROWS: usize = 128;

/// An array of the Arrow type that columns of this kind have.
fn numbers(kind: Kind, values: impl Iterator<Item = Option<u64>>) -> ArrayRef {
    match kind {
        Kind::Bool => Arc::new(BooleanArray::from_iter(values.map(|v| v.map(|v| v != 0)))),
        Kind::U8 => Arc::new(UInt8Array::from_iter(values.map(|v| v.map(|v| v as u8)))),
        Kind::U16 => Arc::new(UInt16Array::from_iter(values.map(|v| v.map(|v| v as u16)))),
        Kind::U32 => Arc::new(UInt32Array::from_iter(values.map(|v| v.map(|v| v as u32)))),
        Kind::I64 => Arc::new(Int64Array::from_iter(values.map(|v| v.map(|v| v as i64)))),
        Kind::F64 => Arc::new(Float64Array::from_iter(
            values.map(|v| v.map(f64::from_bits)),
        )),
        Kind::Time => Arc::new(
            TimestampNanosecondArray::from_iter(values.map(|v| v.map(|v| v as i64)))
                .with_timezone("UTC"),
        ),
        _ => Arc::new(UInt64Array::from_iter(values)),
    }
}
