//! Diameter (RFC 6733): one message, its attribute-value pairs, and what they are called.

mod words;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use weir_bytes::{array_at, u8_at, u16_be_at, u32_be_at};

pub use words::{Shape, application_word, command_word, definition};

/// Port of peers, and that of peers over TLS.
pub const PORTS: [u16; 2] = [3_868, 5_868];
/// Octets of a header.
const HEADER_OCTETS: usize = 20;
/// Octets of a message that are read at most.
pub const OCTETS_MAX: usize = 1 << 20;
/// Groups within groups.
pub const DEPTH_MAX: usize = 12;
/// Seconds from 1900 to 1970.
const EPOCH: i64 = 2_208_988_800;

/// The length of the message that begins with these octets: `None` when four octets are not there yet.
///
/// # Errors
/// When none begins here.
#[must_use]
pub fn length(bytes: &[u8]) -> Option<Result<usize, ()>> {
    let [version, rest @ ..] = bytes else {
        return None;
    };
    if *version != 1 {
        return Some(Err(()));
    }
    let length = u24(rest, 0)? as usize;
    let is_length = (HEADER_OCTETS..=OCTETS_MAX).contains(&length) && length.is_multiple_of(4);
    Some(is_length.then_some(length).ok_or(()))
}

/// Whether a message may begin here: a header with consistent flags, and a first AVP with a standard code. A message without
/// AVPs has a standard command instead.
#[must_use]
pub fn begins(bytes: &[u8]) -> bool {
    let Some(Ok(length)) = length(bytes) else {
        return false;
    };
    if !u8_at(bytes, 4).is_some_and(are_flags) {
        return false;
    }
    if length == HEADER_OCTETS {
        return u24(bytes, 5).is_some_and(|command| command_word(command).is_some());
    }
    let body = bytes.get(HEADER_OCTETS..bytes.len().min(length));
    let first = body.and_then(|body| head(body).map(|(avp, _)| avp));
    first.is_some_and(|avp| {
        avp.length + HEADER_OCTETS <= length && avp.vendor.is_none() && avp.name().is_some()
    })
}

/// The offset of the first message in octets that may begin with the rest of another one: a header as in [`begins`], with a
/// standard command, after which another message begins if there are more octets.
#[must_use]
pub fn find(bytes: &[u8]) -> Option<usize> {
    let is_message = |rest: &[u8]| {
        let Some(message) = DiameterMessage::new(rest).filter(|_| begins(rest)) else {
            return false;
        };
        let total = usize::try_from(message.length()).unwrap_or(usize::MAX);
        let behind = rest.get(total..).unwrap_or_default();
        command_word(message.command()).is_some() && !matches!(length(behind), Some(Err(())))
    };
    let mut all = 0..bytes.len();
    all.find(|at| bytes.get(*at..).is_some_and(is_message))
}

/// Whether more octets may make this the beginning of a message: up to the header of its first AVP.
#[must_use]
pub fn may_begin(bytes: &[u8]) -> bool {
    let is_length = match length(bytes) {
        None => !bytes.is_empty(),
        Some(length) => length.is_ok(),
    };
    is_length && bytes.len() < BEGINNING_OCTETS && u8_at(bytes, 4).is_none_or(are_flags)
}

/// The number of octets at the end of octets without a message for [`find`] with which one may begin; 0 where none may.
#[must_use]
pub fn begun(bytes: &[u8]) -> usize {
    let last = bytes.len().saturating_sub(BEGINNING_OCTETS - 1);
    let mut all = last..bytes.len();
    let at = all.find(|at| bytes.get(*at..).is_some_and(may_begin));
    at.map_or(0, |at| bytes.len().saturating_sub(at))
}

/// Octets of a header and of that of a pair.
pub const BEGINNING_OCTETS: usize = HEADER_OCTETS + 8;

const fn are_flags(flags: u8) -> bool {
    flags & 0x0f == 0 && flags & 0xa0 != 0xa0
}

/// A message whose header is there.
#[derive(Clone, Copy, Debug)]
pub struct DiameterMessage<'m>(&'m [u8]);

impl<'m> DiameterMessage<'m> {
    /// A view of a message; `None` for bytes without a whole header, or whose version or length Diameter does not allow.
    #[must_use]
    pub fn new(bytes: &'m [u8]) -> Option<Self> {
        let length = length(bytes)?.ok()?;
        (bytes.len() >= HEADER_OCTETS)
            .then(|| bytes.get(..bytes.len().min(length)))?
            .map(Self)
    }

    /// Version: 1.
    #[must_use]
    pub fn version(&self) -> u8 {
        u8_at(self.0, 0).unwrap_or_default()
    }

    /// Octets, as the header says.
    #[must_use]
    pub fn length(&self) -> u32 {
        u24(self.0, 1).unwrap_or_default()
    }

    /// Flags: 0x80 request, 0x40 proxyable, 0x20 error, 0x10 potentially sent again.
    #[must_use]
    pub fn flags(&self) -> u8 {
        u8_at(self.0, 4).unwrap_or_default()
    }

    /// True for a request.
    #[must_use]
    pub fn is_request(&self) -> bool {
        self.flags() & 0x80 != 0
    }

    /// The command code, which a request and its answer share.
    #[must_use]
    pub fn command(&self) -> u32 {
        u24(self.0, 5).unwrap_or_default()
    }

    /// The application that it belongs to.
    #[must_use]
    pub fn application(&self) -> u32 {
        u32_be_at(self.0, 8).unwrap_or_default()
    }

    /// Number that request and answer share between two peers.
    #[must_use]
    pub fn hop_by_hop(&self) -> u32 {
        u32_be_at(self.0, 12).unwrap_or_default()
    }

    /// Number that request and answer share from end to end.
    #[must_use]
    pub fn end_to_end(&self) -> u32 {
        u32_be_at(self.0, 16).unwrap_or_default()
    }

    /// All AVPs, as far as they are whole; the members of a group follow the group.
    #[must_use]
    pub fn avps(&self) -> Avps<'m> {
        let mut open = [&[][..]; DEPTH_MAX];
        open[0] = self.0.get(HEADER_OCTETS..).unwrap_or_default();
        Avps {
            open,
            depth: 0,
            is_broken: false,
            is_too_deep: false,
        }
    }

    /// What keeps pairs from being read: the reason why they end before the message or their group does, groups that are nested more
    /// than [`DEPTH_MAX`] deep, or a number, a time or an address of another length than it has.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        if usize::try_from(self.length()).is_ok_and(|length| self.0.len() < length) {
            return Some("bytes were not captured");
        }
        let mut avps = self.avps();
        let mut has_other_length = false;
        for avp in avps.by_ref() {
            has_other_length |= avp.has_other_length();
        }
        if avps.is_broken {
            return Some("a pair ends behind the message or its group, or within its header");
        }
        if avps.is_too_deep {
            return Some("groups are nested more than 12 deep");
        }
        has_other_length
            .then_some("a number, a time or an address has another length than its pair")
    }

    /// The first pair of this code and vendor (0 for the base's).
    #[must_use]
    pub fn avp(&self, vendor: u32, code: u32) -> Option<Avp<'m>> {
        self.all(vendor, code).next()
    }

    /// The pairs of this code and vendor (0 for the base's).
    pub fn all(&self, vendor: u32, code: u32) -> impl Iterator<Item = Avp<'m>> + use<'m> {
        let is_it = move |avp: &Avp<'m>| avp.code == code && avp.vendor.unwrap_or(0) == vendor;
        self.avps().filter(is_it)
    }
}

/// An attribute-value pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Avp<'m> {
    /// The code.
    pub code: u32,
    /// The vendor whose code it is (IANA): 10415 is 3GPP.
    pub vendor: Option<u32>,
    /// Flags: 0x80 of a vendor, 0x40 mandatory, 0x20 protected.
    pub flags: u8,
    /// Octets with the header.
    pub length: usize,
    /// The data.
    pub data: &'m [u8],
}

impl<'m> Avp<'m> {
    /// The name.
    #[must_use]
    pub fn name(&self) -> Option<&'static str> {
        Some(definition(self.vendor.unwrap_or(0), self.code)?.0)
    }

    /// The form by the standard; with an unknown code, a group where AVPs fill it to its last octet, and octets otherwise.
    #[must_use]
    pub fn shape(&self) -> Shape {
        match definition(self.vendor.unwrap_or(0), self.code) {
            Some((_, shape)) => shape,
            None if fills(self.data) => Shape::Group,
            None => Shape::Octets,
        }
    }

    /// A number of 32 or 64 bits; an enumeration's is negative at times.
    #[must_use]
    pub fn number(&self) -> Option<i128> {
        let (four, eight) = (self.data.try_into().ok(), self.data.try_into().ok());
        match self.shape() {
            Shape::Unsigned => four
                .map(u32::from_be_bytes)
                .map(i128::from)
                .or_else(|| eight.map(u64::from_be_bytes).map(i128::from)),
            Shape::Integer => four
                .map(i32::from_be_bytes)
                .map(i128::from)
                .or_else(|| eight.map(i64::from_be_bytes).map(i128::from)),
            _ => None,
        }
    }

    /// An address (RFC 6733, 4.3.1), or four octets of one without its family.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        let v4 = |octets: &[u8]| Some(Ipv4Addr::from(<[u8; 4]>::try_from(octets).ok()?).into());
        let v6 = |octets: &[u8]| Some(Ipv6Addr::from(<[u8; 16]>::try_from(octets).ok()?).into());
        match (u16_be_at(self.data, 0), self.data.get(2..)) {
            _ if self.data.len() == 4 => v4(self.data),
            _ if self.data.len() == 16 => v6(self.data),
            (Some(1), Some(octets)) => v4(octets),
            (Some(2), Some(octets)) => v6(octets),
            _ => None,
        }
    }

    /// A time, in seconds since 1970.
    #[must_use]
    pub fn time(&self) -> Option<i64> {
        let seconds: i64 = u32::from_be_bytes(self.data.try_into().ok()?).into();
        // Times before 1968 are of the next era (RFC 5905, 6).
        let era = if seconds & 0x8000_0000 == 0 {
            1 << 32
        } else {
            0
        };
        Some(seconds + era - EPOCH)
    }

    /// Whether it is a number, a time or an address whose data are shorter or longer than those are. Addresses of other families
    /// than IP have any length.
    #[must_use]
    pub fn has_other_length(&self) -> bool {
        match self.shape() {
            Shape::Unsigned | Shape::Integer => self.number().is_none(),
            Shape::Time => self.time().is_none(),
            Shape::Address => {
                let is_ip = u16_be_at(self.data, 0).is_none_or(|family| matches!(family, 1 | 2));
                is_ip && self.address().is_none()
            }
            Shape::Group | Shape::Text | Shape::Octets => false,
        }
    }

    /// The value as text; empty for a group, and hexadecimal digits for octets that are not printable.
    #[must_use]
    pub fn text(&self) -> String {
        let text = match self.shape() {
            Shape::Group => Some(String::new()),
            Shape::Text => Some(crate::printable(self.data)),
            Shape::Unsigned | Shape::Integer => self.number().map(|number| number.to_string()),
            Shape::Address => self.address().map(|address| address.to_string()),
            Shape::Time => self.time().map(|seconds| seconds.to_string()),
            Shape::Octets => None,
        };
        text.unwrap_or_else(|| crate::text::octets(self.data))
    }
}

/// The pairs of a message.
#[derive(Clone, Copy, Debug)]
pub struct Avps<'m> {
    /// The rest of the message, and of each open group.
    open: [&'m [u8]; DEPTH_MAX],
    depth: usize,
    /// Octets of the message or of a group are no pair.
    is_broken: bool,
    /// The members of a group were passed over, as [`DEPTH_MAX`] groups are around them.
    is_too_deep: bool,
}

impl<'m> Iterator for Avps<'m> {
    type Item = Avp<'m>;

    fn next(&mut self) -> Option<Avp<'m>> {
        loop {
            let rest = self.open.get_mut(self.depth)?;
            if let Some((avp, padded)) = head(rest).filter(|(avp, _)| avp.length <= rest.len()) {
                *rest = rest.get(padded..).unwrap_or_default();
                if avp.shape() == Shape::Group {
                    match self.open.get_mut(self.depth + 1) {
                        Some(inner) => {
                            *inner = avp.data;
                            self.depth += 1;
                        }
                        None => self.is_too_deep |= !avp.data.is_empty(),
                    }
                }
                return Some(avp);
            }
            self.is_broken |= rest.iter().any(|octet| *octet != 0);
            *rest = &[];
            self.depth = self.depth.checked_sub(1)?;
        }
    }
}

/// The AVP that begins here, with its data as far as they are there, and its padded length.
fn head(bytes: &[u8]) -> Option<(Avp<'_>, usize)> {
    let code = u32_be_at(bytes, 0)?;
    let flags = u8_at(bytes, 4)?;
    let length = u24(bytes, 5)? as usize;
    let (vendor, begin) = match flags & 0x80 {
        0 => (None, 8),
        _ => (Some(u32_be_at(bytes, 8)?), 12),
    };
    let data = bytes.get(begin..bytes.len().min(length))?;
    let avp = Avp {
        code,
        vendor,
        flags,
        length,
        data,
    };
    (length >= begin).then_some((avp, length.next_multiple_of(4)))
}

/// Whether AVPs fill these octets to the last one.
fn fills(mut bytes: &[u8]) -> bool {
    if bytes.is_empty() || !bytes.len().is_multiple_of(4) {
        return false;
    }
    while !bytes.is_empty() {
        let Some((avp, padded)) = head(bytes) else {
            return false;
        };
        let padding = bytes.get(avp.length..padded);
        let is_padded = padding.is_some_and(|octets| octets.iter().all(|octet| *octet == 0));
        if !is_padded || avp.flags & 0x1f != 0 || avp.code == 0 {
            return false;
        }
        bytes = bytes.get(padded..).unwrap_or_default();
    }
    true
}

/// A number of 24 bits.
fn u24(bytes: &[u8], at: usize) -> Option<u32> {
    let [high, middle, low] = array_at(bytes, at)?;
    Some(u32::from_be_bytes([0, high, middle, low]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn avp(code: u32, vendor: Option<u32>, data: &[u8]) -> Vec<u8> {
        let mut bytes = code.to_be_bytes().to_vec();
        let octets = data.len() as u32 + if vendor.is_some() { 12 } else { 8 };
        let flags: u32 = if vendor.is_some() { 0xc0 } else { 0x40 };
        bytes.extend((flags << 24 | octets).to_be_bytes());
        bytes.extend(vendor.into_iter().flat_map(u32::to_be_bytes));
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn answer() -> Vec<u8> {
        let result = [
            avp(266, None, &[0, 0, 0x28, 0xaf]),
            avp(298, None, &[0, 0, 0x15, 0xf0]),
        ]
        .concat();
        let body = [
            avp(263, None, b"a;1;2"),
            avp(297, None, &result),
            avp(264, None, b"hss.example"),
            avp(257, None, &[0, 1, 192, 0, 2, 1]),
            avp(55, None, &[0xee, 0, 0, 0]),
            avp(601, Some(10_415), b"sip:a@b"),
            // A group of a vendor that is not known here.
            avp(7, Some(99), &avp(8, Some(99), b"in")),
            avp(9, Some(99), &[1, 2]),
        ]
        .concat();
        let mut bytes = vec![
            1, 0, 0, 0, 0x40, 0, 1, 44, 1, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 8,
        ];
        bytes.extend(body);
        let length = (bytes.len() as u32).to_be_bytes();
        bytes[1..4].copy_from_slice(&length[1..]);
        bytes
    }

    #[test]
    fn an_answer_is_read() {
        let bytes = answer();
        assert!(begins(&bytes));
        let message = DiameterMessage::new(&bytes).unwrap();
        let numbers = (
            message.command(),
            message.hop_by_hop(),
            message.end_to_end(),
        );
        assert_eq!(numbers, (300, 7, 8));
        assert_eq!(
            (command_word(300), message.is_request()),
            (Some("User-Authorization"), false)
        );
        assert_eq!(application_word(message.application()), Some("3GPP Cx"));
        let pairs: Vec<_> = message
            .avps()
            .map(|pair| (pair.name().unwrap_or("?"), pair.text()))
            .collect();
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(name, text)| (*name, text.as_str()))
            .collect();
        assert_eq!(
            pairs,
            [
                ("Session-Id", "a;1;2"),
                ("Experimental-Result", ""),
                ("Vendor-Id", "10415"),
                ("Experimental-Result-Code", "5616"),
                ("Origin-Host", "hss.example"),
                ("Host-IP-Address", "192.0.2.1"),
                ("Event-Timestamp", "1783988608"),
                ("Public-Identity", "sip:a@b"),
                ("?", ""),
                ("?", "in"),
                ("?", "0102"),
            ]
        );
        assert_eq!(message.avp(10_415, 601).unwrap().data, b"sip:a@b");
        assert_eq!(message.avp(0, 601), None);
    }

    #[test]
    fn a_message_without_pairs_begins_with_a_standard_command() {
        let mut bytes = vec![1, 0, 0, 20, 0x80, 0, 1, 24];
        bytes.resize(HEADER_OCTETS, 0);
        assert!((8..=bytes.len()).all(|end| begins(&bytes[..end])));
        assert!((1..8).all(|end| !begins(&bytes[..end]) && may_begin(&bytes[..end])));
        let within = [b"the rest of one", &bytes[..], &bytes[..]].concat();
        assert_eq!(find(&within), Some(15));
        // No standard has this command.
        bytes[5] = 0x7f;
        assert!(!begins(&bytes));
        assert_eq!(find(&[b"the rest of one", &bytes[..]].concat()), None);
    }

    #[test]
    fn a_header_may_begin_in_the_last_octets() {
        let bytes = answer();
        for end in 0..BEGINNING_OCTETS {
            let within = [b"the rest of one", &bytes[..end]].concat();
            assert_eq!(begun(&within), end);
            assert_eq!(find(&within), None);
        }
        assert_eq!(begun(b"the rest of one"), 0);
    }

    #[test]
    fn every_prefix_is_read_as_far_as_it_goes() {
        let bytes = answer();
        let mut before = 0;
        for end in 0..bytes.len() {
            let message = DiameterMessage::new(&bytes[..end]);
            assert_eq!(message.is_some(), end >= HEADER_OCTETS);
            let pairs = message.map_or(0, |message| message.avps().count());
            assert!((before..=11).contains(&pairs), "{end}");
            before = pairs;
        }
    }

    #[test]
    fn pairs_of_another_length_are_faults() {
        let with = |body: &[u8]| {
            let mut bytes = vec![1, 0, 0, 0, 0x40, 0, 1, 44];
            bytes.resize(HEADER_OCTETS, 0);
            bytes.extend(body);
            let length = (bytes.len() as u32).to_be_bytes();
            bytes[1..4].copy_from_slice(&length[1..]);
            bytes
        };
        let behind = "a pair ends behind the message or its group, or within its header";
        let other = "a number, a time or an address has another length than its pair";
        let result = avp(268, None, &[0, 0, 7, 0xd1]);
        let mut long = result.clone();
        long[7] = 16;
        let mut short = result.clone();
        short[7] = 7;
        for (body, count, fault) in [
            (result.clone(), 1, None),
            (
                [&result[..], &avp(268, None, &[7, 0xd1])].concat(),
                2,
                Some(other),
            ),
            (
                [&result[..], &avp(55, None, &[1, 2])].concat(),
                2,
                Some(other),
            ),
            (
                [&result[..], &avp(257, None, &[0, 1, 192])].concat(),
                2,
                Some(other),
            ),
            // An address of another family than IP: a telephone number.
            (
                [&result[..], &avp(257, None, b"\0\x08491234")].concat(),
                2,
                None,
            ),
            ([&result[..], &long].concat(), 1, Some(behind)),
            ([&result[..], &short].concat(), 1, Some(behind)),
            // What follows a group is read all the same.
            (
                [&avp(297, None, &long)[..], &result].concat(),
                2,
                Some(behind),
            ),
        ] {
            let bytes = with(&body);
            let message = DiameterMessage::new(&bytes).unwrap();
            let found = (message.avps().count(), message.fault());
            assert_eq!(found, (count, fault), "{body:02x?}");
        }
        let bytes = with(&result);
        let cut = DiameterMessage::new(&bytes[..bytes.len() - 4]).unwrap();
        assert_eq!(cut.fault(), Some("bytes were not captured"));
    }

    #[test]
    fn groups_within_groups_have_an_end() {
        let mut body = avp(266, None, &[0; 4]);
        for _ in 0..100 {
            body = avp(297, None, &body);
        }
        let mut bytes = vec![1, 0, 0, 0, 0x40, 0, 1, 44];
        bytes.resize(HEADER_OCTETS, 0);
        bytes.extend(body);
        let length = (bytes.len() as u32).to_be_bytes();
        bytes[1..4].copy_from_slice(&length[1..]);
        let message = DiameterMessage::new(&bytes).unwrap();
        assert_eq!(message.avps().count(), DEPTH_MAX);
        assert_eq!(message.fault(), Some("groups are nested more than 12 deep"));
    }
}
