//! Addresses in plans: which expressions are addresses, how they compare with text, and how they
//! leave as text.
//!
//! An address is a binary value, so that it groups, joins and compares as bytes. The planner has no such type: it would
//! compare the bytes of `10.0.0.1` with its nine characters, and find nothing. [`Addresses`] is a pass over every plan
//! before the planner's own type coercion.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{
    Column, DFSchema, DFSchemaRef, NullEquality, ScalarValue, internal_err, plan_err,
};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{
    AggregateFunction, Alias, Between, InList, InSubquery, Like, ScalarFunction, SetComparison,
    Sort, WindowFunction,
};
use datafusion::logical_expr::{
    BinaryExpr, Case, Cast, Expr, ExprSchemable, Join, JoinConstraint, JoinType, LogicalPlan,
    LogicalPlanBuilder, Operator, Projection, Subquery, TryCast, Union, WindowFrame,
    WindowFrameBound, WindowFrameUnits,
};
use datafusion::physical_expr::expressions::Column as PlacedColumn;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use weir_packet::Address;
use weir_tables::is_address;

use crate::function::{
    self, ADDRESS, ADDRESS_TEXT, CIDR_MATCH, HASH_FUNCTIONS, MIXING_FUNCTIONS, TEXT_FUNCTIONS,
    parse_network,
};
use crate::pass::{Inputs, Pass};
use crate::payload;
use crate::top_k::APPROX_TOP_K;

/// Makes comparisons of addresses with text compare addresses.
pub struct Addresses;

impl Pass for Addresses {
    /// Makes addresses and texts meet as one of both where a plan node itself compares or mixes them.
    fn node(&self, plan: LogicalPlan, inputs: &Inputs) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Join(join) => coerce_keys(join, inputs),
            LogicalPlan::Union(union) => coerce_union(union, inputs),
            plan => Ok(Transformed::no(plan)),
        }
    }

    fn expr(&self, expr: Expr, inputs: &Inputs) -> Result<Transformed<Expr>> {
        NodeColumns::of(inputs).coerce(expr)
    }
}

/// The keys of USING and NATURAL joins, and the columns of INTERSECT and EXCEPT.
fn coerce_keys(mut join: Join, inputs: &Inputs) -> Result<Transformed<LogicalPlan>> {
    let [left, right] = inputs.each.as_slice() else {
        return internal_err!("a join has two inputs");
    };
    let side = |each| NodeColumns { each, inputs };
    let (left, right) = (
        side(std::slice::from_ref(left)),
        side(std::slice::from_ref(right)),
    );
    let mut changed = false;
    for (key, other) in &mut join.on {
        let (scope, text) = match (left.is_address(key), right.is_address(other)) {
            (true, false) if right.is_text(other) => (&right, &mut *other),
            (false, true) if left.is_text(key) => (&left, &mut *key),
            _ => continue,
        };
        changed = true;
        if join.null_equality == NullEquality::NullEqualsNothing {
            *text = scope.as_address(text.clone())?;
        } else {
            // A text that is not an address must not become a NULL, which would equal others.
            *key = left.as_text(key.clone());
            *other = right.as_text(other.clone());
        }
    }
    if changed {
        // USING is for columns; which of both is shown has been decided already.
        join.join_constraint = JoinConstraint::On;
    }
    Ok(match changed {
        true => Transformed::yes(LogicalPlan::Join(join)),
        false => Transformed::no(LogicalPlan::Join(join)),
    })
}

/// Makes a column of a union text when one branch has addresses and another has text.
fn coerce_union(union: Union, inputs: &Inputs) -> Result<Transformed<LogicalPlan>> {
    let flags: Vec<_> = inputs.each.iter().map(|(_, flags)| flags.clone()).collect();
    let is_mixed = |position: usize| {
        let has_address = flags.iter().any(|flags| flags.get(position) == Some(&true));
        let has_text = union.inputs.iter().any(|input| {
            let field = input.schema().fields().get(position);
            field.is_some_and(|field| is_text(field.data_type()))
        });
        has_address && has_text
    };
    let mixed: Vec<bool> = (0..union.schema.fields().len()).map(is_mixed).collect();
    // A branch that is a union itself may have become text: the schema still has its former type, and the planner of
    // aggregates compares the two.
    let is_outdated = |(position, field)| {
        is_address(field) && flags.iter().all(|flags| flags.get(position) != Some(&true))
    };
    let mut fields = union.schema.fields().iter().map(AsRef::as_ref).enumerate();
    if !mixed.contains(&true) && !fields.any(is_outdated) {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    }
    let inputs = union.inputs.iter().zip(flags).map(|(input, flags)| {
        let wanted = flags.iter().zip(&mixed).map(|(is, mixed)| *is && *mixed);
        with_text(input.as_ref().clone(), wanted.collect()).map(Arc::new)
    });
    let inputs = inputs.collect::<Result<_>>()?;
    let union = Union::try_new_with_loose_types(inputs)?;
    Ok(Transformed::yes(LogicalPlan::Union(union)))
}

/// Turns the address columns of the answer into text.
pub fn to_text(plan: LogicalPlan) -> Result<LogicalPlan> {
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
            let flags = addresses(&plan);
            with_text(plan, flags)
        }
    }
}

/// The rows of a plan, with the address columns of `answer` as text: as [`to_text`], but behind all else that planning does. A
/// step of a logical plan that names hundreds of columns takes DataFusion milliseconds, since each rule looks each of them up by its
/// name.
pub fn rows_to_text(
    plan: Arc<dyn ExecutionPlan>,
    answer: &Schema,
    options: &Arc<ConfigOptions>,
) -> Result<Arc<dyn ExecutionPlan>> {
    if !answer.fields().iter().any(|field| is_address(field)) {
        return Ok(plan);
    }
    let rows = plan.schema();
    let function = Arc::new(function::address_text());
    let columns = answer.fields().iter().enumerate().map(|(index, field)| {
        let column: Arc<dyn PhysicalExpr> = Arc::new(PlacedColumn::new(field.name(), index));
        let expr: Arc<dyn PhysicalExpr> = if is_address(field) {
            Arc::new(ScalarFunctionExpr::try_new(
                Arc::clone(&function),
                vec![column],
                &rows,
                Arc::clone(options),
            )?)
        } else {
            column
        };
        Ok((expr, field.name().clone()))
    });
    let columns: Vec<_> = columns.collect::<Result<_>>()?;
    Ok(Arc::new(ProjectionExec::try_new(columns, plan)?))
}

/// The origins of the address columns of a plan: the table column that each comes from, under any name.
pub fn origins(plan: &LogicalPlan) -> Vec<Option<String>> {
    let flags = addresses(plan).into_iter().enumerate();
    flags
        .map(|(position, is)| is.then(|| origin(plan, position)).flatten())
        .collect()
}

/// The column of a table that the column at this position of a plan is.
fn origin(plan: &LogicalPlan, position: usize) -> Option<String> {
    let among = |exprs: &[Expr], input: &LogicalPlan| -> Option<String> {
        let mut expr = exprs.get(position)?;
        while let Expr::Alias(alias) = expr {
            expr = &alias.expr;
        }
        match expr {
            Expr::Column(column) => origin(input, input.schema().maybe_index_of_column(column)?),
            _ => None,
        }
    };
    match plan {
        LogicalPlan::TableScan(_) => Some(plan.schema().fields().get(position)?.name().clone()),
        LogicalPlan::Projection(projection) => among(&projection.expr, &projection.input),
        LogicalPlan::Aggregate(aggregate) => among(&aggregate.group_expr, &aggregate.input),
        LogicalPlan::SubqueryAlias(alias) => origin(&alias.input, position),
        // The columns of the input are at their places, and those that a window adds are behind them.
        LogicalPlan::Filter(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Repartition(_)
        | LogicalPlan::Window(_) => {
            let input = plan.inputs().into_iter().next()?;
            let is_of_input = position < input.schema().fields().len();
            is_of_input.then(|| origin(input, position)).flatten()
        }
        LogicalPlan::Distinct(_) | LogicalPlan::Join(_) => {
            let (relation, field) = plan.schema().iter().nth(position)?;
            let column = Column::new(relation.cloned(), field.name());
            plan.inputs().into_iter().find_map(|input| {
                let position = input.schema().maybe_index_of_column(&column)?;
                Some(origin(input, position))
            })?
        }
        _ => None,
    }
}

/// Adds a step that turns the columns that are flagged into text.
fn with_text(plan: LogicalPlan, flags: Vec<bool>) -> Result<LogicalPlan> {
    if !flags.contains(&true) {
        return Ok(plan);
    }
    let schema = Arc::clone(plan.schema());
    // The columns that stay what they are need not be looked up: tables have hundreds.
    let columns = schema.iter().zip(flags).map(|((relation, field), is)| {
        let column = Expr::Column(Column::new(relation.cloned(), field.name()));
        if is {
            let text = function::address_text()
                .call(vec![column])
                .alias_qualified(relation.cloned(), field.name());
            // Among all columns it would be compared with those before it.
            let column = vec![(relation.cloned(), Arc::clone(field))];
            let column = DFSchema::new_with_metadata(column, HashMap::new())?;
            let (_, field) = text.to_field(&column)?;
            Ok((text, (relation.cloned(), field)))
        } else {
            Ok((column, (relation.cloned(), Arc::clone(field))))
        }
    });
    let (exprs, fields): (Vec<Expr>, Vec<_>) =
        columns.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let projection = match schema.functional_dependencies().is_empty() {
        true => {
            let fields = DFSchema::new_with_metadata(fields, schema.metadata().clone())?;
            Projection::try_new_with_schema(exprs, plan.into(), Arc::new(fields))?
        }
        false => Projection::try_new(exprs, plan.into())?,
    };
    Ok(LogicalPlan::Projection(projection))
}

/// The columns of a plan's output that are addresses.
fn addresses(plan: &LogicalPlan) -> Vec<bool> {
    let below = plan.inputs().into_iter().map(addresses).collect();
    flags(plan, &Inputs::of(plan, below))
}

/// The columns that are addresses by their types.
pub(crate) fn own(plan: &LogicalPlan) -> Vec<bool> {
    let fields = plan.schema().fields();
    fields.iter().map(|field| is_address(field)).collect()
}

/// The columns of a plan's output that are addresses, if those of its inputs are known.
pub(crate) fn flags(plan: &LogicalPlan, inputs: &Inputs) -> Vec<bool> {
    let scope = NodeColumns::of(inputs);
    let of_exprs = |exprs: &[Expr]| -> Vec<bool> {
        let exprs = exprs.iter().enumerate();
        let flags = exprs.map(
            |(position, expr)| match scope.handed_through(position, expr) {
                Some(is) => is,
                None => scope.is_address(expr),
            },
        );
        flags.collect()
    };
    let of_input = |index: usize| -> Vec<bool> {
        let input = inputs.each.get(index);
        input.map(|(_, flags)| flags.clone()).unwrap_or_default()
    };
    let flags: Vec<bool> = match plan {
        LogicalPlan::TableScan(_) => own(plan),
        LogicalPlan::Projection(projection) => of_exprs(&projection.expr),
        LogicalPlan::Aggregate(aggregate) => {
            let mut flags = of_exprs(&aggregate.group_expr);
            // Grouping sets have their columns in another order, and one more.
            let group_columns = plan.schema().fields().len() - aggregate.aggr_expr.len();
            if flags.len() != group_columns {
                flags = own(plan);
                flags.truncate(group_columns);
            }
            flags.extend(of_exprs(&aggregate.aggr_expr));
            flags
        }
        LogicalPlan::Window(window) => {
            let mut flags = of_input(0);
            flags.extend(of_exprs(&window.window_expr));
            flags
        }
        LogicalPlan::Join(join) => {
            let (left, right) = (of_input(0), of_input(1));
            match join.join_type {
                JoinType::LeftSemi | JoinType::LeftAnti => left,
                JoinType::RightSemi | JoinType::RightAnti => right,
                JoinType::LeftMark => [left, vec![false]].concat(),
                JoinType::RightMark => [right, vec![false]].concat(),
                _ => [left, right].concat(),
            }
        }
        LogicalPlan::Union(union) => {
            let inputs: Vec<_> = inputs.each.iter().map(|(_, flags)| flags).collect();
            let is_null = |input: &LogicalPlan, position: usize| {
                let field = input.schema().fields().get(position);
                field.is_some_and(|field| field.data_type() == &DataType::Null)
            };
            let is_address = |position: usize| {
                let mut branches = union.inputs.iter().zip(&inputs);
                inputs
                    .iter()
                    .any(|flags| flags.get(position) == Some(&true))
                    && branches.all(|(input, flags)| {
                        flags.get(position) == Some(&true) || is_null(input, position)
                    })
            };
            (0..union.schema.fields().len()).map(is_address).collect()
        }
        _ => of_input(0),
    };
    if flags.len() == plan.schema().fields().len() {
        flags
    } else {
        own(plan)
    }
}

/// The columns that an expression of a plan node can see.
struct NodeColumns<'i> {
    each: &'i [(DFSchemaRef, Vec<bool>)],
    inputs: &'i Inputs,
}

impl<'i> NodeColumns<'i> {
    fn of(inputs: &'i Inputs) -> Self {
        Self {
            each: &inputs.each,
            inputs,
        }
    }

    /// Whether the expression at this position is an address, if it is the column of the single input at the same position, as
    /// those of `SELECT *` are: looking up each of hundreds by name would compare it with all before it.
    fn handed_through(&self, position: usize, expr: &Expr) -> Option<bool> {
        let (Expr::Column(column), [(schema, flags)]) = (expr, self.each) else {
            return None;
        };
        let flag = flags.get(position)?;
        let (relation, field) = schema.iter().nth(position)?;
        let is_same = relation == column.relation.as_ref() && *field.name() == column.name;
        is_same.then_some(*flag)
    }

    fn column_is_address(&self, column: &Column) -> bool {
        self.each.iter().any(|(schema, flags)| {
            schema
                .maybe_index_of_column(column)
                .and_then(|index| flags.get(index).copied())
                .unwrap_or(false)
        })
    }

    fn data_type(&self, expr: &Expr) -> Option<DataType> {
        self.each
            .iter()
            .find_map(|(schema, _)| expr.get_type(schema.as_ref()).ok())
            .or_else(|| match self.each {
                [] | [_] => None,
                _ => expr.get_type(self.inputs.all()).ok(),
            })
    }

    /// Whether the value of an expression is an address, or a list of them. A function preserves addresses: a binary result is an
    /// address if all binary arguments are.
    fn is_address(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Column(column) => self.column_is_address(column),
            Expr::OuterReferenceColumn(field, _) => is_address(field),
            Expr::Alias(Alias { expr, .. }) => self.is_address(expr),
            Expr::ScalarSubquery(subquery) => addresses(&subquery.subquery).first() == Some(&true),
            Expr::ScalarFunction(function) if function.func.name() == ADDRESS => true,
            Expr::ScalarFunction(function) if HASH_FUNCTIONS.contains(&function.func.name()) => {
                false
            }
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
            Expr::InList(list)
                if self.is_address(&list.expr)
                    || list.list.iter().any(|item| self.is_address(item)) =>
            {
                self.coerce_list(list)
            }
            Expr::Between(between)
                if [&between.expr, &between.low, &between.high]
                    .iter()
                    .any(|expr| self.is_address(expr)) =>
            {
                self.coerce_between(between)
            }
            Expr::Like(like) if self.is_address(&like.expr) => {
                let expr = Box::new(self.as_text(*like.expr));
                Ok(Transformed::yes(Expr::Like(Like { expr, ..like })))
            }
            Expr::Like(like)
                if self
                    .data_type(&like.expr)
                    .is_some_and(|kind| is_binary(&kind)) =>
            {
                Ok(Transformed::yes(payload::like(like)))
            }
            Expr::SimilarTo(like) if self.is_address(&like.expr) => {
                let expr = Box::new(self.as_text(*like.expr));
                Ok(Transformed::yes(Expr::SimilarTo(Like { expr, ..like })))
            }
            Expr::InSubquery(within) => {
                let (expr, subquery) =
                    self.coerce_subquery(*within.expr, within.subquery, Operator::Eq)?;
                Ok(Transformed::yes(Expr::InSubquery(InSubquery {
                    expr: Box::new(expr),
                    subquery,
                    negated: within.negated,
                })))
            }
            Expr::SetComparison(comparison) => self.coerce_set_comparison(comparison),
            Expr::Case(case) => self.coerce_case(case),
            Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field })
                if is_text(field.data_type()) && self.is_address(&expr) =>
            {
                Ok(Transformed::yes(self.as_text(*expr)))
            }
            Expr::WindowFunction(window) => Ok(self.by_peers(window)),
            Expr::ScalarFunction(function) => self.coerce_function(function),
            Expr::AggregateFunction(function) if function.func.name() == APPROX_TOP_K => {
                Ok(Transformed::yes(self.coerce_top_k(function)))
            }
            expr => Ok(Transformed::no(expr)),
        }
    }

    fn coerce_list(&self, list: InList) -> Result<Transformed<Expr>> {
        let items = list.list.into_iter().map(|item| self.as_equal(item));
        Ok(Transformed::yes(Expr::InList(InList {
            list: items.collect::<Result<_>>()?,
            expr: Box::new(self.as_equal(*list.expr)?),
            negated: list.negated,
        })))
    }

    fn coerce_between(&self, between: Between) -> Result<Transformed<Expr>> {
        Ok(Transformed::yes(Expr::Between(Between {
            expr: Box::new(self.as_address(*between.expr)?),
            negated: between.negated,
            low: Box::new(self.as_address(*between.low)?),
            high: Box::new(self.as_address(*between.high)?),
        })))
    }

    fn coerce_set_comparison(&self, comparison: SetComparison) -> Result<Transformed<Expr>> {
        let SetComparison {
            expr,
            subquery,
            op,
            quantifier,
        } = comparison;
        let (expr, subquery) = self.coerce_subquery(*expr, subquery, op)?;
        let expr = Box::new(expr);
        Ok(Transformed::yes(Expr::SetComparison(SetComparison::new(
            expr, subquery, op, quantifier,
        ))))
    }

    /// Addresses become texts: the function keeps its values in a struct, in which they would lose their type.
    fn coerce_top_k(&self, mut function: AggregateFunction) -> Expr {
        let arguments = std::mem::take(&mut function.params.args).into_iter();
        function.params.args = arguments
            .map(|argument| match self.is_address(&argument) {
                true => self.as_text(argument),
                false => argument,
            })
            .collect();
        Expr::AggregateFunction(function)
    }

    /// A frame that ends with the peers of a row becomes one of groups of peers, which types without distances support, too: RANGE
    /// needs distances.
    fn by_peers(&self, mut window: Box<WindowFunction>) -> Transformed<Expr> {
        use WindowFrameBound::{CurrentRow, Following, Preceding};
        let lacks_distances = |sort: &Sort| {
            self.data_type(&sort.expr)
                .is_some_and(|kind| is_binary(&kind) || has_no_range(&kind))
        };
        let has_distance = |bound: &WindowFrameBound| match bound {
            CurrentRow => false,
            Preceding(value) | Following(value) => !value.is_null(),
        };
        let frame = &window.params.window_frame;
        let is_changed = frame.units == WindowFrameUnits::Range
            && window.params.order_by.iter().any(lacks_distances)
            && !has_distance(&frame.start_bound)
            && !has_distance(&frame.end_bound);
        if is_changed {
            let (start, end) = (frame.start_bound.clone(), frame.end_bound.clone());
            let groups = WindowFrame::new_bounds(WindowFrameUnits::Groups, start, end);
            window.params.window_frame = groups;
        }
        match is_changed {
            true => Transformed::yes(Expr::WindowFunction(window)),
            false => Transformed::no(Expr::WindowFunction(window)),
        }
    }

    fn coerce_comparison(&self, binary: BinaryExpr) -> Result<Transformed<Expr>> {
        let BinaryExpr { left, op, right } = binary;
        let beside = |expr: Box<Expr>| -> Result<Box<Expr>> {
            Ok(Box::new(match is_order(op) {
                true => self.as_address(*expr)?,
                false => self.as_equal(*expr)?,
            }))
        };
        let (left, right) = match (self.is_address(&left), self.is_address(&right)) {
            (true, false) => (left, beside(right)?),
            (false, true) => (beside(left)?, right),
            _ => {
                return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr {
                    left,
                    op,
                    right,
                })));
            }
        };
        Ok(Transformed::yes(Expr::BinaryExpr(BinaryExpr {
            left,
            op,
            right,
        })))
    }

    /// A value and the values of a subquery that it is compared with. A text of the subquery that is not an address
    /// is unequal to all addresses: as a NULL it would make `NOT IN` unknown, and without it a subquery of such texts would be empty,
    /// in which NULL is not. It has no place in the order of addresses, and is left out of comparisons by that.
    fn coerce_subquery(
        &self,
        expr: Expr,
        subquery: Subquery,
        op: Operator,
    ) -> Result<(Expr, Subquery)> {
        let plan = &subquery.subquery;
        let column = plan.schema().iter().next();
        let is_address = addresses(plan).first() == Some(&true);
        match column {
            Some((relation, field)) if self.is_address(&expr) && is_text(field.data_type()) => {
                let text = Expr::Column(Column::new(relation.cloned(), field.name()));
                let mut read = LogicalPlanBuilder::from(plan.as_ref().clone());
                let address = match is_order(op) {
                    true => {
                        let address = function::address().call(vec![text.clone()]);
                        read = read.filter(text.is_null().or(address.clone().is_not_null()))?;
                        address
                    }
                    false => function::address_or_other().call(vec![text]),
                };
                let read = read.project([address.alias(field.name())])?.build()?;
                let subquery = subquery.with_plan(Arc::new(read));
                Ok((expr, subquery))
            }
            Some(_) if is_address => Ok((self.as_address(expr)?, subquery)),
            _ => Ok((expr, subquery)),
        }
    }

    /// `CASE ip.src WHEN '10.0.0.1' THEN …`, and branches of which some are addresses, some text.
    fn coerce_case(&self, mut case: Case) -> Result<Transformed<Expr>> {
        if case.expr.as_ref().is_some_and(|expr| self.is_address(expr)) {
            for (when, _) in &mut case.when_then_expr {
                **when = self.as_equal(when.as_ref().clone())?;
            }
        }
        let branches = case.when_then_expr.iter_mut().map(|(_, then)| then);
        let mut branches: Vec<_> = branches.chain(&mut case.else_expr).collect();
        if branches.iter().any(|branch| self.is_text(branch)) {
            for branch in &mut branches {
                ***branch = self.as_text(branch.as_ref().clone());
            }
        }
        Ok(Transformed::yes(Expr::Case(case)))
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
            args.map(|arg| {
                if self.is_address(&arg) {
                    self.as_text(arg)
                } else {
                    arg
                }
            })
            .collect()
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

    /// The address that a value is compared with: as [`Self::as_address`], but a text of a row that is not an address is unequal to
    /// all.
    fn as_equal(&self, expr: Expr) -> Result<Expr> {
        match &expr {
            Expr::Literal(..) => self.as_address(expr),
            _ if !self.is_address(&expr) && self.is_text(&expr) => {
                Ok(function::address_or_other().call(vec![expr]))
            }
            _ => Ok(expr),
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

/// Returns whether the operator compares two values.
pub(crate) const fn is_comparison(op: Operator) -> bool {
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

/// Returns whether the operator compares by order, in which a text that is not an address has no place.
const fn is_order(op: Operator) -> bool {
    matches!(
        op,
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq
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

/// Whether DataFusion has no frame of RANGE over a type, beside the binary ones.
const fn has_no_range(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Duration(_)
            | DataType::Interval(_)
            | DataType::Time32(_)
            | DataType::Time64(_)
            | DataType::Struct(_)
    )
}

const fn is_text(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8
    )
}
