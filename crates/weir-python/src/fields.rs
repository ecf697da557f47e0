//! The columns and tables that there are.

use pyo3::prelude::*;
use weir_packet::PROTOCOLS;
use weir_tables::{EXTRACTIONS, Origin, Table};

/// A column: its name, table, type, layer, meaning and source.
type FieldRow = (
    String,
    &'static str,
    &'static str,
    &'static str,
    String,
    String,
);

/// All columns; what a table of messages has of the packet stands with packets.
#[pyfunction]
pub(crate) fn fields() -> Vec<FieldRow> {
    let mut fields = Vec::new();
    for (name, table) in all() {
        for column in table.columns() {
            if table.extraction().is_some() && matches!(column.origin, Origin::Packet(..)) {
                continue;
            }
            let layer = column
                .layer()
                .and_then(|layer| PROTOCOLS.get(layer as usize));
            fields.push((
                column.name.to_string(),
                name,
                weir_engine::sql_type(column.kind),
                layer.map_or("any", |protocol| protocol.title),
                column.doc.to_string(),
                column.reference.to_string(),
            ));
        }
    }
    fields
}

/// The names of the tables that a capture has.
#[pyfunction]
pub(crate) fn tables() -> Vec<&'static str> {
    all().map(|(name, _)| name).collect()
}

fn all() -> impl Iterator<Item = (&'static str, Table)> {
    let extracted = EXTRACTIONS
        .iter()
        .map(|extraction| (extraction.name, Table::extracted(extraction)));
    [("packets", Table::packets())].into_iter().chain(extracted)
}
