//! Collecting dialled digits by a digit map, with its timers (H.248.1 clause 7.1.14.5).

use std::time::Duration;

use crate::{
    DigitMap, DigitMatch,
    digit_map::{self, Timer},
    message::descriptor::DigitMapValue,
};

/// The timers of a digit map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DigitTimers {
    /// The start timer T, which runs until the first digit; `None` waits for ever. The default is 16 s, where a map has
    /// no value.
    pub start: Option<Duration>,
    /// S, which runs when the digits already match an alternative. The default is 4 s, where a map has no value.
    pub short: Duration,
    /// L, which runs when more digits are needed. The default is 16 s, where a map has no value.
    pub long: Duration,
    /// Z, the time after which a digit is a long one. The default is 2 s, where a map has no value.
    pub long_digit: Duration,
}

impl Default for DigitTimers {
    /// The examples of H.248.1, with which a gateway may be provisioned.
    fn default() -> Self {
        Self {
            start: Some(Duration::from_secs(16)),
            short: Duration::from_secs(4),
            long: Duration::from_secs(16),
            long_digit: Duration::from_secs(2),
        }
    }
}

impl DigitTimers {
    /// The timers of a digit map, those that it does not name from `defaults`. `T:0` is no timer.
    #[must_use]
    pub fn of(value: &DigitMapValue<'_>, defaults: Self) -> Self {
        let seconds = |given: Option<u8>, default| match given {
            Some(seconds) => Duration::from_secs(u64::from(seconds)),
            None => default,
        };
        Self {
            start: match value.start_timer {
                Some(0) => None,
                Some(start) => Some(Duration::from_secs(u64::from(start))),
                None => defaults.start,
            },
            short: seconds(value.short_timer, defaults.short),
            long: seconds(value.long_timer, defaults.long),
            long_digit: match value.duration_timer {
                Some(tenths) => Duration::from_millis(u64::from(tenths) * 100),
                None => defaults.long_digit,
            },
        }
    }
}

/// The method by which a digit map was completed: the parameter `Meth` of dd/ce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigitMethod {
    /// `UM`: one alternative is matched and no digit could change that.
    Unambiguous,
    /// `FM`: an alternative is matched, and the timer has expired or a digit has come that fits no alternative.
    Full,
    /// `PM`: no alternative is matched.
    Partial,
}

/// A digit map that was completed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DigitCompletion {
    /// The method.
    pub method: DigitMethod,
    /// The digits that count, long ones with a `Z` in front: the parameter `ds` of dd/ce.
    pub digits: Vec<u8>,
    /// The alternative of the map that is matched, from 0.
    pub alternative: Option<usize>,
    /// The digit that fits no alternative and is to be treated as an event of its own.
    pub rejected: Option<u8>,
}

/// The next step after a digit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DigitStep {
    /// Wait this long for the next, then call [`DigitCollector::timeout`]; for ever when there is no
    /// time.
    Wait(Option<Duration>),
    /// The map is complete.
    Complete(DigitCompletion),
}

/// Collects digits by a digit map. It runs no timer: it gives the time to wait, and the caller calls
/// [`timeout`](Self::timeout) when that is over.
///
/// ```
/// use std::time::Duration;
/// use weir_h248::{DigitCollector, DigitMap, DigitMethod, DigitStep, DigitTimers};
///
/// let map = DigitMap::parse(b"(0|00|[1-7]xxx)").ok_or("no digit map")?;
/// let mut collector = DigitCollector::new(&map, DigitTimers::default());
/// assert_eq!(collector.wait(), Some(Duration::from_secs(16)));
/// assert_eq!(
///     collector.press(b'0', Duration::ZERO),
///     DigitStep::Wait(Some(Duration::from_secs(4)))
/// );
/// assert_eq!(collector.timeout().method, DigitMethod::Full);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug)]
pub struct DigitCollector<'m> {
    map: &'m DigitMap,
    timers: DigitTimers,
    digits: Vec<u8>,
}

impl<'m> DigitCollector<'m> {
    /// Digits that are collected at most; one more completes the map.
    pub const DIGITS_MAX: usize = 256;

    /// A collector before the first digit.
    #[must_use]
    pub fn new(map: &'m DigitMap, timers: DigitTimers) -> Self {
        Self {
            map,
            timers,
            digits: Vec::new(),
        }
    }

    /// The time to wait for the next digit, after which the map is complete in its present state.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        if self.digits.is_empty() {
            return self.timers.start;
        }
        let (found, timer) = digit_map::look(self.map, &self.digits);
        Some(match (timer, found) {
            (Timer::Long, _) => self.timers.long,
            (Timer::Short, _) | (Timer::None, DigitMatch::Full(_)) => self.timers.short,
            (Timer::None, _) => self.timers.long,
        })
    }

    /// The digits so far.
    #[must_use]
    pub fn digits(&self) -> &[u8] {
        &self.digits
    }

    /// Adds a digit, or another symbol of a digit map, that was pressed for this long.
    pub fn press(&mut self, symbol: u8, pressed: Duration) -> DigitStep {
        let before = self.digits.len();
        let mut found = DigitMatch::None;
        if before < Self::DIGITS_MAX {
            // A long digit is first matched as such; where no alternative has one, its length is irrelevant.
            if pressed >= self.timers.long_digit {
                self.digits.extend_from_slice(&[b'Z', symbol]);
                found = self.map.matching(&self.digits);
            }
            if found == DigitMatch::None {
                self.digits.truncate(before);
                self.digits.push(symbol);
                found = self.map.matching(&self.digits);
            }
        }
        match found {
            DigitMatch::Unambiguous(at) => {
                DigitStep::Complete(self.complete(DigitMethod::Unambiguous, Some(at), None))
            }
            DigitMatch::None => {
                self.digits.truncate(before);
                let (method, alternative) = self.as_it_is();
                DigitStep::Complete(self.complete(method, alternative, Some(symbol)))
            }
            DigitMatch::Full(_) | DigitMatch::Partial { .. } => DigitStep::Wait(self.wait()),
        }
    }

    /// Completes the map when no digit has come within [`wait`](Self::wait).
    pub fn timeout(&mut self) -> DigitCompletion {
        let (method, alternative) = self.as_it_is();
        self.complete(method, alternative, None)
    }

    fn as_it_is(&self) -> (DigitMethod, Option<usize>) {
        match self.map.matching(&self.digits) {
            DigitMatch::Full(at) | DigitMatch::Unambiguous(at) => (DigitMethod::Full, Some(at)),
            DigitMatch::None | DigitMatch::Partial { .. } => (DigitMethod::Partial, None),
        }
    }

    /// Takes the digits: the map is inactive, and the next digit begins anew.
    fn complete(
        &mut self,
        method: DigitMethod,
        alternative: Option<usize>,
        rejected: Option<u8>,
    ) -> DigitCompletion {
        DigitCompletion {
            method,
            digits: std::mem::take(&mut self.digits),
            alternative,
            rejected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &[u8] = b"(0| 00|[1-7]xxx|8xxxxxxx|Fxxxxxxx|Exx|91xxxxxxxxxx|9011x.)";

    fn dial(map: &[u8], keys: &str) -> (Vec<Option<u64>>, Option<DigitCompletion>) {
        let map = DigitMap::parse(map).unwrap();
        let mut collector = DigitCollector::new(&map, DigitTimers::default());
        let mut waits = vec![collector.wait().map(|wait| wait.as_secs())];
        let mut keys = keys.bytes();
        while let Some(key) = keys.next() {
            let (key, pressed) = match key {
                b'Z' => (keys.next().unwrap(), Duration::from_secs(3)),
                key => (key, Duration::from_millis(80)),
            };
            match collector.press(key, pressed) {
                DigitStep::Wait(wait) => waits.push(wait.map(|wait| wait.as_secs())),
                DigitStep::Complete(complete) => return (waits, Some(complete)),
            }
        }
        (waits, None)
    }

    #[test]
    fn the_plan_of_the_standard() {
        let long = Some(16);
        let short = Some(4);
        let (waits, complete) = dial(PLAN, "1234");
        let complete = complete.unwrap();
        assert_eq!(waits, [long; 4]);
        assert_eq!(complete.method, DigitMethod::Unambiguous);
        assert_eq!(
            (complete.alternative, &complete.digits[..]),
            (Some(2), &b"1234"[..])
        );
        assert_eq!(dial(PLAN, "0"), (vec![long, short], None));
        assert_eq!(
            dial(PLAN, "90114"),
            (vec![long, long, long, long, short, short], None)
        );
        let complete = dial(PLAN, "05").1.unwrap();
        assert_eq!(complete.method, DigitMethod::Full);
        assert_eq!(complete.rejected, Some(b'5'));
        assert_eq!(complete.digits, b"0");
        let complete = dial(PLAN, "99").1.unwrap();
        assert_eq!(complete.method, DigitMethod::Partial);
        assert_eq!(
            (complete.alternative, complete.rejected),
            (None, Some(b'9'))
        );
    }

    #[test]
    fn timers_named_in_a_map() {
        // L and S stand for what follows, and L is the stronger.
        assert_eq!(dial(b"(1S23|12L3)", "12").0, [Some(16), Some(4), Some(16)]);
        assert_eq!(
            dial(b"(1S234)", "123").0,
            [Some(16), Some(4), Some(4), Some(4)]
        );
        let value = DigitMapValue {
            start_timer: Some(0),
            short_timer: Some(5),
            long_timer: None,
            body: b"x.",
            duration_timer: Some(15),
        };
        let timers = DigitTimers::of(&value, DigitTimers::default());
        assert_eq!(timers.start, None);
        assert_eq!(timers.short, Duration::from_secs(5));
        assert_eq!(timers.long, Duration::from_secs(16));
        assert_eq!(timers.long_digit, Duration::from_millis(1500));
    }

    #[test]
    fn long_digits() {
        let complete = dial(b"(1Z5|15)", "1Z5").1.unwrap();
        assert_eq!(
            (complete.alternative, &complete.digits[..]),
            (Some(0), &b"1Z5"[..])
        );
        let complete = dial(b"(1Z5|15)", "15").1.unwrap();
        assert_eq!(
            (complete.alternative, &complete.digits[..]),
            (Some(1), &b"15"[..])
        );
        let complete = dial(b"(15)", "1Z5").1.unwrap();
        assert_eq!(complete.digits, b"15", "its length is irrelevant");
    }

    #[test]
    fn digits_without_end_complete_the_map() {
        let map = DigitMap::parse(b"x.").unwrap();
        let mut collector = DigitCollector::new(&map, DigitTimers::default());
        for _ in 0..DigitCollector::DIGITS_MAX {
            assert!(matches!(
                collector.press(b'1', Duration::ZERO),
                DigitStep::Wait(_)
            ));
        }
        let DigitStep::Complete(complete) = collector.press(b'1', Duration::ZERO) else {
            panic!("no end");
        };
        assert_eq!(complete.method, DigitMethod::Full);
        assert_eq!(complete.digits.len(), DigitCollector::DIGITS_MAX);
    }
}
