//! Tests that written records are read back unchanged.

use proptest::prelude::*;
use weir_capture::{Format, Reader, WriteError, WriteRecord, Writer};

type Owned = (i64, u32, u32, Option<String>, Option<String>, Vec<u8>);

fn borrowed(record: &Owned) -> WriteRecord<'_> {
    let (time_ns, more, link_type, interface_name, comment, data) = record;
    let mut written = WriteRecord::new(*link_type, *time_ns, data);
    written.wire_len += more;
    written.interface_name = interface_name.as_deref();
    written.comment = comment.as_deref();
    written
}

fn record(link_types: impl Strategy<Value = u32>) -> impl Strategy<Value = Owned> {
    let name = proptest::option::of("[a-z]{1,9}");
    let comment = proptest::option::of(".{1,40}");
    // The latest time is that of 32 bits of seconds.
    let time = 0..(1_i64 << 32) * 1_000_000_000;
    let data = proptest::collection::vec(any::<u8>(), 0..200);
    (time, 0..2000_u32, link_types, name, comment, data)
}

fn check(file: &[u8], format: Format, records: &[Owned]) {
    let mut reader = Reader::new(file).unwrap();
    assert_eq!(reader.format(), format);
    for (number, expected) in (1..).zip(records) {
        let found = reader.next().unwrap().unwrap();
        let expected = borrowed(expected);
        assert_eq!(found.number, number);
        assert_eq!(found.time_ns, Some(expected.time_ns));
        assert_eq!(found.wire_len, expected.wire_len);
        assert_eq!(found.link_type, expected.link_type);
        assert_eq!(found.data, expected.data);
        if format == Format::Pcapng {
            assert_eq!(found.comment, expected.comment);
            assert_eq!(found.interface.name.as_deref(), expected.interface_name);
        }
    }
    assert!(reader.next().unwrap().is_none());
}

proptest! {
    #[test]
    fn pcap_is_read_back(records in proptest::collection::vec(record(Just(1)), 1..40)) {
        let mut writer = Writer::pcap(Vec::new());
        for record in &records {
            writer.write(&borrowed(record)).unwrap();
        }
        prop_assert_eq!(writer.records(), records.len() as u64);
        check(&writer.finish().unwrap(), Format::Pcap, &records);
    }

    #[test]
    fn pcapng_is_read_back(records in proptest::collection::vec(record(0..3_u32), 1..40)) {
        let mut writer = Writer::pcapng(Vec::new());
        for record in &records {
            writer.write(&borrowed(record)).unwrap();
        }
        check(&writer.finish().unwrap(), Format::Pcapng, &records);
    }

    /// Whatever moment the process is killed at, the records before are there.
    #[test]
    fn every_prefix_has_its_whole_records(
        records in proptest::collection::vec(record(Just(1)), 1..8),
        at in 0.0..1.0,
    ) {
        let mut ends = vec![24];
        let mut writer = Writer::pcap_of(Vec::new(), 1).unwrap();
        for record in &records {
            writer.write(&borrowed(record)).unwrap();
            ends.push(ends[ends.len() - 1] + 16 + record.5.len());
        }
        let file = writer.finish().unwrap();
        prop_assert_eq!(file.len(), ends[ends.len() - 1]);
        let cut = 24 + ((file.len() - 24) as f64 * at) as usize;
        let whole = ends.iter().filter(|end| **end <= cut).count() - 1;
        let mut reader = Reader::new(&file[..cut]).unwrap();
        let mut read = 0;
        while let Ok(Some(_)) = reader.next() {
            read += 1;
        }
        prop_assert_eq!(read, whole);
    }
}

#[test]
fn a_capture_without_records_is_one() {
    for (file, format) in [
        (Writer::pcap(Vec::new()).finish().unwrap(), Format::Pcap),
        (Writer::pcapng(Vec::new()).finish().unwrap(), Format::Pcapng),
        (
            Writer::pcap_of(Vec::new(), 1).unwrap().finish().unwrap(),
            Format::Pcap,
        ),
    ] {
        check(&file, format, &[]);
    }
}

#[test]
fn what_a_format_cannot_say_is_refused() {
    let mut pcap = Writer::pcap(Vec::new());
    pcap.write(&WriteRecord::new(1, 0, b"one")).unwrap();
    let refused = pcap.write(&WriteRecord::new(101, 0, b"two")).unwrap_err();
    assert!(matches!(
        refused,
        WriteError::LinkType {
            expected: 1,
            found: 101
        }
    ));
    assert!(refused.hint().unwrap().contains("pcapng"));
    let late = (1_i64 << 32) * 1_000_000_000;
    for time_ns in [-1, late] {
        let refused = pcap.write(&WriteRecord::new(1, time_ns, b"two"));
        assert!(matches!(refused, Err(WriteError::Time(found)) if found == time_ns));
    }
    let mut pcapng = Writer::pcapng(Vec::new());
    pcapng.write(&WriteRecord::new(1, late, b"two")).unwrap();
    assert!(pcapng.write(&WriteRecord::new(1, -1, b"two")).is_err());
    assert!(pcapng.write(&WriteRecord::new(1 << 16, 0, b"two")).is_err());
    assert_eq!((pcap.records(), pcapng.records()), (1, 1));
}

/// A source that pauses before every piece of `step` bytes.
struct Halting<'a> {
    bytes: &'a [u8],
    step: usize,
    halts: bool,
}

impl std::io::Read for Halting<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.halts = !self.halts;
        if self.halts {
            return Err(std::io::ErrorKind::WouldBlock.into());
        }
        let len = self.step.min(out.len());
        self.bytes.take(len as u64).read(out).inspect(|read| {
            self.bytes = &self.bytes[*read..];
        })
    }
}

/// A file that paused was given up.
#[test]
fn a_merge_goes_on_after_a_pause() {
    let file = |first: i64| {
        let mut writer = Writer::pcap(Vec::new());
        for time_ns in (first..60).step_by(2) {
            let record = WriteRecord::new(1, time_ns, &[0; 20]);
            writer.write(&record).unwrap();
        }
        writer.finish().unwrap()
    };
    let files = [file(0), file(1)];
    let mut options = weir_capture::ReadOptions::default();
    options.buffer_bytes = 4096;
    for window_bytes in [None, Some(1 << 20)] {
        for step in [1, 7, 64, 5000] {
            let readers = files.iter().map(|file| {
                let (head, rest) = file.split_at(100);
                let halting = Halting {
                    bytes: rest,
                    step,
                    halts: false,
                };
                let source = std::io::Read::chain(head, halting);
                Reader::with_options(source, &options).unwrap()
            });
            let mut merge = weir_capture::Merge::new(readers.collect());
            if let Some(bytes) = window_bytes {
                merge = merge.with_window(bytes);
            }
            let (mut times, mut pauses) = (Vec::new(), 0);
            loop {
                match merge.next() {
                    Ok(Some((_, record))) => times.push(record.time_ns.unwrap()),
                    Ok(None) => break,
                    Err(error) => {
                        assert!(error.error.is_pause(), "{error}");
                        pauses += 1;
                    }
                }
            }
            assert!(pauses > 0);
            // A window gives what it has before a pause.
            if window_bytes.is_some() {
                times.sort_unstable();
            }
            assert!(times.iter().copied().eq(0..60), "{times:?} by {step}");
        }
    }
}

#[test]
fn a_reader_goes_on_after_a_pause() {
    let data: Vec<Vec<u8>> = (0..60_usize).map(|len| vec![len as u8; len]).collect();
    let written = |mut writer: Writer<Vec<u8>>| {
        for (time_ns, data) in (0..).zip(&data) {
            writer.write(&WriteRecord::new(1, time_ns, data)).unwrap();
        }
        writer.finish().unwrap()
    };
    let mut pcapng = written(Writer::pcapng(Vec::new()));
    // A block that is passed over, longer than the buffer.
    let len = 10_000_u32;
    pcapng.extend_from_slice(&[0x0b, 0, 0, 0x40]);
    pcapng.extend_from_slice(&len.to_le_bytes());
    pcapng.resize(pcapng.len() + len as usize - 12, 0);
    pcapng.extend_from_slice(&len.to_le_bytes());
    for file in [written(Writer::pcap(Vec::new())), pcapng] {
        for step in [1, 7, 64, 5000] {
            let mut options = weir_capture::ReadOptions::default();
            options.buffer_bytes = 4096;
            // The beginning has to be there at once, so that the format is found.
            let (head, rest) = file.split_at(100);
            let halting = Halting {
                bytes: rest,
                step,
                halts: false,
            };
            let source = std::io::Read::chain(head, halting);
            let mut reader = Reader::with_options(source, &options).unwrap();
            let (mut read, mut pauses) = (0, 0);
            loop {
                match reader.next() {
                    Ok(Some(record)) => {
                        assert_eq!(record.data, data[read]);
                        read += 1;
                    }
                    Ok(None) => break,
                    Err(error) => {
                        assert!(error.is_pause(), "{error}");
                        pauses += 1;
                    }
                }
            }
            assert_eq!(read, data.len(), "{step}");
            assert!(pauses > 0);
        }
    }
}
