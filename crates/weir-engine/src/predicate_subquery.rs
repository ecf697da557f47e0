//! `IN (SELECT …)` and `EXISTS (SELECT …)` anywhere in an expression, with the three truth values of the standard (SQL:2016, part 2,
//! 8.4 and 8.10).
//!
//! DataFusion plans both as joins of WHERE and HAVING only, and within an expression (`… NOT IN (…) OR …`, `(… IN (…)) IS NULL`) its
//! join marks rows that have an equal value, and not those whose answer is NULL because a value is missing. Here IN becomes a CASE
//! over EXISTS, which is never NULL, and EXISTS of a SELECT list, an aggregate or a window becomes the mark of such a join.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Spans, internal_err};
use datafusion::error::Result;
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{split_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    Expr, ExprSchemable, Filter, LogicalPlan, LogicalPlanBuilder, Operator, Projection, Subquery,
    lit, not, when,
};
use datafusion::optimizer::decorrelate_predicate_subquery::DecorrelatePredicateSubquery;
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::scalar::ScalarValue;

/// Plans predicates over subqueries where a join that filters rows does not answer them. Types are coerced before optimizer rules
/// run, so that both sides of IN have the same one.
#[derive(Debug)]
pub(crate) struct MarkPredicateSubqueries;

impl OptimizerRule for MarkPredicateSubqueries {
    fn name(&self) -> &'static str {
        "mark_predicate_subqueries"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Filter(filter) => in_filter(filter),
            LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_) | LogicalPlan::Window(_)
                if has_predicates(&plan) =>
            {
                in_values(plan, config)
            }
            plan => Ok(Transformed::no(plan)),
        }
    }
}

/// A filter whose conditions are answered by the joins of DataFusion.
fn in_filter(filter: Filter) -> Result<Transformed<LogicalPlan>> {
    if split_conjunction(&filter.predicate)
        .into_iter()
        .all(is_answered_by_joins)
    {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    }
    let schema = filter.input.schema();
    let conjuncts = split_conjunction_owned(filter.predicate).into_iter();
    let conjuncts = conjuncts.map(|conjunct| match is_answered_by_joins(&conjunct) {
        true => Ok(conjunct),
        false => without_in(conjunct, schema),
    });
    let predicate = conjuncts
        .collect::<Result<Vec<_>>>()?
        .into_iter()
        .reduce(Expr::and);
    let filter = Filter::try_new(predicate.unwrap_or_else(|| lit(true)), filter.input)?;
    Ok(Transformed::yes(LogicalPlan::Filter(filter)))
}

/// A node whose predicates over subqueries are marks of joins below it.
fn in_values(plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
    let inputs = plan.inputs();
    let [input] = inputs.as_slice() else {
        return internal_err!("a projection has one input");
    };
    let schema = input.schema();
    let names = NamePreserver::new(&plan);
    let mut saved = Vec::new();
    let mut expressions = Vec::new();
    let mut predicates = Vec::new();
    for expression in plan.expressions() {
        saved.push(names.save(&expression));
        let expression = without_in(expression, schema)?;
        expression.apply(|part| {
            if matches!(part, Expr::Exists(_)) && !predicates.contains(part) {
                predicates.push(part.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        expressions.push(expression);
    }
    let (input, marks) = match predicates.is_empty() {
        true => ((*input).clone(), Vec::new()),
        false => match marked((*input).clone(), &predicates, config)? {
            Some(marked) => marked,
            // The planner's error names the predicate that it has no plan for.
            None => return Ok(Transformed::no(plan)),
        },
    };
    let expressions = expressions
        .into_iter()
        .zip(saved)
        .map(|(expression, name)| {
            let marked = expression.transform_up(|part| {
                match predicates.iter().position(|predicate| *predicate == part) {
                    Some(place) => Ok(Transformed::yes(marks[place].clone())),
                    None => Ok(Transformed::no(part)),
                }
            })?;
            Ok(name.restore(marked.data))
        });
    let expressions = expressions.collect::<Result<Vec<_>>>()?;
    let outer = match &plan {
        LogicalPlan::Projection(_) => {
            LogicalPlan::Projection(Projection::try_new(expressions, Arc::new(input))?)
        }
        plan => plan.with_new_exprs(expressions, vec![input])?,
    };
    // A window has the columns of its input, with the marks.
    let outer = match outer.schema().fields().len() == plan.schema().fields().len() {
        true => outer,
        false => {
            let columns = plan.schema().columns().into_iter().map(Expr::from);
            LogicalPlanBuilder::from(outer).project(columns)?.build()?
        }
    };
    Ok(Transformed::yes(outer))
}

/// The input joined with what these predicates ask for, and their marks. DataFusion has these joins in its rule for filters: a filter
/// that names the predicates is made and taken off again.
fn marked(
    input: LogicalPlan,
    predicates: &[Expr],
    config: &dyn OptimizerConfig,
) -> Result<Option<(LogicalPlan, Vec<Expr>)>> {
    let is_true = |predicate: &Expr| Expr::IsTrue(Box::new(predicate.clone()));
    let Some(condition) = predicates.iter().map(is_true).reduce(Expr::and) else {
        return Ok(None);
    };
    let filter = LogicalPlan::Filter(Filter::try_new(condition, Arc::new(input))?);
    let joined = DecorrelatePredicateSubquery::new().rewrite(filter, config)?;
    let filter = match joined.data {
        LogicalPlan::Projection(projection) => Arc::unwrap_or_clone(projection.input),
        joined => joined,
    };
    let LogicalPlan::Filter(filter) = filter else {
        return Ok(None);
    };
    let marks = split_conjunction_owned(filter.predicate).into_iter();
    let marks = marks.map(|condition| match condition {
        Expr::IsTrue(mark) if !has_predicate(&mark) => Some(*mark),
        _ => None,
    });
    let marks: Option<Vec<Expr>> = marks.collect();
    let marks = marks.filter(|marks| marks.len() == predicates.len());
    Ok(marks.map(|marks| (Arc::unwrap_or_clone(filter.input), marks)))
}

/// Whether an expression of a node has a predicate over a subquery. Nothing is copied: a node may have hundreds of columns.
fn has_predicates(plan: &LogicalPlan) -> bool {
    let mut is_found = false;
    let looked_at = plan.apply_expressions(|expression| {
        is_found = has_predicate(expression);
        Ok(match is_found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    });
    looked_at.is_ok() && is_found
}

fn has_predicate(expression: &Expr) -> bool {
    let is_predicate = |part: &Expr| matches!(part, Expr::InSubquery(_) | Expr::Exists(_));
    expression
        .exists(|part| Ok(is_predicate(part)))
        .unwrap_or(false)
}

/// Whether the joins of DataFusion answer this condition of a filter: a predicate by itself, or predicates under AND and OR, where
/// NULL and false come to the same. Its join of NOT IN heeds NULLs where the subquery does not depend on the row.
fn is_answered_by_joins(condition: &Expr) -> bool {
    let (by_itself, is_negated) = match condition {
        Expr::Not(predicate) => (predicate.as_ref(), true),
        condition => (condition, false),
    };
    match by_itself {
        Expr::InSubquery(of) if of.negated != is_negated => {
            of.subquery.outer_ref_columns.is_empty()
        }
        Expr::InSubquery(_) | Expr::Exists(_) => true,
        _ => is_monotone(condition),
    }
}

/// Whether a condition is true of the same rows if a predicate in it is false in place of NULL.
fn is_monotone(condition: &Expr) -> bool {
    match condition {
        Expr::BinaryExpr(of) if matches!(of.op, Operator::And | Operator::Or) => {
            is_monotone(&of.left) && is_monotone(&of.right)
        }
        Expr::InSubquery(of) => !of.negated,
        Expr::Exists(_) => true,
        condition => !has_in(condition),
    }
}

fn has_in(expression: &Expr) -> bool {
    expression
        .exists(|part| Ok(matches!(part, Expr::InSubquery(_))))
        .unwrap_or(false)
}

/// The expression with EXISTS in place of IN, and counts in place of an EXISTS that does not depend on the row.
fn without_in(expression: Expr, schema: &DFSchema) -> Result<Expr> {
    let without = expression.transform_up(|part| match part {
        Expr::InSubquery(of) => is_in(of, schema).map(Transformed::yes),
        Expr::Exists(Exists { subquery, negated }) if subquery.outer_ref_columns.is_empty() => {
            let exists = exists(subquery, None)?;
            Ok(Transformed::yes(if negated { not(exists) } else { exists }))
        }
        part => Ok(Transformed::no(part)),
    })?;
    Ok(without.data)
}

/// `x IN (SELECT y …)`: true where a y equals x; NULL where there is no such y, and x or a y is NULL; false otherwise, and where the
/// subquery has no rows.
fn is_in(of: InSubquery, schema: &DFSchema) -> Result<Expr> {
    let InSubquery {
        expr,
        subquery,
        negated,
    } = of;
    let subquery = apart(subquery, &expr)?;
    let (qualifier, field) = subquery.subquery.schema().qualified_field(0);
    let value = Expr::Column(Column::from((qualifier, field)));
    let is_nullable = field.is_nullable();
    let equal = value.clone().eq(of_outer_query(expr.as_ref(), schema)?);
    let unknown = lit(ScalarValue::Boolean(None));
    let mut cases = when(exists(subquery.clone(), Some(equal))?, lit(true));
    if is_nullable {
        let has_nulls = exists(subquery.clone(), Some(value.is_null()))?;
        cases = cases.when(has_nulls, unknown.clone());
    }
    if expr.nullable(schema)? {
        let is_missing = expr.is_null().and(exists(subquery, None)?);
        cases = cases.when(is_missing, unknown);
    }
    let is_in = cases.otherwise(lit(false))?;
    Ok(if negated { not(is_in) } else { is_in })
}

/// The subquery under another name where its value has that of a column of the outer query, as in `x NOT IN (SELECT x FROM t)` of the
/// same t: when the subquery becomes a join, the two would be one column, which equals itself.
fn apart(subquery: Subquery, expr: &Expr) -> Result<Subquery> {
    let (qualifier, field) = subquery.subquery.schema().qualified_field(0);
    let value = Column::from((qualifier, field));
    if !expr.column_refs().contains(&value) {
        return Ok(subquery);
    }
    let plan = LogicalPlanBuilder::from(subquery.subquery);
    let plan = plan.project([Expr::Column(value).alias(APART)])?.build()?;
    Ok(Subquery {
        subquery: Arc::new(plan),
        ..subquery
    })
}

/// The value of a subquery that reads the table of its outer query.
const APART: &str = "__value_of_subquery";

/// Whether a subquery has rows, or rows for which a condition is true.
fn exists(subquery: Subquery, condition: Option<Expr>) -> Result<Expr> {
    let mut outer_ref_columns = subquery.outer_ref_columns;
    let mut plan = LogicalPlanBuilder::from(subquery.subquery);
    if let Some(condition) = condition {
        condition.apply(|part| {
            if matches!(part, Expr::OuterReferenceColumn(..)) && !outer_ref_columns.contains(part) {
                outer_ref_columns.push(part.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        plan = plan.filter(condition)?;
    }
    let is_of_row = !outer_ref_columns.is_empty();
    if !is_of_row {
        // The answer is the same for all rows.
        plan = plan
            .limit(0, Some(1))?
            .aggregate(Vec::<Expr>::new(), vec![count(lit(1_i64))])?;
    }
    let subquery = Subquery {
        subquery: Arc::new(plan.build()?),
        outer_ref_columns,
        spans: Spans::new(),
    };
    Ok(match is_of_row {
        true => Expr::Exists(Exists::new(subquery, false)),
        false => Expr::ScalarSubquery(subquery).gt(lit(0_i64)),
    })
}

/// An expression of the outer query, as its subquery writes it.
fn of_outer_query(expression: &Expr, schema: &DFSchema) -> Result<Expr> {
    let outer = expression.clone().transform_up(|part| match part {
        Expr::Column(column) => {
            let (_, field) = schema.qualified_field_from_column(&column)?;
            let field = Arc::clone(field);
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        }
        part => Ok(Transformed::no(part)),
    })?;
    Ok(outer.data)
}
