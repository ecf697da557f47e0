//! Keys of flows, which are the same for both directions.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use weir_packet::{Layer, Packet};

/// One end of a flow: address and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// The address.
    pub address: IpAddr,
    /// The port. Of ICMP the type, or what answers that type; 0 where the protocol has no ports.
    pub port: u16,
}

impl Hash for Endpoint {
    /// In one word for IPv4, which takes a fourth of the time of its fields one by one.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.address {
            IpAddr::V4(address) => {
                state.write_u64(u64::from(u32::from(address)) << 16 | u64::from(self.port));
            }
            IpAddr::V6(address) => {
                state.write_u128(u128::from(address));
                state.write_u16(self.port);
            }
        }
    }
}

impl From<Endpoint> for SocketAddr {
    fn from(end: Endpoint) -> Self {
        Self::new(end.address, end.port)
    }
}

/// The protocol, the two ends and the scope of a flow. Packets of both directions have the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FlowKey {
    /// The lower end's address, IPv4 mapped into IPv6 (RFC 4291, 2.5.5.2).
    low: [u8; 16],
    high: [u8; 16],
    low_port: u16,
    high_port: u16,
    scope: u32,
    protocol: u8,
    shape: u8,
}

/// The side of a [`FlowKey`] that sent a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sender {
    /// [`FlowKey::low`].
    Low,
    /// [`FlowKey::high`].
    High,
}

/// The parts of a key besides addresses, ports and protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scope {
    /// Only addresses and ports: they are the same flow wherever they are seen.
    #[default]
    Addresses,
    /// The outermost VLAN identifier too, as networks behind different tags may use the same
    /// addresses.
    Vlan,
}

impl FlowKey {
    const ONE_WAY: u8 = 1;
    const IPV6: u8 = 2;
    const IN_TUNNEL: u32 = 1 << 31;

    /// The key of a place that is not in use.
    pub(crate) const fn unused() -> Self {
        Self {
            low: [0; 16],
            high: [0; 16],
            low_port: 0,
            high_port: 0,
            scope: 0,
            protocol: 0,
            shape: 0,
        }
    }

    /// The key of packets from `source` to `destination`, and which end the source is.
    #[must_use]
    pub fn new(
        source: Endpoint,
        destination: Endpoint,
        protocol: u8,
        scope: u32,
    ) -> (Self, Sender) {
        let ends = [source, destination].map(|end| (mapped(end.address), end.port));
        let is_v6 = source.address.is_ipv6() || destination.address.is_ipv6();
        Self::of_ends(ends, protocol, scope, if is_v6 { Self::IPV6 } else { 0 })
    }

    /// A key of messages without an answer: each direction is a flow.
    #[must_use]
    pub fn one_way(
        source: Endpoint,
        destination: Endpoint,
        protocol: u8,
        scope: u32,
    ) -> (Self, Sender) {
        let ends = [source, destination].map(|end| (mapped(end.address), end.port));
        let is_v6 = source.address.is_ipv6() || destination.address.is_ipv6();
        let shape = Self::ONE_WAY | if is_v6 { Self::IPV6 } else { 0 };
        Self::of_ends(ends, protocol, scope, shape)
    }

    #[inline]
    fn of_ends(
        [from, to]: [([u8; 16], u16); 2],
        protocol: u8,
        scope: u32,
        shape: u8,
    ) -> (Self, Sender) {
        let sender = if shape & Self::ONE_WAY != 0 || from <= to {
            Sender::Low
        } else {
            Sender::High
        };
        let (low, high) = match sender {
            Sender::Low => (from, to),
            Sender::High => (to, from),
        };
        let key = Self {
            low: low.0,
            high: high.0,
            low_port: low.1,
            high_port: high.1,
            scope,
            protocol,
            shape,
        };
        (key, sender)
    }

    /// The key of a packet's outermost IP header and what that carries; `None` without IP, and for
    /// TCP, UDP, SCTP, DCCP and ICMP without the header that says the rest, as in later fragments.
    #[inline]
    #[must_use]
    pub fn of_packet(packet: &Packet<'_>, scope: Scope) -> Option<(Self, Sender)> {
        let (from, to, v6) = match packet.network()? {
            Layer::Ipv4 => {
                let ends = packet.ipv4()?.addresses()?;
                let (from, to) = ends.split_at_checked(4)?;
                (mapped_v4(from)?, mapped_v4(to)?, 0)
            }
            _ => {
                let ends = packet.ipv6()?.addresses()?;
                let (from, to) = ends.split_at_checked(16)?;
                (*from.first_chunk()?, *to.first_chunk()?, Self::IPV6)
            }
        };
        let protocol = packet.ip_protocol()?;
        let mut shape = v6;
        let ports = match packet.transport() {
            Some(Layer::Tcp | Layer::Udp | Layer::UdpLite | Layer::Sctp | Layer::Dccp) => {
                packet.ports()?
            }
            Some(layer @ (Layer::Icmp | Layer::Icmpv6)) => {
                let kind = packet.u8(layer, 0)?;
                let answer = if layer == Layer::Icmp {
                    icmp_answer(kind)
                } else {
                    icmpv6_answer(kind)
                };
                match answer {
                    Some(answer) => (kind.into(), answer.into()),
                    None => {
                        shape |= Self::ONE_WAY;
                        (kind.into(), packet.u8(layer, 1)?.into())
                    }
                }
            }
            // The header with the ports is missing.
            _ if has_ports(protocol) => return None,
            _ => (0, 0),
        };
        let scope = match scope {
            Scope::Addresses => 0,
            Scope::Vlan => vlan(packet),
        };
        let ends = [(from, ports.0), (to, ports.1)];
        Some(Self::of_ends(ends, protocol, scope, shape))
    }

    /// The end whose address and port are the lower ones.
    #[must_use]
    pub fn low(&self) -> Endpoint {
        self.end(&self.low, self.low_port)
    }

    /// The other end.
    #[must_use]
    pub fn high(&self) -> Endpoint {
        self.end(&self.high, self.high_port)
    }

    /// The source and the destination of a packet of `sender`.
    #[must_use]
    pub fn ends(&self, sender: Sender) -> (Endpoint, Endpoint) {
        match sender {
            Sender::Low => (self.low(), self.high()),
            Sender::High => (self.high(), self.low()),
        }
    }

    /// The ports of both ends, the lower end's first.
    #[must_use]
    pub const fn ports(&self) -> [u16; 2] {
        [self.low_port, self.high_port]
    }

    /// Protocol number above IP.
    #[must_use]
    pub const fn protocol(&self) -> u8 {
        self.protocol
    }

    /// The VLAN identifier plus one where [`Scope::Vlan`] was requested; 0 without. As given to
    /// [`Self::new`].
    #[must_use]
    pub const fn scope(&self) -> u32 {
        self.scope
    }

    /// The same in another scope: that of another key, or behind a VLAN, as [`vlan`] has it.
    pub(crate) const fn with_scope(self, scope: u32) -> Self {
        Self { scope, ..self }
    }

    /// The key of what one end of an association of SCTP sends, by its ports and its verification tag: that of all paths between the
    /// addresses of both ends.
    pub(crate) const fn of_all_paths(self, sender: Sender, tag: u32) -> Self {
        let (low_port, high_port) = match sender {
            Sender::Low => (self.low_port, self.high_port),
            Sender::High => (self.high_port, self.low_port),
        };
        let [a, b, c, d] = tag.to_be_bytes();
        Self {
            low: [a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            high: [0; 16],
            low_port,
            high_port,
            shape: 0,
            ..self
        }
    }

    /// The same in a network of tunnels, whose number is known by its lower 31 bits.
    pub(crate) const fn in_network(self, network: u32) -> Self {
        Self {
            scope: Self::IN_TUNNEL | network & !Self::IN_TUNNEL,
            ..self
        }
    }

    /// The VLAN, if [`Scope::Vlan`] was requested and there is one.
    #[must_use]
    pub const fn vlan(&self) -> Option<u16> {
        match self.scope {
            scope @ 1..=0x1000 => Some((scope - 1) as u16),
            _ => None,
        }
    }

    /// The tunnels' network, where [`Tunnels::Inner`](crate::Tunnels) was requested and there is one: the
    /// identifier of VXLAN or Geneve, the lower 31 bits of GRE's key.
    #[must_use]
    pub const fn network(&self) -> Option<u32> {
        match self.scope & Self::IN_TUNNEL {
            0 => None,
            _ => Some(self.scope & !Self::IN_TUNNEL),
        }
    }

    /// True for messages without an answer.
    #[must_use]
    pub const fn is_one_way(&self) -> bool {
        self.shape & Self::ONE_WAY != 0
    }

    fn end(&self, address: &[u8; 16], port: u16) -> Endpoint {
        let address = Ipv6Addr::from(*address);
        let address = match address.to_ipv4_mapped() {
            Some(four) if self.shape & Self::IPV6 == 0 => IpAddr::V4(four),
            _ => IpAddr::V6(address),
        };
        Endpoint { address, port }
    }
}

impl Hash for FlowKey {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u128(u128::from_le_bytes(self.low));
        state.write_u128(u128::from_le_bytes(self.high));
        let rest = u64::from(self.low_port)
            | u64::from(self.high_port) << 16
            | u64::from(self.protocol) << 32
            | u64::from(self.shape) << 40;
        state.write_u128(u128::from(rest) | u128::from(self.scope) << 64);
    }
}

impl fmt::Debug for FlowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = (self.low(), self.high());
        write!(
            f,
            "{} {}:{} {}:{}",
            self.protocol, low.address, low.port, high.address, high.port
        )
    }
}

/// True for protocols whose header begins with what tells their flows.
const fn has_ports(protocol: u8) -> bool {
    matches!(protocol, 1 | 6 | 17 | 33 | 58 | 132 | 136)
}

/// The type of ICMP message that answers messages of `kind` (RFC 792, 950, 1256).
#[must_use]
pub(crate) const fn icmp_answer(kind: u8) -> Option<u8> {
    Some(match kind {
        8 => 0,
        0 => 8,
        13 => 14,
        14 => 13,
        15 => 16,
        16 => 15,
        10 => 9,
        9 => 10,
        17 => 18,
        18 => 17,
        _ => return None,
    })
}

/// The type of ICMPv6 message that answers messages of `kind` (RFC 4443, 4861, 2710, 4620, 6275).
#[must_use]
pub(crate) const fn icmpv6_answer(kind: u8) -> Option<u8> {
    Some(match kind {
        128 => 129,
        129 => 128,
        133 => 134,
        134 => 133,
        135 => 136,
        136 => 135,
        130 => 131,
        131 => 130,
        139 => 140,
        140 => 139,
        144 => 145,
        145 => 144,
        _ => return None,
    })
}

/// Identifier of a packet's outermost VLAN tag plus one; 0 without a tag. [`Scope::Vlan`] tells flows apart by it.
#[must_use]
pub fn vlan(packet: &Packet<'_>) -> u32 {
    [Layer::ServiceVlan, Layer::Vlan]
        .into_iter()
        .find_map(|layer| packet.u16_be(layer, 0))
        .map_or(0, |tag| u32::from(tag & 0x0fff) + 1)
}

fn mapped(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(four) => four.to_ipv6_mapped().octets(),
        IpAddr::V6(six) => six.octets(),
    }
}

#[inline]
fn mapped_v4(address: &[u8]) -> Option<[u8; 16]> {
    let [a, b, c, d] = *address.first_chunk::<4>()?;
    Some([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::hash_map::RandomState;
    use std::hash::BuildHasher;

    fn end(address: &str, port: u16) -> Endpoint {
        Endpoint {
            address: address.parse().unwrap(),
            port,
        }
    }

    #[test]
    fn both_directions_have_one_key() {
        let state = RandomState::new();
        for (a, b) in [
            (end("10.0.0.1", 1000), end("10.0.0.2", 80)),
            (end("10.0.0.1", 1000), end("10.0.0.1", 80)),
            (end("2001:db8::1", 9), end("::1", 9)),
        ] {
            let (there, from_there) = FlowKey::new(a, b, 6, 3);
            let (back, from_back) = FlowKey::new(b, a, 6, 3);
            assert_eq!(there, back);
            assert_eq!(state.hash_one(there), state.hash_one(back));
            assert_ne!(from_there, from_back);
            let ends = [there.low(), there.high()];
            assert!(ends.contains(&a) && ends.contains(&b), "{there:?}");
        }
    }

    #[test]
    fn protocol_scope_and_version_belong_to_the_key() {
        let (a, b) = (end("10.0.0.1", 1), end("10.0.0.2", 2));
        let (mapped_a, mapped_b) = (end("::ffff:10.0.0.1", 1), end("::ffff:10.0.0.2", 2));
        let keys = [
            FlowKey::new(a, b, 6, 0).0,
            FlowKey::new(a, b, 17, 0).0,
            FlowKey::new(a, b, 6, 1).0,
            FlowKey::one_way(a, b, 6, 0).0,
            FlowKey::one_way(b, a, 6, 0).0,
            FlowKey::new(mapped_a, mapped_b, 6, 0).0,
        ];
        for (index, one) in keys.iter().enumerate() {
            for other in &keys[index + 1..] {
                assert_ne!(one, other);
            }
        }
        assert_eq!(keys[5].low(), mapped_a);
    }

    #[test]
    fn what_answers_is_answered() {
        for kind in 0..=255 {
            for answer in [icmp_answer, icmpv6_answer] {
                if let Some(other) = answer(kind) {
                    assert_eq!(answer(other), Some(kind));
                }
            }
        }
    }
}
