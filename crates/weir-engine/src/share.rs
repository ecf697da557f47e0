//! One reading for all that a statement, or several, want of the same sources.
//!
//! Scans and fused aggregates over the same files, read the same way, take their seats at one
//! reading. Where all want groups, who comes first reads for all ([`GroupsTable`]). Where someone
//! wants rows, all go through the records together, and rows wait for who is not there yet
//! ([`RowsTable`]); who lets more wait than there is room for reads alone, later.

mod groups;
mod rows;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use weir_tables::{Source, WantedRows};

use crate::fuse::{FusedAggregate, Question, Side};
use crate::ledger::Ledger;
use crate::scan::{CaptureScan, Reading, take_stdin};
pub(crate) use groups::GroupsSeat;
use groups::GroupsTable;
pub(crate) use rows::RowsSeat;
use rows::RowsTable;

/// See the module. Stands behind all other rules, which see scans as they are.
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

    fn name(&self) -> &'static str {
        "share_readings"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Gives the same reading to all that read the same in these plans, which run one after the other.
pub(crate) fn share(plans: &mut [Arc<dyn ExecutionPlan>]) -> Result<()> {
    let mut tables: Vec<Guests> = Vec::new();
    for plan in plans.iter() {
        plan.apply(|node| {
            if let Some(scan) = node.downcast_ref::<CaptureScan>() {
                if let Some(rows) = scan.wanted() {
                    add(&mut tables, scan.reading(), |guests| guests.rows.push(rows));
                }
            } else if let Some(fused) = whole(node) {
                for (side, question) in fused.questions() {
                    add(&mut tables, &side.reading, |guests| {
                        guests.sides.push(side.clone());
                        guests.questions.push(question);
                    });
                }
            }
            Ok(below(node))
        })?;
    }
    let mut tables: Vec<(Reading, Option<Seats>)> = tables
        .into_iter()
        .map(|guests| (guests.reading.clone(), guests.seated()))
        .collect();
    if tables.iter().all(|(_, seats)| seats.is_none()) {
        return Ok(());
    }
    for plan in plans {
        *plan = Arc::clone(plan)
            .transform_down(|node| {
                let below = below(&node);
                let changed: Option<Arc<dyn ExecutionPlan>> =
                    if let Some(scan) = node.downcast_ref::<CaptureScan>() {
                        let seat = scan
                            .wanted()
                            .and_then(|_| seats(&mut tables, scan.reading())?.next_rows());
                        seat.map(|seat| Arc::new(scan.seated(Some(seat))) as _)
                    } else if let Some(fused) = whole(&node) {
                        let taken: Vec<_> = fused
                            .questions()
                            .map(|(side, _)| seats(&mut tables, &side.reading)?.next_groups())
                            .collect();
                        let any = taken.iter().any(Option::is_some);
                        any.then(|| Arc::new(fused.seated(taken)) as _)
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

/// The aggregate, when it keeps its groups to the end.
fn whole(node: &Arc<dyn ExecutionPlan>) -> Option<&FusedAggregate> {
    let fused = node.downcast_ref::<FusedAggregate>();
    fused.filter(|fused| !fused.is_partial())
}

/// Bytes of the files that these plans read, for what tells how far they are.
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
            if let Some(scan) = node.downcast_ref::<CaptureScan>() {
                add(scan.reading(), scan.is_shared());
            } else if let Some(fused) = node.downcast_ref::<FusedAggregate>() {
                for (pass, is_shared) in fused.readings() {
                    add(pass, is_shared);
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    Ok(bytes)
}

fn seats<'t>(
    tables: &'t mut [(Reading, Option<Seats>)],
    reading: &Reading,
) -> Option<&'t mut Seats> {
    let table = tables.iter_mut().find(|(known, _)| known == reading);
    table.and_then(|(_, seats)| seats.as_mut())
}

/// Whether to look below a node: what is run again and again reads again each time.
fn below(node: &Arc<dyn ExecutionPlan>) -> TreeNodeRecursion {
    match node.downcast_ref::<RecursiveQueryExec>() {
        Some(_) => TreeNodeRecursion::Jump,
        None => TreeNodeRecursion::Continue,
    }
}

/// All that want something of one reading.
struct Guests {
    reading: Reading,
    sides: Vec<Side>,
    questions: Vec<Question>,
    rows: Vec<WantedRows>,
}

fn add(tables: &mut Vec<Guests>, reading: &Reading, guest: impl FnOnce(&mut Guests)) {
    // Who reads what is still to come must read it as it comes.
    if reading.sources.iter().any(Source::is_growing) {
        return;
    }
    let known = tables.iter().position(|guests| guests.reading == *reading);
    let place = known.unwrap_or_else(|| {
        tables.push(Guests {
            reading: reading.clone(),
            sides: Vec::new(),
            questions: Vec::new(),
            rows: Vec::new(),
        });
        tables.len() - 1
    });
    guest(&mut tables[place]);
}

impl Guests {
    /// Their seats; `None` for one alone.
    fn seated(self) -> Option<Seats> {
        if self.questions.len() + self.rows.len() < 2 {
            return None;
        }
        let table = match self.rows.is_empty() {
            true => {
                let mut sides = self.sides.into_iter();
                let mut side = sides.next()?;
                // Parts for all, or for none.
                side.parts = sides.fold(side.parts, |parts, side| parts.min(side.parts));
                Table::Groups(Arc::new(GroupsTable::new(side, self.questions)))
            }
            false => Table::Rows(Arc::new(RowsTable::new(
                self.reading,
                self.questions,
                self.rows,
            ))),
        };
        Some(Seats {
            table,
            groups: 0,
            rows: 0,
        })
    }
}

/// The seats of one reading, given out in the order in which they were asked for.
struct Seats {
    table: Table,
    groups: usize,
    rows: usize,
}

enum Table {
    Groups(Arc<GroupsTable>),
    Rows(Arc<RowsTable>),
}

impl Seats {
    fn next_groups(&mut self) -> Option<GroupsSeat> {
        let number = self.groups;
        self.groups += 1;
        Some(match &self.table {
            Table::Groups(table) => GroupsSeat::Groups(Arc::clone(table), number),
            Table::Rows(table) => GroupsSeat::Rows(Arc::clone(table), number),
        })
    }

    fn next_rows(&mut self) -> Option<RowsSeat> {
        let number = self.rows;
        self.rows += 1;
        match &self.table {
            Table::Groups(_) => None,
            Table::Rows(table) => Some(RowsSeat::new(Arc::clone(table), number)),
        }
    }
}

/// Who sits at a table, and that its sources are read by it.
#[derive(Debug)]
struct Places {
    taken: Vec<AtomicBool>,
    is_open: AtomicBool,
}

impl Places {
    fn new(count: usize) -> Self {
        Self {
            taken: (0..count).map(|_| AtomicBool::new(false)).collect(),
            is_open: AtomicBool::new(false),
        }
    }

    /// Takes a place; false when it was taken before: a plan that runs again.
    fn sit(&self, number: usize, sources: &[Source], ledger: &Ledger) -> Result<bool> {
        let taken = self.taken.get(number);
        if taken.is_none_or(|taken| taken.swap(true, Ordering::Relaxed)) {
            return Ok(false);
        }
        if !self.is_open.swap(true, Ordering::Relaxed) {
            take_stdin(sources, ledger)?;
        }
        Ok(true)
    }

    /// For EXPLAIN.
    fn described(&self) -> String {
        match self.taken.len() {
            2 => "read once with=1 other".to_owned(),
            count => format!("read once with={} others", count.saturating_sub(1)),
        }
    }
}
