//! An object in a store, and how it is found.

use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore};
use tokio::sync::Semaphore;
use weir_capture::{Object, ReadObject};

use crate::Error;
use crate::error::is_transport;
use crate::found::{FoundObject, Version};
use crate::limits::Limits;
use crate::reader::RangeReader;
use crate::whole::WholeReader;

/// An object that was found, in the version that it had then.
#[derive(Clone)]
pub struct RemoteObject(pub(crate) Arc<FoundObject>);

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
        Self(Arc::new(FoundObject {
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
