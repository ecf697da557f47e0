//! A filter that the scan decides must keep the rows that it would keep if DataFusion decided it.
//!
//! The reference is the condition as a column of the answer: that is computed above the scan, never
//! in it. The scan_report tells whether the scan has decided: it counts the records that it dropped.

use weir_testkit::Rng;

use crate::samples;
use crate::slt::Runner;

const OFFICE: &str = "'demo/office.pcapng'";
const NET: &str = "'net.pcap'";
const KINDS: &str = "records('kinds.bin', 'kinds.toml')";

/// Conditions that the scan takes over, each kind with every type of column.
const PUSHED: &[(&str, &[&str])] = &[
    (
        OFFICE,
        &[
            "tcp.flags.syn",
            "NOT tcp.flags.syn",
            "tcp.flags.syn = true",
            "tcp.flags.syn <> false",
            "ip.flags.df IS NULL",
            "tcp.flags.ack IN (true)",
            "ip.ttl = 64",
            "ip.ttl <> 64",
            "64 > ip.ttl",
            "5 <= ip.ttl",
            "udp.dstport IN (53, 67, 5060)",
            "udp.dstport NOT IN (53, 67, 5060)",
            "udp.dstport IN (53, 67, 68, 69, 123, 161, 5060)",
            "udp.dstport BETWEEN 53 AND 1000",
            "udp.dstport NOT BETWEEN 53 AND 1000",
            "NOT (udp.dstport > 53)",
            "frame.len > 1000",
            "frame.number < 100",
            "frame.number BETWEEN 6000 AND 7000",
            "vlan.id = 20 AND udp.srcport > 20000",
            "vlan.id = 20 OR tcp.dstport = 443",
            "NOT (vlan.id = 20 OR tcp.dstport = 443)",
            "NOT (vlan.id = 20 AND udp.dstport > 20000)",
            "vlan.id IS NULL",
            "vlan.id IS NOT NULL",
            "frame.time < '2026-01-01T00:05:00Z'",
            "frame.time >= TIMESTAMP '2026-01-01 00:05:00'",
            "frame.time BETWEEN '2026-01-01T00:05:00Z' AND '2026-01-01T00:06:00Z'",
            "ip.src = '192.168.20.50'",
            "ip.src <> '192.168.20.50'",
            "'192.168.20.50' < ip.src",
            "ip.src >= '192.168.20.50'",
            "ip.src IN ('192.168.20.50', '192.168.20.51')",
            "ip.src NOT IN ('192.168.20.50', '192.168.20.51')",
            "addr.dst IN ('192.168.20.50', '2001:db8:10::c')",
            "ip.dst BETWEEN '192.168.20.0' AND '192.168.20.255'",
            "ipv6.src IS NOT NULL",
            "ipv6.src = '2001:DB8:10::000C'",
            "eth.src = '02-00-00-00-0A-0C'",
            "eth.dst > '10:00:00:00:00:00'",
            "cidr_match(ip.src, '192.168.0.0/16')",
            "NOT cidr_match(ip.src, '192.168.0.0/16')",
            "cidr_match(addr.src, '2001:db8::/32')",
            "cidr_match(ip.src, '0.0.0.0/0')",
            "cidr_match(addr.src, '::/0')",
            "proto = 'udp'",
            "proto <> 'udp'",
            "proto IN ('udp', 'icmp')",
            "proto > 'tcp'",
            "frame.layers = 'eth:vlan:ip:tcp'",
            "frame.layers BETWEEN 'eth:ip' AND 'eth:ipv6:z'",
            "frame.stopped IS NOT NULL",
            "frame.interface_name = 'uplink0'",
            "frame.file = 'demo/office.pcapng'",
            "frame.file <> 'demo/office.pcapng'",
            "udp.payload IS NOT NULL",
        ],
    ),
    (
        NET,
        &[
            "udp.payload = X'6f6e65'",
            "udp.payload > X'6f6e65'",
            "udp.payload = X''",
            "ip.src < '10.0.0.1'",
            "addr.src > '10.0.0.1'",
            "arp.src.proto_ipv4 = '10.0.0.1'",
        ],
    ),
    (
        KINDS,
        &[
            "signed = -2",
            "signed < 0",
            "signed BETWEEN -3 AND 1",
            "big > 9223372036854775806",
            "float > 0.5",
            "float <= 0.5",
            "float <> 0.5",
            "float > -1.5",
            "float NOT IN (0.5, 1.5)",
            "float IS NULL",
            "flag",
            "NOT flag",
            "label = 'b'",
            "label >= 'b'",
            "label <> ''",
            "at > '1970-01-01T00:00:01Z'",
            "server = '10.0.0.3'",
        ],
    ),
];

#[test]
fn the_scan_decides_as_datafusion_does() {
    samples::enter();
    let mut options = weir_engine::Options::default();
    options.threads = Some(1);
    let runner = Runner::new(&options);
    for (table, conditions) in PUSHED {
        let expected = reference(&runner, table, conditions);
        for (condition, expected) in conditions.iter().zip(expected) {
            let (kept, dropped, records) = filtered(&runner, table, condition);
            assert_eq!(kept, expected, "{condition}");
            assert_eq!(
                dropped,
                records - kept.len(),
                "the scan did not decide {condition}"
            );
        }
    }
}

#[test]
fn what_the_scan_cannot_decide_is_left_to_datafusion() {
    samples::enter();
    let runner = Runner::new(&weir_engine::Options::default());
    let conditions = [
        "ip.ttl > ip.dsfield",
        "udp.srcport % 2 = 0",
        "ip.src = ip.dst",
        "ip.src LIKE '10.0.0.1%'",
        "proto LIKE 'u%'",
        "length(udp.payload) > 3",
        "ip.ttl > 63.5",
        "ip.ttl = -1",
        "ip.ttl < 300",
        "udp.dstport = 70000",
        "udp.dstport IN (53, 70000, NULL)",
        "udp.dstport NOT IN (53, NULL)",
        "udp.dstport = NULL",
        "ip.ttl = '64'",
        "(udp.dstport = 53) IS TRUE",
        "(udp.dstport = 53) IS NOT TRUE",
        "(udp.dstport = 53) IS UNKNOWN",
        "udp.dstport IS DISTINCT FROM 53",
        "udp.dstport IS NOT DISTINCT FROM NULL",
        "ip.src IS DISTINCT FROM '10.0.0.1'",
        "ip.src IN ('10.0.0.1', NULL)",
        "NOT (ip.src IN ('10.0.0.1', NULL))",
        "udp.dstport = 53 OR length(proto) = 3",
        "CASE WHEN udp.dstport = 53 THEN ip.ttl ELSE 0 END = 64",
        "coalesce(udp.dstport, tcp.dstport) = 443",
        "proto = NULL OR vlan.id = 100",
        "frame.time > now()",
        "true",
        "false",
        "NULL",
    ];
    // The two zeros are one number to DataFusion, and two to what orders all bits.
    let floats = [
        "float = 0.0",
        "float < 0.0",
        "float <= 0.0",
        "float >= -0.0",
        "float <> 0.0",
    ];
    for (table, conditions) in [(NET, &conditions[..]), (KINDS, &floats[..])] {
        let expected = reference(&runner, table, conditions);
        for (condition, expected) in conditions.iter().zip(expected) {
            assert_eq!(
                filtered(&runner, table, condition).0,
                expected,
                "{condition}"
            );
        }
    }
}

#[test]
fn random_conditions_are_decided_alike() {
    const SEED: u64 = 20_260_101;
    samples::enter();
    let mut options = weir_engine::Options::default();
    options.threads = Some(1);
    let runner = Runner::new(&options);
    let mut rng = Rng::new(SEED);
    for (table, cases) in [(NET, 150), (OFFICE, 50)] {
        let conditions: Vec<String> = (0..cases).map(|_| condition(&mut rng, 3)).collect();
        let conditions: Vec<&str> = conditions.iter().map(String::as_str).collect();
        for part in conditions.chunks(50) {
            let expected = reference(&runner, table, part);
            for (condition, expected) in part.iter().zip(expected) {
                let (kept, dropped, records) = filtered(&runner, table, condition);
                assert_eq!(kept, expected, "seed {SEED}: {condition}");
                // The planner may find that no row can pass, and read no records.
                let decided = dropped == records - kept.len() || kept.is_empty();
                assert!(decided, "seed {SEED}: the scan did not decide {condition}");
            }
        }
    }
}

/// The numbers of the records for which each condition is true, by DataFusion.
fn reference(runner: &Runner, table: &str, conditions: &[&str]) -> Vec<Vec<usize>> {
    let columns: Vec<String> = conditions
        .iter()
        .enumerate()
        .map(|(index, condition)| format!("({condition}) AS c{index}"))
        .collect();
    let sql = format!("SELECT {} FROM {table}", columns.join(", "));
    let rows = runner
        .rows(&sql)
        .unwrap_or_else(|error| panic!("{error}: {sql}"))
        .rows;
    let is_true = |row: &str, column| row.split(' ').nth(column) == Some("true");
    (0..conditions.len())
        .map(|column| {
            let numbers = rows
                .iter()
                .enumerate()
                .filter(|(_, row)| is_true(row, column));
            numbers.map(|(index, _)| index + 1).collect()
        })
        .collect()
}

/// The numbers of the records that a filter keeps, how many records the scan dropped, and how many
/// it read.
fn filtered(runner: &Runner, table: &str, condition: &str) -> (Vec<usize>, usize, usize) {
    // Records of a layout have numbers only where they carry packets.
    let number = match table {
        KINDS => "number",
        _ => "frame.number",
    };
    let before = runner.totals();
    let sql = format!("SELECT {number} FROM {table} WHERE {condition}");
    let rows = runner
        .rows(&sql)
        .unwrap_or_else(|error| panic!("{error}: {sql}"))
        .rows;
    let after = runner.totals();
    let kept = rows.iter().map(|number| number.parse().unwrap()).collect();
    let count = |now: u64, then: u64| usize::try_from(now - then).unwrap();
    (
        kept,
        count(after.dropped, before.dropped),
        count(after.records, before.records),
    )
}

/// A random condition of conditions up to `depth` deep.
fn condition(rng: &mut Rng, depth: u32) -> String {
    if depth > 0 && rng.percent(60) {
        let mut inner = || condition(rng, depth - 1);
        let (left, right) = (inner(), inner());
        return match rng.below(4) {
            0 => format!("NOT ({left})"),
            1 => format!("({left} OR {right})"),
            _ => format!("({left} AND {right})"),
        };
    }
    let (column, values) = rng.pick(COLUMNS);
    let mut value = || *rng.pick(values);
    let (a, b, c) = (value(), value(), value());
    let operator = *rng.pick(&["=", "<>", "<", "<=", ">", ">="]);
    match rng.below(8) {
        0 => format!("{column} IS NULL"),
        1 => format!("{column} IS NOT NULL"),
        2 => format!("{column} IN ({a}, {b}, {c})"),
        3 => format!("{column} NOT IN ({a}, {b})"),
        4 => format!("{column} BETWEEN {a} AND {b}"),
        5 => format!("{a} {operator} {column}"),
        6 if a.contains('.') && a.starts_with('\'') && !a.contains(['T', ':']) => {
            format!(
                "cidr_match({column}, '{}/{}')",
                a.trim_matches('\''),
                rng.below(33)
            )
        }
        _ => format!("{column} {operator} {a}"),
    }
}

/// Columns of every type, and values that lie among, between and outside of theirs.
const COLUMNS: &[(&str, &[&str])] = &[
    ("ip.ttl", &["0", "3", "63", "64", "65", "255"]),
    ("udp.dstport", &["0", "53", "54", "5000", "5353", "65535"]),
    ("tcp.dstport", &["80", "443"]),
    ("frame.len", &["0", "59", "60", "61", "100", "4294967295"]),
    ("frame.number", &["1", "3", "5", "1000", "6321"]),
    ("vlan.id", &["10", "20", "100"]),
    ("tcp.flags.syn", &["true", "false"]),
    ("ip.flags.df", &["true", "false"]),
    (
        "ip.src",
        &["'9.0.0.1'", "'10.0.0.1'", "'10.0.0.10'", "'192.168.10.12'"],
    ),
    (
        "addr.dst",
        &["'10.0.0.2'", "'2001:db8::2'", "'192.168.20.50'", "'::'"],
    ),
    ("eth.src", &["'02:00:00:00:00:0a'", "'02:00:00:00:0a:01'"]),
    ("proto", &["'udp'", "'tcp'", "''", "'icmp'", "'v'"]),
    (
        "frame.layers",
        &["'eth:ip:udp'", "'eth:vlan:ip:tcp'", "'eth'"],
    ),
    ("frame.interface_name", &["'lan0'", "'uplink0'"]),
    ("udp.payload", &["X'6f6e65'", "X''", "X'ff'"]),
    (
        "frame.time",
        &[
            "'2026-01-01T00:00:00Z'",
            "'2026-01-01T00:00:00.03Z'",
            "'2026-01-01T00:05:00Z'",
        ],
    ),
];
