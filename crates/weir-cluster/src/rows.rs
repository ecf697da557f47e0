//! The rows of jobs, as executors give them to each other and to clients.

use std::pin::Pin;

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

/// Gives the rows that a ticket names, and does nothing else of what Arrow Flight knows: what Ballista does of it as well
/// reads files in pieces that the caller chooses.
pub(crate) struct Rows {
    service: BallistaFlightService,
}

impl Rows {
    /// The rows in a work folder.
    pub(crate) fn new(work_dir: String) -> Self {
        Self {
            service: BallistaFlightService::new(work_dir),
        }
    }
}

type Items<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send + 'static>>;
type Answer<T> = Result<Response<T>, Status>;

#[tonic::async_trait]
impl FlightService for Rows {
    type HandshakeStream = Items<HandshakeResponse>;
    type ListFlightsStream = Items<FlightInfo>;
    type DoGetStream = Items<FlightData>;
    type DoPutStream = Items<PutResult>;
    type DoExchangeStream = Items<FlightData>;
    type DoActionStream = Items<ActionResult>;
    type ListActionsStream = Items<ActionType>;

    async fn do_get(&self, request: Request<Ticket>) -> Answer<Self::DoGetStream> {
        check_ticket(&request.get_ref().ticket)?;
        self.service.do_get(request).await
    }

    async fn handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> Answer<Self::HandshakeStream> {
        Err(not_done())
    }

    async fn list_flights(&self, _: Request<Criteria>) -> Answer<Self::ListFlightsStream> {
        Err(not_done())
    }

    async fn get_flight_info(&self, _: Request<FlightDescriptor>) -> Answer<FlightInfo> {
        Err(not_done())
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> Answer<PollInfo> {
        Err(not_done())
    }

    async fn get_schema(&self, _: Request<FlightDescriptor>) -> Answer<SchemaResult> {
        Err(not_done())
    }

    async fn do_put(&self, _: Request<Streaming<FlightData>>) -> Answer<Self::DoPutStream> {
        Err(not_done())
    }

    async fn do_exchange(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Answer<Self::DoExchangeStream> {
        Err(not_done())
    }

    async fn do_action(&self, _: Request<Action>) -> Answer<Self::DoActionStream> {
        Err(not_done())
    }

    async fn list_actions(&self, _: Request<Empty>) -> Answer<Self::ListActionsStream> {
        Err(not_done())
    }
}

fn not_done() -> Status {
    Status::unimplemented("an executor gives rows by do_get, and does nothing else of Arrow Flight")
}
