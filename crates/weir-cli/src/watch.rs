//! Answers that have no end of their own: rows as they come, or groups that are drawn again and again.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use arrow::array::RecordBatch;
use tokio::sync::mpsc::{Receiver, channel};
use weir_engine::Answer;

use crate::failure::Failure;
use weir_output::{self as output, Format, OutputState, Summary, Writer};

/// The interval at which groups are shown before the end; `None` shows only the final answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Refresh {
    pub(crate) every: Option<Duration>,
}

impl Refresh {
    /// The default interval on a terminal.
    pub(crate) const EVERY: Duration = Duration::from_secs(1);
}

/// Writes an answer to its end.
pub(crate) async fn write(
    mut answer: Answer,
    options: &output::OutputOptions,
    out: Box<dyn Write + Send>,
    refresh: Refresh,
) -> Result<Summary, Failure> {
    let mut options = options.clone();
    let Some((snapshot, every)) = answer.snapshot().zip(refresh.every) else {
        if answer.streams() {
            // Rows are shown as they come, however many.
            options.prompt = true;
            options.rows_max = None;
        }
        return rows(&mut answer, None, &options, out).await;
    };
    let mut screen = Screen {
        out: SharedOutput(Arc::new(Mutex::new(out))),
        redraws: options.terminal && options.format == Format::Table,
        lines: 0,
    };
    let mut ticks = ticks(every);
    let first = loop {
        tokio::select! {
            first = answer.next() => break first?,
            _ = ticks.recv() => {
                let Some(batches) = snapshot.rows().await? else {
                    continue;
                };
                if screen.show(&answer, &options, &batches)? == OutputState::Closed {
                    return Ok(Summary { closed: true, ..Summary::default() });
                }
            }
        }
    };
    screen.clear()?;
    rows(&mut answer, first, &options, Box::new(screen.out)).await
}

/// Writes the rest of an answer, after its first batch.
async fn rows(
    answer: &mut Answer,
    first: Option<RecordBatch>,
    options: &output::OutputOptions,
    out: Box<dyn Write + Send>,
) -> Result<Summary, Failure> {
    let mut writer = Writer::new(options, Arc::clone(answer.schema()), out)?;
    let mut next = match first {
        Some(batch) => Some(batch),
        None => answer.next().await?,
    };
    while let Some(batch) = next {
        if writer.write(&batch)? == OutputState::Closed {
            break;
        }
        next = answer.next().await?;
    }
    Ok(writer.finish()?)
}

/// A tick every so often, until the receiver is dropped.
fn ticks(every: Duration) -> Receiver<()> {
    let (sender, receiver) = channel(1);
    thread::spawn(move || {
        while !sender.is_closed() {
            thread::sleep(every);
            // A full channel already has a tick.
            let _ = sender.try_send(());
        }
    });
    receiver
}

/// The display of intermediate groups: each replaces the last one on a terminal, and follows it elsewhere.
struct Screen {
    out: SharedOutput,
    redraws: bool,
    /// Lines of the table that is shown.
    lines: usize,
}

impl Screen {
    fn show(
        &mut self,
        answer: &Answer,
        options: &output::OutputOptions,
        batches: &[RecordBatch],
    ) -> Result<OutputState, Failure> {
        let mut options = options.clone();
        if self.redraws {
            let fitting =
                output::terminal_height().map(|height| height.saturating_sub(FRAME_LINES));
            options.rows_max = match (options.rows_max, fitting.map(u64::from)) {
                (Some(most), Some(fitting)) => Some(most.min(fitting)),
                (most, fitting) => most.or(fitting),
            };
        }
        let table = SharedOutput::<Vec<u8>>::default();
        let mut writer = Writer::new(
            &options,
            Arc::clone(answer.schema()),
            Box::new(table.clone()),
        )?;
        for batch in batches {
            if writer.write(batch)? == OutputState::Closed {
                return Ok(OutputState::Closed);
            }
        }
        writer.finish()?;
        let table = table.with(std::mem::take);
        let outcome = self.clear().and_then(|()| {
            self.out.write_all(&table)?;
            self.out.flush()
        });
        if self.redraws {
            self.lines = table.iter().filter(|byte| **byte == b'\n').count();
        }
        match outcome {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(OutputState::Closed),
            outcome => {
                outcome.map_err(output::Error::Write)?;
                Ok(OutputState::Open)
            }
        }
    }

    /// Erases the table from the screen.
    fn clear(&mut self) -> io::Result<()> {
        if self.lines > 0 {
            write!(self.out, "\r\x1b[{}A\x1b[J", self.lines)?;
            self.lines = 0;
        }
        Ok(())
    }
}

/// An output that several hold.
#[derive(Debug, Default)]
struct SharedOutput<W = Box<dyn Write + Send>>(Arc<Mutex<W>>);

impl<W> SharedOutput<W> {
    fn with<T>(&self, work: impl FnOnce(&mut W) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<W> Clone for SharedOutput<W> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<W: Write> Write for SharedOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(Write::flush)
    }
}

/// Lines of a table that are no rows, and the one of the cursor.
const FRAME_LINES: u16 = 5;
