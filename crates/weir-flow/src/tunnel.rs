//! Packets that packets carry: IP in IP, GRE, VXLAN, Geneve and GTP-U.

use weir_bytes::{u8_at, u16_be_at, u32_be_at};
use weir_packet::{Decoder, Frame, Layer, LinkType, Packet};

use crate::tracker::payload;

/// Which packet of a tunnel counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tunnels {
    /// The outermost one: all that a tunnel carries is a flow of the tunnel.
    #[default]
    Outer,
    /// The innermost one of IP in IP (RFC 2003, 4213), GRE (RFC 2784), VXLAN (RFC 7348), Geneve (RFC
    /// 8926) and GTP-U (3GPP TS 29.281). The network identifier of VXLAN and Geneve, and the key of GRE,
    /// tell flows apart.
    Inner,
}

/// What a tunnel carries.
pub(crate) struct Inside<'p> {
    /// The packet, from its first header.
    pub(crate) bytes: &'p [u8],
    /// What it begins with.
    pub(crate) layer: Layer,
    /// Which of the tunnel's networks it belongs to, where that is said for both directions alike.
    pub(crate) network: Option<u32>,
}

/// Decoders for packets in packets, which borrow from the one that decoded them.
#[derive(Debug, Default)]
pub(crate) struct Decoders(Vec<Decoder>);

impl Decoders {
    /// One that is not in use.
    pub(crate) fn take(&mut self) -> Decoder {
        self.0.pop().unwrap_or_default()
    }

    /// Gives one back.
    pub(crate) fn put(&mut self, decoder: Decoder) {
        self.0.push(decoder);
    }
}

/// The frame of bytes that belong to a packet.
pub(crate) fn frame_in<'b>(packet: &Packet<'_>, bytes: &'b [u8]) -> Frame<'b> {
    let mut frame = Frame::new(LinkType(0), bytes);
    frame.time_ns = packet.frame().time_ns;
    frame.number = packet.frame().number;
    frame
}

/// Tunnels in one another that are followed.
pub(crate) const DEPTH_MAX: usize = 4;

/// The packet that a packet's outermost IP header carries, if it is a tunnel's.
#[inline]
pub(crate) fn inside<'p>(packet: &Packet<'p>) -> Option<Inside<'p>> {
    match packet.ip_protocol()? {
        TCP => None,
        UDP => {
            let port = packet.u16_be(Layer::Udp, 2)?;
            let is_tunnel = matches!(port, VXLAN | GENEVE | GTP_U);
            is_tunnel.then(|| in_udp(port, payload(packet)?)).flatten()
        }
        protocol @ (IPV4 | IPV6) => {
            let layer = layer_of_ip(protocol == IPV4);
            Some(Inside {
                bytes: behind_ip(packet)?,
                layer,
                network: None,
            })
        }
        GRE => in_gre(behind_ip(packet)?),
        _ => None,
    }
}

/// What follows the outermost IP header, where no extension headers do.
fn behind_ip<'p>(packet: &Packet<'p>) -> Option<&'p [u8]> {
    let network = packet.network()?;
    let bytes = packet.bytes(network)?;
    let len = match network {
        Layer::Ipv4 => usize::from(u8_at(bytes, 0)? & 15) * 4,
        _ if u8_at(bytes, 6) == packet.ip_protocol() => 40,
        _ => return None,
    };
    bytes.get(len..)
}

fn in_udp(port: u16, bytes: &[u8]) -> Option<Inside<'_>> {
    match port {
        // Of the flags only the one that says that there is an identifier.
        VXLAN => Some(Inside {
            bytes: bytes.get(8..)?,
            layer: Layer::Ethernet,
            network: (u8_at(bytes, 0)? & 8 != 0)
                .then(|| u32_be_at(bytes, 4))?
                .map(|field| field >> 8),
        }),
        GENEVE => {
            let first = u8_at(bytes, 0).filter(|first| first >> 6 == 0)?;
            Some(Inside {
                bytes: bytes.get(8 + usize::from(first & 0x3f) * 4..)?,
                layer: layer_of_ethertype(u16_be_at(bytes, 2)?)?,
                network: Some(u32_be_at(bytes, 4)? >> 8),
            })
        }
        _ => in_gtp(bytes),
    }
}

/// User data of version 1 (3GPP TS 29.281, 5.1). Each direction has an identifier of its own.
fn in_gtp(bytes: &[u8]) -> Option<Inside<'_>> {
    let flags = u8_at(bytes, 0)?;
    if flags & 0xf0 != 0x30 || u8_at(bytes, 1)? != GTP_USER_DATA {
        return None;
    }
    let mut at = 8;
    if flags & 7 != 0 {
        let mut next = u8_at(bytes, 11)?;
        at = 12;
        while next != 0 && flags & 4 != 0 {
            let len = usize::from(u8_at(bytes, at).filter(|len| *len > 0)?) * 4;
            at += len;
            next = u8_at(bytes, at - 1)?;
        }
    }
    let bytes = bytes.get(at..)?;
    let layer = match u8_at(bytes, 0)? >> 4 {
        4 => layer_of_ip(true),
        6 => layer_of_ip(false),
        _ => return None,
    };
    Some(Inside {
        bytes,
        layer,
        network: None,
    })
}

/// Version 0 without source routes (RFC 2784, RFC 2890).
fn in_gre(bytes: &[u8]) -> Option<Inside<'_>> {
    let flags = u16_be_at(bytes, 0)?;
    if flags & 0x4007 != 0 {
        return None;
    }
    let part = |flag: u16| if flags & flag == 0 { 0 } else { 4 };
    let key_at = 4 + part(0x8000);
    let end = key_at + part(0x2000) + part(0x1000);
    Some(Inside {
        bytes: bytes.get(end..)?,
        layer: layer_of_ethertype(u16_be_at(bytes, 2)?)?,
        network: if flags & 0x2000 == 0 {
            None
        } else {
            u32_be_at(bytes, key_at)
        },
    })
}

const fn layer_of_ip(is_v4: bool) -> Layer {
    if is_v4 { Layer::Ipv4 } else { Layer::Ipv6 }
}

fn layer_of_ethertype(ethertype: u16) -> Option<Layer> {
    match ethertype {
        0x0800 => Some(Layer::Ipv4),
        0x86dd => Some(Layer::Ipv6),
        0x6558 => Some(Layer::Ethernet),
        _ => None,
    }
}

const IPV4: u8 = 4;
const TCP: u8 = 6;
const UDP: u8 = 17;
const IPV6: u8 = 41;
const GRE: u8 = 47;
const GTP_U: u16 = 2152;
const VXLAN: u16 = 4789;
const GENEVE: u16 = 6081;
const GTP_USER_DATA: u8 = 255;
