//! Helpers that several tests use.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use weir_clf::{
    Condition, Encoder, Field, Flags, Form, Item, Query, Reader, Record, SearchOptions, Searcher,
    Target, Test, Time,
};
use weir_testkit::Rng;

/// Returns a file of the data beside the checkout; reports it when it is missing.
pub(crate) fn shared(name: &str) -> Option<Vec<u8>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/clf")
        .join(name);
    let read = std::fs::read(&path).ok();
    if read.is_none() {
        weir_testkit::missing("captures", &path.display().to_string());
    }
    read
}

/// A record that owns its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owned {
    pub(crate) time: Time,
    pub(crate) flags: Flags,
    pub(crate) fields: Vec<Vec<u8>>,
    pub(crate) user: Vec<u8>,
    pub(crate) optional: Vec<u8>,
}

impl Owned {
    pub(crate) fn of(record: &Record<'_>) -> Self {
        Self {
            time: record.time,
            flags: record.flags,
            fields: record.fields.iter().map(|field| field.to_vec()).collect(),
            user: record.user.to_vec(),
            optional: record.optional.encoded().to_vec(),
        }
    }

    pub(crate) fn record(&self) -> Record<'_> {
        let mut record = Record {
            time: self.time,
            flags: self.flags,
            user: &self.user,
            optional: weir_clf::Optionals::new(&self.optional),
            ..Record::default()
        };
        for (field, value) in Field::ALL.into_iter().zip(&self.fields) {
            record.set(field, value);
        }
        record
    }

    pub(crate) fn call_id(&self) -> &str {
        std::str::from_utf8(&self.fields[Field::CallId as usize]).unwrap()
    }
}

/// Returns calls of seven records each, many at a time; every eighth Call-ID is a repeated one.
pub(crate) fn calls(seed: u64, records: usize) -> Vec<Owned> {
    let mut rng = Rng::new(seed);
    let mut open: Vec<(String, String, String, usize)> = Vec::new();
    let mut all = Vec::with_capacity(records);
    const STEPS: [(&str, &str, bool); 7] = [
        ("1 INVITE", "-", false),
        ("1 INVITE", "100", true),
        ("1 INVITE", "180", true),
        ("1 INVITE", "200", true),
        ("1 ACK", "-", false),
        ("2 BYE", "-", false),
        ("2 BYE", "200", true),
    ];
    let mut milliseconds = 1_700_000_000_000_u64;
    while all.len() < records {
        if open.len() < 50 {
            let call = format!("{:016x}@host{}.example.com", rng.next_u64(), rng.below(9));
            let from = format!("user{}", rng.below(500));
            let to = format!("+4930{:06}", rng.below(1_000_000));
            open.push((call, from, to, 0));
        }
        let at = rng.below(open.len() as u64) as usize;
        let (call, from, to, step) = open[at].clone();
        let (cseq, status, response) = STEPS[step];
        // Clocks step backwards now and then.
        milliseconds = milliseconds + rng.below(20)
            - if rng.percent(1) {
                15.min(milliseconds)
            } else {
                0
            };
        let tag = if step == 0 {
            "-".to_owned()
        } else {
            format!("t{}", &call[..6])
        };
        let fields = [
            cseq,
            status,
            if response { "-" } else { "sip:bob@example.net" },
            "192.0.2.10:5060",
            "198.51.100.7:5060",
            &format!("sip:{to}@example.net"),
            &tag,
            &format!("sip:{from}@example.com"),
            &format!("f{}", &call[..7]),
            &call,
            &format!("s-{}", &call[..9]),
            &format!("c-{}", &call[3..12]),
        ]
        .map(|field: &str| field.as_bytes().to_vec());
        all.push(Owned {
            time: Time {
                seconds: milliseconds / 1000,
                nanoseconds: (milliseconds % 1000) as u32 * 1_000_000,
            },
            flags: Flags {
                response,
                ..Flags::from_letters(*b"RORUU").unwrap()
            },
            fields: fields.to_vec(),
            user: b"-".to_vec(),
            optional: Vec::new(),
        });
        if step + 1 == STEPS.len() {
            open.swap_remove(at);
        } else {
            open[at].3 += 1;
        }
    }
    all
}

pub(crate) fn written(records: &[Owned], form: Form) -> Vec<u8> {
    let mut encoder = Encoder::new(form);
    for record in records {
        encoder.push(&record.record());
    }
    encoder.bytes().to_vec()
}

/// Returns the records of a log, and the places where there are none.
pub(crate) fn read(log: &[u8]) -> (Vec<Owned>, Vec<weir_clf::Damage>) {
    let mut reader = Reader::new(log);
    let (mut records, mut damage) = (Vec::new(), Vec::new());
    while let Some(item) = reader.next().unwrap() {
        match item {
            Item::Record { record, .. } => records.push(Owned::of(&record)),
            Item::Damage(found) => damage.push(found),
        }
    }
    (records, damage)
}

pub(crate) fn call_id(value: &str) -> Query {
    exact(Target::Field(Field::CallId), value)
}

pub(crate) fn exact(target: Target, value: &str) -> Query {
    Query::new().and(Condition::new(
        target,
        Test::Exact(value.as_bytes().to_vec()),
    ))
}

/// Returns the records that a search finds, one after the other.
pub(crate) fn search(paths: &[PathBuf], query: &Query, options: SearchOptions) -> Vec<Owned> {
    let searcher = Searcher::open(paths, options).unwrap();
    let mut found = Vec::new();
    searcher
        .search(query, &mut |hit| {
            found.push(Owned::of(&hit.record));
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

/// Searches in every way, checks that the results are the same, and returns them.
pub(crate) fn search_all_ways(log: &Path, query: &Query) -> Vec<Owned> {
    let paths = weir_clf::segments(log).unwrap();
    let ways = [
        (1, true, false),
        (1, false, false),
        (3, true, true),
        (3, false, false),
    ];
    let mut all = ways.map(|(threads, index, resident)| {
        let mut options = SearchOptions::default();
        (options.threads, options.index, options.resident) = (threads, index, resident);
        search(&paths, query, options)
    });
    for other in &all[1..] {
        assert!(
            all[0] == *other,
            "{} and {} records",
            all[0].len(),
            other.len()
        );
    }
    std::mem::take(&mut all[0])
}
