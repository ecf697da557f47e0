//! Aliases of the columns of `flows`: those of IPFIX and NetFlow.

/// A name, and the column that it stands for. The names are those of IPFIX (IANA's registry of information elements),
/// with `reverse` before those of the responder's packets (RFC 5103), and those of NetFlow version 9 (RFC 3954, 8),
/// whose `OUT` are the responder's. Times are timestamps, whatever unit a name has.
pub(crate) const ALIASES: &[(&str, &str)] = &[
    ("flowId", "flow.id"),
    ("sourceIPv4Address", "ip.src"),
    ("destinationIPv4Address", "ip.dst"),
    ("sourceIPv6Address", "ipv6.src"),
    ("destinationIPv6Address", "ipv6.dst"),
    ("sourceTransportPort", "port.src"),
    ("destinationTransportPort", "port.dst"),
    ("protocolIdentifier", "ip.proto"),
    ("vlanId", "flow.vlan"),
    ("layer2SegmentId", "flow.network"),
    ("flowStartSeconds", "flow.start"),
    ("flowStartMilliseconds", "flow.start"),
    ("flowStartMicroseconds", "flow.start"),
    ("flowStartNanoseconds", "flow.start"),
    ("flowEndSeconds", "flow.end"),
    ("flowEndMilliseconds", "flow.end"),
    ("flowEndMicroseconds", "flow.end"),
    ("flowEndNanoseconds", "flow.end"),
    ("packetDeltaCount", "flow.packets_src"),
    ("packetTotalCount", "flow.packets_src"),
    ("reversePacketDeltaCount", "flow.packets_dst"),
    ("reversePacketTotalCount", "flow.packets_dst"),
    ("octetDeltaCount", "flow.ip_bytes_src"),
    ("octetTotalCount", "flow.ip_bytes_src"),
    ("reverseOctetDeltaCount", "flow.ip_bytes_dst"),
    ("reverseOctetTotalCount", "flow.ip_bytes_dst"),
    ("transportOctetDeltaCount", "flow.payload_bytes_src"),
    ("reverseTransportOctetDeltaCount", "flow.payload_bytes_dst"),
    ("ipTTL", "flow.ttl_src"),
    ("reverseIpTTL", "flow.ttl_dst"),
    ("applicationName", "flow.service"),
    ("IPV4_SRC_ADDR", "ip.src"),
    ("IPV4_DST_ADDR", "ip.dst"),
    ("IPV6_SRC_ADDR", "ipv6.src"),
    ("IPV6_DST_ADDR", "ipv6.dst"),
    ("L4_SRC_PORT", "port.src"),
    ("L4_DST_PORT", "port.dst"),
    ("PROTOCOL", "ip.proto"),
    ("SRC_VLAN", "flow.vlan"),
    ("FIRST_SWITCHED", "flow.start"),
    ("LAST_SWITCHED", "flow.end"),
    ("IN_PKTS", "flow.packets_src"),
    ("OUT_PKTS", "flow.packets_dst"),
    ("IN_BYTES", "flow.ip_bytes_src"),
    ("OUT_BYTES", "flow.ip_bytes_dst"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_one_column_that_there_is() {
        let columns = (super::super::EXTRACTION.columns)();
        let mut seen = std::collections::HashSet::new();
        for (name, column) in ALIASES {
            assert!(seen.insert(name.to_lowercase()), "{name}");
            assert!(!name.contains('.'), "{name}");
            assert!(columns.iter().any(|one| &*one.name == *column), "{column}");
        }
    }
}
