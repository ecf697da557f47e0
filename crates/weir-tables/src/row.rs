//! One row as predicates and columns see it.

use weir_packet::layout::View;
use weir_packet::{Packet, Value};

use crate::Origin;
use crate::extract::Item;

/// A decoded record: what the columns of a table read their values from.
#[derive(Clone, Copy)]
pub struct Row<'r> {
    pub(crate) file: &'r str,
    pub(crate) packet: &'r Packet<'r>,
    pub(crate) view: Option<&'r View<'r>>,
    pub(crate) item: Option<&'r dyn Item>,
}

impl<'r> Row<'r> {
    /// A packet from the capture at `file`.
    #[must_use]
    pub const fn new(file: &'r str, packet: &'r Packet<'r>) -> Self {
        Self {
            file,
            packet,
            view: None,
            item: None,
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

    /// The same row with what an extraction found in the packet.
    pub(crate) const fn with_item(self, item: &'r dyn Item) -> Self {
        Self {
            item: Some(item),
            ..self
        }
    }

    /// A value that neither the packet nor the file gives, but what lies around or in it.
    #[inline]
    pub(crate) fn given(&self, origin: Origin) -> Option<Value<'r>> {
        match origin {
            Origin::Layout(index) => self.view?.value(index),
            Origin::Item(index) => self.item?.value(index),
            Origin::File | Origin::Packet(..) | Origin::Record => None,
        }
    }
}
