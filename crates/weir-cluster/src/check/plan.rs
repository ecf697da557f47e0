//! Validation of physical plans.

use datafusion_proto::protobuf::partitioning::PartitionMethod;
use datafusion_proto::protobuf::physical_plan_node::PhysicalPlanType;
use datafusion_proto::protobuf::{
    AggregateExecNode, FilterExecNode, MemoryScanExecNode, PhysicalExtensionNode, PhysicalPlanNode,
    RepartitionExecNode, Schema, SortExecNode, UnnestExecNode, WindowAggExecNode,
};
use prost::encoding::{WireType, encode_key, encode_varint};
use weir_engine::PATTERNS_WEIGHT_MAX;

use super::exchange::{self, Exchange, PARTITIONS_MAX, READ_MAX, ROWS_MAX};
use super::expression::KEYS_MAX;
use super::fields::decoded_up_to;
use super::{Checked, Refused, counted, decoded, expression, predicate, rows, value};
use crate::codec::{SerializedNode, sent_node};

/// The role of the sender of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    /// A client sends a whole plan, which the scheduler divides into stages.
    Client,
    /// A scheduler sends the plan of a stage, between a shuffle writer and shuffle readers.
    Scheduler,
}

/// Validates a serialized plan.
///
/// # Errors
/// When the plan has an operator, expression or number that weir's own plans do not have.
pub(crate) fn check_plan(bytes: &[u8], sender: Sender) -> Checked {
    literal_bytes(bytes, sender).map(drop)
}

/// Validates a serialized plan, and gives the bytes of its literals.
///
/// # Errors
/// As [`check_plan`].
pub(crate) fn literal_bytes(bytes: &[u8], sender: Sender) -> Result<usize, Refused> {
    let (walk, sums) = value::summed(|| walked(bytes, sender));
    let walk = walk?;
    counted(
        "pairs of partitions",
        walk.sources.saturating_mul(walk.exchanged_max),
        EXCHANGED_MAX,
    )?;
    counted("pairs of partitions", walk.pairs, ALL_EXCHANGED_MAX)?;
    let in_a_batch = walk.rows.saturating_mul(sums.literal_bytes as u64);
    counted("bytes of literals in a batch", in_a_batch, LITERALS_MAX)?;
    // They have the limit that they have in the text of a statement.
    let most = PATTERNS_WEIGHT_MAX as u64;
    counted("parts of patterns", sums.pattern_weight as u64, most)?;
    Ok(sums.literal_bytes)
}

fn walked(bytes: &[u8], sender: Sender) -> Result<Walk, Refused> {
    let walk = match sender {
        Sender::Client => {
            let stage = read(&in_stage(bytes))?;
            let Some(PhysicalPlanType::Extension(of)) = &stage.physical_plan_type else {
                return Err(Refused::malformed("the plan has an empty node"));
            };
            let mut walk = Walk::new(PlanPosition::Whole);
            walk.inputs(&of.inputs)?;
            walk
        }
        Sender::Scheduler => {
            let mut walk = Walk::new(PlanPosition::Stage);
            walk.stage(&decoded_up_to(exchange::FIELDS_MAX, "the plan", bytes)?)?;
            walk
        }
    };
    Ok(walk)
}

/// Validates the embedded plan that runs for each piece of a capture.
///
/// # Errors
/// As [`check_plan`].
pub(crate) fn check_template(bytes: &[u8]) -> Checked {
    Walk::new(PlanPosition::Template)
        .plan(&read(bytes)?)
        .map(drop)
}

/// The plan of a client as the input of another node. A scheduler puts the writer of a stage above it, and executors decode no messages
/// that nest deeper than the limit of prost, so that a plan at this limit would fail at each executor.
fn in_stage(plan: &[u8]) -> Vec<u8> {
    let within = |tag: u32, content: &[u8]| {
        let mut message = Vec::with_capacity(content.len() + FIELD_BYTES_MAX);
        encode_key(tag, WireType::LengthDelimited, &mut message);
        encode_varint(content.len() as u64, &mut message);
        message.extend_from_slice(content);
        message
    };
    within(EXTENSION, &within(INPUTS, plan))
}

fn read(bytes: &[u8]) -> Result<PhysicalPlanNode, Refused> {
    decoded("the plan", bytes)
}

/// The part of a plan in which a node stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PlanPosition {
    Whole,
    Stage,
    /// The embedded plan of a piece node.
    Template,
}

/// The totals of a plan that is being validated. The recursion is as deep as the message nests.
struct Walk {
    place: PlanPosition,
    nodes: u64,
    /// The partitions of all leaves.
    sources: u64,
    /// The largest number of output partitions of a repartitioning.
    exchanged_max: u64,
    /// The partitions of the inputs of all repartitionings by those that they are dealt out to.
    pairs: u64,
    /// The columns that all operators make.
    columns: u64,
    /// The rows of the largest batch that the plan has or asks for.
    rows: u64,
}

type Input = Option<Box<PhysicalPlanNode>>;
/// The number of partitions of an operator, unless it is refused.
type Partitions = Result<u64, Refused>;

impl Walk {
    const fn new(place: PlanPosition) -> Self {
        Self {
            place,
            nodes: 0,
            sources: 0,
            exchanged_max: 1,
            pairs: 0,
            columns: 0,
            rows: 0,
        }
    }

    /// Validates the plan of a stage, whose root is a shuffle writer.
    fn stage(&mut self, node: &PhysicalPlanNode) -> Checked {
        let Some(PhysicalPlanType::Extension(of)) = &node.physical_plan_type else {
            return Err(Refused::not_allowed("a stage without a shuffle writer"));
        };
        match (exchange::exchange(&of.node)?, of.inputs.as_slice()) {
            (Exchange::Writer, [input]) => self.plan(input).map(drop),
            _ => Err(Refused::not_allowed("a stage without a shuffle writer")),
        }
    }

    fn input(&mut self, input: &Input) -> Partitions {
        match input {
            Some(input) => self.plan(input),
            None => Err(Refused::malformed("the input of an operator is missing")),
        }
    }

    fn inputs(&mut self, inputs: &[PhysicalPlanNode]) -> Partitions {
        if inputs.is_empty() {
            return Err(Refused::malformed("the inputs of an operator are missing"));
        }
        let mut all = 0_u64;
        for input in inputs {
            all = all.saturating_add(self.plan(input)?);
        }
        Ok(all)
    }

    fn sides(&mut self, left: &Input, right: &Input) -> Partitions {
        Ok(self.input(left)?.max(self.input(right)?))
    }

    /// Counts the columns that an operator makes.
    fn columns(&mut self, count: usize) -> Checked {
        counted("columns of an operator", count as u64, COLUMNS_MAX)?;
        self.columns = self.columns.saturating_add(count as u64);
        counted("columns of all operators", self.columns, ALL_COLUMNS_MAX)
    }

    /// Validates the rows of the batches that an operator makes.
    fn rows(&mut self, rows: u32) -> Checked {
        let rows = u64::from(rows);
        counted("rows of a batch", rows, ROWS_MAX)?;
        self.rows = self.rows.max(rows);
        Ok(())
    }

    /// Validates a schema, whose columns an operator makes.
    fn schema(&mut self, schema: Option<&Schema>) -> Checked {
        self.columns(schema.map_or(0, |schema| schema.columns.len()))?;
        value::schema(schema)
    }

    fn leaf(&mut self, partitions: u64) -> Partitions {
        let partitions = partitions.max(1);
        self.sources = self.sources.saturating_add(partitions);
        counted("partitions", self.sources, READ_MAX)?;
        Ok(partitions)
    }

    fn repartition(&mut self, of: &RepartitionExecNode) -> Partitions {
        let Some(partitioning) = &of.partitioning else {
            return Err(Refused::malformed("a repartition without a partitioning"));
        };
        // DataFusion does not run it, and Ballista panics at it.
        if let Some(PartitionMethod::Unknown(_)) = &partitioning.partition_method {
            return Err(Refused::malformed(
                "a repartition does not say which rows go where",
            ));
        }
        let partitions = exchange::partitions(partitioning)?;
        counted("partitions", partitions, PARTITIONS_MAX)?;
        // DataFusion divides by the number.
        if partitions == 0 {
            return Err(Refused::malformed("a repartition has 0 partitions"));
        }
        self.exchanged_max = self.exchanged_max.max(partitions);
        let pairs = self.input(&of.input)?.saturating_mul(partitions);
        self.pairs = self.pairs.saturating_add(pairs);
        Ok(partitions)
    }

    /// Validates an operator; gives the number of its partitions, or more.
    fn plan(&mut self, node: &PhysicalPlanNode) -> Partitions {
        self.nodes += 1;
        counted("operators", self.nodes, NODES_MAX)?;
        let Some(kind) = &node.physical_plan_type else {
            return Err(Refused::malformed("the plan has an empty node"));
        };
        match kind {
            PhysicalPlanType::Empty(of) => {
                self.schema(of.schema.as_ref())?;
                self.leaf(u64::from(of.partitions))
            }
            PhysicalPlanType::PlaceholderRow(of) => {
                self.schema(of.schema.as_ref())?;
                self.leaf(u64::from(of.partitions))
            }
            PhysicalPlanType::MemoryScan(of) => self.memory(of),
            PhysicalPlanType::Projection(of) => {
                self.columns(of.expr.len())?;
                expression::each(&of.expr)?;
                self.input(&of.input)
            }
            PhysicalPlanType::Filter(of) => self.filter(of),
            PhysicalPlanType::Aggregate(of) => self.aggregate(of),
            PhysicalPlanType::Window(of) => self.window(of),
            PhysicalPlanType::GlobalLimit(of) => {
                expression::sorted(&of.required_ordering)?;
                self.input(&of.input)
            }
            PhysicalPlanType::LocalLimit(of) => {
                expression::sorted(&of.required_ordering)?;
                self.input(&of.input)
            }
            PhysicalPlanType::Sort(of) => self.sort(of),
            PhysicalPlanType::SortPreservingMerge(of) => {
                counted("keys of a sort", of.expr.len() as u64, KEYS_MAX)?;
                expression::each(&of.expr)?;
                self.input(&of.input)
            }
            PhysicalPlanType::Merge(of) => self.input(&of.input),
            PhysicalPlanType::Cooperative(of) => self.input(&of.input),
            PhysicalPlanType::CoalesceBatches(of) => {
                self.rows(of.target_batch_size)?;
                self.input(&of.input)
            }
            PhysicalPlanType::Repartition(of) => self.repartition(of),
            PhysicalPlanType::Union(of) => self.inputs(&of.inputs),
            PhysicalPlanType::Interleave(of) => self.inputs(&of.inputs),
            PhysicalPlanType::Unnest(of) => self.unnest(of),
            PhysicalPlanType::HashJoin(of) => {
                self.columns(of.projection.len())?;
                expression::joined(&of.on, of.filter.as_ref())?;
                if of.dynamic_filter.is_some() {
                    return Err(Refused::not_allowed("a dynamic filter"));
                }
                self.sides(&of.left, &of.right)
            }
            PhysicalPlanType::SortMergeJoin(of) => {
                expression::joined(&of.on, of.filter.as_ref())?;
                // The sort options are those of the join columns, and have no expressions.
                if of.sort_options.iter().any(|of| of.expr.is_some()) {
                    return Err(Refused::malformed(
                        "the sort options of a SortMergeJoinExec have expressions",
                    ));
                }
                self.sides(&of.left, &of.right)
            }
            PhysicalPlanType::NestedLoopJoin(of) => {
                self.columns(of.projection.len())?;
                expression::joined(&[], of.filter.as_ref())?;
                self.sides(&of.left, &of.right)
            }
            PhysicalPlanType::CrossJoin(of) => self.sides(&of.left, &of.right),
            PhysicalPlanType::Extension(of) => self.extension(of),
            other => Err(never(other)),
        }
    }

    fn memory(&mut self, of: &MemoryScanExecNode) -> Partitions {
        self.schema(of.schema.as_ref())?;
        self.columns(of.projection.len())?;
        counted("orderings", of.sort_information.len() as u64, ORDERINGS_MAX)?;
        let declared = value::declared(of.schema.as_ref())?;
        for partition in &of.partitions {
            let rows = rows::stream(partition, &declared)?;
            self.rows = self.rows.max(rows as u64);
        }
        for order in &of.sort_information {
            expression::sorted(&order.physical_sort_expr_nodes)?;
        }
        // A scheduler leaves a task none of the partitions that other tasks read.
        if of.partitions.is_empty() && self.place != PlanPosition::Stage {
            return Err(Refused::malformed("a table in memory has 0 partitions"));
        }
        self.leaf(of.partitions.len() as u64)
    }

    fn sort(&mut self, of: &SortExecNode) -> Partitions {
        counted("keys of a sort", of.expr.len() as u64, KEYS_MAX)?;
        expression::each(&of.expr)?;
        if of.dynamic_filter.is_some() {
            return Err(Refused::not_allowed("a dynamic filter"));
        }
        // DataFusion plans no such sort, and panics at it.
        if of.fetch == 0 {
            return Err(Refused::malformed("a sort keeps no rows"));
        }
        self.input(&of.input)
    }

    fn filter(&mut self, of: &FilterExecNode) -> Partitions {
        self.columns(of.projection.len())?;
        expression::needed(of.expr.as_ref())?;
        self.rows(of.batch_size)?;
        self.input(&of.input)
    }

    fn aggregate(&mut self, of: &AggregateExecNode) -> Partitions {
        self.columns(of.group_expr.len().saturating_add(of.aggr_expr.len()))?;
        counted("flags of grouping sets", of.groups.len() as u64, GROUPS_MAX)?;
        expression::each(&of.group_expr)?;
        expression::each(&of.aggr_expr)?;
        expression::each(&of.null_expr)?;
        for filter in &of.filter_expr {
            if filter.expr.is_some() {
                expression::needed(filter.expr.as_ref())?;
            }
        }
        if of.dynamic_filter.is_some() {
            return Err(Refused::not_allowed("a dynamic filter"));
        }
        // DataFusion allocates room for the limit when the operator starts.
        if let Some(limit) = &of.limit {
            counted("groups of a TopK aggregate", limit.limit, BEST_MAX)?;
        }
        // DataFusion cuts the flags of grouping sets into pieces of so many.
        let of_set = of.group_expr.len();
        let is_whole = of.groups.len().checked_rem(of_set) == Some(0);
        let has_nulls = of.null_expr.is_empty() || of.null_expr.len() == of_set;
        if !(of.groups.is_empty() || is_whole) || !has_nulls {
            return Err(Refused::malformed(
                "the grouping sets of an aggregate do not have its grouping expressions",
            ));
        }
        self.schema(of.input_schema.as_ref())?;
        self.schema(of.schema.as_ref())?;
        self.input(&of.input)
    }

    fn window(&mut self, of: &WindowAggExecNode) -> Partitions {
        self.columns(of.window_expr.len())?;
        counted("keys of a window", of.partition_keys.len() as u64, KEYS_MAX)?;
        of.window_expr.iter().try_for_each(expression::window)?;
        expression::each(&of.partition_keys)?;
        self.input(&of.input)
    }

    fn unnest(&mut self, of: &UnnestExecNode) -> Partitions {
        self.schema(of.schema.as_ref())?;
        let unnested = of.list_type_columns.len();
        self.columns(unnested.saturating_add(of.struct_type_columns.len()))?;
        for list in &of.list_type_columns {
            counted("levels of nested lists", u64::from(list.depth), LISTS_MAX)?;
        }
        for recursion in of.options.iter().flat_map(|options| &options.recursions) {
            counted(
                "levels of nested lists",
                u64::from(recursion.depth),
                LISTS_MAX,
            )?;
            if recursion.input_column.is_none() || recursion.output_column.is_none() {
                return Err(Refused::malformed("the unnest options have no column"));
            }
        }
        self.input(&of.input)
    }

    /// Validates an extension node, of weir or of Ballista.
    fn extension(&mut self, of: &PhysicalExtensionNode) -> Partitions {
        let Some(sent) = sent_node(&of.node)? else {
            return match (
                self.place,
                exchange::exchange(&of.node)?,
                of.inputs.as_slice(),
            ) {
                (PlanPosition::Stage, Exchange::Reader(partitions), []) => self.leaf(partitions),
                _ => Err(Refused::not_allowed(
                    "an operator of Ballista at this place of a plan",
                )),
            };
        };
        match (sent, self.place, of.inputs.as_slice()) {
            (SerializedNode::Scan { filters, columns }, PlanPosition::Template, []) => {
                self.columns(columns)?;
                filters
                    .iter()
                    .try_for_each(|filter| predicate::predicate(filter))?;
                self.leaf(1)
            }
            (
                SerializedNode::Piece { template, answer },
                PlanPosition::Whole | PlanPosition::Stage,
                [input],
            ) => {
                self.schema(answer.as_ref())?;
                let around = std::mem::replace(&mut self.place, PlanPosition::Template);
                if let Some(template) = template {
                    self.plan(&read(&template)?)?;
                }
                self.place = around;
                self.plan(input)
            }
            _ => Err(Refused::not_allowed(
                "an operator of weir at this place of a plan",
            )),
        }
    }
}

/// The error for an operator that is not on the allowlist.
fn never(node: &PhysicalPlanType) -> Refused {
    Refused::not_allowed(match node {
        PhysicalPlanType::ParquetScan(_) => "a scan of Parquet (ParquetScan)",
        PhysicalPlanType::CsvScan(_) => "a scan of CSV (CsvScan)",
        PhysicalPlanType::JsonScan(_) => "a scan of JSON (JsonScan)",
        PhysicalPlanType::AvroScan(_) => "a scan of Avro (AvroScan)",
        PhysicalPlanType::ArrowScan(_) => "a scan of Arrow (ArrowScan)",
        PhysicalPlanType::CsvSink(_) => "a sink of CSV (CsvSink)",
        PhysicalPlanType::JsonSink(_) => "a sink of JSON (JsonSink)",
        PhysicalPlanType::ParquetSink(_) => "a sink of Parquet (ParquetSink)",
        PhysicalPlanType::Explain(_) => "ExplainExec",
        PhysicalPlanType::Analyze(_) => "AnalyzeExec",
        PhysicalPlanType::SymmetricHashJoin(_) => "SymmetricHashJoinExec",
        PhysicalPlanType::GenerateSeries(_) => "a series of numbers (GenerateSeries)",
        PhysicalPlanType::AsyncFunc(_) => "AsyncFuncExec",
        PhysicalPlanType::Buffer(_) => "BufferExec",
        PhysicalPlanType::ScalarSubquery(_) => "ScalarSubqueryExec",
        _ => "an operator that is not listed",
    })
}

/// The field of a `PhysicalPlanNode` with a `PhysicalExtensionNode`, and that of the latter with its inputs.
const EXTENSION: u32 = 18;
const INPUTS: u32 = 2;
/// The size of the tag and the length of a field, at most.
const FIELD_BYTES_MAX: usize = 16;
/// Operators of a plan, at most, with those of its templates.
const NODES_MAX: u64 = 4096;
/// Partitions by those that their rows are dealt out to, at most: each pair is a file, or a part of one.
const EXCHANGED_MAX: u64 = 1 << 20;
/// Such pairs of all repartitionings of a plan, at most: DataFusion has a channel for each.
const ALL_EXCHANGED_MAX: u64 = 4 << 20;
/// Columns that an operator makes, at most: statements have 4,096 in a join.
const COLUMNS_MAX: u64 = 1 << 14;
/// Columns that all operators of a plan make, at most.
const ALL_COLUMNS_MAX: u64 = 1 << 17;
/// Orderings of a table in memory, at most.
const ORDERINGS_MAX: u64 = 64;
/// Flags of the grouping sets of an aggregate, at most: one for each set and expression.
const GROUPS_MAX: u64 = 1 << 16;
/// Groups that an aggregate keeps as the best ones, at most.
const BEST_MAX: u64 = 1 << 20;
/// Bytes that the literals of a plan have in the batches that the plan has or asks for, at most. Those of a statement fill a quarter of it.
const LITERALS_MAX: u64 = 256 << 20;
/// Lists in lists that are taken apart, at most.
const LISTS_MAX: u64 = 64;

#[cfg(test)]
mod tests {
    use datafusion::prelude::SessionContext;
    use datafusion_proto::physical_plan::{AsExecutionPlan, DefaultPhysicalExtensionCodec};
    use datafusion_proto::protobuf::{CooperativeExecNode, PhysicalHashRepartition, UnionExecNode};
    use prost::Message as _;

    use super::*;

    fn plan(sql: &str) -> Vec<u8> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let plan = runtime.block_on(async {
            let frame = SessionContext::new().sql(sql).await.unwrap();
            frame.create_physical_plan().await.unwrap()
        });
        let codec = DefaultPhysicalExtensionCodec {};
        PhysicalPlanNode::try_from_physical_plan(plan, &codec)
            .unwrap()
            .encode_to_vec()
    }

    /// Each pattern takes up to 0.2 s and 10 MiB to compile, and was compiled for each batch of rows.
    #[test]
    fn patterns_of_a_plan_have_a_sum() {
        let of = |times: usize| {
            let lists: Vec<_> = (0..times)
                .map(|number| format!("x ~ '{number}\\w{{299}}' AS a{number}"))
                .collect();
            let sql = format!(
                "SELECT {} FROM (VALUES ('a'), ('b')) AS t(x)",
                lists.join(", ")
            );
            literal_bytes(&plan(&sql), Sender::Client)
        };
        of(10).unwrap();
        let refused = of(20).unwrap_err().to_string();
        assert!(refused.contains("parts of patterns"), "{refused}");
        // Those of LIKE, which are as large, did not count.
        let like = |times: usize| {
            let pattern = "_".repeat(100_000);
            let lists: Vec<_> = (0..times)
                .map(|number| format!("x LIKE '{number}{pattern}' AS a{number}"))
                .collect();
            let sql = format!(
                "SELECT {} FROM (VALUES ('a'), ('b')) AS t(x)",
                lists.join(", ")
            );
            literal_bytes(&plan(&sql), Sender::Client)
        };
        like(3).unwrap();
        let refused = like(6).unwrap_err().to_string();
        assert!(refused.contains("parts of patterns"), "{refused}");
    }

    /// A literal of a megabyte was a column of as many rows as the plan asked for.
    #[test]
    fn literals_fill_a_batch_to_a_limit() {
        let of = |bytes: usize, rest: &str| {
            let text = "x".repeat(bytes);
            let sql = format!("SELECT '{text}' AS a, x FROM (VALUES (1), (2)) AS t(x) {rest}");
            literal_bytes(&plan(&sql), Sender::Client)
        };
        assert!((1_000..2_000).contains(&of(1_000, "").unwrap()));
        assert!((100_000..101_000).contains(&of(100_000, "").unwrap()));
        // A filter fills batches of 8,192 rows.
        assert!(of(1_000, "WHERE x > 1").is_ok());
        let refused = of(100_000, "WHERE x > 1").unwrap_err().to_string();
        assert!(
            refused.contains("bytes of literals in a batch"),
            "{refused}"
        );
    }

    #[test]
    fn operators_of_statements_are_allowed_and_no_bytes_panic() {
        for sql in [
            "SELECT x + 1, x IN (1, 2), CASE WHEN y LIKE 'a%' THEN NULL ELSE y END \
             FROM (VALUES (1, 'a'), (2, 'b')) AS t(x, y) WHERE x BETWEEN 0 AND 9",
            "SELECT x, row_number() OVER (PARTITION BY x ORDER BY x ROWS 2 PRECEDING) \
             FROM (VALUES (1), (2)) AS t(x) UNION ALL SELECT 1, 2",
            "SELECT x, array_agg(y ORDER BY y) FILTER (WHERE y > 'a') FROM (VALUES (1, 'a')) AS t(x, y) GROUP BY x",
            "SELECT unnest(make_array(x, x)) FROM (VALUES (1)) AS t(x)",
        ] {
            let whole = plan(sql);
            if let Err(refused) = check_plan(&whole, Sender::Client) {
                panic!("{sql}: {refused}");
            }
            assert!(check_plan(&whole, Sender::Scheduler).is_err(), "{sql}");
            for place in 0..whole.len() {
                for bit in 0..8 {
                    let mut other = whole.clone();
                    other[place] ^= 1 << bit;
                    let _ = check_plan(&other, Sender::Client);
                    let _ = check_plan(&other[..place], Sender::Client);
                }
            }
        }
    }

    /// A plan of 99 levels was let in, and no executor could decode its stage: the statement failed without a reason.
    #[test]
    fn a_plan_nests_no_deeper_than_executors_can_decode() {
        let of_levels = |levels: usize| {
            let mut plan = PhysicalPlanNode {
                physical_plan_type: Some(PhysicalPlanType::Empty(Default::default())),
            };
            for _ in 0..levels {
                plan = PhysicalPlanNode {
                    physical_plan_type: Some(PhysicalPlanType::Cooperative(Box::new(
                        CooperativeExecNode {
                            input: Some(Box::new(plan)),
                        },
                    ))),
                };
            }
            plan
        };
        let empty = of_levels(0);
        let stage = |plan: PhysicalPlanNode| PhysicalPlanNode {
            physical_plan_type: Some(PhysicalPlanType::Extension(PhysicalExtensionNode {
                node: Vec::new(),
                inputs: vec![plan],
            })),
        };
        assert_eq!(
            in_stage(&empty.encode_to_vec()),
            stage(empty).encode_to_vec()
        );
        let mut outcomes = Vec::new();
        for levels in 0..60 {
            let plan = of_levels(levels);
            let is_allowed = check_plan(&plan.encode_to_vec(), Sender::Client).is_ok();
            let is_decoded = read(&stage(plan).encode_to_vec()).is_ok();
            assert_eq!(is_allowed, is_decoded, "{levels}");
            outcomes.push(is_allowed);
        }
        assert!(outcomes.contains(&true) && outcomes.contains(&false));
    }

    /// Sixty repartitionings above each other were let in, of which each has a million channels.
    #[test]
    fn repartitionings_above_each_other_count_together() {
        use datafusion_proto::protobuf::Partitioning;
        let of_levels = |levels: usize| {
            let mut kind = PhysicalPlanType::Empty(Default::default());
            for _ in 0..levels {
                kind = PhysicalPlanType::Repartition(Box::new(RepartitionExecNode {
                    input: Some(Box::new(PhysicalPlanNode {
                        physical_plan_type: Some(kind),
                    })),
                    partitioning: Some(Partitioning {
                        partition_method: Some(PartitionMethod::RoundRobin(1024)),
                    }),
                    preserve_order: false,
                }));
            }
            PhysicalPlanNode {
                physical_plan_type: Some(kind),
            }
            .encode_to_vec()
        };
        check_plan(&of_levels(4), Sender::Client).unwrap();
        let refused = check_plan(&of_levels(6), Sender::Client).unwrap_err();
        assert!(refused.to_string().contains("pairs"), "{refused}");
    }

    /// A repartition, and an operator above a table, of 0 partitions panicked when they ran.
    #[test]
    fn plans_have_partitions() {
        use datafusion_proto::protobuf::Partitioning;
        let check = |kind: PhysicalPlanType, place: PlanPosition| {
            let node = PhysicalPlanNode {
                physical_plan_type: Some(kind),
            };
            Walk::new(place).plan(&node)
        };
        let everywhere = [
            PlanPosition::Whole,
            PlanPosition::Stage,
            PlanPosition::Template,
        ];
        let table = |partitions: usize| {
            PhysicalPlanType::MemoryScan(MemoryScanExecNode {
                partitions: vec![Vec::new(); partitions],
                schema: Some(Default::default()),
                ..MemoryScanExecNode::default()
            })
        };
        let repartition = |method: PartitionMethod| {
            PhysicalPlanType::Repartition(Box::new(RepartitionExecNode {
                input: Some(Box::new(PhysicalPlanNode {
                    physical_plan_type: Some(table(1)),
                })),
                partitioning: Some(Partitioning {
                    partition_method: Some(method),
                }),
                preserve_order: false,
            }))
        };
        let hash = |partition_count: u64| {
            PartitionMethod::Hash(PhysicalHashRepartition {
                partition_count,
                ..PhysicalHashRepartition::default()
            })
        };
        for place in everywhere {
            for method in [PartitionMethod::RoundRobin(0), hash(0)] {
                let refused = check(repartition(method), place).unwrap_err();
                assert!(refused.to_string().contains("0 partitions"), "{refused}");
            }
            for method in [PartitionMethod::RoundRobin(2), hash(2)] {
                assert_eq!(check(repartition(method), place).unwrap(), 2);
            }
            assert_eq!(check(table(3), place).unwrap(), 3);
            // A task of a union has no partitions of the tables that others read.
            let is_allowed = check(table(0), place).is_ok();
            assert_eq!(is_allowed, place == PlanPosition::Stage);
        }
    }

    /// A list of numbers of columns takes a byte for each, and hundreds where a table is made of it: a plan of 8 MiB had eight million.
    #[test]
    fn columns_of_operators_are_bounded_each_and_together() {
        let scan = |columns: usize| PhysicalPlanNode {
            physical_plan_type: Some(PhysicalPlanType::MemoryScan(MemoryScanExecNode {
                partitions: vec![Vec::new()],
                projection: vec![0; columns],
                schema: Some(Default::default()),
                ..MemoryScanExecNode::default()
            })),
        };
        let most = usize::try_from(COLUMNS_MAX).unwrap();
        check_plan(&scan(most).encode_to_vec(), Sender::Client).unwrap();
        let refused = check_plan(&scan(most + 1).encode_to_vec(), Sender::Client).unwrap_err();
        assert!(refused.to_string().contains("of an operator"), "{refused}");
        let union = |scans: usize| PhysicalPlanNode {
            physical_plan_type: Some(PhysicalPlanType::Union(UnionExecNode {
                inputs: vec![scan(most); scans],
            })),
        };
        check_plan(&union(8).encode_to_vec(), Sender::Client).unwrap();
        let refused = check_plan(&union(9).encode_to_vec(), Sender::Client).unwrap_err();
        assert!(
            refused.to_string().contains("of all operators"),
            "{refused}"
        );
    }

    /// DataFusion panics at flags of grouping sets where there are no grouping expressions.
    #[test]
    fn grouping_sets_have_their_expressions() {
        let of_groups = |groups: Vec<bool>| {
            let empty = PhysicalPlanType::Empty(Default::default());
            let aggregate = AggregateExecNode {
                input: Some(Box::new(PhysicalPlanNode {
                    physical_plan_type: Some(empty),
                })),
                groups,
                ..AggregateExecNode::default()
            };
            PhysicalPlanNode {
                physical_plan_type: Some(PhysicalPlanType::Aggregate(Box::new(aggregate))),
            }
            .encode_to_vec()
        };
        check_plan(&of_groups(Vec::new()), Sender::Client).unwrap();
        let refused = check_plan(&of_groups(vec![true]), Sender::Client).unwrap_err();
        assert!(refused.to_string().contains("grouping sets"), "{refused}");
    }

    /// A sort of the first 0 rows panicked when it ran.
    #[test]
    fn a_sort_keeps_rows() {
        let of_first = |fetch: i64| {
            let empty = PhysicalPlanType::Empty(Default::default());
            let sort = SortExecNode {
                input: Some(Box::new(PhysicalPlanNode {
                    physical_plan_type: Some(empty),
                })),
                fetch,
                ..SortExecNode::default()
            };
            let node = PhysicalPlanNode {
                physical_plan_type: Some(PhysicalPlanType::Sort(Box::new(sort))),
            };
            check_plan(&node.encode_to_vec(), Sender::Client)
        };
        for fetch in [-1, 1] {
            of_first(fetch).unwrap();
        }
        let refused = of_first(0).unwrap_err().to_string();
        assert!(refused.contains("keeps no rows"), "{refused}");
    }

    #[test]
    fn an_expression_of_many_operands_is_deep() {
        use datafusion_proto::protobuf::physical_expr_node::ExprType;
        use datafusion_proto::protobuf::{
            EmptyExecNode, PhysicalBinaryExprNode, PhysicalColumn, PhysicalExprNode,
        };
        let column = PhysicalExprNode {
            expr_id: None,
            expr_type: Some(ExprType::Column(PhysicalColumn::default())),
        };
        let of_operands = |operands: usize| {
            let binary = PhysicalBinaryExprNode {
                op: "Or".to_owned(),
                operands: vec![column.clone(); operands],
                ..PhysicalBinaryExprNode::default()
            };
            let empty = PhysicalPlanType::Empty(EmptyExecNode::default());
            let filter = FilterExecNode {
                input: Some(Box::new(PhysicalPlanNode {
                    physical_plan_type: Some(empty),
                })),
                expr: Some(PhysicalExprNode {
                    expr_id: None,
                    expr_type: Some(ExprType::BinaryExpr(Box::new(binary))),
                }),
                ..FilterExecNode::default()
            };
            PhysicalPlanNode {
                physical_plan_type: Some(PhysicalPlanType::Filter(Box::new(filter))),
            }
            .encode_to_vec()
        };
        check_plan(&of_operands(500), Sender::Client).unwrap();
        let refused = check_plan(&of_operands(5_000), Sender::Client).unwrap_err();
        assert!(
            refused.to_string().contains("levels of an expression"),
            "{refused}"
        );
    }
}
