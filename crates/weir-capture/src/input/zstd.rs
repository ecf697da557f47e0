//! zstd (RFC 8878), frame after frame.
//!
//! The decoder is fed just what it says it needs next, which is one block: fed more, it loses the
//! blocks that it has inflated when a later one in the same call is damaged.

use std::io::Read;

use zstd::zstd_safe::{DCtx, DParameter, ErrorCode, InBuffer, OutBuffer, get_error_name};

use super::error::InputError;
use super::source::Source;
use crate::{Compression, error::DecompressFailure};

pub(crate) struct Zstd<R> {
    source: Source<R>,
    context: DCtx<'static>,
    /// Bytes that the decoder needs next; 0 between frames.
    wanted: usize,
    /// The last call filled `out`, so there may be more to come without any input.
    pending: bool,
    ended: bool,
}

impl<R: Read> Zstd<R> {
    pub(super) fn new(source: Source<R>, window_log_max: u32) -> Result<Self, InputError> {
        let mut zstd = Self {
            source,
            context: DCtx::create(),
            wanted: 0,
            pending: false,
            ended: false,
        };
        match zstd
            .context
            .set_parameter(DParameter::WindowLogMax(window_log_max))
        {
            Ok(_) => Ok(zstd),
            Err(code) => Err(zstd.failure("the window limit cannot be set", Some(code))),
        }
    }

    pub(super) fn source_bytes(&self) -> u64 {
        self.source.consumed()
    }

    pub(super) fn read(&mut self, out: &mut [u8]) -> Result<usize, InputError> {
        loop {
            if self.ended || out.is_empty() {
                return Ok(0);
            }
            let input = if self.pending {
                &[]
            } else {
                self.source.fill()?
            };
            if input.is_empty() && !self.pending {
                self.ended = true;
                if self.wanted == 0 {
                    return Ok(0);
                }
                return Err(self.failure("the file is cut short", None));
            }
            let wanted = if self.wanted == 0 {
                FRAME_START_BYTES
            } else {
                self.wanted
            };
            let mut input = InBuffer::around(input.get(..wanted).unwrap_or(input));
            let mut output = OutBuffer::around(&mut *out);
            let result = self.context.decompress_stream(&mut output, &mut input);
            let (taken, produced) = (input.pos(), output.pos());
            self.source.consume(taken);
            match result {
                Ok(wanted) => self.wanted = wanted,
                Err(code) => {
                    self.ended = true;
                    return Err(self.failure("the compressed data is damaged", Some(code)));
                }
            }
            self.pending = produced == out.len() && self.wanted != 0;
            if produced > 0 {
                return Ok(produced);
            }
        }
    }

    fn failure(&self, what: &'static str, code: Option<ErrorCode>) -> InputError {
        let limit = code == Some(WINDOW_TOO_LARGE);
        InputError::Decompress(
            Compression::Zstd,
            DecompressFailure {
                what: if limit {
                    "the window is larger than the limit"
                } else {
                    what
                },
                code: code.map(|code| get_error_name(code).to_owned()),
                source_offset: self.source.consumed(),
                limit,
            },
        )
    }
}

/// The number of bytes of a frame that determine the length of its header.
const FRAME_START_BYTES: usize = 5;
/// `ZSTD_error_frameParameter_windowTooLarge`; error codes are returned negated.
const WINDOW_TOO_LARGE: ErrorCode = 0_usize.wrapping_sub(16);
