//! Parameters: `;name=value` behind a URI or a header's value.

use crate::scan::{find_outside, is_token, quoted_len, trim};

/// The parameters of a value, as they were sent, without the first semicolon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params<'a>(&'a [u8]);

/// One parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param<'a> {
    /// The name, which is compared without regard to case.
    pub name: &'a [u8],
    /// The value, with its quotes if it has any; `None` for a parameter without `=`.
    pub value: Option<&'a [u8]>,
}

impl<'a> Params<'a> {
    /// Parameters from the text behind the first semicolon.
    #[must_use]
    pub const fn new(text: &'a [u8]) -> Self {
        Self(text)
    }

    /// The text as it was sent.
    #[must_use]
    pub const fn text(&self) -> &'a [u8] {
        self.0
    }

    /// The parameters in order; empty ones are passed over.
    pub fn iter(&self) -> impl Iterator<Item = Param<'a>> {
        self.elements().filter(|param| !param.name.is_empty())
    }

    /// The first parameter of this name.
    #[must_use]
    pub fn get(&self, name: &[u8]) -> Option<Param<'a>> {
        self.iter()
            .find(|param| param.name.eq_ignore_ascii_case(name))
    }

    /// The value of the first parameter of this name; empty for one without `=`.
    #[must_use]
    pub fn value(&self, name: &[u8]) -> Option<&'a [u8]> {
        Some(self.get(name)?.value.unwrap_or_default())
    }

    /// The first parameter that is empty or malformed. To be asked where there was a semicolon: it
    /// promises a parameter.
    pub(crate) fn flaw(&self, of_uri: bool) -> Option<&'a [u8]> {
        if self.0.is_empty() {
            return Some(self.0);
        }
        let is_sound = |param: &Param<'_>| {
            // The parameters of URIs may have more bytes than tokens (RFC 3261 §25.1, paramchar).
            if of_uri {
                return !param.name.is_empty() && param.name.iter().all(|b| *b > b' ');
            }
            is_token(param.name) && param.value.is_none_or(is_value)
        };
        self.elements()
            .find(|param| !is_sound(param))
            .map(|param| param.name)
    }

    fn elements(&self) -> impl Iterator<Item = Param<'a>> {
        let mut rest = (!self.0.is_empty()).then_some(self.0);
        std::iter::from_fn(move || {
            let text = rest?;
            let end = find_outside(text, |byte| byte == b';');
            rest = end.and_then(|end| text.get(end.saturating_add(1)..));
            Some(Param::new(text.get(..end.unwrap_or(text.len()))?))
        })
    }
}

impl<'a> Param<'a> {
    fn new(text: &'a [u8]) -> Self {
        let (name, value) = match crate::scan::split_once(text, b'=') {
            Some((name, value)) => (name, Some(trim(value))),
            None => (text, None),
        };
        Self {
            name: trim(name),
            value,
        }
    }
}

/// A token, a host or a quoted string (RFC 3261 §25.1, gen-value).
fn is_value(value: &[u8]) -> bool {
    match value.first() {
        None => false,
        Some(b'"') => quoted_len(value) == Some(value.len()),
        // Names of hosts beyond ASCII occur, and IPv6 references are hosts.
        Some(_) => value
            .iter()
            .all(|byte| !matches!(byte, 0..=b' ' | b'"' | b'<' | b'>' | b',' | 0x7f)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_without_regard_to_case() {
        let params = Params::new(b" tag = 19 ;; lr;x=\"a;b\"");
        assert_eq!(params.value(b"TAG"), Some(&b"19"[..]));
        assert_eq!(params.value(b"lr"), Some(&b""[..]));
        assert_eq!(params.get(b"lr").unwrap().value, None);
        assert_eq!(params.value(b"x"), Some(&b"\"a;b\""[..]));
        assert_eq!(params.value(b"b"), None);
        assert_eq!(params.iter().count(), 3);
        assert!(params.flaw(false).is_some());
        assert!(Params::new(b"a=1;b").flaw(false).is_none());
        assert!(Params::default().flaw(false).is_some());
    }
}
