//! Time zones of the answer.
//!
//! Captures have instants, in UTC. With a time zone of the session (`SET TIME ZONE`, or what the engine was made with)
//! the instants of an answer become those of that zone, which changes how they are written and their type in Arrow and
//! Parquet, but not the instants. What a statement put into a zone by `AT TIME ZONE` stays in that one.

use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::datatypes::DataType;
use datafusion::common::Column;
use datafusion::error::Result;
use datafusion::logical_expr::{Cast, Expr, LogicalPlan, Projection};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column as PlacedColumn, cast};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;

use crate::error::{Error, ErrorKind};

/// A name of the time zone database, or an offset, that is known; the name as that database has it. `local` is the zone
/// that this machine is set to, or UTC where it has no setting.
///
/// # Errors
/// When the name is unknown and is no offset.
pub fn known(name: &str) -> Result<String, Error> {
    let local;
    let name = match name.trim() {
        name if name.eq_ignore_ascii_case("local") => {
            local = iana_time_zone::get_timezone().unwrap_or_else(|_| "UTC".to_owned());
            local.as_str()
        }
        name => name,
    };
    let candidates = [name.to_owned(), titled(name), name.to_ascii_uppercase()];
    for candidate in candidates {
        if candidate.parse::<Tz>().is_ok() {
            return Ok(candidate);
        }
    }
    let error = Error::new(ErrorKind::Plan, format!("no time zone named {name}"));
    Err(error.with_hint("write Europe/Berlin, UTC, +02:00 or local"))
}

/// `europe/berlin` as `Europe/Berlin`.
fn titled(name: &str) -> String {
    let mut is_start = true;
    let letters = name.chars().map(|letter| {
        let letter = match is_start {
            true => letter.to_ascii_uppercase(),
            false => letter.to_ascii_lowercase(),
        };
        is_start = matches!(letter, '/' | '_' | '-');
        letter
    });
    letters.collect()
}

/// Puts the instants of the answer into `zone`.
pub fn to_zone(plan: LogicalPlan, zone: Option<&str>) -> Result<LogicalPlan> {
    let Some(zone) = zone.filter(|zone| !is_utc(zone)) else {
        return Ok(plan);
    };
    match plan {
        LogicalPlan::Explain(mut explain) => {
            explain.plan = to_zone(explain.plan.as_ref().clone(), Some(zone))?.into();
            Ok(LogicalPlan::Explain(explain))
        }
        LogicalPlan::Analyze(mut analyze) => {
            analyze.input = to_zone(analyze.input.as_ref().clone(), Some(zone))?.into();
            Ok(LogicalPlan::Analyze(analyze))
        }
        LogicalPlan::Copy(mut copy) => {
            copy.input = to_zone(copy.input.as_ref().clone(), Some(zone))?.into();
            Ok(LogicalPlan::Copy(copy))
        }
        LogicalPlan::Ddl(_)
        | LogicalPlan::Statement(_)
        | LogicalPlan::Dml(_)
        | LogicalPlan::DescribeTable(_) => Ok(plan),
        plan => projected(plan, zone),
    }
}

fn projected(plan: LogicalPlan, zone: &str) -> Result<LogicalPlan> {
    let to: Arc<str> = zone.into();
    let schema = Arc::clone(plan.schema());
    let has_instants = schema
        .fields()
        .iter()
        .any(|field| zoned(field.data_type(), &to).is_some());
    if !has_instants {
        return Ok(plan);
    }
    let exprs = schema.iter().map(|(relation, field)| {
        let column = Expr::Column(Column::new(relation.cloned(), field.name()));
        match zoned(field.data_type(), &to) {
            Some(kind) => Expr::Cast(Cast::new(Box::new(column), kind))
                .alias_qualified(relation.cloned(), field.name()),
            None => column,
        }
    });
    let exprs = exprs.collect();
    Ok(LogicalPlan::Projection(Projection::try_new(
        exprs,
        Arc::new(plan),
    )?))
}

/// The rows of a plan with their instants in `zone`: as [`to_zone`], but behind all else that planning does, as
/// [`rows_to_text`](crate::address::rows_to_text).
pub fn rows_to_zone(
    plan: Arc<dyn ExecutionPlan>,
    zone: Option<&str>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(zone) = zone.filter(|zone| !is_utc(zone)) else {
        return Ok(plan);
    };
    let to: Arc<str> = zone.into();
    let rows = plan.schema();
    let mut fields = rows.fields().iter();
    if !fields.any(|field| zoned(field.data_type(), &to).is_some()) {
        return Ok(plan);
    }
    let columns = rows.fields().iter().enumerate().map(|(index, field)| {
        let column: Arc<dyn PhysicalExpr> = Arc::new(PlacedColumn::new(field.name(), index));
        let expr = match zoned(field.data_type(), &to) {
            Some(kind) => cast(column, &rows, kind)?,
            None => column,
        };
        Ok((expr, field.name().clone()))
    });
    let columns: Vec<_> = columns.collect::<Result<_>>()?;
    Ok(Arc::new(ProjectionExec::try_new(columns, plan)?))
}

/// The type of instants of this type in another zone; `None` for what are no instants of UTC.
fn zoned(kind: &DataType, to: &Arc<str>) -> Option<DataType> {
    match kind {
        DataType::Timestamp(unit, Some(zone)) if is_utc(zone) => {
            Some(DataType::Timestamp(*unit, Some(Arc::clone(to))))
        }
        DataType::List(item) => {
            let kind = zoned(item.data_type(), to)?;
            let item = item.as_ref().clone().with_data_type(kind);
            Some(DataType::List(Arc::new(item)))
        }
        _ => None,
    }
}

pub(crate) fn is_utc(zone: &str) -> bool {
    ["UTC", "+00:00", "Z", "Etc/UTC"]
        .iter()
        .any(|utc| zone.eq_ignore_ascii_case(utc))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_known_by_their_names() {
        for (written, name) in [
            ("Europe/Berlin", "Europe/Berlin"),
            ("europe/berlin", "Europe/Berlin"),
            ("AMERICA/NEW_YORK", "America/New_York"),
            ("utc", "UTC"),
            ("+02:00", "+02:00"),
        ] {
            assert_eq!(known(written).unwrap(), name);
        }
        assert!(known("Mars/Phobos").is_err());
        assert!(known("").is_err());
    }
}
