//! Keys of groups: several values packed into a few 64-bit words.

use std::collections::HashMap;

use weir_packet::{Address, Kind};

use crate::{Expression, Row};

/// The layout of the values of a key: equal words are equal values, with NULL equal to NULL, as in GROUP BY. Two ports
/// take one word, an address two and a half.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    parts: Vec<KeyPart>,
    words: usize,
}

#[derive(Clone, Copy, Debug)]
struct KeyPart {
    kind: Kind,
    /// The position of the value; an address takes this word and the next, unless all addresses are IPv4, which are
    /// numbers of 32 bits.
    value: BitRange,
    /// The position of the validity: 0 is NULL, and an address has a code for its length.
    validity: BitRange,
}

impl KeyPart {
    const fn is_ipv4(&self) -> bool {
        matches!(self.kind, Kind::Address) && self.value.bits == IPV4_BITS
    }
}

const IPV4_BITS: u32 = 32;

/// Some bits of one of the words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitRange {
    pub(crate) word: usize,
    pub(crate) shift: u32,
    pub(crate) bits: u32,
}

impl BitRange {
    #[inline]
    pub(crate) const fn mask(self) -> u64 {
        if self.bits == 64 {
            u64::MAX
        } else {
            (1 << self.bits) - 1
        }
    }

    #[inline]
    fn put(self, words: &mut [u64], value: u64) {
        if let Some(word) = words.get_mut(self.word) {
            *word |= (value & self.mask()) << self.shift;
        }
    }

    #[inline]
    fn get(self, words: &[u64]) -> u64 {
        words
            .get(self.word)
            .map_or(0, |word| word >> self.shift & self.mask())
    }

    fn replace(self, words: &mut [u64], value: u64) {
        if let Some(word) = words.get_mut(self.word) {
            *word &= !(self.mask() << self.shift);
        }
        self.put(words, value);
    }
}

impl Key {
    /// The number of words of a key, at most.
    pub(crate) const WORDS_MAX: usize = 12;

    /// The layout of a key of values of these types; `None` when they are too many or one of them makes no key.
    pub(crate) fn new(kinds: &[Kind]) -> Option<Self> {
        let widths: Vec<_> = kinds.iter().map(|kind| (*kind, u64::BITS)).collect();
        Self::of_widths(&widths)
    }

    /// The layout as [`Key::new`], for non-negative numbers of at most these numbers of bits: 64 where only the type is
    /// known. Addresses of 32 bits are those of IPv4.
    pub(crate) fn of_widths(kinds: &[(Kind, u32)]) -> Option<Self> {
        // The number of free bits at the top of each word.
        let mut words: Vec<u32> = Vec::new();
        let mut place = |bits: u32| {
            let word = words
                .iter()
                .position(|free| *free >= bits)
                .unwrap_or_else(|| {
                    words.push(64);
                    words.len() - 1
                });
            let shift = 64 - words[word];
            words[word] -= bits;
            BitRange { word, shift, bits }
        };
        // Pairs of whole words come first, so that they lie side by side.
        let mut values: Vec<Option<BitRange>> = vec![None; kinds.len()];
        let is_long = |kind: &Kind, width: u32| *kind == Kind::Address && width > IPV4_BITS;
        for (value, (kind, width)) in values.iter_mut().zip(kinds) {
            if is_long(kind, *width) {
                *value = Some(place(64));
                place(64);
            }
        }
        let mut parts = Vec::with_capacity(kinds.len());
        for (value, (kind, width)) in values.into_iter().zip(kinds) {
            let bits = match kind {
                Kind::Bool => 1,
                Kind::U8 => 8,
                Kind::U16 => 16,
                Kind::U32 | Kind::Text => 32,
                Kind::Address => IPV4_BITS,
                Kind::U64 | Kind::I64 | Kind::Time => 64,
                Kind::F64 | Kind::Bytes | Kind::Texts | Kind::Numbers => return None,
            };
            let bits = match kind {
                Kind::Address => bits,
                _ => bits.min((*width).max(1)),
            };
            let value = value.unwrap_or_else(|| place(bits));
            let validity = place(if is_long(kind, *width) { 3 } else { 1 });
            parts.push(KeyPart {
                kind: *kind,
                value,
                validity,
            });
        }
        let words = words.len();
        (words <= Self::WORDS_MAX).then_some(Self { parts, words })
    }

    /// Returns whether values of this type can be keys.
    pub(crate) const fn takes(kind: Kind) -> bool {
        !matches!(kind, Kind::F64 | Kind::Bytes | Kind::Texts | Kind::Numbers)
    }

    pub(crate) const fn words(&self) -> usize {
        self.words
    }

    /// The number of bits of the largest key, when it is of one word.
    pub(crate) fn bits(&self) -> Option<u32> {
        let ends = self
            .parts
            .iter()
            .flat_map(|part| [part.value, part.validity]);
        let bits = ends.map(|place| place.shift + place.bits).max();
        bits.filter(|_| self.words == 1)
    }

    pub(crate) const fn parts(&self) -> usize {
        self.parts.len()
    }

    /// The positions of the number at `part`, and of its validity bit; not for longer addresses.
    pub(crate) fn places(&self, part: usize) -> (BitRange, BitRange) {
        let KeyPart {
            value, validity, ..
        } = self.parts[part];
        (value, validity)
    }

    pub(crate) fn kind(&self, part: usize) -> Kind {
        self.parts[part].kind
    }

    /// Writes the key of a row to `key`, which is of zeros.
    #[inline]
    pub(crate) fn write(
        &self,
        expressions: &[Expression],
        row: &Row<'_>,
        words: &mut TextInterner,
        key: &mut [u64],
    ) {
        for (part, expression) in self.parts.iter().zip(expressions) {
            part.write(expression, row, words, key);
        }
    }

    /// Writes the second of two values to `key`, which is of zeros; returns false when it is NULL.
    #[inline]
    pub(crate) fn write_value(
        &self,
        expression: &Expression,
        row: &Row<'_>,
        words: &mut TextInterner,
        key: &mut [u64],
    ) -> bool {
        let part = self.parts.get(1);
        part.is_some_and(|part| part.write(expression, row, words, key))
    }

    /// The first value, a number.
    pub(crate) fn first_number(&self, key: &[u64]) -> usize {
        self.parts.first().map_or(0, |part| part.value.get(key)) as usize
    }

    pub(crate) fn set_first_number(&self, key: &mut [u64], number: usize) {
        if let Some(part) = self.parts.first() {
            part.value.replace(key, number as u64);
        }
    }

    /// A key whose texts have other numbers, in `buffer`: `texts` has the new one of each.
    pub(crate) fn translate<'b>(
        &self,
        key: &[u64],
        texts: &[u32],
        buffer: &'b mut [u64; Self::WORDS_MAX],
    ) -> &'b mut [u64] {
        let translated = &mut buffer[..self.words];
        translated.copy_from_slice(key);
        for part in self.parts.iter().filter(|part| part.kind == Kind::Text) {
            if part.validity.get(key) != 0 {
                let number = texts
                    .get(part.value.get(key) as usize)
                    .copied()
                    .unwrap_or(0);
                part.value.replace(translated, u64::from(number));
            }
        }
        translated
    }

    /// The number at `part`, or that of its text; `None` for NULL.
    pub(crate) fn number(&self, part: usize, key: &[u64]) -> Option<u64> {
        let part = self.parts.get(part)?;
        (part.validity.get(key) != 0).then(|| part.value.get(key))
    }

    /// The address at `part`; `None` for NULL.
    pub(crate) fn address<'b>(
        &self,
        part: usize,
        key: &[u64],
        bytes: &'b mut [u8; 16],
    ) -> Option<&'b [u8]> {
        let part = self.parts.get(part)?;
        let len = match part.validity.get(key) {
            0 => return None,
            _ if part.is_ipv4() => {
                bytes[..4].copy_from_slice(&(part.value.get(key) as u32).to_be_bytes());
                return Some(&bytes[..4]);
            }
            1 => 4,
            2 => 6,
            3 => 8,
            _ => 16,
        };
        let second = key.get(part.value.word + 1).copied().unwrap_or(0);
        bytes[..8].copy_from_slice(&part.value.get(key).to_ne_bytes());
        bytes[8..].copy_from_slice(&second.to_ne_bytes());
        Some(&bytes[..len])
    }
}

impl KeyPart {
    /// Writes the value of a row to its place; returns false for NULL.
    #[inline]
    fn write(
        &self,
        expression: &Expression,
        row: &Row<'_>,
        words: &mut TextInterner,
        key: &mut [u64],
    ) -> bool {
        let value = match self.kind {
            Kind::Address => {
                let Some(address) = expression.address(row) else {
                    return false;
                };
                return self.write_address(address, key);
            }
            Kind::Text => expression.with_text(row, |text| u64::from(words.number(text))),
            _ => expression.bits(row),
        };
        let Some(value) = value else {
            return false;
        };
        self.value.put(key, value);
        self.validity.put(key, 1);
        true
    }

    #[inline]
    fn write_address(&self, address: Address, key: &mut [u64]) -> bool {
        let mut bytes = [0; 16];
        let address = address.as_bytes();
        if self.is_ipv4() {
            let Ok(address) = address.try_into() else {
                return false;
            };
            self.value.put(key, u32::from_be_bytes(address).into());
            self.validity.put(key, 1);
            return true;
        }
        let code = match address.len() {
            4 => 1,
            6 => 2,
            8 => 3,
            _ => 4,
        };
        let len = address.len().min(16);
        bytes[..len].copy_from_slice(&address[..len]);
        let [first, second] = [0, 8].map(|at| {
            let mut half = [0; 8];
            half.copy_from_slice(&bytes[at..at + 8]);
            u64::from_ne_bytes(half)
        });
        self.value.put(key, first);
        if let Some(word) = key.get_mut(self.value.word + 1) {
            *word = second;
        }
        self.validity.put(key, code);
        true
    }
}

/// An interner: texts by number, each stored once.
#[derive(Debug, Default)]
pub(crate) struct TextInterner {
    texts: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
    /// The number of the last text, as texts repeat.
    last: u32,
    bytes: usize,
}

impl TextInterner {
    /// The number of a text.
    #[inline]
    pub(crate) fn number(&mut self, text: &str) -> u32 {
        if self
            .texts
            .get(self.last as usize)
            .is_some_and(|last| **last == *text)
        {
            return self.last;
        }
        self.last = match self.numbers.get(text) {
            Some(number) => *number,
            None => self.add(text),
        };
        self.last
    }

    #[cold]
    fn add(&mut self, text: &str) -> u32 {
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        // An entry takes the text twice, two fat pointers, the number and the table's own byte.
        self.bytes += 2 * (text.len() + size_of::<Box<str>>()) + size_of::<u64>();
        number
    }

    pub(crate) fn text(&self, number: u64) -> Option<&str> {
        self.texts
            .get(usize::try_from(number).ok()?)
            .map(|text| &**text)
    }

    /// Adds the texts of another interner; returns their numbers in this one.
    pub(crate) fn merge(&mut self, other: &Self) -> Vec<u32> {
        other.texts.iter().map(|text| self.number(text)).collect()
    }

    pub(crate) const fn allocated_bytes(&self) -> usize {
        self.bytes
    }
}
