//! What an error is about, as PostgreSQL's codes tell it apart.

use arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use serde::{Deserialize, Serialize};

/// What an error is about: a condition that PostgreSQL has a code for (its appendix A).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Condition {
    /// There is no table or view of this name.
    UndefinedTable,
    /// There is no column of this name.
    UndefinedColumn,
    /// There is no function of this name, or no function or operator for arguments of these types.
    UndefinedFunction,
    /// There is no type, setting, window or other object of this name.
    UndefinedObject,
    /// There is no schema of this name.
    UndefinedSchema,
    /// A parameter has no value.
    UndefinedParameter,
    /// There is no prepared statement of this name.
    UndefinedStatement,
    /// More than one table has a column of this name.
    AmbiguousColumn,
    /// Two columns of one list have the same name.
    DuplicateColumn,
    /// Two tables of one query have the same name.
    DuplicateAlias,
    /// A prepared statement of this name is there already.
    DuplicateStatement,
    /// A column is neither in GROUP BY nor in an aggregate, or an aggregate stands where none may.
    Grouping,
    /// A function of windows stands where none may, or has no window.
    Windowing,
    /// A number stands for no column of the SELECT list.
    InvalidColumnReference,
    /// A value or a condition has another type than its place.
    DatatypeMismatch,
    /// The type of a parameter is not known.
    IndeterminateDatatype,
    /// The statement has the words of SQL in an order or a number that it cannot have.
    Syntax,
    /// A part of SQL that is not there.
    NotSupported,
    /// A subquery in an expression has several rows.
    Cardinality,
    /// A number is divided by 0.
    DivisionByZero,
    /// A number does not fit its type.
    NumericOutOfRange,
    /// A text is not a value of the type that it is cast to.
    InvalidText,
    /// Octets are not a value of the type that they are sent as.
    InvalidBinary,
    /// A text is not a date, a time or an interval.
    InvalidDatetime,
    /// An argument of a function has a value that it cannot have.
    InvalidParameter,
    /// A pattern is not a regular expression.
    InvalidRegularExpression,
    /// LIMIT has a value that it cannot have.
    InvalidLimit,
    /// OFFSET has a value that it cannot have.
    InvalidOffset,
}

impl Condition {
    /// PostgreSQL's code (SQLSTATE).
    #[must_use]
    pub const fn sqlstate(self) -> &'static str {
        match self {
            Self::UndefinedTable => "42P01",
            Self::UndefinedColumn => "42703",
            Self::UndefinedFunction => "42883",
            Self::UndefinedObject => "42704",
            Self::UndefinedSchema => "3F000",
            Self::UndefinedParameter => "42P02",
            Self::UndefinedStatement => "26000",
            Self::AmbiguousColumn => "42702",
            Self::DuplicateColumn => "42701",
            Self::DuplicateAlias => "42712",
            Self::DuplicateStatement => "42P05",
            Self::Grouping => "42803",
            Self::Windowing => "42P20",
            Self::InvalidColumnReference => "42P10",
            Self::DatatypeMismatch => "42804",
            Self::IndeterminateDatatype => "42P18",
            Self::Syntax => "42601",
            Self::NotSupported => "0A000",
            Self::Cardinality => "21000",
            Self::DivisionByZero => "22012",
            Self::NumericOutOfRange => "22003",
            Self::InvalidText => "22P02",
            Self::InvalidBinary => "22P03",
            Self::InvalidDatetime => "22007",
            Self::InvalidParameter => "22023",
            Self::InvalidRegularExpression => "2201B",
            Self::InvalidLimit => "2201W",
            Self::InvalidOffset => "2201X",
        }
    }
}

/// What an error of DataFusion is about.
pub(super) fn of(error: &DataFusionError) -> Option<Condition> {
    match error.find_root() {
        DataFusionError::SchemaError(found, _) => match found.as_ref() {
            SchemaError::FieldNotFound { .. } => Some(Condition::UndefinedColumn),
            SchemaError::AmbiguousReference { .. } => Some(Condition::AmbiguousColumn),
            // Columns with the names of their tables are equal where the tables have one name.
            SchemaError::DuplicateQualifiedField { .. } => Some(Condition::DuplicateAlias),
            SchemaError::DuplicateUnqualifiedField { .. } => Some(Condition::DuplicateColumn),
        },
        DataFusionError::ArrowError(found, _) => of_arrow(found),
        DataFusionError::SQL(..) => Some(Condition::Syntax),
        DataFusionError::NotImplemented(message) => Some(of_missing(message)),
        DataFusionError::Plan(message)
        | DataFusionError::Execution(message)
        | DataFusionError::Internal(message)
        | DataFusionError::Configuration(message) => of_message(message),
        _ => None,
    }
}

/// What an error of Arrow is about.
pub(super) fn of_arrow(error: &ArrowError) -> Option<Condition> {
    match error {
        ArrowError::DivideByZero => Some(Condition::DivisionByZero),
        ArrowError::ArithmeticOverflow(_) => Some(Condition::NumericOutOfRange),
        ArrowError::ParseError(message) => Some(of_message(message).unwrap_or(
            match message.contains("timestamp") {
                true => Condition::InvalidDatetime,
                false => Condition::InvalidText,
            },
        )),
        ArrowError::CastError(message)
        | ArrowError::ComputeError(message)
        | ArrowError::InvalidArgumentError(message) => of_message(message),
        _ => None,
    }
}

/// What a message is about that says that something is not there.
fn of_missing(message: &str) -> Condition {
    match message.starts_with("Unsupported SQL type ") {
        true => Condition::UndefinedObject,
        false => Condition::NotSupported,
    }
}

/// What a message of the planner, or of a value, is about. These errors have no type of their own, so that they are recognised by how
/// their messages begin.
fn of_message(message: &str) -> Option<Condition> {
    let message = message
        .strip_prefix("Execution error: ")
        .or_else(|| message.strip_prefix("Parser error: "))
        .unwrap_or(message);
    let known = BEGINNINGS
        .iter()
        .find(|(begin, _)| message.starts_with(begin));
    if let Some((_, condition)) = known {
        return Some(*condition);
    }
    if let Some(condition) = of_cast(message) {
        return Some(condition);
    }
    if super::of_arguments(message).is_some() {
        return Some(Condition::UndefinedFunction);
    }
    let within = WITHIN.iter().find(|(part, _)| message.contains(part));
    within.map(|(_, condition)| *condition)
}

/// What a text is that was not cast: no value of the type, or one that is out of range.
fn of_cast(message: &str) -> Option<Condition> {
    let rest = message
        .strip_prefix("Cannot cast string '")
        .or_else(|| message.strip_prefix("Cannot cast value '"))?;
    let (text, kind) = rest.rsplit_once("' to value of ")?;
    let digits = text.trim().trim_start_matches(['-', '+']);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    Some(match kind {
        _ if ["Date", "Time", "Interval"]
            .iter()
            .any(|it| kind.starts_with(it)) =>
        {
            Condition::InvalidDatetime
        }
        _ if kind.contains("Int") && is_whole => Condition::NumericOutOfRange,
        _ => Condition::InvalidText,
    })
}

/// How messages begin, and what they are about.
#[rustfmt::skip]
const BEGINNINGS: &[(&str, Condition)] = &[
    ("table '", Condition::UndefinedTable),
    ("Table '", Condition::UndefinedTable),
    ("View '", Condition::UndefinedTable),
    ("Invalid function '", Condition::UndefinedFunction),
    ("The window ", Condition::UndefinedObject),
    ("could not find config namespace for key ", Condition::UndefinedObject),
    ("WITH query name ", Condition::DuplicateAlias),
    ("Column in ", Condition::Grouping),
    ("HAVING clause references: ", Condition::Grouping),
    ("Aggregate functions are not allowed in the WHERE clause", Condition::Grouping),
    ("Aggregate function calls cannot be nested", Condition::Grouping),
    ("QUALIFY clause requires window functions", Condition::Windowing),
    ("Cannot find column with position ", Condition::InvalidColumnReference),
    ("Order by column out of bounds, specified: ", Condition::InvalidColumnReference),
    ("Order by index starts at 1", Condition::InvalidColumnReference),
    ("SELECT DISTINCT ON expressions must match initial ORDER BY", Condition::InvalidColumnReference),
    ("Source table contains ", Condition::InvalidColumnReference),
    ("Cannot create filter with non-boolean predicate ", Condition::DatatypeMismatch),
    ("Cannot infer common argument type for logical boolean operation ", Condition::DatatypeMismatch),
    ("Unary operator 'NOT' requires a boolean expression", Condition::DatatypeMismatch),
    ("Join condition must be boolean type", Condition::DatatypeMismatch),
    ("Incompatible inputs for Union: ", Condition::DatatypeMismatch),
    ("Cannot automatically convert ", Condition::DatatypeMismatch),
    ("Expected LIMIT to be ", Condition::DatatypeMismatch),
    ("Expected OFFSET to be ", Condition::DatatypeMismatch),
    // PostgreSQL has no operator or function for such types.
    ("Cannot infer common ", Condition::UndefinedFunction),
    ("Cannot coerce arithmetic expression ", Condition::UndefinedFunction),
    ("Cannot get result type for ", Condition::UndefinedFunction),
    ("There isn't a common type to coerce ", Condition::UndefinedFunction),
    ("Unary operator ", Condition::UndefinedFunction),
    ("[return_type] SUM not supported for Null", Condition::UndefinedFunction),
    ("AvgAccumulator for (Null", Condition::UndefinedFunction),
    ("Min/Max accumulator not implemented for type ", Condition::UndefinedFunction),
    ("unnest() can only be applied to", Condition::UndefinedFunction),
    ("expr type ", Condition::UndefinedFunction),
    ("UNION queries have different number of columns", Condition::Syntax),
    ("Inconsistent data length across values list: ", Condition::Syntax),
    (super::COLUMNS_OF_SUBQUERY, Condition::Syntax),
    ("Scalar subquery returned more than one row", Condition::Cardinality),
    ("LIMIT must be >=", Condition::InvalidLimit),
    ("OFFSET must be >=", Condition::InvalidOffset),
    ("Can't cast value ", Condition::NumericOutOfRange),
    ("Overflow happened on", Condition::NumericOutOfRange),
    ("Overflow while rounding ", Condition::NumericOutOfRange),
    ("Decimal overflow while applying ", Condition::NumericOutOfRange),
    ("Invalid input syntax for type interval", Condition::InvalidDatetime),
    ("Error parsing timestamp from ", Condition::InvalidDatetime),
    ("Date part '", Condition::InvalidParameter),
    ("Unsupported date_trunc granularity: ", Condition::InvalidParameter),
    ("There is no built-in encoding named ", Condition::InvalidParameter),
    ("Step cannot be zero", Condition::InvalidParameter),
    ("step can't be 0 for function", Condition::InvalidParameter),
    ("Regular expression did not compile: ", Condition::InvalidRegularExpression),
];

/// What stands within messages that begin with a value or a name, and what they are about.
const WITHIN: &[(&str, Condition)] = &[
    (
        " require unique expression names",
        Condition::DuplicateColumn,
    ),
    (" not found in struct", Condition::UndefinedColumn),
    (" to store in a Decimal", Condition::NumericOutOfRange),
    (" overflow on ", Condition::NumericOutOfRange),
    (super::PARSE_ERROR, Condition::InvalidRegularExpression),
    (
        "' is not a valid regular expression: ",
        Condition::InvalidRegularExpression,
    ),
];

#[cfg(test)]
mod tests {
    use datafusion::common::Column;

    use super::*;
    use crate::error::{Error, ErrorKind};

    fn condition(error: DataFusionError) -> Option<Condition> {
        let error = error.context("in a plan");
        Error::from_datafusion(ErrorKind::Plan, error, &[]).condition()
    }

    /// All of them had the code of the class (42000, 22000). The expected ones are those of PostgreSQL 16 for a statement with the same
    /// fault.
    #[test]
    fn errors_have_the_code_of_postgresql() {
        let plan = |message: &str| DataFusionError::Plan(message.to_owned());
        let cast = |message: &str| DataFusionError::from(ArrowError::CastError(message.to_owned()));
        let missing = SchemaError::FieldNotFound {
            field: Box::new(Column::from_name("a")),
            valid_fields: Vec::new(),
        };
        let ambiguous = SchemaError::AmbiguousReference {
            field: Box::new(Column::from_name("a")),
        };
        let of_schema = |error| DataFusionError::SchemaError(Box::new(error), Box::new(None));
        for (error, code) in [
            (of_schema(missing), "42703"),
            (of_schema(ambiguous), "42702"),
            (ArrowError::DivideByZero.into(), "22012"),
            (
                ArrowError::ArithmeticOverflow("1 + 2".to_owned()).into(),
                "22003",
            ),
            (cast("Can't cast value 70000 to type Int16"), "22003"),
            (
                cast("Cannot cast string 'abc' to value of Int32 type"),
                "22P02",
            ),
            (
                cast("Cannot cast string '-70000' to value of Int16 type"),
                "22003",
            ),
            (
                cast("Cannot cast string 'abc' to value of Date32 type"),
                "22007",
            ),
            (plan("table 'datafusion.public.t' not found"), "42P01"),
            (
                plan("Column in SELECT must be in GROUP BY or an aggregate function: \"a\""),
                "42803",
            ),
            (
                plan("WITH query name \"a\" specified more than once"),
                "42712",
            ),
            (
                plan("Cannot create filter with non-boolean predicate 'Int64(1)' returning Int64"),
                "42804",
            ),
            (
                plan("Cannot coerce arithmetic expression Boolean + Int64 to valid types"),
                "42883",
            ),
            (
                plan("No function matches the given name and argument types 'f(Int64)'."),
                "42883",
            ),
            (
                DataFusionError::NotImplemented("MATCH_RECOGNIZE".to_owned()),
                "0A000",
            ),
        ] {
            let shown = error.to_string();
            let found = condition(error).map(Condition::sqlstate);
            assert_eq!(found, Some(code), "{shown}");
        }
        assert_eq!(condition(plan("something else")), None);
    }

    #[test]
    fn an_error_within_another_keeps_its_condition() {
        let inner = Error::new(ErrorKind::Plan, "no such setting")
            .with_condition(Condition::UndefinedObject);
        let outer = DataFusionError::External(Box::new(inner));
        assert_eq!(condition(outer), Some(Condition::UndefinedObject));
    }
}
