//! The fields of conversations for display filters: a row for each TCP and UDP header, with the number that Wireshark
//! gives its conversation. It is not a table of SQL, whose `flow.id` numbers flows.

use weir_flow::{Analyzed, Conversations, Conversed, More};
use weir_packet::{Kind, Needs, Value};

use super::extraction::{Extract, Extraction, ItemField, columns};
use super::note::Note;
use super::value::{number, seconds};
use crate::row::Item;
use crate::rows::Rows;
use crate::{Column, Row};

/// The extraction of this module.
pub(crate) const EXTRACTION: Extraction = Extraction {
    name: "conversations",
    doc: "one row per TCP or UDP header, with the number of its conversation",
    columns: || columns(&["frame.number"], OWN),
    needs: &[Needs::All],
    start: |_| Box::new(OfFilter(Conversations::new())),
    arguments: &[],
    aliases: &[],
};

/// Returns whether this extraction has the field.
pub(crate) fn has(name: &str) -> bool {
    OWN.iter().any(|field| field.name == name)
}

type ConversationGetter = fn(&Conversed) -> Option<Value<'static>>;

/// Returns true for a flag that is set, otherwise NULL and never false, as in Wireshark.
const fn flag(analyzed: Option<Analyzed>, flag: u32) -> Option<Value<'static>> {
    match analyzed {
        Some(analyzed) if analyzed.is(flag) => Some(Value::Bool(true)),
        _ => None,
    }
}

fn more(item: &Conversed, get: fn(&More) -> Option<u32>) -> Option<Value<'static>> {
    number(get(item.numbers.as_ref()?.more.as_ref()?)?)
}

/// The duration in seconds; NULL when it is zero.
fn elapsed(span_ns: i64) -> Option<Value<'static>> {
    seconds(span_ns).filter(|_| span_ns != 0)
}

/// The fields, by Wireshark's names.
#[rustfmt::skip]
const OWN: &[ItemField<ConversationGetter>] = &[
    ItemField::new("tcp.stream", Kind::U64, |c| number(c.stream).filter(|_| c.is_tcp),
        "Number of the TCP conversation, from 0", WIRESHARK),
    ItemField::new("udp.stream", Kind::U64, |c| number(c.stream).filter(|_| !c.is_tcp),
        "Number of the UDP conversation, from 0", WIRESHARK),
    ItemField::new("tcp.time_relative", Kind::F64, |c| seconds(c.times_ns?[0]).filter(|_| c.is_tcp),
        "Seconds since the first segment of the conversation", WIRESHARK),
    ItemField::new("tcp.time_delta", Kind::F64, |c| seconds(c.times_ns?[1]).filter(|_| c.is_tcp),
        "Seconds since the previous segment of the conversation", WIRESHARK),
    ItemField::new("udp.time_relative", Kind::F64, |c| seconds(c.times_ns?[0]).filter(|_| !c.is_tcp),
        "Seconds since the first datagram of the conversation", WIRESHARK),
    ItemField::new("udp.time_delta", Kind::F64, |c| seconds(c.times_ns?[1]).filter(|_| !c.is_tcp),
        "Seconds since the previous datagram of the conversation", WIRESHARK),
    ItemField::new("tcp.seq", Kind::U32, |c| number(c.numbers?.seq),
        "Sequence number, relative to the first of its direction; as it was sent for a segment that an error message quotes", WIRESHARK),
    ItemField::new("tcp.nxtseq", Kind::U32, |c| more(c, |n| n.next_seq),
        "Next sequence number, relative like tcp.seq", WIRESHARK),
    ItemField::new("tcp.ack", Kind::U32, |c| more(c, |n| Some(n.ack)),
        "Acknowledgment number, relative to the first sequence number of the other direction", WIRESHARK),
    ItemField::new("tcp.window_size", Kind::U32, |c| more(c, |n| Some(n.window)),
        "Window in octets, scaled as the handshake agreed", "RFC 7323, 2"),
    ItemField::new("tcp.analysis.flags", Kind::Bool, |c| flag(c.analyzed, u32::MAX),
        "One of the tcp.analysis flags below is set", GUIDE),
    ItemField::new("tcp.analysis.retransmission", Kind::Bool, |c| flag(c.analyzed, Analyzed::RETRANSMISSION),
        "Retransmission: sent again", GUIDE),
    ItemField::new("tcp.analysis.fast_retransmission", Kind::Bool, |c| flag(c.analyzed, Analyzed::FAST_RETRANSMISSION),
        "Fast retransmission: sent again after duplicate acknowledgments", GUIDE),
    ItemField::new("tcp.analysis.spurious_retransmission", Kind::Bool, |c| flag(c.analyzed, Analyzed::SPURIOUS_RETRANSMISSION),
        "Spurious retransmission: sent again though it was acknowledged", GUIDE),
    ItemField::new("tcp.analysis.out_of_order", Kind::Bool, |c| flag(c.analyzed, Analyzed::OUT_OF_ORDER),
        "Out of order: comes after later data", GUIDE),
    ItemField::new("tcp.analysis.lost_segment", Kind::Bool, |c| flag(c.analyzed, Analyzed::LOST_SEGMENT),
        "The previous segment was not captured", GUIDE),
    ItemField::new("tcp.analysis.ack_lost_segment", Kind::Bool, |c| flag(c.analyzed, Analyzed::ACK_LOST_SEGMENT),
        "Acknowledges a segment that was not captured", GUIDE),
    ItemField::new("tcp.analysis.window_update", Kind::Bool, |c| flag(c.analyzed, Analyzed::WINDOW_UPDATE),
        "Window update: nothing but the window changed", GUIDE),
    ItemField::new("tcp.analysis.window_full", Kind::Bool, |c| flag(c.analyzed, Analyzed::WINDOW_FULL),
        "Fills the receiver's window", GUIDE),
    ItemField::new("tcp.analysis.keep_alive", Kind::Bool, |c| flag(c.analyzed, Analyzed::KEEP_ALIVE),
        "Keep-alive: at most one octet, the one before the next sequence number", GUIDE),
    ItemField::new("tcp.analysis.keep_alive_ack", Kind::Bool, |c| flag(c.analyzed, Analyzed::KEEP_ALIVE_ACK),
        "Acknowledgment of a keep-alive", GUIDE),
    ItemField::new("tcp.analysis.duplicate_ack", Kind::Bool, |c| flag(c.analyzed, Analyzed::DUPLICATE_ACK),
        "Duplicate acknowledgment", GUIDE),
    ItemField::new("tcp.analysis.zero_window", Kind::Bool, |c| flag(c.analyzed, Analyzed::ZERO_WINDOW),
        "Zero window: the receiver takes no more data", GUIDE),
    ItemField::new("tcp.analysis.zero_window_probe", Kind::Bool, |c| flag(c.analyzed, Analyzed::ZERO_WINDOW_PROBE),
        "Zero window probe: the next octet alone, as the receiver's window is zero", GUIDE),
    ItemField::new("tcp.analysis.zero_window_probe_ack", Kind::Bool, |c| flag(c.analyzed, Analyzed::ZERO_WINDOW_PROBE_ACK),
        "Acknowledgment of a zero window probe", GUIDE),
    ItemField::new("tcp.analysis.reused_ports", Kind::Bool, |c| flag(c.analyzed, Analyzed::REUSED_PORTS),
        "New connection on ports that had one before", GUIDE),
    ItemField::new("tcp.analysis.duplicate_ack_num", Kind::U32, |c| number(c.analyzed?.duplicate_ack?.0),
        "Number of earlier acknowledgments that are the same", GUIDE),
    ItemField::new("tcp.analysis.duplicate_ack_frame", Kind::U64, |c| number(c.analyzed?.duplicate_ack?.1),
        "Number of the record with the first of these acknowledgments", GUIDE),
    ItemField::new("tcp.analysis.acks_frame", Kind::U64, |c| number(c.analyzed?.acks?.0),
        "Number of the record that is acknowledged", GUIDE),
    ItemField::new("tcp.analysis.ack_rtt", Kind::F64, |c| elapsed(c.analyzed?.acks?.1),
        "Seconds since the acknowledged record", GUIDE),
    ItemField::new("tcp.analysis.initial_rtt", Kind::F64, |c| initial_rtt(c, c.analyzed?),
        "Seconds from the SYN to the end of the handshake", GUIDE),
    ItemField::new("tcp.analysis.rto", Kind::F64, |c| seconds(c.analyzed?.timeout?.0),
        "For a retransmission, seconds since the oldest record that was not acknowledged", GUIDE),
    ItemField::new("tcp.analysis.rto_frame", Kind::U64, |c| number(c.analyzed?.timeout?.1),
        "Number of the oldest record that was not acknowledged", GUIDE),
];

/// Wireshark has the value only beside another result of its analysis of the segment.
fn initial_rtt(item: &Conversed, analyzed: Analyzed) -> Option<Value<'static>> {
    let has_octets = item.numbers.is_some_and(|it| it.len > 0);
    let has_more = has_octets || analyzed.flags != 0 || analyzed.acks.is_some();
    seconds(analyzed.initial_rtt_ns?).filter(|_| has_more)
}

/// The prefix of columns and fields for which connections are analysed as in Wireshark.
pub(super) const ANALYSIS: &str = "tcp.analysis.";
const GUIDE: &str = "Wireshark User's Guide, TCP Analysis";
const WIRESHARK: &str = "Wireshark, display filter reference";

impl Item for Conversed {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        (OWN.get(index)?.get)(self)
    }
}

/// The extractor, which numbers the conversations of a capture.
struct OfFilter(Conversations);

impl Extract for OfFilter {
    fn set_columns(&mut self, columns: &[Column]) {
        let mut names = columns.iter().map(|column| &*column.name);
        if names.any(|name| name.starts_with(ANALYSIS)) {
            self.0.analyze();
        }
    }

    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        self.0.packet(row.packet, &mut |item| {
            rows.push_row(&row.with_item(item));
        });
    }

    fn notes(&self) -> Vec<Note> {
        let counted = [self.0.unnumbered(), self.0.forgotten()];
        let words = [
            "TCP and UDP headers have no tcp.stream or udp.stream because there are more than 2,097,152 conversations",
            "idle TCP connections were dropped: their next segments are analysed as those of new connections",
        ];
        Note::of("display filter", counted.into_iter().zip(words)).collect()
    }
}
