//! Reads an object that has no ranges: one response from its beginning to its end.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt as _;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::Error;
use crate::found::FoundObject;
use crate::runtime::{Task, spawn};

/// Reads an object whose server does not support ranges. A body that breaks is requested again from its beginning, and the bytes
/// that were read before are skipped.
pub(crate) struct WholeReader {
    chunks: Receiver<Result<Bytes, Error>>,
    chunk: Bytes,
    position: u64,
    size: u64,
    _task: Task<()>,
}

impl WholeReader {
    pub(crate) fn new(object: Arc<FoundObject>, start: u64) -> io::Result<Self> {
        if start != 0 {
            return Err(io::ErrorKind::NotSeekable.into());
        }
        let size = object.version.size;
        let (sender, chunks) = channel(CHUNKS_MAX);
        let task = spawn(async move {
            if let Err(error) = give(&object, &sender).await {
                // This fails when the reader was dropped, which needs no error.
                let _ = sender.send(Err(error)).await;
            }
        })?;
        Ok(Self {
            chunks,
            chunk: Bytes::new(),
            position: 0,
            size,
            _task: task,
        })
    }
}

async fn give(object: &FoundObject, to: &Sender<Result<Bytes, Error>>) -> Result<(), Error> {
    let mut sent = 0_u64;
    let mut failures = 0;
    while sent < object.version.size {
        let found = object.get(None).await?;
        let mut stream = found.into_stream();
        let mut passed = 0_u64;
        let mut broken = None;
        while let Some(chunk) = stream.next().await {
            match chunk {
                Ok(mut chunk) => {
                    let known = sent.saturating_sub(passed).min(chunk.len() as u64);
                    passed = passed.saturating_add(chunk.len() as u64);
                    // `known` is at most the length of the chunk.
                    let chunk = chunk.split_off(usize::try_from(known).unwrap_or(usize::MAX));
                    if chunk.is_empty() {
                        continue;
                    }
                    failures = 0;
                    sent = sent.saturating_add(chunk.len() as u64);
                    if to.send(Ok(chunk)).await.is_err() {
                        return Ok(());
                    }
                }
                Err(error) => {
                    broken = Some(error);
                    break;
                }
            }
        }
        if sent < object.version.size {
            object.wait_after(&mut failures, broken.as_ref()).await?;
        }
    }
    Ok(())
}

impl Read for WholeReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.chunk.is_empty() && self.position < self.size && !out.is_empty() {
            match futures::executor::block_on(self.chunks.recv()) {
                Some(chunk) => self.chunk = chunk.map_err(Error::into_io)?,
                None => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        let count = self.chunk.len().min(out.len());
        let given = self.chunk.split_to(count);
        if let Some(out) = out.get_mut(..count) {
            out.copy_from_slice(&given);
        }
        self.position = self.position.saturating_add(count as u64);
        Ok(count)
    }
}

/// A seek to the current position is supported only.
impl Seek for WholeReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::Start(position) if position == self.position => Ok(position),
            SeekFrom::Current(0) => Ok(self.position),
            _ => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}

/// The maximum number of chunks of the body in the queue, of some tens of KiB each.
const CHUNKS_MAX: usize = 64;
