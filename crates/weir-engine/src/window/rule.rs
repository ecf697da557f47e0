//! The rule that finds windows in plans.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{internal_err, plan_err};
use datafusion::error::Result;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;

use super::aggregate::{WindowAggregate, WindowSpec};
use super::assign::Window;
use super::function::{
    CLOSED_BY, GAP, HOP, LENGTH, SESSION, SLIDE, TUMBLE, check_hop, not_constant,
};
use super::join;
use super::length::{length, window_type};
use super::ordered::ordered;
use super::time_order::TimeOrder;
use crate::exchange::behind_exchanges;
use crate::file_order;
use crate::plan_node::named_rule;
use crate::scan::CaptureScan;

/// Plans window aggregates, and joins of streams, by the operators of this module. The rule stands before those of partitioning,
/// ordering and joins.
#[derive(Debug)]
pub(crate) struct PlanWindows;

impl PhysicalOptimizerRule for PlanWindows {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| {
            let changed = if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
                windowed(aggregate)?
            } else if let Some(hash_join) = plan.downcast_ref::<HashJoinExec>() {
                join::forgetting(hash_join)?
            } else {
                None
            };
            Ok(match changed {
                Some(changed) => Transformed::yes(changed),
                None => Transformed::no(plan),
            })
        })
        .data()
    }

    named_rule!("plan_windows");
}

/// The aggregate as one operator; `None` when it has no windows, or when they need no operator.
fn windowed(top: &AggregateExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let bottom = match top.mode() {
        AggregateMode::Single | AggregateMode::SinglePartitioned => top,
        AggregateMode::Final | AggregateMode::FinalPartitioned => {
            match behind_exchanges(top.input()).downcast_ref::<AggregateExec>() {
                Some(bottom) if *bottom.mode() == AggregateMode::Partial => bottom,
                _ => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    if bottom.group_expr().has_grouping_set() {
        return Ok(None);
    }
    let keys = bottom.group_expr().expr();
    let input = behind_exchanges(bottom.input());
    let mut found = None;
    for (index, (key, _)) in keys.iter().enumerate() {
        if let Some((window, is_tumble)) = window(key, input)? {
            found = Some((index, window, is_tumble));
            if !is_tumble {
                break;
            }
        }
    }
    let Some((window_index, window, is_tumble)) = found else {
        return Ok(None);
    };
    let hard = |aggregate: &&Arc<_>| -> bool {
        let aggregate: &datafusion::physical_expr::aggregate::AggregateFunctionExpr = aggregate;
        !aggregate.order_bys().is_empty() && aggregate.order_sensitivity().hard_requires()
    };
    if let Some(aggregate) = bottom.aggr_expr().iter().find(hard) {
        return match is_tumble {
            true => Ok(None),
            false => plan_err!(
                "{} has an ORDER BY, which windows do not keep",
                aggregate.fun().name()
            ),
        };
    }
    let ordered = match window.over() {
        Some(over) => ordered(input, over)?,
        None => Some(in_sequence(input)?),
    };
    let (input, streaming) = match (ordered, &window) {
        (Some(input), _) => (input, true),
        // DataFusion's own aggregate spreads over threads and spills.
        (None, Window::Fixed { .. }) if is_tumble => return Ok(None),
        (None, Window::Fixed { .. }) => (Arc::clone(input), false),
        (None, _) => (Arc::clone(input), true),
    };
    let spec = WindowSpec {
        window,
        keys: keys.to_vec(),
        window_index,
        aggregates: bottom.aggr_expr().to_vec(),
        filters: bottom.filter_expr().to_vec(),
        schema: top.schema(),
    };
    let node = WindowAggregate::new(input, Arc::new(spec), streaming);
    Ok(Some(Arc::new(node)))
}

/// The window that a key is, and whether it is `tumble`, which depends on a row alone.
fn window(
    key: &Arc<dyn PhysicalExpr>,
    input: &Arc<dyn ExecutionPlan>,
) -> Result<Option<(Window, bool)>> {
    if let Some(column) = key.downcast_ref::<Column>() {
        return projected(column, key, input);
    }
    let Some(call) = key.downcast_ref::<ScalarFunctionExpr>() else {
        return Ok(None);
    };
    let name = call.fun().name();
    if ![TUMBLE, HOP, SESSION, CLOSED_BY].contains(&name) {
        return Ok(None);
    }
    let Some((first, rest)) = call.args().split_first() else {
        return internal_err!("{name} has no argument");
    };
    if name == CLOSED_BY {
        let window = Window::ClosedBy {
            predicate: Arc::clone(first),
            keys: rest.to_vec(),
        };
        return Ok(Some((window, false)));
    }
    let kind = window_type(name, &first.data_type(&input.schema())?)?;
    let constant = |index: usize, what: &str| match rest.get(index) {
        Some(argument) => match argument.downcast_ref::<Literal>() {
            Some(literal) => length(&kind, literal.value(), what),
            None => Err(not_constant(what)),
        },
        None => internal_err!("{name} lacks an argument"),
    };
    let over = Arc::clone(first);
    let window = if name == SESSION {
        Window::Session {
            over,
            gap: constant(0, GAP)?,
            keys: rest.iter().skip(1).cloned().collect(),
        }
    } else {
        let size = constant(0, LENGTH)?;
        let slide = match name {
            HOP => constant(1, SLIDE)?,
            _ => size,
        };
        check_hop(size, slide)?;
        Window::Fixed { over, size, slide }
    };
    Ok(Some((window, name == TUMBLE)))
}

/// A key that a projection below computes as `tumble`: its starts rise as the times do.
fn projected(
    column: &Column,
    key: &Arc<dyn PhysicalExpr>,
    input: &Arc<dyn ExecutionPlan>,
) -> Result<Option<(Window, bool)>> {
    let Some(projection) = input.downcast_ref::<ProjectionExec>() else {
        return Ok(None);
    };
    let Some(computed) = projection.expr().get(column.index()) else {
        return Ok(None);
    };
    Ok(match window(&computed.expr, projection.input())? {
        Some((Window::Fixed { size, slide, .. }, true)) => {
            let over = Arc::clone(key);
            Some((Window::Fixed { over, size, slide }, true))
        }
        _ => None,
    })
}

/// The plan with its records in the order in which they were captured.
fn in_sequence(plan: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let sequence = file_order::in_sequence(Arc::clone(plan))?;
    let mut below = &sequence;
    while let [input] = below.children().as_slice() {
        if below.maintains_input_order() != [true] {
            break;
        }
        below = input;
    }
    if below.downcast_ref::<CaptureScan>().is_none() && below.downcast_ref::<TimeOrder>().is_none()
    {
        return plan_err!(
            "closed_by needs records in their order, which {} does not keep; join, sort or aggregate above it",
            below.name()
        );
    }
    Ok(sequence)
}
