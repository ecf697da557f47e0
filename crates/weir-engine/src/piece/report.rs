//! Reports of what was read and found damaged, as metrics of the plan.
//!
//! Schedulers carry metrics: a name, a number, and the partition that it is of. So a count of a piece is a metric whose
//! name has the numbers of the piece and of its reading; a damaged place is a metric with all that is known of it in
//! its name. A piece that is read twice (a task was tried again, or several tasks need it) has the same metrics under
//! the same names, and counts once.

use std::collections::{BTreeMap, BTreeSet};

use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder};
use weir_capture::Certificate;
use weir_tables::{Cause, SourceError, Totals};

use crate::scan_report::{PieceProgress, ScanReport};

/// The number of a piece and of its reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PieceId {
    pub(super) reading: u32,
    pub(super) piece: u32,
}

/// Adds the counters, errors and notes of a piece to the metrics.
pub(super) fn record(
    metrics: &ExecutionPlanMetricsSet,
    partition: usize,
    id: PieceId,
    report: &ScanReport,
    certificate: Option<Certificate>,
) {
    let start = format!("{PREFIX}{}.{}", id.reading, id.piece);
    let add = |name: String, value: u64| {
        let value = usize::try_from(value).unwrap_or(usize::MAX);
        MetricBuilder::new(metrics)
            .counter(name, partition)
            .add(value);
    };
    let totals = report.counters().totals();
    for (name, of) in COUNTERS {
        add(format!("{start}.{name}"), of(&totals));
    }
    if let Some(certificate) = certificate {
        add(format!("{start}.{CUT_START}"), certificate.start);
        add(format!("{start}.{CUT_ARRIVED}"), certificate.arrived);
        add(
            format!("{start}.{CUT_UNSOUND}"),
            u64::from(!certificate.is_sound),
        );
    }
    let errors = report.take_errors();
    add(format!("{start}.{ERRORS}"), errors.len() as u64);
    for (index, error) in errors.iter().take(ERRORS_MAX).enumerate() {
        let path = &error.path;
        let hint = error.hint().unwrap_or_default();
        let text = error.to_string();
        let message = text.strip_prefix(&format!("{path}: ")).unwrap_or(&text);
        add(
            format!(
                "{start}.{ERROR}{SEPARATOR}{index}{SEPARATOR}{path}{SEPARATOR}{message}{SEPARATOR}{hint}"
            ),
            1,
        );
    }
    for note in report.take_notes() {
        add(format!("{start}.{NOTE}{SEPARATOR}{note}"), 1);
    }
}

/// The reports of the pieces of a statement.
#[derive(Debug, Default)]
pub struct Reports {
    counts: BTreeMap<(PieceId, &'static str), u64>,
    errors: BTreeMap<(PieceId, usize), (String, String, String)>,
    notes: BTreeMap<(PieceId, String), ()>,
}

impl Reports {
    /// Adds a metric; returns false when it is not of a piece.
    pub fn take(&mut self, name: &str, value: u64) -> bool {
        let Some(rest) = name.strip_prefix(PREFIX) else {
            return false;
        };
        let Some((id, rest)) = piece_id(rest) else {
            return false;
        };
        if let Some(error) = rest.strip_prefix(ERROR)
            && let Some(error) = error.strip_prefix(SEPARATOR)
        {
            let mut parts = error.splitn(4, SEPARATOR).map(ToOwned::to_owned);
            let index = parts.next().and_then(|index| index.parse().ok());
            let (Some(index), Some(path), Some(message), Some(hint)) =
                (index, parts.next(), parts.next(), parts.next())
            else {
                return false;
            };
            self.errors.insert((id, index), (path, message, hint));
            return true;
        }
        if let Some(note) = rest.strip_prefix(NOTE)
            && let Some(note) = note.strip_prefix(SEPARATOR)
        {
            self.notes.insert((id, note.to_owned()), ());
            return true;
        }
        let own = [ERRORS, CUT_START, CUT_ARRIVED, CUT_UNSOUND];
        let names = COUNTERS.iter().map(|(name, _)| *name).chain(own);
        let Some(name) = names.into_iter().find(|name| *name == rest) else {
            return false;
        };
        // Scans of the same files read alike and each of them counts the records, but the files count as read once.
        let most = self.counts.entry((id, name)).or_default();
        *most = value.max(*most);
        true
    }

    /// Returns whether a metric of this name counts how much of a piece was read.
    #[must_use]
    pub fn is_of_progress(name: &str) -> bool {
        let rest = name.strip_prefix(PREFIX).and_then(piece_id);
        rest.is_some_and(|(_, name)| matches!(name, "records" | "source_bytes"))
    }

    /// The progress of the pieces that have reported. A piece that several scans read counts once.
    #[must_use]
    pub fn progress(&self) -> PieceProgress {
        let mut progress = PieceProgress::default();
        for ((_, name), value) in &self.counts {
            match *name {
                "records" => {
                    progress.pieces += 1;
                    progress.records = progress.records.saturating_add(*value);
                }
                "source_bytes" => {
                    progress.source_bytes = progress.source_bytes.saturating_add(*value);
                }
                _ => {}
            }
        }
        progress
    }

    /// Whether these pieces of a reading, which are the parts of one file, fit together: each has reported its beginning and its
    /// end, was sound, and began where the one before it ended.
    pub(super) fn go_together(&self, reading: u32, pieces: std::ops::Range<u32>) -> bool {
        let mut before = None;
        pieces.into_iter().all(|piece| {
            let id = PieceId { reading, piece };
            let count = |name| self.counts.get(&(id, name)).copied();
            let (Some(start), Some(arrived), Some(0)) =
                (count(CUT_START), count(CUT_ARRIVED), count(CUT_UNSOUND))
            else {
                return false;
            };
            before.replace(arrived).is_none_or(|before| before == start)
        })
    }

    /// Adds it to what a session has read.
    pub fn tell(self, report: &ScanReport) {
        let mut totals = Totals::default();
        let mut errors_found = 0_u64;
        for ((_, name), value) in &self.counts {
            let sum = match *name {
                "records" => &mut totals.records,
                "bytes" => &mut totals.bytes,
                "source_bytes" => &mut totals.source_bytes,
                "dropped" => &mut totals.dropped,
                "stopped" => &mut totals.stopped,
                "unknown_link" => &mut totals.unknown_link,
                "compiled" => &mut totals.compiled,
                "compile_refused" => &mut totals.compile_refused,
                "times_beyond" => &mut totals.times_beyond,
                "late" => &mut totals.late,
                ERRORS => &mut errors_found,
                _ => continue,
            };
            // The numbers come from other machines.
            *sum = sum.saturating_add(*value);
        }
        report.counters.add(&totals);
        let left_out = errors_found.saturating_sub(self.errors.len() as u64);
        // A damaged place that several pieces have read counts once.
        let mut seen = BTreeSet::new();
        let errors = self.errors.into_values();
        let errors =
            errors.filter(|(path, message, _)| seen.insert((path.clone(), message.clone())));
        let errors = errors.map(|(path, message, hint)| SourceError {
            path,
            cause: Cause::Remote { message, hint },
        });
        report.add_errors(errors.collect());
        let mut notes: Vec<String> = self.notes.into_keys().map(|(_, note)| note).collect();
        if left_out > 0 {
            notes.push(format!("{left_out} more places are damaged"));
        }
        report.add_notes(notes);
    }
}

fn piece_id(rest: &str) -> Option<(PieceId, &str)> {
    let (reading, rest) = rest.split_once('.')?;
    let (piece, rest) = rest.split_once('.')?;
    let id = PieceId {
        reading: reading.parse().ok()?,
        piece: piece.parse().ok()?,
    };
    Some((id, rest))
}

type OfTotals = fn(&Totals) -> u64;

const COUNTERS: [(&str, OfTotals); 10] = [
    ("records", |totals| totals.records),
    ("bytes", |totals| totals.bytes),
    ("source_bytes", |totals| totals.source_bytes),
    ("dropped", |totals| totals.dropped),
    ("stopped", |totals| totals.stopped),
    ("unknown_link", |totals| totals.unknown_link),
    ("compiled", |totals| totals.compiled),
    ("compile_refused", |totals| totals.compile_refused),
    ("times_beyond", |totals| totals.times_beyond),
    ("late", |totals| totals.late),
];

const PREFIX: &str = "weir.";
const ERRORS: &str = "errors";
const ERROR: &str = "error";
const CUT_START: &str = "cut_start";
const CUT_ARRIVED: &str = "cut_arrived";
const CUT_UNSOUND: &str = "cut_unsound";
const NOTE: &str = "note";
/// No text of ours has it.
const SEPARATOR: char = '\u{1f}';
/// Damaged places of a piece that are reported one by one; the others are counted.
const ERRORS_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_counts_a_piece_once() {
        let mut reports = Reports::default();
        for (name, value) in [
            ("weir.0.0.records", 10),
            ("weir.0.0.source_bytes", 100),
            // These are another scan of the same piece, and the same task a second time.
            ("weir.0.0.records", 10),
            ("weir.0.1.records", 5),
            ("weir.0.1.errors", 1),
            ("weir.1.0.records", 1),
        ] {
            assert!(reports.take(name, value), "{name}");
        }
        let progress = reports.progress();
        assert_eq!((progress.pieces, progress.records), (3, 16));
        assert_eq!(progress.source_bytes, 100);
        assert!(Reports::is_of_progress("weir.0.1.records"));
        for other in [
            "weir.0.1.errors",
            "output_rows",
            "weir.records",
            "weir.x.0.records",
        ] {
            assert!(!Reports::is_of_progress(other), "{other}");
        }
    }
}
