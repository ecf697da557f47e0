//! The limits of functions whose values can be far larger than their arguments.

use arrow::array::{Int64Builder, ListBuilder, StringArray, StringViewArray};

use super::*;

fn text(text: &str) -> ColumnarValue {
    ColumnarValue::Scalar(ScalarValue::from(text))
}

fn number(number: i64) -> ColumnarValue {
    ColumnarValue::Scalar(ScalarValue::from(number))
}

/// `levenshtein` of two texts of two megabytes held a thread for hours, past the end of its statement.
#[tokio::test]
async fn comparisons_of_a_batch_are_bounded() {
    let context = SessionContext::new();
    register(&context, VALUES_BYTES_MAX);
    let answered = async |expr: &str| {
        let answer = context.sql(&format!("SELECT {expr}")).await?;
        answer.collect().await.map(drop)
    };
    for (short, long) in [
        (
            "levenshtein('kitten', 'sitting')",
            "levenshtein(repeat('ab', 1000000), repeat('ba', 1000000))",
        ),
        (
            "btrim('  x  ')",
            "btrim(repeat('a', 1000000), repeat('b', 1000000) || 'a')",
        ),
        (
            "ltrim('xxy', 'x')",
            "ltrim(repeat('a', 1000000), repeat('b', 1000000))",
        ),
        (
            "rtrim('xxy', 'y')",
            "rtrim(repeat('a', 1000000), repeat('b', 1000000))",
        ),
        (
            "array_has_all(make_array(1, 2), make_array(2))",
            "array_has_all(range(1, 100000), range(1, 100000))",
        ),
        (
            "array_has_any(make_array(1, 2), make_array(2))",
            "array_has_any(range(1, 100000), range(-100000, 0))",
        ),
    ] {
        answered(short).await.unwrap();
        let refused = answered(long).await.unwrap_err().to_string();
        assert!(refused.contains("comparisons"), "{long}: {refused}");
    }
}

/// Each of them made gigabytes of arguments of some kilobytes.
#[tokio::test]
async fn values_that_grow_by_their_arguments_are_bounded() {
    let context = SessionContext::new();
    register(&context, 1 << 20);
    let answered = async |expr: &str| {
        let query = format!("SELECT {expr} FROM (VALUES (1), (2)) AS t(x)");
        context.sql(&query).await?.collect().await.map(drop)
    };
    for (short, long) in [
        (
            "to_char(TIMESTAMP '2026-01-02 03:04:05', '%Y-%m-%d')",
            "to_char(TIMESTAMP '2026-01-02 03:04:05', repeat('%c', 100000))",
        ),
        (
            "regexp_match('abc', '(a)(b)')",
            "regexp_match(repeat('a', 100000), repeat('(', 100) || 'a*' || repeat(')', 100))",
        ),
        (
            "arrays_zip(make_array(1), make_array(2))",
            "arrays_zip(range(1, 20000), range(1, 20000), make_array(1), make_array(1))",
        ),
        (
            "concat_ws(', ', 'a', 'b')",
            "concat_ws(repeat('a', 400000), 'a', 'b', 'c', 'd', x)",
        ),
        (
            "array_replace_all(make_array('a'), 'a', 'b')",
            "array_replace_all(array_repeat('a', 1000), 'a', repeat('b', 10000))",
        ),
    ] {
        answered(short).await.unwrap();
        let refused = answered(long).await.unwrap_err().to_string();
        assert!(refused.contains("MiB of values"), "{long}: {refused}");
    }
}

/// Forty queries of `l || l` over each other would have made a list of a million million elements.
#[test]
fn functions_in_the_place_of_operators_are_bounded() {
    let state = SessionContext::new().state();
    let is_planned_bounded = |name: &str| {
        let expr = state.scalar_functions()[name].call(Vec::new());
        let planned = planned(expr, VALUES_BYTES_MAX).data;
        matches!(planned, Expr::ScalarFunction(call) if is_bounded(&call.func))
    };
    assert!(is_planned_bounded("array_concat") && is_planned_bounded("array_has_all"));
    assert!(!is_planned_bounded("make_array") && !is_planned_bounded("abs"));
}

/// Elements were counted with the average of all rows: one long list among empty ones was repeated without a limit.
#[test]
fn a_long_list_among_empty_ones_has_its_own_size() {
    let mut lists = ListBuilder::new(Int64Builder::new());
    lists.append_value((0..1000).map(Some));
    for _ in 0..999 {
        lists.append(true);
    }
    let lists: ArrayRef = Arc::new(lists.finish());
    assert!((8_000..9_000).contains(&array_size(&lists, 0)));
    assert_eq!(array_size(&lists, 1), ELEMENT_BYTES);
    let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["x".repeat(100), String::new()]));
    assert_eq!(value_bytes(&texts), 100 + 2 * 16);
    let counts = ColumnarValue::Array(Arc::new(Int64Array::from_iter_values(
        (0..1000).map(|row| if row == 0 { 1000 } else { 0 }),
    )));
    let repeated = Growth::Times.bytes(&[ColumnarValue::Array(lists), counts], 1000);
    assert!(repeated.unwrap() >= 8_000_000);
}

/// `1 month -30 days` is a day in January and two days backwards in February: the series had no end, and held all memory.
#[test]
fn series_have_steps_that_move_on() {
    let time = ColumnarValue::Scalar(ScalarValue::TimestampNanosecond(Some(0), None));
    let date = ColumnarValue::Scalar(ScalarValue::Date32(Some(0)));
    let series = |instant: &ColumnarValue, months, days, hours: i64| {
        let step = ScalarValue::new_interval_mdn(months, days, hours * 3_600_000_000_000);
        let of = |step| Growth::Series.bytes(&[instant.clone(), instant.clone(), step], 1);
        let column = ColumnarValue::Array(step.to_array().unwrap());
        let is_taken = of(ColumnarValue::Scalar(step)).is_ok();
        assert_eq!(of(column).is_ok(), is_taken);
        is_taken
    };
    for (months, days, hours) in [(0, 0, 0), (1, 1, 1), (-1, -1, -1), (0, 1, 0), (0, 0, 1)] {
        assert!(series(&time, months, days, hours) && series(&date, months, days, hours));
    }
    // The day before that of the next month is behind this one.
    assert!(series(&time, 1, -1, 0) && series(&time, 0, 1, -1));
    assert!(!series(&date, 1, -1, 0));
    for (months, days, hours) in [(1, -30, 0), (-1, 30, 0), (1, 0, -700), (0, 1, -23)] {
        assert!(!series(&time, months, days, hours) && !series(&date, months, days, hours));
    }
}

#[test]
fn elements_and_bytes_are_compared() {
    let list = ScalarValue::new_list(&vec![ScalarValue::from(1_i64); 5], &DataType::Int64, true);
    let list = ColumnarValue::Scalar(ScalarValue::List(list));
    let column = ColumnarValue::Array(Arc::new(StringArray::from(vec!["ab", "", "abc"])));
    for (args, expected) in [
        (vec![list.clone(), list], 25),
        (vec![column.clone(), column.clone()], 13),
        (vec![column.clone(), text("wxyz")], 20),
        (vec![column], 0),
    ] {
        let found = Growth::Compared.comparisons(&args, 3);
        assert_eq!(found, expected, "{args:?}");
    }
}

#[test]
fn sizes_are_those_of_the_values() {
    let column = ColumnarValue::Array(Arc::new(StringArray::from(vec!["ab", "", "abc"])));
    let list = ColumnarValue::Scalar(ScalarValue::List(ScalarValue::new_list(
        &[ScalarValue::from(1_i64)],
        &DataType::Int64,
        true,
    )));
    for (growth, args, expected) in [
        (Growth::Times, vec![text("ab"), number(50)], 100),
        (Growth::Times, vec![column.clone(), number(50)], 300),
        (Growth::Times, vec![text("ab"), number(-1)], 0),
        (
            Growth::Times,
            vec![text("abc"), number(i64::MAX)],
            usize::MAX,
        ),
        (Growth::Pad, vec![column.clone(), number(50)], 600),
        (Growth::Doubled, vec![column.clone(), text("hex")], 10),
        (Growth::Series, vec![number(1), number(100), number(10)], 80),
        (
            Growth::Series,
            vec![number(i64::MIN), number(i64::MAX)],
            usize::MAX,
        ),
        (
            Growth::Together,
            vec![column.clone(), text("0123456789")],
            35,
        ),
        (
            Growth::Replace,
            vec![text("aaaa"), text("aa"), text("0123456789")],
            34,
        ),
        (
            Growth::Replace,
            vec![text("aaaa"), text(""), text("0123456789")],
            54,
        ),
        (
            Growth::ReplaceMatches,
            vec![column, text("."), text("\\0\\0")],
            36,
        ),
    ] {
        let found = growth.bytes(&args, 3).unwrap();
        assert_eq!(found, expected, "{growth:?} {args:?}");
    }
    // The largest separator, and the text in place of NULL.
    let column = StringArray::from(vec!["", "", "0123456789"]);
    let separators = ColumnarValue::Array(Arc::new(column));
    let of_null = text("01234");
    let joined = |args: &[ColumnarValue]| Growth::Between.bytes(args, 3).unwrap();
    let least = joined(&[list.clone(), text("")]);
    let separated = joined(&[list.clone(), separators.clone()]);
    let replaced = joined(&[list.clone(), separators, of_null]);
    assert!(least + 10 <= separated && separated + 5 <= replaced);
    let resized = Growth::Resize.bytes(&[list, number(1 << 40)], 1).unwrap();
    assert!(resized > 1 << 43);
}
