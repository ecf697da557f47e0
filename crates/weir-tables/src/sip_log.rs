//! The columns of `clf(…)`, the table of SIP logs: a row a record of the log.

use std::sync::Arc;

use weir_packet::Kind;

use crate::{Column, Origin, Table};

impl Table {
    /// The columns of every SIP log, in all of its forms; a value that a form does not have is NULL.
    #[must_use]
    pub fn sip_log() -> Self {
        let columns = COLUMNS.iter().enumerate();
        let columns = columns.map(|(index, (name, kind, doc, reference))| Column {
            name: Arc::from(*name),
            kind: *kind,
            doc: Arc::from(*doc),
            reference: Arc::from(*reference),
            origin: Origin::Item(index),
        });
        Self::new(columns.collect())
    }
}

/// Name, type, meaning, source.
const COLUMNS: [(&str, Kind, &str, &str); 22] = [
    (
        "clf.time",
        Kind::Time,
        "Time when the message was sent or received, with the precision of the log format: milliseconds in RFC 6873",
        "RFC 6873, 4.1",
    ),
    (
        "clf.response",
        Kind::Bool,
        "The message is a response, not a request",
        "RFC 6873, 4.2",
    ),
    (
        "clf.sent",
        Kind::Bool,
        "The logging element sent the message; false: it received it",
        "RFC 6873, 4.2",
    ),
    (
        "clf.encrypted",
        Kind::Bool,
        "The transport was encrypted",
        "RFC 6873, 4.2",
    ),
    (
        "clf.transport",
        Kind::Text,
        "Transport of the message: udp, tcp, sctp, or ws for WebSocket (RFC 7355)",
        "RFC 6873, 4.2",
    ),
    (
        "clf.flags",
        Kind::Text,
        "The five flags as letters: type, retransmission, direction, transport, encryption; NULL where the log format lacks one of them",
        "RFC 6873, 4.2",
    ),
    (
        "clf.cseq",
        Kind::U32,
        "Sequence number of the CSeq header",
        "RFC 6872, 8.1",
    ),
    (
        "clf.method",
        Kind::Text,
        "Method of the CSeq header",
        "RFC 6872, 8.1",
    ),
    (
        "clf.status",
        Kind::U16,
        "Status code of a response, 100 to 999",
        "RFC 6872, 8.1",
    ),
    (
        "clf.r_uri",
        Kind::Text,
        "Request-URI of a request",
        "RFC 6872, 8.1",
    ),
    (
        "clf.dst",
        Kind::Text,
        "Destination address and port of the message",
        "RFC 6872, 8.1",
    ),
    (
        "clf.src",
        Kind::Text,
        "Source address and port of the message",
        "RFC 6872, 8.1",
    ),
    (
        "clf.to_uri",
        Kind::Text,
        "URI of the To header",
        "RFC 6872, 8.1",
    ),
    (
        "clf.to_tag",
        Kind::Text,
        "Tag of the To header",
        "RFC 6872, 8.1",
    ),
    (
        "clf.from_uri",
        Kind::Text,
        "URI of the From header",
        "RFC 6872, 8.1",
    ),
    (
        "clf.from_tag",
        Kind::Text,
        "Tag of the From header",
        "RFC 6872, 8.1",
    ),
    ("clf.call_id", Kind::Text, "Call-ID", "RFC 6872, 8.1"),
    (
        "clf.server_txn",
        Kind::Text,
        "Server transaction identifier of the logging element (Server-Txn)",
        "RFC 6872, 8.1",
    ),
    (
        "clf.client_txn",
        Kind::Text,
        "Client transaction identifier of the logging element (Client-Txn)",
        "RFC 6872, 8.1",
    ),
    (
        "clf.cseq_text",
        Kind::Text,
        "Number and method of the CSeq header, as written",
        "RFC 6873, 4.2",
    ),
    (
        "clf.segment",
        Kind::Text,
        "File that holds the record: the log itself, or a sealed segment of it",
        "weir",
    ),
    (
        "clf.offset",
        Kind::U64,
        "Offset of the record in that file, in bytes",
        "weir",
    ),
];
