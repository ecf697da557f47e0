//! Sizes, counts and times on the command line, with their units.

use std::time::Duration;

/// `512m`, `2g`, `1.5GiB`, `4096`: bytes.
pub(crate) fn parse_size(text: &str) -> Result<usize, String> {
    let unit_at = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let scale: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024.0,
        "m" | "mib" => 1024.0 * 1024.0,
        "g" | "gib" => 1024.0 * 1024.0 * 1024.0,
        "t" | "tib" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        _ => return Err("expected a size such as 512m, 2g or 1GiB".to_owned()),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| "expected a size such as 512m, 2g or 1GiB".to_owned())?;
    let bytes = number * scale;
    if bytes < 1.0 {
        return Err("expected a size above 0".to_owned());
    }
    // Casts of floats saturate; sizes below 2^53 are exact.
    if bytes >= usize::MAX as f64 {
        return Err("expected a size that this machine can address".to_owned());
    }
    Ok(bytes as usize)
}

/// `20000`, `50k`, `1.5M`.
pub(crate) fn parse_count(text: &str) -> Result<u64, String> {
    let wrong = || "expected a number such as 20000, 50k or 1M".to_owned();
    let (number, scale) = match text.trim().char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text.trim()[..at], 1e3),
        Some((at, 'm' | 'M')) => (&text.trim()[..at], 1e6),
        Some((at, 'g' | 'G')) => (&text.trim()[..at], 1e9),
        _ => (text.trim(), 1.0),
    };
    let count = number.parse::<f64>().map_err(|_| wrong())? * scale;
    if !(1.0..=1e15).contains(&count) {
        return Err(wrong());
    }
    Ok(count as u64)
}

/// A time that is not 0.
pub(crate) fn parse_period(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("expected a time above 0".to_owned()),
        period => Ok(period),
    }
}

/// `500ms`, `10s`, `5m`, `1h`; a number alone counts seconds.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let unit_at = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let expected = || "expected a time such as 500ms, 10s, 5m or 1h".to_owned();
    let seconds = match unit.trim().to_ascii_lowercase().as_str() {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(expected()),
    };
    let number: f64 = number.parse().map_err(|_| expected())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| expected())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_with_their_units() {
        for (text, count) in [
            ("20000", 20_000),
            ("50k", 50_000),
            ("1M", 1_000_000),
            ("1.5m", 1_500_000),
        ] {
            assert_eq!(parse_count(text), Ok(count));
        }
        for wrong in ["", "k", "0", "-1", "many", "1e99"] {
            assert!(parse_count(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_read_with_their_units() {
        for (text, expected) in [
            ("500ms", Some(Duration::from_millis(500))),
            ("2s", Some(Duration::from_secs(2))),
            ("1.5 s", Some(Duration::from_millis(1500))),
            ("1m", Some(Duration::from_secs(60))),
            ("0s", Some(Duration::ZERO)),
            ("10us", Some(Duration::from_micros(10))),
            ("1h", Some(Duration::from_secs(3600))),
            ("s", None),
            ("-1s", None),
            ("1e400h", None),
            ("99999999999999999999h", None),
        ] {
            assert_eq!(parse_duration(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        for (text, expected) in [
            ("4096", Some(4096)),
            ("512m", Some(512 << 20)),
            ("2g", Some(2 << 30)),
            ("2G", Some(2 << 30)),
            ("1GiB", Some(1 << 30)),
            ("1.5 KiB", Some(1536)),
            ("1GB", Some(1_000_000_000)),
            ("64b", Some(64)),
            ("", None),
            ("g", None),
            ("1.2.3m", None),
            ("-1", None),
            ("0", None),
            ("0g", None),
            ("2x", None),
            ("1e3", None),
            ("99999999999999t", None),
            ("nan", None),
        ] {
            assert_eq!(parse_size(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn periods_are_times_that_are_not_zero() {
        for (text, expected) in [
            ("500ms", Some(500)),
            ("10s", Some(10_000)),
            ("10", Some(10_000)),
            ("1.5 m", Some(90_000)),
            ("2h", Some(7_200_000)),
            ("0s", None),
            ("1d", None),
            ("ms", None),
            ("-1s", None),
            ("1e99", None),
            ("", None),
        ] {
            let expected = expected.map(Duration::from_millis);
            assert_eq!(parse_period(text).ok(), expected, "{text}");
        }
    }
}
