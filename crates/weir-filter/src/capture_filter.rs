//! What to write instead of a capture filter of tcpdump (pcap-filter(7)): `host 10.0.0.1`, `tcp port 80`.

/// The hint for a text that is no display filter, where a condition of a capture filter stands around the byte at `at`.
pub(crate) fn hint(text: &str, at: usize) -> Option<String> {
    let words = words(text);
    let meant = (0..words.len()).find_map(|first| {
        let words = words.get(first..)?;
        let (meant, count) = condition(words)?;
        let (start, end) = (words.first()?.start, words.get(count - 1)?.end());
        (start..=end).contains(&at).then_some(meant)
    })?;
    Some(format!(
        "this is tcpdump's filter language: as a display filter write {meant}"
    ))
}

/// A word between spaces, parentheses and signs of negation.
#[derive(Clone, Copy)]
struct TextWord<'t> {
    start: usize,
    text: &'t str,
}

impl TextWord<'_> {
    const fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

fn words(text: &str) -> Vec<TextWord<'_>> {
    let separates = |letter: char| letter.is_whitespace() || matches!(letter, '(' | ')' | '!');
    let mut start = 0;
    let pieces = text.split_inclusive(separates).map(|piece| {
        let word = TextWord {
            start,
            text: piece.trim_end_matches(separates),
        };
        start += piece.len();
        word
    });
    pieces.filter(|word| !word.text.is_empty()).collect()
}

/// What the condition at the beginning of these words is as a display filter, and the number of its words.
fn condition(words: &[TextWord<'_>]) -> Option<(String, usize)> {
    let first = words.first()?.text;
    if let Some((_, meant)) = OFFSETS.iter().find(|(known, _)| first.starts_with(known)) {
        // The calculation behind it is not read.
        return Some(((*meant).to_owned(), words.len()));
    }
    if let Some((_, before)) = NUMBERS.iter().find(|(known, _)| *known == first) {
        let number = words.get(1).filter(|word| is_number(word.text))?;
        return Some((format!("{before} {}", number.text), 2));
    }
    let mut rest = words;
    let protocol = taken(&mut rest, PROTOCOLS);
    let mut behind = rest;
    let is_either = ["src", "or", "dst"]
        .iter()
        .all(|word| taken(&mut behind, &[*word]).is_some());
    if is_either {
        rest = behind;
    }
    let side = taken(&mut rest, &["src", "dst"]);
    let has_side = is_either || side.is_some();
    let kind = taken(&mut rest, KINDS).or(has_side.then_some("host"))?;
    let value = rest.first()?.text;
    let meant = match kind {
        "host" => host(protocol, side, value),
        "net" => network(side, value),
        "port" => is_number(value).then(|| ports(protocol, side, &format!("== {value}"))),
        "portrange" => {
            let (low, high) = value.split_once('-')?;
            let is_range = is_number(low) && is_number(high);
            is_range.then(|| ports(protocol, side, &format!("in {{{low}..{high}}}")))
        }
        _ => {
            let field = match protocol {
                Some("ether") => "eth.type",
                Some("ip6") => "ipv6.nxt",
                _ => "ip.proto",
            };
            is_number(value).then(|| format!("{field} == {value}"))
        }
    };
    Some((meant?, words.len() - rest.len() + 1))
}

/// Takes the first word, if it is one of these.
fn taken(words: &mut &[TextWord<'_>], known: &[&'static str]) -> Option<&'static str> {
    let (first, rest) = words.split_first()?;
    let found = known.iter().find(|known| **known == first.text).copied()?;
    *words = rest;
    Some(found)
}

fn host(protocol: Option<&str>, side: Option<&str>, value: &str) -> Option<String> {
    let of = |letters: fn(&u8) -> bool, sign: u8| {
        value
            .bytes()
            .all(|byte| letters(&byte) || byte == sign || byte == b'.')
    };
    let signs = |sign: char| value.matches(sign).count();
    let protocol = match protocol {
        Some("ether") if of(u8::is_ascii_hexdigit, b':') => "eth",
        _ if signs(':') >= 2 && of(u8::is_ascii_hexdigit, b':') => "ipv6",
        _ if signs('.') == 3 && of(u8::is_ascii_digit, b'.') => "ip",
        _ => return None,
    };
    Some(format!("{protocol}.{} == {value}", side.unwrap_or("addr")))
}

/// A network, of which the octets behind the prefix may be left out: `net 10`.
fn network(side: Option<&str>, value: &str) -> Option<String> {
    let side = side.unwrap_or("addr");
    let (address, prefix) = match value.split_once('/') {
        Some((address, prefix)) => (address, Some(prefix).filter(|prefix| is_number(prefix))?),
        None => (value, ""),
    };
    if address.contains(':') {
        let is_address = address
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.'));
        return is_address.then(|| format!("ipv6.{side} == {value}"));
    }
    let octets: Vec<&str> = address.split('.').collect();
    if octets.len() > 4 || !octets.iter().all(|octet| is_number(octet)) {
        return None;
    }
    let bits = match prefix {
        "" => (octets.len() * 8).to_string(),
        prefix => prefix.to_owned(),
    };
    let rest = ".0".repeat(4 - octets.len());
    Some(format!("ip.{side} == {address}{rest}/{bits}"))
}

/// The test of ports, of both UDP and TCP where no protocol stands in front.
fn ports(protocol: Option<&str>, side: Option<&str>, test: &str) -> String {
    let side = side.unwrap_or_default();
    let protocols: &[&str] = match protocol {
        Some("tcp") => &["tcp"],
        Some("udp") => &["udp"],
        Some("sctp") => &["sctp"],
        _ => &["tcp", "udp"],
    };
    let tests = protocols
        .iter()
        .map(|protocol| format!("{protocol}.{side}port {test}"));
    tests.collect::<Vec<_>>().join(" or ")
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

const PROTOCOLS: &[&str] = &["ether", "ip", "ip6", "tcp", "udp", "sctp", "arp", "rarp"];
const KINDS: &[&str] = &["host", "net", "port", "portrange", "proto"];

/// Conditions with a number behind them, and what stands before it in a display filter.
const NUMBERS: &[(&str, &str)] = &[
    ("greater", "frame.len >="),
    ("less", "frame.len <="),
    ("vlan", "vlan.id =="),
    ("mpls", "mpls.label =="),
    ("pppoes", "pppoe.session_id =="),
];

/// Octets by their names, and a test of their fields.
const OFFSETS: &[(&str, &str)] = &[
    ("tcp[tcpflags]", "tcp.flags.syn == 1, tcp.flags & 0x12"),
    ("icmp[icmptype]", "icmp.type == 8"),
    ("icmp[icmpcode]", "icmp.code == 3"),
    ("icmp6[icmp6type]", "icmpv6.type == 135"),
    ("icmp6[icmp6code]", "icmpv6.code == 3"),
];

#[cfg(test)]
mod tests {
    use crate::parse;

    /// The hint of what is no display filter.
    fn hint(text: &str) -> Option<String> {
        let hint = parse(text).unwrap_err().hint?;
        let meant =
            hint.strip_prefix("this is tcpdump's filter language: as a display filter write ");
        meant.map(str::to_owned)
    }

    /// They were refused without a word of what to write.
    #[test]
    fn capture_filters_have_a_hint() {
        for (text, meant) in [
            ("host 10.0.0.1", "ip.addr == 10.0.0.1"),
            ("src host 10.0.0.1", "ip.src == 10.0.0.1"),
            ("dst 2001:db8::1", "ipv6.dst == 2001:db8::1"),
            (
                "ether src 00:11:22:33:44:55",
                "eth.src == 00:11:22:33:44:55",
            ),
            ("net 10", "ip.addr == 10.0.0.0/8"),
            ("not (src net 192.168.0.0/16)", "ip.src == 192.168.0.0/16"),
            ("ip6 net fe80::/10", "ipv6.addr == fe80::/10"),
            ("port 53", "tcp.port == 53 or udp.port == 53"),
            (
                "tcp and dst port 80",
                "tcp.dstport == 80 or udp.dstport == 80",
            ),
            ("src or dst port 53", "tcp.port == 53 or udp.port == 53"),
            ("ip and tcp port 80", "tcp.port == 80"),
            ("udp portrange 6000-6008", "udp.port in {6000..6008}"),
            ("ether proto 2054", "eth.type == 2054"),
            ("ip proto 47", "ip.proto == 47"),
            ("greater 1000", "frame.len >= 1000"),
            ("vlan 5 and host 1.2.3.4", "vlan.id == 5"),
            (
                "tcp[tcpflags] & (tcp-syn|tcp-ack) != 0",
                "tcp.flags.syn == 1, tcp.flags & 0x12",
            ),
        ] {
            assert_eq!(hint(text).as_deref(), Some(meant), "{text}");
        }
        for text in [
            "tcp udp",
            "host example",
            "port http",
            "net 1.2.3.4.5",
            "frame contains \"host 10.0.0.1\" tcp",
            "host 10.0.0.1é tcp",
            "port",
            "src",
            "(",
        ] {
            assert!(parse(text).is_ok() || hint(text).is_none(), "{text}");
        }
    }
}
