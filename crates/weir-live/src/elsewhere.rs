//! Operating systems without packet sockets.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::{CaptureOptions, Counts, Error, ErrorKind, Instruction};

/// An interface that packets are captured on.
#[derive(Debug)]
pub enum Interface {}

/// The captured packets as an endless pcap.
#[derive(Debug)]
pub enum Packets {}

/// Names of the interfaces.
///
/// # Errors
/// Always: it is not supported.
pub fn interfaces() -> Result<Vec<String>, Error> {
    Err(unsupported())
}

impl Interface {
    /// Opens an interface.
    ///
    /// # Errors
    /// Always: it is not supported.
    pub fn open(_name: &str, _options: &CaptureOptions) -> Result<Self, Error> {
        Err(unsupported())
    }

    /// The LINKTYPE_ number of its packets.
    #[must_use]
    pub fn link_type(&self) -> u32 {
        match *self {}
    }

    /// The counters of the capture.
    #[must_use]
    pub fn counts(&self) -> &Arc<Counts> {
        match *self {}
    }

    /// Starts capturing.
    ///
    /// # Errors
    /// It never fails, because there is no interface.
    pub fn start(self, _filter: &[Instruction], _stop: Arc<AtomicBool>) -> Result<Packets, Error> {
        match self {}
    }
}

impl Read for Packets {
    fn read(&mut self, _out: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }
}

fn unsupported() -> Error {
    Error::new(
        ErrorKind::Unsupported,
        "capturing on interfaces is supported on Linux only",
    )
    .with_hint("tcpdump -w - | weir query \"… FROM '-'\" works wherever tcpdump does")
}
