//! Events and signals.

use crate::{
    error::ErrorKind,
    message::{
        ALL_REQUESTS,
        event::{
            EventDm, EventParameter, EventSpec, EventsDescriptor, NotificationReason,
            NotifyBehaviour, NotifyCompletion, ObservedEvent, ObservedEventsDescriptor,
            RegulatedEmbeddedDescriptor, RequestedActions, RequestedEvent, SecondEventsDescriptor,
            SecondRequestedActions, SecondRequestedEvent, SeqSigList, SigParameter, Signal,
            SignalDirection, SignalRequest, SignalType, TimeNotation,
        },
    },
    name::Name,
    text::{
        lexer::{Parser, Res, once, once_flag, within},
        token::{Token, token},
    },
};

/// The content of embedded descriptors.
type Embed<'a> = (
    Option<&'a [SignalRequest<'a>]>,
    Option<SecondEventsDescriptor<'a>>,
);

/// The content of the braces of an event, embedded or not.
struct EventBody<'a> {
    /// `None` without an action.
    actions: Option<RequestedActions<'a>>,
    stream_id: Option<u16>,
    parameters: &'a [EventParameter<'a>],
}

impl<'a> Parser<'a> {
    pub(super) fn request_id(&mut self) -> Res<u32> {
        match self.word()? {
            b"*" => Ok(ALL_REQUESTS),
            digits => self.number_of(digits, u32::MAX, "a request identifier, or *"),
        }
    }

    /// Reads the rest after the word `Events`: nothing, or a number and events.
    pub(super) fn events(&mut self) -> Res<EventsDescriptor<'a>> {
        if !self.take(b'=') {
            return Ok(EventsDescriptor {
                request_id: None,
                events: &[],
            });
        }
        let request_id = Some(self.request_id()?);
        let mut events = self.arena.growing(1);
        if self.take(b'{') {
            loop {
                events.push(self.requested_event()?);
                if !self.more()? {
                    break;
                }
            }
        }
        Ok(EventsDescriptor {
            request_id,
            events: events.into_bump_slice(),
        })
    }

    fn requested_event(&mut self) -> Res<RequestedEvent<'a>> {
        let word = self.word()?;
        if let Some((name, parameters)) = self.parenthesised(word)? {
            return Ok(RequestedEvent {
                name,
                stream_id: None,
                action: None,
                parameters,
            });
        }
        let name = self.package_name_of(word)?;
        let mut event = RequestedEvent {
            name,
            stream_id: None,
            action: None,
            parameters: &[],
        };
        if self.take(b'{') {
            within!(self, "event", self.event_parameters(&mut event))?;
        }
        Ok(event)
    }

    fn event_parameters(&mut self, event: &mut RequestedEvent<'a>) -> Res<()> {
        let body = self.event_body::<false>()?;
        event.stream_id = body.stream_id;
        event.parameters = body.parameters;
        event.action = body.actions.map(|actions| self.arena.keep(actions));
        Ok(())
    }

    /// Reads the rest of an event after the opening brace. An embedded event can embed signals only.
    fn event_body<const EMBEDDED: bool>(&mut self) -> Res<EventBody<'a>> {
        let mut actions = RequestedActions::default();
        let mut stream_id = None;
        let mut parameters = self.arena.growing(0);
        let mut any_action = false;
        loop {
            let word = self.word()?;
            let sign = self.peek();
            let mut has_action = true;
            match token(word) {
                Token::KeepActive if matches!(sign, b',' | b'}') => {
                    once!(self, actions.keep_active, true);
                }
                Token::Embed if EMBEDDED && sign == b'{' => {
                    self.open()?;
                    self.keyword(Token::Signals, "Signals")?;
                    let signals = within!(self, "Signals", self.signals())?;
                    self.expect(b'}', "`}`")?;
                    once!(self, actions.signals, signals);
                }
                Token::Embed if sign == b'{' => {
                    self.enter()?;
                    let (signals, second_event) = within!(self, "Embed", self.embed())?;
                    self.depth = self.depth.saturating_sub(1);
                    if actions.signals.is_some() || actions.second_event.is_some() {
                        return self.twice();
                    }
                    (actions.signals, actions.second_event) = (signals, second_event);
                }
                Token::DigitMap if matches!(sign, b'=' | b'{') => {
                    let map = within!(self, "DigitMap", self.event_digit_map())?;
                    once!(self, actions.digit_map, map);
                }
                Token::NotifyImmediate if matches!(sign, b',' | b'}') => {
                    once!(self, actions.notify, NotifyBehaviour::Immediate(()));
                }
                Token::NeverNotify if matches!(sign, b',' | b'}') => {
                    once!(self, actions.notify, NotifyBehaviour::Never(()));
                }
                Token::NotifyRegulated if matches!(sign, b',' | b'}' | b'{') => {
                    let notify = within!(self, "RegulatedNotify", self.regulated())?;
                    once!(self, actions.notify, notify);
                }
                Token::ResetEventsDescriptor if matches!(sign, b',' | b'}') => {
                    once_flag!(self, actions.reset_events);
                }
                Token::Stream if sign == b'=' => {
                    let id = self.equals_uint16()?;
                    once!(self, stream_id, id);
                    has_action = false;
                }
                _ => {
                    parameters.push(self.event_parameter(word)?);
                    has_action = false;
                }
            }
            any_action |= has_action;
            if !self.more()? {
                break;
            }
        }
        Ok(EventBody {
            actions: any_action.then_some(actions),
            stream_id,
            parameters: parameters.into_bump_slice(),
        })
    }

    /// `al/of(strict=state)`, which the call flows of RFC 3525 Appendix I have where its grammar
    /// has braces: parentheses are characters of words. In lenient reading only.
    fn parenthesised(
        &mut self,
        word: &'a [u8],
    ) -> Res<Option<(Name<'a>, &'a [EventParameter<'a>])>> {
        let opening = word.iter().position(|octet| *octet == b'(');
        let Some(opening) = opening.filter(|_| !self.strict && self.peek() == b'=') else {
            return Ok(None);
        };
        let (event, rest) = word.split_at_checked(opening).unwrap_or_default();
        let event = self.package_name_of(event)?;
        let mut name = self.name_of(rest.get(1..).unwrap_or_default())?;
        let mut parameters = self.arena.growing(1);
        loop {
            self.equals()?;
            let mut value = self.value()?;
            let last = !value.quoted && value.octets.ends_with(b")");
            if last {
                value.octets = value.octets.strip_suffix(b")").unwrap_or_default();
            }
            let value = std::slice::from_ref(self.arena.keep(value));
            parameters.push(EventParameter {
                name,
                value,
                extra: None,
            });
            if last {
                return Ok(Some((event, parameters.into_bump_slice())));
            }
            self.expect(b',', "`,` or `)`")?;
            let word = self.word()?;
            name = self.name_of(word)?;
        }
    }

    fn event_parameter(&mut self, word: &'a [u8]) -> Res<EventParameter<'a>> {
        let name = self.name_of(word)?;
        let (value, extra) = self.parm_value()?;
        Ok(EventParameter { name, value, extra })
    }

    fn event_digit_map(&mut self) -> Res<EventDm<'a>> {
        if self.take(b'=') && self.peek() != b'{' {
            let word = self.word()?;
            return self.name_of(word).map(EventDm::Name);
        }
        let value = self.digit_map_value()?;
        Ok(EventDm::Value(self.arena.keep(value)))
    }

    /// `{` signals, events, or both `}`.
    fn embed(&mut self) -> Res<Embed<'a>> {
        let mut signals = None;
        let mut events = None;
        self.open()?;
        loop {
            match self.token()?.0 {
                Token::Signals => {
                    let parsed = within!(self, "Signals", self.signals())?;
                    once!(self, signals, parsed);
                }
                Token::Events => {
                    let parsed = within!(self, "Events", self.second_events())?;
                    once!(self, events, parsed);
                }
                _ => return self.fail_word(ErrorKind::Syntax, "Signals or Events"),
            }
            if !self.more()? {
                return Ok((signals, events));
            }
        }
    }

    fn regulated(&mut self) -> Res<NotifyBehaviour<'a>> {
        let mut regulated = RegulatedEmbeddedDescriptor {
            second_event: None,
            signals: None,
        };
        if self.take(b'{') {
            self.keyword(Token::Embed, "Embed")?;
            self.enter()?;
            let (signals, second_event) = within!(self, "Embed", self.embed())?;
            self.depth = self.depth.saturating_sub(1);
            regulated = RegulatedEmbeddedDescriptor {
                second_event,
                signals,
            };
            self.expect(b'}', "`}`")?;
        }
        Ok(NotifyBehaviour::Regulated(self.arena.keep(regulated)))
    }

    fn second_events(&mut self) -> Res<SecondEventsDescriptor<'a>> {
        if !self.take(b'=') {
            return Ok(SecondEventsDescriptor {
                request_id: None,
                events: &[],
            });
        }
        let request_id = Some(self.request_id()?);
        let mut events = self.arena.growing(1);
        self.open()?;
        loop {
            let name = self.package_name()?;
            let mut event = SecondRequestedEvent {
                name,
                stream_id: None,
                action: None,
                parameters: &[],
            };
            if self.take(b'{') {
                within!(self, "event", self.second_event_parameters(&mut event))?;
            }
            events.push(event);
            if !self.more()? {
                return Ok(SecondEventsDescriptor {
                    request_id,
                    events: events.into_bump_slice(),
                });
            }
        }
    }

    fn second_event_parameters(&mut self, event: &mut SecondRequestedEvent<'a>) -> Res<()> {
        let body = self.event_body::<true>()?;
        event.stream_id = body.stream_id;
        event.parameters = body.parameters;
        event.action = body.actions.map(|actions| {
            self.arena.keep(SecondRequestedActions {
                keep_active: actions.keep_active,
                digit_map: actions.digit_map,
                signals: actions.signals,
                notify: actions.notify,
                reset_events: actions.reset_events,
            })
        });
        Ok(())
    }

    pub(super) fn event_buffer(&mut self) -> Res<&'a [EventSpec<'a>]> {
        if !self.take(b'{') {
            return Ok(&[]);
        }
        let mut specs = self.arena.growing(1);
        loop {
            let name = self.package_name()?;
            let (stream_id, parameters) = self.observed_parameters()?;
            specs.push(EventSpec {
                name,
                stream_id,
                parameters,
            });
            if !self.more()? {
                return Ok(specs.into_bump_slice());
            }
        }
    }

    pub(super) fn observed_events(&mut self) -> Res<ObservedEventsDescriptor<'a>> {
        self.equals()?;
        let request_id = self.request_id()?;
        self.open()?;
        let mut events = self.arena.growing(1);
        loop {
            let mut word = self.word()?;
            let mut time = None;
            if self.peek() == b':' {
                let Some(parsed) = TimeNotation::parse(word) else {
                    return self.fail_word(ErrorKind::Syntax, "yyyymmddThhmmssss");
                };
                time = Some(parsed);
                self.take(b':');
                word = self.word()?;
            }
            let (name, stream_id, parameters) = match self.parenthesised(word)? {
                Some((name, parameters)) => (name, None, parameters),
                None => {
                    let name = self.package_name_of(word)?;
                    let (stream_id, parameters) = self.observed_parameters()?;
                    (name, stream_id, parameters)
                }
            };
            events.push(ObservedEvent {
                name,
                stream_id,
                parameters,
                time,
            });
            if !self.more()? {
                let events = events.into_bump_slice();
                return Ok(ObservedEventsDescriptor { request_id, events });
            }
        }
    }

    fn observed_parameters(&mut self) -> Res<(Option<u16>, &'a [EventParameter<'a>])> {
        if !self.take(b'{') {
            return Ok((None, &[]));
        }
        let mut stream_id = None;
        let mut parameters = self.arena.growing(1);
        loop {
            let word = self.word()?;
            if token(word) == Token::Stream && self.peek() == b'=' {
                let id = self.equals_uint16()?;
                once!(self, stream_id, id);
            } else {
                parameters.push(self.event_parameter(word)?);
            }
            if !self.more()? {
                return Ok((stream_id, parameters.into_bump_slice()));
            }
        }
    }

    /// Reads the rest after the word `Signals`: nothing, or signals.
    pub(super) fn signals(&mut self) -> Res<&'a [SignalRequest<'a>]> {
        if !self.take(b'{') || self.take(b'}') {
            return Ok(&[]);
        }
        let mut requests = self.arena.growing(1);
        loop {
            let word = self.word()?;
            if token(word) == Token::SignalList && self.peek() == b'=' {
                let list = within!(self, "SignalList", self.signal_list())?;
                requests.push(SignalRequest::List(list));
            } else {
                let signal = self.signal_of(word)?;
                requests.push(SignalRequest::Signal(signal));
            }
            if !self.more()? {
                return Ok(requests.into_bump_slice());
            }
        }
    }

    fn signal_list(&mut self) -> Res<SeqSigList<'a>> {
        let id = self.equals_uint16()?;
        self.open()?;
        let mut signals = self.arena.growing(2);
        loop {
            let word = self.word()?;
            signals.push(self.signal_of(word)?);
            if !self.more()? {
                return Ok(SeqSigList {
                    id,
                    signals: signals.into_bump_slice(),
                });
            }
        }
    }

    pub(super) fn signal_of(&mut self, word: &'a [u8]) -> Res<Signal<'a>> {
        let name = self.package_name_of(word)?;
        let mut signal = Signal::new(name);
        if self.take(b'{') {
            within!(self, "signal", self.signal_parameters(&mut signal))?;
        }
        Ok(signal)
    }

    fn signal_parameters(&mut self, signal: &mut Signal<'a>) -> Res<()> {
        let mut parameters = self.arena.growing(0);
        loop {
            let word = self.word()?;
            let sign = self.peek();
            match token(word) {
                Token::KeepActive if matches!(sign, b',' | b'}') => {
                    once!(self, signal.keep_active, true);
                }
                Token::Stream if sign == b'=' => {
                    let id = self.equals_uint16()?;
                    once!(self, signal.stream_id, id);
                }
                Token::SignalType if sign == b'=' => {
                    self.equals()?;
                    let kind = match self.token()?.0 {
                        Token::OnOff => SignalType::OnOff,
                        Token::TimeOut => SignalType::TimeOut,
                        Token::Brief => SignalType::Brief,
                        _ => return self.fail_word(ErrorKind::Syntax, "OnOff, TimeOut or Brief"),
                    };
                    once!(self, signal.signal_type, kind);
                }
                Token::Duration if sign == b'=' => {
                    let duration = self.equals_uint16()?;
                    once!(self, signal.duration, duration);
                }
                Token::NotifyCompletion if sign == b'=' => {
                    let reasons = within!(self, "NotifyCompletion", self.notify_completion())?;
                    once!(self, signal.notify_completion, reasons);
                }
                Token::Direction if sign == b'=' => {
                    self.equals()?;
                    let direction = match self.token()?.0 {
                        Token::Internal => SignalDirection::Internal,
                        Token::External => SignalDirection::External,
                        Token::Both => SignalDirection::Both,
                        _ => {
                            return self.fail_word(ErrorKind::Syntax, "Internal, External or Both");
                        }
                    };
                    once!(self, signal.direction, direction);
                }
                Token::RequestID if sign == b'=' => {
                    self.equals()?;
                    let id = self.request_id()?;
                    once!(self, signal.request_id, id);
                }
                Token::IntsigDelay if sign == b'=' => {
                    let delay = self.equals_uint16()?;
                    once!(self, signal.intersignal_delay, delay);
                }
                _ => {
                    let name = self.name_of(word)?;
                    let (value, extra) = self.parm_value()?;
                    parameters.push(SigParameter { name, value, extra });
                }
            }
            if !self.more()? {
                signal.parameters = parameters.into_bump_slice();
                return Ok(());
            }
        }
    }

    fn notify_completion(&mut self) -> Res<NotifyCompletion> {
        let mut reasons = NotifyCompletion::empty();
        self.equals()?;
        self.open()?;
        loop {
            reasons.add(match self.token()?.0 {
                Token::TimeOut => NotificationReason::OnTimeOut,
                Token::InterruptByEvent => NotificationReason::OnInterruptByEvent,
                Token::InterruptByNewSignal => NotificationReason::OnInterruptByNewSignal,
                Token::OtherReason => NotificationReason::OtherReason,
                Token::Iteration => NotificationReason::OnIteration,
                _ => {
                    return self.fail_word(
                        ErrorKind::Syntax,
                        "TimeOut, IntByEvent, IntBySigDescr, OtherReason or Iteration",
                    );
                }
            });
            if !self.more()? {
                return Ok(reasons);
            }
        }
    }
}

impl<'a> Signal<'a> {
    /// A signal without parameters.
    #[must_use]
    pub fn new(name: Name<'a>) -> Self {
        Self {
            name,
            stream_id: None,
            signal_type: None,
            duration: None,
            notify_completion: None,
            keep_active: None,
            parameters: &[],
            direction: None,
            request_id: None,
            intersignal_delay: None,
        }
    }
}

impl<'a> TimeNotation<'a> {
    /// Splits `19990729T22000000`.
    pub(crate) fn parse(word: &'a [u8]) -> Option<Self> {
        let (date, rest) = word.split_at_checked(8)?;
        let time = rest
            .strip_prefix(b"T")
            .or_else(|| rest.strip_prefix(b"t"))?;
        let digits = date.iter().chain(time).all(u8::is_ascii_digit);
        (digits && time.len() == 8).then_some(Self { date, time })
    }
}
