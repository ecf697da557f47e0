//! The options of reading: buffer sizes and limits of memory.

use crate::{Format, Pieces};

/// Writes what of a record is compared with others, by its link type and its bytes.
pub type RepeatsKey = fn(u32, &[u8], &mut Vec<u8>);

/// The options of reading a capture. Take [`ReadOptions::default`] and change what you need.
///
/// ```
/// let mut options = weir_capture::ReadOptions::default();
/// options.record_bytes_max = Some(1 << 20);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The bytes of one read from the source, and the size at which the buffer starts. The buffer
    /// grows beyond it only while a record that is larger arrives. At least 4 KiB.
    pub buffer_bytes: usize,
    /// Captured bytes that one record may have. `None`: what libpcap allows for the link type,
    /// 256 KiB for most, more for those that carry bulk transfers ([`record_bytes_max_of`]).
    pub record_bytes_max: Option<u32>,
    /// Bytes that one pcapng block may have when it must be read whole: section and interface
    /// descriptions, and the options of a packet. Blocks that are skipped have no limit.
    pub block_bytes_max: u32,
    /// Interfaces that one pcapng section may describe.
    pub interfaces_max: usize,
    /// Binary logarithm of the window that a zstd frame, or of the dictionary that an xz block may ask for: 27 is
    /// 128 MiB, as in the zstd program.
    pub zstd_window_log_max: u32,
    /// Records that have the same bytes as one of so many right before are passed over; 0 passes over none. `editcap -d` looks
    /// at 4. Records keep their numbers.
    pub repeats_window: usize,
    /// Writes what of a record is compared with those right before, by its link type and its bytes; `None` compares the bytes.
    pub repeats_key: Option<RepeatsKey>,
    /// Read as this format without looking at the content. An ERF file of one or two records has
    /// too little in it to be recognised.
    pub format: Option<Format>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            buffer_bytes: Pieces::USUAL,
            record_bytes_max: None,
            block_bytes_max: BLOCK_BYTES_MAX,
            interfaces_max: INTERFACES_MAX,
            zstd_window_log_max: ZSTD_WINDOW_LOG_MAX,
            repeats_window: 0,
            repeats_key: None,
            format: None,
        }
    }
}

impl ReadOptions {
    /// Captured bytes that a record of this link type may have.
    pub(crate) fn record_limit(&self, link_type: u32) -> u32 {
        self.record_bytes_max
            .unwrap_or_else(|| record_bytes_max_of(link_type))
    }
}

/// The largest number of captured bytes that a record of `link_type` may have when [`ReadOptions::record_bytes_max`] is `None`.
#[must_use]
pub fn record_bytes_max_of(link_type: u32) -> u32 {
    match link_type {
        // USB with and without padding, USBPcap, D-Bus: one transfer can be large.
        189 | 220 | 231 | 249 => 128 << 20,
        // EBHSCR.
        279 => 32 << 20,
        _ => 256 << 10,
    }
}

const BLOCK_BYTES_MAX: u32 = 16 << 20;
const INTERFACES_MAX: usize = 65_536;
const ZSTD_WINDOW_LOG_MAX: u32 = 27;
