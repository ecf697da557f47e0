//! The payloads of the packets of a capture, with their flows.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_packet::{Layer, Packet};

use crate::fragment::{
    Defragmenter, FragmentCounters, FragmentLimits, Fragmented, Nested, Origin, frame_of,
};
use crate::gathered::GatheredFrames;
use crate::key::{FlowKey, Scope, Sender};
use crate::options::{Counters, Options, TUNNELS_MAX};
use crate::sctp::{SctpCounters, SctpLimits, SctpMessages};
use crate::sighting::Sighting;
use crate::streams::{Chunk, Interest, PacketOf, StreamCounters, StreamLimits, Streams};
use crate::table::{FlowTable, Seen};
use crate::tracker::{missing, payload};

/// Something that was carried.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Payload<'a> {
    /// Number of its flow, as [`FlowRecord::number`](crate::FlowRecord::number) with default options. A payload in a
    /// tunnel belongs to the flow of the tunnel. 0 where that is not known.
    pub flow: u64,
    /// Ends and protocol.
    pub key: &'a FlowKey,
    /// The side that sent it.
    pub sender: Sender,
    /// The time of the packet that carried it, in nanoseconds since 1970: for reassembled IP packets that of the fragment that
    /// completed it, for pieces of a TCP stream see [`Chunk::time_ns`], for SCTP messages that of the last octet.
    pub time_ns: Option<i64>,
    /// The time that has passed by the last packet of the capture so far, in nanoseconds on its first clock: what deadlines
    /// go by, as times step back where a clock is set, or where several stamped the packets.
    pub passed_ns: i64,
    /// Number of that packet's frame, from 1; 0 where the capture's end ended a stream.
    pub frame: u64,
    /// The numbers of the other frames that carried it, as far as they are known: fragments of IP, in tunnels too, and SCTP chunks.
    /// The message that it is a piece of may have come in more.
    pub others: &'a [u64],
    /// Bytes of a datagram, by the length in its header, that were not captured: the last ones.
    pub missing: u64,
    /// The payload.
    pub carried: Carried<'a>,
}

impl Payload<'_> {
    /// A datagram that this payload carries from another sender: what a probe saw and sent on. It belongs to the flow of
    /// the probe.
    #[must_use]
    pub const fn with_datagram<'a>(
        &'a self,
        key: &'a FlowKey,
        sender: Sender,
        bytes: &'a [u8],
    ) -> Payload<'a> {
        Payload {
            flow: self.flow,
            key,
            sender,
            time_ns: self.time_ns,
            passed_ns: self.passed_ns,
            frame: self.frame,
            others: self.others,
            missing: 0,
            carried: Carried::Datagram(bytes),
        }
    }

    /// The same payload with another piece of a stream: what a layer in between made of it.
    #[must_use]
    pub const fn with_stream<'a>(&'a self, chunk: &'a Chunk<'a>) -> Payload<'a> {
        Payload {
            flow: self.flow,
            key: self.key,
            sender: self.sender,
            time_ns: self.time_ns,
            passed_ns: self.passed_ns,
            frame: self.frame,
            others: self.others,
            missing: 0,
            carried: Carried::Stream(chunk),
        }
    }
}

impl<'a> Payload<'a> {
    /// A piece of a stream that came in no packet of its own, such as one of a connection whose segments a probe sent on.
    #[must_use]
    pub const fn of_stream(chunk: &'a Chunk<'a>, passed_ns: i64) -> Self {
        Self {
            flow: chunk.flow,
            key: chunk.key,
            sender: chunk.sender,
            time_ns: chunk.time_ns,
            passed_ns,
            frame: chunk.frame,
            others: &[],
            missing: 0,
            carried: Carried::Stream(chunk),
        }
    }
}

/// The kinds of a [`Payload`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Carried<'a> {
    /// The bytes of a datagram of UDP or UDP-Lite, or of a message that a probe forwarded, over any transport, which the key has.
    Datagram(&'a [u8]),
    /// A piece of a TCP stream.
    Stream(&'a Chunk<'a>),
    /// A user message of SCTP.
    Message {
        /// Payload protocol identifier (IANA).
        protocol: u32,
        /// The bytes.
        bytes: &'a [u8],
    },
}

/// Reports what packets carry: datagrams, TCP streams in order, and user messages of SCTP; from
/// fragments put together, and out of tunnels too (see [`Tunnels`](crate::Tunnels)).
///
/// Costs a packet a look-up in a [`FlowTable`], and one of TCP another in [`Streams`]. Memory is limited
/// as their options say.
///
/// ```no_run
/// use weir_flow::{Carried, Interest, Payloads};
/// # fn packets() -> Vec<weir_packet::Packet<'static>> { Vec::new() }
///
/// let mut payloads = Payloads::new();
/// for packet in packets() {
///     payloads.packet(&packet, &mut |payload| {
///         if let Carried::Datagram(bytes) = payload.carried {
///             println!("flow {}: {} bytes", payload.flow, bytes.len());
///         }
///         Interest::Ignore
///     });
/// }
/// ```
#[derive(Debug)]
pub struct Payloads {
    flows: PayloadFlows,
    /// The parts of a key besides addresses, ports and protocol.
    scope: Scope,
    defragmenter: Defragmenter,
    streams: Streams,
    messages: SctpMessages,
    nested: Nested,
    gathered: GatheredFrames,
}

/// The flows of several [`Payloads`], each of which reads the packets of another VLAN: their numbers and their elapsed time are
/// those of one table, in which the VLAN belongs to the key.
#[derive(Clone, Debug)]
pub struct SharedFlows(Arc<Mutex<FlowTable>>);

impl Default for SharedFlows {
    fn default() -> Self {
        Self::new()
    }
}

impl SharedFlows {
    /// A table without flows.
    #[must_use]
    pub fn new() -> Self {
        let options = Options {
            scope: Scope::Vlan,
            ..Options::default()
        };
        Self(Arc::new(Mutex::new(FlowTable::new(options))))
    }

    fn table(&self) -> MutexGuard<'_, FlowTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same table is equal to itself only.
impl PartialEq for SharedFlows {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The flows of payloads.
#[derive(Debug)]
enum PayloadFlows {
    Own(Box<FlowTable>),
    Shared(SharedFlows),
}

impl PayloadFlows {
    /// Counts a packet to its flow.
    fn count(&mut self, sighting: &Sighting, is_late: bool) -> Option<Seen> {
        match self {
            Self::Own(table) => counted(table, sighting, is_late),
            Self::Shared(flows) => counted(&mut flows.table(), sighting, is_late),
        }
    }

    fn passed_ns(&self) -> i64 {
        match self {
            Self::Own(table) => table.passed_ns(),
            Self::Shared(flows) => flows.table().passed_ns(),
        }
    }

    fn counters(&self) -> Counters {
        match self {
            Self::Own(table) => table.counters(),
            Self::Shared(flows) => flows.table().counters(),
        }
    }
}

#[inline]
fn counted(table: &mut FlowTable, sighting: &Sighting, is_late: bool) -> Option<Seen> {
    match is_late {
        true => table.late(sighting, |_| {}),
        false => table.packet(sighting, |_| {}),
    }
}

/// The callback for each payload. Its result counts for streams only.
type OnPayload<'e> = dyn FnMut(&Payload<'_>) -> Interest + 'e;

impl Default for Payloads {
    fn default() -> Self {
        Self::new()
    }
}

impl Payloads {
    /// The state before the first packet, with default limits.
    #[must_use]
    pub fn new() -> Self {
        let flows = Box::new(FlowTable::new(Options::default()));
        Self::of(PayloadFlows::Own(flows), Scope::Addresses)
    }

    /// The state before the first packet of a network, with default limits. The outermost VLAN and the network of a tunnel
    /// belong to the keys.
    #[must_use]
    pub fn with_flows(flows: SharedFlows) -> Self {
        Self::of(PayloadFlows::Shared(flows), Scope::Vlan)
    }

    fn of(flows: PayloadFlows, scope: Scope) -> Self {
        let mut defragmenter = Defragmenter::new(FragmentLimits::default());
        defragmenter.keep_incomplete();
        Self {
            flows,
            scope,
            defragmenter,
            streams: Streams::new(StreamLimits::default()),
            messages: SctpMessages::new(SctpLimits::default()),
            nested: Nested::default(),
            gathered: GatheredFrames::default(),
        }
    }

    /// The counters.
    #[must_use]
    pub fn counters(&self) -> PayloadCounters {
        PayloadCounters {
            flows: self.flows.counters(),
            fragments: self.defragmenter.counters(),
            streams: self.streams.counters().0,
            messages: self.messages.counters(),
        }
    }

    /// The counters of what was given up by a limit or because of damage, with their names.
    #[must_use]
    pub fn given_up(&self) -> [(u64, &'static str); 9] {
        let counters = self.counters();
        let fragments = counters.fragments;
        [
            (
                counters.streams.evicted,
                "TCP connections were dropped because there were too many at one time",
            ),
            (
                counters.streams.overflows,
                "times a gap in a TCP stream was skipped, because more than 1 MiB of the stream, or 256 MiB in all, waited behind it",
            ),
            (
                counters.streams.before_bytes,
                "bytes of TCP streams are left out because they were captured after later ones, with which the capture of their direction begins",
            ),
            (
                counters.streams.outlier_bytes,
                "bytes of TCP segments are left out because their sequence numbers are far ahead of their connection",
            ),
            (
                counters.streams.behind_reset_bytes,
                "bytes of TCP streams are left out because they were captured after a reset of their connection",
            ),
            (
                fragments
                    .timed_out
                    .saturating_add(fragments.unfinished)
                    .saturating_add(fragments.evicted)
                    .saturating_add(fragments.overlapping)
                    .saturating_add(fragments.invalid),
                "packets were dropped because their fragments did not come, or contradict each other",
            ),
            (
                counters.messages.dropped,
                "SCTP chunks were dropped because a limit was reached",
            ),
            (
                counters.messages.unfinished,
                "SCTP chunks were left out because others of their messages were not captured",
            ),
            (
                counters.messages.cut,
                "SCTP chunks were not read because they were not captured completely",
            ),
        ]
    }

    /// Reads the next packet, decoded to its innermost header: the payloads of tunnelled packets are found, too.
    pub fn packet(&mut self, packet: &Packet<'_>, each: &mut OnPayload<'_>) {
        self.walk(packet, Origin::default(), 0, each);
    }

    /// Ends the capture: reports what waited for missing segments, and the end of each stream.
    pub fn finish(&mut self, each: &mut OnPayload<'_>) {
        self.defragmenter.finish();
        self.hand_on_incomplete(each);
        let passed_ns = self.flows.passed_ns();
        let gathered = &self.gathered;
        self.streams
            .finish(|chunk| each(&of_chunk(chunk, passed_ns, gathered)));
        self.messages.finish();
    }

    /// Reports the beginnings of packets whose other fragments did not come.
    #[cold]
    fn hand_on_incomplete(&mut self, each: &mut OnPayload<'_>) {
        while let Some(incomplete) = self.defragmenter.take_incomplete() {
            let mut decoder = self.nested.take();
            let packet = decoder.decode_as(incomplete.frame(), incomplete.layer);
            self.gathered
                .take(packet.frame().number, &incomplete.frames);
            let depth = usize::from(incomplete.origin.flow.is_some());
            self.whole(&packet, incomplete.origin, depth, each);
            self.nested.put(decoder);
        }
    }

    fn walk(
        &mut self,
        packet: &Packet<'_>,
        origin: Origin,
        depth: usize,
        each: &mut OnPayload<'_>,
    ) {
        if self.defragmenter.pass(packet, &origin) {
            self.hand_on_incomplete(each);
        }
        match self.defragmenter.packet_from(packet, origin) {
            Fragmented::Whole => return self.whole(packet, origin, depth, each),
            Fragmented::Waits => {}
            // The first of fragments that were cut by a snap length has the headers, and what is there of the rest.
            Fragmented::Cut => return self.whole(packet, origin, depth, each),
            Fragmented::Complete {
                bytes,
                layer,
                frames,
            } => {
                self.gathered.take(packet.frame().number, frames);
                let bytes = bytes.to_vec();
                let mut decoder = self.nested.take();
                let origin = origin.behind_vlan_of(packet);
                let packet = decoder.decode_as(frame_of(packet, &bytes), layer);
                self.whole(&packet, origin, depth, each);
                self.nested.put(decoder);
            }
        }
        self.hand_on_incomplete(each);
    }

    /// The number of the packet's flow, and whether the originator of that sent it; `None` in a tunnel, whose flow it is.
    fn number(
        &mut self,
        packet: &Packet<'_>,
        origin: Origin,
    ) -> Option<(Sighting, u64, Option<bool>)> {
        let mut sighting = Sighting::of_packet(packet, self.scope)?;
        if self.scope == Scope::Vlan {
            sighting.key = origin.scoped(sighting.key, self.scope);
        }
        if let Some(flow) = origin.flow {
            return Some((sighting, flow, None));
        }
        let seen = self.flows.count(&sighting, origin.is_late)?;
        Some((sighting, seen.number, Some(seen.from_originator)))
    }

    fn whole(
        &mut self,
        packet: &Packet<'_>,
        origin: Origin,
        depth: usize,
        each: &mut OnPayload<'_>,
    ) {
        let Some((sighting, flow, from_originator)) = self.number(packet, origin) else {
            return;
        };
        let passed_ns = self.flows.passed_ns();
        let gathered = &self.gathered;
        match packet.transport() {
            Some(Layer::Tcp) => {
                let of = PacketOf {
                    flow,
                    from_originator,
                    // The flow of a packet in a tunnel is that of the tunnel.
                    is_own_flow: depth == 0,
                    is_late: origin.is_late,
                    scope: sighting.key.scope(),
                };
                return self
                    .streams
                    .packet_in(packet, Some(&sighting), of, |chunk| {
                        each(&of_chunk(chunk, passed_ns, gathered))
                    });
            }
            Some(Layer::Sctp) => {
                let mut all = Vec::new();
                let scope = sighting.key.scope();
                return self.messages.packet_in(packet, scope, |message| {
                    each(&Payload {
                        flow,
                        key: message.key,
                        sender: message.sender,
                        time_ns: message.time_ns,
                        passed_ns,
                        frame: message.frame,
                        others: gathered.of_all(message.frame, message.others, &mut all),
                        missing: 0,
                        carried: Carried::Message {
                            protocol: message.protocol,
                            bytes: message.bytes,
                        },
                    });
                });
            }
            Some(Layer::Udp | Layer::UdpLite) => {
                if let Some(bytes) = payload(packet) {
                    each(&Payload {
                        flow,
                        key: &sighting.key,
                        sender: sighting.sender,
                        time_ns: sighting.time_ns,
                        passed_ns,
                        frame: packet.frame().number,
                        others: gathered.of(packet.frame().number),
                        missing: missing(packet, bytes),
                        carried: Carried::Datagram(bytes),
                    });
                }
            }
            _ => {}
        }
        if depth < TUNNELS_MAX && packet.has_inside() {
            self.walk_inside(packet, origin, flow, depth, each);
        }
    }

    /// Walks through the packet in a tunnel, whose flow is that of the tunnel.
    fn walk_inside(
        &mut self,
        packet: &Packet<'_>,
        origin: Origin,
        flow: u64,
        depth: usize,
        each: &mut OnPayload<'_>,
    ) {
        let mut headers = self.nested.take_headers();
        if let Some((inside, network)) = packet.inside(&mut headers) {
            let origin = match self.scope {
                Scope::Vlan => origin.behind_vlan_of(packet),
                Scope::Addresses => origin,
            };
            let origin = Origin {
                network: network.or(origin.network),
                around: origin.around.inside(packet),
                flow: Some(flow),
                ..origin
            };
            self.walk(&inside, origin, depth + 1, each);
        }
        self.nested.put_headers(headers);
    }
}

/// The counters of [`Payloads`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PayloadCounters {
    /// Flows and packets.
    pub flows: Counters,
    /// Fragments of IP.
    pub fragments: FragmentCounters,
    /// TCP.
    pub streams: StreamCounters,
    /// SCTP.
    pub messages: SctpCounters,
}

fn of_chunk<'a>(chunk: &'a Chunk<'a>, passed_ns: i64, gathered: &'a GatheredFrames) -> Payload<'a> {
    Payload {
        others: gathered.of(chunk.frame),
        ..Payload::of_stream(chunk, passed_ns)
    }
}
