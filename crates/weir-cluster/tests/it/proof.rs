//! The assumption of the design: a piece is a partition of a table in memory, which the scheduler assigns to one task; a leaf that
//! Ballista does not know is run whole by each task.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    SendableRecordBatchStream,
};
use weir_engine::Cluster;

use crate::samples::{Asks, enter};

/// Four pieces on two executors of one core: each record counts once.
#[test]
fn a_piece_is_read_once() {
    enter();
    let sql = "SELECT count(*) FROM 'day/[0-3].pcap'";
    let here = Asks::here().ask(sql).unwrap();
    let there = Asks::there();
    let plan = there.plan(sql);
    assert!(plan.contains("PieceAggregate: pieces=4"), "{plan}");
    let answered = there.ask_both(sql);
    assert_eq!(answered.rows, here.rows);
    assert_eq!(answered.records, here.records);
    assert_eq!(answered.bytes, here.bytes);
    // A scan without a fused aggregate.
    let sql = "SELECT count(*), max(length(layers)) FROM (SELECT frame.layers AS layers FROM 'day/[0-3].pcap')";
    let plan = there.plan(sql);
    assert!(plan.contains("pieces=4"), "{plan}");
    assert_eq!(
        there.ask(sql).unwrap().rows,
        Asks::here().ask(sql).unwrap().rows
    );
}

/// A leaf that the scheduler does not know and cannot cut into pieces would be run whole by each of four tasks.
#[test]
fn a_leaf_of_our_own_would_be_read_by_each_task() {
    enter();
    let asks = Asks::there();
    let client = asks.client.as_ref().unwrap();
    let properties = PlanProperties::new(
        EquivalenceProperties::new(Arc::new(Schema::empty())),
        Partitioning::UnknownPartitioning(4),
        EmissionType::Incremental,
        Boundedness::Bounded,
    );
    let plan: Arc<dyn ExecutionPlan> = Arc::new(Leaf(Arc::new(properties)));
    // The plan cannot be serialized, so that this cannot happen by accident.
    assert!(client.sent(&plan).is_none());
}

/// A leaf like a scan that is not divided into pieces.
#[derive(Debug)]
struct Leaf(Arc<PlanProperties>);

impl DisplayAs for Leaf {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Leaf")
    }
}

impl ExecutionPlan for Leaf {
    fn name(&self) -> &'static str {
        "Leaf"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.0
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        EmptyExec::new(self.schema()).execute(0, context)
    }
}
