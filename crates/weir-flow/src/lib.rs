//! Which packets belong together, and what do they say when they are put together?
//!
//! ```
//! use weir_flow::{Options, Tracker};
//! use weir_packet::{Decoder, Frame, LinkType};
//!
//! # let bytes = [
//! #     0x45, 0, 0, 32, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
//! #     0x13, 0xc4, 0x13, 0xc4, 0, 12, 0, 0, 1, 2, 3, 4,
//! # ];
//! let mut decoder = Decoder::default();
//! let mut tracker = Tracker::new(Options::default());
//! let mut ended = Vec::new();
//! tracker.packet(&decoder.decode(Frame::new(LinkType(101), &bytes)), |flow| ended.push(flow));
//! tracker.finish(|flow| ended.push(flow));
//! assert_eq!((ended[0].sent.packets, ended[0].sent.payload_bytes), (1, 4));
//! ```
//!
//! - [`Defragmenter`] puts IPv4 and IPv6 packets together from their fragments;
//! - [`FlowTable`] counts packets to flows, follows TCP connections as Zeek does, and gives each flow
//!   out when it is over; [`Tracker`] does both and looks what the flows carry;
//! - [`Analysis`] says of each TCP segment what is wrong with it, in Wireshark's terms;
//! - [`Conversations`] numbers what goes on between two ends as Wireshark does;
//! - [`Reassembler`] puts one direction of a TCP connection in order, and [`Streams`] those of all
//!   connections of a capture;
//! - [`Payloads`] reports all that packets carry, with the flows that it belongs to;
//! - [`SctpMessages`] puts user messages of SCTP together;
//! - [`detect()`] tells the application protocol, [`framing`] cuts streams into messages;
//! - [`CommunityId`] names flows as other tools do.
//!
//! Everything is sans-IO: packets go in, in the order of the capture, with their times, and nothing
//! here asks a clock. Whatever grows has a limit with a default and a counter ([`Options`],
//! [`FragmentLimits`], [`StreamLimits`], [`SctpLimits`]).
//!
//! This crate deliberately does not know files, Arrow, SQL, or what the application protocols mean.

mod analysis;
mod clock;
mod community_id;
mod conversations;
mod course;
mod detect;
mod flow;
mod fragment;
pub mod framing;
mod gathered;
mod history;
mod key;
mod missing;
mod openings;
mod options;
mod payloads;
mod ports;
mod ranges;
mod record;
mod repeats;
mod sctp;
mod segment;
mod sighting;
mod slab;
mod stream;
mod streams;
mod table;
mod tcp;
mod tracker;
mod wheel;

pub use analysis::{Analysis, Analyzed};
pub use clock::CLOCK_STEP_NS;
pub use community_id::CommunityId;
pub use conversations::{Conversations, Conversed, More, Relative};
pub use detect::{Application, Context, detect, is_h248_text, is_sip, is_upgrade};
pub use fragment::{
    Defragmenter, FragmentCounters, FragmentLimits, Fragmented, LostFragment, Overlap,
};
pub use history::History;
pub use key::{Endpoint, FlowKey, Scope, Sender, vlan};
pub use options::{Counters, Options, Tunnels};
pub use payloads::{Carried, Payload, PayloadCounters, Payloads, SharedFlows};
pub use record::{ConnState, End, FlowRecord, Totals};
pub use sctp::{SctpCounters, SctpLimits, SctpMessage, SctpMessages};
pub use segment::Segment;
pub use sighting::Sighting;
pub use stream::{Carrier, Part, Reassembler};
pub use streams::{Chunk, Content, Interest, StreamCounters, StreamEnd, StreamLimits, Streams};
pub use table::{FlowTable, Seen};
pub use tracker::{FragmentOfFlow, Tracker};
