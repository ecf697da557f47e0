//! Arithmetic on the unsigned numbers of headers.

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator};

/// Makes sums, differences and products of unsigned numbers signed numbers of 64 bits, everywhere
/// in the plan. In the columns' own types `frame.cap_len - frame.len` would wrap around and
/// `udp.srcport + udp.dstport` overflow, without a word.
pub(crate) fn widen(plan: LogicalPlan) -> Result<LogicalPlan> {
    let widened = plan.transform_up_with_subqueries(|plan| {
        let mut schema = DFSchema::empty();
        for input in plan.inputs() {
            schema.merge(input.schema());
        }
        // Parents know an expression by its name, which must not change with it.
        let names = NamePreserver::new(&plan);
        plan.map_expressions(|expr| {
            let name = names.save(&expr);
            let widened = expr.transform_up(|expr| Ok(widen_expr(expr, &schema)))?;
            Ok(widened.update_data(|expr| name.restore(expr)))
        })?
        .transform_data(|plan| Ok(Transformed::yes(plan.recompute_schema()?)))
    })?;
    Ok(widened.data)
}

fn widen_expr(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let is_unsigned = |expr: &Expr| {
        let data_type = expr.get_type(schema);
        data_type.is_ok_and(|data_type| data_type.is_unsigned_integer())
    };
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if matches!(op, Operator::Plus | Operator::Minus | Operator::Multiply)
                && is_unsigned(&left)
                && is_unsigned(&right) =>
        {
            let wide = |expr| Box::new(Expr::Cast(Cast::new(expr, DataType::Int64)));
            let (left, right) = (wide(left), wide(right));
            Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right }))
        }
        expr => Transformed::no(expr),
    }
}
