//! A scan whose rows come from a shared reading.

use std::fmt;
use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
};

use super::rows::RowsConsumer;
use crate::plan_node::no_inputs;
use crate::scan::CaptureScan;
use crate::scan_report::ScanReport;

/// Stands in the place of a scan.
#[derive(Debug)]
pub(crate) struct SharedScanExec {
    scan: CaptureScan,
    consumer: RowsConsumer,
}

impl SharedScanExec {
    pub(super) fn new(scan: &CaptureScan, consumer: RowsConsumer) -> Self {
        Self {
            scan: scan.anew(),
            consumer,
        }
    }

    /// The scan as it reads alone.
    pub(crate) const fn scan(&self) -> &CaptureScan {
        &self.scan
    }
}

impl DisplayAs for SharedScanExec {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.scan.explain(kind, f, true)?;
        let separate = match kind {
            DisplayFormatType::TreeRender => "\n",
            _ => "; ",
        };
        write!(f, "{separate}{}", self.consumer.described())
    }
}

impl ExecutionPlan for SharedScanExec {
    /// EXPLAIN shows the scan that it is, and with how many others it reads.
    fn name(&self) -> &str {
        self.scan.name()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.scan.properties()
    }

    no_inputs!();

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let scan_report = ScanReport::of(&context);
        if !self.consumer.attach(&scan_report)? {
            return self.scan.execute(partition, context);
        }
        let own = self.scan.steps(partition, &context, scan_report);
        let rows = self.consumer.clone().rows(own, &context);
        Ok(self.scan.streamed(partition, rows))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.scan.metrics()
    }
}
