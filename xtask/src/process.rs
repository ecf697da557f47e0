//! Commands that are announced, run and judged by their exit status.

use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, bail};

use crate::limit;

/// Runs a command that has to succeed, saying first how to repeat it.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = announced(command);
    judged(&line, command.status())
}

/// Runs a command like [`run`], within the time limit [`limit::STEP`].
pub(crate) fn run_limited(command: &mut Command) -> Result<()> {
    let line = announced(command);
    judged(&line, limit::status(command, limit::STEP)?)
}

/// Prints how to repeat a command.
pub(crate) fn announced(command: &Command) -> String {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let line = words.join(" ");
    eprintln!("$ {line}");
    line
}

pub(crate) fn judged(line: &str, status: std::io::Result<ExitStatus>) -> Result<()> {
    let status = status.with_context(|| format!("cannot start {line}"))?;
    if !status.success() {
        bail!("{line}: {status}");
    }
    Ok(())
}

/// Returns true when a program can be started.
pub(crate) fn installed(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

/// Reports that a tool is not there and what is not checked; an error where `WEIR_REQUIRE` lists it.
pub(crate) fn missing(tool: &str, unchecked: &str) -> Result<()> {
    let required = std::env::var("WEIR_REQUIRE").unwrap_or_default();
    if required
        .split(',')
        .any(|name| [tool, "all"].contains(&name.trim()))
    {
        bail!("{tool} is required (WEIR_REQUIRE), and is not there: {unchecked}");
    }
    eprintln!("SKIPPED: no {tool}: {unchecked}");
    Ok(())
}
