//! Audits: the descriptors of terminations that a reply reports.

use crate::{
    error::Stop,
    message::{
        media::{ServiceState, StreamMode},
        property::PropertyParm,
    },
    name::Name,
    visit::Visitor,
    wire::{
        Wire,
        ber::{BerReader, BerWriter},
        erl::{ErlReader, ErlWriter, NO_VALUE},
        leaf::{
            DigitMapName, EventName, PackageName, PropertyName, SignalName, StatisticName, Uint16,
            Uint32, Uint99,
        },
        list::{List, Ref},
        per::{PerReader, PerWriter},
    },
};

sequence! {
    /// The audited descriptors, and single parts of them.
    AuditDescriptor<'a> "AuditDescriptor" extensible 1 {
        /// Whole descriptors.
        [0] opt tokens: Option<AuditTokens> => AuditTokens,
        /// Single parts (version 2).
        [1] ext(2) properties: Option<&'a [IndAuditParameter<'a>]> => List<IndAuditParameter<'a>>,
    }
}

impl AuditDescriptor<'_> {
    /// An audit of nothing.
    pub const EMPTY: Self = Self {
        tokens: None,
        properties: None,
    };
}

/// The descriptor of an audit request, which text may leave out.
pub(crate) struct RequestedAudit;

impl<'a> Wire<'a> for RequestedAudit {
    type Value = Option<&'a AuditDescriptor<'a>>;
    const TAG: u8 = 0x10;
    fn ber_write(value: &Self::Value, tag: u8, w: &mut BerWriter<'_>) {
        AuditDescriptor::ber_write(value.unwrap_or(&AuditDescriptor::EMPTY), tag, w);
    }
    fn ber_read(contents: &'a [u8], r: &mut BerReader<'a>) -> Result<Self::Value, Stop> {
        Ref::<AuditDescriptor<'a>>::ber_read(contents, r).map(Some)
    }
    fn per_write(value: &Self::Value, w: &mut PerWriter<'_>) {
        AuditDescriptor::per_write(value.unwrap_or(&AuditDescriptor::EMPTY), w);
    }
    fn per_read(r: &mut PerReader<'a>) -> Result<Self::Value, Stop> {
        Ref::<AuditDescriptor<'a>>::per_read(r).map(Some)
    }
    fn erl_write(value: &Self::Value, w: &mut ErlWriter<'_>) {
        match value {
            Some(value) => AuditDescriptor::erl_write(value, w),
            None => w.atom(NO_VALUE),
        }
    }
    fn erl_read(r: &mut ErlReader<'a>) -> Result<Self::Value, Stop> {
        if r.is_atom(NO_VALUE)? {
            return Ok(None);
        }
        Ref::<AuditDescriptor<'a>>::erl_read(r).map(Some)
    }
    fn visit(value: &Self::Value, visitor: &mut dyn Visitor) {
        AuditDescriptor::visit(value.unwrap_or(&AuditDescriptor::EMPTY), visitor);
    }
}

flags! {
    /// Whole descriptors to report.
    AuditTokens of
    /// A descriptor to report.
    AuditToken max 10 {
        /// Multiplex.
        [0] Mux "muxToken",
        /// Modem.
        [1] Modem "modemToken",
        /// Media.
        [2] Media "mediaToken",
        /// Events.
        [3] Events "eventsToken",
        /// Signals.
        [4] Signals "signalsToken",
        /// Digit map.
        [5] DigitMap "digitMapToken",
        /// Statistics.
        [6] Statistics "statsToken",
        /// Observed events.
        [7] ObservedEvents "observedEventsToken",
        /// Packages.
        [8] Packages "packagesToken",
        /// Event buffer.
        [9] EventBuffer "eventBufferToken",
    }
}

choice! {
    /// A part of a descriptor to report.
    IndAuditParameter<'a> extensible root 7 {
        /// Parts of the media descriptor.
        [0] Media(&'a IndAudMediaDescriptor<'a>) => Ref<IndAudMediaDescriptor<'a>>,
            "indAudMediaDescriptor";
        /// Parts of the events descriptor.
        [1] Events(IndAudEventsDescriptor<'a>) => IndAudEventsDescriptor<'a>,
            "indAudEventsDescriptor";
        /// Parts of the event buffer descriptor.
        [2] EventBuffer(IndAudEventBufferDescriptor<'a>) => IndAudEventBufferDescriptor<'a>,
            "indAudEventBufferDescriptor";
        /// Parts of the signals descriptor.
        [3] Signals(IndAudSignalsDescriptor<'a>) => IndAudSignalsDescriptor<'a>,
            "indAudSignalsDescriptor";
        /// A digit map.
        [4] DigitMap(IndAudDigitMapDescriptor<'a>) => IndAudDigitMapDescriptor<'a>,
            "indAudDigitMapDescriptor";
        /// A statistic.
        [5] Statistics(IndAudStatisticsDescriptor<'a>) => IndAudStatisticsDescriptor<'a>,
            "indAudStatisticsDescriptor";
        /// A package.
        [6] Packages(IndAudPackagesDescriptor<'a>) => IndAudPackagesDescriptor<'a>,
            "indAudPackagesDescriptor";
    }
}

sequence! {
    /// Parts of media.
    IndAudMediaDescriptor<'a> "IndAudMediaDescriptor" extensible 1 {
        /// Parts of the termination state.
        [0] opt termination_state: Option<IndAudTerminationStateDescriptor<'a>>
            => IndAudTerminationStateDescriptor<'a>,
        /// Parts of streams.
        [1] opt streams: Option<IndAudStreams<'a>> => IndAudStreams<'a>,
    }
}

choice! {
    /// Parts of streams.
    IndAudStreams<'a> closed root 2 {
        /// Parts of the stream without a number.
        [0] One(IndAudStreamParms<'a>) => IndAudStreamParms<'a>, "oneStream";
        /// Parts of several streams.
        [1] Multi(&'a [IndAudStreamDescriptor<'a>]) => List<IndAudStreamDescriptor<'a>>,
            "multiStream";
    }
}

sequence! {
    /// Parts of a stream with its number.
    IndAudStreamDescriptor<'a> "IndAudStreamDescriptor" extensible 9 {
        /// The number of the stream.
        [0] req id: u16 => Uint16,
        /// The audited parts.
        [1] req parms: IndAudStreamParms<'a> => IndAudStreamParms<'a>,
    }
}

sequence! {
    /// Parts of a stream.
    #[derive(Default)]
    IndAudStreamParms<'a> "IndAudStreamParms" extensible 1 {
        /// Mode and properties.
        [0] opt local_control: Option<IndAudLocalControlDescriptor<'a>>
            => IndAudLocalControlDescriptor<'a>,
        /// The local session description.
        [1] opt local: Option<IndAudLocalRemoteDescriptor<'a>>
            => IndAudLocalRemoteDescriptor<'a>,
        /// The remote session description.
        [2] opt remote: Option<IndAudLocalRemoteDescriptor<'a>>
            => IndAudLocalRemoteDescriptor<'a>,
        /// A statistic (version 3).
        [3] ext(3) statistics: Option<IndAudStatisticsDescriptor<'a>>
            => IndAudStatisticsDescriptor<'a>,
    }
}

sequence! {
    /// Parts of mode and properties.
    #[derive(Default)]
    IndAudLocalControlDescriptor<'a> "IndAudLocalControlDescriptor" extensible 1 {
        /// The mode.
        [0] flag mode: bool => (),
        /// Whether values are reserved.
        [1] flag reserve_value: bool => (),
        /// Whether groups are reserved.
        [2] flag reserve_group: bool => (),
        /// Properties.
        [3] opt properties: Option<&'a [IndAudPropertyParm<'a>]> => List<IndAudPropertyParm<'a>>,
        /// Select by this mode (version 3).
        [4] ext(3) select_mode: Option<StreamMode> => StreamMode,
    }
}

sequence! {
    /// A property to report.
    IndAudPropertyParm<'a> "IndAudPropertyParm" extensible 1 {
        /// The name.
        [0] req name: Name<'a> => PropertyName,
        /// Select by this value (version 3).
        [1] ext(3) property: Option<&'a PropertyParm<'a>> => Ref<PropertyParm<'a>>,
    }
}

sequence! {
    /// Parts of a session description.
    IndAudLocalRemoteDescriptor<'a> "IndAudLocalRemoteDescriptor" extensible 1 {
        /// The property group.
        [0] opt group_id: Option<u16> => Uint16,
        /// The properties.
        [1] req properties: &'a [IndAudPropertyParm<'a>] => List<IndAudPropertyParm<'a>>,
    }
}

sequence! {
    /// Parts of what the termination itself is.
    IndAudTerminationStateDescriptor<'a> "IndAudTerminationStateDescriptor" extensible 1 {
        /// Properties.
        [0] req properties: &'a [IndAudPropertyParm<'a>] => List<IndAudPropertyParm<'a>>,
        /// Whether events are buffered.
        [1] flag event_buffer_control: bool => (),
        /// Whether it works.
        [2] flag service_state: bool => (),
        /// Select by whether it works (version 3).
        [3] ext(3) select_service_state: Option<ServiceState> => ServiceState,
    }
}

sequence! {
    /// An event to report.
    IndAudEventsDescriptor<'a> "IndAudEventsDescriptor" extensible 1 {
        /// Number of the request.
        [0] opt request_id: Option<u32> => Uint32,
        /// The event.
        [1] req name: Name<'a> => EventName,
        /// The stream.
        [2] opt stream_id: Option<u16> => Uint16,
    }
}

sequence! {
    /// A buffered event to report.
    IndAudEventBufferDescriptor<'a> "IndAudEventBufferDescriptor" extensible 1 {
        /// The event.
        [0] req name: Name<'a> => EventName,
        /// The stream.
        [1] opt stream_id: Option<u16> => Uint16,
    }
}

choice! {
    /// A signal to report, or a list of signals.
    IndAudSignalsDescriptor<'a> extensible root 2 {
        /// One signal.
        [0] Signal(IndAudSignal<'a>) => IndAudSignal<'a>, "signal";
        /// A list.
        [1] List(IndAudSeqSigList<'a>) => IndAudSeqSigList<'a>, "seqSigList";
    }
}

sequence! {
    /// A list of signals to report.
    IndAudSeqSigList<'a> "IndAudSeqSigList" extensible 9 {
        /// Number of the list.
        [0] req id: u16 => Uint16,
        /// The signal of it.
        [1] opt signal: Option<IndAudSignal<'a>> => IndAudSignal<'a>,
    }
}

sequence! {
    /// A signal to report.
    IndAudSignal<'a> "IndAudSignal" extensible 1 {
        /// The name.
        [0] req name: Name<'a> => SignalName,
        /// The stream.
        [1] opt stream_id: Option<u16> => Uint16,
        /// Number by which it is known (version 3).
        [2] ext(3) request_id: Option<u32> => Uint32,
    }
}

sequence! {
    /// A digit map to report.
    IndAudDigitMapDescriptor<'a> "IndAudDigitMapDescriptor" extensible 9 {
        /// The name.
        [0] opt name: Option<Name<'a>> => DigitMapName,
    }
}

sequence! {
    /// A statistic to report.
    IndAudStatisticsDescriptor<'a> "IndAudStatisticsDescriptor" extensible 9 {
        /// The name.
        [0] req name: Name<'a> => StatisticName,
    }
}

sequence! {
    /// A package to report.
    IndAudPackagesDescriptor<'a> "IndAudPackagesDescriptor" extensible 1 {
        /// The name.
        [0] req name: Name<'a> => PackageName,
        /// The version.
        [1] req version: u8 => Uint99,
    }
}
