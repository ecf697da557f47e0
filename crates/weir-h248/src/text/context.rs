//! Contexts: their properties, what to do in them, what was done.

use crate::{
    error::{ErrorKind, FirstFailure, Stop},
    message::{
        ActionReply, ActionRequest, ContextAttrAuditRequest, ContextRequest, SelectLogic,
        TopologyDirection, TopologyDirectionExtension, TopologyRequest, audit::IndAudPropertyParm,
        context,
    },
    text::{
        lexer::{Parser, Res, once, once_flag, within},
        token::{Token, token},
    },
};

impl<'a> Parser<'a> {
    fn context_id(&mut self) -> Res<u32> {
        match self.word()? {
            b"-" => Ok(context::NULL),
            b"$" => Ok(context::CHOOSE),
            b"*" => Ok(context::ALL),
            digits => {
                let id = self.number_of(digits, u32::MAX, "a context: a number, -, $ or *")?;
                // RFC 3525 Annex B.2: "0x0, 0xFFFFFFFE and 0xFFFFFFFF are reserved".
                if self.strict && matches!(id, context::NULL | context::CHOOSE | context::ALL) {
                    return self.fail_word(ErrorKind::Range, "a context that is not reserved");
                }
                Ok(id)
            }
        }
    }

    pub(super) fn action_request(&mut self) -> Res<ActionRequest<'a>> {
        self.keyword(Token::Context, "Context")?;
        self.equals()?;
        let context_id = self.context_id()?;
        self.open()?;
        let mut request = ContextRequest::default();
        let mut audit = None;
        let mut commands = self.arena.growing(2);
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

    /// Reads a property of a context; false when the word begins no such property.
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
            let (triple, is_last) = self.topology_triple()?;
            triples.push(triple);
            if is_last {
                return Ok(triples.into_bump_slice());
            }
        }
    }

    /// Reads two terminations with the direction between them and perhaps a stream, and whether the topology ends there.
    fn topology_triple(&mut self) -> Res<(TopologyRequest<'a>, bool)> {
        let from = self.termination_id()?;
        self.expect(b',', "`,`")?;
        let to = self.termination_id()?;
        self.expect(b',', "`,`")?;
        let mut direction = None;
        let mut direction_extension = None;
        let mut stream_id = None;
        let mut is_last = false;
        loop {
            let before = self.at;
            let (token, word) = self.token()?;
            match token {
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
                _ if stream_id.is_none() && self.is_bare_stream(word) => {
                    stream_id = Some(self.number_of(word, 0xffff, "a stream")? as u16);
                }
                _ => {
                    // The next triple follows.
                    self.at = before;
                    break;
                }
            }
            if !self.more()? {
                is_last = true;
                break;
            }
        }
        if direction.is_none() && direction_extension.is_none() {
            return self.fail_word(ErrorKind::Cardinality, "a direction of the topology");
        }
        let triple = TopologyRequest {
            from,
            to,
            direction: direction.unwrap_or(TopologyDirection::Oneway),
            stream_id,
            direction_extension,
        };
        Ok((triple, is_last))
    }

    /// Whether a word behind a direction is a stream without `Stream=`, as Erlang writes it, and not
    /// the first termination of the next triple. In lenient reading only.
    fn is_bare_stream(&mut self, word: &[u8]) -> bool {
        if self.strict || word.len() > 5 || !word.iter().all(u8::is_ascii_digit) {
            return false;
        }
        let before = self.at;
        let second = (|| {
            if !self.take(b',') {
                return Err(Stop);
            }
            self.word()?;
            if !self.take(b',') {
                return Err(Stop);
            }
            self.token()
        })();
        self.at = before;
        self.failure = FirstFailure::default();
        let is_triple = matches!(
            second,
            Ok((
                Token::Bothway
                    | Token::Isolate
                    | Token::Oneway
                    | Token::OnewayExternal
                    | Token::OnewayBoth
                    | Token::Stream,
                _
            ))
        );
        !is_triple
    }

    fn context_audit(&mut self) -> Res<ContextAttrAuditRequest<'a>> {
        let mut audit = ContextAttrAuditRequest::default();
        let mut properties = self.arena.growing(0);
        self.open()?;
        let mut nested = false;
        if !self.strict && self.take(b'}') {
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
                    // Values select, and stand in ContextAttr only.
                    let has_value = nested && matches!(self.peek(), b'=' | b'#' | b'<' | b'>');
                    let property = if has_value {
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

    pub(super) fn action_reply(&mut self) -> Res<ActionReply<'a>> {
        self.equals()?;
        let context_id = self.context_id()?;
        let mut request = ContextRequest::default();
        let mut error = None;
        let mut commands = self.arena.growing(0);
        if self.take(b'{') {
            commands.reserve(2);
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
}
