//! Known names that are similar to an unknown one, for hints.

/// Up to three of `names` that are close to `wanted`, the closest first. Names of columns are close
/// too when they end in the same field: `udp.dstport` for `dstport`, or in words of it: `extensions_server_name` for `server_name`.
///
/// A field of another protocol is not close, however few letters distinguish the two: `icmp.seq` is not what is meant
/// by `tcp.seq`.
pub fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let lower = wanted.to_ascii_lowercase();
    let (protocol, _) = lower.split_once('.').unwrap_or(("", ""));
    let field = lower.rsplit('.').next().filter(|field| field.len() > 2);
    let is_of_it = |name: &&str| match name.split_once('.') {
        Some((of, _)) if !protocol.is_empty() => strsim::damerau_levenshtein(protocol, of) <= 1,
        _ => true,
    };
    closest(wanted, names.filter(is_of_it), |name| {
        let last = name.rsplit('.').next().unwrap_or(name);
        let before = field.and_then(|field| ends_in(last, field));
        before.is_some_and(|before| before == 0 || is_between(last.as_bytes().get(before - 1)))
    })
}

/// The length of what stands before the end of a name, if that is `end`; capitals do not count.
fn ends_in(name: &str, end: &str) -> Option<usize> {
    let before = name.len().checked_sub(end.len())?;
    let is_end = name
        .get(before..)
        .is_some_and(|it| it.eq_ignore_ascii_case(end));
    is_end.then_some(before)
}

/// Whether a character stands between the words of a name.
const fn is_between(character: Option<&u8>) -> bool {
    matches!(character, Some(b'_' | b'-'))
}

/// Up to three of `names` that are close to `wanted` by their letters, the closest first.
pub fn similar<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    closest(wanted, names, |_| false)
}

fn closest<'n>(
    wanted: &str,
    names: impl Iterator<Item = &'n str>,
    is_close_too: impl Fn(&str) -> bool,
) -> Vec<&'n str> {
    let wanted = wanted.to_ascii_lowercase();
    let limit = (wanted.len() / 3).clamp(1, 4);
    let length = wanted.chars().count();
    let mut close: Vec<(usize, &str)> = names
        .filter_map(|name| {
            // Names are as far from each other as their lengths, at least, which spares comparing them.
            let distance = match name.chars().count().abs_diff(length) {
                distance if distance > limit => distance,
                _ => strsim::damerau_levenshtein(&wanted, &name.to_ascii_lowercase()),
            };
            (distance <= limit || is_close_too(name)).then_some((distance, name))
        })
        .collect();
    close.sort_unstable();
    close.dedup();
    close.into_iter().map(|(_, name)| name).take(3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let names = ["ip.src", "ip.dst", "ipv6.src", "udp.dstport", "frame.len"];
        assert_eq!(nearest("ip.scr", names.into_iter()), ["ip.src"]);
        assert_eq!(nearest("udp.dport", names.into_iter()), ["udp.dstport"]);
        assert_eq!(nearest("dstport", names.into_iter()), ["udp.dstport"]);
        assert!(nearest("xyz", names.into_iter()).is_empty());
        let names = [
            "tls.handshake.extensions_server_name",
            "tls.version",
            "dns.qry.name",
            "sip.Call-ID",
        ];
        for (wanted, meant) in [
            ("server_name", names[0]),
            ("tls.server_name", names[0]),
            ("tls.extensions_server_name", names[0]),
            ("dns.name", names[2]),
            ("call-id", names[3]),
        ] {
            let near = nearest(wanted, names.into_iter());
            assert_eq!(near.first(), Some(&meant), "{wanted}: {near:?}");
        }
        // Files of one kind are not close because of their kind.
        assert!(similar("dns.pcap", ["wan.pcap", "notes.pcap"].into_iter()).is_empty());
        assert_eq!(similar("wam.pcap", ["wan.pcap"].into_iter()), ["wan.pcap"]);
    }
}
