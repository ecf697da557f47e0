//! `megaco_compressed`: records as short tuples, by the rules of `megaco_compressed.txt`.

use std::sync::LazyLock;

use super::{
    erl::{ErlReader, ErlWriter, ListStart, NO_VALUE},
    list::GROWING_MAX,
};
use crate::{
    Arena,
    error::{ErrorKind, Stop},
    octets,
};

/// A term of Erlang, as far as messages have them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Term<'a> {
    Atom(&'a [u8]),
    Number(u32),
    /// A list of small integers.
    Text(&'a [u8]),
    List(&'a [Term<'a>]),
    Tuple(&'a [Term<'a>]),
}

/// What a rule looks for.
#[derive(Debug)]
enum Pattern {
    Atom(&'static str),
    Number(u32),
    Text(&'static str),
    List(Vec<Pattern>),
    Tuple(Vec<Pattern>),
    /// A variable, and the number that it must be.
    Variable(usize, Option<u32>),
}

/// How a variable is written.
#[derive(Clone, Copy, Debug)]
enum How {
    Raw,
    Compressed,
    List,
    Lists,
}

#[derive(Debug)]
struct Rule {
    tag: u32,
    versions: (u8, u8),
    pattern: Pattern,
    components: Vec<(How, usize)>,
    lists: Vec<usize>,
}

struct Rules {
    all: Vec<Rule>,
    /// Rules by the name of a record or an atom, in order: those whose names hash alike.
    by_name: Vec<Vec<(&'static [u8], usize)>>,
    /// Rules by their tags, which go up to some hundreds, in order.
    by_tag: Vec<Vec<usize>>,
}

const NAME_SLOTS: usize = 1024;

/// Ends and length of a name tell nearly all of them apart.
#[inline]
fn name_slot(name: &[u8]) -> usize {
    let first = name.first_chunk::<8>().map_or_else(
        || octets::pack8(name.get(..name.len().min(7)).unwrap_or_default()),
        |first| u64::from_le_bytes(*first),
    );
    let last = name
        .last_chunk::<8>()
        .map_or(0, |last| u64::from_le_bytes(*last));
    let mixed =
        (first ^ last.rotate_left(23) ^ name.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 54) as usize
}

/// Variables that a rule may have.
const VARIABLES: usize = 16;
/// How deep terms may lie in one another: a message has some thirty levels.
const DEPTH_MAX: u8 = 96;

type Bound<'a> = [Term<'a>; VARIABLES];

static RULES: LazyLock<Rules> = LazyLock::new(Rules::read);

impl Rules {
    fn read() -> Self {
        let mut rules = Self {
            all: Vec::new(),
            by_name: vec![Vec::new(); NAME_SLOTS],
            by_tag: Vec::new(),
        };
        let text = include_str!("megaco_compressed.txt");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let rule = Rule::parse(line).expect("every line of the table is a rule");
            let at = rules.all.len();
            let name = match &rule.pattern {
                Pattern::Atom(name) => name,
                Pattern::Tuple(items) => match items.first() {
                    Some(Pattern::Atom(name)) => name,
                    _ => "",
                },
                _ => "",
            };
            let name = name.as_bytes();
            if let Some(slot) = rules.by_name.get_mut(name_slot(name)) {
                slot.push((name, at));
            }
            let tag = rule.tag as usize;
            if rules.by_tag.len() <= tag {
                rules.by_tag.resize(tag + 1, Vec::new());
            }
            if let Some(slot) = rules.by_tag.get_mut(tag) {
                slot.push(at);
            }
            rules.all.push(rule);
        }
        rules
    }
}

impl Rule {
    fn parse(line: &'static str) -> Option<Self> {
        let mut words = line.split(' ');
        let tag = words.next()?.parse().ok()?;
        let versions = words.next()?;
        let versions = match versions.split_once('-') {
            Some((low, "")) => (low.parse().ok()?, u8::MAX),
            Some((low, high)) => (low.parse().ok()?, high.parse().ok()?),
            None => (versions.parse().ok()?, versions.parse().ok()?),
        };
        let (pattern, rest) = Pattern::parse(words.next()?)?;
        if !rest.is_empty() {
            return None;
        }
        let mut rule = Self {
            tag,
            versions,
            pattern,
            components: Vec::new(),
            lists: Vec::new(),
        };
        for word in words {
            if let Some(name) = word.strip_prefix("list:") {
                rule.lists.push(variable(name)?);
                continue;
            }
            let (how, name) = word.split_at_checked(1)?;
            let how = match how {
                "r" => How::Raw,
                "e" => How::Compressed,
                "l" => How::List,
                "m" => How::Lists,
                _ => return None,
            };
            rule.components.push((how, variable(name)?));
        }
        Some(rule)
    }

    fn applies(&self, version: u8) -> bool {
        (self.versions.0..=self.versions.1).contains(&version)
    }
}

fn variable(name: &str) -> Option<usize> {
    match name.as_bytes() {
        [letter @ b'A'..=b'P'] => Some(usize::from(letter - b'A')),
        _ => None,
    }
}

impl Pattern {
    fn parse(text: &'static str) -> Option<(Self, &'static str)> {
        match text.as_bytes().first()? {
            b'{' => {
                Self::items(text.get(1..)?, "}").map(|(items, rest)| (Self::Tuple(items), rest))
            }
            b'[' => Self::items(text.get(1..)?, "]").map(|(items, rest)| (Self::List(items), rest)),
            b'"' => {
                let (word, rest) = text.get(1..)?.split_once('"')?;
                Some((Self::Text(word), rest))
            }
            _ => {
                let end = text.find([',', '}', ']']).unwrap_or(text.len());
                let (word, rest) = text.split_at_checked(end)?;
                let (name, fixed) = match word.split_once('=') {
                    Some((name, number)) => (name, Some(number.parse().ok()?)),
                    None => (word, None),
                };
                let pattern = if let Some(at) = variable(name) {
                    Self::Variable(at, fixed)
                } else if let Ok(number) = word.parse() {
                    Self::Number(number)
                } else {
                    Self::Atom(word)
                };
                Some((pattern, rest))
            }
        }
    }

    fn items(mut text: &'static str, end: &str) -> Option<(Vec<Self>, &'static str)> {
        let mut items = Vec::new();
        if let Some(rest) = text.strip_prefix(end) {
            return Some((items, rest));
        }
        loop {
            let (item, rest) = Self::parse(text)?;
            items.push(item);
            if let Some(rest) = rest.strip_prefix(end) {
                return Some((items, rest));
            }
            text = rest.strip_prefix(',')?;
        }
    }

    fn matches<'a>(&self, term: &Term<'a>, bound: &mut Bound<'a>) -> bool {
        match (self, term) {
            (Self::Variable(at, fixed), _) => {
                if let Some(place) = bound.get_mut(*at) {
                    *place = *term;
                }
                fixed.is_none_or(|number| *term == Term::Number(number))
            }
            (Self::Atom(name), Term::Atom(found)) => name.as_bytes() == *found,
            (Self::Number(number), Term::Number(found)) => number == found,
            (Self::Text(text), Term::Text(found)) => text.as_bytes() == *found,
            (Self::List(items), Term::List(found)) | (Self::Tuple(items), Term::Tuple(found)) => {
                items.len() == found.len()
                    && items
                        .iter()
                        .zip(*found)
                        .all(|(item, term)| item.matches(term, bound))
            }
            _ => false,
        }
    }

    /// Appends what a rule stands for, its variables expanded.
    fn write(&self, bound: &[(How, Term<'_>); VARIABLES], version: u8, w: &mut ErlWriter<'_>) {
        match self {
            Self::Atom(name) => w.any_atom(name.as_bytes()),
            Self::Number(number) | Self::Variable(_, Some(number)) => w.unsigned(*number),
            Self::Text(text) => w.string(text.as_bytes()),
            Self::List(parts) => {
                w.list(parts.len());
                parts.iter().for_each(|part| part.write(bound, version, w));
                w.nil();
            }
            Self::Tuple(parts) => {
                w.tuple(parts.len());
                parts.iter().for_each(|part| part.write(bound, version, w));
            }
            Self::Variable(at, None) => match bound.get(*at) {
                Some((how, term)) => term.write_each(*how, w, &|term, w| term.expand(version, w)),
                None => w.any_atom(NO_VALUE),
            },
        }
    }
}

impl<'a> Term<'a> {
    fn read(r: &mut ErlReader<'a>, depth: u8) -> Result<Self, Stop> {
        if depth == 0 {
            return Err(r.fail(ErrorKind::Limit, "terms in one another"));
        }
        match r.next_tag()? {
            97 | 98 | 110 => r.unsigned(u32::MAX).map(Self::Number),
            100 | 115 | 118 | 119 => r.atom().map(Self::Atom),
            104 | 105 => {
                let arity = r.tuple()?;
                let mut items = r.arena.growing(arity.min(GROWING_MAX));
                for _ in 0..arity {
                    items.push(Self::read(r, depth.wrapping_sub(1))?);
                }
                Ok(Self::Tuple(items.into_bump_slice()))
            }
            _ => match r.list()? {
                ListStart::Empty => Ok(Self::List(&[])),
                ListStart::Octets(octets) => Ok(Self::Text(octets)),
                ListStart::Elements(count) => {
                    let mut items = r.arena.growing(count.min(GROWING_MAX));
                    for _ in 0..count {
                        items.push(Self::read(r, depth.wrapping_sub(1))?);
                    }
                    r.end_list()?;
                    Ok(Self::List(items.into_bump_slice()))
                }
            },
        }
    }

    fn write(&self, w: &mut ErlWriter<'_>) {
        match self {
            Self::Atom(name) => w.any_atom(name),
            Self::Number(number) => w.unsigned(*number),
            Self::Text(text) => w.string(text),
            Self::List(items) => {
                w.list(items.len());
                items.iter().for_each(|item| item.write(w));
                w.nil();
            }
            Self::Tuple(items) => {
                w.tuple(items.len());
                items.iter().for_each(|item| item.write(w));
            }
        }
    }

    /// Appends the term in its short form.
    fn compress(&self, version: u8, w: &mut ErlWriter<'_>) {
        let name = match self {
            Self::Atom(name) => name,
            Self::Tuple([Self::Atom(name), ..]) => name,
            _ => return self.write(w),
        };
        let rules = &*RULES;
        let candidates = rules.by_name.get(name_slot(name));
        let mut candidates = candidates
            .into_iter()
            .flatten()
            .filter(|(known, _)| *known == *name)
            .peekable();
        if candidates.peek().is_none() {
            return self.write(w);
        }
        let mut bound = [Self::Atom(NO_VALUE); VARIABLES];
        for (_, at) in candidates {
            let Some(rule) = rules.all.get(*at) else {
                continue;
            };
            if !rule.applies(version) || !rule.pattern.matches(self, &mut bound) {
                continue;
            }
            let is_list =
                |at: &usize| matches!(bound.get(*at), Some(Self::List(_) | Self::Text(_)));
            if !rule.lists.iter().all(is_list) {
                continue;
            }
            w.tuple(rule.components.len().saturating_add(1));
            w.unsigned(rule.tag);
            for (how, at) in &rule.components {
                let term = bound.get(*at).copied().unwrap_or(Self::Atom(NO_VALUE));
                term.write_each(*how, w, &|term, w| term.compress(version, w));
            }
            return;
        }
        self.write(w);
    }

    /// Appends the plain form of a short one.
    fn expand(&self, version: u8, w: &mut ErlWriter<'_>) {
        let Self::Tuple([Self::Number(tag), components @ ..]) = self else {
            return self.write(w);
        };
        let rules = &*RULES;
        let rule = rules
            .by_tag
            .get(*tag as usize)
            .into_iter()
            .flatten()
            .filter_map(|at| rules.all.get(*at))
            .find(|rule| rule.components.len() == components.len() && rule.applies(version));
        let Some(rule) = rule else {
            return self.write(w);
        };
        let mut bound = [(How::Raw, Self::Atom(NO_VALUE)); VARIABLES];
        for ((how, at), term) in rule.components.iter().zip(components) {
            if let Some(place) = bound.get_mut(*at) {
                *place = (*how, *term);
            }
        }
        rule.pattern.write(&bound, version, w);
    }

    /// Appends the term as it is, changed, or as a list whose elements are changed.
    fn write_each(
        &self,
        how: How,
        w: &mut ErlWriter<'_>,
        change: &dyn Fn(&Self, &mut ErlWriter<'_>),
    ) {
        let inside = match how {
            How::Raw => return self.write(w),
            How::Compressed => return change(self, w),
            How::List => How::Compressed,
            How::Lists => How::List,
        };
        let Self::List(items) = self else {
            return self.write(w);
        };
        w.list(items.len());
        items
            .iter()
            .for_each(|item| item.write_each(inside, w, change));
        w.nil();
    }

    /// The version that a compressed message bears.
    fn version(&self) -> Option<u8> {
        let Self::Tuple([Self::Number(tag), rest @ ..]) = self else {
            return None;
        };
        let number = |at: usize| match rest.get(at) {
            Some(Self::Number(number)) => u8::try_from(*number).ok(),
            _ => None,
        };
        match tag {
            20 => Some(1),
            21 => Some(2),
            22 | 25 | 27 => number(0),
            23 | 24 => number(1),
            26 => rest.get(1)?.version(),
            _ => None,
        }
    }
}

/// Whether a term is a message in its compressed form.
pub(crate) fn is_compressed(term: &[u8]) -> bool {
    matches!(term, [104, _, 97 | 98, ..])
}

/// The plain term of a compressed one, both without the version octet.
pub(crate) fn expand<'a>(r: &mut ErlReader<'a>) -> Result<&'a [u8], Stop> {
    let arena = r.arena;
    let term = Term::read(r, DEPTH_MAX)?;
    if !r.rest.is_empty() {
        return Err(r.fail(ErrorKind::Syntax, "the end of the message"));
    }
    let Some(version) = term.version() else {
        return Err(r.fail(ErrorKind::Syntax, "a compressed message"));
    };
    let mut plain = Vec::new();
    let mut w = ErlWriter::new(&mut plain, r.cx.options, false);
    term.expand(version, &mut w);
    Ok(arena.list(&plain))
}

/// Appends the compressed form of a plain term.
pub(crate) fn compress(plain: &[u8], version: u8, w: &mut ErlWriter<'_>) {
    // A term takes 24 octets here, and few of them less than two there.
    let arena = Arena::with_capacity(plain.len().saturating_mul(12));
    let mut r = ErlReader::new(plain, &arena, w.cx.options);
    match Term::read(&mut r, DEPTH_MAX) {
        Ok(term) => term.compress(version, w),
        Err(Stop) => w.fail("terms in one another beyond the limit"),
    }
}
