//! The zones of `AT TIME ZONE`, which are looked up: DataFusion takes any text for one, and writes instants of an unknown zone in UTC.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Value, VisitorMut};
use weir_functions::{Error, ErrorKind, zone};

use crate::statement::Statement;

/// Puts the names that zones have in the places of those that are written: `Europe/Berlin` for `europe/berlin`.
///
/// # Errors
/// When there is no such zone.
pub fn reword(statement: &mut Statement) -> Result<(), Error> {
    let mut zones = Zones { refusal: None };
    statement.visit_mut(&mut zones);
    match zones.refusal {
        Some(refusal) => Err(refusal),
        None => Ok(()),
    }
}

struct Zones {
    refusal: Option<Error>,
}

impl VisitorMut for Zones {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::AtTimeZone { time_zone, .. } = expr else {
            return ControlFlow::Continue(());
        };
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
            reword(&mut statement).map(|()| statement.inner.to_string())
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
}
