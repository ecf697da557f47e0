//! The sources of passwords and tokens.

use std::path::Path;

use crate::session::Failure;

/// A secret out of a file, or out of the environment.
pub(crate) fn secret(file: Option<&Path>, variable: &str) -> Result<Option<String>, Failure> {
    let Some(file) = file else {
        return Ok(std::env::var(variable).ok());
    };
    let text = std::fs::read_to_string(file).map_err(|error| Failure::file(file, &error))?;
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}
