//! Addresses of objects, how they are parsed, and how they are shown without their secrets.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use percent_encoding::percent_decode_str;
use url::Url;
use weir_capture::redacted;

use crate::{Error, ErrorKind};

/// The address of one object, or of several if its key is a pattern.
#[derive(Clone, Debug)]
pub(crate) enum Address {
    Store(StoreAddress),
    Web(WebAddress),
}

/// A key in a bucket or a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreAddress {
    pub(crate) kind: StoreKind,
    /// The bucket or container that has the keys, as it was written: `s3://bucket`.
    pub(crate) base: String,
    /// The key, in which no character is escaped.
    pub(crate) key: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreKind {
    S3,
    Google,
    Azure,
}

/// An address of the web (http, https).
#[derive(Clone)]
pub(crate) struct WebAddress {
    /// The URL with its query, without user and password.
    pub(crate) url: Url,
    /// The header of user and password.
    pub(crate) authorization: Option<HeaderValue>,
}

impl std::fmt::Debug for WebAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown())
    }
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// When the text is not an address.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |what: &str| Error::new(ErrorKind::Address, text, what);
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(wrong(
                "expected an address, such as s3://bucket/key or https://host/path",
            ));
        };
        let scheme = scheme.to_ascii_lowercase();
        let kind = match scheme.as_str() {
            "s3" | "s3a" => StoreKind::S3,
            "gs" => StoreKind::Google,
            "az" | "azure" | "adl" | "abfs" | "abfss" => StoreKind::Azure,
            "http" | "https" => return WebAddress::parse(text).map(Self::Web),
            _ => {
                return Err(wrong(
                    "expected an address that begins with s3, gs, az, https or http",
                ));
            }
        };
        let (container, key) = rest.split_once('/').unwrap_or((rest, ""));
        let has_account = kind == StoreKind::Azure && !container.contains(':');
        if (container.contains('@') && !has_account) || container.contains(':') {
            return Err(wrong("an address cannot have credentials").with_hint(
                "credentials come from environment variables, as with the store's own tools",
            ));
        }
        if container.is_empty() {
            return Err(wrong("the bucket is missing: s3://bucket/key"));
        }
        let has_odd_part = |part: &str| part.is_empty() || part == "." || part == "..";
        let (above, last) = key.rsplit_once('/').map_or(("", key), |parts| parts);
        let odd_folder = !above.is_empty() && above.split('/').any(has_odd_part);
        if odd_folder || key.starts_with('/') || matches!(last, "." | "..") {
            return Err(wrong("the key has a part that is empty, . or .."));
        }
        // Messages show the scheme that users write.
        let scheme = match kind {
            StoreKind::S3 => "s3",
            StoreKind::Google => "gs",
            StoreKind::Azure if container.contains('@') => &scheme,
            StoreKind::Azure => "az",
        };
        Ok(Self::Store(StoreAddress {
            kind,
            base: format!("{scheme}://{container}"),
            key: key.to_owned(),
        }))
    }

    /// The address without its secrets, for messages.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Store(store) => store.shown(&store.key),
            Self::Web(web) => web.shown(),
        }
    }

    /// Whether the address is `folder`, or lies in it.
    pub(crate) fn is_below(&self, folder: &Self) -> bool {
        match (self, folder) {
            (Self::Store(ours), Self::Store(folder)) => {
                ours.base == folder.base && is_below(&ours.key, &folder.key)
            }
            (Self::Web(ours), Self::Web(folder)) => {
                let path = ours.url.path();
                // A server may decode these characters, and leave the folder by them.
                let lower = path.to_ascii_lowercase();
                let is_plain = !["%2e", "%2f", "%5c", "\\"]
                    .iter()
                    .any(|odd| lower.contains(odd));
                let trimmed = |path: &str| path.trim_start_matches('/').to_owned();
                is_plain
                    && ours.url.origin() == folder.url.origin()
                    && is_below(&trimmed(path), &trimmed(folder.url.path()))
            }
            _ => false,
        }
    }
}

impl StoreAddress {
    /// The address of another key in the same bucket, for messages.
    pub(crate) fn shown(&self, key: &str) -> String {
        format!("{}/{key}", self.base)
    }
}

impl WebAddress {
    fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |what: &str| Error::new(ErrorKind::Address, text, what);
        // The error of the parser says less than this one, and could repeat a secret.
        let mut url = Url::parse(text)
            .map_err(|_| wrong("expected a web address, such as https://host/path"))?;
        if url.host_str().is_none_or(str::is_empty) {
            return Err(wrong("the host is missing"));
        }
        let mut authorization = None;
        if !url.username().is_empty() || url.password().is_some() {
            let decoded = |part: &str| {
                percent_decode_str(part)
                    .decode_utf8()
                    .map(Cow::into_owned)
                    .map_err(|_| wrong("user or password are not UTF-8"))
            };
            let user = decoded(url.username())?;
            let password = decoded(url.password().unwrap_or_default())?;
            let value = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_| wrong("user or password cannot be sent"))?;
            value.set_sensitive(true);
            authorization = Some(value);
            let cleared = url.set_username("").and_then(|()| url.set_password(None));
            cleared.map_err(|()| wrong("expected a web address, such as https://host/path"))?;
        }
        url.set_fragment(None);
        Ok(Self { url, authorization })
    }

    fn shown(&self) -> String {
        redacted(self.url.as_str()).into_owned()
    }
}

fn is_below(key: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    folder.is_empty()
        || key
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_what_is_secret() {
        for (text, expected) in [
            ("s3://bucket/day/a b%20.pcap", "s3://bucket/day/a b%20.pcap"),
            ("S3A://bucket/x", "s3://bucket/x"),
            ("az://box/x", "az://box/x"),
            (
                "abfss://box@me.dfs.core.windows.net/x",
                "abfss://box@me.dfs.core.windows.net/x",
            ),
            ("https://u:SECRET@h/x?sig=SECRET#SECRET", "https://h/x?…"),
            ("http://h:8080/a//b", "http://h:8080/a//b"),
            (
                "https://bücher.example/x",
                "https://xn--bcher-kva.example/x",
            ),
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!(address.shown(), expected);
            assert!(!format!("{address:?}").contains("SECRET"), "{address:?}");
        }
        for text in [
            "s3://KEY:SECRET@bucket/x",
            "s3://KEY:SEC/SECRET@bucket/x",
            "s3:///SECRET?x=SECRET",
            "s3://b//x",
            "s3://b/../x",
            "s3://b/x/..",
            "https://:SECRET@/",
            "ftp://h/x",
            "https://h:SECRET/x",
        ] {
            let error = Address::parse(text).unwrap_err();
            let told = format!("{error} {error:?}");
            assert!(
                !told.contains("SECRET@") && !told.contains("=SECRET"),
                "{told}"
            );
        }
    }

    #[test]
    fn a_folder_holds_what_begins_with_it_and_nothing_beside() {
        let is_below = |one: &str, folder: &str| {
            Address::parse(one)
                .unwrap()
                .is_below(&Address::parse(folder).unwrap())
        };
        for (one, folder, expected) in [
            ("s3://b/day/x", "s3://b/day/", true),
            ("s3://b/day/x", "s3://b/day", true),
            ("s3://b/day/x", "s3://b", true),
            ("s3://b/daytime/x", "s3://b/day", false),
            ("s3://b/d*/x", "s3://b/day", false),
            ("s3://c/day/x", "s3://b/day", false),
            ("gs://b/day/x", "s3://b/day", false),
            ("https://h/a/x?q", "https://h/a/", true),
            ("https://h/a/../x", "https://h/a/", false),
            ("https://h/a/%2e%2e/x", "https://h/a/", false),
            ("https://h/a/..%2fx", "https://h/a/", false),
            ("https://h:444/a/x", "https://h/a/", false),
            ("http://h/a/x", "https://h/a/", false),
            ("https://h.evil/a/x", "https://h/a/", false),
            ("https://h@evil/a/x", "https://h/a/", false),
        ] {
            assert_eq!(is_below(one, folder), expected, "{one} in {folder}");
        }
    }
}
