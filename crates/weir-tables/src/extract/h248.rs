//! The table `h248`: one row a Megaco command, with its reply.

mod carrier;
mod columns;
mod command;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use weir_h248::message::{
    ActionReply, MId, Message, MessageBody, Transaction, TransactionReply, TransactionResult,
};
use weir_h248::{
    Arena, DecodeOptions, Role, Sent, TextStyle, Tracker, TrackerLimits, Unanswered, decode_as,
    decode_mini,
};
use weir_packet::Needs;

use self::columns::FIELDS;
use self::command::{
    Carried, CommandPart, CommandPlace, CommandRow, ROW_BYTES, RowKind, reply_error, reply_name,
    rows_of_action,
};
use super::extraction::{Extract, Extraction, columns, push_item};
use super::note::Note;
use crate::Row;
use crate::rows::Rows;

pub(super) use self::carrier::{CarrierStreams, is_on_ports};
pub use self::carrier::{FoundMessage, MessageFinder};

/// The extraction of this module.
pub(super) const EXTRACTION: Extraction = Extraction {
    name: "h248",
    doc: "one row per Megaco (H.248) command, with its reply",
    columns: || columns(&["frame.file"], FIELDS),
    needs: &[Needs::All],
    start: |settings| {
        Box::new(H248 {
            finder: MessageFinder::with_settings(settings),
            messages: Messages::new(),
        })
    },
    arguments: super::settings::SECRETS,
    aliases: &[],
};

/// The number of octets of messages and rows that wait for their replies. When it is reached, all waiting rows are
/// returned without a reply.
const WAITING_BYTES_MAX: usize = 64 << 20;

/// The messages of packets, and the rows of messages.
struct H248 {
    finder: MessageFinder,
    messages: Messages,
}

/// Follows the transactions and returns a row once it is complete.
struct Messages {
    arena: Arena,
    tracker: Tracker,
    /// Rows whose reply may still come, by the tracker's token for their request.
    waiting: HashMap<u64, PendingCommand>,
    waiting_bytes: usize,
    next_token: u64,
    /// Complete rows that wait for their place in a batch.
    ready: VecDeque<CommandRow>,
    /// The number of requests that were given up because of [`WAITING_BYTES_MAX`].
    given_up: u64,
}

struct PendingCommand {
    rows: Vec<CommandRow>,
    /// The index of the first row to which the next reply may belong.
    next: usize,
    bytes: usize,
}

impl Messages {
    fn new() -> Self {
        Self {
            arena: Arena::new(),
            tracker: Tracker::new(TrackerLimits::default()),
            waiting: HashMap::new(),
            waiting_bytes: 0,
            next_token: 0,
            ready: VecDeque::new(),
            given_up: 0,
        }
    }

    fn message(&mut self, found: &FoundMessage<'_>) {
        let mut arena = std::mem::take(&mut self.arena);
        let options = DecodeOptions::default();
        let mut carried = Carried {
            frame_number: found.frame,
            time_ns: found.time_ns,
            flow: found.flow,
            from: found.from,
            to: found.to,
            transport: found.transport,
            encoding: found.encoding,
            version: None,
            mid: None,
            octets: found.octets.into(),
        };
        match decode_as(found.encoding, found.octets, &arena, &options) {
            Ok(message) => {
                carried.version = Some(message.version);
                carried.mid = Some(mid_text(&message.mid));
                self.decoded(&message, &Arc::new(carried));
            }
            Err(error) => {
                let mini = decode_mini(found.octets, &arena).ok();
                carried.version = mini.map(|mini| mini.version);
                carried.mid = mini.map(|mini| mid_text(&mini.mid));
                let mut row = CommandRow::new(RowKind::Damaged, &Arc::new(carried));
                row.transaction_id = mini.and_then(|mini| mini.transaction_id);
                row.stopped = Some(error.to_string());
                self.ready.push_back(row);
            }
        }
        arena.reset();
        self.arena = arena;
    }

    fn decoded(&mut self, message: &Message<'_>, carried: &Arc<Carried>) {
        if let MessageBody::Error(error) = message.body {
            let mut row = CommandRow::new(RowKind::Error, carried);
            row.set_error(error);
            self.ready.push_back(row);
        }
        let sent = Sent {
            at_ns: carried.time_ns.unwrap_or_default(),
            from: carried.from,
            to: carried.to,
        };
        let token = self.next_token;
        let transactions = message.transactions();
        self.next_token = token.saturating_add(transactions.len() as u64);
        let mut roles = Vec::new();
        let mut lost = Vec::new();
        self.tracker.message(
            sent,
            message,
            token,
            |place, role| roles.push((place, role)),
            |unanswered| lost.push(unanswered),
        );
        for unanswered in lost {
            self.unanswered(unanswered);
        }
        for (place, role) in roles {
            match (transactions.get(place), role) {
                (Some(Transaction::Request(request)), Role::Request) => {
                    let mut rows = Vec::new();
                    for (at, action) in request.actions.iter().enumerate() {
                        rows_of_action(carried, place, request.id, at, action, &mut rows);
                    }
                    self.wait(token.saturating_add(place as u64), carried, rows);
                }
                (_, Role::RequestAgain(matched)) => {
                    self.update(matched.token, |row| row.repetitions = matched.repetitions);
                }
                (_, Role::Pending(Some(matched))) => {
                    self.update(matched.token, |row| row.pendings = matched.pendings);
                }
                (
                    Some(Transaction::Reply(reply)),
                    Role::Reply {
                        request,
                        complete,
                        again,
                    },
                ) => match request {
                    Some(matched) if !again => {
                        self.reply(matched.token, matched.since_ns, carried, place, reply);
                        if complete {
                            self.complete(matched.token);
                        }
                    }
                    Some(_) => {}
                    None => self.lone_reply(carried, place, reply),
                },
                _ => {}
            }
        }
    }

    fn wait(&mut self, token: u64, carried: &Arc<Carried>, rows: Vec<CommandRow>) {
        let bytes = rows
            .len()
            .saturating_mul(ROW_BYTES)
            .saturating_add(carried.octets.len());
        if self.waiting_bytes.saturating_add(bytes) > WAITING_BYTES_MAX {
            self.given_up = self.given_up.saturating_add(self.waiting.len() as u64);
            self.give_up();
        }
        self.waiting_bytes = self.waiting_bytes.saturating_add(bytes);
        let waiting = PendingCommand {
            rows,
            next: 0,
            bytes,
        };
        self.waiting.insert(token, waiting);
    }

    fn update(&mut self, token: u64, change: impl Fn(&mut CommandRow)) {
        if let Some(waiting) = self.waiting.get_mut(&token) {
            waiting.rows.iter_mut().for_each(change);
        }
    }

    /// Adds the values of a reply, or of a segment of one, to the rows of its request.
    fn reply(
        &mut self,
        token: u64,
        since_ns: i64,
        carried: &Arc<Carried>,
        transaction: usize,
        reply: &TransactionReply<'_>,
    ) {
        let Some(waiting) = self.waiting.get_mut(&token) else {
            return;
        };
        waiting.bytes = waiting.bytes.saturating_add(carried.octets.len());
        self.waiting_bytes = self.waiting_bytes.saturating_add(carried.octets.len());
        for row in &mut waiting.rows {
            if reply.segment_number.is_some() {
                row.segments = row.segments.saturating_add(1);
            }
            if row.answer.is_none() {
                row.answer = Some((Arc::clone(carried), since_ns));
            }
        }
        match reply.result {
            TransactionResult::Error(error) => {
                waiting.rows.iter_mut().for_each(|row| row.set_error(error));
            }
            TransactionResult::Actions(actions) => {
                for (at, action) in actions.iter().enumerate() {
                    waiting.action(carried, transaction, at, action);
                }
            }
        }
    }

    /// Rows for a reply whose request was not seen.
    fn lone_reply(
        &mut self,
        carried: &Arc<Carried>,
        transaction: usize,
        reply: &TransactionReply<'_>,
    ) {
        let row_of = |context_id| {
            let mut row = CommandRow::new(RowKind::Reply, carried);
            row.transaction_id = Some(reply.id);
            row.reply_context_id = context_id;
            row.answer = Some((Arc::clone(carried), 0));
            row.segments = u32::from(reply.segment_number.is_some());
            row
        };
        match reply.result {
            TransactionResult::Error(error) => {
                let mut row = row_of(None);
                row.set_error(error);
                self.ready.push_back(row);
            }
            TransactionResult::Actions(actions) => {
                for (at, action) in actions.iter().enumerate() {
                    for (command, reply) in action.commands.iter().enumerate() {
                        let mut row = row_of(Some(action.context_id));
                        row.command = Some(reply_name(reply));
                        row.replies
                            .push(part(carried, transaction, at, Some(command)));
                        if let Some(error) = reply_error(reply) {
                            row.set_error(error);
                        }
                        self.ready.push_back(row);
                    }
                    if action.commands.is_empty() || action.error.is_some() {
                        let mut row = row_of(Some(action.context_id));
                        row.replies.push(part(carried, transaction, at, None));
                        if let Some(error) = action.error {
                            row.set_error(error);
                        }
                        self.ready.push_back(row);
                    }
                }
            }
        }
    }

    fn complete(&mut self, token: u64) {
        if let Some(waiting) = self.waiting.remove(&token) {
            self.waiting_bytes = self.waiting_bytes.saturating_sub(waiting.bytes);
            self.ready.extend(waiting.rows);
        }
    }

    fn unanswered(&mut self, unanswered: Unanswered) {
        self.complete(unanswered.token);
    }

    /// Reports all waiting rows, in the order of their requests.
    fn give_up(&mut self) {
        let mut tokens: Vec<u64> = self.waiting.keys().copied().collect();
        tokens.sort_unstable();
        tokens.into_iter().for_each(|token| self.complete(token));
    }

    fn push_ready(&mut self, rows: &mut Rows) {
        while let Some(row) = self.ready.pop_front() {
            push_item(rows, "", &row);
        }
    }
}

impl PendingCommand {
    /// Reads the reply of one context.
    fn action(
        &mut self,
        carried: &Arc<Carried>,
        transaction: usize,
        at: usize,
        action: &ActionReply<'_>,
    ) {
        for (command, reply) in action.commands.iter().enumerate() {
            let name = reply_name(reply);
            let candidates = self.rows.iter_mut().enumerate().skip(self.next);
            let found = candidates
                .into_iter()
                .find(|(_, row)| row.command == Some(name));
            let Some((index, row)) = found else { continue };
            row.replies
                .push(part(carried, transaction, at, Some(command)));
            row.reply_context_id = Some(action.context_id);
            if let Some(error) = reply_error(reply) {
                row.set_error(error);
            }
            // A wildcard may have another reply.
            self.next = if row.many {
                index
            } else {
                index.saturating_add(1)
            };
        }
        if !action.commands.is_empty() && action.error.is_none() {
            return;
        }
        // An error of the context itself belongs to the command that was not executed, or to an action without
        // commands.
        let next = self
            .rows
            .iter_mut()
            .skip(self.next)
            .find(|row| row.replies.is_empty());
        if let Some(row) = next {
            row.replies.push(part(carried, transaction, at, None));
            row.reply_context_id = Some(action.context_id);
            if let Some(error) = action.error {
                row.set_error(error);
            }
            self.next = self.next.saturating_add(1);
        }
    }
}

fn part(
    carried: &Arc<Carried>,
    transaction: usize,
    action: usize,
    command: Option<usize>,
) -> CommandPart {
    CommandPart {
        message: Arc::clone(carried),
        place: CommandPlace {
            transaction,
            action,
            command,
        },
    }
}

/// Returns the text notation of an identifier.
fn mid_text(mid: &MId<'_>) -> String {
    mid.to_text(TextStyle::default())
}

impl Extract for H248 {
    fn keeps_records(&self) -> bool {
        true
    }

    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        let messages = &mut self.messages;
        self.finder
            .packet(row.packet, &mut |found| messages.message(found));
        messages.push_ready(rows);
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        let messages = &mut self.messages;
        self.finder.finish(&mut |found| messages.message(found));
        messages.give_up();
        rows.take_waiting(&mut messages.ready, |rows, row| {
            push_item(rows, "", &row);
        })
    }

    fn notes(&self) -> Vec<Note> {
        let own = [
            (
                self.messages.given_up,
                format!(
                    "requests were written without their replies, because {} MiB of messages waited",
                    WAITING_BYTES_MAX >> 20
                ),
            ),
            (
                self.messages.tracker.counts().evicted,
                "requests were written without their replies, because too many were open"
                    .to_owned(),
            ),
        ];
        let found = self.finder.notes().into_iter();
        Note::of("h248", own)
            .chain(found.map(|note| note.named("h248")))
            .collect()
    }
}
