//! Mutated captures through every table: some of those that `cargo xtask bench robustness` makes, and its former
//! findings.

#[path = "../../benches/robustness/cases.rs"]
mod cases;

use std::panic::{self, AssertUnwindSafe};

use cases::{Bases, Question};

#[test]
fn mutated_captures_panic_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let bases = Bases::load(folder.path(), &[]).unwrap();
    assert!(bases.len() >= 11, "{}", bases.len());
    let questions = Question::all();
    let path = folder.path().join("mutated");
    let mut rows = vec![0; questions.len()];
    for number in 0..400 {
        let (name, is_recorder) = bases.write(SEED, number, &path).unwrap();
        for (question, rows) in questions.iter().zip(&mut rows) {
            if question.is_asked_of(is_recorder) {
                let answer = panic::catch_unwind(AssertUnwindSafe(|| question.ask(&path)));
                *rows += answer.unwrap_or_else(|_| {
                    panic!("seed {SEED}, capture {number} of {name}: {}", question.name)
                });
            }
        }
    }
    // A table without any rows was not tested.
    for (question, rows) in questions.iter().zip(rows) {
        assert!(rows > 0, "{}: {rows} rows", question.name);
    }
}

const SEED: u64 = 20_261_122;
