//! Erlang's verdicts on the messages of its own tests of megaco, valid and invalid.
//!
//! Needs Erlang/OTP's sources: `WEIR_OTP=…/otp/lib/megaco/test cargo test -p weir-h248 otp -- --nocapture`. The
//! messages are not copied into this repository. Differences are listed in `docs/reference/erlang-differences.md`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::{Command, Stdio},
};

use weir_h248::{Arena, BinaryOptions, Encoding, Error, Message, decode_as};
use weir_testkit::Limited as _;

use crate::{
    erlang::is_installed,
    verdicts::{Verdicts, strict, written},
};

/// Messages that differ in an encoding, by a part of their name or text, and why.
const EXPLAINED: [(&str, &str); 5] = [
    (
        "T={",
        "Erlang reads a request without a number, which no standard has",
    ),
    ("{T:~s", "a pattern for numbers, which are no timers yet"),
    (
        "Modem[",
        "Erlang drops modem descriptors in versions 2 and 3",
    ),
    (
        "otp7671_msg05",
        "a digit map's name is two octets in BER and PER: Erlang turns dialplan1 into dialplan01",
    ),
    (
        "msg40",
        "Erlang does not read an authentication header that it has compressed",
    ),
];

/// A message of the tests in one encoding.
struct Form<'r> {
    codec: &'r str,
    /// Why Erlang does not decode it.
    refusal: Option<String>,
    octets: &'r [u8],
}

impl<'r> Form<'r> {
    fn read<'a>(&'a self, arena: &'a Arena) -> Result<Message<'a>, Error> {
        let mut options = strict();
        if self.is_native() {
            options.binary = BinaryOptions::native();
        }
        let encoding = match self.codec {
            "text" | "pretty" => Encoding::Pretty,
            "compact" => Encoding::Compact,
            "ber" | "ber_native" => Encoding::Ber,
            "per" | "per_native" => Encoding::Per,
            _ => Encoding::Erl,
        };
        decode_as(encoding, self.octets, arena, &options)
    }

    /// Whether names and identifiers stay the numbers that they are.
    fn is_native(&self) -> bool {
        self.codec.ends_with("_native") || self.codec.starts_with("erl")
    }
}

/// Fields behind one another: a length of four octets, and the octets.
fn fields(mut input: &[u8]) -> Vec<&[u8]> {
    let mut fields = Vec::new();
    while let Some((len, rest)) = input.split_first_chunk::<4>() {
        let (field, rest) = rest.split_at(u32::from_be_bytes(*len) as usize);
        fields.push(field);
        input = rest;
    }
    fields
}

/// A record of `otp_messages.escript`: the name, and the message in every encoding.
fn record(octets: &[u8]) -> (&str, Vec<Form<'_>>) {
    let fields = fields(octets);
    let word = |at: usize| str::from_utf8(fields[at]).unwrap();
    let forms = (1..fields.len()).step_by(3).map(|at| Form {
        codec: word(at),
        refusal: Some(String::from_utf8_lossy(fields[at + 1]).into_owned())
            .filter(|verdict| verdict != "ok"),
        octets: fields[at + 2],
    });
    (word(0), forms.collect())
}

#[test]
fn erlang_agrees_on_its_own_messages_or_there_is_a_reason() {
    let Some(folder) = std::env::var_os("WEIR_OTP") else {
        weir_testkit::missing(
            "otp-sources",
            "messages of Erlang's own tests (WEIR_OTP names lib/megaco/test)",
        );
        return;
    };
    if !is_installed() {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/erlang/otp_messages.escript");
    let output = Command::new("escript")
        .arg(script)
        .arg(folder)
        .stderr(Stdio::inherit())
        .output_limited()
        .unwrap();
    let mut seen = BTreeSet::new();
    let mut verdicts = Verdicts::default();
    let mut agreed = BTreeMap::<&str, usize>::new();
    let mut explained = BTreeMap::<&str, usize>::new();
    let mut wrong = Vec::new();
    for octets in fields(&output.stdout) {
        let (name, forms) = record(octets);
        // Several tests have the same message.
        if !seen.insert(forms.iter().map(|form| form.octets).collect::<Vec<_>>()) {
            continue;
        }
        let arena = Arena::new();
        let reason = EXPLAINED.iter().find(|(part, _)| {
            let in_text = |form: &Form<'_>| {
                form.octets
                    .windows(part.len())
                    .any(|octets| octets == part.as_bytes())
            };
            name.contains(part) || forms.iter().any(in_text)
        });
        // The text of the test, and what Erlang writes when it has read it.
        if let [text, rest @ ..] = &forms[..]
            && text.codec == "text"
            && reason.is_none()
        {
            let again = rest.iter().find(|form| form.codec == "compact");
            let refusal = text
                .refusal
                .clone()
                .unwrap_or_else(|| "not written again".to_owned());
            let erlangs = again.map(|form| form.octets.to_vec()).ok_or(refusal);
            verdicts.add(name, text.octets, text.read(&arena), &erlangs);
        }
        // Erlang and weir read Erlang's own output as the same message.
        let mut first = [None, None];
        for form in forms.iter().filter(|form| form.codec != "text") {
            let ours = form.read(&arena);
            let first = &mut first[usize::from(form.is_native())];
            let problem = match (&ours, &form.refusal) {
                (Err(_), Some(_)) => continue,
                (Err(error), None) => Some(format!("we refuse it: {error}")),
                (Ok(_), Some(refusal)) => Some(format!("Erlang refuses it: {refusal:.300}")),
                (Ok(message), None) => {
                    let first = *first.get_or_insert(*message);
                    let is_equal = first == *message || written(&first) == written(message);
                    (!is_equal).then(|| format!("{}\nnot {}", written(message), written(&first)))
                }
            };
            match (problem, reason) {
                (None, _) => *agreed.entry(form.codec).or_default() += 1,
                (Some(_), Some((_, reason))) => *explained.entry(reason).or_default() += 1,
                (Some(problem), None) => wrong.push(format!("{name} {}: {problem}", form.codec)),
            }
        }
    }
    eprintln!("{} messages; both take and agree: {agreed:?}", seen.len());
    for (reason, count) in &explained {
        eprintln!("{count:6} encodings: {reason}");
    }
    assert!(
        wrong.is_empty(),
        "{} wrong, first\n{}",
        wrong.len(),
        wrong[0]
    );
    verdicts.report();
}
