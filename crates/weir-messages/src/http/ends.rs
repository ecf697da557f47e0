//! Gaps and ends of the directions of a connection: what was begun there is over, or lost.

use super::body::Body;
use super::head::{self, Parsed};
use super::side::{Side, State};
use super::{Connection, Exchange, HttpFault, exchanges, two};

impl Connection {
    /// Octets of a side were not captured.
    pub fn gap(&mut self, side: usize, octets: u64, each: &mut dyn FnMut(Exchange)) {
        if let Some(two) = &mut self.two {
            return two.gap(side, octets, &mut exchanges(each));
        }
        self.sent(side, octets);
        self.end_wait(side);
        let Some(place) = self.sides.get_mut(side) else {
            return;
        };
        if place.has_preface() {
            let stamp = place.stamp;
            place.begun = Vec::new();
            self.two = Some(Box::new(two::Http2Connection::partly(side)));
            self.go_on(side, &[], stamp, each);
            if let Some(two) = &mut self.two {
                two.gap(side, octets, &mut exchanges(each));
            }
            return;
        }
        let mut this = std::mem::take(place);
        if let State::Body(body) = &mut this.state
            && body.pass(octets)
        {
            self.missing(side, octets);
            if body.is_done() {
                this.state = State::Head;
                self.message_over(side, true);
            }
            self.put(side, this);
        } else {
            self.lost(side, &this, octets);
            let state = State::Lost;
            self.put(
                side,
                Side {
                    state,
                    ..Side::default()
                },
            );
        }
        self.pairs.hand_on(each);
    }

    /// Octets of a side were not captured, of which is not known what they were.
    fn lost(&mut self, side: usize, this: &Side, octets: u64) {
        let place = this.next.map(|place| place.offset);
        let mut offset = place.unwrap_or(0);
        let end = this.next.map(|place| place.offset.saturating_add(octets));
        let mut begun = None;
        match this.state {
            State::Lost if this.has_begun => return,
            State::Lost => {}
            State::Head if self.is_of_upgrade(side, &this.begun) => return,
            State::Head => {
                let is_message = self.cut(side, this, HttpFault::Missing);
                // Octets of a head that are no message by themselves are lost with what is behind them.
                begun = this.first.filter(|_| !is_message && !this.begun.is_empty());
            }
            // The gap is longer than the rest of this body, so that a part of the next message is missing, too.
            State::Body(Body::Length(left)) if left < octets => {
                self.missing(side, left);
                self.message_over(side, true);
                offset = offset.saturating_add(left);
            }
            State::Body(_) => {}
        }
        match self.client == Some(side) {
            true => {
                let is_between = this.begun.is_empty() || begun.is_some();
                let offset = begun.map_or(offset, |begun| begun.offset);
                let octets = end
                    .filter(|_| is_between)
                    .map(|end| end.saturating_sub(offset));
                let octets = octets.unwrap_or(u64::MAX);
                self.pairs.request_lost(place.map(|_| offset), octets);
            }
            false if self.client.is_some() => self.pairs.response_lost(offset, end),
            false => {
                if let Some(lost) = self.lost_before.get_mut(side) {
                    lost.get_or_insert((offset, end));
                }
            }
        }
    }

    /// A side has ended by a FIN or a RST: what a body lacks of its length does not come (RFC 9112, 8).
    pub fn close(&mut self, side: usize, each: &mut dyn FnMut(Exchange)) {
        self.end_wait(side);
        let state = self.sides.get(side).map(|this| &this.state);
        let is_short = matches!(state, Some(State::Body(Body::Length(left))) if *left > 0);
        let may_be_empty = match self.client == Some(side) {
            true => self.pairs.is_answered_early(),
            false => self.pairs.may_answer_head(),
        };
        if is_short && !may_be_empty && self.two.is_none() {
            self.faulty(side, HttpFault::Unended);
        }
        if let Some(two) = &mut self.two {
            two.close(side);
        }
        self.end(side, each);
    }

    /// A side has ended: a body that ends with its connection is complete.
    pub fn end(&mut self, side: usize, each: &mut dyn FnMut(Exchange)) {
        self.end_wait(side);
        let Some(place) = self.sides.get_mut(side) else {
            return;
        };
        let this = std::mem::take(place);
        self.cut(side, &this, HttpFault::Cut);
        self.unended(side, &this);
        if matches!(&this.state, State::Body(body) if body.ends_with_connection()) {
            self.message_over(side, true);
        } else if self.client == Some(side) {
            self.pairs.request_over(false);
        }
        self.pairs.hand_on(each);
    }

    /// A head that a side has begun ends here, and is taken as a message with this fault, if it has no other. False when it does not
    /// begin like one.
    pub(super) fn cut(&mut self, side: usize, this: &Side, fault: HttpFault) -> bool {
        let is_head = matches!(this.state, State::Head) && !this.begun.is_empty();
        if !is_head || self.two.is_some() || self.is_over {
            return false;
        }
        if self.is_of_upgrade(side, &this.begun) {
            return false;
        }
        let parsed = head::parse_cut(&this.begun);
        let is_message = matches!(parsed, Parsed::Request(..) | Parsed::Response(..));
        if is_message {
            let offset = this.first.map(|first| first.offset);
            self.found(side, parsed, (this.first, offset), this.stamp);
            self.faulty(side, fault);
        }
        is_message
    }

    /// A body of which the last chunk shows the end has ended without it.
    fn unended(&mut self, side: usize, this: &Side) {
        if self.two.is_none() && matches!(&this.state, State::Body(body) if body.awaits_chunk()) {
            self.faulty(side, HttpFault::Unended);
        }
    }

    /// A response came: a request before it whose lines end in carriage returns alone is over.
    pub(super) fn over_by_answer(&mut self, client: usize) {
        let place = self.sides.get_mut(client);
        let Some(place) = place.filter(|ends| ends.ends_in_returns()) else {
            return;
        };
        let mut this = std::mem::take(place);
        if self.cut(client, &this, HttpFault::Cut) {
            self.message_over(client, false);
            this.begun = Vec::new();
        }
        self.put(client, this);
    }

    /// The connection has ended: the waiting messages are reported.
    pub fn finish(&mut self, each: &mut dyn FnMut(Exchange)) {
        // A request comes before its response.
        let client = self.client.unwrap_or_default() & 1;
        for side in [client, 1 - client] {
            self.end_wait(side);
            let this = self.sides.get_mut(side).map(std::mem::take);
            if let Some(this) = this {
                self.cut(side, &this, HttpFault::Cut);
                self.unended(side, &this);
            }
        }
        if self.is_unread {
            self.pairs.unanswered(HttpFault::Head);
        }
        self.pairs.finish(each);
        if let Some(two) = &mut self.two {
            two.finish(&mut exchanges(each));
        }
    }
}
