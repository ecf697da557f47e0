//! SEQUENCE OF, and parts behind a reference.

use std::marker::PhantomData;

use super::{
    Wire,
    ber::{BerReader, BerWriter},
    erl::{ErlReader, ErlWriter, ListStart},
    per::{PerReader, PerWriter},
};
use crate::{
    error::{ErrorKind, Stop},
    visit::Visitor,
};

/// The room of a list before its elements are read: the announced number of them may be wrong.
pub(crate) const GROWING_MAX: usize = 16;

/// SEQUENCE OF.
pub(crate) struct List<M>(PhantomData<M>);

impl<'a, M: Wire<'a>> Wire<'a> for List<M>
where
    M::Value: 'a,
{
    type Value = &'a [M::Value];
    const TAG: u8 = 0x10;

    #[inline]
    fn ber_write(value: &Self::Value, tag: u8, w: &mut BerWriter<'_>) {
        w.nested(tag, |w| {
            for item in *value {
                M::ber_write(item, M::TAG, w);
            }
        });
    }

    fn ber_read(contents: &'a [u8], r: &mut BerReader<'a>) -> Result<Self::Value, Stop> {
        let count = r.count(contents)?;
        if count == 0 {
            return Ok(&[]);
        }
        let mut items = r.arena.growing(count);
        let mut rest = contents;
        while !rest.is_empty() {
            let start = rest;
            let (tag, contents) = r.element(&mut rest)?;
            let contents = if M::TAG == 0 {
                start
                    .get(..start.len().saturating_sub(rest.len()))
                    .unwrap_or_default()
            } else if tag == M::TAG | M::FORM {
                contents
            } else {
                return Err(r.fail(ErrorKind::Syntax, start, "an element of the list's type"));
            };
            items.push(M::ber_read(contents, r)?);
        }
        Ok(items.into_bump_slice())
    }

    #[inline]
    fn per_write(value: &Self::Value, w: &mut PerWriter<'_>) {
        w.length(value.len());
        for item in *value {
            M::per_write(item, w);
        }
    }

    fn per_read(r: &mut PerReader<'a>) -> Result<Self::Value, Stop> {
        let count = r.length()?;
        // An element may be as small as a bit; what is left of the input bounds the list.
        if count > r.remaining().saturating_mul(8) {
            return Err(r.fail(ErrorKind::Cut, "as many elements as the list announces"));
        }
        let mut items = r.arena.growing(count.min(GROWING_MAX));
        for _ in 0..count {
            items.push(M::per_read(r)?);
        }
        Ok(items.into_bump_slice())
    }

    fn erl_write(value: &Self::Value, w: &mut ErlWriter<'_>) {
        w.list(value.len());
        for item in *value {
            M::erl_write(item, w);
        }
        w.nil();
    }

    fn erl_read(r: &mut ErlReader<'a>) -> Result<Self::Value, Stop> {
        let count = match r.list()? {
            ListStart::Empty => return Ok(&[]),
            ListStart::Octets(_) => {
                return Err(r.fail(ErrorKind::Syntax, "a list of terms"));
            }
            ListStart::Elements(count) => count,
        };
        let mut items = r.arena.growing(count.min(GROWING_MAX));
        for _ in 0..count {
            items.push(M::erl_read(r)?);
        }
        r.end_list()?;
        Ok(items.into_bump_slice())
    }

    fn visit(value: &Self::Value, visitor: &mut dyn Visitor) {
        visitor.begin_list();
        for item in *value {
            M::visit(item, visitor);
        }
        visitor.end_list();
    }
}

/// A large value in the arena, so that the record that has it stays small.
pub(crate) struct Ref<M>(PhantomData<M>);

impl<'a, M: Wire<'a>> Wire<'a> for Ref<M>
where
    M::Value: 'a,
{
    type Value = &'a M::Value;
    const TAG: u8 = M::TAG;

    #[inline]
    fn ber_write(value: &Self::Value, tag: u8, w: &mut BerWriter<'_>) {
        M::ber_write(value, tag, w);
    }
    fn ber_read(contents: &'a [u8], r: &mut BerReader<'a>) -> Result<Self::Value, Stop> {
        let value = M::ber_read(contents, r)?;
        Ok(r.arena.keep(value))
    }
    #[inline]
    fn per_write(value: &Self::Value, w: &mut PerWriter<'_>) {
        M::per_write(value, w);
    }
    fn per_read(r: &mut PerReader<'a>) -> Result<Self::Value, Stop> {
        let value = M::per_read(r)?;
        Ok(r.arena.keep(value))
    }
    fn erl_write(value: &Self::Value, w: &mut ErlWriter<'_>) {
        M::erl_write(value, w);
    }
    fn erl_read(r: &mut ErlReader<'a>) -> Result<Self::Value, Stop> {
        let value = M::erl_read(r)?;
        Ok(r.arena.keep(value))
    }
    fn visit(value: &Self::Value, visitor: &mut dyn Visitor) {
        M::visit(value, visitor);
    }
}

/// Embedded events, actions and signals, which may lie in one another: bounds the nesting, and
/// restores the number of the enclosing event for the parameters that follow.
pub(crate) struct Embedded<M>(PhantomData<M>);

/// The maximum depth of nested embedded descriptors. The protocol itself uses one or two.
pub(crate) const EMBEDDED_DEPTH_MAX: u8 = 16;

macro_rules! enter {
    ($r:ident, $fail:expr, $read:expr) => {{
        let outside = $r.cx;
        if outside.depth >= EMBEDDED_DEPTH_MAX {
            return Err($fail);
        }
        $r.cx.depth = outside.depth.saturating_add(1);
        let value = $read;
        ($r.cx.depth, $r.cx.item) = (outside.depth, outside.item);
        value
    }};
}

impl<'a, M: Wire<'a>> Wire<'a> for Embedded<M> {
    type Value = M::Value;
    const TAG: u8 = M::TAG;

    #[inline]
    fn ber_write(value: &Self::Value, tag: u8, w: &mut BerWriter<'_>) {
        let item = w.cx.item;
        M::ber_write(value, tag, w);
        w.cx.item = item;
    }
    fn ber_read(contents: &'a [u8], r: &mut BerReader<'a>) -> Result<Self::Value, Stop> {
        enter!(
            r,
            r.fail(ErrorKind::Limit, contents, DEPTH),
            M::ber_read(contents, r)
        )
    }
    #[inline]
    fn per_write(value: &Self::Value, w: &mut PerWriter<'_>) {
        let item = w.cx.item;
        M::per_write(value, w);
        w.cx.item = item;
    }
    fn per_read(r: &mut PerReader<'a>) -> Result<Self::Value, Stop> {
        enter!(r, r.fail(ErrorKind::Limit, DEPTH), M::per_read(r))
    }
    fn erl_write(value: &Self::Value, w: &mut ErlWriter<'_>) {
        M::erl_write(value, w);
    }
    fn erl_read(r: &mut ErlReader<'a>) -> Result<Self::Value, Stop> {
        enter!(r, r.fail(ErrorKind::Limit, DEPTH), M::erl_read(r))
    }
    fn visit(value: &Self::Value, visitor: &mut dyn Visitor) {
        M::visit(value, visitor);
    }
}

pub(crate) const DEPTH: &str = "nested embedded descriptors";
