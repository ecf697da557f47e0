//! Names that stand for files in FROM.

use datafusion::sql::sqlparser::ast::ObjectName;
use weir_functions::{Error, ErrorKind};

/// Whether a name in quotes stands for a file in FROM, and not for a table: `"trace.pcap"`, `"day/*"`, `"-"`.
#[must_use]
pub fn is_path(name: &str) -> bool {
    name == "-" || name.contains(['.', '/', '*'])
}

/// Refuses to make a table or a view of a name under which FROM reads a file.
pub(crate) fn look_at_made(name: &ObjectName) -> Result<(), Error> {
    let [part] = name.0.as_slice() else {
        return Ok(());
    };
    match part.as_ident() {
        Some(ident) if is_path(&ident.value) => {
            let message = format!("FROM {ident} reads a file, and no table or view");
            let hint = "take a name without . / and *: CREATE TABLE calls AS SELECT …";
            Err(Error::new(ErrorKind::Plan, message).with_hint(hint))
        }
        _ => Ok(()),
    }
}
