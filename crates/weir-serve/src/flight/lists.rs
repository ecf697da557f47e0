//! The metadata of Flight SQL: the server, its tables and its types.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow_flight::error::FlightError;
use arrow_flight::sql::metadata::{
    GetCatalogsBuilder, GetDbSchemasBuilder, GetTablesBuilder, SqlInfoData, SqlInfoDataBuilder,
    XdbcTypeInfo, XdbcTypeInfoData, XdbcTypeInfoDataBuilder,
};
use arrow_flight::sql::{
    CommandGetCatalogs, CommandGetDbSchemas, CommandGetTables, Nullable, Searchable, SqlInfo,
    SqlNullOrdering, SqlSupportedCaseSensitivity, SqlSupportedGroupBy, SqlSupportedTransaction,
    SqlSupportedUnions, SupportedSqlGrammar, XdbcDataType, XdbcDatetimeSubcode,
};
use futures::stream;
use tokio::sync::OwnedSemaphorePermit;
use tonic::Status;

use super::connection::bytes_of;
use super::flow::{self, FlightStream, plain_schema};
use super::status::refused;
use crate::columns::Columns;
use crate::files::{CATALOG, Listed, SCHEMA};
use crate::options::Options;

/// The capabilities of the server.
pub(super) fn sql_info(options: &Options) -> Result<SqlInfoData, FlightError> {
    let mut info = SqlInfoDataBuilder::new();
    let limits = &options.limits;
    info.append(SqlInfo::FlightSqlServerName, "weir");
    info.append(SqlInfo::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
    info.append(SqlInfo::FlightSqlServerArrowVersion, arrow::ARROW_VERSION);
    info.append(SqlInfo::FlightSqlServerReadOnly, !options.allow_write);
    info.append(SqlInfo::FlightSqlServerSql, true);
    info.append(SqlInfo::FlightSqlServerSubstrait, false);
    let none = SqlSupportedTransaction::None as i32;
    info.append(SqlInfo::FlightSqlServerTransaction, none);
    info.append(SqlInfo::FlightSqlServerCancel, true);
    info.append(SqlInfo::FlightSqlServerBulkIngestion, false);
    info.append(SqlInfo::FlightSqlServerIngestTransactionsSupported, false);
    let timeout = limits.time_max.map_or(0, |limit| limit.as_millis());
    let timeout = i32::try_from(timeout).unwrap_or(i32::MAX);
    info.append(SqlInfo::FlightSqlServerStatementTimeout, timeout);
    append_flags(&mut info);
    info.append(SqlInfo::SqlSupportsDifferentTableCorrelationNames, false);
    let lower = SqlSupportedCaseSensitivity::SqlCaseSensitivityLowercase as i32;
    info.append(SqlInfo::SqlIdentifierCase, lower);
    let exact = SqlSupportedCaseSensitivity::SqlCaseSensitivityCaseInsensitive as i32;
    info.append(SqlInfo::SqlQuotedIdentifierCase, exact);
    info.append(SqlInfo::SqlIdentifierQuoteChar, "\"");
    info.append(SqlInfo::SqlSearchStringEscape, "\\");
    info.append(SqlInfo::SqlExtraNameCharacters, "");
    let high = SqlNullOrdering::SqlNullsSortedHigh as i32;
    info.append(SqlInfo::SqlNullOrdering, high);
    let groups = 1 << SqlSupportedGroupBy::SqlGroupByUnrelated as i32
        | 1 << SqlSupportedGroupBy::SqlGroupByBeyondSelect as i32;
    info.append(SqlInfo::SqlSupportedGroupBy, groups);
    let unions =
        1 << SqlSupportedUnions::SqlUnion as i32 | 1 << SqlSupportedUnions::SqlUnionAll as i32;
    info.append(SqlInfo::SqlSupportedUnions, unions);
    let grammar = 1 << SupportedSqlGrammar::SqlMinimumGrammar as i32
        | 1 << SupportedSqlGrammar::SqlCoreGrammar as i32;
    info.append(SqlInfo::SqlSupportedGrammar, grammar);
    info.append(SqlInfo::SqlSchemaTerm, "schema");
    info.append(SqlInfo::SqlCatalogTerm, "catalog");
    info.append(SqlInfo::SqlProcedureTerm, "procedure");
    for name in [
        SqlInfo::SqlKeywords,
        SqlInfo::SqlNumericFunctions,
        SqlInfo::SqlStringFunctions,
        SqlInfo::SqlSystemFunctions,
        SqlInfo::SqlDatetimeFunctions,
    ] {
        info.append(name, Vec::<String>::new());
    }
    let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let text = number(limits.text_bytes_max);
    info.append(SqlInfo::SqlMaxStatementLength, text);
    let most = number(limits.connections_max);
    info.append(SqlInfo::SqlMaxConnections, most);
    info.build()
}

/// The capabilities that a server has or not.
fn append_flags(info: &mut SqlInfoDataBuilder) {
    for name in [
        SqlInfo::SqlDdlCatalog,
        SqlInfo::SqlDdlSchema,
        SqlInfo::SqlDdlTable,
        SqlInfo::SqlSupportsIntegrityEnhancementFacility,
        SqlInfo::SqlSelectForUpdateSupported,
        SqlInfo::SqlStoredProceduresSupported,
        SqlInfo::SqlTransactionsSupported,
        SqlInfo::SqlDataDefinitionCausesTransactionCommit,
    ] {
        info.append(name, false);
    }
    for name in [
        SqlInfo::SqlAllTablesAreSelectable,
        SqlInfo::SqlSupportsColumnAliasing,
        SqlInfo::SqlNullPlusNullIsNull,
        SqlInfo::SqlSupportsTableCorrelationNames,
        SqlInfo::SqlSupportsExpressionsInOrderBy,
        SqlInfo::SqlSupportsOrderByUnrelated,
        SqlInfo::SqlSupportsLikeEscapeClause,
        SqlInfo::SqlSupportsNonNullableColumns,
        SqlInfo::SqlCatalogAtStart,
        SqlInfo::SqlCorrelatedSubqueriesSupported,
    ] {
        info.append(name, true);
    }
}

pub(super) fn catalogs(query: CommandGetCatalogs) -> GetCatalogsBuilder {
    let mut builder = query.into_builder();
    builder.append(CATALOG);
    builder
}

pub(super) fn schemas(query: CommandGetDbSchemas) -> GetDbSchemasBuilder {
    let mut builder = query.into_builder();
    builder.append(CATALOG, SCHEMA);
    builder
}

/// Checks the patterns of a request, which become regular expressions.
///
/// # Errors
/// When one is longer than patterns of names are.
pub(super) fn check_patterns<'p>(
    patterns: impl IntoIterator<Item = &'p Option<String>>,
) -> Result<(), Status> {
    let mut patterns = patterns.into_iter().flatten();
    match patterns.any(|pattern| pattern.len() > PATTERN_BYTES_MAX) {
        false => Ok(()),
        true => Err(Status::invalid_argument(format!(
            "a pattern of names has {PATTERN_BYTES_MAX} bytes at most"
        ))),
    }
}

/// The files below the roots, with their columns if these are requested: then files that are not tables are left out. The columns of a
/// capture have a hundred kilobytes, and are sent file by file.
pub(super) fn tables(columns: &Arc<Columns>, query: CommandGetTables) -> FlightStream {
    let schema = tables_builder(query.clone()).schema();
    let left = TablesLeft {
        files: columns.tables().into_iter(),
        columns: Arc::clone(columns),
        query,
        schema: Arc::clone(&schema),
        room: None,
    };
    let batches = stream::try_unfold(left, |mut left| async move {
        let batch = left.next().await;
        batch.map(|batch| batch.map(|batch| (batch, left)))
    });
    flow::each(schema, batches)
}

/// The files of an answer that were not sent yet.
struct TablesLeft {
    files: std::vec::IntoIter<Listed>,
    columns: Arc<Columns>,
    query: CommandGetTables,
    schema: SchemaRef,
    /// The permit for the columns that were sent last.
    room: Option<OwnedSemaphorePermit>,
}

impl TablesLeft {
    /// The next rows; `None` at the end.
    async fn next(&mut self) -> Result<Option<RecordBatch>, FlightError> {
        // The client has taken the message before this one.
        self.room = None;
        let files_at_once = match self.query.include_schema {
            true => 1,
            false => FILES_AT_ONCE,
        };
        loop {
            let some: Vec<Listed> = self.files.by_ref().take(files_at_once).collect();
            let Some(first) = some.first() else {
                return Ok(None);
            };
            // Others do something between them.
            tokio::task::yield_now().await;
            let named = named_tables(self.query.clone(), &some)?;
            if !self.query.include_schema {
                return Ok(Some(named));
            }
            if named.num_rows() > 0
                && let Some(batch) = self.with_columns(&named, first).await?
            {
                return Ok(Some(batch));
            }
        }
    }

    /// The row of a file with its columns; `None` for what is no table.
    async fn with_columns(
        &mut self,
        named: &RecordBatch,
        file: &Listed,
    ) -> Result<Option<RecordBatch>, FlightError> {
        let Some(described) = self.columns.described(file).await else {
            return Ok(None);
        };
        let message = described.message(|schema| bytes_of(&plain_schema(schema)))?;
        let room = self.columns.room(message.len()).await;
        self.room = room.map_err(|failure| refused(&failure))?;
        let mut arrays = named.columns().to_vec();
        arrays.push(Arc::new(BinaryArray::from_vec(vec![&*message])) as ArrayRef);
        Ok(Some(RecordBatch::try_new(
            Arc::clone(&self.schema),
            arrays,
        )?))
    }
}

/// Those of some files that a request is for, without their columns.
fn named_tables(query: CommandGetTables, files: &[Listed]) -> Result<RecordBatch, FlightError> {
    let mut builder = tables_builder(CommandGetTables {
        include_schema: false,
        ..query
    });
    let none = Schema::empty();
    for file in files {
        builder.append(CATALOG, SCHEMA, &file.name, TABLE, &none)?;
    }
    builder.build()
}

/// The builder of the answer to GetTables.
pub(super) fn tables_builder(mut query: CommandGetTables) -> GetTablesBuilder {
    let wants_some = !query.table_types.is_empty();
    query.table_types.retain(|kind| kind == TABLE);
    query.table_types.truncate(1);
    if wants_some && query.table_types.is_empty() {
        query.table_types.push("none of these".to_owned());
    }
    query.into_builder()
}

/// The types that columns have.
pub(super) fn types() -> Result<XdbcTypeInfoData, FlightError> {
    use XdbcDataType as T;
    let mut builder = XdbcTypeInfoDataBuilder::new();
    let number = |name, kind, bits, is_unsigned| (name, kind, Some(bits), Some(is_unsigned), None);
    let other = |name, kind, quote| (name, kind, None, None, quote);
    for (name, kind, bits, is_unsigned, quote) in [
        number("TINYINT", T::XdbcTinyint, 8, false),
        number("SMALLINT", T::XdbcSmallint, 16, false),
        number("INTEGER", T::XdbcInteger, 32, false),
        number("BIGINT", T::XdbcBigint, 64, false),
        number("TINYINT UNSIGNED", T::XdbcTinyint, 8, true),
        number("SMALLINT UNSIGNED", T::XdbcSmallint, 16, true),
        number("INTEGER UNSIGNED", T::XdbcInteger, 32, true),
        number("BIGINT UNSIGNED", T::XdbcBigint, 64, true),
        number("REAL", T::XdbcReal, 24, false),
        number("DOUBLE", T::XdbcDouble, 53, false),
        number("DECIMAL", T::XdbcDecimal, 38, false),
        other("BOOLEAN", T::XdbcBit, None),
        other("VARCHAR", T::XdbcVarchar, Some("'")),
        other("BYTEA", T::XdbcVarbinary, Some("X'")),
        other("DATE", T::XdbcDate, Some("DATE '")),
        other("TIMESTAMP", T::XdbcTimestamp, Some("TIMESTAMP '")),
    ] {
        let is_time = matches!(kind, T::XdbcDate | T::XdbcTimestamp);
        builder.append(XdbcTypeInfo {
            type_name: name.to_owned(),
            data_type: kind,
            column_size: bits,
            literal_prefix: quote.map(str::to_owned),
            literal_suffix: quote.map(|_| "'".to_owned()),
            create_params: None,
            nullable: Nullable::NullabilityNullable,
            case_sensitive: kind == T::XdbcVarchar,
            searchable: Searchable::Full,
            unsigned_attribute: is_unsigned,
            fixed_prec_scale: false,
            auto_increment: Some(false),
            local_type_name: Some(name.to_owned()),
            minimum_scale: None,
            maximum_scale: None,
            sql_data_type: match is_time {
                true => T::XdbcDatetime,
                false => kind,
            },
            datetime_subcode: match kind {
                T::XdbcDate => Some(XdbcDatetimeSubcode::XdbcSubcodeYear),
                T::XdbcTimestamp => Some(XdbcDatetimeSubcode::XdbcSubcodeTimestamp),
                _ => None,
            },
            num_prec_radix: bits.map(|_| 2),
            interval_precision: None,
        });
    }
    builder.build()
}

/// Primary keys, which do not exist.
pub(super) fn primary_keys() -> RecordBatch {
    RecordBatch::new_empty(columns(&[
        ("catalog_name", DataType::Utf8, true),
        ("db_schema_name", DataType::Utf8, true),
        ("table_name", DataType::Utf8, false),
        ("column_name", DataType::Utf8, false),
        ("key_name", DataType::Utf8, true),
        ("key_sequence", DataType::Int32, false),
    ]))
}

/// Foreign keys, which do not exist.
pub(super) fn foreign_keys() -> RecordBatch {
    RecordBatch::new_empty(columns(&[
        ("pk_catalog_name", DataType::Utf8, true),
        ("pk_db_schema_name", DataType::Utf8, true),
        ("pk_table_name", DataType::Utf8, false),
        ("pk_column_name", DataType::Utf8, false),
        ("fk_catalog_name", DataType::Utf8, true),
        ("fk_db_schema_name", DataType::Utf8, true),
        ("fk_table_name", DataType::Utf8, false),
        ("fk_column_name", DataType::Utf8, false),
        ("key_sequence", DataType::Int32, false),
        ("fk_key_name", DataType::Utf8, true),
        ("pk_key_name", DataType::Utf8, true),
        ("update_rule", DataType::UInt8, false),
        ("delete_rule", DataType::UInt8, false),
    ]))
}

fn columns(columns: &[(&str, DataType, bool)]) -> SchemaRef {
    let fields = columns
        .iter()
        .map(|(name, kind, is_nullable)| Field::new(*name, kind.clone(), *is_nullable));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// The table type of a file.
pub(super) const TABLE: &str = "TABLE";

/// Bytes of a pattern of names.
const PATTERN_BYTES_MAX: usize = 1000;
/// Files that are listed at a time without their columns.
const FILES_AT_ONCE: usize = 16;
