//! An axis: how far it goes, and what stands beside it.

use arrow::datatypes::TimeUnit;

use super::super::time::{Zone, push_timestamp};

/// The range of an axis, and its title.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    /// The title.
    pub(super) title: String,
    /// The smallest value.
    pub(super) low: f64,
    /// The largest value, above `low`.
    pub(super) high: f64,
    /// The time zone in which its instants are written; `None` of amounts.
    zone: Option<Zone>,
}

impl Axis {
    /// An axis that has all these amounts, and 0 where they begin there.
    pub(super) fn of_amounts(
        title: String,
        values: impl Iterator<Item = f64>,
        from_zero: bool,
    ) -> Self {
        let (low, high) = ends(values);
        let (low, high) = match from_zero {
            true => (low.min(0.0), high.max(0.0)),
            false => (low, high),
        };
        Self::between(title, low, high, None)
    }

    /// An axis of instants in milliseconds since 1970.
    pub(super) fn of_times(title: &str, zone: Zone, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = ends(values);
        let mut axis = Self::between(title.to_owned(), low, high, Some(zone));
        let named = match zone {
            Zone::None => "",
            Zone::Utc => " (UTC)",
            Zone::Named(_) => " (local)",
        };
        let day = |at| instant(at, zone).get(..10).unwrap_or_default().to_owned();
        let (first, last) = (day(axis.low), day(axis.high));
        axis.title = match first == last {
            true => format!("{title}, {first}{named}"),
            false => format!("{title}, {first} to {last}{named}"),
        };
        axis
    }

    fn between(title: String, low: f64, high: f64, zone: Option<Zone>) -> Self {
        // One value alone stands in the middle.
        let room = match zone {
            Some(_) => 500.0,
            None => match low.abs().max(high.abs()) {
                largest if largest > 1e-290 => largest / 2.0,
                _ => 0.5,
            },
        };
        // Nor is there a step between numbers next to each other.
        let (low, high) = match high / 2.0 - low / 2.0 > room * 1e-13 {
            true => (low, high),
            false => ((low - room).max(f64::MIN), (high + room).min(f64::MAX)),
        };
        Self {
            title,
            low,
            high,
            zone,
        }
    }

    /// The position of a value, from 0 to 1.
    pub(super) fn share(&self, value: f64) -> f64 {
        // Halves do not overflow.
        let (low, high, value) = (self.low / 2.0, self.high / 2.0, value / 2.0);
        ((value - low) / (high - low)).clamp(0.0, 1.0)
    }

    /// Makes an axis of amounts end at round values.
    pub(super) fn rounded(mut self, ticks_max: usize) -> Self {
        let step = self.step(ticks_max);
        let (low, high) = (
            (self.low / step).floor() * step,
            (self.high / step).ceil() * step,
        );
        if self.zone.is_none() && low.is_finite() && high.is_finite() {
            (self.low, self.high) = (low, high);
        }
        self
    }

    /// Round values along the axis, at most so many, with what is written there.
    pub(super) fn ticks(&self, ticks_max: usize) -> Vec<(f64, String)> {
        let step = self.step(ticks_max);
        let first = (self.low / step).ceil();
        let ticks = (0..=ticks_max).map(|at| (first + at as f64) * step);
        let within = ticks.filter(|tick| (self.low..=self.high).contains(tick));
        within.map(|tick| (tick, self.label(tick, step))).collect()
    }

    /// The labels of `count` equidistant values, from the first to the last of the axis.
    pub(super) fn labels(&self, count: usize) -> Vec<String> {
        let parts = count.saturating_sub(1).max(1) as f64;
        let step = self.high / parts - self.low / parts;
        let place = |at: usize| self.low + step * at as f64;
        (0..count).map(|at| self.label(place(at), step)).collect()
    }

    /// The label of a round value of this axis.
    pub(super) fn label_of(&self, value: f64) -> String {
        self.label(value, self.step(8))
    }

    /// The number of round values, with both ends.
    pub(super) fn steps(&self, ticks_max: usize) -> usize {
        let step = self.step(ticks_max);
        ((self.high / step - self.low / step).round() as usize).clamp(1, ticks_max + 2) + 1
    }

    /// The label of a value on an axis with steps of this size.
    fn label(&self, value: f64, step: f64) -> String {
        let Some(zone) = self.zone else {
            // Sums of steps leave crumbs at 0.
            return short(if value.abs() < step / 1e6 { 0.0 } else { value });
        };
        let written = instant(value, zone);
        let part = match step {
            _ if step >= DAY => 0..10,
            _ if self.high - self.low >= DAY => 5..16,
            _ if step >= 60_000.0 => 11..16,
            _ if step >= 1_000.0 => 11..19,
            _ => 11..23,
        };
        written.get(part).unwrap_or(&written).replace('T', " ")
    }

    /// The distance of round values, of which there are at most so many.
    fn step(&self, ticks_max: usize) -> f64 {
        let least = self.high / ticks_max.max(1) as f64 - self.low / ticks_max.max(1) as f64;
        let times = match self.zone {
            Some(_) => TIMES,
            None => &[],
        };
        if let Some(&step) = times.iter().find(|&&step| step >= least) {
            return step;
        }
        let power = 10_f64.powf(least.log10().floor());
        let mut steps = [1.0, 2.0, 5.0].into_iter().map(|step| step * power);
        steps.find(|&step| step >= least).unwrap_or(10.0 * power)
    }
}

fn ends(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let finite = values.filter(|value| value.is_finite());
    let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    if low <= high { (low, high) } else { (0.0, 0.0) }
}

/// An instant in full.
fn instant(milliseconds: f64, zone: Zone) -> String {
    let mut written = String::new();
    // Casts of floating point end at the ends of the integer.
    push_timestamp(
        &mut written,
        milliseconds.round() as i64,
        TimeUnit::Millisecond,
        zone,
    );
    written
}

/// A number with at most four digits and the prefix of its size.
pub(super) fn short(value: f64) -> String {
    let size = value.abs();
    let (scaled, prefix) = match size {
        _ if size >= 1e15 || (size > 0.0 && size < 1e-4) => return format!("{value:.2e}"),
        _ if size >= 1e12 => (value / 1e12, "T"),
        _ if size >= 1e9 => (value / 1e9, "G"),
        _ if size >= 1e6 => (value / 1e6, "M"),
        _ if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let decimals = match scaled.abs() {
        scaled if scaled >= 100.0 => 1,
        scaled if scaled >= 1.0 => 2,
        _ => 5,
    };
    let written = format!("{scaled:.decimals$}");
    let trimmed = written.trim_end_matches('0').trim_end_matches('.');
    format!("{trimmed}{prefix}")
}

const DAY: f64 = 86_400_000.0;
/// Round distances of instants, in milliseconds.
const TIMES: &[f64] = &[
    1.0,
    2.0,
    5.0,
    10.0,
    20.0,
    50.0,
    100.0,
    200.0,
    500.0,
    1e3,
    2e3,
    5e3,
    1e4,
    1.5e4,
    3e4,
    6e4,
    1.2e5,
    3e5,
    6e5,
    9e5,
    1.8e6,
    3.6e6,
    7.2e6,
    1.08e7,
    2.16e7,
    4.32e7,
    DAY,
    2.0 * DAY,
    7.0 * DAY,
    14.0 * DAY,
    30.0 * DAY,
    90.0 * DAY,
    365.0 * DAY,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_beside_an_axis_is_round() {
        let amounts = |low, high| Axis::between(String::new(), low, high, None);
        let labels = |axis: &Axis, max| {
            let ticks = axis.ticks(max);
            assert!(ticks.len() <= max + 1);
            ticks
                .into_iter()
                .map(|(_, label)| label)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            labels(&amounts(0.0, 97.0), 5),
            ["0", "20", "40", "60", "80"]
        );
        assert_eq!(
            labels(&amounts(0.0, 97.0).rounded(5), 5).last().unwrap(),
            "100"
        );
        assert_eq!(
            labels(&amounts(0.0, 2.5e6), 5),
            ["0", "500k", "1M", "1.5M", "2M", "2.5M"]
        );
        assert_eq!(labels(&amounts(-0.3, 0.3), 3), ["-0.2", "0", "0.2"]);
        for (low, high) in [
            (0.0, f64::MAX),
            (-f64::MAX, f64::MAX),
            (5.0, 5.0),
            (0.0, 5e-324),
        ] {
            let axis = amounts(low, high).rounded(5);
            assert!(axis.share(high).is_finite(), "{low} {high}");
            let _ = labels(&axis, 5);
        }
        let times = |low, high| Axis::of_times("frame.time", Zone::Utc, [low, high].into_iter());
        let day = times(0.0, 80_000_000.0);
        assert_eq!(day.title, "frame.time, 1970-01-01 (UTC)");
        assert_eq!(labels(&day, 4), ["00:00", "06:00", "12:00", "18:00"]);
        assert_eq!(
            labels(&times(0.0, 3_000.0), 4),
            ["00:00:00", "00:00:01", "00:00:02", "00:00:03"]
        );
        assert_eq!(
            labels(&times(0.0, 2.0 * DAY), 2),
            ["1970-01-01", "1970-01-02", "1970-01-03"]
        );
        let _ = labels(&times(f64::MIN, f64::MAX), 4);
    }

    #[test]
    fn sizes_are_short() {
        let shown = [
            0.0, 1.0, 9_999.0, 12_345.0, 1e6, 2.5e9, 3e12, 1e20, 0.125, 1e-9, -15e3,
        ];
        let shown = shown.map(short);
        let wanted = [
            "0", "1", "9999", "12.35k", "1M", "2.5G", "3T", "1.00e20", "0.125", "1.00e-9", "-15k",
        ];
        assert_eq!(shown, wanted.map(str::to_owned));
    }
}
