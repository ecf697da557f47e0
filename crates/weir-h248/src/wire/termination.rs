//! Termination identifiers: paths in text, up to eight octets and wildcards in binary.
//!
//! RFC 3525 leaves the mapping between the two to the two sides. The one here is Erlang's default:
//! a level of the path is a group of eight bits, `11111111/00000000/0000111*`.

use super::{
    Wire,
    ber::{BerReader, BerWriter},
    erl::{ErlReader, ErlWriter, ListStart},
    leaf::Octets,
    list::List,
    per::{PerReader, PerWriter},
};
use crate::{
    Arena, TerminationIds,
    error::{ErrorKind, Stop},
    name::{BinaryId, TerminationId},
    octets::binary_digits,
    visit::Visitor,
};

const ROOT: [u8; 8] = [0xff; 8];
const LEVELS_MAX: usize = 8;
/// Levels of Erlang's default; a wildcard stands for those that the path does not spell out.
const LEVELS: usize = 3;
const UNMAPPED: &str = "a termination identifier that is not made of groups of eight bits";

/// The binary form on the stack.
#[derive(Default)]
struct Packed {
    wildcards: [u8; LEVELS_MAX],
    wildcard_count: usize,
    id: [u8; LEVELS_MAX],
    id_len: usize,
}

impl Packed {
    fn of(value: &TerminationId<'_>) -> Option<Self> {
        match value {
            TerminationId::Root => Some(Self {
                id: ROOT,
                id_len: LEVELS_MAX,
                ..Self::default()
            }),
            TerminationId::Path(path) => Self::of_path(path),
            TerminationId::Binary(binary) => {
                let mut packed = Self {
                    wildcard_count: binary.wildcard.len(),
                    id_len: binary.id.len(),
                    ..Self::default()
                };
                packed
                    .wildcards
                    .get_mut(..binary.wildcard.len())?
                    .copy_from_slice(binary.wildcard);
                packed
                    .id
                    .get_mut(..binary.id.len())?
                    .copy_from_slice(binary.id);
                Some(packed)
            }
        }
    }

    fn of_path(path: &[u8]) -> Option<Self> {
        let mut packed = Self::default();
        if path.len() == 26
            && let Some(id) = three_plain_levels(path)
        {
            (packed.id, packed.id_len) = (id, LEVELS);
            return Some(packed);
        }
        let count = path
            .iter()
            .filter(|octet| **octet == b'/')
            .count()
            .checked_add(1)?;
        let wild = path.iter().any(|octet| matches!(octet, b'*' | b'$'));
        let total = if wild { count.max(LEVELS) } else { count };
        if total > LEVELS_MAX {
            return None;
        }
        packed.id_len = total;
        for (at, level) in path.split(|octet| *octet == b'/').enumerate() {
            let mut octet = 0_u8;
            let mut bits = 0_usize;
            let mut wildcard = None;
            for character in level {
                if bits == 8 || wildcard.is_some() {
                    return None;
                }
                match character {
                    b'0' | b'1' => {
                        octet |= (character & 1) << (7 - bits);
                        bits = bits.checked_add(1)?;
                    }
                    b'*' => wildcard = Some(0x80),
                    b'$' => wildcard = Some(0),
                    _ => return None,
                }
            }
            *packed.id.get_mut(at)? = octet;
            let last = at.checked_add(1)? == count;
            match wildcard {
                Some(kind) => {
                    let position = total
                        .checked_sub(at)?
                        .checked_mul(8)?
                        .checked_sub(1 + bits)?;
                    let below = if last && count < total { 0x40 } else { 0 };
                    *packed.wildcards.get_mut(packed.wildcard_count)? =
                        kind | below | u8::try_from(position).ok()?;
                    packed.wildcard_count = packed.wildcard_count.checked_add(1)?;
                }
                None if bits != 8 => return None,
                None => {}
            }
        }
        Some(packed)
    }

    fn wildcards(&self) -> &[u8] {
        self.wildcards
            .get(..self.wildcard_count)
            .unwrap_or_default()
    }

    fn id(&self) -> &[u8] {
        self.id.get(..self.id_len).unwrap_or_default()
    }
}

/// `11111111/00000000/00000000`, which nearly all are.
#[inline]
fn three_plain_levels(path: &[u8]) -> Option<[u8; LEVELS_MAX]> {
    let mut id = [0; LEVELS_MAX];
    for (octet, level) in id.iter_mut().zip(path.chunks(9)) {
        let (bits, slash) = level.split_first_chunk::<8>()?;
        if slash.first().is_some_and(|octet| *octet != b'/') {
            return None;
        }
        // Eight characters at once: each is 0x30 or 0x31.
        let bits = u64::from_be_bytes(*bits);
        if bits & !0x0101_0101_0101_0101 != 0x3030_3030_3030_3030 {
            return None;
        }
        let bits = bits & 0x0101_0101_0101_0101;
        *octet = (bits.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8;
    }
    Some(id)
}

/// Three strings of eight characters in a list.
const LEVELS_LEN: usize = 5 + 3 * (3 + 8) + 1;
const LIST_OF_THREE: [u8; 5] = [108, 0, 0, 0, 3];
const STRING_OF_EIGHT: [u8; 3] = [107, 0, 8];
const NIL: u8 = 106;

/// Erlang's list of the levels of `11111111/00000000/00000000`.
#[inline]
fn three_levels(path: &[u8]) -> Option<[u8; LEVELS_LEN]> {
    if path.len() != 26 {
        return None;
    }
    three_plain_levels(path)?;
    let mut levels = [NIL; LEVELS_LEN];
    let (head, strings) = levels.split_first_chunk_mut::<5>()?;
    *head = LIST_OF_THREE;
    for (string, level) in strings.chunks_exact_mut(11).zip(path.chunks(9)) {
        *string.first_chunk_mut::<3>()? = STRING_OF_EIGHT;
        *string.last_chunk_mut::<8>()? = *level.first_chunk::<8>()?;
    }
    Some(levels)
}

/// The path of Erlang's list of three levels, when each has eight characters.
#[inline]
fn three_level_path(levels: &[u8; LEVELS_LEN]) -> Option<[u8; 26]> {
    let (head, strings) = levels.split_first_chunk::<5>()?;
    if *head != LIST_OF_THREE || levels.last() != Some(&NIL) {
        return None;
    }
    let mut path = [b'/'; 26];
    for (level, string) in path.chunks_mut(9).zip(strings.chunks_exact(11)) {
        if string.first_chunk::<3>() != Some(&STRING_OF_EIGHT) {
            return None;
        }
        *level.first_chunk_mut::<8>()? = *string.last_chunk::<8>()?;
    }
    Some(path)
}

/// The path of a binary form, or the binary form itself when paths are not wanted.
fn unpack<'a>(
    arena: &'a Arena,
    options: TerminationIds,
    wildcard: &[u8],
    id: &'a [u8],
) -> Option<TerminationId<'a>> {
    if wildcard.is_empty() && id == ROOT {
        return Some(TerminationId::Root);
    }
    if options == TerminationIds::Native {
        let wildcard = arena.list(wildcard);
        return Some(TerminationId::Binary(arena.keep(BinaryId { wildcard, id })));
    }
    if let (&[], &[a, b, c]) = (wildcard, id) {
        let mut path = [b'/'; 26];
        for (level, octet) in path.chunks_mut(9).zip([a, b, c]) {
            *level.first_chunk_mut::<8>()? = binary_digits(octet);
        }
        return Some(TerminationId::Path(arena.keep(path)));
    }
    let mut text = [0_u8; 9 * LEVELS_MAX];
    let mut len = 0_usize;
    for octet in id.iter().take(LEVELS_MAX) {
        let level = text.get_mut(len..len.checked_add(9)?)?;
        let (digits, slash) = level.split_first_chunk_mut::<8>()?;
        *digits = binary_digits(*octet);
        slash.copy_from_slice(b"/");
        len = len.checked_add(9)?;
    }
    let mut path = text.get(..len.checked_sub(1)?)?;
    let total = id.len().checked_mul(8)?;
    let mut wild = [0_u8; 9 * LEVELS_MAX];
    if !wildcard.is_empty() {
        // Positions count from the last bit: sort them from the front.
        let mut order = [0_u8; LEVELS_MAX];
        let order = order.get_mut(..wildcard.len())?;
        order.copy_from_slice(wildcard);
        order.sort_unstable_by_key(|octet| std::cmp::Reverse(octet & 0x3f));
        let mut used = 0_usize;
        let mut next_level = 0_usize;
        for octet in order.iter() {
            let offset = total.checked_sub(usize::from(octet & 0x3f).checked_add(1)?)?;
            let level = offset / 8;
            if level < next_level {
                return None;
            }
            let start = next_level.checked_mul(9)?;
            let end = level.checked_mul(9)?.checked_add(offset % 8)?;
            for octet in path.get(start..end)? {
                *wild.get_mut(used)? = *octet;
                used = used.checked_add(1)?;
            }
            *wild.get_mut(used)? = if octet & 0x80 != 0 { b'*' } else { b'$' };
            used = used.checked_add(1)?;
            next_level = level.checked_add(1)?;
            if octet & 0x40 != 0 || next_level == id.len() {
                next_level = usize::MAX;
                break;
            }
            *wild.get_mut(used)? = b'/';
            used = used.checked_add(1)?;
        }
        if next_level != usize::MAX {
            for octet in path.get(next_level.checked_mul(9)?..)? {
                *wild.get_mut(used)? = *octet;
                used = used.checked_add(1)?;
            }
        }
        path = wild.get(..used)?;
    }
    Some(TerminationId::Path(arena.list(path)))
}

const WILDCARDS: &str = "wildcards that fit the identifier";

impl<'a> Wire<'a> for TerminationId<'a> {
    type Value = Self;
    const TAG: u8 = 0x10;

    #[inline]
    fn ber_write(value: &Self, tag: u8, w: &mut BerWriter<'_>) {
        if let TerminationId::Path(path) = value
            && path.len() == 26
            && w.has_no_extensions()
            && let Some([a, b, c, ..]) = three_plain_levels(path)
        {
            w.records.begin();
            let octets = [0x20 | tag, 7, 0xa0, 0, 0x81, 3, a, b, c];
            return w.out.extend_from_slice(&octets);
        }
        let Some(packed) = Packed::of(value) else {
            return w.fail(UNMAPPED);
        };
        let record = w.records.begin();
        w.nested(tag, |w| {
            w.nested(0x80, |w| {
                for octet in packed.wildcards() {
                    w.octets(4, &[*octet]);
                }
            });
            w.octets(0x81, packed.id());
            w.additions(record);
        });
    }

    fn ber_read(contents: &'a [u8], r: &mut BerReader<'a>) -> Result<Self, Stop> {
        let record = r.records.begin();
        if let [0xa0, 0, 0x81, 3, id @ ..] = contents
            && id.len() == 3
        {
            return unpack(r.arena, r.cx.options.termination_ids, &[], id)
                .ok_or_else(|| r.fail(ErrorKind::Range, contents, WILDCARDS));
        }
        let mut rest = contents;
        let mut wildcards = [0_u8; LEVELS_MAX];
        let mut count = 0_usize;
        let Some(mut list) = r.component(&mut rest, 0, super::ber::CONSTRUCTED)? else {
            return Err(r.fail(ErrorKind::Cardinality, contents, "missing wildcard"));
        };
        while !list.is_empty() {
            let at = list;
            match (r.element(&mut list)?, wildcards.get_mut(count)) {
                ((4, [octet]), Some(place)) => *place = *octet,
                _ => return Err(r.fail(ErrorKind::Range, at, WILDCARDS)),
            }
            count = count.saturating_add(1);
        }
        let id = match r.component(&mut rest, 1, 0)? {
            Some(id) if !id.is_empty() && id.len() <= LEVELS_MAX => id,
            _ => return Err(r.fail(ErrorKind::Range, contents, "one to eight octets of id")),
        };
        if !rest.is_empty() {
            r.finish(rest, Some(record))?;
        }
        let wildcards = wildcards.get(..count).unwrap_or_default();
        unpack(r.arena, r.cx.options.termination_ids, wildcards, id)
            .ok_or_else(|| r.fail(ErrorKind::Range, contents, WILDCARDS))
    }

    #[inline]
    fn per_write(value: &Self, w: &mut PerWriter<'_>) {
        let Some(packed) = Packed::of(value) else {
            return w.fail(UNMAPPED);
        };
        let record = w.records.begin();
        let unknown = w.additions(record);
        w.bit(!unknown.is_empty());
        w.length(packed.wildcards().len());
        for octet in packed.wildcards() {
            w.bits(u32::from(*octet), 8);
        }
        Octets::<1, 8>::per_write(&packed.id(), w);
        if !unknown.is_empty() {
            let (bits, count) = w.unknown_bits(unknown, 0, 0);
            w.small(count.wrapping_sub(1));
            w.bits(bits as u32, count);
            w.unknown(unknown);
        }
    }

    fn per_read(r: &mut PerReader<'a>) -> Result<Self, Stop> {
        let record = r.records.begin();
        let extended = r.bit()?;
        let count = r.length()?;
        let mut wildcards = [0_u8; LEVELS_MAX];
        let Some(wildcards) = wildcards.get_mut(..count) else {
            return Err(r.fail(ErrorKind::Range, WILDCARDS));
        };
        for octet in wildcards.iter_mut() {
            *octet = r.bits(8)? as u8;
        }
        let id = Octets::<1, 8>::per_read(r)?;
        if extended {
            let count = r.addition_count()?;
            let additions = r.bits(count)?;
            for index in 0..count {
                if additions >> (count - 1 - index) & 1 != 0 {
                    r.keep_open(record, index as u8, count as u8)?;
                }
            }
        }
        unpack(r.arena, r.cx.options.termination_ids, wildcards, id)
            .ok_or_else(|| r.fail(ErrorKind::Range, WILDCARDS))
    }

    fn erl_write(value: &Self, w: &mut ErlWriter<'_>) {
        let record = |w: &mut ErlWriter<'_>, wildcard: &[u8], id: &[u8]| {
            w.tuple(3);
            w.atom(b"TerminationID");
            w.list(wildcard.len());
            wildcard.iter().for_each(|octet| w.string(&[*octet]));
            w.nil();
            w.string(id);
        };
        let path: &[u8] = match value {
            // The root is written as ordinary octets when identifiers are not mapped.
            Self::Root if w.cx.options.termination_ids == TerminationIds::Native => {
                return record(w, &[], &ROOT);
            }
            Self::Root => b"root",
            Self::Path(path) => path,
            Self::Binary(id) => return record(w, id.wildcard, id.id),
        };
        if let Some(levels) = three_levels(path) {
            w.tuple(3);
            w.atom(b"megaco_term_id");
            w.atom(b"false");
            return w.out.extend_from_slice(&levels);
        }
        w.tuple(3);
        w.atom(b"megaco_term_id");
        w.atom(if value.has_wildcard() {
            b"true"
        } else {
            b"false"
        });
        w.list(path.split(|octet| *octet == b'/').count());
        for level in path.split(|octet| *octet == b'/') {
            w.string(level);
        }
        w.nil();
    }

    fn erl_read(r: &mut ErlReader<'a>) -> Result<Self, Stop> {
        let record = "the record megaco_term_id or TerminationID";
        if r.tuple()? != 3 {
            return Err(r.fail(ErrorKind::Syntax, record));
        }
        if r.is_atom(b"TerminationID")? {
            let wildcard = List::<Octets<1, 1>>::erl_read(r)?;
            let mut octets = r.arena.growing(wildcard.len());
            octets.extend(wildcard.iter().flat_map(|octet| octet.first().copied()));
            let id = Octets::<1, 8>::erl_read(r)?;
            let wildcard = octets.into_bump_slice();
            return unpack(r.arena, TerminationIds::Native, wildcard, id)
                .ok_or_else(|| r.fail(ErrorKind::Range, WILDCARDS));
        }
        if !r.is_atom(b"megaco_term_id")? {
            return Err(r.fail(ErrorKind::Syntax, record));
        }
        bool::erl_read(r)?;
        if let Some((levels, rest)) = r.rest.split_first_chunk::<LEVELS_LEN>()
            && let Some(path) = three_level_path(levels)
        {
            r.rest = rest;
            return Ok(Self::Path(r.arena.keep(path)));
        }
        let ListStart::Elements(levels) = r.list()? else {
            return Err(r.fail(ErrorKind::Syntax, "levels of a termination identifier"));
        };
        let mut path = r.arena.growing(32);
        for at in 0..levels {
            if at > 0 {
                path.push(b'/');
            }
            level(r, &mut path)?;
        }
        r.end_list()?;
        let path = path.into_bump_slice();
        Ok(if path.eq_ignore_ascii_case(b"root") {
            Self::Root
        } else {
            Self::Path(path)
        })
    }

    fn visit(value: &Self, visitor: &mut dyn Visitor) {
        match value {
            Self::Root => visitor.text(b"ROOT"),
            Self::Path(path) => visitor.text(path),
            Self::Binary(_) => visitor.text(value.to_string().as_bytes()),
        }
    }
}

/// One level: characters, with the atoms `all` and `choose` for wildcards.
fn level<'a>(
    r: &mut ErlReader<'a>,
    path: &mut bumpalo::collections::Vec<'a, u8>,
) -> Result<(), Stop> {
    match r.list()? {
        ListStart::Empty => {}
        ListStart::Octets(octets) => path.extend_from_slice(octets),
        ListStart::Elements(count) => {
            for _ in 0..count {
                if r.is_atom(b"all")? {
                    path.push(b'*');
                } else if r.is_atom(b"choose")? {
                    path.push(b'$');
                } else {
                    path.push(r.unsigned(255)? as u8);
                }
            }
            r.end_list()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_octets_agree() {
        for (path, wildcards, id) in [
            ("11111111/00000000/00001111", &[][..], &[0xff, 0, 0x0f][..]),
            ("10000001", &[], &[0x81]),
            ("*", &[0xd7], &[0, 0, 0]),
            ("$", &[0x57], &[0, 0, 0]),
            ("11111111/*", &[0xcf], &[0xff, 0, 0]),
            ("11111111/*/00000001", &[0x8f], &[0xff, 0, 1]),
            ("11111111/00000000/*", &[0x87], &[0xff, 0, 0]),
            ("11111111/0$", &[0x4e], &[0xff, 0, 0]),
            ("1*/0$/00000001", &[0x96, 0x0e], &[0x80, 0, 1]),
        ] {
            let packed = Packed::of(&TerminationId::from(path)).unwrap();
            assert_eq!((packed.wildcards(), packed.id()), (wildcards, id), "{path}");
            let arena = Arena::new();
            let back = unpack(&arena, TerminationIds::Paths, wildcards, id);
            assert_eq!(back, Some(TerminationId::from(path)), "{path}");
        }
        for path in ["", "A4444", "111", "1/1/1/1/1/1/1/1/1", "1*1/0"] {
            assert!(Packed::of_path(path.as_bytes()).is_none(), "{path}");
        }
    }
}
