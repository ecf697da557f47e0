//! Which response is that of which request. Responses come in the order of their requests (RFC 9112, 9.3.2); what is
//! captured of both directions need not, and may lack some.

use std::collections::VecDeque;

use super::head::{Head, RequestLine, StatusLine};
use super::{Exchange, Fault, PIPELINE_MAX, Request, Response};
use crate::tls::Stamp;

/// The exchanges of a connection that are not handed on yet.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    waiting: VecDeque<Waiting>,
    over: VecDeque<Exchange>,
    depth: u64,
    dropped: u64,
    /// A request was seen: one that a response lacks may be behind it in the capture.
    is_in_step: bool,
    /// Responses that wait for their requests.
    early: usize,
}

/// An exchange, and how far its messages are.
#[derive(Debug)]
struct Waiting {
    exchange: Exchange,
    request: Progress,
    response: Progress,
    /// Its response may be what was not captured.
    is_doubtful: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Its head did not come yet.
    Awaited,
    /// Its body did not come to its end yet.
    UnderWay,
    /// Nothing more of it comes.
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

    pub(super) fn held(&self) -> usize {
        let waiting = self.waiting.iter().map(|it| it.exchange.held());
        waiting.sum()
    }

    /// Hands on what is over.
    pub(super) fn hand_on(&mut self, each: &mut dyn FnMut(Exchange)) {
        while let Some(exchange) = self.over.pop_front() {
            each(exchange);
        }
    }

    /// Nothing more comes.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(Exchange)) {
        for waiting in &mut self.waiting {
            waiting.request = Progress::Over;
            waiting.response = Progress::Over;
        }
        self.early = 0;
        self.settle();
        self.hand_on(each);
    }

    /// Takes up a request.
    pub(super) fn request(&mut self, head: Head<RequestLine>, stamp: Stamp) {
        self.is_in_step = true;
        self.request_over(false);
        let fault = head.is_malformed.then_some(Fault::Malformed);
        let request = Some(Request {
            head,
            stamp,
            ..Request::default()
        });
        if let Some(early) = self.next_early() {
            early.exchange.request = request;
            early.exchange.fault = early.exchange.fault.or(fault);
            early.request = Progress::UnderWay;
            return;
        }
        let exchange = Exchange {
            request,
            fault,
            ..Exchange::default()
        };
        self.begin(exchange, Progress::UnderWay);
    }

    /// Finds the exchange that the next response belongs to, or begins one.
    pub(super) fn next_response(&mut self) -> Option<&mut Exchange> {
        if let Some(cut) = self.answer() {
            cut.exchange.fault.get_or_insert(Fault::Missing);
            self.response_over(false);
        }
        let all = self.waiting.iter().enumerate();
        let mut open = all.filter(|(_, it)| it.response == Progress::Awaited);
        let at = match (open.next(), open.next()) {
            // One response was not captured, and is taken for that of the first.
            (Some((_, first)), Some((second, _))) if first.is_doubtful => second,
            (Some((first, _)), _) => first,
            (None, _) => {
                let request = match self.is_in_step {
                    true => Progress::Awaited,
                    false => Progress::Over,
                };
                self.begin(Exchange::default(), request);
                self.waiting.len().saturating_sub(1)
            }
        };
        for passed in self.waiting.iter_mut().take(at) {
            passed.response = Progress::Over;
        }
        let next = self.waiting.get_mut(at)?;
        next.is_doubtful = false;
        Some(&mut next.exchange)
    }

    /// Takes up a response of the exchange that [`Self::next_response`] gave.
    pub(super) fn response(&mut self, head: Head<StatusLine>, stamp: Stamp) {
        let mut open = self.waiting.iter_mut();
        if let Some(waiting) = open.find(|it| it.response == Progress::Awaited) {
            waiting.response = Progress::UnderWay;
            waiting.exchange.response = Some(Response {
                head,
                stamp,
                ..Response::default()
            });
        }
    }

    /// The first response that waits for its request, which is there now or was lost.
    fn next_early(&mut self) -> Option<&mut Waiting> {
        self.early = self.early.checked_sub(1)?;
        let mut all = self.waiting.iter_mut();
        all.find(|it| it.request == Progress::Awaited)
    }

    fn begin(&mut self, exchange: Exchange, request: Progress) {
        if self.waiting.len() >= PIPELINE_MAX
            && let Some(first) = self.waiting.pop_front()
        {
            self.dropped = self.dropped.saturating_add(1);
            self.forget_early(&first);
            self.over.push_back(first.exchange);
        }
        self.depth = self.depth.saturating_add(1);
        self.early += usize::from(request == Progress::Awaited);
        self.waiting.push_back(Waiting {
            exchange: Exchange {
                depth: self.depth,
                ..exchange
            },
            request,
            response: Progress::Awaited,
            is_doubtful: false,
        });
    }

    fn forget_early(&mut self, gone: &Waiting) {
        let was_early = gone.request == Progress::Awaited;
        self.early = self.early.saturating_sub(was_early.into());
    }

    /// The exchange whose request is under way: the last that has one.
    fn asking(&mut self) -> Option<&mut Waiting> {
        let mut all = self.waiting.iter_mut().rev();
        let last = all.find(|it| it.request != Progress::Awaited);
        last.filter(|it| it.request == Progress::UnderWay)
    }

    /// The exchange whose response is under way: the first that lacks its end.
    fn answer(&mut self) -> Option<&mut Waiting> {
        let mut all = self.waiting.iter_mut();
        let first = all.find(|it| it.response != Progress::Over);
        first.filter(|it| it.response == Progress::UnderWay)
    }

    /// The request under way.
    pub(super) fn request_under_way(&mut self) -> Option<&mut Request> {
        self.asking()?.exchange.request.as_mut()
    }

    /// The response under way.
    pub(super) fn response_under_way(&mut self) -> Option<&mut Response> {
        self.answer()?.exchange.response.as_mut()
    }

    /// True when the request under way has its whole response already, and nothing of its body came: the client may leave
    /// that out (RFC 9110, 10.1.1).
    pub(super) fn is_answered_early(&self) -> bool {
        let last = self.waiting.back();
        last.is_some_and(|last| {
            let request = last.exchange.request.as_ref();
            last.request == Progress::UnderWay
                && last.response == Progress::Over
                && request.is_some_and(|it| it.body_len == 0 && it.head.field("expect").is_some())
        })
    }

    /// Nothing more of the request under way comes.
    pub(super) fn request_over(&mut self, is_whole: bool) {
        if let Some(asking) = self.asking() {
            asking.request = Progress::Over;
            if let Some(request) = &mut asking.exchange.request {
                request.is_whole = is_whole;
            }
        }
        self.settle();
    }

    /// Nothing more of the response under way comes.
    pub(super) fn response_over(&mut self, is_whole: bool) {
        if let Some(answer) = self.answer() {
            answer.response = Progress::Over;
            if let Some(response) = &mut answer.exchange.response {
                response.is_whole = is_whole;
            }
        }
        self.settle();
    }

    /// Something of the client was not captured: a part of the request under way, or a whole one.
    pub(super) fn request_lost(&mut self) {
        if let Some(asking) = self.asking() {
            asking.exchange.fault.get_or_insert(Fault::Missing);
            return self.request_over(false);
        }
        if let Some(early) = self.next_early() {
            early.exchange.fault.get_or_insert(Fault::Missing);
            early.request = Progress::Over;
        } else if self.is_in_step {
            let exchange = Exchange {
                fault: Some(Fault::Missing),
                ..Exchange::default()
            };
            self.begin(exchange, Progress::Over);
        }
        self.settle();
    }

    /// Something of the server was not captured: a part of the response under way, or a whole one.
    pub(super) fn response_lost(&mut self) {
        if let Some(answer) = self.answer() {
            answer.exchange.fault.get_or_insert(Fault::Missing);
            return self.response_over(false);
        }
        let mut open = self.waiting.iter_mut();
        if let Some(open) = open.find(|it| it.response == Progress::Awaited) {
            open.exchange.fault.get_or_insert(Fault::Missing);
            open.is_doubtful = true;
        }
    }

    /// Notes a fault of the client's last message.
    pub(super) fn faulty_request(&mut self, fault: Fault) {
        let mut all = self.waiting.iter_mut().rev();
        if let Some(last) = all.find(|it| it.request != Progress::Awaited) {
            last.exchange.fault.get_or_insert(fault);
        }
    }

    /// Notes a fault of the server's message that is under way or next.
    pub(super) fn faulty_response(&mut self, fault: Fault) {
        let mut all = self.waiting.iter_mut();
        if let Some(next) = all.find(|it| it.response != Progress::Over) {
            next.exchange.fault.get_or_insert(fault);
        }
    }

    /// Takes the exchange whose response is next out: it goes on in another way.
    pub(super) fn take_next(&mut self) -> Exchange {
        let mut all = self.waiting.iter();
        let at = all.position(|it| it.response == Progress::Awaited);
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
            if first.exchange.request.is_some() || first.exchange.response.is_some() {
                self.over.push_back(first.exchange);
            }
        }
    }
}
