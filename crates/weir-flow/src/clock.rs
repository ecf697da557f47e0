//! The time that passes from packet to packet, although several clocks may have stamped them.
//!
//! Sections of a capture, and captures of several hosts in one file, have clocks of their own: times step back, or
//! change between two that differ by a constant. Deadlines go by the time that passed on one and the same clock, so
//! that such a step ends no connection.

/// The time that has passed, by the clocks of the packets so far.
#[derive(Debug)]
pub(crate) struct Clock {
    /// The known clocks. The first one has no offset.
    clocks: Vec<One>,
    current: u8,
    /// The highest time of the current clock.
    last_ns: i64,
    now_ns: i64,
    /// Pauses of more than [`CLOCK_STEP_NS`] on the current clock since it was added.
    pauses: u8,
    /// A clock has stamped packets again behind those of another one.
    has_returned: bool,
}

/// One of the clocks.
#[derive(Clone, Copy, Debug)]
struct One {
    /// The offset of the clock from the elapsed time, in nanoseconds.
    behind_ns: i64,
    /// The highest time that it said before another one said the next.
    last_ns: i64,
    /// The clock has stamped a single packet: its next time may be that of another clock.
    is_new: bool,
}

/// Steps of one clock, either way, that need no other one to explain them, at most: packets of one clock may be captured
/// out of order by this.
pub const CLOCK_STEP_NS: i64 = 1_000_000_000;

/// The longest pause behind the first time of a clock. A longer one is taken for the step to another clock: clocks of
/// several hosts mostly differ by hours, as those of time zones do.
const PAUSE_NS_MAX: i64 = 1_800_000_000_000;

/// The longest pause of a clock when another one has stamped the last packet.
const PAUSE_OF_OTHER_NS_MAX: i64 = 86_400_000_000_000;

/// Pauses on one clock behind a step back that make it the only one, until another one comes back.
const PAUSES_MIN: u8 = 3;

/// So many times as long may a pause on the only clock be as the one on the other clock that a time could be of.
const PAUSE_RATIO_MAX: u64 = 10;

/// The most that one pause adds to the elapsed time, which is more than any timeout: captures of many years, in no order, would take the
/// elapsed time to the end of its numbers.
const PASSED_NS_MAX: i64 = 30 * 86_400_000_000_000;

/// The maximum number of clocks. Beyond it the last one is replaced.
const CLOCKS_MAX: usize = 256;

impl Clock {
    /// The state before the first packet.
    pub(crate) const fn new() -> Self {
        Self {
            clocks: Vec::new(),
            current: 0,
            last_ns: i64::MIN,
            now_ns: i64::MIN,
            pauses: 0,
            has_returned: false,
        }
    }

    /// The time that has passed, on the first clock; `i64::MIN` before the first packet.
    pub(crate) const fn now_ns(&self) -> i64 {
        self.now_ns
    }

    /// The same on the current clock.
    pub(crate) fn current_ns(&self) -> i64 {
        self.now_ns.saturating_sub(self.behind_ns(self.current))
    }

    /// The clock that stamped the last packet.
    pub(crate) const fn current(&self) -> u8 {
        self.current
    }

    /// The offset of a clock from the elapsed time.
    #[inline]
    pub(crate) fn behind_ns(&self, clock: u8) -> i64 {
        let one = self.clocks.get(usize::from(clock));
        one.map_or(0, |one| one.behind_ns)
    }

    /// Advances by the time of the next packet.
    #[inline]
    pub(crate) fn see(&mut self, time_ns: i64) {
        let step = time_ns.saturating_sub(self.last_ns);
        if !(-CLOCK_STEP_NS..=CLOCK_STEP_NS).contains(&step) {
            self.change(time_ns);
        }
        self.last_ns = self.last_ns.max(time_ns);
        let now_ns = time_ns.saturating_add(self.behind_ns(self.current));
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// Finds the clock that this time continues, or the one on which the least time has passed, or adds a clock.
    #[cold]
    fn change(&mut self, time_ns: i64) {
        let last_ns = self.last_ns;
        if let Some(current) = self.clocks.get_mut(usize::from(self.current)) {
            current.is_new = current.is_new && current.last_ns == last_ns;
            current.last_ns = last_ns;
        }
        let found = match (self.nearest(time_ns), self.passing(time_ns)) {
            (Some(nearest), Some(passing)) if nearest.1 < passing.1 => Some(nearest),
            (nearest, passing) => passing.or(nearest),
        };
        let current = usize::from(self.current);
        let index = match found {
            Some((_, cost_ns)) if self.is_only(time_ns, cost_ns) => current,
            Some((index, _)) => index,
            None => self.add(time_ns),
        };
        if found.is_none() {
            self.pauses = 0;
        } else if index == current {
            self.pauses = self.pauses.saturating_add(1);
        } else {
            self.has_returned = true;
        }
        let has_begun = self.now_ns > i64::MIN;
        // A clock that is further behind than before was taken for another one: its offset is set anew.
        let behind_ns = self.now_ns.saturating_sub(time_ns);
        if let Some(found) = self.clocks.get_mut(index)
            && found.behind_ns < behind_ns.saturating_sub(CLOCK_STEP_NS)
        {
            found.behind_ns = behind_ns;
        }
        let behind_ns_max = behind_ns.saturating_add(PASSED_NS_MAX);
        if let Some(found) = self.clocks.get_mut(index).filter(|_| has_begun) {
            found.behind_ns = found.behind_ns.min(behind_ns_max);
        }
        self.current = u8::try_from(index).unwrap_or(u8::MAX);
        self.last_ns = time_ns;
    }

    /// The clock whose last time is just before this one, and the time in between, with the time that the clock would have
    /// missed since.
    fn nearest(&self, time_ns: i64) -> Option<(usize, u64)> {
        let after_ns = |one: &One| time_ns.saturating_sub(one.last_ns);
        let cost_ns = |one: &One| {
            let missed_ns = self
                .now_ns
                .saturating_sub(time_ns.saturating_add(one.behind_ns));
            let missed_ns = u64::try_from(missed_ns).unwrap_or(0);
            one.last_ns.abs_diff(time_ns).saturating_add(missed_ns)
        };
        let all = self.clocks.iter().enumerate();
        all.filter(|(index, one)| self.may_pass(*index, one, after_ns(one)))
            .map(|(index, one)| (index, cost_ns(one)))
            .min_by_key(|(_, cost_ns)| *cost_ns)
    }

    /// The clock on which the least time has passed, and how much.
    fn passing(&self, time_ns: i64) -> Option<(usize, u64)> {
        let at = |one: &One| time_ns.saturating_add(one.behind_ns);
        let step_ns = |one: &One| at(one).saturating_sub(self.now_ns);
        let all = self.clocks.iter().enumerate();
        all.filter(|(index, one)| self.may_pass(*index, one, step_ns(one)))
            .map(|(index, one)| (index, at(one).abs_diff(self.now_ns)))
            .min_by_key(|(_, step_ns)| *step_ns)
    }

    /// Whether `pause_ns` may have passed on a clock since its last time. A clock with a single time may have stamped a much
    /// later packet, too, unless no other packet came in between: packets may be far apart where a clock was set.
    fn may_pass(&self, index: usize, one: &One, pause_ns: i64) -> bool {
        let is_current = index == usize::from(self.current);
        let pause_ns_max = match (one.is_new, is_current) {
            (false, true) => i64::MAX,
            (false, false) => PAUSE_OF_OTHER_NS_MAX,
            (true, true) => PAUSE_NS_MAX,
            (true, false) => CLOCK_STEP_NS,
        };
        (-CLOCK_STEP_NS..=pause_ns_max).contains(&pause_ns)
    }

    /// Whether a later time is of the current clock, although another one could have stamped it after `cost_ns`: a clock that was
    /// set is the only one, and passes the times from before.
    fn is_only(&self, time_ns: i64, cost_ns: u64) -> bool {
        let pause_ns = u64::try_from(time_ns.saturating_sub(self.last_ns)).unwrap_or(0);
        !self.has_returned
            && self.pauses >= PAUSES_MIN
            && pause_ns > 0
            && pause_ns / PAUSE_RATIO_MAX <= cost_ns
    }

    /// Adds a clock whose current time is `time_ns`.
    fn add(&mut self, time_ns: i64) -> usize {
        let is_first = self.clocks.is_empty();
        let behind_ns = match is_first {
            true => 0,
            false => self.now_ns.saturating_sub(time_ns),
        };
        if self.clocks.len() >= CLOCKS_MAX {
            self.clocks.pop();
        }
        self.clocks.push(One {
            behind_ns,
            last_ns: time_ns,
            is_new: !is_first,
        });
        self.clocks.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    /// The time that has passed after each packet, in seconds.
    fn passed(times: &[i64]) -> Vec<i64> {
        let mut clock = Clock::new();
        let mut see = |time: &i64| {
            clock.see(time * SECOND);
            clock.now_ns() / SECOND
        };
        times.iter().map(&mut see).collect()
    }

    /// Captures of different years in no order took the elapsed time to the end of its numbers, so that every packet began a flow.
    #[test]
    fn pauses_of_years_leave_room_for_seconds() {
        const YEAR: i64 = 365 * 86_400 * SECOND;
        let mut clock = Clock::new();
        for capture in 0..100 {
            let start_ns = if capture % 2 == 0 {
                capture * SECOND
            } else {
                (50 + capture) * YEAR
            };
            clock.see(start_ns);
            let before_ns = clock.now_ns();
            clock.see(start_ns + 2 * SECOND);
            assert_eq!(clock.now_ns() - before_ns, 2 * SECOND, "capture {capture}");
            assert_eq!(clock.current_ns(), start_ns + 2 * SECOND);
        }
    }

    #[test]
    fn one_clock_says_what_has_passed() {
        assert_eq!(passed(&[5, 6, 10, 9, 400]), [5, 6, 10, 10, 400]);
    }

    #[test]
    fn a_step_back_is_another_clock() {
        assert_eq!(passed(&[100, 80, 81, 100, 102]), [100, 100, 101, 101, 102]);
        assert_eq!(
            passed(&[9_000, 80, 81, 300, 301]),
            [9_000, 9_000, 9_001, 9_220, 9_221]
        );
    }

    #[test]
    fn pauses_behind_a_step_back_pass() {
        // Each packet more than a second behind the one before was taken for that of another clock, and no time passed.
        assert_eq!(
            passed(&[9_000, 80, 110, 140, 141, 200]),
            [9_000, 9_000, 9_030, 9_060, 9_061, 9_120]
        );
        // The times of the packets before the step come again.
        assert_eq!(
            passed(&[0, 30, 60, 90, 120, 60, 90, 120, 150, 180]),
            [0, 30, 60, 90, 120, 120, 150, 180, 210, 240]
        );
        // The clock passes the last time before the step.
        assert_eq!(
            passed(&[0, 100, 10, 12, 14, 20, 130]),
            [0, 100, 100, 102, 104, 110, 220]
        );
        // Two hosts whose packets are far apart.
        assert_eq!(
            passed(&[1_000, 5, 1_010, 15, 1_020, 25, 35]),
            [1_000, 1_000, 1_010, 1_010, 1_020, 1_020, 1_030]
        );
    }

    #[test]
    fn clocks_that_change_from_packet_to_packet_pass_one_time() {
        let times = [1_000, 5, 1_001, 6, 1_002, 7, 8, 9, 1_005];
        assert_eq!(
            passed(&times),
            [
                1_000, 1_000, 1_001, 1_001, 1_002, 1_002, 1_003, 1_004, 1_005
            ]
        );
    }

    #[test]
    fn three_clocks_pass_one_time_in_any_order() {
        assert_eq!(
            passed(&[9_000, 80, 4_000, 9_001, 81, 4_001, 4_002, 9_003, 82]),
            [
                9_000, 9_000, 9_000, 9_001, 9_001, 9_001, 9_002, 9_003, 9_003
            ]
        );
        // The third clock is taken for the second one, until the second one has stamped two packets; from then on they are
        // distinguished.
        let times = [9_000, 80, 81, 4_000, 9_002, 83, 4_002, 9_003, 84, 4_003];
        let found = passed(&times);
        assert_eq!(found[3], 9_000 + 1 + 4_000 - 81);
        assert!(
            found[4..].iter().all(|now| *now <= found[3] + 3),
            "{found:?}"
        );
    }

    #[test]
    fn a_pause_of_years_on_another_clock_is_a_new_clock() {
        const YEAR: i64 = 365 * 86_400;
        let start = 30 * YEAR;
        assert_eq!(
            passed(&[start, 100, 101, start, start + 20, start - 9]),
            [start, start, start + 1, start + 1, start + 20, start + 20]
        );
    }

    #[test]
    fn any_number_of_steps_and_any_time_is_taken() {
        let steps: Vec<i64> = (0..1_000).map(|n| 100_000 - 7 * n).collect();
        assert!(passed(&steps).iter().all(|now| *now == 100_000));
        let mut clock = Clock::new();
        for time in [i64::MAX, i64::MIN, 0, i64::MIN, i64::MAX, -1] {
            clock.see(time);
        }
        assert_eq!(clock.now_ns(), i64::MAX);
    }
}
