//! The torture tests of RFC 4475: what each message is a test of, and what weir says of it.

use std::fs;
use std::path::PathBuf;

use weir_sip::{FaultKind, Limits, Message, Severity};

use Verdict::{Invalid, Valid};

/// The verdict of RFC 4475 on a message.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    /// Well-formed: an element processes it. It may still be refused for what it asks.
    Valid,
    /// Malformed: an element may answer 400 or discard it.
    Invalid,
}

/// Name, section of RFC 4475, verdict, and the faults that are expected: all kinds, in any order.
const MESSAGES: &[(&str, &str, Verdict, &[FaultKind])] = &[
    ("wsinv", "3.1.1.1", Valid, &[FaultKind::OldBranch]),
    ("intmeth", "3.1.1.2", Valid, &[]),
    ("esc01", "3.1.1.3", Valid, &[]),
    ("escnull", "3.1.1.4", Valid, &[]),
    ("esc02", "3.1.1.5", Valid, &[]),
    ("lwsdisp", "3.1.1.6", Valid, &[]),
    ("longreq", "3.1.1.7", Valid, &[FaultKind::OldBranch]),
    // The INVITE behind the REGISTER is to be ignored.
    ("dblreq", "3.1.1.8", Valid, &[FaultKind::Trailing]),
    ("semiuri", "3.1.1.9", Valid, &[]),
    ("transports", "3.1.1.10", Valid, &[]),
    ("mpart01", "3.1.1.11", Valid, &[]),
    ("unreason", "3.1.1.12", Valid, &[]),
    ("noreason", "3.1.1.13", Valid, &[]),
    (
        "badinv01",
        "3.1.2.1",
        Invalid,
        &[
            FaultKind::Parameter,
            FaultKind::Via,
            FaultKind::OldBranch,
            FaultKind::EmptyElement,
        ],
    ),
    ("clerr", "3.1.2.2", Invalid, &[FaultKind::BodyShort]),
    ("ncl", "3.1.2.3", Invalid, &[FaultKind::Number]),
    ("scalar02", "3.1.2.4", Invalid, &[FaultKind::Number]),
    ("scalarlg", "3.1.2.5", Invalid, &[FaultKind::Number]),
    ("quotbal", "3.1.2.6", Invalid, &[FaultKind::Quote]),
    (
        "ltgtruri",
        "3.1.2.7",
        Invalid,
        &[FaultKind::RequestUri, FaultKind::OldBranch],
    ),
    ("lwsruri", "3.1.2.8", Invalid, &[FaultKind::StartLineSpace]),
    ("lwsstart", "3.1.2.9", Invalid, &[FaultKind::StartLineSpace]),
    ("trws", "3.1.2.10", Invalid, &[FaultKind::StartLineSpace]),
    ("escruri", "3.1.2.11", Invalid, &[FaultKind::RequestUri]),
    ("baddate", "3.1.2.12", Invalid, &[FaultKind::Date]),
    ("regbadct", "3.1.2.13", Invalid, &[FaultKind::NeedsBrackets]),
    ("badaspec", "3.1.2.14", Invalid, &[FaultKind::Brackets]),
    // The file has no empty line behind the headers.
    (
        "baddn",
        "3.1.2.15",
        Invalid,
        &[FaultKind::DisplayName, FaultKind::Cut],
    ),
    ("badvers", "3.1.2.16", Invalid, &[FaultKind::Version]),
    ("mismatch01", "3.1.2.17", Invalid, &[FaultKind::CSeqMethod]),
    ("mismatch02", "3.1.2.18", Invalid, &[FaultKind::CSeqMethod]),
    ("bigcode", "3.1.2.19", Invalid, &[FaultKind::StatusCode]),
    ("badbranch", "3.2.1", Invalid, &[FaultKind::EmptyBranch]),
    (
        "insuf",
        "3.3.1",
        Invalid,
        &[FaultKind::Missing, FaultKind::NoMaxForwards],
    ),
    // Schemes that an element may not know (416) are well-formed.
    ("unkscm", "3.3.2", Valid, &[]),
    ("novelsc", "3.3.3", Valid, &[]),
    ("unksm2", "3.3.4", Valid, &[]),
    ("bext01", "3.3.5", Valid, &[]),
    ("invut", "3.3.6", Valid, &[]),
    ("regaut01", "3.3.7", Valid, &[]),
    ("multi01", "3.3.8", Invalid, &[FaultKind::Repeated]),
    (
        "mcl01",
        "3.3.9",
        Invalid,
        &[FaultKind::Repeated, FaultKind::Trailing],
    ),
    ("bcast", "3.3.10", Valid, &[]),
    ("zeromf", "3.3.11", Valid, &[]),
    ("cparam01", "3.3.12", Valid, &[]),
    ("cparam02", "3.3.13", Valid, &[]),
    ("regescrt", "3.3.14", Valid, &[]),
    ("sdp01", "3.3.15", Valid, &[]),
    (
        "inv2543",
        "3.4.1",
        Valid,
        &[
            FaultKind::NoFromTag,
            FaultKind::OldBranch,
            FaultKind::NoMaxForwards,
            FaultKind::NoContentLength,
        ],
    ),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/sip/rfc4475")
}

/// The octets of a message; `None`, with a report, when the file is missing.
pub(crate) fn read(name: &str) -> Option<Vec<u8>> {
    let path = folder().join(format!("{name}.dat"));
    let bytes = fs::read(&path).ok();
    if bytes.is_none() {
        weir_testkit::missing("captures", &path.display().to_string());
    }
    bytes
}

/// All messages that are there, by name.
pub(crate) fn messages() -> Vec<(&'static str, Vec<u8>)> {
    let named = |(name, ..): &(&'static str, _, _, _)| Some((*name, read(name)?));
    MESSAGES.iter().filter_map(named).collect()
}

#[test]
fn the_table_has_every_message() {
    let Ok(entries) = fs::read_dir(folder()) else {
        weir_testkit::missing("captures", &folder().display().to_string());
        return;
    };
    let mut found: Vec<String> = entries
        .map(|entry| {
            let path = entry.unwrap().path();
            path.file_stem().unwrap().to_str().unwrap().to_owned()
        })
        .collect();
    found.sort();
    let mut listed: Vec<&str> = MESSAGES.iter().map(|(name, ..)| *name).collect();
    listed.sort_unstable();
    assert_eq!(found, listed);
    assert_eq!(found.len(), 49);
}

#[test]
fn every_message_has_its_verdict_and_faults() {
    let mut wrong = Vec::new();
    for (name, section, verdict, expected) in MESSAGES {
        let Some(bytes) = read(name) else { continue };
        let message = Message::parse(&bytes, &Limits::default())
            .unwrap_or_else(|fault| panic!("{name} ({section}): {fault}"));
        let faults = message.check();
        let found = match faults.first_error() {
            Some(_) => Invalid,
            None => Valid,
        };
        let strict = Message::parse_strict(&bytes, &Limits::default());
        let kinds: Vec<FaultKind> = faults.iter().map(|fault| fault.kind).collect();
        let all_expected = expected.iter().all(|kind| kinds.contains(kind));
        let all_found = kinds.iter().all(|kind| expected.contains(kind));
        if found != *verdict || strict.is_ok() != (*verdict == Valid) || !all_expected || !all_found
        {
            let shown: Vec<String> = faults.iter().map(|fault| fault.to_string()).collect();
            wrong.push(format!("{name} ({section}) is {found:?}: {shown:#?}"));
        }
        let has_error = expected
            .iter()
            .any(|kind| kind.severity() == Severity::Error);
        assert_eq!(has_error, *verdict == Invalid, "the table on {name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
