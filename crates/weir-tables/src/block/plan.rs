//! In which order the questions are put.

use weir_packet::layout::Layout;
use weir_packet::{Layer, LayerSet, LinkType, Outline};

use super::condition::Condition;
use super::{Blocks, Load, Numbers, ROWS, Records, Selection};
use crate::Branch;

/// The branches of an aggregation.
pub(crate) struct Plan {
    /// What must hold in all branches.
    shared: Vec<Stage>,
    pub(crate) branches: Vec<PlainBranch>,
    asks_times: bool,
    /// All headers that are looked at.
    layers: LayerSet,
    /// For what is asked at the moment.
    pub(crate) numbers: Numbers,
}

/// One branch of an aggregation, in terms of plain fields.
pub(crate) struct PlainBranch {
    stages: Vec<Stage>,
    pub(crate) keys: Vec<Load>,
    /// `None` for an aggregate that has no argument.
    pub(crate) arguments: Vec<Option<Load>>,
    /// The records that it takes up.
    pub(crate) selection: Selection,
}

/// Conditions on headers of one depth. What fails here is not looked at any deeper.
struct Stage {
    /// Headers to be found first, if they are not by an earlier stage.
    draw: Option<LayerSet>,
    conditions: Vec<Condition>,
}

impl Plan {
    /// `None` when a branch asks for more than plain fields of packets, or of the records of a layout.
    pub(crate) fn new(branches: &[Branch], layout: Option<&Layout>) -> Option<Self> {
        // Each record has room for a row of every branch.
        if branches.is_empty() || branches.len() > BRANCHES_MAX {
            return None;
        }
        let mut of_branches = Vec::with_capacity(branches.len());
        for branch in branches {
            if branch.filters.iter().any(Option::is_some) {
                return None;
            }
            let mut conditions = Vec::new();
            if let Some(predicate) = &branch.predicate
                && !Condition::of(predicate, layout, &mut conditions)
            {
                return None;
            }
            of_branches.push(conditions);
        }
        let shared: Vec<Condition> = match of_branches.split_first() {
            Some((first, others)) => first
                .iter()
                .filter(|one| others.iter().all(|other| other.contains(one)))
                .cloned()
                .collect(),
            None => Vec::new(),
        };
        let mut drawn = LayerSet::EMPTY;
        let shared_stages = stages(shared.clone(), &mut drawn);
        let all_conditions = of_branches.iter().flatten().map(Condition::load);
        let mut layers = all_conditions
            .clone()
            .fold(LayerSet::EMPTY, |all, load| all.union(load.layers()));
        let mut asks_times = all_conditions.clone().any(Load::is_time);
        let mut plain = Vec::with_capacity(branches.len());
        for (branch, mut conditions) in branches.iter().zip(of_branches) {
            conditions.retain(|one| !shared.contains(one));
            let keys = branch.keys.iter().map(|key| Load::new(key, layout));
            let keys = keys.collect::<Option<Vec<_>>>()?;
            let arguments = branch.arguments.iter().map(|argument| match argument {
                None => Some(None),
                Some(argument) => Load::new(argument, layout).map(Some),
            });
            let arguments = arguments.collect::<Option<Vec<_>>>()?;
            let loads = keys.iter().chain(arguments.iter().flatten());
            asks_times |= loads.clone().any(Load::is_time);
            let wanted = loads.fold(LayerSet::EMPTY, |all, load| all.union(load.layers()));
            layers = layers.union(wanted);
            let mut drawn = drawn;
            let mut stages = stages(conditions, &mut drawn);
            if Outline::depth(wanted) > Outline::depth(drawn) {
                stages.push(Stage {
                    draw: Some(drawn.union(wanted)),
                    conditions: Vec::new(),
                });
            }
            plain.push(PlainBranch {
                stages,
                keys,
                arguments,
                selection: Selection::NONE,
            });
        }
        Some(Self {
            shared: shared_stages,
            branches: plain,
            asks_times,
            layers,
            numbers: Numbers::new(),
        })
    }

    /// Where the records to ask come from.
    pub(crate) fn blocks(&self) -> Blocks {
        Blocks::new(ROWS / self.branches.len().max(1), self.asks_times)
    }

    /// Selects records of each branch among the first `end`; gives how many of them were understood: the
    /// next has to be decoded.
    pub(crate) fn select(&mut self, records: &mut Records<'_>, end: usize) -> usize {
        let mut end = match records.link_type() {
            LinkType::ETHERNET if self.layers.contains(Layer::Erf) => 0,
            // The last one: records of a layout.
            LinkType::ERF | LinkType::ETHERNET | LinkType(u32::MAX) => end,
            // A header of the capturing system may count in its lengths.
            _ => 0,
        };
        if !self.layers.is_empty() {
            records.begin();
        }
        let mut shared = Selection::first(end);
        let numbers = &mut self.numbers;
        select(&self.shared, records, &mut shared, numbers, &mut end);
        for branch in &mut self.branches {
            branch.selection = shared.clone();
            select(
                &branch.stages,
                records,
                &mut branch.selection,
                numbers,
                &mut end,
            );
        }
        end
    }

    /// Leaves out the records from number `end` on.
    pub(crate) fn end_at(&mut self, end: usize) {
        if let Ok(end) = u8::try_from(end) {
            for branch in &mut self.branches {
                branch.selection.end_at(end);
            }
        }
    }
}

/// Sorts conditions into stages, the outermost headers first. `drawn` are the headers that are found
/// then.
fn stages(mut conditions: Vec<Condition>, drawn: &mut LayerSet) -> Vec<Stage> {
    let depth = |condition: &Condition| Outline::depth(condition.layers());
    conditions.sort_by_key(|condition| (depth(condition), condition.selectivity()));
    let mut stages: Vec<Stage> = Vec::new();
    for condition in conditions {
        let layers = condition.layers();
        let draw = Outline::depth(layers) > Outline::depth(*drawn);
        match stages.last_mut() {
            Some(stage) if !draw => stage.conditions.push(condition),
            _ => {
                *drawn = drawn.union(layers);
                stages.push(Stage {
                    draw: draw.then_some(*drawn),
                    conditions: vec![condition],
                });
            }
        }
    }
    stages
}

/// Leaves out what fails one of the stages, and all from the first record on that has to be decoded.
fn select(
    stages: &[Stage],
    records: &mut Records<'_>,
    selection: &mut Selection,
    numbers: &mut Numbers,
    end: &mut usize,
) {
    for stage in stages {
        if let Some(wanted) = stage.draw
            && let Some(row) = records.draw(selection, wanted)
        {
            selection.end_at(row);
            *end = (*end).min(usize::from(row));
        }
        for condition in &stage.conditions {
            condition.filter(records, selection, numbers);
        }
    }
}

const BRANCHES_MAX: usize = 16;
