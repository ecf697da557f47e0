//! The catalog that browsing clients ask: PostgreSQL's own tables, made by datafusion-postgres, over the files below
//! the roots as tables of one schema.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, StringArray};
use arrow::datatypes::{DataType, Int64Type, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{
    CatalogProvider, MemoryCatalogProvider, SchemaProvider, Session as DfSession,
};
use datafusion::common::ScalarValue;
use datafusion::datasource::{TableProvider, TableType};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::expr_fn::SimpleScalarUDF;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarUDF, Signature, TypeSignature, Volatility, create_udf,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_postgres::DfSessionService;
use datafusion_postgres::datafusion_pg_catalog::pg_catalog::context::EmptyContextProvider;
use datafusion_postgres::datafusion_pg_catalog::setup_pg_catalog;
use datafusion_postgres::hooks::set_show::SetShowHook;
use datafusion_postgres::hooks::transactions::TransactionStatementHook;

use crate::columns::Columns;
use crate::error::{Failure, Kind};
use crate::files::{CATALOG, SCHEMA};

/// The catalog of a server.
pub(crate) struct Catalog {
    pub(crate) service: Arc<DfSessionService>,
    pub(crate) context: Arc<SessionContext>,
}

impl Catalog {
    pub(crate) fn new(columns: &Arc<Columns>) -> Result<Self, Failure> {
        let failed = |error: &dyn std::fmt::Display| {
            Failure::new(Kind::Run, format!("the catalog cannot be made: {error}"))
        };
        let config = SessionConfig::new()
            .with_default_catalog_and_schema(CATALOG, SCHEMA)
            .with_information_schema(true)
            .with_create_default_catalog_and_schema(false);
        let context = SessionContext::new_with_config(config);
        let catalog = MemoryCatalogProvider::new();
        let tables = Tables {
            columns: Arc::clone(columns),
        };
        catalog
            .register_schema(SCHEMA, Arc::new(tables))
            .map_err(|error| failed(&error))?;
        context.register_catalog(CATALOG, Arc::new(catalog));
        setup_pg_catalog(&context, CATALOG, EmptyContextProvider)
            .map_err(|error| failed(&error))?;
        context.register_udf(create_udf(
            "version",
            Vec::new(),
            DataType::Utf8,
            Volatility::Immutable,
            Arc::new(|_| {
                let text: ArrayRef = Arc::new(StringArray::from(vec![version()]));
                Ok(ColumnarValue::Array(text))
            }),
        ));
        // asyncpg sets a setting that it has asked for, which is accepted and has no effect.
        let given = vec![DataType::Utf8, DataType::Utf8, DataType::Boolean];
        let set = Arc::new(|values: &[ColumnarValue]| match values.get(1) {
            Some(value) => Ok(value.clone()),
            None => Ok(ColumnarValue::Scalar(ScalarValue::Utf8(None))),
        });
        context.register_udf(create_udf(
            "set_config",
            given,
            DataType::Utf8,
            Volatility::Volatile,
            set,
        ));
        context.register_udf(create_udf(
            "current_setting",
            vec![DataType::Utf8],
            DataType::Utf8,
            Volatility::Stable,
            Arc::new(current_setting),
        ));
        for function in sizes(columns) {
            context.register_udf(function);
        }
        for function in functions() {
            if context.udf(function.name()).is_err() {
                context.register_udf(function);
            }
        }
        let context = Arc::new(context);
        let service = DfSessionService::new_with_hooks(
            Arc::clone(&context),
            vec![Arc::new(SetShowHook), Arc::new(TransactionStatementHook)],
        );
        Ok(Self {
            service: Arc::new(service),
            context,
        })
    }
}

/// What `current_setting` says: Grafana goes by the version, and asyncpg asks whether there is a compiler.
fn current_setting(names: &[ColumnarValue]) -> Result<ColumnarValue> {
    let of = |name: &str| match name {
        "server_version_num" => VERSION_NUMBER,
        "server_version" => VERSION,
        "search_path" => SCHEMA,
        "server_encoding" | "client_encoding" => "UTF8",
        "standard_conforming_strings" | "integer_datetimes" => "on",
        "max_identifier_length" => "63",
        _ => "off",
    };
    match names {
        [ColumnarValue::Scalar(ScalarValue::Utf8(Some(name)))] => {
            Ok(ColumnarValue::Scalar(ScalarValue::from(of(name))))
        }
        [ColumnarValue::Array(names)] => {
            let texts = names.as_string::<i32>().iter().map(|name| name.map(of));
            Ok(ColumnarValue::Array(Arc::new(
                texts.collect::<StringArray>(),
            )))
        }
        _ => Ok(ColumnarValue::Scalar(ScalarValue::Utf8(None))),
    }
}

/// Functions of PostgreSQL that the library lacks, which say the same of all that there is here: it is visible, and
/// nobody has described it.
fn functions() -> Vec<ScalarUDF> {
    let constant = |name: &str, value: ScalarValue| {
        let given = Signature::one_of(
            vec![TypeSignature::VariadicAny, TypeSignature::Nullary],
            Volatility::Stable,
        );
        let kind = value.data_type();
        let said = Arc::new(move |_: &[ColumnarValue]| Ok(ColumnarValue::Scalar(value.clone())));
        ScalarUDF::from(SimpleScalarUDF::new_with_signature(name, given, kind, said))
    };
    let visible = VISIBLE.iter().map(|name| constant(name, true.into()));
    let nothing = NOTHING
        .iter()
        .map(|name| constant(name, ScalarValue::Utf8(None)));
    let encoding = constant("getdatabaseencoding", "UTF8".into());
    visible.chain(nothing).chain([encoding]).collect()
}

const VISIBLE: &[&str] = &[
    "pg_collation_is_visible",
    "pg_conversion_is_visible",
    "pg_function_is_visible",
    "pg_opclass_is_visible",
    "pg_operator_is_visible",
    "pg_opfamily_is_visible",
    "pg_statistics_obj_is_visible",
    "pg_ts_config_is_visible",
    "pg_ts_dict_is_visible",
    "pg_ts_parser_is_visible",
    "pg_ts_template_is_visible",
    "pg_type_is_visible",
];

const NOTHING: &[&str] = &[
    "col_description",
    "obj_description",
    "pg_get_function_arguments",
    "pg_get_function_result",
    "pg_get_ruledef",
    "pg_get_triggerdef",
    "pg_get_function_sqlbody",
    "pg_get_statisticsobjdef_columns",
    "pg_get_viewdef",
    "pg_tablespace_location",
    "shobj_description",
];

/// How many bytes the files have, and how PostgreSQL writes such a number; and the number of the one encoding.
fn sizes(columns: &Arc<Columns>) -> [ScalarUDF; 4] {
    let (of_table, of_all) = (Arc::clone(columns), Arc::clone(columns));
    let table = create_udf(
        "weir_table_size",
        vec![DataType::Utf8],
        DataType::Int64,
        Volatility::Stable,
        Arc::new(move |names| {
            let names = ColumnarValue::values_to_arrays(names)?;
            let names = names[0].as_string::<i32>().iter();
            let sizes = names.map(|name| Some(bytes(of_table.file(name?)?.size)));
            Ok(ColumnarValue::Array(Arc::new(
                sizes.collect::<Int64Array>(),
            )))
        }),
    );
    let all = create_udf(
        "weir_database_size",
        Vec::new(),
        DataType::Int64,
        Volatility::Stable,
        Arc::new(move |_| {
            let sizes = of_all.tables().into_iter().map(|file| file.size);
            let all = bytes(sizes.fold(0, u64::saturating_add));
            Ok(ColumnarValue::Scalar(ScalarValue::from(all)))
        }),
    );
    let pretty = create_udf(
        "pg_size_pretty",
        vec![DataType::Int64],
        DataType::Utf8,
        Volatility::Immutable,
        Arc::new(|sizes| {
            let sizes = ColumnarValue::values_to_arrays(sizes)?;
            let sizes = sizes[0].as_primitive::<Int64Type>().iter();
            let texts = sizes.map(|size| size.map(size_pretty));
            Ok(ColumnarValue::Array(Arc::new(
                texts.collect::<StringArray>(),
            )))
        }),
    );
    let encoding = create_udf(
        "pg_char_to_encoding",
        vec![DataType::Utf8],
        DataType::Int32,
        Volatility::Immutable,
        Arc::new(|_| Ok(ColumnarValue::Scalar(ScalarValue::from(UTF8)))),
    );
    [table, all, pretty, encoding]
}

/// PostgreSQL's number of UTF-8.
const UTF8: i32 = 6;

fn bytes(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

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

/// What `version()` says: clients look for PostgreSQL's number in it.
fn version() -> String {
    format!("PostgreSQL {VERSION}")
}

/// The number of that version.
const VERSION_NUMBER: &str = "160006";

/// The version of PostgreSQL whose catalog is given, and that of this program.
pub(crate) const VERSION: &str = concat!("16.6 (weir ", env!("CARGO_PKG_VERSION"), ")");

/// The files below the roots as tables.
#[derive(Debug)]
struct Tables {
    columns: Arc<Columns>,
}

#[async_trait]
impl SchemaProvider for Tables {
    fn table_names(&self) -> Vec<String> {
        let files = self.columns.tables();
        files.into_iter().map(|file| file.name).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        let Some(file) = self.columns.file(name) else {
            return Ok(None);
        };
        let schema = self.columns.of(&file).await;
        Ok(schema.map(|schema| Arc::new(FileTable { schema }) as _))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.columns.file(name).is_some()
    }
}

/// A file as the catalog knows it: what it has in it, the engine of a connection reads.
#[derive(Debug)]
struct FileTable {
    schema: SchemaRef,
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn DfSession,
        _projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Err(DataFusionError::Plan(
            "files and the catalog are asked in queries of their own".to_owned(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::size_pretty;

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
}
