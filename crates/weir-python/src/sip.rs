//! SIP messages and ladders of calls, for `weir.sip`.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use weir_engine::{CallLadder, MediaStream};
use weir_sip::{Caption, HeaderName, Ladder, Limits, Message, Severity, Start, Step, unfold};

use crate::error::{ErrorClass, failure};

/// A message in its parts.
#[pyfunction]
pub(crate) fn sip_parse<'py>(
    py: Python<'py>,
    octets: &[u8],
    strict: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let limits = Limits::default();
    let parsed = match strict {
        true => Message::parse_strict(octets, &limits),
        false => Message::parse(octets, &limits),
    };
    let message = parsed.map_err(|fault| failure(ErrorClass::Decode, &fault.to_string(), None))?;
    let parts = PyDict::new(py);
    match message.start() {
        Start::Request {
            method,
            uri,
            version,
        } => {
            parts.set_item("method", text(method.as_bytes()))?;
            parts.set_item("uri", text(uri))?;
            parts.set_item("version", text(version))?;
        }
        Start::Status {
            version,
            code,
            reason,
        } => {
            parts.set_item("version", text(version))?;
            parts.set_item("status", code)?;
            parts.set_item("reason", text(reason))?;
        }
    }
    let headers = PyList::empty(py);
    for header in message.headers().iter() {
        headers.append((text(header.text), text(&header.unfolded())))?;
    }
    parts.set_item("headers", headers)?;
    let address = |address: Option<weir_sip::Address<'_>>| {
        address.map(|address| {
            (
                text(address.display_unquoted()),
                text(address.uri.text),
                address.uri.user.map(text),
                text(address.uri.host),
                address.tag().map(text),
            )
        })
    };
    parts.set_item("from", address(message.from()))?;
    parts.set_item("to", address(message.to()))?;
    parts.set_item("call_id", message.call_id().map(text))?;
    let cseq = message.cseq();
    parts.set_item(
        "cseq",
        cseq.map(|cseq| (cseq.number, text(cseq.method.as_bytes()))),
    )?;
    let vias = message.vias();
    let vias: Vec<_> = vias
        .map(|via| {
            let branch = via.branch().map(text);
            (text(via.transport), text(via.host), via.port, branch)
        })
        .collect();
    parts.set_item("vias", vias)?;
    let kind = message.headers().value(HeaderName::ContentType);
    parts.set_item("content_type", kind.map(|kind| text(&unfold(kind))))?;
    parts.set_item("body", PyBytes::new(py, message.body()))?;
    let faults: Vec<_> = message
        .check()
        .iter()
        .map(|fault| {
            let is_error = fault.kind.severity() == Severity::Error;
            (is_error, fault.kind.to_string(), fault.offset)
        })
        .collect();
    parts.set_item("faults", faults)?;
    Ok(parts)
}

/// The octets as text; invalid UTF-8 is replaced.
fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

/// A message of a ladder: time, from, to, method, status and reason, number and method of CSeq, whether it has a
/// session description, whether it repeats another, number of its record, its text.
type LadderMessage = (
    Option<i64>,
    String,
    String,
    Option<String>,
    Option<(u16, String)>,
    Option<(u32, String)>,
    bool,
    bool,
    Option<u64>,
    Option<String>,
);

/// A stream of its media: when it began, address and port of either end, protocol, codec, percent lost, score.
type LadderMedia = (
    Option<i64>,
    Option<String>,
    Option<u16>,
    Option<String>,
    Option<u16>,
    Option<String>,
    Option<String>,
    Option<f64>,
    Option<f64>,
);

/// A ladder as text, as SVG, and as a page.
#[pyfunction]
pub(crate) fn sip_ladder(
    title: &str,
    steps: Vec<LadderMessage>,
    media: Vec<LadderMedia>,
) -> (String, String, String) {
    let mut call = CallLadder::default();
    for (time_ns, from, to, method, status, cseq, has_sdp, is_repeat, frame, text) in steps {
        let label = Caption {
            method: method.as_deref().map(str::as_bytes),
            status: status
                .as_ref()
                .map(|(status, reason)| (*status, reason.as_bytes())),
            cseq: cseq
                .as_ref()
                .map(|(number, method)| (*number, method.as_bytes())),
            has_sdp,
        }
        .label();
        call.push_step(Step {
            time_ns,
            from,
            to,
            label,
            is_repeat,
            is_failure: status
                .as_ref()
                .is_some_and(|(status, _)| weir_sip::is_failure(*status)),
            frame,
            text,
            ..Step::default()
        });
    }
    for (start_ns, from, from_port, to, to_port, protocol, codec, lost_percent, mos) in media {
        let mut stream = MediaStream::default();
        stream.start_ns = start_ns;
        (stream.from, stream.from_port) = (from, from_port);
        (stream.to, stream.to_port) = (to, to_port);
        (stream.protocol, stream.codec) = (protocol, codec);
        (stream.lost_percent, stream.mos) = (lost_percent, mos);
        call.push_stream(stream);
    }
    let ladder = call.drawn(title).unwrap_or_else(|| Ladder::new(title));
    (ladder.text(), ladder.svg(), ladder.html())
}
