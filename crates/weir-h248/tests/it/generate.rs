//! Arbitrary messages that every encoding can carry.

use weir_h248::{
    Arena, LocalRemote, Message, Name, TerminationId, Value,
    message::{
        ActionReply, ActionRequest, ContextRequest, ErrorDescriptor, Ip4Address, Ip6Address, MId,
        MessageBody, SegmentReply, TopologyDirection, TopologyRequest, Transaction, TransactionAck,
        TransactionPending, TransactionReply, TransactionRequest, TransactionResult,
        audit::{AuditDescriptor, AuditToken, AuditTokens},
        command::{
            AmmRequest, AmmsReply, Command, CommandReply, CommandRequest, NotifyReply,
            NotifyRequest, ServiceChangeRequest, SubtractRequest,
        },
        descriptor::{
            AmmDescriptor, AuditReturnParameter, DigitMapDescriptor, DigitMapValue, PackagesItem,
            StatisticsParameter,
        },
        event::{
            EventDm, EventParameter, EventsDescriptor, NotificationReason, NotifyCompletion,
            ObservedEvent, ObservedEventsDescriptor, RequestedActions, RequestedEvent,
            SecondEventsDescriptor, SecondRequestedEvent, SeqSigList, Signal, SignalRequest,
            SignalType, TimeNotation,
        },
        media::{
            ExtraInfo, LocalControlDescriptor, MediaDescriptor, PropertyParm, Relation,
            ServiceState, StreamDescriptor, StreamMode, StreamParms, Streams,
            TerminationStateDescriptor,
        },
        service::{
            ServiceChangeAddress, ServiceChangeMethod, ServiceChangeParm, ServiceChangeProfile,
        },
    },
};

/// Makes messages out of random numbers.
pub(crate) struct Generator<'a> {
    arena: &'a Arena,
    state: u64,
    version: u8,
    erlang_text: bool,
}

const PROPERTIES: &[&str] = &["nt/jit", "tdmc/gain", "tdmc/ec", "root/MGMaxPDUSize"];
const EVENTS: &[(&str, &str)] = &[
    ("al/on", "strict"),
    ("al/fl", "mindur"),
    ("dd/ce", "ds"),
    ("g/cause", "Generalcause"),
];
const SIGNALS: &[&str] = &["al/ri", "cg/rt", "cg/dt", "tonegen/pt", "ct/ct"];
const STATISTICS: &[&str] = &["rtp/ps", "nt/dur", "nt/os", "rtp/delay"];
const VALUES: &[&str] = &[
    "1",
    "on",
    "",
    "two words",
    "{x,y}",
    "G165",
    "a-b_c/d",
    "12345678901",
];
const PATHS: &[&str] = &[
    "11111111/00000000/00000000",
    "00000000/11111111/00001111",
    "*",
    "$",
    "11111111/*",
    "11111111/0000$",
    "10101010/*/00000001",
];

impl<'a> Generator<'a> {
    pub(crate) fn new(seed: u64, arena: &'a Arena) -> Self {
        Self {
            arena,
            // Odd, and another one for every seed.
            state: seed.wrapping_mul(2) | 1,
            erlang_text: false,
            version: 1,
        }
    }

    /// Leaves out the constructs that Erlang changes in text, which are the following exceptions:
    ///
    /// - it reads relations, ranges and lists of an event's parameter as plain values;
    /// - it does not write embedded signals when they are empty;
    /// - it takes no escaped brace, so none in a session description;
    /// - it takes the digits of an MTP address for its octets: two octets, whose digits are four;
    /// - it takes a context without braces in no reply (legal since version 3);
    /// - it takes no error behind the observed events of a Notify (RFC 3525 Annex B has it);
    /// - before version 3 it does not know `EmergencyOff`, in version 2 it takes one triple of a
    ///   topology, in version 1 it takes no `Events` without events;
    /// - it takes a group of an IPv6 address for a word of the protocol (`eb`): digits only;
    /// - it takes a segment in few places only, so none;
    /// - it takes lists of terminations in version 3 only, where they came into text.
    pub(crate) fn for_erlang_text(mut self) -> Self {
        self.erlang_text = true;
        self
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((self.state >> 33) % u64::from(bound)) as u32
    }

    fn flip(&mut self) -> bool {
        self.below(2) == 0
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.flip().then(|| make(self))
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u32) as usize]
    }

    fn number(&mut self) -> u32 {
        let bits = self.below(33);
        if bits == 0 {
            0
        } else {
            self.below(u32::MAX) >> (32 - bits)
        }
    }

    fn list<T: Copy>(&mut self, min: u32, mut make: impl FnMut(&mut Self) -> T) -> &'a [T] {
        let len = min + self.below(3);
        let items: Vec<T> = (0..len).map(|_| make(self)).collect();
        self.arena.list(&items)
    }

    pub(crate) fn message(&mut self) -> Message<'a> {
        self.version = 1 + self.below(3) as u8;
        let port = self.maybe(|g| g.number() as u16);
        let mid = match self.below(4) {
            0 => MId::Ip4(Ip4Address {
                address: self.number().into(),
                port,
            }),
            1 => {
                let digits = if self.erlang_text {
                    0x7777_7777
                } else {
                    u32::MAX
                };
                let mut number = || u128::from(self.number() & digits);
                let address = (number() << 96 | number()).into();
                MId::Ip6(Ip6Address { address, port })
            }
            2 => MId::Device(b"gw/1"),
            _ if self.erlang_text => MId::Mtp(b"\xab\x1f"),
            _ => MId::Mtp(b"ab}"),
        };
        let body = if self.below(8) == 0 {
            MessageBody::Error(self.error())
        } else {
            MessageBody::Transactions(self.list(1, Self::transaction))
        };
        Message {
            auth_header: None,
            version: self.version,
            mid,
            body,
            extensions: &[],
        }
    }

    fn error(&mut self) -> &'a ErrorDescriptor<'a> {
        let text = self.maybe(|g| g.pick(&[&b"Syntax error"[..], b"x"]));
        self.arena.keep(ErrorDescriptor {
            code: 400 + self.below(200) as u16,
            text,
        })
    }

    fn transaction(&mut self) -> Transaction<'a> {
        let id = self.number();
        let segments = self.version >= 3 && !self.erlang_text;
        match self.below(if segments { 6 } else { 5 }) {
            0 => Transaction::Pending(TransactionPending { id }),
            1 => Transaction::ResponseAck(self.list(1, |g| TransactionAck {
                first: g.number(),
                last: g.maybe(Self::number),
            })),
            2 | 3 => Transaction::Request(TransactionRequest {
                id,
                actions: self.list(1, Self::action),
            }),
            4 => {
                let segment_number = if self.version >= 3 {
                    self.maybe(|g| g.number() as u16)
                } else {
                    None
                };
                Transaction::Reply(TransactionReply {
                    id,
                    imm_ack_required: self.flip(),
                    result: if self.below(4) == 0 {
                        TransactionResult::Error(self.error())
                    } else {
                        TransactionResult::Actions(self.list(1, Self::reply))
                    },
                    segment_number,
                    segmentation_complete: segment_number.is_some() && self.flip(),
                })
            }
            _ => Transaction::SegmentReply(SegmentReply {
                id,
                segment_number: self.number() as u16,
                segmentation_complete: self.flip(),
            }),
        }
    }

    fn context(&mut self) -> Option<&'a ContextRequest<'a>> {
        let new = self.version >= 3;
        let request = ContextRequest {
            priority: Some(self.below(16) as u8),
            emergency: self
                .maybe(Self::flip)
                .filter(|emergency| *emergency || self.version > 2 || !self.erlang_text),
            topology: self
                .maybe(|g| {
                    g.list(1, |g| TopologyRequest {
                        from: g.termination(),
                        to: g.termination(),
                        direction: g
                            .pick(&[TopologyDirection::Bothway, TopologyDirection::Isolate]),
                        stream_id: if g.version >= 2 {
                            g.maybe(|g| g.number() as u16)
                        } else {
                            None
                        },
                        direction_extension: None,
                    })
                })
                .map(|triples| match self.erlang_text && self.version == 2 {
                    true => &triples[..1],
                    false => triples,
                }),
            ieps: if new { self.maybe(Self::flip) } else { None },
            properties: if new {
                self.maybe(|g| g.list(1, Self::property))
            } else {
                None
            },
            contexts: if new {
                self.maybe(|g| g.list(1, Self::number))
            } else {
                None
            },
        };
        self.maybe(|g| g.arena.keep(request))
    }

    fn action(&mut self) -> ActionRequest<'a> {
        ActionRequest {
            context_id: self.number(),
            context_request: self.context(),
            context_audit: None,
            commands: self.list(1, Self::command),
        }
    }

    fn terminations(&mut self) -> &'a [TerminationId<'a>] {
        if self.erlang_text && self.version < 3 {
            let id = self.termination();
            return self.arena.list(&[id]);
        }
        self.list(1, Self::termination)
    }

    fn termination(&mut self) -> TerminationId<'a> {
        if self.below(6) == 0 {
            TerminationId::Root
        } else {
            self.pick(PATHS).into()
        }
    }

    fn command(&mut self) -> CommandRequest<'a> {
        let termination_ids = self.terminations();
        let command = match self.below(6) {
            0 => Command::Subtract(SubtractRequest {
                termination_ids,
                audit: self.maybe(Self::audit),
            }),
            1 => Command::Notify(NotifyRequest {
                termination_ids,
                observed_events: self.observed(),
                error: self.maybe(Self::error).filter(|_| !self.erlang_text),
            }),
            2 => {
                let parms = ServiceChangeParm {
                    method: self
                        .pick(&[ServiceChangeMethod::Restart, ServiceChangeMethod::HandOff]),
                    address: self.maybe(|g| ServiceChangeAddress::Port(g.number() as u16)),
                    version: self.maybe(|g| g.below(100) as u8),
                    profile: self.maybe(|g| ServiceChangeProfile {
                        name: "ResGW".into(),
                        version: g.below(100) as u8,
                    }),
                    reason: &[Value {
                        octets: b"901 Cold Boot",
                        quoted: true,
                    }],
                    delay: self.maybe(Self::number),
                    mgc_id: None,
                    timestamp: self.maybe(|_| TimeNotation {
                        date: b"20261122",
                        time: b"23595999",
                    }),
                    non_standard: None,
                    info: None,
                    incomplete: self.version >= 3 && self.flip(),
                };
                let parms = self.arena.keep(parms);
                Command::ServiceChange(ServiceChangeRequest {
                    termination_ids,
                    parms,
                })
            }
            kind => {
                let descriptors = self.list(0, Self::descriptor);
                let request = AmmRequest {
                    termination_ids,
                    descriptors,
                };
                match kind {
                    3 => Command::Add(request),
                    4 => Command::Move(request),
                    _ => Command::Modify(request),
                }
            }
        };
        CommandRequest {
            command,
            optional: self.flip(),
            wildcard_return: self.flip(),
        }
    }

    fn audit(&mut self) -> &'a AuditDescriptor<'a> {
        let all = [
            AuditToken::Media,
            AuditToken::Events,
            AuditToken::EventBuffer,
            AuditToken::Mux,
        ];
        let tokens = self.list(1, |g| g.pick(&all));
        self.arena.keep(AuditDescriptor {
            tokens: Some(AuditTokens::of(tokens)),
            properties: None,
        })
    }

    fn values(&mut self, min: u32) -> &'a [Value<'a>] {
        self.list(min, |g| Value {
            octets: g.pick(VALUES).as_bytes(),
            quoted: g.flip(),
        })
    }

    fn value_and_extra(&mut self) -> (&'a [Value<'a>], Option<ExtraInfo>) {
        match self.below(5) {
            0 => (self.values(1), Some(ExtraInfo::Sublist(self.flip()))),
            1 => {
                let relation = self.pick(&[Relation::GreaterThan, Relation::UnequalTo]);
                (self.one(), Some(ExtraInfo::Relation(relation)))
            }
            2 => {
                let ends = [self.one()[0], self.one()[0]];
                (self.arena.list(&ends), Some(ExtraInfo::Range(true)))
            }
            _ => (self.one(), None),
        }
    }

    fn one(&mut self) -> &'a [Value<'a>] {
        let value = Value {
            octets: self.pick(VALUES).as_bytes(),
            quoted: self.flip(),
        };
        self.arena.list(&[value])
    }

    fn property(&mut self) -> PropertyParm<'a> {
        let (value, extra) = self.value_and_extra();
        let unknown = self.below(5) == 0;
        let name = if unknown {
            Name::Id(0x1234_5678)
        } else {
            self.pick(PROPERTIES).into()
        };
        PropertyParm { name, value, extra }
    }

    fn descriptor(&mut self) -> AmmDescriptor<'a> {
        match self.below(5) {
            0 => AmmDescriptor::Media(self.media()),
            1 => {
                let min = u32::from(self.erlang_text && self.version < 2);
                let events = self.list(min, Self::requested_event);
                let request_id = (!events.is_empty() || self.version < 2).then(|| self.number());
                AmmDescriptor::Events(EventsDescriptor { request_id, events })
            }
            2 => AmmDescriptor::Signals(self.signals()),
            3 => {
                let value = self.maybe(|g| DigitMapValue {
                    start_timer: g.maybe(|g| g.below(100) as u8),
                    short_timer: g.maybe(|g| g.below(100) as u8),
                    long_timer: g.maybe(|g| g.below(100) as u8),
                    body: b"(0s|[1-7]xx|8x.#)",
                    duration_timer: None,
                });
                let name = if value.is_some() && self.flip() {
                    None
                } else {
                    Some("dialplan07".into())
                };
                AmmDescriptor::DigitMap(self.arena.keep(DigitMapDescriptor { name, value }))
            }
            _ => AmmDescriptor::Audit(self.audit()),
        }
    }

    fn media(&mut self) -> &'a MediaDescriptor<'a> {
        let termination_state = self.maybe(|g| TerminationStateDescriptor {
            properties: g.list(0, Self::property),
            event_buffer_control: None,
            service_state: Some(g.pick(&[ServiceState::Test, ServiceState::InService])),
        });
        let streams = if self.flip() {
            Streams::One(self.arena.keep(self.stream()))
        } else {
            let id = self.number() as u16;
            Streams::Multi(self.list(1, |g| StreamDescriptor {
                id,
                parms: g.stream(),
            }))
        };
        self.arena.keep(MediaDescriptor {
            termination_state,
            streams: Some(streams),
        })
    }

    fn stream(&mut self) -> StreamParms<'a> {
        let sdp = [
            &b"v=0\r\nc=IN IP4 $ \r\nm=audio $ RTP/AVP 0\r\n"[..],
            if self.erlang_text {
                b"v=0\nm=audio 1 RTP/AVP 8\na=xy\nv=0\ns=-"
            } else {
                b"v=0\nm=audio 1 RTP/AVP 8\na=x}y\nv=0\ns=-"
            },
        ];
        StreamParms {
            local_control: Some(LocalControlDescriptor {
                mode: Some(self.pick(&[StreamMode::SendRecv, StreamMode::LoopBack])),
                reserve_value: self.maybe(Self::flip),
                reserve_group: self.maybe(Self::flip),
                properties: self.list(0, Self::property),
            }),
            local: self.maybe(|g| LocalRemote::Sdp(g.pick(&sdp))),
            remote: self.maybe(|g| LocalRemote::Sdp(g.pick(&sdp))),
            statistics: if self.version >= 3 {
                self.maybe(Self::statistics)
            } else {
                None
            },
        }
    }

    fn statistics(&mut self) -> &'a [StatisticsParameter<'a>] {
        self.list(1, |g| StatisticsParameter {
            name: g.pick(STATISTICS).into(),
            value: g.maybe(Self::one),
        })
    }

    fn event(&mut self) -> (Name<'a>, &'a [EventParameter<'a>]) {
        let (name, parameter) = self.pick(EVENTS);
        let parameters = self.list(0, |g| {
            let (value, extra) = if g.erlang_text {
                (g.one(), None)
            } else {
                g.value_and_extra()
            };
            EventParameter {
                name: parameter.into(),
                value,
                extra,
            }
        });
        (name.into(), parameters)
    }

    fn requested_event(&mut self) -> RequestedEvent<'a> {
        let (name, parameters) = self.event();
        let action = self.maybe(|g| RequestedActions {
            keep_active: Some(true),
            digit_map: g.maybe(|_| EventDm::Name("dialplan12".into())),
            second_event: g.maybe(|g| {
                let request_id = Some(g.number());
                let events = g.list(1, |g| {
                    let (name, parameters) = g.event();
                    SecondRequestedEvent {
                        name,
                        stream_id: None,
                        action: None,
                        parameters,
                    }
                });
                SecondEventsDescriptor { request_id, events }
            }),
            signals: g
                .maybe(Self::signals)
                .filter(|signals| !g.erlang_text || !signals.is_empty()),
            notify: None,
            reset_events: g.version >= 3 && g.flip(),
        });
        let action = action.map(|action| self.arena.keep(action));
        let stream_id = self.maybe(|g| g.number() as u16);
        RequestedEvent {
            name,
            stream_id,
            action,
            parameters,
        }
    }

    fn signals(&mut self) -> &'a [SignalRequest<'a>] {
        self.list(0, |g| {
            if g.flip() {
                SignalRequest::Signal(g.signal())
            } else {
                let id = g.number() as u16;
                SignalRequest::List(SeqSigList {
                    id,
                    signals: g.list(1, Self::signal),
                })
            }
        })
    }

    fn signal(&mut self) -> Signal<'a> {
        let mut signal = Signal::new(self.pick(SIGNALS).into());
        signal.stream_id = self.maybe(|g| g.number() as u16);
        signal.signal_type = self.maybe(|g| g.pick(&[SignalType::Brief, SignalType::TimeOut]));
        signal.duration = self.maybe(|g| g.number() as u16);
        signal.notify_completion = self.maybe(|_| {
            NotifyCompletion::of(&[
                NotificationReason::OtherReason,
                NotificationReason::OnTimeOut,
            ])
        });
        signal.request_id = if self.version >= 3 {
            self.maybe(Self::number)
        } else {
            None
        };
        signal
    }

    fn observed(&mut self) -> ObservedEventsDescriptor<'a> {
        let request_id = self.number();
        let events = self.list(1, |g| {
            let (name, parameters) = g.event();
            let time = g.maybe(|_| TimeNotation {
                date: b"19990729",
                time: b"22000000",
            });
            ObservedEvent {
                name,
                stream_id: g.maybe(|g| g.number() as u16),
                parameters,
                time,
            }
        });
        ObservedEventsDescriptor { request_id, events }
    }

    fn reply(&mut self) -> ActionReply<'a> {
        ActionReply {
            context_id: self.number(),
            error: self.maybe(Self::error),
            context_reply: self.context(),
            commands: self.list(u32::from(self.erlang_text), Self::command_reply),
        }
    }

    fn command_reply(&mut self) -> CommandReply<'a> {
        let termination_ids = self.terminations();
        if self.below(3) == 0 {
            let error = self.maybe(Self::error);
            return CommandReply::Notify(NotifyReply {
                termination_ids,
                error,
            });
        }
        let audit = self.maybe(|g| {
            g.list(1, |g| match g.below(4) {
                0 => AuditReturnParameter::Media(g.media()),
                1 => AuditReturnParameter::Statistics(g.statistics()),
                2 => AuditReturnParameter::Error(g.error()),
                _ => AuditReturnParameter::Packages(g.list(1, |g| PackagesItem {
                    name: g.pick(&["al", "nt", "rtp"]).into(),
                    version: g.below(100) as u8,
                })),
            })
        });
        let reply = AmmsReply {
            termination_ids,
            audit,
        };
        if self.flip() {
            CommandReply::Add(reply)
        } else {
            CommandReply::Subtract(reply)
        }
    }
}
