//! Tunnels that a request for CONNECT opens (RFC 9110, 9.3.6), in which HTTP may go on.

use super::pairs::Place;
use super::side::Side;
use super::{Connection, ConnectionState, Exchange};
use crate::tls::Stamp;

/// Octets of a tunnel among which HTTP is looked for (RFC 9110, 9.3.6).
pub const TUNNEL_OCTETS_MAX: usize = 1 << 16;

impl Connection {
    /// Adds octets of a side, and reports the exchanges that they complete.
    pub fn take(
        &mut self,
        side: usize,
        bytes: &[u8],
        stamp: Stamp,
        each: &mut dyn FnMut(Exchange),
    ) -> ConnectionState {
        self.sent(side, bytes.len() as u64);
        self.pairs.read_at(stamp);
        let mut state = self.take_piece(side, bytes, stamp, each);
        // What comes with the head that opens a tunnel is of the tunnel.
        while let Some((rest, place)) = self.behind_opening.take() {
            if let Some(this) = self.sides.get_mut(side) {
                this.next = place;
            }
            state = self.take_piece(side, &rest, stamp, each);
        }
        state
    }

    /// Passes over octets of which none is HTTP: many of a tunnel say that it carries something else.
    pub(super) fn passed(&mut self, side: usize, octets: usize) -> ConnectionState {
        self.is_unread |= self.tunnel.is_none() && self.client == Some(1 - (side & 1));
        if self.client.is_none()
            && let Some(last) = self.passed_before.get_mut(side)
        {
            *last = self.sides.get(side).and_then(|this| this.next);
        }
        let Some(passed) = &mut self.tunnel else {
            return ConnectionState::More;
        };
        *passed = passed.saturating_add(octets);
        match *passed > TUNNEL_OCTETS_MAX {
            true => ConnectionState::Over,
            false => ConnectionState::More,
        }
    }

    /// Whether octets of the other side that are no message, and that were captured before this request of a client at this place, may
    /// answer it.
    pub(super) fn is_answered_before(&mut self, client: usize, request: Option<Place>) -> bool {
        let passed = self.passed_before.get_mut(1 - (client & 1));
        let answer = passed.and_then(Option::take);
        let both = request.zip(answer);
        both.is_some_and(|(request, answer)| request.may_have(answer))
    }

    /// Makes the connection a tunnel: HTTP may begin with the next piece of either side.
    pub(super) fn open_tunnel(&mut self) {
        self.pairs.response_over(true);
        self.pairs.request_over(true);
        self.tunnel = Some(0);
        self.sides = [Side::searching(), Side::searching()];
    }
}
