//! The schema of an answer: its columns with the types of its rows.

use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};

/// The columns of an answer with the types that its rows have. Before types are coerced, `CASE WHEN a THEN tcp.dstport ELSE 1000 END`
/// has the type of its first value.
pub(crate) fn with_types(answer: &Schema, rows: &Schema) -> SchemaRef {
    let (fields, found) = (answer.fields(), rows.fields());
    if fields.len() != found.len() {
        return Arc::new(answer.clone());
    }
    let fields = fields.iter().zip(found).map(|(field, found)| {
        if field.data_type() == found.data_type() {
            return Arc::clone(field);
        }
        let field = Field::clone(field).with_data_type(found.data_type().clone());
        let is_nullable = field.is_nullable() || found.is_nullable();
        Arc::new(field.with_nullable(is_nullable))
    });
    let fields: Vec<_> = fields.collect();
    let metadata = answer.metadata().clone();
    Arc::new(Schema::new_with_metadata(fields, metadata))
}
