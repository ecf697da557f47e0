//! One block of a sidecar: the index of up to 65,472 records that follow one another in the log.
//!
//! All numbers are little-endian. A block has a header of fixed size; a zone of 16 bytes for each granule (32 records)
//! with its offset, its earliest and latest time, its methods and statuses; a checksum for each 4 KiB of the body; a
//! checksum of all that. The header also has the form of the log. The body has three tables, one for each key (Call-ID,
//! From, To): a directory of buckets, then entries of two bytes: eleven bits of granule, five more bits of the hash.

use crate::forms::Form;
use crate::hash::xxh64;
use weir_bytes::{u16_le_at, u32_le_at, u64_le_at};

use crate::index::mark::{IndexKey, Mark};
use crate::index::{BLOCK_RECORDS_MAX, GRANULE_RECORDS, KEYS};

const MAGIC: &[u8; 8] = b"weirclf2";
/// The number of bytes of the header's fixed part.
pub(crate) const FIXED_BYTES: usize = 96;
/// The offset of the form in the header.
const FORM: usize = 88;
const ZONE_BYTES: usize = 16;
pub(crate) const PAGE_BYTES: usize = 4096;
/// The number of bits of the hash that choose a bucket: Call-IDs differ more, so they get more.
const BUCKET_BITS_MAX: [u32; KEYS] = [14, 13, 13];
/// The number of bits of the hash that an entry has.
const REST_BITS: u32 = 5;
/// The number of bits of the granule beside them, and their mask.
const GRANULE_BITS: u32 = 16 - REST_BITS;
const GRANULE_MASK: u16 = (1 << GRANULE_BITS) - 1;
/// The number of bytes at each end of a block's part of the log that are compared before the block is used.
pub(crate) const EDGE_BYTES: usize = 256;

/// Collects marks and makes a block of them.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    /// The hashes of each record, a column a key.
    keys: [Vec<u32>; KEYS],
    zones: Vec<Zone>,
    log_start: u64,
    log_end: u64,
    form: Form,
}

/// The code of a log's form in a block.
const fn code(form: Form) -> u8 {
    match form {
        Form::Rfc6873 => 0,
        Form::Text => 1,
        Form::Binary => 2,
        Form::Json => 3,
    }
}

/// The values of a granule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Zone {
    /// The offset of its first record, from the block's beginning in the log.
    pub(crate) offset: u32,
    /// The earliest time, in milliseconds since 1970.
    pub(crate) time_min: u64,
    /// The latest time, in milliseconds since 1970.
    pub(crate) time_max: u64,
    pub(crate) methods: u16,
    pub(crate) statuses: u16,
}

impl Builder {
    /// Creates a builder for the blocks of a log of `form`.
    pub(crate) fn new(form: Form) -> Self {
        Self {
            form,
            ..Self::default()
        }
    }

    /// The number of records that wait for their block.
    pub(crate) const fn records(&self) -> usize {
        self.keys[0].len()
    }

    /// Adds a record that begins at `offset` in the log. Bytes between it and the one before, line feeds or damage,
    /// belong to the granule before. Returns false when the block is full and has to be finished first.
    #[inline]
    pub(crate) fn push(&mut self, mark: &Mark, offset: u64) -> bool {
        let records = self.records();
        if records == 0 {
            self.log_start = offset;
        }
        let from_start = offset.saturating_sub(self.log_start);
        let full = records >= BLOCK_RECORDS_MAX;
        let Some(from_start) = u32::try_from(from_start).ok().filter(|_| !full) else {
            return false;
        };
        if records.is_multiple_of(GRANULE_RECORDS) {
            self.zones.push(Zone {
                offset: from_start,
                time_min: mark.time,
                time_max: mark.time,
                methods: 0,
                statuses: 0,
            });
        }
        if let Some(zone) = self.zones.last_mut() {
            zone.time_min = zone.time_min.min(mark.time);
            zone.time_max = zone.time_max.max(mark.time);
            zone.methods |= mark.method;
            zone.statuses |= mark.status;
        }
        self.log_end = offset.saturating_add(u64::from(mark.len));
        for (keys, key) in self.keys.iter_mut().zip(mark.keys) {
            keys.push(key);
        }
        true
    }

    /// Returns the block with the beginning and the end of its part of the log, and discards the marks. The caller has
    /// to fill in the checksum of the edges.
    pub(crate) fn finish(&mut self) -> UnsealedBlock {
        let mut body = Vec::new();
        let mut tables = [KeyTable::default(); KEYS];
        let bits_max = BUCKET_BITS_MAX.iter();
        for ((table, keys), bits_max) in tables.iter_mut().zip(&self.keys).zip(bits_max) {
            *table = push_table(keys, *bits_max, &mut body);
        }
        let time_min = self
            .zones
            .iter()
            .map(|zone| zone.time_min)
            .min()
            .unwrap_or(0);
        let time_max = self
            .zones
            .iter()
            .map(|zone| zone.time_max)
            .max()
            .unwrap_or(0);
        let mut bytes = Vec::with_capacity(body.len().saturating_add(32 << 10));
        bytes.extend_from_slice(MAGIC);
        for number in [0, 0, self.records() as u32, self.zones.len() as u32] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for number in [self.log_start, self.log_end, time_min, time_max, 0] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for table in tables {
            bytes.extend_from_slice(&table.start.to_le_bytes());
            bytes.extend_from_slice(&table.bits.to_le_bytes());
            bytes.extend_from_slice(&[0; 2]);
        }
        bytes.push(code(self.form));
        bytes.resize(FIXED_BYTES, 0);
        for zone in &self.zones {
            bytes.extend_from_slice(&zone.offset.to_le_bytes());
            // Beyond 49 days a zone has no narrower times than its block.
            let from = zone.time_min.saturating_sub(time_min);
            let to = zone.time_max.saturating_sub(time_min);
            let from = u32::try_from(from).unwrap_or(u32::MAX);
            let to = u32::try_from(to).unwrap_or(u32::MAX);
            bytes.extend_from_slice(&from.to_le_bytes());
            bytes.extend_from_slice(&to.to_le_bytes());
            bytes.extend_from_slice(&zone.methods.to_le_bytes());
            bytes.extend_from_slice(&zone.statuses.to_le_bytes());
        }
        for page in body.chunks(PAGE_BYTES) {
            bytes.extend_from_slice(&page_sum(page).to_le_bytes());
        }
        let header_bytes = bytes.len().saturating_add(8);
        let block_bytes = header_bytes.saturating_add(body.len());
        put(&mut bytes, 8, &(header_bytes as u32).to_le_bytes());
        put(&mut bytes, 12, &(block_bytes as u32).to_le_bytes());
        let block = UnsealedBlock {
            header: bytes,
            body,
            log_start: self.log_start,
            log_end: self.log_end,
        };
        self.keys.iter_mut().for_each(Vec::clear);
        self.zones.clear();
        block
    }
}

/// A block without its last two checksums.
#[derive(Debug)]
pub(crate) struct UnsealedBlock {
    header: Vec<u8>,
    body: Vec<u8>,
    pub(crate) log_start: u64,
    pub(crate) log_end: u64,
}

impl UnsealedBlock {
    /// Returns the bytes for the file, once the ends of the block's part of the log are known.
    pub(crate) fn seal(mut self, edges: u64) -> Vec<u8> {
        put(&mut self.header, 56, &edges.to_le_bytes());
        let sum = xxh64(&self.header);
        self.header.extend_from_slice(&sum.to_le_bytes());
        self.header.append(&mut self.body);
        self.header
    }
}

/// Returns the checksum by which a block recognises its part of the log.
pub(crate) fn edge_sum(first: &[u8], last: &[u8]) -> u64 {
    xxh64(first).rotate_left(1) ^ xxh64(last)
}

pub(crate) fn page_sum(page: &[u8]) -> u32 {
    xxh64(page) as u32
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at.saturating_add(value.len())) {
        place.copy_from_slice(value);
    }
}

/// The offset of a key's table in the body, and the number of bits that choose a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyTable {
    pub(crate) start: u32,
    pub(crate) bits: u16,
}

/// Appends a table: the end of each bucket, as a number of entries, then the entries by bucket.
fn push_table(hashes: &[u32], bits_max: u32, body: &mut Vec<u8>) -> KeyTable {
    // A bucket has four or eight entries.
    let bits = hashes
        .len()
        .next_power_of_two()
        .trailing_zeros()
        .saturating_sub(2);
    let bits = bits.min(bits_max);
    let buckets = 1_usize << bits;
    let start = body.len() as u32;
    let bucket_of = |hash: u32| (u64::from(hash) >> (32 - bits)) as usize;
    // This is first the number of entries of each bucket, then its beginning, and at last its end.
    let mut ends = vec![0_u16; buckets];
    for &hash in hashes {
        let end = &mut ends[bucket_of(hash)];
        *end = end.wrapping_add(1);
    }
    let mut sum = 0_u16;
    for end in &mut ends {
        let count = *end;
        *end = sum;
        sum = sum.wrapping_add(count);
    }
    let mut entries = vec![0_u16; hashes.len()];
    for (granule, hashes) in hashes.chunks(GRANULE_RECORDS).enumerate() {
        for &hash in hashes {
            let end = &mut ends[bucket_of(hash)];
            entries[usize::from(*end)] = granule as u16 | rest_of(hash, bits) << GRANULE_BITS;
            *end = end.wrapping_add(1);
        }
    }
    let count = drop_twins(&mut entries, &mut ends);
    let entries = entries.get(..count).unwrap_or_default();
    for numbers in [&ends, entries] {
        let at = body.len();
        body.resize(at.saturating_add(2 * numbers.len()), 0);
        let places = body.get_mut(at..).unwrap_or_default();
        for (place, number) in places.as_chunks_mut::<2>().0.iter_mut().zip(numbers) {
            *place = number.to_le_bytes();
        }
    }
    KeyTable {
        start,
        bits: bits as u16,
    }
}

/// Removes duplicate entries of buckets, closes the gaps, and returns the number of entries left, to which the buckets'
/// ends are adjusted. The entries of a bucket are in the order of granules, so that a duplicate is among the last with
/// its granule.
fn drop_twins(entries: &mut [u16], ends: &mut [u16]) -> usize {
    let (mut at, mut count) = (0_usize, 0_usize);
    for end in ends {
        let begin = count;
        while at < usize::from(*end) {
            let entry = entries[at];
            let granule = entry & GRANULE_MASK;
            let twin = entries[begin..count]
                .iter()
                .rev()
                .take_while(|other| *other & GRANULE_MASK == granule)
                .any(|other| *other == entry);
            entries[count] = entry;
            count = count.wrapping_add(usize::from(!twin));
            at = at.wrapping_add(1);
        }
        *end = count as u16;
    }
    count
}

/// The bits of a hash after those of its bucket.
fn rest_of(hash: u32, bits: u32) -> u16 {
    (hash << bits >> (32 - REST_BITS)) as u16
}

/// The header of a block that was read, without the zones and sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    pub(crate) header_bytes: usize,
    pub(crate) block_bytes: usize,
    pub(crate) granules: usize,
    pub(crate) records: u32,
    pub(crate) log_start: u64,
    pub(crate) log_end: u64,
    pub(crate) time_min: u64,
    pub(crate) time_max: u64,
    pub(crate) edges: u64,
    form: u8,
    tables: [KeyTable; KEYS],
}

impl BlockHeader {
    /// Reads the fixed part; returns `None` when the magic bytes are wrong, bytes are missing, or fields contradict
    /// each other.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.get(..8)? != MAGIC {
            return None;
        }
        let mut tables = [KeyTable::default(); KEYS];
        for (index, table) in tables.iter_mut().enumerate() {
            let at = 64 + 8 * index;
            *table = KeyTable {
                start: u32_le_at(bytes, at)?,
                bits: u16_le_at(bytes, at + 4)?,
            };
        }
        let header = Self {
            header_bytes: u32_le_at(bytes, 8)? as usize,
            block_bytes: u32_le_at(bytes, 12)? as usize,
            records: u32_le_at(bytes, 16)?,
            granules: u32_le_at(bytes, 20)? as usize,
            log_start: u64_le_at(bytes, 24)?,
            log_end: u64_le_at(bytes, 32)?,
            time_min: u64_le_at(bytes, 40)?,
            time_max: u64_le_at(bytes, 48)?,
            edges: u64_le_at(bytes, 56)?,
            form: *bytes.get(FORM)?,
            tables,
        };
        header.is_sound().then_some(header)
    }

    /// Returns whether the log of the block has this form.
    pub(crate) const fn is_of(&self, form: Form) -> bool {
        self.form == code(form)
    }

    fn is_sound(&self) -> bool {
        let body = self.block_bytes.checked_sub(self.header_bytes);
        let Some(body) = body.filter(|body| *body <= BODY_BYTES_MAX) else {
            return false;
        };
        let records = self.records as usize;
        let sums = 4 * body.div_ceil(PAGE_BYTES);
        records > 0
            && records <= BLOCK_RECORDS_MAX
            && self.granules == records.div_ceil(GRANULE_RECORDS)
            && self.header_bytes == FIXED_BYTES + ZONE_BYTES * self.granules + sums + 8
            && self.log_start < self.log_end
            && self.log_end - self.log_start <= LOG_BYTES_MAX
            && self.tables.iter().all(|table| {
                let directory = 2_usize << table.bits.min(16);
                table.bits <= 16 && directory.saturating_add(table.start as usize) <= body
            })
    }

    /// Returns whether the whole header is as it was written.
    pub(crate) fn is_intact(&self, bytes: &[u8]) -> bool {
        let Some(content) = self
            .header_bytes
            .checked_sub(8)
            .and_then(|end| bytes.get(..end))
        else {
            return false;
        };
        u64_le_at(bytes, content.len()) == Some(xxh64(content))
    }

    /// Returns a granule of the block, from the whole header.
    pub(crate) fn zone(&self, header: &[u8], granule: usize) -> Option<Zone> {
        let at = granule.checked_mul(ZONE_BYTES)?.checked_add(FIXED_BYTES)?;
        if granule >= self.granules {
            return None;
        }
        let to = u32_le_at(header, at + 8)?;
        let time_max = if to == u32::MAX {
            self.time_max
        } else {
            self.time_min.saturating_add(u64::from(to))
        };
        Some(Zone {
            offset: u32_le_at(header, at)?,
            time_min: self
                .time_min
                .saturating_add(u64::from(u32_le_at(header, at + 4)?)),
            time_max,
            methods: u16_le_at(header, at + 12)?,
            statuses: u16_le_at(header, at + 14)?,
        })
    }

    /// Returns the checksum of a page of the body, from the whole header.
    pub(crate) fn sum(&self, header: &[u8], page: usize) -> Option<u32> {
        let at = page
            .checked_mul(4)?
            .checked_add(FIXED_BYTES + ZONE_BYTES * self.granules)?;
        if at.checked_add(12)? > self.header_bytes {
            return None;
        }
        u32_le_at(header, at)
    }

    /// The position in the body of the directory's entry of a hash, with the one before it: offset and length. The
    /// first bucket has no entry before it.
    pub(crate) fn directory(&self, key: IndexKey, hash: u32) -> (usize, usize) {
        let table = self.tables[key as usize];
        let bucket = (u64::from(hash) >> 32_u32.saturating_sub(u32::from(table.bits))) as usize;
        let start = table.start as usize;
        match bucket.checked_sub(1) {
            None => (start, 2),
            Some(before) => (start.saturating_add(before.saturating_mul(2)), 4),
        }
    }

    /// The position of the entries of the directory's bytes.
    pub(crate) fn entries(&self, key: IndexKey, directory: &[u8]) -> Option<(usize, usize)> {
        let table = self.tables[key as usize];
        let (begin, end) = match directory.len() {
            2 => (0, u16_le_at(directory, 0)?),
            _ => (u16_le_at(directory, 0)?, u16_le_at(directory, 2)?),
        };
        let first = (table.start as usize).checked_add(2_usize << table.bits.min(16))?;
        let start = first.checked_add(usize::from(begin).checked_mul(2)?)?;
        Some((start, usize::from(end.checked_sub(begin)?).checked_mul(2)?))
    }

    /// Appends the granules among a bucket's entries that have the same bits of the hash.
    pub(crate) fn granules_of(
        &self,
        key: IndexKey,
        hash: u32,
        entries: &[u8],
        out: &mut Vec<usize>,
    ) {
        let rest = rest_of(hash, u32::from(self.tables[key as usize].bits.min(16)));
        let (entries, _) = entries.as_chunks::<2>();
        for entry in entries {
            let entry = u16::from_le_bytes(*entry);
            if entry >> GRANULE_BITS == rest {
                out.push(usize::from(entry & GRANULE_MASK));
            }
        }
    }
}

/// A limit above the size of the three tables of the largest block.
const BODY_BYTES_MAX: usize = 1 << 20;
/// Offsets of granules have 32 bits.
const LOG_BYTES_MAX: u64 = (u32::MAX as u64) + (1 << 24);

#[cfg(test)]
mod tests {
    use super::*;
    use weir_testkit::Rng;

    /// Builds the table as [`push_table`] does, but searches for duplicates before each entry is written.
    fn push_table_by_entries(hashes: &[u32], bits_max: u32, body: &mut Vec<u8>) -> KeyTable {
        // A bucket has four or eight entries.
        let bits = hashes
            .len()
            .next_power_of_two()
            .trailing_zeros()
            .saturating_sub(2);
        let bits = bits.min(bits_max);
        let buckets = 1_usize << bits;
        let start = body.len() as u32;
        let bucket_of = |hash: u32| (u64::from(hash) >> (32 - bits)) as usize;
        let mut ends = vec![0_u16; buckets];
        for &hash in hashes {
            let end = &mut ends[bucket_of(hash)];
            *end = end.wrapping_add(1);
        }
        let mut sum = 0_u16;
        for end in &mut ends {
            let count = *end;
            *end = sum;
            sum = sum.wrapping_add(count);
        }
        let begins = ends.clone();
        let mut entries = vec![0_u16; hashes.len()];
        for (place, &hash) in hashes.iter().enumerate() {
            let bucket = bucket_of(hash);
            let entry = (place / GRANULE_RECORDS) as u16 | rest_of(hash, bits) << GRANULE_BITS;
            // Entries come in the order of granules, so a duplicate is among the last.
            let (begin, end) = (usize::from(begins[bucket]), usize::from(ends[bucket]));
            let granule = entry & GRANULE_MASK;
            let twin = entries[begin..end]
                .iter()
                .rev()
                .take_while(|other| *other & GRANULE_MASK == granule)
                .any(|other| *other == entry);
            if !twin {
                entries[end] = entry;
                ends[bucket] = ends[bucket].wrapping_add(1);
            }
        }
        // Duplicates left gaps between the buckets.
        let mut count = 0_u16;
        let mut packed = Vec::with_capacity(entries.len() * 2);
        for (begin, end) in begins.iter().zip(&ends) {
            count = count.wrapping_add(end.wrapping_sub(*begin));
            body.extend_from_slice(&count.to_le_bytes());
            for entry in &entries[usize::from(*begin)..usize::from(*end)] {
                packed.extend_from_slice(&entry.to_le_bytes());
            }
        }
        body.append(&mut packed);
        KeyTable {
            start,
            bits: bits as u16,
        }
    }

    /// The tables have many sizes, with keys that are all alike, that recur, and that differ.
    #[test]
    fn tables_are_as_those_made_entry_by_entry() {
        let mut rng = Rng::new(4);
        for records in [
            0,
            1,
            2,
            31,
            32,
            33,
            64,
            1000,
            5000,
            40_000,
            BLOCK_RECORDS_MAX,
        ] {
            for keys in [1, 3, 40, 3000, u64::from(u32::MAX)] {
                let spread = u64::from(u32::MAX) / keys;
                let hashes: Vec<u32> = (0..records)
                    .map(|_| (rng.below(keys) * spread) as u32)
                    .collect();
                for bits_max in BUCKET_BITS_MAX {
                    let (mut made, mut expected) = (b"before".to_vec(), b"before".to_vec());
                    let table = push_table(&hashes, bits_max, &mut made);
                    let other = push_table_by_entries(&hashes, bits_max, &mut expected);
                    assert_eq!(table, other, "{records} records of {keys} keys");
                    assert!(made == expected, "{records} records of {keys} keys");
                }
            }
        }
    }
}
