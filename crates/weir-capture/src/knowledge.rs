//! What a reader knows about a file before its first record.

use crate::{Interface, erf::Erf, pcap::Pcap};

/// The knowledge of a reader about a file before its first record, as far as records depend on it.
#[derive(Clone, Debug)]
pub(crate) enum Knowledge {
    Pcap(Pcap),
    /// The number of descriptions of sections and interfaces.
    Pcapng(u64),
    /// The ports seen, and the interfaces that they have become.
    Erf(Erf, Vec<Interface>),
    /// Files of the format are read in one.
    Nothing,
}

impl Knowledge {
    /// Records are read by the one as by the other.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Pcap(_), Self::Pcap(_)) => true,
            (Self::Pcapng(ours), Self::Pcapng(theirs)) => ours == theirs,
            (Self::Erf(ours, _), Self::Erf(theirs, _)) => ours == theirs,
            _ => false,
        }
    }
}
