//! Tables on a terminal: what is folded, cut and left out, and what the summary says of it.

use super::*;

#[test]
fn a_wide_result_on_a_terminal_is_folded_and_says_so() {
    let number = |value| Arc::new(Int64Array::from(vec![value, value])) as ArrayRef;
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let column = |(at, name): (usize, &&'static str)| (*name, number((at % 2 == 0).then_some(7)));
    let wide = batch(names.iter().enumerate().map(column).collect());
    let (text, summary) = text_of(&on_terminal(Format::Table, 80), std::slice::from_ref(&wide));
    let expected = "\
┌───┬───┬───┬───┐
│ a │ c │ e │ g │
├───┼───┼───┼───┤
│ 7 │ 7 │ 7 │ 7 │
│ 7 │ 7 │ 7 │ 7 │
└───┴───┴───┴───┘
";
    assert_eq!(text, expected);
    assert_eq!(
        summary.notes(),
        ["4 columns are NULL in every row and left out (b, d, f, h); '--all-columns' shows them"]
    );

    // A value in the last row of the last batch keeps a column, even where rows are capped.
    let filled = names.map(|name| (name, number(Some(1)))).to_vec();
    let capped = OutputOptions {
        rows_max: Some(1),
        ..on_terminal(Format::Table, 80)
    };
    let (text, summary) = text_of(&capped, &[wide.clone(), batch(filled)]);
    assert!(
        text.starts_with("┌───┬───┬───┬───┬───┬───┬───┬───┐\n"),
        "{text}"
    );
    assert_eq!((summary.rows, summary.rows_hidden), (4, 3));
    assert!(summary.columns_folded.is_empty());

    for options in [
        OutputOptions {
            all_columns: true,
            ..on_terminal(Format::Table, 80)
        },
        OutputOptions::plain(Format::Table),
    ] {
        let (text, summary) = text_of(&options, std::slice::from_ref(&wide));
        assert!(
            text.starts_with("┌───┬───┬───┬───┬───┬───┬───┬───┐\n"),
            "{text}"
        );
        assert!(summary.notes().is_empty());
    }
}

#[test]
fn a_few_columns_or_nothing_but_null_are_not_folded() {
    let few = batch(vec![
        ("a", Arc::new(Int64Array::from(vec![1]))),
        ("b", Arc::new(NullArray::new(1))),
    ]);
    let expected = "\
┌───┬───┐
│ a │ b │
├───┼───┤
│ 1 │   │
└───┴───┘
";
    check(&on_terminal(Format::Table, 80), &few, expected);
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let nulls = batch(
        names
            .map(|name| (name, Arc::new(NullArray::new(1)) as ArrayRef))
            .to_vec(),
    );
    let (text, summary) = text_of(&on_terminal(Format::Table, 80), &[nulls]);
    assert!(text.contains("│ a │ b │ c │ d │ e │ f │ g │ h │"), "{text}");
    assert!(summary.columns_folded.is_empty());
}

#[test]
fn a_long_result_on_a_terminal_is_capped_and_counted() {
    let numbers = |range: std::ops::Range<i64>| {
        batch(vec![("n", Arc::new(Int64Array::from_iter_values(range)))])
    };
    let options = OutputOptions {
        rows_max: Some(3),
        ..on_terminal(Format::Table, 80)
    };
    let (text, summary) = text_of(&options, &[numbers(0..2), numbers(2..5), numbers(5..2_000)]);
    let expected = "\
┌───┐
│ n │
├───┤
│ 0 │
│ 1 │
│ 2 │
│ … │
└───┘
";
    assert_eq!(text, expected);
    assert_eq!(
        summary.notes(),
        ["3 of 2,000 rows shown; '--rows all' shows the rest"]
    );

    // Other formats and pipes never lose a row to the cap.
    for options in [
        OutputOptions {
            format: Format::Csv,
            ..options.clone()
        },
        OutputOptions {
            terminal: false,
            ..options
        },
    ] {
        let (text, summary) = text_of(&options, &[numbers(0..2_000)]);
        assert!(text.contains("1999"));
        assert_eq!((summary.rows, summary.rows_hidden), (2_000, 0));
    }
}

#[test]
fn a_table_is_cut_to_the_width_of_the_terminal() {
    let row = batch(vec![
        (
            "message",
            Arc::new(StringArray::from(vec![
                "一二三四五六七八九十一二三四五六七八九十",
            ])),
        ),
        ("count", Arc::new(Int64Array::from(vec![1_234_567_890]))),
        (
            "other",
            Arc::new(StringArray::from(vec!["0123456789abcdefghij"])),
        ),
    ]);
    for (width, expected, notes) in [
        (
            60,
            "\
┌──────────────────────┬────────────┬──────────────────────┐
│ message              │      count │ other                │
├──────────────────────┼────────────┼──────────────────────┤
│ 一二三四五六七八九…  │ 1234567890 │ 0123456789abcdefghij │
└──────────────────────┴────────────┴──────────────────────┘
",
            vec!["values cut at '…'; '--all-columns' shows them in full"],
        ),
        (
            40,
            "\
┌─────────────────────┬────────────┬───┐
│ message             │      count │ … │
├─────────────────────┼────────────┼───┤
│ 一二三四五六七八九… │ 1234567890 │ … │
└─────────────────────┴────────────┴───┘
",
            vec!["1 more column does not fit this terminal (other); '--all-columns' shows them"],
        ),
    ] {
        let (text, summary) = text_of(
            &on_terminal(Format::Table, width),
            std::slice::from_ref(&row),
        );
        assert_eq!(text, expected, "got:\n{text}\nexpected:\n{expected}");
        assert!(
            text.lines()
                .all(|line| text::width(line) <= usize::from(width))
        );
        assert_eq!(summary.notes(), notes);
    }
}

#[test]
fn colour_is_for_borders_and_names() {
    let options = OutputOptions {
        colour: true,
        ..on_terminal(Format::Table, 80)
    };
    let one = batch(vec![("n", Arc::new(Int64Array::from(vec![1])))]);
    check(
        &options,
        &one,
        "\x1b[2m┌───┐\x1b[0m\n\
         \x1b[2m│ \x1b[0m\x1b[1mn\x1b[0m\x1b[2m │\x1b[0m\n\
         \x1b[2m├───┤\x1b[0m\n\
         \x1b[2m│ \x1b[0m1\x1b[2m │\x1b[0m\n\
         \x1b[2m└───┘\x1b[0m\n",
    );
}

#[test]
fn a_plan_is_printed_as_the_tree_it_is() {
    let explain = batch(vec![
        (
            "plan_type",
            Arc::new(StringArray::from(vec!["logical_plan", "physical_plan"])),
        ),
        (
            "plan",
            Arc::new(StringArray::from(vec![
                "Sort\n  Scan: '\x1b'",
                "SortExec\n",
            ])),
        ),
    ]);
    let expected = "logical_plan\n  Sort\n    Scan: '\\x1b'\n\nphysical_plan\n  SortExec\n";
    for options in [
        on_terminal(Format::Table, 10),
        OutputOptions::plain(Format::Table),
    ] {
        check(&options, &explain, expected);
    }
}

/// A wide row of a packet, as `SELECT *` gives it.
fn packet(file: &str) -> RecordBatch {
    let text = |text: &str| Arc::new(StringArray::from(vec![text])) as ArrayRef;
    let number = |number| Arc::new(Int64Array::from(vec![number])) as ArrayRef;
    batch(vec![
        ("frame.file", text(file)),
        ("frame.number", number(Some(2))),
        ("frame.layers", text("eth:ip:udp")),
        ("eth.type", number(Some(2048))),
        ("ip.src", text("10.0.0.1")),
        ("tcp.srcport", number(None)),
        ("udp.srcport", number(Some(53))),
        ("addr.src", text("10.0.0.1")),
        ("port.src", number(Some(53))),
    ])
}

#[test]
fn a_wide_table_on_a_terminal_begins_with_addresses_and_ends_with_the_file() {
    let row = packet("a/long/name/of/a/file/that/fills/half/of/the/terminal.pcap");
    let head = |options: &OutputOptions| {
        let (text, _) = text_of(options, std::slice::from_ref(&row));
        text.lines().nth(1).unwrap().to_owned()
    };
    let wide = head(&on_terminal(Format::Table, 300));
    let names: Vec<&str> = wide
        .split('│')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    assert_eq!(
        names,
        [
            "frame.number",
            "addr.src",
            "port.src",
            "frame.layers",
            "eth.type",
            "ip.src",
            "udp.srcport",
            "frame.file"
        ]
    );
    // The order of the columns does not change in a pipe.
    let plain = head(&OutputOptions::plain(Format::Table));
    assert!(plain.starts_with("│ frame.file"), "{plain}");
}

#[test]
fn a_packet_is_shown_by_layers_with_its_bytes_on_a_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcap");
    let mut writer = weir_capture::Writer::pcap(Vec::new());
    for data in [&b"first"[..], b"second\0packet"] {
        writer
            .write(&weir_capture::WriteRecord::new(1, 0, data))
            .unwrap();
    }
    std::fs::write(&path, writer.finish().unwrap()).unwrap();
    let file = path.to_str().unwrap();
    let row = packet(file);
    let (text, _) = text_of(&on_terminal(Format::Line, 80), std::slice::from_ref(&row));
    let expected = format!(
        "-- packet 2 of {file}\nframe\n  frame.file    {file}\n  frame.number  2\n  frame.layers  eth:ip:udp\n  \
         addr.src      10.0.0.1\n  port.src      53\neth\n  eth.type      2048  IPv4\nip\n  ip.src        10.0.0.1\nudp\n  \
         udp.srcport   53\nbytes\n  0000  73 65 63 6f 6e 64 00 70  61 63 6b 65 74           second·packet\n"
    );
    assert_eq!(text, expected);
    let (text, _) = text_of(&OutputOptions::plain(Format::Line), &[row]);
    assert!(text.starts_with("-- row 1\nframe.file"), "{text}");
}
