//! Reads a log, in any form, from anything that can be read.

use std::io::{self, Read};

use crate::fault::{Fault, FaultKind};
use crate::forms::form::{BYTE_ORDER_MARK, stray_bytes};
use crate::forms::notation::{Binary, Notation, refuse_utf16};
use crate::forms::{Form, Scratch, binary, json, rfc6873, text};
use crate::losses::Losses;
use crate::record::Record;

/// The options of a [`Reader`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReaderOptions {
    /// The form; with `None` it is recognised by the beginning of the log.
    pub form: Option<Form>,
    /// The number of bytes of the longest record; a longer one is damage. 1 MiB by default.
    pub record_bytes_max: usize,
}

impl Default for ReaderOptions {
    fn default() -> Self {
        Self {
            form: None,
            record_bytes_max: 1 << 20,
        }
    }
}

/// Reads records one after the other, and returns the places of bytes that are no record.
///
/// ```
/// use weir_clf::{Encoder, Field, Form, Item, Reader, Record};
///
/// let mut record = Record::default();
/// record.set(Field::CallId, b"f81-d4@example.com");
/// let mut encoder = Encoder::new(Form::Rfc6873);
/// encoder.push(&record);
/// let log = [encoder.bytes(), b"\n a stray line\n", encoder.bytes()].concat();
/// let mut reader = Reader::new(&log[..]);
/// let mut found = (0, 0);
/// while let Some(item) = reader.next()? {
///     match item {
///         Item::Record { record, .. } => {
///             assert_eq!(record.field(Field::CallId), b"f81-d4@example.com");
///             found.0 += 1;
///         }
///         Item::Damage(_) => found.1 += 1,
///     }
/// }
/// assert_eq!(found, (2, 1));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Reader<R> {
    source: R,
    options: ReaderOptions,
    form: Option<Form>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of `buffer[start]` in the log.
    offset: u64,
    ended: bool,
    scratch: Scratch,
}

/// An item of a [`Reader`].
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "lent one at a time; a box would allocate for each record"
)]
pub enum Item<'a> {
    /// A record.
    Record {
        /// The record.
        record: Record<'a>,
        /// The offset in the log, in bytes.
        offset: u64,
        /// The length in bytes.
        len: usize,
    },
    /// Bytes that are no record.
    Damage(Damage),
}

/// Bytes of a log that are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The offset in the log.
    pub offset: u64,
    /// The number of skipped bytes.
    pub len: u64,
    /// The fault.
    pub fault: Fault,
}

const BUFFER_BYTES: usize = 256 << 10;

impl<R: Read> Reader<R> {
    /// Reads `source`, whose form is recognised by its beginning.
    pub fn new(source: R) -> Self {
        Self::with_options(source, ReaderOptions::default())
    }

    /// Reads `source` with `options`.
    pub fn with_options(source: R, options: ReaderOptions) -> Self {
        Self {
            source,
            form: options.form,
            options,
            buffer: vec![0; BUFFER_BYTES],
            start: 0,
            end: 0,
            offset: 0,
            ended: false,
            scratch: Scratch::in_order(),
        }
    }

    /// The form, once it is known.
    #[must_use]
    pub const fn form(&self) -> Option<Form> {
        self.form
    }

    /// The counts of values that could not be resolved: a `+` of the text draft without its transaction.
    #[must_use]
    pub const fn losses(&self) -> &Losses {
        &self.scratch.losses
    }

    /// Returns the next record or damage; `None` at the end.
    ///
    /// # Errors
    /// When the source cannot be read, begins like no form ([`io::ErrorKind::InvalidData`]), or is text in UTF-16
    /// ([`io::ErrorKind::Unsupported`]).
    #[allow(
        clippy::should_implement_trait,
        reason = "an item borrows the reader, which no iterator's may"
    )]
    pub fn next(&mut self) -> io::Result<Option<Item<'_>>> {
        let form = match self.form {
            Some(form) => form,
            None => match self.find_form()? {
                Some(form) => form,
                None => return Ok(None),
            },
        };
        if form != Form::Binary {
            self.skip_strays()?;
        }
        if self.start == self.end && !self.fill()? {
            return Ok(None);
        }
        match form {
            Form::Rfc6873 | Form::Binary => self.next_counted(form),
            Form::Text | Form::Json => self.next_line(form),
        }
    }

    fn find_form(&mut self) -> io::Result<Option<Form>> {
        while self.end.saturating_sub(self.start) < BUFFER_BYTES / 2 && self.fill()? {}
        let bytes = self.pending();
        refuse_utf16(bytes)?;
        let text = bytes.get(stray_bytes(bytes)..).unwrap_or_default();
        if text.trim_ascii().is_empty() {
            return Ok(None);
        }
        let form = Form::of(bytes);
        self.form = form;
        form.map(Some).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "does not begin like a SIP log")
        })
    }

    fn pending(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    fn skip(&mut self, count: usize) {
        self.start = self.start.saturating_add(count).min(self.end);
        self.offset = self.offset.saturating_add(count as u64);
    }

    /// Stray line feeds stand behind records of some logs, the RFCs' own among them; and a byte order mark in front of some.
    fn skip_strays(&mut self) -> io::Result<()> {
        loop {
            self.skip(stray_bytes(self.pending()));
            let rest = self.pending();
            let may_begin_one =
                rest.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(rest);
            if !may_begin_one || !self.fill()? {
                return Ok(());
            }
        }
    }

    /// Reads more; returns false at the end. Moves pending bytes to the front, and makes room for a record of the
    /// longest length at most.
    fn fill(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end = self.end.saturating_sub(self.start);
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            let len = self.buffer.len().saturating_mul(2);
            self.buffer.resize(len, 0);
        }
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        loop {
            match self.source.read(room) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(false);
                }
                Ok(count) => {
                    self.end = self.end.saturating_add(count).min(self.buffer.len());
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the next record of a form whose records have their length.
    fn next_counted(&mut self, form: Form) -> io::Result<Option<Item<'_>>> {
        let decoded = loop {
            let bytes = self.buffer.get(self.start..self.end).unwrap_or_default();
            let decoded = match form {
                Form::Rfc6873 => rfc6873::decode(bytes).map(|(_, len)| len),
                _ => Binary::check(bytes, self.ended),
            };
            match decoded {
                Err(fault) if fault.kind == FaultKind::Cut => {
                    if bytes.len() > self.options.record_bytes_max {
                        break Err(Fault::at(0, FaultKind::Limit));
                    }
                    if self.ended {
                        break Err(fault);
                    }
                    // The record is tried once more at the end.
                    self.fill()?;
                }
                Ok(len) if len > self.options.record_bytes_max => {
                    break Err(Fault::at(0, FaultKind::Limit));
                }
                decoded => break decoded,
            }
        };
        let offset = self.offset;
        let len = match decoded {
            Ok(len) => len,
            Err(fault) => {
                let len = match form {
                    Form::Rfc6873 => self.skip_text()?,
                    _ => self.skip_binary(fault)?,
                };
                return Ok(Some(Item::Damage(Damage { offset, len, fault })));
            }
        };
        let begin = self.start;
        self.skip(len);
        let bytes = self.buffer.get(begin..self.start).unwrap_or_default();
        let record = match form {
            // The record has been checked already.
            Form::Rfc6873 => match rfc6873::decode(bytes) {
                Ok((record, _)) => record,
                Err(_) => return Ok(None),
            },
            _ => binary::read(bytes, &mut self.scratch.built),
        };
        Ok(Some(Item::Record {
            record,
            offset,
            len,
        }))
    }

    /// Skips bytes until a record may begin.
    fn skip_text(&mut self) -> io::Result<u64> {
        let begin = self.offset;
        loop {
            let bytes = self.pending();
            if let Some(next) = rfc6873::resynchronise(bytes, 0) {
                self.skip(next);
                return Ok(self.offset.saturating_sub(begin));
            }
            // The last line feed may be the one before a record.
            let keep = bytes.len().saturating_sub(1).max(1);
            self.skip(keep);
            if !self.fill()? {
                self.skip(self.pending().len());
                return Ok(self.offset.saturating_sub(begin));
            }
        }
    }

    /// A binary record has no mark by which it is found. Its own length is used when another record begins behind it;
    /// otherwise the next bytes that look like one.
    fn skip_binary(&mut self, fault: Fault) -> io::Result<u64> {
        let begin = self.offset;
        if let (FaultKind::Limit, Ok(len)) = (fault.kind, binary::record_len(self.pending())) {
            let mut left = len;
            loop {
                let now = self.pending().len().min(left);
                self.skip(now);
                left = left.saturating_sub(now);
                if left == 0 || !self.fill()? {
                    return Ok(self.offset.saturating_sub(begin));
                }
            }
        }
        if let Some(next) = Binary::behind(self.pending(), 0) {
            self.skip(next);
            return Ok(self.offset.saturating_sub(begin));
        }
        loop {
            let bytes = self.pending();
            if let Some(next) = Binary::resynchronise(bytes, 0) {
                self.skip(next);
                return Ok(self.offset.saturating_sub(begin));
            }
            // The last bytes may be the beginning of a record.
            let done = bytes.len().saturating_sub(Binary::KEPT_BYTES);
            self.skip(done);
            if !self.fill()? {
                self.skip(self.pending().len());
                return Ok(self.offset.saturating_sub(begin));
            }
        }
    }

    fn next_line(&mut self, form: Form) -> io::Result<Option<Item<'_>>> {
        let offset = self.offset;
        let mut searched = 0_usize;
        let len = loop {
            let bytes = self.pending();
            let rest = bytes.get(searched..).unwrap_or_default();
            if let Some(end) = memchr::memchr(b'\n', rest) {
                break searched.saturating_add(end);
            }
            searched = bytes.len();
            if searched > self.options.record_bytes_max {
                let len = self.skip_line()?;
                let fault = Fault::at(0, FaultKind::Limit);
                return Ok(Some(Item::Damage(Damage { offset, len, fault })));
            }
            if !self.fill()? {
                break searched;
            }
        };
        let begin = self.start;
        // The draft ends every line; a whole last line without its end is read as well.
        self.skip(len.saturating_add(1).min(self.pending().len()));
        let line = self
            .buffer
            .get(begin..begin.saturating_add(len))
            .unwrap_or_default();
        let decoded = match form {
            Form::Text => text::decode(line, &mut self.scratch),
            _ => json::decode(line, &mut self.scratch.built),
        };
        let len = self.start.saturating_sub(begin);
        Ok(Some(match decoded {
            Ok(record) => Item::Record {
                record,
                offset,
                len,
            },
            Err(fault) => Item::Damage(Damage {
                offset,
                len: len as u64,
                fault,
            }),
        }))
    }

    /// Skips the rest of a line.
    fn skip_line(&mut self) -> io::Result<u64> {
        let begin = self.offset;
        loop {
            let bytes = self.pending();
            if let Some(end) = memchr::memchr(b'\n', bytes) {
                self.skip(end.saturating_add(1));
                return Ok(self.offset.saturating_sub(begin));
            }
            self.skip(bytes.len());
            if !self.fill()? {
                return Ok(self.offset.saturating_sub(begin));
            }
        }
    }
}
