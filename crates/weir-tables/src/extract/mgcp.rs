//! `mgcp`: one row a message of MGCP.

use weir_messages::mgcp::{Line, MgcpMessage, PORTS, begins, messages};
use weir_messages::{printable, sdp};
use weir_packet::{Kind, Needs, Value};

use super::extraction::{Extraction, ItemField, columns};
use super::list::{Cache, Say};
use super::messages::{Messages, Protocol, Push, Way, columns_with_way};
use super::requests::{OpenRequest, Requests};
use super::value::{address, frame, number, seconds};
use crate::row::Item;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "mgcp",
    doc: "one row per MGCP message; a datagram with several has several rows",
    columns: || columns_with_way(columns(&[], FIELDS)),
    needs: &[Needs::All],
    start: Messages::<Mgcp>::start,
    arguments: super::settings::NETWORKS,
    aliases: &[],
};

#[derive(Default)]
struct Mgcp(Requests<u32>);

impl Protocol for Mgcp {
    const NAME: &'static str = "mgcp";

    fn is_datagram(bytes: &[u8], ports: [u16; 2]) -> bool {
        begins(bytes, ports)
    }

    fn may_be_cut(_bytes: &[u8], ports: [u16; 2]) -> bool {
        ports.iter().any(|port| PORTS.contains(port))
    }

    fn message(&mut self, bytes: &[u8], way: &Way, push: &mut Push<'_>) -> bool {
        let mut is_any = false;
        for message in messages(bytes) {
            let request = match (message.line, message.transaction()) {
                (Line::Response { .. }, Some(id)) => self.0.answer(way, id),
                (Line::Command { .. }, Some(id)) => {
                    self.0.add(way, id);
                    None
                }
                _ => None,
            };
            let captured = CapturedMgcp {
                bytes: message.bytes.to_vec(),
                media: sdp::media(message.body).into_iter().next(),
                time_ns: request.and_then(|request| request.until(way)),
                request,
            };
            let cache = Cache::new(FIELDS.len());
            push(way, &MgcpItem { captured, cache });
            is_any = true;
        }
        is_any
    }

    fn counted(&self) -> Vec<(u64, &'static str)> {
        self.0.counted()
    }
}

struct MgcpItem {
    captured: CapturedMgcp,
    cache: Cache,
}

impl Item for MgcpItem {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        self.cache.value(FIELDS, index, &self.captured)
    }
}

/// A message as it was captured, of which a row is made when its columns are read.
struct CapturedMgcp {
    bytes: Vec<u8>,
    media: Option<sdp::Media>,
    request: Option<OpenRequest>,
    time_ns: Option<i64>,
}

impl CapturedMgcp {
    fn message(&self) -> Option<MgcpMessage<'_>> {
        MgcpMessage::new(&self.bytes)
    }

    fn line(&self) -> Option<Line<'_>> {
        Some(self.message()?.line)
    }

    fn parameter(&self, name: &str) -> Option<String> {
        self.message()?.parameter(name).map(printable)
    }

    fn counted(&self, name: &str) -> Option<Value<'static>> {
        number(self.message()?.counted(name)?)
    }
}

/// A macro for a parameter as a text.
macro_rules! parameter {
    ($name:literal) => {
        Say::Text(|s| s.parameter($name))
    };
}

#[rustfmt::skip]
static FIELDS: &[ItemField<Say<CapturedMgcp>>] = &[
    ItemField::new("mgcp.req", Kind::Bool, Say::Value(|s| Some(Value::Bool(matches!(s.line()?, Line::Command { .. })))),
        "The message is a command, not a response", "RFC 3435, 3.2"),
    ItemField::new("mgcp.req.verb", Kind::Text, Say::Text(|s| match s.line()? {
            Line::Command { verb, .. } => Some(printable(verb)),
            Line::Response { .. } => None,
        }), "Verb of the command: CRCX, MDCX, DLCX, RQNT, NTFY, AUEP, AUCX, RSIP, EPCF", "RFC 3435, 3.2.1.1"),
    ItemField::new("mgcp.req.endpoint", Kind::Text, Say::Text(|s| match s.line()? {
            Line::Command { endpoint, .. } => Some(printable(endpoint)),
            Line::Response { .. } => None,
        }), "Endpoint of the command", "RFC 3435, 3.2.1.3"),
    ItemField::new("mgcp.version", Kind::Text, Say::Text(|s| match s.line()? {
            Line::Command { version, .. } => Some(printable(version)),
            Line::Response { .. } => None,
        }), "Protocol version, sometimes with a profile", "RFC 3435, 3.2.1.4"),
    ItemField::new("mgcp.transid", Kind::Text, Say::Text(|s| Some(printable(s.message()?.transaction))),
        "Transaction ID, as written", "RFC 3435, 3.2.1.2"),
    ItemField::new("mgcp.rsp.rspcode", Kind::U16, Say::Value(|s| match s.line()? {
            Line::Response { code, .. } => number(code),
            Line::Command { .. } => None,
        }), "Return code: 200 done, 250 connection deleted, 4xx transient error, 5xx permanent error", "RFC 3435, 2.4"),
    ItemField::new("mgcp.rsp.rspstring", Kind::Text, Say::Text(|s| match s.line()? {
            Line::Response { text, .. } => Some(printable(text)).filter(|text| !text.is_empty()),
            Line::Command { .. } => None,
        }), "Text after the return code", "RFC 3435, 3.3"),
    ItemField::new("mgcp.time", Kind::F64, Say::Value(|s| seconds(s.time_ns?)),
        "Seconds from the command to this response", "weir"),
    ItemField::new("mgcp.reqframe", Kind::U64, Say::Value(|s| frame(s.request?.frame)),
        "Number of the record with the command that this answers", "weir"),
    ItemField::new("mgcp.param.callid", Kind::Text, parameter!("C"),
        "Call ID, from the call agent", "RFC 3435, 3.2.2.2"),
    ItemField::new("mgcp.param.connectionid", Kind::Text, parameter!("I"),
        "Connection ID, from the gateway", "RFC 3435, 3.2.2.5"),
    ItemField::new("mgcp.param.connectionmode", Kind::Text, parameter!("M"),
        "Connection mode: sendonly, recvonly, sendrecv, inactive, …", "RFC 3435, 3.2.2.6"),
    ItemField::new("mgcp.param.notifiedentity", Kind::Text, parameter!("N"),
        "Notified entity: call agent that receives notifications", "RFC 3435, 3.2.2.12"),
    ItemField::new("mgcp.param.requestid", Kind::Text, parameter!("X"),
        "Request ID, which notifications repeat", "RFC 3435, 3.2.2.18"),
    ItemField::new("mgcp.param.reqevents", Kind::Text, parameter!("R"),
        "Requested events", "RFC 3435, 3.2.2.16"),
    ItemField::new("mgcp.param.observedevents", Kind::Text, parameter!("O"),
        "Observed events: digits, on and off hook, …", "RFC 3435, 3.2.2.13"),
    ItemField::new("mgcp.param.signalreq", Kind::Text, parameter!("S"),
        "Requested signals: dial tone, ringing, …", "RFC 3435, 3.2.2.21"),
    ItemField::new("mgcp.param.detectedevents", Kind::Text, parameter!("T"),
        "Events to detect during quarantine", "RFC 3435, 3.2.2.8"),
    ItemField::new("mgcp.param.digitmap", Kind::Text, parameter!("D"),
        "Digit map", "RFC 3435, 3.2.2.9"),
    ItemField::new("mgcp.param.localconnectionoptions", Kind::Text, parameter!("L"),
        "Local connection options: codecs, packetization, …", "RFC 3435, 3.2.2.10"),
    ItemField::new("mgcp.param.connectionparam", Kind::Text, parameter!("P"),
        "Connection parameters: statistics of the connection", "RFC 3435, 3.2.2.7"),
    ItemField::new("mgcp.param.connectionparam.ps", Kind::U32, Say::Value(|s| s.counted("PS")),
        "Packets sent", "RFC 3435, 3.2.2.7"),
    ItemField::new("mgcp.param.connectionparam.os", Kind::U32, Say::Value(|s| s.counted("OS")),
        "Octets sent", "RFC 3435, 3.2.2.7"),
    ItemField::new("mgcp.param.connectionparam.pr", Kind::U32, Say::Value(|s| s.counted("PR")),
        "Packets received", "RFC 3435, 3.2.2.7"),
    ItemField::new("mgcp.param.connectionparam.or", Kind::U32, Say::Value(|s| s.counted("OR")),
        "Octets received", "RFC 3435, 3.2.2.7"),
    ItemField::new("mgcp.param.connectionparam.pl", Kind::U32, Say::Value(|s| s.counted("PL")),
        "Packets lost", "RFC 3435, 3.2.2.7"),
    ItemField::new("mgcp.param.connectionparam.ji", Kind::U32, Say::Value(|s| s.counted("JI")),
        "Jitter in milliseconds", "RFC 3435, 3.2.2.7"),
    ItemField::new("mgcp.param.connectionparam.la", Kind::U32, Say::Value(|s| s.counted("LA")),
        "Latency in milliseconds", "RFC 3435, 3.2.2.7"),
    ItemField::new("mgcp.param.reasoncode", Kind::Text, parameter!("E"),
        "Reason code: why a connection was deleted or an endpoint restarts", "RFC 3435, 3.2.2.15"),
    ItemField::new("mgcp.param.restartmethod", Kind::Text, parameter!("RM"),
        "Restart method: graceful, forced, restart, disconnected", "RFC 3435, 3.2.2.20"),
    ItemField::new("mgcp.param.restartdelay", Kind::Text, parameter!("RD"),
        "Restart delay in seconds", "RFC 3435, 3.2.2.19"),
    ItemField::new("mgcp.param.reqinfo", Kind::Text, parameter!("F"),
        "Requested information of an audit", "RFC 3435, 3.2.2.17"),
    ItemField::new("mgcp.param.quarantinehandling", Kind::Text, parameter!("Q"),
        "Quarantine handling: treatment of events during quarantine", "RFC 3435, 3.2.2.14"),
    ItemField::new("mgcp.param.specificendpointid", Kind::Text, parameter!("Z"),
        "Specific endpoint ID, chosen for a wildcard", "RFC 3435, 3.2.2.22"),
    ItemField::new("mgcp.param.secondendpointid", Kind::Text, parameter!("Z2"),
        "Second endpoint ID, of a connection between two endpoints of a gateway", "RFC 3435, 3.2.2.23"),
    ItemField::new("mgcp.param.secondconnectionid", Kind::Text, parameter!("I2"),
        "Second connection ID", "RFC 3435, 3.2.2.24"),
    ItemField::new("mgcp.param.bearerinfo", Kind::Text, parameter!("B"),
        "Bearer information: coding of the bearer", "RFC 3435, 3.2.2.1"),
    ItemField::new("mgcp.param.capabilities", Kind::Text, parameter!("A"),
        "Capabilities of the endpoint", "RFC 3435, 3.2.2.3"),
    ItemField::new("sdp.connection_info.address", Kind::Address, Say::Value(|s| address(s.media.as_ref()?.address)),
        "SDP: address for the first media stream", "RFC 8866, 5.7"),
    ItemField::new("sdp.media.port", Kind::U16, Say::Value(|s| number(s.media.as_ref()?.port)),
        "SDP: port for the first media stream", "RFC 8866, 5.14"),
];
