//! The lz4 frame format. Blocks without a frame, and the legacy frames of `lz4 -l`, have no magic number that identifies them.

use std::io::{self, Read};

use lz4_flex::frame::FrameDecoder;

use super::error::InputError;
use super::source::Source;
use crate::{Compression, error::DecompressFailure};

pub(crate) struct Lz4<R: Read> {
    decoder: FrameDecoder<Feed<R>>,
    /// Frames that were read to their ends.
    frames: u64,
    within: bool,
    ended: bool,
}

/// The source of the decoder, which does not distinguish an end from a failure, and takes one between blocks for the end of the
/// frame.
struct Feed<R> {
    source: Source<R>,
    failure: Option<io::Error>,
    /// True after a read beyond the end of the source.
    ended: bool,
}

impl<R: Read> Read for Feed<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let here = match self.source.fill() {
            Ok(here) => here,
            Err(error) => {
                self.failure = Some(error.into());
                return Err(io::Error::other("the source cannot be read"));
            }
        };
        let count = here.len().min(out.len());
        if let (Some(out), Some(here)) = (out.get_mut(..count), here.get(..count)) {
            out.copy_from_slice(here);
        }
        self.ended |= count == 0 && !out.is_empty();
        self.source.consume(count);
        Ok(count)
    }
}

impl<R: Read> Lz4<R> {
    pub(super) fn new(source: Source<R>) -> Self {
        let feed = Feed {
            source,
            failure: None,
            ended: false,
        };
        Self {
            decoder: FrameDecoder::new(feed),
            frames: 0,
            within: false,
            ended: false,
        }
    }

    pub(super) fn source_bytes(&self) -> u64 {
        self.decoder.get_ref().source.consumed()
    }

    pub(super) fn read(&mut self, out: &mut [u8]) -> Result<usize, InputError> {
        loop {
            if self.ended || out.is_empty() || (!self.within && !self.begin()?) {
                return Ok(0);
            }
            match self.decoder.read(out) {
                Ok(0) if self.decoder.get_ref().ended => {
                    return Err(self.failure("the file is cut short", None));
                }
                Ok(0) => {
                    self.frames += 1;
                    self.within = false;
                }
                Ok(produced) => return Ok(produced),
                Err(error) => {
                    let feed = self.decoder.get_mut();
                    let (failure, cut) = (feed.failure.take(), feed.ended);
                    self.ended = true;
                    return Err(match (failure, cut) {
                        (Some(failure), _) => failure.into(),
                        (None, true) => self.failure("the file is cut short", None),
                        (None, false) => {
                            self.failure("the compressed data is damaged", Some(error.to_string()))
                        }
                    });
                }
            }
        }
    }

    /// Moves to the next frame, over those that are to be skipped; false at the end.
    fn begin(&mut self) -> Result<bool, InputError> {
        loop {
            let source = &mut self.decoder.get_mut().source;
            match source.peek(MAGIC_BYTES)? {
                [] => {
                    self.ended = true;
                    return Ok(false);
                }
                [0x04, 0x22, 0x4d, 0x18, ..] => {
                    self.within = true;
                    return Ok(true);
                }
                [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                    source.consume(MAGIC_BYTES);
                    let mut len = [0; 4];
                    for byte in &mut len {
                        match source.byte()? {
                            Some(read) => *byte = read,
                            None => return Err(self.failure("the file is cut short", None)),
                        }
                    }
                    self.skip(u32::from_le_bytes(len))?;
                }
                _ if self.frames == 0 => {
                    return Err(self.failure("the compressed data is damaged", None));
                }
                _ => return Err(self.failure("the data after the last frame is not lz4", None)),
            }
        }
    }

    fn skip(&mut self, mut left: u32) -> Result<(), InputError> {
        while left > 0 {
            let source = &mut self.decoder.get_mut().source;
            let here = source.fill()?.len();
            if here == 0 {
                return Err(self.failure("the file is cut short", None));
            }
            let count = here.min(left as usize);
            source.consume(count);
            left -= count as u32;
        }
        Ok(())
    }

    fn failure(&mut self, what: &'static str, code: Option<String>) -> InputError {
        self.ended = true;
        let failure = DecompressFailure::damage(what, code, self.source_bytes());
        InputError::Decompress(Compression::Lz4, failure)
    }
}

const MAGIC_BYTES: usize = 4;
