//! The value of a query in an expression that has no row, which is NULL.
//!
//! DataFusion takes such a value for one that is never NULL where the column of the query is not: `(SELECT 1 WHERE false) IS NULL` was
//! false, and an answer with such a column failed.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::internal_err;
use datafusion::common::tree_node::Transformed;
use datafusion::common::utils::take_function_args;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Subquery, Volatility,
};

use crate::pass::{Inputs, Pass};

/// Makes the values of queries that may have no row such that may be NULL.
pub struct NoRow;

impl Pass for NoRow {
    fn expr(&self, expr: Expr, _inputs: &Inputs) -> Result<Transformed<Expr>> {
        match expr {
            Expr::ScalarSubquery(query) if may_have_none(&query) => {
                let value = value_or_null().call(vec![Expr::ScalarSubquery(query)]);
                Ok(Transformed::yes(value))
            }
            expr => Ok(Transformed::no(expr)),
        }
    }
}

/// Whether a query may have no row, and says of its column that it is never NULL.
fn may_have_none(query: &Subquery) -> bool {
    let mut fields = query.subquery.schema().fields().iter();
    fields.any(|field| !field.is_nullable()) && !has_one_row(&query.subquery)
}

fn has_one_row(query: &LogicalPlan) -> bool {
    let mut plan = query;
    loop {
        plan = match plan {
            LogicalPlan::Projection(projection) => projection.input.as_ref(),
            LogicalPlan::SubqueryAlias(alias) => alias.input.as_ref(),
            LogicalPlan::Aggregate(aggregate) => return aggregate.group_expr.is_empty(),
            LogicalPlan::EmptyRelation(relation) => return relation.produce_one_row,
            _ => return false,
        };
    }
}

/// `value_or_null(x)`: `x`, which may be NULL.
pub(crate) const VALUE_OR_NULL: &str = "value_or_null";

pub(crate) fn value_or_null() -> ScalarUDF {
    ScalarUDF::from(ValueOrNull {
        signature: Signature::any(1, Volatility::Immutable),
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ValueOrNull {
    signature: Signature,
}

impl ScalarUDFImpl for ValueOrNull {
    fn name(&self) -> &'static str {
        VALUE_OR_NULL
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        internal_err!("{} has a field", self.name())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let [field] = take_function_args(self.name(), args.arg_fields)?;
        Ok(Arc::new(Field::clone(field).with_nullable(true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = take_function_args(self.name(), args.args)?;
        Ok(value)
    }
}
