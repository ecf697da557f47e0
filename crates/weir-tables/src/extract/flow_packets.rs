//! `flow_packets(path)`: one row a packet, with the flow that it belongs to.

mod waiting;

use weir_flow::{Analyzed, FragmentOfFlow, LostFragment, Seen, Tracker};
use weir_packet::{Kind, Needs, Value};

use self::waiting::WaitingPackets;
use super::conversations::ANALYSIS;
use super::extraction::{Extract, Extraction, ItemField, columns};
use super::note::Note;
use super::value::{number, seconds};
use crate::files::Files;
use crate::row::Item;
use crate::rows::Rows;
use crate::{Column, Row, Table};

/// The extraction of this module.
pub(super) const EXTRACTION: Extraction = Extraction {
    name: "flow_packets",
    doc: "one row per packet, as in packets, with the number of its flow",
    columns: own_and_packets,
    needs: &[Needs::Transport],
    start: |settings| {
        let mut tracker = Tracker::new(settings.flows.clone());
        let fragments = settings.fragments.then(|| {
            tracker.note_fragments();
            Fragments::default()
        });
        Box::new(FlowPackets { tracker, fragments })
    },
    arguments: super::settings::FLOW_PACKETS,
    aliases: &[],
};

/// The columns of the packets table, after the own ones.
fn own_and_packets() -> Vec<Column> {
    let mut all = columns(&[], OWN);
    all.extend(Table::packets().columns().iter().cloned());
    all
}

/// The flow to which a packet was counted.
#[derive(Clone, Copy)]
struct PacketFlow {
    id: Option<u64>,
    from_originator: Option<bool>,
    tcp: Option<Analyzed>,
}

impl PacketFlow {
    fn new(seen: Option<Seen>, tcp: Option<Analyzed>) -> Self {
        Self {
            id: seen.map(|seen| seen.number),
            from_originator: seen.map(|seen| seen.from_originator),
            tcp,
        }
    }

    /// The flow of a fragment, which became known behind it.
    const fn of_fragment(fragment: &FragmentOfFlow) -> Self {
        Self {
            id: Some(fragment.flow),
            from_originator: Some(fragment.from_originator),
            tcp: None,
        }
    }

    /// Whether any of `flags` applies; NULL for other protocols than TCP.
    fn is(&self, flags: u32) -> Option<Value<'_>> {
        self.tcp.map(|tcp| Value::Bool(tcp.is(flags)))
    }
}

type FlowPacketGetter = for<'i> fn(&'i PacketFlow) -> Option<Value<'i>>;

const OWN: &[ItemField<FlowPacketGetter>] = &[
    ItemField::new(
        "flow.id",
        Kind::U64,
        |c| number(c.id?),
        "Number of the packet's flow, as in flows; NULL without IP, and for fragments before the last one, unless fragments => true",
        "weir",
    ),
    ItemField::new(
        "flow.from_originator",
        Kind::Bool,
        |c| c.from_originator.map(Value::Bool),
        "The flow's originator sent the packet, as far as was known at that time",
        "weir",
    ),
    ItemField::new(
        "tcp.analysis.flags",
        Kind::Bool,
        |c| c.is(u32::MAX),
        "One of the tcp.analysis flags below is set",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.retransmission",
        Kind::Bool,
        |c| c.is(Analyzed::RETRANSMISSION),
        "Retransmission of data, SYN or FIN, fast and spurious ones included",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.fast_retransmission",
        Kind::Bool,
        |c| c.is(Analyzed::FAST_RETRANSMISSION),
        "Fast retransmission: sent again within 20 ms of the second or a later duplicate acknowledgment",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.spurious_retransmission",
        Kind::Bool,
        |c| c.is(Analyzed::SPURIOUS_RETRANSMISSION),
        "Spurious retransmission: sent again though all of it was acknowledged",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.out_of_order",
        Kind::Bool,
        |c| c.is(Analyzed::OUT_OF_ORDER),
        "Out of order: comes after later data, by less than the first round trip (3 ms where that was not seen)",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.lost_segment",
        Kind::Bool,
        |c| c.is(Analyzed::LOST_SEGMENT),
        "The previous segment was not captured",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.ack_lost_segment",
        Kind::Bool,
        |c| c.is(Analyzed::ACK_LOST_SEGMENT),
        "Acknowledges a segment that was not captured",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.window_update",
        Kind::Bool,
        |c| c.is(Analyzed::WINDOW_UPDATE),
        "Window update: nothing but the window changed",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.window_full",
        Kind::Bool,
        |c| c.is(Analyzed::WINDOW_FULL),
        "Fills the receiver's window",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.keep_alive",
        Kind::Bool,
        |c| c.is(Analyzed::KEEP_ALIVE),
        "Keep-alive: at most one octet, the one before the next sequence number",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.keep_alive_ack",
        Kind::Bool,
        |c| c.is(Analyzed::KEEP_ALIVE_ACK),
        "Acknowledgment of a keep-alive",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.duplicate_ack",
        Kind::Bool,
        |c| c.is(Analyzed::DUPLICATE_ACK),
        "Duplicate acknowledgment: the same number, without data and with the same window",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.zero_window",
        Kind::Bool,
        |c| c.is(Analyzed::ZERO_WINDOW),
        "Zero window: the receiver takes no more data",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.zero_window_probe",
        Kind::Bool,
        |c| c.is(Analyzed::ZERO_WINDOW_PROBE),
        "Zero window probe: the next octet alone, as the receiver's window is zero",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.zero_window_probe_ack",
        Kind::Bool,
        |c| c.is(Analyzed::ZERO_WINDOW_PROBE_ACK),
        "Acknowledgment of a zero window probe, with a window of zero",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.reused_ports",
        Kind::Bool,
        |c| c.is(Analyzed::REUSED_PORTS),
        "SYN with another initial sequence number than the earlier connection on these ports",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.duplicate_ack_num",
        Kind::U32,
        |c| number(c.tcp?.duplicate_ack?.0),
        "Number of earlier acknowledgments that are the same",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.duplicate_ack_frame",
        Kind::U64,
        |c| record(c.tcp?.duplicate_ack?.1),
        "Number of the record with the first of these acknowledgments",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.acks_frame",
        Kind::U64,
        |c| record(c.tcp?.acks?.0),
        "Number of the record whose last octet is acknowledged",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.ack_rtt",
        Kind::F64,
        |c| {
            seconds(c.tcp?.acks?.1).filter(|_| {
                c.tcp
                    .is_some_and(|tcp| tcp.acks.is_some_and(|acks| acks.1 != 0))
            })
        },
        "Seconds since the acknowledged record; NULL without one",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.initial_rtt",
        Kind::F64,
        |c| seconds(c.tcp?.initial_rtt_ns?),
        "Seconds from the SYN to the acknowledgment that ended the handshake, on every segment from then on",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.rto",
        Kind::F64,
        |c| seconds(c.tcp?.timeout?.0),
        "For a retransmission, seconds since the oldest record that was not acknowledged",
        GUIDE,
    ),
    ItemField::new(
        "tcp.analysis.rto_frame",
        Kind::U64,
        |c| record(c.tcp?.timeout?.1),
        "Number of the oldest record that was not acknowledged",
        GUIDE,
    ),
];

const GUIDE: &str = "Wireshark User's Guide, TCP Analysis";

impl Item for PacketFlow {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        (OWN.get(index)?.get)(self)
    }
}

/// The number of a record, which counts those of all files where fragments are waited for.
fn record(frame: u64) -> Option<Value<'static>> {
    number(Files::record(frame))
}

/// Assigns packets to flows, and discards flows that are over.
struct FlowPackets {
    tracker: Tracker,
    /// Fragments, where rows wait for their flows.
    fragments: Option<Fragments>,
}

/// Rows that wait until the flows of fragments are known.
#[derive(Default)]
struct Fragments {
    files: Files,
    waiting: WaitingPackets,
    /// Fragments whose flow will not be known.
    lost: u64,
    /// Copies of fragments whose packet did not come again.
    copied: u64,
    /// Whether the last packet was read.
    is_over: bool,
}

impl Fragments {
    fn packet(&mut self, tracker: &mut Tracker, row: &Row<'_>, rows: &mut Rows) {
        let number = self.files.number(row.file, row.packet.frame().number);
        let packet = row.packet.with_number(number);
        let seen = tracker.packet(&packet, |_| {});
        let counted = PacketFlow::new(seen, tracker.analyzed());
        self.waiting.give_out(&self.files, rows);
        match tracker.waits_for_fragments() {
            true => self.waiting.wait(row, number, counted),
            false => self.waiting.follow(row, number, counted, rows),
        }
        self.settle(tracker, Some(number), rows);
        self.waiting.give_out(&self.files, rows);
    }

    /// Takes over what became known with the packet of this number, or at the end.
    fn settle(&mut self, tracker: &mut Tracker, now: Option<u64>, rows: &Rows) {
        let Self {
            files,
            waiting,
            lost,
            copied,
            ..
        } = self;
        for fragment in tracker.take_fragments() {
            let counted = PacketFlow::of_fragment(&fragment);
            waiting.know(fragment.frame, Some(counted), files, rows);
        }
        for LostFragment { frame, is_copy } in tracker.take_lost_fragments() {
            let count = match is_copy {
                true => &mut *copied,
                false => &mut *lost,
            };
            // A fragment that was given up before was counted then.
            let was_waiting = waiting.know(frame, None, files, rows);
            *count = count.saturating_add((was_waiting || now == Some(frame)).into());
        }
        waiting.give_up_beyond_limit(files, rows);
    }

    fn finish(&mut self, tracker: &mut Tracker, rows: &mut Rows) -> bool {
        if !std::mem::replace(&mut self.is_over, true) {
            tracker.finish(|_| {});
            self.settle(tracker, None, rows);
            let rest = self.waiting.give_up_all(&self.files, rows);
            self.lost = self.lost.saturating_add(rest);
        }
        self.waiting.give_out(&self.files, rows);
        !self.waiting.is_empty()
    }
}

impl Extract for FlowPackets {
    fn set_columns(&mut self, columns: &[Column]) {
        if columns
            .iter()
            .any(|column| column.name.starts_with(ANALYSIS))
        {
            self.tracker.analyze();
        }
    }

    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        if let Some(fragments) = &mut self.fragments {
            return fragments.packet(&mut self.tracker, row, rows);
        }
        let seen = self.tracker.packet(row.packet, |_| {});
        let item = PacketFlow::new(seen, self.tracker.analyzed());
        rows.push_row(&row.with_item(&item));
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        let fragments = self.fragments.as_mut();
        fragments.is_some_and(|fragments| fragments.finish(&mut self.tracker, rows))
    }

    fn notes(&self) -> Vec<Note> {
        let analysis = self.tracker.analysis();
        let [forgotten, unnoted] = analysis.map_or([0, 0], |it| [it.forgotten(), it.unnoted()]);
        let fragments = self.fragments.as_ref();
        let [lost, copied, given_up] =
            fragments.map_or([0; 3], |it| [it.lost, it.copied, it.waiting.given_up()]);
        let counted = [
            (
                forgotten,
                "idle TCP connections were dropped: their next segments are analysed as those of new connections",
            ),
            (
                unnoted,
                "TCP segments were not matched with their acknowledgments because too many waited",
            ),
            (lost, FRAGMENTS_LOST),
            (copied, FRAGMENTS_COPIED),
            (
                given_up,
                "fragments are of no flow because more than 64 MiB of packets waited for the others of theirs",
            ),
        ];
        Note::of("flow_packets", counted).collect()
    }
}

/// The note on fragments of packets that were not put together.
pub(super) const FRAGMENTS_LOST: &str = "fragments are of no flow because others of their packets are missing, are cut, or contradict them";
/// The note on copies of fragments.
pub(super) const FRAGMENTS_COPIED: &str = "fragments are of no flow because they are copies of earlier ones whose packet did not come again";
