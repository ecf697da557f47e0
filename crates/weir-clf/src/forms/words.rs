//! The words of a line of the ASCII draft.

use crate::fault::{Fault, FaultKind};
use crate::record::ABSENT;

/// The numbers of words of a request and of a response.
pub(super) const REQUEST_WORDS: usize = 11;
pub(super) const RESPONSE_WORDS: usize = 7;
/// The index of the server transaction.
pub(super) const REQUEST_TXN: usize = 9;
pub(super) const RESPONSE_TXN: usize = 1;

/// The mark before an extension.
pub(super) const EXTENSION: &[u8] = b"--";

/// The words of a line; a quoted one without its quotes.
pub(super) fn words(line: &[u8]) -> Result<([&[u8]; REQUEST_WORDS], usize), Fault> {
    let mut words: [&[u8]; REQUEST_WORDS] = [b""; REQUEST_WORDS];
    let (mut count, mut at) = (0_usize, 0_usize);
    let line = line.trim_ascii_end();
    while at < line.len() {
        let rest = line.get(at..).unwrap_or_default();
        let (word, used) = if rest.first() == Some(&b'"') {
            let Some(end) = closing_quote(rest) else {
                return Err(Fault::at(at, FaultKind::Separator));
            };
            (rest.get(1..end).unwrap_or_default(), end.saturating_add(1))
        } else {
            let end = memchr::memchr(b' ', rest).unwrap_or(rest.len());
            (rest.get(..end).unwrap_or_default(), end)
        };
        let quoted = rest.first() == Some(&b'"');
        // Two dashes begin an extension; in quotes they are a value.
        if word == EXTENSION && !quoted {
            break;
        }
        let Some(place) = words.get_mut(count) else {
            return Err(Fault::at(at, FaultKind::Field));
        };
        if word.is_empty() && !quoted {
            return Err(Fault::at(at, FaultKind::Separator));
        }
        *place = if word.is_empty() { ABSENT } else { word };
        count = count.saturating_add(1);
        at = at.saturating_add(used).saturating_add(1);
    }
    Ok((words, count))
}

fn closing_quote(quoted: &[u8]) -> Option<usize> {
    let mut at = 1_usize;
    loop {
        let found = memchr::memchr2(b'\\', b'"', quoted.get(at..)?)?;
        at = at.saturating_add(found);
        if quoted.get(at)? == &b'"' {
            return Some(at);
        }
        at = at.saturating_add(2);
    }
}
