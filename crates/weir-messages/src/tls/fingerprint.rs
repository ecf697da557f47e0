//! Fingerprints of hellos: JA3, JA3S and JA4.

use std::fmt::Write as _;

use md5::{Digest, Md5};
use sha2::Sha256;

use super::session::Carrier;
use super::{ClientHello, ServerHello, is_grease};

/// Numbers with dashes between, without GREASE.
fn dashed(numbers: impl Iterator<Item = u16>) -> String {
    let mut text = String::new();
    for number in numbers.filter(|number| !is_grease(*number)) {
        let dash = if text.is_empty() { "" } else { "-" };
        // Writing to a string does not fail.
        let _ = write!(text, "{dash}{number}");
    }
    text
}

/// The text of which JA3 is the digest: version, cipher suites, extensions, groups and point formats.
#[must_use]
pub fn ja3_text(hello: &ClientHello) -> String {
    format!(
        "{},{},{},{},{}",
        hello.version,
        dashed(hello.suites.iter().copied()),
        dashed(hello.extensions.iter().copied()),
        dashed(hello.groups.iter().copied()),
        dashed(hello.point_formats.iter().copied().map(u16::from)),
    )
}

/// JA3: how a client says hello.
#[must_use]
pub fn ja3(hello: &ClientHello) -> String {
    hex::encode(Md5::digest(ja3_text(hello)))
}

/// The text of which JA3S is the digest: version, cipher suite, extensions.
#[must_use]
pub fn ja3s_text(hello: &ServerHello) -> String {
    let extensions = dashed(hello.extensions.iter().copied());
    format!("{},{},{extensions}", hello.version, hello.suite)
}

/// JA3S: how a server answers a client.
#[must_use]
pub fn ja3s(hello: &ServerHello) -> String {
    hex::encode(Md5::digest(ja3s_text(hello)))
}

/// JA4: the fingerprint of a client hello, independent of the order of its lists.
#[must_use]
pub fn ja4(hello: &ClientHello, carrier: Carrier) -> String {
    let letter = match carrier {
        Carrier::Tls => 't',
        Carrier::Dtls => 'd',
        Carrier::Quic => 'q',
    };
    let offered = hello.versions.iter().copied();
    let best = match carrier {
        // Versions of DTLS count down.
        Carrier::Dtls => offered.filter(|version| !is_grease(*version)).min(),
        _ => offered.filter(|version| !is_grease(*version)).max(),
    };
    let version = match best.unwrap_or(hello.version) {
        0x0304 => "13",
        0x0303 => "12",
        0x0302 => "11",
        0x0301 => "10",
        0x0300 => "s3",
        0x0002 => "s2",
        0xfeff => "d1",
        0xfefd => "d2",
        0xfefc => "d3",
        _ => "00",
    };
    let name = match hello.extensions.contains(&SERVER_NAME) {
        true => 'd',
        false => 'i',
    };
    let real = |numbers: &[u16]| -> Vec<u16> {
        let numbers = numbers.iter().copied();
        numbers.filter(|number| !is_grease(*number)).collect()
    };
    let mut suites = real(&hello.suites);
    let mut extensions = real(&hello.extensions);
    let counts = [suites.len(), extensions.len()].map(|count| count.min(99));
    suites.sort_unstable();
    extensions.retain(|kind| !matches!(*kind, SERVER_NAME | PROTOCOLS));
    extensions.sort_unstable();
    let mut of_extensions = listed(&extensions);
    let signatures = real(&hello.signatures);
    if !signatures.is_empty() {
        of_extensions.push('_');
        of_extensions.push_str(&listed(&signatures));
    }
    let extensions_digest = match extensions.is_empty() {
        true => NOTHING.to_owned(),
        false => short(&of_extensions),
    };
    let suites_digest = match suites.is_empty() {
        true => NOTHING.to_owned(),
        false => short(&listed(&suites)),
    };
    let [first, last] = ends(&hello.first_protocol);
    let [suites, kinds] = counts;
    format!(
        "{letter}{version}{name}{suites:02}{kinds:02}{first}{last}_{suites_digest}_{extensions_digest}"
    )
}

const SERVER_NAME: u16 = 0;
const PROTOCOLS: u16 = 16;
/// Instead of the digest of an empty list.
const NOTHING: &str = "000000000000";

/// The first and the last letter of a protocol's name; of what is no letter, the digits.
fn ends(name: &[u8]) -> [char; 2] {
    match name {
        [] => ['0', '0'],
        [first, ..] => {
            let last = name.last().unwrap_or(first);
            if first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() {
                [char::from(*first), char::from(*last)]
            } else {
                let digit = |number: u8| char::from_digit(number.into(), 16).unwrap_or('0');
                [digit(first >> 4), digit(last & 15)]
            }
        }
    }
}

/// Numbers of four hexadecimal digits with commas between.
fn listed(numbers: &[u16]) -> String {
    let words: Vec<String> = numbers
        .iter()
        .map(|number| format!("{number:04x}"))
        .collect();
    words.join(",")
}

fn short(text: &str) -> String {
    let mut digest = hex::encode(Sha256::digest(text));
    digest.truncate(12);
    digest
}
