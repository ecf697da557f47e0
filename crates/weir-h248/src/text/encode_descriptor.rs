//! Descriptors: media, events, signals, digit maps, statistics, packages, service change.

use crate::{
    ExtensionContent,
    extension::of_record,
    message::{
        MId,
        audit::AuditToken,
        descriptor::{
            AmmDescriptor, AuditReturnParameter, DigitMapDescriptor, DigitMapValue,
            ModemDescriptor, ModemType, MuxDescriptor, MuxType, PackagesItem, StatisticsParameter,
        },
        event::{
            EventDm, EventParameter, EventSpec, EventsDescriptor, NotificationReason,
            NotifyBehaviour, ObservedEvent, ObservedEventsDescriptor, RequestedActions,
            RequestedEvent, SecondEventsDescriptor, SecondRequestedActions, SecondRequestedEvent,
            Signal, SignalDirection, SignalRequest, SignalType, TimeNotation,
        },
        media::{
            EventBufferControl, ExtraInfo, LocalControlDescriptor, LocalRemote, MediaDescriptor,
            PropertyParm, Relation, ServiceState, StreamMode, StreamParms, Streams,
            TerminationStateDescriptor,
        },
        service::{
            ServiceChangeAddress, ServiceChangeMethod, ServiceChangeParm, ServiceChangeProfile,
            ServiceChangeResParm,
        },
    },
    name::{Name, Value},
    text::{encode::Writer, token::Token},
};

impl<const PRETTY: bool> Writer<'_, PRETTY> {
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
        for line in description.lines() {
            if !any {
                self.out.push(b'\n');
                any = true;
            }
            match line.name {
                Name::Text(name) => self.octets(name),
                Name::Id(_) => self.name(&line.name),
            }
            self.out.push(b'=');
            self.octets(line.value);
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
            // What ASN.1 permits without saying how it is meant is a list of alternatives
            // (PropertyParm, RFC 3525 Annex A).
            ([_, ..], _) if !self.style.erlang => {
                self.equals();
                self.open_with(b'{');
                self.commas(values, Self::value);
                self.close_with(b'}');
            }
            ([], _) if !self.style.erlang => self.raw(b"=$"),
            _ => self.fail("values without a sign of how they are meant"),
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

    fn digit_map_value(&mut self, value: &DigitMapValue<'_>) {
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

    fn events(&mut self, events: &EventsDescriptor<'_>) {
        self.token(Token::Events);
        match (events.request_id, events.events) {
            (None, []) => {}
            (Some(id), []) if !self.style.erlang => {
                self.equals();
                self.request_id(id);
            }
            (Some(id), events @ [_, ..]) => {
                self.equals();
                self.request_id(id);
                self.braces(events, Self::requested_event);
            }
            _ => self.fail("events without the number of a request"),
        }
    }

    fn requested_event(&mut self, event: &RequestedEvent<'_>) {
        self.package_name(&event.name);
        let action = event.action.copied().unwrap_or_default();
        if event.stream_id.is_none() && event.parameters.is_empty() && empty(&action) {
            return;
        }
        self.open();
        let mut first = true;
        self.stream_and_parameters(event.stream_id, event.parameters, &mut first);
        let RequestedActions {
            keep_active,
            digit_map,
            second_event,
            signals,
            notify,
            reset_events,
        } = action;
        self.keep_active(keep_active, &mut first);
        self.event_digit_map(digit_map, &mut first);
        if second_event.is_some() || signals.is_some() {
            self.next(&mut first);
            self.embed(signals, second_event.as_ref());
        }
        self.notify(notify, reset_events, &mut first);
        self.close();
    }

    fn stream_and_parameters(
        &mut self,
        stream_id: Option<u16>,
        parameters: &[EventParameter<'_>],
        first: &mut bool,
    ) {
        if let Some(id) = stream_id {
            self.next(first);
            self.token(Token::Stream);
            self.equals();
            self.number(u32::from(id));
        }
        for parameter in parameters {
            self.next(first);
            self.name(&parameter.name);
            // Erlang always quotes the digits of dd/ce.
            match (parameter.value, parameter.extra) {
                ([value], None) if self.style.erlang && parameter.name == Name::from("ds") => {
                    self.out.push(b'=');
                    self.quoted(value.octets);
                }
                (value, extra) => self.parm_value(value, extra),
            }
        }
    }

    fn keep_active(&mut self, keep_active: Option<bool>, first: &mut bool) {
        if keep_active == Some(true) {
            self.next(first);
            self.token(Token::KeepActive);
        }
    }

    fn event_digit_map(&mut self, map: Option<EventDm<'_>>, first: &mut bool) {
        let Some(map) = map else { return };
        self.next(first);
        self.token(Token::DigitMap);
        match map {
            EventDm::Name(name) => {
                self.equals();
                self.name(&name);
            }
            EventDm::Value(value) => self.digit_map_value(value),
        }
    }

    fn embed(
        &mut self,
        signals: Option<&[SignalRequest<'_>]>,
        events: Option<&SecondEventsDescriptor<'_>>,
    ) {
        self.token(Token::Embed);
        self.open();
        let mut first = true;
        if let Some(signals) = signals {
            self.next(&mut first);
            self.signals(signals);
        }
        if let Some(events) = events {
            self.next(&mut first);
            self.second_events(events);
        }
        self.close();
    }

    fn notify(&mut self, notify: Option<NotifyBehaviour<'_>>, reset: bool, first: &mut bool) {
        match notify {
            None => {}
            Some(NotifyBehaviour::Immediate(())) => {
                self.next(first);
                self.token(Token::NotifyImmediate);
            }
            Some(NotifyBehaviour::Never(())) => {
                self.next(first);
                self.token(Token::NeverNotify);
            }
            Some(NotifyBehaviour::Regulated(regulated)) => {
                self.next(first);
                self.token(Token::NotifyRegulated);
                if regulated.signals.is_some() || regulated.second_event.is_some() {
                    self.open();
                    self.embed(regulated.signals, regulated.second_event.as_ref());
                    self.close();
                }
            }
        }
        if reset {
            self.next(first);
            self.token(Token::ResetEventsDescriptor);
        }
    }

    fn second_events(&mut self, events: &SecondEventsDescriptor<'_>) {
        self.token(Token::Events);
        match (events.request_id, events.events) {
            (Some(id), events @ [_, ..]) => {
                self.equals();
                self.request_id(id);
                self.braces(events, Self::second_requested_event);
            }
            (None, [_, ..]) => self.fail("events without the number of a request"),
            (_, []) => {}
        }
    }

    fn second_requested_event(&mut self, event: &SecondRequestedEvent<'_>) {
        self.package_name(&event.name);
        let SecondRequestedActions {
            keep_active,
            digit_map,
            signals,
            notify,
            reset_events,
        } = event.action.copied().unwrap_or_default();
        let nothing = keep_active != Some(true)
            && digit_map.is_none()
            && signals.is_none()
            && notify.is_none()
            && !reset_events;
        if event.stream_id.is_none() && event.parameters.is_empty() && nothing {
            return;
        }
        self.open();
        let mut first = true;
        self.stream_and_parameters(event.stream_id, event.parameters, &mut first);
        self.keep_active(keep_active, &mut first);
        self.event_digit_map(digit_map, &mut first);
        if let Some(signals) = signals {
            self.next(&mut first);
            self.embed(Some(signals), None);
        }
        self.notify(notify, reset_events, &mut first);
        self.close();
    }

    fn event_buffer(&mut self, specs: &[EventSpec<'_>]) {
        self.token(Token::EventBuffer);
        if specs.is_empty() {
            return;
        }
        self.braces(specs, |w, spec| {
            w.package_name(&spec.name);
            w.observed_parameters(spec.stream_id, spec.parameters);
        });
    }

    fn observed_parameters(&mut self, stream_id: Option<u16>, parameters: &[EventParameter<'_>]) {
        if stream_id.is_some() || !parameters.is_empty() {
            self.open();
            self.stream_and_parameters(stream_id, parameters, &mut true);
            self.close();
        }
    }

    pub(super) fn observed_events(&mut self, events: &ObservedEventsDescriptor<'_>) {
        self.token(Token::ObservedEvents);
        self.equals();
        self.request_id(events.request_id);
        if events.events.is_empty() {
            self.fail("observed events without an event");
        }
        self.braces(events.events, Self::observed_event);
    }

    fn observed_event(&mut self, event: &ObservedEvent<'_>) {
        if let Some(time) = &event.time {
            self.time(time);
            self.out.push(b':');
        }
        self.package_name(&event.name);
        self.observed_parameters(event.stream_id, event.parameters);
    }

    fn time(&mut self, time: &TimeNotation<'_>) {
        self.raw(time.date);
        self.out.push(b'T');
        self.raw(time.time);
    }

    pub(super) fn signals(&mut self, signals: &[SignalRequest<'_>]) {
        self.token(Token::Signals);
        if signals.is_empty() {
            return;
        }
        self.braces(signals, |w, request| match request {
            SignalRequest::Signal(signal) => w.signal(signal),
            SignalRequest::List(list) => {
                w.token(Token::SignalList);
                w.equals();
                w.number(u32::from(list.id));
                w.braces(list.signals, Self::signal);
            }
        });
    }

    fn signal(&mut self, signal: &Signal<'_>) {
        self.package_name(&signal.name);
        let Signal {
            name: _,
            stream_id,
            signal_type,
            duration,
            notify_completion,
            keep_active,
            parameters,
            direction,
            request_id,
            intersignal_delay,
        } = *signal;
        let nothing = stream_id.is_none()
            && signal_type.is_none()
            && duration.is_none()
            && notify_completion.is_none_or(|reasons| reasons.is_empty())
            && keep_active != Some(true)
            && parameters.is_empty()
            && direction.is_none()
            && request_id.is_none()
            && intersignal_delay.is_none();
        if nothing {
            return;
        }
        self.open();
        let mut first = true;
        self.stream_and_parameters(stream_id, &[], &mut first);
        if let Some(kind) = signal_type {
            self.next(&mut first);
            self.token(Token::SignalType);
            self.equals();
            self.token(match kind {
                SignalType::Brief => Token::Brief,
                SignalType::OnOff => Token::OnOff,
                SignalType::TimeOut => Token::TimeOut,
            });
        }
        self.small_number(Token::Duration, duration, &mut first);
        if let Some(reasons) = notify_completion.filter(|reasons| !reasons.is_empty()) {
            self.next(&mut first);
            self.token(Token::NotifyCompletion);
            self.equals();
            self.braces(reasons.as_slice(), |w, reason| {
                w.token(match reason {
                    NotificationReason::OnTimeOut => Token::TimeOut,
                    NotificationReason::OnInterruptByEvent => Token::InterruptByEvent,
                    NotificationReason::OnInterruptByNewSignal => Token::InterruptByNewSignal,
                    NotificationReason::OtherReason => Token::OtherReason,
                    NotificationReason::OnIteration => Token::Iteration,
                });
            });
        }
        self.keep_active(keep_active, &mut first);
        for parameter in parameters {
            self.next(&mut first);
            self.name(&parameter.name);
            self.parm_value(parameter.value, parameter.extra);
        }
        if let Some(direction) = direction {
            self.next(&mut first);
            self.token(Token::Direction);
            self.equals();
            self.token(match direction {
                SignalDirection::Internal => Token::Internal,
                SignalDirection::External => Token::External,
                SignalDirection::Both => Token::Both,
            });
        }
        if let Some(id) = request_id {
            self.next(&mut first);
            self.token(Token::RequestID);
            self.equals();
            self.request_id(id);
        }
        self.small_number(Token::IntsigDelay, intersignal_delay, &mut first);
        self.close();
    }

    fn small_number(&mut self, token: Token, number: Option<u16>, first: &mut bool) {
        if let Some(number) = number {
            self.next(first);
            self.token(token);
            self.equals();
            self.number(u32::from(number));
        }
    }

    pub(super) fn service_change_parm(&mut self, parm: &ServiceChangeParm<'_>) {
        self.token(Token::Services);
        self.open();
        self.token(Token::Method);
        self.equals();
        self.token(match parm.method {
            ServiceChangeMethod::Failover => Token::Failover,
            ServiceChangeMethod::Forced => Token::Forced,
            ServiceChangeMethod::Graceful => Token::Graceful,
            ServiceChangeMethod::Restart => Token::Restart,
            ServiceChangeMethod::Disconnected => Token::Disconnected,
            ServiceChangeMethod::HandOff => Token::HandOff,
        });
        let mut first = false;
        self.address_version_profile(parm.address, parm.version, parm.profile, &mut first);
        if let Some(reason) = parm.reason.first() {
            self.next(&mut first);
            self.token(Token::Reason);
            self.equals();
            // Erlang always quotes it, and the standard's examples do.
            if self.style.erlang || reason.quoted {
                self.quoted(reason.octets);
            } else {
                self.value(reason);
            }
        }
        if let Some(delay) = parm.delay {
            self.next(&mut first);
            self.token(Token::Delay);
            self.equals();
            self.number(delay);
        }
        self.mgc_id_and_time(parm.mgc_id, parm.timestamp, &mut first);
        if let Some(info) = parm.info {
            self.audit_items(info, &mut first);
        }
        if parm.incomplete {
            self.next(&mut first);
            self.token(Token::ServiceChangeIncomplete);
        }
        let record = self.service_changes;
        self.service_changes = record.saturating_add(1);
        for extension in of_record(self.extensions, record) {
            if let ExtensionContent::Text(parameter) = &extension.content {
                self.next(&mut first);
                self.name(&parameter.name);
                self.parm_value(parameter.value, parameter.extra);
            }
        }
        self.close();
    }

    pub(super) fn service_change_res_parm(&mut self, parm: &ServiceChangeResParm<'_>) {
        if *parm == ServiceChangeResParm::default() {
            return;
        }
        self.open();
        self.token(Token::Services);
        self.open();
        let mut first = true;
        self.address_version_profile(parm.address, parm.version, parm.profile, &mut first);
        self.mgc_id_and_time(parm.mgc_id, parm.timestamp, &mut first);
        self.close();
        self.close();
    }

    fn address_version_profile(
        &mut self,
        address: Option<ServiceChangeAddress<'_>>,
        version: Option<u8>,
        profile: Option<ServiceChangeProfile<'_>>,
        first: &mut bool,
    ) {
        if let Some(address) = address {
            self.next(first);
            self.token(Token::ServiceChangeAddress);
            self.equals();
            match address {
                ServiceChangeAddress::Port(port) => self.number(u32::from(port)),
                ServiceChangeAddress::Ip4(address) => self.mid(&MId::Ip4(address)),
                ServiceChangeAddress::Ip6(address) => self.mid(&MId::Ip6(address)),
                ServiceChangeAddress::Domain(name) => self.mid(&MId::Domain(name)),
                ServiceChangeAddress::Device(name) => self.mid(&MId::Device(name)),
                ServiceChangeAddress::Mtp(octets) => self.mid(&MId::Mtp(octets)),
            }
        }
        if let Some(version) = version {
            self.next(first);
            self.token(Token::Version);
            self.equals();
            self.number(u32::from(version));
        }
        if let Some(profile) = profile {
            self.next(first);
            self.token(Token::Profile);
            self.equals();
            self.name(&profile.name);
            self.out.push(b'/');
            self.number(u32::from(profile.version));
        }
    }

    fn mgc_id_and_time(
        &mut self,
        mgc_id: Option<MId<'_>>,
        time: Option<TimeNotation<'_>>,
        first: &mut bool,
    ) {
        if let Some(mid) = mgc_id {
            self.next(first);
            self.token(Token::MgcId);
            self.equals();
            self.mid(&mid);
        }
        if let Some(time) = time {
            self.next(first);
            self.time(&time);
        }
    }
}

/// Whether actions say nothing that text could write.
fn empty(actions: &RequestedActions<'_>) -> bool {
    actions.keep_active != Some(true)
        && actions.digit_map.is_none()
        && actions.second_event.is_none()
        && actions.signals.is_none()
        && actions.notify.is_none()
        && !actions.reset_events
}
