//! `a BETWEEN SYMMETRIC x AND y`, whose bounds may stand in either order, and `BETWEEN ASYMMETRIC`, which is BETWEEN.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, TableFactor, Visitor};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

use crate::walk::walk;

/// Parses the operator behind its left side; `None` where another one stands there.
pub(crate) fn parse(
    parser: &mut Parser<'_>,
    left: &Expr,
    precedence: u8,
) -> Option<Result<Expr, ParserError>> {
    use Keyword::{ASYMMETRIC, BETWEEN, NOT, SYMMETRIC};
    if parser.parse_keywords(&[BETWEEN, SYMMETRIC]) {
        return Some(symmetric(parser, left, false, precedence));
    }
    if parser.parse_keywords(&[NOT, BETWEEN, SYMMETRIC]) {
        return Some(symmetric(parser, left, true, precedence));
    }
    if parser.parse_keywords(&[BETWEEN, ASYMMETRIC]) {
        return Some(parser.parse_between(left.clone(), false));
    }
    if parser.parse_keywords(&[NOT, BETWEEN, ASYMMETRIC]) {
        return Some(parser.parse_between(left.clone(), true));
    }
    None
}

/// Both orders of the bounds, as PostgreSQL has them: all three sides stand twice in the tree.
fn symmetric(
    parser: &mut Parser<'_>,
    left: &Expr,
    negated: bool,
    precedence: u8,
) -> Result<Expr, ParserError> {
    let first = parser.parse_subexpr(precedence)?;
    parser.expect_keyword_is(Keyword::AND)?;
    let second = parser.parse_subexpr(precedence)?;
    let mut parts = Parts(0);
    let is_small = [left, &first, &second]
        .into_iter()
        .all(|side| walk(side, &mut parts).is_continue());
    if !is_small {
        return Err(ParserError::ParserError(format!(
            "the sides of BETWEEN SYMMETRIC have more than {PARTS_MAX} parts"
        )));
    }
    let between = |low: &Expr, high: &Expr| {
        Box::new(Expr::Between {
            expr: Box::new(left.clone()),
            negated,
            low: Box::new(low.clone()),
            high: Box::new(high.clone()),
        })
    };
    Ok(Expr::Nested(Box::new(Expr::BinaryOp {
        left: between(&first, &second),
        op: match negated {
            true => BinaryOperator::And,
            false => BinaryOperator::Or,
        },
        right: between(&second, &first),
    })))
}

/// The number of expressions and tables in the sides of one BETWEEN SYMMETRIC, at most: each level of them doubles the tree.
const PARTS_MAX: usize = 256;

/// Counts expressions and tables, and ends the walk where there are too many.
struct Parts(usize);

impl Parts {
    fn add(&mut self) -> ControlFlow<()> {
        self.0 += 1;
        match self.0 > PARTS_MAX {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

impl Visitor for Parts {
    type Break = ();

    fn pre_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
        self.add()
    }

    fn pre_visit_table_factor(&mut self, _: &TableFactor) -> ControlFlow<()> {
        self.add()
    }
}

#[cfg(test)]
mod tests {
    use crate::Statement;

    fn parsed(condition: &str) -> Result<String, String> {
        let statements = Statement::parse(&format!("SELECT a WHERE {condition}"));
        let statements = statements.map_err(|error| error.to_string())?;
        Ok(statements[0].inner.to_string())
    }

    #[test]
    fn bounds_stand_in_both_orders() {
        for (condition, expected) in [
            (
                "a BETWEEN SYMMETRIC 3 AND 1 AND b",
                "(a BETWEEN 3 AND 1 OR a BETWEEN 1 AND 3) AND b",
            ),
            (
                "a not between symmetric b + 1 AND 1",
                "(a NOT BETWEEN b + 1 AND 1 AND a NOT BETWEEN 1 AND b + 1)",
            ),
            ("a BETWEEN ASYMMETRIC 3 AND 1", "a BETWEEN 3 AND 1"),
            ("a NOT BETWEEN ASYMMETRIC 3 AND 1", "a NOT BETWEEN 3 AND 1"),
            (
                "a BETWEEN \"symmetric\" AND 1",
                "a BETWEEN \"symmetric\" AND 1",
            ),
        ] {
            let expected = format!("SELECT a WHERE {expected}");
            assert_eq!(parsed(condition).unwrap(), expected, "{condition}");
        }
    }

    /// Thirty levels would be a tree of a billion parts.
    #[test]
    fn levels_of_bounds_have_a_limit() {
        let nested = |levels: usize| {
            let open = "(1 BETWEEN SYMMETRIC ".repeat(levels);
            format!("{open}2{}", " AND 3)".repeat(levels))
        };
        assert!(parsed(&nested(3)).is_ok());
        let error = parsed(&nested(30)).unwrap_err();
        let expected = "the sides of BETWEEN SYMMETRIC have more than 256 parts";
        assert!(error.contains(expected), "{error}");
    }
}
