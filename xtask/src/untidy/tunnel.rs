//! Flows of tunnels. What a tunnel carries belongs to the flow of its first packet, and tunnels over UDP have a flow for each direction
//! (RFC 7348, 5): where packets are lost, it may belong to that of the other one.

use std::collections::BTreeMap;
use std::net::IpAddr;

use weir_testkit::untidy::Ends;

use super::answers::TableRow;
use super::fate::ConnectionFate;
use super::judged::{JudgedCapture, ends, id, sockets};
use super::tables::{FLOWS, STREAM, TableRule};

/// The flows of the tidy capture that are counted as one, as they are tunnels between the same hosts of which packets are missing: each
/// with the first of them.
pub(super) fn joined(
    tidy: &JudgedCapture<'_>,
    states: &BTreeMap<u64, ConnectionFate>,
) -> BTreeMap<u64, u64> {
    let flows = tidy.answer.rows(FLOWS).iter();
    let ends_of: BTreeMap<u64, Ends> = flows
        .filter_map(|row| Some((id(row)?, ends(row)?)))
        .collect();
    let carrier = |row: &TableRow| {
        let outer = ends_of.get(&id(row)?)?;
        let (src, dst) = sockets(row)?;
        (Ends::new(outer.protocol, src, dst) != *outer).then_some(outer)
    };
    let rows = tidy.answer.tables.values().flatten();
    let mut tunnels: Vec<&Ends> = rows.filter_map(carrier).collect();
    tunnels.sort_unstable();
    tunnels.dedup();
    let mut firsts: BTreeMap<u64, u64> = BTreeMap::new();
    for tunnel in tunnels {
        let of_tunnel = ends_of
            .iter()
            .filter(|(_, other)| has_port_of(tunnel, other));
        let of_tunnel: Vec<u64> = of_tunnel.map(|(flow, _)| *flow).collect();
        let lacks = |flow: &u64| states.get(flow).is_some_and(ConnectionFate::lacks);
        if let [first, _, ..] = of_tunnel[..]
            && of_tunnel.iter().any(lacks)
        {
            firsts.extend(of_tunnel.into_iter().map(|flow| (flow, first)));
        }
    }
    firsts
}

/// Whether both are between the same hosts, and one of their ports is the same.
fn has_port_of(tunnel: &Ends, other: &Ends) -> bool {
    let has = |port: u16| [tunnel.low.1, tunnel.high.1].contains(&port);
    tunnel.hosts() == other.hosts() && (has(other.low.1) || has(other.high.1))
}

/// Whether a row is a datagram of a tunnel that a dose has put around a connection: no capture has its hosts.
pub(super) fn is_of_dose(table: &TableRule, row: &TableRow) -> bool {
    let is_of_tunnel = |((address, port), _): ((IpAddr, u16), _)| {
        let is_host = matches!(address, IpAddr::V4(host) if host.octets()[0] == TUNNEL_NETWORK);
        is_host && [VXLAN_PORT, GTP_PORT].contains(&port)
    };
    table.name == STREAM && sockets(row).is_some_and(is_of_tunnel)
}

/// The first octet of the addresses of such hosts, and their ports.
const TUNNEL_NETWORK: u8 = 11;
const VXLAN_PORT: u16 = 4_789;
const GTP_PORT: u16 = 2_152;
