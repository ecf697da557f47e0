//! The exact sizes of messages compressed by stock zlib, with each of 1,296 settings.
//!
//! To the byte, without running zlib: nothing is written, and what settings have in common is done once. The ideas, and
//! the modules that have them:
//!
//! - sizes without output: a message is a list of symbols and a sum of bits (`emit`, `block`);
//! - one set of links for all lazy levels, windows, memLevels and both takeover modes (`links`):
//!   these levels put every position into their chains, so a position's matches do not depend on
//!   the parse, and how far down a chain a match lies follows from running counts;
//! - memLevels that agree are parsed together, and part where they do not (`slow`);
//! - a window that is larger than anything that was found gives what the larger one gave (`engine`);
//! - trees are built only where Shannon's bound does not show that the fixed codes win (`block`).
//!
//! The fast levels (1 to 3) put only some positions into their chains, so each of their settings
//! with takeover is followed by itself (`fast`). A few lazy settings are as well, since nothing is to be
//! shared then; only candidates that may be longer than the best so far are looked at (`lone`).
//!
//! ```
//! use weir_ws::exact::{Engine, EngineOptions};
//! use weir_ws::Setting;
//!
//! let mut engine = Engine::new(EngineOptions::default());
//! engine.message(b"Hello", 0);
//! engine.message(b"Hello", 0);
//! let sizes = engine.finish().total();
//! // RFC 7692 section 7.2.3.1 and 7.2.3.2: seven bytes, then five.
//! let setting = Setting { takeover: true, window_bits: 15, level: 6, mem_level: 8 };
//! assert_eq!(sizes.compressed(setting), 7 + 5);
//! assert_eq!(sizes.compressed(Setting { takeover: false, ..setting }), 7 + 7);
//! ```

mod block;
mod emit;
mod engine;
mod fast;
mod hashes;
mod level;
mod links;
mod lone;
mod slow;
mod window;
mod worker;

pub(crate) use level::LEVELS;

pub use engine::{ClassSizes, Engine, EngineOptions, Sizes};
