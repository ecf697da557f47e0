//! Decodes the protocol headers of packets.
//!
//! ```
//! use weir_packet::{Decoder, Frame, Layer, LinkType};
//!
//! let bytes = [
//!     2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00, // Ethernet
//!     0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, // IPv4
//!     0x13, 0xc4, 0, 53, 0, 8, 0, 0, // UDP
//! ];
//! let mut decoder = Decoder::default();
//! let packet = decoder.decode(Frame::new(LinkType::ETHERNET, &bytes));
//! assert_eq!(packet.u16_be(Layer::Udp, 2), Some(53));
//! assert!(packet.stop().is_none());
//! ```
//!
//! Decoding is lax and sans-IO: a slice goes in, and a [`Packet`] comes out that knows where each header lies and, when
//! the bytes ran out or made no sense, the layer and the reason why decoding stopped ([`Stop`]). No bytes are copied
//! and no memory is allocated for a packet.
//!
//! Each protocol is one file in `protocol/`: its header, its [`Field`]s under Wireshark's names and
//! what it hangs on; `protocol.rs` holds the one table that lists them all.
//!
//! This crate deliberately does not know files, clocks, Arrow, SQL, flows or reassembly of streams
//! and fragments (AAL5 is the exception: an ATM cell says nothing without it).

mod aal5;
mod address;
mod checksum;
mod decoder;
mod field;
mod frame;
mod joined;
mod kept;
mod layer_set;
mod link_type;
mod options;
mod packet;
mod plain;
pub mod protocol;
mod shape;
mod stack;
mod stop;

pub use aal5::Aal5Counters;
pub use address::Address;
pub use checksum::of as internet_checksum;
pub use decoder::Decoder;
pub use field::{Field, Get, Kind, Needs, Value, fields};
pub use frame::Frame;
pub use joined::protocol_name;
pub use kept::KeptPacket;
pub use layer_set::LayerSet;
pub use link_type::LinkType;
pub use options::{AtmVcMux, ErfHdlc, Options};
pub use packet::Packet;
pub use protocol::{
    FLAG_LETTERS, Ipv4Header, Ipv6FragmentHeader, Ipv6Header, Layer, OfEach, PROTOCOLS, Protocol,
    each_wlan_address, network_identifier, of_each_option,
};
pub use shape::{
    BitsTest, Extent, HeaderLen, HeaderShape, Location, NextHeader, NextTable, PayloadEnd,
    PlainHeader, UdpPorts, known_udp_ports, plain_link, udp_ports,
};
pub use stack::Headers;
pub use stop::{Reason, Stop};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
