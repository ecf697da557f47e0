//! The rules of `megaco_compressed.txt`, as octets to compare and to write.

use std::sync::LazyLock;

use super::super::erl::{ATOM, ErlWriter, NIL, NO_VALUE, SMALL_ATOM_UTF8, STRING};
use crate::{BinaryOptions, octets};

/// The pattern of a rule.
#[derive(Debug)]
pub(super) enum Pattern {
    Atom(&'static str),
    Number(u32),
    Text(&'static str),
    List(Vec<Pattern>),
    Tuple(Vec<Pattern>),
    /// A variable, and the number that it must be.
    Variable(usize, Option<u32>),
}

/// The encoding of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Raw,
    Compressed,
    List,
    Lists,
}

#[derive(Debug)]
pub(super) struct Rule {
    tag: u32,
    versions: (u8, u8),
    pub(super) pattern: Pattern,
    /// What becomes of a record of the rule, after its name.
    pub(super) steps: Vec<Step>,
    /// The ends of lists behind the last step, which need not be compared: the number of elements was.
    pub(super) list_ends: usize,
    /// The encoding of each component, and its variable.
    pub(super) components: Vec<(How, usize)>,
    /// The encoding of each component and the step at which it begins, if components are not in the order of the steps.
    pub(super) out_of_order: Vec<(How, usize)>,
    /// Variables that must be lists.
    pub(super) lists: Vec<usize>,
    /// The encoded short tuple up to its first component.
    pub(super) head: Head,
    /// The encoded plain record.
    pub(super) plain: Vec<PlainPiece>,
}

/// A few octets in a place of known size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    octets: [u8; HEAD_OCTETS],
    pub(super) len: usize,
}

/// The number of octets of a tuple's arity and of a number.
const HEAD_OCTETS: usize = 8;

impl Head {
    fn new(octets: &[u8]) -> Option<Self> {
        let mut head = Self {
            octets: [0; HEAD_OCTETS],
            len: octets.len(),
        };
        head.octets.get_mut(..octets.len())?.copy_from_slice(octets);
        Some(head)
    }

    #[inline]
    pub(super) fn octets(&self) -> &[u8] {
        self.octets.get(..self.len).unwrap_or_default()
    }

    #[inline]
    pub(super) fn push(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.len;
        // A copy of a known size is one store; what is too much goes away again.
        out.extend_from_slice(&self.octets);
        out.truncate(end);
    }
}

/// What becomes of a part of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Octets that all records of a rule have, at most [`STEP_OCTETS`].
    Octets {
        len: usize,
        octets: u128,
        mask: u128,
        /// Whether they are a component.
        written: bool,
    },
    /// Any term, or any list.
    Term {
        how: How,
        is_list: bool,
        /// The number of components that it is: the table has a rule that writes one twice.
        times: usize,
    },
}

/// A part of a record that is written.
#[derive(Debug)]
pub(super) enum PlainPiece {
    /// Octets that are the same in all records of a rule, with zeros behind them, and their number.
    Octets(Vec<[u8; PIECE_OCTETS]>, usize),
    /// The next component.
    Component(How),
    /// A component that is passed over.
    Left,
}

/// The octets that are copied at once.
const PIECE_OCTETS: usize = 32;

/// The octets that one step compares at most.
const STEP_OCTETS: usize = 16;
/// Steps that a rule may have.
const STEPS_MAX: usize = 15;
/// Variables that a rule may have.
pub(super) const VARIABLES: usize = 16;

/// The rules for records of one name, or for an atom.
#[derive(Debug)]
pub(super) struct RulesOfName {
    name: &'static [u8],
    /// What the names are compared by, see [`name_key`].
    key: [u64; 2],
    /// The encoding of the atom of this name, if there is a rule for it in all versions.
    pub(super) atom: Option<Head>,
    /// The rules for messages of each [`class`] of versions.
    classes: [RulesOfClass; CLASSES],
}

/// The rules for records of a name in messages of one class of versions.
#[derive(Debug, Default)]
struct RulesOfClass {
    /// The rules that demand nothing of the term behind the name.
    any: Vec<Candidate>,
    /// The [`second`] of a term behind the name, and the rules for records that have it there, among them those that
    /// demand nothing.
    demanding: Vec<(u64, Vec<Candidate>)>,
}

/// A rule that a record may match.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) arity: u8,
    /// The number of steps at its beginning that the candidate before has as well.
    pub(super) shared: usize,
    pub(super) rule: usize,
}

/// The offsets at which the steps of a rule begin in the octets behind a record's name, and in the output; the last ones
/// are those of the end.
pub(super) type Places = [(usize, usize); STEPS_MAX + 1];

/// The places before the first step.
pub(super) const NO_PLACES: Places = [(0, 0); STEPS_MAX + 1];

/// The rules, with atoms of one of both forms.
pub(super) struct Rules {
    pub(super) all: Vec<Rule>,
    names: Vec<RulesOfName>,
    /// Numbers of names whose names hash alike.
    by_name: Vec<Vec<usize>>,
    /// Rules by their tags, which go up to some hundreds, in order.
    by_tag: Vec<Vec<usize>>,
}

const NAME_SLOTS: usize = 1024;

/// The ends of a name.
#[inline]
fn name_key(name: &[u8]) -> [u64; 2] {
    match (name.first_chunk::<8>(), name.last_chunk::<8>()) {
        (Some(first), Some(last)) => [u64::from_le_bytes(*first), u64::from_le_bytes(*last)],
        _ => [octets::pack8(name), 0],
    }
}

/// The ends and the length of a name distinguish nearly all of them.
#[inline]
fn name_slot(key: [u64; 2], len: usize) -> usize {
    let [first, last] = key;
    let mixed = (first ^ last.rotate_left(23) ^ len as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 54) as usize
}

/// The versions 1 and 2 have rules of their own, and no rule ends at a later one.
const CLASSES: usize = 4;

fn class(version: u8) -> usize {
    usize::from(version).min(CLASSES - 1)
}

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::read(false));
static RULES_UTF8: LazyLock<Rules> = LazyLock::new(|| Rules::read(true));

impl Rules {
    /// The rules with atoms in the form of OTP 26, or in the older one.
    pub(super) fn of(utf8_atoms: bool) -> &'static Self {
        match utf8_atoms {
            true => &RULES_UTF8,
            false => &RULES,
        }
    }

    fn read(utf8_atoms: bool) -> Self {
        let mut rules = Self {
            all: Vec::new(),
            names: Vec::new(),
            by_name: vec![Vec::new(); NAME_SLOTS],
            by_tag: Vec::new(),
        };
        let text = include_str!("../megaco_compressed.txt");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let rule = Rule::parse(line, utf8_atoms).expect("every line of the table is a rule");
            let at = rules.all.len();
            let tag = rule.tag as usize;
            if rules.by_tag.len() <= tag {
                rules.by_tag.resize(tag + 1, Vec::new());
            }
            if let Some(slot) = rules.by_tag.get_mut(tag) {
                slot.push(at);
            }
            rules.all.push(rule);
            rules.enter(at);
        }
        rules.link();
        rules
    }

    /// Adds the rule with the number `at` to those of its name.
    fn enter(&mut self, at: usize) {
        let Some(rule) = self.all.get(at) else {
            return;
        };
        let (name, items) = match &rule.pattern {
            Pattern::Atom(name) => (*name, None),
            Pattern::Tuple(items) => match items.first() {
                Some(Pattern::Atom(name)) => (*name, Some(items)),
                _ => return,
            },
            _ => return,
        };
        let name = name.as_bytes();
        let key = name_key(name);
        let Some(slot) = self.by_name.get_mut(name_slot(key, name.len())) else {
            return;
        };
        let names = &mut self.names;
        let mut known = slot.iter().copied();
        let known = known.find(|known| names.get(*known).is_some_and(|known| known.name == name));
        let known = known.unwrap_or_else(|| {
            slot.push(names.len());
            names.push(RulesOfName {
                name,
                key,
                atom: None,
                classes: std::array::from_fn(|_| RulesOfClass::default()),
            });
            names.len() - 1
        });
        let Some(known) = names.get_mut(known) else {
            return;
        };
        let Some(items) = items else {
            let all_versions = rule.versions.0 <= 1 && rule.versions.1 == u8::MAX;
            if all_versions && known.atom.is_none() {
                known.atom = Some(rule.head);
            }
            return;
        };
        let candidate = Candidate {
            arity: items.len() as u8,
            shared: 0,
            rule: at,
        };
        let demanded = items.get(1).and_then(Pattern::second);
        for (version, class) in (0..).zip(&mut known.classes) {
            if rule.applies(version) {
                class.enter(candidate, demanded);
            }
        }
    }

    /// Notes which steps each candidate has in common with the one before.
    fn link(&mut self) {
        let all = &self.all;
        let steps = |at: usize| all.get(at).map_or(&[][..], |rule| &rule.steps);
        let classes = self.names.iter_mut().flat_map(|name| &mut name.classes);
        for class in classes {
            let demanding = class.demanding.iter_mut().map(|(_, candidates)| candidates);
            for candidates in demanding.chain([&mut class.any]) {
                let mut before: Option<Candidate> = None;
                for candidate in candidates {
                    let alike = before.filter(|before| before.arity == candidate.arity);
                    candidate.shared = alike.map_or(0, |before| {
                        let (one, other) = (steps(before.rule), steps(candidate.rule));
                        one.iter().zip(other).take_while(|(a, b)| a == b).count()
                    });
                    before = Some(*candidate);
                }
            }
        }
    }

    /// The rules of a name.
    #[inline]
    pub(super) fn named(&self, name: &[u8]) -> Option<&RulesOfName> {
        let key = name_key(name);
        let slot = self.by_name.get(name_slot(key, name.len()))?;
        let names = slot.iter().filter_map(|at| self.names.get(*at));
        // The ends of a name up to sixteen octets are the name.
        let is_it = |of: &&RulesOfName| {
            of.key == key && of.name.len() == name.len() && (name.len() <= 16 || of.name == name)
        };
        names.into_iter().find(is_it)
    }

    /// The rule for short tuples of a tag, with so many components.
    pub(super) fn tagged(&self, tag: u32, components: usize, version: u8) -> Option<&Rule> {
        let rules = self.by_tag.get(tag as usize)?.iter();
        rules
            .filter_map(|at| self.all.get(*at))
            .find(|rule| rule.components.len() == components && rule.applies(version))
    }
}

impl RulesOfName {
    /// The rules that a record may match, in their order; `text` is what stands behind the name.
    #[inline]
    pub(super) fn candidates(&self, version: u8, text: &[u8]) -> &[Candidate] {
        let Some(class) = self.classes.get(class(version)) else {
            return &[];
        };
        if !class.demanding.is_empty() {
            let behind = second_of(text);
            if let Some((_, demanding)) = class.demanding.iter().find(|(at, _)| *at == behind) {
                return demanding;
            }
        }
        &class.any
    }
}

impl RulesOfClass {
    fn enter(&mut self, candidate: Candidate, demanded: Option<u64>) {
        let Some(demanded) = demanded else {
            self.any.push(candidate);
            for (_, candidates) in &mut self.demanding {
                candidates.push(candidate);
            }
            return;
        };
        let known = self.demanding.iter().position(|(at, _)| *at == demanded);
        let known = known.unwrap_or_else(|| {
            // The rules before that demand nothing come first.
            self.demanding.push((demanded, self.any.clone()));
            self.demanding.len() - 1
        });
        if let Some((_, candidates)) = self.demanding.get_mut(known) {
            candidates.push(candidate);
        }
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
            out_of_order: Vec::new(),
            lists: Vec::new(),
            head: Head::new(&[])?,
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
        let mut head = Vec::new();
        let mut w = ErlWriter::new(&mut head, BinaryOptions::default(), false);
        w.tuple(rule.components.len().checked_add(1)?);
        w.unsigned(rule.tag);
        rule.head = Head::new(&head)?;
        let mut pieces = Vec::new();
        rule.pattern.pieces(&numbers, utf8_atoms, &mut pieces);
        rule.take_pieces(pieces);
        let mut parts = Vec::new();
        if let Pattern::Tuple(items) = &rule.pattern {
            let behind_name = items.get(1..).unwrap_or_default();
            for item in behind_name {
                item.steps(utf8_atoms, &mut parts);
            }
        }
        while let Some(RuleStep::ListEnd) = parts.last() {
            parts.pop();
            rule.list_ends += 1;
        }
        rule.take_steps(&parts)?;
        Some(rule)
    }

    /// Takes over the pieces of a record, with its components in the order in which they are read.
    fn take_pieces(&mut self, pieces: Vec<RulePiece>) {
        let mut components = (0..).zip(&self.components);
        for piece in pieces {
            let wanted = match piece {
                RulePiece::Octets(octets) => {
                    let padded = octets.chunks(PIECE_OCTETS).map(|octets| {
                        std::array::from_fn(|at| octets.get(at).copied().unwrap_or(0))
                    });
                    let padded = padded.collect();
                    self.plain.push(PlainPiece::Octets(padded, octets.len()));
                    continue;
                }
                RulePiece::Component(wanted) => wanted,
            };
            // A component that the record has in two places is written once, and passed over once.
            for (number, (how, _)) in components.by_ref() {
                if number == wanted {
                    self.plain.push(PlainPiece::Component(*how));
                    break;
                }
                self.plain.push(PlainPiece::Left);
            }
        }
        self.plain.extend(components.map(|_| PlainPiece::Left));
    }

    /// Makes steps of the parts of a record; `None` where a part is no component.
    fn take_steps(&mut self, parts: &[RuleStep]) -> Option<()> {
        let mut fixed = Vec::new();
        // The components in the order of the steps, each with the number of its step.
        let mut in_order = Vec::new();
        for part in parts {
            let octets = match part {
                RuleStep::Octets(octets) => octets.as_slice(),
                RuleStep::ListEnd => &[NIL],
                RuleStep::Term(_) | RuleStep::Number(..) => &[],
            };
            if !octets.is_empty() {
                fixed.extend_from_slice(octets);
                continue;
            }
            let fixed_steps = fixed.chunks(STEP_OCTETS);
            self.steps
                .extend(fixed_steps.map(|octets| Step::octets(octets, false)));
            fixed.clear();
            let (RuleStep::Term(variable) | RuleStep::Number(variable, _)) = part else {
                continue;
            };
            let is_it = |(_, of): &&(How, usize)| of == variable;
            let times = self.components.iter().filter(is_it).count();
            let how = self.components.iter().find(is_it).map(|(how, _)| *how);
            in_order.extend(std::iter::repeat_n((*variable, self.steps.len()), times));
            self.steps.push(match (part, how) {
                (RuleStep::Number(_, octets), how) => Step::octets(octets, how.is_some()),
                (_, how) => Step::Term {
                    how: how?,
                    is_list: self.lists.contains(variable),
                    times,
                },
            });
        }
        let fixed_steps = fixed.chunks(STEP_OCTETS);
        self.steps
            .extend(fixed_steps.map(|octets| Step::octets(octets, false)));
        let variables = self.components.iter().map(|(_, variable)| variable);
        if !variables.eq(in_order.iter().map(|(variable, _)| variable)) {
            for (how, variable) in &self.components {
                let (_, step) = in_order.iter().find(|(of, _)| of == variable)?;
                self.out_of_order.push((*how, *step));
            }
        }
        (self.steps.len() <= STEPS_MAX).then_some(())
    }

    pub(super) fn applies(&self, version: u8) -> bool {
        (self.versions.0..=self.versions.1).contains(&version)
    }
}

impl Step {
    /// The comparison of up to [`STEP_OCTETS`] octets.
    fn octets(octets: &[u8], written: bool) -> Self {
        let unused = STEP_OCTETS.saturating_sub(octets.len()) as u32 * 8;
        Self::Octets {
            len: octets.len(),
            octets: octets::pack16(octets),
            mask: u128::MAX.checked_shr(unused).unwrap_or(0),
            written,
        }
    }
}

/// A part of a record that is written.
enum RulePiece {
    /// Octets that are the same in all records of a rule.
    Octets(Vec<u8>),
    /// The component of this number.
    Component(usize),
}

/// A part of a record that is compared with a rule.
#[derive(Debug)]
enum RuleStep {
    /// Octets that are the same in all records of a rule.
    Octets(Vec<u8>),
    /// Any term, which is the variable of this number.
    Term(usize),
    /// The octets of a number, which is the variable of this number.
    Number(usize, Vec<u8>),
    /// The end of a list.
    ListEnd,
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
                let mut octets = Vec::new();
                ErlWriter::new(&mut octets, BinaryOptions::default(), utf8_atoms).unsigned(*number);
                steps.push(RuleStep::Number(*variable, octets));
            }
        }
    }

    /// Appends the pieces of a record of a rule; `numbers` are those of the variables' components.
    fn pieces(
        &self,
        numbers: &[Option<usize>; VARIABLES],
        utf8_atoms: bool,
        pieces: &mut Vec<RulePiece>,
    ) {
        let fixed = |pieces: &mut Vec<RulePiece>, write: &dyn Fn(&mut ErlWriter<'_>)| {
            if !matches!(pieces.last(), Some(RulePiece::Octets(_))) {
                pieces.push(RulePiece::Octets(Vec::new()));
            }
            if let Some(RulePiece::Octets(octets)) = pieces.last_mut() {
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
                Some(Some(number)) => pieces.push(RulePiece::Component(*number)),
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
