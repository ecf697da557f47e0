//! What do tests and benchmarks need beside the code that they test?
//!
//! - what [`weir_samples`] makes, under the names of this crate: [`packet`], [`capture`], [`demo`], [`trace`], [`Rng`];
//! - [`mutate`] makes damaged captures of good ones;
//! - [`untidy`] makes captures of good ones in which packets are missing, late, cut, doubled or in small pieces;
//! - [`web`] serves objects over HTTP, with chosen faults, and starts a stand-in of S3;
//! - [`zeek`] finds the captures of Zeek's own tests, with the logs that they expect;
//! - [`http2`] makes frames of HTTP/2;
//! - [`captures`] lists the captures beside the checkout that tests read;
//! - [`peer`] puts a question about files to a program once, and keeps its answer;
//! - [`Limited`] starts programs that no test waits for without a limit;
//! - [`missing`] says that a peer is not there that judges a test, or fails where it has to be; [`unlisted`] says
//!   which captures no test reads.
//!
//! ```
//! use weir_testkit::{Limited as _, Rng, demo, mutate};
//!
//! let (_, good) = demo::demo_files()?.remove(0);
//! let mut damaged = good.clone();
//! mutate::bytes(&mut Rng::new(1), &mut damaged);
//! assert_ne!(damaged, good);
//! // A program that a test starts does not run for ever.
//! let output = std::process::Command::new("cat").output_limited()?;
//! assert!(output.status.success());
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! This crate does not ship. It deliberately knows nothing about weir's own readers and decoders: it is what they are
//! tested against, and depends on weir-samples and the standard library alone but where it keeps answers (blake3, zstd).
//! Of the environment it reads only what says where peers and their answers are and which have to be there:
//! `WEIR_ZEEK`, `WEIR_PEERS`, `WEIR_REQUIRE`, `WEIR_SKIPPED`, and the cache folder.

pub mod captures;
pub mod http2;
mod limited;
pub mod mutate;
pub mod peer;
mod require;
pub mod untidy;
pub mod web;
pub mod zeek;

pub use limited::{LIFE, Limited, end_group, end_with_descendants, until};
pub use require::{missing, unlisted};
pub use weir_samples::{Rng, capture, demo, packet, trace};
