//! Media, properties, digit maps, statistics, packages.

use crate::{
    error::ErrorKind,
    message::{
        audit::{AuditDescriptor, AuditToken, AuditTokens},
        descriptor::{
            AmmDescriptor, AuditReturnParameter, DigitMapDescriptor, DigitMapValue,
            ModemDescriptor, ModemType, MuxDescriptor, MuxType, PackagesItem, StatisticsParameter,
        },
        media::{
            EventBufferControl, ExtraInfo, LocalControlDescriptor, LocalRemote, MediaDescriptor,
            PropertyParm, Relation, ServiceState, StreamDescriptor, StreamMode, StreamParms,
            Streams, TerminationStateDescriptor,
        },
    },
    name::Value,
    text::{
        lexer::{Parser, Res, once, within},
        token::Token,
    },
};

impl<'a> Parser<'a> {
    #[inline]
    pub(super) fn amm_descriptor(&mut self) -> Res<AmmDescriptor<'a>> {
        let (token, _) = self.token()?;
        Ok(match token {
            Token::Media => AmmDescriptor::Media(within!(self, "Media", self.media())?),
            Token::Events => AmmDescriptor::Events(within!(self, "Events", self.events())?),
            Token::Signals => AmmDescriptor::Signals(within!(self, "Signals", self.signals())?),
            Token::DigitMap => {
                AmmDescriptor::DigitMap(within!(self, "DigitMap", self.digit_map())?)
            }
            Token::Audit => AmmDescriptor::Audit(within!(self, "Audit", self.audit())?),
            Token::EventBuffer => {
                AmmDescriptor::EventBuffer(within!(self, "EventBuffer", self.event_buffer())?)
            }
            Token::Statistics => {
                AmmDescriptor::Statistics(within!(self, "Statistics", self.statistics())?)
            }
            Token::Mux => AmmDescriptor::Mux(within!(self, "Mux", self.mux())?),
            Token::Modem => AmmDescriptor::Modem(within!(self, "Modem", self.modem())?),
            _ => {
                return self.fail_word(
                    ErrorKind::Syntax,
                    "Media, Events, Signals, DigitMap, Audit, EventBuffer, Statistics, Mux or Modem",
                );
            }
        })
    }

    /// Reads the descriptors of a termination, up to the closing brace; the opening one has been read.
    pub(super) fn audit_return(&mut self) -> Res<&'a [AuditReturnParameter<'a>]> {
        let mut parameters = self.arena.growing(2);
        let mut empty = AuditTokens::empty();
        loop {
            let (token, _) = self.token()?;
            let bare = matches!(self.peek(), b',' | b'}');
            match empty_item(token).filter(|_| bare) {
                Some(item) => _ = empty.add(item),
                None => match self.audit_return_parameter(token)? {
                    // Empty braces are the same as no braces.
                    AuditReturnParameter::Statistics([]) => _ = empty.add(AuditToken::Statistics),
                    parameter => parameters.push(parameter),
                },
            }
            if !self.more()? {
                break;
            }
        }
        if !empty.is_empty() {
            let empty = AuditDescriptor {
                tokens: Some(empty),
                properties: None,
            };
            parameters.push(AuditReturnParameter::Empty(self.arena.keep(empty)));
        }
        Ok(parameters.into_bump_slice())
    }

    /// Parses the rest of a descriptor after its word.
    fn audit_return_parameter(&mut self, token: Token) -> Res<AuditReturnParameter<'a>> {
        use AuditReturnParameter as P;
        Ok(match token {
            Token::Error => {
                let error = within!(self, "Error", self.error_rest())?;
                P::Error(self.arena.keep(error))
            }
            Token::Media => P::Media(within!(self, "Media", self.media())?),
            Token::Events => P::Events(within!(self, "Events", self.events())?),
            Token::Signals => P::Signals(within!(self, "Signals", self.signals())?),
            Token::DigitMap => P::DigitMap(within!(self, "DigitMap", self.digit_map())?),
            Token::ObservedEvents => {
                P::ObservedEvents(within!(self, "ObservedEvents", self.observed_events())?)
            }
            Token::EventBuffer => {
                P::EventBuffer(within!(self, "EventBuffer", self.event_buffer())?)
            }
            Token::Statistics => P::Statistics(within!(self, "Statistics", self.statistics())?),
            Token::Packages => P::Packages(within!(self, "Packages", self.packages())?),
            Token::Mux => P::Mux(within!(self, "Mux", self.mux())?),
            Token::Modem => P::Modem(within!(self, "Modem", self.modem())?),
            _ => {
                return self.fail_word(
                    ErrorKind::Syntax,
                    "Media, Events, Signals, DigitMap, ObservedEvents, EventBuffer, \
                     Statistics, Packages, Mux, Modem or Error",
                );
            }
        })
    }

    fn media(&mut self) -> Res<&'a MediaDescriptor<'a>> {
        self.open()?;
        let mut termination_state = None;
        let mut one = StreamParms::default();
        let mut is_one = false;
        let mut many = self.arena.growing(0);
        loop {
            let (token, _) = self.token()?;
            match token {
                Token::Stream => {
                    let stream = within!(self, "Stream", self.stream())?;
                    many.push(stream);
                }
                Token::TerminationState => {
                    let state = within!(self, "TerminationState", self.termination_state())?;
                    once!(self, termination_state, state);
                }
                _ => {
                    self.stream_parm(token, &mut one)?;
                    is_one = true;
                }
            }
            if !self.more()? {
                break;
            }
        }
        let streams = match (is_one, many.is_empty()) {
            (true, true) => Some(Streams::One(self.arena.keep(one))),
            (false, false) => Some(Streams::Multi(many.into_bump_slice())),
            (false, true) => None,
            (true, false) => {
                return self.fail_word(
                    ErrorKind::Cardinality,
                    "streams with and without numbers in one Media",
                );
            }
        };
        Ok(self.arena.keep(MediaDescriptor {
            termination_state,
            streams,
        }))
    }

    fn stream(&mut self) -> Res<StreamDescriptor<'a>> {
        let id = self.equals_uint16()?;
        self.open()?;
        let mut parms = StreamParms::default();
        loop {
            let (token, _) = self.token()?;
            self.stream_parm(token, &mut parms)?;
            if !self.more()? {
                return Ok(StreamDescriptor { id, parms });
            }
        }
    }

    fn stream_parm(&mut self, token: Token, parms: &mut StreamParms<'a>) -> Res<()> {
        match token {
            Token::LocalControl => {
                within!(
                    self,
                    "LocalControl",
                    self.local_control(&mut parms.local_control)
                )?;
            }
            Token::Local => {
                let sdp = within!(self, "Local", self.session_description())?;
                once!(self, parms.local, sdp);
            }
            Token::Remote => {
                let sdp = within!(self, "Remote", self.session_description())?;
                once!(self, parms.remote, sdp);
            }
            Token::Statistics => {
                let statistics = within!(self, "Statistics", self.statistics())?;
                once!(self, parms.statistics, statistics);
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

    pub(super) fn session_description(&mut self) -> Res<LocalRemote<'a>> {
        if self.peek() != b'{' {
            return self.fail("`{`");
        }
        self.at += 1;
        self.octets().map(LocalRemote::Sdp)
    }

    fn local_control(&mut self, given: &mut Option<LocalControlDescriptor<'a>>) -> Res<()> {
        self.open()?;
        let mut control = given.unwrap_or_default();
        let mut properties = self.arena.growing(0);
        properties.extend_from_slice(control.properties);
        loop {
            let (token, word) = self.token()?;
            match token {
                Token::Mode => {
                    self.equals()?;
                    let mode = self.stream_mode()?;
                    once!(self, control.mode, mode);
                }
                Token::ReservedValue => {
                    let value = self.equals_on_off()?;
                    once!(self, control.reserve_value, value);
                }
                Token::ReservedGroup => {
                    let value = self.equals_on_off()?;
                    once!(self, control.reserve_group, value);
                }
                _ => properties.push(self.property_of(word)?),
            }
            if !self.more()? {
                break;
            }
        }
        control.properties = properties.into_bump_slice();
        *given = Some(control);
        Ok(())
    }

    pub(super) fn stream_mode(&mut self) -> Res<StreamMode> {
        Ok(match self.token()?.0 {
            Token::Sendonly => StreamMode::SendOnly,
            Token::Recvonly => StreamMode::RecvOnly,
            Token::Sendrecv => StreamMode::SendRecv,
            Token::Inactive => StreamMode::Inactive,
            Token::Loopback => StreamMode::LoopBack,
            _ => {
                return self.fail_word(
                    ErrorKind::Syntax,
                    "SendOnly, ReceiveOnly, SendReceive, Inactive or Loopback",
                );
            }
        })
    }

    pub(super) fn service_state(&mut self) -> Res<ServiceState> {
        Ok(match self.token()?.0 {
            Token::Test => ServiceState::Test,
            Token::OutOfService => ServiceState::OutOfService,
            Token::InService => ServiceState::InService,
            _ => return self.fail_word(ErrorKind::Syntax, "Test, OutOfService or InService"),
        })
    }

    fn termination_state(&mut self) -> Res<TerminationStateDescriptor<'a>> {
        self.open()?;
        let mut event_buffer_control = None;
        let mut service_state = None;
        let mut properties = self.arena.growing(0);
        loop {
            let (token, word) = self.token()?;
            match token {
                Token::ServiceStates => {
                    self.equals()?;
                    let state = self.service_state()?;
                    once!(self, service_state, state);
                }
                Token::Buffer => {
                    self.equals()?;
                    let control = match self.token()?.0 {
                        Token::Off => EventBufferControl::Off,
                        Token::LockStep => EventBufferControl::LockStep,
                        _ => return self.fail_word(ErrorKind::Syntax, "OFF or LockStep"),
                    };
                    once!(self, event_buffer_control, control);
                }
                _ => properties.push(self.property_of(word)?),
            }
            if !self.more()? {
                return Ok(TerminationStateDescriptor {
                    properties: properties.into_bump_slice(),
                    event_buffer_control,
                    service_state,
                });
            }
        }
    }

    /// A property whose name has been read.
    #[inline]
    pub(super) fn property_of(&mut self, word: &'a [u8]) -> Res<PropertyParm<'a>> {
        let name = self.package_name_of(word)?;
        let (value, extra) = self.parm_value()?;
        Ok(PropertyParm { name, value, extra })
    }

    /// The value of a property or parameter, or its values, with the sign in front.
    #[inline]
    pub(super) fn parm_value(&mut self) -> Res<(&'a [Value<'a>], Option<ExtraInfo>)> {
        let relation = match self.peek() {
            b'=' => None,
            b'>' => Some(Relation::GreaterThan),
            b'<' => Some(Relation::SmallerThan),
            b'#' => Some(Relation::UnequalTo),
            _ => return self.fail("`=`, `#`, `<` or `>`"),
        };
        self.at += 1;
        self.skip();
        if relation.is_none() && matches!(self.peek(), b'{' | b'[') {
            return self.alternatives();
        }
        let value = self.value()?;
        let values = std::slice::from_ref(self.arena.keep(value));
        Ok((values, relation.map(ExtraInfo::Relation)))
    }

    fn alternatives(&mut self) -> Res<(&'a [Value<'a>], Option<ExtraInfo>)> {
        let all = self.peek() == b'[';
        self.at += 1;
        self.skip();
        let mut values = self.arena.growing(2);
        values.push(self.value()?);
        let extra = if all && self.take(b':') {
            values.push(self.value()?);
            ExtraInfo::Range(true)
        } else {
            while self.take(b',') {
                values.push(self.value()?);
            }
            ExtraInfo::Sublist(all)
        };
        if all {
            self.expect(b']', "`,`, `:` or `]`")?;
        } else {
            self.expect(b'}', "`,` or `}`")?;
        }
        Ok((values.into_bump_slice(), Some(extra)))
    }

    pub(super) fn statistics(&mut self) -> Res<&'a [StatisticsParameter<'a>]> {
        let mut statistics = self.arena.growing(0);
        if !self.take(b'{') || self.take(b'}') {
            return Ok(&[]);
        }
        loop {
            let name = self.package_name()?;
            let value: Option<&[Value<'_>]> = if !self.take(b'=') {
                None
            } else if self.take(b'[') {
                let mut values = self.arena.growing(2);
                loop {
                    values.push(self.value()?);
                    if !self.take(b',') {
                        self.expect(b']', "`,` or `]`")?;
                        break;
                    }
                }
                Some(values.into_bump_slice())
            } else {
                let value = self.value()?;
                Some(std::slice::from_ref(self.arena.keep(value)))
            };
            statistics.push(StatisticsParameter { name, value });
            if !self.more()? {
                return Ok(statistics.into_bump_slice());
            }
        }
    }

    fn packages(&mut self) -> Res<&'a [PackagesItem<'a>]> {
        let mut items = self.arena.growing(4);
        self.open()?;
        loop {
            items.push(self.package()?);
            if !self.more()? {
                return Ok(items.into_bump_slice());
            }
        }
    }

    /// `name-version`.
    pub(super) fn package(&mut self) -> Res<PackagesItem<'a>> {
        let word = self.word()?;
        let dash = word.iter().rposition(|octet| *octet == b'-').unwrap_or(0);
        let (name, version) = word.split_at_checked(dash).unwrap_or_default();
        if name.is_empty() {
            return self.fail_word(ErrorKind::Syntax, "package-version");
        }
        let name = self.name_of(name)?;
        let version = version.get(1..).unwrap_or_default();
        let version = self.number_of(version, 99, "a version up to 99")? as u8;
        Ok(PackagesItem { name, version })
    }

    fn mux(&mut self) -> Res<&'a MuxDescriptor<'a>> {
        self.equals()?;
        let mux_type = match self.token()?.0 {
            Token::H221 => MuxType::H221,
            Token::H223 => MuxType::H223,
            Token::H226 => MuxType::H226,
            Token::V76 => MuxType::V76,
            Token::Nx64k => MuxType::Nx64k,
            _ => return self.fail_word(ErrorKind::Syntax, "H221, H223, H226, V76 or Nx64Kservice"),
        };
        let termination_ids = self.braced_termination_ids()?;
        Ok(self.arena.keep(MuxDescriptor {
            mux_type,
            termination_ids,
            non_standard: None,
        }))
    }

    fn modem(&mut self) -> Res<&'a ModemDescriptor<'a>> {
        let mut types = self.arena.growing(1);
        if self.take(b'[') {
            loop {
                types.push(self.modem_type()?);
                if !self.take(b',') {
                    self.expect(b']', "`,` or `]`")?;
                    break;
                }
            }
        } else {
            self.equals()?;
            types.push(self.modem_type()?);
        }
        let mut properties = self.arena.growing(0);
        if self.take(b'{') {
            loop {
                let word = self.word()?;
                properties.push(self.property_of(word)?);
                if !self.more()? {
                    break;
                }
            }
        }
        Ok(self.arena.keep(ModemDescriptor {
            types: types.into_bump_slice(),
            properties: properties.into_bump_slice(),
            non_standard: None,
        }))
    }

    fn modem_type(&mut self) -> Res<ModemType> {
        Ok(match self.token()?.0 {
            Token::V18 => ModemType::V18,
            Token::V22 => ModemType::V22,
            Token::V22Bis => ModemType::V22Bis,
            Token::V32 => ModemType::V32,
            Token::V32Bis => ModemType::V32Bis,
            Token::V34 => ModemType::V34,
            Token::V90 => ModemType::V90,
            Token::V91 => ModemType::V91,
            Token::SynchIsdn => ModemType::SynchIsdn,
            _ => return self.fail_word(ErrorKind::Syntax, "a type of modem"),
        })
    }

    /// Reads the rest after the word `DigitMap`: a name, a value, or both.
    fn digit_map(&mut self) -> Res<&'a DigitMapDescriptor<'a>> {
        let mut name = None;
        if self.take(b'=') && self.peek() != b'{' {
            let word = self.word()?;
            name = Some(self.name_of(word)?);
        }
        let value = if self.peek() == b'{' {
            Some(self.digit_map_value()?)
        } else {
            None
        };
        if name.is_none() && value.is_none() {
            return self.fail("a name or `{`");
        }
        Ok(self.arena.keep(DigitMapDescriptor { name, value }))
    }

    /// `{T:4,S:2,L:16,(patterns)}`.
    pub(super) fn digit_map_value(&mut self) -> Res<DigitMapValue<'a>> {
        if self.peek() != b'{' {
            return self.fail("`{`");
        }
        self.at += 1;
        self.skip();
        let octets = self.octets()?;
        match DigitMapValue::parse(octets) {
            Some(value) => Ok(value),
            None => {
                self.word_at = self.at.saturating_sub(1);
                self.fail_word(
                    ErrorKind::Syntax,
                    "timers T, S, L and Z up to 99, then patterns",
                )
            }
        }
    }
}

impl<'a> DigitMapValue<'a> {
    /// Removes the timers from the beginning of the text between the braces.
    pub(crate) fn parse(octets: &'a [u8]) -> Option<Self> {
        let mut rest = behind_blanks(octets).trim_ascii_end();
        let mut timers = [None; 4];
        while let Some((letter, after)) = rest.split_first() {
            let which = match letter.to_ascii_uppercase() {
                b'T' => 0,
                b'S' => 1,
                b'L' => 2,
                b'Z' => 3,
                _ => break,
            };
            let Some(after) = behind_blanks(after).strip_prefix(b":") else {
                break;
            };
            let after = behind_blanks(after);
            let len = after.iter().position(|octet| !octet.is_ascii_digit())?;
            let (digits, after) = after.split_at_checked(len)?;
            if len == 0 || len > 2 {
                return None;
            }
            let value = digits
                .iter()
                .fold(0, |sum, digit| sum * 10 + (digit - b'0'));
            if timers.get_mut(which)?.replace(value).is_some() {
                return None;
            }
            rest = behind_blanks(behind_blanks(after).strip_prefix(b",")?);
        }
        let [start_timer, short_timer, long_timer, duration_timer] = timers;
        Some(Self {
            start_timer,
            short_timer,
            long_timer,
            body: rest,
            duration_timer,
        })
    }
}

/// The text behind white space and comments (H.248.1 Annex B.2, LWSP).
fn behind_blanks(text: &[u8]) -> &[u8] {
    let mut rest = text.trim_ascii_start();
    while rest.first() == Some(&b';') {
        let end = rest.iter().position(|octet| matches!(octet, b'\r' | b'\n'));
        let behind = rest.get(end.unwrap_or(rest.len())..);
        rest = behind.unwrap_or_default().trim_ascii_start();
    }
    rest
}

/// The meaning of a descriptor's word without content: an empty descriptor.
fn empty_item(token: Token) -> Option<AuditToken> {
    Some(match token {
        Token::Mux => AuditToken::Mux,
        Token::Modem => AuditToken::Modem,
        Token::Media => AuditToken::Media,
        Token::DigitMap => AuditToken::DigitMap,
        Token::ObservedEvents => AuditToken::ObservedEvents,
        Token::Packages => AuditToken::Packages,
        Token::Statistics => AuditToken::Statistics,
        _ => return None,
    })
}
