//! Scans: any bytes as a capture or as records, any columns, any predicate.

use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::AsRawFd;
use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, RecordBatch};
use weir_packet::Kind;
use weir_layout::Layout;
use weir_tables::{
    Column, Constant, Counters, Network, Operator, Predicate, Scan, ScanOptions, Source, Table,
};

use crate::bits::Bits;
use crate::layout::LAYOUTS;

/// The first bytes choose a capture or a layout, a few columns, a predicate and the size of
/// batches; the rest is the file.
pub fn run(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let layout = match bits.u8() {
        choice if choice & 3 == 0 => {
            Some(Arc::clone(&SHARED[usize::from(choice >> 2) % SHARED.len()]))
        }
        _ => None,
    };
    let table = match &layout {
        Some(layout) => Table::records(layout),
        None => PACKETS.clone(),
    };
    let count = table.columns().len();
    let projection: Vec<_> = (0..1 + bits.u8() % 4)
        .map(|_| usize::from(bits.u16()) % count)
        .collect();
    let predicate = predicate(&mut bits, &table, 0);
    let batch_rows = usize::from(bits.u8()) + 1;
    let limit = usize::from(bits.u8());
    let merge = bits.flag() && layout.is_none();

    let scanned = Scanned::new(bits.0, layout);
    let everything: Vec<_> = (0..count).collect();
    let all = scanned.scan(&table, &everything, None, batch_rows, None, false);
    let passed = scanned.scan(
        &table,
        &everything,
        Some(&predicate),
        batch_rows,
        None,
        false,
    );
    let refused = Predicate::Not(Box::new(predicate.clone()));
    let refused = scanned.scan(&table, &projection, Some(&refused), batch_rows, None, false);
    assert_eq!(all.records, all.rows as u64);
    assert_eq!(all.records, passed.records);
    // A row whose predicate is NULL passes neither the predicate nor its negation.
    assert!(passed.rows + refused.rows <= all.rows);

    // A column has the same values whatever other columns and file order a scan has.
    let narrow = scanned.scan(&table, &projection, Some(&predicate), 8192, None, merge);
    assert_eq!(passed.rows, narrow.rows);
    for (index, position) in projection.iter().enumerate() {
        let name = &table.columns()[*position].name;
        assert_eq!(
            passed.column(*position),
            narrow.column(index),
            "{name} hangs on other columns"
        );
    }
    let limited = scanned.scan(
        &table,
        &projection,
        Some(&predicate),
        batch_rows,
        Some(limit),
        merge,
    );
    assert_eq!(limited.rows, narrow.rows.min(limit));
}

/// An unnamed temporary file, which leaves nothing on the disk.
struct Scanned {
    file: File,
    layout: Option<Arc<Layout>>,
}

/// The result of a scan.
struct Given {
    batches: Vec<RecordBatch>,
    rows: usize,
    records: u64,
}

impl Scanned {
    fn new(bytes: &[u8], layout: Option<Arc<Layout>>) -> Self {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(bytes)
            .and_then(|()| file.rewind())
            .expect("room for a small file");
        Self { file, layout }
    }

    fn scan(
        &self,
        table: &Table,
        projection: &[usize],
        predicate: Option<&Predicate>,
        batch_rows: usize,
        limit: Option<usize>,
        merge: bool,
    ) -> Given {
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let source = match &self.layout {
            None => Source::capture(path),
            Some(layout) => Source::records(path, Arc::clone(layout)),
        };
        let mut options = ScanOptions::default();
        options.batch_rows = batch_rows;
        options.limit = limit;
        options.merge = merge;
        let counters = Arc::new(Counters::default());
        let mut scan = Scan::new(table, projection, predicate.cloned(), vec![source], options)
            .with_counters(Arc::clone(&counters));
        let (mut batches, mut rows) = (Vec::new(), 0);
        while let Some(batch) = scan.next_batch().expect("not said to be sorted") {
            assert!((1..=batch_rows).contains(&batch.num_rows()));
            assert_eq!(batch.num_columns(), projection.len());
            rows += batch.num_rows();
            batches.push(batch);
        }
        for error in scan.take_errors() {
            assert!(!error.to_string().is_empty());
        }
        Given {
            batches,
            rows,
            records: counters.totals().records,
        }
    }
}

impl Given {
    /// The values of a column, joined over batches of any size.
    fn column(&self, index: usize) -> Vec<ArrayRef> {
        let columns = self.batches.iter().map(|batch| batch.column(index));
        columns
            .flat_map(|column| (0..column.len()).map(|row| column.slice(row, 1)))
            .collect()
    }
}

fn predicate(bits: &mut Bits<'_>, table: &Table, depth: u8) -> Predicate {
    let kind = bits.u8() % if depth < 3 { 8 } else { 5 };
    let column = table.columns()[usize::from(bits.u16()) % table.columns().len()].clone();
    let inner = |bits: &mut Bits<'_>| {
        let count = bits.u8() % 3;
        (0..count)
            .map(|_| predicate(bits, table, depth + 1))
            .collect()
    };
    match kind {
        0 => {
            let operator = bits.pick(&[
                Operator::Equal,
                Operator::NotEqual,
                Operator::Less,
                Operator::LessOrEqual,
                Operator::Greater,
                Operator::GreaterOrEqual,
            ]);
            let constant = constant(bits, &column);
            Predicate::Compare(column, operator, constant)
        }
        1 => {
            let constants = (0..bits.u8() % 3)
                .map(|_| constant(bits, &column))
                .collect();
            Predicate::In(column, constants)
        }
        2 => {
            let prefix_bits = bits.u8() % 40;
            let network = [&b"\x0a\0\0\0"[..], &[0xfe; 16], &[2, 0, 0, 0, 0, 1]]
                .into_iter()
                .filter_map(weir_packet::Address::from_bytes)
                .find_map(|address| Network::new(address, prefix_bits));
            match network {
                Some(network) => Predicate::Within(column, network),
                None => Predicate::IsNull(column),
            }
        }
        3 => Predicate::IsTrue(column),
        4 => Predicate::IsNull(column),
        5 => Predicate::And(inner(bits)),
        6 => Predicate::Or(inner(bits)),
        _ => Predicate::Not(Box::new(predicate(bits, table, depth + 1))),
    }
}

/// A constant, mostly one of the column's type.
fn constant(bits: &mut Bits<'_>, column: &Column) -> Constant {
    let value = bits.u8();
    if value == 255 {
        return Constant::Float(f64::from(bits.u16()));
    }
    match column.kind {
        Kind::Bool => Constant::Bool(value & 1 == 1),
        Kind::Address | Kind::Bytes => {
            Constant::Bytes(bits.chunk(usize::from(value % 17)).to_vec())
        }
        Kind::Text => {
            let bytes = bits.chunk(usize::from(value % 8));
            Constant::Text(String::from_utf8_lossy(bytes).into_owned())
        }
        Kind::F64 => Constant::Float(f64::from(value)),
        _ => Constant::Integer(i128::from(bits.u16()) - i128::from(value)),
    }
}

static PACKETS: LazyLock<Table> = LazyLock::new(Table::packets);

/// The layouts, as scans share them.
static SHARED: LazyLock<Vec<Arc<Layout>>> = LazyLock::new(|| {
    LAYOUTS
        .iter()
        .map(|(_, layout)| Arc::new(layout.clone()))
        .collect()
});
