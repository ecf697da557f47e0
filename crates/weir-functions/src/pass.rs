//! A pass over a logical plan before DataFusion's own analyzer, and the one walk that does several of them.
//!
//! The planner's meaning of an operator is not weir's where addresses meet text, closed vocabularies meet other spellings, integers
//! overflow, and texts grow. Each of these is a [`Pass`]. The walk goes from the leaves up, into subqueries, and does at each node what
//! the passes do in their order; a node that none of them changes, and none below it, stays as it is, with its schema: tables
//! have hundreds of columns, and each schema that is made anew looks every one of them up.

use std::cell::OnceCell;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, DFSchemaRef};
use datafusion::error::Result;
use datafusion::logical_expr::expr::Alias;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::grouping_set_to_exprlist;
use datafusion::logical_expr::{Expr, LogicalPlan};
use weir_tables::Vocabulary;

use crate::address;

/// One thing that is done at every node of a plan.
pub trait Pass {
    /// Changes what the node itself compares or mixes.
    fn node(&self, plan: LogicalPlan, _inputs: &Inputs) -> Result<Transformed<LogicalPlan>> {
        Ok(Transformed::no(plan))
    }

    /// Changes an expression of the node, when those in it have been changed. It is not called for a column by itself.
    fn expr(&self, expr: Expr, _inputs: &Inputs) -> Result<Transformed<Expr>> {
        Ok(Transformed::no(expr))
    }

    /// Puts something else in the place of the node, when all passes have seen its expressions.
    fn finish(&self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        Ok(Transformed::no(plan))
    }
}

/// The columns that expressions of a node can see.
pub struct Inputs {
    /// The columns of each input, and which of them are addresses.
    pub(crate) each: Vec<(DFSchemaRef, Vec<bool>)>,
    /// The columns of all inputs.
    all: OnceCell<DFSchemaRef>,
    has_words: OnceCell<bool>,
}

impl Inputs {
    /// The inputs of a plan's expressions, with these columns that are addresses.
    pub(crate) fn of(plan: &LogicalPlan, flags: Vec<Vec<bool>>) -> Self {
        let mut each = Vec::new();
        if let LogicalPlan::TableScan(_) = plan {
            each.push((Arc::clone(plan.schema()), address::own(plan)));
        }
        let inputs = plan.inputs().into_iter().zip(flags);
        each.extend(inputs.map(|(input, flags)| (Arc::clone(input.schema()), flags)));
        Self {
            each,
            all: OnceCell::new(),
            has_words: OnceCell::new(),
        }
    }

    /// The columns of all inputs.
    pub(crate) fn all(&self) -> &DFSchema {
        self.all.get_or_init(|| match self.each.as_slice() {
            [(schema, _)] => Arc::clone(schema),
            each => {
                let mut all = DFSchema::empty();
                each.iter().for_each(|(schema, _)| all.merge(schema));
                Arc::new(all)
            }
        })
    }

    /// Whether a column has words of a closed vocabulary.
    pub(crate) fn has_words(&self) -> bool {
        *self.has_words.get_or_init(|| {
            let schemas = self.each.iter();
            let mut fields = schemas.flat_map(|(schema, _)| schema.fields());
            fields.any(|field| Vocabulary::of_field(field).is_some())
        })
    }
}

/// Does the passes at every node of a plan.
pub fn walked(plan: LogicalPlan, passes: &[&dyn Pass]) -> Result<LogicalPlan> {
    Ok(walk(plan, passes, &mut Vec::new())?.data)
}

/// Adds to `flags` which columns of the node are addresses.
fn walk(
    plan: LogicalPlan,
    passes: &[&dyn Pass],
    flags: &mut Vec<Vec<bool>>,
) -> Result<Transformed<LogicalPlan>> {
    stacker::maybe_grow(ROOM_BYTES, STACK_BYTES, || {
        let mut below = Vec::new();
        let mut plan = plan
            .map_subqueries(|subquery| walk(subquery, passes, &mut Vec::new()))?
            .transform_sibling(|plan| plan.map_children(|child| walk(child, passes, &mut below)))?;
        let inputs = Inputs::of(&plan.data, below);
        plan = plan.transform_data(|plan| node(plan, &inputs, passes))?;
        if plan.transformed {
            plan = plan.map_data(LogicalPlan::recompute_schema)?;
        }
        flags.push(address::flags(&plan.data, &inputs));
        for pass in passes {
            plan = plan.transform_data(|plan| pass.finish(plan))?;
        }
        Ok(plan)
    })
}

/// One node, whose inputs have been walked.
fn node(
    plan: LogicalPlan,
    inputs: &Inputs,
    passes: &[&dyn Pass],
) -> Result<Transformed<LogicalPlan>> {
    let mut plan = Transformed::no(plan);
    for pass in passes {
        plan = plan.transform_data(|plan| pass.node(plan, inputs))?;
    }
    // Parents refer to an expression by its name, which must not change with it.
    let names = NamePreserver::new(&plan.data);
    let mut changed = |expr: Expr| -> Result<Transformed<Expr>> {
        if let Expr::Column(_) = expr {
            return Ok(Transformed::no(expr));
        }
        let name = names.save(&expr);
        let mut changed = Transformed::no(expr);
        for pass in passes {
            changed =
                changed.transform_data(|expr| expr.transform_up(|expr| pass.expr(expr, inputs)))?;
        }
        Ok(changed.update_data(|expr| name.restore(expr)))
    };
    let plan = plan.transform_data(|plan| {
        plan.map_expressions(|expr| {
            // The keys of a grouping set have a column each, and it has none itself.
            if let Expr::GroupingSet(_) = &expr {
                expr.map_children(&mut changed)
            } else {
                changed(expr)
            }
        })
    })?;
    plan.transform_data(with_keys)
}

/// Gives `grouping(key)` the keys of its aggregate with the names that these have kept: the planner looks for the same expression.
fn with_keys(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Aggregate(mut aggregate) = plan else {
        return Ok(Transformed::no(plan));
    };
    let keys = grouping_set_to_exprlist(&aggregate.group_expr)?;
    let keys = keys.into_iter().filter_map(|key| match key {
        Expr::Alias(alias) => Some(alias.clone()),
        _ => None,
    });
    let keys: Vec<Alias> = keys.collect();
    if keys.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let mut is_changed = false;
    for expr in &mut aggregate.aggr_expr {
        let named = std::mem::take(expr).transform_up(|expr| match expr {
            Expr::AggregateFunction(mut call) if call.func.name() == "grouping" => {
                let mut is_changed = false;
                for argument in &mut call.params.args {
                    if let Some(key) = keys.iter().find(|key| *key.expr == *argument) {
                        *argument = Expr::Alias(key.clone());
                        is_changed = true;
                    }
                }
                let call = Expr::AggregateFunction(call);
                Ok(Transformed::new_transformed(call, is_changed))
            }
            expr => Ok(Transformed::no(expr)),
        })?;
        is_changed |= named.transformed;
        *expr = named.data;
    }
    Ok(Transformed::new_transformed(
        LogicalPlan::Aggregate(aggregate),
        is_changed,
    ))
}

const ROOM_BYTES: usize = 1 << 20;
const STACK_BYTES: usize = 8 << 20;
