//! Searching: the same answer with, without, and in spite of a sidecar.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use regex::bytes::Regex;
use weir_clf::{
    Condition, Field, Form, Query, SearchOptions, Searcher, Target, Test, Time, Writer,
    WriterOptions, sidecar_path,
};
use weir_testkit::Rng;

use crate::common::{Owned, call_id, calls, exact, search_all_ways, written};

fn log(path: &Path, records: &[Owned]) {
    let (writer, _) = Writer::open(path, WriterOptions::default()).unwrap();
    let mut appender = writer.appender();
    for record in records {
        appender.append(&record.record()).unwrap();
    }
    drop(appender);
    writer.close().unwrap();
}

#[test]
fn every_kind_of_question_is_answered_as_by_looking_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    let records = calls(17, 14_000);
    log(&path, &records);
    let some = &records[9_000];
    let field = |field: Field| String::from_utf8(some.fields[field as usize].clone()).unwrap();
    let middle = records[7_000].time;
    let later = Time {
        seconds: middle.seconds + 5,
        ..middle
    };
    let regex = |target, regex| {
        Query::new().and(Condition::new(
            target,
            Test::Regex(Regex::new(regex).unwrap()),
        ))
    };
    let prefix = |target, value: &str| {
        Query::new().and(Condition::new(
            target,
            Test::Prefix(value.as_bytes().to_vec()),
        ))
    };
    let queries = [
        call_id(some.call_id()),
        call_id("no such call"),
        prefix(Target::Field(Field::CallId), &some.call_id()[..8]),
        regex(Target::Field(Field::CallId), "^00.*host3"),
        exact(Target::From, &field(Field::FromUri)),
        exact(Target::From, "user7"),
        exact(Target::To, &field(Field::ToUri)),
        exact(Target::User, "user7"),
        exact(Target::Method, "BYE"),
        exact(Target::Field(Field::Status), "180"),
        exact(Target::Address, "192.0.2.10"),
        exact(Target::Address, "192.0.2.10:5060")
            .and(Condition::new(Target::Method, Test::Exact(b"ACK".to_vec()))),
        exact(Target::Transaction, &field(Field::ServerTxn)),
        exact(Target::Text, &some.call_id()[4..]),
        regex(Target::Text, "user1[0-9]{2}@.*\t0"),
        Query::new().since(middle).until(later),
        exact(Target::Field(Field::Status), "200").since(later),
        Query::new().until(records[0].time),
        Query::new(),
    ];
    let bytes: Vec<Vec<u8>> = records
        .iter()
        .map(|record| written(std::slice::from_ref(record), Form::Rfc6873))
        .collect();
    for (place, query) in queries.iter().enumerate() {
        let expected: Vec<&Owned> = records
            .iter()
            .zip(&bytes)
            .filter(|(record, bytes)| query.matches(&record.record(), bytes))
            .map(|(record, _)| record)
            .collect();
        let found = search_all_ways(&path, query);
        assert!(
            found.iter().eq(expected.iter().copied()),
            "query {place}: {}",
            found.len()
        );
        assert!(place == 1 || !found.is_empty(), "query {place}");
    }
    // The index is of use: of 4 MB hardly anything is read but the groups of 64 records that the
    // call is in; a hash that two calls share may add one.
    let searcher = Searcher::open(&[&path], SearchOptions::default()).unwrap();
    let plan = searcher.plan(&queries[0]).unwrap();
    let groups: BTreeSet<usize> = (0..records.len())
        .filter(|place| records[*place].call_id() == some.call_id())
        .map(|place| place / 64)
        .collect();
    let groups_read: u64 = plan.segments.iter().map(|part| part.zones_read).sum();
    let (least, most) = (groups.len() as u64, groups.len() as u64 + 1);
    assert!((least..=most).contains(&groups_read), "{groups_read}");
    let (bytes, read) = plan.bytes();
    assert!(read * 30 < bytes, "{read} of {bytes}");
    let (_, read) = searcher.plan(&queries[15]).unwrap().bytes();
    assert!(read * 10 < bytes, "{read} of {bytes}");
}

#[test]
fn a_sidecar_that_lies_changes_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    let records = calls(23, 3000);
    log(&path, &records);
    let good = fs::read(sidecar_path(&path)).unwrap();
    let other = folder.path().join("other.clf");
    log(&other, &calls(24, 3000));
    let foreign = fs::read(sidecar_path(&other)).unwrap();
    let mut rng = Rng::new(31);
    for round in 0..60 {
        let mut sidecar = good.clone();
        match round % 5 {
            0 => sidecar.truncate(rng.below(good.len() as u64) as usize),
            1 => sidecar.clone_from(&foreign),
            2 => sidecar = rng.bytes(2000),
            3 => sidecar.clear(),
            _ => {
                for _ in 0..3 {
                    let at = rng.below(good.len() as u64) as usize;
                    sidecar[at] ^= 1 << rng.below(8);
                }
            }
        }
        fs::write(sidecar_path(&path), &sidecar).unwrap();
        let wanted = records[rng.below(3000) as usize].call_id();
        let expected: Vec<&Owned> = records
            .iter()
            .filter(|record| record.call_id() == wanted)
            .collect();
        assert!(
            search_all_ways(&path, &call_id(wanted)).iter().eq(expected),
            "round {round}"
        );
    }
}

#[test]
fn a_log_that_was_changed_makes_its_sidecar_stale() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    let records = calls(23, 3000);
    log(&path, &records);
    // Somebody edits the middle of a sealed log: the same length, another call.
    let mut log = fs::read(&path).unwrap();
    let call = records[1500].call_id().as_bytes();
    let at = memchr::memmem::find(&log, call).unwrap();
    log[at] = b'Z';
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::write(&path, &log).unwrap();
    let changed = format!("Z{}", &records[1500].call_id()[1..]);
    assert_eq!(search_all_ways(&path, &call_id(&changed)).len(), 1);
}

#[test]
fn a_needle_is_escaped_as_the_log_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    let mut records = calls(2, 20);
    let evil = [
        "tab\there",
        "line\nfeed",
        "nul\0",
        "-",
        "?",
        "\r\nA000100,0053",
        "Grüße",
    ];
    for (record, evil) in records.iter_mut().zip(evil) {
        record.fields[Field::CallId as usize] = evil.as_bytes().to_vec();
        if let "-" | "?" = evil {
            record.fields[Field::CallId as usize] = weir_clf::literal(evil.as_bytes()).to_vec();
        }
    }
    log(&path, &records);
    for evil in evil {
        assert_eq!(search_all_ways(&path, &call_id(evil)).len(), 1, "{evil:?}");
    }
    assert_eq!(search_all_ways(&path, &Query::new()).len(), 20);
}

#[test]
fn damage_hides_nothing_else_in_any_way_of_searching() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    let records = calls(41, 4000);
    let bytes = written(&records, Form::Rfc6873);
    let mut rng = Rng::new(7);
    for _ in 0..8 {
        let mut log = bytes.clone();
        for _ in 0..20 {
            let at = rng.below(log.len() as u64) as usize;
            log[at] = *rng.pick(b"\nAx\0\t,");
        }
        fs::write(&path, &log).unwrap();
        let (whole, _) = crate::common::read(&log);
        assert!(search_all_ways(&path, &Query::new()) == whole);
        let invites = exact(Target::Method, "INVITE");
        let expected: Vec<&Owned> = whole
            .iter()
            .filter(|record| record.record().method() == Some(b"INVITE"))
            .collect();
        assert!(search_all_ways(&path, &invites).iter().eq(expected));
    }
}
