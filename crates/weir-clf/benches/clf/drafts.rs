//! The drafts of 2009, which the original measured: written as files, walked, converted.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use weir_clf::{Encoder, Flags, Form, Item, Reader, Record, SearchOptions, Searcher};

use crate::{Calls, alternate, call_of, query_of, report, text_line, time};

/// Bytes that are formatted before they are written.
const BUFFER_BYTES: usize = 1 << 20;

/// Both drafts beside the plain text writer. They have no sidecar: that is of RFC 6873.
pub(crate) fn write(calls: &Calls, folder: &Path) {
    let path = folder.join("draft");
    let mut drafts = [Form::Text, Form::Binary].map(|form| {
        let path = path.clone();
        move || {
            let _ = fs::remove_file(&path);
            time(|| write_all(calls, form, &path))
        }
    });
    let [text_draft, binary_draft] = &mut drafts;
    let mut plain_text = || {
        let _ = fs::remove_file(&path);
        let mut second = (0, String::new());
        time(|| {
            let mut buffer = Vec::with_capacity(2 * BUFFER_BYTES);
            let mut file = File::create(&path).unwrap();
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
    let [text, text_draft, binary_draft] =
        alternate(7, [&mut plain_text, text_draft, binary_draft]);
    for (name, seconds) in [
        ("write draft text, no sidecar", text_draft),
        ("write draft binary, no sidecar", binary_draft),
    ] {
        report(name, seconds, text, "plain text writer", "s");
    }
    fs::remove_file(&path).unwrap();
}

fn write_all(calls: &Calls, form: Form, path: &Path) {
    let mut encoder = Encoder::new(form);
    let mut out = File::create(path).unwrap();
    calls.each(|record| {
        // Requests: a response of the text draft has no Call-ID to speak of.
        let request = Record {
            flags: Flags::default(),
            ..*record
        };
        encoder.push(&request);
        if encoder.bytes().len() >= BUFFER_BYTES {
            out.write_all(encoder.bytes()).unwrap();
            encoder.clear();
        }
    });
    out.write_all(encoder.bytes()).unwrap();
}

/// The original's search: the pointers of the binary draft, record by record, to the last Call-ID.
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

/// How many records of a file of the binary draft have this Call-ID: as a careful programmer would walk it, a
/// mebibyte at a time, looking at nothing but each record's length and its eighth pair of pointer and length.
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
    let (mut kept, mut found) = (0, 0);
    loop {
        let count = file.read(&mut buffer[kept..]).unwrap();
        if count == 0 {
            assert_eq!(kept, 0);
            return found;
        }
        let bytes = &buffer[..kept + count];
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
        kept = bytes.len() - at;
        buffer.copy_within(at..at + kept, 0);
    }
}

pub(crate) fn convert(calls: &Calls, folder: &Path) {
    let paths = ["log.txt", "log.bin", "out"].map(|name| folder.join(name));
    for (form, path) in [Form::Text, Form::Binary].into_iter().zip(&paths) {
        write_all(calls, form, path);
    }
    let converted = |from: &Path, to: Form| {
        time(|| {
            let mut reader = Reader::new(File::open(from).unwrap());
            let mut out = File::create(&paths[2]).unwrap();
            let mut encoder = Encoder::new(to);
            let mut count = 0;
            while let Some(item) = reader.next().unwrap() {
                if let Item::Record { record, .. } = item {
                    encoder.push(&record);
                    count += 1;
                }
                if encoder.bytes().len() > 256 << 10 {
                    out.write_all(encoder.bytes()).unwrap();
                    encoder.clear();
                }
            }
            out.write_all(encoder.bytes()).unwrap();
            assert_eq!(count, calls.ends.len());
        })
    };
    let million = calls.ends.len() as f64 / 1e6;
    let [to_binary, to_text] = alternate(
        5,
        [&mut || converted(&paths[0], Form::Binary), &mut || {
            converted(&paths[1], Form::Text)
        }],
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
}
