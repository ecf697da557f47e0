//! Tests of the writer: several threads, rotation, repair, and faults of a disk.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

use weir_clf::{
    Field, Form, Fsync, SearchOptions, Searcher, Segment, Summary, Writer, WriterOptions, coverage,
    index, segments, sidecar_path,
};
use weir_testkit::{Rng, until};

use crate::common::{Owned, call_id, calls, read, search_all_ways, written};

fn write(path: &Path, options: WriterOptions, records: &[Owned]) -> Summary {
    let (writer, _) = Writer::open(path, options).unwrap();
    let mut appender = writer.appender();
    for record in records {
        appender.append(&record.record()).unwrap();
    }
    drop(appender);
    writer.close().unwrap()
}

fn read_all(path: &Path) -> Vec<Owned> {
    let mut all = Vec::new();
    for path in segments(path).unwrap() {
        let mut log = Vec::new();
        let segment = Segment::open(&path).unwrap();
        std::io::Read::read_to_end(&mut segment.reader(), &mut log).unwrap();
        let (records, damage) = read(&log);
        assert!(damage.is_empty(), "{}", path.display());
        all.extend(records);
    }
    all
}

#[test]
fn threads_share_a_log_and_each_keeps_its_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    let (writer, _) = Writer::open(&path, WriterOptions::default()).unwrap();
    let all: Vec<Vec<Owned>> = (0..4).map(|seed| calls(seed, 3000)).collect();
    std::thread::scope(|scope| {
        for records in &all {
            let mut appender = writer.appender();
            scope.spawn(move || {
                for record in records {
                    appender.append(&record.record()).unwrap();
                }
                appender.commit().unwrap();
            });
        }
    });
    assert_eq!(writer.close().unwrap().records, 12_000);
    let found = read_all(&path);
    assert_eq!(found.len(), 12_000);
    for records in &all {
        let mut rest = found.iter();
        for record in records {
            assert!(rest.any(|other| other == record));
        }
    }
    let covered = coverage(&Segment::open(&path).unwrap()).unwrap().unwrap();
    assert_eq!(covered.records, 12_000);
    assert_eq!(covered.log_bytes, fs::metadata(&path).unwrap().len());
}

#[test]
fn segments_are_sealed_by_size_and_compressed() {
    let folder = tempfile::tempdir().unwrap();
    for compress in [None, Some(3)] {
        let path = folder
            .path()
            .join(format!("calls-{}.clf", compress.is_some()));
        let mut options = WriterOptions::default();
        options.rotate_bytes = Some(400_000);
        options.compress = compress;
        let records = calls(9, 10_000);
        let summary = write(&path, options, &records);
        assert!(summary.warnings.is_empty(), "{:?}", summary.warnings);
        assert!(summary.sealed >= 5, "{summary:?}");
        assert!(read_all(&path) == records);
        let names = segments(&path).unwrap();
        assert_eq!(names.len() as u64, summary.sealed + 1);
        for name in &names[..names.len() - 1] {
            let zst = name.extension().is_some_and(|extension| extension == "zst");
            assert_eq!(zst, compress.is_some());
            let segment = Segment::open(name).unwrap();
            assert!(segment.len() <= 400_000);
            assert_eq!(
                coverage(&segment).unwrap().unwrap().log_bytes,
                segment.len()
            );
        }
        let wanted = records[1234].call_id();
        let expected: Vec<Owned> = records
            .iter()
            .filter(|record| record.call_id() == wanted)
            .cloned()
            .collect();
        assert!(search_all_ways(&path, &call_id(wanted)) == expected);
    }
}

#[test]
fn a_log_that_was_moved_away_takes_its_sidecar_along() {
    let folder = tempfile::tempdir().unwrap();
    let (path, moved) = (
        folder.path().join("calls.clf"),
        folder.path().join("calls.clf.old"),
    );
    let (writer, _) = Writer::open(&path, WriterOptions::default()).unwrap();
    let records = calls(1, 200);
    let mut appender = writer.appender();
    for (place, record) in records.iter().enumerate() {
        if place == 100 {
            appender.commit().unwrap();
            fs::rename(&path, &moved).unwrap();
            writer.reopen();
            until("the log to begin again", || path.exists());
        }
        appender.append(&record.record()).unwrap();
    }
    drop(appender);
    writer.close().unwrap();
    assert!(read_all(&moved) == records[..100]);
    assert!(read_all(&path) == records[100..]);
    for path in [&path, &moved] {
        assert_eq!(
            coverage(&Segment::open(path).unwrap())
                .unwrap()
                .unwrap()
                .records,
            100
        );
    }
}

#[test]
fn a_log_is_rotated_by_age() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    let mut options = WriterOptions::default();
    options.rotate_every = Some(Duration::from_millis(30));
    options.fsync = Fsync::Every(Duration::from_millis(10));
    let (writer, _) = Writer::open(&path, options).unwrap();
    let records = calls(1, 100);
    let mut appender = writer.appender();
    let mut appended = Vec::new();
    until("the log to be rotated twice", || {
        let record = &records[appended.len() % records.len()];
        appender.append(&record.record()).unwrap();
        appender.commit().unwrap();
        appended.push(record.clone());
        segments(&path).unwrap().len() > 2
    });
    drop(appender);
    let summary = writer.close().unwrap();
    assert!(summary.sealed >= 2, "{summary:?}");
    assert!(read_all(&path) == appended);
}

#[test]
fn what_a_crash_leaves_is_cut_off_and_the_log_goes_on() {
    for form in Form::ALL {
        the_log_goes_on(form);
    }
}

/// Returns the number of complete lines of a log before `cut`.
fn left_whole(log: &[u8], cut: usize) -> usize {
    log[..cut].iter().filter(|&&byte| byte == b'\n').count()
}

fn the_log_goes_on(form: Form) {
    let mut options = WriterOptions::default();
    options.form = form;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    let records = calls(2, 500);
    let mut rng = Rng::new(4);
    for round in 0..60 {
        let _ = fs::remove_file(&path);
        let _ = fs::remove_file(sidecar_path(&path));
        write(&path, options.clone(), &records[..400]);
        let log = fs::read(&path).unwrap();
        // The rest is a part of the last record, zeros, or both; now and then with a sidecar that is cut too.
        let cut = log.len() - rng.below(600) as usize;
        let mut left = log[..cut].to_vec();
        // In the binary draft a record that is completed by zeros cannot be distinguished from one that contains them.
        if round % 3 == 0 && form != Form::Binary {
            left.extend_from_slice(&[0; 5000]);
        }
        fs::write(&path, &left).unwrap();
        if round % 2 == 0 {
            let sidecar = fs::read(sidecar_path(&path)).unwrap();
            let cut = rng.below(sidecar.len() as u64) as usize;
            fs::write(sidecar_path(&path), &sidecar[..cut]).unwrap();
        }
        let (mut whole, _) = read(&left);
        // A reader returns a last line without its line feed; the writer removes it, as it may be incomplete.
        let finished = matches!(form, Form::Rfc6873 | Form::Binary) || log[cut - 1] == b'\n';
        if !finished && whole.len() == left_whole(&log, cut) + 1 {
            whole.pop();
        }
        let (writer, repair) = Writer::open(&path, options.clone()).unwrap();
        assert_eq!(repair.damaged, 0, "{form:?} {round}");
        let mut appender = writer.appender();
        for record in &records[400..] {
            appender.append(&record.record()).unwrap();
        }
        drop(appender);
        writer.close().unwrap();
        let found = read_all(&path);
        let (expected, _) = read(&written(&records, form));
        assert!(found[..whole.len()] == expected[..whole.len()], "{form:?}");
        assert!(found[whole.len()..] == expected[400..], "{form:?}");
        let covered = coverage(&Segment::open(&path).unwrap()).unwrap().unwrap();
        assert_eq!(covered.records, found.len() as u64);
    }
}

#[test]
fn damage_in_the_middle_stays_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    let records = calls(2, 100);
    write(&path, WriterOptions::default(), &records);
    let mut log = fs::read(&path).unwrap();
    log[5000] = b'\n';
    fs::write(&path, &log).unwrap();
    fs::remove_file(sidecar_path(&path)).unwrap();
    let (writer, repair) = Writer::open(&path, WriterOptions::default()).unwrap();
    assert_eq!(
        (repair.damaged, repair.removed_bytes, repair.indexed_records),
        (1, 0, 99)
    );
    drop(writer);
    assert_eq!(fs::read(&path).unwrap(), log);
}

#[test]
fn what_is_no_log_or_one_of_another_form_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let records = calls(2, 10);
    for form in Form::ALL {
        let mut options = WriterOptions::default();
        options.form = form;
        let others = Form::ALL.into_iter().filter(|&other| other != form);
        let mut contents: Vec<Vec<u8>> = others.map(|other| written(&records, other)).collect();
        contents.push(b"# A text\nof two lines\n".to_vec());
        contents.push(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0".repeat(40));
        for content in contents {
            fs::write(&path, &content).unwrap();
            let refused = Writer::open(&path, options.clone()).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidData, "{form:?}");
            assert!(fs::read(&path).unwrap() == content);
            assert!(!sidecar_path(&path).exists());
        }
    }
}

#[test]
fn a_log_has_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    let (writer, _) = Writer::open(&path, WriterOptions::default()).unwrap();
    let second = Writer::open(&path, WriterOptions::default());
    assert_eq!(second.unwrap_err().kind(), ErrorKind::ResourceBusy);
    drop(writer);
    assert!(Writer::open(&path, WriterOptions::default()).is_ok());
}

#[test]
fn a_folder_that_cannot_be_written_is_an_error_not_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no/such/calls.clf");
    assert_eq!(
        Writer::open(&missing, WriterOptions::default())
            .unwrap_err()
            .kind(),
        ErrorKind::NotFound
    );
    assert!(Writer::open(folder.path(), WriterOptions::default()).is_err());
}

#[test]
fn a_full_disk_is_an_error_and_leaves_no_half_record() {
    if !Path::new("/dev/full").exists() {
        weir_testkit::missing("dev-full", "a writer to a full disk");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    let mut options = WriterOptions::default();
    options.index = false;
    let (writer, _) = Writer::open(&path, options).unwrap();
    let mut appender = writer.appender();
    let records = calls(1, 3);
    appender.append(&records[0].record()).unwrap();
    let error = appender.commit().unwrap_err();
    assert!(error.to_string().contains("No space left"), "{error}");
    assert!(
        appender
            .append(&records[1].record())
            .and_then(|()| appender.commit())
            .is_err()
    );
    drop(appender);
    assert!(writer.close().is_err());
}

#[test]
fn a_sidecar_that_cannot_be_written_costs_only_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    fs::create_dir(sidecar_path(&path)).unwrap();
    let records = calls(1, 300);
    let summary = write(&path, WriterOptions::default(), &records);
    assert_eq!(summary.warnings.len(), 1);
    assert!(read_all(&path) == records);
    let wanted = records[7].call_id();
    let expected = records
        .iter()
        .filter(|record| record.call_id() == wanted)
        .count();
    assert_eq!(search_all_ways(&path, &call_id(wanted)).len(), expected);
}

#[test]
fn a_sidecar_made_later_is_as_good() {
    let folder = tempfile::tempdir().unwrap();
    let mut records = calls(8, 70_000);
    for (place, record) in records.iter_mut().enumerate().step_by(50) {
        // These values are changed when a form writes them.
        let (field, value) = match place / 50 % 8 {
            0 => (Field::CallId, b"with space".to_vec()),
            1 => (Field::CallId, b"\xff\x7f\r\n\"\\".to_vec()),
            2 => (Field::CallId, b"+".to_vec()),
            3 => (Field::FromUri, b"<sip:a\tb@h>".to_vec()),
            4 => (Field::ToUri, b"sip:h;tag=x".to_vec()),
            5 => (Field::ToUri, vec![b'x'; 9000]),
            6 => (Field::Status, b"0200".to_vec()),
            _ => {
                record.time.seconds = 20_000_000_000 + place as u64;
                continue;
            }
        };
        record.fields[field as usize] = value;
    }
    for form in Form::ALL {
        let path = folder.path().join(form.name());
        let mut options = WriterOptions::default();
        options.form = form;
        write(&path, options, &records);
        let while_writing = fs::read(sidecar_path(&path)).unwrap();
        fs::remove_file(sidecar_path(&path)).unwrap();
        let made = index(&Segment::open(&path).unwrap()).unwrap();
        assert_eq!((made.records, made.damaged), (70_000, 0));
        assert!(
            fs::read(sidecar_path(&path)).unwrap() == while_writing,
            "{form:?}"
        );
        // The drafts' records are shorter than those of RFC 6873, JSON's longer.
        let share = made.sidecar_bytes as f64 / made.log_bytes as f64;
        assert!(
            share <= if form == Form::Text { 0.06 } else { 0.03 },
            "{form:?}: {share}"
        );
    }
}

#[test]
fn the_newest_records_of_a_live_log_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls.clf");
    let (writer, _) = Writer::open(&path, WriterOptions::default()).unwrap();
    let mut appender = writer.appender();
    for (place, record) in calls(6, 400).iter().enumerate() {
        appender.append(&record.record()).unwrap();
        if place % 50 == 0 {
            appender.commit().unwrap();
            assert!(search_all_ways(&path, &call_id(record.call_id())).contains(record));
        }
    }
    let mut half = OpenOptions::new().append(true).open(&path).unwrap();
    half.write_all(b"A000100,0053").unwrap();
    let searcher = Searcher::open(&[&path], SearchOptions::default()).unwrap();
    assert!(searcher.count(&weir_clf::Query::new()).unwrap().records >= 350);
}
