//! What functions make of constants while a statement is planned, added up.
//!
//! DataFusion computes a function of constants when it simplifies a plan, and keeps the value in its place: a statement with a thousand
//! of `repeat('x', 100000000)` would hold 100 GB before it runs. Planning is synchronous, so that a thread knows for itself what it is
//! planning; while a statement runs nothing is added up here.

use std::cell::Cell;

use datafusion::common::exec_datafusion_err;
use datafusion::error::Result as PlanResult;

use crate::error::{Error, ErrorKind};

thread_local! {
    /// The room of the statement that this thread is planning.
    static ROOM: Cell<Option<Room>> = const { Cell::new(None) };
}

#[derive(Clone, Copy)]
struct Room {
    bytes: usize,
    is_exceeded: bool,
}

/// Puts the room of before back, also when planning panics.
struct Before(Option<Room>);

impl Drop for Before {
    fn drop(&mut self) {
        ROOM.set(self.0);
    }
}

/// Plans what may make so many bytes of constants.
///
/// # Errors
/// When it would make more.
pub fn within<T>(bytes_max: usize, plan: impl FnOnce() -> T) -> Result<T, Error> {
    let room = Room {
        bytes: bytes_max,
        is_exceeded: false,
    };
    let before = Before(ROOM.replace(Some(room)));
    let planned = plan();
    let is_exceeded = ROOM.get().is_some_and(|room| room.is_exceeded);
    drop(before);
    match is_exceeded {
        true => {
            let message = format!(
                "functions of constants would produce more than {} MiB together, which is the limit",
                bytes_max >> 20
            );
            let error = Error::new(ErrorKind::Limit, message);
            Err(error.with_hint("write a long value once and use its name: WITH v AS (SELECT repeat('x', 1000) AS long) SELECT … FROM v"))
        }
        false => Ok(planned),
    }
}

/// Takes the bytes of a constant that a function is about to make.
pub(crate) fn take(bytes: usize) -> PlanResult<()> {
    let Some(room) = ROOM.get() else {
        return Ok(());
    };
    let left = room.bytes.checked_sub(bytes);
    ROOM.set(Some(Room {
        bytes: left.unwrap_or(room.bytes),
        is_exceeded: room.is_exceeded || left.is_none(),
    }));
    match left {
        Some(_) => Ok(()),
        None => Err(exec_datafusion_err!(
            "the constants of the statement are too large"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_a_sum_while_a_statement_is_planned() {
        assert!(take(usize::MAX).is_ok());
        let planned = within(100, || (take(60).is_ok(), take(40).is_ok()));
        assert_eq!(planned.unwrap(), (true, true));
        let error = within(100 << 20, || {
            assert!(take(60 << 20).is_ok());
            assert!(take(41 << 20).is_err());
            // What has room is made.
            assert!(take(40 << 20).is_ok());
        });
        assert!(error.unwrap_err().to_string().contains("100 MiB together"));
        let inner = within(10, || within(100, || take(50).is_ok()).unwrap()).unwrap();
        assert!(inner && take(usize::MAX).is_ok());
    }
}
