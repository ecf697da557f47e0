//! Batches cut into smaller ones.

use arrow::record_batch::RecordBatch;
use datafusion::error::Result;
use futures::{Stream, TryStreamExt};

/// Batches of at most so many rows.
pub(super) fn in_pieces(
    batches: impl Stream<Item = Result<RecordBatch>>,
    rows_max: usize,
) -> impl Stream<Item = Result<RecordBatch>> {
    let rows_max = rows_max.max(1);
    let pieces = batches.map_ok(move |batch| {
        let starts = (0..batch.num_rows()).step_by(rows_max);
        let pieces = starts.map(move |start| {
            let rows = batch.num_rows().saturating_sub(start).min(rows_max);
            Ok(batch.slice(start, rows))
        });
        futures::stream::iter(pieces)
    });
    pieces.try_flatten()
}
