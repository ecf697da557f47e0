//! Errors of values and conditions, in the words of this project.

use super::Wording;

/// The error of a value that does not fit its type, of a condition that is not a truth value, of an unknown part of a time, or of a subquery with several rows.
pub(super) fn of_values(message: &str) -> Option<Wording> {
    of_cast(message)
        .or_else(|| of_interval(message))
        .or_else(|| of_operation(message))
        .or_else(|| of_clause(message))
        .or_else(|| {
            let inner = message.strip_prefix("Execution error: ")?;
            Some(of_values(inner).unwrap_or_else(|| (inner.to_owned(), None)))
        })
}

/// The error of a cast.
fn of_cast(message: &str) -> Option<Wording> {
    let hint = "TRY_CAST(… AS type) is NULL where a value does not fit the type".to_owned();
    let behind = |beginning: &str| message.strip_prefix(beginning);
    if let Some(rest) = behind("Cannot cast string '").or_else(|| behind("Cannot cast value '")) {
        let (text, kind) = rest.rsplit_once("' to value of ")?;
        let kind = kind.trim_end_matches(" type");
        return Some(match kind {
            "Date32" | "Date64" => (
                format!("'{text}' is not a date"),
                Some("write it like '2026-01-31'".to_owned()),
            ),
            "Boolean" => (format!("'{text}' is neither true nor false"), Some(hint)),
            _ if kind.starts_with("Time") => (
                format!("'{text}' is not a time"),
                Some(
                    "write it like '10:00:00', and an instant like '2026-01-01 10:00:00'"
                        .to_owned(),
                ),
            ),
            _ if kind.contains("Int") => (
                format!("'{text}' is not a whole number of the type {kind}"),
                Some(hint),
            ),
            _ if kind.starts_with("Float") || kind.starts_with("Decimal") => {
                (format!("'{text}' is not a number"), Some(hint))
            }
            _ => return None,
        });
    }
    let rest = behind("Can't cast value ")?;
    let (value, kind) = rest.rsplit_once(" to type ")?;
    Some((format!("{value} does not fit the type {kind}"), Some(hint)))
}

/// The error of an interval, or of a part of a time.
fn of_interval(message: &str) -> Option<Wording> {
    let message = message.strip_prefix("Parser error: ").unwrap_or(message);
    if let Some(rest) = message.strip_prefix("Invalid input syntax for type interval: \"") {
        let (written, why) = rest.rsplit_once('"')?;
        let why = why.trim_start_matches('.');
        let why = if why.is_empty() {
            String::new()
        } else {
            format!(":{why}")
        };
        let hint = "write it like INTERVAL '1 day 2 hours 30 minutes'; the units are year, month, week, day, hour, minute, second, millisecond, microsecond and nanosecond";
        return Some((
            format!("'{written}' is not an interval{why}"),
            Some(hint.to_owned()),
        ));
    }
    let part = message
        .strip_prefix("Date part '")?
        .strip_suffix("' not supported")?;
    let hint = "the parts are year, quarter, month, week, day, dow, doy, hour, minute, second, millisecond, microsecond, nanosecond and epoch";
    Some((format!("a time has no part {part}"), Some(hint.to_owned())))
}

/// The error of an operator or a function that is not there, which has another form.
pub(super) fn of_missing(message: &str) -> Option<Wording> {
    let (message, hint) = match message {
        "Unsupported SQL unary operator BitwiseNot" => (
            "not supported: ~ in front of a number",
            "-1 - x has the bits that x does not have",
        ),
        "COUNT DISTINCT with multiple arguments" => (
            "not supported: count(DISTINCT …) of several values",
            "count the rows of a query in FROM: SELECT count(*) FROM (SELECT DISTINCT a, b FROM t)",
        ),
        "Physical plan does not support undecorrelated Subquery" => (
            "not supported: a subquery behind LATERAL with columns of the outer query and a condition that is never true",
            "write it as a JOIN",
        ),
        _ => return None,
    };
    Some((message.to_owned(), Some(hint.to_owned())))
}

/// The error of values that are not calculated with each other.
fn of_operation(message: &str) -> Option<Wording> {
    let operation = message
        .strip_prefix("Cannot coerce arithmetic expression ")?
        .strip_suffix(" to valid types")?;
    let hint = match operation {
        _ if operation.contains("Utf8") => {
            "CAST(… AS BIGINT) makes a number of a text, and || concatenates texts"
        }
        _ if operation.contains("BinaryView") => {
            "addresses and bytes are compared: ip.src = '10.0.0.1', tcp.payload[1] = 22"
        }
        _ if operation.contains("Boolean") => "CAST(… AS INT) makes 1 of true and 0 of false",
        _ => "CAST(… AS type) converts a value",
    };
    Some((
        format!(
            "there is no arithmetic on these types: {}",
            operation.replace("BinaryView", "address or bytes")
        ),
        Some(hint.to_owned()),
    ))
}

/// The error of a condition or a query where its kind does not fit.
fn of_clause(message: &str) -> Option<Wording> {
    let with = |message: &str, hint: &str| Some((message.to_owned(), Some(hint.to_owned())));
    if let Some(rest) = message.strip_prefix("Cannot create filter with non-boolean predicate '") {
        let (_, kind) = rest.rsplit_once("' returning ")?;
        let message = format!("a condition must be true or false, not {kind}");
        return with(&message, "compare the value: frame.len > 0");
    }
    if message.starts_with("Scalar subquery returned more than one row") {
        return with(
            "a subquery in an expression returned more than one row",
            "an aggregate such as max(…), or LIMIT 1, returns one row",
        );
    }
    if message.starts_with("UNION queries have different number of columns") {
        return with(
            message,
            "each SELECT of a UNION has the same number of columns: NULL AS name fills a place",
        );
    }
    if message.starts_with("Aggregate function calls cannot be nested") {
        return with(
            message,
            "a query in FROM has the inner one: SELECT max(n) FROM (SELECT count(*) AS n FROM t GROUP BY a)",
        );
    }
    if let Some((_, rest)) = message.split_once("Array overflow on abs(") {
        let number = rest.trim_end_matches(')');
        return with(
            &format!("{number} without its sign does not fit its type"),
            "CAST(… AS DECIMAL(38, 0)) has a larger range",
        );
    }
    if message == "invalid digit found in string" {
        return with(
            "a number in ORDER BY is the place of a column, a whole number",
            "columns are counted from 1 on: ORDER BY 2 DESC",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These were in the words of the engine, and had no hint.
    #[test]
    fn errors_of_values_say_what_to_write() {
        for (given, message, hint) in [
            (
                "Cannot cast string '2026-02-30' to value of Date32 type",
                "'2026-02-30' is not a date",
                "2026-01-31",
            ),
            (
                "Cannot cast string '1e3' to value of Int32 type",
                "'1e3' is not a whole number of the type Int32",
                "TRY_CAST",
            ),
            (
                "Cannot cast value 'abc' to value of Boolean type",
                "'abc' is neither true nor false",
                "TRY_CAST",
            ),
            (
                "Can't cast value 300 to type Int8",
                "300 does not fit the type Int8",
                "TRY_CAST",
            ),
            (
                "Parser error: Invalid input syntax for type interval: \"1 fortnight\"",
                "'1 fortnight' is not an interval",
                "INTERVAL '1 day",
            ),
            (
                "Date part 'foo' not supported",
                "a time has no part foo",
                "quarter",
            ),
            (
                "Cannot create filter with non-boolean predicate 'Int64(1)' returning Int64",
                "a condition must be true or false, not Int64",
                "compare",
            ),
            (
                "Int64Array overflow on abs(-9223372036854775808)",
                "-9223372036854775808 without its sign does not fit its type",
                "DECIMAL",
            ),
            (
                "Execution error: Scalar subquery returned more than one row",
                "a subquery in an expression returned more than one row",
                "LIMIT 1",
            ),
        ] {
            let (found, advice) = of_values(given).unwrap();
            assert_eq!(found, message);
            assert!(advice.unwrap().contains(hint), "{given}");
        }
        let (root, hint) = of_values("Execution error: cannot take square root").unwrap();
        assert_eq!((root.as_str(), hint), ("cannot take square root", None));
        assert_eq!(of_values("something else"), None);
    }
}
