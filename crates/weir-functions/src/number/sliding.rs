//! Aggregates of real numbers over a frame that slides, such as `avg(x) OVER (ORDER BY n ROWS 2 PRECEDING)`.
//!
//! DataFusion's own take what leaves a frame off the sum of what has come. Behind a large number, the sum of small ones is what
//! rounding has left (3 + 4 is 0 once 1e18 has gone), a variance is below zero and its root not a number, and behind an infinity all
//! is NaN. Here nothing is taken off: a frame is two stacks. Rows leave from the front one, which has what each of its rows comes to
//! with those behind it, and come to the back one, which becomes the front one when that is empty. So a row is added twice.

use std::mem::{size_of, size_of_val};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{ScalarValue, not_impl_err};
use datafusion::error::Result;
use datafusion::functions_aggregate::all_default_aggregate_functions;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, GroupsAccumulator, ReversedUDAF,
};

use super::of_inner;

/// The functions that differ from DataFusion's over a frame that slides, without `sum`, which differs elsewhere, too.
pub(crate) fn sliding() -> Vec<AggregateUDF> {
    let all = all_default_aggregate_functions().into_iter();
    let named = all.filter_map(|inner| {
        let statistic = Statistic::named(inner.name())?;
        Some(AggregateUDF::from(Sliding { inner, statistic }))
    });
    named.collect()
}

/// The accumulator of a sum over a frame that slides, if it is one of real numbers.
pub(super) fn of_sum(args: &AccumulatorArgs<'_>) -> Option<Box<dyn Accumulator>> {
    accumulator(Statistic::Sum, args)
}

fn accumulator(statistic: Statistic, args: &AccumulatorArgs<'_>) -> Option<Box<dyn Accumulator>> {
    let mut fields = args.expr_fields.iter();
    let is_of_reals = !args.is_distinct
        && !args.expr_fields.is_empty()
        && fields.all(|field| *field.data_type() == DataType::Float64);
    is_of_reals.then(|| {
        Box::new(SlidingAccumulator {
            statistic,
            frame: SlidingFrame::default(),
        }) as Box<dyn Accumulator>
    })
}

/// A function of DataFusion with an accumulator of its own for frames that slide.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Sliding {
    inner: Arc<AggregateUDF>,
    statistic: Statistic,
}

impl AggregateUDFImpl for Sliding {
    of_inner!();

    fn is_nullable(&self) -> bool {
        self.inner.inner().is_nullable()
    }

    fn default_value(&self, kind: &DataType) -> Result<ScalarValue> {
        self.inner.inner().default_value(kind)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.inner.accumulator(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        self.inner.create_groups_accumulator(args)
    }

    fn create_sliding_accumulator(
        &self,
        args: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn Accumulator>> {
        match accumulator(self.statistic, &args) {
            Some(own) => Ok(own),
            None => self.inner.create_sliding_accumulator(args),
        }
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner.inner().order_sensitivity()
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.inner.inner().reverse_expr()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}

/// A function, by what it says of the rows of a frame. Those of two values have y first, and then x.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Statistic {
    Sum,
    Mean,
    /// With the number by which the divisor is less than that of the rows.
    Variance(u8),
    Deviation(u8),
    Covariance(u8),
    Correlation,
    Slope,
    Intercept,
    Determination,
    MeanOfX,
    MeanOfY,
    SquaresOfX,
    SquaresOfY,
    Products,
}

impl Statistic {
    /// The function of this name in DataFusion. `regr_count` counts, which is exact.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "avg" => Self::Mean,
            "var" | "var_samp" => Self::Variance(1),
            "var_pop" => Self::Variance(0),
            "stddev" | "stddev_samp" => Self::Deviation(1),
            "stddev_pop" => Self::Deviation(0),
            "covar_samp" => Self::Covariance(1),
            "covar_pop" => Self::Covariance(0),
            "corr" => Self::Correlation,
            "regr_slope" => Self::Slope,
            "regr_intercept" => Self::Intercept,
            "regr_r2" => Self::Determination,
            "regr_avgx" => Self::MeanOfX,
            "regr_avgy" => Self::MeanOfY,
            "regr_sxx" => Self::SquaresOfX,
            "regr_syy" => Self::SquaresOfY,
            "regr_sxy" => Self::Products,
            _ => return None,
        })
    }

    /// The value over these rows; `None` for NULL.
    fn value(self, of: &Moments) -> Option<f64> {
        let [of_y, of_x] = of.squares;
        let [mean_of_y, mean_of_x] = of.means;
        let over = |sum: f64, less: u8| {
            let divisor = of.count.checked_sub(less.into()).filter(|it| *it > 0)?;
            Some(sum / divisor as f64)
        };
        // A line needs two values of x, and a correlation two of y, too.
        let is_line = of.count > 1 && of_x != 0.0;
        let slope = is_line.then(|| of.products / of_x);
        match self {
            Self::Sum => (of.count > 0).then_some(of.sum),
            Self::Mean => over(of.sum, 0),
            Self::Variance(less) => over(of_y, less),
            Self::Deviation(less) => over(of_y, less).map(f64::sqrt),
            Self::Covariance(less) => over(of.products, less),
            Self::Correlation if is_line && of_y != 0.0 => {
                Some(of.products / of_x.sqrt() / of_y.sqrt())
            }
            Self::Determination if is_line && of_y != 0.0 => {
                Some((of.products / of_x) * (of.products / of_y))
            }
            Self::Correlation | Self::Determination => None,
            Self::Slope => slope,
            Self::Intercept => slope.map(|slope| mean_of_y - slope * mean_of_x),
            Self::MeanOfX => (of.count > 0).then_some(mean_of_x),
            Self::MeanOfY => (of.count > 0).then_some(mean_of_y),
            Self::SquaresOfX => (of.count > 0).then_some(of_x),
            Self::SquaresOfY => (of.count > 0).then_some(of_y),
            Self::Products => (of.count > 0).then_some(of.products),
        }
    }
}

/// What rows come to: their number, the sum of their first values, the means of both, and the sums of the squares and of the
/// products of how far they are from these.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Moments {
    count: u64,
    sum: f64,
    means: [f64; 2],
    squares: [f64; 2],
    products: f64,
}

impl Moments {
    const fn of(row: [f64; 2]) -> Self {
        let [first, _] = row;
        Self {
            count: 1,
            sum: first,
            means: row,
            squares: [0.0; 2],
            products: 0.0,
        }
    }

    /// These rows with those behind them (Chan, Golub and LeVeque, 1979).
    fn with(self, behind: Self) -> Self {
        if self.count == 0 || behind.count == 0 {
            return if self.count == 0 { behind } else { self };
        }
        let count = self.count.saturating_add(behind.count);
        let part = behind.count as f64 / count as f64;
        let weight = self.count as f64 * part;
        let ([mean_y, mean_x], [of_y, of_x]) = (self.means, self.squares);
        let ([behind_y, behind_x], [more_y, more_x]) = (behind.means, behind.squares);
        let (y, x) = (behind_y - mean_y, behind_x - mean_x);
        Self {
            count,
            sum: self.sum + behind.sum,
            means: [mean_y + y * part, mean_x + x * part],
            squares: [
                of_y + more_y + y * y * weight,
                of_x + more_x + x * x * weight,
            ],
            products: self.products + behind.products + y * x * weight,
        }
    }
}

/// The rows of a frame.
#[derive(Debug, Default)]
struct SlidingFrame {
    /// The first rows from the last to the first, each with those behind it as far as they are here.
    front: Vec<Moments>,
    /// The rows behind them.
    back: Vec<[f64; 2]>,
    /// What the rows of `back` come to.
    of_back: Moments,
}

impl SlidingFrame {
    fn push(&mut self, row: [f64; 2]) {
        self.back.push(row);
        self.of_back = self.of_back.with(Moments::of(row));
    }

    /// Removes the first row.
    fn pop(&mut self) {
        if self.front.is_empty() {
            let mut all = Moments::default();
            for row in self.back.drain(..).rev() {
                all = Moments::of(row).with(all);
                self.front.push(all);
            }
            self.of_back = Moments::default();
        }
        self.front.pop();
    }

    fn all(&self) -> Moments {
        let front = self.front.last().copied().unwrap_or_default();
        front.with(self.of_back)
    }
}

#[derive(Debug)]
struct SlidingAccumulator {
    statistic: Statistic,
    frame: SlidingFrame,
}

/// The rows that have all values.
fn rows(values: &[ArrayRef]) -> Vec<[f64; 2]> {
    match values {
        [only] => {
            let only = only.as_primitive::<Float64Type>().iter().flatten();
            only.map(|only| [only, 0.0]).collect()
        }
        [y, x] => {
            let (y, x) = (
                y.as_primitive::<Float64Type>(),
                x.as_primitive::<Float64Type>(),
            );
            let both = y.iter().zip(x.iter());
            both.filter_map(|(y, x)| Some([y?, x?])).collect()
        }
        _ => Vec::new(),
    }
}

impl Accumulator for SlidingAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for row in rows(values) {
            self.frame.push(row);
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for _ in rows(values) {
            self.frame.pop();
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let value = self.statistic.value(&self.frame.all());
        Ok(ScalarValue::Float64(value))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, _states: &[ArrayRef]) -> Result<()> {
        not_impl_err!("the state of a sliding window frame cannot be merged")
    }

    fn size(&self) -> usize {
        size_of_val(self)
            + self.frame.front.capacity() * size_of::<Moments>()
            + self.frame.back.capacity() * size_of::<[f64; 2]>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[[f64; 2]]) -> Moments {
        rows.iter()
            .fold(Moments::default(), |all, row| all.with(Moments::of(*row)))
    }

    /// A large number, an infinity and NaN leave nothing behind when they have left the frame.
    #[test]
    fn a_frame_is_what_is_in_it() {
        let all = [
            1e18,
            4.0,
            f64::INFINITY,
            3.0,
            3.0,
            f64::NAN,
            0.1,
            -5.0,
            1e-9,
            7.0,
        ];
        let all: Vec<[f64; 2]> = (0_u8..).zip(all).map(|(at, y)| [y, at.into()]).collect();
        for length in 1..=4 {
            let mut frame = SlidingFrame::default();
            for (at, row) in all.iter().enumerate() {
                frame.push(*row);
                if at >= length {
                    frame.pop();
                }
                let there = &all[(at + 1).saturating_sub(length)..=at];
                let (found, wanted) = (frame.all(), of(there));
                assert_eq!(found.count, wanted.count);
                for statistic in [Statistic::Sum, Statistic::Variance(0), Statistic::Slope] {
                    let (found, wanted) = (statistic.value(&found), statistic.value(&wanted));
                    let are_equal = match (found, wanted) {
                        (Some(found), Some(wanted)) if wanted.is_finite() => {
                            (found - wanted).abs() <= wanted.abs() * 1e-9
                        }
                        (Some(found), Some(wanted)) => !found.is_finite() && !wanted.is_finite(),
                        (found, wanted) => found == wanted,
                    };
                    assert!(are_equal, "{statistic:?} {there:?}: {found:?} {wanted:?}");
                }
            }
        }
    }

    /// The answers are those of DuckDB over the same rows.
    #[test]
    fn statistics_of_a_line() {
        let line = of(&[[1.0, 1.0], [2.0, 3.0], [4.0, 4.0]]);
        let value = |name: &str| Statistic::named(name).and_then(|it| it.value(&line));
        let are = |name: &str, wanted: f64| {
            let found = value(name).unwrap();
            assert!((found - wanted).abs() < 1e-12, "{name}: {found}");
        };
        are("avg", 7.0 / 3.0);
        are("var_pop", 14.0 / 9.0);
        are("var", 7.0 / 3.0);
        are("covar_samp", 13.0 / 6.0);
        are("corr", 13.0 / 14.0);
        are("regr_slope", 13.0 / 14.0);
        are("regr_r2", 169.0 / 196.0);
        are("regr_avgx", 8.0 / 3.0);
        are("regr_syy", 14.0 / 3.0);
        let one = of(&[[4.0, 4.0]]);
        assert_eq!(Statistic::Variance(1).value(&one), None);
        assert_eq!(Statistic::Variance(0).value(&one), Some(0.0));
        assert_eq!(Statistic::Sum.value(&Moments::default()), None);
        let names = [
            "avg",
            "var",
            "var_pop",
            "stddev",
            "stddev_pop",
            "covar_samp",
            "covar_pop",
        ];
        let there: Vec<String> = sliding().iter().map(|it| it.name().to_owned()).collect();
        for name in names {
            assert!(there.iter().any(|there| there == name), "{name}: {there:?}");
        }
        assert_eq!(there.len(), 16);
    }
}
