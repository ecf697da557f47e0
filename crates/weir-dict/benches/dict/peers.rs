//! absl and boost, where their headers and a C++ compiler are installed.

use std::path::PathBuf;
use std::process::Command;

/// A peer that has been compiled.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    program: PathBuf,
}

/// Compiles `peers.cpp` for each peer; otherwise prints what is missing.
pub(crate) fn compile() -> Vec<Peer> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/dict/peers.cpp");
    let folder = std::env::temp_dir().join("weir-dict-bench");
    if std::fs::create_dir_all(&folder).is_err() {
        return Vec::new();
    }
    let mut peers = Vec::new();
    for (name, header, libraries) in [
        ("boost", "boost/unordered/unordered_flat_map.hpp", &[][..]),
        (
            "absl",
            "absl/container/flat_hash_map.h",
            &[
                "-labsl_raw_hash_set",
                "-labsl_hash",
                "-labsl_city",
                "-labsl_low_level_hash",
                "-labsl_hashtablez_sampler",
                "-labsl_synchronization",
                "-labsl_throw_delegate",
            ][..],
        ),
    ] {
        let program = folder.join(name);
        let compiled = Command::new("c++")
            .args(["-O2", "-std=c++17", "-o"])
            .arg(&program)
            .arg(format!("-DPEER_{}", name.to_uppercase()))
            .arg(source)
            .args(libraries)
            .output();
        match compiled {
            Ok(output) if output.status.success() => peers.push(Peer { name, program }),
            _ => println!("\nSKIPPED: {name}, because {header} cannot be compiled here"),
        }
    }
    peers
}

impl Peer {
    /// Runs a measurement, which prints `count` figures.
    fn run(&self, words: [&str; 2], count: usize) -> Vec<f64> {
        let output = Command::new(&self.program).args(words).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let figures: Vec<f64> = text
            .unwrap_or_default()
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        assert_eq!(figures.len(), count, "{} {words:?}", self.name);
        figures
    }

    /// Measures as `by_size` does.
    pub(crate) fn by_size(&self, size: usize) -> Vec<f64> {
        self.run(["size", &size.to_string()], 7)
    }

    /// Measures as `many_small` does, with keys of `key` bytes.
    pub(crate) fn small(&self, key: usize) -> Vec<f64> {
        self.run(["small", &key.to_string()], 3)
    }

    /// Measures as `insertions` does.
    pub(crate) fn worst(&self, size: usize) -> Vec<f64> {
        self.run(["worst", &size.to_string()], 3)
    }

    /// Measures as `iterate` does.
    pub(crate) fn iterate(&self, size: usize) -> Vec<f64> {
        self.run(["iterate", &size.to_string()], 3)
    }
}
