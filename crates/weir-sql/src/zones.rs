//! The zones of `AT TIME ZONE`, which are looked up: DataFusion takes any text for one, and writes instants of an unknown zone in UTC.
//!
//! Instants without a zone are in UTC. Where a session has no zone, those of DataFusion have none, and `AT TIME ZONE` takes them for the
//! time of a clock there: `TIMESTAMPTZ '2026-07-01 10:00:00Z' AT TIME ZONE 'Europe/Berlin'` was two hours too early.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    DataType, Expr, TimezoneInfo, TypedString, Value, VisitorMut,
};
use weir_functions::{Error, ErrorKind, zone};

use crate::reworded::cast;
use crate::statement::Statement;

/// Puts the names that zones have in the places of those that are written: `Europe/Berlin` for `europe/berlin`; and gives instants a
/// zone in a session that has none.
///
/// # Errors
/// When there is no such zone.
pub fn reword(statement: &mut Statement, has_zone: bool) -> Result<(), Error> {
    let mut zones = Zones {
        has_zone,
        refusal: None,
    };
    statement.visit_mut(&mut zones);
    match zones.refusal {
        Some(refusal) => Err(refusal),
        None => Ok(()),
    }
}

struct Zones {
    /// Whether the session has a zone, which instants have then.
    has_zone: bool,
    refusal: Option<Error>,
}

impl VisitorMut for Zones {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if !self.has_zone
            && let Some(local) = as_local(expr)
        {
            *expr = in_utc(local);
            return ControlFlow::Continue(());
        }
        let Expr::AtTimeZone {
            timestamp,
            time_zone,
        } = expr
        else {
            return ControlFlow::Continue(());
        };
        if is_instant(timestamp) {
            let instant = std::mem::replace(timestamp.as_mut(), no_value());
            **timestamp = in_utc(instant);
        }
        let found = match time_zone.as_ref() {
            Expr::Value(value) => match &value.value {
                Value::SingleQuotedString(name) => zone::known(name),
                // Values take the places of parameters later.
                Value::Placeholder(_) => return ControlFlow::Continue(()),
                _ => Err(no_text(time_zone)),
            },
            _ => Err(no_text(time_zone)),
        };
        match found {
            Ok(name) => {
                **time_zone = Expr::Value(Value::SingleQuotedString(name).into());
                ControlFlow::Continue(())
            }
            Err(refusal) => {
                self.refusal = Some(refusal);
                ControlFlow::Break(())
            }
        }
    }
}

/// A cast to a time with a zone, or a literal of one, as that of one without: a text with an offset is in UTC then.
fn as_local(expr: &Expr) -> Option<Expr> {
    let local = |kind: &DataType| match kind {
        DataType::Timestamp(precision, TimezoneInfo::Tz | TimezoneInfo::WithTimeZone) => {
            Some(DataType::Timestamp(*precision, TimezoneInfo::None))
        }
        _ => None,
    };
    Some(match expr {
        Expr::Cast {
            kind,
            expr,
            data_type,
            array,
            format,
        } => Expr::Cast {
            kind: kind.clone(),
            data_type: local(data_type)?,
            expr: expr.clone(),
            array: *array,
            format: format.clone(),
        },
        Expr::TypedString(TypedString {
            data_type, value, ..
        }) => cast(Expr::Value(value.clone()), local(data_type)?),
        _ => return None,
    })
}

/// Whether an expression is a call of a function that gives an instant, which is in UTC where DataFusion has no zone for it.
fn is_instant(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_instant(inner),
        Expr::Function(function) => {
            let name = function.name.to_string().to_ascii_lowercase();
            INSTANTS.contains(&name.as_str())
        }
        _ => false,
    }
}

/// The functions whose values are instants.
const INSTANTS: &[&str] = &[
    "current_timestamp",
    "from_unixtime",
    "now",
    "to_timestamp",
    "to_timestamp_micros",
    "to_timestamp_millis",
    "to_timestamp_nanos",
    "to_timestamp_seconds",
];

/// A time without a zone as an instant, where it is one of UTC; one with a zone stays the same instant.
fn in_utc(local: Expr) -> Expr {
    Expr::AtTimeZone {
        timestamp: Box::new(local),
        time_zone: Box::new(Expr::Value(
            Value::SingleQuotedString("UTC".to_owned()).into(),
        )),
    }
}

fn no_value() -> Expr {
    Expr::Value(Value::Null.into())
}

fn no_text(written: &Expr) -> Error {
    let message = format!("the zone of AT TIME ZONE must be a text, not {written}");
    Error::new(ErrorKind::Plan, message).with_hint("frame.time AT TIME ZONE 'Europe/Berlin'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_those_that_are_known() {
        let reworded = |zone: &str| {
            let sql = format!("SELECT a AT TIME ZONE {zone} AS b FROM t");
            let mut statement = Statement::parse(&sql).unwrap().remove(0);
            reword(&mut statement, false).map(|()| statement.inner.to_string())
        };
        for (written, known) in [
            ("'Europe/Berlin'", "'Europe/Berlin'"),
            ("'europe/berlin'", "'Europe/Berlin'"),
            ("'utc'", "'UTC'"),
            ("'+02:00'", "'+02:00'"),
        ] {
            let expected = format!("SELECT a AT TIME ZONE {known} AS b FROM t");
            assert_eq!(reworded(written).unwrap(), expected);
        }
        let refusal = reworded("'Mars/Phobos'").unwrap_err();
        assert_eq!(refusal.to_string(), "no time zone named Mars/Phobos");
        let refusal = reworded("c").unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "the zone of AT TIME ZONE must be a text, not c"
        );
    }

    #[test]
    fn instants_have_a_zone() {
        let reworded = |sql: &str, has_zone: bool| {
            let mut statement = Statement::parse(sql).unwrap().remove(0);
            reword(&mut statement, has_zone).unwrap();
            statement.inner.to_string()
        };
        for (written, without) in [
            (
                "SELECT TIMESTAMPTZ '2026-01-01 00:00:00Z' AS a",
                "SELECT CAST('2026-01-01 00:00:00Z' AS TIMESTAMP) AT TIME ZONE 'UTC' AS a",
            ),
            (
                "SELECT CAST(a AS TIMESTAMPTZ) AT TIME ZONE 'Europe/Berlin' AS b FROM t",
                "SELECT CAST(a AS TIMESTAMP) AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin' AS b FROM t",
            ),
        ] {
            assert_eq!(reworded(written, false), without);
            assert_eq!(reworded(written, true), written);
        }
        // A time of a clock is one, and the time of now is an instant in every session.
        let local = "SELECT TIMESTAMP '2026-01-01 00:00:00' AT TIME ZONE 'Europe/Berlin' AS a";
        assert_eq!(reworded(local, false), local);
        for has_zone in [false, true] {
            assert_eq!(
                reworded("SELECT now() AT TIME ZONE 'Europe/Berlin' AS a", has_zone),
                "SELECT now() AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin' AS a"
            );
        }
    }
}
