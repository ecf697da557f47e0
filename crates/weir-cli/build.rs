//! Tells the linker of a release to keep one of functions that are alike, and to pack the addresses that the
//! loader has to fill in: the program gets smaller and starts with fewer pages.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    tell_build();
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // There, and only there, the compiler brings its own linker, lld: others don't know these options. Who chose
    // another linker chose its options too.
    let brings_lld =
        is("TARGET", "x86_64-unknown-linux-gnu") && env::var_os("RUSTC_LINKER").is_none();
    let has_flags = env::var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(|flags| flags.contains("link"));
    if !is("PROFILE", "release") || !brings_lld || has_flags {
        return;
    }
    println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
    if is("HOST", "x86_64-unknown-linux-gnu") && packs_addresses() {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// What `weir --version --verbose` says. The commit is that of a release alone, or what `WEIR_COMMIT` says: a build for work on
/// the program would be made anew with each commit.
fn tell_build() {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    println!("cargo:rerun-if-env-changed=WEIR_COMMIT");
    let mut commit = variable("WEIR_COMMIT");
    if commit.is_empty() && variable("PROFILE") == "release" {
        let git = |words: &[&str]| {
            let output = Command::new("git").args(words).output().ok()?;
            let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            (output.status.success() && !text.is_empty()).then_some(text)
        };
        if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
            println!("cargo:rerun-if-changed={log}");
        }
        commit = git(&["rev-parse", "HEAD"]).unwrap_or_default();
    }
    if commit.is_empty() {
        "not known".clone_into(&mut commit);
    }
    println!("cargo:rustc-env=WEIR_COMMIT={commit}");
    println!("cargo:rustc-env=WEIR_TARGET={}", variable("TARGET"));
    println!("cargo:rustc-env=WEIR_PROFILE={}", variable("PROFILE"));
}

/// The C library of this machine fills packed addresses in: since 2.36.
fn packs_addresses() -> bool {
    let Ok(output) = Command::new("getconf").arg("GNU_LIBC_VERSION").output() else {
        return false;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.trim().rsplit(' ').next().unwrap_or_default();
    let mut parts = version
        .split('.')
        .map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (2, 36)
}
