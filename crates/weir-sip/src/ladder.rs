//! The messages of one call as a ladder: a column for each address, an arrow for each message.

mod svg;
mod text;

use crate::digest::Digest;
use crate::method::Method;

/// One message of a ladder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Time in nanoseconds from anywhere; the ladder shows what passed since the first.
    pub time_ns: Option<i64>,
    /// Who sent it, as the heading of a column: `10.0.0.1:5060`.
    pub from: String,
    /// Who received it.
    pub to: String,
    /// What it is: method, or status and reason, and what it carries.
    pub label: String,
    /// It repeats an earlier one.
    pub is_repeat: bool,
}

impl Step {
    /// A step with the label that is usual: method or status and reason, `(SDP)` where the body is a
    /// session description, and the CSeq.
    #[must_use]
    pub fn new(
        time_ns: Option<i64>,
        from: String,
        to: String,
        digest: &Digest<'_>,
        is_repeat: bool,
    ) -> Self {
        let mut label = match digest.status {
            Some(status) => format!("{status} {}", shown(digest.reason))
                .trim_end()
                .to_owned(),
            None => shown(digest.method.as_ref().map_or(b"?", Method::as_bytes)),
        };
        if digest.has_sdp() {
            label.push_str(" (SDP)");
        }
        if let Some(cseq) = digest.cseq {
            label.push_str(&format!(" {}", cseq.number));
            if digest.status.is_some() {
                label.push_str(&format!(" {}", shown(cseq.method.as_bytes())));
            }
        }
        if label.chars().count() > LABEL_CHARS_MAX {
            label = label.chars().take(LABEL_CHARS_MAX).chain(['…']).collect();
        }
        Self {
            time_ns,
            from,
            to,
            label,
            is_repeat,
        }
    }
}

/// A call flow. What is drawn is a text for terminals, or an SVG or HTML page that needs no other
/// file. All names and labels are escaped.
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
///     is_repeat: false,
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
}

#[derive(Clone, Debug)]
struct Rung {
    seconds: Option<f64>,
    from: usize,
    to: usize,
    label: String,
    is_repeat: bool,
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
        if self.rungs.len() >= Self::STEPS_MAX {
            self.dropped = self.dropped.saturating_add(1);
            return;
        }
        let (Some(from), Some(to)) = (self.column(&step.from), self.column(&step.to)) else {
            self.dropped = self.dropped.saturating_add(1);
            return;
        };
        self.rungs.push(Rung {
            seconds: step.time_ns.map(|time_ns| time_ns as f64 / 1e9),
            from,
            to,
            label: shown(step.label.as_bytes()),
            is_repeat: step.is_repeat,
        });
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

/// As text for people: what is not UTF-8 and what would move a cursor is written as an escape.
fn shown(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() || is_directing(character) {
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

/// Characters that change the direction of those around them.
const fn is_directing(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Characters of a label.
const LABEL_CHARS_MAX: usize = 60;

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
            label: String::new(),
            is_repeat: false,
        };
        for from in 0..Ladder::STEPS_MAX + 40 {
            ladder.push(step(from % 40));
        }
        assert_eq!(ladder.columns.len(), Ladder::COLUMNS_MAX);
        assert!(ladder.dropped() > 40);
        assert!(ladder.rungs.len() <= Ladder::STEPS_MAX);
    }

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(
            shown(b"a\x1b[2J\r\n\xff\xe2\x80\xae\xc3\xa9"),
            "a\\u{1b}[2J\\r\\n\\xff\\u{202e}é"
        );
    }
}
