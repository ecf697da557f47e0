//! Answers in files: written whole or not at all, checked when they are read, and not more than a bound together.
//!
//! Several processes may read, write and remove in the folder at once. A file gets its name when it is whole, a file that is not
//! what was written is as good as none, and one that another process has removed is made again.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::SystemTime;

use super::PeerAnswer;

/// Bytes of all answers together, behind which those go that were not used for the longest time.
pub(super) const BYTES_MAX: u64 = 1 << 30;

/// The folder of the user's answers; `None` where the environment names no folder.
pub(super) fn folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache")))?;
    Some(cache.join("weir").join("peers"))
}

/// The answers in a folder.
pub(super) struct AnswerCache {
    /// The folder of answers; without one no answers are stored.
    folder: Option<PathBuf>,
    bytes_max: u64,
    /// True when answers of earlier processes are ignored.
    is_anew: bool,
    /// The answers that this process has kept.
    own: Mutex<HashSet<blake3::Hash>>,
    /// Bytes that this process may write before it looks at the size of the folder.
    before_look: AtomicU64,
    note: Once,
}

impl AnswerCache {
    pub(super) fn new(folder: Option<PathBuf>, bytes_max: u64, is_anew: bool) -> Self {
        Self {
            folder,
            bytes_max,
            is_anew,
            own: Mutex::default(),
            before_look: AtomicU64::new(0),
            note: Once::new(),
        }
    }

    /// The answer to a question, when it is there and whole.
    pub(super) fn find(&self, key: &blake3::Hash) -> Option<PeerAnswer> {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_anew && !own.contains(key) {
            return None;
        }
        drop(own);
        let path = self.path(key)?;
        let answer = parsed(&fs::read(&path).ok()?)?;
        // The new time keeps used answers in the cache; a failure is harmless when another process removes the file at the same
        // time.
        let used = File::options().write(true).open(&path);
        let _ = used.and_then(|file| file.set_modified(SystemTime::now()));
        Some(answer)
    }

    /// Stores an answer. After a failure to store it the program runs again next time.
    pub(super) fn keep(&self, key: &blake3::Hash, answer: &PeerAnswer) {
        match self.try_keep(key, answer) {
            Ok(true) => {
                let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
                own.insert(*key);
            }
            Ok(false) => {}
            Err(error) => self.note.call_once(|| {
                eprintln!("note: what peers answer cannot be kept: {error}");
            }),
        }
    }

    /// False when there is no place for it, or no exit status.
    fn try_keep(&self, key: &blake3::Hash, answer: &PeerAnswer) -> io::Result<bool> {
        let (Some(path), Some(code)) = (self.path(key), answer.code) else {
            return Ok(false);
        };
        let bytes = packed(answer, code)?;
        let size = bytes.len() as u64;
        if size > self.bytes_max / 2 {
            return Ok(false);
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let beside = path.with_extension(format!("{}-{number}.new", std::process::id()));
        let written = fs::write(&beside, bytes).and_then(|()| fs::rename(&beside, &path));
        if let Err(error) = written {
            let _ = fs::remove_file(&beside);
            return Err(error);
        }
        let left = self.before_look.load(Ordering::Relaxed);
        match left.checked_sub(size) {
            // Two threads may count only one of two answers, which delays the check of the folder a little.
            Some(left) => self.before_look.store(left, Ordering::Relaxed),
            None => {
                self.before_look
                    .store(self.bytes_max / 16, Ordering::Relaxed);
                self.remove_oldest()?;
            }
        }
        Ok(true)
    }

    /// Removes what was not used for the longest time, until the rest is within the bound. Unfinished files of a
    /// process that was ended while it wrote are removed, too.
    fn remove_oldest(&self) -> io::Result<()> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let mut files = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            // A file that another process has removed has no metadata.
            if let Ok(metadata) = entry.metadata()
                && metadata.is_file()
            {
                files.push((metadata.modified()?, metadata.len(), entry.path()));
            }
        }
        let mut bytes: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        files.sort();
        for (_, size, path) in files {
            if bytes <= self.bytes_max {
                break;
            }
            bytes -= size;
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn path(&self, key: &blake3::Hash) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(key.to_hex().as_str()))
    }
}

/// An answer as a file has it: a hash of all behind it, how long it is unpacked, and the answer, packed by zstd.
fn packed(answer: &PeerAnswer, code: i32) -> io::Result<Vec<u8>> {
    let mut plain = code.to_le_bytes().to_vec();
    plain.extend((answer.stdout.len() as u64).to_le_bytes());
    plain.extend(&answer.stdout);
    plain.extend(&answer.stderr);
    let mut rest = (plain.len() as u64).to_le_bytes().to_vec();
    rest.extend(zstd::bulk::compress(&plain, LEVEL)?);
    let mut bytes = blake3::hash(&rest).as_bytes().to_vec();
    bytes.extend(rest);
    Ok(bytes)
}

/// `None` of what [`packed`] has not made.
fn parsed(bytes: &[u8]) -> Option<PeerAnswer> {
    let (hash, rest) = bytes.split_first_chunk::<{ blake3::OUT_LEN }>()?;
    if blake3::hash(rest) != *hash {
        return None;
    }
    let (length, packed) = rest.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let plain = zstd::bulk::decompress(packed, length).ok()?;
    let (code, rest) = plain.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (stdout, stderr) = rest.split_at_checked(length)?;
    Some(PeerAnswer {
        code: Some(i32::from_le_bytes(*code)),
        stdout: stdout.to_vec(),
        stderr: stderr.to_vec(),
    })
}

/// Answers are text that repeats itself; this is the level of zstd's command line.
const LEVEL: i32 = 3;
