//! The versions of compilers and peers that the gate runs with: it prints them at its start and writes them to `gate.json`.

use std::process::{Command, Stdio};

/// The programs whose versions are looked up, and how. A program that is not there is listed as missing.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("rustc", &["rustc", "--version"]),
    ("cargo", &["cargo", "--version"]),
    ("clippy", &["cargo", "clippy", "--version"]),
    ("nightly", &["cargo", "+nightly", "--version"]),
    ("cargo-deny", &["cargo", "deny", "--version"]),
    ("cargo-fuzz", &["cargo", "fuzz", "--version"]),
    ("mdbook", &["mdbook", "--version"]),
    ("cc", &["cc", "--version"]),
    ("tshark", &["tshark", "--version"]),
    ("sipp", &["sipp", "-v"]),
    ("erlang", &["erl", "-noshell", "-eval", ERLANG]),
    ("psql", &["psql", "--version"]),
    ("openssl", &["openssl", "version"]),
    ("chromium", &["chromium", "--version"]),
    ("chromedriver", &["chromedriver", "--version"]),
    ("valgrind", &["valgrind", "--version"]),
    ("zstd", &["zstd", "--version"]),
    ("python", &["python3", "--version"]),
    ("python packages", &["python3", "-c", PACKAGES]),
    ("node", &["node", "--version"]),
    ("ws", &["node", "-p", "require('ws/package.json').version"]),
    ("go", &["go", "version"]),
    ("java", &["java", "-version"]),
];

/// OTP's release, and megaco's own version.
const ERLANG: &str = "ok = application:load(megaco), {ok, V} = application:get_key(megaco, vsn), \
     io:format(\"OTP ~s, megaco ~s~n\", [erlang:system_info(otp_release), V]), halt().";

/// All packages in one line.
const PACKAGES: &str = "from importlib.metadata import distributions as all; \
     print(*sorted({f'{it.name} {it.version}' for it in all()}, key=str.lower), sep=', ')";

/// Names and versions.
pub(crate) fn all() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = PROGRAMS
        .iter()
        .map(|(name, words)| {
            (
                (*name).to_owned(),
                of(words).unwrap_or_else(|| MISSING.into()),
            )
        })
        .collect();
    if let Some(driver) = std::env::var_os("WEIR_PGJDBC") {
        let driver = std::path::PathBuf::from(driver);
        let name = driver.file_stem().unwrap_or_default().to_string_lossy();
        all.push(("pgjdbc".to_owned(), name.into_owned()));
    }
    all
}

const MISSING: &str = "not there";

/// The first line with a digit of what a program says of itself.
fn of(words: &[&str]) -> Option<String> {
    let (program, arguments) = words.split_first()?;
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    // sipp ends with 99, and Java writes to standard error.
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let refused = !output.status.success() && *program != "sipp";
    let line = said
        .lines()
        .find(|line| line.contains(|c: char| c.is_ascii_digit()));
    line.filter(|_| !refused).map(|line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_what_programs_say_of_themselves() {
        assert!(of(&["rustc", "--version"]).is_some_and(|said| said.starts_with("rustc 1.")));
        assert_eq!(of(&["there is no such program"]), None);
        assert_eq!(of(&["sh", "-c", "echo 1; exit 1"]), None);
        assert_eq!(
            of(&["sh", "-c", "echo words; echo version 7"]).as_deref(),
            Some("version 7")
        );
    }
}
