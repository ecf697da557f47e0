//! Search queries.

use std::net::IpAddr;
use std::ops::RangeInclusive;

use regex::bytes::Regex;

use crate::forms::escape::push_clean;
use crate::index::block::Zone;
use crate::index::mark::{IndexKey, hash, method_bit, status_bit, uri_key};
use crate::record::{Field, Record, Time, literal, present, uri_user};

/// Conditions that all have to hold, and a range of time.
#[derive(Clone, Debug, Default)]
pub struct Query {
    conditions: Vec<Condition>,
    since: Option<Time>,
    until: Option<Time>,
}

/// One condition.
#[derive(Clone, Debug)]
pub struct Condition {
    target: Target,
    test: Test,
    /// The searched values that are addresses, which can be written in many ways, with their ports.
    addresses: Vec<(IpAddr, Option<u16>)>,
}

/// The subject of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// One of the mandatory fields.
    Field(Field),
    /// The URI of From, or the URI's user.
    From,
    /// The URI of To, or the URI's user.
    To,
    /// The user of From or of To, or the authenticated one.
    User,
    /// The method.
    Method,
    /// The source or the destination, with its port or without. An address is found in every notation (RFC 4291, 2.2),
    /// in brackets or without them; an IPv4 address also as its IPv4-mapped IPv6 address (2.5.5.2), and the other way
    /// round.
    Address,
    /// The server or the client transaction.
    Transaction,
    /// The text of the whole record.
    Text,
}

/// The comparison of a value. Bytes are compared, so that case matters.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Test {
    /// The whole value; anywhere in the record for [`Target::Text`].
    Exact(Vec<u8>),
    /// Any of several whole values.
    AnyOf(Vec<Vec<u8>>),
    /// The value's beginning.
    Prefix(Vec<u8>),
    /// A regular expression that matches anywhere in the value.
    Regex(Regex),
}

impl Test {
    fn holds(&self, value: &[u8]) -> bool {
        match self {
            Self::Exact(wanted) => wanted == value,
            Self::AnyOf(wanted) => wanted.iter().any(|wanted| wanted == value),
            Self::Prefix(wanted) => value.starts_with(wanted),
            Self::Regex(regex) => regex.is_match(value),
        }
    }
}

impl Condition {
    /// Creates a condition on `target`. Values are those of the message; they are escaped as the log escapes them.
    #[must_use]
    pub fn new(target: Target, test: Test) -> Self {
        let clean = |value: &[u8]| {
            let mut out = Vec::new();
            push_clean(literal(value), &mut out);
            out
        };
        let test = match test {
            Test::Exact(value) if target != Target::Text => Test::Exact(clean(&value)),
            Test::AnyOf(values) => Test::AnyOf(values.iter().map(|value| clean(value)).collect()),
            Test::Prefix(value) if !value.is_empty() => {
                let mut out = Vec::new();
                push_clean(&value, &mut out);
                Test::Prefix(out)
            }
            test => test,
        };
        let values = whole_values(&test).unwrap_or_default();
        let addresses = match target {
            Target::Address => values.iter().filter_map(|value| address(value)).collect(),
            _ => Vec::new(),
        };
        Self {
            target,
            test,
            addresses,
        }
    }

    fn holds(&self, record: &Record<'_>, written: &[u8]) -> bool {
        let test = |value: &[u8]| present(value).is_some_and(|value| self.test.holds(value));
        match self.target {
            Target::Field(field) => test(record.field(field)),
            Target::From => self.uri_holds(record.field(Field::FromUri)),
            Target::To => self.uri_holds(record.field(Field::ToUri)),
            Target::User => {
                test(uri_user(record.field(Field::FromUri)))
                    || test(uri_user(record.field(Field::ToUri)))
                    || test(record.user)
            }
            Target::Method => record.method().is_some_and(test),
            Target::Address => [Field::Source, Field::Destination]
                .into_iter()
                .any(|field| {
                    let address = record.field(field);
                    let host = crate::forms::text::without_port(address);
                    let bare = host
                        .strip_prefix(b"[")
                        .and_then(|host| host.strip_suffix(b"]"));
                    test(address)
                        || test(host)
                        || bare.is_some_and(test)
                        || self.is_address(address)
                }),
            Target::Transaction => {
                test(record.field(Field::ServerTxn)) || test(record.field(Field::ClientTxn))
            }
            Target::Text => match &self.test {
                Test::Exact(text) => memchr::memmem::find(written, text).is_some(),
                test => test.holds(written),
            },
        }
    }

    /// Returns whether an address is one of those that are searched for, in any notation.
    fn is_address(&self, written: &[u8]) -> bool {
        if self.addresses.is_empty() {
            return false;
        }
        address(written).is_some_and(|(found, found_port)| {
            let mut wanted = self.addresses.iter();
            wanted
                .any(|(address, port)| *address == found && (port.is_none() || *port == found_port))
        })
    }

    fn uri_holds(&self, uri: &[u8]) -> bool {
        present(uri).is_some_and(|uri| self.test.holds(uri) || self.test.holds(uri_user(uri)))
    }

    /// The values of which one has to be present, if the test is of such a kind.
    fn values(&self) -> Option<&[Vec<u8>]> {
        whole_values(&self.test)
    }

    /// The keys of the values in the index, if it has them.
    fn keys(&self) -> Option<Vec<(IndexKey, u32)>> {
        let keys: &[IndexKey] = match self.target {
            Target::Field(Field::CallId) => &[IndexKey::CallId],
            Target::From | Target::Field(Field::FromUri) => &[IndexKey::From],
            Target::To | Target::Field(Field::ToUri) => &[IndexKey::To],
            _ => return None,
        };
        let values = self.values()?;
        let uri = self.target != Target::Field(Field::CallId);
        let pairs = values.iter().flat_map(|value| {
            let whole = if uri { uri_key(value) } else { value };
            keys.iter().map(move |&key| (key, hash(whole)))
        });
        Some(pairs.collect())
    }

    /// An expression that matches in every record for which the condition holds.
    fn needles(&self) -> Option<Regex> {
        match (self.values(), &self.addresses[..]) {
            // The address has dots, or is the IPv4-mapped IPv6 address, which may have none.
            (Some([_]), [(IpAddr::V4(address), _)]) => {
                let dotted = regex::escape(&address.to_string());
                Regex::new(&format!("{dotted}|(?i-u:ffff)")).ok()
            }
            _ => None,
        }
    }

    /// Bytes that are present in every record for which the condition holds.
    fn needle(&self) -> Option<Vec<u8>> {
        // The record may have the address in another notation.
        if !self.addresses.is_empty() {
            return None;
        }
        let between = |before: &[u8], value: &[u8], after: &[u8]| [before, value, after].concat();
        let whole_field = !matches!(
            self.target,
            Target::Text | Target::From | Target::To | Target::User | Target::Address
        );
        match (&self.test, self.target) {
            (Test::Exact(value), Target::Method) => Some(between(b" ", value, b"\t")),
            (Test::Exact(value), Target::Field(Field::ClientTxn) | Target::Transaction) => {
                Some(between(b"\t", value, b""))
            }
            (Test::Exact(value), _) if whole_field => Some(between(b"\t", value, b"\t")),
            (Test::Prefix(value), Target::Method) => Some(between(b" ", value, b"")),
            (Test::Prefix(value), _) if whole_field => Some(between(b"\t", value, b"")),
            (Test::Prefix(value), Target::Text) => Some(value.clone()),
            (Test::Exact(value) | Test::Prefix(value), _) => Some(value.clone()),
            (Test::AnyOf(values), _) => match &values[..] {
                [value] => Some(value.clone()),
                _ => None,
            },
            (Test::Regex(_), _) => None,
        }
    }

    fn may_be_in(&self, zone: &Zone) -> bool {
        let Some(values) = self.values() else {
            return true;
        };
        match self.target {
            Target::Method => values
                .iter()
                .any(|value| zone.methods & method_bit(Some(value)) != 0),
            Target::Field(Field::Status) => values.iter().any(|value| {
                let status = std::str::from_utf8(value)
                    .ok()
                    .and_then(|value| value.parse().ok());
                status.is_none_or(|status| zone.statuses & status_bit(Some(status)) != 0)
            }),
            _ => true,
        }
    }
}

/// The values of which one has to be present, if a test is of such a kind.
fn whole_values(test: &Test) -> Option<&[Vec<u8>]> {
    match test {
        Test::Exact(value) => Some(std::slice::from_ref(value)),
        Test::AnyOf(values) => Some(values),
        _ => None,
    }
}

/// The bytes that find records which may match.
#[derive(Debug)]
pub(crate) enum Needle {
    /// Each such record has these bytes.
    Bytes(Vec<u8>),
    /// Each such record has one or the other.
    OneOf(Regex),
}

/// Parses an address with its port: `192.0.2.1:5060`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:5060`. An
/// IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2) becomes the IPv4 address.
fn address(written: &[u8]) -> Option<(IpAddr, Option<u16>)> {
    let host = crate::forms::text::without_port(written);
    let port = written.get(host.len() + 1..).and_then(|port| {
        let port = std::str::from_utf8(port).ok()?;
        port.parse().ok()
    });
    let bare = host
        .strip_prefix(b"[")
        .and_then(|host| host.strip_suffix(b"]"));
    let address = std::str::from_utf8(bare.unwrap_or(host)).ok()?;
    let address: IpAddr = address.parse().ok()?;
    Some((address.to_canonical(), port))
}

impl Query {
    /// Creates a query that every record matches.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds `condition`.
    #[must_use]
    pub fn and(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Limits the query to records of this time or later.
    #[must_use]
    pub fn since(mut self, time: Time) -> Self {
        self.since = Some(self.since.map_or(time, |since| since.max(time)));
        self
    }

    /// Limits the query to records of this time or earlier.
    #[must_use]
    pub fn until(mut self, time: Time) -> Self {
        self.until = Some(self.until.map_or(time, |until| until.min(time)));
        self
    }

    /// Returns whether a record matches. `written` are its bytes, for free text.
    #[must_use]
    pub fn matches(&self, record: &Record<'_>, written: &[u8]) -> bool {
        self.since.is_none_or(|since| record.time >= since)
            && self.until.is_none_or(|until| record.time <= until)
            && self
                .conditions
                .iter()
                .all(|condition| condition.holds(record, written))
    }

    /// The keys of the condition that the index answers best.
    pub(crate) fn keys(&self) -> Option<Vec<(IndexKey, u32)>> {
        let indexed = self.conditions.iter().filter_map(Condition::keys);
        indexed.min_by_key(|keys| {
            let first = keys.first().map_or(IndexKey::To, |(key, _)| *key);
            (first as usize, keys.len())
        })
    }

    /// A field and the value that it has in every matching record.
    pub(crate) fn field(&self) -> Option<(Field, &[u8])> {
        self.conditions
            .iter()
            .find_map(|condition| match (condition.target, &condition.test) {
                (Target::Field(field), Test::Exact(value)) => Some((field, &value[..])),
                _ => None,
            })
    }

    /// The longest bytes that every matching record has, or several of which it has one.
    pub(crate) fn needle(&self) -> Option<Needle> {
        let needles = self.conditions.iter().filter_map(Condition::needle);
        // Shorter needles are found more often.
        let longest = needles
            .filter(|needle| needle.len() >= 4)
            .max_by_key(Vec::len);
        longest.map(Needle::Bytes).or_else(|| {
            let several = self.conditions.iter().find_map(Condition::needles);
            several.map(Needle::OneOf)
        })
    }

    /// Returns whether a zone can hold matching records.
    pub(crate) fn may_be_in(&self, zone: &Zone) -> bool {
        let range: RangeInclusive<u64> = zone.time_min..=zone.time_max;
        self.since
            .is_none_or(|since| *range.end() >= since.as_milliseconds())
            && self
                .until
                .is_none_or(|until| *range.start() <= until.as_milliseconds())
            && self
                .conditions
                .iter()
                .all(|condition| condition.may_be_in(zone))
    }
}
