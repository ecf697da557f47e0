//! Who may come in: certificates that both sides show, and a token.
//!
//! Ballista makes its own connections, and lets nobody add a header to what it asks: only what a connection is made of can be
//! set (`Endpoint`). So the version and the token go in the one header that belongs to a connection, `user-agent`.

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
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, Server, ServerTlsConfig};
use tonic::{Code, Status};

use crate::codec::FORMAT;
use crate::error::Error;

/// The files of mutual TLS, in PEM.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate that is shown to the other side.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The certificates that sign those of the other side.
    pub authorities: PathBuf,
}

/// Why somebody may not come in.
type Refused = (Code, String);

/// How the parts of a cluster know each other: all of them have the same. None by default.
#[derive(Clone, Default)]
pub struct Trust {
    tls: Option<Tls>,
    token: Option<Arc<str>>,
}

#[derive(Clone)]
struct Tls {
    server: ServerTlsConfig,
    client: ClientTlsConfig,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A token is no text for logs.
        f.debug_struct("Trust")
            .field("tls", &self.tls.is_some())
            .field("token", &self.token.is_some())
            .finish()
    }
}

impl Trust {
    /// Those know each other who have certificates of the same authorities, and the same token.
    ///
    /// # Errors
    /// When a file cannot be read or is no PEM, a key is not that of its certificate, or a token is short or has other
    /// characters than printable ones of ASCII.
    pub fn new(files: Option<&TlsFiles>, token: Option<String>) -> Result<Self, Error> {
        let tls = files.map(Tls::read).transpose()?;
        if let Some(token) = &token {
            if token.len() < TOKEN_MIN {
                return Err(Error::new(format!(
                    "the token has {} characters: {TOKEN_MIN} or more are not guessed",
                    token.len()
                ))
                .with_hint("openssl rand -hex 32 makes one"));
            }
            if !token.bytes().all(|byte| byte.is_ascii_graphic()) || token.len() > TOKEN_MAX {
                return Err(Error::new(
                    "the token has other characters than printable ones of ASCII, or is very long",
                )
                .with_hint("openssl rand -hex 32 makes one"));
            }
        }
        Ok(Self {
            tls,
            token: token.map(Arc::from),
        })
    }

    /// Whether strangers are kept out by certificates.
    pub(crate) const fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// A server that speaks TLS where it was asked for.
    pub(crate) fn server(&self, server: Server) -> Result<Server, Error> {
        match &self.tls {
            Some(tls) => server
                .tls_config(tls.server.clone())
                .map_err(|error| Error::new(format!("TLS: {}", chain(&error)))),
            None => Ok(server),
        }
    }

    /// Where a connection goes that is made by ourselves.
    pub(crate) fn endpoint(&self, to: &str) -> Result<Endpoint, Error> {
        let failed = |error: &dyn std::error::Error| {
            Error::new(format!("{to} is no host and port: {}", chain(error)))
        };
        let plain =
            Endpoint::from_shared(format!("http://{to}")).map_err(|error| failed(&error))?;
        self.changed(plain).map_err(|error| failed(&error))
    }

    /// What becomes of a connection that Ballista makes.
    pub(crate) fn endpoints(&self) -> EndpointOverrideFn {
        let trust = self.clone();
        Arc::new(move |endpoint| Ok(trust.changed(endpoint)?))
    }

    /// As [`Self::endpoint`], of a connection that lasts.
    pub(crate) fn calm_endpoint(&self, to: &str) -> Result<Endpoint, Error> {
        Ok(self
            .endpoint(to)?
            .connect_timeout(CONNECT)
            .tcp_nodelay(true)
            // A machine that has gone says nothing.
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE)
            .keep_alive_while_idle(true))
    }

    fn changed(&self, endpoint: Endpoint) -> Result<Endpoint, tonic::transport::Error> {
        let endpoint = match &self.tls {
            // What an endpoint goes to cannot be changed, so that another takes its place. What was set of the first is
            // set of all alike.
            Some(tls) => {
                let host = endpoint.uri().authority().map(ToString::to_string);
                Endpoint::from_shared(format!("https://{}", host.unwrap_or_default()))?
                    .tls_config(tls.client.clone())?
                    .connect_timeout(CONNECT)
                    .tcp_nodelay(true)
                    // A machine that has gone says nothing.
                    .http2_keep_alive_interval(KEEP_ALIVE)
                    .keep_alive_timeout(KEEP_ALIVE)
                    .keep_alive_while_idle(true)
            }
            None => endpoint,
        };
        endpoint.user_agent(self.agent())
    }

    /// Who asks, with the token.
    fn agent(&self) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let mut agent = format!("{PROGRAM}{version} {PLANS}{FORMAT}");
        if let Some(token) = &self.token {
            agent.push(' ');
            agent.push_str(TOKEN);
            agent.push_str(token);
        }
        agent
    }

    /// Whether somebody who says this of himself may come in.
    fn admit(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let agent = headers
            .get(USER_AGENT)
            .and_then(|agent| agent.to_str().ok());
        let word = |start: &str| {
            let words = agent.into_iter().flat_map(str::split_whitespace);
            words
                .filter_map(move |word| word.strip_prefix(start))
                .next()
        };
        if let Some(token) = &self.token
            && !is_same(word(TOKEN).unwrap_or_default(), token)
        {
            let said = match word(TOKEN) {
                None => "the token is missing: --token-file",
                Some(_) => "the token is wrong: it is not that of --token-file there",
            };
            return Err((Code::Unauthenticated, said.to_owned()));
        }
        let (version, plans) = (word(PROGRAM), word(PLANS));
        if version != Some(env!("CARGO_PKG_VERSION")) || plans != Some(&FORMAT.to_string()) {
            let said = format!(
                "this is weir {} with plans of format {FORMAT}, and who asks is {}: run the same version on all machines",
                env!("CARGO_PKG_VERSION"),
                match (version, plans) {
                    (Some(version), Some(plans)) => {
                        format!(
                            "weir {} with plans of format {}",
                            shown(version),
                            shown(plans)
                        )
                    }
                    _ => "no weir".to_owned(),
                }
            );
            return Err((Code::FailedPrecondition, said));
        }
        Ok(())
    }

    /// What is to be said of a peer that no connection could be made to.
    pub(crate) fn unconnected(&self, said: &str) -> String {
        self.explained(said, is_hung_up(said))
    }

    /// What is to be said of a peer that took a connection, and ended it before it said anything. How that is told hangs on
    /// who noticed first, so that it is not looked for in the words.
    pub(crate) fn unanswered(&self, said: &str) -> String {
        self.explained(said, true)
    }

    fn explained(&self, said: &str, is_hung_up: bool) -> String {
        let known = [
            (
                "invalid peer certificate",
                "its certificate is not one that --tls-ca signed, or is of another name",
            ),
            (
                "InvalidContentType",
                "it does not speak TLS, and --tls-cert was given",
            ),
            ("alert", "it does not take the certificate of --tls-cert"),
        ];
        let why = known.iter().find(|(part, _)| said.contains(part));
        match (why, self.has_tls()) {
            (Some((_, why)), true) => format!("{why} ({said})"),
            // A server that waits for a handshake hangs up.
            (None, true) if is_hung_up => {
                format!(
                    "it does not take the certificate of --tls-cert, or does not speak TLS ({said})"
                )
            }
            (_, false) if is_hung_up => format!(
                "it hangs up: if it speaks TLS, give --tls-cert, --tls-key and --tls-ca ({said})"
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
        let identity = Identity::from_pem(certificate, key);
        let tls = Self {
            server: ServerTlsConfig::new()
                .identity(identity.clone())
                .client_ca_root(authorities.clone())
                .timeout(CONNECT),
            client: ClientTlsConfig::new()
                .identity(identity)
                .ca_certificate(authorities)
                .timeout(CONNECT),
        };
        // Files that do not go together are told of now, and not to who connects.
        let failed = |error: tonic::transport::Error| {
            let (certificate, key) = (files.certificate.display(), files.key.display());
            Error::new(format!("{certificate}, {key}: {}", chain(&error)))
        };
        Server::builder()
            .tls_config(tls.server.clone())
            .map_err(failed)?;
        Endpoint::from_static("https://localhost")
            .tls_config(tls.client.clone())
            .map_err(failed)?;
        Ok(tls)
    }
}

/// Lets those in who may come in.
pub(crate) async fn admitted(State(trust): State<Trust>, request: Request, next: Next) -> Response {
    // Pages of the web can ask what they like of this machine, and say so.
    if request.version() < Version::HTTP_2 || request.headers().contains_key(ORIGIN) {
        let said = "a cluster is asked by programs, over HTTP/2";
        return Status::permission_denied(said).into_http();
    }
    match trust.admit(request.headers()) {
        Ok(()) => next.run(request).await,
        Err((code, said)) => Status::new(code, said).into_http(),
    }
}

/// Whether a secret is the right one. It takes as long for a wrong one as for the right one.
pub(crate) fn is_same(given: &str, right: &str) -> bool {
    let differs = given
        .bytes()
        .zip(right.bytes())
        .fold(0, |differs, (one, other)| differs | (one ^ other));
    given.len() == right.len() && std::hint::black_box(differs) == 0
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

/// What others say of themselves, for a message.
fn shown(word: &str) -> String {
    word.chars().take(SHOWN_MAX).collect()
}

/// What an error says, with what it comes from.
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
const TOKEN: &str = "token/";
const TOKEN_MIN: usize = 16;
const TOKEN_MAX: usize = 1024;
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

    #[test]
    fn a_token_lets_in_who_has_it_and_is_never_shown() {
        let trust = with("0123456789abcdef");
        assert!(trust.admit(&agent(&trust.agent())).is_ok());
        for (other, said) in [
            (with("0123456789abcdeF").agent(), "is wrong"),
            (with("0123456789abcdef0").agent(), "is wrong"),
            (Trust::default().agent(), "is missing"),
            ("curl/8".to_owned(), "is missing"),
        ] {
            let (_, refused) = trust.admit(&agent(&other)).unwrap_err();
            assert!(refused.contains(said), "{other}: {refused}");
            assert!(!refused.contains("0123456789"), "{refused}");
        }
        assert!(!format!("{trust:?}").contains("0123456789"));
        assert!(trust.admit(&HeaderMap::new()).is_err());
    }

    #[test]
    fn another_version_is_refused_with_one_sentence() {
        let trust = Trust::default();
        assert!(trust.admit(&agent(&trust.agent())).is_ok());
        for other in ["weir/9.9.9 plans/1", "tonic/0.14", ""] {
            let (_, said) = trust.admit(&agent(other)).unwrap_err();
            assert!(
                said.contains("run the same version on all machines"),
                "{said}"
            );
            assert!(!said.contains('\n'), "{said}");
        }
    }

    #[test]
    fn who_ends_a_connection_without_a_word_is_told_of_whatever_noticed_it() {
        let trust = Trust::default();
        for said in [
            "operation was canceled: connection was not ready",
            "stream closed because of a broken pipe",
            "transport error",
        ] {
            let told = trust.unanswered(said);
            assert!(told.contains("if it speaks TLS, give --tls-cert"), "{told}");
            assert!(told.contains(said), "{told}");
        }
        let refused = "tcp connect error: Connection refused (os error 111)";
        assert_eq!(trust.unconnected(refused), refused);
    }

    #[test]
    fn a_token_that_is_guessed_or_no_header_is_refused() {
        for token in ["", "short", "0123456789 abcdef", "0123456789abcdef\u{e9}"] {
            assert!(Trust::new(None, Some(token.to_owned())).is_err(), "{token}");
        }
    }
}
