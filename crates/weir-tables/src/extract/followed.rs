//! The TCP connections in which a protocol is searched for, and the limit of their memory.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use weir_flow::{Chunk, Content, Interest, Payload, Sender};

/// Connections that are followed, each with its state `C`, within a limit for all together.
#[derive(Debug)]
pub(crate) struct Followed<C> {
    /// The followed connections, with the number of bytes that each buffers.
    open: HashMap<u64, (C, usize)>,
    budget: Budget,
    /// The connections in which no message was recognised yet.
    undecided: HashMap<u64, Undecided>,
    not_understood: u64,
    /// The number of octets that were not captured before a connection was recognised.
    missed: u64,
}

/// The number of bytes that connections buffer, and its limit.
#[derive(Debug)]
struct Budget {
    held: usize,
    max: usize,
    given_up: u64,
}

impl Budget {
    /// Replaces the number of bytes that a connection buffers; returns false when the sum exceeds the limit.
    const fn change(&mut self, counted: &mut usize, now: usize) -> bool {
        self.held = self.held.saturating_sub(*counted);
        let all = self.held.saturating_add(now);
        if all > self.max {
            *counted = 0;
            self.given_up = self.given_up.saturating_add(1);
            return false;
        }
        *counted = now;
        self.held = all;
        true
    }

    const fn free(&mut self, counted: usize) {
        self.held = self.held.saturating_sub(counted);
    }
}

/// The classification of the first octets of a direction.
#[derive(Debug)]
pub(crate) enum Begin<C> {
    /// The octets begin a connection that is followed.
    With(C),
    /// The octets begin a connection that is followed if those of the other side do, too, and if there are enough whole messages in
    /// both; these have so many.
    Likely(C, usize),
    /// More octets are needed.
    Unsure,
    /// The octets are something else, but for this number of last ones, with which the protocol may begin.
    Within(usize),
    /// The octets are something that mostly precedes the protocol.
    Before,
    /// The octets are something else.
    Other,
}

impl<C> From<Option<C>> for Begin<C> {
    fn from(known: Option<C>) -> Self {
        known.map_or(Self::Other, Self::With)
    }
}

/// The number of octets of a connection that are searched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Looks {
    octets_max: u64,
    /// Whether the ports are those of the protocol, so that a connection without a message counts as not understood.
    is_expected: bool,
}

/// The number of octets of other protocols that are searched in a connection before a message is recognised.
const SEARCH_OCTETS_MAX: u64 = 1 << 16;
/// The same limit for connections with messages that often precede the protocol, such as requests before the one that
/// upgrades a connection.
const SEARCH_BEHIND_OCTETS_MAX: u64 = 1 << 20;
/// The same limit where only the first octets are searched, unless they ask a proxy for a tunnel: requests and answers
/// of the proxy, in both directions.
const TUNNEL_OCTETS_MAX: u64 = 1 << 14;
/// The number of octets of answers that wait for what they answer, at most.
const ANSWERS_OCTETS_MAX: usize = 1 << 12;
/// The number of whole messages of both sides, at least one of each, that prove a protocol between any ports.
const PROOF_MESSAGES: usize = 4;
/// The number of whole messages of one side within a connection that prove a protocol between any ports.
const PROOF_ALONE_MESSAGES: usize = 8;
/// The number of octets behind what precedes the protocol in which it is searched for from each piece on.
const LATER_OCTETS_MAX: usize = 1 << 9;
/// The number of octets of a direction that wait to be recognised, at most: the longest message of DNS.
const BEGUN_OCTETS_MAX: usize = 2 + u16::MAX as usize;

impl Looks {
    /// All pieces are searched, up to the maximum of octets.
    pub(crate) const MANY: Self = Self {
        octets_max: SEARCH_OCTETS_MAX,
        is_expected: false,
    };

    /// The first octets are searched, unless they are the rest of a message, as the connection began before the
    /// capture.
    pub(crate) const fn at_beginning(chunk: &Chunk<'_>, is_expected: bool) -> Self {
        let octets_max = if chunk.saw_start {
            0
        } else {
            SEARCH_OCTETS_MAX
        };
        Self {
            octets_max,
            is_expected,
        }
    }
}

/// A connection in which no message was recognised yet.
#[derive(Debug, Default)]
struct Undecided {
    /// The number of octets that were something else.
    passed: u64,
    /// Whether something was found that mostly precedes the protocol.
    is_before: bool,
    /// Octets are missing, so that those behind them may be the rest of a message.
    is_behind_gap: bool,
    /// The number of octets that are missing.
    missing: u64,
    /// The sender of the first octets, which answer octets of the other side that were captured later: these decide.
    answers: Option<Sender>,
    /// The possible beginning of a message in each direction, and the pieces in which it came.
    begun: [Vec<u8>; 2],
    pieces: Vec<BeginningPiece>,
    /// The number of its bytes that count for the limit.
    counted: usize,
}

/// The origin of a piece of a possible beginning.
#[derive(Clone, Debug)]
struct BeginningPiece {
    sender: Sender,
    octets: usize,
    offset: u64,
    acknowledged: Option<u64>,
    time_ns: Option<i64>,
    passed_ns: i64,
    frame: u64,
    others: Box<[u64]>,
}

impl Undecided {
    /// The number of octets of it that are searched.
    fn octets_max(&self, looks: Looks) -> u64 {
        let octets_max = match self.is_behind_gap {
            true => looks.octets_max.max(SEARCH_OCTETS_MAX),
            false => looks.octets_max,
        };
        match self.is_before {
            true if octets_max > 0 => octets_max.max(SEARCH_BEHIND_OCTETS_MAX),
            true => TUNNEL_OCTETS_MAX,
            false => octets_max,
        }
    }

    /// Whether nothing was passed over or is missing, and no answer waits.
    const fn is_whole(&self) -> bool {
        self.passed == 0 && !self.is_before && !self.is_behind_gap && self.answers.is_none()
    }

    fn begun(&mut self, sender: Sender) -> &mut Vec<u8> {
        let [low, high] = &mut self.begun;
        match sender {
            Sender::Low => low,
            Sender::High => high,
        }
    }

    /// Begins a connection whose octets of this sender are likely to be of the protocol, once those of the other side are, or there are
    /// many messages.
    fn proven<C>(
        &self,
        sender: Sender,
        (known, messages): (C, usize),
        begin: impl Fn(&[u8], u64) -> Begin<C>,
    ) -> Begin<C> {
        let [low, high] = &self.begun;
        let others = match sender {
            Sender::Low => high,
            Sender::High => low,
        };
        // The octets of the other side are not the first ones of the connection either.
        let answers = match begin(others, 1) {
            Begin::Likely(_, answers) => answers,
            _ => 0,
        };
        let are_enough = messages.saturating_add(answers) >= PROOF_MESSAGES;
        let are_of_both = messages > 0 && answers > 0 && are_enough;
        match are_of_both || messages >= PROOF_ALONE_MESSAGES {
            true => Begin::With(known),
            false => Begin::Unsure,
        }
    }

    fn held(&self) -> usize {
        let octets: usize = self.begun.iter().map(Vec::capacity).sum();
        let pieces = self
            .pieces
            .capacity()
            .saturating_mul(size_of::<BeginningPiece>());
        let others: usize = self.pieces.iter().map(|piece| piece.others.len()).sum();
        octets
            .saturating_add(pieces)
            .saturating_add(others.saturating_mul(size_of::<u64>()))
    }

    /// Stores a piece that may be the beginning of a message, or continues one.
    fn hold(&mut self, payload: &Payload<'_>, chunk: &Chunk<'_>, bytes: &[u8]) {
        self.begun(chunk.sender).extend_from_slice(bytes);
        self.pieces.push(BeginningPiece {
            sender: chunk.sender,
            octets: bytes.len(),
            offset: chunk.offset,
            acknowledged: chunk.acknowledged,
            time_ns: payload.time_ns,
            passed_ns: payload.passed_ns,
            frame: payload.frame,
            others: payload.others.into(),
        });
    }

    /// Discards the possible beginning of a direction; `last` octets of it are counted elsewhere.
    fn drop_begun(&mut self, sender: Sender, last: usize) {
        let begun = std::mem::take(self.begun(sender));
        let passed = begun.len().saturating_sub(last) as u64;
        self.passed = self.passed.saturating_add(passed);
        self.pieces.retain(|piece| piece.sender != sender);
    }

    /// Keeps the last octets of the possible beginning of a direction; those before them are something else.
    fn keep_last(&mut self, sender: Sender, octets: usize) {
        let begun = self.begun(sender);
        let dropped = begun.len().saturating_sub(octets);
        let last = begun.split_off(dropped);
        *begun = last;
        self.passed = self.passed.saturating_add(dropped as u64);
        let mut rest = dropped;
        self.pieces.retain_mut(|piece| {
            if piece.sender != sender {
                return true;
            }
            let here = rest.min(piece.octets);
            rest = rest.saturating_sub(here);
            piece.octets = piece.octets.saturating_sub(here);
            piece.offset = piece.offset.saturating_add(here as u64);
            piece.octets > 0
        });
    }

    /// Classifies all octets of a direction that wait, the last of which are `bytes`. `None` where they are something else.
    fn judge<C>(
        &mut self,
        looks: Looks,
        (chunk, bytes): (&Chunk<'_>, &[u8]),
        begin: impl Fn(&[u8], u64) -> Begin<C>,
    ) -> Option<Begin<C>> {
        let sender = chunk.sender;
        let begun = self.begun(sender);
        let octets = begun.len();
        if octets > BEGUN_OCTETS_MAX {
            return None;
        }
        let earlier = octets.saturating_sub(bytes.len()) as u64;
        let answer = match begin(begun, chunk.offset.saturating_sub(earlier)) {
            Begin::Likely(known, messages) => self.proven(sender, (known, messages), &begin),
            answer => answer,
        };
        // Behind a request for a tunnel. Elsewhere few octets may say that a connection begins, wherever they stand.
        let is_searched = self.is_before && looks.octets_max == 0 && octets <= LATER_OCTETS_MAX;
        match answer {
            // None of the octets that precede the protocol begins it.
            Begin::Before => {
                self.is_before = true;
                self.drop_begun(sender, bytes.len());
                Some(Begin::Before)
            }
            Begin::Other if is_searched => self.later((chunk, bytes), begin),
            Begin::Other => None,
            Begin::Unsure if is_searched => {
                let later = self.certain_later((chunk, bytes), begin);
                Some(later.map_or(Begin::Unsure, Begin::With))
            }
            Begin::Within(octets) => {
                let octets = match begin(bytes, chunk.offset) {
                    Begin::With(_) => 0,
                    Begin::Unsure => octets.max(bytes.len()),
                    _ => octets,
                };
                // The octets begin the protocol without those before them.
                (octets > 0).then(|| {
                    self.keep_last(sender, octets);
                    Begin::Within(octets)
                })
            }
            Begin::With(_) | Begin::Likely(..) | Begin::Unsure => Some(answer),
        }
    }

    /// Classifies the octets of a direction from each of its later pieces on, as those before it are something else. `None` where none
    /// of these pieces begins the protocol, except the last one, `bytes`, which is left to the caller.
    fn later<C>(
        &mut self,
        (chunk, bytes): (&Chunk<'_>, &[u8]),
        begin: impl Fn(&[u8], u64) -> Begin<C>,
    ) -> Option<Begin<C>> {
        let sender = chunk.sender;
        loop {
            let first = self.pieces.iter().find(|piece| piece.sender == sender);
            let octets = first?.octets;
            let rest = self.begun(sender).len().saturating_sub(octets);
            if rest <= bytes.len() {
                return None;
            }
            self.keep_last(sender, rest);
            let earlier = rest.saturating_sub(bytes.len()) as u64;
            match begin(self.begun(sender), chunk.offset.saturating_sub(earlier)) {
                Begin::Before | Begin::Other => {}
                Begin::Likely(known, messages) => {
                    return Some(self.proven(sender, (known, messages), begin));
                }
                Begin::Within(octets) => {
                    self.keep_last(sender, octets);
                    return Some(Begin::Within(octets));
                }
                answer => return Some(answer),
            }
        }
    }

    /// The connection that certainly begins with a later piece of a direction, while its octets from the first piece on only may begin
    /// one: what precedes the protocol may look like the header of a long message.
    fn certain_later<C>(
        &mut self,
        (chunk, bytes): (&Chunk<'_>, &[u8]),
        begin: impl Fn(&[u8], u64) -> Begin<C>,
    ) -> Option<C> {
        let [low, high] = &self.begun;
        let begun = match chunk.sender {
            Sender::Low => low,
            Sender::High => high,
        };
        let end = chunk.offset.saturating_add(bytes.len() as u64);
        let pieces = self.pieces.iter().filter(|it| it.sender == chunk.sender);
        let mut rests = pieces.scan(begun.len(), |rest, piece| {
            *rest = rest.saturating_sub(piece.octets);
            Some(*rest)
        });
        let (rest, known) = rests.find_map(|rest| {
            let behind = begun.get(begun.len().saturating_sub(rest)..)?;
            match begin(behind, end.saturating_sub(rest as u64)) {
                Begin::With(known) if rest > 0 => Some((rest, known)),
                _ => None,
            }
        })?;
        self.keep_last(chunk.sender, rest);
        Some(known)
    }

    /// Drops the pieces of the other side that came before it had anything of the message that `sender` begins: they answer the request
    /// for a tunnel.
    fn drop_answers(&mut self, sender: Sender) {
        let first = self.pieces.iter().find(|piece| piece.sender == sender);
        let Some(start) = first.map(|piece| piece.offset) else {
            return;
        };
        let other = match sender {
            Sender::Low => Sender::High,
            Sender::High => Sender::Low,
        };
        let others = self.pieces.iter().filter(|piece| piece.sender == other);
        let answers = others.take_while(|piece| piece.acknowledged.is_some_and(|it| it <= start));
        let octets: usize = answers.map(|piece| piece.octets).sum();
        let rest = self.begun(other).len().saturating_sub(octets);
        self.keep_last(other, rest);
    }

    /// Passes the pieces on, in the order in which they came, until one is not wanted.
    fn release(
        &self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        each: &mut dyn FnMut(&Payload<'_>, &Chunk<'_>) -> bool,
    ) -> bool {
        let [mut low, mut high] = self.begun.each_ref().map(Vec::as_slice);
        let last = self.pieces.len().saturating_sub(1);
        self.pieces.iter().enumerate().all(|(at, piece)| {
            let rest = match piece.sender {
                Sender::Low => &mut low,
                Sender::High => &mut high,
            };
            let (bytes, behind) = rest.split_at(piece.octets.min(rest.len()));
            *rest = behind;
            let chunk = Chunk {
                sender: piece.sender,
                from_originator: chunk.from_originator == (piece.sender == chunk.sender),
                offset: piece.offset,
                acknowledged: piece.acknowledged,
                time_ns: piece.time_ns,
                frame: piece.frame,
                is_last: chunk.is_last && at == last,
                content: Content::Bytes(bytes),
                ..*chunk
            };
            let mut payload = payload.with_stream(&chunk);
            payload.sender = piece.sender;
            payload.time_ns = piece.time_ns;
            payload.passed_ns = piece.passed_ns;
            payload.frame = piece.frame;
            payload.others = &piece.others;
            each(&payload, &chunk)
        })
    }
}

impl<C> Followed<C> {
    /// Creates a state without connections. A connection with which all buffer more than `held_bytes_max` is given up.
    pub(crate) fn new(held_bytes_max: usize) -> Self {
        Self {
            open: HashMap::new(),
            budget: Budget {
                held: 0,
                max: held_bytes_max,
                given_up: 0,
            },
            undecided: HashMap::new(),
            not_understood: 0,
            missed: 0,
        }
    }

    /// Whether a connection is followed.
    pub(crate) fn is_open(&self, connection: u64) -> bool {
        self.open.contains_key(&connection)
    }

    /// What is known of a connection that is followed.
    pub(crate) fn of(&mut self, connection: u64) -> Option<&mut C> {
        self.open.get_mut(&connection).map(|(known, _)| known)
    }

    /// Whether octets of a connection that is not recognised yet are missing.
    pub(crate) fn is_behind_gap(&self, connection: u64) -> bool {
        !self.undecided.is_empty()
            && self
                .undecided
                .get(&connection)
                .is_some_and(|undecided| undecided.is_behind_gap)
    }

    /// Whether a connection that is not recognised yet has something that mostly precedes the protocol, such as a request for a tunnel:
    /// its ports say nothing.
    pub(crate) fn is_before(&self, connection: u64) -> bool {
        !self.undecided.is_empty()
            && self
                .undecided
                .get(&connection)
                .is_some_and(|undecided| undecided.is_before)
    }

    /// The number of connections that were given up because of the limit.
    pub(crate) const fn given_up(&self) -> u64 {
        self.budget.given_up
    }

    /// The number of connections with ports of the protocol in which no message was recognised.
    pub(crate) const fn not_understood(&self) -> u64 {
        self.not_understood
    }

    /// The number of octets that were not captured in connections before these were recognised, since the last call.
    pub(crate) fn take_missed(&mut self) -> u64 {
        std::mem::take(&mut self.missed)
    }

    /// Reads a chunk of a connection. `begin` gets the first bytes of a new connection, and returns `None` to ignore
    /// it; `take` reads the chunk and returns how many bytes it buffers now, `None` when nothing more of the connection
    /// is needed.
    pub(crate) fn chunk(
        &mut self,
        chunk: &Chunk<'_>,
        begin: impl FnOnce(&[u8]) -> Option<C>,
        take: impl FnOnce(&mut C) -> Option<usize>,
    ) -> Interest {
        let (known, counted) = match self.open.entry(chunk.connection) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let Content::Bytes(bytes) = chunk.content else {
                    return Interest::Follow;
                };
                let Some(known) = begin(bytes) else {
                    return Interest::Ignore;
                };
                place.insert((known, 0))
            }
        };
        match take(known) {
            Some(now) if self.budget.change(counted, now) => return Interest::Follow,
            Some(_) => {}
            None => self.budget.free(*counted),
        }
        self.open.remove(&chunk.connection);
        Interest::Ignore
    }

    /// Reads a chunk as [`Self::chunk`]. A new connection may begin with octets that were not captured, of which `begin`
    /// gets none.
    pub(crate) fn chunk_or_gap(
        &mut self,
        chunk: &Chunk<'_>,
        begin: impl FnOnce(&[u8]) -> Option<C>,
        take: impl FnOnce(&mut C) -> Option<usize>,
    ) -> Interest {
        let is_known = self.open.contains_key(&chunk.connection);
        if is_known || !matches!(chunk.content, Content::Gap(_)) {
            return self.chunk(chunk, begin, take);
        }
        let Some(known) = begin(&[]) else {
            return Interest::Ignore;
        };
        self.open.insert(chunk.connection, (known, 0));
        self.chunk(chunk, |_| None, take)
    }

    /// Reads the chunk of a payload. `begin` gets all octets of a direction that it has not recognised yet, and how
    /// many octets are before them; once it recognises them, the pieces are passed on as they came. A connection that
    /// is not recognised, or that is over and for which `is_understood` is false, is searched again with its next
    /// chunks, as far as `looks` allows.
    pub(crate) fn chunk_again(
        &mut self,
        looks: Looks,
        (payload, chunk): (&Payload<'_>, &Chunk<'_>),
        begin: impl Fn(&[u8], u64) -> Begin<C>,
        mut take: impl FnMut(&mut C, &Payload<'_>, &Chunk<'_>) -> Option<usize>,
        is_understood: impl Fn(&C) -> bool,
    ) -> Interest {
        if let Some((known, counted)) = self.open.get_mut(&chunk.connection) {
            let wanted = take(known, payload, chunk);
            let is_over = match wanted {
                Some(now) if self.budget.change(counted, now) => return Interest::Follow,
                Some(_) => true,
                None => {
                    self.budget.free(*counted);
                    is_understood(known)
                }
            };
            self.open.remove(&chunk.connection);
            if is_over {
                return self.forget(chunk);
            }
            // The piece that ended this state may be a beginning by itself.
        }
        let Content::Bytes(bytes) = chunk.content else {
            return self.interrupt(looks, chunk);
        };
        let mut known = match self.judge(looks, (payload, chunk, bytes), begin) {
            Begin::With(known) => known,
            Begin::Likely(..) | Begin::Unsure => return self.wait(looks, chunk),
            Begin::Within(_) => return self.wait_within(looks, chunk),
            Begin::Before => {
                let undecided = self.undecided.entry(chunk.connection).or_default();
                undecided.is_before = true;
                // What answers it is not of the protocol either.
                if let Some(sender) = undecided.answers.take() {
                    undecided.drop_begun(sender, 0);
                }
                return self.pass(looks, chunk, bytes);
            }
            Begin::Other if looks.octets_max == 0 && self.is_early_answer(chunk) => {
                let undecided = self.undecided.entry(chunk.connection).or_default();
                undecided.answers = Some(chunk.sender);
                undecided.hold(payload, chunk, bytes);
                return self.wait(looks, chunk);
            }
            Begin::Other => return self.pass(looks, chunk, bytes),
        };
        let mut wanted = Some(0);
        let mut each = |payload: &Payload<'_>, chunk: &Chunk<'_>| {
            wanted = take(&mut known, payload, chunk);
            wanted.is_some()
        };
        match self.released(looks, chunk) {
            Some(undecided) => undecided.release(payload, chunk, &mut each),
            None => each(payload, chunk),
        };
        let Some(now) = wanted else {
            return match is_understood(&known) {
                true => self.forget(chunk),
                false => self.pass(looks, chunk, bytes),
            };
        };
        let mut counted = 0;
        if !self.budget.change(&mut counted, now) {
            return self.forget(chunk);
        }
        self.open.insert(chunk.connection, (known, counted));
        Interest::Follow
    }

    /// Classifies octets of a connection that is not followed, with those of their direction that were not recognised
    /// before.
    fn judge(
        &mut self,
        looks: Looks,
        (payload, chunk, bytes): (&Payload<'_>, &Chunk<'_>, &[u8]),
        begin: impl Fn(&[u8], u64) -> Begin<C>,
    ) -> Begin<C> {
        let Some(undecided) = self.undecided(chunk) else {
            let answer = begin(bytes, chunk.offset);
            if let Begin::Likely(..) | Begin::Unsure | Begin::Within(_) = answer {
                let undecided = self.undecided.entry(chunk.connection).or_default();
                undecided.hold(payload, chunk, bytes);
                if let Begin::Within(octets) = answer {
                    undecided.keep_last(chunk.sender, octets);
                }
            }
            return match answer {
                Begin::Likely(known, messages) if messages >= PROOF_ALONE_MESSAGES => {
                    Begin::With(known)
                }
                answer => answer,
            };
        };
        if undecided.answers == Some(chunk.sender) {
            undecided.hold(payload, chunk, bytes);
            let begun = undecided.begun(chunk.sender);
            if begun.len() > ANSWERS_OCTETS_MAX {
                return Begin::Other;
            }
            // What they answer may not have been captured at all. The octets are not the first ones of the connection.
            return match begin(begun, 1) {
                Begin::Likely(known, messages) if messages >= PROOF_MESSAGES => Begin::With(known),
                _ => Begin::Unsure,
            };
        }
        if !undecided.begun(chunk.sender).is_empty() {
            undecided.hold(payload, chunk, bytes);
            let answer = undecided.judge(looks, (chunk, bytes), &begin);
            if answer.is_none() {
                undecided.drop_begun(chunk.sender, bytes.len());
            }
            if undecided.passed > undecided.octets_max(looks) {
                return Begin::Other;
            }
            if let Some(answer) = answer {
                return answer;
            }
        }
        let answer = begin(bytes, chunk.offset);
        let is_held = match answer {
            Begin::With(_) => !undecided.pieces.is_empty(),
            Begin::Likely(..) | Begin::Unsure | Begin::Within(_) => true,
            Begin::Before | Begin::Other => false,
        };
        if is_held {
            undecided.hold(payload, chunk, bytes);
        }
        if let Begin::Within(octets) = answer {
            undecided.keep_last(chunk.sender, octets);
        }
        match answer {
            Begin::Likely(known, messages) => {
                undecided.proven(chunk.sender, (known, messages), begin)
            }
            answer => answer,
        }
    }

    /// Whether octets are the first of their direction, although their sender has received more by then than was seen, which
    /// follows in the capture.
    fn is_early_answer(&mut self, chunk: &Chunk<'_>) -> bool {
        let is_first = chunk.saw_start && chunk.offset == 0 && !chunk.is_last;
        if !is_first {
            return false;
        }
        let seen = match self.undecided(chunk) {
            None => 0,
            // The beginning of what is answered may be there.
            Some(undecided) if undecided.is_whole() => {
                undecided.begun.iter().map(Vec::len).sum::<usize>() as u64
            }
            Some(_) => return false,
        };
        chunk.acknowledged > Some(seen)
    }

    /// The state of a connection that is not recognised yet.
    fn undecided(&mut self, chunk: &Chunk<'_>) -> Option<&mut Undecided> {
        // Most connections are recognised by their first segment.
        match self.undecided.is_empty() {
            true => None,
            false => self.undecided.get_mut(&chunk.connection),
        }
    }

    /// The pieces of a connection that were held, where there are any.
    fn released(&mut self, looks: Looks, chunk: &Chunk<'_>) -> Option<Undecided> {
        let held = self.undecided(chunk)?;
        let mut released = std::mem::take(held);
        held.passed = released.passed;
        held.is_before = released.is_before;
        held.is_behind_gap = released.is_behind_gap;
        if held.passed == 0 {
            self.undecided.remove(&chunk.connection);
        }
        self.missed = self.missed.saturating_add(released.missing);
        self.budget.free(released.counted);
        if released.is_before && looks.octets_max == 0 {
            released.drop_answers(chunk.sender);
        }
        Some(released).filter(|it| !it.pieces.is_empty())
    }

    /// Waits for more octets of a connection.
    fn wait(&mut self, looks: Looks, chunk: &Chunk<'_>) -> Interest {
        if chunk.is_last {
            return self.leave(looks, chunk);
        }
        let Some(undecided) = self.undecided.get_mut(&chunk.connection) else {
            return Interest::Follow;
        };
        let now = undecided.held();
        match self.budget.change(&mut undecided.counted, now) {
            true => Interest::Follow,
            false => self.forget(chunk),
        }
    }

    /// Waits for more octets of a connection whose last ones may be a beginning, as far as it is searched.
    fn wait_within(&mut self, looks: Looks, chunk: &Chunk<'_>) -> Interest {
        let undecided = self.undecided(chunk);
        match undecided.is_some_and(|it| it.passed > it.octets_max(looks)) {
            true => self.leave(looks, chunk),
            false => self.wait(looks, chunk),
        }
    }

    /// Counts octets of a connection that are something else.
    fn pass(&mut self, looks: Looks, chunk: &Chunk<'_>, bytes: &[u8]) -> Interest {
        let octets = bytes.len() as u64;
        let octets_max = self
            .undecided(chunk)
            .map_or(looks.octets_max, |undecided| undecided.octets_max(looks));
        if chunk.is_last || octets > octets_max {
            return self.leave(looks, chunk);
        }
        let undecided = self.undecided.entry(chunk.connection).or_default();
        undecided.passed = undecided.passed.saturating_add(octets);
        if undecided.passed > octets_max {
            return self.leave(looks, chunk);
        }
        match undecided.counted == 0 && undecided.pieces.is_empty() {
            true => Interest::Follow,
            false => self.wait(looks, chunk),
        }
    }

    /// Ends what has begun in a connection that is not open, because octets are missing or a direction is over.
    fn interrupt(&mut self, looks: Looks, chunk: &Chunk<'_>) -> Interest {
        if let Content::Gap(octets) = chunk.content {
            let undecided = self.undecided.entry(chunk.connection).or_default();
            undecided.is_behind_gap = true;
            undecided.missing = undecided.missing.saturating_add(octets);
        }
        let Some(undecided) = self.undecided(chunk) else {
            return Interest::Follow;
        };
        undecided.drop_begun(chunk.sender, 0);
        self.wait(looks, chunk)
    }

    /// Stops searching a connection.
    fn leave(&mut self, looks: Looks, chunk: &Chunk<'_>) -> Interest {
        let is_expected = looks.is_expected.into();
        self.not_understood = self.not_understood.saturating_add(is_expected);
        self.forget(chunk)
    }

    /// Discards the state of a connection.
    fn forget(&mut self, chunk: &Chunk<'_>) -> Interest {
        if !self.undecided.is_empty()
            && let Some(undecided) = self.undecided.remove(&chunk.connection)
        {
            self.budget.free(undecided.counted);
        }
        Interest::Ignore
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use weir_flow::{Carried, Payloads};
    use weir_packet::{Decoder, Frame, LinkType};
    use weir_testkit::packet::{Ipv4, Tcp, protocol, tcp_flags};

    use super::*;

    /// A segment of a client, of the connection with this port; `sent` octets were sent between the SYN and it.
    fn segment(port: u16, flags: u8, sent: u32, bytes: &[u8]) -> Vec<u8> {
        let [client, server] = [1, 2].map(|last| Ipv4Addr::new(10, 0, 0, last));
        let tcp = Tcp::new(port, 6_000).flags(flags).numbers(sent, 1);
        let segment = tcp.segment(client.into(), server.into(), bytes);
        Ipv4::new(client, server, protocol::TCP).packet(&segment)
    }

    /// Follows the connections of packets that begin by this, each for ever; returns the frames of the pieces, with
    /// their octets.
    fn follow(
        followed: &mut Followed<()>,
        packets: &[Vec<u8>],
        begin: impl Fn(&[u8]) -> Begin<()>,
    ) -> Vec<(u64, usize)> {
        let mut taken = Vec::new();
        let mut payloads = Payloads::new();
        let mut decoder = Decoder::default();
        let mut each = |payload: &Payload<'_>| {
            let Carried::Stream(chunk) = payload.carried else {
                return Interest::Ignore;
            };
            followed.chunk_again(
                Looks::at_beginning(chunk, true),
                (payload, chunk),
                |bytes, _| begin(bytes),
                |(), _, chunk| {
                    if let Content::Bytes(bytes) = chunk.content {
                        taken.push((chunk.frame, bytes.len()));
                    }
                    (!chunk.is_last).then_some(0)
                },
                |()| true,
            )
        };
        for (number, packet) in (1..).zip(packets) {
            let mut frame = Frame::new(LinkType(101), packet);
            frame.number = number;
            payloads.packet(&decoder.decode(frame), &mut each);
        }
        payloads.finish(&mut each);
        taken
    }

    /// A connection of `segments` segments of `octets` octets.
    fn connection(port: u16, octets: usize, segments: u32) -> Vec<Vec<u8>> {
        let mut packets = vec![segment(port, tcp_flags::SYN, 0, b"")];
        packets.extend((0..segments).map(|at| {
            let sent = 1 + at * octets as u32;
            segment(port, tcp_flags::ACK, sent, &vec![b'x'; octets])
        }));
        packets
    }

    #[test]
    fn pieces_of_a_beginning_are_handed_on_as_they_came() {
        let mut followed = Followed::new(1 << 20);
        let begin = |bytes: &[u8]| match bytes.len() {
            10.. => Begin::With(()),
            _ => Begin::Unsure,
        };
        let taken = follow(&mut followed, &connection(1, 4, 5), begin);
        assert_eq!(taken, [(2, 4), (3, 4), (4, 4), (5, 4), (6, 4)]);
        assert_eq!((followed.given_up(), followed.not_understood()), (0, 0));
        assert!(followed.undecided.is_empty() && followed.open.is_empty());
        assert_eq!(followed.budget.held, 0);
    }

    #[test]
    fn what_never_becomes_anything_is_left_and_counted() {
        let mut followed = Followed::new(1 << 30);
        // There are more octets than a beginning may have.
        let packets = connection(1, 1_000, 80);
        let taken = follow(&mut followed, &packets, |_| Begin::Unsure);
        assert_eq!((taken, followed.not_understood()), (Vec::new(), 1));
        assert!(followed.undecided.is_empty());
        assert_eq!(followed.budget.held, 0);
        // The connection ends before that.
        let taken = follow(&mut followed, &packets[..20], |_| Begin::Unsure);
        assert_eq!((taken, followed.not_understood()), (Vec::new(), 2));
        // The octets are something else from the first on, or from a later one.
        for known in [0, 1_500] {
            let begin = |bytes: &[u8]| match bytes.len() > known {
                true => Begin::Other,
                false => Begin::Unsure,
            };
            follow(&mut followed, &packets, begin);
            assert!(followed.undecided.is_empty());
        }
        assert_eq!((followed.not_understood(), followed.given_up()), (4, 0));
        assert_eq!(followed.budget.held, 0);
    }

    #[test]
    fn beginnings_of_many_connections_stay_within_the_limit() {
        let most = 20_000;
        let mut followed = Followed::new(most);
        let mut packets = Vec::new();
        for port in 1..=100 {
            packets.extend(connection(port, 100, 3));
        }
        follow(&mut followed, &packets, |_| Begin::Unsure);
        // The pieces count as well as the octets.
        let each = 300 + 3 * size_of::<BeginningPiece>();
        assert!(followed.given_up() >= 100 - (most / each) as u64);
        assert_eq!(followed.given_up() + followed.not_understood(), 100);
        assert!(followed.undecided.is_empty());
        assert_eq!(followed.budget.held, 0);
    }
}
