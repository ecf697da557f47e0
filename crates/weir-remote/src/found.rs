//! An object in the version in which it was found, and requests for its ranges.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore};
use tokio::sync::Semaphore;

use crate::limits::Limits;
use crate::{Error, ErrorKind};

/// An object in the version in which it was found, and the limits of its requests.
pub(crate) struct FoundObject {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) path: Path,
    pub(crate) name: String,
    /// The whole address with its secrets, and the version.
    pub(crate) identity: String,
    pub(crate) version: Version,
    /// Whether the server supports ranges.
    pub(crate) is_ranged: bool,
    /// The first bytes of the object, from the request that found it.
    pub(crate) head: Mutex<Bytes>,
    pub(crate) limits: Limits,
    /// The bytes that all readers together may read ahead.
    pub(crate) ahead: Arc<Semaphore>,
}

/// The properties that identify a version of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) size: u64,
    pub(crate) e_tag: Option<String>,
    pub(crate) modified_s: i64,
}

impl Version {
    pub(crate) fn of(meta: &ObjectMeta) -> Self {
        Self {
            size: meta.size,
            e_tag: meta.e_tag.clone(),
            modified_s: meta.last_modified.timestamp(),
        }
    }

    /// The value of `If-Match`. A weak entity tag never matches there (RFC 9110, section 13.1.1).
    fn if_match(&self) -> Option<String> {
        self.e_tag.clone().filter(|tag| !tag.starts_with("W/"))
    }

    /// Whether a response is of this version. The times of a listing and of a response may differ, so that they count only where
    /// there are no entity tags.
    fn is_of(&self, meta: &ObjectMeta) -> bool {
        let same = match (&self.e_tag, &meta.e_tag) {
            (Some(found), Some(responded)) => bare(found) == bare(responded),
            _ => self.modified_s == meta.last_modified.timestamp(),
        };
        same && self.size == meta.size
    }

    /// Whether a later version can be distinguished from this one.
    fn is_distinguishable(&self) -> bool {
        self.e_tag.is_some() || self.modified_s != 0
    }
}

/// An entity tag without its quotes, which listings and responses write differently.
fn bare(tag: &str) -> &str {
    tag.trim_start_matches("W/").trim_matches('"')
}

impl FoundObject {
    /// The first bytes of the object, as far as they are in memory.
    pub(crate) fn head(&self) -> Bytes {
        self.head
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Fetches the bytes of a range.
    ///
    /// # Errors
    /// When the bytes do not come, also by repeated requests, or the object has changed.
    pub(crate) async fn fetch(&self, range: Range<u64>) -> Result<Bytes, Error> {
        let wanted = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
        let mut bytes = BytesMut::with_capacity(wanted.min(CAPACITY_BYTES_MAX));
        let mut failures = 0;
        loop {
            let from = range.start.saturating_add(bytes.len() as u64);
            let found = self.get(Some(from..range.end)).await?;
            let mut stream = found.into_stream();
            let mut broken = None;
            while let Some(chunk) = stream.next().await {
                match chunk {
                    Ok(chunk) => {
                        failures = 0;
                        bytes.extend_from_slice(&chunk);
                        if bytes.len() >= wanted {
                            break;
                        }
                    }
                    Err(error) => {
                        broken = Some(error);
                        break;
                    }
                }
            }
            if bytes.len() >= wanted {
                bytes.truncate(wanted);
                return Ok(bytes.freeze());
            }
            self.wait_after(&mut failures, broken.as_ref()).await?;
        }
    }

    /// Requests a range, or the whole object, in this version.
    pub(crate) async fn get(&self, range: Option<Range<u64>>) -> Result<GetResult, Error> {
        let options = GetOptions {
            range: range.map(GetRange::Bounded),
            if_match: self.version.if_match(),
            ..GetOptions::default()
        };
        match self.store.get_opts(&self.path, options).await {
            Ok(found) if self.version.is_of(&found.meta) => Ok(found),
            Ok(_) => Err(Error::changed(&self.name)),
            // The object existed before.
            Err(object_store::Error::NotFound { .. }) => Err(Error::new(
                ErrorKind::Changed,
                &self.name,
                "it was removed since it was found",
            )),
            Err(error) => Err(Error::of_store(&self.name, &error)),
        }
    }

    /// Waits before a body that broke is requested again.
    pub(crate) async fn wait_after(
        &self,
        failures: &mut u32,
        broken: Option<&object_store::Error>,
    ) -> Result<(), Error> {
        *failures += 1;
        if !self.version.is_distinguishable() || *failures > FAILURES_MAX {
            return Err(match broken {
                Some(error) => Error::of_store(&self.name, error),
                None => Error::new(
                    ErrorKind::Server,
                    &self.name,
                    "the response is shorter than announced",
                ),
            });
        }
        let pause = PAUSE.saturating_mul(1 << (*failures - 1));
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// The maximum capacity that is allocated before a body arrives.
const CAPACITY_BYTES_MAX: usize = 16 << 20;
/// The maximum number of bodies in a row that break without a byte.
const FAILURES_MAX: u32 = 5;
/// The pause before the second request; it doubles for each further one.
const PAUSE: Duration = Duration::from_millis(50);
