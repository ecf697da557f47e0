//! Projections that repeat the one below them.
//!
//! DataFusion's rule `optimize_projections` takes a projection away whose expressions are those of the projection below it. That
//! is wrong where they compute something: `SELECT x * 3 AS x FROM (SELECT x * 3 AS x FROM …)` would multiply once. DataFusion
//! 55 has the fault, and later versions do not (its pull request 24686). Until weir stands on one of these, a rule in front of it makes
//! such projections differ.

use std::sync::{Arc, LazyLock};

use arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::utils::take_function_args;
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, Projection, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use datafusion::optimizer::{ApplyOrder, Optimizer, OptimizerConfig, OptimizerRule};

use crate::joined::{ELIMINATE_JOIN, OfJoins};

/// The rules of DataFusion's optimizer, without those that are unsound or have no effect.
pub(crate) fn optimizer_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules = Optimizer::new().rules;
    for rule in &mut rules {
        if rule.name() == ELIMINATE_JOIN {
            *rule = Arc::new(OfJoins(Arc::clone(rule)));
        }
    }
    let mut index = 0;
    while let Some(rule) = rules.get(index) {
        if rule.name() == "optimize_projections" {
            rules.insert(index, Arc::new(TellRepeatedApart));
            index += 1;
        }
        index += 1;
    }
    rules
}

/// Makes a projection differ from the next one below it, if both compute the same expression.
#[derive(Debug)]
struct TellRepeatedApart;

impl OptimizerRule for TellRepeatedApart {
    fn name(&self) -> &'static str {
        "tell_repeated_apart"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Projection(projection) = &plan else {
            return Ok(Transformed::no(plan));
        };
        let computed = projection.expr.iter().position(|expr| !is_column(expr));
        let below = computing_below(&projection.input);
        let (Some(index), Some(below)) = (computed, below) else {
            return Ok(Transformed::no(plan));
        };
        if below.expr != projection.expr {
            return Ok(Transformed::no(plan));
        }
        let names = NamePreserver::new(&plan);
        let LogicalPlan::Projection(mut projection) = plan else {
            return Ok(Transformed::no(plan));
        };
        if let Some(expr) = projection.expr.get_mut(index) {
            let name = names.save(expr);
            *expr = match std::mem::take(expr) {
                Expr::Alias(mut alias) => {
                    alias.expr = Box::new(opaque().call(vec![*alias.expr]));
                    Expr::Alias(alias)
                }
                other => name.restore(opaque().call(vec![other])),
            };
        }
        Ok(Transformed::yes(LogicalPlan::Projection(projection)))
    }
}

/// The next projection that computes something. Whatever may have moved by then is looked through.
fn computing_below(plan: &LogicalPlan) -> Option<&Projection> {
    let mut plan = plan;
    loop {
        match plan {
            LogicalPlan::Projection(projection) if !projection.expr.iter().all(is_column) => {
                return Some(projection);
            }
            _ => match plan.inputs().as_slice() {
                [input] => plan = input,
                _ => return None,
            },
        }
    }
}

fn is_column(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => is_column(&alias.expr),
        Expr::Column(_) => true,
        _ => false,
    }
}

/// A function whose value is its argument, and which no rule looks into.
pub(crate) fn opaque() -> &'static Arc<ScalarUDF> {
    static OPAQUE: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        Arc::new(ScalarUDF::from(Opaque {
            signature: Signature::any(1, Volatility::Immutable),
        }))
    });
    &OPAQUE
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Opaque {
    signature: Signature,
}

impl ScalarUDFImpl for Opaque {
    fn name(&self) -> &'static str {
        "opaque"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let [kind] = take_function_args(self.name(), types)?;
        Ok(kind.clone())
    }

    fn return_field_from_args(
        &self,
        args: datafusion::logical_expr::ReturnFieldArgs<'_>,
    ) -> Result<arrow::datatypes::FieldRef> {
        let [field] = take_function_args(self.name(), args.arg_fields)?;
        Ok(Arc::clone(field))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = take_function_args(self.name(), args.args)?;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::AsArray;
    use arrow::datatypes::Int64Type;

    use crate::{Engine, Options};

    async fn number(sql: &str) -> i64 {
        let engine = Engine::new(&Options::default()).unwrap();
        let statement = engine.parse(sql).unwrap().pop().unwrap();
        let mut answer = engine.answer(statement).await.unwrap();
        let batch = answer.next().await.unwrap().unwrap();
        batch.column(0).as_primitive::<Int64Type>().value(0)
    }

    #[tokio::test]
    async fn what_is_computed_twice_is_computed_twice() {
        let ones = "SELECT v AS x FROM generate_series(1, 1) t(v)";
        for (step, of, between) in [
            ("x * 3 AS x", 3, ""),
            ("x + x AS x", 2, ""),
            ("x * 3 AS x", 3, " WHERE x > 0"),
            ("x * 3 AS x", 3, " ORDER BY x LIMIT 1"),
            ("x * 3 AS x, x * 3 AS y", 3, ""),
            ("(x + x) * 1 AS x", 2, ""),
        ] {
            let mut sql = ones.to_owned();
            for depth in 0..6 {
                let expected = i64::pow(of, depth);
                assert_eq!(number(&sql).await, expected, "{sql}");
                sql = format!("SELECT {step} FROM ({sql}){between}");
            }
        }
        // The projections have columns between them, and one column is passed through.
        let sql = format!(
            "SELECT x * 3 AS x FROM (SELECT y AS x FROM (SELECT x AS y FROM (SELECT x * 3 AS x FROM ({ones}))))"
        );
        assert_eq!(number(&sql).await, 9);
        let with = format!(
            "WITH a AS ({ones}), b AS (SELECT x * 3 AS x FROM a), c AS (SELECT x * 3 AS x FROM b) SELECT x * 3 AS x FROM c"
        );
        assert_eq!(number(&with).await, 27);
        let summed = format!(
            "SELECT sum(x) FROM (SELECT x * 3 AS x FROM (SELECT x * 3 AS x FROM ({ones})))"
        );
        assert_eq!(number(&summed).await, 9);
    }
}
