//! A query as a table of another session: a DataFusion that is not this engine's plans around it, and reads it.
//!
//! The query is planned and run here, with this engine's rules, whichever session has the table: the names, settings
//! and functions of another session have other meanings. The scan of that session adds its columns, its limit, and
//! those conditions that have the same meaning here (`is_taken`); all other conditions are decided in that session.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{internal_err, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{TaskContext, TaskContextProvider};
use datafusion::logical_expr::{
    Expr, LogicalPlan, LogicalPlanBuilder, Operator, TableProviderFilterPushDown, TableType,
};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    SendableRecordBatchStream,
};
use futures::stream;
use tokio::runtime::Handle;
use weir_functions::{Error, ErrorKind};
use weir_sql::Statement;

use crate::engine::{Engine, Logical, Planned};
use crate::plan_node::{named_node, no_inputs};

/// A hook that runs at the end of a reading of such a table, when the scan report is complete. Its error
/// ends the reading.
pub type Ended = Arc<dyn Fn() -> std::result::Result<(), String> + Send + Sync>;

impl Engine {
    /// A query as a table that a session of another DataFusion reads: planned now, and read anew by each scan.
    ///
    /// The query runs on the threads of the caller's runtime, with any reader.
    ///
    /// # Errors
    /// When the statement is no query, when two of its columns have one name, and as [`Engine::answer`] when it is
    /// planned.
    ///
    /// # Panics
    /// Outside of a runtime of tokio.
    pub async fn offered(
        self: &Arc<Self>,
        statement: Statement,
        ended: Ended,
    ) -> std::result::Result<Arc<Offered>, Error> {
        if !statement.is_query() {
            let message = "only a query can create a table";
            return Err(Error::new(ErrorKind::Plan, message));
        }
        let plan = self.logical_checked(statement).await?.plan;
        let schema = Arc::new(plan.schema().as_arrow().clone());
        for (at, field) in schema.fields().iter().enumerate() {
            if schema.index_of(field.name()).ok() != Some(at) {
                let message = format!("two columns of the table are named {}", field.name());
                let error = Error::new(ErrorKind::Plan, message);
                return Err(error.with_hint("AS gives a column another name"));
            }
        }
        Ok(Arc::new(Offered {
            engine: Arc::clone(self),
            plan,
            schema,
            ended,
            runtime: Handle::current(),
            process: std::process::id(),
        }))
    }

    /// The physical plan of a logical one over this engine's tables.
    async fn planned(&self, plan: LogicalPlan) -> std::result::Result<Planned, Error> {
        self.physical(Logical::of(plan), None, false).await
    }
}

/// A query as a table.
pub struct Offered {
    engine: Arc<Engine>,
    plan: LogicalPlan,
    schema: SchemaRef,
    ended: Ended,
    /// The runtime that it was planned on: the threads of the other session may be unknown to this library.
    runtime: Handle,
    /// A process that was forked from this one lacks its threads.
    process: u32,
}

/// The context in which conditions of another session are decoded.
impl TaskContextProvider for Offered {
    fn task_ctx(&self) -> Arc<TaskContext> {
        self.engine.context().task_ctx()
    }
}

impl fmt::Debug for Offered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a query of {} columns", self.schema.fields().len())
    }
}

impl Offered {
    /// A column of the table, as an expression over the query.
    fn column(&self, index: usize) -> Result<Expr> {
        let Some(column) = self.plan.schema().columns().into_iter().nth(index) else {
            return plan_err!("the table has no column {index}");
        };
        Ok(Expr::Column(column))
    }

    /// The condition of another session, over the query's own columns.
    fn condition(&self, filter: &Expr) -> Result<Expr> {
        let own = filter.clone().transform(|part| match &part {
            Expr::Column(column) => match self.schema.index_of(&column.name) {
                Ok(index) => Ok(Transformed::yes(self.column(index)?)),
                Err(_) => plan_err!("no column named {}", column.name),
            },
            _ => Ok(Transformed::no(part)),
        })?;
        Ok(own.data)
    }
}

#[async_trait]
impl TableProvider for Offered {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let taken = filters.iter().map(|filter| match is_taken(filter) {
            true => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Unsupported,
        });
        Ok(taken.collect())
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if self.process != std::process::id() {
            let message =
                "this table was made in another process, whose threads do not exist in this one";
            return Err(DataFusionError::External(message.into()));
        }
        let mut builder = LogicalPlanBuilder::from(self.plan.clone());
        for filter in filters {
            builder = builder.filter(self.condition(filter)?)?;
        }
        if let Some(columns) = projection {
            let columns: Result<Vec<Expr>> = columns.iter().map(|at| self.column(*at)).collect();
            builder = builder.project(columns?)?;
        }
        if limit.is_some() {
            builder = builder.limit(0, limit)?;
        }
        let plan = builder.build()?;
        // Planning here reports the errors while the other session plans.
        let (engine, own) = (Arc::clone(&self.engine), plan.clone());
        let planned = self.runtime.spawn(async move { engine.planned(own).await });
        let planned = planned
            .await
            .map_err(|error| DataFusionError::External(Box::new(error)))?
            .map_err(outside)?;
        let schema = planned.schema();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Arc::new(OfferedScan {
            engine: Arc::clone(&self.engine),
            plan,
            planned: Arc::new(Mutex::new(Some(planned))),
            schema,
            ended: Arc::clone(&self.ended),
            properties: Arc::new(properties),
        }))
    }
}

/// Whether a condition has the same meaning in every session: it compares columns with each other and with values. Functions are
/// those of the session that names them.
fn is_taken(filter: &Expr) -> bool {
    let mut is_taken = true;
    // The traversal fails only if the closure does.
    let _ = filter.apply(|part| {
        let is_known = match part {
            Expr::Column(_)
            | Expr::Literal(..)
            | Expr::Not(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::Between(_)
            | Expr::InList(_) => true,
            Expr::BinaryExpr(binary) => matches!(
                binary.op,
                Operator::Eq
                    | Operator::NotEq
                    | Operator::Lt
                    | Operator::LtEq
                    | Operator::Gt
                    | Operator::GtEq
                    | Operator::And
                    | Operator::Or
            ),
            _ => false,
        };
        is_taken &= is_known;
        Ok(match is_known {
            true => TreeNodeRecursion::Continue,
            false => TreeNodeRecursion::Stop,
        })
    });
    is_taken
}

/// Reads such a table: one partition, in the order of the query's rows.
struct OfferedScan {
    engine: Arc<Engine>,
    plan: LogicalPlan,
    /// The plan for the first execution; each later one plans again.
    planned: Arc<Mutex<Option<Planned>>>,
    schema: SchemaRef,
    ended: Ended,
    properties: Arc<PlanProperties>,
}

impl fmt::Debug for OfferedScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WeirScan: {} columns", self.schema.fields().len())
    }
}

impl DisplayAs for OfferedScan {
    fn fmt_as(&self, _kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl ExecutionPlan for OfferedScan {
    named_node!("WeirScan");

    no_inputs!();

    fn execute(
        &self,
        partition: usize,
        // The context is that of the other session, which has no captures.
        _context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("the table has one partition");
        }
        let schema = Arc::clone(&self.schema);
        let reading = Reading {
            engine: Arc::clone(&self.engine),
            plan: self.plan.clone(),
            planned: Arc::clone(&self.planned),
            schema: Arc::clone(&self.schema),
            ended: Arc::clone(&self.ended),
            answer: None,
        };
        let batches = stream::try_unfold(reading, |mut reading| async move {
            let next = reading.next().await?;
            Ok(next.map(|batch| (batch, reading)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}

/// One reading of such a table.
struct Reading {
    engine: Arc<Engine>,
    plan: LogicalPlan,
    planned: Arc<Mutex<Option<Planned>>>,
    schema: SchemaRef,
    ended: Ended,
    answer: Option<crate::Answer>,
}

impl Reading {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let answer = match &mut self.answer {
            Some(answer) => answer,
            begun @ None => {
                let first = self
                    .planned
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take();
                let planned = match first {
                    Some(planned) => planned,
                    None => self
                        .engine
                        .planned(self.plan.clone())
                        .await
                        .map_err(outside)?,
                };
                begun.insert(self.engine.start(planned).map_err(outside)?)
            }
        };
        let Some(batch) = answer.next().await.map_err(outside)? else {
            (self.ended)().map_err(|message| DataFusionError::External(message.into()))?;
            return Ok(None);
        };
        // The batch gets the schema of the table, with the names and types of the other session's plan.
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().to_vec();
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &rows)?;
        Ok(Some(batch))
    }
}

/// An error of this engine as one of the other session, with its hint.
fn outside(error: Error) -> DataFusionError {
    let message = match error.hint() {
        Some(hint) => format!("{error}; {hint}"),
        None => error.to_string(),
    };
    DataFusionError::External(message.into())
}
