//! The table of protocols: **to add one, write its file and name it here.**
//!
//! A file under `protocol/` defines a `pub(super) const PROTOCOL: Protocol`: the short name, how the
//! header is decoded, which [`Field`]s it offers, and what it hangs on (`On`): a link type, an
//! ethertype, an IP protocol number, a port. The decoder finds the next header through these, so
//! that no other file has to learn of the new protocol.

use weir_bytes::{u8_at, u16_be_at};

use crate::field::Field;
use crate::shape::{HeaderShape, NextTable};
use crate::{Frame, Options, Reason};

/// The description of a protocol.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// Short name as Wireshark writes it in `frame.protocols`.
    pub name: &'static str,
    /// Full name.
    pub title: &'static str,
    /// Reads one header.
    pub(crate) decode: Decode,
    /// The columns it offers.
    pub fields: &'static [Field],
    /// The numbers that select it.
    pub(crate) on: &'static [On],
}

/// Reads the header at the start of the input: its length, what it carries, or why it can't.
pub(crate) type Decode = fn(&Input<'_>) -> Result<Header, Reason>;

/// The input of a decode function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input<'a> {
    /// The captured bytes from the header on, without what lies behind the outer payload.
    pub(crate) bytes: &'a [u8],
    /// Length in bytes that the headers around it declare for this header and its payload.
    pub(crate) declared: usize,
    /// The frame that is decoded.
    pub(crate) frame: &'a Frame<'a>,
    /// The interpretation of ambiguous traffic.
    pub(crate) options: &'a Options,
}

/// A header that was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    /// Bytes from the start of the header to its payload.
    pub(crate) len: u32,
    /// Header and payload in bytes, as the header's own length field says, or `NO_TOTAL`.
    pub(crate) total: u32,
    /// The protocol of the payload.
    pub(crate) next: Next,
    /// The bytes turned out to be no header of this protocol: it does not count as found.
    pub(crate) foreign: bool,
}

/// The selector of the decoder of a payload, from the header before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The payload is not decoded: data, or a fragment without a header.
    Payload,
    /// This protocol.
    Layer(Layer),
    /// This protocol, as an error message quotes it: it may end anywhere.
    Quote(Layer),
    /// A link type.
    Link(u32),
    /// An ERF record type.
    ErfType(u8),
    /// An ethertype.
    Ethertype(u16),
    /// LLC's destination service access point.
    LlcSap(u8),
    /// An IP protocol number.
    IpProtocol(u8),
    /// An IP protocol number, of bytes that are a later fragment without that header.
    IpFragment(u8),
    /// A network layer protocol identifier (ISO/IEC TR 9577).
    Nlpid(u8),
    /// A PPP protocol number.
    Ppp(u16),
    /// UDP ports, of which the lower one is looked up first, as in Wireshark.
    UdpPorts(u16, u16),
    /// An ATM cell's 48 bytes of payload of an AAL5 connection.
    Cell {
        /// The identity of the connection: interface, VPI and VCI.
        connection: u64,
        /// The cell ends a PDU.
        last: bool,
    },
    /// Subframes of an aggregate (A-MSDU, IEEE 802.11, 9.3.2.2), each with a header of its own.
    Subframes,
}

/// The numbers of the header before it that select a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    Link(u32),
    ErfType(u8),
    Ethertype(u16),
    LlcSap(u8),
    IpProtocol(u8),
    /// An IP protocol number, of a header between IP and the transport.
    IpExtension(u8),
    Nlpid(u8),
    Ppp(u16),
    UdpPort(u16),
}

/// Lists the protocols: makes the module, the [`Layer`] and the row of [`PROTOCOLS`] of each. A third
/// word names the constant with the shapes of plain headers, for protocols whose file has one.
macro_rules! protocols {
    ($($layer:ident $module:ident $($shapes:ident)?,)*) => {
        $(mod $module;)*

        /// A protocol that packets are decoded into. The order is that of [`PROTOCOLS`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[repr(u8)]
        #[allow(missing_docs, reason = "each is documented by its row of PROTOCOLS")]
        pub enum Layer { $($layer,)* }

        impl Layer {
            const ALL: &'static [Self] = &[$(Self::$layer,)*];
        }

        /// Every protocol, in the order of [`Layer`].
        pub const PROTOCOLS: &[Protocol] = &[$($module::PROTOCOL,)*];

        /// The shapes of each, in the same order.
        const SHAPES: &[&[HeaderShape]] = &[$(shapes_of!($module $($shapes)?),)*];
    };
}

/// The shapes that a protocol's file has.
macro_rules! shapes_of {
    ($module:ident) => {
        &[]
    };
    ($module:ident $shapes:ident) => {
        $module::$shapes
    };
}

// Layer, file under protocol/. At most 128 (`LayerSet` holds a bit for each).
protocols! {
    // Link layers, and what stands between them and IP.
    Ethernet ethernet SHAPES,
    Vlan vlan SHAPES,
    ServiceVlan service_vlan SHAPES,
    ProviderBackbone provider_backbone,
    Macsec macsec,
    VnTag vn_tag,
    ETag e_tag,
    Hsr hsr,
    RTag r_tag,
    Trill trill,
    Isl isl,
    FabricPath fabric_path,
    Arista arista,
    Ipoib ipoib,
    Pktap pktap,
    Llc llc,
    Mpls mpls,
    PseudowireControl pseudowire,
    AssociatedChannel associated_channel,
    Pppoe pppoe,
    Sll sll SHAPES,
    Sll2 sll2 SHAPES,
    Null null,
    RawIp raw_ip SHAPES,
    Ppp ppp,
    CiscoHdlc chdlc,
    FrameRelay frame_relay SHAPES,
    SunAtm sunatm,
    Atm atm,
    AtmPdu atm_pdu,
    Aal5 aal5,
    LanEmulation lan_emulation,
    Clip clip,
    Erf erf SHAPES,
    Radiotap radiotap,
    Ppi ppi,
    Prism prism,
    WlanCapture wlan_capture,
    Wlan wlan,
    WlanOfController wlan_of_controller,
    Ipnet ipnet,
    Nflog nflog,
    Arcnet arcnet,
    Fddi fddi,
    TokenRing token_ring,
    SwitchTag switch_tag,
    Juniper juniper,
    Netanalyzer netanalyzer,
    // IP and above.
    Arp arp SHAPES,
    Ipv4 ipv4 SHAPES,
    Ipv6 ipv6 SHAPES,
    Ipv6HopByHop ipv6_hop_by_hop,
    Ipv6DestinationOptions ipv6_destination_options SHAPES,
    Ipv6Routing ipv6_routing,
    Ipv6Fragment ipv6_fragment,
    Authentication authentication,
    Shim6 shim6,
    Esp esp,
    EspInUdp esp_in_udp,
    IpComp ip_comp,
    Mobility mobility,
    Hip hip,
    Icmp icmp SHAPES,
    Icmpv6 icmpv6 SHAPES,
    Igmp igmp,
    Pim pim,
    Tcp tcp SHAPES,
    Udp udp SHAPES,
    UdpLite udp_lite,
    Sctp sctp,
    Dccp dccp,
    // Tunnels.
    Gre gre,
    EtherIp ether_ip,
    Erspan erspan,
    Vxlan vxlan SHAPES,
    VxlanGpe vxlan_gpe,
    Geneve geneve,
    Gtp gtp,
    GtpPrime gtp_prime,
    Teredo teredo,
    L2tp l2tp,
    Lisp lisp,
    Ayiya ayiya,
    Tzsp tzsp,
    Sflow sflow,
    Capwap capwap,
    CapwapControl capwap_control,
    Nsh nsh,
    Amt amt,
    CiscoMetadata cisco_metadata,
}

pub(crate) use erf::{header_len as erf_header_len, wire_len as erf_wire_len};
pub use ipv4::Ipv4Header;
pub use ipv6::Ipv6Header;
pub use ipv6_fragment::Ipv6FragmentHeader;
pub use tcp::FLAG_LETTERS;

impl Layer {
    /// The protocol at this place of [`PROTOCOLS`].
    #[must_use]
    pub fn from_index(index: usize) -> Option<Self> {
        Self::ALL.get(index).copied()
    }

    /// The description of the protocol.
    #[must_use]
    pub const fn protocol(self) -> &'static Protocol {
        &PROTOCOLS[self as usize]
    }

    /// The protocol that this one is another form of, whose columns it fills: itself for most.
    #[must_use]
    pub const fn form_of(self) -> Self {
        match self {
            Self::Sll2 => Self::Sll,
            Self::SunAtm | Self::AtmPdu => Self::Atm,
            Self::WlanOfController => Self::Wlan,
            Self::UdpLite => Self::Udp,
            Self::GtpPrime => Self::Gtp,
            Self::CapwapControl => Self::Capwap,
            Self::VxlanGpe => Self::Vxlan,
            other => other,
        }
    }

    /// The protocols that are other forms of this one ([`Self::form_of`]).
    #[must_use]
    pub const fn other_forms(self) -> &'static [Self] {
        match self {
            Self::Sll => &[Self::Sll2],
            Self::Atm => &[Self::SunAtm, Self::AtmPdu],
            Self::Wlan => &[Self::WlanOfController],
            Self::Udp => &[Self::UdpLite],
            Self::Gtp => &[Self::GtpPrime],
            Self::Capwap => &[Self::CapwapControl],
            Self::Vxlan => &[Self::VxlanGpe],
            _ => &[],
        }
    }

    /// The forms in which its header is plain, the first that matches counting; none for a protocol
    /// whose headers only its `decode` function reads.
    #[must_use]
    pub const fn shapes(self) -> &'static [HeaderShape] {
        SHAPES[self as usize]
    }

    /// Every protocol, in the order of [`PROTOCOLS`].
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied()
    }
}

impl Next {
    /// The protocol that this leads to; `None` when no protocol hangs there.
    #[inline]
    pub(crate) fn layer(&self) -> Option<Layer> {
        match *self {
            Self::Payload | Self::IpFragment(_) | Self::Cell { .. } | Self::Subframes => None,
            Self::Layer(layer) | Self::Quote(layer) => Some(layer),
            Self::IpProtocol(number) => IP_PROTOCOLS[usize::from(number)],
            Self::Ethertype(number) => ETHERTYPES.get(u32::from(number)),
            Self::Link(number) => LINKS.get(number),
            Self::ErfType(number) => ERF_TYPES[usize::from(number)],
            Self::LlcSap(number) => LLC_SAPS[usize::from(number)],
            Self::Nlpid(number) => NLPIDS[usize::from(number)],
            Self::Ppp(number) => PPP_PROTOCOLS.get(u32::from(number)),
            Self::UdpPorts(source, destination) => udp_layer(source, destination),
        }
    }

    /// True for a header between IP and the transport, such as the extension headers of IPv6.
    #[inline]
    pub(crate) fn is_extension(&self) -> bool {
        matches!(*self, Self::IpProtocol(number) if IP_EXTENSIONS[usize::from(number)].is_some())
    }
}

/// Hands each number of a repeated part of a header to a function until that gives false; gives false when it was stopped.
pub type OfEach = fn(&crate::Packet<'_>, &mut dyn FnMut(u64) -> bool) -> bool;

/// Hands each address field of a header of IEEE 802.11 to a function until that gives false; gives false when it was stopped.
pub fn each_wlan_address(
    packet: &crate::Packet<'_>,
    each: &mut dyn FnMut(crate::Address) -> bool,
) -> bool {
    wlan::each_address(packet, each)
}

/// The function that reads all values of a field whose column is that of the first option of a header; `None` for other fields.
#[must_use]
pub fn of_each_option(field: &str) -> Option<OfEach> {
    match field {
        "fr.ea" => Some(frame_relay::each_extension),
        "tcp.option_kind" => Some(tcp::each_option),
        "tcp.option_len" => Some(tcp::each_option_len),
        "tcp.options.sack_le" => Some(|packet, each| tcp::each_sack_edge(packet, 0, each)),
        "tcp.options.sack_re" => Some(|packet, each| tcp::each_sack_edge(packet, 4, each)),
        "tcp.options.mptcp.subtype" => Some(tcp::each_subtype),
        "icmpv6.opt.type" => Some(|packet, each| icmpv6::each_option(packet, 0, each)),
        "icmpv6.opt.length" => Some(|packet, each| icmpv6::each_option(packet, 1, each)),
        "ip.opt.type" => Some(|packet, each| ipv4::each_option(packet, |it| u8_at(it, 0), each)),
        "ip.opt.type.copy" => {
            Some(|packet, each| ipv4::each_option(packet, |it| Some(u8_at(it, 0)? >> 7), each))
        }
        "ip.opt.type.class" => {
            Some(|packet, each| ipv4::each_option(packet, |it| Some(u8_at(it, 0)? >> 5 & 3), each))
        }
        "ip.opt.type.number" => {
            Some(|packet, each| ipv4::each_option(packet, |it| Some(u8_at(it, 0)? & 0x1f), each))
        }
        "ip.opt.len" => Some(|packet, each| ipv4::each_option(packet, ipv4::option_len, each)),
        "ipv6.opt.type" => {
            Some(|packet, each| ipv6_hop_by_hop::each_option(packet, |it| u8_at(it, 0), each))
        }
        "ipv6.opt.type.action" => Some(|packet, each| {
            let get = |it: &[u8]| Some(ipv6_hop_by_hop::kind_but_pad_1(it)? >> 6);
            ipv6_hop_by_hop::each_option(packet, get, each)
        }),
        "ipv6.opt.type.change" => Some(|packet, each| {
            let get = |it: &[u8]| Some(ipv6_hop_by_hop::kind_but_pad_1(it)? >> 5 & 1);
            ipv6_hop_by_hop::each_option(packet, get, each)
        }),
        "ipv6.opt.length" => Some(|packet, each| {
            ipv6_hop_by_hop::each_option(packet, ipv6_hop_by_hop::option_len, each)
        }),
        _ => sctp::of_each_chunk(field),
    }
}

/// The identifier of the network in a tunnel with this header, if it has one that is the same in both directions: that of VXLAN and
/// Geneve, and the key of GRE.
#[must_use]
pub fn network_identifier(layer: Layer, header: &[u8]) -> Option<u32> {
    match layer {
        Layer::Vxlan | Layer::VxlanGpe => vxlan::network_identifier(header),
        Layer::Geneve => geneve::NETWORK_IDENTIFIER.read(header).map(|it| it as u32),
        Layer::Gre => gre::key(header),
        _ => None,
    }
}

/// The protocol with a number of this kind.
#[inline]
pub(crate) fn layer_of(table: NextTable, number: u64) -> Option<Layer> {
    let sparse = |table: &Sparse| table.get(u32::try_from(number).ok()?);
    let dense = |table: &[Option<Layer>; 256]| *table.get(usize::try_from(number).ok()?)?;
    match table {
        NextTable::LinkType => sparse(&LINKS),
        NextTable::Ethertype => sparse(&ETHERTYPES),
        NextTable::Ppp => sparse(&PPP_PROTOCOLS),
        NextTable::ErfType => dense(&ERF_TYPES),
        NextTable::LlcSap => dense(&LLC_SAPS),
        NextTable::IpProtocol => dense(&IP_PROTOCOLS),
        NextTable::Nlpid => dense(&NLPIDS),
    }
}

/// The protocol of a pair of UDP ports: that of the lower port comes first. A client that asks a name
/// server and whose own port happens to be 4789 speaks DNS, so a well-known port of a protocol that
/// is not decoded here decides too, where it is the receiver's. Of what is sent from such a port to that of
/// a tunnel, the content has to say what it is ([`is_doubtful`]).
fn udp_layer(source: u16, destination: u16) -> Option<Layer> {
    let (low, high) = (source.min(destination), source.max(destination));
    UDP_PORTS.get(u32::from(low)).or_else(|| {
        let layer = UDP_PORTS.get(u32::from(high))?;
        (low == source || !is_of_others(low)).then_some(layer)
    })
}

/// Whether the sender's port is that of a protocol that is not decoded here, and the receiver's that of one that is: a response to
/// a client with that port by chance, or a tunnel.
pub(crate) fn is_doubtful(source: u16, destination: u16) -> bool {
    source < destination
        && UDP_PORTS.get(u32::from(destination)).is_some()
        && UDP_PORTS.get(u32::from(source)).is_none()
        && is_of_others(source)
}

fn is_of_others(port: u16) -> bool {
    OTHER_UDP_PORTS.binary_search(&port).is_ok()
}

/// Whether bytes that begin with a header of `layer` lead to a valid IP header.
pub(crate) fn leads_to_ip(input: &Input<'_>, mut layer: Layer) -> bool {
    let mut input = *input;
    for _ in 0..LEADS_MAX {
        let Ok(header) = (layer.protocol().decode)(&input) else {
            return false;
        };
        if matches!(layer, Layer::Ipv4 | Layer::Ipv6) {
            return true;
        }
        let (Some(next), Some(bytes)) =
            (header.next.layer(), input.bytes.get(header.len as usize..))
        else {
            return false;
        };
        layer = next;
        input.bytes = bytes;
        input.declared = input.declared.saturating_sub(header.len as usize);
    }
    false
}

/// The maximum number of headers to check for that.
const LEADS_MAX: u32 = 8;

/// UDP ports of widespread protocols that are not decoded here (IANA port numbers), in order.
static OTHER_UDP_PORTS: &[u16] = &[
    7, 13, 19, 37, 49, 53, 67, 68, 69, 88, 111, 123, 137, 138, 161, 162, 177, 213, 269, 319, 320,
    389, 427, 434, 464, 496, 500, 502, 513, 514, 520, 521, 524, 525, 546, 547, 623, 631, 646, 654,
    698, 750, 853, 1044, 1194, 1645, 1646, 1718, 1719, 1755, 1812, 1813, 1900, 1985, 2029, 2048,
    2055, 2427, 2727, 2944, 2945, 3130, 3222, 3389, 3478, 3503, 3784, 3785, 3799, 4342, 4569, 4739,
    4784, 4791, 5060, 5350, 5351, 5353, 5355, 5678, 5683, 5684,
];

// The ways from a number to a protocol, built by the compiler from `PROTOCOLS`.
static LINKS: Sparse = Sparse::build(On::Link(0));
static ETHERTYPES: Sparse = Sparse::build(On::Ethertype(0));
static PPP_PROTOCOLS: Sparse = Sparse::build(On::Ppp(0));
static UDP_PORTS: Sparse = Sparse::build(On::UdpPort(0));
static IP_PROTOCOLS: [Option<Layer>; 256] = dense(On::IpProtocol(0));
static IP_EXTENSIONS: [Option<Layer>; 256] = dense(On::IpExtension(0));
static LLC_SAPS: [Option<Layer>; 256] = dense(On::LlcSap(0));
static NLPIDS: [Option<Layer>; 256] = dense(On::Nlpid(0));
static ERF_TYPES: [Option<Layer>; 256] = dense(On::ErfType(0));

impl On {
    /// The number, when `self` is of the same sort as `sort`.
    pub(crate) const fn number(self, sort: Self) -> Option<u32> {
        match (self, sort) {
            (Self::Link(number), Self::Link(_)) => Some(number),
            (Self::Ethertype(number), Self::Ethertype(_))
            | (Self::Ppp(number), Self::Ppp(_))
            | (Self::UdpPort(number), Self::UdpPort(_)) => Some(number as u32),
            (Self::LlcSap(number), Self::LlcSap(_))
            | (Self::IpProtocol(number) | Self::IpExtension(number), Self::IpProtocol(_))
            | (Self::IpExtension(number), Self::IpExtension(_))
            | (Self::ErfType(number), Self::ErfType(_))
            | (Self::Nlpid(number), Self::Nlpid(_)) => Some(number as u32),
            _ => None,
        }
    }
}

/// A map from numbers of up to 32 bits: open addressing, filled when the program is compiled.
struct Sparse {
    slots: [Option<(u32, Layer)>; Self::SLOTS],
}

impl Sparse {
    const SLOTS: usize = 256;

    const fn build(sort: On) -> Self {
        let mut slots = [None; Self::SLOTS];
        let mut filled = 0;
        let mut index = 0;
        while index < PROTOCOLS.len() {
            let mut on = 0;
            while on < PROTOCOLS[index].on.len() {
                if let Some(number) = PROTOCOLS[index].on[on].number(sort) {
                    let mut slot = Self::home(number);
                    while slots[slot].is_some() {
                        slot = (slot + 1) % Self::SLOTS;
                    }
                    slots[slot] = Some((number, Layer::ALL[index]));
                    filled += 1;
                }
                on += 1;
            }
            index += 1;
        }
        assert!(filled < Self::SLOTS / 2, "make Sparse::SLOTS larger");
        Self { slots }
    }

    const fn home(number: u32) -> usize {
        (number.wrapping_mul(0x9e37_79b1) >> 24) as usize % Self::SLOTS
    }

    #[inline]
    fn get(&self, number: u32) -> Option<Layer> {
        let mut slot = Self::home(number);
        loop {
            match self.slots[slot] {
                Some((found, layer)) if found == number => return Some(layer),
                Some(_) => slot = (slot + 1) % Self::SLOTS,
                None => return None,
            }
        }
    }
}

const fn dense(sort: On) -> [Option<Layer>; 256] {
    let mut map = [None; 256];
    let mut index = 0;
    while index < PROTOCOLS.len() {
        let mut on = 0;
        while on < PROTOCOLS[index].on.len() {
            if let Some(number) = PROTOCOLS[index].on[on].number(sort) {
                map[number as usize] = Some(Layer::ALL[index]);
            }
            on += 1;
        }
        index += 1;
    }
    map
}

impl<'a> Input<'a> {
    /// Checks that `len` bytes of header are there.
    #[inline]
    pub(crate) fn need(&self, len: usize) -> Result<(), Reason> {
        if self.bytes.len() >= len {
            Ok(())
        } else {
            Err(self.short(len))
        }
    }

    /// The byte at `offset`.
    #[inline]
    pub(crate) fn u8(&self, offset: usize) -> Result<u8, Reason> {
        u8_at(self.bytes, offset).ok_or_else(|| self.short(offset.saturating_add(1)))
    }

    /// IP of the version that the byte at `offset` names, for payloads whose header does not say it.
    pub(crate) fn ip_at(&self, offset: usize) -> Result<Next, Reason> {
        if self.declared <= offset {
            return Ok(Next::Payload);
        }
        Ok(match self.u8(offset)? >> 4 {
            4 => Next::Layer(Layer::Ipv4),
            6 => Next::Layer(Layer::Ipv6),
            _ => Next::Payload,
        })
    }

    /// The big-endian 16-bit number at `offset`.
    #[inline]
    pub(crate) fn u16_be(&self, offset: usize) -> Result<u16, Reason> {
        u16_be_at(self.bytes, offset).ok_or_else(|| self.short(offset.saturating_add(2)))
    }

    /// The big-endian 32-bit number at `offset`.
    #[inline]
    pub(crate) fn u32_be(&self, offset: usize) -> Result<u32, Reason> {
        weir_bytes::u32_be_at(self.bytes, offset)
            .ok_or_else(|| self.short(offset.saturating_add(4)))
    }

    #[cold]
    fn short(&self, needed: usize) -> Reason {
        if self.declared < needed {
            Reason::Overrun {
                needed: saturated(needed),
                allowed: saturated(self.declared),
            }
        } else {
            Reason::Cut {
                needed: saturated(needed),
                available: saturated(self.bytes.len()),
            }
        }
    }
}

impl Header {
    /// A header of `len` bytes without a length field of its own.
    #[inline]
    pub(crate) const fn new(len: usize, next: Next) -> Self {
        Self {
            len: saturated(len),
            total: Self::NO_TOTAL,
            next,
            foreign: false,
        }
    }

    /// No header of this protocol: the bytes are `next`'s, or of an unknown protocol.
    #[inline]
    pub(crate) const fn foreign(next: Next) -> Self {
        Self {
            len: 0,
            total: Self::NO_TOTAL,
            next,
            foreign: true,
        }
    }

    /// Header and payload are `total` bytes long.
    #[inline]
    pub(crate) const fn with_total(self, total: usize) -> Self {
        Self {
            total: saturated(total),
            ..self
        }
    }

    /// The header has no length field: no packet is so long that this would cut it.
    const NO_TOTAL: u32 = u32::MAX;
}

/// A length as the decoder keeps it; no capture holds a record of 4 GiB.
#[inline]
pub(crate) const fn saturated(len: usize) -> u32 {
    if len < u32::MAX as usize {
        len as u32
    } else {
        u32::MAX
    }
}
