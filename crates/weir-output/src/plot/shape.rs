//! Rows in the shape of a chart.

use std::collections::{BTreeMap, HashMap, HashSet};

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, DurationNanosecondType, Float64Type, Time64NanosecondType, TimeUnit,
    TimestampMicrosecondType,
};
use weir_page::chart::{
    BARS, ChartColumn, Choice, Kind, SERIES, Slots, Values, choose, choose_kind, slots,
};

use super::super::column;
use super::super::time::Zone;
use super::super::{Error, grouped, text};
use super::axis::{Axis, short};

/// A chart, ready to be drawn.
pub(super) struct Drawn {
    /// The shape.
    pub(super) shape: Shape,
    /// The notes of what was left out.
    pub(super) notes: Vec<String>,
}

/// The kinds of charts, with what they show.
pub(super) enum Shape {
    Lines(Lines),
    Bars(Bars),
    Histogram(Histogram),
    Heat(Heat),
}

/// Amounts over a time or another amount.
pub(super) struct Lines {
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// Points from left to right, with a name.
    pub(super) series: Vec<(String, Vec<(f64, f64)>)>,
}

/// An amount of each name.
pub(super) struct Bars {
    /// The columns that name a bar.
    pub(super) names: String,
    pub(super) amount: String,
    pub(super) bars: Vec<(String, f64)>,
}

/// The counts of amounts by size.
pub(super) struct Histogram {
    pub(super) amount: String,
    pub(super) slots: Slots,
}

/// The amounts by category and time.
pub(super) struct Heat {
    pub(super) x: Axis,
    /// The column from bottom to top.
    pub(super) level: String,
    pub(super) amount: String,
    /// The labels of the rows of cells, from the top.
    pub(super) levels: Vec<String>,
    /// The cells of each row, from left to right, as many in each.
    pub(super) cells: Vec<Vec<f64>>,
}

impl Drawn {
    /// The title of the chart, in a line.
    pub(super) fn title(&self) -> String {
        match &self.shape {
            Shape::Lines(Lines { x, y, .. }) => format!("{} over {}", y.title, x.title),
            Shape::Bars(Bars { names, amount, .. }) => format!("{amount} of {names}"),
            Shape::Histogram(Histogram { amount, .. }) => format!("rows by {amount}"),
            Shape::Heat(heat) => format!("{} of {} over {}", heat.amount, heat.level, heat.x.title),
        }
    }
}

/// Converts rows to the shape of a chart: of this kind, or of the one that fits the columns.
pub(super) fn shape(rows: &RecordBatch, kind: Option<Kind>) -> Result<Drawn, Error> {
    let data = Data { rows };
    let schema = rows.schema();
    let fields = schema.fields().iter();
    let columns: Vec<ChartColumn<'_>> = fields
        .map(|field| ChartColumn {
            name: field.name(),
            values: values_of(field.data_type()),
        })
        .collect();
    let count = rows.num_rows();
    if count == 0 {
        return Err(Error::unplotted("there are no rows to draw"));
    }
    let distinct = |at| data.names(at).into_iter().collect::<HashSet<_>>().len();
    let choice = match kind {
        None => choose(&columns, count, distinct),
        Some(kind) => choose_kind(kind, &columns, count, distinct),
    };
    let Some(choice) = choice else {
        return Err(Error::unplotted(NO_CHART));
    };
    let mut notes = Vec::new();
    let shape = match choice {
        Choice::Line { x, ys, by: None } => Shape::Lines(data.lines(x, &ys)),
        Choice::Line {
            x,
            ys,
            by: Some(by),
        } => {
            let y = ys.first().copied().unwrap_or_default();
            Shape::Lines(data.split_lines(x, y, by, &mut notes))
        }
        Choice::Bars { names, y } => Shape::Bars(data.bars(&names, y, &mut notes)),
        Choice::Histogram { x } => {
            let values: Vec<f64> = data.amounts(x).into_iter().flatten().collect();
            let Some(slots) = slots(&values) else {
                return Err(Error::unplotted("the column has no numbers to draw"));
            };
            let without = count.saturating_sub(values.len());
            if without > 0 {
                let without = grouped(u64::try_from(without).unwrap_or(u64::MAX));
                notes.push(format!("{without} rows without a value are left out"));
            }
            Shape::Histogram(Histogram {
                amount: data.title(x),
                slots,
            })
        }
        Choice::Heat { x, by, value } => {
            let is_amount = columns.get(by).is_some_and(ChartColumn::is_amount);
            Shape::Heat(data.heat(x, (by, is_amount), value, &mut notes)?)
        }
    };
    Ok(Drawn { shape, notes })
}

/// The rows of an answer, by column.
struct Data<'r> {
    rows: &'r RecordBatch,
}

impl Data<'_> {
    fn array(&self, at: usize) -> &ArrayRef {
        self.rows.column(at)
    }

    fn name(&self, at: usize) -> String {
        text::escaped(self.rows.schema_ref().field(at).name()).into_owned()
    }

    /// The name of a column, with the unit of lengths of time.
    fn title(&self, at: usize) -> String {
        match self.array(at).data_type() {
            DataType::Duration(_) | DataType::Time32(_) | DataType::Time64(_) => {
                format!("{} (s)", self.name(at))
            }
            _ => self.name(at),
        }
    }

    /// The numbers of a column, lengths of time in seconds; `None` of NULL and of what is not finite.
    fn amounts(&self, at: usize) -> Vec<Option<f64>> {
        let array = self.array(at);
        let seconds = |nanoseconds: Option<i64>| nanoseconds.map(|value| value as f64 / 1e9);
        let found = match array.data_type() {
            DataType::Duration(_) => {
                as_type(array, &DataType::Duration(TimeUnit::Nanosecond)).map(|array| {
                    let array = array.as_primitive::<DurationNanosecondType>();
                    array.iter().map(seconds).collect::<Vec<_>>()
                })
            }
            DataType::Time32(_) | DataType::Time64(_) => {
                as_type(array, &DataType::Time64(TimeUnit::Nanosecond)).map(|array| {
                    let array = array.as_primitive::<Time64NanosecondType>();
                    array.iter().map(seconds).collect()
                })
            }
            _ => as_type(array, &DataType::Float64)
                .map(|array| array.as_primitive::<Float64Type>().iter().collect()),
        };
        let found = found.unwrap_or_else(|| vec![None; array.len()]);
        let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
        found.into_iter().map(finite).collect()
    }

    /// The instants of a column in milliseconds since 1970, and the time zone in which they are written.
    fn times(&self, at: usize) -> (Vec<Option<f64>>, Zone) {
        let array = self.array(at);
        let named = match array.data_type() {
            DataType::Timestamp(_, zone) => zone.clone(),
            _ => None,
        };
        let zone = Zone::of(named.as_deref());
        let wanted = DataType::Timestamp(TimeUnit::Microsecond, named);
        let found = as_type(array, &wanted).map(|array| {
            let array = array.as_primitive::<TimestampMicrosecondType>();
            let milliseconds = |value: Option<i64>| value.map(|value| value as f64 / 1e3);
            array.iter().map(milliseconds).collect()
        });
        (found.unwrap_or_else(|| vec![None; array.len()]), zone)
    }

    /// The values of a column as names.
    fn names(&self, at: usize) -> Vec<String> {
        let array = self.array(at);
        let Ok(column) = column::Column::new(array) else {
            return vec![String::new(); array.len()];
        };
        let name = |row| {
            let mut written = String::new();
            column.push_text(row, &mut written);
            match written.is_empty() {
                true => "NULL".to_owned(),
                false => text::escaped(&written).into_owned(),
            }
        };
        (0..array.len()).map(name).collect()
    }

    /// The values along the bottom: times or amounts.
    fn along(&self, at: usize) -> (Vec<Option<f64>>, Axis) {
        if values_of(self.array(at).data_type()) == Values::Times {
            let (times, zone) = self.times(at);
            let axis = Axis::of_times(&self.name(at), zone, times.iter().copied().flatten());
            return (times, axis);
        }
        let amounts = self.amounts(at);
        let axis = Axis::of_amounts(self.title(at), amounts.iter().copied().flatten(), false);
        (amounts, axis)
    }

    fn lines(&self, x: usize, ys: &[usize]) -> Lines {
        let (along, axis) = self.along(x);
        let of = |&at: &usize| {
            let places = along.iter().zip(self.amounts(at));
            let mut points: Vec<_> = places.filter_map(|(x, y)| (*x).zip(y)).collect();
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            (self.title(at), points)
        };
        let series: Vec<_> = ys.iter().map(of).collect();
        let names: Vec<_> = series.iter().map(|(name, _)| name.as_str()).collect();
        Lines {
            x: axis,
            y: upright(names.join(", "), &series),
            series,
        }
    }

    /// A line for each value of a column; what has the same place and name is added up.
    fn split_lines(&self, x: usize, y: usize, by: usize, notes: &mut Vec<String>) -> Lines {
        let (along, axis) = self.along(x);
        let mut sums: HashMap<String, f64> = HashMap::new();
        let mut lines: HashMap<String, BTreeMap<Ordered, f64>> = HashMap::new();
        for ((place, name), value) in along.iter().zip(self.names(by)).zip(self.amounts(y)) {
            let value = value.unwrap_or_default();
            *sums.entry(name.clone()).or_default() += value;
            if let Some(place) = place {
                let line = lines.entry(name).or_default();
                *line.entry(Ordered(*place)).or_default() += value;
            }
        }
        let names = largest(sums, SERIES, "lines", notes);
        let series: Vec<(String, Vec<(f64, f64)>)> = names
            .into_iter()
            .map(|name| {
                let line = lines.remove(&name).unwrap_or_default();
                let points = line.into_iter().map(|(place, value)| (place.0, value));
                (name, points.collect())
            })
            .collect();
        Lines {
            x: axis,
            y: upright(self.title(y), &series),
            series,
        }
    }

    fn bars(&self, names: &[usize], y: usize, notes: &mut Vec<String>) -> Bars {
        let parts: Vec<Vec<String>> = names.iter().map(|&at| self.names(at)).collect();
        let amounts = self.amounts(y);
        let label = |row: usize| {
            let parts = parts.iter().filter_map(|names| names.get(row));
            parts.map(String::as_str).collect::<Vec<_>>().join("  ")
        };
        let first = amounts.iter().take(BARS).enumerate();
        let bars = first.map(|(row, amount)| (label(row), amount.unwrap_or_default()));
        if amounts.len() > BARS {
            let rows = grouped(u64::try_from(amounts.len()).unwrap_or(u64::MAX));
            notes.push(format!("the first {BARS} of {rows} rows are drawn"));
        }
        let named: Vec<_> = names.iter().map(|&at| self.name(at)).collect();
        Bars {
            names: named.join(", "),
            amount: self.title(y),
            bars: bars.collect(),
        }
    }

    fn heat(
        &self,
        x: usize,
        (by, is_amount): (usize, bool),
        value: Option<usize>,
        notes: &mut Vec<String>,
    ) -> Result<Heat, Error> {
        let (times, axis) = self.along(x);
        let mut ordered: Vec<f64> = times.iter().copied().flatten().collect();
        ordered.sort_by(f64::total_cmp);
        ordered.dedup();
        let Some((&begin, &end)) = ordered.first().zip(ordered.last()) else {
            return Err(Error::unplotted("the time column has no values"));
        };
        let gaps = ordered.windows(2).map(|pair| match pair {
            [earlier, later] => later - earlier,
            _ => f64::INFINITY,
        });
        let gap = gaps.fold(f64::INFINITY, f64::min);
        let steps = (((end - begin) / gap).round() as usize)
            .saturating_add(1)
            .clamp(1, STEPS_MAX);
        let sizes = match value {
            Some(at) => self.amounts(at),
            None => vec![Some(1.0); times.len()],
        };
        let level_of: Vec<Option<usize>>;
        let levels: Vec<String>;
        if is_amount {
            let amounts = self.amounts(by);
            let along = Axis::of_amounts(String::new(), amounts.iter().copied().flatten(), false);
            let different: HashSet<_> = amounts.iter().flatten().map(|v| v.to_bits()).collect();
            let rungs = different.len().clamp(1, RUNGS_MAX);
            // The largest stands on top.
            let rung = |value: f64| {
                let from_below = (along.share(value) * rungs as f64) as usize;
                rungs - 1 - from_below.min(rungs - 1)
            };
            level_of = amounts.iter().map(|value| value.map(rung)).collect();
            let width = along.high / rungs as f64 - along.low / rungs as f64;
            let foot = |at: usize| short(along.low + width * (rungs - 1 - at) as f64);
            levels = (0..rungs).map(foot).collect();
        } else {
            let names = self.names(by);
            let mut sums: HashMap<String, f64> = HashMap::new();
            for (name, size) in names.iter().zip(&sizes) {
                *sums.entry(name.clone()).or_default() += size.unwrap_or_default();
            }
            levels = largest(sums, LEVELS_MAX, "values", notes);
            let place: HashMap<&str, usize> = levels.iter().map(String::as_str).zip(0..).collect();
            level_of = names
                .iter()
                .map(|name| place.get(name.as_str()).copied())
                .collect();
        }
        let mut cells = vec![vec![0.0; steps]; levels.len()];
        for ((time, level), size) in times.iter().zip(&level_of).zip(&sizes) {
            if let (Some(time), Some(level), Some(size)) = (time, level, size) {
                let step = ((time - begin) / (end - begin).max(1e-9) * (steps - 1) as f64).round();
                let row = cells.get_mut(*level);
                if let Some(cell) = row.and_then(|row| row.get_mut((step as usize).min(steps - 1)))
                {
                    *cell += size;
                }
            }
        }
        Ok(Heat {
            x: axis,
            level: self.title(by),
            amount: value.map_or_else(|| "rows".to_owned(), |at| self.title(at)),
            levels,
            cells,
        })
    }
}

/// The axis of amounts of some lines.
fn upright(title: String, series: &[(String, Vec<(f64, f64)>)]) -> Axis {
    let points = series.iter().flat_map(|(_, points)| points);
    Axis::of_amounts(title, points.map(|&(_, y)| y), true).rounded(5)
}

/// The names with the largest sums, the largest first; a note says when there are more.
fn largest(
    sums: HashMap<String, f64>,
    max: usize,
    what: &str,
    notes: &mut Vec<String>,
) -> Vec<String> {
    let all = sums.len();
    let mut names: Vec<(String, f64)> = sums.into_iter().collect();
    names.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    names.truncate(max);
    if all > max {
        notes.push(format!("the {max} largest of {all} {what} are drawn"));
    }
    names.into_iter().map(|(name, _)| name).collect()
}

/// An array of another type; values that this type does not have are NULL.
fn as_type(array: &ArrayRef, wanted: &DataType) -> Option<ArrayRef> {
    cast(array, wanted).ok()
}

/// The kind of values of a type.
fn values_of(found: &DataType) -> Values {
    match found {
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => Values::Times,
        DataType::Duration(_) | DataType::Time32(_) | DataType::Time64(_) => Values::Numbers,
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
        | DataType::Struct(_)
        | DataType::Map(..) => Values::Nested,
        DataType::Dictionary(_, values) => values_of(values),
        other if other.is_numeric() => Values::Numbers,
        _ => Values::Names,
    }
}

/// A finite number that has an order.
#[derive(Clone, Copy, PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

const NO_CHART: &str = "these columns do not fit this chart: a line needs a time or two numbers, bars a name and a \
    number, a histogram a number, a heat map a time";
/// Cells of a heat map from left to right.
const STEPS_MAX: usize = 160;
/// Rows of a heat map that names have.
const LEVELS_MAX: usize = 24;
/// Rows of a heat map that amounts have.
const RUNGS_MAX: usize = 24;
