//! One record each: layout, bytes, values.

use super::{check, hex, layout, layout_over, read_all};

#[test]
fn numbers_of_every_width_and_order() {
    check(
        r#"field = [
            { name = "a", type = "u8" },
            { name = "b", type = "u16" },
            { name = "c", type = "u24", byte_order = "little" },
            { name = "d", type = "i16" },
            { name = "e", type = "u48" },
            { name = "f", type = "i24", byte_order = "little" },
            { name = "g", type = "u64" },
            { name = "h", type = "f32" },
            { name = "i", type = "f64", byte_order = "little" },
            { name = "j", type = "bool" },
            { name = "k", type = "i64" },
        ]"#,
        "01 0203 040506 fffe 0102030405 06 feffff ffffffffffffffff 3fc00000 000000000000f8bf 02 8000000000000000",
        &[
            "a=1 b=515 c=394500 d=-2 e=1108152157446 f=-2 g=18446744073709551615 h=1.5 i=-1.5 j=true \
           k=-9223372036854775808",
        ],
    );
}

#[test]
fn the_byte_order_of_a_layout_holds_for_its_fields() {
    check(
        r#"
        byte_order = "little"
        [[field]]
        name = "a"
        type = "u16"
        [[field]]
        name = "b"
        type = "u16"
        byte_order = "big"
        [[field]]
        name = "c"
        type = "ipv4"
        [[field]]
        name = "d"
        type = "ipv4"
        byte_order = "little"
        "#,
        "0100 0001 0a000001 0100000a",
        &["a=1 b=1 c=10.0.0.1 d=10.0.0.1"],
    );
}

#[test]
fn texts_addresses_and_bytes() {
    check(
        r#"field = [
            { name = "name", type = "ascii", size = 8 },
            { name = "label", type = "utf8", size = 4, trim = "none" },
            { name = "c_text", type = "ascii", size = 6, until = "\u0000" },
            { name = "count", type = "decimal", size = 5 },
            { name = "mode", type = "decimal", size = 3, radix = 8 },
            { name = "v6", type = "ipv6" },
            { name = "mac", type = "mac" },
            { name = "eui", type = "eui64" },
            { size = 2 },
            { name = "raw", size = 3 },
        ]"#,
        "65746830 00000020 61c3a920 616200 787878 2030303432 373535 20010db8000000000000000000000001 \
         001b21aabbcc 0200000000000001 ffff 010203",
        &[
            "name=\"eth0\" label=\"a\u{e9} \" c_text=\"ab\" count=42 mode=493 v6=2001:db8::1 \
           mac=00:1b:21:aa:bb:cc eui=02:00:00:00:00:00:00:01 raw=0x010203",
        ],
    );
}

#[test]
fn times_have_epochs_and_forms() {
    check(
        r#"field = [
            { name = "ntp", type = "time_32_32", epoch = 1900-01-01 },
            { name = "erf", type = "time_32_32", byte_order = "little" },
            { name = "gps", type = "time_s", epoch = 1980-01-06T00:00:00Z },
            { name = "ms", type = "time_ms", size = 6 },
            { name = "pcap", type = "time_s_us" },
            { name = "zone", type = "time_s", epoch = 1970-01-01T01:00:00+01:00 },
        ]"#,
        "83aa7e80 80000000 00000080 02000000 00000001 000000000007 00000001 000003e8 00000002",
        &[
            "ntp=500000000 erf=2500000000 gps=315964801000000000 ms=7000000 pcap=1001000000 \
           zone=2000000000",
        ],
    );
}

#[test]
fn bits_run_from_the_most_significant_or_the_least() {
    check(
        r#"field = [
            { name = "a", bits = 3 },
            { name = "b", bits = 10 },
            { name = "c", bits = 1, type = "bool" },
            { name = "d", bits = 2, type = "int" },
            { name = "e", bits = 4, bit_order = "lsb" },
            { name = "f", bits = 12, bit_order = "lsb" },
            { name = "g", at = 1, bit = 4, bits = 8 },
            { bits = 4 },
        ]"#,
        "b5 3b 12 34",
        // b5 3b is 101 1010100111 0 11; 12 34 from the right is 0x2 and 0x341.
        &["a=5 b=679 c=false d=-1 e=2 f=833 g=177"],
    );
}

#[test]
fn bits_of_a_word_join() {
    let text = |order: &str, dlci: &str, rest: &str| {
        format!(
            r#"field = [
                {{ name = "address", type = "u16", column = false }},
                {{ name = "dlci", of = "address", bit_order = "{order}", bits = {dlci} }},
                {{ name = "de", of = "address", bit_order = "{order}", bits = {rest}, type = "bool" }},
            ]"#
        )
    };
    // Q.922: DLCI in the upper six bits of the first byte and the upper four of the second.
    for (order, dlci, rest) in [
        ("msb", r#"["0-5", "8-11"]"#, r#""14""#),
        ("lsb", r#"["15-10", "7-4"]"#, r#""1""#),
        ("lsb", r#"["10-15", "4-7"]"#, "[1]"),
    ] {
        check(&text(order, dlci, rest), "f8f3", &["dlci=1007 de=true"]);
    }
}

#[test]
fn enumerations_add_a_column_or_replace_the_number() {
    check(
        r#"
        [enum.nlpid]
        0xcc = "ip"
        0x80 = "snap"
        [[field]]
        name = "nlpid"
        type = "u8"
        enum = "nlpid"
        [[field]]
        name = "kind_of"
        bits = 8
        enum = { 1 = "one", -1 = "never" }
        enum_as = "text"
        [[field]]
        name = "level"
        type = "i8"
        enum = { -1 = "low" }
        "#,
        "cc 01 ff 81 02 00",
        &[
            "nlpid=204 nlpid_name=\"ip\" kind_of=\"one\" level=-1 level_name=\"low\"",
            "nlpid=129 nlpid_name=- kind_of=- level=0 level_name=-",
        ],
    );
}

#[test]
fn places_and_lengths_come_from_earlier_fields() {
    check(
        r#"
        field = [
            { name = "version", bits = 4 },
            { name = "words", bits = 4 },
            { name = "total", type = "u8" },
            { name = "options", size = "words * 4 - 4", when = "words > 1" },
            { name = "mark", type = "u16", at = "words * 4 - 2" },
            { name = "data", size = "rest" },
            { name = "last", type = "u8", at = "record.length - 1" },
            { name = "header_len", value = "words * 4" },
        ]
        record.length = "total"
        "#,
        "42 0a 11111111 aabb 0102 41 05 cafe 09",
        &[
            "version=4 words=2 total=10 options=0x11111111 mark=43707 data=0x0102 last=2 header_len=8",
            "version=4 words=1 total=5 options=- mark=51966 data=0x09 last=9 header_len=4",
        ],
    );
}

#[test]
fn conditions_make_fields_optional() {
    let text = r#"
        field = [
            { name = "flags", type = "u8" },
            { name = "tag", type = "u16", when = "flags & 1 == 1" },
            { when = "flags & 2 != 0", field = [
                { name = "high", bits = 4 },
                { name = "low", bits = 4 },
                { name = "inner", type = "u8", when = "high == 15" },
            ] },
            { name = "low_bit", of = "low", bits = "3" },
            { name = "end", type = "u8" },
        ]
    "#;
    check(
        text,
        "00 77  01 1234 77  02 a5 77  03 1234 f1 99 77  02 f0 88 77",
        &[
            "flags=0 tag=- high=- low=- inner=- low_bit=- end=119",
            "flags=1 tag=4660 high=- low=- inner=- low_bit=- end=119",
            "flags=2 tag=- high=10 low=5 inner=- low_bit=1 end=119",
            "flags=3 tag=4660 high=15 low=1 inner=153 low_bit=1 end=119",
            "flags=2 tag=- high=15 low=0 inner=136 low_bit=0 end=119",
        ],
    );
    // An absent field makes no condition true and no number.
    check(
        r#"field = [
            { name = "flags", type = "u8" },
            { name = "extra", type = "u8", when = "flags == 1" },
            { name = "more", type = "u8", when = "extra == 0" },
            { name = "never", type = "u8", when = "!(extra == 0) && flags == 9" },
            { name = "twice", value = "extra * 2" },
        ]"#,
        "00 01 00 07 01 05",
        &[
            "flags=0 extra=- more=- never=- twice=-",
            "flags=1 extra=0 more=7 never=- twice=0",
            "flags=1 extra=5 more=- never=- twice=10",
        ],
    );
}

#[test]
fn kinds_exclude_each_other() {
    let text = r#"
        field = [
            { name = "type", type = "u8", enum = { 1 = "data", 2 = "status" } },
            { name = "length", type = "u8" },
        ]
        record.length = "length"
        [[kind]]
        name = "data"
        when = "type == 'data'"
        field = [{ name = "channel", type = "u8" }]
        payload = { protocol = "frame_relay" }
        [[kind]]
        name = "status"
        when = "type == 'status'"
        field = [{ name = "seen", type = "u16" }, { name = "bad", type = "u16" }]
        [[kind]]
        name = "other"
        field = [{ name = "unknown", size = "rest" }]
    "#;
    check(
        text,
        "01 05 07 18 41  02 06 0001 0002  09 04 dead",
        &[
            "kind=\"data\" type=1 type_name=\"data\" length=5 channel=7 seen=- bad=- unknown=- ; 107:1841",
            "kind=\"status\" type=2 type_name=\"status\" length=6 channel=- seen=1 bad=2 unknown=-",
            "kind=\"other\" type=9 type_name=- length=4 channel=- seen=- bad=- unknown=0xdead",
        ],
    );
}

#[test]
fn a_layout_extends_another() {
    let base = r#"
        name = "base"
        byte_order = "little"
        record.length = "length"
        [[field]]
        name = "length"
        type = "u16"
        [[field]]
        name = "type"
        type = "u8"
        [[field]]
        name = "spare"
        type = "u8"
    "#;
    let layout = layout_over(
        r#"
        extends = "base.toml"
        name = "derived"
        record.wire_len = "length - 4"
        [[field]]
        name = "type"
        override = true
        bits = 8
        enum = { 1 = "one" }
        [[field]]
        name = "port"
        type = "u16"
        "#,
        base,
    );
    assert_eq!(layout.name(), "derived");
    assert_eq!(
        read_all(&layout, &hex("0600 01 ff 1234")),
        ["length=6 type=1 type_name=\"one\" spare=255 port=4660 ; wire 2"],
    );
}

#[test]
fn an_override_reaches_into_groups_and_kinds() {
    let base = r#"
        [[field]]
        name = "flags"
        type = "u8"
        [[field]]
        when = "flags == 1"
        [[field.field]]
        name = "inner"
        type = "u8"
        [[kind]]
        name = "only"
        [[kind.field]]
        name = "tail"
        type = "u8"
    "#;
    let text = r#"
        extends = "base.toml"
        field = [
            { name = "inner", type = "u16", override = true },
            { name = "tail", type = "i8", override = true },
        ]
    "#;
    let lines = read_all(&layout_over(text, base), &hex("01 0102 ff"));
    assert_eq!(lines, ["kind=\"only\" flags=1 inner=258 tail=-1"]);
}

#[test]
fn payloads_are_chosen_by_conditions() {
    check(
        r#"
        field = [
            { name = "type", type = "u8" },
            { name = "header_len", type = "u8" },
            { name = "length", type = "u8" },
        ]
        record.length = "header_len + length"
        [[payload]]
        when = "type == 1"
        protocol = "ip"
        at = "header_len"
        length = "length - 1"
        [[payload]]
        when = "type == 2"
        protocol = 1
        [[payload]]
        when = "type == 3"
        protocol = "udp"
        at = "length"
        "#,
        "01 04 03 ff 45 46 47  02 03 02 aa bb  00 03 01 cc  03 03 05 0102 030405",
        &[
            "type=1 header_len=4 length=3 ; ip:4546",
            "type=2 header_len=3 length=2 ; 1:aabb",
            "type=0 header_len=3 length=1",
            "type=3 header_len=3 length=5 ; udp:030405",
        ],
    );
}

#[test]
fn values_that_must_match_stop_a_record() {
    check(
        r#"
        field = [
            { name = "sync", type = "u16", equals = 0xa55a },
            { name = "len", type = "u8" },
            { name = "body", size = "len" },
            { name = "end", type = "ascii", size = 2, equals = "!!" },
            { name = "after", type = "u8" },
        ]
        "#,
        "a55a 01 07 2121 09  a55a 00 2122 08  a55b 00 2121 07",
        &[
            "sync=42330 len=1 body=0x07 end=\"!!\" after=9",
            "damaged: end at byte 3: not the value that the layout requires",
        ],
    );
    check(
        r#"
        record.length = "len"
        field = [
            { name = "len", type = "u8" },
            { name = "body", size = "len - 3" },
            { name = "end", type = "u8", equals = 0xff },
            { name = "after", type = "u8" },
        ]
        "#,
        "04 aa ff 01  04 aa fe 01  04 aa ff 02",
        &[
            "len=4 body=0xaa end=255 after=1",
            "len=4 body=0xaa end=254 after=- ; ! end at byte 2: not the value that the layout requires",
            "len=4 body=0xaa end=255 after=2",
        ],
    );
}

#[test]
fn damage_leaves_the_rest_of_a_record_readable() {
    let text = r#"
        record.length = "len"
        field = [
            { name = "len", type = "u8" },
            { name = "size", type = "u8" },
            { name = "divided", value = "8 / size" },
            { name = "body", size = "size" },
            { name = "end", type = "u8" },
        ]
    "#;
    check(
        text,
        "04 01 aa bb  02 00  04 07 aa bb  01",
        &[
            "len=4 size=1 divided=8 body=0xaa end=187",
            "len=2 size=0 divided=- body=- end=- ; ! divided at byte 0: its expression has no value \
             for this record",
            "len=4 size=7 divided=1 body=- end=- ; ! body at byte 2: cut, 9 bytes needed, 4 available",
            "len=1 size=- divided=- body=- end=- ; ! size at byte 1: cut, 2 bytes needed, 1 available",
        ],
    );
    let row_kept = layout(text);
    let mut row = row_kept.row();
    let view = row_kept.decode(&[4, 1, 0xaa, 0xbb], &mut row);
    assert!(view.value(4).is_some());
    let view = row_kept.decode(&[4], &mut row);
    assert!(
        (1..5).all(|column| view.value(column).is_none()),
        "nothing stays from the record before"
    );
}

#[test]
fn the_time_of_a_record_may_lie_in_two_fields() {
    check(
        r#"
        field = [
            { name = "s", type = "u32" },
            { name = "us", bits = 24 },
            { name = "other", bits = 8 },
        ]
        record.time = { seconds = "s", microseconds = "us", epoch = 1970-01-02 }
        "#,
        "00000001 000005 00",
        &["s=1 us=5 other=0 ; time 86401000005000"],
    );
}
