//! `megaco_compressed`: records as short tuples, by the rules of `megaco_compressed.txt`.

use std::sync::LazyLock;

use super::{
    erl::{ErlReader, ErlWriter, ListStart, NO_VALUE},
    list::GROWING_MAX,
};
use crate::{
    Arena, BinaryOptions,
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
    /// How each component is written, and where in the record it stands: a place in each tuple and list on the way.
    components: Vec<(How, Vec<u8>)>,
    lists: Vec<Vec<u8>>,
    /// The short tuple up to its first component, as it is written.
    head: Vec<u8>,
    /// The plain record, as it is written.
    plain: Vec<Piece>,
}

/// A part of a record that is written.
#[derive(Debug)]
enum Piece {
    /// Octets that are the same in all records of a rule.
    Octets(Vec<u8>),
    /// The component of this number.
    Component(usize),
}

/// The rules for records of one name, or for an atom.
#[derive(Clone, Debug)]
struct Named {
    name: &'static [u8],
    /// What is written for the atom of this name, if there is a rule for it in all versions.
    atom: Option<Vec<u8>>,
    /// In order, each with [`second`] of the term that it demands behind the name; nothing where any will do.
    rules: Vec<(Option<u64>, usize)>,
}

struct Rules {
    all: Vec<Rule>,
    /// Rules by the name of a record or an atom: those whose names hash alike.
    by_name: Vec<Vec<Named>>,
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
                rule.enter(slot, name, at);
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
            head: Vec::new(),
            plain: Vec::new(),
        };
        let mut paths: [Option<Vec<u8>>; VARIABLES] = Default::default();
        rule.pattern.paths(&mut Vec::new(), &mut paths);
        let path = |name| paths.get(variable(name)?)?.clone();
        let mut numbers = [None; VARIABLES];
        for word in words {
            if let Some(name) = word.strip_prefix("list:") {
                rule.lists.push(path(name)?);
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
            *numbers.get_mut(variable(name)?)? = Some(rule.components.len());
            rule.components.push((how, path(name)?));
        }
        let mut w = ErlWriter::new(&mut rule.head, BinaryOptions::default(), false);
        w.tuple(rule.components.len().checked_add(1)?);
        w.unsigned(rule.tag);
        rule.pattern.pieces(&numbers, &mut rule.plain);
        Some(rule)
    }

    /// Enters the rule with the number `at` among those of its name.
    fn enter(&self, slot: &mut Vec<Named>, name: &'static [u8], at: usize) {
        let known = slot.iter().position(|known| known.name == name);
        let known = known.unwrap_or_else(|| {
            slot.push(Named {
                name,
                atom: None,
                rules: Vec::new(),
            });
            slot.len() - 1
        });
        let Some(known) = slot.get_mut(known) else {
            return;
        };
        let all_versions = self.versions.0 <= 1 && self.versions.1 == u8::MAX;
        if matches!(self.pattern, Pattern::Atom(_)) && all_versions && known.atom.is_none() {
            known.atom = Some(self.head.clone());
        }
        let demanded = match &self.pattern {
            Pattern::Tuple(items) => items.get(1).and_then(Pattern::second),
            _ => None,
        };
        known.rules.push((demanded, at));
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

    /// Notes where each variable stands; `path` leads here.
    fn paths(&self, path: &mut Vec<u8>, paths: &mut [Option<Vec<u8>>; VARIABLES]) {
        match self {
            Self::Variable(at, _) => {
                if let Some(place) = paths.get_mut(*at) {
                    *place = Some(path.clone());
                }
            }
            Self::List(items) | Self::Tuple(items) => {
                for (at, item) in (0..).zip(items) {
                    path.push(at);
                    item.paths(path, paths);
                    path.pop();
                }
            }
            _ => {}
        }
    }

    /// As [`Term::second`] of the terms that fit; nothing when others may.
    fn second(&self) -> Option<u64> {
        match self {
            Self::Atom(name) => Some(second(ATOM_MARK, name.as_bytes())),
            Self::Text(text) => Some(second(TEXT_MARK, text.as_bytes())),
            _ => None,
        }
    }

    /// True when a term fits. That the names of tuples fit at the top is known.
    fn matches_named(&self, term: &Term<'_>) -> bool {
        match (self, term) {
            (Self::Tuple(items), Term::Tuple(found)) => {
                let pairs = items.iter().zip(*found).skip(1);
                items.len() == found.len()
                    && pairs.into_iter().all(|(item, term)| item.matches(term))
            }
            _ => self.matches(term),
        }
    }

    fn matches(&self, term: &Term<'_>) -> bool {
        match (self, term) {
            (Self::Variable(_, fixed), _) => {
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
                        .all(|(item, term)| item.matches(term))
            }
            _ => false,
        }
    }

    /// Appends the pieces of which a record of a rule consists; `numbers` are those of the variables' components.
    fn pieces(&self, numbers: &[Option<usize>; VARIABLES], pieces: &mut Vec<Piece>) {
        let fixed = |pieces: &mut Vec<Piece>, write: &dyn Fn(&mut ErlWriter<'_>)| {
            if !matches!(pieces.last(), Some(Piece::Octets(_))) {
                pieces.push(Piece::Octets(Vec::new()));
            }
            if let Some(Piece::Octets(octets)) = pieces.last_mut() {
                write(&mut ErlWriter::new(octets, BinaryOptions::default(), false));
            }
        };
        match self {
            Self::Atom(name) => fixed(pieces, &|w| w.any_atom(name.as_bytes())),
            Self::Number(number) | Self::Variable(_, Some(number)) => {
                fixed(pieces, &|w| w.unsigned(*number));
            }
            Self::Text(text) => fixed(pieces, &|w| w.string(text.as_bytes())),
            Self::List(parts) => {
                fixed(pieces, &|w| w.list(parts.len()));
                parts.iter().for_each(|part| part.pieces(numbers, pieces));
                fixed(pieces, &|w| {
                    w.nil();
                });
            }
            Self::Tuple(parts) => {
                fixed(pieces, &|w| w.tuple(parts.len()));
                parts.iter().for_each(|part| part.pieces(numbers, pieces));
            }
            Self::Variable(at, None) => match numbers.get(*at) {
                Some(Some(number)) => pieces.push(Piece::Component(*number)),
                _ => fixed(pieces, &|w| w.any_atom(NO_VALUE)),
            },
        }
    }
}

/// Atoms and texts of the same octets differ.
const ATOM_MARK: u64 = 0x100;
const TEXT_MARK: u64 = 0x200;

/// A number that nearly tells apart what rules demand behind a record's name.
#[inline]
fn second(mark: u64, octets: &[u8]) -> u64 {
    let first = octets.first_chunk::<4>().map_or_else(
        || octets::pack8(octets.get(..octets.len().min(3)).unwrap_or_default()),
        |first| u64::from(u32::from_le_bytes(*first)),
    );
    first << 16 | mark | (octets.len() as u64 & 0xff)
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

    /// See [`second`]; 0 where no rule demands anything.
    #[inline]
    fn second(&self) -> u64 {
        match self {
            Self::Atom(name) => second(ATOM_MARK, name),
            Self::Text(text) => second(TEXT_MARK, text),
            _ => 0,
        }
    }

    /// The term where a path leads.
    #[inline]
    fn at(&self, path: &[u8]) -> &Self {
        path.iter().fold(self, |term, at| match term {
            Self::List(items) | Self::Tuple(items) => items.get(usize::from(*at)).unwrap_or(term),
            _ => term,
        })
    }

    /// Appends the term in its short form.
    fn compress(&self, version: u8, w: &mut ErlWriter<'_>) {
        let name = match self {
            Self::Atom(name) => name,
            Self::Tuple([Self::Atom(name), ..]) => name,
            _ => return self.write(w),
        };
        let rules = &*RULES;
        let slot = rules.by_name.get(name_slot(name));
        let named = slot.and_then(|slot| slot.iter().find(|named| named.name == *name));
        let Some(named) = named else {
            return self.write(w);
        };
        let behind = match self {
            Self::Tuple([_, second, ..]) => second.second(),
            Self::Atom(_) => {
                if let Some(octets) = &named.atom {
                    return octets::push(w.out, octets);
                }
                0
            }
            _ => 0,
        };
        for (demanded, at) in &named.rules {
            if demanded.is_some_and(|demanded| demanded != behind) {
                continue;
            }
            let Some(rule) = rules.all.get(*at) else {
                continue;
            };
            if !rule.applies(version) || !rule.pattern.matches_named(self) {
                continue;
            }
            let is_list = |path: &Vec<u8>| matches!(self.at(path), Self::List(_) | Self::Text(_));
            if !rule.lists.iter().all(is_list) {
                continue;
            }
            octets::push(w.out, &rule.head);
            for (how, path) in &rule.components {
                self.at(path).write_each::<true>(*how, version, w);
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
        for piece in &rule.plain {
            match piece {
                Piece::Octets(octets) => octets::push(w.out, octets),
                Piece::Component(at) => {
                    if let (Some(term), Some((how, _))) =
                        (components.get(*at), rule.components.get(*at))
                    {
                        term.write_each::<false>(*how, version, w);
                    }
                }
            }
        }
    }

    /// Appends the term as it is, compressed or expanded, or as a list of such elements.
    fn write_each<const COMPRESSES: bool>(&self, how: How, version: u8, w: &mut ErlWriter<'_>) {
        let inside = match how {
            How::Raw => return self.write(w),
            How::Compressed if COMPRESSES => return self.compress(version, w),
            How::Compressed => return self.expand(version, w),
            How::List => How::Compressed,
            How::Lists => How::List,
        };
        let Self::List(items) = self else {
            return self.write(w);
        };
        w.list(items.len());
        items
            .iter()
            .for_each(|item| item.write_each::<COMPRESSES>(inside, version, w));
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
    // Most messages become twice as long.
    let mut plain = Vec::with_capacity(r.input_len().saturating_mul(4));
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
