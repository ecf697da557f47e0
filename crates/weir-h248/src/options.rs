//! Choices that the standards leave open, and limits.

use crate::PackageSet;

/// The form of names in BER, PER and Erlang terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Names {
    /// Names are words, translated by the table of [`packages`](crate::packages), as text needs them.
    #[default]
    Mapped,
    /// Names are numbers, as with Erlang's option `native`.
    Native,
}

/// The form of termination identifiers in BER and PER.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TerminationIds {
    /// Identifiers are paths of groups of eight bits, which is Erlang's default: `11111111/00000000/00000000`.
    #[default]
    Paths,
    /// Identifiers are octets, as with Erlang's option `native`.
    Native,
}

/// The number of `both` in BER, as the direction of a signal.
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
    /// The form of names.
    pub names: Names,
    /// The form of termination identifiers.
    pub termination_ids: TerminationIds,
    /// The number of `both`.
    pub both: Both,
    /// Packages beyond those of this crate; those of this crate come first.
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

/// The limits of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum size of a message, and of an inflated one, in octets. Default 1 MiB.
    pub message_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes_max: 1 << 20,
        }
    }
}
