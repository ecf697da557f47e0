//! The options of a scan.

use weir_packet::Options as DecodeOptions;

use crate::{CaptureTee, Stop};

/// The options of a scan.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ScanOptions {
    /// The number of rows of a batch, at most.
    pub batch_rows: usize,
    /// The number of rows of the whole scan, at most.
    pub limit: Option<usize>,
    /// Whether all sources are read at once and their records returned in the order of time.
    pub merge: bool,
    /// Whether the records must be in the order of time: the scan fails when they are not.
    pub sorted: bool,
    /// The capture to which selected records are written, with its limit.
    pub tee: Option<CaptureTee>,
    /// The decoding of ambiguous traffic.
    pub decode: DecodeOptions,
    /// Whether a capture that is slow to read, or compressed, is read ahead on a thread of its own.
    pub read_ahead: bool,
    /// Whether extractions read headers that ICMP errors quote like sent ones, as display filters do.
    pub(crate) quotes: bool,
    /// The condition under which queries are compiled to machine code.
    pub compile: Compile,
    /// Ends a [`crate::Scan`] with an error before its end when set, as its reader is gone.
    pub cancel: Option<Stop>,
}

/// The condition under which queries are compiled to machine code: aggregates over plain fields. The choice does not
/// change any result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compile {
    /// Queries over sources are compiled that are so large that the compiler costs less than it saves.
    #[default]
    Large,
    /// Queries are compiled whatever the size of the sources.
    Always,
    /// Nothing is compiled: every record is decoded.
    Never,
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self {
            batch_rows: 8192,
            limit: None,
            merge: false,
            sorted: false,
            tee: None,
            decode: DecodeOptions::default(),
            read_ahead: false,
            quotes: false,
            compile: Compile::default(),
            cancel: None,
        }
    }
}
