//! Helpers of several tests.

use std::path::PathBuf;

use weir_ws::{CELLS, Setting};

/// A file of the data beside the checkout, or a loud word that it is not there.
pub(crate) fn shared(name: &str) -> Option<Vec<u8>> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/websocket")
        .join(name);
    let read = std::fs::read(&path).ok();
    if read.is_none() {
        weir_testkit::missing("captures", &path.display().to_string());
    }
    read
}

/// The lines of a text, which are messages.
pub(crate) fn lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

/// The compressed size of each message with stock zlib, for one setting.
pub(crate) fn zlib(setting: Setting, messages: &[&[u8]]) -> Vec<u64> {
    let mut deflate = weir_zlib::Deflate::new(
        setting.level,
        setting.window_bits.max(9),
        setting.mem_level,
        0,
    )
    .unwrap();
    let mut out = Vec::new();
    messages
        .iter()
        .map(|message| {
            if !setting.takeover {
                deflate.reset();
            }
            out.clear();
            deflate.message(message, &mut out);
            out.len() as u64
        })
        .collect()
}

/// A generator of numbers (xorshift64*), so that tests are the same everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n.max(1)
    }

    pub(crate) fn setting(&mut self) -> Setting {
        Setting::from_index(self.below(CELLS))
    }
}
