//! The names that the functions of operators have in plans.
//!
//! DataFusion writes the name of a function wherever it looks for its type, and again for each one in its arguments. Its own way to
//! write one copies the names of all levels below it, and each rule looks for types at each level: `1 + 1 + …` took time with
//! the third power of its terms. The name of a large expression is therefore a number made of what the written one has in it.

use std::fmt::{self, Write as _};
use std::hash::{DefaultHasher, Hasher as _};

use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::Expr;

/// The name of a call of the function: `add(a,b)`, or, where the arguments have more than [`PARTS_MAX`] parts, `add(#…)`. Calls whose
/// written names would be the same have the same name: a cast, for one, is no part of it.
pub(crate) fn of_call(function: &str, args: &[Expr]) -> Result<String> {
    if is_large(args)? {
        return Ok(format!("{function}(#{:016x})", number(args)?));
    }
    let mut name = format!("{function}(");
    for (place, arg) in args.iter().enumerate() {
        let comma = if place == 0 { "" } else { "," };
        write!(name, "{comma}{}", arg.schema_name())?;
    }
    name.push(')');
    Ok(name)
}

/// Parts of the arguments whose name is written.
const PARTS_MAX: usize = 32;

/// Whether there are more parts than [`PARTS_MAX`]; no more of them are looked at.
fn is_large(args: &[Expr]) -> Result<bool> {
    let mut parts = 0_usize;
    for arg in args {
        arg.apply(|_| {
            parts += 1;
            Ok(match parts > PARTS_MAX {
                true => TreeNodeRecursion::Stop,
                false => TreeNodeRecursion::Continue,
            })
        })?;
    }
    Ok(parts > PARTS_MAX)
}

/// The number of what the written name has in it: functions with how many arguments they have, and the names of all other parts.
fn number(args: &[Expr]) -> Result<u64> {
    let mut parts = Parts(DefaultHasher::new());
    for arg in args {
        arg.apply(|part| match part {
            Expr::Cast(_) | Expr::TryCast(_) => Ok(TreeNodeRecursion::Continue),
            Expr::ScalarFunction(call) => {
                write!(parts, "{}", call.name())?;
                parts.0.write_usize(call.args.len());
                Ok(TreeNodeRecursion::Continue)
            }
            part => {
                write!(parts, "{}", part.schema_name())?;
                // No text has this byte.
                parts.0.write_u8(0xff);
                Ok(TreeNodeRecursion::Jump)
            }
        })?;
    }
    Ok(parts.0.finish())
}

/// The text that becomes a number.
struct Parts(DefaultHasher);

impl fmt::Write for Parts {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::logical_expr::{ScalarUDF, col, lit};

    use super::*;
    use crate::bounded::concatenation;
    use crate::number::operations;

    /// The function with the expression on its left side, so many times.
    fn nested(function: &ScalarUDF, first: Expr, times: usize) -> Expr {
        (0..times).fold(first, |inner, _| function.call(vec![inner, lit(1_i64)]))
    }

    fn name(expr: &Expr) -> String {
        expr.schema_name().to_string()
    }

    #[test]
    fn names_of_operators_do_not_grow_with_their_levels() {
        let operators = operations().iter().cloned();
        for function in operators.chain([Arc::new(concatenation(1 << 20))]) {
            let long = name(&nested(&function, col("a"), 400));
            assert!(long.len() < 100, "{} bytes", long.len());
            assert_eq!(long, name(&nested(&function, col("a"), 400)));
            // The parts tell names apart however far within they are.
            assert_ne!(long, name(&nested(&function, col("b"), 400)));
            assert_ne!(long, name(&nested(&function, col("a"), 401)));
            let right = (0..400).fold(col("a"), |inner, _| function.call(vec![lit(1_i64), inner]));
            assert_ne!(long, name(&right));
        }
    }

    #[test]
    fn names_of_few_levels_are_written() {
        let [add, ..] = operations();
        let sum = add.call(vec![col("a"), lit(1_i64)]);
        assert_eq!(name(&sum), "add(a,Int64(1))");
        assert_eq!(
            name(&add.call(vec![sum, col("b")])),
            "add(add(a,Int64(1)),b)"
        );
    }
}
