//! Batches in, exact output out.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrow::array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    DurationNanosecondArray, FixedSizeBinaryArray, Float32Array, Float64Array, Int64Array,
    IntervalMonthDayNanoArray, ListArray, MapBuilder, NullArray, RecordBatch, RecordBatchOptions,
    StringArray, StringBuilder, StringViewArray, StructArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt16Array, UInt64Array,
};
use arrow::datatypes::{
    DataType, Field, Fields, Int32Type, IntervalMonthDayNano, Schema, SchemaRef,
};
use arrow::ipc::reader::{FileReader, StreamReader};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use super::*;

mod terminal;

/// An output that the test can look into after the writer is gone.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl SharedBuffer {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A reader that takes some bytes and goes away.
struct Leaving(usize);

impl Write for Leaving {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const FORMATS: [Format; 10] = [
    Format::Table,
    Format::Csv,
    Format::Tsv,
    Format::Json,
    Format::Ndjson,
    Format::Markdown,
    Format::Line,
    Format::Parquet,
    Format::Arrow,
    Format::Arrows,
];

fn on_terminal(format: Format, width: u16) -> OutputOptions {
    OutputOptions {
        width: Some(width),
        ..OutputOptions::terminal(format, false)
    }
}

fn bytes_of(
    options: &OutputOptions,
    schema: SchemaRef,
    batches: &[RecordBatch],
) -> (Vec<u8>, Summary) {
    let out = SharedBuffer::default();
    let mut writer = Writer::new(options, schema, Box::new(out.clone())).unwrap();
    for batch in batches {
        assert_eq!(writer.write(batch).unwrap(), OutputState::Open);
    }
    let summary = writer.finish().unwrap();
    (out.bytes(), summary)
}

fn text_of(options: &OutputOptions, batches: &[RecordBatch]) -> (String, Summary) {
    let (bytes, summary) = bytes_of(options, batches[0].schema(), batches);
    (String::from_utf8(bytes).unwrap(), summary)
}

#[track_caller]
fn check(options: &OutputOptions, batch: &RecordBatch, expected: &str) {
    let (text, _) = text_of(options, std::slice::from_ref(batch));
    assert_eq!(text, expected, "got:\n{text}\nexpected:\n{expected}");
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap()
}

/// Addresses, counts, rates and flags, with NULL and an empty text.
fn flows() -> RecordBatch {
    batch(vec![
        (
            "ip.src",
            Arc::new(StringViewArray::from(vec![
                Some("10.0.0.1"),
                None,
                Some(""),
            ])),
        ),
        (
            "packets",
            Arc::new(UInt64Array::from(vec![Some(12), Some(u64::MAX), None])),
        ),
        (
            "mean",
            Arc::new(Float64Array::from(vec![
                Some(283.456_789),
                None,
                Some(f64::NAN),
            ])),
        ),
        (
            "synced",
            Arc::new(BooleanArray::from(vec![Some(true), Some(false), None])),
        ),
    ])
}

/// Text as the network may send it.
fn hostile() -> RecordBatch {
    let values = [
        "a,\"b\"|c\\d",
        "x\ty\nz\r\n",
        "\x1b]0;owned\x07\u{9b}2J\u{202e}",
        "日本語 <b>&_*",
        " edge ",
    ];
    batch(vec![(
        "sip.\x1b[1m\"call_id\"",
        Arc::new(StringArray::from_iter_values(values)),
    )])
}

/// A value of every family of types.
fn types() -> RecordBatch {
    let item = Arc::new(Field::new_list_field(DataType::Int32, true));
    let mut map = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    map.keys().append_value("k\"");
    map.values().append_value("v");
    map.append(true).unwrap();
    let dictionary: DictionaryArray<Int32Type> = [Some("syn")].into_iter().collect();
    let inner: Fields = vec![
        Field::new("port", DataType::UInt16, true),
        Field::new("note", DataType::Utf8, true),
    ]
    .into();
    let parts: Vec<ArrayRef> = vec![
        Arc::new(UInt16Array::from(vec![53])),
        Arc::new(StringArray::from(vec![None::<&str>])),
    ];
    let nanoseconds = TimestampNanosecondArray::from(vec![1_767_225_600_000_000_001]);
    batch(vec![
        ("time", Arc::new(nanoseconds.with_timezone("UTC"))),
        ("local", Arc::new(TimestampSecondArray::from(vec![0]))),
        ("date", Arc::new(Date32Array::from(vec![20_454]))),
        (
            "decimal",
            Arc::new(
                Decimal128Array::from(vec![-1_230])
                    .with_precision_and_scale(38, 2)
                    .unwrap(),
            ),
        ),
        ("float", Arc::new(Float32Array::from(vec![0.1]))),
        (
            "bytes",
            Arc::new(BinaryViewArray::from(vec![&[0xde_u8, 0xad, 0x00][..]])),
        ),
        (
            "fixed",
            Arc::new(FixedSizeBinaryArray::try_from(vec![&[1_u8, 0xff][..]]).unwrap()),
        ),
        ("dictionary", Arc::new(dictionary)),
        (
            "list",
            Arc::new(
                ListArray::try_new(
                    item,
                    arrow::buffer::OffsetBuffer::from_lengths([3]),
                    Arc::new(arrow::array::Int32Array::from(vec![
                        Some(1),
                        None,
                        Some(-3),
                    ])),
                    None,
                )
                .unwrap(),
            ),
        ),
        ("struct", Arc::new(StructArray::new(inner, parts, None))),
        ("map", Arc::new(map.finish())),
        (
            "duration",
            Arc::new(DurationNanosecondArray::from(vec![1_500_000_000])),
        ),
        (
            "interval",
            Arc::new(IntervalMonthDayNanoArray::from(vec![
                IntervalMonthDayNano::new(1, 2, 0),
            ])),
        ),
        ("null", Arc::new(NullArray::new(1))),
    ])
}

#[test]
fn every_text_format_of_a_small_result() {
    for (format, expected) in [
        (
            Format::Table,
            "\
┌──────────┬──────────────────────┬────────────┬────────┐
│ ip.src   │              packets │       mean │ synced │
├──────────┼──────────────────────┼────────────┼────────┤
│ 10.0.0.1 │                   12 │ 283.456789 │ true   │
│          │ 18446744073709551615 │            │ false  │
│ \"\"       │                      │        NaN │        │
└──────────┴──────────────────────┴────────────┴────────┘
",
        ),
        (
            Format::Csv,
            "\
ip.src,packets,mean,synced
10.0.0.1,12,283.456789,true
,18446744073709551615,,false
\"\",,NaN,
",
        ),
        (
            Format::Tsv,
            "\
ip.src\tpackets\tmean\tsynced
10.0.0.1\t12\t283.456789\ttrue
\\N\t18446744073709551615\t\\N\tfalse
\t\\N\tNaN\t\\N
",
        ),
        (
            Format::Json,
            r#"[
{"ip.src":"10.0.0.1","packets":12,"mean":283.456789,"synced":true},
{"ip.src":null,"packets":18446744073709551615,"mean":null,"synced":false},
{"ip.src":"","packets":null,"mean":null,"synced":null}
]
"#,
        ),
        (
            Format::Ndjson,
            r#"{"ip.src":"10.0.0.1","packets":12,"mean":283.456789,"synced":true}
{"ip.src":null,"packets":18446744073709551615,"mean":null,"synced":false}
{"ip.src":"","packets":null,"mean":null,"synced":null}
"#,
        ),
        (
            Format::Line,
            "\
-- row 1
ip.src   10.0.0.1
packets  12
mean     283.456789
synced   true
-- row 2
ip.src   NULL
packets  18446744073709551615
mean     NULL
synced   false
-- row 3
ip.src   \"\"
packets  NULL
mean     NaN
synced   NULL
",
        ),
        (
            Format::Markdown,
            "\
| ip.src | packets | mean | synced |
| --- | ---: | ---: | --- |
| 10.0.0.1 | 12 | 283.456789 | true |
|  | 18446744073709551615 |  | false |
| \"\" |  | NaN |  |
",
        ),
    ] {
        check(&OutputOptions::plain(format), &flows(), expected);
    }
}

#[test]
fn hostile_text_is_exact_in_a_pipe_and_harmless_in_a_table() {
    for (format, expected) in [
        (
            Format::Table,
            "\
┌──────────────────────────────────┐
│ sip.\\x1b[1m\"call_id\"             │
├──────────────────────────────────┤
│ a,\"b\"|c\\d                        │
│ x\\ty\\nz\\r\\n                      │
│ \\x1b]0;owned\\x07\\u{9b}2J\\u{202e} │
│ 日本語 <b>&_*                    │
│  edge                            │
└──────────────────────────────────┘
",
        ),
        (
            Format::Csv,
            "\"sip.\x1b[1m\"\"call_id\"\"\"\n\
             \"a,\"\"b\"\"|c\\d\"\n\
             \"x\ty\nz\r\n\"\n\
             \x1b]0;owned\x07\u{9b}2J\u{202e}\n\
             日本語 <b>&_*\n\
             \" edge \"\n",
        ),
        (
            Format::Tsv,
            "sip.\x1b[1m\"call_id\"\n\
             a,\"b\"|c\\\\d\n\
             x\\ty\\nz\\r\\n\n\
             \x1b]0;owned\x07\u{9b}2J\u{202e}\n\
             日本語 <b>&_*\n \
             edge \n",
        ),
        (
            Format::Ndjson,
            r#"{"sip.\u001b[1m\"call_id\"":"a,\"b\"|c\\d"}
{"sip.\u001b[1m\"call_id\"":"x\ty\nz\r\n"}
{"sip.\u001b[1m\"call_id\"":"\u001b]0;owned\u0007\u009b2J\u202e"}
{"sip.\u001b[1m\"call_id\"":"日本語 <b>&_*"}
{"sip.\u001b[1m\"call_id\"":" edge "}
"#,
        ),
        (
            Format::Markdown,
            "\
| sip.\\x1b\\[1m\"call_id\" |
| --- |
| a,\"b\"\\|c\\\\d |
| x\\ty<br>z<br> |
| \\x1b\\]0;owned\\x07\\u{9b}2J\\u{202e} |
| 日本語 &lt;b>&amp;\\_\\* |
|  edge  |
",
        ),
    ] {
        check(&OutputOptions::plain(format), &hostile(), expected);
    }
}

#[test]
fn no_text_format_lets_a_control_character_through_to_a_terminal() {
    for format in FORMATS {
        if format.is_binary() {
            continue;
        }
        let (text, _) = text_of(&on_terminal(format, 80), &[hostile()]);
        let separators: &[char] = if format == Format::Tsv {
            &['\n', '\t']
        } else {
            &['\n']
        };
        let leak = text
            .chars()
            .find(|c| text::is_control(*c) && !separators.contains(c));
        assert_eq!(leak, None, "{format:?}: {text:?}");
    }
}

#[test]
fn a_value_of_every_type() {
    let json = r#"{"time":"2026-01-01T00:00:00.000000001Z","local":"1970-01-01T00:00:00","date":"2026-01-01","decimal":-12.30,"float":0.1,"bytes":"dead00","fixed":"01ff","dictionary":"syn","list":[1,null,-3],"struct":{"port":53,"note":null},"map":{"k\"":"v"},"duration":"1.5 seconds","interval":"1 mons 2 days","null":null}
"#;
    check(&OutputOptions::plain(Format::Ndjson), &types(), json);
    let csv = r#"time,local,date,decimal,float,bytes,fixed,dictionary,list,struct,map,duration,interval,null
2026-01-01T00:00:00.000000001Z,1970-01-01T00:00:00,2026-01-01,-12.30,0.1,dead00,01ff,syn,"[1,null,-3]","{""port"":53,""note"":null}","{""k\"""":""v""}",1.5 seconds,1 mons 2 days,
"#;
    check(&OutputOptions::plain(Format::Csv), &types(), csv);
}

#[test]
fn floats_are_rounded_on_a_terminal_only() {
    let third = batch(vec![(
        "x",
        Arc::new(Float64Array::from(vec![1.0 / 3.0, 1e300, 2.0])),
    )]);
    check(
        &on_terminal(Format::Table, 80),
        &third,
        "\
┌─────────────┐
│           x │
├─────────────┤
│    0.333333 │
│ 1.00000e300 │
│         2.0 │
└─────────────┘
",
    );
    check(
        &on_terminal(Format::Csv, 80),
        &third,
        "x\n0.3333333333333333\n1e300\n2.0\n",
    );
}

/// Sizes are numbers for programs; durations and intervals are texts that they read.
#[test]
fn sizes_and_intervals_are_for_people_on_a_terminal_only() {
    let unit = [(weir_tables::UNIT_KEY.into(), weir_tables::UNIT_BYTES.into())];
    let size = Field::new("size", DataType::UInt64, true).with_metadata(unit.into());
    let values: ArrayRef = Arc::new(IntervalMonthDayNanoArray::from(vec![
        IntervalMonthDayNano::new(0, 1, 1_500_000_000),
        IntervalMonthDayNano::new(3, 0, 0),
    ]));
    let interval = Field::new("interval", values.data_type().clone(), true);
    let schema = Arc::new(Schema::new(vec![size, interval]));
    let sizes: ArrayRef = Arc::new(UInt64Array::from(vec![Some(18_057_300_000), None]));
    let batch = RecordBatch::try_new(schema, vec![sizes, values]).unwrap();
    let csv = "size,interval\n18057300000,1 days 1.500000000 secs\n,3 mons\n";
    check(&OutputOptions::plain(Format::Csv), &batch, csv);
    let (shown, _) = text_of(&on_terminal(Format::Table, 80), &[batch]);
    for part in ["18.1 GB", "1 d 00:00:01.5", "3 mons"] {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn an_empty_result_still_names_its_columns() {
    let empty = flows().slice(0, 0);
    for (format, expected) in [
        (
            Format::Table,
            "\
┌────────┬─────────┬──────┬────────┐
│ ip.src │ packets │ mean │ synced │
├────────┼─────────┼──────┼────────┤
└────────┴─────────┴──────┴────────┘
",
        ),
        (Format::Csv, "ip.src,packets,mean,synced\n"),
        (Format::Tsv, "ip.src\tpackets\tmean\tsynced\n"),
        (Format::Json, "[]\n"),
        (Format::Ndjson, ""),
        (
            Format::Markdown,
            "| ip.src | packets | mean | synced |\n| --- | ---: | ---: | --- |\n",
        ),
        (Format::Line, ""),
    ] {
        check(&OutputOptions::plain(format), &empty, expected);
        let (bytes, _) = bytes_of(&OutputOptions::plain(format), empty.schema(), &[]);
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            expected,
            "without any batch"
        );
    }
    let (_, summary) = text_of(&on_terminal(Format::Table, 80), &[empty]);
    assert_eq!(summary.notes(), ["no rows"]);
}

#[test]
fn rows_without_columns_are_counted() {
    let none = RecordBatch::try_new_with_options(
        Arc::new(Schema::empty()),
        vec![],
        &RecordBatchOptions::new().with_row_count(Some(2)),
    )
    .unwrap();
    for (format, expected) in [
        (Format::Table, ""),
        (Format::Csv, ""),
        (Format::Tsv, ""),
        (Format::Json, "[\n{},\n{}\n]\n"),
        (Format::Ndjson, "{}\n{}\n"),
        (Format::Markdown, ""),
        (Format::Line, "-- row 1\n-- row 2\n"),
    ] {
        let (text, summary) = text_of(&OutputOptions::plain(format), std::slice::from_ref(&none));
        assert_eq!((text.as_str(), summary.rows), (expected, 2));
    }
    let (bytes, _) = bytes_of(
        &OutputOptions::plain(Format::Arrows),
        none.schema(),
        &[none],
    );
    let read: Vec<_> = StreamReader::try_new(&*bytes, None)
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(read[0].num_rows(), 2);
}

#[test]
fn parquet_and_arrow_give_the_same_rows_back() {
    for batch in [flows(), hostile(), flows().slice(1, 2)] {
        for format in [Format::Arrow, Format::Arrows] {
            let (bytes, _) = bytes_of(
                &OutputOptions::plain(format),
                batch.schema(),
                &[batch.clone(), batch.clone()],
            );
            let read: Vec<_> = match format {
                Format::Arrow => FileReader::try_new(io::Cursor::new(bytes), None)
                    .unwrap()
                    .map(Result::unwrap)
                    .collect(),
                _ => StreamReader::try_new(&*bytes, None)
                    .unwrap()
                    .map(Result::unwrap)
                    .collect(),
            };
            assert_eq!(format!("{read:?}"), format!("{:?}", [&batch, &batch]));
        }

        let plain = OutputOptions::plain(Format::Parquet);
        let (bytes, _) = bytes_of(&plain, batch.schema(), std::slice::from_ref(&batch));
        let read = read_parquet(bytes);
        assert_eq!(format!("{read:?}"), format!("{:?}", [&batch]));
    }
    // No rows at all are a file that opens, too.
    let (bytes, _) = bytes_of(
        &OutputOptions::plain(Format::Parquet),
        flows().schema(),
        &[],
    );
    assert!(read_parquet(bytes).is_empty());
}

#[test]
fn types_that_parquet_lacks_become_text() {
    let plain = OutputOptions::plain(Format::Parquet);
    let (bytes, _) = bytes_of(&plain, types().schema(), &[types()]);
    let read = read_parquet(bytes);
    let interval = read[0].column_by_name("interval").unwrap();
    assert_eq!(interval.data_type(), &DataType::Utf8);
    check(
        &OutputOptions::plain(Format::Csv),
        &read[0].project(&[0, 12]).unwrap(),
        "time,interval\n2026-01-01T00:00:00.000000001Z,1 mons 2 days\n",
    );
}

/// Rows that are held back beyond a limit of memory are a group of rows of their own.
#[test]
fn rows_of_parquet_are_written_where_those_held_back_take_too_much() {
    for (most, groups) in [(0, 2), (usize::MAX, 1)] {
        let out = SharedBuffer::default();
        let plain = OutputOptions::plain(Format::Parquet);
        let mut writer = Writer::new(&plain, flows().schema(), Box::new(out.clone())).unwrap();
        for _ in 0..2 {
            assert_eq!(writer.write(&flows()).unwrap(), OutputState::Open);
            writer.flush_beyond(most).unwrap();
        }
        assert_eq!(writer.finish().unwrap().rows, 6);
        let count = with_parquet(out.bytes(), |reader| reader.metadata().num_row_groups());
        assert_eq!(count, groups);
        let rows = read_parquet(out.bytes());
        let rows = rows.iter().map(RecordBatch::num_rows).sum::<usize>();
        assert_eq!(rows, 2 * flows().num_rows());
    }
}

/// Reads a file that is removed from its folder when it has been read.
fn read_parquet(bytes: Vec<u8>) -> Vec<RecordBatch> {
    with_parquet(bytes, |reader| {
        let batches = reader.build().unwrap();
        batches.map(Result::unwrap).collect()
    })
}

fn with_parquet<T>(
    bytes: Vec<u8>,
    look: impl FnOnce(ParquetRecordBatchReaderBuilder<std::fs::File>) -> T,
) -> T {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("weir-output-{}-{number}.parquet", std::process::id());
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, bytes).unwrap();
    let file = std::fs::File::open(&path).unwrap();
    let seen = look(ParquetRecordBatchReaderBuilder::try_new(file).unwrap());
    std::fs::remove_file(&path).unwrap();
    seen
}

#[test]
fn a_repeated_name_is_made_unique_where_the_format_needs_it() {
    let one = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let fields = ["x", "x"].map(|name| Field::new(name, DataType::Int64, true));
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let twice = RecordBatch::try_new(schema, vec![one(), one()]).unwrap();
    check(
        &OutputOptions::plain(Format::Ndjson),
        &twice,
        "{\"x\":1,\"x_2\":1}\n",
    );
    check(&OutputOptions::plain(Format::Csv), &twice, "x,x\n1,1\n");
    let (bytes, _) = bytes_of(
        &OutputOptions::plain(Format::Parquet),
        twice.schema(),
        &[twice],
    );
    assert!(read_parquet(bytes)[0].column_by_name("x_2").is_some());
}

#[test]
fn binary_formats_are_refused_on_a_terminal() {
    for format in [Format::Parquet, Format::Arrow, Format::Arrows] {
        let options = on_terminal(format, 80);
        let result = Writer::new(
            &options,
            flows().schema(),
            Box::new(SharedBuffer::default()),
        );
        let error = result.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(
            error
                .hint()
                .unwrap()
                .contains(&format!("-o result.{}", format.name()))
        );
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_work_quietly() {
    let rows = Int64Array::from_iter_values(0..20_000);
    let many = batch(vec![("n", Arc::new(rows))]);
    for format in FORMATS {
        for patience in [0, 1, 1_000] {
            let options = OutputOptions::plain(format);
            let mut writer =
                Writer::new(&options, many.schema(), Box::new(Leaving(patience))).unwrap();
            // Parquet may keep its rows to itself until the end.
            let flows = [writer.write(&many).unwrap(), writer.write(&many).unwrap()];
            if format != Format::Parquet {
                assert_eq!(flows[1], OutputState::Closed, "{format:?}");
            }
            let summary = writer.finish().unwrap();
            assert!(summary.closed, "{format:?}");
            assert!(summary.notes().is_empty());
        }
    }
}

#[test]
fn a_full_disk_is_an_error() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    for format in FORMATS {
        let options = OutputOptions::plain(format);
        let mut writer = Writer::new(&options, flows().schema(), Box::new(Full)).unwrap();
        let error = match writer.write(&flows()) {
            Err(error) => error,
            Ok(_) => writer.finish().unwrap_err(),
        };
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        let text = format!("{error}: {}", cause.unwrap_or_default());
        assert!(text.contains("no storage space"), "{format:?}: {text}");
        assert_eq!(error.kind(), ErrorKind::Environment, "{format:?}");
    }
}

#[test]
fn nothing_is_written_before_the_first_batch() {
    for format in FORMATS {
        let out = SharedBuffer::default();
        let options = OutputOptions::plain(format);
        let writer = Writer::new(&options, flows().schema(), Box::new(out.clone())).unwrap();
        drop(writer);
        assert!(out.bytes().is_empty(), "{format:?}");
    }
}

#[test]
fn a_piped_table_streams_after_its_first_rows_and_stays_exact() {
    let numbers = |range: std::ops::Range<i64>| {
        batch(vec![("n", Arc::new(Int64Array::from_iter_values(range)))])
    };
    let out = SharedBuffer::default();
    let options = OutputOptions::plain(Format::Table);
    let mut writer = Writer::new(&options, numbers(0..1).schema(), Box::new(out.clone())).unwrap();
    assert_eq!(writer.write(&numbers(0..9_000)).unwrap(), OutputState::Open);
    assert!(out.bytes().is_empty(), "widths are still open");
    assert_eq!(
        writer.write(&numbers(9_000..11_000)).unwrap(),
        OutputState::Open
    );
    assert!(!out.bytes().is_empty(), "rows are on their way");
    assert_eq!(
        writer.write(&numbers(1_000_000..1_000_001)).unwrap(),
        OutputState::Open
    );
    let _ = writer.finish().unwrap();
    let text = String::from_utf8(out.bytes()).unwrap();
    assert!(text.starts_with("┌───────┐\n│     n │\n├───────┤\n│     0 │\n"));
    assert!(
        text.ends_with("│ 10999 │\n│ 1000000 │\n└───────┘\n"),
        "a wider value is whole"
    );
    assert_eq!(text.lines().count(), 11_000 + 1 + 4);
}

#[test]
fn thousands_of_columns_pass() {
    let count = 5_000;
    let names: Vec<_> = (0..count).map(|at| format!("column_{at}")).collect();
    let column = |name: &String| {
        (
            name.clone(),
            Arc::new(Int64Array::from(vec![1])) as ArrayRef,
        )
    };
    let wide = RecordBatch::try_from_iter(names.iter().map(column)).unwrap();
    for format in FORMATS {
        let (bytes, _) = bytes_of(
            &OutputOptions::plain(format),
            wide.schema(),
            std::slice::from_ref(&wide),
        );
        assert!(bytes.len() > count * 4, "{format:?}");
    }
    let (text, summary) = text_of(&on_terminal(Format::Table, 80), &[wide]);
    assert!(text.lines().all(|line| text::width(line) <= 80));
    assert!(summary.columns_cut.len() > 4_900);
}

#[test]
fn a_megabyte_in_a_cell_does_not_pad_the_others() {
    let huge = "x".repeat(1 << 20);
    let rows = batch(vec![(
        "payload",
        Arc::new(StringArray::from(vec![huge.as_str(), "y"])),
    )]);
    let (text, _) = text_of(
        &OutputOptions::plain(Format::Table),
        std::slice::from_ref(&rows),
    );
    assert!(text.contains(&huge) && text.len() < huge.len() + 8_000);
    let (text, _) = text_of(&on_terminal(Format::Table, 80), &[rows]);
    assert!(text.len() < 2_000);
}

#[test]
fn formats_are_known_by_the_name_of_a_file() {
    for (path, expected) in [
        ("a.csv", Some(Format::Csv)),
        ("dir.csv/a.PARQUET", Some(Format::Parquet)),
        ("a.jsonl", Some(Format::Ndjson)),
        ("a.md", Some(Format::Markdown)),
        ("a", None),
        ("a.pcap", None),
    ] {
        assert_eq!(Format::of_path(Path::new(path)), expected);
    }
    assert_eq!(Format::default_for(true), Format::Table);
    assert_eq!(Format::default_for(false), Format::Csv);
}
