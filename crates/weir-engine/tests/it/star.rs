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

/// The star of a subquery is planned with a projection on all of its columns.
#[test]
fn the_rows_of_a_star_are_those_of_a_projection() {
    samples::enter();
    let runner = Runner::new(&Options::default());
    for star in STARS {
        let rows = runner.rows(star).unwrap();
        let projected = runner.rows(&format!("SELECT * FROM ({star})")).unwrap();
        assert!(!rows.rows.is_empty(), "{star}");
        assert_eq!(rows.names, projected.names, "{star}");
        assert_eq!(rows.rows, projected.rows, "{star}");
    }
}

#[test]
fn a_star_is_described_as_it_is_answered() {
    samples::enter();
    let engine = Engine::new(&Options::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    for star in STARS {
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
}
