//! The time during which this process runs.
//!
//! A peer that does not report for some time is gone. The clock of the system may be set meanwhile, and a process that stood still finds
//! reports that wait to be read. So deadlines of peers go by the time during which this process ran.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time during which this process ran.
pub(crate) struct RunningTime {
    read: Instant,
    passed: Duration,
}

impl Default for RunningTime {
    fn default() -> Self {
        Self {
            read: Instant::now(),
            passed: Duration::ZERO,
        }
    }
}

impl RunningTime {
    /// The time that has passed. It is read every second or more often, so that the process stood still where more has passed since.
    pub(crate) fn read(&mut self, now: Instant) -> Duration {
        let since = now.saturating_duration_since(self.read);
        self.read = self.read.max(now);
        self.passed += since.min(STEP_MAX);
        self.passed
    }
}

/// A clock that stands still while its process does. Clones are the same clock.
#[derive(Clone)]
pub(crate) struct RunningClock {
    begun: Instant,
    time: Arc<Mutex<RunningTime>>,
}

impl Default for RunningClock {
    fn default() -> Self {
        Self {
            begun: Instant::now(),
            time: Arc::default(),
        }
    }
}

impl RunningClock {
    /// The time now. It is read every second or more often.
    pub(crate) fn now(&self) -> Instant {
        self.at(Instant::now())
    }

    fn at(&self, now: Instant) -> Instant {
        let mut time = self.time.lock().unwrap_or_else(PoisonError::into_inner);
        self.begun + time.read(now)
    }
}

/// The longest time between two readings of the clock that counts.
pub(crate) const STEP_MAX: Duration = Duration::from_secs(3);

#[cfg(test)]
mod tests {
    use super::*;

    /// A scheduler that had stood still for a minute cancelled the jobs of all clients, whose requests waited to be read.
    #[test]
    fn a_clock_stands_still_while_its_process_does() {
        let clock = RunningClock::default();
        let start = Instant::now();
        let begun = clock.at(start);
        let later = |seconds| start + Duration::from_secs(seconds);
        for second in 1..=5 {
            let passed = clock.clone().at(later(second)) - begun;
            assert_eq!(passed, Duration::from_secs(second));
        }
        let stood_still = clock.at(later(605));
        assert_eq!(stood_still - begun, Duration::from_secs(5) + STEP_MAX);
        // An earlier time is not read again.
        assert_eq!(clock.at(later(5)), stood_still);
        let passed = clock.at(later(606)) - stood_still;
        assert_eq!(passed, Duration::from_secs(1));
    }
}
