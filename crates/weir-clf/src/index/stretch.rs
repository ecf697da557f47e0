//! The marks of all records of a log, taken up in stretches by several threads.
//!
//! Where a stretch begins is guessed: at the first place that looks like a record's beginning. It counts
//! only when the stretch before arrives at that very byte; otherwise it is walked through again from where
//! the one before has arrived. So marks and damage are those of one walk.

use std::io;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, sync_channel};

use crate::fault::FaultKind;
use crate::forms::rfc6873;
use crate::index::mark::Mark;
use crate::segment::Segment;

/// Bytes of log that are read at a time, and behind which another stretch begins.
const STRETCH_BYTES: u64 = 512 << 10;
/// Bytes behind a stretch that are read with it, for its last record.
const BEHIND_BYTES: u64 = 8 << 10;
/// Shorter logs are not worth a second thread.
const ALONE_BYTES: u64 = 4 << 20;
const THREADS_MAX: usize = 8;

/// What is called with each record's mark and offset.
type Each<'a> = dyn FnMut(&Mark, u64) -> io::Result<()> + 'a;

/// Walks over a log from a record's beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Walk {
    /// Places that are no record, line feeds apart.
    pub(crate) damaged: u64,
    /// Where the last record ends.
    pub(crate) end: u64,
    /// Where the next one should begin.
    next: u64,
    /// What is before that is damage, and counted.
    lost: bool,
}

impl Walk {
    /// Calls `each` with every record that begins from `from` on and before `to`.
    pub(crate) fn run(
        &mut self,
        segment: &Segment,
        from: u64,
        to: u64,
        each: &mut Each<'_>,
    ) -> io::Result<()> {
        let mut buffer = Vec::new();
        let mut factor = 1_u64;
        self.next = from;
        self.end = self.end.max(from);
        let to = to.min(segment.len());
        while self.next < to {
            let at = self.next;
            let ends = at.saturating_add(STRETCH_BYTES).min(to);
            let behind = BEHIND_BYTES.saturating_mul(factor);
            segment.read(at, ends.saturating_add(behind), &mut buffer)?;
            let last = at.saturating_add(buffer.len() as u64) >= segment.len();
            let limit = usize::try_from(ends.saturating_sub(at)).unwrap_or(usize::MAX);
            let used = self.piece(&buffer, at, limit, last, each)?;
            self.next = at.saturating_add(used as u64);
            // A record that is longer than what was read, or says so.
            factor = if used == 0 {
                factor.saturating_mul(4)
            } else {
                1
            };
        }
        Ok(())
    }

    /// The records of a piece that begin before `limit`; gives how many bytes are done with.
    fn piece(
        &mut self,
        bytes: &[u8],
        offset: u64,
        limit: usize,
        last: bool,
        each: &mut Each<'_>,
    ) -> io::Result<usize> {
        let mut at = 0_usize;
        while let Some(rest) = bytes
            .get(at..)
            .filter(|rest| at < limit && !rest.is_empty())
        {
            match rfc6873::decode(rest) {
                Ok((record, len)) => {
                    each(&Mark::of(&record, len), offset.saturating_add(at as u64))?;
                    at = at.saturating_add(len);
                    self.end = offset.saturating_add(at as u64);
                    self.lost = false;
                }
                Err(fault)
                    if fault.kind == FaultKind::Cut
                        && !last
                        && rest.len() <= rfc6873::RECORD_BYTES_MAX =>
                {
                    return Ok(at);
                }
                Err(_) => {
                    let ends = rest
                        .iter()
                        .take_while(|byte| matches!(byte, b'\n' | b'\r'))
                        .count();
                    if ends > 0 && rest.get(ends).is_none_or(|&byte| byte == b'A') {
                        at = at.saturating_add(ends);
                        continue;
                    }
                    self.damaged = self.damaged.saturating_add(u64::from(!self.lost));
                    match rfc6873::resynchronise(bytes, at) {
                        Some(next) => {
                            at = next;
                            self.lost = false;
                        }
                        // The last byte may be the line feed before a record.
                        None => {
                            self.lost = true;
                            return Ok(bytes.len().saturating_sub(usize::from(!last)).max(1));
                        }
                    }
                }
            }
        }
        Ok(at)
    }
}

/// Calls `each` with every record of the log, in its order. Gives how many places are no record.
pub(crate) fn each_mark(segment: &Segment, each: &mut Each<'_>) -> io::Result<u64> {
    let mut walk = Walk::default();
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    // The frames of a compressed log are decompressed one after the other.
    if segment.len() < ALONE_BYTES || segment.is_compressed() || cores == 1 {
        walk.run(segment, 0, segment.len(), each)?;
    } else {
        in_stretches(segment, cores.min(THREADS_MAX), &mut walk, each)?;
    }
    Ok(walk.damaged)
}

/// The records that begin in a part of the log.
#[derive(Debug, Default)]
struct Stretch {
    /// Where the first is guessed to begin.
    start: Option<u64>,
    marks: Vec<(Mark, u64)>,
    walk: Walk,
}

impl Stretch {
    fn of(segment: &Segment, from: u64) -> io::Result<Self> {
        let mut stretch = Self::default();
        let to = from.saturating_add(STRETCH_BYTES);
        stretch.start = match from.checked_sub(1) {
            None => Some(0),
            Some(before) => {
                let mut bytes = Vec::new();
                segment.read(before, before.saturating_add(BEHIND_BYTES), &mut bytes)?;
                let found = rfc6873::resynchronise(&bytes, 0);
                found.map(|at| before.saturating_add(at as u64))
            }
        };
        if let Some(start) = stretch.start {
            let marks = &mut stretch.marks;
            stretch.walk.run(segment, start, to, &mut |mark, offset| {
                marks.push((*mark, offset));
                Ok(())
            })?;
        }
        Ok(stretch)
    }
}

fn in_stretches(
    segment: &Segment,
    threads: usize,
    walk: &mut Walk,
    each: &mut Each<'_>,
) -> io::Result<()> {
    let starts = |first: usize| {
        (0..segment.len())
            .step_by(STRETCH_BYTES as usize)
            .skip(first)
    };
    std::thread::scope(|scope| {
        // Each thread takes every so manieth stretch, and runs ahead of who asks by two at most.
        let spawn = |first: usize| {
            let (sender, receiver) = sync_channel(2);
            scope.spawn(move || {
                for from in starts(first).step_by(threads) {
                    if sender.send(Stretch::of(segment, from)).is_err() {
                        break;
                    }
                }
            });
            receiver
        };
        let receivers: Vec<Receiver<io::Result<Stretch>>> = (0..threads).map(spawn).collect();
        for (from, receiver) in starts(0).zip(receivers.iter().cycle()) {
            let stretch = receiver
                .recv()
                .map_err(|_| io::Error::other("a thread that reads the log has ended"))??;
            if stretch.start == Some(walk.next) {
                for (mark, offset) in &stretch.marks {
                    each(mark, *offset)?;
                }
                let damaged = walk.damaged.saturating_add(stretch.walk.damaged);
                *walk = Walk {
                    damaged,
                    ..stretch.walk
                };
            } else {
                walk.run(segment, walk.next, from.saturating_add(STRETCH_BYTES), each)?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoder, Field, Form, Record};

    /// Records with damage, long ones, and line feeds between, and what one walk makes of them.
    #[test]
    fn stretches_are_as_one_walk() {
        let mut log = Vec::new();
        let mut encoder = Encoder::new(Form::Rfc6873);
        let mut rng = weir_testkit::Rng::new(5);
        while log.len() < 6 << 20 {
            let call = vec![b'a' + (rng.next_u64() % 26) as u8; 1 + rng.below(4000) as usize];
            let mut record = Record::default();
            record.set(Field::CallId, &call);
            let header = format!("\t00@00000000,0000,00,X: {}", "y".repeat(900_000));
            if rng.below(800) == 0 {
                record.optional = crate::Optionals::new(header.as_bytes());
            }
            encoder.push(&record);
            log.extend_from_slice(encoder.bytes());
            encoder.clear();
            match rng.below(40) {
                0 => log.extend_from_slice(b"\n\r\n"),
                1 => log.extend_from_slice(b"no record\n"),
                2 => log.truncate(log.len() - 7),
                3 => log.extend_from_slice(&vec![b'z'; rng.below(200_000) as usize]),
                4 => log.extend_from_slice(b"\nA000100,"),
                _ => {}
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, &log).unwrap();
        let segment = Segment::open(&path).unwrap();
        let mut one = Walk::default();
        let mut expected = Vec::new();
        let len = segment.len();
        one.run(&segment, 0, len, &mut |mark, offset| {
            expected.push((*mark, offset));
            Ok(())
        })
        .unwrap();
        assert!(one.damaged > 10 && expected.len() > 1000);
        for threads in [2, 3, 7] {
            let mut walk = Walk::default();
            let mut found = Vec::new();
            in_stretches(&segment, threads, &mut walk, &mut |mark, offset| {
                found.push((*mark, offset));
                Ok(())
            })
            .unwrap();
            assert_eq!(found, expected);
            assert_eq!(walk.damaged, one.damaged);
        }
    }
}
