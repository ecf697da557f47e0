//! Assigns positions, meanings and columns to fields.

use super::compile::Compiler;
use super::draft::{DraftEntry, EnumUse, EnumValues};
use super::error::{Checked, FaultAt};
use super::expression::Expr;
use super::field::{Equals, Field, FieldPlace, Meaning, NONE};
use super::machine::{MachineStep, Size};
use super::number::{self, Number};
use super::source::{Located, Scalar, Text};
use super::types::Sort;
use super::{ColumnOutput, Layout, read};
use weir_packet::Kind;

impl Compiler {
    /// Assigns a position, a meaning and a column to a field.
    pub(super) fn place_field(&mut self, entry: DraftEntry) -> Checked<()> {
        let index = u16::try_from(self.layout.fields.len()).unwrap_or(NONE);
        self.origins.push((entry.at, entry.element.clone()));
        let mut group = self.group;
        let (meaning, place) = if let Some(value) = &entry.value {
            entry.only(&["value", "enum"], "a computed field")?;
            let value = self.expression(value, &entry.path("value"))?;
            let slot = self.new_slot();
            self.layout.steps.push(MachineStep::Compute {
                field: index,
                slot,
                value,
            });
            (Meaning::Computed, FieldPlace::Slot(slot))
        } else if let Some(of) = &entry.of {
            entry.only(
                &["of", "bits", "type", "bit_order", "enum", "equals"],
                "a field within another field's bits",
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
            FieldPlace::Fixed { .. } if group == NONE => 0,
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
    fn finish_field(&mut self, mut entry: DraftEntry, index: u16) -> Checked<()> {
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
                // Fields at a fixed place of every record are checked when the record is framed.
                if field.fixed_end() == 0 {
                    self.layout.steps.push(MachineStep::Check(index));
                }
            }
        }
        let Some(name) = entry.name.take() else {
            return match entry.enumeration_or_column() {
                Some(key) => {
                    let expected = format!("a name, because `{key}` is given");
                    Err(FaultAt::missing(entry.at, &entry.element, expected, "none"))
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
        let names = |enumeration| ColumnOutput::Name {
            field: index,
            enumeration,
        };
        match enumeration {
            Some(enumeration) if as_text => {
                self.add_column(&name.text, Kind::Text, &doc, unit, names(enumeration));
            }
            Some(enumeration) => {
                self.add_column(&name.text, kind, &doc, unit, ColumnOutput::Field(index));
                let extra = format!("{}_name", name.text);
                self.enter_extra(extra.clone(), name.at, &entry.element)?;
                let doc = format!("Name of {}", name.text);
                self.add_column(&extra, Kind::Text, &doc, None, names(enumeration));
            }
            None => self.add_column(&name.text, kind, &doc, unit, ColumnOutput::Field(index)),
        }
        Ok(())
    }

    fn enumeration(&mut self, names: EnumUse, entry: &DraftEntry, index: u16) -> Checked<u16> {
        let integer = self
            .layout
            .fields
            .get(usize::from(index))
            .is_some_and(|field| field.meaning.is_integer());
        if !integer {
            let expected = "an enum only for integers and bits";
            let found = "a field of another type";
            return Err(FaultAt::key(entry.at, &entry.path("enum"), expected, found));
        }
        let enumeration = match names.values {
            EnumValues::Here(values) => self.add_enum(values.names)?,
            EnumValues::Named(name) => *self.named_enums.get(&name.text).ok_or_else(|| {
                let found = format!("`{}`", name.text);
                let expected = "the name of a table under [enum]";
                FaultAt::name(name.at, &entry.path("enum"), expected, found)
                    .near(&name.text, self.named_enums.keys().map(String::as_str))
            })?,
        };
        if let Some(field) = self.layout.fields.get_mut(usize::from(index)) {
            field.enumeration = enumeration;
        }
        Ok(enumeration)
    }

    /// Bits of an earlier field: the number that they make, and where that field lies.
    fn parent(&self, of: &Text, entry: &DraftEntry) -> Checked<(Number, (FieldPlace, u16))> {
        let index = self.lookup(of, &entry.path("of"))?;
        let fault = |expected: &str, found: &str| {
            let found = format!("`{}`, which is {found}", of.text);
            FaultAt::value(of.at, &entry.path("of"), expected, found)
        };
        let expected = "an integer field";
        let Some(field) = self.layout.fields.get(usize::from(index)) else {
            return Err(fault(expected, "none"));
        };
        let (Meaning::Unsigned(word) | Meaning::Signed(word) | Meaning::Bool(word)) =
            &field.meaning
        else {
            return Err(fault(expected, "a field of another type"));
        };
        let Some(ranges) = &entry.ranges else {
            let expected = "the key `bits` with ranges such as \"0-5\"";
            let found = if entry.bits.is_some() {
                "a number of bits"
            } else {
                "none"
            };
            let at = entry.bits.as_ref().map_or(entry.at, |bits| bits.at);
            return Err(FaultAt::missing(at, &entry.path("bits"), expected, found));
        };
        let parts = ranges.iter().map(|range| entry.part(range, word.width()));
        let parts = parts.collect::<Checked<Vec<_>>>()?;
        let number = word.parts(&parts).ok_or_else(|| {
            fault(
                "ranges of at most 64 bits, of a field that is not itself joined",
                "a joined field, or one with too few bits",
            )
        })?;
        Ok((number, (field.place, field.group)))
    }

    /// The group that a field of another's bits belongs to: both must be present.
    fn joint_group(&self, parent: u16, of: &Text, entry: &DraftEntry) -> Checked<u16> {
        if self.implies(self.group, parent) {
            Ok(self.group)
        } else if self.group == NONE {
            Ok(parent)
        } else {
            let expected = "a field that is present whenever this one is";
            let found = format!("`{}`, which has another condition", of.text);
            Err(FaultAt::place(of.at, &entry.path("of"), expected, found))
        }
    }

    fn place_bits(
        &mut self,
        entry: &DraftEntry,
        index: u16,
        width: u32,
    ) -> Checked<(FieldPlace, u32)> {
        if let Some(place) = &entry.place {
            let bit = entry.bit.as_ref().map_or(0, |bit| bit.value);
            self.seek(
                place,
                u32::try_from(bit).unwrap_or(0),
                &entry.element,
                index,
            )?;
        } else if let Some(bit) = &entry.bit {
            let expected = "the key `at` as well";
            return Err(FaultAt::missing(
                bit.at,
                &entry.path("bit"),
                expected,
                "none",
            ));
        } else if self.least_first != entry.least_first && self.is_within_byte() {
            let expected = "the bit order of the bits before it in the same byte";
            let found = "the other one";
            return Err(FaultAt::place(entry.at, &entry.element, expected, found));
        }
        self.least_first = entry.least_first;
        self.take(index, u64::from(width))
    }

    /// A field of whole bytes.
    fn place_whole(&mut self, entry: &DraftEntry, index: u16) -> Checked<(Meaning, FieldPlace)> {
        let sort = match &entry.type_name {
            Some(name) => Sort::named(name, &entry.element)?,
            None if entry.size.is_some() || entry.until.is_some() => Sort::Bytes,
            None => {
                let expected = "a `type`, or `bits`, `of`, `size`, `value` or inner fields";
                return Err(FaultAt::missing(entry.at, &entry.element, expected, "none"));
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
                let expected = "a `size`, or `until` with its terminating bytes";
                return Err(FaultAt::missing(entry.at, &entry.element, expected, "none"));
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
                    FaultAt::value(size.at, &path, expected, found)
                })?;
                let (place, _) = self.take(index, bytes * 8)?;
                Ok((meaning, place))
            }
            size => Ok((meaning, self.take_open(index, Size::Computed(size)))),
        }
    }
}

/// The value that `equals` asks of a field, checked against its type and width.
fn required(field: &Field, equals: &Located<Scalar>, entry: &DraftEntry) -> Checked<Equals> {
    let fault = |expected: String, found: String| {
        FaultAt::value(equals.at, &entry.path("equals"), expected, found)
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
            read::literal(&text.text)
        }
        _ => None,
    };
    let expected =
        "a value of the field's type: a number, or bytes as text or as hexadecimal digits after 0x";
    let Some(bytes) = bytes else {
        return Err(fault(expected.to_owned(), "something else".to_owned()));
    };
    match field.place {
        FieldPlace::Fixed { len, .. } if len as usize != bytes.len() => Err(fault(
            format!("{len} bytes, the size of the field"),
            format!("{} bytes", bytes.len()),
        )),
        _ => Ok(Equals::Bytes(bytes)),
    }
}
