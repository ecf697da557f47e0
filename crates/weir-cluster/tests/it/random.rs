//! Random statements: the results of a cluster equal those of one engine.

use weir_testkit::Rng;

use crate::samples::{Asks, enter};

const KEYS: &[&str] = &[
    "ip.src",
    "addr.dst",
    "proto",
    "port.dst",
    "ip.ttl",
    "tcp.flags.syn",
    "frame.layers",
    "frame.file",
    "vlan.id",
    "ip.ttl >> 2",
    "frame.len / 100",
    "udp.length % 7",
];
const VALUES: &[&str] = &[
    "count(*)",
    "sum(frame.len)",
    "sum(ip.len + 14)",
    "min(ip.ttl)",
    "max(frame.time)",
    "avg(frame.len)",
    "count(DISTINCT ip.dst)",
    "count(udp.length)",
    "bit_or(ip.id)",
    "bool_and(ip.ttl > 3)",
    "count(*) FILTER (WHERE udp.dstport = 53)",
    "max(frame.layers)",
    "min(ip.src)",
    "array_agg(DISTINCT ip.proto ORDER BY ip.proto)",
];
const CONDITIONS: &[&str] = &[
    "udp.dstport = 53",
    "ip.addr = '10.0.5.10'",
    "tcp.port = 443 OR udp.port = 5060",
    "ip.ttl = 64 OR vlan.id IS NOT NULL OR ip.src IS NULL",
    "display_filter('tcp.port == 443 or not ip')",
    "frame.len - 14 > 100",
    "cidr_match(ip.src, '192.168.0.0/16')",
    "ip.src IN ('192.168.20.51', '203.0.113.1', '::1')",
    "proto IN ('udp', 'icmp')",
    "frame.number % 3 = 1",
    "frame.layers LIKE '%udp%'",
    "frame.time > TIMESTAMP '1970-01-01 00:00:00'",
    "ip.dst IN (SELECT ip.src FROM 'day/1.pcap')",
    "NOT EXISTS (SELECT 1 FROM 'day/0.pcap' o WHERE o.udp.dstport = p.tcp.dstport)",
];

fn some<'c>(random: &mut Rng, of: &[&'c str], at_most: usize) -> Vec<&'c str> {
    let count = 1 + random.below(at_most as u64) as usize;
    (0..count)
        .map(|_| of[random.below(of.len() as u64) as usize])
        .collect()
}

fn statement(random: &mut Rng) -> String {
    let files = [
        "'day/*.pcap'",
        "'day/[0-3].pcap'",
        "'day/2.pcap'",
        "'demo/*.pcap*'",
    ];
    let files = files[random.below(4) as usize];
    let condition = match random.below(3) {
        0 => String::new(),
        _ => format!(" WHERE {}", some(random, CONDITIONS, 2).join(" AND ")),
    };
    if random.below(5) == 0 {
        let columns = some(random, KEYS, 3).join(", ");
        let distinct = if random.below(2) == 0 {
            "DISTINCT "
        } else {
            ""
        };
        return format!("SELECT {distinct}{columns} FROM {files} p{condition}");
    }
    let values = some(random, VALUES, 3).join(", ");
    let mut keys = match random.below(4) {
        0 => Vec::new(),
        _ => some(random, KEYS, 2),
    };
    keys.dedup();
    if keys.is_empty() {
        return format!("SELECT {values} FROM {files} p{condition}");
    }
    let places: Vec<String> = (1..=keys.len()).map(|place| place.to_string()).collect();
    let having = match random.below(4) {
        0 => " HAVING count(*) > 2",
        _ => "",
    };
    format!(
        "SELECT {}, {values} FROM {files} p{condition} GROUP BY {}{having}",
        keys.join(", "),
        places.join(", ")
    )
}

#[test]
fn random_statements_come_to_the_same() {
    enter();
    let (here, there) = (Asks::here(), Asks::there());
    let seed = std::env::var("WEIR_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let rounds = std::env::var("WEIR_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok());
    let mut random = Rng::new(seed.unwrap_or(21));
    let (mut with_rows, mut answered) = (0, 0);
    let mut here_only = Vec::new();
    let rounds = rounds.unwrap_or(60);
    for _ in 0..rounds {
        let sql = statement(&mut random);
        let expected = here.ask(&sql);
        let found = there.ask(&sql);
        match (found, expected) {
            (Ok(found), Ok(expected)) => {
                let (found, expected) = (found.sorted(), expected.sorted());
                with_rows += usize::from(!expected.rows.is_empty());
                answered += 1;
                if found.notes.iter().any(|note| note.contains("this machine")) {
                    here_only.push(sql.clone());
                }
                assert!(
                    found.rows == expected.rows,
                    "{sql}\n{:?}\n{:?}\n{}",
                    found.rows.iter().find(|row| !expected.rows.contains(row)),
                    expected.rows.iter().find(|row| !found.rows.contains(row)),
                    there.plan(&sql)
                );
            }
            (Err(_), Err(_)) => {}
            (Err(error), Ok(_)) => panic!("{sql}: {error}\n{}", there.plan(&sql)),
            (Ok(_), Err(error)) => panic!("{sql} has no answer here: {error}"),
        }
    }
    assert!(with_rows * 2 > rounds, "{with_rows}");
    assert!(here_only.is_empty(), "{here_only:#?}");
    // Some statements fail everywhere: a function does not accept its argument.
    assert!(answered * 4 > rounds * 3, "{answered}");
}
