//! The messages between the machines of a cluster: their size, their metadata and the texts of Ballista in them.

use ballista_core::serde::protobuf::GetJobStatusParams;
use tonic::Request;
use tonic::metadata::{MetadataMap, MetadataValue};

/// A question for the rows of a job in place of its status.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowsRequest {
    /// A client reads them: they stay for some minutes more.
    Renew,
    /// An executor asks whether they are still needed.
    Ask,
}

/// The request of `get_job_status` for the rows of a job.
pub(crate) fn of_rows(job: &str, asked: RowsRequest) -> Request<GetJobStatusParams> {
    let job_id = job.to_owned();
    let mut request = Request::new(GetJobStatusParams { job_id });
    let value = match asked {
        RowsRequest::Renew => RENEW,
        RowsRequest::Ask => ASK,
    };
    let value = MetadataValue::from_static(value);
    request.metadata_mut().insert(ROWS, value);
    request
}

/// The answer to [`of_rows`]; `None` where it has none.
pub(crate) fn are_kept(answered: &MetadataMap) -> Option<bool> {
    let kept = answered.get(ROWS)?;
    Some(kept == "1")
}

/// The text of an executor's error, with its hint behind [`HINT`].
pub(crate) fn error_text(error: &weir_engine::Error) -> String {
    let message = error.to_string().replace(HINT, " ");
    match error.hint() {
        Some(hint) => format!("{message}{HINT}{hint}"),
        None => message,
    }
}

/// The separator of an error and its hint.
pub(crate) const HINT: char = '\u{1f}';
/// The maximum size of a gRPC message.
pub(crate) const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// The number of requests without a response after which the client gives up.
pub(crate) const UNANSWERED_MAX: u32 = 3;
/// The error text of Ballista for tasks that an executor does not take.
pub(crate) const REJECTED: &str = "was rejected by executor";

/// Metadata of a statement: the user, the processes and the machine that its client belongs to. Their statements share turns and limits.
pub(crate) const CLIENT: &str = "weir-client";
/// Metadata of responses with the progress of a job.
pub(crate) const PIECES: &str = "weir-pieces";
pub(crate) const SOURCE_BYTES: &str = "weir-source-bytes";
pub(crate) const RECORDS: &str = "weir-records";
pub(crate) const READERS: &str = "weir-readers";
/// Metadata of the response without a job ID: whether there is an executor.
pub(crate) const READY: &str = "weir-ready";
/// Metadata of a request for the rows of a job, and of its response: 1 when they are kept.
pub(crate) const ROWS: &str = "weir-rows";
pub(crate) const RENEW: &str = "renew";
const ASK: &str = "ask";
