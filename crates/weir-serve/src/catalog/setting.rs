//! Settings whose value is always the same.

/// The number of the version of PostgreSQL whose catalog is given.
const VERSION_NUMBER: &str = "160006";

/// The version of PostgreSQL whose catalog is given, and that of this program.
pub(crate) const VERSION: &str = concat!("16.6 (weir ", env!("CARGO_PKG_VERSION"), ")");

/// The value of a setting.
pub(crate) fn setting(name: &str) -> Option<&'static str> {
    let found = SETTINGS.iter().find(|(known, ..)| *known == name);
    found.map(|(_, value, _)| *value)
}

/// Settings, their values, and the types of these.
pub(super) const SETTINGS: &[(&str, &str, &str)] = &[
    ("client_encoding", "UTF8", "string"),
    ("integer_datetimes", "on", "bool"),
    ("max_identifier_length", "63", "integer"),
    ("max_index_keys", "32", "integer"),
    ("search_path", crate::files::SCHEMA, "string"),
    ("server_encoding", "UTF8", "string"),
    ("server_version", VERSION, "string"),
    ("server_version_num", VERSION_NUMBER, "integer"),
    ("standard_conforming_strings", "on", "bool"),
];

/// PostgreSQL's number of UTF-8.
pub(super) const UTF8: i64 = 6;
