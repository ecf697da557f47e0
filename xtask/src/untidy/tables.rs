//! The rules of each table: the columns that depend on the time, the place and the packets of a message, and those that depend on
//! its content alone.
//!
//! A column that is not listed is content: doses that keep all octets leave it as it is, and where octets are missing it
//! is as it was or NULL.

/// The influences on a column besides the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dependency {
    /// The content of the message. As it was, unless octets are missing; then as it was, or NULL.
    Content,
    /// The number of a record: that of the same record, unless segments were out of order.
    Frame,
    /// The time of a record: that of the same record.
    Time,
    /// The time of the last record that counts: that of the same record, where the same packets are there in their order.
    LastTime,
    /// A time from one record to another: as it was where the times of the connection are.
    Span,
    /// The number of a record of another packet that was on the wire: as it was where the same packets are there.
    WireFrame,
    /// A value that ended by a timeout in capture time: unchanged unless a clock was set or packets are missing.
    Clock,
    /// Counts what was on the wire: packets, octets that came again. As it was where the same packets are there.
    Wire,
    /// Octets by their numbers in the stream: as it was, unless octets were added or are missing.
    Stream,
    /// Sums up several messages: as it was, unless some are missing, or are there again.
    Sum,
    /// A mark of missing or wrong data: unchanged unless octets are missing; then it marks the row as uncertain.
    Doubt,
    /// The column does not depend on the message.
    None,
}

use Dependency::{
    Clock, Doubt, Frame, LastTime, None as Nothing, Span, Stream, Sum, Time, Wire, WireFrame,
};

/// The connections that a row depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowScope {
    /// The connection that the row names.
    Own,
    /// The own connection and those that carry signalling.
    Signalled,
    /// The own connection and those that carry signalling and media.
    Call,
}

/// A table and its rules.
#[derive(Debug)]
pub(super) struct TableRule {
    pub(super) name: &'static str,
    /// The selected columns.
    pub(super) columns: &'static str,
    pub(super) scope: RowScope,
    /// The columns that are not content.
    pub(super) kinds: &'static [(&'static str, Dependency)],
}

impl TableRule {
    pub(super) fn kind(&self, column: &str) -> Dependency {
        let all = self.kinds.iter().chain(EVERYWHERE);
        let found = all.into_iter().find(|(name, _)| *name == column);
        found.map_or(Dependency::Content, |(_, kind)| *kind)
    }
}

/// Tables that carry signalling, which announces media.
pub(super) const SIGNALLING: &[&str] = &["sip", "h248", "mgcp", "websocket", "http"];
/// Tables of media.
pub(super) const MEDIA: &[&str] = &["rtp", "rtcp", "media"];

/// Columns that mean the same in every table.
const EVERYWHERE: &[(&str, Dependency)] = &[
    ("frame.file", Nothing),
    ("frame.number", Frame),
    ("frame.time", Time),
];

const fn own(name: &'static str, kinds: &'static [(&'static str, Dependency)]) -> TableRule {
    TableRule {
        name,
        columns: "*",
        scope: RowScope::Own,
        kinds,
    }
}

/// The tables that are compared.
pub(super) const TABLES: &[TableRule] = &[
    TableRule {
        columns: "frame.number, flow.id, flow.from_originator, tcp.analysis.flags, tcp.analysis.retransmission, \
                  tcp.analysis.out_of_order, tcp.analysis.lost_segment, tcp.analysis.duplicate_ack, \
                  tcp.analysis.acks_frame, tcp.analysis.ack_rtt, tcp.analysis.initial_rtt, tcp.analysis.reused_ports",
        ..own(
            FLOW_PACKETS,
            &[
                ("flow.from_originator", Sum),
                ("tcp.analysis.flags", Wire),
                ("tcp.analysis.retransmission", Wire),
                ("tcp.analysis.out_of_order", Wire),
                ("tcp.analysis.lost_segment", Wire),
                ("tcp.analysis.duplicate_ack", Wire),
                ("tcp.analysis.acks_frame", WireFrame),
                ("tcp.analysis.ack_rtt", Wire),
                ("tcp.analysis.initial_rtt", Wire),
                ("tcp.analysis.reused_ports", Wire),
            ],
        )
    },
    own(
        FLOWS,
        &[
            // The originator is unknown where the beginning is missing.
            ("addr.src", Sum),
            ("addr.dst", Sum),
            ("port.src", Sum),
            ("port.dst", Sum),
            ("ip.src", Sum),
            ("ip.dst", Sum),
            ("ipv6.src", Sum),
            ("ipv6.dst", Sum),
            ("flow.start", Time),
            ("flow.end", LastTime),
            ("flow.duration", Wire),
            ("flow.rtt", Span),
            ("flow.service", Sum),
            ("flow.state", Sum),
            ("flow.history", Wire),
            ("flow.end_reason", Clock),
            ("flow.packets_src", Wire),
            ("flow.packets_dst", Wire),
            ("flow.ip_bytes_src", Wire),
            ("flow.ip_bytes_dst", Wire),
            ("flow.payload_bytes_src", Wire),
            ("flow.payload_bytes_dst", Wire),
            ("flow.bytes_src", Stream),
            ("flow.bytes_dst", Stream),
            ("flow.missed_bytes", Doubt),
            ("flow.retransmissions_src", Wire),
            ("flow.retransmissions_dst", Wire),
            ("flow.out_of_order_src", Wire),
            ("flow.out_of_order_dst", Wire),
            ("flow.zero_windows_src", Wire),
            ("flow.zero_windows_dst", Wire),
            ("flow.ttl_src", Sum),
            ("flow.ttl_dst", Sum),
        ],
    ),
    TableRule {
        columns: "frame.number, flow.id, addr.src, port.src, addr.dst, port.dst, flow.from_originator, stream.offset, \
                  stream.missing, stream.data",
        ..own(
            STREAM,
            &[("flow.from_originator", Sum), ("stream.missing", Doubt)],
        )
    },
    own("sip", &[("sip.resend", Wire), ("sip.faults", Doubt)]),
    TableRule {
        scope: RowScope::Call,
        ..own(
            "calls",
            &[
                ("call.number", Nothing),
                ("call.first", Time),
                ("call.last", LastTime),
                ("call.start", Time),
                ("call.ringing", Time),
                ("call.answer", Time),
                ("call.end", Time),
                ("call.request_delay", Span),
                ("call.setup_delay", Span),
                ("call.duration", Span),
                ("call.disconnect_delay", Span),
                ("call.jitter", Span),
                ("call.mos", Span),
                ("call.lost", Sum),
                ("call.messages", Sum),
                ("call.retransmissions", Sum),
                ("call.attempts", Sum),
                ("call.reinvites", Sum),
                ("call.dialogs", Sum),
                ("call.hops", Sum),
                ("call.state", Sum),
                ("call.status", Sum),
                ("call.ended_by", Sum),
                ("call.max_forwards", Sum),
                ("call.end_reason", Sum),
            ],
        )
    },
    TableRule {
        scope: RowScope::Signalled,
        // The packets of a message are only known after its last octet.
        ..own(CALL_PACKETS, &[("frame.number", WireFrame)])
    },
    own(
        "h248",
        &[
            ("h248.stopped", Doubt),
            // A reply whose request is not there is a row of its own, the other way.
            ("h248.kind", Sum),
            ("h248.length", Sum),
            ("h248.mid", Sum),
            ("addr.src", Sum),
            ("addr.dst", Sum),
            ("port.src", Sum),
            ("port.dst", Sum),
            ("ip.src", Sum),
            ("ip.dst", Sum),
            ("h248.retransmissions", Wire),
            ("h248.reply_frame", Frame),
            ("h248.reply_time", Time),
            ("h248.delay", Span),
        ],
    ),
    own(
        "websocket",
        &[
            // Counts connections of TCP, refused ones too.
            ("websocket.connection", Nothing),
            ("websocket.whole", Doubt),
            ("websocket.violations", Doubt),
            ("websocket.offset", Stream),
            ("websocket.mid_stream", Sum),
        ],
    ),
    own(
        "dns",
        &[
            ("dns.time", Span),
            ("dns.response_to", Frame),
            ("dns.repeat", Wire),
            ("dns.fault", Doubt),
        ],
    ),
    own(
        "lookups",
        &[
            ("lookup.rtt", Span),
            ("lookup.question_frame", Frame),
            ("lookup.answer_frame", Frame),
            ("lookup.fault", Doubt),
        ],
    ),
    own(
        "tls",
        &[
            ("tls.start", Time),
            ("tls.time", Span),
            ("tls.client_hello.frame", Frame),
            ("tls.server_hello.frame", Frame),
            ("tls.established", Sum),
            ("tls.resumed", Sum),
            ("tls.fault", Doubt),
            ("tls.last_alert", Sum),
            ("tls.alert_message.level", Sum),
            ("tls.alert_message.desc", Sum),
        ],
    ),
    own(
        "http",
        &[
            ("http.start", Time),
            ("http.time", Span),
            ("http.request.frame", Frame),
            ("http.response.frame", Frame),
            ("http.trans_depth", Sum),
            ("http.whole", Doubt),
            ("http.missing", Doubt),
            ("http.fault", Doubt),
            ("http.request.body_len", Stream),
            ("http.response.body_len", Stream),
        ],
    ),
    own("dhcp", &[("dhcp.fault", Doubt)]),
    own("ntp", &[("ntp.fault", Doubt)]),
    TableRule {
        scope: RowScope::Signalled,
        // The name of a codec is spelled as the description has it that was captured.
        ..own(
            "rtp",
            &[
                ("rtp.setup_frame", Frame),
                ("rtp.missing", Doubt),
                ("rtp.fault", Doubt),
                ("rtp.codec", Sum),
                ("rtp.setup_method", Sum),
            ],
        )
    },
    TableRule {
        scope: RowScope::Signalled,
        ..own(
            "rtcp",
            &[("rtcp.roundtrip_delay", Span), ("rtcp.fault", Doubt)],
        )
    },
    TableRule {
        scope: RowScope::Call,
        ..own(
            "media",
            &[
                ("media.start", Time),
                ("media.first_frame", Frame),
                ("media.setup_frame", Frame),
                ("media.duration", Span),
                ("media.jitter_min", Span),
                ("media.jitter_mean", Span),
                ("media.jitter_max", Span),
                ("media.delta_min", Span),
                ("media.delta_mean", Span),
                ("media.delta_max", Span),
                ("media.skew_max", Span),
                ("media.clock_drift", Span),
                ("media.delay", Span),
                ("media.mos", Span),
                ("media.r_factor", Span),
                ("media.unheard_percent", Span),
                ("media.burst_ratio", Span),
                ("media.rtcp.round_trip", Span),
                ("media.packets", Sum),
                ("media.octets", Sum),
                ("media.expected", Sum),
                ("media.lost", Sum),
                ("media.lost_percent", Sum),
                ("media.missing", Sum),
                ("media.duplicates", Sum),
                ("media.out_of_order", Sum),
                ("media.late", Sum),
                ("media.gaps", Sum),
                ("media.longest_gap", Sum),
                ("media.talkspurts", Sum),
                ("media.events", Sum),
                ("media.dtmf", Sum),
                ("media.comfort_noise", Sum),
                ("media.codec", Sum),
                ("media.codecs", Sum),
                ("media.payload_types", Sum),
                ("media.found_by", Sum),
                ("media.rtcp.reports", Sum),
                ("media.rtcp.sent", Sum),
                ("media.rtcp.lost", Sum),
                ("media.rtcp.lost_percent_max", Sum),
                ("media.rtcp.jitter_max", Sum),
                ("media.xr.mos_cq", Sum),
                ("media.xr.mos_lq", Sum),
                ("media.xr.r_factor", Sum),
            ],
        )
    },
    own(
        "radius",
        &[
            ("radius.time", Span),
            ("radius.reqframe", Frame),
            ("radius.fault", Doubt),
        ],
    ),
    own(
        "snmp",
        &[
            ("snmp.time", Span),
            ("snmp.response_to", Frame),
            ("snmp.fault", Doubt),
        ],
    ),
    own("mqtt", &[("mqtt.fault", Doubt)]),
    own("stun", &[("stun.time", Span), ("stun.response_to", Frame)]),
    own(
        "diameter",
        &[
            ("diameter.resp_time", Span),
            ("diameter.answer_to", Frame),
            ("diameter.fault", Doubt),
        ],
    ),
    own("mgcp", &[("mgcp.time", Span), ("mgcp.reqframe", Frame)]),
    own("m3ua", &[("m3ua.fault", Doubt)]),
    own("sccp", &[]),
    own(
        "tcap",
        &[
            ("tcap.time", Span),
            ("tcap.response_to", Frame),
            ("tcap.fault", Doubt),
        ],
    ),
];

pub(super) const FLOW_PACKETS: &str = "flow_packets";
pub(super) const CALL_PACKETS: &str = "call_packets";
pub(super) const FLOWS: &str = "flows";
pub(super) const STREAM: &str = "stream";
/// The column of octets in [`STREAM`].
pub(super) const STREAM_DATA: &str = "stream.data";
/// The table whose rows are questions with their answers.
pub(super) const LOOKUPS: &str = "lookups";

/// True of the tables by which the rows of others are judged.
pub(super) fn judges_others(name: &str) -> bool {
    [FLOW_PACKETS, FLOWS].contains(&name)
}

/// The tables that judging one table requires.
pub(super) fn needed(name: &str) -> Vec<&'static TableRule> {
    let scope = TABLES
        .iter()
        .find(|table| table.name == name)
        .map(|table| table.scope);
    let is_needed = |table: &&TableRule| {
        judges_others(table.name)
            || table.name == name
            || scope != Some(RowScope::Own) && [SIGNALLING, MEDIA].concat().contains(&table.name)
    };
    TABLES.iter().filter(is_needed).collect()
}
