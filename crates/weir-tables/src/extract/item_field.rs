//! The columns of an extraction's table.

use weir_packet::Kind;

use crate::table::Table;
use crate::{Column, Origin};

/// A column of an extraction. `G` is the function that gets its value of the extraction's item.
pub(crate) struct ItemField<G> {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) doc: &'static str,
    pub(crate) reference: &'static str,
    pub(crate) get: G,
}

impl<G> ItemField<G> {
    /// A column, with the function that gets its value, what it means, and where that is defined.
    pub(crate) const fn new(
        name: &'static str,
        kind: Kind,
        get: G,
        doc: &'static str,
        reference: &'static str,
    ) -> Self {
        Self {
            name,
            kind,
            doc,
            reference,
            get,
        }
    }
}

/// The columns of an extraction: first those of the packets table with these names, then its own. Only an extraction
/// that pushes all of its rows during `packet` has columns of the packet.
pub(crate) fn columns<G>(packet: &[&str], own: &[ItemField<G>]) -> Vec<Column> {
    let packets = Table::packets();
    let known = packet.iter().filter_map(|name| {
        let position = packets.position(name)?;
        packets.columns().get(position).cloned()
    });
    let own = own.iter().enumerate().map(|(index, field)| Column {
        name: field.name.into(),
        kind: field.kind,
        doc: field.doc.into(),
        reference: field.reference.into(),
        origin: Origin::Item(index),
    });
    known.chain(own).collect()
}
