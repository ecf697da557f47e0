//! Rows of other executors, fetched by Arrow Flight.
//!
//! Ballista has readers for them, which trust what they are sent: a count in a message is allocated as it is, and a reader that
//! panics ends its partition as if there were no more rows. Here each message is validated ([`crate::check::flight_batch`])
//! before a reader of Arrow has it, and rows have the columns that the plan says.

use std::fmt;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::utils::flight_data_to_arrow_batch;
use arrow_flight::{FlightData, Ticket};
use ballista_core::serde::protobuf::action::ActionType;
use ballista_core::serde::protobuf::{
    Action, FetchPartition, PartitionId, ShuffleFileKind, ShuffleLayout,
};
use futures::{Stream, StreamExt as _};
use prost::Message as _;
use tonic::transport::Channel;
use tonic::{Status, Streaming};

use crate::check::{Refused, caught, flight_batch};
use crate::error::Error;
use crate::protocol::MESSAGE_BYTES_MAX;
use crate::trust::Trust;

/// The rows that one task has written for one partition, on the executor that keeps them.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) partition: PartitionId,
    pub(crate) file_id: Option<u64>,
    pub(crate) layout: ShuffleLayout,
}

/// Why rows could not be fetched.
#[derive(Debug)]
pub(crate) enum FetchError {
    /// The executor cannot be reached, or does not have them any more: another one can compute them again.
    Lost(String),
    /// The executor has sent something else than rows of this plan.
    Malformed(String),
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(message) => f.write_str(message),
            Self::Malformed(message) => write!(f, "invalid rows: {message}"),
        }
    }
}

impl From<Status> for FetchError {
    fn from(status: Status) -> Self {
        match std::error::Error::source(&status) {
            Some(source) => Self::Lost(format!(
                "{}: {}",
                status.message(),
                crate::error::chain(source)
            )),
            None => Self::Lost(status.message().to_owned()),
        }
    }
}

impl From<Refused> for FetchError {
    fn from(refused: Refused) -> Self {
        Self::Malformed(refused.to_string())
    }
}

impl From<Option<ArrowError>> for FetchError {
    fn from(error: Option<ArrowError>) -> Self {
        let message = error.map_or_else(
            || "Arrow cannot read them".to_owned(),
            |error| Refused::malformed(error.to_string()).to_string(),
        );
        Self::Malformed(message)
    }
}

/// A connection to an executor that keeps rows.
///
/// # Errors
/// When the executor cannot be reached.
pub(crate) async fn connect(
    trust: &Trust,
    host: &str,
    port: u16,
) -> Result<FlightServiceClient<Channel>, FetchError> {
    let lost = |error: Error| FetchError::Lost(error.to_string());
    let channel = trust
        .connect(&format!("{host}:{port}"))
        .await
        .map_err(lost)?;
    Ok(FlightServiceClient::new(channel)
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
        .max_encoding_message_size(MESSAGE_BYTES_MAX))
}

/// The rows of a location. They have this schema.
///
/// # Errors
/// When the executor does not have them, or they are of another schema.
pub(crate) async fn fetch(
    mut executor: FlightServiceClient<Channel>,
    location: &Location,
    schema: SchemaRef,
) -> Result<impl Stream<Item = Result<RecordBatch, FetchError>> + use<>, FetchError> {
    let partition = &location.partition;
    let action = Action {
        action_type: Some(ActionType::FetchPartition(FetchPartition {
            job_id: partition.job_id.clone(),
            stage_id: partition.stage_id,
            partition_id: partition.partition_id,
            host: location.host.clone(),
            port: u32::from(location.port),
            file_id: location.file_id,
            layout: location.layout as i32,
            file_kind: ShuffleFileKind::Data as i32,
            byte_ranges: Vec::new(),
        })),
        settings: Vec::new(),
    };
    let mut messages = executor
        .do_get(Ticket::new(action.encode_to_vec()))
        .await?
        .into_inner();
    let Some(first) = messages.message().await? else {
        return Err(FetchError::Malformed("there is no schema".to_owned()));
    };
    has_types(&first, &schema)?;
    Ok(batches(messages, schema))
}

fn batches(
    messages: Streaming<FlightData>,
    schema: SchemaRef,
) -> impl Stream<Item = Result<RecordBatch, FetchError>> {
    messages.map(move |message| batch(&message?, &schema))
}

/// The rows of one message.
fn batch(message: &FlightData, schema: &SchemaRef) -> Result<RecordBatch, FetchError> {
    flight_batch(&message.data_header, &message.data_body)?;
    let no_dictionaries = std::collections::HashMap::new();
    let read = caught(|| {
        let batch = flight_data_to_arrow_batch(message, Arc::clone(schema), &no_dictionaries)?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(schema), batch.columns().to_vec(), &options)
    });
    Ok(read?)
}

/// Checks that the first message is a schema whose columns have the types of the plan.
fn has_types(message: &FlightData, schema: &Schema) -> Result<(), FetchError> {
    let sent = caught(|| Schema::try_from(message))?;
    let types = |schema: &Schema| -> Vec<_> {
        let fields = schema.fields().iter();
        fields.map(|field| field.data_type().clone()).collect()
    };
    let (sent, expected) = (types(&sent), types(schema));
    let is_same = sent.len() == expected.len()
        && sent
            .iter()
            .zip(&expected)
            .all(|(sent, expected)| sent.equals_datatype(expected));
    match is_same {
        true => Ok(()),
        false => Err(FetchError::Malformed(
            "their columns have other types than those of the plan".to_owned(),
        )),
    }
}
