//! Failures as gRPC has them.

use hyper::Response;
use tonic::body::Body;
use tonic::{Code, Status};

use crate::error::{Failure, FailureKind, shorten};

/// A failure as the status of a call: its place and its hint are part of the message.
pub(super) fn refused(failure: &Failure) -> Status {
    let code = match failure.kind {
        FailureKind::Syntax | FailureKind::Plan => Code::InvalidArgument,
        FailureKind::Source => Code::NotFound,
        FailureKind::Run => Code::Unknown,
        FailureKind::Internal => Code::Internal,
        FailureKind::Refused => Code::PermissionDenied,
        FailureKind::Limit | FailureKind::Memory | FailureKind::Disk => Code::ResourceExhausted,
        FailureKind::Cancelled => Code::Cancelled,
        FailureKind::Timeout => Code::DeadlineExceeded,
        FailureKind::Ending => Code::Unavailable,
    };
    let mut message = failure.message.clone();
    if let Some((line, column)) = failure.position {
        message.push_str(&format!(" (line {line}, column {column})"));
    }
    if let Some(hint) = &failure.hint {
        message.push_str("; hint: ");
        message.push_str(hint);
    }
    Status::new(code, shortened(message))
}

/// A message of a request has more bytes than it may.
pub(super) fn too_long(most: usize) -> Status {
    Status::resource_exhausted(format!(
        "a message is longer than --max-text allows: {most}"
    ))
}

/// A text that is short enough for a header, whose length clients limit.
pub(super) fn shortened(mut text: String) -> String {
    shorten(&mut text, MESSAGE_MAX);
    text
}

/// The response with a short message of its status: libraries quote all that a client has sent.
pub(super) fn short(response: Response<Body>) -> Response<Body> {
    let headers = response.headers();
    let message = headers.get("grpc-message");
    let is_long = message.is_some_and(|message| message.len() > WRITTEN_MAX);
    match is_long.then(|| Status::from_header_map(headers)).flatten() {
        Some(status) => {
            let message = shortened(status.message().to_owned());
            Status::new(status.code(), message).into_http()
        }
        None => response,
    }
}

/// Bytes of the header with the longest message.
const WRITTEN_MAX: usize = 3 * (MESSAGE_MAX + 4);
/// Bytes of a message: gRPC writes three for each that is no plain letter, and clients take 8 KiB of headers.
const MESSAGE_MAX: usize = 2000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_keeps_its_place_and_its_hint() {
        let mut failure = Failure::new(FailureKind::Syntax, "no").with_hint("so");
        failure.position = Some((2, 3));
        let status = refused(&failure);
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_eq!(status.message(), "no (line 2, column 3); hint: so");
        let long = refused(&Failure::new(FailureKind::Run, "é".repeat(5000)));
        assert!(long.message().len() < MESSAGE_MAX + 5 && long.message().ends_with('…'));
    }

    /// A request of a megabyte was in the headers of its answer, up to three times as long.
    #[test]
    fn messages_of_libraries_are_shortened() {
        for text in ["é".repeat(5000), "x".repeat(50_000), "é".repeat(10)] {
            let response = Status::invalid_argument(text.clone()).into_http();
            let response = short(response);
            assert!(response.headers()["grpc-message"].len() <= WRITTEN_MAX);
            let status = Status::from_header_map(response.headers()).unwrap();
            assert_eq!(status.code(), Code::InvalidArgument);
            let kept = status.message().trim_end_matches('…');
            assert!(text.starts_with(kept) && kept.len() >= text.len().min(1900));
        }
    }
}
