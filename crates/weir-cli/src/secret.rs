//! The sources of passwords and tokens.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use weir_capture::read_small;

use crate::failure::Failure;
use crate::message::Messages;

/// A secret out of a file, or out of the environment.
pub(crate) fn secret(
    file: Option<&Path>,
    variable: &str,
    messages: Messages,
) -> Result<Option<String>, Failure> {
    let Some(file) = file else {
        return Ok(std::env::var(variable).ok());
    };
    let text = read(file, PIPE_WITHIN).map_err(|error| Failure::file(file, &error))?;
    look_at_mode(file, messages);
    Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
}

/// Says so where other users of this machine can read or replace the content of a file with a secret. It is used nevertheless: a file that
/// an administrator provides may be for a group of users.
pub(crate) fn look_at_mode(file: &Path, messages: Messages) {
    if let Some(warning) = warning(file) {
        messages.warning(&warning);
    }
}

fn warning(file: &Path) -> Option<String> {
    // A pipe of a shell is that of its user, whatever its mode.
    let found = fs::metadata(file).ok().filter(fs::Metadata::is_file)?;
    let what = match mode(&found) & OTHERS {
        0 => return None,
        bits if bits & WRITE != 0 => "change",
        _ => "read",
    };
    let file = file.display();
    Some(format!(
        "other users of this machine can {what} {file}, which has a secret: 'chmod 600 {file}' leaves it to its owner"
    ))
}

#[cfg(unix)]
fn mode(of: &fs::Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::mode(of)
}

#[cfg(not(unix))]
const fn mode(_of: &fs::Metadata) -> u32 {
    0
}

/// The text of a file, which may be a pipe (`<(…)` of a shell). A pipe without a writer blocks the thread that opens it, so that this is done by a
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
        let message = format!("nothing was read from the pipe within {seconds} s");
        Err(io::Error::new(io::ErrorKind::TimedOut, message))
    })?;
    let text = String::from_utf8(bytes);
    text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "the file is not UTF-8 text"))
}

/// The size of a file with a token or a password, at most.
const BYTES_MAX: u64 = 64 << 10;
/// The time within which the content of a pipe has to come: programs that write one may ask their user first.
const PIPE_WITHIN: Duration = Duration::from_secs(120);
/// The bits of a mode by which the group of a file and all others may read or write it.
const OTHERS: u32 = 0o066;
const WRITE: u32 = 0o022;

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
        fs::write(&file, "0123456789abcdef\r\n").unwrap();
        let token = secret(Some(&file), "WEIR_NO_SUCH_VARIABLE", Messages::silent());
        let token = token.ok().flatten();
        assert_eq!(token.as_deref(), Some("0123456789abcdef"));
        let message = refused(Path::new("/dev/zero"), PIPE_WITHIN);
        assert!(message.contains("the limit of 65536 bytes"), "{message}");
        fs::File::create(&file).unwrap().set_len(1 << 30).unwrap();
        let message = refused(&file, PIPE_WITHIN);
        assert!(message.contains("the limit of 65536 bytes"), "{message}");
        fs::write(&file, b"\xff").unwrap();
        assert!(refused(&file, PIPE_WITHIN).contains("UTF-8"));
        assert!(read(folder.path(), PIPE_WITHIN).is_err());
    }

    /// A token that each user of the machine can read was taken without a word.
    #[cfg(unix)]
    #[test]
    fn files_that_others_can_read_are_reported() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        fs::write(&file, "0123456789abcdef").unwrap();
        for (mode, what) in [
            (0o600, None),
            (0o400, None),
            (0o711, None),
            (0o640, Some("can read")),
            (0o604, Some("can read")),
            (0o644, Some("can read")),
            (0o620, Some("can change")),
            (0o666, Some("can change")),
        ] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            let found = warning(&file);
            assert_eq!(found.is_some(), what.is_some(), "{mode:o}");
            let both = found.zip(what);
            assert!(
                both.is_none_or(|(found, what)| found.contains(what)),
                "{mode:o}"
            );
        }
        assert_eq!(warning(folder.path()), None);
        assert_eq!(warning(Path::new("/dev/null")), None);
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
        assert!(
            message.contains("nothing was read from the pipe"),
            "{message}"
        );
        let written = pipe("written");
        let to = written.clone();
        let writer = thread::spawn(move || fs::write(to, "a token\n"));
        assert_eq!(read(&written, PIPE_WITHIN).unwrap(), "a token\n");
        writer.join().unwrap().unwrap();
    }
}
