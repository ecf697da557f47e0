//! Tables of what packets carry, over packets as they come: the same rows as over the file, one after the other.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use weir_engine::{Engine, Options};
use weir_tables::{CaptureTee, EXTRACTIONS, Feed, Predicate};

use crate::samples;
use crate::slt::{Runner, rows_of};

/// A capture as if it came from an interface: in pieces, with pauses between them.
struct Replay {
    name: String,
    bytes: Mutex<Option<Vec<u8>>>,
    /// Bytes that were read so far.
    read: Arc<AtomicU64>,
    /// Bytes at which to wait until the groups were read.
    until: Arc<AtomicU64>,
    has_predicate: Arc<Mutex<Option<bool>>>,
}

impl Replay {
    fn of(path: &str) -> Self {
        Self {
            name: path.to_owned(),
            bytes: Mutex::new(Some(std::fs::read(path).unwrap())),
            read: Arc::default(),
            until: Arc::new(AtomicU64::new(u64::MAX)),
            has_predicate: Arc::default(),
        }
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Feed for Replay {
    fn name(&self) -> &str {
        &self.name
    }

    fn start(&self, wanted: Option<&Predicate>) -> io::Result<Box<dyn Read + Send>> {
        *self.has_predicate.lock().unwrap() = Some(wanted.is_some());
        let bytes = self.bytes.lock().unwrap().take();
        Ok(Box::new(Pieces {
            bytes: bytes.ok_or_else(|| io::Error::other("read twice"))?,
            at: 0,
            pauses: false,
            read: Arc::clone(&self.read),
            until: Arc::clone(&self.until),
        }))
    }
}

struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    pauses: bool,
    read: Arc<AtomicU64>,
    until: Arc<AtomicU64>,
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // The header of the capture comes at once, as from an interface.
        self.pauses = !self.pauses && self.at > 24;
        if self.pauses {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let until = usize::try_from(self.until.load(Ordering::Relaxed)).unwrap_or(usize::MAX);
        if self.at >= until {
            std::thread::sleep(Duration::from_millis(1));
            self.pauses = true;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let left = self.bytes.len().min(until).saturating_sub(self.at);
        let piece = left.min(out.len()).min(if self.at == 0 { 24 } else { 997 });
        out[..piece].copy_from_slice(&self.bytes[self.at..self.at + piece]);
        self.at += piece;
        self.read.store(self.at as u64, Ordering::Relaxed);
        Ok(piece)
    }
}

fn rows(options: &Options, sql: &str) -> Result<Vec<String>, weir_engine::Error> {
    Ok(Runner::new(options).rows(sql)?.rows)
}

fn live(path: &str) -> (Options, Arc<Replay>) {
    let replay = Arc::new(Replay::of(path));
    let mut options = Options::default();
    options.feed = Some(Arc::clone(&replay) as Arc<dyn Feed>);
    (options, replay)
}

/// One mechanism for all of them: a table that is added is read live without further ado.
#[test]
fn every_table_of_what_packets_carry_is_read_live() {
    samples::enter();
    for capture in [
        "demo/calls.pcap",
        "demo/services.pcap",
        "demo/voip.pcap",
        "demo/websocket.pcap",
        "demo/megaco.pcap",
    ] {
        assert!(Path::new(capture).is_file(), "{capture}");
        let mut tables = 0;
        let names = EXTRACTIONS.iter().map(|extraction| extraction.name);
        for table in ["packets"].into_iter().chain(names) {
            let of = |what: &str| format!("SELECT * FROM {table}({what})");
            let expected = rows(&Options::default(), &of(&format!("'{capture}'"))).unwrap();
            let (options, _) = live(capture);
            let found = rows(&options, &of("live")).unwrap();
            assert_eq!(found, expected, "{table} of {capture}");
            tables += usize::from(!found.is_empty());
        }
        assert!(tables > 3, "{capture}: {tables}");
    }
}

/// A condition on what messages say was a filter for packets: those that begin a conversation had no such column.
#[test]
fn conditions_on_messages_keep_no_packet_from_the_table() {
    samples::enter();
    for condition in [
        "port.dst = 53",
        "addr.src = '192.168.1.10'",
        "frame.number > 5",
    ] {
        let of = |what: &str| format!("SELECT * FROM dns({what}) WHERE {condition}");
        let (options, replay) = live("demo/services.pcap");
        let found = rows(&options, &of("live")).unwrap();
        let expected = rows(&Options::default(), &of("'demo/services.pcap'")).unwrap();
        assert_eq!(found, expected, "{condition}");
        assert_eq!(
            *replay.has_predicate.lock().unwrap(),
            Some(false),
            "{condition}"
        );
        let (options, replay) = live("demo/services.pcap");
        rows(&options, "SELECT * FROM live WHERE port.dst = 53").unwrap();
        assert_eq!(*replay.has_predicate.lock().unwrap(), Some(true));
    }
}

/// Rows are there before what they were made of is at its end.
#[test]
fn rows_of_messages_come_while_packets_come() {
    samples::enter();
    let (options, replay) = live("demo/calls.pcap");
    let size = std::fs::metadata("demo/calls.pcap").unwrap().len();
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let read = runtime.block_on(async {
        let engine = Engine::new(&options).unwrap();
        let sql = "SELECT sip.method FROM sip(live)";
        let statement = engine.parse(sql).unwrap().remove(0);
        let mut answer = engine.answer(statement).await.unwrap();
        let batch = answer.next().await.unwrap().unwrap();
        assert!(batch.num_rows() < 10, "{}", batch.num_rows());
        replay.read.load(Ordering::Relaxed)
    });
    assert!(read < size / 2, "{read} of {size}");
}

/// Groups over messages, calls and flows came at the end only, as did those over packets that the scan does not compute
/// itself: they are what they would be if the capture ended now, at every request and at the end.
#[test]
fn groups_over_messages_are_seen_before_the_end() {
    samples::enter();
    let bytes = std::fs::read("demo/calls.pcap").unwrap();
    // Half of the records.
    let mut half = 24;
    while half < bytes.len() / 2 {
        let len: [u8; 4] = bytes[half + 8..half + 12].try_into().unwrap();
        half += 16 + u32::from_le_bytes(len) as usize;
    }
    let folder = std::env::temp_dir().join(format!("weir-live-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("half.pcap");
    std::fs::write(&path, &bytes[..half]).unwrap();
    for question in [
        "SELECT sip.method, count(*) FROM sip(@) GROUP BY 1 ORDER BY 1",
        "SELECT sip.method, avg(sip.status_code), count(DISTINCT sip.call_id), string_agg(sip.cseq.method, ',') \
         FROM sip(@) GROUP BY 1 ORDER BY 1",
        "SELECT count(*), min(frame.time), max(frame.number) FROM sip(@) WHERE sip.status_code >= 180",
        "SELECT count(*) FROM sip(@) WHERE sip.method = 'NOTHING'",
        "SELECT DISTINCT sip.method FROM sip(@) ORDER BY 1",
        "SELECT sip.method, sip.status_code, count(*) FROM sip(@) GROUP BY ROLLUP (sip.method, sip.status_code) ORDER BY 1, 2, 3",
        "SELECT max(n) FROM (SELECT sip.call_id, count(*) AS n FROM sip(@) GROUP BY 1) q",
        "SELECT sip.method, count(*) FROM sip(@) GROUP BY 1 HAVING count(*) > 1 ORDER BY 2 DESC, 1 LIMIT 2",
        "SELECT rtp.p_type, median(rtp.seq), count(*) FROM rtp(@) GROUP BY 1 ORDER BY 1",
    ] {
        let of = |what: &str| question.replace('@', what);
        let in_file = |path: &str| rows(&Options::default(), &of(&format!("'{path}'"))).unwrap();
        let expected = in_file(path.to_str().unwrap());
        let (options, replay) = live("demo/calls.pcap");
        replay.until.store(half as u64, Ordering::Relaxed);
        let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
        let last = runtime.block_on(async {
            let engine = Engine::new(&options).unwrap();
            let statement = engine.parse(&of("live")).unwrap().remove(0);
            let mut answer = engine.answer(statement).await.unwrap();
            let snapshot = answer.snapshot().unwrap_or_else(|| panic!("{question}"));
            let begun = Instant::now();
            loop {
                let seen = snapshot.rows().await.unwrap().unwrap();
                let seen: Vec<String> = seen.iter().flat_map(rows_of).collect();
                if seen == expected {
                    break;
                }
                let is_late = begun.elapsed() > Duration::from_secs(120);
                if is_late {
                    // The replay must end first, since a reader that waits for packets would block the failed assertion.
                    replay.until.store(u64::MAX, Ordering::Relaxed);
                }
                assert!(!is_late, "{question}: {seen:?}, not {expected:?}");
            }
            replay.until.store(u64::MAX, Ordering::Relaxed);
            let mut last = Vec::new();
            while let Some(batch) = answer.next().await.unwrap() {
                last.extend(rows_of(&batch));
            }
            assert!(snapshot.rows().await.unwrap().is_none());
            last
        });
        assert_eq!(last, in_file("demo/calls.pcap"), "{question}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// A subquery that ends by itself or depends on an order runs as usual, and an aggregate that needs all its rows first shows
/// nothing before the end.
#[test]
fn groups_of_rows_that_come_at_the_end_are_not_shown_empty() {
    samples::enter();
    let question =
        "SELECT count(*) FROM (SELECT sip.method FROM sip(@) ORDER BY sip.method LIMIT 3) q";
    let expected = rows(
        &Options::default(),
        &question.replace('@', "'demo/calls.pcap'"),
    )
    .unwrap();
    let (options, _) = live("demo/calls.pcap");
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    runtime.block_on(async {
        let engine = Engine::new(&options).unwrap();
        let statement = engine
            .parse(&question.replace('@', "live"))
            .unwrap()
            .remove(0);
        let mut answer = engine.answer(statement).await.unwrap();
        assert!(answer.snapshot().is_none());
        let batch = answer.next().await.unwrap().unwrap();
        assert_eq!(rows_of(&batch), expected);
    });
}

/// `--count` counts rows of such a table, and what is kept are all packets: of which of them a row was made, no
/// packet tells.
#[test]
fn a_count_is_of_rows_and_all_packets_are_kept() {
    samples::enter();
    let (mut options, _) = live("demo/voip.pcap");
    options.tee = Some(CaptureTee::new(None, Some(3)));
    let found = rows(&options, "SELECT sip.method FROM sip(live)").unwrap();
    assert_eq!(found.len(), 3);
}

#[test]
fn live_stands_alone_and_for_an_interface() {
    samples::enter();
    let failure = rows(&Options::default(), "SELECT * FROM sip(live)").unwrap_err();
    assert!(failure.to_string().contains("no interface is captured"));
    assert!(failure.hint().unwrap().contains("weir live -i"));
    let (options, _) = live("demo/voip.pcap");
    let failure = rows(&options, "SELECT * FROM sip(live, 'demo/voip.pcap')").unwrap_err();
    assert!(failure.to_string().contains("read together"));
    // Packets come by once.
    let twice =
        "SELECT count(*) FROM sip(live) s JOIN calls(live) c ON s.sip.call_id = c.sip.call_id";
    let failure = rows(&options, twice).unwrap_err();
    assert!(failure.to_string().contains("once"), "{failure}");
}
