//! Tables of protocols with small messages against tshark.

use super::Comparison;

#[test]
fn tshark_reads_the_same_in_dhcp() {
    Comparison::agree(&[Comparison {
        table: "dhcp",
        frame: "frame.number",
        protocols: &["dhcp"],
        filter: "dhcp && !icmp",
        fields: DHCP,
        without: None,
        preferences: &[],
        differences: DHCP_DIFFERENCES,
    }]);
}

const DHCP: &[(&str, &str)] = &[
    ("dhcp.type", "dhcp.type"),
    // Not dhcp.hw.type: tshark gives the type in the client's identifier (option 61) this name too.
    ("dhcp.option.dhcp", "dhcp.option.dhcp"),
    ("dhcp.id", "dhcp.id"),
    ("dhcp.secs", "dhcp.secs"),
    ("dhcp.flags", "dhcp.flags"),
    ("dhcp.ip.client", "dhcp.ip.client"),
    ("dhcp.ip.your", "dhcp.ip.your"),
    ("dhcp.ip.server", "dhcp.ip.server"),
    ("dhcp.ip.relay", "dhcp.ip.relay"),
    ("dhcp.option.hostname", "dhcp.option.hostname"),
    ("dhcp.option.domain_name", "dhcp.option.domain_name"),
    ("dhcp.option.vendor_class_id", "dhcp.option.vendor_class_id"),
    (
        "dhcp.option.requested_ip_address",
        "dhcp.option.requested_ip_address",
    ),
    (
        "dhcp.option.ip_address_lease_time",
        "dhcp.option.ip_address_lease_time",
    ),
    ("dhcp.option.dhcp_server_id", "dhcp.option.dhcp_server_id"),
    ("dhcp.option.subnet_mask", "dhcp.option.subnet_mask"),
    ("dhcp.option.router", "dhcp.option.router"),
    (
        "dhcp.option.domain_name_server",
        "dhcp.option.domain_name_server",
    ),
    (
        "dhcp.option.request_list_item",
        "dhcp.option.request_list_item",
    ),
];

const DHCP_DIFFERENCES: &[(&str, &str, &str)] = &[];

#[test]
fn tshark_reads_the_same_in_ntp() {
    Comparison::agree(&[Comparison {
        table: "ntp",
        frame: "frame.number",
        protocols: &["ntp"],
        // Control messages are of another form.
        filter: "ntp && !icmp && ntp.flags.mode < 6",
        fields: NTP,
        without: None,
        preferences: &[],
        differences: NTP_DIFFERENCES,
    }]);
}

const NTP: &[(&str, &str)] = &[
    ("ntp.flags.li", "ntp.flags.li"),
    ("ntp.flags.vn", "ntp.flags.vn"),
    ("ntp.flags.mode", "ntp.flags.mode"),
    ("ntp.stratum", "ntp.stratum"),
    ("ntp.ppoll", "ntp.ppoll"),
    ("ntp.refid", "ntp.refid"),
];

const NTP_DIFFERENCES: &[(&str, &str, &str)] = &[];
