//! Events and signals.

use crate::{
    message::event::{
        EventDm, EventParameter, EventSpec, EventsDescriptor, NotificationReason, NotifyBehaviour,
        ObservedEvent, ObservedEventsDescriptor, RequestedActions, RequestedEvent,
        SecondEventsDescriptor, SecondRequestedActions, SecondRequestedEvent, Signal,
        SignalDirection, SignalRequest, SignalType,
    },
    name::Name,
    text::{token::Token, writer::TextWriter},
};

impl<const PRETTY: bool> TextWriter<'_, PRETTY> {
    pub(super) fn events(&mut self, events: &EventsDescriptor<'_>) {
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
            _ => self.fail("events without a request identifier"),
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
            (None, [_, ..]) => self.fail("events without a request identifier"),
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

    pub(super) fn event_buffer(&mut self, specs: &[EventSpec<'_>]) {
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
}

/// Whether actions have nothing that text could write.
fn empty(actions: &RequestedActions<'_>) -> bool {
    actions.keep_active != Some(true)
        && actions.digit_map.is_none()
        && actions.second_event.is_none()
        && actions.signals.is_none()
        && actions.notify.is_none()
        && !actions.reset_events
}
