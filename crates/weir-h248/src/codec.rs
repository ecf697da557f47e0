//! The encodings by name: one function to decode, one to encode.

use std::cell::RefCell;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::{
    Arena, BinaryOptions, Error, ErrorKind, Extension, Limits, Message,
    error::{Failure, FirstFailure, Stop},
    message::MegacoMessage,
    wire::{
        Wire,
        ber::{BerReader, BerWriter},
        compressed,
        erl::{ErlReader, ErlWriter},
        per::{PerReader, PerWriter},
    },
    zlib,
};

/// The first octet of every Erlang term on the wire.
const ERL_VERSION: u8 = 131;
/// Room for the plain term of most messages.
const PLAIN_BYTES: usize = 2048;
/// The tag of a compressed term.
const ERL_COMPRESSED: u8 = 80;

/// Decodes BER.
///
/// # Errors
/// The place and the element where the octets are not BER of a message.
pub fn decode_ber<'a>(
    input: &'a [u8],
    arena: &'a Arena,
    options: BinaryOptions,
) -> Result<Message<'a>, Error> {
    let mut r = BerReader::new(input, arena, options);
    let mut rest = input;
    let read = (|| match r.element(&mut rest)? {
        (0x30, contents) => {
            let message = MegacoMessage::ber_read(contents, &mut r)?;
            if rest.is_empty() {
                Ok(message)
            } else {
                Err(r.fail(ErrorKind::Syntax, rest, "the end of the message"))
            }
        }
        _ => Err(r.fail(ErrorKind::Syntax, input, "a SEQUENCE")),
    })();
    finish(read, std::mem::take(&mut r.failure), input, || {
        r.into_extensions()
    })
}

/// Appends BER.
///
/// # Errors
/// [`ErrorKind::NotEncodable`] when a name or an identifier has no number; nothing is appended then.
pub fn encode_ber(
    message: &Message<'_>,
    options: BinaryOptions,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let start = out.len();
    let mut w = BerWriter::new(out, options, message.extensions);
    MegacoMessage::ber_write(&MegacoMessage::from(*message), 0x10, &mut w);
    let error = w.error;
    written(error, out, start)
}

/// Decodes aligned PER, by the module of the version that the message bears.
///
/// # Errors
/// The place and the element where the octets are not PER of a message.
pub fn decode_per<'a>(
    input: &'a [u8],
    arena: &'a Arena,
    options: BinaryOptions,
) -> Result<Message<'a>, Error> {
    let mut r = PerReader::new(input, arena, options);
    let mut read = MegacoMessage::per_read(&mut r);
    if read.is_ok() && r.remaining() > 0 {
        read = Err(r.fail(ErrorKind::Syntax, "the end of the message"));
    }
    finish(read, std::mem::take(&mut r.failure), input, || {
        r.into_extensions()
    })
}

/// Appends aligned PER, by the module of the version that the message bears.
///
/// # Errors
/// As [`encode_ber`]; also when a value is larger than PER without fragments can encode.
pub fn encode_per(
    message: &Message<'_>,
    options: BinaryOptions,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let start = out.len();
    let mut w = PerWriter::new(out, options, message.extensions);
    MegacoMessage::per_write(&MegacoMessage::from(*message), &mut w);
    w.align();
    let error = w.error;
    written(error, out, start)
}

/// Variants of the Erlang external term format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ErlOptions {
    /// `megaco_compressed`: records become short tuples.
    pub megaco_compressed: bool,
    /// `compressed`: the term is deflated, when that makes it smaller.
    pub compressed: bool,
    /// Atoms as OTP 26 and later write them.
    pub utf8_atoms: bool,
}

/// Decodes an Erlang term of any variant and with any atoms.
///
/// # Errors
/// The place and the record where the octets are no term of a message. The place in a compressed
/// term is one in the term inflated.
pub fn decode_erl<'a>(
    input: &'a [u8],
    arena: &'a Arena,
    options: BinaryOptions,
    limits: Limits,
) -> Result<Message<'a>, Error> {
    let (term, mut input, version_bytes) = match input {
        [ERL_VERSION, ERL_COMPRESSED, rest @ ..] => {
            let term = inflate(rest, arena, limits)?;
            (term, term, 0)
        }
        [ERL_VERSION, rest @ ..] => (rest, input, 1),
        _ => {
            let failure = Failure::new(ErrorKind::Syntax, 0, "the octet 131");
            return Err(Error::from_failure(failure, input, false));
        }
    };
    let mut r = ErlReader::new(term, arena, options);
    let mut version_bytes = version_bytes;
    let read = if compressed::is_compressed(term) {
        compressed::expand(&mut r).and_then(|plain| {
            (input, version_bytes) = (plain, 0);
            r = ErlReader::new(plain, arena, options);
            MegacoMessage::erl_read(&mut r)
        })
    } else {
        MegacoMessage::erl_read(&mut r)
    };
    let read = read.and_then(|message| {
        if r.rest.is_empty() {
            Ok(message)
        } else {
            Err(r.fail(ErrorKind::Syntax, "the end of the message"))
        }
    });
    finish(read, r.failure.behind(version_bytes), input, || &[])
}

/// Appends an Erlang term.
///
/// # Errors
/// [`ErrorKind::NotEncodable`] when the record of the message's version has no place for something.
pub fn encode_erl(
    message: &Message<'_>,
    options: BinaryOptions,
    erl: ErlOptions,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let start = out.len();
    out.push(ERL_VERSION);
    let record = MegacoMessage::from(*message);
    let write = |out: &mut Vec<u8>| {
        let mut w = ErlWriter::new(out, options, erl.utf8_atoms);
        w.cx.version = message.version;
        MegacoMessage::erl_write(&record, &mut w);
        w.error
    };
    let mut error = None;
    if erl.megaco_compressed {
        let mut w = ErlWriter::new(out, options, erl.utf8_atoms);
        let write_plain = |plain: &mut Vec<u8>| {
            plain.reserve(PLAIN_BYTES);
            error = write(plain);
        };
        compressed::compress(write_plain, message.version, &mut w);
        error = error.or(w.error);
    } else {
        error = write(out);
    }
    written(error, out, start)?;
    if erl.compressed {
        deflate(out, start);
    }
    Ok(())
}

fn finish<'a>(
    read: Result<MegacoMessage<'a>, Stop>,
    failure: FirstFailure,
    input: &[u8],
    extensions: impl FnOnce() -> &'a [Extension<'a>],
) -> Result<Message<'a>, Error> {
    match read {
        Ok(message) => Ok(message.with(extensions())),
        Err(Stop) => Err(failure.into_error(0, input, false)),
    }
}

fn written(error: Option<&'static str>, out: &mut Vec<u8>, start: usize) -> Result<(), Error> {
    match error {
        None => Ok(()),
        Some(what) => {
            out.truncate(start);
            Err(Error::new(ErrorKind::NotEncodable, what))
        }
    }
}

thread_local! {
    /// The decompressor has a window that is larger than most messages: it is made once.
    static INFLATER: RefCell<Decompress> = RefCell::new(Decompress::new(true));
}

/// Room behind an inflated term: zlib's fast loop ends where there is less than for the longest match and some octets.
const INFLATE_ROOM_BYTES: usize = 320;

/// The term behind a length of four octets and a zlib stream.
fn inflate<'a>(input: &[u8], arena: &'a Arena, limits: Limits) -> Result<&'a [u8], Error> {
    let fail = |kind, what| Error::from_failure(Failure::new(kind, 2, what), input, false);
    let Some((len, stream)) = input.split_first_chunk::<4>() else {
        return Err(fail(ErrorKind::Cut, "the length of a compressed term"));
    };
    let len = usize::try_from(u32::from_be_bytes(*len)).unwrap_or(usize::MAX);
    if len > limits.message_bytes_max {
        return Err(fail(
            ErrorKind::Limit,
            "octets of a message (message_bytes_max)",
        ));
    }
    // Deflate makes at most 1,032 octets of one: a length beyond that is a lie.
    if len > stream.len().saturating_mul(1032) {
        return Err(fail(ErrorKind::Range, "a length that the stream can have"));
    }
    let mut term = vec![0; len.saturating_add(INFLATE_ROOM_BYTES)];
    let is_whole = INFLATER.with_borrow_mut(|inflater| {
        inflater.reset(true);
        let done = inflater.decompress(stream, &mut term, FlushDecompress::Finish);
        matches!(done, Ok(Status::StreamEnd)) && inflater.total_out() == len as u64
    });
    if !is_whole {
        return Err(fail(
            ErrorKind::Syntax,
            "a zlib stream of the announced length",
        ));
    }
    Ok(arena.list(term.get(..len).unwrap_or_default()))
}

/// Deflates the term that begins at `start`, if that makes it smaller, as Erlang does.
fn deflate(out: &mut Vec<u8>, start: usize) {
    let term = out.get(start.saturating_add(1)..).unwrap_or_default();
    let deflated = zlib::deflate(term).unwrap_or_else(|| {
        // Longer than the study of zlib's ways goes: any deflater will do.
        let mut deflated = vec![0; term.len()];
        let mut deflater = Compress::new(Compression::new(6), true);
        let done = deflater.compress(term, &mut deflated, FlushCompress::Finish);
        let len = usize::try_from(deflater.total_out()).unwrap_or(usize::MAX);
        deflated.truncate(if matches!(done, Ok(Status::StreamEnd)) {
            len
        } else {
            0
        });
        deflated
    });
    if deflated.is_empty() || deflated.len().saturating_add(5) > term.len() {
        return;
    }
    let uncompressed_len = (term.len() as u32).to_be_bytes();
    out.truncate(start);
    out.extend_from_slice(&[ERL_VERSION, ERL_COMPRESSED]);
    out.extend_from_slice(&uncompressed_len);
    out.extend_from_slice(&deflated);
}
