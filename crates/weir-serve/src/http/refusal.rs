//! Requests that are not answered.

use axum::body::to_bytes;
use axum::http::StatusCode;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use crate::error::{Failure, FailureKind, shorten};

/// A request that is not answered.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) kind: &'static str,
    pub(super) message: String,
    pub(super) hint: Option<String>,
    pub(super) position: Option<(u64, u64)>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            message: message.into(),
            hint: None,
            position: None,
        }
    }

    pub(super) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let status = match failure.kind {
            FailureKind::Syntax | FailureKind::Plan | FailureKind::Run => StatusCode::BAD_REQUEST,
            FailureKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            FailureKind::Source => StatusCode::NOT_FOUND,
            FailureKind::Refused => StatusCode::FORBIDDEN,
            FailureKind::Limit | FailureKind::Memory | FailureKind::Disk => {
                StatusCode::PAYLOAD_TOO_LARGE
            }
            FailureKind::Cancelled => StatusCode::CONFLICT,
            FailureKind::Timeout => StatusCode::REQUEST_TIMEOUT,
            FailureKind::Ending => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self {
            status,
            kind: failure.word(),
            message: failure.message,
            hint: failure.hint,
            position: failure.position,
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = serde_json::json!({"error": {
            "kind": self.kind,
            "message": self.message,
            "hint": self.hint,
            "line": self.position.map(|(line, _)| line),
            "column": self.position.map(|(_, column)| column),
        }});
        (self.status, axum::Json(body)).into_response()
    }
}

/// The response as an error of this interface, where the router has refused the request before any handler: an address without a
/// parameter that it needs, or a method that nothing has.
pub(super) async fn worded(response: Response) -> Response {
    let status = response.status();
    let kind = response.headers().get(CONTENT_TYPE);
    if !status.is_client_error() || kind.is_some_and(|kind| kind == "application/json") {
        return response;
    }
    let (mut head, body) = response.into_parts();
    let text = to_bytes(body, BODY_BYTES_MAX).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut message = match text.strip_prefix("Failed to deserialize query string: ") {
        Some(rest) => format!("the parameters of the address: {rest}"),
        None if status == StatusCode::METHOD_NOT_ALLOWED => {
            "the method is not available at this address".to_owned()
        }
        None => text.into_owned(),
    };
    shorten(&mut message, MESSAGE_BYTES_MAX);
    let mut worded = Refusal::new(status, "request", message).into_response();
    if let Some(methods) = head.headers.remove(ALLOW) {
        worded.headers_mut().insert(ALLOW, methods);
    }
    worded
}

/// Bytes of a text of the router, which may quote the address.
const BODY_BYTES_MAX: usize = 256 << 10;
/// Bytes of the message that is made of it.
const MESSAGE_BYTES_MAX: usize = 2000;
