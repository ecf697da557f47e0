//! Requests that are not answered.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::error::{Failure, FailureKind};

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
            FailureKind::Limit => StatusCode::PAYLOAD_TOO_LARGE,
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
