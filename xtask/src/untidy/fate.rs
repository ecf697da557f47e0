//! The changes of a connection, and the columns that these changes must not affect.

use std::collections::BTreeSet;
use std::net::IpAddr;

use weir_testkit::untidy::{Account, Capture, Frame, How};

use super::tables::{Dependency, FLOW_PACKETS, FLOWS};

/// The changes of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectionFate {
    pub(super) hows: BTreeSet<How>,
    /// The times between its packets are others.
    pub(super) is_retimed: bool,
    /// Times in the capture are others, or packets of any connection are missing, which show how much time passed.
    pub(super) has_other_times: bool,
    /// True for a TCP connection.
    pub(super) is_tcp: bool,
    /// Whether its packets are one flow or several is not known: see [`super::silence`].
    pub(super) is_undecided: bool,
    /// Segments of it have other octets under the same numbers, of which the first ones count, and these may be others now, or in
    /// other segments.
    pub(super) has_other_octets: bool,
    /// Its numbers leap, so that how many octets are missing is a guess.
    pub(super) has_leaps: bool,
    /// Copies of datagrams that no identification tells from others with the same content, such as answers to a question that was sent
    /// again.
    pub(super) has_unidentified_copies: bool,
    /// The first frame that was touched, from 1.
    pub(super) first: Option<u64>,
}

impl ConnectionFate {
    pub(super) fn lacks(&self) -> bool {
        self.hows
            .iter()
            .any(|how| matches!(how, How::Lost | How::Cut(_)))
    }

    pub(super) fn has(&self, is: fn(&How) -> bool) -> bool {
        self.hows.iter().any(is)
    }

    pub(super) fn is_again(&self) -> bool {
        !self.is_tcp && self.has(|how| matches!(how, How::Doubled))
    }

    /// Whether the rows of a table can be compared. In a tunnel, the flow is that of the tunnel, which does not count what is missing
    /// inside.
    pub(super) fn judges(&self, table: &str) -> bool {
        let is_tunnelled = self.has(|how| matches!(how, How::Tunnelled(_)));
        match [FLOWS, FLOW_PACKETS].contains(&table) {
            true => !(is_tunnelled || table == FLOWS && self.is_undecided),
            false => !(self.has_other_octets || is_tunnelled && self.lacks()),
        }
    }

    /// Returns true when the changes must not affect a column of this kind.
    pub(super) fn keeps(&self, kind: Dependency) -> bool {
        let is_moved = self.has(|how| matches!(how, How::Moved));
        let is_longer = self.has(|how| matches!(how, How::Records(_)));
        let has_other_packets = self.has(|how| {
            matches!(
                how,
                How::Doubled
                    | How::Moved
                    | How::Split(_)
                    | How::Records(_)
                    | How::Added
                    | How::Fragmented(_)
                    | How::Optional
                    | How::Joined(_)
                    | How::Absorbed
                    | How::Unacknowledged
            )
        });
        // Messages came in other frames, or what showed that something is missing is not there.
        let has_fewer_packets = self.has(|how| matches!(how, How::Absorbed | How::Unacknowledged));
        match kind {
            Dependency::None => false,
            Dependency::Content => true,
            Dependency::Frame | Dependency::Time => {
                !is_moved && !self.is_again() && !self.lacks() && !has_fewer_packets
            }
            Dependency::Span => {
                let has_frames = !is_moved && !has_fewer_packets;
                has_frames && !self.is_again() && !self.lacks() && !self.is_retimed
            }
            Dependency::Wire | Dependency::WireFrame | Dependency::LastTime => {
                !has_other_packets && !self.lacks() && !self.is_retimed
            }
            Dependency::Stream => !is_longer && !self.is_again() && !self.lacks(),
            Dependency::Clock => !self.is_again() && !self.lacks() && !self.has_other_times,
            Dependency::Sum => {
                !self.is_again() && !self.lacks() && !self.is_undecided && !self.has_other_octets
            }
            Dependency::Doubt => {
                let is_unacknowledged = self.has(|how| matches!(how, How::Unacknowledged));
                !self.lacks() && !self.has_leaps && !is_unacknowledged
            }
        }
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.hows.extend(&other.hows);
        self.is_retimed |= other.is_retimed;
        self.is_undecided |= other.is_undecided;
        self.has_other_octets |= other.has_other_octets;
        self.has_leaps |= other.has_leaps;
        self.has_unidentified_copies |= other.has_unidentified_copies;
        self.first = match (self.first, other.first) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
    }

    pub(super) fn names(&self) -> BTreeSet<&'static str> {
        let is_shown = |how: &&How| !self.lacks() || matches!(how, How::Lost | How::Cut(_));
        let mut names: BTreeSet<_> = self.hows.iter().filter(is_shown).map(name).collect();
        if self.is_retimed && !self.lacks() {
            names.insert("retimed");
        }
        names
    }
}

/// Whether a frame is no longer in the capture: it shows no more how much time passed.
pub(super) const fn is_absent(how: How) -> bool {
    matches!(how, How::Lost | How::Absorbed | How::Unacknowledged)
}

/// The frames that were divided into fragments, from 1: all but the last of these have no flow yet.
pub(super) fn fragmented(account: &Account) -> BTreeSet<u64> {
    let touches = account.touches.iter();
    let divided = touches.filter(|touch| matches!(touch.how, How::Fragmented(_)));
    divided.map(|touch| touch.origin as u64 + 1).collect()
}

/// The packets without an identification that tells them from others (RFC 6864, 4), by origin.
pub(super) fn unidentified(tidy: &Capture) -> BTreeSet<usize> {
    let is_unidentified = |frame: &&Frame| {
        tidy.header(frame).is_some_and(|header| match header.src.0 {
            IpAddr::V4(_) => frame.bytes.get(header.ip + 4..header.ip + 6) == Some(&[0, 0][..]),
            IpAddr::V6(_) => true,
        })
    };
    let frames = tidy.frames.iter().filter(is_unidentified);
    frames.filter_map(|frame| frame.origin).collect()
}

fn name(how: &How) -> &'static str {
    match how {
        How::Lost => "lost",
        How::Doubled => "doubled",
        How::Moved => "moved",
        How::Cut(_) => "cut",
        How::Split(_) => "split",
        How::Records(_) => "records",
        How::Tagged(_) => "tagged",
        How::Added => "added",
        How::Labelled(_) => "labelled",
        How::Padded(_) => "padded",
        How::Renumbered(_) => "renumbered",
        How::Fragmented(_) => "fragmented",
        How::Tunnelled(_) => "tunnelled",
        How::InSession(_) => "session",
        How::Optional => "option",
        How::Elsewhere(_) => "interface",
        How::Joined(_) => "joined",
        How::Absorbed => "absorbed",
        How::Unacknowledged => "unacknowledged",
        _ => "other",
    }
}
