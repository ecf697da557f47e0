//! `cargo xtask bench robustness`: mutated captures through every table.

use anyhow::Result;

use crate::{cargo, root};

/// Runs the program of `weir-tables` that does it, checked against overflow as the tests are, with the words of
/// the command line and all captures that lie beside the checkout.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let root = root()?;
    let mut command = cargo(&["bench", "--package", "weir-tables", "--bench", "robustness"])?;
    command.args(["--profile", "dev", "--"]);
    let beside = root.join("../shared/data");
    for folder in ["captures", "sip", "websocket/captures", "zeek"] {
        let folder = beside.join(folder);
        match folder.canonicalize() {
            Ok(folder) => {
                command.arg(folder);
            }
            Err(_) => eprintln!("no captures in {}: generated ones only", folder.display()),
        }
    }
    crate::run(command.args(words).current_dir(root))
}
