//! Recognises records that repeat one of those right before them.

use crate::options::{ReadOptions, RepeatsKey};

/// The records right before, as `editcap -d` looks at them: a mirrored port, or two probes, give packets twice.
#[derive(Debug)]
pub(crate) struct Repeated {
    window: usize,
    /// The compared bytes of the earlier records, in a ring.
    before: Vec<Vec<u8>>,
    next: usize,
    key: Option<RepeatsKey>,
    /// The data of the next record.
    own: Vec<u8>,
}

impl Repeated {
    /// Compares each record with those before it that the options say; `None` where they say none.
    pub(crate) fn of(options: &ReadOptions) -> Option<Self> {
        let window = options.repeats_window.min(WINDOW_MAX);
        (window > 0).then(|| Self {
            window,
            before: Vec::new(),
            next: 0,
            key: options.repeats_key,
            own: Vec::new(),
        })
    }

    /// Whether it is one of the records right before again. A repetition counts as one of these for the next.
    pub(crate) fn is_one(&mut self, link_type: u32, data: &[u8]) -> bool {
        self.own.clear();
        match self.key {
            Some(key) => key(link_type, data, &mut self.own),
            None => self.own.extend_from_slice(data),
        }
        let found = self.before.contains(&self.own);
        match self.before.get_mut(self.next) {
            Some(oldest) => std::mem::swap(oldest, &mut self.own),
            None => self.before.push(std::mem::take(&mut self.own)),
        }
        self.next = (self.next + 1) % self.window;
        found
    }
}

/// Records that are kept, at most: each may have some hundred kilobytes.
const WINDOW_MAX: usize = 1_000;
