//! The names of types, in the catalog and in SQL.

use super::relation::TYPES;

/// The number of a type by one of its names.
pub(super) fn type_oid(name: &str) -> Option<i64> {
    if let Ok(oid) = name.parse() {
        return Some(oid);
    }
    let name = name.trim().to_ascii_lowercase();
    let name = name
        .strip_prefix("pg_catalog.")
        .unwrap_or(&name)
        .replace('"', "");
    let (name, is_array) = match name.strip_suffix("[]") {
        Some(name) => (name, true),
        None => (name.as_str(), false),
    };
    let known = LONG_NAMES.iter().find(|(_, long)| *long == name);
    let name = known.map_or(name, |(short, _)| *short);
    let found = TYPES.iter().find(|known| known.name == name);
    let array = || {
        TYPES
            .iter()
            .find(|known| name.strip_prefix('_') == Some(known.name))
    };
    match (found, is_array) {
        (Some(found), false) => Some(found.oid),
        (Some(found), true) => Some(found.array_oid),
        (None, _) => array().map(|found| found.array_oid),
    }
}

/// A type as SQL writes it, with its modifier: the length of a text, the digits of a number.
pub(super) fn format_type(oid: i64, modifier: i64) -> String {
    if oid == 0 {
        return "-".to_owned();
    }
    let mut types = TYPES.iter();
    let Some(known) = types.find(|known| known.oid == oid || known.array_oid == oid) else {
        return "???".to_owned();
    };
    let long = LONG_NAMES.iter().find(|(short, _)| *short == known.name);
    let name = long.map_or(known.name, |(_, long)| *long);
    let length = modifier - 4;
    let name = match known.name {
        "varchar" | "bpchar" if length > 0 => format!("{name}({length})"),
        "bpchar" => "character".to_owned(),
        "char" => "\"char\"".to_owned(),
        "numeric" if length >= 0 => format!("{name}({},{})", length >> 16, length & 0x7ff),
        _ => name.to_owned(),
    };
    match known.oid == oid {
        true => name,
        false => format!("{name}[]"),
    }
}

/// Types whose names in SQL are others than in the catalog.
const LONG_NAMES: &[(&str, &str)] = &[
    ("bit", "bit"),
    ("bool", "boolean"),
    ("bpchar", "character"),
    ("float4", "real"),
    ("float8", "double precision"),
    ("int2", "smallint"),
    ("int4", "integer"),
    ("int8", "bigint"),
    ("time", "time without time zone"),
    ("timestamp", "timestamp without time zone"),
    ("timestamptz", "timestamp with time zone"),
    ("timetz", "time with time zone"),
    ("varbit", "bit varying"),
    ("varchar", "character varying"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_their_names_and_numbers() {
        for (oid, modifier, name) in [
            (20, -1, "bigint"),
            (1016, -1, "bigint[]"),
            (1043, 24, "character varying(20)"),
            (1043, -1, "character varying"),
            (1700, 655_366, "numeric(10,2)"),
            (1184, -1, "timestamp with time zone"),
            (869, -1, "inet"),
            (0, -1, "-"),
            (99_999_999, -1, "???"),
        ] {
            assert_eq!(format_type(oid, modifier), name);
        }
        for (name, oid) in [
            ("bigint", Some(20)),
            ("int8[]", Some(1016)),
            ("_int8", Some(1016)),
            ("pg_catalog.text", Some(25)),
            ("nothing", None),
        ] {
            assert_eq!(type_oid(name), oid, "{name}");
        }
    }
}
