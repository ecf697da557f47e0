//! Validation of job IDs, session IDs, executor IDs, hosts and ports. Job IDs become names of directories.

use super::{Checked, Refused, shown};

/// Validates a job ID, which becomes the name of a directory: it has no separators and no dots. Nor has it a hyphen, as the mark of a work
/// directory and the directories that operators spill to: the removal of the rows of a job removes none of these.
pub(crate) fn job_id(id: &str) -> Checked {
    is_of("job ID", id, 64, |byte| {
        byte.is_ascii_alphanumeric() || byte == b'_'
    })
}

pub(crate) fn session_id(id: &str) -> Checked {
    is_of("session ID", id, 200, is_plain)
}

pub(crate) fn executor_id(id: &str) -> Checked {
    is_of("executor ID", id, 200, is_plain)
}

/// Validates a host name or an IP address.
pub(crate) fn host(name: &str) -> Checked {
    is_of("host", name, 255, |byte| {
        is_plain(byte) || b"[]%".contains(&byte)
    })
}

pub(crate) fn port(number: u32) -> Checked {
    match u16::try_from(number) {
        Ok(number) if number > 0 => Ok(()),
        _ => Err(Refused::malformed(format!("{number} is not a port"))),
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte)
}

fn is_of(what: &str, id: &str, most: usize, is_allowed: impl Fn(u8) -> bool) -> Checked {
    match !id.is_empty() && id.len() <= most && id.bytes().all(is_allowed) {
        true => Ok(()),
        false => Err(Refused::malformed(format!(
            "\"{}\" is not a valid {what}",
            shown(id)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_jobs_are_no_paths() {
        for id in ["k9Xw3", "job1_2", &"a".repeat(64)] {
            assert!(job_id(id).is_ok(), "{id}");
        }
        for id in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "/etc",
            "a\\b",
            "a\0",
            "a b",
            "ä",
            "-rf",
            "made-by-weir",
            "datafusion-510wOf",
            &"a".repeat(65),
        ] {
            assert!(job_id(id).is_err(), "{id}");
        }
        let message = job_id("../\n\u{1b}[31m").unwrap_err().to_string();
        assert!(!message.contains(char::is_control), "{message:?}");
    }

    #[test]
    fn names_of_machines_are_no_addresses_of_the_web() {
        for name in ["127.0.0.1", "[::1]", "node-1.example", "fe80::1%eth0"] {
            assert!(host(name).is_ok(), "{name}");
        }
        for name in ["", "a/b", "user@host", "a?b", "a#b", "a b"] {
            assert!(host(name).is_err(), "{name}");
        }
        assert!(port(1).is_ok() && port(65_535).is_ok());
        assert!(port(0).is_err() && port(65_536).is_err() && port(u32::MAX).is_err());
    }
}
