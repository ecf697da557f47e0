//! Aggregates that are computed while captures are decoded.
//!
//! A rule of the physical optimiser turns an aggregate over scans of captures, with filters, projections and UNION ALL
//! in between, into one [`FusedAggregate`]: each record is decoded as far as the spec needs, decided on, and added to
//! its group, without an Arrow array in between. Scans of the same files become branches of one pass. An aggregate that
//! the operator does not support stays as it is, so that every query has an answer, and the same one.

mod convert;
mod node;
mod pass;
mod sketch;
mod work;

use std::sync::Arc;

use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::Result;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::union::UnionExec;
use weir_packet::Kind;
use weir_tables::{Aggregate, Branch, Expression, Function, Parts, Predicate};

use crate::exchange::behind_exchanges;
use crate::plan_node::named_rule;
use crate::scan::CaptureScan;
use convert::{Scope, Types};
pub(crate) use node::FusedAggregate;
pub(crate) use pass::{AggregateSpec, Pass, ScanInput};
use sketch::Borrowed;
pub(crate) use work::{Certified, GrantedGroups, Work};

/// See the module. Stands in front of the rules that deal out partitions, so that they see one
/// operator that reads side by side by itself.
#[derive(Debug)]
pub(crate) struct FuseAggregates {
    /// Bytes that all operators may hold. Groups that take up much of them are given to DataFusion's
    /// own operator, which puts them together, and spills them where they do not fit.
    pub(crate) memory_limit_bytes: Option<usize>,
}

impl PhysicalOptimizerRule for FuseAggregates {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let threads = config.execution.target_partitions;
        plan.transform_down(|plan| {
            let changed = match self.memory_limit_bytes {
                None => {
                    whole(&plan, threads).map(|fused| Arc::new(fused) as Arc<dyn ExecutionPlan>)
                }
                Some(limit) => in_part(&plan, (limit / PARTS_OF_LIMIT).min(PARTIAL_BYTES_MAX))?,
            };
            Ok(match changed {
                Some(changed) => Transformed::yes(changed),
                None => Transformed::no(plan),
            })
        })
        .data()
    }

    named_rule!("fuse_aggregates");
}

/// The aggregate as one operator; `None` when a part of it is not known to it.
fn whole(plan: &Arc<dyn ExecutionPlan>, threads: usize) -> Option<FusedAggregate> {
    let top = plan.downcast_ref::<AggregateExec>()?;
    let bottom = match top.mode() {
        AggregateMode::Single | AggregateMode::SinglePartitioned => top,
        AggregateMode::Final | AggregateMode::FinalPartitioned => {
            let bottom = behind_exchanges(top.input()).downcast_ref::<AggregateExec>()?;
            (*bottom.mode() == AggregateMode::Partial).then_some(bottom)?
        }
        _ => return None,
    };
    // Parents may count on an order that the groups came in.
    let in_order = top.properties().output_ordering().is_some();
    fused(bottom, &top.schema(), threads, None).filter(|_| !in_order)
}

/// The part of the aggregate that reads as one operator, which gives out groups of so many bytes.
pub(crate) fn in_part(
    plan: &Arc<dyn ExecutionPlan>,
    partial_bytes: usize,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    in_part_by(plan, partial_bytes, |_, fused| {
        Some(Arc::new(fused) as Arc<dyn ExecutionPlan>)
    })
}

/// The aggregate with another operator in place of the part that reads: `replace` gets that part as it is and as one operator.
pub(crate) fn in_part_by(
    plan: &Arc<dyn ExecutionPlan>,
    partial_bytes: usize,
    replace: impl Fn(&AggregateExec, FusedAggregate) -> Option<Arc<dyn ExecutionPlan>>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(aggregate) = plan.downcast_ref::<AggregateExec>() else {
        return Ok(None);
    };
    // Parents may count on an order that the groups came in.
    if aggregate.properties().output_ordering().is_some() {
        return Ok(None);
    }
    let fused = |partial: &AggregateExec| {
        let fused = fused(partial, &partial.schema(), 1, Some(partial_bytes))?;
        replace(partial, fused)
    };
    Ok(match aggregate.mode() {
        AggregateMode::Partial => fused(aggregate),
        AggregateMode::Single | AggregateMode::SinglePartitioned => {
            let of_mode = |mode, group_by, filters, input| {
                AggregateExec::try_new(
                    mode,
                    group_by,
                    aggregate.aggr_expr().to_vec(),
                    filters,
                    input,
                    aggregate.input_schema(),
                )
            };
            let group_by = aggregate.group_expr().clone();
            let filters = aggregate.filter_expr().to_vec();
            let input = Arc::clone(aggregate.input());
            let partial = of_mode(AggregateMode::Partial, group_by.clone(), filters, input)?;
            let Some(fused) = fused(&partial) else {
                return Ok(None);
            };
            let filters = vec![None; aggregate.aggr_expr().len()];
            let group_by = group_by.as_final();
            let whole = of_mode(AggregateMode::Final, group_by, filters, fused)?;
            Some(Arc::new(whole))
        }
        _ => None,
    })
}

/// One operator with this schema that computes `bottom`; `None` when it has an unsupported part.
fn fused(
    bottom: &AggregateExec,
    schema: &SchemaRef,
    threads: usize,
    partial_bytes: Option<usize>,
) -> Option<FusedAggregate> {
    if !bottom.group_expr().is_single() || bottom.group_expr().has_grouping_set() {
        return None;
    }
    let scans = scans(bottom.input())?;
    let mut functions = Vec::new();
    // Without keys, states are merged by an accumulator of one group.
    let merges_alone = partial_bytes.is_some() && bottom.group_expr().expr().is_empty();
    for aggregate in bottom.aggr_expr() {
        functions.push(function(aggregate, &scans.first()?.scope, merges_alone)?);
    }
    let mut passes: Vec<Pass> = Vec::new();
    for scan in scans {
        let branch = branch(bottom, &functions, &scan)?;
        let known = passes
            .iter_mut()
            .find(|pass| pass.scan_input.reading == *scan.scan.reading());
        match known {
            Some(pass) => pass.branches.push(branch),
            None => passes.push(Pass {
                scan_input: ScanInput {
                    reading: scan.scan.reading().clone(),
                    partitions: scan.scan.partitions().to_vec(),
                    parts: 1,
                    part: None,
                },
                branches: vec![branch],
            }),
        }
    }
    let functions: Vec<Function> = functions
        .into_iter()
        .map(|(function, _)| function)
        .collect();
    for pass in &mut passes {
        // The aggregate is made to check that its types go together and its keys are not too long.
        let mut aggregate = Aggregate::new(pass.branches.clone(), &functions)?;
        if partial_bytes.is_some() {
            aggregate = aggregate.giving_states()?;
        }
        pass.scan_input.parts = parts(pass, &aggregate, threads);
    }
    let same_types = |pass: &Pass| {
        let first = passes.first().and_then(|pass| pass.branches.first());
        let kinds = |branch: &Branch| -> Vec<Kind> {
            let arguments = branch.arguments.iter().flatten();
            branch
                .keys
                .iter()
                .chain(arguments)
                .map(Expression::kind)
                .collect()
        };
        pass.branches.first().map(kinds) == first.map(kinds)
    };
    passes.iter().all(same_types).then_some(())?;
    let branch = passes.first()?.branches.first()?;
    let types = branch.types(&functions, partial_bytes.is_some());
    let fields = schema.fields().iter();
    fields
        .map(|field| field.data_type())
        .eq(types.iter())
        .then(|| FusedAggregate::new(Arc::clone(schema), passes, functions, partial_bytes))
}

/// Parts of its one file that a pass may read side by side.
fn parts(pass: &Pass, aggregate: &Aggregate, threads: usize) -> usize {
    let reading = &pass.scan_input.reading;
    let [source] = reading.sources.as_slice() else {
        return 1;
    };
    // The order of the records is checked by one reader of the whole file.
    let is_free = !reading.sorted && aggregate.allows_parts() && Parts::may_be_of(source);
    if is_free { threads.max(1) } else { 1 }
}

/// A scan below an aggregate, with what lies between the two.
struct ScanBelow<'p> {
    scan: &'p CaptureScan,
    scope: Scope,
    predicate: Option<Predicate>,
}

/// The scans that feed a plan; `None` when something stands between that is not known.
fn scans(plan: &Arc<dyn ExecutionPlan>) -> Option<Vec<ScanBelow<'_>>> {
    let plan = behind_exchanges(plan);
    if let Some(scan) = plan.downcast_ref::<CaptureScan>() {
        return (scan.limit().is_none() && scan.is_plain()).then(|| {
            vec![ScanBelow {
                scan,
                scope: Scope::of_scan(scan),
                predicate: scan.predicate().cloned(),
            }]
        });
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let mut below = scans(projection.input())?;
        for scan in &mut below {
            let exprs = projection.expr().iter().map(|expr| &expr.expr);
            scan.scope = scan.scope.projected(exprs);
        }
        return Some(below);
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        if filter.fetch().is_some() {
            return None;
        }
        let mut below = scans(filter.input())?;
        for scan in &mut below {
            let predicate = scan.scope.predicate(filter.predicate())?;
            scan.predicate = Some(match scan.predicate.take() {
                Some(before) => Predicate::And(vec![before, predicate]),
                None => predicate,
            });
            if let Some(kept) = filter.projection() {
                scan.scope = scan.scope.kept(kept);
            }
        }
        return Some(below);
    }
    plan.downcast_ref::<UnionExec>()?;
    let mut all = Vec::new();
    for input in plan.children() {
        all.extend(scans(input)?);
    }
    Some(all)
}

/// The branch of a scan: what its rows add to the groups.
fn branch(
    aggregate: &AggregateExec,
    functions: &[(Function, Option<Arc<dyn PhysicalExpr>>)],
    scan: &ScanBelow<'_>,
) -> Option<Branch> {
    let mut keys = Vec::new();
    for (expr, _) in aggregate.group_expr().expr() {
        keys.push(scan.scope.expression(expr)?);
    }
    let mut arguments = Vec::new();
    for (function, argument) in functions {
        arguments.push(match argument {
            None => None,
            Some(argument) => Some(scan.scope.argument(argument, function)?),
        });
    }
    let mut filters = Vec::new();
    for filter in aggregate.filter_expr() {
        filters.push(match filter {
            None => None,
            Some(filter) => Some(scan.scope.predicate(filter)?),
        });
    }
    Some(Branch {
        predicate: scan.predicate.clone(),
        keys,
        arguments,
        filters,
    })
}

/// An aggregate function with its argument; `None` when it is not one of ours. Its states are merged by an accumulator of one group where
/// it `merges_alone`.
fn function(
    aggregate: &AggregateFunctionExpr,
    scope: &Scope,
    merges_alone: bool,
) -> Option<(Function, Option<Arc<dyn PhysicalExpr>>)> {
    if let Some((borrowed, argument)) = Borrowed::new(aggregate, merges_alone) {
        let is_float = scope.floated(&argument).is_some();
        let function = Function::Sketch(Arc::new(borrowed.of_floats(is_float)));
        let kind = scope.argument(&argument, &function)?.kind();
        return function.takes(kind).then_some((function, Some(argument)));
    }
    let arguments = aggregate.expressions();
    let [argument] = arguments.as_slice() else {
        return None;
    };
    let of_all = aggregate.order_bys().is_empty() && !aggregate.ignore_nulls();
    let name = aggregate.fun().name();
    if aggregate.is_distinct() && name != "count" && name != "min" && name != "max" {
        return None;
    }
    let literal = argument.downcast_ref::<Literal>();
    let function = match name {
        // The planner writes count(*) as count(1).
        "count" if literal.is_some() => {
            let counts = literal.is_some_and(|literal| !literal.value().is_null());
            return (counts && !aggregate.is_distinct()).then_some((Function::CountRows, None));
        }
        "count" if aggregate.is_distinct() => Function::CountDistinct,
        "count" => Function::Count,
        "sum" => match aggregate.field().data_type() {
            DataType::Float64 => Function::SumFloat,
            DataType::Int64 | DataType::UInt64 => Function::Sum,
            _ => return None,
        },
        "avg" => Function::Average,
        "min" => Function::Minimum,
        "max" => Function::Maximum,
        "bit_and" => Function::BitAnd,
        "bit_or" => Function::BitOr,
        "bit_xor" => Function::BitExclusiveOr,
        "bool_and" => Function::BoolAnd,
        "bool_or" => Function::BoolOr,
        "first_value" if of_all => Function::First,
        "last_value" if of_all => Function::Last,
        _ => return None,
    };
    let kind = scope.argument(argument, &function)?.kind();
    function
        .takes(kind)
        .then(|| (function, Some(Arc::clone(argument))))
}

/// The share of the memory limit that the groups of one operator may have.
const PARTS_OF_LIMIT: usize = 8;
/// The maximum memory of groups without a limit: more of them miss the cache, and fewer of them are merged.
pub(crate) const PARTIAL_BYTES_MAX: usize = 64 << 20;
