//! Times of a tidy and of an untidy capture that belong together.

use std::collections::BTreeMap;

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
    let (seconds, ns) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, in years that begin with March.
    let days = days + 719_468;
    let era = days / 146_097;
    let day = days % 146_097;
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = match month {
        0..=9 => (era * 400 + year, month + 3),
        _ => (era * 400 + year + 1, month - 9),
    };
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ns:09}Z")
}
