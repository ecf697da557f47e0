//! xz (the format of XZ Utils), stream after stream.

use std::io::{self, Read};

use lzma_rust2::{Action, Status, XzStream};

use super::error::InputError;
use super::source::Source;
use crate::{Compression, error::DecompressFailure};

pub(crate) struct Xz<R> {
    source: Source<R>,
    stream: XzStream,
    failure: Option<InputError>,
    ended: bool,
}

impl<R: Read> Xz<R> {
    pub(super) fn new(source: Source<R>, window_log_max: u32) -> Self {
        let window_kib = 1_u32
            .checked_shl(window_log_max.saturating_sub(10))
            .unwrap_or(u32::MAX);
        Self {
            source,
            stream: XzStream::new_mem_limit(true, window_kib.saturating_add(OVERHEAD_KIB)),
            failure: None,
            ended: false,
        }
    }

    pub(super) fn source_bytes(&self) -> u64 {
        self.source.consumed()
    }

    pub(super) fn read(&mut self, out: &mut [u8]) -> Result<usize, InputError> {
        // A decoder call that finds damage may lose the output of that call, so each call gets little room.
        let room = out.len().min(ROOM_BYTES);
        let Some(out) = out.get_mut(..room).filter(|out| !out.is_empty()) else {
            return Ok(0);
        };
        loop {
            if let Some(failure) = self.failure.take() {
                self.ended = true;
                return Err(failure);
            }
            if self.ended {
                return Ok(0);
            }
            let input = self.source.fill()?;
            let at_end = input.is_empty();
            let action = if at_end { Action::Finish } else { Action::Run };
            let before = self.stream.total_out();
            let outcome = self.stream.process(input, out, action);
            let produced = match outcome {
                Ok(result) => {
                    self.ended = result.status == Status::StreamEnd;
                    let stalls = result.bytes_consumed == 0 && result.bytes_produced == 0;
                    self.source.consume(result.bytes_consumed);
                    if stalls && !self.ended {
                        self.failure = Some(self.failure(match at_end {
                            true => CUT,
                            false => STUCK,
                        }));
                    }
                    result.bytes_produced
                }
                Err(error) => {
                    self.failure = Some(match at_end {
                        true => self.failure(CUT),
                        false => self.failed(&error),
                    });
                    (self.stream.total_out() - before) as usize
                }
            };
            if produced > 0 {
                return Ok(produced.min(room));
            }
        }
    }

    fn failed(&self, error: &io::Error) -> InputError {
        let limit = error.kind() == io::ErrorKind::OutOfMemory;
        InputError::Decompress(
            Compression::Xz,
            DecompressFailure {
                what: match limit {
                    true => "the dictionary is larger than the limit",
                    false => "the compressed data is damaged",
                },
                code: (!limit).then(|| error.to_string()),
                source_offset: self.source.consumed(),
                limit,
            },
        )
    }

    fn failure(&self, what: &'static str) -> InputError {
        let failure = DecompressFailure::damage(what, None, self.source.consumed());
        InputError::Decompress(Compression::Xz, failure)
    }
}

const CUT: &str = "the file is cut short";
const STUCK: &str = "the compressed data is damaged";
/// Bytes that are unpacked in one call.
const ROOM_BYTES: usize = 4 << 10;
/// The memory of the decoder besides its dictionary, in KiB.
const OVERHEAD_KIB: u32 = 1 << 10;
