//! Parses SIP messages, and groups them into transactions, dialogs and calls.
//!
//! [`Message`] takes one message apart without copying; [`Framer`] finds the messages of a stream;
//! [`Digest`] has what logs and tables ask of a message; [`Calls`] follows transactions and dialogs
//! and gives a [`Call`] for each; [`Ladder`] draws one.
//!
//! ```
//! use weir_sip::{HeaderName, Limits, Message};
//!
//! let bytes = b"INVITE sip:bob@biloxi.example SIP/2.0\r\n\
//!     v: SIP/2.0/UDP pc33.atlanta.example;branch=z9hG4bK776asdhds\r\n\
//!     From: Alice <sip:alice@atlanta.example>;tag=1928301774\r\n\
//!     To: Bob <sip:bob@biloxi.example>\r\n\
//!     Call-ID: a84b4c76e66710\r\nCSeq: 314159 INVITE\r\nContent-Length: 0\r\n\r\n";
//! let message = Message::parse(bytes, &Limits::default())?;
//! assert_eq!(message.from().unwrap().uri.user, Some(&b"alice"[..]));
//! assert_eq!(message.vias().next().unwrap().host, b"pc33.atlanta.example");
//! assert!(message.headers().get(HeaderName::MaxForwards).is_none());
//! assert!(message.check().first_error().is_none());
//! # Ok::<(), weir_sip::Fault>(())
//! ```
//!
//! Parsing is lenient: what is wrong is a [`Fault`] with its offset, and the rest is understood.
//! Values are borrowed and taken apart on demand; a message with up to 32 headers costs no
//! allocation.
//!
//! This crate deliberately knows nothing of sockets, captures, packets and tables; it does no IO,
//! never looks at a clock, and does not look into bodies. Subscriptions are no calls.

mod address;
mod calls;
mod check;
mod digest;
mod fault;
mod framer;
mod header;
mod ladder;
mod limits;
mod message;
mod method;
mod params;
mod scan;
mod start;
mod transaction;
mod uri;
mod via;

pub use address::Address;
pub use calls::{Call, CallLimits, CallState, Calls, Counters, Party, ReportCause, Seen, Side};
pub use digest::Digest;
pub use fault::{Fault, FaultKind, Faults, Severity};
pub use framer::{Framer, FramerEvent};
pub use header::{Header, HeaderName, Headers, unfold};
pub use ladder::{Anchor, Canvas, Caption, Ink, Ladder, Rung, Step, is_failure};
pub use limits::Limits;
pub use message::Message;
pub use method::Method;
pub use params::{Param, Params};
pub use scan::List;
pub use start::{Start, looks_like_sip};
pub use transaction::{Flow, TransactionId, Transactions};
pub use uri::{Scheme, Uri};
pub use via::{CSeq, Via};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
