//! Layouts with a fault: the exact place, message and hint.

use crate::{ErrorKind, Layout, LayoutError};

fn fault_over(text: &str, base: &str) -> LayoutError {
    let mut load = |path: &str| match path {
        "base.toml" => Ok(base.to_owned()),
        "self.toml" => Ok(format!("extends = \"{path}\"")),
        _ if path.starts_with("chain") => Ok(format!("extends = \"{path}x\"")),
        _ => Err(format!("no file {path}")),
    };
    match Layout::parse(text, &mut load) {
        Ok(_) => panic!("no fault found in\n{text}"),
        Err(error) => error,
    }
}

/// Each text with the error that it must give; after `|` the hint.
#[track_caller]
fn check(cases: &[(&str, ErrorKind, &str)]) {
    for (text, kind, expected) in cases {
        let error = fault_over(text, "");
        let mut shown = error.to_string();
        if let Some(hint) = error.hint() {
            shown.push_str(" | ");
            shown.push_str(hint);
        }
        assert_eq!(shown, *expected, "\n{text}");
        assert_eq!(error.kind(), *kind, "\n{text}");
    }
}

#[test]
fn keys_and_toml() {
    check(&[
        (
            "name = ",
            ErrorKind::Syntax,
            "line 1, column 8: expected TOML, found an error in it: string values must be quoted, expected literal string",
        ),
        (
            "",
            ErrorKind::Missing,
            "line 1, column 1: expected at least one field, found none | fields are written as [[field]] with a name and a type",
        ),
        (
            "byteorder = \"big\"",
            ErrorKind::Key,
            "line 1, column 1: byteorder: expected one of the keys name, doc, extends, byte_order, bit_order, file, record, \
             field, kind, payload, enum, found `byteorder` | did you mean `byte_order`?",
        ),
        (
            "[[field]]\nname = \"a\"\ntype = \"u8\"\n\n[record]\nlenght = 3",
            ErrorKind::Key,
            "line 6, column 1: record.lenght: expected one of the keys length, length_max, delimiter, time, wire_len, \
             found `lenght` | did you mean `length`?",
        ),
        (
            "byte_order = \"bigg\"",
            ErrorKind::Value,
            "line 1, column 15: byte_order: expected \"big\" or \"little\", found \"bigg\" | did you mean `big`?",
        ),
        (
            "bit_order = 3",
            ErrorKind::Value,
            "line 1, column 13: bit_order: expected \"msb\" or \"lsb\", found 3",
        ),
        (
            "field = 7",
            ErrorKind::Value,
            "line 1, column 9: field: expected tables, found 7",
        ),
        (
            "field = [7]",
            ErrorKind::Value,
            "line 1, column 10: field: expected a table, found 7",
        ),
        (
            "record = []",
            ErrorKind::Value,
            "line 1, column 10: record: expected a table, found an array",
        ),
        (
            "record = { length = 3, delimiter = \"x\" }\nfield = [{ name = \"a\", type = \"u8\" }]",
            ErrorKind::Key,
            "line 1, column 36: record.delimiter: expected either a length or a delimiter, found both",
        ),
        (
            "file = { magic = \"0x1\" }",
            ErrorKind::Value,
            "line 1, column 19: file.magic: expected 1 to 64 bytes as text, or as hexadecimal digits after 0x, found \"0x1\"",
        ),
        (
            "file = { magic = \"abc\", header_len = 2 }",
            ErrorKind::Place,
            "line 1, column 38: file.header_len: expected at least 3, the end of the magic value, found 2",
        ),
    ]);
}

#[test]
fn types_and_their_keys() {
    check(&[
        (
            "field = [{ name = \"a\", type = \"u31\" }]",
            ErrorKind::Name,
            "line 1, column 32: field.a.type: expected the name of a type, found `u31` | did you mean `u32`?",
        ),
        (
            "field = [{ name = \"a\", type = \"string\" }]",
            ErrorKind::Name,
            "line 1, column 32: field.a.type: expected the name of a type, found `string` | texts are `ascii` or `utf8`",
        ),
        (
            "field = [{ name = \"a\" }]",
            ErrorKind::Missing,
            "line 1, column 10: field.a: expected a `type`, or `bits`, `of`, `size`, `value` or inner fields, found none",
        ),
        (
            "field = [{ name = \"a\", type = 5 }]",
            ErrorKind::Value,
            "line 1, column 31: field.a.type: expected the name of a type, found 5",
        ),
        (
            "field = [{ name = \"a\", type = \"u8\", size = 4 }]",
            ErrorKind::Key,
            "line 1, column 44: field.a.size: expected for an integer only the keys type, at, byte_order, enum, equals, found `size`",
        ),
        (
            "field = [{ name = \"a\", type = \"ascii\" }]",
            ErrorKind::Missing,
            "line 1, column 10: field.a: expected a `size`, or `until` with its terminating bytes, found none",
        ),
        (
            "field = [{ name = \"a\", type = \"uint\" }]",
            ErrorKind::Missing,
            "line 1, column 10: field.a: expected the key `bits`, or a type with a width such as u16, found none",
        ),
        (
            "field = [{ name = \"a\", size = 0 }]",
            ErrorKind::Value,
            "line 1, column 31: field.a.size: expected a size from 1 to 16777216, found 0",
        ),
        (
            "field = [{ name = \"a\", bits = 65 }]",
            ErrorKind::Value,
            "line 1, column 31: field.a.bits: expected a number from 1 to 64, found 65",
        ),
        (
            "field = [{ name = \"a\", bits = 4, type = \"u8\" }]",
            ErrorKind::Value,
            "line 1, column 42: field.a.type: expected `uint`, `int` or `bool` for bits, found `u8`",
        ),
        (
            "field = [{ name = \"a\", type = \"u8\", bits = \"0-3\" }]",
            ErrorKind::Missing,
            "line 1, column 45: field.a.bits: expected the key `of` with ranges of bits, found none | name the word whose bits these are with `of`, or give `bits` as a number",
        ),
        (
            "field = [{ name = \"a\", bit = 3, bits = 1 }]",
            ErrorKind::Missing,
            "line 1, column 30: field.a.bit: expected the key `at` as well, found none",
        ),
        (
            "field = [{ name = \"a\", type = \"time_s_us\", size = 4 }]",
            ErrorKind::Value,
            "line 1, column 51: field.a.size: expected 8 bytes, found 4",
        ),
        (
            "field = [{ name = \"a\", type = \"time_s\", epoch = 9999-01-01 }]",
            ErrorKind::Value,
            "line 1, column 49: field.a.epoch: expected a date such as 1900-01-01, or seconds from 1970-01-01, found something else, or more than 200 years from 1970",
        ),
        (
            "field = [{ name = \"a\", type = \"ascii\", size = 2, trim = \"left\" }]",
            ErrorKind::Value,
            "line 1, column 58: field.a.trim: expected \"end\", \"both\" or \"none\", found \"left\"",
        ),
        (
            "field = [{ name = \"a\", type = \"decimal\", size = 2, radix = 7 }]",
            ErrorKind::Value,
            "line 1, column 60: field.a.radix: expected 8, 10 or 16, found 7",
        ),
        (
            "field = [{ name = \"a\", type = \"u8\", equals = 256 }]",
            ErrorKind::Value,
            "line 1, column 46: field.a.equals: expected a number of 8 bits, found 256",
        ),
        (
            "field = [{ name = \"a\", type = \"i8\", equals = -129 }]",
            ErrorKind::Value,
            "line 1, column 46: field.a.equals: expected a signed number of 8 bits, found -129",
        ),
        (
            "field = [{ name = \"a\", size = 3, equals = \"ab\" }]",
            ErrorKind::Value,
            "line 1, column 43: field.a.equals: expected 3 bytes, the size of the field, found 2 bytes",
        ),
        (
            "field = [{ bits = 8, unit = \"s\" }]",
            ErrorKind::Missing,
            "line 1, column 10: field[0]: expected a name, because `unit` is given, found none",
        ),
        (
            "field = [{ name = \"a\", when = \"1\", field = [] , type = \"u8\"}]",
            ErrorKind::Key,
            "line 1, column 20: field.a.name: expected for a group of fields only the keys when, at, byte_order, bit_order, doc, field, found `name`",
        ),
        (
            "field = [{ column = false, field = [] }]",
            ErrorKind::Key,
            "line 1, column 10: field[0].column: expected for a group of fields only the keys when, at, byte_order, bit_order, doc, field, found `column`",
        ),
    ]);
}

#[test]
fn names() {
    check(&[
        (
            "field = [{ name = \"Frame-Len\", type = \"u8\" }]",
            ErrorKind::Value,
            "line 1, column 20: field.Frame-Len.name: expected a name of lower-case letters, digits, `_` and dots between words, found `Frame-Len` | write `frame_len`",
        ),
        (
            "field = [{ name = \"a..b\", type = \"u8\" }]",
            ErrorKind::Value,
            "line 1, column 20: field.a..b.name: expected a name of lower-case letters, digits, `_` and dots between words, found `a..b`",
        ),
        (
            "[[field]]\nname = \"a\"\ntype = \"u8\"\n[[field]]\nname = \"a\"\ntype = \"u8\"",
            ErrorKind::Duplicate,
            "line 5, column 9: field.a.name: expected a name that no other field or column has, found `a` | a field of the base layout is replaced with `override = true`",
        ),
        (
            "field = [{ name = \"a_name\", type = \"u8\" }, { name = \"a\", type = \"u8\", enum = {} }]",
            ErrorKind::Duplicate,
            "line 1, column 54: field.a: expected an unused name for the column of its enum's names, found `a_name`, which is already used",
        ),
        (
            "field = [{ name = \"kind\", type = \"u8\" }]\nkind = [{ name = \"k\" }]",
            ErrorKind::Duplicate,
            "line 1, column 20: field.kind.name: expected a name that no other field or column has, found `kind` | a field of the base layout is replaced with `override = true`",
        ),
        (
            "field = [{ name = \"frame.len\", type = \"u8\" }]",
            ErrorKind::Duplicate,
            "line 1, column 10: field.frame.len: expected a name that no packet column has, found `frame.len` | put a prefix of your own before it, such as `rec.`",
        ),
        (
            "record.length = 9\nfield = [{ name = \"ip.src\", type = \"u8\" }]\npayload = { protocol = \"ip\" }",
            ErrorKind::Duplicate,
            "line 2, column 10: field.ip.src: expected a name that no packet column has, found `ip.src` | put a prefix of your own before it, such as `rec.`",
        ),
        (
            "field = [{ name = \"a\", type = \"u8\", enum = \"nlpid\" }]\n[enum.nlpids]",
            ErrorKind::Name,
            "line 1, column 45: field.a.enum: expected the name of a table under [enum], found `nlpid` | did you mean `nlpids`?",
        ),
        (
            "field = [{ name = \"a\", type = \"u8\", enum = { one = \"x\" } }]",
            ErrorKind::Value,
            "line 1, column 46: field.a.enum.one: expected a number such as 12 or 0xcc, found `one`",
        ),
        (
            "field = [{ name = \"a\", type = \"u8\", enum = { 1 = \"x\", 0x01 = \"y\" } }]",
            ErrorKind::Duplicate,
            "line 1, column 55: field.a.enum.1: expected each number once, found the same number twice",
        ),
        (
            "field = [{ name = \"a\", type = \"f32\", enum = {} }]",
            ErrorKind::Key,
            "line 1, column 10: field.a.enum: expected for a float only the keys type, at, byte_order, found `enum`",
        ),
        (
            "record.length = 9\nfield = [{ name = \"a\", type = \"u8\" }]\npayload = { protocol = \"frame-relay\" }",
            ErrorKind::Name,
            "line 3, column 24: payload.protocol: expected the name of a protocol or the number of a link type, found `frame-relay` | did you mean `frame_relay`?",
        ),
        (
            "field = [{ name = \"a\", type = \"u8\" }]\nrecord.time = \"a\"",
            ErrorKind::Value,
            "line 2, column 16: record.time: expected a field of a time type, found `a`, which is of another type | numbers make a time with { seconds = \"\u{2026}\", microseconds = \"\u{2026}\" }",
        ),
        (
            "field = [{ name = \"abc\", type = \"u8\" }]\nrecord.time = \"abd\"",
            ErrorKind::Name,
            "line 2, column 16: record.time: expected a field defined before, found `abd` | did you mean `abc`?",
        ),
    ]);
}

#[test]
fn expressions() {
    let with = |expression: &str| {
        format!(
            "[[field]]\nname = \"length\"\ntype = \"u16\"\n[[field]]\nname = \"label\"\ntype = \"ascii\"\nsize = 2\n[record]\nlength = \"{expression}\"\n"
        )
    };
    for (expression, kind, expected) in [
        (
            "lenght + 1",
            ErrorKind::Name,
            "line 9, column 11: record.length: expected an integer field defined before, found `lenght` | did you mean `length`?",
        ),
        (
            "4 + label",
            ErrorKind::Name,
            "line 9, column 15: record.length: expected an integer field, found `label`, which is of another type",
        ),
        (
            "length +",
            ErrorKind::Expression,
            "line 9, column 19: record.length: expected a number, a field or `(`, found the end",
        ),
        (
            "length = 4",
            ErrorKind::Expression,
            "line 9, column 18: record.length: expected a number, a field or an operator, found `=`",
        ),
        (
            "length == 'x'",
            ErrorKind::Name,
            "line 9, column 21: record.length: expected a number, because the field has no enum, found 'x'",
        ),
        (
            "4 / (2 - 2)",
            ErrorKind::Expression,
            "line 9, column 11: record.length: expected a number, found an overflow or a division by zero",
        ),
        (
            "record.length",
            ErrorKind::Expression,
            "line 9, column 11: record.length: expected an expression without record.length, which it defines, found it",
        ),
        (
            "0",
            ErrorKind::Value,
            "line 9, column 11: record.length: expected a length from 1 to 262144 bytes, found 0",
        ),
        (
            "300000",
            ErrorKind::Value,
            "line 9, column 11: record.length: expected a length from 1 to 262144 bytes, found 300000",
        ),
        // The error points to the start of a text with an escape.
        (
            "length +\\t\\u0021",
            ErrorKind::Expression,
            "line 9, column 10: record.length: expected a number, a field or `(`, found the end",
        ),
    ] {
        check(&[(&with(expression), kind, expected)]);
    }
}

#[test]
fn places() {
    check(&[
        (
            "field = [\n{ name = \"a\", bits = 3 },\n{ name = \"b\", type = \"u8\" }]",
            ErrorKind::Place,
            "line 3, column 1: field.b: expected an offset at a whole byte, found an offset at bit 3 of a byte | pad the bit fields before it with { bits = 5 }",
        ),
        (
            "field = [{ name = \"a\", bits = 3 }]",
            ErrorKind::Place,
            "line 1, column 10: field.a: expected an offset at a whole byte, found an offset at bit 3 of a byte | pad the bit fields before it with { bits = 5 }",
        ),
        (
            "field = [{ name = \"a\", bits = 3, when = \"1\" }]",
            ErrorKind::Place,
            "line 1, column 10: field.a: expected an offset at a whole byte, found an offset at bit 3 of a byte | pad the bit fields before it with { bits = 5 }",
        ),
        (
            "field = [{ bits = 3 }, { name = \"b\", bits = 5, bit_order = \"lsb\" }]",
            ErrorKind::Place,
            "line 1, column 24: field.b: expected the bit order of the bits before it in the same byte, found the other one",
        ),
        (
            "record.length = 4\nfield = [{ name = \"a\", type = \"u16\", at = 3 }]",
            ErrorKind::Place,
            "line 2, column 10: field.a: expected a field within the record's 4 bytes, found a field that ends at byte 5",
        ),
        (
            "field = [{ name = \"a\", type = \"u16\", at = -1 }]",
            ErrorKind::Value,
            "line 1, column 43: field.a.at: expected an offset from 0 to 16777216, found -1",
        ),
        (
            "field = [{ name = \"w\", type = \"u16\" }, { name = \"a\", of = \"w\", bits = \"9-16\" }]",
            ErrorKind::Value,
            "line 1, column 72: field.a.bits: expected bits from 0 to 15, such as \"0-5\", found \"9-16\"",
        ),
        (
            "field = [{ name = \"w\", type = \"u16\" }, { name = \"a\", of = \"w\", bits = 9 }]",
            ErrorKind::Missing,
            "line 1, column 71: field.a.bits: expected the key `bits` with ranges such as \"0-5\", found a number of bits",
        ),
        (
            "field = [{ name = \"w\", type = \"f32\" }, { name = \"a\", of = \"w\", bits = \"9\" }]",
            ErrorKind::Value,
            "line 1, column 60: field.a.of: expected an integer field, found `w`, which is a field of another type",
        ),
        (
            "field = [{ name = \"f\", type = \"u8\" }, { name = \"w\", type = \"u8\", when = \"f == 1\" }, { name = \"a\", of = \"w\", bits = \"1\", when = \"f == 2\" }]",
            ErrorKind::Place,
            "line 1, column 105: field.a.of: expected a field that is present whenever this one is, found `w`, which has another condition",
        ),
        (
            "field = [{ name = \"a\", size = \"rest\" }]",
            ErrorKind::Missing,
            "line 1, column 10: record.length: expected a record whose length is known from its first fields, found a length that depends on itself | give [record] a length or a delimiter",
        ),
        (
            "field = [{ name = \"a\", type = \"u8\" }]\npayload = { protocol = \"ip\" }",
            ErrorKind::Missing,
            "line 2, column 11: payload: expected a length, because [record] does not say where the record ends, found none",
        ),
        (
            "field = [{ name = \"a\", type = \"u8\" }]\nkind = [{ name = \"x\" }, { name = \"y\", when = \"a\" }]",
            ErrorKind::Missing,
            "line 2, column 9: kind.x: expected a condition `when`, which only the last kind may lack, found none",
        ),
        (
            "field = [{ name = \"a\", type = \"u8\" }]\nkind = [{ when = \"a\" }]",
            ErrorKind::Missing,
            "line 2, column 9: kind[0]: expected the key `name`, found none",
        ),
    ]);
}

#[test]
fn limits() {
    let fields = |count: usize| {
        let fields: String = (0..count)
            .map(|n| format!("{{ name = \"f{n}\", type = \"u8\" }},"))
            .collect();
        format!("field = [{fields}]")
    };
    let layout = Layout::parse(&fields(Layout::FIELDS_MAX), &mut |_| Err(String::new())).unwrap();
    assert_eq!(layout.columns().len(), Layout::FIELDS_MAX);
    let deep = |depth: usize| {
        format!(
            "{}{{ name = \"a\", type = \"u8\" }}{}",
            "field = [{ field = [".repeat(depth),
            "]}]".repeat(depth)
        )
        .replacen("field = [{ field = [{ name", "field = [{ name", 1)
    };
    let optional: String = (0..=Layout::FRAMING_FIELDS_MAX)
        .map(|n| format!("{{ name = \"f{n}\", type = \"u8\", when = \"a == {n}\" }},"))
        .collect();
    let nested = |depth: usize| {
        (0..depth).fold("{ name = \"a\", type = \"u8\" }".to_owned(), |inner, _| {
            format!("{{ field = [{inner}] }}")
        })
    };
    for (text, found) in [
        (fields(Layout::FIELDS_MAX + 1), "more"),
        ("#".repeat(Layout::TEXT_LEN_MAX + 1), "1048577 bytes"),
        (
            format!("field = [{}]", nested(Layout::GROUP_DEPTH_MAX + 1)),
            "more",
        ),
        (
            format!("field = [{{ name = \"a\", type = \"u8\" }}, {optional}]"),
            "65",
        ),
        (
            format!("field = [{}]", "{ size = 16777216 },".repeat(3)),
            "more",
        ),
    ] {
        let error = fault_over(&text, "");
        assert_eq!(
            (error.kind(), error.found()),
            (ErrorKind::Limit, found),
            "{error}"
        );
    }
    assert!(
        Layout::parse(
            &format!("field = [{}]", nested(Layout::GROUP_DEPTH_MAX)),
            &mut |_| Err(String::new())
        )
        .is_ok()
    );
    // TOML itself must not be nested without end.
    assert_eq!(fault_over(&deep(10_000), "").kind(), ErrorKind::Syntax);
}

#[test]
fn extending() {
    let base = "field = [{ name = \"a\", type = \"u8\" }]\n[[kind]]\nname = \"k\"\n";
    for (text, base, kind, expected) in [
        (
            "extends = \"gone.toml\"",
            base,
            ErrorKind::Extends,
            "line 1, column 12: extends: expected a readable layout file, found no file gone.toml",
        ),
        (
            "extends = \"self.toml\"",
            base,
            ErrorKind::Extends,
            "self.toml: line 1, column 12: extends: expected a layout that does not extend itself, found `self.toml`, which leads back to itself",
        ),
        (
            "extends = \"chain\"",
            base,
            ErrorKind::Extends,
            "chainxxxxxxx: line 1, column 12: extends: expected at most 8 layouts that extend each other, found more",
        ),
        (
            "extends = \"base.toml\"",
            "\n  nmae = 1",
            ErrorKind::Key,
            "base.toml: line 2, column 3: nmae: expected one of the keys name, doc, extends, byte_order, bit_order, file, record, field, kind, payload, enum, found `nmae`",
        ),
        (
            "extends = \"base.toml\"\nfield = [{ name = \"b\", type = \"u8\" }]",
            base,
            ErrorKind::Place,
            "line 2, column 10: field.b: expected fields inside a kind, because the base layout has kinds, found a field of all records behind kind `k`",
        ),
        (
            "extends = \"base.toml\"\nfield = [{ name = \"b\", type = \"u8\", override = true }]",
            base,
            ErrorKind::Name,
            "line 2, column 48: field.b.override: expected the name of a field of the base layout, found `b`",
        ),
        (
            "extends = \"base.toml\"\nfield = [{ name = \"a\", type = \"u8\" }]",
            "field = [{ name = \"a\", type = \"u8\" }]",
            ErrorKind::Duplicate,
            "line 2, column 20: field.a.name: expected a name that no other field or column has, found `a`",
        ),
        (
            "extends = \"base.toml\"\nkind = [{ name = \"k\" }]",
            base,
            ErrorKind::Duplicate,
            "line 2, column 19: kind.k: expected a name that no other kind has, found `k`",
        ),
        (
            "extends = \"base.toml\"\n[enum.e]",
            "[enum.e]",
            ErrorKind::Duplicate,
            "line 2, column 7: enum.e: expected a name that no base layout uses, found `e`",
        ),
        (
            "extends = \"base.toml\"",
            "field = [{ name = \"a\", type = \"u9\" }]",
            ErrorKind::Name,
            "base.toml: line 1, column 32: field.a.type: expected the name of a type, found `u9`",
        ),
    ] {
        let error = fault_over(text, base);
        assert_eq!(error.to_string(), expected, "{text}");
        assert_eq!(error.kind(), kind, "{text}");
    }
}

#[test]
fn a_large_layout_loads_in_no_time() {
    let values: String = (0..Layout::ENUM_VALUES_MAX).fold(String::new(), |mut text, number| {
        text.push_str(&format!("{number}=\"\"\n"));
        text
    });
    let text =
        format!("field = [{{ name = \"a\", type = \"u16\", enum = \"e\" }}]\n[enum.e]\n{values}");
    assert!(Layout::parse(&text, &mut |_| Err(String::new())).is_ok());
    let error = fault_over(&format!("{text}65536=\"\"\n"), "");
    assert_eq!(error.kind(), ErrorKind::Limit);
    let enums: String = (0..20_000).fold(String::new(), |text, number| {
        text + &format!("e{number}={{}}\n")
    });
    let text = format!("field = [{{ name = \"a\", type = \"u16\" }}]\n[enum]\n{enums}");
    assert!(Layout::parse(&text, &mut |_| Err(String::new())).is_ok());
}

#[test]
fn a_message_is_one_line_whatever_a_name_holds() {
    let text = "[[field]]\nname = \"a\\n\\u001b[2Jb\"\n";
    let message = fault_over(text, "").to_string();
    assert!(message.contains("a\\n\\u{1b}[2Jb"), "{message}");
    assert!(!message.contains(char::is_control), "{message}");
}
