//! Packages of a file, and values by their types.

use weir_h248::{
    Arena, BinaryOptions, DecodeOptions, EncodeOptions, Encoding, Message, PackageSet, Typed,
    TypedParm, ValueForm, ValueType, check_with, decode, decode_as, encode,
    message::{
        MessageBody, Transaction, command::Command, descriptor::AmmDescriptor, media::Streams,
    },
    packages::{self, Kind},
};

const FILE: &str = "
package  fx  0x8001   # No package of this number exists.
property mode 0x0001 enumeration off=0 on=1
property gain 2 integer -10..10 automatic=255
event    done 0x0003
parameter code 0x0001 integer 0..255
signal   ring 0x0004
parameter cadence 0x0001 list integer
statistic bytes 0x0005 double
property blob 6 octets
property flag 7 boolean
property letter 8 character
property text 9 string
";

const TEXT: &[u8] = b"!/3 [1.2.3.4] T=1{C=1{MF=11111111/00000000/00000000{\
    M{O{fx/mode=on,fx/gain=-3}},E=1{fx/done{code=7},fx/*},SG{fx/ring{cadence=\"5\"}}}}}";

#[test]
fn names_of_a_file_have_numbers_in_ber_and_per() {
    let set = PackageSet::parse(FILE).unwrap().leak();
    let mut decode_options = DecodeOptions::default();
    let mut encode_options = EncodeOptions::default();
    let arena = Arena::new();
    let message = decode(TEXT, &arena, &decode_options).unwrap();
    let mut out = Vec::new();
    assert!(encode(&message, Encoding::Ber, &encode_options, &mut out).is_err());
    decode_options.binary.packages = Some(set);
    encode_options.binary.packages = Some(set);
    for encoding in [Encoding::Ber, Encoding::Per] {
        out.clear();
        encode(&message, encoding, &encode_options, &mut out).unwrap();
        let octets = arena.list(&out);
        let back = decode_as(encoding, octets, &arena, &decode_options).unwrap();
        assert_eq!(back, message);
        // The numbers stay numbers without the file.
        let numbers = decode_as(encoding, octets, &arena, &DecodeOptions::default()).unwrap();
        assert!(format!("{numbers:?}").contains("id_8001/id_0003"));
        assert!(!format!("{back:?}").contains("id_8001"));
    }
}

#[test]
fn packages_of_a_file_are_known_to_the_check() {
    let mut options = BinaryOptions::default();
    let unknown = |options| {
        let findings = check_with(TEXT, options);
        findings
            .iter()
            .any(|finding| finding.text.contains("package fx is not known"))
    };
    assert!(unknown(options));
    options.packages = Some(PackageSet::parse(FILE).unwrap().leak());
    assert!(!unknown(options));
}

/// The properties in LocalControl of the first command.
fn control<'a>(message: &Message<'a>) -> &'a [weir_h248::message::media::PropertyParm<'a>] {
    let MessageBody::Transactions([Transaction::Request(request)]) = message.body else {
        panic!("a request");
    };
    let Command::Modify(modify) = request.actions[0].commands[0].command else {
        panic!("Modify");
    };
    let AmmDescriptor::Media(media) = modify.descriptors[0] else {
        panic!("Media");
    };
    match media.streams {
        Some(Streams::One(parms)) => parms.local_control.unwrap().properties,
        _ => panic!("one stream"),
    }
}

#[test]
fn properties_have_the_types_of_the_file() {
    let set = PackageSet::parse(FILE).unwrap();
    let arena = Arena::new();
    let message = decode(TEXT, &arena, &DecodeOptions::default()).unwrap();
    let mut found = Vec::new();
    for property in control(&message) {
        let name = property.name.as_bytes().unwrap();
        let number = set.item_number(Kind::Property, name).unwrap();
        let value_type = set.item_type(Kind::Property, number).unwrap();
        let form = ValueForm::Text;
        found.push(
            value_type
                .decode_parm(property.value, property.extra, form)
                .unwrap(),
        );
    }
    assert_eq!(
        found,
        [
            TypedParm::One(Typed::Enumeration(1)),
            TypedParm::One(Typed::Integer(-3))
        ]
    );
}

#[test]
fn values_come_back_in_both_forms() {
    let set = PackageSet::parse(FILE).unwrap();
    let property = |name: &str| {
        let number = set.item_number(Kind::Property, name.as_bytes()).unwrap();
        set.item_type(Kind::Property, number).unwrap()
    };
    let cases: [(&ValueType, Typed<'_>, &[u8], &[u8]); 9] = [
        (
            property("fx/mode"),
            Typed::Enumeration(1),
            b"on",
            b"\x0a\x01\x01",
        ),
        (
            property("FX/gain"),
            Typed::Integer(-3),
            b"-3",
            b"\x02\x01\xfd",
        ),
        (
            property("fx/gain"),
            Typed::Integer(255),
            b"automatic",
            b"\x02\x02\x00\xff",
        ),
        (
            property("fx/flag"),
            Typed::Boolean(true),
            b"on",
            b"\x01\x01\xff",
        ),
        (
            property("fx/letter"),
            Typed::Character('\u{e9}'),
            b"\xc3\xa9",
            b"\x0c\x02\xc3\xa9",
        ),
        (
            property("fx/text"),
            Typed::String("a b"),
            b"a b",
            b"\x16\x03a b",
        ),
        (
            property("fx/blob"),
            Typed::Octets(b"\xd8\x0f", ValueForm::Ber),
            b"D80F",
            b"\x04\x02\xd8\x0f",
        ),
        (
            &ValueType::Boolean,
            Typed::Boolean(false),
            b"off",
            b"\x01\x01\x00",
        ),
        (
            set.parameter_type(Kind::Signal, 0x8001_0004, 1).unwrap(),
            Typed::Integer(500),
            b"500",
            b"\x02\x02\x01\xf4",
        ),
    ];
    for (value_type, value, text, ber) in cases {
        for (form, expected) in [(ValueForm::Text, text), (ValueForm::Ber, ber)] {
            if (value_type, &value, form)
                == (property("fx/gain"), &Typed::Integer(255), ValueForm::Ber)
            {
                // The name is text's; BER has the number, which is beyond the range.
                assert!(value_type.decode(ber, form).is_err());
                continue;
            }
            let mut out = Vec::new();
            value_type.encode(&value, form, &mut out).unwrap();
            assert_eq!(out, expected, "{value:?}");
            let back = value_type.decode(expected, form).unwrap();
            let mut again = Vec::new();
            value_type.encode(&back, form, &mut again).unwrap();
            assert_eq!(again, expected, "{back:?}");
        }
    }
}

#[test]
fn what_is_of_another_type_is_refused() {
    let set = PackageSet::parse(FILE).unwrap();
    for (name, text, ber) in [
        ("fx/mode", &b"maybe"[..], &b"\x0a\x01\x02"[..]),
        ("fx/gain", b"11", b"\x02\x01\x0b"),
        ("fx/gain", b"", b"\x02\x00"),
        ("fx/flag", b"yes", b"\x01\x02\x00\x00"),
        ("fx/letter", b"ab", b"\x16\x00"),
        ("fx/text", b"\xff", b"\x0c\x01\xff"),
        ("fx/blob", b"D8F", b"\x05\x00"),
        ("fx/blob", b"D8", b"\x04\x02\x00"),
        (
            "fx/gain",
            b"99999999999999999999",
            b"\x02\x09\0\0\0\0\0\0\0\0\0",
        ),
    ] {
        let number = set.item_number(Kind::Property, name.as_bytes()).unwrap();
        let value_type = set.item_type(Kind::Property, number).unwrap();
        let text = value_type.decode(text, ValueForm::Text);
        assert!(
            text.is_err() || name == "fx/blob" && ber.len() == 3,
            "{name} {text:?}"
        );
        assert!(value_type.decode(ber, ValueForm::Ber).is_err(), "{name}");
    }
}

#[test]
fn a_file_with_a_fault_has_an_error_with_the_place() {
    for (file, line) in [
        ("package", 1),
        ("package fx", 1),
        ("package fx 0x10000", 1),
        ("\npackage fx 0xffff", 2),
        ("package 1x 1", 1),
        ("property mode 1 boolean", 1),
        ("package fx 1\nparameter code 1", 2),
        ("package fx 1\nproperty mode 1 boolean\nparameter code 1", 3),
        ("package fx 1\npackage fy 1", 2),
        ("package fx 1\npackage FX 2", 2),
        ("package fx 1\nevent on 1\nevent off 1", 3),
        ("package fx 1\nevent on 1 truth", 2),
        ("package fx 1\nproperty on 1 enumeration", 2),
        ("package fx 1\nproperty on 1 integer 5..1", 2),
        ("package fx 1\nproperty on 1 integer 0..4294967296", 2),
        ("package fx 1\nproperty on 1 list list integer", 2),
        ("package fx 1\nproperty on 1 boolean really", 2),
        ("package fx 1\nthing on 1", 2),
    ] {
        let error = PackageSet::parse(file).expect_err(file);
        assert_eq!(error.line(), line, "{file}: {error}");
    }
}

#[test]
fn annex_e_has_the_numbers_of_the_tables() {
    let set = PackageSet::annex_e();
    let mut count = 0;
    for package in 0..0x20_u16 {
        let Some(name) = set.package_name(package) else {
            continue;
        };
        assert_eq!(packages::package_name(package), Some(name));
        for kind in [Kind::Property, Kind::Event, Kind::Signal, Kind::Statistic] {
            for item in 0..0x100_u32 {
                let number = u32::from(package) << 16 | item;
                let Some(name) = set.item_name(kind, number) else {
                    continue;
                };
                assert_eq!(packages::item_name(kind, number), Some(name));
                assert_eq!(packages::item_number(kind, name.as_bytes()), Some(number));
                count += 1;
                for parameter in 0..0x10 {
                    let name = set.parameter_name(kind, number, parameter);
                    assert_eq!(packages::parameter_name(kind, number, parameter), name);
                    assert!(
                        name.is_none() || set.parameter_type(kind, number, parameter).is_some()
                    );
                }
            }
        }
    }
    assert_eq!(count, 40);
    let strict = set.parameter_type(Kind::Event, 0x0009_0005, 1).unwrap();
    assert_eq!(
        strict.decode(b"failwrong", ValueForm::Text),
        Ok(Typed::Enumeration(2))
    );
    assert_eq!(strict.name(0), Some("exact"));
}
