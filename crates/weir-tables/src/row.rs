//! A row, from which predicates and columns read their values.

use weir_layout::View;
use weir_packet::{Field, Get, Packet, Value};

use crate::{Column, Origin, Since};

/// A decoded record, from which the columns of a table read their values.
#[derive(Clone, Copy)]
pub struct Row<'r> {
    pub(crate) file: &'r str,
    pub(crate) packet: &'r Packet<'r>,
    pub(crate) view: Option<&'r View<'r>>,
    pub(crate) item: Option<&'r dyn Item>,
    pub(crate) times: Option<&'r Times>,
}

/// An item that an extraction found: the values of its own columns.
pub(crate) trait Item {
    /// The value of the extraction's own column number `index`; `None` for NULL.
    fn value(&self, index: usize) -> Option<Value<'_>>;

    /// The number among the records of all files of the record that completed the row, of extractors that
    /// [keep](crate::extract::extraction::Extract::keeps_records) such numbers; of one that its message came in where the end of the
    /// captures completed it; `None` where none is known.
    fn record(&self) -> Option<u64> {
        None
    }
}

/// The time of the record of a row, and the times of its file to which others are relative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    has_begun: bool,
    first_ns: Option<i64>,
    previous_ns: Option<i64>,
    own_ns: Option<i64>,
}

impl Times {
    /// Updates the times for the next record.
    #[inline]
    pub(crate) fn pass(&mut self, time_ns: Option<i64>) {
        if self.has_begun {
            self.previous_ns = self.own_ns;
        } else {
            (self.first_ns, self.previous_ns) = (time_ns, time_ns);
            self.has_begun = true;
        }
        self.own_ns = time_ns;
    }

    /// The seconds since another record.
    fn since(&self, since: Since) -> Option<f64> {
        let then = match since {
            Since::First => self.first_ns?,
            Since::Previous => self.previous_ns?,
        };
        // A product with 1e-9 would be one bit off here and there.
        let ns = i128::from(self.own_ns?) - i128::from(then);
        Some(ns as f64 / 1e9)
    }
}

impl<'r> Row<'r> {
    /// A packet from the capture at `file`.
    #[must_use]
    pub const fn new(file: &'r str, packet: &'r Packet<'r>) -> Self {
        Self {
            file,
            packet,
            view: None,
            item: None,
            times: None,
        }
    }

    /// The same row with the times of the record.
    pub(crate) const fn with_times(self, times: &'r Times) -> Self {
        Self {
            times: Some(times),
            ..self
        }
    }

    /// The same row with the record of a layout around the packet.
    #[must_use]
    pub const fn with_view(self, view: &'r View<'r>) -> Self {
        Self {
            view: Some(view),
            ..self
        }
    }

    /// The same row of another packet.
    pub(crate) const fn of_packet(self, packet: &'r Packet<'r>) -> Self {
        Self { packet, ..self }
    }

    /// The same row of the capture at `file`.
    pub(crate) const fn in_file(self, file: &'r str) -> Self {
        Self { file, ..self }
    }

    /// The same row with an item that an extraction found in the packet.
    pub(crate) const fn with_item(self, item: &'r dyn Item) -> Self {
        Self {
            item: Some(item),
            ..self
        }
    }

    /// Passes on a row for each packet that the frame carries side by side with others.
    #[cold]
    pub(crate) fn each_subframe(&self, visit: &mut dyn FnMut(&Row<'_>)) {
        let row = *self;
        row.packet
            .each_subframe(&mut |packet| visit(&Row { packet, ..row }));
    }

    /// A value of the record of a layout, an item, a relative time or one of several headers; `None` for other columns.
    #[inline]
    pub(crate) fn given(&self, origin: Origin) -> Option<Value<'r>> {
        match origin {
            Origin::Layout(index) => self.view?.value(index),
            Origin::Item(index) => self.item?.value(index),
            Origin::Since(since) => self.times?.since(since).map(Value::Float),
            Origin::Header(header) => header.copied(self.packet),
            Origin::File | Origin::Packet(..) | Origin::Record => None,
        }
    }
}

/// Calls `f` with the text of a column; with `None` for NULL and for other types.
#[inline]
pub(crate) fn with_text<T>(column: &Column, row: &Row<'_>, f: impl FnOnce(&str) -> T) -> Option<T> {
    match column.origin {
        Origin::File => Some(f(row.file)),
        Origin::Packet(Field { get, .. }, _) => match get {
            Get::Text(get) => get(row.packet).map(f),
            Get::Write(write) => {
                let mut text = String::new();
                match write(row.packet, &mut text) {
                    Ok(true) => Some(f(&text)),
                    _ => None,
                }
            }
            _ => None,
        },
        origin => match row.given(origin)? {
            Value::Text(text) => Some(f(text)),
            _ => None,
        },
    }
}
