//! The rules that make plans which other machines run.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::JoinType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::analyze::AnalyzeExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, PartitionMode};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, displayable, replace_children_if_necessary};
use weir_tables::{Location, PacketFilter, Parts, Source};

use super::described::{QueryDescription, ScanDescription, TemplateScan};
use super::node::{Part, Piece, PieceExec, PieceWork, is_special};
use crate::cluster::Cluster;
use crate::distinct::PREFIX;
use crate::file_order::{BY_ORDER, windows_hang_on_order};
use crate::fuse::{PARTIAL_BYTES_MAX, in_part_by};
use crate::options::Options;
use crate::plan_node::named_rule;
use crate::planned_statement::PlannedStatement;
use crate::scan::{CaptureScan, Reading};
use crate::scan_report::ScanReport;
use crate::share::{aggregate_of, scan_of};

/// Replaces scans, and aggregates over them, by operators that read pieces. The rule stands where aggregates are fused, before the
/// rules that add repartitioning. A plan with a scan that cannot be serialized stays as it is.
#[derive(Debug)]
pub(crate) struct CutIntoPieces {
    /// Large captures are cut into pieces of about so many bytes where that gives the same groups.
    pub(crate) piece_bytes: u64,
}

impl PhysicalOptimizerRule for CutIntoPieces {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut readings: Vec<Reading> = Vec::new();
        let mut is_known = true;
        let mut in_order = false;
        plan.apply(|node| {
            if let Some(scan) = node.downcast_ref::<CaptureScan>() {
                is_known &= ScanDescription::of(scan).is_some();
                if !readings.contains(scan.reading()) {
                    readings.push(scan.reading().clone());
                }
            }
            if let Some(aggregate) = node.downcast_ref::<AggregateExec>() {
                in_order |= hangs_on_order(aggregate);
            }
            in_order |= windows_hang_on_order(node);
            Ok(TreeNodeRecursion::Continue)
        })?;
        if !is_known || readings.is_empty() {
            return Ok(plan);
        }
        let cut = Cut {
            readings,
            in_order,
            piece_bytes: self.piece_bytes,
            folder: std::env::current_dir().unwrap_or_default(),
        };
        plan.transform_down(|node| {
            let changed = match cut.aggregate(&node)? {
                Some(changed) => Some(changed),
                None => cut.scan(&node)?,
            };
            Ok(match changed {
                Some(changed) => Transformed::new(changed, true, TreeNodeRecursion::Jump),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    named_rule!("cut_into_pieces");
}

/// Whether the result of an aggregate depends on the order of rows, which pieces do not keep.
fn hangs_on_order(aggregate: &AggregateExec) -> bool {
    aggregate.aggr_expr().iter().any(|function| {
        // The values of a set are counted.
        let is_set = function.is_distinct() && function.name().starts_with(PREFIX);
        !is_set && function.order_bys().is_empty() && BY_ORDER.contains(&function.fun().name())
    })
}

/// The division of a statement's captures.
struct Cut {
    readings: Vec<Reading>,
    in_order: bool,
    piece_bytes: u64,
    folder: PathBuf,
}

impl Cut {
    /// The operator that reads the rows of a scan in pieces.
    fn scan(&self, node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some((scan, description)) = described(node) else {
            return Ok(None);
        };
        let template = TemplateScan::new(description)?;
        let why = self.why_whole(scan);
        let work = PieceWork::Scan(Arc::new(template));
        self.pieces(scan.reading(), work, why, false, &label(node))
            .map(Some)
    }

    /// The operator that computes the states of an aggregate's groups in pieces; `None` for other nodes, for aggregates that scans
    /// do not compute, and for those of several readings.
    fn aggregate(&self, node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let failed = Mutex::new(None);
        let changed = in_part_by(node, PARTIAL_BYTES_MAX, |partial, fused| {
            let readings: Vec<_> = fused.readings().collect();
            let [reading] = readings.as_slice() else {
                return None;
            };
            let reading: Reading = (*reading).clone();
            let may_cut = fused.allows_parts();
            let fused: Arc<dyn ExecutionPlan> = Arc::new(fused);
            match self.template(partial, &reading, may_cut, &label(&fused)) {
                Ok(pieces) => Some(pieces),
                Err(error) => {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    None
                }
            }
        })?;
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(changed),
        }
    }

    /// The part of an aggregate that reads, to be run for each piece.
    fn template(
        &self,
        partial: &AggregateExec,
        reading: &Reading,
        may_cut: bool,
        label: &str,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut why = None;
        let input = Arc::clone(partial.input())
            .transform_up(|node| {
                let Some((scan, description)) = described(&node) else {
                    return Ok(Transformed::no(node));
                };
                why = why.or(self.why_whole(scan));
                let place: Arc<dyn ExecutionPlan> = Arc::new(TemplateScan::new(description)?);
                Ok(Transformed::yes(place))
            })
            .data()?;
        let template: Arc<dyn ExecutionPlan> = Arc::new(AggregateExec::try_new(
            *partial.mode(),
            partial.group_expr().clone(),
            partial.aggr_expr().to_vec(),
            partial.filter_expr().to_vec(),
            input,
            partial.input_schema(),
        )?);
        self.pieces(reading, PieceWork::Aggregate(template), why, may_cut, label)
    }

    /// The parts that a large capture falls into; `None` when it is read whole.
    fn parts(&self, source: &Source) -> Option<Vec<Piece>> {
        if !Parts::may_be_of(source) {
            return None;
        }
        let wanted = source.len()?.div_ceil(self.piece_bytes.max(1));
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX).min(PARTS_MAX);
        if wanted < 2 {
            return None;
        }
        // A fault of the file is found and reported when it is read.
        let found = Parts::new(source, wanted).ok().flatten()?;
        let parts = (0..found.count()).map(|number| {
            Piece::Part(Part {
                source: source.clone(),
                number,
                count: found.count(),
                requested: wanted,
            })
        });
        Some(parts.collect())
    }

    /// Why all sources of a scan are one piece; `None` where each may be one.
    fn why_whole(&self, scan: &CaptureScan) -> Option<&'static str> {
        if !scan.is_plain() {
            return Some("conversations may continue across files");
        }
        if scan.limit().is_some() {
            return Some("the number of rows is limited");
        }
        if self.in_order {
            return Some("a value depends on the order of the rows");
        }
        let mut asks_messages = false;
        if let Some(predicate) = scan.predicate() {
            let visit: &mut dyn FnMut(&dyn PacketFilter) =
                &mut |filter| asks_messages |= filter.has_messages();
            predicate.visit_filters(visit);
        }
        asks_messages.then_some("a display filter needs messages")
    }

    fn pieces(
        &self,
        reading: &Reading,
        work: PieceWork,
        why_whole: Option<&str>,
        may_cut: bool,
        label: &str,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let sources = &reading.sources;
        let mut pieces = Vec::new();
        // Small files share a piece, since each piece costs a message of its own.
        let size = match why_whole {
            Some(_) => sources.len(),
            None => sources.len().div_ceil(PIECES_MAX),
        };
        for sources in sources.chunks(size.max(1)) {
            match sources {
                [source] if may_cut && why_whole.is_none() => match self.parts(source) {
                    Some(parts) => pieces.extend(parts),
                    None => pieces.push(Piece::Whole(sources.to_vec())),
                },
                _ => pieces.push(Piece::Whole(sources.to_vec())),
            }
        }
        let is_first = |piece: &&Piece| matches!(piece, Piece::Part(part) if part.number == 0);
        let label = match pieces.iter().filter(is_first).count() {
            0 => label.to_owned(),
            cut => format!("{label}; captures cut={cut}"),
        };
        let label = match why_whole {
            Some(why) if sources.len() > 1 => format!("{label}; in one piece: {why}"),
            _ => label,
        };
        let of_reading = self.readings.iter().position(|known| known == reading);
        // A reading that cuts the same files otherwise has other pieces, and counts as a second reading.
        let shape = match (
            why_whole,
            pieces.iter().any(|it| matches!(it, Piece::Part(_))),
        ) {
            (Some(_), _) => 0,
            (None, false) => 1,
            (None, true) => 2,
        };
        let of_reading = of_reading.and_then(|index| u32::try_from(index * 3 + shape).ok());
        Ok(Arc::new(PieceExec::of_pieces(
            work,
            pieces,
            self.folder.clone(),
            of_reading.unwrap_or(u32::MAX),
            label,
        )?))
    }
}

/// A scan with its description for other machines.
fn described(node: &Arc<dyn ExecutionPlan>) -> Option<(&CaptureScan, ScanDescription)> {
    let scan = node.downcast_ref::<CaptureScan>()?;
    Some((scan, ScanDescription::of(scan)?))
}

/// The description of a node, without its name.
fn label(node: &Arc<dyn ExecutionPlan>) -> String {
    let text = displayable(node.as_ref()).one_line().to_string();
    let text = text.trim();
    match text.split_once(": ") {
        Some((_, text)) => text.to_owned(),
        None => text.to_owned(),
    }
}

/// Sends a statement that reads captures to a cluster: as a plan, or as its text where the plan cannot be serialized.
/// The rule follows all others.
#[derive(Debug)]
pub(crate) struct SendAway {
    pub(crate) cluster: Arc<dyn Cluster>,
    pub(crate) statement: Arc<PlannedStatement>,
    pub(crate) scan_report: Arc<ScanReport>,
    pub(crate) options: Options,
}

impl PhysicalOptimizerRule for SendAway {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.sent(plan, config.execution.time_zone.as_ref())
    }

    fn name(&self) -> &'static str {
        "send_away"
    }

    fn schema_check(&self) -> bool {
        false
    }
}

impl SendAway {
    /// The plan as it runs there, or here. The session has this time zone.
    fn sent(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        zone: Option<&String>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // Further work on the rows is done on this machine.
        if plan.downcast_ref::<AnalyzeExec>().is_some()
            || plan.downcast_ref::<DataSinkExec>().is_some()
        {
            let children = plan.children().into_iter().cloned();
            let children: Result<Vec<_>> = children.map(|child| self.sent(child, zone)).collect();
            return replace_children_if_necessary(plan, children?);
        }
        let leaves = Leaves::of(&plan)?;
        if !leaves.captures && !leaves.pieces && !leaves.other {
            return Ok(plan);
        }
        if leaves.pieces
            && !leaves.other
            && falls_into_tasks(&plan)?
            && let Some(sent) = self.cluster.sent(&plan)
        {
            return Ok(sent);
        }
        if leaves.read_here {
            self.note("live packets and standard input are read on this machine");
            return Ok(plan);
        }
        if !leaves.captures && !leaves.pieces {
            self.note("the statement reads no capture: it is answered on this machine");
            return Ok(plan);
        }
        let query = self.statement.query().filter(|_| !leaves.memory);
        if let Some((sql, views)) = query {
            let mut description = QueryDescription::new(sql, views, plan.schema(), &self.options);
            description.time_zone = zone.cloned();
            let whole: Arc<dyn ExecutionPlan> = Arc::new(PieceExec::of_pieces(
                PieceWork::Query(Arc::new(description)),
                vec![Piece::Whole(Vec::new())],
                std::env::current_dir().unwrap_or_default(),
                WHOLE,
                "one machine answers the whole statement: its plan cannot be split into pieces"
                    .to_owned(),
            )?);
            if let Some(sent) = self.cluster.sent(&whole) {
                return Ok(sent);
            }
        }
        self.note("the statement is answered on this machine: its plan cannot be sent");
        read_here(plan)
    }

    fn note(&self, text: &str) {
        self.scan_report.add_notes(vec![text.to_owned()]);
    }
}

/// The plan with scans in place of pieces. What a piece finds damaged, and where a part of a capture begins, is known to the client of
/// a cluster only.
fn read_here(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_down(|node| {
        let whole = match node.downcast_ref::<PieceExec>() {
            Some(piece) => piece.whole()?,
            None => None,
        };
        Ok(match whole {
            Some(whole) => Transformed::new(whole, true, TreeNodeRecursion::Jump),
            None => Transformed::no(node),
        })
    })
    .data()
}

/// The leaves of a plan.
#[derive(Debug, Default)]
struct Leaves {
    pieces: bool,
    captures: bool,
    /// Sources that only this process can read.
    read_here: bool,
    /// Rows that are in memory here.
    memory: bool,
    other: bool,
}

impl Leaves {
    fn of(plan: &Arc<dyn ExecutionPlan>) -> Result<Self> {
        let mut leaves = Self::default();
        plan.apply(|node| {
            if node.downcast_ref::<PieceExec>().is_some() {
                leaves.pieces = true;
                return Ok(TreeNodeRecursion::Jump);
            }
            if !node.children().is_empty() {
                return Ok(TreeNodeRecursion::Continue);
            }
            if let Some(scan) = scan_of(node) {
                leaves.captures = true;
                leaves.read_here |= is_read_here(scan.reading());
            } else if let Some(fused) = aggregate_of(node) {
                leaves.captures = true;
                leaves.read_here |= fused.readings().any(is_read_here);
            } else if let Some(source) = node.downcast_ref::<DataSourceExec>() {
                let source: &dyn std::any::Any = source.data_source().as_ref();
                match source.downcast_ref::<MemorySourceConfig>() {
                    Some(_) => leaves.memory = true,
                    None => leaves.other = true,
                }
            } else if node.downcast_ref::<EmptyExec>().is_none()
                && node.downcast_ref::<PlaceholderRowExec>().is_none()
            {
                leaves.other = true;
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(leaves)
    }
}

/// Whether each operator returns the same rows when several machines run it, each for some of its partitions. A join
/// that keeps one side in memory and returns the rows of it without a match does not: each machine has some of the
/// other side only. Unknown operators do not.
fn falls_into_tasks(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let mut falls = true;
    plan.apply(|node| {
        let of_join = |join: JoinType| {
            matches!(
                join,
                JoinType::Inner
                    | JoinType::Right
                    | JoinType::RightSemi
                    | JoinType::RightAnti
                    | JoinType::RightMark
            )
        };
        falls &= if let Some(join) = node.downcast_ref::<HashJoinExec>() {
            *join.partition_mode() == PartitionMode::Partitioned || of_join(*join.join_type())
        } else if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
            of_join(*join.join_type())
        } else {
            let has_constants = node.downcast_ref::<UnionExec>().is_some() && has_constants(node);
            !has_constants && FALL_INTO_TASKS.contains(&node.name())
        };
        Ok(match falls {
            true => TreeNodeRecursion::Continue,
            false => TreeNodeRecursion::Stop,
        })
    })?;
    Ok(falls)
}

/// Whether a plan has rows of constants. In a task of a union that has none of them, Ballista puts another operator in their place, whose
/// metrics it does not expect: it drops the end of the task, and the job goes on for ever.
fn has_constants(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.downcast_ref::<PlaceholderRowExec>().is_some()
        || plan.downcast_ref::<EmptyExec>().is_some()
        || plan.children().into_iter().any(has_constants)
}

/// Operators that give the same rows in tasks.
const FALL_INTO_TASKS: &[&str] = &[
    "PieceScan",
    "PieceAggregate",
    "DataSourceExec",
    "CooperativeExec",
    "FilterExec",
    "ProjectionExec",
    "AggregateExec",
    "SortExec",
    "SortPreservingMergeExec",
    "CoalescePartitionsExec",
    "RepartitionExec",
    "GlobalLimitExec",
    "LocalLimitExec",
    "UnionExec",
    "SortMergeJoinExec",
    "CrossJoinExec",
    "WindowAggExec",
    "BoundedWindowAggExec",
    "EmptyExec",
    "PlaceholderRowExec",
    "UnnestExec",
];

fn is_read_here(reading: &Reading) -> bool {
    let mut sources = reading.sources.iter();
    sources.any(|source| {
        let is_pipe = matches!(source.location(), Location::File(path) if is_special(path));
        source.is_stdin() || source.is_growing() || is_pipe
    })
}

/// Pieces of a reading, at most: the plan with all of them is one message of 16 MiB.
const PIECES_MAX: usize = 1024;
/// Parts of one capture, at most.
const PARTS_MAX: usize = 512;
/// The reading of a statement that one machine answers.
const WHOLE: u32 = u32::MAX - 1;
