//! One capture file, read in parts side by side.
//!
//! Only the previous record of a capture shows where a record begins. So the places are guessed: where a chain of
//! plausible records begins and holds for [`WINDOW_BYTES`]. A guess may be wrong (a capture inside a capture is full of
//! plausible records), so a part counts only when the one before it arrives at its very first byte knowing the same of
//! the file: [`Split::follows`]. Otherwise the one before reads on, [`Split::read_on`], and the answer is the same as
//! if there had been no parts.

use std::io::{self, Chain, Cursor, Read, Seek, SeekFrom};
use std::sync::Arc;

use crate::{
    Compression, Error, Format, ReadOptions, Reader, knowledge::Knowledge, plausible::Plausible,
};

/// The division of a capture file into parts.
#[derive(Debug)]
pub struct Split {
    /// The file up to its first record.
    prefix: Arc<[u8]>,
    format: Format,
    knowledge: Knowledge,
    /// Offset of the first record of each part, the first included.
    starts: Vec<u64>,
}

/// The bytes that a part is read from: what the file begins with, then its own.
pub type PartSource<R> = Chain<Cursor<Arc<[u8]>>, R>;

impl Split {
    /// Divides `file` into `parts` parts of about the same size. `None` when it should be read in one: it is compressed, or no such
    /// positions are found.
    ///
    /// Reads the start of the file and at most half a MiB for each part.
    ///
    /// # Errors
    /// As [`Reader::with_options`].
    pub fn new<R: Read + Seek>(
        mut file: R,
        parts: usize,
        options: &ReadOptions,
    ) -> Result<Option<Self>, Error> {
        let len = file.seek(SeekFrom::End(0)).map_err(Error::io)?;
        file.seek(SeekFrom::Start(0)).map_err(Error::io)?;
        let mut reader = Reader::with_options(&mut file, options)?;
        if reader.compression() != Compression::None {
            return Ok(None);
        }
        // The blocks before the first record of pcapng describe the interfaces.
        let Ok(Some(first)) = reader.find() else {
            return Ok(None);
        };
        let mut starts = vec![first.offset];
        let format = reader.format();
        if format == Format::Erf {
            // Ports have no description: they are there from their first record on.
            for _ in 0..RECORDS_OF_PORTS {
                if !matches!(reader.find(), Ok(Some(_))) {
                    break;
                }
            }
        }
        let knowledge = reader.knowledge();
        let mut guess = Guess {
            window: vec![0; WINDOW_BYTES],
            near_ns: first.time_ns,
        };
        let mut places = Vec::new();
        let share = len.saturating_sub(first.offset) / parts.max(1) as u64;
        for part in 1..parts as u64 {
            places.push(first.offset.saturating_add(share.saturating_mul(part)));
        }
        // The parser is used while the file is read elsewhere.
        let parser = reader.into_parser();
        for place in places {
            if let Some(start) = guess.near(&mut file, place, parser.plausible())?
                && starts.last().is_some_and(|last| start > *last)
            {
                starts.push(start);
            }
        }
        if starts.len() < 2 {
            return Ok(None);
        }
        let mut prefix = vec![0; usize::try_from(first.offset).unwrap_or(usize::MAX)];
        file.seek(SeekFrom::Start(0))
            .and_then(|_| file.read_exact(&mut prefix))
            .map_err(Error::io)?;
        Ok(Some(Self {
            prefix: prefix.into(),
            format,
            knowledge,
            starts,
        }))
    }

    /// The number of parts: at least two.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.starts.len()
    }

    /// The range of part number `part`, unless it is read on.
    #[must_use]
    pub fn range(&self, part: usize) -> std::ops::Range<u64> {
        let start = self.starts.get(part).copied().unwrap_or(u64::MAX);
        start..self.stop(part)
    }

    /// The bytes of part number `part`, from 0, for [`Split::reader`].
    ///
    /// # Errors
    /// When `file` cannot be positioned.
    pub fn source<R: Read + Seek>(&self, part: usize, mut file: R) -> io::Result<PartSource<R>> {
        let start = self.starts.get(part).copied().unwrap_or(u64::MAX);
        file.seek(SeekFrom::Start(start))?;
        Ok(Cursor::new(Arc::clone(&self.prefix)).chain(file))
    }

    /// Reads part number `part` from its [`Split::source`]. Its records are numbered from 1, until
    /// [`Split::follows`].
    ///
    /// # Errors
    /// As [`Reader::with_options`].
    pub fn reader<R: Read>(
        &self,
        part: usize,
        source: R,
        options: &ReadOptions,
    ) -> Result<Reader<R>, Error> {
        let mut options = options.clone();
        options.format = Some(self.format);
        let mut reader = Reader::of_plain(source, &options)?;
        // The blocks of the prefix give no record.
        reader.pass_descriptions(self.prefix.len() as u64)?;
        let start = self.starts.get(part).copied().unwrap_or(u64::MAX);
        reader.begin_part(&self.knowledge, start, self.stop(part));
        Ok(reader)
    }

    /// Whether part number `part`, which is read, continues where the one before it has ended, so that its records are those of a
    /// reader of the whole file. Their numbers then continue, too.
    pub fn follows<R: Read>(
        &self,
        before: &Reader<R>,
        part: usize,
        reader: &mut Reader<R>,
    ) -> bool {
        let follows = before.is_whole()
            && reader.is_whole()
            && self.knowledge.agrees(&before.knowledge())
            && self.starts.get(part) == Some(&before.bytes_read());
        if follows {
            reader.count_in_front(before.number());
        }
        follows
    }

    /// The certificate of a process that has read part number `part` to its end, with `reader`: the parts make up the file when
    /// each is [sound](Certificate::is_sound) and begins where the one before it has ended.
    pub fn certificate<R: Read>(&self, part: usize, reader: &Reader<R>) -> Certificate {
        Certificate {
            start: self.starts.get(part).copied().unwrap_or(u64::MAX),
            arrived: reader.bytes_read(),
            is_sound: reader.is_whole() && self.knowledge.agrees(&reader.knowledge()),
        }
    }

    /// Extends a reader that has come to the end of its part to part number `part`.
    pub fn read_on<R: Read>(&self, reader: &mut Reader<R>, part: usize) {
        reader.set_stop(self.stop(part));
    }

    /// The end of a part: the beginning of the next.
    fn stop(&self, part: usize) -> u64 {
        let next = part.saturating_add(1);
        self.starts.get(next).copied().unwrap_or(u64::MAX)
    }
}

/// The certificate of a part that was read by itself: see [`Split::certificate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The byte that it began at.
    pub start: u64,
    /// The byte that it has come to.
    pub arrived: u64,
    /// The part has no errors, and ends with the same facts about the file with which all parts began.
    pub is_sound: bool,
}

/// Searches positions at which records begin.
struct Guess {
    window: Vec<u8>,
    /// A time of the capture.
    near_ns: Option<i64>,
}

impl Guess {
    /// The first place behind `place` where a chain of plausible records begins that holds as far as
    /// the window goes.
    fn near<R: Read + Seek>(
        &mut self,
        file: &mut R,
        place: u64,
        format: &dyn Plausible,
    ) -> Result<Option<u64>, Error> {
        file.seek(SeekFrom::Start(place)).map_err(Error::io)?;
        let mut filled = 0;
        while let Some(free) = self
            .window
            .get_mut(filled..)
            .filter(|free| !free.is_empty())
        {
            match file.read(free) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io(error)),
            }
        }
        let window = self.window.get(..filled).unwrap_or_default();
        let start = (0..window.len()).find(|start| self.holds(format, window, *start));
        Ok(start.map(|start| place.saturating_add(start as u64)))
    }

    /// A chain of plausible records leads from `start` to the end of the window.
    fn holds(&self, format: &dyn Plausible, window: &[u8], start: usize) -> bool {
        let mut rest = window.get(start..).unwrap_or_default();
        let mut before = self.near_ns;
        let mut records = 0;
        while rest.len() >= format.header_len() {
            let Some(candidate) = format.record(rest) else {
                return false;
            };
            if let (Some(before), Some(time)) = (before, candidate.time_ns)
                && before.abs_diff(time) > DISTANCE_NS_MAX
            {
                return false;
            }
            before = candidate.time_ns.or(before);
            records += 1;
            rest = rest.get(candidate.len..).unwrap_or_default();
        }
        records >= RECORDS_MIN
    }
}

/// The number of bytes over which a chain is followed. Captures inside captures fit into one record, which is rarely so large.
const WINDOW_BYTES: usize = 512 << 10;
/// Records at the start of an ERF file in which its ports are expected to show.
const RECORDS_OF_PORTS: usize = 4096;
/// Records that make a chain.
const RECORDS_MIN: usize = 4;
/// Between the times of two records that follow one another: a year.
const DISTANCE_NS_MAX: u64 = 366 * 24 * 3600 * 1_000_000_000;
