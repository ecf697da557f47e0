//! Files: opening one, asking whether it is a capture, and finding those that a pattern means.

use std::{
    borrow::Cow,
    fmt::Write as _,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use crate::{
    Compression, Error, ErrorKind, Format, ReadOptions, Reader,
    buffer::Buffer,
    confined::open_local,
    detect::detect,
    object::redacted,
    pattern::{Pattern, WILD},
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
    open_with(path, &ReadOptions::default())
}

/// Opens the capture at `path` with other limits than the default ones.
///
/// # Errors
/// As [`open`].
pub fn open_with(path: &Path, options: &ReadOptions) -> Result<CaptureFile, Error> {
    Reader::with_options(open_file(path)?, options)
}

fn open_file(path: &Path) -> Result<File, Error> {
    let file = open_local(path).map_err(Error::io)?;
    // Opening a folder succeeds on Unix, and reading it says "Is a directory" without a hint.
    if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        return Err(Error::folder());
    }
    Ok(file)
}

/// The content of a small file, such as a key. A device or a pipe may have no end, so that no more than `bytes_max` bytes and one are read.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("key");
/// std::fs::write(&path, "secret")?;
/// assert_eq!(weir_capture::read_small(&path, 6)?, b"secret");
/// let error = weir_capture::read_small(&path, 5).unwrap_err();
/// assert_eq!(error.kind(), std::io::ErrorKind::FileTooLarge);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// When the file cannot be read, or is larger.
pub fn read_small(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut start = open_local(path)?.take(bytes_max.saturating_add(1));
    start.read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()) {
        Ok(length) if length <= bytes_max => Ok(bytes),
        _ => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("the file has more than the limit of {bytes_max} bytes"),
        )),
    }
}

/// Whether the file at `path` is a capture, looking through its compression; `None` when it is
/// something else. Reads no more than some kilobytes.
///
/// # Errors
/// When the file cannot be opened or read.
pub fn sniff_path(path: &Path) -> Result<Option<(Format, Compression)>, Error> {
    sniff_reader(open_file(path)?)
}

/// Recognises as [`sniff_path`], for anything that is read from its beginning.
///
/// # Errors
/// When it cannot be read.
pub fn sniff_reader<R: Read>(source: R) -> Result<Option<(Format, Compression)>, Error> {
    let options = ReadOptions {
        buffer_bytes: SNIFF_BUFFER_BYTES,
        ..ReadOptions::default()
    };
    let mut buffer = Buffer::new(source, &options)?;
    match detect(&mut buffer) {
        Ok(format) => Ok(Some((format, buffer.compression()))),
        Err(error) if error.kind() == ErrorKind::Io => Err(error),
        Err(_) => Ok(None),
    }
}

/// Whether there is a capture at `path` that would be lost if something else were written there: a regular file that is not empty
/// and is one by its content, or by its name.
#[must_use]
pub fn is_capture_at(path: &Path) -> bool {
    let Ok(metadata) = std::fs::metadata(path) else {
        return false;
    };
    if !metadata.is_file() || metadata.len() == 0 {
        return false;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    is_capture_name(&name) || sniff_path(path).is_ok_and(|found| found.is_some())
}

/// True for the name of a file that says that it is a capture, compressed or not.
#[must_use]
pub fn is_capture_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let plain = uncompressed_name(&name);
    CAPTURE_ENDINGS.iter().any(|ending| plain.ends_with(ending))
}

/// A name without the ending that says how the file is compressed.
///
/// ```
/// assert_eq!(weir_capture::uncompressed_name("hosts.CSV.GZ"), "hosts.CSV");
/// assert_eq!(weir_capture::uncompressed_name("hosts.csv"), "hosts.csv");
/// ```
#[must_use]
pub fn uncompressed_name(name: &str) -> &str {
    let without = |ending: &&str| {
        let at = name.len().checked_sub(ending.len())?;
        let (plain, found) = name.split_at_checked(at)?;
        found.eq_ignore_ascii_case(ending).then_some(plain)
    };
    COMPRESSED_ENDINGS.iter().find_map(without).unwrap_or(name)
}

/// The files that match `pattern`, sorted: the path itself, or all that match `*`, `?`, `[...]` and `**`; names may have any bytes.
/// A file whose name equals the pattern is found first, and a name that is not UTF-8 also in the form of [`shown`]. Links are
/// followed, except those that `**` finds in a folder.
///
/// # Errors
/// [`ErrorKind::NotFound`] when there is none, or the pattern is malformed; [`ErrorKind::Io`] when
/// a folder on the way cannot be read.
pub fn expand(pattern: &str) -> Result<Vec<PathBuf>, Error> {
    expand_within(pattern, &|_| true)
}

/// As [`expand`], but wildcards lead into no folder for which `enters` is false: nothing is looked for in it.
///
/// # Errors
/// As those of [`expand`].
pub fn expand_within(pattern: &str, enters: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>, Error> {
    let path = Path::new(pattern);
    if path.exists() {
        return Ok(vec![path.to_owned()]);
    }
    if let Cow::Owned(at_home) = from_home(pattern) {
        return expand_within(&at_home, enters);
    }
    if let Some(path) = as_shown(pattern).filter(|path| path.exists()) {
        return Ok(vec![path]);
    }
    let elsewhere = match pattern {
        _ if pattern.contains("://") => Some(
            "local files are read here: fetch it first; FROM of SQL reads s3, gs, az, https and http",
        ),
        _ if pattern.starts_with('~') => {
            Some("~/ is the home folder if HOME is set; write other home folders as a full path")
        }
        _ => None,
    };
    if let Some(hint) = elsewhere {
        return Err(Error::not_found(&redacted(pattern), hint));
    }
    if !pattern.contains(WILD) {
        return Err(Error::not_found(
            pattern,
            "check the spelling and the current folder; * and ? match parts of names",
        ));
    }
    let paths = Pattern::parse(pattern).map_err(Error::pattern)?;
    let paths = paths.files(enters).map_err(Error::io)?;
    if paths.is_empty() {
        return Err(Error::not_found(
            pattern,
            "quote the pattern in the shell, and check the folder; ** looks in folders below",
        ));
    }
    Ok(paths)
}

/// A path in which `~/` stands for the home folder (`HOME`), as the shell writes it out where it is not quoted.
#[must_use]
pub fn from_home(pattern: &str) -> Cow<'_, str> {
    let home = std::env::var("HOME")
        .ok()
        .filter(|home| Path::new(home).is_absolute());
    match (pattern.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => Cow::Owned(format!("{}/{rest}", home.trim_end_matches('/'))),
        _ => Cow::Borrowed(pattern),
    }
}

/// A path as text: in columns and in messages. A name that is not UTF-8 has `\xff` for each byte that is no
/// character, so that two files never look the same, and `\\` for a backslash; [`expand`] finds it by that text.
///
/// ```
/// assert_eq!(weir_capture::shown("day/a.pcap".as_ref()), "day/a.pcap");
/// # #[cfg(unix)] {
/// use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};
/// let odd = Path::new(OsStr::from_bytes(b"day/b\xff.pcap"));
/// assert_eq!(weir_capture::shown(odd), r"day/b\xff.pcap");
/// # }
/// ```
#[must_use]
pub fn shown(path: &Path) -> Cow<'_, str> {
    if let Some(text) = path.to_str() {
        return Cow::Borrowed(text);
    }
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', r"\\"));
        for byte in chunk.invalid() {
            // Writing to a text does not fail.
            let _ = write!(text, r"\x{byte:02x}");
        }
    }
    Cow::Owned(text)
}

/// The path that [`shown`] wrote so; `None` when it did not escape anything.
#[cfg(unix)]
fn as_shown(text: &str) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    text.contains(r"\x").then_some(())?;
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    loop {
        match rest {
            [b'\\', b'\\', after @ ..] => {
                bytes.push(b'\\');
                rest = after;
            }
            [b'\\', b'x', high, low, after @ ..] => {
                let digit = |digit: u8| char::from(digit).to_digit(16);
                let byte = digit(*high)? * 16 + digit(*low)?;
                bytes.push(u8::try_from(byte).ok()?);
                rest = after;
            }
            [byte, after @ ..] => {
                bytes.push(*byte);
                rest = after;
            }
            [] => return Some(std::ffi::OsString::from_vec(bytes).into()),
        }
    }
}

/// Names elsewhere are not made of bytes.
#[cfg(not(unix))]
fn as_shown(_: &str) -> Option<PathBuf> {
    None
}
/// The extensions of captures.
const CAPTURE_ENDINGS: [&str; 6] = [".pcap", ".pcapng", ".cap", ".erf", ".ntar", ".snoop"];
/// And what may stand behind that.
const COMPRESSED_ENDINGS: [&str; 6] = [".gz", ".zst", ".zstd", ".xz", ".bz2", ".lz4"];

/// Enough for the decompressors and for the chain of records that shows ERF.
const SNIFF_BUFFER_BYTES: usize = 64 << 10;
