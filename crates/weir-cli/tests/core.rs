//! Tests of the program without features: its help lists the absent commands, and each of them gives one line of error.

#![cfg(not(any(feature = "cluster", feature = "remote", feature = "serve")))]
#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

use std::process::Command;

use weir_testkit::Limited as _;

/// Status, standard output and standard error of the program.
fn weir(words: &[&str], environment: &[(&str, &str)]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_weir"))
        .args(words)
        .env_remove("WEIR_CLUSTER")
        .envs(environment.iter().copied())
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output_limited()
        .unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn what_is_not_in_the_build_is_listed_as_such() {
    let (code, help, _) = weir(&["--help"], &[]);
    assert_eq!(code, Some(0));
    let absent: Vec<&str> = help
        .lines()
        .filter(|line| line.contains("(not in this build)"))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(absent, ["serve", "cluster"]);
    let (code, help, _) = weir(&["serve", "--help"], &[]);
    assert_eq!(code, Some(0));
    assert!(help.contains("--features full"), "{help}");
    let (_, build, _) = weir(&["--version", "--verbose"], &[]);
    assert!(
        !build.contains("cluster") && !build.contains("serve"),
        "{build}"
    );
}

#[test]
fn what_is_not_in_the_build_is_refused_in_one_line() {
    let sql = "SELECT 1";
    let (_, build, _) = weir(&["--version", "--verbose"], &[]);
    // A build of the whole workspace enables the engine's remote stores for other programs.
    let reads_remote = build.contains("features: remote\n");
    assert!(
        reads_remote || build.contains("features: none\n"),
        "{build}"
    );
    for (words, environment, expected) in [
        (&["serve"][..], &[][..], "'weir serve'"),
        (
            &["serve", "--root", "day", "--pg", "x"],
            &[],
            "'weir serve'",
        ),
        (
            &["cluster", "executor", "--scheduler", "a:1"],
            &[],
            "'weir cluster'",
        ),
        (&["query", "--cluster", "local", sql], &[], "'--cluster'"),
        (&["query", sql], &[("WEIR_CLUSTER", "a:1")], "'--cluster'"),
        (
            &["query", "SELECT count(*) FROM 's3://bucket/day/a.pcap'"],
            &[],
            "object stores",
        ),
        (
            &["query", "SELECT 1", "-o", "https://host/a.parquet"],
            &[],
            "object stores",
        ),
    ] {
        if expected == "object stores" && reads_remote {
            continue;
        }
        let (code, out, err) = weir(words, environment);
        assert_eq!(code, Some(2), "{words:?}: {err}");
        assert_eq!(out, "", "{words:?}");
        let lines: Vec<&str> = err.lines().collect();
        assert_eq!(lines.len(), 2, "{words:?}: {err}");
        assert!(
            lines[0].starts_with("error: ") && lines[0].contains(expected),
            "{err}"
        );
        assert!(
            lines[1].starts_with("hint: ") && lines[1].contains("full"),
            "{err}"
        );
    }
    // The rest answers.
    let (code, out, err) = weir(&["query", "--format", "csv", "SELECT 1 + 1 AS two"], &[]);
    assert_eq!((code, out.as_str()), (Some(0), "two\n2\n"), "{err}");
}
