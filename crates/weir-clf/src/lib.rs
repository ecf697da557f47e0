//! How is SIP traffic logged, so that writing costs what writing text costs, and finding costs next
//! to nothing?
//!
//! ```
//! use weir_clf::{Encoder, Field, Flags, Form, Record, Time};
//!
//! let mut record = Record::default();
//! record.time = Time { seconds: 1_328_821_153, nanoseconds: 10_000_000 };
//! record.flags = Flags::from_letters(*b"RORUU").unwrap();
//! record.set(Field::CSeq, b"1 INVITE");
//! record.set(Field::CallId, b"DL70dff590c1-1079051554@example.com");
//! let mut encoder = Encoder::new(Form::Rfc6873);
//! encoder.push(&record);
//! assert!(encoder.bytes().starts_with(b"A0000"));
//! assert!(encoder.losses().is_empty());
//! ```
//!
//! - [`Record`]: a logged message, the same for all forms; [`Optional`] what it carries beside the
//!   twelve mandatory fields.
//! - [`Reader`] and [`Encoder`]: RFC 6873 with RFC 7355, the two drafts of 2009, JSON lines; the
//!   [`Losses`] of a form that cannot carry a record.
//! - [`Writer`]: appends whole records from several threads, rotates, repairs what a crash left, and
//!   writes the sidecar index beside the log; [`index()`] makes the sidecar of an old log.
//! - [`Searcher`]: finds records of a [`Query`] in many segments; [`dialogs`] sorts them.
//! - [`Follower`]: reads a log while it is written; [`Anonymizer`]: makes one that can be given away.
//!
//! - [`Recorder`]: makes records out of SIP messages.
//! - [`WriteBehind`]: writes what was made in another thread.
//!
//! This crate deliberately has no code for captures, Arrow, SQL or the command line.

mod anonymize;
mod behind;
mod decimal;
mod fault;
mod follow;
mod forms;
mod hash;
mod hex;
mod index;
mod log;
mod losses;
mod optional;
mod passed;
mod reader;
mod record;
mod rfc3339;
mod search;
mod segment;
mod sip;
mod value;
mod walk;

pub use anonymize::Anonymizer;
pub use behind::WriteBehind;
pub use fault::{Fault, FaultKind};
pub use follow::Follower;
pub use forms::rfc6873;
pub use forms::{Encoder, Form, Scratch};
pub use index::build::{Coverage, Indexed, coverage, index, index_passing};
pub use index::sidecar::sidecar_path;
pub use log::{Appender, Fsync, Repair, Summary, WriteError, Writer, WriterOptions};
pub use losses::{Loss, Losses};
pub use optional::{
    BODY, HEADER, MESSAGE, NotBase64, Optional, Optionals, VALUE_BYTES_MAX, push_optional,
};
pub use passed::Passed;
pub use reader::{Damage, Item, Reader, ReaderOptions};
pub use record::{
    ABSENT, Field, Flags, Record, Retransmission, Time, Transport, UNPARSABLE, literal, present,
    uri_user,
};
pub use rfc3339::parse as parse_time;
pub use search::{
    Condition, Dialog, DialogOptions, Found, Plan, Query, SearchOptions, Searched, Searcher,
    SegmentPlan, Target, Test, all_segments, dialogs,
};
pub use segment::{Segment, segments};
pub use sip::{Extras, Passage, Recorder};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
