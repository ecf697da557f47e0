//! The results of all comparisons together, and their presentation.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::captures::Capture;
use crate::compare::{Comparison, Shared};
use crate::differences::{DIFFERENCES, RECORD_DIFFERENCES};

/// All comparisons, with sums over captures.
pub(crate) struct Tally<'a> {
    shared: &'a Shared,
    results: Vec<(&'a Capture, Comparison)>,
}

/// The sums of a column, or of everything.
#[derive(Clone, Copy, Default)]
struct Sum {
    values: usize,
    equal: usize,
    listed: usize,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(shared: &'a Shared, mut results: Vec<(&'a Capture, Comparison)>) -> Self {
        results.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        Self { shared, results }
    }

    /// The percentage of equal values; differences that are listed with a reason count neither way.
    pub(crate) fn percent_equal(&self) -> f64 {
        percent(self.sum(|_| true))
    }

    /// A line a column that has values, the worst last, and the total.
    pub(crate) fn summary(&self) -> String {
        let mut columns: Vec<(&str, Sum)> = self
            .shared
            .columns()
            .enumerate()
            .map(|(index, column)| (&*column.name, self.sum(|at| at == index)))
            .collect();
        columns.sort_by_key(|(_, sum)| (sum.unexpected(), sum.listed));
        let mut text = format!(
            "{:40}{:>9}{:>9}{:>8}{:>12}\n",
            "column", "values", "equal", "listed", "unexpected"
        );
        let mut line = |name: &str, sum: Sum| {
            let Sum {
                values,
                equal,
                listed,
            } = sum;
            let _ = writeln!(
                text,
                "{name:40}{values:9}{equal:9}{listed:8}{:12}",
                sum.unexpected()
            );
        };
        let seen = columns.iter().filter(|(_, sum)| sum.values > 0);
        let all_columns = seen.clone().count();
        for (name, sum) in seen {
            line(name, *sum);
        }
        let total = self.sum(|_| true);
        line("all", total);
        let records: usize = self
            .results
            .iter()
            .map(|(_, comparison)| comparison.records)
            .sum();
        let captures = self.results.len();
        let percent = percent(total);
        let _ = writeln!(
            text,
            "{captures} captures, {records} records, {all_columns} of {} columns with values: {percent:.3} % equal",
            columns.len(),
        );
        text
    }

    /// Each pair of capture and column with an unlisted difference, with examples, and each capture whose records as
    /// such differ.
    pub(crate) fn unexpected(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (capture, comparison) in &self.results {
            if let (Some(trouble), None) = (&comparison.trouble, comparison.trouble_listed) {
                found.push(format!("{}: {trouble}", capture.name));
            }
            for (column, result) in self.shared.columns().zip(&comparison.columns) {
                let count = result.values - result.equal - result.listed;
                if count == 0 {
                    continue;
                }
                let mut text = format!(
                    "{}: {}: {count} of {}",
                    capture.name, column.name, result.values
                );
                for example in &result.examples {
                    let _ = write!(
                        text,
                        "; frame {} ours {:?} tshark {:?}",
                        example.frame,
                        start(&example.ours),
                        start(&example.theirs)
                    );
                }
                found.push(text);
            }
        }
        found
    }

    /// The titles of listed differences that no value needed.
    pub(crate) fn not_needed(&self) -> Vec<&'static str> {
        let mut needed = vec![false; DIFFERENCES.len()];
        let mut records_needed = vec![false; RECORD_DIFFERENCES.len()];
        for (_, comparison) in &self.results {
            for index in &comparison.needed {
                needed[*index] = true;
            }
            if let Some(index) = comparison.trouble_listed {
                records_needed[index] = true;
            }
        }
        let fields = DIFFERENCES
            .iter()
            .zip(needed)
            .map(|(difference, needed)| (difference.title, needed));
        let records = RECORD_DIFFERENCES.iter().zip(records_needed);
        let records = records.map(|(difference, needed)| (difference.title, needed));
        fields
            .chain(records)
            .filter(|(_, needed)| !needed)
            .map(|(title, _)| title)
            .collect()
    }

    /// Columns that have no value in any capture.
    pub(crate) fn empty(&self) -> Vec<&str> {
        let is_empty = |index: usize| {
            self.results
                .iter()
                .all(|(_, comparison)| comparison.filled.get(index) == Some(&0))
        };
        let columns = self.shared.all_columns().enumerate();
        let empty = columns.filter(|(index, _)| is_empty(*index));
        empty.map(|(_, column)| &*column.name).collect()
    }

    /// The columns of which no value in any capture was the same as tshark's, though it has such a field.
    pub(crate) fn unchecked(&self) -> Vec<&str> {
        let columns = self.shared.columns().enumerate();
        let unchecked = columns.filter(|(index, _)| self.sum(|at| at == *index).equal == 0);
        unchecked.map(|(_, column)| &*column.name).collect()
    }

    /// Columns for which tshark has no field of the same name.
    pub(crate) fn own(&self) -> Vec<&str> {
        let shared: HashSet<&str> = self.shared.columns().map(|column| &*column.name).collect();
        let all = self.shared.all_columns().map(|column| &*column.name);
        all.filter(|name| !shared.contains(name)).collect()
    }

    fn sum(&self, wanted: impl Fn(usize) -> bool) -> Sum {
        let mut sum = Sum::default();
        for (_, comparison) in &self.results {
            for (index, result) in comparison.columns.iter().enumerate() {
                if wanted(index) {
                    sum.values += result.values;
                    sum.equal += result.equal;
                    sum.listed += result.listed;
                }
            }
        }
        sum
    }
}

impl Sum {
    fn unexpected(self) -> usize {
        self.values - self.equal - self.listed
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "counts of values are far below 2^52"
)]
fn percent(sum: Sum) -> f64 {
    match sum.values - sum.listed {
        0 => 100.0,
        judged => sum.equal as f64 * 100.0 / judged as f64,
    }
}

/// The start of a value that may be a whole payload.
fn start(value: &str) -> String {
    value.chars().take(48).collect()
}
