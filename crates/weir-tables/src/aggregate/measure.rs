//! The state and the arguments of one aggregate of all groups.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, UInt64Array};
use arrow::error::ArrowError;
use weir_packet::Kind;

use super::function::Function;
use super::numbers::numbers;
use super::sketch::Sketched;
use crate::groups::Groups;
use crate::key::{Key, TextInterner};
use crate::{Expression, Predicate, Row};

/// The number of rows that wait to be added to their groups, at most: few enough to stay in the first-level cache, many
/// enough to hide the cache misses of groups that are not in it.
pub(crate) const ROWS: usize = 256;

/// An aggregate with its place in the state of a group.
pub(super) struct Measure {
    pub(super) function: Function,
    /// Type of the argument.
    pub(super) kind: Kind,
    pub(super) at: usize,
    pub(super) flag: u64,
    /// The values of [`Function::CountDistinct`].
    pub(super) seen: Option<SeenValues>,
    /// The state of [`Function::Sketch`].
    pub(super) sketched: Option<Sketched>,
    /// Some branch leaves rows out of this aggregate alone.
    pub(super) is_filtered: bool,
    /// The argument may use all 64 bits: one value may be as large as the largest sum.
    pub(super) is_wide: bool,
    /// The arguments of the waiting rows. Without an argument, only their validity is used.
    numbers: Numbers,
    /// True for each waiting row that a filter leaves out.
    is_out: Box<[bool; ROWS]>,
}

/// A number of each waiting row.
pub(super) struct Numbers {
    pub(super) values: Box<[u64; ROWS]>,
    /// True for the values that are not NULL.
    pub(super) validity: Box<[bool; ROWS]>,
}

impl Numbers {
    fn new() -> Self {
        Self {
            values: Box::new([0; ROWS]),
            validity: Box::new([true; ROWS]),
        }
    }
}

/// The values seen, each with the number of the group in which it was seen.
pub(super) struct SeenValues {
    pub(super) key: Key,
    pub(super) groups: Groups,
    /// The keys of the waiting rows, whose numbers are still 0.
    keys: Vec<u64>,
}

impl Measure {
    /// Creates the aggregate at `index` of all, with its state at `at`; `None` when the function does not go with
    /// arguments of this type, or there are too many.
    pub(super) fn new(
        function: Function,
        kind: Kind,
        index: usize,
        at: usize,
        is_filtered: bool,
        is_wide: bool,
    ) -> Option<Self> {
        if !function.takes(kind) {
            return None;
        }
        let seen = match function {
            Function::CountDistinct => {
                let key = Key::new(&[Kind::U32, kind])?;
                Some(SeenValues {
                    groups: Groups::new(key.words(), Vec::new()),
                    keys: vec![0; key.words() * ROWS],
                    key,
                })
            }
            _ => None,
        };
        let sketched = match &function {
            Function::Sketch(sketch) => Some(Sketched::new(sketch, kind)?),
            _ => None,
        };
        Some(Self {
            function,
            kind,
            at,
            // The flags take half of the bits; the other half marks NULL.
            flag: 1 << u32::try_from(index).ok().filter(|index| *index < 32)?,
            seen,
            sketched,
            is_filtered,
            is_wide,
            numbers: Numbers::new(),
            is_out: Box::new([false; ROWS]),
        })
    }

    /// Returns whether it can be computed from plain numbers, including addresses that are only counted.
    pub(super) const fn is_plain(&self) -> bool {
        let is_number = match self.kind {
            Kind::Address => self.sketched.is_none(),
            Kind::Text | Kind::Bytes | Kind::Texts | Kind::Numbers => false,
            _ => true,
        };
        self.seen.is_none() && is_number
    }

    /// The number of bytes allocated beside the states of groups.
    pub(super) fn allocated_bytes(&self) -> usize {
        let seen = self.seen.as_ref();
        let sketched = self.sketched.as_ref();
        seen.map_or(0, |seen| seen.groups.allocated_bytes())
            + sketched.map_or(0, Sketched::allocated_bytes)
    }

    /// Stores the argument of a row, which waits at `at`.
    #[inline]
    pub(super) fn take(
        &mut self,
        at: usize,
        argument: Option<&Expression>,
        filter: Option<&Predicate>,
        row: &Row<'_>,
        words: &mut TextInterner,
    ) {
        if let Some(filter) = filter {
            let is_in = filter.decide(row) == Some(true);
            self.is_out[at] = !is_in;
            self.numbers.validity[at] = is_in;
            if !is_in {
                return;
            }
        }
        // Without an argument every row counts: `validity` is true from the start.
        if let Some(argument) = argument {
            self.take_argument(at, argument, row, words);
        }
    }

    #[inline]
    fn take_argument(
        &mut self,
        at: usize,
        argument: &Expression,
        row: &Row<'_>,
        words: &mut TextInterner,
    ) {
        let validity = match (&mut self.seen, self.kind) {
            (Some(seen), _) => {
                let words_of_key = seen.key.words();
                let key = seen
                    .keys
                    .get_mut(at * words_of_key..(at + 1) * words_of_key);
                let key = key.unwrap_or_default();
                key.fill(0);
                seen.key.write_value(argument, row, words, key)
            }
            (None, Kind::Text | Kind::Address) if self.sketched.is_some() => {
                let sketched = self.sketched.as_mut();
                sketched.is_some_and(|sketched| sketched.take(argument, row))
            }
            (None, Kind::Text) => argument.with_text(row, |_| ()).is_some(),
            (None, Kind::Address) => argument.address(row).is_some(),
            (None, Kind::Bytes | Kind::Texts | Kind::Numbers) => argument.has_bytes(row),
            (None, _) => match argument.bits(row) {
                Some(bits) => {
                    self.numbers.values[at] = bits;
                    true
                }
                None => false,
            },
        };
        self.numbers.validity[at] = validity;
    }

    /// The buffer of the numbers of the waiting rows.
    pub(super) const fn numbers(&mut self) -> &mut Numbers {
        &mut self.numbers
    }

    /// Adds the waiting values to the groups with these numbers.
    pub(super) fn add(&mut self, groups: &mut Groups, numbers: &[u32], flags_at: usize) {
        let signed = matches!(self.kind, Kind::I64 | Kind::Time);
        match &self.function {
            // There is a single group, and all rows count.
            Function::CountRows if groups.len() == 1 && !self.is_filtered => {
                groups.state_mut(0)[self.at] += numbers.len() as u64;
            }
            Function::CountRows | Function::Count => {
                for (number, validity) in numbers.iter().zip(&*self.numbers.validity) {
                    if let Some(count) = groups.word_mut(*number, self.at) {
                        *count += u64::from(*validity);
                    }
                }
            }
            Function::CountDistinct => {
                let Some(seen) = &mut self.seen else {
                    return;
                };
                let keys = seen.keys.chunks_exact_mut(seen.key.words());
                let rows = numbers.iter().zip(&*self.numbers.validity);
                for ((number, validity), key) in rows.zip(keys) {
                    if *validity {
                        seen.key.set_first_number(key, *number as usize);
                        if seen.groups.find_or_insert(key).1 {
                            groups.state_mut(*number as usize)[self.at] += 1;
                        }
                    }
                }
            }
            Function::First | Function::Last => self.add_in_order(groups, numbers, flags_at),
            Function::Average => {
                for (number, validity) in numbers.iter().zip(&*self.numbers.validity) {
                    let more = u64::from(*validity);
                    groups.state_mut(*number as usize)[self.at + 1] += more;
                }
                self.add_floats(groups, numbers, flags_at);
            }
            Function::SumFloat => self.add_floats(groups, numbers, flags_at),
            Function::Sum if self.is_wide => self.add_wide(groups, numbers, flags_at),
            // The sum of narrow values does not overflow, as no capture has so many records. If it did, it would stay
            // at the maximum.
            Function::Sum => self.fold(groups, numbers, flags_at, u64::saturating_add),
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
            Function::Sketch(_) => {
                let Numbers { values, validity } = &self.numbers;
                if let Some(sketched) = &mut self.sketched {
                    sketched.add(numbers, &**values, &**validity, groups.len());
                }
            }
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

    /// Combines each value that is not NULL with the state of its group.
    #[inline]
    fn fold(
        &self,
        groups: &mut Groups,
        numbers: &[u32],
        flags_at: usize,
        combine: impl Fn(u64, u64) -> u64,
    ) {
        let rows = self.numbers.values.iter().zip(&*self.numbers.validity);
        // There is a single group.
        if groups.len() == 1 {
            let state = groups.state_mut(0);
            let (mut all, mut seen) = (state[self.at], false);
            for (value, validity) in rows.take(numbers.len()) {
                all = if *validity { combine(all, *value) } else { all };
                seen |= validity;
            }
            state[self.at] = all;
            state[flags_at] |= if seen { self.flag } else { 0 };
            return;
        }
        for (number, (value, validity)) in numbers.iter().zip(rows) {
            if *validity {
                let state = groups.state_mut(*number as usize);
                state[self.at] = combine(state[self.at], *value);
                state[flags_at] |= self.flag;
            }
        }
    }

    /// Adds values that may be as large as a sum, and records overflows.
    fn add_wide(&self, groups: &mut Groups, numbers: &[u32], flags_at: usize) {
        let rows = self.numbers.values.iter().zip(&*self.numbers.validity);
        for (number, (value, validity)) in numbers.iter().zip(rows) {
            if *validity {
                let state = groups.state_mut(*number as usize);
                let (sum, is_over) = self.sum(state[self.at], *value);
                state[self.at] = sum;
                state[flags_at] |= self.flag | if is_over { self.over_flag() } else { 0 };
            }
        }
    }

    /// Returns a sum, and whether it overflowed.
    const fn sum(&self, sum: u64, value: u64) -> (u64, bool) {
        match self.kind {
            Kind::I64 | Kind::Time => {
                let (sum, is_over) = (sum as i64).overflowing_add(value as i64);
                (sum as u64, is_over)
            }
            _ => sum.overflowing_add(value),
        }
    }

    /// The first or the last row of a group, NULL or not.
    fn add_in_order(&self, groups: &mut Groups, numbers: &[u32], flags_at: usize) {
        let null = self.null_flag();
        let values = self.numbers.values.iter().zip(&*self.numbers.validity);
        let rows = numbers.iter().zip(values.zip(&*self.is_out));
        for (number, ((value, validity), is_out)) in rows {
            let state = groups.state_mut(*number as usize);
            let is_set = state[flags_at] & self.flag != 0;
            if *is_out || (is_set && matches!(self.function, Function::First)) {
                continue;
            }
            state[flags_at] |= self.flag;
            if !validity {
                state[flags_at] |= null;
            } else {
                state[flags_at] &= !null;
                state[self.at] = *value;
            }
        }
    }

    /// Combines the states of two groups.
    fn combine(&self, ours: u64, theirs: u64) -> u64 {
        let signed = matches!(self.kind, Kind::I64 | Kind::Time);
        match &self.function {
            Function::Sum if self.is_wide => self.sum(ours, theirs).0,
            Function::Sum => ours.saturating_add(theirs),
            Function::Count | Function::CountRows => ours.wrapping_add(theirs),
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
            // These functions are merged elsewhere.
            Function::CountDistinct | Function::First | Function::Last | Function::Sketch(_) => {
                ours
            }
        }
    }

    pub(super) fn merge(&self, ours: &mut [u64], theirs: &[u64], flags_at: usize) {
        let seen = theirs[flags_at] & self.flag != 0;
        match &self.function {
            Function::CountDistinct | Function::Sketch(_) => return,
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
            Function::Sum if self.is_wide => {
                let is_over = self.sum(ours[self.at], theirs[self.at]).1;
                ours[flags_at] |= theirs[flags_at] & self.over_flag();
                ours[flags_at] |= if is_over { self.over_flag() } else { 0 };
            }
            _ => {}
        }
        ours[self.at] = self.combine(ours[self.at], theirs[self.at]);
    }

    /// The bit that marks the stored value as NULL.
    pub(super) const fn null_flag(&self) -> u64 {
        self.flag.rotate_left(32)
    }

    /// The bit that marks a sum as overflowed, at a place where other functions have their NULL.
    const fn over_flag(&self) -> u64 {
        self.null_flag()
    }

    /// Returns an error when a sum does not fit into 64 bits.
    pub(super) fn check<'s>(
        &self,
        mut states: impl Iterator<Item = &'s [u64]>,
        flags_at: usize,
    ) -> Result<(), ArrowError> {
        if !matches!(self.function, Function::Sum) {
            return Ok(());
        }
        let is_over = |state: &[u64]| match self.is_wide {
            true => state[flags_at] & self.over_flag() != 0,
            false => state[self.at] == u64::MAX,
        };
        match states.any(is_over) {
            true => Err(ArrowError::ArithmeticOverflow(
                "a sum does not fit 64 bits".to_owned(),
            )),
            false => Ok(()),
        }
    }

    /// The states of groups, to be merged with others of the same keys.
    pub(super) fn state_arrays<'s>(
        &self,
        states: impl Iterator<Item = &'s [u64]> + Clone,
        flags_at: usize,
        arrays: &mut Vec<ArrayRef>,
    ) {
        if !matches!(self.function, Function::Average) {
            arrays.push(self.array(states, flags_at));
            return;
        }
        let seen = states.map(|state| (state[flags_at] & self.flag != 0).then_some(state));
        let counts = seen.clone().map(|it| it.map(|state| state[self.at + 1]));
        let sums = seen.map(|it| it.map(|state| f64::from_bits(state[self.at])));
        arrays.push(Arc::new(UInt64Array::from_iter(counts)));
        arrays.push(Arc::new(Float64Array::from_iter(sums)));
    }

    pub(super) fn array<'s>(
        &self,
        states: impl Iterator<Item = &'s [u64]>,
        flags_at: usize,
    ) -> ArrayRef {
        let at = self.at;
        let seen = |state: &[u64]| state[flags_at] & self.flag != 0;
        match &self.function {
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
