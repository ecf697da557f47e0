//! The clause `TABLESAMPLE`.

use std::fmt;

use datafusion::sql::sqlparser::ast::{
    self, TableSample, TableSampleMethod, TableSampleUnit, UnaryOperator, Value,
};
use weir_functions::{Error, ErrorKind};

/// The drawn rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Draw {
    /// Each row with this probability, by its own lot.
    Rows(f64),
    /// Each block of [`BLOCK_ROWS`] rows that follow each other with this probability.
    Blocks(f64),
    /// A number of rows, or all when there are fewer.
    Count(u64),
}

/// The request for a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The drawn rows.
    pub draw: Draw,
    /// `None` for another sample each time.
    pub seed: Option<u64>,
}

/// Rows of which `SYSTEM` takes all or none.
pub const BLOCK_ROWS: u64 = 1_024;

impl Sample {
    /// Parses the clause.
    ///
    /// # Errors
    /// When the kind of sample is not supported, or its size is negative or more than all rows.
    pub fn read(sample: &TableSample) -> Result<Self, Error> {
        let TableSample {
            modifier: _,
            name,
            quantity,
            seed,
            bucket,
            offset,
        } = sample;
        if bucket.is_some() {
            return Err(refused("TABLESAMPLE (BUCKET … OUT OF …)"));
        }
        if offset.is_some() {
            return Err(refused("SAMPLE … OFFSET"));
        }
        let Some(quantity) = quantity else {
            return Err(refused("TABLESAMPLE without a size"));
        };
        let Some(size) = number(&quantity.value) else {
            let message = format!(
                "the size of a sample must be a number, not {}",
                quantity.value
            );
            return Err(Error::new(ErrorKind::Plan, message).with_hint(EXAMPLES));
        };
        let by_blocks = match name {
            Some(TableSampleMethod::System | TableSampleMethod::Block) => true,
            Some(TableSampleMethod::Bernoulli | TableSampleMethod::Row) | None => false,
        };
        let draw = match (&quantity.unit, quantity.parenthesized) {
            (Some(TableSampleUnit::Rows), _) => {
                if name.is_some() {
                    let message = "write a number of rows without BERNOULLI or SYSTEM";
                    return Err(Error::new(ErrorKind::Plan, message).with_hint(EXAMPLES));
                }
                Draw::Count(count(size)?)
            }
            // SAMPLE 0.1 of ClickHouse is a part of one; what stands in parentheses is per cent.
            (None, false) => draw(by_blocks, part(size, 1.0, "as a fraction")?),
            (Some(TableSampleUnit::Percent) | None, _) => {
                draw(by_blocks, part(size, 100.0, "percent")?)
            }
        };
        let seed = match seed {
            None => None,
            Some(seed) => Some(match &seed.value.value {
                Value::Number(digits, _) => digits.parse().map_err(|_| {
                    let message = format!("a seed must be a whole number, not {digits}");
                    Error::new(ErrorKind::Plan, message).with_hint("REPEATABLE (42)")
                })?,
                other => {
                    let message = format!("a seed must be a whole number, not {other}");
                    return Err(Error::new(ErrorKind::Plan, message).with_hint("REPEATABLE (42)"));
                }
            }),
        };
        Ok(Self { draw, seed })
    }
}

impl fmt::Display for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(part) => write!(f, "rows={} %", part * 100.0),
            Self::Blocks(part) => write!(f, "blocks={} %", part * 100.0),
            Self::Count(count) => write!(f, "count={count}"),
        }
    }
}

const fn draw(by_blocks: bool, part: f64) -> Draw {
    match by_blocks {
        true => Draw::Blocks(part),
        false => Draw::Rows(part),
    }
}

fn part(size: f64, whole: f64, unit: &str) -> Result<f64, Error> {
    match (0.0..=whole).contains(&size) {
        true => Ok(size / whole),
        false => {
            let message =
                format!("the size of a sample must be from 0 to {whole} {unit}, not {size}");
            Err(Error::new(ErrorKind::Plan, message).with_hint(EXAMPLES))
        }
    }
}

fn count(size: f64) -> Result<u64, Error> {
    // Larger numbers are not all exact as a double, and no table has so many rows.
    match size >= 0.0 && size.fract() == 0.0 && size < 9e15 {
        true => Ok(size as u64),
        false => {
            let message = format!("a sample must have a whole number of rows, not {size}");
            Err(Error::new(ErrorKind::Plan, message).with_hint(EXAMPLES))
        }
    }
}

/// The value of an expression that is a literal number.
fn number(expr: &ast::Expr) -> Option<f64> {
    match expr {
        ast::Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        ast::Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => number(expr).map(|value| -value),
        ast::Expr::UnaryOp {
            op: UnaryOperator::Plus,
            expr,
        } => number(expr),
        ast::Expr::Nested(expr) => number(expr),
        ast::Expr::BinaryOp {
            left,
            op: ast::BinaryOperator::Divide,
            right,
        } => Some(number(left)? / number(right)?).filter(|value| value.is_finite()),
        _ => None,
    }
}

fn refused(what: &str) -> Error {
    Error::new(ErrorKind::Plan, format!("not supported: {what}")).with_hint(EXAMPLES)
}

const EXAMPLES: &str = "TABLESAMPLE (10 PERCENT), TABLESAMPLE (500 ROWS), TABLESAMPLE SYSTEM (5) REPEATABLE (42) are supported";
