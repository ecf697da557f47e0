//! The binary draft, draft-roach-sipping-clf-syntax-00: a header of 56 bytes with pointers, data,
//! then tags with lengths and values. Numbers are big-endian.

use weir_bytes::{u16_be_at, u32_be_at};

use crate::decimal::{DIGITS_MAX, decimal, digits_of};
use crate::fault::{Fault, FaultKind};
use crate::forms::copy::{SHORT, copy_field};
use crate::forms::escape::clip;
use crate::forms::text::without_port;
use crate::losses::{Loss, Losses};
use crate::optional::{HEADER, MESSAGE, Optionals, push_optional};
use crate::record::{ABSENT, Field, Flags, Record, Retransmission, Time, literal, present};

/// Bytes of the fixed header.
pub(crate) const HEADER_BYTES: usize = 56;
/// The offset of the pairs of pointer and length.
const PAIRS: usize = 24;
/// The fields with pointers, in their order; the method stands for CSeq.
const POINTED: [Field; 8] = [
    Field::ServerTxn,
    Field::ClientTxn,
    Field::CSeq,
    Field::ToUri,
    Field::ToTag,
    Field::FromUri,
    Field::FromTag,
    Field::CallId,
];
const RECORD_BYTES_MAX: usize = 0xff_ffff;
/// The number of bytes that each pointed field may have, so that 16-bit pointers reach all fields.
const FIELD_BYTES_MAX: usize = 7000;

const RESPONSE: u8 = 0x80;
const DUPLICATE: u8 = 0x40;
const SENT: u8 = 0x20;

mod tag {
    pub(super) const CONTACT: u16 = 0;
    pub(super) const REQUEST_URI: u16 = 1;
    pub(super) const REMOTE_HOST: u16 = 2;
    pub(super) const USER: u16 = 3;
    pub(super) const MESSAGE: u16 = 4;
}

/// Whether the bytes begin with a whole record of the draft, or with a cut one.
pub(crate) fn is_record(bytes: &[u8]) -> bool {
    let mut scratch = Vec::new();
    match decode(bytes, &mut scratch) {
        Ok(_) => true,
        Err(fault) => fault.kind == FaultKind::Cut && bytes.len() > HEADER_BYTES,
    }
}

/// Reads the record at the beginning of `bytes` and returns its length, too.
#[inline]
pub(crate) fn decode<'a>(
    bytes: &'a [u8],
    scratch: &'a mut Vec<u8>,
) -> Result<(Record<'a>, usize), Fault> {
    let len = check(bytes)?;
    let record = read(bytes.get(..len).unwrap_or_default(), scratch);
    Ok((record, len))
}

/// Reads a record whose pointers and groups lie within it, as [`check`] has found.
#[inline]
pub(crate) fn read<'a>(bytes: &'a [u8], scratch: &'a mut Vec<u8>) -> Record<'a> {
    let Some(head) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Record::default();
    };
    let mut record = Record {
        time: Time {
            seconds: u64::from_be_bytes(*of_head(head, 4)),
            nanoseconds: u32::from_be_bytes(*of_head(head, 12)),
        },
        flags: flags_of(head[0]),
        fields: [ABSENT; Field::COUNT],
        user: ABSENT,
        optional: Optionals::default(),
    };
    for (field, [a, b, c, d]) in POINTED.into_iter().zip(head[PAIRS..].as_chunks::<4>().0) {
        let start = usize::from(u16::from_be_bytes([*a, *b]));
        let len = usize::from(u16::from_be_bytes([*c, *d]));
        let value = bytes.get(start..start.wrapping_add(len));
        record.set(field, literal(value.unwrap_or_default()));
    }
    let cseq = u32::from_be_bytes(*of_head(head, 16));
    let status = u16::from_be_bytes(*of_head(head, 20));
    let start = usize::from(u16::from_be_bytes(*of_head(head, 22)));
    let groups = match start {
        0 => &[][..],
        start => bytes.get(start..).unwrap_or_default(),
    };
    build(&mut record, cseq, status, groups, scratch);
    record
}

/// Returns `N` bytes of the header, with bounds that the compiler can check.
#[inline(always)]
fn of_head<const N: usize>(head: &[u8; HEADER_BYTES], at: usize) -> &[u8; N] {
    let found = head.get(at..).and_then(<[u8]>::first_chunk);
    found.unwrap_or(&[0; N])
}

const fn flags_of(flags: u8) -> Flags {
    Flags {
        response: flags & RESPONSE != 0,
        sent: Some(flags & SENT != 0),
        retransmission: Some(if flags & DUPLICATE == 0 {
            Retransmission::Original
        } else {
            Retransmission::Duplicate
        }),
        transport: None,
        encrypted: None,
    }
}

/// The length of the record at the beginning of `bytes` if [`decode`] reads it, and otherwise its error. Builds no
/// values.
pub(crate) fn check(bytes: &[u8]) -> Result<usize, Fault> {
    let len = record_len(bytes)?;
    let Some(bytes) = bytes.get(..len) else {
        return Err(Fault::at(bytes.len(), FaultKind::Cut));
    };
    let Some(head) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Err(Fault::at(bytes.len(), FaultKind::Cut));
    };
    let nanoseconds = u32::from_be_bytes([head[12], head[13], head[14], head[15]]);
    if nanoseconds > 999_999_999 {
        return Err(Fault::at(12, FaultKind::Time));
    }
    let number = |high, low| usize::from(u16::from_be_bytes([high, low]));
    for (index, [a, b, c, d]) in head[PAIRS..].as_chunks::<4>().0.iter().enumerate() {
        let (start, bytes) = (number(*a, *b), number(*c, *d));
        if bytes > 0 && (start < HEADER_BYTES || start.saturating_add(bytes) > len) {
            let at = PAIRS.saturating_add(index.saturating_mul(4));
            return Err(Fault::at(at, FaultKind::Pointer));
        }
    }
    let mut at = number(head[22], head[23]);
    if at == 0 {
        return Ok(len);
    }
    if at < HEADER_BYTES || at > len {
        return Err(Fault::at(22, FaultKind::Pointer));
    }
    while at < len {
        let damaged = Fault::at(at, FaultKind::Optional);
        let value = u16_be_at(bytes, at.saturating_add(2)).ok_or(damaged)?;
        let end = at.saturating_add(4).saturating_add(usize::from(value));
        if end > len {
            return Err(damaged);
        }
        at = end;
    }
    Ok(len)
}

/// Returns the length from the first four bytes.
pub(crate) fn record_len(bytes: &[u8]) -> Result<usize, Fault> {
    let Some(first) = u32_be_at(bytes, 0) else {
        return Err(Fault::at(bytes.len(), FaultKind::Cut));
    };
    if first == 0 {
        return Err(Fault::at(0, FaultKind::Zeros));
    }
    if first & 0x1f00_0000 != 0 {
        return Err(Fault::at(0, FaultKind::Version));
    }
    let len = (first & 0xff_ffff) as usize;
    if len < HEADER_BYTES {
        return Err(Fault::at(1, FaultKind::Length));
    }
    Ok(len)
}

/// Returns whether the next record after an unreadable one lies beyond the end of `bytes`: it would confirm the length
/// of this one.
pub(crate) fn next_is_open(bytes: &[u8]) -> bool {
    record_len(bytes).is_ok_and(|len| bytes.len() < len.saturating_add(HEADER_BYTES))
}

/// The end of an unreadable record: the declared one, if another record begins there, or the bytes end. A truncated
/// record ends with the bytes, because what looks like a record in it may be part of its message.
pub(crate) fn behind(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let len = record_len(rest).ok()?;
    let plausible = match rest.get(len..) {
        Some(next) => next.is_empty() || next.first_chunk().is_some_and(is_head),
        None => rest.first_chunk().is_some_and(is_head),
    };
    plausible.then(|| at.saturating_add(len).min(bytes.len()))
}

/// The offset after `at` where a record may begin. The draft has no mark for that; a candidate has 56 bytes with
/// possible numbers, and a time before the year 2106.
pub(crate) fn resynchronise(bytes: &[u8], at: usize) -> Option<usize> {
    let from = at.saturating_add(1);
    let found = bytes
        .get(from..)?
        .windows(HEADER_BYTES)
        .position(|window| window.first_chunk().is_some_and(is_head))?;
    Some(from.saturating_add(found))
}

/// Returns whether a record may begin like this.
#[inline]
fn is_head(head: &[u8; HEADER_BYTES]) -> bool {
    // The upper half of the seconds is zero in a record, and in hardly anything else.
    if head[4..8] != [0; 4] {
        return false;
    }
    let number = |at: usize| usize::from(u16_be_at(head, at).unwrap_or(0));
    let Ok(len) = record_len(head) else {
        return false;
    };
    let reaches =
        |start: usize, bytes: usize| start >= HEADER_BYTES && start.saturating_add(bytes) <= len;
    u32_be_at(head, 12).is_some_and(|nanoseconds| nanoseconds <= 999_999_999)
        && (number(22) == 0 || reaches(number(22), 0))
        && (PAIRS..HEADER_BYTES).step_by(4).all(|at| {
            let (start, bytes) = (number(at), number(at.saturating_add(2)));
            bytes == 0 || reaches(start, bytes)
        })
}

/// Builds CSeq, status, addresses and optional fields.
#[inline]
fn build<'a>(
    record: &mut Record<'a>,
    cseq: u32,
    status: u16,
    groups: &'a [u8],
    out: &'a mut Vec<u8>,
) {
    let method = present(record.field(Field::CSeq));
    let (cseq_end, status_end) = begin_with(out, method, cseq, status);
    let mut has_message = false;
    let mut host = ABSENT;
    let mut rest = groups;
    while let Some(([a, b, c, d], values)) = rest.split_first_chunk() {
        let len = usize::from(u16::from_be_bytes([*c, *d]));
        let Some((value, after)) = values.split_at_checked(len) else {
            break;
        };
        match u16::from_be_bytes([*a, *b]) {
            tag::CONTACT => {
                push_optional(HEADER, 0, b"Contact: ", value, out);
            }
            tag::REQUEST_URI => record.set(Field::RequestUri, literal(value)),
            tag::REMOTE_HOST => host = literal(value),
            tag::USER => record.user = literal(value),
            tag::MESSAGE if !has_message => {
                has_message = true;
                push_optional(MESSAGE, 0, b"", &message(rest), out);
            }
            // The first group has the value of all.
            tag::MESSAGE => {}
            // Further groups are left out: RFC 6873 has no place for them, as only vendors with a number may add
            // fields.
            _ => {}
        }
        rest = after;
    }
    let optional_end = out.len();
    if host.contains(&b':') && host.first() != Some(&b'[') {
        out.push(b'[');
        out.extend_from_slice(host);
        out.push(b']');
    }
    let out = &*out;
    let (built, bracketed) = out.split_at_checked(optional_end).unwrap_or_default();
    let piece = |from: usize, to: usize| built.get(from..to).filter(|piece| !piece.is_empty());
    record.set(Field::CSeq, piece(0, cseq_end).unwrap_or(ABSENT));
    record.set(Field::Status, piece(cseq_end, status_end).unwrap_or(ABSENT));
    record.optional = Optionals::new(built.get(status_end..).unwrap_or_default());
    let host = if bracketed.is_empty() {
        host
    } else {
        bracketed
    };
    let side = if record.flags.sent == Some(true) {
        Field::Destination
    } else {
        Field::Source
    };
    record.set(side, host);
}

/// Begins the buffer with the texts of CSeq and status, each empty where there is none, and returns their ends.
///
/// Both are put together in an array first: an append for each part takes longer than the rest of reading a record.
#[inline]
fn begin_with(out: &mut Vec<u8>, method: Option<&[u8]>, cseq: u32, status: u16) -> (usize, usize) {
    out.clear();
    let mut text = [0_u8; TEXT_BYTES];
    let mut digits = [0_u8; DIGITS_MAX];
    let mut at = 0;
    if let Some(method) = method {
        // The form always has the number: 0 stands for no number.
        let number = match cseq {
            0 => ABSENT,
            cseq => digits_of(u64::from(cseq), 1, &mut digits),
        };
        at = copy_field(&mut text, at, number, b' ');
        if method.len() > SHORT {
            out.extend_from_slice(text.get(..at).unwrap_or_default());
            out.extend_from_slice(method);
            at = 0;
        } else {
            at = copy_field(&mut text, at, method, b' ').wrapping_sub(1);
        }
    }
    let cseq_end = out.len().wrapping_add(at);
    if status > 0 {
        let status = digits_of(u64::from(status), 3, &mut digits);
        at = copy_field(&mut text, at, status, b' ').wrapping_sub(1);
    }
    out.extend_from_slice(text.get(..at).unwrap_or_default());
    (cseq_end, out.len())
}

/// Room for a number, a method and a status that are copied by the short way.
const TEXT_BYTES: usize = 3 * SHORT;

/// Joins a message that stands in groups of 65,535 bytes, from the first of them on.
fn message(mut groups: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let (Some(tag), Some(len)) = (u16_be_at(groups, 0), u16_be_at(groups, 2)) {
        let end = usize::from(len).saturating_add(4);
        if tag == tag::MESSAGE {
            out.extend_from_slice(groups.get(4..end).unwrap_or_default());
        }
        groups = groups.get(end..).unwrap_or_default();
    }
    out
}

/// Appends a record.
pub(crate) fn push(record: &Record<'_>, out: &mut Vec<u8>, losses: &mut Losses) {
    let begin = out.len();
    let flags = record.flags;
    losses.note_if(
        flags.transport.is_some() || flags.encrypted.is_some(),
        Loss::Transport,
    );
    losses.note_if(
        flags.retransmission == Some(Retransmission::Stateless),
        Loss::Retransmission,
    );
    losses.note_if(
        flags.retransmission.is_none() || flags.sent.is_none(),
        Loss::Assumed,
    );
    let mut head = [0_u8; HEADER_BYTES];
    head[0] = if flags.response { RESPONSE } else { 0 }
        | if flags.retransmission == Some(Retransmission::Duplicate) {
            DUPLICATE
        } else {
            0
        }
        | if flags.sent == Some(true) { SENT } else { 0 };
    head[4..12].copy_from_slice(&record.time.seconds.to_be_bytes());
    head[12..16].copy_from_slice(&record.time.nanoseconds.min(999_999_999).to_be_bytes());
    let (number, method) = record.cseq();
    losses.note_if(number == Some(0), Loss::CSeqNumber);
    head[16..20].copy_from_slice(&number.unwrap_or(0).to_be_bytes());
    head[20..22].copy_from_slice(&status_of(record, losses).to_be_bytes());
    let mut values = [&[][..]; POINTED.len()];
    let mut at = HEADER_BYTES;
    let pairs = head[PAIRS..].as_chunks_mut::<4>().0;
    for ((field, place), pair) in POINTED.into_iter().zip(&mut values).zip(pairs) {
        let value = match field {
            Field::CSeq => {
                losses.note_if(record.field(field) == b"?", Loss::Unparsable);
                method.unwrap_or_default()
            }
            field => pointed(record.field(field), losses),
        };
        let value = clipped(value, losses);
        let [p, q] = (at as u16).to_be_bytes();
        let [r, s] = (value.len() as u16).to_be_bytes();
        *pair = [p, q, r, s];
        *place = value;
        at = at.saturating_add(value.len());
    }
    push_values(&head, &values, out);
    groups(record, out, losses);
    if out.len().saturating_sub(begin) > at {
        head[22..24].copy_from_slice(&(at as u16).to_be_bytes());
    }
    let len = out.len().saturating_sub(begin);
    head[1..4].copy_from_slice(&(len as u32).to_be_bytes()[1..]);
    if let Some(place) = out.get_mut(begin..begin.saturating_add(HEADER_BYTES)) {
        place.copy_from_slice(&head);
    }
}

/// Appends the header and the values behind it. Values are short, and a call to copy each takes longer than the copy.
fn push_values(head: &[u8; HEADER_BYTES], values: &[&[u8]], out: &mut Vec<u8>) {
    let bytes: usize = values.iter().map(|value| value.len()).sum();
    let begin = out.len();
    let end = begin.saturating_add(HEADER_BYTES).saturating_add(bytes);
    out.resize(end.saturating_add(SHORT + 1), 0);
    let place = out.get_mut(begin..).unwrap_or_default();
    if let Some(place) = place.first_chunk_mut() {
        *place = *head;
    }
    let mut at = HEADER_BYTES;
    for value in values.iter().filter(|value| !value.is_empty()) {
        // The next value is written over the separator.
        at = copy_field(place, at, value, 0).wrapping_sub(1);
    }
    out.truncate(end);
}

fn status_of(record: &Record<'_>, losses: &mut Losses) -> u16 {
    let status = record.field(Field::Status);
    match decimal(status).and_then(|status| u16::try_from(status).ok()) {
        // A status of three digits is read back unchanged; `0200` would not be.
        Some(number) if number > 0 && status.len() == 3 => number,
        _ => {
            losses.note_if(present(status).is_some(), Loss::Field);
            losses.note_if(status == b"?", Loss::Unparsable);
            0
        }
    }
}

/// Returns a value; empty where it is absent.
fn pointed<'a>(value: &'a [u8], losses: &mut Losses) -> &'a [u8] {
    losses.note_if(value == b"?", Loss::Unparsable);
    present(value).unwrap_or_default()
}

fn clipped<'a>(value: &'a [u8], losses: &mut Losses) -> &'a [u8] {
    let cut = clip(value, FIELD_BYTES_MAX);
    losses.note_if(cut.len() < value.len(), Loss::Cut);
    cut
}

fn groups(record: &Record<'_>, out: &mut Vec<u8>, losses: &mut Losses) {
    let mut group = |tag: u16, value: &[u8]| {
        let len = value.len().min(usize::from(u16::MAX));
        let ([a, b], [c, d]) = (tag.to_be_bytes(), (len as u16).to_be_bytes());
        out.extend_from_slice(&[a, b, c, d]);
        out.extend_from_slice(value.get(..len).unwrap_or_default());
    };
    if let Some(uri) = present(pointed(record.field(Field::RequestUri), losses)) {
        group(tag::REQUEST_URI, clipped(uri, losses));
    }
    let (near, far) = match record.flags.sent {
        Some(true) => (Field::Source, Field::Destination),
        Some(false) | None => (Field::Destination, Field::Source),
    };
    let far = record.field(far);
    if let Some(address) = present(far) {
        let host = without_port(address);
        let bare = host
            .strip_prefix(b"[")
            .and_then(|host| host.strip_suffix(b"]"));
        // A reader adds brackets to an address with a colon, and only to such a one.
        let bare = bare.filter(|bare| bare.contains(&b':') && bare.first() != Some(&b'['));
        let bracketed = bare.is_some() || !host.contains(&b':') || host.first() == Some(&b'[');
        losses.note_if(
            host.len() < address.len() || record.value(near).is_some() || !bracketed,
            Loss::Address,
        );
        let host = bare.unwrap_or(host);
        group(tag::REMOTE_HOST, clipped(host, losses));
    } else {
        losses.note_if(far == b"?", Loss::Unparsable);
        losses.note_if(record.value(near).is_some(), Loss::Address);
    }
    if let Some(user) = present(pointed(record.user, losses)) {
        group(tag::USER, clipped(user, losses));
    }
    let mut room = RECORD_BYTES_MAX / 2;
    let mut decoded = Vec::new();
    let mut has_message = false;
    for field in record.optional.iter() {
        let contact = field.contact();
        // The groups of a second message would be read as more of the first.
        let whole = (field.tag, field.vendor) == (MESSAGE, 0) && !has_message;
        let encoded = contact.unwrap_or(field.value);
        let value = if encoded.len() <= room && (whole || contact.is_some()) {
            field.decoded(encoded, &mut decoded).ok()
        } else {
            None
        };
        let Some(value) = value else {
            losses.note(Loss::Optional);
            continue;
        };
        room = room.saturating_sub(encoded.len());
        if whole {
            has_message = true;
            let (first, rest) = value
                .split_at_checked(usize::from(u16::MAX))
                .unwrap_or((value, &[]));
            group(tag::MESSAGE, first);
            rest.chunks(usize::from(u16::MAX))
                .for_each(|piece| group(tag::MESSAGE, piece));
        } else {
            losses.note_if(value.len() > usize::from(u16::MAX), Loss::Cut);
            group(tag::CONTACT, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::push_decimal;
    use weir_testkit::Rng;

    /// Reads a record as [`decode`] does, and checks each part of it when it is read.
    fn decode_by_parts<'a>(
        bytes: &'a [u8],
        scratch: &'a mut Vec<u8>,
    ) -> Result<(Record<'a>, usize), Fault> {
        scratch.clear();
        let len = record_len(bytes)?;
        let Some(bytes) = bytes.get(..len) else {
            return Err(Fault::at(bytes.len(), FaultKind::Cut));
        };
        let cut = Fault::at(bytes.len(), FaultKind::Cut);
        let flags = *bytes.first().ok_or(cut)?;
        let (high, low) = (
            u32_be_at(bytes, 4).ok_or(cut)?,
            u32_be_at(bytes, 8).ok_or(cut)?,
        );
        let nanoseconds = u32_be_at(bytes, 12).ok_or(cut)?;
        if nanoseconds > 999_999_999 {
            return Err(Fault::at(12, FaultKind::Time));
        }
        let mut record = Record {
            time: Time {
                seconds: u64::from(high) << 32 | u64::from(low),
                nanoseconds,
            },
            flags: Flags {
                response: flags & RESPONSE != 0,
                sent: Some(flags & SENT != 0),
                retransmission: Some(if flags & DUPLICATE == 0 {
                    Retransmission::Original
                } else {
                    Retransmission::Duplicate
                }),
                ..Flags::default()
            },
            ..Record::default()
        };
        for (index, field) in POINTED.into_iter().enumerate() {
            let at = PAIRS.saturating_add(index.saturating_mul(4));
            let start = usize::from(u16_be_at(bytes, at).ok_or(cut)?);
            let len = usize::from(u16_be_at(bytes, at.saturating_add(2)).ok_or(cut)?);
            if len == 0 {
                continue;
            }
            let value = bytes.get(start..start.saturating_add(len));
            match value {
                Some(value) if start >= HEADER_BYTES => record.set(field, literal(value)),
                _ => return Err(Fault::at(at, FaultKind::Pointer)),
            }
        }
        let cseq = u32_be_at(bytes, 16).ok_or(cut)?;
        let status = u16_be_at(bytes, 20).ok_or(cut)?;
        let start = usize::from(u16_be_at(bytes, 22).ok_or(cut)?);
        if start != 0 && (start < HEADER_BYTES || start > len) {
            return Err(Fault::at(22, FaultKind::Pointer));
        }
        let groups = if start == 0 {
            &[][..]
        } else {
            bytes.get(start..).unwrap_or_default()
        };
        build_by_parts(&mut record, cseq, status, groups, start, scratch)?;
        Ok((record, len))
    }

    fn build_by_parts<'a>(
        record: &mut Record<'a>,
        cseq: u32,
        status: u16,
        groups: &'a [u8],
        start: usize,
        out: &'a mut Vec<u8>,
    ) -> Result<(), Fault> {
        if let Some(method) = present(record.field(Field::CSeq)) {
            // The form always has the number: 0 stands for no number.
            match cseq {
                0 => out.extend_from_slice(ABSENT),
                cseq => push_decimal(u64::from(cseq), 1, out),
            }
            out.push(b' ');
            out.extend_from_slice(method);
        }
        let cseq_end = out.len();
        if status > 0 {
            push_decimal(u64::from(status), 3, out);
        }
        let status_end = out.len();
        let mut has_message = false;
        let mut host = ABSENT;
        let mut rest = groups;
        while !rest.is_empty() {
            let offset = start.saturating_add(groups.len().saturating_sub(rest.len()));
            let damaged = Fault::at(offset, FaultKind::Optional);
            let tag = u16_be_at(rest, 0).ok_or(damaged)?;
            let end = usize::from(u16_be_at(rest, 2).ok_or(damaged)?).saturating_add(4);
            let value = rest.get(4..end).ok_or(damaged)?;
            match tag {
                tag::CONTACT => {
                    push_optional(HEADER, 0, b"Contact: ", value, out);
                }
                tag::REQUEST_URI => record.set(Field::RequestUri, literal(value)),
                tag::REMOTE_HOST => host = literal(value),
                tag::USER => record.user = literal(value),
                tag::MESSAGE if !has_message => {
                    has_message = true;
                    push_optional(MESSAGE, 0, b"", &message(rest), out);
                }
                // The first group has the value of all.
                tag::MESSAGE => {}
                // Other groups are left out: RFC 6873 has no place for them, as only vendors with a number may add
                // fields.
                _ => {}
            }
            rest = rest.get(end..).unwrap_or_default();
        }
        let optional_end = out.len();
        if host.contains(&b':') && host.first() != Some(&b'[') {
            out.push(b'[');
            out.extend_from_slice(host);
            out.push(b']');
        }
        let out = &*out;
        let (built, bracketed) = out.split_at_checked(optional_end).unwrap_or_default();
        let piece = |from: usize, to: usize| built.get(from..to).filter(|piece| !piece.is_empty());
        record.set(Field::CSeq, piece(0, cseq_end).unwrap_or(ABSENT));
        record.set(Field::Status, piece(cseq_end, status_end).unwrap_or(ABSENT));
        record.optional = Optionals::new(built.get(status_end..).unwrap_or_default());
        let host = if bracketed.is_empty() {
            host
        } else {
            bracketed
        };
        let side = if record.flags.sent == Some(true) {
            Field::Destination
        } else {
            Field::Source
        };
        record.set(side, host);
        Ok(())
    }

    #[test]
    fn data_may_overlap_and_stand_in_any_order() {
        let mut bytes = vec![0_u8; HEADER_BYTES];
        bytes[0] = SENT;
        bytes[19] = 7;
        bytes.extend_from_slice(b"BYE sip:a@b;tag=xyz");
        let mut pair = |index: usize, start: u8, len: u8| {
            bytes[PAIRS + 4 * index + 1] = start;
            bytes[PAIRS + 4 * index + 3] = len;
        };
        pair(2, 56, 3);
        pair(3, 60, 15);
        pair(4, 72, 3);
        bytes[3] = bytes.len() as u8;
        let mut scratch = Vec::new();
        let (record, len) = decode(&bytes, &mut scratch).unwrap();
        assert_eq!(len, bytes.len());
        assert_eq!(record.field(Field::CSeq), b"7 BYE");
        assert_eq!(record.field(Field::ToUri), b"sip:a@b;tag=xyz");
        assert_eq!(record.field(Field::ToTag), b"xyz");
        assert_eq!(record.field(Field::FromTag), ABSENT);
    }

    #[test]
    fn a_pointer_into_the_header_or_beyond_the_end_is_damage() {
        let mut out = Vec::new();
        let mut record = Record::default();
        record.set(Field::CallId, b"call");
        push(&record, &mut out, &mut Losses::default());
        for (pointer, kind) in [(55, FaultKind::Pointer), (57, FaultKind::Pointer)] {
            let mut bytes = out.clone();
            bytes[53] = pointer;
            assert_eq!(decode(&bytes, &mut Vec::new()).unwrap_err().kind, kind);
        }
    }

    #[test]
    fn a_long_message_takes_several_groups() {
        let message = vec![b'm'; 200_000];
        let mut optional = Vec::new();
        push_optional(MESSAGE, 0, b"", &message, &mut optional);
        let mut record = Record {
            optional: Optionals::new(&optional),
            ..Record::default()
        };
        record.set(Field::Source, b"[2001:db8::9]:5060");
        record.set(Field::CSeq, b"1 OPTIONS");
        let (mut out, mut losses) = (Vec::new(), Losses::default());
        push(&record, &mut out, &mut losses);
        assert_eq!(losses.count(Loss::Address), 1);
        let mut scratch = Vec::new();
        let (back, len) = decode(&out, &mut scratch).unwrap();
        assert_eq!(len, out.len());
        assert_eq!(back.optional, record.optional);
        assert_eq!(back.field(Field::Source), b"[2001:db8::9]");
    }

    /// The records have random fields, numbers, groups and changes.
    #[test]
    fn a_record_is_read_as_by_parts() {
        let mut rng = Rng::new(12);
        let mut read = 0;
        for _ in 0..20_000 {
            let long = "m".repeat(rng.below(200) as usize);
            let values = [
                "",
                "-",
                "?",
                "[::1]:5",
                "a:b",
                "INVITE",
                "192.0.2.1:5060",
                &long,
            ];
            let mut some = || values[rng.below(values.len() as u64) as usize].as_bytes();
            let fields = std::array::from_fn(|_| some());
            let user = some();
            let cseq = format!("{} {long}", rng.next_u64() >> rng.below(64));
            let status = format!("{:03}", rng.below(70_000));
            let mut optional = Vec::new();
            for _ in 0..rng.below(3) {
                let (tag, name) = [(HEADER, "Contact: "), (MESSAGE, "")][rng.below(2) as usize];
                push_optional(tag, 0, name.as_bytes(), long.as_bytes(), &mut optional);
            }
            let mut record = Record {
                fields,
                user,
                optional: Optionals::new(&optional),
                ..Record::default()
            };
            record.flags.sent = Some(rng.below(2) == 0);
            if rng.below(4) > 0 {
                record.set(Field::CSeq, cseq.as_bytes());
                record.set(Field::Status, status.as_bytes());
            }
            let mut bytes = Vec::new();
            push(&record, &mut bytes, &mut Losses::default());
            for _ in 0..rng.below(2) {
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] = rng.next_u8();
            }
            let (mut scratch, mut other) = (b"before".to_vec(), Vec::new());
            let expected = decode_by_parts(&bytes, &mut other);
            read += usize::from(expected.is_ok());
            assert!(decode(&bytes, &mut scratch) == expected, "{expected:?}");
        }
        assert!(read > 10_000, "{read}");
    }

    /// Every prefix of a record is checked, and every byte of it changed in several ways.
    #[test]
    fn what_is_checked_is_what_is_read() {
        let mut optional = Vec::new();
        push_optional(MESSAGE, 0, b"", b"BYE sip:a@b", &mut optional);
        let mut record = Record {
            optional: Optionals::new(&optional),
            ..Record::default()
        };
        record.set(Field::CallId, b"call");
        record.set(Field::CSeq, b"1 BYE");
        record.set(Field::RequestUri, b"sip:a@b");
        let mut out = Vec::new();
        push(&record, &mut out, &mut Losses::default());
        let mut scratch = Vec::new();
        let mut agree = |bytes: &[u8]| {
            let mut other = Vec::new();
            let expected = decode_by_parts(bytes, &mut other);
            assert_eq!(decode(bytes, &mut scratch), expected, "{bytes:?}");
            assert_eq!(check(bytes), expected.map(|(_, len)| len), "{bytes:?}");
        };
        for len in 0..=out.len() {
            agree(&out[..len]);
        }
        for at in 0..out.len() {
            for change in [1, 2, 0x10, 0x40, 0x80, 0xff] {
                let mut bytes = out.clone();
                bytes[at] ^= change;
                agree(&bytes);
            }
        }
    }
}
