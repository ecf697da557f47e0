//! Answers that were captured before their questions, which happens when the packets of two taps are merged late.

use std::collections::{BTreeMap, HashMap, VecDeque};

use weir_flow::Endpoint;

use super::messages::Way;

/// Answers without a question. Each waits a moment for its question.
#[derive(Debug, Default)]
pub(super) struct EarlyAnswers {
    /// The waiting answers, numbered in the order in which they were captured.
    waiting: BTreeMap<u64, EarlyAnswer>,
    /// The numbers of the answers from one end to another, the oldest first.
    by_ends: HashMap<(Endpoint, Endpoint), VecDeque<u64>>,
    bytes: usize,
    next: u64,
}

/// An answer and its way.
#[derive(Debug)]
pub(super) struct EarlyAnswer {
    pub(super) bytes: Vec<u8>,
    pub(super) way: Way,
}

/// The time that an answer waits, in nanoseconds: the same as for octets of a TCP stream that were acknowledged before
/// they came.
const PATIENCE_NS: i64 = 1_000_000_000;
/// The number of answers that wait, at most; of those with the same ends; and of the octets of all.
const ANSWERS_MAX: usize = 4_096;
const OF_ENDS_MAX: usize = 64;
const BYTES_MAX: usize = 4 << 20;

impl EarlyAnswers {
    /// Stores an answer until its question comes. Returns false when there is no room for it among those of its ends.
    pub(super) fn keep(&mut self, bytes: &[u8], way: &Way) -> bool {
        let of_ends = self.by_ends.entry(way.pair()).or_default();
        if of_ends.len() >= OF_ENDS_MAX {
            return false;
        }
        self.next += 1;
        of_ends.push_back(self.next);
        self.bytes = self.bytes.saturating_add(bytes.len());
        let answer = EarlyAnswer {
            bytes: bytes.to_vec(),
            way: *way,
        };
        self.waiting.insert(self.next, answer);
        true
    }

    /// Removes the oldest answer, once its question did not come in time, or too many wait. `passed_ns` is the elapsed
    /// time.
    pub(super) fn take_due(&mut self, passed_ns: i64) -> Option<EarlyAnswer> {
        let (_, oldest) = self.waiting.first_key_value()?;
        let is_due = passed_ns.saturating_sub(oldest.way.passed_ns) > PATIENCE_NS
            || self.waiting.len() > ANSWERS_MAX
            || self.bytes > BYTES_MAX;
        if is_due { self.take_oldest() } else { None }
    }

    /// Removes the oldest answer.
    pub(super) fn take_oldest(&mut self) -> Option<EarlyAnswer> {
        let (number, _) = self.waiting.first_key_value()?;
        self.take(*number)
    }

    /// Passes the answers to a question that came this way to `take`, and keeps those for which it returns false.
    pub(super) fn take_answers(&mut self, way: &Way, take: &mut dyn FnMut(&EarlyAnswer) -> bool) {
        if self.waiting.is_empty() {
            return;
        }
        let of_ends = self.by_ends.get(&(way.dst, way.src));
        for number in of_ends.cloned().unwrap_or_default() {
            let answer = self.waiting.get(&number);
            if answer.is_some_and(&mut *take) {
                self.take(number);
            }
        }
    }

    fn take(&mut self, number: u64) -> Option<EarlyAnswer> {
        let answer = self.waiting.remove(&number)?;
        self.bytes = self.bytes.saturating_sub(answer.bytes.len());
        let ends = answer.way.pair();
        if let Some(of_ends) = self.by_ends.get_mut(&ends) {
            of_ends.retain(|waiting| *waiting != number);
            if of_ends.is_empty() {
                self.by_ends.remove(&ends);
            }
        }
        Some(answer)
    }
}
