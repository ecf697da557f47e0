//! A display filter, from its text to its decision on packets.

use std::fmt;
use std::sync::Arc;

use weir_filter::{Error, parse};
use weir_packet::{Needs, Options as DecodeOptions};

use super::messages::Messages;
use super::reader::FilterReader;
use super::{At, Test};
use crate::{Column, Origin, PacketFilter, Row, Source as File, Table};

/// A display filter that is ready to decide on packets.
#[derive(Clone, Debug)]
pub struct DisplayFilter {
    text: String,
    test: Test,
    /// The columns of packets that are read.
    columns: Vec<Column>,
    /// The tests on messages.
    messages: Arc<Messages>,
}

impl DisplayFilter {
    /// Reads a filter and finds its fields.
    ///
    /// When it does not parse, or has an unknown field: what is wrong, where, and what to write instead.
    pub fn new(text: &str) -> Result<Self, Error> {
        let filter = parse(text)?;
        let table = Table::packets();
        let mut reader = FilterReader::new(&table);
        let test = reader.test(&filter)?.prepared();
        let (mut columns, messages) = reader.finish();
        // The bytes of a frame are available without its headers.
        if !test.is_of_record()
            && let Some(position) = table.position("frame.layers")
            && let Some(column) = table.columns().get(position)
        {
            columns.push(column.clone());
        }
        // Headers in tunnels have values, too.
        for column in &mut columns {
            if let Origin::Packet(_, needs) = &mut column.origin
                && *needs != Needs::Record
            {
                *needs = Needs::All;
            }
        }
        Ok(Self {
            text: text.to_owned(),
            test,
            columns,
            messages,
        })
    }
}

impl PacketFilter for DisplayFilter {
    fn passes(&self, row: &Row<'_>) -> bool {
        self.test.holds(&At::Packet(row))
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn has_messages(&self) -> bool {
        !self.messages.is_empty()
    }

    fn read_messages_of(&self, files: &[File], decode: &DecodeOptions) {
        self.messages.set_files(files, decode);
    }

    fn notes(&self) -> Vec<String> {
        self.messages.notes()
    }
}

impl fmt::Display for DisplayFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "display_filter('{}')", self.text.replace('\'', "''"))
    }
}
