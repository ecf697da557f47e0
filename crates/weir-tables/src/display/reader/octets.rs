//! Protocols of messages as the octets that a packet has of them: `dns contains "example"`.

use weir_filter::{ComparisonOperator, Error, Filter, Operand, OperandKind, Quantifier};

use super::FilterReader;
use crate::display::protocols::carried;
use crate::display::{Test, Type, ValueSource, is_protocol};

impl FilterReader<'_> {
    /// Limits a test of the octets of a protocol to the packets of that protocol.
    pub(super) fn of_protocol(&mut self, test: Test) -> Test {
        self.takes_octets = false;
        match self.protocol.take() {
            Some(protocol) => Test::All(vec![protocol, test]),
            None => test,
        }
    }

    /// Adds what a message of SIP says to a test of the octets of its last packet: on TCP it may come in several.
    pub(super) fn or_parts_of_sip(
        &mut self,
        test: Test,
        operand: &Operand,
        relation: ComparisonOperator,
        right: &Operand,
    ) -> Result<Test, Error> {
        if !matches!(
            relation,
            ComparisonOperator::Contains | ComparisonOperator::Matches
        ) {
            return Ok(test);
        }
        let mut tests = vec![test];
        for part in PARTS_OF_SIP {
            let left = Operand {
                kind: OperandKind::Word((*part).to_owned()),
                ..operand.clone()
            };
            tests.push(self.test(&Filter::Compare {
                quantifier: Quantifier::Any,
                left,
                relation,
                right: right.clone(),
            })?);
        }
        Ok(Test::One(tests))
    }

    /// The octets of a protocol of messages, where it is one whose messages are each in one packet, and `None` for other names. The
    /// octets of HTTP and of SIP are searched, and have no offsets: a message may begin in another packet.
    pub(super) fn octets(
        &mut self,
        operand: &Operand,
        name: &str,
    ) -> Result<Option<(ValueSource, Type)>, Error> {
        let Some((_, payloads)) = OCTETS.iter().find(|(known, _)| *known == name) else {
            return Ok(None);
        };
        self.protocol = Some(self.test(&Filter::Exists(operand.clone()))?);
        let mut sources = Vec::with_capacity(payloads.len());
        for payload in *payloads {
            sources.push(self.word(operand, payload, &[])?.0);
        }
        let innermost = ValueSource::Last(Box::new(ValueSource::Joined(sources)));
        Ok(Some((innermost, Type::Bytes)))
    }
}

pub(super) fn is_word(operand: &Operand, name: &str) -> bool {
    matches!(&operand.kind, OperandKind::Word(word) if word.eq_ignore_ascii_case(name))
}

/// Refuses offsets within a protocol whose messages may begin in another packet than the one that has their end.
pub(super) fn have_offsets(operand: &Operand) -> Result<(), Error> {
    let Some(name) = SEARCHED.iter().find(|name| is_word(operand, name)) else {
        return Ok(());
    };
    let error = Error::new(
        format!("a message of {name} may begin in another packet, and has no offsets here"),
        operand.start,
        operand.end,
    );
    Err(error.with_hint(format!(
        "{name} and tcp.payload[0:4] == \"text\" looks at a segment"
    )))
}

/// The hint for a protocol that is a condition, and whose octets are not read.
pub(super) fn hint(word: &str) -> Option<String> {
    let is_in_segments = carried(word).is_none_or(|packets| packets.contains("tcp.len"));
    let octets = match is_in_segments {
        true => "tcp.payload",
        false => "frame",
    };
    is_protocol(word).then(|| {
        format!("{word} is a condition by itself; {word} and {octets} contains \"text\" searches its packets")
    })
}

/// Protocols whose octets are searched only.
const SEARCHED: &[&str] = &[
    "http", "sip", "amqp", "bgp", "dnp3", "ftp", "imap", "irc", "kerberos", "ldap", "ldp", "mbtcp",
    "modbus", "mysql", "openvpn", "pgsql", "pop", "resp", "rsh", "rtsp", "smtp", "socks", "srvloc",
    "ssh", "tacplus", "telnet",
];

/// The fields that together have what a message of SIP says.
const PARTS_OF_SIP: &[&str] = &[
    "sip.request_line",
    "sip.status_line",
    "sip.msg_hdr",
    "sip.msg_body",
];

const UDP: &[&str] = &["udp.payload"];
const TCP: &[&str] = &["tcp.payload"];
const BOTH: &[&str] = &["udp.payload", "tcp.payload"];

/// Protocols of messages whose octets filters read, with the fields that have them. As in Wireshark, DNS over TCP has its length in
/// front.
const OCTETS: &[(&str, &[&str])] = &[
    ("dns", BOTH),
    ("mdns", UDP),
    ("llmnr", UDP),
    ("dhcp", UDP),
    ("ntp", UDP),
    ("snmp", UDP),
    ("tftp", UDP),
    ("syslog", UDP),
    ("rtp", UDP),
    ("rtcp", UDP),
    ("dtls", UDP),
    ("quic", UDP),
    ("radius", UDP),
    ("mgcp", UDP),
    ("stun", BOTH),
    ("http", TCP),
    ("sip", BOTH),
    ("aodv", UDP),
    ("auto_rp", UDP),
    ("babel", UDP),
    ("bfd", UDP),
    ("cflow", UDP),
    ("cldap", UDP),
    ("coap", UDP),
    ("dhcpv6", UDP),
    ("glbp", UDP),
    ("gtpv2", UDP),
    ("hsrp", UDP),
    ("iax2", UDP),
    ("lisp", UDP),
    ("nbdgm", UDP),
    ("nbns", UDP),
    ("pfcp", UDP),
    ("rip", UDP),
    ("ripng", UDP),
    ("rmcp", UDP),
    ("ssdp", UDP),
    ("tacacs", UDP),
    ("wg", UDP),
    ("dnp3", BOTH),
    ("kerberos", BOTH),
    ("ldp", BOTH),
    ("openvpn", BOTH),
    ("srvloc", BOTH),
    ("amqp", TCP),
    ("bgp", TCP),
    ("ftp", TCP),
    ("imap", TCP),
    ("irc", TCP),
    ("ldap", TCP),
    ("mbtcp", TCP),
    ("modbus", TCP),
    ("mysql", TCP),
    ("pgsql", TCP),
    ("pop", TCP),
    ("resp", TCP),
    ("rsh", TCP),
    ("rtsp", TCP),
    ("smtp", TCP),
    ("socks", TCP),
    ("ssh", TCP),
    ("tacplus", TCP),
    ("telnet", TCP),
];
