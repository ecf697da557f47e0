//! What a stream of packets went through: loss, order, jitter and clocks.

/// A packet as it came.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When it came, in nanoseconds.
    pub time_ns: i64,
    /// Its sequence number.
    pub sequence: u16,
    /// Its timestamp.
    pub timestamp: u32,
    /// Its marker.
    pub marker: bool,
    /// Ticks of the timestamp a second; `None` where that is not known, and of named events, whose timestamp
    /// stands still (RFC 4733, 2.2.1): such packets say nothing about jitter.
    pub clock_rate: Option<u32>,
    /// It is comfort noise.
    pub is_comfort_noise: bool,
}

/// Measures a stream, packet by packet, in constant memory.
///
/// Loss is RFC 3550's (6.4.1, A.3): packets that were expected by their numbers less those that came, so that
/// packets that came twice make up for lost ones; [`Self::missing`] counts numbers that never came. Jitter is
/// RFC 3550's (A.8), in milliseconds, over the packets in the order in which they came. Means and extremes leave
/// out what begins after a pause: packets with a marker, comfort noise and what follows it.
#[derive(Clone, Debug, Default)]
pub struct Measure {
    packets: u64,
    duplicates: u64,
    out_of_order: u64,
    /// Sequence numbers with their cycles, from that of the first packet on.
    first: i64,
    highest: i64,
    /// Bit `n` is set when the number `highest - n` came.
    window: [u64; WINDOW_WORDS],
    gaps: u64,
    longest_gap: u64,
    last: Last,
    spans: [Spread; 2],
    jitter_ms: f64,
    fit: Fit,
    playout: Playout,
    clock_rate: Option<u32>,
}

/// The packet that the next one is compared with.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    time_ns: i64,
    timestamp: u32,
    was_comfort_noise: bool,
}

/// Least, mean and most of something, where what is left out counts as the mean so far.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    least: Option<f64>,
    mean: f64,
    most: f64,
}

impl Spread {
    /// Takes a value that has `before` places before it.
    fn take(&mut self, value: f64, before: f64) {
        self.least = Some(self.least.map_or(value, |least| least.min(value)));
        self.most = self.most.max(value);
        self.mean += (value - self.mean) / before;
    }
}

/// A line through the times of arrival over those of the media, in milliseconds since the first packet.
#[derive(Clone, Copy, Debug, Default)]
struct Fit {
    count: f64,
    mean_media: f64,
    mean_arrival: f64,
    media_squares: f64,
    products: f64,
    media_ms: f64,
    arrival_ms: f64,
    most_skew_ms: f64,
}

impl Fit {
    fn take(&mut self, media_step_ms: f64, arrival_step_ms: f64) {
        self.media_ms += media_step_ms;
        self.arrival_ms += arrival_step_ms;
        let skew = self.media_ms - self.arrival_ms;
        if skew.abs() > self.most_skew_ms.abs() {
            self.most_skew_ms = skew;
        }
        self.count += 1.0;
        let media = self.media_ms - self.mean_media;
        self.mean_media += media / self.count;
        self.mean_arrival += (self.arrival_ms - self.mean_arrival) / self.count;
        self.media_squares += media * (self.media_ms - self.mean_media);
        self.products += media * (self.arrival_ms - self.mean_arrival);
    }
}

/// A buffer that plays packets a fixed time after the fastest one.
#[derive(Clone, Copy, Debug, Default)]
struct Playout {
    /// How much later than its media time the fastest packet came, in milliseconds.
    base_ms: Option<f64>,
    /// When it was looked at last.
    at_ms: f64,
    late: u64,
}

impl Playout {
    fn take(&mut self, transit_ms: f64, at_ms: f64) {
        let elapsed_ms = (at_ms - self.at_ms).max(0.0);
        self.at_ms = at_ms;
        // The first packet has neither a step nor a delay before it.
        let base = self.base_ms.unwrap_or_default() + elapsed_ms * BASE_LEAK;
        self.base_ms = Some(base.min(transit_ms));
        if transit_ms > base + Measure::BUFFER_MS {
            self.late = self.late.saturating_add(1);
        }
    }
}

/// How fast the base of a buffer follows a sender's clock that is slow: a thousandth.
const BASE_LEAK: f64 = 0.001;
/// Sequence numbers behind the highest that are remembered, in words of 64.
const WINDOW_WORDS: usize = 16;
const WINDOW: i64 = 64 * WINDOW_WORDS as i64;
/// A step of more than so many numbers is no loss but a new beginning (RFC 3550, A.1).
const DROPOUT_MAX: i64 = 3_000;

#[allow(
    clippy::cast_precision_loss,
    reason = "packets and nanoseconds of a stream, of which doubles keep the microseconds"
)]
impl Measure {
    /// How long the buffer is that [`Self::late`] and the quality of sound assume.
    pub const BUFFER_MS: f64 = 60.0;

    /// Takes the next packet in the order of arrival.
    pub fn take(&mut self, arrival: &Arrival) {
        if self.packets == 0 {
            self.begin(arrival);
            return;
        }
        let is_duplicate = self.count(arrival.sequence);
        let step = arrival.timestamp.wrapping_sub(self.last.timestamp) as i32;
        let delta_ms = (arrival.time_ns.saturating_sub(self.last.time_ns)) as f64 / 1e6;
        if let Some(rate) = arrival.clock_rate.filter(|rate| *rate > 0) {
            self.clock_rate = Some(rate);
            let media_ms = f64::from(step) * 1e3 / f64::from(rate);
            self.jitter_ms += ((delta_ms - media_ms).abs() - self.jitter_ms) / 16.0;
            self.fit.take(media_ms, delta_ms);
            if !is_duplicate {
                let transit_ms = self.fit.arrival_ms - self.fit.media_ms;
                self.playout.take(transit_ms, self.fit.arrival_ms);
            }
        }
        let is_regular =
            !arrival.marker && !arrival.is_comfort_noise && !self.last.was_comfort_noise;
        if is_regular {
            let before = self.packets as f64;
            self.spans[0].take(delta_ms, before);
            if arrival.clock_rate.is_some() {
                self.spans[1].take(self.jitter_ms, before);
            }
        }
        self.packets = self.packets.saturating_add(1);
        self.last = Last {
            time_ns: arrival.time_ns,
            timestamp: arrival.timestamp,
            was_comfort_noise: arrival.is_comfort_noise,
        };
    }

    fn begin(&mut self, arrival: &Arrival) {
        self.packets = 1;
        self.first = arrival.sequence.into();
        self.highest = self.first;
        self.window[0] = 1;
        self.clock_rate = arrival.clock_rate;
        self.last = Last {
            time_ns: arrival.time_ns,
            timestamp: arrival.timestamp,
            was_comfort_noise: arrival.is_comfort_noise,
        };
    }

    /// Counts a sequence number; true when it came before.
    fn count(&mut self, sequence: u16) -> bool {
        let step = i64::from(sequence.wrapping_sub(self.highest as u16) as i16);
        let number = self.highest.saturating_add(step);
        if step > 0 {
            if step > 1 && step <= DROPOUT_MAX {
                self.gaps = self.gaps.saturating_add(1);
                self.longest_gap = self.longest_gap.max(step.unsigned_abs() - 1);
            }
            self.shift(step);
            self.highest = number;
            return false;
        }
        let back = -step;
        self.first = self.first.min(number);
        if back >= WINDOW {
            self.out_of_order = self.out_of_order.saturating_add(1);
            return false;
        }
        let bit = 1_u64 << (back % 64);
        let Some(word) = usize::try_from(back / 64)
            .ok()
            .and_then(|at| self.window.get_mut(at))
        else {
            return false;
        };
        if *word & bit != 0 {
            self.duplicates = self.duplicates.saturating_add(1);
            return true;
        }
        *word |= bit;
        self.out_of_order = self.out_of_order.saturating_add(1);
        false
    }

    /// Makes room for `step` numbers, of which the last came.
    fn shift(&mut self, step: i64) {
        let (words, bits) = (
            usize::try_from(step / 64).unwrap_or(WINDOW_WORDS),
            step % 64,
        );
        for at in (0..WINDOW_WORDS).rev() {
            let from = |back: usize| {
                at.checked_sub(words + back)
                    .and_then(|at| self.window.get(at))
                    .copied()
                    .unwrap_or(0)
            };
            let carried = if bits == 0 { 0 } else { from(1) >> (64 - bits) };
            let value = from(0) << bits | carried;
            if let Some(word) = self.window.get_mut(at) {
                *word = value;
            }
        }
        self.window[0] |= 1;
    }

    /// Packets that came, those that came twice too.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Packets that there should be by the first and the highest number.
    #[must_use]
    pub const fn expected(&self) -> u64 {
        if self.packets == 0 {
            return 0;
        }
        self.highest.saturating_sub(self.first).unsigned_abs() + 1
    }

    /// Expected packets less those that came.
    #[must_use]
    pub fn lost(&self) -> i64 {
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        number(self.expected()).saturating_sub(number(self.packets))
    }

    /// Numbers that never came.
    #[must_use]
    pub fn missing(&self) -> u64 {
        let distinct = self.packets.saturating_sub(self.duplicates);
        self.expected().saturating_sub(distinct)
    }

    /// Packets that came twice, among the last 1,024 numbers.
    #[must_use]
    pub const fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Packets that came behind one with a higher number.
    #[must_use]
    pub const fn out_of_order(&self) -> u64 {
        self.out_of_order
    }

    /// Times that one number or several did not come next, whether they came later or not.
    #[must_use]
    pub const fn gaps(&self) -> u64 {
        self.gaps
    }

    /// Most numbers that did not come in a row.
    #[must_use]
    pub const fn longest_gap(&self) -> u64 {
        self.longest_gap
    }

    /// Packets that came too late for a buffer of [`Self::BUFFER_MS`].
    #[must_use]
    pub const fn late(&self) -> u64 {
        self.playout.late
    }

    /// Least, mean and most milliseconds between packets.
    #[must_use]
    pub fn deltas_ms(&self) -> Option<(f64, f64, f64)> {
        let span = self.spans[0];
        Some((span.least?, span.mean, span.most))
    }

    /// Least, mean and most jitter in milliseconds.
    #[must_use]
    pub fn jitters_ms(&self) -> Option<(f64, f64, f64)> {
        let span = self.spans[1];
        Some((span.least?, span.mean, span.most))
    }

    /// Ticks of the timestamp a second, as of the last packet that said so.
    #[must_use]
    pub const fn clock_rate(&self) -> Option<u32> {
        self.clock_rate
    }

    /// How far the media's time was most from that of the arrivals, in milliseconds; positive when it was ahead.
    #[must_use]
    pub fn skew_ms(&self) -> Option<f64> {
        (self.fit.count > 0.0).then_some(self.fit.most_skew_ms)
    }

    /// How much faster the sender's clock runs than that of the capture, in parts of a million, by the line
    /// through all packets that lies closest; `None` of less than 100 packets.
    #[must_use]
    pub fn drift_ppm(&self) -> Option<f64> {
        let slope = self.fit.products / self.fit.media_squares;
        (self.fit.count >= 99.0 && slope.is_finite() && slope > 0.0)
            .then(|| (1.0 / slope - 1.0) * 1e6)
    }

    /// Share of packets that a listener does not hear: those that never came or came late, of those expected,
    /// in percent.
    #[must_use]
    pub fn unheard_percent(&self) -> f64 {
        let unheard = self.missing().saturating_add(self.playout.late);
        let expected = self.expected().max(1);
        100.0 * unheard.min(expected) as f64 / expected as f64
    }

    /// Burst ratio (ITU-T G.107, 7.6): the mean length of gaps beside that of the same loss at random; at least 1.
    #[must_use]
    pub fn burst_ratio(&self) -> f64 {
        let missing = self.missing() as f64;
        if self.gaps == 0 || missing == 0.0 {
            return 1.0;
        }
        let share = missing / self.expected().max(1) as f64;
        (missing / self.gaps as f64 * (1.0 - share)).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of 20 ms by their numbers, each so many milliseconds late.
    fn measure(packets: &[(u16, i64)]) -> Measure {
        let mut measure = Measure::default();
        let first = packets[0].0;
        for (sequence, late_ms) in packets {
            let steps = i64::from(sequence.wrapping_sub(first) as i16);
            measure.take(&Arrival {
                time_ns: (steps * 20 + late_ms) * 1_000_000,
                sequence: *sequence,
                timestamp: ((steps * 160) as u32).wrapping_add(4_294_967_200),
                marker: false,
                clock_rate: Some(8_000),
                is_comfort_noise: false,
            });
        }
        measure
    }

    #[test]
    fn a_stream_without_fault_has_none() {
        let numbers: Vec<(u16, i64)> = (0..1_000)
            .map(|n| (65_000_u16.wrapping_add(n), 0))
            .collect();
        let measure = measure(&numbers);
        assert_eq!((measure.packets(), measure.expected()), (1_000, 1_000));
        assert_eq!(
            (measure.lost(), measure.missing(), measure.gaps()),
            (0, 0, 0)
        );
        assert_eq!(measure.deltas_ms(), Some((20.0, 20.0, 20.0)));
        assert_eq!(measure.jitters_ms(), Some((0.0, 0.0, 0.0)));
        assert!(measure.drift_ppm().unwrap().abs() < 1e-6);
    }

    #[test]
    fn lost_overtaken_and_repeated_packets_are_told_apart() {
        let measure = measure(&[(1, 0), (2, 0), (5, 0), (4, 25), (6, 0), (6, 1), (9, 0)]);
        assert_eq!(measure.expected(), 9);
        assert_eq!((measure.duplicates(), measure.out_of_order()), (1, 1));
        // 3, 7 and 8 never came; one that came twice makes up for one of them.
        assert_eq!((measure.missing(), measure.lost()), (3, 2));
        assert_eq!((measure.gaps(), measure.longest_gap()), (2, 2));
    }

    #[test]
    fn what_comes_far_behind_is_remembered_as_long_as_the_window() {
        let mut numbers: Vec<(u16, i64)> = (0..2_000)
            .filter(|n| *n != 1_500 && *n != 5)
            .map(|n| (n, 0))
            .collect();
        numbers.extend([(1_500, 0), (1_500, 0), (1_400, 0), (5, 0)]);
        let measure = measure(&numbers);
        assert_eq!((measure.duplicates(), measure.out_of_order()), (2, 2));
        assert_eq!(measure.missing(), 0);
    }

    #[test]
    fn what_a_buffer_cannot_wait_for_is_late() {
        let mut numbers: Vec<(u16, i64)> = (0..100).map(|n| (n, 0)).collect();
        numbers[50].1 = 59;
        numbers[60].1 = 70;
        let measure = measure(&numbers);
        assert_eq!(measure.late(), 1);
        assert!((measure.unheard_percent() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_slow_clock_is_told_and_does_not_make_all_late() {
        let mut measure = Measure::default();
        for n in 0..50_000_i64 {
            measure.take(&Arrival {
                // 200 parts of a million longer.
                time_ns: n * 20_004_000,
                sequence: n as u16,
                timestamp: (n * 160) as u32,
                marker: false,
                clock_rate: Some(8_000),
                is_comfort_noise: false,
            });
        }
        assert!((measure.drift_ppm().unwrap() + 200.0).abs() < 0.1);
        assert_eq!(measure.late(), 0);
        assert_eq!(measure.missing(), 0);
    }

    #[test]
    fn any_numbers_and_times_are_survived() {
        let mut seed = 7_u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed >> 16
        };
        let mut measure = Measure::default();
        for _ in 0..20_000 {
            measure.take(&Arrival {
                time_ns: (next() << 20) as i64,
                sequence: next() as u16,
                timestamp: next() as u32,
                marker: next() % 3 == 0,
                clock_rate: (next() % 2 == 0).then_some(next() as u32),
                is_comfort_noise: next() % 5 == 0,
            });
        }
        assert!(measure.missing() <= measure.expected());
        assert!(measure.unheard_percent() <= 100.0);
    }
}
