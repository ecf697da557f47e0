//! The correlation with a column whose values are all equal, which is NULL in PostgreSQL. DataFusion subtracts sums of groups, and divides what
//! rounding leaves of that.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, Value,
};

use crate::names::call;
use crate::reworded::cast;

/// `corr(y, x)`, times 1 where both have several values, and NULL elsewhere. Over windows DataFusion itself finds equal values.
pub(crate) fn of_spread(function: &Function) -> Option<Expr> {
    let is_correlation = function.name.to_string().eq_ignore_ascii_case("corr");
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let [
        FunctionArg::Unnamed(FunctionArgExpr::Expr(y)),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(x)),
    ] = list.args.as_slice()
    else {
        return None;
    };
    let is_plain = list.duplicate_treatment.is_none()
        && list.clauses.is_empty()
        && function.over.is_none()
        && function.filter.as_deref().is_none_or(is_flat);
    if !is_correlation || !is_plain || !is_flat(y) || !is_flat(x) {
        return None;
    }
    let correlation = Expr::Function(function.clone());
    let of_y = binary(correlation, BinaryOperator::Multiply, one(function, y, x));
    let of_both = binary(of_y, BinaryOperator::Multiply, one(function, x, y));
    Some(Expr::Nested(Box::new(of_both)))
}

/// 1 where the values of an expression beside those of another one that are not NULL differ, and NULL where they are equal.
fn one(function: &Function, values: &Expr, beside: &Expr) -> Expr {
    let extreme = |name: &str| {
        let is_pair = Expr::IsNotNull(Box::new(beside.clone()));
        let filter = match &function.filter {
            Some(filter) => binary(
                Expr::Nested(filter.clone()),
                BinaryOperator::And,
                Expr::Nested(Box::new(is_pair)),
            ),
            None => is_pair,
        };
        let extreme = Expr::Function(Function {
            name: ObjectName::from(vec![Ident::new(name)]),
            args: FunctionArguments::List(FunctionArgumentList {
                duplicate_treatment: None,
                args: vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(values.clone()))],
                clauses: Vec::new(),
            }),
            filter: Some(Box::new(filter)),
            ..function.clone()
        });
        cast(extreme, DataType::DoublePrecision)
    };
    let span = || {
        let span = binary(extreme("max"), BinaryOperator::Minus, extreme("min"));
        Expr::Nested(Box::new(span))
    };
    let zero = Expr::Value(Value::Number("0".to_owned(), false).into());
    let several = call("nullif", vec![span(), zero]);
    Expr::Nested(Box::new(binary(span(), BinaryOperator::Divide, several)))
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(left),
        op,
        right: Box::new(right),
    }
}

/// Whether an expression has neither functions nor queries in it: it is written several times, and those within each other would multiply.
fn is_flat(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) => true,
        Expr::Nested(expr)
        | Expr::Cast { expr, .. }
        | Expr::UnaryOp { expr, .. }
        | Expr::IsNull(expr)
        | Expr::IsNotNull(expr) => is_flat(expr),
        Expr::BinaryOp { left, right, .. } => is_flat(left) && is_flat(right),
        _ => false,
    }
}
