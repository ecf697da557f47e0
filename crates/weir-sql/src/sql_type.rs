//! The names that types of columns have in SQL.

use weir_packet::Kind;

/// The type of a column in the words of SQL.
#[must_use]
pub const fn sql_type(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "boolean",
        Kind::U8 => "uint8",
        Kind::U16 => "uint16",
        Kind::U32 => "uint32",
        Kind::U64 => "uint64",
        Kind::I64 => "int64",
        Kind::F64 => "float64",
        Kind::Time => "timestamp",
        Kind::Address => "address",
        Kind::Bytes => "bytes",
        Kind::Text => "text",
        Kind::Texts => "text[]",
        Kind::Numbers => "uint32[]",
    }
}
