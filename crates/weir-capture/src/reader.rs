//! The reader of a capture of any format.

use std::{fmt, io::Read};

use crate::{
    Compression, Error, Format, Interface, ReadOptions, Record, RecordFraming,
    buffer::Buffer,
    detect::detect,
    erf::Erf,
    knowledge::Knowledge,
    netmon::NetMon,
    pcap::Pcap,
    pcapng::Pcapng,
    plausible::Plausible,
    repeated::Repeated,
    snoop::Snoop,
    stream::{FoundRecord, Stream},
};

/// Reads the records of one capture in the order of the file.
///
/// Reading allocates nothing a record: one buffer is reused, and grows only when a record is larger
/// than it. Damage ends the capture: all records before it are given, then the error once, then
/// `None`.
pub struct Reader<R: Read> {
    stream: Stream<R>,
    parser: Parser,
    /// When repetitions are passed over.
    repeated: Option<Box<Repeated>>,
    finished: bool,
    failed: bool,
}

pub(crate) enum Parser {
    Pcap(Pcap),
    Pcapng(Box<Pcapng>),
    Erf(Erf),
    Snoop(Snoop),
    NetMon(Box<NetMon>),
}

impl Parser {
    /// The format, as the search for a place where a record begins needs it.
    pub(crate) fn plausible(&self) -> &dyn Plausible {
        match self {
            Self::Pcap(pcap) => pcap,
            Self::Pcapng(pcapng) => &**pcapng,
            Self::Erf(erf) => erf,
            Self::Snoop(snoop) => snoop,
            Self::NetMon(netmon) => &**netmon,
        }
    }
}

impl<R: Read> Reader<R> {
    /// Starts reading. Compression and format are found by content.
    ///
    /// # Errors
    /// When the source cannot be read, or is not a capture, or its first header is damaged.
    pub fn new(source: R) -> Result<Self, Error> {
        Self::with_options(source, &ReadOptions::default())
    }

    /// Starts reading with other limits than the default ones.
    ///
    /// # Errors
    /// As [`Reader::new`].
    pub fn with_options(source: R, options: &ReadOptions) -> Result<Self, Error> {
        Self::of(Buffer::new(source, options)?, options)
    }

    /// A reader like [`Reader::with_options`] of an uncompressed source, whose first bytes are not checked.
    pub(crate) fn of_plain(source: R, options: &ReadOptions) -> Result<Self, Error> {
        Self::of(Buffer::of_plain(source, options), options)
    }

    fn of(mut buffer: Buffer<R>, options: &ReadOptions) -> Result<Self, Error> {
        let format = match options.format {
            Some(format) => format,
            None => detect(&mut buffer)?,
        };
        let mut stream = Stream {
            buffer,
            interfaces: Vec::new(),
            secrets: Vec::new(),
            number: 0,
            times_beyond: 0,
            format,
            stop: u64::MAX,
        };
        let parser = match format {
            Format::Pcap => Parser::Pcap(Pcap::begin(&mut stream, options)?),
            Format::Pcapng => Parser::Pcapng(Box::new(Pcapng::begin(&mut stream, options)?)),
            Format::Erf => Parser::Erf(Erf::new()),
            Format::Snoop => Parser::Snoop(Snoop::begin(&mut stream, options)?),
            Format::NetMon => Parser::NetMon(Box::new(NetMon::begin(&mut stream, options)?)),
        };
        Ok(Self {
            stream,
            parser,
            repeated: Repeated::of(options).map(Box::new),
            finished: false,
            failed: false,
        })
    }

    /// The same, reading ahead on a thread of its own once the source has turned out to be slow: what has
    /// to be decompressed, and what comes at less than 1.5 GB/s over four megabytes. Costs a copy of each
    /// byte and six megabytes. For files: what comes through a pipe may wait until a megabyte is there, and the
    /// thread lives until its read returns.
    #[must_use]
    pub fn reading_ahead(mut self) -> Self
    where
        R: Send + 'static,
    {
        self.stream.buffer.may_read_ahead();
        self
    }

    /// The format of the capture.
    #[must_use]
    pub fn format(&self) -> Format {
        self.stream.format
    }

    /// The compression of the source.
    #[must_use]
    pub fn compression(&self) -> Compression {
        self.stream.buffer.compression()
    }

    /// The interfaces so far; in pcapng, those of the current section.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        &self.stream.interfaces
    }

    /// The TLS secrets of a pcapng so far, as the lines of a key log (`SSLKEYLOGFILE`). Wireshark and `editcap --inject-secrets`
    /// put them before the packets.
    #[must_use]
    pub fn tls_secrets(&self) -> &[u8] {
        &self.stream.secrets
    }

    /// Uncompressed bytes consumed so far.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.stream.buffer.offset()
    }

    /// Bytes of the source consumed so far: the same as [`Reader::bytes_read`] unless compressed.
    /// Beside the size of the file this shows progress.
    #[must_use]
    pub fn source_bytes(&self) -> u64 {
        self.stream.buffer.source_bytes()
    }

    /// The next record, or `None` at the end.
    ///
    /// # Errors
    /// Once, at the first damage or when the source fails; afterwards the capture is at its end. A
    /// pause of the source ([`Error::is_pause`]) is no end.
    // Always inlined, so that what the caller does not ask of a record is never put together.
    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "a third of the cost of a record that is only counted"
    )]
    #[expect(
        clippy::should_implement_trait,
        reason = "a record borrows from the reader, which Iterator cannot express"
    )]
    pub fn next(&mut self) -> Result<Option<Record<'_>>, Error> {
        Ok(match self.find()? {
            Some(found) => self.stream.record(&found),
            None => None,
        })
    }

    /// The framing of the next records, for a loop that finds them in [`Reader::window`] by itself; `None` where that takes more
    /// than reading their headers.
    #[must_use]
    pub fn framing(&self) -> Option<RecordFraming> {
        match &self.parser {
            _ if self.repeated.is_some() => None,
            Parser::Pcap(pcap) => Some(pcap.framing()),
            Parser::Erf(_) => Some(RecordFraming::Erf),
            Parser::Pcapng(pcapng) => pcapng.framing(),
            Parser::Snoop(_) | Parser::NetMon(_) => None,
        }
    }

    /// The bytes that are here from the next record on, as far as its records are this reader's. It may
    /// end within one.
    #[must_use]
    pub fn window(&self) -> &[u8] {
        match self.finished {
            true => &[],
            false => self.stream.window_to_stop(),
        }
    }

    /// The number of records so far with a time outside of the range of 64 bits of nanoseconds since 1970, 1677-09-21 to
    /// 2262-04-11: they have the nearest time in it. pcapng and NetMon have such times; those of pcap, ERF and snoop end in 2106.
    #[must_use]
    pub const fn times_beyond(&self) -> u64 {
        self.stream.times_beyond
    }

    /// The number of the record that comes next.
    #[must_use]
    pub const fn next_number(&self) -> u64 {
        self.stream.number + 1
    }

    /// The ports or interfaces with records: for ERF, a bit for each port that had a record; for pcapng, a bit for each of the
    /// first eight interfaces whose packets are like those of the first. Records of others are not skipped.
    #[must_use]
    pub fn ports(&self) -> u8 {
        match &self.parser {
            Parser::Erf(erf) => erf.ports(),
            Parser::Pcapng(pcapng) => pcapng.alike(&self.stream.interfaces),
            Parser::Pcap(_) | Parser::Snoop(_) | Parser::NetMon(_) => 0,
        }
    }

    /// Passes over `records` records of the window, which are `bytes` bytes long.
    pub fn pass_records(&mut self, bytes: usize, records: u64) {
        self.stream.buffer.consume(bytes);
        self.stream.number += records;
    }

    /// The parser of the records, without the source.
    pub(crate) fn into_parser(self) -> Parser {
        self.parser
    }

    /// Reads what stands before the first record, `len` bytes, and no more.
    pub(crate) fn pass_descriptions(&mut self, len: u64) -> Result<(), Error> {
        self.stream.stop = len;
        self.find()?;
        self.finished = false;
        Ok(())
    }

    /// The knowledge of the file before its first record.
    pub(crate) fn knowledge(&self) -> Knowledge {
        match &self.parser {
            Parser::Pcap(pcap) => Knowledge::Pcap(pcap.clone()),
            Parser::Pcapng(pcapng) => Knowledge::Pcapng(pcapng.descriptions()),
            Parser::Erf(erf) => Knowledge::Erf(erf.clone(), self.stream.interfaces.clone()),
            Parser::Snoop(_) | Parser::NetMon(_) => Knowledge::Nothing,
        }
    }

    /// Continues as the reader of a part of a file: the stream is at `start` now, and records that begin
    /// at `stop` or behind are left to others.
    pub(crate) fn begin_part(&mut self, knowledge: &Knowledge, start: u64, stop: u64) {
        match (&mut self.parser, knowledge) {
            // The layout of the records was found at the start of the file.
            (Parser::Pcap(pcap), Knowledge::Pcap(known)) => pcap.clone_from(known),
            (Parser::Erf(erf), Knowledge::Erf(known, interfaces)) => {
                erf.clone_from(known);
                self.stream.interfaces.clone_from(interfaces);
            }
            _ => {}
        }
        self.stream.buffer.start_at(start);
        self.stream.stop = stop;
    }

    /// Reads on to another end than it was to have.
    pub(crate) fn set_stop(&mut self, stop: u64) {
        self.stream.stop = stop;
        self.finished = self.failed;
    }

    /// Number of the last record.
    pub(crate) fn number(&self) -> u64 {
        self.stream.number
    }

    /// Counts `records` more in front of those that it has read.
    pub(crate) fn count_in_front(&mut self, records: u64) {
        self.stream.number = self.stream.number.saturating_add(records);
    }

    /// The capture was read to its end without damage.
    pub(crate) fn is_whole(&self) -> bool {
        self.finished && !self.failed
    }

    /// Finds the next record and passes over it.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as next")]
    pub(crate) fn find(&mut self) -> Result<Option<FoundRecord>, Error> {
        loop {
            let found = self.find_any()?;
            match (&mut self.repeated, &found) {
                (Some(repeated), Some(one)) => {
                    let record = self.stream.record(one);
                    if record.is_some_and(|record| repeated.is_one(record.link_type, record.data)) {
                        continue;
                    }
                    return Ok(found);
                }
                _ => return Ok(found),
            }
        }
    }

    /// Finds the next record, whether it is a repetition or not.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as next")]
    fn find_any(&mut self) -> Result<Option<FoundRecord>, Error> {
        if self.finished {
            return Ok(None);
        }
        let found = match &mut self.parser {
            Parser::Pcap(pcap) => pcap.find(&mut self.stream),
            Parser::Pcapng(pcapng) => pcapng.find(&mut self.stream),
            Parser::Erf(erf) => erf.find(&mut self.stream),
            Parser::Snoop(snoop) => snoop.find(&mut self.stream),
            Parser::NetMon(netmon) => netmon.find(&mut self.stream),
        };
        self.finished = match &found {
            Ok(found) => found.is_none(),
            Err(error) => !error.is_pause(),
        };
        self.failed |= self.finished && found.is_err();
        found
    }

    /// The record at a place that `find` gave; valid until the next `find`.
    #[inline]
    pub(crate) fn record(&self, found: &FoundRecord) -> Option<Record<'_>> {
        self.stream.record(found)
    }
}

impl<R: Read> fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("format", &self.stream.format)
            .field("number", &self.stream.number)
            .field("interfaces", &self.stream.interfaces)
            .field("finished", &self.finished)
            .finish_non_exhaustive()
    }
}
