//! Failures as the ErrorResponse messages of the protocol.

use pgwire::api::{ClientInfo, DEFAULT_NAME};
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

/// The name that a client gave a portal: pgwire has a name of its own for the unnamed one.
pub(super) fn given_name(name: &str) -> &str {
    match name {
        DEFAULT_NAME => "",
        name => name,
    }
}

/// An error as an ErrorResponse. Those of pgwire about what a message names have the words of PostgreSQL.
pub(super) fn info_of(error: PgWireError) -> ErrorInfo {
    let (code, message) = match error {
        PgWireError::StatementNotFound(name) => {
            let message = match name.as_str() {
                DEFAULT_NAME => "unnamed prepared statement does not exist".to_owned(),
                name => format!("prepared statement \"{name}\" does not exist"),
            };
            ("26000", message)
        }
        PgWireError::PortalNotFound(name) => {
            let name = given_name(&name);
            ("34000", format!("portal \"{name}\" does not exist"))
        }
        PgWireError::InvalidTargetType(kind) => {
            ("08P01", format!("invalid DESCRIBE message subtype {kind}"))
        }
        error => return error.into(),
    };
    let mut info = ErrorInfo::new("ERROR".to_owned(), code.to_owned(), message);
    info.severity_nonlocalized = Some("ERROR".to_owned());
    info
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
