//! Commands, their replies, and the terminations that they are about.

use crate::{
    message::{
        command::{
            AmmRequest, AmmsReply, AuditReply, AuditRequest, Command, CommandReply, CommandRequest,
            ServiceChangeResult,
        },
        descriptor::AuditReturnParameter,
    },
    name::TerminationId,
    text::{
        token::{Token, token as token_of},
        writer::TextWriter,
    },
};

impl<const PRETTY: bool> TextWriter<'_, PRETTY> {
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

    pub(super) fn command_request(&mut self, request: &CommandRequest<'_>) {
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

    pub(super) fn command_reply(&mut self, reply: &CommandReply<'_>) {
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
}
