//! Tables: lists of columns, and the Arrow schemas that they make.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::{Schema, SchemaRef};
use weir_flow::Tunnels;
use weir_packet::{Kind, Needs, fields};

use crate::batch::Batch;
use crate::column::{Column, Origin, Since};
use crate::extract::Settings;
use crate::extract::extraction::{Extract, Extraction};
use crate::header::Header;
use crate::kept;

/// A table: its columns in order, and the Arrow schema that they make.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Arc<[Column]>,
    schema: SchemaRef,
    extraction: Option<&'static Extraction>,
    settings: Arc<Settings>,
    /// Whether no columns were left out.
    is_whole: bool,
}

/// The columns of [`Origin::Since`], with their descriptions.
const SINCE: &[(&str, Since, &str)] = &[
    (
        "frame.time_relative",
        Since::First,
        "Seconds since the first record of the file; NULL where either has no time",
    ),
    (
        "frame.time_delta",
        Since::Previous,
        "Seconds since the previous record in the file, whichever rows the query selects; 0 for the first, NULL where either has no time",
    ),
];

impl Table {
    /// The packets table, which every capture has. A process makes it once: it has hundreds of columns, and most other tables take some
    /// of theirs from it.
    #[must_use]
    pub fn packets() -> Self {
        static PACKETS: LazyLock<Table> = LazyLock::new(Table::of_packets);
        PACKETS.clone()
    }

    fn of_packets() -> Self {
        let file = Column {
            name: "frame.file".into(),
            kind: Kind::Text,
            doc: "Path of the capture file that holds the record".into(),
            reference: "weir".into(),
            origin: Origin::File,
        };
        let mut columns: Vec<Column> = packet_columns().collect();
        columns.insert(0, file);
        let time = columns
            .iter()
            .position(|column| &*column.name == "frame.time");
        let since = SINCE.iter().map(|(name, since, doc)| Column {
            name: (*name).into(),
            kind: Kind::F64,
            doc: (*doc).into(),
            reference: "capture format".into(),
            origin: Origin::Since(*since),
        });
        let behind = time.map_or(columns.len(), |time| time + 1);
        columns.splice(behind..behind, since);
        Self::new(columns)
    }

    /// The table of records of a user-defined layout: its own columns, and those of the packets that the records carry,
    /// if the layout declares them. A column of the layout hides a packet's column of the same name.
    #[must_use]
    pub fn records(layout: &weir_layout::Layout) -> Self {
        let own = layout
            .columns()
            .iter()
            .enumerate()
            .map(|(index, column)| Column {
                name: column.name.as_str().into(),
                kind: column.kind,
                doc: column.doc.as_str().into(),
                reference: "record layout".into(),
                origin: Origin::Layout(index),
            });
        let mut columns: Vec<Column> = own.collect();
        if layout.payload_starts().next().is_some() {
            let of_layout = columns.len();
            for column in packet_columns() {
                let mut own = columns.iter().take(of_layout);
                if !own.any(|own| own.name == column.name) {
                    columns.push(column);
                }
            }
        }
        Self::new(columns)
    }

    pub(crate) fn new(columns: Vec<Column>) -> Self {
        let schema = Schema::new(columns.iter().map(Column::arrow_field).collect::<Vec<_>>());
        Self {
            columns: columns.into(),
            schema: Arc::new(schema),
            extraction: None,
            settings: Arc::default(),
            is_whole: true,
        }
    }

    /// A table of messages, connections or other contents of packets.
    #[must_use]
    pub fn extracted(extraction: &'static Extraction) -> Self {
        Self {
            extraction: Some(extraction),
            ..Self::new((extraction.columns)())
        }
    }

    /// The same table with the settings of its named arguments.
    #[must_use]
    pub fn with_settings(self, settings: Settings) -> Self {
        Self {
            settings: Arc::new(settings),
            ..self
        }
    }

    /// The settings of named arguments.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Creates a batch of the columns at these positions.
    ///
    /// # Panics
    /// When a position is not in the table.
    #[must_use]
    pub fn batch(&self, projection: &[usize]) -> Batch {
        let columns = projection.iter().map(|at| self.columns[*at].clone());
        let fields = projection.iter();
        let fields = fields.map(|at| Arc::clone(&self.schema.fields()[*at]));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        Batch::new(columns.collect(), Arc::new(schema))
    }

    /// Starts the extraction that makes the rows, unless they are packets or records.
    pub(crate) fn start(&self) -> Option<Box<dyn Extract>> {
        Some(self.extraction?.start(&self.settings))
    }

    /// The same table with the whole record as its last column, [`crate::RECORD_COLUMN`]; only tables whose rows are
    /// the records of captures have it.
    #[must_use]
    pub fn with_records(&self) -> Self {
        let mut columns = self.columns.to_vec();
        columns.push(kept::column());
        Self {
            extraction: self.extraction,
            settings: Arc::clone(&self.settings),
            ..Self::new(columns)
        }
    }

    /// The same table with only those columns that are wanted.
    #[must_use]
    pub fn with_columns(&self, is_wanted: impl Fn(&Column) -> bool) -> Self {
        let columns = self.columns.iter().filter(|column| is_wanted(column));
        Self {
            extraction: self.extraction,
            settings: Arc::clone(&self.settings),
            is_whole: false,
            ..Self::new(columns.cloned().collect())
        }
    }

    /// The column of this name over repeated headers, such as `vlan.id[2]` or `mpls.label[:]`: see
    /// [`Header`]. `None` when the name in front of the brackets is no field of a header.
    #[must_use]
    pub fn header_column(&self, name: &str) -> Option<Column> {
        let (base, _) = name.split_once('[')?;
        let base = self.columns.get(self.position(base)?)?;
        Header::column(base, name)
    }

    /// The same table with those of the names that are columns over repeated headers as its last columns.
    #[must_use]
    pub fn with_header_columns<'n>(&self, names: impl Iterator<Item = &'n str>) -> Self {
        let mut columns = self.columns.to_vec();
        columns.extend(names.filter_map(|name| self.header_column(name)));
        Self {
            extraction: self.extraction,
            settings: Arc::clone(&self.settings),
            is_whole: self.is_whole,
            ..Self::new(columns)
        }
    }

    /// Whether all columns are present.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// The extraction that makes the rows, unless they are packets or records.
    #[must_use]
    pub const fn extraction(&self) -> Option<&'static Extraction> {
        self.extraction
    }

    /// The headers that the extraction needs.
    pub(crate) fn needs(&self) -> impl Iterator<Item = Needs> {
        let own = self
            .extraction
            .map_or(&[][..], |extraction| extraction.needs);
        let inner = self.settings.flows.tunnels == Tunnels::Inner;
        own.iter().copied().chain(inner.then_some(Needs::All))
    }

    /// The columns in order.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The Arrow schema, a field a column in the same order.
    #[must_use]
    pub const fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The position of the column with this name.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| &*column.name == name)
    }
}

fn packet_columns() -> impl Iterator<Item = Column> {
    fields().map(|(field, needs)| Column {
        name: field.name.into(),
        kind: field.get.kind(),
        doc: field.doc.into(),
        reference: field.reference.into(),
        origin: Origin::Packet(field, needs),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::is_address;

    #[test]
    fn the_packets_table_is_made_once() {
        let (one, other) = (Table::packets(), Table::packets());
        assert!(Arc::ptr_eq(one.schema(), other.schema()));
    }

    #[test]
    fn the_packets_table_has_typed_columns_by_wiresharks_names() {
        let table = Table::packets();
        for (name, kind) in [
            ("frame.file", Kind::Text),
            ("frame.time", Kind::Time),
            ("frame.time_delta", Kind::F64),
            ("ip.src", Kind::Address),
            ("udp.dstport", Kind::U16),
        ] {
            let position = table.position(name).unwrap();
            assert_eq!(table.columns()[position].kind, kind);
            let is_kind_address = kind == Kind::Address;
            assert_eq!(is_address(table.schema().field(position)), is_kind_address);
        }
        assert_eq!(table.position("ip.source"), None);
    }
}
