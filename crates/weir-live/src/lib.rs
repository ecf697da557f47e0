//! Captures packets on an interface, or receives those that probes send.
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::sync::atomic::AtomicBool;
//!
//! let interface = weir_live::Interface::open("lo", &weir_live::CaptureOptions::default())?;
//! let stop = Arc::new(AtomicBool::new(false));
//! let mut reader = weir_capture::Reader::new(interface.start(&[], stop)?)?;
//! loop {
//!     match reader.next() {
//!         Ok(Some(record)) => println!("{} bytes", record.wire_len),
//!         Ok(None) => break,
//!         Err(error) if error.is_pause() => {}
//!         Err(error) => return Err(error.into()),
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An [`Interface`] is opened, which needs the privilege and finds its link type; then it is started, with a filter for
//! the kernel, and gives a [`Packets`]: a pcap without an end, which [`weir_capture::Reader`] reads like any other.
//! [`Counts`] has the numbers of packets that arrived and that were lost.
//!
//! A [`Collector`] takes what proxies and probes send on (HEP) in the same form; it needs no privilege.
//!
//! Only Linux has interfaces, on packet sockets with a ring of memory that the kernel fills (`packet(7)`,
//! `TPACKET_V3`). Elsewhere [`Interface::open`] returns an error.
//!
//! This crate deliberately decodes no packets, and has no code for SQL or for the making of filters. It has `unsafe`
//! code in `linux/socket.rs` (system calls) and `linux/ring.rs` (the memory shared with the kernel), each piece behind
//! the smallest safe function.

mod collector;
#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod error;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;

pub use collector::{Collected, Collector};
pub use error::{Error, ErrorKind};
pub use system::{Interface, Packets, interfaces};

use std::sync::atomic::{AtomicU64, Ordering};

/// The options of a capture. Take [`CaptureOptions::default`] and change what you need.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CaptureOptions {
    /// The maximum number of bytes that are captured of a packet.
    pub snap_len: u32,
    /// Packets for other hosts are captured, too.
    pub promiscuous: bool,
    /// The size of the ring of packets that wait to be read, in bytes. Further packets are lost, and counted.
    pub ring_bytes: usize,
}

impl Default for CaptureOptions {
    fn default() -> Self {
        Self {
            snap_len: SNAP_LEN_MAX,
            promiscuous: false,
            ring_bytes: 32 << 20,
        }
    }
}

/// The maximum snapshot length.
pub const SNAP_LEN_MAX: u32 = 256 << 10;

/// An instruction of a filter that the kernel runs for each packet: classic BPF, as in `struct sock_filter`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instruction {
    /// The operation.
    pub code: u16,
    /// The number of instructions that are skipped when a comparison holds.
    pub jump_true: u8,
    /// The number of instructions that are skipped when it does not hold.
    pub jump_false: u8,
    /// The constant, offset or jump.
    pub constant: u32,
}

/// The counters of a capture, of the kernel or of a [`Collector`].
#[derive(Debug, Default)]
pub struct Counts {
    received: AtomicU64,
    dropped: AtomicU64,
    delivered: AtomicU64,
}

impl Counts {
    /// The packets that passed the filter, including lost ones.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// The packets that were lost because the ring was full; for a [`Collector`], the received data that is not HEP.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// The packets that were returned.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered.load(Ordering::Relaxed)
    }

    fn add(&self, received: u32, dropped: u32) {
        self.received
            .fetch_add(u64::from(received), Ordering::Relaxed);
        self.dropped
            .fetch_add(u64::from(dropped), Ordering::Relaxed);
    }

    fn deliver(&self, packets: u64) {
        self.delivered.fetch_add(packets, Ordering::Relaxed);
    }
}
