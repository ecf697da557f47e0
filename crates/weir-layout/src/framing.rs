//! Cuts records out of bytes.

use super::Layout;
use super::expression::{EvalError, Expr};
use super::field::{FieldSlot, KnownFields, NONE, find};
use super::machine::Machine;
use super::stop::{Halt, Stop, StopReason};

/// The beginning of some bytes.
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

/// The framing of records in the file.
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

impl Layout {
    /// Finds the end of the record at the start of `bytes`. Values that `equals` requires and that
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
        let known = KnownFields {
            fields: &self.fields,
            bytes,
            slots: &[],
            groups: &[],
        };
        for check in &self.checks {
            if let Some(field) = known.get(*check).filter(|field| !known.agrees(field)) {
                let offset = known.span(field).map_or(0, |(start, _)| start);
                return self.damaged(*check, offset, StopReason::Unequal);
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

    /// The number of bytes, at least one, before the next place where a record may begin, after [`next_record`](Self::next_record)
    /// has found damage at their start: after the next delimiter, or where all values are found that `equals` requires at fixed
    /// positions. `None` when there is no such place in `bytes`, or the layout has neither. Costs a few instructions a byte.
    #[must_use]
    pub fn resync(&self, bytes: &[u8]) -> Option<usize> {
        if let Cutting::Delimited(mark) = &self.cutting {
            return find(bytes, mark).map(|at| at + mark.len());
        }
        if self.checks.is_empty() {
            return None;
        }
        (1..bytes.len()).find(|passed| {
            let known = KnownFields {
                fields: &self.fields,
                bytes: bytes.get(*passed..).unwrap_or_default(),
                slots: &[],
                groups: &[],
            };
            let mut checks = self.checks.iter().filter_map(|check| known.get(*check));
            checks.all(|field| known.agrees(field))
        })
    }

    fn damaged(&self, field: u16, offset: usize, reason: StopReason) -> Framing<'_> {
        Framing::Damaged(self.stop(Halt {
            field,
            offset,
            reason,
        }))
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
            _ => self.damaged(NONE, 0, StopReason::Length { value, least, most }),
        }
    }

    fn no_length(&self, trouble: EvalError, available: usize) -> Framing<'_> {
        match trouble {
            EvalError::Cut(needed) => self.need(needed, available),
            _ => self.damaged(NONE, 0, StopReason::NoValue),
        }
    }

    /// Requests more bytes, unless no record can be that long.
    fn need(&self, needed: usize, available: usize) -> Framing<'_> {
        let most = self.record_len_max;
        if needed > most {
            let value = i64::try_from(needed).unwrap_or(i64::MAX);
            let least = self.prefix.max(1) as usize;
            return self.damaged(NONE, 0, StopReason::Length { value, least, most });
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
            None if bytes.len() >= longest => self.damaged(NONE, 0, StopReason::Unterminated),
            None => Framing::More {
                at_least: bytes.len() + 1,
            },
        }
    }

    /// Runs steps to learn where the record ends. The state lies on the stack, as this function has
    /// no row; the compiler of layouts keeps the number of slots within it.
    fn cut_by_fields(&self, length: Option<&Expr>, steps: usize, bytes: &[u8]) -> Framing<'_> {
        let mut slots = [FieldSlot::Absent; Self::FRAMING_FIELDS_MAX];
        let mut groups = [false; Self::FRAMING_FIELDS_MAX];
        let mut machine = Machine::new(self, bytes, &mut slots, &mut groups);
        if let Err(halt) = machine.run(steps) {
            return match halt.reason {
                StopReason::Cut { needed, .. } => self.need(needed, bytes.len()),
                StopReason::Unterminated if bytes.len() < self.record_len_max => {
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
}
