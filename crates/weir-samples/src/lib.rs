//! Which packets and captures does the demo show, and do tests and benchmarks read?
//!
//! Those that are made here, and always the same ones for the same seed:
//!
//! - [`packet`] builds packets of every protocol that weir decodes, checksums and all;
//! - [`capture`] writes them as pcap, pcapng and ERF;
//! - [`demo`] makes the sample captures of `weir demo`;
//! - [`trace`] streams traces of hundreds of megabytes for benchmarks;
//! - [`Rng`] is the generator of random numbers behind them.
//!
//! ```
//! use weir_samples::capture::{Endian, PcapVariant, PcapWriter, link_type};
//! use weir_samples::packet::{FrameRelay, Ipv4, icmp_echo, protocol};
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
//! This crate ships in the program. It deliberately knows nothing about weir's own readers and decoders, which are tested
//! against what it makes, depends on the standard library alone, and reads neither clock nor environment.

pub mod capture;
pub mod demo;
pub mod packet;
mod rng;
pub mod trace;
mod words;

pub use rng::Rng;
