//! One row as predicates and columns see it.

use weir_packet::Packet;
use weir_packet::layout::View;

/// A decoded record: what the columns of a table read their values from.
#[derive(Clone, Copy)]
pub struct Row<'r> {
    pub(crate) file: &'r str,
    pub(crate) packet: &'r Packet<'r>,
    pub(crate) view: Option<&'r View<'r>>,
}

impl<'r> Row<'r> {
    /// A packet from the capture at `file`.
    #[must_use]
    pub const fn new(file: &'r str, packet: &'r Packet<'r>) -> Self {
        Self {
            file,
            packet,
            view: None,
        }
    }

    /// The same row with the record of a layout around the packet.
    #[must_use]
    pub const fn with_view(self, view: &'r View<'r>) -> Self {
        Self {
            view: Some(view),
            ..self
        }
    }
}
