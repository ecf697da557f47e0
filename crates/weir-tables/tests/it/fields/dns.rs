//! `dns` is compared with tshark's dns, mdns and llmnr.

use super::Comparison;

#[test]
fn tshark_reads_the_same_in_dns() {
    Comparison::agree(&[Comparison {
        table: "dns",
        frame: "frame.number",
        protocols: &["dns", "mdns", "llmnr"],
        // A message that an ICMP error quotes was not sent in that packet.
        filter: "(dns || mdns || llmnr) && !icmp && !icmpv6",
        fields: FIELDS,
        without: None,
        preferences: &[],
        differences: DIFFERENCES,
    }]);
}

const FIELDS: &[(&str, &str)] = &[
    ("dns.id", "dns.id"),
    ("dns.flags", "dns.flags"),
    ("dns.flags.response", "dns.flags.response"),
    ("dns.flags.opcode", "dns.flags.opcode"),
    ("dns.flags.authoritative", "dns.flags.authoritative"),
    ("dns.flags.conflict", "dns.flags.conflict"),
    ("dns.flags.truncated", "dns.flags.truncated"),
    ("dns.flags.recdesired", "dns.flags.recdesired"),
    ("dns.flags.tentative", "dns.flags.tentative"),
    ("dns.flags.recavail", "dns.flags.recavail"),
    ("dns.flags.z", "dns.flags.z"),
    ("dns.flags.authenticated", "dns.flags.authenticated"),
    ("dns.flags.checkdisable", "dns.flags.checkdisable"),
    ("dns.flags.rcode", "dns.flags.rcode"),
    ("dns.count.queries", "dns.count.queries"),
    ("dns.count.zones", "dns.count.zones"),
    ("dns.count.answers", "dns.count.answers"),
    ("dns.count.prerequisites", "dns.count.prerequisites"),
    ("dns.count.auth_rr", "dns.count.auth_rr"),
    ("dns.count.updates", "dns.count.updates"),
    ("dns.count.add_rr", "dns.count.add_rr"),
    ("dns.null", "dns.null"),
    ("dns.qry.names", "dns.qry.name"),
    ("dns.qry.types", "dns.qry.type"),
    ("dns.resp.name", "dns.resp.name"),
    ("dns.resp.type", "dns.resp.type"),
    ("dns.resp.class", "dns.resp.class"),
    ("dns.resp.ttl", "dns.resp.ttl"),
    ("dns.resp.len", "dns.resp.len"),
    ("dns.a", "dns.a"),
    ("dns.aaaa", "dns.aaaa"),
    ("dns.cname", "dns.cname"),
    ("dns.ns", "dns.ns"),
    ("dns.ptr.domain_name", "dns.ptr.domain_name"),
    ("dns.dname", "dns.dname"),
    ("dns.mx.preference", "dns.mx.preference"),
    ("dns.mx.mail_exchange", "dns.mx.mail_exchange"),
    ("dns.txt", "dns.txt"),
    ("dns.spf", "dns.spf"),
    ("dns.soa.mname", "dns.soa.mname"),
    ("dns.soa.rname", "dns.soa.rname"),
    ("dns.soa.serial_number", "dns.soa.serial_number"),
    ("dns.soa.minimum_ttl", "dns.soa.minimum_ttl"),
    ("dns.srv.priority", "dns.srv.priority"),
    ("dns.srv.weight", "dns.srv.weight"),
    ("dns.srv.port", "dns.srv.port"),
    ("dns.srv.target", "dns.srv.target"),
    ("dns.naptr.order", "dns.naptr.order"),
    ("dns.naptr.preference", "dns.naptr.preference"),
    ("dns.naptr.service", "dns.naptr.service"),
    ("dns.naptr.regex", "dns.naptr.regex"),
    ("dns.naptr.replacement", "dns.naptr.replacement"),
    ("dns.svcb.targetname", "dns.svcb.targetname"),
    ("dns.svcb.svcpriority", "dns.svcb.svcpriority"),
    ("dns.hinfo.cpu", "dns.hinfo.cpu"),
    ("dns.hinfo.os", "dns.hinfo.os"),
    ("dns.caa.value", "dns.caa.value"),
    ("dns.rrsig.type_covered", "dns.rrsig.type_covered"),
    ("dns.rrsig.key_tag", "dns.rrsig.key_tag"),
    ("dns.rrsig.signers_name", "dns.rrsig.signers_name"),
    ("dns.ds.key_id", "dns.ds.key_id"),
    ("dns.dnskey.flags", "dns.dnskey.flags"),
    ("dns.nsec.next_domain_name", "dns.nsec.next_domain_name"),
    ("dns.rr.udp_payload_size", "dns.rr.udp_payload_size"),
    ("dns.resp.ext_rcode", "dns.resp.ext_rcode"),
    ("dns.resp.edns0_version", "dns.resp.edns0_version"),
    ("dns.resp.z", "dns.resp.z"),
    ("dns.opt.code", "dns.opt.code"),
    ("dns.time", "dns.time"),
    ("dns.response_to", "dns.response_to"),
];

const CUT: &str =
    "tshark stops where a record is cut or damaged, before it tells of it and of what it answers";
const QUIC: &str = "on port 443 tshark takes what is no DNS message for one";
const SERVICES: &str = "tshark takes names of SRV records apart (dns.srv.service, .proto, .name); here all names stand in dns.resp.name";
const BITMAPS: &str = "tshark lists the types of NSEC's bitmaps among those of the records";
const OPTION: &str =
    "tshark stops at an option that is longer than its record; here the next record is read";

const DIFFERENCES: &[(&str, &str, &str)] = &[
    (
        "ndpi/tests__cfgs__default__pcap__anyconnect-vpn.pcap",
        "dns.resp.name",
        SERVICES,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__dns_fragmented.pcap",
        "dns.resp.type",
        BITMAPS,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__iphone.pcap",
        "dns.resp.name",
        SERVICES,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__iphone.pcap",
        "dns.resp.type",
        BITMAPS,
    ),
    (
        "ndpi/tests__cfgs__default__pcap__tls_certificate_too_long.pcap",
        "dns.resp.name",
        SERVICES,
    ),
    ("tcpdump/tests__dns_udp_2.pcap", "dns.response_to", CUT),
    ("tcpdump/tests__dns_udp_2.pcap", "dns.time", CUT),
    (
        "zeek/testing__btest__Traces__dns-edns-ecs-bad.pcap",
        "dns.resp.class",
        CUT,
    ),
    (
        "zeek/testing__btest__Traces__dns-edns-ecs-bad.pcap",
        "dns.resp.len",
        CUT,
    ),
    (
        "zeek/testing__btest__Traces__dns-edns-ecs-bad.pcap",
        "dns.resp.name",
        CUT,
    ),
    (
        "zeek/testing__btest__Traces__dns-edns-ecs-bad.pcap",
        "dns.resp.ttl",
        CUT,
    ),
    (
        "zeek/testing__btest__Traces__dns-edns-ecs-bad.pcap",
        "dns.resp.type",
        CUT,
    ),
    (
        "zeek/testing__btest__Traces__dns__dns-edns-bad-length.pcap",
        "dns.a",
        OPTION,
    ),
    (
        "zeek/testing__btest__Traces__dns__dns-edns-bad-length.pcap",
        "dns.opt.code",
        OPTION,
    ),
    (
        "zeek/testing__btest__Traces__dns__dns-edns-bad-length.pcap",
        "dns.resp.class",
        OPTION,
    ),
    (
        "zeek/testing__btest__Traces__dns__dns-edns-bad-length.pcap",
        "dns.resp.len",
        OPTION,
    ),
    (
        "zeek/testing__btest__Traces__dns__dns-edns-bad-length.pcap",
        "dns.resp.name",
        OPTION,
    ),
    (
        "zeek/testing__btest__Traces__dns__dns-edns-bad-length.pcap",
        "dns.resp.ttl",
        OPTION,
    ),
    (
        "zeek/testing__btest__Traces__dns__dns-edns-bad-length.pcap",
        "dns.resp.type",
        OPTION,
    ),
    (
        "zeek/testing__btest__Traces__dns__dns_notify2.pcap",
        "dns.resp.type",
        BITMAPS,
    ),
    (
        "zeek/testing__btest__Traces__dns__svcb-alpn-malformed-len-too-short.pcap",
        "dns.response_to",
        CUT,
    ),
    (
        "zeek/testing__btest__Traces__dns__svcb-alpn-malformed-len-too-short.pcap",
        "dns.time",
        CUT,
    ),
    (
        "zeek/testing__btest__Traces__quic__vector-max-size-crash.pcap",
        "dns.count.add_rr",
        QUIC,
    ),
    (
        "zeek/testing__btest__Traces__quic__vector-max-size-crash.pcap",
        "dns.count.answers",
        QUIC,
    ),
    (
        "zeek/testing__btest__Traces__quic__vector-max-size-crash.pcap",
        "dns.count.auth_rr",
        QUIC,
    ),
    (
        "zeek/testing__btest__Traces__quic__vector-max-size-crash.pcap",
        "dns.count.queries",
        QUIC,
    ),
    (
        "zeek/testing__btest__Traces__quic__vector-max-size-crash.pcap",
        "dns.flags",
        QUIC,
    ),
    (
        "zeek/testing__btest__Traces__quic__vector-max-size-crash.pcap",
        "dns.flags.checkdisable",
        QUIC,
    ),
    (
        "zeek/testing__btest__Traces__quic__vector-max-size-crash.pcap",
        "dns.flags.opcode",
        QUIC,
    ),
    (
        "zeek/testing__btest__Traces__quic__vector-max-size-crash.pcap",
        "dns.flags.recdesired",
        QUIC,
    ),
    (
        "zeek/testing__btest__Traces__quic__vector-max-size-crash.pcap",
        "dns.flags.response",
        QUIC,
    ),
    (
        "zeek/testing__btest__Traces__quic__vector-max-size-crash.pcap",
        "dns.flags.truncated",
        QUIC,
    ),
    (
        "zeek/testing__btest__Traces__quic__vector-max-size-crash.pcap",
        "dns.flags.z",
        QUIC,
    ),
    (
        "zeek/testing__btest__Traces__quic__vector-max-size-crash.pcap",
        "dns.id",
        QUIC,
    ),
    (
        "zeek/testing__btest__Traces__quic__vector-max-size-crash.pcap",
        "dns.qry.names",
        QUIC,
    ),
    (
        "zeek/testing__btest__Traces__quic__vector-max-size-crash.pcap",
        "dns.qry.types",
        QUIC,
    ),
    (
        "zeek/testing__btest__Traces__radiotap.pcap",
        "dns.resp.type",
        BITMAPS,
    ),
    (
        "zeek/testing__btest__Traces__var-services-std-ports.pcap",
        "dns.resp.type",
        BITMAPS,
    ),
];
