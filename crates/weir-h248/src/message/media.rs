//! Streams, their properties and their session descriptions.

use crate::{
    error::Stop,
    message::property::StatisticsParameter,
    name::{Name, Value},
    sdp,
    visit::Visitor,
    wire::{
        Wire,
        ber::{BerReader, BerWriter},
        erl::{ErlReader, ErlWriter},
        leaf::Uint16,
        list::{List, Ref},
        per::{PerReader, PerWriter},
    },
};

pub use crate::message::property::{ExtraInfo, PropertyParm, Relation};

sequence! {
    /// The media of a termination.
    MediaDescriptor<'a> "MediaDescriptor" extensible 1 {
        /// Properties of the termination itself.
        [0] opt termination_state: Option<TerminationStateDescriptor<'a>>
            => TerminationStateDescriptor<'a>,
        /// The streams.
        [1] opt streams: Option<Streams<'a>> => Streams<'a>,
    }
}

choice! {
    /// Streams of a termination.
    Streams<'a> closed root 2 {
        /// One, without a number.
        [0] One(&'a StreamParms<'a>) => Ref<StreamParms<'a>>, "oneStream";
        /// Several, with numbers.
        [1] Multi(&'a [StreamDescriptor<'a>]) => List<StreamDescriptor<'a>>, "multiStream";
    }
}

sequence! {
    /// A stream with its number.
    StreamDescriptor<'a> "StreamDescriptor" extensible 9 {
        /// The number.
        [0] req id: u16 => Uint16,
        /// The parameters.
        [1] req parms: StreamParms<'a> => StreamParms<'a>,
    }
}

sequence! {
    /// The parameters of a stream.
    #[derive(Default)]
    StreamParms<'a> "StreamParms" extensible 1 {
        /// Mode and properties.
        [0] opt local_control: Option<LocalControlDescriptor<'a>> => LocalControlDescriptor<'a>,
        /// The session description of what the gateway receives.
        [1] opt local: Option<LocalRemote<'a>> => LocalRemote<'a>,
        /// The session description of what the other side receives.
        [2] opt remote: Option<LocalRemote<'a>> => LocalRemote<'a>,
        /// Statistics (version 3).
        [3] ext(3) statistics: Option<&'a [StatisticsParameter<'a>]>
            => List<StatisticsParameter<'a>>,
    }
}

sequence! {
    /// Mode and properties of a stream.
    #[derive(Default)]
    LocalControlDescriptor<'a> "LocalControlDescriptor" extensible 1 {
        /// The mode: which side sends media.
        [0] opt mode: Option<StreamMode> => StreamMode,
        /// Reserve for every alternative value.
        [1] opt reserve_value: Option<bool> => bool,
        /// Reserve for every alternative group.
        [2] opt reserve_group: Option<bool> => bool,
        /// Properties of packages.
        [3] req properties: &'a [PropertyParm<'a>] => List<PropertyParm<'a>>,
    }
}

enumerated! {
    /// The mode of a stream: which side sends media.
    StreamMode extensible root 5 {
        /// The gateway sends.
        [0] SendOnly "sendOnly",
        /// The other side sends.
        [1] RecvOnly "recvOnly",
        /// Both sides send.
        [2] SendRecv "sendRecv",
        /// Neither side sends.
        [3] Inactive "inactive",
        /// The gateway sends back what it receives.
        [4] LoopBack "loopBack",
    }
}

sequence! {
    /// Properties of a termination itself.
    TerminationStateDescriptor<'a> "TerminationStateDescriptor" extensible 1 {
        /// Properties of packages.
        [0] req properties: &'a [PropertyParm<'a>] => List<PropertyParm<'a>>,
        /// Whether events are buffered.
        [1] opt event_buffer_control: Option<EventBufferControl> => EventBufferControl,
        /// Whether it works.
        [2] opt service_state: Option<ServiceState> => ServiceState,
    }
}

enumerated! {
    /// Whether events are buffered.
    EventBufferControl extensible root 2 {
        /// Events are not buffered.
        [0] Off "off",
        /// Events are buffered until the controller has reacted.
        [1] LockStep "lockStep",
    }
}

enumerated! {
    /// The state of service of a termination.
    ServiceState extensible root 3 {
        /// The termination is being tested.
        [0] Test "test",
        /// The termination is out of service.
        [1] OutOfService "outOfSvc",
        /// The termination is in service.
        [2] InService "inSvc",
    }
}

plain_numbers!(StreamMode EventBufferControl ServiceState);

/// A Local or Remote descriptor: session descriptions.
///
/// Text carries them as they are, octet by octet; binary encodings carry a property a line.
/// They compare equal when the lines do, without regard to how lines end. [`lines`](Self::lines)
/// gives the content on demand.
#[derive(Clone, Copy, Debug)]
pub enum LocalRemote<'a> {
    /// The octets between the braces of the text.
    Sdp(&'a [u8]),
    /// Groups of properties: one a session description.
    Groups(&'a [&'a [PropertyParm<'a>]]),
}

impl<'a> LocalRemote<'a> {
    /// The lines: whether a new group begins, the name, the value.
    #[must_use]
    pub fn lines(&self) -> sdp::SdpLines<'a> {
        match self {
            Self::Sdp(octets) => sdp::SdpLines::of_text(octets),
            Self::Groups(groups) => sdp::SdpLines::of_groups(groups),
        }
    }

    /// The number of lines of each group; empty when a line is not of the form `name=value` with a known name.
    fn group_lengths(&self) -> Vec<usize> {
        let mut lengths = Vec::new();
        for line in self.lines() {
            match lengths.last_mut() {
                Some(last) if !line.begins_group => *last += 1,
                _ => lengths.push(1_usize),
            }
        }
        lengths
    }
}

impl PartialEq for LocalRemote<'_> {
    fn eq(&self, other: &Self) -> bool {
        if let (Self::Groups(a), Self::Groups(b)) = (self, other) {
            return a == b;
        }
        self.lines().eq(other.lines())
    }
}

impl Eq for LocalRemote<'_> {}

sequence! {
    /// The Local or Remote descriptor of ASN.1.
    #[allow(unreachable_pub, reason = "the wire form of a public type")]
    LocalRemoteDescriptor<'a> "LocalRemoteDescriptor" extensible 1 {
        /// The groups.
        [0] req groups: &'a [&'a [PropertyParm<'a>]] => List<List<PropertyParm<'a>>>,
    }
}

impl<'a> LocalRemote<'a> {
    fn property(line: &sdp::SdpLine<'a>) -> (Name<'a>, Value<'a>) {
        (line.name, Value::from(line.value))
    }
}

impl<'a> Wire<'a> for LocalRemote<'a> {
    type Value = Self;
    const TAG: u8 = 0x10;

    fn ber_write(value: &Self, tag: u8, w: &mut BerWriter<'_>) {
        let groups = match value {
            Self::Groups(groups) => {
                return LocalRemoteDescriptor::ber_write(&LocalRemoteDescriptor { groups }, tag, w);
            }
            Self::Sdp(_) => value.group_lengths(),
        };
        let mut lines = value.lines();
        w.nested(tag, |w| {
            w.nested(0x80, |w| {
                for count in groups {
                    w.nested(0x10, |w| {
                        for line in lines.by_ref().take(count) {
                            let (name, value) = Self::property(&line);
                            let parm = PropertyParm {
                                name,
                                value: &[value],
                                extra: None,
                            };
                            PropertyParm::ber_write(&parm, 0x10, w);
                        }
                    });
                }
            });
        });
    }

    fn ber_read(contents: &'a [u8], r: &mut BerReader<'a>) -> Result<Self, Stop> {
        LocalRemoteDescriptor::ber_read(contents, r).map(|value| Self::Groups(value.groups))
    }

    fn per_write(value: &Self, w: &mut PerWriter<'_>) {
        let groups = match value {
            Self::Groups(groups) => {
                return LocalRemoteDescriptor::per_write(&LocalRemoteDescriptor { groups }, w);
            }
            Self::Sdp(_) => value.group_lengths(),
        };
        let mut lines = value.lines();
        w.bit(false);
        w.length(groups.len());
        for count in groups {
            w.length(count);
            for line in lines.by_ref().take(count) {
                let (name, value) = Self::property(&line);
                PropertyParm::per_write(
                    &PropertyParm {
                        name,
                        value: &[value],
                        extra: None,
                    },
                    w,
                );
            }
        }
    }

    fn per_read(r: &mut PerReader<'a>) -> Result<Self, Stop> {
        LocalRemoteDescriptor::per_read(r).map(|value| Self::Groups(value.groups))
    }

    fn erl_write(value: &Self, w: &mut ErlWriter<'_>) {
        let groups = match value {
            Self::Groups(groups) => {
                return LocalRemoteDescriptor::erl_write(&LocalRemoteDescriptor { groups }, w);
            }
            Self::Sdp(_) => value.group_lengths(),
        };
        let mut lines = value.lines();
        w.tuple(2);
        w.atom(b"LocalRemoteDescriptor");
        w.list(groups.len());
        for count in groups {
            w.list(count);
            for line in lines.by_ref().take(count) {
                let (name, value) = Self::property(&line);
                PropertyParm::erl_write(
                    &PropertyParm {
                        name,
                        value: &[value],
                        extra: None,
                    },
                    w,
                );
            }
            w.nil();
        }
        w.nil();
    }

    fn erl_read(r: &mut ErlReader<'a>) -> Result<Self, Stop> {
        LocalRemoteDescriptor::erl_read(r).map(|value| Self::Groups(value.groups))
    }

    fn visit(value: &Self, visitor: &mut dyn Visitor) {
        visitor.begin_list();
        for line in value.lines() {
            visitor.begin_record("PropertyParm");
            visitor.field("name");
            visitor.text(line.name.to_string().as_bytes());
            visitor.field("value");
            visitor.text(line.value);
            visitor.end_record();
        }
        visitor.end_list();
    }
}
