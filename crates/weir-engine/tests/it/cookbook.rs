//! The cookbook's queries give the answers that stand behind them.

use crate::samples;
use crate::slt::Runner;

#[test]
fn every_query_of_the_cookbook_gives_the_answer_that_stands_there() {
    samples::enter();
    let path = format!("{}/../../docs/cookbook.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(&path).unwrap();
    let runner = Runner::new(&weir_engine::Options::default());
    let mut blessed = String::new();
    let mut wrong = String::new();
    let mut queries = 0;
    let mut rest = page.as_str();
    while let Some((before, after)) = rest.split_once("```sql\n") {
        let (sql, after) = after.split_once("```\n\n```text\n").unwrap();
        let (expected, after) = after.split_once("```\n").unwrap();
        let answer = runner
            .rows(sql)
            .unwrap_or_else(|error| panic!("{error}:\n{sql}"));
        assert!(!answer.rows.is_empty(), "no rows:\n{sql}");
        let mut found = answer.names.join(" | ") + "\n";
        for row in &answer.rows {
            found.push_str(row);
            found.push('\n');
        }
        if found != expected {
            wrong.push_str(&format!("{sql}expected:\n{expected}found:\n{found}\n"));
        }
        blessed.push_str(&format!(
            "{before}```sql\n{sql}```\n\n```text\n{found}```\n"
        ));
        queries += 1;
        rest = after;
    }
    blessed.push_str(rest);
    if std::env::var_os("WEIR_BLESS").is_some() {
        std::fs::write(&path, blessed).unwrap();
        return;
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(queries, 58);
}
