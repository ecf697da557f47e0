//! Times of a tidy and of an untidy capture that belong together.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat};
use weir_testkit::untidy::{Account, Capture};

/// Times of both captures that belong together, as the same frames have them, where they differ.
#[derive(Debug, Default)]
pub(super) struct Labels {
    /// The parent of each time in a union-find structure; true marks a time of the untidy capture.
    sets: BTreeMap<(String, bool), (String, bool)>,
}

impl Labels {
    pub(super) fn new(untidy: &Capture, account: &Account) -> Self {
        let mut labels = Self::default();
        if account.times.values().all(|shift| *shift == 0) {
            return labels;
        }
        for frame in &untidy.frames {
            if let Some(origin) = frame.origin {
                let shift = account.times.get(&origin).copied().unwrap_or(0);
                let before = timestamp(frame.time_ns.wrapping_sub(shift as u64));
                labels.join((before, false), (timestamp(frame.time_ns), true));
            }
        }
        labels
    }

    fn join(&mut self, one: (String, bool), two: (String, bool)) {
        let (one, two) = (self.root(one), self.root(two));
        if one != two {
            self.sets.insert(one.clone().max(two.clone()), one.min(two));
        }
    }

    fn root(&self, mut time: (String, bool)) -> (String, bool) {
        while let Some(next) = self.sets.get(&time) {
            time = next.clone();
        }
        time
    }

    /// The common name of all times of a set; `None` when no times differ.
    pub(super) fn of(&self, time: &str, is_untidy: bool) -> Option<String> {
        if self.sets.is_empty() {
            return None;
        }
        let (time, is_untidy) = self.root((time.to_owned(), is_untidy));
        Some(format!(
            "{time}{}",
            if is_untidy { " (untidy)" } else { "" }
        ))
    }
}

/// A time as the program writes it.
pub(super) fn timestamp(time_ns: u64) -> String {
    let time = DateTime::from_timestamp_nanos(time_ns.cast_signed());
    time.to_rfc3339_opts(SecondsFormat::Nanos, true)
}
