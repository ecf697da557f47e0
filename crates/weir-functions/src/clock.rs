//! The times of a clock in a zone as instants, where clocks are changed.
//!
//! A clock that is set forward leaves out an hour, and one that is set back has an hour twice. PostgreSQL takes the offset before the
//! change for a time in the first, and the one behind it for a time in the second. Arrow's cast has an error for both.

use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, new_empty_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, TimeUnit};
use chrono::{DateTime, LocalResult, NaiveDateTime, Offset, TimeDelta, TimeZone};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{ScalarValue, exec_datafusion_err, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, ScalarUDF};

use crate::computed::{Arguments, ColumnFunction};
use crate::pass::{Inputs, Pass};
use crate::zone::is_utc;

/// Makes instants of the times of a clock before they are put into its zone.
pub struct Clocks;

impl Pass for Clocks {
    fn expr(&self, expr: Expr, inputs: &Inputs) -> Result<Transformed<Expr>> {
        let Expr::Cast(Cast { expr: time, field }) = &expr else {
            return Ok(Transformed::no(expr));
        };
        let DataType::Timestamp(_, Some(zone)) = field.data_type() else {
            return Ok(Transformed::no(expr));
        };
        let is_changed = !is_utc(zone) && !zone.starts_with(['+', '-']);
        let kind = time.get_type(inputs.all());
        if !is_changed || !matches!(kind, Ok(DataType::Timestamp(_, None))) {
            return Ok(Transformed::no(expr));
        }
        let zone = Expr::Literal(ScalarValue::Utf8(Some(zone.to_string())), None);
        let instant = instant_of_clock().call(vec![time.as_ref().clone(), zone]);
        let cast = Cast::new_from_field(Box::new(instant), Arc::clone(field));
        Ok(Transformed::yes(Expr::Cast(cast)))
    }
}

/// `instant_of_clock(time, 'Europe/Berlin')`: the instant at which a clock of the zone shows the time.
pub(crate) const INSTANT_OF_CLOCK: &str = "instant_of_clock";

pub(crate) fn instant_of_clock() -> ScalarUDF {
    let function = ColumnFunction {
        name: INSTANT_OF_CLOCK,
        arguments: Arguments::Any(2),
        kind: |_, types| match types {
            [DataType::Timestamp(unit, None), _] => Ok(instants_in(*unit)),
            _ => exec_err!("{INSTANT_OF_CLOCK} takes a time without a zone, and a zone"),
        },
        values: instants,
    };
    function.udf()
}

fn instants(_name: &str, columns: &[ArrayRef]) -> Result<ArrayRef> {
    let [times, zones] = columns else {
        return exec_err!("{INSTANT_OF_CLOCK} takes a time without a zone, and a zone");
    };
    let DataType::Timestamp(unit, None) = times.data_type() else {
        return exec_err!("{INSTANT_OF_CLOCK} takes a time without a zone, and a zone");
    };
    if times.is_empty() {
        return Ok(new_empty_array(&instants_in(*unit)));
    }
    let zone = zones.as_string_opt::<i32>();
    let zone = zone.filter(|zones| !zones.is_empty() && zones.is_valid(0));
    let Some(zone) = zone.and_then(|zones| zones.value(0).parse::<Tz>().ok()) else {
        return exec_err!("{INSTANT_OF_CLOCK} takes a time without a zone, and a zone");
    };
    let numbers = cast(times.as_ref(), &DataType::Int64)?;
    let numbers = numbers.as_primitive::<Int64Type>();
    let instants: Int64Array = numbers.try_unary(|number| {
        instant(number, *unit, &zone).ok_or_else(|| exec_datafusion_err!("a time is out of range"))
    })?;
    Ok(cast(&instants, &instants_in(*unit))?)
}

fn instants_in(unit: TimeUnit) -> DataType {
    DataType::Timestamp(unit, Some("UTC".into()))
}

/// The instant, in the unit, at which a clock of the zone shows a time; `None` outside of the range of either.
fn instant(time: i64, unit: TimeUnit, zone: &Tz) -> Option<i64> {
    let of_second = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let local = DateTime::from_timestamp(time.div_euclid(of_second), 0)?.naive_utc();
    let offset = i64::from(offset_seconds(&local, zone)?);
    time.checked_sub(offset.checked_mul(of_second)?)
}

/// The offset of a clock of the zone that shows this time.
fn offset_seconds(local: &NaiveDateTime, zone: &Tz) -> Option<i32> {
    let of = |local: &NaiveDateTime| match zone.offset_from_local_datetime(local) {
        LocalResult::Single(offset) => Some(seconds(&offset)),
        // Clocks are set back to the lesser offset.
        LocalResult::Ambiguous(one, other) => Some(seconds(&one).min(seconds(&other))),
        LocalResult::None => None,
    };
    of(local).or_else(|| {
        let mut hours = 1..=GAP_HOURS_MAX;
        hours.find_map(|hours| of(&local.checked_sub_signed(TimeDelta::hours(hours))?))
    })
}

fn seconds(offset: &impl Offset) -> i32 {
    offset.fix().local_minus_utc()
}

/// The length of the longest time that a clock left out: Samoa had no 30 December 2011.
const GAP_HOURS_MAX: i64 = 25;

#[cfg(test)]
mod tests {
    use super::*;

    /// The cast of a time that a clock leaves out, or shows twice, was an error.
    #[test]
    fn times_of_changes_have_an_instant() {
        for (zone, local, expected) in [
            // 2026-03-29 02:30:00 is 03:30:00 with the offset behind the change.
            ("Europe/Berlin", 1_774_751_400, 3_600),
            ("Europe/Berlin", 1_774_751_400 - 3_600, 3_600),
            ("Europe/Berlin", 1_774_751_400 + 3_600, 7_200),
            // 2026-10-25 02:30:00, which comes twice.
            ("Europe/Berlin", 1_792_895_400, 3_600),
            ("Europe/Berlin", 1_792_895_400 - 3_600, 7_200),
            // 2011-12-30 12:00:00, which did not come.
            ("Pacific/Apia", 1_325_246_400, -36_000),
        ] {
            let zone: Tz = zone.parse().unwrap();
            let found = instant(local, TimeUnit::Second, &zone);
            assert_eq!(found, Some(local - expected), "{zone:?} {local}");
            let found = instant(local * 1_000 + 1, TimeUnit::Millisecond, &zone);
            assert_eq!(
                found,
                Some((local - expected) * 1_000 + 1),
                "{zone:?} {local}"
            );
        }
    }
}
