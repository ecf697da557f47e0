//! SQL over bytes that may be text: payloads.
//!
//! DataFusion's functions of text make text of bytes first, and end the query at the first byte that is not UTF-8. Here
//! `contains`, `LIKE`, `~`, `regexp_match` and the like ask the bytes themselves ([`weir_tables::Search`]), the same
//! in the scan and behind it; of text they are DataFusion's, unchanged.
//!
//! An address is bytes too, and is text to all of these: `address.rs` has made it so before they see it.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, Int64Array, ListArray, ListBuilder,
    StringViewArray, StringViewBuilder, UInt64Array,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::{
    DFSchema, ExprSchema as _, ScalarValue, exec_datafusion_err, exec_err, plan_err,
};
use datafusion::error::Result;
use datafusion::functions::{regex, string, unicode};
use datafusion::logical_expr::expr::{Like, ScalarFunction};
use datafusion::logical_expr::planner::{
    ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr,
};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, GetFieldAccess, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility, lit,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use weir_packet::Kind;
use weir_tables::{EXTRACTIONS, Part, Search, Table, is_address, number_of};

use crate::function::address_text;

/// `x[1:3]` of bytes.
pub const PART: &str = "part_of_bytes";
/// `x LIKE 'GET%'` of bytes; its third argument is the escape character, and the fourth is true when case is ignored.
pub const LIKE: &str = "bytes_like";
/// `get_byte(x, 0)`: one of the bytes, counted from 0 as in PostgreSQL.
pub const GET_BYTE: &str = "get_byte";
/// `to_int(x)`: the number that bytes are.
pub const TO_INT: &str = "to_int";
const HEX: &str = "hex";
const PRINTABLE: &str = "printable";

/// The functions of bytes, and DataFusion's of text that take bytes unchanged.
pub(crate) fn all() -> Vec<ScalarUDF> {
    let own = [PART, LIKE, GET_BYTE, TO_INT, HEX, PRINTABLE];
    let own = own
        .into_iter()
        .map(|name| ScalarUDF::from(OfBytes::new(name)));
    own.chain(text_functions()).collect()
}

fn text_functions() -> Vec<ScalarUDF> {
    [
        string::contains(),
        string::starts_with(),
        string::ends_with(),
        unicode::strpos(),
        unicode::substr(),
        unicode::left(),
        unicode::right(),
        regex::regexp_like(),
        regex::regexp_match(),
        regex::regexp_count(),
    ]
    .into_iter()
    .map(|function| ScalarUDF::from(OfTextOrBytes::new(function)))
    .collect()
}

const fn is_bytes(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Binary | DataType::BinaryView | DataType::LargeBinary
    )
}

const fn is_text(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8
    )
}

/// A function of bytes alone.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OfBytes {
    name: &'static str,
    signature: Signature,
}

impl OfBytes {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for OfBytes {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let takes = match self.name {
            PART => [DataType::BinaryView, DataType::Int64, DataType::Int64].to_vec(),
            LIKE => vec![
                DataType::BinaryView,
                DataType::Utf8View,
                DataType::Utf8View,
                DataType::Boolean,
            ],
            GET_BYTE => vec![DataType::BinaryView, DataType::Int64],
            TO_INT if types.len() == 2 => vec![DataType::BinaryView, DataType::Utf8View],
            _ => vec![DataType::BinaryView],
        };
        let fits = types.first().is_some_and(|first| {
            is_bytes(first) || matches!(first, DataType::Null) || is_text(first)
        });
        if types.len() != takes.len() || !fits {
            return plan_err!(
                "{} takes {}",
                self.name,
                match self.name {
                    GET_BYTE => "bytes and a position counted from 0: get_byte(tcp.payload, 0)",
                    TO_INT => "bytes: to_int(tcp.payload[1:2]), to_int(tcp.payload[1:2], 'little')",
                    HEX => "bytes: hex(tcp.payload); to_hex converts a number",
                    _ => "bytes: printable(tcp.payload)",
                }
            );
        }
        Ok(takes)
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(match self.name {
            PART => DataType::BinaryView,
            LIKE => DataType::Boolean,
            GET_BYTE => DataType::Int64,
            TO_INT => DataType::UInt64,
            _ => DataType::Utf8View,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let is_scalar = args
            .args
            .iter()
            .all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
        let given = arrays(&args.args, rows)?;
        let (bytes, rest) = split(&given)?;
        let result: ArrayRef = match (self.name, rest) {
            (PART, [from, to]) => {
                let (from, to) = (numbers(from), numbers(to));
                let parts = bytes.iter().zip(from).zip(to);
                let parts = parts.map(|((bytes, from), to)| Some(Part { from, to }.of(bytes?)));
                Arc::new(parts.collect::<BinaryViewArray>())
            }
            (LIKE, [patterns, escapes, ignores]) => {
                Arc::new(like_each(bytes, patterns, escapes, ignores)?)
            }
            (GET_BYTE, [places]) => {
                let byte = |bytes: Option<&[u8]>, place: Option<i64>| {
                    let place = usize::try_from(place?).ok()?;
                    bytes?.get(place).copied().map(i64::from)
                };
                let found = bytes.iter().zip(numbers(places));
                let found = found.map(|(bytes, place)| byte(bytes, place));
                Arc::new(found.collect::<Int64Array>())
            }
            (TO_INT, order) => Arc::new(numbers_of(bytes, order.first())?),
            (HEX, []) => Arc::new(texts(bytes, |bytes, text| {
                use std::fmt::Write as _;
                bytes
                    .iter()
                    .try_for_each(|byte| write!(text, "{byte:02x}"))
                    .unwrap_or_default();
            })),
            (PRINTABLE, []) => Arc::new(texts(bytes, print)),
            _ => return exec_err!("{} got {} arguments", self.name, given.len()),
        };
        answer(result, is_scalar && rows > 0)
    }
}

/// A function of DataFusion for text, which takes bytes unchanged.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OfTextOrBytes {
    of_text: Arc<ScalarUDF>,
    signature: Signature,
}

impl OfTextOrBytes {
    fn new(of_text: Arc<ScalarUDF>) -> Self {
        Self {
            of_text,
            signature: Signature::user_defined(Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for OfTextOrBytes {
    fn name(&self) -> &str {
        self.of_text.name()
    }

    fn aliases(&self) -> &[String] {
        self.of_text.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if !types.first().is_some_and(is_bytes) {
            let fields = types.iter().enumerate();
            let fields = fields.map(|(at, data_type)| {
                Arc::new(Field::new(format!("f{at}"), data_type.clone(), true))
            });
            let fields: Vec<FieldRef> = fields.collect();
            let fields = fields_with_udf(&fields, self.of_text.as_ref())?;
            return Ok(fields
                .iter()
                .map(|field| field.data_type().clone())
                .collect());
        }
        let second = match self.name() {
            "substr" | "left" | "right" => DataType::Int64,
            name if name.starts_with("regexp") => DataType::Utf8View,
            _ if types.get(1).is_some_and(is_bytes) => DataType::BinaryView,
            _ => DataType::Utf8View,
        };
        let third = match self.name() {
            "substr" | "regexp_count" => Some(DataType::Int64),
            name if name.starts_with("regexp") => Some(DataType::Utf8View),
            _ => None,
        };
        let fourth = (self.name() == "regexp_count").then_some(DataType::Utf8View);
        let mut takes = vec![DataType::BinaryView, second];
        takes.extend(third);
        takes.extend(fourth);
        if types.len() < 2 || types.len() > takes.len() {
            return plan_err!("{} got {} arguments", self.name(), types.len());
        }
        takes.truncate(types.len());
        Ok(takes)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        if !types.first().is_some_and(is_bytes) {
            return self.of_text.return_type(types);
        }
        Ok(match self.name() {
            "strpos" | "regexp_count" => DataType::Int64,
            "substr" | "left" | "right" => DataType::BinaryView,
            "regexp_match" => DataType::List(item()),
            _ => DataType::Boolean,
        })
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let first = args.arg_fields.first();
        if !first.is_some_and(|field| is_bytes(field.data_type())) {
            return self.of_text.return_field_from_args(args);
        }
        let types: Vec<DataType> = args
            .arg_fields
            .iter()
            .map(|field| field.data_type().clone())
            .collect();
        let field = Field::new(self.name(), self.return_type(&types)?, true);
        Ok(Arc::new(field))
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let first = args
            .first()
            .map(|first| info.get_data_type(first))
            .transpose()?;
        match first {
            Some(first) if !is_bytes(&first) => self.of_text.simplify(args, info),
            _ => Ok(ExprSimplifyResult::Original(args)),
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.of_text.documentation()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let first = args.args.first().map(ColumnarValue::data_type);
        if !first.as_ref().is_some_and(is_bytes) {
            return self.of_text.invoke_with_args(args);
        }
        let rows = args.number_rows;
        let is_scalar = args
            .args
            .iter()
            .all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
        let given = arrays(&args.args, rows)?;
        let (bytes, rest) = split(&given)?;
        let result: ArrayRef = match (self.name(), rest) {
            ("substr", [from, rest @ ..]) => Arc::new(parts_of(bytes, from, rest.first())),
            (name @ ("left" | "right"), [counts]) => {
                Arc::new(ends_of(bytes, counts, name == "left"))
            }
            ("strpos", [parts]) => {
                let found = bytes.iter().zip(needles(parts)).map(|(bytes, part)| {
                    let at = memchr::memmem::find(bytes?, part?);
                    Some(at.map_or(0, |at| i64::try_from(at + 1).unwrap_or(i64::MAX)))
                });
                Arc::new(found.collect::<Int64Array>())
            }
            ("contains", [parts]) => Arc::new(each(bytes, parts, Search::contains)),
            ("starts_with", [parts]) => Arc::new(each(bytes, parts, Search::starts_with)),
            ("ends_with", [parts]) => Arc::new(each(bytes, parts, Search::ends_with)),
            ("regexp_count", [patterns, rest @ ..]) => {
                Arc::new(matches_counted(bytes, patterns, rest)?)
            }
            ("regexp_like", [patterns, rest @ ..]) => {
                let mut regexes = Regexes::new(patterns, rest.first());
                let mut found = Vec::with_capacity(bytes.len());
                for (row, bytes) in bytes.iter().enumerate() {
                    let regex = regexes.of(row)?;
                    found.push(bytes.zip(regex).map(|(bytes, regex)| regex.is_match(bytes)));
                }
                Arc::new(BooleanArray::from(found))
            }
            ("regexp_match", [patterns, rest @ ..]) => {
                Arc::new(captured(bytes, patterns, rest.first())?)
            }
            _ => return exec_err!("{} got {} arguments", self.name(), given.len()),
        };
        answer(result, is_scalar && rows > 0)
    }
}

/// `x LIKE 'GET%'` of each row.
fn like_each(
    bytes: &BinaryViewArray,
    patterns: &ArrayRef,
    escapes: &ArrayRef,
    ignores: &ArrayRef,
) -> Result<BooleanArray> {
    let (escapes, ignores) = (escapes.as_string_view(), ignores.as_boolean());
    let patterns = patterns.as_string_view();
    let mut last: Option<(usize, Search)> = None;
    let mut found = Vec::with_capacity(bytes.len());
    for (row, (bytes, pattern)) in bytes.iter().zip(patterns).enumerate() {
        let (Some(bytes), Some(pattern)) = (bytes, pattern) else {
            found.push(None);
            continue;
        };
        let is_known = last
            .as_ref()
            .is_some_and(|(row, _)| patterns.value(*row) == pattern);
        if !is_known {
            let escape = escapes.is_valid(row).then(|| escapes.value(row));
            let escape = escape.and_then(|escape| escape.chars().next());
            let search = Search::like(pattern, escape, ignores.value(row));
            last = Some((
                row,
                search.map_err(|error| exec_datafusion_err!("{error}"))?,
            ));
        }
        found.push(last.as_ref().and_then(|(_, search)| search.holds(bytes)));
    }
    Ok(BooleanArray::from(found))
}

/// The numbers that bytes are, in the order that each row names.
fn numbers_of(bytes: &BinaryViewArray, order: Option<&ArrayRef>) -> Result<UInt64Array> {
    let order = order.map(AsArray::as_string_view);
    let mut found = Vec::with_capacity(bytes.len());
    for (row, bytes) in bytes.iter().enumerate() {
        let order = order.map_or("big", |order| order.value(row));
        found.push(match (bytes, order) {
            (None, _) => None,
            (Some(bytes), "big") => number_of(bytes),
            (Some(bytes), "little") => {
                let reversed: Vec<u8> = bytes.iter().rev().take(9).copied().collect();
                number_of(&reversed)
            }
            (_, other) => {
                return exec_err!("the order of bytes must be 'big' or 'little', not '{other}'");
            }
        });
    }
    Ok(UInt64Array::from(found))
}

/// `substr` of bytes.
fn parts_of(
    bytes: &BinaryViewArray,
    from: &ArrayRef,
    counts: Option<&ArrayRef>,
) -> BinaryViewArray {
    let counts: Vec<Option<i64>> = match counts {
        Some(counts) => numbers(counts).collect(),
        None => vec![Some(i64::MAX); bytes.len()],
    };
    // A place before the first counts for the length, as in text.
    let parts = bytes.iter().zip(numbers(from)).zip(counts);
    let parts = parts.map(|((bytes, from), count)| {
        let (from, count) = (from?, count?);
        let last = from.saturating_add(count).saturating_sub(1);
        let (from, to) = (Some(from.max(1)), Some(last.max(0)));
        Some(Part { from, to }.of(bytes?))
    });
    parts.collect()
}

/// `left` and `right` of bytes.
fn ends_of(bytes: &BinaryViewArray, counts: &ArrayRef, is_left: bool) -> BinaryViewArray {
    let parts = bytes.iter().zip(numbers(counts)).map(|(bytes, count)| {
        let (bytes, count) = (bytes?, count?);
        let len = bytes.len();
        let magnitude = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        let kept = match count {
            ..0 => len.saturating_sub(magnitude),
            _ => len.min(magnitude),
        };
        match is_left {
            true => bytes.get(..kept),
            false => bytes.get(len - kept..),
        }
    });
    parts.collect()
}

/// `regexp_count` of bytes. Behind the patterns stand where to begin, and the flags.
fn matches_counted(
    bytes: &BinaryViewArray,
    patterns: &ArrayRef,
    rest: &[ArrayRef],
) -> Result<Int64Array> {
    let mut starts = rest.first().map(numbers);
    let mut regexes = Regexes::new(patterns, rest.get(1));
    let mut counts = Vec::with_capacity(bytes.len());
    for (row, bytes) in bytes.iter().enumerate() {
        let start = starts
            .as_mut()
            .map_or(Some(1), |starts| starts.next().flatten());
        let regex = regexes.of(row)?;
        let count = bytes.zip(regex).zip(start).map(|((bytes, regex), start)| {
            let skipped = usize::try_from(start.saturating_sub(1)).unwrap_or(0);
            let bytes = bytes.get(skipped..).unwrap_or_default();
            i64::try_from(regex.find_iter(bytes).count()).unwrap_or(i64::MAX)
        });
        counts.push(count);
    }
    Ok(Int64Array::from(counts))
}

/// `regexp_match` of bytes.
fn captured(
    bytes: &BinaryViewArray,
    patterns: &ArrayRef,
    flags: Option<&ArrayRef>,
) -> Result<ListArray> {
    let mut regexes = Regexes::new(patterns, flags);
    let mut lists = ListBuilder::new(StringViewBuilder::new()).with_field(item());
    for (row, bytes) in bytes.iter().enumerate() {
        let regex = regexes.of(row)?;
        let captures = bytes
            .zip(regex)
            .and_then(|(bytes, regex)| regex.captures(bytes));
        let Some(captures) = captures else {
            lists.append(false);
            continue;
        };
        // These are the groups, or the whole match without groups.
        let skipped = usize::from(captures.len() > 1);
        for capture in captures.iter().skip(skipped) {
            let text = capture.map(|capture| String::from_utf8_lossy(capture.as_bytes()));
            lists.values().append_option(text);
        }
        lists.append(true);
    }
    Ok(lists.finish())
}

/// The item of lists of text.
fn item() -> FieldRef {
    Arc::new(Field::new("item", DataType::Utf8View, true))
}

/// Patterns of rows, each made once as long as it stays the same.
struct Regexes<'a> {
    patterns: &'a StringViewArray,
    flags: Option<&'a StringViewArray>,
    last: Option<(String, ::regex::bytes::Regex)>,
}

impl<'a> Regexes<'a> {
    fn new(patterns: &'a ArrayRef, flags: Option<&'a ArrayRef>) -> Self {
        Self {
            patterns: patterns.as_string_view(),
            flags: flags.map(AsArray::as_string_view),
            last: None,
        }
    }

    /// The pattern of a row; `None` where it is NULL.
    fn of(&mut self, row: usize) -> Result<Option<&::regex::bytes::Regex>> {
        if self.patterns.is_null(row) {
            return Ok(None);
        }
        let flags = match self.flags {
            Some(flags) if flags.is_valid(row) => flags.value(row),
            _ => "",
        };
        if flags.contains('g') {
            return exec_err!("regular expressions over bytes have no flag g");
        }
        let pattern = self.patterns.value(row);
        let written = match flags {
            "" => pattern.to_owned(),
            flags => format!("(?{flags}){pattern}"),
        };
        if self
            .last
            .as_ref()
            .is_none_or(|(known, _)| *known != written)
        {
            let regex = Search::regex(&written, false).map_err(|error| {
                exec_datafusion_err!("'{pattern}' is not a valid regular expression: {error}")
            })?;
            self.last = Some((written, regex));
        }
        Ok(self.last.as_ref().map(|(_, regex)| regex))
    }
}

/// Searches each row's bytes with that row's pattern.
fn each(bytes: &BinaryViewArray, parts: &ArrayRef, search: fn(&[u8]) -> Search) -> BooleanArray {
    let mut last: Option<(Vec<u8>, Search)> = None;
    let rows = bytes.iter().zip(needles(parts));
    rows.map(|(bytes, part)| {
        let (bytes, part) = (bytes?, part?);
        if last.as_ref().is_none_or(|(known, _)| known != part) {
            last = Some((part.to_vec(), search(part)));
        }
        last.as_ref().and_then(|(_, search)| search.holds(bytes))
    })
    .collect()
}

/// The needles: bytes, or those of text.
fn needles(parts: &ArrayRef) -> Box<dyn Iterator<Item = Option<&[u8]>> + '_> {
    match parts.as_binary_view_opt() {
        Some(parts) => Box::new(parts.iter()),
        None => Box::new(
            parts
                .as_string_view()
                .iter()
                .map(|part| part.map(str::as_bytes)),
        ),
    }
}

fn numbers(array: &ArrayRef) -> impl Iterator<Item = Option<i64>> + '_ {
    array.as_primitive::<Int64Type>().iter()
}

/// The arguments as arrays of the types that they were coerced to.
fn arrays(arguments: &[ColumnarValue], rows: usize) -> Result<Vec<ArrayRef>> {
    let arrays = arguments.iter().map(|argument| {
        let array = argument.to_array(rows)?;
        let wanted = match array.data_type() {
            kind if is_bytes(kind) => DataType::BinaryView,
            kind if is_text(kind) => DataType::Utf8View,
            kind if kind.is_integer() => DataType::Int64,
            kind => kind.clone(),
        };
        Ok(cast(&array, &wanted)?)
    });
    arrays.collect()
}

fn split(given: &[ArrayRef]) -> Result<(&BinaryViewArray, &[ArrayRef])> {
    let first = given
        .split_first()
        .and_then(|(first, rest)| Some((first.as_binary_view_opt()?, rest)));
    first.ok_or_else(|| exec_datafusion_err!("the function takes bytes as its first argument"))
}

fn texts(bytes: &BinaryViewArray, write: impl Fn(&[u8], &mut String)) -> StringViewArray {
    let mut texts = StringViewBuilder::with_capacity(bytes.len());
    let mut text = String::new();
    for bytes in bytes {
        match bytes {
            None => texts.append_null(),
            Some(bytes) => {
                text.clear();
                write(bytes, &mut text);
                texts.append_value(&text);
            }
        }
    }
    texts.finish()
}

/// Bytes as the column of letters beside a hexadecimal dump: a full stop for each that is not to be printed.
fn print(bytes: &[u8], text: &mut String) {
    for chunk in bytes.utf8_chunks() {
        text.extend(
            chunk
                .valid()
                .chars()
                .map(|letter| match letter.is_control() {
                    true => '.',
                    false => letter,
                }),
        );
        text.extend(chunk.invalid().iter().map(|_| '.'));
    }
}

fn answer(result: ArrayRef, is_scalar: bool) -> Result<ColumnarValue> {
    Ok(match is_scalar {
        true => ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?),
        false => ColumnarValue::Array(result),
    })
}

/// `a LIKE b` of bytes.
pub(crate) fn like(like: Like) -> Expr {
    let escape = like.escape_char.map(String::from);
    let call = ScalarFunction::new_udf(
        Arc::new(ScalarUDF::from(OfBytes::new(LIKE))),
        vec![
            *like.expr,
            *like.pattern,
            Expr::Literal(ScalarValue::Utf8View(escape), None),
            lit(like.case_insensitive),
        ],
    );
    let call = Expr::ScalarFunction(call);
    match like.negated {
        true => Expr::Not(Box::new(call)),
        false => call,
    }
}

/// Plans operators and slices of bytes.
#[derive(Debug)]
pub(crate) struct PayloadPlanner;

impl PayloadPlanner {
    fn function(name: &'static str) -> Arc<ScalarUDF> {
        let known = text_functions()
            .into_iter()
            .find(|function| function.name() == name);
        Arc::new(known.unwrap_or_else(|| ScalarUDF::from(OfBytes::new(name))))
    }

    fn call(name: &'static str, arguments: Vec<Expr>) -> Expr {
        Expr::ScalarFunction(ScalarFunction::new_udf(Self::function(name), arguments))
    }
}

/// True of a column of addresses.
fn is_address_column(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::Column(column) => schema
            .field_from_column(column)
            .is_ok_and(|field| is_bytes(field.data_type()) && is_address(field)),
        _ => false,
    }
}

/// The columns that are bytes and no addresses. A column that a query computes may be either, which is known only
/// when the whole plan is: it is left to the planner.
static PAYLOADS: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let tables = EXTRACTIONS.iter().map(Table::extracted);
    let tables = std::iter::once(Table::packets()).chain(tables);
    let mut names = HashSet::new();
    for table in tables {
        let columns = table.columns().iter();
        let bytes = columns.filter(|column| column.kind == Kind::Bytes);
        names.extend(bytes.map(|column| column.name.to_string()));
    }
    names
});

/// True of bytes that are no address.
fn is_payload(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::Column(column) => {
            let field = schema.field_from_column(column);
            field.is_ok_and(|field| is_bytes(field.data_type()) && !is_address(field))
                && PAYLOADS.contains(&column.name)
        }
        Expr::ScalarFunction(function) if function.func.name() == PART => true,
        Expr::ScalarFunction(function) => {
            let is_part = ["substr", "left", "right"].contains(&function.func.name());
            is_part
                && function
                    .args
                    .first()
                    .is_some_and(|of| is_payload(of, schema))
        }
        _ => false,
    }
}

impl ExprPlanner for PayloadPlanner {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let (ignores_case, is_negated) = match expr.op {
            BinaryOperator::PGRegexMatch => (false, false),
            BinaryOperator::PGRegexIMatch => (true, false),
            BinaryOperator::PGRegexNotMatch => (false, true),
            BinaryOperator::PGRegexNotIMatch => (true, true),
            BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq => {
                return Ok(PlannerResult::Original(as_bytes(expr, schema)));
            }
            _ => return Ok(PlannerResult::Original(expr)),
        };
        if is_address_column(&expr.left, schema) {
            // ip.src ~ '^10[.]': an address is text to patterns.
            let left = address_text().call(vec![expr.left]);
            return Ok(PlannerResult::Original(RawBinaryExpr { left, ..expr }));
        }
        if !is_payload(&expr.left, schema) {
            return Ok(PlannerResult::Original(expr));
        }
        let mut arguments = vec![expr.left, expr.right];
        if ignores_case {
            arguments.push(lit("i"));
        }
        let call = Self::call("regexp_like", arguments);
        Ok(PlannerResult::Planned(match is_negated {
            true => Expr::Not(Box::new(call)),
            false => call,
        }))
    }

    fn plan_field_access(
        &self,
        expr: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let RawFieldAccessExpr { field_access, expr } = expr;
        // Parts of addresses are bytes: eth.src[1:3] has the manufacturer of the card.
        if !is_payload(&expr, schema) && !is_address_column(&expr, schema) {
            return Ok(PlannerResult::Original(RawFieldAccessExpr {
                field_access,
                expr,
            }));
        }
        match field_access {
            GetFieldAccess::ListIndex { key } => {
                let part = Self::call(PART, vec![expr, key.as_ref().clone(), *key]);
                Ok(PlannerResult::Planned(Self::call(
                    GET_BYTE,
                    vec![part, lit(0_i64)],
                )))
            }
            GetFieldAccess::ListRange {
                start,
                stop,
                stride,
            } if *stride == lit(1_i64) => Ok(PlannerResult::Planned(Self::call(
                PART,
                vec![expr, *start, *stop],
            ))),
            _ => plan_err!("bytes have slices such as x[1:3], and single bytes such as x[1]"),
        }
    }

    fn plan_position(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(Self::call("strpos", args)))
    }

    fn plan_substring(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(Self::call("substr", args)))
    }
}

/// A comparison of bytes with a text that is written, with the text's bytes.
fn as_bytes(expr: RawBinaryExpr, schema: &DFSchema) -> RawBinaryExpr {
    let bytes_of = |text: Expr| match &text {
        Expr::Literal(value, _) => match value.try_as_str() {
            Some(Some(written)) => {
                let bytes = written.as_bytes().to_vec();
                Expr::Literal(ScalarValue::BinaryView(Some(bytes)), None)
            }
            _ => text,
        },
        _ => text,
    };
    let RawBinaryExpr { op, left, right } = expr;
    let (is_left, is_right) = (is_payload(&left, schema), is_payload(&right, schema));
    let (left, right) = match (is_left, is_right) {
        (true, false) => (left, bytes_of(right)),
        (false, true) => (bytes_of(left), right),
        _ => (left, right),
    };
    RawBinaryExpr { op, left, right }
}
