//! The guide's queries run on the demo's captures and find something.

use crate::samples;
use crate::slt::Runner;

#[test]
fn every_query_of_the_guide_gives_rows() {
    assert!(queries_that_give_rows("queries.md") >= 15);
}

#[test]
fn every_query_about_windows_gives_rows() {
    assert!(queries_that_give_rows("windows.md") >= 9);
}

#[test]
fn every_query_about_flows_gives_rows() {
    assert!(queries_that_give_rows("../concepts/flows.md") >= 2);
}

/// Runs the queries of a page, and says how many there are.
fn queries_that_give_rows(page: &str) -> usize {
    samples::enter();
    let path = format!("{}/../../docs/guide/{page}", env!("CARGO_MANIFEST_DIR"));
    let guide = std::fs::read_to_string(path).unwrap();
    let runner = Runner::new(&weir_engine::Options::default());
    let mut queries = 0;
    for block in guide.split("```sql\n").skip(1) {
        let sql = block.split("```").next().unwrap();
        match runner.rows(sql) {
            Ok(rows) => assert!(!rows.rows.is_empty(), "no rows:\n{sql}"),
            Err(error) => panic!("{error}:\n{sql}"),
        }
        queries += 1;
    }
    queries
}
