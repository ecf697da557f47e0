//! Aggregates whose state is more than a number, which the caller computes: quantiles, approximate counts of values,
//! and their like.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewBuilder, StringViewBuilder};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use weir_packet::Kind;

use super::numbers::numbers;
use crate::{Expression, Row};

/// An aggregate function that the caller computes from arrays of values.
pub trait Sketch: fmt::Debug + Send + Sync {
    /// The name of the function in SQL.
    fn name(&self) -> &str;

    /// Whether the result is identical for any partition and order of the values.
    fn allows_parts(&self) -> bool;

    /// The types of the states of a group, which can be merged, or of the result.
    fn data_types(&self, as_states: bool) -> Vec<DataType>;

    /// Starts without groups.
    ///
    /// When arguments of the function are invalid.
    fn start(&self) -> Result<Box<dyn Sketches>, ArrowError>;
}

/// The states of a [`Sketch`] for all groups, which are numbered from 0.
pub trait Sketches: Send {
    /// Adds each of the values, of which none is NULL, to the group whose number is at its place in `of`. There are
    /// `groups` of them so far, also ones without a value.
    ///
    /// When the function does not support the values.
    fn add(&mut self, values: ArrayRef, of: &[usize], groups: usize) -> Result<(), ArrowError>;

    /// Adds states from [`Sketches::take_states`], as [`Sketches::add`] adds values.
    ///
    /// # Errors
    /// When they are not states of the same function.
    fn merge(&mut self, states: &[ArrayRef], of: &[usize], groups: usize)
    -> Result<(), ArrowError>;

    /// Returns the states of all groups, and removes the groups.
    ///
    /// # Errors
    /// When the function fails.
    fn take_states(&mut self) -> Result<Vec<ArrayRef>, ArrowError>;

    /// Returns the results of all groups, and removes the groups.
    ///
    /// # Errors
    /// When the function fails.
    fn take_results(&mut self) -> Result<ArrayRef, ArrowError>;

    /// The number of allocated bytes.
    fn allocated_bytes(&self) -> usize;
}

/// The state of sketches, with the values on their way to them.
pub(super) struct Sketched {
    sketch: Arc<dyn Sketch>,
    sketches: Box<dyn Sketches>,
    kind: Kind,
    values: SketchValues,
    /// The group of each value.
    of: Vec<usize>,
    /// The first error, which is reported with the groups.
    failure: Option<ArrowError>,
    /// The results of all groups, while they are read.
    given: Option<Vec<ArrayRef>>,
}

/// Values in the order in which they were added.
enum SketchValues {
    Numbers(Vec<u64>),
    Texts(StringViewBuilder),
    Addresses(BinaryViewBuilder),
}

impl SketchValues {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Text => Self::Texts(StringViewBuilder::new()),
            Kind::Address => Self::Addresses(BinaryViewBuilder::new()),
            _ => Self::Numbers(Vec::new()),
        }
    }
}

impl Sketched {
    /// `None` when the function rejects the type.
    pub(super) fn new(sketch: &Arc<dyn Sketch>, kind: Kind) -> Option<Self> {
        Some(Self {
            sketches: sketch.start().ok()?,
            sketch: Arc::clone(sketch),
            kind,
            values: SketchValues::of(kind),
            of: Vec::new(),
            failure: None,
            given: None,
        })
    }

    /// Adds the text or the address of a row; returns false when it is NULL. Numbers are added by [`Sketched::add`].
    pub(super) fn take(&mut self, argument: &Expression, row: &Row<'_>) -> bool {
        match &mut self.values {
            SketchValues::Numbers(_) => false,
            SketchValues::Texts(texts) => {
                let text = argument.with_text(row, |text| texts.append_value(text));
                text.is_some()
            }
            SketchValues::Addresses(addresses) => match argument.address(row) {
                Some(address) => {
                    addresses.append_value(address.as_bytes());
                    true
                }
                None => false,
            },
        }
    }

    /// Adds rows to the groups with these numbers, of which there are `groups`: the values are `numbers` or have been
    /// stored before, where `validity` is true.
    pub(super) fn add(&mut self, of: &[u32], numbers: &[u64], validity: &[bool], groups: usize) {
        for ((of, number), _) in of
            .iter()
            .zip(numbers)
            .zip(validity)
            .filter(|(_, validity)| **validity)
        {
            self.of.push(*of as usize);
            if let SketchValues::Numbers(values) = &mut self.values {
                values.push(*number);
            }
        }
        if self.of.len() >= VALUES {
            self.flush(groups);
        }
    }

    /// Passes the waiting values on.
    fn flush(&mut self, groups: usize) {
        let values: ArrayRef = match &mut self.values {
            SketchValues::Numbers(values) => numbers(self.kind, values.drain(..).map(Some)),
            SketchValues::Texts(texts) => Arc::new(texts.finish()),
            SketchValues::Addresses(addresses) => Arc::new(addresses.finish()),
        };
        let added = self.sketches.add(values, &self.of, groups);
        self.of.clear();
        self.note(added);
    }

    /// Stores the first error.
    fn note(&mut self, outcome: Result<(), ArrowError>) {
        if let Err(error) = outcome {
            self.failure.get_or_insert(error);
        }
    }

    /// Adds all groups of `other`, which have these numbers here, where there are `groups`.
    pub(super) fn merge(&mut self, other: &mut Self, of: &[usize], groups: usize) {
        // Rows are processed in their order.
        self.flush(groups);
        other.flush(of.len());
        let merged = match other.failure.take() {
            Some(failure) => Err(failure),
            // DataFusion's accumulators index the first group even if there is none.
            None if of.is_empty() => return,
            None => other.sketches.take_states(),
        };
        let merged = merged.and_then(|states| self.sketches.merge(&states, of, groups));
        self.note(merged);
    }

    /// The results of all groups, the same until [`Sketched::rewind`].
    pub(super) fn given(
        &mut self,
        groups: usize,
        result: ResultKind,
    ) -> Result<&[ArrayRef], ArrowError> {
        if self.given.is_none() {
            self.flush(groups);
            if let Some(failure) = self.failure.take() {
                return Err(failure);
            }
            let given = match result {
                ResultKind::States => self.sketches.take_states()?,
                ResultKind::Results => vec![self.sketches.take_results()?],
                ResultKind::Snapshot => {
                    let states = self.sketches.take_states()?;
                    let all: Vec<_> = (0..groups).collect();
                    self.sketches.merge(&states, &all, groups)?;
                    let mut copies = self.sketch.start()?;
                    copies.merge(&states, &all, groups)?;
                    vec![copies.take_results()?]
                }
            };
            self.given = Some(given);
        }
        Ok(self.given.as_deref().unwrap_or_default())
    }

    /// Starts again: the next results are those of the groups at that time.
    pub(super) fn rewind(&mut self) {
        self.given = None;
    }

    /// Removes all groups.
    pub(super) fn clear(&mut self) {
        self.given = None;
        self.values = SketchValues::of(self.kind);
        self.of.clear();
        match self.sketch.start() {
            Ok(sketches) => self.sketches = sketches,
            Err(error) => self.note(Err(error)),
        }
    }

    pub(super) fn allocated_bytes(&self) -> usize {
        let values = match &self.values {
            SketchValues::Numbers(values) => values.capacity() * size_of::<u64>(),
            // A view has 16 bytes, and few texts are longer than fit into it.
            SketchValues::Texts(_) | SketchValues::Addresses(_) => self.of.capacity() * 16,
        };
        self.sketches.allocated_bytes() + values + self.of.capacity() * size_of::<usize>()
    }
}

/// The kind of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultKind {
    /// Final results; no more rows are added to the groups.
    Results,
    /// Intermediate results of groups to which more rows are added.
    Snapshot,
    /// States, which another operator merges.
    States,
}

/// The number of values that are passed on at once: as many as a batch of rows has elsewhere.
const VALUES: usize = 8192;
