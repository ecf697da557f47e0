//! The drafts of 2009, which the original measured: written as files, walked, converted.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use weir_clf::{
    Encoder, Flags, Form, Item, Reader, Record, SearchOptions, Searcher, WriteBehind, Writer,
    WriterOptions, sidecar_path,
};

use crate::{Calls, alternate, call_of, query_of, report, text_line, time};

/// The number of bytes that are formatted before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// Measures both drafts beside the plain text writer, with and without a sidecar, and a lookup in each.
pub(crate) fn write(calls: &Calls, folder: &Path) {
    let text = folder.join("draft");
    let mut plain_text = || {
        let _ = fs::remove_file(&text);
        let mut second = (0, String::new());
        time(|| {
            let mut buffer = Vec::with_capacity(2 * BUFFER_BYTES);
            let mut file = File::create(&text).unwrap();
            calls.each(|record| {
                text_line(record, &mut second, &mut buffer);
                if buffer.len() >= BUFFER_BYTES {
                    file.write_all(&buffer).unwrap();
                    buffer.clear();
                }
            });
            file.write_all(&buffer).unwrap();
        })
    };
    let logs = [Form::Text, Form::Binary].map(|form| (form, folder.join(form.name())));
    let [text_log, binary_log] = &logs;
    let [text, text_bare, text_indexed, binary_bare, binary_indexed] = alternate(
        7,
        [
            &mut plain_text,
            &mut || write_log(calls, text_log, false),
            &mut || write_log(calls, text_log, true),
            &mut || write_log(calls, binary_log, false),
            &mut || write_log(calls, binary_log, true),
        ],
    );
    for (name, seconds) in [
        ("write draft text, no sidecar", text_bare),
        ("write draft text with sidecar", text_indexed),
        ("write draft binary, no sidecar", binary_bare),
        ("write draft binary with sidecar", binary_indexed),
    ] {
        report(name, seconds, text, "plain text writer", "s");
    }
    for log in &logs {
        find(calls, log);
    }
}

/// Writes a log of a form as `weir clf write` does; sealing it is not counted.
fn write_log(calls: &Calls, (form, path): &(Form, PathBuf), index: bool) -> f64 {
    let _ = fs::remove_file(path);
    let _ = fs::remove_file(sidecar_path(path));
    let mut options = WriterOptions::default();
    (options.form, options.index) = (*form, index);
    let (writer, _) = Writer::open(path, options).unwrap();
    let mut appender = writer.appender();
    let seconds = time(|| {
        calls.each(|record| appender.append(&request(record)).unwrap());
        appender.commit().unwrap();
    });
    drop(appender);
    writer.close().unwrap();
    seconds
}

/// Looks up the last record's Call-ID in a log of a draft.
fn find(calls: &Calls, (form, path): &(Form, PathBuf)) {
    let query = query_of(calls, calls.ends.len() - 1);
    let found = |index: bool| {
        let mut options = SearchOptions::default();
        options.index = index;
        time(|| {
            let searcher = Searcher::open(&[path], options).unwrap();
            assert!(searcher.count(&query).unwrap().records >= 1);
        })
    };
    let [indexed, scanned] = alternate(7, [&mut || found(true), &mut || found(false)]);
    let len = |path: &Path| fs::metadata(path).unwrap().len() as f64;
    println!(
        "draft {} {:.0} bytes a record, sidecar {:.2} %",
        form.name(),
        len(path) / calls.ends.len() as f64,
        len(&sidecar_path(path)) / len(path) * 100.0
    );
    let name = format!("open and find, draft {}, indexed", form.name());
    report(&name, indexed, scanned, "a scan of it", "s");
}

/// Makes the record a request, because a response of the text draft has no Call-ID.
pub(crate) fn request<'a>(record: &Record<'a>) -> Record<'a> {
    Record {
        flags: Flags::from_letters(*b"RORUU").unwrap(),
        ..*record
    }
}

pub(crate) fn write_all(calls: &Calls, form: Form, path: &Path) {
    let mut encoder = Encoder::new(form);
    let mut out = File::create(path).unwrap();
    calls.each(|record| {
        encoder.push(&request(record));
        if encoder.bytes().len() >= BUFFER_BYTES {
            out.write_all(encoder.bytes()).unwrap();
            encoder.clear();
        }
    });
    out.write_all(encoder.bytes()).unwrap();
}

/// Measures the original's search: it follows the pointers of the binary draft, record by record, to the last Call-ID.
pub(crate) fn walk(calls: &Calls, folder: &Path, log: &Path) {
    let path = folder.join("walk.bin");
    write_all(calls, Form::Binary, &path);
    let last = calls.ends.len() - 1;
    let (query, call_id) = (query_of(calls, last), call_of(calls, last));
    let searched = |index: bool| {
        let mut options = SearchOptions::default();
        options.index = index;
        time(|| {
            let searcher = Searcher::open(&[log], options).unwrap();
            assert!(searcher.count(&query).unwrap().records >= 1);
        })
    };
    let [walked, indexed, scanned] = alternate(
        7,
        [
            &mut || time(|| assert!(with_call_id(&path, call_id.as_bytes()) >= 1)),
            &mut || searched(true),
            &mut || searched(false),
        ],
    );
    let peer = "walk of the draft binary";
    report("find the last Call-ID, indexed", indexed, walked, peer, "s");
    report("find the last Call-ID, scan", scanned, walked, peer, "s");
    fs::remove_file(&path).unwrap();
}

/// Counts the records of a file of the binary draft that have this Call-ID, as a careful programmer would: it reads a
/// mebibyte at a time, and of each record only its length and its eighth pair of pointer and length.
fn with_call_id(path: &Path, call_id: &[u8]) -> usize {
    const LENGTH_BITS: u32 = 0x00ff_ffff;
    const CALL_ID: usize = 24 + 7 * 4;
    let number = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0, |sum, byte| sum << 8 | usize::from(*byte))
    };
    let mut file = File::open(path).unwrap();
    let mut buffer = vec![0; BUFFER_BYTES];
    let (mut pending, mut found) = (0, 0);
    loop {
        let count = file.read(&mut buffer[pending..]).unwrap();
        if count == 0 {
            assert_eq!(pending, 0);
            return found;
        }
        let bytes = &buffer[..pending + count];
        let mut at = 0;
        while let Some(head) = bytes.get(at..at + 56) {
            let len = number(&head[..4]) & LENGTH_BITS as usize;
            let Some(record) = bytes.get(at..at + len) else {
                break;
            };
            let (start, field_len) = (
                number(&head[CALL_ID..][..2]),
                number(&head[CALL_ID + 2..][..2]),
            );
            found += usize::from(&record[start..start + field_len] == call_id);
            at += len;
        }
        pending = bytes.len() - at;
        buffer.copy_within(at..at + pending, 0);
    }
}

/// Appends the line of a record of the binary draft and returns the record's length, as a careful programmer would
/// convert it: by the pointers and the groups, without a check of the values. `None` when the record is truncated.
pub(crate) fn line_of_binary(bytes: &[u8], out: &mut Vec<u8>) -> Option<usize> {
    let number = |bytes: &[u8], at: usize| {
        let pair = bytes.get(at..at + 2)?;
        Some(usize::from(u16::from_be_bytes([pair[0], pair[1]])))
    };
    let head = bytes.get(..56)?;
    let len = usize::from(head[1]) << 16 | number(head, 2)?;
    let record = bytes.get(..len)?;
    let seconds = u64::from_be_bytes(head[4..12].try_into().ok()?);
    let pointed = |index: usize| {
        let at = 24 + 4 * index;
        record
            .get(number(head, at)?..)?
            .get(..number(head, at + 2)?)
    };
    let (mut contact, mut uri, mut host, mut user) = (&b"-"[..], &b"-"[..], &b"-"[..], &b"-"[..]);
    let mut at = number(head, 22)?;
    while at > 0 && at < len {
        let value = record.get(at + 4..at + 4 + number(record, at + 2)?)?;
        match number(record, at)? {
            0 => contact = value,
            1 => uri = value,
            2 => host = value,
            3 => user = value,
            _ => {}
        }
        at += 4 + value.len();
    }
    write!(out, "{seconds}").ok()?;
    let mut word = |value: &[u8], tag: &[u8]| {
        out.push(b' ');
        out.extend_from_slice(if value.is_empty() { b"-" } else { value });
        if !tag.is_empty() {
            out.extend_from_slice(b";tag=");
            out.extend_from_slice(tag);
        }
    };
    for value in [host, user, pointed(2)?, uri] {
        word(value, b"");
    }
    word(pointed(5)?, pointed(6)?);
    word(pointed(3)?, pointed(4)?);
    word(pointed(7)?, b"");
    out.extend_from_slice(b" \"");
    out.extend_from_slice(contact);
    out.push(b'"');
    for index in [0, 1] {
        let value = pointed(index)?;
        out.push(b' ');
        out.extend_from_slice(if value.is_empty() { b"-" } else { value });
    }
    out.extend_from_slice(b"\r\n");
    Some(len)
}

/// Converts a file of the binary draft as [`line_of_binary`] does, a mebibyte at a time.
pub(crate) fn careful(from: &Path, to: &Path) -> usize {
    let mut file = File::open(from).unwrap();
    let mut out = File::create(to).unwrap();
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut lines = Vec::with_capacity(BUFFER_BYTES);
    let (mut pending, mut records) = (0, 0);
    loop {
        let count = file.read(&mut buffer[pending..]).unwrap();
        if count == 0 {
            assert_eq!(pending, 0);
            return records;
        }
        let bytes = &buffer[..pending + count];
        let mut at = 0;
        while let Some(len) = line_of_binary(&bytes[at..], &mut lines) {
            at += len;
            records += 1;
        }
        out.write_all(&lines).unwrap();
        lines.clear();
        pending = bytes.len() - at;
        buffer.copy_within(at..at + pending, 0);
    }
}

/// Converts a file as `weir clf convert` does.
pub(crate) fn convert_file(from: &Path, to: Form, out: &Path) -> usize {
    let mut reader = Reader::new(File::open(from).unwrap());
    let mut out = WriteBehind::new(File::create(out).unwrap());
    let mut encoder = Encoder::new(to);
    let mut spare = Vec::new();
    let mut count = 0;
    while let Some(item) = reader.next().unwrap() {
        if let Item::Record { record, .. } = item {
            encoder.push(&record);
            count += 1;
        }
        if encoder.bytes().len() > 256 << 10 {
            let piece = encoder.swap(std::mem::take(&mut spare));
            spare = out.pass(piece).unwrap();
        }
    }
    out.finish(encoder.bytes()).unwrap();
    count
}

pub(crate) fn convert(calls: &Calls, folder: &Path) {
    let paths = ["log.txt", "log.bin", "out"].map(|name| folder.join(name));
    for (form, path) in [Form::Text, Form::Binary].into_iter().zip(&paths) {
        write_all(calls, form, path);
    }
    let converted = |from: &Path, to: Form| {
        time(|| assert_eq!(convert_file(from, to, &paths[2]), calls.ends.len()))
    };
    let million = calls.ends.len() as f64 / 1e6;
    let [to_binary, to_text, peer] = alternate(
        5,
        [
            &mut || converted(&paths[0], Form::Binary),
            &mut || converted(&paths[1], Form::Text),
            &mut || time(|| assert_eq!(careful(&paths[1], &paths[2]), calls.ends.len())),
        ],
    );
    let ours = fs::read(&paths[2]).unwrap();
    converted(&paths[1], Form::Text);
    assert!(
        ours == fs::read(&paths[2]).unwrap(),
        "both converters write the same lines"
    );
    report(
        "text to binary, a million",
        to_binary / million,
        0.51,
        "the best of the study (another run)",
        "s",
    );
    report(
        "binary to text, a million",
        to_text / million,
        0.18,
        "the best of the study (another run)",
        "s",
    );
    report(
        "binary to text, a million",
        to_text / million,
        peer / million,
        "a converter for these lines",
        "s",
    );
}
