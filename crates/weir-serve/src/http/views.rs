//! A call as a ladder and as a capture, a packet with its layers: questions that the page does not have to know.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use weir_engine::{Engine, Statement};
use weir_sip::{Caption, Ladder, Step};
use weir_tables::Table;

use super::{Refusal, json as values};
use crate::error::{Failure, Kind};
use crate::house::House;
use crate::session::Session;

/// Which call is meant.
#[derive(Debug, Deserialize)]
pub(super) struct Call {
    path: String,
    call_id: String,
    #[serde(default)]
    format: Drawn,
}

/// How a ladder is drawn.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Drawn {
    #[default]
    Json,
    Svg,
    Html,
}

/// A literal of SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The rows of a query, as the page takes them, `most` at most.
async fn rows(
    house: &Arc<House>,
    sql: &str,
    most: usize,
) -> Result<(Vec<String>, Vec<Value>), Failure> {
    let session = Session::new(house)?;
    let statement = session.parse(sql)?.pop();
    let statement = statement.ok_or_else(|| Failure::new(Kind::Syntax, "no statement"))?;
    let mut answer = session.start(statement).await?;
    let names = answer
        .schema
        .fields()
        .iter()
        .map(|field| field.name().clone());
    let names = names.collect();
    let mut all = Vec::new();
    while let Some(batch) = answer.next().await? {
        all.extend(values::rows(&batch, most - all.len())?);
        if all.len() >= most {
            break;
        }
    }
    Ok((names, all))
}

/// Draws the messages of a call.
pub(super) async fn ladder(
    State(house): State<Arc<House>>,
    Query(call): Query<Call>,
) -> Result<Response, Refusal> {
    let sql = format!(
        "SELECT CAST(frame.time AS TEXT), arrow_cast(frame.time, 'Int64'), addr.src, port.src, addr.dst, port.dst, \
         sip.method, sip.status_code, sip.reason_phrase, sip.cseq.seq, sip.cseq.method, sip.resend, frame.number, \
         concat_ws(chr(10), sip.request_line, sip.status_line, sip.msg_body), sip.msg_body IS NOT NULL \
         FROM sip({}) WHERE sip.call_id = {}",
        quoted(&call.path),
        quoted(&call.call_id)
    );
    let (_, rows) = rows(&house, &sql, MESSAGES_MAX).await?;
    if rows.is_empty() {
        let message = format!("no SIP message with Call-ID {}", call.call_id);
        return Err(Refusal::new(StatusCode::NOT_FOUND, "name", message));
    }
    let mut drawn = Ladder::new(&format!("Call-ID {}", call.call_id));
    let mut participants: Vec<String> = Vec::new();
    let mut messages = Vec::new();
    for row in &rows {
        let text = |index: usize| row.get(index).and_then(Value::as_str);
        let number = |index: usize| row.get(index).and_then(Value::as_u64);
        let socket = |address: usize, port: usize| match number(port) {
            Some(port) => format!("{}:{port}", text(address).unwrap_or("?")),
            None => text(address).unwrap_or("?").to_owned(),
        };
        let (from, to) = (socket(2, 3), socket(4, 5));
        for end in [&from, &to] {
            if !participants.contains(end) {
                participants.push(end.clone());
            }
        }
        let status = number(7).and_then(|status| u16::try_from(status).ok());
        let caption = Caption {
            method: text(6).map(str::as_bytes),
            status: status.map(|status| (status, text(8).unwrap_or_default().as_bytes())),
            cseq: number(9)
                .and_then(|seq| u32::try_from(seq).ok())
                .map(|seq| (seq, text(10).unwrap_or_default().as_bytes())),
            has_sdp: row.get(14).and_then(Value::as_bool).unwrap_or_default(),
        };
        let label = caption.label();
        let is_repeat = row.get(11).and_then(Value::as_bool).unwrap_or_default();
        messages.push(json!({
            "time": text(0),
            "from": from,
            "to": to,
            "label": label,
            "frame": number(12),
            "failed": status.is_some_and(|status| status >= 400),
            "repeat": is_repeat,
            "text": text(13),
        }));
        drawn.push(Step {
            time_ns: text(1)
                .and_then(|time| time.parse().ok())
                .or_else(|| row.get(1).and_then(Value::as_i64)),
            from,
            to,
            label,
            is_repeat,
            is_failure: status.is_some_and(weir_sip::is_failure),
            frame: number(12),
            text: text(13).map(str::to_owned),
            ..Step::default()
        });
    }
    Ok(match call.format {
        Drawn::Svg => ([(CONTENT_TYPE, "image/svg+xml")], drawn.svg()).into_response(),
        Drawn::Html => ([(CONTENT_TYPE, "text/html; charset=utf-8")], drawn.html()).into_response(),
        Drawn::Json => Json(json!({
            "participants": participants,
            "messages": messages,
            "media": [],
            "truncated": rows.len() >= MESSAGES_MAX,
        }))
        .into_response(),
    })
}

/// The packets of a call, its messages and its sound, as a capture.
pub(super) async fn call(
    State(house): State<Arc<House>>,
    Query(call): Query<Call>,
) -> Result<Response, Refusal> {
    let path = quoted(&call.path);
    let query = weir_engine::packets_of_call(&path, &quoted(&call.call_id));
    let bytes = captured(&house, &query).await?;
    let headers = [
        (CONTENT_TYPE, "application/vnd.tcpdump.pcap"),
        (CONTENT_DISPOSITION, "attachment; filename=\"call.pcap\""),
    ];
    Ok((headers, bytes).into_response())
}

/// The packets of a query as a capture.
async fn captured(house: &Arc<House>, query: &str) -> Result<Vec<u8>, Refusal> {
    let failed = |error: &dyn std::fmt::Display| {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "run", error.to_string())
    };
    let folder = tempfile::tempdir().map_err(|error| failed(&error))?;
    // This engine writes where nobody else looks, and its statement is this one.
    let mut options = house.engine_options();
    options.root = Some(folder.path().to_path_buf());
    options.read_only = false;
    let engine = Arc::new(Engine::new(&options).map_err(Failure::from)?);
    let sql = format!("COPY ({query}) TO 'some.pcap'");
    let statement: Option<Statement> = engine.parse(&sql).map_err(Failure::from)?.pop();
    let statement = statement.ok_or_else(|| failed(&"no statement"))?;
    let session = Session {
        house: Arc::clone(house),
        engine,
    };
    let mut answer = session.start(statement).await?;
    while answer.next().await?.is_some() {}
    let written = folder.path().join("some.pcap");
    let size = std::fs::metadata(&written)
        .map_err(|error| failed(&error))?
        .len();
    if size > CAPTURE_BYTES_MAX {
        let message = format!("these packets have {size} bytes, more than are given in one piece");
        return Err(Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "limit",
            message,
        ));
    }
    let bytes = tokio::task::spawn_blocking(move || std::fs::read(written)).await;
    let bytes = bytes
        .map_err(|error| failed(&error))?
        .map_err(|error| failed(&error))?;
    Ok(bytes)
}

/// Which flow is followed.
#[derive(Debug, Deserialize)]
pub(super) struct Followed {
    path: String,
    flow: u64,
}

/// What a flow carries, piece by piece.
pub(super) async fn stream(
    State(house): State<Arc<House>>,
    Query(followed): Query<Followed>,
) -> Result<Json<Value>, Refusal> {
    let sql = format!(
        "SELECT CAST(frame.time AS TEXT), addr.src, port.src, stream.text, stream.data, stream.missing \
         FROM stream({}) WHERE flow.id = {}",
        quoted(&followed.path),
        followed.flow
    );
    let (_, rows) = rows(&house, &sql, PIECES_MAX).await?;
    let sender = |row: &Value| (row.get(1).cloned(), row.get(2).cloned());
    // Who speaks first is called the client, as one who follows a stream expects.
    let client = rows.first().map(sender);
    let mut bytes = 0;
    let mut pieces = Vec::new();
    for row in &rows {
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
    let truncated = rows.len() >= PIECES_MAX || pieces.len() < rows.len();
    Ok(Json(json!({"pieces": pieces, "truncated": truncated})))
}

/// Which packet is meant.
#[derive(Debug, Deserialize)]
pub(super) struct Which {
    path: String,
    number: u64,
}

/// The columns of a packet that have a value, by their protocols.
pub(super) async fn packet(
    State(house): State<Arc<House>>,
    Query(which): Query<Which>,
) -> Result<Json<Value>, Refusal> {
    let path = quoted(&which.path);
    let sql = format!(
        "SELECT * FROM packets({path}) WHERE frame.number = {} LIMIT 1",
        which.number
    );
    let (names, rows) = rows(&house, &sql, 1).await?;
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
    let capture = captured(&house, &query).await?;
    let failed = |error: weir_capture::Error| {
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "run", error.to_string())
    };
    let mut reader = weir_capture::Reader::new(capture.as_slice()).map_err(failed)?;
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

/// Messages of a call that are drawn.
const MESSAGES_MAX: usize = 20_000;
/// Bytes of packets that are given as a capture in one piece.
const CAPTURE_BYTES_MAX: u64 = 256 << 20;
/// Pieces and bytes of a flow that are given: its beginning.
const PIECES_MAX: usize = 20_000;
const STREAM_BYTES_MAX: usize = 16 << 20;
