//! Tests of `SELECT *`, whose addresses become text behind all else that is planned: its columns and rows are those of a
//! plan that names each column.

use std::collections::VecDeque;

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
