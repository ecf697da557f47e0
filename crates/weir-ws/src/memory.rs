//! The memory of a connection's contexts, by zlib's own formulas.
//!
//! zlib allocates everything when a stream begins, except the window of an inflating stream, which
//! comes with the first bytes that need it. The figures are those that zlib requests of its allocator, to the
//! byte; a general allocator adds its own headers and rounding.

use crate::Setting;

/// A build of zlib, as far as its memory goes. `sizeof` is that of 64-bit machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZlibBuild {
    /// The name.
    pub name: &'static str,
    /// `sizeof(deflate_state)`.
    pub deflate_state_bytes: u64,
    /// `sizeof(struct inflate_state)`.
    pub inflate_state_bytes: u64,
    /// Bytes for each symbol of a block: 4, or 5 when built with `LIT_MEM`.
    pub symbol_bytes: u64,
    /// Entries of the hash table when their number does not depend on memLevel.
    pub hash_entries_fixed: Option<u64>,
}

impl ZlibBuild {
    /// Stock zlib 1.2.12 to 1.3.1.
    pub const STOCK: Self = Self {
        name: "zlib 1.2.13",
        deflate_state_bytes: 5_952,
        inflate_state_bytes: 7_160,
        symbol_bytes: 4,
        hash_entries_fixed: None,
    };

    /// Stock zlib 1.3.2.
    pub const STOCK_1_3_2: Self = Self {
        name: "zlib 1.3.2",
        deflate_state_bytes: 5_968,
        ..Self::STOCK
    };

    /// The approximate memory of zlib-ng and zlib-rs, whose hash tables have 65,536 entries for every memLevel.
    pub const NEXT_GENERATION: Self = Self {
        name: "zlib-ng, zlib-rs (about)",
        hash_entries_fixed: Some(65_536),
        ..Self::STOCK
    };
}

/// Bytes of a connection's two contexts at one end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The memory of compressing what this end sends.
    pub deflate: u64,
    /// The memory of inflating what it receives, before the first compressed message.
    pub inflate_idle: u64,
    /// The same once a message was received.
    pub inflate_active: u64,
}

impl Memory {
    /// Both, with messages received.
    #[must_use]
    pub fn total(self) -> u64 {
        self.deflate + self.inflate_active
    }
}

/// Bytes that `deflateInit2` allocates: state, twice the window, a chain entry for each byte of the
/// window, the hash table, and the block's symbols. That is `2^(w+2) + 2^(m+9)` and the state in
/// stock zlib.
///
/// ```
/// use weir_ws::{ZlibBuild, deflate_bytes};
/// assert_eq!(deflate_bytes(15, 8, ZlibBuild::STOCK), 268_096);
/// // The original tool called this "5 KiB".
/// assert_eq!(deflate_bytes(11, 1, ZlibBuild::STOCK), 15_168);
/// ```
#[must_use]
pub fn deflate_bytes(window_bits: u8, mem_level: u8, build: ZlibBuild) -> u64 {
    let window = 1u64 << window_bits.clamp(9, 15);
    let mem_level = u64::from(mem_level.clamp(1, 9));
    let hash = build.hash_entries_fixed.unwrap_or(1 << (mem_level + 7));
    build.deflate_state_bytes + 4 * window + 2 * hash + (1 << (mem_level + 6)) * build.symbol_bytes
}

/// Bytes that `inflateInit2` allocates, and with the window that comes with the first message.
#[must_use]
pub fn inflate_bytes(window_bits: u8, build: ZlibBuild) -> (u64, u64) {
    let state = build.inflate_state_bytes;
    (state, state + (1u64 << window_bits.clamp(8, 15)))
}

/// The memory of an end for a connection that compresses with `ours` and receives what was compressed with `theirs`.
///
/// Without takeover a context is only needed while a message is worked on, so none is counted; a
/// library that keeps it all the same needs as much as with takeover.
#[must_use]
pub fn connection_memory(ours: Setting, theirs: Setting, build: ZlibBuild) -> Memory {
    let mut memory = Memory::default();
    if ours.takeover {
        memory.deflate = deflate_bytes(ours.window_bits, ours.mem_level, build);
    }
    if theirs.takeover {
        (memory.inflate_idle, memory.inflate_active) = inflate_bytes(theirs.window_bits, build);
    }
    memory
}

/// About how much of a compressor is resident after `sent_bytes` of messages, the longest block of
/// which had at most `block_symbols` symbols: pages that were touched.
///
/// zlib clears its hash table at the start and touches window and chains as the stream goes on, each up
/// to its whole, and of the block's buffer what the longest block needed, in pages of 4 KiB. Within 10 % of processes with 1,000 connections on Linux with glibc
/// (`cargo test -p weir-ws -- --ignored resident`).
#[must_use]
pub fn resident_bytes(
    setting: Setting,
    build: ZlibBuild,
    sent_bytes: u64,
    block_symbols: u64,
) -> u64 {
    let window = 1u64 << setting.window_bits.clamp(9, 15);
    let mem_level = u64::from(setting.mem_level.clamp(1, 9));
    let hash = build.hash_entries_fixed.unwrap_or(1 << (mem_level + 7));
    let symbols = 1u64 << (mem_level + 6);
    // zlib keeps the bytes ahead of what it has read at zero, for its longest match.
    let read = sent_bytes.saturating_add(258);
    let chains = sent_bytes.saturating_mul(2);
    // The output is written to the beginning of the block's buffer, the symbols a quarter behind it.
    let output = touched(block_symbols, symbols);
    let list = touched(
        block_symbols.saturating_mul(3),
        symbols * (build.symbol_bytes - 1),
    );
    build.deflate_state_bytes
        + touched(read, 2 * window)
        + touched(chains, 2 * window)
        + 2 * hash
        + output
        + list
}

/// About how much of an inflating stream is resident after `received_bytes` of messages.
#[must_use]
pub fn resident_inflate_bytes(window_bits: u8, build: ZlibBuild, received_bytes: u64) -> u64 {
    build.inflate_state_bytes + touched(received_bytes, 1 << window_bits.clamp(8, 15))
}

/// Bytes of an allocation whose first bytes were touched, in pages: they begin and end within one, half
/// a page each on average.
fn touched(bytes: u64, most: u64) -> u64 {
    const PAGE: u64 = 4096;
    bytes.saturating_add(PAGE).min(most)
}
