//! Where do packets and captures come from when a test, a benchmark or the demo needs them?
//!
//! From here, and always the same ones for the same seed:
//!
//! - [`packet`] builds packets of every protocol that weir decodes, checksums and all;
//! - [`capture`] writes them as pcap, pcapng and ERF;
//! - [`mutate`] makes damaged captures of good ones;
//! - [`untidy`] makes captures of good ones in which packets are missing, late, cut, doubled or in small pieces;
//! - [`demo`] makes the sample captures of `weir demo`;
//! - [`trace`] streams traces of hundreds of megabytes for benchmarks;
//! - [`web`] serves objects over HTTP, with the faults that it is told, and starts a stand-in of S3;
//! - [`zeek`] finds the captures of Zeek's own tests, with the logs that they expect;
//! - [`captures`] lists the captures beside the checkout that tests read;
//! - [`peer`] puts a question about files to a program once, and keeps its answer;
//! - [`Limited`] starts programs that no test waits for without a limit;
//! - [`missing`] says that a peer is not there that judges a test, or fails where it has to be; [`unlisted`] says
//!   which captures no test reads.
//!
//! ```
//! use weir_testkit::capture::{Endian, PcapVariant, PcapWriter, link_type};
//! use weir_testkit::packet::{FrameRelay, Ipv4, icmp_echo, protocol};
//!
//! let mut file = Vec::new();
//! let mut writer =
//!     PcapWriter::new(&mut file, link_type::FRAME_RELAY, 65_535, PcapVariant::Micro, Endian::Big)?;
//! let ip = Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol::ICMP);
//! let frame = FrameRelay::new(100).ip(&ip.packet(&icmp_echo(false, 1, 1, b"are you there?")));
//! writer.packet(1_767_225_600_000_000_000, frame.len() as u32, &frame)?;
//! assert_eq!(file.len(), 24 + 16 + 4 + 20 + 8 + 14);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! This crate deliberately knows nothing about weir's own readers and decoders: it is what they are
//! tested against, and depends on the standard library alone but where it keeps answers (blake3, zstd). No clock decides
//! what it makes, and of the environment only what says where peers and their answers are and which have to be there:
//! `WEIR_ZEEK`, `WEIR_PEERS`, `WEIR_REQUIRE`, `WEIR_SKIPPED`, and the cache folder.

pub mod capture;
pub mod captures;
pub mod demo;
mod limited;
pub mod mutate;
pub mod packet;
pub mod peer;
mod require;
mod rng;
pub mod trace;
pub mod untidy;
pub mod web;
mod words;
pub mod zeek;

pub use limited::{LIFE, Limited, end_group, end_with_descendants, until};
pub use require::{missing, unlisted};
pub use rng::Rng;
