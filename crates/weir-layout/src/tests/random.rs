//! Random layouts against a reader that goes bit by bit, and random bytes against every layout.

use std::fmt::Write;

use proptest::prelude::*;

use super::{layout, read_all};
use crate::Layout;
use weir_packet::Value;

/// A field of a random layout.
#[derive(Clone, Debug)]
enum Spec {
    /// A run of bit fields, padded to whole bytes.
    Bits { widths: Vec<u32>, least_first: bool },
    Word {
        bytes: usize,
        little: bool,
        signed: bool,
    },
    /// Bits anywhere.
    At {
        at: usize,
        bit: usize,
        width: u32,
        least_first: bool,
    },
}

/// The expected value of a field: the bits from the least significant up, by byte and bit; signed or not.
type Expected = (Vec<(usize, usize)>, bool);

fn spec() -> impl Strategy<Value = Spec> {
    let widths = prop::collection::vec(1_u32..=64, 1..6);
    prop_oneof![
        (widths, any::<bool>()).prop_map(|(widths, least_first)| Spec::Bits {
            widths,
            least_first
        }),
        (1_usize..=8, any::<bool>(), any::<bool>()).prop_map(|(bytes, little, signed)| {
            Spec::Word {
                bytes,
                little,
                signed,
            }
        }),
        (0_usize..20, 0_usize..8, 1_u32..=64, any::<bool>()).prop_map(
            |(at, bit, width, least_first)| Spec::At {
                at,
                bit,
                width,
                least_first
            }
        ),
    ]
}

/// The layout's text and, for each column, where its bits lie.
fn build(specs: &[Spec]) -> (String, Vec<Expected>) {
    let mut text = String::from("field = [\n");
    let mut columns: Vec<Expected> = Vec::new();
    let mut next = 0; // the next free byte
    for spec in specs {
        match spec {
            Spec::Bits {
                widths,
                least_first,
            } => {
                let mut from = 0;
                for width in widths {
                    let name = columns.len();
                    let order = if *least_first { "lsb" } else { "msb" };
                    writeln!(
                        text,
                        "{{ name = \"f{name}\", bits = {width}, bit_order = \"{order}\" }},"
                    )
                    .unwrap();
                    columns.push((bits(next, from, *width as usize, *least_first), false));
                    from += *width as usize;
                }
                if from % 8 > 0 {
                    let order = if *least_first { "lsb" } else { "msb" };
                    writeln!(
                        text,
                        "{{ bits = {}, bit_order = \"{order}\" }},",
                        8 - from % 8
                    )
                    .unwrap();
                }
                next += from.div_ceil(8);
            }
            Spec::Word {
                bytes,
                little,
                signed,
            } => {
                let name = columns.len();
                let letter = if *signed { 'i' } else { 'u' };
                let order = if *little { "little" } else { "big" };
                writeln!(
                    text,
                    "{{ name = \"f{name}\", type = \"{letter}{}\", byte_order = \"{order}\" }},",
                    bytes * 8
                )
                .unwrap();
                let places = (0..*bytes).flat_map(|index| {
                    let byte = if *little {
                        next + index
                    } else {
                        next + bytes - 1 - index
                    };
                    (0..8).map(move |bit| (byte, bit))
                });
                columns.push((places.collect(), *signed));
                next += bytes;
            }
            Spec::At {
                at,
                bit,
                width,
                least_first,
            } => {
                let name = columns.len();
                let order = if *least_first { "lsb" } else { "msb" };
                writeln!(text, "{{ name = \"f{name}\", at = {at}, bit = {bit}, bits = {width}, bit_order = \"{order}\" }},").unwrap();
                columns.push((bits(*at, *bit, *width as usize, *least_first), false));
                let end = bit + *width as usize;
                if !end.is_multiple_of(8) {
                    writeln!(
                        text,
                        "{{ bits = {}, bit_order = \"{order}\" }},",
                        8 - end % 8
                    )
                    .unwrap();
                }
                next = at + end.div_ceil(8);
            }
        }
    }
    text.push(']');
    (text, columns)
}

/// Places of `width` bits from a bit on, the least significant of the value first.
fn bits(byte: usize, from: usize, width: usize, least_first: bool) -> Vec<(usize, usize)> {
    let places = (from..from + width).map(|bit| {
        let in_byte = if least_first { bit % 8 } else { 7 - bit % 8 };
        (byte + bit / 8, in_byte)
    });
    if least_first {
        places.collect()
    } else {
        places.rev().collect()
    }
}

fn naive(bytes: &[u8], (places, signed): &Expected) -> Option<i128> {
    let mut value = 0_i128;
    for (index, (byte, bit)) in places.iter().enumerate() {
        value |= i128::from(bytes.get(*byte)? >> bit & 1) << index;
    }
    let negative = *signed && value >> (places.len() - 1) & 1 == 1;
    Some(if negative {
        value - (1 << places.len())
    } else {
        value
    })
}

fn found(value: Option<Value<'_>>) -> Option<i128> {
    value.map(|value| match value {
        Value::Unsigned(value) => i128::from(value),
        Value::Signed(value) => i128::from(value),
        other => panic!("{other:?}"),
    })
}

proptest! {
    #[test]
    fn fixed_fields_agree_with_a_reader_that_goes_bit_by_bit(
        specs in prop::collection::vec(spec(), 1..8),
        bytes in prop::collection::vec(any::<u8>(), 0..160),
    ) {
        let (text, columns) = build(&specs);
        let layout = layout(&text);
        prop_assert_eq!(layout.columns().len(), columns.len());
        let mut row = layout.row();
        let len = layout.record_len_fixed().unwrap();
        for end in [bytes.len(), bytes.len() / 2] {
            let bytes = &bytes[..end];
            let view = layout.decode(bytes, &mut row);
            for (column, expected) in columns.iter().enumerate() {
                prop_assert_eq!(found(view.value(column)), naive(bytes, expected), "f{}\n{}", column, text);
            }
            prop_assert_eq!(view.stop().is_some(), end < len);
        }
    }

    /// The same fields follow one of variable length: none is at a fixed position.
    #[test]
    fn moving_fields_agree_with_fixed_ones(
        specs in prop::collection::vec(spec(), 1..8),
        bytes in prop::collection::vec(any::<u8>(), 0..160),
        skipped in 0_usize..9,
    ) {
        let specs: Vec<_> = specs.into_iter().filter(|spec| !matches!(spec, Spec::At { .. })).collect();
        let (text, columns) = build(&specs);
        let text = text.replacen("field = [", "field = [{ name = \"n\", type = \"u8\" }, { size = \"n\" },", 1);
        let layout = layout(&text);
        let mut row = layout.row();
        let mut record = vec![skipped as u8];
        record.extend(std::iter::repeat_n(0xee, skipped));
        record.extend_from_slice(&bytes);
        let view = layout.decode(&record, &mut row);
        let mut gone = false;
        for (column, expected) in columns.iter().enumerate() {
            let value = found(view.value(column + 1));
            // All fields after the first truncated one are absent.
            gone |= value.is_none();
            let expected = if gone { None } else { naive(&bytes, expected) };
            prop_assert_eq!(value, expected, "f{}\n{}", column, text);
        }
        prop_assert_eq!(gone, view.stop().is_some() && !columns.is_empty());
    }
}

proptest! {
    // Each case goes through every layout and every prefix.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn random_bytes_and_all_prefixes_are_read_without_a_panic(
        mut bytes in prop::collection::vec(any::<u8>(), 0..120),
        small in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..8), 0..60),
    ) {
        // Small numbers are what lengths, types and flags are made of.
        for (place, value) in small {
            if !bytes.is_empty() {
                let place = place.index(bytes.len());
                bytes[place] = value;
            }
        }
        LAYOUTS.with(|layouts| for layout in layouts {
            for end in 0..=bytes.len() {
                read_all(layout, &bytes[..end]);
                let mut row = layout.row();
                super::show(layout, &layout.decode(&bytes[..end], &mut row));
                let columns: Vec<usize> = (0..layout.columns().len().min(2)).collect();
                let mut row = layout.row_for(&columns, false);
                super::show(layout, &layout.decode(&bytes[..end], &mut row));
            }
            if let Some(passed) = layout.resync(&bytes) {
                assert!(passed > 0 && passed <= bytes.len());
            }
            let _ = layout.check_file_header(&bytes);
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn damaged_texts_are_refused_without_a_panic(
        which in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6),
    ) {
        let texts = super::examples::texts();
        let mut text: Vec<char> = which.get(&texts).chars().collect();
        let pieces = ["", "\"", "'", "0", "-1", "9999999999", "=", "[", "]", "{", "}", ",", "rest", "u8", "\n", "(", "<<", "when", "of", "\u{e9}"];
        for (place, piece) in changes {
            let place = place.index(text.len());
            let piece = piece.get(&pieces).chars();
            text.splice(place..=place, piece);
        }
        let text: String = text.into_iter().collect();
        match Layout::parse(&text, &mut super::examples::load) {
            Ok(layout) => {
                read_all(&layout, &[0x21; 100]);
            }
            Err(error) => {
                prop_assert!(error.line() >= 1 && error.column() >= 1);
                if error.file().is_none() {
                    prop_assert!(error.line() as usize <= text.split('\n').count(), "{}", error);
                }
            }
        }
    }
}

thread_local! {
    static LAYOUTS: Vec<Layout> = super::examples::texts()
        .iter()
        .map(|text| Layout::parse(text, &mut super::examples::load).unwrap())
        .collect();
}
