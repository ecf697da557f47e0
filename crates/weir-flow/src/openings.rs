//! Recognises what TCP streams carry by their octets, however segments divide them.
//!
//! A direction is looked at from where it begins, and from where it begins again after the other one: at what is there of
//! these octets with each segment. Segments that come too early are looked at by themselves as well, and so is each one of
//! a connection whose beginning was not captured, as no other place is known where something may begin.

use std::collections::HashMap;

use crate::detect::{Application, Context, contains, detect};
use crate::fragment::Overlap;
use crate::key::Sender;
use crate::segment::{SYN, Segment};
use crate::sighting::Sighting;
use crate::stream::{Carrier, Part, Reassembler};
use crate::table::{FlowTable, Seen};

/// The connections of which it is not known for good what they carry.
#[derive(Debug, Default)]
pub(crate) struct Openings {
    open: HashMap<u64, Box<Opening>>,
    /// Octets that are kept of all of them.
    held: usize,
    /// Segments that were looked at by themselves, as too much was kept of other connections.
    pub(crate) refused: u64,
}

/// A connection.
#[derive(Debug)]
struct Opening {
    sides: [OpeningSide; 2],
    /// The sender of the last octets.
    turn: Option<Sender>,
    /// The beginning of a line was taken for HTTP.
    is_guess: bool,
}

/// A direction of a connection.
#[derive(Debug)]
struct OpeningSide {
    stream: Reassembler,
    /// The first octets since the other direction said something.
    run: Vec<u8>,
    /// The application that the run was recognised as so far.
    found: Application,
    /// Further octets of the run do not change the result.
    is_decided: bool,
}

/// Packets of each direction whose payload is checked by itself, to recognise the application.
pub(crate) const LOOKED_AT_MAX: u32 = 16;
/// The octets of a direction that are searched for the application of the connection.
pub(crate) const OCTETS_MAX: u64 = 32_768;
/// The maximum octets that are read from one place: a head that upgrades to another protocol.
const RUN_OCTETS_MAX: usize = 4_096;
/// Octets that wait for others of their direction.
const WAITING_OCTETS_MAX: usize = 16_384;
/// Connections at one time, and octets that are kept of all.
const CONNECTIONS_MAX: usize = 1 << 16;
const HELD_OCTETS_MAX: usize = 64 << 20;

impl OpeningSide {
    const fn new() -> Self {
        Self {
            stream: Reassembler::new(Overlap::First),
            run: Vec::new(),
            found: Application::Unknown,
            is_decided: false,
        }
    }

    fn held(&self) -> usize {
        self.stream.held() + self.run.capacity()
    }

    /// Adds a segment, and returns the application of the octets that are now in order; `None` when there are none.
    fn take(
        &mut self,
        seq: u32,
        (segment, payload): (&Segment, &[u8]),
        is_turn: bool,
        context: &Context,
    ) -> Option<Application> {
        let Self {
            stream,
            run,
            found,
            is_decided,
        } = self;
        let mut is_turn = is_turn;
        let mut all = None;
        let mut part = |_, part: Part<'_>, _| {
            let is_gap = matches!(part, Part::Gap(_));
            if std::mem::take(&mut is_turn) || is_gap {
                run.clear();
                (*found, *is_decided) = (Application::Unknown, false);
            }
            let Part::Bytes(bytes) = part else {
                return;
            };
            if !*is_decided {
                let room = RUN_OCTETS_MAX.saturating_sub(run.len()).min(bytes.len());
                run.extend_from_slice(bytes.get(..room).unwrap_or_default());
                *found = detect(run, context);
                *is_decided = run.len() >= RUN_OCTETS_MAX
                    || *found == Application::Http && is_decided_by(run);
                if *is_decided {
                    *run = Vec::new();
                }
            }
            // An application that was recognised before a gap counts as well.
            all = match (all, *found) {
                (Some(known), Application::Unknown) => Some(known),
                (_, found) => Some(found),
            };
        };
        match segment.may_be_padding {
            true => stream.doubtful(seq, payload, Carrier::default(), &mut part),
            false => stream.data(seq, payload, segment.len, Carrier::default(), &mut part),
        }
        while stream.held() > WAITING_OCTETS_MAX && stream.skip_hole(&mut part) {}
        let is_held = segment.may_be_padding && stream.next_number() == Some(seq);
        if is_held && all.unwrap_or_default() == Application::Unknown {
            // Octets that may be padding count if the application is known by them.
            let before: &[u8] = if is_turn { &[] } else { run.as_slice() };
            let found = detect(&[before, payload].concat(), context);
            if found != Application::Unknown {
                return Some(found);
            }
        }
        all
    }
}

impl Openings {
    /// Adds the payload of a segment, until the application of its connection is known.
    pub(crate) fn segment(
        &mut self,
        table: &mut FlowTable,
        (sighting, segment): (&Sighting, &Segment),
        seen: &Seen,
        payload: &[u8],
        context: &Context,
    ) {
        let Some(known) = table.open_application(seen) else {
            return;
        };
        let seq = segment.seq.wrapping_add((segment.flags & SYN != 0).into());
        let first = table.first_number(seen);
        let is_first = first.is_some_and(|first| first == seq);
        if is_first && !segment.may_be_padding && !self.open.contains_key(&seen.number) {
            // Most say it with their first segment.
            let found = detect(payload, context);
            if !matches!(found, Application::Unknown | Application::Http) {
                table.set_application(seen, found, true);
                return;
            }
        }
        let Some(opening) = self.opening(seen.number) else {
            let is_spent = table.packets_of(seen) >= LOOKED_AT_MAX;
            decide(table, seen, known, detect(payload, context), is_spent);
            return;
        };
        let side = usize::from(sighting.sender == Sender::High);
        let before = opening.held();
        let is_turn = opening.turn.is_some_and(|turn| turn != sighting.sender);
        let is_guess = std::mem::take(&mut opening.is_guess);
        let [low, high] = &mut opening.sides;
        let own = if side == 0 { low } else { high };
        own.stream.begin(first.unwrap_or(seq));
        let taken = own.take(seq, (segment, payload), is_turn, context);
        if taken.is_some() {
            opening.turn = Some(sighting.sender);
        }
        let is_spent = own.stream.offset() >= OCTETS_MAX;
        let waits = taken.is_none() && own.stream.has_hole();
        let is_by_itself = (waits || first.is_none()) && !segment.may_be_padding;
        let found = match taken.unwrap_or_default() {
            Application::Unknown if is_by_itself => detect(payload, context),
            found => found,
        };
        // The rest of its first line may say that it is something else.
        let is_open = found == Application::Http && !own.is_decided;
        opening.is_guess = is_open && (is_guess || known != Application::Http);
        let is_other = is_guess && !is_turn && taken == Some(Application::Unknown);
        let now = opening.held();
        self.held = self.held.saturating_sub(before).saturating_add(now);
        if is_other && found == Application::Unknown {
            table.set_application(seen, found, is_spent);
        } else {
            decide(table, seen, known, found, is_spent);
        }
        if table.open_application(seen).is_none() {
            self.forget(seen.number);
        }
    }

    /// A flow is over.
    pub(crate) fn forget(&mut self, number: u64) {
        if self.open.is_empty() {
            return;
        }
        if let Some(opening) = self.open.remove(&number) {
            self.held = self.held.saturating_sub(opening.held());
        }
    }

    /// The connection of a flow; `None` where there is no room for it.
    fn opening(&mut self, number: u64) -> Option<&mut Opening> {
        let is_full = self.open.len() >= CONNECTIONS_MAX || self.held >= HELD_OCTETS_MAX;
        if is_full && !self.open.contains_key(&number) {
            self.refused = self.refused.saturating_add(1);
            return None;
        }
        let opening = self.open.entry(number).or_insert_with(|| {
            Box::new(Opening {
                sides: [OpeningSide::new(), OpeningSide::new()],
                turn: None,
                is_guess: false,
            })
        });
        Some(opening)
    }
}

impl Opening {
    fn held(&self) -> usize {
        self.sides.iter().map(OpeningSide::held).sum()
    }
}

/// Whether the first octets of an HTTP message show whether the connection switches to another protocol.
fn is_decided_by(run: &[u8]) -> bool {
    const SWITCHES: &[u8] = b"HTTP/1.1 101";
    match run.get(..SWITCHES.len()) {
        Some(SWITCHES) => contains(run, b"\r\n\r\n"),
        Some(line) if line.starts_with(b"HTTP/1.") => true,
        _ => !run.starts_with(b"HTTP/") && run.contains(&b'\n'),
    }
}

/// Stores the recognised application.
fn decide(
    table: &mut FlowTable,
    seen: &Seen,
    known: Application,
    found: Application,
    is_spent: bool,
) {
    match found {
        Application::Unknown if is_spent => table.set_application(seen, known, true),
        Application::Unknown => {}
        // The response may switch to another protocol.
        Application::Http => table.set_application(seen, found, is_spent),
        _ => table.set_application(seen, found, true),
    }
}
