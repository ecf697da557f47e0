//! Functions of PostgreSQL that clients ask the catalog with.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::expr_fn::SimpleScalarUDF;
use datafusion::logical_expr::{ColumnarValue, ScalarUDF, Signature, TypeSignature, Volatility};
use weir_engine::{Condition, Error, ErrorKind};

use super::cell::Cell;
use super::file_catalog::FileCatalog;
use super::identifier::{name_list, name_parts};
use super::json;
use super::row_function::by_rows;
use super::rows::{OWNER, SCHEMAS};
use super::setting::{ClientSettings, UTF8, VERSION, current_setting};
use super::type_name::{format_type, type_oid};
use crate::files::{CATALOG, SCHEMA};

/// The body of a function: the value for a row of arguments, each as text.
type Body = fn(&FileCatalog, &[Option<&str>]) -> Result<Cell>;

/// A function of the catalog: its name, the type of its values and its body.
struct Definition {
    name: &'static str,
    kind: DataType,
    body: Body,
}

fn define(name: &'static str, kind: DataType, body: Body) -> Definition {
    Definition { name, kind, body }
}

/// The functions, by their names, with the types of their values.
pub(super) fn all(catalog: &Arc<FileCatalog>, of_client: &Arc<ClientSettings>) -> Vec<ScalarUDF> {
    let groups = [
        session(),
        formatting(),
        sizes(),
        lookups(),
        casts_to_numbers(),
        casts_to_names(),
        privileges(),
        constants(),
    ];
    let functions = groups.into_iter().flatten();
    let functions = functions.map(|one| {
        let (catalog, body) = (Arc::clone(catalog), one.body);
        function(one.name, one.kind, move |values| body(&catalog, values))
    });
    let others = [
        json::build_object(),
        current_setting(catalog.is_read_only, of_client),
    ];
    functions.chain(others).chain(of_path(of_client)).collect()
}

fn text_list() -> DataType {
    DataType::new_list(DataType::Utf8, true)
}

/// Functions of the session and of the server.
fn session() -> Vec<Definition> {
    let mut all = vec![
        define(
            "current_database",
            DataType::Utf8,
            |_, _| Ok(CATALOG.into()),
        ),
        define("current_role", DataType::Utf8, |_, _| Ok(CATALOG.into())),
        // The PostgreSQL protocol sets the setting: its connections have some, and other sessions have none.
        define("set_config", DataType::Utf8, |_, arguments| {
            Ok(text(arguments, 1).into())
        }),
        define("pg_backend_pid", DataType::Int32, |_, _| {
            Ok(i64::from(std::process::id()).into())
        }),
        define("version", DataType::Utf8, |_, _| {
            Ok(format!("PostgreSQL {VERSION}").into())
        }),
    ];
    let users = ["current_user", "session_user", "user"];
    all.extend(users.map(|name| define(name, DataType::Utf8, |_, _| Ok(CATALOG.into()))));
    all
}

/// Functions of the path of schemas (`search_path`), which a client may set.
fn of_path(of_client: &Arc<ClientSettings>) -> [ScalarUDF; 2] {
    let (of_first, of_all) = (Arc::clone(of_client), Arc::clone(of_client));
    [
        function("current_schema", DataType::Utf8, move |_| {
            Ok(path(&of_first).into_iter().next().into())
        }),
        function("current_schemas", text_list(), move |arguments| {
            let mut path = path(&of_all);
            let with_own = arguments.first() == Some(&Some("true"));
            if with_own && !path.iter().any(|name| name == OWN_SCHEMA) {
                path.insert(0, OWN_SCHEMA.to_owned());
            }
            Ok(Cell::Texts(path))
        }),
    ]
}

/// The schemas of the path, each once, without those that are not there.
fn path(of_client: &ClientSettings) -> Vec<String> {
    let names = match of_client.get("search_path") {
        Some(set) => name_list(&set).unwrap_or_default(),
        None => vec![SCHEMA.to_owned()],
    };
    let mut path: Vec<String> = Vec::new();
    for name in names {
        let is_there = SCHEMAS.iter().any(|(_, known)| *known == name);
        if is_there && !path.contains(&name) {
            path.push(name);
        }
    }
    path
}

/// Functions that read or write values as text.
fn formatting() -> Vec<Definition> {
    vec![
        define("format_type", DataType::Utf8, |_, arguments| {
            let modifier = number(arguments, 1).unwrap_or(-1);
            Ok(number(arguments, 0)
                .map(|oid| format_type(oid, modifier))
                .into())
        }),
        define("parse_ident", text_list(), |_, arguments| {
            let Some(name) = text(arguments, 0) else {
                return Ok(Cell::Null);
            };
            let parts = name_parts(name);
            let parts = parts
                .ok_or_else(|| plan(format!("string is not a valid identifier: \"{name}\"")))?;
            Ok(Cell::Texts(parts))
        }),
        define("pg_char_to_encoding", DataType::Int32, |_, _| {
            Ok(UTF8.into())
        }),
        define("pg_encoding_to_char", DataType::Utf8, |_, arguments| {
            Ok(number(arguments, 0)
                .map(|number| if number == UTF8 { "UTF8" } else { "" })
                .into())
        }),
        define("pg_size_pretty", DataType::Utf8, |_, arguments| {
            Ok(number(arguments, 0).map(size_pretty).into())
        }),
        define("quote_ident", DataType::Utf8, |_, arguments| {
            Ok(text(arguments, 0).map(quote_ident).into())
        }),
        define("quote_literal", DataType::Utf8, |_, arguments| {
            Ok(text(arguments, 0).map(weir_engine::quote_literal).into())
        }),
        // The function that replaces a pattern with another escape character than the backslash.
        define("like_pattern", DataType::Utf8, |_, arguments| {
            match (text(arguments, 0), text(arguments, 1)) {
                (Some(pattern), Some(escape)) => Ok(like_pattern(pattern, escape)?.into()),
                _ => Ok(Cell::Null),
            }
        }),
    ]
}

/// The sizes of captures in bytes.
fn sizes() -> Vec<Definition> {
    let mut all = vec![define("pg_database_size", DataType::Int64, |catalog, _| {
        Ok(catalog.bytes().into())
    })];
    let relations = [
        "pg_relation_size",
        "pg_table_size",
        "pg_total_relation_size",
    ];
    all.extend(relations.map(|name| {
        define(name, DataType::Int64, |catalog, arguments| {
            Ok(text(arguments, 0)
                .and_then(|relation| catalog.bytes_of(relation))
                .into())
        })
    }));
    all
}

/// The names and numbers of objects; NULL for an object that does not exist.
fn lookups() -> Vec<Definition> {
    vec![
        define("pg_get_userbyid", DataType::Utf8, |_, arguments| {
            Ok(number(arguments, 0)
                .map(|oid| match oid {
                    OWNER => CATALOG.to_owned(),
                    other => format!("unknown (OID={other})"),
                })
                .into())
        }),
        define("to_regclass", DataType::Int64, |catalog, arguments| {
            Ok(text(arguments, 0)
                .and_then(|name| catalog.oid_of(name))
                .into())
        }),
        define("to_regtype", DataType::Int64, |_, arguments| {
            Ok(text(arguments, 0).and_then(type_oid).into())
        }),
        define("to_regnamespace", DataType::Int64, |_, arguments| {
            Ok(text(arguments, 0).and_then(schema_oid).into())
        }),
        define("to_regrole", DataType::Int64, |_, arguments| {
            let role = text(arguments, 0).filter(|name| *name == CATALOG);
            Ok(role.map(|_| OWNER).into())
        }),
    ]
}

/// The functions that replace casts such as `x::regclass` to a number.
fn casts_to_numbers() -> Vec<Definition> {
    vec![
        define("regclass_oid", DataType::Int64, |catalog, arguments| {
            let condition = Condition::UndefinedTable;
            named(text(arguments, 0), ("relation", condition), |name| {
                catalog.oid_of(name)
            })
        }),
        define("regtype_oid", DataType::Int64, |_, arguments| {
            let condition = Condition::UndefinedObject;
            named(text(arguments, 0), ("type", condition), type_oid)
        }),
        define("regnamespace_oid", DataType::Int64, |_, arguments| {
            let condition = Condition::UndefinedSchema;
            named(text(arguments, 0), ("schema", condition), schema_oid)
        }),
        // No function has a number here.
        define("regproc_oid", DataType::Int64, |_, arguments| {
            let condition = Condition::UndefinedFunction;
            named(text(arguments, 0), ("function", condition), |name| {
                name.parse().ok()
            })
        }),
        define("regrole_oid", DataType::Int64, |_, arguments| {
            let condition = Condition::UndefinedObject;
            named(text(arguments, 0), ("role", condition), |name| {
                name.parse().ok().or((name == CATALOG).then_some(OWNER))
            })
        }),
    ]
}

/// The functions that replace casts such as `x::regclass` to a name.
fn casts_to_names() -> Vec<Definition> {
    vec![
        define("regclass_name", DataType::Utf8, |catalog, arguments| {
            Ok(number(arguments, 0)
                .map(|oid| match catalog.relation_of(oid) {
                    Some((_, name)) => quote_ident(&name),
                    None => oid.to_string(),
                })
                .into())
        }),
        define("regtype_name", DataType::Utf8, |_, arguments| {
            Ok(number(arguments, 0).map(|oid| format_type(oid, -1)).into())
        }),
        define("regnamespace_name", DataType::Utf8, |_, arguments| {
            Ok(number(arguments, 0)
                .map(|oid| {
                    let known = SCHEMAS.iter().find(|(known, _)| *known == oid);
                    known.map_or_else(|| oid.to_string(), |(_, name)| (*name).to_owned())
                })
                .into())
        }),
        define("regrole_name", DataType::Utf8, |_, arguments| {
            Ok(number(arguments, 0)
                .map(|oid| {
                    if oid == OWNER {
                        CATALOG.to_owned()
                    } else {
                        oid.to_string()
                    }
                })
                .into())
        }),
        // A function has its name here, and no number.
        define("regproc_name", DataType::Utf8, |_, arguments| {
            Ok(text(arguments, 0)
                .map(|name| name.strip_prefix("pg_catalog.").unwrap_or(name))
                .into())
        }),
    ]
}

/// The privileges, which are the last argument of these functions: existing objects may be read.
fn privileges() -> Vec<Definition> {
    let privileges = PRIVILEGES.iter().map(|name| {
        define(name, DataType::Boolean, |_, arguments| {
            let Some(Some(privileges)) = arguments.last() else {
                return Ok(Cell::Null);
            };
            let is_of_readers = |privilege: &str| {
                let privilege = privilege.trim().to_ascii_uppercase();
                ["SELECT", "USAGE", "CONNECT", "EXECUTE", "MEMBER", "SET"]
                    .contains(&privilege.as_str())
            };
            Ok(privileges.split(',').any(is_of_readers).into())
        })
    });
    privileges.collect()
}

/// The functions that have one value for all arguments.
fn constants() -> Vec<Definition> {
    let kinds: [(&[&'static str], DataType, Body); 6] = [
        (TRUE, DataType::Boolean, |_, _| Ok(true.into())),
        (FALSE, DataType::Boolean, |_, _| Ok(false.into())),
        (UNKNOWN, DataType::Utf8, |_, _| Ok(Cell::Null)),
        (NO_NUMBER, DataType::Int64, |_, _| Ok(Cell::Null)),
        (ZERO, DataType::Int64, |_, _| Ok(0.into())),
        (ENCODING, DataType::Utf8, |_, _| Ok("UTF8".into())),
    ];
    let mut all = Vec::new();
    for (names, kind, body) in kinds {
        all.extend(names.iter().map(|name| define(name, kind.clone(), body)));
    }
    all
}

/// Every object is visible.
const TRUE: &[&str] = &[
    "pg_collation_is_visible",
    "pg_conversion_is_visible",
    "pg_function_is_visible",
    "pg_opclass_is_visible",
    "pg_operator_is_visible",
    "pg_opfamily_is_visible",
    "pg_statistics_obj_is_visible",
    "pg_table_is_visible",
    "pg_ts_config_is_visible",
    "pg_ts_dict_is_visible",
    "pg_ts_parser_is_visible",
    "pg_ts_template_is_visible",
    "pg_type_is_visible",
];
const FALSE: &[&str] = &[
    "pg_is_in_recovery",
    "pg_is_other_temp_schema",
    "pg_relation_is_publishable",
    "row_security_active",
];
/// The functions that are NULL for everything: descriptions, definitions of objects that do not exist, and the end of locks that
/// there are none of.
const UNKNOWN: &[&str] = &[
    "col_description",
    "obj_description",
    "pg_advisory_unlock_all",
    "pg_get_constraintdef",
    "pg_get_expr",
    "pg_get_function_arg_default",
    "pg_get_function_arguments",
    "pg_get_function_identity_arguments",
    "pg_get_function_result",
    "pg_get_function_sqlbody",
    "pg_get_functiondef",
    "pg_get_indexdef",
    "pg_get_partition_constraintdef",
    "pg_get_partkeydef",
    "pg_get_ruledef",
    "pg_get_serial_sequence",
    "pg_get_statisticsobjdef",
    "pg_get_statisticsobjdef_columns",
    "pg_get_triggerdef",
    "pg_get_viewdef",
    "pg_relation_filepath",
    "pg_tablespace_location",
    "shobj_description",
    "inet_server_addr",
    "inet_client_addr",
];
const NO_NUMBER: &[&str] = &[
    "inet_client_port",
    "inet_server_port",
    "pg_get_replica_identity_index",
    "pg_sequence_last_value",
    "to_regproc",
];
const ZERO: &[&str] = &[
    "age",
    "pg_indexes_size",
    "pg_my_temp_schema",
    "pg_stat_get_numscans",
    "pg_tablespace_size",
    "txid_current",
];
const ENCODING: &[&str] = &["getdatabaseencoding", "pg_client_encoding"];
const PRIVILEGES: &[&str] = &[
    "has_any_column_privilege",
    "has_column_privilege",
    "has_database_privilege",
    "has_foreign_data_wrapper_privilege",
    "has_function_privilege",
    "has_language_privilege",
    "has_parameter_privilege",
    "has_schema_privilege",
    "has_sequence_privilege",
    "has_server_privilege",
    "has_table_privilege",
    "has_tablespace_privilege",
    "has_type_privilege",
    "pg_has_role",
];

/// Whether a function of this name is one of the catalog's.
pub(super) fn is_known(name: &str) -> bool {
    const OWN: &[&str] = &[
        "current_catalog",
        "current_database",
        "current_role",
        "current_schema",
        "current_schemas",
        "current_setting",
        "current_user",
        "format_type",
        "json_build_object",
        "parse_ident",
        "quote_ident",
        "quote_literal",
        "session_user",
        "set_config",
        "to_regclass",
        "to_regnamespace",
        "to_regproc",
        "to_regrole",
        "to_regtype",
        "user",
        "version",
    ];
    name.starts_with("pg_")
        || [OWN, TRUE, FALSE, UNKNOWN, ENCODING, PRIVILEGES]
            .iter()
            .any(|names| names.contains(&name))
}

/// A function of any arguments.
fn function(
    name: &str,
    kind: DataType,
    body: impl Fn(&[Option<&str>]) -> Result<Cell> + Send + Sync + 'static,
) -> ScalarUDF {
    let signature = Signature::one_of(
        vec![TypeSignature::VariadicAny, TypeSignature::Nullary],
        Volatility::Stable,
    );
    let made = kind.clone();
    let run = move |arguments: &[ColumnarValue]| by_rows(arguments, &made, &body);
    ScalarUDF::from(SimpleScalarUDF::new_with_signature(
        name,
        signature,
        kind,
        Arc::new(run),
    ))
}

fn text<'a>(arguments: &[Option<&'a str>], index: usize) -> Option<&'a str> {
    arguments.get(index).copied().flatten()
}

fn number(arguments: &[Option<&str>], index: usize) -> Option<i64> {
    text(arguments, index)?.parse().ok()
}

fn plan(message: String) -> DataFusionError {
    DataFusionError::Plan(message)
}

/// The error of a thing that is not there.
fn missing(condition: Condition, message: String) -> DataFusionError {
    let error = Error::new(ErrorKind::Run, message).with_condition(condition);
    DataFusionError::External(Box::new(error))
}

/// The number of a thing that a text names, which has to be there; what it is, and the condition of the error where it is not.
fn named(
    name: Option<&str>,
    (what, condition): (&str, Condition),
    oid: impl Fn(&str) -> Option<i64>,
) -> Result<Cell> {
    let Some(name) = name else {
        return Ok(Cell::Null);
    };
    let error = || missing(condition, format!("{what} \"{name}\" does not exist"));
    let oid = oid(name).ok_or_else(error)?;
    Ok(oid.into())
}

/// A pattern of LIKE with the backslash as its escape character.
fn like_pattern(pattern: &str, escape: &str) -> Result<String> {
    let mut letters = escape.chars();
    let escape = letters.next();
    if letters.next().is_some() {
        let message = "invalid escape string: it must be empty or one character";
        return Err(plan(message.to_owned()));
    }
    let mut made = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            letter if Some(letter) == escape => {
                let message = "LIKE pattern must not end with escape character";
                let next = letters.next().ok_or_else(|| plan(message.to_owned()))?;
                made.extend(['\\', next]);
            }
            '\\' => made.push_str("\\\\"),
            letter => made.push(letter),
        }
    }
    Ok(made)
}

fn schema_oid(name: &str) -> Option<i64> {
    let known = SCHEMAS.iter().find(|(_, known)| *known == name);
    name.parse().ok().or(known.map(|(oid, _)| *oid))
}

/// An identifier in quotes, where it needs them.
fn quote_ident(name: &str) -> String {
    let is_plain = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    match is_plain && !RESERVED.contains(&name) {
        true => name.to_owned(),
        false => weir_engine::quote_ident(name),
    }
}

/// The schema that is in front of those of the path, unless it is one of them.
const OWN_SCHEMA: &str = "pg_catalog";

/// Words that are no names without quotes.
const RESERVED: &[&str] = &[
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "both",
    "case",
    "cast",
    "check",
    "collate",
    "column",
    "constraint",
    "create",
    "current_catalog",
    "current_date",
    "current_role",
    "current_time",
    "current_timestamp",
    "current_user",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "false",
    "fetch",
    "for",
    "foreign",
    "from",
    "grant",
    "group",
    "having",
    "in",
    "initially",
    "intersect",
    "into",
    "lateral",
    "leading",
    "limit",
    "localtime",
    "localtimestamp",
    "not",
    "null",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "placing",
    "primary",
    "references",
    "returning",
    "select",
    "session_user",
    "some",
    "symmetric",
    "table",
    "then",
    "to",
    "trailing",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "variadic",
    "when",
    "where",
    "window",
    "with",
];

/// A number of bytes as PostgreSQL's `pg_size_pretty` writes it: bytes up to 10 kB, then the unit of which there are
/// fewer than 10,240, rounded to the nearest.
fn size_pretty(size: i64) -> String {
    const UNITS: [&str; 5] = ["kB", "MB", "GB", "TB", "PB"];
    if size.unsigned_abs() < 10 * 1024 {
        return format!("{size} bytes");
    }
    // Half units are kept, so that the last step can round.
    let mut halves = size / 512;
    for unit in UNITS {
        if halves.unsigned_abs() < 20 * 1024 - 1 || unit == "PB" {
            return format!("{} {unit}", (halves + halves.signum()) / 2);
        }
        halves /= 1024;
    }
    format!("{size} bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever a client set, it was `public`.
    #[test]
    fn the_path_has_the_schemas_that_are_there() {
        let settings = ClientSettings::default();
        assert_eq!(path(&settings), ["public"]);
        for (set, expected) in [
            ("\"$user\", public", vec!["public"]),
            ("Public, pg_catalog, public", vec!["public", "pg_catalog"]),
            ("\"Public\", information_schema", vec!["information_schema"]),
            ("\"\"", vec![]),
        ] {
            settings.set(vec![("search_path".to_owned(), set.to_owned())]);
            assert_eq!(path(&settings), expected, "{set}");
        }
    }

    #[test]
    fn sizes_are_written_as_postgresql_writes_them() {
        for (size, expected) in [
            (0, "0 bytes"),
            (10_239, "10239 bytes"),
            (10_240, "10 kB"),
            (1_958_924, "1913 kB"),
            (10_485_247, "10239 kB"),
            (10_485_248, "10 MB"),
            (i64::MAX, "8192 PB"),
        ] {
            assert_eq!(size_pretty(size), expected, "{size}");
        }
    }

    #[test]
    fn patterns_are_escaped_by_the_backslash() {
        for (pattern, escape, made) in [
            ("pg/_%", "/", "pg\\_%"),
            ("a//b/%\\", "/", "a\\/b\\%\\\\"),
            ("a\\_", "", "a\\\\_"),
            ("", "é", ""),
        ] {
            assert_eq!(like_pattern(pattern, escape).unwrap(), made, "{pattern}");
        }
        assert!(like_pattern("a/", "/").is_err() && like_pattern("a", "//").is_err());
    }

    #[test]
    fn names_are_quoted_where_they_need_it() {
        for (name, quoted) in [
            ("office", "office"),
            ("office.pcapng", "\"office.pcapng\""),
            ("Office", "\"Office\""),
            ("user", "\"user\""),
            ("a\"b", "\"a\"\"b\""),
            ("", "\"\""),
        ] {
            assert_eq!(quote_ident(name), quoted);
        }
    }
}
