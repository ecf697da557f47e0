//! Requests that wait for their responses, in protocols of small messages.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use weir_flow::Endpoint;

use super::messages::Way;

/// When a request came, and in which record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) time_ns: Option<i64>,
    pub(super) frame: u64,
}

impl Asked {
    /// Nanoseconds from the request to what came this way.
    pub(super) fn until(self, way: &Way) -> Option<i64> {
        way.time_ns?.checked_sub(self.time_ns?)
    }
}

/// Requests by who asked whom and by `K`, what request and response share.
#[derive(Debug)]
pub(super) struct Requests<K> {
    open: HashMap<(Endpoint, Endpoint, K), Asked>,
    order: VecDeque<(Endpoint, Endpoint, K)>,
    forgotten: u64,
}

/// Requests at one time.
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
    /// Takes a request: one that is repeated counts from its first.
    pub(super) fn ask(&mut self, way: &Way, id: K) {
        let key = (way.src, way.dst, id);
        let asked = Asked {
            time_ns: way.time_ns,
            frame: way.frame,
        };
        if let Some(known) = self.open.get_mut(&key) {
            let is_old = known.until(way).is_none_or(|waited_ns| waited_ns > ANEW_NS);
            if is_old {
                *known = asked;
            }
            return;
        }
        self.open.insert(key, asked);
        self.order.push_back(key);
        if self.order.len() > REQUESTS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.open.remove(&oldest);
            self.forgotten = self.forgotten.saturating_add(1);
        }
    }

    /// The request that what came this way answers.
    pub(super) fn answer(&self, way: &Way, id: K) -> Option<Asked> {
        let asked = self.open.get(&(way.dst, way.src, id)).copied()?;
        let waited_ns = asked.until(way)?;
        (0..=ANEW_NS).contains(&waited_ns).then_some(asked)
    }

    /// What came this way ends a request without being its response.
    pub(super) fn forget(&mut self, way: &Way, id: K) {
        if let Some(known) = self.open.get_mut(&(way.dst, way.src, id)) {
            // Its place stays, so that the order does.
            known.time_ns = None;
        }
    }

    /// Requests that were forgotten.
    pub(super) fn counted(&self) -> Vec<(u64, &'static str)> {
        vec![(
            self.forgotten,
            "requests were forgotten before their responses could come, because there were more than 65,536",
        )]
    }
}

/// After so long, the same number is another request.
const ANEW_NS: i64 = 60_000_000_000;
