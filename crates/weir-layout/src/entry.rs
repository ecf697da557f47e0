//! The combination of the keys of a field, and the refusal of contradictory ones.

use super::draft::DraftEntry;
use super::draft::EnumValues;
use super::error::{At, Checked, FaultAt};
use super::field::{Meaning, Trim};
use super::number::{BitRange, Number};
use super::source::{Located, Text};
use super::time::Time;
use super::types::Sort;

impl DraftEntry {
    pub(super) fn path(&self, key: &str) -> String {
        format!("{}.{key}", self.element)
    }

    /// The keys that are given, apart from those that every field may have, with their places where
    /// these are known.
    pub(super) fn given(&self) -> impl Iterator<Item = (&'static str, At)> {
        fn text(key: &'static str, text: Option<&Text>) -> Option<(&'static str, At)> {
            text.map(|text| (key, text.at))
        }
        [
            text("type", self.type_name.as_ref()),
            text("at", self.place.as_ref()),
            self.bit.as_ref().map(|bit| ("bit", bit.at)),
            self.bits.as_ref().map(|bits| ("bits", bits.at)),
            self.ranges
                .as_ref()
                .map(|ranges| ("bits", ranges.first().map_or(self.at, |range| range.at))),
            text("of", self.of.as_ref()),
            text("size", self.size.as_ref()),
            self.until.as_ref().map(|until| ("until", until.at)),
            self.enumeration.as_ref().map(|names| match &names.values {
                EnumValues::Named(name) => ("enum", name.at),
                EnumValues::Here(_) => ("enum", self.at),
            }),
            self.equals.as_ref().map(|equals| ("equals", equals.at)),
            self.epoch_s.as_ref().map(|epoch| ("epoch", epoch.at)),
            text("trim", self.trim.as_ref()),
            self.radix.as_ref().map(|radix| ("radix", radix.at)),
            text("value", self.value.as_ref()),
            self.own_order.map(|at| ("byte_order", at)),
        ]
        .into_iter()
        .flatten()
    }

    /// Refuses keys that have no meaning for a field of this sort.
    pub(super) fn only(&self, keys: &[&str], sort: &str) -> Checked<()> {
        let Some((key, at)) = self.given().find(|(key, _)| !keys.contains(key)) else {
            return Ok(());
        };
        let expected = format!("for {sort} only the keys {}", keys.join(", "));
        Err(FaultAt::key(
            at,
            &self.path(key),
            expected,
            format!("`{key}`"),
        ))
    }

    pub(super) fn only_keys_of(&self, sort: Sort) -> Checked<()> {
        if let Some(ranges) = &self.ranges {
            let at = ranges.first().map_or(self.at, |range| range.at);
            let expected = "the key `of` with ranges of bits";
            let fault = FaultAt::missing(at, &self.path("bits"), expected, "none");
            return Err(fault
                .hint("name the word whose bits these are with `of`, or give `bits` as a number"));
        }
        match sort {
            Sort::Integer(..) => self.only(
                &["type", "at", "byte_order", "enum", "equals"],
                "an integer",
            ),
            Sort::Bool => self.only(&["type", "at", "equals", "enum"], "a boolean"),
            Sort::BitNumber(_) => {
                let expected = "the key `bits`, or a type with a width such as u16";
                Err(FaultAt::missing(self.at, &self.element, expected, "none"))
            }
            Sort::Float(_) => self.only(&["type", "at", "byte_order"], "a float"),
            Sort::Address(4) => {
                self.only(&["type", "at", "byte_order", "equals"], "an IPv4 address")
            }
            Sort::Address(_) => self.only(&["type", "at", "equals"], "an address"),
            Sort::Time(_) => self.only(&["type", "at", "byte_order", "size", "epoch"], "a time"),
            Sort::Bytes => self.only(&["type", "at", "size", "until", "equals"], "bytes"),
            Sort::Text(_) => {
                self.only(&["type", "at", "size", "until", "trim", "equals"], "a text")
            }
            Sort::Digits => self.only(
                &["type", "at", "size", "until", "radix", "enum", "equals"],
                "digits",
            ),
        }
    }

    /// A group has a condition and a place; everything else belongs to its fields.
    pub(super) fn only_group_keys(&self) -> Checked<()> {
        let name = self.name.as_ref().map(|name| ("name", name.at));
        let unit = self.unit.as_ref().map(|_| ("unit", self.at));
        let hidden = self.hidden.then_some(("column", self.at));
        let mut given = name
            .into_iter()
            .chain(unit)
            .chain(hidden)
            .chain(self.given());
        let Some((key, at)) = given.find(|(key, _)| !matches!(*key, "at" | "byte_order")) else {
            return Ok(());
        };
        let expected =
            "for a group of fields only the keys when, at, byte_order, bit_order, doc, field";
        Err(FaultAt::key(
            at,
            &self.path(key),
            expected,
            format!("`{key}`"),
        ))
    }

    /// A key that makes no sense without a name.
    pub(super) fn enumeration_or_column(&self) -> Option<&'static str> {
        let unit = self.unit.as_ref().map(|_| "unit");
        let value = self.value.as_ref().map(|_| "value");
        let of = self.of.as_ref().map(|_| "of");
        unit.or(value).or(of)
    }

    /// Reads `3`, `0-5` or `15-10` as bits of a word of `width` bits.
    pub(super) fn part(&self, range: &Text, width: u32) -> Checked<BitRange> {
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|bit| *bit < width);
        let ends = match range.text.split_once('-') {
            Some((one, other)) => number(one).zip(number(other)),
            None => number(&range.text).map(|bit| (bit, bit)),
        };
        let Some((one, other)) = ends else {
            let expected = format!(
                "bits from 0 to {}, such as \"0-5\"",
                width.saturating_sub(1)
            );
            let found = format!("\"{}\"", range.text.chars().take(40).collect::<String>());
            return Err(FaultAt::value(
                range.at,
                &self.path("bits"),
                expected,
                found,
            ));
        };
        let (first, last) = (one.min(other), one.max(other));
        Ok(BitRange {
            shift: if self.least_first {
                first
            } else {
                width - 1 - last
            },
            width: last - first + 1,
        })
    }

    pub(super) fn bit_meaning(&self, number: Number) -> Checked<Meaning> {
        let Some(name) = &self.type_name else {
            return Ok(Meaning::Unsigned(number));
        };
        match Sort::named(name, &self.element)? {
            Sort::BitNumber(false) => Ok(Meaning::Unsigned(number)),
            Sort::BitNumber(true) => Ok(Meaning::Signed(number)),
            Sort::Bool => Ok(Meaning::Bool(number)),
            _ => {
                let expected = "`uint`, `int` or `bool` for bits";
                let found = format!("`{}`", name.text);
                Err(FaultAt::value(name.at, &self.path("type"), expected, found))
            }
        }
    }

    /// Bytes of a time, which `size` may change for those that are one count.
    pub(super) fn time_bytes(&self, sort: Sort, bytes: u8) -> Checked<u8> {
        let (Sort::Time(_), Some(size)) = (sort, &self.size) else {
            return Ok(bytes);
        };
        let name = self
            .type_name
            .as_ref()
            .map_or("", |name| name.text.as_str());
        let counts = ["time_s", "time_ms", "time_us", "time_ns"].contains(&name);
        match size.text.parse::<u8>() {
            Ok(size) if counts && (1..=8).contains(&size) || size == bytes => Ok(size),
            _ => {
                let expected = if counts { "1 to 8 bytes" } else { "8 bytes" };
                let found = size.text.clone();
                Err(FaultAt::value(size.at, &self.path("size"), expected, found))
            }
        }
    }

    pub(super) fn meaning(&self, sort: Sort, bytes: u8) -> Checked<Meaning> {
        let number = Number::whole(bytes, self.little);
        let until = || self.until.as_ref().map(|until| until.value.clone());
        Ok(match sort {
            Sort::Integer(_, false) => Meaning::Unsigned(number),
            Sort::Integer(_, true) => Meaning::Signed(number),
            Sort::BitNumber(_) | Sort::Bool => Meaning::Bool(number),
            Sort::Float(_) => Meaning::Float(number),
            // Addresses are in network order, whatever the order of the numbers around them is.
            Sort::Address(4) if self.little && self.own_order.is_some() => Meaning::Ipv4Reversed,
            Sort::Address(_) => Meaning::Address,
            Sort::Time(_) => {
                let name = self
                    .type_name
                    .as_ref()
                    .map_or("", |name| name.text.as_str());
                let epoch_s = self.epoch_s.as_ref().map_or(0, |epoch| epoch.value);
                let time = Time::named(name, bytes, self.little, epoch_s);
                Meaning::Time(time.ok_or_else(|| {
                    let found = epoch_s.to_string();
                    FaultAt::value(self.at, &self.path("epoch"), "a date closer to 1970", found)
                })?)
            }
            Sort::Bytes => Meaning::Bytes(until()),
            Sort::Text(ascii) => Meaning::Text {
                ascii,
                trim: self.trim()?,
                until: until(),
            },
            Sort::Digits => Meaning::Digits(self.radix()?),
        })
    }

    fn trim(&self) -> Checked<Trim> {
        let Some(trim) = &self.trim else {
            return Ok(Trim::End);
        };
        match trim.text.as_str() {
            "end" => Ok(Trim::End),
            "both" => Ok(Trim::Both),
            "none" => Ok(Trim::Nothing),
            other => {
                let expected = "\"end\", \"both\" or \"none\"";
                let found = format!("\"{other}\"");
                Err(FaultAt::value(trim.at, &self.path("trim"), expected, found)
                    .near(other, ["end", "both", "none"]))
            }
        }
    }

    fn radix(&self) -> Checked<u32> {
        match &self.radix {
            None => Ok(10),
            Some(Located {
                value: value @ (8 | 10 | 16),
                ..
            }) => Ok(u32::try_from(*value).unwrap_or(10)),
            Some(other) => {
                let found = other.value.to_string();
                Err(FaultAt::value(
                    other.at,
                    &self.path("radix"),
                    "8, 10 or 16",
                    found,
                ))
            }
        }
    }
}
