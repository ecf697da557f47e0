//! SIP logs: each form's reader, the sidecar's, what is written of any bytes.

use std::ops::ControlFlow;

use weir_clf::{
    Condition, Encoder, Field, Form, Item, Query, Reader, ReaderOptions, Record, SearchOptions,
    Searcher, Segment, Target, Test, Writer, WriterOptions, index, rfc6873, sidecar_path,
};

use crate::bits::Bits;

/// Any bytes as a log: offsets rise, and what was read can be written in every form and read again.
/// The first byte chooses the form.
pub fn read(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let form = [
        None,
        Some(Form::Rfc6873),
        Some(Form::Text),
        Some(Form::Binary),
        Some(Form::Json),
    ];
    let mut options = ReaderOptions::default();
    options.form = bits.pick(&form);
    options.record_bytes_max = 1 << 16;
    let log = bits.0;
    let mut reader = Reader::with_options(log, options);
    let mut end = 0;
    while let Ok(Some(item)) = reader.next() {
        let (offset, len) = match item {
            Item::Record {
                record,
                offset,
                len,
            } => {
                for form in Form::ALL {
                    written(&record, form);
                }
                (offset, len as u64)
            }
            Item::Damage(damage) => (damage.offset, damage.len),
        };
        assert!(offset >= end && len > 0);
        end = offset + len;
        assert!(end <= log.len() as u64);
    }
}

/// A record in a form is one record there, and the form carries what came back.
fn written(record: &Record<'_>, form: Form) {
    let mut encoder = Encoder::new(form);
    encoder.push(record);
    let mut options = ReaderOptions::default();
    options.form = Some(form);
    let mut reader = Reader::with_options(encoder.bytes(), options);
    match reader.next() {
        Ok(Some(Item::Record { len, .. })) => assert_eq!(len, encoder.bytes().len()),
        // The line is longer than the reader's limit.
        Ok(Some(Item::Damage(_))) if encoder.bytes().len() > 1 << 20 => return,
        other => panic!("{form:?}: {other:?}"),
    }
    assert!(
        matches!(reader.next(), Ok(None)),
        "one record is one record"
    );
    if form == Form::Rfc6873 {
        let lines = encoder
            .bytes()
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        assert_eq!(lines, 2, "a line feed was forged");
    }
}

/// Fields of any bytes: what is written is one record, sound in all.
pub fn write(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let mut record = Record::default();
    for field in Field::ALL {
        let len = usize::from(bits.u8());
        record.set(field, bits.chunk(len));
    }
    let len = usize::from(bits.u8());
    record.user = bits.chunk(len);
    for form in Form::ALL {
        written(&record, form);
    }
    let mut encoder = rfc6873::Encoder::default();
    let len = encoder.push(&record);
    assert_eq!(rfc6873::check(encoder.bytes()), Ok(len));
}

/// Checks that searches give the same answer with arbitrary bytes, or a damaged index, as the sidecar of a sound log.
pub fn sidecar(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let mut options = WriterOptions::default();
    options.form = bits.pick(&Form::ALL);
    let (writer, _) = Writer::open(&log, options).expect("a log");
    let mut appender = writer.appender();
    for number in 0..200_u32 {
        let call = format!("{}@example.com", number / 4);
        let mut record = Record::default();
        record.set(Field::CallId, call.as_bytes());
        appender.append(&record).expect("written");
    }
    drop(appender);
    writer.close().expect("closed");
    let path = sidecar_path(&log);
    let mut sidecar = std::fs::read(&path).expect("a sidecar");
    if bits.flag() {
        sidecar = bits.0.to_vec();
    } else {
        for _ in 0..4 {
            let at = usize::from(bits.u16()) % sidecar.len();
            sidecar[at] ^= bits.u8();
        }
    }
    std::fs::write(&path, &sidecar).expect("written");
    let call = Target::Field(Field::CallId);
    let query = Query::new().and(Condition::new(
        call,
        Test::Exact(b"17@example.com".to_vec()),
    ));
    for resident in [false, true] {
        let mut options = SearchOptions::default();
        options.resident = resident;
        let searcher = Searcher::open(&[&log], options).expect("opened");
        let mut found = 0;
        let searched = searcher.search(&query, &mut |_| {
            found += 1;
            ControlFlow::Continue(())
        });
        assert_eq!((found, searched.expect("searched").records), (4, 4));
    }
    index(&Segment::open(&log).expect("opened")).expect("made anew");
}
