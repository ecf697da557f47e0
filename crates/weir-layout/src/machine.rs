//! The steps that find the fields of a record whose place is not fixed.

use super::Layout;
use super::expression::{EvalError, Expr};
use super::field::{FieldSlot, KnownFields, NONE, find};
use super::stop::{Halt, StopReason};

/// Something to do for each record, in order.
#[derive(Clone, Debug)]
pub(super) enum MachineStep {
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
    /// The step after fields of a group at fixed positions sets the cursor to their end.
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

/// The size of a field.
#[derive(Clone, Debug)]
pub(super) enum Size {
    Bytes(u32),
    Computed(Expr),
    /// The field reaches to the end of the record.
    Rest,
    /// The field reaches to these bytes, which do not belong to the value.
    Until(Box<[u8]>),
}

/// Runs the steps of one record.
pub(super) struct Machine<'m> {
    layout: &'m Layout,
    bytes: &'m [u8],
    slots: &'m mut [FieldSlot],
    groups: &'m mut [bool],
    pub(super) kind: Option<u16>,
    cursor: usize,
    /// End of the fields so far.
    pub(super) high: usize,
}

impl<'m> Machine<'m> {
    pub(super) fn new(
        layout: &'m Layout,
        bytes: &'m [u8],
        slots: &'m mut [FieldSlot],
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

    pub(super) fn known(&self) -> KnownFields<'_> {
        KnownFields {
            fields: &self.layout.fields,
            bytes: self.bytes,
            slots: self.slots,
            groups: self.groups,
        }
    }

    /// Runs the first `count` steps. When one fails, fields without a fixed place behind it are
    /// absent.
    pub(super) fn run(&mut self, count: usize) -> Result<(), Halt> {
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
    fn forget(&mut self, steps: &[MachineStep]) {
        for step in steps {
            if let MachineStep::Put { slot, .. } | MachineStep::Compute { slot, .. } = step
                && let Some(slot) = self.slots.get_mut(usize::from(*slot))
            {
                *slot = FieldSlot::Absent;
            }
        }
    }

    /// Does one step; gives the index of the step to go on with.
    #[inline]
    fn step(&mut self, step: &MachineStep, next: usize) -> Result<usize, Halt> {
        match step {
            MachineStep::Go(place) => self.cursor = *place as usize,
            MachineStep::Seek { place, field } => {
                self.cursor = self
                    .layout
                    .bounded(place, &self.known(), *field, self.cursor)?;
            }
            MachineStep::Group {
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
            MachineStep::Pass {
                cursor,
                high,
                field,
            } => {
                self.cursor = *cursor as usize;
                self.reach(*high as usize, *field)?;
            }
            MachineStep::Put {
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
                    FieldSlot::Span {
                        start: number(start),
                        len: number(len),
                    },
                );
            }
            MachineStep::Compute { field, slot, value } => {
                let value = match value.evaluate(&self.known()) {
                    Ok(value) => FieldSlot::Number(value),
                    Err(EvalError::Absent) => FieldSlot::Absent,
                    Err(trouble) => return Err(halt(trouble, *field, self.cursor, &self.known())),
                };
                self.fill(*slot, value);
            }
            MachineStep::Check(field) => {
                let known = self.known();
                if let Some(checked) = known.get(*field).filter(|checked| !known.agrees(checked)) {
                    return Err(Halt {
                        field: *field,
                        offset: known.span(checked).map_or(0, |(start, _)| start),
                        reason: StopReason::Unequal,
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
                    reason: StopReason::Unterminated,
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
                reason: StopReason::Cut {
                    needed: end,
                    available: self.bytes.len(),
                },
            });
        }
        self.high = self.high.max(end);
        Ok(())
    }

    fn fill(&mut self, slot: u16, with: FieldSlot) {
        if let Some(slot) = self.slots.get_mut(usize::from(slot)) {
            *slot = with;
        }
    }
}

/// Evaluates a condition; none at all holds.
pub(super) fn holds(
    when: Option<&Expr>,
    known: &KnownFields<'_>,
    field: u16,
    offset: usize,
) -> Result<bool, Halt> {
    when.map_or(Ok(true), |when| {
        when.holds(known)
            .map_err(|trouble| halt(trouble, field, offset, known))
    })
}

#[cold]
pub(super) fn halt(trouble: EvalError, field: u16, offset: usize, known: &KnownFields<'_>) -> Halt {
    Halt {
        field,
        offset,
        reason: match trouble {
            EvalError::Cut(needed) => StopReason::Cut {
                needed,
                available: known.bytes.len(),
            },
            EvalError::Absent | EvalError::Arithmetic => StopReason::NoValue,
        },
    }
}

fn number(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}
