//! An object in one version, and requests for its ranges.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore};
use tokio::sync::Semaphore;
use weir_capture::{Object, ReadObject};

use crate::error::is_transport;
use crate::limits::Limits;
use crate::reader::RangeReader;
use crate::whole::WholeReader;
use crate::{Error, ErrorKind};

/// An object that was found, in the version that it had then.
#[derive(Clone)]
pub struct RemoteObject(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) path: Path,
    pub(crate) name: String,
    /// The whole address with its secrets, and the version.
    identity: String,
    pub(crate) version: Version,
    is_ranged: bool,
    /// The first bytes of the object, from the request that found it.
    head: Mutex<Bytes>,
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
            (Some(ours), Some(theirs)) => bare(ours) == bare(theirs),
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

/// The store and the path of an object.
pub(crate) struct ObjectPlace {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) path: Path,
    /// The address without its secrets, for messages.
    pub(crate) name: String,
    /// The whole address with its secrets.
    pub(crate) address: String,
}

impl RemoteObject {
    /// The object of an entry of a listing.
    pub(crate) fn listed(
        place: ObjectPlace,
        meta: &ObjectMeta,
        limits: Limits,
        ahead: &Arc<Semaphore>,
    ) -> Self {
        Self::new(place, Version::of(meta), true, Bytes::new(), limits, ahead)
    }

    fn new(
        place: ObjectPlace,
        version: Version,
        is_ranged: bool,
        head: Bytes,
        limits: Limits,
        ahead: &Arc<Semaphore>,
    ) -> Self {
        let tag = version.e_tag.as_deref().unwrap_or_default();
        let (size, modified) = (version.size, version.modified_s);
        let identity = format!("{}\n{size} {modified} {tag}", place.address);
        Self(Arc::new(Inner {
            store: place.store,
            path: place.path,
            name: place.name,
            identity,
            version,
            is_ranged,
            head: Mutex::new(head),
            limits,
            ahead: Arc::clone(ahead),
        }))
    }

    /// Finds the object by a request for its first bytes.
    ///
    /// Asking for what it is without its bytes would cost a request more, and signed addresses allow one method only.
    pub(crate) async fn find(
        place: ObjectPlace,
        limits: Limits,
        ahead: &Arc<Semaphore>,
    ) -> Result<Self, Error> {
        let options = GetOptions {
            range: Some(GetRange::Bounded(0..HEAD_BYTES)),
            ..GetOptions::default()
        };
        let name = place.name.clone();
        match place.store.get_opts(&place.path, options).await {
            Ok(found) => {
                let version = Version::of(&found.meta);
                let wanted = version.size.min(HEAD_BYTES);
                // A body that breaks is requested again when it is read.
                let head = collected(found, wanted).await;
                let made = Self::new(place, version, true, head, limits, ahead);
                Ok(made)
            }
            Err(
                error @ (object_store::Error::Generic { .. }
                | object_store::Error::NotSupported { .. }),
            ) if !is_transport(&error) => {
                // A server may not support ranges, and an empty object has none.
                match place
                    .store
                    .get_opts(&place.path, GetOptions::default())
                    .await
                {
                    Ok(found) => {
                        let version = Version::of(&found.meta);
                        drop(found);
                        Ok(Self::new(
                            place,
                            version,
                            false,
                            Bytes::new(),
                            limits,
                            ahead,
                        ))
                    }
                    Err(error) => Err(Error::of_store(&name, &error)),
                }
            }
            Err(error) => Err(Error::of_store(&name, &error)),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }
}

impl Inner {
    /// The first bytes of the object, as far as they are in memory.
    pub(crate) fn head(&self) -> Bytes {
        self.head
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) const fn is_ranged(&self) -> bool {
        self.is_ranged
    }

    /// Fetches the bytes of a range.
    ///
    /// # Errors
    /// When they cannot be had, also not by asking several times, or the object has changed.
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

/// Collects the body of a response until it ends or breaks.
async fn collected(found: GetResult, wanted: u64) -> Bytes {
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    let mut stream = found.into_stream();
    let mut bytes = BytesMut::new();
    while bytes.len() < wanted
        && let Some(Ok(chunk)) = stream.next().await
    {
        bytes.extend_from_slice(&chunk);
    }
    bytes.truncate(wanted);
    bytes.freeze()
}

impl Object for RemoteObject {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn identity(&self) -> &str {
        &self.0.identity
    }

    fn len(&self) -> Option<u64> {
        Some(self.0.version.size)
    }

    fn is_ranged(&self) -> bool {
        self.0.is_ranged
    }

    fn open(&self, range: Range<u64>) -> io::Result<Box<dyn ReadObject>> {
        if self.0.is_ranged {
            return Ok(Box::new(RangeReader::new(Arc::clone(&self.0), range)));
        }
        Ok(Box::new(WholeReader::new(
            Arc::clone(&self.0),
            range.start,
        )?))
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

impl fmt::Debug for RemoteObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}

/// The size of the first request for a named object: enough to recognise its format.
pub(crate) const HEAD_BYTES: u64 = 64 << 10;
/// The maximum capacity that is allocated before a body arrives.
const CAPACITY_BYTES_MAX: usize = 16 << 20;
/// The maximum number of bodies in a row that break without a byte.
const FAILURES_MAX: u32 = 5;
/// The pause before the second request; it doubles for each further one.
const PAUSE: Duration = Duration::from_millis(50);
