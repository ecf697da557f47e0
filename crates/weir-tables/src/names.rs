//! Names of columns in other programs: Wireshark's, Zeek's, Suricata's, ECS's, IPFIX's, tcpdump's.
//!
//! The columns have Wireshark's names, but not each of its names is a column: `ip.addr` is two of them, `tcp.stream` is
//! a number that a packet alone does not have. This is the table of such names: their meaning here, or advice what to
//! write. It is data; weir-sql puts the meanings into statements.

use crate::display::is_protocol;
use crate::{EXTRACTIONS, Table};

/// A name that is no column, or not of every table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name in lower case.
    pub name: &'static str,
    /// The meaning.
    pub meaning: Meaning,
    /// The program or standard that has the name.
    pub of: &'static str,
    /// A column that a table must have for the meaning to be this one.
    pub with: Option<&'static str>,
}

/// The meaning of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// Any of these columns in a condition; the list of them elsewhere.
    Sides(&'static [&'static str]),
    /// Another name of this column.
    Column(&'static str),
    /// The value of this SQL expression.
    Expression(&'static str),
    /// The name has no column: advice what to write, or why there is none.
    Advice(&'static str),
}

impl Name {
    /// The meanings of a name, in lower case, in the order in which they are tried: the first whose columns exist
    /// applies.
    pub fn meanings(name: &str) -> impl Iterator<Item = &'static Self> {
        NAMES.iter().filter(move |known| known.name == name)
    }

    /// Whether a table has the columns of the meaning.
    pub fn fits(&self, has: &dyn Fn(&str) -> bool) -> bool {
        let columns: &[&str] = match &self.meaning {
            Meaning::Sides(columns) => columns,
            Meaning::Column(column) => &[column],
            Meaning::Expression(_) | Meaning::Advice(_) => &[],
        };
        self.with.is_none_or(has) && columns.iter().all(|column| has(column))
    }
}

/// The reason why there is no column of this name, and what to write instead; `None` for an unknown name. `has` returns
/// whether the statement's tables have a column.
#[must_use]
pub fn advice(name: &str, has: &dyn Fn(&str) -> bool) -> Option<String> {
    let mut lower = name.to_ascii_lowercase().replace('-', "_");
    if let Some((old, new)) = RENAMED.iter().find(|(old, _)| {
        lower
            .strip_prefix(old)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }) {
        lower.replace_range(..old.len(), new);
        if has(&lower) {
            return Some(format!("it is called {lower} now"));
        }
    }
    let lower = lower;
    if let Some(advice) = protocol(&lower, has) {
        return Some(advice);
    }
    if let Some(Meaning::Advice(advice)) = Name::meanings(&lower)
        .find(|name| name.fits(has))
        .map(|name| name.meaning)
    {
        return Some(advice.to_owned());
    }
    if let Some(column) = elsewhere(&lower) {
        return Some(column);
    }
    let meaning = Name::meanings(&lower).map(|name| name.meaning).next();
    if let Some(meaning) = meaning {
        return Some(of_meaning(&lower, meaning, has));
    }
    let begins = |known: &&(&str, &str)| {
        lower
            .strip_prefix(known.0)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || rest.starts_with('_'))
    };
    let prefix = lower.split('.').next().unwrap_or(&lower);
    if let Some((_, advice)) = PREFIXES.iter().find(begins) {
        return Some((*advice).to_owned());
    }
    let here = columns_of_tables(|column| has(column) && is_shortened(&lower, column), false);
    if !here.is_empty() {
        return Some(format!("did you mean {}?", here.join(", ")));
    }
    // A protocol that has a table, which is not the one at hand: this field is not among its columns.
    let is_of_protocol = |column: &str| {
        column
            .strip_prefix(prefix)
            .is_some_and(|rest| rest.starts_with('.'))
    };
    let with_prefix = EXTRACTIONS.iter().filter(|_| lower.contains('.'));
    let with_prefix = with_prefix
        .map(|extraction| (extraction, (extraction.columns)()))
        .find(|(_, columns)| columns.iter().any(|column| is_of_protocol(&column.name)))
        .filter(|(_, columns)| {
            let mut of_protocol = columns.iter().filter(|column| is_of_protocol(&column.name));
            of_protocol.any(|column| !has(&column.name))
        });
    if let Some((extraction, _)) = with_prefix.filter(|_| !PACKET_PREFIXES.contains(&prefix)) {
        let name = extraction.name;
        let near = alike(&lower);
        if !near.is_empty() {
            return Some(format!("did you mean {}?", near.join(", ")));
        }
        return Some(format!(
            "the columns of {prefix} are in {name}('trace.pcap'), which has none of this name: weir fields {prefix}. lists them"
        ));
    }
    if lower.contains('.') {
        return not_decoded(prefix);
    }
    // The name may be the end of names of columns, such as `user_agent` or `ja3`.
    let near = match PACKET_PREFIXES.contains(&prefix) {
        true => Vec::new(),
        false => ending(&lower, has),
    };
    (!near.is_empty()).then(|| format!("did you mean {}?", near.join(", ")))
}

/// The meaning of a name of another program, where the table at hand has no column for it.
fn of_meaning(name: &str, meaning: Meaning, has: &dyn Fn(&str) -> bool) -> String {
    match meaning {
        Meaning::Sides(columns) => match has("addr.src") {
            true if name.ends_with("addr") => {
                "this table has addr.src and addr.dst: write addr.any".to_owned()
            }
            true if name.ends_with("port") && has("port.src") => {
                "this table has port.src and port.dst: write port.any".to_owned()
            }
            _ => format!(
                "it is either of {}, and this table has neither",
                columns.join(" and ")
            ),
        },
        Meaning::Column(column) if has(column) => format!("did you mean {column}?"),
        Meaning::Column(column) => match elsewhere(column) {
            Some(place) => format!("it is called {column} here: {place}"),
            None => format!("it is called {column} here, and this table does not have it"),
        },
        Meaning::Expression(text) => format!("it is {text}"),
        Meaning::Advice(advice) => advice.to_owned(),
    }
}

/// The advice for the name of a protocol alone, which is a condition of display filters.
fn protocol(name: &str, has: &dyn Fn(&str) -> bool) -> Option<String> {
    let table = EXTRACTIONS
        .iter()
        .find(|extraction| extraction.name == name);
    let is_filter = is_protocol(name);
    if name.contains('.') || has(name) || !(is_filter || table.is_some()) {
        return None;
    }
    let packets = match is_filter {
        true => format!(
            "display_filter('{name}') selects the packets of {name}; write text in single quotes"
        ),
        false => String::new(),
    };
    Some(match (table, is_filter) {
        (Some(_), true) => {
            format!("{packets}; their contents are a table: FROM {name}('trace.pcap')")
        }
        (Some(_), false) => format!("{name} is a table: FROM {name}('trace.pcap')"),
        (None, _) => packets,
    })
}

/// The columns whose name differs in notation only (capitals, hyphens, underscores), or that begin with it. Each with
/// its table.
fn alike(name: &str) -> Vec<String> {
    let letters = |text: &str| -> String {
        let letters = text.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let wanted = letters(name);
    columns_of_tables(
        |column| {
            let begins = column
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(['.', '_']));
            begins || letters(column) == wanted || is_shortened(name, column)
        },
        true,
    )
}

/// Whether a name leaves parts out of that of a column of its protocol: `tls.server_name` is short for
/// `tls.handshake.extensions_server_name`. Where it has other parts in front of the last, these are those of the column, or the last
/// has several words: `tls.handshake.type` is not short for `tls.handshake.extension.type`.
fn is_shortened(name: &str, column: &str) -> bool {
    let parts = name.rsplit_once('.').zip(column.split_once('.'));
    parts.is_some_and(|((path, last), (protocol, whole))| {
        let rest = column.strip_prefix(path);
        let is_right = match (
            path.split_once('.'),
            rest.and_then(|it| it.strip_prefix('.')),
        ) {
            (None, _) => path == protocol,
            (Some(_), Some(rest)) => !rest.contains('.'),
            (Some((first, _)), None) => first == protocol && last.contains('_'),
        };
        is_right && last.len() > 2 && ends_in(whole, last)
    })
}

/// Whether the words of a name end with those of another; what stands between words and capitals do not count.
fn ends_in(whole: &str, end: &str) -> bool {
    let words = |text: &str| text.to_ascii_lowercase().replace(['.', '-'], "_");
    let (whole, end) = (words(whole), words(end));
    let before = whole.strip_suffix(end.as_str());
    before.is_some_and(|before| before.is_empty() || before.ends_with('_'))
}

/// Columns whose names end with this: those at hand, or else those of other tables, each with its table.
fn ending(name: &str, has: &dyn Fn(&str) -> bool) -> Vec<String> {
    let ends = |column: &str| {
        let before = column.strip_suffix(name);
        before.is_some_and(|before| before.ends_with(['.', '_']))
    };
    let packets = Table::packets();
    let is_of_packets = packets.columns().iter().any(|column| ends(&column.name));
    if name.len() < 3 || is_of_packets {
        return Vec::new();
    }
    let here = columns_of_tables(|column| has(column) && ends(column), false);
    match here.is_empty() {
        true => columns_of_tables(ends, true),
        false => here,
    }
}

/// The columns of tables that are wanted, the shortest names first, three at most; each with its table, if that is wanted, too.
fn columns_of_tables(is_wanted: impl Fn(&str) -> bool, with_table: bool) -> Vec<String> {
    let mut found: Vec<(String, &str)> = Vec::new();
    for extraction in EXTRACTIONS {
        for column in (extraction.columns)() {
            let is_new = found.iter().all(|(known, _)| **known != *column.name);
            if is_new && is_wanted(&column.name) {
                found.push((column.name.to_string(), extraction.name));
            }
        }
    }
    found.sort_by_key(|(column, _)| column.len());
    let shown = found.into_iter().take(3);
    shown
        .map(|(column, table)| match with_table {
            true => format!("{column} of {table}('trace.pcap')"),
            false => column,
        })
        .collect()
}

/// Returns true for a column of packets or of their contents.
#[must_use]
pub fn is_column(name: &str) -> bool {
    elsewhere(name).is_some()
}

/// The hint for a protocol that is not decoded: a condition for the packets that carry it.
#[must_use]
pub fn not_decoded(protocol: &str) -> Option<String> {
    let known = NOT_DECODED.iter().find(|(known, ..)| *known == protocol);
    known.map(|(protocol, what, packets)| {
        format!("{what} is not decoded, so that {protocol} has no columns; its packets are WHERE {packets}")
    })
}

/// The table that has a column of this name, when it is not that of packets.
fn elsewhere(name: &str) -> Option<String> {
    let tables = EXTRACTIONS.iter().filter(|extraction| {
        (extraction.columns)()
            .iter()
            .any(|column| &*column.name == name)
    });
    let tables: Vec<&str> = tables.map(|extraction| extraction.name).collect();
    if Table::packets().position(name).is_some() {
        return Some(format!(
            "{name} is a column of packets: FROM 'trace.pcap', joined by frame.number"
        ));
    }
    match tables.as_slice() {
        [] => None,
        [table] => Some(format!(
            "{name} is a column of another table: FROM {table}('trace.pcap')"
        )),
        [first, rest @ ..] => {
            let rest = rest.iter().take(3).map(|table| format!("{table}(…)"));
            Some(format!(
                "{name} is a column of other tables: FROM {first}('trace.pcap'), or {}",
                rest.collect::<Vec<_>>().join(", ")
            ))
        }
    }
}

const fn known(of: &'static str, name: &'static str, meaning: Meaning) -> Name {
    Name {
        name,
        meaning,
        of,
        with: None,
    }
}

const fn sides(name: &'static str, columns: &'static [&'static str]) -> Name {
    known("Wireshark", name, Meaning::Sides(columns))
}

const fn advised(name: &'static str, advice: &'static str) -> Name {
    known("Wireshark", name, Meaning::Advice(advice))
}

const fn column(of: &'static str, name: &'static str, column: &'static str) -> Name {
    known(of, name, Meaning::Column(column))
}

/// A column of flows, which packets do not have.
const fn of_flow(of: &'static str, name: &'static str, column: &'static str) -> Name {
    Name {
        with: Some("flow.state"),
        ..known(of, name, Meaning::Column(column))
    }
}

/// The number of the flow, in tables that number flows.
const fn of_flows(name: &'static str) -> Name {
    Name {
        with: Some("flow.id"),
        ..known("Wireshark", name, Meaning::Column("flow.id"))
    }
}

/// All names.
#[rustfmt::skip]
pub const NAMES: &[Name] = &[
    // Either side.
    sides("ip.addr", &["ip.src", "ip.dst"]),
    sides("ipv6.addr", &["ipv6.src", "ipv6.dst"]),
    sides("eth.addr", &["eth.src", "eth.dst"]),
    sides("tcp.port", &["tcp.srcport", "tcp.dstport"]),
    sides("udp.port", &["udp.srcport", "udp.dstport"]),
    sides("sctp.port", &["sctp.srcport", "sctp.dstport"]),
    sides("dccp.port", &["dccp.srcport", "dccp.dstport"]),
    sides("wlan.addr", &["wlan.ra", "wlan.ta", "wlan.da", "wlan.sa", "wlan.bssid"]),
    sides("fddi.addr", &["fddi.src", "fddi.dst"]),
    sides("tr.addr", &["tr.src", "tr.dst"]),
    sides("addr.any", &["addr.src", "addr.dst"]),
    sides("port.any", &["port.src", "port.dst"]),
    Name { name: "host", meaning: Meaning::Sides(&["addr.src", "addr.dst"]), of: "tcpdump", with: None },
    Name { name: "port", meaning: Meaning::Sides(&["port.src", "port.dst"]), of: "tcpdump", with: None },
    Name { name: "related.ip", meaning: Meaning::Sides(&["addr.src", "addr.dst"]), of: "ECS", with: None },
    // Wireshark's other names.
    Name { name: "frame.time_epoch", meaning: Meaning::Expression("extract(epoch FROM frame.time)"), of: "Wireshark", with: Some("frame.time") },
    advised("frame.time_delta_displayed", "it depends on the previous row: write frame.time - lag(frame.time) OVER (ORDER BY frame.number) in SELECT"),
    advised("frame.protocols", "write frame.layers: the protocols from the link to the transport, 'eth:ip:tcp'; flow.service of flows('trace.pcap') is the application protocol"),
    column("Wireshark", "frame.encap_type", "frame.link_type"),
    column("Wireshark", "frame.time_utc", "frame.time"),
    advised("frame.coloring_rule.name", "colours exist only in Wireshark; frame.stopped says what is wrong with a packet"),
    advised("tcp.seq", "Wireshark shows it relative to the first of its direction; the number as sent is tcp.seq_raw, and the relative one is tcp.seq_raw - first_value(tcp.seq_raw) OVER (PARTITION BY flow.id, flow.from_originator ORDER BY frame.number) FROM flow_packets('trace.pcap')"),
    advised("tcp.ack", "Wireshark shows it relative to the first of the other direction; the number as sent is tcp.ack_raw"),
    advised("tcp.nxtseq", "write tcp.seq_raw + tcp.len"),
    of_flows("tcp.stream"),
    advised("tcp.stream", "flow.id numbers the connections, also of UDP: FROM flow_packets('trace.pcap') has it for each packet, FROM flows('trace.pcap') one row per connection"),
    of_flows("udp.stream"),
    advised("udp.stream", "flow.id numbers the conversations, also of TCP: FROM flow_packets('trace.pcap') has it for each packet, FROM flows('trace.pcap') one row per conversation"),
    advised("tcp.window_size", "write tcp.window_size_value, the value as sent; tcp.options.wscale.shift of the SYN is the window scale"),
    advised("tcp.window_size_scalefactor", "tcp.options.wscale.shift of the SYN is the window scale"),
    advised("tcp.time_relative", "flow.start of flows('trace.pcap') is the start of the connection; frame.time is the time of the packet"),
    advised("tcp.time_delta", "write frame.time - lag(frame.time) OVER (PARTITION BY flow.id ORDER BY frame.number) FROM flow_packets('trace.pcap')"),
    column("Wireshark", "tcp.flags.rst", "tcp.flags.reset"),
    column("Wireshark", "tcp.flags.psh", "tcp.flags.push"),
    column("Wireshark", "tcp.flags.ecn", "tcp.flags.ece"),
    column("Wireshark", "tcp.flags.ns", "tcp.flags.ae"),
    column("Wireshark", "tcp.options.mss", "tcp.options.mss_val"),
    column("Wireshark", "tcp.options.wscale", "tcp.options.wscale.shift"),
    column("Wireshark", "tcp.segment_data", "tcp.payload"),
    advised("tcp.reassembled.data", "tcp.payload has the data of each packet; http('trace.pcap') and the other tables of messages read the reassembled stream"),
    column("Wireshark", "ip.tos", "ip.dsfield"),
    column("Wireshark", "ip.protocol", "ip.proto"),
    column("Wireshark", "ip.length", "ip.len"),
    column("Wireshark", "http.response_in", "http.response.frame"),
    column("Wireshark", "http.request_in", "http.request.frame"),
    column("Wireshark", "x509ce.dnsname", "x509.san.dns"),
    column("Wireshark", "x509af.serialnumber", "x509.serial"),
    advised("x509af.notbefore", "write x509.not_valid_before, a column of tls('trace.pcap')"),
    advised("x509af.notafter", "write x509.not_valid_after, a column of tls('trace.pcap')"),
    column("Wireshark", "x509sat.utf8string", "x509.subject"),
    column("Wireshark", "x509sat.printablestring", "x509.subject"),
    column("Wireshark", "ipv6.hop_limit", "ipv6.hlim"),
    advised("ip.host", "addresses are not resolved to names; write ip.addr"),
    advised("ip.src_host", "addresses are not resolved to names; write ip.src"),
    advised("ip.dst_host", "addresses are not resolved to names; write ip.dst"),
    advised("eth.src_resolved", "write eth.src; oui(eth.src) is the manufacturer"),
    advised("eth.dst_resolved", "write eth.dst; oui(eth.dst) is the manufacturer"),
    advised("eth.src.oui_resolved", "write oui(eth.src)"),
    advised("eth.dst.oui_resolved", "write oui(eth.dst)"),
    advised("eth.addr.oui_resolved", "write oui(eth.src)"),
    advised("ip.checksum.status", "write ip.checksum_ok, which is true or false; NULL where it cannot be computed"),
    advised("tcp.checksum.status", "write tcp.checksum_ok, which is true or false; NULL where a part of the segment is missing"),
    advised("udp.checksum.status", "write udp.checksum_ok, which is true or false; NULL where a part of the datagram is missing"),
    advised("tcp.completeness", "flow.state and flow.history of flows('trace.pcap') say how complete a connection is"),
    advised("ip.proto_name", "write proto"),
    advised("wlan.ssid", "of IEEE 802.11 management frames only the header is decoded: wlan.bssid identifies the network"),
    advised("wlan.sa_resolved", "write wlan.sa; oui(wlan.sa) is the manufacturer"),
    advised("ip.reassembled_in", "the tables of messages reassemble fragmented datagrams; frame.number and ip.id identify each fragment"),
    column("Wireshark", "icmp.resp_to", "icmp.ident"),
    advised("data", "write tcp.payload or udp.payload"),
    advised("data.data", "write tcp.payload or udp.payload"),
    advised("data.text", "write tcp.payload or udp.payload"),
    advised("data.len", "write tcp.len, or octet_length(udp.payload)"),
    advised("_ws.malformed", "write frame.stopped IS NOT NULL: it says what is wrong with a packet"),
    advised("_ws.col.protocol", "write proto for the transport, frame.layers for all headers; flow.service of flows('trace.pcap') is the application protocol"),
    advised("_ws.col.info", "it is display text of Wireshark; the tables dns, tls, http, sip and others have its contents as columns: weir tables lists them"),
    advised("_ws.col.source", "write addr.src"),
    advised("_ws.col.destination", "write addr.dst"),
    advised("_ws.col.time", "write frame.time"),
    advised("_ws.col.length", "write frame.len"),
    advised("_ws.col.no.", "write frame.number"),
    // Zeek.
    of_flow("Zeek", "id.orig_h", "addr.src"),
    of_flow("Zeek", "id.orig_p", "port.src"),
    of_flow("Zeek", "id.resp_h", "addr.dst"),
    of_flow("Zeek", "id.resp_p", "port.dst"),
    advised("id.orig_h", "the originator is known for a flow: FROM flows('trace.pcap') has it; for a packet write addr.src, its sender"),
    advised("id.orig_p", "the originator is known for a flow: FROM flows('trace.pcap') has it; for a packet write port.src"),
    advised("id.resp_h", "the responder is known for a flow: FROM flows('trace.pcap') has it; for a packet write addr.dst"),
    advised("id.resp_p", "the responder is known for a flow: FROM flows('trace.pcap') has it; for a packet write port.dst"),
    of_flow("Zeek", "conn_state", "flow.state"),
    of_flow("Zeek", "history", "flow.history"),
    of_flow("Zeek", "service", "flow.service"),
    of_flow("Zeek", "orig_bytes", "flow.payload_bytes_src"),
    of_flow("Zeek", "resp_bytes", "flow.payload_bytes_dst"),
    of_flow("Zeek", "orig_pkts", "flow.packets_src"),
    of_flow("Zeek", "resp_pkts", "flow.packets_dst"),
    of_flow("Zeek", "orig_ip_bytes", "flow.ip_bytes_src"),
    of_flow("Zeek", "resp_ip_bytes", "flow.ip_bytes_dst"),
    of_flow("Zeek", "missed_bytes", "flow.missed_bytes"),
    of_flow("Zeek", "community_id", "flow.community_id"),
    advised("conn_state", "FROM flows('trace.pcap') has it as flow.state"),
    advised("orig_bytes", "FROM flows('trace.pcap') has it as flow.payload_bytes_src"),
    advised("resp_bytes", "FROM flows('trace.pcap') has it as flow.payload_bytes_dst"),
    advised("community_id", "FROM flows('trace.pcap') has it as flow.community_id"),
    advised("uid", "flow.id numbers the flows of a capture, and flow.community_id is the same in every tool: FROM flows('trace.pcap')"),
    column("Zeek", "ts", "frame.time"),
    of_flow("Zeek", "duration", "flow.duration"),
    advised("local_orig", "write cidr_match(addr.src, '10.0.0.0/8')"),
    advised("local_resp", "write cidr_match(addr.dst, '10.0.0.0/8')"),
    column("Zeek", "referrer", "http.referer"),
    column("Zeek", "next_protocol", "tls.next_protocol"),
    // Suricata (EVE).
    column("Suricata", "flow_id", "flow.id"),
    column("Suricata", "app_proto", "flow.service"),
    column("Suricata", "flow.pkts_toserver", "flow.packets_src"),
    column("Suricata", "flow.pkts_toclient", "flow.packets_dst"),
    column("Suricata", "flow.bytes_toserver", "flow.bytes_src"),
    column("Suricata", "flow.bytes_toclient", "flow.bytes_dst"),
    column("Suricata", "flow.age", "flow.duration"),
    column("Suricata", "tls.sni", "tls.handshake.extensions_server_name"),
    column("Suricata", "quic.sni", "tls.handshake.extensions_server_name"),
    column("Suricata", "tls.ja3", "tls.handshake.ja3"),
    column("Suricata", "tls.ja3.hash", "tls.handshake.ja3"),
    column("Suricata", "tls.ja3s", "tls.handshake.ja3s"),
    column("Suricata", "tls.ja3s.hash", "tls.handshake.ja3s"),
    column("Suricata", "tls.ja4", "tls.handshake.ja4"),
    column("Suricata", "tls.alpn", "tls.handshake.extensions_alpn_str"),
    advised("tls.subject", "write x509.subject, a column of tls('trace.pcap')"),
    advised("tls.issuerdn", "write x509.issuer, a column of tls('trace.pcap')"),
    advised("tls.serial", "write x509.serial, a column of tls('trace.pcap')"),
    advised("tls.fingerprint", "write x509.fingerprint_sha1, a column of tls('trace.pcap')"),
    advised("tls.notbefore", "write x509.not_valid_before, a column of tls('trace.pcap')"),
    advised("tls.notafter", "write x509.not_valid_after, a column of tls('trace.pcap')"),
    column("Suricata", "dns.rrname", "dns.qry.name"),
    column("Suricata", "dns.rrtype", "dns.qry.type_name"),
    column("Suricata", "dns.rcode", "dns.rcode_name"),
    column("Suricata", "dns.ttl", "dns.resp.ttl"),
    advised("dns.rdata", "dns.a, dns.aaaa, dns.cname and others of dns('trace.pcap') have it by type; lookup.answers of lookups('trace.pcap') has all of it"),
    column("Suricata", "http.hostname", "http.host"),
    column("Suricata", "http.url", "http.request.uri"),
    column("Suricata", "http.http_method", "http.request.method"),
    column("Suricata", "http.http_user_agent", "http.user_agent"),
    column("Suricata", "http.http_refer", "http.referer"),
    column("Suricata", "http.http_content_type", "http.content_type"),
    column("Suricata", "http.status", "http.response.code"),
    column("Suricata", "http.protocol", "http.request.version"),
    column("Suricata", "dhcp.client_mac", "dhcp.hw.mac_addr"),
    column("Suricata", "dhcp.assigned_ip", "dhcp.ip.your"),
    column("Suricata", "dhcp.hostname", "dhcp.option.hostname"),
    column("Suricata", "dhcp.requested_ip", "dhcp.option.requested_ip_address"),
    // ECS.
    column("ECS", "source.ip", "addr.src"),
    column("ECS", "source.address", "addr.src"),
    column("ECS", "source.port", "port.src"),
    column("ECS", "source.mac", "eth.src"),
    column("ECS", "destination.ip", "addr.dst"),
    column("ECS", "destination.address", "addr.dst"),
    column("ECS", "destination.port", "port.dst"),
    column("ECS", "destination.mac", "eth.dst"),
    column("ECS", "client.ip", "addr.src"),
    column("ECS", "client.port", "port.src"),
    column("ECS", "server.ip", "addr.dst"),
    column("ECS", "server.port", "port.dst"),
    column("ECS", "network.transport", "proto"),
    column("ECS", "network.protocol", "flow.service"),
    column("ECS", "network.community_id", "flow.community_id"),
    column("ECS", "network.vlan.id", "vlan.id"),
    column("ECS", "source.packets", "flow.packets_src"),
    column("ECS", "destination.packets", "flow.packets_dst"),
    column("ECS", "source.bytes", "flow.ip_bytes_src"),
    column("ECS", "destination.bytes", "flow.ip_bytes_dst"),
    column("ECS", "event.start", "flow.start"),
    column("ECS", "event.end", "flow.end"),
    column("ECS", "event.duration", "flow.duration"),
    column("ECS", "dns.question.name", "dns.qry.name"),
    column("ECS", "dns.question.type", "dns.qry.type_name"),
    column("ECS", "dns.response_code", "dns.rcode_name"),
    column("ECS", "tls.client.server_name", "tls.handshake.extensions_server_name"),
    column("ECS", "tls.client.ja3", "tls.handshake.ja3"),
    column("ECS", "tls.server.ja3s", "tls.handshake.ja3s"),
    column("ECS", "tls.server.not_before", "x509.not_valid_before"),
    column("ECS", "tls.server.not_after", "x509.not_valid_after"),
    column("ECS", "url.full", "http.request.full_uri"),
    column("ECS", "url.domain", "http.host"),
    column("ECS", "user_agent.original", "http.user_agent"),
    column("ECS", "http.response.status_code", "http.response.code"),
    column("ECS", "http.request.referrer", "http.referer"),
    column("ECS", "http.request.body.bytes", "http.request.body_len"),
    column("ECS", "http.response.body.bytes", "http.response.body_len"),
    column("ECS", "tls.client.ja4", "tls.handshake.ja4"),
    column("ECS", "dns.id_number", "dns.id"),
    advised("dns.answers", "dns.a, dns.aaaa, dns.cname and others of dns('trace.pcap') have them by type; lookup.answers of lookups('trace.pcap') has all of them"),
    advised("network.bytes", "for packets write sum(frame.len); for flows flow.bytes_src + flow.bytes_dst"),
    advised("network.packets", "for packets write count(*); for flows flow.packets_src + flow.packets_dst"),
    // IPFIX; flows has more of them.
    column("IPFIX", "sourceipv4address", "ip.src"),
    column("IPFIX", "destinationipv4address", "ip.dst"),
    column("IPFIX", "sourceipv6address", "ipv6.src"),
    column("IPFIX", "destinationipv6address", "ipv6.dst"),
    column("IPFIX", "sourcetransportport", "port.src"),
    column("IPFIX", "destinationtransportport", "port.dst"),
    column("IPFIX", "protocolidentifier", "ip.proto"),
    column("IPFIX", "sourcemacaddress", "eth.src"),
    column("IPFIX", "destinationmacaddress", "eth.dst"),
    column("IPFIX", "ipttl", "ip.ttl"),
    column("IPFIX", "vlanid", "vlan.id"),
    column("IPFIX", "tcpcontrolbits", "tcp.flags"),
    advised("octetdeltacount", "FROM flows('trace.pcap') has it; for packets write sum(ip.len)"),
    advised("packetdeltacount", "FROM flows('trace.pcap') has it; for packets write count(*)"),
    // The names that users try first.
    column("tcpdump", "src_ip", "addr.src"),
    column("tcpdump", "dst_ip", "addr.dst"),
    column("tcpdump", "source_ip", "addr.src"),
    column("tcpdump", "dest_ip", "addr.dst"),
    column("tcpdump", "srcip", "addr.src"),
    column("tcpdump", "dstip", "addr.dst"),
    column("tcpdump", "saddr", "addr.src"),
    column("tcpdump", "daddr", "addr.dst"),
    column("tcpdump", "src_port", "port.src"),
    column("tcpdump", "dst_port", "port.dst"),
    column("tcpdump", "dest_port", "port.dst"),
    column("tcpdump", "sport", "port.src"),
    column("tcpdump", "dport", "port.dst"),
    column("tcpdump", "srcport", "port.src"),
    column("tcpdump", "src_mac", "eth.src"),
    column("tcpdump", "dst_mac", "eth.dst"),
    column("tcpdump", "ether.src", "eth.src"),
    column("tcpdump", "ether.dst", "eth.dst"),
    column("tcpdump", "src", "addr.src"),
    column("tcpdump", "dst", "addr.dst"),
    column("tcpdump", "source", "addr.src"),
    column("tcpdump", "destination", "addr.dst"),
    column("tcpdump", "timestamp", "frame.time"),
    column("tcpdump", "len", "frame.len"),
    column("tcpdump", "length", "frame.len"),
    column("tcpdump", "frame.length", "frame.len"),
    column("tcpdump", "protocol", "proto"),
    column("tcpdump", "vlan", "vlan.id"),
    column("tcpdump", "ttl", "ip.ttl"),
    column("tcpdump", "tcp.sport", "tcp.srcport"),
    column("tcpdump", "tcp.dport", "tcp.dstport"),
    column("tcpdump", "tcp.src_port", "tcp.srcport"),
    column("tcpdump", "tcp.dst_port", "tcp.dstport"),
    column("tcpdump", "udp.sport", "udp.srcport"),
    column("tcpdump", "udp.dport", "udp.dstport"),
    column("tcpdump", "udp.src_port", "udp.srcport"),
    column("tcpdump", "udp.dst_port", "udp.dstport"),
    column("tcpdump", "tcp.window", "tcp.window_size_value"),
    column("tcpdump", "sni", "tls.handshake.extensions_server_name"),
    column("tcpdump", "qname", "dns.qry.name"),
    column("tcpdump", "dns.qname", "dns.qry.name"),
    column("tcpdump", "dns.query", "dns.qry.name"),
    column("tcpdump", "dns.qtype", "dns.qry.type_name"),
    column("tcpdump", "http.method", "http.request.method"),
    column("tcpdump", "http.uri", "http.request.uri"),
    column("tcpdump", "http.status_code", "http.response.code"),
    column("tcpdump", "rtp.payload_type", "rtp.p_type"),
    column("tcpdump", "rtp.pt", "rtp.p_type"),
    advised("time", "write frame.time"),
    advised("info", "it is display text of Wireshark; the tables dns, tls, http, sip and others have its contents as columns: weir tables lists them"),
];

/// Protocols that had another name, and the present beginning of their fields; and columns of weir that had another
/// name.
const RENAMED: &[(&str, &str)] = &[
    ("bootp", "dhcp"),
    ("ssl", "tls"),
    ("megaco", "h248"),
    ("gquic", "quic"),
    ("call.told", "call.end_reason"),
];

/// Families of names that have no columns, with advice what to write.
const PREFIXES: &[(&str, &str)] = &[
    (
        "tcp.analysis",
        "FROM flow_packets('trace.pcap') has it for each packet; flow.retransmissions_src, flow.out_of_order_src, \
        flow.zero_windows_src and flow.rtt of flows('trace.pcap') have it for each flow",
    ),
    (
        "ip.geoip",
        "write geoip_country(ip.src), geoip_city(ip.src) or asn(ip.src), which read the databases of --geoip",
    ),
    (
        "ipv6.geoip",
        "write geoip_country(ipv6.src), geoip_city(ipv6.src) or asn(ipv6.src), which read the databases of --geoip",
    ),
    ("ip.fragment", OF_FRAGMENTS),
    ("ip.fragments", OF_FRAGMENTS),
    ("ip.reassembled", OF_FRAGMENTS),
    ("ipv6.fragment", OF_FRAGMENTS),
    ("ipv6.fragments", OF_FRAGMENTS),
    ("ipv6.reassembled", OF_FRAGMENTS),
    ("tcp.segment", OF_SEGMENTS),
    ("tcp.segments", OF_SEGMENTS),
    ("tcp.reassembled", OF_SEGMENTS),
    (
        "_ws.expert",
        "frame.stopped says what is wrong with a packet; flows('trace.pcap') counts retransmissions",
    ),
    (
        "_ws.col",
        "it is display text of Wireshark; weir fields lists the columns",
    ),
];

const OF_FRAGMENTS: &str = "the tables of messages put fragments together; flow_fragments('trace.pcap') has a row for each, and ip.flags.mf and ip.frag_offset say which packets are fragments";
const OF_SEGMENTS: &str = "http('trace.pcap') and the other tables of messages put segments together: a frame has the fields of the messages that it completes";

/// The prefixes of names that headers of packets have, in all tables.
const PACKET_PREFIXES: &[&str] = &[
    "frame", "eth", "vlan", "ip", "ipv6", "tcp", "udp", "sctp", "icmp", "icmpv6", "arp", "addr",
    "port", "flow",
];

/// Protocols that are not decoded: Wireshark's name, a description, and the packets that carry them.
#[rustfmt::skip]
const NOT_DECODED: &[(&str, &str, &str)] = &[
    ("quic", "QUIC after its Initial packets", "udp.port = 443; tls('trace.pcap') reads its handshakes"),
    ("http3", "HTTP/3", "udp.port = 443"),
    ("ssh", "SSH", "tcp.port = 22"),
    ("ftp", "FTP", "tcp.port = 21"),
    ("smtp", "SMTP", "tcp.port IN (25, 587)"),
    ("imap", "IMAP", "tcp.port = 143"),
    ("pop", "POP3", "tcp.port = 110"),
    ("telnet", "Telnet", "tcp.port = 23"),
    ("tftp", "TFTP", "udp.port = 69"),
    ("syslog", "syslog", "udp.port = 514"),
    ("smb", "SMB", "tcp.port IN (139, 445)"),
    ("smb2", "SMB", "tcp.port = 445"),
    ("nbns", "NetBIOS names", "udp.port = 137"),
    ("dcerpc", "DCE/RPC", "tcp.port = 135"),
    ("ldap", "LDAP", "tcp.port = 389"),
    ("kerberos", "Kerberos", "udp.port = 88 OR tcp.port = 88"),
    ("rtsp", "RTSP", "tcp.port = 554"),
    ("sdp", "SDP", "sip.content_type = 'application/sdp' of sip('trace.pcap'), whose sip.msg_body has it"),
    ("bgp", "BGP", "tcp.port = 179"),
    ("ospf", "OSPF", "proto = 'ospf'"),
    ("eigrp", "EIGRP", "proto = 'eigrp'"),
    ("vrrp", "VRRP", "proto = 'vrrp'"),
    ("rip", "RIP", "udp.port = 520"),
    ("hsrp", "HSRP", "udp.port = 1985"),
    ("isis", "IS-IS", "llc.dsap = 0xfe"),
    ("stp", "spanning tree", "llc.dsap = 0x42"),
    ("lldp", "LLDP", "eth.type = 0x88cc"),
    ("cdp", "CDP", "llc.cisco_pid = 0x2000"),
    ("lacp", "LACP", "eth.type = 0x8809"),
    ("eapol", "EAPOL", "eth.type = 0x888e"),
    ("eap", "EAP", "eth.type = 0x888e"),
    ("ptp", "PTP", "udp.port IN (319, 320) OR eth.type = 0x88f7"),
    ("isakmp", "IKE", "udp.port IN (500, 4500)"),
    ("wg", "WireGuard", "udp.port = 51820"),
    ("openvpn", "OpenVPN", "udp.port = 1194 OR tcp.port = 1194"),
    ("dhcpv6", "DHCPv6", "udp.port IN (546, 547)"),
    ("mdns", "mDNS", "udp.port = 5353; dns('trace.pcap') reads it"),
    ("llmnr", "LLMNR", "udp.port = 5355; dns('trace.pcap') reads it"),
    ("coap", "CoAP", "udp.port = 5683"),
    ("modbus", "Modbus", "tcp.port = 502"),
    ("mbtcp", "Modbus", "tcp.port = 502"),
    ("dnp3", "DNP3", "tcp.port = 20000"),
    ("s7comm", "S7", "tcp.port = 102"),
    ("mysql", "MySQL", "tcp.port = 3306"),
    ("pgsql", "PostgreSQL", "tcp.port = 5432"),
    ("tds", "TDS", "tcp.port = 1433"),
    ("redis", "Redis", "tcp.port = 6379"),
    ("rdp", "RDP", "tcp.port = 3389"),
    ("vnc", "VNC", "tcp.port = 5900"),
    ("gtpv2", "GTP version 2", "udp.port = 2123"),
    ("pfcp", "PFCP", "udp.port = 8805"),
    ("s1ap", "S1AP", "sctp.port = 36412"),
    ("ngap", "NGAP", "sctp.port = 38412"),
    ("x2ap", "X2AP", "sctp.port = 36422"),
    ("m2ua", "M2UA", "sctp.port = 2904"),
    ("m2pa", "M2PA", "sctp.port = 3565"),
    ("gsm_map", "MAP", "sctp.data_payload_proto_id = 3"),
    ("isup", "ISUP", "sctp.data_payload_proto_id = 3"),
    ("cflow", "NetFlow and IPFIX", "udp.port IN (2055, 4739)"),
    ("data", "Payload of unknown protocols", "tcp.payload IS NOT NULL OR udp.payload IS NOT NULL"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(name: &str) -> bool {
        Table::packets().position(name).is_some()
    }

    fn known(name: &str) -> bool {
        packets(name)
            || EXTRACTIONS.iter().any(|extraction| {
                (extraction.columns)()
                    .iter()
                    .any(|column| &*column.name == name)
            })
    }

    /// A meaning must not name a column that was renamed.
    #[test]
    fn names_speak_of_columns_that_are_there_and_are_none_of_packets_themselves() {
        for name in NAMES {
            assert_eq!(name.name, name.name.to_ascii_lowercase());
            assert!(!packets(name.name), "{} is a column", name.name);
            let is_first = |other: &&Name| other.name == name.name && other.with == name.with;
            let first = NAMES.iter().find(is_first);
            assert_eq!(first, Some(name), "{} stands twice", name.name);
            let columns: Vec<&str> = match name.meaning {
                Meaning::Sides(columns) => columns.to_vec(),
                Meaning::Column(column) => vec![column],
                Meaning::Expression(_) | Meaning::Advice(_) => Vec::new(),
            };
            for column in columns.into_iter().chain(name.with) {
                assert!(known(column), "{}: {column}", name.name);
            }
        }
    }

    /// `dns.qry.name` had no hint, and the hints for `tcp.seq` and `tcp.port` were `icmp.seq` and `erf.mcatm.port`.
    #[test]
    fn a_name_that_is_not_a_column_has_a_hint() {
        for (name, part) in [
            ("tcp.seq", "tcp.seq_raw"),
            ("tcp.ack", "tcp.ack_raw"),
            ("TCP.Stream", "flow_packets('trace.pcap')"),
            ("tcp.analysis.retransmission", "flow_packets('trace.pcap')"),
            ("frame.protocols", "frame.layers"),
            ("frame.time_delta_displayed", "lag(frame.time)"),
            ("sip.method", "sip('trace.pcap')"),
            ("sip.Call-ID", "sip('trace.pcap')"),
            ("dns.qry.name", "dns('trace.pcap')"),
            ("dns.flags.nonsense", "dns('trace.pcap')"),
            ("tls.handshake.type", "tls('trace.pcap')"),
            ("http.request.method", "http('trace.pcap')"),
            ("flow.rtt", "flows('trace.pcap')"),
            ("id.orig_h", "addr.src"),
            ("radius.User_Name", "radius('trace.pcap')"),
            ("mgcp.req.verb", "mgcp('trace.pcap')"),
            ("imap.request", "tcp.port = 143"),
            ("_ws.col.Info", "weir tables"),
            ("bootp.option.hostname", "dhcp.option.hostname"),
            ("ssl.handshake.type", "tls("),
            ("megaco.transid", "h248("),
            ("wlan.ssid", "wlan.bssid"),
            ("tcp.checksum.status", "tcp.checksum_ok"),
            ("tcp", "display_filter('tcp')"),
            ("dns", "FROM dns('trace.pcap')"),
            ("user_agent", "http.user_agent of http('trace.pcap')"),
            ("ja3", "tls.handshake.ja3 of tls('trace.pcap')"),
            ("server_name", "tls.handshake.extensions_server_name"),
            ("tls.sni", "tls.handshake.extensions_server_name"),
            ("TLS.SNI", "FROM tls('trace.pcap')"),
            ("sni", "tls.handshake.extensions_server_name"),
            ("dns.rrname", "dns.qry.name"),
            ("http.hostname", "http.host"),
            ("tls.issuerdn", "write x509.issuer, a column of tls"),
            ("tls.server.not_after", "x509.not_valid_after"),
            ("x509af.notAfter", "x509.not_valid_after"),
            ("app_proto", "flow.service"),
            ("x509ce.dNSName", "x509.san.dns"),
            (
                "tls.server_name",
                "tls.handshake.extensions_server_name of tls('trace.pcap')",
            ),
            (
                "tls.handshake.server_name",
                "tls.handshake.extensions_server_name of tls('trace.pcap')",
            ),
            ("sip.status_code", "FROM sip('trace.pcap')"),
        ] {
            let found = advice(name, &packets).unwrap_or_default();
            assert!(found.contains(part), "{name}: {found}");
        }
        for name in ["tcp.flags.sin", "ip.scr", "frobnicate.foo", "adress"] {
            assert_eq!(advice(name, &packets), None, "{name}");
        }
    }

    /// `tls.server_name` of a table of TLS had no hint, or that of another table.
    #[test]
    fn a_name_that_leaves_parts_out_is_that_of_a_column_at_hand() {
        let tls = EXTRACTIONS
            .iter()
            .find(|table| table.name == "tls")
            .unwrap();
        let has = |name: &str| (tls.columns)().iter().any(|column| *column.name == *name);
        let expected = "did you mean tls.handshake.extensions_server_name?";
        for name in [
            "tls.server_name",
            "TLS.Server-Name",
            "tls.handshake.server_name",
            "tls.client.extensions.server_name",
            "server_name",
            "sni",
        ] {
            assert_eq!(advice(name, &has).as_deref(), Some(expected), "{name}");
        }
    }

    /// A column that `calls` lacks had the hint that those of calls are in `call_packets`.
    #[test]
    fn a_name_of_the_protocol_of_the_table_at_hand_is_not_that_of_another_table() {
        for (table, name) in [("calls", "call.id"), ("sip", "sip.frobnicate")] {
            let table = crate::Extraction::named(table).unwrap();
            let has = |name: &str| (table.columns)().iter().any(|column| *column.name == *name);
            assert_eq!(advice(name, &has), None, "{name}");
            let found = advice(name, &packets).unwrap_or_default();
            let part = format!("are in {}('trace.pcap')", table.name);
            assert!(found.contains(&part), "{name}: {found}");
        }
    }

    /// Tables of RTP, RADIUS and others were added, and messages still denied them.
    #[test]
    fn protocols_with_a_table_have_no_hint_that_they_are_missing() {
        for extraction in EXTRACTIONS {
            let hint = not_decoded(extraction.name);
            assert_eq!(hint, None, "{}", extraction.name);
        }
    }

    #[test]
    fn a_name_means_what_the_table_at_hand_has() {
        let meaning = |name: &str, has: &dyn Fn(&str) -> bool| {
            Name::meanings(name)
                .find(|name| name.fits(has))
                .map(|name| name.meaning)
        };
        let flows = |name: &str| ["flow.state", "addr.src"].contains(&name);
        assert_eq!(
            meaning("id.orig_h", &flows),
            Some(Meaning::Column("addr.src"))
        );
        assert!(matches!(
            meaning("id.orig_h", &packets),
            Some(Meaning::Advice(_))
        ));
        assert_eq!(
            meaning("ip.addr", &packets),
            Some(Meaning::Sides(&["ip.src", "ip.dst"]))
        );
        assert_eq!(meaning("ip.addr", &flows), None);
        let tls = |name: &str| name == "tls.handshake.extensions_server_name";
        assert_eq!(
            meaning("tls.sni", &tls),
            Some(Meaning::Column("tls.handshake.extensions_server_name"))
        );
        assert_eq!(
            meaning("tcp.dport", &packets),
            Some(Meaning::Column("tcp.dstport"))
        );
        assert!(advice("ip.addr", &flows).unwrap().contains("addr.any"));
    }
}
