//! The values of From, To, Contact, Route and their like: a display name, a URI, parameters.

use crate::fault::{Fault, FaultKind};
use crate::params::Params;
use crate::scan::{
    find_outside, is_token_byte, is_white, offset_in, quoted_len, trim, trim_end, trim_start,
};
use crate::uri::Uri;

/// An address of a header (RFC 3261 §20.10, name-addr and addr-spec).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'a> {
    /// The value as it was sent.
    pub text: &'a [u8],
    /// The display name, with its quotes where it has any; empty when there is none.
    pub display: &'a [u8],
    /// The URI.
    pub uri: Uri<'a>,
    /// The parameters of the header.
    pub params: Params<'a>,
    /// The first thing that is wrong with it; the offset counts from its own start.
    pub fault: Option<Fault>,
}

impl<'a> Address<'a> {
    /// Parses one address. Never fails: its fault is in [`Address::fault`].
    #[must_use]
    pub fn parse(text: &'a [u8]) -> Self {
        let mut first = First { text, fault: None };
        let bracket = find_outside(text, |byte| byte == b'<').or_else(|| {
            // A quote that does not end hides the bracket.
            let quote = text.iter().position(|byte| *byte == b'"')?;
            quoted_len(text.get(quote..)?).is_none().then_some(())?;
            first.flaw(FaultKind::Quote, text.get(quote..)?);
            text.iter().position(|byte| *byte == b'<')
        });
        let (display, uri, params) = match bracket.and_then(|at| text.split_at_checked(at)) {
            Some((display, rest)) => {
                let display = trim(display);
                check_display(display, &mut first);
                let (uri, params) = bracketed(rest, &mut first);
                (display, uri, params)
            }
            None => {
                let (uri, params) = bare(text, &mut first);
                (&[][..], uri, params)
            }
        };
        let uri = Uri::parse(uri);
        if let Some(fault) = uri.fault {
            let offset = offset_in(text, uri.text).saturating_add(fault.offset as usize);
            first.fault.get_or_insert(Fault::at(fault.kind, offset));
        }
        Self {
            text,
            display,
            uri,
            params,
            fault: first.fault,
        }
    }

    /// The tag of a From or To (RFC 3261 §19.3).
    #[must_use]
    pub fn tag(&self) -> Option<&'a [u8]> {
        self.params.value(b"tag").filter(|tag| !tag.is_empty())
    }

    /// The display name without its quotes; escapes stay.
    #[must_use]
    pub fn display_unquoted(&self) -> &'a [u8] {
        match self.display {
            [b'"', inner @ .., b'"'] => inner,
            display => display,
        }
    }
}

/// Keeps the first thing that is wrong.
struct First<'a> {
    text: &'a [u8],
    fault: Option<Fault>,
}

impl First<'_> {
    fn flaw(&mut self, kind: FaultKind, part: &[u8]) {
        let offset = offset_in(self.text, part);
        self.fault.get_or_insert_with(|| Fault::at(kind, offset));
    }
}

fn check_display(display: &[u8], first: &mut First<'_>) {
    if display.first() == Some(&b'"') {
        if quoted_len(display) != Some(display.len()) {
            first.flaw(FaultKind::Quote, display);
        }
    } else if let Some(at) = display
        .iter()
        .position(|byte| !is_token_byte(*byte) && !is_white(*byte) && *byte < 0x80)
    {
        first.flaw(
            FaultKind::DisplayName,
            display.get(at..).unwrap_or_default(),
        );
    }
}

/// The URI and the parameters of what begins with `<`.
fn bracketed<'a>(text: &'a [u8], first: &mut First<'_>) -> (&'a [u8], Params<'a>) {
    let inner = text.get(1..).unwrap_or_default();
    let Some(end) = inner.iter().position(|byte| *byte == b'>') else {
        first.flaw(FaultKind::Brackets, text);
        return bare(inner, first);
    };
    let (uri, rest) = inner.split_at_checked(end).unwrap_or((inner, &[]));
    let trimmed = trim(uri);
    if trimmed.len() != uri.len() {
        first.flaw(FaultKind::Brackets, uri);
    }
    let rest = trim_start(rest.get(1..).unwrap_or_default());
    let params = match rest {
        [] => return (trimmed, Params::default()),
        [b';', params @ ..] => params,
        _ => {
            first.flaw(FaultKind::Brackets, rest);
            let semicolon = find_outside(rest, |byte| byte == b';').unwrap_or(rest.len());
            rest.get(semicolon.saturating_add(1)..).unwrap_or_default()
        }
    };
    let whole = Params::new(params);
    if let Some(part) = whole.flaw(false) {
        first.flaw(FaultKind::Parameter, part);
    }
    (trimmed, whole)
}

/// The URI and the parameters of what has no brackets: all parameters are the header's (RFC 3261
/// §20).
fn bare<'a>(text: &'a [u8], first: &mut First<'_>) -> (&'a [u8], Params<'a>) {
    let end = text
        .iter()
        .position(|byte| *byte == b';')
        .unwrap_or(text.len());
    let (uri, params) = text.split_at_checked(end).unwrap_or((text, &[]));
    let uri = trim_end(trim_start(uri));
    if uri.iter().any(|byte| matches!(byte, b'?' | b',')) {
        first.flaw(FaultKind::NeedsBrackets, uri);
    }
    let Some(params) = params.get(1..) else {
        return (uri, Params::default());
    };
    let whole = Params::new(params);
    if let Some(part) = whole.flaw(false) {
        first.flaw(FaultKind::Parameter, part);
    }
    (uri, whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_uris_and_parameters() {
        let address = Address::parse(b"\"J \\\"R\\\" <x>\" <sip:j@h;lr>;\r\n tag = 98");
        assert_eq!(address.display_unquoted(), b"J \\\"R\\\" <x>");
        assert_eq!(address.uri.user, Some(&b"j"[..]));
        assert_eq!(address.uri.params.value(b"lr"), Some(&b""[..]));
        assert_eq!(address.tag(), Some(&b"98"[..]));
        assert_eq!(address.fault, None);
        let address = Address::parse(b"sip:user@example.com;tag=1");
        assert_eq!(address.uri.text, b"sip:user@example.com");
        assert_eq!(address.tag(), Some(&b"1"[..]));
        assert_eq!(Address::parse(b"caller<sip:c@h>").display, b"caller");
    }

    #[test]
    fn what_is_wrong_is_named_and_the_rest_is_read() {
        for (text, kind, offset) in [
            (&b"\"Mr. J <sip:j@h>;tag=1"[..], FaultKind::Quote, 0),
            (b"Bell, A <sip:a@h>;tag=1", FaultKind::DisplayName, 4),
            (b"A < sip:a@h >;tag=1", FaultKind::Brackets, 3),
            (b"A <sip:a@h;tag=1", FaultKind::Brackets, 2),
            (b"<sip:a@h> x;tag=1", FaultKind::Brackets, 10),
            (b"sip:a@h?x=1;tag=1", FaultKind::NeedsBrackets, 0),
            (b"<sip:a@h>;;tag=1", FaultKind::Parameter, 10),
            (b"<a@h>;tag=1", FaultKind::Uri, 1),
        ] {
            let address = Address::parse(text);
            assert_eq!(address.fault, Some(Fault::at(kind, offset)), "{text:?}");
            assert_eq!(address.tag(), Some(&b"1"[..]), "{text:?}");
        }
    }
}
