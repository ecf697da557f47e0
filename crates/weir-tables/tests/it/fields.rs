//! Tables of messages against `tshark -T fields`, value by value, over all captures beside the checkout that have the
//! protocol.
//!
//! Differences must be listed, by capture and column, with a reason; the test fails as well when an entry is no longer
//! needed. tshark has a line for a packet, with the values of all messages in it; so rows are joined by the packet that
//! completed them.
//!
//! ```text
//! cargo test -p weir-tables --test it fields -- --nocapture     the summary, a line a table
//! WEIR_ORACLE_CAPTURES=FOLDER                                 other captures, nothing listed: what is found is printed
//! ```

mod analysis;
mod dns;
mod http;
mod media;
mod settings;
mod small;
mod telephone;
mod tls;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::DataType;
use weir_testkit::peer::Question;

use crate::captures::{Capture, in_folder, listed, messages};
use crate::sip::{column, read_with_notes};
use crate::tshark;

/// A comparison of a table with tshark.
pub(crate) struct Comparison {
    /// The table.
    pub(crate) table: &'static str,
    /// The column with the packet that completed the row.
    pub(crate) frame: &'static str,
    /// tshark's names of the protocol, any of which a capture must have.
    pub(crate) protocols: &'static [&'static str],
    /// The display filter that selects the packets of tshark that count.
    pub(crate) filter: &'static str,
    /// Columns with tshark's names for them.
    pub(crate) fields: &'static [(&'static str, &'static str)],
    /// Rows that are left out: those with this value in this column.
    pub(crate) without: Option<(&'static str, &'static str)>,
    /// Preferences of tshark.
    pub(crate) preferences: &'static [&'static str],
    /// Captures and columns that differ, with the reason.
    pub(crate) differences: &'static [(&'static str, &'static str, &'static str)],
}

/// Tables, and captures whose rows tshark has none of, with the reason.
const LOST_BY_TSHARK: &[(&str, &str, &str)] = &[(
    "tls",
    "ndpi/tests__cfgs__default__pcap__heuristic_tcp_ack_payload.pcap",
    "tshark takes the zeros that fill short frames for octets of the streams, and finds no hello behind them",
)];

/// Tables, and captures whose rows tshark puts together wrongly, with the reason.
const MISREAD_BY_TSHARK: &[(&str, &str, &str)] = &[(
    "tls",
    "ndpi/tests__cfgs__default__pcap__openvpn.pcap",
    "tshark puts pieces of different messages of OpenVPN together",
)];

/// Values of a packet by the number of the field.
type FieldValues = BTreeMap<u64, Vec<Vec<String>>>;

/// Returns the captures beside the checkout that are listed, or those in the folder `WEIR_ORACLE_CAPTURES`; and whether
/// they are the former.
fn compared_captures() -> (Vec<Capture>, bool) {
    match std::env::var_os("WEIR_ORACLE_CAPTURES") {
        Some(folder) => (in_folder(Path::new(&folder)), false),
        None => (listed("captures"), true),
    }
}

/// The protocols of each capture, by its name.
fn protocols(captures: &[Capture]) -> BTreeMap<String, BTreeSet<String>> {
    static KNOWN: OnceLock<Mutex<BTreeMap<PathBuf, BTreeSet<String>>>> = OnceLock::new();
    let mut known = KNOWN.get_or_init(Mutex::default).lock().unwrap();
    let of = |capture: &Capture| {
        let protocols = known.entry(capture.path.clone()).or_insert_with(|| {
            let records = tshark::protocols(&capture.path);
            records.into_values().flatten().collect()
        });
        (capture.name.clone(), protocols.clone())
    };
    captures.iter().map(of).collect()
}

impl Comparison {
    /// Compares the parts of a table: 99 of 100 values are the same at least.
    pub(crate) fn agree(parts: &[Self]) {
        Self::agree_on(parts, 100);
    }

    /// Compares the parts of a table of a protocol that few captures have.
    pub(crate) fn few(parts: &[Self]) {
        Self::agree_on(parts, 40);
    }

    fn agree_on(parts: &[Self], least: u64) {
        if !tshark::is_installed() {
            weir_testkit::missing("tshark", "nothing judges the tables of messages");
            return;
        }
        let tallies: Vec<Option<[u64; 2]>> = parts.iter().map(Self::run).collect();
        let Some(tallies) = tallies.into_iter().collect::<Option<Vec<_>>>() else {
            return;
        };
        let [equal, all] = [0, 1].map(|at| tallies.iter().map(|tally| tally[at]).sum::<u64>());
        println!("{}: {equal} of {all} values are equal", parts[0].table);
        assert!(all > least, "{all} values");
        assert!(equal * 100 >= all * 99, "{equal} of {all}");
    }

    /// Whether tshark reads none of the rows that the table has of a capture.
    fn is_lost(&self, capture: &str) -> bool {
        let mut lost = LOST_BY_TSHARK.iter();
        lost.any(|(table, name, _)| self.table == *table && capture.ends_with(name))
    }

    /// Whether tshark puts rows of a capture together wrongly: its differences are listed, and no part of the share that is equal.
    fn is_misread(&self, capture: &str) -> bool {
        let mut misread = MISREAD_BY_TSHARK.iter();
        misread.any(|(table, name, _)| self.table == *table && capture.ends_with(name))
    }

    /// Compares; panics when something differs that is not listed, or the other way round. Returns the numbers of equal
    /// values, and of all; `None` when there is nothing to compare.
    fn run(&self) -> Option<[u64; 2]> {
        let (mut captures, is_listed) = compared_captures();
        if captures.is_empty() {
            let unchecked = format!("the table {} of what others captured", self.table);
            weir_testkit::missing("captures", &unchecked);
            return None;
        }
        if is_listed {
            captures.extend(messages());
        }
        let protocols = protocols(&captures);
        let (mut equal, mut all, mut read) = (0_u64, 0_u64, 0);
        let mut found: BTreeMap<(String, String), (u64, String)> = BTreeMap::new();
        let mut by_column: BTreeMap<&str, [u64; 2]> = BTreeMap::new();
        for capture in &captures {
            let has = &protocols[&capture.name];
            if !self.protocols.iter().any(|name| has.contains(*name)) {
                continue;
            }
            read += 1;
            let (theirs, ours) = (self.theirs(&capture.path), self.ours(&capture.path));
            if is_listed && self.is_lost(&capture.name) {
                let name = &capture.name;
                assert!(theirs.is_empty() && !ours.is_empty(), "tshark reads {name}");
                continue;
            }
            let is_misread = is_listed && self.is_misread(&capture.name);
            let frames: BTreeSet<u64> = theirs.keys().chain(ours.keys()).copied().collect();
            for frame in frames {
                for (at, (name, field)) in self.fields.iter().enumerate() {
                    let none = Vec::new();
                    let value = |values: &FieldValues| {
                        values.get(&frame).map_or(none.clone(), |it| it[at].clone())
                    };
                    let (theirs, ours) = (value(&theirs), value(&ours));
                    // tshark writes an empty text as it writes none.
                    if theirs.is_empty()
                        && matches!(&ours[..], [] | [_])
                        && ours.concat().is_empty()
                    {
                        continue;
                    }
                    let is_equal = is_same(&theirs, &ours);
                    if !is_misread {
                        all += 1;
                        equal += u64::from(is_equal);
                    }
                    let counts = by_column.entry(name).or_default();
                    counts[0] += 1;
                    if is_equal {
                        continue;
                    }
                    counts[1] += 1;
                    let key = (capture.name.clone(), (*name).to_owned());
                    let entry = found.entry(key).or_insert_with(|| {
                        (
                            0,
                            format!("packet {frame}: {field} is {theirs:?}, ours {ours:?}"),
                        )
                    });
                    entry.0 += 1;
                }
            }
        }
        println!(
            "{}: {read} captures, {all} values, {} differ: {:.3} % equal",
            self.table,
            all - equal,
            100.0 * equal as f64 / all.max(1) as f64
        );
        for (name, [all, different]) in by_column.iter().filter(|(_, counts)| counts[1] > 0) {
            println!("  {name}: {different} of {all} differ");
        }
        if !is_listed {
            for ((capture, column), (count, first)) in &found {
                println!("{capture}\t{column}\t{count}\t{first}");
            }
            return None;
        }
        let is_for = |entry: &(&str, &str, &str), key: &(String, String)| {
            key.0.ends_with(entry.0) && key.1 == entry.1
        };
        let unlisted: Vec<String> = found
            .iter()
            .filter(|(key, _)| !self.differences.iter().any(|entry| is_for(entry, key)))
            .map(|(key, (count, first))| format!("{}\t{}\t{count}\t{first}", key.0, key.1))
            .collect();
        assert!(
            unlisted.is_empty(),
            "{} not listed:\n{}",
            unlisted.len(),
            unlisted.join("\n")
        );
        let unneeded: Vec<String> = self
            .differences
            .iter()
            .filter(|entry| !found.keys().any(|key| is_for(entry, key)))
            .map(|entry| format!("{} {}", entry.0, entry.1))
            .collect();
        assert!(
            unneeded.is_empty(),
            "no longer needed:\n{}",
            unneeded.join("\n")
        );
        Some([equal, all])
    }

    /// Returns the values of tshark.
    fn theirs(&self, path: &Path) -> FieldValues {
        let mut command = Question::to("tshark");
        command.args([
            "-n",
            "-T",
            "fields",
            "-E",
            "occurrence=a",
            "-E",
            "separator=\x1e",
        ]);
        command.args(["-E", "aggregator=\x1f", "-Y", self.filter]);
        for preference in self.preferences {
            command.args(["-o", preference]);
        }
        command.args(["-e", "frame.number"]);
        for (_, field) in self.fields {
            command.args(["-e", field]);
        }
        let text = command.arg("-r").file(path).answer().unwrap().text();
        let mut values = FieldValues::new();
        for line in text.lines() {
            let mut words = line.split('\x1e');
            let Some(frame) = words.next().and_then(|word| word.parse().ok()) else {
                continue;
            };
            let of_word = |word: &str| match word {
                "" => Vec::new(),
                word => word.split('\x1f').map(str::to_owned).collect(),
            };
            let mut fields: Vec<Vec<String>> = words.map(of_word).collect();
            fields.resize(self.fields.len(), Vec::new());
            values.insert(frame, fields);
        }
        values
    }

    /// Returns the values of the table, by the packet that completed a row.
    fn ours(&self, path: &Path) -> FieldValues {
        let (batch, _) = read_with_notes(self.table, &[path], 100_000);
        let frames = column(&batch, self.frame);
        let columns: Vec<Vec<Vec<String>>> = self
            .fields
            .iter()
            .map(|(name, _)| texts(&batch, name))
            .collect();
        let left_out = self
            .without
            .map(|(name, value)| (column(&batch, name), value));
        let mut values = FieldValues::new();
        for (row, frame) in frames.iter().enumerate() {
            if left_out
                .as_ref()
                .is_some_and(|(values, value)| values[row] == *value)
            {
                continue;
            }
            // A row has no frame when its message was not seen.
            let Ok(frame) = frame.parse() else { continue };
            let of_frame = values
                .entry(frame)
                .or_insert_with(|| vec![Vec::new(); self.fields.len()]);
            for (all, column) in of_frame.iter_mut().zip(&columns) {
                all.extend(column[row].iter().cloned());
            }
        }
        values
    }
}

/// Returns the values of a column as texts: none for NULL, several for a list.
pub(crate) fn texts(batch: &RecordBatch, name: &str) -> Vec<Vec<String>> {
    let array = batch
        .column_by_name(name)
        .unwrap_or_else(|| panic!("there is no column {name}"));
    if let DataType::List(_) = array.data_type() {
        let lists = array.as_list::<i32>();
        return (0..lists.len())
            .map(|row| match lists.is_null(row) {
                true => Vec::new(),
                false => {
                    let values = arrow::compute::cast(&lists.value(row), &DataType::Utf8).unwrap();
                    let texts = values.as_string::<i32>();
                    texts
                        .iter()
                        .map(|text| text.unwrap_or("").to_owned())
                        .collect()
                }
            })
            .collect();
    }
    if let DataType::BinaryView = array.data_type() {
        let bytes = array.as_binary_view();
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        return bytes
            .iter()
            .map(|value| value.map(hex).into_iter().collect())
            .collect();
    }
    let texts = column(batch, name);
    texts
        .into_iter()
        .enumerate()
        .map(|(row, text)| {
            if array.is_null(row) {
                Vec::new()
            } else {
                vec![text]
            }
        })
        .collect()
}

/// Returns whether both have the same values, each in its notation.
fn is_same(theirs: &[String], ours: &[String]) -> bool {
    theirs.len() == ours.len()
        && theirs.iter().zip(ours).all(|(theirs, ours)| {
            theirs == ours
                || address(theirs).is_some_and(|digits| digits == *ours)
                || number(theirs).is_some_and(|theirs| Some(theirs) == number(ours))
                || is_close(theirs, ours)
        })
}

/// Returns the digits of an IPv4 address, as a column of addresses has them here.
fn address(text: &str) -> Option<String> {
    let address: std::net::Ipv4Addr = text.parse().ok()?;
    Some(
        address
            .octets()
            .iter()
            .map(|octet| format!("{octet:02x}"))
            .collect(),
    )
}

/// Parses a number or a flag in any notation.
fn number(text: &str) -> Option<u64> {
    match text {
        "true" | "True" => Some(1),
        "false" | "False" => Some(0),
        _ => match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
    }
}

/// Returns whether times are the same to the microsecond.
fn is_close(theirs: &str, ours: &str) -> bool {
    let parse = |text: &str| {
        text.contains('.')
            .then(|| text.parse::<f64>().ok())
            .flatten()
    };
    parse(theirs)
        .zip(parse(ours))
        .is_some_and(|(theirs, ours)| (theirs - ours).abs() < 1e-6)
}
