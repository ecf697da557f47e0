//! Tests of `SELECT *`, whose addresses become text behind all else that is planned: its columns and rows are those of a
//! plan that names each column.

use std::collections::VecDeque;
use std::io::Write as _;
use std::path::Path;

use weir_engine::{Engine, Options};

use crate::samples;
use crate::slt::Runner;

const STARS: [&str; 4] = [
    "SELECT * FROM 'net.pcap'",
    "SELECT * FROM 'demo/office.pcapng' LIMIT 7",
    "SELECT * FROM 'demo/office.pcapng' AS o WHERE ip.proto = 17 LIMIT 7",
    "SELECT * FROM 'net.pcap' WHERE frame.number > 2",
];

/// Zones of the session.
const ZONES: [&str; 2] = ["UTC", "Europe/Berlin"];

fn options(zone: &str) -> Options {
    let mut options = Options::default();
    options.time_zone = Some(zone.to_owned());
    options
}

/// The star of a subquery is planned with a projection on all of its columns, which takes seconds without optimization.
#[test]
fn the_rows_of_a_star_are_those_of_a_projection() {
    samples::enter();
    for (zone, star) in [(ZONES[0], STARS[0]), (ZONES[1], STARS[2])] {
        let runner = Runner::new(&options(zone));
        let rows = runner.rows(star).unwrap();
        let projected = runner.rows(&format!("SELECT * FROM ({star})")).unwrap();
        assert!(!rows.rows.is_empty(), "{zone}: {star}");
        assert_eq!(rows.names, projected.names, "{zone}: {star}");
        assert_eq!(rows.rows, projected.rows, "{zone}: {star}");
    }
}

#[test]
fn a_star_is_described_as_it_is_answered() {
    samples::enter();
    for zone in ZONES {
        let engine = Engine::new(&options(zone)).unwrap();
        for star in STARS {
            check_description(&engine, star);
        }
    }
}

/// Checks that the description of an answer before it is planned has its columns.
fn check_description(engine: &Engine, star: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut statements = VecDeque::from(engine.parse(star).unwrap());
    let statement = statements.front().unwrap().clone();
    let described = runtime.block_on(engine.describe(statement)).unwrap();
    let planned = runtime.block_on(engine.plan_next(&mut statements)).unwrap();
    let [planned] = planned.as_slice() else {
        panic!("{star} is {} statements", planned.len());
    };
    let schema = planned.schema();
    assert_eq!(schema, described.schema, "{star}");
    assert_eq!(
        planned.address_origins(),
        described.address_origins,
        "{star}"
    );
    let mut addresses = 0;
    for (field, origin) in schema.fields().iter().zip(planned.address_origins()) {
        assert!(!weir_tables::is_address(field), "{star}: {field}");
        if let Some(origin) = origin {
            assert_eq!(origin, field.name(), "{star}");
            addresses += 1;
        }
    }
    assert!(addresses > 2, "{star}: {addresses} columns are addresses");
}

/// The columns of a file, as an answer with all of them is described; `None` when they are not found.
fn columns(sample_bytes_max: Option<u64>, path: &Path) -> Option<Vec<String>> {
    let mut options = options("UTC");
    options.sample_bytes_max = sample_bytes_max;
    let engine = Engine::new(&options).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let sql = format!("SELECT * FROM '{}'", path.display());
    let statement = engine.parse(&sql).unwrap().pop().unwrap();
    let described = runtime.block_on(engine.describe(statement)).ok()?;
    let fields = described.schema.fields().iter();
    let fields = fields.map(|field| format!("{} {:?}", field.name(), field.data_type()));
    Some(fields.collect())
}

/// JSON was read whole for its columns, and CSV as far as 20,480 rows, however long these are: lists of files waited for that.
#[test]
fn columns_are_taken_from_as_many_bytes_as_may_be_read() {
    let folder = std::env::temp_dir().join(format!("weir-sampled-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut lines = vec!["{\"a\":1}"; 500];
    lines.push("{\"a\":1.5,\"late\":true}");
    let (json_lines, json_array) = (lines.join("\n"), format!("[{}]", lines.join(",")));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(json_lines.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let csv = format!("a,late\n{}1.5,true\n", "12,\n".repeat(500));
    let (first_of_json, all) = (vec!["a Int64"], ["a Float64", "late Boolean"]);
    for (name, bytes, first) in [
        ("x.ndjson", json_lines.as_bytes(), first_of_json.clone()),
        ("y.json", json_array.as_bytes(), first_of_json.clone()),
        ("z.ndjson.gz", packed.as_slice(), first_of_json),
        ("x.csv", csv.as_bytes(), vec!["a Int64", "late Utf8"]),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        for bytes_max in 1000..1010 {
            assert_eq!(columns(Some(bytes_max), &path).unwrap(), first, "{name}");
        }
        for bytes_max in [Some(1 << 20), None] {
            assert_eq!(columns(bytes_max, &path).unwrap(), all, "{name}");
        }
    }
    let long = "x".repeat(2000);
    for (name, text) in [
        ("long.ndjson", format!("{{\"a\":\"{long}\"}}\n")),
        ("long.csv", format!("{long}\n1\n")),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        assert_eq!(columns(Some(1000), &path), None, "{name}");
        assert_eq!(columns(None, &path).unwrap().len(), 1, "{name}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
