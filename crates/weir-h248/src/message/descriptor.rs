//! Descriptors: the properties of terminations in commands.

use crate::{
    message::{
        ErrorDescriptor,
        audit::AuditDescriptor,
        event::{EventSpec, EventsDescriptor, ObservedEventsDescriptor, SignalRequest},
        media::MediaDescriptor,
        property::PropertyParm,
    },
    name::{Name, TerminationId},
    wire::{
        leaf::{Octets, PackageName, Uint16, Uint99, Uint255},
        list::{List, Ref},
    },
};

pub use crate::message::{
    digit_map::{DigitMapDescriptor, DigitMapValue},
    property::StatisticsParameter,
};

choice! {
    /// A descriptor of a command.
    AmmDescriptor<'a> extensible root 8 {
        /// Streams and their media.
        [0] Media(&'a MediaDescriptor<'a>) => Ref<MediaDescriptor<'a>>, "mediaDescriptor";
        /// A modem: deprecated.
        [1] Modem(&'a ModemDescriptor<'a>) => Ref<ModemDescriptor<'a>>, "modemDescriptor";
        /// A multiplex.
        [2] Mux(&'a MuxDescriptor<'a>) => Ref<MuxDescriptor<'a>>, "muxDescriptor";
        /// Events to watch for.
        [3] Events(EventsDescriptor<'a>) => EventsDescriptor<'a>, "eventsDescriptor";
        /// Events to buffer.
        [4] EventBuffer(&'a [EventSpec<'a>]) => List<EventSpec<'a>>, "eventBufferDescriptor";
        /// Signals to play.
        [5] Signals(&'a [SignalRequest<'a>]) => List<SignalRequest<'a>>, "signalsDescriptor";
        /// The digit map for dialled digits.
        [6] DigitMap(&'a DigitMapDescriptor<'a>) => Ref<DigitMapDescriptor<'a>>,
            "digitMapDescriptor";
        /// The audit for the reply.
        [7] Audit(&'a AuditDescriptor<'a>) => Ref<AuditDescriptor<'a>>, "auditDescriptor";
        /// Statistics to count (version 3).
        [8] Statistics(&'a [StatisticsParameter<'a>]) => List<StatisticsParameter<'a>>,
            "statisticsDescriptor";
    }
}

choice! {
    /// A descriptor of a reply.
    AuditReturnParameter<'a> extensible root 12 {
        /// An error in place of the descriptors that were audited.
        [0] Error(&'a ErrorDescriptor<'a>) => Ref<ErrorDescriptor<'a>>, "errorDescriptor";
        /// Streams and their media.
        [1] Media(&'a MediaDescriptor<'a>) => Ref<MediaDescriptor<'a>>, "mediaDescriptor";
        /// A modem: deprecated.
        [2] Modem(&'a ModemDescriptor<'a>) => Ref<ModemDescriptor<'a>>, "modemDescriptor";
        /// A multiplex.
        [3] Mux(&'a MuxDescriptor<'a>) => Ref<MuxDescriptor<'a>>, "muxDescriptor";
        /// Events that are watched for.
        [4] Events(EventsDescriptor<'a>) => EventsDescriptor<'a>, "eventsDescriptor";
        /// Events that are buffered.
        [5] EventBuffer(&'a [EventSpec<'a>]) => List<EventSpec<'a>>, "eventBufferDescriptor";
        /// Signals that are played.
        [6] Signals(&'a [SignalRequest<'a>]) => List<SignalRequest<'a>>, "signalsDescriptor";
        /// The digit map for dialled digits.
        [7] DigitMap(&'a DigitMapDescriptor<'a>) => Ref<DigitMapDescriptor<'a>>,
            "digitMapDescriptor";
        /// Events that have occurred.
        [8] ObservedEvents(ObservedEventsDescriptor<'a>) => ObservedEventsDescriptor<'a>,
            "observedEventsDescriptor";
        /// Statistics.
        [9] Statistics(&'a [StatisticsParameter<'a>]) => List<StatisticsParameter<'a>>,
            "statisticsDescriptor";
        /// Packages that the termination has.
        [10] Packages(&'a [PackagesItem<'a>]) => List<PackagesItem<'a>>, "packagesDescriptor";
        /// Descriptors that were requested and are empty.
        [11] Empty(&'a AuditDescriptor<'a>) => Ref<AuditDescriptor<'a>>, "emptyDescriptors";
    }
}

sequence! {
    /// A multiplex of terminations.
    MuxDescriptor<'a> "MuxDescriptor" extensible 1 {
        /// The type of multiplexing.
        [0] req mux_type: MuxType => MuxType,
        /// The terminations.
        [1] req termination_ids: &'a [TerminationId<'a>] => List<TerminationId<'a>>,
        /// Something of a vendor.
        [2] opt non_standard: Option<&'a NonStandardData<'a>> => Ref<NonStandardData<'a>>,
    }
}

enumerated! {
    /// The type of multiplexing of terminations.
    MuxType extensible root 4 {
        /// H.221.
        [0] H221 "h221",
        /// H.223.
        [1] H223 "h223",
        /// H.226.
        [2] H226 "h226",
        /// V.76.
        [3] V76 "v76",
        /// n times 64 kbit/s (version 2).
        [4] Nx64k "nx64k",
    }
}

sequence! {
    /// A modem.
    ModemDescriptor<'a> "ModemDescriptor" extensible 9 {
        /// The types.
        [0] req types: &'a [ModemType] => List<ModemType>,
        /// The properties.
        [1] req properties: &'a [PropertyParm<'a>] => List<PropertyParm<'a>>,
        /// Something of a vendor.
        [2] opt non_standard: Option<&'a NonStandardData<'a>> => Ref<NonStandardData<'a>>,
    }
}

enumerated! {
    /// A type of modem.
    ModemType extensible root 9 {
        /// V.18.
        [0] V18 "v18",
        /// V.22.
        [1] V22 "v22",
        /// V.22 bis.
        [2] V22Bis "v22bis",
        /// V.32.
        [3] V32 "v32",
        /// V.32 bis.
        [4] V32Bis "v32bis",
        /// V.34.
        [5] V34 "v34",
        /// V.90.
        [6] V90 "v90",
        /// V.91.
        [7] V91 "v91",
        /// Synchronous ISDN.
        [8] SynchIsdn "synchISDN",
    }
}

plain_numbers!(MuxType ModemType);

sequence! {
    /// One package that a termination has.
    PackagesItem<'a> "PackagesItem" extensible 1 {
        /// The name.
        [0] req name: Name<'a> => PackageName,
        /// The version, 0 to 99.
        [1] req version: u8 => Uint99,
    }
}

sequence! {
    /// Something of a vendor. Only the binary encodings have it.
    NonStandardData<'a> "NonStandardData" extensible 9 {
        /// The owner of the definition.
        [0] req identifier: NonStandardIdentifier<'a> => NonStandardIdentifier<'a>,
        /// The data.
        [1] req data: &'a [u8] => Octets<0, 0>,
    }
}

choice! {
    /// The owner of a definition of a vendor.
    NonStandardIdentifier<'a> extensible root 3 {
        /// An OBJECT IDENTIFIER, as its octets in BER.
        [0] Object(&'a [u8]) => Octets<0, 0>, "object";
        /// A manufacturer by T.35.
        [1] H221(H221NonStandard) => H221NonStandard, "h221NonStandard";
        /// Eight characters that begin with `X-` or `X+`.
        [2] Experimental(&'a [u8]) => Octets<8, 8>, "experimental";
    }
}

sequence! {
    /// A manufacturer by T.35.
    H221NonStandard "H221NonStandard" extensible 1 {
        /// Country code, first octet.
        [0] req country_code_1: u8 => Uint255,
        /// Country code, second octet.
        [1] req country_code_2: u8 => Uint255,
        /// Extension, assigned nationally.
        [2] req extension: u8 => Uint255,
        /// Manufacturer, assigned nationally.
        [3] req manufacturer_code: u16 => Uint16,
    }
}
