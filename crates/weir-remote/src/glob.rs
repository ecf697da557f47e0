//! Patterns of keys, and the listing of the keys that match.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::TryStreamExt as _;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};
use weir_capture::NamePattern;

use crate::{Error, ErrorKind};

/// Whether a key is a pattern.
pub(crate) fn is_wild(key: &str) -> bool {
    NamePattern::is_wild(key)
}

/// A pattern of keys.
pub(crate) struct Keys {
    text: String,
    steps: Vec<GlobStep>,
}

/// A part of a key between two slashes.
enum GlobStep {
    /// `**` matches any number of folders.
    Folders,
    Literal(String),
    Name(NamePattern),
}

impl Keys {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let step = |part: &str| {
            Ok(match part {
                "**" => GlobStep::Folders,
                _ if !is_wild(part) => GlobStep::Literal(part.to_owned()),
                _ => GlobStep::Name(NamePattern::parse(part)?),
            })
        };
        Ok(Self {
            text: text.to_owned(),
            steps: text.split('/').map(step).collect::<Result<_, String>>()?,
        })
    }

    /// Lists all matching keys once, in their order. Folders are listed one by one, so that only those are requested that may have
    /// a match.
    pub(crate) async fn list(
        &self,
        store: Arc<dyn ObjectStore>,
        name: &str,
    ) -> Result<Vec<ObjectMeta>, Error> {
        let failed = |error: object_store::Error| Error::of_store(name, &error);
        let mut found: BTreeMap<String, ObjectMeta> = BTreeMap::new();
        let mut folders: Vec<(String, &[GlobStep])> = vec![(String::new(), self.steps.as_slice())];
        let mut seen = 0_usize;
        while let Some((folder, steps)) = folders.pop() {
            let Some((step, rest)) = steps.split_first() else {
                continue;
            };
            if let (GlobStep::Literal(part), false) = (step, rest.is_empty()) {
                folders.push((joined(&folder, part), rest));
                continue;
            }
            let prefix = Path::parse(&folder).map_err(|error| failed(error.into()))?;
            let prefix = (!folder.is_empty()).then_some(&prefix);
            if matches!(step, GlobStep::Folders) {
                let mut listed = store.list(prefix);
                while let Some(meta) = listed.try_next().await.map_err(failed)? {
                    count(&mut seen, name)?;
                    let key = meta.location.as_ref().to_owned();
                    let below = key.strip_prefix(&folder).unwrap_or(&key);
                    let below = below.trim_start_matches('/');
                    let parts: Vec<&str> = below.split('/').collect();
                    if matches(steps, &parts) {
                        found.insert(key, meta);
                    }
                }
                continue;
            }
            let fits = |key: &str| {
                // Keys may contain the characters of patterns.
                if key == self.text {
                    return true;
                }
                let last = key.rsplit('/').next().unwrap_or(key);
                match step {
                    GlobStep::Literal(wanted) => wanted == last,
                    GlobStep::Name(pattern) => pattern.matches(last),
                    GlobStep::Folders => false,
                }
            };
            let listed = store.list_with_delimiter(prefix).await.map_err(failed)?;
            for meta in listed.objects {
                count(&mut seen, name)?;
                if rest.is_empty() && fits(meta.location.as_ref()) {
                    found.insert(meta.location.as_ref().to_owned(), meta);
                }
            }
            for below in listed.common_prefixes {
                count(&mut seen, name)?;
                if !rest.is_empty() && fits(below.as_ref()) {
                    folders.push((below.as_ref().to_owned(), rest));
                }
            }
        }
        // An object whose key equals the pattern is the only match.
        if let Some(meta) = found.remove(&self.text) {
            return Ok(vec![meta]);
        }
        Ok(found.into_values().collect())
    }
}

fn joined(folder: &str, part: &str) -> String {
    match folder.is_empty() {
        true => part.to_owned(),
        false => format!("{folder}/{part}"),
    }
}

fn count(seen: &mut usize, name: &str) -> Result<(), Error> {
    *seen += 1;
    if *seen <= LISTED_MAX {
        return Ok(());
    }
    let what = format!("the pattern covers more than {LISTED_MAX} keys");
    Err(Error::new(ErrorKind::Unsupported, name, what)
        .with_hint("begin the pattern with the folder of the objects"))
}

/// Whether the parts of a key match the steps.
fn matches(steps: &[GlobStep], parts: &[&str]) -> bool {
    let Some((step, rest)) = steps.split_first() else {
        return parts.is_empty();
    };
    match step {
        // A trailing `**` matches all files below.
        GlobStep::Folders if rest.is_empty() => !parts.is_empty(),
        GlobStep::Folders => (0..parts.len()).any(|passed| {
            parts
                .get(passed..)
                .is_some_and(|parts| matches(rest, parts))
        }),
        GlobStep::Literal(wanted) => parts
            .split_first()
            .is_some_and(|(part, parts)| part == wanted && matches(rest, parts)),
        GlobStep::Name(pattern) => parts
            .split_first()
            .is_some_and(|(part, parts)| pattern.matches(part) && matches(rest, parts)),
    }
}

/// The maximum number of keys that are listed for a pattern: some hundred requests.
const LISTED_MAX: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use object_store::memory::InMemory;
    use object_store::{ObjectStoreExt as _, PutPayload};

    use super::*;

    async fn listed(pattern: &str) -> String {
        let store = InMemory::new();
        for key in [
            "a.pcap",
            "b.pcap",
            "day/1.pcap",
            "day/2.pcap.zst",
            "day/x/3.pcap",
            "day/x/y/4.pcap",
            "days/5.pcap",
            "odd/[ab].pcap",
            "odd/a.pcap",
        ] {
            let path = Path::parse(key).unwrap();
            store.put(&path, PutPayload::from("x")).await.unwrap();
        }
        let keys = Keys::parse(pattern).unwrap();
        let found = keys.list(Arc::new(store), "s3://b").await.unwrap();
        let found: Vec<&str> = found.iter().map(|meta| meta.location.as_ref()).collect();
        found.join(" ")
    }

    #[tokio::test]
    async fn patterns_of_keys_mean_what_patterns_of_paths_mean() {
        for (pattern, expected) in [
            ("*.pcap", "a.pcap b.pcap"),
            ("day/*.pcap*", "day/1.pcap day/2.pcap.zst"),
            ("day/?.pcap", "day/1.pcap"),
            ("day*/*.pcap", "day/1.pcap days/5.pcap"),
            ("day/*/*.pcap", "day/x/3.pcap"),
            ("day/**/*.pcap", "day/1.pcap day/x/3.pcap day/x/y/4.pcap"),
            (
                "day/**",
                "day/1.pcap day/2.pcap.zst day/x/3.pcap day/x/y/4.pcap",
            ),
            ("**/4.pcap", "day/x/y/4.pcap"),
            ("day/**/y/*", "day/x/y/4.pcap"),
            ("d*/x/3.pcap", "day/x/3.pcap"),
            ("odd/[ab].pcap", "odd/[ab].pcap"),
            ("odd/[a].pcap", "odd/a.pcap"),
            ("none/*", ""),
        ] {
            assert_eq!(listed(pattern).await, expected, "{pattern}");
        }
    }
}
