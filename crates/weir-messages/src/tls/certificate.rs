//! The fields of certificates (RFC 5280).

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use sha1::Sha1;
use sha2::{Digest, Sha256};
use x509_parser::asn1_rs::Tag;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::objects::{oid_registry, oid2abbrev, oid2sn};
use x509_parser::parse_x509_certificate;
use x509_parser::public_key::PublicKey;
use x509_parser::x509::X509Name;

use super::validity::with_usual_times;

/// A certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Certificate {
    /// SHA-256 of all of it, in hexadecimal digits.
    pub sha256: String,
    /// SHA-1 of all of it, in hexadecimal digits.
    pub sha1: String,
    /// Version, from 1.
    pub version: u32,
    /// Serial number, in hexadecimal digits.
    pub serial: String,
    /// The subject that it is for, as RFC 4514 writes names.
    pub subject: String,
    /// The issuer that signed it, as RFC 4514 writes names.
    pub issuer: String,
    /// The start of its validity, in seconds since 1970; `None` for a malformed time.
    pub not_before: Option<i64>,
    /// Until when it is valid, in seconds since 1970; `None` for what is no time.
    pub not_after: Option<i64>,
    /// Type of the key: `rsa`, `ecdsa`, `dsa`, or another's number.
    pub key_type: String,
    /// Bits of the key.
    pub key_bits: Option<u32>,
    /// Algorithm of the signature.
    pub signature: String,
    /// Names of hosts.
    pub dns_names: Vec<String>,
    /// Addresses.
    pub addresses: Vec<String>,
    /// The certificate is one of an authority (CA).
    pub is_authority: bool,
}

/// Names and addresses of one certificate that are kept, at most.
const NAMES_MAX: usize = 1_000;

impl Certificate {
    /// Reads a certificate in DER. Where the bytes cannot be read as one, there are only their digests.
    #[must_use]
    pub fn parse(der: &[u8]) -> Self {
        let mut read = Self {
            sha256: hex::encode(Sha256::digest(der)),
            sha1: hex::encode(Sha1::digest(der)),
            ..Self::default()
        };
        if let Ok((_, certificate)) = parse_x509_certificate(der) {
            let validity = &certificate.validity;
            let times = [validity.not_before, validity.not_after];
            let [from, until] = times.map(|time| Some(time.timestamp()));
            (read.not_before, read.not_after) = (from, until);
            read.fill(&certificate);
        } else if let Some((usual, [from, until])) = with_usual_times(der)
            && let Ok((_, certificate)) = parse_x509_certificate(&usual)
        {
            (read.not_before, read.not_after) = (from, until);
            read.fill(&certificate);
        }
        read
    }

    /// Reads the fields of a certificate, except its times.
    fn fill(&mut self, certificate: &X509Certificate<'_>) {
        self.version = certificate.version.0.saturating_add(1);
        self.serial = hex::encode(certificate.raw_serial()).to_uppercase();
        self.subject = name_text(&certificate.subject);
        self.issuer = name_text(&certificate.issuer);
        let (kind, bits) = match certificate.public_key().parsed() {
            Ok(PublicKey::RSA(key)) => ("rsa", Some(key.key_size())),
            Ok(PublicKey::EC(point)) => ("ecdsa", Some(point.key_size())),
            Ok(PublicKey::DSA(_)) => ("dsa", None),
            _ => ("", None),
        };
        self.key_type = match kind {
            "" => certificate.public_key().algorithm.algorithm.to_id_string(),
            word => word.to_owned(),
        };
        self.key_bits = bits.and_then(|bits| u32::try_from(bits).ok());
        let algorithm = &certificate.signature_algorithm.algorithm;
        self.signature = match oid2sn(algorithm, oid_registry()) {
            Ok(word) => word.to_owned(),
            Err(_) => algorithm.to_id_string(),
        };
        self.is_authority = certificate.is_ca();
        // An extension may be there once (RFC 5280, 4.2); where it is there again, its names are kept, too.
        let extensions = certificate.extensions().iter();
        let names = extensions.filter_map(|extension| match extension.parsed_extension() {
            ParsedExtension::SubjectAlternativeName(names) => Some(&names.general_names),
            _ => None,
        });
        for name in names.flatten().take(NAMES_MAX) {
            match name {
                GeneralName::DNSName(name) => {
                    self.dns_names.push(crate::printable(name.as_bytes()));
                }
                // The name has characters beyond those of an IA5String.
                GeneralName::Invalid(Tag(2), name) => {
                    self.dns_names.push(crate::printable(name));
                }
                GeneralName::IPAddress(octets) => self.addresses.extend(address(octets)),
                _ => {}
            }
        }
    }
}

fn address(octets: &[u8]) -> Option<String> {
    if let Ok(v4) = <[u8; 4]>::try_from(octets) {
        return Some(Ipv4Addr::from(v4).to_string());
    }
    let v6 = <[u8; 16]>::try_from(octets).ok()?;
    Some(Ipv6Addr::from(v6).to_string())
}

/// A name as RFC 4514 writes it: what is nearest comes first.
fn name_text(name: &X509Name<'_>) -> String {
    let mut parts: Vec<String> = Vec::new();
    for set in name.iter_rdn() {
        let mut text = String::new();
        for attribute in set.iter() {
            if !text.is_empty() {
                text.push('+');
            }
            let kind = attribute.attr_type();
            match oid2abbrev(kind, oid_registry()) {
                Ok(word) => text.push_str(descriptor(word)),
                Err(_) => text.push_str(&kind.to_id_string()),
            }
            text.push('=');
            let value = attribute.attr_value();
            match string(value.tag(), value.data) {
                Some(value) => push_escaped(&value, &mut text),
                None => {
                    text.push('#');
                    text.push_str(&hex::encode(attribute.as_slice()));
                }
            }
        }
        parts.push(text);
    }
    parts.reverse();
    parts.join(",")
}

/// The name of a type of attribute as RFC 4514, 3 has it; its table lacks that of mail, which all software writes so.
fn descriptor(word: &str) -> &str {
    match word {
        "streetAddress" => "STREET",
        "uid" => "UID",
        "Email" => "emailAddress",
        other => other,
    }
}

/// The text of a string type (RFC 5280, 4.1.2.4; X.680, 41); `None` for what is no text.
fn string(tag: Tag, octets: &[u8]) -> Option<String> {
    match tag {
        Tag::Utf8String => String::from_utf8(octets.to_vec()).ok(),
        Tag::PrintableString | Tag::Ia5String | Tag::NumericString | Tag::VisibleString => {
            let text = String::from_utf8(octets.to_vec());
            Some(text.unwrap_or_else(|_| latin_1(octets)))
        }
        // Authorities that wrote these types wrote Latin-1, not the sets of characters of T.61.
        Tag::T61String | Tag::VideotexString | Tag::GraphicString | Tag::GeneralString => {
            Some(latin_1(octets))
        }
        Tag::BmpString => {
            let (units, []) = octets.as_chunks::<2>() else {
                return None;
            };
            let units = units.iter().map(|unit| u16::from_be_bytes(*unit));
            char::decode_utf16(units).collect::<Result<_, _>>().ok()
        }
        Tag::UniversalString => {
            let (letters, []) = octets.as_chunks::<4>() else {
                return None;
            };
            let letters = letters.iter();
            letters
                .map(|letter| char::from_u32(u32::from_be_bytes(*letter)))
                .collect()
        }
        _ => None,
    }
}

fn latin_1(octets: &[u8]) -> String {
    octets.iter().map(|octet| char::from(*octet)).collect()
}

/// Appends a value with what would be misread escaped (RFC 4514, 2.4).
fn push_escaped(value: &str, out: &mut String) {
    for (at, letter) in value.char_indices() {
        let is_special = matches!(letter, ',' | '+' | '"' | '\\' | '<' | '>' | ';')
            || at == 0 && matches!(letter, '#' | ' ')
            || at + 1 == value.len() && letter == ' ' && at > 0;
        if is_special {
            out.push('\\');
        }
        if letter.is_ascii_control() {
            // Writing to a string does not fail.
            let _ = write!(out, "\\{:02X}", letter as u8);
        } else {
            out.push(letter);
        }
    }
}

#[cfg(test)]
mod tests {
    use x509_parser::prelude::FromDer;

    use super::*;

    /// A name of one organisation, whose value is of this type.
    fn name(tag: u8, value: &[u8]) -> String {
        let wrap = |tag: u8, octets: &[u8]| {
            let length = u8::try_from(octets.len()).unwrap();
            [&[tag, length], octets].concat()
        };
        let kind = wrap(0x06, &[0x55, 0x04, 0x0a]);
        let attribute = wrap(0x30, &[kind, wrap(tag, value)].concat());
        let der = wrap(0x30, &wrap(0x31, &attribute));
        let (rest, name) = X509Name::from_der(&der).unwrap();
        assert!(rest.is_empty());
        name_text(&name)
    }

    /// A value of DER.
    fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let contents = parts.concat();
        let length = u8::try_from(contents.len());
        match length {
            Ok(length @ 0..=127) => [&[tag, length], &contents[..]].concat(),
            Ok(length) => [&[tag, 0x81, length], &contents[..]].concat(),
            Err(_) => panic!("{}", contents.len()),
        }
    }

    /// A certificate that is valid from one of these times to the other, each with its tag.
    fn certificate(times: [(u8, &[u8]); 2]) -> Vec<u8> {
        with_extensions(times, b"")
    }

    /// The same with these octets behind its key.
    fn with_extensions(times: [(u8, &[u8]); 2], extensions: &[u8]) -> Vec<u8> {
        let [from, until] = times.map(|(tag, text)| der(tag, &[text]));
        // ecdsa-with-SHA256, and a key of no known algorithm.
        let algorithm = der(0x30, &[b"\x06\x08\x2a\x86\x48\xce\x3d\x04\x03\x02"]);
        let key = der(
            0x30,
            &[&der(0x30, &[b"\x06\x03\x2a\x03\x04"]), b"\x03\x02\0\x07"],
        );
        let organisation = der(0x30, &[b"\x06\x03\x55\x04\x0a", b"\x0c\x04weir"]);
        let name = der(0x30, &[&der(0x31, &[&organisation])]);
        let validity = der(0x30, &[&from, &until]);
        let version = b"\xa0\x03\x02\x01\x02\x02\x01\x09";
        let before = [&version[..], &algorithm, &name, &validity, &name, &key].concat();
        let signed = der(0x30, &[&before, extensions]);
        der(0x30, &[&signed, &algorithm, b"\x03\x02\0\x07"])
    }

    /// Times by `date -u -d … +%s`. RFC 5280, 4.1.2.5 wants Z; X.690, 11.7 and 11.8 allow others in BER.
    #[test]
    fn times_with_an_offset_are_times() {
        const UTC: u8 = 0x17;
        const GENERALIZED: u8 = 0x18;
        for (tag, text, seconds) in [
            (UTC, &b"210301120000Z"[..], 1_614_600_000),
            (UTC, b"2103011200Z", 1_614_600_000),
            (UTC, b"210301130000+0100", 1_614_600_000),
            (UTC, b"210301063000-0530", 1_614_600_000),
            (UTC, b"2103011300+0100", 1_614_600_000),
            (UTC, b"000101003000+0100", 946_683_000),
            (UTC, b"491231235959-0100", 2_524_611_599),
            (UTC, b"500101000000Z", -631_152_000),
            (GENERALIZED, b"20210301120000Z", 1_614_600_000),
            (GENERALIZED, b"20210301130000+0100", 1_614_600_000),
            (GENERALIZED, b"20210301063000.5-0530", 1_614_600_000),
            (GENERALIZED, b"20210301130000+01", 1_614_600_000),
            (UTC, b"210301130000+01", 1_614_600_000),
            (GENERALIZED, b"99991231235959Z", 253_402_300_799),
        ] {
            let usual = (UTC, &b"200101000000Z"[..]);
            for times in [[usual, (tag, text)], [(tag, text), usual]] {
                let read = Certificate::parse(&certificate(times));
                let shown = String::from_utf8_lossy(text);
                assert_eq!(read.subject, "O=weir", "{shown}");
                let expected =
                    times.map(|(_, it)| if it == text { seconds } else { 1_577_836_800 });
                assert_eq!(
                    [read.not_before, read.not_after],
                    expected.map(Some),
                    "{shown}"
                );
            }
        }
    }

    /// Such a certificate had digests only.
    #[test]
    fn what_is_no_time_costs_that_time_only() {
        let usual = (0x17, &b"210301120000Z"[..]);
        for text in [&b"211301120000Z"[..], b"", b"soon"] {
            let read = Certificate::parse(&certificate([(0x17, text), usual]));
            assert_eq!((&*read.subject, &*read.serial), ("O=weir", "09"));
            assert_eq!(
                (read.not_before, read.not_after),
                (None, Some(1_614_600_000))
            );
        }
        let whole = certificate([usual, usual]);
        for end in 0..whole.len() {
            assert_eq!(Certificate::parse(&whole[..end]).subject, "", "{end}");
        }
    }

    /// Of two extensions with names none were there, and a name with other characters than those of an IA5String was
    /// left out.
    #[test]
    fn names_are_read_though_they_break_rules() {
        let usual = (0x17, &b"210301120000Z"[..]);
        let extension = |names: &[u8]| {
            let names = der(0x30, &[names]);
            der(0x30, &[b"\x06\x03\x55\x1d\x11", &der(0x04, &[&names])])
        };
        let first = extension(b"\x82\x01a");
        let second = extension(b"\x82\x03b\xc3\xbc\x87\x04\x0a\0\0\x01");
        let extensions = der(0xa3, &[&der(0x30, &[&first, &second])]);
        let read = Certificate::parse(&with_extensions([usual, usual], &extensions));
        assert_eq!(read.subject, "O=weir");
        assert_eq!(read.dns_names, ["a", "bü"]);
        assert_eq!(read.addresses, ["10.0.0.1"]);
    }

    #[test]
    fn types_of_names_are_those_of_rfc_4514() {
        for (kind, text) in [
            (&b"\x06\x03\x55\x04\x09"[..], "STREET=weir"),
            (b"\x06\x03\x55\x04\x08", "ST=weir"),
            (
                b"\x06\x0a\x09\x92\x26\x89\x93\xf2\x2c\x64\x01\x01",
                "UID=weir",
            ),
            (
                b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x09\x01",
                "emailAddress=weir",
            ),
        ] {
            let attribute = der(0x30, &[kind, b"\x0c\x04weir"]);
            let octets = der(0x30, &[&der(0x31, &[&attribute])]);
            let (_, name) = X509Name::from_der(&octets).unwrap();
            assert_eq!(name_text(&name), text);
        }
    }

    #[test]
    fn strings_of_each_type_are_text() {
        for (tag, value, text) in [
            (0x0c, "Bücher".as_bytes(), "O=Bücher"),
            (0x13, b"Weir, Ltd", "O=Weir\\, Ltd"),
            (0x16, b"weir@example", "O=weir@example"),
            (0x12, b"12 34", "O=12 34"),
            (0x1a, b"weir", "O=weir"),
            (0x14, b"B\xfccher", "O=Bücher"),
            (0x1b, b"B\xfccher", "O=Bücher"),
            (0x1e, b"\0B\0\xfc\x20\xac", "O=Bü€"),
            (0x1e, b"\xd8\x3d\xde\x00", "O=😀"),
            (0x1c, b"\0\0\0B\0\x01\xf6\x00", "O=B😀"),
            // A value that is not text stays in hexadecimal form.
            (0x1e, b"\xd8\x3d", "O=#d83d"),
            (0x1e, b"\0B\0", "O=#004200"),
            (0x1c, b"\0\x11\0\0", "O=#00110000"),
            (0x0c, b"\xff", "O=#ff"),
            (0x04, b"weir", "O=#77656972"),
        ] {
            assert_eq!(name(tag, value), text, "{tag:#x} {value:?}");
        }
    }
}
