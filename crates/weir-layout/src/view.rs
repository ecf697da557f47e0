//! A view of a decoded record.

use super::field::{Field, KnownFields};
use super::row::Row;
use super::stop::Stop;
use super::{ColumnOutput, Layout, Start, time};
use weir_packet::Value;

/// A decoded record. Reading a value costs a bounds check and a load.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    pub(super) layout: &'a Layout,
    pub(super) bytes: &'a [u8],
    pub(super) row: &'a Row,
}

impl<'a> View<'a> {
    #[inline]
    fn known(&self) -> KnownFields<'a> {
        KnownFields {
            fields: &self.layout.fields,
            bytes: self.bytes,
            slots: &self.row.slots,
            groups: &self.row.groups,
        }
    }

    /// The value of a column; `None` when the record does not have the field.
    #[inline]
    #[must_use]
    pub fn value(&self, column: usize) -> Option<Value<'a>> {
        match self.layout.outputs.get(column)? {
            ColumnOutput::Field(field) => {
                let field = self.layout.fields.get(usize::from(*field))?;
                field.plain(self.bytes, || self.known().value(field))
            }
            ColumnOutput::Name { field, enumeration } => {
                let known = self.known();
                let value = known.integer(known.get(*field)?).ok()?;
                let names = self.layout.enums.get(usize::from(*enumeration))?;
                let index = names
                    .binary_search_by_key(&value, |(number, _)| *number)
                    .ok()?;
                names.get(index).map(|(_, name)| Value::Text(name))
            }
            ColumnOutput::Kind => {
                let kind = self.row.found.kind?;
                let name = self.layout.kinds.get(usize::from(kind))?;
                Some(Value::Text(name))
            }
        }
    }

    /// The time of the record in nanoseconds UTC, when the layout names a time.
    #[inline]
    #[must_use]
    pub fn time_ns(&self) -> Option<i64> {
        self.layout.time.as_ref()?.read(&self.known())
    }

    /// Length on the wire in bytes of what the payload was, when the layout names it.
    #[inline]
    #[must_use]
    pub fn wire_len(&self) -> Option<u32> {
        let wire_len = self.layout.wire_len.as_ref()?;
        u32::try_from(wire_len.evaluate(&self.known()).ok()?).ok()
    }

    /// The first protocol and the bytes of the payload, as far as the record has them; `None` for a record without payload in a
    /// known protocol.
    #[inline]
    #[must_use]
    pub fn payload(&self) -> Option<(Start, &'a [u8])> {
        let (rule, start, len) = self.row.found.payload?;
        let rule = self.layout.payloads.get(usize::from(rule))?;
        let rest = self.bytes.get(start..)?;
        Some((rule.start, rest.get(..len).unwrap_or(rest)))
    }

    /// Name of the record's kind, in a layout with kinds.
    #[must_use]
    pub fn kind(&self) -> Option<&'a str> {
        self.layout
            .kinds
            .get(usize::from(self.row.found.kind?))
            .map(AsRef::as_ref)
    }

    /// The reason why the record was not understood to its end; `None` for a sound one.
    #[must_use]
    pub fn stop(&self) -> Option<Stop<'a>> {
        self.row.found.stop.map(|halt| self.layout.stop(halt))
    }
}

/// The position of the time of a record.
#[derive(Clone, Debug)]
pub(super) enum TimeSource {
    Field(u16),
    /// Seconds, a smaller part with its unit in nanoseconds, and where the clock starts.
    Pair {
        seconds: u16,
        part: Option<(u16, i64)>,
        epoch_s: i64,
    },
}

impl TimeSource {
    fn read(&self, known: &KnownFields<'_>) -> Option<i64> {
        match self {
            Self::Field(field) => match known.value(known.get(*field)?)? {
                Value::Time(ns) => Some(ns),
                _ => None,
            },
            Self::Pair {
                seconds,
                part,
                epoch_s,
            } => {
                let integer = |field: u16| known.integer(known.get(field)?).ok();
                let seconds = integer(*seconds)?.checked_add(*epoch_s)?;
                match part {
                    None => time::joined(seconds, 0, 1),
                    Some((part, unit)) => time::joined(seconds, integer(*part)?, *unit),
                }
            }
        }
    }

    /// The number of steps after which the time can be read.
    pub(super) fn ready(&self, fields: &[Field]) -> u16 {
        let ready = |field: u16| {
            fields
                .get(usize::from(field))
                .map_or(0, |field| field.ready)
        };
        match self {
            Self::Field(field) => ready(*field),
            Self::Pair { seconds, part, .. } => {
                ready(*seconds).max(part.map_or(0, |(part, _)| ready(part)))
            }
        }
    }
}
