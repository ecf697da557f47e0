//! Zeek's own tests as an oracle: the captures that they read, and the logs that they expect.
//!
//! Of a checkout of Zeek's sources, which stays where it is: nothing of it is copied.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A test of Zeek: a capture, how it is read, and what is expected.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Case {
    /// Its name, such as `core.tunnels.gre`.
    pub name: String,
    /// The capture that it reads.
    pub capture: PathBuf,
    /// True when Zeek is told to take packets with wrong checksums.
    pub ignores_checksums: bool,
    /// The lines of the log.
    pub expected: Vec<Row>,
}

/// A line of a log by the names of its fields.
pub type Row = BTreeMap<String, String>;

/// The folder `testing/btest` of Zeek's sources, which `WEIR_ZEEK` names. Without it says loudly what is not
/// compared, as in `messages with Zeek's sip.log`.
#[must_use]
pub fn checkout(compared: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("WEIR_ZEEK").map(PathBuf::from);
    let folder = folder.filter(|folder| folder.join("Baseline").is_dir());
    if folder.is_none() {
        eprintln!(
            "SKIPPED: WEIR_ZEEK does not name the folder testing/btest of Zeek's sources: \
             nothing compares {compared}"
        );
    }
    folder
}

/// The tests that expect a log, out of the selection that stands beside a checkout of weir: a folder a test
/// with the logs, an index of the captures, and the captures.
///
/// # Errors
///
/// The index is there and cannot be read.
pub fn selected(folder: &Path, captures: &Path, log: &str) -> io::Result<Vec<Case>> {
    let index = fs::read_to_string(folder.join("index.tsv"))?;
    let case = |line: &str| {
        let mut fields = line.split('\t');
        let (name, capture, note) = (fields.next()?, fields.next()?, fields.next()?);
        let text = fs::read_to_string(folder.join(name).join(log)).ok()?;
        let capture = captures.join(capture);
        let case = Case {
            name: name.to_owned(),
            ignores_checksums: note.contains("checksums"),
            expected: rows(&text),
            capture,
        };
        case.capture.is_file().then_some(case)
    };
    Ok(index.lines().skip(1).filter_map(case).collect())
}

/// The tests that expect a log, such as `conn.log`, and read one capture. `folder` is `testing/btest` of
/// Zeek's sources.
///
/// # Errors
///
/// The folder with the expected logs cannot be read.
pub fn cases(folder: &Path, log: &str) -> io::Result<Vec<Case>> {
    let mut baselines = fs::read_dir(folder.join("Baseline"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()?;
    baselines.sort();
    Ok(baselines
        .iter()
        .filter_map(|baseline| case(folder, baseline, log))
        .collect())
}

fn case(folder: &Path, baseline: &Path, log: &str) -> Option<Case> {
    let name = baseline.file_name()?.to_string_lossy().into_owned();
    let expected = rows(&fs::read_to_string(baseline.join(log)).ok()?);
    let script = folder.join(name.replace('.', "/"));
    let script = ["zeek", "test", "sh", "bro"]
        .iter()
        .find_map(|end| fs::read_to_string(script.with_extension(end)).ok())?;
    // A test that reads several captures has the log of one of them, and does not say of which.
    let mut reads = read_by(&script).into_iter();
    let (Some((capture, ignores_checksums)), None) = (reads.next(), reads.next()) else {
        return None;
    };
    let capture = folder.join("Traces").join(capture);
    let case = Case {
        name,
        capture,
        ignores_checksums,
        expected,
    };
    case.capture.is_file().then_some(case)
}

/// The rows of a log in Zeek's format, or of columns that `zeek-cut` took out of one; none of another text.
#[must_use]
pub fn rows(text: &str) -> Vec<Row> {
    let mut names: Vec<&str> = Vec::new();
    let mut rows = Vec::new();
    for line in text.lines() {
        if let Some(fields) = line.strip_prefix("#fields\t") {
            names = fields.split('\t').collect();
        } else if line.starts_with('#') {
            continue;
        } else if names.is_empty() {
            names = line.split('\t').collect();
            let is_name = |name: &&str| name.bytes().all(|byte| byte == b'.' || is_word(byte));
            if !names.iter().all(is_name) {
                return Vec::new();
            }
        } else {
            let values = line.split('\t').map(str::to_owned);
            let names = names.iter().map(|name| (*name).to_owned());
            rows.push(names.zip(values).collect());
        }
    }
    rows
}

const fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// The captures that a test reads, and whether it does so with `-C`.
fn read_by(script: &str) -> BTreeSet<(String, bool)> {
    script
        .lines()
        .filter(|line| line.contains("@TEST-EXEC") && line.contains("zeek"))
        .filter_map(|line| {
            let (_, after) = line.split_once("-r")?;
            let path = after.split_whitespace().next()?;
            let path = path.trim_matches(['"', '\'']);
            let path = path
                .strip_prefix("$TRACES/")
                .or_else(|| path.strip_prefix("${TRACES}/"))?;
            let ignores = line.split_whitespace().any(|word| {
                word.strip_prefix('-')
                    .is_some_and(|flags| !flags.starts_with('-') && flags.contains('C'))
            });
            let ignores = ignores
                || script.contains("ignore_checksums = T")
                || script.contains("ignore_checksums=T");
            Some((path.to_owned(), ignores))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_and_cut_logs_are_read() {
        let whole =
            "#separator \\x09\n#fields\tts\tid.orig_h\n#types\ttime\taddr\n1.0\t10.0.0.1\n#close\n";
        let cut = "### made by a test\nts\tid.orig_h\n1.0\t10.0.0.1\n";
        for text in [whole, cut] {
            let rows = rows(text);
            assert_eq!(rows.len(), 1);
            assert_eq!(rows[0]["id.orig_h"], "10.0.0.1");
        }
        assert!(rows("Some words, and more.\n1.0\n").is_empty());
    }

    #[test]
    fn a_script_says_what_it_reads() {
        let script = "# @TEST-EXEC: zeek -b -C -r $TRACES/sip/a.pcap %INPUT >out\n# zeek -r $TRACES/b.pcap\n";
        let read: Vec<(String, bool)> = read_by(script).into_iter().collect();
        assert_eq!(read, [("sip/a.pcap".to_owned(), true)]);
    }
}
