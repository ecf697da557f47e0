//! Functions of JSON in texts, and PostgreSQL's operators of it.
//!
//! `->` gives JSON as text again, `->>` a text; a number counts elements from 0, and from the end with a sign. A text that is no JSON has nothing in it: the answer is NULL.
//!
//! Numbers are never read to be written again: what `->>` gives stands in the text like that. (The functions of
//! datafusion-functions-json were looked at: `json_get` there gives a union of all types, which no format of files
//! has, and seven more crates come with it, one of them no longer maintained.)

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanBuilder, Float64Builder, Int64Builder, ListBuilder,
    StringBuilder, StringViewBuilder,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int64Type};
use datafusion::common::{DFSchema, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use serde::de::IgnoredAny;

use crate::computed::{Arguments, ColumnFunction};

/// A part, as JSON: what `->` is.
const GET: &str = "json_get";
/// A part as text: what `->>` is.
const AS_TEXT: &str = "json_as_text";
const GET_STR: &str = "json_get_str";
const GET_INT: &str = "json_get_int";
const GET_FLOAT: &str = "json_get_float";
const GET_BOOL: &str = "json_get_bool";
/// Whether there is such a part.
const CONTAINS: &str = "json_contains";
const LENGTH: &str = "json_length";
const KEYS: &str = "json_object_keys";

pub(crate) fn all() -> [ScalarUDF; 9] {
    [
        GET, AS_TEXT, GET_STR, GET_INT, GET_FLOAT, GET_BOOL, CONTAINS, LENGTH, KEYS,
    ]
    .map(function)
}

fn function(name: &'static str) -> ScalarUDF {
    let function = ColumnFunction {
        name,
        arguments: Arguments::Coerced(coerced),
        kind: |name, _| {
            Ok(match name {
                GET_INT | LENGTH => DataType::Int64,
                GET_FLOAT => DataType::Float64,
                GET_BOOL | CONTAINS => DataType::Boolean,
                KEYS => DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true))),
                _ => DataType::Utf8View,
            })
        },
        values,
    };
    function.udf()
}

/// Makes functions of the operators.
#[derive(Debug)]
pub(crate) struct JsonPlanner;

impl ExprPlanner for JsonPlanner {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        _schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let name = match expr.op {
            BinaryOperator::Arrow => GET,
            BinaryOperator::LongArrow => AS_TEXT,
            _ => return Ok(PlannerResult::Original(expr)),
        };
        Ok(PlannerResult::Planned(
            function(name).call(vec![expr.left, expr.right]),
        ))
    }
}

fn coerced(name: &str, types: &[DataType]) -> Result<Vec<DataType>> {
    let text = |kind: &DataType| match kind {
        DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Null
        // A payload that is not UTF-8 is not JSON.
        | DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView => Some(DataType::Utf8View),
        _ => None,
    };
    let step = |kind: &DataType| match kind.is_integer() {
        true => Some(DataType::Int64),
        false if kind.is_binary() => None,
        false => text(kind),
    };
    let taken: Option<Vec<DataType>> = match types.split_first() {
        Some((json, path)) => {
            let path = path.iter().map(step);
            std::iter::once(text(json)).chain(path).collect()
        }
        None => None,
    };
    let needs_path = !matches!(name, AS_TEXT | LENGTH | KEYS);
    match taken {
        Some(taken) if !needs_path || types.len() > 1 => Ok(binary_kept(types, taken)),
        _ => plan_err!(
            "{name} takes JSON, and the keys or numbers of elements that lead to a part: {name}(websocket.payload.text, 'a', 0)"
        ),
    }
}

fn values(name: &str, given: &[ArrayRef]) -> Result<ArrayRef> {
    let steps = given.iter().skip(1).map(PathSteps::new);
    let parts = Lookup {
        rows: given.first().map_or(0, Array::len),
        texts: Texts::new(given.first())?,
        steps: steps.collect::<Result<_>>()?,
    };
    Ok(match name {
        GET => parts.as_json(),
        AS_TEXT => parts.as_texts(true),
        GET_STR => parts.as_texts(false),
        GET_INT => parts.as_ints(),
        GET_FLOAT => parts.as_floats(),
        GET_BOOL => parts.as_bools(),
        CONTAINS => parts.are_there(),
        LENGTH => parts.lengths(),
        _ => parts.keys(),
    })
}

/// The types that are taken; bytes stay bytes, since a cast would fail at the first that is no UTF-8.
fn binary_kept(types: &[DataType], mut taken: Vec<DataType>) -> Vec<DataType> {
    if let (Some(first), Some(kind)) = (taken.first_mut(), types.first())
        && kind.is_binary()
    {
        *first = DataType::BinaryView;
    }
    taken
}

/// Texts, or bytes that may be some.
struct Texts(ArrayRef);

impl Texts {
    fn new(array: Option<&ArrayRef>) -> Result<Self> {
        let Some(array) = array else {
            return plan_err!("JSON must be text");
        };
        Ok(Self(match array.data_type().is_binary() {
            true => cast(array, &DataType::BinaryView)?,
            false => cast(array, &DataType::Utf8View)?,
        }))
    }

    fn value(&self, row: usize) -> Option<&str> {
        if self.0.is_null(row) {
            return None;
        }
        match self.0.as_binary_view_opt() {
            Some(bytes) => std::str::from_utf8(bytes.value(row)).ok(),
            None => Some(self.0.as_string_view().value(row)),
        }
    }
}

/// A part of the JSON in each row.
struct Lookup {
    rows: usize,
    texts: Texts,
    /// The way to it.
    steps: Vec<PathSteps>,
}

impl Lookup {
    fn part(&self, row: usize) -> Option<&str> {
        let mut part = document(self.texts.value(row)?)?;
        for step in &self.steps {
            part = match step {
                PathSteps::Keys(keys) => {
                    let keys = keys.as_string_view();
                    member(part, keys.is_valid(row).then(|| keys.value(row))?)?
                }
                PathSteps::Numbers(numbers) => {
                    let numbers = numbers.as_primitive::<Int64Type>();
                    element(part, numbers.is_valid(row).then(|| numbers.value(row))?)?
                }
            };
        }
        Some(part)
    }

    fn as_json(&self) -> ArrayRef {
        let mut found = StringViewBuilder::with_capacity(self.rows);
        (0..self.rows).for_each(|row| found.append_option(self.part(row)));
        Arc::new(found.finish())
    }

    /// The contents of strings; all other values but null in their JSON form, or only strings.
    fn as_texts(&self, all: bool) -> ArrayRef {
        let mut found = StringViewBuilder::with_capacity(self.rows);
        for row in 0..self.rows {
            found.append_option(self.part(row).and_then(|part| match part {
                "null" => None,
                text if text.starts_with('"') => written(text),
                other if all => Some(other.into()),
                _ => None,
            }));
        }
        Arc::new(found.finish())
    }

    fn as_ints(&self) -> ArrayRef {
        let mut found = Int64Builder::with_capacity(self.rows);
        let number = |row: usize| self.part(row)?.parse().ok();
        (0..self.rows).for_each(|row| found.append_option(number(row)));
        Arc::new(found.finish())
    }

    fn as_floats(&self) -> ArrayRef {
        let mut found = Float64Builder::with_capacity(self.rows);
        let is_number =
            |text: &&str| text.starts_with(['-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
        let number = |row: usize| self.part(row).filter(is_number)?.parse().ok();
        (0..self.rows).for_each(|row| found.append_option(number(row)));
        Arc::new(found.finish())
    }

    fn as_bools(&self) -> ArrayRef {
        let mut found = BooleanBuilder::with_capacity(self.rows);
        for row in 0..self.rows {
            found.append_option(match self.part(row) {
                Some("true") => Some(true),
                Some("false") => Some(false),
                _ => None,
            });
        }
        Arc::new(found.finish())
    }

    fn are_there(&self) -> ArrayRef {
        let mut found = BooleanBuilder::with_capacity(self.rows);
        for row in 0..self.rows {
            let is_json = self.texts.value(row).and_then(document).is_some();
            found.append_option(is_json.then(|| self.part(row).is_some()));
        }
        Arc::new(found.finish())
    }

    /// The number of elements or members.
    fn lengths(&self) -> ArrayRef {
        let mut found = Int64Builder::with_capacity(self.rows);
        let length = |row: usize| {
            let part = self.part(row)?;
            let count = items(part)?.count();
            i64::try_from(count).ok()
        };
        (0..self.rows).for_each(|row| found.append_option(length(row)));
        Arc::new(found.finish())
    }

    fn keys(&self) -> ArrayRef {
        let mut found = ListBuilder::new(StringBuilder::new());
        for row in 0..self.rows {
            let keys = self
                .part(row)
                .filter(|part| part.starts_with('{'))
                .and_then(items)
                .map(|items| items.map(|(key, _)| key.and_then(written)));
            found.append_option(keys);
        }
        Arc::new(found.finish())
    }
}

/// One step of the way to a part, for each row.
enum PathSteps {
    Keys(ArrayRef),
    Numbers(ArrayRef),
}

impl PathSteps {
    fn new(array: &ArrayRef) -> Result<Self> {
        Ok(match array.data_type().is_integer() {
            true => Self::Numbers(cast(array, &DataType::Int64)?),
            false => Self::Keys(cast(array, &DataType::Utf8View)?),
        })
    }
}

/// The text without white space around it, when it is JSON. What is behind this relies on that.
fn document(text: &str) -> Option<&str> {
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    Some(text.trim_matches(WHITE))
}

/// White space of JSON (RFC 8259, 2).
const WHITE: [char; 4] = [' ', '\t', '\n', '\r'];

/// The text that a string of JSON is.
fn written(string: &str) -> Option<Cow<'_, str>> {
    let inside = string.strip_prefix('"')?.strip_suffix('"')?;
    match inside.contains('\\') {
        false => Some(inside.into()),
        true => serde_json::from_str::<String>(string).ok().map(Cow::from),
    }
}

/// The value of a key of an object; of several the last, as in PostgreSQL's jsonb.
fn member<'j>(object: &'j str, wanted: &str) -> Option<&'j str> {
    let members = items(object).filter(|_| object.starts_with('{'))?;
    let mut found = None;
    for (key, value) in members {
        if key.and_then(written).is_some_and(|key| key == wanted) {
            found = Some(value);
        }
    }
    found
}

/// An element of an array: counted from 0, or from -1 at the end.
fn element(array: &str, number: i64) -> Option<&str> {
    let mut elements = items(array).filter(|_| array.starts_with('['))?;
    match usize::try_from(number) {
        Ok(number) => elements.nth(number).map(|(_, value)| value),
        Err(_) => {
            let all: Vec<&str> = elements.map(|(_, value)| value).collect();
            let behind = usize::try_from(number.unsigned_abs()).ok()?;
            all.get(all.len().checked_sub(behind)?).copied()
        }
    }
}

/// The members of an object with their keys, or the elements of an array; `None` for what is neither.
fn items(json: &str) -> Option<Items<'_>> {
    let is_object = json.starts_with('{');
    let inside = match is_object {
        true => json.strip_prefix('{')?.strip_suffix('}')?,
        false => json.strip_prefix('[')?.strip_suffix(']')?,
    };
    Some(Items {
        rest: inside.trim_matches(WHITE),
        is_object,
    })
}

/// The rest of an object or an array that is known to be one.
struct Items<'j> {
    rest: &'j str,
    is_object: bool,
}

impl<'j> Iterator for Items<'j> {
    type Item = (Option<&'j str>, &'j str);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let key = match self.is_object {
            true => {
                let (key, rest) = self.rest.split_at_checked(length(self.rest))?;
                self.rest = rest.trim_start_matches(WHITE).strip_prefix(':')?;
                self.rest = self.rest.trim_start_matches(WHITE);
                Some(key)
            }
            false => None,
        };
        let (value, rest) = self.rest.split_at_checked(length(self.rest))?;
        let rest = rest.trim_start_matches(WHITE);
        self.rest = rest.strip_prefix(',').unwrap_or(rest);
        self.rest = self.rest.trim_start_matches(WHITE);
        Some((key, value))
    }
}

/// The length of the value at the beginning of the text. The text is JSON: brackets match.
fn length(text: &str) -> usize {
    let (mut depth, mut in_string, mut escaped) = (0_u32, false, false);
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => {
                    in_string = false;
                    if depth == 0 {
                        return at + 1;
                    }
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            b',' | b' ' | b'\t' | b'\n' | b'\r' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_as_they_are_written() {
        let json = r#" {"a": [1, 2.50, {"b\"c": "x,y}"}, "\u00e9\n", []], "a b":null ,"t":true,"n":-1e3} "#;
        let json = document(json).unwrap();
        let array = member(json, "a").unwrap();
        assert_eq!(element(array, 1), Some("2.50"));
        assert_eq!(element(array, -1), Some("[]"));
        assert_eq!(element(array, 5), None);
        assert_eq!(element(array, -6), None);
        let inner = element(array, 2).unwrap();
        assert_eq!(
            member(inner, "b\"c").and_then(written).as_deref(),
            Some("x,y}")
        );
        assert_eq!(element(array, 3).and_then(written).as_deref(), Some("é\n"));
        assert_eq!(member(json, "a b"), Some("null"));
        assert_eq!(member(json, "n"), Some("-1e3"));
        assert_eq!(member(json, "none"), None);
        assert_eq!(items(json).unwrap().count(), 4);
        assert_eq!(items("[]").unwrap().count(), 0);
        assert!(items("1").is_none());
    }

    #[test]
    fn what_is_no_json_has_no_parts() {
        for text in ["", "x", "{", "{\"a\":1", "[1,]", "{\"a\":1}}", "'a'"] {
            assert_eq!(document(text), None, "{text}");
        }
        assert_eq!(document(&"[".repeat(100_000)), None);
    }

    /// No function here is recursive, so that the depth of a text has no limit.
    #[test]
    fn nesting_is_no_danger() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let json = document(&deep).unwrap();
        assert_eq!(element(json, 0).map(str::len), Some(deep.len() - 2));
    }

    /// Every way to cut a document into parts agrees with a parser that builds all of it.
    #[test]
    fn parts_are_those_that_a_parser_finds() {
        let json = r#"{"x":[{"y":"a\\\"b"},[],{},"",[[1,"]"]]],"z":{"k":[true,false,null,0.1]}}"#;
        fn same(part: &str, value: &serde_json::Value) {
            assert_eq!(
                &serde_json::from_str::<serde_json::Value>(part).unwrap(),
                value
            );
            match value {
                serde_json::Value::Array(values) => {
                    assert_eq!(items(part).unwrap().count(), values.len());
                    for (number, value) in (0..).zip(values) {
                        same(element(part, number).unwrap(), value);
                    }
                }
                serde_json::Value::Object(members) => {
                    for (key, value) in members {
                        same(member(part, key).unwrap(), value);
                    }
                }
                _ => assert!(items(part).is_none()),
            }
        }
        same(
            document(json).unwrap(),
            &serde_json::from_str(json).unwrap(),
        );
    }
}
