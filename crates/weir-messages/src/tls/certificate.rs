//! What a certificate says (RFC 5280).

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use sha1::Sha1;
use sha2::{Digest, Sha256};
use x509_parser::asn1_rs::Tag;
use x509_parser::extensions::GeneralName;
use x509_parser::objects::{oid_registry, oid2abbrev, oid2sn};
use x509_parser::parse_x509_certificate;
use x509_parser::public_key::PublicKey;
use x509_parser::x509::X509Name;

use super::fingerprint::hex;

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
    /// Whom it is for, as RFC 4514 writes it.
    pub subject: String,
    /// Who signed it.
    pub issuer: String,
    /// From when on it is valid, in seconds since 1970.
    pub not_before: i64,
    /// Until when it is valid, in seconds since 1970.
    pub not_after: i64,
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
    /// It may sign others.
    pub is_authority: bool,
}

/// Names and addresses of one certificate that are kept, at most.
const NAMES_MAX: usize = 1_000;

impl Certificate {
    /// Reads a certificate in DER. Of one that is none there are only the digests.
    #[must_use]
    pub fn parse(der: &[u8]) -> Self {
        let mut read = Self {
            sha256: hex(&Sha256::digest(der)),
            sha1: hex(&Sha1::digest(der)),
            ..Self::default()
        };
        let Ok((_, certificate)) = parse_x509_certificate(der) else {
            return read;
        };
        read.version = certificate.version.0.saturating_add(1);
        read.serial = hex(certificate.raw_serial()).to_uppercase();
        read.subject = name_text(&certificate.subject);
        read.issuer = name_text(&certificate.issuer);
        read.not_before = certificate.validity.not_before.timestamp();
        read.not_after = certificate.validity.not_after.timestamp();
        let (kind, bits) = match certificate.public_key().parsed() {
            Ok(PublicKey::RSA(key)) => ("rsa", Some(key.key_size())),
            Ok(PublicKey::EC(point)) => ("ecdsa", Some(point.key_size())),
            Ok(PublicKey::DSA(_)) => ("dsa", None),
            _ => ("", None),
        };
        read.key_type = match kind {
            "" => certificate.public_key().algorithm.algorithm.to_id_string(),
            word => word.to_owned(),
        };
        read.key_bits = bits.and_then(|bits| u32::try_from(bits).ok());
        let algorithm = &certificate.signature_algorithm.algorithm;
        read.signature = match oid2sn(algorithm, oid_registry()) {
            Ok(word) => word.to_owned(),
            Err(_) => algorithm.to_id_string(),
        };
        read.is_authority = certificate.is_ca();
        if let Ok(Some(names)) = certificate.subject_alternative_name() {
            for name in names.value.general_names.iter().take(NAMES_MAX) {
                match name {
                    GeneralName::DNSName(name) => {
                        read.dns_names.push(crate::printable(name.as_bytes()));
                    }
                    GeneralName::IPAddress(octets) => read.addresses.extend(address(octets)),
                    _ => {}
                }
            }
        }
        read
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
                Ok(word) => text.push_str(word),
                Err(_) => text.push_str(&kind.to_id_string()),
            }
            text.push('=');
            let value = attribute.attr_value();
            match string(value.tag(), value.data) {
                Some(value) => push_escaped(&value, &mut text),
                None => {
                    text.push('#');
                    text.push_str(&hex(attribute.as_slice()));
                }
            }
        }
        parts.push(text);
    }
    parts.reverse();
    parts.join(",")
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
            // What is no text stays what it is.
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
