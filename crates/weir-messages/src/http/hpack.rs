//! Compressed fields of HTTP/2 (RFC 7541), of one direction.
//!
//! Libraries for this that are kept well are parts of others (`h2`) and not to be had by themselves; others copy a field
//! for each octet that names it. Here a table has its fields once, and every field that is read shares them.

mod words;

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use words::{CODES, FIELDS};

/// Octets of a table, however large a peer allows it to be. Fields that are forgotten for it are missed, never taken
/// for others: the newest ones are counted first.
pub(super) const TABLE_OCTETS_MAX: usize = 1 << 16;
/// Octets of a table before SETTINGS change them (RFC 9113, 6.5.2).
const TABLE_OCTETS: usize = 4_096;
/// The size of a field besides its octets (RFC 7541, 4.1).
const ENTRY_OCTETS: usize = 32;

/// The number of fields of a table, at most.
const PLACES_MAX: usize = TABLE_OCTETS_MAX / ENTRY_OCTETS;

/// A name and a value.
pub(super) type Field = (Arc<str>, Arc<str>);

/// The block of fields is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// Reads blocks of fields in their order.
#[derive(Debug)]
pub(super) struct Decoder {
    /// The newest first.
    table: VecDeque<Field>,
    octets: usize,
    /// The maximum size set by the encoder, which announces each change (RFC 7541, 4.2).
    octets_max: usize,
    /// Blocks before the first one that is read were not seen: fields that they put into the table are unknown.
    is_partial: bool,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            table: VecDeque::new(),
            octets: 0,
            octets_max: TABLE_OCTETS,
            is_partial: false,
        }
    }
}

impl Decoder {
    /// The state within a connection whose earlier blocks are unknown. Fields of which the name is in one of those have an
    /// empty name. The table may be larger than that of the encoder, which names no field that it has forgotten.
    pub(super) fn partial() -> Self {
        Self {
            octets_max: TABLE_OCTETS_MAX,
            is_partial: true,
            ..Self::default()
        }
    }

    /// Whether earlier blocks are unknown.
    pub(super) const fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Octets that are kept.
    pub(super) const fn held(&self) -> usize {
        self.octets
    }

    fn resize(&mut self, octets: usize) {
        self.octets_max = octets.min(TABLE_OCTETS_MAX);
        self.shrink();
    }

    fn shrink(&mut self) {
        while self.octets > self.octets_max
            && let Some((name, value)) = self.table.pop_back()
        {
            let octets = name.len() + value.len() + ENTRY_OCTETS;
            self.octets = self.octets.saturating_sub(octets);
        }
    }

    fn add(&mut self, field: Field) {
        self.octets = self
            .octets
            .saturating_add(field.0.len() + field.1.len() + ENTRY_OCTETS);
        self.table.push_front(field);
        self.shrink();
    }

    fn field(&self, index: usize) -> Result<Field, Broken> {
        match index.checked_sub(FIELDS.len() + 1) {
            Some(place) => match self.table.get(place) {
                Some(field) => Ok(field.clone()),
                // A field has 32 octets at least.
                None if self.is_partial && place < PLACES_MAX => Ok(Field::default()),
                None => Err(Broken),
            },
            None => {
                let place = index.checked_sub(1).ok_or(Broken)?;
                STATIC.get(place).cloned().ok_or(Broken)
            }
        }
    }

    /// Reads a block, and reports each of its fields.
    pub(super) fn read(&mut self, block: &[u8], each: &mut dyn FnMut(Field)) -> Result<(), Broken> {
        let mut rest = block;
        while let Some(first) = rest.first().copied() {
            if first & 0x80 != 0 {
                let index = integer(&mut rest, 7)?;
                each(self.field(index)?);
                continue;
            }
            if first & 0xe0 == 0x20 {
                let octets = integer(&mut rest, 5)?;
                self.resize(octets);
                continue;
            }
            let is_kept = first & 0xc0 == 0x40;
            let index = integer(&mut rest, if is_kept { 6 } else { 4 })?;
            let name = match index {
                0 => text(&mut rest)?,
                known => self.field(known)?.0,
            };
            let field = (name, text(&mut rest)?);
            if is_kept {
                self.add(field.clone());
            }
            each(field);
        }
        Ok(())
    }
}

static STATIC: LazyLock<Vec<Field>> = LazyLock::new(|| {
    let fields = FIELDS.iter();
    fields
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect()
});

/// A number whose first octet has so many bits for it (RFC 7541, 5.1).
fn integer(rest: &mut &[u8], bits: u32) -> Result<usize, Broken> {
    let (first, mut others) = rest.split_first().ok_or(Broken)?;
    let mask = (1_usize << bits) - 1;
    let mut number = usize::from(*first) & mask;
    if number == mask {
        let mut shift = 0;
        loop {
            let (octet, behind) = others.split_first().ok_or(Broken)?;
            others = behind;
            // No number that is counted here needs more than 28 bits.
            if shift > 21 {
                return Err(Broken);
            }
            number += usize::from(octet & 0x7f) << shift;
            shift += 7;
            if octet & 0x80 == 0 {
                break;
            }
        }
    }
    *rest = others;
    Ok(number)
}

/// A string (RFC 7541, 5.2).
fn text(rest: &mut &[u8]) -> Result<Arc<str>, Broken> {
    let is_coded = rest.first().ok_or(Broken)? & 0x80 != 0;
    let length = integer(rest, 7)?;
    let (octets, behind) = rest.split_at_checked(length).ok_or(Broken)?;
    *rest = behind;
    let text = match is_coded {
        true => String::from_utf8_lossy(&decoded(octets)?).into(),
        false => String::from_utf8_lossy(octets).into(),
    };
    Ok(text)
}

/// The tree of the codes: where a bit of 0 and one of 1 lead. Leaves are [`LEAF`] and the octet.
static TREE: LazyLock<Vec<[u16; 2]>> = LazyLock::new(|| {
    let mut tree = vec![[0_u16; 2]];
    for (octet, (code, bits)) in (0_u16..).zip(CODES) {
        let mut at = 0_usize;
        for bit in (0..bits).rev() {
            let way = usize::from(code >> bit & 1 == 1);
            let next = if bit == 0 {
                LEAF | octet
            } else {
                match tree.get(at).map_or(0, |node| node[way]) {
                    0 => {
                        tree.push([0; 2]);
                        (tree.len() - 1) as u16
                    }
                    known => known,
                }
            };
            if let Some(node) = tree.get_mut(at) {
                node[way] = next;
            }
            at = next.into();
        }
    }
    tree
});

const LEAF: u16 = 0x8000;
/// The symbol EOS, which has a code and is no octet. A string that holds all of its code is damaged (RFC 7541, 5.2).
const END: u16 = 256;

/// Decodes a string in Huffman's code. The padding of its last octet is the first bits of EOS: ones, fewer than eight.
fn decoded(octets: &[u8]) -> Result<Vec<u8>, Broken> {
    // The shortest codes have five bits.
    let mut out = Vec::with_capacity(octets.len() / 5 * 8 + 8);
    let (mut at, mut since, mut ones) = (0_usize, 0, true);
    for octet in octets {
        for bit in (0..8).rev() {
            let way = usize::from(octet >> bit & 1);
            let next = TREE.get(at).ok_or(Broken)?[way];
            since += 1;
            ones &= way == 1;
            if next & LEAF == 0 {
                at = next.into();
                continue;
            }
            let octet = next & !LEAF;
            if octet == END {
                return Err(Broken);
            }
            out.push(octet as u8);
            (at, since, ones) = (0, 0, true);
        }
    }
    (since < 8 && ones).then_some(out).ok_or(Broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        let digits: Vec<u32> = text
            .chars()
            .filter_map(|digit| digit.to_digit(16))
            .collect();
        digits
            .chunks(2)
            .map(|pair| (pair[0] << 4 | pair[1]) as u8)
            .collect()
    }

    fn read(decoder: &mut Decoder, block: &[u8]) -> Result<Vec<String>, Broken> {
        let mut found = Vec::new();
        decoder.read(block, &mut |(name, value)| {
            found.push(format!("{name}: {value}"));
        })?;
        Ok(found)
    }

    /// RFC 7541, C.6: three responses in Huffman's code, whose table has 256 octets.
    const RESPONSES: [&str; 3] = [
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
        "4883 640e ff c1 c0 bf",
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07",
    ];

    #[test]
    fn the_responses_of_rfc_7541_are_read() {
        let mut decoder = Decoder::default();
        decoder.resize(256);
        let first = read(&mut decoder, &hex(RESPONSES[0])).unwrap();
        let date = "date: Mon, 21 Oct 2013 20:13:21 GMT";
        let place = "location: https://www.example.com";
        assert_eq!(
            first,
            [":status: 302", "cache-control: private", date, place]
        );
        let second = read(&mut decoder, &hex(RESPONSES[1])).unwrap();
        assert_eq!(
            second,
            [":status: 307", "cache-control: private", date, place]
        );
        let third = read(&mut decoder, &hex(RESPONSES[2])).unwrap();
        assert_eq!(third[0], ":status: 200");
        assert_eq!(third[2], "date: Mon, 21 Oct 2013 20:13:22 GMT");
        assert_eq!(
            third[5],
            "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"
        );
        assert_eq!(decoder.held(), 215);
    }

    #[test]
    fn the_requests_of_rfc_7541_are_read() {
        let mut decoder = Decoder::default();
        let first = hex("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff");
        let second = hex("8286 84be 5886 a8eb 1064 9cbf");
        let found = read(&mut decoder, &first).unwrap();
        assert_eq!(
            found,
            [
                ":method: GET",
                ":scheme: http",
                ":path: /",
                ":authority: www.example.com"
            ]
        );
        assert_eq!(
            read(&mut decoder, &second).unwrap()[4],
            "cache-control: no-cache"
        );
    }

    #[test]
    fn every_prefix_and_what_is_out_of_range_is_broken_or_shorter() {
        let block = hex(RESPONSES[0]);
        for end in 0..block.len() {
            if let Ok(found) = read(&mut Decoder::default(), &block[..end]) {
                assert!(found.len() < 4);
            }
        }
        for wrong in ["80", "be", "ffffffffff7f", "0085ffffffff", "4001ff"] {
            assert_eq!(
                read(&mut Decoder::default(), &hex(wrong)),
                Err(Broken),
                "{wrong}"
            );
        }
    }

    /// The second response of the RFC refers to four fields of the first one, and adds its own one.
    #[test]
    fn fields_that_earlier_blocks_added_have_no_name() {
        let mut decoder = Decoder::partial();
        let second = read(&mut decoder, &hex(RESPONSES[1])).unwrap();
        assert_eq!(second, [":status: 307", ": ", ": ", ": "]);
        let third = read(&mut decoder, &hex(RESPONSES[2])).unwrap();
        assert_eq!(
            third[..3],
            [":status: 200", ": ", "date: Mon, 21 Oct 2013 20:13:22 GMT"]
        );
        assert_eq!(third[4], "content-encoding: gzip");
        // The same fields are named again, by the places that they have now.
        let again = read(&mut decoder, &hex("bf be c0 c1")).unwrap();
        assert_eq!(again[0], "content-encoding: gzip");
        assert!(again[1].starts_with("set-cookie: foo"));
        assert_eq!(
            again[2..],
            ["date: Mon, 21 Oct 2013 20:13:22 GMT", ":status: 307"]
        );
        // A literal value has an unknown name, also when it is named again.
        assert_eq!(read(&mut decoder, &hex("7f 0a 01 78")).unwrap(), [": x"]);
        assert_eq!(read(&mut decoder, &hex("be")).unwrap(), [": x"]);
        assert_eq!(read(&mut decoder, &hex("ffffffff07")), Err(Broken));
    }

    #[test]
    fn a_table_stays_within_what_it_may_have() {
        let mut decoder = Decoder::default();
        // The encoder wants 16 MiB, and fills them.
        let mut block = hex("3fe1ffff07");
        for number in 0..2_000 {
            block.extend([0x40, 3, b'a', b'b', b'c', 0x7f, 0x81, 0x06]);
            block.extend(vec![b'x'; 896]);
            if number == 100 {
                assert!(read(&mut decoder, &block).is_ok());
                assert!(
                    decoder.held() <= TABLE_OCTETS_MAX && decoder.held() > TABLE_OCTETS_MAX - 1_024
                );
            }
        }
    }
}
