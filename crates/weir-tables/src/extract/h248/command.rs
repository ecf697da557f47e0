//! A command of a message: the values that every row has, and others that are computed only for a column that needs
//! them.

use std::{cell::OnceCell, sync::Arc};

use weir_h248::{
    Arena, DecodeOptions, Encoding, JsonWriter, Visitor, decode_as,
    message::{
        ActionReply, ActionRequest, ErrorDescriptor, Message, MessageBody, Transaction,
        TransactionResult,
        command::{AuditReply, Command, CommandReply, ServiceChangeResult},
        descriptor::AuditReturnParameter,
    },
};
use weir_h248::{Endpoint, TerminationId};

/// A message as it came, kept for columns that are computed later.
#[derive(Debug)]
pub(super) struct Carried {
    pub(super) frame_number: u64,
    pub(super) time_ns: Option<i64>,
    pub(super) flow: u64,
    pub(super) from: Endpoint,
    pub(super) to: Endpoint,
    pub(super) transport: &'static str,
    pub(super) encoding: Encoding,
    pub(super) version: Option<u8>,
    pub(super) mid: Option<String>,
    pub(super) octets: Box<[u8]>,
}

/// The position of a command in a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommandPlace {
    pub(super) transaction: usize,
    pub(super) action: usize,
    /// The index of the command; `None` for an action without commands.
    pub(super) command: Option<usize>,
}

/// A command, or its reply, in a message.
#[derive(Clone, Debug)]
pub(super) struct CommandPart {
    pub(super) message: Arc<Carried>,
    pub(super) place: CommandPlace,
}

/// The subject of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowKind {
    /// A request of a command, with its reply when that was seen.
    Request,
    /// A reply whose request was not seen.
    Reply,
    /// A message that is an error.
    Error,
    /// A message that does not decode.
    Damaged,
}

/// One row of the table.
#[derive(Debug)]
pub(super) struct CommandRow {
    pub(super) kind: RowKind,
    pub(super) message: Arc<Carried>,
    pub(super) place: Option<CommandPlace>,
    pub(super) transaction_id: Option<u32>,
    pub(super) context_id: Option<u32>,
    pub(super) command: Option<&'static str>,
    pub(super) optional: bool,
    pub(super) wildcard_return: bool,
    /// Whether the command may have several replies.
    pub(super) many: bool,
    pub(super) repetitions: u32,
    pub(super) pendings: u32,
    pub(super) segments: u32,
    /// The message of the reply, and the time since the request in nanoseconds.
    pub(super) answer: Option<(Arc<Carried>, i64)>,
    pub(super) reply_context_id: Option<u32>,
    pub(super) replies: Vec<CommandPart>,
    pub(super) error: Option<(u16, Option<String>)>,
    pub(super) stopped: Option<String>,
    pub(super) texts: OnceCell<Texts>,
    pub(super) reply_texts: OnceCell<Texts>,
}

/// The columns that need a decoding of the message.
#[derive(Debug, Default)]
pub(super) struct Texts {
    pub(super) termination_ids: String,
    pub(super) descriptors: String,
    pub(super) events: String,
    pub(super) signals: String,
    pub(super) content: String,
}

/// The approximate number of octets that a row takes besides its message.
pub(super) const ROW_BYTES: usize = 320;

impl CommandRow {
    pub(super) fn new(kind: RowKind, message: &Arc<Carried>) -> Self {
        Self {
            kind,
            message: Arc::clone(message),
            place: None,
            transaction_id: None,
            context_id: None,
            command: None,
            optional: false,
            wildcard_return: false,
            many: false,
            repetitions: 0,
            pendings: 0,
            segments: 0,
            answer: None,
            reply_context_id: None,
            replies: Vec::new(),
            error: None,
            stopped: None,
            texts: OnceCell::new(),
            reply_texts: OnceCell::new(),
        }
    }

    /// The command, when its request was seen.
    pub(super) fn asked(&self) -> Option<&'static str> {
        self.command.filter(|_| self.kind == RowKind::Request)
    }

    pub(super) fn texts(&self) -> Option<&Texts> {
        let place = self.place?;
        Some(self.texts.get_or_init(|| {
            let part = CommandPart {
                message: Arc::clone(&self.message),
                place,
            };
            texts(std::slice::from_ref(&part), false)
        }))
    }

    pub(super) fn reply_texts(&self) -> Option<&Texts> {
        if self.replies.is_empty() {
            return None;
        }
        Some(self.reply_texts.get_or_init(|| texts(&self.replies, true)))
    }

    pub(super) fn set_error(&mut self, error: &ErrorDescriptor<'_>) {
        let text = error
            .text
            .map(|text| String::from_utf8_lossy(text).into_owned());
        self.error.get_or_insert((error.code, text));
    }
}

/// Returns the rows of a request: one for each command, or one for an action without commands.
pub(super) fn rows_of_action(
    carried: &Arc<Carried>,
    transaction: usize,
    transaction_id: u32,
    action_at: usize,
    action: &ActionRequest<'_>,
    rows: &mut Vec<CommandRow>,
) {
    let mut row_at = |command: Option<usize>| {
        let mut row = CommandRow::new(RowKind::Request, carried);
        row.place = Some(CommandPlace {
            transaction,
            action: action_at,
            command,
        });
        row.transaction_id = Some(transaction_id);
        row.context_id = Some(action.context_id);
        if let Some(request) = command.and_then(|at| action.commands.get(at)) {
            row.command = Some(command_name(&request.command));
            row.optional = request.optional;
            row.wildcard_return = request.wildcard_return;
            let ids = termination_ids(&request.command);
            row.many = ids.len() > 1 || ids.iter().any(stands_for_many);
        }
        rows.push(row);
    };
    (0..action.commands.len()).for_each(|at| row_at(Some(at)));
    if action.commands.is_empty() {
        row_at(None);
    }
}

/// Returns whether the identifier has the wildcard ALL; CHOOSE stands for one termination.
fn stands_for_many(id: &TerminationId<'_>) -> bool {
    match id {
        TerminationId::Root => false,
        TerminationId::Path(path) => path.contains(&b'*'),
        TerminationId::Binary(id) => id.wildcard.iter().any(|octet| octet & 0x80 != 0),
    }
}

fn command_name(command: &Command<'_>) -> &'static str {
    match command {
        Command::Add(_) => "Add",
        Command::Move(_) => "Move",
        Command::Modify(_) => "Modify",
        Command::Subtract(_) => "Subtract",
        Command::AuditCapability(_) => "AuditCapability",
        Command::AuditValue(_) => "AuditValue",
        Command::Notify(_) => "Notify",
        Command::ServiceChange(_) => "ServiceChange",
    }
}

/// The name of the command of a reply.
pub(super) fn reply_name(reply: &CommandReply<'_>) -> &'static str {
    match reply {
        CommandReply::Add(_) => "Add",
        CommandReply::Move(_) => "Move",
        CommandReply::Modify(_) => "Modify",
        CommandReply::Subtract(_) => "Subtract",
        CommandReply::AuditCapability(_) => "AuditCapability",
        CommandReply::AuditValue(_) => "AuditValue",
        CommandReply::Notify(_) => "Notify",
        CommandReply::ServiceChange(_) => "ServiceChange",
    }
}

/// The error of a command.
pub(super) fn reply_error<'a>(reply: &CommandReply<'a>) -> Option<&'a ErrorDescriptor<'a>> {
    let of_audit = |audit: &[AuditReturnParameter<'a>]| {
        audit.iter().find_map(|parameter| match parameter {
            AuditReturnParameter::Error(error) => Some(*error),
            _ => None,
        })
    };
    match reply {
        CommandReply::Add(amms)
        | CommandReply::Move(amms)
        | CommandReply::Modify(amms)
        | CommandReply::Subtract(amms) => of_audit(amms.audit?),
        CommandReply::AuditCapability(audit) | CommandReply::AuditValue(audit) => match audit {
            AuditReply::Context(_) => None,
            AuditReply::Error(error) => Some(error),
            AuditReply::Result(result) => of_audit(result.audit),
            AuditReply::List(result) => of_audit(result.audit),
        },
        CommandReply::Notify(notify) => notify.error,
        CommandReply::ServiceChange(change) => match change.result {
            ServiceChangeResult::Error(error) => Some(error),
            ServiceChangeResult::Parms(_) => None,
        },
    }
}

fn termination_ids<'m>(command: &'m Command<'_>) -> &'m [TerminationId<'m>] {
    match command {
        Command::Add(amm) | Command::Move(amm) | Command::Modify(amm) => amm.termination_ids,
        Command::Subtract(subtract) => subtract.termination_ids,
        Command::AuditCapability(audit) | Command::AuditValue(audit) => audit
            .termination_ids
            .unwrap_or(std::slice::from_ref(&audit.termination_id)),
        Command::Notify(notify) => notify.termination_ids,
        Command::ServiceChange(change) => change.termination_ids,
    }
}

/// Decodes the messages again and returns the texts of the parts; several texts in a list.
fn texts(parts: &[CommandPart], list: bool) -> Texts {
    let mut names = Names::default();
    let mut json = JsonWriter::compact();
    if list {
        json.begin_list();
    }
    for part in parts {
        let arena = Arena::new();
        let carried = &part.message;
        let options = DecodeOptions::default();
        if let Ok(message) = decode_as(carried.encoding, &carried.octets, &arena, &options) {
            visit(&message, part.place, &mut names);
            visit(&message, part.place, &mut json);
        }
    }
    if list {
        json.end_list();
    }
    Texts {
        termination_ids: names.termination_ids,
        descriptors: names.descriptors,
        events: names.events,
        signals: names.signals,
        content: json.into_string(),
    }
}

fn visit(message: &Message<'_>, place: CommandPlace, visitor: &mut dyn Visitor) {
    let MessageBody::Transactions(transactions) = message.body else {
        return;
    };
    match transactions.get(place.transaction) {
        Some(Transaction::Request(request)) => {
            let action = request.actions.get(place.action);
            match (action, place.command) {
                (Some(ActionRequest { commands, .. }), Some(at)) => {
                    if let Some(command) = commands.get(at) {
                        command.visit(visitor);
                    }
                }
                (Some(action), None) => action.visit(visitor),
                (None, _) => {}
            }
        }
        Some(Transaction::Reply(reply)) => {
            let TransactionResult::Actions(actions) = reply.result else {
                return;
            };
            match (actions.get(place.action), place.command) {
                (Some(ActionReply { commands, .. }), Some(at)) => {
                    if let Some(reply) = commands.get(at) {
                        reply.visit(visitor);
                    }
                }
                (Some(action), None) => action.visit(visitor),
                (None, _) => {}
            }
        }
        _ => {}
    }
}

/// Collects the names in a command: terminations, descriptors, events, signals.
#[derive(Default)]
struct Names {
    termination_ids: String,
    descriptors: String,
    events: String,
    signals: String,
    /// Records that enclose the place.
    records: Vec<&'static str>,
    field: &'static str,
    /// The number of nested records around the identifiers of the command itself.
    ids_depth: Option<usize>,
    /// Whether the next value has been named by its alternative.
    is_named: bool,
}

impl Names {
    /// Adds a descriptor, which stands beside the identifiers.
    fn descriptor(&mut self, asn1: &str) {
        if self.ids_depth == Some(self.records.len())
            && let Some(descriptor) = descriptor_name(asn1)
        {
            append(&mut self.descriptors, descriptor);
        }
    }
}

impl Visitor for Names {
    fn begin_record(&mut self, name: &'static str) {
        if !std::mem::take(&mut self.is_named) {
            self.descriptor(name);
        }
        self.records.push(name);
        self.field = "";
    }
    fn field(&mut self, name: &'static str) {
        self.field = name;
        if matches!(name, "termination_ids" | "termination_id") && self.ids_depth.is_none() {
            self.ids_depth = Some(self.records.len());
        }
    }
    fn end_record(&mut self) {
        self.records.pop();
        self.field = "";
    }
    fn begin_list(&mut self) {
        self.is_named = false;
    }
    fn end_list(&mut self) {}
    fn alternative(&mut self, name: &'static str) {
        self.descriptor(name);
        self.is_named = true;
    }
    fn unsigned(&mut self, _: u32) {
        self.is_named = false;
    }
    fn boolean(&mut self, _: bool) {
        self.is_named = false;
    }
    fn word(&mut self, _: &'static str) {
        self.is_named = false;
    }
    fn text(&mut self, octets: &[u8]) {
        self.is_named = false;
        let text = String::from_utf8_lossy(octets);
        let own = self.ids_depth == Some(self.records.len());
        match (self.records.last().copied(), self.field) {
            (_, "termination_ids" | "termination_id") if own => {
                append_once(&mut self.termination_ids, &text);
            }
            (
                Some("RequestedEvent" | "SecondRequestedEvent" | "ObservedEvent" | "EventSpec"),
                "name",
            ) => append_once(&mut self.events, &text),
            (Some("Signal"), "name") => append_once(&mut self.signals, &text),
            _ => {}
        }
    }
}

/// The name of a descriptor as text has it, from the name of its alternative or of its record.
fn descriptor_name(asn1: &str) -> Option<&'static str> {
    Some(match asn1 {
        "mediaDescriptor" => "Media",
        "modemDescriptor" => "Modem",
        "muxDescriptor" => "Mux",
        "eventsDescriptor" => "Events",
        "eventBufferDescriptor" => "EventBuffer",
        "signalsDescriptor" => "Signals",
        "digitMapDescriptor" => "DigitMap",
        "auditDescriptor" | "AuditDescriptor" => "Audit",
        "statisticsDescriptor" => "Statistics",
        "observedEventsDescriptor" | "ObservedEventsDescriptor" => "ObservedEvents",
        "packagesDescriptor" => "Packages",
        "errorDescriptor" | "ErrorDescriptor" => "Error",
        "serviceChangeResParms" | "ServiceChangeParm" => "Services",
        _ => return None,
    })
}

fn append(list: &mut String, item: &str) {
    if !list.is_empty() {
        list.push_str(", ");
    }
    list.push_str(item);
}

fn append_once(list: &mut String, item: &str) {
    if !list.split(", ").any(|known| known == item) {
        append(list, item);
    }
}
