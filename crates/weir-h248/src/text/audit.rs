//! Audits.

use bumpalo::collections::Vec;

use crate::{
    error::ErrorKind,
    message::{
        audit::{
            AuditDescriptor, AuditToken, AuditTokens, IndAudDigitMapDescriptor,
            IndAudEventBufferDescriptor, IndAudEventsDescriptor, IndAudLocalControlDescriptor,
            IndAudLocalRemoteDescriptor, IndAudMediaDescriptor, IndAudPackagesDescriptor,
            IndAudPropertyParm, IndAudSeqSigList, IndAudSignal, IndAudSignalsDescriptor,
            IndAudStatisticsDescriptor, IndAudStreamDescriptor, IndAudStreamParms, IndAudStreams,
            IndAudTerminationStateDescriptor, IndAuditParameter,
        },
        media::PropertyParm,
    },
    name::Value,
    text::{
        lexer::{Parser, Res, once, once_flag, within},
        token::{Token, token},
    },
};

impl<'a> Parser<'a> {
    /// Reads `{Audit{…}}`, or nothing.
    pub(super) fn audit_in_braces(&mut self) -> Res<Option<&'a AuditDescriptor<'a>>> {
        if !self.take(b'{') {
            return Ok(None);
        }
        self.keyword(Token::Audit, "Audit")?;
        let audit = within!(self, "Audit", self.audit())?;
        self.expect(b'}', "`}`")?;
        Ok(Some(audit))
    }

    /// Reads the descriptor after the word `Audit`.
    pub(super) fn audit(&mut self) -> Res<&'a AuditDescriptor<'a>> {
        self.open()?;
        if self.take(b'}') {
            return Ok(self.arena.keep(AuditDescriptor::EMPTY));
        }
        let mut tokens = AuditTokens::empty();
        let mut properties = self.arena.growing(0);
        loop {
            let (token, _) = self.token()?;
            self.audit_item(token, &mut tokens, &mut properties)?;
            if !self.more()? {
                break;
            }
        }
        Ok(self.arena.keep(AuditDescriptor {
            tokens: (!tokens.is_empty()).then_some(tokens),
            properties: (!properties.is_empty()).then_some(properties.into_bump_slice()),
        }))
    }

    /// A descriptor to report, or a part of one.
    pub(super) fn audit_item(
        &mut self,
        token: Token,
        tokens: &mut AuditTokens,
        properties: &mut Vec<'a, IndAuditParameter<'a>>,
    ) -> Res<()> {
        let sign = self.peek();
        let item = match token {
            Token::Mux => AuditToken::Mux,
            Token::Modem => AuditToken::Modem,
            Token::Media if sign != b'{' => AuditToken::Media,
            Token::Events if !matches!(sign, b'{' | b'=') => AuditToken::Events,
            Token::Signals if sign != b'{' => AuditToken::Signals,
            Token::DigitMap if sign != b'=' => AuditToken::DigitMap,
            Token::Statistics if sign != b'{' => AuditToken::Statistics,
            Token::ObservedEvents => AuditToken::ObservedEvents,
            Token::Packages if sign != b'{' => AuditToken::Packages,
            Token::EventBuffer if sign != b'{' => AuditToken::EventBuffer,
            _ => {
                properties.push(self.individual_audit(token)?);
                return Ok(());
            }
        };
        if !tokens.add(item) && self.strict {
            return self.twice();
        }
        Ok(())
    }

    fn individual_audit(&mut self, token: Token) -> Res<IndAuditParameter<'a>> {
        Ok(match token {
            Token::Media => {
                let media = within!(self, "Media", self.audit_media())?;
                IndAuditParameter::Media(self.arena.keep(media))
            }
            Token::Events => {
                let request_id = if self.take(b'=') {
                    Some(self.request_id()?)
                } else {
                    None
                };
                self.open()?;
                let name = within!(self, "Events", self.package_name())?;
                self.expect(b'}', "`}`")?;
                IndAuditParameter::Events(IndAudEventsDescriptor {
                    request_id,
                    name,
                    stream_id: None,
                })
            }
            Token::EventBuffer => {
                self.open()?;
                let name = within!(self, "EventBuffer", self.package_name())?;
                let mut stream_id = None;
                if self.take(b'{') {
                    self.keyword(Token::Stream, "Stream")?;
                    stream_id = Some(self.equals_uint16()?);
                    self.expect(b'}', "`}`")?;
                }
                self.expect(b'}', "`}`")?;
                IndAuditParameter::EventBuffer(IndAudEventBufferDescriptor { name, stream_id })
            }
            Token::Signals => {
                IndAuditParameter::Signals(within!(self, "Signals", self.audit_signals())?)
            }
            Token::DigitMap => {
                self.equals()?;
                let word = self.word()?;
                let name = Some(self.name_of(word)?);
                IndAuditParameter::DigitMap(IndAudDigitMapDescriptor { name })
            }
            Token::Statistics => IndAuditParameter::Statistics(self.audit_statistics()?),
            Token::Packages => {
                self.open()?;
                let item = within!(self, "Packages", self.package())?;
                self.expect(b'}', "`}`")?;
                let (name, version) = (item.name, item.version);
                IndAuditParameter::Packages(IndAudPackagesDescriptor { name, version })
            }
            _ => {
                return self.fail_word(
                    ErrorKind::Syntax,
                    "Mux, Modem, Media, Events, Signals, DigitMap, Statistics, ObservedEvents, \
                     Packages or EventBuffer",
                );
            }
        })
    }

    fn audit_statistics(&mut self) -> Res<IndAudStatisticsDescriptor<'a>> {
        self.open()?;
        let name = within!(self, "Statistics", self.package_name())?;
        self.expect(b'}', "`}`")?;
        Ok(IndAudStatisticsDescriptor { name })
    }

    fn audit_media(&mut self) -> Res<IndAudMediaDescriptor<'a>> {
        let mut termination_state = None;
        let mut one = IndAudStreamParms::default();
        let mut is_one = false;
        let mut many = self.arena.growing(0);
        self.open()?;
        loop {
            let (token, _) = self.token()?;
            match token {
                Token::TerminationState => {
                    let state = within!(self, "TerminationState", self.audit_state())?;
                    once!(self, termination_state, state);
                }
                Token::Stream => {
                    let id = self.equals_uint16()?;
                    self.open()?;
                    let mut parms = IndAudStreamParms::default();
                    loop {
                        let (token, _) = self.token()?;
                        within!(self, "Stream", self.audit_stream_parm(token, &mut parms))?;
                        if !self.more()? {
                            break;
                        }
                    }
                    many.push(IndAudStreamDescriptor { id, parms });
                }
                _ => {
                    self.audit_stream_parm(token, &mut one)?;
                    is_one = true;
                }
            }
            if !self.more()? {
                break;
            }
        }
        let streams = match (is_one, many.is_empty()) {
            (true, _) => Some(IndAudStreams::One(one)),
            (false, false) => Some(IndAudStreams::Multi(many.into_bump_slice())),
            (false, true) => None,
        };
        Ok(IndAudMediaDescriptor {
            termination_state,
            streams,
        })
    }

    fn audit_stream_parm(&mut self, token: Token, parms: &mut IndAudStreamParms<'a>) -> Res<()> {
        match token {
            Token::LocalControl => {
                let control = within!(self, "LocalControl", self.audit_local_control())?;
                once!(self, parms.local_control, control);
            }
            Token::Statistics => {
                let statistics = self.audit_statistics()?;
                once!(self, parms.statistics, statistics);
            }
            Token::Local => {
                let local = within!(self, "Local", self.audit_session_description())?;
                once!(self, parms.local, local);
            }
            Token::Remote => {
                let remote = within!(self, "Remote", self.audit_session_description())?;
                once!(self, parms.remote, remote);
            }
            _ => {
                return self.fail_word(
                    ErrorKind::Syntax,
                    "LocalControl, Local, Remote, Statistics, Stream or TerminationState",
                );
            }
        }
        Ok(())
    }

    fn audit_session_description(&mut self) -> Res<IndAudLocalRemoteDescriptor<'a>> {
        let description = self.session_description()?;
        let mut properties = self.arena.growing(1);
        for line in description.lines() {
            let property = if line.value.is_empty() {
                None
            } else {
                let value = std::slice::from_ref(self.arena.keep(Value::from(line.value)));
                Some(self.arena.keep(PropertyParm {
                    name: line.name,
                    value,
                    extra: None,
                }))
            };
            properties.push(IndAudPropertyParm {
                name: line.name,
                property,
            });
        }
        let properties = properties.into_bump_slice();
        Ok(IndAudLocalRemoteDescriptor {
            group_id: None,
            properties,
        })
    }

    fn audit_local_control(&mut self) -> Res<IndAudLocalControlDescriptor<'a>> {
        let mut control = IndAudLocalControlDescriptor::default();
        let mut properties: Vec<'a, IndAudPropertyParm<'a>> = self.arena.growing(0);
        self.open()?;
        loop {
            let (token, word) = self.token()?;
            match token {
                Token::Mode if self.take(b'=') || self.take(b'#') => {
                    let mode = self.stream_mode()?;
                    once!(self, control.select_mode, mode);
                }
                Token::Mode => once_flag!(self, control.mode),
                Token::ReservedValue => once_flag!(self, control.reserve_value),
                Token::ReservedGroup => once_flag!(self, control.reserve_group),
                _ if matches!(self.peek(), b'=' | b'#' | b'<' | b'>') => {
                    let property = self.property_of(word)?;
                    // Version 3 names a property, then gives the value to select by.
                    match properties.last_mut() {
                        Some(last) if last.property.is_none() && last.name == property.name => {
                            last.property = Some(self.arena.keep(property));
                        }
                        _ => properties.push(IndAudPropertyParm {
                            name: property.name,
                            property: Some(self.arena.keep(property)),
                        }),
                    }
                }
                _ => {
                    let name = self.package_name_of(word)?;
                    properties.push(IndAudPropertyParm {
                        name,
                        property: None,
                    });
                }
            }
            if !self.more()? {
                break;
            }
        }
        if !properties.is_empty() {
            control.properties = Some(properties.into_bump_slice());
        }
        Ok(control)
    }

    fn audit_state(&mut self) -> Res<IndAudTerminationStateDescriptor<'a>> {
        let mut state = IndAudTerminationStateDescriptor {
            properties: &[],
            event_buffer_control: false,
            service_state: false,
            select_service_state: None,
        };
        let mut properties = self.arena.growing(0);
        self.open()?;
        loop {
            let (token, word) = self.token()?;
            match token {
                Token::ServiceStates if self.take(b'=') || self.take(b'#') => {
                    let selected = self.service_state()?;
                    once!(self, state.select_service_state, selected);
                }
                Token::ServiceStates => once_flag!(self, state.service_state),
                Token::Buffer => once_flag!(self, state.event_buffer_control),
                _ => {
                    let name = self.package_name_of(word)?;
                    let property = if matches!(self.peek(), b'=' | b'#' | b'<' | b'>') {
                        let property = self.property_of(word)?;
                        Some(self.arena.keep(property))
                    } else {
                        None
                    };
                    properties.push(IndAudPropertyParm { name, property });
                }
            }
            if !self.more()? {
                state.properties = properties.into_bump_slice();
                return Ok(state);
            }
        }
    }

    fn audit_signals(&mut self) -> Res<IndAudSignalsDescriptor<'a>> {
        self.open()?;
        let word = self.word()?;
        let signals = if token(word) == Token::SignalList && self.peek() == b'=' {
            let id = self.equals_uint16()?;
            let mut signal = None;
            if self.take(b'{') {
                let word = self.word()?;
                signal = Some(self.audit_signal(word)?);
                self.expect(b'}', "`}`")?;
            }
            IndAudSignalsDescriptor::List(IndAudSeqSigList { id, signal })
        } else {
            IndAudSignalsDescriptor::Signal(self.audit_signal(word)?)
        };
        self.expect(b'}', "`}`")?;
        Ok(signals)
    }

    /// A signal, of which only its name, stream and number count.
    fn audit_signal(&mut self, word: &'a [u8]) -> Res<IndAudSignal<'a>> {
        let signal = self.signal_of(word)?;
        let (name, stream_id, request_id) = (signal.name, signal.stream_id, signal.request_id);
        Ok(IndAudSignal {
            name,
            stream_id,
            request_id,
        })
    }
}
