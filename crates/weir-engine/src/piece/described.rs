//! Serializable scans and statements, without open files.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow::datatypes::SchemaRef;
use datafusion::common::{internal_err, plan_err};
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
};
use weir_capture::is_remote;
use weir_packet::Options as DecodeOptions;
use weir_tables::{Compile, Extraction, Location, RECORD_COLUMN, Settings, Source, Table};

use crate::options::Options;
use crate::plan_node::no_inputs;
use crate::scan::{CaptureScan, Reading};
use crate::table::CaptureTable;

/// A scan of captures, apart from which they are.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScanDescription {
    /// The table function, such as `sip`; `None` for packets.
    pub extraction: Option<String>,
    /// The columns of the table in their order.
    pub columns: Vec<String>,
    /// No columns were left out of it.
    pub is_whole: bool,
    /// Positions of those that are read.
    pub projection: Vec<usize>,
    /// The filters of rows, in terms of the table.
    pub filters: Vec<Expr>,
    /// Rows, at most.
    pub limit: Option<usize>,
    /// The decoding of ambiguous traffic.
    pub decode: DecodeOptions,
    /// When filters and aggregates of records are compiled.
    pub compile: Compile,
}

impl ScanDescription {
    /// Packets without columns, for a caller that fills in a description from elsewhere.
    #[must_use]
    pub fn new() -> Self {
        Self {
            extraction: None,
            columns: Vec::new(),
            is_whole: false,
            projection: Vec::new(),
            filters: Vec::new(),
            limit: None,
            decode: DecodeOptions::default(),
            compile: Compile::default(),
        }
    }

    /// The description of `scan`; `None` when it cannot be described: it depends on the order of several sources, on arguments of
    /// its table or of its source, on a layout, or on bytes that only this process has.
    pub(crate) fn of(scan: &CaptureScan) -> Option<Self> {
        let reading = scan.reading();
        let is_plain = |source: &Source| {
            // A member of an archive has no address of its own.
            let is_placed = match source.location() {
                Location::Object(object) => is_remote(object.identity()),
                _ => true,
            };
            !source.is_stdin()
                && !source.is_growing()
                && source.layout().is_none()
                && is_placed
                && !source.is_without_repeats()
        };
        let by_itself = !reading.merge && !reading.sorted && reading.lateness.is_none();
        let table = scan.table();
        let is_default = *table.settings() == Settings::default();
        (by_itself && is_default && reading.sources.iter().all(is_plain)).then(|| Self {
            extraction: table
                .extraction()
                .map(|extraction| extraction.name.to_owned()),
            columns: table
                .columns()
                .iter()
                .map(|column| column.name.to_string())
                .collect(),
            is_whole: table.is_whole(),
            projection: scan.projection().to_vec(),
            filters: scan.filters().to_vec(),
            limit: scan.limit(),
            decode: reading.decode.clone(),
            compile: reading.compile,
        })
    }

    /// The table that it reads.
    fn table(&self) -> Result<Table> {
        let table = match &self.extraction {
            None => Table::packets(),
            Some(name) => match Extraction::named(name) {
                Some(extraction) => Table::extracted(extraction),
                None => return plan_err!("this version of weir has no table {name}"),
            },
        };
        let table = match self.columns.iter().any(|name| name == RECORD_COLUMN) {
            true => table.with_records(),
            false => table,
        };
        let headers = self.columns.iter().map(String::as_str);
        let headers: Vec<&str> = headers
            .filter(|name| table.position(name).is_none())
            .collect();
        let table = table.with_header_columns(headers.into_iter());
        let table = match self.is_whole {
            true => table,
            false => {
                table.with_columns(|column| self.columns.iter().any(|name| **name == *column.name))
            }
        };
        let names = table.columns().iter().map(|column| &*column.name);
        if !names.eq(self.columns.iter().map(String::as_str)) {
            return plan_err!("this version of weir lacks columns of the plan");
        }
        match self.projection.iter().max() {
            Some(most) if *most >= table.columns().len() => {
                plan_err!("a scan asks for a column that its table does not have")
            }
            _ => Ok(table),
        }
    }

    /// The scan of these sources.
    pub(crate) fn scan(
        &self,
        sources: Vec<Source>,
        read_ahead: bool,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let reading = Reading {
            sources,
            merge: false,
            sorted: false,
            decode: self.decode.clone(),
            lateness: None,
            read_ahead,
            compile: self.compile,
        };
        let table = CaptureTable::new(self.table()?, reading);
        table.plan(self.projection.clone(), &self.filters, self.limit, 1)
    }
}

impl Default for ScanDescription {
    fn default() -> Self {
        Self::new()
    }
}

/// The place of a scan in a plan that is to be run for each piece. It is never run itself.
#[derive(Debug)]
pub struct TemplateScan {
    description: ScanDescription,
    /// The scan on the machine that made the plan.
    scan: Arc<dyn ExecutionPlan>,
}

impl TemplateScan {
    /// The place of the scan that is described.
    ///
    /// # Errors
    /// When this version of weir lacks a part of the scan, such as a column.
    pub fn new(description: ScanDescription) -> Result<Self> {
        let scan = description.scan(Vec::new(), false)?;
        Ok(Self { description, scan })
    }

    /// The description.
    #[must_use]
    pub const fn description(&self) -> &ScanDescription {
        &self.description
    }
}

impl DisplayAs for TemplateScan {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.scan.fmt_as(kind, f)
    }
}

impl ExecutionPlan for TemplateScan {
    fn name(&self) -> &'static str {
        "TemplateScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.scan.properties()
    }

    no_inputs!();

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!(
            "TemplateScan was executed: the optimizer has to replace it by a scan of captures"
        )
    }
}

/// A statement that one machine answers as a whole.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct QueryDescription {
    /// The query.
    pub sql: String,
    /// Statements that make the views that it names.
    pub views: Vec<String>,
    /// The columns of its answer.
    pub schema: SchemaRef,
    /// The decoding of ambiguous traffic.
    pub decode: DecodeOptions,
    /// Sources are merged in the order of time.
    pub merge: bool,
    /// The lateness of records.
    pub lateness: Option<Duration>,
    /// The zone of instants.
    pub time_zone: Option<String>,
    /// When filters and aggregates of records are compiled.
    pub compile: Compile,
    /// Aggregates are left to DataFusion.
    pub unfused: bool,
}

impl QueryDescription {
    /// A query whose answer has this schema, with the options of an engine.
    #[must_use]
    pub fn new(sql: String, views: Vec<String>, schema: SchemaRef, options: &Options) -> Self {
        Self {
            sql,
            views,
            schema,
            decode: options.decode.clone(),
            merge: options.merge,
            lateness: options.lateness,
            time_zone: options.time_zone.clone(),
            compile: options.compile,
            unfused: options.unfused,
        }
    }

    /// The options of an engine that runs it, with relative names of files below `folder`.
    pub(crate) fn options(&self, folder: &Path) -> Options {
        Options {
            decode: self.decode.clone(),
            merge: self.merge,
            lateness: self.lateness,
            time_zone: self.time_zone.clone(),
            compile: self.compile,
            unfused: self.unfused,
            folder: Some(PathBuf::from(folder)),
            read_only: true,
            files_only: true,
            ..Options::default()
        }
    }
}
