//! Times as recorders write them, turned into nanoseconds since 1970-01-01 UTC.

use chrono::{NaiveDate, NaiveTime};

use super::number::Number;

/// Reads one time at a byte offset.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Time {
    form: TimeForm,
    /// Added to the result: where the recorder's clock starts.
    epoch_ns: i64,
}

#[derive(Clone, Debug, PartialEq)]
enum TimeForm {
    /// A count of units of this many nanoseconds.
    Count(Number, i64),
    /// Two 32-bit numbers: seconds, then units of this many nanoseconds.
    Pair(Number, i64),
    /// One 64-bit number: seconds in the upper half, a binary fraction in the lower.
    Fixed(Number),
}

/// The types of times: name, bytes (`None` when `size` says), and what they are.
pub(super) const NAMES: &[(&str, u8)] = &[
    ("time_s", 4),
    ("time_ms", 8),
    ("time_us", 8),
    ("time_ns", 8),
    ("time_s_us", 8),
    ("time_s_ns", 8),
    ("time_32_32", 8),
];

impl Time {
    /// The time of the type `name`, made of `bytes` bytes.
    pub(super) fn named(name: &str, bytes: u8, little: bool, epoch_s: i64) -> Option<Self> {
        let count = |unit| TimeForm::Count(Number::whole(bytes, little), unit);
        let form = match name {
            "time_s" => count(NS_PER_S),
            "time_ms" => count(1_000_000),
            "time_us" => count(1_000),
            "time_ns" => count(1),
            "time_s_us" => TimeForm::Pair(Number::whole(4, little), 1_000),
            "time_s_ns" => TimeForm::Pair(Number::whole(4, little), 1),
            "time_32_32" => TimeForm::Fixed(Number::whole(8, little)),
            _ => return None,
        };
        let epoch_ns = epoch_s.checked_mul(NS_PER_S)?;
        Some(Self { form, epoch_ns })
    }

    /// Nanoseconds UTC; `None` when the bytes end before, or the time lies outside 1677 to 2262.
    #[inline]
    pub(super) fn read(&self, bytes: &[u8], at: usize) -> Option<i64> {
        let ns = match &self.form {
            TimeForm::Count(number, unit) => {
                // Eight bytes may hold a time before the epoch; fewer are used for the longer reach.
                let count = match number.width() {
                    64 => number.read_signed(bytes, at)?,
                    _ => number.read(bytes, at)?.cast_signed(),
                };
                count.checked_mul(*unit)?
            }
            TimeForm::Pair(half, unit) => {
                let seconds = half.read(bytes, at)?.cast_signed();
                let part = half.read(bytes, at.checked_add(4)?)?.cast_signed();
                joined(seconds, part, *unit)?
            }
            TimeForm::Fixed(number) => {
                let word = number.read(bytes, at)?;
                // Rounded to the nearest nanosecond, as Wireshark rounds ERF's timestamps.
                let fraction = ((word & 0xffff_ffff) * 1_000_000_000 + 0x8000_0000) >> 32;
                joined((word >> 32).cast_signed(), fraction.cast_signed(), 1)?
            }
        };
        ns.checked_add(self.epoch_ns)
    }
}

/// Seconds and a count of units of `unit` nanoseconds, as nanoseconds.
pub(super) fn joined(seconds: i64, part: i64, unit: i64) -> Option<i64> {
    seconds
        .checked_mul(NS_PER_S)?
        .checked_add(part.checked_mul(unit)?)
}

/// Nanoseconds in a second.
pub(super) const NS_PER_S: i64 = 1_000_000_000;

/// Seconds from 1970-01-01 to this date and time of the Gregorian calendar, in UTC.
pub(super) fn seconds_of(date: toml::value::Date, time: Option<toml::value::Time>) -> i64 {
    let day = NaiveDate::from_ymd_opt(date.year.into(), date.month.into(), date.day.into());
    let midnight = day.map_or(0, |day| day.and_time(NaiveTime::MIN).and_utc().timestamp());
    let seconds = time.map_or(0, |time| {
        i64::from(time.hour) * 3600
            + i64::from(time.minute) * 60
            + i64::from(time.second.unwrap_or(0))
    });
    midnight + seconds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let le32 = |seconds: u32, part: u32| [seconds.to_le_bytes(), part.to_le_bytes()].concat();
        for (name, bytes, little, epoch_s, input, expected) in [
            (
                "time_s",
                4,
                false,
                0,
                vec![0x65, 0, 0, 1],
                Some(1_694_498_817_000_000_000),
            ),
            (
                "time_ms",
                6,
                true,
                0,
                vec![5, 0, 0, 0, 0, 0],
                Some(5_000_000),
            ),
            (
                "time_us",
                8,
                false,
                0,
                vec![0, 0, 0, 0, 0, 0, 0, 7],
                Some(7_000),
            ),
            ("time_ns", 8, false, 10, vec![0xff; 8], Some(9_999_999_999)),
            (
                "time_s_us",
                8,
                true,
                0,
                le32(3, 250_000),
                Some(3_250_000_000),
            ),
            (
                "time_s_ns",
                8,
                true,
                0,
                le32(3, 999_999_999),
                Some(3_999_999_999),
            ),
            (
                "time_32_32",
                8,
                true,
                0,
                le32(0x8000_0000, 9),
                Some(9_500_000_000),
            ),
            (
                "time_32_32",
                8,
                true,
                0,
                le32(0xffff_ffff, 9),
                Some(10_000_000_000),
            ),
            ("time_32_32", 8, true, 0, le32(1, 0), Some(0)),
            (
                "time_s",
                8,
                true,
                0,
                vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
                None,
            ),
            ("time_s", 4, false, 0, vec![0, 0, 0], None),
            ("time_s_us", 8, false, 0, vec![0; 7], None),
        ] {
            let time = Time::named(name, bytes, little, epoch_s).unwrap();
            assert_eq!(time.read(&input, 0), expected, "{name} {input:?}");
        }
        assert_eq!(Time::named("time_weeks", 8, false, 0), None);
        assert_eq!(Time::named("time_s", 4, false, i64::MAX), None);
    }

    #[test]
    fn dates_become_seconds() {
        for (date, expected) in [
            ("1970-01-01", 0),
            ("1900-01-01", -2_208_988_800),
            ("1980-01-06", 315_964_800),
            ("2000-02-29", 951_782_400),
            ("2000-03-01", 951_868_800),
            ("2100-03-01", 4_107_542_400),
            ("0001-01-01", -62_135_596_800),
        ] {
            let value: toml::value::Datetime = date.parse().unwrap();
            assert_eq!(seconds_of(value.date.unwrap(), None), expected, "{date}");
        }
        let value: toml::value::Datetime = "2001-01-01T01:02:03Z".parse().unwrap();
        assert_eq!(seconds_of(value.date.unwrap(), value.time), 978_310_923);
    }
}
