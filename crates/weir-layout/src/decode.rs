//! Finds the fields and the payload of a record.

use super::expression::Expr;
use super::field::{FieldPlace, FieldSlot, KnownFields, NONE};
use super::framing::Cutting;
use super::machine::{Machine, halt, holds};
use super::row::{DecodedFacts, Row};
use super::stop::{Halt, StopReason};
use super::view::View;
use super::{ColumnOutput, Layout, Start};

/// The position and the kind of a payload.
#[derive(Clone, Debug)]
pub(super) struct PayloadRule {
    pub(super) start: Start,
    /// The group of its kind, or [`NONE`].
    pub(super) group: u16,
    pub(super) when: Option<Expr>,
    /// `None`: behind the fields.
    pub(super) place: Option<Expr>,
    /// `None`: to the end of the record.
    pub(super) length: Option<Expr>,
}

impl Layout {
    /// The buffers for decoding all columns and the payload.
    #[must_use]
    pub fn row(&self) -> Row {
        self.row_of(self.steps.len(), true)
    }

    /// The buffers for decoding some columns (indices into [`columns`](Self::columns)), the time and the wire length, and the
    /// payload if `payload` is set. Fields after these are not read, so that damage in them goes unnoticed.
    #[must_use]
    pub fn row_for(&self, columns: &[usize], payload: bool) -> Row {
        let all = self.steps.len();
        let outputs = columns
            .iter()
            .filter_map(|column| self.outputs.get(*column));
        let steps = outputs.map(|output| match output {
            ColumnOutput::Field(field) | ColumnOutput::Name { field, .. } => self.ready(*field),
            ColumnOutput::Kind => all,
        });
        let steps = steps
            .chain([usize::from(self.ready_for_frame)])
            .max()
            .unwrap_or(0);
        self.row_of(
            if payload && !self.payloads.is_empty() {
                all
            } else {
                steps
            },
            payload,
        )
    }

    fn row_of(&self, steps: usize, wants_payload: bool) -> Row {
        Row {
            slots: vec![FieldSlot::Absent; usize::from(self.slots)],
            groups: vec![false; usize::from(self.groups)],
            steps,
            wants_payload: wants_payload && !self.payloads.is_empty(),
            found: DecodedFacts::default(),
        }
    }

    fn ready(&self, field: u16) -> usize {
        let field = self.fields.get(usize::from(field));
        field.map_or(0, |field| usize::from(field.ready))
    }

    /// The payload that the record has: index of its rule, start and length as declared.
    pub(super) fn payload_span(
        &self,
        known: &KnownFields<'_>,
        high: usize,
    ) -> Result<Option<(u16, usize, usize)>, Halt> {
        for (index, rule) in (0_u16..).zip(&self.payloads) {
            let present =
                rule.group == NONE || known.groups.get(usize::from(rule.group)) == Some(&true);
            if !present || !holds(rule.when.as_ref(), known, NONE, high)? {
                continue;
            }
            let start = match &rule.place {
                Some(place) => self.bounded(place, known, NONE, high)?,
                None => high,
            };
            let len = match &rule.length {
                Some(length) => self.bounded(length, known, NONE, start)?,
                None => known.bytes.len().saturating_sub(start),
            };
            return Ok(Some((index, start, len)));
        }
        Ok(None)
    }

    /// A position or length: from 0 to the longest record.
    pub(super) fn bounded(
        &self,
        expr: &Expr,
        known: &KnownFields<'_>,
        field: u16,
        offset: usize,
    ) -> Result<usize, Halt> {
        let value = expr
            .evaluate(known)
            .map_err(|trouble| halt(trouble, field, offset, known))?;
        match usize::try_from(value) {
            Ok(size) if size <= self.record_len_max => Ok(size),
            _ => Err(Halt {
                field,
                offset,
                reason: StopReason::OutOfRange { value },
            }),
        }
    }

    /// Finds the fields of the record in `bytes`, as framed by [`next_record`](Self::next_record), or of the last, cut record of a
    /// file. Never fails: the fault is in [`View::stop`]. Allocates nothing. `row` is one of [`row`](Self::row) or
    /// [`row_for`](Self::row_for) of this layout; with that of another, fields may be absent.
    #[inline]
    pub fn decode<'a>(&'a self, bytes: &'a [u8], row: &'a mut Row) -> View<'a> {
        let bytes = match &self.cutting {
            Cutting::Delimited(mark) => bytes.strip_suffix(&**mark).unwrap_or(bytes),
            _ => bytes,
        };
        row.found = DecodedFacts::default();
        if bytes.len() < self.fixed_end as usize {
            self.decode_cut(bytes, row);
        } else if row.steps > 0 || row.wants_payload {
            self.decode_steps(bytes, row);
        }
        View {
            layout: self,
            bytes,
            row,
        }
    }

    /// A record that ends within the fields that every record has: these are still readable.
    #[cold]
    fn decode_cut(&self, bytes: &[u8], row: &mut Row) {
        row.slots.fill(FieldSlot::Absent);
        row.groups.fill(false);
        let cut = (0_u16..)
            .zip(&self.fields)
            .filter(|(_, field)| field.fixed_end() as usize > bytes.len())
            .min_by_key(|(_, field)| field.fixed_end());
        row.found.stop = cut.map(|(index, field)| {
            let needed = field.fixed_end() as usize;
            Halt {
                field: index,
                offset: match field.place {
                    FieldPlace::Fixed { start, .. } => start as usize,
                    FieldPlace::Slot(_) => 0,
                },
                reason: StopReason::Cut {
                    needed,
                    available: bytes.len(),
                },
            }
        });
    }

    fn decode_steps(&self, bytes: &[u8], row: &mut Row) {
        row.groups.fill(false);
        let mut machine = Machine::new(self, bytes, &mut row.slots, &mut row.groups);
        let ran = machine.run(row.steps);
        let (kind, high) = (machine.kind, machine.high);
        row.found.kind = kind;
        if let Err(halt) = ran {
            row.found.stop = Some(halt);
            return;
        }
        if row.wants_payload {
            let known = KnownFields {
                fields: &self.fields,
                bytes,
                slots: &row.slots,
                groups: &row.groups,
            };
            match self.payload_span(&known, high) {
                // A payload after the record's end is invalid; one that reaches over it is cut there, as captures cut frames, and
                // the wire length tells how much is missing.
                Ok(Some((_, start, _))) if start > bytes.len() => {
                    row.found.stop = Some(Halt {
                        field: NONE,
                        offset: start,
                        reason: StopReason::Cut {
                            needed: start,
                            available: bytes.len(),
                        },
                    });
                }
                Ok(payload) => row.found.payload = payload,
                Err(halt) => row.found.stop = Some(halt),
            }
        }
    }
}
