//! Any encoding by its name, and found by content.

use crate::{
    Arena, BinaryOptions, ErlOptions, Error, ErrorKind, Limits, Message, TextOptions, TextStyle,
    codec::{decode_ber, decode_erl, decode_per, encode_ber, encode_erl, encode_per},
    error::Failure,
    text::{BYTE_ORDER_MARK, decode_text, encode_compact, encode_pretty},
};

/// An encoding of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// Text with long words, a line an element.
    Pretty,
    /// Text with short words. Decoders make no difference between the two.
    Compact,
    /// BER of ASN.1.
    Ber,
    /// Aligned PER of ASN.1.
    Per,
    /// The Erlang external term format; [`ErlOptions`] chooses among its variants.
    Erl,
}

/// Choices for decoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeOptions {
    /// The options of text.
    pub text: TextOptions,
    /// The options of BER, PER and Erlang terms.
    pub binary: BinaryOptions,
    /// The limits of a message.
    pub limits: Limits,
}

/// Choices for encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodeOptions {
    /// The style of text.
    pub text: TextStyle,
    /// The options of BER, PER and Erlang terms.
    pub binary: BinaryOptions,
    /// The options of Erlang terms.
    pub erl: ErlOptions,
}

/// The encoding that the octets look like: text (as [`Encoding::Pretty`] when it begins with a long word), an Erlang term, BER,
/// else PER. `None` when they are empty, or no encoding begins like them.
///
/// Looks at the first few octets only.
#[must_use]
pub fn detect(input: &[u8]) -> Option<Encoding> {
    let text = input.strip_prefix(&BYTE_ORDER_MARK).unwrap_or(input);
    let text = text.trim_ascii_start();
    match (input, text) {
        ([131, ..], _) => Some(Encoding::Erl),
        // A SEQUENCE whose first component is a header or a message.
        ([0x30, len, tag, ..], _) if *len < 0x80 && matches!(tag, 0xa0 | 0xa1) => {
            Some(Encoding::Ber)
        }
        ([0x30, 0x80..=0x88, ..], _) => Some(Encoding::Ber),
        (_, [b'!', b'/', b'0'..=b'9', ..]) => Some(Encoding::Compact),
        (_, [b';', ..]) => Some(Encoding::Pretty),
        (_, [word @ .., _]) if starts_with(word, b"MEGACO/") => Some(Encoding::Pretty),
        (_, [word @ .., _]) if starts_with(word, b"Authentication") => Some(Encoding::Pretty),
        (_, [b'A' | b'a', b'U' | b'u', b'=' | b' ', ..]) => Some(Encoding::Compact),
        // The first bit is set when there is a header; versions 1 to 3 without one are in nine bits.
        ([0x00 | 0x01, ..], _) => Some(Encoding::Per),
        ([first, ..], _) if first & 0x80 != 0 => Some(Encoding::Per),
        _ => None,
    }
}

fn starts_with(text: &[u8], word: &[u8]) -> bool {
    text.get(..word.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// Decodes a message whose encoding is found by content.
///
/// # Errors
/// [`ErrorKind::UnknownEncoding`] when it begins like no encoding; else as the decoder of that encoding.
pub fn decode<'a>(
    input: &'a [u8],
    arena: &'a Arena,
    options: &DecodeOptions,
) -> Result<Message<'a>, Error> {
    match detect(input) {
        Some(encoding) => decode_as(encoding, input, arena, options),
        None => {
            let failure = Failure::new(ErrorKind::UnknownEncoding, 0, "a Megaco message");
            Err(Error::from_failure(failure, input, false))
        }
    }
}

/// Decodes a message of a known encoding.
///
/// # Errors
/// As the decoder of that encoding; [`ErrorKind::Limit`] when the input is too long.
pub fn decode_as<'a>(
    encoding: Encoding,
    input: &'a [u8],
    arena: &'a Arena,
    options: &DecodeOptions,
) -> Result<Message<'a>, Error> {
    if input.len() > options.limits.message_bytes_max {
        let what = "octets of a message (message_bytes_max)";
        return Err(Error::from_failure(
            Failure::new(ErrorKind::Limit, 0, what),
            &[],
            false,
        ));
    }
    match encoding {
        Encoding::Pretty | Encoding::Compact => decode_text(input, arena, options.text),
        Encoding::Ber => decode_ber(input, arena, options.binary),
        Encoding::Per => decode_per(input, arena, options.binary),
        Encoding::Erl => decode_erl(input, arena, options.binary, options.limits),
    }
}

/// Appends a message in an encoding.
///
/// # Errors
/// [`ErrorKind::NotEncodable`] when the encoding has no place for something in it.
pub fn encode(
    message: &Message<'_>,
    encoding: Encoding,
    options: &EncodeOptions,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    match encoding {
        Encoding::Pretty => encode_pretty(message, options.text, out),
        Encoding::Compact => encode_compact(message, options.text, out),
        Encoding::Ber => encode_ber(message, options.binary, out),
        Encoding::Per => encode_per(message, options.binary, out),
        Encoding::Erl => encode_erl(message, options.binary, options.erl, out),
    }
}

/// A message to keep: its octets, which it decodes again on demand.
///
/// That is smaller than a tree of values and decodes in less time than such a tree takes to copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedMessage {
    octets: Box<[u8]>,
    encoding: Encoding,
    options: DecodeOptions,
}

impl OwnedMessage {
    /// Keeps a message as it was read.
    ///
    /// # Errors
    /// As [`decode_as`], because the octets have to decode.
    pub fn new(encoding: Encoding, input: &[u8], options: &DecodeOptions) -> Result<Self, Error> {
        decode_as(encoding, input, &Arena::new(), options)?;
        Ok(Self {
            octets: input.into(),
            encoding,
            options: *options,
        })
    }

    /// The octets as they were read.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// Their encoding.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// The value.
    ///
    /// # Errors
    /// The octets were decoded when the message was made, so that in practice there is no error.
    pub fn get<'a>(&'a self, arena: &'a Arena) -> Result<Message<'a>, Error> {
        decode_as(self.encoding, &self.octets, arena, &self.options)
    }
}
