//! absl and boost, where their headers and a C++ compiler are installed.

use std::process::Command;

/// Compiles and runs `peers.cpp`, which prints the same figures; says what is missing otherwise.
pub(crate) fn run(max: usize) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/dict/peers.cpp");
    let folder = std::env::temp_dir().join("weir-dict-bench");
    if std::fs::create_dir_all(&folder).is_err() {
        return;
    }
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
            Ok(output) if output.status.success() => {
                let _ = Command::new(&program).arg(max.to_string()).status();
            }
            _ => println!("\nSKIPPED: {name}, because {header} cannot be compiled here"),
        }
    }
}
