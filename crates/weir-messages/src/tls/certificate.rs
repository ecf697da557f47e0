//! The fields of certificates (RFC 5280).

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};

use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::validity::time;
use crate::ber::{Ber, INTEGER, OBJECT, OCTETS, object};

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
    /// The end of its validity, in seconds since 1970; `None` for a malformed time.
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
    /// Reads a certificate in DER: its digests, and its fields up to where the octets are no values of ASN.1. A field that is
    /// malformed within its length costs that field only.
    #[must_use]
    pub fn parse(der: &[u8]) -> Self {
        let mut read = Self {
            sha256: hex::encode(Sha256::digest(der)),
            sha1: hex::encode(Sha1::digest(der)),
            ..Self::default()
        };
        // `None` says that the fields ended early: those that were read are in `read`.
        let _ = read.fill(der);
        read
    }

    /// Reads the fields in their order (RFC 5280, 4.1).
    fn fill(&mut self, der: &[u8]) -> Option<()> {
        let mut parts = Ber(der).sequence()?;
        let mut fields = parts.sequence()?;
        if let Some(algorithm) = parts.sequence() {
            let identifier = identifier(algorithm);
            let word = signature_word(&identifier).map(str::to_owned);
            self.signature = word.unwrap_or(identifier);
        }
        self.version = 1;
        if fields.0.first() == Some(&VERSION) {
            let number = Ber(fields.next()?.1).integer()?;
            self.version = u32::try_from(number).ok()?.saturating_add(1);
        }
        self.serial = hex::encode_upper(fields.of(INTEGER)?);
        // The algorithm of the signature stands here, too.
        fields.sequence()?;
        self.issuer = name_text(fields.sequence()?);
        let mut validity = fields.sequence()?;
        let mut next_time = || validity.next().and_then(|(tag, text)| time(tag, text));
        (self.not_before, self.not_after) = (next_time(), next_time());
        self.subject = name_text(fields.sequence()?);
        self.fill_key(fields.sequence()?);
        while let Some((tag, contents)) = fields.next() {
            if tag == EXTENSIONS {
                let mut extensions = Ber(contents).sequence()?;
                while let Some(extension) = extensions.sequence() {
                    self.fill_extension(extension);
                }
            }
        }
        Some(())
    }

    /// Reads what kind of key it is, and its bits (RFC 3279, 2.3; RFC 5480, 2).
    fn fill_key(&mut self, mut key: Ber<'_>) {
        let Some(mut algorithm) = key.sequence() else {
            return;
        };
        let identifier = identifier(algorithm);
        // The parameters are behind the identifier, and the first octet of the key counts the bits that it does not use.
        let _ = algorithm.next();
        let octets = key.of(BITS).and_then(|bits| bits.get(1..));
        let (kind, bits) = match &*identifier {
            RSA => {
                let modulus = octets.and_then(|octets| Ber(octets).sequence()?.of(INTEGER));
                ("rsa", modulus.map(bits_of))
            }
            DSA => {
                let prime = algorithm
                    .sequence()
                    .and_then(|mut numbers| numbers.of(INTEGER));
                ("dsa", prime.map(bits_of))
            }
            EC => ("ecdsa", curve_bits(algorithm, octets)),
            other => (other, None),
        };
        self.key_type = kind.to_owned();
        self.key_bits = bits.and_then(|bits| u32::try_from(bits).ok());
    }

    /// Reads the names of an extension. One may be there once (RFC 5280, 4.2); where it is there again, its names are
    /// kept, too.
    fn fill_extension(&mut self, mut extension: Ber<'_>) {
        let kind = identifier(extension);
        let mut value = None;
        // What says whether it is critical stands in front of the value.
        while let Some((tag, contents)) = extension.next() {
            value = (tag == OCTETS).then_some(contents);
        }
        let Some(mut values) = value.and_then(|value| Ber(value).sequence()) else {
            return;
        };
        match &*kind {
            ALTERNATIVE_NAMES => {
                while let Some((tag, name)) = values.next() {
                    if self.dns_names.len() + self.addresses.len() >= NAMES_MAX {
                        break;
                    }
                    match tag {
                        // A name may have characters beyond those of an IA5String.
                        DNS_NAME => self.dns_names.push(crate::printable(name)),
                        ADDRESS => self.addresses.extend(address(name)),
                        _ => {}
                    }
                }
            }
            BASIC_CONSTRAINTS => {
                let is_authority = values.of(BOOLEAN);
                self.is_authority |= is_authority.is_some_and(|value| value != [0]);
            }
            _ => {}
        }
    }
}

/// Tags of what a certificate consists of.
const BOOLEAN: u8 = 0x01;
const BITS: u8 = 0x03;
const SET: u8 = 0x31;
/// The version, which certificates of version 1 lack.
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
/// Alternative names (RFC 5280, 4.2.1.6).
const DNS_NAME: u8 = 0x82;
const ADDRESS: u8 = 0x87;

/// Identifiers of keys, curves and extensions.
const RSA: &str = "1.2.840.113549.1.1.1";
const DSA: &str = "1.2.840.10040.4.1";
const EC: &str = "1.2.840.10045.2.1";
const P521: &str = "1.3.132.0.35";
const ALTERNATIVE_NAMES: &str = "2.5.29.17";
const BASIC_CONSTRAINTS: &str = "2.5.29.19";

/// The identifier that a sequence begins with, with dots, or in hexadecimal digits where one of its numbers has more
/// than 64 bits; empty where there is none.
fn identifier(mut sequence: Ber<'_>) -> String {
    let octets = sequence.of(OBJECT).unwrap_or_default();
    object(octets).unwrap_or_else(|| hex::encode(octets))
}

/// Bits of a number without its leading zeros.
fn bits_of(number: &[u8]) -> usize {
    let zeros = number.iter().take_while(|octet| **octet == 0).count();
    let rest = number.get(zeros..).unwrap_or_default();
    let leading = rest
        .first()
        .map_or(0, |octet| octet.leading_zeros() as usize);
    rest.len() * 8 - leading
}

/// Bits of the field of a curve, by a point on it (SEC 1, 2.3.3): octets that tell its form, and one or two numbers.
fn curve_bits(mut curve: Ber<'_>, point: Option<&[u8]>) -> Option<usize> {
    let octets = match point? {
        [4, numbers @ ..] => numbers.len() / 2,
        [2 | 3, number @ ..] => number.len(),
        _ => return None,
    };
    let name = curve.of(OBJECT).and_then(object);
    // The one field whose numbers do not fill their octets.
    Some(if name.as_deref() == Some(P521) {
        521
    } else {
        octets * 8
    })
}

fn address(octets: &[u8]) -> Option<String> {
    if let Ok(v4) = <[u8; 4]>::try_from(octets) {
        return Some(Ipv4Addr::from(v4).to_string());
    }
    let v6 = <[u8; 16]>::try_from(octets).ok()?;
    Some(Ipv6Addr::from(v6).to_string())
}

/// A name as RFC 4514 writes it: what is nearest comes first.
fn name_text(mut name: Ber<'_>) -> String {
    let mut parts: Vec<String> = Vec::new();
    while let Some(set) = name.of(SET) {
        let mut text = String::new();
        let mut attributes = Ber(set);
        while let Some(attribute) = attributes.sequence() {
            push_attribute(attribute, &mut text);
        }
        parts.push(text);
    }
    parts.reverse();
    parts.join(",")
}

/// Appends the type and the value of an attribute.
fn push_attribute(mut attribute: Ber<'_>, text: &mut String) {
    let kind = identifier(attribute);
    let _ = attribute.next();
    let whole = attribute.0;
    let Some((tag, value)) = attribute.next() else {
        return;
    };
    if !text.is_empty() {
        text.push('+');
    }
    let word = attribute_word(&kind);
    text.push_str(word.unwrap_or(&kind));
    text.push('=');
    match string(tag, value).filter(|_| word.is_some()) {
        Some(value) => push_escaped(&value, text),
        // RFC 4514, 2.4: the whole value as it is encoded, as the syntax of types without a name is not known.
        None => {
            text.push('#');
            text.push_str(&hex::encode(whole));
        }
    }
}

/// The name of a type of attribute: RFC 4514, 3, then RFC 4519 and X.520.
fn attribute_word(identifier: &str) -> Option<&'static str> {
    Some(match identifier {
        "2.5.4.3" => "CN",
        "2.5.4.4" => "surname",
        "2.5.4.5" => "serialNumber",
        "2.5.4.6" => "C",
        "2.5.4.7" => "L",
        "2.5.4.8" => "ST",
        "2.5.4.9" => "STREET",
        "2.5.4.10" => "O",
        "2.5.4.11" => "OU",
        "2.5.4.12" => "title",
        "2.5.4.13" => "description",
        "2.5.4.14" => "searchGuide",
        "2.5.4.15" => "businessCategory",
        "2.5.4.16" => "postalAddress",
        "2.5.4.17" => "postalCode",
        "2.5.4.20" => "telephoneNumber",
        "2.5.4.41" => "name",
        "2.5.4.42" => "givenName",
        "2.5.4.43" => "initials",
        "2.5.4.44" => "generationQualifier",
        "2.5.4.45" => "uniqueIdentifier",
        "2.5.4.46" => "dnQualifier",
        "2.5.4.65" => "pseudonym",
        "2.5.4.97" => "organizationIdentifier",
        "0.9.2342.19200300.100.1.1" => "UID",
        "0.9.2342.19200300.100.1.25" => "DC",
        "1.2.840.113549.1.9.1" => "emailAddress",
        "1.2.840.113549.1.9.2" => "unstructuredName",
        "1.3.6.1.4.1.311.60.2.1.1" => "msJurisdictionLocality",
        "1.3.6.1.4.1.311.60.2.1.2" => "msJurisdictionStateOrProvince",
        "1.3.6.1.4.1.311.60.2.1.3" => "msJurisdictionCountry",
        _ => return None,
    })
}

/// The name of an algorithm of signatures (RFC 8017, RFC 5758, RFC 8410, RFC 4491, RFC 9881).
fn signature_word(identifier: &str) -> Option<&'static str> {
    Some(match identifier {
        "1.2.840.113549.1.1.2" => "md2WithRSAEncryption",
        "1.2.840.113549.1.1.3" => "md4WithRSAEncryption",
        "1.2.840.113549.1.1.4" => "md5WithRSAEncryption",
        "1.2.840.113549.1.1.5" | "1.3.14.3.2.29" => "sha1WithRSAEncryption",
        "1.2.840.113549.1.1.10" => "rsassa-pss",
        "1.2.840.113549.1.1.11" => "sha256WithRSAEncryption",
        "1.2.840.113549.1.1.12" => "sha384WithRSAEncryption",
        "1.2.840.113549.1.1.13" => "sha512WithRSAEncryption",
        "1.2.840.113549.1.1.14" => "sha224WithRSAEncryption",
        "1.3.14.3.2.25" => "md5WithRSASignature",
        "1.3.36.3.3.1.2" => "rsaSignatureWithripemd160",
        "1.2.840.10040.4.3" => "dsa-with-sha1",
        "2.16.840.1.101.3.4.3.1" => "dsa-with-sha224",
        "2.16.840.1.101.3.4.3.2" => "dsa-with-sha256",
        "1.2.840.10045.4.1" => "ecdsa-with-SHA1",
        "1.2.840.10045.4.3.1" => "ecdsa-with-SHA224",
        "1.2.840.10045.4.3.2" => "ecdsa-with-SHA256",
        "1.2.840.10045.4.3.3" => "ecdsa-with-SHA384",
        "1.2.840.10045.4.3.4" => "ecdsa-with-SHA512",
        "1.3.101.112" => "ed25519",
        "1.3.101.113" => "ed448",
        "1.2.643.2.2.3" => "id-GostR3411-94-with-GostR3410-2001",
        "1.2.643.7.1.1.3.2" => "id-tc26-signwithdigest-gost3410-12-256",
        "1.2.643.7.1.1.3.3" => "id-tc26-signwithdigest-gost3410-12-512",
        "2.16.840.1.101.3.4.3.17" => "id-ml-dsa-44",
        "2.16.840.1.101.3.4.3.18" => "id-ml-dsa-65",
        "2.16.840.1.101.3.4.3.19" => "id-ml-dsa-87",
        _ => return None,
    })
}

/// The text of a string type (RFC 5280, 4.1.2.4; X.680, 41); `None` for what is no text.
fn string(tag: u8, octets: &[u8]) -> Option<String> {
    match tag {
        UTF8_STRING => String::from_utf8(octets.to_vec()).ok(),
        NUMERIC_STRING | PRINTABLE_STRING | IA5_STRING | VISIBLE_STRING => {
            let text = String::from_utf8(octets.to_vec());
            Some(text.unwrap_or_else(|_| latin_1(octets)))
        }
        // Authorities that wrote these types wrote Latin-1, not the sets of characters of T.61.
        TELETEX_STRING | VIDEOTEX_STRING | GRAPHIC_STRING | GENERAL_STRING => Some(latin_1(octets)),
        BMP_STRING => {
            let (units, []) = octets.as_chunks::<2>() else {
                return None;
            };
            let units = units.iter().map(|unit| u16::from_be_bytes(*unit));
            char::decode_utf16(units).collect::<Result<_, _>>().ok()
        }
        UNIVERSAL_STRING => {
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

/// Tags of string types (X.680, 8.4).
const UTF8_STRING: u8 = 0x0c;
const NUMERIC_STRING: u8 = 0x12;
const PRINTABLE_STRING: u8 = 0x13;
const TELETEX_STRING: u8 = 0x14;
const VIDEOTEX_STRING: u8 = 0x15;
const IA5_STRING: u8 = 0x16;
const GRAPHIC_STRING: u8 = 0x19;
const VISIBLE_STRING: u8 = 0x1a;
const GENERAL_STRING: u8 = 0x1b;
const UNIVERSAL_STRING: u8 = 0x1c;
const BMP_STRING: u8 = 0x1e;

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
    use super::*;

    /// A name of one organisation, whose value is of this type.
    fn name(tag: u8, value: &[u8]) -> String {
        let wrap = |tag: u8, octets: &[u8]| {
            let length = u8::try_from(octets.len()).unwrap();
            [&[tag, length], octets].concat()
        };
        let kind = wrap(0x06, &[0x55, 0x04, 0x0a]);
        let attribute = wrap(0x30, &[kind, wrap(tag, value)].concat());
        name_text(Ber(&wrap(0x31, &attribute)))
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
                let expected = times.map(|(_, other)| {
                    if other == text {
                        seconds
                    } else {
                        1_577_836_800
                    }
                });
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

    /// Bits as `openssl x509 -text` has them; a key of P-521 had 528, one of DSA none.
    #[test]
    fn keys_have_the_bits_of_their_numbers() {
        const RSA: &[u8] = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01";
        const DSA: &[u8] = b"\x06\x07\x2a\x86\x48\xce\x38\x04\x01";
        const EC: &[u8] = b"\x06\x07\x2a\x86\x48\xce\x3d\x02\x01";
        const P256: &[u8] = b"\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";
        const P521: &[u8] = b"\x06\x05\x2b\x81\x04\x00\x23";
        let number = |octets: usize| der(0x02, &[&[0], &vec![0xff; octets]]);
        let three = number(1);
        let point = |form: u8, octets: usize| [&[form], &vec![0xff; octets][..]].concat();
        let modulus = der(0x30, &[&number(96), &three]);
        let prime = der(0x30, &[&number(64), &three, &three]);
        let odd = der(0x30, &[&der(0x02, &[b"\x01\xff"]), &three]);
        for (kind, parameters, key, expected) in [
            (RSA, &b"\x05\0"[..], modulus, ("rsa", Some(768))),
            (RSA, b"\x05\0", odd, ("rsa", Some(9))),
            (RSA, b"\x05\0", b"\x30".to_vec(), ("rsa", None)),
            (DSA, &prime, three.clone(), ("dsa", Some(512))),
            (EC, P256, point(4, 64), ("ecdsa", Some(256))),
            (EC, P256, point(3, 32), ("ecdsa", Some(256))),
            (EC, P521, point(2, 66), ("ecdsa", Some(521))),
            (EC, P521, Vec::new(), ("ecdsa", None)),
            (
                b"\x06\x03\x2b\x65\x70",
                b"",
                point(4, 31),
                ("1.3.101.112", None),
            ),
        ] {
            let mut read = Certificate::default();
            let algorithm = der(0x30, &[kind, parameters]);
            let key = der(0x03, &[&[0], &key]);
            read.fill_key(Ber(&[algorithm, key].concat()));
            assert_eq!((&*read.key_type, read.key_bits), expected);
        }
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
            // A type without a name has its value as it is encoded (2.4).
            (b"\x06\x03\x2a\x03\x04", "1.2.3.4=#0c0477656972"),
        ] {
            let attribute = der(0x30, &[kind, b"\x0c\x04weir"]);
            assert_eq!(name_text(Ber(&der(0x31, &[&attribute]))), text);
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
            // A value that is not text is written as it is encoded (RFC 4514, 2.4).
            (0x1e, b"\xd8\x3d", "O=#1e02d83d"),
            (0x1e, b"\0B\0", "O=#1e03004200"),
            (0x1c, b"\0\x11\0\0", "O=#1c0400110000"),
            (0x0c, b"\xff", "O=#0c01ff"),
            (0x04, b"weir", "O=#040477656972"),
        ] {
            assert_eq!(name(tag, value), text, "{tag:#x} {value:?}");
        }
    }
}
