//! Errors that the engine begins with words of its own, in the words of this project.

use super::Wording;

/// How a message begins, where what it shows ends (empty for the end of the message), what stands in front of that, and the hint. What
/// ends with a blank is followed by what the message shows.
type Beginning = (&'static str, &'static str, &'static str, &'static str);

const CAST: &str = "CAST(… AS type) converts a value";
const TEXT: &str = "CAST(… AS VARCHAR) makes a text of a value";
const TRY: &str = "TRY_CAST(… AS type) is NULL where a value does not fit the type";

/// Types that do not fit each other.
#[rustfmt::skip]
const TYPES: &[Beginning] = &[
    ("Cannot infer common argument type for comparison operation ", "", "values of these types are not compared: ", CAST),
    ("Cannot infer common argument type for logical boolean operation ", "", "AND and OR take conditions, and not these types: ", "compare values: a > 0 AND b > 0; array_has_any(a, b) is && of lists"),
    ("Cannot infer common argument type for regex operation ", "", "patterns match texts, and not these types: ", TEXT),
    ("Cannot infer common type for bitwise operation ", "", "bits are those of integers, and not of these types: ", "CAST(… AS BIGINT) makes an integer of a number"),
    ("Cannot infer common string type for string concat operation ", "", "|| concatenates texts or lists, and not these types: ", TEXT),
    ("Cannot get result type for temporal operation ", ": ", "there is no arithmetic on these types: ", "a time and an interval make a time: frame.time + INTERVAL '1 hour'"),
    ("Cannot get result type for decimal operation ", ": ", "there is no arithmetic on these types: ", CAST),
    ("Cannot automatically convert ", " to Null", "a column of NULLs without a type takes no values of the type ", "CAST(NULL AS VARCHAR) is a NULL with a type: the columns of a recursive query have those of its first SELECT"),
    ("Cannot automatically convert ", "", "there is no value of one type in the place of the other: ", CAST),
    ("There isn't a common type to coerce ", " in ", "LIKE matches texts, and not these types: ", TEXT),
    ("Unary operator 'NOT' requires a boolean expression, got ", "", "NOT takes a condition, and not the type ", "compare the value: NOT a = 0"),
    ("Unary operator '-' only supports ", "", "a sign stands in front of numbers and intervals", CAST),
    ("Unary operator '+' only supports ", "", "a sign stands in front of numbers and intervals", CAST),
    ("[return_type] SUM not supported for Null", "", "sum takes numbers, and neither * nor a NULL without a type", "sum(frame.len); CAST(NULL AS BIGINT) has a type"),
    ("AvgAccumulator for (Null", "", "avg takes numbers, and no NULL without a type", "CAST(NULL AS DOUBLE) has a type"),
    ("Min/Max accumulator not implemented for type ", "", "min and max have no order of the type ", "take a part of the value: max(s.a)"),
    ("Incompatible inputs for Union: Previous inputs were of type ", " on column", "the SELECTs of a UNION have columns without a type in common: ", CAST),
    ("Cannot run range queries on datatype: ", "", "RANGE goes by distances, which numbers, times and dates have, and not the type ", "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW counts rows, and GROUPS groups of equal ones"),
    ("Join condition must be boolean type, but got ", "", "a condition must be true or false, not ", "compare the value: ON a.x = b.x"),
    ("expr type ", " in InSubquery", "IN (SELECT …) has values of another type: ", "both sides have the same number of columns, and CAST(… AS type) converts a value"),
    ("unnest() can only be applied to", "", "unnest takes a list or a struct", "unnest([1, 2])"),
    ("Cannot access field at argument ", "", "only structs and maps have parts with names", "a list has its elements by their numbers: a[1]; a table that is called as a column is needs another alias"),
    ("Failed to coerce then ", " to common", "the values of CASE have no type in common: ", CAST),
    ("Failed to coerce case ", " to common", "the values of CASE and WHEN are not compared: ", CAST),
    ("Argument #1 must be an INTEGER, TIMESTAMP, DATE or NULL, got ", "", "a series goes from number to number or from time to time, and not from the type ", "generate_series(1, 10)"),
    ("Csv error: Nested type ", " is not", "CSV with OPTIONS has no lists and structs: ", "without OPTIONS it has them as JSON: COPY (SELECT …) TO 'x.csv'"),
    ("Parquet error: NYI: Attempting to write an Arrow interval", "", "Parquet with OPTIONS has no intervals", "extract(epoch FROM a) makes seconds of one; without OPTIONS it is a text"),
    ("a column of a recursive query has the type of the first SELECT: ", "", "a column of a recursive query has the type of the first SELECT: ", "CAST gives it the type: WITH RECURSIVE r(n) AS (SELECT CAST(1 AS DOUBLE) UNION ALL SELECT n + 0.5 FROM r WHERE n < 3)"),
    ("Field ", " not found in struct", "a struct has no part named ", "arrow_typeof(s) has the parts"),
];

/// Values that are out of range.
#[rustfmt::skip]
const VALUES: &[Beginning] = &[
    ("Overflow while rounding ", "", "a rounded number does not fit the type ", "CAST(… AS DECIMAL(38, 0)) has a larger range"),
    ("Decimal overflow while applying ", "", "a decimal has no room for the number that it would be after ", "CAST(… AS DECIMAL(38, 2)) has a larger range"),
    ("round decimal_places ", " is out of", "round takes a number of digits, and not ", "round(a, 2) has two digits behind the point"),
    ("invalid Unicode scalar value: ", "", "there is no character with the number ", "chr(65) is A; the numbers are those of Unicode, up to 1114111"),
    ("Unsupported date_trunc granularity: ", ". Supported", "date_trunc does not know ", "it goes down to the microsecond, millisecond, second, minute, hour, day, week, month, quarter or year"),
    ("to_timestamp function unsupported data type at index ", "", "to_timestamp takes a text and formats of it, and no NULL without a type", "to_timestamp('2026-01-31', '%Y-%m-%d')"),
    ("Granularity of `date_trunc` must be", "", "the unit of date_trunc is a constant, and not NULL", "CASE unit WHEN 'hour' THEN date_trunc('hour', frame.time) … END goes by a column"),
    ("date_part requires non-empty constant", "", "the part of date_part is a constant, and not NULL", "CASE part WHEN 'hour' THEN date_part('hour', frame.time) … END goes by a column"),
    ("Error parsing timestamp from ", "", "a time was not read: ", "formats are those of strftime: '%Y-%m-%d %H:%M:%S'"),
    ("Invalid argument error: ", " to store in a Decimal", "a number does not fit its type: ", TRY),
    ("Decimal(precision = ", "", "a decimal has 1 to 76 digits, and no more of them behind the point", "DECIMAL(10, 2) has ten digits, two of them behind the point"),
    ("date_bin takes an interval that is longer than 0", "", "date_bin takes an interval that is longer than 0", "date_bin(INTERVAL '5 minutes', frame.time)"),
    ("DATE_BIN stride must be non-zero", "", "date_bin takes an interval that is longer than 0", "date_bin(INTERVAL '5 minutes', frame.time)"),
    ("NTILE requires a positive integer", "", "ntile takes a number of groups from 1 on", "ntile(4) OVER (ORDER BY frame.len)"),
    ("Step cannot be zero", "", "the step of a series must not be 0", "generate_series(1, 10, 2)"),
    ("step can't be 0 for function", "", "the step of a series must not be 0", "generate_series(1, 10, 2)"),
    ("There is no built-in encoding named ", ", currently", "there is no encoding named ", "the encodings are hex, base64 and base64pad"),
    ("Invalid argument error: Encountered non UTF-8 data", "", "bytes are not a text in UTF-8", "encode(…, 'hex') makes a text of any bytes"),
    ("Overflow converting ", " to Nanosecond", "a time has no room in 64 bits of nanoseconds: ", "these are from 1677 to 2262; DATE '3000-01-01' is any day"),
    ("Overflow happened on FACTORIAL(", ")", "a factorial does not fit 64 bits: that of ", "factorial(20) is the largest one that does"),
    ("Signed integer overflow in LCM(", ")", "a least common multiple does not fit 64 bits: that of ", "CAST(… AS DOUBLE) has a larger range"),
    ("Invalid escape character in LIKE expression", "", "ESCAPE takes one character", "a LIKE '50!%' ESCAPE '!'"),
    ("overlay start position must be", "", "overlay counts characters from 1 on", "overlay('abc' PLACING 'x' FROM 1)"),
    ("negative count not allowed: ", "", "substr takes a number of characters from 0 on, not ", "substr('abc', 1, 2)"),
    ("field position must not be zero", "", "split_part counts parts from 1 on, and from -1 on backwards", "split_part('a,b', ',', 1)"),
    ("Failed to decode value using ", "", "a text was not decoded as ", "hex has two digits for an octet: decode('0aff', 'hex')"),
];

/// Clauses and names.
#[rustfmt::skip]
const CLAUSES: &[Beginning] = &[
    ("HAVING clause references: ", "", "HAVING needs GROUP BY, or an aggregate such as count(*)", "a condition on rows stands in WHERE, and one on groups in HAVING: GROUP BY a HAVING count(*) > 1"),
    ("Aggregate functions are not allowed in the WHERE clause", "", "there are no aggregates in WHERE", "HAVING is the condition on groups: GROUP BY a HAVING max(b) > 1"),
    ("QUALIFY clause requires window functions", "", "QUALIFY is a condition on functions of windows, and there are none", "a condition on rows stands in WHERE"),
    ("SELECT DISTINCT ON expressions must match initial ORDER BY", "", "DISTINCT ON takes what ORDER BY begins with", "SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, b"),
    ("The window ", " is not defined", "no window is named ", "WINDOW w AS (ORDER BY frame.number) behind FROM names one"),
    ("Unsupported Value '", "", "not supported: a literal of this kind", "'…' is a text, X'0a' are bytes, and 5 # 3 calculates with the bits of integers"),
    ("Source table contains ", " columns", "there are as many names in the parentheses behind a table as it has columns: ", "FROM (SELECT 1, 2) AS t(a, b)"),
    ("Inconsistent data length across values list: ", "", "rows of VALUES are equally long: ", "NULL fills a place"),
    ("Schema error: Schema contains duplicate unqualified field name ", "", "two columns have the name ", "give one of them another name: SELECT x.a, y.a AS b"),
    ("Correlated scalar subquery in the GROUP BY clause must", "", "not supported: a subquery in GROUP BY that names columns of the outer query", "name it in a query in FROM, and group by that name"),
    ("Invalid or Unsupported Configuration: ", " compression requires specifying a level", "the level of the compression is missing: ", "OPTIONS (compression 'zstd(3)')"),
    ("For SELECT DISTINCT, ORDER BY expressions ", " must appear in select list", "rows of DISTINCT have no order by what they do not have: ", "GROUP BY a ORDER BY min(b) has a row for each a"),
    ("A GROUP BY clause in a scalar correlated subquery cannot", "", "not supported: GROUP BY in a subquery that names columns of the outer query", "write it as a JOIN"),
    ("Table '", "' already exists", "there is a table or a view already that is named ", "CREATE OR REPLACE TABLE puts another one in its place, and DROP TABLE removes it"),
    ("Table '", "' doesn't exist", "no table named ", "SHOW TABLES lists the tables"),
    ("View '", "' doesn't exist", "no view named ", "SHOW TABLES lists the views, too"),
    ("Invalid or Unsupported Configuration: could not find config namespace for key ", "", "there is no setting ", "SHOW ALL lists the settings"),
    ("Invalid or Unsupported Configuration: Error parsing ", " as u8", "an option takes one ASCII character, and not ", "COPY (SELECT …) TO 'x.csv' (DELIMITER ';', QUOTE '#')"),
    ("External error: provided string was not `true` or `false`", "", "an option or a setting is true or false", "COPY (SELECT …) TO 'x.csv' (HEADER false, DELIMITER ';')"),
    ("Invalid or Unsupported Configuration: Config value ", " not found on ", "files of this format have no option ", "COPY (SELECT …) TO 'x.csv' (HEADER false, DELIMITER ';')"),
];

/// The wording of a message that begins so, and all others as they are.
pub(super) fn reworded((message, hint): Wording) -> Wording {
    let mut known = TYPES.iter().chain(VALUES).chain(CLAUSES);
    let found = known.find_map(|(begin, end, instead, advice)| {
        let rest = message.strip_prefix(begin)?;
        let shown = match end.is_empty() {
            true => rest,
            false => rest.split_once(end)?.0,
        };
        let message = match instead.ends_with(' ') {
            true => format!("{instead}{shown}"),
            false => (*instead).to_owned(),
        };
        Some((message, *advice))
    });
    match found {
        Some((worded, advice)) => (worded, hint.or_else(|| Some(advice.to_owned()))),
        None => (message, hint),
    }
}

/// The message about a part of SQL that the planner does not have, in place of its own.
pub(super) fn of_missing(message: &str) -> Option<(String, &'static str)> {
    if let Some(name) = message.strip_prefix("Unsupported SQL type ") {
        return Some((
            format!("the type {name}"),
            "types are BOOLEAN, INT, BIGINT, DOUBLE, DECIMAL(10, 2), VARCHAR, BYTEA, DATE, TIME, TIMESTAMP and INTERVAL; address('10.0.0.1') is an address",
        ));
    }
    if let Some(types) = message.strip_prefix("Unsupported CAST from ") {
        let hint = match types.split_once(" to Utf8") {
            Some(_) => "a part of it is a value: s.a, m['key']",
            None => "CAST(… AS VARCHAR) makes a text of numbers, times and lists",
        };
        return Some((format!("a cast from {types}"), hint));
    }
    if message.starts_with("Unsupported Interval Expression with ") {
        return Some((
            "the fields of an interval".to_owned(),
            "write the units in the text: INTERVAL '1 year 2 months'",
        ));
    }
    if message.starts_with("Conflicting ordering requirements in aggregate functions") {
        return Some((
            "several calls of nth_value, or elements of array_agg by [n], with different ORDER BYs"
                .to_owned(),
            "array_element(array_agg(a ORDER BY b), 2) is the second value, too",
        ));
    }
    if message.starts_with("Slice subscript requires ") {
        return Some((
            "a part of a list with a step and an open end".to_owned(),
            "write both ends: a[1:10:2]",
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These were the words of the engine.
    #[test]
    fn messages_of_the_engine_are_put_into_words() {
        for (given, message, hint) in [
            (
                "Cannot infer common argument type for logical boolean operation List(Int64) AND List(Int64)",
                "AND and OR take conditions, and not these types: List(Int64) AND List(Int64)",
                "array_has_any",
            ),
            (
                "Cannot get result type for temporal operation Date32 * Int64: Invalid argument error: Invalid date arithmetic operation",
                "there is no arithmetic on these types: Date32 * Int64",
                "INTERVAL",
            ),
            (
                "HAVING clause references: t.a > Int64(1) must appear in the GROUP BY clause or be used in an aggregate function",
                "HAVING needs GROUP BY, or an aggregate such as count(*)",
                "WHERE",
            ),
            (
                "Unsupported date_trunc granularity: 'foo'. Supported values are: microsecond, year",
                "date_trunc does not know 'foo'",
                "quarter",
            ),
            (
                "Granularity of `date_trunc` must be non-null scalar Utf8",
                "the unit of date_trunc is a constant, and not NULL",
                "CASE unit",
            ),
            (
                "date_part requires non-empty constant string",
                "the part of date_part is a constant, and not NULL",
                "CASE part",
            ),
            (
                "Invalid argument error: 12345 is too large to store in a Decimal128 of precision 3. Max is 999",
                "a number does not fit its type: 12345 is too large",
                "TRY_CAST",
            ),
            (
                "For SELECT DISTINCT, ORDER BY expressions t.b must appear in select list",
                "rows of DISTINCT have no order by what they do not have: t.b",
                "GROUP BY",
            ),
            (
                "Table 't' already exists",
                "there is a table or a view already that is named t",
                "DROP TABLE",
            ),
            (
                "Schema error: Schema contains duplicate unqualified field name a",
                "two columns have the name a",
                "AS b",
            ),
            (
                "Invalid argument error: Encountered non UTF-8 data: invalid utf-8 sequence of 1 bytes from index 0",
                "bytes are not a text in UTF-8",
                "'hex'",
            ),
            (
                "Failed to coerce then (Int64) and else (List(Int64)) to common types in CASE WHEN expression",
                "the values of CASE have no type in common: (Int64) and else (List(Int64))",
                "CAST",
            ),
            (
                "Invalid or Unsupported Configuration: Config value \"foo\" not found on CsvOptions",
                "files of this format have no option \"foo\"",
                "HEADER",
            ),
        ] {
            let (found, advice) = reworded((given.to_owned(), None));
            assert_eq!(found, message);
            assert!(advice.unwrap().contains(hint), "{given}");
        }
        let (found, hint) = reworded((
            "NTILE requires a positive integer".to_owned(),
            Some("own".to_owned()),
        ));
        assert_eq!(found, "ntile takes a number of groups from 1 on");
        assert_eq!(hint.as_deref(), Some("own"));
        let other = ("Field and so on".to_owned(), None);
        assert_eq!(reworded(other.clone()), other);
        let (found, _) = of_missing("Unsupported SQL type inet").unwrap();
        assert_eq!(found, "the type inet");
        assert!(of_missing("something else").is_none());
    }

    #[test]
    fn options_and_formats_that_do_not_fit_are_put_into_words() {
        for (given, message, hint) in [
            (
                "Invalid or Unsupported Configuration: Error parsing || as u8. Non-ASCII string provided",
                "an option takes one ASCII character, and not ||",
                "QUOTE",
            ),
            (
                "External error: provided string was not `true` or `false`",
                "an option or a setting is true or false",
                "HEADER",
            ),
            (
                "to_timestamp function unsupported data type at index 1: Null",
                "to_timestamp takes a text and formats of it, and no NULL without a type",
                "%Y",
            ),
        ] {
            let (found, advice) = reworded((given.to_owned(), None));
            assert_eq!(found, message);
            assert!(advice.unwrap().contains(hint), "{given}");
        }
    }
}
