//! DISTINCT in aggregates, under a limit of memory, which executors of a cluster always have.
//!
//! DataFusion keeps a set of values for each group and each DISTINCT: some kilobytes before the first value
//! comes, most of them not counted, and never spilled before a whole batch has made them (64,000 groups with two
//! of them took 3.2 GB under a limit of 64 MiB). Here the values become keys instead:
//!
//! ```text
//! SELECT k, count(DISTINCT a), count(DISTINCT b), sum(c) FROM t GROUP BY k
//!
//! SELECT k, count(a) FILTER (WHERE tag = 1), count(b) FILTER (WHERE tag = 2), sum(s)
//! FROM (SELECT k, tag, CASE tag WHEN 1 THEN a END AS a, CASE tag WHEN 2 THEN b END AS b,
//!              sum(c) FILTER (WHERE tag = 0) AS s
//!       FROM (VALUES (0), (1), (2)) AS tags(tag) CROSS JOIN t GROUP BY 1, 2, 3, 4)
//! GROUP BY k
//! ```
//!
//! Both are plain groups, which are counted as they grow, and spilled. With one DISTINCT there is no tag,
//! and the inner groups are made while captures are decoded. (DataFusion has a rule of its own for that, which
//! gives up where a count stands beside it.) Beside what cannot be put together from parts, such as a median, and
//! with ROLLUP and its like, the sets stay, but as those of `array_agg`, which are counted and begin empty.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::functions_aggregate::array_agg::array_agg_udaf;
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::functions_nested::expr_fn::cardinality;
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion::logical_expr::{
    Aggregate, AggregateUDF, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Projection,
    cast, col, lit, when,
};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use crate::window::is_grouped;

/// See the module.
#[derive(Debug)]
pub(crate) struct DistinctAsKeys;

impl OptimizerRule for DistinctAsKeys {
    fn name(&self) -> &str {
        "distinct_as_keys"
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
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = &plan else {
            return Ok(Transformed::no(plan));
        };
        match Taken::of(aggregate) {
            Some(taken) => Ok(Transformed::yes(rewritten(aggregate, &taken)?)),
            None => Ok(match collected(aggregate)? {
                Some(plan) => Transformed::yes(plan),
                None => Transformed::no(plan),
            }),
        }
    }
}

/// The aggregate with the different values collected, and counted above it; `None` when none are counted.
fn collected(aggregate: &Aggregate) -> Result<Option<LogicalPlan>> {
    if aggregate.group_expr.iter().any(is_grouped) {
        return Ok(None);
    }
    let schema = &aggregate.schema;
    let groups = schema.fields().len() - aggregate.aggr_expr.len();
    let mut functions = Vec::new();
    let mut columns = Vec::new();
    for n in 0..groups {
        columns.push(Expr::Column(Column::from(schema.qualified_field(n))));
    }
    let mut is_changed = false;
    for (n, expr) in aggregate.aggr_expr.iter().enumerate() {
        let name = format!("{PREFIX}outer_{n}");
        let found = match counted(expr) {
            None => {
                functions.push(expr.clone().unalias().alias(&name));
                col(&name)
            }
            Some((argument, filter)) => {
                is_changed = true;
                let is_there = argument.clone().is_not_null();
                let filter = both(filter, Some(is_there));
                let collect = AggregateFunction::new_udf(
                    array_agg_udaf(),
                    vec![argument],
                    true,
                    filter.map(Box::new),
                    Vec::new(),
                    None,
                );
                functions.push(Expr::AggregateFunction(collect).alias(&name));
                // The array of no values is NULL.
                let count = cast(cardinality(col(&name)), DataType::Int64);
                when(col(&name).is_null(), lit(0_i64)).otherwise(count)?
            }
        };
        columns.push(named(found, schema, groups + n));
    }
    if !is_changed {
        return Ok(None);
    }
    let input = Arc::clone(&aggregate.input);
    let aggregate = Aggregate::try_new(input, aggregate.group_expr.clone(), functions)?;
    let aggregate = Arc::new(LogicalPlan::Aggregate(aggregate));
    let projection = Projection::try_new(columns, aggregate)?;
    Ok(Some(LogicalPlan::Projection(projection)))
}

/// The function that an expression calls, whatever the optimizer named it.
fn function(expr: &Expr) -> Option<&AggregateFunction> {
    match expr {
        Expr::Alias(alias) => function(&alias.expr),
        Expr::AggregateFunction(function) => Some(function),
        _ => None,
    }
}

/// The argument and the filter of a count of distinct values.
fn counted(expr: &Expr) -> Option<(Expr, Option<Expr>)> {
    let function = function(expr)?;
    let params = &function.params;
    let [argument] = params.args.as_slice() else {
        return None;
    };
    let counts = function.func.name() == "count" && params.distinct;
    counts.then(|| (argument.clone(), params.filter.as_deref().cloned()))
}

/// The aggregate functions, and the values of which those that are different count.
struct Taken {
    functions: Vec<DistinctPart>,
    distinct: Vec<DistinctValue>,
}

/// A value that is counted once: an argument where its filter is true.
#[derive(PartialEq)]
struct DistinctValue {
    argument: Expr,
    filter: Option<Expr>,
}

/// The way in which a function is merged.
enum DistinctPart {
    /// A function of value number so many, of each different one.
    OfDistinct(Arc<AggregateUDF>, usize),
    /// A function of parts that the same function makes.
    Same(AggregateFunction),
    /// A count: the sum of counts.
    Count(AggregateFunction),
    /// A mean of floating-point numbers: the sum of sums by the sum of counts.
    Mean(AggregateFunction),
}

impl Taken {
    /// `None` when there is no DISTINCT, or something that is not known here.
    fn of(aggregate: &Aggregate) -> Option<Self> {
        let groups = &aggregate.group_expr;
        if groups
            .iter()
            .any(|expr| matches!(expr, Expr::GroupingSet(_)))
        {
            return None;
        }
        let mut taken = Self {
            functions: Vec::new(),
            distinct: Vec::new(),
        };
        for expr in &aggregate.aggr_expr {
            taken.take(expr, aggregate.input.schema())?;
        }
        // Windows get each record once, and leave when they are over.
        let fits = (1..TAGS_MAX).contains(&taken.distinct.len()) && !groups.iter().any(is_grouped);
        fits.then_some(taken)
    }

    fn take(&mut self, expr: &Expr, input: &DFSchema) -> Option<()> {
        let function = function(expr)?;
        let AggregateFunctionParams {
            args,
            distinct,
            filter,
            order_by,
            null_treatment,
        } = &function.params;
        let [argument] = args.as_slice() else {
            return None;
        };
        if !order_by.is_empty() || null_treatment.is_some() {
            return None;
        }
        let name = function.func.name();
        let part = match name {
            "min" | "max" | "bit_and" | "bit_or" | "bool_and" | "bool_or" => {
                // The result over all values is that over the different ones.
                let mut function = function.clone();
                function.params.distinct = false;
                DistinctPart::Same(function)
            }
            "count" | "sum" | "avg" if *distinct => {
                let value = DistinctValue {
                    argument: argument.clone(),
                    filter: filter.as_deref().cloned(),
                };
                let known = self.distinct.iter().position(|known| *known == value);
                let number = known.unwrap_or_else(|| {
                    self.distinct.push(value);
                    self.distinct.len() - 1
                });
                DistinctPart::OfDistinct(Arc::clone(&function.func), number)
            }
            _ if *distinct => return None,
            "sum" | "bit_xor" => DistinctPart::Same(function.clone()),
            "count" => DistinctPart::Count(function.clone()),
            "avg" if argument.get_type(input).ok()? == DataType::Float64 => {
                DistinctPart::Mean(function.clone())
            }
            _ => return None,
        };
        self.functions.push(part);
        Some(())
    }
}

/// The aggregate in two: see the module.
fn rewritten(aggregate: &Aggregate, taken: &Taken) -> Result<LogicalPlan> {
    let is_copied = taken.distinct.len() > 1;
    let input = match is_copied {
        false => Arc::clone(&aggregate.input),
        true => copied(&aggregate.input, taken.distinct.len())?,
    };
    let schema = &aggregate.schema;
    let numbers = 0..aggregate.group_expr.len();
    let keys: Vec<Expr> = numbers.map(|number| col(key(number))).collect();
    let groups = aggregate.group_expr.iter().enumerate();
    let mut inner_groups: Vec<Expr> = groups.map(|(n, expr)| expr.clone().alias(key(n))).collect();
    if is_copied {
        inner_groups.push(col(TAG));
    }
    for (number, value) in taken.distinct.iter().enumerate() {
        let tagged = is_copied.then(|| col(TAG).eq(tag_of(number + 1)));
        let condition = both(tagged, value.filter.clone());
        let value_of = match condition {
            None => value.argument.clone(),
            Some(condition) => when(condition, value.argument.clone()).end()?,
        };
        inner_groups.push(value_of.alias(value_name(number)));
    }
    let mut levels = Levels {
        is_copied,
        inner: Vec::new(),
        outer: Vec::new(),
    };
    let mut results = Vec::new();
    for (n, part) in taken.functions.iter().enumerate() {
        let field = schema.field(aggregate.group_expr.len() + n);
        let result = levels.result(part)?;
        results.push((result, field.data_type().clone()));
    }
    let Levels { inner, outer, .. } = levels;
    let inner = Arc::new(LogicalPlan::Aggregate(Aggregate::try_new(
        input,
        inner_groups,
        inner,
    )?));
    let outer = LogicalPlan::Aggregate(Aggregate::try_new(inner, keys.clone(), outer)?);
    let mut columns = Vec::new();
    for (n, expr) in keys.into_iter().enumerate() {
        columns.push(named(expr, schema, n));
    }
    for (result, data_type) in results {
        let result = match result.get_type(outer.schema())? == data_type {
            true => result,
            // A sum of decimal sums has more digits.
            false => cast(result, data_type),
        };
        columns.push(named(result, schema, columns.len()));
    }
    Ok(LogicalPlan::Projection(Projection::try_new(
        columns,
        Arc::new(outer),
    )?))
}

/// The input with several copies of each row: one for each aggregate of different values and one for all others, which
/// a tag distinguishes.
fn copied(input: &Arc<LogicalPlan>, distinct: usize) -> Result<Arc<LogicalPlan>> {
    let tags = (0..=distinct).map(|tag| vec![tag_of(tag)]);
    let tags = LogicalPlanBuilder::values(tags.collect())?
        .project(vec![col("column1").alias(TAG)])?
        .build()?;
    let joined = LogicalPlanBuilder::from(tags).cross_join((**input).clone())?;
    Ok(Arc::new(joined.build()?))
}

/// The functions of the inner aggregate, and of the outer one, which puts their results together.
struct Levels {
    is_copied: bool,
    inner: Vec<Expr>,
    outer: Vec<Expr>,
}

impl Levels {
    /// Adds what a function is put together of; gives its result, of columns of the outer aggregate.
    fn result(&mut self, part: &DistinctPart) -> Result<Expr> {
        Ok(match part {
            DistinctPart::OfDistinct(function, number) => {
                let tagged = self.is_copied.then(|| col(TAG).eq(tag_of(number + 1)));
                self.again(function, col(value_name(*number)), tagged)
            }
            DistinctPart::Same(function) => {
                let part = self.first(&function.func, function);
                self.again(&function.func, part, None)
            }
            DistinctPart::Count(function) => {
                let part = self.first(&function.func, function);
                let sum = self.again(&sum_udaf(), part, None);
                // The sum is NULL when there are no rows and no GROUP BY.
                when(sum.clone().is_null(), lit(0_i64)).otherwise(sum)?
            }
            DistinctPart::Mean(function) => {
                let part = self.first(&sum_udaf(), function);
                let sum = self.again(&sum_udaf(), part, None);
                let part = self.first(&count_udaf(), function);
                let count = self.again(&sum_udaf(), part, None);
                sum / cast(count, DataType::Float64)
            }
        })
    }

    fn first(&mut self, function: &Arc<AggregateUDF>, of: &AggregateFunction) -> Expr {
        let name = format!("{PREFIX}inner_{}", self.inner.len());
        let once = self.is_copied.then(|| col(TAG).eq(tag_of(0)));
        let filter = both(once, of.params.filter.as_deref().cloned());
        let argument = of.params.args.first().cloned().unwrap_or_else(|| lit(1));
        self.inner
            .push(call(function, argument, filter).alias(&name));
        col(name)
    }

    fn again(&mut self, function: &Arc<AggregateUDF>, part: Expr, filter: Option<Expr>) -> Expr {
        let name = format!("{PREFIX}outer_{}", self.outer.len());
        self.outer.push(call(function, part, filter).alias(&name));
        col(name)
    }
}

/// The expression under the name that column number `n` has.
fn named(expr: Expr, schema: &DFSchema, n: usize) -> Expr {
    let (relation, field) = schema.qualified_field(n);
    expr.alias_qualified(relation.cloned(), field.name())
}

fn call(function: &Arc<AggregateUDF>, argument: Expr, filter: Option<Expr>) -> Expr {
    Expr::AggregateFunction(AggregateFunction::new_udf(
        Arc::clone(function),
        vec![argument],
        false,
        filter.map(Box::new),
        Vec::new(),
        None,
    ))
}

fn both(one: Option<Expr>, two: Option<Expr>) -> Option<Expr> {
    match (one, two) {
        (Some(one), Some(two)) => Some(one.and(two)),
        (one, two) => one.or(two),
    }
}

fn tag_of(tag: usize) -> Expr {
    let tag = u8::try_from(tag).unwrap_or(TAGS_MAX as u8);
    Expr::Literal(ScalarValue::UInt8(Some(tag)), None)
}

fn key(number: usize) -> String {
    format!("{PREFIX}key_{number}")
}

fn value_name(number: usize) -> String {
    format!("{PREFIX}value_{number}")
}

/// The maximum number of copies of a row.
const TAGS_MAX: usize = 255;
/// The prefix of internal names.
pub(crate) const PREFIX: &str = "__distinct_";
const TAG: &str = "__distinct_tag";
