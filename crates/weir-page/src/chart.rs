//! The choice of a chart for the columns of an answer, and the division of amounts into bins.
//!
//! The page of `weir serve` has the same rule in its own language (`chart.js`), and a test of the Python package holds
//! the two together.

/// The kind of a column's values, as far as charts depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Numbers and lengths of time.
    Numbers,
    /// Instants and dates.
    Times,
    /// The values are categories: texts, bytes, true and false.
    Names,
    /// Lists and structs, which no chart shows.
    Nested,
}

/// A column of an answer.
#[derive(Clone, Copy, Debug)]
pub struct ChartColumn<'c> {
    /// The name, by which numbers are recognised as amounts.
    pub name: &'c str,
    /// The kind of its values.
    pub values: Values,
}

impl ChartColumn<'_> {
    /// True of numbers that count or measure; a port or an id is a name, though it is a number.
    #[must_use]
    pub fn is_amount(&self) -> bool {
        let last = self.name.rsplit('.').next().unwrap_or(self.name);
        self.values == Values::Numbers && !NAMES.iter().any(|name| last.eq_ignore_ascii_case(name))
    }
}

/// The kinds of charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Amounts over a time or another amount.
    Line,
    /// An amount of each name.
    Bars,
    /// The counts of amounts by size.
    Histogram,
    /// When and where there is how much.
    Heat,
}

/// The columns of a chart, by their numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Lines from left to right.
    Line {
        /// The time or amount along the bottom.
        x: usize,
        /// The amounts: one, where `by` splits it.
        ys: Vec<usize>,
        /// The column whose values have a line each.
        by: Option<usize>,
    },
    /// Bars with names.
    Bars {
        /// The columns that make a bar's name.
        names: Vec<usize>,
        /// The amount.
        y: usize,
    },
    /// The counts of values by size.
    Histogram {
        /// The amount.
        x: usize,
    },
    /// Cells over time.
    Heat {
        /// The time.
        x: usize,
        /// The column of the categories from bottom to top.
        by: usize,
        /// The amount that a cell adds up; the number of rows without one.
        value: Option<usize>,
    },
}

impl Choice {
    /// The kind of the chart.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Line { .. } => Kind::Line,
            Self::Bars { .. } => Kind::Bars,
            Self::Histogram { .. } => Kind::Histogram,
            Self::Heat { .. } => Kind::Heat,
        }
    }

    /// The amounts that are drawn, the first of which stays when another kind is chosen.
    fn ys(&self) -> &[usize] {
        match self {
            Self::Line { ys, .. } => ys,
            Self::Bars { y, .. } => std::slice::from_ref(y),
            Self::Histogram { .. } => &[],
            Self::Heat { value, .. } => value.as_slice(),
        }
    }
}

/// The chart for the columns of an answer of so many rows; `None` when none fits. `distinct` counts the distinct values of a
/// column, and is called for at most two.
pub fn choose(
    columns: &[ChartColumn<'_>],
    rows: usize,
    distinct: impl Fn(usize) -> usize,
) -> Option<Choice> {
    if rows == 0 {
        return None;
    }
    let having = |wanted: Values| {
        let places = columns.iter().enumerate();
        places.filter_map(move |(at, column)| (column.values == wanted).then_some(at))
    };
    let is_amount = |at: &usize| columns.get(*at).is_some_and(ChartColumn::is_amount);
    let amounts: Vec<usize> = having(Values::Numbers).filter(is_amount).collect();
    let numbers_as_names = having(Values::Numbers).filter(|at| !is_amount(at));
    let names: Vec<usize> = having(Values::Names).chain(numbers_as_names).collect();
    if let Some(x) = having(Values::Times).next() {
        let many = distinct(x).saturating_mul(2) < rows;
        return match (amounts.as_slice(), names.first().copied()) {
            // Two amounts at each time, many times over, are a map: where, and how many.
            (&[by, value], None) if many => Some(Choice::Heat {
                x,
                by,
                value: Some(value),
            }),
            (&[.., value], Some(by)) if many && distinct(by) > SERIES => Some(Choice::Heat {
                x,
                by,
                value: Some(value),
            }),
            (&[.., y], Some(by)) if many => Some(Choice::Line {
                x,
                ys: vec![y],
                by: Some(by),
            }),
            (&[_, ..], _) => Some(Choice::Line {
                x,
                ys: amounts.iter().copied().take(LINES).collect(),
                by: None,
            }),
            (&[], Some(by)) if rows > 1 => Some(Choice::Heat { x, by, value: None }),
            _ => None,
        };
    }
    match amounts.as_slice() {
        &[y, ..] if !names.is_empty() => Some(Choice::Bars { names, y }),
        &[x] if rows > 1 => Some(Choice::Histogram { x }),
        &[x, y, ..] if rows <= BARS => Some(Choice::Bars { names: vec![x], y }),
        [x, ys @ ..] if !ys.is_empty() => Some(Choice::Line {
            x: *x,
            ys: ys.iter().copied().take(LINES).collect(),
            by: None,
        }),
        _ => None,
    }
}

/// The chart of this kind, as far as the columns allow.
pub fn choose_kind(
    kind: Kind,
    columns: &[ChartColumn<'_>],
    rows: usize,
    distinct: impl Fn(usize) -> usize,
) -> Option<Choice> {
    let found = choose(columns, rows, distinct)?;
    if found.kind() == kind {
        return Some(found);
    }
    let all = 0..columns.len();
    let is = |at: usize, wanted| {
        columns
            .get(at)
            .is_some_and(|column| column.values == wanted)
    };
    let numbers: Vec<usize> = all.clone().filter(|&at| is(at, Values::Numbers)).collect();
    let time = all.clone().find(|&at| is(at, Values::Times));
    let amount = found.ys().first().or(numbers.last()).copied();
    match kind {
        Kind::Line => {
            let x = time.or(numbers.first().copied())?;
            let last = numbers.iter().copied().rfind(|&at| at != x);
            let ys: Vec<usize> = match found.ys() {
                [] => last.into_iter().collect(),
                drawn => drawn.iter().copied().filter(|&at| at != x).collect(),
            };
            let by = match found {
                Choice::Heat {
                    by, value: Some(_), ..
                } => Some(by),
                _ => None,
            };
            (!ys.is_empty()).then_some(Choice::Line { x, ys, by })
        }
        Kind::Bars => {
            let y = amount?;
            let is_name = |&at: &usize| Some(at) != time && at != y && !is(at, Values::Numbers);
            let mut names: Vec<usize> = all.filter(is_name).collect();
            if names.is_empty() {
                names.push(time.or(numbers.first().copied())?);
            }
            Some(Choice::Bars { names, y })
        }
        Kind::Histogram => amount
            .filter(|_| !numbers.is_empty())
            .map(|x| Choice::Histogram { x }),
        Kind::Heat => {
            let x = time?;
            let by = match found {
                Choice::Line { by: Some(by), .. } => by,
                _ => {
                    let others = all.filter(|&at| at != x);
                    let first = others.clone().find(|at| found.ys().first() != Some(at));
                    first.or(others.clone().next())?
                }
            };
            let value = numbers.iter().copied().rfind(|&at| at != by);
            Some(Choice::Heat { x, by, value })
        }
    }
}

/// The counts of values in bins of one width.
#[derive(Clone, Debug, PartialEq)]
pub struct Slots {
    /// The start of the first bin.
    pub first: f64,
    /// The width of a bin.
    pub width: f64,
    /// The count of each bin.
    pub counts: Vec<u64>,
}

/// Some twenty to fifty slots of a round width, by the spread of the values (Freedman and Diaconis 1981); `None` of no
/// values. Values that are not finite are skipped.
#[must_use]
pub fn slots(values: &[f64]) -> Option<Slots> {
    let mut ordered: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    ordered.sort_by(f64::total_cmp);
    let (&low, &high) = ordered.first().zip(ordered.last())?;
    let size = ordered.len() as f64;
    // Numbers so close that no width tells them apart are one slot, as equal ones.
    if low + (high - low) / 100.0 <= low || !(high - low).is_finite() {
        return Some(Slots {
            first: low,
            width: 1.0,
            counts: vec![ordered.len() as u64],
        });
    }
    let quartile = |share: f64| {
        ordered
            .get((size * share) as usize)
            .copied()
            .unwrap_or(high)
    };
    let spread = 2.0 * (quartile(0.75) - quartile(0.25)) / size.cbrt();
    let asked = match spread > 0.0 {
        true => ((high - low) / spread).clamp(12.0, 50.0),
        false => 24.0,
    };
    let power = 10_f64.powf(((high - low) / asked).log10().floor());
    let mut steps = [1.0, 2.0, 2.5, 5.0, 10.0]
        .into_iter()
        .map(|step| step * power);
    let width = steps
        .find(|step| (high - low) / step <= asked)
        .unwrap_or(10.0 * power);
    let first = (low / width).floor() * width;
    let mut counts = vec![0_u64; ((high - first) / width) as usize + 1];
    let last = counts.len() - 1;
    for value in ordered {
        let at = (((value - first) / width) as usize).min(last);
        if let Some(count) = counts.get_mut(at) {
            *count += 1;
        }
    }
    Some(Slots {
        first,
        width,
        counts,
    })
}

/// Names of things rather than amounts, though they are numbers.
const NAMES: &[&str] = &[
    "id", "number", "port", "src", "dst", "srcport", "dstport", "type", "code", "ssrc", "vlan",
    "dlci", "vci", "vpi", "channel", "status", "proto",
];
/// Lines that a chart has when a column splits them.
pub const SERIES: usize = 8;
/// Bars that a chart has.
pub const BARS: usize = 60;
/// Amounts that are drawn over one time.
const LINES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, values: Values) -> ChartColumn<'_> {
        ChartColumn { name, values }
    }

    #[test]
    fn a_chart_chooses_itself_by_the_columns() {
        use Values::{Names, Nested, Numbers, Times};
        let time = column("frame.time", Times);
        let src = column("ip.src", Names);
        let n = column("packets", Numbers);
        let bytes = column("bytes", Numbers);
        let port = column("tcp.dstport", Numbers);
        let of = |columns: &[ChartColumn<'_>], rows, distinct: &[usize]| {
            choose(columns, rows, |at| distinct[at])
        };
        let line = |x, ys: &[usize], by| {
            Some(Choice::Line {
                x,
                ys: ys.to_vec(),
                by,
            })
        };
        assert_eq!(
            of(&[time, n, bytes], 10, &[10, 9, 9]),
            line(0, &[1, 2], None)
        );
        assert_eq!(
            of(&[src, time, n], 100, &[3, 10, 50]),
            line(1, &[2], Some(0))
        );
        let heat = |x, by, value| Some(Choice::Heat { x, by, value });
        assert_eq!(of(&[src, time, n], 100, &[9, 10, 50]), heat(1, 0, Some(2)));
        assert_eq!(of(&[time, n, bytes], 100, &[10, 9, 9]), heat(0, 1, Some(2)));
        assert_eq!(of(&[time, src], 100, &[100, 9]), heat(0, 1, None));
        let bars = |names: &[usize], y| {
            let names = names.to_vec();
            Some(Choice::Bars { names, y })
        };
        assert_eq!(of(&[port, n], 100, &[]), bars(&[0], 1));
        assert_eq!(of(&[bytes, n], 60, &[]), bars(&[0], 1));
        assert_eq!(of(&[bytes, n], 61, &[]), line(0, &[1], None));
        assert_eq!(of(&[n], 2, &[]), Some(Choice::Histogram { x: 0 }));
        assert_eq!(of(&[n], 0, &[]), None);
        assert_eq!(of(&[column("l", Nested), src], 5, &[]), None);
        // The same columns, and another kind.
        let wanted = |kind, columns: &[ChartColumn<'_>]| choose_kind(kind, columns, 100, |_| 3);
        assert_eq!(wanted(Kind::Heat, &[time, src, n]), heat(0, 1, Some(2)));
        assert_eq!(
            wanted(Kind::Histogram, &[time, src, n]),
            Some(Choice::Histogram { x: 2 })
        );
        assert_eq!(wanted(Kind::Bars, &[time, src, n]), bars(&[1], 2));
        assert_eq!(wanted(Kind::Line, &[port, n]), line(0, &[1], None));
        assert_eq!(wanted(Kind::Heat, &[port, n]), None);
    }

    #[test]
    fn every_finite_value_is_in_one_slot() {
        assert_eq!(slots(&[]), None);
        assert_eq!(slots(&[f64::NAN]), None);
        for values in [
            vec![5.0],
            vec![5.0; 9],
            (0..1000).map(f64::from).collect(),
            vec![-1e300, 1e300],
            vec![-f64::MAX, f64::MAX, f64::INFINITY],
            vec![1.0, 1.0 + f64::EPSILON],
            vec![0.0, f64::MIN_POSITIVE],
            vec![1e9, 1e9 + 1e-6, 1e9 + 2e-6],
        ] {
            let found = slots(&values).unwrap();
            let finite = values.iter().filter(|v| v.is_finite()).count() as u64;
            assert_eq!(found.counts.iter().sum::<u64>(), finite, "{values:?}");
            assert!(found.counts.len() < 110, "{values:?}");
        }
        let even = slots(&(0..1000).map(f64::from).collect::<Vec<_>>()).unwrap();
        assert_eq!((even.first, even.width), (0.0, 100.0));
    }
}
