//! The catalog that browsing clients ask: PostgreSQL's own tables, made by datafusion-pg-catalog, over the files below
//! the roots as tables of one schema.
//!
//! Its session has tables in memory and nothing else: no formats and stores of files, no functions that make long
//! values, no files of its own to spill to. What is planned in it is a single query, on the tree that was looked at.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Int64Type, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use arrow_pg::datatypes::{PG_OID_ALIAS_KEY, into_pg_type, pg_type_for_alias_kind};
use async_trait::async_trait;
use datafusion::catalog::{
    CatalogProvider, MemoryCatalogProvider, SchemaProvider, Session as DfSession,
};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::datasource::{TableProvider, TableType};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{FunctionRegistry, SessionStateBuilder, SessionStateDefaults};
use datafusion::logical_expr::expr_fn::SimpleScalarUDF;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ScalarUDF, Signature, TypeSignature, Volatility, create_udf,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{DataFrame, SQLOptions, SessionConfig, SessionContext};
use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::{
    ObjectName, ObjectNamePart, Query, Select, SetExpr, Statement, Visitor,
};
use datafusion_pg_catalog::pg_catalog::context::EmptyContextProvider;
use datafusion_pg_catalog::setup_pg_catalog;
use datafusion_pg_catalog::sql::PostgresCompatibilityParser;
use pgwire::api::Type;
use weir_engine::walk;

use crate::columns::Columns;
use crate::error::{Failure, Kind};
use crate::files::{CATALOG, SCHEMA};

/// The catalog of a server.
pub(crate) struct Catalog {
    parser: PostgresCompatibilityParser,
    context: SessionContext,
    /// The tables of `pg_catalog`.
    relations: HashSet<String>,
}

/// A question to the catalog, as it has been looked at.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) sql: String,
    /// The columns of its answer.
    pub(crate) schema: SchemaRef,
    /// What is known of `$1`, `$2` and so on.
    pub(crate) parameters: Vec<CatalogParameter>,
}

/// Values of the parameters of a question to the catalog, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values(Vec<ScalarValue>);

impl Values {
    /// # Errors
    /// When they have names of their own, which no client gives them.
    pub(crate) fn new(values: ParamValues) -> Result<Self, Failure> {
        match values {
            ParamValues::List(values) => {
                Ok(Self(values.into_iter().map(|value| value.value).collect()))
            }
            ParamValues::Map(_) => Err(Failure::new(Kind::Plan, "parameters are $1, $2 and so on")),
        }
    }

    /// One row of them as a stream of Arrow; nothing where there are none.
    ///
    /// # Errors
    /// When a value has no form there.
    pub(crate) fn octets(&self) -> Result<Vec<u8>, Failure> {
        if self.0.is_empty() {
            return Ok(Vec::new());
        }
        let columns = self.0.iter().enumerate();
        let columns = columns.map(|(index, value)| {
            let column = value.to_array()?;
            Ok((format!("${}", index + 1), column, true))
        });
        let columns: Result<Vec<_>> = columns.collect();
        let columns = columns.map_err(|error| not_planned(&error))?;
        let unwritten = |error: ArrowError| Failure::new(Kind::Run, error.to_string());
        let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(unwritten)?;
        let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema()).map_err(unwritten)?;
        stream.write(&batch).map_err(unwritten)?;
        stream.into_inner().map_err(unwritten)
    }

    /// Reads what [`Values::octets`] has written.
    ///
    /// # Errors
    /// When it is something else.
    pub(crate) fn read(octets: &[u8]) -> Result<Self, Failure> {
        if octets.is_empty() {
            return Ok(Self::default());
        }
        let unread = |error: ArrowError| Failure::new(Kind::Run, error.to_string());
        let mut stream = StreamReader::try_new(octets, None).map_err(unread)?;
        let batch = stream.next().transpose().map_err(unread)?;
        let batch = batch.ok_or_else(|| Failure::new(Kind::Run, "there are no values"))?;
        let columns = batch.columns().iter();
        let values: Result<Vec<_>> = columns
            .map(|column| ScalarValue::try_from_array(column, 0))
            .collect();
        values.map(Self).map_err(|error| not_planned(&error))
    }
}

/// What is known of a parameter: the type that it is compared with, and how clients send it.
#[derive(Clone, Debug)]
pub(crate) struct CatalogParameter {
    pub(crate) inferred: Option<DataType>,
    pub(crate) kind: Type,
}

impl Catalog {
    pub(crate) fn new(columns: &Arc<Columns>) -> Result<Self, Failure> {
        let failed = |error: &dyn std::fmt::Display| {
            Failure::new(Kind::Run, format!("the catalog cannot be made: {error}"))
        };
        let context = context().map_err(|error| failed(&error))?;
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
        register_functions(&context, columns);
        let relations = context
            .catalog(CATALOG)
            .and_then(|catalog| catalog.schema("pg_catalog"))
            .map(|schema| schema.table_names())
            .unwrap_or_default();
        // The library lacks this view, of which it is known that it has no rows.
        let relations = relations.into_iter().chain(["pg_indexes".to_owned()]);
        Ok(Self {
            parser: PostgresCompatibilityParser::new(),
            context,
            relations: relations.collect(),
        })
    }

    /// Whether a name in FROM is of the catalog: qualified with `pg_catalog` or `information_schema`, or a table of
    /// `pg_catalog` by its bare name.
    pub(crate) fn has(&self, name: &ObjectName) -> bool {
        let part = |part: &ObjectNamePart| match part {
            // In single quotes stand files.
            ObjectNamePart::Identifier(ident) if ident.quote_style != Some('\'') => {
                Some(ident.value.to_ascii_lowercase())
            }
            _ => None,
        };
        let parts: Option<Vec<String>> = name.0.iter().map(part).collect();
        let parts = parts.unwrap_or_default();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match parts.as_slice() {
            [name] => self.relations.contains(*name),
            [schema, _] => is_schema(schema),
            [catalog, schema, _] => *catalog == CATALOG && is_schema(schema),
            _ => false,
        }
    }

    /// Plans a question.
    ///
    /// # Errors
    /// When it is none, or cannot be planned.
    pub(crate) async fn ask(&self, sql: &str) -> Result<Question, Failure> {
        let plan = self.plan(sql).await?;
        Ok(Question {
            parameters: parameters(&plan)?,
            schema: Arc::new(plan.schema().as_arrow().clone()),
            sql: sql.to_owned(),
        })
    }

    async fn plan(&self, sql: &str) -> Result<LogicalPlan, Failure> {
        let mut statements = self
            .parser
            .parse(sql)
            .map_err(|error| Failure::new(Kind::Syntax, error.to_string()))?;
        let (Some(Statement::Query(query)), true) = (statements.pop(), statements.is_empty())
        else {
            return Err(only_asked());
        };
        if walk(&query, &mut Questions).is_break() {
            return Err(only_asked());
        }
        let statement = DfStatement::Statement(Box::new(Statement::Query(query)));
        let plan = self
            .context
            .state()
            .statement_to_plan(statement)
            .await
            .map_err(|error| not_planned(&error))?;
        let options = SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false);
        options.verify_plan(&plan).map_err(|_| only_asked())?;
        Ok(plan)
    }

    /// What runs a question with these values of its parameters.
    ///
    /// # Errors
    /// When it is none, or cannot be run.
    pub(crate) async fn frame(&self, sql: &str, values: Values) -> Result<DataFrame, Failure> {
        let failed = |error: DataFusionError| not_planned(&error);
        let mut plan = self.plan(sql).await?;
        if !values.0.is_empty() {
            let values = ParamValues::from(values.0);
            plan = plan.replace_params_with_values(&values).map_err(failed)?;
        }
        let plan = weir_engine::bound_operators(plan).map_err(failed)?;
        let frame = self.context.execute_logical_plan(plan).await;
        frame.map_err(failed)
    }
}

/// The session of the catalog, without tables.
fn context() -> Result<SessionContext> {
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(GreedyMemoryPool::new(MEMORY_MAX)))
        .with_disk_manager_builder(
            DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled),
        )
        .build_arc()?;
    runtime.deregister_object_store(ObjectStoreUrl::local_filesystem().as_ref())?;
    let config = SessionConfig::new()
        .with_default_catalog_and_schema(CATALOG, SCHEMA)
        .with_information_schema(true)
        // A constant becomes a column of as many rows as a batch has.
        .with_batch_size(BATCH_ROWS)
        .with_create_default_catalog_and_schema(false);
    let mut scalars = SessionStateDefaults::default_scalar_functions();
    scalars.retain(|function| {
        let is_long = |name: &str| LONG.contains(&name);
        !is_long(function.name()) && !function.aliases().iter().any(|name| is_long(name))
    });
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_expr_planners(SessionStateDefaults::default_expr_planners())
        .with_optimizer_rules(weir_engine::optimizer_rules())
        .with_scalar_functions(scalars)
        .with_aggregate_functions(SessionStateDefaults::default_aggregate_functions())
        .with_window_functions(SessionStateDefaults::default_window_functions())
        .with_table_function_list(SessionStateDefaults::default_table_functions())
        .build();
    let context = SessionContext::new_with_state(state);
    weir_engine::bound_functions(&context);
    Ok(context)
}

fn register_functions(context: &SessionContext, columns: &Arc<Columns>) {
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
}

fn is_schema(name: &str) -> bool {
    ["pg_catalog", "information_schema"].contains(&name)
}

fn only_asked() -> Failure {
    Failure::new(Kind::Refused, "the catalog is only asked")
        .with_hint("SELECT … FROM pg_catalog.pg_class, one statement at a time")
}

/// Errors of the catalog: the first line is what is wrong, and the others are of the planner's making.
fn not_planned(error: &DataFusionError) -> Failure {
    let message = error.strip_backtrace();
    let message = message.lines().next().unwrap_or_default();
    Failure::new(Kind::Plan, message)
}

/// Breaks at what is no question: bodies of queries that write, and tables that are made of their rows.
struct Questions;

impl Visitor for Questions {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        fn asks(body: &SetExpr) -> bool {
            match body {
                // Its query and its SELECT are visited.
                SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::Values(_) => true,
                SetExpr::SetOperation { left, right, .. } => asks(left) && asks(right),
                _ => false,
            }
        }
        match asks(&query.body) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        match select.into {
            None => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(()),
        }
    }
}

/// What a plan tells of its parameters.
fn parameters(plan: &LogicalPlan) -> Result<Vec<CatalogParameter>, Failure> {
    let mut known: HashMap<usize, CatalogParameter> = HashMap::new();
    let mut odd = None;
    let mut take = |id: &str, field: Option<&Field>, cast: Option<&DataType>| {
        let number = id.strip_prefix('$').and_then(|number| number.parse().ok());
        let Some(number @ 1..=PARAMETERS_MAX) = number else {
            odd = Some(id.to_owned());
            return;
        };
        let alias = field
            .filter(|field| field.data_type() == &DataType::Int32)
            .and_then(|field| field.metadata().get(PG_OID_ALIAS_KEY))
            .and_then(|kind| pg_type_for_alias_kind(kind));
        let inferred = field.map(Field::data_type).or(cast).cloned();
        let kind = alias.or_else(|| into_pg_type(inferred.as_ref()?).ok());
        let known = known.entry(number).or_insert(CatalogParameter {
            inferred: None,
            kind: Type::UNKNOWN,
        });
        known.inferred = known.inferred.take().or(inferred);
        if let (&Type::UNKNOWN, Some(kind)) = (&known.kind, kind) {
            known.kind = kind;
        }
    };
    let walked = plan.apply_with_subqueries(|node| {
        for expr in node.expressions() {
            expr.apply(|expr| {
                match expr {
                    Expr::Cast(cast) => {
                        if let Expr::Placeholder(placeholder) = cast.expr.as_ref() {
                            let field = placeholder.field.as_deref();
                            take(&placeholder.id, field, Some(cast.field.data_type()));
                        }
                    }
                    Expr::Placeholder(placeholder) => {
                        take(&placeholder.id, placeholder.field.as_deref(), None);
                    }
                    _ => {}
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map_err(|error| not_planned(&error))?;
    if let Some(id) = odd {
        let message = format!("{id} is no parameter: they are $1 to ${PARAMETERS_MAX}");
        return Err(Failure::new(Kind::Limit, message));
    }
    let count = known.keys().copied().max().unwrap_or(0);
    let unknown = || CatalogParameter {
        inferred: None,
        kind: Type::UNKNOWN,
    };
    Ok((1..=count)
        .map(|number| known.remove(&number).unwrap_or_else(unknown))
        .collect())
}

/// Settings whose value is always the same.
pub(crate) fn setting(name: &str) -> Option<&'static str> {
    Some(match name {
        "server_version_num" => VERSION_NUMBER,
        "server_version" => VERSION,
        "search_path" => SCHEMA,
        "server_encoding" | "client_encoding" => "UTF8",
        "standard_conforming_strings" | "integer_datetimes" => "on",
        "max_identifier_length" => "63",
        _ => return None,
    })
}

/// What `current_setting` says: Grafana goes by the version, and asyncpg asks whether there is a compiler.
fn current_setting(names: &[ColumnarValue]) -> Result<ColumnarValue> {
    let of = |name: &str| setting(name).unwrap_or("off");
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

/// Functions that make values as long as they are told to, which no question to the catalog needs.
const LONG: &[&str] = &[
    "array_repeat",
    "array_resize",
    "generate_series",
    "list_repeat",
    "list_resize",
    "lpad",
    "range",
    "repeat",
    "rpad",
];

/// Bytes that all questions to the catalog may hold together.
const MEMORY_MAX: usize = 256 << 20;
/// Rows of a batch of the catalog.
const BATCH_ROWS: usize = 128;

/// The protocol counts parameters in 16 bits.
const PARAMETERS_MAX: usize = 65_535;

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
