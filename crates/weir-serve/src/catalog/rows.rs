//! The rows of the relations of the catalog.

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use datafusion::sql::sqlparser::keywords::ALL_KEYWORDS;
use postgres_types::{Kind, Type};

use super::cell::{self, Cell};
use super::relation::{RELATIONS, Relation, TYPES};
use super::setting::SETTINGS;
use crate::files::{CATALOG, SCHEMA};

/// Rows of a relation. Columns that are not in the list have their default values.
pub(super) struct RelationRows {
    columns: &'static [&'static str],
    rows: Vec<Vec<Cell>>,
}

/// A relation as the row of a list of relations.
pub(super) struct Entry {
    pub(super) oid: i64,
    pub(super) schema: &'static str,
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) columns: Vec<EntryColumn>,
}

/// A column of an [`Entry`].
pub(super) struct EntryColumn {
    pub(super) name: String,
    pub(super) type_oid: i64,
    pub(super) is_not_null: bool,
}

impl Entry {
    /// A relation of the catalog itself.
    pub(super) fn of(relation: &Relation) -> Self {
        let columns = relation.columns.iter().map(|column| EntryColumn {
            name: column.name.to_owned(),
            type_oid: column.type_oid(),
            is_not_null: !column.may_be_null,
        });
        Self {
            oid: relation.oid,
            schema: relation.schema,
            name: relation.name.to_owned(),
            kind: relation.kind,
            columns: columns.collect(),
        }
    }
}

/// A row of values of several types.
macro_rules! row {
    ($($value:expr),* $(,)?) => { vec![$(Cell::from($value)),*] };
}

/// The relations that have rows; all others are empty, since nothing of their kind exists.
pub(super) const RELATIONS_WITH_ROWS: &[&str] = &[
    "pg_am",
    "pg_attribute",
    "pg_authid",
    "pg_class",
    "pg_collation",
    "pg_database",
    "pg_get_keywords",
    "pg_namespace",
    "pg_range",
    "pg_roles",
    "pg_settings",
    "pg_shadow",
    "pg_stat_all_tables",
    "pg_stat_user_tables",
    "pg_tables",
    "pg_tablespace",
    "pg_type",
    "pg_user",
    "pg_views",
];

/// Relations of the information schema that have rows.
pub(super) const INFORMATION_RELATIONS_WITH_ROWS: &[&str] = &[
    "columns",
    "enabled_roles",
    "information_schema_catalog_name",
    "schemata",
    "tables",
    "views",
];

/// The rows of a relation whose rows do not depend on the listed relations; `None` for other relations.
pub(super) fn fixed(relation: &Relation) -> Option<RelationRows> {
    let (columns, rows): (&'static [&'static str], Vec<Vec<Cell>>) = match relation.name {
        "pg_am" => (
            &["oid", "amname", "amhandler", "amtype"],
            vec![row![HEAP, "heap", "heap_tableam_handler", "t"]],
        ),
        "pg_authid" | "pg_roles" => (
            &[
                "oid",
                "rolname",
                "rolinherit",
                "rolcanlogin",
                "rolconnlimit",
                "rolsuper",
                "rolcreaterole",
                "rolcreatedb",
                "rolreplication",
                "rolbypassrls",
            ],
            vec![row![
                OWNER, CATALOG, true, true, -1, false, false, false, false, false
            ]],
        ),
        "pg_user" | "pg_shadow" => (
            &[
                "usename",
                "usesysid",
                "usesuper",
                "usecreatedb",
                "userepl",
                "usebypassrls",
            ],
            vec![row![CATALOG, OWNER, false, false, false, false]],
        ),
        "pg_collation" => (
            &[
                "oid",
                "collname",
                "collnamespace",
                "collowner",
                "collprovider",
                "collisdeterministic",
                "collencoding",
                "collcollate",
                "collctype",
            ],
            vec![
                row![
                    100,
                    "default",
                    PG_CATALOG,
                    OWNER,
                    "d",
                    true,
                    -1,
                    Cell::Null,
                    Cell::Null
                ],
                row![950, "C", PG_CATALOG, OWNER, "c", true, -1, "C", "C"],
                row![
                    951, "POSIX", PG_CATALOG, OWNER, "c", true, -1, "POSIX", "POSIX"
                ],
            ],
        ),
        "pg_database" => (
            &[
                "oid",
                "datname",
                "datdba",
                "encoding",
                "datlocprovider",
                "datallowconn",
                "datconnlimit",
                "dattablespace",
                "datcollate",
                "datctype",
            ],
            vec![row![
                DATABASE,
                CATALOG,
                OWNER,
                super::function::UTF8,
                "c",
                true,
                -1,
                1663,
                "C",
                "C"
            ]],
        ),
        "pg_get_keywords" => (
            &["word", "catcode", "barelabel", "catdesc", "baredesc"],
            ALL_KEYWORDS
                .iter()
                .map(|word| {
                    let word = word.to_ascii_lowercase();
                    row![word, "U", true, "unreserved", "can be bare label"]
                })
                .collect(),
        ),
        "pg_namespace" => (
            &["oid", "nspname", "nspowner"],
            SCHEMAS
                .iter()
                .map(|(oid, name)| row![*oid, *name, OWNER])
                .collect(),
        ),
        "schemata" => (
            &["catalog_name", "schema_name", "schema_owner"],
            SCHEMAS
                .iter()
                .map(|(_, name)| row![CATALOG, *name, CATALOG])
                .collect(),
        ),
        "enabled_roles" => (&["role_name"], vec![row![CATALOG]]),
        "information_schema_catalog_name" => (&["catalog_name"], vec![row![CATALOG]]),
        "pg_range" => (&["rngtypid", "rngsubtype", "rngmultitypid"], ranges()),
        "pg_settings" => (
            &[
                "name",
                "setting",
                "category",
                "short_desc",
                "context",
                "vartype",
                "source",
                "boot_val",
                "reset_val",
                "pending_restart",
            ],
            SETTINGS
                .iter()
                .map(|(name, value, kind)| {
                    row![
                        *name,
                        *value,
                        "Preset Options",
                        "",
                        "internal",
                        *kind,
                        "default",
                        *value,
                        *value,
                        false
                    ]
                })
                .collect(),
        ),
        "pg_tablespace" => (
            &["oid", "spcname", "spcowner"],
            vec![
                row![1663, "pg_default", OWNER],
                row![1664, "pg_global", OWNER],
            ],
        ),
        "pg_type" => (TYPE_COLUMNS, types()),
        _ => return None,
    };
    Some(RelationRows { columns, rows })
}

/// The rows that a relation has about a listed relation; `None` when it has none about relations of this kind.
pub(super) fn listed(relation: &Relation, entry: &Entry) -> Option<RelationRows> {
    let (schema, name) = (entry.schema, entry.name.as_str());
    let is_view = entry.kind == "v";
    let (columns, rows): (&'static [&'static str], Vec<Vec<Cell>>) = match relation.name {
        "pg_class" => {
            let natts = i64::try_from(entry.columns.len()).unwrap_or(i64::MAX);
            (
                &[
                    "oid",
                    "relname",
                    "relnamespace",
                    "relowner",
                    "relam",
                    "reltuples",
                    "relpersistence",
                    "relkind",
                    "relnatts",
                    "relispopulated",
                    "relreplident",
                    "relhasrules",
                ],
                vec![row![
                    entry.oid,
                    name,
                    schema_oid(schema),
                    OWNER,
                    if is_view { 0 } else { HEAP },
                    -1,
                    "p",
                    entry.kind,
                    natts,
                    true,
                    "n",
                    is_view
                ]],
            )
        }
        "pg_attribute" => (
            &[
                "attrelid",
                "attname",
                "atttypid",
                "attlen",
                "attnum",
                "attcacheoff",
                "atttypmod",
                "attbyval",
                "attalign",
                "attstorage",
                "attnotnull",
                "attislocal",
                "attstattarget",
                "attcollation",
            ],
            (1..)
                .zip(&entry.columns)
                .map(|(number, column)| attribute(entry.oid, number, column))
                .collect(),
        ),
        "columns" => (
            INFORMATION_COLUMNS,
            (1..)
                .zip(&entry.columns)
                .map(|(number, column): (i64, _)| information_column(entry, number, column))
                .collect(),
        ),
        "pg_tables" if !is_view => (
            &[
                "schemaname",
                "tablename",
                "tableowner",
                "hasindexes",
                "hasrules",
                "hastriggers",
                "rowsecurity",
            ],
            vec![row![schema, name, CATALOG, false, false, false, false]],
        ),
        "pg_views" if is_view => (
            &["schemaname", "viewname", "viewowner"],
            vec![row![schema, name, CATALOG]],
        ),
        "pg_stat_all_tables" if !is_view => (
            &["relid", "schemaname", "relname"],
            vec![row![entry.oid, schema, name]],
        ),
        "pg_stat_user_tables" if schema == SCHEMA => (
            &["relid", "schemaname", "relname"],
            vec![row![entry.oid, schema, name]],
        ),
        "tables" => (
            &[
                "table_catalog",
                "table_schema",
                "table_name",
                "table_type",
                "is_insertable_into",
                "is_typed",
            ],
            vec![row![
                CATALOG,
                schema,
                name,
                if is_view { "VIEW" } else { "BASE TABLE" },
                "NO",
                "NO"
            ]],
        ),
        "views" if is_view => (
            &[
                "table_catalog",
                "table_schema",
                "table_name",
                "check_option",
                "is_updatable",
                "is_insertable_into",
                "is_trigger_updatable",
                "is_trigger_deletable",
                "is_trigger_insertable_into",
            ],
            vec![row![
                CATALOG, schema, name, "NONE", "NO", "NO", "NO", "NO", "NO"
            ]],
        ),
        _ => return None,
    };
    Some(RelationRows { columns, rows })
}

/// Whether a relation lists relations.
pub(super) fn lists(relation: &Relation) -> bool {
    let information = ["columns", "tables", "views"];
    let own = [
        "pg_attribute",
        "pg_class",
        "pg_stat_all_tables",
        "pg_stat_user_tables",
        "pg_tables",
        "pg_views",
    ];
    match relation.schema {
        "information_schema" => information.contains(&relation.name),
        _ => own.contains(&relation.name),
    }
}

/// The relations of the catalog itself, which it lists as well.
pub(super) fn own() -> impl Iterator<Item = Entry> {
    let own = RELATIONS.iter().filter(|relation| relation.kind != "f");
    own.map(Entry::of)
}

fn attribute(oid: i64, number: i64, column: &EntryColumn) -> Vec<Cell> {
    let known = TYPES.iter().find(|known| known.oid == column.type_oid);
    // A list is of any length, as text is.
    let (len, by_value, align, storage) = known.map_or((-1, false, "i", "x"), |known| {
        (known.len, known.is_by_value, known.align, known.storage)
    });
    let collation = known
        .filter(|known| known.category == "S")
        .map_or(0, |_| 100);
    row![
        oid,
        column.name.as_str(),
        column.type_oid,
        len,
        number,
        -1,
        -1,
        by_value,
        align,
        storage,
        column.is_not_null,
        true,
        -1,
        collation,
    ]
}

const INFORMATION_COLUMNS: &[&str] = &[
    "table_catalog",
    "table_schema",
    "table_name",
    "column_name",
    "ordinal_position",
    "is_nullable",
    "data_type",
    "udt_catalog",
    "udt_schema",
    "udt_name",
    "dtd_identifier",
    "is_self_referencing",
    "is_identity",
    "identity_cycle",
    "is_generated",
    "is_updatable",
    "numeric_precision",
    "numeric_precision_radix",
    "numeric_scale",
    "datetime_precision",
];

fn information_column(entry: &Entry, number: i64, column: &EntryColumn) -> Vec<Cell> {
    let is_array = TYPES.iter().any(|known| known.array_oid == column.type_oid);
    let data_type = match is_array {
        true => "ARRAY".to_owned(),
        false => super::function::format_type(column.type_oid, -1),
    };
    // The precision of binary numbers counts bits (radix 2), that of decimal ones digits (radix 10).
    let (precision, radix, scale): (Option<i64>, Option<i64>, Option<i64>) =
        match data_type.as_str() {
            "smallint" => (Some(16), Some(2), Some(0)),
            "integer" => (Some(32), Some(2), Some(0)),
            "bigint" => (Some(64), Some(2), Some(0)),
            "real" => (Some(24), Some(2), None),
            "double precision" => (Some(53), Some(2), None),
            "numeric" => (None, Some(10), None),
            _ => (None, None, None),
        };
    let fraction: Option<i64> = match data_type.as_str() {
        "date" => Some(0),
        text if text.starts_with("time") || text == "interval" => Some(6),
        _ => None,
    };
    row![
        CATALOG,
        entry.schema,
        entry.name.as_str(),
        column.name.as_str(),
        number,
        if column.is_not_null { "NO" } else { "YES" },
        data_type,
        CATALOG,
        "pg_catalog",
        type_name(column.type_oid),
        number.to_string(),
        "NO",
        "NO",
        "NO",
        "NEVER",
        "NO",
        precision,
        radix,
        scale,
        fraction,
    ]
}

/// The name of a type in `pg_type`.
fn type_name(oid: i64) -> String {
    for known in TYPES.iter() {
        if known.oid == oid {
            return known.name.to_owned();
        }
        if known.array_oid == oid {
            return format!("_{}", known.name);
        }
    }
    String::new()
}

const TYPE_COLUMNS: &[&str] = &[
    "oid",
    "typname",
    "typnamespace",
    "typowner",
    "typlen",
    "typbyval",
    "typtype",
    "typcategory",
    "typispreferred",
    "typisdefined",
    "typdelim",
    "typsubscript",
    "typelem",
    "typarray",
    "typinput",
    "typoutput",
    "typreceive",
    "typsend",
    "typmodin",
    "typmodout",
    "typanalyze",
    "typalign",
    "typstorage",
    "typtypmod",
    "typcollation",
];

fn types() -> Vec<Vec<Cell>> {
    let send_function = |receive: &str| {
        receive
            .strip_suffix("recv")
            .map_or("-".to_owned(), |name| format!("{name}send"))
    };
    let output_function = |input: &str| {
        input
            .strip_suffix("in")
            .map_or("-".to_owned(), |name| format!("{name}out"))
    };
    let own = TYPES.iter().map(|known| {
        let collation = if known.category == "S" { 100 } else { 0 };
        row![
            known.oid,
            known.name,
            PG_CATALOG,
            OWNER,
            known.len,
            known.is_by_value,
            known.kind,
            known.category,
            known.is_preferred,
            true,
            ",",
            "-",
            known.element_oid,
            known.array_oid,
            known.input,
            output_function(known.input),
            known.receive,
            send_function(known.receive),
            "-",
            "-",
            "-",
            known.align,
            known.storage,
            -1,
            collation,
        ]
    });
    let arrays = TYPES
        .iter()
        .filter(|known| known.array_oid != 0)
        .map(|known| {
            let align = if known.align == "d" { "d" } else { "i" };
            let collation = if known.category == "S" { 100 } else { 0 };
            row![
                known.array_oid,
                format!("_{}", known.name),
                PG_CATALOG,
                OWNER,
                -1,
                false,
                "b",
                "A",
                false,
                true,
                ",",
                "array_subscript_handler",
                known.oid,
                0,
                "array_in",
                "array_out",
                "array_recv",
                "array_send",
                "-",
                "-",
                "array_typanalyze",
                align,
                "x",
                -1,
                collation,
            ]
        });
    own.chain(arrays).collect()
}

fn ranges() -> Vec<Vec<Cell>> {
    let ranges = TYPES.iter().filter_map(|known| {
        let kind = u32::try_from(known.oid).ok().and_then(Type::from_oid)?;
        let Kind::Range(of) = kind.kind() else {
            return None;
        };
        let several = known.name.replace("range", "multirange");
        let several = TYPES.iter().find(|known| known.name == several)?;
        Some(row![known.oid, i64::from(of.oid()), several.oid])
    });
    ranges.collect()
}

/// A batch of rows with these columns of a relation.
pub(super) fn batch(
    relation: &Relation,
    rows: &RelationRows,
    projection: &[usize],
) -> Result<RecordBatch, ArrowError> {
    let schema = std::sync::Arc::new(relation.arrow.project(projection)?);
    let columns = schema.fields().iter().map(|field| {
        let place = rows.columns.iter().position(|name| name == field.name());
        let default = cell::default(field.data_type(), field.is_nullable());
        let cells = rows.rows.iter().map(|row| {
            let cell = place.and_then(|place| row.get(place));
            cell.unwrap_or(&default).clone()
        });
        cell::array(field.data_type(), &cells.collect::<Vec<_>>())
    });
    let columns = columns.collect();
    let options =
        arrow::record_batch::RecordBatchOptions::new().with_row_count(Some(rows.rows.len()));
    RecordBatch::try_new_with_options(schema, columns, &options)
}

fn schema_oid(name: &str) -> i64 {
    let found = SCHEMAS.iter().find(|(_, known)| *known == name);
    found.map_or(0, |(oid, _)| *oid)
}

/// The schemas with their OIDs. Those of the first two are fixed in PostgreSQL; that of the information schema differs between
/// its versions.
pub(super) const SCHEMAS: &[(i64, &str)] = &[
    (PG_CATALOG, "pg_catalog"),
    (2200, SCHEMA),
    (13_299, "information_schema"),
];

const PG_CATALOG: i64 = 11;
/// The one role, which has the name of the database.
pub(super) const OWNER: i64 = 10;
const HEAP: i64 = 2;
const DATABASE: i64 = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_value_for_each_column_and_the_relation_has_the_columns() {
        let entry = Entry {
            oid: 1,
            schema: SCHEMA,
            name: "x.pcap".to_owned(),
            kind: "r",
            columns: vec![EntryColumn {
                name: "ip.src".to_owned(),
                type_oid: 869,
                is_not_null: false,
            }],
        };
        let view = Entry::of(super::super::relation::relation(None, "pg_tables").unwrap());
        for relation in RELATIONS.iter() {
            let filled = match relation.schema {
                "information_schema" => INFORMATION_RELATIONS_WITH_ROWS,
                _ => RELATIONS_WITH_ROWS,
            };
            let of_kinds = [listed(relation, &entry), listed(relation, &view)];
            let of_kinds = of_kinds.into_iter().flatten().filter(|_| lists(relation));
            let all: Vec<RelationRows> = fixed(relation).into_iter().chain(of_kinds).collect();
            assert_eq!(
                !all.is_empty(),
                filled.contains(&relation.name),
                "{}",
                relation.name
            );
            for rows in all {
                for name in rows.columns {
                    let has = relation.columns.iter().any(|column| column.name == *name);
                    assert!(has, "{}.{name}", relation.name);
                }
                assert!(
                    rows.rows.iter().all(|row| row.len() == rows.columns.len()),
                    "{}",
                    relation.name
                );
                let projection: Vec<usize> = (0..relation.columns.len()).collect();
                let batch = batch(relation, &rows, &projection).unwrap();
                assert_eq!(batch.num_rows(), rows.rows.len(), "{}", relation.name);
            }
        }
    }
}
