//! The catalog that browsing clients ask: PostgreSQL's own tables, made by datafusion-postgres, over the files below
//! the roots as tables of one schema.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::{DataType, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{
    CatalogProvider, MemoryCatalogProvider, SchemaProvider, Session as DfSession,
};
use datafusion::common::ScalarValue;
use datafusion::datasource::{TableProvider, TableType};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{ColumnarValue, Expr, Volatility, create_udf};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_postgres::DfSessionService;
use datafusion_postgres::datafusion_pg_catalog::pg_catalog::context::EmptyContextProvider;
use datafusion_postgres::datafusion_pg_catalog::setup_pg_catalog;
use datafusion_postgres::hooks::set_show::SetShowHook;
use datafusion_postgres::hooks::transactions::TransactionStatementHook;

use crate::error::{Failure, Kind};
use crate::files::{CATALOG, FileKind, Files, Listed, SCHEMA};
use crate::house::House;
use crate::session::Session;

/// The catalog of a server.
pub(crate) struct Catalog {
    pub(crate) service: Arc<DfSessionService>,
    pub(crate) context: Arc<SessionContext>,
}

impl Catalog {
    pub(crate) fn new(house: &Arc<House>) -> Result<Self, Failure> {
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
            session: Session::new(house)?,
            house: Arc::clone(house),
            known: Mutex::default(),
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
        // asyncpg asks for a setting before it looks at types, and sets it.
        let setting = |name: &str, given: Vec<DataType>, from: usize| {
            create_udf(
                name,
                given,
                DataType::Utf8,
                Volatility::Volatile,
                Arc::new(move |values: &[ColumnarValue]| match values.get(from) {
                    Some(value) if from > 0 => Ok(value.clone()),
                    _ => Ok(ColumnarValue::Scalar(ScalarValue::from("off"))),
                }),
            )
        };
        context.register_udf(setting("current_setting", vec![DataType::Utf8], 0));
        let given = vec![DataType::Utf8, DataType::Utf8, DataType::Boolean];
        context.register_udf(setting("set_config", given, 1));
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

/// What `version()` says: clients look for PostgreSQL's number in it.
fn version() -> String {
    format!("PostgreSQL {VERSION}")
}

/// The version of PostgreSQL whose catalog is given, and that of this program.
pub(crate) const VERSION: &str = concat!("16.6 (weir ", env!("CARGO_PKG_VERSION"), ")");

/// The files below the roots as tables.
struct Tables {
    house: Arc<House>,
    session: Session,
    known: Mutex<HashMap<String, Known>>,
}

/// A file as it was when it was looked at: its size, when it changed, and its columns where it is a table.
type Known = (u64, SystemTime, Option<SchemaRef>);

impl std::fmt::Debug for Tables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tables").finish_non_exhaustive()
    }
}

impl Tables {
    /// The columns of a file, as they were when it was last changed; `None` for what is no table.
    async fn columns(&self, file: &Listed) -> Option<SchemaRef> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((size, modified, schema)) = known().get(&file.path)
            && (*size, *modified) == (file.size, file.modified)
        {
            return schema.clone();
        }
        let sql = format!("SELECT * FROM '{}'", file.path.replace('\'', "''"));
        let statement = self.session.parse(&sql).ok().and_then(|mut all| all.pop());
        let described = match statement {
            Some(statement) => self.session.describe(statement).await.ok(),
            None => None,
        };
        let schema = described.map(|described| described.schema);
        let mut known = known();
        if known.len() >= TABLES_MAX * 4 {
            known.clear();
        }
        known.insert(
            file.path.clone(),
            (file.size, file.modified, schema.clone()),
        );
        schema
    }
}

/// The files that the catalog lists.
fn tables(files: &Files) -> Vec<Listed> {
    let all = files.all();
    let tables = all.iter().filter(|file| file.kind != FileKind::Other);
    tables.take(TABLES_MAX).cloned().collect()
}

#[async_trait]
impl SchemaProvider for Tables {
    fn table_names(&self) -> Vec<String> {
        let files = tables(&self.house.files);
        files.into_iter().map(|file| file.name).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        let files = self.house.files.all();
        let Some(file) = files.iter().find(|file| file.name == name) else {
            return Ok(None);
        };
        let schema = self.columns(file).await;
        Ok(schema.map(|schema| Arc::new(FileTable { schema }) as _))
    }

    fn table_exist(&self, name: &str) -> bool {
        self.house.files.all().iter().any(|file| file.name == name)
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

/// Files that the catalog lists; others can still be named.
const TABLES_MAX: usize = 1000;
