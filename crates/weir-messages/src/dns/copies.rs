//! Answers that were captured twice, as at two ports of a mirror: they are the same packet, by its identification.

/// The properties by which the packet of a message is recognised in a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sight {
    /// The identification of the IPv4 packet (RFC 791, 3.1); `None` where it does not identify the packet.
    pub(super) identification: Option<u16>,
    /// The time that had passed in the capture by then, in nanoseconds.
    pub(super) passed_ns: i64,
}

/// The longest time between a packet and its copy.
const COPY_NS: i64 = 1_000_000_000;
/// The longest time between a packet without an identification and its copy: no client repeats a question so soon.
const UNIDENTIFIED_COPY_NS: i64 = 100_000_000;

impl Sight {
    /// Whether this is the packet of an `earlier` one with the same content. `None` where that is not known.
    fn is_copy_of(self, earlier: Self) -> Option<bool> {
        let ids = self.identification.zip(earlier.identification);
        let waited_ns = self.passed_ns.saturating_sub(earlier.passed_ns);
        ids.map(|(own, other)| own == other && waited_ns < COPY_NS)
    }

    /// Whether a question may be the packet of an `earlier` one with the same content.
    pub(super) fn may_be_copy_of(self, earlier: Self) -> bool {
        let waited_ns = self.passed_ns.saturating_sub(earlier.passed_ns);
        self.is_copy_of(earlier)
            .unwrap_or(waited_ns < UNIDENTIFIED_COPY_NS)
    }
}

/// The flow and the number of a question.
type CopyKey = (u64, u16);

/// An answer, with the question that it belongs to.
#[derive(Clone, Copy, Debug)]
struct RecentAnswer {
    key: CopyKey,
    question: Sight,
    answer: Sight,
}

/// The answers that came last.
#[derive(Debug, Default)]
pub(super) struct RecentAnswers {
    /// Each is at the place that its key names. Empty before the first one.
    places: Vec<Option<RecentAnswer>>,
}

/// Answers that are kept.
const PLACES: usize = 1 << 12;

fn place((flow, id): CopyKey) -> usize {
    (flow.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(id)) as usize % PLACES
}

impl RecentAnswers {
    /// Notes an answer, if copies of it could be known.
    pub(super) fn note(&mut self, key: CopyKey, question: Sight, answer: Sight) {
        if answer.identification.is_none() {
            return;
        }
        if self.places.is_empty() {
            self.places = vec![None; PLACES];
        }
        if let Some(known) = self.places.get_mut(place(key)) {
            *known = Some(RecentAnswer {
                key,
                question,
                answer,
            });
        }
    }

    /// The question of the answer that this one is a copy of.
    pub(super) fn question_of_copy(&self, key: CopyKey, answer: Sight) -> Option<Sight> {
        let known = self.places.get(place(key)).copied().flatten()?;
        let is_copy = known.key == key && answer.is_copy_of(known.answer) == Some(true);
        is_copy.then_some(known.question)
    }
}
