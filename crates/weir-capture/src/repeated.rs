//! Recognises records that repeat one of those right before them.

/// The records right before, as `editcap -d` looks at them: a mirrored port, or two probes, give packets twice.
#[derive(Debug)]
pub(crate) struct Repeated {
    window: usize,
    /// Their bytes, in a ring.
    before: Vec<Vec<u8>>,
    next: usize,
}

impl Repeated {
    /// Compares each record with the `window` records before it; `None` for none.
    pub(crate) fn of(window: usize) -> Option<Self> {
        (window > 0).then(|| Self {
            window: window.min(WINDOW_MAX),
            before: Vec::new(),
            next: 0,
        })
    }

    /// Whether one of the records right before has the same bytes. A repetition counts as one of these for the next.
    pub(crate) fn is_one(&mut self, data: &[u8]) -> bool {
        let found = self.before.iter().any(|before| before == data);
        match self.before.get_mut(self.next) {
            Some(oldest) => {
                oldest.clear();
                oldest.extend_from_slice(data);
            }
            None => self.before.push(data.to_vec()),
        }
        self.next = (self.next + 1) % self.window;
        found
    }
}

/// Records that are kept, at most: each may have some hundred kilobytes.
const WINDOW_MAX: usize = 1_000;
