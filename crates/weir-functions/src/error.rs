//! Why a statement could not be answered, and what to try.

mod beginnings;
mod condition;
mod values;

use std::fmt;

use arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use weir_capture::redacted;
use weir_tables::names::{Meaning, NAMES, Name, advice};
use weir_tables::{EXTRACTIONS, FilterError, Search, SourceError, Vocabulary};

use crate::similar::nearest;

pub use condition::Condition;

/// A statement could not be planned or run.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    condition: Option<Condition>,
    message: String,
    hint: Option<String>,
    source: Option<Box<DataFusionError>>,
}

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not SQL.
    Syntax,
    /// The statement names what is not there, or combines what does not fit.
    Plan,
    /// A file could not be opened or understood.
    Source,
    /// The statement failed while it ran.
    Run,
    /// A fault of the program ended the statement: a thread of it panicked.
    Internal,
    /// The program that embeds the engine does not allow it.
    Refused,
    /// The statement exceeds a limit of size or depth.
    Limit,
    /// The statement took more memory than it may while it ran.
    Memory,
}

impl Error {
    /// An error with this message, without what addresses of objects hold that is secret.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            condition: None,
            message: redacted(&message.into()).into_owned(),
            hint: None,
            source: None,
        }
    }

    /// The error of a display filter, with its position.
    pub fn of_filter(error: &FilterError, text: &str) -> Self {
        let shown = error.with_caret(text).replace('\n', "\n  ");
        let made = Self::new(ErrorKind::Plan, format!("{error}\n  {shown}"));
        match &error.hint {
            Some(hint) => made.with_hint(hint),
            None => made,
        }
    }

    /// The name of a function that does not exist.
    pub fn unknown_function(error: &DataFusionError) -> Option<String> {
        match error.find_root() {
            DataFusionError::Plan(message) => {
                let rest = message.strip_prefix("Invalid function '")?;
                rest.split('\'').next().map(str::to_owned)
            }
            _ => None,
        }
    }

    /// The same error with something to try.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(redacted(&hint.into()).into_owned());
        self
    }

    /// The same error of a condition that PostgreSQL has a code for.
    #[must_use]
    pub const fn with_condition(mut self, condition: Condition) -> Self {
        self.condition = Some(condition);
        self
    }

    /// The condition, where it is known more exactly than the kind.
    #[must_use]
    pub const fn condition(&self) -> Option<Condition> {
        self.condition
    }

    /// The kind.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Line and column of the text that an error of syntax is at, from 1 on.
    #[must_use]
    pub fn position(&self) -> Option<(u64, u64)> {
        if self.kind != ErrorKind::Syntax {
            return None;
        }
        // Places are only in the text of the parser's messages.
        let (_, place) = self.message.rsplit_once(" at Line: ")?;
        let (line, column) = place.split_once(", Column: ")?;
        let column: String = column.chars().take_while(char::is_ascii_digit).collect();
        Some((line.parse().ok()?, column.parse().ok()?))
    }

    /// The hint.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Puts DataFusion's error into the words of this project.
    pub fn from_datafusion(kind: ErrorKind, error: DataFusionError, columns: &[String]) -> Self {
        let (made, has_source) = worded(kind, &error, columns);
        // The inner error may contain addresses with their secrets, which must not be printed.
        let has_source = has_source && !error.to_string().contains("://");
        Self {
            source: has_source.then(|| Box::new(error)),
            ..made
        }
    }

    /// Puts DataFusion's error, which stays as it is, into the words of this project. The new error has no source.
    pub fn of_datafusion(kind: ErrorKind, error: &DataFusionError) -> Self {
        worded(kind, error, &[]).0
    }

    /// Puts an error of Arrow into the words of this project.
    pub fn of_arrow(kind: ErrorKind, error: &ArrowError) -> Self {
        let made = of_value(kind, error, &[])
            .unwrap_or_else(|| Self::of_wording(kind, arrow_in_own_words(error, &[])));
        Self {
            condition: condition::of_arrow(error),
            ..made
        }
    }

    fn of_wording(kind: ErrorKind, (message, hint): Wording) -> Self {
        let made = Self::new(kind, message);
        match hint {
            Some(hint) => made.with_hint(hint),
            None => made,
        }
    }
}

/// DataFusion's error in the words of this project with its condition, and whether its causes say more.
fn worded(kind: ErrorKind, error: &DataFusionError, columns: &[String]) -> (Error, bool) {
    let (mut made, has_source) = in_words(kind, error, columns);
    made.condition = made.condition.or_else(|| condition::of(error));
    (made, has_source)
}

/// DataFusion's error in the words of this project, and whether its causes say more.
fn in_words(kind: ErrorKind, error: &DataFusionError, columns: &[String]) -> (Error, bool) {
    if let Some(found) = not_found(error) {
        let made = match of_planned_subquery(error, &found) {
            Some((message, hint)) => Error::new(kind, message)
                .with_hint(hint)
                .with_condition(Condition::NotSupported),
            None => unknown_column(&found, columns),
        };
        return (made, false);
    }
    if let DataFusionError::External(found) = error.find_root() {
        if let Some(found) = found.downcast_ref::<SourceError>() {
            let made = Error {
                kind: ErrorKind::Source,
                condition: None,
                message: found.to_string(),
                hint: found.hint(),
                source: None,
            };
            return (made, false);
        }
        if let Some(found) = found.downcast_ref::<Error>() {
            let wording = (found.message.clone(), found.hint.clone());
            let condition = found.condition;
            let made = Error::of_wording(kind, wording);
            return (Error { condition, ..made }, false);
        }
    }
    #[cfg(feature = "remote")]
    if let Some(found) = of_store(error) {
        return (found, false);
    }
    let kind = match error.find_root() {
        DataFusionError::ExecutionJoin(error) if error.is_panic() => ErrorKind::Internal,
        DataFusionError::ResourcesExhausted(_) if kind == ErrorKind::Run => ErrorKind::Memory,
        _ => kind,
    };
    if let DataFusionError::ArrowError(found, _) = error.find_root()
        && let Some(made) = of_value(kind, found, columns)
    {
        return (made, false);
    }
    let wording = match error.find_root() {
        DataFusionError::SQL(parser_error, _) => {
            let text = parser_error.to_string();
            (
                text.trim_start_matches("sql parser error: ").to_owned(),
                None,
            )
        }
        DataFusionError::Plan(message)
        | DataFusionError::Execution(message)
        | DataFusionError::Internal(message) => in_own_words(message, columns),
        DataFusionError::ExecutionJoin(error) => panicked(&error.to_string()),
        DataFusionError::ArrowError(error, _) => arrow_in_own_words(error, columns),
        DataFusionError::NotImplemented(message) => not_supported(message),
        DataFusionError::ResourcesExhausted(message) => (
            format!("out of memory: {message}"),
            Some("raise --memory-limit, or group by fewer values".to_owned()),
        ),
        root => match ambiguous(root) {
            Some(name) => (
                format!("column reference {name} is ambiguous"),
                Some(format!(
                    "qualify it with a table: FROM … AS t, and t.{name}"
                )),
            ),
            None => in_own_words(&root.strip_backtrace(), columns),
        },
    };
    (Error::of_wording(kind, wording), true)
}

/// The error of an object in a store.
#[cfg(feature = "remote")]
fn of_store(error: &DataFusionError) -> Option<Error> {
    let mut found: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = found {
        if let Some(of_store) = error.downcast_ref::<weir_remote::Error>() {
            return Some(Error::from(of_store));
        }
        found = error.source();
    }
    None
}

/// A value that could not be computed, cast or read.
fn of_value(kind: ErrorKind, error: &ArrowError, columns: &[String]) -> Option<Error> {
    match error {
        ArrowError::CastError(message) | ArrowError::ComputeError(message) => {
            Some(Error::of_wording(kind, in_own_words(message, columns)))
        }
        ArrowError::ParseError(message) if message.contains("timestamp") => {
            let written = message.split('\'').nth(1).unwrap_or_default();
            let made = Error::new(kind, format!("'{written}' is not a time"));
            let hint = "write it like '2026-01-01 10:00:00' or '2026-01-01T10:00:00Z'";
            Some(made.with_hint(hint))
        }
        _ => None,
    }
}

/// A step of the plan panicked, as Arrow's do where a column of a batch would have more than 2 GiB.
fn panicked(error: &str) -> Wording {
    let reason = error.split_once("panicked with message ");
    let reason = reason.map_or(error, |(_, reason)| reason.trim_matches('"'));
    let hint =
        "values that are long in every row may be too long together: shorten them with substr()";
    (
        format!("an internal error ended the statement: {reason}"),
        Some(hint.to_owned()),
    )
}

fn not_supported(message: &str) -> Wording {
    if let Some(wording) = values::of_missing(message) {
        return wording;
    }
    if message.contains("`retract_batch` is not implemented: ") {
        let (_, call) = message.rsplit_once("implemented: ").unwrap_or_default();
        let function = call.split('(').next().unwrap_or_default();
        let hint = "use a frame that begins with UNBOUNDED PRECEDING, or array_agg over this frame";
        return (
            format!("not supported: {function} over a window frame with a moving start"),
            Some(hint.to_owned()),
        );
    }
    if message.starts_with("Unsupported LIMIT expression: ") {
        return (
            "not supported: a query or a column in LIMIT and OFFSET".to_owned(),
            Some("a row number is compared with any value: QUALIFY row_number() OVER (ORDER BY a) <= 3".to_owned()),
        );
    }
    if let Some(name @ ("JSON" | "JSONB")) = message.strip_prefix("Unsupported SQL type ") {
        return (
            format!("not supported: the type {name}"),
            Some("JSON is text: '{\"a\": 1}' -> 'a'".to_owned()),
        );
    }
    if message.contains("does not support logical expression Wildcard") {
        return (
            "not supported: a * among other arguments of a function".to_owned(),
            Some("count(*) has it alone".to_owned()),
        );
    }
    if let Some((what, hint)) = beginnings::of_missing(message) {
        return (format!("not supported: {what}"), Some(hint.to_owned()));
    }
    if message.contains("does not support logical expression WindowFunction") {
        return (
            "not supported: a function of windows in this place".to_owned(),
            Some("it stands in the SELECT list, and QUALIFY is the condition on it: QUALIFY row_number() OVER (ORDER BY frame.number) <= 3".to_owned()),
        );
    }
    if let Some((_, expression)) = message.split_once("does not support logical expression ")
        && let Some(wording) = of_unplanned_subquery(expression)
    {
        return wording;
    }
    // Some messages go on with the planner's own notation of the whole expression.
    let short = message.split(['(', '{']).next().unwrap_or(message);
    let short = if short.contains("logical expression") {
        short
    } else {
        message
    };
    (format!("not supported: {short}"), None)
}

/// The error of a subquery for which the optimizer has no join, by the planner's notation of its expression.
fn of_unplanned_subquery(expression: &str) -> Option<Wording> {
    let (what, hint) = if expression.starts_with("ScalarSubquery")
        || expression.starts_with("OuterReferenceColumn")
    {
        (
            "a subquery in an expression or behind LATERAL that compares columns of the outer query with another operator than =, computes with them, or has a LIMIT beside them",
            "write it as a JOIN; an aggregate has one row without LIMIT: first_value(a ORDER BY b DESC)",
        )
    } else if expression.starts_with("InSubquery") || expression.starts_with("Exists") {
        (
            "IN (SELECT …) and EXISTS in the condition of a JOIN, or with LIMIT and columns of the outer query",
            "write it in WHERE, and without LIMIT",
        )
    } else {
        return None;
    };
    Some((format!("not supported: {what}"), Some(hint.to_owned())))
}

/// The error of a subquery at a place where the planner does not allow it, or of its columns and rows.
fn of_subqueries(message: &str) -> Option<Wording> {
    if let Some(names) = message.strip_prefix(COLUMNS_OF_SUBQUERY) {
        let count = names.split(", ").count();
        let wording =
            format!("a subquery in an expression must have one column, and this one has {count}");
        let hint = "in WHERE, (a, b) IN (SELECT …) compares several columns";
        return Some((wording, Some(hint.to_owned())));
    }
    if message.starts_with("Correlated scalar subquery must be aggregated") {
        let hint = "an aggregate such as max(…) returns one row";
        return Some((
            "a correlated scalar subquery may return more than one row".to_owned(),
            Some(hint.to_owned()),
        ));
    }
    if message.starts_with("Correlated scalar subquery can only be used in") {
        let hint = "name it in the SELECT list, and order by that name";
        return Some((
            "not supported: a subquery that names columns of the outer query in ORDER BY or in the condition of a JOIN".to_owned(),
            Some(hint.to_owned()),
        ));
    }
    if message.starts_with("In/Exist/SetComparison subquery can only be used in")
        && message.contains("was used in [Sort")
    {
        let hint = "name it in the SELECT list, and order by that name";
        return Some((
            "not supported: IN (SELECT …) and EXISTS in ORDER BY".to_owned(),
            Some(hint.to_owned()),
        ));
    }
    None
}

/// The beginning of the message about a subquery with several columns, which are named behind it.
const COLUMNS_OF_SUBQUERY: &str = "Too many columns! The subquery should only return one column: ";

/// Arrow's message names the two numbers, or is ours of a sum.
fn overflowed(message: &str) -> String {
    match message.strip_prefix("Overflow happened on: ") {
        Some(_) if is_of_decimals(message) => {
            "a sum, a difference or a product of decimals has more than 38 digits".to_owned()
        }
        Some(calculation) => format!("{calculation} does not fit 64 bits"),
        None => message.to_owned(),
    }
}

/// Whether what overflowed are decimals: a number is longer than those of 64 bits.
fn is_of_decimals(message: &str) -> bool {
    let mut words = message.split(' ').map(|word| word.trim_start_matches('-'));
    message.ends_with("38 digits")
        || words.any(|word| word.len() > 19 && word.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Arrow's error of another kind than those of values.
fn arrow_in_own_words(error: &ArrowError, columns: &[String]) -> Wording {
    let message = match error {
        ArrowError::DivideByZero => "division by zero".to_owned(),
        ArrowError::ArithmeticOverflow(message) => overflowed(message),
        other => other.to_string(),
    };
    let (message, hint) = in_own_words(&message, columns);
    (message, hint.or_else(|| arithmetic_hint(error)))
}

fn arithmetic_hint(error: &ArrowError) -> Option<String> {
    let hint = match error {
        ArrowError::DivideByZero => "a / nullif(b, 0) is NULL where b is 0",
        ArrowError::ArithmeticOverflow(message) if is_of_decimals(message) => {
            "CAST(… AS DOUBLE) has a larger range"
        }
        ArrowError::ArithmeticOverflow(_) => {
            "CAST(… AS DOUBLE) or CAST(… AS DECIMAL(38, 0)) has a larger range"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// A message, and a hint.
type Wording = (String, Option<String>);

/// The planner's message and a hint. These errors have no type of their own, so that they are recognised by their
/// texts.
fn in_own_words(message: &str, columns: &[String]) -> Wording {
    let wording = of_arguments(message)
        .or_else(|| of_names(message, columns))
        .or_else(|| of_types(message))
        .or_else(|| of_subqueries(message))
        .or_else(|| of_positions(message))
        .or_else(|| of_patterns(message))
        .or_else(|| values::of_values(message))
        .unwrap_or_else(|| (message.to_owned(), None));
    beginnings::reworded(wording)
}

/// The error of a number of rows, or of a number that stands for a column of the SELECT list.
fn of_positions(message: &str) -> Option<Wording> {
    for (clause, hint) in [
        (
            "LIMIT",
            "LIMIT 10 has the first ten rows, and a statement without LIMIT all",
        ),
        ("OFFSET", "OFFSET 10 leaves out the first ten rows"),
    ] {
        let given = match message.strip_prefix(clause) {
            // LIMIT must be >= 0, '-1' was provided
            Some(rest) if rest.starts_with(" must be >=") => rest.split('\'').nth(1),
            _ => message
                .strip_prefix("Expected ")
                .and_then(|rest| rest.strip_prefix(clause))
                .and_then(|rest| rest.strip_prefix(" to be an integer or null, but got ")),
        };
        if let Some(given) = given {
            return Some((
                format!("{clause} takes a whole number from 0 on, not {given}"),
                Some(hint.to_owned()),
            ));
        }
    }
    if message == "Order by index starts at 1 for column indexes" {
        return Some(no_position("0", None));
    }
    let position = match message.strip_prefix("Cannot find column with position ") {
        Some(rest) => rest.split_once(" in SELECT clause. Valid columns: 1 to "),
        None => message
            .strip_prefix("Order by column out of bounds, specified: ")
            .and_then(|rest| rest.split_once(", max: ")),
    };
    position.map(|(position, count)| no_position(position, Some(count)))
}

/// The error of a number in GROUP BY or ORDER BY that stands for no column of the SELECT list.
fn no_position(position: &str, count: Option<&str>) -> Wording {
    let message = match count {
        Some("1") => format!("there is no column {position} in the SELECT list, which has one"),
        Some(count) => {
            format!("there is no column {position} in the SELECT list, which has {count}")
        }
        None => format!("there is no column {position} in the SELECT list"),
    };
    let hint = "columns are counted from 1 on; a name stands for its column, too: GROUP BY ip.src ORDER BY ip.src";
    (message, Some(hint.to_owned()))
}

/// The error of a pattern that is no regular expression. The engine quotes what the parser says in several lines, or the pattern
/// alone.
fn of_patterns(message: &str) -> Option<Wording> {
    if let Some((_, reason)) = message.split_once("' is not a valid regular expression: ") {
        let hint = Search::pattern_hint(reason);
        return Some((message.to_owned(), Some(hint.to_owned())));
    }
    let parsed = match message.strip_prefix("Regular expression did not compile: ") {
        Some(refused) if refused.contains(PARSE_ERROR) || refused.starts_with("CompiledTooBig") => {
            refused.to_owned()
        }
        Some(pattern) => ::regex::Regex::new(pattern).err()?.to_string(),
        None => message.to_owned(),
    };
    if parsed.starts_with("CompiledTooBig") || parsed.contains("regex exceeds size limit") {
        let hint = Search::pattern_hint("size limit");
        return Some((
            "a regular expression is too large".to_owned(),
            Some(hint.to_owned()),
        ));
    }
    let (_, lines) = parsed.split_once(PARSE_ERROR)?;
    let mut backward = lines.lines().rev();
    let reason = backward.find_map(|line| line.strip_prefix("error: "))?;
    // A pattern of several lines has their numbers in front, and is not shown.
    let pattern = lines.lines().find(|line| !line.is_empty());
    let message = match pattern.and_then(|line| line.strip_prefix("    ")) {
        Some(pattern) => format!("'{pattern}' is not a valid regular expression: {reason}"),
        None => format!("the pattern is not a valid regular expression: {reason}"),
    };
    Some((message, Some(Search::pattern_hint(reason).to_owned())))
}

/// The beginning of what the parser of patterns says.
const PARSE_ERROR: &str = "regex parse error:";

/// The error of the arguments of a function.
fn of_arguments(message: &str) -> Option<Wording> {
    // The message goes on with the parser's notation of the call.
    if message.starts_with("Substring without for/from is not valid") {
        let hint = "substr(a, 2), or substr(a, 2, 3) for three characters";
        return Some((
            "substr needs the position at which the part begins".to_owned(),
            Some(hint.to_owned()),
        ));
    }
    if message.starts_with("Argument #") && message.contains(", got Column(") {
        let hint = "a list for each row: SELECT a, unnest(generate_series(1, a)) AS n FROM t";
        return Some((
            "a table of numbers in FROM takes constants, not columns".to_owned(),
            Some(hint.to_owned()),
        ));
    }
    // The message of a function of weir about its arguments has the function's name.
    if let Some((_, quoted)) = message.split_once("user-defined coercion failed with: ") {
        let quoted = quoted
            .split(" No function matches")
            .next()
            .unwrap_or(quoted);
        if let Some(quoted) = quoted.strip_prefix("Error during planning: ") {
            if let Some(wording) = uncoerced(quoted) {
                return Some(wording);
            }
            return Some(match quoted.split_once(": ") {
                // DataFusion ends what it quotes with a full stop.
                Some((what, example)) => {
                    let example = example.trim_end_matches('.');
                    (what.to_owned(), Some(example.to_owned()))
                }
                None => (quoted.to_owned(), None),
            });
        }
    }
    if let Some((_, rest)) =
        message.split_once("No function matches the given name and argument types '")
        && let Some((call, _)) = rest.split_once('\'')
    {
        let takes: Vec<String> = rest
            .lines()
            .filter_map(|line| line.strip_prefix('\t'))
            .filter(|line| !line.starts_with("Candidate") && !line.contains("UserDefined"))
            .map(|line| line.replace("NullAry()", ""))
            .collect();
        let hint = match takes.is_empty() {
            _ if call.starts_with("date_trunc(Utf8") && call.ends_with(", Utf8)") => {
                "date_trunc('day', frame.time AT TIME ZONE 'Europe/Berlin')".to_owned()
            }
            _ if call.starts_with("max(") || call.starts_with("min(") => {
                "greatest(a, b) and least(a, b) are those of one row".to_owned()
            }
            _ if call.starts_with("substr(") && call.ends_with(", Utf8)") => {
                "regexp_match(a, 'pattern')[1] is what a pattern matches".to_owned()
            }
            true => "use CAST(… AS type) to convert a value".to_owned(),
            false => format!("write {}", takes.join(" or ")),
        };
        let call = call.replace("BinaryView", "address or bytes");
        return Some((format!("no function matches {call}"), Some(hint)));
    }
    None
}

/// The types of the arguments of a call, where none of the signatures of its function takes them.
fn uncoerced(message: &str) -> Option<Wording> {
    if let Some((function, rest)) = message.split_once("' requires ")
        && let Some((kind, given)) = rest.split_once(", but received ")
    {
        let function = function.trim_start_matches("Function '");
        let given = given.split(" (DataType").next().unwrap_or(given);
        let message = format!("{function} takes {kind}, not {given}");
        return Some((message, Some("CAST(… AS type) converts a value".to_owned())));
    }
    let call = message.strip_prefix("Failed to coerce arguments to satisfy a call to '")?;
    let (name, rest) = call.split_once("' function")?;
    let (_, types) = rest.split_once("coercion from ")?;
    let (types, _) = types.split_once(" to the signature")?;
    let types = types.replace("BinaryView", "address or bytes");
    Some((
        format!("no function matches {name}({types})"),
        Some("use CAST(… AS type) to convert a value".to_owned()),
    ))
}

/// The error of the name of a table or a column.
fn of_names(message: &str, columns: &[String]) -> Option<Wording> {
    if message.starts_with("WITH query name ") {
        let hint = "a WITH within another query needs names of its own";
        return Some((message.to_owned(), Some(hint.to_owned())));
    }
    if let Some(rest) = message.strip_prefix("table '")
        && let Some(name) = rest.strip_suffix("' not found")
    {
        let name = name.strip_prefix("datafusion.").unwrap_or(name);
        let name = name.strip_prefix("public.").unwrap_or(name);
        let hint = match name {
            "live" => "weir live -i eth0 \"SELECT … FROM live\" reads an interface".to_owned(),
            _ if EXTRACTIONS.iter().any(|table| table.name == name) => {
                format!("name a capture: FROM {name}('trace.pcap')")
            }
            _ => "write file names in single quotes: FROM 'trace.pcap'".to_owned(),
        };
        return Some((format!("no table named {name}"), Some(hint)));
    }
    if message.starts_with("Column in ")
        && message.contains(" must be in GROUP BY")
        && let Some(written) = message.split('"').nth(1)
    {
        // The planner puts the table's name in front.
        let ends = |name: &&String| written.ends_with(&format!(".{name}"));
        let column = columns.iter().filter(ends).max_by_key(|name| name.len());
        let column = column.map_or(written, String::as_str);
        return Some((
            format!("{column} is neither in GROUP BY nor in an aggregate such as max"),
            Some(format!(
                "GROUP BY {column}, or take one value of it: min({column})"
            )),
        ));
    }
    if message.contains(" require unique expression names")
        && let Some(written) = message.split('"').nth(1)
    {
        let named = written.rsplit(" AS ").next().unwrap_or(written);
        let ends = |name: &&String| named.ends_with(&format!(".{name}"));
        let column = columns.iter().filter(ends).max_by_key(|name| name.len());
        let name = column.map_or(named, String::as_str);
        return Some((
            format!("column {name} appears more than once in the SELECT list"),
            Some(format!("give one of them another name: {name} AS other")),
        ));
    }
    None
}

/// The error of types that do not fit each other.
fn of_types(message: &str) -> Option<Wording> {
    if message.starts_with("Cannot infer common argument type")
        && message.contains("Timestamp")
        && message.contains("Int")
    {
        let hint = "frame.time_epoch counts seconds: frame.time_epoch > 1767225600; a time is written as text: \
                    frame.time > '2026-01-01T00:00:00Z'";
        return Some((
            "a time cannot be compared with a number".to_owned(),
            Some(hint.to_owned()),
        ));
    }
    if message.contains("string concat operation Boolean")
        || (message.starts_with("Cannot infer common argument type")
            && message.contains("comparison operation Boolean = "))
    {
        let hint = "|| concatenates texts: write OR, and AND for &&";
        return Some((message.to_owned(), Some(hint.to_owned())));
    }
    if let Some(rest) = message.strip_prefix("Cannot cast string '")
        && let Some((text, _)) = rest.split_once("' to value of ")
        && Vocabulary::of("proto").is_some_and(|names| names.word(text).is_some())
    {
        let hint = "names of protocols are in proto, their numbers in ip.proto";
        return Some((format!("'{text}' is not a number"), Some(hint.to_owned())));
    }
    if let Some(rest) = message.strip_prefix("Cannot get result type for temporal operation ")
        && let Some(operation) = rest.split(':').next()
        && operation.contains("Interval")
        && (operation.contains(" * ") || operation.contains(" / "))
    {
        let hint = "by a number: INTERVAL '30 minutes' * 3; extract(epoch FROM a) makes seconds of an interval";
        return Some((
            "an interval is multiplied and divided by numbers only".to_owned(),
            Some(hint.to_owned()),
        ));
    }
    if message.starts_with("Cannot infer common argument type") && message.contains("BinaryView") {
        return Some((
            message.replace("BinaryView", "address or bytes"),
            Some(
                "compare an address with text: ip.src = '10.0.0.1'; bytes with X'0a00'".to_owned(),
            ),
        ));
    }
    None
}

fn not_found(error: &DataFusionError) -> Option<String> {
    match error.find_root() {
        DataFusionError::SchemaError(schema_error, _) => match schema_error.as_ref() {
            SchemaError::FieldNotFound { field, .. } => Some(match &field.relation {
                Some(relation) => format!("{relation}.{}", field.name),
                None => field.name.clone(),
            }),
            _ => None,
        },
        _ => None,
    }
}

/// The part of a subquery that is not planned, and the hint, where the column that is not found is the planner's own:
/// the name of a predicate over a subquery that is a key, or a column that a rule of the optimizer has left behind: at
/// that stage all columns that the statement names have been found.
fn of_planned_subquery(
    error: &DataFusionError,
    found: &str,
) -> Option<(&'static str, &'static str)> {
    if found.ends_with(" ANY") || found.ends_with(" ALL") {
        return Some((
            "not supported: ANY (SELECT …) and ALL (SELECT …) in GROUP BY",
            "name it in a query in FROM, and group by that name",
        ));
    }
    is_of_optimizer(error).then_some((
        "not supported: a subquery in an expression or behind LATERAL that uses columns of the outer query otherwise than in a comparison by =",
        "write it as a JOIN",
    ))
}

fn is_of_optimizer(error: &DataFusionError) -> bool {
    match error {
        DataFusionError::Context(context, inner) => {
            context.starts_with("Optimizer rule ") || is_of_optimizer(inner)
        }
        DataFusionError::Diagnostic(_, inner) => is_of_optimizer(inner),
        DataFusionError::Shared(inner) => is_of_optimizer(inner),
        _ => false,
    }
}

/// The column that more than one table of FROM has.
fn ambiguous(root: &DataFusionError) -> Option<&str> {
    match root {
        DataFusionError::SchemaError(schema_error, _) => match schema_error.as_ref() {
            SchemaError::AmbiguousReference { field } => Some(&field.name),
            _ => None,
        },
        _ => None,
    }
}

fn unknown_column(name: &str, columns: &[String]) -> Error {
    // The part before the first dot may be a table: that of a column, or the prefix of its protocol, without which it is not a
    // column.
    let unqualified = name.split_once('.').and_then(|(table, rest)| {
        let is_of = |column: &String| {
            column
                .strip_prefix(table)
                .is_some_and(|rest| rest.starts_with('.'))
        };
        (!columns.iter().any(is_of)).then_some(rest)
    });
    let names = || columns.iter().map(String::as_str);
    let is_elsewhere = |name: &str| columns.iter().any(|column| column == name);
    // Some names are not columns and mean either of two, such as tcp.port.
    let meant = || {
        let meant = NAMES.iter().filter(|known| {
            matches!(known.meaning, Meaning::Sides(_))
                && known.name.contains('.')
                && known.fits(&is_elsewhere)
        });
        meant.map(|known| known.name)
    };
    let near = |name| nearest(name, names().chain(meant()));
    let hint = if is_elsewhere(name) || unqualified.is_some_and(is_elsewhere) {
        "it is a column of a table of this statement, but not of the tables that this part of it reads"
            .to_owned()
    } else if let Some(advice) = advised(name, columns).or_else(|| advised(unqualified?, columns)) {
        advice
    } else {
        let mut close = near(name);
        if close.is_empty() {
            close = unqualified.map(near).unwrap_or_default();
        }
        if close.is_empty() {
            close.extend(meant_by_the_end(name, &is_elsewhere));
        }
        // A word of SQL ends at the hyphen of a name such as sip.Status-Code.
        let begin = format!("{name}_");
        let longer: Vec<&str> = names().filter(|it| it.starts_with(&begin)).collect();
        match close.as_slice() {
            [] if !longer.is_empty() => format!(
                "did you mean {}? Write a name with a hyphen in double quotes",
                longer.join(", ")
            ),
            [] if columns.len() <= COLUMNS_LISTED && !columns.is_empty() => {
                format!("the columns are {}", columns.join(", "))
            }
            [] => "weir fields lists the columns; write text in single quotes".to_owned(),
            close => format!("did you mean {}?", close.join(", ")),
        }
    };
    Error::new(ErrorKind::Plan, format!("no column named {name}")).with_hint(hint)
}

/// The column at hand that the last part of a name is another name of: `sni` of `client.hello.sni`.
fn meant_by_the_end(name: &str, has: &dyn Fn(&str) -> bool) -> Option<&'static str> {
    let (_, last) = name.rsplit_once('.')?;
    let last = last.to_ascii_lowercase();
    let meant = Name::meanings(&last).find(|known| known.fits(has))?;
    match meant.meaning {
        Meaning::Column(column) => Some(column),
        Meaning::Sides(_) => Some(meant.name),
        Meaning::Expression(_) | Meaning::Advice(_) => None,
    }
}

/// The advice for a name of other tools, if the columns are those of captures.
fn advised(name: &str, columns: &[String]) -> Option<String> {
    let of_captures = columns.iter().any(|column| column.contains('.'));
    let has = |name: &str| columns.iter().any(|column| column == name);
    advice(name, &has).filter(|_| of_captures)
}

/// A table with so few columns has all of them named when one is not found.
const COLUMNS_LISTED: usize = 12;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|error| error as _)
    }
}

impl From<SourceError> for Error {
    fn from(error: SourceError) -> Self {
        let converted = Self::new(ErrorKind::Source, error.to_string());
        match error.hint() {
            Some(hint) => converted.with_hint(hint),
            None => converted,
        }
    }
}

#[cfg(feature = "remote")]
impl From<&weir_remote::Error> for Error {
    fn from(error: &weir_remote::Error) -> Self {
        let kind = match error.kind() {
            weir_remote::ErrorKind::Refused => ErrorKind::Refused,
            _ => ErrorKind::Source,
        };
        let made = Self::new(kind, error.to_string());
        match error.hint() {
            Some(hint) => made.with_hint(hint),
            None => made,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_not_there_is_an_error_of_its_own() {
        let of = |kind: ErrorKind| {
            let error = DataFusionError::ResourcesExhausted("a sort".to_owned());
            Error::from_datafusion(kind, error.context("in a plan"), &[])
        };
        assert_eq!(of(ErrorKind::Run).kind(), ErrorKind::Memory);
        assert_eq!(of(ErrorKind::Run).to_string(), "out of memory: a sort");
        assert_eq!(of(ErrorKind::Plan).kind(), ErrorKind::Plan);
    }

    #[test]
    fn a_panic_of_a_thread_is_an_internal_error() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let thread = runtime.spawn(async { panic!("a fault") });
        let ended: tokio::task::JoinError = runtime.block_on(thread).unwrap_err();
        let ended = DataFusionError::ExecutionJoin(Box::new(ended)).context("in a plan");
        let error = Error::from_datafusion(ErrorKind::Run, ended, &[]);
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert_eq!(
            error.to_string(),
            "an internal error ended the statement: a fault"
        );
    }
}
