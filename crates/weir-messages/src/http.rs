//! HTTP/0.9, 1.0, 1.1 (RFC 9112) and 2 (RFC 9113): requests with their responses, out of both directions of a connection.
//!
//! [`Connection`] is fed with the octets of either side as they come and gives an [`Exchange`] for each
//! request with its response, however they are pipelined and cut. Of a body only the first
//! [`BODY_OCTETS_MAX`] octets are kept, of a head at most [`HEAD_OCTETS_MAX`].

mod body;
mod connection_state;
mod ends;
mod exchange;
mod head;
mod hpack;
mod limits;
mod pairs;
mod side;
mod stream_event;
mod streams;
mod tunnel;
mod two;

pub use connection_state::ConnectionState;
pub use exchange::{Exchange, HttpFault, HttpMessage, Request, Response};
pub use head::{Head, RequestLine, StatusLine};
pub use limits::{BODY_OCTETS_MAX, HEAD_OCTETS_MAX, PIPELINE_MAX};
pub use stream_event::{StreamEvent, StreamOrigin};
pub use streams::{Streams, StreamsBegin};
pub use tunnel::TUNNEL_OCTETS_MAX;
pub use two::{
    BLOCK_OCTETS_MAX, Dependency, FIELD_OCTETS_MAX, Priority, SETTINGS_MAX, STREAMS_MAX, Settings,
    setting_name,
};

use crate::tls::Stamp;
use body::{Body, BodyStep};
use head::{Parsed, StatusBeginning};
use pairs::{Early, Pairs, Place, behind};
use side::{Side, State};

/// Both directions of a connection.
#[derive(Debug, Default)]
pub struct Connection {
    sides: [Side; 2],
    /// The side that asks.
    client: Option<usize>,
    pairs: Pairs,
    is_over: bool,
    /// Octets of a tunnel among which no HTTP was found.
    tunnel: Option<usize>,
    /// Octets that came with the response which opened the tunnel, and their place.
    behind_opening: Option<(Vec<u8>, Option<Place>)>,
    /// The place of the octets that are being read.
    place: Option<Place>,
    /// Octets of each side that were seen, or are known to be missing.
    sent: [u64; 2],
    /// Octets of the side that is being read before those that came last, where they have offsets.
    offset: Option<u64>,
    /// Octets of each side were lost behind so many, and up to so many, before it was known which one asks.
    lost_before: [Option<(u64, Option<u64>)>; 2],
    /// Octets of the server were passed over that are no message, and none has come since.
    is_unread: bool,
    /// The places of the octets of each side that were passed over last before it was known which one asks.
    passed_before: [Option<Place>; 2],
    /// The client went on in something else behind a request to upgrade: what it sent waits for the response.
    is_ahead: bool,
    /// The connection began before the capture, perhaps within a message.
    is_within: bool,
    /// The side that asks in it, as far as its port tells it.
    expected_client: Option<usize>,
    /// The side whose first message stands behind other octets, which may be the rest of a request, behind which nothing of the other
    /// side came.
    is_behind_rest: Option<usize>,
    /// The state of HTTP/2.
    two: Option<Box<two::Http2Connection>>,
}

/// The current content of a side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// Another protocol, or nothing yet.
    Other,
    /// Octets that may become a head.
    Unsure,
    /// Heads and bodies of HTTP/1.
    Http1,
    /// Frames of HTTP/2.
    Http2,
}

/// Whether these are the first octets of a request or a response.
#[must_use]
pub fn looks_like_http(bytes: &[u8]) -> bool {
    head::looks_like(bytes)
}

/// Passes on the exchanges among the events of a connection of HTTP/2.
fn exchanges(each: &mut dyn FnMut(Exchange)) -> impl FnMut(two::Event<'_>) {
    move |event| {
        if let two::Event::Over(exchange) = event {
            each(exchange);
        }
    }
}

impl Connection {
    /// A connection that may carry something else first, such as a request for a proxy: HTTP begins with a piece of either side
    /// that looks like it.
    #[must_use]
    pub fn searching() -> Self {
        Self {
            sides: [Side::searching(), Side::searching()],
            ..Self::default()
        }
    }

    /// A connection as [`Self::searching`] has it that began before the capture: HTTP may also begin behind the rest of a message, within
    /// a piece of the side that asks. `client` is that side, where its port tells it.
    #[must_use]
    pub fn within(client: Option<usize>) -> Self {
        Self {
            is_within: true,
            expected_client: client,
            ..Self::searching()
        }
    }

    /// Some request or response was found.
    #[must_use]
    pub fn is_found(&self) -> bool {
        self.pairs.depth() > 0 || self.two.as_ref().is_some_and(|two| two.depth() > 0)
    }

    /// The content that the next octets of a side are read as.
    #[must_use]
    pub fn carries(&self, side: usize) -> Carries {
        if self.two.is_some() {
            return Carries::Http2;
        }
        match self.sides.get(side) {
            Some(place) if !matches!(place.state, State::Lost) => Carries::Http1,
            Some(place) if !place.begun.is_empty() => Carries::Unsure,
            _ => Carries::Other,
        }
    }

    /// Octets that are kept.
    #[must_use]
    pub fn held(&self) -> usize {
        let sides: usize = self.sides.iter().map(|side| side.begun.capacity()).sum();
        let two = self.two.as_ref().map_or(0, |two| two.held());
        sides.saturating_add(self.pairs.held()).saturating_add(two)
    }

    /// Requests that were given out without responses because too many waited for theirs.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        let two = self.two.as_ref().map_or(0, |two| two.dropped());
        self.pairs.dropped().saturating_add(two)
    }

    /// Blocks of fields of HTTP/2 that have no exchange: they refer to fields that were not captured, and may be heads.
    #[must_use]
    pub fn unknown(&self) -> u64 {
        self.two.as_ref().map_or(0, |two| two.unknown())
    }

    /// Octets of HTTP/2 that were passed over behind a loss, up to a piece that begins with a frame.
    #[must_use]
    pub fn passed_over(&self) -> u64 {
        self.two.as_ref().map_or(0, |two| two.passed())
    }

    /// The side that asks, 0 or 1, when it is known.
    #[must_use]
    pub fn client_side(&self) -> Option<usize> {
        self.two.as_ref().map(|two| two.client()).or(self.client)
    }

    /// Records that the connection is read from its beginning, so that no request came before those that are captured or known to be
    /// missing: the first response may be captured in front of its request also where places are not known.
    pub const fn from_start(&mut self) {
        self.pairs.read_from_start();
    }

    /// Sets the place of the next octets of a side, or of a gap: the octets of this side before them, and those of the other side
    /// that their sender had received. A response cannot be that of a request which its server had not received yet, by which the
    /// request of each response is found after a loss. Without places, requests and responses are paired by their order.
    pub fn at(&mut self, side: usize, offset: u64, received: Option<u64>) {
        if let Some(place) = self.sides.get_mut(side) {
            place.next = received.map(|received| Place { offset, received });
        }
        if let Some(sent) = self.sent.get_mut(side) {
            *sent = offset;
        }
        self.offset = Some(offset);
    }

    /// Reads octets of a side as far as a tunnel begins within them.
    fn take_piece(
        &mut self,
        side: usize,
        bytes: &[u8],
        stamp: Stamp,
        each: &mut dyn FnMut(Exchange),
    ) -> ConnectionState {
        if let Some(two) = &mut self.two {
            return two.take(side, bytes, stamp, &mut exchanges(each));
        }
        let Some(place) = self.sides.get_mut(side) else {
            return ConnectionState::Over;
        };
        let is_new = self.pairs.depth() == 0;
        // A server may begin before its client.
        if is_new && let Some(all) = place.with_settings(bytes) {
            self.two = Some(Box::new(self.begun_by_settings(side, &all)));
            return self.go_on(side, &all, stamp, each);
        }
        let mut this = std::mem::take(place);
        let mut bytes = bytes;
        if matches!(this.state, State::Lost) {
            if is_new && self.begins_within(side, bytes) {
                self.put(side, this);
                return self.go_on(side, bytes, stamp, each);
            }
            let Some(found) = self.begin(side, &mut this, bytes, is_new) else {
                self.put(side, this);
                return self.passed(side, bytes.len());
            };
            bytes = found;
            self.tunnel = None;
            this.tail = Vec::new();
            this.state = State::Head;
            this.has_begun = true;
        } else if this.is_idle_before(bytes) {
            // The earlier octets are not a head, such as a body that is not permitted there.
            this.begun = Vec::new();
        } else if this.is_over_before(bytes) && self.cut(side, &this, HttpFault::Cut) {
            self.message_over(side, false);
            this.begun = Vec::new();
        }
        if self.leaves_out_body(side, &mut this, bytes) {
            self.put(side, this);
            return ConnectionState::More;
        }
        this.stamp = stamp;
        if this.begun.is_empty() {
            this.first = this.next;
        }
        self.place = this.first;
        self.read_on(side, &mut this, bytes, stamp);
        if self.tunnel == Some(0) {
            let rest = std::mem::take(&mut this.begun);
            self.behind_opening = (!rest.is_empty()).then_some((rest, this.first));
            this = Side::searching();
        }
        if self.two.is_some() {
            let begun = std::mem::take(&mut this.begun);
            self.put(side, this);
            return self.go_on(side, &begun, stamp, each);
        }
        if this.begun.len() > HEAD_OCTETS_MAX {
            self.overflow(side, &mut this);
        }
        self.put(side, this);
        self.pairs.hand_on(each);
        match self.is_over {
            true => ConnectionState::Over,
            false => ConnectionState::More,
        }
    }

    /// Whether these octets in place of a body are the beginning of the next response: the request of the one under way was not captured,
    /// and may have been HEAD.
    fn begins_next(
        &self,
        side: usize,
        body: Body,
        rest: &[u8],
        place: Option<Place>,
    ) -> StatusBeginning {
        let begins = head::begins_status(rest);
        let may_begin = begins != StatusBeginning::Other
            && body.may_be_none()
            && self.client == Some(1 - (side & 1))
            && self.pairs.may_be_bodiless(body, place);
        match may_begin {
            true => begins,
            false => StatusBeginning::Other,
        }
    }

    /// Reads what comes in place of a body.
    fn step(
        &mut self,
        side: usize,
        body: &mut Body,
        rest: &[u8],
        place: Option<Place>,
    ) -> BodyStep {
        match self.begins_next(side, *body, rest, place) {
            StatusBeginning::Is => BodyStep::None,
            StatusBeginning::MayBecome => BodyStep::Used(0),
            StatusBeginning::Other => body.take(rest, &mut |octets| self.body(side, octets)),
        }
    }

    /// No more octets come that would show whether those of a server that wait are the next response: they are of the body.
    fn end_wait(&mut self, side: usize) {
        let is_server = self.client == Some(1 - (side & 1));
        let Some(place) = self.sides.get_mut(side).filter(|_| is_server) else {
            return;
        };
        let mut this = std::mem::take(place);
        if let State::Body(body) = &mut this.state
            && !body.awaits_chunk()
        {
            let waiting = std::mem::take(&mut this.begun);
            body.take(&waiting, &mut |octets| self.body(side, octets));
            if body.is_done() {
                this.state = State::Head;
                self.message_over(side, true);
            }
        }
        self.put(side, this);
    }

    /// Whether these octets of a client, whose request is answered without its body, may be of its next one, of which more has to
    /// come. Where they are, nothing more of that body comes.
    fn leaves_out_body(&mut self, side: usize, this: &mut Side, bytes: &[u8]) -> bool {
        let is_request = || {
            let is_known = head::begins_as_known(bytes) && !bytes.starts_with(b"HTTP/");
            is_known && bytes.contains(&b'\n') && head::looks_like(bytes)
        };
        if self.client == Some(side)
            && this.begun.is_empty()
            && self.pairs.may_be_answered_early(this.next)
            && is_request()
        {
            this.state = State::Head;
            self.pairs.request_over(false);
            return false;
        }
        if self.client != Some(side) || !self.pairs.is_answered_early() {
            return false;
        }
        let waits = !this.begun.is_empty() && head::is_of_method(&this.begun);
        let before = if waits { this.begun.as_slice() } else { &[] };
        let all = [before, bytes].concat();
        if head::looks_like(&all) {
            if !waits {
                this.begun = Vec::new();
            }
            this.state = State::Head;
            self.pairs.request_over(false);
            return false;
        }
        let left = match &this.state {
            State::Body(Body::Length(left)) => *left,
            _ => u64::MAX,
        };
        let is_body = left <= all.len() as u64 || !head::is_of_method(&all);
        if is_body || !waits && !this.begun.is_empty() {
            return false;
        }
        if !waits {
            this.first = this.next;
        }
        this.begun = all;
        true
    }

    /// Discards the beginning of a side that is longer than the maximum of a head.
    fn overflow(&mut self, side: usize, this: &mut Side) {
        let is_message = self.cut(side, this, HttpFault::Cut);
        this.begun = Vec::new();
        this.state = State::Lost;
        let is_ahead = self.is_ahead && self.client == Some(side);
        if !is_ahead {
            self.faulty(side, HttpFault::Head);
        }
        if is_message {
            self.message_over(side, false);
        }
    }

    /// Whether octets of a client that requested an upgrade are not HTTP/1: the response tells their protocol.
    fn is_of_upgrade(&self, side: usize, bytes: &[u8]) -> bool {
        let is_other = || {
            let is_line = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t');
            bytes.starts_with(PREFACE_BEGINS)
                || !bytes.iter().all(is_line) && !head::looks_like(bytes)
        };
        self.client == Some(side) && self.pairs.awaits_upgrade() && is_other()
    }

    /// A response came that does not upgrade the connection, whose client went on as if it did.
    fn refused(&mut self, client: usize) {
        self.is_ahead = false;
        self.pairs.faulty_response(HttpFault::Head);
        let state = State::Lost;
        self.put(
            client,
            Side {
                state,
                ..Side::default()
            },
        );
    }

    /// The connection of HTTP/2 that the settings of a side begin. They are those of a client where its preface in front of them was not
    /// captured.
    fn begun_by_settings(&self, side: usize, bytes: &[u8]) -> two::Http2Connection {
        let sent = self.sent.get(side).copied().unwrap_or_default();
        let before = sent.saturating_sub(bytes.len() as u64);
        let is_of_client =
            before == two::PREFACE.len() as u64 || two::is_of_client(bytes) == Some(true);
        match is_of_client {
            true => two::Http2Connection::partly(side),
            false => two::Http2Connection::new(1 - (side & 1), 0),
        }
    }

    /// Whether a connection in which nothing was found is one of HTTP/2 whose beginning is missing, by a piece of it.
    fn begins_within(&mut self, side: usize, bytes: &[u8]) -> bool {
        let Some(is_of_client) = two::is_of_client(bytes) else {
            return false;
        };
        let client = if is_of_client { side } else { 1 - (side & 1) };
        self.two = Some(Box::new(two::Http2Connection::partly(client)));
        true
    }

    /// Whether a response may begin anywhere in what a server sends after a loss.
    fn may_go_on(&self, side: usize, this: &Side) -> bool {
        self.client == Some(1 - (side & 1)) && this.has_begun && self.tunnel.is_none()
    }

    /// The side that asks, where octets of a side, which begin with no message, may have one within them: after a loss, or within a
    /// connection that began before the capture. A connection that is read from its beginning may begin with something else.
    fn searched_client(&self, this: &Side) -> Option<usize> {
        let client = match this.has_begun {
            true => self.client,
            false if self.is_within => self.client.or(self.expected_client),
            false => None,
        };
        client.filter(|_| self.tunnel.is_none())
    }

    /// The octets of a side, in which no message is under way, from the one on that begins or goes on within them; `None` where none
    /// does so far.
    fn begin<'b>(
        &mut self,
        side: usize,
        this: &mut Side,
        bytes: &'b [u8],
        is_new: bool,
    ) -> Option<&'b [u8]> {
        let behind_word = self.find_behind_word(side, this, bytes);
        let begins = behind_word.is_none()
            && (self.answers_simple(side, bytes)
                || this.begins(bytes, is_new)
                || self.may_go_on(side, this) && this.begins_across(bytes));
        if begins {
            self.note_rest(side, this, 0);
            return Some(bytes);
        }
        let at = behind_word.or_else(|| self.find_beginning(side, this, bytes))?;
        self.note_rest(side, this, at);
        this.begun = Vec::new();
        this.next = behind(this.next, at);
        self.offset = self.offset.map(|offset| offset.saturating_add(at as u64));
        Some(bytes.get(at..).unwrap_or_default())
    }

    /// The offset of a message within octets of a side.
    fn find_beginning(&self, side: usize, this: &Side, bytes: &[u8]) -> Option<usize> {
        let client = self.searched_client(this)?;
        head::find_beginning(bytes, client == side)
    }

    /// The offset of a request behind the rest of a body whose first word looks like a method.
    fn find_behind_word(&self, side: usize, this: &Side, bytes: &[u8]) -> Option<usize> {
        let is_client = self.searched_client(this) == Some(side);
        match is_client && this.begun.is_empty() {
            true => head::find_behind_word(bytes),
            false => None,
        }
    }

    /// Notes the request that was sent before the capture, and whose rest lies in front of the first one of a client: in so many octets
    /// of the same piece, or in pieces behind which nothing of the server came. Where no port tells the client, such pieces may be
    /// of something else.
    fn note_rest(&mut self, side: usize, this: &Side, rest: usize) {
        let is_first = self.is_within && !this.has_begun;
        let server = self.sides.get(1 - (side & 1));
        let is_silent = self.pairs.depth() == 0
            && server.is_some_and(|server| !server.is_behind_other && server.begun.is_empty());
        let is_behind_rest = rest > 0 || this.is_behind_other && is_silent;
        let client = self.client.or(self.expected_client);
        match client.map(|client| client == side) {
            Some(true) if is_first && is_behind_rest => self.pairs.request_sent_before(this.next),
            None if is_first && is_behind_rest => self.is_behind_rest = Some(side),
            _ => {}
        }
    }

    /// Makes the connection HTTP/2: passes on the unread octets of this side, and those that wait of the other.
    fn go_on(
        &mut self,
        side: usize,
        bytes: &[u8],
        stamp: Stamp,
        each: &mut dyn FnMut(Exchange),
    ) -> ConnectionState {
        let other = self.sides.get_mut(1 - (side & 1));
        let waiting = other.map_or_else(Vec::new, |other| std::mem::take(&mut other.begun));
        let Some(two) = &mut self.two else {
            return ConnectionState::More;
        };
        let mut each = exchanges(each);
        two.take(1 - (side & 1), &waiting, stamp, &mut each);
        two.take(side, bytes, stamp, &mut each)
    }

    fn put(&mut self, side: usize, this: Side) {
        if let Some(place) = self.sides.get_mut(side) {
            *place = this;
        }
    }

    /// Advances the place of a side.
    fn sent(&mut self, side: usize, octets: u64) {
        if let Some(sent) = self.sent.get_mut(side) {
            *sent = sent.saturating_add(octets);
        }
    }

    /// Reads what a side has kept, and the octets behind it; keeps of them what is not read yet.
    fn read_on(&mut self, side: usize, this: &mut Side, bytes: &[u8], stamp: Stamp) {
        if this.begun.is_empty() {
            let done = self.read(side, &mut this.state, bytes, stamp);
            this.begun = bytes.get(done..).unwrap_or_default().to_vec();
            this.first = behind(this.first, done);
        } else if matches!(this.state, State::Head) && !bytes.contains(&b'\n') {
            // No head ends here: it is not read again and again.
            this.begun.extend_from_slice(bytes);
        } else {
            let mut begun = std::mem::take(&mut this.begun);
            begun.extend_from_slice(bytes);
            let done = self.read(side, &mut this.state, &begun, stamp);
            begun.drain(..done.min(begun.len()));
            // The rest arrived with the last octets, unless nothing was used.
            this.first = match (done, this.next) {
                (0, _) => this.first,
                (_, Some(next)) => behind(this.first, done).map(|place| Place {
                    received: next.received,
                    ..place
                }),
                (_, None) => None,
            };
            this.begun = begun;
        }
    }

    /// Returns true when octets in place of a head belong to HTTP/2, or may, as far as they have arrived: those that an upgrade
    /// agreed on, or the preface, after which the connection is one of HTTP/2.
    fn goes_over(&mut self, side: usize, rest: &[u8]) -> bool {
        if self.is_of_upgrade(side, rest) {
            self.is_ahead = true;
            return true;
        }
        let preface = rest.get(..two::PREFACE.len()).unwrap_or(rest);
        if !two::PREFACE.starts_with(preface) {
            return false;
        }
        if preface.len() == two::PREFACE.len() {
            let two = two::Http2Connection::new(side, self.pairs.depth());
            self.two = Some(Box::new(two));
        }
        true
    }

    /// Reads what is whole; gives how many octets are done with.
    fn read(&mut self, side: usize, state: &mut State, bytes: &[u8], stamp: Stamp) -> usize {
        let mut at = 0;
        let mut beginnings = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if self.is_over {
                return bytes.len();
            }
            if self.two.is_some() || self.tunnel == Some(0) {
                return at;
            }
            match state {
                State::Lost => return bytes.len(),
                State::Head if self.answers_simple(side, rest) => {
                    let place = behind(self.place, at);
                    let parsed = Parsed::Response(0, head::simple_answer());
                    match self.found(side, parsed, (place, None), stamp) {
                        Some((_, body)) => *state = State::Body(body),
                        None => return at,
                    }
                }
                State::Head => {
                    // Empty lines before a request are passed over (RFC 9112, 2.2).
                    if matches!(rest, [b'\r' | b'\n', ..]) {
                        at += 1;
                        continue;
                    }
                    if self.goes_over(side, rest) {
                        return at;
                    }
                    match self.head(side, rest, behind(self.place, at), stamp) {
                        Ok(Some((length, body))) => {
                            at += length;
                            *state = State::Body(body);
                        }
                        Ok(None) => return at,
                        Err(fault) => {
                            // A body where none is to be has the next message behind it.
                            let client = self.client == Some(side);
                            let next = head::find_beginning(rest, client);
                            if let Some(next) =
                                next.filter(|at| *at > 0 && beginnings < BEGINNINGS_MAX)
                            {
                                beginnings += 1;
                                at += next;
                                continue;
                            }
                            *state = State::Lost;
                            self.faulty(side, fault);
                            self.unread(side, behind(self.place, at));
                            return bytes.len();
                        }
                    }
                }
                State::Body(body) => match self.step(side, body, rest, behind(self.place, at)) {
                    BodyStep::Used(0) if !body.is_done() => return at,
                    BodyStep::Used(used) => at += used,
                    BodyStep::None => {
                        *state = State::Head;
                        self.pairs.has_no_body(behind(self.place, at));
                        continue;
                    }
                    BodyStep::Broken => {
                        *state = State::Lost;
                        self.faulty(side, HttpFault::Chunk);
                        self.message_over(side, false);
                        return bytes.len();
                    }
                },
            }
            if matches!(state, State::Body(body) if body.is_done()) {
                *state = State::Head;
                self.message_over(side, true);
            }
        }
        at
    }

    /// Whether these octets of a server begin a response to a request of HTTP/0.9: a body without a head.
    fn answers_simple(&self, side: usize, bytes: &[u8]) -> bool {
        let is_head = bytes.starts_with(b"HTTP/") || b"HTTP/".starts_with(bytes);
        self.client == Some(1 - (side & 1)) && !is_head && self.pairs.awaits_simple()
    }

    /// Reads a head, and says how its body ends.
    fn head(
        &mut self,
        side: usize,
        bytes: &[u8],
        place: Option<Place>,
        stamp: Stamp,
    ) -> Result<Option<(usize, Body)>, HttpFault> {
        let sent = self.sent.get(side);
        let offset = sent.map(|sent| sent.saturating_sub(bytes.len() as u64));
        match head::parse(bytes) {
            Parsed::More => Ok(None),
            Parsed::Nothing => Err(HttpFault::Head),
            // What begins with a version is, of a client, the rest of a request whose beginning was lost.
            Parsed::Response(..) if self.client == Some(side) => Err(HttpFault::Head),
            parsed => Ok(self.found(side, parsed, (place, offset), stamp)),
        }
    }

    /// Processes a head; returns its octets, and the framing of its body.
    fn found(
        &mut self,
        side: usize,
        parsed: Parsed,
        (place, offset): (Option<Place>, Option<u64>),
        stamp: Stamp,
    ) -> Option<(usize, Body)> {
        match parsed {
            Parsed::More | Parsed::Nothing => None,
            Parsed::Request(length, head) => {
                self.asks(side);
                self.is_unread |= self.is_answered_before(side, place);
                let body = Body::of_request(&head);
                let is_ambiguous = body::is_ambiguous(&head);
                self.pairs.request(head, stamp, (place, offset));
                if is_ambiguous {
                    self.pairs.faulty_request(HttpFault::Length);
                }
                if let Some(answer) = self.pairs.early_answer() {
                    self.answered_early(1 - (side & 1), answer);
                }
                let is_tunnel = self.tunnel == Some(0);
                let body = if is_tunnel { Body::Length(0) } else { body };
                Some((length, body))
            }
            Parsed::Response(length, head) => {
                self.over_by_answer(1 - (side & 1));
                self.is_unread = false;
                let client = self.asks(1 - (side & 1));
                let asked = self.asked(client);
                // A server may send a 408 without having received anything (RFC 9110, 15.5.9).
                let offset = self.offset.filter(|_| head.line.code != 408);
                let exchange = self.pairs.next_response(place, offset, asked)?;
                if head.is_malformed {
                    exchange.fault.get_or_insert(HttpFault::Malformed);
                }
                if body::is_ambiguous(&head) {
                    exchange.fault.get_or_insert(HttpFault::Length);
                }
                let method = exchange
                    .request
                    .as_ref()
                    .map(|request| request.head.line.method.as_str());
                let body = Body::of_response(&head, method);
                let code = head.line.code;
                let is_upgrade = code == 101
                    && head
                        .field("upgrade")
                        .is_some_and(|to| to.eq_ignore_ascii_case("h2c"));
                if is_upgrade {
                    exchange.interim = Some(head.line);
                    exchange.interim_stamp = stamp;
                    let exchange = self.pairs.take_next();
                    let client = 1 - (side & 1);
                    let two = two::Http2Connection::upgraded(client, self.pairs.depth(), exchange);
                    self.two = Some(Box::new(two));
                } else if code / 100 == 1 && code != 101 {
                    exchange.interim = Some(head.line);
                    exchange.interim_stamp = stamp;
                } else {
                    let is_tunnel = method == Some("CONNECT") && code / 100 == 2;
                    // A request that is captured later is read before that.
                    self.is_over = code == 101 && (method.is_some() || place.is_none());
                    self.pairs.response(head, stamp);
                    if self.is_ahead && !self.is_over && !self.pairs.awaits_upgrade() {
                        self.refused(client);
                    }
                    if is_tunnel {
                        self.open_tunnel();
                        return Some((length, Body::Length(0)));
                    }
                }
                Some((length, body))
            }
        }
    }

    /// Octets of the client in front of a request whose head has no end yet, or all: a server may answer such a head.
    fn asked(&self, client: usize) -> u64 {
        let sent = self.sent.get(client).copied().unwrap_or_default();
        let begun = self
            .sides
            .get(client)
            .filter(|side| matches!(side.state, State::Head) && head::looks_like(&side.begun));
        sent.saturating_sub(begun.map_or(0, |side| side.begun.len() as u64))
    }

    /// Determines the client, if it is not known yet; returns its side. Octets that it lost before may be requests.
    fn asks(&mut self, side: usize) -> usize {
        if let Some(client) = self.client {
            return client;
        }
        self.client = Some(side);
        if self.is_behind_rest == Some(side) {
            self.pairs.request_may_follow();
        }
        let lost = |side: usize| self.lost_before.get(side & 1).copied().flatten();
        if let Some((offset, _)) = lost(side) {
            self.pairs.requests_lost(Some(offset));
            if self.is_within {
                // The server had not received them when the capture began: a response to them is to come.
                self.pairs.request_sent_before(None);
            }
        }
        if let Some((offset, end)) = lost(1 - (side & 1)) {
            self.pairs.response_lost(offset, end);
        }
        side
    }

    /// A request was captured behind the head of its response: what follows that head on the side of the server may be
    /// otherwise than the head alone says.
    fn answered_early(&mut self, server: usize, answer: Early) {
        match answer {
            Early::Bodiless => {
                if let Some(place) = self.sides.get_mut(server) {
                    place.state = State::Head;
                }
                self.pairs.response_over(true);
            }
            Early::Tunnel => self.open_tunnel(),
            Early::Switched => self.is_over = true,
        }
    }

    fn body(&mut self, side: usize, octets: &[u8]) {
        if self.client == Some(side) {
            if let Some(request) = self.pairs.request_under_way() {
                request.add(octets);
            }
        } else if let Some(response) = self.pairs.response_under_way() {
            response.add(octets);
        }
    }

    /// Octets of a side from this place on are no head: a response may be among them, or answer them.
    fn unread(&mut self, side: usize, place: Option<Place>) {
        if self.client == Some(side) {
            return self.pairs.request_unread();
        }
        if let Some(place) = place.filter(|_| self.client == Some(1 - (side & 1))) {
            self.pairs.response_unread(place.offset);
        }
    }

    fn missing(&mut self, side: usize, octets: u64) {
        if self.client == Some(side) {
            if let Some(request) = self.pairs.request_under_way() {
                request.missing = request.missing.saturating_add(octets);
            }
        } else if let Some(response) = self.pairs.response_under_way() {
            response.missing = response.missing.saturating_add(octets);
        }
    }

    fn faulty(&mut self, side: usize, fault: HttpFault) {
        match self.client == Some(side) {
            true => self.pairs.faulty_request(fault),
            false => self.pairs.faulty_response(fault),
        }
    }

    /// A message ends.
    fn message_over(&mut self, side: usize, is_whole: bool) {
        match self.client == Some(side) {
            true => self.pairs.request_over(is_whole),
            false => self.pairs.response_over(is_whole),
        }
    }
}

/// The beginning of HTTP/2's preface, which is not that of a method (RFC 9113, 3.4).
const PREFACE_BEGINS: &[u8] = b"PRI ";
/// Beginnings that are tried behind octets that are no head, of those that come at once.
const BEGINNINGS_MAX: u32 = 16;

#[cfg(test)]
mod tests;
