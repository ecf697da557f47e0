//! Tables of protocols with small messages are compared with tshark.

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
    // The list lacks dhcp.hw.type: tshark gives the type in the client identifier (option 61) this name, too.
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
        filter: "ntp && !icmp",
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

const PEERS: &str = "tshark shows values of the peers in the list that a private message carries";

const NTP_DIFFERENCES: &[(&str, &str, &str)] = &[
    ("tcpdump/tests__ntp-mode7.pcap", "ntp.stratum", PEERS),
    ("tcpdump/tests__ntp-mode7.pcap", "ntp.ppoll", PEERS),
];

#[test]
fn tshark_reads_the_same_in_radius() {
    Comparison::agree(&[Comparison {
        table: "radius",
        frame: "frame.number",
        protocols: &["radius"],
        filter: "radius && !icmp",
        fields: RADIUS,
        without: None,
        preferences: &[],
        differences: RADIUS_DIFFERENCES,
    }]);
}

const RADIUS: &[(&str, &str)] = &[
    ("radius.code", "radius.code"),
    ("radius.id", "radius.id"),
    ("radius.length", "radius.length"),
    ("radius.authenticator", "radius.authenticator"),
    ("radius.avp.type", "radius.avp.type"),
    ("radius.user_name", "radius.User_Name"),
    ("radius.nas_ip_address", "radius.NAS_IP_Address"),
    ("radius.nas_port", "radius.NAS_Port"),
    ("radius.nas_port_type", "radius.NAS_Port_Type"),
    ("radius.service_type", "radius.Service_Type"),
    ("radius.framed_ip_address", "radius.Framed-IP-Address"),
    ("radius.framed_mtu", "radius.Framed_MTU"),
    ("radius.reply_message", "radius.Reply_Message"),
    ("radius.state", "radius.State"),
    ("radius.called_station_id", "radius.Called_Station_Id"),
    ("radius.calling_station_id", "radius.Calling_Station_Id"),
    (
        "radius.message_authenticator",
        "radius.Message_Authenticator",
    ),
    ("radius.error_cause", "radius.Error_Cause"),
    ("radius.time", "radius.time"),
    ("radius.reqframe", "radius.reqframe"),
];

const RADIUS_DIFFERENCES: &[(&str, &str, &str)] = &[(
    "RADIUS-RFC5176-2.pcap",
    "radius.error_cause",
    "the packet has two causes, of which the column is the first",
)];

#[test]
fn tshark_reads_the_same_in_snmp() {
    Comparison::agree(&[Comparison {
        table: "snmp",
        frame: "frame.number",
        protocols: &["snmp"],
        filter: "snmp && !icmp",
        fields: SNMP,
        without: None,
        preferences: &[],
        differences: SNMP_DIFFERENCES,
    }]);
}

const SNMP: &[(&str, &str)] = &[
    ("snmp.community", "snmp.community"),
    ("snmp.data", "snmp.data"),
    ("snmp.request_id", "snmp.request_id"),
    ("snmp.error_status", "snmp.error_status"),
    ("snmp.error_index", "snmp.error_index"),
    ("snmp.non_repeaters", "snmp.non_repeaters"),
    ("snmp.max_repetitions", "snmp.max_repetitions"),
    ("snmp.name", "snmp.name"),
    ("snmp.time", "snmp.time"),
    ("snmp.response_to", "snmp.response_to"),
    ("snmp.enterprise", "snmp.enterprise"),
    ("snmp.generic_trap", "snmp.generic_trap"),
    ("snmp.specific_trap", "snmp.specific_trap"),
    ("snmp.time_stamp", "snmp.time_stamp"),
    ("snmp.msgid", "snmp.msgID"),
    ("snmp.msgflags", "snmp.msgFlags"),
    (
        "snmp.msgauthoritativeengineid",
        "snmp.msgAuthoritativeEngineID",
    ),
    (
        "snmp.msgauthoritativeengineboots",
        "snmp.msgAuthoritativeEngineBoots",
    ),
    (
        "snmp.msgauthoritativeenginetime",
        "snmp.msgAuthoritativeEngineTime",
    ),
    ("snmp.msgusername", "snmp.msgUserName"),
    ("snmp.contextname", "snmp.contextName"),
];

const SNMP_DIFFERENCES: &[(&str, &str, &str)] = &[
    (
        "snmp-heapoverflow-1.pcap",
        "snmp.msgid",
        "the head of the message is damaged behind this number: it is no row",
    ),
    (
        "snmp__leak_test.pcapng",
        "snmp.msgauthoritativeengineid",
        NO_ENGINE,
    ),
    (
        "snmpv3_get_next.pcap",
        "snmp.msgauthoritativeengineid",
        NO_ENGINE,
    ),
];

const NO_ENGINE: &str =
    "tshark writes <MISSING> where the engine's name is empty, which is NULL here";

#[test]
fn tshark_reads_the_same_in_mqtt() {
    Comparison::few(&[Comparison {
        table: "mqtt",
        frame: "frame.number",
        protocols: &["mqtt"],
        filter: "mqtt && !icmp",
        fields: MQTT,
        without: None,
        preferences: &[],
        differences: MQTT_DIFFERENCES,
    }]);
}

const MQTT: &[(&str, &str)] = &[
    ("mqtt.msgtype", "mqtt.msgtype"),
    ("mqtt.hdrflags", "mqtt.hdrflags"),
    ("mqtt.len", "mqtt.len"),
    ("mqtt.protoname", "mqtt.protoname"),
    ("mqtt.ver", "mqtt.ver"),
    ("mqtt.conflags", "mqtt.conflags"),
    ("mqtt.kalive", "mqtt.kalive"),
    ("mqtt.clientid", "mqtt.clientid"),
    ("mqtt.username", "mqtt.username"),
    ("mqtt.session_present", "mqtt.conack.flags.sp"),
    ("mqtt.conack.val", "mqtt.conack.val"),
    ("mqtt.property.topic_alias", "mqtt.property.topic_alias"),
    ("mqtt.property.content_type", "mqtt.property.content_type"),
    ("mqtt.property_id", "mqtt.property_id"),
    ("mqtt.prop_number", "mqtt.prop_number"),
    ("mqtt.property.max_qos", "mqtt.property.max_qos"),
    ("mqtt.prop_string", "mqtt.prop_string"),
    ("mqtt.prop_key", "mqtt.prop_key"),
    ("mqtt.prop_value", "mqtt.prop_value"),
    ("mqtt.msgid", "mqtt.msgid"),
    ("mqtt.topic", "mqtt.topic"),
    ("mqtt.qos", "mqtt.qos"),
    ("mqtt.dupflag", "mqtt.dupflag"),
    ("mqtt.retain", "mqtt.retain"),
    ("mqtt.msg", "mqtt.msg"),
];

const MQTT_DIFFERENCES: &[(&str, &str, &str)] = &[];

#[test]
fn tshark_reads_the_same_in_stun() {
    Comparison::agree(&[Comparison {
        table: "stun",
        frame: "frame.number",
        protocols: &["stun"],
        filter: "stun && stun.cookie && !icmp",
        fields: STUN,
        without: None,
        preferences: &[],
        differences: STUN_DIFFERENCES,
    }]);
}

const STUN: &[(&str, &str)] = &[
    ("stun.type", "stun.type"),
    ("stun.length", "stun.length"),
    ("stun.id", "stun.id"),
    ("stun.att.type", "stun.att.type"),
    ("stun.att.ipv4", "stun.att.ipv4"),
    ("stun.att.ipv6", "stun.att.ipv6"),
    ("stun.att.port", "stun.att.port"),
    ("stun.att.username", "stun.att.username"),
    ("stun.att.realm", "stun.att.realm"),
    ("stun.att.software", "stun.att.software"),
    ("stun.att.error.reason", "stun.att.error.reason"),
    ("stun.att.lifetime", "stun.att.lifetime"),
    ("stun.att.channelnum", "stun.att.channelnum"),
    ("stun.att.priority", "stun.att.priority"),
    ("stun.time", "stun.time"),
    ("stun.response_to", "stun.response-to"),
];

const STUN_DIFFERENCES: &[(&str, &str, &str)] = &[];
