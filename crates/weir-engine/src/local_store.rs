//! The local files that DataFusion reads by itself (Parquet, Arrow, JSON a line), in an engine that is confined to folders.
//!
//! Where a file lies is decided from its path, before DataFusion opens it; meanwhile it may have been replaced by a link, or a folder
//! on the way. So each file is looked at again here, once it is open.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::object_store::path::Path;
use datafusion::object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use datafusion::prelude::SessionContext;
use futures::stream::BoxStream;

/// Lets DataFusion read local files below these folders only, which have no links in their paths.
pub(crate) fn register(context: &SessionContext, folders: &[PathBuf]) {
    let store = LocalStore {
        files: LocalFileSystem::new(),
        folders: folders.into(),
    };
    let url = ObjectStoreUrl::local_filesystem();
    context
        .runtime_env()
        .register_object_store(url.as_ref(), Arc::new(store));
}

/// The local files below some folders.
#[derive(Debug)]
struct LocalStore {
    files: LocalFileSystem,
    folders: Box<[PathBuf]>,
}

impl LocalStore {
    /// Whether an open file may be read.
    fn may_be_read(&self, file: &File) -> bool {
        let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
        is_file && weir_capture::lies_below(file, &self.folders).unwrap_or(false)
    }
}

#[async_trait]
impl ObjectStore for LocalStore {
    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let found = self.files.get_opts(location, options).await?;
        match &found.payload {
            GetResultPayload::File(file, _) if self.may_be_read(file) => Ok(found),
            _ => Err(failed(replaced())),
        }
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let found = self.get_opts(location, GetOptions::default()).await?;
        let size = found.meta.size;
        let GetResultPayload::File(mut file, _) = found.payload else {
            return Err(failed(replaced()));
        };
        let ranges = ranges.to_vec();
        let read = tokio::task::spawn_blocking(move || {
            let read = |range| read_range(&mut file, range, size);
            ranges.into_iter().map(read).collect::<io::Result<Vec<_>>>()
        });
        match read.await {
            Ok(read) => read.map_err(failed),
            Err(error) => Err(failed(io::Error::other(error))),
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.files.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.files.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.files.list_with_delimiter(prefix).await
    }

    // What a COPY of DataFusion writes lies in a folder that was made for it.

    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.files.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.files.put_multipart_opts(location, options).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.files.delete_stream(locations)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.files.copy_opts(from, to, options).await
    }
}

/// Reads a part of a file of this size. The length of the part may be one that the file states.
fn read_range(file: &mut File, range: Range<u64>, size: u64) -> io::Result<Bytes> {
    if range.start > range.end || range.end > size {
        let message = format!(
            "the file has {size} bytes, and not those from {} to {}",
            range.start, range.end
        );
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
    }
    let bytes = range.end - range.start;
    file.seek(SeekFrom::Start(range.start))?;
    let mut read = Vec::with_capacity(usize::try_from(bytes).map_err(io::Error::other)?);
    file.take(bytes).read_to_end(&mut read)?;
    match read.len() as u64 == bytes {
        true => Ok(read.into()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn replaced() -> io::Error {
    io::Error::new(
        io::ErrorKind::PermissionDenied,
        "the file was replaced while it was opened: it is outside of the folders that may be read",
    )
}

fn failed(error: io::Error) -> Error {
    Error::Generic {
        store: "local",
        source: Box::new(error),
    }
}

impl fmt::Display for LocalStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.fmt(f)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use datafusion::object_store::ObjectStoreExt as _;

    use super::*;

    /// A Parquet, Arrow or JSON file that was replaced by a link between the check of its path and its opening was read.
    #[tokio::test]
    async fn what_a_link_led_to_is_not_read_by_datafusion() {
        let home = std::env::temp_dir().join(format!("weir-local-store-{}", std::process::id()));
        fs::create_dir_all(home.join("inside/day")).unwrap();
        let home = home.canonicalize().unwrap();
        let folder = home.join("inside");
        for path in ["secret", "inside/own", "inside/day/own"] {
            fs::write(home.join(path), "0123456789").unwrap();
        }
        symlink("../secret", folder.join("out")).unwrap();
        symlink("..", folder.join("up")).unwrap();
        symlink("day/own", folder.join("in")).unwrap();
        symlink("/dev/null", folder.join("device")).unwrap();
        let store = LocalStore {
            files: LocalFileSystem::new(),
            folders: [folder.clone()].into(),
        };
        let path = |name: &str| Path::from_absolute_path(folder.join(name)).unwrap();
        for name in ["own", "day/own", "in"] {
            let path = path(name);
            let read = store.get(&path).await.unwrap().bytes().await.unwrap();
            assert_eq!(read, "0123456789", "{name}");
            let ranges = store.get_ranges(&path, &[7..10, 0..0, 1..3]).await.unwrap();
            assert_eq!(ranges, ["789", "", "12"]);
            let beyond = 0..1 << 60;
            let beyond = std::slice::from_ref(&beyond);
            assert!(store.get_ranges(&path, beyond).await.is_err());
            assert_eq!(store.head(&path).await.unwrap().size, 10);
        }
        for name in ["out", "up/secret", "device"] {
            let path = path(name);
            let error = store.get(&path).await.unwrap_err().to_string();
            assert!(error.contains("was replaced"), "{name}: {error}");
            assert!(store.head(&path).await.is_err(), "{name}");
            let range = 1..3;
            let ranges = std::slice::from_ref(&range);
            assert!(store.get_ranges(&path, ranges).await.is_err(), "{name}");
        }
        fs::remove_dir_all(&home).unwrap();
    }
}
