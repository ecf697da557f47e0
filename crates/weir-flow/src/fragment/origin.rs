//! Where a fragment comes from: the tunnels and networks around it.

use weir_bytes::u32_be_at;
use weir_packet::{Layer, Packet};

use crate::key::{FlowKey, Scope, vlan};

/// The caller's facts about the origin of a fragment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin {
    /// The network of the tunnel around it, which tells fragments apart.
    pub(crate) network: Option<u32>,
    /// The ends of the tunnels around it, and what tells networks apart there.
    pub(crate) around: Around,
    /// The flow of that tunnel.
    pub(crate) flow: Option<u64>,
    /// The outermost VLAN, as [`vlan`] has it.
    pub(crate) vlan: u32,
    /// The packet was reassembled, so that its time says nothing about that of other packets.
    pub(crate) is_late: bool,
}

impl Origin {
    /// The same behind the VLAN of a packet, if that has one.
    pub(crate) fn behind_vlan_of(self, packet: &Packet<'_>) -> Self {
        match vlan(packet) {
            0 => self,
            tag => Self { vlan: tag, ..self },
        }
    }

    /// The key of a packet with what tells networks apart around it: a reassembled packet has lost its VLAN tags, and one in a
    /// tunnel belongs to the tunnel's network.
    #[inline]
    pub(crate) fn scoped(&self, key: FlowKey, scope: Scope) -> FlowKey {
        let key = match scope {
            Scope::Vlan if key.scope() == 0 => key.with_scope(self.vlan),
            _ => key,
        };
        match self.network {
            Some(network) => key.in_network(network),
            None => key,
        }
    }
}

/// A hash of the headers around a packet that are the same for all of its fragments: addresses, interfaces, VLANs, MPLS labels, GTP
/// tunnel endpoint identifiers, and sessions of PPPoE, L2TP and the like. Ports do not count, as the senders of some tunnels choose them by
/// the inner packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Around(u64);

impl Around {
    /// The hash for the packet that this one carries in a tunnel.
    pub(crate) fn inside(self, packet: &Packet<'_>) -> Self {
        let mut around = self;
        let mut networks = 0;
        for (layer, header) in packet.headers() {
            networks += u8::from(matches!(layer, Layer::Ipv4 | Layer::Ipv6));
            if networks > 1 {
                break;
            }
            around.take(layer, header);
        }
        around
    }

    pub(super) fn take(&mut self, layer: Layer, header: &[u8]) {
        let number = |at| u64::from(u32_be_at(header, at).unwrap_or(0));
        match layer {
            Layer::Ipv4 => self.mix(number(12) << 32 | number(16)),
            Layer::Ipv6 => {
                for at in [8, 16, 24, 32] {
                    self.mix(number(at) << 32 | number(at + 4));
                }
            }
            Layer::Vlan | Layer::ServiceVlan => self.mix(number(0) >> 16 & 0x0fff),
            // The index of the interface: a capture of all interfaces has packets of several networks.
            Layer::Sll2 => self.mix(number(4)),
            // The label counts, and not its traffic class and TTL.
            Layer::Mpls => self.mix(number(0) >> 12),
            Layer::Gtp => self.mix(number(4)),
            // The numbers of sessions, services and virtual circuits are part of the key.
            Layer::Pppoe => self.mix(number(0) & 0xffff),
            Layer::L2tp => {
                let has_length = header.first().is_some_and(|flags| flags & 0x40 != 0);
                self.mix(number(if has_length { 4 } else { 2 }));
            }
            Layer::ProviderBackbone => self.mix(number(0) & 0x00ff_ffff),
            Layer::Erspan => self.mix(number(0) & 0x03ff),
            Layer::FrameRelay => self.mix(number(0) >> 16 & 0xfcf0),
            _ => {}
        }
    }

    const fn mix(&mut self, number: u64) {
        let mixed = self.0.rotate_left(5) ^ number;
        self.0 = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
