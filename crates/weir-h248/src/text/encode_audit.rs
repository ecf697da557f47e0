//! Audits.

use crate::{
    message::{
        audit::{
            AuditDescriptor, IndAudLocalRemoteDescriptor, IndAudMediaDescriptor,
            IndAudPropertyParm, IndAudSignal, IndAudSignalsDescriptor, IndAudStatisticsDescriptor,
            IndAudStreamParms, IndAudStreams, IndAudTerminationStateDescriptor, IndAuditParameter,
        },
        descriptor::PackagesItem,
    },
    name::Name,
    text::{token::Token, writer::TextWriter},
};

impl<const PRETTY: bool> TextWriter<'_, PRETTY> {
    pub(super) fn audit(&mut self, audit: &AuditDescriptor<'_>) {
        self.token(Token::Audit);
        let tokens = audit.tokens.is_none_or(|tokens| tokens.is_empty());
        if tokens && audit.properties.is_none_or(<[_]>::is_empty) {
            self.raw(if PRETTY { b" {  } " } else { b"{}" });
            return;
        }
        self.open();
        self.audit_items(audit, &mut true);
        self.close();
    }

    pub(super) fn audit_items(&mut self, audit: &AuditDescriptor<'_>, first: &mut bool) {
        for token in audit
            .tokens
            .as_ref()
            .map_or(&[][..], |tokens| tokens.as_slice())
        {
            self.next(first);
            self.audit_token(*token);
        }
        for property in audit.properties.unwrap_or_default() {
            self.next(first);
            self.individual_audit(property);
        }
    }

    fn individual_audit(&mut self, parameter: &IndAuditParameter<'_>) {
        match parameter {
            IndAuditParameter::Media(media) => self.audit_media(media),
            IndAuditParameter::Events(events) => {
                self.token(Token::Events);
                if let Some(id) = events.request_id {
                    self.equals();
                    self.request_id(id);
                }
                self.open();
                self.package_name(&events.name);
                self.close();
            }
            IndAuditParameter::EventBuffer(buffer) => {
                self.token(Token::EventBuffer);
                self.open();
                self.package_name(&buffer.name);
                if let Some(id) = buffer.stream_id {
                    self.open();
                    self.token(Token::Stream);
                    self.equals();
                    self.number(u32::from(id));
                    self.close();
                }
                self.close();
            }
            IndAuditParameter::Signals(signals) => {
                self.token(Token::Signals);
                self.open();
                match signals {
                    IndAudSignalsDescriptor::Signal(signal) => self.audit_signal(signal),
                    IndAudSignalsDescriptor::List(list) => {
                        self.token(Token::SignalList);
                        self.equals();
                        self.number(u32::from(list.id));
                        if let Some(signal) = &list.signal {
                            self.open();
                            self.audit_signal(signal);
                            self.close();
                        }
                    }
                }
                self.close();
            }
            IndAuditParameter::DigitMap(map) => {
                self.token(Token::DigitMap);
                match &map.name {
                    Some(name) => {
                        self.equals();
                        self.name(name);
                    }
                    None => self.fail("a digit map of an audit without its name"),
                }
            }
            IndAuditParameter::Statistics(statistics) => self.audit_statistics(statistics),
            IndAuditParameter::Packages(package) => {
                self.token(Token::Packages);
                self.open();
                self.package(&PackagesItem {
                    name: package.name,
                    version: package.version,
                });
                self.close();
            }
        }
    }

    fn audit_statistics(&mut self, statistics: &IndAudStatisticsDescriptor<'_>) {
        self.token(Token::Statistics);
        self.open();
        self.package_name(&statistics.name);
        self.close();
    }

    fn audit_signal(&mut self, signal: &IndAudSignal<'_>) {
        self.package_name(&signal.name);
        if signal.stream_id.is_none() && signal.request_id.is_none() {
            return;
        }
        self.open();
        let mut first = true;
        if let Some(id) = signal.stream_id {
            self.next(&mut first);
            self.token(Token::Stream);
            self.equals();
            self.number(u32::from(id));
        }
        if let Some(id) = signal.request_id {
            self.next(&mut first);
            self.token(Token::RequestID);
            self.equals();
            self.request_id(id);
        }
        self.close();
    }

    fn audit_media(&mut self, media: &IndAudMediaDescriptor<'_>) {
        self.token(Token::Media);
        self.open();
        let mut first = true;
        if let Some(state) = &media.termination_state {
            self.next(&mut first);
            self.audit_state(state);
        }
        match &media.streams {
            None => {}
            Some(IndAudStreams::One(parms)) => self.audit_stream_parms(parms, &mut first),
            Some(IndAudStreams::Multi(streams)) => {
                let indent = self.indent;
                for stream in *streams {
                    self.next(&mut first);
                    if self.style.erlang && self.version == 2 {
                        self.indent = indent.saturating_add(1);
                    }
                    self.token(Token::Stream);
                    self.equals();
                    self.number(u32::from(stream.id));
                    self.open();
                    self.audit_stream_parms(&stream.parms, &mut true);
                    self.close();
                }
                self.indent = indent;
            }
        }
        self.close();
    }

    fn audit_stream_parms(&mut self, parms: &IndAudStreamParms<'_>, first: &mut bool) {
        // Erlang indents what is inside of these one level too deep.
        let indent = self.indent;
        let deeper = if self.style.erlang {
            indent.saturating_add(1)
        } else {
            indent
        };
        if let Some(control) = &parms.local_control {
            self.next(first);
            self.indent = deeper;
            self.token(Token::LocalControl);
            self.open();
            let mut first = true;
            for (wanted, token) in [
                (control.mode, Token::Mode),
                (control.reserve_value, Token::ReservedValue),
                (control.reserve_group, Token::ReservedGroup),
            ] {
                if wanted {
                    self.next(&mut first);
                    self.token(token);
                }
            }
            for property in control.properties.unwrap_or_default() {
                self.next(&mut first);
                self.audit_property(property);
            }
            if let Some(mode) = control.select_mode {
                self.next(&mut first);
                self.stream_mode(mode);
            }
            self.close();
            self.indent = indent;
        }
        for (token, description) in [(Token::Local, &parms.local), (Token::Remote, &parms.remote)] {
            if let Some(description) = description {
                self.next(first);
                self.audit_session_description(token, description);
            }
        }
        if let Some(statistics) = &parms.statistics {
            self.next(first);
            self.indent = deeper;
            self.audit_statistics(statistics);
            self.indent = indent;
        }
    }

    fn audit_session_description(
        &mut self,
        token: Token,
        description: &IndAudLocalRemoteDescriptor<'_>,
    ) {
        self.token(token);
        self.raw(if PRETTY { b" { " } else { b"{" });
        for property in description.properties {
            self.raw(b"\n");
            match property.name {
                Name::Text(name) => self.octets(name),
                Name::Id(_) => self.name(&property.name),
            }
            self.out.push(b'=');
            if let Some(value) = property
                .property
                .and_then(|property| property.value.first())
            {
                self.octets(value.octets);
            }
            self.out.push(b'\r');
        }
        self.raw(b"\n}");
    }

    /// A property to report, and the value to select by.
    fn audit_property(&mut self, property: &IndAudPropertyParm<'_>) {
        self.package_name(&property.name);
        if let Some(property) = property.property {
            self.comma();
            self.property(property);
        }
    }

    fn audit_state(&mut self, state: &IndAudTerminationStateDescriptor<'_>) {
        self.token(Token::TerminationState);
        self.open();
        let mut first = true;
        for property in state.properties {
            self.next(&mut first);
            match property.property {
                Some(property) => self.property(property),
                None => self.package_name(&property.name),
            }
        }
        if state.event_buffer_control {
            self.next(&mut first);
            self.token(Token::Buffer);
        }
        if state.service_state {
            self.next(&mut first);
            self.token(Token::ServiceStates);
        }
        if let Some(service) = state.select_service_state {
            self.next(&mut first);
            self.service_state(service);
        }
        self.close();
    }
}
