//! Message, transactions, contexts, commands.

use std::{
    net::{Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use crate::{
    Arena, Error, TextOptions,
    error::{ErrorKind, Failure},
    message::{
        ActionReply, ActionRequest, AuthenticationHeader, ContextAttrAuditRequest, ContextRequest,
        DomainName, ErrorDescriptor, Ip4Address, Ip6Address, MId, Message, MessageBody,
        SegmentReply, SelectLogic, TopologyDirection, TopologyDirectionExtension, TopologyRequest,
        Transaction, TransactionAck, TransactionPending, TransactionReply, TransactionRequest,
        TransactionResult,
        audit::IndAudPropertyParm,
        command::{
            AmmRequest, AmmsReply, AuditReply, AuditRequest, AuditResult, Command, CommandReply,
            CommandRequest, NotifyReply, NotifyRequest, ServiceChangeReply, ServiceChangeRequest,
            ServiceChangeResult, SubtractRequest, TermListAuditResult,
        },
        context,
    },
    name::TerminationId,
    text::{
        lexer::{Parser, Res, once, once_flag, within},
        token::{Token, token},
    },
};

/// Decodes text, pretty or compact or mixed.
///
/// Costs no allocation but in the arena.
///
/// # Errors
/// Line, column and octet offset of the first place where the text is not a message, what was
/// expected there, and the elements that enclose it.
pub fn decode_text<'a>(
    input: &'a [u8],
    arena: &'a Arena,
    options: TextOptions,
) -> Result<Message<'a>, Error> {
    let mut parser = Parser::new(input, arena, options);
    parser.message().map_err(|_| {
        let failure = parser
            .failure
            .take()
            .unwrap_or_else(|| Failure::new(ErrorKind::Syntax, parser.at, "a message"));
        Error::from_failure(failure, input, true)
    })
}

impl<'a> Parser<'a> {
    fn message(&mut self) -> Res<Message<'a>> {
        self.skip();
        let auth_header = self.auth_header()?;
        let (version, mid) = self.header()?;
        let body = self.body()?;
        let rest = self.input.get(self.at..).unwrap_or_default();
        let padding = !self.strict && rest.iter().all(|octet| *octet == 0);
        if !rest.is_empty() && !padding {
            return self.fail("a transaction or the end of the message");
        }
        Ok(Message {
            auth_header,
            version,
            mid,
            body,
            extensions: std::mem::replace(&mut self.extensions, self.arena.growing(0))
                .into_bump_slice(),
        })
    }

    pub(super) fn auth_header(&mut self) -> Res<Option<&'a AuthenticationHeader<'a>>> {
        let start = self.at;
        if token(self.word()?) != Token::Auth {
            self.at = start;
            return Ok(None);
        }
        let header = within!(self, "Authentication", {
            (|| {
                self.equals()?;
                let spi = self.hex(4, 4)?;
                self.expect(b':', "`:`")?;
                let seq = self.hex(4, 4)?;
                self.expect(b':', "`:`")?;
                let data = self.hex(12, 32)?;
                let four = |octets: &[u8]| octets.first_chunk().copied().unwrap_or_default();
                Ok(AuthenticationHeader {
                    spi: four(spi),
                    seq: four(seq),
                    data,
                })
            })()
        })?;
        Ok(Some(self.arena.keep(header)))
    }

    /// `0x` and hexadecimal digits of `min` to `max` octets.
    fn hex(&mut self, min: usize, max: usize) -> Res<&'a [u8]> {
        const EXPECTED: &str = "0x and hexadecimal digits";
        let word = self.word()?;
        let digits = match word {
            [b'0', b'x' | b'X', digits @ ..] if digits.len() % 2 == 0 => digits,
            _ => return self.fail_word(ErrorKind::Syntax, EXPECTED),
        };
        if !(min..=max).contains(&(digits.len() / 2)) {
            return self.fail_word(ErrorKind::Range, EXPECTED);
        }
        let mut octets = self.arena.growing(digits.len() / 2);
        for pair in digits.chunks_exact(2) {
            let mut octet = 0;
            for digit in pair {
                match char::from(*digit).to_digit(16) {
                    Some(digit) => octet = octet << 4 | digit,
                    None => return self.fail_word(ErrorKind::Syntax, EXPECTED),
                }
            }
            octets.push(octet as u8);
        }
        Ok(octets.into_bump_slice())
    }

    /// `MEGACO/1` and the name of the sender.
    pub(super) fn header(&mut self) -> Res<(u8, MId<'a>)> {
        const EXPECTED: &str = "MEGACO/ or !/ and a version";
        let word = self.bare_word()?;
        let digits = match word {
            [b'!', b'/', digits @ ..] => digits,
            [name @ .., b'/', _] | [name @ .., b'/', _, _]
                if name.eq_ignore_ascii_case(b"MEGACO") =>
            {
                word.get(7..).unwrap_or_default()
            }
            _ => return self.fail_word(ErrorKind::Syntax, EXPECTED),
        };
        let version = self.number_of(digits, 99, "a version up to 99")? as u8;
        let before = self.at;
        self.skip();
        if self.strict && before == self.at {
            return self.fail("white space behind the version");
        }
        let mid = within!(self, "mId", self.mid())?;
        Ok((version, mid))
    }

    /// The name or address of a gateway or controller.
    pub(super) fn mid(&mut self) -> Res<MId<'a>> {
        match self.peek() {
            b'[' => self.bracketed(),
            b'<' => {
                self.at += 1;
                self.skip();
                let name = self.word()?;
                self.expect(b'>', "`>`")?;
                let port = self.port()?;
                Ok(MId::Domain(DomainName { name, port }))
            }
            _ => {
                let word = self.word()?;
                if word.eq_ignore_ascii_case(b"MTP") && self.peek() == b'{' {
                    self.at += 1;
                    let mut octets = self.octets()?;
                    if octets.len() > 4 {
                        octets = octets.trim_ascii();
                    }
                    if !(2..=4).contains(&octets.len()) {
                        return self.fail_word(ErrorKind::Range, "two to four octets");
                    }
                    return Ok(MId::Mtp(octets));
                }
                if word.len() > 64 {
                    return self.fail_word(ErrorKind::Range, "a path name of up to 64 characters");
                }
                Ok(MId::Device(word))
            }
        }
    }

    /// `[address]:port`.
    fn bracketed(&mut self) -> Res<MId<'a>> {
        self.word_at = self.at.saturating_add(1);
        let inside = self.input.get(self.word_at..).unwrap_or_default();
        let Some(len) = inside.iter().take(64).position(|octet| *octet == b']') else {
            return self.fail("`]` behind an address");
        };
        let address = inside.get(..len).unwrap_or_default().trim_ascii();
        let address = std::str::from_utf8(address).unwrap_or_default();
        let ip4 = ip4(address.as_bytes());
        let ip6 = if ip4.is_none() {
            Ipv6Addr::from_str(address).ok()
        } else {
            None
        };
        let address_at = self.word_at;
        self.at = self.word_at.saturating_add(len).saturating_add(1);
        self.skip();
        let port = self.port()?;
        match (ip4, ip6) {
            (Some(address), _) => Ok(MId::Ip4(Ip4Address { address, port })),
            (None, Some(address)) => Ok(MId::Ip6(Ip6Address { address, port })),
            (None, None) => {
                self.word_at = address_at;
                self.fail_word(ErrorKind::Syntax, "an IP address")
            }
        }
    }

    fn port(&mut self) -> Res<Option<u16>> {
        if self.take(b':') {
            self.uint16().map(Some)
        } else {
            Ok(None)
        }
    }

    fn body(&mut self) -> Res<MessageBody<'a>> {
        let mut transactions = self.arena.growing(1);
        loop {
            let (token, _) = self.token()?;
            if token == Token::Error && transactions.is_empty() {
                let error = within!(self, "Error", self.error_rest())?;
                return Ok(MessageBody::Error(self.arena.keep(error)));
            }
            transactions.push(self.transaction(token)?);
            if matches!(self.peek(), 0) {
                return Ok(MessageBody::Transactions(transactions.into_bump_slice()));
            }
        }
    }

    fn transaction(&mut self, token: Token) -> Res<Transaction<'a>> {
        match token {
            Token::Transaction => {
                within!(self, "Transaction", self.request()).map(Transaction::Request)
            }
            Token::Reply => within!(self, "Reply", self.reply()).map(Transaction::Reply),
            Token::Pending => within!(self, "Pending", {
                (|| {
                    self.equals()?;
                    let id = self.uint32()?;
                    self.open()?;
                    self.expect(b'}', "`}`")?;
                    Ok(Transaction::Pending(TransactionPending { id }))
                })()
            }),
            Token::ResponseAck => {
                within!(self, "TransactionResponseAck", self.acks()).map(Transaction::ResponseAck)
            }
            Token::MessageSegment => within!(self, "Segment", {
                (|| {
                    self.equals()?;
                    let (id, segment_number, segmentation_complete) = self.segment()?;
                    let Some(segment_number) = segment_number else {
                        return self.fail_word(ErrorKind::Syntax, "transaction/segment");
                    };
                    Ok(Transaction::SegmentReply(SegmentReply {
                        id,
                        segment_number,
                        segmentation_complete,
                    }))
                })()
            }),
            _ => self.fail_word(
                ErrorKind::Syntax,
                "Transaction, Reply, Pending, TransactionResponseAck, Segment or Error",
            ),
        }
    }

    fn acks(&mut self) -> Res<&'a [TransactionAck]> {
        const EXPECTED: &str = "transaction or first-last";
        self.open()?;
        let mut acks = self.arena.growing(4);
        loop {
            let word = self.word()?;
            let dash = word.iter().position(|octet| *octet == b'-');
            let (first, last) = word
                .split_at_checked(dash.unwrap_or(word.len()))
                .unwrap_or_default();
            let first = self.number_of(first, u32::MAX, EXPECTED)?;
            let last = match last.get(1..) {
                Some(last) if dash.is_some() => Some(self.number_of(last, u32::MAX, EXPECTED)?),
                _ => None,
            };
            acks.push(TransactionAck { first, last });
            if !self.more()? {
                return Ok(acks.into_bump_slice());
            }
        }
    }

    /// `id`, `id/segment` or `id/segment/END`.
    fn segment(&mut self) -> Res<(u32, Option<u16>, bool)> {
        const EXPECTED: &str = "transaction, or transaction/segment, or transaction/segment/END";
        let word = self.word()?;
        let mut parts = word.splitn(3, |octet| *octet == b'/');
        let id = self.number_of(parts.next().unwrap_or_default(), u32::MAX, EXPECTED)?;
        let Some(segment) = parts.next() else {
            return Ok((id, None, false));
        };
        let segment = self.number_of(segment, 0xffff, EXPECTED)? as u16;
        match parts.next() {
            None => Ok((id, Some(segment), false)),
            Some(end) if token(end) == Token::SegmentationComplete => Ok((id, Some(segment), true)),
            Some(_) => self.fail_word(ErrorKind::Syntax, EXPECTED),
        }
    }

    fn request(&mut self) -> Res<TransactionRequest<'a>> {
        self.equals()?;
        let id = self.uint32()?;
        self.open()?;
        let mut actions = self.arena.growing(1);
        loop {
            actions.push(within!(self, "Context", self.action_request())?);
            if !self.more()? {
                return Ok(TransactionRequest {
                    id,
                    actions: actions.into_bump_slice(),
                });
            }
        }
    }

    fn context_id(&mut self) -> Res<u32> {
        match self.word()? {
            b"-" => Ok(context::NULL),
            b"$" => Ok(context::CHOOSE),
            b"*" => Ok(context::ALL),
            digits => self.number_of(digits, u32::MAX, "a context: a number, -, $ or *"),
        }
    }

    fn action_request(&mut self) -> Res<ActionRequest<'a>> {
        self.keyword(Token::Context, "Context")?;
        self.equals()?;
        let context_id = self.context_id()?;
        self.open()?;
        let mut request = ContextRequest::default();
        let mut audit = None;
        let mut commands = self.arena.growing(1);
        loop {
            let word = self.word()?;
            let token = token(word);
            if token == Token::ContextAudit {
                let parsed = within!(self, "ContextAudit", self.context_audit())?;
                once!(self, audit, parsed);
            } else if !self.context_property(token, &mut request)? {
                commands.push(self.command_request(word, token)?);
            }
            if !self.more()? {
                break;
            }
        }
        Ok(ActionRequest {
            context_id,
            context_request: self.given(request),
            context_audit: audit
                .filter(|audit| *audit != ContextAttrAuditRequest::default())
                .map(|audit| self.arena.keep(audit)),
            commands: commands.into_bump_slice(),
        })
    }

    fn given(&self, request: ContextRequest<'a>) -> Option<&'a ContextRequest<'a>> {
        let given = request.priority.is_some()
            || request.emergency.is_some()
            || request.topology.is_some()
            || request.ieps.is_some()
            || request.properties.is_some()
            || request.contexts.is_some();
        given.then(|| self.arena.keep(request))
    }

    /// Reads a property of a context; false when the word is none.
    #[inline]
    fn context_property(&mut self, token: Token, request: &mut ContextRequest<'a>) -> Res<bool> {
        match token {
            Token::Topology => {
                let topology = within!(self, "Topology", self.topology())?;
                once!(self, request.topology, topology);
            }
            Token::Priority => {
                let priority = self.equals_priority()?;
                once!(self, request.priority, priority);
            }
            Token::Emergency => once!(self, request.emergency, true),
            Token::EmergencyOff => once!(self, request.emergency, false),
            Token::Ieps => {
                let ieps = self.equals_on_off()?;
                once!(self, request.ieps, ieps);
            }
            Token::ContextAttr => within!(self, "ContextAttr", self.context_attr(request))?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn equals_priority(&mut self) -> Res<u8> {
        self.equals()?;
        self.number(15, "a priority up to 15")
            .map(|priority| priority as u8)
    }

    pub(super) fn equals_on_off(&mut self) -> Res<bool> {
        self.equals()?;
        match self.token()?.0 {
            Token::On => Ok(true),
            Token::Off => Ok(false),
            _ => self.fail_word(ErrorKind::Syntax, "ON or OFF"),
        }
    }

    fn context_attr(&mut self, request: &mut ContextRequest<'a>) -> Res<()> {
        self.open()?;
        let (first, word) = self.token()?;
        if first == Token::ContextList {
            self.equals()?;
            self.open()?;
            let mut ids = self.arena.growing(2);
            loop {
                ids.push(self.context_id()?);
                if !self.more()? {
                    break;
                }
            }
            self.expect(b'}', "`}`")?;
            once!(self, request.contexts, ids.into_bump_slice());
            return Ok(());
        }
        let mut properties = self.arena.growing(1);
        let mut word = word;
        loop {
            properties.push(self.property_of(word)?);
            if !self.more()? {
                break;
            }
            word = self.word()?;
        }
        once!(self, request.properties, properties.into_bump_slice());
        Ok(())
    }

    fn topology(&mut self) -> Res<&'a [TopologyRequest<'a>]> {
        self.open()?;
        let mut triples = self.arena.growing(1);
        loop {
            let from = self.termination_id()?;
            self.expect(b',', "`,`")?;
            let to = self.termination_id()?;
            self.expect(b',', "`,`")?;
            let mut direction = None;
            let mut direction_extension = None;
            let mut stream_id = None;
            let mut ended = false;
            loop {
                let before = self.at;
                match self.token()?.0 {
                    Token::Bothway => once!(self, direction, TopologyDirection::Bothway),
                    Token::Isolate => once!(self, direction, TopologyDirection::Isolate),
                    Token::Oneway => once!(self, direction, TopologyDirection::Oneway),
                    Token::OnewayExternal => {
                        once!(
                            self,
                            direction_extension,
                            TopologyDirectionExtension::OnewayExternal
                        );
                    }
                    Token::OnewayBoth => {
                        once!(
                            self,
                            direction_extension,
                            TopologyDirectionExtension::OnewayBoth
                        );
                    }
                    Token::Stream if self.peek() == b'=' => {
                        let id = self.equals_uint16()?;
                        once!(self, stream_id, id);
                    }
                    _ if direction.is_none() && direction_extension.is_none() => {
                        return self.fail_word(
                            ErrorKind::Syntax,
                            "Bothway, Isolate, Oneway, OnewayExternal or OnewayBoth",
                        );
                    }
                    _ => {
                        // The next triple.
                        self.at = before;
                        break;
                    }
                }
                if !self.more()? {
                    ended = true;
                    break;
                }
            }
            let direction = direction.unwrap_or(TopologyDirection::Oneway);
            triples.push(TopologyRequest {
                from,
                to,
                direction,
                stream_id,
                direction_extension,
            });
            if ended {
                return Ok(triples.into_bump_slice());
            }
        }
    }

    fn context_audit(&mut self) -> Res<ContextAttrAuditRequest<'a>> {
        let mut audit = ContextAttrAuditRequest::default();
        let mut properties = self.arena.growing(0);
        self.open()?;
        let mut nested = false;
        if self.take(b'}') {
            return Ok(audit);
        }
        loop {
            let (token, word) = self.token()?;
            match token {
                Token::Topology => once_flag!(self, audit.topology),
                Token::Emergency => once_flag!(self, audit.emergency),
                Token::Priority if self.peek() == b'=' => {
                    let priority = self.equals_priority()?;
                    once!(self, audit.select_priority, priority);
                }
                Token::Priority => once_flag!(self, audit.priority),
                Token::Ieps if self.peek() == b'=' => {
                    let ieps = self.equals_on_off()?;
                    once!(self, audit.select_ieps, ieps);
                }
                Token::Ieps => once_flag!(self, audit.ieps),
                Token::EmergencyValue => {
                    self.equals()?;
                    let emergency = match self.token()?.0 {
                        Token::Emergency => true,
                        Token::EmergencyOff => false,
                        _ => return self.fail_word(ErrorKind::Syntax, "Emergency or EmergencyOff"),
                    };
                    once!(self, audit.select_emergency, emergency);
                }
                Token::AndAuditSelect => once!(self, audit.select_logic, SelectLogic::And(())),
                Token::OrAuditSelect => once!(self, audit.select_logic, SelectLogic::Or(())),
                Token::ContextAttr if !nested => {
                    self.open()?;
                    nested = true;
                    continue;
                }
                _ => {
                    let name = self.package_name_of(word)?;
                    let property = if matches!(self.peek(), b'=' | b'#' | b'<' | b'>') {
                        let (value, extra) = self.parm_value()?;
                        Some(self.arena.keep(crate::message::media::PropertyParm {
                            name,
                            value,
                            extra,
                        }))
                    } else {
                        None
                    };
                    properties.push(IndAudPropertyParm { name, property });
                }
            }
            if self.more()? {
                continue;
            }
            if nested {
                nested = false;
                if self.more()? {
                    continue;
                }
            }
            break;
        }
        if !properties.is_empty() {
            audit.properties = Some(properties.into_bump_slice());
        }
        Ok(audit)
    }

    /// `ROOT`, a path, or wildcards.
    #[inline]
    pub(super) fn termination_id(&mut self) -> Res<TerminationId<'a>> {
        let word = self.word()?;
        if word.len() == 4 && word.eq_ignore_ascii_case(b"root") {
            return Ok(TerminationId::Root);
        }
        if word.len() > 64 {
            return self.fail_word(ErrorKind::Range, "an identifier of up to 64 characters");
        }
        Ok(TerminationId::Path(word))
    }

    /// `=` and one identifier, or several in square brackets.
    #[inline]
    fn equals_termination_ids(&mut self) -> Res<&'a [TerminationId<'a>]> {
        self.equals()?;
        self.termination_ids()
    }

    #[inline]
    fn termination_ids(&mut self) -> Res<&'a [TerminationId<'a>]> {
        if !self.take(b'[') {
            let id = self.termination_id()?;
            return Ok(std::slice::from_ref(self.arena.keep(id)));
        }
        let mut ids = self.arena.growing(2);
        loop {
            ids.push(self.termination_id()?);
            if !self.take(b',') {
                self.expect(b']', "`,` or `]`")?;
                return Ok(ids.into_bump_slice());
            }
        }
    }

    /// Identifiers in braces.
    pub(super) fn braced_termination_ids(&mut self) -> Res<&'a [TerminationId<'a>]> {
        self.open()?;
        let mut ids = self.arena.growing(2);
        loop {
            ids.push(self.termination_id()?);
            if !self.more()? {
                return Ok(ids.into_bump_slice());
            }
        }
    }

    fn command_request(&mut self, word: &'a [u8], whole: Token) -> Res<CommandRequest<'a>> {
        let mut rest = word;
        let mut optional = false;
        let mut wildcard_return = false;
        if let [b'O' | b'o', b'-', after @ ..] = rest {
            (optional, rest) = (true, after);
        }
        if let [b'W' | b'w', b'-', after @ ..] = rest {
            (wildcard_return, rest) = (true, after);
        }
        let kind = if rest.len() == word.len() {
            whole
        } else {
            token(rest)
        };
        let command = match kind {
            Token::Add => Command::Add(within!(self, "Add", self.amm_request())?),
            Token::Move => Command::Move(within!(self, "Move", self.amm_request())?),
            Token::Modify => Command::Modify(within!(self, "Modify", self.amm_request())?),
            Token::Subtract => Command::Subtract(within!(self, "Subtract", {
                (|| {
                    let termination_ids = self.equals_termination_ids()?;
                    let audit = self.audit_in_braces()?;
                    Ok(SubtractRequest {
                        termination_ids,
                        audit,
                    })
                })()
            })?),
            Token::AuditValue => {
                Command::AuditValue(within!(self, "AuditValue", self.audit_request())?)
            }
            Token::AuditCap => {
                Command::AuditCapability(within!(self, "AuditCapability", self.audit_request())?)
            }
            Token::Notify => Command::Notify(within!(self, "Notify", self.notify_request())?),
            Token::ServiceChange => Command::ServiceChange(within!(self, "ServiceChange", {
                (|| {
                    let termination_ids = self.equals_termination_ids()?;
                    self.open()?;
                    self.keyword(Token::Services, "Services")?;
                    let parms = within!(self, "Services", self.service_change_parm())?;
                    self.expect(b'}', "`}`")?;
                    let parms = self.arena.keep(parms);
                    Ok(ServiceChangeRequest {
                        termination_ids,
                        parms,
                    })
                })()
            })?),
            _ => {
                return self.fail_word(
                    ErrorKind::Syntax,
                    "Add, Move, Modify, Subtract, AuditValue, AuditCapability, Notify, \
                     ServiceChange, or a property of the context",
                );
            }
        };
        Ok(CommandRequest {
            command,
            optional,
            wildcard_return,
        })
    }

    fn amm_request(&mut self) -> Res<AmmRequest<'a>> {
        let termination_ids = self.equals_termination_ids()?;
        let mut descriptors = self.arena.growing(0);
        if self.take(b'{') {
            loop {
                descriptors.push(self.amm_descriptor()?);
                if !self.more()? {
                    break;
                }
            }
        }
        Ok(AmmRequest {
            termination_ids,
            descriptors: descriptors.into_bump_slice(),
        })
    }

    fn audit_request(&mut self) -> Res<AuditRequest<'a>> {
        let ids = self.equals_termination_ids()?;
        let audit = self.audit_in_braces()?;
        let termination_id = ids.first().copied().unwrap_or(TerminationId::Root);
        let termination_ids = (ids.len() > 1).then_some(ids);
        Ok(AuditRequest {
            termination_id,
            audit,
            termination_ids,
        })
    }

    fn notify_request(&mut self) -> Res<NotifyRequest<'a>> {
        let termination_ids = self.equals_termination_ids()?;
        self.open()?;
        let mut observed_events = None;
        let mut error = None;
        loop {
            match self.token()?.0 {
                Token::ObservedEvents => {
                    let events = within!(self, "ObservedEvents", self.observed_events())?;
                    once!(self, observed_events, events);
                }
                Token::Error => {
                    let parsed = within!(self, "Error", self.error_rest())?;
                    once!(self, error, self.arena.keep(parsed));
                }
                _ => return self.fail_word(ErrorKind::Syntax, "ObservedEvents or Error"),
            }
            if !self.more()? {
                break;
            }
        }
        let Some(observed_events) = observed_events else {
            return self.fail_word(ErrorKind::Cardinality, "missing ObservedEvents");
        };
        Ok(NotifyRequest {
            termination_ids,
            observed_events,
            error,
        })
    }

    /// Behind the word `Error`: `=502{"text"}`.
    pub(super) fn error_rest(&mut self) -> Res<ErrorDescriptor<'a>> {
        self.equals()?;
        let code = self.number(0xffff, "an error code")? as u16;
        self.open()?;
        let text = if self.peek() == b'"' {
            Some(self.quoted()?)
        } else {
            None
        };
        self.expect(b'}', "a quoted string or `}`")?;
        Ok(ErrorDescriptor { code, text })
    }

    fn reply(&mut self) -> Res<TransactionReply<'a>> {
        self.equals()?;
        let (id, segment_number, segmentation_complete) = self.segment()?;
        self.open()?;
        let mut imm_ack_required = false;
        let mut actions = self.arena.growing(1);
        loop {
            match self.token()?.0 {
                Token::ImmAckRequired if !imm_ack_required && actions.is_empty() => {
                    imm_ack_required = true;
                    self.expect(b',', "`,`")?;
                }
                Token::Error if actions.is_empty() => {
                    let error = within!(self, "Error", self.error_rest())?;
                    self.expect(b'}', "`}`")?;
                    return Ok(TransactionReply {
                        id,
                        imm_ack_required,
                        result: TransactionResult::Error(self.arena.keep(error)),
                        segment_number,
                        segmentation_complete,
                    });
                }
                Token::Context => {
                    actions.push(within!(self, "Context", self.action_reply())?);
                    if !self.more()? {
                        break;
                    }
                }
                _ => {
                    return self.fail_word(ErrorKind::Syntax, "Context, Error or ImmAckRequired");
                }
            }
        }
        Ok(TransactionReply {
            id,
            imm_ack_required,
            result: TransactionResult::Actions(actions.into_bump_slice()),
            segment_number,
            segmentation_complete,
        })
    }

    fn action_reply(&mut self) -> Res<ActionReply<'a>> {
        self.equals()?;
        let context_id = self.context_id()?;
        let mut request = ContextRequest::default();
        let mut error = None;
        let mut commands = self.arena.growing(0);
        if self.take(b'{') {
            loop {
                let token = self.token()?.0;
                if token == Token::Error {
                    let parsed = within!(self, "Error", self.error_rest())?;
                    once!(self, error, self.arena.keep(parsed));
                } else if !self.context_property(token, &mut request)? {
                    commands.push(self.command_reply(token)?);
                }
                if !self.more()? {
                    break;
                }
            }
        }
        Ok(ActionReply {
            context_id,
            error,
            context_reply: self.given(request),
            commands: commands.into_bump_slice(),
        })
    }

    fn command_reply(&mut self, token: Token) -> Res<CommandReply<'a>> {
        Ok(match token {
            Token::Add => CommandReply::Add(within!(self, "Add", self.amms_reply())?),
            Token::Move => CommandReply::Move(within!(self, "Move", self.amms_reply())?),
            Token::Modify => CommandReply::Modify(within!(self, "Modify", self.amms_reply())?),
            Token::Subtract => {
                CommandReply::Subtract(within!(self, "Subtract", self.amms_reply())?)
            }
            Token::AuditValue => {
                CommandReply::AuditValue(within!(self, "AuditValue", self.audit_reply())?)
            }
            Token::AuditCap => {
                CommandReply::AuditCapability(within!(self, "AuditCapability", self.audit_reply())?)
            }
            Token::Notify => CommandReply::Notify(within!(self, "Notify", {
                (|| {
                    let termination_ids = self.equals_termination_ids()?;
                    let error = self.error_in_braces()?;
                    Ok(NotifyReply {
                        termination_ids,
                        error,
                    })
                })()
            })?),
            Token::ServiceChange => CommandReply::ServiceChange(within!(
                self,
                "ServiceChange",
                self.service_change_reply()
            )?),
            _ => {
                return self.fail_word(
                    ErrorKind::Syntax,
                    "Add, Move, Modify, Subtract, AuditValue, AuditCapability, Notify, \
                     ServiceChange, Error, or a property of the context",
                );
            }
        })
    }

    fn error_in_braces(&mut self) -> Res<Option<&'a ErrorDescriptor<'a>>> {
        if !self.take(b'{') {
            return Ok(None);
        }
        self.keyword(Token::Error, "Error")?;
        let error = within!(self, "Error", self.error_rest())?;
        self.expect(b'}', "`}`")?;
        Ok(Some(self.arena.keep(error)))
    }

    fn amms_reply(&mut self) -> Res<AmmsReply<'a>> {
        let termination_ids = self.equals_termination_ids()?;
        let audit = if self.take(b'{') {
            Some(self.audit_return()?)
        } else {
            None
        };
        Ok(AmmsReply {
            termination_ids,
            audit,
        })
    }

    fn audit_reply(&mut self) -> Res<AuditReply<'a>> {
        self.equals()?;
        let start = self.at;
        if self.peek() != b'[' && self.token()?.0 == Token::Context && self.peek() == b'{' {
            let inside = self.at;
            self.open()?;
            if self.token()?.0 == Token::Error && self.peek() == b'=' {
                let error = within!(self, "Error", self.error_rest())?;
                self.expect(b'}', "`}`")?;
                return Ok(AuditReply::Error(self.arena.keep(error)));
            }
            self.at = inside;
            return self.braced_termination_ids().map(AuditReply::Context);
        }
        self.at = start;
        let ids = self.termination_ids()?;
        let audit = if self.take(b'{') {
            self.audit_return()?
        } else {
            &[]
        };
        Ok(match ids {
            [termination_id] => AuditReply::Result(AuditResult {
                termination_id: *termination_id,
                audit,
            }),
            ids => AuditReply::List(TermListAuditResult {
                termination_ids: ids,
                audit,
            }),
        })
    }

    fn service_change_reply(&mut self) -> Res<ServiceChangeReply<'a>> {
        let termination_ids = self.equals_termination_ids()?;
        let mut result = ServiceChangeResult::Parms(self.arena.keep(Default::default()));
        if self.take(b'{') {
            match self.token()?.0 {
                Token::Error => {
                    let error = within!(self, "Error", self.error_rest())?;
                    result = ServiceChangeResult::Error(self.arena.keep(error));
                }
                Token::Services => {
                    let parms = within!(self, "Services", self.service_change_res_parm())?;
                    result = ServiceChangeResult::Parms(self.arena.keep(parms));
                }
                _ => return self.fail_word(ErrorKind::Syntax, "Services or Error"),
            }
            self.expect(b'}', "`}`")?;
        }
        Ok(ServiceChangeReply {
            termination_ids,
            result,
        })
    }
}

/// Four numbers with dots, leading zeros permitted.
fn ip4(text: &[u8]) -> Option<Ipv4Addr> {
    let mut octets = [0_u8; 4];
    let mut at = 0_usize;
    let mut digits = 0_u8;
    for character in text {
        if *character == b'.' {
            at = at.checked_add(1).filter(|_| digits > 0)?;
            digits = 0;
        } else {
            let digit = character.checked_sub(b'0').filter(|digit| *digit < 10)?;
            let octet = octets.get_mut(at)?;
            *octet = octet.checked_mul(10)?.checked_add(digit)?;
            digits = digits.checked_add(1).filter(|digits| *digits <= 3)?;
        }
    }
    (at == 3 && digits > 0).then(|| Ipv4Addr::from(octets))
}
