//! Arrow Flight SQL.
//!
//! The messages are arrow-flight's and tonic's; this module answers them. A connection (`connection`) keeps views,
//! settings and prepared statements (`prepared`); each statement has an engine of its own, since several of one
//! connection run at once. A `ticket` names its statement, so that nothing is kept between GetFlightInfo and DoGet,
//! whose rows `flow` streams. `lists` says what there is. The received octets of requests are counted by `arriving`,
//! and calls have places (`place`).

mod arriving;
mod bitmaps;
mod connection;
mod field_types;
mod flow;
mod lists;
mod parameter;
mod place;
mod prepared;
mod status;
mod ticket;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use futures::FutureExt;
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderMap, ORIGIN};
use hyper::server::conn::http2;
use hyper::service::{Service as _, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tonic::Status;
use tonic::body::Body;

use crate::columns::Columns;
use crate::error::Failure;
use crate::hangup::{closed_by_client, duplicated};
use crate::listener::{Pending, STARTUP_MAX};
use crate::piecewise::Piecewise;
use crate::retained::Retention;
use crate::secret;
use crate::shared::Shared;
use arriving::Arriving;
use connection::FlightConnection;
use place::{Placed, Places};

/// The Flight SQL protocol.
pub(crate) struct FlightProtocol {
    shared: Arc<Shared>,
    columns: Arc<Columns>,
    tls: Option<TlsAcceptor>,
    /// The bearer token of clients that have shown the password once.
    bearer: String,
    /// The places of calls of all connections.
    calls: Arc<Semaphore>,
}

impl FlightProtocol {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        columns: &Arc<Columns>,
        tls: Option<TlsAcceptor>,
    ) -> Result<Self, Failure> {
        Ok(Self {
            shared: Arc::clone(shared),
            columns: Arc::clone(columns),
            tls,
            bearer: secret::random_name()?,
            calls: Places::of_all(),
        })
    }

    async fn converse(
        self: Arc<Self>,
        socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        pending: Pending,
    ) {
        let limits = &self.shared.options.limits;
        let (most, grace) = (limits.text_bytes_max, limits.grace);
        let (bearer, activity) = (self.bearer.clone(), pending.activity());
        let connection = FlightConnection::new(&self.shared, &self.columns, bearer, activity);
        let server = FlightServiceServer::new(connection)
            .max_decoding_message_size(most.saturating_add(SLACK));
        let server = TowerToHyperService::new(server);
        let mut ending = self.shared.ending.clone();
        let arrivals = Retention::of_one(&self.shared.arrivals);
        let places = Places::of_one(&self.calls);
        let service = service_fn(move |request: Request<Incoming>| {
            let (protocol, server) = (Arc::clone(&self), server.clone());
            let request = request.map(|body| Arriving::new(body, &arrivals));
            let (pending, places) = (pending.clone(), places.clone());
            // The answer has the statement in its ticket, and the descriptor of the request.
            let repeats_request = request.uri().path().ends_with("/GetFlightInfo");
            let counted = repeats_request.then(|| request.body().counted());
            async move {
                if let Err(status) = protocol.admit(request.headers()) {
                    return Ok::<_, Infallible>(status.into_http());
                }
                pending.admit();
                let place = places.take().await;
                // The client is not waited for meanwhile.
                let running = pending.activity().running();
                pending.activity().may_begin().await;
                drop(running);
                let Ok(response) = server.call(request).await;
                let response = named(response, most);
                Ok(response.map(|body| Body::new(Placed::new(body, place, counted))))
            }
        });
        let socket = TokioIo::new(Piecewise::new(socket));
        let served = builder().serve_connection(socket, service);
        tokio::pin!(served);
        tokio::select! {
            _ = served.as_mut() => return,
            () = ending.wait_for(|ending| *ending).map(drop) => {}
        }
        served.as_mut().graceful_shutdown();
        let _ = tokio::time::timeout(grace, served).await;
    }

    /// Authenticates a request by its password or token.
    fn admit(&self, headers: &HeaderMap) -> Result<(), Status> {
        // Programs do not say it, browsers always do: it is a page that asks.
        if headers.contains_key(ORIGIN) {
            return Err(Status::permission_denied(
                "requests from pages of other origins are rejected",
            ));
        }
        let options = &self.shared.options;
        let (password, token) = (options.password.as_deref(), options.token.as_deref());
        if password.is_none() && token.is_none() {
            return Ok(());
        }
        let given = headers.get(AUTHORIZATION);
        let given = given
            .and_then(|given| given.to_str().ok())
            .unwrap_or_default();
        let (scheme, given) = given.split_once(' ').unwrap_or_default();
        let is_right = if scheme.eq_ignore_ascii_case("bearer") {
            token.is_some_and(|token| secret::is_same(given, token))
                || (password.is_some() && secret::is_same(given, &self.bearer))
        } else if scheme.eq_ignore_ascii_case("basic") {
            let credentials = BASE64.decode(given).ok();
            let credentials = credentials.and_then(|octets| String::from_utf8(octets).ok());
            // Whatever the user is called.
            let credentials = credentials.as_deref().and_then(|text| text.split_once(':'));
            password
                .zip(credentials)
                .is_some_and(|(password, (_, given))| secret::is_same(given, password))
        } else {
            return Err(Status::unauthenticated(match password {
                Some(_) => "a password is required: a handshake with a user and the password",
                None => "the token is missing: authorization: Bearer TOKEN",
            }));
        };
        match is_right {
            true => Ok(()),
            false => Err(Status::unauthenticated("the password or token is wrong")),
        }
    }
}

impl crate::listener::Protocol for FlightProtocol {
    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    async fn serve_connection(self: Arc<Self>, socket: TcpStream, pending: Pending) {
        let _ = socket.set_nodelay(true);
        let Some((socket, watched)) = duplicated(socket) else {
            return;
        };
        let served = async {
            match self.tls.clone() {
                None => self.converse(socket, pending).await,
                Some(tls) => {
                    let accepted = self.shared.handshakes.run(tls.accept(socket));
                    let accepted = tokio::time::timeout(STARTUP_MAX, accepted).await;
                    if let Ok(Ok(socket)) = accepted {
                        self.converse(socket, pending).await;
                    }
                }
            }
        };
        tokio::select! {
            () = served => {}
            () = closed_by_client(&watched) => {}
        }
    }

    async fn refuse_connection(self: Arc<Self>, socket: TcpStream, message: String) {
        let service = service_fn(move |_: Request<Incoming>| {
            let status = Status::resource_exhausted(message.clone());
            async move { Ok::<Response<Body>, Infallible>(status.into_http()) }
        });
        match &self.tls {
            None => {
                let socket = TokioIo::new(Piecewise::new(socket));
                let _ = builder().serve_connection(socket, service).await;
            }
            Some(tls) => {
                if let Ok(socket) = self.shared.handshakes.run(tls.accept(socket)).await {
                    let socket = TokioIo::new(Piecewise::new(socket));
                    let _ = builder().serve_connection(socket, service).await;
                }
            }
        }
    }
}

/// The settings of connections: keep-alives detect clients that are gone, and the number of concurrent requests is limited.
fn builder() -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(KEEP_ALIVE))
        .keep_alive_timeout(STARTUP_MAX)
        .max_concurrent_streams(STREAMS_MAX)
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_send_buf_size(SENT_BYTES_MAX)
        .max_header_list_size(HEADERS_MAX);
    builder
}

/// The response, with the name of the limit where the message of a request was too long, and with a short message of its status.
fn named(response: Response<Body>, most: usize) -> Response<Body> {
    let header = |name| {
        let value = response.headers().get(name);
        value.and_then(|value| value.to_str().ok())
    };
    let is_refused = header("grpc-status") == Some(OUT_OF_RANGE)
        && header("grpc-message").is_some_and(|message| message.contains("length"));
    match is_refused {
        false => status::short(response),
        true => status::too_long(most).into_http(),
    }
}

/// Clients in Go write Base64 without padding, and others with it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);
/// The code of a message that is longer than it may be.
const OUT_OF_RANGE: &str = "11";
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// Calls of one connection at once; others wait.
const STREAMS_MAX: u32 = 32;
/// Bytes of the headers of a request, of which one is a password or a token.
const HEADERS_MAX: u32 = 16 << 10;
/// Bytes of the requests of a connection that have come and are not read yet.
const WINDOW_BYTES: u32 = 256 << 10;
/// Bytes of an answer that its client permits and does not take.
const SENT_BYTES_MAX: usize = 64 << 10;
/// Messages have more in them than text.
const SLACK: usize = 64 << 10;
