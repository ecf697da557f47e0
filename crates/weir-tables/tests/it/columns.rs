//! The value of a column does not depend on the number of other columns that are read.

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use weir_tables::{Scan, ScanOptions, Source, Table};

use crate::captures;

fn scanned(table: &Table, columns: &[usize], path: &std::path::Path) -> RecordBatch {
    let mut options = ScanOptions::default();
    // The batches end between packets of all kinds.
    options.batch_rows = 61;
    options.limit = Some(2_000);
    let mut scan = Scan::new(table, columns, None, vec![Source::capture(path)], options);
    let mut batches = Vec::new();
    while let Some(batch) = scan.next_batch().unwrap() {
        batches.push(batch);
    }
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

#[test]
fn all_columns_at_once_say_what_few_at_a_time_say() {
    let folder = tempfile::tempdir().unwrap();
    let table = Table::packets();
    let all: Vec<usize> = (0..table.columns().len()).collect();
    let mut values = 0;
    for capture in captures::generated(folder.path())
        .iter()
        .chain(&captures::frames())
    {
        let together = scanned(&table, &all, &capture.path);
        for few in all.chunks(20) {
            let apart = scanned(&table, few, &capture.path);
            for (at, column) in few.iter().enumerate() {
                let name = &table.columns()[*column].name;
                assert_eq!(
                    together.column(*column),
                    apart.column(at),
                    "{name} of {}",
                    capture.name
                );
                values += apart.num_rows() - apart.column(at).null_count();
            }
        }
    }
    assert!(values > 100_000, "{values}");
}
