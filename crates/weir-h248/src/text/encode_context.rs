//! Contexts: their properties, what to do in them, what was done.

use crate::{
    message::{
        ActionReply, ActionRequest, ContextAttrAuditRequest, ContextRequest, SelectLogic,
        TopologyDirection, TopologyDirectionExtension, TopologyRequest, context,
    },
    text::{token::Token, writer::TextWriter},
};

impl<const PRETTY: bool> TextWriter<'_, PRETTY> {
    fn context_id(&mut self, id: u32) {
        match id {
            context::NULL => self.out.push(b'-'),
            context::CHOOSE => self.out.push(b'$'),
            context::ALL => self.out.push(b'*'),
            id => self.number(id),
        }
    }

    pub(super) fn action_request(&mut self, action: &ActionRequest<'_>) {
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
            self.fail("an empty action");
        }
        self.close();
    }

    pub(super) fn action_reply(&mut self, action: &ActionReply<'_>) {
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
                // A value selects, and stands in ContextAttr only.
                Some(property) => {
                    self.token(Token::ContextAttr);
                    self.open();
                    self.property(property);
                    self.close();
                }
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
}
