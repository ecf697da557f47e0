//! Writes in a second thread, so that the next piece is made while the system copies the last.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};

/// Writes pieces one after the other in a thread of its own. The thread starts with the first piece, so that an output
/// of one piece costs none.
///
/// ```
/// use weir_clf::WriteBehind;
///
/// let mut out = WriteBehind::new(Vec::new());
/// let buffer = out.pass(b"first ".to_vec())?;
/// drop(buffer);
/// assert_eq!(out.finish(b"and last")?, b"first and last");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct WriteBehind<W> {
    /// The output before the thread has it.
    out: Option<W>,
    running: Option<Running<W>>,
}

/// The thread, which returns the output when there are no more pieces.
#[derive(Debug)]
struct Running<W> {
    pieces: SyncSender<Vec<u8>>,
    written: Receiver<Vec<u8>>,
    thread: JoinHandle<io::Result<W>>,
}

/// The number of pieces that wait to be written, at most.
const WAITING_MAX: usize = 2;

impl<W> WriteBehind<W> {
    /// Writes to `out`.
    pub const fn new(out: W) -> Self {
        Self {
            out: Some(out),
            running: None,
        }
    }

    /// Waits until all pieces are written, and returns the output.
    fn stop(&mut self) -> io::Result<W> {
        if let Some(out) = self.out.take() {
            return Ok(out);
        }
        let gone = || io::Error::other("an earlier piece could not be written");
        let Running {
            pieces,
            written,
            thread,
        } = self.running.take().ok_or_else(gone)?;
        drop((pieces, written));
        thread.join().unwrap_or_else(|_| Err(gone()))
    }
}

impl<W: Write + Send + 'static> WriteBehind<W> {
    /// Passes a piece on, and waits where two wait already. Returns a buffer for the next one, whose content is of no
    /// use.
    ///
    /// # Errors
    /// When a piece could not be written, or the system has no thread.
    pub fn pass(&mut self, piece: Vec<u8>) -> io::Result<Vec<u8>> {
        if let Some(out) = self.out.take() {
            self.running = Some(start(out)?);
        }
        let capacity = piece.capacity();
        if let Some(running) = &self.running
            && running.pieces.send(piece).is_ok()
        {
            let written = running.written.try_recv();
            return Ok(written.unwrap_or_else(|_| Vec::with_capacity(capacity)));
        }
        match self.stop() {
            Ok(_) => Err(io::Error::other("the thread that writes has ended")),
            Err(error) => Err(error),
        }
    }

    /// Writes the last piece when all others are written, and returns the output.
    ///
    /// # Errors
    /// When a piece could not be written.
    pub fn finish(mut self, last: &[u8]) -> io::Result<W> {
        let mut out = self.stop()?;
        out.write_all(last)?;
        out.flush()?;
        Ok(out)
    }
}

impl<W> Drop for WriteBehind<W> {
    fn drop(&mut self) {
        // A drop cannot report an error; `finish` does.
        let _ = self.stop();
    }
}

/// Starts the thread.
fn start<W: Write + Send + 'static>(mut out: W) -> io::Result<Running<W>> {
    let (pieces, waiting) = sync_channel::<Vec<u8>>(WAITING_MAX);
    let (give_back, written) = channel();
    let work = move || -> io::Result<W> {
        for piece in waiting {
            out.write_all(&piece)?;
            // The one that makes pieces may have ended.
            let _ = give_back.send(piece);
        }
        Ok(out)
    };
    let thread = Builder::new().name("write behind".to_owned()).spawn(work)?;
    Ok(Running {
        pieces,
        written,
        thread,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An output that is full after so many bytes.
    #[derive(Debug)]
    struct Full(usize);

    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            let count = bytes.len().min(self.0);
            self.0 -= count;
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn pieces_are_written_in_their_order() {
        let mut out = WriteBehind::new(Vec::new());
        let mut expected = Vec::new();
        let mut piece = Vec::new();
        for number in 0..100_u8 {
            piece.clear();
            piece.resize(usize::from(number) * 50, number);
            expected.extend_from_slice(&piece);
            piece = out.pass(piece).unwrap();
        }
        expected.extend_from_slice(b"last");
        assert_eq!(out.finish(b"last").unwrap(), expected);
        assert_eq!(
            WriteBehind::new(Vec::new()).finish(b"only").unwrap(),
            b"only"
        );
    }

    #[test]
    fn the_error_of_a_piece_is_that_of_a_later_one_or_of_the_end() {
        let mut out = WriteBehind::new(Full(10));
        let failed = (0..100).find_map(|_| out.pass(vec![0; 8]).err());
        assert_eq!(failed.unwrap().kind(), io::ErrorKind::StorageFull);
        assert!(out.pass(vec![0]).is_err());
        assert!(out.finish(b"").is_err());
        let mut out = WriteBehind::new(Full(10));
        out.pass(vec![0; 20]).unwrap();
        let error = out.finish(b"").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
