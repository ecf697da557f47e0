//! A call as a ladder and as a capture, a packet with its layers: questions that the page does not have to know.

use std::collections::HashSet;
use std::convert::Infallible;
use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use chrono::{DateTime, SecondsFormat};
use futures::stream;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_engine::{CallLadder, quote_literal};
use weir_tables::Table;

use super::json as values;
use super::refusal::Refusal;
use crate::deadline::Deadline;
use crate::error::{Failure, FailureKind};
use crate::listener::Pending;
use crate::session::Session;
use crate::shared::Shared;
use crate::turn::Holder;
use crate::workers::bytes_of;

/// The call of a request.
#[derive(Debug, Deserialize)]
pub(super) struct Call {
    path: String,
    call_id: String,
    #[serde(default)]
    format: Drawn,
}

/// The format of a ladder.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Drawn {
    #[default]
    Json,
    Svg,
    Html,
}

/// Waits for a place for what the server makes itself.
pub(super) async fn place(
    shared: &Shared,
    of: &Arc<Semaphore>,
) -> Result<Option<OwnedSemaphorePermit>, Failure> {
    let place = Arc::clone(of).acquire_owned();
    let place = Deadline::new(&shared.options.limits, None).within(place);
    // The semaphore is never closed.
    Ok(place.await?.ok())
}

/// Does what computes for a while: the connections of this thread go on meanwhile.
async fn computed<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    let failed =
        |error: tokio::task::JoinError| Failure::new(FailureKind::Internal, error.to_string());
    Ok(done.map_err(failed)?)
}

/// A text on its way to a client, counted among the rows that are until the client has it.
async fn sent(
    shared: &Arc<Shared>,
    pending: &Pending,
    kind: &'static str,
    text: String,
) -> Response {
    let text = Bytes::from(text);
    if text.len() <= PIECE_BYTES {
        return ([(CONTENT_TYPE, kind)], text).into_response();
    }
    let holder = Arc::<Holder>::default();
    holder.set_connection(Arc::clone(pending.activity()));
    let counted = shared.turns.reserve(text.len(), &holder).await;
    let pieces = stream::unfold(
        (text, counted, holder),
        |(mut text, counted, holder)| async {
            let piece = text.split_to(text.len().min(PIECE_BYTES));
            let is_piece = !piece.is_empty();
            is_piece.then(|| (Ok::<_, Infallible>(piece), (text, counted, holder)))
        },
    );
    ([(CONTENT_TYPE, kind)], Body::from_stream(pieces)).into_response()
}

/// The rows of a query, as the page takes them, `most` at most, with some megabytes of values; true where there are more.
async fn rows(
    shared: &Arc<Shared>,
    sql: &str,
    most: usize,
) -> Result<(Vec<String>, Vec<Value>, bool), Failure> {
    let session = Session::new(shared)?;
    let statement = session.parse(sql)?.pop();
    let statement = statement.ok_or_else(|| Failure::new(FailureKind::Syntax, "no statement"))?;
    let mut answer = session.start(statement).await?;
    let names = answer
        .schema
        .fields()
        .iter()
        .map(|field| field.name().clone());
    let names = names.collect();
    let mut all = Vec::new();
    let mut bytes = 0_usize;
    while let Some(batch) = answer.next().await? {
        let columns = batch.columns().iter().map(bytes_of);
        bytes = columns.fold(bytes, usize::saturating_add);
        all.extend(values::rows(&batch, most - all.len())?);
        if all.len() >= most || bytes > VALUES_BYTES_MAX {
            return Ok((names, all, true));
        }
    }
    Ok((names, all, false))
}

/// Draws the messages of a call, and its media.
pub(super) async fn ladder(
    State(shared): State<Arc<Shared>>,
    Extension(pending): Extension<Pending>,
    Query(call): Query<Call>,
) -> Result<Response, Refusal> {
    let place = place(&shared, &shared.views).await?;
    let (path, id) = (quote_literal(&call.path), quote_literal(&call.call_id));
    let mut found = CallLadder::default();
    let sql = CallLadder::messages_sql(&path, &id);
    each_batch(&shared, &sql, |batch| {
        found.push_messages(batch).map_err(broken)?;
        Ok(!found.is_cut())
    })
    .await?;
    if found.messages().is_empty() {
        return Err(no_call(&call));
    }
    let sql = CallLadder::media_sql(&path, &id);
    each_batch(&shared, &sql, |batch| {
        found.push_media(batch).map_err(broken)?;
        Ok(true)
    })
    .await?;
    let (kind, text) = computed(move || written(&found, &call)).await??;
    let response = sent(&shared, &pending, kind, text).await;
    // Texts that wait for room are as few as those that are made.
    drop(place);
    Ok(response)
}

/// The refusal of a call that the capture does not have.
fn no_call(call: &Call) -> Refusal {
    let message = format!("no SIP message with Call-ID {}", call.call_id);
    Refusal::new(StatusCode::NOT_FOUND, "name", message)
}

/// A ladder in the requested format, with its type.
fn written(found: &CallLadder, call: &Call) -> Result<(&'static str, String), Failure> {
    if matches!(call.format, Drawn::Json) {
        return Ok(("application/json", described(found).to_string()));
    }
    let drawn = found.drawn(&format!("Call-ID {}", call.call_id));
    let drawn = drawn.ok_or_else(|| Failure::new(FailureKind::Run, "nothing to draw"))?;
    Ok(match call.format {
        Drawn::Svg => ("image/svg+xml", drawn.svg()),
        _ => ("text/html; charset=utf-8", drawn.html()),
    })
}

/// A ladder as the page draws it.
fn described(call: &CallLadder) -> Value {
    let mut known = HashSet::new();
    let ends = call.messages().iter();
    let ends = ends.flat_map(|step| [step.from.as_str(), step.to.as_str()]);
    let participants: Vec<&str> = ends.filter(|end| known.insert(*end)).collect();
    let messages = call.messages().iter().map(|step| {
        json!({
            "time": step.time_ns.map(instant),
            "from": step.from,
            "to": step.to,
            "label": step.label,
            "frame": step.frame,
            "failed": step.is_failure,
            "repeat": step.is_repeat,
            "text": step.text,
        })
    });
    let messages: Vec<Value> = messages.collect();
    let media = call.media().iter().map(|stream| {
        let (from, to) = stream.ends();
        json!({
            "start": stream.start_ns.map(instant),
            "from": from,
            "to": to,
            "protocol": stream.protocol,
            "codec": stream.codec,
            "packets": stream.packets,
            "lost": stream.lost,
            "jitter": stream.jitter_ms,
            "mos": stream.mos,
        })
    });
    let media: Vec<Value> = media.collect();
    json!({
        "participants": participants,
        "messages": messages,
        "media": media,
        "truncated": call.is_cut(),
    })
}

/// A time as the page reads it, with all of its nanoseconds.
fn instant(time_ns: i64) -> String {
    DateTime::from_timestamp_nanos(time_ns).to_rfc3339_opts(SecondsFormat::Nanos, true)
}

fn broken(error: ArrowError) -> Failure {
    Failure::new(FailureKind::Run, error.to_string())
}

/// Passes the batches of a query to a function, until it has enough.
pub(super) async fn each_batch(
    shared: &Arc<Shared>,
    sql: &str,
    mut look: impl FnMut(&RecordBatch) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let session = Session::new(shared)?;
    let statement = session.parse(sql)?.pop();
    let statement = statement.ok_or_else(|| Failure::new(FailureKind::Syntax, "no statement"))?;
    let mut answer = session.start(statement).await?;
    while let Some(batch) = answer.next().await? {
        if !look(&batch)? {
            break;
        }
    }
    Ok(())
}

/// The packets of a call, its messages and its sound, as a capture.
pub(super) async fn call(
    State(shared): State<Arc<Shared>>,
    Query(call): Query<Call>,
) -> Result<Response, Refusal> {
    let (path, id) = (quote_literal(&call.path), quote_literal(&call.call_id));
    let query = weir_engine::packets_of_call(&path, &id);
    let place = place(&shared, &shared.views).await?;
    // The first message of a call is found by one reading; its packets need several.
    let first = format!("SELECT 1 FROM sip({path}) WHERE sip.call_id = {id} LIMIT 1");
    let mut is_known = false;
    each_batch(&shared, &first, |batch| {
        is_known |= batch.num_rows() > 0;
        Ok(!is_known)
    })
    .await?;
    if !is_known {
        return Err(no_call(&call));
    }
    let Captured { folder, file } = captured(&shared, &query).await?;
    drop(place);
    let headers = [
        (CONTENT_TYPE, "application/vnd.tcpdump.pcap"),
        (CONTENT_DISPOSITION, "attachment; filename=\"call.pcap\""),
    ];
    let pieces = stream::unfold((file, folder), |(mut file, folder)| async {
        let mut piece = vec![0; PIECE_BYTES];
        match tokio::task::block_in_place(|| file.read(&mut piece)) {
            Ok(0) => None,
            Ok(read) => {
                piece.truncate(read);
                Some((Ok(Bytes::from(piece)), (file, folder)))
            }
            Err(error) => Some((Err(error), (file, folder))),
        }
    });
    Ok((headers, Body::from_stream(pieces)).into_response())
}

/// A capture of packets that were requested, which is removed with its folder.
pub(super) struct Captured {
    folder: TempDir,
    file: File,
}

impl Captured {
    /// The capture whole, for what looks at all of its messages.
    ///
    /// # Errors
    /// When it is longer than such a look takes.
    pub(super) fn bytes(mut self) -> Result<Vec<u8>, Refusal> {
        let failed = |error: std::io::Error| {
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "run", error.to_string())
        };
        let size = self.file.metadata().map_err(failed)?.len();
        if size > CAPTURE_BYTES_MAX {
            let message =
                format!("these packets have {size} bytes, more than the limit for one request");
            return Err(Refusal::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "limit",
                message,
            ));
        }
        let mut bytes = Vec::new();
        tokio::task::block_in_place(|| self.file.read_to_end(&mut bytes)).map_err(failed)?;
        Ok(bytes)
    }
}

/// The packets of a query as a capture.
pub(super) async fn captured(shared: &Arc<Shared>, query: &str) -> Result<Captured, Refusal> {
    let failed = |error: &dyn std::fmt::Display| {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "run", error.to_string())
    };
    let folder = shared.uploads()?.folder.within("capture-");
    let folder = folder.map_err(|error| failed(&error))?;
    // This session writes where no other looks, and its statement is this one.
    let session = Session::writing_below(shared, folder.path())?;
    let sql = format!("COPY ({query}) TO 'some.pcap'");
    let statement = session.parse_written(&sql)?.pop();
    let statement = statement.ok_or_else(|| failed(&"no statement"))?;
    let mut answer = session.start(statement).await?;
    while answer.next().await?.is_some() {}
    let file = File::open(folder.path().join("some.pcap")).map_err(|error| failed(&error))?;
    Ok(Captured { folder, file })
}

/// The flow of a request.
#[derive(Debug, Deserialize)]
pub(super) struct Followed {
    path: String,
    flow: u64,
}

/// The contents of a flow, piece by piece.
pub(super) async fn stream(
    State(shared): State<Arc<Shared>>,
    Extension(pending): Extension<Pending>,
    Query(followed): Query<Followed>,
) -> Result<Response, Refusal> {
    let place = place(&shared, &shared.views).await?;
    let sql = format!(
        "SELECT CAST(frame.time AS TEXT), addr.src, port.src, stream.text, stream.data, stream.missing \
         FROM stream({}) WHERE flow.id = {}",
        quote_literal(&followed.path),
        followed.flow
    );
    let (_, rows, is_cut) = rows(&shared, &sql, PIECES_MAX).await?;
    let text = computed(move || followed_text(&rows, is_cut)).await?;
    let response = sent(&shared, &pending, "application/json", text).await;
    drop(place);
    Ok(response)
}

/// The pieces of a flow, as the page takes them.
fn followed_text(rows: &[Value], is_cut: bool) -> String {
    let sender = |row: &Value| (row.get(1).cloned(), row.get(2).cloned());
    // The sender of the first packet is called the client, as in Wireshark's "Follow stream".
    let client = rows.first().map(sender);
    let mut bytes = 0;
    let mut pieces = Vec::new();
    for row in rows {
        let text = |index: usize| row.get(index).and_then(Value::as_str).unwrap_or_default();
        bytes += text(4).len() / 2;
        if bytes > STREAM_BYTES_MAX {
            break;
        }
        let from = if Some(sender(row)) == client {
            "client"
        } else {
            "server"
        };
        pieces.push(json!({
            "from": from,
            "time": text(0),
            "text": text(3),
            "hex": text(4),
            "missing": row.get(5),
        }));
    }
    let truncated = is_cut || pieces.len() < rows.len();
    json!({"pieces": pieces, "truncated": truncated}).to_string()
}

/// The packet of a request.
#[derive(Debug, Deserialize)]
pub(super) struct Which {
    path: String,
    number: u64,
}

/// The columns of a packet that have a value, by their protocols.
pub(super) async fn packet(
    State(shared): State<Arc<Shared>>,
    Query(which): Query<Which>,
) -> Result<Json<Value>, Refusal> {
    let _place = place(&shared, &shared.views).await?;
    let path = quote_literal(&which.path);
    let sql = format!(
        "SELECT * FROM packets({path}) WHERE frame.number = {} LIMIT 1",
        which.number
    );
    let (names, rows, _) = rows(&shared, &sql, 1).await?;
    let Some(Value::Array(row)) = rows.into_iter().next() else {
        let message = format!("there is no packet {}", which.number);
        return Err(Refusal::new(StatusCode::NOT_FOUND, "name", message));
    };
    let table = Table::packets();
    let mut order: Vec<String> = Vec::new();
    let mut layers: Map<String, Value> = Map::new();
    for (name, value) in names.iter().zip(row) {
        let column = table.columns().iter().find(|column| *column.name == **name);
        if value.is_null() || column.is_none() {
            continue;
        }
        let layer = name.split('.').next().unwrap_or_default().to_owned();
        if !layers.contains_key(&layer) {
            order.push(layer.clone());
            layers.insert(layer.clone(), json!([]));
        }
        if let Some(Value::Array(fields)) = layers.get_mut(&layer) {
            let meaning = column.map(|column| &*column.doc);
            fields.push(json!({"name": name, "value": value, "meaning": meaning}));
        }
    }
    let layers: Vec<Value> = order
        .into_iter()
        .map(|name| json!({"fields": layers.get(&name), "name": name}))
        .collect();
    let query = format!(
        "SELECT * FROM packets({path}) WHERE frame.number = {}",
        which.number
    );
    let capture = captured(&shared, &query).await?;
    let failed = |error: weir_capture::Error| {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "run", error.to_string())
    };
    // The folder must exist until the packet has been read.
    let Captured {
        folder: _folder,
        file,
    } = capture;
    let mut reader = weir_capture::Reader::new(file).map_err(failed)?;
    let record = reader.next().map_err(failed)?;
    let bytes = record.map(|record| hex(record.data));
    Ok(Json(json!({"layers": layers, "bytes": bytes})))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The maximum bytes of the packets of one view of messages.
const CAPTURE_BYTES_MAX: u64 = 64 << 20;
/// Bytes of a capture that are sent in one piece.
const PIECE_BYTES: usize = 64 << 10;
/// Pieces and bytes of a flow that are given: its beginning.
const PIECES_MAX: usize = 20_000;
const STREAM_BYTES_MAX: usize = 8 << 20;
/// Bytes of values that are made to JSON in one piece: a flow has each of its bytes as text, too.
const VALUES_BYTES_MAX: usize = 2 * STREAM_BYTES_MAX;
