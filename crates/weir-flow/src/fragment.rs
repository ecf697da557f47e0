//! IP packets, put together from their fragments.

mod begun;
mod origin;
mod parsed;
mod reused;

use std::collections::VecDeque;
use std::hash::BuildHasher;

use crate::clock::Clock;
use weir_dict::{Dict, ProcessKey};
use weir_packet::{Decoder, Frame, Headers, Layer, LinkType, Packet, internet_checksum};

pub(crate) use origin::Origin;
use parsed::{DatagramKey, Fragment, Network, Parsed, parse};

/// The policy for overlapping fragments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overlap {
    /// The bytes that came first. Fragments that begin at one offset and contradict each other are of two packets with one
    /// identification.
    First,
    /// The bytes that came last.
    Last,
    /// The packet is dropped, unless the fragment repeats an earlier one exactly.
    Drop,
}

/// Limits of a [`Defragmenter`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FragmentLimits {
    /// The policy for overlapping IPv4 fragments; the first bytes win by default.
    pub overlap_v4: Overlap,
    /// The policy for overlapping IPv6 fragments; their packets are dropped by default (RFC 8200, 4.5).
    pub overlap_v6: Overlap,
    /// A packet is given up so long after its first fragment came; 60 seconds by default (RFC 8200, 4.5, and
    /// RFC 1122, 3.3.2).
    pub timeout_ns: u64,
    /// Most packets that wait for fragments; 16,384 by default. The oldest goes when there are more.
    pub packets_max: usize,
    /// Most bytes of fragments that wait; 64 MiB by default. The oldest packet goes when there are
    /// more.
    pub bytes_max: usize,
    /// Most fragments of one packet; 1,024 by default. A packet with more is dropped.
    pub fragments_max: u16,
}

impl Default for FragmentLimits {
    fn default() -> Self {
        Self {
            overlap_v4: Overlap::First,
            overlap_v6: Overlap::Drop,
            timeout_ns: 60_000_000_000,
            packets_max: 1 << 14,
            bytes_max: 64 << 20,
            fragments_max: 1_024,
        }
    }
}

/// The counters of a [`Defragmenter`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FragmentCounters {
    /// Fragments taken in.
    pub fragments: u64,
    /// Packets put together.
    pub complete: u64,
    /// Packets given up because not all fragments came in time, or before their flow had gone on for a second.
    pub timed_out: u64,
    /// Packets given up because too many, or too many bytes, waited.
    pub evicted: u64,
    /// The packets that were dropped because fragments overlap.
    pub overlapping: u64,
    /// Packets dropped because their fragments contradict each other or are too many, or are missing when another packet with their
    /// identification comes.
    pub invalid: u64,
    /// Fragments that were not captured whole.
    pub cut: u64,
    /// Packets whose other fragments had not come when the capture ended.
    pub unfinished: u64,
}

/// A fragment of which no flow is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostFragment {
    /// Number of the frame that it came in.
    pub frame: u64,
    /// It is a copy of an earlier fragment, of whose packet nothing is missing for that.
    pub is_copy: bool,
}

/// The outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragmented<'d> {
    /// The packet is not a fragment.
    Whole,
    /// The packet is a fragment, and others are missing or it was dropped.
    Waits,
    /// The packet is a fragment that was not captured whole, and cannot be used.
    Cut,
    /// The packet is the last missing fragment: the reassembled packet from its IP header, which has the whole length.
    Complete {
        /// IP header and payload.
        bytes: &'d [u8],
        /// [`Layer::Ipv4`] or [`Layer::Ipv6`].
        layer: Layer,
        /// Numbers of the frames that its fragments came in, in the order in which they came; this one is the last.
        frames: &'d [u64],
    },
}

/// The decoders of reassembled packets, and headers for those in tunnels. Both borrow from the packet around them, so that there is
/// one for each depth.
#[derive(Debug, Default)]
#[allow(
    clippy::vec_box,
    reason = "they are handed out and taken back without being copied"
)]
pub(crate) struct Nested {
    decoders: Vec<Box<Decoder>>,
    headers: Vec<Box<Headers>>,
}

impl Nested {
    /// A decoder that is not in use.
    pub(crate) fn take(&mut self) -> Box<Decoder> {
        self.decoders.pop().unwrap_or_default()
    }

    /// Returns a decoder.
    pub(crate) fn put(&mut self, decoder: Box<Decoder>) {
        self.decoders.push(decoder);
    }

    /// Headers that are not in use.
    pub(crate) fn take_headers(&mut self) -> Box<Headers> {
        self.headers.pop().unwrap_or_default()
    }

    /// Returns headers.
    pub(crate) fn put_headers(&mut self, headers: Box<Headers>) {
        self.headers.push(headers);
    }
}

/// The frame of a packet that was put together from fragments, of which `packet` was the last.
pub(crate) fn frame_of<'b>(packet: &Packet<'_>, bytes: &'b [u8]) -> Frame<'b> {
    let mut frame = Frame::new(LinkType(0), bytes);
    frame.time_ns = packet.frame().time_ns;
    frame.number = packet.frame().number;
    frame.interface_id = packet.frame().interface_id;
    frame
}

/// The first part of a packet whose other fragments did not come.
#[derive(Debug)]
pub(crate) struct Incomplete {
    bytes: Vec<u8>,
    pub(crate) layer: Layer,
    number: u64,
    time_ns: Option<i64>,
    pub(crate) origin: Origin,
    /// Numbers of the frames that its fragments came in.
    pub(crate) frames: Vec<u64>,
}

impl Incomplete {
    /// The packet as a frame, with the time and the number of the first fragment.
    pub(crate) fn frame(&self) -> Frame<'_> {
        let mut frame = Frame::new(LinkType(0), &self.bytes);
        frame.time_ns = self.time_ns;
        frame.number = self.number;
        frame
    }
}

/// Puts IP packets together from their fragments, in bounded memory.
#[derive(Debug)]
pub struct Defragmenter {
    limits: FragmentLimits,
    waiting: Dict<DatagramKey, IncompletePacket>,
    begun: begun::BegunPackets,
    /// Keys in the order of their first fragments, with those that wait no more.
    order: VecDeque<(DatagramKey, u64)>,
    bytes: usize,
    /// The parts of packets that were given up, if the owner takes them.
    incomplete: Option<VecDeque<Incomplete>>,
    /// The fragments of packets that were dropped without such a part, if the owner takes them.
    lost: Option<Vec<LostFragment>>,
    next_serial: u64,
    /// The keys of packets that wait of which all fragments were there before.
    repeated: Dict<DatagramKey, ()>,
    fragments: crate::repeats::RepeatedFragments,
    clock: Clock,
    complete: Vec<u8>,
    /// The frames of the fragments of the last complete packet.
    frames: Vec<u64>,
    counters: FragmentCounters,
}

/// A packet that waits for fragments.
#[derive(Debug)]
struct IncompletePacket {
    serial: u64,
    since_ns: i64,
    layer: Layer,
    /// The number of the first fragment once it has arrived; before that, of the one that arrived first.
    number: u64,
    time_ns: Option<i64>,
    origin: Origin,
    /// Headers in front of the payload, once the first fragment came.
    header: Vec<u8>,
    payload: Vec<u8>,
    /// Length of the first fragment's payload, once it came.
    first_len: usize,
    /// The byte ranges of the payload that have arrived, ordered and disjoint.
    ranges: Vec<(u32, u32)>,
    /// Length of the payload, once the last fragment came.
    total: Option<u32>,
    fragments: u16,
    /// Numbers of the frames that they came in.
    frames: Vec<u64>,
    /// Another packet had the same identification, so that only the first fragment is this packet's for certain.
    is_contested: bool,
    /// That packet, with what came before this one began.
    older: Option<Box<Self>>,
}

/// The reason why a packet is dropped.
enum Bad {
    Overlap,
    Invalid,
}

impl Defragmenter {
    /// A defragmenter without packets.
    #[must_use]
    pub fn new(limits: FragmentLimits) -> Self {
        Self {
            limits,
            waiting: Dict::new(),
            begun: begun::BegunPackets::default(),
            order: VecDeque::new(),
            bytes: 0,
            incomplete: None,
            lost: None,
            next_serial: 0,
            repeated: Dict::new(),
            fragments: crate::repeats::RepeatedFragments::default(),
            clock: Clock::new(),
            complete: Vec::new(),
            frames: Vec::new(),
            counters: FragmentCounters::default(),
        }
    }

    /// The counters.
    #[must_use]
    pub const fn counters(&self) -> FragmentCounters {
        self.counters
    }

    /// Keeps what is there of packets that are given up, for [`Self::take_incomplete`].
    pub(crate) fn keep_incomplete(&mut self) {
        self.incomplete = Some(VecDeque::new());
    }

    /// The first part of a packet that was given up, and was not taken yet.
    pub(crate) fn take_incomplete(&mut self) -> Option<Incomplete> {
        self.incomplete.as_mut()?.pop_front()
    }

    /// Keeps the fragments of packets that are dropped, for [`Self::take_lost`].
    pub(crate) fn keep_lost(&mut self) {
        self.lost = Some(Vec::new());
    }

    /// The fragments of packets of which nothing will come, since the last call.
    pub(crate) fn take_lost(&mut self) -> Vec<LostFragment> {
        self.lost.as_mut().map_or_else(Vec::new, std::mem::take)
    }

    /// Gives up all incomplete packets at the end of the capture.
    pub(crate) fn finish(&mut self) {
        while let Some((key, serial)) = self.order.pop_front() {
            if self.waits(&key, serial) && self.give_up(&key) {
                self.counters.unfinished += 1;
            }
        }
    }

    fn waits(&self, key: &DatagramKey, serial: u64) -> bool {
        let waiting = self.waiting.get(key);
        waiting.is_some_and(|one| one.serial == serial)
    }

    /// Drops a packet whose fragments did not come, but for its first part. False for copies of fragments that were
    /// there before, of which nothing is missing.
    fn give_up(&mut self, key: &DatagramKey) -> bool {
        let is_repeated = self.repeated.contains_key(key);
        match self.remove(key) {
            Some(waiting) if is_repeated => self.lose(waiting.frames, true),
            Some(waiting) => self.hand_on(waiting),
            None => {}
        }
        !is_repeated
    }

    /// Notes whether the packet of a fragment has only fragments that were there before.
    fn note_repeated(&mut self, fragment: &Fragment<'_>) {
        let Fragment {
            key,
            offset,
            more,
            payload,
            ..
        } = *fragment;
        let hash = ProcessKey.hash_one((key, offset, more, payload));
        let now_ns = self.clock.now_ns();
        let is_repeated = self.fragments.note(hash, now_ns, self.limits.timeout_ns);
        match (is_repeated, self.waiting.contains_key(&key)) {
            (true, false) => {
                self.repeated.insert(key, ());
            }
            (true, true) => {}
            (false, _) => {
                self.repeated.remove(&key);
            }
        }
    }

    /// Reports the first part of a packet, or the numbers of its frames where there is no such part.
    fn hand_on(&mut self, mut waiting: IncompletePacket) {
        if let Some(older) = waiting.older.take() {
            self.counters.invalid += 1;
            self.hand_on(*older);
        }
        match waiting.into_incomplete() {
            Ok(part) => {
                if let Some(incomplete) = &mut self.incomplete {
                    incomplete.push_back(part);
                }
            }
            Err(frames) => self.lose(frames, false),
        }
    }

    fn lose(&mut self, frames: Vec<u64>, is_copy: bool) {
        if let Some(lost) = &mut self.lost {
            let fragment = |frame| LostFragment { frame, is_copy };
            lost.extend(frames.into_iter().map(fragment));
        }
    }

    /// The number of incomplete packets.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Bytes of fragments that wait, with their headers.
    #[must_use]
    pub const fn waiting_bytes(&self) -> usize {
        self.bytes
    }

    /// Reads a packet by its outermost IP header. A packet that is not a fragment costs a look at that header.
    #[inline]
    pub fn packet(&mut self, packet: &Packet<'_>) -> Fragmented<'_> {
        self.packet_from(packet, Origin::default())
    }

    /// Reads a packet in a tunnel, like [`Self::packet`].
    #[inline]
    pub(crate) fn packet_from(&mut self, packet: &Packet<'_>, origin: Origin) -> Fragmented<'_> {
        match parse(packet) {
            Parsed::Whole => Fragmented::Whole,
            Parsed::Cut => {
                self.counters.fragments += 1;
                self.counters.cut += 1;
                Fragmented::Cut
            }
            Parsed::Fragment(mut fragment) => {
                fragment.key.network = Network::of(packet, &origin);
                if let Some(time_ns) = packet.frame().time_ns {
                    self.clock.see(time_ns);
                }
                self.note_repeated(&fragment);
                self.fragment(packet, &fragment, origin)
            }
        }
    }

    #[cold]
    fn fragment(
        &mut self,
        packet: &Packet<'_>,
        fragment: &Fragment<'_>,
        origin: Origin,
    ) -> Fragmented<'_> {
        self.counters.fragments += 1;
        self.expire();
        let overlap = match fragment.layer {
            Layer::Ipv4 => self.limits.overlap_v4,
            _ => self.limits.overlap_v6,
        };
        let known = self.waiting.get(&fragment.key);
        let is_of_other = |waiting: &IncompletePacket| {
            waiting.is_contradicted_by(fragment, overlap)
                || self.is_apart(waiting)
                    && waiting.is_spoilt_by(fragment, overlap, self.limits.fragments_max)
        };
        match known.map(is_of_other) {
            Some(true) => self.begin_anew(fragment),
            Some(false) => {}
            None => self.begin(fragment),
        }
        let Some(waiting) = self.waiting.get_mut(&fragment.key) else {
            return Fragmented::Waits;
        };
        // A first fragment that comes again takes nothing from the one before it, unless the last one counts.
        let begins = fragment.offset == 0 && waiting.header.is_empty();
        let is_first = begins || fragment.offset == 0 && overlap == Overlap::Last;
        if waiting.fragments == 0 || is_first {
            waiting.number = packet.frame().number;
            waiting.time_ns = packet.frame().time_ns;
            waiting.origin = origin.behind_vlan_of(packet);
        }
        let before = waiting.held();
        waiting.came_in(packet.frame().number, self.limits.fragments_max);
        let added = waiting.add(fragment, overlap, self.limits.fragments_max);
        // `held` never falls.
        self.bytes += waiting.held() - before;
        match added {
            Err(bad) => {
                match bad {
                    Bad::Overlap => self.counters.overlapping += 1,
                    Bad::Invalid => self.counters.invalid += 1,
                }
                if let Some(mut waiting) = self.remove(&fragment.key) {
                    waiting.ends_with(packet.frame().number);
                    match bad {
                        Bad::Overlap => self.lose(waiting.frames, false),
                        Bad::Invalid => self.hand_on(waiting.begun_with(fragment)),
                    }
                }
                Fragmented::Waits
            }
            Ok(is_complete) => {
                let complete = match is_complete {
                    true => self.settled(fragment),
                    false => self.settled_older(fragment),
                };
                let Some(complete) = complete else {
                    if begins {
                        self.note_begun(packet, fragment.key, &origin);
                    }
                    while self.bytes > self.limits.bytes_max && self.evict_oldest() {}
                    return Fragmented::Waits;
                };
                self.counters.complete += 1;
                (self.complete, self.frames) = complete;
                Fragmented::Complete {
                    bytes: &self.complete,
                    layer: fragment.layer,
                    frames: &self.frames,
                }
            }
        }
    }

    fn begin(&mut self, fragment: &Fragment<'_>) {
        let key = fragment.key;
        while self.waiting.len() >= self.limits.packets_max.max(1) && self.evict_oldest() {}
        if self.order.len() > 2 * self.waiting.len() + 64 {
            let waiting = &self.waiting;
            self.order
                .retain(|(key, serial)| waiting.get(key).is_some_and(|one| one.serial == *serial));
        }
        let serial = self.next_serial;
        self.next_serial += 1;
        self.order.push_back((key, serial));
        self.waiting.insert(
            key,
            IncompletePacket {
                serial,
                since_ns: self.clock.now_ns(),
                layer: fragment.layer,
                number: 0,
                time_ns: None,
                origin: Origin::default(),
                header: Vec::new(),
                payload: Vec::new(),
                first_len: 0,
                ranges: Vec::new(),
                total: None,
                fragments: 0,
                frames: Vec::new(),
                is_contested: false,
                older: None,
            },
        );
    }

    /// Gives up the packets whose timeout has passed.
    fn expire(&mut self) {
        let timeout_ns = i64::try_from(self.limits.timeout_ns).unwrap_or(i64::MAX);
        let now_ns = self.clock.now_ns();
        while let Some((key, serial)) = self.order.front() {
            let waiting = self.waiting.get(key).filter(|one| one.serial == *serial);
            match waiting {
                Some(one) if one.since_ns.saturating_add(timeout_ns) > now_ns => return,
                Some(_) => {
                    let key = *key;
                    if self.give_up(&key) {
                        self.counters.timed_out += 1;
                    }
                }
                None => {}
            }
            self.order.pop_front();
        }
    }

    /// Gives up the oldest incomplete packet; false when there is none.
    fn evict_oldest(&mut self) -> bool {
        while let Some((key, serial)) = self.order.pop_front() {
            if self.waits(&key, serial) {
                if self.give_up(&key) {
                    self.counters.evicted += 1;
                }
                return true;
            }
        }
        false
    }

    fn remove(&mut self, key: &DatagramKey) -> Option<IncompletePacket> {
        let waiting = self.waiting.remove(key)?;
        self.repeated.remove(key);
        self.bytes = self.bytes.saturating_sub(waiting.held());
        Some(waiting)
    }
}

impl IncompletePacket {
    fn held(&self) -> usize {
        let ranges = self.ranges.capacity() * size_of::<(u32, u32)>();
        let frames = self.frames.capacity() * size_of::<u64>();
        let older = self.older.as_deref().map_or(0, Self::held);
        self.header.len() + self.payload.len() + ranges + frames + older
    }

    /// Adds the number of the frame of a fragment, unless there are too many.
    fn came_in(&mut self, frame: u64, fragments_max: u16) {
        if self.frames.len() < usize::from(fragments_max) {
            self.frames.push(frame);
        }
    }

    /// Adds the number of the frame of the fragment for which the packet is dropped, which may be one too many.
    fn ends_with(&mut self, frame: u64) {
        if self.frames.last() != Some(&frame) {
            self.frames.push(frame);
        }
    }

    /// Adds a fragment; true when the packet is complete.
    fn add(
        &mut self,
        fragment: &Fragment<'_>,
        overlap: Overlap,
        fragments_max: u16,
    ) -> Result<bool, Bad> {
        let len = u32::try_from(fragment.payload.len()).map_err(|_| Bad::Invalid)?;
        let (start, end) = (fragment.offset, fragment.offset + len);
        // The length of IPv4 counts the header, that of IPv6 what follows the first 40 bytes of it.
        let packet_max = match fragment.layer {
            Layer::Ipv4 => LENGTH_MAX,
            _ => LENGTH_MAX + IPV6_HEADER_BYTES,
        };
        let limit = packet_max.saturating_sub(u32::try_from(fragment.header.len()).unwrap_or(0));
        let is_whole_units = !fragment.more || len.is_multiple_of(8) && len > 0;
        if end > limit || !is_whole_units || self.fragments >= fragments_max {
            return Err(Bad::Invalid);
        }
        self.fragments += 1;
        if !fragment.more {
            if self.total.is_some_and(|total| total != end) {
                return Err(Bad::Invalid);
            }
            self.total = Some(end);
        }
        let highest = self.ranges.last().map_or(0, |range| range.1).max(end);
        if self.total.is_some_and(|total| highest > total) {
            return Err(Bad::Invalid);
        }
        if start == 0 && (self.header.is_empty() || overlap == Overlap::Last) {
            self.header = fragment.header.to_vec();
            self.first_len = fragment.payload.len();
            self.name_next(fragment);
        }
        self.place(fragment.payload, start, end, overlap)?;
        let is_all = matches!(self.ranges.as_slice(), [(0, end)] if Some(*end) == self.total);
        Ok(is_all && !self.header.is_empty())
    }

    fn place(&mut self, bytes: &[u8], start: u32, end: u32, overlap: Overlap) -> Result<(), Bad> {
        if start == end {
            return Ok(());
        }
        if self.payload.len() < end as usize {
            self.payload.resize(end as usize, 0);
        }
        let overlaps = self
            .ranges
            .iter()
            .any(|(from, to)| *from < end && start < *to);
        let place = self.payload.get_mut(start as usize..end as usize);
        let place = place.ok_or(Bad::Invalid)?;
        if overlaps {
            if overlap == Overlap::Drop {
                let is_inside = self
                    .ranges
                    .iter()
                    .any(|(from, to)| *from <= start && end <= *to);
                return if is_inside && place == bytes {
                    Ok(())
                } else {
                    Err(Bad::Overlap)
                };
            }
            if overlap == Overlap::First {
                self.fill_holes(bytes, start, end);
                return Ok(());
            }
        }
        place.copy_from_slice(bytes);
        self.add_range(start, end);
        Ok(())
    }

    /// Copies only what is not there yet.
    fn fill_holes(&mut self, bytes: &[u8], start: u32, end: u32) {
        let mut at = start;
        let mut copy = |from: u32, to: u32| {
            let source = bytes.get((from - start) as usize..(to - start) as usize);
            let place = self.payload.get_mut(from as usize..to as usize);
            if let (Some(source), Some(place)) = (source, place) {
                place.copy_from_slice(source);
            }
        };
        for (from, to) in &self.ranges {
            if *from > at {
                copy(at, (*from).min(end).max(at));
            }
            at = at.max(*to);
            if at >= end {
                break;
            }
        }
        if at < end {
            copy(at, end);
        }
        self.add_range(start, end);
    }

    fn add_range(&mut self, mut start: u32, mut end: u32) {
        let first = self.ranges.partition_point(|(_, to)| *to < start);
        let after = self.ranges.partition_point(|(from, _)| *from <= end);
        if let Some(merged) = self.ranges.get(first..after) {
            for (from, to) in merged {
                start = start.min(*from);
                end = end.max(*to);
            }
        }
        self.ranges.splice(first..after.max(first), [(start, end)]);
    }

    /// Adds the beginning of a fragment that fits no others, such as one with more fragments behind it and a length that is no
    /// multiple of 8. A beginning that was there before stays.
    fn begun_with(mut self, fragment: &Fragment<'_>) -> Self {
        if fragment.offset == 0 && self.header.is_empty() {
            self.header = fragment.header.to_vec();
            self.name_next(fragment);
            self.payload = fragment.payload.to_vec();
            self.first_len = self.payload.len();
            let end = u32::try_from(self.payload.len()).unwrap_or(u32::MAX);
            self.ranges = vec![(0, end)];
        }
        self
    }

    /// Writes into the header what the first fragment says that comes behind it.
    fn name_next(&mut self, fragment: &Fragment<'_>) {
        if let Some((at, protocol)) = fragment.next
            && let Some(place) = self.header.get_mut(at)
        {
            *place = protocol;
        }
    }

    /// The packet from its beginning to the first gap; the numbers of its frames when the beginning is missing.
    fn into_incomplete(mut self) -> Result<Incomplete, Vec<u64>> {
        let end = match self.ranges.first() {
            Some((0, end)) if !self.header.is_empty() => usize::try_from(*end),
            _ => return Err(self.frames),
        };
        let Ok(end) = end else {
            return Err(self.frames);
        };
        let end = match self.is_contested {
            true => end.min(self.first_len),
            false => end,
        };
        self.payload.truncate(end);
        let (layer, number, time_ns) = (self.layer, self.number, self.time_ns);
        let origin = Origin {
            is_late: true,
            ..self.origin
        };
        let (bytes, frames) = self.into_packet(layer);
        Ok(Incomplete {
            bytes,
            layer,
            number,
            time_ns,
            origin,
            frames,
        })
    }

    /// The packet, with a header that says that it is whole, and the numbers of the frames that it came in.
    fn into_packet(mut self, layer: Layer) -> (Vec<u8>, Vec<u64>) {
        let total = self.header.len() + self.payload.len();
        let mut set = |at: usize, number: u16| {
            if let Some(place) = self.header.get_mut(at..at + 2) {
                place.copy_from_slice(&number.to_be_bytes());
            }
        };
        if layer == Layer::Ipv4 {
            // Checked when fragments came: at most LENGTH_MAX, as that of IPv6.
            set(2, u16::try_from(total).unwrap_or(u16::MAX));
            set(6, 0);
            set(10, 0);
            let sum = internet_checksum(&[&self.header]);
            if let Some(place) = self.header.get_mut(10..12) {
                place.copy_from_slice(&sum.to_be_bytes());
            }
        } else {
            set(
                4,
                u16::try_from(total.saturating_sub(IPV6_HEADER_BYTES as usize)).unwrap_or(u16::MAX),
            );
        }
        self.header.append(&mut self.payload);
        (self.header, self.frames)
    }
}

/// The largest length that a header can say (RFC 8200, 4.5: what is longer is dropped).
const LENGTH_MAX: u32 = 65_535;
const IPV6_HEADER_BYTES: u32 = 40;
