//! Integers beside lists: `array_has(array_agg(frame.number), 5)`.
//!
//! DataFusion has no common type for a list of unsigned 64-bit integers and the signed one that an integer literal is. The type of the list is
//! known where it is planned only, so that the function `list_integer` gives the literal the type of the elements there. Beside a literal
//! with a sign, `signed_list` makes decimals of such elements, which have room for both.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator, Value,
};
use weir_functions::lists::{LIST_INTEGER, SIGNED_LIST};

use crate::names::call;

/// Gives integers that a function compares with the elements of its list, or puts among them, the type of these.
pub(crate) fn typed(function: &mut Function) {
    let name = function.name.to_string().to_ascii_lowercase();
    let Some((_, count)) = OF_ELEMENTS.iter().find(|(known, _)| *known == name) else {
        return;
    };
    let FunctionArguments::List(arguments) = &mut function.args else {
        return;
    };
    let [
        FunctionArg::Unnamed(FunctionArgExpr::Expr(list)),
        values @ ..,
    ] = arguments.args.as_mut_slice()
    else {
        return;
    };
    let integers = values.iter().take(*count).filter_map(|value| match value {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => sign(value),
        _ => None,
    });
    let integers: Vec<Sign> = integers.collect();
    if integers.is_empty() || !is_plain(list) {
        return;
    }
    if integers.contains(&Sign::Negative) {
        *list = call(SIGNED_LIST, vec![list.clone()]);
    }
    for value in values.iter_mut().take(*count) {
        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) = value
            && sign(value).is_some()
        {
            *value = call(LIST_INTEGER, vec![list.clone(), value.clone()]);
        }
    }
}

/// A list and an integer literal with the type of its elements; `None` where that is not needed, or the list is not plain: it is
/// written twice then, and lists within each other would multiply.
pub(crate) fn beside(list: &Expr, value: &Expr) -> Option<(Expr, Expr)> {
    let sign = sign(value).filter(|_| is_plain(list))?;
    let list = match sign {
        Sign::Negative => call(SIGNED_LIST, vec![list.clone()]),
        Sign::None => list.clone(),
    };
    let value = call(LIST_INTEGER, vec![list.clone(), value.clone()]);
    Some((list, value))
}

/// The sign in front of an integer literal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    None,
    Negative,
}

/// The sign of an integer literal; `None` of all else.
fn sign(value: &Expr) -> Option<Sign> {
    match value {
        Expr::Nested(value) => sign(value),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => match sign(expr)? {
            Sign::None => Some(Sign::Negative),
            Sign::Negative => None,
        },
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
                Some(Sign::None)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether a list is a column, or a function of columns such as `array_agg(frame.number)`.
fn is_plain(list: &Expr) -> bool {
    match list {
        Expr::Function(function) => {
            let FunctionArguments::List(arguments) = &function.args else {
                return false;
            };
            let has_more = function.filter.is_some()
                || function.over.is_some()
                || !function.within_group.is_empty()
                || !arguments.clauses.is_empty();
            let are_names = arguments.args.iter().all(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => is_name(argument),
                _ => false,
            });
            !has_more && are_names
        }
        list => is_name(list),
    }
}

const fn is_name(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
}

/// Functions whose first argument is a list, and how many elements are behind it.
const OF_ELEMENTS: &[(&str, usize)] = &[
    ("array_append", 1),
    ("array_contains", 1),
    ("array_has", 1),
    ("array_position", 1),
    ("array_positions", 1),
    ("array_remove", 1),
    ("array_remove_all", 1),
    ("array_replace", 2),
    ("array_replace_all", 2),
    ("list_append", 1),
    ("list_contains", 1),
    ("list_has", 1),
    ("list_position", 1),
    ("list_positions", 1),
    ("list_remove", 1),
];
