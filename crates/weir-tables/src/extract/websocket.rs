//! The table `websocket`: one row a WebSocket message.

mod columns;
mod connections;
mod frames;
mod sight;
mod socket;
mod streams;

use std::collections::{HashMap, VecDeque};

use weir_packet::Needs;
use weir_ws::{ConnectionEvent, Direction, Event, Message, ViolationKind};

pub use self::connections::WebSockets;
pub(crate) use self::connections::{Connections, begins};
pub use self::sight::{WebSocketEnds, WebSocketSight};

use self::columns::{FIELDS, MessageRow};
use super::extraction::{Extract, Extraction, columns, push_item};
use super::note::Note;
use crate::Row;
use crate::rows::Rows;

/// The extraction of this module.
pub(super) const EXTRACTION: Extraction = Extraction {
    name: "websocket",
    doc: "one row per WebSocket message",
    columns: || columns(&["frame.file"], FIELDS),
    needs: &[Needs::All],
    start: |settings| {
        Box::new(WebSocket {
            sockets: WebSockets::with_settings(settings),
            ..WebSocket::default()
        })
    },
    arguments: super::settings::SECRETS,
    aliases: &[],
};

/// The number of bytes of the payloads of rows that are complete only after the last packet: further rows have no
/// payload.
const LAST_BYTES_MAX: usize = 1 << 30;

#[derive(Default)]
struct WebSocket {
    sockets: WebSockets,
    violations: Violations,
    /// The rows that were complete only at the end of the capture.
    last: Option<VecDeque<MessageRow<'static>>>,
    last_bytes: usize,
    /// The number of rows in `last` without their payload.
    without_payload: u64,
}

/// Violations that wait for their message, by connection and direction. They are removed at the end of the direction.
#[derive(Default)]
struct Violations(HashMap<(u64, bool), Vec<ViolationKind>>);

impl Violations {
    /// The row of an event, if it has one.
    fn row<'m>(&mut self, sight: &WebSocketSight<'m>) -> Option<MessageRow<'m>> {
        let ConnectionEvent::Wire(direction, event) = sight.event else {
            return None;
        };
        let key = (sight.ends.connection, direction == Direction::ToServer);
        match event {
            Event::Violation(violation) => {
                let kinds = self.0.entry(key).or_default();
                if !kinds.contains(&violation.kind) {
                    kinds.push(violation.kind);
                }
                // No message follows such a violation.
                let is_last = violation.kind == ViolationKind::Cut;
                is_last.then(|| self.take(key, sight, direction, None))
            }
            Event::Message(message) => Some(self.take(key, sight, direction, Some(message))),
            _ => None,
        }
    }

    fn take<'m>(
        &mut self,
        key: (u64, bool),
        sight: &WebSocketSight<'m>,
        direction: Direction,
        message: Option<Message<'m>>,
    ) -> MessageRow<'m> {
        let kinds = self.0.remove(&key).unwrap_or_default();
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        MessageRow::new(sight, direction, message, names.join("; "))
    }
}

impl Extract for WebSocket {
    fn keeps_records(&self) -> bool {
        true
    }

    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        let Self {
            sockets,
            violations,
            ..
        } = self;
        sockets.packet(row.packet, &mut |sight| {
            if let Some(message) = violations.row(sight) {
                rows.push_row(&row.with_item(&message));
            }
        });
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        if self.last.is_none() {
            let mut last = VecDeque::new();
            let Self {
                sockets,
                violations,
                last_bytes,
                without_payload,
                ..
            } = self;
            sockets.finish(&mut |sight| {
                if let Some(message) = violations.row(sight) {
                    *last_bytes = last_bytes.saturating_add(message.payload.len());
                    let keep = *last_bytes <= LAST_BYTES_MAX;
                    *without_payload = without_payload.saturating_add(u64::from(!keep));
                    last.push_back(message.into_owned(keep));
                }
            });
            self.last = Some(last);
        }
        let Some(last) = &mut self.last else {
            return false;
        };
        rows.take_waiting(last, |rows, message| push_item(rows, "", &message))
    }

    fn notes(&self) -> Vec<Note> {
        let mut notes = self.sockets.notes();
        let own = [(
            self.without_payload,
            "messages that were complete only at the end of the capture are without payload",
        )];
        notes.extend(Note::of("", own));
        notes
    }
}
