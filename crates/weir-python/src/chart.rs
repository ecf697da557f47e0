//! The choice of a chart for the columns of an answer.

use pyo3::prelude::*;
use weir_page::chart::{ChartColumn, Choice, Kind, Values, choose, choose_kind, slots};

/// Kind, what lies along the bottom, amounts, and what splits them: by the numbers of columns.
type Chosen = (&'static str, Vec<usize>, Vec<usize>, Option<usize>);

/// The chart for columns (name, and number, time, nested or name) with `rows` rows and these numbers of distinct values; `kind`
/// restricts the choice.
#[pyfunction]
pub(crate) fn chart_choose(
    columns: Vec<(String, String)>,
    rows: usize,
    distinct: Vec<usize>,
    kind: Option<&str>,
) -> Option<Chosen> {
    let columns: Vec<ChartColumn<'_>> = columns
        .iter()
        .map(|(name, values)| ChartColumn {
            name,
            values: match values.as_str() {
                "number" => Values::Numbers,
                "time" => Values::Times,
                "nested" => Values::Nested,
                _ => Values::Names,
            },
        })
        .collect();
    let kind = match kind {
        Some("line") => Some(Kind::Line),
        Some("bars") => Some(Kind::Bars),
        Some("histogram") => Some(Kind::Histogram),
        Some("heat") => Some(Kind::Heat),
        _ => None,
    };
    let distinct = |at: usize| distinct.get(at).copied().unwrap_or(0);
    let choice = match kind {
        Some(kind) => choose_kind(kind, &columns, rows, distinct),
        None => choose(&columns, rows, distinct),
    };
    Some(match choice? {
        Choice::Line { x, ys, by } => ("line", vec![x], ys, by),
        Choice::Bars { names, y } => ("bars", names, vec![y], None),
        Choice::Histogram { x } => ("histogram", vec![x], vec![], None),
        Choice::Heat { x, by, value } => ("heat", vec![x], value.into_iter().collect(), Some(by)),
    })
}

/// True of a number that counts or measures, by its name.
#[pyfunction]
pub(crate) fn chart_is_amount(name: &str) -> bool {
    let values = Values::Numbers;
    ChartColumn { name, values }.is_amount()
}

/// The histogram of values in bins of equal width: the start of the first bin, the width, and the counts.
#[pyfunction]
pub(crate) fn chart_slots(values: Vec<f64>) -> Option<(f64, f64, Vec<u64>)> {
    slots(&values).map(|slots| (slots.first, slots.width, slots.counts))
}
