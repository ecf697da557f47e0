//! Whether the scheduler of an executor answers its heartbeats.

use tokio::sync::mpsc::UnboundedSender;
use tonic::Status;

use crate::error::Error;
use crate::retry::is_lost;

/// A change of the connection between an executor and its scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contact {
    /// The scheduler does not answer, for this reason. The executor waits for it.
    Lost(String),
    /// It answers again.
    Regained,
}

/// The outcome of the last heartbeats.
#[derive(Debug, Default)]
pub(crate) struct LastContact {
    is_lost: bool,
    /// The number of heartbeats in a row that the scheduler has refused.
    refused: u32,
    changes: Option<UnboundedSender<Contact>>,
}

impl LastContact {
    /// Sends changes to `changes`.
    pub(crate) fn new(changes: Option<UnboundedSender<Contact>>) -> Self {
        Self {
            changes,
            ..Self::default()
        }
    }

    /// Records the answer to a heartbeat. A scheduler that does not answer may be started again.
    ///
    /// # Errors
    /// When the scheduler has refused several heartbeats in a row.
    pub(crate) fn record(&mut self, answered: Result<(), Status>) -> Result<(), Error> {
        match answered {
            Ok(()) => {
                self.refused = 0;
                if std::mem::take(&mut self.is_lost) {
                    self.send(Contact::Regained);
                }
            }
            Err(status) if is_lost(&status) => {
                self.refused = 0;
                if !std::mem::replace(&mut self.is_lost, true) {
                    self.send(Contact::Lost(status.message().to_owned()));
                }
            }
            Err(status) => {
                self.refused += 1;
                if self.refused >= REFUSED_MAX {
                    let message = status.message();
                    return Err(Error::new(format!(
                        "the scheduler has refused {REFUSED_MAX} heartbeats: {message}"
                    )));
                }
            }
        }
        Ok(())
    }

    fn send(&self, change: Contact) {
        if let Some(changes) = &self.changes {
            // The receiver may be gone.
            let _ = changes.send(change);
        }
    }
}

/// The number of refused heartbeats in a row after which the executor ends.
const REFUSED_MAX: u32 = 5;

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;

    fn lost() -> Status {
        let gone = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        Status::from_error(Box::new(gone))
    }

    /// An executor ended ten seconds after its scheduler, and had to be started again with it.
    #[test]
    fn an_executor_waits_for_its_scheduler() {
        let (changes, mut seen) = unbounded_channel();
        let mut contact = LastContact::new(Some(changes));
        contact.record(Ok(())).unwrap();
        for _ in 0..100 {
            contact.record(Err(lost())).unwrap();
        }
        contact.record(Ok(())).unwrap();
        contact.record(Ok(())).unwrap();
        let change = seen.try_recv().unwrap();
        assert!(matches!(change, Contact::Lost(_)), "{change:?}");
        assert_eq!(seen.try_recv().unwrap(), Contact::Regained);
        assert!(seen.try_recv().is_err());
    }

    #[test]
    fn an_executor_ends_when_its_scheduler_refuses_it() {
        let mut contact = LastContact::default();
        for _ in 1..REFUSED_MAX {
            contact.record(Err(Status::internal("no"))).unwrap();
        }
        contact.record(Err(lost())).unwrap();
        for _ in 1..REFUSED_MAX {
            contact.record(Err(Status::internal("no"))).unwrap();
        }
        let refused = contact.record(Err(Status::internal("another version")));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.ends_with("another version"), "{refused}");
    }
}
