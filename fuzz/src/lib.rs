//! What may hostile bytes never do to the readers and decoders?
//!
//! One function a fuzz target, each taking any bytes and panicking when a promise is broken. The
//! targets under `fuzz_targets/` hand libFuzzer's inputs to them; `tests/corpus.rs` hands them every
//! file of `corpus/` with the stable compiler, so that what was found once stays found.
//!
//! ```
//! let (name, run) = weir_fuzz::TARGETS[0];
//! assert_eq!(name, "capture_pcap");
//! run(b"no capture");
//! ```
//!
//! Only the crates that see foreign bytes are known here: those that read captures, decode packets, put streams
//! together and fill tables; the readers of SIP, of SIP logs, of Megaco and of WebSockets; and the dictionary, whose
//! keys strangers choose. The engine and the command line are tested with plain tests.

#![forbid(unsafe_code)]

pub mod anonymize;
mod bits;
pub mod capture;
pub mod clf;
pub mod dict;
mod dribble;
pub mod filter;
pub mod flow;
pub mod h248;
pub mod layout;
pub mod messages;
pub mod packet;
pub mod program;
pub mod sip;
pub mod structured;
pub mod table;
pub mod websocket;

/// A target: takes any bytes, and panics when a promise is broken.
pub type Target = fn(&[u8]);

/// Every target with its name, which is also that of its corpus.
pub const TARGETS: &[(&str, Target)] = &[
    ("capture_pcap", capture::pcap),
    ("capture_pcapng", capture::pcapng),
    ("capture_erf", capture::erf),
    ("capture_others", capture::others),
    ("capture_compressed", capture::compressed),
    ("capture_structured", structured::run),
    ("packet_decode", packet::decode),
    ("packet_stream", packet::stream),
    ("layout_parse", layout::parse),
    ("layout_records", layout::records),
    ("table_scan", table::run),
    ("program_run", program::run),
    ("dict_operations", dict::run),
    ("clf_read", clf::read),
    ("clf_write", clf::write),
    ("clf_sidecar", clf::sidecar),
    ("flow_reassemble", flow::reassemble),
    ("flow_packets", flow::packets),
    ("flow_fragments", flow::fragments),
    ("flow_sctp", flow::sctp),
    ("flow_payloads", flow::payloads),
    ("anonymize_packet", anonymize::packet),
    ("filter_parse", filter::parse),
    ("sip_message", sip::message),
    ("sip_stream", sip::stream),
    ("websocket_frames", websocket::frames),
    ("websocket_negotiation", websocket::negotiation),
    ("websocket_input", websocket::input),
    ("websocket_inflate", websocket::inflate),
    ("websocket_study", websocket::study),
    ("messages_dns", messages::dns),
    ("messages_tls", messages::tls),
    ("messages_http", messages::http),
    ("messages_rtp", messages::rtp),
    ("messages_small", messages::small),
    ("messages_telephone", messages::telephone),
    ("h248_text", h248::text),
    ("h248_ber", h248::ber),
    ("h248_per", h248::per),
    ("h248_erl", h248::erl),
];
