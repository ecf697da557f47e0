//! The body of a question on its way in. Its received octets are held until the body is complete, or for ever when its
//! client does not continue; therefore the octets of all bodies have a limit, and so has the time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::http::StatusCode;
use bytes::BytesMut;
use futures::StreamExt;

use super::refusal::Refusal;
use crate::error::Failure;
use crate::retained::{Retained, Retention};

/// A body that is whole, and counted among those that arrive until this is dropped.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) bytes: BytesMut,
    _retained: Vec<Retained>,
}

/// Waits for a body, which has so many bytes at most.
///
/// # Errors
/// When it is longer, takes too long, or there is no room for it beside those of others.
pub(super) async fn arrived(
    body: Body,
    most: usize,
    arrivals: &Arc<Retention>,
) -> Result<Arrived, Refusal> {
    let arrived = tokio::time::timeout(ARRIVES_WITHIN, collected(body, most, arrivals));
    arrived.await.unwrap_or_else(|_| {
        let seconds = ARRIVES_WITHIN.as_secs();
        let message = format!("the body of the request was not complete within {seconds} s");
        Err(Refusal::new(
            StatusCode::REQUEST_TIMEOUT,
            "timeout",
            message,
        ))
    })
}

async fn collected(body: Body, most: usize, arrivals: &Arc<Retention>) -> Result<Arrived, Refusal> {
    // A body whose length is known is refused before it comes.
    if body.size_hint().lower() > u64::try_from(most).unwrap_or(u64::MAX) {
        return Err(too_long(most));
    }
    let one = Retention::of_one(arrivals);
    let mut bytes = BytesMut::new();
    let mut retained = Vec::new();
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece
            .map_err(|error| Refusal::new(StatusCode::BAD_REQUEST, "request", error.to_string()))?;
        let length = bytes.len().saturating_add(piece.len());
        if length > most {
            return Err(too_long(most));
        }
        // A short one comes through while others hold all.
        if length > SHORT_BYTES_MAX {
            retained.push(one.add(piece.len()).map_err(crowded)?);
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(Arrived {
        bytes,
        _retained: retained,
    })
}

fn too_long(most: usize) -> Refusal {
    let message = format!("a body of more than {most} bytes, the limit of --max-text");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "limit", message)
}

fn crowded(failure: Failure) -> Refusal {
    Refusal {
        status: StatusCode::SERVICE_UNAVAILABLE,
        ..Refusal::from(failure)
    }
}

/// The bytes of a body that are not counted.
const SHORT_BYTES_MAX: usize = 16 << 10;
/// The time limit for receiving a query.
const ARRIVES_WITHIN: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use axum::body::Bytes;
    use futures::stream;

    use super::*;

    fn body(pieces: usize) -> Body {
        let piece = Bytes::from(vec![b'x'; 1 << 20]);
        let pieces = (0..pieces).map(move |_| Ok::<_, std::io::Error>(piece.clone()));
        Body::from_stream(stream::iter(pieces))
    }

    #[tokio::test]
    async fn bodies_that_arrive_have_a_limit_and_short_ones_come_through() {
        let all = Retention::of_arrivals(1 << 20);
        let mut held = Vec::new();
        for _ in 0..64 {
            held.push(arrived(body(1), 1 << 20, &all).await.unwrap());
        }
        let refused = arrived(body(1), 1 << 20, &all).await.unwrap_err();
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
        let short = arrived(Body::from("SELECT 1"), 1 << 20, &all)
            .await
            .unwrap();
        assert_eq!(&short.bytes[..], b"SELECT 1");
        held.pop();
        arrived(body(1), 1 << 20, &all).await.unwrap();
        let refused = arrived(body(2), 1 << 20, &all).await.unwrap_err();
        assert_eq!(refused.status, StatusCode::PAYLOAD_TOO_LARGE);
    }
}
