//! How much time passes from packet to packet, whatever the clocks say that stamped them.
//!
//! Sections of a capture, and captures of several hosts in one file, have clocks of their own: times step back, or change
//! between two that differ by a constant. What waits for a deadline goes by the time that passed on one and the same
//! clock, so that such a step ends nothing.

/// The time that has passed, by the clocks of the packets so far.
#[derive(Debug)]
pub(crate) struct Clock {
    /// What each clock is behind the time that has passed, in nanoseconds. The first one is behind by nothing.
    behind_ns: Vec<i64>,
    current: u8,
    /// The highest time of the current clock.
    last_ns: i64,
    now_ns: i64,
}

/// Steps of one clock, either way, that need no other one to explain them, at most: packets of one clock may be captured
/// out of order by this.
pub const CLOCK_STEP_NS: i64 = 1_000_000_000;

/// Clocks that are told apart. Where there are more, the last one is set anew.
const CLOCKS_MAX: usize = 256;

impl Clock {
    /// Before the first packet.
    pub(crate) const fn new() -> Self {
        Self {
            behind_ns: Vec::new(),
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

    /// Which clock stamped the last packet.
    pub(crate) const fn current(&self) -> u8 {
        self.current
    }

    /// What a clock is behind the time that has passed.
    #[inline]
    pub(crate) fn behind_ns(&self, clock: u8) -> i64 {
        self.behind_ns.get(usize::from(clock)).copied().unwrap_or(0)
    }

    /// Takes up the time of the next packet.
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

    /// Finds the clock on which the least time has passed, or takes up another one.
    #[cold]
    fn change(&mut self, time_ns: i64) {
        let earliest_ns = self.now_ns.saturating_sub(CLOCK_STEP_NS);
        let at = |behind_ns: i64| time_ns.saturating_add(behind_ns);
        let found = self
            .behind_ns
            .iter()
            .enumerate()
            .filter(|(_, behind_ns)| at(**behind_ns) >= earliest_ns)
            .min_by_key(|(_, behind_ns)| at(**behind_ns).abs_diff(self.now_ns));
        let index = match found {
            Some((index, _)) => index,
            None => self.add(time_ns),
        };
        self.current = u8::try_from(index).unwrap_or(u8::MAX);
        self.last_ns = time_ns;
    }

    /// Takes up a clock that says `time_ns` now.
    fn add(&mut self, time_ns: i64) -> usize {
        let behind_ns = match self.behind_ns.is_empty() {
            true => 0,
            false => self.now_ns.saturating_sub(time_ns),
        };
        if self.behind_ns.len() >= CLOCKS_MAX {
            self.behind_ns.pop();
        }
        self.behind_ns.push(behind_ns);
        self.behind_ns.len() - 1
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
