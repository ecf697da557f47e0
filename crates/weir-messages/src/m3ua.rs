//! M3UA (RFC 4666): one message, and what it carries of MTP3.

use weir_bytes::{u8_at, u16_be_at, u32_be_at};

/// Octets of a header.
const HEADER_OCTETS: usize = 8;
/// Parameters of a message that are read.
pub const PARAMETERS_MAX: usize = 256;
/// The service that SCCP is (Q.704, 14.2.1).
pub const SCCP: u8 = 3;

/// A message whose header is there.
#[derive(Clone, Copy, Debug)]
pub struct M3uaMessage<'m>(&'m [u8]);

impl<'m> M3uaMessage<'m> {
    /// A view of a message; `None` for bytes that are not M3UA, whose version is 1, whose class and type are assigned,
    /// and whose length is that of the bytes, or differs, which is a fault, where a known parameter follows.
    #[must_use]
    pub fn new(bytes: &'m [u8]) -> Option<Self> {
        let message = Self(bytes);
        let (version, reserved) = (u8_at(bytes, 0)?, u8_at(bytes, 1)?);
        u32_be_at(bytes, 4)?;
        let is_header = version == 1 && reserved == 0 && message.name().is_some();
        (is_header && (message.has_its_length() || message.has_known_parameter()))
            .then_some(message)
    }

    /// Whether the length is that of the bytes.
    fn has_its_length(&self) -> bool {
        let length = self.length() as usize;
        // Some senders do not count what fills up the last parameter.
        length >= HEADER_OCTETS
            && length.checked_next_multiple_of(4) == self.0.len().checked_next_multiple_of(4)
    }

    /// Whether a whole parameter whose tag is assigned (RFC 4666, 3.2) follows the header. Messages of other protocols over SCTP may begin
    /// alike, as those of Diameter do.
    fn has_known_parameter(&self) -> bool {
        let first = self.parameters().next();
        first.is_some_and(|(tag, _)| matches!(tag, 0x0001..=0x0013 | 0x0200..=0x0213))
    }

    /// Version: 1.
    #[must_use]
    pub fn version(&self) -> u8 {
        u8_at(self.0, 0).unwrap_or_default()
    }

    /// Class: 0 management, 1 transfer, 2 network management, 3 state, 4 traffic, 9 routing keys.
    #[must_use]
    pub fn class(&self) -> u8 {
        u8_at(self.0, 2).unwrap_or_default()
    }

    /// Type within the class.
    #[must_use]
    pub fn kind(&self) -> u8 {
        u8_at(self.0, 3).unwrap_or_default()
    }

    /// Octets, as the header says.
    #[must_use]
    pub fn length(&self) -> u32 {
        u32_be_at(self.0, 4).unwrap_or_default()
    }

    /// The name (RFC 4666, 3.1.2).
    #[must_use]
    pub fn name(&self) -> Option<&'static str> {
        Some(match (self.class(), self.kind()) {
            (0, 0) => "ERR",
            (0, 1) => "NTFY",
            (1, 1) => "DATA",
            (2, 1) => "DUNA",
            (2, 2) => "DAVA",
            (2, 3) => "DAUD",
            (2, 4) => "SCON",
            (2, 5) => "DUPU",
            (2, 6) => "DRST",
            (3, 1) => "ASPUP",
            (3, 2) => "ASPDN",
            (3, 3) => "BEAT",
            (3, 4) => "ASPUP_ACK",
            (3, 5) => "ASPDN_ACK",
            (3, 6) => "BEAT_ACK",
            (4, 1) => "ASPAC",
            (4, 2) => "ASPIA",
            (4, 3) => "ASPAC_ACK",
            (4, 4) => "ASPIA_ACK",
            (9, 1) => "REG_REQ",
            (9, 2) => "REG_RSP",
            (9, 3) => "DEREG_REQ",
            (9, 4) => "DEREG_RSP",
            _ => return None,
        })
    }

    /// The tags and values of the parameters, as far as they are whole.
    pub fn parameters(&self) -> impl Iterator<Item = (u16, &'m [u8])> + use<'m> {
        let mut rest = self.0.get(HEADER_OCTETS..).unwrap_or_default();
        let all = std::iter::from_fn(move || {
            let (tag, value, behind) = first_parameter(rest)?;
            rest = behind;
            Some((tag, value))
        });
        all.take(PARAMETERS_MAX)
    }

    /// The reason why not all parameters are read, or the message of MTP3 is not; or that the length is not that of the octets, which are
    /// read to their end.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        let mut rest = self.0.get(HEADER_OCTETS..).unwrap_or_default();
        let mut count = 0_usize;
        while let Some((_, _, behind)) = first_parameter(rest) {
            if count == PARAMETERS_MAX {
                return Some("more than 256 parameters");
            }
            count += 1;
            rest = behind;
        }
        if !rest.is_empty() {
            return Some("a parameter ends behind the message, or within its header");
        }
        if self.parameter(PROTOCOL_DATA).is_some() && self.transfer().is_none() {
            return Some("the data of MTP3 are shorter than their header");
        }
        (!self.has_its_length()).then_some(OTHER_LENGTH)
    }

    /// The value of the first parameter with this tag.
    #[must_use]
    pub fn parameter(&self, tag: u16) -> Option<&'m [u8]> {
        Some(self.parameters().find(|(known, _)| *known == tag)?.1)
    }

    /// The number that a parameter is.
    #[must_use]
    pub fn number(&self, tag: u16) -> Option<u32> {
        u32_be_at(self.parameter(tag)?, 0)
    }

    /// The MTP3 message that it carries.
    #[must_use]
    pub fn transfer(&self) -> Option<Transfer<'m>> {
        let value = self.parameter(PROTOCOL_DATA)?;
        Some(Transfer {
            opc: u32_be_at(value, 0)?,
            dpc: u32_be_at(value, 4)?,
            service: u8_at(value, 8)?,
            network: u8_at(value, 9)?,
            priority: u8_at(value, 10)?,
            link: u8_at(value, 11)?,
            user: value.get(12..)?,
        })
    }
}

/// The tag and the value of the first parameter, and the octets behind it.
fn first_parameter(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let (tag, length) = (u16_be_at(bytes, 0)?, usize::from(u16_be_at(bytes, 2)?));
    let value = bytes.get(4..length)?;
    let behind = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some((tag, value, behind))
}

/// The fault of a message whose length is not that of its octets.
const OTHER_LENGTH: &str =
    "the length of the message differs from that of the payload that carries it";
/// A parameter of data.
const PROTOCOL_DATA: u16 = 0x0210;

/// A message of MTP3 (RFC 4666, 3.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer<'m> {
    /// Point code of the sender.
    pub opc: u32,
    /// Point code of the receiver.
    pub dpc: u32,
    /// Service: 3 SCCP, 5 ISUP, ….
    pub service: u8,
    /// Network: 0 international, 2 national.
    pub network: u8,
    /// Priority.
    pub priority: u8,
    /// Selection of a signalling link.
    pub link: u8,
    /// The data of the MTP3 user.
    pub user: &'m [u8],
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A message that carries this for SCCP.
    pub(crate) fn carrying(user: &[u8]) -> Vec<u8> {
        let mut bytes = vec![1, 0, 1, 1, 0, 0, 0, 0];
        bytes.extend(b"\0\x06\0\x08\0\0\0\x0a\x02\x10");
        bytes.extend((16 + user.len() as u16).to_be_bytes());
        bytes.extend(b"\0\0\x04\x01\0\0\x08\x02\x03\x02\0\x07");
        bytes.extend(user);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        let length = (bytes.len() as u32).to_be_bytes();
        bytes[4..8].copy_from_slice(&length);
        bytes
    }

    #[test]
    fn what_is_carried_is_read() {
        let bytes = carrying(b"\x09\0\x03");
        let message = M3uaMessage::new(&bytes).unwrap();
        assert_eq!(
            (message.name(), message.number(6)),
            (Some("DATA"), Some(10))
        );
        let transfer = message.transfer().unwrap();
        assert_eq!(
            (transfer.opc, transfer.dpc, transfer.link),
            (0x0401, 0x0802, 7)
        );
        assert_eq!(
            (transfer.service, transfer.user),
            (SCCP, &b"\x09\0\x03"[..])
        );
    }

    /// Parameters behind a damaged one were left out without a word.
    #[test]
    fn parameters_that_cannot_be_read_are_a_fault() {
        let with = |parameters: &[u8]| {
            let mut bytes = vec![1, 0, 1, 1, 0, 0, 0, 8 + parameters.len() as u8];
            bytes.extend(parameters);
            M3uaMessage::new(&bytes).unwrap().fault()
        };
        let damaged = Some("a parameter ends behind the message, or within its header");
        let short = Some("the data of MTP3 are shorter than their header");
        assert_eq!(
            M3uaMessage::new(&carrying(b"\x09\0\x03")).unwrap().fault(),
            None
        );
        for (parameters, fault) in [
            (&b""[..], None),
            (b"\0\x06\0\x08\0\0\0\x01", None),
            // The padding of the last one is left out.
            (b"\0\x04\0\x07abc", None),
            (b"\0\x06\0\0\0\0\0\x01", damaged),
            (b"\0\x06\0\x03\0\0\0\x01", damaged),
            (b"\0\x06\0\x0c\0\0\0\x01", damaged),
            (b"\x02\x10\0\x08\0\0\0\x01", short),
        ] {
            assert_eq!(with(parameters), fault, "{parameters:x?}");
        }
    }

    /// A message whose length is wrong was left out.
    #[test]
    fn a_message_with_another_length_is_read_to_its_end() {
        let bytes = carrying(b"\x09\0\x03\x05");
        let octets = bytes.len() as u32;
        for (length, fault) in [
            (octets, None),
            (octets - 4, Some(OTHER_LENGTH)),
            (octets + 4, Some(OTHER_LENGTH)),
            (0, Some(OTHER_LENGTH)),
            (u32::MAX, Some(OTHER_LENGTH)),
        ] {
            let mut bytes = bytes.clone();
            bytes[4..8].copy_from_slice(&length.to_be_bytes());
            let message = M3uaMessage::new(&bytes).unwrap();
            assert_eq!((message.length(), message.fault()), (length, fault));
            assert_eq!(message.transfer().unwrap().user, b"\x09\0\x03\x05");
        }
        // The header of Diameter, whose length and application are those of a class, a type and a parameter.
        let diameter = b"\x01\0\x02\x04\x80\0\x01\x3c\x01\0\0\x23\0\0\0\0\0\0\0\0";
        assert!(M3uaMessage::new(diameter).is_none());
    }

    #[test]
    fn every_prefix_is_read_as_far_as_it_goes() {
        let bytes = carrying(b"\x09\0\x03\x05");
        for end in 0..bytes.len() - 3 {
            // The first parameter has eight octets.
            let message = M3uaMessage::new(&bytes[..end]);
            assert_eq!(message.is_some(), end >= 16, "{end}");
            assert!(message.is_none_or(|message| message.fault().is_some()));
        }
        let mut other = bytes.clone();
        other[3] = 2;
        assert!(M3uaMessage::new(&other).is_none());
        let mut many = vec![1, 0, 3, 3];
        many.extend((8 + 40_000_u32).to_be_bytes());
        many.extend(b"\0\x09\0\x04".repeat(10_000));
        assert_eq!(
            M3uaMessage::new(&many).unwrap().parameters().count(),
            PARAMETERS_MAX
        );
        let fault = M3uaMessage::new(&many).unwrap().fault();
        assert_eq!(fault, Some("more than 256 parameters"));
    }
}
