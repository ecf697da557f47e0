//! A log that may be given away: identities are replaced by pseudonyms, and equal ones stay equal.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::forms::text::without_port;
use crate::optional::{Optionals, push_optional};
use crate::record::{Field, Record, present};

/// Replaces users, hosts, addresses, Call-IDs, tags and transactions by keyed pseudonyms: equal values
/// become equal pseudonyms, within a log and between logs with one key. A reader without the key cannot
/// try out which name a pseudonym stands for. Methods, statuses, times, flags and ports stay.
///
/// Names of headers, types of bodies and reason phrases of optional fields stay; their values become pseudonyms, also
/// those in base64, so that nothing of a body or a message is left.
///
/// ```
/// use weir_clf::{Anonymizer, Field, Record};
///
/// let mut anonymizer = Anonymizer::new(b"a secret");
/// let mut record = Record::default();
/// record.set(Field::FromUri, b"sip:alice@example.com:5061");
/// let first = anonymizer.anonymize(&record).field(Field::FromUri).to_vec();
/// assert!(first.starts_with(b"sip:u") && first.ends_with(b".invalid:5061"));
/// assert_eq!(anonymizer.anonymize(&record).field(Field::FromUri), first);
/// ```
#[derive(Debug)]
pub struct Anonymizer {
    key: [u8; 32],
    out: Vec<u8>,
}

/// The kind of a pseudonym; equal texts of two kinds have different pseudonyms, except Call-IDs, which other records
/// quote, and tags.
#[derive(Clone, Copy, Debug)]
enum PseudonymKind {
    User,
    Host,
    Token,
    Value,
}

impl Anonymizer {
    /// Uses a key of any length.
    #[must_use]
    pub fn new(key: &[u8]) -> Self {
        let key = blake3::derive_key("weir-clf 2026-11-22 pseudonyms in SIP logs", key);
        Self {
            key,
            out: Vec::new(),
        }
    }

    /// The record with pseudonyms. It is borrowed from the anonymizer until the next one.
    pub fn anonymize<'a>(&'a mut self, record: &Record<'_>) -> Record<'a> {
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let mut ends = [0; Field::COUNT + 1];
        for (end, field) in ends.iter_mut().zip(Field::ALL) {
            let value = record.field(field);
            match (field, present(value)) {
                (_, None) | (Field::CSeq | Field::Status, _) => out.extend_from_slice(value),
                (Field::RequestUri | Field::ToUri | Field::FromUri, Some(value)) => {
                    self.uri(value, &mut out);
                }
                (Field::Destination | Field::Source, Some(value)) => self.address(value, &mut out),
                (_, Some(value)) => self.name(PseudonymKind::Token, value, &mut out),
            }
            *end = out.len();
        }
        match present(record.user) {
            Some(user) => self.name(PseudonymKind::User, user, &mut out),
            None => out.extend_from_slice(record.user),
        }
        ends[Field::COUNT] = out.len();
        self.optionals(record.optional, &mut out);
        self.out = out;
        let mut anonymized = Record {
            time: record.time,
            flags: record.flags,
            ..Record::default()
        };
        let mut start = 0;
        for (place, end) in ends.into_iter().enumerate() {
            let value = self.out.get(start..end).unwrap_or_default();
            match anonymized.fields.get_mut(place) {
                Some(field) => *field = value,
                None => anonymized.user = value,
            }
            start = end;
        }
        anonymized.optional = Optionals::new(self.out.get(start..).unwrap_or_default());
        anonymized
    }

    /// Sixteen bytes that cannot be computed without the key.
    fn digest(&self, kind: PseudonymKind, value: &[u8]) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&[kind as u8]);
        hasher.update(value);
        let hash = hasher.finalize();
        let mut digest = [0; 16];
        digest.copy_from_slice(&hash.as_bytes()[..16]);
        digest
    }

    fn name(&self, kind: PseudonymKind, value: &[u8], out: &mut Vec<u8>) {
        out.push(match kind {
            PseudonymKind::User => b'u',
            PseudonymKind::Host => b'h',
            PseudonymKind::Token => b't',
            PseudonymKind::Value => b'x',
        });
        for byte in &self.digest(kind, value)[..10] {
            let [.., high, low] = crate::hex::of_u16(u16::from(*byte));
            out.extend_from_slice(&[high.to_ascii_lowercase(), low.to_ascii_lowercase()]);
        }
    }

    /// Writes a URI with its scheme and port, and pseudonyms of user and host; the rest is left out.
    fn uri(&self, uri: &[u8], out: &mut Vec<u8>) {
        let Some(colon) = memchr::memchr(b':', uri) else {
            return self.name(PseudonymKind::Value, uri, out);
        };
        let (scheme, rest) = uri.split_at(colon);
        let known: [&[u8]; 3] = [b"sip", b"sips", b"tel"];
        if !known.iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return self.name(PseudonymKind::Value, uri, out);
        }
        out.extend_from_slice(scheme);
        out.push(b':');
        let rest = rest.get(1..).unwrap_or_default();
        let host = match memchr::memrchr(b'@', rest) {
            _ if scheme.eq_ignore_ascii_case(b"tel") => {
                return self.name(PseudonymKind::User, crate::record::uri_user(uri), out);
            }
            Some(at) => {
                self.name(PseudonymKind::User, crate::record::uri_user(uri), out);
                out.push(b'@');
                rest.get(at.saturating_add(1)..).unwrap_or_default()
            }
            None => rest,
        };
        let end = host
            .iter()
            .position(|byte| matches!(byte, b';' | b'?' | b'>'));
        self.address(
            host.get(..end.unwrap_or(host.len())).unwrap_or_default(),
            out,
        );
    }

    /// Writes the pseudonym of an address, or of a name; the port stays.
    fn address(&self, address: &[u8], out: &mut Vec<u8>) {
        let host = without_port(address);
        let bare = host
            .strip_prefix(b"[")
            .and_then(|host| host.strip_suffix(b"]"))
            .unwrap_or(host);
        let text = std::str::from_utf8(bare).unwrap_or_default();
        if let Ok(four) = text.parse::<Ipv4Addr>() {
            let four = Ipv4Addr::from_bits(self.permute(four.to_bits()));
            out.extend_from_slice(four.to_string().as_bytes());
        } else if let Ok(six) = text.parse::<Ipv6Addr>() {
            let mut octets = self.digest(PseudonymKind::Host, &six.octets());
            // The range of private networks (RFC 4193).
            octets[0] = 0xfd;
            let six = Ipv6Addr::from(octets).to_string();
            let brackets: [&[u8]; 2] = if host.len() == bare.len() {
                [b"", b""]
            } else {
                [b"[", b"]"]
            };
            out.extend_from_slice(&[brackets[0], six.as_bytes(), brackets[1]].concat());
        } else {
            // Host names are case-insensitive.
            self.name(PseudonymKind::Host, &host.to_ascii_lowercase(), out);
            out.extend_from_slice(b".invalid");
        }
        out.extend_from_slice(address.get(host.len()..).unwrap_or_default());
    }

    /// A permutation of all IPv4 addresses, so that two never become one: four rounds of Feistel.
    fn permute(&self, address: u32) -> u32 {
        let (mut left, mut right) = ((address >> 16) as u16, address as u16);
        for round in 0..4_u8 {
            let [high, low] = right.to_be_bytes();
            let digest = self.digest(PseudonymKind::Host, &[b'4', round, high, low]);
            let mixed = left ^ u16::from_be_bytes([digest[0], digest[1]]);
            (left, right) = (right, mixed);
        }
        u32::from(left) << 16 | u32::from(right)
    }

    fn optionals(&self, optional: Optionals<'_>, out: &mut Vec<u8>) {
        for field in optional.iter() {
            let mut pseudonym = Vec::new();
            let prefix: Vec<u8> = match (field.header(), field.tag, field.vendor) {
                (Some((name, value)), ..) => {
                    if name.eq_ignore_ascii_case(b"Reason-Phrase") && !field.base64 {
                        pseudonym.extend_from_slice(value);
                    } else {
                        self.name(PseudonymKind::Value, value, &mut pseudonym);
                    }
                    [name, b": "].concat()
                }
                (None, crate::optional::BODY, 0) => {
                    let space = memchr::memchr(b' ', field.value).unwrap_or(0);
                    let (kind, body) = field.value.split_at(space);
                    self.name(PseudonymKind::Value, body, &mut pseudonym);
                    // A type may have parameters, whose values may be anything.
                    let end = memchr::memchr(b';', kind).unwrap_or(kind.len());
                    [kind.get(..end).unwrap_or_default(), b" "].concat()
                }
                _ => {
                    self.name(PseudonymKind::Value, field.value, &mut pseudonym);
                    Vec::new()
                }
            };
            push_optional(field.tag, field.vendor, &prefix, &pseudonym, out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_names_a_person_is_left_and_equality_is() {
        let mut optional = Vec::new();
        push_optional(0, 0, b"Contact: ", b"<sip:alice@10.1.2.3>", &mut optional);
        push_optional(0, 0, b"Reason-Phrase: ", b"Ringing", &mut optional);
        push_optional(
            1,
            0,
            b"text/plain;name=alice ",
            b"alice\twas here",
            &mut optional,
        );
        push_optional(2, 0, b"", b"INVITE sip:alice@10.1.2.3", &mut optional);
        push_optional(7, 32473, b"", b"alice", &mut optional);
        let mut record = Record {
            user: b"alice",
            optional: Optionals::new(&optional),
            ..Record::default()
        };
        for (field, value) in Field::ALL.into_iter().zip([
            "1 INVITE",
            "-",
            "sip:alice:secret@10.1.2.3;user=phone?x=alice",
            "10.1.2.3:5060",
            "[2001:db8::9]:5061",
            "tel:+4930alice",
            "alice",
            "sips:alice@Alice.Example.com",
            "-",
            "alice@10.1.2.3",
            "alice",
            "?",
        ]) {
            record.set(field, value.as_bytes());
        }
        let mut anonymizer = Anonymizer::new(b"key");
        let first = crate::Encoder::new(crate::Form::Json);
        let written = |anonymizer: &mut Anonymizer, record: &Record<'_>| {
            let mut encoder = crate::Encoder::new(crate::Form::Json);
            encoder.push(&anonymizer.anonymize(record));
            String::from_utf8(encoder.bytes().to_vec()).unwrap()
        };
        assert!(first.bytes().is_empty());
        let text = written(&mut anonymizer, &record);
        for secret in [
            "alice", "lice", "10.1.2.3", "2001:db8", "4930", "YWxpY2", "secret",
        ] {
            assert!(
                !text
                    .to_ascii_lowercase()
                    .contains(&secret.to_ascii_lowercase()),
                "{secret}: {text}"
            );
        }
        assert!(text.contains("Reason-Phrase: Ringing") && text.contains("Contact: x"));
        assert!(text.contains("]:5061") && text.contains("text/plain x"));
        assert_eq!(written(&mut anonymizer, &record), text);
        assert_ne!(written(&mut Anonymizer::new(b"other"), &record), text);
        // Absent fields stay absent.
        let after = anonymizer.anonymize(&record);
        assert_eq!(
            (after.field(Field::FromTag), after.field(Field::ClientTxn)),
            (&b"-"[..], &b"?"[..])
        );
        assert_eq!(after.field(Field::ToTag), after.field(Field::ServerTxn));
    }

    #[test]
    fn addresses_are_permuted() {
        let anonymizer = Anonymizer::new(b"key");
        let mut seen = std::collections::HashSet::new();
        for address in 0..20_000_u32 {
            assert!(seen.insert(anonymizer.permute(address.wrapping_mul(214_013))));
        }
    }
}
