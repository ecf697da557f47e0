//! Packets, built from the inside out.
//!
//! A function or a small header struct takes the payload and returns header and payload, lengths
//! and checksums filled in, so that calls nest as headers do:
//!
//! ```
//! use std::net::Ipv4Addr;
//! use weir_samples::packet::{Ipv4, ethernet, ethertype, protocol, udp};
//!
//! let (src, dst) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
//! let query = udp(src.into(), dst.into(), 40_000, 53, b"a question");
//! let packet = Ipv4::new(src, dst, protocol::UDP).packet(&query);
//! let frame = ethernet([2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1], ethertype::IPV4, &packet);
//! assert_eq!(frame.len(), 60);
//! ```
//!
//! A payload too long for a header's length field is the caller's mistake and panics. To make a
//! damaged packet, build a good one and damage it.

/// Methods of a header that set a field of their name.
macro_rules! setters {
    ($($(#[$doc:meta])+ $field:ident: $kind:ty;)+) => {$(
        $(#[$doc])+
        #[must_use]
        pub const fn $field(mut self, $field: $kind) -> Self {
            self.$field = $field;
            self
        }
    )+};
}

mod atm;
pub mod checksum;
mod frame_relay;
mod ip;
mod link;
mod sctp;
mod transport;
mod tunnel;

pub use atm::{
    CellHeader, SunAtmTraffic, aal5_bridged_ethernet, aal5_iso, aal5_llc, aal5_unit, sun_atm,
};
pub use frame_relay::{FrameRelay, Lmi, nlpid};
pub use ip::{Ipv4, Ipv6, protocol};
pub use link::{
    Mac, arp, cisco_hdlc, ethernet, ethernet_unpadded, ethertype, ieee_802_3, linux_cooked,
    linux_cooked_v2, llc, llc_snap, mpls, null_loopback, ppp, ppp_hdlc, pppoe_session, snap,
    spanning_tree, vlan,
};
pub use sctp::{Chunk, Initiation, sctp};
pub use transport::{
    Tcp, TcpOption, icmp, icmp_echo, icmpv6, icmpv6_echo, neighbour, tcp_flags, udp, udp_unchecked,
};
pub use tunnel::{GTP_U_PORT, Gre, VXLAN_PORT, gtp_u, vxlan};

/// A length as a 16-bit header field holds it.
#[track_caller]
fn length_u16(len: usize) -> u16 {
    let Ok(len) = u16::try_from(len) else {
        panic!("{len} bytes do not fit a 16-bit length field");
    };
    len
}
