//! Message, transactions, contexts, commands.

use std::net::Ipv6Addr;

use crate::{
    Error, ErrorKind, Extension, Message, TextStyle,
    message::{
        ALL_REQUESTS, ActionReply, ActionRequest, AuthenticationHeader, ContextAttrAuditRequest,
        ContextRequest, ErrorDescriptor, MId, MessageBody, SelectLogic, TopologyDirection,
        TopologyDirectionExtension, TopologyRequest, Transaction, TransactionAck, TransactionReply,
        TransactionResult,
        command::{
            AmmRequest, AmmsReply, AuditReply, AuditRequest, Command, CommandReply, CommandRequest,
            ServiceChangeResult,
        },
        context,
        descriptor::AuditReturnParameter,
    },
    name::{Name, TerminationId, Value},
    text::{
        lexer::is_word,
        token::{Token, token as token_of},
    },
};

/// Appends pretty text: long words, a line an element, indented by tabs.
///
/// # Errors
/// [`ErrorKind::NotEncodable`] when something cannot be written as text; nothing is appended then.
pub fn encode_pretty(
    message: &Message<'_>,
    style: TextStyle,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    Writer::<true>::new(out, style, message.extensions).message(message)
}

/// Appends compact text: short words and no white space that is not needed.
///
/// # Errors
/// As [`encode_pretty`].
pub fn encode_compact(
    message: &Message<'_>,
    style: TextStyle,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    Writer::<false>::new(out, style, message.extensions).message(message)
}

impl MId<'_> {
    /// The name or address as text writes it: `[1.2.3.4]:2944`, `<mgc.example.com>`.
    #[must_use]
    pub fn to_text(&self, style: TextStyle) -> String {
        let mut out = Vec::new();
        Writer::<false>::new(&mut out, style, &[]).mid(self);
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// Appends text.
pub(super) struct Writer<'o, const PRETTY: bool> {
    pub(super) out: &'o mut Vec<u8>,
    pub(super) style: TextStyle,
    /// Of the message: Erlang's three versions of its encoder indent differently in places.
    pub(super) version: u8,
    pub(super) indent: usize,
    pub(super) error: Option<&'static str>,
    pub(super) extensions: &'o [Extension<'o>],
    pub(super) service_changes: u32,
}

const TABS: &[u8; 32] = &[b'\t'; 32];

impl<'o, const PRETTY: bool> Writer<'o, PRETTY> {
    fn new(out: &'o mut Vec<u8>, style: TextStyle, extensions: &'o [Extension<'o>]) -> Self {
        Self {
            out,
            style,
            version: 0,
            indent: 0,
            error: None,
            extensions,
            service_changes: 0,
        }
    }

    pub(super) fn fail(&mut self, what: &'static str) {
        self.error.get_or_insert(what);
    }

    #[inline]
    pub(super) fn raw(&mut self, octets: &[u8]) {
        self.out.extend_from_slice(octets);
    }

    #[inline]
    pub(super) fn token(&mut self, token: Token) {
        self.raw(if PRETTY { token.long() } else { token.short() }.as_bytes());
    }

    /// A new line, indented.
    #[inline]
    fn line(&mut self) {
        self.out.push(b'\n');
        let mut left = self.indent;
        while left > 0 {
            let some = TABS.get(..left.min(TABS.len())).unwrap_or_default();
            self.out.extend_from_slice(some);
            left = left.saturating_sub(some.len());
        }
    }

    #[inline]
    pub(super) fn equals(&mut self) {
        if PRETTY {
            self.raw(b" = ");
        } else {
            self.out.push(b'=');
        }
    }

    /// An opening mark, then a line deeper.
    #[inline]
    pub(super) fn open_with(&mut self, mark: u8) {
        if PRETTY {
            self.raw(&[b' ', mark]);
            self.indent = self.indent.saturating_add(1);
            self.line();
        } else {
            self.out.push(mark);
        }
    }

    #[inline]
    pub(super) fn close_with(&mut self, mark: u8) {
        if PRETTY {
            self.indent = self.indent.saturating_sub(1);
            self.line();
        }
        self.out.push(mark);
    }

    #[inline]
    pub(super) fn open(&mut self) {
        self.open_with(b'{');
    }

    #[inline]
    pub(super) fn close(&mut self) {
        self.close_with(b'}');
    }

    #[inline]
    pub(super) fn comma(&mut self) {
        self.out.push(b',');
        if PRETTY {
            self.line();
        }
    }

    /// A comma before every element but the first.
    #[inline]
    pub(super) fn next(&mut self, first: &mut bool) {
        if *first {
            *first = false;
        } else {
            self.comma();
        }
    }

    /// Elements in braces.
    #[inline]
    pub(super) fn braces<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.open();
        self.commas(items, &mut write);
        self.close();
    }

    #[inline]
    pub(super) fn commas<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.comma();
            }
            write(self, item);
        }
    }

    #[inline]
    pub(super) fn number(&mut self, mut value: u32) {
        if value < 10 {
            self.out.push(b'0' | value as u8);
            return;
        }
        let mut digits = [0_u8; 10];
        let mut used = 0_usize;
        for place in digits.iter_mut().rev() {
            *place = b'0' | (value % 10) as u8;
            value /= 10;
            used = used.saturating_add(1);
            if value == 0 {
                break;
            }
        }
        self.raw(
            digits
                .get(digits.len().saturating_sub(used)..)
                .unwrap_or_default(),
        );
    }

    /// A word: in Erlang's style in lower case.
    #[inline]
    pub(super) fn word(&mut self, word: &[u8]) {
        if self.style.erlang {
            self.out.extend(word.iter().map(u8::to_ascii_lowercase));
        } else {
            self.raw(word);
        }
    }

    #[inline]
    pub(super) fn name(&mut self, name: &Name<'_>) {
        match name {
            Name::Text(text) => self.word(text),
            Name::Id(_) => {
                let spelled = name.to_string();
                self.raw(spelled.as_bytes());
            }
        }
    }

    /// A name in a package; a bare package number becomes one in package 0.
    #[inline]
    pub(super) fn package_name(&mut self, name: &Name<'_>) {
        if let Name::Id(id @ 0..=0xffff) = name {
            let spelled = format!("id_0000/id_{id:04x}");
            self.raw(spelled.as_bytes());
        } else {
            self.name(name);
        }
    }

    pub(super) fn quoted(&mut self, octets: &[u8]) {
        if octets.contains(&b'"') {
            self.fail("a quote in a text");
        }
        self.out.push(b'"');
        self.raw(octets);
        self.out.push(b'"');
    }

    /// A value: in quotes when it was, or must be.
    #[inline]
    pub(super) fn value(&mut self, value: &Value<'_>) {
        let quotes = if self.style.erlang {
            false
        } else {
            value.quoted
        };
        if quotes || !is_word(value.octets) {
            self.quoted(value.octets);
        } else if value.quoted {
            // It came in quotes, where Erlang leaves case alone.
            self.raw(value.octets);
        } else {
            self.word(value.octets);
        }
    }

    /// Octets with closing braces escaped.
    pub(super) fn octets(&mut self, octets: &[u8]) {
        if octets.contains(&b'}') {
            for octet in octets {
                if *octet == b'}' {
                    self.out.push(b'\\');
                }
                self.out.push(*octet);
            }
        } else {
            self.raw(octets);
        }
        if octets.last() == Some(&b'\\') {
            // It would escape the brace that ends them.
            self.fail("octets that end with a backslash");
        }
    }

    fn message(&mut self, message: &Message<'_>) -> Result<(), Error> {
        let start = self.out.len();
        self.version = message.version;
        if let Some(header) = message.auth_header {
            self.auth_header(header);
        }
        self.raw(if PRETTY { b"MEGACO/" } else { b"!/" });
        self.number(u32::from(message.version));
        self.out.push(b' ');
        self.mid(&message.mid);
        self.out.push(b'\n');
        match message.body {
            MessageBody::Error(error) => self.error_descriptor(error),
            MessageBody::Transactions(transactions) => {
                if transactions.is_empty() {
                    self.fail("a message without transactions");
                }
                let mut after_word = false;
                for (at, transaction) in transactions.iter().enumerate() {
                    // A segment ends in a word, and a word would follow: Erlang does not keep them
                    // apart, but then cannot read them either.
                    if after_word || at > 0 && PRETTY && !self.style.erlang {
                        self.out.push(b'\n');
                    }
                    after_word = matches!(transaction, Transaction::SegmentReply(_));
                    self.transaction(transaction);
                }
            }
        }
        match self.error {
            None => Ok(()),
            Some(what) => {
                self.out.truncate(start);
                Err(Error::new(ErrorKind::NotEncodable, what))
            }
        }
    }

    fn auth_header(&mut self, header: &AuthenticationHeader<'_>) {
        self.token(Token::Auth);
        self.equals();
        self.hex(&header.spi);
        self.out.push(b':');
        self.hex(&header.seq);
        self.out.push(b':');
        self.hex(header.data);
        self.out.push(if PRETTY { b'\n' } else { b' ' });
    }

    fn hex(&mut self, octets: &[u8]) {
        self.raw(b"0x");
        for octet in octets {
            for digit in [octet >> 4, octet & 15] {
                self.out.push(if digit < 10 {
                    b'0' + digit
                } else {
                    b'A' - 10 + digit
                });
            }
        }
    }

    pub(super) fn mid(&mut self, mid: &MId<'_>) {
        match mid {
            MId::Ip4(ip4) => {
                self.out.push(b'[');
                for (at, octet) in ip4.address.octets().into_iter().enumerate() {
                    if at > 0 {
                        self.out.push(b'.');
                    }
                    self.number(u32::from(octet));
                }
                self.out.push(b']');
                self.port(ip4.port);
            }
            MId::Ip6(ip6) => {
                self.out.push(b'[');
                self.ip6(ip6.address);
                self.out.push(b']');
                self.port(ip6.port);
            }
            MId::Domain(domain) => {
                self.out.push(b'<');
                self.word(domain.name);
                self.out.push(b'>');
                self.port(domain.port);
            }
            MId::Device(name) => self.word(name),
            MId::Mtp(octets) => {
                let spaced = PRETTY && self.style.erlang;
                self.raw(if spaced { b"MTP { " } else { b"MTP{" });
                self.octets(octets);
                self.raw(if spaced { b" } " } else { b"}" });
            }
        }
    }

    fn ip6(&mut self, address: Ipv6Addr) {
        // The dotted end that the standard library writes for mapped addresses is legal, too.
        let text = address.to_string();
        if self.style.erlang {
            self.raw(text.to_ascii_uppercase().as_bytes());
        } else {
            self.raw(text.as_bytes());
        }
    }

    fn port(&mut self, port: Option<u16>) {
        if let Some(port) = port {
            self.out.push(b':');
            self.number(u32::from(port));
        }
    }

    fn transaction(&mut self, transaction: &Transaction<'_>) {
        match transaction {
            Transaction::Request(request) => {
                self.token(Token::Transaction);
                self.equals();
                self.number(request.id);
                self.braces(request.actions, Self::action_request);
            }
            Transaction::Pending(pending) => {
                self.token(Token::Pending);
                self.equals();
                self.number(pending.id);
                self.open();
                if PRETTY {
                    self.indent = self.indent.saturating_sub(1);
                    self.line();
                    self.out.push(b'}');
                } else {
                    self.out.push(b'}');
                }
            }
            Transaction::Reply(reply) => self.reply(reply),
            Transaction::ResponseAck(acks) => self.acks(acks),
            Transaction::SegmentReply(segment) => {
                self.token(Token::MessageSegment);
                self.equals();
                self.number(segment.id);
                self.segment(Some(segment.segment_number), segment.segmentation_complete);
            }
        }
    }

    fn acks(&mut self, acks: &[TransactionAck]) {
        self.token(Token::ResponseAck);
        self.open();
        self.commas(acks, |w, ack| {
            w.number(ack.first);
            if let Some(last) = ack.last {
                w.out.push(b'-');
                w.number(last);
            }
        });
        self.close();
    }

    fn segment(&mut self, number: Option<u16>, complete: bool) {
        if let Some(number) = number {
            self.out.push(b'/');
            self.number(u32::from(number));
            if complete {
                self.out.push(b'/');
                self.token(Token::SegmentationComplete);
            }
        } else if complete {
            self.fail("the end of segments without a number");
        }
    }

    fn reply(&mut self, reply: &TransactionReply<'_>) {
        self.token(Token::Reply);
        self.equals();
        self.number(reply.id);
        self.segment(reply.segment_number, reply.segmentation_complete);
        self.open();
        if reply.imm_ack_required {
            self.token(Token::ImmAckRequired);
            self.comma();
        }
        match reply.result {
            TransactionResult::Error(error) => self.error_descriptor(error),
            TransactionResult::Actions(actions) => self.commas(actions, Self::action_reply),
        }
        self.close();
    }

    pub(super) fn error_descriptor(&mut self, error: &ErrorDescriptor<'_>) {
        self.token(Token::Error);
        self.equals();
        self.number(u32::from(error.code));
        self.raw(if PRETTY { b" { " } else { b"{" });
        if let Some(text) = error.text {
            self.quoted(text);
        }
        self.raw(if PRETTY { b" } " } else { b"}" });
    }

    fn context_id(&mut self, id: u32) {
        match id {
            context::NULL => self.out.push(b'-'),
            context::CHOOSE => self.out.push(b'$'),
            context::ALL => self.out.push(b'*'),
            id => self.number(id),
        }
    }

    fn action_request(&mut self, action: &ActionRequest<'_>) {
        self.token(Token::Context);
        self.equals();
        self.context_id(action.context_id);
        self.open();
        let mut first = true;
        if let Some(request) = action.context_request {
            self.context_request(request, &mut first);
        }
        if let Some(audit) = action.context_audit {
            self.next(&mut first);
            self.context_audit(audit);
        }
        for command in action.commands {
            self.next(&mut first);
            self.command_request(command);
        }
        if first {
            self.fail("an action without anything to do");
        }
        self.close();
    }

    fn action_reply(&mut self, action: &ActionReply<'_>) {
        self.token(Token::Context);
        self.equals();
        self.context_id(action.context_id);
        if action.error.is_none() && action.context_reply.is_none() && action.commands.is_empty() {
            return;
        }
        self.open();
        let mut first = true;
        if let Some(request) = action.context_reply {
            self.context_request(request, &mut first);
        }
        for command in action.commands {
            self.next(&mut first);
            self.command_reply(command);
        }
        if let Some(error) = action.error {
            self.next(&mut first);
            self.error_descriptor(error);
        }
        self.close();
    }

    fn context_request(&mut self, request: &ContextRequest<'_>, first: &mut bool) {
        if let Some(priority) = request.priority {
            self.next(first);
            self.token(Token::Priority);
            self.equals();
            self.number(u32::from(priority));
        }
        if let Some(emergency) = request.emergency {
            self.next(first);
            if PRETTY && self.style.erlang && self.version < 3 && !emergency {
                self.raw(b"EmergencyOffToken");
            } else {
                self.token(if emergency {
                    Token::Emergency
                } else {
                    Token::EmergencyOff
                });
            }
        }
        if let Some(triples) = request.topology.filter(|triples| !triples.is_empty()) {
            self.next(first);
            self.token(Token::Topology);
            self.braces(triples, Self::topology);
        }
        if let Some(ieps) = request.ieps {
            self.next(first);
            self.on_off(Token::Ieps, ieps);
        }
        if let Some(properties) = request
            .properties
            .filter(|properties| !properties.is_empty())
        {
            self.next(first);
            self.token(Token::ContextAttr);
            self.open();
            let deeper = self.indent;
            if self.style.erlang {
                self.indent = deeper.saturating_sub(1);
            }
            self.commas(properties, Self::property);
            self.indent = deeper;
            self.close();
        }
        if let Some(ids) = request.contexts.filter(|ids| !ids.is_empty()) {
            self.next(first);
            self.token(Token::ContextAttr);
            self.open();
            self.token(Token::ContextList);
            self.equals();
            self.braces(ids, |w, id| w.context_id(*id));
            self.close();
        }
    }

    pub(super) fn on_off(&mut self, token: Token, on: bool) {
        self.token(token);
        self.equals();
        self.token(if on { Token::On } else { Token::Off });
    }

    fn topology(&mut self, triple: &TopologyRequest<'_>) {
        self.termination_id(&triple.from);
        self.comma();
        self.termination_id(&triple.to);
        self.comma();
        self.token(match triple.direction {
            TopologyDirection::Bothway => Token::Bothway,
            TopologyDirection::Isolate => Token::Isolate,
            TopologyDirection::Oneway => Token::Oneway,
        });
        if let Some(id) = triple.stream_id {
            self.comma();
            self.token(Token::Stream);
            self.equals();
            self.number(u32::from(id));
        }
        if let Some(extension) = triple.direction_extension {
            self.comma();
            self.token(match extension {
                TopologyDirectionExtension::OnewayExternal => Token::OnewayExternal,
                TopologyDirectionExtension::OnewayBoth => Token::OnewayBoth,
            });
        }
    }

    fn context_audit(&mut self, audit: &ContextAttrAuditRequest<'_>) {
        self.token(Token::ContextAudit);
        self.open();
        let first = &mut true;
        for (wanted, token) in [
            (audit.topology, Token::Topology),
            (audit.emergency, Token::Emergency),
            (audit.priority, Token::Priority),
            (audit.ieps, Token::Ieps),
        ] {
            if wanted {
                self.next(first);
                self.token(token);
            }
        }
        for property in audit.properties.unwrap_or_default() {
            self.next(first);
            match property.property {
                Some(property) => self.property(property),
                None => self.package_name(&property.name),
            }
        }
        if let Some(priority) = audit.select_priority {
            self.next(first);
            self.token(Token::Priority);
            self.equals();
            self.number(u32::from(priority));
        }
        if let Some(emergency) = audit.select_emergency {
            self.next(first);
            self.token(Token::EmergencyValue);
            self.equals();
            self.token(if emergency {
                Token::Emergency
            } else {
                Token::EmergencyOff
            });
        }
        if let Some(ieps) = audit.select_ieps {
            self.next(first);
            self.on_off(Token::Ieps, ieps);
        }
        match audit.select_logic {
            Some(SelectLogic::Or(())) => {
                self.next(first);
                self.token(Token::OrAuditSelect);
            }
            // The default: Erlang leaves it out.
            Some(SelectLogic::And(())) if !self.style.erlang => {
                self.next(first);
                self.token(Token::AndAuditSelect);
            }
            _ => {}
        }
        self.close();
    }

    #[inline]
    pub(super) fn termination_id(&mut self, id: &TerminationId<'_>) {
        match id {
            TerminationId::Root => self.word(b"ROOT"),
            TerminationId::Path(path) => self.word(path),
            TerminationId::Binary(_) => {
                self.fail("a termination identifier in binary, which was not mapped to a path");
            }
        }
    }

    /// `=` and one identifier, or several in square brackets.
    #[inline]
    fn equals_termination_ids(&mut self, ids: &[TerminationId<'_>]) {
        self.equals();
        match ids {
            [] => self.fail("a command without a termination"),
            [id] => self.termination_id(id),
            ids => {
                self.open_with(b'[');
                self.commas(ids, Self::termination_id);
                self.close_with(b']');
            }
        }
    }

    /// Identifiers in braces.
    pub(super) fn braced_termination_ids(&mut self, ids: &[TerminationId<'_>]) {
        self.open();
        let deeper = self.indent;
        for (at, id) in ids.iter().enumerate() {
            if at > 0 {
                if self.style.erlang {
                    self.indent = deeper.saturating_sub(1);
                }
                self.comma();
            }
            self.termination_id(id);
        }
        self.indent = deeper;
        self.close();
    }

    fn command_request(&mut self, request: &CommandRequest<'_>) {
        if request.optional {
            self.raw(b"O-");
        }
        if request.wildcard_return {
            self.raw(b"W-");
        }
        match &request.command {
            Command::Add(amm) => self.amm_request(Token::Add, amm),
            Command::Move(amm) => self.amm_request(Token::Move, amm),
            Command::Modify(amm) => self.amm_request(Token::Modify, amm),
            Command::Subtract(subtract) => {
                self.token(Token::Subtract);
                self.equals_termination_ids(subtract.termination_ids);
                if let Some(audit) = subtract.audit {
                    self.open();
                    self.audit(audit);
                    self.close();
                }
            }
            Command::AuditCapability(audit) => self.audit_request(Token::AuditCap, audit),
            Command::AuditValue(audit) => self.audit_request(Token::AuditValue, audit),
            Command::Notify(notify) => {
                self.token(Token::Notify);
                self.equals_termination_ids(notify.termination_ids);
                self.open();
                self.observed_events(&notify.observed_events);
                if let Some(error) = notify.error {
                    self.raw(if PRETTY { b", " } else { b"," });
                    self.error_descriptor(error);
                }
                self.close();
            }
            Command::ServiceChange(change) => {
                self.token(Token::ServiceChange);
                self.equals_termination_ids(change.termination_ids);
                self.open();
                self.service_change_parm(change.parms);
                self.close();
            }
        }
    }

    fn amm_request(&mut self, token: Token, request: &AmmRequest<'_>) {
        self.token(token);
        self.equals_termination_ids(request.termination_ids);
        if !request.descriptors.is_empty() {
            self.braces(request.descriptors, Self::amm_descriptor);
        }
    }

    fn audit_request(&mut self, token: Token, request: &AuditRequest<'_>) {
        self.token(token);
        match request.termination_ids {
            Some(ids) => self.equals_termination_ids(ids),
            None => self.equals_termination_ids(&[request.termination_id]),
        }
        if let Some(audit) = request.audit {
            self.open();
            self.audit(audit);
            self.close();
        }
    }

    fn command_reply(&mut self, reply: &CommandReply<'_>) {
        match reply {
            CommandReply::Add(amms) => self.amms_reply(Token::Add, amms),
            CommandReply::Move(amms) => self.amms_reply(Token::Move, amms),
            CommandReply::Modify(amms) => self.amms_reply(Token::Modify, amms),
            CommandReply::Subtract(amms) => self.amms_reply(Token::Subtract, amms),
            CommandReply::AuditCapability(audit) => self.audit_reply(Token::AuditCap, audit),
            CommandReply::AuditValue(audit) => self.audit_reply(Token::AuditValue, audit),
            CommandReply::Notify(notify) => {
                self.token(Token::Notify);
                self.equals_termination_ids(notify.termination_ids);
                if let Some(error) = notify.error {
                    self.open();
                    self.error_descriptor(error);
                    self.close();
                }
            }
            CommandReply::ServiceChange(change) => {
                self.token(Token::ServiceChange);
                self.equals_termination_ids(change.termination_ids);
                match change.result {
                    ServiceChangeResult::Error(error) => {
                        self.open();
                        self.error_descriptor(error);
                        self.close();
                    }
                    ServiceChangeResult::Parms(parms) => self.service_change_res_parm(parms),
                }
            }
        }
    }

    fn amms_reply(&mut self, token: Token, reply: &AmmsReply<'_>) {
        self.token(token);
        self.equals_termination_ids(reply.termination_ids);
        self.audit_return(reply.audit.unwrap_or_default());
    }

    fn audit_reply(&mut self, token: Token, reply: &AuditReply<'_>) {
        self.token(token);
        match reply {
            AuditReply::Context(ids) => {
                self.equals();
                self.token(Token::Context);
                self.braced_termination_ids(ids);
            }
            AuditReply::Error(error) => {
                self.equals();
                self.token(Token::Context);
                self.open();
                self.error_descriptor(error);
                self.close();
            }
            AuditReply::Result(result) => {
                // A termination of this name would be taken for the word in front of a list.
                let ambiguous = matches!(result.termination_id, TerminationId::Path(path)
                    if token_of(path) == Token::Context);
                if ambiguous {
                    self.equals();
                    self.open_with(b'[');
                    self.termination_id(&result.termination_id);
                    self.close_with(b']');
                } else {
                    self.equals_termination_ids(&[result.termination_id]);
                }
                self.audit_return(result.audit);
            }
            AuditReply::List(result) => {
                self.equals_termination_ids(result.termination_ids);
                self.audit_return(result.audit);
            }
        }
    }

    fn audit_return(&mut self, audit: &[AuditReturnParameter<'_>]) {
        let nothing = audit.iter().all(|parameter| match parameter {
            AuditReturnParameter::Empty(empty) => empty.tokens.is_none_or(|all| all.is_empty()),
            _ => false,
        });
        if !nothing {
            self.open();
            let mut first = true;
            for parameter in audit {
                if let AuditReturnParameter::Empty(empty) = parameter
                    && empty.tokens.is_none_or(|all| all.is_empty())
                {
                    continue;
                }
                self.next(&mut first);
                self.audit_return_parameter(parameter);
            }
            self.close();
        }
    }

    pub(super) fn request_id(&mut self, id: u32) {
        if id == ALL_REQUESTS {
            self.out.push(b'*');
        } else {
            self.number(id);
        }
    }
}
