//! The syntax of references: names of files, and calls of table functions with their arguments.

use std::path::Path;
use std::time::Duration;

use arrow::compute::kernels::cast_utils::parse_interval_month_day_nano;
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, ObjectNamePart, Value,
};
use weir_functions::similar::similar;
use weir_functions::{Condition, Error, ErrorKind};
use weir_sql::{Statement, is_path};
use weir_tables::{EXTRACTIONS, Extraction, Setting, Settings};

use crate::window::nanoseconds;

/// The target of a table factor in a statement.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reference {
    /// Files whose kind is found by content.
    Files(Vec<String>),
    /// `packets(…)`: captures, with how they are read.
    Packets(Vec<String>, Reads),
    /// `records(…, 'layout.toml')`.
    Records(Vec<String>, String, Reads),
    /// `clf(…)`: SIP logs with all their segments.
    Clf(Vec<String>),
    /// `sip(…)` and the like: what the packets of captures carry.
    Extracted(&'static Extraction, Vec<String>, Reads, Settings),
}

/// Named arguments of the table functions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reads {
    pub(super) merge: bool,
    pub(super) sorted: bool,
    pub(super) lateness: Option<Duration>,
    pub(super) follow: bool,
    /// Packets that repeat one right before are left out.
    pub(super) dedup: bool,
    /// True when `live`, packets as they arrive, is in the place of paths.
    pub(super) live: bool,
}

/// The table of packets as they arrive, and what stands for them among the arguments of a table function.
pub(super) const LIVE: &str = "live";

impl Reference {
    /// The target of a name in FROM; `None` for the session's own tables.
    pub(super) fn read(
        name: &ObjectName,
        arguments: Option<&[FunctionArg]>,
    ) -> Result<Option<Self>, Error> {
        if let Some(arguments) = arguments {
            return Self::function(&name.to_string().to_ascii_lowercase(), arguments);
        }
        let parts: Vec<&Ident> = name.0.iter().filter_map(ObjectNamePart::as_ident).collect();
        let [part] = parts.as_slice() else {
            // This is a name such as trace.pcap without quotes, when there is such a file.
            let path = name.to_string();
            return Ok(Path::new(&path).is_file().then(|| Self::Files(vec![path])));
        };
        let quoted = part.quote_style == Some('\'');
        let like_a_path = part.quote_style.is_some() && is_path(&part.value);
        let is_file = quoted || like_a_path || part.value == "-";
        Ok(is_file.then(|| Self::Files(vec![part.value.clone()])))
    }

    /// The target of `DESCRIBE`: a file, or a table function, whose whole call is one name.
    pub(super) fn described(name: &ObjectName) -> Result<Option<Self>, Error> {
        if let [ObjectNamePart::Identifier(ident)] = name.0.as_slice()
            && ident.value.ends_with(')')
            && let Some((function, arguments)) = Statement::call_of(&ident.value)
        {
            return Self::read(&function, Some(&arguments));
        }
        Self::read(name, None)
    }

    fn function(name: &str, arguments: &[FunctionArg]) -> Result<Option<Self>, Error> {
        if OF_DATAFUSION.contains(&name) {
            return Ok(None);
        }
        if !functions().any(|known| known == name) {
            return Err(unknown_function(name));
        }
        let mut texts = Vec::new();
        let mut is_live = false;
        let mut reads = Reads::default();
        let mut settings = Settings::default();
        let extraction = Extraction::named(name);
        let mut set = |key: &str, value: &FunctionArgExpr| match extraction {
            Some(extraction) if extraction.arguments().any(|known| known == key) => {
                set(extraction, &mut settings, key, value)
            }
            _ => reads.set(name, key, value, extraction),
        };
        for argument in arguments {
            match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(ident)))
                    if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case(LIVE) =>
                {
                    is_live = true;
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => {
                    texts.extend(strings(name, expr)?);
                }
                FunctionArg::Named { name: key, arg, .. } => {
                    set(&key.value.to_ascii_lowercase(), arg)?;
                }
                FunctionArg::ExprNamed { name: key, arg, .. } => {
                    set(&key.to_string().to_ascii_lowercase(), arg)?;
                }
                FunctionArg::Unnamed(_) => return Err(wrong_argument(name, &argument.to_string())),
            }
        }
        reads.live = is_live;
        if is_live && !texts.is_empty() {
            return Err(Error::new(
                ErrorKind::Plan,
                format!("{name}(live, …): live packets cannot be read together with captures"),
            )
            .with_hint("use UNION ALL to add rows of captures"));
        }
        if let Some(error) = reads.refused(name) {
            return Err(error);
        }
        match name {
            "packets" if is_live || !texts.is_empty() => Ok(Some(Self::Packets(texts, reads))),
            "clf" if !texts.is_empty() => Ok(Some(Self::Clf(texts))),
            "clf" => Err(Error::new(
                ErrorKind::Plan,
                "clf needs a path: clf('calls.clf')",
            )),
            "records" if texts.len() >= 2 => {
                let layout = texts.pop().unwrap_or_default();
                Ok(Some(Self::Records(texts, layout, reads)))
            }
            "records" => Err(Error::new(
                ErrorKind::Plan,
                "records needs a file and a layout: records('trace.bin', 'layout.toml')",
            )),
            _ => match extraction {
                Some(extraction) if is_live || !texts.is_empty() => {
                    Ok(Some(Self::Extracted(extraction, texts, reads, settings)))
                }
                _ => Err(Error::new(
                    ErrorKind::Plan,
                    format!("{name} needs a path: {name}('trace.pcap')"),
                )),
            },
        }
    }
}

fn unknown_function(name: &str) -> Error {
    let near = similar(name, functions().chain(OF_DATAFUSION.iter().copied()));
    let hint = match (near.first(), weir_tables::names::not_decoded(name)) {
        (Some(near), _) => format!("did you mean {near}(…)?"),
        (None, Some(advice)) => advice,
        (None, None) => {
            let known: Vec<&str> = functions().collect();
            format!(
                "the functions are {}; other files are read with FROM 'x.parquet'",
                known.join(", ")
            )
        }
    };
    let error = Error::new(ErrorKind::Plan, format!("no table function named {name}"));
    error
        .with_hint(hint)
        .with_condition(Condition::UndefinedFunction)
}

impl Reads {
    /// The error of an argument that files of another kind than captures do not have.
    fn refused(&self, function: &str) -> Option<Error> {
        let is_log = match function {
            "records" => false,
            "clf" => true,
            _ => return None,
        };
        let refuse = |message: String| Some(Error::new(ErrorKind::Plan, message));
        if self.dedup {
            return refuse(format!(
                "{function} has no argument dedup: only packets are compared"
            ));
        }
        if self.follow {
            let error = refuse(format!(
                "{function} has no argument follow: only captures are followed"
            ))?;
            return Some(match is_log {
                true => {
                    error.with_hint("weir clf tail --follow prints records as they are written")
                }
                false => error,
            });
        }
        let of_captures = [
            ("merge", self.merge),
            ("sorted", self.sorted),
            ("lateness", self.lateness.is_some()),
        ];
        let (argument, _) = of_captures
            .into_iter()
            .find(|(_, is_set)| *is_set && is_log)?;
        refuse(format!(
            "clf has no argument {argument}: a log has the order in which it was written"
        ))
    }

    fn set(
        &mut self,
        function: &str,
        key: &str,
        value: &FunctionArgExpr,
        extraction: Option<&Extraction>,
    ) -> Result<(), Error> {
        if key.eq_ignore_ascii_case("lateness") {
            self.lateness = Some(lateness(value)?);
            return Ok(());
        }
        let value = match value {
            FunctionArgExpr::Expr(Expr::Value(value)) => match value.value {
                Value::Boolean(value) => Some(value),
                _ => None,
            },
            _ => None,
        };
        let target = match key.to_ascii_lowercase().as_str() {
            "merge" => &mut self.merge,
            "sorted" => &mut self.sorted,
            "follow" => &mut self.follow,
            "dedup" => &mut self.dedup,
            other => {
                let known = ["merge", "sorted", "follow", "dedup", "lateness"];
                let others = extraction.into_iter().flat_map(Extraction::arguments);
                let near = similar(other, known.into_iter().chain(others));
                let error = Error::new(
                    ErrorKind::Plan,
                    format!("{function} has no argument {other}"),
                );
                return Err(match near.first() {
                    Some(near) => error.with_hint(format!("did you mean {near} => …?")),
                    None => error.with_hint(
                        "the arguments are merge => true, sorted => true, follow => true, dedup => true and lateness => INTERVAL '1 second'",
                    ),
                });
            }
        };
        *target = value.ok_or_else(|| {
            Error::new(
                ErrorKind::Plan,
                format!("{key} must be true or false: {key} => true"),
            )
        })?;
        Ok(())
    }
}

/// Sets an argument that only some tables have.
fn set(
    extraction: &Extraction,
    settings: &mut Settings,
    key: &str,
    value: &FunctionArgExpr,
) -> Result<(), Error> {
    let literal = match value {
        FunctionArgExpr::Expr(Expr::Value(value)) => Some(&value.value),
        _ => None,
    };
    let value = match literal {
        Some(Value::Boolean(flag)) => Some(Setting::Flag(*flag)),
        Some(Value::SingleQuotedString(word)) => Some(Setting::Word(word)),
        Some(Value::Number(number, _)) => number.parse().ok().map(Setting::Number),
        _ => interval(value).map(Setting::Duration),
    };
    extraction
        .set(settings, key, value)
        .map_err(|expected| Error::new(ErrorKind::Plan, format!("{key} must be {expected}")))
}

/// The longest delay of records: `INTERVAL '1 second'`.
fn lateness(value: &FunctionArgExpr) -> Result<Duration, Error> {
    interval(value).ok_or_else(|| {
        Error::new(
            ErrorKind::Plan,
            "lateness must be an interval without months: lateness => INTERVAL '1 second'",
        )
    })
}

/// The length of an interval that has no months.
fn interval(value: &FunctionArgExpr) -> Option<Duration> {
    let FunctionArgExpr::Expr(Expr::Interval(interval)) = value else {
        return None;
    };
    let Expr::Value(value) = interval.value.as_ref() else {
        return None;
    };
    let text = value.value.clone().into_string()?;
    let unit = interval.leading_field.as_ref();
    let text = unit.map_or_else(|| text.clone(), |unit| format!("{text} {unit}"));
    let interval = parse_interval_month_day_nano(&text).ok()?;
    let ns = nanoseconds(&ScalarValue::IntervalMonthDayNano(Some(interval)))?;
    Some(Duration::from_nanos(u64::try_from(ns).ok()?))
}

fn strings(function: &str, expr: &Expr) -> Result<Vec<String>, Error> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => {
                Ok(vec![text.clone()])
            }
            _ => Err(wrong_argument(function, &expr.to_string())),
        },
        Expr::Array(array) => {
            let items = array.elem.iter().map(|item| strings(function, item));
            Ok(items.collect::<Result<Vec<_>, _>>()?.concat())
        }
        _ => Err(wrong_argument(function, &expr.to_string())),
    }
}

fn wrong_argument(function: &str, found: &str) -> Error {
    Error::new(
        ErrorKind::Plan,
        format!("{function} takes paths in single quotes, not {found}"),
    )
}

/// Table functions that DataFusion has.
const OF_DATAFUSION: &[&str] = &["generate_series", "range", "unnest"];

/// The table functions.
fn functions() -> impl Iterator<Item = &'static str> {
    let extracted = EXTRACTIONS.iter().map(|extraction| extraction.name);
    ["packets", "records", "clf"].into_iter().chain(extracted)
}
