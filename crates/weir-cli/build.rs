//! Tells the linker of a release to keep one of functions that are alike, and to pack the addresses that the
//! loader has to fill in: the program gets smaller and starts with fewer pages.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    print_build();
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if !is("PROFILE", "release") || !is("CARGO_CFG_TARGET_OS", "linux") {
        return;
    }
    // lld, which the compiler brings for x86-64, mold and gold fold identical functions; GNU's linker rejects the option.
    if Trial::of(FOLD).is_some() {
        println!("cargo:rustc-link-arg-bins={FOLD}");
    }
    // The C library fills packed addresses in since glibc 2.36, and what is linked so says that it needs that: only a
    // program that starts here is known to find it.
    let runs_here = env::var("HOST") == env::var("TARGET") && is("CARGO_CFG_TARGET_ENV", "gnu");
    if runs_here && Trial::of(PACK).is_some_and(|trial| trial.starts()) {
        println!("cargo:rustc-link-arg-bins={PACK}");
    }
}

const FOLD: &str = "-Wl,--icf=all";
const PACK: &str = "-Wl,-z,pack-relative-relocs";

/// An empty program, linked like the real one with one additional option.
struct Trial(PathBuf);

impl Trial {
    /// Links the program; `None` when the linker refuses the option.
    fn of(option: &str) -> Option<Self> {
        let folder = PathBuf::from(env::var_os("OUT_DIR")?);
        let (source, program) = (folder.join("trial.rs"), folder.join("trial"));
        fs::write(&source, "fn main() {}\n").ok()?;
        let mut compiler = Command::new(env::var_os("RUSTC")?);
        compiler.args(["--crate-name", "trial", "--edition", "2024"]);
        compiler.arg("--target").arg(env::var_os("TARGET")?);
        if let Some(mut linker) = env::var_os("RUSTC_LINKER").filter(|linker| !linker.is_empty()) {
            linker = ["linker=".into(), linker].into_iter().collect();
            compiler.arg("-C").arg(linker);
        }
        let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
        compiler.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
        compiler.arg("-C").arg(format!("link-arg={option}"));
        compiler.arg("-o").arg(&program).arg(&source);
        let output = compiler.output().ok()?;
        output.status.success().then_some(Self(program))
    }

    fn starts(&self) -> bool {
        Command::new(&self.0)
            .output()
            .is_ok_and(|output| output.status.success())
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Sets the text of `weir --version --verbose`. Only a release and a build with `WEIR_COMMIT` contain the commit: a development
/// build would otherwise be rebuilt after each commit.
fn print_build() {
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
