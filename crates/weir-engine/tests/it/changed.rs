//! Statements that were changed at random, as a server takes them from strangers: each is refused or planned, and none
//! panics or grows without bound.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;

use weir_engine::{Engine, Options, Statement};
use weir_testkit::{Rng, mutate};

use crate::samples;

/// The statements of the language's own tests.
fn seeds() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/slt");
    let mut files: Vec<PathBuf> = (std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let texts = files
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap());
    let mut seeds = Vec::new();
    for text in texts {
        // A statement stands between a line that says what follows and its answer, or an empty line.
        for part in text.split("\n\n") {
            let mut lines = part.lines().skip_while(|line| line.starts_with('#'));
            let first = lines.next().unwrap_or_default();
            if ["query", "statement"]
                .iter()
                .any(|word| first.starts_with(word))
            {
                let sql: Vec<&str> = lines.take_while(|line| *line != "----").collect();
                seeds.push(sql.join("\n"));
            }
        }
    }
    assert!(seeds.len() > 300, "{} statements", seeds.len());
    seeds
}

/// A statement with some of its bytes, its words or its parts changed.
fn changed(random: &mut Rng, seeds: &[String]) -> String {
    let sql = random.pick(seeds);
    match random.below(4) {
        0 => {
            let mut bytes = sql.clone().into_bytes();
            for _ in 0..random.between(1, 4) {
                mutate::bytes(random, &mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        }
        1 => {
            let other = random.pick(seeds);
            let mut words: Vec<&str> = sql.split_inclusive(' ').collect();
            let others: Vec<&str> = other.split_inclusive(' ').collect();
            for _ in 0..random.between(1, 4) {
                let at = random.below(words.len() as u64) as usize;
                words[at] = *random.pick::<&str>(&others);
            }
            words.concat()
        }
        2 => {
            let (one, other) = (
                sql.trim_end_matches(';'),
                random.pick(seeds).trim_end_matches(';'),
            );
            match random.below(4) {
                0 => format!("WITH x AS ({one}) {other}"),
                1 => format!("SELECT * FROM ({one}) a CROSS JOIN ({other}) b"),
                2 => format!("{one} UNION ALL {other}"),
                _ => format!("EXPLAIN SELECT count(*) FROM ({one})"),
            }
        }
        _ => {
            let digits = [
                "0",
                "1",
                "-1",
                "65536",
                "4294967296",
                "9223372036854775807",
                "18446744073709551616",
                "1e400",
            ];
            let number = random.pick(&digits);
            let mut text = String::new();
            let mut is_number = false;
            for letter in sql.chars() {
                match (letter.is_ascii_digit(), is_number) {
                    (true, true) => {}
                    (true, false) if random.percent(40) => text.push_str(number),
                    _ => text.push(letter),
                }
                is_number = letter.is_ascii_digit();
            }
            text
        }
    }
}

#[test]
fn changed_statements_are_refused_or_planned() {
    let mut options = Options::default();
    options.roots = vec![samples::enter().to_path_buf()];
    options.read_only = true;
    options.memory_limit_bytes = Some(200 << 20);
    options.threads = Some(1);
    let seeds = seeds();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut random = Rng::new(0x5eed);
    let (mut planned, mut refused) = (0, 0);
    for number in 0..STATEMENTS {
        let sql = changed(&mut random, &seeds);
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let statements = Statement::parse(&sql)?;
            runtime.block_on(async {
                let engine = Engine::new(&options)?;
                for statement in statements {
                    engine.describe(statement).await?;
                }
                Ok::<(), weir_engine::Error>(())
            })
        }));
        match outcome {
            Ok(Ok(())) => planned += 1,
            Ok(Err(error)) => {
                assert!(!error.to_string().is_empty(), "{number}: {sql}");
                refused += 1;
            }
            Err(_) => panic!("statement {number} panics:\n{sql}"),
        }
    }
    // Neither of both is what nearly all come to.
    assert!(
        planned > STATEMENTS / 20,
        "{planned} planned, {refused} refused"
    );
    assert!(
        refused > STATEMENTS / 20,
        "{planned} planned, {refused} refused"
    );
}

const STATEMENTS: usize = 1000;
