//! Authentication: mutual TLS, and a token, which is never sent.
//!
//! Both sides of a connection know each other before the first octet of HTTP/2 ([`crate::tls`]): with a token alone, the
//! certificates of both are made of it ([`crate::identity`]); with certificates of files, a proof of the token follows the handshake
//! ([`crate::proof`]). The version is in the one header that an `Endpoint` has, `user-agent`.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{ORIGIN, USER_AGENT};
use axum::http::{HeaderMap, StatusCode, Version};
use axum::middleware::Next;
use axum::response::Response;
use ballista_core::extension::EndpointOverrideFn;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

use crate::codec::FORMAT;
use crate::dial::{CONNECT, Dial, UNANSWERED};
use crate::error::{Error, chain};
use crate::forward::Forwarder;
use crate::identity::{Keys, Role};
use crate::own;
use crate::peer::Peer;
use crate::proof::WRONG;
use crate::tls::{NO_PROTOCOL, Tls, TlsFiles};

/// The reason why a peer is rejected.
type Refused = (Code, String);

/// The credentials of a cluster, which all of its parts share. There are none by default.
#[derive(Clone, Default)]
pub struct Trust {
    tls: Option<Arc<Tls>>,
    keys: Option<Arc<Keys>>,
    /// Whether the token is too short to withstand guessing over a network.
    is_short: bool,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token must not be logged.
        f.debug_struct("Trust")
            .field("tls", &self.tls.is_some())
            .field("token", &self.keys.is_some())
            .finish()
    }
}

impl Trust {
    /// Credentials of certificates of the same authorities, and of the same token.
    ///
    /// # Errors
    /// When a file is not readable or not PEM, the key does not match the certificate, or the token is short or not printable
    /// ASCII.
    pub fn new(files: Option<&TlsFiles>, token: Option<String>) -> Result<Self, Error> {
        let keys = token.as_deref().map(Keys::of).transpose()?.map(Arc::new);
        let tls = match (files, &keys) {
            (Some(files), keys) => Some(Tls::of_files(files, keys.clone())?),
            (None, Some(keys)) => Some(Tls::of_token(keys)?),
            (None, None) => None,
        };
        Ok(Self {
            tls: tls.map(Arc::new),
            keys,
            is_short: token.is_some_and(|token| token.len() < NETWORK_TOKEN_MIN),
        })
    }

    /// Credentials of a random token, which only the holders of clones have.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn among_clones() -> Result<Self, Error> {
        Self::new(None, Some(Keys::random_token()?))
    }

    /// Credentials of the processes of one user on one machine: the token is in `weir/cluster-token` below `$XDG_CACHE_HOME` or
    /// `~/.cache` (mode 0600), and is created if it is missing.
    ///
    /// # Errors
    /// When there is no cache directory, or the file is accessible to other users.
    pub fn of_user() -> Result<Self, Error> {
        Self::new(None, Some(own::token_below(&own::cache()?)?))
    }

    /// The client token: it permits queries, and neither scheduling nor execution.
    #[must_use]
    pub fn client_token(&self) -> Option<String> {
        self.keys.as_deref().map(Keys::client_token)
    }

    /// Whether peers are authenticated by certificates, or by a token that is long enough for a network.
    pub(crate) fn keeps_strangers_out(&self) -> bool {
        self.tls.is_some() && !(self.is_short && self.has_certificates_of_token())
    }

    /// Whether the certificates are derived from the token.
    pub(crate) fn has_certificates_of_token(&self) -> bool {
        self.tls.as_deref().is_some_and(Tls::is_of_token)
    }

    /// Rejects a client token, which permits neither scheduling nor execution.
    pub(crate) fn check_member(&self) -> Result<(), Error> {
        self.keys
            .as_ref()
            .map_or(Ok(()), |keys| keys.certificates().map(|_| ()))
    }

    /// The TLS of connections, if there is any.
    pub(crate) fn tls(&self) -> Option<&Tls> {
        self.tls.as_deref()
    }

    /// An endpoint of the cluster at this host and port, for [`Self::channel`].
    ///
    /// # Errors
    /// When the text is not a host and a port.
    pub fn endpoint(&self, to: &str) -> Result<Endpoint, Error> {
        let endpoint = Endpoint::from_shared(format!("http://{to}"));
        let endpoint = endpoint.and_then(|endpoint| endpoint.user_agent(agent()));
        endpoint
            .map_err(|error| Error::new(format!("{to} is not a host and port: {}", chain(&error))))
    }

    /// A channel to an endpoint, which connects at the first request.
    #[must_use]
    pub fn channel(&self, endpoint: &Endpoint) -> Channel {
        endpoint.connect_with_connector_lazy(Dial::new(self.tls.clone()))
    }

    /// A channel to an endpoint that is connected.
    ///
    /// # Errors
    /// When the peer cannot be reached, or authentication fails.
    pub(crate) async fn connected(
        &self,
        endpoint: &Endpoint,
    ) -> Result<Channel, tonic::transport::Error> {
        let dial = Dial::new(self.tls.clone());
        endpoint.connect_with_connector(dial).await
    }

    /// Configures the connections that Ballista makes.
    ///
    /// # Errors
    /// When there is no room for private sockets.
    pub(crate) fn endpoints(&self) -> Result<EndpointOverrideFn, Error> {
        self.limited_endpoints(CONNECT, TAKEN)
    }

    /// As [`Self::endpoints`], with a time for connecting and one for the answer to a request. Tasks wait for both where an executor
    /// does not answer, before another executor gets them.
    fn limited_endpoints(
        &self,
        connect: Duration,
        answer: Duration,
    ) -> Result<EndpointOverrideFn, Error> {
        let limited = move |endpoint: Endpoint| endpoint.connect_timeout(connect).timeout(answer);
        if self.tls.is_none() {
            return Ok(Arc::new(move |endpoint| {
                Ok(limited(endpoint.user_agent(agent())?))
            }));
        }
        let folder = std::env::temp_dir();
        let create_in = |parent: &Path| Forwarder::create_in(parent, Dial::new(self.tls.clone()));
        // The name of the user's own directory may be too long for sockets.
        let forwarder = create_in(&folder).or_else(|error| {
            create_in(Path::new("/tmp")).map_err(|_| {
                let folder = folder.display();
                Error::new(format!("no private sockets below {folder}: {error}"))
                    .with_hint("TMPDIR names a writable directory, with a short name")
            })
        })?;
        Ok(Arc::new(move |endpoint| {
            let path = forwarder.socket(endpoint.uri())?;
            let endpoint = Endpoint::from_shared(format!("unix:{}", path.display()))?;
            Ok(limited(calm(endpoint.user_agent(agent())?)))
        }))
    }

    /// The endpoint of [`Self::endpoint`], with keepalive.
    pub(crate) fn calm_endpoint(&self, to: &str) -> Result<Endpoint, Error> {
        self.endpoint(to).map(calm)
    }

    /// A connection to a part of the cluster.
    ///
    /// # Errors
    /// When the peer cannot be reached, or authentication fails.
    pub(crate) async fn connect(&self, to: &str) -> Result<Channel, Error> {
        let channel = self.connected(&self.calm_endpoint(to)?).await;
        channel.map_err(|error| Error::new(self.unconnected(&chain(&error))))
    }

    /// The role of a peer with these headers, whose handshake has shown this role.
    fn admit(&self, headers: &HeaderMap, shown: Option<Role>) -> Result<Role, Refused> {
        let role = match (&self.tls, shown) {
            (None, _) => Role::Member,
            (Some(_), Some(role)) => role,
            (Some(_), None) => {
                let message = "the token is missing: --token-file";
                return Err((Code::Unauthenticated, message.to_owned()));
            }
        };
        let agent = headers
            .get(USER_AGENT)
            .and_then(|agent| agent.to_str().ok());
        let word = |start: &str| {
            let words = agent.into_iter().flat_map(str::split_whitespace);
            words
                .filter_map(move |word| word.strip_prefix(start))
                .next()
        };
        let (version, plans) = (word(PROGRAM), word(PLANS));
        if version != Some(env!("CARGO_PKG_VERSION")) || plans != Some(&FORMAT.to_string()) {
            let message = format!(
                "this is weir {} with plan format {FORMAT}, and the peer is {}: run the same version on all machines",
                env!("CARGO_PKG_VERSION"),
                match (version, plans) {
                    (Some(version), Some(plans)) => {
                        format!(
                            "weir {} with plan format {}",
                            shown_word(version),
                            shown_word(plans)
                        )
                    }
                    _ => "not weir".to_owned(),
                }
            );
            return Err((Code::FailedPrecondition, message));
        }
        Ok(role)
    }

    /// Explains the error of a connection that failed.
    pub(crate) fn unconnected(&self, message: &str) -> String {
        self.explained(message, is_hung_up(message))
    }

    /// Explains the error of a connection that was closed without a response. The text of the error depends on the side that noticed
    /// first, so that it is not matched. A peer that has ended closes no connection: its port refuses new ones.
    pub(crate) fn unanswered(&self, message: &str) -> String {
        self.explained(message, !message.contains("onnection refused"))
    }

    fn explained(&self, message: &str, is_hung_up: bool) -> String {
        let known = match self.has_certificates_of_token() {
            true => [
                (UNANSWERED, SILENT),
                // The peer asks for a proof behind certificates of files.
                (NO_PROTOCOL, WRONG_OR_TLS),
                ("invalid peer certificate", WRONG_OR_TLS),
                (
                    "InvalidContentType",
                    "the peer has no token, and this side has one (--no-token connects without one)",
                ),
                ("alert", WRONG),
            ],
            false => [
                (UNANSWERED, SILENT),
                (
                    NO_PROTOCOL,
                    match self.keys {
                        Some(_) => {
                            "the peer has no token, and this side has one; or it is of another version of weir"
                        }
                        None => "the token is missing: --token-file",
                    },
                ),
                (
                    "invalid peer certificate",
                    "the certificate of the peer is not signed by --tls-ca, or is of another name",
                ),
                (
                    "InvalidContentType",
                    "the peer does not use TLS, and --tls-cert is given",
                ),
                ("alert", "the peer rejects the certificate of --tls-cert"),
            ],
        };
        let why = known.iter().find(|(part, _)| message.contains(part));
        match (why, self.tls.is_some()) {
            (Some((_, why)), true) => format!("{why} ({message})"),
            // A server that waits for a handshake closes the connection.
            (None, true) if is_hung_up && self.has_certificates_of_token() => {
                format!("{WRONG} ({message})")
            }
            (None, true) if is_hung_up => {
                format!(
                    "the peer rejects the certificate of --tls-cert, or does not use TLS ({message})"
                )
            }
            (_, false) if is_hung_up => format!(
                "the peer closes the connection: if it uses TLS, give --tls-cert, --tls-key and --tls-ca ({message})"
            ),
            _ => message.to_owned(),
        }
    }
}

/// The user agent: the version.
fn agent() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("{PROGRAM}{version} {PLANS}{FORMAT}")
}

/// An endpoint with keepalive, which detects a machine that is gone. [`Dial`] limits the time of connecting.
fn calm(endpoint: Endpoint) -> Endpoint {
    endpoint
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE)
        .keep_alive_while_idle(true)
}

/// The middleware that authenticates requests, and checks the role.
pub(crate) async fn admitted(State(trust): State<Trust>, request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<Peer>().cloned();
    let refused = |status: Status| {
        if let Some(peer) = &peer {
            peer.refuse();
        }
        status.into_http()
    };
    // Web pages can send requests to this machine, by HTTP/1.1 or with an Origin.
    if request.version() < Version::HTTP_2 || request.headers().contains_key(ORIGIN) {
        let message = "a cluster accepts requests over HTTP/2 without an Origin only";
        let mut response = refused(Status::permission_denied(message));
        // The status of gRPC is a header. A check of health that asks for a page that is not there looks at that of HTTP.
        if request.version() < Version::HTTP_2 {
            *response.status_mut() = StatusCode::FORBIDDEN;
        }
        return response;
    }
    match trust.admit(request.headers(), peer.as_ref().and_then(Peer::role)) {
        Ok(role) if role == Role::Client && !CLIENT_CALLS.contains(&request.uri().path()) => {
            let message = "a client token permits queries only: scheduling and execution need the token of the cluster";
            refused(Status::permission_denied(message))
        }
        Ok(role) => {
            if let Some(peer) = &peer {
                peer.admit(role);
                peer.count_request();
            }
            next.run(request).await
        }
        Err((code, message)) => refused(Status::new(code, message)),
    }
}

/// Whether the text of an error is that of a peer that closes the connection.
pub(crate) fn is_hung_up(message: &str) -> bool {
    [
        "broken pipe",
        "Broken pipe",
        "reset by peer",
        "connection closed",
        "connection error",
        "http2 error",
        "frame with invalid size",
        "unexpected end of file",
        "eof",
    ]
    .iter()
    .any(|part| message.contains(part))
}

/// A word of the peer, cut for an error message.
fn shown_word(word: &str) -> String {
    word.chars().take(SHOWN_MAX).collect()
}

/// The error message of a failed call to a scheduler.
pub(crate) fn error_message(status: &Status, trust: &Trust) -> String {
    match std::error::Error::source(status) {
        // A status with a source is not from the scheduler, but from the transport.
        Some(source) => trust.unanswered(&format!("{}: {}", status.message(), chain(source))),
        None if status.code() == Code::Unimplemented => NO_SCHEDULER.to_owned(),
        None => trust.unconnected(status.message()),
    }
}

const PROGRAM: &str = "weir/";
const NO_SCHEDULER: &str =
    "it is not a scheduler: an executor, or another program, listens at this address";
const PLANS: &str = "plans/";
const SILENT: &str = "the peer does not answer: it is stopped or overloaded, or does not use TLS";
const WRONG_OR_TLS: &str = "the token is wrong: it is not that of --token-file of the peer, or of the user who started it; if it uses \
                            TLS, give --tls-cert, --tls-key and --tls-ca";
/// The minimum length of a token on a network: the certificate of a server permits offline guessing.
const NETWORK_TOKEN_MIN: usize = 32;
/// The calls that a client token permits.
const CLIENT_CALLS: [&str; 7] = [
    "/ballista.protobuf.SchedulerGrpc/ExecuteQuery",
    "/ballista.protobuf.SchedulerGrpc/GetJobStatus",
    "/ballista.protobuf.SchedulerGrpc/GetJobMetrics",
    "/ballista.protobuf.SchedulerGrpc/CancelJob",
    "/ballista.protobuf.SchedulerGrpc/CleanJobData",
    "/ballista.protobuf.SchedulerGrpc/RemoveSession",
    "/arrow.flight.protocol.FlightService/DoGet",
];
const SHOWN_MAX: usize = 40;
/// The time within which an executor answers that it takes tasks.
const TAKEN: Duration = Duration::from_secs(10);
const KEEP_ALIVE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use ballista_core::serde::protobuf::LaunchMultiTaskParams;
    use ballista_core::serde::protobuf::executor_grpc_client::ExecutorGrpcClient;

    use super::*;

    fn headers(agent: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, agent.parse().unwrap());
        headers
    }

    fn with(token: &str) -> Trust {
        Trust::new(None, Some(token.to_owned())).unwrap()
    }

    #[test]
    fn a_token_is_required_and_never_shown() {
        let trust = with("0123456789abcdef");
        let known = headers(&agent());
        for role in [Role::Member, Role::Client] {
            assert_eq!(trust.admit(&known, Some(role)), Ok(role));
        }
        let (_, refused) = trust.admit(&known, None).unwrap_err();
        assert!(refused.contains("is missing"), "{refused}");
        assert!(!refused.contains("0123456789"), "{refused}");
        assert!(!format!("{trust:?}").contains("0123456789"));
        assert!(!agent().contains("0123456789"));
    }

    /// An executor that accepts connections and answers nothing held its tasks for 20 seconds.
    #[test]
    fn an_executor_without_an_answer_is_given_up() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = silent.local_addr().unwrap();
            for trust in [Trust::default(), with("0123456789abcdef")] {
                let limited = trust
                    .limited_endpoints(Duration::from_secs(600), Duration::from_millis(20))
                    .unwrap();
                let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
                let endpoint = limited(endpoint).unwrap();
                let mut executor = ExecutorGrpcClient::new(endpoint.connect_lazy());
                let tasks = LaunchMultiTaskParams::default();
                let refused = executor.launch_multi_task(tasks).await.unwrap_err();
                let message = chain(&refused);
                assert!(message.contains("imeout expired"), "{message}");
            }
        });
    }

    #[test]
    fn a_short_token_is_for_one_machine() {
        assert!(!with("0123456789abcdef").keeps_strangers_out());
        assert!(with("0123456789abcdef0123456789abcdef").keeps_strangers_out());
        assert!(!Trust::default().keeps_strangers_out());
    }

    #[test]
    fn a_client_token_is_not_that_of_a_member() {
        let trust = with("0123456789abcdef");
        let client = with(&trust.client_token().unwrap());
        assert!(trust.check_member().is_ok());
        let refused = client.check_member().unwrap_err().to_string();
        assert!(refused.contains("that of a client"), "{refused}");
    }

    #[test]
    fn another_version_is_rejected_with_one_sentence() {
        let trust = Trust::default();
        assert!(trust.admit(&headers(&agent()), None).is_ok());
        for other in ["weir/9.9.9 plans/1", "tonic/0.14", ""] {
            let (_, message) = trust.admit(&headers(other), None).unwrap_err();
            assert!(
                message.contains("run the same version on all machines"),
                "{message}"
            );
            assert!(!message.contains('\n'), "{message}");
        }
    }

    #[test]
    fn a_closed_connection_is_explained_whichever_side_noticed() {
        let trust = Trust::default();
        for expected in [
            "operation was canceled: connection was not ready",
            "stream closed because of a broken pipe",
            "transport error",
        ] {
            let reported = trust.unanswered(expected);
            assert!(
                reported.contains("if it uses TLS, give --tls-cert"),
                "{reported}"
            );
            assert!(reported.contains(expected), "{reported}");
        }
        let refused = "tcp connect error: Connection refused (os error 111)";
        assert_eq!(trust.unconnected(refused), refused);
        // The token was said to be wrong where the scheduler had ended.
        for trust in [trust, with("0123456789abcdef")] {
            assert_eq!(trust.unanswered(refused), refused);
        }
    }

    /// The token was said to be wrong where an executor stood still.
    #[test]
    fn a_peer_that_does_not_answer_is_no_wrong_token() {
        let reported = with("0123456789abcdef").unconnected(UNANSWERED);
        assert_eq!(reported, format!("{SILENT} ({UNANSWERED})"));
        assert!(is_hung_up(UNANSWERED));
    }

    /// A client that was given the address of an executor had an error without a reason.
    #[test]
    fn a_server_without_the_calls_of_a_scheduler_is_not_one() {
        let trust = Trust::default();
        let message = error_message(&Status::unimplemented(""), &trust);
        assert!(message.contains("it is not a scheduler"), "{message}");
        let message = error_message(&Status::permission_denied("the reason"), &trust);
        assert_eq!(message, "the reason");
    }

    #[test]
    fn short_and_unprintable_tokens_are_rejected() {
        for token in ["", "short", "0123456789 abcdef", "0123456789abcdef\u{e9}"] {
            assert!(Trust::new(None, Some(token.to_owned())).is_err(), "{token}");
        }
    }
}
