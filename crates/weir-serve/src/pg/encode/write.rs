//! Values of encoded columns as the protocol writes them, in text and in binary.

use std::net::IpAddr;

use arrow::array::timezone::Tz;
use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int16Type,
    Int32Type, Int64Type, Time64NanosecondType, UInt64Type,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use bytes::{BufMut, BytesMut};
use chrono::{DateTime, Datelike, NaiveDate, Offset, TimeZone, Timelike};

use super::column::EncodedColumn;
use super::failed;
use super::float::{Width, float};
use super::interval::interval;
use super::style::Style;
use crate::error::{Failure, FailureKind};

/// Writes a value behind its length.
fn sized(out: &mut BytesMut, write: impl FnOnce(&mut BytesMut)) -> Result<(), Failure> {
    let begin = out.len();
    out.put_i32(0);
    write(out);
    let length = i32::try_from(out.len() - begin - 4).map_err(|_| {
        Failure::new(
            FailureKind::Limit,
            "a value of the protocol has 2 GiB at most",
        )
    })?;
    if let Some(place) = out.get_mut(begin..begin + 4) {
        place.copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

/// Appends text.
fn text(out: &mut BytesMut, value: impl std::fmt::Display) {
    use std::fmt::Write as _;
    // Writing to a buffer in memory does not fail.
    let _ = write!(out, "{value}");
}

impl EncodedColumn {
    /// Appends the value of a row behind its length.
    pub(super) fn write(
        &self,
        row: usize,
        is_binary: bool,
        style: Style,
        out: &mut BytesMut,
    ) -> Result<(), Failure> {
        if let Self::Other(rows) = self {
            out.extend_from_slice(rows.get(row).map(|row| &*row.data).unwrap_or_default());
            return Ok(());
        }
        if self.is_null(row) {
            out.put_i32(-1);
            return Ok(());
        }
        match is_binary {
            true => self.write_binary(row, out),
            false => self.write_text(row, style, out),
        }
    }

    fn write_binary(&self, row: usize, out: &mut BytesMut) -> Result<(), Failure> {
        match self {
            Self::Bool(array) => sized(out, |out| out.put_u8(array.value(row).into())),
            Self::I16(array) => {
                let value = array.as_primitive::<Int16Type>().value(row);
                sized(out, |out| out.put_i16(value))
            }
            Self::I32(array) => {
                let value = array.as_primitive::<Int32Type>().value(row);
                sized(out, |out| out.put_i32(value))
            }
            Self::I64(array) => {
                let value = array.as_primitive::<Int64Type>().value(row);
                sized(out, |out| out.put_i64(value))
            }
            Self::Oid(array) => {
                let value = array.as_primitive::<Int64Type>().value(row);
                sized(out, |out| {
                    out.put_u32(u32::try_from(value).unwrap_or_default());
                })
            }
            Self::F32(array) => {
                let value = array.as_primitive::<Float32Type>().value(row);
                sized(out, |out| out.put_f32(value))
            }
            Self::F64(array) => {
                let value = array.as_primitive::<Float64Type>().value(row);
                sized(out, |out| out.put_f64(value))
            }
            Self::Inet(array) => inet(out, array.value(row)),
            Self::Mac(array) => mac(out, array.value(row)),
            Self::Bytes(bytes) => sized(out, |out| out.put_slice(bytes.value(row))),
            Self::Numeric(array) => {
                let digits = digits(array, row)?;
                sized(out, |out| numeric(out, &digits))
            }
            Self::Timestamp(micros, ..) => {
                let value = micros.get(row).copied().unwrap_or_default();
                sized(out, |out| {
                    out.put_i64(value.saturating_sub(POSTGRES_EPOCH_MICROS));
                })
            }
            Self::Date(array) => {
                let days = array.as_primitive::<Date32Type>().value(row);
                sized(out, |out| {
                    out.put_i32(days.saturating_sub(POSTGRES_EPOCH_DAYS));
                })
            }
            Self::Time(array) => {
                let micros = array.as_primitive::<Time64NanosecondType>().value(row) / 1000;
                sized(out, |out| out.put_i64(micros))
            }
            Self::Interval(values, _) => {
                let (months, days, micros) = values.get(row).copied().unwrap_or_default();
                sized(out, |out| {
                    out.put_i64(micros);
                    out.put_i32(days);
                    out.put_i32(months);
                })
            }
            // These have the same bytes in both formats.
            Self::Text(_) | Self::Shown(_) | Self::Other(_) => {
                self.write_text(row, Style::default(), out)
            }
        }
    }

    fn write_text(&self, row: usize, style: Style, out: &mut BytesMut) -> Result<(), Failure> {
        match self {
            Self::Bool(array) => sized(out, |out| {
                out.put_u8(if array.value(row) { b't' } else { b'f' });
            }),
            Self::I16(array) => {
                let value = array.as_primitive::<Int16Type>().value(row);
                sized(out, |out| text(out, value))
            }
            Self::I32(array) => {
                let value = array.as_primitive::<Int32Type>().value(row);
                sized(out, |out| text(out, value))
            }
            Self::I64(array) | Self::Oid(array) => {
                let value = array.as_primitive::<Int64Type>().value(row);
                sized(out, |out| text(out, value))
            }
            Self::F32(array) => {
                let value = array.as_primitive::<Float32Type>().value(row);
                let shown = float(value.into(), value, Width::Single, style.float_digits);
                sized(out, |out| out.put_slice(shown.as_bytes()))
            }
            Self::F64(array) => {
                let value = array.as_primitive::<Float64Type>().value(row);
                let shown = float(value, value, Width::Double, style.float_digits);
                sized(out, |out| out.put_slice(shown.as_bytes()))
            }
            Self::Text(array) => {
                let value = array.as_string::<i32>().value(row);
                sized(out, |out| out.put_slice(value.as_bytes()))
            }
            Self::Inet(array) | Self::Mac(array) => {
                sized(out, |out| out.put_slice(array.value(row).as_bytes()))
            }
            Self::Bytes(bytes) => sized(out, |out| {
                out.put_slice(b"\\x");
                for byte in bytes.value(row) {
                    text(out, format_args!("{byte:02x}"));
                }
            }),
            Self::Numeric(array) => {
                let digits = digits(array, row)?;
                sized(out, |out| out.put_slice(digits.as_bytes()))
            }
            Self::Timestamp(micros, zone, is_instant, _) => {
                let value = micros.get(row).copied().unwrap_or_default();
                timestamp(out, value, zone.as_ref(), *is_instant)
            }
            Self::Date(array) => {
                let days = array.as_primitive::<Date32Type>().value(row);
                let day = NaiveDate::from_epoch_days(days)
                    .ok_or_else(|| failed(&format!("day {days} is not a date")))?;
                sized(out, |out| {
                    date(out, day);
                    era(out, day.year());
                })
            }
            Self::Time(array) => {
                let micros = array.as_primitive::<Time64NanosecondType>().value(row) / 1000;
                sized(out, |out| clock(out, micros))
            }
            Self::Interval(values, _) => {
                let (months, days, micros) = values.get(row).copied().unwrap_or_default();
                let shown = interval(months, days, micros, style.interval);
                sized(out, |out| out.put_slice(shown.as_bytes()))
            }
            Self::Shown(array) => {
                let shown = shown(array, row)?;
                sized(out, |out| out.put_slice(shown.as_bytes()))
            }
            Self::Other(_) => Ok(()),
        }
    }
}

/// An address in binary: its family, the length of its prefix, and that it is not a network.
fn inet(out: &mut BytesMut, value: &str) -> Result<(), Failure> {
    let address: IpAddr = value.parse().map_err(|_| not_an_address(value))?;
    sized(out, |out| match address {
        IpAddr::V4(address) => {
            out.put_slice(&[2, 32, 0, 4]);
            out.put_slice(&address.octets());
        }
        IpAddr::V6(address) => {
            out.put_slice(&[3, 128, 0, 16]);
            out.put_slice(&address.octets());
        }
    })
}

/// A MAC address in binary.
fn mac(out: &mut BytesMut, value: &str) -> Result<(), Failure> {
    let octets: Result<Vec<u8>, _> = value
        .split(':')
        .map(|part| u8::from_str_radix(part, 16))
        .collect();
    let octets = octets.ok().filter(|octets| octets.len() == 6);
    let octets = octets.ok_or_else(|| not_an_address(value))?;
    sized(out, |out| out.put_slice(&octets))
}

fn not_an_address(value: &str) -> Failure {
    failed(&format!("{value} is not an address"))
}

/// A time in its zone, with the offset of the zone when it is an instant.
fn timestamp(
    out: &mut BytesMut,
    micros: i64,
    zone: Option<&Tz>,
    is_instant: bool,
) -> Result<(), Failure> {
    let instant = DateTime::from_timestamp_micros(micros)
        .ok_or_else(|| failed(&format!("{micros} µs is not a time")))?;
    let offset = zone.map_or(0, |zone| {
        let offset = zone.offset_from_utc_datetime(&instant.naive_utc());
        offset.fix().local_minus_utc()
    });
    let local = instant.naive_utc() + chrono::TimeDelta::seconds(offset.into());
    sized(out, |out| {
        date(out, local.date());
        out.put_u8(b' ');
        clock(
            out,
            i64::from(local.num_seconds_from_midnight()) * 1_000_000
                + i64::from(local.nanosecond() / 1000),
        );
        if is_instant {
            let (sign, offset) = if offset < 0 {
                ('-', -offset)
            } else {
                ('+', offset)
            };
            text(out, format_args!("{sign}{:02}", offset / 3600));
            if offset % 3600 != 0 {
                text(out, format_args!(":{:02}", offset % 3600 / 60));
            }
            if offset % 60 != 0 {
                text(out, format_args!(":{:02}", offset % 60));
            }
        }
        era(out, local.year());
    })
}

/// Marks a year before Christ.
fn era(out: &mut BytesMut, year: i32) {
    if year <= 0 {
        out.put_slice(b" BC");
    }
}

fn date(out: &mut BytesMut, day: NaiveDate) {
    // The year before 1 is the first before Christ.
    let year = if day.year() > 0 {
        day.year()
    } else {
        1 - day.year()
    };
    text(
        out,
        format_args!("{year:04}-{:02}-{:02}", day.month(), day.day()),
    );
}

fn clock(out: &mut BytesMut, micros: i64) {
    let seconds = micros / 1_000_000;
    text(
        out,
        format_args!(
            "{:02}:{:02}:{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        ),
    );
    fraction(out, micros % 1_000_000);
}

/// Microseconds without zeros at the end.
fn fraction(out: &mut BytesMut, micros: i64) {
    if micros != 0 {
        let digits = format!("{micros:06}");
        text(out, format_args!(".{}", digits.trim_end_matches('0')));
    }
}

/// A whole or decimal number in digits.
fn digits(array: &ArrayRef, row: usize) -> Result<String, Failure> {
    Ok(match array.data_type() {
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value_as_string(row),
        DataType::Decimal256(..) => array.as_primitive::<Decimal256Type>().value_as_string(row),
        _ => shown(array, row)?,
    })
}

/// A value as Arrow displays it.
fn shown(array: &ArrayRef, row: usize) -> Result<String, Failure> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array, &options).map_err(|error| failed(&error))?;
    let shown = formatter.value(row).try_to_string();
    shown.map_err(|error| failed(&error))
}

/// A number in digits as binary `numeric`: groups of four digits, counted from the point.
fn numeric(out: &mut BytesMut, digits: &str) {
    let (sign, plain) = match digits.strip_prefix('-') {
        Some(plain) => (0x4000_u16, plain),
        None => (0, digits),
    };
    let (whole, part) = plain.split_once('.').unwrap_or((plain, ""));
    let whole = whole.trim_start_matches('0');
    let mut groups: Vec<u16> = Vec::new();
    let value = |group: &str| group.parse::<u16>().unwrap_or_default();
    let head = whole.len() % 4;
    let mut rest = whole;
    if head > 0 {
        let (first, others) = whole.split_at(head);
        groups.push(value(first));
        rest = others;
    }
    while !rest.is_empty() {
        let (first, others) = rest.split_at(4.min(rest.len()));
        groups.push(value(first));
        rest = others;
    }
    let mut weight = i16::try_from(groups.len()).unwrap_or(i16::MAX) - 1;
    let mut rest = part;
    while !rest.is_empty() {
        let (first, others) = rest.split_at(4.min(rest.len()));
        groups.push(value(&format!("{first:0<4}")));
        rest = others;
    }
    let zeros = groups.iter().take_while(|group| **group == 0).count();
    groups.drain(..zeros);
    weight -= i16::try_from(zeros).unwrap_or_default();
    while groups.last() == Some(&0) {
        groups.pop();
    }
    if groups.is_empty() {
        weight = 0;
    }
    out.put_u16(u16::try_from(groups.len()).unwrap_or(u16::MAX));
    out.put_i16(weight);
    out.put_u16(if groups.is_empty() { 0 } else { sign });
    out.put_u16(u16::try_from(part.len()).unwrap_or(u16::MAX));
    for group in groups {
        out.put_u16(group);
    }
}

const POSTGRES_EPOCH_MICROS: i64 = 946_684_800_000_000;
const POSTGRES_EPOCH_DAYS: i32 = 10_957;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_has_groups_of_four_digits() {
        for (digits, expected) in [
            ("0", vec![0, 0, 0, 0, 0, 0, 0, 0]),
            ("18446744073709551615", {
                let mut bytes = vec![0, 5, 0, 4, 0, 0, 0, 0];
                for group in [1844_u16, 6744, 737, 955, 1615] {
                    bytes.extend(group.to_be_bytes());
                }
                bytes
            }),
            ("-12.05", vec![0, 2, 0, 0, 0x40, 0, 0, 2, 0, 12, 1, 0xf4]),
            ("0.0001", vec![0, 1, 0xff, 0xff, 0, 0, 0, 4, 0, 1]),
            ("10000", vec![0, 1, 0, 1, 0, 0, 0, 0, 0, 1]),
        ] {
            let mut out = BytesMut::new();
            numeric(&mut out, digits);
            assert_eq!(out.to_vec(), expected, "{digits}");
        }
    }
}
