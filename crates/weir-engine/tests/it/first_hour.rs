//! Questions of the first hour: names that come from other tools, and forty questions about a network.
//!
//! Each name either answers or says exactly what to write; each question of a protocol that is decoded stands in the
//! cookbook, whose test runs its query.

use crate::samples;
use crate::slt::Runner;

/// The expected result of a condition.
enum Expected {
    /// The number of rows that pass.
    Rows(u64),
    /// The error and its hint have this text.
    Refused(&'static str),
}

use Expected::{Refused, Rows};

const VOIP: &str = "'demo/voip.pcap'";
const FLOWS: &str = "flows('demo/voip.pcap')";
const FLOW_PACKETS: &str = "flow_packets('demo/voip.pcap')";
const SIP: &str = "sip('demo/voip.pcap')";

/// Conditions as people write them who know Wireshark, tcpdump, Zeek, ECS or IPFIX.
#[rustfmt::skip]
const NAMES: &[(&str, &str, Expected)] = &[
    // Wireshark's, of headers.
    ("ip.addr == '10.1.0.5'", VOIP, Rows(23)),
    ("ipv6.addr == '::1'", VOIP, Rows(0)),
    ("eth.addr == '02:00:00:00:00:02'", VOIP, Rows(40)),
    ("tcp.port == 80", VOIP, Rows(12)),
    ("udp.port == 5060", VOIP, Rows(6)),
    ("sctp.port = 2905", VOIP, Rows(0)),
    ("IP.SRC == '10.1.0.5'", VOIP, Rows(12)),
    ("tcp.flags.syn = 1", VOIP, Rows(12)),
    ("tcp.flags.syn == 1 && tcp.flags.ack == 0", VOIP, Rows(10)),
    ("tcp.flags == 0x02", VOIP, Rows(10)),
    ("tcp.flags.rst", VOIP, Rows(5)),
    ("frame.time_epoch > 1484319030", VOIP, Rows(40)),
    ("frame.time_relative < 10", VOIP, Rows(31)),
    ("frame.time_delta > 1", VOIP, Rows(3)),
    ("tcp.payload[1:3] = 'GET'", VOIP, Rows(1)),
    ("ip.version == 4", VOIP, Rows(40)),
    ("eth.type == 0x0800", VOIP, Rows(40)),
    ("vlan.id[2] = 11", "'demo/services.pcap'", Rows(3)),
    ("tcp.stream == 2", FLOW_PACKETS, Rows(12)),
    ("tcp.analysis.retransmission", FLOW_PACKETS, Rows(3)),
    ("sip.Method == 'INVITE'", SIP, Rows(2)),
    ("sip.Call-ID == 'udp-call'", SIP, Rows(6)),
    ("sip.CSeq.method == 'BYE'", SIP, Rows(2)),
    ("sip.Status-Code == 486", SIP, Rows(1)),
    ("sip.r-uri.user == 'bob'", SIP, Rows(5)),
    ("tcp.seq = 1", VOIP, Refused("tcp.seq_raw")),
    ("tcp.ack = 1", VOIP, Refused("tcp.ack_raw")),
    ("tcp.stream = 0", VOIP, Refused("flow_packets('trace.pcap')")),
    ("tcp.analysis.zero_window", VOIP, Refused("FROM flow_packets('trace.pcap')")),
    ("tcp.window_size = 1", VOIP, Refused("tcp.window_size_value")),
    ("tcp.checksum.status = 1", VOIP, Refused("tcp.checksum_ok")),
    ("tcp.completeness = 31", VOIP, Refused("flow.history")),
    ("frame.protocols = 'eth:ethertype:ip:tcp'", VOIP, Refused("frame.layers")),
    ("_ws.col.Info LIKE '%INVITE%'", VOIP, Refused("weir tables")),
    ("_ws.col.Protocol = 'SIP'", VOIP, Refused("proto")),
    ("ip.geoip.country = 'DE'", VOIP, Refused("geoip_country(ip.src)")),
    ("wlan.ssid = 'home'", VOIP, Refused("wlan.bssid")),
    // Wireshark's, of what packets carry.
    ("http.host = 'www.example.org'", VOIP, Refused("FROM http('trace.pcap')")),
    ("http.request.method = 'GET'", VOIP, Refused("FROM http('trace.pcap')")),
    ("http.response.code = 200", VOIP, Refused("FROM http('trace.pcap')")),
    ("dns.qry.name = 'www.example.org'", VOIP, Refused("FROM dns('trace.pcap')")),
    ("dns.flags.rcode = 3", VOIP, Refused("FROM dns('trace.pcap')")),
    ("tls.handshake.extensions_server_name = 'x'", VOIP, Refused("FROM tls('trace.pcap')")),
    ("tls.handshake.type = 1", VOIP, Refused("tls('trace.pcap')")),
    ("ssl.handshake.type = 1", VOIP, Refused("tls('trace.pcap')")),
    ("sip.Method = 'INVITE'", VOIP, Refused("FROM sip('trace.pcap')")),
    ("sip.Call-ID = 'udp-call'", VOIP, Refused("sip.call_id is a column of")),
    ("rtp.ssrc = 1", VOIP, Refused("FROM rtp('trace.pcap')")),
    ("quic.version = 1", VOIP, Refused("FROM tls('trace.pcap')")),
    ("radius.User_Name = 'ann'", VOIP, Refused("FROM radius('trace.pcap')")),
    ("bootp.option.hostname = 'x'", VOIP, Refused("FROM dhcp('trace.pcap')")),
    ("megaco.transid = 1", VOIP, Refused("h248('trace.pcap')")),
    ("mgcp.req.verb = 'CRCX'", VOIP, Refused("FROM mgcp('trace.pcap')")),
    // Filters that are no SQL.
    ("tcp", VOIP, Refused("display_filter('tcp')")),
    ("not arp", VOIP, Refused("display_filter('arp')")),
    ("dns", VOIP, Refused("display_filter('dns')")),
    ("ip.src == 10.0.0.0/8", VOIP, Refused("cidr_match(ip.src, '10.0.0.0/8')")),
    ("ip.src == 10.1.0.5", VOIP, Refused("ip.src = '10.1.0.5'")),
    ("frame contains \"GET\"", VOIP, Refused("display_filter('frame contains \"text\"')")),
    ("tcp.payload contains 'GET'", VOIP, Refused("contains(tcp.payload, 'text')")),
    ("tcp.flags.syn == true || tcp.flags.reset", VOIP, Refused("write OR")),
    ("ip.src == '10.1.0.5' || ip.dst == '10.1.0.5'", VOIP, Refused("write OR")),
    ("!(tcp.flags.syn)", VOIP, Refused("NOT (…)")),
    ("host 10.1.0.5", VOIP, Refused("addr.any = '10.1.0.5'")),
    ("tcp port 80", VOIP, Refused("tcp.port = 80")),
    ("frame.time > 1484319030", VOIP, Refused("frame.time_epoch")),
    ("frame.time > '2017-02-01 10:00'", VOIP, Rows(40)),
    ("ip.proto = 'tcp'", VOIP, Refused("proto")),
    // tcpdump's, and what everybody tries.
    ("port = 5060", VOIP, Rows(13)),
    ("host = '10.1.0.5'", VOIP, Rows(23)),
    ("proto = 'TCP'", VOIP, Rows(32)),
    ("proto = 6", VOIP, Rows(32)),
    ("src_ip = '10.1.0.5'", VOIP, Rows(12)),
    ("src = '10.1.0.5'", VOIP, Rows(12)),
    ("dst_port = 53", VOIP, Rows(1)),
    ("length > 100", VOIP, Rows(14)),
    ("user_agent = 'x'", VOIP, Refused("http.user_agent of http('trace.pcap')")),
    ("ja3 = 'x'", VOIP, Refused("tls.handshake.ja3 of tls('trace.pcap')")),
    ("flow.rtt > 1", VOIP, Refused("FROM flows('trace.pcap')")),
    ("flow.service = 'sip'", FLOWS, Rows(2)),
    // Zeek's, ECS's, IPFIX's.
    ("id.orig_h = '10.1.0.5'", FLOWS, Rows(4)),
    ("id.resp_p = 53", FLOWS, Rows(1)),
    ("conn_state = 'S0'", FLOWS, Rows(1)),
    ("id.orig_h = '10.1.0.5'", VOIP, Refused("addr.src")),
    ("uid = 'x'", VOIP, Refused("flow.community_id")),
    ("source.ip = '10.1.0.5'", VOIP, Rows(12)),
    ("destination.port = 53", VOIP, Rows(1)),
    ("sourceIPv4Address = '10.1.0.5'", VOIP, Rows(12)),
];

#[test]
fn names_of_other_tools_answer_or_say_what_to_write() {
    samples::enter();
    assert!(NAMES.len() >= 55);
    let runner = Runner::new(&weir_engine::Options::default());
    let mut wrong = String::new();
    for (condition, table, expected) in NAMES {
        let sql = format!("SELECT count(*) FROM {table} WHERE {condition}");
        let found = match runner.rows(&sql) {
            Ok(answer) => Ok(answer.rows.concat()),
            Err(error) => Err(format!("{error}: {}", error.hint().unwrap_or_default())),
        };
        let is_right = match (expected, &found) {
            (Rows(rows), Ok(found)) => *found == rows.to_string(),
            (Refused(part), Err(message)) => message.contains(part),
            _ => false,
        };
        if !is_right {
            wrong.push_str(&format!("{condition} of {table}: {found:?}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// The forty questions, and the headings of the cookbook under which their answers stand.
#[rustfmt::skip]
const QUESTIONS: &[(&str, &str)] = &[
    ("top talkers, both directions", "Who moves most, in both directions?"),
    ("top ports", "Which ports are asked most?"),
    ("failed handshakes", "Which connections failed, and how?"),
    ("retransmissions", "Which packets were sent again?"),
    ("RTT, p95", "How long does a round trip take, at the worst?"),
    ("DNS names", "Who asked for that name, and what was the answer?"),
    ("NXDOMAIN", "Which names are not there?"),
    ("unanswered DNS", "Which questions to name servers had no answer?"),
    ("SNI", "Which servers are asked for by name over TLS and QUIC?"),
    ("TLS versions, certificates", "Which versions of TLS are spoken, and with which certificates?"),
    ("JA3/JA4", "Which programs are clients of TLS?"),
    ("HTTP hosts", "Which pages were slow?"),
    ("HTTP status", "Which pages failed?"),
    ("DHCP leases", "Who was given which address?"),
    ("ARP spoofing", "Which address has two cards?"),
    ("VLANs", "What is in the inner VLANs?"),
    ("ICMP unreachable, for which port", "Which ports were not there, as ICMP says?"),
    ("SYN scans", "Who tries many ports?"),
    ("beacons", "Who calls home?"),
    ("Mbit/s per second", "How many megabits a second?"),
    ("calls, states, delays", "How long did callers wait, and how long did they talk?"),
    ("registrations", "Which telephones registered, and which were refused?"),
    ("RTP loss, jitter, MOS", "How good was the voice?"),
    ("P-Asserted-Identity, Diversion, raw message", "Who calls really, and who handed the call on?"),
    ("RADIUS users", "Who was let in, and who was not?"),
    ("Diameter codes", "What do Diameter's answers say?"),
    ("QUIC version, SNI", "Which clients speak QUIC, and with whom?"),
    ("NTP", "Whose clock is that?"),
    ("SNMP", "What was read of SNMP, and with which community?"),
    ("WebSocket texts", "What do WebSockets say?"),
    ("MQTT", "What do sensors say?"),
    ("payload contains / regex", "Who sends passwords that anybody can read?"),
    ("threat list CSV, CIDR list", "Which hosts talk to addresses on a list?"),
    ("join with Parquet", "How do I keep an answer for other programs?"),
    ("subset as pcap", "How do I cut packets out?"),
    ("packets of a flow as pcap", "How do I cut a connection out?"),
    ("merge files", "How do I put captures together?"),
    ("windows", "What happened in each ten seconds?"),
    ("top per group", "What is the largest flow of each service?"),
    ("CTE, recursive, pipes", "How do I build a question step by step?"),
    ("local time", "What time was that here?"),
    ("human units, GeoIP, OUI, SSID, entropy", "Who made these machines?"),
];

#[test]
fn the_forty_questions_have_one_query_each_in_the_cookbook() {
    let path = format!("{}/../../docs/cookbook.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(path).unwrap();
    assert!(QUESTIONS.len() >= 40);
    for (question, heading) in QUESTIONS {
        let section = page.split("\n## ").find(|section| {
            let title = section.lines().next().unwrap_or_default();
            title
                .split_once(". ")
                .is_some_and(|(_, title)| title == *heading)
        });
        let section = section.unwrap_or_else(|| panic!("{question}: {heading}"));
        assert_eq!(section.matches("```sql\n").count(), 1, "{question}");
    }
}
