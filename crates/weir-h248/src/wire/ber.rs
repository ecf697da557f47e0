//! BER: tag, length, contents (ITU-T X.690), as RFC 3525 Annex A prescribes.

use super::Context;
use crate::{
    Arena, BinaryOptions, Extension, ExtensionContent,
    error::{ErrorKind, FirstFailure, Stop},
    extension::{RecordNumbers, of_record},
    octets,
};

/// Appends BER. A length is patched once its contents are written: most are below 128 and fit the
/// octet that was left for them.
pub(crate) struct BerWriter<'o> {
    pub(crate) out: &'o mut Vec<u8>,
    pub(crate) cx: Context,
    pub(crate) error: Option<&'static str>,
    extensions: &'o [Extension<'o>],
    pub(crate) records: RecordNumbers,
}

pub(crate) const CONSTRUCTED: u8 = 0x20;

impl<'o> BerWriter<'o> {
    pub(crate) fn new(
        out: &'o mut Vec<u8>,
        options: BinaryOptions,
        extensions: &'o [Extension<'o>],
    ) -> Self {
        Self {
            out,
            cx: Context::new(options),
            error: None,
            extensions,
            records: RecordNumbers::default(),
        }
    }

    #[inline]
    pub(crate) fn has_no_extensions(&self) -> bool {
        self.extensions.is_empty()
    }

    /// Appends what is known of no version, behind what is.
    #[inline]
    pub(crate) fn additions(&mut self, record: u32) {
        if !self.extensions.is_empty() {
            for extension in of_record(self.extensions, record) {
                if let ExtensionContent::Ber(octets) = extension.content {
                    self.out.extend_from_slice(octets);
                }
            }
        }
    }

    pub(crate) fn fail(&mut self, what: &'static str) {
        self.error.get_or_insert(what);
    }

    /// A constructed value whose contents `write` appends.
    #[inline]
    pub(crate) fn nested(&mut self, tag: u8, write: impl FnOnce(&mut Self)) {
        self.out.extend_from_slice(&[tag | CONSTRUCTED, 0]);
        let start = self.out.len();
        write(self);
        self.patch(start);
    }

    #[inline]
    fn patch(&mut self, start: usize) {
        let len = self.out.len().saturating_sub(start);
        if len < 128 {
            if let Some(octet) = self.out.get_mut(start.wrapping_sub(1)) {
                *octet = len as u8;
            }
        } else if len < 256 {
            // The outer levels of nearly every message need one octet more.
            self.out.push(0);
            let end = self.out.len().wrapping_sub(1);
            self.out.copy_within(start..end, start.wrapping_add(1));
            let place = self.out.get_mut(start.wrapping_sub(1)..);
            if let Some(place) = place.and_then(<[u8]>::first_chunk_mut::<2>) {
                *place = [0x81, len as u8];
            }
        } else {
            self.patch_long(start, len);
        }
    }

    #[inline(never)]
    fn patch_long(&mut self, start: usize, len: usize) {
        let octets = (len as u64).to_be_bytes();
        let zeros = octets.iter().take_while(|octet| **octet == 0).count();
        let significant = octets.get(zeros..).unwrap_or_default();
        if let Some(octet) = self.out.get_mut(start.wrapping_sub(1)) {
            *octet = 0x80 | significant.len() as u8;
        }
        let end = self.out.len();
        self.out.extend_from_slice(significant);
        self.out
            .copy_within(start..end, start.saturating_add(significant.len()));
        for (at, octet) in significant.iter().enumerate() {
            if let Some(place) = self.out.get_mut(start.saturating_add(at)) {
                *place = *octet;
            }
        }
    }

    #[inline]
    pub(crate) fn octets(&mut self, tag: u8, octets: &[u8]) {
        if octets.len() < 128 {
            self.out.extend_from_slice(&[tag, octets.len() as u8]);
            octets::push(self.out, octets);
        } else {
            self.out.extend_from_slice(&[tag, 0]);
            let start = self.out.len();
            self.out.extend_from_slice(octets);
            self.patch(start);
        }
    }

    /// A non-negative INTEGER in as few octets as its sign bit permits.
    #[inline]
    pub(crate) fn unsigned(&mut self, tag: u8, value: u32) {
        if value < 0x80 {
            self.out.extend_from_slice(&[tag, 1, value as u8]);
            return;
        }
        // The number is its bits and a sign bit of 0, in whole octets.
        let len = (32 - value.leading_zeros()) / 8 + 1;
        let digits = (u64::from(value) << (64 - 8 * len)).to_be_bytes();
        let [a, b, c, d, e, ..] = digits;
        let end = self.out.len().wrapping_add(len as usize).wrapping_add(2);
        self.out
            .extend_from_slice(&[tag, len as u8, a, b, c, d, e, 0]);
        self.out.truncate(end);
    }
}

/// Reads BER out of one message.
pub(crate) struct BerReader<'a> {
    input: &'a [u8],
    pub(crate) arena: &'a Arena,
    pub(crate) cx: Context,
    pub(crate) failure: FirstFailure,
    /// Elements of extensions that this crate does not decode.
    extensions: bumpalo::collections::Vec<'a, Extension<'a>>,
    pub(crate) records: RecordNumbers,
}

impl<'a> BerReader<'a> {
    pub(crate) fn new(input: &'a [u8], arena: &'a Arena, options: BinaryOptions) -> Self {
        Self {
            input,
            arena,
            cx: Context::new(options),
            failure: FirstFailure::default(),
            extensions: arena.growing(0),
            records: RecordNumbers::default(),
        }
    }

    /// The additions beyond the known versions.
    pub(crate) fn into_extensions(self) -> &'a [Extension<'a>] {
        self.extensions.into_bump_slice()
    }

    /// Stops at the start of `at`, which is a part of the input.
    #[cold]
    pub(crate) fn fail(&mut self, kind: ErrorKind, at: &[u8], expected: &'static str) -> Stop {
        let offset = (at.as_ptr() as usize).wrapping_sub(self.input.as_ptr() as usize);
        let offset = if offset <= self.input.len() {
            offset
        } else {
            0
        };
        self.failure.at(kind, offset, expected)
    }

    /// Reads one element: its tag octet and its contents.
    #[inline]
    pub(crate) fn element(&mut self, rest: &mut &'a [u8]) -> Result<(u8, &'a [u8]), Stop> {
        if let [tag, len, after @ ..] = *rest
            && *len < 128
            && *tag & 0x1f != 0x1f
            && let Some((contents, next)) = after.split_at_checked(usize::from(*len))
        {
            *rest = next;
            return Ok((*tag, contents));
        }
        // The outer levels of most messages have lengths of two or three octets.
        let long = match *rest {
            [tag, 0x81, len, after @ ..] => Some((tag, usize::from(*len), after)),
            [tag, 0x82, high, low, after @ ..] => {
                Some((tag, usize::from(u16::from_be_bytes([*high, *low])), after))
            }
            _ => None,
        };
        if let Some((tag, len, after)) = long
            && *tag & 0x1f != 0x1f
            && let Some((contents, next)) = after.split_at_checked(len)
        {
            *rest = next;
            return Ok((*tag, contents));
        }
        self.element_slow(rest)
    }

    #[inline(never)]
    fn element_slow(&mut self, rest: &mut &'a [u8]) -> Result<(u8, &'a [u8]), Stop> {
        let start = *rest;
        let Some(((tag, contents), next)) = long_element(start, 0) else {
            return Err(self.fail(
                ErrorKind::Cut,
                start,
                "a tag, a length and contents of that length",
            ));
        };
        *rest = next;
        Ok((tag, contents))
    }

    /// The contents of the component with the number and the form, when it comes next.
    #[inline]
    pub(crate) fn component(
        &mut self,
        rest: &mut &'a [u8],
        number: u8,
        form: u8,
    ) -> Result<Option<&'a [u8]>, Stop> {
        match rest.first().map(|tag| tag ^ (0x80 | number | form)) {
            Some(0) => self.element(rest).map(|(_, contents)| Some(contents)),
            Some(CONSTRUCTED) => Err(self.other_form(rest)),
            _ => Ok(None),
        }
    }

    /// The error of an element whose form, primitive or constructed, does not match its type (X.690 8.1.2.5).
    #[cold]
    fn other_form(&mut self, at: &[u8]) -> Stop {
        self.fail(
            ErrorKind::Syntax,
            at,
            "the constructed bit that the type requires",
        )
    }

    /// Checks that nothing follows an alternative under its tag.
    #[inline]
    pub(crate) fn end(&mut self, rest: &'a [u8]) -> Result<(), Stop> {
        if rest.is_empty() {
            return Ok(());
        }
        Err(self.fail(ErrorKind::Syntax, rest, "the end of the element"))
    }

    /// The number of elements in `contents`, which bounds the length of a list.
    #[inline]
    pub(crate) fn count(&mut self, contents: &'a [u8]) -> Result<usize, Stop> {
        let mut rest = contents;
        let mut count = 0_usize;
        while !rest.is_empty() {
            self.element(&mut rest)?;
            count = count.saturating_add(1);
        }
        Ok(count)
    }

    /// Keeps components that are not known, of a record that may have such; its number is given.
    pub(crate) fn finish(&mut self, rest: &'a [u8], record: Option<u32>) -> Result<(), Stop> {
        let Some(record) = record else {
            return Err(self.fail(ErrorKind::Syntax, rest, "the end of the element"));
        };
        self.count(rest)?;
        self.extensions.push(Extension {
            record,
            content: ExtensionContent::Ber(rest),
        });
        Ok(())
    }

    #[inline]
    pub(crate) fn unsigned(&mut self, contents: &'a [u8], max: u32) -> Result<u32, Stop> {
        if let [value] = contents
            && *value < 0x80
            && u32::from(*value) <= max
        {
            return Ok(u32::from(*value));
        }
        let significant = match contents {
            [0, rest @ ..] => rest,
            [first, ..] if *first < 0x80 => contents,
            _ => return Err(self.fail(ErrorKind::Range, contents, "a non-negative number")),
        };
        if significant.len() > 4 {
            return Err(self.fail(ErrorKind::Range, contents, "a number of 32 bits"));
        }
        let value = significant
            .iter()
            .fold(0_u32, |sum, octet| sum << 8 | u32::from(*octet));
        if value > max {
            return Err(self.fail(ErrorKind::Range, contents, "a smaller number"));
        }
        Ok(value)
    }
}

type Element<'a> = ((u8, &'a [u8]), &'a [u8]);

/// An element with a long tag, a long length or an indefinite one.
fn long_element(input: &[u8], depth: u8) -> Option<Element<'_>> {
    let (&tag, mut rest) = input.split_first()?;
    if tag & 0x1f == 0x1f {
        // A tag of several octets: only an extension has one, and it is passed over.
        let more = rest.iter().position(|octet| octet & 0x80 == 0)?;
        rest = rest.get(more.checked_add(1)?..)?;
    }
    let (&len, rest) = rest.split_first()?;
    if len < 0x80 {
        let (contents, next) = rest.split_at_checked(usize::from(len))?;
        return Some(((tag, contents), next));
    }
    if len > 0x80 {
        let (len, rest) = rest.split_at_checked(usize::from(len & 0x7f))?;
        if len.len() > 8 {
            return None;
        }
        let len = len
            .iter()
            .fold(0_u64, |sum, octet| sum << 8 | u64::from(*octet));
        let (contents, next) = rest.split_at_checked(usize::try_from(len).ok()?)?;
        return Some(((tag, contents), next));
    }
    // The indefinite form has elements up to two zero octets.
    if tag & CONSTRUCTED == 0 || depth >= INDEFINITE_DEPTH_MAX {
        return None;
    }
    let mut at = rest;
    loop {
        if let [0, 0, next @ ..] = at {
            let used = rest.len().checked_sub(at.len())?;
            return Some(((tag, rest.get(..used)?), next));
        }
        (_, at) = long_element(at, depth.checked_add(1)?)?;
    }
}

/// The maximum depth of nested indefinite lengths.
const INDEFINITE_DEPTH_MAX: u8 = 32;
