//! Searches give the same result with, without, and in spite of a sidecar.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use regex::bytes::Regex;
use weir_clf::{
    Condition, Field, Form, Item, Query, Reader, SearchOptions, Searcher, Segment, Target, Test,
    Time, Writer, WriterOptions, coverage, index, sidecar_path,
};
use weir_testkit::Rng;

use crate::common::{Owned, call_id, calls, exact, search_all_ways, written};

fn log(path: &Path, records: &[Owned]) {
    log_in(Form::Rfc6873, path, records);
}

fn log_in(form: Form, path: &Path, records: &[Owned]) {
    let mut options = WriterOptions::default();
    options.form = form;
    let (writer, _) = Writer::open(path, options).unwrap();
    let mut appender = writer.appender();
    for record in records {
        appender.append(&record.record()).unwrap();
    }
    drop(appender);
    writer.close().unwrap();
}

/// Returns the records of a log as they are read back, each with its bytes.
fn read_back(path: &Path) -> Vec<(Owned, Vec<u8>)> {
    let bytes = fs::read(path).unwrap();
    let mut reader = Reader::new(&bytes[..]);
    let mut found = Vec::new();
    while let Some(item) = reader.next().unwrap() {
        if let Item::Record {
            record,
            offset,
            len,
        } = item
        {
            let written = bytes[offset as usize..offset as usize + len].to_vec();
            found.push((Owned::of(&record), written));
        }
    }
    found
}

#[test]
fn every_kind_of_question_is_answered_as_by_looking_at_all() {
    for form in Form::ALL {
        every_kind_of_question(form);
    }
}

/// The sources of the records that have an address, found in every way.
fn sources_of(path: &Path, address: &str) -> Vec<String> {
    let found = search_all_ways(path, &exact(Target::Address, address));
    let sources = found
        .iter()
        .map(|record| &record.fields[Field::Source as usize]);
    sources
        .map(|source| String::from_utf8(source.clone()).unwrap())
        .collect()
}

/// One address can be written in many ways (RFC 4291, 2.2).
#[test]
fn an_address_is_found_however_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    let mut records = calls(3, 200);
    for (place, source) in [
        (20, "[2001:db8::1]:5060"),
        (40, "[2001:DB8:0:0::1]:5062"),
        (60, "2001:0db8:0000:0000:0000:0000:0000:0001"),
        (80, "[2001:db8::10]:5060"),
    ] {
        records[place].fields[Field::Source as usize] = source.as_bytes().to_vec();
    }
    log(&path, &records);
    let sources = |wanted: &str| sources_of(&path, wanted);
    for wanted in [
        "2001:db8::1",
        "[2001:db8::1]",
        "2001:DB8::0:1",
        "2001:db8:0::1",
    ] {
        let found = sources(wanted);
        assert_eq!(found.len(), 3, "{wanted}: {found:?}");
        assert!(
            found.iter().all(|source| !source.contains("::10")),
            "{found:?}"
        );
    }
    assert_eq!(sources("[2001:db8::0:1]:5062"), ["[2001:DB8:0:0::1]:5062"]);
    assert_eq!(sources("[2001:db8::1]:5061"), [""; 0]);
}

/// `::ffff:192.0.2.1` stands for 192.0.2.1 (RFC 4291, 2.5.5.2), whose 32 bits may be written as two groups (2.2):
/// c000:201.
#[test]
fn an_ipv4_address_is_found_in_ipv6_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    let mut records = calls(3, 400);
    let same = [
        "192.0.2.1:5060",
        "192.0.2.1",
        "[::ffff:192.0.2.1]:5060",
        "::FFFF:192.0.2.1",
        "[::ffff:c000:201]:5062",
        "0:0:0:0:0:FfFf:C000:0201",
    ];
    let others = [
        // One address is an IPv4 address in the deprecated way (2.5.5.1), others are different ones, and one is no
        // address.
        "[::192.0.2.1]:5060",
        "[::ffff:c000:210]:5060",
        "192.0.2.10:5060",
        "[2001:db8::c000:201]:5060",
        "192.0.2.1.example:5060",
    ];
    for record in &mut records {
        record.fields[Field::Source as usize] = b"198.51.100.1:5060".to_vec();
        record.fields[Field::Destination as usize] = b"198.51.100.2:5060".to_vec();
    }
    for (record, source) in records
        .iter_mut()
        .skip(50)
        .step_by(20)
        .zip(same.iter().chain(&others))
    {
        record.fields[Field::Source as usize] = source.as_bytes().to_vec();
    }
    log(&path, &records);
    let sources = |wanted: &str| sources_of(&path, wanted);
    for wanted in [
        "192.0.2.1",
        "[192.0.2.1]",
        "::ffff:192.0.2.1",
        "[::ffff:c000:201]",
        "0:0:0:0:0:FFFF:192.0.2.1",
    ] {
        assert_eq!(sources(wanted), same, "{wanted}");
    }
    for wanted in [
        "192.0.2.1:5060",
        "[::ffff:192.0.2.1]:5060",
        "[::ffff:c000:0201]:5060",
    ] {
        assert_eq!(sources(wanted), [same[0], same[2]], "{wanted}");
    }
    assert_eq!(sources("[::192.0.2.1]"), [others[0]]);
    assert_eq!(sources("192.0.2.1.example"), [others[4]]);
}

fn every_kind_of_question(form: Form) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    let records = calls(17, 14_000);
    log_in(form, &path, &records);
    let logged = read_back(&path);
    assert_eq!(logged.len(), records.len());
    // The searched record is a request, because a response of the text draft has no Call-ID.
    let some = records[9_000..]
        .iter()
        .find(|record| !record.flags.response)
        .unwrap();
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
    for (place, query) in queries.iter().enumerate() {
        let expected: Vec<&Owned> = logged
            .iter()
            .filter(|(record, bytes)| query.matches(&record.record(), bytes))
            .map(|(record, _)| record)
            .collect();
        let found = search_all_ways(&path, query);
        assert!(
            found.iter().eq(expected.iter().copied()),
            "query {place}: {}",
            found.len()
        );
        // The drafts have no ports and one address, and only RFC 6873 has tabs.
        let lost = form != Form::Rfc6873 && [10, 11, 14].contains(&place);
        assert!(
            place == 1 || lost || !found.is_empty(),
            "{form:?} query {place}"
        );
    }
    // The index is effective: of 4 MB hardly anything is read but the groups of 32 records that the call is in; a hash
    // that two calls share may add one.
    let searcher = Searcher::open(&[&path], SearchOptions::default()).unwrap();
    let plan = searcher.plan(&queries[0]).unwrap();
    let groups: BTreeSet<usize> = (0..logged.len())
        .filter(|place| logged[*place].0.call_id() == some.call_id())
        .map(|place| place / 32)
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
    for form in Form::ALL {
        a_lie_changes_nothing(form, folder.path());
    }
}

fn a_lie_changes_nothing(form: Form, folder: &Path) {
    let path = folder.join(format!("calls.{}", form.name()));
    let records = calls(23, 3000);
    log_in(form, &path, &records);
    let logged = read_back(&path);
    let good = fs::read(sidecar_path(&path)).unwrap();
    let other = folder.join(format!("other.{}", form.name()));
    log_in(form, &other, &calls(24, 3000));
    let foreign = fs::read(sidecar_path(&other)).unwrap();
    // The twin has the same records in another form.
    let twin = folder.join(format!("twin.{}", form.name()));
    let twin_form = match form {
        Form::Json => Form::Binary,
        _ => Form::Json,
    };
    log_in(twin_form, &twin, &records);
    let twin = fs::read(sidecar_path(&twin)).unwrap();
    let mut rng = Rng::new(31);
    for round in 0..60 {
        let mut sidecar = good.clone();
        match round % 6 {
            0 => sidecar.truncate(rng.below(good.len() as u64) as usize),
            1 => sidecar.clone_from(&foreign),
            2 => sidecar = rng.bytes(2000),
            3 => sidecar.clear(),
            4 => sidecar.clone_from(&twin),
            _ => {
                for _ in 0..3 {
                    let at = rng.below(good.len() as u64) as usize;
                    sidecar[at] ^= 1 << rng.below(8);
                }
            }
        }
        fs::write(sidecar_path(&path), &sidecar).unwrap();
        let wanted = records[rng.below(3000) as usize].call_id();
        let expected = logged.iter().map(|(record, _)| record);
        let expected = expected.filter(|record| record.call_id() == wanted);
        assert!(
            search_all_ways(&path, &call_id(wanted)).iter().eq(expected),
            "{form:?} round {round}"
        );
    }
}

#[test]
fn a_log_that_was_changed_makes_its_sidecar_stale() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    let records = calls(23, 3000);
    log(&path, &records);
    // The middle of a sealed log is edited: it has the same length and another call.
    let mut log = fs::read(&path).unwrap();
    let call = records[1500].call_id().as_bytes();
    let at = memchr::memmem::find(&log, call).unwrap();
    log[at] = b'Z';
    let sealed = fs::metadata(&path).unwrap().modified().unwrap();
    fs::write(&path, &log).unwrap();
    // A file system with coarse timestamps could give both versions the same modification time.
    let file = fs::File::options().append(true).open(&path).unwrap();
    let later = sealed + std::time::Duration::from_millis(20);
    file.set_modified(later).unwrap();
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
    for form in Form::ALL {
        damage_hides_nothing_else(form);
    }
}

fn damage_hides_nothing_else(form: Form) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    let records = calls(41, if form == Form::Rfc6873 { 4000 } else { 1000 });
    let bytes = written(&records, form);
    let first = written(&records[..1], form).len() as u64;
    let mut rng = Rng::new(7);
    for round in 0..8 {
        let mut log = bytes.clone();
        for _ in 0..20 {
            // The form is recognised by the first record.
            let at = first + rng.below(log.len() as u64 - first);
            log[at as usize] = *rng.pick(b"\nAx\0\t,{\"");
        }
        fs::write(&path, &log).unwrap();
        let _ = fs::remove_file(sidecar_path(&path));
        let (whole, _) = crate::common::read(&log);
        let invites = exact(Target::Method, "INVITE");
        let expected: Vec<&Owned> = whole
            .iter()
            .filter(|record| record.record().method() == Some(b"INVITE"))
            .collect();
        for indexed in [false, true] {
            if indexed {
                let made = index(&Segment::open(&path).unwrap()).unwrap();
                assert_eq!(made.records, whole.len() as u64);
            }
            let found = search_all_ways(&path, &Query::new());
            assert!(found == whole, "{form:?} {round} {indexed}");
            assert!(search_all_ways(&path, &invites).iter().eq(expected.clone()));
            for _ in 0..5 {
                let wanted = whole[rng.below(whole.len() as u64) as usize].clone();
                let wanted = &wanted.fields[Field::CallId as usize];
                let query = Query::new().and(Condition::new(
                    Target::Field(Field::CallId),
                    Test::Exact(wanted.clone()),
                ));
                let expected = whole
                    .iter()
                    .filter(|record| query.matches(&record.record(), b""));
                assert!(search_all_ways(&path, &query).iter().eq(expected));
            }
        }
    }
}

/// A search that reads only the searched field counts damaged lengths all the same.
#[test]
fn a_wrong_length_is_counted_by_a_lookup() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    let records = calls(5, 60);
    let mut log = written(&records, Form::Rfc6873);
    let query = call_id(records[40].call_id());
    for (digit, damaged) in [(b'f', 1), (log[6], 0)] {
        log[6] = digit;
        fs::write(&path, &log).unwrap();
        let searcher = Searcher::open(&[&path], SearchOptions::default()).unwrap();
        let searched = searcher.count(&query).unwrap();
        assert!(searched.records > 0);
        assert_eq!(searched.damaged, damaged);
    }
}

/// Bytes of a record in the message of another are no record, at whatever offset reading begins.
#[test]
fn a_record_in_a_message_is_not_taken_for_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    for form in Form::ALL {
        let mut records = calls(3, 3000);
        let mut forged = records[0].clone();
        forged.fields[Field::CallId as usize] = b"forged@example.com".to_vec();
        let body = [b"\r\n", &written(&[forged], form)[..]]
            .concat()
            .repeat(900);
        weir_clf::push_optional(
            weir_clf::MESSAGE,
            0,
            b"",
            &body,
            &mut records[1500].optional,
        );
        fs::write(&path, written(&records, form)).unwrap();
        let _ = fs::remove_file(sidecar_path(&path));
        for indexed in [false, true] {
            if indexed {
                index(&Segment::open(&path).unwrap()).unwrap();
            }
            assert_eq!(search_all_ways(&path, &call_id("forged@example.com")), []);
            assert_eq!(
                search_all_ways(&path, &Query::new()).len(),
                3000,
                "{form:?}"
            );
        }
    }
}

/// Lines that refer to earlier ones are read in their order, and have no index.
#[test]
fn references_of_the_text_draft_are_followed_in_any_way_of_searching() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.txt");
    let mut log = String::new();
    for number in 0..12_000 {
        log += &format!(
            "{number} h{number} - INVITE sip:b f{number} t c{number}@x \"-\" s{number} -\r\n"
        );
        if number >= 100 {
            let back = number - 100;
            log += &format!("{number} + + CANCEL + + + + \"+\" s{back} +\r\n");
        }
    }
    fs::write(&path, &log).unwrap();
    let (whole, damage) = crate::common::read(log.as_bytes());
    assert_eq!((whole.len(), damage.len()), (23_900, 0));
    for number in [0, 99, 100, 5000, 11_950] {
        let call = format!("c{number}@x");
        let found = search_all_ways(&path, &call_id(&call));
        let expected = whole.iter().filter(|record| record.call_id() == call);
        assert!(found.iter().eq(expected));
        assert_eq!(found.len(), if number < 11_900 { 2 } else { 1 });
    }
    assert!(search_all_ways(&path, &Query::new()) == whole);
    let refused = index(&Segment::open(&path).unwrap()).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::Unsupported);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    // A writer goes on without a sidecar, and reports the reason.
    let mut options = WriterOptions::default();
    options.form = Form::Text;
    let (writer, repair) = Writer::open(&path, options).unwrap();
    assert_eq!((repair.damaged, repair.removed_bytes), (0, 0));
    assert_eq!(writer.close().unwrap().warnings.len(), 1);
    assert!(!sidecar_path(&path).exists());
    assert!(search_all_ways(&path, &Query::new()) == whole);
}

/// A last line without its end is found, but not indexed, because more of it may be written.
#[test]
fn a_last_line_without_its_end_is_read_and_not_indexed() {
    let folder = tempfile::tempdir().unwrap();
    for form in [Form::Text, Form::Json] {
        let path = folder.path().join(form.name());
        let mut records = calls(3, 40);
        records.retain(|record| !record.flags.response);
        let log = written(&records, form);
        let (last, rest) = records.split_last().unwrap();
        let without = written(rest, form).len();
        let call = call_id(last.call_id());
        let end = log.len() - if form == Form::Text { 2 } else { 1 };
        fs::write(&path, &log[..end]).unwrap();
        let made = index(&Segment::open(&path).unwrap()).unwrap();
        assert_eq!((made.records, made.damaged), (rest.len() as u64, 0));
        let covered = coverage(&Segment::open(&path).unwrap()).unwrap().unwrap();
        assert_eq!(covered.log_bytes, without as u64);
        let found = search_all_ways(&path, &call).len();
        assert!(found >= 1);
        // The seal does not fit a log that has grown since; without it the blocks still do.
        for sealed in [true, false] {
            let sidecar = fs::read(sidecar_path(&path)).unwrap();
            let cut = sidecar.len() - if sealed { 0 } else { 32 };
            fs::write(sidecar_path(&path), &sidecar[..cut]).unwrap();
            fs::write(&path, [&log[..], &log[without..]].concat()).unwrap();
            assert_eq!(search_all_ways(&path, &call).len(), found + 1, "{form:?}");
        }
    }
}

/// After the last search, the progress has the bytes and records of all searches, and the bytes that were to be read.
#[test]
fn what_has_passed_is_what_was_read_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    let records = calls(9, 20_000);
    fs::write(&path, written(&records, Form::Rfc6873)).unwrap();
    let passed = weir_clf::Passed::default();
    let segment = Segment::open(&path).unwrap();
    let indexed = weir_clf::index_passing(&segment, &passed).unwrap();
    assert_eq!(indexed.records, 20_000);
    assert_eq!(
        (passed.bytes(), passed.records()),
        (segment.len(), indexed.records)
    );
    let mut options = SearchOptions::default();
    options.index = false;
    for threads in [1, 3] {
        options.threads = threads;
        let searcher = Searcher::open(&[&path], options.clone()).unwrap();
        let passed = searcher.passed().clone();
        assert_eq!(passed.planned_bytes(), 0);
        let all = searcher.count(&Query::new()).unwrap();
        let one = searcher.count(&call_id(records[40].call_id())).unwrap();
        assert!(all.records == 20_000 && one.records > 0);
        assert_eq!(passed.records(), all.records + one.records);
        assert_eq!(passed.planned_bytes(), 2 * segment.len());
        assert!(passed.bytes() >= passed.planned_bytes());
    }
}

/// A server looked at the path of a log, and read what a link led to that took its place before it was opened.
#[test]
fn segments_and_sidecars_are_opened_by_the_caller() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    log(&path, &calls(1, 5000));
    let mut options = SearchOptions::default();
    options.opener = |path| match path.extension() {
        Some(extension) if extension == "clf" => fs::File::open(path),
        _ => Err(std::io::ErrorKind::PermissionDenied.into()),
    };
    // Without its sidecar a log is read whole.
    let whole = |options: &SearchOptions| {
        let searcher = Searcher::open(&[&path], options.clone()).unwrap();
        let plan = searcher.plan(&call_id("nothing")).unwrap();
        let (bytes, read) = plan.bytes();
        read == bytes
    };
    assert!(whole(&options) && !whole(&SearchOptions::default()));
    options.opener = |_| Err(std::io::ErrorKind::PermissionDenied.into());
    let refused = Searcher::open(&[&path], options).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::PermissionDenied);
}
