//! The fields of conversations for display filters: a row for each TCP and UDP header, with the number that Wireshark
//! gives its conversation. It is not a table of SQL, whose `flow.id` numbers flows.

use weir_flow::{Analyzed, Conversations, Conversed, More};
use weir_packet::{Kind, Needs, Value};

use super::value::{number, seconds};
use super::{Extract, Extraction, Item, ItemField, columns, in_words};
use crate::scan::Rows;
use crate::{Column, Row};

/// The extraction of this module.
pub(crate) const EXTRACTION: Extraction = Extraction {
    name: "conversations",
    doc: "one row a header of TCP or UDP, with the number of its conversation",
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

fn more(said: &Conversed, get: fn(&More) -> Option<u32>) -> Option<Value<'static>> {
    number(get(said.numbers.as_ref()?.more.as_ref()?)?)
}

/// The duration in seconds; NULL when it is zero.
fn elapsed(span_ns: i64) -> Option<Value<'static>> {
    seconds(span_ns).filter(|_| span_ns != 0)
}

/// The fields, by Wireshark's names.
#[rustfmt::skip]
const OWN: &[ItemField<ConversationGetter>] = &[
    ItemField::new("tcp.stream", Kind::U64, |c| number(c.stream).filter(|_| c.is_tcp),
        "Number of the conversation of TCP, from 0", WIRESHARK),
    ItemField::new("udp.stream", Kind::U64, |c| number(c.stream).filter(|_| !c.is_tcp),
        "Number of the conversation of UDP, from 0", WIRESHARK),
    ItemField::new("tcp.time_relative", Kind::F64, |c| seconds(c.times_ns?[0]).filter(|_| c.is_tcp),
        "Seconds since the first segment of the conversation", WIRESHARK),
    ItemField::new("tcp.time_delta", Kind::F64, |c| seconds(c.times_ns?[1]).filter(|_| c.is_tcp),
        "Seconds since the conversation's segment before this one", WIRESHARK),
    ItemField::new("udp.time_relative", Kind::F64, |c| seconds(c.times_ns?[0]).filter(|_| !c.is_tcp),
        "Seconds since the first datagram of the conversation", WIRESHARK),
    ItemField::new("udp.time_delta", Kind::F64, |c| seconds(c.times_ns?[1]).filter(|_| !c.is_tcp),
        "Seconds since the conversation's datagram before this one", WIRESHARK),
    ItemField::new("tcp.seq", Kind::U32, |c| number(c.numbers?.seq),
        "Sequence number, counted from the first of its direction; of a segment that an error quotes as it was sent", WIRESHARK),
    ItemField::new("tcp.nxtseq", Kind::U32, |c| more(c, |n| n.next_seq),
        "Sequence number behind the segment, counted as tcp.seq", WIRESHARK),
    ItemField::new("tcp.ack", Kind::U32, |c| more(c, |n| Some(n.ack)),
        "Acknowledgment number, counted from the first number of the other direction", WIRESHARK),
    ItemField::new("tcp.window_size", Kind::U32, |c| more(c, |n| Some(n.window)),
        "Window in octets, by the scale of the handshake", "RFC 7323, 2"),
    ItemField::new("tcp.analysis.flags", Kind::Bool, |c| flag(c.analyzed, u32::MAX),
        "Something is to be noticed", GUIDE),
    ItemField::new("tcp.analysis.retransmission", Kind::Bool, |c| flag(c.analyzed, Analyzed::RETRANSMISSION),
        "Sent again", GUIDE),
    ItemField::new("tcp.analysis.fast_retransmission", Kind::Bool, |c| flag(c.analyzed, Analyzed::FAST_RETRANSMISSION),
        "Sent again as duplicate acknowledgments ask for it", GUIDE),
    ItemField::new("tcp.analysis.spurious_retransmission", Kind::Bool, |c| flag(c.analyzed, Analyzed::SPURIOUS_RETRANSMISSION),
        "Sent again though it was acknowledged", GUIDE),
    ItemField::new("tcp.analysis.out_of_order", Kind::Bool, |c| flag(c.analyzed, Analyzed::OUT_OF_ORDER),
        "Behind what was sent already", GUIDE),
    ItemField::new("tcp.analysis.lost_segment", Kind::Bool, |c| flag(c.analyzed, Analyzed::LOST_SEGMENT),
        "Something before it was not captured", GUIDE),
    ItemField::new("tcp.analysis.ack_lost_segment", Kind::Bool, |c| flag(c.analyzed, Analyzed::ACK_LOST_SEGMENT),
        "Acknowledges what was not captured", GUIDE),
    ItemField::new("tcp.analysis.window_update", Kind::Bool, |c| flag(c.analyzed, Analyzed::WINDOW_UPDATE),
        "Nothing but another window", GUIDE),
    ItemField::new("tcp.analysis.window_full", Kind::Bool, |c| flag(c.analyzed, Analyzed::WINDOW_FULL),
        "Fills the receiver's window", GUIDE),
    ItemField::new("tcp.analysis.keep_alive", Kind::Bool, |c| flag(c.analyzed, Analyzed::KEEP_ALIVE),
        "At most one octet, the one before the next", GUIDE),
    ItemField::new("tcp.analysis.keep_alive_ack", Kind::Bool, |c| flag(c.analyzed, Analyzed::KEEP_ALIVE_ACK),
        "The answer to a keep-alive", GUIDE),
    ItemField::new("tcp.analysis.duplicate_ack", Kind::Bool, |c| flag(c.analyzed, Analyzed::DUPLICATE_ACK),
        "Acknowledges the same again", GUIDE),
    ItemField::new("tcp.analysis.zero_window", Kind::Bool, |c| flag(c.analyzed, Analyzed::ZERO_WINDOW),
        "The window is zero", GUIDE),
    ItemField::new("tcp.analysis.zero_window_probe", Kind::Bool, |c| flag(c.analyzed, Analyzed::ZERO_WINDOW_PROBE),
        "The next octet alone, as the window is zero", GUIDE),
    ItemField::new("tcp.analysis.zero_window_probe_ack", Kind::Bool, |c| flag(c.analyzed, Analyzed::ZERO_WINDOW_PROBE_ACK),
        "The answer to such a probe", GUIDE),
    ItemField::new("tcp.analysis.reused_ports", Kind::Bool, |c| flag(c.analyzed, Analyzed::REUSED_PORTS),
        "A new connection of ports that had one", GUIDE),
    ItemField::new("tcp.analysis.duplicate_ack_num", Kind::U32, |c| number(c.analyzed?.duplicate_ack?.0),
        "How many acknowledgments before it said the same", GUIDE),
    ItemField::new("tcp.analysis.duplicate_ack_frame", Kind::U64, |c| number(c.analyzed?.duplicate_ack?.1),
        "Number of the record that said it first", GUIDE),
    ItemField::new("tcp.analysis.acks_frame", Kind::U64, |c| number(c.analyzed?.acks?.0),
        "Number of the record that it acknowledges", GUIDE),
    ItemField::new("tcp.analysis.ack_rtt", Kind::F64, |c| elapsed(c.analyzed?.acks?.1),
        "Seconds since that record", GUIDE),
    ItemField::new("tcp.analysis.initial_rtt", Kind::F64, |c| initial_rtt(c, c.analyzed?),
        "Seconds from the SYN to the end of the handshake", GUIDE),
    ItemField::new("tcp.analysis.rto", Kind::F64, |c| seconds(c.analyzed?.timeout?.0),
        "Of a retransmission, seconds since the oldest record that was not acknowledged", GUIDE),
    ItemField::new("tcp.analysis.rto_frame", Kind::U64, |c| number(c.analyzed?.timeout?.1),
        "Number of that record", GUIDE),
];

/// Wireshark has the value only beside another result of its analysis of the segment.
fn initial_rtt(said: &Conversed, analyzed: Analyzed) -> Option<Value<'static>> {
    let has_octets = said.numbers.is_some_and(|it| it.len > 0);
    let has_more = has_octets || analyzed.flags != 0 || analyzed.acks.is_some();
    seconds(analyzed.initial_rtt_ns?).filter(|_| has_more)
}

/// The prefix of fields for which connections are analysed as in Wireshark.
const ANALYSIS: &str = "tcp.analysis.";
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
    fn wants(&mut self, columns: &[Column]) {
        let mut names = columns.iter().map(|column| &*column.name);
        if names.any(|name| name.starts_with(ANALYSIS)) {
            self.0.analyze();
        }
    }

    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        self.0.packet(row.packet, &mut |said| {
            rows.push_row(&row.with_item(said));
        });
    }

    fn notes(&self) -> Vec<String> {
        let counted = [self.0.unnumbered(), self.0.forgotten()];
        let words = [
            "headers of TCP and UDP have no tcp.stream or udp.stream, as there are more than 2,097,152 conversations",
            "TCP connections that had been silent were forgotten: their next segments are analysed as if new",
        ];
        let notes = in_words(counted.into_iter().zip(words));
        notes
            .map(|note| format!("display filter: {note}"))
            .collect()
    }
}
