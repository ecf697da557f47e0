//! Authentication: mutual TLS, and a token, which is never sent.
//!
//! Ballista makes connections itself, and has no hook for request headers: only the `Endpoint` of a connection can be configured. So
//! the token authenticates the connection: the certificates of both sides are derived from it ([`crate::identity`]). With
//! certificates of files, a proof that is bound to the own certificate is sent in the one header that an `Endpoint` has,
//! `user-agent`, next to the version.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{ORIGIN, USER_AGENT};
use axum::http::{HeaderMap, Version};
use axum::middleware::Next;
use axum::response::Response;
use ballista_core::extension::EndpointOverrideFn;
use tonic::transport::server::TlsConnectInfo;
use tonic::transport::{
    Certificate, CertificateDer, Channel, ClientTlsConfig, Endpoint, Identity, Server,
    ServerTlsConfig,
};
use tonic::{Code, Status};

use crate::codec::FORMAT;
use crate::error::Error;
use crate::identity::{Keys, Role, SERVER_NAME, first_of_pem};
use crate::own;
use crate::silence::Peer;

/// The files of mutual TLS, in PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The own certificate.
    pub certificate: PathBuf,
    /// The private key of the certificate.
    pub key: PathBuf,
    /// The certificates of the authorities that sign those of peers.
    pub authorities: PathBuf,
}

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

struct Tls {
    /// `None` for a client.
    server: Option<ServerTlsConfig>,
    client: ClientTlsConfig,
    shown: Shown,
}

/// The origin of the certificates.
enum Shown {
    /// The certificates are of files; this is the own one.
    OfFiles(Vec<u8>),
    /// The certificates are derived from the token; these are those of both roles.
    OfToken(Vec<(Role, Vec<u8>)>),
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
            (Some(files), _) => Some(Tls::read(files)?),
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
        self.tls
            .as_deref()
            .is_some_and(|tls| matches!(tls.shown, Shown::OfToken(_)))
    }

    /// Rejects a client token, which permits neither scheduling nor execution.
    pub(crate) fn check_member(&self) -> Result<(), Error> {
        self.keys
            .as_ref()
            .map_or(Ok(()), |keys| keys.certificates().map(|_| ()))
    }

    /// Configures the TLS of a server, if there is any.
    pub(crate) fn server(&self, server: Server) -> Result<Server, Error> {
        match &self.tls {
            Some(tls) => {
                self.check_member()?;
                let config = tls.server.clone().unwrap_or_default();
                server
                    .tls_config(config)
                    .map_err(|error| Error::new(format!("TLS: {}", chain(&error))))
            }
            None => Ok(server),
        }
    }

    /// An endpoint of the cluster at this host and port.
    ///
    /// # Errors
    /// When the text is not a host and a port.
    pub fn endpoint(&self, to: &str) -> Result<Endpoint, Error> {
        let failed = |error: &dyn std::error::Error| {
            Error::new(format!("{to} is not a host and port: {}", chain(error)))
        };
        let plain =
            Endpoint::from_shared(format!("http://{to}")).map_err(|error| failed(&error))?;
        self.changed(plain).map_err(|error| failed(&error))
    }

    /// Configures the connections that Ballista makes.
    pub(crate) fn endpoints(&self) -> EndpointOverrideFn {
        let trust = self.clone();
        Arc::new(move |endpoint| Ok(trust.changed(endpoint)?))
    }

    /// As [`Self::endpoint`], with timeouts and keepalive.
    pub(crate) fn calm_endpoint(&self, to: &str) -> Result<Endpoint, Error> {
        Ok(self
            .endpoint(to)?
            .connect_timeout(CONNECT)
            .tcp_nodelay(true)
            // Keepalive detects a machine that is gone.
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE)
            .keep_alive_while_idle(true))
    }

    /// A connection to a part of the cluster.
    ///
    /// # Errors
    /// When the peer cannot be reached, or authentication fails.
    pub(crate) async fn connect(&self, to: &str) -> Result<Channel, Error> {
        let channel = self.calm_endpoint(to)?.connect().await;
        channel.map_err(|error| Error::new(self.unconnected(&chain(&error))))
    }

    fn changed(&self, endpoint: Endpoint) -> Result<Endpoint, tonic::transport::Error> {
        let endpoint = match self.tls.as_deref() {
            // The URI of an endpoint cannot be changed, so that it is replaced. Its other options are the same for all
            // endpoints.
            Some(tls) => {
                let host = endpoint.uri().authority().map(ToString::to_string);
                Endpoint::from_shared(format!("https://{}", host.unwrap_or_default()))?
                    .tls_config(tls.client.clone())?
                    .connect_timeout(CONNECT)
                    .tcp_nodelay(true)
                    // Keepalive detects a machine that is gone.
                    .http2_keep_alive_interval(KEEP_ALIVE)
                    .keep_alive_timeout(KEEP_ALIVE)
                    .keep_alive_while_idle(true)
            }
            None => endpoint,
        };
        endpoint.user_agent(self.agent())
    }

    /// The user agent: the version, and a proof of the token where the certificate is not derived from it.
    fn agent(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let mut agent = format!("{PROGRAM}{version} {PLANS}{FORMAT}");
        if let (Some(keys), Some(tls)) = (&self.keys, &self.tls)
            && let Shown::OfFiles(own) = &tls.shown
        {
            agent.push(' ');
            agent.push_str(PROOF);
            agent.push_str(&keys.proof(own));
        }
        agent
    }

    /// The role of a peer with these headers and this certificate.
    fn admit(
        &self,
        headers: &HeaderMap,
        certificate: Option<&CertificateDer<'_>>,
    ) -> Result<Role, Refused> {
        let agent = headers
            .get(USER_AGENT)
            .and_then(|agent| agent.to_str().ok());
        let word = |start: &str| {
            let words = agent.into_iter().flat_map(str::split_whitespace);
            words
                .filter_map(move |word| word.strip_prefix(start))
                .next()
        };
        let role = self.role(certificate, word(PROOF))?;
        let (version, plans) = (word(PROGRAM), word(PLANS));
        if version != Some(env!("CARGO_PKG_VERSION")) || plans != Some(&FORMAT.to_string()) {
            let said = format!(
                "this is weir {} with plan format {FORMAT}, and the peer is {}: run the same version on all machines",
                env!("CARGO_PKG_VERSION"),
                match (version, plans) {
                    (Some(version), Some(plans)) => {
                        format!("weir {} with plan format {}", shown(version), shown(plans))
                    }
                    _ => "not weir".to_owned(),
                }
            );
            return Err((Code::FailedPrecondition, said));
        }
        Ok(role)
    }

    /// The role of a peer with this certificate and this proof.
    fn role(
        &self,
        certificate: Option<&CertificateDer<'_>>,
        proof: Option<&str>,
    ) -> Result<Role, Refused> {
        let refused = |said: &str| Err((Code::Unauthenticated, said.to_owned()));
        let (Some(tls), Some(keys)) = (&self.tls, &self.keys) else {
            return Ok(Role::Member);
        };
        let role = match (&tls.shown, certificate, proof) {
            (Shown::OfToken(_), None, _) | (Shown::OfFiles(_), _, None) => {
                return refused("the token is missing: --token-file");
            }
            (Shown::OfToken(admitted), Some(certificate), _) => {
                let known = admitted.iter().find(|(_, known)| known == &**certificate);
                known.map(|(role, _)| *role)
            }
            (Shown::OfFiles(_), certificate, Some(proof)) => {
                keys.proven(proof, certificate.map_or(&[], |of| of.as_ref()))
            }
        };
        match role {
            Some(role) => Ok(role),
            None => refused(WRONG),
        }
    }

    /// Explains the error of a connection that failed.
    pub(crate) fn unconnected(&self, said: &str) -> String {
        self.explained(said, is_hung_up(said))
    }

    /// Explains the error of a connection that was closed without a response. The text of the error depends on the side that noticed
    /// first, so that it is not matched.
    pub(crate) fn unanswered(&self, said: &str) -> String {
        self.explained(said, true)
    }

    fn explained(&self, said: &str, is_hung_up: bool) -> String {
        let known = match self.has_certificates_of_token() {
            true => [
                ("invalid peer certificate", WRONG_OR_TLS),
                (
                    "InvalidContentType",
                    "the peer has no token, and this side has one (--no-token connects without one)",
                ),
                ("alert", WRONG),
            ],
            false => [
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
        let why = known.iter().find(|(part, _)| said.contains(part));
        match (why, self.tls.is_some()) {
            (Some((_, why)), true) => format!("{why} ({said})"),
            // A server that waits for a handshake closes the connection.
            (None, true) if is_hung_up && self.has_certificates_of_token() => {
                format!("{WRONG} ({said})")
            }
            (None, true) if is_hung_up => {
                format!(
                    "the peer rejects the certificate of --tls-cert, or does not use TLS ({said})"
                )
            }
            (_, false) if is_hung_up => format!(
                "the peer closes the connection: if it uses TLS, give --tls-cert, --tls-key and --tls-ca ({said})"
            ),
            _ => said.to_owned(),
        }
    }
}

impl Tls {
    fn read(files: &TlsFiles) -> Result<Self, Error> {
        let read = |path: &Path, label: &str| {
            let shown = path.display();
            let bytes = fs::read(path).map_err(|error| Error::new(format!("{shown}: {error}")))?;
            let text = String::from_utf8_lossy(&bytes);
            match text.contains("-----BEGIN ") && text.contains(label) {
                true => Ok(bytes),
                false => Err(
                    Error::new(format!("{shown} has no {}", label.to_lowercase()))
                        .with_hint(format!("it is a PEM file: BEGIN {label}")),
                ),
            }
        };
        let certificate = read(&files.certificate, "CERTIFICATE")?;
        let key = read(&files.key, "PRIVATE KEY")?;
        let authorities = Certificate::from_pem(read(&files.authorities, "CERTIFICATE")?);
        let own = first_of_pem(&certificate).unwrap_or_default();
        let identity = Identity::from_pem(certificate, key);
        let server = ServerTlsConfig::new()
            .identity(identity.clone())
            .client_ca_root(authorities.clone())
            .timeout(CONNECT);
        let client = ClientTlsConfig::new()
            .identity(identity)
            .ca_certificate(authorities)
            .timeout(CONNECT);
        // A key that does not match the certificate is an error now, and not at the first connection.
        let failed = |error: tonic::transport::Error| {
            let (certificate, key) = (files.certificate.display(), files.key.display());
            Error::new(format!("{certificate}, {key}: {}", chain(&error)))
        };
        Server::builder()
            .tls_config(server.clone())
            .map_err(failed)?;
        Endpoint::from_static("https://localhost")
            .tls_config(client.clone())
            .map_err(failed)?;
        Ok(Self {
            server: Some(server),
            client,
            shown: Shown::OfFiles(own),
        })
    }

    fn of_token(keys: &Keys) -> Result<Self, Error> {
        let client = ClientTlsConfig::new()
            .identity(keys.identity()?)
            .ca_certificate(keys.authority()?)
            .domain_name(SERVER_NAME)
            .timeout(CONNECT);
        let (server, admitted) = match keys.role() {
            Role::Client => (None, Vec::new()),
            Role::Member => {
                let server = ServerTlsConfig::new()
                    .identity(keys.identity()?)
                    .client_ca_root(keys.authorities()?)
                    .timeout(CONNECT);
                (Some(server), keys.certificates()?.into())
            }
        };
        Ok(Self {
            server,
            client,
            shown: Shown::OfToken(admitted),
        })
    }
}

/// The middleware that authenticates requests, and checks the role.
pub(crate) async fn admitted(State(trust): State<Trust>, request: Request, next: Next) -> Response {
    // Web pages can send requests to this machine, by HTTP/1.1 or with an Origin.
    if request.version() < Version::HTTP_2 || request.headers().contains_key(ORIGIN) {
        let said = "a cluster accepts requests over HTTP/2 without an Origin only";
        return Status::permission_denied(said).into_http();
    }
    let of_tls = request.extensions().get::<TlsConnectInfo<Peer>>();
    let certificates = of_tls.and_then(TlsConnectInfo::peer_certs);
    let certificate = certificates.as_ref().and_then(|all| all.first());
    match trust.admit(request.headers(), certificate) {
        Ok(role) if role == Role::Client && !CLIENT_CALLS.contains(&request.uri().path()) => {
            let said = "a client token permits queries only: scheduling and execution need the token of the cluster";
            Status::permission_denied(said).into_http()
        }
        Ok(_) => {
            let of_plain = request.extensions().get::<Peer>();
            if let Some(peer) = of_tls.map(TlsConnectInfo::get_ref).or(of_plain) {
                peer.admit();
            }
            next.run(request).await
        }
        Err((code, said)) => Status::new(code, said).into_http(),
    }
}

fn is_hung_up(said: &str) -> bool {
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
    .any(|part| said.contains(part))
}

/// A word of the peer, cut for an error message.
fn shown(word: &str) -> String {
    word.chars().take(SHOWN_MAX).collect()
}

/// The message of an error with its sources.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_said = cause.to_string();
        if !said.contains(&cause_said) {
            said = format!("{said}: {cause_said}");
        }
        source = cause.source();
    }
    said
}

const PROGRAM: &str = "weir/";
const PLANS: &str = "plans/";
const PROOF: &str = "proof/";
const WRONG: &str =
    "the token is wrong: it is not that of --token-file of the peer, or of the user who started it";
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
pub(crate) const CONNECT: Duration = Duration::from_secs(5);
pub(crate) const KEEP_ALIVE: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(agent: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, agent.parse().unwrap());
        headers
    }

    fn with(token: &str) -> Trust {
        Trust::new(None, Some(token.to_owned())).unwrap()
    }

    /// The certificate of a member.
    fn certificate(of: &Trust) -> CertificateDer<'static> {
        let keys = of.keys.as_ref().unwrap();
        let [(_, member), _] = keys.certificates().unwrap();
        CertificateDer::from(member)
    }

    #[test]
    fn a_token_authenticates_and_is_never_shown() {
        let trust = with("0123456789abcdef");
        let known = agent(&trust.agent());
        let admitted = trust.admit(&known, Some(&certificate(&trust)));
        assert_eq!(admitted, Ok(Role::Member));
        let [_, (_, of_client)] = trust.keys.as_ref().unwrap().certificates().unwrap();
        let admitted = trust.admit(&known, Some(&CertificateDer::from(of_client)));
        assert_eq!(admitted, Ok(Role::Client));
        for (other, said) in [
            (Some(certificate(&with("0123456789abcdeF"))), "is wrong"),
            (Some(certificate(&with("0123456789abcdef0"))), "is wrong"),
            (None, "is missing"),
        ] {
            let (_, refused) = trust.admit(&known, other.as_ref()).unwrap_err();
            assert!(refused.contains(said), "{other:?}: {refused}");
            assert!(!refused.contains("0123456789"), "{refused}");
        }
        assert!(!format!("{trust:?}").contains("0123456789"));
        assert!(!trust.agent().contains("0123456789"));
        assert!(trust.admit(&HeaderMap::new(), None).is_err());
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
        assert!(client.server(Server::builder()).is_err());
    }

    #[test]
    fn another_version_is_rejected_with_one_sentence() {
        let trust = Trust::default();
        assert!(trust.admit(&agent(&trust.agent()), None).is_ok());
        for other in ["weir/9.9.9 plans/1", "tonic/0.14", ""] {
            let (_, said) = trust.admit(&agent(other), None).unwrap_err();
            assert!(
                said.contains("run the same version on all machines"),
                "{said}"
            );
            assert!(!said.contains('\n'), "{said}");
        }
    }

    #[test]
    fn a_closed_connection_is_explained_whichever_side_noticed() {
        let trust = Trust::default();
        for said in [
            "operation was canceled: connection was not ready",
            "stream closed because of a broken pipe",
            "transport error",
        ] {
            let told = trust.unanswered(said);
            assert!(told.contains("if it uses TLS, give --tls-cert"), "{told}");
            assert!(told.contains(said), "{told}");
        }
        let refused = "tcp connect error: Connection refused (os error 111)";
        assert_eq!(trust.unconnected(refused), refused);
    }

    #[test]
    fn short_and_unprintable_tokens_are_rejected() {
        for token in ["", "short", "0123456789 abcdef", "0123456789abcdef\u{e9}"] {
            assert!(Trust::new(None, Some(token.to_owned())).is_err(), "{token}");
        }
    }
}
