//! Records of TLS in packets of other protocols: EAP, which RADIUS and links carry, the control channel of OpenVPN, and TDS. A frame has
//! the records that it completes, and of EAP those of the message that it completes, as in Wireshark.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use weir_flow::{Content, FlowKey, Payload, Sender};
use weir_messages::tls::{
    OPENVPN_PORT, OpenVpn, OpenVpnPiece, Stamp, begins_with_openvpn, openvpn_key,
};
use weir_packet::Packet;

use super::{OnRecord, RecordConnection, RecordRow};
use crate::extract::messages::Way;
use crate::extract::tls::{
    EapOnLink, EapTalks, TalkReader, TdsPackets, begins_with_packed_hello,
    may_begin_with_packed_hello,
};

/// The records in datagrams of other protocols, and in frames of links.
pub(super) struct CarriedRecords {
    openvpn: OpenVpnRecords,
    eap: EapTalks<EapRecords>,
}

impl CarriedRecords {
    pub(super) fn new() -> Self {
        Self {
            openvpn: OpenVpnRecords::default(),
            eap: EapTalks::new(),
        }
    }

    /// The number of channels of OpenVPN that were given up because there were too many.
    pub(super) const fn channels_given_up(&self) -> u64 {
        self.openvpn.given_up
    }

    /// The number of conversations of EAP that were given up within a message because there were too many.
    pub(super) const fn talks_given_up(&self) -> u64 {
        self.eap.given_up()
    }

    /// The number of packets of EAP on links that were not captured completely.
    pub(super) const fn cut(&self) -> u64 {
        self.eap.cut()
    }

    /// Reads a datagram; returns false where it is of none of these protocols.
    pub(super) fn datagram(
        &mut self,
        payload: &Payload<'_>,
        bytes: &[u8],
        each: &mut OnRecord<'_>,
    ) -> bool {
        let way = Way::of(payload);
        let side = usize::from(payload.sender == Sender::High);
        let Self { openvpn, eap } = self;
        openvpn.take((payload.key, way.ports()), bytes, side, each)
            || eap.take(
                payload.key,
                bytes,
                &way,
                side,
                &mut |mut records: Box<EapRecords>, _: Way, _: usize| {
                    records.report(each);
                    Some(records)
                },
            )
    }

    /// Reads a packet of EAP that a link carries.
    pub(super) fn link(&mut self, packet: &Packet<'_>, each: &mut OnRecord<'_>) {
        let Some(on_link) = EapOnLink::of(packet) else {
            return;
        };
        let way = Way::on_link(packet.frame());
        self.eap.take_on_link(
            &on_link,
            &way,
            &mut |mut records: Box<EapRecords>, _: Way, _: usize| {
                records.report(each);
                Some(records)
            },
        );
    }
}

/// The records in a conversation of EAP.
#[derive(Default)]
struct EapRecords {
    connection: RecordConnection,
    /// Those of the message that was read last.
    found: Vec<RecordRow>,
    /// The message has ended.
    is_whole: bool,
}

/// The number of records of a message that wait for its end, at most: more are those of the frame that has them.
const EAP_RECORDS_MAX: usize = 1 << 8;

impl EapRecords {
    /// Hands on the records of a message that has ended.
    fn report(&mut self, each: &mut OnRecord<'_>) {
        if std::mem::take(&mut self.is_whole) {
            self.found.drain(..).for_each(each);
        }
    }
}

impl TalkReader for EapRecords {
    fn begun() -> Self {
        Self::default()
    }

    fn octets(&mut self, side: usize, octets: &[u8], is_end: bool, _stamp: Stamp) -> bool {
        let Self {
            connection,
            found,
            is_whole,
        } = self;
        connection.take_carried(side, octets, &mut |record| found.push(record));
        *is_whole = !found.is_empty() && (is_end || found.len() >= EAP_RECORDS_MAX);
        *is_whole
    }

    fn lacks(&mut self, side: usize) {
        self.connection.gap(side, false, &mut |_| {});
        self.found = Vec::new();
    }

    fn is_open(&self) -> bool {
        !self.found.is_empty()
    }
}

/// The control channels of OpenVPN over UDP.
#[derive(Default)]
struct OpenVpnRecords {
    /// The channels by their ends and the number of their key.
    open: HashMap<(FlowKey, u8), ChannelRecords>,
    /// Their keys in the order in which they began.
    order: VecDeque<(FlowKey, u8)>,
    given_up: u64,
}

/// The number of channels at one time, at most.
const CHANNELS_MAX: usize = 1 << 12;

/// The records in a control channel over UDP.
#[derive(Default)]
struct ChannelRecords {
    channel: OpenVpn,
    connection: RecordConnection,
}

impl OpenVpnRecords {
    /// Reads a datagram between these ports; returns false where it belongs to no control channel between ports of OpenVPN.
    fn take(
        &mut self,
        (key, ports): (&FlowKey, [u16; 2]),
        bytes: &[u8],
        side: usize,
        each: &mut OnRecord<'_>,
    ) -> bool {
        let is_port = ports.contains(&OPENVPN_PORT);
        let Some(number) = openvpn_key(bytes).filter(|_| is_port) else {
            return false;
        };
        let key = (*key, number);
        if !self.open.contains_key(&key) {
            if self.order.len() >= CHANNELS_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.open.remove(&oldest);
                self.given_up = self.given_up.saturating_add(1);
            }
            self.order.push_back(key);
        }
        let known = self.open.entry(key).or_default();
        if known.channel.begins_anew(side, bytes) {
            *known = ChannelRecords::default();
        }
        let ChannelRecords {
            channel,
            connection,
        } = known;
        channel.take(side, bytes, &mut |side, piece| {
            connection.piece(side, piece, each);
        });
        true
    }
}

/// A TCP connection.
#[derive(Default)]
pub(super) struct RecordStream {
    connection: RecordConnection,
    carrier: RecordCarrier,
    /// Octets of each side that may begin a packet of TDS with a hello.
    begun: [Vec<u8>; 2],
    /// The frame of the last octets of each side.
    frames: [u64; 2],
}

/// What the octets of a connection carry.
#[derive(Default)]
enum RecordCarrier {
    /// TLS by itself, or something else so far.
    #[default]
    Plain,
    /// The control channel of OpenVPN.
    OpenVpn(Box<OpenVpn>),
    /// Packets of TDS.
    Packed(TdsPackets),
}

impl RecordStream {
    /// The state before these first octets of a connection between these ports.
    pub(super) fn before(bytes: &[u8], ports: [u16; 2]) -> Self {
        let mut stream = Self::default();
        if ports.contains(&OPENVPN_PORT) && begins_with_openvpn(bytes) {
            stream.carrier = RecordCarrier::OpenVpn(Box::default());
        }
        stream
    }

    /// Reads the next content of a side, with its frame; returns false when the connection carries something else.
    pub(super) fn take(
        &mut self,
        side: usize,
        (frame, content): (u64, Content<'_>),
        each: &mut OnRecord<'_>,
    ) -> bool {
        match content {
            Content::Bytes(bytes) => {
                if let Some(last) = self.frames.get_mut(side) {
                    *last = frame;
                }
                self.octets(side, bytes, each)
            }
            Content::Gap(octets) => {
                // The octets behind those of the same frame were cut off.
                let is_cut = self.frames.get(side) == Some(&frame);
                self.gap(side, octets, is_cut, each);
                true
            }
            Content::End(_) => true,
        }
    }

    fn octets(&mut self, side: usize, bytes: &[u8], each: &mut OnRecord<'_>) -> bool {
        if matches!(self.carrier, RecordCarrier::Plain)
            && !self.connection.is_tls
            && let Some(octets) = self.packed(side, bytes)
        {
            let mut packets = TdsPackets::default();
            self.connection = RecordConnection::default();
            self.begun = Default::default();
            let stream = packets.take(side, &octets);
            self.connection.take_carried(side, &stream, each);
            self.carrier = RecordCarrier::Packed(packets);
            return true;
        }
        let Self {
            connection,
            carrier,
            ..
        } = self;
        match carrier {
            RecordCarrier::Plain => return connection.take(side, bytes, each),
            RecordCarrier::OpenVpn(channel) => {
                channel.take_stream(side, bytes, &mut |side, piece| {
                    connection.piece(side, piece, each);
                });
            }
            RecordCarrier::Packed(packets) => {
                connection.take_carried(side, &packets.take(side, bytes), each);
            }
        }
        true
    }

    /// The octets from the packet of TDS on in which a hello begins, where the next octets of a side, or those before with them, begin
    /// with one.
    fn packed(&mut self, side: usize, bytes: &[u8]) -> Option<Vec<u8>> {
        let begun = self.begun.get_mut(side)?;
        let all = match begun.is_empty() {
            true => Cow::Borrowed(bytes),
            false => Cow::Owned([begun.as_slice(), bytes].concat()),
        };
        let starts: [&[u8]; 2] = [&all, bytes];
        let mut hellos = starts.iter().copied();
        if let Some(octets) = hellos.find(|octets| begins_with_packed_hello(octets)) {
            return Some(octets.to_vec());
        }
        let mut begins = starts.iter().copied();
        let begins = begins.find(|octets| may_begin_with_packed_hello(octets));
        *begun = begins.map_or_else(Vec::new, <[u8]>::to_vec);
        None
    }

    /// Octets of a side were not captured: the end of a frame that `is_cut`, or others.
    fn gap(&mut self, side: usize, octets: u64, is_cut: bool, each: &mut OnRecord<'_>) {
        let is_plain = matches!(self.carrier, RecordCarrier::Plain);
        match &mut self.carrier {
            RecordCarrier::Plain => self.begun = Default::default(),
            // No packets are read behind it.
            RecordCarrier::OpenVpn(channel) => channel.gap(side, &mut |_, _| {}),
            RecordCarrier::Packed(packets) => packets.gap(side, octets),
        }
        self.connection.gap(side, is_cut && is_plain, each);
    }

    /// The number of octets that wait.
    pub(super) fn held(&self) -> usize {
        let carried = match &self.carrier {
            RecordCarrier::OpenVpn(channel) => channel.held(),
            RecordCarrier::Plain | RecordCarrier::Packed(_) => 0,
        };
        let begun = self.begun.iter().map(Vec::capacity).sum::<usize>();
        self.connection.held() + carried + begun + size_of::<Self>()
    }
}

impl RecordConnection {
    /// Reads octets of a side that another protocol carries. Reports the records that they complete, and not those that only begin.
    fn take_carried(&mut self, side: usize, bytes: &[u8], each: &mut OnRecord<'_>) {
        self.take(side, bytes, &mut |record| {
            if record.version.is_some() || record.message.is_some() {
                each(record);
            }
        });
    }

    /// Reads what a control channel of OpenVPN carries.
    fn piece(&mut self, side: usize, piece: OpenVpnPiece<'_>, each: &mut OnRecord<'_>) {
        match piece {
            OpenVpnPiece::Octets(octets) => self.take_carried(side, octets, each),
            OpenVpnPiece::Gap => self.gap(side, false, each),
        }
    }
}
