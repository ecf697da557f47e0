//! TCAP (ITU-T Q.773): one message, its dialogue and its components.

use std::fmt;

use crate::ber::{Ber, INTEGER, OBJECT, integer, object};

/// Components of a message that are read.
pub const COMPONENTS_MAX: usize = 256;
/// Transaction identifiers have four octets at most.
const TRANSACTION_OCTETS_MAX: usize = 4;
/// The tag of messages without a transaction.
const UNIDIRECTIONAL: u8 = 0x61;

/// A message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcapMessage<'m> {
    /// The tag: 0x61 unidirectional, 0x62 begin, 0x64 end, 0x65 continue, 0x67 abort.
    pub kind: u8,
    /// The sender's number of the transaction.
    pub origin: Option<&'m [u8]>,
    /// The receiver's number of the transaction.
    pub destination: Option<&'m [u8]>,
    /// The reason why the provider aborted.
    pub abort_cause: Option<u8>,
    /// The application's context: an object identifier.
    pub context: Option<String>,
    /// Whether the dialogue was accepted: 0, or rejected: 1.
    pub result: Option<i64>,
    /// The components: invocations and their results.
    pub components: Vec<Component>,
    /// The first thing that is wrong with it.
    pub fault: Option<TcapFault>,
}

/// The fault of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TcapFault {
    /// The length differs from that of the carrier; the message is read to the end of the carrier.
    Length,
    /// A field of it, or a component, is longer than what it stands in.
    Field,
    /// A transaction identifier has no octets, or more than four (Q.773, 3.1).
    Transaction,
    /// A transaction identifier that its type has is missing.
    NoTransaction,
}

impl TcapFault {
    /// The fault as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Length => {
                "the length of the message differs from that of the payload that carries it"
            }
            Self::Field => "a field is longer than the structure that holds it",
            Self::Transaction => "a transaction ID of none or more than four octets",
            Self::NoTransaction => "a transaction ID is missing",
        }
    }
}

impl fmt::Display for TcapFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::error::Error for TcapFault {}

/// A component (Q.773, 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Component {
    /// 1 invoke, 2 last result, 3 error, 4 reject, 7 result that is not the last.
    pub kind: u8,
    /// The number that it shares with what it answers.
    pub invoke: Option<i64>,
    /// The number of what it belongs to.
    pub linked: Option<i64>,
    /// The operation: a number, where it is no object identifier.
    pub operation: Option<i64>,
    /// The error: a number, where it is no object identifier.
    pub error: Option<i64>,
}

impl<'m> TcapMessage<'m> {
    /// Reads a message, as far as its components are whole; `None` when its type is not assigned, or it has neither the
    /// numbers of its transaction nor components. The fault of a component is in [`TcapMessage::fault`].
    #[must_use]
    pub fn new(bytes: &'m [u8]) -> Option<Self> {
        let kind = *bytes.first()?;
        kind_word(kind)?;
        let mut outer = Ber(bytes);
        let (contents, fault) = match outer.next_of_any_length() {
            Some((_, contents)) if outer.0.is_empty() => (contents, None),
            _ => (Ber(bytes).behind_header()?, Some(TcapFault::Length)),
        };
        let mut message = Self {
            kind,
            fault,
            ..Self::default()
        };
        let mut fields = Ber(contents);
        while let Some((tag, value)) = fields.next_of_any_length() {
            match tag {
                0x48 => message.origin = Some(message.transaction(value)),
                0x49 => message.destination = Some(message.transaction(value)),
                0x4a => message.abort_cause = value.first().copied(),
                0x6b => {
                    message.dialogue(value);
                }
                0x6c => message.components(value),
                _ => {}
            }
        }
        message.ends(&fields);
        let is_numbered = match kind {
            0x62 => message.origin.is_some(),
            0x65 => message.origin.is_some() && message.destination.is_some(),
            0x64 | 0x67 => message.destination.is_some(),
            _ => true,
        };
        if !is_numbered {
            message.fault.get_or_insert(TcapFault::NoTransaction);
        }
        let is_message = is_numbered && kind != UNIDIRECTIONAL || !message.components.is_empty();
        is_message.then_some(message)
    }

    /// Returns a transaction identifier, and records that its length is not one of those that it may have.
    fn transaction(&mut self, value: &'m [u8]) -> &'m [u8] {
        if !(1..=TRANSACTION_OCTETS_MAX).contains(&value.len()) {
            self.fault.get_or_insert(TcapFault::Transaction);
        }
        value
    }

    /// Reads the dialogue portion: an external whose single type is a request, a response or an abort.
    fn dialogue(&mut self, bytes: &'m [u8]) -> Option<()> {
        let (tag, external) = Ber(bytes).next_of_any_length()?;
        let mut fields = Ber(external);
        while let Some((inner, single)) = fields.next_of_any_length() {
            if tag != 0x28 || inner != 0xa0 {
                continue;
            }
            let (kind, pdu) = Ber(single).next_of_any_length()?;
            let mut parts = Ber(pdu);
            while let Some((part, value)) = parts.next_of_any_length() {
                match (kind, part) {
                    (0x60 | 0x61, 0xa1) => {
                        self.context = Ber(value).of(OBJECT).and_then(object);
                    }
                    (0x61, 0xa2) => self.result = Ber(value).integer(),
                    _ => {}
                }
            }
        }
        Some(())
    }

    fn components(&mut self, bytes: &'m [u8]) {
        let mut all = Ber(bytes);
        while let Some((tag, contents)) = all.next_of_any_length() {
            let kind = tag.wrapping_sub(0xa0);
            if matches!(kind, 1..=4 | 7) && self.components.len() < COMPONENTS_MAX {
                self.components.push(component(kind, contents));
            }
        }
        self.ends(&all);
    }

    /// Records that values ended here: a remaining one is longer than its container.
    fn ends(&mut self, values: &Ber<'_>) {
        if !values.0.is_empty() {
            self.fault.get_or_insert(TcapFault::Field);
        }
    }
}

fn component(kind: u8, contents: &[u8]) -> Component {
    let mut component = Component {
        kind,
        invoke: None,
        linked: None,
        operation: None,
        error: None,
    };
    let mut fields = Ber(contents);
    while let Some((tag, value)) = fields.next_of_any_length() {
        match (kind, tag) {
            (_, INTEGER) if component.invoke.is_none() => component.invoke = integer(value),
            (1, 0x80) => component.linked = integer(value),
            (1, INTEGER) => component.operation = integer(value),
            (2 | 7, 0x30) => component.operation = Ber(value).integer(),
            (3, INTEGER) => component.error = integer(value),
            _ => {}
        }
        // Parameters follow the operation and are not looked into.
        if component.operation.is_some() || component.error.is_some() {
            break;
        }
    }
    component
}

/// The name of a type of messages.
#[must_use]
pub const fn kind_word(kind: u8) -> Option<&'static str> {
    Some(match kind {
        0x61 => "unidirectional",
        0x62 => "begin",
        0x64 => "end",
        0x65 => "continue",
        0x67 => "abort",
        _ => return None,
    })
}

/// The name of a type of components.
#[must_use]
pub const fn component_word(kind: u8) -> Option<&'static str> {
    Some(match kind {
        1 => "invoke",
        2 => "returnResultLast",
        3 => "returnError",
        4 => "reject",
        7 => "returnResultNotLast",
        _ => return None,
    })
}

/// The name of an operation of MAP (3GPP TS 29.002, 17.5).
#[must_use]
pub const fn map_word(operation: i64) -> Option<&'static str> {
    Some(match operation {
        2 => "updateLocation",
        3 => "cancelLocation",
        4 => "provideRoamingNumber",
        7 => "insertSubscriberData",
        8 => "deleteSubscriberData",
        10 => "registerSS",
        11 => "eraseSS",
        12 => "activateSS",
        13 => "deactivateSS",
        14 => "interrogateSS",
        17 => "registerPassword",
        18 => "getPassword",
        22 => "sendRoutingInfo",
        23 => "updateGprsLocation",
        24 => "sendRoutingInfoForGprs",
        25 => "failureReport",
        29 => "sendEndSignal",
        33 => "processAccessSignalling",
        34 => "forwardAccessSignalling",
        37 => "reset",
        38 => "forwardCheckSS-Indication",
        43 => "checkIMEI",
        44 => "mt-forwardSM",
        45 => "sendRoutingInfoForSM",
        46 => "mo-forwardSM",
        47 => "reportSM-DeliveryStatus",
        50 => "activateTraceMode",
        51 => "deactivateTraceMode",
        55 => "sendIdentification",
        56 => "sendAuthenticationInfo",
        57 => "restoreData",
        58 => "sendIMSI",
        59 => "processUnstructuredSS-Request",
        60 => "unstructuredSS-Request",
        61 => "unstructuredSS-Notify",
        62 => "anyTimeSubscriptionInterrogation",
        63 => "informServiceCentre",
        64 => "alertServiceCentre",
        65 => "anyTimeModification",
        66 => "readyForSM",
        67 => "purgeMS",
        68 => "prepareHandover",
        69 => "prepareSubsequentHandover",
        70 => "provideSubscriberInfo",
        71 => "anyTimeInterrogation",
        72 => "ss-InvocationNotification",
        75 => "statusReport",
        83 => "provideSubscriberLocation",
        85 => "sendRoutingInfoForLCS",
        86 => "subscriberLocationReport",
        87 => "ist-Alert",
        88 => "ist-Command",
        89 => "noteMM-Event",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: &[u8] = b"\x62\x39\x48\x04\x01\x02\x03\x04\x6b\x1a\x28\x18\x06\x07\0\x11\x86\x05\x01\x01\x01\xa0\x0d\
        \x60\x0b\xa1\x09\x06\x07\x04\0\0\x01\0\x01\x03\x6c\x15\xa1\x06\x02\x01\x01\x02\x01\x02\xa3\x0b\x02\x01\xff\x02\x01\x01\
        \x30\x03\x02\x01\x05";

    #[test]
    fn a_begin_is_read() {
        let message = TcapMessage::new(BEGIN).unwrap();
        assert_eq!(
            (kind_word(message.kind), message.origin),
            (Some("begin"), Some(&[1, 2, 3, 4][..]))
        );
        assert_eq!(message.context.as_deref(), Some("0.4.0.0.1.0.1.3"));
        let [invoke, error] = message.components[..] else {
            panic!("{message:?}")
        };
        assert_eq!(
            (invoke.kind, invoke.invoke, invoke.operation),
            (1, Some(1), Some(2))
        );
        assert_eq!(
            (error.kind, error.invoke, error.error),
            (3, Some(-1), Some(1))
        );
        assert_eq!(map_word(2), Some("updateLocation"));
    }

    #[test]
    fn every_prefix_with_a_number_says_that_it_is_cut() {
        for end in 0..BEGIN.len() {
            let message = TcapMessage::new(&BEGIN[..end]);
            assert_eq!(message.is_some(), end >= 8, "{end}");
            if let Some(message) = message {
                assert_eq!(message.fault, Some(TcapFault::Length));
                assert_eq!(message.origin, Some(&[1, 2, 3, 4][..]));
            }
        }
    }

    /// Such messages gave nothing, or nothing after the length.
    #[test]
    fn a_wrong_length_of_the_message_is_a_fault() {
        let whole = TcapMessage::new(BEGIN).unwrap();
        assert_eq!(whole.fault, None);
        for length in [0, 1, 0x10, 0x38, 0x3a, 0x7f, 0x80] {
            let mut bytes = BEGIN.to_vec();
            bytes[1] = length;
            let message = TcapMessage::new(&bytes).unwrap();
            assert_eq!(message.fault, Some(TcapFault::Length), "{length}");
            assert_eq!(message.origin, whole.origin);
            assert_eq!(message.context, whole.context);
            assert_eq!(message.components, whole.components);
        }
        let long = [b"\x62\x82\x01\x39", &BEGIN[2..]].concat();
        let message = TcapMessage::new(&long).unwrap();
        assert_eq!(
            (message.fault, message.components.len()),
            (Some(TcapFault::Length), 2)
        );
        // The length of the components is wrong.
        let mut bytes = BEGIN.to_vec();
        let at = bytes
            .windows(2)
            .position(|octets| octets == [0x6c, 0x15])
            .unwrap();
        bytes[at + 1] = 0x16;
        let message = TcapMessage::new(&bytes).unwrap();
        assert_eq!(
            (message.fault, message.components.len()),
            (Some(TcapFault::Field), 0)
        );
        assert_eq!(message.context, whole.context);
    }

    /// Such messages were not read.
    #[test]
    fn transaction_identifiers_of_other_lengths_are_faults() {
        let components = &b"\x6c\x08\xa1\x06\x02\x01\x01\x02\x01\x02"[..];
        let (other, missing) = (Some(TcapFault::Transaction), Some(TcapFault::NoTransaction));
        for (kind, transactions, origin, destination, fault) in [
            (0x62, &b"\x48\x01\x07"[..], Some(1), None, None),
            (0x62, b"\x48\0", Some(0), None, other),
            (0x62, b"\x48\x05\x01\x02\x03\x04\x05", Some(5), None, other),
            (0x65, b"\x48\x01\x07\x49\0", Some(1), Some(0), other),
            (0x64, b"\x49\x05\x01\x02\x03\x04\x05", None, Some(5), other),
            (0x62, b"", None, None, missing),
            (0x64, b"\x48\x01\x07", Some(1), None, missing),
            (0x65, b"\x48\x01\x07", Some(1), None, missing),
        ] {
            let made = |contents: &[u8]| {
                let mut bytes = vec![kind, contents.len() as u8];
                bytes.extend(contents);
                bytes
            };
            let bytes = made(&[transactions, components].concat());
            let message = TcapMessage::new(&bytes).unwrap();
            let octets = [message.origin, message.destination].map(|it| it.map(<[u8]>::len));
            assert_eq!(octets, [origin, destination], "{bytes:x?}");
            assert_eq!(message.fault, fault, "{bytes:x?}");
            assert_eq!(message.components.len(), 1);
            // Without components nothing says that such octets are a message.
            let bytes = made(transactions);
            let message = TcapMessage::new(&bytes);
            assert_eq!(message.is_none(), fault == missing, "{bytes:x?}");
        }
    }

    #[test]
    fn a_flood_of_components_stays_within_its_limit() {
        let components = b"\xa1\x06\x02\x01\x01\x02\x01\x02".repeat(5_000);
        let mut bytes = b"\x62\x80\x48\x01\x07\x6c\x80".to_vec();
        bytes.extend(components);
        bytes.extend([0; 4]);
        assert_eq!(
            TcapMessage::new(&bytes).unwrap().components.len(),
            COMPONENTS_MAX
        );
    }
}
