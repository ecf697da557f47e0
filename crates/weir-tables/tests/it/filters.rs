//! Display filters beside tshark's: over every capture, the numbers of the records that pass.
//!
//! One run of tshark applies all filters to a capture: a listener of Lua for each.

mod carried;
mod conversation_differences;
mod descriptions;
mod differences;
mod empty;
mod message_differences;
mod octets;
mod preliminary;
mod protocol;
mod quoted;
mod radius;
mod sctp;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use weir_packet::Options;
use weir_tables::{DisplayFilter, PacketFilter, Predicate, Scan, ScanOptions, Source, Table};
use weir_testkit::peer::Question;

use self::conversation_differences::CONVERSATION_DIFFERENCES;
use self::differences::DIFFERENCES;
use self::message_differences::MESSAGE_DIFFERENCES;
use crate::captures::{self, Capture};
use crate::tshark;

/// Filters for which tshark selects other records of a capture, with the side that is right, and the reason.
struct Difference {
    capture: &'static str,
    filters: &'static [&'static str],
    right: Right,
    reason: &'static str,
}

#[derive(Clone, Copy, Debug)]
enum Right {
    Weir,
    Tshark,
    /// Both results can be meant.
    Unsettled,
}

/// A set of filters, and the settings of tshark.
struct Filters {
    text: &'static str,
    least: usize,
    preferences: &'static [&'static str],
    differences: &'static [Difference],
    /// The filters are also applied to made messages, whose kinds no capture at hand has.
    made: bool,
    /// The number of filters that may select nothing.
    idle_max: usize,
}

#[test]
fn display_filters_select_the_records_that_tshark_selects() {
    agree(&Filters {
        text: include_str!("../filters.txt"),
        least: 200,
        preferences: tshark::PREFERENCES,
        differences: DIFFERENCES,
        made: false,
        idle_max: IDLE_MAX,
    });
}

/// Messages are reassembled from segments and fragments, without which headers are tested.
#[test]
fn display_filters_over_messages_select_the_records_that_tshark_selects() {
    agree(&Filters {
        text: include_str!("../filters_of_messages.txt"),
        least: 80,
        preferences: &[
            "tcp.try_heuristic_first:TRUE",
            "tcp.reassemble_out_of_order:TRUE",
            "http.desegment_body:FALSE",
        ],
        differences: MESSAGE_DIFFERENCES,
        made: true,
        idle_max: IDLE_MAX,
    });
}

/// Conversations are numbered and analyzed as tshark does with its default preferences.
#[test]
fn display_filters_over_conversations_select_the_records_that_tshark_selects() {
    agree(&Filters {
        text: include_str!("../filters_of_conversations.txt"),
        least: 60,
        preferences: &[],
        differences: CONVERSATION_DIFFERENCES,
        made: false,
        idle_max: IDLE_MAX,
    });
}

fn agree(list: &Filters) {
    if !tshark::is_installed() {
        weir_testkit::missing("tshark", "nothing judges the display filters");
        return;
    }
    let filters: Vec<&'static str> = list
        .text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .collect();
    assert!(filters.len() >= list.least, "{}", filters.len());
    let stride =
        std::env::var("WEIR_ORACLE_STRIDE").map_or(STRIDE, |stride| stride.parse().unwrap());
    let mut captures: Vec<Capture> = captures::listed("captures")
        .into_iter()
        .step_by(stride)
        .collect();
    if captures.is_empty() {
        weir_testkit::missing("captures", "nothing is filtered as tshark filters it");
        return;
    }
    if list.made {
        captures.extend(captures::messages());
    }
    captures.sort_by_key(|capture| std::cmp::Reverse(capture.bytes()));
    let scratch = tempfile::tempdir().unwrap();
    let script = scratch.path().join("filters.lua");
    std::fs::write(&script, lua(&filters)).unwrap();
    let next = AtomicUsize::new(0);
    // Some differing records of each pair of filter and capture, the number of records that tshark selects by each
    // filter, and the number of pairs.
    let found = Mutex::new((BTreeMap::new(), vec![0_usize; filters.len()], 0_usize));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(capture) = captures.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Some(theirs) =
                        by_tshark(&script, list.preferences, &capture.path, filters.len())
                    else {
                        continue;
                    };
                    for (index, theirs) in theirs.iter().enumerate() {
                        let ours = by_weir(filters[index], &capture.path);
                        let mut found = found.lock().unwrap();
                        found.1[index] += theirs.len();
                        found.2 += 1;
                        if ours != *theirs {
                            let more: Vec<u64> = ours.difference(theirs).copied().take(3).collect();
                            let less: Vec<u64> =
                                theirs.difference(&ours).copied().take(3).collect();
                            let key = (filters[index], capture.name.clone());
                            found.0.insert(key, (more, less));
                        }
                    }
                }
            });
        }
    });
    let (different, passed, pairs) = found.into_inner().unwrap();
    let listed: BTreeMap<(&str, String), (Right, &str)> = list
        .differences
        .iter()
        .flat_map(|difference| {
            let pair = |filter: &&'static str| {
                let why = (difference.right, difference.reason);
                ((*filter, difference.capture.to_owned()), why)
            };
            difference.filters.iter().map(pair)
        })
        .collect();
    let mut unexpected = String::new();
    for ((filter, capture), (more, less)) in &different {
        if !listed.contains_key(&(*filter, capture.clone())) {
            writeln!(
                unexpected,
                "{filter}\t{capture}\tonly ours {more:?}\tonly tshark's {less:?}"
            )
            .unwrap();
        }
    }
    println!(
        "{pairs} pairs of {} filters and {} captures, {} differ; {} filters select something",
        filters.len(),
        captures.len(),
        different.len(),
        passed.iter().filter(|count| **count > 0).count()
    );
    if let Some(path) = std::env::var_os("WEIR_ORACLE_REPORT") {
        std::fs::write(path, &unexpected).unwrap();
    }
    assert!(
        unexpected.is_empty(),
        "{} pairs differ that filters/differences.rs does not list:\n{unexpected}",
        unexpected.lines().count()
    );
    if stride == STRIDE {
        let not_needed: Vec<_> = listed
            .iter()
            .filter(|(pair, _)| !different.contains_key(*pair))
            .collect();
        assert!(
            not_needed.is_empty(),
            "listed differences that nothing shows: {not_needed:?}"
        );
        let idle: Vec<&str> = filters
            .iter()
            .zip(&passed)
            .filter(|(_, count)| **count == 0)
            .map(|(filter, _)| *filter)
            .collect();
        assert!(
            idle.len() <= list.idle_max,
            "filters that select nothing: {idle:?}"
        );
    }
}

/// Checks which packets of raw IP these filters select, and that tshark selects the same.
fn are_selected(packets: &[Vec<u8>], expected: &[(&str, &[u64])], preferences: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("quotes.pcap");
    crate::wire::write(packets, &path);
    are_selected_in(&path, expected, preferences);
}

/// Checks which packets of a capture these filters select, and that tshark selects the same.
fn are_selected_in(path: &Path, expected: &[(&str, &[u64])], preferences: &[&str]) {
    for (filter, expected) in expected {
        let selected: Vec<u64> = by_weir(filter, path).into_iter().collect();
        assert_eq!(selected, *expected, "{filter}");
    }
    if !tshark::is_installed() {
        weir_testkit::missing("tshark", "nothing judges filters over what is quoted");
        return;
    }
    let filters: Vec<&str> = expected.iter().map(|(filter, _)| *filter).collect();
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("filters.lua");
    std::fs::write(&script, lua(&filters)).unwrap();
    let selected = by_tshark(&script, preferences, path, filters.len()).unwrap();
    for ((filter, expected), selected) in expected.iter().zip(selected) {
        let selected: Vec<u64> = selected.into_iter().collect();
        assert_eq!(selected, *expected, "tshark: {filter}");
    }
}

/// A script that prints the number of a filter and of each record that passes it.
fn lua(filters: &[&str]) -> String {
    let mut script = String::new();
    for (index, filter) in filters.iter().enumerate() {
        writeln!(
            script,
            "do local l = Listener.new('frame', [==[{filter}]==])"
        )
        .unwrap();
        writeln!(
            script,
            "function l.packet(p) print('F {index} ' .. p.number) end end"
        )
        .unwrap();
    }
    script
}

/// Returns the records that pass each filter; `None` for a capture that tshark does not read.
fn by_tshark(
    script: &Path,
    preferences: &[&str],
    capture: &Path,
    filters: usize,
) -> Option<Vec<BTreeSet<u64>>> {
    let mut command = Question::to("tshark");
    command.args(["-n", "-q"]);
    for preference in preferences {
        command.args(["-o", preference]);
    }
    command.arg("-X").file_behind("lua_script:", script);
    command.arg("-r").file(capture);
    let answer = command.answer().unwrap();
    let message = String::from_utf8_lossy(&answer.stderr);
    assert!(!message.contains("Lua: "), "{message}");
    if !answer.is_success() && answer.stdout.is_empty() {
        return None;
    }
    let mut found = vec![BTreeSet::new(); filters];
    for line in answer.text().lines() {
        let mut words = line.split(' ');
        if words.next() != Some("F") {
            continue;
        }
        let mut number = || words.next().and_then(|word| word.parse::<u64>().ok());
        let (Some(filter), Some(record)) = (number(), number()) else {
            continue;
        };
        found[filter as usize].insert(record);
    }
    Some(found)
}

fn by_weir(filter: &str, capture: &Path) -> BTreeSet<u64> {
    let table = Table::packets();
    let number = table.position("frame.number").unwrap();
    let sources = vec![Source::capture(capture)];
    let ready = DisplayFilter::new(filter);
    let ready = ready.unwrap_or_else(|error| panic!("{filter}: {error}"));
    ready.read_messages_of(&sources, &Options::default());
    let mut scan = Scan::new(
        &table,
        &[number],
        Some(Predicate::Display(Arc::new(ready))),
        sources,
        ScanOptions::default(),
    );
    let mut found = BTreeSet::new();
    while let Some(batch) = scan.next_batch().unwrap() {
        found.extend(batch.column(0).as_primitive::<UInt64Type>().values());
    }
    found
}

/// The stride of the captures that are read: all take five minutes, and are read with `WEIR_ORACLE_STRIDE=1`.
const STRIDE: usize = 3;
/// The number of processes of tshark at a time.
const WORKERS: usize = 2;
/// The number of filters that no capture passes.
const IDLE_MAX: usize = 20;
