//! HTTP: questions in JSON, answers in what they are wanted in, and the page.

mod arriving;
mod json;
mod json_rows;
mod lists;
mod page;
mod query;
mod refusal;
mod study;
mod views;

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_TYPE, HOST, ORIGIN, TRANSFER_ENCODING, WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use futures::FutureExt;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::hangup::{closed_or_filled_by_client, duplicated};
use crate::listener::{Pending, STARTUP_MAX};
use crate::secret;
use crate::shared::Shared;
use refusal::{Refusal, worded};

/// The HTTP protocol.
pub(crate) struct HttpProtocol {
    shared: Arc<Shared>,
    tls: Option<TlsAcceptor>,
    router: Router,
}

impl HttpProtocol {
    pub(crate) fn new(shared: &Arc<Shared>, tls: Option<TlsAcceptor>) -> Self {
        let router = Router::new()
            // The handler checks the length itself, as the body arrives.
            .route("/query", post(query::ask))
            .route("/query/{name}", get(query::state).delete(query::end))
            .route("/ladder", get(views::ladder))
            .route("/call.pcap", get(views::call))
            .route("/packet", get(views::packet))
            .route("/stream", get(views::stream))
            .route("/study/websocket", get(study::websocket))
            .route("/study/h248", get(study::h248))
            .route("/files", get(lists::files))
            .route("/fields", get(lists::fields))
            .route("/functions", get(lists::functions))
            .route("/tables", get(lists::tables))
            .route("/live", get(lists::live))
            .route("/upload", post(lists::upload))
            .route("/health", get(async || "ok\n"))
            .route("/metrics", get(metrics))
            .route("/openapi.json", get(page::description))
            .fallback(page::asset)
            .layer(middleware::from_fn_with_state(Arc::clone(shared), guard))
            .with_state(Arc::clone(shared));
        Self {
            shared: Arc::clone(shared),
            tls,
            router,
        }
    }

    /// Serves the requests of a connection by a router.
    async fn talk(&self, socket: TcpStream, router: Router) {
        match &self.tls {
            None => self.converse(socket, router).await,
            Some(tls) => {
                let accepted = self.shared.handshakes.run(tls.accept(socket));
                let accepted = tokio::time::timeout(STARTUP_MAX, accepted).await;
                if let Ok(Ok(socket)) = accepted {
                    self.converse(socket, router).await;
                }
            }
        }
    }

    async fn converse(
        &self,
        socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        router: Router,
    ) {
        let service = TowerToHyperService::new(router);
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(STARTUP_MAX)
            .max_buf_size(BUFFER_MAX);
        let connection = builder.serve_connection(TokioIo::new(socket), service);
        tokio::pin!(connection);
        let mut ending = self.shared.ending.clone();
        tokio::select! {
            _ = connection.as_mut() => return,
            () = ending.wait_for(|ending| *ending).map(drop) => {}
        }
        connection.as_mut().graceful_shutdown();
        let _ = tokio::time::timeout(self.shared.options.limits.grace, connection).await;
    }
}

impl crate::listener::Protocol for HttpProtocol {
    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    async fn serve_connection(self: Arc<Self>, socket: TcpStream, pending: Pending) {
        let activity = Arc::clone(pending.activity());
        let router = self.router.clone().layer(Extension(pending));
        // A connection is not read while a request on it is answered, even if its client has sent more.
        let Some((socket, watched)) = duplicated(socket) else {
            return;
        };
        tokio::select! {
            () = self.talk(socket, router) => {}
            () = closed_or_filled_by_client(&watched, &activity) => {}
        }
    }

    async fn refuse_connection(self: Arc<Self>, socket: TcpStream, message: String) {
        let answer = move || async move {
            let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "limit", message);
            ([(CONNECTION, "close")], refusal)
        };
        self.talk(socket, Router::new().fallback(answer)).await;
    }
}

/// Authenticates a request, and checks its host and origin.
async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let headers = request.headers();
    let path = request.uri().path();
    // The page asks for its token; what it consists of is no secret.
    let is_open = matches!(*request.method(), Method::GET | Method::HEAD)
        && (path == "/" || path == "/health" || path.starts_with("/assets/"));
    let named = request.uri().host();
    let known = known_host(&shared, headers, named)
        .and_then(|()| known_origin(headers, path))
        .and_then(|()| known_coding(headers));
    if let Err(refusal) = known {
        return refusal.into_response();
    }
    if let Some(token) = &shared.options.token
        && !is_open
        && !has_token(headers, token)
    {
        let refusal = Refusal::new(
            StatusCode::UNAUTHORIZED,
            "auth",
            "the token is missing or wrong",
        )
        .with_hint("Authorization: Bearer TOKEN");
        let mut response = refusal.into_response();
        let asks = HeaderValue::from_static("Bearer");
        response.headers_mut().insert(WWW_AUTHENTICATE, asks);
        return response;
    }
    // A request for a part of the page shows no token.
    if let Some(pending) = request.extensions().get::<Pending>()
        && (shared.options.token.is_none() || !is_open)
    {
        pending.admit();
    }
    // A request with a body waits for the body first.
    let has_body = request.method() == Method::POST;
    let pending = request.extensions().get::<Pending>();
    let running_statement = pending
        .filter(|_| !has_body)
        .map(|pending| pending.activity().running());
    // A client may send many requests at once. Others do something between them.
    tokio::task::yield_now().await;
    let mut response = worded(next.run(request).await).await;
    drop(running_statement);
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-security-policy", POLICY),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("x-frame-options", "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A page of another site that has its name lead to this machine says that name in `Host`. `named` is the host of a whole address in the
/// first line of the request, which goes before `Host` (RFC 9112, 3.2.2).
fn known_host(shared: &Shared, headers: &HeaderMap, named: Option<&str>) -> Result<(), Refusal> {
    let host = headers
        .get(HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    let names = &shared.options.host_names;
    let is_known = |host: &str| {
        let name = name_of_host(host);
        name.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || names.iter().any(|known| known.eq_ignore_ascii_case(name))
    };
    // A request has one name of its server (RFC 9112, 3.2).
    let is_one = headers.get_all(HOST).iter().count() <= 1;
    match is_one && is_known(host) && named.is_none_or(is_known) {
        true => Ok(()),
        false => Err(Refusal::new(
            StatusCode::FORBIDDEN,
            "auth",
            "this server has another host name than the request",
        )
        .with_hint("name the server with --host-name")),
    }
}

/// The name or address in a `Host`, without its port; empty where it is malformed.
fn name_of_host(host: &str) -> &str {
    let (name, behind) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or_default(),
        None => {
            let end = host.rfind(':').unwrap_or(host.len());
            host.split_at_checked(end).unwrap_or_default()
        }
    };
    match behind.strip_prefix(':') {
        Some(port) if port.is_empty() || port.parse::<u16>().is_ok() => name,
        None if behind.is_empty() => name,
        _ => "",
    }
}

/// The one coding that is undone is `chunked`: a body in others would be taken for what it was made of (RFC 9112, 6.1).
fn known_coding(headers: &HeaderMap) -> Result<(), Refusal> {
    let codings: Vec<&HeaderValue> = headers.get_all(TRANSFER_ENCODING).iter().collect();
    match codings.as_slice() {
        [] => Ok(()),
        [coding] if coding.as_bytes().eq_ignore_ascii_case(b"chunked") => Ok(()),
        _ => Err(Refusal::new(
            StatusCode::NOT_IMPLEMENTED,
            "request",
            "a body with a Transfer-Encoding other than chunked is not accepted",
        )
        .with_hint("send it plain, with its Content-Length, or chunked")),
    }
}

fn known_origin(headers: &HeaderMap, path: &str) -> Result<(), Refusal> {
    let rejected = || {
        Refusal::new(
            StatusCode::FORBIDDEN,
            "auth",
            "requests from pages of other origins are rejected",
        )
    };
    // A picture, a script or a frame of another page, also of one at another port, has no `Origin`, and browsers say where it stands.
    // A link leads to the page.
    let says = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    let site = says("sec-fetch-site");
    let is_of_others = site == Some(b"cross-site") || site == Some(b"same-site");
    let is_link = path == "/" && says("sec-fetch-mode") == Some(b"navigate");
    if is_of_others && !is_link {
        return Err(rejected());
    }
    let mut origins = headers.get_all(ORIGIN).iter();
    let (Some(origin), None) = (origins.next(), origins.next()) else {
        return match headers.contains_key(ORIGIN) {
            true => Err(rejected()),
            false => Ok(()),
        };
    };
    let host = headers
        .get(HOST)
        .and_then(|host| host.to_str().ok())
        .unwrap_or_default();
    let origin = origin.to_str().unwrap_or_default();
    let of = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    match of.is_some_and(|of| of.eq_ignore_ascii_case(host)) {
        true => Ok(()),
        false => Err(rejected()),
    }
}

fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let given = headers
        .get(AUTHORIZATION)
        .and_then(|given| given.to_str().ok());
    let given = given
        .and_then(|given| given.strip_prefix("Bearer "))
        .unwrap_or_default();
    secret::is_same(given, token)
}

async fn metrics(State(shared): State<Arc<Shared>>) -> Response {
    let kind = (CONTENT_TYPE, "text/plain; version=0.0.4");
    ([kind], shared.metrics.text(shared.pool())).into_response()
}

/// Bytes of a request that are read ahead, and of an answer that are written ahead.
const BUFFER_MAX: usize = 64 << 10;
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever stood behind the brackets of an address was taken for a port.
    #[test]
    fn a_host_is_a_name_or_an_address_with_a_port() {
        for (host, expected) in [
            ("localhost", "localhost"),
            ("localhost:8080", "localhost"),
            ("127.0.0.1:1", "127.0.0.1"),
            ("[::1]", "::1"),
            ("[::1]:80", "::1"),
            ("[::1]evil.com", ""),
            ("[::1", ""),
            ("[::1]:80:90", ""),
            ("localhost:99999", ""),
            ("localhost:", "localhost"),
            ("evil.com:localhost", ""),
            ("", ""),
        ] {
            assert_eq!(name_of_host(host), expected, "{host}");
        }
    }
}
