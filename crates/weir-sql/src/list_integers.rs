//! Integers beside lists: `array_has(array_agg(frame.number), 5)`.
//!
//! DataFusion has no common type for a list of unsigned 64-bit integers and the signed one that an integer literal is. The type of the list is
//! known where it is planned only, so that the function `list_integer` gives the literal the type of the elements there.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value,
};
use weir_functions::lists::LIST_INTEGER;

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
    for value in values.iter_mut().take(*count) {
        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) = value
            && let Some(typed) = beside(list, value)
        {
            *value = typed;
        }
    }
}

/// An integer literal with the type of the elements of a list; `None` where that is not needed, or the list is not plain: it is
/// written twice then, and lists within each other would multiply.
pub(crate) fn beside(list: &Expr, value: &Expr) -> Option<Expr> {
    (is_integer(value) && is_plain(list))
        .then(|| call(LIST_INTEGER, vec![list.clone(), value.clone()]))
}

fn is_integer(value: &Expr) -> bool {
    let Expr::Value(value) = value else {
        return false;
    };
    matches!(&value.value, Value::Number(digits, _) if digits.bytes().all(|digit| digit.is_ascii_digit()))
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
