//! The processes that are ended where all together hold too much.

/// Octets that the processes of statements may hold, where rows of so many wait for clients and the server's own process holds so many.
pub(super) fn left(limit: u64, waiting: u64, own: u64) -> u64 {
    let waiting = waiting.min(UNCOUNTED_BYTES);
    let own = own.saturating_sub(OWN_BYTES);
    let least = limit / 2;
    limit
        .saturating_add(UNCOUNTED_BYTES)
        .saturating_sub(waiting.max(own))
        .max(least)
}

/// The one that has set most aside, where all together have set more aside than is free.
pub(super) fn most_set_aside<T>(held: Vec<(u64, T)>, free: u64) -> Option<T> {
    let all = held.iter().map(|(bytes, _)| *bytes);
    let all = all.fold(0, u64::saturating_add);
    let most = held.into_iter().max_by_key(|(bytes, _)| *bytes);
    most.filter(|_| all > free).map(|(_, one)| one)
}

/// What a process holds.
pub(super) struct Held<T> {
    pub(super) bytes: u64,
    /// The place of its statement among those that wait for their clients.
    pub(super) place: Option<u64>,
    /// Its statement has begun a moment ago.
    pub(super) is_new: bool,
    pub(super) process: T,
}

/// The processes to end, so that the others hold no more than `limit`. Waiting ones are ended first, if they hold enough to matter,
/// since they are in no hurry; then the largest ones, and before those that hold little the waiting ones that do, too: many of them hold
/// much together. Of those that compute and hold little, the statements that have just begun are the last: most are soon over.
pub(super) fn victims<T>(mut held: Vec<Held<T>>, limit: u64) -> Vec<T> {
    let all = held.iter().map(|one| one.bytes);
    let mut all = all.fold(0, u64::saturating_add);
    held.sort_by_key(|one| {
        let smallest_last = u64::MAX - one.bytes;
        match one.place {
            Some(place) if one.bytes > KEPT_BYTES => (0, place),
            None if one.bytes > limit / 4 => (1, smallest_last),
            Some(place) => (2, place),
            None => (3 + u8::from(one.is_new), smallest_last),
        }
    });
    let mut ended = Vec::new();
    for one in held {
        if all <= limit {
            break;
        }
        all = all.saturating_sub(one.bytes);
        ended.push(one.process);
    }
    ended
}

/// Octets that a process may keep of its last statement: others are ended, which gives all back.
pub(super) const KEPT_BYTES: u64 = 32 << 20;
/// Octets that processes at work hold besides what their statements take: some 16 MB each before the first.
const UNCOUNTED_BYTES: u64 = 128 << 20;
/// Octets of the server's own process that are not taken from what statements may hold.
const OWN_BYTES: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_holds_itself_is_taken_from_what_statements_may() {
        let mib = |count: u64| count << 20;
        for (waiting, own, expected) in [
            (0, 30, 428),
            (100, 30, 328),
            (500, 30, 300),
            // Rows that wait are in its memory, and count once.
            (100, 164, 328),
            (100, 264, 228),
            (0, 264, 228),
            (0, 9000, 150),
        ] {
            let left = left(mib(300), mib(waiting), mib(own));
            assert_eq!(left, mib(expected), "{waiting} {own}");
        }
    }

    #[test]
    fn the_one_that_has_set_most_aside_is_ended_where_the_disk_is_half_taken() {
        let held = || vec![(10, 'a'), (30, 'b'), (0, 'c')];
        assert_eq!(most_set_aside(held(), 40), None);
        assert_eq!(most_set_aside(held(), 39), Some('b'));
        assert_eq!(most_set_aside(vec![(0, 'a')], 0), None);
        assert_eq!(most_set_aside(Vec::<(u64, char)>::new(), 0), None);
    }

    #[test]
    fn as_many_statements_are_ended_as_it_takes() {
        let mib = |count: u64| count << 20;
        let held = |sizes: &[(u64, Option<u64>)]| {
            let sizes = sizes.iter().enumerate();
            let held = sizes.map(|(process, (size, place))| Held {
                bytes: mib(*size),
                place: *place,
                is_new: false,
                process,
            });
            held.collect::<Vec<_>>()
        };
        for (sizes, limit, ended) in [
            (&[(100, None), (200, None), (16, None)][..], 316, &[][..]),
            (&[(100, None), (200, None), (16, None)], 315, &[1]),
            (&[(100, None), (200, None), (16, None)], 110, &[1, 0]),
            // Waiting processes are ended first, in their order, if they hold more than an empty process.
            (
                &[(300, None), (60, Some(9)), (50, Some(4)), (20, Some(1))],
                375,
                &[2, 1],
            ),
            (&[(300, None), (60, Some(9)), (20, Some(1))], 100, &[1, 0]),
            // The one that computes was ended, as the largest, for all those that wait.
            (
                &[
                    (20, None),
                    (16, Some(5)),
                    (16, Some(4)),
                    (16, Some(3)),
                    (16, Some(2)),
                    (16, Some(1)),
                ],
                80,
                &[5, 4],
            ),
        ] {
            assert_eq!(victims(held(sizes), mib(limit)), ended, "{sizes:?}");
        }
    }

    /// Where thirty statements computed, a new one was ended that held a megabyte more than each of them.
    #[test]
    fn a_statement_that_has_just_begun_is_ended_behind_others_that_hold_little() {
        let held = |sizes: &[(u64, bool)]| {
            let sizes = sizes.iter().enumerate();
            let held = sizes.map(|(process, (mib, is_new))| Held {
                bytes: mib << 20,
                place: None,
                is_new: *is_new,
                process,
            });
            held.collect::<Vec<_>>()
        };
        let little = [
            (25, true),
            (24, false),
            (20, false),
            (26, true),
            (22, false),
            (23, false),
        ];
        assert_eq!(victims(held(&little), 120 << 20), [1]);
        assert_eq!(victims(held(&little), 105 << 20), [1, 5]);
        // One that holds much is ended, however new it is.
        let large = [(60, true), (24, false), (50, false)];
        assert_eq!(victims(held(&large), 130 << 20), [0]);
    }
}
