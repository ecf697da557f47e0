//! bzip2, stream after stream: as several threads (pbzip2, lbzip2) write it, too.

use std::io::Read;

use bzip2::{Decompress, Status};

use super::error::InputError;
use super::source::Source;
use crate::{Compression, error::DecompressFailure};

pub(crate) struct Bzip2<R> {
    source: Source<R>,
    stream: Decompress,
    /// Streams that were read to their ends.
    streams: u64,
    /// A stream has begun and not ended.
    within: bool,
    failure: Option<InputError>,
    ended: bool,
}

impl<R: Read> Bzip2<R> {
    pub(super) fn new(source: Source<R>) -> Self {
        Self {
            source,
            stream: Decompress::new(false),
            streams: 0,
            within: true,
            failure: None,
            ended: false,
        }
    }

    pub(super) fn source_bytes(&self) -> u64 {
        self.source.consumed()
    }

    pub(super) fn read(&mut self, out: &mut [u8]) -> Result<usize, InputError> {
        loop {
            if let Some(failure) = self.failure.take() {
                self.ended = true;
                return Err(failure);
            }
            if self.ended || out.is_empty() {
                return Ok(0);
            }
            if !self.within && !self.begin()? {
                continue;
            }
            let input = self.source.fill()?;
            let at_end = input.is_empty();
            let (total_in, total_out) = (self.stream.total_in(), self.stream.total_out());
            let status = self.stream.decompress(input, out);
            let taken = (self.stream.total_in() - total_in) as usize;
            let produced = (self.stream.total_out() - total_out) as usize;
            self.source.consume(taken);
            match status {
                Ok(Status::StreamEnd) => {
                    self.streams += 1;
                    self.within = false;
                }
                Ok(Status::MemNeeded) => {
                    self.failure = Some(self.failure("not enough memory for a block", None));
                }
                Ok(_) if taken == 0 && produced == 0 => {
                    let what = match at_end {
                        true => "the file is cut short",
                        false => "the compressed data is damaged",
                    };
                    self.failure = Some(self.failure(what, None));
                }
                Ok(_) => {}
                Err(bzip2::Error::DataMagic) if self.streams > 0 => {
                    let what = "the data after the last stream is not bzip2";
                    self.failure = Some(self.failure(what, None));
                }
                Err(error) => {
                    let what = "the compressed data is damaged";
                    self.failure = Some(self.failure(what, Some(error.to_string())));
                }
            }
            if produced > 0 {
                return Ok(produced.min(out.len()));
            }
        }
    }

    /// Begins the next stream; false when there is none.
    fn begin(&mut self) -> Result<bool, InputError> {
        if self.source.fill()?.is_empty() {
            self.ended = true;
            return Ok(false);
        }
        self.stream = Decompress::new(false);
        self.within = true;
        Ok(true)
    }

    fn failure(&self, what: &'static str, code: Option<String>) -> InputError {
        let failure = DecompressFailure::damage(what, code, self.source.consumed());
        InputError::Decompress(Compression::Bzip2, failure)
    }
}
