//! The sides of a call's sound: which of its directions is on the left, and which on the right.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// One end of a direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Endpoint {
    pub(super) address: String,
    pub(super) socket: String,
}

/// The ends of a direction: its sender and its receiver.
pub(super) type Ends = (Endpoint, Endpoint);

/// The left side is 0, and the right one 1.
type AudioChannel = usize;

/// The directions of a call's sound, and when they have packets.
#[derive(Debug, Default)]
pub(super) struct Directions {
    all: HashMap<Ends, Activity>,
    begin_ns: Option<i64>,
}

/// The packets of one direction.
#[derive(Clone, Debug)]
struct Activity {
    /// The number of the direction in the order of the first packets.
    number: usize,
    packets: u64,
    first_ns: i64,
    last_ns: i64,
    /// The seconds of the call in which there is a packet.
    seconds: Box<[u64; SECOND_WORDS]>,
}

/// The number of directions of a call that are told apart, at most.
const DIRECTIONS_MAX: usize = 256;
/// The words with a bit for each second of an hour.
const SECOND_WORDS: usize = 3_600_usize.div_ceil(64);

/// One direction.
#[derive(Clone, Copy, Debug)]
struct Direction<'d> {
    from: &'d Endpoint,
    to: &'d Endpoint,
    activity: &'d Activity,
}

impl Directions {
    /// Adds a packet.
    pub(super) fn take(&mut self, ends: &Ends, time_ns: i64) {
        let begin_ns = *self.begin_ns.get_or_insert(time_ns);
        let number = self.all.len();
        let activity = match self.all.entry(ends.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(_) if number >= DIRECTIONS_MAX => return,
            Entry::Vacant(place) => place.insert(Activity {
                number,
                packets: 0,
                first_ns: time_ns,
                last_ns: time_ns,
                seconds: Box::new([0; SECOND_WORDS]),
            }),
        };
        activity.packets = activity.packets.saturating_add(1);
        activity.first_ns = activity.first_ns.min(time_ns);
        activity.last_ns = activity.last_ns.max(time_ns);
        let second = time_ns.saturating_sub(begin_ns).max(0) / 1_000_000_000;
        let word = usize::try_from(second / 64).ok();
        if let Some(word) = word.and_then(|at| activity.seconds.get_mut(at)) {
            *word |= 1_u64 << (second % 64);
        }
    }

    /// The sides of the directions. The left one is that of the caller's address, or of the first sender.
    ///
    /// A relay of media sends on what it receives, so that a call has the same sound on several legs. On the left is
    /// the sound that one end of a leg sends, and on the right the sound that it gets. Sound of another leg at the same time is left out, unless the side
    /// has none of its own. Ends that change their addresses within the call have one leg after the other.
    pub(super) fn sides(&self, caller: Option<&str>) -> Sides {
        let all = self.all.iter();
        let mut all: Vec<Direction<'_>> = all
            .map(|((from, to), activity)| Direction { from, to, activity })
            .collect();
        all.sort_by_key(|direction| direction.activity.number);
        let mut sides = Sides::default();
        let Some(left) = left(&all, caller) else {
            return sides;
        };
        let mut heard: [Vec<Direction<'_>>; 2] = Default::default();
        let (own, others): (Vec<_>, Vec<_>) = legs(all).into_iter().partition(|leg| {
            leg.iter()
                .all(|direction| direction.own_side(left).is_some())
        });
        for leg in own {
            let leg: Vec<(AudioChannel, Direction<'_>)> = leg
                .into_iter()
                .filter_map(|direction| Some((direction.own_side(left)?, direction)))
                .collect();
            accept(&mut heard, &leg);
        }
        let far: Vec<&Endpoint> = heard
            .iter()
            .flatten()
            .flat_map(|direction| [direction.from, direction.to])
            .filter(|end| *end != left)
            .collect();
        // One direction of another leg says nothing of the other one.
        let of_left = heard.clone();
        for direction in others.into_iter().flatten() {
            let side = direction.other_side(left, &far, &of_left);
            if let Some(side) = side {
                accept(&mut heard, &[(side, direction)]);
            }
        }
        for (side, directions) in heard.into_iter().enumerate() {
            for direction in directions {
                let key = (direction.from.clone(), direction.to.clone());
                sides.0.insert(key, side);
            }
        }
        sides
    }
}

/// The end that is heard on the left.
fn left<'d>(all: &[Direction<'d>], caller: Option<&str>) -> Option<&'d Endpoint> {
    let is_caller = |end: &Endpoint| caller == Some(&*end.address);
    let of_caller = all.iter().find_map(|direction| {
        match (is_caller(direction.from), is_caller(direction.to)) {
            (true, false) => Some(direction.from),
            (false, true) => Some(direction.to),
            _ => None,
        }
    });
    of_caller.or_else(|| Some(all.first()?.from))
}

/// The directions between the same two sockets together, those with the most packets first.
fn legs(all: Vec<Direction<'_>>) -> Vec<Vec<Direction<'_>>> {
    let mut numbers = HashMap::new();
    let mut legs: Vec<Vec<Direction<'_>>> = Vec::new();
    for direction in all {
        let ends = [&direction.from.socket, &direction.to.socket];
        let key = [ends[0].min(ends[1]), ends[0].max(ends[1])];
        let number = *numbers.entry(key).or_insert(legs.len());
        match legs.get_mut(number) {
            Some(leg) => leg.push(direction),
            None => legs.push(vec![direction]),
        }
    }
    let packets = |leg: &Vec<Direction<'_>>| -> u64 {
        let each = leg.iter().map(|direction| direction.activity.packets);
        each.fold(0, u64::saturating_add)
    };
    // Legs with as many packets stay in their order.
    legs.sort_by_key(|leg| std::cmp::Reverse(packets(leg)));
    legs
}

/// Adds directions to their sides, unless a side has sound at the time of one of them.
fn accept<'d>(heard: &mut [Vec<Direction<'d>>; 2], leg: &[(AudioChannel, Direction<'d>)]) {
    let is_free = |(side, direction): &(AudioChannel, Direction<'d>)| {
        let of_side = heard.get(*side);
        of_side.is_some_and(|of_side| !of_side.iter().any(|other| other.is_at_once_with(direction)))
    };
    if !leg.iter().all(is_free) {
        return;
    }
    for (side, direction) in leg {
        if let Some(of_side) = heard.get_mut(*side) {
            of_side.push(*direction);
        }
    }
}

impl Direction<'_> {
    /// The side of a direction from or to the end that is heard on the left.
    fn own_side(&self, left: &Endpoint) -> Option<AudioChannel> {
        let is_left = |end: &Endpoint| {
            if self.from.address == self.to.address {
                end.socket == left.socket
            } else {
                end.address == left.address
            }
        };
        match (is_left(self.from), is_left(self.to)) {
            (true, false) => Some(0),
            (false, true) => Some(1),
            _ => None,
        }
    }

    /// The side of another direction, with one of the ends that the left one speaks with. At the same time as those of the left
    /// end it is on the other side of a relay, which speaks there for the left one. Otherwise the left one has another address.
    fn other_side(
        &self,
        left: &Endpoint,
        far: &[&Endpoint],
        of_left: &[Vec<Direction<'_>>; 2],
    ) -> Option<AudioChannel> {
        let is_far = |end: &Endpoint| {
            far.iter().any(|known| {
                known.socket == end.socket
                    || known.address == end.address && known.address != left.address
            })
        };
        let is_at_once = of_left
            .iter()
            .flatten()
            .any(|other| other.is_at_once_with(self));
        match (is_far(self.from), is_far(self.to)) {
            (true, false) => Some(usize::from(!is_at_once)),
            (false, true) => Some(usize::from(is_at_once)),
            _ => None,
        }
    }

    /// Whether both have packets in the same seconds, in more than half of those of the shorter one. One that begins behind the
    /// end of the other does not.
    fn is_at_once_with(&self, other: &Direction<'_>) -> bool {
        let follows = |one: &Activity, another: &Activity| one.last_ns < another.first_ns;
        if follows(self.activity, other.activity) || follows(other.activity, self.activity) {
            return false;
        }
        let pairs = self.activity.seconds.iter().zip(&*other.activity.seconds);
        let [mut both, mut own, mut of_other] = [0_u32; 3];
        for (one, another) in pairs {
            both += (one & another).count_ones();
            own += one.count_ones();
            of_other += another.count_ones();
        }
        both > own.min(of_other) / 2
    }
}

/// The side on which each direction is heard.
#[derive(Debug, Default)]
pub(super) struct Sides(HashMap<Ends, AudioChannel>);

impl Sides {
    /// 0 for the left, 1 for the right; `None` where the sound is that of another leg.
    pub(super) fn of(&self, ends: &Ends) -> Option<usize> {
        self.0.get(ends).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(number: u8, port: u16) -> Endpoint {
        Endpoint {
            address: format!("10.0.0.{number}"),
            socket: format!("10.0.0.{number}:{port}"),
        }
    }

    /// Sound from one end to another: the first second, and the one behind the last.
    type Sound = (Endpoint, Endpoint, i64, i64);

    /// Both directions between two ends.
    fn both(one: &Endpoint, other: &Endpoint, begin: i64, end: i64) -> [Sound; 2] {
        [
            (one.clone(), other.clone(), begin, end),
            (other.clone(), one.clone(), begin, end),
        ]
    }

    /// The sides of these directions.
    fn sides(caller: Option<u8>, sounds: &[Sound]) -> Vec<Option<usize>> {
        let mut directions = Directions::default();
        let mut times: Vec<(i64, &Sound)> = Vec::new();
        for sound in sounds {
            times.extend((sound.2..sound.3).map(|second| (second, sound)));
        }
        times.sort_by_key(|(second, _)| *second);
        for (second, (from, to, ..)) in times {
            let ends = (from.clone(), to.clone());
            directions.take(&ends, second * 1_000_000_000 + 7);
        }
        let caller = caller.map(|number| end(number, 0).address);
        let sides = directions.sides(caller.as_deref());
        let each = sounds.iter();
        each.map(|(from, to, ..)| sides.of(&(from.clone(), to.clone())))
            .collect()
    }

    const LEFT: Option<usize> = Some(0);
    const RIGHT: Option<usize> = Some(1);

    #[test]
    fn the_caller_is_on_the_left_whichever_side_is_heard_first() {
        let (caller, called) = (end(1, 4_000), end(2, 4_002));
        let sounds = [
            (called.clone(), caller.clone(), 0, 9),
            (caller.clone(), called.clone(), 1, 9),
        ];
        assert_eq!(sides(Some(1), &sounds), [RIGHT, LEFT]);
        // Without a caller, the party that is heard first is on the left.
        assert_eq!(sides(None, &sounds), [LEFT, RIGHT]);
        // Both sides have the same address, and ports distinguish them.
        let one_host = both(&end(1, 6_000), &end(1, 6_002), 0, 9);
        assert_eq!(sides(Some(1), &one_host), [LEFT, RIGHT]);
    }

    /// Both parties were on both sides.
    #[test]
    fn legs_of_a_relay_are_not_mixed() {
        let (caller, called) = (end(1, 4_000), end(2, 5_000));
        // The relay has a socket for each leg, or one for both.
        for (inner, outer) in [(end(9, 900), end(9, 902)), (end(9, 900), end(9, 900))] {
            let legs = [both(&caller, &inner, 0, 60), both(&outer, &called, 0, 60)].concat();
            assert_eq!(sides(Some(1), &legs), [LEFT, RIGHT, None, None]);
            assert_eq!(sides(None, &legs), [LEFT, RIGHT, None, None]);
            // The capture begins with what the relay sends on.
            let turned = [both(&outer, &called, 0, 60), both(&caller, &inner, 0, 60)].concat();
            assert_eq!(sides(Some(1), &turned), [None, None, LEFT, RIGHT]);
            assert_eq!(sides(None, &turned), [LEFT, RIGHT, None, None]);
        }
        // All are on one host.
        let ends = [4_000, 900, 902, 5_000].map(|port| end(1, port));
        let legs = [
            both(&ends[0], &ends[1], 0, 60),
            both(&ends[2], &ends[3], 0, 60),
        ]
        .concat();
        assert_eq!(sides(Some(1), &legs), [LEFT, RIGHT, None, None]);
    }

    #[test]
    fn a_side_that_one_leg_does_not_have_is_that_of_the_other() {
        let (caller, called) = (end(1, 4_000), end(2, 5_000));
        let (inner, outer) = (end(9, 900), end(9, 902));
        // What the relay receives, and what it sends.
        let received = [
            (caller.clone(), inner.clone(), 0, 60),
            (called.clone(), outer.clone(), 0, 60),
        ];
        assert_eq!(sides(Some(1), &received), [LEFT, RIGHT]);
        let sent = [(inner, caller, 0, 60), (outer, called, 0, 60)];
        assert_eq!(sides(Some(1), &sent), [RIGHT, LEFT]);
    }

    #[test]
    fn one_leg_after_the_other_is_heard() {
        let (caller, moved) = (end(1, 4_000), end(3, 4_000));
        let (called, music) = (end(2, 5_000), end(4, 7_000));
        // The caller has another address from a re-INVITE on.
        let legs = [both(&caller, &called, 0, 30), both(&moved, &called, 30, 60)].concat();
        assert_eq!(sides(Some(1), &legs), [LEFT, RIGHT, LEFT, RIGHT]);
        // The called one holds the call: another server plays music.
        let legs = [
            (caller.clone(), called.clone(), 0, 60),
            (called.clone(), caller.clone(), 0, 20),
            (called.clone(), caller.clone(), 40, 60),
            (music, caller.clone(), 20, 40),
        ];
        assert_eq!(sides(Some(1), &legs), [LEFT, RIGHT, RIGHT, RIGHT]);
        // Two phones ring, and the one that answers is heard.
        let early = (end(5, 5_000), caller.clone(), 0, 5);
        let legs = [&[early][..], &both(&called, &caller, 0, 60)].concat();
        assert_eq!(sides(Some(1), &legs), [None, RIGHT, LEFT]);
    }

    /// What followed within the second in which another direction ended, or had a second in common with it, was left out.
    #[test]
    fn short_legs_that_follow_each_other_are_heard() {
        let (caller, moved, called) = (end(1, 4_000), end(1, 4_002), end(2, 5_000));
        for (before, after) in [
            (0..400, 420..900),
            (0..1_900, 1_900..3_900),
            (0..1_300, 1_200..2_900),
        ] {
            let mut directions = Directions::default();
            for (from, times) in [(&caller, before), (&moved, after)] {
                for ms in times.step_by(20) {
                    directions.take(&(from.clone(), called.clone()), ms * 1_000_000);
                }
            }
            let sides = directions.sides(Some("10.0.0.1"));
            let of = |from: &Endpoint| sides.of(&(from.clone(), called.clone()));
            assert_eq!([of(&caller), of(&moved)], [LEFT, LEFT]);
        }
    }

    #[test]
    fn directions_have_a_limit() {
        let mut directions = Directions::default();
        for port in 0..1_000 {
            directions.take(&(end(1, port), end(2, port)), i64::MIN);
            directions.take(&(end(2, port), end(1, port)), i64::MAX);
        }
        assert_eq!(directions.all.len(), DIRECTIONS_MAX);
        let sides = directions.sides(Some("10.0.0.1"));
        assert_eq!(sides.of(&(end(1, 0), end(2, 0))), LEFT);
    }
}
