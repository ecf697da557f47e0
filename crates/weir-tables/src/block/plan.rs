//! In which order the questions are put.

use std::cmp::Reverse;
use std::ops::Range;

use weir_packet::layout::Layout;
use weir_packet::{HeaderOffsets, Layer, LayerSet, LinkType};

use super::condition::Condition;
use super::{Blocks, Load, Numbers, ROWS, Records, SelectionVector};
use crate::Branch;

/// What all branches of some aggregates ask, common questions once: a tree of conditions, in which a
/// record goes down as far as they hold.
pub(crate) struct Plan {
    /// Each behind the one above it.
    nodes: Vec<Node>,
    /// Those of the first aggregate, then those of the next.
    branches: Vec<PlainBranch>,
    /// How many of them each aggregate has.
    counts: Vec<usize>,
    asks_times: bool,
    /// All headers that are looked at.
    layers: LayerSet,
    /// For what is asked at the moment.
    numbers: Numbers,
}

/// One branch of an aggregate, in terms of plain fields.
pub(crate) struct PlainBranch {
    /// The last of its conditions.
    leaf: Option<usize>,
    pub(crate) keys: Vec<Load>,
    /// `None` for an aggregate that has no argument.
    pub(crate) arguments: Vec<Option<Load>>,
    /// The records that it takes up.
    pub(crate) selection: SelectionVector,
}

/// A condition on records for which those above it hold. What fails is not looked at any deeper.
struct Node {
    above: Option<usize>,
    /// Headers to be found first, if they are not by a node above.
    draw: Option<LayerSet>,
    /// Those of nodes below that are worth finding at once.
    below: LayerSet,
    /// How deep they were found in the block at hand.
    depth: u8,
    /// `None` where headers are found for keys and arguments only.
    condition: Option<Condition>,
    /// It held for nearly all of the last block.
    holds: bool,
    selection: SelectionVector,
}

impl Plan {
    /// The questions of each aggregate's branches; `None` when one asks for more than plain fields of
    /// packets, or of the records of a layout.
    pub(crate) fn new(aggregates: &[&[Branch]], layout: Option<&Layout>) -> Option<Self> {
        let counts: Vec<usize> = aggregates.iter().map(|branches| branches.len()).collect();
        // Each record has room for a row of every branch of an aggregate.
        if counts.is_empty()
            || counts
                .iter()
                .any(|count| !(1..=BRANCHES_MAX).contains(count))
        {
            return None;
        }
        let branches = || aggregates.iter().copied().flatten();
        let mut of_branches = Vec::new();
        for branch in branches() {
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
        let orders = of_branches
            .iter()
            .map(|conditions| in_order(conditions, &of_branches));
        let orders: Vec<Vec<Condition>> = orders.collect();
        let mut plan = Self {
            nodes: Vec::new(),
            branches: Vec::with_capacity(orders.len()),
            counts,
            asks_times: false,
            layers: LayerSet::EMPTY,
            numbers: Numbers::new(),
        };
        for (branch, conditions) in branches().zip(orders) {
            plan.add(branch, conditions, layout)?;
        }
        Some(plan)
    }

    fn add(
        &mut self,
        branch: &Branch,
        conditions: Vec<Condition>,
        layout: Option<&Layout>,
    ) -> Option<()> {
        let mut leaf = None;
        let mut drawn = LayerSet::EMPTY;
        for condition in conditions {
            self.asks_times |= condition.asks_times();
            let wanted = condition.layers();
            leaf = Some(self.node(leaf, &mut drawn, wanted, Some(condition)));
        }
        let keys = branch.keys.iter().map(|key| Load::new(key, layout));
        let keys = keys.collect::<Option<Vec<_>>>()?;
        let arguments = branch.arguments.iter().map(|argument| match argument {
            None => Some(None),
            Some(argument) => Load::new(argument, layout).map(Some),
        });
        let arguments = arguments.collect::<Option<Vec<_>>>()?;
        let loads = keys.iter().chain(arguments.iter().flatten());
        self.asks_times |= loads.clone().any(Load::is_time);
        let wanted = loads.fold(LayerSet::EMPTY, |all, load| all.union(load.layers()));
        if HeaderOffsets::depth(wanted) > HeaderOffsets::depth(drawn) {
            leaf = Some(self.node(leaf, &mut drawn, wanted, None));
        }
        self.layers = self.layers.union(drawn).union(wanted);
        self.branches.push(PlainBranch {
            leaf,
            keys,
            arguments,
            selection: SelectionVector::NONE,
        });
        Some(())
    }

    /// The node below `above` with this condition, which may be there already.
    fn node(
        &mut self,
        above: Option<usize>,
        drawn: &mut LayerSet,
        wanted: LayerSet,
        condition: Option<Condition>,
    ) -> usize {
        let is_deeper = HeaderOffsets::depth(wanted) > HeaderOffsets::depth(*drawn);
        *drawn = drawn.union(wanted);
        let draw = is_deeper.then_some(*drawn);
        let known = self.nodes.iter().position(|node| {
            node.above == above && node.draw == draw && node.condition == condition
        });
        known.unwrap_or_else(|| {
            self.nodes.push(Node {
                above,
                draw,
                below: LayerSet::EMPTY,
                depth: 0,
                condition,
                holds: false,
                selection: SelectionVector::NONE,
            });
            self.nodes.len() - 1
        })
    }

    /// Where the records to ask come from.
    pub(crate) fn blocks(&self) -> Blocks {
        let most = self.counts.iter().copied().max().unwrap_or(1);
        Blocks::new(ROWS / most.max(1), self.asks_times)
    }

    /// Selects the records of each branch, as far as they are usual packets; false when all have to be
    /// decoded one by one.
    pub(crate) fn select(&mut self, records: &mut Records<'_>) -> bool {
        match records.link_type() {
            LinkType::ETHERNET if self.layers.contains(Layer::Erf) => return false,
            // The last one: records of a layout.
            LinkType::ERF | LinkType::ETHERNET | LinkType(u32::MAX) => {}
            // A header of the capturing system may count in its lengths.
            _ => return false,
        }
        if !self.layers.is_empty() {
            records.begin();
        }
        let all = SelectionVector::first(records.block.len());
        for number in 0..self.nodes.len() {
            let (above, rest) = self.nodes.split_at_mut(number);
            let Some(node) = rest.first_mut() else {
                break;
            };
            let from = node.above.and_then(|number| above.get(number));
            node.selection
                .clone_from(from.map_or(&all, |above| &above.selection));
            node.depth = from.map_or(0, |above| above.depth);
            node.select(records, &mut self.numbers);
        }
        self.foresee();
        for branch in &mut self.branches {
            let leaf = branch.leaf.and_then(|leaf| self.nodes.get(leaf));
            branch
                .selection
                .clone_from(leaf.map_or(&all, |leaf| &leaf.selection));
            // What one branch had to leave out is decoded for all of them.
            if records.unusual.any {
                branch.selection.leave_out(records.unusual);
            }
        }
        true
    }

    /// Headers that nearly all records turned out to need are found in one go in the next block.
    fn foresee(&mut self) {
        for node in &mut self.nodes {
            node.below = LayerSet::EMPTY;
        }
        for number in (0..self.nodes.len()).rev() {
            let (above, rest) = self.nodes.split_at_mut(number);
            let Some(node) = rest.first_mut() else {
                break;
            };
            if !node.holds {
                node.below = LayerSet::EMPTY;
            }
            if let Some(above) = node.above.and_then(|number| above.get_mut(number)) {
                let drawn = node.draw.unwrap_or(LayerSet::EMPTY);
                above.below = above.below.union(node.below).union(drawn);
            }
        }
    }

    /// The branches of each aggregate, and room for the numbers that they read.
    pub(crate) fn aggregates(&mut self) -> (impl Iterator<Item = &[PlainBranch]>, &mut Numbers) {
        let mut rest = &self.branches[..];
        let branches = self.counts.iter().map(move |count| {
            let (branches, others) = rest.split_at(*count);
            rest = others;
            branches
        });
        (branches, &mut self.numbers)
    }

    /// How many records of a stretch some branch takes up.
    pub(crate) fn selected(&self, stretch: &Range<usize>) -> usize {
        if let [branch] = &self.branches[..] {
            return branch.selection.within(stretch).len();
        }
        let mut is_selected = [false; ROWS];
        for branch in &self.branches {
            for row in branch.selection.within(stretch) {
                is_selected[usize::from(*row)] = true;
            }
        }
        is_selected.iter().filter(|selected| **selected).count()
    }
}

impl Node {
    /// Leaves out what fails, and what has to be decoded.
    fn select(&mut self, records: &mut Records<'_>, numbers: &mut Numbers) {
        if let Some(wanted) = self.draw {
            let wanted = wanted.union(self.below);
            let depth = HeaderOffsets::depth(wanted);
            if depth > self.depth {
                records.draw(&mut self.selection, wanted);
                self.depth = depth;
            }
        }
        if let Some(condition) = &self.condition {
            let asked = self.selection.rows().len();
            condition.filter(records, &mut self.selection, numbers);
            let passed = self.selection.rows().len();
            self.holds = asked > 0 && passed * 4 >= asked * 3;
        }
    }
}

/// The conditions of a branch in the order in which they are asked: the outermost headers first, then
/// what others ask, too, then what lets the fewest through.
fn in_order(conditions: &[Condition], of_branches: &[Vec<Condition>]) -> Vec<Condition> {
    let mut conditions = conditions.to_vec();
    conditions.sort_by_cached_key(|one| {
        let others = of_branches.iter().filter(|others| others.contains(one));
        let depth = HeaderOffsets::depth(one.layers());
        (depth, Reverse(others.count()), one.selectivity())
    });
    conditions
}

const BRANCHES_MAX: usize = 16;
