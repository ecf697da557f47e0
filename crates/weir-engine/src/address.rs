//! Addresses in plans: which expressions are addresses, how they compare with text, and how they
//! leave as text.
//!
//! An address is a binary value, so that it groups, joins and compares as bytes. The planner knows
//! nothing of that: left alone it would compare the bytes of `10.0.0.1` with its nine characters,
//! and find nothing. [`coerce`] runs over every plan before the planner's own type coercion.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::expr::{Alias, Between, InList, Like, ScalarFunction};
use datafusion::logical_expr::{
    BinaryExpr, Case, Expr, ExprSchemable, JoinType, LogicalPlan, Operator, Projection,
};
use weir_packet::Address;
use weir_tables::is_address;

use crate::function::{self, ADDRESS, ADDRESS_TEXT, CIDR_MATCH, parse_network};

/// Makes comparisons of addresses with text compare addresses, everywhere in the plan.
pub(crate) fn coerce(plan: LogicalPlan) -> Result<LogicalPlan> {
    let coerced = plan.transform_up_with_subqueries(|plan| {
        let scope = Scope::of_inputs(&plan)?;
        // Parents know an expression by its name, which must not change with it.
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let coerced = expr.transform_up(|expr| scope.coerce(expr))?;
            Ok(coerced.update_data(|expr| name.restore(expr)))
        })?
        .transform_data(|plan| Ok(Transformed::yes(plan.recompute_schema()?)))
    })?;
    Ok(coerced.data)
}

/// Adds the step that turns address columns of the answer into text.
pub(crate) fn to_text(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Explain(mut explain) => {
            explain.plan = to_text(explain.plan.as_ref().clone())?.into();
            Ok(LogicalPlan::Explain(explain))
        }
        LogicalPlan::Analyze(mut analyze) => {
            analyze.input = to_text(analyze.input.as_ref().clone())?.into();
            Ok(LogicalPlan::Analyze(analyze))
        }
        LogicalPlan::Copy(mut copy) => {
            copy.input = to_text(copy.input.as_ref().clone())?.into();
            Ok(LogicalPlan::Copy(copy))
        }
        LogicalPlan::Ddl(_) | LogicalPlan::Statement(_) | LogicalPlan::Dml(_) => Ok(plan),
        plan => {
            let flags = addresses(&plan)?;
            if !flags.contains(&true) {
                return Ok(plan);
            }
            let exprs = plan.schema().iter().zip(flags).map(|((relation, field), is)| {
                let column = Expr::Column(Column::new(relation.cloned(), field.name()));
                if is {
                    function::address_text()
                        .call(vec![column])
                        .alias_qualified(relation.cloned(), field.name())
                } else {
                    column
                }
            });
            let exprs = exprs.collect();
            Ok(LogicalPlan::Projection(Projection::try_new(
                exprs,
                plan.into(),
            )?))
        }
    }
}

/// Which columns of a plan's output are addresses.
fn addresses(plan: &LogicalPlan) -> Result<Vec<bool>> {
    let own = || {
        let fields = plan.schema().fields();
        fields.iter().map(|field| is_address(field)).collect()
    };
    let of_exprs = |exprs: &[Expr]| -> Result<Vec<bool>> {
        let scope = Scope::of_inputs(plan)?;
        Ok(exprs.iter().map(|expr| scope.is_address(expr)).collect())
    };
    let flags: Vec<bool> = match plan {
        LogicalPlan::Projection(projection) => of_exprs(&projection.expr)?,
        LogicalPlan::Aggregate(aggregate) => {
            let mut flags = of_exprs(&aggregate.group_expr)?;
            // Grouping sets have their columns in another order, and one more.
            let group_columns = plan.schema().fields().len() - aggregate.aggr_expr.len();
            if flags.len() != group_columns {
                flags = own();
                flags.truncate(group_columns);
            }
            flags.extend(of_exprs(&aggregate.aggr_expr)?);
            flags
        }
        LogicalPlan::Window(window) => {
            let mut flags = addresses(&window.input)?;
            flags.extend(of_exprs(&window.window_expr)?);
            flags
        }
        LogicalPlan::Join(join) => {
            let left = || addresses(&join.left);
            let right = || addresses(&join.right);
            match join.join_type {
                JoinType::LeftSemi | JoinType::LeftAnti => left()?,
                JoinType::RightSemi | JoinType::RightAnti => right()?,
                JoinType::LeftMark => [left()?, vec![false]].concat(),
                JoinType::RightMark => [right()?, vec![false]].concat(),
                _ => [left()?, right()?].concat(),
            }
        }
        other => match other.inputs().as_slice() {
            [] => own(),
            inputs => addresses(inputs[0])?,
        },
    };
    if flags.len() == plan.schema().fields().len() {
        Ok(flags)
    } else {
        Ok(own())
    }
}

/// The columns that an expression of a plan node can see.
struct Scope {
    inputs: Vec<(DFSchema, Vec<bool>)>,
}

impl Scope {
    fn of_inputs(plan: &LogicalPlan) -> Result<Self> {
        let mut inputs = Vec::new();
        if let LogicalPlan::TableScan(_) = plan {
            inputs.push((plan.schema().as_ref().clone(), addresses(plan)?));
        }
        for input in plan.inputs() {
            inputs.push((input.schema().as_ref().clone(), addresses(input)?));
        }
        Ok(Self { inputs })
    }

    fn column_is_address(&self, column: &Column) -> bool {
        self.inputs.iter().any(|(schema, flags)| {
            schema
                .maybe_index_of_column(column)
                .and_then(|index| flags.get(index).copied())
                .unwrap_or(false)
        })
    }

    fn data_type(&self, expr: &Expr) -> Option<DataType> {
        self.inputs
            .iter()
            .find_map(|(schema, _)| expr.get_type(schema).ok())
            .or_else(|| {
                let mut inputs = self.inputs.iter();
                let mut joined = inputs.next()?.0.clone();
                for (schema, _) in inputs {
                    joined.merge(schema);
                }
                expr.get_type(&joined).ok()
            })
    }

    /// True when the value of an expression is an address, or a list of them. A function keeps
    /// what it is given: a binary result whose binary arguments are all addresses is an address.
    fn is_address(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Column(column) => self.column_is_address(column),
            Expr::OuterReferenceColumn(field, _) => is_address(field),
            Expr::Alias(Alias { expr, .. }) => self.is_address(expr),
            Expr::ScalarSubquery(subquery) => {
                addresses(&subquery.subquery).is_ok_and(|flags| flags.first() == Some(&true))
            }
            Expr::ScalarFunction(function) if function.func.name() == ADDRESS => true,
            Expr::Cast(cast) => self.is_address(&cast.expr) && is_binary(cast.field.data_type()),
            Expr::ScalarFunction(_)
            | Expr::AggregateFunction(_)
            | Expr::WindowFunction(_)
            | Expr::Case(_) => {
                let Some(data_type) = self.data_type(expr) else {
                    return false;
                };
                is_binary(&data_type) && self.has_only_address_arguments(expr)
            }
            _ => false,
        }
    }

    fn has_only_address_arguments(&self, expr: &Expr) -> bool {
        let mut found = false;
        let mut only = true;
        let visited = expr.apply_children(|child| {
            if self.is_address(child) {
                found = true;
            } else if self.data_type(child).is_some_and(|kind| is_binary(&kind)) {
                only = false;
            }
            Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
        });
        visited.is_ok() && found && only
    }

    fn is_text(&self, expr: &Expr) -> bool {
        self.data_type(expr).is_some_and(|kind| is_text(&kind))
    }

    fn coerce(&self, expr: Expr) -> Result<Transformed<Expr>> {
        match expr {
            Expr::BinaryExpr(binary) if is_comparison(binary.op) => self.coerce_comparison(binary),
            Expr::BinaryExpr(BinaryExpr { left, op, right })
                if takes_text(op) && (self.is_address(&left) || self.is_address(&right)) =>
            {
                let left = Box::new(self.as_text(*left));
                let right = Box::new(self.as_text(*right));
                Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr {
                    left,
                    op,
                    right,
                })))
            }
            Expr::InList(list) if self.is_address(&list.expr) => {
                let items = list.list.into_iter().map(|item| self.as_address(item));
                Ok(Transformed::yes(Expr::InList(InList {
                    expr: list.expr,
                    list: items.collect::<Result<_>>()?,
                    negated: list.negated,
                })))
            }
            Expr::Between(between) if self.is_address(&between.expr) => {
                Ok(Transformed::yes(Expr::Between(Between {
                    expr: between.expr,
                    negated: between.negated,
                    low: Box::new(self.as_address(*between.low)?),
                    high: Box::new(self.as_address(*between.high)?),
                })))
            }
            Expr::Like(like) if self.is_address(&like.expr) => {
                let expr = Box::new(self.as_text(*like.expr));
                Ok(Transformed::yes(Expr::Like(Like { expr, ..like })))
            }
            Expr::InSubquery(mut within) if self.is_address(&within.expr) => {
                let is_text = within.subquery.subquery.schema().fields().first();
                if is_text.is_some_and(|field| is_text_field(field.data_type())) {
                    within.expr = Box::new(self.as_text(*within.expr));
                    return Ok(Transformed::yes(Expr::InSubquery(within)));
                }
                Ok(Transformed::no(Expr::InSubquery(within)))
            }
            Expr::Case(case) => self.coerce_case(case),
            Expr::Cast(cast)
                if is_text(cast.field.data_type()) && self.is_address(&cast.expr) =>
            {
                Ok(Transformed::yes(self.as_text(*cast.expr)))
            }
            Expr::ScalarFunction(function) => self.coerce_function(function),
            expr => Ok(Transformed::no(expr)),
        }
    }

    fn coerce_comparison(&self, binary: BinaryExpr) -> Result<Transformed<Expr>> {
        let BinaryExpr { left, op, right } = binary;
        let (left, right) = match (self.is_address(&left), self.is_address(&right)) {
            (true, false) => (left, Box::new(self.as_address(*right)?)),
            (false, true) => (Box::new(self.as_address(*left)?), right),
            _ => return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }))),
        };
        Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr {
            left,
            op,
            right,
        })))
    }

    /// `CASE ip.src WHEN '10.0.0.1' THEN …`.
    fn coerce_case(&self, case: Case) -> Result<Transformed<Expr>> {
        if !case.expr.as_ref().is_some_and(|expr| self.is_address(expr)) {
            return Ok(Transformed::no(Expr::Case(case)));
        }
        let branches = case.when_then_expr.into_iter().map(|(when, then)| {
            let when = Box::new(self.as_address(*when)?);
            Ok((when, then))
        });
        Ok(Transformed::yes(Expr::Case(Case {
            expr: case.expr,
            when_then_expr: branches.collect::<Result<_>>()?,
            else_expr: case.else_expr,
        })))
    }

    /// Functions of text get the text of an address; those that mix their arguments get addresses.
    fn coerce_function(&self, function: ScalarFunction) -> Result<Transformed<Expr>> {
        let name = function.func.name();
        if name == CIDR_MATCH {
            if let Some(Expr::Literal(network, _)) = function.args.get(1)
                && let Some(Some(text)) = network.try_as_str()
            {
                parse_network(text)?;
            }
            return Ok(Transformed::no(Expr::ScalarFunction(function)));
        }
        if name == ADDRESS_TEXT || !function.args.iter().any(|arg| self.is_address(arg)) {
            return Ok(Transformed::no(Expr::ScalarFunction(function)));
        }
        let args: Vec<Expr> = if MIXING_FUNCTIONS.contains(&name) {
            let args = function.args.into_iter().map(|arg| self.as_address(arg));
            args.collect::<Result<_>>()?
        } else if TEXT_FUNCTIONS.contains(&name) {
            let args = function.args.into_iter();
            args.map(|arg| if self.is_address(&arg) { self.as_text(arg) } else { arg }).collect()
        } else {
            return Ok(Transformed::no(Expr::ScalarFunction(function)));
        };
        Ok(Transformed::yes(Expr::ScalarFunction(ScalarFunction {
            func: function.func,
            args,
        })))
    }

    fn as_text(&self, expr: Expr) -> Expr {
        if self.is_address(&expr) {
            function::address_text().call(vec![expr])
        } else {
            expr
        }
    }

    /// The other side of a comparison as an address: literals are read now, text columns for each
    /// row. What is no text is left to the planner.
    fn as_address(&self, expr: Expr) -> Result<Expr> {
        match &expr {
            Expr::Literal(value, _) => match value.try_as_str() {
                Some(Some(text)) => match text.trim().parse::<Address>() {
                    Ok(address) => {
                        let bytes = address.as_bytes().to_vec();
                        Ok(Expr::Literal(ScalarValue::BinaryView(Some(bytes)), None))
                    }
                    Err(_) if text.contains('/') => plan_err!(
                        "'{text}' is not an address; for a network write cidr_match(column, '{text}')"
                    ),
                    Err(error) => plan_err!("'{text}' is {error}"),
                },
                Some(None) => Ok(Expr::Literal(ScalarValue::BinaryView(None), None)),
                None => Ok(expr),
            },
            _ if !self.is_address(&expr) && self.is_text(&expr) => {
                Ok(function::address().call(vec![expr]))
            }
            _ => Ok(expr),
        }
    }
}

const fn is_comparison(op: Operator) -> bool {
    matches!(
        op,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom
    )
}

const fn takes_text(op: Operator) -> bool {
    matches!(
        op,
        Operator::StringConcat
            | Operator::RegexMatch
            | Operator::RegexIMatch
            | Operator::RegexNotMatch
            | Operator::RegexNotIMatch
            | Operator::LikeMatch
            | Operator::ILikeMatch
            | Operator::NotLikeMatch
            | Operator::NotILikeMatch
    )
}

fn is_binary(data_type: &DataType) -> bool {
    match data_type {
        DataType::Binary | DataType::BinaryView | DataType::LargeBinary => true,
        DataType::List(item) => is_binary(item.data_type()),
        _ => false,
    }
}

const fn is_text(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8
    )
}

fn is_text_field(data_type: &DataType) -> bool {
    is_text(data_type)
}

/// Functions that give back one of their arguments.
const MIXING_FUNCTIONS: &[&str] = &["coalesce", "nullif", "nvl", "nvl2", "greatest", "least"];

/// Functions that work on text.
const TEXT_FUNCTIONS: &[&str] = &[
    "ascii", "btrim", "character_length", "concat", "concat_ws", "contains", "ends_with",
    "find_in_set", "initcap", "left", "length", "levenshtein", "lower", "lpad", "ltrim",
    "regexp_count", "regexp_instr", "regexp_like", "regexp_match", "regexp_replace", "repeat",
    "replace", "reverse", "right", "rpad", "rtrim", "split_part", "starts_with", "strpos",
    "substr", "substr_index", "substring", "to_char", "translate", "trim", "upper",
];
