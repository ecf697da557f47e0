//! `flows(path)`: one row a connection, or part of one.

mod ipfix;

use std::collections::VecDeque;
use std::net::IpAddr;

use weir_flow::{CommunityId, Endpoint, FlowRecord, Options, Totals, Tracker};
use weir_packet::{Kind, Needs, Value, protocol_name};

use super::extraction::{Extract, Extraction, ItemField, columns, push_item};
use super::note::Note;
use super::value::{address, number, seconds};
use crate::Row;
use crate::row::Item;
use crate::rows::Rows;

/// The extraction of this module.
pub(super) const EXTRACTION: Extraction = Extraction {
    name: "flows",
    doc: "one row per connection: both ends, packets and bytes each way, how it went",
    columns: || columns(&[], OWN),
    needs: &[Needs::Transport],
    start: |settings| Box::new(Flows::new(settings.flows.clone())),
    arguments: super::settings::FLOWS,
    aliases: ipfix::ALIASES,
};

/// A flow, with the values that are computed for its row.
struct FlowItem<'f> {
    flow: &'f FlowRecord,
    community_id: CommunityId,
    protocol: String,
}

type FlowGetter = for<'i> fn(&'i FlowItem<'_>) -> Option<Value<'i>>;

#[rustfmt::skip]
const OWN: &[ItemField<FlowGetter>] = &[
    ItemField::new("flow.id", Kind::U64, |f| number(f.flow.number), "Number of the flow in the order of first packets, from 1; parts of one flow share it", "weir"),
    ItemField::new("flow.part", Kind::U16, |f| number(f.flow.part), "Number of this part of the flow, from 0", "weir"),
    ItemField::new("flow.community_id", Kind::Text, |f| Some(Value::Text(f.community_id.as_str())), "Community ID, version 1, seed 0: the same in every tool that supports it", "Community ID Flow Hashing, version 1"),
    ItemField::new("addr.src", Kind::Address, |f| address(f.flow.originator.address), "Address of the originator: sender of the first packet, unless a SYN or the ports say otherwise", "weir"),
    ItemField::new("port.src", Kind::U16, |f| port(f.flow, &f.flow.originator), "Port of the originator; for ICMP the type; NULL where the protocol has no ports", "weir"),
    ItemField::new("addr.dst", Kind::Address, |f| address(f.flow.responder.address), "Address of the responder", "weir"),
    ItemField::new("port.dst", Kind::U16, |f| port(f.flow, &f.flow.responder), "Port of the responder; for ICMP the type of the answer, or the code where there is none; NULL where the protocol has no ports", "weir"),
    ItemField::new("ip.src", Kind::Address, |f| ip4(&f.flow.originator), "IPv4 address of the originator", "RFC 791, 3.1"),
    ItemField::new("ip.dst", Kind::Address, |f| ip4(&f.flow.responder), "IPv4 address of the responder", "RFC 791, 3.1"),
    ItemField::new("ipv6.src", Kind::Address, |f| ip6(&f.flow.originator), "IPv6 address of the originator", "RFC 8200, 3"),
    ItemField::new("ipv6.dst", Kind::Address, |f| ip6(&f.flow.responder), "IPv6 address of the responder", "RFC 8200, 3"),
    ItemField::new("flow.vlan", Kind::U16, |f| number(f.flow.key.vlan()?), "Outermost VLAN; NULL unless flows(…, vlan => true) tells flows apart by it", "IEEE 802.1Q, 9.6"),
    ItemField::new("flow.network", Kind::U32, |f| number(f.flow.key.network()?), "Network identifier of VXLAN or Geneve, or the lower 31 bits of GRE's key, with flows(…, tunnels => 'inner')", "RFC 7348, 5; RFC 8926, 3.4; RFC 2890, 2.1"),
    ItemField::new("proto", Kind::Text, |f| Some(Value::Text(&f.protocol)), "Protocol above IP: its name in lower case, or its number", "IANA protocol numbers"),
    ItemField::new("ip.proto", Kind::U8, |f| number(f.flow.key.protocol()), "Number of the protocol above IP", "IANA protocol numbers"),
    ItemField::new("flow.service", Kind::Text, |f| f.flow.application.as_str().map(Value::Text), "Application protocol, recognised by content, by Zeek's name for it (TLS is ssl); NULL when it is not known", "weir"),
    ItemField::new("flow.start", Kind::Time, |f| Some(Value::Time(f.flow.first_ns)), "Time of the first packet, nanoseconds UTC", "weir"),
    ItemField::new("flow.end", Kind::Time, |f| Some(Value::Time(f.flow.last_ns)), "Latest packet time: that of the last packet, unless a clock was set back; for TCP, packets after both ends have closed do not count", "weir"),
    ItemField::new("flow.duration", Kind::F64, |f| seconds(f.flow.last_ns.saturating_sub(f.flow.first_ns)), "Seconds from the first packet to the latest packet time", "weir"),
    ItemField::new("flow.state", Kind::Text, |f| Some(Value::Text(f.flow.state.as_str())), "How the connection went: S0, S1, SF, REJ, S2, S3, RSTO, RSTR, RSTOS0, RSTRH, SH, SHR or OTH", "Zeek, conn.log, conn_state"),
    ItemField::new("flow.history", Kind::Text, |f| Some(f.flow.history.as_str()).filter(|text| !text.is_empty()).map(Value::Text), "Events in their order, a letter each, upper case for the originator; NULL where there are none", "Zeek, conn.log, history"),
    ItemField::new("flow.end_reason", Kind::Text, |f| Some(Value::Text(f.flow.end.as_str())), "Why the row was written: closed, idle, active, reused, evicted or end (of the capture)", "weir"),
    ItemField::new("flow.rtt", Kind::F64, |f| seconds(f.flow.round_trip_ns?.into()), "Seconds from the SYN to the ACK that ends the handshake; NULL without a handshake", "weir"),
    ItemField::new("flow.packets_src", Kind::U64, |f| number(f.flow.sent.packets), "Packets from the originator; a packet reassembled from fragments counts once", "weir"),
    ItemField::new("flow.packets_dst", Kind::U64, |f| number(f.flow.received.packets), "Packets from the responder", "weir"),
    ItemField::new("flow.ip_bytes_src", Kind::U64, |f| number(f.flow.sent.ip_bytes), "Bytes of IP packets from the originator, headers included", "weir"),
    ItemField::new("flow.ip_bytes_dst", Kind::U64, |f| number(f.flow.received.ip_bytes), "Bytes of IP packets from the responder, headers included", "weir"),
    ItemField::new("flow.payload_bytes_src", Kind::U64, |f| number(f.flow.sent.payload_bytes), "Bytes above the transport header from the originator, retransmissions included", "weir"),
    ItemField::new("flow.payload_bytes_dst", Kind::U64, |f| number(f.flow.received.payload_bytes), "Bytes above the transport header from the responder, retransmissions included", "weir"),
    ItemField::new("flow.bytes_src", Kind::U64, |f| number(f.flow.sent.stream_bytes), "Bytes of the stream from the originator, for TCP by sequence numbers, captured or not", "Zeek, conn.log, orig_bytes"),
    ItemField::new("flow.bytes_dst", Kind::U64, |f| number(f.flow.received.stream_bytes), "Bytes of the stream from the responder, for TCP by sequence numbers, captured or not", "Zeek, conn.log, resp_bytes"),
    ItemField::new("flow.missed_bytes", Kind::U64, |f| number(f.flow.sent.missed_bytes.saturating_add(f.flow.received.missed_bytes)), "TCP bytes of both directions that were not captured: those that were acknowledged, and those before others that were seen", "Zeek, conn.log, missed_bytes"),
    ItemField::new("flow.retransmissions_src", Kind::U32, |f| tcp(f.flow, f.flow.sent, |t| t.retransmissions), "Retransmitted data segments of the originator, without keep-alives; NULL except for TCP", "weir"),
    ItemField::new("flow.retransmissions_dst", Kind::U32, |f| tcp(f.flow, f.flow.received, |t| t.retransmissions), "Retransmitted data segments of the responder, without keep-alives; NULL except for TCP", "weir"),
    ItemField::new("flow.out_of_order_src", Kind::U32, |f| tcp(f.flow, f.flow.sent, |t| t.out_of_order), "Segments of the originator that came after later ones; NULL except for TCP", "weir"),
    ItemField::new("flow.out_of_order_dst", Kind::U32, |f| tcp(f.flow, f.flow.received, |t| t.out_of_order), "Segments of the responder that came after later ones; NULL except for TCP", "weir"),
    ItemField::new("flow.zero_windows_src", Kind::U32, |f| tcp(f.flow, f.flow.sent, |t| t.zero_windows), "Segments in which the originator announced a window of zero; NULL except for TCP", "weir"),
    ItemField::new("flow.zero_windows_dst", Kind::U32, |f| tcp(f.flow, f.flow.received, |t| t.zero_windows), "Segments in which the responder announced a window of zero; NULL except for TCP", "weir"),
    ItemField::new("flow.ttl_src", Kind::U8, |f| f.flow.sent.ttl.and_then(number), "Time to live, or hop limit, of the originator's first packet", "weir"),
    ItemField::new("flow.ttl_dst", Kind::U8, |f| f.flow.received.ttl.and_then(number), "Time to live, or hop limit, of the responder's first packet", "weir"),
];

fn tcp(flow: &FlowRecord, totals: Totals, get: fn(&Totals) -> u32) -> Option<Value<'static>> {
    number(get(&totals)).filter(|_| flow.key.protocol() == TCP)
}

fn ip4(end: &Endpoint) -> Option<Value<'static>> {
    address(end.address).filter(|_| matches!(end.address, IpAddr::V4(_)))
}

fn ip6(end: &Endpoint) -> Option<Value<'static>> {
    address(end.address).filter(|_| matches!(end.address, IpAddr::V6(_)))
}

fn port(flow: &FlowRecord, end: &Endpoint) -> Option<Value<'static>> {
    number(end.port).filter(|_| WITH_PORTS.contains(&flow.key.protocol()))
}

impl Item for FlowItem<'_> {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        (OWN.get(index)?.get)(self)
    }
}

/// The flows of captures. Those that end with a packet become rows at once.
struct Flows {
    tracker: Tracker,
    /// The rest of the rows at the end, in the order of the flows.
    left: Option<VecDeque<FlowRecord>>,
    file: String,
}

impl Flows {
    fn new(options: Options) -> Self {
        Self {
            tracker: Tracker::new(options),
            left: None,
            file: String::new(),
        }
    }
}

impl Extract for Flows {
    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        if self.file != row.file {
            row.file.clone_into(&mut self.file);
        }
        let file = &self.file;
        self.tracker
            .packet(row.packet, |flow| push(rows, file, &flow));
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        let Self { tracker, left, .. } = self;
        let left = left.get_or_insert_with(|| {
            let mut flows = Vec::with_capacity(tracker.table().len());
            tracker.finish(|flow| flows.push(flow));
            flows.sort_unstable_by_key(|flow| (flow.number, flow.part));
            flows.into()
        });
        while !rows.is_full() {
            let Some(flow) = left.pop_front() else {
                return false;
            };
            push(rows, &self.file, &flow);
        }
        !left.is_empty()
    }

    fn notes(&self) -> Vec<Note> {
        let (flows, fragments) = self.tracker.counters();
        let options = self.tracker.table().options();
        let counted = [
            (
                flows.evicted,
                format!(
                    "flows ended early: more than {} at one time",
                    grouped(options.flows_max)
                ),
            ),
            (
                flows.details_refused,
                format!(
                    "retransmissions, gaps and resets not recorded: more than {} flows have some",
                    grouped(options.details_max)
                ),
            ),
            (
                flows.openings_refused,
                "segments examined without reassembly for flow.service: more than 65,536 connections, or 64 MiB of them, were in memory"
                    .to_owned(),
            ),
            (
                fragments.timed_out,
                "packets incomplete: fragments were missing for 60 seconds, or for a second while their flow went on".to_owned(),
            ),
            (
                fragments.unfinished,
                "packets incomplete: other fragments had not come when the capture ended".to_owned(),
            ),
            (
                fragments.evicted,
                "packets dropped: more than 16,384, or 64 MiB, waited for fragments".to_owned(),
            ),
            (
                fragments.overlapping,
                "packets dropped: their IPv6 fragments overlap".to_owned(),
            ),
            (
                fragments.invalid,
                "packets dropped: their fragments contradict each other".to_owned(),
            ),
        ];
        Note::of("flows", counted).collect()
    }
}

/// A number with commas between its thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn push(rows: &mut Rows, file: &str, flow: &FlowRecord) {
    let number = flow.key.protocol();
    let item = FlowItem {
        flow,
        community_id: CommunityId::of(&flow.key, 0),
        protocol: protocol_name(number).map_or_else(|| number.to_string(), str::to_owned),
    };
    push_item(rows, file, &item);
}

const TCP: u8 = 6;
/// Protocols with ports, or with values in their place: ICMP, TCP, UDP, DCCP, ICMPv6, SCTP, UDP-Lite.
const WITH_PORTS: &[u8] = &[1, TCP, 17, 33, 58, 132, 136];
