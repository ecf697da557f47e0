//! Additions of later versions of the protocol, or of vendors, to its records, in the encoding of the message.

use crate::message::property::PropertyParm;

/// A part of a message that the protocol has no name for, as it was read: components of ASN.1 records beyond
/// version 3, extension parameters of text (`X-abc=1`).
///
/// They belong to the encoding that they were read from, which writes them again where they were;
/// the other encodings have no place for them and leave them out, as Erlang does. They play no part
/// in comparing messages. A message that is changed otherwise than by replacing
/// values keeps them in place only as long as the number of its records in front of them stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extension<'a> {
    /// The record that has it. In BER and PER: the number of extensible records of the message that begin before it, in the order
    /// of ASN.1. In text: the number of ServiceChange requests before the one that has it.
    pub record: u32,
    /// The components.
    pub content: ExtensionContent<'a>,
}

/// The unknown content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExtensionContent<'a> {
    /// BER: the elements with their tags and lengths, to the end of the record.
    Ber(&'a [u8]),
    /// PER: one addition, the contents of its open type.
    Per {
        /// The index among the additions of the record, from 0.
        index: u8,
        /// The number of additions of the record in the sender's version, used or not: 1 to 32.
        count: u8,
        /// The contents.
        octets: &'a [u8],
    },
    /// Text: an extension parameter of a ServiceChange request (RFC 3525 B.2, `extension`).
    Text(PropertyParm<'a>),
}

/// The extensions of one record, which stand side by side.
pub(crate) fn of_record<'e>(extensions: &'e [Extension<'e>], record: u32) -> &'e [Extension<'e>] {
    let here = |extension: &Extension<'_>| extension.record == record;
    let start = extensions.iter().position(here).unwrap_or(extensions.len());
    let found = extensions.get(start..).unwrap_or_default();
    let len = found
        .iter()
        .position(|extension| extension.record != record);
    found.get(..len.unwrap_or(found.len())).unwrap_or_default()
}

/// The numbers of the extensible records of a message, in the order in which they begin.
#[derive(Debug, Default)]
pub(crate) struct RecordNumbers(u32);

impl RecordNumbers {
    /// The number of the record that begins.
    #[inline]
    pub(crate) fn begin(&mut self) -> u32 {
        let record = self.0;
        self.0 = record.wrapping_add(1);
        record
    }
}
