//! The headers between a capture's link type and IP: Ethernet and its tags, LLC, MPLS, PPP, ARP.

use super::length_u16;

/// A MAC address.
pub type Mac = [u8; 6];

/// Numbers that the length or type field of Ethernet carries (IEEE registration authority).
pub mod ethertype {
    /// IPv4.
    pub const IPV4: u16 = 0x0800;
    /// ARP.
    pub const ARP: u16 = 0x0806;
    /// A VLAN tag (IEEE 802.1Q).
    pub const VLAN: u16 = 0x8100;
    /// The service provider's outer VLAN tag (IEEE 802.1ad, QinQ).
    pub const SERVICE_VLAN: u16 = 0x88a8;
    /// IPv6.
    pub const IPV6: u16 = 0x86dd;
    /// MPLS, unicast.
    pub const MPLS: u16 = 0x8847;
    /// PPPoE, session stage.
    pub const PPPOE_SESSION: u16 = 0x8864;
    /// Ethernet carried in GRE (transparent Ethernet bridging).
    pub const BRIDGED_ETHERNET: u16 = 0x6558;
    /// Cisco's keepalive in Cisco HDLC.
    pub const SLARP: u16 = 0x8035;
}

/// An Ethernet II frame without FCS, filled up with zeros to the 60 bytes that Ethernet requires.
#[must_use]
pub fn ethernet(dst: Mac, src: Mac, ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = ethernet_unpadded(dst, src, ethertype, payload);
    if frame.len() < 60 {
        frame.resize(60, 0);
    }
    frame
}

/// An Ethernet II frame as a sending host captures it: neither padded nor with FCS.
#[must_use]
pub fn ethernet_unpadded(dst: Mac, src: Mac, ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(payload.len() + 14);
    frame.extend_from_slice(&dst);
    frame.extend_from_slice(&src);
    frame.extend_from_slice(&ethertype.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// An IEEE 802.3 frame: a length in the place of the type, padded to 60 bytes like [`ethernet`].
#[must_use]
pub fn ieee_802_3(dst: Mac, src: Mac, payload: &[u8]) -> Vec<u8> {
    ethernet(dst, src, length_u16(payload.len()), payload)
}

/// The bytes after a VLAN ethertype: priority (0 to 7) and VLAN number (0 to 4095), the type of the payload, the payload. Nest
/// two and use [`ethertype::SERVICE_VLAN`] outside for QinQ.
#[must_use]
pub fn vlan(priority: u8, id: u16, ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let control = (u16::from(priority & 7) << 13) | (id & 0xfff);
    let mut tag = Vec::with_capacity(payload.len() + 4);
    tag.extend_from_slice(&control.to_be_bytes());
    tag.extend_from_slice(&ethertype.to_be_bytes());
    tag.extend_from_slice(payload);
    tag
}

/// An LLC header with a one-byte control field (0x03 is an unnumbered information frame).
#[must_use]
pub fn llc(dsap: u8, ssap: u8, control: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![dsap, ssap, control];
    bytes.extend_from_slice(payload);
    bytes
}

/// An LLC header that announces SNAP, and the SNAP header (RFC 1042). With organisation
/// `[0, 0, 0]` the protocol number is an ethertype.
#[must_use]
pub fn llc_snap(organisation: [u8; 3], protocol: u16, payload: &[u8]) -> Vec<u8> {
    llc(0xaa, 0xaa, 0x03, &snap(organisation, protocol, payload))
}

/// A SNAP header without its LLC header, as frame relay carries it behind NLPID 0x80.
#[must_use]
pub fn snap(organisation: [u8; 3], protocol: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = organisation.to_vec();
    bytes.extend_from_slice(&protocol.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A stack of MPLS labels (RFC 3032), outermost first; the last one has the bottom-of-stack bit.
#[must_use]
pub fn mpls(labels: &[u32], ttl: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(labels.len() * 4 + payload.len());
    for (index, label) in labels.iter().enumerate() {
        let bottom = u32::from(index + 1 == labels.len());
        let entry = ((label & 0xf_ffff) << 12) | (bottom << 8) | u32::from(ttl);
        bytes.extend_from_slice(&entry.to_be_bytes());
    }
    bytes.extend_from_slice(payload);
    bytes
}

/// A PPPoE session packet (RFC 2516) with its PPP protocol number (0x0021 IPv4, 0x0057 IPv6).
#[must_use]
pub fn pppoe_session(session: u16, ppp_protocol: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x11, 0x00];
    bytes.extend_from_slice(&session.to_be_bytes());
    bytes.extend_from_slice(&length_u16(payload.len() + 2).to_be_bytes());
    bytes.extend_from_slice(&ppp_protocol.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// An ARP packet for IPv4 over Ethernet (RFC 826). Operation 1 asks, 2 answers.
#[must_use]
pub fn arp(
    operation: u16,
    sender: (Mac, std::net::Ipv4Addr),
    target: (Mac, std::net::Ipv4Addr),
) -> Vec<u8> {
    let mut bytes = vec![0x00, 0x01, 0x08, 0x00, 6, 4];
    bytes.extend_from_slice(&operation.to_be_bytes());
    bytes.extend_from_slice(&sender.0);
    bytes.extend_from_slice(&sender.1.octets());
    bytes.extend_from_slice(&target.0);
    bytes.extend_from_slice(&target.1.octets());
    bytes
}

/// Linux's cooked header, version 1 (link type 113). Packet type 0 is to us, 4 is from us.
#[must_use]
pub fn linux_cooked(packet_type: u16, address: Mac, protocol: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = packet_type.to_be_bytes().to_vec();
    bytes.extend_from_slice(&[0, 1, 0, 6]);
    bytes.extend_from_slice(&address);
    bytes.extend_from_slice(&[0, 0]);
    bytes.extend_from_slice(&protocol.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Linux's cooked header, version 2 (link type 276), with the interface's index.
#[must_use]
pub fn linux_cooked_v2(
    packet_type: u8,
    interface_index: u32,
    address: Mac,
    protocol: u16,
    payload: &[u8],
) -> Vec<u8> {
    let mut bytes = protocol.to_be_bytes().to_vec();
    bytes.extend_from_slice(&[0, 0]);
    bytes.extend_from_slice(&interface_index.to_be_bytes());
    bytes.extend_from_slice(&[0, 1, packet_type, 6]);
    bytes.extend_from_slice(&address);
    bytes.extend_from_slice(&[0, 0]);
    bytes.extend_from_slice(payload);
    bytes
}

/// BSD's null header (link type 0): an address family in the byte order of the capturing machine.
/// Family 2 is IPv4; 24, 28 and 30 are IPv6, by system.
#[must_use]
pub fn null_loopback(family: u32, endian: crate::capture::Endian, payload: &[u8]) -> Vec<u8> {
    let mut bytes = endian.u32(family).to_vec();
    bytes.extend_from_slice(payload);
    bytes
}

/// PPP in HDLC-like framing (RFC 1662, link types 9 and 50), address and control in front, without
/// FCS.
#[must_use]
pub fn ppp_hdlc(protocol: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xff, 0x03];
    bytes.extend_from_slice(&ppp(protocol, payload));
    bytes
}

/// PPP without address and control: a two-byte protocol number (0x0021 IPv4, 0x0057 IPv6).
#[must_use]
pub fn ppp(protocol: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = protocol.to_be_bytes().to_vec();
    bytes.extend_from_slice(payload);
    bytes
}

/// Cisco HDLC (link type 104): 0x0f for unicast, a zero, an ethertype.
#[must_use]
pub fn cisco_hdlc(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x0f, 0x00];
    bytes.extend_from_slice(&ethertype.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// The body of a spanning tree configuration message (IEEE 802.1D section 9.3.1), to be carried by
/// [`llc`] with both service access points 0x42.
#[must_use]
pub fn spanning_tree(bridge: Mac, port: u16) -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 0, 0];
    for _ in 0..2 {
        bytes.extend_from_slice(&[0x80, 0x00]);
        bytes.extend_from_slice(&bridge);
        if bytes.len() == 13 {
            // The root's path cost stands between the root's and the bridge's identifiers.
            bytes.extend_from_slice(&[0; 4]);
        }
    }
    bytes.extend_from_slice(&port.to_be_bytes());
    // Message age, maximum age, hello time and forward delay in 1/256 s.
    for seconds in [0_u8, 20, 2, 15] {
        bytes.extend_from_slice(&[seconds, 0]);
    }
    bytes
}
