//! The kind of a file, by its content and its name.

use std::io::{BufReader, Read};

use weir_capture::{ArchiveMember, Compression, uncompressed_name};
use weir_functions::{Error, ErrorKind};
use weir_tables::Location;

use crate::delimited::BYTE_ORDER_MARK;

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FileKind {
    Capture,
    Parquet,
    Arrow,
    Csv,
    Json,
    /// A word a line.
    Words,
}

/// The kind of the files: by their content, and for text by their names. The first file with a kind decides for all; a file of
/// another kind is reported when it is read.
pub(super) fn kind(paths: &[Location]) -> Result<FileKind, Error> {
    let mut first_error = None;
    for path in paths {
        match kind_of(path) {
            Ok(kind) => return Ok(kind),
            Err(error) => {
                first_error.get_or_insert(error);
            }
        }
    }
    Err(first_error.unwrap_or_else(|| Error::new(ErrorKind::Source, "no file is named")))
}

pub(super) fn kind_of(path: &Location) -> Result<FileKind, Error> {
    if path.is_stdin() {
        return Ok(FileKind::Capture);
    }
    let mut start = Vec::new();
    let io = |error: std::io::Error| Error::new(ErrorKind::Source, format!("{path}: {error}"));
    let mut bytes = path.open().map_err(io)?;
    bytes.by_ref().take(8).read_to_end(&mut start).map_err(io)?;
    if start.starts_with(b"PAR1") {
        return Ok(FileKind::Parquet);
    }
    if start.starts_with(b"ARROW1") || start.starts_with(&[0xff, 0xff, 0xff, 0xff]) {
        return Ok(FileKind::Arrow);
    }
    let bytes = start.as_slice().chain(bytes);
    let found = weir_capture::sniff_reader(bytes).map_err(|error| {
        let converted = Error::new(ErrorKind::Source, format!("{path}: {error}"));
        match error.hint() {
            Some(hint) => converted.with_hint(hint),
            None => converted,
        }
    })?;
    if found.is_some() {
        return Ok(FileKind::Capture);
    }
    let name = file_name(path).to_ascii_lowercase();
    let name = uncompressed_name(&name);
    if [".csv", ".tsv", ".tab"]
        .iter()
        .any(|end| name.ends_with(end))
    {
        return Ok(FileKind::Csv);
    }
    if [".json", ".ndjson", ".jsonl"]
        .iter()
        .any(|end| name.ends_with(end))
    {
        return Ok(FileKind::Json);
    }
    if name.ends_with(".txt") && !start.is_empty() && !start.contains(&0) {
        return Ok(FileKind::Words);
    }
    if start.is_empty() {
        let message = format!("{path} is empty");
        return Err(Error::new(ErrorKind::Source, message).with_hint(
            "a capture has a header even when it has no packets: was it written completely?",
        ));
    }
    if let Some((name, hint)) = weir_capture::other_compression(&start) {
        let message = format!("{path} is compressed with {name}");
        return Err(Error::new(ErrorKind::Source, message).with_hint(hint));
    }
    // What cannot be unpacked does not show its format.
    let unpacked = path.open().and_then(weir_capture::Uncompressed::new);
    unpacked
        .and_then(|unpacked| std::io::copy(&mut unpacked.take(1), &mut std::io::sink()))
        .map_err(|error| {
            io(error).with_hint(
                "was it written completely? gzip -t, and -t of the other programs, tests a file",
            )
        })?;
    let message = format!(
        "{path} is not a capture (pcap, pcapng, ERF, snoop or NetMon 2, compressed or not), nor Parquet, Arrow, CSV, JSON or a .txt"
    );
    Err(Error::new(ErrorKind::Source, message).with_hint(
        "editcap converts other captures; records(path, 'layout.toml') reads private formats; weir demo creates samples",
    ))
}

/// Whether a text is compressed or part of an archive: DataFusion would read the file's own bytes.
pub(super) fn is_packed(path: &Location) -> Result<bool, Error> {
    if matches!(path, Location::Object(object) if object.as_any().is::<ArchiveMember>()) {
        return Ok(true);
    }
    let opened = path.open().and_then(weir_capture::Uncompressed::new);
    match opened {
        Ok(opened) => Ok(opened.compression() != Compression::None),
        Err(error) => Err(Error::new(ErrorKind::Source, format!("{path}: {error}"))),
    }
}

/// Whether a file is not simply a row a line: its first character is a bracket, or a byte order mark.
pub(super) fn is_json_array(path: &Location) -> Result<bool, Error> {
    let failed = |error: std::io::Error| Error::new(ErrorKind::Source, format!("{path}: {error}"));
    let file = path.open_uncompressed().map_err(failed)?;
    for byte in BufReader::new(file).bytes() {
        let byte = byte.map_err(failed)?;
        if !byte.is_ascii_whitespace() {
            return Ok(byte == b'[' || BYTE_ORDER_MARK.starts_with(&[byte]));
        }
    }
    Ok(false)
}

/// The last part of a name, without what stands behind it in an address.
pub(super) fn file_name(location: &Location) -> String {
    let shown = location.shown();
    let shown = match location {
        Location::Object(_) => shown.split("?…").next().unwrap_or_default(),
        _ => &shown,
    };
    shown.rsplit('/').next().unwrap_or_default().to_owned()
}
