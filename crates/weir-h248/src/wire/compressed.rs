//! `megaco_compressed`: records as short tuples, by the rules of `megaco_compressed.txt`.
//!
//! Both directions go through a term's octets once and write the other form of them: no tree is built. A record is
//! compared with a rule by the octets that all records of the rule share.

#[cfg(test)]
mod naive;
mod rules;

use std::cell::Cell;

use super::erl::{
    ATOM, ErlReader, ErlWriter, INTEGER, LARGE_TUPLE, LIST, NIL, SMALL_ATOM_UTF8, SMALL_INTEGER,
    SMALL_TUPLE, STRING, first_number, split_term,
};
use crate::{
    error::{ErrorKind, Stop},
    octets,
};
use rules::{Candidate, Head, How, NO_PLACES, Places, PlainPiece, Rule, Rules, Step};

/// The maximum depth of nested terms: a message has some thirty levels.
const DEPTH_MAX: u8 = 96;

/// Writes terms in their short form.
struct Compressor<'o> {
    rules: &'static Rules,
    version: u8,
    out: &'o mut Vec<u8>,
}

impl Compressor<'_> {
    /// Appends the term at the beginning of `at` in its short form, and returns the octets after it; `None` when terms
    /// are nested too deeply, or are not whole.
    fn term<'a>(&mut self, at: &'a [u8], depth: u8) -> Option<&'a [u8]> {
        let depth = depth.checked_sub(1)?;
        let (name, rest, arity) = match at {
            [SMALL_TUPLE, arity, ATOM, 0, len, rest @ ..]
            | [SMALL_TUPLE, arity, SMALL_ATOM_UTF8, len, rest @ ..] => {
                let (name, rest) = rest.split_at_checked(usize::from(*len))?;
                (name, rest, *arity)
            }
            [ATOM, 0, len, rest @ ..] | [SMALL_ATOM_UTF8, len, rest @ ..] => {
                let (name, rest) = rest.split_at_checked(usize::from(*len))?;
                let short = self.rules.named(name).and_then(|named| named.atom.as_ref());
                return match short {
                    Some(short) => {
                        short.push(self.out);
                        Some(rest)
                    }
                    None => self.raw(at),
                };
            }
            _ => return self.raw(at),
        };
        let start = self.out.len();
        if let Some(named) = self.rules.named(name) {
            let candidates = named.candidates(self.version, rest);
            if let Some(behind) = self.record(candidates, arity, rest, depth)? {
                return Some(behind);
            }
            self.out.truncate(start);
        }
        self.raw(at)
    }

    /// Appends the short tuple of the first rule that a record matches, and returns what follows the record, or `None`
    /// inside when there is no such rule; `text` is what stands behind its name. Components are written while the rules
    /// are tried: one that rules have in common is written once, and where it ends is known only then.
    fn record<'a>(
        &mut self,
        candidates: &[Candidate],
        arity: u8,
        text: &'a [u8],
        depth: u8,
    ) -> Option<Option<&'a [u8]>> {
        let start = self.out.len();
        let mut places = NO_PLACES;
        // The number of steps that the candidate before has matched.
        let mut matched = 0;
        let mut head = None;
        for candidate in candidates {
            // A rule that shares the step that failed would fail there again.
            if candidate.arity != arity || candidate.shared > matched {
                continue;
            }
            let rule = self.rules.all.get(candidate.rule)?;
            let head = match head {
                Some(head) if candidate.shared > 0 => head,
                _ => {
                    self.out.truncate(start);
                    rule.head.push(self.out);
                    *places.first_mut()? = (0, self.out.len());
                    *head.insert(&rule.head)
                }
            };
            matched = self.follow(rule, text, candidate.shared, &mut places, depth)?;
            if matched == rule.steps.len() {
                let (end, _) = *places.get(matched)?;
                match rule.out_of_order.is_empty() {
                    true => self.replace_head(start, head, &rule.head),
                    false => self.rewrite(start, rule, text, &places, depth)?,
                }
                return text.get(end..)?.get(rule.list_ends..).map(Some);
            }
        }
        Some(None)
    }

    /// Goes through the octets behind a record's name with the steps of a rule from `first` on, whose place is known,
    /// appends the components and returns the number of steps that match.
    fn follow(
        &mut self,
        rule: &Rule,
        text: &[u8],
        first: usize,
        places: &mut Places,
        depth: u8,
    ) -> Option<usize> {
        let (mut at, written) = *places.get(first)?;
        self.out.truncate(written);
        let mut matched = first;
        for step in rule.steps.get(first..)? {
            let rest = text.get(at..)?;
            match *step {
                Step::Octets {
                    len,
                    octets,
                    mask,
                    written,
                } => {
                    let found = match rest.first_chunk() {
                        Some(found) => u128::from_le_bytes(*found),
                        None => octets::pack16(rest),
                    };
                    if (found ^ octets) & mask != 0 {
                        return Some(matched);
                    }
                    if written {
                        octets::push_packed(self.out, octets, len);
                    }
                    at += len;
                }
                Step::Term {
                    how,
                    is_list,
                    times,
                } => {
                    if is_list && !matches!(rest.first(), Some(&(NIL | STRING | LIST))) {
                        return Some(matched);
                    }
                    let begin = self.out.len();
                    let behind = self.component(how, rest, depth)?;
                    let end = self.out.len();
                    for _ in 1..times {
                        self.out.extend_from_within(begin..end);
                    }
                    at = text.len().checked_sub(behind.len())?;
                }
            }
            matched += 1;
            *places.get_mut(matched)? = (at, self.out.len());
        }
        Some(matched)
    }

    /// Appends the short tuple anew from `start` on, for a rule whose components are in an order of their own: only the
    /// outermost record has one.
    #[cold]
    fn rewrite(
        &mut self,
        start: usize,
        rule: &Rule,
        text: &[u8],
        places: &Places,
        depth: u8,
    ) -> Option<()> {
        self.out.truncate(start);
        rule.head.push(self.out);
        for (how, step) in &rule.out_of_order {
            let (begin, _) = *places.get(*step)?;
            self.component(*how, text.get(begin..)?, depth)?;
        }
        Some(())
    }

    /// Makes the head `is` of the short tuple that begins at `start` the head `must`.
    #[inline]
    fn replace_head(&mut self, start: usize, is: &Head, must: &Head) {
        if std::ptr::eq(is, must) {
            return;
        }
        let components = start.saturating_add(is.len);
        self.out
            .splice(start..components, must.octets().iter().copied());
    }

    /// Appends a component, and gives what follows it.
    fn component<'a>(&mut self, how: How, at: &'a [u8], depth: u8) -> Option<&'a [u8]> {
        let inside = match how {
            How::Raw => return self.raw(at),
            How::Compressed => return self.term(at, depth),
            How::List => How::Compressed,
            How::Lists => How::List,
        };
        let [LIST, a, b, c, d, ..] = *at else {
            return self.raw(at);
        };
        let (head, mut rest) = at.split_at_checked(5)?;
        octets::push(self.out, head);
        for _ in 0..u32::from_be_bytes([a, b, c, d]) {
            rest = self.component(inside, rest, depth)?;
        }
        self.out.push(NIL);
        rest.strip_prefix(&[NIL])
    }

    /// Appends an unchanged term, and returns the octets after it.
    fn raw<'a>(&mut self, at: &'a [u8]) -> Option<&'a [u8]> {
        let (term, rest) = split_term(at)?;
        octets::push_first(self.out, at, term.len());
        Some(rest)
    }
}

/// Writes terms in their plain form.
struct Expander<'o> {
    rules: &'static Rules,
    version: u8,
    out: &'o mut Vec<u8>,
}

impl Expander<'_> {
    /// Appends the plain form of the term that comes next.
    fn term(&mut self, r: &mut ErlReader<'_>, depth: u8) -> Result<(), Stop> {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(r.fail(ErrorKind::Limit, "nested terms"));
        };
        let tuple = match r.rest {
            [SMALL_TUPLE, arity, rest @ ..] => Some((usize::from(*arity), rest)),
            [LARGE_TUPLE, a, b, c, d, rest @ ..] => {
                Some((u32::from_be_bytes([*a, *b, *c, *d]) as usize, rest))
            }
            _ => None,
        };
        let short =
            tuple.and_then(|(arity, rest)| Some((arity.checked_sub(1)?, first_number(rest)?)));
        let rule = short
            .and_then(|(components, (tag, _))| self.rules.tagged(tag, components, self.version));
        let (Some(rule), Some((_, (_, rest)))) = (rule, short) else {
            return self.raw(r);
        };
        r.rest = rest;
        for piece in &rule.plain {
            match piece {
                PlainPiece::Octets(octets, len) => {
                    let end = self.out.len().saturating_add(*len);
                    for piece in octets {
                        self.out.extend_from_slice(piece);
                    }
                    self.out.truncate(end);
                }
                PlainPiece::Component(how) => self.component(*how, r, depth)?,
                PlainPiece::Left => {
                    r.term()?;
                }
            }
        }
        Ok(())
    }

    /// Appends the component that comes next.
    fn component(&mut self, how: How, r: &mut ErlReader<'_>, depth: u8) -> Result<(), Stop> {
        let inside = match how {
            How::Raw => return self.raw(r),
            How::Compressed => return self.term(r, depth),
            How::List => How::Compressed,
            How::Lists => How::List,
        };
        let [LIST, a, b, c, d, rest @ ..] = r.rest else {
            return self.raw(r);
        };
        let head = [LIST, *a, *b, *c, *d];
        r.rest = rest;
        self.out.extend_from_slice(&head);
        for _ in 0..u32::from_be_bytes([*a, *b, *c, *d]) {
            self.component(inside, r, depth)?;
        }
        self.out.push(NIL);
        r.end_list()
    }

    /// Appends the next term unchanged.
    fn raw(&mut self, r: &mut ErlReader<'_>) -> Result<(), Stop> {
        let text = r.rest;
        let term = r.term()?;
        octets::push_first(self.out, text, term.len());
        Ok(())
    }
}

/// The version that a compressed message bears.
fn version_of(mut term: &[u8]) -> Option<u8> {
    for _ in 0..DEPTH_MAX {
        let [SMALL_TUPLE, _, rest @ ..] = term else {
            return None;
        };
        let (tag, first) = first_number(rest)?;
        let number = |at: &[u8]| u8::try_from(first_number(at)?.0).ok();
        match tag {
            20 => return Some(1),
            21 => return Some(2),
            22 | 25 | 27 => return number(first),
            23 | 24 => return number(split_term(first)?.1),
            26 => (_, term) = split_term(first)?,
            _ => return None,
        }
    }
    None
}

/// Whether a term is a message in its compressed form.
pub(crate) fn is_compressed(term: &[u8]) -> bool {
    matches!(term, [SMALL_TUPLE, _, SMALL_INTEGER | INTEGER, ..])
}

/// The plain term of a compressed one, both without the version octet.
pub(crate) fn expand<'a>(r: &mut ErlReader<'a>) -> Result<&'a [u8], Stop> {
    let arena = r.arena;
    let Some(version) = version_of(r.rest) else {
        return Err(r.fail(ErrorKind::Syntax, "a compressed message"));
    };
    let mut plain = PLAIN.take();
    // Most messages become twice as long.
    plain.reserve(r.input_len().saturating_mul(4));
    let mut expander = Expander {
        rules: Rules::of(false),
        version,
        out: &mut plain,
    };
    let done = expander.term(r, DEPTH_MAX);
    let term = arena.list(&plain);
    put_back(plain);
    done?;
    if !r.rest.is_empty() {
        return Err(r.fail(ErrorKind::Syntax, "the end of the message"));
    }
    Ok(term)
}

thread_local! {
    /// The room for a plain term that is written only to be read again.
    static PLAIN: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The octets of a plain term that is larger are not kept.
const PLAIN_KEPT_MAX: usize = 64 * 1024;

fn put_back(mut plain: Vec<u8>) {
    if plain.capacity() <= PLAIN_KEPT_MAX {
        plain.clear();
        PLAIN.set(plain);
    }
}

/// Has a plain term written, and appends the compressed form of it, whose atoms are those of `w`.
pub(crate) fn compress(write_plain: impl FnOnce(&mut Vec<u8>), version: u8, w: &mut ErlWriter<'_>) {
    let mut plain = PLAIN.take();
    write_plain(&mut plain);
    compress_term(&plain, version, w);
    put_back(plain);
}

/// Appends the compressed form of a plain term, whose atoms are those of `w`.
fn compress_term(plain: &[u8], version: u8, w: &mut ErlWriter<'_>) {
    let mut compressor = Compressor {
        rules: Rules::of(w.utf8_atoms),
        version,
        out: w.out,
    };
    if compressor.term(plain, DEPTH_MAX).is_none() {
        w.fail("nested terms beyond the limit");
    }
}
