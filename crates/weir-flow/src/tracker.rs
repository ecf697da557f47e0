//! Packets to flows: fragments put together, checksums looked at, applications recognised.

use weir_packet::{Field, Get, Layer, Packet, fields};

use crate::analysis::{Analysis, Analyzed};
use crate::detect::{Application, Context, RtpHeader, detect, of_message};
use crate::fragment::{
    Defragmenter, FragmentCounters, FragmentLimits, Fragmented, LostFragment, Nested, Origin,
    frame_of,
};
use crate::gathered::GatheredFrames;
use crate::key::Scope;
use crate::openings::{LOOKED_AT_MAX, Openings};
use crate::options::{Counters, Options, TUNNELS_MAX, Tunnels};
use crate::record::{End, FlowRecord};
use crate::sctp;
use crate::sighting::{Sighting, udp_payload_len};
use crate::table::{FlowTable, Seen};

/// A [`FlowTable`] that is fed with packets as they come out of a [`Decoder`](weir_packet::Decoder).
#[derive(Debug)]
pub struct Tracker {
    table: FlowTable,
    defragmenter: Defragmenter,
    nested: Nested,
    checksums: Vec<ChecksumField>,
    analysis: Option<Box<Analyzing>>,
    openings: Openings,
    fragments: Option<Box<FragmentsOfFlows>>,
}

/// A fragment of IP, and the flow of the packet that it is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FragmentOfFlow {
    /// Number of the frame that it came in.
    pub frame: u64,
    /// Number of the flow, as [`Seen::number`].
    pub flow: u64,
    /// The packet came from the originator, as far as was known then.
    pub from_originator: bool,
}

/// Fragments whose flows are known, as [`Tracker::note_fragments`] wants.
#[derive(Debug, Default)]
struct FragmentsOfFlows {
    gathered: GatheredFrames,
    found: Vec<FragmentOfFlow>,
    /// The fragments that are of no flow.
    lost: Vec<LostFragment>,
    /// The relation of the last packet to its own IP packet.
    last: LastPacket,
}

/// The last packet, as a fragment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LastPacket {
    /// The packet is whole, or the last missing fragment.
    #[default]
    Whole,
    /// The packet is a fragment whose others are missing.
    Waits,
    /// The packet is a fragment that was not captured whole.
    Cut,
}

impl FragmentsOfFlows {
    /// Adds the fragments of a packet of this flow that was complete with the frame `last`, or began with it. The packet may have
    /// been whole unless it `is_known` to be a fragment.
    fn found(&mut self, last: u64, others: &[u64], seen: Seen, is_known: bool) {
        let mut all = Vec::new();
        let gathered = self.gathered.of_all(last, others, &mut all);
        if gathered.is_empty() && !is_known {
            return;
        }
        let frames = gathered.iter().copied().chain([last]);
        self.found.extend(frames.map(|frame| FragmentOfFlow {
            frame,
            flow: seen.number,
            from_originator: seen.from_originator,
        }));
    }

    /// Adds the fragments of a packet that is of no flow.
    fn lose(&mut self, frames: &[u64]) {
        let fragment = |frame: &u64| LostFragment {
            frame: *frame,
            is_copy: false,
        };
        self.lose_all(frames.iter().map(fragment));
    }

    /// Adds fragments, which may be copies, of packets that are of no flow.
    fn lose_all(&mut self, fragments: impl IntoIterator<Item = LostFragment>) {
        for lost in fragments {
            let others = self.gathered.of(lost.frame).iter();
            self.lost.extend(others.map(|frame| LostFragment {
                frame: *frame,
                ..lost
            }));
            self.lost.push(lost);
        }
    }

    /// Adds what became known by a packet that was counted to a flow, or to none.
    fn note(&mut self, number: u64, seen: Option<Seen>, lost: Vec<LostFragment>) {
        match (seen, self.last) {
            (Some(seen), _) => self.found(number, &[], seen, false),
            (None, LastPacket::Waits) => {}
            (None, LastPacket::Cut) => self.lose(&[number]),
            (None, LastPacket::Whole) if self.gathered.of(number).is_empty() => {}
            (None, LastPacket::Whole) => self.lose(&[number]),
        }
        self.lose_all(lost);
    }
}

/// The analysis of TCP, and what it said of the last packet.
#[derive(Debug)]
struct Analyzing {
    analysis: Analysis,
    number: u64,
    last: Option<Analyzed>,
}

/// A layer, and a function that gives whether the checksum of its header is right: `None` without what it covers.
type ChecksumField = (Layer, fn(&Packet<'_>) -> Option<bool>);

/// The number of consecutive packets of one source (SSRC) in one direction that make a flow RTP.
const RTP_PACKETS_MIN: u32 = 3;

impl Tracker {
    /// A state without flows, and with the default limits for fragments.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self::with_fragments(options, FragmentLimits::default())
    }

    /// A state without flows.
    #[must_use]
    pub fn with_fragments(options: Options, fragments: FragmentLimits) -> Self {
        let checksums = if options.checksums {
            checksum_fields()
        } else {
            Vec::new()
        };
        let mut defragmenter = Defragmenter::new(fragments);
        defragmenter.keep_incomplete();
        Self {
            table: FlowTable::new(options),
            defragmenter,
            nested: Nested::default(),
            checksums,
            analysis: None,
            openings: Openings::default(),
            fragments: None,
        }
    }

    /// Notes from now on which fragments flows are made of: see [`Self::take_fragments`].
    pub fn note_fragments(&mut self) {
        self.fragments = Some(Box::default());
        self.defragmenter.keep_lost();
    }

    /// The fragments whose flows have become known since the last time, each with its flow; one that others complete has
    /// to wait for them.
    pub fn take_fragments(&mut self) -> Vec<FragmentOfFlow> {
        let fragments = self.fragments.as_mut();
        fragments.map_or_else(Vec::new, |fragments| std::mem::take(&mut fragments.found))
    }

    /// The fragments that, since the last time, turned out to be of no flow: the first one of their packet is missing, is cut before
    /// the ports, or others contradict it; or they are copies of earlier ones.
    pub fn take_lost_fragments(&mut self) -> Vec<LostFragment> {
        let fragments = self.fragments.as_mut();
        fragments.map_or_else(Vec::new, |fragments| std::mem::take(&mut fragments.lost))
    }

    /// Whether the last packet is a fragment that waits for others, so that its flow becomes known later, if
    /// [fragments are noted](Self::note_fragments).
    #[must_use]
    pub fn waits_for_fragments(&self) -> bool {
        let last = self.fragments.as_ref().map(|fragments| fragments.last);
        last == Some(LastPacket::Waits)
    }

    /// Notes what the last packet is as a fragment.
    fn note_last(&mut self, last: LastPacket) {
        if let Some(fragments) = &mut self.fragments {
            fragments.last = last;
        }
    }

    /// Analyses TCP from now on: see [`Self::analyzed`].
    pub fn analyze(&mut self) {
        let analysis = Analysis::new(self.table.options().flows_max);
        self.analysis = Some(Box::new(Analyzing {
            analysis,
            number: 0,
            last: None,
        }));
    }

    /// The analysis, if there is one.
    #[must_use]
    pub fn analysis(&self) -> Option<&Analysis> {
        self.analysis.as_deref().map(|state| &state.analysis)
    }

    /// The findings of the analysis about the last packet of [`Self::packet`]; `None` when it is not TCP.
    #[must_use]
    pub fn analyzed(&self) -> Option<Analyzed> {
        self.analysis.as_deref()?.last
    }

    /// The flows.
    #[must_use]
    pub const fn table(&self) -> &FlowTable {
        &self.table
    }

    /// The counters.
    #[must_use]
    pub const fn counters(&self) -> (Counters, FragmentCounters) {
        let counters = Counters {
            openings_refused: self.openings.refused,
            ..self.table.counters()
        };
        (counters, self.defragmenter.counters())
    }

    /// Counts a packet to its flow. With [`Tunnels::Inner`] it has to be decoded to its innermost header,
    /// otherwise to its transport's. Gives which one; `None` without IP, of a fragment that is not the
    /// last one missing, and where the transport's header is cut. Flows that are over are handed to
    /// `ended`.
    #[inline]
    pub fn packet(&mut self, packet: &Packet<'_>, ended: impl FnMut(FlowRecord)) -> Option<Seen> {
        self.note_last(LastPacket::Whole);
        let seen = self.counted(packet, ended);
        if let Some(fragments) = &mut self.fragments {
            let lost = self.defragmenter.take_lost();
            fragments.note(packet.frame().number, seen, lost);
        }
        seen
    }

    #[inline]
    fn counted(&mut self, packet: &Packet<'_>, mut ended: impl FnMut(FlowRecord)) -> Option<Seen> {
        if let Some(analyzing) = &mut self.analysis {
            analyzing.number = packet.frame().number;
            analyzing.last = None;
        }
        if self.table.options().tunnels == Tunnels::Inner {
            return self.innermost(packet, Origin::default(), 0, &mut ended);
        }
        if self.defragmenter.pass(packet, &Origin::default()) {
            self.count_incomplete(&mut ended);
        }
        let seen = match self.defragmenter.packet(packet) {
            // The first of fragments that were cut by a snap length has the headers.
            whole @ (Fragmented::Whole | Fragmented::Cut) => {
                let is_whole = whole == Fragmented::Whole;
                let seen = count(
                    &mut self.table,
                    &mut self.openings,
                    &self.checksums,
                    self.analysis.as_deref_mut(),
                    packet,
                    None,
                    &mut ended,
                );
                if is_whole {
                    return seen;
                }
                self.note_last(LastPacket::Cut);
                seen
            }
            Fragmented::Waits => {
                self.note_last(LastPacket::Waits);
                None
            }
            Fragmented::Complete {
                bytes,
                layer,
                frames,
            } => {
                if let Some(fragments) = &mut self.fragments {
                    fragments.gathered.take(packet.frame().number, frames);
                }
                let mut decoder = self.nested.take();
                let whole = decoder.decode_as(frame_of(packet, bytes), layer);
                let seen = count(
                    &mut self.table,
                    &mut self.openings,
                    &self.checksums,
                    self.analysis.as_deref_mut(),
                    &whole,
                    Some(Origin::default().behind_vlan_of(packet)),
                    &mut ended,
                );
                self.nested.put(decoder);
                seen
            }
        };
        self.count_incomplete(&mut ended);
        seen
    }

    /// Counts what packets begin with whose other fragments did not come.
    #[cold]
    fn count_incomplete(&mut self, mut ended: &mut dyn FnMut(FlowRecord)) {
        while let Some(incomplete) = self.defragmenter.take_incomplete() {
            let mut decoder = self.nested.take();
            let packet = decoder.decode_as(incomplete.frame(), incomplete.layer);
            // The analysis of this packet replaces that of the packet before.
            let seen = count(
                &mut self.table,
                &mut self.openings,
                &self.checksums,
                None,
                &packet,
                Some(incomplete.origin),
                &mut ended,
            );
            match (&mut self.fragments, seen) {
                (Some(fragments), Some(seen)) => {
                    let first = incomplete.frame().number;
                    let mut others = incomplete.frames.clone();
                    others.retain(|frame| *frame != first);
                    fragments.found(first, &others, seen, true);
                }
                (Some(fragments), None) => fragments.lose(&incomplete.frames),
                (None, _) => {}
            }
            self.nested.put(decoder);
        }
    }

    /// Counts the packet that is in all tunnels.
    fn innermost(
        &mut self,
        packet: &Packet<'_>,
        origin: Origin,
        depth: usize,
        ended: &mut dyn FnMut(FlowRecord),
    ) -> Option<Seen> {
        if self.defragmenter.pass(packet, &origin) {
            self.count_incomplete(ended);
        }
        match self.defragmenter.packet_from(packet, origin) {
            Fragmented::Whole => {}
            Fragmented::Cut => self.note_last(LastPacket::Cut),
            Fragmented::Waits => {
                self.note_last(LastPacket::Waits);
                self.count_incomplete(ended);
                return None;
            }
            Fragmented::Complete {
                bytes,
                layer,
                frames,
            } => {
                if let Some(fragments) = &mut self.fragments {
                    fragments.gathered.take(packet.frame().number, frames);
                }
                let bytes = bytes.to_vec();
                let mut decoder = self.nested.take();
                let whole = decoder.decode_as(frame_of(packet, &bytes), layer);
                let origin = origin.behind_vlan_of(packet);
                let seen = self.innermost(&whole, origin, depth, ended);
                self.nested.put(decoder);
                self.count_incomplete(ended);
                return seen;
            }
        }
        if depth < TUNNELS_MAX && packet.has_inside() {
            let mut headers = self.nested.take_headers();
            let vlan = match self.table.options().scope {
                Scope::Vlan => origin.behind_vlan_of(packet).vlan,
                Scope::Addresses => 0,
            };
            let seen = packet.inside(&mut headers).map(|(inside, identifier)| {
                let origin = Origin {
                    network: identifier.or(origin.network),
                    around: origin.around.inside(packet),
                    vlan,
                    ..Origin::default()
                };
                self.innermost(&inside, origin, depth + 1, ended)
            });
            self.nested.put_headers(headers);
            if let Some(seen) = seen {
                return seen;
            }
        }
        count(
            &mut self.table,
            &mut self.openings,
            &self.checksums,
            self.analysis.as_deref_mut(),
            packet,
            Some(origin),
            ended,
        )
    }

    /// Reports all flows at the end of the capture.
    pub fn finish(&mut self, mut ended: impl FnMut(FlowRecord)) {
        self.defragmenter.finish();
        self.count_incomplete(&mut ended);
        if let Some(fragments) = &mut self.fragments {
            fragments.lose_all(self.defragmenter.take_lost());
        }
        self.table.finish(ended);
    }
}

#[inline]
fn count(
    table: &mut FlowTable,
    openings: &mut Openings,
    checksums: &[ChecksumField],
    analyzing: Option<&mut Analyzing>,
    packet: &Packet<'_>,
    origin: Option<Origin>,
    mut ended: impl FnMut(FlowRecord),
) -> Option<Seen> {
    let mut sighting = Sighting::of_packet(packet, table.options().scope)?;
    let is_late = origin.is_some_and(|origin| origin.is_late);
    if let Some(origin) = origin {
        sighting.key = origin.scoped(sighting.key, table.options().scope);
    }
    if !checksums.is_empty() {
        if is_wrong(checksums, packet, Layer::Ipv4) {
            // The addresses may be wrong.
            return None;
        }
        let transport = packet.transport();
        sighting.bad_checksum = transport.is_some_and(|layer| is_wrong(checksums, packet, layer));
    }
    if let Some(analyzing) = analyzing
        && !sighting.bad_checksum
    {
        let number = analyzing.number;
        analyzing.last = analyzing.analysis.packet(packet, &sighting, number);
    }
    let ended = |flow: FlowRecord| {
        if flow.end != End::Active {
            openings.forget(flow.number);
        }
        ended(flow);
    };
    let seen = match is_late {
        true => table.late(&sighting, ended)?,
        false => table.packet(&sighting, ended)?,
    };
    if sighting.payload_bytes > 0 {
        recognise(table, openings, packet, &sighting, &seen);
    }
    Some(seen)
}

/// Inspects payloads until the application of the flow is known.
fn recognise(
    table: &mut FlowTable,
    openings: &mut Openings,
    packet: &Packet<'_>,
    sighting: &Sighting,
    seen: &Seen,
) {
    let Some(known) = table.open_application(seen) else {
        return;
    };
    let message = match packet.transport() {
        Some(Layer::Sctp) => sctp::first_message(packet),
        _ => None,
    };
    let Some(payload) = message.map_or_else(|| payload(packet), |(_, bytes)| Some(bytes)) else {
        return;
    };
    let server = match (sighting.sender, seen.from_originator) {
        (crate::Sender::Low, true) | (crate::Sender::High, false) => sighting.key.high(),
        _ => sighting.key.low(),
    };
    let context = Context {
        is_stream: sighting.segment.is_some(),
        from_originator: seen.from_originator,
        server_port: server.port,
    };
    if let Some(segment) = &sighting.segment {
        openings.segment(table, (sighting, segment), seen, payload, &context);
        return;
    }
    let found = match message {
        Some((protocol, bytes)) => of_message(protocol, bytes, &context),
        None => detect(payload, &context),
    };
    let is_spent = table.packets_of(seen) >= LOOKED_AT_MAX;
    match found {
        Application::Unknown if is_spent => table.set_application(seen, known, true),
        Application::Unknown => {}
        // One packet says little, and any bytes may look like one.
        Application::Rtp => {
            let header = RtpHeader::of(payload);
            let in_a_row = header.map_or(0, |header| table.follow_rtp(seen, header));
            if in_a_row >= RTP_PACKETS_MIN {
                table.set_application(seen, found, true);
            } else if is_spent {
                table.set_application(seen, known, true);
            }
        }
        _ => table.set_application(seen, found, true),
    }
}

/// The captured bytes above TCP, UDP or UDP-Lite.
#[must_use]
pub(crate) fn payload<'p>(packet: &Packet<'p>) -> Option<&'p [u8]> {
    match packet.transport()? {
        Layer::Tcp => {
            let bytes = packet.bytes(Layer::Tcp)?;
            bytes.get(usize::from(bytes.get(12)? >> 4) * 4..)
        }
        layer @ (Layer::Udp | Layer::UdpLite) => {
            let bytes = packet.bytes(layer)?.get(8..)?;
            // The bytes of the IP packet after the datagram do not belong to UDP.
            let len = match layer {
                Layer::Udp => usize::try_from(udp_payload_len(packet)?).unwrap_or(usize::MAX),
                _ => bytes.len(),
            };
            bytes.get(..len.min(bytes.len()))
        }
        _ => None,
    }
}

/// The number of payload bytes of UDP or UDP-Lite that were not captured, by the length in the header.
pub(crate) fn missing(packet: &Packet<'_>, captured: &[u8]) -> u64 {
    let stated = match packet.transport() {
        Some(Layer::Udp) => udp_payload_len(packet),
        Some(layer) => packet.declared_len(layer).map(|len| len.saturating_sub(8)),
        None => None,
    };
    u64::from(stated.unwrap_or_default()).saturating_sub(captured.len() as u64)
}

fn is_wrong(checksums: &[ChecksumField], packet: &Packet<'_>, layer: Layer) -> bool {
    checksums
        .iter()
        .find(|(of, _)| *of == layer)
        .is_some_and(|(_, is_right)| is_right(packet) == Some(false))
}

/// Whether the checksum of a packet's transport is right; `None` without one.
pub(crate) fn is_sound(packet: &Packet<'_>) -> Option<bool> {
    let transport = packet.transport()?;
    let checksums = checksum_fields();
    let (_, is_right) = checksums.iter().find(|(of, _)| *of == transport)?;
    is_right(packet)
}

fn checksum_fields() -> Vec<ChecksumField> {
    let named = |name: &str| {
        fields().find_map(|(field, _): (&Field, _)| match field.get {
            Get::Bool(get) if field.name == name => Some(get),
            _ => None,
        })
    };
    [
        (Layer::Ipv4, "ip.checksum_ok"),
        (Layer::Tcp, "tcp.checksum_ok"),
        (Layer::Udp, "udp.checksum_ok"),
        (Layer::Icmp, "icmp.checksum_ok"),
        (Layer::Icmpv6, "icmpv6.checksum_ok"),
    ]
    .into_iter()
    .filter_map(|(layer, name)| Some((layer, named(name)?)))
    .collect()
}
