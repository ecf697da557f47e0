//! Identifications that a sender uses again while fragments of a packet before are missing.

use weir_packet::{Decoder, Frame, Layer, LinkType};

use super::{Defragmenter, Fragment, IncompletePacket, Overlap};
use crate::tracker::is_sound;

impl Defragmenter {
    /// Begins a packet whose first fragment contradicts that of the packet that waits under the same key. The latter is kept
    /// beside it, since the fragments that follow may be of either.
    pub(super) fn begin_anew(&mut self, fragment: &Fragment<'_>) {
        let Some(mut before) = self.remove(&fragment.key) else {
            return;
        };
        if let Some(older) = before.older.take() {
            self.counters.invalid += 1;
            self.hand_on(*older);
        }
        self.begin(fragment);
        if let Some(waiting) = self.waiting.get_mut(&fragment.key) {
            waiting.is_contested = true;
            waiting.older = Some(Box::new(before));
            self.bytes += waiting.held();
        }
    }

    /// The packet that a fragment completed, and the numbers of its frames. Where another packet had its identification, the
    /// checksum of the transport decides which of both the fragments belong to; `None` where they belong to neither.
    pub(super) fn settled(&mut self, fragment: &Fragment<'_>) -> Option<(Vec<u8>, Vec<u64>)> {
        let layer = fragment.layer;
        let mut newer = self.remove(&fragment.key)?;
        if !newer.is_contested {
            return Some(newer.into_packet(layer));
        }
        let of_older = newer.completes_older();
        let older = newer.older.take();
        let beginning = newer.beginning();
        let frames = newer.frames.iter();
        let rest: Vec<u64> = frames.copied().filter(|it| *it != newer.number).collect();
        let whole = newer.into_packet(layer);
        let is_newer = has_right_checksum(&whole.0, layer) != Some(false);
        if !is_newer && let Some(packet) = of_older {
            let whole = packet.into_packet(layer);
            if has_right_checksum(&whole.0, layer) == Some(true) {
                self.wait_again(fragment, beginning);
                return Some(whole);
            }
        }
        if let Some(older) = older {
            self.counters.invalid += 1;
            self.hand_on(*older);
        }
        if is_newer {
            return Some(whole);
        }
        self.counters.invalid += 1;
        self.lose(rest);
        self.hand_on(beginning);
        None
    }

    /// The older one of two packets with one identification, and the numbers of its frames, if a fragment completed it.
    pub(super) fn settled_older(&mut self, fragment: &Fragment<'_>) -> Option<(Vec<u8>, Vec<u64>)> {
        let newer = self.waiting.get(&fragment.key)?;
        let whole = newer.completes_older()?.into_packet(fragment.layer);
        if has_right_checksum(&whole.0, fragment.layer) != Some(true) {
            return None;
        }
        let beginning = self.remove(&fragment.key)?.beginning();
        self.wait_again(fragment, beginning);
        Some(whole)
    }

    /// Keeps the first fragment of a packet whose others turned out to be those of another one. Its place in the order of
    /// packets is still there.
    fn wait_again(&mut self, fragment: &Fragment<'_>, beginning: IncompletePacket) {
        self.bytes += beginning.held();
        self.waiting.insert(fragment.key, beginning);
    }
}

impl IncompletePacket {
    /// Whether a fragment is the first one of another packet with the same identification: the first bytes count where
    /// fragments overlap, but those of one packet do not begin in two ways.
    pub(super) fn is_contradicted_by(&self, fragment: &Fragment<'_>, overlap: Overlap) -> bool {
        if overlap != Overlap::First || fragment.offset != 0 || self.header.is_empty() {
            return false;
        }
        let common = self.first_len.min(fragment.payload.len());
        self.payload.get(..common) != fragment.payload.get(..common)
    }

    /// Only the first fragment, while the others may be of another packet.
    fn beginning(&self) -> Self {
        let payload = self.payload.get(..self.first_len).unwrap_or_default();
        let end = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        Self {
            serial: self.serial,
            since_ns: self.since_ns,
            layer: self.layer,
            number: self.number,
            time_ns: self.time_ns,
            origin: self.origin,
            header: self.header.clone(),
            payload: payload.to_vec(),
            first_len: self.first_len,
            ranges: vec![(0, end)],
            total: None,
            fragments: 1,
            frames: vec![self.number],
            is_contested: true,
            older: None,
        }
    }

    /// The older packet with what came behind the first fragment of this one; `None` where that does not complete it.
    fn completes_older(&self) -> Option<Self> {
        let older = self.older.as_deref()?;
        let total = self.total.or(older.total)?;
        if older.header.is_empty() || older.total.is_some_and(|own| own != total) {
            return None;
        }
        let first_len = u32::try_from(self.first_len).ok()?;
        let clipped = self.ranges.iter();
        let behind = clipped.map(|(from, to)| ((*from).max(first_len), *to));
        let behind: Vec<(u32, u32)> = behind.filter(|(from, to)| from < to).collect();
        let mut packet = Self {
            header: older.header.clone(),
            ranges: older.ranges.clone(),
            frames: older.frames.clone(),
            total: Some(total),
            ..older.beginning()
        };
        for (from, to) in &behind {
            packet.add_range(*from, *to);
        }
        if packet.ranges != [(0, total)] {
            return None;
        }
        packet.payload.clone_from(&older.payload);
        packet.ranges.clone_from(&older.ranges);
        for (from, to) in behind {
            let bytes = self.payload.get(from as usize..to as usize)?;
            packet.place(bytes, from, to, Overlap::First).ok()?;
        }
        let frames = self.frames.iter().copied();
        packet.frames.extend(frames.filter(|it| *it != self.number));
        Some(packet)
    }
}

/// Whether the checksum of the transport in a packet that was put together is right, and the length of UDP; `None` without
/// a checksum.
fn has_right_checksum(bytes: &[u8], layer: Layer) -> Option<bool> {
    let mut decoder = Decoder::default();
    let packet = decoder.decode_as(Frame::new(LinkType(0), bytes), layer);
    if let (Some(Layer::Udp), Some(datagram)) = (packet.transport(), packet.bytes(Layer::Udp)) {
        let stated = packet.u16_be(Layer::Udp, 4).map_or(0, usize::from);
        if stated != 0 && stated != datagram.len() {
            return Some(false);
        }
    }
    is_sound(&packet)
}
