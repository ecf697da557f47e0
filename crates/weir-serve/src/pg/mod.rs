//! The PostgreSQL protocol.
//!
//! The messages are pgwire's. The tree of a statement decides (`route`) whether the connection answers it (`setting`), or
//! the engine of the connection (`handler`), whose rows are written by `encode`.

mod client;
mod configured;
mod cursor;
mod encode;
mod error;
mod handler;
mod parameter;
mod prepare;
mod route;
mod setting;
mod startup;

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use futures::{FutureExt, SinkExt, StreamExt};
use pgwire::api::cancel::{CancelHandler, DefaultCancelHandler};
use pgwire::api::{ClientInfo, METADATA_USER, NoopHandler, PgWireConnectionState};
use pgwire::error::{ErrorInfo, PgWireError, PgWireResult};
use pgwire::messages::{PgWireBackendMessage, PgWireFrontendMessage};
use pgwire::tokio::server::{
    MaybeTls, PgWireMessageServerCodec, negotiate_tls, process_error, process_message,
};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_util::codec::{Framed, FramedParts};

use crate::activity::CloseReason;
use crate::ahead::Ahead;
use crate::error::{Failure, FailureKind};
use crate::guard::{Guarded, Lengths};
use crate::hangup::{Hangup, closed_behind, closed_by_client, duplicated};
use crate::listener::{Pending, STARTUP_MAX};
use crate::retained::Retention;
use crate::session::Session;
use crate::shared::Shared;
pub(crate) use encode::type_of;
use handler::PgConnection;
use prepare::Prepared;
use startup::{Startup, Welcome};

type Socket = Framed<Guarded<Ahead<MaybeTls>>, PgWireMessageServerCodec<Prepared>>;

/// What tells that a client has gone while a statement of it runs.
struct Watched {
    /// Another handle of its socket.
    socket: TcpStream,
    /// Another handle of what is read from it.
    ahead: Ahead<MaybeTls>,
}

/// The PostgreSQL protocol.
pub(crate) struct PgProtocol {
    pub(crate) shared: Arc<Shared>,
    pub(crate) tls: Option<TlsAcceptor>,
    welcome: Arc<Welcome>,
}

impl PgProtocol {
    pub(crate) fn new(shared: &Arc<Shared>, tls: Option<TlsAcceptor>) -> Result<Self, Failure> {
        Ok(Self {
            tls,
            welcome: Arc::new(Welcome::new(
                shared.options.password.as_deref(),
                !shared.options.allow_write,
            )),
            shared: Arc::clone(shared),
        })
    }

    /// The handler of CancelRequest, which ends the statements of other connections.
    fn cancels(&self) -> DefaultCancelHandler {
        DefaultCancelHandler::new(Arc::clone(&self.welcome.manager))
    }

    /// Whether clients have to show a password.
    fn asks_password(&self) -> bool {
        self.shared.options.password.is_some()
    }

    /// A connection behind its handshake, and whether what came with that is within the limits.
    async fn opened(&self, socket: TcpStream) -> Option<(Socket, bool)> {
        let negotiated = negotiate_tls::<Prepared>(socket, self.tls.clone());
        let negotiated = self.shared.handshakes.run(negotiated);
        let negotiated = tokio::time::timeout(STARTUP_MAX, negotiated).await;
        let mut parts = negotiated.ok()?.ok()??.into_parts();
        // Bytes that arrived in clear behind the request for TLS must not be taken as if they had come through it (CVE-2021-23214).
        let is_mixed = matches!(parts.io, MaybeTls::Tls(_)) && !parts.read_buf.is_empty();
        if is_mixed {
            parts.read_buf.clear();
        }
        let most = self.shared.options.limits.text_bytes_max;
        let most = most.saturating_add(SLACK);
        let mut lengths = Lengths::new(most);
        lengths.set_awaits_password(self.asks_password());
        let fits = lengths.take(&parts.read_buf);
        let arrivals = Retention::of_one(&self.shared.arrivals);
        // What is read ahead has room for one message of any length.
        let ahead = Ahead::new(parts.io, most, Retention::of_one(&self.shared.ahead));
        let mut guarded = FramedParts::new(Guarded::new(ahead, lengths, arrivals), parts.codec);
        guarded.read_buf = parts.read_buf;
        guarded.write_buf = parts.write_buf;
        let mut socket = Framed::from_parts(guarded);
        if is_mixed {
            let message = "received unencrypted data after the request for TLS";
            let _ = refuse(&mut socket, "08P01", message).await;
            return None;
        }
        Some((socket, fits))
    }

    /// Processes messages until the connection ends.
    async fn converse(
        &self,
        socket: &mut Socket,
        watched: &Watched,
        pending: &Pending,
    ) -> std::io::Result<()> {
        let Ok(session) = Session::new(&self.shared) else {
            return refuse(socket, "XX000", "an engine cannot be created").await;
        };
        let session = session.of_connection(pending.activity());
        let handlers = Handlers {
            connection: Arc::new(PgConnection::new(Arc::new(session))),
            startup: Arc::new(Startup::new(&self.welcome)),
            cancel: Arc::new(self.cancels()),
        };
        let deadline = Instant::now() + STARTUP_MAX;
        let mut is_begun = false;
        let mut turn = Instant::now();
        loop {
            // A client may send messages without end, each of which is processed at once.
            if turn.elapsed() >= TURN {
                tokio::task::yield_now().await;
                turn = Instant::now();
            }
            let deadline = (!is_begun).then_some(deadline);
            let message = match self.next_message(socket, pending, deadline).await {
                Ok(Some(PgWireFrontendMessage::Terminate(_)) | None) => return Ok(()),
                // Clients cancel without TLS and without a password: the key is what they know.
                Ok(Some(PgWireFrontendMessage::CancelRequest(request))) => {
                    handlers.cancel.on_cancel_request(request).await;
                    return Ok(());
                }
                Ok(Some(message)) => message,
                Err((code, message)) => return refuse(socket, code, &message).await,
            };
            if let Some((code, message)) = self.startup_error(socket, &message, is_begun) {
                return refuse(socket, code, &message).await;
            }
            let waits_for_sync = message.is_extended_query();
            let is_invalid = has_texts(&message)
                && socket.get_mut().lengths.next_has_invalid_text()
                // Behind an error, messages are passed over until Sync.
                && !matches!(socket.state(), PgWireConnectionState::AwaitingSync);
            give_back(socket);
            let held = socket.read_buffer().len();
            socket.get_mut().keep(held);
            let processed = match is_invalid {
                true => Some(Err(invalid_text())),
                false => self.process(message, socket, watched, &handlers).await,
            };
            match processed {
                None => return Ok(()),
                Some(Ok(())) => {}
                Some(Err(PgWireError::IoError(error))) => return Err(error),
                Some(Err(error)) => {
                    let info = match error {
                        PgWireError::InvalidPassword(_) => wrong_password(socket),
                        error => error::info_of(error),
                    };
                    let is_fatal = info.is_fatal() || !is_begun;
                    let error = PgWireError::UserError(Box::new(info));
                    process_error(socket, error, waits_for_sync).await?;
                    if is_fatal {
                        return socket.close().await.map_err(std::io::Error::other);
                    }
                }
            }
            give_back(socket);
            pending.activity().touch();
            if !is_begun && matches!(socket.state(), PgWireConnectionState::ReadyForQuery) {
                is_begun = true;
                socket.get_mut().lengths.set_awaits_password(false);
                pending.admit();
            }
        }
    }

    /// Why the connection ends with a message of its startup: the SQLSTATE and the message.
    fn startup_error(
        &self,
        socket: &mut Socket,
        message: &PgWireFrontendMessage,
        is_begun: bool,
    ) -> Option<(&'static str, Cow<'static, str>)> {
        if self.tls.is_some() && !socket.is_secure() {
            return Some(("28000", "this server requires TLS: sslmode=require".into()));
        }
        if !is_begun && self.asks_password() && !is_of_startup(message) {
            return Some(("08P01", "expected a SASL response".into()));
        }
        let PgWireFrontendMessage::Startup(startup) = message else {
            return None;
        };
        let invalid = setting::take_startup(socket, startup).err()?;
        Some((invalid.code, invalid.message.into()))
    }

    /// The next message; `None` when the client is gone, or has not started a session by the deadline.
    ///
    /// # Errors
    /// The SQLSTATE and the message with which the server ends the connection.
    async fn next_message(
        &self,
        socket: &mut Socket,
        pending: &Pending,
        startup_deadline: Option<Instant>,
    ) -> Result<Option<PgWireFrontendMessage>, (&'static str, Cow<'static, str>)> {
        let mut ending = self.shared.ending.clone();
        let startup_is_over = async {
            match startup_deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let message = tokio::select! {
            message = socket.next() => message,
            () = startup_is_over => return Ok(None),
            () = ending.wait_for(|ending| *ending).map(drop) => {
                let (code, message) = match startup_deadline {
                    None => ("57P01", Failure::ENDING),
                    Some(_) => ("57P03", "the database system is shutting down"),
                };
                return Err((code, message.into()));
            }
            reason = pending.activity().closed() => {
                let (code, message) = match reason {
                    CloseReason::ConnectionLimit => ("57P05", IDLE),
                    _ => ("54000", ROWS_WAIT),
                };
                return Err((code, message.into()));
            }
        };
        match message {
            Some(Ok(message)) => Ok(Some(message)),
            Some(Err(PgWireError::IoError(_))) | None => Ok(None),
            Some(Err(error)) => Err(("08P01", format!("invalid message format: {error}").into())),
        }
    }

    /// Processes a message; `None` when the client is gone.
    async fn process(
        &self,
        message: PgWireFrontendMessage,
        socket: &mut Socket,
        watched: &Watched,
        handlers: &Handlers,
    ) -> Option<PgWireResult<()>> {
        use PgWireConnectionState as State;
        let is_of_startup = matches!(
            socket.state(),
            State::AwaitingStartup | State::AuthenticationInProgress
        );
        let processed = process_message(
            message,
            socket,
            Arc::clone(&handlers.startup),
            Arc::clone(&handlers.connection),
            Arc::clone(&handlers.connection),
            Arc::new(NoopHandler),
            Arc::clone(&handlers.cancel),
        );
        let grace = self.shared.options.limits.grace;
        let mut ending = self.shared.ending.clone();
        let over = async {
            let _ = ending.wait_for(|ending| *ending).await;
            tokio::time::sleep(grace).await;
        };
        // A panic of pgwire on a malformed message ends this connection only.
        let processed = AssertUnwindSafe(processed).catch_unwind();
        let processed = processed.map(|done| {
            done.unwrap_or_else(|_| {
                let failure = Failure::new(FailureKind::Run, "invalid message format");
                Err(error::error_response("FATAL", &failure, None))
            })
        });
        let gone = async {
            match is_of_startup {
                // A client without a session has nothing read ahead.
                true => {
                    closed_by_client(&watched.socket).await;
                    Hangup::Closed
                }
                false => closed_behind(&watched.socket, &watched.ahead).await,
            }
        };
        let gone = tokio::select! {
            done = processed => return Some(done),
            gone = gone => gone,
            () = over => return Some(Err(error::error_response(
                "FATAL",
                &Failure::new(FailureKind::Ending, Failure::ENDING),
                None,
            ))),
        };
        if let Hangup::Filled(unread) = gone {
            let octets = unread.saturating_add(watched.ahead.octets() as u64);
            let message = format!(
                "{octets} bytes of messages wait behind a statement that runs: send them when it is over"
            );
            let _ = refuse(socket, "54000", &message).await;
        }
        None
    }
}

/// The handlers of the messages of a connection.
struct Handlers {
    connection: Arc<PgConnection>,
    startup: Arc<Startup>,
    cancel: Arc<DefaultCancelHandler>,
}

impl crate::listener::Protocol for PgProtocol {
    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    async fn serve_connection(self: Arc<Self>, socket: TcpStream, pending: Pending) {
        // Another handle of the same socket tells when the client has gone, while a statement runs.
        let Some((socket, duplicate)) = duplicated(socket) else {
            return;
        };
        let Some((mut socket, fits)) = self.opened(socket).await else {
            return;
        };
        let watched = Watched {
            socket: duplicate,
            ahead: socket.get_ref().inner().handle(),
        };
        if fits {
            let _ = self.converse(&mut socket, &watched, &pending).await;
        }
        if let Some(length) = socket.get_ref().lengths.refused() {
            let most = self.shared.options.limits.text_bytes_max;
            let is_short = socket.get_ref().lengths.is_refused_as_short();
            let (code, message) = match length > most && !is_short {
                true => (
                    "54000",
                    format!("a message of {length} bytes is more than --max-text allows: {most}"),
                ),
                // It is shorter than itself, or longer than a message before the password is.
                false => ("08P01", format!("invalid message length: {length}")),
            };
            let _ = refuse(&mut socket, code, &message).await;
        }
        if let Some(failure) = socket.get_ref().crowded() {
            let (code, message) = (failure.sqlstate(), failure.message.clone());
            let _ = refuse(&mut socket, code, &message).await;
        }
        if socket.get_ref().lengths.is_malformed() {
            let message = "invalid message format: the parts of a message do not have its length";
            let _ = refuse(&mut socket, "08P01", message).await;
        }
    }

    async fn refuse_connection(self: Arc<Self>, socket: TcpStream, message: String) {
        let Some((mut socket, true)) = self.opened(socket).await else {
            return;
        };
        match socket.next().await {
            // The request needs no place, and may free one.
            Some(Ok(PgWireFrontendMessage::CancelRequest(request))) => {
                self.cancels().on_cancel_request(request).await;
            }
            Some(Ok(_)) => drop(refuse(&mut socket, "53300", &message).await),
            _ => {}
        }
    }
}

/// Whether a message is one of a client that shows its password.
const fn is_of_startup(message: &PgWireFrontendMessage) -> bool {
    use PgWireFrontendMessage as Message;
    matches!(
        message,
        Message::Startup(_) | Message::PasswordMessageFamily(_)
    )
}

/// Whether a message is a statement, or is about one.
const fn has_texts(message: &PgWireFrontendMessage) -> bool {
    use PgWireFrontendMessage as Message;
    matches!(
        message,
        Message::Query(_)
            | Message::Parse(_)
            | Message::Bind(_)
            | Message::Close(_)
            | Message::Describe(_)
            | Message::Execute(_)
    )
}

/// The refusal of a password, with the user of the startup message: that of SCRAM is empty.
fn wrong_password(socket: &Socket) -> ErrorInfo {
    let user = socket.metadata().get(METADATA_USER);
    let user = user.map_or("", String::as_str);
    let message = format!("password authentication failed for user \"{user}\"");
    ErrorInfo::new("FATAL".to_owned(), "28P01".to_owned(), message)
}

/// The refusal of a text that is not UTF-8, of which pgwire would replace octets.
fn invalid_text() -> PgWireError {
    let message = "invalid byte sequence for encoding \"UTF8\"";
    error::refusal("22021", message.to_owned())
}

/// Frees the memory of buffers after long messages.
fn give_back(socket: &mut Socket) {
    let held = socket.write_buffer_mut();
    if held.is_empty() && held.capacity() > BUFFER_BYTES {
        *held = BytesMut::new();
    }
    let held = socket.read_buffer_mut();
    if held.is_empty() && held.capacity() > BUFFER_BYTES {
        *held = BytesMut::new();
    }
}

/// Says why a connection ends, and ends it.
async fn refuse(socket: &mut Socket, code: &str, message: &str) -> std::io::Result<()> {
    let mut info = ErrorInfo::new("FATAL".to_owned(), code.to_owned(), message.to_owned());
    info.severity_nonlocalized = Some("FATAL".to_owned());
    let sent = socket.send(PgWireBackendMessage::ErrorResponse(info.into()));
    let sent = tokio::time::timeout(Duration::from_secs(2), sent).await;
    sent.map_err(std::io::Error::other)?
        .map_err(std::io::Error::other)?;
    socket.close().await.map_err(std::io::Error::other)
}

const IDLE: &str =
    "terminating connection: too many connections, and this one has been idle longest";
const ROWS_WAIT: &str = "terminating connection: too many rows wait for their clients, and those of a cursor of this one have waited longest";
/// The time for which a connection processes messages before others have a turn.
const TURN: Duration = Duration::from_millis(5);
/// Bytes of a buffer that a connection keeps while it is idle.
const BUFFER_BYTES: usize = 64 << 10;
/// Messages have more in them than text: names and values of parameters.
const SLACK: usize = 64 << 10;
