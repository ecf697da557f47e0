//! Pairs questions and answers: the response on the same flow with the same identifier. Of several questions with one identifier it
//! answers the one that it repeats.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher};
use std::net::{Ipv4Addr, Ipv6Addr};

use super::copies::{RecentAnswers, Sight};
use super::name::NAME_OCTETS_MAX;
use super::{Data, Dialect, DnsFault, DnsMessage, Question, Record, Section, type_word};

/// The flow, the side and the time of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Number of its flow, or of the conversation in it.
    pub flow: u64,
    /// When it came, in nanoseconds.
    pub time_ns: Option<i64>,
    /// The time that had passed in the capture by then, in nanoseconds from anywhere: what deadlines go by. It does not fall.
    pub passed_ns: i64,
    /// Number of its record.
    pub frame: u64,
    /// The identification of the IPv4 packet (RFC 791, 3.1), by which the copy of an answer is known; `None` where it says nothing, as
    /// a 0 of packets that are not to be fragmented (RFC 6864, 4).
    pub identification: Option<u16>,
}

impl Way {
    const fn sight(self) -> Sight {
        Sight {
            identification: self.identification,
            passed_ns: self.passed_ns,
        }
    }
}

/// A query that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// When it was sent first, in nanoseconds.
    pub time_ns: Option<i64>,
    /// Number of the record in which it was.
    pub frame: u64,
    passed_ns: i64,
    /// What it asks for, as [`content_of`] has it.
    content: u64,
    is_answered: bool,
    /// The question is for a zone, which comes in several responses (RFC 5936, 2.2; RFC 1995, 4).
    is_of_zone: bool,
}

/// The relation of a message to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The question that it answers.
    pub question: Option<Query>,
    /// The message repeats a question, or an answer.
    pub is_repeat: bool,
}

/// The questions that wait for their answers, as Wireshark has them: a question that comes again within
/// five seconds is the same.
#[derive(Debug, Default)]
pub struct Questions {
    /// The questions of a flow and number.
    asked: HashMap<(u64, u16), SameNumber>,
    /// The keys in the order of arrival, to forget the oldest.
    order: VecDeque<(u64, u16)>,
    forgotten: u64,
}

/// Questions that are remembered, at most.
pub(super) const QUESTIONS_MAX: usize = 1 << 16;
/// Different questions of a flow with one number that are remembered, at most.
const SAME_NUMBER_MAX: usize = 4;
const REPEAT_NS: i64 = 5_000_000_000;
/// Types of questions for what changed in a zone, and for all of it.
const IXFR: u16 = 251;
const AXFR: u16 = 252;

impl Questions {
    /// Questions that were forgotten because there were more than 65,536.
    #[must_use]
    pub const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Adds the next message.
    pub fn take(&mut self, message: &DnsMessage<'_>, way: Way) -> Ask {
        let key = (way.flow, message.id());
        let content = content_of(message);
        if message.is_response() {
            let known = self.asked.get_mut(&key);
            let known = known.map(|all| all.answered(content));
            let question = known.as_deref().copied();
            let is_repeat =
                question.is_some_and(|question| question.is_answered && !question.is_of_zone);
            if let Some(known) = known {
                known.is_answered = true;
            }
            return Ask {
                question,
                is_repeat,
            };
        }
        let asked = Query {
            time_ns: way.time_ns,
            frame: way.frame,
            passed_ns: way.passed_ns,
            content,
            is_answered: false,
            is_of_zone: message
                .questions()
                .any(|question| matches!(question.kind, IXFR | AXFR)),
        };
        Ask {
            question: None,
            is_repeat: self.ask(key, asked),
        }
    }

    /// Adds a question; true where it repeats one.
    fn ask(&mut self, key: (u64, u16), asked: Query) -> bool {
        let all = match self.asked.entry(key) {
            Entry::Occupied(all) => all.into_mut(),
            Entry::Vacant(place) => {
                place.insert(SameNumber {
                    first: asked,
                    later: Vec::new(),
                });
                self.order.push_back(key);
                self.forget();
                return false;
            }
        };
        if let Some(known) = all.find(asked.content) {
            let waited_ns = asked.passed_ns.saturating_sub(known.passed_ns);
            let is_repeat = !known.is_answered && waited_ns < REPEAT_NS;
            if !is_repeat {
                *known = asked;
            }
            return is_repeat;
        }
        if let Some(oldest) = all.push(asked) {
            self.forgotten = self.forgotten.saturating_add((!oldest.is_answered).into());
        }
        false
    }

    /// Removes the oldest questions where there are too many.
    fn forget(&mut self) {
        if self.order.len() > QUESTIONS_MAX
            && let Some(oldest) = self.order.pop_front()
            && let Some(mut old) = self.asked.remove(&oldest)
        {
            let lost = old.all().filter(|old| !old.is_answered).count();
            self.forgotten = self.forgotten.saturating_add(lost as u64);
        }
    }
}

/// The questions of a flow with one number, which differ, the oldest first. Nearly always there is only one, which
/// takes no allocation of its own.
#[derive(Debug)]
struct SameNumber {
    first: Query,
    later: Vec<Query>,
}

impl SameNumber {
    fn all(&mut self) -> impl Iterator<Item = &mut Query> {
        std::iter::once(&mut self.first).chain(&mut self.later)
    }

    /// The question with this content.
    fn find(&mut self, content: u64) -> Option<&mut Query> {
        self.all().find(|pending| pending.content == content)
    }

    /// The question that a response with this content answers: the last one where none has its content.
    fn answered(&mut self, content: u64) -> &mut Query {
        let later = self
            .later
            .iter()
            .position(|pending| pending.content == content);
        let is_first = self.first.content == content;
        let last = self.later.len().checked_sub(1).filter(|_| !is_first);
        match later.or(last).and_then(|at| self.later.get_mut(at)) {
            Some(known) => known,
            None => &mut self.first,
        }
    }

    /// Adds a question; returns the oldest one where there are too many.
    fn push(&mut self, asked: Query) -> Option<Query> {
        let is_full = self.later.len() + 1 >= SAME_NUMBER_MAX;
        self.later.push(asked);
        is_full.then(|| std::mem::replace(&mut self.first, self.later.remove(0)))
    }
}

/// A hash of the first question of a message, which its response repeats (RFC 1035, 4.1.1); 0 without one. Those of multicast are
/// not told apart, as their responses have none.
fn content_of(message: &DnsMessage<'_>) -> u64 {
    let is_unicast = message.dialect() == Dialect::Unicast;
    let Some(question) = message.questions().next().filter(|_| is_unicast) else {
        return 0;
    };
    // The labels are put together first: the hasher takes longer for each write than for each octet.
    let mut octets = [0; NAME_OCTETS_MAX + 4];
    let mut used = 0;
    let whole = question.name.each_label(|label| {
        // A name is shorter than the buffer: its labels were counted with their lengths.
        let place = octets.get_mut(used..=used + label.len());
        if let Some((length, place)) = place.and_then(<[u8]>::split_first_mut) {
            *length = label.len() as u8;
            place.copy_from_slice(label);
            place.make_ascii_lowercase();
            used += 1 + label.len();
        }
    });
    let [a, b] = question.kind.to_be_bytes();
    let [c, d] = question.class.to_be_bytes();
    if let Some(place) = octets.get_mut(used..used + 4) {
        place.copy_from_slice(&[a, b, c, d]);
        used += 4;
    }
    let mut hasher = DefaultHasher::new();
    hasher.write(octets.get(..used).unwrap_or_default());
    whole.map_or(0, |()| hasher.finish().max(1))
}

/// A question with its answer, as far as they were seen.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Lookup<W> {
    /// The way of the question, or of the answer when there was no question.
    pub way: W,
    /// The question was seen.
    pub is_asked: bool,
    /// When the question came; when the answer did, if the question was not seen.
    pub time_ns: Option<i64>,
    /// The record of the question.
    pub question_frame: Option<u64>,
    /// The record of the answer.
    pub answer_frame: Option<u64>,
    /// Time from the question to the answer, as their records have it.
    pub rtt_ns: Option<i64>,
    /// Number of the message.
    pub id: u16,
    /// The kind of query: 0 is a standard query.
    pub opcode: u8,
    /// The name, in lower case.
    pub query: Option<String>,
    /// The type and class of the question.
    pub kind: Option<(u16, u16)>,
    /// The response code, with the bits of EDNS.
    pub rcode: Option<u16>,
    /// The answer is authoritative; `None` without an answer.
    pub is_authoritative: Option<bool>,
    /// The answer, or the question, was truncated; `None` where neither was captured.
    pub is_truncated: Option<bool>,
    /// Recursion was desired: where an answer has the flag, its question had it, too (RFC 1035, 4.1.1), except in
    /// link-local name resolution; `None` without a question where the answer lacks it.
    pub recursion_desired: Option<bool>,
    /// Recursion is available; `None` without an answer.
    pub recursion_available: Option<bool>,
    /// The three bits of the question that RFC 1035 reserved; `None` without a question.
    pub reserved: Option<u8>,
    /// The records of the answer section, each as one text.
    pub answers: Vec<String>,
    /// The times to live, in seconds.
    pub ttls: Vec<u32>,
    /// The answer has no records at all; `None` without an answer.
    pub is_rejected: Option<bool>,
    /// The reason why the question or the answer cannot be read to its end.
    pub fault: Option<DnsFault>,
}

/// Puts questions and answers together.
#[derive(Debug)]
pub struct Lookups<W> {
    /// Messages that wait for an answer, in the order in which they came.
    pending: BTreeMap<u64, Pending<W>>,
    /// The queries of a flow and number, the oldest first.
    by_key: HashMap<(u64, u16), VecDeque<u64>>,
    recent: RecentAnswers,
    next: u64,
    given_up: u64,
}

#[derive(Debug)]
struct Pending<W> {
    key: (u64, u16),
    /// Its packet, and when that came, by the time that has passed.
    sight: Sight,
    /// What it asks for, as [`content_of`] has it.
    content: u64,
    rows: Vec<Lookup<W>>,
}

/// Questions of one message that become rows, at most.
const ROWS_MAX: usize = 256;
/// The time that a question waits for its answer.
const PATIENCE_NS: i64 = 60_000_000_000;

impl<W> Default for Lookups<W> {
    fn default() -> Self {
        Self {
            pending: BTreeMap::new(),
            by_key: HashMap::new(),
            recent: RecentAnswers::default(),
            next: 0,
            given_up: 0,
        }
    }
}

impl<W: Clone> Lookups<W> {
    /// Questions that did not wait for their answers to the end, because there were more than 65,536.
    #[must_use]
    pub const fn given_up(&self) -> u64 {
        self.given_up
    }

    /// Whether a question with this number waits for its answer on this flow.
    #[must_use]
    pub fn is_asked(&self, flow: u64, id: u16) -> bool {
        self.by_key.contains_key(&(flow, id))
    }

    /// Adds the next message, and reports the lookups that are complete.
    pub fn take(
        &mut self,
        message: &DnsMessage<'_>,
        way: Way,
        from: &W,
        each: &mut dyn FnMut(Lookup<W>),
    ) {
        while let Some((_, oldest)) = self.pending.first_key_value()
            && (oldest.is_late(way) || self.pending.len() >= QUESTIONS_MAX)
        {
            if !oldest.is_late(way) {
                self.given_up = self.given_up.saturating_add(1);
            }
            self.give_oldest(each);
        }
        let key = (way.flow, message.id());
        if message.is_response() {
            let mut rows = self.answered(key, message, way).unwrap_or_default();
            if rows.is_empty() {
                rows = rows_of(message, way, from, false);
            }
            for mut row in rows {
                row.answer(message, way);
                each(row);
            }
            return;
        }
        self.next += 1;
        let rows = rows_of(message, way, from, true);
        let pending = Pending {
            key,
            sight: way.sight(),
            content: content_of(message),
            rows,
        };
        self.pending.insert(self.next, pending);
        self.by_key.entry(key).or_default().push_back(self.next);
    }

    /// Reports a lookup without an answer at the end; false when there are none.
    pub fn finish(&mut self, each: &mut dyn FnMut(Lookup<W>)) -> bool {
        self.give_oldest(each)
    }

    fn give_oldest(&mut self, each: &mut dyn FnMut(Lookup<W>)) -> bool {
        let Some((number, pending)) = self.pending.pop_first() else {
            return false;
        };
        if let Some(numbers) = self.by_key.get_mut(&pending.key) {
            numbers.retain(|waiting| *waiting != number);
            if numbers.is_empty() {
                self.by_key.remove(&pending.key);
            }
        }
        pending.rows.into_iter().for_each(each);
        true
    }

    /// The question that an answer with this key belongs to: the oldest that it repeats, or the oldest of all. That of the copy of an
    /// answer is a copy of its question, and no question that was sent again.
    fn answered(
        &mut self,
        key: (u64, u16),
        message: &DnsMessage<'_>,
        way: Way,
    ) -> Option<Vec<Lookup<W>>> {
        let numbers = self.by_key.get_mut(&key)?;
        let pending = &self.pending;
        let place = match self.recent.question_of_copy(key, way.sight()) {
            Some(question) => {
                let content = content_of(message);
                let is_its = |pending: &Pending<W>| {
                    pending.content == content && pending.sight.may_be_copy_of(question)
                };
                let mut all = numbers.iter();
                all.position(|number| pending.get(number).is_some_and(is_its))?
            }
            None if numbers.len() > 1 => {
                let content = content_of(message);
                let is_its = |number: &u64| {
                    pending.get(number).map(|pending| pending.content) == Some(content)
                };
                numbers.iter().position(is_its).unwrap_or(0)
            }
            None => 0,
        };
        let number = numbers.remove(place)?;
        if numbers.is_empty() {
            self.by_key.remove(&key);
        }
        let answered = self.pending.remove(&number)?;
        self.recent.note(key, answered.sight, way.sight());
        Some(answered.rows)
    }
}

impl<W> Pending<W> {
    /// Whether it has timed out at the time of the next message.
    fn is_late(&self, next: Way) -> bool {
        next.passed_ns.saturating_sub(self.sight.passed_ns) > PATIENCE_NS
    }
}

/// A row for each question of a message; one without a question when it has none.
fn rows_of<W: Clone>(
    message: &DnsMessage<'_>,
    way: Way,
    from: &W,
    is_asked: bool,
) -> Vec<Lookup<W>> {
    // The bit of an answer says something else there (RFC 4795, 2.1.1), and some servers clear it, so that only a set
    // one is a copy.
    let is_copied = message.dialect() != Dialect::LinkLocal && message.recursion_desired();
    let row = |question: Option<Question<'_>>| Lookup {
        way: from.clone(),
        is_asked,
        time_ns: way.time_ns,
        question_frame: is_asked.then_some(way.frame),
        answer_frame: None,
        rtt_ns: None,
        id: message.id(),
        opcode: message.opcode(),
        query: question.map(|question| question.name.to_string().to_lowercase()),
        kind: question.map(|question| (question.kind, question.class)),
        rcode: None,
        is_authoritative: None,
        is_truncated: message.is_truncated().then_some(true),
        recursion_desired: match is_asked {
            true => Some(message.recursion_desired()),
            false => is_copied.then_some(true),
        },
        recursion_available: None,
        reserved: is_asked.then(|| (message.flags() >> 4 & 7) as u8),
        answers: Vec::new(),
        ttls: Vec::new(),
        is_rejected: None,
        fault: is_asked.then(|| message.fault()).flatten(),
    };
    let mut rows: Vec<_> = message
        .questions()
        .take(ROWS_MAX)
        .map(|question| row(Some(question)))
        .collect();
    if rows.is_empty() {
        rows.push(row(None));
    }
    rows
}

impl<W> Lookup<W> {
    fn answer(&mut self, message: &DnsMessage<'_>, way: Way) {
        self.answer_frame = Some(way.frame);
        let asked_ns = self.time_ns.filter(|_| self.is_asked);
        self.rtt_ns = way
            .time_ns
            .zip(asked_ns)
            .and_then(|(now, then)| now.checked_sub(then));
        self.is_authoritative = Some(message.is_authoritative());
        if self.is_asked {
            let was_cut = self.is_truncated == Some(true) || message.is_truncated();
            self.is_truncated = Some(was_cut);
        }
        self.recursion_available = Some(message.recursion_available());
        let has_none = [Section::Answer, Section::Authority, Section::Additional]
            .iter()
            .all(|section| message.count(*section) == 0);
        self.fault = self.fault.or_else(|| message.fault());
        self.is_rejected = Some(message.count(Section::Question) > 0 && has_none);
        let mut rcode = u16::from(message.rcode());
        for record in message.records() {
            if record.kind == super::data::OPT {
                rcode |= (record.ttl >> 24) as u16 * 16;
            }
            if record.section == Section::Answer {
                self.answers.push(answer_text(&record));
                self.ttls.push(record.ttl);
            }
        }
        self.rcode = Some(rcode);
    }
}

/// A record as Zeek's `dns.log` writes it.
fn answer_text(record: &Record<'_>) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = match record.data() {
        Data::A(octets) => write!(text, "{}", Ipv4Addr::from(octets)),
        Data::Aaaa(octets) => write!(text, "{}", Ipv6Addr::from(octets)),
        Data::Name(name)
        | Data::Mx { exchange: name, .. }
        | Data::Soa { primary: name, .. }
        | Data::Srv { target: name, .. } => write!(text, "{}", name.to_string().to_lowercase()),
        Data::Text(strings) => {
            let word = if record.kind == 99 { "SPF" } else { "TXT" };
            for (at, string) in strings.enumerate() {
                let space = if at > 0 { " " } else { "" };
                let _ = write!(text, "{space}{word} {} ", string.len());
                crate::text::write(string, &mut text);
            }
            Ok(())
        }
        Data::Rrsig {
            covered, signer, ..
        } => {
            write!(
                text,
                "RRSIG {covered} {}",
                signer.to_string().to_lowercase()
            )
        }
        Data::Dnskey { algorithm, .. } => write!(text, "DNSKEY {algorithm}"),
        Data::Ds {
            algorithm,
            digest_type,
            ..
        } => write!(text, "DS {algorithm} {digest_type}"),
        Data::Nsec(next) => write!(text, "NSEC {} {next}", record.name),
        Data::Svcb { priority, target } => {
            let word = if record.kind == 65 { "HTTPS" } else { "SVCB" };
            write!(text, "{word} {priority} {target}")
        }
        _ => match type_word(record.kind) {
            Some(word) => write!(text, "{word}"),
            None => write!(text, "TYPE{}", record.kind),
        },
    };
    text
}
