//! One reading for all that a statement, or several, want of the same sources.
//!
//! Scans and fused aggregates over the same files, read the same way, become consumers of one shared scan. Where all
//! consumers compute groups, the first that runs reads for all ([`SharedGroups`]). Where one of them returns rows, all
//! go through the records together, and rows queue for a consumer that does not run yet ([`SharedRows`]); a consumer
//! whose queued rows exceed 64 MiB is detached and rescans the files.

mod aggregate;
mod groups;
mod rows;
mod scan;
mod slots;

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use weir_tables::{Source, WantedRows};

use crate::fuse::{AggregateSpec, FusedAggregate, ScanInput};
use crate::plan_node::named_rule;
use crate::scan::{CaptureScan, Reading};
use aggregate::SharedAggregateExec;
use groups::{GroupsConsumer, SharedGroups};
use rows::{RowsConsumer, SharedRows};
use scan::SharedScanExec;

/// Shares readings (see the module). The rule follows all others, which see single scans.
#[derive(Debug)]
pub(crate) struct ShareReadings;

impl PhysicalOptimizerRule for ShareReadings {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut plans = vec![plan];
        share(&mut plans)?;
        Ok(plans.remove(0))
    }

    named_rule!("share_readings");
}

/// Shares the reading among all scans of the same sources in these plans, which run one after the other.
pub(crate) fn share(plans: &mut [Arc<dyn ExecutionPlan>]) -> Result<()> {
    let mut scans: Vec<ConsumersOfReading> = Vec::new();
    for plan in plans.iter() {
        plan.apply(|node| {
            if let Some(scan) = scan_of(node) {
                if let Some(rows) = scan.wanted() {
                    add(&mut scans, scan.reading(), |consumers| {
                        consumers.rows.push(rows);
                    });
                }
            } else if let Some(fused) = whole(node) {
                for (scan_input, spec) in fused.specs() {
                    add(&mut scans, &scan_input.reading, |consumers| {
                        consumers.scan_inputs.push(scan_input.clone());
                        consumers.specs.push(spec);
                    });
                }
            }
            Ok(below(node))
        })?;
    }
    let mut scans: Vec<(Reading, Option<Consumers>)> = scans
        .into_iter()
        .map(|consumers| (consumers.reading.clone(), consumers.shared()))
        .collect();
    if scans.iter().all(|(_, consumers)| consumers.is_none()) {
        return Ok(());
    }
    for plan in plans {
        *plan = Arc::clone(plan)
            .transform_down(|node| {
                let below = below(&node);
                let changed: Option<Arc<dyn ExecutionPlan>> = if let Some(scan) = scan_of(&node) {
                    let consumer = scan
                        .wanted()
                        .and_then(|_| consumers(&mut scans, scan.reading())?.next_rows());
                    consumer.map(|consumer| Arc::new(SharedScanExec::new(scan, consumer)) as _)
                } else if let Some(fused) = whole(&node) {
                    let taken: Vec<_> = fused
                        .specs()
                        .map(|(scan_input, _)| {
                            consumers(&mut scans, &scan_input.reading)?.next_groups()
                        })
                        .collect();
                    let any = taken.iter().any(Option::is_some);
                    any.then(|| Arc::new(SharedAggregateExec::new(fused, taken)) as _)
                } else {
                    None
                };
                Ok(match changed {
                    Some(changed) => Transformed::new(changed, true, below),
                    None => Transformed::new(node, false, below),
                })
            })
            .data()?;
    }
    Ok(())
}

/// The scan that a node is, alone or as a consumer of a shared reading.
pub(crate) fn scan_of(node: &Arc<dyn ExecutionPlan>) -> Option<&CaptureScan> {
    let shared = node.downcast_ref::<SharedScanExec>();
    shared
        .map(SharedScanExec::scan)
        .or_else(|| node.downcast_ref::<CaptureScan>())
}

/// The fused aggregate that a node is, alone or as a consumer of shared readings.
pub(crate) fn aggregate_of(node: &Arc<dyn ExecutionPlan>) -> Option<&FusedAggregate> {
    let shared = node.downcast_ref::<SharedAggregateExec>();
    shared
        .map(SharedAggregateExec::aggregate)
        .or_else(|| node.downcast_ref::<FusedAggregate>())
}

/// The aggregate, when it keeps its groups to the end.
fn whole(node: &Arc<dyn ExecutionPlan>) -> Option<&FusedAggregate> {
    aggregate_of(node).filter(|fused| !fused.is_partial())
}

/// The number of bytes of the files that these plans read, for the display of progress.
pub(crate) fn bytes(plans: &[Arc<dyn ExecutionPlan>]) -> Result<u64> {
    let mut shared: Vec<Reading> = Vec::new();
    let mut bytes = 0_u64;
    for plan in plans {
        plan.apply(|node| {
            let mut add = |reading: &Reading, is_shared: bool| {
                if is_shared && shared.contains(reading) {
                    return;
                }
                let lengths = reading.sources.iter().filter_map(Source::len);
                bytes = lengths.fold(bytes, u64::saturating_add);
                shared.extend(is_shared.then(|| reading.clone()));
            };
            if let Some(scan) = scan_of(node) {
                add(
                    scan.reading(),
                    node.downcast_ref::<SharedScanExec>().is_some(),
                );
            } else if let Some(fused) = aggregate_of(node) {
                let shared = node.downcast_ref::<SharedAggregateExec>();
                for (pass, reading) in fused.readings().enumerate() {
                    add(reading, shared.is_some_and(|shared| shared.is_shared(pass)));
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    Ok(bytes)
}

fn consumers<'t>(
    scans: &'t mut [(Reading, Option<Consumers>)],
    reading: &Reading,
) -> Option<&'t mut Consumers> {
    let scan = scans.iter_mut().find(|(known, _)| known == reading);
    scan.and_then(|(_, consumers)| consumers.as_mut())
}

/// Whether to look below a node: what is run again and again reads again each time.
fn below(node: &Arc<dyn ExecutionPlan>) -> TreeNodeRecursion {
    match node.downcast_ref::<RecursiveQueryExec>() {
        Some(_) => TreeNodeRecursion::Jump,
        None => TreeNodeRecursion::Continue,
    }
}

/// The consumers of one reading, while the plans are searched.
struct ConsumersOfReading {
    reading: Reading,
    scan_inputs: Vec<ScanInput>,
    specs: Vec<AggregateSpec>,
    rows: Vec<WantedRows>,
}

fn add(
    scans: &mut Vec<ConsumersOfReading>,
    reading: &Reading,
    consumer: impl FnOnce(&mut ConsumersOfReading),
) {
    // A consumer of a growing source has to read it as it grows.
    if reading.sources.iter().any(Source::is_growing) {
        return;
    }
    let known = scans
        .iter()
        .position(|consumers| consumers.reading == *reading);
    let place = known.unwrap_or_else(|| {
        scans.push(ConsumersOfReading {
            reading: reading.clone(),
            scan_inputs: Vec::new(),
            specs: Vec::new(),
            rows: Vec::new(),
        });
        scans.len() - 1
    });
    consumer(&mut scans[place]);
}

impl ConsumersOfReading {
    /// The shared scan of these consumers; `None` where there is one consumer only.
    fn shared(self) -> Option<Consumers> {
        if self.specs.len() + self.rows.len() < 2 {
            return None;
        }
        let scan = match self.rows.is_empty() {
            true => {
                let mut scan_inputs = self.scan_inputs.into_iter();
                let mut scan_input = scan_inputs.next()?;
                // The file is read in parts only where every consumer allows it.
                scan_input.parts = scan_inputs.fold(scan_input.parts, |parts, scan_input| {
                    parts.min(scan_input.parts)
                });
                SharedScan::Groups(Arc::new(SharedGroups::new(scan_input, self.specs)))
            }
            false => SharedScan::Rows(Arc::new(SharedRows::new(
                self.reading,
                self.specs,
                self.rows,
            ))),
        };
        Some(Consumers {
            scan,
            groups: 0,
            rows: 0,
        })
    }
}

/// A shared scan, whose consumers are handed out in the order in which the plans have them.
struct Consumers {
    scan: SharedScan,
    groups: usize,
    rows: usize,
}

enum SharedScan {
    Groups(Arc<SharedGroups>),
    Rows(Arc<SharedRows>),
}

impl Consumers {
    fn next_groups(&mut self) -> Option<GroupsConsumer> {
        let number = self.groups;
        self.groups += 1;
        Some(match &self.scan {
            SharedScan::Groups(scan) => GroupsConsumer::Groups(Arc::clone(scan), number),
            SharedScan::Rows(scan) => GroupsConsumer::Rows(Arc::clone(scan), number),
        })
    }

    fn next_rows(&mut self) -> Option<RowsConsumer> {
        let number = self.rows;
        self.rows += 1;
        match &self.scan {
            SharedScan::Groups(_) => None,
            SharedScan::Rows(scan) => Some(RowsConsumer::new(Arc::clone(scan), number)),
        }
    }
}
