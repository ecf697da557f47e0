//! Pairs responses with requests. Responses come in the order of their requests (RFC 9112, 9.3.2); the captured messages of both
//! directions may be in another order, and some may be missing. The octets that the sender of a message had received of the other
//! side exclude some pairs.

use std::collections::VecDeque;

use super::body::Body;
use super::head::{Head, RequestLine, SIMPLE_VERSION, StatusLine};
use super::{Exchange, HttpFault, PIPELINE_MAX, Request, Response};
use crate::tls::Stamp;

/// The exchanges of a connection that are not handed on yet.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    waiting: VecDeque<PendingExchange>,
    over: VecDeque<Exchange>,
    depth: u64,
    dropped: u64,
    /// A request was captured: one that a response lacks may follow in the capture.
    is_in_step: bool,
    /// No request came before those that are captured, or known to be missing.
    is_from_start: bool,
    /// Responses that wait for their requests.
    early: usize,
    losses: Losses,
    /// Octets of the client that were seen, or known to be missing, when the last response came.
    client_octets: u64,
    /// Octets of the server before that response, where it is not known what the server had received then.
    offset: Option<u64>,
    /// Responses do not wait for requests: many did, and nothing of the client was captured.
    is_one_sided: bool,
    /// When the octets came that are read.
    stamp: Stamp,
    /// The octets before the next request were not captured.
    is_behind_loss: bool,
    /// The first request stands behind octets that may be the rest of another one.
    is_behind_rest: bool,
    /// The place of the last request is not known, as nothing of the server was captured before it.
    is_unplaced: bool,
    /// The response that came last is one that a server may send without a request.
    may_be_unasked: bool,
    /// The octets of the client behind its last request are no request.
    is_unread: bool,
    /// The next request, if the octets that were not captured are its first ones.
    cut: Option<CutRequest>,
}

/// The losses that matter for the pairs.
#[derive(Clone, Copy, Debug, Default)]
struct Losses {
    /// Something of the client.
    of_client: bool,
    /// Something of the server.
    of_server: bool,
    /// Something of the server since its last response, behind so many octets of it.
    since_response: Option<u64>,
    /// Some of that was not captured, up to this number of octets of it; the largest number where that is not known.
    gap_end: Option<u64>,
    /// More responses may be missing than was assumed.
    is_uncertain: bool,
    /// Requests were lost after this number of octets of the client, and the last of them after that number, and their number is
    /// unknown so far.
    requests: Option<(u64, u64)>,
    /// The response of a request behind them may be that of one of them.
    is_shifted: bool,
    /// Octets of the client that the server had when it sent its last response.
    answered: u64,
    /// The client sends requests before it has the responses to those before.
    is_pipelined: bool,
}

impl Losses {
    /// Whether the response of a request that waits for it may have been lost: several may be, and one is assumed.
    fn may_have_response_of(self, waiting: &PendingExchange) -> bool {
        // What the client had when it asked is not the answer.
        let may_be_before = |end| waiting.places[0].is_none_or(|place| place.received < end);
        let is_lost = self.gap_end.is_some_and(may_be_before);
        let awaits = waiting.response == Progress::Awaited && waiting.exchange.request.is_some();
        awaits && (self.is_uncertain || is_lost)
    }
}

/// The place of the beginning of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Octets of its direction before it.
    pub(super) offset: u64,
    /// Octets of the other direction that its sender had acknowledged.
    pub(super) received: u64,
}

impl Place {
    /// Whether a response at the place `response` may be that of a request at this one: its sender had received some of the
    /// request, and the client nothing of the response yet.
    pub(super) const fn may_have(self, response: Self) -> bool {
        self.offset < response.received && self.received <= response.offset
    }
}

/// The place so many octets behind another one.
pub(super) fn behind(place: Option<Place>, octets: usize) -> Option<Place> {
    place.map(|place| Place {
        offset: place.offset.saturating_add(octets as u64),
        ..place
    })
}

/// A request whose first octets were not captured, and whose exchange has begun.
#[derive(Clone, Copy, Debug)]
struct CutRequest {
    /// Octets of the client before those that were captured.
    end: u64,
    /// The requests that were lost before it.
    requests: Option<(u64, u64)>,
}

/// Octets of the shortest request: `GET / HTTP/1.1` and two line ends.
const REQUEST_OCTETS_MIN: u64 = 16;

/// An exchange, and how far its messages are.
#[derive(Debug)]
struct PendingExchange {
    exchange: Exchange,
    request: Progress,
    response: Progress,
    /// The response may have been lost.
    is_doubtful: bool,
    /// The response may be that of another request, whatever else is wrong with the exchange.
    is_uncertain: bool,
    /// The octets before the request were not captured.
    is_behind_loss: bool,
    /// The places of the request and of the response, as far as they are known.
    places: [Option<Place>; 2],
    /// Octets of the client before the request, as far as they are known.
    asked_at: Option<u64>,
    /// Octets of the server before a response whose place is not known.
    offset: Option<u64>,
    /// When its response was complete.
    over: Option<Stamp>,
}

/// The kind of a response, as determined by its request, which was captured after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Early {
    /// The response answers HEAD: nothing follows its head.
    Bodiless,
    /// The response answers CONNECT (RFC 9110, 9.3.6): a tunnel follows.
    Tunnel,
    /// The response is 101: another protocol follows.
    Switched,
}

impl PendingExchange {
    /// Whether nothing came of the body of the current request, which waits for a response.
    fn may_lack_body(&self) -> bool {
        let request = self.exchange.request.as_ref();
        self.request == Progress::UnderWay
            && request.is_some_and(|request| {
                request.body_len == 0 && request.head.field("expect").is_some()
            })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// The head was not received yet.
    Awaited,
    /// The body is incomplete.
    UnderWay,
    /// The message has ended.
    Over,
}

/// Responses that wait for their requests, at most.
const EARLY_MAX: usize = 8;

impl Pairs {
    /// Exchanges that were begun.
    pub(super) const fn depth(&self) -> u64 {
        self.depth
    }

    /// Requests that were handed on because too many waited for their responses.
    pub(super) const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Records that the connection is read from its beginning.
    pub(super) const fn read_from_start(&mut self) {
        self.is_from_start = true;
    }

    /// Sets the time of the next octets.
    pub(super) const fn read_at(&mut self, stamp: Stamp) {
        self.stamp = stamp;
    }

    pub(super) fn held(&self) -> usize {
        let waiting = self.waiting.iter().map(|pending| pending.exchange.held());
        waiting.sum()
    }

    /// Reports the exchanges that are over.
    pub(super) fn hand_on(&mut self, each: &mut dyn FnMut(Exchange)) {
        while let Some(exchange) = self.over.pop_front() {
            each(exchange);
        }
    }

    /// The connection has ended.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(Exchange)) {
        let losses = self.losses;
        for waiting in &mut self.waiting {
            let lacks_request = losses.of_client && waiting.request == Progress::Awaited;
            if lacks_request || losses.may_have_response_of(waiting) {
                waiting.exchange.fault.get_or_insert(HttpFault::Missing);
            }
            waiting.request = Progress::Over;
            waiting.response = Progress::Over;
        }
        self.early = 0;
        self.settle();
        self.hand_on(each);
    }

    /// Adds a request, with the octets of the client before it, which may be known without its place.
    pub(super) fn request(
        &mut self,
        head: Head<RequestLine>,
        stamp: Stamp,
        (place, offset): (Option<Place>, Option<u64>),
    ) {
        self.is_in_step = true;
        self.is_unplaced = place.is_none();
        self.is_unread = false;
        self.request_over(false);
        self.pass_early(place);
        let is_behind_loss = std::mem::take(&mut self.is_behind_loss);
        let fault = head.is_malformed.then_some(HttpFault::Malformed);
        let request = Some(Request {
            head,
            stamp,
            ..Request::default()
        });
        if let Some(cut) = self.cut.take()
            && let Some(last) = self.waiting.back_mut()
            && last.exchange.request.is_none()
            && last.response == Progress::Awaited
            && place.is_some_and(|place| place.offset == cut.end)
        {
            last.exchange.request = request;
            last.request = Progress::UnderWay;
            last.places[0] = place;
            last.asked_at = offset;
            self.losses.requests = cut.requests;
            return;
        }
        if let Some(early) = self.next_early() {
            early.exchange.request = request;
            early.exchange.fault = early.exchange.fault.or(fault);
            early.request = Progress::UnderWay;
            early.places[0] = place;
            early.asked_at = offset;
            early.is_behind_loss = is_behind_loss;
            return self.prove_early();
        }
        let exchange = Exchange {
            request,
            fault,
            ..Exchange::default()
        };
        self.begin(exchange, Progress::UnderWay);
        if let Some(last) = self.waiting.back_mut() {
            last.places[0] = place;
            last.asked_at = offset;
            last.is_behind_loss = is_behind_loss;
        }
    }

    /// Marks the response whose request has just come behind it, when it may answer another request.
    fn prove_early(&mut self) {
        let all = self.waiting.iter();
        let at = all
            .rev()
            .position(|pending| pending.request == Progress::UnderWay);
        let Some(at) = at.map(|back| self.waiting.len().saturating_sub(back + 1)) else {
            return;
        };
        let response = self.waiting.get(at).and_then(|pending| pending.places[1]);
        let is_proven = response.is_none_or(|response| self.is_proven(at, response));
        if let Some(early) = self.waiting.get_mut(at).filter(|_| !is_proven) {
            early.exchange.fault.get_or_insert(HttpFault::Uncertain);
        }
    }

    /// Finds the exchange that the next response belongs to, or begins one. Of the client so many octets were seen. A response
    /// without a place has an `offset` where its request may follow.
    pub(super) fn next_response(
        &mut self,
        place: Option<Place>,
        offset: Option<u64>,
        client_octets: u64,
    ) -> Option<&mut Exchange> {
        self.client_octets = client_octets;
        self.may_be_unasked = offset.is_none();
        self.offset = offset.filter(|_| place.is_none() && !self.is_in_step);
        if let Some(cut) = self.answer() {
            cut.exchange.fault.get_or_insert(HttpFault::Missing);
            self.response_over(false);
        }
        let is_behind_rest = std::mem::take(&mut self.is_behind_rest);
        if place.is_some() && (is_behind_rest || self.awaits_unplaced()) {
            self.losses.of_server = true;
            self.losses.is_uncertain = true;
        }
        let at = match place {
            Some(place) if self.losses.of_client || self.losses.of_server => self.by_place(place),
            _ => self.by_order(place),
        };
        for passed in self.waiting.iter_mut().take(at) {
            if passed.response == Progress::Awaited {
                passed.exchange.fault.get_or_insert(HttpFault::Missing);
            }
            passed.response = Progress::Over;
        }
        self.losses.since_response = None;
        self.losses.gap_end = None;
        let is_proven = place.is_none_or(|place| self.is_proven(at, place));
        let is_uncertain = self.losses.is_uncertain || !is_proven;
        self.losses.answered = place.map_or(self.losses.answered, |place| place.received);
        let next = self.waiting.get_mut(at)?;
        next.is_doubtful = false;
        next.is_uncertain = is_uncertain;
        next.places[1] = place;
        if is_uncertain {
            next.exchange.fault.get_or_insert(HttpFault::Uncertain);
        }
        Some(&mut next.exchange)
    }

    /// Whether several requests came before anything of the server, within a connection: a response to the first may have come before
    /// the second, and was not captured.
    fn awaits_unplaced(&self) -> bool {
        let unplaced = self.waiting.iter().filter(|pending| {
            let is_open =
                pending.response == Progress::Awaited && pending.exchange.request.is_some();
            is_open && pending.places[0].is_none()
        });
        unplaced.count() > 1
    }

    /// The exchange of the next response by its order: the first one without a response, together with a lost one if there was any.
    /// A server that had received nothing of its request did not answer it: the response is unsolicited.
    fn by_order(&mut self, place: Option<Place>) -> usize {
        let all = self.waiting.iter().enumerate();
        let mut open = all.filter(|(_, pending)| pending.response == Progress::Awaited);
        let is_behind = |pending: &PendingExchange| {
            let both = pending.asked_at.zip(place);
            both.is_some_and(|(request, response)| request >= response.received)
        };
        match (open.next(), open.next()) {
            (Some((first, pending)), _) if is_behind(pending) => self.insert(first, None),
            // One response was not captured, and is taken for that of the first.
            (Some((_, first)), Some((second, _))) if first.is_doubtful => second,
            (Some((first, _)), _) => first,
            (None, _) => self.begin_next(place),
        }
    }

    /// Begins an exchange with its response; gives its place. Its request is to come where the server had octets of the client
    /// that were not seen yet. Where it is not known what the server had, the first request of all says that others come, and what
    /// its client had received says which responses before it are older.
    fn begin_next(&mut self, place: Option<Place>) -> usize {
        let may_follow = self.is_in_step || self.offset.is_some();
        let is_unread = std::mem::take(&mut self.is_unread);
        let is_early = place.map_or(may_follow && !is_unread, |place| {
            place.received > self.client_octets
        });
        if !self.is_in_step && self.early >= EARLY_MAX {
            self.is_one_sided = true;
            for early in &mut self.waiting {
                early.request = Progress::Over;
            }
            self.early = 0;
            self.settle();
        }
        let request = match is_early && (self.is_in_step || !self.is_one_sided) {
            true => Progress::Awaited,
            false => Progress::Over,
        };
        // What its server had received since the response before it was lost.
        let is_lost = request == Progress::Over
            && place
                .zip(self.losses.requests)
                .is_some_and(|(place, lost)| {
                    lost.1 >= self.losses.answered && place.received > lost.1
                });
        // The request of one of the responses so far was sent before the capture, and nothing says of which.
        let is_mixed_up = request == Progress::Over
            && place.is_some()
            && self.is_in_step
            && self.is_unplaced
            && !self.may_be_unasked;
        if let Some(before) = self.over.back_mut().filter(|_| is_mixed_up)
            && before.request.is_some()
        {
            before.fault.get_or_insert(HttpFault::Uncertain);
        }
        self.begin(Exchange::default(), request);
        if let Some(last) = self.waiting.back_mut() {
            last.offset = self.offset;
            last.exchange.fault = match request {
                Progress::Over if is_lost => Some(HttpFault::Missing),
                Progress::Over if is_unread => Some(HttpFault::Head),
                Progress::Over if is_mixed_up => Some(HttpFault::Uncertain),
                _ => None,
            };
        }
        self.waiting.len().saturating_sub(1)
    }

    /// Whether a server that sent a response at this place had received a request that was not captured yet, or is lost, after
    /// those that wait.
    fn is_of_unseen(&self, place: Place, last: Option<&[(usize, &PendingExchange)]>) -> bool {
        let is_last = matches!(last, Some([(_, last)]) if last.request == Progress::Over);
        is_last && place.received > self.client_octets
    }

    /// The exchange of a response at this place, after a loss. A client that had received more when it sent the next
    /// request had the response to the one before: so many are lost at least where something of the server is missing.
    fn by_place(&mut self, place: Place) -> usize {
        let all = self.waiting.iter().enumerate();
        let open = all.filter(|(_, pending)| pending.response == Progress::Awaited);
        let open: Vec<(usize, &PendingExchange)> = open.collect();
        let Some((first, next)) = open.first() else {
            return self.by_order(Some(place));
        };
        let may_have = |pending: &PendingExchange| match pending.places[0] {
            Some(request) => request.may_have(place),
            None => pending.asked_at.is_none_or(|asked| asked < place.received),
        };
        let candidates = open
            .iter()
            .take_while(|(_, pending)| may_have(pending))
            .count();
        let Some(most) = candidates.checked_sub(1) else {
            // All requests that are there came after it: that of this response was not captured.
            return self.insert(*first, Some(HttpFault::Missing));
        };
        let received = open.iter().map(|(_, pending)| pending.places[0]);
        let received = received.map(|request| request.map(|place| place.received));
        let was_uncertain = self.losses.is_uncertain;
        let lost = match self.losses.since_response {
            Some(known) => {
                let are_known = received
                    .clone()
                    .take(candidates)
                    .all(|place| place.is_some());
                let at_least = responses_before(known, received.take(candidates));
                let is_of_unseen = self.is_of_unseen(place, open.get(most..));
                if at_least == most && is_of_unseen {
                    return self.begin_next(Some(place));
                }
                let lost = at_least.max(next.is_doubtful.into()).min(most);
                // It may be that of a request behind them that was not captured, too.
                self.losses.is_uncertain = lost < most || most > 0 && !are_known || is_of_unseen;
                lost
            }
            // A client that had received everything before was waiting for nothing else.
            None if was_uncertain => {
                let idle = received
                    .take(candidates)
                    .position(|offset| offset == Some(place.offset));
                let at = idle.unwrap_or(0);
                let is_of_unseen = self.is_of_unseen(place, open.get(most..));
                // Nothing shows that a client had the response to the request before when it sent one without a place.
                let is_unplaced = open
                    .get(at)
                    .is_some_and(|(_, request)| request.places[0].is_none());
                self.losses.is_uncertain = most > 0 || is_of_unseen || is_unplaced;
                at
            }
            None => 0,
        };
        open.get(lost).map_or(*first, |(at, _)| *at)
    }

    /// Whether a response at this place is certainly that of the exchange at `at`, however many requests were lost. Of several
    /// requests that were lost together one is assumed, and each response after them may be that of an earlier request, until a
    /// client that had received everything before a response sends the request that it answers.
    fn is_proven(&mut self, at: usize, place: Place) -> bool {
        let mut behind = self.waiting.iter().skip(at.saturating_add(1));
        let after = behind.find_map(|pending| pending.places[0]);
        self.losses.is_pipelined |= after.is_some_and(|after| after.received <= place.offset);
        let (Some((first, last)), Some(next)) = (self.losses.requests, self.waiting.get(at)) else {
            return true;
        };
        let Some(request) = next.places[0] else {
            let is_of_seen = after.is_some_and(|after| after.may_have(place));
            // Nothing of the server came between a request that was lost in front of it and this one.
            let is_of_burst = next.is_behind_loss || self.losses.is_pipelined;
            return !is_of_seen && !is_of_burst && !self.losses.is_shifted;
        };
        if request.offset < first {
            return true;
        }
        // The requests before it may have been sent with it, by a client that does so, or where no response has shown that they
        // came before.
        let is_of_burst = next.is_behind_loss
            && (self.losses.is_pipelined || self.losses.answered < request.offset);
        let is_proven = request.received == place.offset && !is_of_burst;
        self.losses.is_shifted = !is_proven;
        if is_proven {
            let next = request.offset.saturating_add(1);
            self.losses.requests = (request.offset < last).then_some((next, last));
        }
        is_proven
    }

    /// Puts an exchange without a request in front of another one; gives its place.
    fn insert(&mut self, at: usize, fault: Option<HttpFault>) -> usize {
        let exchange = Exchange {
            fault,
            ..Exchange::default()
        };
        self.begin(exchange, Progress::Over);
        let at = at.min(self.waiting.len().saturating_sub(1));
        if let Some(mut lost) = self.waiting.pop_back() {
            for after in self.waiting.iter_mut().skip(at) {
                std::mem::swap(&mut after.exchange.depth, &mut lost.exchange.depth);
            }
            self.waiting.insert(at, lost);
        }
        at
    }

    /// Leaves early responses alone that cannot be of a request at this place: theirs was lost, or was sent before the capture.
    fn pass_early(&mut self, place: Option<Place>) {
        if self.early == 0 {
            return;
        }
        let all = self.waiting.iter_mut();
        for early in all.filter(|pending| pending.request == Progress::Awaited) {
            let may_be = match (early.places[1], early.offset) {
                (Some(response), _) if self.losses.of_client => {
                    place.is_none_or(|place| place.may_have(response))
                }
                (None, Some(offset)) => match place {
                    Some(place) => place.received <= offset,
                    None => self.is_from_start && !self.losses.of_client,
                },
                _ => true,
            };
            if may_be {
                break;
            }
            if early.offset.is_none() {
                early.exchange.fault.get_or_insert(HttpFault::Missing);
            }
            early.request = Progress::Over;
            self.early = self.early.saturating_sub(1);
        }
        self.settle();
    }

    /// Adds a response of the exchange that [`Self::next_response`] returned.
    pub(super) fn response(&mut self, head: Head<StatusLine>, stamp: Stamp) {
        let mut open = self.waiting.iter_mut();
        if let Some(waiting) = open.find(|pending| pending.response == Progress::Awaited) {
            waiting.response = Progress::UnderWay;
            waiting.exchange.response = Some(Response {
                head,
                stamp,
                ..Response::default()
            });
        }
    }

    /// The first response that waits for its request, which is there now or was lost.
    fn next_early(&mut self) -> Option<&mut PendingExchange> {
        self.early = self.early.checked_sub(1)?;
        let mut all = self.waiting.iter_mut();
        all.find(|pending| pending.request == Progress::Awaited)
    }

    fn begin(&mut self, exchange: Exchange, request: Progress) {
        if self.waiting.len() >= PIPELINE_MAX
            && let Some(mut first) = self.waiting.pop_front()
        {
            if self.losses.may_have_response_of(&first) {
                first.exchange.fault.get_or_insert(HttpFault::Missing);
            }
            self.dropped = self.dropped.saturating_add(1);
            self.forget_early(&first);
            self.over.push_back(first.exchange);
        }
        self.depth = self.depth.saturating_add(1);
        self.early += usize::from(request == Progress::Awaited);
        self.waiting.push_back(PendingExchange {
            exchange: Exchange {
                depth: self.depth,
                ..exchange
            },
            request,
            response: Progress::Awaited,
            is_doubtful: false,
            is_uncertain: false,
            is_behind_loss: false,
            places: [None; 2],
            asked_at: None,
            offset: None,
            over: None,
        });
    }

    fn forget_early(&mut self, gone: &PendingExchange) {
        let was_early = gone.request == Progress::Awaited;
        self.early = self.early.saturating_sub(was_early.into());
    }

    /// The exchange whose request is under way: the last that has one.
    fn asking(&mut self) -> Option<&mut PendingExchange> {
        let mut all = self.waiting.iter_mut().rev();
        let last = all.find(|pending| pending.request != Progress::Awaited);
        last.filter(|pending| pending.request == Progress::UnderWay)
    }

    /// The exchange whose response is under way: the first that lacks its end.
    fn answer(&mut self) -> Option<&mut PendingExchange> {
        let mut all = self.waiting.iter_mut();
        let first = all.find(|pending| pending.response != Progress::Over);
        first.filter(|pending| pending.response == Progress::UnderWay)
    }

    /// The kind of the response to the current request, whose head was captured before it.
    pub(super) fn early_answer(&mut self) -> Option<Early> {
        let asking = self.asking()?;
        let request = asking.exchange.request.as_ref()?;
        let response = asking.exchange.response.as_ref()?;
        let is_under_way = asking.response == Progress::UnderWay;
        match (
            request.head.line.method.as_str(),
            response.head.line.code / 100,
        ) {
            ("HEAD", _) if is_under_way && response.body_len == 0 => Some(Early::Bodiless),
            ("CONNECT", 2) => Some(Early::Tunnel),
            _ if response.head.line.code == 101 => Some(Early::Switched),
            _ => None,
        }
    }

    /// The request under way.
    pub(super) fn request_under_way(&mut self) -> Option<&mut Request> {
        self.asking()?.exchange.request.as_mut()
    }

    /// The response under way.
    pub(super) fn response_under_way(&mut self) -> Option<&mut Response> {
        self.answer()?.exchange.response.as_mut()
    }

    /// Whether the current request has its whole response already, and nothing of its body came: the client may leave it out (RFC
    /// 9110, 10.1.1).
    pub(super) fn is_answered_early(&self) -> bool {
        let last = self.waiting.back();
        last.is_some_and(|last| last.response == Progress::Over && last.may_lack_body())
    }

    /// Whether the same response may have come, and was not captured so far: nothing was, and the client has received something
    /// since, as far as that is known.
    pub(super) fn may_be_answered_early(&self, place: Option<Place>) -> bool {
        let last = self.waiting.back();
        last.is_some_and(|last| {
            let both = last.places[0].zip(place);
            last.response == Progress::Awaited
                && last.exchange.interim.is_none()
                && both.is_none_or(|(asked, now)| now.received > asked.received)
                && last.may_lack_body()
        })
    }

    /// Whether the last request has an Upgrade field (RFC 9110, 7.8), and no response yet.
    pub(super) fn awaits_upgrade(&self) -> bool {
        let last = self.waiting.back();
        last.is_some_and(|last| {
            let request = last.exchange.request.as_ref();
            last.request == Progress::Over
                && last.response == Progress::Awaited
                && request.is_some_and(|request| request.head.field("upgrade").is_some())
        })
    }

    /// Whether the next response is that of a request of HTTP/0.9, which has no head.
    pub(super) fn awaits_simple(&self) -> bool {
        let mut all = self.waiting.iter();
        let next = all.find(|pending| pending.response == Progress::Awaited);
        let request = next.and_then(|next| next.exchange.request.as_ref());
        request.is_some_and(|request| {
            request.head.line.version.as_deref() == Some(SIMPLE_VERSION)
                && request.head.fields.is_empty()
        })
    }

    /// The request under way ends.
    pub(super) fn request_over(&mut self, is_whole: bool) {
        if let Some(asking) = self.asking() {
            asking.request = Progress::Over;
            if let Some(request) = &mut asking.exchange.request {
                request.is_whole = is_whole;
            }
        }
        self.settle();
    }

    /// The response under way ends.
    pub(super) fn response_over(&mut self, is_whole: bool) {
        let stamp = self.stamp;
        if let Some(answer) = self.answer() {
            answer.response = Progress::Over;
            answer.over = is_whole.then_some(stamp);
            if let Some(response) = &mut answer.exchange.response {
                response.is_whole = is_whole;
            }
        }
        self.settle();
    }

    /// Requests may have been lost behind so many octets of the client, as far as that is known.
    pub(super) fn requests_lost(&mut self, offset: Option<u64>) {
        self.losses.of_client = true;
        self.is_behind_loss = true;
        if let Some(offset) = offset {
            let first = self.losses.requests.map_or(offset, |(first, _)| first);
            self.losses.requests = Some((first, offset.max(first)));
        }
    }

    /// Something of the client was not captured, behind so many octets of it: a part of the request under way, or whole ones.
    /// Fewer `octets` than a request has are the beginning of the one behind them, if there is one.
    pub(super) fn request_lost(&mut self, offset: Option<u64>, octets: u64) {
        let requests = self.losses.requests;
        self.requests_lost(offset);
        if !self.is_in_step {
            // The lost octets lie behind the requests of responses that came before all octets of the client.
            self.pass_early(None);
        }
        if let Some(asking) = self.asking() {
            asking.exchange.fault.get_or_insert(HttpFault::Missing);
            return self.request_over(false);
        }
        if let Some(early) = self.next_early() {
            early.exchange.fault.get_or_insert(HttpFault::Missing);
            early.request = Progress::Over;
        } else if self.is_in_step {
            let exchange = Exchange {
                fault: Some(HttpFault::Missing),
                ..Exchange::default()
            };
            self.begin(exchange, Progress::Over);
            self.cut = offset
                .filter(|_| octets < REQUEST_OCTETS_MIN)
                .map(|offset| CutRequest {
                    end: offset.saturating_add(octets),
                    requests,
                });
        }
        self.settle();
    }

    /// The rest of a request that was sent before the capture was captured up to the first request: the next response is its, or the
    /// first one that waits for its request.
    pub(super) fn request_sent_before(&mut self, rest: Option<Place>) {
        self.pass_early(rest);
        match self.next_early() {
            Some(early) => {
                early.exchange.fault.get_or_insert(HttpFault::Missing);
                early.request = Progress::Over;
            }
            None => {
                let exchange = Exchange {
                    fault: Some(HttpFault::Missing),
                    ..Exchange::default()
                };
                self.begin(exchange, Progress::Over);
            }
        }
        self.settle();
    }

    /// Something of the server was not captured: a part of the response under way, or a whole one. It is behind so many octets
    /// of the server, and before others.
    pub(super) fn response_lost(&mut self, offset: u64, end: Option<u64>) {
        self.losses.of_server = true;
        if self.answer().is_none() && self.is_of_earlier(end) {
            return;
        }
        self.losses.since_response.get_or_insert(offset);
        self.losses.gap_end = self.losses.gap_end.max(end.or(Some(u64::MAX)));
        if let Some(answer) = self.answer() {
            answer.exchange.fault.get_or_insert(HttpFault::Missing);
            return self.response_over(false);
        }
        let mut open = self.waiting.iter_mut();
        if let Some(open) = open.find(|pending| pending.response == Progress::Awaited) {
            open.exchange.fault.get_or_insert(HttpFault::Missing);
            open.is_doubtful = true;
        }
    }

    /// The first request stands behind octets that may be the rest of another one, whose response may be the first one.
    pub(super) const fn request_may_follow(&mut self) {
        self.is_behind_rest = true;
    }

    /// Octets of the client are no request: the next response may answer them.
    pub(super) const fn request_unread(&mut self) {
        self.is_unread = true;
    }

    /// Octets of the server behind so many others were not understood: a response may be among them.
    pub(super) fn response_unread(&mut self, offset: u64) {
        self.losses.of_server = true;
        self.losses.since_response.get_or_insert(offset);
    }

    /// Whether what is at this place may be the next response, and not the body of the one under way, of which nothing was captured so far:
    /// its request was not captured, or may be another one, and may have been HEAD, and its server had received more in between, as far as
    /// that is known, or requests were lost. The end of the connection alone does not show that there is a body, and neither do chunks.
    pub(super) fn may_be_bodiless(&self, body: Body, place: Option<Place>) -> bool {
        let mut all = self.waiting.iter();
        let Some(first) = all.find(|pending| pending.response != Progress::Over) else {
            return false;
        };
        let both = first.places[1].zip(place);
        let had_more = both.is_none_or(|(head, next)| next.received > head.received);
        // Lost requests may have been sent together, and so may requests that are not captured yet, or never.
        let is_unseen = first.places[1].is_some_and(|head| head.received > self.client_octets);
        let is_uncertain = first.is_uncertain || first.exchange.fault == Some(HttpFault::Uncertain);
        let had_more = had_more || self.losses.of_client || is_unseen || is_uncertain;
        let response = first.exchange.response.as_ref();
        let may_be_none = response
            .is_some_and(|response| response.body_len == 0 && !carries_messages(&response.head));
        let may_be_of_head = first.exchange.request.is_none() || is_uncertain;
        // No size of a chunk begins as a response does.
        let is_no_chunk = body == Body::ChunkSize;
        let is_shown = had_more || is_no_chunk || body.ends_with_connection();
        is_shown && may_be_none && may_be_of_head
    }

    /// The response under way has no body: octets that are missing of it are of other responses, up to this place.
    pub(super) fn has_no_body(&mut self, next: Option<Place>) {
        let response = self.response_under_way();
        let missing = response.map_or(0, |response| std::mem::take(&mut response.missing));
        self.response_over(true);
        if missing > 0 {
            let end = next.map(|place| place.offset);
            let offset = end.map_or(0, |end| end.saturating_sub(missing));
            self.response_lost(offset, end);
        }
    }

    /// Whether the response under way has no body so far, and its request was not captured, which may have been HEAD.
    pub(super) fn may_answer_head(&self) -> bool {
        let mut all = self.waiting.iter();
        let first = all.find(|pending| pending.response != Progress::Over);
        first.is_some_and(|pending| {
            let response = pending.exchange.response.as_ref();
            let is_empty =
                response.is_some_and(|response| response.body_len == 0 && response.missing == 0);
            is_empty && pending.exchange.request.is_none()
        })
    }

    /// Whether the client had received everything of the server up to `end` when it sent the first request without a response: none
    /// of it is the response to this request.
    fn is_of_earlier(&self, end: Option<u64>) -> bool {
        let mut all = self.waiting.iter();
        let open = all.find(|pending| pending.response == Progress::Awaited);
        let request = open.and_then(|open| open.places[0]);
        request
            .zip(end)
            .is_some_and(|(request, end)| request.received >= end)
    }

    /// Notes a fault of the client's last message.
    pub(super) fn faulty_request(&mut self, fault: HttpFault) {
        let mut all = self.waiting.iter_mut().rev();
        if let Some(last) = all.find(|pending| pending.request != Progress::Awaited) {
            last.exchange.fault.get_or_insert(fault);
        }
    }

    /// Notes a fault of the server's message that is under way or next.
    pub(super) fn faulty_response(&mut self, fault: HttpFault) {
        let mut all = self.waiting.iter_mut();
        if let Some(next) = all.find(|pending| pending.response != Progress::Over) {
            next.exchange.fault.get_or_insert(fault);
        }
    }

    /// Notes a fault of the next exchange that has a request and no response.
    pub(super) fn unanswered(&mut self, fault: HttpFault) {
        let mut all = self.waiting.iter_mut();
        let next = all.find(|pending| {
            pending.response == Progress::Awaited && pending.exchange.request.is_some()
        });
        if let Some(next) = next {
            next.exchange.fault.get_or_insert(fault);
        }
    }

    /// Removes the exchange of the next response: the connection continues with another protocol.
    pub(super) fn take_next(&mut self) -> Exchange {
        let mut all = self.waiting.iter();
        let at = all.position(|pending| pending.response == Progress::Awaited);
        let Some(taken) = at.and_then(|at| self.waiting.remove(at)) else {
            return Exchange::default();
        };
        self.forget_early(&taken);
        taken.exchange
    }

    /// Puts what is over into its place.
    fn settle(&mut self) {
        while let Some(first) = self.waiting.front()
            && first.response == Progress::Over
            && match first.request {
                Progress::Over => true,
                Progress::UnderWay => false,
                Progress::Awaited => self.early > EARLY_MAX,
            }
        {
            let Some(first) = self.waiting.pop_front() else {
                return;
            };
            self.forget_early(&first);
            let mut exchange = first.exchange;
            if exchange.request.is_none() {
                exchange.over = first.over;
            }
            if exchange.request.is_some() || exchange.response.is_some() {
                self.over.push_back(exchange);
            }
        }
    }
}

/// Whether a body of this type begins as a message does (RFC 9112, 10).
fn carries_messages(head: &Head<StatusLine>) -> bool {
    let content = head.field("content-type").unwrap_or_default();
    let name = content.split(';').next().unwrap_or_default().trim();
    ["message/http", "application/http"]
        .iter()
        .any(|of_messages| name.eq_ignore_ascii_case(of_messages))
}

/// The number of responses before the last of these requests, and after a number of octets of the server, by what the client had
/// received when it sent each of them: a lower bound if all requests are known. A request that was not captured is assumed to have
/// had its response before the next one.
fn responses_before(known: u64, received: impl Iterator<Item = Option<u64>>) -> usize {
    let (mut most, mut is_behind_lost) = (None, false);
    let mut responses = 0_usize;
    for (at, now) in received.enumerate() {
        let is_more = now > most && now > Some(known);
        responses += usize::from(at > 0 && is_more) + usize::from(is_more && is_behind_lost);
        is_behind_lost = now.is_none() && at > 0;
        most = most.max(now);
    }
    responses
}
