//! Views that live from one shell to the next.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use weir_file::NewFile;

use super::input::{InputPiece, PendingLines};
use crate::failure::Failure;

/// The views of a shell, each with the statement that makes it.
#[derive(Debug, Default)]
pub(super) struct Views {
    path: Option<PathBuf>,
    list: Vec<(String, String)>,
}

impl Views {
    /// No views; `path` is the file in which they are saved.
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        let list = Vec::new();
        Self { path, list }
    }

    /// The statements of the saved views.
    ///
    /// # Errors
    /// When there is a file that cannot be read.
    pub(super) fn kept(&self) -> Result<Vec<String>, Failure> {
        let Some(path) = &self.path else {
            return Ok(Vec::new());
        };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Failure::file(path, &error)),
        };
        let mut input = PendingLines::default();
        let pieces = input.take(&text).into_iter().chain(input.rest());
        let statements = pieces.filter_map(|piece| match piece {
            InputPiece::Statement { text, .. } => Some(text),
            InputPiece::Command { .. } => None,
        });
        Ok(statements.collect())
    }

    /// Notes a view, in the place of one of its name.
    pub(super) fn note(&mut self, name: &str, statement: &str) {
        self.forget(name);
        self.list.push((name.to_owned(), statement.to_owned()));
    }

    /// Removes a view.
    pub(super) fn forget(&mut self, name: &str) {
        self.list.retain(|(known, _)| known != name);
    }

    /// The views with their statements, in the order in which they were made.
    pub(super) fn list(&self) -> &[(String, String)] {
        &self.list
    }

    /// Keeps all of them for the next shell, and those only.
    ///
    /// # Errors
    /// When there is no place for them, or it cannot be written.
    pub(super) fn save(&self) -> Result<&Path, Failure> {
        let Some(path) = &self.path else {
            return Err(Failure::environment(
                "there is no file to save views in".to_owned(),
            )
            .with_hint("a shell at a terminal without --no-config saves them in the user's data folder"));
        };
        if let Some(folder) = path.parent() {
            make_folder(folder).map_err(|error| Failure::file(folder, &error))?;
        }
        let mut text = HEAD.to_owned();
        for (_, statement) in &self.list {
            // A comment at the end of a line would hide the semicolon.
            text.push_str(&format!("{statement}\n;\n"));
        }
        let mut file = NewFile::create(path).map_err(|error| Failure::file(path, &error))?;
        file.write_all(text.as_bytes())
            .and_then(|()| file.keep())
            .map_err(|error| Failure::written(path, &error))?;
        Ok(path)
    }
}

/// Makes a folder that only its user can read: statements may name hosts, people and keys.
pub(super) fn make_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

const HEAD: &str = "-- Views that .save stored; weir shell creates them when it starts.\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_there_again() {
        let folder = std::env::temp_dir().join(format!("weir-views-{}", std::process::id()));
        let path = folder.join("weir/views.sql");
        let mut views = Views::new(Some(path.clone()));
        assert!(views.kept().unwrap().is_empty());
        views.note("a", "CREATE VIEW a AS SELECT 1");
        views.note("b", "CREATE VIEW b AS\nSELECT ';' -- b");
        views.note("a", "CREATE OR REPLACE VIEW a AS SELECT 2");
        assert_eq!(views.save().unwrap(), path);
        let again = Views::new(Some(path));
        assert_eq!(
            again.kept().unwrap(),
            [
                "CREATE VIEW b AS\nSELECT ';' -- b",
                "CREATE OR REPLACE VIEW a AS SELECT 2"
            ]
        );
        std::fs::remove_dir_all(folder).unwrap();
        assert!(Views::new(None).save().is_err());
    }
}
