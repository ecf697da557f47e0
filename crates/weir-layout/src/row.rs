//! The buffers and the results of decoding a record.

use super::field::FieldSlot;
use super::stop::Halt;

/// The buffers for fields whose positions depend on others. Made once ([`Layout::row`](crate::Layout::row)), used for every record of that layout.
#[derive(Clone, Debug)]
pub struct Row {
    pub(super) slots: Vec<FieldSlot>,
    pub(super) groups: Vec<bool>,
    /// Run this many steps only.
    pub(super) steps: usize,
    pub(super) wants_payload: bool,
    pub(super) found: DecodedFacts,
}

/// The results of decoding besides the positions of fields.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DecodedFacts {
    pub(super) kind: Option<u16>,
    pub(super) payload: Option<(u16, usize, usize)>,
    pub(super) stop: Option<Halt>,
}
