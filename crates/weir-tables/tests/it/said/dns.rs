//! `dns` against tshark's dns, mdns and llmnr.

use super::Comparison;

#[test]
fn tshark_reads_the_same_in_dns() {
    Comparison {
        table: "dns",
        protocols: &["dns", "mdns", "llmnr"],
        // What an ICMP error quotes is no message that was sent there.
        filter: "(dns || mdns || llmnr) && !icmp && !icmpv6",
        fields: FIELDS,
        preferences: &[],
        differences: DIFFERENCES,
    }
    .run();
}

const FIELDS: &[(&str, &str)] = &[
    ("dns.id", "dns.id"),
    ("dns.flags", "dns.flags"),
    ("dns.flags.response", "dns.flags.response"),
    ("dns.flags.opcode", "dns.flags.opcode"),
    ("dns.flags.truncated", "dns.flags.truncated"),
    ("dns.flags.rcode", "dns.flags.rcode"),
    ("dns.count.queries", "dns.count.queries"),
    ("dns.count.answers", "dns.count.answers"),
    ("dns.count.auth_rr", "dns.count.auth_rr"),
    ("dns.count.add_rr", "dns.count.add_rr"),
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

const DIFFERENCES: &[(&str, &str, &str)] = &[];
