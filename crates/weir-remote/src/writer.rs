//! Writes an object.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use object_store::{MultipartUpload, ObjectStoreExt as _, PutPayload};

use crate::Error;
use crate::object::ObjectPlace;
use crate::runtime::{Task, spawn, wait};

/// An object that gets its name when it is whole ([`Self::keep`]); until then, and when this is dropped before, the object that has
/// the name stays.
///
/// A small object is put in one request. A larger one is uploaded in parts, some of them at once, from which the store
/// makes an object at the end. A program that ends before has the store remove them ([`abort_unfinished`]); parts of a
/// program that was killed stay with some stores until their own rules remove them.
pub struct RemoteFile {
    place: ObjectPlace,
    /// The part that is being filled.
    part: Vec<u8>,
    upload: Upload,
    under_way: VecDeque<Task<Result<(), Error>>>,
    parts: usize,
    is_failed: bool,
}

/// The uploaded parts, shared by the writer and [`abort_unfinished`], and locked for moments only.
type Upload = Arc<UploadParts>;
type UploadParts = Mutex<Option<Box<dyn MultipartUpload>>>;

/// All uploads that have parts.
static UPLOADS: Mutex<Vec<Weak<UploadParts>>> = Mutex::new(Vec::new());

/// The program ends, and no more requests are sent.
static ENDS: AtomicBool = AtomicBool::new(false);

/// Removes the parts of all unfinished objects from their stores, and stops all requests. To be called when the program ends; it
/// may wait some seconds for stores.
pub fn abort_unfinished() {
    ENDS.store(true, Ordering::SeqCst);
    let uploads: Vec<_> = {
        let mut uploads = UPLOADS.lock().unwrap_or_else(PoisonError::into_inner);
        uploads.drain(..).collect()
    };
    let uploads = uploads.iter().filter_map(Weak::upgrade);
    let uploads: Vec<_> = uploads
        .filter_map(|upload| locked(&upload).take())
        .collect();
    if uploads.is_empty() {
        return;
    }
    let _ = wait(async move {
        let aborted = uploads.into_iter().map(|mut upload| async move {
            let _ = upload.abort().await;
        });
        let _ = tokio::time::timeout(ABORT_TIME_MAX, futures::future::join_all(aborted)).await;
    });
}

fn locked(upload: &Upload) -> MutexGuard<'_, Option<Box<dyn MultipartUpload>>> {
    upload.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RemoteFile {
    pub(crate) fn new(place: ObjectPlace) -> Self {
        Self {
            place,
            part: Vec::new(),
            upload: Upload::default(),
            under_way: VecDeque::new(),
            parts: 0,
            is_failed: false,
        }
    }

    /// The address without its secrets.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.place.name
    }

    /// Completes the object, which replaces the one that has the name.
    ///
    /// # Errors
    /// When the store does not take it; what was there stays then.
    pub fn keep(mut self) -> io::Result<()> {
        if self.is_failed {
            return Err(io::Error::other(
                "the store rejected an earlier part of the upload",
            ));
        }
        let kept = self.finish();
        if kept.is_ok() {
            *locked(&self.upload) = None;
        }
        kept
    }

    fn finish(&mut self) -> io::Result<()> {
        let name = self.place.name.clone();
        if ENDS.load(Ordering::SeqCst) {
            return Err(ended());
        }
        if locked(&self.upload).is_none() {
            let (store, path) = (Arc::clone(&self.place.store), self.place.path.clone());
            let payload = PutPayload::from(std::mem::take(&mut self.part));
            let put = wait(async move { store.put(&path, payload).await })?;
            put.map_err(|error| Error::of_store(&name, &error).into_io())?;
            return Ok(());
        }
        if !self.part.is_empty() {
            self.send()?;
        }
        while let Some(task) = self.under_way.pop_front() {
            task.wait()?.map_err(Error::into_io)?;
        }
        // The upload is taken out here, so `abort_unfinished` does not abort it: the object becomes complete, or it does not.
        let Some(mut upload) = locked(&self.upload).take() else {
            return Err(ended());
        };
        let (upload, completed) = wait(async move {
            let completed = upload.complete().await;
            (upload, completed)
        })?;
        *locked(&self.upload) = Some(upload);
        completed.map_err(|error| Error::of_store(&name, &error).into_io())?;
        Ok(())
    }

    /// Uploads the part that is full.
    fn send(&mut self) -> io::Result<()> {
        let name = self.place.name.clone();
        if ENDS.load(Ordering::SeqCst) {
            return Err(ended());
        }
        if locked(&self.upload).is_none() {
            let (store, path) = (Arc::clone(&self.place.store), self.place.path.clone());
            let begun = wait(async move { store.put_multipart(&path).await })?;
            let begun = begun.map_err(|error| Error::of_store(&name, &error).into_io())?;
            *locked(&self.upload) = Some(begun);
            let mut uploads = UPLOADS.lock().unwrap_or_else(PoisonError::into_inner);
            uploads.retain(|upload| upload.strong_count() > 0);
            uploads.push(Arc::downgrade(&self.upload));
            drop(uploads);
            // `abort_unfinished` may have run before the upload was in the list.
            if ENDS.load(Ordering::SeqCst) {
                abort_unfinished();
                return Err(ended());
            }
        }
        let bytes_max = part_bytes(self.parts);
        let tasks_max = (UNDER_WAY_BYTES_MAX / bytes_max).max(1);
        while self.under_way.len() >= tasks_max
            && let Some(task) = self.under_way.pop_front()
        {
            task.wait()?.map_err(Error::into_io)?;
        }
        let payload = PutPayload::from(std::mem::take(&mut self.part));
        let part = match locked(&self.upload).as_mut() {
            Some(upload) => upload.put_part(payload),
            None => return Err(ended()),
        };
        self.parts += 1;
        let task = spawn(async move {
            let put = part.await;
            put.map_err(|error| Error::of_store(&name, &error))
        })?;
        self.under_way.push_back(task);
        Ok(())
    }
}

impl Write for RemoteFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_failed {
            return Err(io::Error::other(
                "the store rejected an earlier part of the upload",
            ));
        }
        let bytes_max = part_bytes(self.parts);
        let free = bytes_max.saturating_sub(self.part.len());
        let count = free.min(bytes.len());
        self.part
            .extend_from_slice(bytes.get(..count).unwrap_or_default());
        if self.part.len() >= bytes_max {
            self.send().inspect_err(|_| self.is_failed = true)?;
        }
        Ok(count)
    }

    /// A part that is not full waits for the rest.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for RemoteFile {
    fn drop(&mut self) {
        self.under_way.clear();
        let upload = locked(&self.upload).take();
        if let Some(mut upload) = upload {
            // A failure is ignored: the store removes the parts later, by its own rules.
            let _ = wait(async move {
                let _ = tokio::time::timeout(ABORT_TIME_MAX, upload.abort()).await;
            });
        }
    }
}

impl std::fmt::Debug for RemoteFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.place.name)
    }
}

fn ended() -> io::Error {
    // An error of the kind `Interrupted` would be tried again.
    io::Error::other("the program is ending")
}

/// The size of a part. Stores accept 10,000 parts, so that later ones are larger.
const fn part_bytes(parts: usize) -> usize {
    let doubled = parts / PARTS_OF_A_SIZE;
    PART_BYTES << if doubled > 6 { 6 } else { doubled }
}

/// The size of the first parts: 8 MiB; the last parts of the largest object have 512 MiB.
const PART_BYTES: usize = 8 << 20;
const PARTS_OF_A_SIZE: usize = 1_000;
/// The maximum number of bytes in concurrent uploads.
const UNDER_WAY_BYTES_MAX: usize = 64 << 20;
const ABORT_TIME_MAX: std::time::Duration = std::time::Duration::from_secs(5);
