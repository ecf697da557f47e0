//! Tables of what packets carry, over packets as they come: the same rows as over the file, one after the other.

use std::fmt;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use weir_engine::{Engine, Options};
use weir_tables::{CaptureTee, EXTRACTIONS, Feed, Predicate};

use crate::samples;
use crate::slt::Runner;

/// A capture as if it came from an interface: in pieces, with pauses between them.
struct Replay {
    name: String,
    bytes: Mutex<Option<Vec<u8>>>,
    /// Bytes that were read so far, and at which to wait until somebody has looked.
    read: Arc<AtomicU64>,
    asked: Arc<Mutex<Option<bool>>>,
}

impl Replay {
    fn of(path: &str) -> Self {
        Self {
            name: path.to_owned(),
            bytes: Mutex::new(Some(std::fs::read(path).unwrap())),
            read: Arc::default(),
            asked: Arc::default(),
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
        *self.asked.lock().unwrap() = Some(wanted.is_some());
        let bytes = self.bytes.lock().unwrap().take();
        Ok(Box::new(Pieces {
            bytes: bytes.ok_or_else(|| io::Error::other("read twice"))?,
            at: 0,
            pauses: false,
            read: Arc::clone(&self.read),
        }))
    }
}

struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    pauses: bool,
    read: Arc<AtomicU64>,
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // The header of the capture comes at once, as from an interface.
        self.pauses = !self.pauses && self.at > 24;
        if self.pauses {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let left = self.bytes.len().saturating_sub(self.at);
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
        assert_eq!(*replay.asked.lock().unwrap(), Some(false), "{condition}");
        let (options, replay) = live("demo/services.pcap");
        rows(&options, "SELECT * FROM live WHERE port.dst = 53").unwrap();
        assert_eq!(*replay.asked.lock().unwrap(), Some(true));
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
    assert!(failure.to_string().contains("none is captured from"));
    assert!(failure.hint().unwrap().contains("weir live -i"));
    let (options, _) = live("demo/voip.pcap");
    let failure = rows(&options, "SELECT * FROM sip(live, 'demo/voip.pcap')").unwrap_err();
    assert!(failure.to_string().contains("read alone"));
    // Packets come by once.
    let twice =
        "SELECT count(*) FROM sip(live) s JOIN calls(live) c ON s.sip.call_id = c.sip.call_id";
    let failure = rows(&options, twice).unwrap_err();
    assert!(failure.to_string().contains("once"), "{failure}");
}
