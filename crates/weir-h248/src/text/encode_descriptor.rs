//! Descriptors: media, events, signals, digit maps, statistics, packages, service change.

use crate::{
    message::{
        audit::AuditToken,
        descriptor::{
            AmmDescriptor, AuditReturnParameter, DigitMapDescriptor, DigitMapValue,
            ModemDescriptor, ModemType, MuxDescriptor, MuxType, PackagesItem, StatisticsParameter,
        },
        media::{
            EventBufferControl, ExtraInfo, LocalControlDescriptor, LocalRemote, MediaDescriptor,
            PropertyParm, Relation, ServiceState, StreamMode, StreamParms, Streams,
            TerminationStateDescriptor,
        },
    },
    name::{Name, Value},
    text::{token::Token, writer::TextWriter},
};

impl<const PRETTY: bool> TextWriter<'_, PRETTY> {
    pub(super) fn amm_descriptor(&mut self, descriptor: &AmmDescriptor<'_>) {
        match descriptor {
            AmmDescriptor::Media(media) => self.media(media),
            AmmDescriptor::Modem(modem) => self.modem(modem),
            AmmDescriptor::Mux(mux) => self.mux(mux),
            AmmDescriptor::Events(events) => self.events(events),
            AmmDescriptor::EventBuffer(specs) => self.event_buffer(specs),
            AmmDescriptor::Signals(signals) => self.signals(signals),
            AmmDescriptor::DigitMap(map) => self.digit_map(map),
            AmmDescriptor::Audit(audit) => self.audit(audit),
            AmmDescriptor::Statistics(statistics) => self.statistics(statistics),
        }
    }

    pub(super) fn audit_return_parameter(&mut self, parameter: &AuditReturnParameter<'_>) {
        match parameter {
            AuditReturnParameter::Error(error) => self.error_descriptor(error),
            AuditReturnParameter::Media(media) => self.media(media),
            AuditReturnParameter::Modem(modem) => self.modem(modem),
            AuditReturnParameter::Mux(mux) => self.mux(mux),
            AuditReturnParameter::Events(events) => self.events(events),
            AuditReturnParameter::EventBuffer(specs) => self.event_buffer(specs),
            AuditReturnParameter::Signals(signals) => self.signals(signals),
            AuditReturnParameter::DigitMap(map) => self.digit_map(map),
            AuditReturnParameter::ObservedEvents(events) => self.observed_events(events),
            AuditReturnParameter::Statistics(statistics) => self.statistics(statistics),
            AuditReturnParameter::Packages(items) => {
                self.token(Token::Packages);
                self.braces(items, Self::package);
            }
            AuditReturnParameter::Empty(empty) => {
                let tokens = empty
                    .tokens
                    .as_ref()
                    .map_or(&[][..], |tokens| tokens.as_slice());
                self.commas(tokens, |w, token| w.audit_token(*token));
            }
        }
    }

    pub(super) fn audit_token(&mut self, token: AuditToken) {
        self.token(match token {
            AuditToken::Mux => Token::Mux,
            AuditToken::Modem => Token::Modem,
            AuditToken::Media => Token::Media,
            AuditToken::Events => Token::Events,
            AuditToken::Signals => Token::Signals,
            AuditToken::DigitMap => Token::DigitMap,
            AuditToken::Statistics => Token::Statistics,
            AuditToken::ObservedEvents => Token::ObservedEvents,
            AuditToken::Packages => Token::Packages,
            AuditToken::EventBuffer => Token::EventBuffer,
        });
    }

    fn media(&mut self, media: &MediaDescriptor<'_>) {
        self.token(Token::Media);
        self.open();
        let mut first = true;
        if let Some(state) = &media.termination_state {
            self.next(&mut first);
            self.termination_state(state);
        }
        match media.streams {
            None => {}
            Some(Streams::One(parms)) => self.stream_parms(parms, &mut first),
            Some(Streams::Multi(streams)) => {
                for stream in streams {
                    self.next(&mut first);
                    self.token(Token::Stream);
                    self.equals();
                    self.number(u32::from(stream.id));
                    self.open();
                    self.stream_parms(&stream.parms, &mut true);
                    self.close();
                }
            }
        }
        self.close();
    }

    fn stream_parms(&mut self, parms: &StreamParms<'_>, first: &mut bool) {
        if let Some(control) = &parms.local_control {
            self.next(first);
            self.local_control(control);
        }
        if let Some(local) = &parms.local {
            self.next(first);
            self.session_description(Token::Local, local);
        }
        if let Some(remote) = &parms.remote {
            self.next(first);
            self.session_description(Token::Remote, remote);
        }
        if let Some(statistics) = parms.statistics {
            self.next(first);
            self.statistics(statistics);
        }
    }

    fn local_control(&mut self, control: &LocalControlDescriptor<'_>) {
        self.token(Token::LocalControl);
        self.open();
        let mut first = true;
        if let Some(mode) = control.mode {
            self.next(&mut first);
            self.stream_mode(mode);
        }
        if let Some(reserve) = control.reserve_group {
            self.next(&mut first);
            self.on_off(Token::ReservedGroup, reserve);
        }
        if let Some(reserve) = control.reserve_value {
            self.next(&mut first);
            self.on_off(Token::ReservedValue, reserve);
        }
        for property in control.properties {
            self.next(&mut first);
            self.property(property);
        }
        if first {
            self.fail("an empty LocalControl");
        }
        self.close();
    }

    pub(super) fn stream_mode(&mut self, mode: StreamMode) {
        self.token(Token::Mode);
        self.equals();
        self.token(match mode {
            StreamMode::SendOnly => Token::Sendonly,
            StreamMode::RecvOnly => Token::Recvonly,
            StreamMode::SendRecv => Token::Sendrecv,
            StreamMode::Inactive => Token::Inactive,
            StreamMode::LoopBack => Token::Loopback,
        });
    }

    /// A session description: as it was read, or, in Erlang's style and from binary, line by line.
    fn session_description(&mut self, token: Token, description: &LocalRemote<'_>) {
        self.token(token);
        match description {
            LocalRemote::Sdp(octets) if !self.style.erlang => {
                self.raw(if PRETTY { b" {" } else { b"{" });
                self.octets(octets);
                self.out.push(b'}');
                return;
            }
            _ => self.raw(if PRETTY { b" { " } else { b"{" }),
        }
        let mut any = false;
        let mut lines = description.lines().peekable();
        while let Some(line) = lines.next() {
            if !any {
                self.out.push(b'\n');
                any = true;
            }
            // Erlang does not keep blanks in front of a sign and in front of the brace.
            let is_last = self.style.erlang && lines.peek().is_none();
            match line.name {
                Name::Text(name) if self.style.erlang => self.octets(name.trim_ascii_end()),
                Name::Text(name) => self.octets(name),
                Name::Id(_) => self.name(&line.name),
            }
            self.out.push(b'=');
            self.octets(match is_last {
                true => line.value.trim_ascii_end(),
                false => line.value,
            });
            self.raw(b"\r\n");
        }
        if PRETTY {
            self.indent = self.indent.saturating_add(1);
            self.close();
        } else {
            self.out.push(b'}');
        }
    }

    pub(super) fn property(&mut self, property: &PropertyParm<'_>) {
        self.package_name(&property.name);
        self.parm_value(property.value, property.extra);
    }

    pub(super) fn parm_value(&mut self, values: &[Value<'_>], extra: Option<ExtraInfo>) {
        match (values, extra) {
            ([value], None) => {
                self.out.push(b'=');
                self.value(value);
            }
            ([value], Some(ExtraInfo::Relation(relation))) => {
                self.out.push(match relation {
                    Relation::GreaterThan => b'>',
                    Relation::SmallerThan => b'<',
                    Relation::UnequalTo => b'#',
                });
                self.value(value);
            }
            ([low, high], Some(ExtraInfo::Range(true))) => {
                self.equals();
                self.raw(if PRETTY { b" [ " } else { b"[" });
                self.value(low);
                self.out.push(b':');
                self.value(high);
                self.raw(if PRETTY { b" ] " } else { b"]" });
            }
            ([_, ..], Some(ExtraInfo::Sublist(all))) => {
                let (open, close) = if all { (b'[', b']') } else { (b'{', b'}') };
                self.equals();
                self.open_with(open);
                self.commas(values, Self::value);
                self.close_with(close);
            }
            // Several values without a relation, which ASN.1 permits, are a list of alternatives (PropertyParm, RFC 3525 Annex A).
            ([_, ..], _) if !self.style.erlang => {
                self.equals();
                self.open_with(b'{');
                self.commas(values, Self::value);
                self.close_with(b'}');
            }
            ([], _) if !self.style.erlang => self.raw(b"=$"),
            _ => self.fail("values without relation, range or sublist"),
        }
    }

    fn termination_state(&mut self, state: &TerminationStateDescriptor<'_>) {
        self.token(Token::TerminationState);
        self.open();
        let mut first = true;
        for property in state.properties {
            self.next(&mut first);
            self.property(property);
        }
        if let Some(control) = state.event_buffer_control {
            self.next(&mut first);
            self.token(Token::Buffer);
            self.equals();
            self.token(match control {
                EventBufferControl::Off => Token::Off,
                EventBufferControl::LockStep => Token::LockStep,
            });
        }
        if let Some(service) = state.service_state {
            self.next(&mut first);
            self.service_state(service);
        }
        if first {
            self.fail("an empty TerminationState");
        }
        self.close();
    }

    pub(super) fn service_state(&mut self, state: ServiceState) {
        self.token(Token::ServiceStates);
        self.equals();
        self.token(match state {
            ServiceState::Test => Token::Test,
            ServiceState::OutOfService => Token::OutOfService,
            ServiceState::InService => Token::InService,
        });
    }

    fn mux(&mut self, mux: &MuxDescriptor<'_>) {
        self.token(Token::Mux);
        self.equals();
        self.token(match mux.mux_type {
            MuxType::H221 => Token::H221,
            MuxType::H223 => Token::H223,
            MuxType::H226 => Token::H226,
            MuxType::V76 => Token::V76,
            MuxType::Nx64k => Token::Nx64k,
        });
        self.braced_termination_ids(mux.termination_ids);
    }

    fn modem(&mut self, modem: &ModemDescriptor<'_>) {
        self.token(Token::Modem);
        match modem.types {
            [] => self.fail("a modem without a type"),
            [kind] => {
                self.equals();
                self.modem_type(*kind);
            }
            kinds => {
                self.open_with(b'[');
                self.commas(kinds, |w, kind| w.modem_type(*kind));
                self.close_with(b']');
            }
        }
        if !modem.properties.is_empty() {
            self.braces(modem.properties, Self::property);
        }
    }

    fn modem_type(&mut self, kind: ModemType) {
        self.token(match kind {
            ModemType::V18 => Token::V18,
            ModemType::V22 => Token::V22,
            ModemType::V22Bis => Token::V22Bis,
            ModemType::V32 => Token::V32,
            ModemType::V32Bis => Token::V32Bis,
            ModemType::V34 => Token::V34,
            ModemType::V90 => Token::V90,
            ModemType::V91 => Token::V91,
            ModemType::SynchIsdn => Token::SynchIsdn,
        });
    }

    fn digit_map(&mut self, map: &DigitMapDescriptor<'_>) {
        self.token(Token::DigitMap);
        self.equals();
        if let Some(name) = &map.name {
            self.name(name);
        }
        match &map.value {
            Some(value) => self.digit_map_value(value),
            None if map.name.is_none() => self.fail("a digit map without a name or a value"),
            None => {}
        }
    }

    pub(super) fn digit_map_value(&mut self, value: &DigitMapValue<'_>) {
        self.open();
        for (letter, timer) in [
            (b'T', value.start_timer),
            (b'S', value.short_timer),
            (b'L', value.long_timer),
            (b'Z', value.duration_timer),
        ] {
            if let Some(timer) = timer {
                self.raw(&[letter, b':']);
                self.number(u32::from(timer));
                self.comma();
            }
        }
        self.octets(value.body);
        self.close();
    }

    pub(super) fn statistics(&mut self, statistics: &[StatisticsParameter<'_>]) {
        self.token(Token::Statistics);
        if statistics.is_empty() {
            return;
        }
        self.braces(statistics, |w, statistic| {
            w.package_name(&statistic.name);
            match statistic.value {
                None => {}
                Some([value]) => {
                    w.equals();
                    w.value(value);
                }
                Some([]) => w.fail("a statistic with an empty list of values"),
                Some(values) => {
                    w.equals();
                    w.open_with(b'[');
                    w.commas(values, Self::value);
                    w.close_with(b']');
                }
            }
        });
    }

    pub(super) fn package(&mut self, item: &PackagesItem<'_>) {
        self.name(&item.name);
        self.out.push(b'-');
        self.number(u32::from(item.version));
    }
}
