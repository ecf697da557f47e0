//! What does a record cost on its way from the file into its group?
//!
//! Makes seeded traces (once, in the temporary folder), reads each warm from the page cache into the groups of some
//! queries, in turn, and prints the medians of the CPU time: nanoseconds a record, and beside them those of reading the
//! file alone.
//!
//! `cargo bench -p weir-tables --bench aggregate [-- QUESTION]`; `WEIR_NO_COMPILE=1` leaves the compiler out.

use std::fs::{self, File};
use std::io::{BufWriter, Read};
use std::path::PathBuf;

use weir_layout::Layout;
use weir_tables::{
    Aggregate, Branch, Calculation, Compile, Constant, Expression, Function, Operator, Predicate,
    ScanOptions, SharedScan, Source, Table,
};
use weir_testkit::trace;

struct Question {
    name: &'static str,
    trace: &'static str,
    predicate: Option<Predicate>,
    keys: Vec<Expression>,
    /// The expression that is summed beside the count.
    sum: Option<Expression>,
}

fn main() {
    let mut words = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"));
    let wanted = words.next().unwrap_or_default();
    if std::env::args().any(|argument| argument == "--test") {
        // `cargo test --benches` only checks that the benchmark starts.
        return;
    }
    let rounds = if wanted.is_empty() { 9 } else { 1 };
    let table = Table::packets();
    let column = |name: &str| {
        let position = table.position(name).expect("a column");
        table.columns()[position].clone()
    };
    let value = |name| Expression::Column(column(name));
    let is =
        |name, number| Predicate::Compare(column(name), Operator::Equal, Constant::Integer(number));
    let message_type = || {
        let of = Box::new(value("erf.flags"));
        let flags = Expression::Integer { signed: true, of };
        flags
            .calculate(Calculation::ShiftRight, Expression::Constant(4))
            .expect("integers")
    };
    let of_connection = |calculation, constant| {
        let of = Box::new(value("erf.mchdlc.cn"));
        let number = Expression::Integer { signed: true, of };
        number
            .calculate(calculation, Expression::Constant(constant))
            .expect("integers")
    };
    let good = || Predicate::Calculated(message_type(), Operator::Equal, 0);
    let questions = [
        ("count", "ethernet", None, vec![]),
        ("filter", "ethernet", Some(is("udp.dstport", 53)), vec![]),
        (
            "group",
            "ethernet",
            Some(Predicate::Not(Box::new(Predicate::IsNull(column(
                "port.src",
            ))))),
            vec![value("port.src"), value("port.dst")],
        ),
        ("frame1", "frame-relay", None, vec![]),
        ("frame2", "frame-relay", Some(good()), vec![]),
        (
            "frame3",
            "frame-relay",
            Some(Predicate::And(vec![
                good(),
                is("fr.control", 3),
                is("fr.nlpid", 0xcc),
            ])),
            vec![],
        ),
        (
            "frame4",
            "frame-relay",
            Some(Predicate::And(vec![
                good(),
                is("fr.control", 3),
                is("fr.nlpid", 0xcc),
                Predicate::Calculated(
                    of_connection(Calculation::ShiftRight, 5),
                    Operator::Equal,
                    2,
                ),
                Predicate::Calculated(of_connection(Calculation::And, 31), Operator::Equal, 5),
            ])),
            vec![],
        ),
        (
            "frame5",
            "frame-relay",
            Some(Predicate::And(vec![
                is("fr.control", 3),
                is("ip.version", 4),
                Predicate::Not(Box::new(Predicate::IsNull(column("port.src")))),
            ])),
            vec![value("port.src"), value("port.dst")],
        ),
        (
            "frame6",
            "frame-relay",
            Some(Predicate::And(vec![
                is("fr.control", 3),
                is("ip.version", 4),
            ])),
            vec![
                value("erf.flags.cap"),
                of_connection(Calculation::ShiftRight, 5),
                of_connection(Calculation::And, 31),
            ],
        ),
    ]
    .map(|(name, trace, predicate, keys)| Question {
        name,
        trace,
        predicate,
        keys,
        sum: Some(Expression::Integer {
            signed: false,
            of: Box::new(value("frame.len")),
        }),
    });
    let cells = Table::records(&cells_layout());
    let cell = |name: &str| {
        let position = cells.position(name).expect("a field of the layout");
        cells.columns()[position].clone()
    };
    let cell_is =
        |name, number| Predicate::Compare(cell(name), Operator::Equal, Constant::Integer(number));
    let by = |name| Expression::Column(cell(name));
    let of_cells = [
        ("atm1", None, vec![by("vci")]),
        ("atm2", None, vec![by("vpi"), by("vci")]),
        ("atm5", Some(cell_is("vci", 40)), vec![]),
        (
            "atm6",
            Some(Predicate::And(vec![cell_is("vpi", 1), cell_is("vci", 40)])),
            vec![],
        ),
    ]
    .map(|(name, predicate, keys)| Question {
        name,
        trace: "atm",
        predicate,
        keys,
        sum: None,
    });
    let mut times: Vec<(f64, f64, u64)> = Vec::new();
    for question in questions
        .iter()
        .chain(&of_cells)
        .filter(|question| question.name.contains(&*wanted))
    {
        times.clear();
        let path = prepare(question.trace);
        for round in 0..=rounds {
            let before = cpu_seconds();
            let mut file = File::open(&path).expect("a trace");
            let mut buffer = vec![0; 256 << 10];
            while file.read(&mut buffer).expect("a trace") > 0 {}
            let between = cpu_seconds();
            let records = run(question, &path);
            let after = cpu_seconds();
            if round > 0 || rounds == 1 {
                times.push((after - between, between - before, records));
            }
        }
        times.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (ours, _, records) = times[times.len() / 2];
        times.sort_by(|a, b| a.1.total_cmp(&b.1));
        let alone = times[times.len() / 2].1;
        println!(
            "{:<8} {:>7.1} ms, {:>6.1} ns a record; reading alone {:>6.1} ms, {:.1} ns",
            question.name,
            ours * 1e3,
            ours * 1e9 / records as f64,
            alone * 1e3,
            alone * 1e9 / records as f64,
        );
    }
}

fn run(question: &Question, path: &PathBuf) -> u64 {
    let functions: &[Function] = match question.sum {
        Some(_) => &[Function::CountRows, Function::Sum],
        None => &[Function::CountRows],
    };
    let arguments = [None, question.sum.clone()];
    let branch = Branch {
        predicate: question.predicate.clone(),
        keys: question.keys.clone(),
        arguments: arguments.into_iter().take(functions.len()).collect(),
        filters: vec![None; functions.len()],
    };
    let aggregate = Aggregate::new(vec![branch], functions).expect("integers");
    let counters = std::sync::Arc::new(weir_tables::Counters::default());
    let source = match question.trace {
        "atm" => Source::records(path, cells_layout().into()),
        _ => Source::capture(path),
    };
    let sources = vec![source];
    let mut options = ScanOptions::default();
    options.compile = match std::env::var_os("WEIR_NO_COMPILE") {
        Some(_) => Compile::Never,
        None => Compile::Large,
    };
    let mut scan = SharedScan::new(vec![aggregate], &[], sources, options)
        .with_counters(std::sync::Arc::clone(&counters));
    while scan.step().expect("no order is promised") {}
    assert!(scan.take_errors().is_empty());
    assert!(scan.groups()[0].groups() > 0);
    counters.totals().records
}

/// The layout of the cells of the Tribeca benchmark.
fn cells_layout() -> Layout {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../benchmarks/tribeca/atm.toml"
    );
    let text = fs::read_to_string(path).expect("the layout of cells");
    Layout::parse(&text, &mut |path| Err(path.to_owned())).expect("a layout")
}

/// Returns the path of a trace, which is made when it does not exist.
fn prepare(kind: &str) -> PathBuf {
    let folder = std::env::temp_dir().join("weir-tables-bench");
    fs::create_dir_all(&folder).expect("the temporary folder can be written");
    let path = folder.join(kind);
    if !path.exists() {
        let out = BufWriter::new(File::create(&path).expect("the temporary folder can be written"));
        let made = match kind {
            "ethernet" => trace::ethernet_pcap(out, 1, 272_000_000),
            "atm" => trace::atm_cells(out, 1, 260_000_000),
            _ => trace::frame_relay_erf(out, 1, 260_000_000),
        };
        made.expect("room for a trace");
    }
    path
}

/// Returns the CPU time of this process in seconds, of user and system.
fn cpu_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/schedstat").expect("Linux");
    let nanoseconds = stat
        .split_whitespace()
        .next()
        .and_then(|word| word.parse::<f64>().ok());
    nanoseconds.expect("a number") / 1e9
}
