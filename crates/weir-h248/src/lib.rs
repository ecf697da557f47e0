//! How is a Megaco message read, and written in another encoding?
//!
//! [`Message`] is one value for H.248.1 versions 1, 2 and 3; every encoding decodes to it and is
//! encoded from it: pretty and compact text, BER, aligned PER, and the Erlang external term format
//! in all its variants.
//!
//! ```
//! use weir_h248::{Arena, EncodeOptions, Encoding, decode, encode};
//!
//! let text = b"!/1 [124.124.124.222]:55555\nP=9999{C=-{MF=11111111/00000000/00000000}}";
//! let arena = Arena::new();
//! let message = decode(text, &arena, &Default::default())?;
//! assert_eq!(message.version, 1);
//! let mut ber = Vec::new();
//! encode(&message, Encoding::Ber, &EncodeOptions::default(), &mut ber)?;
//! assert_eq!(decode(&ber, &arena, &Default::default())?, message);
//! # Ok::<(), weir_h248::Error>(())
//! ```
//!
//! A message borrows from the input and from an [`Arena`], which a loop over many messages resets and reuses;
//! [`OwnedMessage`] keeps one beyond that. An error has its place: octet, line, column, what was expected, and the path
//! of the element. Text of a message keeps its quotes, the case of its words and the octets of its session
//! descriptions; comparing looks through all three.
//!
//! This crate deliberately has no sockets, captures, tables, or timers that run; it does no IO and reads no clock. A
//! value stays octets until [`ValueType`] decodes it by its package; files of packages are [`PackageSet`]s.

#[macro_use]
mod wire;

mod arena;
mod check;
mod codec;
mod digit_collector;
mod digit_map;
mod encoding;
mod error;
mod extension;
mod framing;
pub mod message;
mod mini;
mod name;
mod octets;
mod options;
mod package_set;
mod package_value;
pub mod packages;
pub mod sdp;
mod show;
pub mod study;
mod text;
mod tracker;
mod typed_parm;
mod visit;
mod zlib;

pub use arena::Arena;
pub use check::{Finding, Severity, check, check_with};
pub use codec::{
    ErlOptions, decode_ber, decode_erl, decode_per, encode_ber, encode_erl, encode_per,
};
pub use digit_collector::{DigitCollector, DigitCompletion, DigitMethod, DigitStep, DigitTimers};
pub use digit_map::{DigitMap, DigitMatch};
pub use encoding::{
    DecodeOptions, EncodeOptions, Encoding, OwnedMessage, decode, decode_as, detect, encode,
};
pub use error::{Error, ErrorKind};
pub use extension::{Extension, ExtensionContent};
pub use framing::{Segments, join_segments, tpkt, write_tpkt};
pub use message::{Message, media::LocalRemote};
pub use mini::{Mini, decode_mini};
pub use name::{BinaryId, Name, TerminationId, Value};
pub use options::{BinaryOptions, Both, Limits, Names, TerminationIds};
pub use package_set::{PackageFileError, PackageSet};
pub use package_value::{NotOfType, Typed, ValueForm, ValueType};
pub use show::{JsonWriter, TreeWriter};
pub use text::{TextOptions, TextStyle, decode_text, encode_compact, encode_pretty};
pub use tracker::{
    Endpoint, Matched, Role, Sent, Tracker, TrackerCounts, TrackerLimits, Unanswered,
};
pub use typed_parm::TypedParm;
pub use visit::Visitor;

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
