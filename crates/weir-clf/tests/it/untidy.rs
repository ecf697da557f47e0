//! Logs that other programs have changed on their way, and those whose last record is half written.

use std::io::Write as _;
use std::path::Path;

use weir_clf::{
    Follower, Form, Query, Reader, SearchOptions, Searcher, Segment, index, sidecar_path,
};

use crate::common::{Owned, call_id, calls, read, search_all_ways, written};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The forms in which a log consists of lines.
const OF_LINES: [Form; 3] = [Form::Rfc6873, Form::Text, Form::Json];

/// The log with each kind of line end, with a byte order mark and without one.
fn variants(log: &[u8]) -> Vec<Vec<u8>> {
    let unix = String::from_utf8(log.to_vec())
        .unwrap()
        .replace("\r\n", "\n");
    let dos = unix.replace('\n', "\r\n");
    let mut variants = Vec::new();
    for mark in ["", BYTE_ORDER_MARK] {
        for log in [&unix, &dos] {
            variants.push(format!("{mark}{log}").into_bytes());
        }
    }
    variants
}

/// The records and the damages that a follower finds.
fn polled(follower: &mut Follower) -> (Vec<Owned>, usize) {
    let (mut records, mut damages) = (Vec::new(), 0);
    let count = follower
        .poll(
            &mut |found| records.push(Owned::of(&found.record)),
            &mut |_| damages += 1,
        )
        .unwrap();
    assert_eq!(count, records.len() as u64);
    (records, damages)
}

fn answers_are_those_of(expected: &[Owned], path: &Path) {
    assert_eq!(search_all_ways(path, &Query::new()), expected);
    let requests = || expected.iter().filter(|record| record.call_id() != "-");
    for request in [requests().next(), requests().next_back()] {
        let call = request.unwrap().call_id();
        let of_call: Vec<Owned> = requests()
            .filter(|record| record.call_id() == call)
            .cloned()
            .collect();
        assert_eq!(search_all_ways(path, &call_id(call)), of_call);
    }
}

/// A log of RFC 6873 with CR LF was damage from its beginning to its end, and any log with a byte order mark none, or damaged.
#[test]
fn line_ends_and_byte_order_marks_change_no_record() {
    let folder = tempfile::tempdir().unwrap();
    for form in OF_LINES {
        let records = calls(7, 400);
        let tidy = written(&records, form);
        let (expected, _) = read(&tidy);
        for (number, log) in variants(&tidy).iter().enumerate() {
            let (found, damages) = read(log);
            assert_eq!((found.len(), damages.len()), (400, 0), "{form:?} {number}");
            assert!(found == expected, "{form:?} {number}");
            assert!(written(&found, form) == tidy, "{form:?} {number}");
            let path = folder.path().join(format!("{}.{number}", form.name()));
            std::fs::write(&path, log).unwrap();
            answers_are_those_of(&expected, &path);
            let indexed = index(&Segment::open(&path).unwrap()).unwrap();
            assert_eq!((indexed.records, indexed.damaged), (400, 0));
            assert!(sidecar_path(&path).exists());
            answers_are_those_of(&expected, &path);
            let mut follower = Follower::open(&path, true).unwrap();
            let (followed, damages) = polled(&mut follower);
            assert!(followed == expected, "{form:?} {number}");
            assert_eq!(damages, 0);
        }
    }
}

/// Logs that were put together have a byte order mark between their records, too.
#[test]
fn a_byte_order_mark_between_two_records_is_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    for form in OF_LINES {
        let tidy = written(&calls(8, 50), form);
        let (expected, _) = read(&tidy);
        let log = [BYTE_ORDER_MARK.as_bytes(), &tidy].concat().repeat(2);
        let expected = [expected.clone(), expected].concat();
        assert_eq!(read(&log), (expected.clone(), Vec::new()), "{form:?}");
        std::fs::write(&path, &log).unwrap();
        let _ = std::fs::remove_file(sidecar_path(&path));
        answers_are_those_of(&expected, &path);
        let mut follower = Follower::open(&path, true).unwrap();
        assert_eq!(polled(&mut follower), (expected, 0), "{form:?}");
    }
}

/// A log in UTF-16, as PowerShell redirects text, was one place that is no record.
#[test]
fn a_log_in_utf_16_is_refused_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let text = String::from_utf8(written(&calls(10, 3), Form::Json)).unwrap();
    for is_big in [false, true] {
        let marked = format!("{BYTE_ORDER_MARK}{text}");
        let octets = marked.encode_utf16().flat_map(|unit| match is_big {
            true => unit.to_be_bytes(),
            false => unit.to_le_bytes(),
        });
        let log: Vec<u8> = octets.collect();
        std::fs::write(&path, &log).unwrap();
        let refused = |error: std::io::Error| {
            assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
            assert!(error.to_string().contains("UTF-16"), "{error}");
        };
        refused(Reader::new(&log[..]).next().unwrap_err());
        let segment = Segment::open(&path).unwrap();
        refused(segment.form().unwrap_err());
        refused(Searcher::open(&[&path], SearchOptions::default()).unwrap_err());
        refused(Follower::open(&path, false).unwrap_err());
        refused(index(&segment).unwrap_err());
    }
}

/// The rest of a record that was half written when the log was opened was damage, and the record was not given.
#[test]
fn a_record_that_is_half_written_at_the_beginning_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let records = calls(9, 2002);
    for form in Form::ALL {
        let (expected, _) = read(&written(&records, form));
        let half = written(&records[2000..2001], form);
        let last = written(&records[2001..], form);
        for first in [0, 2000] {
            let before = written(&records[first..2000], form);
            for cut in [0, 1, half.len() / 2, half.len() - 1] {
                std::fs::write(&path, [&before[..], &half[..cut]].concat()).unwrap();
                let mut follower = Follower::open(&path, false).unwrap();
                assert_eq!(polled(&mut follower), (Vec::new(), 0), "{form:?} {cut}");
                let mut file = std::fs::OpenOptions::new()
                    .append(true)
                    .open(&path)
                    .unwrap();
                file.write_all(&half[cut..]).unwrap();
                file.write_all(&last).unwrap();
                let (found, damages) = polled(&mut follower);
                assert!(found == expected[2000..], "{form:?} {first} {cut}");
                assert_eq!(damages, 0, "{form:?} {first} {cut}");
            }
        }
    }
}
