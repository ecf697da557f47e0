//! Tickets of statements, on their way to the client and back.

use crate::error::{Failure, FailureKind};
use crate::secret::{NAME_LEN, random_name};

/// The ticket of a statement. It is held by the client only, and permits no more than a request does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StatementTicket {
    /// The name by which it is cancelled.
    pub(super) name: String,
    pub(super) what: What,
}

/// The content of a ticket: a text, the handle of a prepared statement, or nothing, since a statement without rows runs before
/// they are fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Text(String),
    Prepared(String),
    Done,
}

impl StatementTicket {
    pub(super) fn new(what: What) -> Result<Self, Failure> {
        Ok(Self {
            name: random_name()?,
            what,
        })
    }

    /// The bytes of the ticket.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let (kind, text) = match &self.what {
            What::Text(text) => ('T', text),
            What::Prepared(handle) => ('P', handle),
            What::Done => ('D', &String::new()),
        };
        format!("{kind}{}{text}", self.name).into_bytes()
    }

    /// Decodes a ticket.
    ///
    /// # Errors
    /// When this server has not issued the ticket.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Failure> {
        let none = || {
            Failure::new(
                FailureKind::Plan,
                "the ticket was not issued by this server",
            )
        };
        let text = std::str::from_utf8(bytes).map_err(|_| none())?;
        let (kind, rest) = text.split_at_checked(1).ok_or_else(none)?;
        let (name, rest) = rest.split_at_checked(NAME_LEN).ok_or_else(none)?;
        if !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(none());
        }
        let what = match kind {
            "T" => What::Text(rest.to_owned()),
            "P" => What::Prepared(rest.to_owned()),
            "D" => What::Done,
            _ => return Err(none()),
        };
        Ok(Self {
            name: name.to_owned(),
            what,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_come_back_as_they_went() {
        for what in [
            What::Text("SELECT 'é'".to_owned()),
            What::Text(String::new()),
            What::Prepared("abc".to_owned()),
            What::Done,
        ] {
            let ticket = StatementTicket::new(what).unwrap();
            let bytes = ticket.bytes();
            assert_eq!(StatementTicket::read(&bytes).unwrap(), ticket);
            for cut in 0..=NAME_LEN {
                assert!(StatementTicket::read(&bytes[..cut]).is_err(), "{cut}");
            }
        }
        let other = format!("X{}SELECT 1", "0".repeat(NAME_LEN));
        assert!(StatementTicket::read(other.as_bytes()).is_err());
        assert!(StatementTicket::read(&[0xff; 100]).is_err());
        assert!(StatementTicket::read(format!("T{}", "é".repeat(NAME_LEN)).as_bytes()).is_err());
    }
}
