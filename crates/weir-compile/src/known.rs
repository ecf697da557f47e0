//! What is known of a record on a way through a program: of which bytes its numbers are made, and what tests said of those.

use std::collections::{BTreeMap, HashMap};

use crate::program::{Bytes, Operand, Operation, Program, Register, Relation};

/// A value that registers may have. Registers with the same number have the same value in each record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Number(u32);

/// How a value comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Value {
    /// In a way that is not looked at; the index tells such values apart.
    Opaque(u32),
    Constant(u64),
    /// So much more than another one, which is neither of this kind nor a constant.
    More(Number, u64),
    /// So many bytes of the window, `offset` behind a place.
    Load {
        root: Number,
        offset: u64,
        bytes: Bytes,
        is_little: bool,
    },
    Computed(Operation, Number, Number),
    Selected(Relation, [Number; 4]),
    /// The place behind so many bytes from another place on, which is within the window.
    Reached(Number, Number),
}

/// All values of a program.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    values: Vec<Value>,
    numbers: HashMap<Value, Number>,
    /// Of each opaque value, between which numbers it lies.
    opaque: Vec<(u64, u64)>,
    /// Of each register, whether one step alone sets it.
    is_set_once: Vec<bool>,
}

impl Numbers {
    fn number(&mut self, value: Value) -> Number {
        let next = Number(u32::try_from(self.values.len()).unwrap_or(u32::MAX));
        let number = *self.numbers.entry(value).or_insert(next);
        if number == next {
            self.values.push(value);
        }
        number
    }

    fn value(&self, number: Number) -> Value {
        let value = self.values.get(number.0 as usize);
        value.copied().unwrap_or(Value::Opaque(u32::MAX))
    }

    /// A value of which nothing is known but between which numbers it lies.
    pub(crate) fn opaque(&mut self, range: (u64, u64)) -> Number {
        let index = u32::try_from(self.opaque.len()).unwrap_or(u32::MAX);
        self.opaque.push(range);
        self.number(Value::Opaque(index))
    }

    pub(crate) fn constant(&mut self, constant: u64) -> Number {
        self.number(Value::Constant(constant))
    }

    pub(crate) fn as_constant(&self, number: Number) -> Option<u64> {
        match self.value(number) {
            Value::Constant(constant) => Some(constant),
            _ => None,
        }
    }

    pub(crate) fn reached(&mut self, at: Number, bytes: Number) -> Number {
        self.number(Value::Reached(at, bytes))
    }

    /// What a value is where another one, of which it is computed with constants, is this.
    pub(crate) fn where_it_is(&self, number: Number, other: Number, is: u64) -> Option<u64> {
        match self.value(number) {
            _ if number == other => Some(is),
            Value::Constant(constant) => Some(constant),
            Value::Computed(operation, left, right) => {
                let right = self.as_constant(right)?;
                let left = (left == other).then_some(is)?;
                Some(operation.apply(left, right))
            }
            _ => None,
        }
    }

    /// What a value is so much more than, and how much.
    pub(crate) fn root(&self, number: Number) -> (Number, u64) {
        match self.value(number) {
            Value::More(root, more) => (root, more),
            _ => (number, 0),
        }
    }
}

/// What is known at a place of a program.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// Of each register, which value it has; `None` where it may not be set.
    pub(crate) numbers: Vec<Option<Number>>,
    /// Between which numbers values lie, both included, beyond what follows from how they come about.
    ranges: BTreeMap<Number, (u64, u64)>,
    /// Bits of bytes behind a place: which are known, and what they are.
    pub(crate) bits: BTreeMap<(Number, u64), (u8, u8)>,
    /// How many bytes lie between a place and an end at least.
    rooms: BTreeMap<(Number, Number), u64>,
    /// Of registers, how many bytes of the window follow them as the program's tests have it.
    pub(crate) covered: BTreeMap<Register, u64>,
}

impl Known {
    /// What is known where a record begins.
    pub(crate) fn new(program: &Program, numbers: &mut Numbers) -> Self {
        let mut known = Self {
            numbers: vec![None; usize::from(program.registers)],
            ranges: BTreeMap::new(),
            bits: BTreeMap::new(),
            rooms: BTreeMap::new(),
            covered: BTreeMap::new(),
        };
        numbers.is_set_once = program.set_once();
        // The place of a record changes behind it only.
        numbers.is_set_once[Register::AT.index()] = true;
        for given in [Register::AT, Register::WINDOW_LEN] {
            let number = numbers.opaque((0, Program::WINDOW_LEN_MAX));
            known.set(given, number);
        }
        for carried in &program.carried {
            let number = numbers.opaque(ANY);
            known.set(carried.register, number);
        }
        known
    }

    pub(crate) fn get(&self, register: Register) -> Option<Number> {
        self.numbers.get(register.index()).copied().flatten()
    }

    pub(crate) fn set(&mut self, register: Register, number: Number) {
        self.covered.remove(&register);
        if let Some(it) = self.numbers.get_mut(register.index()) {
            *it = Some(number);
        }
    }

    pub(crate) fn operand(&self, operand: Operand, numbers: &mut Numbers) -> Option<Number> {
        match operand {
            Operand::Register(register) => self.get(register),
            Operand::Constant(constant) => Some(numbers.constant(constant)),
        }
    }

    /// A register with a value, if there is one that is set once rather than one that gets another value behind that.
    pub(crate) fn holder(&self, number: Number, numbers: &Numbers) -> Option<Register> {
        let mut holders = (0_u16..)
            .zip(self.numbers.iter().zip(&numbers.is_set_once))
            .filter(|(_, (it, _))| **it == Some(number));
        let first = holders.clone().next();
        let (index, _) = holders
            .find(|(_, (_, is_set_once))| **is_set_once)
            .or(first)?;
        Some(Register(index))
    }

    /// A register, and how far behind it a place lies that can be compared with others; `None` for other numbers.
    pub(crate) fn place(&self, number: Number, numbers: &Numbers) -> Option<(Number, u64)> {
        let (root, more) = numbers.root(number);
        let is_place = more < OFFSETS && self.range(root, numbers, DEPTH).1 < PLACES;
        is_place.then_some((root, more))
    }

    /// The value that an operation gives.
    pub(crate) fn computed(
        &self,
        operation: Operation,
        left: Number,
        right: Number,
        numbers: &mut Numbers,
    ) -> Number {
        let constant = numbers.as_constant(right);
        let number = match (operation, numbers.as_constant(left), constant) {
            (_, Some(left), Some(right)) => return numbers.constant(operation.apply(left, right)),
            (Operation::Add, None, Some(more)) => {
                let (root, before) = numbers.root(left);
                match before.checked_add(more) {
                    Some(0) => return left,
                    Some(more) if more < OFFSETS => numbers.number(Value::More(root, more)),
                    _ => numbers.number(Value::Computed(operation, left, right)),
                }
            }
            _ => numbers.number(Value::Computed(operation, left, right)),
        };
        self.folded(number, numbers)
    }

    /// The constant that a value is known to be, or the value.
    fn folded(&self, number: Number, numbers: &mut Numbers) -> Number {
        let (low, high) = self.range(number, numbers, DEPTH);
        match low == high {
            true => numbers.constant(low),
            false => number,
        }
    }

    pub(crate) fn selected(
        &self,
        relation: Relation,
        of: [Number; 4],
        numbers: &mut Numbers,
    ) -> Number {
        let [left, right, then, otherwise] = of;
        match self.decide(relation, left, right, numbers) {
            Some(true) => then,
            Some(false) => otherwise,
            None => {
                let number = numbers.number(Value::Selected(relation, of));
                self.folded(number, numbers)
            }
        }
    }

    pub(crate) fn loaded(
        &self,
        at: Number,
        offset: u32,
        bytes: Bytes,
        is_little: bool,
        numbers: &mut Numbers,
    ) -> Number {
        let Some((root, before)) = self.place(at, numbers) else {
            return numbers.opaque((0, bytes.max()));
        };
        let number = numbers.number(Value::Load {
            root,
            offset: before + u64::from(offset),
            bytes,
            is_little: is_little && bytes != Bytes::One,
        });
        self.folded(number, numbers)
    }

    /// Between which numbers a value lies, both included.
    pub(crate) fn range(&self, number: Number, numbers: &Numbers, depth: u32) -> (u64, u64) {
        let (mut low, mut high) = match depth {
            0 => ANY,
            _ => self.range_of(numbers.value(number), numbers, depth - 1),
        };
        if let Some((least, most)) = self.ranges.get(&number) {
            (low, high) = (low.max(*least), high.min(*most));
        }
        let (mask, value) = self.bits_of(number, numbers, depth);
        (low, high) = (low.max(value), high.min(value | !mask));
        // What contradicts itself is on no way that a record goes.
        if low <= high { (low, high) } else { ANY }
    }

    fn range_of(&self, value: Value, numbers: &Numbers, depth: u32) -> (u64, u64) {
        let range = |number| self.range(number, numbers, depth);
        match value {
            Value::Opaque(index) => {
                let range = numbers.opaque.get(index as usize);
                range.copied().unwrap_or(ANY)
            }
            Value::Constant(constant) => (constant, constant),
            Value::More(root, more) => {
                let (low, high) = range(root);
                match high.checked_add(more) {
                    Some(high) => (low + more, high),
                    None => ANY,
                }
            }
            Value::Load { bytes, .. } => (0, bytes.max()),
            Value::Reached(..) => (0, Program::WINDOW_LEN_MAX),
            Value::Selected(_, [_, _, then, otherwise]) => {
                let (one, other) = (range(then), range(otherwise));
                (one.0.min(other.0), one.1.max(other.1))
            }
            Value::Computed(operation, left, right) => {
                of_operation(operation, range(left), range(right))
            }
        }
    }

    /// Which bits of a value are known, and what they are.
    fn bits_of(&self, number: Number, numbers: &Numbers, depth: u32) -> (u64, u64) {
        if depth == 0 {
            return (0, 0);
        }
        let of = |number| self.bits_of(number, numbers, depth - 1);
        match numbers.value(number) {
            Value::Constant(constant) => (u64::MAX, constant),
            Value::Load {
                root,
                offset,
                bytes,
                is_little,
            } => {
                let (mut mask, mut value) = (!bytes.max(), 0);
                for index in 0..bytes.count() {
                    let shift = shift_of(index, bytes, is_little);
                    if let Some((known, bits)) = self.bits.get(&(root, offset + index)) {
                        mask |= u64::from(*known) << shift;
                        value |= u64::from(*bits) << shift;
                    }
                }
                (mask, value)
            }
            Value::Computed(operation, left, right) => {
                let ((mask, value), (other, bits)) = (of(left), of(right));
                let by = (bits & 63) as u32;
                match operation {
                    Operation::And => {
                        let zeros = mask & !value | other & !bits;
                        (mask & other | zeros, value & bits)
                    }
                    Operation::Or => (mask & other | value | bits, value | bits),
                    Operation::ExclusiveOr => (mask & other, (value ^ bits) & mask & other),
                    Operation::ShiftLeft if other == u64::MAX => {
                        (mask << by | !(u64::MAX << by), value << by)
                    }
                    Operation::ShiftRight if other == u64::MAX => {
                        (mask >> by | !(u64::MAX >> by), value >> by)
                    }
                    _ => (0, 0),
                }
            }
            _ => (0, 0),
        }
    }

    /// Whether a relation holds, where that is known.
    pub(crate) fn decide(
        &self,
        relation: Relation,
        left: Number,
        right: Number,
        numbers: &Numbers,
    ) -> Option<bool> {
        let ((low, high), (first, last)) = (
            self.range(left, numbers, DEPTH),
            self.range(right, numbers, DEPTH),
        );
        let is_less = |(_, high): (u64, u64), (first, _)| high < first;
        let ordered = |below: bool, above: bool| match (below, above) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        match relation {
            Relation::Equal if left == right => Some(true),
            Relation::Equal if low == high && (low, high) == (first, last) => Some(true),
            Relation::Equal => {
                let (mask, value) = self.bits_of(left, numbers, DEPTH);
                let (other, bits) = self.bits_of(right, numbers, DEPTH);
                let differs = (value ^ bits) & mask & other != 0;
                (differs || high < first || last < low).then_some(false)
            }
            Relation::Less => ordered(
                is_less((low, high), (first, last)),
                left == right || last <= low,
            ),
            Relation::Greater => ordered(last < low, left == right || high <= first),
            Relation::NotEqual | Relation::LessOrEqual | Relation::GreaterOrEqual => self
                .decide(relation.negated(), left, right, numbers)
                .map(|holds| !holds),
        }
    }

    /// Of a value that is loaded from one byte: all that it can be.
    pub(crate) fn bytes_possible(&self, number: Number, numbers: &Numbers) -> Option<Vec<u64>> {
        let Value::Load {
            bytes: Bytes::One, ..
        } = numbers.value(number)
        else {
            return None;
        };
        let (mask, value) = self.bits_of(number, numbers, DEPTH);
        let (low, high) = self.range(number, numbers, DEPTH);
        let possible = (0..=Bytes::One.max()).filter(|byte| byte & mask == value & mask);
        Some(
            possible
                .filter(|byte| (low..=high).contains(byte))
                .collect(),
        )
    }

    /// A relation holds from here on.
    pub(crate) fn assume(
        &mut self,
        relation: Relation,
        left: Number,
        right: Number,
        numbers: &Numbers,
    ) {
        let ((low, high), (first, last)) = (
            self.range(left, numbers, DEPTH),
            self.range(right, numbers, DEPTH),
        );
        let (of_left, of_right) = match relation {
            Relation::Equal => ((first, last), (low, high)),
            Relation::Less => (
                (0, last.saturating_sub(1)),
                (low.saturating_add(1), u64::MAX),
            ),
            Relation::LessOrEqual => ((0, last), (low, u64::MAX)),
            Relation::Greater => (
                (first.saturating_add(1), u64::MAX),
                (0, high.saturating_sub(1)),
            ),
            Relation::GreaterOrEqual => ((first, u64::MAX), (0, high)),
            Relation::NotEqual if first == last && low == first => {
                ((low.saturating_add(1), u64::MAX), ANY)
            }
            Relation::NotEqual if first == last && high == first => {
                ((0, high.saturating_sub(1)), ANY)
            }
            Relation::NotEqual => (ANY, ANY),
        };
        self.limit(left, of_left, numbers, DEPTH);
        self.limit(right, of_right, numbers, DEPTH);
    }

    /// A value lies between these numbers.
    fn limit(&mut self, number: Number, range: (u64, u64), numbers: &Numbers, depth: u32) {
        let before = self.range(number, numbers, DEPTH);
        let (low, high) = (before.0.max(range.0), before.1.min(range.1));
        if depth == 0 || low > high || (low, high) == before {
            return;
        }
        self.ranges.insert(number, (low, high));
        match numbers.value(number) {
            Value::More(root, more) => {
                let is_exact = self
                    .range(root, numbers, DEPTH)
                    .1
                    .checked_add(more)
                    .is_some();
                if is_exact && low >= more {
                    self.limit(root, (low - more, high - more), numbers, depth - 1);
                }
            }
            Value::Computed(Operation::Subtract, left, right) => {
                let constant = numbers.as_constant(right);
                let ends = constant.and_then(|it| low.checked_add(it).zip(high.checked_add(it)));
                if let Some(range) = ends {
                    self.limit(left, range, numbers, depth - 1);
                }
            }
            Value::Computed(Operation::ShiftRight, left, right) => {
                let shift = numbers.as_constant(right).unwrap_or(0) & 63;
                let is_exact = high <= u64::MAX >> shift;
                if numbers.as_constant(right).is_some() && is_exact {
                    let range = (low << shift, high << shift | !(u64::MAX << shift));
                    self.limit(left, range, numbers, depth - 1);
                }
            }
            _ => {}
        }
        if low == high {
            self.learn(number, u64::MAX, low, numbers, DEPTH);
        }
    }

    /// Bits of a value are these.
    fn learn(&mut self, number: Number, mask: u64, value: u64, numbers: &Numbers, depth: u32) {
        if depth == 0 || mask == 0 {
            return;
        }
        match numbers.value(number) {
            Value::Load {
                root,
                offset,
                bytes,
                is_little,
            } => {
                for index in 0..bytes.count() {
                    let shift = shift_of(index, bytes, is_little);
                    let known = (mask >> shift) as u8;
                    if known != 0 {
                        let bits = self.bits.entry((root, offset + index)).or_default();
                        bits.1 = bits.1 & !known | (value >> shift) as u8 & known;
                        bits.0 |= known;
                    }
                }
            }
            Value::Computed(operation, left, right) => {
                let Some(constant) = numbers.as_constant(right) else {
                    return;
                };
                let by = constant & 63;
                let (mask, value) = match operation {
                    Operation::And => (mask & constant, value),
                    Operation::Or => (mask & !constant, value),
                    Operation::ExclusiveOr => (mask, value ^ constant),
                    Operation::ShiftLeft => (mask >> by, value >> by),
                    Operation::ShiftRight => (mask << by, value << by),
                    _ => return,
                };
                self.learn(left, mask, value & mask, numbers, depth - 1);
            }
            _ => {}
        }
    }

    /// Bits of a byte behind a place are these.
    pub(crate) fn learn_byte(&mut self, at: (Number, u64), (mask, value): (u8, u8)) {
        let bits = self.bits.entry(at).or_default();
        bits.1 = bits.1 & !mask | value & mask;
        bits.0 |= mask;
    }

    /// How many bytes lie between a place and an end at least.
    pub(crate) fn room(&self, root: Number, end: Number, numbers: &Numbers, depth: u32) -> u64 {
        let tested = self.rooms.get(&(root, end)).copied().unwrap_or(0);
        if depth == 0 {
            return tested;
        }
        let behind = |at: Number, more: u64| match self.place(at, numbers) {
            Some((other, offset)) if other == root => offset.saturating_add(more),
            _ => 0,
        };
        let derived = match numbers.value(end) {
            Value::More(..) => behind(end, 0),
            Value::Reached(at, bytes) => behind(at, self.range(bytes, numbers, DEPTH).0),
            Value::Computed(Operation::Add, at, bytes) => {
                let (least, most) = self.range(bytes, numbers, DEPTH);
                if most < PLACES { behind(at, least) } else { 0 }
            }
            Value::Computed(Operation::Minimum, one, other) => {
                let one = self.room(root, one, numbers, depth - 1);
                one.min(self.room(root, other, numbers, depth - 1))
            }
            _ => 0,
        };
        tested.max(derived)
    }

    /// So many bytes lie between a place and an end.
    pub(crate) fn assume_room(
        &mut self,
        root: Number,
        end: Number,
        bytes: u64,
        numbers: &Numbers,
        depth: u32,
    ) {
        let room = self.rooms.entry((root, end)).or_default();
        *room = bytes.max(*room);
        if depth == 0 {
            return;
        }
        let offset_of = |known: &Self, at: Number| match known.place(at, numbers) {
            Some((other, offset)) if other == root => Some(offset),
            _ => None,
        };
        match numbers.value(end) {
            Value::Reached(at, len) | Value::Computed(Operation::Add, at, len) => {
                let is_exact = self.range(len, numbers, DEPTH).1 < PLACES;
                if let (Some(offset), true) = (offset_of(self, at), is_exact) {
                    let least = bytes.saturating_sub(offset);
                    self.limit(len, (least, u64::MAX), numbers, DEPTH);
                }
            }
            Value::Computed(Operation::Minimum, one, other) => {
                for end in [one, other] {
                    self.assume_room(root, end, bytes, numbers, depth - 1);
                }
            }
            _ => {}
        }
    }

    /// Forgets what is not known on another way as well, but for the values of registers.
    pub(crate) fn or(&mut self, other: &Self) {
        let both = |ours: &mut BTreeMap<Number, (u64, u64)>| {
            ours.retain(|number, range| match other.ranges.get(number) {
                Some((low, high)) => {
                    *range = (range.0.min(*low), range.1.max(*high));
                    true
                }
                None => false,
            });
        };
        both(&mut self.ranges);
        self.bits
            .retain(|at, (mask, value)| match other.bits.get(at) {
                Some((theirs, bits)) => {
                    *mask &= theirs & !(*value ^ bits);
                    *value &= *mask;
                    *mask != 0
                }
                None => false,
            });
        self.rooms.retain(|at, bytes| match other.rooms.get(at) {
            Some(theirs) => {
                *bytes = (*bytes).min(*theirs);
                true
            }
            None => false,
        });
        self.covered
            .retain(|at, bytes| match other.covered.get(at) {
                Some(theirs) => {
                    *bytes = (*bytes).min(*theirs);
                    true
                }
                None => false,
            });
    }
}

/// By how much a byte of a number is shifted.
const fn shift_of(index: u64, bytes: Bytes, is_little: bool) -> u64 {
    match is_little {
        true => 8 * index,
        false => 8 * (bytes.count() - 1 - index),
    }
}

fn of_operation(operation: Operation, left: (u64, u64), right: (u64, u64)) -> (u64, u64) {
    let constant = (right.0 == right.1).then_some(right.0);
    let filled = |max: u64| u64::MAX.checked_shr(max.leading_zeros()).unwrap_or(0);
    match (operation, constant) {
        (Operation::Add, _) => match left.1.checked_add(right.1) {
            Some(high) => (left.0 + right.0, high),
            None => ANY,
        },
        (Operation::AddSaturating, _) => (
            left.0.saturating_add(right.0),
            left.1.saturating_add(right.1),
        ),
        (Operation::Subtract, _) if left.0 >= right.1 => (left.0 - right.1, left.1 - right.0),
        // All of them wrap around.
        (Operation::Subtract, Some(less)) if left.1 < less => {
            (left.0.wrapping_sub(less), left.1.wrapping_sub(less))
        }
        (Operation::Multiply, _) => match left.1.checked_mul(right.1) {
            Some(high) => (left.0 * right.0, high),
            None => ANY,
        },
        (Operation::Divide, Some(by @ 1..)) => (left.0 / by, left.1 / by),
        (Operation::Remainder, Some(by @ 1..)) => (0, left.1.min(by - 1)),
        (Operation::And, _) => (0, left.1.min(right.1)),
        (Operation::Or, _) => (left.0.max(right.0), filled(left.1.max(right.1))),
        (Operation::ExclusiveOr, _) => (0, filled(left.1.max(right.1))),
        (Operation::ShiftLeft, Some(by)) if left.1.leading_zeros() as u64 >= by & 63 => {
            (left.0 << (by & 63), left.1 << (by & 63))
        }
        (Operation::ShiftRight, Some(by)) => (left.0 >> (by & 63), left.1 >> (by & 63)),
        (Operation::Minimum, _) => (left.0.min(right.0), left.1.min(right.1)),
        (Operation::Maximum, _) => (left.0.max(right.0), left.1.max(right.1)),
        _ => ANY,
    }
}

const ANY: (u64, u64) = (0, u64::MAX);
/// Places lie below, so that a sum of two of them does not wrap around.
const PLACES: u64 = 1 << 40;
/// What is added to places is less.
const OFFSETS: u64 = 1 << 24;
/// How deep values are looked into.
pub(crate) const DEPTH: u32 = 6;
