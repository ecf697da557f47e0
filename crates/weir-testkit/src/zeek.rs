//! Zeek's own tests as an oracle: the captures that they read, and the logs that they expect.
//!
//! They stand beside the checkout, and in Zeek's sources, where these are: nothing of either is copied.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A test of Zeek: a capture, how it is read, and what is expected.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Case {
    /// The name of the test, such as `core.tunnels.gre`.
    pub name: String,
    /// The capture that it reads.
    pub capture: PathBuf,
    /// True when an option makes Zeek accept packets with wrong checksums.
    pub ignores_checksums: bool,
    /// The lines of the log.
    pub expected: Vec<Row>,
}

/// A line of a log by the names of its fields.
pub type Row = BTreeMap<String, String>;

/// The tests of Zeek that expect a log, such as `conn.log`, and read one capture: those in `../shared/data/zeek` beside the
/// checkout, and the others of Zeek's sources, if `WEIR_ZEEK` names their folder `testing/btest`. Without both, the peer
/// `zeek-baselines` is missing (`zeek-sources` if the folder beside the checkout has no test of this log), and the report says
/// that nothing checks `compared`, such as `messages with Zeek's sip.log`.
///
/// # Errors
///
/// A folder with expected logs cannot be read.
///
/// # Panics
///
/// `WEIR_REQUIRE` lists the peer that is missing.
pub fn cases(log: &str, compared: &str) -> io::Result<Vec<Case>> {
    let data = crate::captures::data();
    let mut cases = beside_the_checkout(&data, log)?;
    let checkout = std::env::var_os("WEIR_ZEEK").map(PathBuf::from);
    let checkout = checkout.filter(|folder| folder.join("Baseline").is_dir());
    if let Some(folder) = checkout {
        let known: BTreeSet<String> = cases.iter().map(|case| case.name.clone()).collect();
        let others = of_sources(&folder, log)?.into_iter();
        cases.extend(others.filter(|case| !known.contains(&case.name)));
    }
    if cases.is_empty() {
        // Some logs have tests only in Zeek's sources.
        let peer = match data.join("zeek").is_dir() {
            true => "zeek-sources",
            false => "zeek-baselines",
        };
        crate::missing(peer, &format!("nothing compares {compared}"));
    }
    Ok(cases)
}

/// The tests in `data/zeek`: its index has their captures, in `data/captures/zeek`, and how they are read.
fn beside_the_checkout(data: &Path, log: &str) -> io::Result<Vec<Case>> {
    let Ok(index) = fs::read_to_string(data.join("zeek/index.tsv")) else {
        return Ok(Vec::new());
    };
    let mut cases = Vec::new();
    for line in index.lines().skip(1) {
        let mut fields = line.split('\t');
        let (Some(name), Some(capture), Some(note)) = (fields.next(), fields.next(), fields.next())
        else {
            return Err(io::Error::other(format!(
                "zeek/index.tsv: {line:?} has too few fields"
            )));
        };
        let Ok(expected) = fs::read_to_string(data.join("zeek").join(name).join(log)) else {
            continue;
        };
        cases.push(Case {
            name: name.to_owned(),
            capture: data.join("captures/zeek").join(capture),
            ignores_checksums: note.contains("checksums ignored"),
            expected: rows(&expected),
        });
    }
    Ok(cases)
}

/// The tests in `testing/btest` of Zeek's sources that expect a log and read one capture.
fn of_sources(folder: &Path, log: &str) -> io::Result<Vec<Case>> {
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
