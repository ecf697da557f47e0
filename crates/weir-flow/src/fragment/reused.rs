//! Identifications that a sender uses again while fragments of a packet before are missing.

use weir_packet::{Decoder, Frame, Layer, LinkType};

use super::{Defragmenter, Fragment, IncompletePacket, Overlap};
use crate::tracker::is_sound;

impl Defragmenter {
    /// Begins a packet of which a fragment contradicts that of the packet that waits under the same key. The latter is kept beside
    /// it, since the fragments that follow may be of either.
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
            return match fragment.offset == 0 && self.is_apart(&newer) {
                true => self.completed_by_first(fragment, newer),
                false => Some(newer.into_packet(layer)),
            };
        }
        let of_older = newer.completes_older();
        let left = newer.left_by_older();
        let older = newer.older.take();
        let beginning = newer.beginning();
        let frames = newer.frames.iter();
        let rest: Vec<u64> = frames
            .copied()
            .filter(|number| *number != newer.number)
            .collect();
        let whole = newer.into_packet(layer);
        let is_newer = has_right_checksum(&whole.0, layer) != Some(false);
        if !is_newer && let Some(packet) = of_older {
            let whole = packet.into_packet(layer);
            if has_right_checksum(&whole.0, layer) == Some(true) {
                self.wait_again(fragment, left);
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
        self.lose(rest, false);
        self.hand_on(beginning);
        None
    }

    /// Whether a packet has waited for so long that a fragment may be of another one.
    pub(super) fn is_apart(&self, packet: &IncompletePacket) -> bool {
        self.clock.now_ns().saturating_sub(packet.since_ns) >= APART_NS
    }

    /// The packet that its first fragment completed, unless the checksum of the transport shows that the others are of one before, whose
    /// first fragment did not come: then those of this one may follow.
    fn completed_by_first(
        &mut self,
        fragment: &Fragment<'_>,
        packet: IncompletePacket,
    ) -> Option<(Vec<u8>, Vec<u64>)> {
        let beginning = packet.beginning();
        let frames = packet.frames.iter();
        let rest: Vec<u64> = frames
            .copied()
            .filter(|number| *number != packet.number)
            .collect();
        let whole = packet.into_packet(fragment.layer);
        if has_right_checksum(&whole.0, fragment.layer) != Some(false) {
            return Some(whole);
        }
        self.counters.invalid += 1;
        self.lose(rest, false);
        self.wait_again(fragment, beginning);
        None
    }

    /// The older one of two packets with one identification, and the numbers of its frames, if a fragment completed it.
    pub(super) fn settled_older(&mut self, fragment: &Fragment<'_>) -> Option<(Vec<u8>, Vec<u64>)> {
        let newer = self.waiting.get(&fragment.key)?;
        let whole = newer.completes_older()?.into_packet(fragment.layer);
        if has_right_checksum(&whole.0, fragment.layer) != Some(true) {
            return None;
        }
        let left = self.remove(&fragment.key)?.left_by_older();
        self.wait_again(fragment, left);
        Some(whole)
    }

    /// Keeps what is left of a packet of which fragments turned out to be those of another one. Its place in the order of packets
    /// is still there.
    fn wait_again(&mut self, fragment: &Fragment<'_>, left: IncompletePacket) {
        self.bytes += left.held();
        self.waiting.insert(fragment.key, left);
    }
}

impl IncompletePacket {
    /// Whether a fragment is that of another packet with the same identification: the first bytes count where fragments overlap,
    /// but those of one packet that begin at one offset begin in one way.
    pub(super) fn is_contradicted_by(&self, fragment: &Fragment<'_>, overlap: Overlap) -> bool {
        let known = self
            .ranges
            .iter()
            .find(|(from, _)| *from == fragment.offset);
        let (Overlap::First, Some((from, to))) = (overlap, known) else {
            return false;
        };
        let (from, to) = (*from as usize, *to as usize);
        let known = self.payload.get(from..to).unwrap_or_default();
        let known = match from {
            0 => known.get(..self.first_len).unwrap_or(known),
            _ => known,
        };
        let common = known.len().min(fragment.payload.len());
        known.get(..common) != fragment.payload.get(..common)
    }

    /// Whether a fragment is not the first one and completes a packet whose checksum is wrong with it: it is of another packet then, whose
    /// other fragments come behind it.
    pub(super) fn is_spoilt_by(
        &self,
        fragment: &Fragment<'_>,
        overlap: Overlap,
        fragments_max: u16,
    ) -> bool {
        let is_certain = self.is_contested || self.header.is_empty() || fragment.offset == 0;
        if is_certain || overlap != Overlap::First {
            return false;
        }
        let len = u32::try_from(fragment.payload.len()).unwrap_or(u32::MAX);
        let known: u32 = self.ranges.iter().map(|(from, to)| to - from).sum();
        let end = (!fragment.more).then(|| fragment.offset.saturating_add(len));
        let total = self.total.or(end);
        if total.is_none_or(|total| known.saturating_add(len) < total) {
            return false;
        }
        let mut packet = Self {
            payload: self.payload.clone(),
            ranges: self.ranges.clone(),
            total: self.total,
            ..self.beginning()
        };
        let is_complete = packet.add(fragment, overlap, fragments_max);
        matches!(is_complete, Ok(true))
            && has_right_checksum(&packet.into_packet(fragment.layer).0, fragment.layer)
                == Some(false)
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

    /// What is left where the fragments that complete the older packet are not this one's: the first one, or all others if it was
    /// the older packet that lacked it.
    fn left_by_older(&self) -> Self {
        let lacked_first = |older: &Self| older.header.is_empty();
        if !self.older.as_deref().is_some_and(lacked_first) {
            return self.beginning();
        }
        let frames = self.frames.iter().copied();
        Self {
            header: Vec::new(),
            payload: self.payload.clone(),
            first_len: 0,
            ranges: self.behind_first(),
            total: self.total,
            fragments: self.fragments.saturating_sub(1),
            frames: frames.filter(|number| *number != self.number).collect(),
            ..self.beginning()
        }
    }

    /// The ranges without the first fragment.
    fn behind_first(&self) -> Vec<(u32, u32)> {
        let first_len = u32::try_from(self.first_len).unwrap_or(u32::MAX);
        let clipped = self.ranges.iter();
        let behind = clipped.map(|(from, to)| ((*from).max(first_len), *to));
        behind.filter(|(from, to)| from < to).collect()
    }

    /// The older packet with what it lacks of this one; `None` where that does not complete it.
    fn completes_older(&self) -> Option<Self> {
        let older = self.older.as_deref()?;
        let total = older.total.or(self.total)?;
        if older.ranges.last().is_some_and(|(_, end)| *end > total) {
            return None;
        }
        // Only one of both has a first fragment where the other lacks it.
        let (header, behind) = match older.header.is_empty() {
            true => (&self.header, self.ranges.clone()),
            false => (&older.header, self.behind_first()),
        };
        if header.is_empty() {
            return None;
        }
        let mut packet = Self {
            header: header.clone(),
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
        let is_first_own = !older.header.is_empty();
        packet
            .frames
            .extend(frames.filter(|number| !is_first_own || *number != self.number));
        Some(packet)
    }
}

/// Fragments of a packet that are so far apart may be of two: a sender takes longer for all identifications (RFC 4963, 2).
const APART_NS: i64 = 10_000_000;

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
