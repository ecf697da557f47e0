//! Objects: what a capture may be read from that is no file, such as an object in a store.
//!
//! This crate opens none itself: a crate that does (weir-remote) implements [`Object`]. All crates use this module to
//! see which texts are addresses, and to show addresses without their secrets.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read, Seek};
use std::ops::Range;

/// Bytes that lie elsewhere, which may be read several times and from any place.
pub trait Object: fmt::Debug + Send + Sync {
    /// The address as it may be shown: without credentials and without a query.
    fn name(&self) -> &str;

    /// All that tells this object and its version from others. It may hold secrets: it is compared, and never
    /// shown.
    fn identity(&self) -> &str;

    /// Bytes that it has; `None` where the other side does not say before all of them have come.
    fn len(&self) -> Option<u64>;

    /// Whether it is known to be empty.
    fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// Whether it can be read from any position; otherwise only from its beginning.
    fn is_ranged(&self) -> bool;

    /// Reads from the start of `range` on. Reading may go on behind its end: up to there it pays to read ahead.
    ///
    /// # Errors
    /// When it cannot be read, or has changed since it was found. So do the reads.
    fn open(&self, range: Range<u64>) -> io::Result<Box<dyn ReadObject>>;

    /// This object as [`Any`], from which the crate that made it gets its own type back.
    fn as_any(&self) -> &dyn Any;
}

/// A reader of an [`Object`].
pub trait ReadObject: Read + Seek + Send {}

impl<R: Read + Seek + Send> ReadObject for R {}

/// True for the address of something that is no local file, such as `s3://bucket/day/*.pcap`.
///
/// ```
/// assert!(weir_capture::is_remote("s3://bucket/day/*.pcap.zst"));
/// assert!(!weir_capture::is_remote("day/s3:/a.pcap"));
/// ```
#[must_use]
pub fn is_remote(text: &str) -> bool {
    text.split_once("://")
        .is_some_and(|(scheme, _)| is_scheme(scheme))
}

fn is_scheme(word: &str) -> bool {
    SCHEMES
        .iter()
        .any(|scheme| scheme.eq_ignore_ascii_case(word))
}

/// A text with what addresses in it keep secret taken out, of schemes that are read and of others: user names with passwords, and
/// queries, which hold the signatures of signed addresses.
///
/// ```
/// use weir_capture::redacted;
/// let signed = "https://me:pw@host.example/a.pcap?X-Amz-Signature=5a5a: access denied";
/// assert_eq!(redacted(signed), "https://…@host.example/a.pcap?…: access denied");
/// assert_eq!(redacted("s3://bucket/day/a?.pcap"), "s3://bucket/day/a?.pcap");
/// ```
#[must_use]
pub fn redacted(text: &str) -> Cow<'_, str> {
    if !text.contains("://") {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at);
        let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let scheme = before.trim_end_matches(is_of_scheme).len();
        let scheme = before.get(scheme..).unwrap_or_default();
        clean.push_str(before);
        clean.push_str("://");
        rest = after.get(3..).unwrap_or_default();
        if !scheme.is_empty() {
            let end = rest.find(|c: char| c.is_whitespace() || ENDS.contains(&c));
            let (address, behind) = rest.split_at(end.unwrap_or(rest.len()));
            redact(scheme, address, &mut clean);
            rest = behind;
        }
    }
    clean.push_str(rest);
    Cow::Owned(clean)
}

/// Adds what may be shown of an address behind its scheme.
fn redact(scheme: &str, address: &str, clean: &mut String) {
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    let authority = address.find(['/', '?', '#']).unwrap_or(address.len());
    let (host, _) = address.split_at(authority);
    // A password may hold a slash that was not written as %2F: then the text behind the last colon is not a port.
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    let has_odd_port = host
        .rsplit_once(':')
        .is_some_and(|(_, port)| !is_port(port) && !port.ends_with(']'));
    let user = match host.rfind('@') {
        // The container of an Azure account stands in front of an @ as well.
        Some(at) if !host.get(..at).is_some_and(|user| user.contains(':')) && !is_web => None,
        Some(at) => Some(at),
        None if has_odd_port => address.rfind('@'),
        None => None,
    };
    let rest = match user {
        Some(at) => {
            clean.push_str("…@");
            address.get(at + 1..).unwrap_or_default()
        }
        None => address,
    };
    match rest.find(['?', '#']) {
        Some(at) if is_web || rest.get(at..).is_some_and(|query| query.contains('=')) => {
            let (path, query) = rest.split_at(at);
            clean.push_str(path);
            clean.push_str("?…");
            let kept = query.trim_end_matches([',', ':', ';', ')', ']', '.']).len();
            clean.push_str(query.get(kept..).unwrap_or_default());
        }
        _ => clean.push_str(rest),
    }
}

/// The first words of addresses.
const SCHEMES: [&str; 10] = [
    "s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss", "http", "https",
];
/// The characters at which an address in a text ends.
const ENDS: [char; 5] = ['\'', '"', '`', '<', '>'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_of_an_address_stays() {
        for (text, expected) in [
            (
                "FROM 'https://h/a?sig=SECRET' WHERE",
                "FROM 'https://h/a?…' WHERE",
            ),
            (
                "https://h/a?sig=SECRET, https://h/b",
                "https://h/a?…, https://h/b",
            ),
            ("https://h/a#SECRET", "https://h/a?…"),
            ("HTTPS://u:SECRET@h:8080/a", "HTTPS://…@h:8080/a"),
            ("https://SECRET@h/a", "https://…@h/a"),
            ("s3://KEY:SEC/RET@bucket/a", "s3://…@bucket/a"),
            ("s3://KEY:SECRET@bucket/a b", "s3://…@bucket/a b"),
            ("abfss://container@account/a", "abfss://container@account/a"),
            ("s3://b/k?X-Amz-Signature=SECRET", "s3://b/k?…"),
            ("s3://b/day/a?.pcap", "s3://b/day/a?.pcap"),
            ("http://[::1]:80/a", "http://[::1]:80/a"),
            ("x://u:p@h and ://", "x://…@h and ://"),
            ("ftp://u:SECRET@h/a.csv", "ftp://…@h/a.csv"),
            ("(see https://h/a?SECRET).", "(see https://h/a?…)."),
        ] {
            assert_eq!(redacted(text), expected, "{text}");
            assert_eq!(redacted(expected), expected, "{text}");
        }
    }

    #[test]
    fn addresses_are_distinguished_from_paths() {
        for remote in ["s3://b/k", "S3://b", "https://h/x", "gs://b/k", "az://c/k"] {
            assert!(is_remote(remote), "{remote}");
        }
        for local in ["a.pcap", "s3:/b", "file:///a", "x/s3://b", "-", "s3", "://"] {
            assert!(!is_remote(local), "{local}");
        }
    }
}
