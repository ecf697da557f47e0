//! RFC 6873 with RFC 7355: text with pointers.
//!
//! The RFC's text counts pointers from 0, its only bit-exact record from 1, and so do the known implementations:
//! [`decode`] accepts both, the [`Encoder`] writes from 1.

use crate::decimal::{decimal_of_sixteen, push_decimal};
use crate::fault::{Fault, FaultKind};
use crate::forms::copy::{SHORT, copy_field};
use crate::forms::escape::{clip, has_none_below, push_clean};
use crate::hex;
use crate::losses::{Loss, Losses};
use crate::optional::Optionals;
use crate::record::{ABSENT, Field, Flags, Record, Time};

/// The number of bytes of the longest record, whose length has six hexadecimal digits.
pub const RECORD_BYTES_MAX: usize = 0xff_ffff;
/// Bytes of the longest mandatory field (RFC 6873, section 4.2).
pub const FIELD_BYTES_MAX: usize = 4096;
/// Bytes of the index pointers, up to and with their line feed.
pub(crate) const POINTERS: usize = 61;
/// The offset of the first field.
pub(crate) const FIELDS: usize = 82;
/// Bytes of the shortest record: twelve fields of one byte, each with what ends it.
pub(crate) const RECORD_BYTES_MIN: usize = FIELDS + 24;

/// Reads the record at the beginning of `bytes` and returns its length, too.
///
/// Everything that a crash can damage is checked: version, length, both line feeds, pointers and the separators before
/// them. The content of fields is not.
///
/// Lines may end with CR LF, as a transfer in text mode leaves them: two bytes that neither the record's length nor its
/// pointers count.
///
/// # Errors
/// A [`Fault`]; [`FaultKind::Cut`] when more bytes may make a record of these.
pub fn decode(bytes: &[u8]) -> Result<(Record<'_>, usize), Fault> {
    let Some(head) = bytes.first_chunk::<FIELDS>() else {
        return Err(short(bytes));
    };
    if has_cr(head) {
        return decode_with_cr(bytes);
    }
    decode_lines::<0>(bytes, head)
}

/// Whether the first line ends with CR LF.
#[inline]
fn has_cr(head: &[u8; FIELDS]) -> bool {
    head[POINTERS - 1] == b'\r' && head[POINTERS] == b'\n'
}

/// Reads a record whose lines end with CR LF.
#[cold]
fn decode_with_cr(bytes: &[u8]) -> Result<(Record<'_>, usize), Fault> {
    let Some(with_cr) = bytes.first_chunk::<{ FIELDS + 1 }>() else {
        return Err(short(bytes));
    };
    let mut head = [0; FIELDS];
    let (line, behind) = head.split_at_mut(POINTERS - 1);
    line.copy_from_slice(&with_cr[..POINTERS - 1]);
    behind.copy_from_slice(&with_cr[POINTERS..]);
    decode_lines::<1>(bytes, &head)
}

/// Reads a record with `CR` bytes in front of each line feed. `head` is its beginning without them.
#[inline(always)]
fn decode_lines<'a, const CR: usize>(
    bytes: &'a [u8],
    head: &[u8; FIELDS],
) -> Result<(Record<'a>, usize), Fault> {
    let Some(first) = head.first_chunk().filter(|first| first[0] == b'A') else {
        return Err(foreign(head));
    };
    let len = length(first)?;
    let starts = pointers(head)?;
    if head[POINTERS - 1] != b'\n' {
        return Err(Fault::at(POINTERS - 1, FaultKind::Separator));
    }
    // The end of the second line, and that of its line feed.
    let end = len.wrapping_sub(1).wrapping_add(CR);
    let line_feed = end.wrapping_add(CR);
    let Some(body) = bytes.get(POINTERS + CR..end) else {
        return Err(Fault::at(bytes.len(), FaultKind::Cut));
    };
    match bytes.get(line_feed) {
        None => return Err(Fault::at(bytes.len(), FaultKind::Cut)),
        Some(b'\n') if CR == 0 || bytes.get(end) == Some(&b'\r') => {}
        Some(_) => return Err(Fault::at(end, FaultKind::Length)),
    }
    if let Some(at) = memchr::memchr(b'\n', body) {
        let at = (POINTERS + CR).wrapping_add(at);
        return Err(Fault::at(at, FaultKind::Separator));
    }
    let (time, flags) = time_and_flags(head)?;
    let mut record = Record {
        time,
        flags,
        fields: [ABSENT; Field::COUNT],
        user: ABSENT,
        optional: Optionals::default(),
    };
    let mut start = starts[0].wrapping_add(CR);
    let mut end_of_fields = end;
    for (index, field) in record.fields.iter_mut().enumerate() {
        let next = starts[index.wrapping_add(1)].wrapping_add(CR);
        // The optional fields' pointer leads to the separator, as the end of the record is one.
        let stop = if index < 11 {
            next.wrapping_sub(1)
        } else {
            next.wrapping_sub(usize::from(
                next > start && bytes.get(next.wrapping_sub(1)) == Some(&b'\t'),
            ))
        };
        let separator = bytes.get(stop).copied();
        let found = bytes.get(start..stop);
        match (found, separator) {
            (Some(found), Some(b'\t')) if stop < end => *field = found,
            (Some(found), Some(_)) if stop == end && index == 11 => *field = found,
            _ => return Err(Fault::at(8 + 4 * index, FaultKind::Pointer)),
        }
        end_of_fields = stop;
        start = next;
    }
    record.optional = Optionals::new(bytes.get(end_of_fields..end).unwrap_or_default());
    Ok((record, len.wrapping_add(2 * CR)))
}

/// Checks what [`decode`] does not: that no field holds a separator, that every optional field can be read, and has the
/// declared length.
///
/// # Errors
/// The first [`Fault`]. [`FaultKind::OptionalLength`] is found in sound logs too.
pub fn check(bytes: &[u8]) -> Result<usize, Fault> {
    let (record, len) = decode(bytes)?;
    let mut offset = FIELDS + usize::from(bytes.first_chunk().is_some_and(has_cr));
    for field in record.fields {
        if let Some(at) = memchr::memchr(b'\t', field) {
            return Err(Fault::at(offset.saturating_add(at), FaultKind::Separator));
        }
        if field.is_empty() {
            return Err(Fault::at(offset, FaultKind::Field));
        }
        offset = offset.saturating_add(field.len()).saturating_add(1);
    }
    let begin = offset.saturating_sub(1);
    if let Some(at) = record.optional.damage() {
        return Err(Fault::at(begin.saturating_add(at), FaultKind::Optional));
    }
    let wrong = record
        .optional
        .iter()
        .position(|field| usize::from(field.length) != field.value.len());
    match wrong {
        Some(_) => Err(Fault::at(begin, FaultKind::OptionalLength)),
        None => Ok(len),
    }
}

/// The end of the record at `at`, if its length is valid and a line feed is there. The bytes in between are not read.
#[inline]
pub(crate) fn hop(bytes: &[u8], at: usize) -> Option<usize> {
    let first = bytes.get(at..)?.first_chunk()?;
    let end = at.checked_add(length(first).ok()?)?;
    (bytes.get(end.wrapping_sub(1)) == Some(&b'\n')).then_some(end)
}

/// Calls `each` with the place of every record whose `field` is `value`, or has to be read for the comparison. Returns
/// `None` when `bytes` are not two lines a record from the first byte to the last: `each` may then have been called
/// with places that are not records, and not with all that are. Records begin with lines, so that only the length of
/// each is read.
pub(crate) fn each_with(
    bytes: &[u8],
    field: Field,
    value: &[u8],
    each: &mut impl FnMut(usize),
) -> Option<()> {
    // The place of the field's pointer, and of the next field's: there is none after the last field.
    let pair = 4_usize.checked_mul(field as usize)?.checked_add(8)?;
    if field == Field::ClientTxn {
        return None;
    }
    // Most values differ in their first bytes, and a call to compare all bytes takes longer than the rest.
    let first = value.first_chunk::<8>();
    let mut at = 0_usize;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        // No record begins in the first line when it ends at its declared end: its own first line would go on there.
        let head = rest.first_chunk::<POINTERS>()?;
        if head[0] != b'A' || head[POINTERS - 1] != b'\n' {
            return None;
        }
        let end = memchr::memchr(b'\n', rest.get(POINTERS..)?)?;
        let record = rest.get(..POINTERS.wrapping_add(end).wrapping_add(1))?;
        // Writing the length takes fewer steps than reading it, and most logs have it in upper case.
        let digits = hex::of_u24(u32::try_from(record.len()).ok()?);
        let same = head[1..7] == digits && head[7] == b',';
        if !same && length(head.first_chunk()?).ok()? != record.len() {
            return None;
        }
        let base = match head.get(8..12)? {
            b"0053" => 1,
            b"0052" => 0,
            _ => return None,
        };
        let ([start, next], bad) = hex::two(*head.get(pair..)?.first_chunk()?);
        let start = usize::from(start).wrapping_sub(base);
        let stop = usize::from(next).wrapping_sub(base).wrapping_sub(1);
        let differs = record.get(start..stop).is_some_and(|found| {
            found.len() != value.len() || found.first_chunk() != first || found != value
        });
        if bad != 0 || !differs {
            each(at);
        }
        at = at.wrapping_add(record.len());
    }
    Some(())
}

/// The length of the record from its first eight bytes.
#[inline]
fn length(head: &[u8; 8]) -> Result<usize, Fault> {
    if head[0] != b'A' {
        return Err(Fault::at(0, FaultKind::Version));
    }
    let [_, a, b, c, d, e, f, comma] = *head;
    let ([high, low], bad) = hex::two([b'0', b'0', a, b, c, d, e, f]);
    let len = usize::from(high) << 16 | usize::from(low);
    if bad == 0 && comma == b',' && len >= RECORD_BYTES_MIN {
        Ok(len)
    } else {
        Err(Fault::at(1, FaultKind::Length))
    }
}

/// The thirteen pointers, counted from 0.
#[inline]
fn pointers(head: &[u8; FIELDS]) -> Result<[usize; 13], Fault> {
    let mut starts = [0_usize; 13];
    let (twos, _) = head[8..56].as_chunks::<8>();
    let (places, _) = starts.as_chunks_mut::<2>();
    let mut wrong = 0;
    for (place, digits) in places.iter_mut().zip(twos) {
        let (pointers, bad) = hex::two(*digits);
        *place = pointers.map(usize::from);
        wrong |= bad;
    }
    // The thirteenth pointer is read with the one before it.
    if let Some(digits) = head[52..60].first_chunk() {
        let ([_, last], bad) = hex::two(*digits);
        starts[12] = usize::from(last);
        wrong |= bad;
    }
    if wrong != 0 {
        return Err(Fault::at(8, FaultKind::Pointer));
    }
    // The first field always begins at the same place, so its pointer shows from where pointers count.
    let base = starts[0].wrapping_sub(FIELDS);
    if base > 1 {
        return Err(Fault::at(8, FaultKind::Pointer));
    }
    for start in &mut starts {
        *start = start.wrapping_sub(base);
    }
    Ok(starts)
}

#[inline]
fn time_and_flags(head: &[u8; FIELDS]) -> Result<(Time, Flags), Fault> {
    let mut digits = [b'0'; 16];
    digits[3..13].copy_from_slice(&head[61..71]);
    digits[13..].copy_from_slice(&head[72..75]);
    let milliseconds = decimal_of_sixteen(digits);
    let (Some(milliseconds), b'.', b'\t') = (milliseconds, head[71], head[75]) else {
        return Err(Fault::at(POINTERS, FaultKind::Time));
    };
    let letters = [head[76], head[77], head[78], head[79], head[80]];
    let (Some(flags), b'\t') = (Flags::from_letters(letters), head[81]) else {
        return Err(Fault::at(76, FaultKind::Flags));
    };
    let time = Time {
        seconds: milliseconds / 1000,
        nanoseconds: (milliseconds % 1000) as u32 * 1_000_000,
    };
    Ok((time, flags))
}

/// Returns the fault of bytes in place of the head of a record: another version, or the remains of a crash.
#[cold]
fn foreign(head: &[u8; FIELDS]) -> Fault {
    let zeros = head.iter().all(|&byte| byte == 0);
    let kind = if zeros {
        FaultKind::Zeros
    } else {
        FaultKind::Version
    };
    Fault::at(0, kind)
}

/// Returns the fault of fewer bytes than the shortest record: the beginning of one, or none.
#[cold]
fn short(bytes: &[u8]) -> Fault {
    let zeros = bytes.iter().all(|&byte| byte == 0) && !bytes.is_empty();
    if zeros {
        return Fault::at(0, FaultKind::Zeros);
    }
    let begins = bytes.first().is_none_or(|&byte| byte == b'A')
        && bytes.iter().take(7).skip(1).all(u8::is_ascii_hexdigit)
        && bytes.get(7).is_none_or(|&byte| byte == b',');
    let kind = if begins {
        FaultKind::Cut
    } else {
        FaultKind::Version
    };
    Fault::at(if begins { bytes.len() } else { 0 }, kind)
}

/// The offset, from `from` on, where a record may begin: after a line feed, `A`, six digits, a comma. An incomplete
/// beginning at the end of `bytes` counts.
#[must_use]
pub fn resynchronise(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = bytes.get(at..)?;
        let found = memchr::memmem::find(rest, b"\nA")?;
        let start = at.saturating_add(found).saturating_add(1);
        let head = bytes.get(start..)?;
        if short(head.get(..head.len().min(8))?).kind == FaultKind::Cut {
            return Some(start);
        }
        at = start;
    }
}

/// Writes records one after the other into a buffer that is reused.
///
/// Values are bytes: those that would break the log or forge a record (line feeds, carriage returns, NUL and other
/// control bytes) become `%` and two digits, TAB becomes a space (RFC 6873, section 4.2). Other values that cannot be
/// carried are counted in [`Encoder::losses`].
#[derive(Clone, Debug)]
pub struct Encoder {
    /// A buffer that is longer than the written records, so that a record is written without a check of the capacity
    /// each time.
    canvas: Vec<u8>,
    len: usize,
    losses: Losses,
    second: u64,
    second_digits: [u8; 10],
    /// Whether the last record was written with changes.
    changed: bool,
}

impl Default for Encoder {
    fn default() -> Self {
        Self {
            canvas: Vec::new(),
            len: 0,
            losses: Losses::default(),
            second: 0,
            second_digits: [b'0'; 10],
            changed: false,
        }
    }
}

impl Encoder {
    /// The records since the last [`Encoder::clear`].
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.canvas.get(..self.len).unwrap_or_default()
    }

    /// Discards the records; the losses stay.
    pub const fn clear(&mut self) {
        self.len = 0;
    }

    /// The counts of values that could not be represented.
    #[must_use]
    pub const fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Whether a field of the last record was cut or had bytes escaped.
    #[must_use]
    pub const fn last_was_changed(&self) -> bool {
        self.changed
    }

    /// Returns the records as a buffer and continues in another one, whose content is discarded.
    #[must_use]
    pub fn swap(&mut self, mut other: Vec<u8>) -> Vec<u8> {
        other.resize(other.capacity(), 0);
        std::mem::swap(&mut self.canvas, &mut other);
        other.truncate(self.len);
        self.len = 0;
        other
    }

    /// Appends a record and returns its length in bytes.
    #[inline]
    pub fn push(&mut self, record: &Record<'_>) -> usize {
        self.changed = false;
        self.push_as_is(record)
    }

    #[inline(always)]
    fn push_as_is(&mut self, record: &Record<'_>) -> usize {
        let mut need = FIELDS + FIELDS_SLACK;
        let mut longest = 0;
        for field in record.fields {
            need = need.saturating_add(field.len());
            longest = field.len().max(longest);
        }
        let optional = record.optional.encoded();
        if !optional.is_empty() && !stays_in_line(optional) {
            return self.push_without_optional(record);
        }
        if longest > FIELD_BYTES_MAX || need.saturating_add(optional.len()) > RECORD_BYTES_MAX / 2 {
            return self.push_long(record);
        }
        need = need.saturating_add(optional.len());
        if self.canvas.len().saturating_sub(self.len) < need {
            self.grow(need);
        }
        let base = self.len;
        let out = self.canvas.get_mut(base..).unwrap_or_default();
        let mut pointers = [0_u16; 13];
        let mut at = FIELDS;
        for (pointer, field) in pointers.iter_mut().zip(&record.fields) {
            *pointer = at as u16 + 1;
            at = copy_field(out, at, field, b'-');
        }
        let end = at.wrapping_sub(1);
        pointers[12] = end as u16 + 1;
        if !has_none_below::<b' '>(out.get(FIELDS..end).unwrap_or_default()) {
            return self.push_escaped(record);
        }
        // The separators are control bytes themselves, and come last.
        for &pointer in pointers.iter().take(Field::COUNT).skip(1) {
            if let Some(separator) = out.get_mut(usize::from(pointer).wrapping_sub(2)) {
                *separator = b'\t';
            }
        }
        self.losses.note_if(record.user != ABSENT, Loss::User);
        let stop = end.wrapping_add(optional.len());
        if let Some(place) = out.get_mut(end..stop).filter(|_| !optional.is_empty()) {
            place.copy_from_slice(optional);
        }
        if let Some(last) = out.get_mut(stop) {
            *last = b'\n';
        }
        let len = stop.wrapping_add(1);
        self.len = base.wrapping_add(len);
        self.head(base, len, &pointers, record);
        len
    }

    /// Writes length, pointers, time and flags.
    #[inline(always)]
    fn head(&mut self, base: usize, len: usize, pointers: &[u16; 13], record: &Record<'_>) {
        let (seconds, milliseconds) = self.digits(record.time);
        let Some(head) = self
            .canvas
            .get_mut(base..)
            .and_then(<[u8]>::first_chunk_mut::<FIELDS>)
        else {
            return;
        };
        head[0] = b'A';
        head[1..7].copy_from_slice(&hex::of_u24(len as u32));
        head[7] = b',';
        let (places, _) = head[8..60].as_chunks_mut::<4>();
        for (place, &pointer) in places.iter_mut().zip(pointers) {
            *place = hex::of_u16(pointer);
        }
        head[60] = b'\n';
        head[61..71].copy_from_slice(&seconds);
        head[71] = b'.';
        head[72..75].copy_from_slice(&milliseconds);
        head[75] = b'\t';
        head[76..81].copy_from_slice(&record.flags.letters());
        self.losses
            .note_if(!record.flags.is_complete(), Loss::Assumed);
        head[81] = b'\t';
    }

    /// Returns the time's digits. Most records are of the same second as the one before.
    #[inline]
    fn digits(&mut self, time: Time) -> ([u8; 10], [u8; 3]) {
        if time.seconds != self.second {
            self.new_second(time.seconds);
        }
        let milliseconds = time.nanoseconds / 1_000_000 % 1000;
        self.losses.note_if(
            !time.nanoseconds.is_multiple_of(1_000_000) || time.seconds > SECONDS_MAX,
            Loss::Time,
        );
        let digit = |number: u32| b'0' + (number % 10) as u8;
        let fraction = [
            digit(milliseconds / 100),
            digit(milliseconds / 10),
            digit(milliseconds),
        ];
        (self.second_digits, fraction)
    }

    #[cold]
    fn new_second(&mut self, seconds: u64) {
        let mut digits = Vec::with_capacity(10);
        push_decimal(seconds.min(SECONDS_MAX), 10, &mut digits);
        self.second_digits.copy_from_slice(&digits);
        self.second = seconds;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, need: usize) {
        let len = self
            .len
            .saturating_add(need)
            .max(self.canvas.len().saturating_mul(2));
        self.canvas.resize(len.max(4096), 0);
    }

    /// Writes a record with a field that is empty or holds bytes that may not stand in a log.
    #[cold]
    #[inline(never)]
    fn push_escaped(&mut self, record: &Record<'_>) -> usize {
        let mut clean = Vec::new();
        let mut ends = [0; Field::COUNT];
        for (end, field) in ends.iter_mut().zip(record.fields) {
            let escaped = push_clean(field, &mut clean);
            self.losses.note_if(escaped, Loss::Escaped);
            *end = clean.len();
        }
        let mut safe = *record;
        let mut start = 0;
        for (field, end) in safe.fields.iter_mut().zip(ends) {
            *field = clean.get(start..end).unwrap_or_default();
            start = end;
        }
        let len = self.push_clean(&safe);
        self.changed = true;
        len
    }

    /// Writes a record in which escaping has made no field longer than its maximum, or has cut it again.
    fn push_clean(&mut self, record: &Record<'_>) -> usize {
        if record
            .fields
            .iter()
            .any(|field| field.len() > FIELD_BYTES_MAX)
        {
            return self.push_long(record);
        }
        self.push_as_is(record)
    }

    /// Writes a record without its optional fields, which would begin another line, or run into the last mandatory
    /// field.
    #[cold]
    #[inline(never)]
    fn push_without_optional(&mut self, record: &Record<'_>) -> usize {
        self.losses.note(Loss::Optional);
        let len = self.push_as_is(&Record {
            optional: Optionals::default(),
            ..*record
        });
        self.changed = true;
        len
    }

    /// Writes a record of which a field or the whole is longer than the form allows.
    #[cold]
    #[inline(never)]
    fn push_long(&mut self, record: &Record<'_>) -> usize {
        let mut safe = *record;
        for field in &mut safe.fields {
            let cut = clip(field, FIELD_BYTES_MAX);
            self.losses.note_if(cut.len() < field.len(), Loss::Cut);
            *field = cut;
        }
        if safe.optional.encoded().len() > RECORD_BYTES_MAX / 4 {
            safe.optional = Optionals::default();
            self.losses.note(Loss::Optional);
        }
        let len = self.push_as_is(&safe);
        self.changed = true;
        len
    }
}

/// Returns whether encoded optional fields may stand behind a record's mandatory fields.
#[inline]
fn stays_in_line(optional: &[u8]) -> bool {
    optional.first() == Some(&b'\t') && memchr::memchr(b'\n', optional).is_none()
}

/// The largest number of ten digits.
pub(crate) const SECONDS_MAX: u64 = 9_999_999_999;
/// The number of bytes besides the fields' own: the separator after each, the mark of an empty one, and room for the
/// last.
const FIELDS_SLACK: usize = 2 * Field::COUNT + 1 + SHORT;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optional::push_optional;

    fn invite() -> Record<'static> {
        let mut record = Record {
            time: Time {
                seconds: 1_328_821_153,
                nanoseconds: 10_000_000,
            },
            flags: Flags::from_letters(*b"RORUU").unwrap(),
            ..Record::default()
        };
        for (field, value) in Field::ALL.into_iter().zip([
            "1 INVITE",
            "-",
            "sip:192.0.2.10",
            "192.0.2.10:5060",
            "192.0.2.200:56485",
            "sip:192.0.2.10",
            "-",
            "sip:1001@example.com:5060",
            "DL88360fa5fc",
            "DL70dff590c1-1079051554@example.com",
            "S1781761-88",
            "C67651-11",
        ]) {
            record.set(field, value.as_bytes());
        }
        record
    }

    #[test]
    fn both_counts_of_pointers_are_read() {
        let mut encoder = Encoder::default();
        encoder.push(&invite());
        let mut bytes = encoder.bytes().to_vec();
        assert_eq!(&bytes[8..12], b"0053");
        assert_eq!(decode(&bytes), Ok((invite(), bytes.len())));
        for at in (8..60).step_by(4) {
            let pointer = hex::u16_of(&bytes[at..at + 4]).unwrap();
            bytes[at..at + 4].copy_from_slice(&hex::of_u16(pointer - 1));
        }
        assert_eq!(decode(&bytes), Ok((invite(), bytes.len())));
        bytes[8..12].copy_from_slice(b"0054");
        assert_eq!(decode(&bytes).unwrap_err().kind, FaultKind::Pointer);
    }

    #[test]
    fn both_places_of_the_optional_pointer_are_read() {
        let mut optional = Vec::new();
        push_optional(0, 0, b"Contact: ", b"<sip:bob@192.0.2.4>", &mut optional);
        let mut record = invite();
        record.optional = Optionals::new(&optional);
        let mut encoder = Encoder::default();
        encoder.push(&record);
        let mut bytes = encoder.bytes().to_vec();
        assert_eq!(check(&bytes), Ok(bytes.len()));
        assert_eq!(decode(&bytes).unwrap().0, record);
        let pointer = hex::u16_of(&bytes[56..60]).unwrap();
        bytes[56..60].copy_from_slice(&hex::of_u16(pointer + 1));
        assert_eq!(decode(&bytes).unwrap().0, record);
    }

    #[test]
    fn every_prefix_is_cut_and_every_changed_byte_is_seen_or_read() {
        let mut encoder = Encoder::default();
        encoder.push(&invite());
        let bytes = encoder.bytes();
        for len in 0..bytes.len() {
            assert_eq!(
                decode(&bytes[..len]).unwrap_err().kind,
                FaultKind::Cut,
                "{len}"
            );
        }
        for at in 0..bytes.len() {
            for change in [1, 0x10, 0x80, 0xff] {
                let mut bytes = bytes.to_vec();
                bytes[at] ^= change;
                if let Ok((_, len)) = decode(&bytes) {
                    assert_eq!(len, bytes.len());
                }
            }
        }
    }

    #[test]
    fn forged_lines_stay_in_their_field() {
        for evil in [
            &b"a\nA000100,0053"[..],
            b"\r\n",
            b"\0",
            b"a\tb",
            b"\x7f",
            b"\xff\xfe\n",
            b"",
        ] {
            for field in Field::ALL {
                let mut record = invite();
                record.set(field, evil);
                let mut encoder = Encoder::default();
                let len = encoder.push(&record);
                assert_eq!(check(encoder.bytes()), Ok(len));
                let lines = encoder
                    .bytes()
                    .iter()
                    .filter(|&&byte| byte == b'\n')
                    .count();
                assert_eq!(lines, 2);
                let changed = encoder.losses().count(Loss::Escaped);
                assert_eq!(changed, u64::from(!evil.is_empty()));
            }
        }
    }

    #[test]
    fn optional_fields_forge_nothing_either() {
        for evil in [&b"\t00@00000000,0001,00,a\nA000100,"[..], b"no separator"] {
            let mut encoder = Encoder::default();
            let len = encoder.push(&Record {
                optional: Optionals::new(evil),
                ..invite()
            });
            assert_eq!(check(encoder.bytes()), Ok(len));
            assert_eq!(encoder.losses().count(Loss::Optional), 1);
        }
    }

    #[test]
    fn long_fields_are_cut_and_counted() {
        let long = vec![b'x'; 70_000];
        let mut record = invite();
        for field in Field::ALL {
            record.set(field, &long);
        }
        let mut encoder = Encoder::default();
        let len = encoder.push(&record);
        assert_eq!(check(encoder.bytes()), Ok(len));
        assert_eq!(encoder.losses().count(Loss::Cut), 12);
    }

    #[test]
    fn fields_of_every_length_are_copied() {
        let text: Vec<u8> = (0..300).map(|n| b'a' + (n % 26) as u8).collect();
        for len in 1..300 {
            let mut record = invite();
            record.set(Field::ToUri, &text[..len]);
            let mut encoder = Encoder::default();
            encoder.push(&record);
            assert_eq!(decode(encoder.bytes()).unwrap().0, record);
        }
    }

    /// A record whose lines end with CR LF was damage.
    #[test]
    fn a_record_with_cr_is_the_same_one() {
        let mut encoder = Encoder::default();
        let optional = b"\t00@00000000,0001,00,a";
        for record in [
            invite(),
            Record {
                optional: Optionals::new(optional),
                ..invite()
            },
        ] {
            encoder.clear();
            let len = encoder.push(&record);
            let text = String::from_utf8(encoder.bytes().to_vec()).unwrap();
            let with_cr = text.replace('\n', "\r\n").into_bytes();
            let found = decode(&with_cr).unwrap();
            assert_eq!(found, (decode(encoder.bytes()).unwrap().0, len + 2));
            assert_eq!(check(&with_cr), Ok(len + 2));
            for end in 0..with_cr.len() {
                let fault = decode(&with_cr[..end]).unwrap_err();
                assert_eq!(fault.kind, FaultKind::Cut, "{end}");
            }
            let mixed = text.replacen('\n', "\r\n", 1).into_bytes();
            assert_eq!(decode(&mixed).unwrap_err().kind, FaultKind::Cut);
            let mixed = [&mixed[..], b"A000100,"].concat();
            assert_eq!(decode(&mixed).unwrap_err().kind, FaultKind::Length);
        }
    }

    #[test]
    fn a_record_is_found_again_behind_damage() {
        let bytes = b"garbage\nAnd more\nA0000E1,0053005E";
        assert_eq!(resynchronise(bytes, 0), Some(17));
        assert_eq!(resynchronise(b"x\nA00", 0), Some(2));
        assert_eq!(resynchronise(b"x\nA00x", 0), None);
    }
}
