//! The messages of one call as a ladder: a column for each address, an arrow for each message.

mod canvas;
mod svg;
mod text;

use chrono::DateTime;

use crate::digest::Digest;

pub use canvas::{Anchor, Canvas, Ink};

/// One message of a ladder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Time in nanoseconds since 1970; the ladder shows that of the first, and what passed since.
    pub time_ns: Option<i64>,
    /// The sender, as the heading of a column: `10.0.0.1:5060`.
    pub from: String,
    /// The receiver, as the heading of a column.
    pub to: String,
    /// The label: see [`Caption::label`].
    pub label: String,
    /// The message repeats an earlier one.
    pub is_repeat: bool,
    /// The step is a stream of media, drawn as a bar.
    pub is_media: bool,
    /// The message is a response: where its endpoints have no columns yet, that of its receiver, which sent the request, comes
    /// first.
    pub is_response: bool,
    /// The message is a failure response: see [`is_failure`].
    pub is_failure: bool,
    /// Number of its record in the capture.
    pub frame: Option<u64>,
    /// The whole message, which a page shows on request.
    pub text: Option<String>,
}

/// True for a status by which a request failed: 400 and above, but not where a client is only asked for a password
/// (401, 407; RFC 3261 §22), nor where it had asked itself for an end (487, RFC 3261 §15.1.2).
#[must_use]
pub const fn is_failure(status: u16) -> bool {
    status >= 400 && !matches!(status, 401 | 407 | 487)
}

/// The parts of the label of a [`Step`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Caption<'a> {
    /// Method of a request; `None` for responses.
    pub method: Option<&'a [u8]>,
    /// Status code and reason phrase of a response.
    pub status: Option<(u16, &'a [u8])>,
    /// Number and method of CSeq.
    pub cseq: Option<(u32, &'a [u8])>,
    /// The body is a session description.
    pub has_sdp: bool,
}

impl<'a> Caption<'a> {
    /// The caption of a message.
    #[must_use]
    pub fn of(digest: &Digest<'a>) -> Self {
        Self {
            method: digest
                .method
                .filter(|_| digest.is_request())
                .map(|method| method.as_bytes()),
            status: digest.status.map(|status| (status, digest.reason)),
            cseq: digest
                .cseq
                .map(|cseq| (cseq.number, cseq.method.as_bytes())),
            has_sdp: digest.has_sdp(),
        }
    }

    /// Method, or status and reason; `(SDP)`; the number of CSeq, and for responses its method:
    /// `200 OK (SDP) 1 INVITE`.
    #[must_use]
    pub fn label(&self) -> String {
        let mut label = match self.status {
            // A status line without three digits has the code 0.
            Some((0, reason)) => format!("? {}", shown(reason)).trim_end().to_owned(),
            Some((status, reason)) => {
                let label = format!("{status:03} {}", shown(reason));
                label.trim_end().to_owned()
            }
            None => shown(self.method.unwrap_or(b"?")),
        };
        if self.has_sdp {
            label.push_str(" (SDP)");
        }
        if let Some((number, method)) = self.cseq {
            label.push_str(&format!(" {number}"));
            if self.status.is_some() {
                label.push_str(&format!(" {}", shown(method)));
            }
        }
        if label.chars().count() > LABEL_CHARS_MAX {
            label = label.chars().take(LABEL_CHARS_MAX).chain(['…']).collect();
        }
        label
    }
}

/// A call flow. It is drawn as a text for terminals, or as an SVG or HTML page that needs no other file. All names and
/// labels are escaped.
///
/// ```
/// use weir_sip::{Ladder, Step};
///
/// let mut ladder = Ladder::new("Call-ID x");
/// ladder.push(Step {
///     time_ns: Some(0),
///     from: "10.0.0.1:5060".into(),
///     to: "10.0.0.2:5060".into(),
///     label: "INVITE".into(),
///     ..Step::default()
/// });
/// assert!(ladder.text().contains("INVITE"));
/// assert!(ladder.svg().starts_with("<svg"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Ladder {
    title: String,
    columns: Vec<String>,
    rungs: Vec<Rung>,
    dropped: u64,
    pushed: usize,
    texts_bytes: usize,
}

/// A message in its place.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Rung {
    /// Number of its step among those that were pushed, from 0.
    pub step: usize,
    /// Nanoseconds since 1970, as its step has them.
    pub time_ns: Option<i64>,
    /// The sender's column.
    pub from: usize,
    /// The receiver's column.
    pub to: usize,
    /// The label, without control characters.
    pub label: String,
    /// The message repeats an earlier one.
    pub is_repeat: bool,
    /// The step is a stream of media.
    pub is_media: bool,
    /// The message is a failure response.
    pub is_failure: bool,
    /// Number of its record.
    pub frame: Option<u64>,
    /// The whole message.
    text: Option<String>,
}

impl Rung {
    /// Seconds since `first_ns`, or `-`.
    fn since(&self, first_ns: Option<i64>) -> String {
        let since_ns = self.time_ns.zip(first_ns);
        match since_ns.and_then(|(at, first)| at.checked_sub(first)) {
            Some(ns) => {
                let sign = if ns < 0 { "-" } else { "" };
                let ns = ns.unsigned_abs();
                let (seconds, us) = (ns / 1_000_000_000, ns / 1_000 % 1_000_000);
                format!("{sign}{seconds}.{us:06}")
            }
            None => "-".to_owned(),
        }
    }
}

/// An instant as people write it: `2026-11-23 10:27:17.123456 UTC`.
fn instant(time_ns: i64) -> String {
    let instant = DateTime::from_timestamp_nanos(time_ns);
    instant.format("%Y-%m-%d %H:%M:%S.%6f UTC").to_string()
}

/// The approximate number of cells of a character on a terminal: those of East Asia and pictures take two.
const fn cells(character: char) -> usize {
    match character as u32 {
        0x300..=0x36f | 0x200b..=0x200d | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f
        | 0x2e80..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1faff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// Cells of a text.
fn width(text: &str) -> usize {
    text.chars().map(cells).sum()
}

/// The place of the label of an arrow: between its sender's pillar and the next one on its way, so that it crosses none.
const fn gap(rung: &Rung) -> (usize, usize) {
    if rung.from < rung.to {
        (rung.from, rung.from.saturating_add(1))
    } else {
        (rung.from.saturating_sub(1), rung.from)
    }
}

impl Ladder {
    /// Messages of a ladder, at most: those beyond it are counted only.
    pub const STEPS_MAX: usize = 10_000;
    /// Columns of a ladder, at most: messages from and to further addresses are counted only.
    pub const COLUMNS_MAX: usize = 32;

    /// A ladder without messages, under a title.
    #[must_use]
    pub fn new(title: &str) -> Self {
        Self {
            title: shown(title.as_bytes()),
            ..Self::default()
        }
    }

    /// Adds the next message.
    pub fn push(&mut self, step: Step) {
        let number = self.pushed;
        self.pushed = number.saturating_add(1);
        if self.rungs.len() >= Self::STEPS_MAX {
            self.dropped = self.dropped.saturating_add(1);
            return;
        }
        let (from, to) = match step.is_response {
            true => {
                let to = self.column(&step.to);
                (self.column(&step.from), to)
            }
            false => (self.column(&step.from), self.column(&step.to)),
        };
        let (Some(from), Some(to)) = (from, to) else {
            self.dropped = self.dropped.saturating_add(1);
            return;
        };
        let text = self.kept(step.text);
        self.rungs.push(Rung {
            step: number,
            time_ns: step.time_ns,
            from,
            to,
            label: shown(step.label.as_bytes()),
            is_repeat: step.is_repeat,
            is_media: step.is_media,
            is_failure: step.is_failure,
            frame: step.frame,
            text,
        });
    }

    /// A text that there is room for, with what is cut said.
    fn kept(&mut self, text: Option<String>) -> Option<String> {
        let mut text = text?;
        let left = TEXTS_BYTES_MAX.saturating_sub(self.texts_bytes);
        let room = left.min(TEXT_BYTES_MAX);
        if text.len() > room {
            let more = text.len().saturating_sub(room);
            text.truncate(text.floor_char_boundary(room));
            text.push_str(&format!("\n… and {more} more bytes"));
        }
        self.texts_bytes = self.texts_bytes.saturating_add(text.len());
        Some(text)
    }

    /// The time of the first message that has one.
    fn first_ns(&self) -> Option<i64> {
        self.rungs.iter().find_map(|rung| rung.time_ns)
    }

    /// The headings of the columns.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// The messages that have a place in it.
    #[must_use]
    pub fn rungs(&self) -> &[Rung] {
        &self.rungs
    }

    /// Messages that have no place in it.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    fn column(&mut self, name: &str) -> Option<usize> {
        let name = shown(name.as_bytes());
        let found = self.columns.iter().position(|column| *column == name);
        found.or_else(|| {
            if self.columns.len() >= Self::COLUMNS_MAX {
                return None;
            }
            self.columns.push(name);
            self.columns.len().checked_sub(1)
        })
    }
}

/// The text for people: bytes that are not UTF-8 and control characters are escaped.
fn shown(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if weir_page::is_control(character) {
                text.extend(character.escape_default());
            } else {
                text.push(character);
            }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

/// Characters of a label.
const LABEL_CHARS_MAX: usize = 60;
/// Bytes of a message's text, and of all texts together.
const TEXT_BYTES_MAX: usize = 16 << 10;
const TEXTS_BYTES_MAX: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn sample() -> Ladder {
        let mut ladder = Ladder::new("Call-ID <x>");
        for (ns, from, to, label, is_repeat) in [
            (10, "a:1", "proxy:2", "INVITE", false),
            (1_500_000_010, "proxy:2", "b:3", "INVITE <script>", false),
            (2_000_000_010, "b:3", "a:1", "200 OK\r\nX: y", true),
            (2_100_000_010, "a:1", "a:1", "ACK", false),
        ] {
            ladder.push(Step {
                time_ns: Some(ns),
                from: from.into(),
                to: to.into(),
                label: label.into(),
                is_repeat,
                ..Step::default()
            });
        }
        ladder
    }

    #[test]
    fn what_has_no_place_is_counted() {
        let mut ladder = Ladder::default();
        let step = |from: usize| Step {
            time_ns: None,
            from: from.to_string(),
            to: "to".into(),
            ..Step::default()
        };
        for from in 0..Ladder::STEPS_MAX + 40 {
            ladder.push(step(from % 40));
        }
        assert_eq!(ladder.columns.len(), Ladder::COLUMNS_MAX);
        assert!(ladder.dropped() > 40);
        assert!(ladder.rungs.len() <= Ladder::STEPS_MAX);
    }

    /// RFC 3261 §8.2.6: a response goes to the sender of the request, which stood on the right when the request was not captured.
    #[test]
    fn who_asked_stands_on_the_left_though_the_request_is_missing() {
        let mut ladder = Ladder::default();
        for (from, to, label, is_response) in [
            ("proxy", "alice", "180 Ringing", true),
            ("bob", "proxy", "200 OK", true),
            ("alice", "bob", "ACK", false),
        ] {
            ladder.push(Step {
                from: from.into(),
                to: to.into(),
                label: label.into(),
                is_response,
                ..Step::default()
            });
        }
        assert_eq!(ladder.columns(), ["alice", "proxy", "bob"]);
        let ends: Vec<_> = ladder.rungs().iter().map(|it| (it.from, it.to)).collect();
        assert_eq!(ends, [(1, 0), (2, 1), (0, 2)]);
    }

    #[test]
    fn captions_say_what_a_message_is() {
        let mut caption = Caption {
            status: Some((200, b"OK")),
            cseq: Some((1, b"INVITE")),
            has_sdp: true,
            ..Caption::default()
        };
        assert_eq!(caption.label(), "200 OK (SDP) 1 INVITE");
        caption.status = Some((100, b""));
        caption.has_sdp = false;
        assert_eq!(caption.label(), "100 1 INVITE");
        caption.status = Some((0, b"Something"));
        assert_eq!(caption.label(), "? Something 1 INVITE");
        caption.status = Some((99, b""));
        assert_eq!(caption.label(), "099 1 INVITE");
        caption.status = None;
        caption.method = Some(b"BYE");
        assert_eq!(caption.label(), "BYE 1");
        caption.status = Some((486, &[b'x'; 90]));
        assert_eq!(caption.label().chars().count(), 61);
    }

    #[test]
    fn instants_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00:00.000000 UTC"),
            (951_782_400, "2000-02-29 00:00:00.000000 UTC"),
            (1_700_000_000, "2023-11-14 22:13:20.000000 UTC"),
            (4_107_542_399, "2100-02-28 23:59:59.000000 UTC"),
            (-1, "1969-12-31 23:59:59.000000 UTC"),
        ] {
            assert_eq!(instant(seconds * 1_000_000_000), expected);
        }
        assert!(instant(i64::MIN).starts_with("1677-09-21 "));
        assert!(instant(i64::MAX).starts_with("2262-04-11 "));
    }

    #[test]
    fn texts_are_cut_and_the_cut_is_reported() {
        let mut ladder = Ladder::default();
        for _ in 0..2_000 {
            ladder.push(Step {
                text: Some("é".repeat(10_000)),
                ..Step::default()
            });
        }
        let texts = ladder.rungs.iter().filter_map(|rung| rung.text.as_deref());
        let bytes: usize = texts.clone().map(str::len).sum();
        assert!(bytes < TEXTS_BYTES_MAX + 2_000 * 32, "{bytes}");
        assert!(
            texts
                .clone()
                .next()
                .unwrap()
                .ends_with("… and 3616 more bytes")
        );
        assert!(
            texts
                .clone()
                .next_back()
                .unwrap()
                .ends_with("… and 20000 more bytes")
        );
    }

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(
            shown(b"a\x1b[2J\r\n\xff\xe2\x80\xae\xc3\xa9"),
            "a\\u{1b}[2J\\r\\n\\xff\\u{202e}é"
        );
        let hidden = "\u{61c}\u{2028}\u{2029}\u{feff}\u{9b}";
        assert_eq!(
            shown(hidden.as_bytes()),
            "\\u{61c}\\u{2028}\\u{2029}\\u{feff}\\u{9b}"
        );
    }
}
