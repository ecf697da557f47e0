//! Operators that mean one thing over all pairs of types of numbers.

use crate::samples;
use crate::slt::Runner;

const TYPES: &[&str] = &[
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "TINYINT UNSIGNED",
    "SMALLINT UNSIGNED",
    "INT UNSIGNED",
    "BIGINT UNSIGNED",
    "REAL",
    "DOUBLE",
    "DECIMAL(10, 2)",
    "DECIMAL(20, 0)",
];

/// `/` was the quotient of integers, of decimals cut to four digits or of real numbers, by what was divided.
#[test]
fn a_quotient_is_a_real_number_for_all_pairs_of_types() {
    samples::enter();
    let runner = Runner::new(&weir_engine::Options::default());
    for left in TYPES {
        for right in TYPES {
            let sql = format!(
                "SELECT l / r, arrow_typeof(l / r), avg(l / r) OVER () \
                 FROM (SELECT CAST(n AS {left}) AS l, CAST(8 AS {right}) AS r FROM (VALUES (1)) AS t (n))"
            );
            let rows = runner.rows(&sql).unwrap().rows;
            assert_eq!(rows, ["0.125 Float64 0.125"], "{left} / {right}");
            let zero = sql.replace("CAST(8 AS", "CAST(0 AS");
            let error = runner.rows(&zero).unwrap_err().to_string();
            assert!(
                error.contains("division by zero"),
                "{left} / {right}: {error}"
            );
        }
    }
    for (left, right) in [
        ("frame.len", "frame.number"),
        ("ip.ttl", "frame.number"),
        ("frame.number", "ip.id"),
    ] {
        let sql = format!("SELECT DISTINCT arrow_typeof({left} / ({right} + 1)) FROM 'net.pcap'");
        assert_eq!(runner.rows(&sql).unwrap().rows, ["Float64"], "{sql}");
    }
}

/// The mean of a decimal, which signed and unsigned numbers are together, had four digits.
#[test]
fn a_mean_is_a_real_number_of_all_types() {
    samples::enter();
    let runner = Runner::new(&weir_engine::Options::default());
    for kind in TYPES {
        for mean in ["avg(v)", "avg(DISTINCT v)", "max(m)"] {
            let sql = format!(
                "SELECT {mean}, arrow_typeof({mean}) FROM (SELECT v, avg(v) OVER () AS m \
                 FROM (SELECT CAST(n AS {kind}) AS v FROM (VALUES (1), (2), (4)) AS t (n)))"
            );
            let rows = runner.rows(&sql).unwrap().rows;
            let (value, type_of) = rows[0].split_once(' ').unwrap();
            let value: f64 = value.parse().unwrap();
            assert!(
                (value - 7.0 / 3.0).abs() < 1e-12,
                "{mean} of {kind}: {value}"
            );
            assert_eq!(type_of, "Float64", "{mean} of {kind}");
        }
    }
    let rows = runner
        .rows("SELECT avg(frame.number % 30), avg(frame.number % 30) FILTER (WHERE frame.number < 4) FROM 'net.pcap'")
        .unwrap()
        .rows;
    assert_eq!(rows, ["4.5 2.0"]);
}
