//! Reading ahead gives what reading gives.

use std::io::{self, Read};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::common::*;
use weir_capture::{Reader, Record};
use weir_testkit::until;

/// Some twelve megabytes of records.
fn capture() -> Vec<u8> {
    let mut file = pcap_header(Little, 0xa1b2_c3d4, (2, 4), 1);
    for number in 0..12_000_u32 {
        let data: Vec<u8> = (0..1_000).map(|at| (number * 7 + at) as u8).collect();
        file.extend(pcap_record(Little, (number, 0), &data, 1_000));
    }
    file
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

/// A source that takes its time, and says which threads read it.
struct Slow {
    bytes: Vec<u8>,
    at: usize,
    /// Fails here.
    fails_at: usize,
    /// The pause of each read, the only sign of slowness that a reader checks. A busy machine makes it slower yet, never fast.
    pause: Duration,
    threads: Arc<Mutex<Vec<String>>>,
}

impl Slow {
    fn new(bytes: Vec<u8>, pause: Duration) -> Self {
        Self {
            bytes,
            at: 0,
            fails_at: usize::MAX,
            pause,
            threads: Arc::default(),
        }
    }
}

impl Read for Slow {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let name = thread::current().name().unwrap_or_default().to_owned();
        let mut threads = self.threads.lock().unwrap();
        if threads.last() != Some(&name) {
            threads.push(name);
        }
        thread::sleep(self.pause);
        if self.at >= self.fails_at {
            return Err(io::Error::other("the disk is gone"));
        }
        let end = self.bytes.len().min(self.fails_at);
        let len = out.len().min(end - self.at);
        out[..len].copy_from_slice(&self.bytes[self.at..self.at + len]);
        self.at += len;
        Ok(len)
    }
}

/// Numbers, times and sums of the records, how they end, and the bytes that were read.
type Outcome = (Vec<(u64, Option<i64>, u64)>, String, u64, u64);

fn read<R: Read>(mut reader: Reader<R>) -> Outcome {
    let mut records = Vec::new();
    let sum = |record: &Record<'_>| record.data.iter().map(|byte| u64::from(*byte)).sum();
    let end = loop {
        match reader.next() {
            Ok(Some(record)) => records.push((record.number, record.time_ns, sum(&record))),
            Ok(None) => break String::new(),
            Err(error) => break error.to_string(),
        }
    };
    (records, end, reader.bytes_read(), reader.source_bytes())
}

#[test]
fn a_slow_source_is_read_by_another_thread() {
    let slow = Slow::new(capture(), Duration::from_millis(2));
    let threads = Arc::clone(&slow.threads);
    let ahead = read(Reader::new(slow).unwrap().reading_ahead());
    assert_eq!(ahead, read(Reader::new(&capture()[..]).unwrap()));
    assert_eq!(ahead.0.len(), 12_000);
    assert_eq!(*threads.lock().unwrap().last().unwrap(), "read ahead");
    assert_eq!(threads.lock().unwrap().len(), 2);
}

#[test]
fn what_is_compressed_is_decompressed_by_another_thread() {
    let file = zstd(&capture());
    for bytes in [file.clone(), file[..file.len() / 4 * 3].to_vec()] {
        let source = Slow::new(bytes.clone(), Duration::ZERO);
        let (records, end, bytes_read, source_bytes) =
            read(Reader::new(source).unwrap().reading_ahead());
        let alone = read(Reader::new(&bytes[..]).unwrap());
        assert_eq!((&records, &end, bytes_read), (&alone.0, &alone.1, alone.2));
        assert_eq!(end.is_empty(), bytes.len() == file.len(), "{end}");
        assert!(source_bytes <= bytes.len() as u64);
    }
}

#[test]
fn a_failure_comes_behind_the_records_before_it() {
    let source = |pause| {
        let mut slow = Slow::new(capture(), pause);
        slow.fails_at = 9 << 20;
        slow
    };
    let ahead = read(
        Reader::new(source(Duration::from_millis(2)))
            .unwrap()
            .reading_ahead(),
    );
    let alone = read(Reader::new(source(Duration::ZERO)).unwrap());
    assert_eq!(ahead, alone);
    assert!(ahead.1.contains("the disk is gone"), "{}", ahead.1);
    assert!(ahead.0.len() > 9_000);
}

/// A reader that is dropped leaves no thread behind that waits for it.
#[test]
fn a_reader_may_stop_early() {
    let slow = Slow::new(capture(), Duration::from_millis(2));
    let alive = Arc::downgrade(&slow.threads);
    let mut reader = Reader::new(slow).unwrap().reading_ahead();
    for _ in 0..6_000 {
        reader.next().unwrap().unwrap();
    }
    drop(reader);
    until("the thread to let the source go", || {
        alive.strong_count() == 0
    });
}
