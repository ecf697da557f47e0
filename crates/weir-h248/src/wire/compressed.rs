//! `megaco_compressed`: records as short tuples, by the rules of `megaco_compressed.txt`.
//!
//! Both directions go through a term's octets once and write the other form of them: no tree is built. A record is compared with
//! a rule by the octets that all records of the rule share.

use std::sync::LazyLock;

use super::erl::{
    ATOM, ErlReader, ErlWriter, INTEGER, LARGE_TUPLE, LIST, NIL, NO_VALUE, SMALL_ATOM_UTF8,
    SMALL_INTEGER, SMALL_TUPLE, STRING, first_number, split_term,
};
use crate::{
    BinaryOptions,
    error::{ErrorKind, Stop},
    octets,
};

/// The pattern of a rule.
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

/// The encoding of a variable.
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
    /// The comparisons of a record of the rule, after its name.
    steps: Vec<RuleStep>,
    /// The ends of lists behind the last step, which need not be compared: the number of elements was.
    list_ends: usize,
    /// The encoding of each component, and its variable.
    components: Vec<(How, usize)>,
    /// Variables that must be lists.
    lists: Vec<usize>,
    /// The encoded short tuple up to its first component.
    head: Vec<u8>,
    /// The encoded plain record.
    plain: Vec<PlainPiece>,
}

/// A part of a record that is compared with a rule.
#[derive(Debug)]
enum RuleStep {
    /// Octets that are the same in all records of a rule.
    Octets(Vec<u8>),
    /// Any term, which is the variable of this number.
    Term(usize),
    /// The beginning of a term that the next octets are, and the number of its variable.
    Fixed(usize),
    /// The end of a list.
    ListEnd,
}

/// A part of a record that is written.
#[derive(Debug)]
enum PlainPiece {
    /// Octets that are the same in all records of a rule.
    Octets(Vec<u8>),
    /// The component of this number.
    Component(usize),
}

/// The rules for records of one name, or for an atom.
#[derive(Clone, Debug)]
struct RulesOfName {
    name: &'static [u8],
    /// The encoding of the atom of this name, if there is a rule for it in all versions.
    atom: Option<Vec<u8>>,
    /// The rules in their order.
    rules: Vec<NamedRule>,
}

/// A rule for records of a name.
#[derive(Clone, Copy, Debug)]
struct NamedRule {
    arity: u8,
    /// The [`second`] of the term that the rule demands after the name; `None` where any term will do.
    demanded: Option<u64>,
    rule: usize,
}

/// The rules, with atoms of one of both forms.
struct Rules {
    all: Vec<Rule>,
    /// Rules by the name of a record or an atom: those whose names hash alike.
    by_name: Vec<Vec<RulesOfName>>,
    /// Rules by their tags, which go up to some hundreds, in order.
    by_tag: Vec<Vec<usize>>,
}

const NAME_SLOTS: usize = 1024;

/// The ends and the length of a name distinguish nearly all of them.
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
/// The maximum depth of nested terms: a message has some thirty levels.
const DEPTH_MAX: u8 = 96;

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(false));
static RULES_UTF8: LazyLock<Rules> = LazyLock::new(|| Rules::read(true));

impl Rules {
    /// The rules with atoms in the form of OTP 26, or in the older one.
    fn of(utf8_atoms: bool) -> &'static Self {
        match utf8_atoms {
            true => &RULES_UTF8,
            false => &RULES,
        }
    }

    fn read(utf8_atoms: bool) -> Self {
        let mut rules = Self {
            all: Vec::new(),
            by_name: vec![Vec::new(); NAME_SLOTS],
            by_tag: Vec::new(),
        };
        let text = include_str!("megaco_compressed.txt");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let rule = Rule::parse(line, utf8_atoms).expect("every line of the table is a rule");
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
    fn parse(line: &'static str, utf8_atoms: bool) -> Option<Self> {
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
            steps: Vec::new(),
            list_ends: 0,
            components: Vec::new(),
            lists: Vec::new(),
            head: Vec::new(),
            plain: Vec::new(),
        };
        let mut numbers = [None; VARIABLES];
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
            *numbers.get_mut(variable(name)?)? = Some(rule.components.len());
            rule.components.push((how, variable(name)?));
        }
        let mut w = ErlWriter::new(&mut rule.head, BinaryOptions::default(), false);
        w.tuple(rule.components.len().checked_add(1)?);
        w.unsigned(rule.tag);
        rule.pattern.pieces(&numbers, utf8_atoms, &mut rule.plain);
        if let Pattern::Tuple(items) = &rule.pattern {
            let behind_name = items.get(1..).unwrap_or_default();
            for item in behind_name {
                item.steps(utf8_atoms, &mut rule.steps);
            }
        }
        while let Some(RuleStep::ListEnd) = rule.steps.last() {
            rule.steps.pop();
            rule.list_ends += 1;
        }
        Some(rule)
    }

    /// Adds the rule with the number `at` to those of its name.
    fn enter(&self, slot: &mut Vec<RulesOfName>, name: &'static [u8], at: usize) {
        let known = slot.iter().position(|known| known.name == name);
        let known = known.unwrap_or_else(|| {
            slot.push(RulesOfName {
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
        let Pattern::Tuple(items) = &self.pattern else {
            return;
        };
        known.rules.push(NamedRule {
            arity: items.len() as u8,
            demanded: items.get(1).and_then(Pattern::second),
            rule: at,
        });
    }

    fn applies(&self, version: u8) -> bool {
        (self.versions.0..=self.versions.1).contains(&version)
    }

    /// Finds the variables in a record whose octets after its name are `rest`, and returns the octets after the last step; `None`
    /// when the record does not match the rule. The last variable is not traversed.
    #[inline]
    fn find<'a>(
        &self,
        mut rest: &'a [u8],
        found: &mut Variables,
        ends: &mut Ends,
    ) -> Option<&'a [u8]> {
        let text = rest;
        let mut steps = self.steps.iter();
        while let Some(step) = steps.next() {
            match step {
                RuleStep::Octets(octets) => {
                    let (begin, behind) = rest.split_at_checked(octets.len())?;
                    rest = octets::are_equal(begin, octets).then_some(behind)?;
                }
                RuleStep::Fixed(variable) => *found.get_mut(*variable)? = rest.len(),
                RuleStep::Term(variable) => {
                    *found.get_mut(*variable)? = rest.len();
                    if !steps.as_slice().is_empty() {
                        rest = ends.behind(rest)?;
                    }
                }
                RuleStep::ListEnd => rest = rest.strip_prefix(&[NIL])?,
            }
        }
        let is_list = |variable: &usize| {
            let first = last_octets(text, *found.get(*variable)?)?.first();
            matches!(first, Some(&(NIL | STRING | LIST))).then_some(())
        };
        self.lists.iter().try_for_each(is_list).map(|()| rest)
    }

    /// The variable that is the last of a record.
    fn last(&self) -> Option<usize> {
        match self.steps.last() {
            Some(RuleStep::Term(variable)) => Some(*variable),
            _ => None,
        }
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

    /// The [`second`] of the terms that match; `None` when others may.
    fn second(&self) -> Option<u64> {
        match self {
            Self::Atom(name) => Some(second(ATOM_MARK, name.as_bytes())),
            Self::Text(text) => Some(second(TEXT_MARK, text.as_bytes())),
            _ => None,
        }
    }

    /// Appends what terms of the pattern are compared with.
    fn steps(&self, utf8_atoms: bool, steps: &mut Vec<RuleStep>) {
        let fixed = |steps: &mut Vec<RuleStep>, write: &dyn Fn(&mut ErlWriter<'_>)| {
            if !matches!(steps.last(), Some(RuleStep::Octets(_))) {
                steps.push(RuleStep::Octets(Vec::new()));
            }
            if let Some(RuleStep::Octets(octets)) = steps.last_mut() {
                write(&mut ErlWriter::new(
                    octets,
                    BinaryOptions::default(),
                    utf8_atoms,
                ));
            }
        };
        match self {
            Self::Atom(name) => fixed(steps, &|w| w.any_atom(name.as_bytes())),
            Self::Number(number) => fixed(steps, &|w| w.unsigned(*number)),
            Self::Text(text) => fixed(steps, &|w| w.string(text.as_bytes())),
            Self::List(items) if items.is_empty() => fixed(steps, &|w| w.nil()),
            Self::List(items) => {
                fixed(steps, &|w| w.list(items.len()));
                items.iter().for_each(|item| item.steps(utf8_atoms, steps));
                steps.push(RuleStep::ListEnd);
            }
            Self::Tuple(items) => {
                fixed(steps, &|w| w.tuple(items.len()));
                items.iter().for_each(|item| item.steps(utf8_atoms, steps));
            }
            Self::Variable(variable, None) => steps.push(RuleStep::Term(*variable)),
            Self::Variable(variable, Some(number)) => {
                steps.push(RuleStep::Fixed(*variable));
                fixed(steps, &|w| w.unsigned(*number));
            }
        }
    }

    /// Appends the pieces of a record of a rule; `numbers` are those of the variables' components.
    fn pieces(
        &self,
        numbers: &[Option<usize>; VARIABLES],
        utf8_atoms: bool,
        pieces: &mut Vec<PlainPiece>,
    ) {
        let fixed = |pieces: &mut Vec<PlainPiece>, write: &dyn Fn(&mut ErlWriter<'_>)| {
            if !matches!(pieces.last(), Some(PlainPiece::Octets(_))) {
                pieces.push(PlainPiece::Octets(Vec::new()));
            }
            if let Some(PlainPiece::Octets(octets)) = pieces.last_mut() {
                write(&mut ErlWriter::new(
                    octets,
                    BinaryOptions::default(),
                    utf8_atoms,
                ));
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
                parts
                    .iter()
                    .for_each(|part| part.pieces(numbers, utf8_atoms, pieces));
                fixed(pieces, &|w| {
                    w.nil();
                });
            }
            Self::Tuple(parts) => {
                fixed(pieces, &|w| w.tuple(parts.len()));
                parts
                    .iter()
                    .for_each(|part| part.pieces(numbers, utf8_atoms, pieces));
            }
            Self::Variable(at, None) => match numbers.get(*at) {
                Some(Some(number)) => pieces.push(PlainPiece::Component(*number)),
                _ => fixed(pieces, &|w| w.any_atom(NO_VALUE)),
            },
        }
    }
}

/// Atoms and texts of the same octets differ.
const ATOM_MARK: u64 = 0x100;
const TEXT_MARK: u64 = 0x200;

/// A number that distinguishes nearly all that rules require behind a record's name.
#[inline]
fn second(mark: u64, octets: &[u8]) -> u64 {
    let first = octets.first_chunk::<4>().map_or_else(
        || octets::pack8(octets.get(..octets.len().min(3)).unwrap_or_default()),
        |first| u64::from(u32::from_le_bytes(*first)),
    );
    first << 16 | mark | (octets.len() as u64 & 0xff)
}

/// See [`second`]; 0 for terms that no rule demands.
#[inline]
fn second_of(term: &[u8]) -> u64 {
    match term {
        [ATOM, 0, len, rest @ ..] | [SMALL_ATOM_UTF8, len, rest @ ..] => {
            second(ATOM_MARK, rest.get(..usize::from(*len)).unwrap_or_default())
        }
        [STRING, high, low, rest @ ..] => {
            let len = usize::from(u16::from_be_bytes([*high, *low]));
            second(TEXT_MARK, rest.get(..len).unwrap_or_default())
        }
        _ => 0,
    }
}

/// The variables of a rule, each as the number of octets from its beginning to the end of the text.
type Variables = [usize; VARIABLES];

/// The last octets of a text, so many.
#[inline]
fn last_octets(text: &[u8], len: usize) -> Option<&[u8]> {
    text.get(text.len().checked_sub(len)?..)
}

/// Writes terms in their short form.
struct Compressor<'o> {
    rules: &'static Rules,
    version: u8,
    ends: Ends,
    out: &'o mut Vec<u8>,
}

/// Ends of terms that were gone through lately: the rules of a name are often about what follows the same one.
struct Ends([(usize, usize); ENDS]);

const ENDS: usize = 16;

impl Ends {
    /// The octets after the first term of `at`, which is one of the ends of one text.
    #[inline]
    fn behind<'a>(&mut self, at: &'a [u8]) -> Option<&'a [u8]> {
        let known = self.0.get_mut(at.len() % ENDS)?;
        if known.0 != at.len() {
            *known = (at.len(), split_term(at)?.1.len());
        }
        last_octets(at, known.1)
    }
}

impl Compressor<'_> {
    /// Appends the term at the beginning of `at` in its short form, and returns the octets after it; `None` when terms are nested
    /// too deeply, or are not whole.
    fn term<'a>(&mut self, at: &'a [u8], depth: u8) -> Option<&'a [u8]> {
        let depth = depth.checked_sub(1)?;
        let (name, rest, arity) = match at {
            [SMALL_TUPLE, arity, ATOM, 0, len, rest @ ..]
            | [SMALL_TUPLE, arity, SMALL_ATOM_UTF8, len, rest @ ..] => {
                let (name, rest) = rest.split_at_checked(usize::from(*len))?;
                (name, rest, *arity)
            }
            [ATOM, 0, len, rest @ ..] | [SMALL_ATOM_UTF8, len, rest @ ..] => {
                let name = rest.get(..usize::from(*len))?;
                return match self.named(name).and_then(|named| named.atom.as_ref()) {
                    Some(short) => {
                        octets::push(self.out, short);
                        rest.get(name.len()..)
                    }
                    None => self.raw(at),
                };
            }
            _ => return self.raw(at),
        };
        let Some(named) = self.named(name) else {
            return self.raw(at);
        };
        let behind = second_of(rest);
        let mut found: Variables = [0; VARIABLES];
        for candidate in &named.rules {
            let demands = |demanded| demanded == behind;
            if candidate.arity == arity
                && candidate.demanded.is_none_or(demands)
                && let Some(rule) = self.rules.all.get(candidate.rule)
                && rule.applies(self.version)
                && let Some(end) = rule.find(rest, &mut found, &mut self.ends)
            {
                return self.record(rule, (rest, &found), end, depth);
            }
        }
        self.raw(at)
    }

    fn named(&self, name: &[u8]) -> Option<&'static RulesOfName> {
        let slot = self.rules.by_name.get(name_slot(name))?;
        slot.iter()
            .find(|named| octets::are_equal(named.name, name))
    }

    /// Appends the short tuple of a rule whose variables were found; `end` is what follows its last step.
    fn record<'a>(
        &mut self,
        rule: &Rule,
        (text, found): (&'a [u8], &Variables),
        mut end: &'a [u8],
        depth: u8,
    ) -> Option<&'a [u8]> {
        octets::push(self.out, &rule.head);
        let mut last = rule.last();
        for (how, variable) in &rule.components {
            let at = last_octets(text, *found.get(*variable)?)?;
            let behind = self.component(*how, at, depth)?;
            if last == Some(*variable) {
                (end, last) = (behind, None);
            }
        }
        if last.is_some() {
            (_, end) = split_term(end)?;
        }
        end.get(rule.list_ends..)
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
        octets::push(self.out, term);
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
        let rule = short.and_then(|(components, (tag, _))| self.rule(tag, components));
        let (Some(rule), Some((_, (_, rest)))) = (rule, short) else {
            return self.raw(r);
        };
        r.rest = rest;
        let mut components = (0..).zip(&rule.components);
        for piece in &rule.plain {
            let wanted = match piece {
                PlainPiece::Octets(octets) => {
                    octets::push(self.out, octets);
                    continue;
                }
                PlainPiece::Component(wanted) => *wanted,
            };
            // A component that the record has in two places is written once, and passed over once.
            for (number, (how, _)) in components.by_ref() {
                if number == wanted {
                    self.component(*how, r, depth)?;
                    break;
                }
                r.term()?;
            }
        }
        components.try_for_each(|_| r.term().map(|_| ()))
    }

    fn rule(&self, tag: u32, components: usize) -> Option<&'static Rule> {
        let rules = self.rules.by_tag.get(tag as usize)?.iter();
        rules
            .filter_map(|at| self.rules.all.get(*at))
            .find(|rule| rule.components.len() == components && rule.applies(self.version))
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
        let term = r.term()?;
        octets::push(self.out, term);
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
    // Most messages become twice as long.
    let mut plain = Vec::with_capacity(r.input_len().saturating_mul(4));
    let mut expander = Expander {
        rules: Rules::of(false),
        version,
        out: &mut plain,
    };
    expander.term(r, DEPTH_MAX)?;
    if !r.rest.is_empty() {
        return Err(r.fail(ErrorKind::Syntax, "the end of the message"));
    }
    Ok(arena.list(&plain))
}

/// Appends the compressed form of a plain term, whose atoms are those of `w`.
pub(crate) fn compress(plain: &[u8], version: u8, w: &mut ErlWriter<'_>) {
    let mut compressor = Compressor {
        rules: Rules::of(w.utf8_atoms),
        version,
        // No term has no octets.
        ends: Ends([(0, 0); ENDS]),
        out: w.out,
    };
    if compressor.term(plain, DEPTH_MAX).is_none() {
        w.fail("nested terms beyond the limit");
    }
}
