//! Copies of short fields, one after the other.

use crate::value::ABSENT;

/// Copies a field to `at` and ends it with `separator`; an empty one is written as absent. Returns the place of the
/// next field: `at` itself when there is no room. Most fields are short, and a call to copy each would cost more than
/// the copying; with room for [`SHORT`] bytes, one check of bounds is enough.
#[inline(always)]
pub(crate) fn copy_field(out: &mut [u8], at: usize, field: &[u8], separator: u8) -> usize {
    let place = out.get_mut(at..).unwrap_or_default();
    let len = field.len();
    let next = at.wrapping_add(len).wrapping_add(1);
    match place.first_chunk_mut::<{ SHORT + 1 }>() {
        Some(place) if (1..=SHORT).contains(&len) => {
            if len > 32 {
                copy_ends::<32>(place, field);
            } else if len > 16 {
                copy_ends::<16>(place, field);
            } else if len > 7 {
                copy_ends::<8>(place, field);
            } else if len > 3 {
                copy_ends::<4>(place, field);
            } else {
                // The first byte, the one in the middle and the last are all.
                place[0] = field[0];
                place[len / 2] = field[len / 2];
                place[len - 1] = field[len - 1];
            }
            place[len] = separator;
            next
        }
        _ => copy_other(place, field, separator).map_or(at, |len| at.wrapping_add(len)),
    }
}

/// The number of bytes that a record needs behind its last field, so that all of its fields are copied by the short
/// way.
pub(crate) const SHORT: usize = 64;

/// Copies the first and the last `N` bytes, which together are all when there are no more than twice as many.
#[inline(always)]
fn copy_ends<const N: usize>(place: &mut [u8; SHORT + 1], field: &[u8]) {
    let behind = field.len().wrapping_sub(N);
    if let (Some(to), Some(from)) = (place.first_chunk_mut::<N>(), field.first_chunk::<N>()) {
        *to = *from;
    }
    let place = place.get_mut(behind..).unwrap_or_default();
    if let (Some(to), Some(from)) = (place.first_chunk_mut::<N>(), field.last_chunk::<N>()) {
        *to = *from;
    }
}

/// Copies a field that is long, empty or at the end of the room; returns the number of written bytes.
#[inline(never)]
fn copy_other(place: &mut [u8], field: &[u8], separator: u8) -> Option<usize> {
    let field = if field.is_empty() { ABSENT } else { field };
    let (last, place) = place.get_mut(..=field.len())?.split_last_mut()?;
    place.copy_from_slice(field);
    *last = separator;
    field.len().checked_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_length_are_copied_where_there_is_room() {
        let text: Vec<u8> = (0..300_u16).map(|n| b'a' + (n % 26) as u8).collect();
        for len in 0..300 {
            for (at, more) in [(0, 0), (1, 0), (7, 0), (0, 100), (7, 100)] {
                let field = text.get(..len).unwrap();
                let expected = if len == 0 { ABSENT } else { field };
                let end = at + expected.len();
                let mut out = vec![b'.'; end + 1 + more];
                assert_eq!(copy_field(&mut out, at, field, b'|'), end + 1);
                assert_eq!(&out[at..end], expected);
                assert_eq!((out[end], &out[..at]), (b'|', &vec![b'.'; at][..]));
                out.fill(b'.');
                out.truncate(end);
                assert_eq!(copy_field(&mut out, at, field, b'|'), at);
                assert!(out.iter().all(|&byte| byte == b'.'));
            }
        }
    }
}
