//! The values of settings, as PostgreSQL reads and shows them.

use std::time::Duration;

use pgwire::error::{ErrorInfo, PgWireError};
use weir_engine::known_time_zone;

use crate::catalog::name_list;

/// Why a setting does not have a value: the SQLSTATE, the message and the hint.
#[derive(Debug)]
pub(in crate::pg) struct InvalidValue {
    pub(in crate::pg) code: &'static str,
    pub(in crate::pg) message: String,
    hint: Option<&'static str>,
}

impl InvalidValue {
    pub(super) fn new(code: &'static str, message: String) -> Self {
        Self {
            code,
            message,
            hint: None,
        }
    }
}

impl From<InvalidValue> for PgWireError {
    fn from(invalid: InvalidValue) -> Self {
        let code = invalid.code.to_owned();
        let mut info = ErrorInfo::new("ERROR".to_owned(), code, invalid.message);
        info.severity_nonlocalized = Some("ERROR".to_owned());
        info.hint = invalid.hint.map(str::to_owned);
        Self::UserError(Box::new(info))
    }
}

/// The name of a setting as PostgreSQL shows it.
pub(super) fn shown_name(name: &str) -> &str {
    match name {
        "datestyle" => "DateStyle",
        "intervalstyle" => "IntervalStyle",
        "timezone" | "time zone" => "TimeZone",
        "transaction isolation level" => "transaction_isolation",
        name => name,
    }
}

/// The value of a setting as SHOW gives it, where it is `before` until now.
///
/// # Errors
/// When the setting cannot have it: what would change answers, and does not here, is refused.
pub(super) fn canonical(name: &str, value: &str, before: &str) -> Result<String, InvalidValue> {
    if value.len() > VALUE_BYTES_MAX {
        let message = format!("the value of {name} has {VALUE_BYTES_MAX} bytes at most");
        return Err(InvalidValue::new("54000", message));
    }
    if FIXED.contains(&name) {
        let message = format!("parameter \"{name}\" cannot be changed");
        return Err(InvalidValue::new("55P02", message));
    }
    let known = match name {
        "application_name" => Some(printable(value)),
        "bytea_output" => one_of(value, &["hex"]),
        "client_encoding" => encoding(value),
        "client_min_messages" => one_of(value, LEVELS),
        "datestyle" => date_style(value, before),
        "extra_float_digits" => return float_digits(value),
        "intervalstyle" => one_of(value, INTERVAL_STYLES),
        "search_path" => name_list(value).map(|_| value.to_owned()),
        "standard_conforming_strings" => is_on(value).then(|| "on".to_owned()),
        "statement_timeout" => timeout(value).map(shown_timeout),
        "timezone" => zone(value),
        _ => Some(value.to_owned()),
    };
    known.ok_or_else(|| {
        let name = shown_name(name);
        let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
        InvalidValue {
            hint: hint(name),
            ..InvalidValue::new("22023", message)
        }
    })
}

/// The text in printable ASCII: each other octet is `\x` and its two digits, as since PostgreSQL 16.
fn printable(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for octet in value.bytes() {
        match octet {
            b' '..=b'~' => text.push(char::from(octet)),
            _ => text.push_str(&format!("\\x{octet:02x}")),
        }
    }
    text
}

/// The values that a setting may have.
fn hint(name: &str) -> Option<&'static str> {
    Some(match name {
        "bytea_output" => "bytes are written in hex here",
        "client_encoding" => "UTF8 is the only encoding here",
        "DateStyle" => "dates are written in the style ISO here",
        "IntervalStyle" => "Available values: postgres, postgres_verbose, sql_standard, iso_8601.",
        "TimeZone" => "write Europe/Berlin, UTC, +02:00 or local",
        "search_path" => "names with commas between them: public, pg_catalog",
        "standard_conforming_strings" => "a backslash is no escape in '…' here: write E'…'",
        "statement_timeout" => "500, '500ms', '5s' or '1min'",
        _ => return None,
    })
}

/// The word of a list that a value is, in any case.
fn one_of(value: &str, words: &[&str]) -> Option<String> {
    let mut words = words.iter();
    let word = words.find(|word| word.eq_ignore_ascii_case(value));
    word.map(|word| (*word).to_owned())
}

/// Whether a value of a switch is on: PostgreSQL takes the words for it when they are cut, too.
fn is_on(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    let is_cut = |word: &str| !value.is_empty() && word.starts_with(&value);
    value == "on" || value == "1" || is_cut("true") || is_cut("yes")
}

/// An encoding that texts are sent in. In `SQL_ASCII` they are sent as they are.
fn encoding(value: &str) -> Option<String> {
    let letters = value.chars().filter(char::is_ascii_alphanumeric);
    let letters: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    match letters.as_str() {
        "utf8" | "unicode" => Some("UTF8".to_owned()),
        "sqlascii" => Some("SQL_ASCII".to_owned()),
        _ => None,
    }
}

/// The style of dates, which is ISO, and the order that goes with it.
fn date_style(value: &str, before: &str) -> Option<String> {
    let mut order = before.split_once(", ").map_or("MDY", |(_, order)| order);
    for word in value.split(',') {
        let word = word.trim().to_ascii_lowercase();
        match word.as_str() {
            "iso" => {}
            "default" | "mdy" | "us" => order = "MDY",
            "dmy" => order = "DMY",
            "ymd" => order = "YMD",
            word if word.starts_with("euro") => order = "DMY",
            word if word.starts_with("noneuro") => order = "MDY",
            _ => return None,
        }
    }
    Some(format!("ISO, {order}"))
}

/// The digits that are written of a number beyond those that it always keeps.
fn float_digits(value: &str) -> Result<String, InvalidValue> {
    let name = "extra_float_digits";
    let number: Result<i64, _> = value.trim().parse();
    match number {
        Ok(number) if (-15..=3).contains(&number) => Ok(number.to_string()),
        Ok(number) => {
            let message =
                format!("{number} is outside the valid range for parameter \"{name}\" (-15 .. 3)");
            Err(InvalidValue::new("22023", message))
        }
        Err(_) => {
            let message = format!("invalid value for parameter \"{name}\": \"{value}\"");
            Err(InvalidValue::new("22023", message))
        }
    }
}

/// A time zone as its database names it; a whole number is one of hours.
fn zone(value: &str) -> Option<String> {
    let value = value.trim();
    let of_hours = || {
        let hours: i8 = value.parse().ok()?;
        let sign = if hours < 0 { '-' } else { '+' };
        let size = hours.unsigned_abs();
        (size < 24).then(|| format!("{sign}{size:02}:00"))
    };
    let known = known_time_zone(value).ok();
    known.or_else(of_hours).or_else(|| posix_zone(value))
}

/// `GMT-02:00`, as POSIX has it and pgjdbc sends it: two hours east of Greenwich.
fn posix_zone(value: &str) -> Option<String> {
    let (letters, offset) = value.split_at_checked(value.find(['+', '-'])?)?;
    let is_name = letters.len() >= 3 && letters.bytes().all(|byte| byte.is_ascii_alphabetic());
    let (sign, size) = match offset.strip_prefix('+') {
        Some(size) => ('-', size),
        None => ('+', offset.strip_prefix('-')?),
    };
    let (hours, minutes) = size.split_once(':').unwrap_or((size, "0"));
    let (hours, minutes): (u8, u8) = (hours.parse().ok()?, minutes.parse().ok()?);
    let is_offset = is_name && hours < 24 && minutes < 60;
    is_offset.then(|| format!("{sign}{hours:02}:{minutes:02}"))
}

/// A time as PostgreSQL writes it: milliseconds unless it has a unit; 0 is no limit.
pub(super) fn timeout(text: &str) -> Option<Option<Duration>> {
    let text = text.trim();
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end).unwrap_or((text, ""));
    let scale = match unit.trim() {
        "" | "ms" => 1,
        "s" => 1000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    let number: u64 = number.parse().ok()?;
    let ms = number.checked_mul(scale)?;
    Some((ms > 0).then(|| Duration::from_millis(ms)))
}

/// A time in the largest unit that it has a whole number of.
fn shown_timeout(limit: Option<Duration>) -> String {
    let ms = limit.map_or(0, |limit| limit.as_millis());
    let units = [
        (86_400_000, "d"),
        (3_600_000, "h"),
        (60_000, "min"),
        (1000, "s"),
        (1, "ms"),
    ];
    let unit = units
        .into_iter()
        .find(|(scale, _)| ms > 0 && ms.is_multiple_of(*scale));
    unit.map_or("0".to_owned(), |(scale, unit)| {
        format!("{}{unit}", ms / scale)
    })
}

/// Bytes of a setting: a connection keeps the values.
const VALUE_BYTES_MAX: usize = 1024;

/// The styles of intervals.
const INTERVAL_STYLES: &[&str] = &["postgres", "postgres_verbose", "sql_standard", "iso_8601"];

/// The levels of messages that are sent to a client.
const LEVELS: &[&str] = &[
    "debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log", "notice", "info", "warning",
    "error",
];

/// Settings that are those of the server.
const FIXED: &[&str] = &[
    "in_hot_standby",
    "integer_datetimes",
    "is_superuser",
    "lc_collate",
    "lc_ctype",
    "max_identifier_length",
    "max_index_keys",
    "server_encoding",
    "server_version",
    "server_version_num",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_postgresql_reads_them() {
        for (text, ms, shown) in [
            ("500", Some(500), "500ms"),
            ("500ms", Some(500), "500ms"),
            ("5 s", Some(5000), "5s"),
            ("2min", Some(120_000), "2min"),
            ("90000", Some(90_000), "90s"),
            ("24h", Some(86_400_000), "1d"),
            ("0", None, "0"),
        ] {
            let limit = timeout(text).unwrap();
            assert_eq!(limit, ms.map(Duration::from_millis), "{text}");
            assert_eq!(shown_timeout(limit), shown, "{text}");
        }
        for text in [
            "",
            "s",
            "-1",
            "1 week",
            "18446744073709551615s",
            "1é",
            "DEFAULT",
        ] {
            assert!(timeout(text).is_none(), "{text}");
        }
    }

    #[test]
    fn values_are_shown_as_postgresql_shows_them() {
        for (name, value, shown) in [
            ("datestyle", "ISO", "ISO, DMY"),
            ("datestyle", "iso,mdy", "ISO, MDY"),
            ("datestyle", "European", "ISO, DMY"),
            ("intervalstyle", "ISO_8601", "iso_8601"),
            ("client_encoding", "utf-8", "UTF8"),
            ("client_encoding", "SQL_ASCII", "SQL_ASCII"),
            ("timezone", "europe/berlin", "Europe/Berlin"),
            ("timezone", "2", "+02:00"),
            ("timezone", "-7", "-07:00"),
            ("timezone", "GMT-02:30", "+02:30"),
            ("timezone", "UTC+3", "-03:00"),
            ("extra_float_digits", " 3", "3"),
            ("standard_conforming_strings", "TRUE", "on"),
            ("my.own", "x\n", "x\n"),
            // Control characters were left as they were.
            ("application_name", "a~ b\\", "a~ b\\"),
            (
                "application_name",
                "a\x1b\n\x7f\u{e9}",
                "a\\x1b\\x0a\\x7f\\xc3\\xa9",
            ),
        ] {
            let canonical = canonical(name, value, "ISO, DMY").unwrap();
            assert_eq!(canonical, shown, "{name} {value}");
        }
    }

    /// SHOW gave them back, and the answers were as before.
    #[test]
    fn what_would_change_answers_and_does_not_is_refused() {
        for (name, value, code) in [
            ("datestyle", "German", "22023"),
            ("datestyle", "SQL, DMY", "22023"),
            ("bytea_output", "escape", "22023"),
            ("client_encoding", "LATIN1", "22023"),
            ("standard_conforming_strings", "off", "22023"),
            ("intervalstyle", "x", "22023"),
            ("extra_float_digits", "4", "22023"),
            ("extra_float_digits", "many", "22023"),
            ("timezone", "nowhere", "22023"),
            ("timezone", "GMT+24", "22023"),
            ("timezone", "GMT+é", "22023"),
            ("server_version", "17", "55P02"),
        ] {
            let refused = canonical(name, value, "ISO, MDY").unwrap_err();
            assert_eq!(refused.code, code, "{name} {value}: {}", refused.message);
            let shown = shown_name(name);
            assert!(refused.message.contains(shown), "{}", refused.message);
        }
    }
}
