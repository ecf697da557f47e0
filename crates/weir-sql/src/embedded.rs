//! Changes of a statement by an embedding program: values for `$name`, the answer into a file, the plan instead of the answer.
//!
//! A value takes the place of its parameter as a literal would, as in `EXECUTE` (`prepared`): an address beside
//! an address, a time beside a time, a list in `IN ($names)`.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::parser::{CopyToSource, Statement as DfStatement};
use datafusion::sql::sqlparser::ast::{self, Array, Expr, UnaryOperator, Value, VisitorMut};
use weir_functions::similar::similar;
use weir_functions::{Condition, Error, ErrorKind};

use crate::statement::Statement;

/// A value that a program gives to a parameter of a statement.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Parameter {
    /// NULL
    Null,
    /// TRUE or FALSE
    Boolean(bool),
    /// A whole number
    Integer(i128),
    /// Another number
    Float(f64),
    /// A number with all of its digits, such as `-12.50`
    Decimal(String),
    /// Text, or an address
    Text(String),
    /// Bytes
    Bytes(Vec<u8>),
    /// An instant as SQL writes it: `2026-11-22T10:00:00.123456789Z`
    Time(String),
    /// Several values, for `IN ($names)` and `packets($files)`
    List(Vec<Parameter>),
}

impl Parameter {
    /// Bytes that its expression takes beyond those of any other.
    fn bytes(&self) -> usize {
        match self {
            Self::Null | Self::Boolean(_) | Self::Integer(_) | Self::Float(_) => 0,
            Self::Decimal(text) | Self::Text(text) | Self::Time(text) => text.len(),
            // Two digits each.
            Self::Bytes(bytes) => bytes.len().saturating_mul(2),
            Self::List(values) => values.iter().fold(0, |bytes: usize, value| {
                let value = value.bytes().saturating_add(size_of::<Expr>());
                bytes.saturating_add(value)
            }),
        }
    }

    /// The expression that stands for the value.
    fn expression(&self) -> Result<Expr, Error> {
        Ok(match self {
            Self::Null => literal(Value::Null),
            Self::Boolean(value) => literal(Value::Boolean(*value)),
            Self::Integer(value) if *value < 0 => negative(value.unsigned_abs().to_string()),
            Self::Integer(value) => number(value.to_string()),
            Self::Float(value) if !value.is_finite() => {
                written(&format!("CAST('{value}' AS DOUBLE)"))?
            }
            Self::Float(value) if value.is_sign_negative() => negative(format!("{:e}", -value)),
            Self::Float(value) => number(format!("{value:e}")),
            Self::Decimal(text) => decimal(text)?,
            Self::Text(text) => literal(Value::SingleQuotedString(text.clone())),
            Self::Bytes(bytes) => literal(Value::HexStringLiteral(hex::encode(bytes))),
            Self::Time(text) => written(&format!("TIMESTAMP {}", crate::quote_literal(text)))?,
            Self::List(values) => {
                let elem: Result<Vec<Expr>, Error> = values.iter().map(Self::expression).collect();
                Expr::Array(Array {
                    elem: elem?,
                    named: true,
                })
            }
        })
    }
}

fn literal(value: Value) -> Expr {
    Expr::Value(value.into())
}

fn number(digits: String) -> Expr {
    literal(Value::Number(digits, false))
}

fn negative(digits: String) -> Expr {
    Expr::Nested(Box::new(Expr::UnaryOp {
        op: UnaryOperator::Minus,
        expr: Box::new(number(digits)),
    }))
}

/// A number with all of its digits, of a type that has as many.
fn decimal(text: &str) -> Result<Expr, Error> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let mut all = whole.bytes().chain(part.bytes());
    let is_empty = whole.is_empty() && part.is_empty();
    if is_empty || !all.all(|digit| digit.is_ascii_digit()) {
        let message = "a decimal number has digits, and a point between them";
        return Err(Error::new(ErrorKind::Plan, message));
    }
    let scale = part.len();
    // Zeros in front are digits of the type, so that all values of a column have one type. The zero in front of the point is left out
    // of the count where no more digits fit into a type.
    let precision = match (whole, whole.len() + scale) {
        ("0", precision) if precision == DECIMAL128_DIGITS_MAX + 1 => DECIMAL128_DIGITS_MAX,
        ("0", precision) if precision == DECIMAL_DIGITS_MAX + 1 => DECIMAL_DIGITS_MAX,
        (_, precision) => precision,
    };
    if precision > DECIMAL_DIGITS_MAX {
        let message = format!("a decimal number has {DECIMAL_DIGITS_MAX} digits at most");
        return Err(Error::new(ErrorKind::Limit, message));
    }
    written(&format!("CAST('{text}' AS DECIMAL({precision}, {scale}))"))
}

/// Parses an expression of SQL.
fn written(sql: &str) -> Result<Expr, Error> {
    Statement::expression_of(sql)
        .ok_or_else(|| Error::new(ErrorKind::Plan, format!("{sql} is not a literal value")))
}

impl Statement {
    /// Puts values into the places of `$name`.
    ///
    /// # Errors
    /// When a value is given that the statement has no place for, a place has no value, or long values stand in too many places.
    pub fn bind(mut self, values: &[(String, Parameter)]) -> Result<Self, Error> {
        let named = values.iter().map(|(name, value)| Named {
            name,
            value,
            is_used: false,
        });
        let mut binder = Binder::new(named.collect());
        self.visit_mut(&mut binder);
        if let Some(failed) = binder.failed {
            return Err(failed);
        }
        if binder.copied_bytes > COPIED_BYTES_MAX {
            let message = format!(
                "parameters that are used several times may take {} MiB in all their places together",
                COPIED_BYTES_MAX >> 20
            );
            return Err(Error::new(ErrorKind::Limit, message).with_hint(
                "name a long value once: WITH v AS (SELECT $1 AS long) SELECT … FROM v",
            ));
        }
        let names = || values.iter().map(|(name, _)| name.as_str());
        if let Some(unknown) = binder.unknown {
            let error = Error::new(
                ErrorKind::Plan,
                format!("the parameter ${unknown} has no value"),
            )
            .with_condition(Condition::UndefinedParameter);
            return Err(match similar(&unknown, names()).first() {
                Some(near) => error.with_hint(format!("did you mean ${near}?")),
                None => error.with_hint(format!("pass a value for {unknown} with the statement")),
            });
        }
        match binder.values.iter().find(|value| !value.is_used) {
            None => {
                if let Some(recipe) = &mut self.recipe {
                    recipe.values = Arc::from(values);
                }
                Ok(self)
            }
            Some(unused) => Err(Error::new(
                ErrorKind::Plan,
                format!("the statement has no parameter ${}", unused.name),
            )
            .with_hint(format!(
                "write ${} in place of the value, without quotes",
                unused.name
            ))),
        }
    }

    /// The statement that describes how this one runs; with `analyze` it runs it and counts.
    ///
    /// # Errors
    /// When it is no query.
    pub fn explained(self, analyze: bool) -> Result<Self, Error> {
        let sql = match analyze {
            true => "EXPLAIN ANALYZE SELECT 1",
            false => "EXPLAIN SELECT 1",
        };
        if !self.is_query() {
            return Err(Error::new(ErrorKind::Plan, "only a query is explained"));
        }
        let mut shell = shell(sql)?;
        if let DfStatement::Explain(explain) = &mut shell.inner {
            *explain.statement = self.inner;
        }
        shell.recipe = None;
        Ok(shell)
    }

    /// The statement that writes the answer of this query into a file: a capture by the extension, and rows otherwise, in the
    /// format of `stored_as` or the extension.
    ///
    /// # Errors
    /// When it is no query.
    pub fn copied_to(
        self,
        path: &str,
        stored_as: Option<&str>,
        overwrite: bool,
    ) -> Result<Self, Error> {
        let query = match self.inner {
            DfStatement::Statement(statement) => match *statement {
                ast::Statement::Query(query) => query,
                _ => {
                    return Err(Error::new(
                        ErrorKind::Plan,
                        "only a query has rows to write",
                    ));
                }
            },
            _ => {
                return Err(Error::new(
                    ErrorKind::Plan,
                    "only a query has rows to write",
                ));
            }
        };
        let options = match overwrite {
            true => " OPTIONS (overwrite true)",
            false => "",
        };
        let mut shell = shell(&format!("COPY (SELECT 1) TO 'file'{options}"))?;
        if let Some(copy) = shell.copy_mut() {
            copy.source = CopyToSource::Query(query);
            copy.target = path.to_owned();
            copy.stored_as = stored_as.map(str::to_ascii_uppercase);
        }
        shell.recipe = None;
        Ok(shell)
    }
}

/// A statement that another one is put into.
fn shell(sql: &str) -> Result<Statement, Error> {
    let statement = Statement::parse(sql)?.pop();
    statement.ok_or_else(|| Error::new(ErrorKind::Plan, "no statement"))
}

/// A parameter's name and its value.
struct Named<'v> {
    name: &'v str,
    value: &'v Parameter,
    is_used: bool,
}

/// Writes values in the places of `$name`.
struct Binder<'v> {
    values: Vec<Named<'v>>,
    /// The place of each name among the values.
    places: HashMap<&'v str, usize>,
    /// Bytes of values that stand in further places.
    copied_bytes: usize,
    unknown: Option<String>,
    /// The error of a value that is no literal.
    failed: Option<Error>,
}

impl<'v> Binder<'v> {
    fn new(values: Vec<Named<'v>>) -> Self {
        let mut places = HashMap::with_capacity(values.len());
        for (place, value) in values.iter().enumerate() {
            // Of two values with the same name the first is taken.
            places.entry(value.name).or_insert(place);
        }
        Self {
            values,
            places,
            copied_bytes: 0,
            unknown: None,
            failed: None,
        }
    }

    /// The value of a placeholder; `None` for other expressions, and for a placeholder without a value.
    fn value(&mut self, expr: &Expr) -> Option<Expr> {
        let Expr::Value(value) = expr else {
            return None;
        };
        let Value::Placeholder(placeholder) = &value.value else {
            return None;
        };
        let name = placeholder.strip_prefix('$').unwrap_or(placeholder);
        let place = self.places.get(name).copied();
        let Some(value) = place.and_then(|place| self.values.get_mut(place)) else {
            self.unknown.get_or_insert_with(|| name.to_owned());
            return None;
        };
        if value.is_used {
            self.copied_bytes = self.copied_bytes.saturating_add(value.value.bytes());
        }
        value.is_used = true;
        if self.copied_bytes > COPIED_BYTES_MAX {
            // The statement is refused.
            return None;
        }
        match value.value.expression() {
            Ok(expression) => Some(expression),
            Err(error) => {
                self.failed.get_or_insert(error);
                None
            }
        }
    }
}

impl VisitorMut for Binder<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::InList { list, negated, .. } = expr else {
            return ControlFlow::Continue(());
        };
        let mut whole = Vec::with_capacity(list.len());
        for item in list.drain(..) {
            match self.value(&item) {
                // A list of a parameter is the list of the expression, or a part of it.
                Some(Expr::Array(array)) => whole.extend(array.elem),
                Some(value) => whole.push(value),
                None => whole.push(item),
            }
        }
        match whole.is_empty() {
            // The list `IN ()` is not SQL: an empty list contains nothing, not even NULL.
            true => *expr = literal(Value::Boolean(*negated)),
            false => *list = whole,
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(value) = self.value(expr) {
            *expr = value;
        }
        ControlFlow::Continue(())
    }
}

/// Bytes of the copies of values that stand in more than one place: as many as a text of statements has.
const COPIED_BYTES_MAX: usize = 4 << 20;
/// Digits of a decimal number, as many as those of 256 bits have.
const DECIMAL_DIGITS_MAX: usize = 76;
/// The digits of one of 128 bits.
const DECIMAL128_DIGITS_MAX: usize = 38;

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(sql: &str, values: &[(&str, Parameter)]) -> Result<String, String> {
        let values: Vec<_> = values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let statement = Statement::parse(sql).unwrap().pop().unwrap();
        match statement.bind(&values) {
            Ok(statement) => Ok(statement.inner.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn values_stand_as_literals() {
        use Parameter::{Boolean, Bytes, Decimal, Float, Integer, List, Null, Text, Time};
        for (value, written) in [
            (Null, "NULL"),
            (Boolean(true), "true"),
            (Integer(i128::from(u64::MAX)), "18446744073709551615"),
            (Integer(-1), "(-1)"),
            (Float(1.5), "1.5e0"),
            (Float(f64::INFINITY), "CAST('inf' AS DOUBLE)"),
            (
                Decimal("-12.50".to_owned()),
                "CAST('-12.50' AS DECIMAL(4,2))",
            ),
            (Decimal("0.05".to_owned()), "CAST('0.05' AS DECIMAL(3,2))"),
            (Decimal("012.5".to_owned()), "CAST('012.5' AS DECIMAL(4,1))"),
            (Decimal("0".to_owned()), "CAST('0' AS DECIMAL(1,0))"),
            (Text("a'b".to_owned()), "'a''b'"),
            (Bytes(vec![0, 255]), "X'00ff'"),
            (
                Time("2026-11-22T10:00:00Z".to_owned()),
                "TIMESTAMP '2026-11-22T10:00:00Z'",
            ),
            (List(vec![Integer(1), Null]), "ARRAY[1, NULL]"),
        ] {
            let sql = bound("SELECT $v AS v", &[("v", value)]).unwrap();
            assert_eq!(sql, format!("SELECT {written} AS v"));
        }
    }

    #[test]
    fn decimals_are_digits_and_no_more_than_there_may_be() {
        let decimal = |text: &str| {
            let value = Parameter::Decimal(text.to_owned());
            bound("SELECT $v AS v", &[("v", value)])
        };
        assert!(decimal(&"9".repeat(76)).is_ok());
        for digits in [38, 76] {
            let fraction = format!("0.{}", "9".repeat(digits));
            let expected = format!("SELECT CAST('{fraction}' AS DECIMAL({digits},{digits})) AS v");
            assert_eq!(decimal(&fraction), Ok(expected));
        }
        for wrong in [
            "",
            "-",
            ".",
            "1e3",
            "+1",
            "1.2.3",
            "NaN",
            "1'",
            &"9".repeat(77),
        ] {
            assert!(decimal(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_list_is_the_list_of_in() {
        let some = Parameter::List(vec![Parameter::Integer(1), Parameter::Integer(2)]);
        let none = Parameter::List(Vec::new());
        let sql = "SELECT 1 AS one WHERE 1 IN ($v, 3)";
        let expected = "SELECT 1 AS one WHERE 1 IN (1, 2, 3)";
        assert_eq!(bound(sql, &[("v", some)]).as_deref(), Ok(expected));
        for (condition, written) in [("1 IN ($v)", "false"), ("1 NOT IN ($v)", "true")] {
            let sql = format!("SELECT 1 AS one WHERE {condition}");
            let bound = bound(&sql, &[("v", none.clone())]);
            assert_eq!(bound, Ok(format!("SELECT 1 AS one WHERE {written}")));
        }
    }

    /// Each place had a copy: a value of 1 MB in a hundred thousand places took all memory of the process that prepared the statement.
    #[test]
    fn long_values_stand_in_few_places() {
        let places = |count: usize| format!("SELECT {}1", "$v, ".repeat(count));
        let text = |bytes: usize| Parameter::Text("x".repeat(bytes));
        assert!(bound(&places(5), &[("v", text(1 << 20))]).is_ok());
        assert!(bound(&places(1), &[("v", text(8 << 20))]).is_ok());
        assert!(bound(&places(1000), &[("v", Parameter::Integer(1))]).is_ok());
        let list = Parameter::List(vec![Parameter::Null; 10_000]);
        for value in [text(1 << 20), Parameter::Bytes(vec![0; 1 << 20]), list] {
            let error = bound(&places(1000), &[("v", value)]).unwrap_err();
            assert!(
                error.contains("take 4 MiB in all their places together"),
                "{error}"
            );
        }
    }

    #[test]
    fn as_many_parameters_as_there_may_be_are_bound() {
        let names: Vec<String> = (1..=20_000).map(|number| number.to_string()).collect();
        let values: Vec<_> = names
            .iter()
            .map(|name| (name.as_str(), Parameter::Integer(7)))
            .collect();
        let places: Vec<String> = names.iter().map(|name| format!("${name}")).collect();
        let sql = format!("SELECT 1 AS one WHERE 1 IN ({})", places.join(", "));
        let bound = bound(&sql, &values).unwrap();
        assert_eq!(bound.matches("7, 7").count(), 10_000);
    }

    #[test]
    fn parameters_and_values_belong_together() {
        let one = || ("a", Parameter::Integer(1));
        assert!(bound("SELECT $a", &[]).unwrap_err().contains("$a"));
        assert!(bound("SELECT 1", &[one()]).unwrap_err().contains("$a"));
        assert_eq!(
            bound("SELECT $a + $a AS b", &[one()]).as_deref(),
            Ok("SELECT 1 + 1 AS b")
        );
    }

    #[test]
    fn only_queries_are_explained_and_written() {
        let parse = |sql: &str| Statement::parse(sql).unwrap().pop().unwrap();
        assert!(parse("SELECT 1").explained(true).unwrap().is_explain());
        let copy = parse("SELECT 1").copied_to("a'b.pcap", None, true).unwrap();
        assert!(!copy.is_query() && copy.gives_rows());
        let view = || parse("CREATE VIEW v AS SELECT 1");
        assert!(view().explained(false).is_err());
        assert!(view().copied_to("x", Some("parquet"), false).is_err());
    }
}
