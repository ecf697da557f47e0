//! Intervals in the four styles of PostgreSQL (`EncodeInterval` of its source).

use std::fmt::Write as _;

use super::style::IntervalStyle;

/// The parts of an interval, each with its sign.
#[derive(Clone, Copy)]
struct Parts {
    years: i64,
    months: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    /// Whole seconds, and microseconds of the same sign.
    seconds: i64,
    micros: i64,
}

impl Parts {
    const fn new(months: i32, days: i32, micros: i64) -> Self {
        let seconds = micros / 1_000_000;
        Self {
            years: (months / 12) as i64,
            months: (months % 12) as i64,
            days: days as i64,
            hours: seconds / 3600,
            minutes: seconds / 60 % 60,
            seconds: seconds % 60,
            micros: micros % 1_000_000,
        }
    }

    const fn has_time(self) -> bool {
        self.hours != 0 || self.minutes != 0 || self.has_seconds()
    }

    const fn has_seconds(self) -> bool {
        self.seconds != 0 || self.micros != 0
    }

    const fn is_time_negative(self) -> bool {
        self.hours < 0 || self.minutes < 0 || self.is_seconds_negative()
    }

    const fn is_seconds_negative(self) -> bool {
        self.seconds < 0 || self.micros < 0
    }

    /// Hours, minutes and seconds without their sign.
    fn clock(self, digits: usize) -> String {
        format!(
            "{:0digits$}:{:02}:{}",
            self.hours.unsigned_abs(),
            self.minutes.unsigned_abs(),
            self.seconds(2)
        )
    }

    /// Seconds without their sign, with the fraction that they have.
    fn seconds(self, digits: usize) -> String {
        let mut text = format!("{:0digits$}", self.seconds.unsigned_abs());
        if self.micros != 0 {
            let fraction = format!("{:06}", self.micros.unsigned_abs());
            text.push('.');
            text.push_str(fraction.trim_end_matches('0'));
        }
        text
    }
}

/// An interval in a style.
pub(super) fn interval(months: i32, days: i32, micros: i64, style: IntervalStyle) -> String {
    let parts = Parts::new(months, days, micros);
    match style {
        IntervalStyle::Postgres => postgres(parts),
        IntervalStyle::PostgresVerbose => verbose(parts),
        IntervalStyle::SqlStandard => sql_standard(parts),
        IntervalStyle::Iso8601 => iso_8601(parts),
    }
}

/// `1 year 2 mons -3 days +04:05:06`: a part behind a negative one has its sign.
fn postgres(parts: Parts) -> String {
    let mut text = String::new();
    let mut is_before_negative = false;
    let units = [
        (parts.years, "year"),
        (parts.months, "mon"),
        (parts.days, "day"),
    ];
    for (number, unit) in units {
        if number == 0 {
            continue;
        }
        let space = if text.is_empty() { "" } else { " " };
        let sign = if is_before_negative && number > 0 {
            "+"
        } else {
            ""
        };
        let plural = if number == 1 { "" } else { "s" };
        // Writing to a text does not fail.
        let _ = write!(text, "{space}{sign}{number} {unit}{plural}");
        is_before_negative = number < 0;
    }
    if text.is_empty() || parts.has_time() {
        let space = if text.is_empty() { "" } else { " " };
        let sign = match (parts.is_time_negative(), is_before_negative) {
            (true, _) => "-",
            (false, true) => "+",
            (false, false) => "",
        };
        let _ = write!(text, "{space}{sign}{}", parts.clock(2));
    }
    text
}

/// `@ 1 year 2 mons -3 days 4 hours 5 mins 6 secs`: the sign of the first part is `ago`, and those behind it are relative to it.
fn verbose(parts: Parts) -> String {
    let mut text = "@".to_owned();
    let mut is_ago = None;
    let units = [
        (parts.years, "year"),
        (parts.months, "mon"),
        (parts.days, "day"),
        (parts.hours, "hour"),
        (parts.minutes, "min"),
    ];
    for (number, unit) in units {
        if number == 0 {
            continue;
        }
        let is_negated = *is_ago.get_or_insert(number < 0);
        let number = if is_negated { -number } else { number };
        let plural = if number == 1 { "" } else { "s" };
        let _ = write!(text, " {number} {unit}{plural}");
    }
    if parts.has_seconds() {
        let is_negative = parts.is_seconds_negative();
        let sign = if is_negative == *is_ago.get_or_insert(is_negative) {
            ""
        } else {
            "-"
        };
        let is_one = parts.seconds.unsigned_abs() == 1 && parts.micros == 0;
        let plural = if is_one { "" } else { "s" };
        let _ = write!(text, " {sign}{} sec{plural}", parts.seconds(1));
    }
    match is_ago {
        None => text.push_str(" 0"),
        Some(true) => text.push_str(" ago"),
        Some(false) => {}
    }
    text
}

/// `1-2` or `3 4:05:06`, or `+1-2 -3 +4:05:06` where it has both, or both signs.
fn sql_standard(parts: Parts) -> String {
    let all = [
        parts.years,
        parts.months,
        parts.days,
        parts.hours,
        parts.minutes,
        parts.seconds,
        parts.micros,
    ];
    let has_negative = all.iter().any(|number| *number < 0);
    let has_positive = all.iter().any(|number| *number > 0);
    let has_months = parts.years != 0 || parts.months != 0;
    let has_rest = parts.days != 0 || parts.has_time();
    if !has_negative && !has_positive {
        return "0".to_owned();
    }
    let years = parts.years.unsigned_abs();
    let months = parts.months.unsigned_abs();
    let days = parts.days.unsigned_abs();
    let clock = parts.clock(1);
    if (has_negative && has_positive) || (has_months && has_rest) {
        let sign = |is_negative: bool| if is_negative { '-' } else { '+' };
        return format!(
            "{}{years}-{months} {}{days} {}{clock}",
            sign(parts.years < 0 || parts.months < 0),
            sign(parts.days < 0),
            sign(parts.is_time_negative())
        );
    }
    let sign = if has_negative { "-" } else { "" };
    match (has_months, parts.days != 0) {
        (true, _) => format!("{sign}{years}-{months}"),
        (false, true) => format!("{sign}{days} {clock}"),
        (false, false) => format!("{sign}{clock}"),
    }
}

/// `P1Y2M-3DT4H5M6S`.
fn iso_8601(parts: Parts) -> String {
    let mut text = "P".to_owned();
    let part = |text: &mut String, number: i64, letter: char| {
        if number != 0 {
            let _ = write!(text, "{number}{letter}");
        }
    };
    part(&mut text, parts.years, 'Y');
    part(&mut text, parts.months, 'M');
    part(&mut text, parts.days, 'D');
    if parts.has_time() {
        text.push('T');
        part(&mut text, parts.hours, 'H');
        part(&mut text, parts.minutes, 'M');
        if parts.has_seconds() {
            let sign = if parts.is_seconds_negative() { "-" } else { "" };
            let _ = write!(text, "{sign}{}S", parts.seconds(1));
        }
    }
    match text.len() {
        1 => "PT0S".to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers of PostgreSQL 16 to the same intervals.
    #[test]
    fn intervals_have_the_styles_of_postgresql() {
        use IntervalStyle::{Iso8601, Postgres, PostgresVerbose, SqlStandard};
        let time = 14_706_000_000;
        for (months, days, micros, expected) in [
            (
                14,
                3,
                time,
                [
                    "1 year 2 mons 3 days 04:05:06",
                    "@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs",
                    "+1-2 +3 +4:05:06",
                    "P1Y2M3DT4H5M6S",
                ],
            ),
            (
                -14,
                3,
                -time,
                [
                    "-1 years -2 mons +3 days -04:05:06",
                    "@ 1 year 2 mons -3 days 4 hours 5 mins 6 secs ago",
                    "-1-2 +3 -4:05:06",
                    "P-1Y-2M3DT-4H-5M-6S",
                ],
            ),
            (
                0,
                -1,
                7_200_000_000,
                [
                    "-1 days +02:00:00",
                    "@ 1 day -2 hours ago",
                    "+0-0 -1 +2:00:00",
                    "P-1DT2H",
                ],
            ),
            (0, 0, 0, ["00:00:00", "@ 0", "0", "PT0S"]),
            (
                0,
                0,
                -1,
                [
                    "-00:00:00.000001",
                    "@ 0.000001 secs ago",
                    "-0:00:00.000001",
                    "PT-0.000001S",
                ],
            ),
            (0, 3, 0, ["3 days", "@ 3 days", "3 0:00:00", "P3D"]),
            (1, 0, 0, ["1 mon", "@ 1 mon", "0-1", "P1M"]),
            (
                0,
                0,
                1_500_000,
                ["00:00:01.5", "@ 1.5 secs", "0:00:01.5", "PT1.5S"],
            ),
            (0, 0, 1_000_000, ["00:00:01", "@ 1 sec", "0:00:01", "PT1S"]),
        ] {
            let styles = [Postgres, PostgresVerbose, SqlStandard, Iso8601];
            let written = styles.map(|style| interval(months, days, micros, style));
            assert_eq!(written, expected);
        }
        let least = interval(i32::MIN, i32::MIN, i64::MIN, PostgresVerbose);
        assert!(least.ends_with(" ago"), "{least}");
    }
}
