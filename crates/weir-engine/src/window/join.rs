//! Joins of two streams that keep only what can still match.
//!
//! `a JOIN b ON a.key = b.key AND b.time BETWEEN a.time AND a.time + INTERVAL '1 second'`: where both
//! sides come in the order of time, a row is forgotten as soon as the other side has gone past all
//! times that it could be joined with.

mod bounds;
mod node;
mod side;

use std::sync::Arc;

use datafusion::common::{JoinSide, JoinType};
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;

use super::ordered::ordered;
use bounds::Bounds;
use node::{IntervalJoin, Match};

/// The join as one that drops old rows; `None` when its condition does not bound times, or a side is not in the order of time: then
/// the build side is kept whole.
pub(crate) fn forgetting(join: &HashJoinExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let known = matches!(
        join.join_type(),
        JoinType::Inner
            | JoinType::Left
            | JoinType::Right
            | JoinType::Full
            | JoinType::LeftSemi
            | JoinType::RightSemi
            | JoinType::LeftAnti
            | JoinType::RightAnti
    );
    if !known || join.null_aware || join.contains_projection() {
        return Ok(None);
    }
    let Some(filter) = join.filter() else {
        return Ok(None);
    };
    let Some(bounds) = Bounds::of(filter) else {
        return Ok(None);
    };
    let (left, right) = (join.left(), join.right());
    let left_time = column(left, bounds.left);
    let right_time = column(right, bounds.right);
    let (Some(left), Some(right)) = (ordered(left, &left_time)?, ordered(right, &right_time)?)
    else {
        return Ok(None);
    };
    let spec = Match {
        on: join.on().to_vec(),
        filter: filter.clone(),
        times: [left_time, right_time],
        bounds,
        join_type: *join.join_type(),
        null_equality: join.null_equality(),
        schema: join.schema(),
    };
    Ok(Some(Arc::new(IntervalJoin::new(
        left,
        right,
        Arc::new(spec),
    ))))
}

fn column(input: &Arc<dyn ExecutionPlan>, index: usize) -> Arc<dyn PhysicalExpr> {
    let schema = input.schema();
    let name = schema.fields().get(index).map_or("", |field| field.name());
    Arc::new(Column::new(name, index))
}

/// The index of a side in pairs of both.
const fn place(side: JoinSide) -> usize {
    match side {
        JoinSide::Right => 1,
        _ => 0,
    }
}
