//! A table that is made from packets: its columns, and the extractor of its rows.

use std::fmt;

use weir_flow::Scope;
use weir_packet::{Needs, Packet};

pub(crate) use super::item_field::{ItemField, columns};
use super::networks::Networks;
use super::note::Note;
use super::settings::{Setting, Settings};
use crate::row::Item;
use crate::rows::Rows;
use crate::{Column, Origin, Row};

/// A table made from the packets of captures, such as `sip`.
pub struct Extraction {
    /// The name of the table in FROM.
    pub name: &'static str,
    /// The rows, in one line: `one row a SIP message`.
    pub doc: &'static str,
    /// The columns in order.
    pub(crate) columns: fn() -> Vec<Column>,
    /// The headers that it needs.
    pub(crate) needs: &'static [Needs],
    /// Starts an extractor for captures that were not read yet.
    pub(super) start: fn(&Settings) -> Box<dyn Extract>,
    /// The named arguments besides those of every capture, each with its meaning.
    pub(crate) arguments: &'static [(&'static str, &'static str)],
    /// Other names of columns, and which columns these are.
    pub aliases: &'static [(&'static str, &'static str)],
}

impl Extraction {
    /// Whether each row is a packet, so that its record can be written with it.
    #[must_use]
    pub fn is_of_packets(&self) -> bool {
        (self.columns)().iter().any(|column| {
            &*column.name == "frame.number" && matches!(column.origin, Origin::Packet(..))
        })
    }

    /// Starts an extractor for captures that were not read yet, or one for each network if the settings tell them apart.
    pub(crate) fn start(&self, settings: &Settings) -> Box<dyn Extract> {
        // Flows have the VLAN in their keys, and the tables of flows as many arguments as that takes.
        let is_of_flows = self.arguments().any(|argument| argument == "tunnels");
        match settings.flows.scope == Scope::Vlan && !is_of_flows {
            true => Box::new(Networks::new(self.start, settings)),
            false => (self.start)(settings),
        }
    }

    /// Names of the arguments that [`Self::set`] takes.
    pub fn arguments(&self) -> impl Iterator<Item = &'static str> {
        self.arguments.iter().map(|(name, _)| *name)
    }

    /// Sets a named argument.
    ///
    /// The expected value when the given one is of another kind; empty when there is no such argument.
    pub fn set(
        &self,
        settings: &mut Settings,
        name: &str,
        value: Option<Setting<'_>>,
    ) -> Result<(), &'static str> {
        let known = self.arguments.iter().find(|(known, _)| *known == name);
        let (name, expected) = known.copied().ok_or("")?;
        match value {
            Some(value) if settings.set_named(name, value) => Ok(()),
            _ => Err(expected),
        }
    }
}

/// Extractions with the same name are equal.
impl PartialEq for Extraction {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Extraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Makes rows out of packets.
pub(crate) trait Extract: Send {
    /// Gets the columns that the rows and the predicate need, before the first packet: the extractor may leave out work
    /// that only other columns need.
    fn set_columns(&mut self, _columns: &[Column]) {}

    /// Returns whether the extractor keeps the numbers of records until their rows are pushed, perhaps while another file is
    /// read. It is given numbers among the records of all files then, which [`Item::record`] returns, and whose columns are
    /// made by [`frame`](super::value::frame).
    fn keeps_records(&self) -> bool {
        false
    }

    /// Reads a packet, and pushes the rows that it completes. A packet should complete no more than a few.
    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows);

    /// Pushes the rows that are still open after the last packet of the last source: returns true when
    /// `rows.is_full()`, and is called again; false when there are no more.
    fn finish(&mut self, _rows: &mut Rows) -> bool {
        false
    }

    /// The limits that were reached, and what was given up for them, for the closing report.
    fn notes(&self) -> Vec<Note> {
        Vec::new()
    }
}

/// Pushes a row that belongs to no packet in particular. An item that has a [record](Item::record) is of the file of that.
pub(crate) fn push_item(rows: &mut Rows, file: &str, item: &dyn Item) {
    let packet = Packet::none();
    rows.push_row(&Row::new(file, &packet).with_item(item));
}
