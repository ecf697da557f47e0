//! The buffers that reading a record needs.

use crate::forms::transactions::Transactions;
use crate::losses::Losses;

/// The buffers of a record besides its own bytes. They are reused for each record, so that reading one allocates
/// nothing.
#[derive(Debug, Default)]
pub struct Scratch {
    /// A line of the text draft, in which each `+` is replaced by its value.
    pub(crate) line: Vec<u8>,
    /// Values that are composed of several parts.
    pub(crate) built: Vec<u8>,
    /// The transactions to which a `+` may refer; `None` when each line is read by itself.
    pub(crate) earlier: Option<Box<Transactions>>,
    /// The numbers of `+` without their transactions.
    pub(crate) losses: Losses,
}

impl Scratch {
    /// The buffers for a log that is read from its beginning to its end.
    pub(crate) fn in_order() -> Self {
        Self {
            earlier: Some(Box::default()),
            ..Self::default()
        }
    }
}
