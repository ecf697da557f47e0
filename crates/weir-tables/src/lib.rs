//! The columns of captures, and the conversion of decoded packets to Arrow batches.
//!
//! ```
//! use weir_packet::{Decoder, Frame, LinkType};
//! use weir_tables::{Row, Table};
//!
//! let table = Table::packets();
//! let length = table.position("frame.len").ok_or("no such column")?;
//! let mut batch = table.batch(&[length]);
//! let mut decoder = Decoder::default();
//! let packet = decoder.decode(Frame::new(LinkType::ETHERNET, &[0; 60]));
//! batch.push(&Row::new("x.pcap", &packet));
//! assert_eq!(batch.finish()?.num_rows(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Table`] is a list of [`Column`]s with their documentation; a [`Predicate`] selects a row before any of its
//! values becomes an Arrow value; a [`Scan`] reads captures (or files of a record layout), applies the predicates and
//! returns batches; a [`SharedScan`] reads them once for several queries of rows, or for the groups of an
//! [`Aggregate`], which need no batches in between.
//!
//! An [`Extraction`] is a table of the contents of packets, such as messages or connections; a [`Scan`] reads it like
//! any other.
//!
//! This crate deliberately has no code for SQL, plans, threads or the terminal.

mod aggregate;
mod batch;
pub mod bpf;
mod column;
mod counters;
mod display;
mod expression;
mod extract;
mod files;
mod groups;
mod header;
mod kept;
mod key;
mod live;
pub mod names;
mod options;
mod parts;
mod predicate;
mod program;
mod reading;
mod records;
mod routed;
mod row;
mod rows;
mod scan;
mod search;
mod shared;
mod sip_log;
mod source;
mod table;
mod unit;
mod value;
mod vocabulary;

pub use aggregate::{Aggregate, Branch, Function, Sketch, Sketches};
pub use batch::Batch;
pub use column::{ADDRESS_EXTENSION, Column, Origin, Since, data_type, is_address};
pub use counters::{Counters, Totals};
pub use display::DisplayFilter;
pub use expression::{Calculation, Expression};
pub use extract::{
    CallMedia, CallSight, CallSound, CallWatch, EXTRACTIONS, Extraction, Note, Setting, Settings,
    SipMessage, SipMessages, SipTransport, SipWay, WebSocketEnds, WebSocketSight, WebSockets, h248,
};
pub use header::Header;
pub use kept::{RECORD_COLUMN, kept_record};
pub use live::{CaptureTee, Feed, Stop};
pub use options::{Compile, ScanOptions};
pub use parts::Parts;
pub use predicate::{PacketFilter, Predicate};
pub use program::{compiles, selects};
pub use row::Row;
pub use scan::Scan;
pub use search::{Part, Search, number_of};
pub use shared::{SharedScan, WantedRows};
pub use source::{Cause, Location, Source, SourceError};
pub use table::Table;
pub use unit::{UNIT_BYTES, UNIT_KEY};
pub use value::{Constant, Network, Operator};
pub use vocabulary::{VOCABULARY_KEY, Vocabulary};
pub use weir_filter::Error as FilterError;
