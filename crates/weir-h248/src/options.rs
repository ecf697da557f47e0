//! Choices that the standards leave open, and limits.

use crate::PackageSet;

/// How names appear in BER, PER and Erlang terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// As words, translated by the table of [`packages`](crate::packages): what text needs.
    #[default]
    Mapped,
    /// As the numbers that they are, like Erlang's option `native`.
    Native,
}

/// How termination identifiers of BER and PER appear.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TerminationIds {
    /// As paths of groups of eight bits, which is Erlang's default: `11111111/00000000/00000000`.
    #[default]
    Paths,
    /// As the octets that they are, like Erlang's option `native`.
    Native,
}

/// Which number `both` has in BER, as the direction of a signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Both {
    /// 3, as in the module that Erlang and others use.
    #[default]
    Three,
    /// 2, as in ITU-T H.248.1 (03/2013).
    Two,
}

/// Choices for the binary encodings. Decoders take both numbers of [`Both`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BinaryOptions {
    /// How names appear.
    pub names: Names,
    /// How termination identifiers appear.
    pub termination_ids: TerminationIds,
    /// The number of `both`.
    pub both: Both,
    /// Packages beyond those that this crate knows; those that it knows come first.
    pub packages: Option<&'static PackageSet>,
}

impl BinaryOptions {
    /// Neither names nor termination identifiers are translated: Erlang's `native`.
    #[must_use]
    pub const fn native() -> Self {
        Self {
            names: Names::Native,
            termination_ids: TerminationIds::Native,
            both: Both::Three,
            packages: None,
        }
    }
}

/// How much a message may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Octets of a message, and of one that is inflated. Default 1 MiB.
    pub message_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes_max: 1 << 20,
        }
    }
}
