//! Assigns rows to windows, and decides when windows close.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, UInt32Array, UInt64Array};
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::utils::evaluate_expressions_to_arrays;

use super::keys::KeyTable;
use super::length::{from_numbers, origin, start, to_numbers};

/// A kind of window, with its expressions.
#[derive(Clone, Debug)]
pub(crate) enum Window {
    /// All of one length, a slide apart: `tumble` and `hop`.
    Fixed {
        /// The times or numbers that windows divide.
        over: Arc<dyn PhysicalExpr>,
        size: i64,
        /// The slide; for `tumble` the length of the window.
        slide: i64,
    },
    /// Rows of one key with no gap between two that is longer than `gap`.
    Session {
        over: Arc<dyn PhysicalExpr>,
        gap: i64,
        keys: Vec<Arc<dyn PhysicalExpr>>,
    },
    /// Rows of one key, up to one for which the predicate holds.
    ClosedBy {
        predicate: Arc<dyn PhysicalExpr>,
        keys: Vec<Arc<dyn PhysicalExpr>>,
    },
}

impl Window {
    /// The expression that must rise from row to row for windows to close before the end of the input.
    pub(crate) const fn over(&self) -> Option<&Arc<dyn PhysicalExpr>> {
        match self {
            Self::Fixed { over, .. } | Self::Session { over, .. } => Some(over),
            Self::ClosedBy { .. } => None,
        }
    }
}

/// The windows of the rows of a batch.
pub(crate) struct Assigned {
    /// The row of the batch for each element of `windows`; `None` when each row is in one window.
    pub(crate) rows: Option<UInt32Array>,
    /// The values of the window's column.
    pub(crate) windows: ArrayRef,
    /// When each window closes: it is over as soon as a row comes that has this or more.
    pub(crate) closes: Vec<i64>,
    /// The last row has this: what closes by then is over.
    pub(crate) now: i64,
}

/// Assigns windows to rows, and keeps the open sessions and windows.
pub(crate) struct Assigner {
    window: Window,
    kind: DataType,
    open: Option<Open>,
}

/// The open windows of a key.
struct Open {
    keys: KeyTable,
    windows: Vec<OpenWindow>,
    opened: u64,
    numbers: Vec<usize>,
}

#[derive(Clone, Copy)]
struct OpenWindow {
    /// The value of the window's column.
    value: i64,
    closes: i64,
}

impl Assigner {
    /// An assigner of windows whose column has this type, for rows of this schema.
    pub(crate) fn new(
        window: &Window,
        kind: DataType,
        input: &arrow::datatypes::Schema,
    ) -> Result<Self> {
        let open = match window {
            Window::Fixed { .. } => None,
            Window::Session { keys, .. } | Window::ClosedBy { keys, .. } => {
                let kinds = keys.iter().map(|key| key.data_type(input));
                Some(Open {
                    keys: KeyTable::new(&kinds.collect::<Result<Vec<_>>>()?)?,
                    windows: Vec::new(),
                    opened: 0,
                    numbers: Vec::new(),
                })
            }
        };
        Ok(Self {
            window: window.clone(),
            kind,
            open,
        })
    }

    /// Bytes held.
    pub(crate) fn size(&self) -> usize {
        self.open.as_ref().map_or(0, |open| {
            let windows = open.windows.len().saturating_mul(size_of::<OpenWindow>());
            open.keys.size().saturating_add(windows)
        })
    }

    /// The windows of the rows of a batch.
    pub(crate) fn assign(&mut self, batch: &RecordBatch) -> Result<Assigned> {
        let rows = batch.num_rows();
        let over = match self.window.over() {
            Some(over) => Some(to_numbers(&over.evaluate(batch)?.into_array(rows)?)?),
            None => None,
        };
        match (&self.window, over, &mut self.open) {
            (Window::Session { gap, keys, .. }, Some(times), Some(open)) => {
                open.number(keys, batch)?;
                let (windows, closes) = open.sessions(&times, *gap);
                Ok(Assigned {
                    rows: None,
                    windows: from_numbers(windows, &self.kind)?,
                    closes,
                    now: last(&times),
                })
            }
            (Window::ClosedBy { predicate, keys }, _, Some(open)) => {
                open.number(keys, batch)?;
                let closing = predicate.evaluate(batch)?.into_array(rows)?;
                let (windows, closes) = open.closed_by(closing.as_boolean());
                Ok(Assigned {
                    rows: None,
                    windows: Arc::new(windows),
                    closes,
                    now: CLOSED,
                })
            }
            (Window::Fixed { size, slide, .. }, Some(times), _) => {
                fixed(&times, *size, *slide, &self.kind)
            }
            _ => datafusion::common::internal_err!("a window of another kind than its state"),
        }
    }

    /// Forgets the keys whose windows have closed by `now`.
    pub(crate) fn forget(&mut self, now: i64) -> Result<()> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        if open.windows.iter().all(|window| window.closes > now) {
            return Ok(());
        }
        let keep = open.windows.iter().map(|window| Some(window.closes > now));
        let keep: BooleanArray = keep.collect();
        open.keys.take(&keep)?;
        open.windows.retain(|window| window.closes > now);
        Ok(())
    }
}

impl Open {
    /// Numbers the keys of the rows.
    fn number(&mut self, keys: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch) -> Result<()> {
        let keys = evaluate_expressions_to_arrays(keys, batch)?;
        let Self {
            keys: table,
            numbers,
            windows,
            ..
        } = self;
        table.number(&keys, batch.num_rows(), numbers)?;
        // A key that is new has no window yet.
        let none = OpenWindow {
            value: 0,
            closes: CLOSED,
        };
        windows.resize(table.len(), none);
        Ok(())
    }

    /// Sessions begin with a key's first row, and with one later than the gap after the one before.
    fn sessions(&mut self, times: &Int64Array, gap: i64) -> (Int64Array, Vec<i64>) {
        let mut closes = Vec::with_capacity(times.len());
        let starts = times.iter().zip(&self.numbers).map(|(time, number)| {
            let (Some(time), Some(open)) = (time, self.windows.get_mut(*number)) else {
                closes.push(i64::MAX);
                return None;
            };
            if time >= open.closes {
                open.value = time;
            }
            // A row just a gap after the last still belongs to it.
            open.closes = time.saturating_add(gap).saturating_add(1);
            closes.push(open.closes);
            Some(open.value)
        });
        let starts = starts.collect();
        (starts, closes)
    }

    fn closed_by(&mut self, closing: &BooleanArray) -> (UInt64Array, Vec<i64>) {
        let mut closes = Vec::with_capacity(closing.len());
        let opened = &mut self.opened;
        let windows = closing.iter().zip(&self.numbers).map(|(is_last, number)| {
            let open = self.windows.get_mut(*number)?;
            if open.closes == CLOSED {
                *opened = opened.saturating_add(1);
                open.value = i64::try_from(*opened).unwrap_or(i64::MAX);
            }
            open.closes = match is_last {
                Some(true) => CLOSED,
                _ => i64::MAX,
            };
            closes.push(open.closes);
            u64::try_from(open.value).ok()
        });
        let windows = windows.collect();
        (windows, closes)
    }
}

fn fixed(times: &Int64Array, size: i64, slide: i64, kind: &DataType) -> Result<Assigned> {
    let origin = origin(kind);
    if size == slide {
        let starts: Int64Array = times.unary(|time| start(time, size, origin));
        let closes = starts.iter().map(|start| closes(start, size)).collect();
        return Ok(Assigned {
            rows: None,
            windows: from_numbers(starts, kind)?,
            closes,
            now: last(times),
        });
    }
    let (mut rows, mut starts) = (Vec::new(), Vec::new());
    for (row, time) in (0_u32..).zip(times) {
        let Some(time) = time else {
            rows.push(row);
            starts.push(None);
            continue;
        };
        let newest = start(time, slide, origin);
        // This is the oldest window that still reaches the row; the rest of a window that is not a multiple of the
        // slide reaches some rows only.
        let mut oldest = newest;
        while let Some(before) = oldest.checked_sub(slide)
            && before.checked_add(size).is_some_and(|end| end > time)
        {
            oldest = before;
        }
        while oldest <= newest {
            rows.push(row);
            starts.push(Some(oldest));
            match oldest.checked_add(slide) {
                Some(next) => oldest = next,
                None => break,
            }
        }
    }
    let closes = starts.iter().map(|start| closes(*start, size)).collect();
    Ok(Assigned {
        rows: Some(rows.into()),
        windows: from_numbers(starts.into(), kind)?,
        closes,
        now: last(times),
    })
}

/// Rows without a time are in a window of their own, which is open to the end.
fn closes(start: Option<i64>, size: i64) -> i64 {
    start.map_or(i64::MAX, |start| start.saturating_add(size))
}

/// The last of the values that rise; those that are NULL stand behind them.
fn last(times: &Int64Array) -> i64 {
    let known = times.len().saturating_sub(times.null_count());
    match known.checked_sub(1) {
        Some(index) => times.value(index),
        None => i64::MIN,
    }
}

/// The end of windows that have closed.
const CLOSED: i64 = i64::MIN;
