//! Aggregates over groups of rows, taken up row by row without an Arrow array in between.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewBuilder, BooleanArray, Float64Array, Int64Array, RecordBatch,
    RecordBatchOptions, StringViewBuilder, TimestampNanosecondArray, UInt8Array, UInt16Array,
    UInt32Array, UInt64Array,
};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use weir_packet::Kind;

use crate::groups::Groups;
use crate::key::{Key, Words};
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
    key: Key,
    measures: Vec<Measure>,
    groups: Groups,
    words: Words,
    /// Of the state of a group: which of its measures have seen a value.
    flags_at: usize,
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
    /// For [`Function::CountDistinct`]: number of the group, and a value.
    seen: Option<(Key, Groups)>,
}

impl Aggregate {
    /// Groups of the rows of all `branches`, which agree in number and types of keys and arguments.
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
                    let groups = Groups::new(key.words(), Vec::new());
                    Some((key, groups))
                }
                _ => None,
            };
            measures.push(Measure {
                function: *function,
                kind,
                at: fresh.len(),
                flag: 1_u64.checked_shl(u32::try_from(index).ok()?)?,
                seen,
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
            if !same_keys || !same_arguments || branch.filters.len() != measures.len() {
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
            branches,
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
        let seen: usize = seen.map(|(_, groups)| groups.allocated_bytes()).sum();
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
            let group = match branch.keys.as_slice() {
                [] => 0,
                keys => {
                    let mut key = [0; Key::WORDS_MAX];
                    let key = self.key.write(keys, row, &mut self.words, &mut key);
                    self.groups.find_or_insert(key).0
                }
            };
            let state = self.groups.state_mut(group);
            let parts = branch.arguments.iter().zip(&branch.filters);
            for (measure, (argument, filter)) in self.measures.iter_mut().zip(parts) {
                if let Some(filter) = filter
                    && filter.decide(row) != Some(true)
                {
                    continue;
                }
                measure.update(
                    state,
                    self.flags_at,
                    group,
                    argument.as_ref(),
                    row,
                    &mut self.words,
                );
            }
        }
        taken
    }

    /// Takes up all that `other`, made with the same branches and functions, has taken up, as if its
    /// rows had come behind those of `self`.
    pub fn merge(&mut self, other: &Self) {
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
                *ours |= theirs;
            }
        }
        for (measure, theirs) in self.measures.iter_mut().zip(&other.measures) {
            let (Some((key, seen)), Some((_, others))) = (&mut measure.seen, &theirs.seen) else {
                continue;
            };
            for number in 0..others.len() {
                let mut words = [0; Key::WORDS_MAX];
                let words = key.translate(others.key(number), &texts, &mut words);
                let of = key.first_number(words);
                let Some(group) = numbers.get(of) else {
                    continue;
                };
                key.set_first_number(words, *group);
                if seen.find_or_insert(words).1
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
    #[inline]
    fn update(
        &mut self,
        state: &mut [u64],
        flags_at: usize,
        group: usize,
        argument: Option<&Expression>,
        row: &Row<'_>,
        words: &mut Words,
    ) {
        let Some(argument) = argument else {
            state[self.at] += 1;
            return;
        };
        match self.function {
            Function::Count => {
                let there = match self.kind {
                    Kind::Text => argument.with_text(row, |_| ()).is_some(),
                    Kind::Address => argument.address(row).is_some(),
                    Kind::Bytes => argument.has_bytes(row),
                    _ => argument.bits(row).is_some(),
                };
                state[self.at] += u64::from(there);
                return;
            }
            Function::CountDistinct => {
                let Some((key, seen)) = &mut self.seen else {
                    return;
                };
                let mut buffer = [0; Key::WORDS_MAX];
                if let Some(key) = key.write_numbered(group, argument, row, words, &mut buffer)
                    && seen.find_or_insert(key).1
                {
                    state[self.at] += 1;
                }
                return;
            }
            Function::First if state[flags_at] & self.flag != 0 => return,
            Function::First | Function::Last => {
                // Two flags in one: the value word says nothing when the row had NULL.
                let value = argument.bits(row);
                state[flags_at] |= self.flag;
                let null = self.null_flag();
                match value {
                    Some(value) => {
                        state[self.at] = value;
                        state[flags_at] &= !null;
                    }
                    None => state[flags_at] |= null,
                }
                return;
            }
            _ => {}
        }
        let Some(value) = argument.bits(row) else {
            return;
        };
        state[flags_at] |= self.flag;
        if self.function == Function::Average {
            state[self.at + 1] += 1;
        }
        let ours = &mut state[self.at];
        *ours = self.combine(*ours, value, true);
    }

    /// The state with a value (`raw`), or with the state of another group, taken up.
    #[inline]
    fn combine(&self, ours: u64, value: u64, raw: bool) -> u64 {
        let signed = matches!(self.kind, Kind::I64 | Kind::Time);
        match self.function {
            Function::Sum | Function::Count | Function::CountRows => ours.wrapping_add(value),
            Function::SumFloat | Function::Average => {
                let value = match self.kind {
                    _ if !raw => f64::from_bits(value),
                    Kind::F64 => f64::from_bits(value),
                    Kind::I64 => value as i64 as f64,
                    _ => value as f64,
                };
                (f64::from_bits(ours) + value).to_bits()
            }
            Function::Minimum if signed => (ours as i64).min(value as i64) as u64,
            Function::Minimum => ours.min(value),
            Function::Maximum if signed => (ours as i64).max(value as i64) as u64,
            Function::Maximum => ours.max(value),
            Function::BitAnd | Function::BoolAnd => ours & value,
            Function::BitOr | Function::BoolOr => ours | value,
            Function::BitExclusiveOr => ours ^ value,
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
        ours[self.at] = self.combine(ours[self.at], theirs[self.at], false);
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
