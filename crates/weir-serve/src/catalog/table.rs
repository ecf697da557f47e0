//! The relations of the catalog as tables of a session: their rows are made while they are read.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, Session};
use datafusion::common::ScalarValue;
use datafusion::datasource::{TableProvider, TableType};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::prelude::SessionContext;
use futures::{StreamExt, stream};

use super::file_catalog::FileCatalog;
use super::relation::{Relation, relation};
use super::rows::{self, ListedColumn, ListedRelation};
use crate::files::{Listed, SCHEMA};
use crate::pg::type_of;

/// Puts the schemas of the catalog into a session.
///
/// # Errors
/// When the session does not take them.
pub(super) fn register(catalog: &Arc<FileCatalog>, session: &SessionContext) -> Result<()> {
    let state = session.state();
    let name = &state.config_options().catalog.default_catalog;
    let Some(sessions) = session.catalog(name) else {
        return Err(DataFusionError::Plan(format!("there is no catalog {name}")));
    };
    for (name, schema) in [(OWN, "pg_catalog"), (INFORMATION, "information_schema")] {
        let catalog = Arc::clone(catalog);
        sessions.register_schema(name, Arc::new(Schema { catalog, schema }))?;
    }
    Ok(())
}

/// A schema of the catalog.
#[derive(Debug)]
struct Schema {
    catalog: Arc<FileCatalog>,
    schema: &'static str,
}

#[async_trait]
impl SchemaProvider for Schema {
    /// None: `SHOW TABLES` is of what a session has made.
    fn table_names(&self) -> Vec<String> {
        Vec::new()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let Some(relation) = relation(Some(self.schema), name) else {
            return Ok(None);
        };
        let catalog = Arc::clone(&self.catalog);
        Ok(Some(Arc::new(Table { catalog, relation })))
    }

    fn table_exist(&self, name: &str) -> bool {
        relation(Some(self.schema), name).is_some()
    }
}

/// A relation of the catalog, which is only read.
#[derive(Debug)]
struct Table {
    catalog: Arc<FileCatalog>,
    relation: &'static Relation,
}

#[async_trait]
impl TableProvider for Table {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.relation.arrow)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        // Filters only select the relations that are listed.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all = (0..self.relation.columns.len()).collect();
        let projection = projection.cloned().unwrap_or(all);
        let schema = Arc::new(self.relation.arrow.project(&projection)?);
        let mut wanted = Wanted::default();
        for filter in filters {
            wanted.take(filter);
        }
        let reading = CatalogScan {
            catalog: Arc::clone(&self.catalog),
            relation: self.relation,
            schema: Arc::clone(&schema),
            projection,
            wanted,
        };
        let streams: Vec<Arc<dyn PartitionStream>> = vec![Arc::new(reading)];
        let plan = StreamingTableExec::try_new(schema, streams, None, None, false, limit)?;
        Ok(Arc::new(plan))
    }
}

/// The relations that a query of a list asks for.
#[derive(Clone, Debug, Default)]
struct Wanted {
    oid: Option<i64>,
    name: Option<String>,
}

impl Wanted {
    fn take(&mut self, filter: &Expr) {
        let Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::Eq,
            right,
        }) = filter
        else {
            return;
        };
        let ((Expr::Column(column), Expr::Literal(value, _))
        | (Expr::Literal(value, _), Expr::Column(column))) = (left.as_ref(), right.as_ref())
        else {
            return;
        };
        match (column.name.as_str(), value) {
            ("oid" | "attrelid" | "relid", ScalarValue::Int64(Some(oid))) => self.oid = Some(*oid),
            ("relname" | "table_name" | "tablename" | "viewname", value) => {
                if let Some(Some(name)) = value.try_as_str() {
                    self.name = Some(name.to_owned());
                }
            }
            _ => {}
        }
    }

    fn is(&self, oid: i64, name: &str) -> bool {
        self.oid.is_none_or(|wanted| wanted == oid)
            && self.name.as_ref().is_none_or(|wanted| wanted == name)
    }
}

/// A relation that is read.
#[derive(Clone, Debug)]
struct CatalogScan {
    catalog: Arc<FileCatalog>,
    relation: &'static Relation,
    schema: SchemaRef,
    projection: Vec<usize>,
    wanted: Wanted,
}

impl PartitionStream for CatalogScan {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        let reading = self.clone();
        let batches = match rows::lists(self.relation) {
            true => reading.listed().boxed(),
            false => {
                let batch = rows::fixed(self.relation).map(|rows| {
                    let batch = rows::batch(self.relation, &rows, &self.projection);
                    batch.map_err(DataFusionError::from)
                });
                stream::iter(batch).boxed()
            }
        };
        Box::pin(RecordBatchStreamAdapter::new(schema, batches))
    }
}

impl CatalogScan {
    /// A batch for each relation that is listed: the columns of a file are looked up when it comes to it.
    fn listed(self) -> impl futures::Stream<Item = Result<RecordBatch>> {
        let own = rows::own().filter(|entry| self.wanted.is(entry.oid, &entry.name));
        let own: Vec<_> = own.map(|entry| self.batch(&entry)).collect();
        let files = self.catalog.files().into_iter();
        let files: Vec<_> = files
            .filter(|(oid, file)| self.wanted.is(*oid, &file.name))
            .collect();
        let files = stream::iter(files).then(move |(oid, file)| {
            let reading = self.clone();
            async move {
                let entry = reading.catalog.entry(oid, file).await?;
                reading.batch(&entry)
            }
        });
        stream::iter(own)
            .chain(files)
            .filter_map(std::future::ready)
    }

    fn batch(&self, entry: &ListedRelation) -> Option<Result<RecordBatch>> {
        let rows = rows::listed(self.relation, entry)?;
        let batch = rows::batch(self.relation, &rows, &self.projection);
        Some(batch.map_err(DataFusionError::from))
    }
}

impl FileCatalog {
    /// A file as a relation; `None` for what is no table.
    async fn entry(&self, oid: i64, file: Listed) -> Option<ListedRelation> {
        let known = self.columns.described(&file).await?;
        let fields = known.schema.fields().iter().enumerate();
        let columns = fields.map(|(index, field)| {
            let origin = known.origins.get(index).and_then(Option::as_deref);
            ListedColumn {
                name: field.name().clone(),
                type_oid: type_of(field, origin).oid().into(),
                is_not_null: !field.is_nullable(),
            }
        });
        Some(ListedRelation {
            oid,
            schema: SCHEMA,
            name: file.name,
            kind: "r",
            columns: columns.collect(),
        })
    }
}

/// The names of the schemas in a session: DataFusion has an information schema of its own, which `SHOW` asks.
pub(super) const OWN: &str = "pg_catalog";
pub(super) const INFORMATION: &str = "pg_information_schema";
