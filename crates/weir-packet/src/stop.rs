//! Why decoding a packet ended before its bytes were understood.

use std::fmt;

use crate::{Layer, LinkType};

/// Decoding stopped early: where and why. Plain data, made without allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The protocol whose header could not be read; `None` when not even the link type is known.
    pub layer: Option<Layer>,
    /// Offset of that header in the captured bytes.
    pub offset: u32,
    /// The reason.
    pub reason: Reason,
}

/// The reason of a [`Stop`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The header needs more bytes than were captured (a snaplen or a cut packet).
    Cut {
        /// Bytes that the header needs.
        needed: u32,
        /// Bytes that are there.
        available: u32,
    },
    /// The header needs more bytes than the length field of the header around it allows.
    Overrun {
        /// Bytes that the header needs.
        needed: u32,
        /// Bytes that the header around it allows.
        allowed: u32,
    },
    /// A version, length or type field holds a value that its standard forbids.
    Invalid {
        /// The field, by its column name.
        field: &'static str,
        /// The value.
        value: u32,
    },
    /// More headers inside each other than [`Decoder`](crate::Decoder) follows.
    TooDeep {
        /// The limit that was reached.
        layers_max: u32,
    },
    /// No decoder for this link type.
    UnknownLinkType(u32),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(layer) = self.layer {
            write!(f, "{} at byte {}: ", layer.name(), self.offset)?;
        }
        self.reason.fmt(f)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Cut { needed, available } => {
                write!(f, "cut, {needed} bytes needed, {available} captured")
            }
            Self::Overrun { needed, allowed } => write!(
                f,
                "{needed} bytes needed, the enclosing length allows {allowed}"
            ),
            Self::Invalid { field, value } => write!(f, "{field} is {value}, which is not valid"),
            Self::TooDeep { layers_max } => write!(f, "more than {layers_max} headers"),
            Self::UnknownLinkType(number) => match LinkType(number).name() {
                Some(name) => write!(f, "link type {number} ({name}) is not supported"),
                None => write!(f, "link type {number} is not supported"),
            },
        }
    }
}
