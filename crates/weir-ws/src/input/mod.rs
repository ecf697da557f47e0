//! Messages out of what users have: lines, records, HAR files, mitmproxy flows.
//!
//! Every reader is fed pieces of any size, keeps no more than one message (one flow, for mitmproxy)
//! and hands each message on as soon as it is whole. Captures are weir-capture's and weir-flow's to
//! read; their TCP bytes go into a [`Connection`](crate::Connection).

mod har;
mod json;
mod lines;
mod mitm;
mod prefixed;
mod unescape;

use std::fmt;
use std::io::Read;

use crate::wire::{Direction, Opcode};

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Each line is a message: text, or NDJSON whose values are the messages.
    Lines,
    /// Each line is a JSON object around a message: `data` or `payload` (text), or `base64`;
    /// optionally `direction` (`send`, `client`, `to_server`; `receive`, `server`, `to_client`),
    /// `connection` (a number), `opcode` (1 or 2), `time` (seconds).
    Records,
    /// A length before each message.
    Prefixed(Prefix),
    /// An HTTP archive with `_webSocketMessages`, as browsers and mitmproxy write it.
    Har,
    /// mitmproxy's flow file.
    Mitmproxy,
}

/// The form of a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Prefix {
    /// Two bytes, the highest first.
    U16,
    /// Four bytes, the highest first.
    U32,
    /// Four bytes, the lowest first.
    U32Le,
    /// Seven bits a byte, the lowest first, as in Protocol Buffers.
    Varint,
}

impl Format {
    /// Guesses from the beginning of a file (a few hundred bytes are enough). Length-prefixed files
    /// look like anything, and have to be named.
    #[must_use]
    pub fn sniff(bytes: &[u8]) -> Self {
        let text = bytes.strip_prefix(MARK).unwrap_or(bytes);
        let text = text.trim_ascii_start();
        let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 && digits < 12 && text.get(digits) == Some(&b':') {
            return Self::Mitmproxy;
        }
        let head = text.get(..text.len().min(4096)).unwrap_or_default();
        let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
        let has = |needle: &str| memchr::memmem::find(head, needle.as_bytes()).is_some();
        if text.starts_with(b"{") && has("\"log\"") && (has("\"creator\"") || has("\"entries\"")) {
            return Self::Har;
        }
        let line_has = |needle: &str| memchr::memmem::find(line, needle.as_bytes()).is_some();
        let enveloped = line_has("\"data\"") || line_has("\"payload\"") || line_has("\"base64\"");
        if line.starts_with(b"{") && line_has("\"direction\"") && enveloped {
            return Self::Records;
        }
        Self::Lines
    }
}

/// Limits of reading.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct InputOptions {
    /// Longer messages are counted in [`InputReport::too_long`] and passed over; 64 MiB by default.
    pub message_bytes_max: usize,
    /// A mitmproxy flow beyond this ends the reading; 256 MiB by default.
    pub flow_bytes_max: usize,
}

impl Default for InputOptions {
    fn default() -> Self {
        Self {
            message_bytes_max: 64 << 20,
            flow_bytes_max: 256 << 20,
        }
    }
}

/// A message of an input.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct InputMessage<'a> {
    /// Number of its connection, from 0 on.
    pub connection: u64,
    /// The direction, if the format has it.
    pub direction: Option<Direction>,
    /// Text, binary or a control frame; text where the format does not say.
    pub opcode: Opcode,
    /// The payload, not compressed.
    pub payload: &'a [u8],
    /// The seconds since 1970, if the format has them.
    pub time: Option<f64>,
}

impl<'a> InputMessage<'a> {
    /// A message of a known connection and direction, such as one out of a capture.
    #[must_use]
    pub fn new(
        connection: u64,
        direction: Option<Direction>,
        opcode: Opcode,
        payload: &'a [u8],
    ) -> Self {
        Self {
            connection,
            direction,
            opcode,
            payload,
            time: None,
        }
    }

    fn text(payload: &'a [u8]) -> Self {
        Self {
            connection: 0,
            direction: None,
            opcode: Opcode::Text,
            payload,
            time: None,
        }
    }
}

/// The totals of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InputReport {
    /// Messages that were passed on.
    pub messages: u64,
    /// Connections.
    pub connections: u64,
    /// Messages beyond [`InputOptions::message_bytes_max`].
    pub too_long: u64,
    /// Records that are no message: damaged base64, missing payload, not JSON.
    pub damaged: u64,
    /// The headers `Sec-WebSocket-Extensions` of the responses, where they were there; at most 1,024.
    pub extensions: Vec<String>,
}

/// The reason why reading stopped.
#[derive(Debug)]
pub struct InputError {
    kind: InputErrorKind,
    offset: u64,
    source: Option<std::io::Error>,
}

/// The kinds of [`InputError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InputErrorKind {
    /// The source refused to be read.
    Io,
    /// The content is not of the format.
    Syntax,
    /// The input ends in the middle of something.
    Cut,
    /// A limit of [`InputOptions`], or 128 levels of nesting.
    Limit,
}

impl InputError {
    fn new(kind: InputErrorKind, offset: u64) -> Self {
        Self {
            kind,
            offset,
            source: None,
        }
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> InputErrorKind {
        self.kind
    }

    /// Byte offset in the input, about: where the reader was.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            InputErrorKind::Io => "cannot read the messages",
            InputErrorKind::Syntax => "the input does not have the expected format",
            InputErrorKind::Cut => "input ends in the middle of a message",
            InputErrorKind::Limit => "input exceeds a limit of size or nesting",
        };
        write!(f, "{what}, at byte {}", self.offset)
    }
}

impl std::error::Error for InputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}

/// The callback for messages, one at a time.
pub type Each<'e> = dyn FnMut(&InputMessage<'_>) + 'e;

/// Reads messages out of pieces of an input.
#[derive(Debug)]
pub struct InputReader {
    inner: EachState,
    report: InputReport,
    offset: u64,
    failed: bool,
    /// The number of bytes of a byte order mark at the beginning of a text; `None` after its beginning, and for formats that are
    /// not text.
    marked: Option<usize>,
}

/// The byte order mark of UTF-8, which is no part of the text that it begins (RFC 3629, 6).
const MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug)]
enum EachState {
    Lines(lines::Lines),
    Records(har::Records),
    Prefixed(prefixed::Prefixed),
    Har(har::Har),
    Mitmproxy(mitm::Flows),
}

impl InputReader {
    /// A reader of a format.
    #[must_use]
    pub fn new(format: Format, options: InputOptions) -> Self {
        let inner = match format {
            Format::Lines => EachState::Lines(lines::Lines::new(options)),
            Format::Records => EachState::Records(har::Records::new(options)),
            Format::Prefixed(prefix) => {
                EachState::Prefixed(prefixed::Prefixed::new(prefix, options))
            }
            Format::Har => EachState::Har(har::Har::new(options)),
            Format::Mitmproxy => EachState::Mitmproxy(mitm::Flows::new(options)),
        };
        let is_text = matches!(format, Format::Lines | Format::Records | Format::Har);
        Self {
            inner,
            report: InputReport::default(),
            offset: 0,
            failed: false,
            marked: is_text.then_some(0),
        }
    }

    /// Adds the next piece.
    ///
    /// # Errors
    /// When the input is not of its format. All messages before were passed on; what is fed
    /// afterwards is ignored.
    pub fn feed(&mut self, bytes: &[u8], each: &mut Each<'_>) -> Result<(), InputError> {
        let Some(begun) = self.marked else {
            return self.read(bytes, each);
        };
        let (before, rest) = MARK.split_at(begun);
        let same = rest
            .iter()
            .zip(bytes)
            .take_while(|(one, other)| one == other);
        let same = same.count();
        if same == rest.len() {
            self.marked = None;
            self.offset += MARK.len() as u64;
            return self.read(bytes.get(same..).unwrap_or_default(), each);
        }
        if same == bytes.len() {
            self.marked = Some(begun + same);
            return Ok(());
        }
        self.marked = None;
        self.read(before, each)?;
        self.read(bytes, each)
    }

    fn read(&mut self, bytes: &[u8], each: &mut Each<'_>) -> Result<(), InputError> {
        if self.failed {
            return Ok(());
        }
        let report = &mut self.report;
        let result = match &mut self.inner {
            EachState::Lines(lines) => {
                lines.feed(bytes, report, each);
                Ok(())
            }
            EachState::Records(records) => records.feed(bytes, report, each),
            EachState::Prefixed(prefixed) => prefixed.feed(bytes, report, each),
            EachState::Har(har) => har.feed(bytes, report, each),
            EachState::Mitmproxy(flows) => flows.feed(bytes, report, each),
        };
        let result = result.map_err(|kind| InputError::new(kind, self.offset));
        self.failed = result.is_err();
        self.offset += bytes.len() as u64;
        result
    }

    /// The input is over.
    ///
    /// # Errors
    /// When it ends in the middle of something.
    pub fn finish(mut self, each: &mut Each<'_>) -> Result<InputReport, InputError> {
        if let Some(begun) = self.marked.take() {
            // The input ends within the beginning of a mark, or of something else.
            let (before, _) = MARK.split_at(begun);
            self.read(before, each)?;
        }
        let whole = match &mut self.inner {
            _ if self.failed => true,
            EachState::Lines(lines) => {
                lines.finish(&mut self.report, each);
                true
            }
            EachState::Records(records) => {
                records.finish(&mut self.report, each);
                true
            }
            EachState::Prefixed(prefixed) => prefixed.is_whole(),
            EachState::Har(har) => har.is_whole(),
            EachState::Mitmproxy(flows) => flows.is_whole(),
        };
        if !whole {
            return Err(InputError::new(InputErrorKind::Cut, self.offset));
        }
        let one = matches!(self.inner, EachState::Lines(_) | EachState::Prefixed(_));
        if one && self.report.messages > 0 {
            self.report.connections = 1;
        }
        Ok(self.report)
    }
}

/// Reads all messages of a source, in constant memory.
///
/// ```
/// use weir_ws::{Format, InputOptions, read_messages};
///
/// let mut lengths = Vec::new();
/// let report = read_messages(&b"one\ntwo!\n"[..], Format::Lines, InputOptions::default(), &mut |message| {
///     lengths.push(message.payload.len());
/// })?;
/// assert_eq!((report.messages, lengths), (2, vec![3, 4]));
/// # Ok::<(), weir_ws::InputError>(())
/// ```
///
/// # Errors
/// When the source cannot be read or is not of its format; the messages before were passed on.
pub fn read_messages(
    mut source: impl Read,
    format: Format,
    options: InputOptions,
    each: &mut Each<'_>,
) -> Result<InputReport, InputError> {
    let mut reader = InputReader::new(format, options);
    let mut buffer = vec![0; 256 << 10];
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return reader.finish(each),
            Ok(read) => reader.feed(buffer.get(..read).unwrap_or_default(), each)?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(InputError {
                    kind: InputErrorKind::Io,
                    offset: reader.offset,
                    source: Some(error),
                });
            }
        }
    }
}
