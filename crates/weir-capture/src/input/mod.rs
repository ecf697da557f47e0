//! The byte stream under a capture: the source itself, or what gzip or zstd make of it.

mod ahead;
mod gzip;
mod source;
mod zstd;

use std::io::{self, Read};

use crate::{Compression, Error, Options, error::DecompressFailure};

use self::{ahead::Ahead, gzip::Gzip, zstd::Zstd};
pub(crate) use ahead::Watch;
pub(crate) use source::Source;

/// Gives the uncompressed bytes of a source.
pub(crate) enum Input<R> {
    Plain(Source<R>),
    Gzip(Box<Gzip<R>>),
    Zstd(Box<Zstd<R>>),
    /// Any of the others, on a thread of its own.
    Ahead(Box<Ahead>),
}

/// Why no more bytes can be had.
pub(crate) enum InputError {
    Io(io::Error),
    Decompress(Compression, DecompressFailure),
}

impl<R: Read> Input<R> {
    /// Finds the compression by content.
    pub(crate) fn new(source: R, options: &Options) -> Result<Self, InputError> {
        let mut source = Source::new(source, options.buffer_bytes);
        Ok(match sniff(source.peek(MAGIC_BYTES)?) {
            Compression::Gzip => Self::Gzip(Box::new(Gzip::new(source))),
            Compression::Zstd => {
                Self::Zstd(Box::new(Zstd::new(source, options.zstd_window_log_max)?))
            }
            Compression::None => Self::Plain(source),
        })
    }

    /// Takes the bytes as they are.
    pub(crate) fn plain(source: R, options: &Options) -> Self {
        Self::Plain(Source::new(source, options.buffer_bytes))
    }

    /// Reads some bytes; 0 means the end. Retries when interrupted.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<usize, InputError> {
        match self {
            Self::Plain(source) => source.read(out),
            Self::Gzip(gzip) => gzip.read(out),
            Self::Zstd(zstd) => zstd.read(out),
            Self::Ahead(ahead) => ahead.read(out),
        }
    }

    pub(crate) fn compression(&self) -> Compression {
        match self {
            Self::Plain(_) => Compression::None,
            Self::Gzip(_) => Compression::Gzip,
            Self::Zstd(_) => Compression::Zstd,
            Self::Ahead(ahead) => ahead.compression(),
        }
    }

    /// Bytes of the source that the stream given out so far was made of.
    pub(crate) fn source_bytes(&self) -> u64 {
        match self {
            Self::Plain(source) => source.consumed(),
            Self::Gzip(gzip) => gzip.source_bytes(),
            Self::Zstd(zstd) => zstd.source_bytes(),
            Self::Ahead(ahead) => ahead.source_bytes(),
        }
    }
}

impl InputError {
    /// See [`Error::is_pause`].
    pub(crate) fn is_pause(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

impl From<io::Error> for InputError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Io(error) => Self::io(error),
            InputError::Decompress(compression, failure) => Self::decompress(compression, failure),
        }
    }
}

/// The compression that a stream which begins like this has.
pub(crate) fn sniff(prefix: &[u8]) -> Compression {
    match prefix {
        [0x1f, 0x8b, 0x08, ..] => Compression::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
        // A skippable frame (RFC 8878, section 3.1.2): pzstd begins its files with one.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
        _ => Compression::None,
    }
}

const MAGIC_BYTES: usize = 4;
