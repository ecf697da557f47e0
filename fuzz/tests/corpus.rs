//! Every input in `corpus/` through its target: seeds, and what fuzzing has found.

use std::fs;
use std::path::Path;

use weir_fuzz::TARGETS;

#[test]
fn every_input_of_the_corpora_keeps_the_promises() {
    for (name, run) in TARGETS {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(name);
        let mut paths: Vec<_> = fs::read_dir(&dir)
            .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
            .map(|entry| entry.expect("a name").path())
            .collect();
        paths.sort();
        assert!(!paths.is_empty(), "{} has no seeds", dir.display());
        for path in paths {
            // Shown when it panics.
            eprintln!("{}", path.display());
            run(&fs::read(&path).expect("a file"));
        }
    }
}

/// Every prefix of a seed is an input too, and cheap to try.
#[test]
fn every_prefix_of_the_seeds_keeps_the_promises() {
    for (name, run) in TARGETS {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("corpus")
            .join(name);
        for entry in fs::read_dir(dir).expect("a corpus").take(8) {
            let bytes = fs::read(entry.expect("a name").path()).expect("a file");
            for len in (0..bytes.len()).step_by(bytes.len() / 24 + 1) {
                run(&bytes[..len]);
            }
        }
    }
}
