//! The guide's queries run on the demo's captures and find something.

use crate::samples;
use crate::slt::Runner;

#[test]
fn every_query_of_the_guide_gives_rows() {
    samples::enter();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/queries.md");
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
    assert!(queries >= 15, "{queries} queries only");
}
