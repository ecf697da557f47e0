//! Cuts records out of bytes and finds their fields.

use std::fmt;

use super::expression::{Expr, Trouble};
use super::field::{Field, Known, NONE, Slot, find};
use super::{Layout, Output, Start};
use crate::Value;

/// What stands at the beginning of some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing<'a> {
    /// A record of this many bytes, its delimiter included.
    Record {
        /// Bytes of the record.
        len: usize,
    },
    /// More bytes are needed to tell; at the end of the file the record is cut.
    More {
        /// Bytes needed in all, counted from the start of the record.
        at_least: usize,
    },
    /// No record of this layout.
    Damaged(Stop<'a>),
}

/// Why a record was not understood to its end. Plain data, made without allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop<'a> {
    /// The field that could not be read; empty for the record as a whole.
    pub field: &'a str,
    /// Where it lies, in bytes from the start of the record.
    pub offset: usize,
    /// What was wrong.
    pub reason: Reason,
}

/// The reason of a [`Stop`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The record ends before the field does.
    Cut {
        /// Bytes that the record would need.
        needed: usize,
        /// Bytes that it has.
        available: usize,
    },
    /// The field does not hold the value that `equals` asks for.
    Unequal,
    /// A computed place or length is negative or beyond the longest record.
    OutOfRange {
        /// What the expression gave.
        value: i64,
    },
    /// An expression overflowed, divided by zero or needs a field that the record does not have.
    NoValue,
    /// The bytes that end the field or the record are not there.
    Unterminated,
    /// The length of the record is not possible.
    Length {
        /// What the record says.
        value: i64,
        /// The bytes that its fixed fields take.
        least: usize,
        /// The limit of the layout.
        most: usize,
    },
    /// The file does not start with the magic value of the layout.
    Magic,
}

impl fmt::Display for Stop<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.field.is_empty() {
            write!(f, "{} ", self.field)?;
        }
        write!(f, "at byte {}: {}", self.offset, self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Cut { needed, available } => {
                write!(f, "cut, {needed} bytes needed, {available} there")
            }
            Self::Unequal => f.write_str("not the value that the layout asks for"),
            Self::OutOfRange { value } => write!(f, "{value} is no possible place or length"),
            Self::NoValue => f.write_str("its expression has no value for this record"),
            Self::Unterminated => f.write_str("the bytes that end it are missing"),
            Self::Length { value, least, most } => {
                write!(
                    f,
                    "a record of {value} bytes, {least} to {most} are possible"
                )
            }
            Self::Magic => f.write_str("not a file of this layout: its magic value differs"),
        }
    }
}

/// What is needed to find the fields whose place depends on others. Made once
/// ([`Layout::row`]), used for every record of that layout.
#[derive(Clone, Debug)]
pub struct Row {
    slots: Vec<Slot>,
    groups: Vec<bool>,
    /// Run this many steps only.
    steps: usize,
    wants_payload: bool,
    found: Found,
}

/// What decoding found beside the places of fields.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    kind: Option<u16>,
    payload: Option<(u16, usize, usize)>,
    stop: Option<Halt>,
}

/// A [`Stop`] by the field's index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Halt {
    field: u16,
    offset: usize,
    reason: Reason,
}

/// A decoded record. Reading a value costs a bounds check and a load.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    layout: &'a Layout,
    bytes: &'a [u8],
    row: &'a Row,
}

/// Something to do for each record, in order.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Go to a place that is always the same.
    Go(u32),
    /// Go to a computed place.
    Seek { place: Expr, field: u16 },
    /// Fields that are there only on a condition; otherwise go on at step `skip`.
    Group {
        when: Option<Expr>,
        group: u16,
        /// The kind of record that the group makes, or [`NONE`].
        kind: u16,
        skip: u16,
    },
    /// Behind fields of a group at fixed places: where they end.
    Pass { cursor: u32, high: u32, field: u16 },
    /// A field here.
    Put {
        field: u16,
        slot: u16,
        size: Size,
        /// Go on this many bytes for a field of fixed size; bit fields share bytes.
        advance: u32,
    },
    /// A computed number.
    Compute { field: u16, slot: u16, value: Expr },
    /// A field that must have a certain value.
    Check(u16),
}

/// How long a field is.
#[derive(Clone, Debug)]
pub(super) enum Size {
    Bytes(u32),
    Computed(Expr),
    /// To the end of the record.
    Rest,
    /// To these bytes, which do not belong to the value.
    Until(Box<[u8]>),
}

/// How records are cut out of the file.
#[derive(Clone, Debug)]
pub(super) enum Cutting {
    Fixed(usize),
    Delimited(Box<[u8]>),
    /// `None`: where the fields and the payload end.
    Computed {
        length: Option<Expr>,
        steps: usize,
    },
}

/// Where a payload lies and what it is.
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

/// Runs the steps of one record.
struct Machine<'m> {
    layout: &'m Layout,
    bytes: &'m [u8],
    slots: &'m mut [Slot],
    groups: &'m mut [bool],
    kind: Option<u16>,
    cursor: usize,
    /// End of the fields so far.
    high: usize,
}

impl Layout {
    /// What decoding needs, for all columns and the payload.
    #[must_use]
    pub fn row(&self) -> Row {
        self.row_of(self.steps.len(), true)
    }

    /// What decoding needs for some columns (indices into [`columns`](Self::columns)), for time and
    /// wire length, and for the payload when it is wanted. Fields behind these are not looked at,
    /// so that damage in them goes unnoticed.
    #[must_use]
    pub fn row_for(&self, columns: &[usize], payload: bool) -> Row {
        let all = self.steps.len();
        let outputs = columns
            .iter()
            .filter_map(|column| self.outputs.get(*column));
        let steps = outputs.map(|output| match output {
            Output::Field(field) | Output::Name { field, .. } => self.ready(*field),
            Output::Kind => all,
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
            slots: vec![Slot::Absent; usize::from(self.slots)],
            groups: vec![false; usize::from(self.groups)],
            steps,
            wants_payload: wants_payload && !self.payloads.is_empty(),
            found: Found::default(),
        }
    }

    fn ready(&self, field: u16) -> usize {
        let field = self.fields.get(usize::from(field));
        field.map_or(0, |field| usize::from(field.ready))
    }

    /// Finds the end of the record at the start of `bytes`. Values that `equals` asks for and that
    /// stand at a fixed place in every record are checked here; others by
    /// [`decode`](Self::decode).
    #[must_use]
    pub fn next_record(&self, bytes: &[u8]) -> Framing<'_> {
        let prefix = self.prefix as usize;
        if bytes.len() < prefix {
            let at_least = match self.cutting {
                Cutting::Fixed(len) => len,
                _ => prefix,
            };
            return Framing::More { at_least };
        }
        let known = Known {
            fields: &self.fields,
            bytes,
            slots: &[],
            groups: &[],
        };
        for check in &self.checks {
            if let Some(field) = known.get(*check).filter(|field| !known.agrees(field)) {
                let offset = known.span(field).map_or(0, |(start, _)| start);
                return self.damaged(*check, offset, Reason::Unequal);
            }
        }
        match &self.cutting {
            Cutting::Fixed(len) if bytes.len() < *len => Framing::More { at_least: *len },
            Cutting::Fixed(len) => Framing::Record { len: *len },
            Cutting::Delimited(mark) => self.cut_at(mark, bytes),
            Cutting::Computed {
                length: Some(length),
                steps: 0,
            } => match length.evaluate(&known) {
                Ok(value) => self.cut_after(value, bytes.len()),
                Err(trouble) => self.no_length(trouble, bytes.len()),
            },
            Cutting::Computed { length, steps } => {
                self.cut_by_fields(length.as_ref(), *steps, bytes)
            }
        }
    }

    /// How many of `bytes`, at least one, lie before the next place where a record may begin, after
    /// [`next_record`](Self::next_record) has found damage at their start: behind the next
    /// delimiter, or where all values stand that `equals` asks for at fixed places. `None` when
    /// there is no such place in `bytes`, or the layout has neither. Costs a few instructions a
    /// byte.
    #[must_use]
    pub fn resync(&self, bytes: &[u8]) -> Option<usize> {
        if let Cutting::Delimited(mark) = &self.cutting {
            return find(bytes, mark).map(|at| at + mark.len());
        }
        if self.checks.is_empty() {
            return None;
        }
        (1..bytes.len()).find(|passed| {
            let known = Known {
                fields: &self.fields,
                bytes: bytes.get(*passed..).unwrap_or_default(),
                slots: &[],
                groups: &[],
            };
            let mut checks = self.checks.iter().filter_map(|check| known.get(*check));
            checks.all(|field| known.agrees(field))
        })
    }

    fn damaged(&self, field: u16, offset: usize, reason: Reason) -> Framing<'_> {
        Framing::Damaged(self.stop(Halt {
            field,
            offset,
            reason,
        }))
    }

    pub(super) fn stop(&self, halt: Halt) -> Stop<'_> {
        let field = self.fields.get(usize::from(halt.field));
        Stop {
            field: field.map_or("", |field| &field.name),
            offset: halt.offset,
            reason: halt.reason,
        }
    }

    fn cut_after(&self, value: i64, available: usize) -> Framing<'_> {
        let (least, most) = (self.prefix.max(1) as usize, self.record_len_max);
        match usize::try_from(value) {
            Ok(len) if (least..=most).contains(&len) => {
                if available < len {
                    Framing::More { at_least: len }
                } else {
                    Framing::Record { len }
                }
            }
            _ => self.damaged(NONE, 0, Reason::Length { value, least, most }),
        }
    }

    fn no_length(&self, trouble: Trouble, available: usize) -> Framing<'_> {
        match trouble {
            Trouble::Cut(needed) => self.need(needed, available),
            _ => self.damaged(NONE, 0, Reason::NoValue),
        }
    }

    /// Asks for more bytes, unless no record can be that long.
    fn need(&self, needed: usize, available: usize) -> Framing<'_> {
        let most = self.record_len_max;
        if needed > most {
            let value = i64::try_from(needed).unwrap_or(i64::MAX);
            let least = self.prefix.max(1) as usize;
            return self.damaged(NONE, 0, Reason::Length { value, least, most });
        }
        Framing::More {
            at_least: needed.max(available.saturating_add(1)),
        }
    }

    fn cut_at(&self, mark: &[u8], bytes: &[u8]) -> Framing<'_> {
        let longest = self.record_len_max.saturating_add(mark.len());
        let searched = bytes.get(..longest.min(bytes.len())).unwrap_or_default();
        match find(searched, mark) {
            Some(end) => Framing::Record {
                len: end + mark.len(),
            },
            None if bytes.len() >= longest => self.damaged(NONE, 0, Reason::Unterminated),
            None => Framing::More {
                at_least: bytes.len() + 1,
            },
        }
    }

    /// Runs steps to learn where the record ends. The state lies on the stack, as this function has
    /// no row; the compiler of layouts keeps the number of slots within it.
    fn cut_by_fields(&self, length: Option<&Expr>, steps: usize, bytes: &[u8]) -> Framing<'_> {
        let mut slots = [Slot::Absent; Self::FRAMING_FIELDS_MAX];
        let mut groups = [false; Self::FRAMING_FIELDS_MAX];
        let mut machine = Machine::new(self, bytes, &mut slots, &mut groups);
        if let Err(halt) = machine.run(steps) {
            return match halt.reason {
                Reason::Cut { needed, .. } => self.need(needed, bytes.len()),
                Reason::Unterminated if bytes.len() < self.record_len_max => {
                    self.need(bytes.len() + 1, bytes.len())
                }
                _ => Framing::Damaged(self.stop(halt)),
            };
        }
        let high = machine.high;
        let known = machine.known();
        if let Some(length) = length {
            return match length.evaluate(&known) {
                Ok(value) => self.cut_after(value, bytes.len()),
                Err(trouble) => self.no_length(trouble, bytes.len()),
            };
        }
        let end = match self.payload_span(&known, high) {
            Ok(payload) => payload.map_or(high, |(_, start, len)| high.max(start + len)),
            Err(halt) => return Framing::Damaged(self.stop(halt)),
        };
        self.cut_after(i64::try_from(end).unwrap_or(i64::MAX), bytes.len())
    }

    /// The payload that the record has: index of its rule, start and length as declared.
    fn payload_span(
        &self,
        known: &Known<'_>,
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

    /// A place or length: from nothing to the longest record.
    fn bounded(
        &self,
        expr: &Expr,
        known: &Known<'_>,
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
                reason: Reason::OutOfRange { value },
            }),
        }
    }

    /// Finds the fields of the record in `bytes`, which [`next_record`](Self::next_record) has cut
    /// out, or the last ones of a file, where a record is cut. Never fails: what was wrong is in
    /// [`View::stop`]. Allocates nothing. `row` is one of [`row`](Self::row) or
    /// [`row_for`](Self::row_for) of this layout; with that of another, fields may be absent.
    #[inline]
    pub fn decode<'a>(&'a self, bytes: &'a [u8], row: &'a mut Row) -> View<'a> {
        let bytes = match &self.cutting {
            Cutting::Delimited(mark) => bytes.strip_suffix(&**mark).unwrap_or(bytes),
            _ => bytes,
        };
        row.found = Found::default();
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
        row.slots.fill(Slot::Absent);
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
                    super::field::Place::Fixed { start, .. } => start as usize,
                    super::field::Place::Slot(_) => 0,
                },
                reason: Reason::Cut {
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
            let known = Known {
                fields: &self.fields,
                bytes,
                slots: &row.slots,
                groups: &row.groups,
            };
            match self.payload_span(&known, high) {
                // A payload that lies behind the record's end; one that reaches over it is cut there,
                // as captures cut frames, and the wire length tells how much is missing.
                Ok(Some((_, start, _))) if start > bytes.len() => {
                    row.found.stop = Some(Halt {
                        field: NONE,
                        offset: start,
                        reason: Reason::Cut {
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

/// Evaluates a condition; none at all holds.
fn holds(when: Option<&Expr>, known: &Known<'_>, field: u16, offset: usize) -> Result<bool, Halt> {
    when.map_or(Ok(true), |when| {
        when.holds(known)
            .map_err(|trouble| halt(trouble, field, offset, known))
    })
}

#[cold]
fn halt(trouble: Trouble, field: u16, offset: usize, known: &Known<'_>) -> Halt {
    Halt {
        field,
        offset,
        reason: match trouble {
            Trouble::Cut(needed) => Reason::Cut {
                needed,
                available: known.bytes.len(),
            },
            Trouble::Absent | Trouble::Arithmetic => Reason::NoValue,
        },
    }
}

impl<'m> Machine<'m> {
    fn new(
        layout: &'m Layout,
        bytes: &'m [u8],
        slots: &'m mut [Slot],
        groups: &'m mut [bool],
    ) -> Self {
        Self {
            layout,
            bytes,
            slots,
            groups,
            kind: None,
            cursor: 0,
            high: layout.fixed_end as usize,
        }
    }

    fn known(&self) -> Known<'_> {
        Known {
            fields: &self.layout.fields,
            bytes: self.bytes,
            slots: self.slots,
            groups: self.groups,
        }
    }

    /// Runs the first `count` steps. When one fails, fields without a fixed place behind it are
    /// absent.
    fn run(&mut self, count: usize) -> Result<(), Halt> {
        let steps = &self.layout.steps;
        let mut at = 0;
        while let Some(step) = steps.get(at).filter(|_| at < count) {
            at = match self.step(step, at + 1) {
                Ok(next) => next,
                Err(halt) => {
                    self.forget(steps.get(at..).unwrap_or_default());
                    return Err(halt);
                }
            };
        }
        Ok(())
    }

    #[cold]
    fn forget(&mut self, steps: &[Step]) {
        for step in steps {
            if let Step::Put { slot, .. } | Step::Compute { slot, .. } = step
                && let Some(slot) = self.slots.get_mut(usize::from(*slot))
            {
                *slot = Slot::Absent;
            }
        }
    }

    /// Does one step; gives the index of the step to go on with.
    #[inline]
    fn step(&mut self, step: &Step, next: usize) -> Result<usize, Halt> {
        match step {
            Step::Go(place) => self.cursor = *place as usize,
            Step::Seek { place, field } => {
                self.cursor = self
                    .layout
                    .bounded(place, &self.known(), *field, self.cursor)?;
            }
            Step::Group {
                when,
                group,
                kind,
                skip,
            } => {
                let taken = *kind != NONE && self.kind.is_some();
                if taken || !holds(when.as_ref(), &self.known(), NONE, self.cursor)? {
                    return Ok(usize::from(*skip));
                }
                if let Some(present) = self.groups.get_mut(usize::from(*group)) {
                    *present = true;
                }
                if *kind != NONE {
                    self.kind = Some(*kind);
                }
            }
            Step::Pass {
                cursor,
                high,
                field,
            } => {
                self.cursor = *cursor as usize;
                self.reach(*high as usize, *field)?;
            }
            Step::Put {
                field,
                slot,
                size,
                advance,
            } => {
                let start = self.cursor;
                let (len, after) = self.measure(size, *advance, *field)?;
                self.reach(start.saturating_add(len), *field)?;
                self.reach(after, *field)?;
                self.cursor = after;
                self.fill(
                    *slot,
                    Slot::Span {
                        start: number(start),
                        len: number(len),
                    },
                );
            }
            Step::Compute { field, slot, value } => {
                let value = match value.evaluate(&self.known()) {
                    Ok(value) => Slot::Number(value),
                    Err(Trouble::Absent) => Slot::Absent,
                    Err(trouble) => return Err(halt(trouble, *field, self.cursor, &self.known())),
                };
                self.fill(*slot, value);
            }
            Step::Check(field) => {
                let known = self.known();
                if let Some(checked) = known.get(*field).filter(|checked| !known.agrees(checked)) {
                    return Err(Halt {
                        field: *field,
                        offset: known.span(checked).map_or(0, |(start, _)| start),
                        reason: Reason::Unequal,
                    });
                }
            }
        }
        Ok(next)
    }

    /// The length of the field at the cursor, and where the next one begins.
    fn measure(&self, size: &Size, advance: u32, field: u16) -> Result<(usize, usize), Halt> {
        let start = self.cursor;
        let len = match size {
            Size::Bytes(len) => {
                return Ok((*len as usize, start.saturating_add(advance as usize)));
            }
            Size::Computed(size) => self.layout.bounded(size, &self.known(), field, start)?,
            Size::Rest => self.bytes.len().saturating_sub(start),
            Size::Until(mark) => {
                let rest = self.bytes.get(start..).unwrap_or_default();
                let len = find(rest, mark).ok_or(Halt {
                    field,
                    offset: start,
                    reason: Reason::Unterminated,
                })?;
                return Ok((len, start.saturating_add(len).saturating_add(mark.len())));
            }
        };
        Ok((len, start.saturating_add(len)))
    }

    /// The record must have bytes up to `end`.
    fn reach(&mut self, end: usize, field: u16) -> Result<(), Halt> {
        if end > self.bytes.len() {
            return Err(Halt {
                field,
                offset: self.cursor,
                reason: Reason::Cut {
                    needed: end,
                    available: self.bytes.len(),
                },
            });
        }
        self.high = self.high.max(end);
        Ok(())
    }

    fn fill(&mut self, slot: u16, with: Slot) {
        if let Some(slot) = self.slots.get_mut(usize::from(slot)) {
            *slot = with;
        }
    }
}

fn number(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

impl<'a> View<'a> {
    #[inline]
    fn known(&self) -> Known<'a> {
        Known {
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
            Output::Field(field) => {
                let field = self.layout.fields.get(usize::from(*field))?;
                field.plain(self.bytes, || self.known().value(field))
            }
            Output::Name { field, enumeration } => {
                let known = self.known();
                let value = known.integer(known.get(*field)?).ok()?;
                let names = self.layout.enums.get(usize::from(*enumeration))?;
                let index = names
                    .binary_search_by_key(&value, |(number, _)| *number)
                    .ok()?;
                names.get(index).map(|(_, name)| Value::Text(name))
            }
            Output::Kind => {
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

    /// What the payload starts with, and its bytes, as far as the record has them; `None` for a
    /// record without payload in a known protocol.
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

    /// Why the record was not understood to its end; `None` for a sound one.
    #[must_use]
    pub fn stop(&self) -> Option<Stop<'a>> {
        self.row.found.stop.map(|halt| self.layout.stop(halt))
    }
}

/// Where the time of a record is.
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
    fn read(&self, known: &Known<'_>) -> Option<i64> {
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
                    None => super::time::joined(seconds, 0, 1),
                    Some((part, unit)) => super::time::joined(seconds, integer(*part)?, *unit),
                }
            }
        }
    }

    /// How many steps must have run before the time can be read.
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
