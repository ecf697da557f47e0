//! Commands, their replies, and the terminations that they are about.

use crate::{
    error::ErrorKind,
    message::{
        ErrorDescriptor,
        command::{
            AmmRequest, AmmsReply, AuditReply, AuditRequest, AuditResult, Command, CommandReply,
            CommandRequest, NotifyReply, NotifyRequest, ServiceChangeReply, ServiceChangeRequest,
            ServiceChangeResult, SubtractRequest, TermListAuditResult,
        },
    },
    name::TerminationId,
    text::{
        lexer::{Parser, Res, once, within},
        token::{Token, token},
    },
};

impl<'a> Parser<'a> {
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
        // A path begins with a name (RFC 3525 Annex B.2); digits do in every call flow.
        if self.strict && word.first() == Some(&b'/') {
            return self.fail_word(ErrorKind::Syntax, "an identifier that begins with a name");
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

    pub(super) fn command_request(
        &mut self,
        word: &'a [u8],
        whole: Token,
    ) -> Res<CommandRequest<'a>> {
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
            descriptors.reserve(2);
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

    pub(super) fn command_reply(&mut self, token: Token) -> Res<CommandReply<'a>> {
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
