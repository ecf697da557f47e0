//! The sources of passwords and tokens.

use std::io;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use weir_capture::read_small;

use crate::session::Failure;

/// A secret out of a file, or out of the environment.
pub(crate) fn secret(file: Option<&Path>, variable: &str) -> Result<Option<String>, Failure> {
    let Some(file) = file else {
        return Ok(std::env::var(variable).ok());
    };
    let text = read(file, PIPE_WITHIN).map_err(|error| Failure::file(file, &error))?;
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

/// The text of a file, which may be a pipe (`<(…)` of a shell). One that nothing writes blocks whoever opens it, so that this is done by a
/// thread of its own.
fn read(file: &Path, within: Duration) -> io::Result<String> {
    let (sender, receiver) = mpsc::channel();
    let path = file.to_owned();
    let thread = thread::Builder::new().name("secret".to_owned());
    thread.spawn(move || {
        // The receiver is gone when the time is over.
        let _ = sender.send(read_small(&path, BYTES_MAX));
    })?;
    let bytes = receiver.recv_timeout(within).unwrap_or_else(|_| {
        let seconds = within.as_secs();
        let message = format!("the pipe has no content and no end within {seconds} s");
        Err(io::Error::new(io::ErrorKind::TimedOut, message))
    })?;
    let text = String::from_utf8(bytes);
    text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the file is not UTF-8 text"))
}

/// The size of a file with a token or a password, at most.
const BYTES_MAX: u64 = 64 << 10;
/// The time within which the content of a pipe has to come: programs that write one may ask their user first.
const PIPE_WITHIN: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(file: &Path, within: Duration) -> String {
        read(file, within).unwrap_err().to_string()
    }

    /// A token in /dev/zero took all memory, and one in a pipe that nothing writes had no end.
    #[test]
    fn files_without_an_end_are_no_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "0123456789abcdef\r\n").unwrap();
        let token = secret(Some(&file), "WEIR_NO_SUCH_VARIABLE").ok().flatten();
        assert_eq!(token.as_deref(), Some("0123456789abcdef"));
        let message = refused(Path::new("/dev/zero"), PIPE_WITHIN);
        assert!(message.contains("the limit of 65536 bytes"), "{message}");
        std::fs::File::create(&file)
            .unwrap()
            .set_len(1 << 30)
            .unwrap();
        let message = refused(&file, PIPE_WITHIN);
        assert!(message.contains("the limit of 65536 bytes"), "{message}");
        std::fs::write(&file, b"\xff").unwrap();
        assert!(refused(&file, PIPE_WITHIN).contains("UTF-8"));
        assert!(read(folder.path(), PIPE_WITHIN).is_err());
    }

    #[test]
    fn a_pipe_is_a_file_of_a_secret() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = |name: &str| {
            let path = folder.path().join(name);
            let made = std::process::Command::new("mkfifo").arg(&path).status();
            assert!(made.unwrap().success());
            path
        };
        let message = refused(&pipe("silent"), Duration::ZERO);
        assert!(message.contains("no content and no end"), "{message}");
        let written = pipe("written");
        let to = written.clone();
        let writer = thread::spawn(move || std::fs::write(to, "a token\n"));
        assert_eq!(read(&written, PIPE_WITHIN).unwrap(), "a token\n");
        writer.join().unwrap().unwrap();
    }
}
