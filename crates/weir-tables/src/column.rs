//! Tables: their columns, types and documentation.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, Field as ArrowField, Schema, SchemaRef, TimeUnit};
use weir_flow::Tunnels;
use weir_packet::{Field, Kind, Layer, Needs, fields};

use crate::extract::Extract;
use crate::header::Header;
use crate::vocabulary::{VOCABULARY_KEY, Vocabulary};
use crate::{Extraction, Settings, kept};

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

/// One column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name, lower case, such as `ip.src`.
    pub name: Arc<str>,
    /// Type of the values.
    pub kind: Kind,
    /// The meaning, in one line.
    pub doc: Arc<str>,
    /// The definition: an RFC with its section, a clause of a standard.
    pub reference: Arc<str>,
    /// The origin of its values.
    pub origin: Origin,
}

/// The origin of the values of a column.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Origin {
    /// The path of the file that is read.
    File,
    /// A field of the packet, and the headers that must be decoded for it.
    Packet(&'static Field, Needs),
    /// A field of a user-defined record layout, by its number there.
    Layout(usize),
    /// A field of an item of an extraction, by its number there.
    Item(usize),
    /// The whole record, see [`crate::RECORD_COLUMN`].
    Record,
    /// The time since another record of the same file.
    Since(Since),
    /// A field of one of the headers of a protocol that a packet has several of, or of all of them.
    Header(Header),
}

/// The record of a file from which a time is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The first one.
    First,
    /// The one before.
    Previous,
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

impl Column {
    /// The protocol whose header has the value; `None` for values of the capture itself.
    #[must_use]
    pub fn layer(&self) -> Option<Layer> {
        match self.origin {
            Origin::Packet(_, Needs::Layer(layer)) => Some(layer),
            _ => None,
        }
    }

    /// The headers that the column needs.
    #[must_use]
    pub fn needs(&self) -> Needs {
        match self.origin {
            Origin::Packet(_, needs) => needs,
            Origin::File
            | Origin::Layout(_)
            | Origin::Item(_)
            | Origin::Record
            | Origin::Since(_) => Needs::Record,
            Origin::Header(_) => Needs::All,
        }
    }

    fn arrow_field(&self) -> ArrowField {
        let is_address = self.kind == Kind::Address;
        let data_type = data_type(self.kind);
        let field = ArrowField::new(&*self.name, data_type, true);
        // The columns of a layout are named by its author, and their texts are no vocabulary of weir.
        let is_own = matches!(self.origin, Origin::Packet(..) | Origin::Item(_));
        if Vocabulary::of(&self.name).is_some_and(|_| is_own && self.kind == Kind::Text) {
            field.with_metadata([(VOCABULARY_KEY.to_owned(), self.name.to_string())].into())
        } else if is_address {
            field.with_metadata([(EXTENSION_KEY.to_owned(), ADDRESS_EXTENSION.to_owned())].into())
        } else {
            field
        }
    }
}

/// The Arrow type of values of a kind.
#[must_use]
pub fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Bool => DataType::Boolean,
        Kind::U8 => DataType::UInt8,
        Kind::U16 => DataType::UInt16,
        Kind::U32 => DataType::UInt32,
        Kind::U64 => DataType::UInt64,
        Kind::I64 => DataType::Int64,
        Kind::F64 => DataType::Float64,
        Kind::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        // Views hold up to 12 bytes in place: IPv4 and MAC addresses need no second look-up.
        Kind::Address | Kind::Bytes => DataType::BinaryView,
        Kind::Text => DataType::Utf8View,
        Kind::Texts => DataType::List(item(DataType::Utf8)),
        Kind::Numbers => DataType::List(item(DataType::UInt32)),
    }
}

/// The field of a list's items, by the name that Arrow's builders give it.
fn item(data_type: DataType) -> Arc<ArrowField> {
    Arc::new(ArrowField::new(
        ArrowField::LIST_FIELD_DEFAULT_NAME,
        data_type,
        true,
    ))
}

/// Whether an Arrow field holds addresses: 4, 6, 8 or 16 bytes in network order.
#[must_use]
pub fn is_address(field: &ArrowField) -> bool {
    field.metadata().get(EXTENSION_KEY).map(String::as_str) == Some(ADDRESS_EXTENSION)
}

/// Arrow's key for the name of an extension type.
const EXTENSION_KEY: &str = "ARROW:extension:name";
/// Name of the extension type of addresses.
pub const ADDRESS_EXTENSION: &str = "weir.address";

#[cfg(test)]
mod tests {
    use super::*;

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
