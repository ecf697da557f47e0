//! Reads binary records of any format by a layout that its user writes.
//!
//! A layout is a small TOML text: how records are cut out of the file, where fields lie and what
//! they mean, and which known protocol the payload is in. `docs/reference/record-layouts.md` is its
//! reference.
//!
//! ```
//! use weir_packet::Value;
//! use weir_layout::{Framing, Layout};
//!
//! let text = r#"
//!     field = [
//!         { name = "length", type = "u16" },
//!         { name = "message_type", bits = 4, enum = { 1 = "data", 2 = "status" } },
//!         { name = "flags", bits = 4 },
//!     ]
//!     record.length = "length"
//! "#;
//! let layout = Layout::parse(text, &mut |path| Err(format!("{path} is not there")))?;
//! let file = [0, 5, 0x21, 0xaa, 0xbb];
//! assert_eq!(layout.next_record(&file), Framing::Record { len: 5 });
//! let mut row = layout.row();
//! let view = layout.decode(&file, &mut row);
//! assert_eq!(layout.columns()[2].name, "message_type_name");
//! assert_eq!(view.value(2), Some(Value::Text("status")));
//! assert!(view.stop().is_none());
//! # Ok::<(), weir_layout::LayoutError>(())
//! ```
//!
//! Loading checks everything that can be checked without records and says in which line and column the fault lies
//! ([`LayoutError`]). A compiled layout is a list of fields with fixed places, and of steps for fields whose place
//! depends on others ([`Row`] keeps the places that these find). Records that are damaged or cut are still rows;
//! [`View::stop`] says what was wrong. Everything that a layout or a record could make grow has a limit, a constant of
//! [`Layout`].
//!
//! This crate deliberately does not know files, SQL or how packets are decoded: it returns the payload and what
//! it starts with ([`Start`]).

mod compile;
mod decode;
mod draft;
mod entry;
mod error;
mod expression;
mod extend;
mod field;
mod finish;
mod framing;
mod machine;
mod number;
mod parser;
mod payload;
mod place;
mod plain;
mod read;
mod row;
mod source;
mod stop;
mod time;
mod types;
mod view;

#[cfg(test)]
mod tests;

pub use error::{ErrorKind, LayoutError};
pub use framing::Framing;
pub use payload::Start;
pub use row::Row;
pub use stop::{Stop, StopReason};
pub use view::View;

use decode::PayloadRule;
use field::Field;
use framing::Cutting;
use machine::MachineStep;
use view::TimeSource;

use weir_packet::Kind;

/// A layout that has been checked and is ready to decode records.
#[derive(Clone, Debug)]
pub struct Layout {
    name: String,
    doc: String,
    columns: Vec<Column>,
    /// The source of each column.
    outputs: Vec<ColumnOutput>,
    fields: Vec<Field>,
    steps: Vec<MachineStep>,
    enums: Vec<ValueNames>,
    kinds: Vec<Box<str>>,
    payloads: Vec<PayloadRule>,
    slots: u16,
    groups: u16,
    /// End of the fields that every record has at the same place.
    fixed_end: u32,
    /// Bytes that must be there before a record can be cut out.
    prefix: u32,
    /// Fields with a required value that are checked when a record is cut out.
    checks: Vec<u16>,
    cutting: Cutting,
    record_len_max: usize,
    time: Option<TimeSource>,
    wire_len: Option<expression::Expr>,
    /// Steps that time and wire length need.
    ready_for_frame: u16,
    file_header_len: u32,
    magic: Option<(usize, Box<[u8]>)>,
}

/// Names of numbers, sorted by number.
type ValueNames = Box<[(i64, Box<str>)]>;

/// A column of the table that a layout makes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Column {
    /// The name in lower case, with dots between words if the layout has them.
    pub name: String,
    /// Type of the values.
    pub kind: Kind,
    /// The meaning in the layout; may be empty.
    pub doc: String,
    /// Unit of the values, when the layout gives one.
    pub unit: Option<String>,
}

/// The source of a column.
#[derive(Clone, Copy, Debug)]
enum ColumnOutput {
    Field(u16),
    /// The name that an enumeration has for a field's value.
    Name {
        field: u16,
        enumeration: u16,
    },
    /// The name of the record's kind.
    Kind,
}

impl Layout {
    /// Bytes of one text, at most.
    pub const TEXT_LEN_MAX: usize = 1 << 20;
    /// Layouts that one extends, directly and through others, at most.
    pub const EXTENDS_MAX: usize = 8;
    /// Fields, also those without a column, at most.
    pub const FIELDS_MAX: usize = 1024;
    /// Groups of fields inside each other, at most.
    pub const GROUP_DEPTH_MAX: usize = 8;
    /// Kinds of records, at most.
    pub const KINDS_MAX: usize = 256;
    /// Payload rules, at most.
    pub const PAYLOADS_MAX: usize = 256;
    /// Values of one enumeration, at most.
    pub const ENUM_VALUES_MAX: usize = 65_536;
    /// Bytes of a name, at most.
    pub const NAME_LEN_MAX: usize = 128;
    /// Bytes of a magic value, a delimiter or the end of a field, at most.
    pub const MARK_LEN_MAX: usize = 64;
    /// Bytes of the file's header, at most.
    pub const FILE_HEADER_LEN_MAX: usize = 1 << 20;
    /// Bytes of one record, at most, where a layout raises its limit with `length_max`.
    pub const RECORD_LEN_MAX: usize = 16 << 20;
    /// The maximum size of a record, if a layout does not set it.
    pub const RECORD_LEN_DEFAULT_MAX: usize = 256 << 10;
    /// Fields without a fixed place that may stand before the record's length is known.
    pub const FRAMING_FIELDS_MAX: usize = 64;

    /// Checks and compiles a layout. `load` returns the text of a layout that this one extends, by the path as it is written, or
    /// the reason why it cannot be read.
    ///
    /// # Errors
    /// [`LayoutError`] with the first fault, its place and a hint.
    pub fn parse(
        text: &str,
        load: &mut dyn FnMut(&str) -> Result<String, String>,
    ) -> Result<Self, LayoutError> {
        let mut files = Vec::new();
        extend::read(text, load, &mut files)
            .and_then(compile::Compiler::compile)
            .map_err(|fault| LayoutError::locate(*fault, &files))
    }

    /// Name of the layout; empty when it has none.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The purpose of the layout; may be empty.
    #[must_use]
    pub fn doc(&self) -> &str {
        &self.doc
    }

    /// The columns, in order.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The first protocols of payloads, in the order of their rules; empty for a layout whose records carry no known payload.
    pub fn payload_starts(&self) -> impl Iterator<Item = Start> {
        self.payloads.iter().map(|rule| rule.start)
    }

    /// Whether the layout has the time of its records.
    #[must_use]
    pub fn has_time(&self) -> bool {
        self.time.is_some()
    }

    /// Bytes before the first record.
    #[must_use]
    pub fn file_header_len(&self) -> usize {
        self.file_header_len as usize
    }

    /// Checks the magic value of the file's header; `bytes` are the first of the file.
    ///
    /// # Errors
    /// [`Stop`] when the header is cut or its magic value differs.
    pub fn check_file_header(&self, bytes: &[u8]) -> Result<(), Stop<'static>> {
        let stop = |offset, reason| Stop {
            field: "",
            offset,
            reason,
        };
        let (needed, available) = (self.file_header_len(), bytes.len());
        if let Some((at, magic)) = &self.magic {
            let found = bytes.get(*at..).and_then(|rest| rest.get(..magic.len()));
            if found.is_some_and(|found| *found != **magic) {
                return Err(stop(*at, StopReason::Magic));
            }
        }
        if available < needed {
            return Err(stop(available, StopReason::Cut { needed, available }));
        }
        Ok(())
    }

    /// Bytes of one record, its delimiter apart, at most.
    #[must_use]
    pub fn record_len_max(&self) -> usize {
        self.record_len_max
    }

    /// The length that every record has, when they are all the same.
    #[must_use]
    pub fn record_len_fixed(&self) -> Option<usize> {
        match self.cutting {
            Cutting::Fixed(len) => Some(len),
            _ => None,
        }
    }

    /// Whether records end at a delimiter, so that the last one may lack it.
    #[must_use]
    pub fn is_delimited(&self) -> bool {
        matches!(self.cutting, Cutting::Delimited(_))
    }
}

impl Default for Layout {
    /// A layout without fields, where compiling begins.
    fn default() -> Self {
        Self {
            name: String::new(),
            doc: String::new(),
            columns: Vec::new(),
            outputs: Vec::new(),
            fields: Vec::new(),
            steps: Vec::new(),
            enums: Vec::new(),
            kinds: Vec::new(),
            payloads: Vec::new(),
            slots: 0,
            groups: 0,
            fixed_end: 0,
            prefix: 0,
            checks: Vec::new(),
            cutting: Cutting::Fixed(1),
            record_len_max: Self::RECORD_LEN_DEFAULT_MAX,
            time: None,
            wire_len: None,
            ready_for_frame: 0,
            file_header_len: 0,
            magic: None,
        }
    }
}
