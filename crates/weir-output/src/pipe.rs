//! The way out, watched for a reader that goes away.
//!
//! Encoders of other crates wrap an IO error in their own types, some as text. So the watch is on
//! the bottom writer, where the kind of the error is still known.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Passes bytes on and notes a broken pipe.
pub(super) struct Pipe {
    out: Box<dyn Write + Send>,
    watch: Watch,
}

/// Shows whether the reader of a [`Pipe`] has gone.
#[derive(Clone, Default)]
pub(super) struct Watch(Arc<AtomicBool>);

impl Pipe {
    pub(super) fn new(out: Box<dyn Write + Send>) -> (Self, Watch) {
        let watch = Watch::default();
        let pipe = Self {
            out,
            watch: watch.clone(),
        };
        (pipe, watch)
    }

    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if matches!(&result, Err(error) if error.kind() == io::ErrorKind::BrokenPipe) {
            self.watch.0.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl Watch {
    pub(super) fn closed(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.out.write(bytes);
        self.note(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out.flush();
        self.note(result)
    }
}
