//! First fragments whose flow goes on without the others of their packet.

use std::collections::VecDeque;

use weir_dict::Dict;
use weir_packet::Packet;

use super::{DatagramKey, Defragmenter, Origin, Parsed, parse};
use crate::key::{FlowKey, Scope};

/// Packets whose first fragment came before others, by the flow that it shows.
#[derive(Debug, Default)]
pub(super) struct BegunPackets {
    /// Keys in the order of the first fragments, with those that wait no more.
    by_flow: Dict<FlowKey, VecDeque<(DatagramKey, u64)>>,
    /// The number of those keys.
    len: usize,
}

/// Packets of a flow that come so long after the first fragment of another one show that its others do not come: fragments follow
/// each other within milliseconds, and a capture filter by ports leaves out all but the first ones.
const PATIENCE_NS: i64 = 1_000_000_000;

impl Defragmenter {
    /// Examines a packet before it is read, and gives up the packets of its flow whose fragments were missing for a second. True
    /// when [`Self::take_incomplete`] has the first part of one.
    #[inline]
    pub(crate) fn pass(&mut self, packet: &Packet<'_>, origin: &Origin) -> bool {
        !self.waiting.is_empty() && self.give_up_begun(packet, origin)
    }

    #[cold]
    fn give_up_begun(&mut self, packet: &Packet<'_>, origin: &Origin) -> bool {
        if origin.is_late || !matches!(parse(packet), Parsed::Whole) {
            return false;
        }
        if let Some(time_ns) = packet.frame().time_ns {
            self.clock.see(time_ns);
        }
        let now_ns = self.clock.now_ns();
        let Some(flow) = flow_of(packet, origin) else {
            return false;
        };
        let Some(mut packets) = self.begun.by_flow.remove(&flow) else {
            return false;
        };
        while let Some((key, serial)) = packets.front().copied() {
            let waiting = self.waiting.get(&key).filter(|one| one.serial == serial);
            match waiting {
                Some(one) if now_ns.saturating_sub(one.since_ns) < PATIENCE_NS => break,
                Some(_) => self.counters.timed_out += u64::from(self.give_up(&key)),
                None => {}
            }
            packets.pop_front();
            self.begun.len = self.begun.len.saturating_sub(1);
        }
        if !packets.is_empty() {
            self.begun.by_flow.insert(flow, packets);
        }
        let incomplete = self.incomplete.as_ref();
        incomplete.is_some_and(|incomplete| !incomplete.is_empty())
    }

    /// Notes the flow of a packet whose first fragment has come.
    pub(super) fn note_begun(&mut self, packet: &Packet<'_>, key: DatagramKey, origin: &Origin) {
        let serial = self.waiting.get(&key).map(|one| one.serial);
        let (Some(serial), Some(flow)) = (serial, flow_of(packet, origin)) else {
            return;
        };
        let Self { waiting, begun, .. } = self;
        if begun.len > 2 * waiting.len() + 64 {
            begun.by_flow.retain(|_, packets| {
                packets.retain(|(key, serial)| {
                    waiting.get(key).is_some_and(|one| one.serial == *serial)
                });
                !packets.is_empty()
            });
            begun.len = begun.by_flow.values().map(VecDeque::len).sum();
        }
        let packets = begun.by_flow.entry(flow).or_default();
        packets.push_back((key, serial));
        begun.len += 1;
    }
}

/// The flow of a packet, whatever VLAN it is in: answers may come in another one.
fn flow_of(packet: &Packet<'_>, origin: &Origin) -> Option<FlowKey> {
    let (key, _) = FlowKey::of_packet(packet, Scope::Addresses)?;
    Some(origin.scoped(key, Scope::Addresses))
}
