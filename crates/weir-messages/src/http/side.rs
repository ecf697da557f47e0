//! One direction of a connection, and where a head begins in it.

use std::borrow::Cow;

use super::body::Body;
use super::head;
use super::pairs::{Place, behind};
use super::two::frame::{begins_with_settings, may_begin_with_settings};
use crate::tls::Stamp;

/// The state of one direction.
#[derive(Debug)]
pub(super) enum State {
    Head,
    Body(Body),
    /// The side is after a loss, or before the first head: a head begins a piece, or the pieces that wait.
    Lost,
}

#[derive(Debug)]
pub(super) struct Side {
    pub(super) state: State,
    /// The octets that wait for more: of a head or a body, and of a possible one.
    pub(super) begun: Vec<u8>,
    /// Some head was looked for: what is missing is of a message.
    pub(super) has_begun: bool,
    /// When the last of what is begun came.
    pub(super) stamp: Stamp,
    /// The places of the next octets, and of the waiting ones; `None` where they are unknown.
    pub(super) next: Option<Place>,
    pub(super) first: Option<Place>,
    /// Octets were passed over in front of the waiting ones.
    pub(super) is_behind_other: bool,
    /// The last octets that were passed over after a loss, in which a response may have begun.
    pub(super) tail: Vec<u8>,
}

impl Default for Side {
    fn default() -> Self {
        Self {
            state: State::Head,
            begun: Vec::new(),
            has_begun: true,
            stamp: Stamp::default(),
            next: None,
            first: None,
            is_behind_other: false,
            tail: Vec::new(),
        }
    }
}

impl Side {
    /// The state before HTTP, which begins with a piece that looks like it.
    pub(super) fn searching() -> Self {
        Self {
            state: State::Lost,
            has_begun: false,
            ..Self::default()
        }
    }

    /// Whether the waiting octets are not the beginning of a head, as these octets after them are one: such as a body
    /// that is not permitted there.
    pub(super) fn is_idle_before(&self, bytes: &[u8]) -> bool {
        matches!(self.state, State::Head)
            && !self.begun.is_empty()
            && !self.begun.contains(&b'\n')
            && head::looks_like(bytes)
            && !head::looks_like(&self.begun)
            && (!head::may_become(&self.begun) || head::begins_as_known(bytes))
            && !self.goes_on(bytes)
            && !head::looks_like(&[self.begun.as_slice(), bytes].concat())
    }

    /// Whether the first line of a request may go on with its version, which is no response then.
    fn goes_on(&self, bytes: &[u8]) -> bool {
        let is_behind_target = self.begun.contains(&b' ') && bytes.starts_with(b" ");
        (self.begun.ends_with(b" ") || is_behind_target) && head::may_become(&self.begun)
    }

    /// Returns true when the begun head has lines that end in carriage returns alone, and these octets begin another head.
    pub(super) fn is_over_before(&self, bytes: &[u8]) -> bool {
        let ended = self.begun.split_last().map_or(&[][..], |(_, lines)| lines);
        matches!(self.state, State::Head)
            && ended.contains(&b'\r')
            && !self.begun.contains(&b'\n')
            && bytes.contains(&b'\n')
            && head::looks_like(bytes)
    }

    /// Returns true for a head whose lines end in carriage returns alone, as far as an empty one.
    pub(super) fn ends_in_returns(&self) -> bool {
        matches!(self.state, State::Head)
            && !self.begun.contains(&b'\n')
            && self.begun.windows(2).any(|pair| pair == b"\r\r")
    }

    /// Whether the waiting octets are the first line of the preface of HTTP/2 (RFC 9113, 3.4), and no head.
    pub(super) fn has_preface(&self) -> bool {
        matches!(self.state, State::Head) && self.begun.starts_with(b"PRI * HTTP/2.0\r\n")
    }

    /// The settings that a server of HTTP/2 begins with, and what is behind them.
    pub(super) fn with_settings<'b>(&mut self, bytes: &'b [u8]) -> Option<Cow<'b, [u8]>> {
        if self.begun.is_empty() {
            return begins_with_settings(bytes).then_some(Cow::Borrowed(bytes));
        }
        if !matches!(self.state, State::Lost) || !may_begin_with_settings(&self.begun) {
            return None;
        }
        let all = [self.begun.as_slice(), bytes].concat();
        begins_with_settings(&all).then(|| {
            self.begun = Vec::new();
            Cow::Owned(all)
        })
    }

    /// Searches a head in the waiting octets of a side after a loss, and in these octets after them. True where one begins, with
    /// the waiting octets that are left. A side that `is_new` may begin with settings of HTTP/2, too.
    pub(super) fn begins(&mut self, bytes: &[u8], is_new: bool) -> bool {
        let may_become =
            |all: &[u8]| head::may_become(all) || is_new && may_begin_with_settings(all);
        if !self.begun.is_empty() {
            // A long beginning of a line needs no further check before the line ends.
            if self.begun.len() > head::WORD_OCTETS_MAX && !bytes.contains(&b'\n') {
                return self.wait(bytes);
            }
            let all = [self.begun.as_slice(), bytes].concat();
            if let Some(port) = self.rest_of_port(&all) {
                self.begun.drain(..port);
                self.first = behind(self.first, port);
                return true;
            }
            if head::begins_as_known(&all)
                || head::looks_like(&all) && (self.goes_on(bytes) || !head::begins_as_known(bytes))
            {
                return true;
            }
            if may_become(&all) {
                return self.wait(bytes);
            }
            let passed = std::mem::take(&mut self.begun);
            self.is_behind_other |= is_other(&passed);
        }
        let begins = head::looks_like(bytes) || may_become(bytes) && self.wait(bytes);
        self.is_behind_other |= !begins && self.begun.is_empty() && is_other(bytes);
        begins
    }

    /// Searches a response that began within earlier pieces of a side after a loss, as these octets show; what came of it before
    /// them waits then.
    pub(super) fn begins_across(&mut self, bytes: &[u8]) -> bool {
        let mut all = std::mem::take(&mut self.tail);
        let known = all.len();
        all.extend_from_slice(bytes.get(..head::STATUS_OCTETS).unwrap_or(bytes));
        let begins = head::find_beginning(&all, false).filter(|at| *at < known);
        if let Some(at) = begins {
            self.begun = all.get(at..known).unwrap_or_default().to_vec();
            let before = self.begun.len() as u64;
            self.first = self.next.map(|next| Place {
                offset: next.offset.saturating_sub(before),
                ..next
            });
            return true;
        }
        // A response shows with its last octet.
        let last = match bytes.len() < head::STATUS_OCTETS {
            true => all.as_slice(),
            false => bytes,
        };
        let kept = last.len().min(head::STATUS_OCTETS - 1);
        self.tail = last.get(last.len() - kept..).unwrap_or_default().to_vec();
        false
    }

    /// The number of waiting octets that are not of the method behind them, but the end of the port of a request of SOCKS: 80 ends
    /// with a `P` (RFC 1928, 4).
    fn rest_of_port(&self, all: &[u8]) -> Option<usize> {
        if !self.is_behind_other || head::begins_as_known(all) {
            return None;
        }
        let octets = 1..=self.begun.len().min(2);
        octets.into_iter().find(|at| {
            let known = all
                .get(*at..)
                .filter(|line| line.first().is_some_and(u8::is_ascii_uppercase));
            known.is_some_and(head::begins_as_known)
        })
    }

    /// Keeps what may become a head; false, as more has to come.
    fn wait(&mut self, bytes: &[u8]) -> bool {
        if self.begun.is_empty() {
            self.first = self.next;
        }
        match self.begun.len().saturating_add(bytes.len()) < head::LINE_OCTETS_MAX {
            true => self.begun.extend_from_slice(bytes),
            false => self.begun = Vec::new(),
        }
        false
    }
}

/// Whether octets in front of a message are of something else. Empty lines are not (RFC 9112, 2.2), and neither is the octet of a
/// keep-alive (RFC 9293, 3.8.4), with which a capture may begin.
fn is_other(bytes: &[u8]) -> bool {
    !bytes.trim_ascii().is_empty() && !matches!(bytes, [0])
}
