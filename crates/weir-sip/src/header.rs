//! Headers: their names, and the table of the headers of one message.

use crate::scan::{is_white, trim};

macro_rules! headers {
    ($($name:ident $text:literal $compact:literal $many:literal,)*) => {
        /// A header that this crate knows by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum HeaderName {
            $(#[doc = $text] $name,)*
            /// Any other.
            Other,
        }

        impl HeaderName {
            /// The name as the RFCs write it; empty for [`HeaderName::Other`].
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                    Self::Other => "",
                }
            }

            /// True for a header that may stand several times (RFC 3261 §7.3.1).
            #[must_use]
            pub const fn is_list(self) -> bool {
                match self {
                    $(Self::$name => $many,)*
                    Self::Other => true,
                }
            }

            fn of_compact(letter: u8) -> Self {
                match letter.to_ascii_lowercase() {
                    b' ' => Self::Other,
                    $(letter if letter == $compact => Self::$name,)*
                    _ => Self::Other,
                }
            }
        }

        #[cfg(test)]
        const NAMES: &[HeaderName] = &[$(HeaderName::$name),*];
    };
}

headers! {
    Via "Via" b'v' true,
    From "From" b'f' false,
    To "To" b't' false,
    CallId "Call-ID" b'i' false,
    CSeq "CSeq" b' ' false,
    Contact "Contact" b'm' true,
    MaxForwards "Max-Forwards" b' ' false,
    ContentLength "Content-Length" b'l' false,
    ContentType "Content-Type" b'c' false,
    UserAgent "User-Agent" b' ' false,
    Server "Server" b' ' false,
    Route "Route" b' ' true,
    RecordRoute "Record-Route" b' ' true,
    Allow "Allow" b' ' true,
    Supported "Supported" b'k' true,
    Require "Require" b' ' true,
    ProxyRequire "Proxy-Require" b' ' true,
    Unsupported "Unsupported" b' ' true,
    Expires "Expires" b' ' false,
    MinExpires "Min-Expires" b' ' false,
    Authorization "Authorization" b' ' true,
    ProxyAuthorization "Proxy-Authorization" b' ' true,
    WwwAuthenticate "WWW-Authenticate" b' ' true,
    ProxyAuthenticate "Proxy-Authenticate" b' ' true,
    Accept "Accept" b' ' true,
    ContentEncoding "Content-Encoding" b'e' true,
    Date "Date" b' ' false,
    RetryAfter "Retry-After" b' ' false,
    Warning "Warning" b' ' true,
    Subject "Subject" b's' false,
    Event "Event" b'o' false,
    AllowEvents "Allow-Events" b'u' true,
    SubscriptionState "Subscription-State" b' ' false,
    ReferTo "Refer-To" b'r' false,
    ReferredBy "Referred-By" b'b' false,
    Replaces "Replaces" b' ' false,
    SessionExpires "Session-Expires" b'x' false,
    MinSe "Min-SE" b' ' false,
    RSeq "RSeq" b' ' false,
    RAck "RAck" b' ' false,
    Reason "Reason" b' ' true,
    PAssertedIdentity "P-Asserted-Identity" b' ' true,
    PPreferredIdentity "P-Preferred-Identity" b' ' true,
    Diversion "Diversion" b' ' true,
    Path "Path" b' ' true,
    Identity "Identity" b'y' false,
}

impl HeaderName {
    /// The header of this name, full or compact, without regard to case (RFC 3261 §7.3.3).
    ///
    /// Costs a comparison with the few names that are as long and begin with the same letter.
    #[must_use]
    pub fn of(name: &[u8]) -> Self {
        if let [letter] = name {
            return Self::of_compact(*letter);
        }
        let candidates = BY_LEN.get(name.len()).copied().unwrap_or_default();
        let found = candidates
            .iter()
            .find(|candidate| candidate.text().as_bytes().eq_ignore_ascii_case(name));
        found.copied().unwrap_or(Self::Other)
    }
}

/// The names of each length.
const BY_LEN: [&[HeaderName]; 21] = {
    use HeaderName as H;
    [
        &[],
        &[],
        &[H::To],
        &[H::Via],
        &[H::From, H::CSeq, H::Date, H::RSeq, H::RAck, H::Path],
        &[H::Route, H::Allow, H::Event],
        &[H::Server, H::Accept, H::MinSe, H::Reason],
        &[
            H::CallId,
            H::Contact,
            H::Require,
            H::Expires,
            H::Warning,
            H::Subject,
        ],
        &[H::ReferTo, H::Replaces, H::Identity],
        &[H::Supported, H::Diversion],
        &[H::UserAgent],
        &[H::Unsupported, H::MinExpires, H::RetryAfter, H::ReferredBy],
        &[
            H::MaxForwards,
            H::ContentType,
            H::RecordRoute,
            H::AllowEvents,
        ],
        &[H::ProxyRequire, H::Authorization],
        &[H::ContentLength],
        &[H::SessionExpires],
        &[H::WwwAuthenticate, H::ContentEncoding],
        &[],
        &[H::ProxyAuthenticate, H::SubscriptionState],
        &[H::ProxyAuthorization, H::PAssertedIdentity],
        &[H::PPreferredIdentity],
    ]
};

/// One header line with its continuations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// The header's known name.
    pub name: HeaderName,
    /// The name as it was sent.
    pub text: &'a [u8],
    /// The value without white space around it. Folded lines are unchanged, including their line ends: [`Header::unfolded`] returns
    /// them on one line.
    pub value: &'a [u8],
}

impl Header<'_> {
    /// The value on one line: each fold with the white space around it is one space (RFC 3261
    /// §7.3.1). Borrowed, where there is no fold.
    #[must_use]
    pub fn unfolded(&self) -> std::borrow::Cow<'_, [u8]> {
        unfold(self.value)
    }
}

/// See [`Header::unfolded`].
#[must_use]
pub fn unfold(value: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    if memchr::memchr(b'\n', value).is_none() {
        return value.into();
    }
    let mut line = Vec::with_capacity(value.len());
    for (number, part) in value.split(|byte| *byte == b'\n').enumerate() {
        if number > 0 {
            line.push(b' ');
        }
        line.extend(trim(part));
    }
    line.into()
}

/// The position of a header in its message.
#[derive(Clone, Copy, Debug)]
struct Slot {
    name: HeaderName,
    name_len: u16,
    start: u32,
    value_start: u32,
    value_end: u32,
}

const EMPTY: Slot = Slot {
    name: HeaderName::Other,
    name_len: 0,
    start: 0,
    value_start: 0,
    value_end: 0,
};

/// The headers of a message in order. Headers beyond [`Headers::INLINE`] are on the heap.
#[derive(Clone, Debug)]
pub struct Headers<'a> {
    bytes: &'a [u8],
    inline: [Slot; Headers::INLINE],
    inline_len: u8,
    spilled: Vec<Slot>,
}

impl<'a> Headers<'a> {
    /// Headers that a table holds without allocating.
    pub const INLINE: usize = 32;

    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            inline: [EMPTY; Self::INLINE],
            inline_len: 0,
            spilled: Vec::new(),
        }
    }

    /// The number of headers.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.inline_len).saturating_add(self.spilled.len())
    }

    /// True without headers.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.inline_len == 0
    }

    /// All headers in the order in which they stand.
    pub fn iter(&self) -> impl Iterator<Item = Header<'a>> {
        self.slots().map(|slot| self.header(slot))
    }

    /// The headers of one name, in order.
    pub fn all(&self, name: HeaderName) -> impl Iterator<Item = Header<'a>> {
        self.slots()
            .filter(move |slot| slot.name == name)
            .map(|slot| self.header(slot))
    }

    /// The first header of a name.
    #[must_use]
    #[inline]
    pub fn get(&self, name: HeaderName) -> Option<Header<'a>> {
        let slot = self.slots().find(|slot| slot.name == name)?;
        Some(self.header(slot))
    }

    /// The value of the first header of a name.
    #[must_use]
    #[inline]
    pub fn value(&self, name: HeaderName) -> Option<&'a [u8]> {
        Some(self.get(name)?.value)
    }

    /// The first header whose name is written so, without regard to case: for those that are no
    /// [`HeaderName`].
    #[must_use]
    pub fn named(&self, text: &[u8]) -> Option<Header<'a>> {
        self.iter()
            .find(|header| header.text.eq_ignore_ascii_case(text))
    }

    fn slots(&self) -> impl Iterator<Item = &Slot> {
        let inline = self.inline.get(..usize::from(self.inline_len));
        inline.unwrap_or_default().iter().chain(&self.spilled)
    }

    fn header(&self, slot: &Slot) -> Header<'a> {
        let name_start = slot.start as usize;
        let name_end = name_start.saturating_add(usize::from(slot.name_len));
        let value = slot.value_start as usize..slot.value_end as usize;
        Header {
            name: slot.name,
            text: self.bytes.get(name_start..name_end).unwrap_or_default(),
            value: self.bytes.get(value).unwrap_or_default(),
        }
    }

    /// Adds the header whose name ends before the colon at `colon` and whose last line ends at `end`.
    pub(crate) fn push(&mut self, start: usize, colon: usize, end: usize) {
        let mut name_end = colon;
        while name_end > start && self.is_white_at(name_end.wrapping_sub(1)) {
            name_end = name_end.wrapping_sub(1);
        }
        let mut value_start = colon.saturating_add(1).min(end);
        while value_start < end && self.is_white_at(value_start) {
            value_start = value_start.wrapping_add(1);
        }
        let mut value_end = end;
        while value_end > value_start && self.is_white_at(value_end.wrapping_sub(1)) {
            value_end = value_end.wrapping_sub(1);
        }
        let text = self.bytes.get(start..name_end).unwrap_or_default();
        let short = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let slot = Slot {
            name: HeaderName::of(text),
            name_len: u16::try_from(text.len()).unwrap_or(u16::MAX),
            start: short(start),
            value_start: short(value_start),
            value_end: short(value_end),
        };
        match self.inline.get_mut(usize::from(self.inline_len)) {
            Some(place) => {
                *place = slot;
                self.inline_len = self.inline_len.saturating_add(1);
            }
            None => self.spilled.push(slot),
        }
    }

    fn is_white_at(&self, at: usize) -> bool {
        self.bytes.get(at).is_some_and(|byte| is_white(*byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_found_in_any_case_and_in_its_compact_form() {
        for name in NAMES {
            assert_eq!(HeaderName::of(name.text().as_bytes()), *name);
            let upper = name.text().to_ascii_uppercase();
            assert_eq!(HeaderName::of(upper.as_bytes()), *name);
        }
        assert_eq!(HeaderName::of(b"v"), HeaderName::Via);
        assert_eq!(HeaderName::of(b"L"), HeaderName::ContentLength);
        for other in [&b""[..], b" ", b"q", b"Vi", b"Content-Lengths", b"Unknown"] {
            assert_eq!(HeaderName::of(other), HeaderName::Other, "{other:?}");
        }
    }

    #[test]
    fn folds_become_a_space() {
        assert_eq!(&*unfold(b"one \r\n two\r\n\tthree"), b"one two three");
        assert!(matches!(unfold(b"one"), std::borrow::Cow::Borrowed(_)));
    }

    #[test]
    fn headers_beyond_the_table_spill() {
        let line = b"a: b\r\n".repeat(40);
        let mut headers = Headers::new(&line);
        for number in 0..40 {
            headers.push(number * 6, number * 6 + 1, number * 6 + 6);
        }
        assert_eq!(headers.len(), 40);
        assert!(headers.iter().all(|header| header.value == b"b"));
        assert_eq!(headers.iter().count(), 40);
    }
}
