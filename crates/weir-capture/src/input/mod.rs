//! The byte stream under a capture: the source itself, or what is unpacked of it.
//!
//! This is the one place where compressions are known: [`sniff`] by how they begin, [`Input::of`] by what unpacks them.

mod ahead;
mod bzip2;
mod error;
mod gzip;
mod lz4;
mod member;
mod source;
mod xz;
mod zstd;

use std::fmt;
use std::io::{self, Read};

use crate::{Compression, ReadOptions};

use self::{ahead::Ahead, bzip2::Bzip2, gzip::Gzip, lz4::Lz4, xz::Xz, zstd::Zstd};
pub(crate) use ahead::Watch;
pub(crate) use error::InputError;
pub(crate) use member::{Member, Packed};
pub(crate) use source::Source;

/// The uncompressed bytes of a source.
pub(crate) enum Input<R: Read> {
    Plain(Source<R>),
    Gzip(Box<Gzip<R>>),
    Zstd(Box<Zstd<R>>),
    Xz(Box<Xz<R>>),
    Bzip2(Box<Bzip2<R>>),
    Lz4(Box<Lz4<R>>),
    /// Any of the others, on a thread of its own.
    Ahead(Box<Ahead>),
}

impl<R: Read> Input<R> {
    /// Finds the compression by content.
    pub(crate) fn new(source: R, options: &ReadOptions) -> Result<Self, InputError> {
        let mut source = Source::new(source, options.buffer_bytes);
        let compression = sniff(source.peek(MAGIC_BYTES)?);
        Self::of(source, compression, options)
    }

    /// Unpacks what is compressed so.
    fn of(
        source: Source<R>,
        compression: Compression,
        options: &ReadOptions,
    ) -> Result<Self, InputError> {
        let window_log_max = options.zstd_window_log_max;
        Ok(match compression {
            Compression::Gzip => Self::Gzip(Box::new(Gzip::new(source))),
            Compression::Zstd => Self::Zstd(Box::new(Zstd::new(source, window_log_max)?)),
            Compression::Xz => Self::Xz(Box::new(Xz::new(source, window_log_max))),
            Compression::Bzip2 => Self::Bzip2(Box::new(Bzip2::new(source))),
            Compression::Lz4 => Self::Lz4(Box::new(Lz4::new(source))),
            // A member of an archive is decompressed already.
            Compression::None | Compression::Zip => Self::Plain(source),
        })
    }

    /// The bytes without decompression.
    pub(crate) fn plain(source: R, options: &ReadOptions) -> Self {
        Self::Plain(Source::new(source, options.buffer_bytes))
    }

    /// Reads some bytes; 0 means the end. Retries when interrupted.
    pub(crate) fn read(&mut self, out: &mut [u8]) -> Result<usize, InputError> {
        match self {
            Self::Plain(source) => source.read(out),
            Self::Gzip(gzip) => gzip.read(out),
            Self::Zstd(zstd) => zstd.read(out),
            Self::Xz(xz) => xz.read(out),
            Self::Bzip2(bzip2) => bzip2.read(out),
            Self::Lz4(lz4) => lz4.read(out),
            Self::Ahead(ahead) => ahead.read(out),
        }
    }

    pub(crate) fn compression(&self) -> Compression {
        match self {
            Self::Plain(_) => Compression::None,
            Self::Gzip(_) => Compression::Gzip,
            Self::Zstd(_) => Compression::Zstd,
            Self::Xz(_) => Compression::Xz,
            Self::Bzip2(_) => Compression::Bzip2,
            Self::Lz4(_) => Compression::Lz4,
            Self::Ahead(ahead) => ahead.compression(),
        }
    }

    /// Bytes of the source from which the stream returned so far was made.
    pub(crate) fn source_bytes(&self) -> u64 {
        match self {
            Self::Plain(source) => source.consumed(),
            Self::Gzip(gzip) => gzip.source_bytes(),
            Self::Zstd(zstd) => zstd.source_bytes(),
            Self::Xz(xz) => xz.source_bytes(),
            Self::Bzip2(bzip2) => bzip2.source_bytes(),
            Self::Lz4(lz4) => lz4.source_bytes(),
            Self::Ahead(ahead) => ahead.source_bytes(),
        }
    }
}

/// The bytes of a source, unpacked when it is compressed, which is found by how it begins.
///
/// ```
/// use std::io::Read;
/// let mut text = String::new();
/// weir_capture::Uncompressed::new(&b"time,source\n"[..])?.read_to_string(&mut text)?;
/// assert_eq!(text, "time,source\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Uncompressed<R: Read>(Input<R>);

impl<R: Read> Uncompressed<R> {
    /// Reads the first bytes.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn new(source: R) -> io::Result<Self> {
        let input = Input::new(source, &ReadOptions::default());
        Ok(Self(input.map_err(io::Error::from)?))
    }

    /// The compression of the source.
    #[must_use]
    pub fn compression(&self) -> Compression {
        self.0.compression()
    }
}

impl<R: Read> Read for Uncompressed<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out).map_err(io::Error::from)
    }
}

impl<R: Read> fmt::Debug for Uncompressed<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Uncompressed")
            .field(&self.compression())
            .finish()
    }
}

/// The compression that a stream which begins like this has.
pub(crate) fn sniff(prefix: &[u8]) -> Compression {
    match prefix {
        [0x1f, 0x8b, 0x08, ..] => Compression::Gzip,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
        // A skippable frame (RFC 8878, section 3.1.2): pzstd begins its files with one.
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Compression::Zstd,
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
        // The digits of pi begin a block, and those of its square root the end of a stream without any.
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, ..] => Compression::Bzip2,
        [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, ..] => Compression::Bzip2,
        [0x04, 0x22, 0x4d, 0x18, ..] => Compression::Lz4,
        _ => Compression::None,
    }
}

const MAGIC_BYTES: usize = 6;
