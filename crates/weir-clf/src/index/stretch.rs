//! The marks of all records of a log, read in stretches by several threads.
//!
//! The beginning of a stretch is guessed: it is the first place that looks like a record's beginning. It counts only
//! when the stretch before ends at that very byte; otherwise the stretch is read again from the end of the one before.
//! So marks and damage are those of one walk.

use std::io;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, sync_channel};

use crate::fault::{Fault, FaultKind};
use crate::forms::notation::{Notation, in_form};
use crate::forms::{Form, Scratch};
use crate::index::mark::Mark;
use crate::segment::Segment;
use crate::walk::{BEHIND_BYTES, LogWalk, PIECE_BYTES, Read};

/// The number of bytes of log after which another stretch begins.
const STRETCH_BYTES: u64 = PIECE_BYTES;
/// The approximate number of records of a stretch.
const STRETCH_MARKS: usize = 2048;
/// The number of bytes of a log below which a second thread does not pay.
const ALONE_BYTES: u64 = 4 << 20;
const THREADS_MAX: usize = 8;

/// The callback with each record's mark and offset.
type OnMark<'a> = dyn FnMut(&Mark, u64) -> io::Result<()> + 'a;

/// Reads records and returns their marks. An unfinished record, whose line has no end, is passed over: it is no damage,
/// and has no mark yet.
pub(crate) fn each_finished<N: Notation>(
    scratch: &mut Scratch,
    mut each: impl FnMut(&Mark, u64) -> io::Result<()>,
) -> impl Read {
    move |bytes: &[u8], whole: bool, offset: u64| {
        let (record, len) = match N::decode(bytes, whole, scratch) {
            Ok(found) => found,
            Err(fault) => return refused(fault).map(Err),
        };
        if N::is_finished(bytes.get(..len).unwrap_or_default()) {
            each(&Mark::of(&record, len), offset)?;
        }
        Ok(Ok(len))
    }
}

/// A log whose lines refer to others has no index: a record that is found by it could not be read.
pub(crate) fn refused(fault: Fault) -> io::Result<Fault> {
    if fault.kind != FaultKind::Reference {
        return Ok(fault);
    }
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "has lines that refer to earlier ones with a +, so that it can have no index",
    ))
}

/// Calls `each` with the mark of every record of the log, in its order. Returns the number of places that are no
/// record.
pub(crate) fn each_mark(segment: &Segment, form: Form, each: &mut OnMark<'_>) -> io::Result<u64> {
    in_form!(form, N => each_mark_of::<N>(segment, each))
}

fn each_mark_of<N: Notation>(segment: &Segment, each: &mut OnMark<'_>) -> io::Result<u64> {
    let mut walk = LogWalk::default();
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    // The frames of a compressed log are decompressed one after the other.
    if segment.len() < ALONE_BYTES || segment.is_compressed() || cores == 1 {
        let mut scratch = Scratch::default();
        let mut read = each_finished::<N>(&mut scratch, each);
        let mut buffer = Vec::new();
        walk.run::<N>(segment, 0, segment.len(), &mut buffer, &mut read)?;
    } else {
        in_stretches::<N>(segment, cores.min(THREADS_MAX), &mut walk, each)?;
    }
    Ok(walk.damaged)
}

/// The records that begin in a part of the log.
#[derive(Debug, Default)]
struct Stretch {
    /// The guessed offset of the first record.
    start: Option<u64>,
    marks: Vec<(Mark, u64)>,
    walk: LogWalk,
}

impl Stretch {
    fn of<N: Notation>(
        segment: &Segment,
        from: u64,
        buffer: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> io::Result<Self> {
        let mut stretch = Self::default();
        let to = from.saturating_add(STRETCH_BYTES);
        stretch.start = match from.checked_sub(1) {
            None => Some(0),
            Some(before) => {
                let behind = before.saturating_add(BEHIND_BYTES);
                let count = segment.read_into(before, behind, buffer)?;
                let found = N::resynchronise(buffer.get(..count).unwrap_or_default(), 0);
                found.map(|at| before.saturating_add(at as u64))
            }
        };
        if let Some(start) = stretch.start {
            let marks = &mut stretch.marks;
            marks.reserve(STRETCH_MARKS);
            let mut read = each_finished::<N>(scratch, |mark, offset| {
                marks.push((*mark, offset));
                Ok(())
            });
            stretch
                .walk
                .run::<N>(segment, start, to, buffer, &mut read)?;
        }
        Ok(stretch)
    }
}

fn in_stretches<N: Notation>(
    segment: &Segment,
    threads: usize,
    walk: &mut LogWalk,
    each: &mut OnMark<'_>,
) -> io::Result<()> {
    let starts = |first: usize| {
        (0..segment.len())
            .step_by(STRETCH_BYTES as usize)
            .skip(first)
    };
    std::thread::scope(|scope| {
        // Thread n of N takes stretches n, n + N, n + 2N and so on, and is ahead of the reader by two at most.
        let spawn = |first: usize| {
            let (sender, receiver) = sync_channel(2);
            scope.spawn(move || {
                let (mut buffer, mut scratch) = (Vec::new(), Scratch::default());
                for from in starts(first).step_by(threads) {
                    let stretch = Stretch::of::<N>(segment, from, &mut buffer, &mut scratch);
                    if sender.send(stretch).is_err() {
                        break;
                    }
                }
            });
            receiver
        };
        let receivers: Vec<Receiver<io::Result<Stretch>>> = (0..threads).map(spawn).collect();
        let (mut buffer, mut scratch) = (Vec::new(), Scratch::default());
        for (from, receiver) in starts(0).zip(receivers.iter().cycle()) {
            let stretch = receiver
                .recv()
                .map_err(|_| io::Error::other("a thread that reads the log has ended"))??;
            if stretch.start == Some(walk.next) && !walk.lost {
                for (mark, offset) in &stretch.marks {
                    each(mark, *offset)?;
                }
                let damaged = walk.damaged.saturating_add(stretch.walk.damaged);
                *walk = LogWalk {
                    damaged,
                    ..stretch.walk
                };
            } else {
                let to = from.saturating_add(STRETCH_BYTES);
                let mut read = each_finished::<N>(&mut scratch, &mut *each);
                walk.run::<N>(segment, walk.next, to, &mut buffer, &mut read)?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoder, Field, Form, Record};

    /// The log has records with damage, long ones, and line feeds between; the stretches give the marks of one walk.
    #[test]
    fn stretches_are_as_one_walk() {
        for form in Form::ALL {
            in_form!(form, N => as_one_walk::<N>());
        }
    }

    fn as_one_walk<N: Notation>() {
        let mut log = Vec::new();
        let mut encoder = Encoder::new(N::FORM);
        let mut rng = weir_testkit::Rng::new(5);
        while log.len() < 6 << 20 {
            let call = vec![b'a' + (rng.next_u64() % 26) as u8; 1 + rng.below(4000) as usize];
            let mut record = Record::default();
            record.set(Field::CallId, &call);
            let header = format!("\t00@00000000,0000,00,Contact: {}", "y".repeat(900_000));
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
        let mut one = LogWalk::default();
        let mut expected = Vec::new();
        let mut scratch = Scratch::default();
        let mut read = each_finished::<N>(&mut scratch, |mark, offset| {
            expected.push((*mark, offset));
            Ok(())
        });
        let mut buffer = Vec::new();
        one.run::<N>(&segment, 0, segment.len(), &mut buffer, &mut read)
            .unwrap();
        drop(read);
        let found = expected.len();
        assert!(
            one.damaged > 10 && found > 1000,
            "{:?} {found} {one:?}",
            N::FORM
        );
        for threads in [2, 3, 7] {
            let mut walk = LogWalk::default();
            let mut found = Vec::new();
            in_stretches::<N>(&segment, threads, &mut walk, &mut |mark, offset| {
                found.push((*mark, offset));
                Ok(())
            })
            .unwrap();
            assert!(found == expected, "{:?}", N::FORM);
            assert_eq!(walk.damaged, one.damaged, "{:?}", N::FORM);
        }
        reader_agrees(N::FORM, &path, &expected, one.damaged);
    }

    /// Reading from the beginning finds the same records and as many damaged places.
    fn reader_agrees(form: Form, path: &std::path::Path, marks: &[(Mark, u64)], damaged: u64) {
        let options = crate::ReaderOptions {
            form: Some(form),
            ..crate::ReaderOptions::default()
        };
        let file = std::fs::File::open(path).unwrap();
        let mut reader = crate::Reader::with_options(file, options);
        let (mut found, mut none) = (Vec::new(), 0);
        while let Some(item) = reader.next().unwrap() {
            match item {
                crate::Item::Record {
                    record,
                    offset,
                    len,
                } => {
                    found.push((Mark::of(&record, len), offset));
                }
                crate::Item::Damage(_) => none += 1,
            }
        }
        assert!(found == marks, "{form:?}");
        assert_eq!(none, damaged, "{form:?}");
    }
}
