//! Failures as the ErrorResponse messages of the protocol.

use pgwire::api::ClientInfo;
use pgwire::error::{ErrorInfo, PgWireError, PgWireResult};
use pgwire::messages::response::TransactionStatus;

use crate::error::Failure;

/// A failure as an ErrorResponse without a position.
pub(super) fn pg_error(failure: &Failure) -> PgWireError {
    error_response("ERROR", failure, None)
}

/// A failure as the protocol has it, with its place in the text where that is known.
pub(super) fn error_response(severity: &str, failure: &Failure, sql: Option<&str>) -> PgWireError {
    let mut info = ErrorInfo::new(
        severity.to_owned(),
        failure.sqlstate().to_owned(),
        failure.message.clone(),
    );
    info.hint.clone_from(&failure.hint);
    info.severity_nonlocalized = Some(severity.to_owned());
    if let (Some((line, column)), Some(sql)) = (failure.position, sql) {
        let before: usize = sql
            .split_inclusive('\n')
            .take(usize::try_from(line.saturating_sub(1)).unwrap_or_default())
            .map(|line| line.chars().count())
            .sum();
        info.position = Some((before as u64).saturating_add(column).to_string());
    }
    PgWireError::UserError(Box::new(info))
}

/// A refusal with a SQLSTATE of its own.
pub(super) fn refusal(code: &str, message: String) -> PgWireError {
    let mut info = ErrorInfo::new("ERROR".to_owned(), code.to_owned(), message);
    info.severity_nonlocalized = Some("ERROR".to_owned());
    PgWireError::UserError(Box::new(info))
}

/// Checks that the transaction has not failed.
pub(super) fn may_run<C: ClientInfo>(client: &C) -> PgWireResult<()> {
    if client.transaction_status() != TransactionStatus::Error {
        return Ok(());
    }
    let message = "current transaction is aborted, commands ignored until end of transaction block";
    let info = ErrorInfo::new("ERROR".to_owned(), "25P02".to_owned(), message.to_owned());
    Err(PgWireError::UserError(Box::new(info)))
}
