//! The rows of the relations of the catalog.

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use datafusion::sql::sqlparser::keywords::ALL_KEYWORDS;
use postgres_types::{Kind, Type};

use super::cell::{self, Cell};
use super::relation::{RELATIONS, Relation, TYPES};
use super::setting::{SETTINGS, UTF8};
use super::type_name::format_type;
use crate::files::{CATALOG, SCHEMA};

/// The values of a row with the names of their columns. Columns that are not named have their default values.
pub(super) type Row = Vec<(&'static str, Cell)>;

/// A relation as the row of a list of relations.
pub(super) struct ListedRelation {
    pub(super) oid: i64,
    pub(super) schema: &'static str,
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) columns: Vec<ListedColumn>,
}

/// A column of a [`ListedRelation`].
pub(super) struct ListedColumn {
    pub(super) name: String,
    pub(super) type_oid: i64,
    pub(super) is_not_null: bool,
}

impl ListedRelation {
    /// A relation of the catalog itself.
    pub(super) fn of(relation: &Relation) -> Self {
        let columns = relation.columns.iter().map(|column| ListedColumn {
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

/// A row of values of several types, each behind the name of its column.
macro_rules! row {
    ($($column:ident = $value:expr),* $(,)?) => { vec![$((stringify!($column), Cell::from($value))),*] };
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
pub(super) fn fixed(relation: &Relation) -> Option<Vec<Row>> {
    Some(match relation.name {
        "pg_am" => vec![row!(
            oid = HEAP,
            amname = "heap",
            amhandler = "heap_tableam_handler",
            amtype = "t",
        )],
        "pg_authid" | "pg_roles" => vec![role()],
        "pg_user" | "pg_shadow" => vec![user()],
        "pg_collation" => collations(),
        "pg_database" => vec![database()],
        "pg_get_keywords" => ALL_KEYWORDS.iter().map(|word| keyword(word)).collect(),
        "pg_namespace" => namespaces(),
        "schemata" => schemata(),
        "enabled_roles" => vec![row!(role_name = CATALOG)],
        "information_schema_catalog_name" => vec![row!(catalog_name = CATALOG)],
        "pg_range" => ranges(),
        "pg_settings" => settings(),
        "pg_tablespace" => vec![
            row!(oid = 1663, spcname = "pg_default", spcowner = OWNER),
            row!(oid = 1664, spcname = "pg_global", spcowner = OWNER),
        ],
        "pg_type" => types(),
        _ => return None,
    })
}

fn role() -> Row {
    row!(
        oid = OWNER,
        rolname = CATALOG,
        rolinherit = true,
        rolcanlogin = true,
        rolconnlimit = -1,
        rolsuper = false,
        rolcreaterole = false,
        rolcreatedb = false,
        rolreplication = false,
        rolbypassrls = false,
    )
}

fn user() -> Row {
    row!(
        usename = CATALOG,
        usesysid = OWNER,
        usesuper = false,
        usecreatedb = false,
        userepl = false,
        usebypassrls = false,
    )
}

fn collations() -> Vec<Row> {
    let collation = |oid: i64, name: &str, provider: &str, locale: Option<&str>| -> Row {
        row!(
            oid = oid,
            collname = name,
            collnamespace = PG_CATALOG,
            collowner = OWNER,
            collprovider = provider,
            collisdeterministic = true,
            collencoding = -1,
            collcollate = locale,
            collctype = locale,
        )
    };
    vec![
        collation(100, "default", "d", None),
        collation(950, "C", "c", Some("C")),
        collation(951, "POSIX", "c", Some("POSIX")),
    ]
}

fn database() -> Row {
    row!(
        oid = DATABASE,
        datname = CATALOG,
        datdba = OWNER,
        encoding = UTF8,
        datlocprovider = "c",
        datallowconn = true,
        datconnlimit = -1,
        dattablespace = 1663,
        datcollate = "C",
        datctype = "C",
    )
}

fn keyword(word: &str) -> Row {
    row!(
        word = word.to_ascii_lowercase(),
        catcode = "U",
        barelabel = true,
        catdesc = "unreserved",
        baredesc = "can be bare label",
    )
}

fn namespaces() -> Vec<Row> {
    let namespaces = SCHEMAS
        .iter()
        .map(|(oid, name)| row!(oid = *oid, nspname = *name, nspowner = OWNER));
    namespaces.collect()
}

fn schemata() -> Vec<Row> {
    let schemata = SCHEMAS.iter().map(|(_, name)| {
        row!(
            catalog_name = CATALOG,
            schema_name = *name,
            schema_owner = CATALOG,
        )
    });
    schemata.collect()
}

fn settings() -> Vec<Row> {
    let settings = SETTINGS.iter().map(|(name, value, kind)| {
        row!(
            name = *name,
            setting = *value,
            category = "Preset Options",
            short_desc = "",
            context = "internal",
            vartype = *kind,
            source = "default",
            boot_val = *value,
            reset_val = *value,
            pending_restart = false,
        )
    });
    settings.collect()
}

/// The rows that a relation has about a listed relation; `None` when it has none about relations of this kind.
pub(super) fn listed(relation: &Relation, entry: &ListedRelation) -> Option<Vec<Row>> {
    let (schema, name) = (entry.schema, entry.name.as_str());
    let is_view = entry.kind == "v";
    Some(match relation.name {
        "pg_class" => vec![class(entry)],
        "pg_attribute" => (1..)
            .zip(&entry.columns)
            .map(|(number, column)| attribute(entry.oid, number, column))
            .collect(),
        "columns" => (1..)
            .zip(&entry.columns)
            .map(|(number, column)| information_column(entry, number, column))
            .collect(),
        "pg_tables" if !is_view => vec![row!(
            schemaname = schema,
            tablename = name,
            tableowner = CATALOG,
            hasindexes = false,
            hasrules = false,
            hastriggers = false,
            rowsecurity = false,
        )],
        "pg_views" if is_view => vec![row!(
            schemaname = schema,
            viewname = name,
            viewowner = CATALOG,
        )],
        "pg_stat_all_tables" if !is_view => vec![table_statistics(entry)],
        "pg_stat_user_tables" if schema == SCHEMA => vec![table_statistics(entry)],
        "tables" => vec![row!(
            table_catalog = CATALOG,
            table_schema = schema,
            table_name = name,
            table_type = if is_view { "VIEW" } else { "BASE TABLE" },
            is_insertable_into = "NO",
            is_typed = "NO",
        )],
        "views" if is_view => vec![information_view(entry)],
        _ => return None,
    })
}

fn class(entry: &ListedRelation) -> Row {
    let is_view = entry.kind == "v";
    row!(
        oid = entry.oid,
        relname = entry.name.as_str(),
        relnamespace = schema_oid(entry.schema),
        relowner = OWNER,
        relam = if is_view { 0 } else { HEAP },
        reltuples = -1,
        relpersistence = "p",
        relkind = entry.kind,
        relnatts = i64::try_from(entry.columns.len()).unwrap_or(i64::MAX),
        relispopulated = true,
        relreplident = "n",
        relhasrules = is_view,
    )
}

fn table_statistics(entry: &ListedRelation) -> Row {
    row!(
        relid = entry.oid,
        schemaname = entry.schema,
        relname = entry.name.as_str(),
    )
}

fn information_view(entry: &ListedRelation) -> Row {
    row!(
        table_catalog = CATALOG,
        table_schema = entry.schema,
        table_name = entry.name.as_str(),
        check_option = "NONE",
        is_updatable = "NO",
        is_insertable_into = "NO",
        is_trigger_updatable = "NO",
        is_trigger_deletable = "NO",
        is_trigger_insertable_into = "NO",
    )
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
pub(super) fn own() -> impl Iterator<Item = ListedRelation> {
    let own = RELATIONS.iter().filter(|relation| relation.kind != "f");
    own.map(ListedRelation::of)
}

fn attribute(oid: i64, number: i64, column: &ListedColumn) -> Row {
    let known = TYPES.iter().find(|known| known.oid == column.type_oid);
    // A list is of any length, as text is.
    let (len, by_value, align, storage) = known.map_or((-1, false, "i", "x"), |known| {
        (known.len, known.is_by_value, known.align, known.storage)
    });
    let collation = known
        .filter(|known| known.category == "S")
        .map_or(0, |_| 100);
    row!(
        attrelid = oid,
        attname = column.name.as_str(),
        atttypid = column.type_oid,
        attlen = len,
        attnum = number,
        attcacheoff = -1,
        atttypmod = -1,
        attbyval = by_value,
        attalign = align,
        attstorage = storage,
        attnotnull = column.is_not_null,
        attislocal = true,
        attstattarget = -1,
        attcollation = collation,
    )
}

fn information_column(entry: &ListedRelation, number: i64, column: &ListedColumn) -> Row {
    let is_array = TYPES.iter().any(|known| known.array_oid == column.type_oid);
    let data_type = match is_array {
        true => "ARRAY".to_owned(),
        false => format_type(column.type_oid, -1),
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
    row!(
        table_catalog = CATALOG,
        table_schema = entry.schema,
        table_name = entry.name.as_str(),
        column_name = column.name.as_str(),
        ordinal_position = number,
        is_nullable = if column.is_not_null { "NO" } else { "YES" },
        data_type = data_type,
        udt_catalog = CATALOG,
        udt_schema = "pg_catalog",
        udt_name = type_name(column.type_oid),
        dtd_identifier = number.to_string(),
        is_self_referencing = "NO",
        is_identity = "NO",
        identity_cycle = "NO",
        is_generated = "NEVER",
        is_updatable = "NO",
        numeric_precision = precision,
        numeric_precision_radix = radix,
        numeric_scale = scale,
        datetime_precision = fraction,
    )
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

fn types() -> Vec<Row> {
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
        row!(
            oid = known.oid,
            typname = known.name,
            typnamespace = PG_CATALOG,
            typowner = OWNER,
            typlen = known.len,
            typbyval = known.is_by_value,
            typtype = known.kind,
            typcategory = known.category,
            typispreferred = known.is_preferred,
            typisdefined = true,
            typdelim = ",",
            typsubscript = "-",
            typelem = known.element_oid,
            typarray = known.array_oid,
            typinput = known.input,
            typoutput = output_function(known.input),
            typreceive = known.receive,
            typsend = send_function(known.receive),
            typmodin = "-",
            typmodout = "-",
            typanalyze = "-",
            typalign = known.align,
            typstorage = known.storage,
            typtypmod = -1,
            typcollation = collation,
        )
    });
    let arrays = TYPES
        .iter()
        .filter(|known| known.array_oid != 0)
        .map(|known| {
            let align = if known.align == "d" { "d" } else { "i" };
            let collation = if known.category == "S" { 100 } else { 0 };
            row!(
                oid = known.array_oid,
                typname = format!("_{}", known.name),
                typnamespace = PG_CATALOG,
                typowner = OWNER,
                typlen = -1,
                typbyval = false,
                typtype = "b",
                typcategory = "A",
                typispreferred = false,
                typisdefined = true,
                typdelim = ",",
                typsubscript = "array_subscript_handler",
                typelem = known.oid,
                typarray = 0,
                typinput = "array_in",
                typoutput = "array_out",
                typreceive = "array_recv",
                typsend = "array_send",
                typmodin = "-",
                typmodout = "-",
                typanalyze = "array_typanalyze",
                typalign = align,
                typstorage = "x",
                typtypmod = -1,
                typcollation = collation,
            )
        });
    own.chain(arrays).collect()
}

fn ranges() -> Vec<Row> {
    let ranges = TYPES.iter().filter_map(|known| {
        let kind = u32::try_from(known.oid).ok().and_then(Type::from_oid)?;
        let Kind::Range(of) = kind.kind() else {
            return None;
        };
        let several = known.name.replace("range", "multirange");
        let several = TYPES.iter().find(|known| known.name == several)?;
        Some(row!(
            rngtypid = known.oid,
            rngsubtype = i64::from(of.oid()),
            rngmultitypid = several.oid,
        ))
    });
    ranges.collect()
}

/// A batch of rows with these columns of a relation.
pub(super) fn batch(
    relation: &Relation,
    rows: &[Row],
    projection: &[usize],
) -> Result<RecordBatch, ArrowError> {
    let schema = std::sync::Arc::new(relation.arrow.project(projection)?);
    let columns = schema.fields().iter().map(|field| {
        // All rows of a relation name the same columns.
        let place = rows
            .first()
            .and_then(|row| row.iter().position(|(name, _)| name == field.name()));
        let default = cell::default(field.data_type(), field.is_nullable());
        let cells = rows.iter().map(|row| {
            let named = place.and_then(|place| row.get(place));
            named.map_or(&default, |(_, cell)| cell).clone()
        });
        cell::array(field.data_type(), &cells.collect::<Vec<_>>())
    });
    let columns = columns.collect();
    let options = arrow::record_batch::RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(schema, columns, &options)
}

fn schema_oid(name: &str) -> i64 {
    let found = SCHEMAS.iter().find(|(_, known)| *known == name);
    found.map_or(0, |(oid, _)| *oid)
}

/// The schemas with their OIDs. PostgreSQL fixes the OIDs of the first two; the OID of the information schema differs
/// between its versions.
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
    fn all_rows_of_a_relation_name_the_same_columns_and_the_relation_has_them() {
        let entry = ListedRelation {
            oid: 1,
            schema: SCHEMA,
            name: "x.pcap".to_owned(),
            kind: "r",
            columns: vec![ListedColumn {
                name: "ip.src".to_owned(),
                type_oid: 869,
                is_not_null: false,
            }],
        };
        let view = ListedRelation::of(super::super::relation::relation(None, "pg_tables").unwrap());
        for relation in RELATIONS.iter() {
            let filled = match relation.schema {
                "information_schema" => INFORMATION_RELATIONS_WITH_ROWS,
                _ => RELATIONS_WITH_ROWS,
            };
            let of_kinds = [listed(relation, &entry), listed(relation, &view)];
            let of_kinds = of_kinds.into_iter().flatten().filter(|_| lists(relation));
            let all: Vec<Vec<Row>> = fixed(relation).into_iter().chain(of_kinds).collect();
            assert_eq!(
                !all.is_empty(),
                filled.contains(&relation.name),
                "{}",
                relation.name
            );
            for rows in all {
                let columns = |row: &Row| row.iter().map(|(name, _)| *name).collect::<Vec<_>>();
                let named = columns(&rows[0]);
                for name in &named {
                    let has = relation.columns.iter().any(|column| column.name == *name);
                    assert!(has, "{}.{name}", relation.name);
                }
                assert!(
                    rows.iter().all(|row| columns(row) == named),
                    "{}",
                    relation.name
                );
                let projection: Vec<usize> = (0..relation.columns.len()).collect();
                let batch = batch(relation, &rows, &projection).unwrap();
                assert_eq!(batch.num_rows(), rows.len(), "{}", relation.name);
            }
        }
    }
}
