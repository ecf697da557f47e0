//! Captures as networks make them: with packets that are missing, that came twice, late, cut or in small pieces.
//!
//! A [`Plan`] says which [`Dose`]s are applied and from which seed. [`Plan::apply`] takes a capture and gives the untidy
//! one with an [`Account`]: each packet that was touched, of which connection and direction, with which octets, and how.
//! Every frame of the untidy capture knows of which frame it was made ([`Frame::origin`]), so that what a reader says of
//! it can be held against what the same reader says of the tidy capture.
//!
//! ```
//! use weir_testkit::untidy::{Capture, Dose, Plan};
//!
//! let (_, bytes) = weir_testkit::demo::demo_files()?.swap_remove(11);
//! let tidy = Capture::read(&bytes)?;
//! let plan = Plan::new(7, vec![Dose::Loss { per_mille: 20 }]);
//! let (untidy, account) = plan.apply(&tidy);
//! assert_eq!(untidy.frames.len() + account.touches.len(), tidy.frames.len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What is drawn for a frame depends on the seed, the dose and the frame's origin alone: a plan does the same to the
//! frames of a part of a capture as to those of all of it, so that a failure can be made smaller.

mod again;
mod attempt;
mod clock;
mod file;
mod fragment;
mod header;
mod insert;
mod interface;
mod join;
mod missing;
mod number;
mod option;
mod order;
mod pad;
mod record;
mod segment;
mod session;
mod tag;
mod tunnel;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

pub use header::{Ends, IpHeaders, Tcp};

use crate::Rng;
use crate::capture::link_type;

/// A record of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The number, from 0, of the frame of the whole tidy capture that this one is or was made of. `None` of a frame
    /// that was added.
    pub origin: Option<usize>,
    /// Nanoseconds since 1970.
    pub time_ns: u64,
    /// Octets that it had on the wire.
    pub wire_len: u32,
    /// The number of the interface that captured the frame.
    pub interface: u32,
    /// The captured octets.
    pub bytes: Vec<u8>,
}

/// Records with the link types of the interfaces that they came by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// The link type of each interface.
    pub link_types: Vec<u16>,
    /// The records in their order.
    pub frames: Vec<Frame>,
}

impl Capture {
    /// The header offsets of a frame; `None` without an IP header or with another link type than those known here.
    #[must_use]
    pub fn header(&self, frame: &Frame) -> Option<IpHeaders> {
        let link_type = *self.link_types.get(frame.interface as usize)?;
        IpHeaders::of(link_type, &frame.bytes)
    }

    /// The connection of each frame.
    #[must_use]
    pub fn connections(&self) -> Connections {
        let headers: Vec<_> = self.frames.iter().map(|frame| self.header(frame)).collect();
        let fragmented = headers
            .iter()
            .flatten()
            .filter(|header| header.is_fragment)
            .map(IpHeaders::hosts)
            .collect();
        Connections { fragmented }
    }

    /// The frames whose connection is one of `connections`, and those that have none.
    #[must_use]
    pub fn only(&self, connections: &BTreeSet<Ends>) -> Self {
        let of = self.connections();
        let is_wanted = |frame: &&Frame| match self.header(frame) {
            Some(header) => connections.contains(&of.ends(&header)),
            None => false,
        };
        Self {
            link_types: self.link_types.clone(),
            frames: self.frames.iter().filter(is_wanted).cloned().collect(),
        }
    }
}

/// The grouping of frames into connections. Only first fragments have ports, so all packets of a protocol between two hosts that
/// sent fragments form one connection.
#[derive(Clone, Debug, Default)]
pub struct Connections {
    fragmented: BTreeSet<Ends>,
}

impl Connections {
    /// The connection that a packet belongs to.
    #[must_use]
    pub fn ends(&self, header: &IpHeaders) -> Ends {
        self.named(header.ends())
    }

    /// The connection that packets of these ends belong to.
    #[must_use]
    pub fn named(&self, ends: Ends) -> Ends {
        let hosts = ends.hosts();
        match self.fragmented.contains(&hosts) {
            true => hosts,
            false => ends,
        }
    }
}

/// A kind of change to a capture, and its amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dose {
    /// Packets that were not captured.
    Loss {
        /// The share of packets, per thousand.
        per_mille: u16,
    },
    /// Packets that were captured twice, the second time up to `distance` frames later.
    Duplicates {
        /// The share of packets, per thousand.
        per_mille: u16,
        /// Frames between both, at most.
        distance: u16,
    },
    /// Segments of TCP with data that come behind up to `distance` frames that were sent after them.
    Reordering {
        /// The share of segments, per thousand.
        per_mille: u16,
        /// Frames that overtake a segment, at most.
        distance: u16,
        /// Whether the times stay in their order, as where packets were out of order on the wire, or go with the packets.
        in_time: bool,
    },
    /// Packets of which only the first octets were captured.
    Cuts {
        /// The share of packets, per thousand.
        per_mille: u16,
        /// The number of octets that each packet keeps.
        snap_len: u16,
    },
    /// Connections that are refused (SYN, RST) before they are accepted.
    Attempts {
        /// The share of connections, per thousand.
        per_mille: u16,
        /// Attempts of a connection, at most.
        most: u8,
    },
    /// Connections whose ports another one has had, which both sides have closed just before.
    Reuses {
        /// The share of connections, per thousand.
        per_mille: u16,
    },
    /// Connections that began before the capture.
    LateBeginnings {
        /// The share of connections, per thousand.
        per_mille: u16,
        /// Packets that were sent before, at most.
        packets: u16,
    },
    /// A clock that is off from one frame on.
    ClockStep {
        /// The share of frames before the step, per thousand.
        at_per_mille: u16,
        /// The size of the step, in milliseconds.
        by_ms: i64,
    },
    /// Segments of TCP that are sent as several.
    SmallSegments {
        /// The share of segments with data, per thousand.
        per_mille: u16,
        /// Octets of a new segment, at most.
        octets: u16,
    },
    /// Records of TLS in clear that are sent as several.
    SmallRecords {
        /// The share of directions of connections, per thousand.
        per_mille: u16,
        /// Octets of a new record, at most.
        octets: u16,
    },
    /// Packets with a VLAN tag.
    Tags {
        /// The share of connections, per thousand.
        per_mille: u16,
    },
    /// Connections of which one direction was captured.
    OneDirection {
        /// The share of connections, per thousand.
        per_mille: u16,
    },
    /// Packets that were captured again behind a router, with a smaller TTL, other MAC addresses and at times another VLAN.
    RoutedCopies {
        /// The share of packets, per thousand.
        per_mille: u16,
        /// Frames between both, at most.
        distance: u16,
    },
    /// Packets with two VLAN tags (IEEE 802.1ad).
    DoubleTags {
        /// The share of connections, per thousand.
        per_mille: u16,
    },
    /// Packets with labels of MPLS.
    Labels {
        /// The share of connections, per thousand.
        per_mille: u16,
        /// Labels of a packet.
        count: u8,
    },
    /// Frames with octets behind their packet.
    Padding {
        /// The share of frames, per thousand.
        per_mille: u16,
        /// Octets that are added, at most.
        octets: u16,
    },
    /// Connections whose sequence numbers are others, so that they wrap.
    OtherNumbers {
        /// The share of connections, per thousand.
        per_mille: u16,
    },
    /// Segments of TCP between those of a connection that change nothing of it.
    Insertions {
        /// The share of segments that others follow, per thousand.
        per_mille: u16,
        /// Their kind.
        kind: Insertion,
    },
    /// Packets of IPv4 that are sent in fragments. Further doses would not know their ports.
    Fragments {
        /// The share of packets, per thousand.
        per_mille: u16,
        /// Octets of a fragment's payload, at most.
        octets: u16,
    },
    /// Connections in tunnels of their own: GRE, VXLAN or GTP. Further doses would see the tunnels.
    Tunnels {
        /// The share of connections, per thousand.
        per_mille: u16,
    },
    /// Connections of which one direction has tags that name a priority and no VLAN (IEEE 802.1Q, 9.6).
    PriorityTags {
        /// The share of connections, per thousand.
        per_mille: u16,
    },
    /// Connections in a session of PPPoE (RFC 2516). Further doses would not know its length.
    Sessions {
        /// The share of connections, per thousand.
        per_mille: u16,
    },
    /// Packets with an option behind their header of IPv4 (RFC 2113), or an extension header of IPv6 with options (RFC 8200, 4.2).
    Options {
        /// The share of packets, per thousand.
        per_mille: u16,
    },
    /// Frames that have the time of the first one of their burst, as where an interface hands several on at once.
    EqualTimes {
        /// The longest time between the first frame of a burst and its last one, in microseconds.
        within_us: u16,
    },
    /// Connections of which one direction came by another interface, whose times are counted otherwise.
    Interfaces {
        /// The share of connections, per thousand.
        per_mille: u16,
    },
    /// Segments of TCP that are sent again with other bounds and the same octets: parts of two as one, and one as it was.
    Retransmissions {
        /// The share of segments with data that follow others with data, per thousand.
        per_mille: u16,
    },
    /// Segments of TCP that were captured as one with those in front of them, as where a host divides or joins them in its interface.
    LargeSegments {
        /// The share of segments with data that follow others with data, per thousand.
        per_mille: u16,
    },
    /// Segments of TCP without data that were not captured: nothing of a stream is missing.
    LostAcks {
        /// The share of segments without data, per thousand.
        per_mille: u16,
    },
}

/// A kind of segments that change nothing of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Insertion {
    /// A keep-alive (RFC 9293, 3.8.4) and its answer.
    KeepAlive,
    /// Resets to both sides whose numbers lie outside of the windows (RFC 5961, 3.2).
    ForgedReset,
    /// Two copies of a segment that was captured before, with other octets.
    Altered,
    /// A window that closes, and a probe of it without data (RFC 9293, 3.8.6.1).
    ZeroWindow,
}

impl Dose {
    /// Returns true when the capture still has every octet that the hosts sent, whatever its order.
    #[must_use]
    pub const fn keeps_all(&self) -> bool {
        !matches!(
            self,
            Self::Loss { .. }
                | Self::Cuts { .. }
                | Self::OneDirection { .. }
                | Self::LateBeginnings { .. }
        )
    }

    /// Returns true when further doses would not find the connections of the packets, so that the dose has to be the last one.
    #[must_use]
    pub const fn hides_connections(&self) -> bool {
        matches!(
            self,
            Self::Fragments { .. } | Self::Tunnels { .. } | Self::Sessions { .. }
        )
    }

    /// The same dose with half the amount; `None` when no amount would remain.
    #[must_use]
    pub fn halved(self) -> Option<Self> {
        let mut half = self;
        let amount = match &mut half {
            Self::Loss { per_mille }
            | Self::Duplicates { per_mille, .. }
            | Self::Reordering { per_mille, .. }
            | Self::Cuts { per_mille, .. }
            | Self::Attempts { per_mille, .. }
            | Self::Reuses { per_mille }
            | Self::LateBeginnings { per_mille, .. }
            | Self::SmallSegments { per_mille, .. }
            | Self::SmallRecords { per_mille, .. }
            | Self::Tags { per_mille }
            | Self::OneDirection { per_mille }
            | Self::RoutedCopies { per_mille, .. }
            | Self::DoubleTags { per_mille }
            | Self::Labels { per_mille, .. }
            | Self::Padding { per_mille, .. }
            | Self::OtherNumbers { per_mille }
            | Self::Insertions { per_mille, .. }
            | Self::Fragments { per_mille, .. }
            | Self::Tunnels { per_mille }
            | Self::PriorityTags { per_mille }
            | Self::Sessions { per_mille }
            | Self::Options { per_mille }
            | Self::Interfaces { per_mille }
            | Self::Retransmissions { per_mille }
            | Self::LargeSegments { per_mille }
            | Self::LostAcks { per_mille } => per_mille,
            Self::EqualTimes { within_us } => within_us,
            Self::ClockStep { .. } => return None,
        };
        *amount /= 2;
        (*amount > 0).then_some(half)
    }
}

/// The change that a dose made to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum How {
    /// The packet is no longer in the capture.
    Lost,
    /// The packet is in the capture twice.
    Doubled,
    /// Packets that were sent after it come before it.
    Moved,
    /// Only its first octets are left: so many of its payload.
    Cut(u32),
    /// The packet was split into this number of segments.
    Split(u32),
    /// The packet's first TLS record was split into this number of records; each but one adds five octets.
    Records(u32),
    /// The packet has a VLAN tag.
    Tagged(u16),
    /// Two packets were added: a connection attempt and its refusal, two of another connection before this one, or two segments
    /// behind this one.
    Added,
    /// The packet has this number of labels of MPLS.
    Labelled(u32),
    /// The frame has this number of octets behind its packet.
    Padded(u32),
    /// Its sequence number is greater by this, modulo 2^32.
    Renumbered(u32),
    /// The packet was divided into this number of fragments.
    Fragmented(u32),
    /// The packet is in a tunnel, whose headers have this number of octets.
    Tunnelled(u32),
    /// The packet is in the session of PPPoE with this number.
    InSession(u16),
    /// The packet has an option.
    Optional,
    /// The packet came by the interface with this number.
    Elsewhere(u32),
    /// The segment has the octets of this number of segments behind it, too.
    Joined(u32),
    /// The segment's octets are in one in front of it.
    Absorbed,
    /// The segment has no data and is no longer in the capture.
    Unacknowledged,
}

/// A packet that was touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The frame of the tidy capture; of a refused attempt, the frame of the SYN that is accepted, and of other added packets the one
    /// in front of them.
    pub origin: usize,
    /// The connection.
    pub ends: Ends,
    /// Whether it was sent by the lower end.
    pub from_low: bool,
    /// The first octet of the transport's payload: by its number in the stream (TCP), else 0.
    pub first: u32,
    /// Octets of that payload.
    pub octets: u32,
    /// The change to the packet.
    pub how: How,
}

/// All that was done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The packets that were touched, dose by dose.
    pub touches: Vec<Touch>,
    /// The frames whose times are others than in the tidy capture, by origin, with the difference in nanoseconds.
    pub times: BTreeMap<usize, i64>,
}

impl Account {
    /// The connections whose packets were touched, and how.
    #[must_use]
    pub fn connections(&self) -> BTreeMap<Ends, BTreeSet<How>> {
        let mut all: BTreeMap<Ends, BTreeSet<How>> = BTreeMap::new();
        for touch in &self.touches {
            all.entry(touch.ends).or_default().insert(touch.how);
        }
        all
    }

    fn touch(&mut self, origin: usize, ends: Ends, header: &IpHeaders, bytes: &[u8], how: How) {
        let (first, octets) = header.payload_range(bytes);
        self.touches.push(Touch {
            origin,
            ends,
            from_low: header.from_low(),
            first,
            octets,
            how,
        });
    }
}

/// Doses, and what decides where they go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The seed of all draws.
    pub seed: u64,
    /// The doses, in the order in which they are applied.
    pub doses: Vec<Dose>,
    /// The share of connections that may be touched, per thousand.
    pub connections_per_mille: u16,
    /// The only frames that may be touched, by origin, where not all may.
    pub only: Option<BTreeSet<usize>>,
}

impl Plan {
    /// These doses in any connection.
    #[must_use]
    pub const fn new(seed: u64, doses: Vec<Dose>) -> Self {
        Self {
            seed,
            doses,
            connections_per_mille: 1_000,
            only: None,
        }
    }

    /// The untidy capture, and what was done to it.
    #[must_use]
    pub fn apply(&self, tidy: &Capture) -> (Capture, Account) {
        let mut capture = tidy.clone();
        let mut account = Account::default();
        let connections = tidy.connections();
        for (index, dose) in self.doses.iter().enumerate() {
            let draw = Draw {
                plan: self,
                dose: index as u64,
                connections: &connections,
            };
            draw.apply(*dose, tidy, &mut capture, &mut account);
        }
        (capture, account)
    }
}

/// The choice of the frames that one dose changes.
struct Draw<'p> {
    plan: &'p Plan,
    dose: u64,
    connections: &'p Connections,
}

/// A frame that a dose may touch: its headers, its origin, its connection, and the random numbers of that.
type DrawnFrame = (IpHeaders, usize, Ends, Rng);

impl Draw<'_> {
    fn apply(&self, dose: Dose, tidy: &Capture, capture: &mut Capture, account: &mut Account) {
        match dose {
            Dose::Loss { per_mille } => missing::loss(self, capture, account, per_mille),
            Dose::Cuts {
                per_mille,
                snap_len,
            } => missing::cuts(self, capture, account, (per_mille, snap_len)),
            Dose::OneDirection { per_mille } => {
                missing::one_direction(self, capture, account, per_mille);
            }
            Dose::Duplicates {
                per_mille,
                distance,
            } => order::duplicates(self, capture, account, (per_mille, distance), false),
            Dose::RoutedCopies {
                per_mille,
                distance,
            } => order::duplicates(self, capture, account, (per_mille, distance), true),
            Dose::Reordering {
                per_mille,
                distance,
                in_time,
            } => order::reordering(self, capture, account, (per_mille, distance), in_time),
            Dose::Attempts { per_mille, most } => {
                attempt::attempts(self, capture, account, (per_mille, most));
            }
            Dose::Reuses { per_mille } => attempt::reuses(self, capture, account, per_mille),
            Dose::LateBeginnings { per_mille, packets } => {
                missing::late_beginnings(self, capture, account, (per_mille, packets));
            }
            Dose::ClockStep {
                at_per_mille,
                by_ms,
            } => clock::step(tidy, capture, account, (at_per_mille, by_ms)),
            Dose::SmallSegments { per_mille, octets } => {
                segment::split(self, capture, account, (per_mille, octets));
            }
            Dose::SmallRecords { per_mille, octets } => {
                record::split(self, capture, account, (per_mille, octets));
            }
            Dose::Tags { per_mille } => tag::add(self, capture, account, per_mille, false),
            Dose::DoubleTags { per_mille } => tag::add(self, capture, account, per_mille, true),
            Dose::Labels { per_mille, count } => {
                tag::label(self, capture, account, (per_mille, count));
            }
            Dose::Padding { per_mille, octets } => {
                pad::add(self, capture, account, (per_mille, octets));
            }
            Dose::OtherNumbers { per_mille } => number::shift(self, capture, account, per_mille),
            Dose::Insertions { per_mille, kind } => {
                insert::insert(self, capture, account, (per_mille, kind));
            }
            Dose::Fragments { per_mille, octets } => {
                fragment::divide(self, capture, account, (per_mille, octets));
            }
            Dose::Tunnels { per_mille } => tunnel::wrap(self, capture, account, per_mille),
            Dose::PriorityTags { per_mille } => tag::prioritize(self, capture, account, per_mille),
            Dose::Sessions { per_mille } => session::open(self, capture, account, per_mille),
            Dose::Options { per_mille } => option::add(self, capture, account, per_mille),
            Dose::EqualTimes { within_us } => clock::equal(capture, account, within_us),
            Dose::Interfaces { per_mille } => interface::other(self, capture, account, per_mille),
            Dose::Retransmissions { per_mille } => again::send(self, capture, account, per_mille),
            Dose::LargeSegments { per_mille } => join::join(self, capture, account, per_mille),
            Dose::LostAcks { per_mille } => missing::acks(self, capture, account, per_mille),
        }
    }

    /// The numbers for a frame, when its connection may be touched and `per_mille` of a thousand frames take it.
    fn frame(&self, ends: &Ends, origin: usize, per_mille: u16) -> Option<Rng> {
        let only = self.plan.only.as_ref();
        if only.is_some_and(|only| !only.contains(&origin)) || !self.may_touch(ends) {
            return None;
        }
        let mut random = self.random(self.dose.wrapping_add(1), origin as u64);
        (random.below(1_000) < u64::from(per_mille)).then_some(random)
    }

    /// The same for all of a connection, and for a direction of it where `way` says which.
    fn connection(&self, ends: &Ends, way: Option<bool>, per_mille: u16) -> Option<Rng> {
        if !self.may_touch(ends) {
            return None;
        }
        let way = way.map_or(2, u64::from);
        let mut random = self.random(self.dose.wrapping_add(1), ends.number() ^ (way << 60));
        (random.below(1_000) < u64::from(per_mille)).then_some(random)
    }

    /// A frame over Ethernet whose whole connection is drawn, as [`Self::connection`] draws.
    fn over_ethernet(
        &self,
        capture: &Capture,
        frame: &Frame,
        per_mille: u16,
    ) -> Option<DrawnFrame> {
        let header = capture.header(frame)?;
        let origin = frame.origin?;
        let link = *capture.link_types.get(frame.interface as usize)?;
        let ends = self.connections.ends(&header);
        let random = self.connection(&ends, None, per_mille)?;
        (link == link_type::ETHERNET).then_some((header, origin, ends, random))
    }

    /// True for a frame that is taken when its whole connection is.
    fn allows(&self, origin: usize) -> bool {
        let only = self.plan.only.as_ref();
        only.is_none_or(|only| only.contains(&origin))
    }

    /// The choice does not depend on the dose: all doses may touch the same connections.
    fn may_touch(&self, ends: &Ends) -> bool {
        let mut random = self.random(0, ends.number());
        random.below(1_000) < u64::from(self.plan.connections_per_mille)
    }

    fn random(&self, kind: u64, of: u64) -> Rng {
        let mut seed = Rng::new(self.plan.seed ^ kind.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Rng::new(seed.next_u64() ^ of)
    }
}
