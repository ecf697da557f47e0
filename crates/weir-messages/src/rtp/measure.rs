//! Measurements of a stream of packets: loss, order, jitter and clocks.

/// A packet as it came.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When it came, in nanoseconds.
    pub time_ns: i64,
    /// The sequence number.
    pub sequence: u16,
    /// The timestamp.
    pub timestamp: u32,
    /// The marker bit.
    pub marker: bool,
    /// The clock rate of the timestamp in Hz; `None` where it is unknown, and for named events, whose timestamp stands still (RFC
    /// 4733, 2.2.1): such packets do not count for jitter.
    pub clock_rate: Option<u32>,
    /// The packet is comfort noise.
    pub is_comfort_noise: bool,
}

/// Measures a stream, packet by packet, in constant memory.
///
/// Loss is RFC 3550's (6.4.1, A.3): packets that were expected by their numbers less those that came, so that
/// packets that came twice make up for lost ones; [`Self::missing`] counts numbers that never came. Jitter is
/// RFC 3550's (A.8), in milliseconds, over the packets in the order in which they came. Means and extremes leave
/// out what begins after a pause: packets with a marker, comfort noise and what follows it.
///
/// A source may begin anew (RFC 3550, A.1): numbers that jump and go on from there are counted from there, unless as much time has
/// passed by both clocks as the packets between take, which were lost then; and a timestamp that jumps while the numbers go on is a
/// clock that was set. Neither is a loss, nor jitter, nor lateness.
#[derive(Clone, Debug, Default)]
pub struct Measure {
    packets: u64,
    duplicates: u64,
    out_of_order: u64,
    /// Packets that were expected before the source began anew, and those whose numbers jumped alone.
    expected_before: u64,
    /// The packet before, when its number jumped.
    jump: Option<Jump>,
    /// Sequence numbers with their cycles, from that of the first packet since the source began.
    first: i64,
    highest: i64,
    /// Bit `n` is set when the number `highest - n` came.
    window: [u64; WINDOW_WORDS],
    /// The gaps in front of the window. What is missing in it may still come.
    gaps: Gaps,
    last: Last,
    /// The last packet whose timestamp counts, which no event's does.
    clocked: Option<Last>,
    spans: [Spread; 2],
    jitter_ms: f64,
    course: Course,
    /// The last gap, until the packets behind it decide whose it was.
    gap: Option<Gap>,
    clock_rate: Option<u32>,
}

/// The packet that the next one is compared with.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    time_ns: i64,
    sequence: u16,
    timestamp: u32,
    had_marker: bool,
    was_comfort_noise: bool,
}

impl From<&Arrival> for Last {
    fn from(arrival: &Arrival) -> Self {
        Self {
            time_ns: arrival.time_ns,
            sequence: arrival.sequence,
            timestamp: arrival.timestamp,
            had_marker: arrival.marker,
            was_comfort_noise: arrival.is_comfort_noise,
        }
    }
}

/// A packet whose number is far from the others, or is not the next one and has a timestamp that is far, with its classification.
/// When the next one continues it, the source began anew with it.
#[derive(Clone, Copy, Debug)]
struct Jump {
    sequence: u16,
    counted: Counted,
    /// The numbers and gaps of those before it.
    before: Numbers,
}

/// The first and the highest number, and those between them that came.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    first: i64,
    highest: i64,
    window: [u64; WINDOW_WORDS],
    gaps: Gaps,
}

/// Runs of numbers that never came.
#[derive(Clone, Copy, Debug, Default)]
struct Gaps {
    count: u64,
    longest: u64,
    /// Numbers of the run that has no end yet.
    open: u64,
}

impl Gaps {
    /// Adds the next number.
    fn take(&mut self, came: bool) {
        if !came {
            self.open = self.open.saturating_add(1);
            return;
        }
        self.count = self.count.saturating_add(u64::from(self.open > 0));
        self.longest = self.longest.max(self.open);
        self.open = 0;
    }
}

/// The classification of a packet's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    /// The number is higher than all before.
    Next,
    /// The packet came behind a higher number.
    Late,
    /// The number has come before.
    Twice,
    /// The packet stands alone, far from the others: it was expected and came.
    Alone,
}

/// Least, mean and most of something, where what is left out counts as the mean so far.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    least: Option<f64>,
    mean: f64,
    most: f64,
}

impl Spread {
    /// Adds a value after `before` earlier ones.
    fn take(&mut self, value: f64, before: f64) {
        self.least = Some(self.least.map_or(value, |least| least.min(value)));
        self.most = self.most.max(value);
        self.mean += (value - self.mean) / before;
    }
}

/// The interval between a packet and the one before.
#[derive(Clone, Copy, Debug)]
struct Interval {
    numbers: f64,
    media_ms: f64,
    arrival_ms: f64,
    /// The maximum by which the media's time may go back from one number to a higher one, in milliseconds.
    back_max_ms: f64,
    /// The packet may be the first one after a pause of the sender.
    is_after_pause: bool,
}

impl Interval {
    /// Whether the media's clock was set: its time goes back while the numbers continue, or differs from that of the arrivals by
    /// more than networks cause.
    fn is_anew(&self) -> bool {
        let ahead_ms = self.media_ms - self.arrival_ms;
        let each_ms = AHEAD_MAX_MS_EACH * self.numbers;
        if self.numbers > 0.0 {
            return self.media_ms < -self.back_max_ms
                || ahead_ms > AHEAD_MAX_MS + each_ms
                || (ahead_ms < -BEHIND_MAX_MS && !self.is_after_pause);
        }
        self.media_ms > AHEAD_MAX_MS || self.media_ms < each_ms - AHEAD_MAX_MS
    }

    /// Whether the media's clock may have stood still in front of the next packet of sound, which has no marker, or have gone slower
    /// while the sender was silent.
    fn may_be_pause(&self) -> bool {
        let is_next_of_sound =
            (self.numbers - 1.0).abs() < 0.5 && self.media_ms > 0.0 && self.back_max_ms == 0.0;
        let behind_max_ms = match self.media_ms > SILENCE_MS {
            true => Measure::BUFFER_MS,
            false => PAUSE_MS,
        };
        is_next_of_sound && self.arrival_ms - self.media_ms > behind_max_ms
    }
}

/// A gap between two packets with adjacent numbers and times, the second of which has no marker. It is taken for a pause in which
/// the sender's clock stood still, until the packets behind it show that the network held them back.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// The time by which the arrival of the second packet is behind that of the media.
    behind_ms: f64,
    /// The time of the media and of the arrivals since the second packet.
    media_ms: f64,
    arrival_ms: f64,
    /// The course of a stream that the network held back.
    held_back: Course,
}

impl Gap {
    /// Whether the packets behind the gap are as many as the network would have held back in it, or enough, or have made up for half
    /// of it.
    fn is_decided(&self) -> bool {
        let made_up_ms = self.media_ms - self.arrival_ms;
        let enough_ms = self.behind_ms.clamp(PAUSE_MS, DECIDED_MS);
        self.media_ms >= enough_ms || made_up_ms >= self.behind_ms / 2.0
    }

    /// Whether these came faster than they were sent.
    fn is_held_back(&self) -> bool {
        self.arrival_ms < HELD_BACK * self.media_ms
    }
}

/// The times of the packets, and the buffer that plays them.
#[derive(Clone, Copy, Debug, Default)]
struct Course {
    fit: Fit,
    playout: Playout,
}

impl Course {
    /// Adds the steps to a packet.
    fn take(&mut self, (media_ms, arrival_ms): (f64, f64), counted: Counted, is_after_pause: bool) {
        let is_copy = counted == Counted::Twice;
        self.fit.take(media_ms, arrival_ms, is_copy);
        if is_copy {
            return;
        }
        let Self { fit, playout } = self;
        let transit_ms = fit.arrival_ms - fit.media_ms;
        if is_after_pause {
            playout.shown_ms = fit.media_ms;
            playout.take_after_pause(transit_ms, fit.arrival_ms);
        } else if counted == Counted::Next && fit.media_ms < playout.shown_ms {
            // Its sender sent it so late, behind a picture that refers to it or that it refers to: nothing says how late.
            let behind_ms = playout.shown_ms - fit.media_ms;
            playout.reordered_ms = playout.reordered_ms.max(behind_ms);
        } else {
            playout.shown_ms = playout.shown_ms.max(fit.media_ms);
            playout.take(transit_ms, fit.arrival_ms);
        }
    }
}

/// The regression line of the times of arrival over those of the media, in milliseconds since the first packet.
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
    /// Adds the steps to a packet. A copy of an earlier packet came when something else than the sender sent it.
    fn take(&mut self, media_step_ms: f64, arrival_step_ms: f64, is_copy: bool) {
        self.media_ms += media_step_ms;
        self.arrival_ms += arrival_step_ms;
        if is_copy {
            return;
        }
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
    /// The minimum transit time relative to the first packet, in milliseconds.
    base_ms: Option<f64>,
    /// When it was looked at last.
    at_ms: f64,
    /// The latest time of the media.
    shown_ms: f64,
    /// The longest time by which a packet in order was behind it, in milliseconds: pictures that are sent before others that are
    /// shown earlier come so long before their time, at most.
    reordered_ms: f64,
    late: u64,
}

impl Playout {
    fn take(&mut self, transit_ms: f64, at_ms: f64) {
        let elapsed_ms = (at_ms - self.at_ms).max(0.0);
        self.at_ms = at_ms;
        // The first packet has neither a step nor a delay before it.
        let base = self.base_ms.unwrap_or_default() + elapsed_ms * BASE_LEAK;
        self.base_ms = Some(base.min(transit_ms));
        if transit_ms > base + self.reordered_ms + Measure::BUFFER_MS {
            self.late = self.late.saturating_add(1);
        }
    }

    /// Adds a packet after a pause, in which a buffer may change its delay: it is not late.
    fn take_after_pause(&mut self, transit_ms: f64, at_ms: f64) {
        let late = self.late;
        self.take(transit_ms, at_ms);
        if self.late != late {
            self.late = late;
            self.base_ms = Some(transit_ms);
        }
    }
}

/// The rate at which the base of a buffer follows a slow sender's clock: a thousandth.
const BASE_LEAK: f64 = 0.001;
/// Sequence numbers behind the highest that are remembered, in words of 64.
const WINDOW_WORDS: usize = 16;
const WINDOW: i64 = 64 * WINDOW_WORDS as i64;
/// A step of more than so many numbers is no loss but a new beginning (RFC 3550, A.1).
const DROPOUT_MAX: i64 = 3_000;
/// A packet so many numbers behind is overtaken; farther behind, it may be a new beginning (RFC 3550, A.1).
const MISORDER_MAX: i64 = 100;
/// The maximum by which the media may be ahead of the arrivals in one step, in milliseconds, plus an allowance for each number.
const AHEAD_MAX_MS: f64 = 1_000.0;
const AHEAD_MAX_MS_EACH: f64 = 120.0;
/// The maximum by which the media may be behind the arrivals in one step, in milliseconds: no network delays a packet for longer.
const BEHIND_MAX_MS: f64 = 10_000.0;
/// The maximum by which the time of pictures may go back from one number to a higher one, in milliseconds: they may be sent in
/// another order than they are shown. That of sound does not go back.
const BACK_MAX_MS: f64 = 500.0;
/// The clock rate of pictures (RFC 3551, 5).
const PICTURES_RATE: u32 = 90_000;
/// The media's clock stood still in a pause when it differs by more than so many milliseconds behind it: no network that carries
/// speech delays packets by so much more from one to the next, and for good.
const PAUSE_MS: f64 = 200.0;
/// The time of the media from one packet to the next, in milliseconds, in which a sender was silent: none has so much sound.
const SILENCE_MS: f64 = 500.0;
/// What a network held back comes in less than this part of the time in which it was sent.
const HELD_BACK: f64 = 0.75;
/// The time of the media behind a gap, in milliseconds, that is enough to decide whose it was.
const DECIDED_MS: f64 = 400.0;

#[allow(
    clippy::cast_precision_loss,
    reason = "packets and nanoseconds of a stream, of which doubles keep the microseconds"
)]
impl Measure {
    /// The length of the buffer that [`Self::late`] and the quality of sound assume.
    pub const BUFFER_MS: f64 = 60.0;

    /// Adds the next packet in the order of arrival.
    pub fn take(&mut self, arrival: &Arrival) {
        if self.packets == 0 {
            self.begin(arrival);
            return;
        }
        let is_copy = self
            .jump
            .is_some_and(|jump| jump.sequence == arrival.sequence);
        let was_alone = !is_copy && self.settle(arrival.sequence);
        let counted = if is_copy {
            self.count_twice()
        } else {
            let is_set = !was_alone && self.is_clock_set(arrival);
            let is_behind_loss = self.is_behind_long_loss(arrival);
            self.count(arrival.sequence, is_set, is_behind_loss)
        };
        if was_alone || self.jump.is_some() {
            self.clocked = None;
        }
        let goes_on = self.take_times(arrival, counted);
        let is_regular =
            goes_on && !arrival.marker && !arrival.is_comfort_noise && !self.last.was_comfort_noise;
        if is_regular {
            let before = self.packets as f64;
            let delta_ms = arrival.time_ns.saturating_sub(self.last.time_ns) as f64 / 1e6;
            self.spans[0].take(delta_ms, before);
            if arrival.clock_rate.is_some() {
                self.spans[1].take(self.jitter_ms, before);
            }
        }
        self.packets = self.packets.saturating_add(1);
        self.last = arrival.into();
    }

    fn begin(&mut self, arrival: &Arrival) {
        self.packets = 1;
        self.first = arrival.sequence.into();
        self.highest = self.first;
        self.window[0] = 1;
        self.clock_rate = arrival.clock_rate;
        self.last = arrival.into();
        self.clocked = arrival.clock_rate.map(|_| self.last);
    }

    /// Whether the timestamp of a packet does not continue those before it.
    fn is_clock_set(&self, arrival: &Arrival) -> bool {
        let rate = arrival.clock_rate.filter(|rate| *rate > 0);
        // Timestamps of two rates cannot be compared.
        let rate = rate.filter(|_| self.clock_rate == rate);
        self.clocked
            .zip(rate)
            .is_some_and(|(before, rate)| Self::interval(&before, arrival, rate).is_anew())
    }

    /// Whether the numbers between this packet and the one before, which are more than those of a dropout, were lost: the time of the
    /// media that they take is that of the packets so far, and has passed.
    fn is_behind_long_loss(&self, arrival: &Arrival) -> bool {
        let rate = arrival.clock_rate.filter(|rate| *rate > 0);
        let rate = rate.filter(|_| self.clock_rate == rate);
        let Some((before, rate)) = self.clocked.zip(rate) else {
            return false;
        };
        let step = Self::interval(&before, arrival, rate);
        let own_ms = self.course.fit.media_ms / self.packets as f64;
        let lost_ms = step.media_ms / step.numbers;
        step.numbers > DROPOUT_MAX as f64
            && (step.media_ms - step.arrival_ms).abs() <= AHEAD_MAX_MS
            && lost_ms > own_ms / 2.0
            && lost_ms < own_ms * 2.0
    }

    fn interval(before: &Last, arrival: &Arrival, rate: u32) -> Interval {
        Interval {
            numbers: f64::from(arrival.sequence.wrapping_sub(before.sequence) as i16),
            media_ms: f64::from(arrival.timestamp.wrapping_sub(before.timestamp) as i32) * 1e3
                / f64::from(rate),
            arrival_ms: arrival.time_ns.saturating_sub(before.time_ns) as f64 / 1e6,
            back_max_ms: match rate {
                PICTURES_RATE => BACK_MAX_MS,
                _ => 0.0,
            },
            is_after_pause: before.was_comfort_noise || arrival.marker && !before.had_marker,
        }
    }

    /// Adds the timestamp of a packet; false when the media's clock does not continue that of the packet before.
    fn take_times(&mut self, arrival: &Arrival, counted: Counted) -> bool {
        let Some(rate) = arrival.clock_rate.filter(|rate| *rate > 0) else {
            return self.jump.is_none();
        };
        let has_same_rate = self.clock_rate == Some(rate);
        self.clock_rate = Some(rate);
        let before = self.clocked.replace(arrival.into());
        let step = before
            .filter(|_| has_same_rate)
            .map(|before| Self::interval(&before, arrival, rate));
        let Some(step) = step.filter(|step| !step.is_anew()) else {
            let before = before.unwrap_or(self.last);
            let arrival_ms = arrival.time_ns.saturating_sub(before.time_ns) as f64 / 1e6;
            self.settle_gap();
            self.course.take((arrival_ms, arrival_ms), counted, true);
            return false;
        };
        let behind_ms = step.arrival_ms - step.media_ms;
        self.jitter_ms += (behind_ms.abs() - self.jitter_ms) / 16.0;
        let is_after_pause = step.is_after_pause && step.media_ms > 0.0;
        let may_be_pause = counted == Counted::Next && !step.is_after_pause && step.may_be_pause();
        if may_be_pause {
            self.settle_gap();
            let mut held_back = self.course;
            held_back.take((step.media_ms, step.arrival_ms), counted, false);
            self.gap = Some(Gap {
                behind_ms,
                media_ms: 0.0,
                arrival_ms: 0.0,
                held_back,
            });
            let stood_still = (step.arrival_ms, step.arrival_ms);
            self.course.take(stood_still, counted, false);
            return true;
        }
        let stood_still = is_after_pause && behind_ms.abs() > PAUSE_MS;
        let media_ms = if stood_still {
            step.arrival_ms
        } else {
            step.media_ms
        };
        let steps = (media_ms, step.arrival_ms);
        self.course.take(steps, counted, is_after_pause);
        if let Some(gap) = &mut self.gap {
            gap.held_back.take(steps, counted, is_after_pause);
            gap.media_ms += media_ms;
            gap.arrival_ms += step.arrival_ms;
            if gap.is_decided() {
                self.settle_gap();
            }
        }
        true
    }

    /// Decides by the packets behind the last gap who paused in it. Packets that a network held back come faster than they were
    /// sent, and are late; a sender that paused goes on as before.
    fn settle_gap(&mut self) {
        if let Some(gap) = self.gap.take_if(|gap| gap.is_held_back()) {
            self.course = gap.held_back;
        }
        self.gap = None;
    }

    /// Whether a number does not continue one that jumped; if it does, the source began anew there.
    fn settle(&mut self, sequence: u16) -> bool {
        let Some(jump) = self.jump.take() else {
            return false;
        };
        if sequence != jump.sequence.wrapping_add(1) {
            return true;
        }
        match jump.counted {
            Counted::Next => {}
            Counted::Late => self.out_of_order = self.out_of_order.saturating_sub(1),
            Counted::Twice => self.duplicates = self.duplicates.saturating_sub(1),
            Counted::Alone => self.expected_before = self.expected_before.saturating_sub(1),
        }
        self.first = jump.before.first;
        self.highest = jump.before.highest;
        self.window = jump.before.window;
        self.gaps = jump.before.gaps;
        self.expected_before = self.expected();
        self.gaps = self.all_gaps();
        self.first = jump.sequence.into();
        self.highest = self.first;
        self.window = [0; WINDOW_WORDS];
        self.window[0] = 1;
        false
    }

    /// Counts a sequence number, and remembers it when it jumped, or when it is behind or ahead and the clock was set with it: no
    /// packet that was overtaken, came twice or follows lost ones has a timestamp far from those around it.
    fn count(&mut self, sequence: u16, is_clock_set: bool, is_behind_loss: bool) -> Counted {
        let before = Numbers {
            first: self.first,
            highest: self.highest,
            window: self.window,
            gaps: self.gaps,
        };
        let step = i64::from(sequence.wrapping_sub(self.highest as u16) as i16);
        let number = self.highest.saturating_add(step);
        let counted = match step {
            1..=DROPOUT_MAX => self.count_next(number, step),
            _ if step > 0 && is_behind_loss => self.count_next(number, step),
            _ if step <= 0 && (-step <= MISORDER_MAX || number >= self.first) => {
                self.count_behind(number, -step)
            }
            _ => {
                self.expected_before = self.expected_before.saturating_add(1);
                Counted::Alone
            }
        };
        let is_far = match counted {
            Counted::Next => step > MISORDER_MAX && is_clock_set,
            Counted::Late => -step >= WINDOW || is_clock_set,
            Counted::Twice => -step > MISORDER_MAX || is_clock_set,
            Counted::Alone => true,
        };
        self.jump = is_far.then_some(Jump {
            sequence,
            counted,
            before,
        });
        counted
    }

    /// Counts a number that is `step` higher than all before.
    fn count_next(&mut self, number: i64, step: i64) -> Counted {
        self.leave(step);
        self.shift(step);
        self.highest = number;
        Counted::Next
    }

    /// Takes out of the window the numbers for which `step` higher ones leave no room.
    fn leave(&mut self, step: i64) {
        let oldest = self.highest.saturating_sub(self.first).min(WINDOW - 1);
        for back in ((WINDOW - step).max(0)..=oldest).rev() {
            let came = self.has(back);
            self.gaps.take(came);
        }
        let beyond = (step - WINDOW).max(0).unsigned_abs();
        self.gaps.open = self.gaps.open.saturating_add(beyond);
    }

    /// Whether the number came that is `back` lower than the highest, which is in the window.
    fn has(&self, back: i64) -> bool {
        let word = usize::try_from(back / 64).ok();
        let word = word.and_then(|at| self.window.get(at));
        word.is_some_and(|word| *word & (1_u64 << (back % 64)) != 0)
    }

    /// The gaps so far, with those in the window.
    fn all_gaps(&self) -> Gaps {
        let mut gaps = self.gaps;
        let oldest = self.highest.saturating_sub(self.first).min(WINDOW - 1);
        for back in (0..=oldest).rev() {
            gaps.take(self.has(back));
        }
        gaps
    }

    /// Counts a number that came before.
    fn count_twice(&mut self) -> Counted {
        self.duplicates = self.duplicates.saturating_add(1);
        Counted::Twice
    }

    /// Counts a number that is `back` lower than the highest.
    fn count_behind(&mut self, number: i64, back: i64) -> Counted {
        self.first = self.first.min(number);
        let bit = 1_u64 << (back % 64);
        let word = usize::try_from(back / 64).ok();
        if let Some(word) = word.and_then(|at| self.window.get_mut(at)) {
            if *word & bit != 0 {
                return self.count_twice();
            }
            *word |= bit;
        }
        self.out_of_order = self.out_of_order.saturating_add(1);
        Counted::Late
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

    /// Packets that there should be by the first and the highest number, since each beginning of the source.
    #[must_use]
    pub const fn expected(&self) -> u64 {
        if self.packets == 0 {
            return 0;
        }
        let since = self.highest.saturating_sub(self.first).unsigned_abs();
        self.expected_before.saturating_add(since).saturating_add(1)
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

    /// Runs of one number or several that never came, or came behind the next 1,024.
    #[must_use]
    pub fn gaps(&self) -> u64 {
        self.all_gaps().count
    }

    /// Most numbers in a row that never came.
    #[must_use]
    pub fn longest_gap(&self) -> u64 {
        self.all_gaps().longest
    }

    /// Packets that came too late for a buffer of [`Self::BUFFER_MS`]. Pictures that are sent behind others which are shown later
    /// are not among them.
    #[must_use]
    pub const fn late(&self) -> u64 {
        self.course.playout.late
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

    /// The largest difference between the media's time and that of the arrivals, in milliseconds; positive when the media was
    /// ahead.
    #[must_use]
    pub fn skew_ms(&self) -> Option<f64> {
        (self.course.fit.count > 0.0).then_some(self.course.fit.most_skew_ms)
    }

    /// The rate of the sender's clock relative to that of the capture, in parts of a million, by linear regression over all
    /// packets; `None` for less than 100 packets.
    #[must_use]
    pub fn drift_ppm(&self) -> Option<f64> {
        let fit = &self.course.fit;
        let slope = fit.products / fit.media_squares;
        (fit.count >= 99.0 && slope.is_finite() && slope > 0.0).then(|| (1.0 / slope - 1.0) * 1e6)
    }

    /// Share of packets that a listener does not hear: those that never came or came late, of those expected,
    /// in percent.
    #[must_use]
    pub fn unheard_percent(&self) -> f64 {
        let unheard = self.missing().saturating_add(self.course.playout.late);
        let expected = self.expected().max(1);
        100.0 * unheard.min(expected) as f64 / expected as f64
    }

    /// Burst ratio (ITU-T G.107, 7.6): the mean length of gaps beside that of the same loss at random; at least 1.
    #[must_use]
    pub fn burst_ratio(&self) -> f64 {
        let (missing, gaps) = (self.missing() as f64, self.gaps());
        if gaps == 0 || missing == 0.0 {
            return 1.0;
        }
        let share = missing / self.expected().max(1) as f64;
        (missing / gaps as f64 * (1.0 - share)).max(1.0)
    }
}

#[cfg(test)]
mod tests;
