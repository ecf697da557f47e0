//! The reader of one capture, whatever its format.

use std::{fmt, io::Read};

use crate::{
    BufferedRecord, Compression, Error, Format, Interface, Options, Record,
    buffer::Buffer,
    detect::detect,
    erf::Erf,
    pcap::Pcap,
    pcapng::Pcapng,
    stream::{Found, Stream},
};

/// Reads the records of one capture in the order of the file.
///
/// Reading allocates nothing a record: one buffer is reused, and grows only when a record is larger
/// than it. Damage ends the capture: all records before it are given, then the error once, then
/// `None`.
pub struct Reader<R> {
    stream: Stream<R>,
    parser: Parser,
    finished: bool,
}

enum Parser {
    Pcap(Pcap),
    Pcapng(Box<Pcapng>),
    Erf(Erf),
}

impl<R: Read> Reader<R> {
    /// Starts reading. Compression and format are found by content.
    ///
    /// # Errors
    /// When the source cannot be read, or is not a capture, or its first header is damaged.
    pub fn new(source: R) -> Result<Self, Error> {
        Self::with_options(source, &Options::default())
    }

    /// Starts reading with other limits than the default ones.
    ///
    /// # Errors
    /// As [`Reader::new`].
    pub fn with_options(source: R, options: &Options) -> Result<Self, Error> {
        let mut buffer = Buffer::new(source, options)?;
        let format = match options.format {
            Some(format) => format,
            None => detect(&mut buffer)?,
        };
        let mut stream = Stream {
            buffer,
            interfaces: Vec::new(),
            number: 0,
            format,
        };
        let parser = match format {
            Format::Pcap => Parser::Pcap(Pcap::begin(&mut stream, options)?),
            Format::Pcapng => Parser::Pcapng(Box::new(Pcapng::begin(&mut stream, options)?)),
            Format::Erf => Parser::Erf(Erf::new()),
        };
        Ok(Self {
            stream,
            parser,
            finished: false,
        })
    }

    /// The format of the capture.
    #[must_use]
    pub fn format(&self) -> Format {
        self.stream.format
    }

    /// How the source is compressed.
    #[must_use]
    pub fn compression(&self) -> Compression {
        self.stream.buffer.compression()
    }

    /// The interfaces described so far; in pcapng, those of the section that is being read.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        &self.stream.interfaces
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

    /// Calls `take` with the records that lie whole in the buffer, `most` of them at most, until it
    /// gives false: that record is then the next one of [`Reader::next`]. Gives how many it took,
    /// which may be none although there are more: [`Reader::next`] knows why.
    ///
    /// This is for those who look at millions of records and at little of each: what is the same for
    /// all of them is looked up once.
    #[inline]
    pub fn take_buffered(
        &mut self,
        most: usize,
        take: impl FnMut(&BufferedRecord<'_>) -> bool,
    ) -> usize {
        match &mut self.parser {
            _ if self.finished => 0,
            Parser::Pcap(pcap) => pcap.take_buffered(&mut self.stream, most, take),
            Parser::Erf(erf) => erf.take_buffered(&mut self.stream, most, take),
            Parser::Pcapng(_) => 0,
        }
    }

    /// Finds the next record and passes over it.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as next")]
    pub(crate) fn find(&mut self) -> Result<Option<Found>, Error> {
        if self.finished {
            return Ok(None);
        }
        let found = match &mut self.parser {
            Parser::Pcap(pcap) => pcap.find(&mut self.stream),
            Parser::Pcapng(pcapng) => pcapng.find(&mut self.stream),
            Parser::Erf(erf) => erf.find(&mut self.stream),
        };
        self.finished = match &found {
            Ok(found) => found.is_none(),
            Err(error) => !error.is_pause(),
        };
        found
    }

    /// The record at a place that `find` gave; valid until the next `find`.
    #[inline]
    pub(crate) fn record(&self, found: &Found) -> Option<Record<'_>> {
        self.stream.record(found)
    }
}

impl<R> fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("format", &self.stream.format)
            .field("number", &self.stream.number)
            .field("interfaces", &self.stream.interfaces)
            .field("finished", &self.finished)
            .finish_non_exhaustive()
    }
}
