//! Studies which permessage-deflate settings fit WebSocket traffic and a memory budget.
//!
//! ```
//! use weir_ws::{Budget, CpuTimes, Format, InputOptions, Study, StudyOptions, advise, read_messages};
//!
//! let transcript = "{\"type\":\"msg\",\"sender\":\"ann\",\"text\":\"good morning\"}\n".repeat(50);
//! let mut study = Study::new(StudyOptions::default());
//! read_messages(transcript.as_bytes(), Format::Lines, InputOptions::default(), &mut |message| {
//!     study.message(message);
//! })?;
//! let sizes = study.finish().total(None);
//! let advice = advise(&sizes, &CpuTimes::estimate(55.0), &Budget::new(1_000_000, 20 << 30));
//! println!("{}", advice.reason);
//! assert!(advice.chosen.is_some_and(|chosen| chosen.fits));
//! # Ok::<(), weir_ws::InputError>(())
//! ```
//!
//! From the wire up:
//!
//! - [`Header`], [`Decoder`], [`Connection`]: frames, messages, connections with their handshake
//!   (RFC 6455), fed with bytes in pieces of any size;
//! - [`parse_offers`], [`ServerPolicy`], [`Inflater`], [`Deflater`]: permessage-deflate (RFC 7692);
//! - [`read_messages`]: lines, records, HAR files, mitmproxy flows;
//! - [`exact`]: what stock zlib makes of messages, to the byte, for 1,296 settings at once;
//!   [`sample()`]: the same from a sample, with intervals;
//! - [`deflate_bytes`], [`inflate_bytes`]: what zlib allocates;
//! - [`Study`], [`advise()`], [`snippet`], [`html_report`], [`study_json`], [`advice_csv`] and their like: what to make of it; [`fragmentation`],
//!   [`threshold`], [`reconnects`], [`broadcast`], [`mixed`], [`reflections`]: what else matters.
//!
//! This crate deliberately knows nothing about captures and TCP (bytes come in order), Arrow, SQL or
//! the command line. It opens no file and looks at no clock. TLS, HTTP/2 (RFC 8441) and other
//! extensions than permessage-deflate are not read.

mod advise;
mod deflate;
pub mod exact;
mod export;
mod input;
mod kind;
mod library;
mod memory;
mod report;
mod sample;
mod setting;
mod studies;
mod study;
mod wire;

pub use advise::{Advice, Budget, Candidate, CpuTimes, advise, bytes_text};
pub use deflate::{
    Agreed, Bits, DeflateOptions, Deflater, InflateError, InflateErrorKind, InflateOptions,
    Inflated, Inflater, NegotiationError, NegotiationErrorKind, Offer, ServerPolicy, parse_offers,
    parse_response,
};
pub use export::{advice_csv, advice_json, csv_value, study_csv, study_json};
pub use input::{
    Each, Format, InputError, InputErrorKind, InputMessage, InputOptions, InputReader, InputReport,
    Prefix, read_messages,
};
pub use kind::kind_of;
pub use library::{Library, Snippet, snippet};
pub use memory::{
    Memory, ZlibBuild, connection_memory, deflate_bytes, inflate_bytes, resident_bytes,
    resident_inflate_bytes,
};
pub use report::{html_page, html_report, size_classes};
pub use sample::{Estimate, SampleOptions, Sampled, sample};
pub use setting::{CELLS, Cells, Setting};
pub use studies::{
    Broadcast, Mixed, Reflection, Variant, broadcast, fragmentation, mixed, reconnects,
    reflections, threshold,
};
pub use study::{Study, StudyClass, StudyOptions, StudyResult};
pub use wire::{
    Connection, ConnectionEvent, Decoder, DecoderOptions, Direction, Event, Handshake, Header,
    Message, Opcode, Sender, Violation, ViolationKind, framed_bytes, mask,
};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
