//! Retries of requests, connections and transfers of rows that are lost before their answer.
//!
//! A server closes a connection that is not authenticated yet in favour of newer ones, and an idle one where the process has no free
//! file descriptor. Its peer connects again.

use std::time::Duration;

use tonic::Status;

/// Whether a request has no answer because its connection was lost: a status with a source is not from the server, but from the
/// transport.
pub(crate) fn is_lost(status: &Status) -> bool {
    std::error::Error::source(status).is_some()
}

/// Sends a request again while its connection is lost before the answer, some times. The request has to be idempotent.
///
/// # Errors
/// That of the last attempt.
pub(crate) async fn request<T, F>(send: impl FnMut() -> F) -> Result<T, Status>
where
    F: Future<Output = Result<T, Status>>,
{
    attempts(send, is_lost).await
}

/// Makes attempts until one succeeds, or fails for another reason than a lost connection, or the last one has failed.
///
/// # Errors
/// That of the last attempt.
pub(crate) async fn attempts<T, E, F>(
    mut attempt: impl FnMut() -> F,
    is_lost: impl Fn(&E) -> bool,
) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    let mut pause = PAUSE_FIRST;
    for _ in 1..ATTEMPTS {
        match attempt().await {
            Err(error) if is_lost(&error) => {}
            outcome => return outcome,
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
    attempt().await
}

/// The number of attempts, and the pause behind the first one, which doubles each time: less than half a second in all.
const ATTEMPTS: u32 = 5;
const PAUSE_FIRST: Duration = Duration::from_millis(30);

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn lost() -> Status {
        Status::from_error(Box::new(std::io::Error::from(
            std::io::ErrorKind::BrokenPipe,
        )))
    }

    #[test]
    fn a_lost_request_is_sent_again_and_a_refused_one_is_not() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let sent = Cell::new(0);
        for (fails, end, expected) in [
            (2, Ok(7), Ok(7)),
            (0, Err(Status::not_found("no job")), Err("no job")),
            (1, Err(Status::not_found("no job")), Err("no job")),
        ] {
            sent.set(0);
            let found = runtime.block_on(request(|| {
                sent.set(sent.get() + 1);
                let end = end.clone();
                async {
                    if sent.get() <= fails {
                        Err(lost())
                    } else {
                        end
                    }
                }
            }));
            let found = found.as_ref().map_err(Status::message);
            assert_eq!(found, expected.as_ref().map_err(|text| *text));
            assert_eq!(sent.get(), fails + 1);
        }
        sent.set(0);
        let ended: Result<(), _> = runtime.block_on(request(|| {
            sent.set(sent.get() + 1);
            async { Err(lost()) }
        }));
        assert!(is_lost(&ended.unwrap_err()));
        assert_eq!(sent.get(), ATTEMPTS);
    }
}
