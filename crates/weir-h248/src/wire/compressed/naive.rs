//! The rules as they stand in the table, tried one after the other on a tree of terms: what the octets have to be.

use super::{
    super::erl::ErlWriter,
    compress_term,
    rules::{How, Pattern, Rule, Rules, VARIABLES},
};
use crate::BinaryOptions;

#[derive(Clone, Debug, PartialEq)]
enum Term {
    Atom(&'static str),
    Number(u32),
    Text(&'static str),
    List(Vec<Term>),
    Tuple(Vec<Term>),
}

impl Term {
    fn write(&self, w: &mut ErlWriter<'_>) {
        match self {
            Self::Atom(name) => w.any_atom(name.as_bytes()),
            Self::Number(number) => w.unsigned(*number),
            Self::Text(text) => w.string(text.as_bytes()),
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

    fn is(&self, pattern: &Pattern, found: &mut [Option<Term>; VARIABLES]) -> bool {
        let mut are = |items: &[Self], patterns: &[Pattern]| {
            items.len() == patterns.len()
                && items
                    .iter()
                    .zip(patterns)
                    .all(|(item, pattern)| item.is(pattern, found))
        };
        match (pattern, self) {
            (Pattern::Variable(variable, number), _) => {
                found[*variable] = Some(self.clone());
                number.is_none_or(|number| *self == Self::Number(number))
            }
            (Pattern::Atom(expected), Self::Atom(name)) => expected == name,
            (Pattern::Number(expected), Self::Number(number)) => expected == number,
            (Pattern::Text(expected), Self::Text(text)) => expected == text,
            (Pattern::List(patterns), Self::List(items))
            | (Pattern::Tuple(patterns), Self::Tuple(items)) => are(items, patterns),
            _ => false,
        }
    }

    fn compress(&self, rules: &[Rule], version: u8, w: &mut ErlWriter<'_>) {
        for rule in rules.iter().filter(|rule| rule.applies(version)) {
            let mut found = [const { None }; VARIABLES];
            let is_list = |term: &Option<Self>| matches!(term, Some(Self::List(_) | Self::Text(_)));
            if self.is(&rule.pattern, &mut found)
                && rule.lists.iter().all(|variable| is_list(&found[*variable]))
            {
                w.out.extend_from_slice(rule.head.octets());
                for (how, variable) in &rule.components {
                    let term = found[*variable].as_ref().unwrap();
                    term.component(*how, rules, version, w);
                }
                return;
            }
        }
        self.write(w);
    }

    fn component(&self, how: How, rules: &[Rule], version: u8, w: &mut ErlWriter<'_>) {
        let inside = match (how, self) {
            (How::Compressed, _) => return self.compress(rules, version, w),
            (How::List, Self::List(_)) => How::Compressed,
            (How::Lists, Self::List(_)) => How::List,
            _ => return self.write(w),
        };
        if let Self::List(items) = self {
            w.list(items.len());
            for item in items {
                item.component(inside, rules, version, w);
            }
            w.nil();
        }
    }
}

struct Random(u32);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as usize % end
    }

    /// A record of some rule, or another term.
    fn term(&mut self, rules: &[Rule], depth: usize) -> Term {
        match self.below(if depth == 0 { 5 } else { 12 }) {
            0 | 1 => Term::Atom(["asn1_NOVALUE", "NULL", "unknown"][self.below(3)]),
            2 => Term::Number([0, 1, 2, 300, u32::MAX][self.below(5)]),
            3 => Term::Text(["v", "*", "on", "a longer text of more than sixteen"][self.below(4)]),
            4 => Term::List(Vec::new()),
            5..=7 => {
                let items = (0..=self.below(3)).map(|_| self.term(rules, depth - 1));
                Term::List(items.collect())
            }
            _ => {
                let rule = self.below(rules.len());
                self.record(&rules[rule].pattern, rules, depth - 1)
            }
        }
    }

    /// What a pattern matches, but for one part in twenty.
    fn record(&mut self, pattern: &Pattern, rules: &[Rule], depth: usize) -> Term {
        if self.below(20) == 0 {
            return self.term(rules, depth);
        }
        let mut all = |items: &[Pattern]| {
            let items = items.iter().map(|item| self.record(item, rules, depth));
            items.collect()
        };
        match pattern {
            Pattern::Atom(name) => Term::Atom(name),
            Pattern::Number(number) => Term::Number(*number),
            Pattern::Text(text) => Term::Text(text),
            Pattern::List(items) => Term::List(all(items)),
            Pattern::Tuple(items) => Term::Tuple(all(items)),
            Pattern::Variable(_, Some(number)) => Term::Number(*number),
            Pattern::Variable(_, None) => self.term(rules, depth),
        }
    }
}

#[test]
fn terms_are_compressed_as_a_naive_reading_of_the_table_does() {
    for utf8_atoms in [false, true] {
        let rules = Rules::of(utf8_atoms);
        let mut random = Random(1);
        for round in 0..20_000 {
            // Rules at the end of the table are tried as often as those at its beginning.
            let pattern = &rules.all[round % rules.all.len()].pattern;
            let term = random.record(pattern, &rules.all, 3);
            let version = 1 + (round % 4) as u8;
            let (mut plain, mut expected, mut found) = (Vec::new(), Vec::new(), Vec::new());
            let options = BinaryOptions::default();
            term.write(&mut ErlWriter::new(&mut plain, options, utf8_atoms));
            let mut w = ErlWriter::new(&mut expected, options, utf8_atoms);
            term.compress(&rules.all, version, &mut w);
            let mut w = ErlWriter::new(&mut found, options, utf8_atoms);
            compress_term(&plain, version, &mut w);
            assert_eq!(w.error, None);
            assert_eq!(
                found, expected,
                "round {round}, version {version}: {term:?}"
            );
        }
    }
}
