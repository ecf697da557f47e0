//! The studies of a capture's messages: WebSocket messages with every setting of permessage-deflate, and H.248 messages in every
//! encoding. The figures are those of `weir ws study` and `weir h248 compare`, as rows for the page.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt64Type};
use axum::Json;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};
use weir_engine::quote_literal;
use weir_h248::{Arena, DecodeOptions, decode};
use weir_packet::{Decoder, Frame, LinkType, Needs, Options};
use weir_tables::h248::{FoundMessage, MessageFinder};
use weir_ws::{
    Direction, InputMessage, Opcode, Setting, Study, StudyOptions, ZlibBuild, deflate_bytes,
    inflate_bytes,
};

use super::refusal::Refusal;
use super::views::{captured, each_batch, place};
use crate::error::{Failure, FailureKind};
use crate::shared::Shared;

/// The capture of a study.
#[derive(Debug, Deserialize)]
pub(super) struct Studied {
    path: String,
}

/// The limit of a study: the beginning of the messages.
struct Budget {
    ends: Instant,
    messages: usize,
    bytes: usize,
    is_spent: bool,
}

impl Budget {
    fn new(shared: &Shared, messages: usize) -> Self {
        let most = shared.options.limits.time_max.unwrap_or(STUDY_MAX);
        Self {
            ends: Instant::now() + most.min(STUDY_MAX),
            messages,
            bytes: BYTES_MAX,
            is_spent: false,
        }
    }

    /// Counts a message; false when it exceeds the limit.
    fn take(&mut self, bytes: usize) -> bool {
        let left = self
            .messages
            .checked_sub(1)
            .zip(self.bytes.checked_sub(bytes));
        match left.filter(|_| Instant::now() < self.ends) {
            Some((messages, bytes)) => {
                (self.messages, self.bytes) = (messages, bytes);
                true
            }
            None => {
                self.is_spent = true;
                false
            }
        }
    }
}

fn column(batch: &RecordBatch, index: usize, kind: &DataType) -> Result<Arc<dyn Array>, Failure> {
    cast(batch.column(index), kind)
        .map_err(|error| Failure::new(FailureKind::Run, error.to_string()))
}

/// The sizes of a capture's WebSocket messages with each setting of permessage-deflate.
pub(super) async fn websocket(
    State(shared): State<Arc<Shared>>,
    Query(studied): Query<Studied>,
) -> Result<Json<Value>, Refusal> {
    let sql = format!(
        "SELECT websocket.connection, websocket.direction, websocket.type, websocket.payload.text, websocket.payload.binary \
         FROM websocket({}) WHERE websocket.type IN ('text', 'binary') AND websocket.whole",
        quote_literal(&studied.path)
    );
    let _place = place(&shared, &shared.studies).await?;
    let mut budget = Budget::new(&shared, MESSAGES_MAX);
    let mut study = Study::new(StudyOptions::default());
    each_batch(&shared, &sql, |batch| {
        add_messages(batch, &mut study, &mut budget)?;
        Ok(!budget.is_spent)
    })
    .await?;
    let total = tokio::task::block_in_place(|| study.finish()).total(None);
    let build = ZlibBuild::STOCK;
    let rows = Setting::all()
        .filter(|_| total.messages > 0)
        .map(|setting| {
            json!([
                setting.takeover,
                setting.window_bits,
                setting.level,
                setting.mem_level,
                total.compressed(setting),
                total.ratio(setting),
                deflate_bytes(setting.window_bits, setting.mem_level, build),
                inflate_bytes(setting.window_bits, build).1,
            ])
        });
    let rows: Vec<Value> = rows.collect();
    Ok(Json(json!({
        "messages": total.messages,
        "bytes": total.bytes,
        "truncated": budget.is_spent,
        "sql": sql,
        "columns": columns(&[
            ("takeover", "bool"), ("window_bits", "int"), ("level", "int"), ("mem_level", "int"),
            ("compressed_bytes", "int"), ("ratio", "float"), ("deflate_bytes", "int"), ("inflate_bytes", "int"),
        ]),
        "rows": rows,
    })))
}

/// Adds the messages of a batch to a study, as many as its limit allows.
fn add_messages(
    batch: &RecordBatch,
    study: &mut Study,
    budget: &mut Budget,
) -> Result<(), Failure> {
    let connections = column(batch, 0, &DataType::UInt64)?;
    let connections = connections.as_primitive::<UInt64Type>();
    let texts = [1, 2, 3].map(|index| column(batch, index, &DataType::Utf8));
    let [directions, kinds, texts] = texts;
    let (directions, kinds, texts) = (directions?, kinds?, texts?);
    let binaries = column(batch, 4, &DataType::Binary)?;
    let (directions, kinds) = (directions.as_string::<i32>(), kinds.as_string::<i32>());
    let (texts, binaries) = (texts.as_string::<i32>(), binaries.as_binary::<i32>());
    // The study computes, and other connections are served meanwhile.
    tokio::task::block_in_place(|| {
        for row in 0..batch.num_rows() {
            let payload = match (texts.is_null(row), binaries.is_null(row)) {
                (false, _) => texts.value(row).as_bytes(),
                (true, false) => binaries.value(row),
                (true, true) => &[],
            };
            if !budget.take(payload.len()) {
                return;
            }
            let direction = match directions.value(row) {
                "to_client" => Direction::ToClient,
                _ => Direction::ToServer,
            };
            let opcode = match kinds.value(row) {
                "text" => Opcode::Text,
                _ => Opcode::Binary,
            };
            let connection = connections.value(row);
            study.message(&InputMessage::new(
                connection,
                Some(direction),
                opcode,
                payload,
            ));
        }
    });
    Ok(())
}

fn columns(names: &[(&str, &str)]) -> Vec<Value> {
    let columns = names.iter();
    columns
        .map(|(name, kind)| json!({"name": name, "type": kind}))
        .collect()
}

/// The sizes of a capture's H.248 messages in every encoding.
pub(super) async fn h248(
    State(shared): State<Arc<Shared>>,
    Query(studied): Query<Studied>,
) -> Result<Json<Value>, Refusal> {
    let path = quote_literal(&studied.path);
    // All packets of a flow: a message may have come in several.
    let sql = format!(
        "SELECT p.* FROM packets({path}) p JOIN (SELECT frame.file AS of_file, frame.number AS of_number \
         FROM flow_packets({path}) WHERE flow.id IN (SELECT flow.id FROM h248({path}))) m \
         ON p.frame.number = m.of_number AND p.frame.file = m.of_file \
         ORDER BY p.frame.file, p.frame.number LIMIT {PACKETS_MAX}"
    );
    let place = place(&shared, &shared.studies).await?;
    let capture = captured(&shared, &sql).await?.bytes()?;
    let budget = Budget::new(&shared, COMPARED_MAX);
    let compared = tokio::task::spawn_blocking(move || {
        // The study continues when its client has gone.
        let _place = place;
        compare(&capture, budget)
    });
    let compared = compared.await;
    let failed = |message: String| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "run", message);
    let compared = compared.map_err(|error| failed(error.to_string()))?;
    let (study, is_spent) = compared.map_err(|error| failed(error.to_string()))?;
    let count = study.messages().len();
    let averages = study.averages();
    let carried = averages.iter().filter(|average| average.messages > 0);
    let rows = carried.map(|average| {
        json!([
            average.variant.name,
            average.messages,
            average.size,
            average.encode_ns,
            average.decode_ns,
        ])
    });
    let rows: Vec<Value> = rows.collect();
    Ok(Json(json!({
        "messages": count,
        "truncated": is_spent,
        "sql": sql,
        "columns": columns(&[
            ("encoding", "text"), ("messages", "int"), ("octets", "float"), ("encode_ns", "float"), ("decode_ns", "float"),
        ]),
        "rows": rows,
    })))
}

/// The messages of a capture in every encoding, and whether there were more.
fn compare(
    capture: &[u8],
    mut budget: Budget,
) -> Result<(weir_h248::study::Study, bool), weir_capture::Error> {
    let mut study = weir_h248::study::Study::new();
    let mut reader = weir_capture::Reader::new(capture)?;
    let mut decoder = Decoder::new(Options::default(), [Needs::All]);
    let mut finder = MessageFinder::new();
    let mut take = |message: &FoundMessage<'_>| {
        let arena = Arena::new();
        let decoded = decode(message.octets, &arena, &DecodeOptions::default());
        // A damaged message is in the list of messages, with the reason.
        if let Ok(decoded) = decoded
            && budget.take(message.octets.len())
        {
            study.message("", &decoded, &mut nanoseconds);
        }
    };
    while let Some(record) = reader.next()? {
        let frame = Frame {
            number: record.number,
            time_ns: record.time_ns,
            wire_len: record.wire_len,
            ..Frame::new(LinkType(record.link_type), record.data)
        };
        finder.packet(&decoder.decode(frame), &mut take);
    }
    finder.finish(&mut take);
    Ok((study, budget.is_spent))
}

/// About how long work takes: a server has better to do than to measure as `weir h248 compare` does.
fn nanoseconds(work: &mut dyn FnMut()) -> f64 {
    work();
    let begun = Instant::now();
    (0..RUNS).for_each(|_| work());
    begun.elapsed().as_nanos() as f64 / f64::from(RUNS)
}

/// The time limit of a study.
const STUDY_MAX: Duration = Duration::from_secs(20);
/// Messages and bytes of a study of permessage-deflate, and messages that are encoded otherwise.
const MESSAGES_MAX: usize = 20_000;
const BYTES_MAX: usize = 8 << 20;
const COMPARED_MAX: usize = 1_000;
/// The maximum number of packets that are searched for H.248 messages.
const PACKETS_MAX: usize = 100_000;
const RUNS: u32 = 16;
