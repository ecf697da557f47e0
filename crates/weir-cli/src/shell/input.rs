//! Statements and commands, out of the lines that were read.

use weir_engine::statements;

/// Lines that wait for the end of their statement.
#[derive(Debug, Default)]
pub(super) struct PendingLines {
    waiting: String,
    /// The number of the line that the waiting text begins in, from 1 on.
    first_line: usize,
    lines: usize,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InputPiece {
    /// A statement of SQL, and the line that it begins in.
    Statement { text: String, line: usize },
    /// A command, which begins with a dot or a backslash.
    Command { text: String, line: usize },
}

impl PendingLines {
    /// The statements and commands that end with this text, which may be several lines.
    pub(super) fn take(&mut self, line: &str) -> Vec<InputPiece> {
        let mut pieces = Vec::new();
        for line in line.lines() {
            self.line(line, &mut pieces);
        }
        pieces
    }

    fn line(&mut self, line: &str, pieces: &mut Vec<InputPiece>) {
        self.lines += 1;
        if self.waiting.trim().is_empty() {
            self.waiting.clear();
            self.first_line = self.lines;
            if is_command(line) {
                pieces.push(InputPiece::Command {
                    text: line.trim().to_owned(),
                    line: self.lines,
                });
                return;
            }
        }
        self.waiting.push_str(line);
        self.waiting.push('\n');
        // Only a line with a semicolon ends something: long statements are not looked at line by line.
        if !line.contains(';') {
            return;
        }
        let (found, is_ended) = statements(&self.waiting);
        let whole = match is_ended {
            true => found.len(),
            false => found.len().saturating_sub(1),
        };
        for range in found.iter().take(whole) {
            pieces.push(self.piece(range.clone()));
        }
        let rest = match found.get(whole) {
            Some(range) => range.start,
            // Complete comments alone need no further input; an unfinished comment does.
            None if is_ended => self.waiting.len(),
            None => 0,
        };
        self.first_line += self.waiting.get(..rest).map_or(0, lines_of);
        self.waiting.drain(..rest);
    }

    fn piece(&self, range: std::ops::Range<usize>) -> InputPiece {
        let text = self.waiting.get(range.clone()).unwrap_or_default();
        let blank = text.len() - text.trim_start().len();
        let before = self.waiting.get(..range.start + blank).map_or(0, lines_of);
        InputPiece::Statement {
            text: text.trim().to_owned(),
            line: self.first_line + before,
        }
    }

    /// The statement at the end that has no semicolon.
    pub(super) fn rest(&mut self) -> Option<InputPiece> {
        let (found, _) = statements(&self.waiting);
        let last = found.last().map(|range| self.piece(range.clone()));
        self.waiting.clear();
        last
    }

    /// Drops the lines that wait.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Whether the next line continues a statement.
    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.trim().is_empty()
    }
}

/// True for a line that is a command and no SQL: no statement begins so.
pub(super) fn is_command(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with('\\')
        || line
            .strip_prefix('.')
            .is_some_and(|rest| !rest.starts_with(|character: char| character.is_ascii_digit()))
}

/// Whether the text can run without more input.
pub(super) fn is_whole(text: &str) -> bool {
    text.trim().is_empty() || is_command(text) || statements(text).1
}

fn lines_of(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(text: &str, line: usize) -> InputPiece {
        let text = text.to_owned();
        InputPiece::Statement { text, line }
    }

    fn command(text: &str, line: usize) -> InputPiece {
        let text = text.to_owned();
        InputPiece::Command { text, line }
    }

    #[test]
    fn statements_and_commands_come_out_in_their_order() {
        let text = ".mode csv\nSELECT 1,\n  ';' -- ;\n;\n\n\\x\nSELECT 2; SELECT\n3; -- more\n.quit\nSELECT 4";
        let mut input = PendingLines::default();
        let pieces = input.take(text);
        assert_eq!(
            pieces,
            [
                command(".mode csv", 1),
                statement("SELECT 1,\n  ';' -- ;", 2),
                command("\\x", 6),
                statement("SELECT 2", 7),
                statement("SELECT\n3", 7),
                command(".quit", 9),
            ]
        );
        assert!(input.is_waiting());
        assert_eq!(input.rest(), Some(statement("SELECT 4", 10)));
        assert_eq!(input.rest(), None);
    }

    #[test]
    fn a_dot_within_a_statement_is_no_command() {
        let mut input = PendingLines::default();
        assert_eq!(
            input.take("SELECT p\n.quit\n;"),
            [statement("SELECT p\n.quit", 1)]
        );
        assert!(!is_command(".5 + 1") && is_command("  .help") && !is_command("SELECT"));
    }

    #[test]
    fn a_comment_without_its_end_waits_for_it() {
        let mut input = PendingLines::default();
        assert_eq!(input.take("/* one;"), []);
        assert!(input.is_waiting());
        assert_eq!(
            input.take("two */ SELECT 1;"),
            [statement("/* one;\ntwo */ SELECT 1", 1)]
        );
        assert!(!input.is_waiting());
    }

    #[test]
    fn what_is_whole_is_answered() {
        for (text, whole) in [
            ("", true),
            (".help", true),
            ("SELECT 1", false),
            ("SELECT 1;", true),
            ("SELECT 1; SELECT", false),
            ("SELECT ';", false),
        ] {
            assert_eq!(is_whole(text), whole, "{text}");
        }
    }
}
