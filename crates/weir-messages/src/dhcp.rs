//! DHCP (RFC 2131) and BOOTP (RFC 951): one message, and its options (RFC 2132).

use std::borrow::Cow;

use weir_bytes::{array_at, u8_at, u16_be_at, u32_be_at};

/// Ports of servers and clients.
pub const PORTS: [u16; 2] = [67, 68];
/// The magic cookie before options.
const COOKIE: u32 = 0x6382_5363;
const COOKIE_AT: usize = 236;
/// The octets of a message up to the end of its transaction ID.
const BEGINNING_OCTETS: usize = 8;
/// The octets of the field for the client's hardware address.
const HARDWARE_OCTETS: u8 = 16;
/// The name of the server, and behind it the file.
const NAME_AT: usize = 44;
const FILE_AT: usize = 108;
/// The option that says which fields carry options, and its bits (RFC 2132, 9.3).
const OVERLOAD: u8 = 52;
const OVERLOAD_FILE: u8 = 1;
const OVERLOAD_NAME: u8 = 2;
/// The option for a file whose field carries options (RFC 2132, 9.5).
const FILE_OPTION: u8 = 67;

/// A message, whose fixed part is there, at least up to its transaction ID.
#[derive(Clone, Copy, Debug)]
pub struct DhcpMessage<'m>(&'m [u8]);

/// An option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DhcpOption<'m> {
    /// The code.
    pub code: u8,
    /// The data.
    pub data: &'m [u8],
}

impl<'m> DhcpMessage<'m> {
    /// A view of a message; `None` for bytes that do not begin with a header of BOOTP. Between other ports than
    /// [`PORTS`], where these bytes may be anything, the message must have the magic cookie of options, too. Between these ports the
    /// cookie suffices: the operation may be another one than 1 and 2.
    #[must_use]
    pub fn new(bytes: &'m [u8], ports: [u16; 2]) -> Option<Self> {
        let is_port = ports.iter().any(|port| PORTS.contains(port));
        let is_header = match is_port {
            true => matches!(bytes, [1 | 2, ..]) && bytes.len() >= BEGINNING_OCTETS,
            false => matches!(bytes, [1 | 2, _, 0..=HARDWARE_OCTETS, ..]),
        };
        let has_options = u32_be_at(bytes, COOKIE_AT) == Some(COOKIE);
        let is_message = match is_port {
            true => is_header || has_options,
            false => is_header && has_options,
        };
        is_message.then_some(Self(bytes))
    }

    fn octet(&self, at: usize) -> u8 {
        u8_at(self.0, at).unwrap_or_default()
    }

    /// 1 of clients, 2 of servers. Others are faults.
    #[must_use]
    pub fn operation(&self) -> u8 {
        self.octet(0)
    }

    /// Type of the hardware's address: 1 Ethernet.
    #[must_use]
    pub fn hardware_type(&self) -> u8 {
        self.octet(1)
    }

    /// Relays on the way.
    #[must_use]
    pub fn hops(&self) -> u8 {
        self.octet(3)
    }

    /// Number that question and answer share.
    #[must_use]
    pub fn id(&self) -> u32 {
        u32_be_at(self.0, 4).unwrap_or_default()
    }

    /// Seconds since the client began; `None` where the message ends before, as of the fields below.
    #[must_use]
    pub fn seconds(&self) -> Option<u16> {
        u16_be_at(self.0, 8)
    }

    /// Flags: the first wants answers by broadcast.
    #[must_use]
    pub fn flags(&self) -> Option<u16> {
        u16_be_at(self.0, 10)
    }

    /// Address that the client has.
    #[must_use]
    pub fn client(&self) -> Option<[u8; 4]> {
        array_at(self.0, 12)
    }

    /// Address that the client gets.
    #[must_use]
    pub fn yours(&self) -> Option<[u8; 4]> {
        array_at(self.0, 16)
    }

    /// The next server.
    #[must_use]
    pub fn server(&self) -> Option<[u8; 4]> {
        array_at(self.0, 20)
    }

    /// The relay.
    #[must_use]
    pub fn relay(&self) -> Option<[u8; 4]> {
        array_at(self.0, 24)
    }

    /// The client's hardware address.
    #[must_use]
    pub fn hardware(&self) -> &'m [u8] {
        let end = 28 + usize::from(self.octet(2).min(HARDWARE_OCTETS));
        self.0.get(28..end).unwrap_or_default()
    }

    /// The client's address of Ethernet, or of another network of IEEE 802.
    #[must_use]
    pub fn mac(&self) -> Option<[u8; 6]> {
        let octets = self.hardware().try_into().ok()?;
        matches!(self.hardware_type(), 1 | 6).then_some(octets)
    }

    /// The file that is to be booted, empty where none is given: its field, or where that carries options the option for it
    /// (RFC 2132, 9.5), and `None` where there is neither.
    #[must_use]
    pub fn file(&self) -> Option<Cow<'m, [u8]>> {
        let mut file = match self.overload() & OVERLOAD_FILE {
            0 => Cow::Borrowed(self.0.get(FILE_AT..COOKIE_AT)?),
            _ => self.option(FILE_OPTION)?,
        };
        if let Some(end) = file.iter().position(|byte| *byte == 0) {
            match &mut file {
                Cow::Borrowed(file) => *file = file.get(..end).unwrap_or_default(),
                Cow::Owned(file) => file.truncate(end),
            }
        }
        Some(file)
    }

    /// The options behind the fixed part.
    fn own_options(&self) -> DhcpOptions<'m> {
        let has = u32_be_at(self.0, COOKIE_AT) == Some(COOKIE);
        let start = if has { COOKIE_AT + 4 } else { self.0.len() };
        DhcpOptions {
            rest: self.0.get(start..).unwrap_or_default(),
            fields: [&[]; 2],
        }
    }

    /// The fields that carry options, too (RFC 2132, 9.3).
    fn overload(&self) -> u8 {
        let found = self.own_options().find(|option| option.code == OVERLOAD);
        found
            .and_then(|option| option.data.first().copied())
            .unwrap_or(0)
    }

    /// The options, as far as they are whole: those after the fixed part, then those in the fields for a file and for the name of a
    /// server, if an option declares that they have some (RFC 2131, 4.1).
    #[must_use]
    pub fn options(&self) -> DhcpOptions<'m> {
        let overload = self.overload();
        let field = |bit: u8, at: std::ops::Range<usize>| match overload & bit {
            0 => &[],
            _ => self.0.get(at).unwrap_or_default(),
        };
        DhcpOptions {
            fields: [
                field(OVERLOAD_FILE, FILE_AT..COOKIE_AT),
                field(OVERLOAD_NAME, NAME_AT..FILE_AT),
            ],
            ..self.own_options()
        }
    }

    /// The reason why the message cannot be read to its end; `None` for a message without options, too.
    #[must_use]
    pub fn fault(&self) -> Option<DhcpFault> {
        if self.0.len() < COOKIE_AT {
            return Some(DhcpFault::FixedPart);
        }
        if !matches!(self.operation(), 1 | 2) {
            return Some(DhcpFault::Operation);
        }
        if self.octet(2) > HARDWARE_OCTETS {
            return Some(DhcpFault::Hardware);
        }
        if u32_be_at(self.0, COOKIE_AT) != Some(COOKIE) {
            return None;
        }
        let all = self.options();
        let mut own = self.own_options();
        while own.next_of_field().is_some() {}
        let fault = match own.rest {
            [255, ..] => None,
            [] => Some(DhcpFault::NoEnd),
            _ => Some(DhcpFault::Short),
        };
        // A field may be full: its end needs no option.
        let is_short = |field: &[u8]| {
            let mut options = DhcpOptions {
                rest: field,
                fields: [&[]; 2],
            };
            while options.next_of_field().is_some() {}
            !matches!(options.rest, [255, ..] | [])
        };
        fault.or_else(|| {
            all.fields
                .into_iter()
                .any(is_short)
                .then_some(DhcpFault::Short)
        })
    }

    /// The data of the option with this code. An option that comes in several parts, as it is longer than 255 octets or has no room
    /// in one field, is their concatenation (RFC 3396, 5 and 7).
    #[must_use]
    pub fn option(&self, code: u8) -> Option<Cow<'m, [u8]>> {
        let mut parts = self.options().filter(|option| option.code == code);
        let mut whole = Cow::Borrowed(parts.next()?.data);
        for part in parts {
            whole.to_mut().extend_from_slice(part.data);
        }
        Some(whole)
    }
}

/// The reason why a message cannot be read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DhcpFault {
    /// The message ends in front of its options.
    FixedPart,
    /// The operation is neither a request nor a reply (RFC 2131, 2).
    Operation,
    /// The length of the hardware address is larger than its field (RFC 2131, 2).
    Hardware,
    /// An option is longer than what is there of it.
    Short,
    /// The option that ends the others is missing (RFC 2132, 3.2).
    NoEnd,
}

impl DhcpFault {
    /// The fault as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FixedPart => "the message ends within its fixed part",
            Self::Operation => "the operation is neither 1 nor 2",
            Self::Hardware => "the hardware address is longer than its field",
            Self::Short => "an option is longer than the rest of the message",
            Self::NoEnd => "the options have no end",
        }
    }
}

/// The options of a message.
#[derive(Clone, Copy, Debug)]
pub struct DhcpOptions<'m> {
    rest: &'m [u8],
    /// Fields that carry options and were not read yet.
    fields: [&'m [u8]; 2],
}

impl<'m> DhcpOptions<'m> {
    /// The next option of a field; `None` at its end.
    fn next_of_field(&mut self) -> Option<DhcpOption<'m>> {
        loop {
            match self.rest {
                [0, rest @ ..] => self.rest = rest,
                [255, ..] | [] | [_] => return None,
                [code, length, rest @ ..] => {
                    let (data, rest) = rest.split_at_checked(usize::from(*length))?;
                    self.rest = rest;
                    return Some(DhcpOption { code: *code, data });
                }
            }
        }
    }
}

impl<'m> Iterator for DhcpOptions<'m> {
    type Item = DhcpOption<'m>;

    fn next(&mut self) -> Option<DhcpOption<'m>> {
        loop {
            if let Some(option) = self.next_of_field() {
                return Some(option);
            }
            let [next, last] = std::mem::take(&mut self.fields);
            if next.is_empty() && last.is_empty() {
                self.rest = &[];
                return None;
            }
            self.rest = next;
            self.fields = [last, &[]];
        }
    }
}

/// The name of a message type (RFC 2132, 9.6; Zeek's words): `DISCOVER`, `OFFER`, …
#[must_use]
pub fn type_word(kind: u8) -> Option<&'static str> {
    const WORDS: &[&str] = &[
        "DISCOVER",
        "OFFER",
        "REQUEST",
        "DECLINE",
        "ACK",
        "NAK",
        "RELEASE",
        "INFORM",
        "FORCERENEW",
        "LEASEQUERY",
        "LEASEUNASSIGNED",
        "LEASEUNKNOWN",
        "LEASEACTIVE",
        "BULKLEASEQUERY",
        "LEASEQUERYDONE",
    ];
    WORDS.get(usize::from(kind).checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer() -> Vec<u8> {
        let mut bytes = vec![0; 236];
        bytes[..8].copy_from_slice(&[2, 1, 6, 0, 1, 2, 3, 4]);
        bytes[16..20].copy_from_slice(&[192, 0, 2, 9]);
        bytes[28..34].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
        bytes.extend([
            0x63, 0x82, 0x53, 0x63, 53, 1, 2, 0, 51, 4, 0, 0, 14, 16, 255,
        ]);
        bytes
    }

    #[test]
    fn an_offer_is_read() {
        let bytes = offer();
        let message = DhcpMessage::new(&bytes, [1, 2]).unwrap();
        assert_eq!(message.option(53).as_deref(), Some(&[2][..]));
        assert_eq!(type_word(2), Some("OFFER"));
        assert_eq!(message.option(51).as_deref(), Some(&[0, 0, 14, 16][..]));
        assert_eq!(message.mac(), Some([2, 0, 0, 0, 0, 1]));
        assert_eq!(message.yours(), Some([192, 0, 2, 9]));
        // Networks of IEEE 802, and those of another kind.
        for (kind, has) in [(6, true), (7, false)] {
            let mut bytes = bytes.clone();
            bytes[1] = kind;
            assert_eq!(
                DhcpMessage::new(&bytes, [67, 68]).unwrap().mac().is_some(),
                has
            );
        }
    }

    /// RFC 2131, 4.1, and RFC 2132, 9.3: the fields of a file and of a name carry what has no room behind them.
    #[test]
    fn options_in_other_fields_are_read_where_one_says_so() {
        for overload in 0..4 {
            let mut bytes = offer();
            bytes[44..52].copy_from_slice(&[12, 4, b'h', b'o', b's', b't', 255, 1]);
            bytes[108..116].copy_from_slice(&[0, 67, 4, b'b', b'o', b'o', b't', 255]);
            let end = bytes.pop();
            bytes.extend([52, 1, overload]);
            bytes.extend(end);
            let message = DhcpMessage::new(&bytes, [67, 68]).unwrap();
            let codes: Vec<u8> = message.options().map(|option| option.code).collect();
            let expected: &[u8] = match overload {
                0 => &[53, 51, 52],
                1 => &[53, 51, 52, 67],
                2 => &[53, 51, 52, 12],
                _ => &[53, 51, 52, 67, 12],
            };
            assert_eq!(codes, expected);
            let has_file = overload & 1 != 0;
            // Without it the field begins with an octet 0.
            let file = if has_file { &b"boot"[..] } else { b"" };
            assert_eq!(message.file().as_deref(), Some(file), "{overload}");
            assert_eq!(
                message.option(12).as_deref(),
                (overload & 2 != 0).then_some(&b"host"[..])
            );
        }
    }

    /// RFC 3396, 7: parts of an option come behind the fixed part, then in the field for a file, then in that for a name. Only the first
    /// was read.
    #[test]
    fn an_option_in_parts_is_what_they_are_together() {
        let mut bytes = offer();
        bytes[44..50].copy_from_slice(&[15, 3, b't', b'l', b'e', 255]);
        bytes[108..118].copy_from_slice(&[67, 2, b'b', b'o', 15, 2, b'm', b'p', 67, 2]);
        bytes[118..121].copy_from_slice(&[b'o', 0, 255]);
        bytes.pop();
        bytes.extend([52, 1, 3, 15, 2, b'e', b'x', 60, 1, b'v', 15, 1, b'a', 255]);
        let message = DhcpMessage::new(&bytes, [67, 68]).unwrap();
        assert_eq!(message.option(15).as_deref(), Some(&b"examptle"[..]));
        assert_eq!(message.option(60).as_deref(), Some(&b"v"[..]));
        assert_eq!(message.file().as_deref(), Some(&b"boo"[..]));
        assert_eq!(message.fault(), None);
        // An option that goes beyond its field.
        bytes[44..50].copy_from_slice(&[15, 63, b't', b'l', b'e', 255]);
        let message = DhcpMessage::new(&bytes, [67, 68]).unwrap();
        assert_eq!(message.fault(), Some(DhcpFault::Short));
    }

    /// The options end by 255, after which there is nothing or padding (RFC 2132, 3.2).
    #[test]
    fn options_that_are_cut_are_a_fault() {
        let mut bytes = offer();
        bytes.extend([0; 60]);
        let fault = |length: usize| {
            DhcpMessage::new(&bytes[..length], [67, 68])
                .unwrap()
                .fault()
        };
        let no_options = 236..240;
        assert!(no_options.into_iter().all(|length| fault(length).is_none()));
        for length in [240, 243, 244, 250] {
            assert_eq!(fault(length), Some(DhcpFault::NoEnd), "{length}");
        }
        for length in [241, 242, 245, 249] {
            assert_eq!(fault(length), Some(DhcpFault::Short), "{length}");
        }
        for length in [251, 252, bytes.len()] {
            assert_eq!(fault(length), None, "{length}");
        }
    }

    /// Such messages were not read.
    #[test]
    fn a_hardware_address_that_is_longer_than_its_field_is_a_fault() {
        let mut bytes = offer();
        bytes[2] = 17;
        let message = DhcpMessage::new(&bytes, [67, 68]).unwrap();
        assert_eq!(message.fault(), Some(DhcpFault::Hardware));
        assert_eq!((message.hardware().len(), message.mac()), (16, None));
        assert_eq!(message.option(53).as_deref(), Some(&[2][..]));
        // Between other ports these may be octets of anything.
        assert!(DhcpMessage::new(&bytes, [1, 2]).is_none());
    }

    /// Such messages were not read.
    #[test]
    fn an_operation_that_is_not_assigned_is_a_fault() {
        for operation in [0, 3, 255] {
            let mut bytes = offer();
            bytes[0] = operation;
            let message = DhcpMessage::new(&bytes, [67, 68]).unwrap();
            assert_eq!(message.fault(), Some(DhcpFault::Operation));
            assert_eq!(message.operation(), operation);
            assert_eq!(message.option(53).as_deref(), Some(&[2][..]));
            // Nothing but the cookie says that these are octets of a message.
            assert!(DhcpMessage::new(&bytes[..239], [67, 68]).is_none());
            assert!(DhcpMessage::new(&bytes, [1, 2]).is_none());
        }
    }

    #[test]
    fn every_prefix_is_read_as_far_as_it_goes() {
        let bytes = offer();
        for length in 0..bytes.len() {
            let prefix = &bytes[..length];
            assert_eq!(DhcpMessage::new(prefix, [1, 2]).is_some(), length >= 240);
            let message = DhcpMessage::new(prefix, [67, 68]);
            assert_eq!(message.is_some(), length >= 8);
            let yours = message.and_then(|message| message.yours());
            assert_eq!(yours.is_some(), length >= 20);
            let fault = message.and_then(|message| message.fault());
            let is_short = fault == Some(DhcpFault::FixedPart);
            assert_eq!(is_short, (8..236).contains(&length), "{length}");
            let whole = message.map_or(0, |message| message.options().count());
            assert_eq!(
                whole,
                [243, 250].iter().filter(|end| length >= **end).count(),
                "{length}"
            );
        }
    }
}
