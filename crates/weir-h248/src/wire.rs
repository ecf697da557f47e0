//! The three binary encodings of each part of a message.
//!
//! A type of the protocol implements [`Wire`], mostly through the macros of [`schema`], which have all that is in the
//! ASN.1 at one place: tags, optionality, extensions, constraints. A *marker* is a type without values that implements
//! [`Wire`] for a constrained leaf, such as `INTEGER (0..99)`.

#[macro_use]
mod schema;

pub(crate) mod ber;
pub(crate) mod compressed;
pub(crate) mod erl;
pub(crate) mod leaf;
pub(crate) mod list;
pub(crate) mod per;
pub(crate) mod termination;

use crate::{BinaryOptions, error::Stop, visit::Visitor};
use ber::{BerReader, BerWriter};
use erl::{ErlReader, ErlWriter};
use per::{PerReader, PerWriter};

/// One ASN.1 type, or the same type under a constraint.
pub(crate) trait Wire<'a> {
    /// The type of the value.
    type Value: Copy;

    /// The universal tag; 0 for a CHOICE, which has no tag.
    const TAG: u8;

    /// The constructed bit of the tag in BER, which is set where the contents are elements themselves. BER also permits it for
    /// strings that are split into parts; the reader refuses these, as no known encoder writes them.
    const FORM: u8 = if matches!(Self::TAG, 0 | 0x10) {
        ber::CONSTRUCTED
    } else {
        0
    };

    /// Writes tag, length and contents. `tag` is without the constructed bit; 0 for a CHOICE that
    /// stands untagged in a list.
    fn ber_write(value: &Self::Value, tag: u8, w: &mut BerWriter<'_>);
    /// Reads the contents under a tag; for a CHOICE, the tag of the alternative and what follows.
    fn ber_read(contents: &'a [u8], r: &mut BerReader<'a>) -> Result<Self::Value, Stop>;

    fn per_write(value: &Self::Value, w: &mut PerWriter<'_>);
    fn per_read(r: &mut PerReader<'a>) -> Result<Self::Value, Stop>;

    fn erl_write(value: &Self::Value, w: &mut ErlWriter<'_>);
    fn erl_read(r: &mut ErlReader<'a>) -> Result<Self::Value, Stop>;

    fn visit(value: &Self::Value, visitor: &mut dyn Visitor);
}

/// The context of a binary encoder or decoder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    pub(crate) options: BinaryOptions,
    /// Version of the message, once known.
    pub(crate) version: u8,
    /// The number of the event or signal whose parameters are being written or read.
    pub(crate) item: u32,
    /// The number of embedded descriptors around this place.
    pub(crate) depth: u8,
}

impl Context {
    pub(crate) fn new(options: BinaryOptions) -> Self {
        Self {
            options,
            version: 0,
            item: 0,
            depth: 0,
        }
    }
}
