//! Erlang's external term format, as far as Megaco's records use it.

use super::Context;
use crate::{
    Arena, BinaryOptions,
    error::{ErrorKind, FirstFailure, Stop},
    octets,
};

pub(super) const SMALL_INTEGER: u8 = 97;
pub(super) const INTEGER: u8 = 98;
pub(super) const ATOM: u8 = 100;
pub(super) const SMALL_TUPLE: u8 = 104;
pub(super) const LARGE_TUPLE: u8 = 105;
pub(super) const NIL: u8 = 106;
pub(super) const STRING: u8 = 107;
pub(super) const LIST: u8 = 108;
const BINARY: u8 = 109;
const SMALL_BIG: u8 = 110;
const SMALL_ATOM: u8 = 115;
const ATOM_UTF8: u8 = 118;
pub(super) const SMALL_ATOM_UTF8: u8 = 119;

/// The atom for a field without a value.
pub(crate) const NO_VALUE: &[u8] = b"asn1_NOVALUE";

/// Appends terms.
pub(crate) struct ErlWriter<'o> {
    pub(crate) out: &'o mut Vec<u8>,
    /// Atoms in the form of OTP 26 and later (tag 119) instead of the older one (tag 100).
    pub(crate) utf8_atoms: bool,
    pub(crate) cx: Context,
    pub(crate) error: Option<&'static str>,
}

impl<'o> ErlWriter<'o> {
    pub(crate) fn new(out: &'o mut Vec<u8>, options: BinaryOptions, utf8_atoms: bool) -> Self {
        Self {
            out,
            utf8_atoms,
            cx: Context::new(options),
            error: None,
        }
    }

    pub(crate) fn fail(&mut self, what: &'static str) {
        self.error.get_or_insert(what);
    }

    #[inline(always)]
    pub(crate) fn atom(&mut self, name: &'static [u8]) {
        if self.utf8_atoms {
            self.out
                .extend_from_slice(&[SMALL_ATOM_UTF8, name.len() as u8]);
        } else {
            self.out.extend_from_slice(&[ATOM, 0, name.len() as u8]);
        }
        // Inlined, the name is a constant: copying is a few stores, without a call.
        self.out.extend_from_slice(name);
    }

    /// An atom that is known only now.
    pub(crate) fn any_atom(&mut self, name: &[u8]) {
        if self.utf8_atoms {
            self.out
                .extend_from_slice(&[SMALL_ATOM_UTF8, name.len() as u8]);
        } else {
            self.out.extend_from_slice(&[ATOM, 0, name.len() as u8]);
        }
        octets::push(self.out, name);
    }

    #[inline]
    pub(crate) fn tuple(&mut self, arity: usize) {
        self.out.extend_from_slice(&[SMALL_TUPLE, arity as u8]);
    }

    #[inline]
    pub(crate) fn unsigned(&mut self, value: u32) {
        if value < 256 {
            return self.out.extend_from_slice(&[SMALL_INTEGER, value as u8]);
        }
        let [a, b, c, d] = value.to_be_bytes();
        match value {
            0..=0x7fff_ffff => self.out.extend_from_slice(&[INTEGER, a, b, c, d]),
            _ => self.out.extend_from_slice(&[SMALL_BIG, 4, 0, d, c, b, a]),
        }
    }

    #[inline]
    pub(crate) fn list(&mut self, len: usize) {
        if len > 0 {
            let [a, b, c, d] = (len as u32).to_be_bytes();
            self.out.extend_from_slice(&[LIST, a, b, c, d]);
        }
    }

    #[inline]
    pub(crate) fn nil(&mut self) {
        self.out.push(NIL);
    }

    /// A list of small integers: a text in Erlang's sense.
    #[inline]
    pub(crate) fn string(&mut self, octets: &[u8]) {
        match u16::try_from(octets.len()) {
            Ok(0) => self.nil(),
            Ok(len) => {
                let [high, low] = len.to_be_bytes();
                self.out.extend_from_slice(&[STRING, high, low]);
                octets::push(self.out, octets);
            }
            Err(_) => {
                self.list(octets.len());
                for octet in octets {
                    self.unsigned(u32::from(*octet));
                }
                self.nil();
            }
        }
    }
}

/// Reads terms out of one message.
pub(crate) struct ErlReader<'a> {
    input: &'a [u8],
    pub(crate) rest: &'a [u8],
    pub(crate) arena: &'a Arena,
    pub(crate) cx: Context,
    pub(crate) failure: FirstFailure,
}

impl<'a> ErlReader<'a> {
    /// `input` is without the version octet 131.
    pub(crate) fn new(input: &'a [u8], arena: &'a Arena, options: BinaryOptions) -> Self {
        Self {
            input,
            rest: input,
            arena,
            cx: Context::new(options),
            failure: FirstFailure::default(),
        }
    }

    /// Octets that there were before anything was read.
    pub(crate) const fn input_len(&self) -> usize {
        self.input.len()
    }

    #[cold]
    pub(crate) fn fail(&mut self, kind: ErrorKind, expected: &'static str) -> Stop {
        let offset = self.input.len().saturating_sub(self.rest.len());
        self.failure.at(kind, offset, expected)
    }

    #[inline]
    fn take(&mut self, len: usize) -> Result<&'a [u8], Stop> {
        let Some((taken, rest)) = self.rest.split_at_checked(len) else {
            return Err(self.fail(ErrorKind::Cut, "the rest of a term"));
        };
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn big_endian(&mut self, len: usize) -> Result<usize, Stop> {
        let octets = self.take(len)?;
        Ok(octets
            .iter()
            .fold(0_usize, |sum, octet| sum << 8 | usize::from(*octet)))
    }

    #[inline]
    pub(crate) fn next_tag(&mut self) -> Result<u8, Stop> {
        match self.rest.first() {
            Some(tag) => Ok(*tag),
            None => Err(self.fail(ErrorKind::Cut, "a term")),
        }
    }

    /// Starts a tuple and gives its arity.
    #[inline]
    pub(crate) fn tuple(&mut self) -> Result<usize, Stop> {
        if let [SMALL_TUPLE, arity, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(usize::from(*arity));
        }
        self.tuple_slow()
    }

    #[inline(never)]
    fn tuple_slow(&mut self) -> Result<usize, Stop> {
        match self.next_tag()? {
            SMALL_TUPLE => {
                self.take(1)?;
                self.big_endian(1)
            }
            LARGE_TUPLE => {
                self.take(1)?;
                self.big_endian(4)
            }
            _ => Err(self.fail(ErrorKind::Syntax, "a tuple")),
        }
    }

    /// The name of an atom.
    #[inline]
    pub(crate) fn atom(&mut self) -> Result<&'a [u8], Stop> {
        if let [ATOM, 0, len, rest @ ..] | [SMALL_ATOM_UTF8, len, rest @ ..] = self.rest
            && let Some((name, rest)) = rest.split_at_checked(usize::from(*len))
        {
            self.rest = rest;
            return Ok(name);
        }
        self.atom_slow()
    }

    #[inline(never)]
    fn atom_slow(&mut self) -> Result<&'a [u8], Stop> {
        let len_octets = match self.next_tag()? {
            ATOM | ATOM_UTF8 => 2,
            SMALL_ATOM | SMALL_ATOM_UTF8 => 1,
            _ => return Err(self.fail(ErrorKind::Syntax, "an atom")),
        };
        self.take(1)?;
        let len = self.big_endian(len_octets)?;
        self.take(len)
    }

    /// Passes over an atom of the name given, if that is what comes next.
    #[inline(always)]
    pub(crate) fn is_atom(&mut self, name: &'static [u8]) -> Result<bool, Stop> {
        // Inlined, the name is a constant: comparing is a few words, without a loop.
        if let [ATOM, 0, len, rest @ ..] | [SMALL_ATOM_UTF8, len, rest @ ..] = self.rest {
            if usize::from(*len) == name.len()
                && let Some((found, rest)) = rest.split_at_checked(name.len())
                && found == name
            {
                self.rest = rest;
                return Ok(true);
            }
            return Ok(false);
        }
        self.is_atom_slow(name)
    }

    #[inline(never)]
    fn is_atom_slow(&mut self, name: &[u8]) -> Result<bool, Stop> {
        if !matches!(
            self.next_tag()?,
            ATOM | ATOM_UTF8 | SMALL_ATOM | SMALL_ATOM_UTF8
        ) {
            return Ok(false);
        }
        let before = self.rest;
        if self.atom()? == name {
            return Ok(true);
        }
        self.rest = before;
        Ok(false)
    }

    #[inline]
    pub(crate) fn unsigned(&mut self, max: u32) -> Result<u32, Stop> {
        if let [SMALL_INTEGER, value, rest @ ..] = self.rest
            && u32::from(*value) <= max
        {
            self.rest = rest;
            return Ok(u32::from(*value));
        }
        self.unsigned_slow(max)
    }

    #[inline(never)]
    fn unsigned_slow(&mut self, max: u32) -> Result<u32, Stop> {
        let value = match self.next_tag()? {
            SMALL_INTEGER => {
                self.take(1)?;
                self.big_endian(1)? as u64
            }
            INTEGER => {
                self.take(1)?;
                self.big_endian(4)? as u64
            }
            SMALL_BIG => {
                self.take(1)?;
                let len = self.big_endian(1)?;
                let sign = self.big_endian(1)?;
                if len > 8 || sign != 0 {
                    return Err(self.fail(ErrorKind::Range, "a smaller number"));
                }
                let octets = self.take(len)?;
                octets
                    .iter()
                    .rev()
                    .fold(0_u64, |sum, octet| sum << 8 | u64::from(*octet))
            }
            _ => return Err(self.fail(ErrorKind::Syntax, "a number")),
        };
        match u32::try_from(value) {
            Ok(value) if value <= max => Ok(value),
            _ => Err(self.fail(ErrorKind::Range, "a smaller number")),
        }
    }

    /// A list of octets: as a string, a list of small integers, or a binary.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<&'a [u8], Stop> {
        if let [STRING, high, low, rest @ ..] = self.rest
            && let Some((octets, rest)) =
                rest.split_at_checked(usize::from(u16::from_be_bytes([*high, *low])))
        {
            self.rest = rest;
            return Ok(octets);
        }
        self.string_slow()
    }

    #[inline(never)]
    fn string_slow(&mut self) -> Result<&'a [u8], Stop> {
        match self.next_tag()? {
            STRING => {
                self.take(1)?;
                let len = self.big_endian(2)?;
                self.take(len)
            }
            NIL => {
                self.take(1)?;
                Ok(&[])
            }
            BINARY => {
                self.take(1)?;
                let len = self.big_endian(4)?;
                self.take(len)
            }
            LIST => {
                self.take(1)?;
                let len = self.big_endian(4)?;
                // Every element takes two octets or more: what is left bounds the list.
                let mut octets = self.arena.growing(len.min(self.rest.len() / 2));
                for _ in 0..len {
                    octets.push(self.unsigned(255)? as u8);
                }
                self.end_list()?;
                Ok(octets.into_bump_slice())
            }
            _ => Err(self.fail(ErrorKind::Syntax, "a string")),
        }
    }

    /// Passes over the term that comes next, and gives its octets.
    #[inline]
    pub(super) fn term(&mut self) -> Result<&'a [u8], Stop> {
        let Some((term, rest)) = split_term(self.rest) else {
            return Err(self.fail(ErrorKind::Cut, "a complete term"));
        };
        self.rest = rest;
        Ok(term)
    }

    /// Starts a list: how many elements it has, and whether they are the octets of a string.
    #[inline]
    pub(crate) fn list(&mut self) -> Result<ListStart<'a>, Stop> {
        match self.rest {
            [LIST, 0, 0, high, low, rest @ ..] => {
                self.rest = rest;
                let count = u16::from_be_bytes([*high, *low]);
                return Ok(ListStart::Elements(usize::from(count)));
            }
            [NIL, rest @ ..] => {
                self.rest = rest;
                return Ok(ListStart::Empty);
            }
            _ => {}
        }
        self.list_slow()
    }

    #[inline(never)]
    fn list_slow(&mut self) -> Result<ListStart<'a>, Stop> {
        match self.next_tag()? {
            NIL => {
                self.take(1)?;
                Ok(ListStart::Empty)
            }
            LIST => {
                self.take(1)?;
                Ok(ListStart::Elements(self.big_endian(4)?))
            }
            STRING => {
                self.take(1)?;
                let len = self.big_endian(2)?;
                Ok(ListStart::Octets(self.take(len)?))
            }
            _ => Err(self.fail(ErrorKind::Syntax, "a list")),
        }
    }

    #[inline]
    pub(crate) fn end_list(&mut self) -> Result<(), Stop> {
        if let [NIL, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(());
        }
        match self.next_tag()? {
            NIL => self.take(1).map(|_| ()),
            _ => Err(self.fail(ErrorKind::Syntax, "the end of a list")),
        }
    }
}

/// What follows the tag of a term.
#[derive(Clone, Copy)]
struct Shape {
    /// Octets with the tag, without those that the number behind it counts.
    octets: u32,
    /// The number behind the tag are the highest bits of the seven octets there, without so many.
    shift: u8,
    /// The terms inside that are not counted.
    terms: u8,
    /// The bits of the number that count octets, all or none.
    octets_mask: u32,
    /// The bits of the number that count terms, all or none.
    terms_mask: u32,
}

impl Shape {
    /// More octets than there can be stand for a tag that is not known.
    const UNKNOWN: Self = Self::counts_octets(u32::MAX, 0);

    /// The shape of a term of so many octets.
    const fn fixed(octets: u32) -> Self {
        Self {
            octets,
            shift: 0,
            terms: 0,
            octets_mask: 0,
            terms_mask: 0,
        }
    }

    /// The shape of a term of so many octets, and as many more as a number of `len` octets says.
    const fn counts_octets(octets: u32, len: u8) -> Self {
        Self {
            shift: 56_u8.saturating_sub(len * 8),
            octets_mask: u32::MAX,
            ..Self::fixed(octets)
        }
    }

    /// The shape of what holds so many terms, and as many more as a number of `len` octets says.
    const fn counts_terms(terms: u8, len: u8) -> Self {
        Self {
            shift: 56_u8.saturating_sub(len * 8),
            terms,
            terms_mask: u32::MAX,
            ..Self::fixed(1 + len as u32)
        }
    }
}

/// The shapes of terms by their tags: a table has no branches, which could not be foreseen.
static SHAPES: [Shape; 256] = {
    let mut shapes = [Shape::UNKNOWN; 256];
    shapes[SMALL_INTEGER as usize] = Shape::fixed(2);
    shapes[INTEGER as usize] = Shape::fixed(5);
    shapes[NIL as usize] = Shape::fixed(1);
    shapes[ATOM as usize] = Shape::counts_octets(3, 2);
    shapes[ATOM_UTF8 as usize] = Shape::counts_octets(3, 2);
    shapes[STRING as usize] = Shape::counts_octets(3, 2);
    shapes[SMALL_ATOM as usize] = Shape::counts_octets(2, 1);
    shapes[SMALL_ATOM_UTF8 as usize] = Shape::counts_octets(2, 1);
    shapes[BINARY as usize] = Shape::counts_octets(5, 4);
    // The octet of the sign is not counted.
    shapes[SMALL_BIG as usize] = Shape::counts_octets(3, 1);
    shapes[SMALL_TUPLE as usize] = Shape::counts_terms(0, 1);
    shapes[LARGE_TUPLE as usize] = Shape::counts_terms(0, 4);
    // The tail of a list is a term, too.
    shapes[LIST as usize] = Shape::counts_terms(1, 4);
    shapes
};

/// The octets of the first term, and those after it; `None` where there is no whole term. The time grows with the
/// octets only, however deeply terms are nested.
#[inline]
pub(super) fn split_term(octets: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut at = 0_usize;
    let mut terms = 1_u64;
    while terms > 0 {
        let rest = octets.get(at..)?;
        let begin = match rest.first_chunk::<8>() {
            Some(begin) => *begin,
            None => begin_of(rest)?,
        };
        let [tag, ..] = begin;
        let shape = &SHAPES[usize::from(tag)];
        let number = u64::from_be_bytes(begin) << 8 >> 8 >> shape.shift;
        terms -= 1;
        terms += u64::from(shape.terms) + (number & u64::from(shape.terms_mask));
        let len = u64::from(shape.octets) + (number & u64::from(shape.octets_mask));
        at = at.checked_add(usize::try_from(len).ok()?)?;
    }
    octets.split_at_checked(at)
}

/// The first octets of the last terms, with zeros behind them.
#[cold]
fn begin_of(rest: &[u8]) -> Option<[u8; 8]> {
    let mut begin = [0; 8];
    begin.get_mut(..rest.len())?.copy_from_slice(rest);
    Some(begin)
}

/// The number that the first term is, and what follows it.
#[inline]
pub(super) fn first_number(octets: &[u8]) -> Option<(u32, &[u8])> {
    match octets {
        [SMALL_INTEGER, value, rest @ ..] => Some((u32::from(*value), rest)),
        [INTEGER, a, b, c, d, rest @ ..] => {
            Some((u32::from_be_bytes([*a, *b, *c, *d]), rest)).filter(|(value, _)| value >> 31 == 0)
        }
        _ => None,
    }
}

/// The beginning of a list.
pub(crate) enum ListStart<'a> {
    /// The list is empty and has been read.
    Empty,
    /// The number of terms that follow, before [`ErlReader::end_list`].
    Elements(usize),
    /// Small integers in the short form, already read.
    Octets(&'a [u8]),
}
