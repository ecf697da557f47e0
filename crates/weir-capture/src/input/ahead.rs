//! Reading ahead on a thread of its own.

use std::io::{self, Read};
use std::mem;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use super::Input;
use super::error::InputError;
use crate::Compression;

/// The pieces that a thread reads ahead.
pub(crate) struct Ahead {
    compression: Compression,
    chunks: Receiver<Result<ReadBuffer, InputError>>,
    /// Memory that was used goes back to the thread.
    used: Sender<Vec<u8>>,
    chunk: ReadBuffer,
    /// Bytes of the chunk that were returned.
    given: usize,
    /// The input has ended.
    ended: bool,
}

/// The bytes of some reads.
#[derive(Default)]
struct ReadBuffer {
    bytes: Vec<u8>,
    len: usize,
    /// Bytes of the source that were read until here.
    source_bytes: u64,
}

impl Ahead {
    /// Moves the input to a thread. Where there is no thread to be had the input stays what it is.
    pub(super) fn begin<R: Read + Send + 'static>(input: &mut Input<R>) {
        let (compression, source_bytes) = (input.compression(), input.source_bytes());
        // The input is passed on once the thread runs, since it would be lost with one that does not.
        let (hand_over, inputs) = channel::<Input<R>>();
        let (send, chunks) = sync_channel(CHUNKS);
        let (used, unused) = channel();
        let thread = thread::Builder::new().name("read ahead".to_owned());
        let started = thread.spawn(move || {
            if let Ok(input) = inputs.recv() {
                read(input, &send, &unused);
            }
        });
        if started.is_err() {
            return;
        }
        let ahead = Self {
            compression,
            chunks,
            used,
            chunk: ReadBuffer {
                source_bytes,
                ..ReadBuffer::default()
            },
            given: 0,
            ended: false,
        };
        // A thread that has ended at once has panicked: the reading ends with an error then.
        let _ = hand_over.send(mem::replace(input, Input::Ahead(Box::new(ahead))));
    }

    pub(super) fn read(&mut self, out: &mut [u8]) -> Result<usize, InputError> {
        if self.given == self.chunk.len && !self.ended {
            let next = self.chunks.recv().unwrap_or_else(|_| {
                let reason = "the thread that reads ahead has stopped";
                Err(InputError::Io(io::Error::other(reason)))
            });
            self.ended = !matches!(&next, Ok(chunk) if chunk.len > 0);
            let next = next?;
            let used = mem::replace(&mut self.chunk, next);
            self.given = 0;
            // The reading thread is gone at the end: then the buffer is of no more use.
            let _ = self.used.send(used.bytes);
        }
        let here = self.chunk.bytes.get(self.given..self.chunk.len);
        let here = here.unwrap_or_default();
        let len = here.len().min(out.len());
        if let (Some(out), Some(here)) = (out.get_mut(..len), here.get(..len)) {
            out.copy_from_slice(here);
        }
        self.given += len;
        Ok(len)
    }

    pub(super) const fn compression(&self) -> Compression {
        self.compression
    }

    pub(super) const fn source_bytes(&self) -> u64 {
        self.chunk.source_bytes
    }
}

/// Reads to the end, to a failure, or until the receiver is dropped.
fn read<R: Read>(
    mut input: Input<R>,
    chunks: &SyncSender<Result<ReadBuffer, InputError>>,
    unused: &Receiver<Vec<u8>>,
) {
    let mut is_last = false;
    while !is_last {
        let mut bytes = unused.try_recv().unwrap_or_default();
        bytes.resize(CHUNK_BYTES, 0);
        // Whole chunks: to wake the other thread costs as much as to decompress some kilobytes.
        let mut len = 0;
        let mut failure = None;
        while let Some(free @ [_, ..]) = bytes.get_mut(len..) {
            match input.read(free) {
                Ok(0) => {
                    is_last = true;
                    break;
                }
                Ok(read) => len += read,
                Err(error) => {
                    (is_last, failure) = (true, Some(error));
                    break;
                }
            }
        }
        let source_bytes = input.source_bytes();
        let chunk = ReadBuffer {
            bytes,
            len,
            source_bytes,
        };
        // A failure is sent after the bytes before it; a chunk of no bytes is the end.
        let is_empty = len == 0;
        if (!is_empty || failure.is_none()) && chunks.send(Ok(chunk)).is_err() {
            return;
        }
        match failure {
            Some(failure) => {
                let _ = chunks.send(Err(failure));
            }
            None if is_last && !is_empty => {
                let _ = chunks.send(Ok(ReadBuffer {
                    source_bytes,
                    ..ReadBuffer::default()
                }));
            }
            None => {}
        }
    }
}

/// When a source is to be read ahead, and how: the bounds of a thread are known where it is made.
pub(crate) struct Watch<R: Read> {
    begin: fn(&mut Input<R>),
    bytes: usize,
    time: Duration,
}

impl<R: Read + Send + 'static> Watch<R> {
    pub(crate) fn new() -> Self {
        Self {
            begin: Ahead::begin::<R>,
            bytes: 0,
            time: Duration::ZERO,
        }
    }
}

impl<R: Read> Watch<R> {
    /// Reads; true when the source has turned out to be slow, or has to be decompressed.
    pub(crate) fn read(
        &mut self,
        input: &mut Input<R>,
        out: &mut [u8],
    ) -> (Result<usize, InputError>, bool) {
        let begun = Instant::now();
        let outcome = input.read(out);
        self.time += begun.elapsed();
        self.bytes += *outcome.as_ref().unwrap_or(&0);
        if outcome.is_err() || self.bytes < WATCHED {
            return (outcome, false);
        }
        let is_slow = self.time.as_secs_f64() * FAST > self.bytes as f64;
        let is_compressed = input.compression() != Compression::None;
        (self.bytes, self.time) = (0, Duration::ZERO);
        (outcome, is_slow || is_compressed)
    }

    pub(crate) fn begin(self, input: &mut Input<R>) {
        (self.begin)(input);
    }
}

/// Bytes of a chunk.
const CHUNK_BYTES: usize = 1 << 20;
/// Chunks that a thread may be ahead.
const CHUNKS: usize = 4;
/// The bytes of one measurement: for less a thread is not worth it.
const WATCHED: usize = 4 << 20;
/// Bytes a second that need no thread: the page cache gives several times as many, and a thread costs a
/// copy of each.
const FAST: f64 = 1.5e9;
