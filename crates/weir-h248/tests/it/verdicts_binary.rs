//! Erlang's verdicts on damaged BER, PER and Erlang terms.

use std::collections::BTreeMap;

use weir_h248::{
    Arena, BinaryOptions, DecodeOptions, EncodeOptions, Encoding, ErlOptions, Error, Message,
    decode_as, decode_ber, encode, encode_erl,
};

use crate::{
    corpus,
    erlang::{Converter, is_installed, messages},
    verdicts::Random,
};

/// The kind of a difference between two verdicts.
enum Difference<'v> {
    /// We refuse what Erlang takes.
    Ours(&'v Error),
    /// Erlang refuses what we take as this message, or cannot write it again.
    Erlangs(&'v Message<'v>, &'v str),
    /// Both take it, we as this message.
    Content(&'v Message<'v>),
}

use Difference::{Content, Erlangs, Ours};

/// A reason for a difference, and whether it is the one.
type Reason = (&'static str, fn(Encoding, &Difference<'_>) -> bool);

/// Each a line of `docs/reference/erlang-differences.md`.
const REASONS: [Reason; 10] = [
    ("Erlang takes any term", |encoding, difference| {
        encoding == Encoding::Erl && matches!(difference, Ours(_))
    }),
    (
        "Erlang ignores what follows the message",
        |_, difference| ours(difference, &["the end of the message"]),
    ),
    (
        "Erlang takes an INTEGER without contents and a negative one",
        |_, difference| ours(difference, &["a non-negative number"]),
    ),
    (
        "Erlang does not look at profiles and wildcards that stay native",
        |_, difference| {
            ours(
                difference,
                &["a profile of the form name/version", "wildcards that fit"],
            )
        },
    ),
    (
        "Limits of this crate: choices and additions that no version has, lists of 16384",
        |_, difference| {
            ours(
                difference,
                &[
                    "a choice below 64",
                    "at most 32 additions",
                    "fewer than 16384",
                ],
            )
        },
    ),
    (
        "Erlang takes an unknown alternative, but does not write it",
        |_, difference| {
            ours(difference, &["an alternative of"])
                || matches!(difference, Erlangs(_, reason) if reason.contains("if_clause,[{megaco_per") || reason.contains("asn1_ExtAlt"))
        },
    ),
    (
        "Erlang knows versions 1 to 3",
        |_, difference| matches!(difference, Erlangs(message, _) if !(1..=3).contains(&message.version)),
    ),
    (
        "Erlang drops what came with a later version than the message's",
        |_, difference| matches!(difference, Content(message) | Erlangs(message, _) if is_of_later_version(message)),
    ),
    (
        "Erlang takes some elements whose constructed bit is wrong",
        |_, difference| ours(difference, &["the constructed bit"]),
    ),
    (
        "Erlang looks for elements in unknown extension additions",
        |encoding, difference| {
            encoding == Encoding::Ber
                && matches!(difference, Erlangs(message, reason)
                if !message.extensions.is_empty() && reason.contains("asn1rt_nif"))
        },
    ),
];

fn ours(difference: &Difference<'_>, expected: &[&str]) -> bool {
    matches!(difference, Ours(error) if expected.iter().any(|part| error.expected().contains(part)))
}

/// Erlang's records are those of each version: what came later has no place in them.
fn is_of_later_version(message: &Message<'_>) -> bool {
    let written = encode_erl(
        message,
        BinaryOptions::native(),
        ErlOptions::default(),
        &mut Vec::new(),
    );
    written.is_err()
}

/// An element of BER: its tag, and its octets or the elements in it.
enum Element {
    Octets(Vec<u8>, Vec<u8>),
    Elements(Vec<u8>, Vec<Self>),
}

impl Element {
    /// Elements behind one another, which must be well-formed.
    fn read(mut input: &[u8]) -> Vec<Self> {
        let mut elements = Vec::new();
        while let Some(first) = input.first() {
            let long = input[1..]
                .iter()
                .position(|octet| octet & 0x80 == 0)
                .unwrap()
                + 2;
            let tag_len = if first & 31 == 31 { long } else { 1 };
            let (tag, rest) = input.split_at(tag_len);
            let (len, rest) = match rest.split_first().unwrap() {
                (len @ 0..128, rest) => (usize::from(*len), rest),
                (count, rest) => {
                    let (len, rest) = rest.split_at(usize::from(count & 127));
                    let sum = |sum, octet: &u8| sum << 8 | usize::from(*octet);
                    (len.iter().fold(0, sum), rest)
                }
            };
            let (contents, rest) = rest.split_at(len);
            elements.push(match tag[0] & 32 {
                0 => Self::Octets(tag.to_vec(), contents.to_vec()),
                _ => Self::Elements(tag.to_vec(), Self::read(contents)),
            });
            input = rest;
        }
        elements
    }

    fn write(elements: &[Self]) -> Vec<u8> {
        let mut out = Vec::new();
        for element in elements {
            let (tag, contents) = match element {
                Self::Octets(tag, octets) => (tag, octets.clone()),
                Self::Elements(tag, elements) => (tag, Self::write(elements)),
            };
            out.extend_from_slice(tag);
            match contents.len() {
                len @ 0..128 => out.push(len as u8),
                len => out.extend([0x82, (len >> 8) as u8, len as u8]),
            }
            out.extend(contents);
        }
        out
    }
}

/// One element missing, twice, moved, or with another tag or other contents; the lengths around it fit.
fn damaged_elements(octets: &[u8], random: &mut Random) -> Vec<u8> {
    let mut root = Element::read(octets);
    let mut level = &mut root;
    let mut at = random.below(level.len());
    loop {
        let goes_deeper = random.below(5) > 0
            && matches!(&level[at], Element::Elements(_, inner) if !inner.is_empty());
        if !goes_deeper {
            break;
        }
        let Element::Elements(_, inner) = &mut level[at] else {
            unreachable!("it has elements")
        };
        level = inner;
        at = random.below(level.len());
    }
    match (random.below(6), &mut level[at]) {
        (0, _) => drop(level.remove(at)),
        (1, _) => {
            let again = Element::read(&Element::write(&level[at..=at]));
            level.splice(at..at, again);
        }
        (2, _) => {
            let other = random.below(level.len());
            level.swap(at, other);
        }
        (3, Element::Octets(tag, _) | Element::Elements(tag, _)) => tag[0] ^= 1 << random.below(6),
        (_, Element::Octets(_, contents)) => damage_octets(contents, random),
        (_, Element::Elements(_, inner)) => inner.clear(),
    }
    Element::write(&root)
}

/// One octet missing, new or another.
fn damage_octets(octets: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(octets.len() + 1);
    match (random.below(4), octets.get_mut(at)) {
        (0, Some(_)) => drop(octets.remove(at)),
        (1, Some(octet)) => *octet = random.below(256) as u8,
        (2, Some(octet)) => *octet ^= 1 << random.below(8),
        _ => octets.insert(at, random.below(256) as u8),
    }
}

fn compare(encoding: Encoding, codec: &str) {
    if !is_installed() {
        return;
    }
    let mut write = EncodeOptions::default();
    write.binary = BinaryOptions::native();
    let mut read = DecodeOptions::default();
    read.binary = BinaryOptions::native();
    let samples: Vec<Vec<u8>> = corpus::samples()
        .iter()
        .map(|sample| {
            let arena = Arena::new();
            let message = decode_ber(&sample.ber, &arena, read.binary).unwrap();
            let mut out = Vec::new();
            encode(&message, encoding, &write, &mut out).unwrap();
            out
        })
        .collect();
    if samples.is_empty() {
        return;
    }
    let mut converter = Converter::start(codec, codec).unwrap();
    let (mut taken, mut refused, mut unexplained) = (0, 0, Vec::new());
    let mut explained = BTreeMap::<&str, usize>::new();
    for seed in 0..messages() {
        let mut random = Random::new(seed);
        let mut octets = samples[random.below(samples.len())].clone();
        if encoding == Encoding::Ber && random.below(4) > 0 {
            octets = damaged_elements(&octets, &mut random);
        } else {
            damage_octets(&mut octets, &mut random);
        }
        let arena = Arena::new();
        let ours = decode_as(encoding, &octets, &arena, &read);
        let erlangs = converter.convert(&octets).unwrap();
        let difference = match (&ours, &erlangs) {
            (Err(_), Err(_)) => {
                refused += 1;
                continue;
            }
            (Err(error), Ok(_)) => Ours(error),
            (Ok(message), Err(reason)) => Erlangs(message, reason),
            (Ok(message), Ok(again)) => {
                if decode_as(encoding, again, &arena, &read).as_ref() == Ok(message) {
                    taken += 1;
                    continue;
                }
                Content(message)
            }
        };
        match REASONS
            .iter()
            .find(|(_, is_it)| is_it(encoding, &difference))
        {
            Some((reason, _)) => *explained.entry(reason).or_default() += 1,
            None => unexplained.push(format!(
                "seed {seed}: {}\nours {ours:.600?}\nErlang {erlangs:.600?}",
                octets
                    .iter()
                    .map(|octet| format!("{octet:02x}"))
                    .collect::<String>()
            )),
        }
    }
    eprintln!("{codec}: both take and agree on {taken}, both refuse {refused}");
    for (reason, count) in &explained {
        eprintln!("{count:6} {reason}");
    }
    assert!(
        unexplained.is_empty(),
        "{} without a reason, first\n{}",
        unexplained.len(),
        unexplained[..unexplained.len().min(5)].join("\n\n")
    );
    assert!(taken > 0 && refused > 0, "nothing was compared");
}

#[test]
fn erlang_agrees_on_damaged_ber_or_there_is_a_reason() {
    compare(Encoding::Ber, "ber_native");
}

#[test]
fn erlang_agrees_on_damaged_per_or_there_is_a_reason() {
    compare(Encoding::Per, "per_native");
}

#[test]
fn erlang_agrees_on_damaged_terms_or_there_is_a_reason() {
    compare(Encoding::Erl, "erl_dist");
}
