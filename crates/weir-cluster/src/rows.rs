//! The Flight service for the rows of jobs, which executors and clients fetch.

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::PathBuf;
use std::pin::Pin;
use std::time::SystemTime;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_server::FlightService;
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, Result as ActionResult, SchemaResult,
    Ticket,
};
use ballista_core::JobId;
use ballista_core::execution_plans::create_shuffle_path;
use ballista_core::execution_plans::sort_shuffle::{
    get_index_path, is_sort_shuffle_output, stream_sort_shuffle_partition,
};
use ballista_core::serde::protobuf::{FetchPartition, ShuffleLayout};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use tokio::sync::mpsc::{Sender, channel};
use tonic::{Request, Response, Status, Streaming};

use crate::check::{caught, check_ticket};
use crate::encode::messages;

/// Serves `DoGet` and nothing else of Arrow Flight: the actions of Ballista read byte ranges of files that the caller chooses.
pub(crate) struct RowService {
    work_dir: PathBuf,
}

impl RowService {
    /// The service for a work directory.
    pub(crate) fn new(work_dir: String) -> Self {
        Self {
            work_dir: PathBuf::from(work_dir),
        }
    }

    /// Records that the rows of a job are read, for [`crate::WorkFolder::older_than`].
    ///
    /// # Errors
    /// When there are none.
    fn renew(&self, job: &str) -> Result<(), Status> {
        let folder = File::open(self.work_dir.join(job)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Status::not_found(GONE),
            _ => unreadable(job, &error),
        })?;
        // Without it the rows only go sooner.
        let _ = folder.set_modified(SystemTime::now());
        Ok(())
    }

    /// The rows of a partition, and their schema.
    ///
    /// # Errors
    /// When there are none.
    fn open(&self, of: &FetchPartition) -> Result<(SchemaRef, Rows), Status> {
        let job = &of.job_id;
        let partition = usize::try_from(of.partition_id).unwrap_or(usize::MAX);
        let is_of_all = of.layout() == ShuffleLayout::Sort;
        let path = create_shuffle_path(
            &self.work_dir,
            &JobId::from(job.clone()),
            usize::try_from(of.stage_id).unwrap_or(usize::MAX),
            partition,
            of.file_id,
            is_of_all,
        )
        .map_err(|error| unreadable(job, &error))?;
        // A file of all partitions has an index, and begins with a stream that has the schema and no rows.
        if is_of_all || is_sort_shuffle_output(&path) {
            let rows = stream_sort_shuffle_partition(&path, &get_index_path(&path), partition)
                .map_err(|error| unreadable(job, &error))?;
            let schema = rows.schema();
            let rows = rows.map_err(|error| FlightError::from(ArrowError::from(error)));
            return Ok((schema, rows.boxed()));
        }
        let file = File::open(&path).map_err(|error| unreadable(job, &error))?;
        let reader = StreamReader::try_new(BufReader::new(file), None)
            .map_err(|error| unreadable(job, &error))?;
        let schema = reader.schema();
        let (sender, mut rows) = channel(BATCHES_READ_AHEAD);
        tokio::task::spawn_blocking(move || read(reader, &sender));
        let rows = futures::stream::poll_fn(move |context| rows.poll_recv(context));
        Ok((schema, rows.boxed()))
    }
}

/// Reads batches until their receiver is gone.
fn read(
    mut reader: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
    rows: &Sender<Result<RecordBatch, FlightError>>,
) {
    loop {
        // Rows after a panic would be missing without an error.
        let batch = match caught(|| reader.next().transpose()) {
            Ok(Some(batch)) => Ok(batch),
            Ok(None) => return,
            Err(error) => Err(error.map_or_else(
                || FlightError::DecodeError("Arrow cannot read them".to_owned()),
                FlightError::from,
            )),
        };
        let is_last = batch.is_err();
        if rows.blocking_send(batch).is_err() || is_last {
            return;
        }
    }
}

fn unreadable(job: &str, error: &dyn fmt::Display) -> Status {
    Status::internal(format!("the rows of the job {job}: {error}"))
}

type Rows = BoxStream<'static, Result<RecordBatch, FlightError>>;
type Items<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send + 'static>>;
type FlightResponse<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl FlightService for RowService {
    type HandshakeStream = Items<HandshakeResponse>;
    type ListFlightsStream = Items<FlightInfo>;
    type DoGetStream = Items<FlightData>;
    type DoPutStream = Items<PutResult>;
    type DoExchangeStream = Items<FlightData>;
    type DoActionStream = Items<ActionResult>;
    type ListActionsStream = Items<ActionType>;

    async fn do_get(&self, request: Request<Ticket>) -> FlightResponse<Self::DoGetStream> {
        let of = check_ticket(&request.get_ref().ticket)?;
        self.renew(&of.job_id)?;
        let (schema, rows) = self.open(&of)?;
        let messages = messages(schema, rows).map_err(|error| unreadable(&of.job_id, &error))?;
        let messages =
            messages.map_err(move |error| unreadable(&of.job_id, &Status::from(error).message()));
        Ok(Response::new(messages.boxed()))
    }

    async fn handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> FlightResponse<Self::HandshakeStream> {
        Err(not_done())
    }

    async fn list_flights(&self, _: Request<Criteria>) -> FlightResponse<Self::ListFlightsStream> {
        Err(not_done())
    }

    async fn get_flight_info(&self, _: Request<FlightDescriptor>) -> FlightResponse<FlightInfo> {
        Err(not_done())
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> FlightResponse<PollInfo> {
        Err(not_done())
    }

    async fn get_schema(&self, _: Request<FlightDescriptor>) -> FlightResponse<SchemaResult> {
        Err(not_done())
    }

    async fn do_put(&self, _: Request<Streaming<FlightData>>) -> FlightResponse<Self::DoPutStream> {
        Err(not_done())
    }

    async fn do_exchange(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> FlightResponse<Self::DoExchangeStream> {
        Err(not_done())
    }

    async fn do_action(&self, _: Request<Action>) -> FlightResponse<Self::DoActionStream> {
        Err(not_done())
    }

    async fn list_actions(&self, _: Request<Empty>) -> FlightResponse<Self::ListActionsStream> {
        Err(not_done())
    }
}

const GONE: &str = "the executor does not have the rows of the job any more: they are removed when their client has gone, or has stood still for five minutes";

/// The number of batches of a file that are read before they are sent.
const BATCHES_READ_AHEAD: usize = 2;

fn not_done() -> Status {
    Status::unimplemented("an executor serves do_get, and no other call of Arrow Flight")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, BinaryViewArray, UInt8Array};
    use arrow::compute::concat_batches;
    use arrow::ipc::CompressionType;
    use arrow::ipc::writer::{IpcWriteOptions, StreamWriter};
    use arrow_flight::utils::flight_data_to_arrow_batch;
    use ballista_core::serde::protobuf::Action;
    use ballista_core::serde::protobuf::action::ActionType;
    use prost::Message as _;

    use super::*;

    /// Bytes that LZ4 cannot compress, so that a column is a part of the message that was read.
    fn noise(state: &mut u64) -> u8 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    }

    /// A batch of 600 columns of a byte and one of payloads, and the size of its values.
    fn wide(rows: usize) -> (RecordBatch, usize) {
        let mut state = 1;
        let payloads: Vec<Vec<u8>> = (0..rows)
            .map(|_| (0..PAYLOAD).map(|_| noise(&mut state)).collect())
            .collect();
        let payloads: ArrayRef = Arc::new(BinaryViewArray::from_iter_values(payloads));
        let mut columns = vec![("payload".to_owned(), payloads)];
        for number in 0..600 {
            let bytes = UInt8Array::from_iter_values((0..rows).map(|_| noise(&mut state)));
            let bytes: ArrayRef = Arc::new(bytes);
            columns.push((format!("column{number}"), bytes));
        }
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        (batch, rows * (PAYLOAD + 16 + 600))
    }

    async fn sent(batch: &RecordBatch) -> Vec<FlightData> {
        let work = tempfile::tempdir().unwrap();
        let folder = work.path().join("job/1/0");
        std::fs::create_dir_all(&folder).unwrap();
        let file = File::create(folder.join("data-7.arrow")).unwrap();
        let options = IpcWriteOptions::default()
            .try_with_compression(Some(CompressionType::LZ4_FRAME))
            .unwrap();
        let mut writer =
            StreamWriter::try_new_with_options(file, &batch.schema(), options).unwrap();
        writer.write(batch).unwrap();
        writer.finish().unwrap();
        let fetch = FetchPartition {
            job_id: "job".to_owned(),
            stage_id: 1,
            file_id: Some(7),
            ..FetchPartition::default()
        };
        let action = Action {
            action_type: Some(ActionType::FetchPartition(fetch)),
            ..Action::default()
        };
        let service = RowService::new(work.path().to_str().unwrap().to_owned());
        let ticket = Request::new(Ticket::new(action.encode_to_vec()));
        let messages = service.do_get(ticket).await.unwrap().into_inner();
        messages.try_collect().await.unwrap()
    }

    /// A file of 200 rows and 1.3 MB was sent as 200 messages of 1.2 MB each: each column counted for the whole file, and each
    /// message had the payloads of all rows.
    #[tokio::test]
    async fn rows_are_sent_once_in_messages_of_about_two_mebibytes() {
        // 1.3 MB are one message. 6.6 MB are four, a quarter of the rows in each. A schema comes first.
        for (rows, expected) in [(200, 2), (1_000, 5)] {
            let (batch, bytes) = wide(rows);
            let messages = sent(&batch).await;
            assert_eq!(messages.len(), expected);
            let of_message =
                |message: &FlightData| message.data_header.len() + message.data_body.len();
            let all: usize = messages.iter().map(of_message).sum();
            assert!(all < bytes * 5 / 4, "{all} bytes for {bytes}");
            let schema = batch.schema();
            let read = messages[1..].iter().map(|message| {
                let no_dictionaries = std::collections::HashMap::new();
                flight_data_to_arrow_batch(message, Arc::clone(&schema), &no_dictionaries).unwrap()
            });
            let read: Vec<_> = read.collect();
            assert_eq!(concat_batches(&schema, &read).unwrap(), batch);
        }
    }

    /// Rows of all partitions without their index, which is written behind them, were no rows.
    #[tokio::test]
    async fn rows_of_all_partitions_have_an_index() {
        let work = tempfile::tempdir().unwrap();
        let folder = work.path().join("job/1/7");
        std::fs::create_dir_all(&folder).unwrap();
        let (batch, _) = wide(1);
        let file = File::create(folder.join("data.arrow")).unwrap();
        let mut writer = StreamWriter::try_new(file, &batch.schema()).unwrap();
        writer.finish().unwrap();
        let fetch = FetchPartition {
            job_id: "job".to_owned(),
            stage_id: 1,
            file_id: Some(7),
            layout: ShuffleLayout::Sort as i32,
            ..FetchPartition::default()
        };
        let action = Action {
            action_type: Some(ActionType::FetchPartition(fetch)),
            ..Action::default()
        };
        let service = RowService::new(work.path().to_str().unwrap().to_owned());
        let ticket = Request::new(Ticket::new(action.encode_to_vec()));
        let refused = service.do_get(ticket).await.err().unwrap();
        let message = refused.message();
        assert!(
            message.starts_with("the rows of the job job: "),
            "{message}"
        );
    }

    const PAYLOAD: usize = 6_000;
}
