//! The limits of the size of a logical plan, in which views and queries of WITH are copied to wherever they are named.
//!
//! DataFusion's rules walk through a plan some forty times before it runs, and no statement is ended while they do. What a rule does at
//! a node takes longer than the node has expressions: each schema is made anew, and each column looked up in it. So a plan is
//! measured once, before any pass or rule walks through it.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison};
use datafusion::logical_expr::{Expr, LogicalPlan, Subquery};

use crate::error::{Error, ErrorKind};
use crate::pattern_size;
use crate::repeated::{self, REPEATED_MAX};

/// Checks how large a plan is. What this costs is bounded by the limits, however often views name each other.
///
/// # Errors
/// When it has more tables, levels, subqueries or expressions than plans may have, or larger patterns.
pub fn check(plan: &LogicalPlan) -> Result<(), Error> {
    let mut size = Size::default();
    size.add(plan, 1);
    match size.refusal {
        Some(refusal) => Err(refusal),
        None => Ok(()),
    }
}

#[derive(Default)]
struct Size {
    tables: usize,
    steps: usize,
    /// The subqueries that become joins.
    subqueries: NodeCounts,
    expressions: NodeCounts,
    /// The weight of all patterns, which are compiled while the statement is planned.
    patterns: usize,
    /// The expressions that are planned again because others around them are planned several times.
    repeated: usize,
    refusal: Option<Error>,
}

/// The counts of each node: planning takes at least the square of them.
#[derive(Default)]
struct NodeCounts {
    all: usize,
    /// The most at one node.
    most: usize,
    squares: usize,
}

impl NodeCounts {
    fn add(&mut self, count: usize) {
        self.all = self.all.saturating_add(count);
        self.most = self.most.max(count);
        let square = count.saturating_mul(count);
        self.squares = self.squares.saturating_add(square);
    }
}

impl Size {
    fn add(&mut self, plan: &LogicalPlan, level: usize) {
        stacker::maybe_grow(ROOM_BYTES, STACK_BYTES, || {
            let inputs = plan.inputs();
            self.tables += usize::from(inputs.is_empty());
            self.steps += 1;
            let subqueries = self.add_expressions(plan);
            self.refusal = self.refused(level);
            let inputs = inputs.into_iter();
            for input in inputs.chain(subqueries.iter().map(AsRef::as_ref)) {
                if self.refusal.is_some() {
                    return;
                }
                self.add(input, level + 1);
            }
        });
    }

    /// Counts the expressions of a node, and returns the plans of its subqueries.
    fn add_expressions(&mut self, plan: &LogicalPlan) -> Vec<Arc<LogicalPlan>> {
        let mut plans = Vec::new();
        // Rows that are written out are planned once, and there may be many.
        let is_written_out = matches!(plan, LogicalPlan::Values(_));
        let is_filter = matches!(plan, LogicalPlan::Filter(_));
        let (mut expressions, mut joined) = (0_usize, 0_usize);
        let (mut patterns, mut repeated) = (self.patterns, self.repeated);
        // The walk fails only where its closure does.
        let _ = plan.apply_expressions(|expression| {
            expressions += 1;
            repeated = repeated::add(repeated, expression);
            expression.apply(|part| {
                patterns = patterns.saturating_add(pattern_size::weight(part));
                let (subquery, joins) = match part {
                    Expr::ScalarSubquery(subquery) => (subquery, joins(subquery)),
                    Expr::Exists(Exists { subquery, .. }) => (subquery, joins(subquery)),
                    // Where its truth value is an expression, the subquery also computes whether there are rows, and
                    // NULLs among them.
                    Expr::InSubquery(InSubquery { subquery, .. })
                    | Expr::SetComparison(SetComparison { subquery, .. }) => match is_filter {
                        true => (subquery, joins(subquery)),
                        false => (subquery, IN_JOINS),
                    },
                    _ => return Ok(TreeNodeRecursion::Continue),
                };
                joined += joins;
                plans.push(Arc::clone(&subquery.subquery));
                Ok(TreeNodeRecursion::Continue)
            })
        });
        (self.patterns, self.repeated) = (patterns, repeated);
        if !is_written_out {
            self.expressions.add(expressions);
            self.subqueries.add(joined);
        }
        plans
    }

    /// The error of a count that exceeds its limit so far.
    fn refused(&self, level: usize) -> Option<Error> {
        for (what, found, most) in [
            ("tables", self.tables, TABLES_MAX),
            ("levels", level, LEVELS_MAX),
            ("steps", self.steps, STEPS_MAX),
        ] {
            if found > most {
                let message = format!(
                    "the plan of the statement has more than {most} {what}, which is the limit: views and queries of WITH count wherever they are named"
                );
                return Some(limit(
                    message,
                    "COPY (…) TO 'x.parquet' saves the rows of one, which is a single table then",
                ));
            }
        }
        let NodeCounts { all, most, squares } = self.subqueries;
        if squares > SUBQUERIES_MAX * SUBQUERIES_MAX {
            let message = format!(
                "the statement has too many subqueries that become joins: {all} in all and {most} in one query, where the limit is {SUBQUERIES_MAX} in one query, and less in each of several"
            );
            return Some(limit(
                message,
                "JOIN (SELECT a, max(b) AS b, min(c) AS c FROM … GROUP BY a) q ON q.a = t.a computes many values at once",
            ));
        }
        if self.patterns > PATTERNS_WEIGHT_MAX {
            let message = "the patterns of the statement are too large to be compiled: a part that is repeated by number counts as often";
            return Some(limit(
                message.to_owned(),
                "\\w{300} is 300 classes of some hundred ranges: [a-z0-9_]+ has a single class, and no number",
            ));
        }
        if self.repeated > REPEATED_MAX {
            let message = "the expressions of the statement lie too deep within each other: BETWEEN, coalesce, extract, @>, starts_with, decimals and the conditions of CASE are planned several times, and so is what they contain";
            return Some(limit(
                message.to_owned(),
                "some ten of them within each other are planned in time",
            ));
        }
        let NodeCounts { all, most, squares } = self.expressions;
        (squares > EXPRESSIONS_SQUARE_MAX).then(|| {
            let message = format!(
                "the plan of the statement has more than {all} columns and expressions, up to {most} in one query: too many to be planned"
            );
            limit(message, "name the columns that are needed in place of *")
        })
    }
}

/// The joins that a subquery becomes: one that does not depend on the row of the outer query is computed once.
fn joins(subquery: &Subquery) -> usize {
    usize::from(!subquery.outer_ref_columns.is_empty())
}

fn limit(message: String, hint: &str) -> Error {
    Error::new(ErrorKind::Limit, message).with_hint(hint)
}

/// Tables of a plan: a join of so many is planned for some seconds.
const TABLES_MAX: usize = 1024;
/// Nodes above each other. A text may have 500 levels, with up to four nodes each.
const LEVELS_MAX: usize = 2500;
/// Nodes of a plan: a query of WITH in 200 steps that is named 80 times, planned for some seconds.
const STEPS_MAX: usize = 1 << 14;
/// Subqueries of one node that become joins: 200 are planned for 40 seconds, with the third power of their number.
const SUBQUERIES_MAX: usize = 64;
/// Expressions of the nodes of a plan, squared and summed: 130 queries of all columns of packets, planned for some 20 seconds.
const EXPRESSIONS_SQUARE_MAX: usize = 1 << 26;
/// Weights of all patterns: they take some four seconds and 200 MiB.
pub const PATTERNS_WEIGHT_MAX: usize = 1 << 22;
/// The joins that IN becomes, at most, where it is not a condition of WHERE.
const IN_JOINS: usize = 3;
const ROOM_BYTES: usize = 1 << 20;
const STACK_BYTES: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::LogicalPlanBuilder;
    use datafusion::prelude::{SessionConfig, SessionContext};

    use super::*;

    fn refusal(plan: &LogicalPlan) -> Option<String> {
        check(plan).err().map(|refusal| refusal.to_string())
    }

    #[test]
    fn a_plan_that_doubles_is_measured_no_further_than_the_limit() {
        let mut plan = LogicalPlanBuilder::empty(true).build().unwrap();
        for level in 0..60 {
            assert_eq!(refusal(&plan).is_some(), level > 10, "{level}");
            let other = LogicalPlanBuilder::from(plan.clone()).build().unwrap();
            let joined = LogicalPlanBuilder::from(plan).cross_join(other).unwrap();
            plan = joined.build().unwrap();
        }
        let message = refusal(&plan).unwrap();
        assert!(message.contains("more than 1024 tables"), "{message}");
    }

    #[test]
    fn a_plan_has_a_limit_of_levels() {
        let mut plan = LogicalPlanBuilder::empty(true).build().unwrap();
        for _ in 0..3000 {
            plan = LogicalPlanBuilder::from(plan)
                .distinct()
                .unwrap()
                .build()
                .unwrap();
        }
        let message = refusal(&plan).unwrap();
        assert!(message.contains("more than 2500 levels"), "{message}");
        // A plan of that depth is taken apart, because dropping it whole would overflow the stack.
        loop {
            let input = plan.inputs().first().map(|input| (*input).clone());
            match input {
                Some(input) => plan = input,
                None => break,
            }
        }
    }

    #[test]
    fn a_plan_has_a_limit_of_steps() {
        let steps = |count: usize| {
            let mut plan = LogicalPlanBuilder::empty(true).build().unwrap();
            for _ in 0..count {
                let step = LogicalPlanBuilder::from(plan).distinct().unwrap();
                plan = step.build().unwrap();
            }
            let one = plan.clone();
            for _ in 0..100 {
                let other = LogicalPlanBuilder::from(one.clone()).build().unwrap();
                let joined = LogicalPlanBuilder::from(plan).cross_join(other).unwrap();
                plan = joined.build().unwrap();
            }
            plan
        };
        assert_eq!(refusal(&steps(100)), None);
        let message = refusal(&steps(200)).unwrap();
        assert!(message.contains("more than 16384 steps"), "{message}");
    }

    #[tokio::test]
    async fn patterns_have_a_sum() {
        let session = SessionContext::new();
        let plan = |sql: String| {
            let state = session.state();
            async move { state.create_logical_plan(&sql).await.unwrap() }
        };
        let list = |pattern: &str, times: usize| {
            let all: Vec<String> = (0..times)
                .map(|number| format!("'x{number}' ~ '{pattern}' AS a{number}"))
                .collect();
            all.join(", ")
        };
        let light = format!("SELECT {}", list(r"^\d{1,3}(\.\d{1,3}){3}$", 300));
        assert_eq!(refusal(&plan(light).await), None);
        for (patterns, is_refused) in [(10, false), (20, true)] {
            let heavy = list(r"\w{299}", patterns);
            let message = refusal(&plan(format!("SELECT {heavy}")).await);
            assert_eq!(message.is_some(), is_refused, "{message:?}");
            let of_view =
                format!("SELECT regexp_like(a, '\\w{{299}}') FROM (SELECT {heavy}, '' AS a)");
            let message = refusal(&plan(of_view).await);
            assert_eq!(message.is_some(), is_refused, "{message:?}");
        }
        let composed = |times: usize| {
            let one = "'x' ~ repeat('\\w', 299)";
            format!("VALUES ({})", vec![one; times].join("), ("))
        };
        assert_eq!(refusal(&plan(composed(10)).await), None);
        let message = refusal(&plan(composed(20)).await).unwrap();
        assert!(
            message.starts_with("the patterns of the statement"),
            "{message}"
        );
    }

    #[tokio::test]
    async fn expressions_that_repeat_others_lie_within_each_other_up_to_a_limit() {
        let config = SessionConfig::new().set_usize("datafusion.sql_parser.recursion_limit", 500);
        let session = SessionContext::new_with_config(config);
        for (before, within, after, most) in [
            ("(", "x", " BETWEEN 1 AND 2)::int", 13),
            ("coalesce(", "x", ", 2)", 13),
            ("CASE WHEN ", "x > 1", " THEN x = 1 ELSE x = 2 END", 11),
            ("extract(epoch FROM to_timestamp(", "x", "))", 8),
            ("(", "x", "::decimal(20, 4) * 1.5)", 8),
            ("CASE WHEN ", "x", " > 1 THEN 1 ELSE 2 END", 20),
            ("CASE WHEN x = 1 THEN 2 ELSE ", "x", " END", 20),
            ("(1 + ", "x", ")", 20),
        ] {
            let state = session.state();
            let plan = |times: usize| {
                let expression = [&before.repeat(times), within, &after.repeat(times)].concat();
                let sql = format!("SELECT {expression} FROM (VALUES (1)) AS t(x)");
                let state = state.clone();
                async move { state.create_logical_plan(&sql).await.unwrap() }
            };
            assert_eq!(refusal(&plan(most).await), None, "{before}");
            let message = refusal(&plan(most + 8).await);
            let is_refused = message.is_some_and(|it| it.contains("too deep within each other"));
            assert_eq!(is_refused, most < 20, "{before}");
        }
    }

    #[tokio::test]
    async fn subqueries_that_depend_on_the_row_have_a_limit() {
        let session = SessionContext::new();
        let plan = |sql: String| {
            let state = session.state();
            async move { state.create_logical_plan(&sql).await.unwrap() }
        };
        let list = |subquery: &str, times: usize| {
            let all: Vec<String> = (0..times)
                .map(|number| format!("{subquery} + {number}"))
                .collect();
            format!("SELECT {} FROM (VALUES (1)) AS a(x)", all.join(", "))
        };
        let of_row = "(SELECT max(b.y) FROM (VALUES (1)) AS b(y) WHERE b.y = a.x)";
        let of_none = "(SELECT max(b.y) FROM (VALUES (1)) AS b(y))";
        assert_eq!(refusal(&plan(list(of_row, 64)).await), None);
        assert_eq!(refusal(&plan(list(of_none, 300)).await), None);
        let message = refusal(&plan(list(of_row, 65)).await).unwrap();
        assert!(message.contains("joins: 65 in all"), "{message}");
        // Several queries may have fewer subqueries each.
        let several = [list(of_row, 40), list(of_row, 40), list(of_row, 40)].join(" UNION ALL ");
        let message = refusal(&plan(several).await).unwrap();
        assert!(message.contains("joins: 120 in all"), "{message}");
    }
}
