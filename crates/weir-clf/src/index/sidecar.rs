//! A sidecar file: blocks one after the other, and at the end, when the log is finished, a seal.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::forms::Form;
use crate::hash::xxh64;
use weir_bytes::u64_le_at;

use crate::index::block::{
    BlockHeader, EDGE_BYTES, FIXED_BYTES, PAGE_BYTES, Zone, edge_sum, page_sum,
};
use crate::index::mark::IndexKey;
use crate::segment::Segment;

/// Returns the path of the sidecar of a log.
#[must_use]
pub fn sidecar_path(log: &Path) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(".index");
    PathBuf::from(name)
}

const SEAL_MAGIC: &[u8; 8] = b"weirseal";
/// The number of bytes of a seal: magic, length and modification time of the log, checksum.
pub(crate) const SEAL_BYTES: usize = 32;
/// The number of blocks of a sidecar, at most: 16 billion records.
const BLOCKS_MAX: usize = 1 << 18;

/// Returns the seal of a log that is finished.
pub(crate) fn seal(log_bytes: u64, modified_ns: i64) -> [u8; SEAL_BYTES] {
    let mut seal = [0; SEAL_BYTES];
    seal[..8].copy_from_slice(SEAL_MAGIC);
    seal[8..16].copy_from_slice(&log_bytes.to_le_bytes());
    seal[16..24].copy_from_slice(&modified_ns.to_le_bytes());
    let sum = xxh64(&seal[..24]);
    seal[24..].copy_from_slice(&sum.to_le_bytes());
    seal
}

/// The part of a sidecar that fits its log.
#[derive(Debug)]
pub(crate) struct Sidecar {
    store: Store,
    blocks: Vec<Loaded>,
    /// The number of bytes of the sidecar that hold the blocks.
    bytes: u64,
}

#[derive(Debug)]
struct Loaded {
    header: BlockHeader,
    /// The whole header: zones and sums.
    bytes: Vec<u8>,
    /// The offset of the body in the sidecar.
    body: u64,
}

#[derive(Debug)]
enum Store {
    File(File),
    /// All blocks, whose pages have been compared with their checksums.
    Memory(Vec<u8>),
}

/// A span of a log that may have matching records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogSpan {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl LogSpan {
    pub(crate) const fn len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

impl Sidecar {
    /// Opens the sidecar of `segment`, as far as it is valid: blocks that follow one another from the beginning of the
    /// log, each of its form and with its checksum, and with the edges of the log. A wrong seal makes all of it
    /// invalid. Returns `None` when nothing is valid.
    pub(crate) fn open(segment: &Segment, form: Form) -> io::Result<Option<Self>> {
        let file = match segment.open_beside(&sidecar_path(segment.path())) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut blocks = Vec::new();
        let mut at = 0;
        let mut log_end = 0;
        while blocks.len() < BLOCKS_MAX {
            let Some(block) = load(&file, at)? else {
                break;
            };
            let header = block.header;
            let follows = header.log_start >= log_end && header.is_of(form);
            if !follows || !edges_fit(segment, &header)? {
                return Ok(None);
            }
            log_end = header.log_end;
            at = block
                .body
                .saturating_add((header.block_bytes - header.header_bytes) as u64);
            blocks.push(block);
        }
        if !seal_fits(&file, at, segment)? || blocks.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            store: Store::File(file),
            blocks,
            bytes: at,
        }))
    }

    /// Reads everything into memory, so that a lookup needs no system call. The first damaged page ends the part that
    /// is used.
    pub(crate) fn load(&mut self) -> io::Result<()> {
        let Store::File(file) = &self.store else {
            return Ok(());
        };
        let mut bytes = vec![0; usize::try_from(self.bytes).unwrap_or(0)];
        file.read_exact_at(&mut bytes, 0)?;
        let sound = self
            .blocks
            .iter()
            .take_while(|block| block.body_is_intact(&bytes))
            .count();
        self.blocks.truncate(sound);
        self.store = Store::Memory(bytes);
        Ok(())
    }

    /// The end of the part of the log that the sidecar covers.
    pub(crate) fn covered(&self) -> u64 {
        self.blocks.last().map_or(0, |block| block.header.log_end)
    }

    /// The number of records that the sidecar covers.
    pub(crate) fn records(&self) -> u64 {
        self.blocks
            .iter()
            .map(|block| u64::from(block.header.records))
            .sum()
    }

    /// The number of bytes of the blocks.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of zones.
    pub(crate) fn zones(&self) -> u64 {
        self.blocks
            .iter()
            .map(|block| block.header.granules as u64)
            .sum()
    }

    /// Returns the spans of records that may match `wanted` and have one of the keys; without `keys` any. Spans are in
    /// the order of the log and do not overlap. A damaged page makes its block's whole part of the log a span. `zones`
    /// counts the granules that are to be read.
    pub(crate) fn spans(
        &self,
        keys: Option<&[(IndexKey, u32)]>,
        wanted: &dyn Fn(&Zone) -> bool,
        zones: &mut u64,
    ) -> io::Result<Vec<LogSpan>> {
        let mut spans: Vec<LogSpan> = Vec::new();
        let mut granules = Vec::new();
        let mut page = Vec::new();
        let mut reached = 0;
        for block in &self.blocks {
            granules.clear();
            let header = &block.header;
            // No block covers these bytes of the log, as a block of the sidecar is damaged or was removed.
            if header.log_start > reached {
                spans.push(LogSpan {
                    start: reached,
                    end: header.log_start,
                });
            }
            reached = header.log_end;
            let whole = Zone {
                offset: 0,
                time_min: header.time_min,
                time_max: header.time_max,
                methods: u16::MAX,
                statuses: u16::MAX,
            };
            if !wanted(&whole) {
                continue;
            }
            match keys {
                None => granules.extend(0..header.granules),
                Some(keys) => {
                    for &(key, hash) in keys {
                        if !self.lookup(block, key, hash, &mut granules, &mut page)? {
                            granules.extend(0..header.granules);
                        }
                    }
                    granules.sort_unstable();
                    granules.dedup();
                }
            }
            for &granule in &granules {
                let Some(zone) = header
                    .zone(&block.bytes, granule)
                    .filter(|zone| wanted(zone))
                else {
                    continue;
                };
                *zones = zones.saturating_add(1);
                let next = header.zone(&block.bytes, granule.saturating_add(1));
                let end = match next {
                    Some(next) => header.log_start.saturating_add(u64::from(next.offset)),
                    None => header.log_end,
                };
                let start = header.log_start.saturating_add(u64::from(zone.offset));
                match spans.last_mut() {
                    Some(last) if last.end == start => last.end = end,
                    _ => spans.push(LogSpan { start, end }),
                }
            }
        }
        Ok(spans)
    }

    /// Appends the granules of a block for a key. Returns false when the table is damaged.
    fn lookup(
        &self,
        block: &Loaded,
        key: IndexKey,
        hash: u32,
        granules: &mut Vec<usize>,
        page: &mut Vec<u8>,
    ) -> io::Result<bool> {
        let (at, len) = block.header.directory(key, hash);
        let Some(directory) = self.body(block, at, len, page)? else {
            return Ok(false);
        };
        let Some((at, len)) = block.header.entries(key, directory) else {
            return Ok(false);
        };
        let Some(entries) = self.body(block, at, len, page)? else {
            return Ok(false);
        };
        block.header.granules_of(key, hash, entries, granules);
        Ok(true)
    }

    /// Returns bytes of a block's body, whose pages are compared with their checksums; `None` when they differ.
    fn body<'a>(
        &'a self,
        block: &Loaded,
        at: usize,
        len: usize,
        page: &'a mut Vec<u8>,
    ) -> io::Result<Option<&'a [u8]>> {
        let header = &block.header;
        let body_bytes = header.block_bytes - header.header_bytes;
        let Some(end) = at.checked_add(len).filter(|end| *end <= body_bytes) else {
            return Ok(None);
        };
        let file = match &self.store {
            Store::Memory(bytes) => {
                let start = usize::try_from(block.body)
                    .unwrap_or(usize::MAX)
                    .saturating_add(at);
                return Ok(bytes.get(start..start.saturating_add(len)));
            }
            Store::File(file) => file,
        };
        let first = at / PAGE_BYTES;
        let start = first * PAGE_BYTES;
        let stop = end
            .div_ceil(PAGE_BYTES)
            .saturating_mul(PAGE_BYTES)
            .clamp(start, body_bytes);
        page.resize(stop.saturating_sub(start), 0);
        if file
            .read_exact_at(page, block.body.saturating_add(start as u64))
            .is_err()
        {
            return Ok(None);
        }
        for (index, page) in page.chunks(PAGE_BYTES).enumerate() {
            if header.sum(&block.bytes, first.saturating_add(index)) != Some(page_sum(page)) {
                return Ok(None);
            }
        }
        Ok(page.get(at.saturating_sub(start)..end.saturating_sub(start)))
    }
}

impl Loaded {
    fn body_is_intact(&self, sidecar: &[u8]) -> bool {
        let start = usize::try_from(self.body).unwrap_or(usize::MAX);
        let end = start.saturating_add(self.header.block_bytes - self.header.header_bytes);
        let Some(body) = sidecar.get(start..end) else {
            return false;
        };
        body.chunks(PAGE_BYTES)
            .enumerate()
            .all(|(index, page)| self.header.sum(&self.bytes, index) == Some(page_sum(page)))
    }
}

/// Reads the block at `at`; returns `None` when there is no valid one.
fn load(file: &File, at: u64) -> io::Result<Option<Loaded>> {
    let mut bytes = vec![0; FIXED_BYTES];
    if file.read_exact_at(&mut bytes, at).is_err() {
        return Ok(None);
    }
    let Some(header) = BlockHeader::of(&bytes) else {
        return Ok(None);
    };
    bytes.resize(header.header_bytes, 0);
    if file.read_exact_at(&mut bytes, at).is_err() || !header.is_intact(&bytes) {
        return Ok(None);
    }
    let end = at.saturating_add(header.block_bytes as u64);
    if file.metadata()?.len() < end {
        return Ok(None);
    }
    let body = at.saturating_add(header.header_bytes as u64);
    Ok(Some(Loaded {
        header,
        bytes,
        body,
    }))
}

/// Returns whether the log is unchanged at the ends of a block's part.
fn edges_fit(segment: &Segment, header: &BlockHeader) -> io::Result<bool> {
    if segment.len() < header.log_end {
        return Ok(false);
    }
    Ok(edges(segment, header.log_start, header.log_end)? == header.edges)
}

/// Returns the checksum of the ends of a part of the log.
pub(crate) fn edges(segment: &Segment, start: u64, end: u64) -> io::Result<u64> {
    let (mut first, mut last) = (Vec::new(), Vec::new());
    let bytes = end.saturating_sub(start).min(EDGE_BYTES as u64);
    segment.read(start, start.saturating_add(bytes), &mut first)?;
    segment.read(end.saturating_sub(bytes), end, &mut last)?;
    Ok(edge_sum(&first, &last))
}

/// Returns whether there is no seal at `at`, or one that matches the log.
fn seal_fits(file: &File, at: u64, segment: &Segment) -> io::Result<bool> {
    let mut bytes = [0; SEAL_BYTES];
    if file.read_exact_at(&mut bytes, at).is_err() || bytes[..8] != *SEAL_MAGIC {
        return Ok(true);
    }
    let (Some(len), Some(modified)) = (u64_le_at(&bytes, 8), u64_le_at(&bytes, 16)) else {
        return Ok(false);
    };
    let fits = bytes == seal(len, modified as i64);
    // A compressed segment is another file than the one that was sealed, and has checksums itself.
    let same = segment.is_compressed() || segment.modified_ns() == modified as i64;
    Ok(fits && len == segment.len() && same)
}
