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
        let index = match (self.nearest(time_ns), self.passing(time_ns)) {
            (Some((nearest, after_ns)), Some((_, step_ns))) if after_ns < step_ns => nearest,
            (_, Some((passing, _))) => passing,
            (Some((nearest, _)), None) => nearest,
            (None, None) => self.add(time_ns),
        };
        // A clock that is further behind than before was taken for another one: its offset is set anew.
        let behind_ns = self.now_ns.saturating_sub(time_ns);
        if let Some(found) = self.clocks.get_mut(index)
            && found.behind_ns < behind_ns.saturating_sub(CLOCK_STEP_NS)
        {
            found.behind_ns = behind_ns;
        }
        self.current = u8::try_from(index).unwrap_or(u8::MAX);
        self.last_ns = time_ns;
    }

    /// The clock whose last time is just before this one, and the time in between. A clock with a single time may have stamped a
    /// much later packet, too.
    fn nearest(&self, time_ns: i64) -> Option<(usize, u64)> {
        let may_be = |one: &One| {
            let after_ns = time_ns.saturating_sub(one.last_ns);
            after_ns >= -CLOCK_STEP_NS && !(one.is_new && after_ns > CLOCK_STEP_NS)
        };
        let all = self
            .clocks
            .iter()
            .enumerate()
            .filter(|(_, one)| may_be(one));
        all.map(|(index, one)| (index, one.last_ns.abs_diff(time_ns)))
            .min_by_key(|(_, after_ns)| *after_ns)
    }

    /// The clock on which the least time has passed, and how much, of the same ones.
    fn passing(&self, time_ns: i64) -> Option<(usize, u64)> {
        let earliest_ns = self.now_ns.saturating_sub(CLOCK_STEP_NS);
        let latest_ns = self.now_ns.saturating_add(CLOCK_STEP_NS);
        let at = |one: &One| time_ns.saturating_add(one.behind_ns);
        let may_be = |one: &One| at(one) >= earliest_ns && !(one.is_new && at(one) > latest_ns);
        let all = self
            .clocks
            .iter()
            .enumerate()
            .filter(|(_, one)| may_be(one));
        all.map(|(index, one)| (index, at(one).abs_diff(self.now_ns)))
            .min_by_key(|(_, step_ns)| *step_ns)
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
