//! Limits and timeouts, and what was counted where they were met.

use crate::key::Scope;

/// The packet of a tunnel that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tunnels {
    /// The outermost one: all that a tunnel carries is a flow of the tunnel.
    #[default]
    Outer,
    /// The innermost one, of all tunnels that packets are decoded into: packets have to be decoded to
    /// their innermost header then. The network identifier of VXLAN and Geneve, and the key of GRE, tell
    /// flows apart.
    Inner,
}

/// Tunnels in one another that are followed.
pub(crate) const TUNNELS_MAX: usize = 4;

/// Timeouts and limits of a [`FlowTable`](crate::FlowTable). The defaults are Zeek's.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The parts of a key besides addresses, ports and protocol.
    pub scope: Scope,
    /// The packet of a tunnel that counts; the outermost one by default.
    pub tunnels: Tunnels,
    /// The idle timeout of TCP connections; 5 minutes by default.
    pub tcp_idle_ns: u64,
    /// A connection ends when its SYN has no answer for so long; 5 seconds by default.
    pub tcp_attempt_ns: u64,
    /// Packets are counted to a closed connection for so long; 5 seconds by default.
    pub tcp_close_ns: u64,
    /// The idle timeout of UDP flows; 1 minute by default.
    pub udp_idle_ns: u64,
    /// The idle timeout of ICMP flows; 1 minute by default.
    pub icmp_idle_ns: u64,
    /// The idle timeout of SCTP flows; 5 minutes by default, as associations have heartbeats every 30 seconds.
    pub sctp_idle_ns: u64,
    /// The idle timeout of flows of other protocols; 1 minute by default.
    pub other_idle_ns: u64,
    /// Longer flows are given out in parts of this length; never by default.
    pub active_ns: Option<u64>,
    /// The maximum number of concurrent flows; 10 million by default, which take 2 GB. Beyond it the flow that would end first is
    /// reported.
    pub flows_max: usize,
    /// Most flows at one time that have retransmissions, gaps, resets and the like, which take 448 bytes more each; a
    /// million by default. Further flows go without these columns.
    pub details_max: usize,
    /// Packets with a wrong checksum are noted and not counted, as Zeek does unless told otherwise.
    /// False by default: on the machine that sends, captures have no checksums yet.
    pub checksums: bool,
}

impl Default for Options {
    fn default() -> Self {
        const SECOND: u64 = 1_000_000_000;
        Self {
            scope: Scope::Addresses,
            tunnels: Tunnels::Outer,
            tcp_idle_ns: 300 * SECOND,
            tcp_attempt_ns: 5 * SECOND,
            tcp_close_ns: 5 * SECOND,
            udp_idle_ns: 60 * SECOND,
            icmp_idle_ns: 60 * SECOND,
            sctp_idle_ns: 300 * SECOND,
            other_idle_ns: 60 * SECOND,
            active_ns: None,
            flows_max: 10_000_000,
            details_max: 1_000_000,
            checksums: false,
        }
    }
}

/// The counters of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Packets taken in.
    pub packets: u64,
    /// Flows begun.
    pub flows: u64,
    /// Most flows at one time.
    pub flows_peak: u64,
    /// Flows given out because the table was full.
    pub evicted: u64,
    /// Rare events that were not noted because there were too many flows with some.
    pub details_refused: u64,
    /// Segments of TCP that were looked at by themselves for what their connection carries, as the first octets of too
    /// many connections were kept.
    pub openings_refused: u64,
}
