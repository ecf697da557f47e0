//! The bytes of a member of a zip archive, which say at their end whether they are what was put in.

use std::io::{self, Read};

use flate2::Crc;

use super::{Gzip, Input, InputError, Source};
use crate::{Compression, ReadOptions, error::DecompressFailure};

/// The storage of a member in the archive, with its expected contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    /// The number of the compression method (APPNOTE, section 4.4.5).
    pub(crate) method: u16,
    /// The checksum and the length of the contents, if the archive has them.
    pub(crate) expected: Option<(u32, u64)>,
    /// The archive has lost its end: reading fails at the end of this member.
    pub(crate) cut: bool,
}

/// Reads a member.
pub(crate) struct Member<R: Read> {
    input: Input<R>,
    packed: Packed,
    crc: Crc,
    len: u64,
    ended: bool,
}

impl<R: Read> Member<R> {
    /// Unpacks what `source` gives.
    ///
    /// # Errors
    /// When the compression method is not supported.
    pub(crate) fn new(source: R, packed: &Packed) -> Result<Self, InputError> {
        let options = ReadOptions::default();
        let source = Source::new(source, options.buffer_bytes);
        let compression = match packed.method {
            0 => Compression::None,
            8 => Compression::Zip,
            12 => Compression::Bzip2,
            93 => Compression::Zstd,
            95 => Compression::Xz,
            _ => {
                let what = "the compression method is not store, deflate, bzip2, zstd or xz";
                return Err(failure(what, 0));
            }
        };
        let input = match compression {
            Compression::Zip => Input::Gzip(Box::new(Gzip::bare(source))),
            _ => Input::of(source, compression, &options)?,
        };
        Ok(Self {
            input,
            packed: packed.clone(),
            crc: Crc::new(),
            len: 0,
            ended: false,
        })
    }

    fn check_end(&mut self) -> Result<(), InputError> {
        let offset = self.input.source_bytes();
        if let Some((crc, len)) = self.packed.expected {
            if len != self.len {
                let what = match self.len < len {
                    true => "the file is cut short",
                    false => "the length does not match the data",
                };
                return Err(failure(what, offset));
            }
            if crc != self.crc.sum() {
                return Err(failure("the checksum does not match the data", offset));
            }
        }
        match self.packed.cut {
            true => Err(failure(
                "the archive is cut short: it has no directory of its members",
                offset,
            )),
            false => Ok(()),
        }
    }
}

impl<R: Read> Read for Member<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.ended || out.is_empty() {
            return Ok(0);
        }
        let outcome = self.input.read(out);
        let read = match outcome {
            Ok(0) => {
                self.ended = true;
                self.check_end()?;
                0
            }
            Ok(read) => read,
            Err(InputError::Decompress(_, failure)) => {
                self.ended = true;
                return Err(InputError::Decompress(Compression::Zip, failure).into());
            }
            Err(error) => return Err(error.into()),
        };
        self.crc.update(out.get(..read).unwrap_or_default());
        self.len = self.len.saturating_add(read as u64);
        Ok(read)
    }
}

fn failure(what: &'static str, source_offset: u64) -> InputError {
    let failure = DecompressFailure::damage(what, None, source_offset);
    InputError::Decompress(Compression::Zip, failure)
}
