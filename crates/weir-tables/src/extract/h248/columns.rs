//! The columns of the table `h248`.

use weir_h248::Encoding;
use weir_packet::{Kind, Value};

use super::command::{CommandRow, RowKind};
use crate::extract::extraction::ItemField;
use crate::extract::value::{address, filled, frame, number, seconds};
use crate::row::Item;

type CommandGetter = for<'r> fn(&'r CommandRow) -> Option<Value<'r>>;

/// The fields of the table.
pub(super) const FIELDS: &[ItemField<CommandGetter>] = &[
    ItemField::new(
        "frame.number",
        Kind::U64,
        |row| frame(row.message.frame_number),
        "Number of the record that completed the message, from 1; NULL when the end of the capture completed it",
        "weir",
    ),
    ItemField::new(
        "frame.time",
        Kind::Time,
        |row| row.message.time_ns.map(Value::Time),
        "Capture time of the message",
        "weir",
    ),
    ItemField::new(
        "flow.id",
        Kind::U64,
        |row| number(row.message.flow).filter(|_| row.message.flow > 0),
        "Number of the message's flow, as in flows",
        "weir",
    ),
    ItemField::new(
        "addr.src",
        Kind::Address,
        |row| address(row.message.from.address),
        "Address that the message came from",
        "RFC 791, 3.1; RFC 8200, 3",
    ),
    ItemField::new(
        "addr.dst",
        Kind::Address,
        |row| address(row.message.to.address),
        "Address that the message went to",
        "RFC 791, 3.1; RFC 8200, 3",
    ),
    ItemField::new(
        "port.src",
        Kind::U16,
        |row| number(row.message.from.port),
        "Port that the message came from",
        "RFC 768; RFC 9293, 3.1; RFC 9260, 3.1",
    ),
    ItemField::new(
        "port.dst",
        Kind::U16,
        |row| number(row.message.to.port),
        "Port that the message went to",
        "RFC 768; RFC 9293, 3.1; RFC 9260, 3.1",
    ),
    ItemField::new(
        "h248.transport",
        Kind::Text,
        |row| filled(row.message.transport.as_bytes()),
        "Transport of the message: udp, tcp or sctp",
        "RFC 3525, Annex D",
    ),
    ItemField::new(
        "h248.encoding",
        Kind::Text,
        |row| filled(encoding_name(row.message.encoding).as_bytes()),
        "Encoding of the message: pretty, compact, ber, per or erl",
        "RFC 3525, Annexes A and B",
    ),
    ItemField::new(
        "h248.length",
        Kind::U32,
        |row| number(row.message.octets.len() as u64),
        "Length of the message in bytes",
        "weir",
    ),
    ItemField::new(
        "h248.version",
        Kind::U8,
        |row| number(row.message.version?),
        "Version of the protocol, 1 to 3",
        "RFC 3525, 8.3",
    ),
    ItemField::new(
        "h248.mid",
        Kind::Text,
        |row| filled(row.message.mid.as_deref()?.as_bytes()),
        "Message identifier (mId): name or address of the sender, in text form",
        "RFC 3525, 8.3",
    ),
    ItemField::new(
        "h248.kind",
        Kind::Text,
        |row| {
            Some(Value::Text(match row.kind {
                RowKind::Request => "request",
                RowKind::Reply => "reply",
                RowKind::Error => "error",
                RowKind::Damaged => "damaged",
            }))
        },
        "What the row is: request (with its reply), reply (its request was not seen), error, damaged",
        "weir",
    ),
    ItemField::new(
        "h248.transaction_id",
        Kind::U32,
        |row| number(row.transaction_id?),
        "Transaction ID",
        "RFC 3525, 8.1.1",
    ),
    ItemField::new(
        "h248.context_id",
        Kind::U32,
        |row| number(row.context_id?),
        "Context ID of the request: 0 null context, 4294967294 CHOOSE, 4294967295 ALL",
        "RFC 3525, 6.1.2",
    ),
    ItemField::new(
        "h248.command",
        Kind::Text,
        |row| filled(row.command?.as_bytes()),
        "Command: Add, Move, Modify, Subtract, AuditValue, AuditCapability, Notify, ServiceChange",
        "RFC 3525, 7.2",
    ),
    ItemField::new(
        "h248.optional",
        Kind::Bool,
        |row| row.asked().map(|_| Value::Bool(row.optional)),
        "Optional command (O-): the transaction goes on when it fails",
        "RFC 3525, 8.1",
    ),
    ItemField::new(
        "h248.wildcard_return",
        Kind::Bool,
        |row| row.asked().map(|_| Value::Bool(row.wildcard_return)),
        "Wildcarded response (W-): one reply for all terminations",
        "RFC 3525, 6.2.2",
    ),
    ItemField::new(
        "h248.termination_ids",
        Kind::Text,
        |row| filled(row.texts()?.termination_ids.as_bytes()),
        "Terminations of the command, separated by commas",
        "RFC 3525, 6.2.2",
    ),
    ItemField::new(
        "h248.descriptors",
        Kind::Text,
        |row| filled(row.texts()?.descriptors.as_bytes()),
        "Descriptors of the command, in order, separated by commas",
        "RFC 3525, 7.1",
    ),
    ItemField::new(
        "h248.events",
        Kind::Text,
        |row| filled(row.texts()?.events.as_bytes()),
        "Events that the command requests or reports, each once: dd/ce, al/of",
        "RFC 3525, 7.1.9 and 7.1.17",
    ),
    ItemField::new(
        "h248.signals",
        Kind::Text,
        |row| filled(row.texts()?.signals.as_bytes()),
        "Signals that the command requests, each once: cg/rt",
        "RFC 3525, 7.1.11",
    ),
    ItemField::new(
        "h248.content",
        Kind::Text,
        |row| filled(row.texts()?.content.as_bytes()),
        "The whole command as JSON",
        "weir",
    ),
    ItemField::new(
        "h248.retransmissions",
        Kind::U32,
        |row| number(row.repetitions),
        "Retransmissions of the request before its reply",
        "RFC 3525, D.1.1",
    ),
    ItemField::new(
        "h248.pendings",
        Kind::U32,
        |row| number(row.pendings),
        "Provisional answers (TransactionPending) before the reply",
        "RFC 3525, 8.2.3",
    ),
    ItemField::new(
        "h248.reply_frame",
        Kind::U64,
        |row| frame(row.answer.as_ref()?.0.frame_number),
        "Number of the record of the reply; NULL when none was seen",
        "RFC 3525, 8.2.2",
    ),
    ItemField::new(
        "h248.reply_time",
        Kind::Time,
        |row| row.answer.as_ref()?.0.time_ns.map(Value::Time),
        "Capture time of the reply",
        "weir",
    ),
    ItemField::new(
        "h248.delay",
        Kind::F64,
        |row| match row.kind {
            RowKind::Request => seconds(row.answer.as_ref()?.1),
            _ => None,
        },
        "Seconds from the request to its reply",
        "weir",
    ),
    ItemField::new(
        "h248.segments",
        Kind::U32,
        |row| row.answer.as_ref().and_then(|_| number(row.segments)),
        "Segments of the reply; 0 when it was not segmented",
        "H.248.1 (2013), 8.2.2",
    ),
    ItemField::new(
        "h248.reply_context_id",
        Kind::U32,
        |row| number(row.reply_context_id?),
        "Context ID in the reply: that of the new context, where one was created",
        "RFC 3525, 6.1.2",
    ),
    ItemField::new(
        "h248.reply_termination_ids",
        Kind::Text,
        |row| filled(row.reply_texts()?.termination_ids.as_bytes()),
        "Terminations in the reply, separated by commas",
        "RFC 3525, 6.2.2",
    ),
    ItemField::new(
        "h248.reply_descriptors",
        Kind::Text,
        |row| filled(row.reply_texts()?.descriptors.as_bytes()),
        "Descriptors of the reply, in order, separated by commas",
        "RFC 3525, 7.1",
    ),
    ItemField::new(
        "h248.reply_content",
        Kind::Text,
        |row| filled(row.reply_texts()?.content.as_bytes()),
        "The replies to the command as a JSON array: a wildcard may have several",
        "weir",
    ),
    ItemField::new(
        "h248.error_code",
        Kind::U16,
        |row| number(row.error.as_ref()?.0),
        "Error code of the command, of its context, or of the transaction",
        "H.248.8; RFC 3525, 7.3",
    ),
    ItemField::new(
        "h248.error_text",
        Kind::Text,
        |row| filled(row.error.as_ref()?.1.as_deref()?.as_bytes()),
        "Error text",
        "H.248.8; RFC 3525, 7.3",
    ),
    ItemField::new(
        "h248.stopped",
        Kind::Text,
        |row| filled(row.stopped.as_deref()?.as_bytes()),
        "Why and where a damaged message could not be decoded",
        "weir",
    ),
];

/// The name of an encoding.
pub(super) fn encoding_name(encoding: Encoding) -> &'static str {
    match encoding {
        Encoding::Pretty => "pretty",
        Encoding::Compact => "compact",
        Encoding::Ber => "ber",
        Encoding::Per => "per",
        _ => "erl",
    }
}

impl Item for CommandRow {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        (FIELDS.get(index)?.get)(self)
    }

    fn record(&self) -> Option<u64> {
        Some(self.message.frame_number).filter(|frame| *frame > 0)
    }
}
