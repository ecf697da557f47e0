//! Tests of some bits of a record: which bytes they look at, and several of them as one comparison.
//!
//! Whether a field is a constant can be seen from the bytes that it lies in, in the order in which they lie there, without the
//! shift and the exchange of bytes that make a number of them; and whether two fields of one word are two constants, by one mask
//! and one comparison. A number here is followed back to the bytes that it was loaded from. The record does not change
//! meanwhile, and a register that one step alone sets has the number of that step wherever it may be read.

use crate::program::{Bytes, Operand, Operation, Register};

/// A number of the window, as code has loaded it; `V` names values of that code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loaded<V> {
    /// The place in the window, and bytes behind it.
    pub(crate) at: V,
    pub(crate) offset: u32,
    pub(crate) bytes: Bytes,
    pub(crate) is_little: bool,
    /// The bytes as a number whose least significant byte is the first.
    pub(crate) raw: V,
}

/// The source of the number of a register.
#[derive(Clone, Copy, Debug)]
enum RegisterSource<V> {
    /// Some bits of a number: it is shifted to the right, then masked.
    Bits {
        loaded: Loaded<V>,
        shift: u32,
        mask: u64,
    },
    /// The number of a register, but for these bits.
    Flipped(Register, u64),
    /// The bits of one or the other.
    Either(Register, Register),
}

/// The sources of the registers that one step alone sets.
pub(crate) struct Sources<V> {
    of: Vec<Option<RegisterSource<V>>>,
}

/// A test whether the bits of a mask are as expected, in the bytes of `raw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaskedTest<V> {
    pub(crate) raw: V,
    at: V,
    offset: u32,
    bytes: u32,
    pub(crate) mask: u64,
    pub(crate) expected: u64,
}

/// Tests of one comparison, at most.
const TESTS_MAX: usize = 8;
/// The maximum number of registers that are followed: there may be many paths to one.
const STEPS_MAX: usize = 64;

impl<V: Copy + PartialEq> Sources<V> {
    pub(crate) fn new(registers: usize) -> Self {
        Self {
            of: vec![None; registers],
        }
    }

    /// Records the bytes that a register is loaded from, which nothing else sets.
    pub(crate) fn load(&mut self, to: Register, loaded: Loaded<V>) {
        let mask = loaded.bytes.max();
        let shift = 0;
        self.of[to.index()] = Some(RegisterSource::Bits {
            loaded,
            shift,
            mask,
        });
    }

    /// Records the computation of a register, which nothing else sets.
    pub(crate) fn compute(
        &mut self,
        to: Register,
        operation: Operation,
        left: Register,
        right: Operand,
    ) {
        let source = match (operation, right, self.of[left.index()]) {
            (
                Operation::ShiftRight,
                Operand::Constant(more),
                Some(RegisterSource::Bits {
                    loaded,
                    shift,
                    mask,
                }),
            ) => {
                // Shifts are by the lowest six bits.
                let more = (more & 63) as u32;
                (shift + more < 64).then_some(RegisterSource::Bits {
                    loaded,
                    shift: shift + more,
                    mask: mask >> more,
                })
            }
            (
                Operation::And,
                Operand::Constant(of),
                Some(RegisterSource::Bits {
                    loaded,
                    shift,
                    mask,
                }),
            ) => Some(RegisterSource::Bits {
                loaded,
                shift,
                mask: mask & of,
            }),
            (Operation::ExclusiveOr, Operand::Constant(bits), Some(_)) => {
                Some(RegisterSource::Flipped(left, bits))
            }
            (Operation::Or, Operand::Register(right), Some(_)) => {
                Some(RegisterSource::Either(left, right))
            }
            _ => None,
        };
        self.of[to.index()] = source;
    }

    /// Tests all of which hold where a register has this number, and only there; `None` where they are not known.
    pub(crate) fn tests(&self, register: Register, number: u64) -> Option<Vec<MaskedTest<V>>> {
        let mut tests = Vec::new();
        let mut open = vec![(register, number)];
        for _ in 0..STEPS_MAX {
            let Some((register, number)) = open.pop() else {
                return (tests.len() <= TESTS_MAX).then_some(tests);
            };
            match self.of[register.index()]? {
                RegisterSource::Bits {
                    loaded,
                    shift,
                    mask,
                } => add(MaskedTest::of(&loaded, shift, mask, number)?, &mut tests),
                RegisterSource::Flipped(register, bits) => open.push((register, number ^ bits)),
                RegisterSource::Either(left, right) if number == 0 => {
                    open.extend([(left, 0), (right, 0)]);
                }
                RegisterSource::Either(..) => return None,
            }
        }
        None
    }
}

/// Adds a test to others, to one of the same bytes if there is one.
fn add<V: Copy + PartialEq>(test: MaskedTest<V>, tests: &mut Vec<MaskedTest<V>>) {
    for own in &mut *tests {
        if let Some(both) = own.with(&test).or_else(|| test.with(own)) {
            *own = both;
            return;
        }
    }
    tests.push(test);
}

impl<V: Copy + PartialEq> MaskedTest<V> {
    /// Whether some bits of a number are `number`; `None` where they cannot be.
    fn of(loaded: &Loaded<V>, shift: u32, mask: u64, number: u64) -> Option<Self> {
        // No bits come from above the highest.
        let mask = mask & loaded.bytes.max() >> shift;
        let in_order = |number: u64| match loaded.is_little {
            true => number,
            false => number.swap_bytes() >> (64 - 8 * loaded.bytes.count()),
        };
        (number & !mask == 0).then(|| Self {
            raw: loaded.raw,
            at: loaded.at,
            offset: loaded.offset,
            bytes: loaded.bytes.count() as u32,
            mask: in_order(mask << shift),
            expected: in_order(number << shift),
        })
    }

    /// Both as a test of these bytes, where the others lie within them and do not contradict.
    fn with(&self, other: &Self) -> Option<Self> {
        let before = other.offset.checked_sub(self.offset)?;
        let within = before.checked_add(other.bytes)? <= self.bytes;
        if self.at != other.at || !within {
            return None;
        }
        let (mask, expected) = (other.mask << (8 * before), other.expected << (8 * before));
        let common = self.mask & mask;
        (self.expected & common == expected & common).then_some(Self {
            mask: self.mask | mask,
            expected: self.expected | expected,
            ..*self
        })
    }

    /// Whether the mask has all bits.
    pub(crate) const fn is_of_all_bits(&self) -> bool {
        self.mask == u64::MAX >> (64 - 8 * self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: [u8; 16] = *b"\x00\x00\x00\x00\x81\x7f\x12\x34\xff\x00\x01\x80\x02\x28\x30\x55";

    /// A load of the window, named by the number that `raw` is.
    fn loaded(offset: u32, bytes: Bytes, is_little: bool) -> (Loaded<u64>, u64) {
        let start = offset as usize;
        let own = &WINDOW[start..start + bytes.count() as usize];
        let fold = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        let raw = own.iter().rev().fold(0, fold);
        let number = if is_little {
            raw
        } else {
            own.iter().fold(0, fold)
        };
        let at = 0;
        let loaded = Loaded {
            at,
            offset,
            bytes,
            is_little,
            raw,
        };
        (loaded, number)
    }

    fn hold(tests: &[MaskedTest<u64>]) -> bool {
        tests
            .iter()
            .all(|test| test.raw & test.mask == test.expected)
    }

    #[test]
    fn bits_of_any_load_are_what_they_are_and_nothing_else() {
        const SIZES: [Bytes; 4] = [Bytes::One, Bytes::Two, Bytes::Four, Bytes::Eight];
        for bytes in SIZES {
            for (offset, is_little) in (0..8).flat_map(|at| [(at, false), (at, true)]) {
                let (loaded, number) = loaded(offset, bytes, is_little);
                for (shift, mask) in [
                    (0, u64::MAX),
                    (4, 0xff),
                    (7, 1),
                    (12, 0xffff),
                    (63, 3),
                    (9, 0x155),
                ] {
                    let mut sources = Sources::new(5);
                    let [word, shifted, bits, flipped] = [1, 2, 3, 4].map(Register);
                    sources.load(word, loaded);
                    sources.compute(
                        shifted,
                        Operation::ShiftRight,
                        word,
                        Operand::Constant(shift),
                    );
                    sources.compute(bits, Operation::And, shifted, Operand::Constant(mask));
                    sources.compute(
                        flipped,
                        Operation::ExclusiveOr,
                        bits,
                        Operand::Constant(0x11),
                    );
                    let number = number >> shift & mask;
                    for wrong in [0, 1, 0x80, 1 << 63] {
                        let tests = sources.tests(bits, number ^ wrong);
                        assert_eq!(tests.is_some_and(|tests| hold(&tests)), wrong == 0);
                        let tests = sources.tests(flipped, number ^ 0x11 ^ wrong);
                        assert_eq!(tests.is_some_and(|tests| hold(&tests)), wrong == 0);
                    }
                }
            }
        }
    }

    /// The difference of two fields from what they are to be, as conditions are put.
    fn two(
        first: Loaded<u64>,
        second: Loaded<u64>,
        numbers: [u64; 2],
    ) -> Option<Vec<MaskedTest<u64>>> {
        let mut sources = Sources::new(10);
        let mut next = 1;
        let mut register = || {
            next += 1;
            Register(next)
        };
        let differences = [first, second].map(|loaded| {
            let [word, shifted, bits, difference] = [(); 4].map(|()| register());
            sources.load(word, loaded);
            sources.compute(shifted, Operation::ShiftRight, word, Operand::Constant(4));
            let mask = if loaded.bytes == Bytes::Two {
                0xff
            } else {
                0xffff
            };
            sources.compute(bits, Operation::And, shifted, Operand::Constant(mask));
            let number = numbers[usize::from(difference.0 > 5)];
            sources.compute(
                difference,
                Operation::ExclusiveOr,
                bits,
                Operand::Constant(number),
            );
            difference
        });
        let either = Register(1);
        let right = Operand::Register(differences[1]);
        sources.compute(either, Operation::Or, differences[0], right);
        assert!(sources.tests(either, 1).is_none());
        sources.tests(either, 0)
    }

    #[test]
    fn two_fields_of_a_word_are_one_test_and_of_two_words_two() {
        let (short, _) = loaded(12, Bytes::Two, false);
        let (long, _) = loaded(12, Bytes::Four, false);
        for (first, second, numbers) in
            [(short, long, [0x22, 0x8305]), (long, short, [0x8305, 0x22])]
        {
            let tests = two(first, second, numbers).unwrap();
            assert!(tests.len() == 1 && hold(&tests) && tests[0].raw == long.raw);
            // Each of them counts.
            for wrong in [[1, 0], [0, 1]] {
                let numbers = [numbers[0] ^ wrong[0], numbers[1] ^ wrong[1]];
                assert!(!hold(&two(first, second, numbers).unwrap()));
            }
        }
        let (elsewhere, number) = loaded(4, Bytes::Two, false);
        let tests = two(elsewhere, long, [number >> 4 & 0xff, 0x8305]).unwrap();
        assert!(tests.len() == 2 && hold(&tests));
        let other_place = Loaded { at: 1, ..short };
        assert_eq!(two(other_place, long, [0x22, 0x8305]).unwrap().len(), 2);
    }

    #[test]
    fn what_is_not_followed_has_no_tests() {
        let mut sources = Sources::new(80);
        let unknown = Register(0);
        sources.compute(
            Register(1),
            Operation::ExclusiveOr,
            unknown,
            Operand::Constant(1),
        );
        assert!(sources.tests(Register(1), 0).is_none());
        let (byte, _) = loaded(4, Bytes::One, false);
        sources.load(Register(2), byte);
        sources.compute(
            Register(3),
            Operation::Add,
            Register(2),
            Operand::Constant(1),
        );
        assert!(sources.tests(Register(3), 0x82).is_none());
        // A number that no byte is.
        assert!(sources.tests(Register(2), 0x181).is_none());
        // The words are as many as are combined, and one more.
        let mut all = Register(10);
        for word in 10..20 {
            let (loaded, _) = loaded(0, Bytes::Four, false);
            let loaded = Loaded {
                at: word.into(),
                ..loaded
            };
            sources.load(Register(word), loaded);
            let (to, right) = (Register(word + 20), Operand::Register(Register(word)));
            sources.compute(to, Operation::Or, all, right);
            all = to;
            let tests = sources.tests(all, 0).map(|tests| tests.len());
            assert_eq!(
                tests,
                Some(usize::from(word - 9)).filter(|len| *len <= TESTS_MAX)
            );
        }
        // Numbers that come from one word on very many ways.
        let mut all = Register(10);
        for register in 40..80 {
            let to = Register(register);
            sources.compute(to, Operation::Or, all, Operand::Register(all));
            all = to;
        }
        assert!(sources.tests(Register(41), 0).is_some());
        assert!(sources.tests(all, 0).is_none());
    }
}
