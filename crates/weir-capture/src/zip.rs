//! zip archives (PKWARE's APPNOTE 6.3): which members are there, and their bytes.
//!
//! The directory at the end of the archive says where members lie. An archive that is cut short has none: its
//! members are found one behind the other from the start then, and the last one says that it is cut.
//! The crate `zip` is not used: of what it does only the directory would be, for thirty dependencies more.

use std::any::Any;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_bytes::{Endian, Reader as Bytes, Short};

use crate::confined::open_local;
use crate::error::Error;
use crate::input::{Member, Packed};
use crate::pattern::{NamePattern, WILD};
use crate::{Object, ReadObject, shown};

/// A zip archive, as its directory says.
#[derive(Clone, Debug)]
pub struct Archive {
    path: PathBuf,
    members: Vec<ZipEntry>,
}

/// A file in an archive. Its address is the archive's path, a slash, and its name.
#[derive(Clone, Debug)]
pub struct ArchiveMember {
    path: PathBuf,
    name: String,
    identity: String,
    entry: ZipEntry,
}

#[derive(Clone, Debug)]
struct ZipEntry {
    name: String,
    /// The offset of its own header.
    header_at: u64,
    /// The number of compressed bytes; `None` when it is unknown.
    packed_len: Option<u64>,
    is_encrypted: bool,
    packed: Packed,
}

impl Archive {
    /// The archive at `path`; `None` when the file is no archive.
    ///
    /// # Errors
    /// When it cannot be opened or read, or its directory is damaged.
    pub fn open(path: &Path) -> Result<Option<Self>, Error> {
        let mut file = open_local(path).map_err(Error::io)?;
        let mut magic = [0; 4];
        let is_short = file.read_exact(&mut magic).is_err();
        if is_short || !matches!(&magic, b"PK\x03\x04" | b"PK\x05\x06") {
            return Ok(None);
        }
        let found = match directory(&mut file) {
            Ok(Some(found)) => Ok(found),
            Ok(None) => walk(&mut file),
            Err(error) => Err(error),
        };
        let mut members = found.map_err(Error::io)?;
        members.retain(|member| is_file(&member.name));
        members.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(Some(Self {
            path: path.to_owned(),
            members,
        }))
    }

    /// Finds the archive that an address such as `x.zip/day/a.pcap` begins with, and the rest, which chooses its members by
    /// name or pattern. `None` when no part of it is a file.
    #[must_use]
    pub fn of_address(address: &str) -> Option<(PathBuf, &str)> {
        let mut ends = address.match_indices('/').map(|(at, _)| at);
        let at = ends.find(|at| {
            let archive = address.get(..*at).unwrap_or_default();
            archive.to_ascii_lowercase().ends_with(ENDING) && Path::new(archive).is_file()
        })?;
        let (archive, member) = address.split_at(at);
        Some((PathBuf::from(archive), member.strip_prefix('/')?))
    }

    /// All files in it, in the order of their names. Folders, hidden files and what macOS adds are left
    /// out.
    #[must_use]
    pub fn members(&self) -> Vec<Arc<ArchiveMember>> {
        self.members
            .iter()
            .map(|entry| self.member(entry))
            .collect()
    }

    /// The files with this name, or that match this pattern, in which `*` stands for any characters.
    ///
    /// # Errors
    /// When there is none, or the pattern is malformed.
    pub fn matching(&self, name: &str) -> Result<Vec<Arc<ArchiveMember>>, Error> {
        let named = self.members.iter().filter(|entry| entry.name == name);
        let mut found: Vec<_> = named.map(|entry| self.member(entry)).collect();
        if found.is_empty() && name.contains(WILD) {
            let pattern = NamePattern::parse(name).map_err(Error::pattern)?;
            let matching = self.members.iter();
            let matching = matching.filter(|entry| pattern.matches(&entry.name));
            found.extend(matching.map(|entry| self.member(entry)));
        }
        match found.is_empty() {
            true => Err(Error::not_found(
                &format!("{name} in {}", shown(&self.path)),
                "the path of the archive alone reads all files in it; unzip -l lists them",
            )),
            false => Ok(found),
        }
    }

    fn member(&self, entry: &ZipEntry) -> Arc<ArchiveMember> {
        let name = format!("{}/{}", shown(&self.path), entry.name);
        let changed = self.path.metadata().and_then(|found| found.modified());
        // Two members may have one name.
        let identity = format!("zip {name} {} {changed:?}", entry.header_at);
        Arc::new(ArchiveMember {
            path: self.path.clone(),
            name,
            identity,
            entry: entry.clone(),
        })
    }
}

impl ArchiveMember {
    /// The path of the archive.
    #[must_use]
    pub fn archive(&self) -> &Path {
        &self.path
    }

    fn read(&self) -> io::Result<Member<Take<File>>> {
        if self.entry.is_encrypted {
            let reason = "the member is encrypted: unzip it first";
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        }
        let mut file = open_local(&self.path)?;
        file.seek(SeekFrom::Start(self.entry.header_at))?;
        let mut head = [0; LOCAL_LEN];
        file.read_exact(&mut head)?;
        let mut fields = Bytes::new(&head);
        let mut lens = || -> Result<(u32, i64), Short> {
            let magic = fields.u32(Endian::Little)?;
            fields.skip(22)?;
            let name = fields.u16(Endian::Little)?;
            let extra = fields.u16(Endian::Little)?;
            Ok((magic, i64::from(name) + i64::from(extra)))
        };
        match lens() {
            Ok((LOCAL, len)) => file.seek(SeekFrom::Current(len))?,
            _ => return Err(damaged("a member is not where the directory says")),
        };
        let source = file.take(self.entry.packed_len.unwrap_or(u64::MAX));
        Member::new(source, &self.entry.packed).map_err(io::Error::from)
    }
}

impl Object for ArchiveMember {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> &str {
        &self.identity
    }

    fn len(&self) -> Option<u64> {
        self.entry.packed.expected.map(|(_, len)| len)
    }

    fn is_ranged(&self) -> bool {
        false
    }

    fn open(&self, range: Range<u64>) -> io::Result<Box<dyn ReadObject>> {
        if range.start != 0 {
            return Err(io::Error::new(io::ErrorKind::Unsupported, FROM_START));
        }
        Ok(Box::new(FromStart(self.read()?)))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// A reader from the beginning to the end.
struct FromStart<R>(R);

impl<R: Read> Read for FromStart<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.read(out)
    }
}

impl<R> Seek for FromStart<R> {
    fn seek(&mut self, _: SeekFrom) -> io::Result<u64> {
        Err(io::Error::new(io::ErrorKind::Unsupported, FROM_START))
    }
}

impl<R> fmt::Debug for FromStart<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FromStart")
    }
}

/// Neither a folder nor what systems add to folders.
fn is_file(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or_default();
    !last.is_empty() && !last.starts_with('.') && !name.starts_with("__MACOSX/")
}

/// The members by the directory at the end; `None` when there is no end of a directory.
fn directory(file: &mut File) -> io::Result<Option<Vec<ZipEntry>>> {
    let file_len = file.seek(SeekFrom::End(0))?;
    let tail_at = file_len.saturating_sub(TAIL_BYTES_MAX);
    file.seek(SeekFrom::Start(tail_at))?;
    let mut tail = Vec::new();
    file.by_ref().take(TAIL_BYTES_MAX).read_to_end(&mut tail)?;
    let Some(end_at) = end_of_directory(&tail) else {
        return Ok(None);
    };
    let end = tail.get(end_at..).unwrap_or_default();
    let Ok((mut len, mut start)) = place(end, 12, false) else {
        return Ok(None);
    };
    let mut directory_end = tail_at + end_at as u64;
    if (start == WIDE || len == WIDE)
        && let Some(locator) = end_at
            .checked_sub(LOCATOR_LEN)
            .and_then(|at| tail.get(at..end_at))
    {
        let mut fields = Bytes::new(locator);
        let mut wide_at = || -> Result<(u32, u64), Short> {
            let magic = fields.u32(Endian::Little)?;
            fields.skip(4)?;
            Ok((magic, fields.u64(Endian::Little)?))
        };
        if let Ok((WIDE_LOCATOR, wide_at)) = wide_at() {
            file.seek(SeekFrom::Start(wide_at))?;
            let mut end = [0; WIDE_END_LEN];
            file.read_exact(&mut end)?;
            (len, start) = place(&end, 40, true).map_err(|_| damaged("its directory is cut"))?;
            directory_end = wide_at;
        }
    }
    // The bytes before an archive, as in one that extracts itself, do not count in its offsets.
    let actual = directory_end.checked_sub(len);
    let Some(actual) = actual.filter(|actual| *actual >= start) else {
        return Err(damaged("its directory is not where the archive says"));
    };
    if len > DIRECTORY_BYTES_MAX {
        return Err(damaged("its directory is larger than the limit of 64 MiB"));
    }
    file.seek(SeekFrom::Start(actual))?;
    let mut bytes = Vec::new();
    BufReader::new(file).take(len).read_to_end(&mut bytes)?;
    entries(&bytes, actual - start).map(Some)
}

/// The offset in the tail of the end of central directory record, whose comment is the rest.
fn end_of_directory(tail: &[u8]) -> Option<usize> {
    let last = tail.len().checked_sub(END_LEN)?;
    (0..=last).rev().find(|at| {
        let record = tail.get(*at..).unwrap_or_default();
        let comment = record.get(20..22).and_then(<[u8]>::first_chunk);
        let comment = comment.map(|len: &[u8; 2]| usize::from(u16::from_le_bytes(*len)));
        record.starts_with(&END.to_le_bytes()) && comment == Some(record.len() - END_LEN)
    })
}

/// Length and offset of the directory, which stand `at` bytes into the record that ends it.
fn place(record: &[u8], at: usize, is_wide: bool) -> Result<(u64, u64), Short> {
    let mut fields = Bytes::new(record);
    fields.skip(at)?;
    Ok(match is_wide {
        true => (fields.u64(Endian::Little)?, fields.u64(Endian::Little)?),
        false => (
            fields.u32(Endian::Little)?.into(),
            fields.u32(Endian::Little)?.into(),
        ),
    })
}

/// The entries of a directory. All offsets are `shift` bytes further than they say.
fn entries(directory: &[u8], shift: u64) -> io::Result<Vec<ZipEntry>> {
    let mut fields = Bytes::new(directory);
    let mut entries = Vec::new();
    while !fields.is_empty() {
        let entry = entry(&mut fields, shift);
        match entry {
            Ok(Some(entry)) => entries.push(entry),
            Ok(None) => break,
            Err(_) => return Err(damaged("its directory is cut")),
        }
    }
    Ok(entries)
}

/// The next entry; `None` at something else.
fn entry(fields: &mut Bytes<'_>, shift: u64) -> Result<Option<ZipEntry>, Short> {
    if fields.u32(Endian::Little)? != ENTRY {
        return Ok(None);
    }
    fields.skip(4)?;
    let (flags, method) = (fields.u16(Endian::Little)?, fields.u16(Endian::Little)?);
    fields.skip(4)?;
    let crc = fields.u32(Endian::Little)?;
    let mut packed_len = u64::from(fields.u32(Endian::Little)?);
    let mut len = u64::from(fields.u32(Endian::Little)?);
    let name_len = fields.u16(Endian::Little)?;
    let extra_len = fields.u16(Endian::Little)?;
    let comment_len = fields.u16(Endian::Little)?;
    fields.skip(8)?;
    let mut header_at = u64::from(fields.u32(Endian::Little)?);
    let name = name_of(fields.take(name_len.into())?);
    let mut extra = Bytes::new(fields.take(extra_len.into())?);
    fields.skip(comment_len.into())?;
    while let (Ok(id), Ok(size)) = (extra.u16(Endian::Little), extra.u16(Endian::Little)) {
        let Ok(value) = extra.take(size.into()) else {
            break;
        };
        if id == WIDE_EXTRA {
            // Only those stand here that are too wide for their places, in this order.
            let mut value = Bytes::new(value);
            for field in [&mut len, &mut packed_len, &mut header_at] {
                if *field == WIDE {
                    *field = value.u64(Endian::Little)?;
                }
            }
        }
    }
    Ok(Some(ZipEntry {
        name,
        header_at: header_at.saturating_add(shift),
        packed_len: Some(packed_len),
        is_encrypted: flags & 1 != 0,
        packed: Packed {
            method,
            expected: Some((crc, len)),
            cut: false,
        },
    }))
}

/// The members of an archive without a directory, by their own headers.
fn walk(file: &mut File) -> io::Result<Vec<ZipEntry>> {
    let mut entries: Vec<ZipEntry> = Vec::new();
    let mut at = 0_u64;
    let mut names = 0;
    loop {
        file.seek(SeekFrom::Start(at))?;
        let mut head = Vec::new();
        file.by_ref()
            .take(LOCAL_LEN as u64)
            .read_to_end(&mut head)?;
        let Ok(Some((mut entry, name_len, extra_len))) = local(&head, at) else {
            break;
        };
        let mut name = Vec::new();
        file.by_ref().take(name_len).read_to_end(&mut name)?;
        entry.name = name_of(&name);
        names += name.len() as u64;
        let next = entry.packed_len.map(|len| {
            at.saturating_add(LOCAL_LEN as u64 + name_len + extra_len)
                .saturating_add(len)
        });
        if is_file(&entry.name) {
            entries.push(entry);
        }
        // The header of a streamed member does not have its length.
        match next {
            Some(next) if names <= DIRECTORY_BYTES_MAX => at = next,
            _ => break,
        }
    }
    match entries.last_mut() {
        Some(last) => last.packed.cut = true,
        None => return Err(damaged("it is cut short before its first member")),
    }
    Ok(entries)
}

/// A member by its own header, without its name; with the lengths of name and extra fields.
fn local(head: &[u8], at: u64) -> Result<Option<(ZipEntry, u64, u64)>, Short> {
    let mut fields = Bytes::new(head);
    if fields.u32(Endian::Little)? != LOCAL {
        return Ok(None);
    }
    fields.skip(2)?;
    let (flags, method) = (fields.u16(Endian::Little)?, fields.u16(Endian::Little)?);
    fields.skip(4)?;
    let crc = fields.u32(Endian::Little)?;
    let packed_len = u64::from(fields.u32(Endian::Little)?);
    let len = u64::from(fields.u32(Endian::Little)?);
    let name_len = fields.u16(Endian::Little)?;
    let extra_len = fields.u16(Endian::Little)?;
    let is_known = flags & 8 == 0 && packed_len != WIDE && len != WIDE;
    let entry = ZipEntry {
        name: String::new(),
        header_at: at,
        packed_len: is_known.then_some(packed_len),
        is_encrypted: flags & 1 != 0,
        packed: Packed {
            method,
            expected: is_known.then_some((crc, len)),
            cut: false,
        },
    };
    Ok(Some((entry, name_len.into(), extra_len.into())))
}

/// The name in messages: bytes that are not UTF-8 are escaped.
fn name_of(bytes: &[u8]) -> String {
    let mut name = String::new();
    for chunk in bytes.utf8_chunks() {
        name.push_str(chunk.valid());
        for byte in chunk.invalid() {
            name.push_str(&format!(r"\x{byte:02x}"));
        }
    }
    name
}

fn damaged(what: &str) -> io::Error {
    let message = format!("the zip archive is damaged: {what}");
    io::Error::new(io::ErrorKind::InvalidData, message)
}

const ENDING: &str = ".zip";
const FROM_START: &str = "a member of an archive is only read from its beginning";
/// Signatures.
const LOCAL: u32 = 0x0403_4b50;
const ENTRY: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const WIDE_LOCATOR: u32 = 0x0706_4b50;
/// Bytes of a member's own header without its name, and of the records that end directories.
const LOCAL_LEN: usize = 30;
const END_LEN: usize = 22;
const LOCATOR_LEN: usize = 20;
const WIDE_END_LEN: usize = 56;
/// A number that stands elsewhere, in 64 bits, and the extra field where.
const WIDE: u64 = 0xffff_ffff;
const WIDE_EXTRA: u16 = 1;
/// The record that ends a directory, and the longest comment.
const TAIL_BYTES_MAX: u64 = (END_LEN + LOCATOR_LEN + 0xffff) as u64;
const DIRECTORY_BYTES_MAX: u64 = 64 << 20;
