//! An object store of objects that were found, for programs that read from stores and not from files.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use futures::stream::{self, BoxStream};
use futures::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use weir_capture::Object as _;

use crate::Error;
use crate::object::RemoteObject;
use crate::runtime::spawn;

/// A store with the objects that were inserted ([`Self::insert`]) only, each in the version that was found. Its readers see neither
/// addresses nor credentials, and can read nothing else.
#[derive(Default)]
pub struct ObjectTable {
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    objects: HashMap<Path, ObjectEntry>,
    /// The paths of objects by their identity.
    paths: HashMap<String, String>,
}

#[derive(Clone, Debug)]
struct ObjectEntry {
    object: RemoteObject,
    number: usize,
}

impl ObjectTable {
    /// Adds an object; returns its path in this store, which has the same extension as the name of the object.
    pub fn insert(&self, object: &RemoteObject) -> String {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = entries.paths.get(object.identity()) {
            return path.clone();
        }
        let number = entries.objects.len();
        let path = path_of(number, object.name());
        let identity = object.identity().to_owned();
        entries.paths.insert(identity, path.clone());
        let object = object.clone();
        let key = Path::from(path.as_str());
        entries.objects.insert(key, ObjectEntry { object, number });
        path
    }

    fn entry(&self, path: &Path) -> Result<ObjectEntry> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.objects.get(path).cloned();
        entry.ok_or_else(|| object_store::Error::NotFound {
            path: path.to_string(),
            source: "it is not part of the table".into(),
        })
    }

    /// All objects below a path.
    fn below(&self, prefix: Option<&Path>) -> Vec<ObjectMeta> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<_> = entries
            .objects
            .iter()
            .filter(|(path, _)| prefix.is_none_or(|prefix| path.prefix_matches(prefix)))
            .collect();
        found.sort_by_key(|(_, entry)| entry.number);
        let meta = |(path, entry): (&Path, &ObjectEntry)| meta(path, &entry.object);
        found.into_iter().map(meta).collect()
    }
}

/// A path for the name of an object, without characters that are escaped or belong to patterns.
fn path_of(number: usize, name: &str) -> String {
    let name = name.split_once("://").map_or(name, |(_, rest)| rest);
    let name = name.split("?…").next().unwrap_or(name);
    let plain = |c: char| match c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
        true => c,
        false => '_',
    };
    let parts = name.split('/').filter(|part| !part.is_empty());
    let parts = parts.map(|part| match part {
        "." | ".." => "_".to_owned(),
        _ => part.chars().map(plain).collect(),
    });
    let parts: Vec<String> = parts.collect();
    format!("{number}/{}", parts.join("/"))
}

fn meta(path: &Path, object: &RemoteObject) -> ObjectMeta {
    let version = &object.0.version;
    ObjectMeta {
        location: path.clone(),
        last_modified: std::time::SystemTime::UNIX_EPOCH.into(),
        size: version.size,
        e_tag: version.e_tag.clone(),
        version: None,
    }
}

fn failed(error: Error) -> object_store::Error {
    object_store::Error::Generic {
        store: "remote",
        source: Box::new(error),
    }
}

/// Fetches a range on the threads of this crate.
async fn fetched(object: RemoteObject, range: Range<u64>) -> Result<bytes::Bytes> {
    let name = object.name().to_owned();
    let task = spawn(async move { object.0.fetch(range).await });
    let ended = match task {
        Ok(task) => task.ended().await,
        Err(error) => Err(error),
    };
    ended
        .unwrap_or_else(|_| Err(Error::interrupted(&name)))
        .map_err(failed)
}

#[async_trait]
impl ObjectStore for ObjectTable {
    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let ObjectEntry { object, .. } = self.entry(path)?;
        let size = object.0.version.size;
        let range = match &options.range {
            Some(range) => range
                .as_range(size)
                .map_err(|error| object_store::Error::Generic {
                    store: "remote",
                    source: Box::new(error),
                })?,
            None => 0..size,
        };
        let meta = meta(path, &object);
        options.check_preconditions(&meta)?;
        if !options.head && !range.is_empty() && !object.0.is_ranged {
            let what = "the server does not support range requests, which this file format needs";
            let error = Error::new(crate::ErrorKind::Unsupported, object.name(), what);
            return Err(failed(error.with_hint("download it first")));
        }
        let stream = match options.head {
            true => stream::empty().boxed(),
            false => {
                let limits = object.0.limits;
                let step = limits.range_bytes_max.max(1);
                let end = range.end;
                let starts = stream::iter(
                    range
                        .clone()
                        .step_by(usize::try_from(step).unwrap_or(usize::MAX)),
                );
                starts
                    .map(move |start| {
                        let until = start.saturating_add(step).min(end);
                        fetched(object.clone(), start..until)
                    })
                    .buffered(limits.ranges_max.max(1))
                    .boxed()
            }
        };
        Ok(GetResult {
            payload: GetResultPayload::Stream(stream),
            meta,
            range,
            attributes: Attributes::default(),
        })
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        stream::iter(self.below(prefix)).map(Ok).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        // There are no folders: readers name each object by its whole path.
        Ok(ListResult {
            common_prefixes: Vec::new(),
            objects: self.below(prefix),
        })
    }

    async fn put_opts(&self, _: &Path, _: PutPayload, _: PutOptions) -> Result<PutResult> {
        Err(read_only())
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(read_only())
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        locations.and_then(|_| async { Err(read_only()) }).boxed()
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(read_only())
    }
}

fn read_only() -> object_store::Error {
    object_store::Error::NotSupported {
        source: "the objects of a table are read only".into(),
    }
}

impl fmt::Debug for ObjectTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_list().entries(entries.objects.values()).finish()
    }
}

impl fmt::Display for ObjectTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("remote")
    }
}
