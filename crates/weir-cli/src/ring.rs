//! A ring of capture files of limited size (`weir live -w ring.pcap --rotate 100MB --keep 10`).
//!
//! A file gets its name, `ring-00007.pcap`, when it is complete; until then it grows as `ring-00007.pcap.part`, and
//! has whole records at any moment. Numbers continue those of an earlier run. Only files of this run are removed.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use weir_file::GrowingFile;

/// The captures, written one after the other through what looks like one file: the first write is the header of each, and
/// every later one is of whole records.
#[derive(Clone)]
pub(crate) struct Ring(Arc<Mutex<RingState>>);

struct RingState {
    /// The requested name, to which numbers are added.
    path: PathBuf,
    bytes_max: u64,
    keep: Option<usize>,
    header: Vec<u8>,
    number: u64,
    growing: Option<Growing>,
    /// The complete files, the oldest first.
    whole: VecDeque<PathBuf>,
    removed: u64,
}

/// The file that is being written.
struct Growing {
    file: GrowingFile,
    out: File,
    part: PathBuf,
    name: PathBuf,
    bytes: u64,
}

impl Ring {
    /// Files of so many bytes at most, unless a single write has more, of which the newest are kept.
    ///
    /// # Errors
    /// When the folder cannot be looked at.
    pub(crate) fn new(path: &Path, bytes_max: u64, keep: Option<usize>) -> io::Result<Self> {
        let inner = RingState {
            number: last_number(path)?,
            path: path.to_owned(),
            bytes_max,
            keep,
            header: Vec::new(),
            growing: None,
            whole: VecDeque::new(),
            removed: 0,
        };
        Ok(Self(Arc::new(Mutex::new(inner))))
    }

    /// The end has come: the last file takes its name, if anything is in it. Says what there is.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub(crate) fn finish(&self) -> io::Result<String> {
        self.with(|inner| {
            inner.end_file()?;
            let count = inner.whole.len();
            let files = match (inner.whole.front(), inner.whole.back()) {
                (Some(first), Some(last)) if count > 1 => {
                    format!("{count} files, {} to {}", first.display(), last.display())
                }
                (Some(only), _) => only.display().to_string(),
                _ => "no file".to_owned(),
            };
            Ok(match inner.removed {
                0 => files,
                removed => format!("{files}; {removed} older ones were removed"),
            })
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut RingState) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Ring {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|inner| inner.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(|inner| match &mut inner.growing {
            Some(growing) => growing.out.flush(),
            None => Ok(()),
        })
    }
}

impl RingState {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.is_empty() {
            return Ok(0);
        }
        if self.header.is_empty() {
            self.header = bytes.to_vec();
            self.begin_file()?;
            return Ok(bytes.len());
        }
        let len = bytes.len() as u64;
        let header_len = self.header.len() as u64;
        let is_full = self.growing.as_ref().is_some_and(|growing| {
            growing.bytes > header_len && growing.bytes.saturating_add(len) > self.bytes_max
        });
        if is_full {
            self.end_file()?;
        }
        if self.growing.is_none() {
            self.begin_file()?;
        }
        if let Some(growing) = &mut self.growing {
            growing.out.write_all(bytes)?;
            growing.bytes = growing.bytes.saturating_add(len);
        }
        Ok(bytes.len())
    }

    fn begin_file(&mut self) -> io::Result<()> {
        self.number += 1;
        let name = numbered(&self.path, self.number);
        let mut part = name.clone().into_os_string();
        part.push(PART);
        let part = PathBuf::from(part);
        let mut file = GrowingFile::create(&part)?;
        let mut out = file.writer()?;
        out.write_all(&self.header)?;
        self.growing = Some(Growing {
            file,
            out,
            part,
            name,
            bytes: self.header.len() as u64,
        });
        Ok(())
    }

    /// Renames the file to its final name, unless it has no packets, and removes files beyond the limits.
    fn end_file(&mut self) -> io::Result<()> {
        let Some(growing) = self.growing.take() else {
            return Ok(());
        };
        if growing.bytes <= self.header.len() as u64 {
            growing.file.discard();
            return Ok(());
        }
        growing.file.keep()?;
        fs::rename(&growing.part, &growing.name)?;
        self.whole.push_back(growing.name);
        while self.keep.is_some_and(|keep| self.whole.len() > keep) {
            if let Some(oldest) = self.whole.pop_front() {
                // A file that another program has removed already counts as removed.
                match fs::remove_file(&oldest) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => self.removed += 1,
                }
            }
        }
        Ok(())
    }
}

/// `ring-00007.pcap` for `ring.pcap`.
fn numbered(path: &Path, number: u64) -> PathBuf {
    let (stem, extension) = parts(path);
    path.with_file_name(format!("{stem}-{number:05}{extension}"))
}

/// The name without its ending, and the ending.
fn parts(path: &Path) -> (String, String) {
    let text = |part: Option<&std::ffi::OsStr>| {
        part.map(|part| part.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let extension = match path.extension() {
        Some(extension) => format!(".{}", extension.to_string_lossy()),
        None => String::new(),
    };
    (text(path.file_stem()), extension)
}

/// The largest number that a file of this row has.
fn last_number(path: &Path) -> io::Result<u64> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let (stem, extension) = parts(path);
    let mut last = 0;
    for entry in fs::read_dir(folder.unwrap_or(Path::new(".")))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let number = name
            .strip_suffix(PART)
            .unwrap_or(&name)
            .strip_suffix(&extension)
            .and_then(|name| name.strip_prefix(&stem)?.strip_prefix('-'))
            .and_then(|digits| digits.parse().ok());
        last = last.max(number.unwrap_or(0));
    }
    Ok(last)
}

const PART: &str = ".part";

#[cfg(test)]
mod tests {
    use weir_capture::{WriteRecord, Writer};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn files_of_a_ring_take_their_names_when_they_are_whole_and_the_newest_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ring.pcap");
        let ring = Ring::new(&path, 1_000, Some(3)).unwrap();
        let mut writer = Writer::pcap_of(ring.clone(), 1).unwrap();
        assert_eq!(names(folder.path()), ["ring-00001.pcap.part"]);
        for number in 0..50 {
            writer
                .write(&WriteRecord::new(1, number, &[7; 84]))
                .unwrap();
            writer.flush().unwrap();
        }
        // Nine records of 100 bytes fit.
        let expected = [
            "ring-00003.pcap",
            "ring-00004.pcap",
            "ring-00005.pcap",
            "ring-00006.pcap.part",
        ];
        assert_eq!(names(folder.path()), expected);
        let files = ring.finish().unwrap();
        assert!(
            files.ends_with("ring-00006.pcap; 3 older ones were removed"),
            "{files}"
        );
        let mut times = Vec::new();
        for name in names(folder.path()) {
            assert!(fs::metadata(folder.path().join(&name)).unwrap().len() <= 1_000);
            let mut reader = weir_capture::open(&folder.path().join(name)).unwrap();
            while let Some(record) = reader.next().unwrap() {
                times.push(record.time_ns.unwrap());
            }
        }
        assert_eq!(times, (27..50).collect::<Vec<i64>>());
        // The next run continues the numbers of this one and keeps its files.
        let again = Ring::new(&path, 1_000, Some(1)).unwrap();
        let mut writer = Writer::pcap_of(again.clone(), 1).unwrap();
        writer.write(&WriteRecord::new(1, 50, &[7; 2_000])).unwrap();
        writer.flush().unwrap();
        writer.write(&WriteRecord::new(1, 51, &[7; 84])).unwrap();
        writer.flush().unwrap();
        again.finish().unwrap();
        let expected = [
            "ring-00004.pcap",
            "ring-00005.pcap",
            "ring-00006.pcap",
            "ring-00008.pcap",
        ];
        assert_eq!(names(folder.path()), expected);
    }

    #[test]
    fn a_ring_in_which_nothing_came_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let ring = Ring::new(&folder.path().join("ring"), 1_000, None).unwrap();
        let writer = Writer::pcap_of(ring.clone(), 1).unwrap();
        assert_eq!(names(folder.path()), ["ring-00001.part"]);
        drop(writer);
        assert_eq!(ring.finish().unwrap(), "no file");
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }
}
