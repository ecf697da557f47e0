//! Erlang's verdicts on damaged messages: both take a message and agree on it, or both refuse it, or the reason is
//! in [`REASONS`] and in `docs/reference/erlang-differences.md`.

use std::collections::BTreeMap;

use weir_h248::{
    Arena, DecodeOptions, EncodeOptions, Encoding, Error, Message, TextOptions, TextStyle,
    decode_as, encode, encode_compact,
};

use crate::{
    corpus,
    erlang::{Converter, is_installed, messages, text_of},
    generate::Generator,
};

/// The kind of a difference between two verdicts.
enum Difference<'v> {
    /// Strict reading refuses what Erlang takes.
    Ours(&'v Error),
    /// Erlang refuses what strict reading takes, or cannot write it again.
    Erlangs(&'v str),
    /// Both take it, and write it as ours and as Erlang's.
    Content(&'v str, &'v str),
}

use Difference::{Content, Erlangs, Ours};

/// A reason for a difference, and whether it is the one.
type Reason = (&'static str, fn(&Difference<'_>) -> bool);

/// Each a line of `docs/reference/erlang-differences.md`.
const REASONS: [Reason; 17] = [
    (
        "Erlang does not look at the characters of names",
        |difference| {
            let names = [
                "package/item",
                "a name of up to",
                "profile/version",
                "begins with a name",
                "Stream",
            ];
            ours(difference, &names)
        },
    ),
    (
        "Erlang needs no separator behind the version",
        |difference| ours(difference, &["white space after the version"]),
    ),
    (
        "Erlang does not look at the form of IPv6 addresses",
        |difference| ours(difference, &["an IP address"]),
    ),
    (
        "Erlang takes any characters for an MTP address",
        |difference| {
            let its_own = [
                "count_too_large",
                "count_too_small,0,2",
                "count_too_small,1,2",
            ];
            ours(difference, &["hexadecimal digits"]) || erlangs(difference, &its_own)
        },
    ),
    ("Erlang takes priorities above 15", |difference| {
        ours(difference, &["a priority up to 15"])
    }),
    (
        "Erlang takes numbers with a sign and with more digits",
        |difference| {
            let numbers = [
                "a number up to",
                "transaction or first-last",
                "timers T, S, L and Z",
                "a context:",
                "an error code",
            ];
            ours(difference, &numbers)
        },
    ),
    (
        "Erlang drops empty parts between slashes",
        |difference| match difference {
            Ours(error) => error.expected().contains("transaction/segment"),
            Erlangs(_) => false,
            Content(ours, erlangs) => without_empty_parts(ours) == without_empty_parts(erlangs),
        },
    ),
    ("Erlang drops what is audited twice", |difference| {
        let parts = |text: &str| text.matches(',').count();
        let fewer = |a: &str, b: &str| a.contains("at{") && parts(a) > parts(b);
        matches!(difference, Ours(error) if error.to_string().starts_with("given twice"))
            || matches!(difference, Content(ours, erlangs) if fewer(ours, erlangs))
    }),
    (
        "Erlang turns the items of an audit behind an error around",
        |difference| {
            let sorted = |text: &str| sorted_parts(&without_empty_parts(text));
            matches!(difference, Content(a, b) if a.contains("{er=") && sorted(a) == sorted(b))
        },
    ),
    (
        "Erlang reads relations in parameters of events as `=`",
        |difference| {
            let plain = |text: &str| sorted_parts(&text.replace(['<', '>', '#'], "="));
            matches!(difference, Content(ours, erlangs) if plain(ours) == plain(erlangs) && !erlangs.contains(['<', '>', '#']))
        },
    ),
    (
        "Erlang wants session descriptions to be lines of `name=value`",
        |difference| erlangs(difference, &["bad_prop_name", "'PropertyParm'"]),
    ),
    (
        "Erlang takes words of the protocol for names and values in few places",
        |difference| erlangs(difference, &["\"syntax error before: \",[\"\\\""]),
    ),
    (
        "Erlang takes no name without a slash for an address",
        |difference| erlangs(difference, &["not_an_integer"]),
    ),
    ("Erlang takes error codes up to 999", |difference| {
        erlangs(difference, &["too_large_integer"])
    }),
    (
        "Erlang reads empty strings, but does not write them",
        |difference| erlangs(difference, &["count_too_small,0,1"]),
    ),
    ("Erlang knows versions 1 to 3", |difference| {
        erlangs(difference, &["unsupported_version"])
    }),
    (
        "Erlang takes no empty Signals in a request, and no lone extension of a direction",
        |difference| erlangs(difference, &["'RBRKT'", "enc_TopologyDirection"]),
    ),
];

fn ours(difference: &Difference<'_>, expected: &[&str]) -> bool {
    matches!(difference, Ours(error) if expected.iter().any(|part| error.expected().contains(part)))
}

fn erlangs(difference: &Difference<'_>, reasons: &[&str]) -> bool {
    matches!(difference, Erlangs(reason) if reasons.iter().any(|part| reason.contains(part)))
}

/// The parts between braces and commas, sorted.
fn sorted_parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = text.split(['{', '}', ',']).map(str::to_owned).collect();
    parts.sort_unstable();
    parts
}

/// `a//b/` as `a/b`.
fn without_empty_parts(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        let is_part = |of: char| of.is_ascii_alphanumeric() || "*$_@.-+\"".contains(of);
        if out.ends_with('/') && !is_part(character) {
            out.pop();
        }
        if character != '/' || out.ends_with(is_part) {
            out.push(character);
        }
    }
    out
}

/// Numbers by a seed.
pub(crate) struct Random(u64);

impl Random {
    /// Neighbouring seeds begin alike, so the first number is dropped.
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(2) | 1);
        random.below(2);
        random
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % bound
    }
}

/// The inserted words, separated by blanks: words of the grammar, edges of numbers, marks.
const WORDS: &str = "Transaction T Reply P Context C Add A Modify MF Subtract S AuditValue AV Notify N \
    ServiceChange SC Media M Stream ST Events E Signals SG DigitMap DM Audit AT Error ER LocalControl O Mode MO \
    SendReceive SR ObservedEvents OE TerminationState TS Buffer BF Topology TP Priority PR Emergency EG Packages PG \
    Statistics SA Services SV Method MT Reason RE Version V KeepActive KA Embed EM SignalList SL SignalType SY \
    Duration DR Mux MX Modem MD Local L Remote R Pending PN ImmAckRequired IA ServiceStates SI InService IV \
    ReservedValue RV OneWay MgcIdToTry MG root ROOT * $ - 0 1 15 16 9999 65535 65536 4294967295 4294967296 al/on al/* \
    */* x X-abc 19990729T22000000 { } {} , = # < > [ ] ( ) : \" \"x\" \"\" / ; IEPSCall NBRN ON OFF \\} \0 \u{e9}";

/// Words and marks of a text.
fn tokens(text: &[u8]) -> Vec<&[u8]> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let is_word = |octet: &u8| octet.is_ascii_alphanumeric() || b"-+_.".contains(octet);
        let len = rest.iter().take_while(|octet| is_word(octet)).count();
        let (token, behind) = rest.split_at(len.max(1));
        tokens.push(token);
        rest = behind;
    }
    tokens
}

/// The text with one token or character missing, twice, moved, replaced or new. `MEGACO/1` stays.
fn damaged(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut tokens = tokens(text);
    let at = 3 + random.below(tokens.len() - 3);
    let other = 3 + random.below(tokens.len() - 3);
    let words: Vec<&str> = WORDS.split(' ').collect();
    let word = words[random.below(words.len())].as_bytes();
    match random.below(7) {
        0 => drop(tokens.remove(at)),
        1 => tokens.insert(at, tokens[at]),
        2 => tokens.swap(at, other),
        3 => tokens[at] = word,
        4 => tokens.insert(at, word),
        5 => tokens[at] = tokens[other],
        _ => {
            let mut out = tokens.concat();
            let at = 8 + random.below(out.len() - 8);
            out[at] = b' ' + random.below(95) as u8;
            return out;
        }
    }
    tokens.concat()
}

/// Texts of the corpus and of the generator.
fn texts() -> Vec<Vec<u8>> {
    let samples = corpus::samples().into_iter();
    let mut texts: Vec<Vec<u8>> = samples
        .flat_map(|sample| [sample.pretty, sample.compact])
        .collect();
    for seed in 0..1000 {
        let arena = Arena::new();
        let message = Generator::new(seed, &arena).for_erlang_text().message();
        let mut out = Vec::new();
        encode(
            &message,
            Encoding::Compact,
            &EncodeOptions::default(),
            &mut out,
        )
        .unwrap();
        // A long text is left out, since one damaged place among thousands changes little.
        if out.len() < 1000 {
            texts.push(out);
        }
    }
    texts
}

pub(crate) fn strict() -> DecodeOptions {
    let mut options = DecodeOptions::default();
    options.text = TextOptions::strict();
    options
}

/// [`text_of`], or why there is none.
pub(crate) fn written(message: &Message<'_>) -> String {
    let mut out = Vec::new();
    match encode_compact(message, TextStyle::erlang(), &mut out) {
        Ok(()) => text_of(message),
        Err(error) => error.to_string(),
    }
}

/// Counts agreement and reasons; the rest is unexplained.
#[derive(Default)]
pub(crate) struct Verdicts {
    agreed: [usize; 2],
    explained: BTreeMap<&'static str, usize>,
    unexplained: Vec<String>,
}

impl Verdicts {
    /// `erlangs` is the message as Erlang writes it again, in compact text, or why it does not.
    pub(crate) fn add(
        &mut self,
        name: &str,
        text: &[u8],
        ours: Result<Message<'_>, Error>,
        erlangs: &Result<Vec<u8>, String>,
    ) {
        let arena = Arena::new();
        let again = erlangs.as_ref().map(|erlangs| {
            let again = decode_as(
                Encoding::Compact,
                erlangs,
                &arena,
                &DecodeOptions::default(),
            );
            again.map_or_else(
                |error| format!("{error}: {}", erlangs.escape_ascii()),
                |message| written(&message),
            )
        });
        let ours_written = ours.as_ref().map(written);
        let difference = match (&ours, &again) {
            (Err(_), Err(_)) => return self.agreed[1] += 1,
            (Err(error), Ok(_)) => Ours(error),
            (Ok(_), Err(reason)) => Erlangs(reason),
            (Ok(_), Ok(again)) if ours_written.as_ref() == Ok(again) => return self.agreed[0] += 1,
            (Ok(_), Ok(again)) => Content(ours_written.as_ref().unwrap(), again),
        };
        match REASONS.iter().find(|(_, is_it)| is_it(&difference)) {
            Some((reason, _)) => *self.explained.entry(reason).or_default() += 1,
            None => self.unexplained.push(format!(
                "{name}: {}\nours {:.600}\nErlang {again:.600?}",
                text.escape_ascii(),
                ours_written.unwrap_or_else(ToString::to_string),
            )),
        }
    }

    pub(crate) fn report(&self) {
        let [taken, refused] = self.agreed;
        eprintln!("both take and agree on {taken}, both refuse {refused}");
        for (reason, count) in &self.explained {
            eprintln!("{count:6} {reason}");
        }
        assert!(
            self.unexplained.is_empty(),
            "{} without a reason, first\n{}",
            self.unexplained.len(),
            self.unexplained[..self.unexplained.len().min(5)].join("\n\n")
        );
        assert!(taken > 0 && refused > 0, "nothing was compared");
    }
}

#[test]
fn erlang_agrees_on_damaged_text_or_there_is_a_reason() {
    if !is_installed() {
        return;
    }
    let texts = texts();
    let mut converter = Converter::start("pretty", "compact").unwrap();
    let mut verdicts = Verdicts::default();
    for seed in 0..messages() {
        let mut random = Random::new(seed);
        let text = damaged(&texts[random.below(texts.len())], &mut random);
        let arena = Arena::new();
        let ours = decode_as(Encoding::Pretty, &text, &arena, &strict());
        let erlangs = converter.convert(&text).unwrap();
        verdicts.add(&format!("seed {seed}"), &text, ours, &erlangs);
    }
    verdicts.report();
}
