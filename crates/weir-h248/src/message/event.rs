//! Events and signals.

use crate::{
    BinaryOptions, Both,
    message::{digit_map::DigitMapValue, property::ExtraInfo},
    name::{Name, Value},
    wire::{
        leaf::{
            DigitMapName, EventName, EventParameterName, OctetValue, Octets, SignalName,
            SignalParameterName, Uint16, Uint32,
        },
        list::{Embedded, List, Ref},
    },
};

sequence! {
    /// Events to watch for.
    EventsDescriptor<'a> "EventsDescriptor" extensible 1 {
        /// Number of the request; `None` when there are no events.
        [0] late request_id: Option<u32> => Uint32,
        /// The events.
        [1] req events: &'a [RequestedEvent<'a>] => List<RequestedEvent<'a>>,
    }
}

sequence! {
    /// An event to watch for.
    RequestedEvent<'a> "RequestedEvent" extensible 1 {
        /// The name.
        [0] req name: Name<'a> => EventName,
        /// The stream, if it is one only.
        [1] opt stream_id: Option<u16> => Uint16,
        /// The actions when it occurs.
        [2] opt action: Option<&'a RequestedActions<'a>> => Embedded<Ref<RequestedActions<'a>>>,
        /// The parameters.
        [3] req parameters: &'a [EventParameter<'a>] => List<EventParameter<'a>>,
    }
}

sequence! {
    /// The actions when an event occurs.
    #[derive(Default)]
    RequestedActions<'a> "RequestedActions" extensible 1 {
        /// Go on with signals that play.
        [0] opt keep_active: Option<bool> => bool,
        /// Collect digits.
        [1] opt digit_map: Option<EventDm<'a>> => EventDm<'a>,
        /// Watch for these events then.
        [2] opt second_event: Option<SecondEventsDescriptor<'a>> => SecondEventsDescriptor<'a>,
        /// Play these signals then.
        [3] opt signals: Option<&'a [SignalRequest<'a>]> => List<SignalRequest<'a>>,
        /// Whether to notify (version 3).
        [4] ext(3) notify: Option<NotifyBehaviour<'a>> => NotifyBehaviour<'a>,
        /// Stop watching for events (version 3).
        [5] extflag(3) reset_events: bool => (),
    }
}

choice! {
    /// The digit map of an event.
    EventDm<'a> closed root 2 {
        /// The digit map by its name.
        [0] Name(Name<'a>) => DigitMapName, "digitMapName";
        /// The digit map by its value.
        [1] Value(&'a DigitMapValue<'a>) => Ref<DigitMapValue<'a>>, "digitMapValue";
    }
}

sequence! {
    /// Events to watch for after another.
    SecondEventsDescriptor<'a> "SecondEventsDescriptor" extensible 1 {
        /// Number of the request; `None` when there are no events.
        [0] late request_id: Option<u32> => Uint32,
        /// The events.
        [1] req events: &'a [SecondRequestedEvent<'a>] => List<SecondRequestedEvent<'a>>,
    }
}

sequence! {
    /// An event to watch for after another.
    SecondRequestedEvent<'a> "SecondRequestedEvent" extensible 1 {
        /// The name.
        [0] req name: Name<'a> => EventName,
        /// The stream, if it is one only.
        [1] opt stream_id: Option<u16> => Uint16,
        /// The actions when it occurs.
        [2] opt action: Option<&'a SecondRequestedActions<'a>>
            => Embedded<Ref<SecondRequestedActions<'a>>>,
        /// The parameters.
        [3] req parameters: &'a [EventParameter<'a>] => List<EventParameter<'a>>,
    }
}

sequence! {
    /// The actions when an embedded event occurs.
    #[derive(Default)]
    SecondRequestedActions<'a> "SecondRequestedActions" extensible 1 {
        /// Go on with signals that play.
        [0] opt keep_active: Option<bool> => bool,
        /// Collect digits.
        [1] opt digit_map: Option<EventDm<'a>> => EventDm<'a>,
        /// Play these signals then.
        [2] opt signals: Option<&'a [SignalRequest<'a>]> => List<SignalRequest<'a>>,
        /// Whether to notify (version 3).
        [3] ext(3) notify: Option<NotifyBehaviour<'a>> => NotifyBehaviour<'a>,
        /// Stop watching for events (version 3).
        [4] extflag(3) reset_events: bool => (),
    }
}

choice! {
    /// Whether to notify of an event (version 3).
    NotifyBehaviour<'a> extensible root 3 {
        /// The notification is sent at once.
        [0] Immediate(()) => (), "notifyImmediate";
        /// The notification is sent as the regulator permits; the embedded descriptors apply when it does not.
        [1] Regulated(&'a RegulatedEmbeddedDescriptor<'a>)
            => Ref<RegulatedEmbeddedDescriptor<'a>>, "notifyRegulated";
        /// No notification is sent.
        [2] Never(()) => (), "neverNotify";
    }
}

sequence! {
    /// The descriptors that apply when a notification is held back.
    RegulatedEmbeddedDescriptor<'a> "RegulatedEmbeddedDescriptor" extensible 1 {
        /// Watch for these events.
        [0] opt second_event: Option<SecondEventsDescriptor<'a>> => SecondEventsDescriptor<'a>,
        /// Play these signals.
        [1] opt signals: Option<&'a [SignalRequest<'a>]> => List<SignalRequest<'a>>,
    }
}

sequence! {
    /// An event to buffer.
    EventSpec<'a> "EventSpec" extensible 1 {
        /// The name.
        [0] req name: Name<'a> => EventName,
        /// The stream, if it is one only.
        [1] opt stream_id: Option<u16> => Uint16,
        /// The parameters.
        [2] req parameters: &'a [EventParameter<'a>] => List<EventParameter<'a>>,
    }
}

sequence! {
    /// Events that have occurred.
    ObservedEventsDescriptor<'a> "ObservedEventsDescriptor" extensible 9 {
        /// Number of the request that they answer.
        [0] req request_id: u32 => Uint32,
        /// The events.
        [1] req events: &'a [ObservedEvent<'a>] => List<ObservedEvent<'a>>,
    }
}

sequence! {
    /// An event that has occurred.
    ObservedEvent<'a> "ObservedEvent" extensible 1 {
        /// The name.
        [0] req name: Name<'a> => EventName,
        /// The stream.
        [1] opt stream_id: Option<u16> => Uint16,
        /// The parameters.
        [2] req parameters: &'a [EventParameter<'a>] => List<EventParameter<'a>>,
        /// The time of the event.
        [3] opt time: Option<TimeNotation<'a>> => TimeNotation<'a>,
    }
}

sequence! {
    /// A time: eight digits of a date and eight of a time, `19990729T22000000`.
    TimeNotation<'a> "TimeNotation" extensible 9 {
        /// `yyyymmdd`.
        [0] req date: &'a [u8] => Octets<8, 8>,
        /// `hhmmssss`, the last two hundredths of a second.
        [1] req time: &'a [u8] => Octets<8, 8>,
    }
}

sequence! {
    /// A parameter of an event.
    EventParameter<'a> "EventParameter" extensible 1 {
        /// The name.
        [0] req name: Name<'a> => EventParameterName,
        /// The value, or values.
        [1] req value: &'a [Value<'a>] => List<OctetValue>,
        /// The relation of the values.
        [2] opt extra: Option<ExtraInfo> => ExtraInfo,
    }
}

choice! {
    /// A signal, or several one after another.
    SignalRequest<'a> extensible root 2 {
        /// One signal.
        [0] Signal(Signal<'a>) => Signal<'a>, "signal";
        /// A list of signals.
        [1] List(SeqSigList<'a>) => SeqSigList<'a>, "seqSigList";
    }
}

sequence! {
    /// Signals to play one after another.
    SeqSigList<'a> "SeqSigList" extensible 9 {
        /// Number of the list.
        [0] req id: u16 => Uint16,
        /// The signals.
        [1] req signals: &'a [Signal<'a>] => List<Signal<'a>>,
    }
}

sequence! {
    /// A signal to play.
    Signal<'a> "Signal" extensible 1 {
        /// The name.
        [0] req name: Name<'a> => SignalName,
        /// The stream, if it is one only.
        [1] opt stream_id: Option<u16> => Uint16,
        /// The type, which determines its end.
        [2] opt signal_type: Option<SignalType> => SignalType,
        /// Hundredths of a second.
        [3] opt duration: Option<u16> => Uint16,
        /// Notify when it ends for one of these reasons.
        [4] opt notify_completion: Option<NotifyCompletion> => NotifyCompletion,
        /// Go on when an event occurs.
        [5] opt keep_active: Option<bool> => bool,
        /// The parameters.
        [6] req parameters: &'a [SigParameter<'a>] => List<SigParameter<'a>>,
        /// The direction in which it is played (version 3).
        [7] ext(3) direction: Option<SignalDirection> => SignalDirection,
        /// Number by which it is known (version 3).
        [8] ext(3) request_id: Option<u32> => Uint32,
        /// Hundredths of a second between signals of a list (version 3).
        [9] ext(3) intersignal_delay: Option<u16> => Uint16,
    }
}

enumerated! {
    /// The type of a signal, which determines its end.
    SignalType extensible root 3 {
        /// The signal ends by itself, soon.
        [0] Brief "brief",
        /// When it is turned off.
        [1] OnOff "onOff",
        /// The signal ends after a time.
        [2] TimeOut "timeOut",
    }
}

plain_numbers!(SignalType);

enumerated! {
    /// The direction in which a signal is played (version 3).
    SignalDirection extensible root 3 {
        /// Into the context.
        [0] Internal "internal",
        /// Out of the context.
        [1] External "external",
        /// In both directions.
        [2] Both "both",
    }
}

impl SignalDirection {
    /// `both` is 3 in the module that Erlang uses and 2 in ITU-T H.248.1 (03/2013).
    fn ber_number(self, options: BinaryOptions) -> u32 {
        match (self, options.both) {
            (Self::Both, Both::Three) => 3,
            _ => self.index(),
        }
    }

    fn from_ber_number(number: u32) -> Option<Self> {
        if number == 3 {
            Some(Self::Both)
        } else {
            Self::from_index(number)
        }
    }
}

flags! {
    /// The ends of a signal that are notified.
    NotifyCompletion of
    /// The reason why a signal ended.
    NotificationReason max 5 {
        /// The duration of the signal is over.
        [0] OnTimeOut "onTimeOut",
        /// An event occurred.
        [1] OnInterruptByEvent "onInterruptByEvent",
        /// Another signal took its place.
        [2] OnInterruptByNewSignal "onInterruptByNewSignalDescr",
        /// The signal ended for another reason.
        [3] OtherReason "otherReason",
        /// The signal begins again (version 3).
        [4] OnIteration "onIteration",
    }
}

sequence! {
    /// A parameter of a signal.
    SigParameter<'a> "SigParameter" extensible 1 {
        /// The name.
        [0] req name: Name<'a> => SignalParameterName,
        /// The value, or values.
        [1] req value: &'a [Value<'a>] => List<OctetValue>,
        /// The relation of the values.
        [2] opt extra: Option<ExtraInfo> => ExtraInfo,
    }
}
