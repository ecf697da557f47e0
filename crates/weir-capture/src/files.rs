//! Files: opening one, asking whether it is a capture, and finding those that a pattern means.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use crate::{
    Compression, Error, ErrorKind, Format, Options, Reader, buffer::Buffer, detect::detect,
};

/// A reader of a file.
pub type CaptureFile = Reader<File>;

/// Opens the capture at `path`.
///
/// ```no_run
/// let mut capture = weir_capture::open("trace.pcap.zst".as_ref())?;
/// while let Some(record) = capture.next()? {
///     println!("{} bytes", record.wire_len);
/// }
/// # Ok::<(), weir_capture::Error>(())
/// ```
///
/// # Errors
/// When there is no such file or it cannot be read, and as [`Reader::new`].
pub fn open(path: &Path) -> Result<CaptureFile, Error> {
    open_with(path, &Options::default())
}

/// Opens the capture at `path` with other limits than the default ones.
///
/// # Errors
/// As [`open`].
pub fn open_with(path: &Path, options: &Options) -> Result<CaptureFile, Error> {
    Reader::with_options(open_file(path)?, options)
}

fn open_file(path: &Path) -> Result<File, Error> {
    let file = File::open(path).map_err(Error::io)?;
    // Opening a folder succeeds on Unix, and reading it says "Is a directory" without a hint.
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(Error::folder());
    }
    Ok(file)
}

/// Whether the file at `path` is a capture, looking through gzip and zstd; `None` when it is
/// something else. Reads no more than some kilobytes.
///
/// # Errors
/// When the file cannot be opened or read.
pub fn sniff_path(path: &Path) -> Result<Option<(Format, Compression)>, Error> {
    let options = Options {
        buffer_bytes: SNIFF_BUFFER_BYTES,
        ..Options::default()
    };
    let mut buffer = Buffer::new(open_file(path)?, &options)?;
    match detect(&mut buffer) {
        Ok(format) => Ok(Some((format, buffer.compression()))),
        Err(error) if error.kind() == ErrorKind::Io => Err(error),
        Err(_) => Ok(None),
    }
}

/// True when there is a capture at `path` that would be lost if something else were written there: a regular
/// file that is not empty and is one by its content, or by its name.
#[must_use]
pub fn is_capture_at(path: &Path) -> bool {
    let Ok(metadata) = std::fs::metadata(path) else {
        return false;
    };
    if !metadata.is_file() || metadata.len() == 0 {
        return false;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_ascii_lowercase();
    let plain = COMPRESSED_ENDINGS
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(&name);
    CAPTURE_ENDINGS.iter().any(|ending| plain.ends_with(ending))
        || sniff_path(path).is_ok_and(|found| found.is_some())
}

/// The files that `pattern` means, sorted: the path itself, or all that match `*`, `?`, `[...]` and
/// `**`. A file whose name holds such characters is found by its name first.
///
/// # Errors
/// [`ErrorKind::NotFound`] when there is none, or the pattern is malformed; [`ErrorKind::Io`] when
/// a folder on the way cannot be read.
pub fn expand(pattern: &str) -> Result<Vec<PathBuf>, Error> {
    let path = Path::new(pattern);
    if path.exists() {
        return Ok(vec![path.to_owned()]);
    }
    let elsewhere = match pattern {
        _ if pattern.contains("://") => Some(
            "local files are read: fetch it first, or pipe it into FROM '-' (curl -L URL | weir query \"…\")",
        ),
        _ if pattern.starts_with('~') => {
            Some("within quotes the shell leaves ~ as it is: $HOME stands for the home folder")
        }
        _ => None,
    };
    if let Some(hint) = elsewhere {
        return Err(Error::not_found(pattern, hint));
    }
    if !pattern.contains(['*', '?', '[']) {
        return Err(Error::not_found(
            pattern,
            "check the spelling and the current folder; * and ? stand for parts of names",
        ));
    }
    let found = glob::glob(pattern)
        .map_err(|error| Error::pattern(format!("{} at character {}", error.msg, error.pos + 1)))?;
    let mut paths = Vec::new();
    for path in found {
        let path = path.map_err(|error| Error::io(error.into()))?;
        if !path.is_dir() {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        return Err(Error::not_found(
            pattern,
            "quote the pattern in the shell, and check the folder; ** looks in folders below",
        ));
    }
    paths.sort();
    Ok(paths)
}

/// How the names of captures end.
const CAPTURE_ENDINGS: [&str; 5] = [".pcap", ".pcapng", ".cap", ".erf", ".ntar"];
/// And what may stand behind that.
const COMPRESSED_ENDINGS: [&str; 6] = [".gz", ".zst", ".zstd", ".xz", ".bz2", ".lz4"];

/// Enough for the decompressors and for the chain of records that shows ERF.
const SNIFF_BUFFER_BYTES: usize = 64 << 10;
