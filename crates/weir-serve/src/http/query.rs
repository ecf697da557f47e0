//! `POST /query`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Query, State};
use axum::http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use futures::stream;
use serde::Deserialize;
use serde_json::{Value, json};
use weir_engine::{CsvForm, Parameter, RowFormat, RowWriter};

use super::arriving::arrived;
use super::json;
use super::json_rows::JsonRows;
use super::refusal::Refusal;
use crate::deadline::Deadline;
use crate::error::{Failure, FailureKind};
use crate::listener::Pending;
use crate::retained::check_list;
use crate::session::{Answer, Session};
use crate::shared::Shared;

/// The body of a request.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryRequest {
    sql: String,
    #[serde(default)]
    params: Params,
    format: Option<String>,
    limit: Option<usize>,
    timeout_ms: Option<u64>,
    id: Option<String>,
}

/// Values of `$name`, or of `$1` and so on.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Params {
    Named(BTreeMap<String, Value>),
    Numbered(Vec<Value>),
}

impl Default for Params {
    fn default() -> Self {
        Self::Numbered(Vec::new())
    }
}

/// The parameters of the URL when the text of the query is the body.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Beside {
    format: Option<String>,
    limit: Option<usize>,
    timeout_ms: Option<u64>,
    id: Option<String>,
}

/// The format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    /// JSON for the page.
    Json,
    File(RowFormat, &'static str),
}

impl Written {
    fn of(word: &str) -> Option<Self> {
        Some(match word {
            "json" | "application/json" => Self::Json,
            "ndjson" | "application/x-ndjson" => {
                Self::File(RowFormat::NdJson, "application/x-ndjson")
            }
            "csv" | "text/csv" => Self::File(
                RowFormat::Csv(CsvForm::default()),
                "text/csv; charset=utf-8",
            ),
            "parquet" | "application/vnd.apache.parquet" => {
                Self::File(RowFormat::Parquet, "application/vnd.apache.parquet")
            }
            "arrow" | "application/vnd.apache.arrow.stream" => Self::File(
                RowFormat::ArrowStream,
                "application/vnd.apache.arrow.stream",
            ),
            _ => return None,
        })
    }
}

fn value(value: &Value, depth: usize) -> Result<Parameter, Failure> {
    Ok(match value {
        Value::Null => Parameter::Null,
        Value::Bool(flag) => Parameter::Boolean(*flag),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(whole), _, _) => Parameter::Integer(whole.into()),
            (_, Some(whole), _) => Parameter::Integer(whole.into()),
            (_, _, Some(number)) => Parameter::Float(number),
            _ => {
                return Err(Failure::new(
                    FailureKind::Plan,
                    format!("{number} cannot be a parameter of a query"),
                ));
            }
        },
        Value::String(text) => Parameter::Text(text.clone()),
        Value::Array(items) if depth == 0 => {
            check_list(items.len())?;
            let items: Result<_, _> = items.iter().map(|item| self::value(item, 1)).collect();
            Parameter::List(items?)
        }
        _ => {
            return Err(Failure::new(
                FailureKind::Plan,
                format!("{value} cannot be a parameter of a query"),
            ));
        }
    })
}

/// Answers a query.
pub(super) async fn ask(
    State(shared): State<Arc<Shared>>,
    Extension(pending): Extension<Pending>,
    Query(beside): Query<Beside>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let most = shared.options.limits.text_bytes_max.saturating_add(SLACK);
    let receiving = pending.activity().receiving();
    let arrived = arrived(body, most, &shared.arrivals).await?;
    drop(receiving);
    let running_statement = pending.activity().running();
    let body = &arrived.bytes;
    // Values of parameters take as much as words of a text.
    let load = shared.room_for(body).await?;
    let query = request(body, &headers, beside)?;
    drop(arrived);
    let written = written(query.format.as_deref(), &headers)?;
    let wanted = query.timeout_ms.map(Duration::from_millis);
    let deadline = Deadline::new(&shared.options.limits, wanted);
    let session = Session::new(&shared)?.of_connection(pending.activity());
    let limit = query.limit;
    let answer = deadline.within(begin(&session, query)).await??;
    drop((load, running_statement));
    match written {
        Written::Json => {
            let most = limit.unwrap_or(ROWS_DEFAULT).min(ROWS_MAX);
            let body = JsonFlow::new(answer, deadline, most).body().await?;
            Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
        }
        Written::File(format, kind) => {
            let body = streamed(&shared, answer, format, deadline, limit).await?;
            Ok(([(CONTENT_TYPE, kind)], body).into_response())
        }
    }
}

/// The query in a body of one of the accepted content types.
fn request(body: &[u8], headers: &HeaderMap, beside: Beside) -> Result<QueryRequest, Refusal> {
    // Octets of gzip would be said to be malformed text.
    if !matches!(header(headers, CONTENT_ENCODING), "" | "identity") {
        return Err(Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "request",
            "a body with a Content-Encoding is not accepted",
        ));
    }
    let kind = header(headers, CONTENT_TYPE)
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        // RFC 9110, 8.3.1: its letters may be large or small.
        .to_ascii_lowercase();
    match kind.as_str() {
        "application/json" => {
            serde_json::from_slice(body).map_err(|error| malformed(error.to_string()))
        }
        "text/plain" | "application/sql" => Ok(QueryRequest {
            sql: std::str::from_utf8(body)
                .map_err(|error| malformed(error.to_string()))?
                .to_owned(),
            format: beside.format,
            limit: beside.limit,
            timeout_ms: beside.timeout_ms,
            id: beside.id,
            params: Params::default(),
        }),
        // Content types that a form of another site can send are refused.
        _ => Err(Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "request",
            "the body is application/json, text/plain or application/sql",
        )),
    }
}

/// The format that the request names, or the first known one that the client accepts.
fn written(format: Option<&str>, headers: &HeaderMap) -> Result<Written, Refusal> {
    if let Some(word) = format {
        return Written::of(word).ok_or_else(|| {
            malformed(format!(
                "unknown format {word}: expected json, ndjson, csv, parquet or arrow"
            ))
        });
    }
    let accepted = header(headers, ACCEPT)
        .split(',')
        .map(|one| one.split(';').next().unwrap_or_default().trim());
    let known = accepted.filter_map(Written::of).next();
    Ok(known.unwrap_or(Written::Json))
}

fn header(headers: &HeaderMap, name: HeaderName) -> &str {
    let value = headers.get(name).and_then(|value| value.to_str().ok());
    value.unwrap_or_default()
}

fn malformed(message: String) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, "request", message)
}

/// Does the statements before the last that has rows, and starts that one.
async fn begin(session: &Session, query: QueryRequest) -> Result<Answer, Failure> {
    let mut values = Vec::new();
    match query.params {
        Params::Named(named) => {
            for (name, given) in named {
                values.push((name, value(&given, 0)?));
            }
        }
        Params::Numbered(numbered) => {
            for (index, given) in numbered.iter().enumerate() {
                values.push(((index + 1).to_string(), value(given, 0)?));
            }
        }
    }
    let statements = session.parse(&query.sql)?;
    drop(query.sql);
    session.start_last(statements, &values, query.id).await
}

/// The first rows of an answer, with its notices, as one object of JSON on its way out.
struct JsonFlow {
    answer: Option<Answer>,
    deadline: Deadline,
    /// The rows that are being written.
    batch: Option<JsonRows>,
    rows: usize,
    rows_max: usize,
    truncated: bool,
}

impl JsonFlow {
    const fn new(answer: Answer, deadline: Deadline, rows_max: usize) -> Self {
        Self {
            answer: Some(answer),
            deadline,
            batch: None,
            rows: 0,
            rows_max,
            truncated: false,
        }
    }

    /// The object. A failure before the first megabyte gives an error status; after it, the object stays incomplete,
    /// which clients notice.
    async fn body(mut self) -> Result<Body, Failure> {
        let mut first = self.head();
        while first.len() < HELD_BYTES {
            match self.piece().await? {
                Some(piece) => first.extend(piece),
                None => return Ok(Body::from(first)),
            }
        }
        let pieces = stream::unfold((Some(first), Some(self)), |(first, flow)| async {
            if let Some(first) = first {
                return Some((Ok(Bytes::from(first)), (None, flow)));
            }
            let mut flow = flow?;
            match flow.piece().await {
                Ok(Some(piece)) => Some((Ok(Bytes::from(piece)), (None, Some(flow)))),
                Ok(None) => None,
                Err(failure) => Some((Err(failure), (None, None))),
            }
        });
        Ok(Body::from_stream(pieces))
    }

    fn head(&self) -> Vec<u8> {
        let columns = self.answer.iter().flat_map(|answer| {
            let fields = answer.schema.fields().iter().enumerate();
            fields.map(|(index, field)| {
                let origin = answer.origins.get(index).and_then(Option::as_deref);
                json!({
                    "name": field.name(),
                    "type": json::kind(field, origin),
                    "sql_type": field.data_type().to_string(),
                })
            })
        });
        format!("{{\"columns\":{},\"rows\":[", columns.collect::<Value>()).into_bytes()
    }

    /// The next rows, or what stands behind them; `None` at the end.
    async fn piece(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        // The current batch is written to its end before the next one is requested.
        if let Some(batch) = &mut self.batch {
            if let Some(text) = batch.next_piece()? {
                return Ok(Some(text));
            }
            self.batch = None;
        }
        let Some(answer) = &mut self.answer else {
            return Ok(None);
        };
        let batch = match self.truncated {
            true => None,
            false => self.deadline.within(answer.next()).await??,
        };
        let mut text = Vec::new();
        if let Some(batch) = batch {
            let left = self.rows_max - self.rows;
            self.truncated = batch.num_rows() > left;
            let mut rows = JsonRows::new(&batch, left, self.rows > 0)?;
            self.rows += batch.num_rows().min(left);
            let first = rows.next_piece()?;
            self.batch = Some(rows);
            return Ok(Some(first.unwrap_or_default()));
        }
        let report = answer.report();
        self.answer = None;
        let summary = json!({
            "row_count": self.rows,
            "truncated": self.truncated,
            "stats": {
                "records": report.records,
                "bytes": report.bytes,
                "seconds": report.elapsed.as_secs_f64(),
            },
            "notes": report.notes,
            "damage": report.damage,
        });
        let summary = summary.to_string();
        text.extend(b"],");
        // The text continues the object that has begun.
        text.extend(summary.trim_start_matches('{').as_bytes());
        Ok(Some(text))
    }
}

/// Bytes that an encoder has written and that are not sent yet.
#[derive(Clone, Default)]
struct Basket(Arc<Mutex<Vec<u8>>>);

impl Basket {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Basket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut basket = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        basket.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An answer on its way out.
struct AnswerBody {
    answer: Answer,
    writer: Option<Box<dyn RowWriter>>,
    basket: Basket,
    deadline: Deadline,
    left: Option<usize>,
    /// Counts it among the answers that hold rows back, if it does.
    holds_back: Option<Arc<()>>,
}

impl AnswerBody {
    /// The next piece; `None` at the end.
    async fn piece(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        let encoded =
            |error: weir_engine::EncodeError| Failure::new(FailureKind::Run, error.to_string());
        while let Some(writer) = &mut self.writer {
            let wanted = self.left != Some(0);
            let batch = match wanted {
                true => self.deadline.within(self.answer.next()).await??,
                false => None,
            };
            match batch {
                Some(batch) => {
                    let count = self.left.unwrap_or(usize::MAX).min(batch.num_rows());
                    self.left = self.left.map(|left| left - count);
                    writer.write(&batch.slice(0, count)).map_err(encoded)?;
                    if let Some(all) = &self.holds_back {
                        // The server has one of its own.
                        let answers = Arc::strong_count(all).saturating_sub(1).max(1);
                        writer
                            .flush_beyond(HELD_BACK_MAX / answers)
                            .map_err(encoded)?;
                    }
                }
                None => {
                    if let Some(writer) = self.writer.take() {
                        writer.finish().map_err(encoded)?;
                    }
                }
            }
            let bytes = self.basket.take();
            if !bytes.is_empty() {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }
}

/// The rows as they come. An answer that fails on its way ends without its end, which clients notice.
async fn streamed(
    shared: &Shared,
    answer: Answer,
    format: RowFormat,
    deadline: Deadline,
    left: Option<usize>,
) -> Result<Body, Failure> {
    let Some(encoder) = &shared.options.engine.encoder else {
        return Err(Failure::new(
            FailureKind::Refused,
            "this server writes JSON only",
        ));
    };
    let basket = Basket::default();
    let writer = encoder
        .start(format, &answer.schema, Box::new(basket.clone()))
        .map_err(|error| Failure::new(FailureKind::Run, error.to_string()))?;
    let mut flow = AnswerBody {
        answer,
        writer: Some(writer),
        basket,
        deadline,
        left,
        holds_back: (format == RowFormat::Parquet).then(|| Arc::clone(&shared.parquet_answers)),
    };
    // A query that fails at once gets an error status.
    let first = flow.piece().await?;
    let pieces = stream::unfold(Some((first, flow)), |state| async {
        let (piece, mut flow) = state?;
        let piece = piece?;
        match flow.piece().await {
            Ok(next) => Some((Ok(Bytes::from(piece)), Some((next, flow)))),
            Err(failure) => Some((Err(failure), None)),
        }
    });
    Ok(Body::from_stream(pieces))
}

/// The progress of a query.
pub(super) async fn state(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Refusal> {
    let running = shared.running().get(&name).cloned();
    let running = running.ok_or_else(|| no_query(&name))?;
    let totals = running.scan_report.counters().totals();
    let planned = running.scan_report.planned_bytes();
    Ok(Json(json!({
        "state": "running",
        "records": totals.records,
        "bytes": totals.source_bytes,
        "total_bytes": (planned > 0).then_some(planned),
        "seconds": running.started.elapsed().as_secs_f64(),
    })))
}

/// Ends a query.
pub(super) async fn end(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
) -> Result<Json<Value>, Refusal> {
    let running = shared.running().get(&name).cloned();
    let running = running.ok_or_else(|| no_query(&name))?;
    // The permit stays for a statement that begins to wait later than this.
    running.end.notify_one();
    Ok(Json(json!({"state": "cancelled"})))
}

fn no_query(name: &str) -> Refusal {
    Refusal::new(
        StatusCode::NOT_FOUND,
        "name",
        format!("no query named {name} is running"),
    )
}

/// A body has more in it than a text.
const SLACK: usize = 64 << 10;
/// The limit of rows in JSON where a request sets none.
const ROWS_DEFAULT: usize = 10_000;
const ROWS_MAX: usize = 1_000_000;
/// Bytes of rows that the answers in Parquet hold back together, about: one that has begun alone may hold all of them.
const HELD_BACK_MAX: usize = 32 << 20;
/// Bytes of JSON that are held back so that what fails early has a status.
const HELD_BYTES: usize = 1 << 20;
