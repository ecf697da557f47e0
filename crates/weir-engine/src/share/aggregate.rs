//! A fused aggregate of which some groups come from shared readings.

use std::fmt;
use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
};

use super::groups::GroupsConsumer;
use crate::fuse::FusedAggregate;
use crate::plan_node::no_inputs;
use crate::scan::take_stdin;
use crate::scan_report::ScanReport;

/// Stands in the place of a fused aggregate.
#[derive(Debug)]
pub(crate) struct SharedAggregateExec {
    aggregate: FusedAggregate,
    /// The consumer of each pass; `None` for a pass that reads by itself.
    consumers: Vec<Option<GroupsConsumer>>,
}

impl SharedAggregateExec {
    pub(super) fn new(aggregate: &FusedAggregate, consumers: Vec<Option<GroupsConsumer>>) -> Self {
        Self {
            aggregate: aggregate.anew(),
            consumers,
        }
    }

    /// The aggregate as it reads alone.
    pub(crate) const fn aggregate(&self) -> &FusedAggregate {
        &self.aggregate
    }

    /// Whether the reading of a pass is shared.
    pub(super) fn is_shared(&self, pass: usize) -> bool {
        matches!(self.consumers.get(pass), Some(Some(_)))
    }
}

impl DisplayAs for SharedAggregateExec {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let consumers = self.consumers.iter();
        let notes = consumers.map(|consumer| consumer.as_ref().map(GroupsConsumer::described));
        self.aggregate.explain(kind, f, &notes.collect::<Vec<_>>())
    }
}

impl ExecutionPlan for SharedAggregateExec {
    /// EXPLAIN shows the aggregate that it is, and with how many others it reads.
    fn name(&self) -> &str {
        self.aggregate.name()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.aggregate.properties()
    }

    no_inputs!();

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let scan_report = ScanReport::of(&context);
        let mut consumers = self.consumers.clone();
        for (consumer, reading) in consumers.iter_mut().zip(self.aggregate.readings()) {
            *consumer = match consumer.take() {
                Some(consumer) if consumer.attach(&scan_report)? => Some(consumer),
                _ => {
                    take_stdin(&reading.sources, &scan_report)?;
                    None
                }
            };
        }
        let groups = self
            .aggregate
            .run(partition, context, scan_report, move |pass, work| {
                let consumer = consumers.get(pass)?.as_ref()?;
                Some(consumer.groups(work))
            });
        Ok(groups)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.aggregate.metrics()
    }
}
