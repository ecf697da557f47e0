//! Requests that wait for their responses, in protocols of small messages.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use weir_flow::Endpoint;

use super::messages::Way;
use super::value::span_ns;

/// The time and the record of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OpenRequest {
    time_ns: Option<i64>,
    pub(super) frame: u64,
    /// The time that had passed in the capture by then.
    passed_ns: i64,
    /// The octets that a request has in common with its retransmissions, and not with another request of the same
    /// number; 0 for protocols whose numbers are long enough.
    content: u128,
    /// Whether the request ended without a response.
    is_over: bool,
}

impl OpenRequest {
    /// The nanoseconds from the request to this message; `None` where the clock was set back in between.
    pub(super) fn until(self, way: &Way) -> Option<i64> {
        span_ns(self.time_ns, way.time_ns)
    }

    /// Returns whether so much time has passed that the same number is another request.
    fn is_old(self, way: &Way) -> bool {
        way.passed_ns.saturating_sub(self.passed_ns) > ANEW_NS
    }
}

/// Open requests by their sender, their receiver and the `K` that a request and its response share.
#[derive(Debug)]
pub(super) struct Requests<K> {
    open: HashMap<(Endpoint, Endpoint, K), OpenRequest>,
    order: VecDeque<(Endpoint, Endpoint, K)>,
    forgotten: u64,
}

/// The number of requests at one time.
const REQUESTS_MAX: usize = 1 << 16;

impl<K> Default for Requests<K> {
    fn default() -> Self {
        Self {
            open: HashMap::new(),
            order: VecDeque::new(),
            forgotten: 0,
        }
    }
}

impl<K: Copy + Eq + Hash> Requests<K> {
    /// Adds a request: a repeated one counts from its first time.
    pub(super) fn add(&mut self, way: &Way, id: K) {
        self.add_with(way, id, 0);
    }

    /// Adds a request as [`Self::add`], of a protocol that reuses its numbers soon: other content means another
    /// request.
    pub(super) fn add_with(&mut self, way: &Way, id: K, content: u128) {
        let key = (way.src, way.dst, id);
        let request = OpenRequest {
            time_ns: way.time_ns,
            frame: way.frame,
            passed_ns: way.passed_ns,
            content,
            is_over: false,
        };
        if let Some(known) = self.open.get_mut(&key) {
            if known.is_over || known.is_old(way) || known.content != content {
                *known = request;
            }
            return;
        }
        self.open.insert(key, request);
        self.order.push_back(key);
        if self.order.len() > REQUESTS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.open.remove(&oldest);
            self.forgotten = self.forgotten.saturating_add(1);
        }
    }

    /// The request that this message answers.
    pub(super) fn answer(&self, way: &Way, id: K) -> Option<OpenRequest> {
        let request = self.open.get(&(way.dst, way.src, id)).copied()?;
        let is_open = !request.is_over && !request.is_old(way);
        is_open.then_some(request)
    }

    /// Ends a request by a message that is not its response.
    pub(super) fn forget(&mut self, way: &Way, id: K) {
        if let Some(known) = self.open.get_mut(&(way.dst, way.src, id)) {
            // The entry stays, so that the order stays.
            known.is_over = true;
        }
    }

    /// The number of requests that were discarded.
    pub(super) fn counted(&self) -> Vec<(u64, &'static str)> {
        vec![(
            self.forgotten,
            "requests were forgotten before their responses could come, because there were more than 65,536",
        )]
    }
}

/// The time in nanoseconds after which the same number is another request.
const ANEW_NS: i64 = 60_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// A message in one or the other direction, at these seconds of the record's clock and of the elapsed time.
    fn way(is_back: bool, time_s: Option<i64>, passed_s: i64, frame: u64) -> Way {
        let end = |port| Endpoint {
            address: [10, 0, 0, 1].into(),
            port,
        };
        let way = Way {
            flow: 1,
            src: end(1),
            dst: end(2),
            transport: "udp",
            time_ns: time_s.map(|it| it * SECOND),
            passed_ns: passed_s * SECOND,
            frame,
            missing: 0,
            identification: None,
        };
        if is_back { way.back() } else { way }
    }

    /// A clock that is set, either way, keeps no response from its request; the time between them is unknown where it
    /// was set back.
    #[test]
    fn responses_are_those_of_their_requests_with_any_clock() {
        for (time_s, passed_s, until) in [
            (Some(1_002), 1_002, Some(2 * SECOND)),
            (Some(1_060), 1_060, Some(60 * SECOND)),
            // The clock was set back, or forward, or is another one.
            (Some(910), 1_001, None),
            (Some(5_000), 1_001, Some(4_000 * SECOND)),
            // The records are out of order.
            (Some(999), 1_000, Some(-SECOND)),
            (None, 1_001, None),
        ] {
            let mut requests = Requests::default();
            requests.add(&way(false, Some(1_000), 1_000, 1), 7);
            let response = way(true, time_s, passed_s, 2);
            let request = requests.answer(&response, 7).unwrap();
            assert_eq!((request.frame, request.until(&response)), (1, until));
            assert!(requests.answer(&response, 8).is_none());
        }
    }

    #[test]
    fn after_a_minute_the_same_number_is_another_request() {
        let mut requests = Requests::default();
        requests.add(&way(false, Some(1_000), 1_000, 1), 7);
        assert!(
            requests
                .answer(&way(true, Some(100), 1_061, 2), 7)
                .is_none()
        );
        // A request that is sent again within a minute counts from its first time, later it is a new one, as it is
        // after a message that ended it.
        requests.add(&way(false, Some(100), 1_060, 3), 7);
        let frame = |requests: &Requests<u32>, passed_s| {
            let request = requests.answer(&way(true, None, passed_s, 9), 7);
            request.map(|request| request.frame)
        };
        assert_eq!(frame(&requests, 1_060), Some(1));
        requests.add(&way(false, Some(101), 1_061, 4), 7);
        assert_eq!(frame(&requests, 1_062), Some(4));
        requests.forget(&way(true, Some(102), 1_062, 5), 7);
        assert_eq!(frame(&requests, 1_063), None);
        requests.add(&way(false, Some(103), 1_063, 6), 7);
        assert_eq!(frame(&requests, 1_064), Some(6));
    }

    #[test]
    fn another_content_with_the_same_number_is_another_request() {
        let mut requests = Requests::default();
        let frame = |requests: &Requests<u32>| {
            let request = requests.answer(&way(true, None, 1_005, 9), 7);
            request.map(|request| request.frame)
        };
        for (number, content, expected) in [(1, 5, 1), (2, 5, 1), (3, 6, 3), (4, 6, 3), (5, 5, 5)] {
            requests.add_with(&way(false, Some(1_000), 1_000, number), 7, content);
            assert_eq!(frame(&requests), Some(expected), "{number}");
        }
        assert_eq!(requests.order.len(), 1);
    }
}
