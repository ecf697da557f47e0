//! Answers that are longer than the screen, in the program that the user reads long texts with.

use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

use unicode_width::UnicodeWidthStr;

/// An output that goes to standard output as long as it fits on the screen, and to a pager when it does not.
///
/// When it is dropped, the rest is written, and the pager is waited for.
pub(super) struct Paged {
    command: String,
    lines_max: usize,
    columns: usize,
    state: PagerState,
}

enum PagerState {
    /// The rows so far, which may still fit.
    Waiting {
        text: Vec<u8>,
        lines: usize,
    },
    Paging(Child),
    /// There is no pager to be had, or it has ended.
    Plain,
}

impl Paged {
    /// An output for a screen of so many lines and columns.
    pub(super) fn new(command: &str, lines: u16, columns: u16) -> Self {
        Self {
            command: command.to_owned(),
            // The prompt stands below.
            lines_max: usize::from(lines.saturating_sub(2)),
            columns: usize::from(columns.max(1)),
            state: PagerState::Waiting {
                text: Vec::new(),
                lines: 0,
            },
        }
    }

    /// Lines of the screen that a text takes.
    fn lines(&self, text: &[u8]) -> usize {
        let text = String::from_utf8_lossy(text);
        let ends = text.matches('\n').count();
        let folds = text
            .lines()
            .map(|line| line.width().saturating_sub(1) / self.columns);
        ends.saturating_add(folds.sum())
    }

    fn start(&mut self, text: &[u8]) -> io::Result<()> {
        let mut command = Command::new("sh");
        command.args(["-c", &self.command]).stdin(Stdio::piped());
        if std::env::var_os("LESS").is_none() {
            // These are the options of git: colours are kept, and the text stays on the screen.
            command.env("LESS", "FRX");
        }
        match command.spawn() {
            Ok(child) => self.state = PagerState::Paging(child),
            Err(_) => self.state = PagerState::Plain,
        }
        self.write_all(text)
    }
}

impl Write for Paged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.state {
            PagerState::Paging(child) => match &mut child.stdin {
                Some(stdin) => stdin.write(bytes),
                None => Err(io::ErrorKind::BrokenPipe.into()),
            },
            PagerState::Plain => io::stdout().write(bytes),
            PagerState::Waiting { .. } => {
                let more = self.lines(bytes);
                let PagerState::Waiting { text, lines } = &mut self.state else {
                    return Ok(0);
                };
                text.extend_from_slice(bytes);
                *lines = lines.saturating_add(more);
                if *lines > self.lines_max || text.len() > TEXT_MAX {
                    let text = std::mem::take(text);
                    self.start(&text)?;
                }
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.state {
            PagerState::Paging(Child {
                stdin: Some(stdin), ..
            }) => stdin.flush(),
            _ => Ok(()),
        }
    }
}

impl Drop for Paged {
    fn drop(&mut self) {
        // Errors are ignored: the reader has gone, or sees the failure itself.
        match std::mem::replace(&mut self.state, PagerState::Plain) {
            PagerState::Waiting { text, .. } => {
                let _ = io::stdout().write_all(&text);
            }
            PagerState::Paging(mut child) => {
                drop(child.stdin.take());
                let _ = child.wait();
            }
            PagerState::Plain => {}
        }
        let _ = io::stdout().flush();
    }
}

/// A text without lines is not waited for.
const TEXT_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pager_comes_with_the_first_line_too_many() {
        let folder = std::env::temp_dir().join(format!("weir-pager-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("paged");
        let command = format!("cat > '{}'", file.display());
        let mut paged = Paged::new(&command, 6, 10);
        paged.write_all(b"1\n2\n3\n").unwrap();
        assert!(matches!(paged.state, PagerState::Waiting { lines: 3, .. }));
        // The line takes two lines of the screen.
        paged.write_all("日本語日本語\n".as_bytes()).unwrap();
        assert!(matches!(paged.state, PagerState::Paging(_)));
        paged.write_all(b"5\n").unwrap();
        drop(paged);
        let seen = std::fs::read_to_string(&file).unwrap();
        assert_eq!(seen, "1\n2\n3\n日本語日本語\n5\n");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
