//! The Flight service for the rows of jobs, which executors and clients fetch.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::time::SystemTime;

use arrow_flight::flight_service_server::FlightService;
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, Result as ActionResult, SchemaResult,
    Ticket,
};
use ballista_executor::flight_service::BallistaFlightService;
use futures::Stream;
use tonic::{Request, Response, Status, Streaming};

use crate::check::check_ticket;

/// Serves `DoGet` and nothing else of Arrow Flight: the actions of Ballista read byte ranges of files that the caller chooses.
pub(crate) struct RowService {
    service: BallistaFlightService,
    work_dir: PathBuf,
}

impl RowService {
    /// The service for a work directory.
    pub(crate) fn new(work_dir: String) -> Self {
        Self {
            work_dir: PathBuf::from(&work_dir),
            service: BallistaFlightService::new(work_dir),
        }
    }

    /// Records that the rows of a job are read, for [`crate::WorkFolder::older_than`].
    ///
    /// # Errors
    /// When there are none.
    fn renew(&self, job: &str) -> Result<(), Status> {
        let folder = File::open(self.work_dir.join(job)).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Status::not_found(GONE),
            _ => Status::internal(format!("the rows of the job {job}: {error}")),
        })?;
        // Without it the rows only go sooner.
        let _ = folder.set_modified(SystemTime::now());
        Ok(())
    }
}

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
        self.renew(&check_ticket(&request.get_ref().ticket)?)?;
        self.service.do_get(request).await
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

fn not_done() -> Status {
    Status::unimplemented("an executor serves do_get, and no other call of Arrow Flight")
}
