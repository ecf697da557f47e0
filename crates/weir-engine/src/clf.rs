//! `clf(…)`: SIP logs as a table. The index and the zones of a log decide what is read of it.

use std::fmt;
use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{
    ArrayBuilder, ArrayRef, BooleanBuilder, RecordBatch, RecordBatchOptions, StringViewBuilder,
    TimestampNanosecondBuilder, UInt16Builder, UInt32Builder, UInt64Builder,
};
use arrow::datatypes::{DataType, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::expr::Between;
use datafusion::logical_expr::{
    BinaryExpr, Expr, Operator, TableProviderFilterPushDown, TableType,
};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    SendableRecordBatchStream,
};
use weir_clf::{Condition, Field, Found, Plan, Query, SearchOptions, Searcher, Target, Test, Time};
use weir_tables::{Cause, SourceError, Table};

use crate::plan_node::{named_node, no_inputs};
use crate::scan_report::ScanReport;

/// The value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ClfValue {
    Time,
    Response,
    Sent,
    Encrypted,
    Transport,
    Flags,
    Number,
    Method,
    Status,
    Text(Field),
    Segment,
    Offset,
}

/// The values of the columns of [`Table::sip_log`], in their order.
const VALUES: [ClfValue; 22] = [
    ClfValue::Time,
    ClfValue::Response,
    ClfValue::Sent,
    ClfValue::Encrypted,
    ClfValue::Transport,
    ClfValue::Flags,
    ClfValue::Number,
    ClfValue::Method,
    ClfValue::Status,
    ClfValue::Text(Field::RequestUri),
    ClfValue::Text(Field::Destination),
    ClfValue::Text(Field::Source),
    ClfValue::Text(Field::ToUri),
    ClfValue::Text(Field::ToTag),
    ClfValue::Text(Field::FromUri),
    ClfValue::Text(Field::FromTag),
    ClfValue::Text(Field::CallId),
    ClfValue::Text(Field::ServerTxn),
    ClfValue::Text(Field::ClientTxn),
    ClfValue::Text(Field::CSeq),
    ClfValue::Segment,
    ClfValue::Offset,
];

/// A log, with all its segments.
#[derive(Debug)]
pub(crate) struct ClfTable {
    paths: Vec<PathBuf>,
    schema: SchemaRef,
    scan_report: Arc<ScanReport>,
}

impl ClfTable {
    pub(crate) fn new(paths: Vec<PathBuf>, scan_report: Arc<ScanReport>) -> Self {
        let schema = Arc::clone(Table::sip_log().schema());
        Self {
            paths,
            schema,
            scan_report,
        }
    }
}

#[async_trait]
impl TableProvider for ClfTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    /// The search leaves out rows for which the filter is false; the filter stays in the plan all the same.
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(filters
            .iter()
            .map(|filter| match narrow(Query::new(), filter) {
                Some(_) => TableProviderFilterPushDown::Inexact,
                None => TableProviderFilterPushDown::Unsupported,
            })
            .collect())
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let query = filters.iter().fold(Query::new(), |query, filter| {
            narrow(query.clone(), filter).unwrap_or(query)
        });
        let projection = match projection {
            Some(projection) => projection.clone(),
            None => (0..VALUES.len()).collect(),
        };
        let schema = Arc::new(self.schema.project(&projection)?);
        let mut options = SearchOptions::default();
        // The paths were looked at before.
        options.opener = weir_capture::open_local;
        let searcher = Searcher::open(&self.paths, options)
            .map_err(|error| DataFusionError::Execution(error.to_string()))?;
        let plan = searcher
            .plan(&query)
            .map_err(|error| DataFusionError::Execution(error.to_string()))?;
        self.scan_report.plan_bytes(plan.bytes().1);
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Arc::new(ClfScan {
            searcher: Arc::new(searcher),
            query,
            plan,
            projection,
            schema,
            limit,
            properties: Arc::new(properties),
        }))
    }
}

/// Adds the conditions of a filter to the query; `None` when a log cannot be searched by any of them. The query finds
/// every row for which the filter is true.
fn narrow(query: Query, filter: &Expr) -> Option<Query> {
    match filter {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::And,
            right,
        }) => match narrow(query.clone(), left) {
            Some(narrower) => Some(narrow(narrower.clone(), right).unwrap_or(narrower)),
            None => narrow(query, right),
        },
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (&**left, &**right) {
            (column, Expr::Literal(value, _)) => compare(query, column, *op, value),
            (Expr::Literal(value, _), column) => compare(query, column, op.swap()?, value),
            _ => None,
        },
        Expr::Between(Between {
            expr,
            negated: false,
            low,
            high,
        }) => match (&**low, &**high) {
            (Expr::Literal(low, _), Expr::Literal(high, _)) => {
                let query = compare(query, expr, Operator::GtEq, low)?;
                compare(query, expr, Operator::LtEq, high)
            }
            _ => None,
        },
        _ => None,
    }
}

fn compare(query: Query, column: &Expr, op: Operator, literal: &ScalarValue) -> Option<Query> {
    let name = match column {
        Expr::Column(column) => &column.name,
        Expr::Cast(cast) => match &*cast.expr {
            // This is a status that is compared with a larger integer.
            Expr::Column(column) if column.name == "clf.status" => &column.name,
            _ => return None,
        },
        _ => return None,
    };
    let value = VALUES.get(Table::sip_log().position(name)?)?;
    let exact = |target, text: Vec<u8>| Condition::new(target, Test::Exact(text));
    match (value, op) {
        (ClfValue::Time, _) => {
            let ScalarValue::TimestampNanosecond(Some(nanoseconds), Some(_)) = literal else {
                return None;
            };
            let time = Time::from_nanoseconds(*nanoseconds);
            match op {
                Operator::Eq => Some(query.since(time).until(time)),
                Operator::Gt | Operator::GtEq => Some(query.since(time)),
                Operator::Lt | Operator::LtEq if *nanoseconds >= 0 => Some(query.until(time)),
                _ => None,
            }
        }
        (ClfValue::Text(field), Operator::Eq) => {
            Some(query.and(exact(Target::Field(*field), text(literal)?)))
        }
        (ClfValue::Method, Operator::Eq) => Some(query.and(exact(Target::Method, text(literal)?))),
        (ClfValue::Status, Operator::Eq) => {
            let status = match literal.cast_to(&DataType::UInt16).ok()? {
                ScalarValue::UInt16(Some(status)) if (100..1000).contains(&status) => status,
                _ => return None,
            };
            let text = status.to_string().into_bytes();
            Some(query.and(exact(Target::Field(Field::Status), text)))
        }
        _ => None,
    }
}

/// Text that stands in a log as it stands in a query.
fn text(literal: &ScalarValue) -> Option<Vec<u8>> {
    let text = literal.try_as_str()??;
    // The replacement character stands for bytes that are not text.
    let plain = !text.is_empty() && !text.contains(|c: char| c.is_control() || c == '\u{fffd}');
    plain.then(|| text.as_bytes().to_vec())
}

/// Searches a log.
#[derive(Debug)]
struct ClfScan {
    searcher: Arc<Searcher>,
    query: Query,
    plan: Plan,
    projection: Vec<usize>,
    schema: SchemaRef,
    limit: Option<usize>,
    properties: Arc<PlanProperties>,
}

impl DisplayAs for ClfScan {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separate = match kind {
            DisplayFormatType::TreeRender => "\n",
            _ => {
                f.write_str("ClfScan: ")?;
                "; "
            }
        };
        let segments = &self.plan.segments;
        let first = segments
            .first()
            .map_or_else(String::new, |first| first.path.display().to_string());
        let read = segments
            .iter()
            .filter(|segment| segment.bytes_read > 0)
            .count();
        let zones: u64 = segments.iter().map(|segment| segment.zones).sum();
        let zones_read: u64 = segments.iter().map(|segment| segment.zones_read).sum();
        let (bytes, bytes_read) = self.plan.bytes();
        write!(f, "reads={first}")?;
        if segments.len() > 1 {
            write!(f, " and {} more", segments.len() - 1)?;
        }
        write!(f, "{separate}segments={read} of {}", segments.len())?;
        write!(f, "{separate}zones={zones_read} of {zones}")?;
        write!(f, "{separate}bytes={bytes_read} of {bytes}")?;
        if segments.iter().any(|segment| segment.keyed) {
            write!(f, "{separate}keys=looked up in the index")?;
        }
        if let Some(limit) = self.limit {
            write!(f, "{separate}limit={limit}")?;
        }
        Ok(())
    }
}

impl ExecutionPlan for ClfScan {
    named_node!("ClfScan");

    no_inputs!();

    fn execute(
        &self,
        _partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let config = context.session_config();
        let scan_report = ScanReport::of(&context);
        let mut rows = ClfRows::new(
            &self.projection,
            Arc::clone(&self.schema),
            config.batch_size(),
        );
        let mut left = self.limit.unwrap_or(usize::MAX);
        let (searcher, query) = (Arc::clone(&self.searcher), self.query.clone());
        let mut builder = RecordBatchReceiverStream::builder(Arc::clone(&self.schema), 2);
        let sender = builder.tx();
        builder.spawn_blocking(move || {
            let paths: Vec<String> = searcher
                .paths()
                .map(|path| path.display().to_string())
                .collect();
            let searched = searcher.search(&query, &mut |found| {
                if left == 0 {
                    return ControlFlow::Break(());
                }
                left -= 1;
                rows.push(&found, paths.get(found.segment).map_or("", String::as_str));
                match rows.is_full() {
                    true if sender.blocking_send(rows.take()).is_err() => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            });
            let searched =
                searched.map_err(|error| DataFusionError::Execution(error.to_string()))?;
            if searched.damaged > 0 {
                let damage = match searched.damaged {
                    1 => "1 place is not a record".to_owned(),
                    more => format!("{more} places are not records"),
                };
                let cause = io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("{damage}; weir clf check shows where"),
                );
                scan_report.add_errors(vec![SourceError {
                    // Sealed segments come first, and the log that they belong to comes last.
                    path: paths.last().cloned().unwrap_or_default(),
                    cause: Cause::Io(cause),
                }]);
            }
            if !rows.is_empty() {
                // A receiver that was dropped needs no further rows.
                let _ = sender.blocking_send(rows.take());
            }
            Ok(())
        });
        Ok(builder.build())
    }
}

/// Rows on their way to a batch.
struct ClfRows {
    schema: SchemaRef,
    columns: Vec<(ClfValue, Builder)>,
    rows: usize,
    rows_max: usize,
}

enum Builder {
    Time(TimestampNanosecondBuilder),
    Flag(BooleanBuilder),
    U16(UInt16Builder),
    U32(UInt32Builder),
    U64(UInt64Builder),
    Text(StringViewBuilder),
}

impl ClfRows {
    fn new(projection: &[usize], schema: SchemaRef, rows_max: usize) -> Self {
        let columns = projection
            .iter()
            .filter_map(|position| VALUES.get(*position))
            .zip(schema.fields())
            .map(|(&value, field)| {
                let builder = match field.data_type() {
                    DataType::Boolean => Builder::Flag(BooleanBuilder::new()),
                    DataType::UInt16 => Builder::U16(UInt16Builder::new()),
                    DataType::UInt32 => Builder::U32(UInt32Builder::new()),
                    DataType::UInt64 => Builder::U64(UInt64Builder::new()),
                    DataType::Utf8View => Builder::Text(StringViewBuilder::new()),
                    _ => Builder::Time(TimestampNanosecondBuilder::new().with_timezone("UTC")),
                };
                (value, builder)
            })
            .collect();
        Self {
            schema,
            columns,
            rows: 0,
            rows_max: rows_max.max(1),
        }
    }

    const fn is_full(&self) -> bool {
        self.rows >= self.rows_max
    }

    const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    fn push(&mut self, found: &Found<'_>, segment: &str) {
        self.rows += 1;
        let record = &found.record;
        let flags = record.flags;
        for (value, builder) in &mut self.columns {
            match (builder, *value) {
                (Builder::Time(out), _) => out.append_value(record.time.as_nanoseconds()),
                (Builder::Flag(out), ClfValue::Response) => out.append_value(flags.response),
                (Builder::Flag(out), ClfValue::Sent) => out.append_option(flags.sent),
                (Builder::Flag(out), _) => out.append_option(flags.encrypted),
                (Builder::U16(out), _) => {
                    // Three digits, so that a filter by number and one by text are the same.
                    let three = record.field(Field::Status).len() == 3;
                    out.append_option(record.status().filter(|_| three));
                }
                (Builder::U32(out), _) => out.append_option(record.cseq_number()),
                (Builder::U64(out), _) => out.append_value(found.offset),
                (Builder::Text(out), value) => {
                    let letters = flags.letters();
                    let bytes = match value {
                        ClfValue::Transport => flags.transport.map(|known| known.name().as_bytes()),
                        ClfValue::Flags => flags.is_complete().then_some(&letters[..]),
                        ClfValue::Method => record.method(),
                        ClfValue::Segment => Some(segment.as_bytes()),
                        // A CSeq without a number has only the method, which is in another column.
                        ClfValue::Text(Field::CSeq) => record
                            .value(Field::CSeq)
                            .filter(|text| !text.starts_with(b"- ")),
                        ClfValue::Text(field) => record.value(field),
                        _ => None,
                    };
                    out.append_option(bytes.map(String::from_utf8_lossy));
                }
            }
        }
    }

    /// The rows as a batch; begins anew.
    fn take(&mut self) -> Result<RecordBatch> {
        let arrays = self.columns.iter_mut().map(|(_, builder)| -> ArrayRef {
            match builder {
                Builder::Time(out) => ArrayBuilder::finish(out),
                Builder::Flag(out) => ArrayBuilder::finish(out),
                Builder::U16(out) => ArrayBuilder::finish(out),
                Builder::U32(out) => ArrayBuilder::finish(out),
                Builder::U64(out) => ArrayBuilder::finish(out),
                Builder::Text(out) => ArrayBuilder::finish(out),
            }
        });
        let arrays = arrays.collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        self.rows = 0;
        Ok(RecordBatch::try_new_with_options(
            Arc::clone(&self.schema),
            arrays,
            &options,
        )?)
    }
}
