//! The types of fields: from a field as it is written to its bytes, its meaning and its column.

use super::compile::Compiler;
use super::decode::{Size, Step};
use super::draft::{self, Entry, EnumUse, EnumValues};
use super::error::{At, Checked, ErrorKind, Fault};
use super::expression::Expr;
use super::field::{Equals, Field, Meaning, NONE, Place, Trim};
use super::number::{self, Number, Part};
use super::source::{Located, Scalar, Text};
use super::time::{self, Time};
use super::{Layout, Output};
use crate::Kind;

/// Sorts of types that share their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// Whole numbers of this many bytes, signed or not.
    Integer(u8, bool),
    /// `uint` and `int`, for bit fields; true for signed.
    BitNumber(bool),
    Bool,
    Float(u8),
    /// Bytes of an address.
    Address(u8),
    /// Bytes, when `size` does not say otherwise.
    Time(u8),
    Bytes,
    /// True for ASCII only.
    Text(bool),
    Digits,
}

/// Every type, and how wide it is. Times are in [`time::NAMES`].
const TYPES: &[(&str, Sort)] = &[
    ("u8", Sort::Integer(1, false)),
    ("u16", Sort::Integer(2, false)),
    ("u24", Sort::Integer(3, false)),
    ("u32", Sort::Integer(4, false)),
    ("u40", Sort::Integer(5, false)),
    ("u48", Sort::Integer(6, false)),
    ("u56", Sort::Integer(7, false)),
    ("u64", Sort::Integer(8, false)),
    ("i8", Sort::Integer(1, true)),
    ("i16", Sort::Integer(2, true)),
    ("i24", Sort::Integer(3, true)),
    ("i32", Sort::Integer(4, true)),
    ("i40", Sort::Integer(5, true)),
    ("i48", Sort::Integer(6, true)),
    ("i56", Sort::Integer(7, true)),
    ("i64", Sort::Integer(8, true)),
    ("uint", Sort::BitNumber(false)),
    ("int", Sort::BitNumber(true)),
    ("bool", Sort::Bool),
    ("f32", Sort::Float(4)),
    ("f64", Sort::Float(8)),
    ("bytes", Sort::Bytes),
    ("ascii", Sort::Text(true)),
    ("utf8", Sort::Text(false)),
    ("decimal", Sort::Digits),
    ("ipv4", Sort::Address(4)),
    ("mac", Sort::Address(6)),
    ("eui64", Sort::Address(8)),
    ("ipv6", Sort::Address(16)),
];

/// The name of every type.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let names = TYPES.iter().map(|(name, _)| *name);
    names.chain(time::NAMES.iter().map(|(name, _)| *name))
}

impl Sort {
    fn named(name: &Text, element: &str) -> Checked<Self> {
        if let Some((_, sort)) = TYPES.iter().find(|(known, _)| *known == name.text) {
            return Ok(*sort);
        }
        if let Some((_, bytes)) = time::NAMES.iter().find(|(known, _)| *known == name.text) {
            return Ok(Self::Time(*bytes));
        }
        let element = format!("{element}.type");
        let found = format!("`{}`", name.text);
        let fault = Fault::new(
            ErrorKind::Name,
            name.at,
            &element,
            "the name of a type",
            found,
        );
        Err(match name.text.as_str() {
            "text" | "string" | "str" | "char" => fault.hint("texts are `ascii` or `utf8`"),
            "float" => fault.hint("did you mean `f32`?"),
            "double" => fault.hint("did you mean `f64`?"),
            "time" | "timestamp" => {
                fault.hint("times are `time_s`, `time_s_us`, `time_ns`, `time_32_32` and the like")
            }
            "ip" => fault.hint("addresses are `ipv4`, `ipv6`, `mac` and `eui64`"),
            _ => fault.near(&name.text, names()),
        })
    }

    /// Bytes of the type when it says so itself.
    fn bytes(self) -> Option<u8> {
        match self {
            Self::Integer(bytes, _)
            | Self::Float(bytes)
            | Self::Address(bytes)
            | Self::Time(bytes) => Some(bytes),
            Self::Bool => Some(1),
            Self::BitNumber(_) | Self::Bytes | Self::Text(_) | Self::Digits => None,
        }
    }
}

impl Compiler {
    /// Gives a field its place, its meaning and its column.
    pub(super) fn place_field(&mut self, entry: Entry) -> Checked<()> {
        let index = u16::try_from(self.layout.fields.len()).unwrap_or(NONE);
        self.origins.push((entry.at, entry.element.clone()));
        let mut group = self.group;
        let (meaning, place) = if let Some(value) = &entry.value {
            entry.only(&["value", "enum"], "a computed field")?;
            let value = self.expression(value, &entry.path("value"))?;
            let slot = self.new_slot();
            self.layout.steps.push(Step::Compute {
                field: index,
                slot,
                value,
            });
            (Meaning::Computed, Place::Slot(slot))
        } else if let Some(of) = &entry.of {
            entry.only(
                &["of", "bits", "type", "bit_order", "enum", "equals"],
                "a field of another's bits",
            )?;
            let parent = self.parent(of, &entry)?;
            let (place, parent_group) = parent.1;
            group = self.joint_group(parent_group, of, &entry)?;
            (entry.bit_meaning(parent.0)?, place)
        } else if let Some(bits) = &entry.bits {
            entry.only(
                &["bits", "bit", "at", "type", "bit_order", "enum", "equals"],
                "a bit field",
            )?;
            let width = u32::try_from(bits.value).unwrap_or(64);
            let (place, first) = self.place_bits(&entry, index, width)?;
            (
                entry.bit_meaning(Number::bits(first, width, entry.least_first))?,
                place,
            )
        } else {
            self.place_whole(&entry, index)?
        };
        let ready = match place {
            Place::Fixed { .. } if group == NONE => 0,
            _ => u16::try_from(self.layout.steps.len()).unwrap_or(u16::MAX),
        };
        self.layout.fields.push(Field {
            name: entry
                .name
                .as_ref()
                .map_or("", |name| name.text.as_str())
                .into(),
            meaning,
            place,
            group,
            ready,
            equals: None,
            enumeration: NONE,
        });
        self.finish_field(entry, index)
    }

    /// Name, enumeration, required value and column of the field just placed.
    fn finish_field(&mut self, mut entry: Entry, index: u16) -> Checked<()> {
        let enumeration = entry.enumeration.take();
        let as_text = enumeration.as_ref().is_some_and(|names| names.as_text);
        let enumeration = match enumeration {
            Some(names) => Some(self.enumeration(names, &entry, index)?),
            None => None,
        };
        if let Some(equals) = &entry.equals {
            let field = self.layout.fields.get(usize::from(index));
            let equals = field
                .map(|field| required(field, equals, &entry))
                .transpose()?;
            if let Some(field) = self.layout.fields.get_mut(usize::from(index)) {
                field.equals = equals;
                // Those at a fixed place of every record are checked when it is cut out.
                if field.fixed_end() == 0 {
                    self.layout.steps.push(Step::Check(index));
                }
            }
        }
        let Some(name) = entry.name.take() else {
            return match entry.enumeration_or_column() {
                Some(key) => {
                    let expected = format!("a name, as `{key}` is given");
                    Err(Fault::new(
                        ErrorKind::Missing,
                        entry.at,
                        &entry.element,
                        expected,
                        "none",
                    ))
                }
                None => Ok(()),
            };
        };
        self.enter(&name, &entry.element, index)?;
        if entry.hidden {
            return Ok(());
        }
        let kind = match self.layout.fields.get(usize::from(index)) {
            Some(field) => field.meaning.kind(),
            None => return Ok(()),
        };
        let (doc, unit) = (entry.doc.unwrap_or_default(), entry.unit);
        let names = |enumeration| Output::Name {
            field: index,
            enumeration,
        };
        match enumeration {
            Some(enumeration) if as_text => {
                self.add_column(&name.text, Kind::Text, &doc, unit, names(enumeration));
            }
            Some(enumeration) => {
                self.add_column(&name.text, kind, &doc, unit, Output::Field(index));
                let extra = format!("{}_name", name.text);
                self.enter_extra(extra.clone(), name.at, &entry.element)?;
                let doc = format!("Name of {}", name.text);
                self.add_column(&extra, Kind::Text, &doc, None, names(enumeration));
            }
            None => self.add_column(&name.text, kind, &doc, unit, Output::Field(index)),
        }
        Ok(())
    }

    fn enumeration(&mut self, names: EnumUse, entry: &Entry, index: u16) -> Checked<u16> {
        let integer = self
            .layout
            .fields
            .get(usize::from(index))
            .is_some_and(|field| field.meaning.is_integer());
        if !integer {
            let expected = "an enum only for integers and bits";
            let found = "a field of another type";
            return Err(Fault::new(
                ErrorKind::Key,
                entry.at,
                &entry.path("enum"),
                expected,
                found,
            ));
        }
        let enumeration = match names.values {
            EnumValues::Here(values) => self.add_enum(values.names)?,
            EnumValues::Named(name) => *self.named_enums.get(&name.text).ok_or_else(|| {
                let found = format!("`{}`", name.text);
                let expected = "the name of a table under [enum]";
                Fault::new(
                    ErrorKind::Name,
                    name.at,
                    &entry.path("enum"),
                    expected,
                    found,
                )
                .near(&name.text, self.named_enums.keys().map(String::as_str))
            })?,
        };
        if let Some(field) = self.layout.fields.get_mut(usize::from(index)) {
            field.enumeration = enumeration;
        }
        Ok(enumeration)
    }

    /// Bits of an earlier field: the number that they make, and where that field lies.
    fn parent(&self, of: &Text, entry: &Entry) -> Checked<(Number, (Place, u16))> {
        let index = self.lookup(of, &entry.path("of"))?;
        let fault = |expected: &str, found: &str| {
            let found = format!("`{}`, which is {found}", of.text);
            Fault::new(ErrorKind::Value, of.at, &entry.path("of"), expected, found)
        };
        let expected = "an integer field";
        let Some(field) = self.layout.fields.get(usize::from(index)) else {
            return Err(fault(expected, "none"));
        };
        let (Meaning::Unsigned(word) | Meaning::Signed(word) | Meaning::Bool(word)) =
            &field.meaning
        else {
            return Err(fault(expected, "of another type"));
        };
        let Some(ranges) = &entry.ranges else {
            let expected = "the key `bits` with ranges such as \"0-5\"";
            let found = if entry.bits.is_some() {
                "a number of bits"
            } else {
                "none"
            };
            let at = entry.bits.as_ref().map_or(entry.at, |bits| bits.at);
            return Err(Fault::new(
                ErrorKind::Missing,
                at,
                &entry.path("bits"),
                expected,
                found,
            ));
        };
        let parts = ranges.iter().map(|range| entry.part(range, word.width()));
        let parts = parts.collect::<Checked<Vec<_>>>()?;
        let number = word.parts(&parts).ok_or_else(|| {
            fault(
                "ranges of at most 64 bits, of a field that is not itself joined",
                "joined or too short",
            )
        })?;
        Ok((number, (field.place, field.group)))
    }

    /// The group that a field of another's bits belongs to: both must be present.
    fn joint_group(&self, parent: u16, of: &Text, entry: &Entry) -> Checked<u16> {
        if self.implies(self.group, parent) {
            Ok(self.group)
        } else if self.group == NONE {
            Ok(parent)
        } else {
            let expected = "a field that is present whenever this one is";
            let found = format!("`{}`, which has another condition", of.text);
            Err(Fault::new(
                ErrorKind::Place,
                of.at,
                &entry.path("of"),
                expected,
                found,
            ))
        }
    }

    fn place_bits(&mut self, entry: &Entry, index: u16, width: u32) -> Checked<(Place, u32)> {
        if let Some(place) = &entry.place {
            let bit = entry.bit.as_ref().map_or(0, |bit| bit.value);
            self.seek(
                place,
                u32::try_from(bit).unwrap_or(0),
                &entry.element,
                index,
            )?;
        } else if let Some(bit) = &entry.bit {
            let expected = "the key `at` beside it";
            return Err(Fault::new(
                ErrorKind::Missing,
                bit.at,
                &entry.path("bit"),
                expected,
                "none",
            ));
        } else if self.least_first != entry.least_first && self.is_within_byte() {
            let expected = "the bit order of the bits before it in the same byte";
            let found = "the other one";
            return Err(Fault::new(
                ErrorKind::Place,
                entry.at,
                &entry.element,
                expected,
                found,
            ));
        }
        self.least_first = entry.least_first;
        self.take(index, u64::from(width))
    }

    /// A field of whole bytes.
    fn place_whole(&mut self, entry: &Entry, index: u16) -> Checked<(Meaning, Place)> {
        let sort = match &entry.type_name {
            Some(name) => Sort::named(name, &entry.element)?,
            None if entry.size.is_some() || entry.until.is_some() => Sort::Bytes,
            None => {
                let expected = "a `type`, or `bits`, `of`, `size`, `value` or inner fields";
                return Err(Fault::new(
                    ErrorKind::Missing,
                    entry.at,
                    &entry.element,
                    expected,
                    "none",
                ));
            }
        };
        entry.only_keys_of(sort)?;
        if let Some(place) = &entry.place {
            self.seek(place, 0, &entry.element, index)?;
        }
        self.whole_byte(&entry.element, entry.at)?;
        if let Some(bytes) = sort.bytes() {
            let bytes = entry.time_bytes(sort, bytes)?;
            let (place, _) = self.take(index, u64::from(bytes) * 8)?;
            return Ok((entry.meaning(sort, bytes)?, place));
        }
        let meaning = entry.meaning(sort, 0)?;
        let Some(size) = &entry.size else {
            let Some(until) = &entry.until else {
                let expected = "a `size` or the bytes that end it, `until`";
                return Err(Fault::new(
                    ErrorKind::Missing,
                    entry.at,
                    &entry.element,
                    expected,
                    "none",
                ));
            };
            let place = self.take_open(index, Size::Until(until.value.clone()));
            return Ok((meaning.without_until(), place));
        };
        if size.text == "rest" {
            return Ok((meaning, self.take_open(index, Size::Rest)));
        }
        let path = entry.path("size");
        match self.expression(size, &path)? {
            Expr::Const(bytes) => {
                let most = Layout::RECORD_LEN_MAX as u64;
                let bytes = u64::try_from(bytes)
                    .ok()
                    .filter(|bytes| (1..=most).contains(bytes));
                let bytes = bytes.ok_or_else(|| {
                    let expected = format!("a size from 1 to {most}");
                    let found = size.text.clone();
                    Fault::new(ErrorKind::Value, size.at, &path, expected, found)
                })?;
                let (place, _) = self.take(index, bytes * 8)?;
                Ok((meaning, place))
            }
            size => Ok((meaning, self.take_open(index, Size::Computed(size)))),
        }
    }
}

impl Entry {
    pub(super) fn path(&self, key: &str) -> String {
        format!("{}.{key}", self.element)
    }

    /// The keys that are given, apart from those that every field may have, with their places where
    /// these are known.
    fn given(&self) -> impl Iterator<Item = (&'static str, At)> {
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

    /// Refuses keys that say nothing about a field of this sort, so that no slip goes unnoticed.
    fn only(&self, keys: &[&str], sort: &str) -> Checked<()> {
        let Some((key, at)) = self.given().find(|(key, _)| !keys.contains(key)) else {
            return Ok(());
        };
        let expected = format!("for {sort} only the keys {}", keys.join(", "));
        Err(Fault::new(
            ErrorKind::Key,
            at,
            &self.path(key),
            expected,
            format!("`{key}`"),
        ))
    }

    fn only_keys_of(&self, sort: Sort) -> Checked<()> {
        if let Some(ranges) = &self.ranges {
            let at = ranges.first().map_or(self.at, |range| range.at);
            let expected = "the key `of` beside ranges of bits";
            let fault = Fault::new(ErrorKind::Missing, at, &self.path("bits"), expected, "none");
            return Err(fault
                .hint("name the word whose bits these are with `of`, or give `bits` as a number"));
        }
        match sort {
            Sort::Integer(..) => self.only(
                &["type", "at", "byte_order", "enum", "equals"],
                "an integer",
            ),
            Sort::Bool => self.only(&["type", "at", "equals", "enum"], "a truth value"),
            Sort::BitNumber(_) => {
                let expected = "the key `bits`, or a type with a width such as u16";
                Err(Fault::new(
                    ErrorKind::Missing,
                    self.at,
                    &self.element,
                    expected,
                    "none",
                ))
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
        Err(Fault::new(
            ErrorKind::Key,
            at,
            &self.path(key),
            expected,
            format!("`{key}`"),
        ))
    }

    /// A key that makes no sense without a name.
    fn enumeration_or_column(&self) -> Option<&'static str> {
        let unit = self.unit.as_ref().map(|_| "unit");
        let value = self.value.as_ref().map(|_| "value");
        let of = self.of.as_ref().map(|_| "of");
        unit.or(value).or(of)
    }

    /// Reads `3`, `0-5` or `15-10` as bits of a word of `width` bits.
    fn part(&self, range: &Text, width: u32) -> Checked<Part> {
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
            return Err(Fault::new(
                ErrorKind::Value,
                range.at,
                &self.path("bits"),
                expected,
                found,
            ));
        };
        let (first, last) = (one.min(other), one.max(other));
        Ok(Part {
            shift: if self.least_first {
                first
            } else {
                width - 1 - last
            },
            width: last - first + 1,
        })
    }

    fn bit_meaning(&self, number: Number) -> Checked<Meaning> {
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
                Err(Fault::new(
                    ErrorKind::Value,
                    name.at,
                    &self.path("type"),
                    expected,
                    found,
                ))
            }
        }
    }

    /// Bytes of a time, which `size` may change for those that are one count.
    fn time_bytes(&self, sort: Sort, bytes: u8) -> Checked<u8> {
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
                Err(Fault::new(
                    ErrorKind::Value,
                    size.at,
                    &self.path("size"),
                    expected,
                    found,
                ))
            }
        }
    }

    fn meaning(&self, sort: Sort, bytes: u8) -> Checked<Meaning> {
        let number = Number::whole(bytes, self.little);
        let until = || self.until.as_ref().map(|until| until.value.clone());
        Ok(match sort {
            Sort::Integer(_, false) => Meaning::Unsigned(number),
            Sort::Integer(_, true) => Meaning::Signed(number),
            Sort::BitNumber(_) | Sort::Bool => Meaning::Bool(number),
            Sort::Float(_) => Meaning::Float(number),
            // Addresses are in network order, whatever the order of the numbers around them.
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
                    Fault::new(
                        ErrorKind::Value,
                        self.at,
                        &self.path("epoch"),
                        "a nearer date",
                        found,
                    )
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
                Err(Fault::new(
                    ErrorKind::Value,
                    trim.at,
                    &self.path("trim"),
                    expected,
                    found,
                )
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
                Err(Fault::new(
                    ErrorKind::Value,
                    other.at,
                    &self.path("radix"),
                    "8, 10 or 16",
                    found,
                ))
            }
        }
    }
}

/// The value that `equals` asks of a field, checked against its type and width.
fn required(field: &Field, equals: &Located<Scalar>, entry: &Entry) -> Checked<Equals> {
    let fault = |expected: String, found: String| {
        Fault::new(
            ErrorKind::Value,
            equals.at,
            &entry.path("equals"),
            expected,
            found,
        )
    };
    let bytes = match (&equals.value, &field.meaning) {
        (Scalar::Integer(value), Meaning::Unsigned(number) | Meaning::Bool(number)) => {
            let width = number.width();
            let fits = u64::try_from(*value)
                .ok()
                .filter(|value| *value <= number::mask(width));
            return fits
                .map(Equals::Number)
                .ok_or_else(|| fault(format!("a number of {width} bits"), value.to_string()));
        }
        (Scalar::Integer(value), Meaning::Signed(_) | Meaning::Digits(_)) => {
            let width = match &field.meaning {
                Meaning::Signed(number) => number.width(),
                _ => 64,
            };
            let reach = 1_i128 << (width - 1);
            let fits = i64::try_from(*value)
                .ok()
                .filter(|_| (-reach..reach).contains(value));
            return fits
                .map(|value| Equals::Number(value.cast_unsigned()))
                .ok_or_else(|| {
                    fault(
                        format!("a signed number of {width} bits"),
                        value.to_string(),
                    )
                });
        }
        (Scalar::Text(text), Meaning::Bytes(_) | Meaning::Text { .. } | Meaning::Address) => {
            draft::literal(&text.text)
        }
        _ => None,
    };
    let expected = "a value of the field's type: a number, or bytes as text or after 0x as digits";
    let Some(bytes) = bytes else {
        return Err(fault(expected.to_owned(), "something else".to_owned()));
    };
    match field.place {
        Place::Fixed { len, .. } if len as usize != bytes.len() => Err(fault(
            format!("{len} bytes, the size of the field"),
            format!("{} bytes", bytes.len()),
        )),
        _ => Ok(Equals::Bytes(bytes)),
    }
}

impl Meaning {
    /// The type of the column.
    fn kind(&self) -> Kind {
        match self {
            Self::Unsigned(number) => match number.width() {
                0..=8 => Kind::U8,
                9..=16 => Kind::U16,
                17..=32 => Kind::U32,
                _ => Kind::U64,
            },
            Self::Signed(_) | Self::Digits(_) | Self::Computed => Kind::I64,
            Self::Bool(_) => Kind::Bool,
            Self::Float(_) => Kind::F64,
            Self::Address | Self::Ipv4Reversed => Kind::Address,
            Self::Time(_) => Kind::Time,
            Self::Bytes(_) => Kind::Bytes,
            Self::Text { .. } => Kind::Text,
        }
    }

    /// True for what expressions may use.
    pub(super) fn is_integer(&self) -> bool {
        matches!(
            self,
            Self::Unsigned(_) | Self::Signed(_) | Self::Bool(_) | Self::Digits(_) | Self::Computed
        )
    }

    /// The bytes that end the field have been cut off already.
    fn without_until(self) -> Self {
        match self {
            Self::Bytes(_) => Self::Bytes(None),
            Self::Text { ascii, trim, .. } => Self::Text {
                ascii,
                trim,
                until: None,
            },
            other => other,
        }
    }
}
