//! The columns of tables: their types, documentation and origin.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field as ArrowField, TimeUnit};
use weir_packet::{Field, Kind, Layer, Needs};

use crate::header::Header;
use crate::vocabulary::{VOCABULARY_KEY, Vocabulary};

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

    pub(crate) fn arrow_field(&self) -> ArrowField {
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
