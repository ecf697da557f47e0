//! DISTINCT under a limit of memory: the same answers as without one, from plain groups that are spilled.

use crate::samples;
use crate::slt::Runner;

fn runner(memory_limit_bytes: Option<usize>, unfused: bool) -> Runner {
    let mut options = weir_engine::Options::default();
    options.memory_limit_bytes = memory_limit_bytes;
    options.unfused = unfused;
    options.threads = Some(2);
    Runner::new(&options)
}

fn rows(runner: &Runner, sql: &str) -> Vec<String> {
    let answer = runner.rows(sql);
    let mut rows = answer
        .unwrap_or_else(|error| panic!("{error}:\n{sql}"))
        .rows;
    rows.sort();
    rows
}

/// An operator counts different values by sets of them.
fn has_sets(plan: &str) -> bool {
    let aggregates = plan.lines().filter_map(|line| line.split_once("aggr=["));
    aggregates
        .flat_map(|(_, functions)| functions.split(", "))
        .any(|function| {
            function
                .trim_start_matches('[')
                .starts_with("count(DISTINCT")
        })
}

const QUESTIONS: &[&str] = &[
    "SELECT ip.dst, count(DISTINCT ip.src), count(DISTINCT udp.srcport) FROM 'demo/office.pcapng' GROUP BY ip.dst",
    "SELECT count(DISTINCT ip.src), count(DISTINCT ipv6.src), count(*), sum(frame.len) FROM 'demo/office.pcapng'",
    "SELECT vlan.id, proto, count(*), count(ip.src), count(DISTINCT addr.src), min(frame.time), max(ip.src)
     FROM 'demo/office.pcapng' GROUP BY vlan.id, proto",
    "SELECT proto, count(DISTINCT addr.src) FILTER (WHERE vlan.id = 10), count(DISTINCT addr.dst) FILTER (WHERE tcp.flags.syn),
            count(*) FILTER (WHERE frame.len > 100), sum(DISTINCT frame.len), bool_or(tcp.flags.syn)
     FROM 'demo/office.pcapng' GROUP BY proto",
    "SELECT frame.len % 7 AS k, count(DISTINCT frame.len % 3), avg(DISTINCT frame.len % 5), min(DISTINCT frame.len)
     FROM 'demo/office.pcapng' GROUP BY k",
    "SELECT frame.len % 7 AS k, count(DISTINCT frame.len), max(DISTINCT frame.len), count(*) FROM 'demo/office.pcapng'
     GROUP BY k HAVING count(DISTINCT frame.len) > 3",
    "SELECT round(avg(frame.len), 6), round(avg(udp.length), 6), count(DISTINCT udp.length), count(DISTINCT udp.srcport) FROM 'demo/office.pcapng'",
    // No rows.
    "SELECT count(DISTINCT ip.src), count(DISTINCT ip.dst), count(*), sum(frame.len), avg(frame.len), max(frame.len)
     FROM 'demo/office.pcapng' WHERE frame.len > 1000000",
    "SELECT ip.src, count(DISTINCT ip.dst), count(DISTINCT ip.id) FROM 'demo/office.pcapng' WHERE frame.len > 1000000 GROUP BY ip.src",
    "SELECT a.x, count(DISTINCT a.y), count(DISTINCT a.z), sum(a.d), count(a.z)
     FROM (VALUES (1, 2, NULL, 1.5), (1, 2, 'b', 2.25), (NULL, 3, 'b', NULL), (NULL, NULL, NULL, 0.25)) AS a(x, y, z, d) GROUP BY a.x",
    "SELECT count(DISTINCT f.addr.src), count(DISTINCT f.port.dst), count(*) FROM flows('demo/office.pcapng') f",
    // Sets that stay: beside a median, and for several sets of keys.
    "SELECT proto, count(DISTINCT ip.src), median(frame.len) FROM 'demo/office.pcapng' GROUP BY proto",
    "SELECT proto, vlan.id, count(DISTINCT ip.src), count(DISTINCT ip.dst) FROM 'demo/office.pcapng' GROUP BY ROLLUP(proto, vlan.id)",
];

#[test]
fn a_limit_of_memory_changes_no_answer() {
    samples::enter();
    let (free, unfused) = (runner(None, false), runner(None, true));
    let (limited, neither) = (runner(Some(32 << 20), false), runner(Some(32 << 20), true));
    for sql in QUESTIONS {
        let expected = rows(&free, sql);
        for other in [&unfused, &limited, &neither] {
            assert_eq!(rows(other, sql), expected, "{sql}");
        }
    }
}

/// Two of them by group made sets of which each took kilobytes that were not counted: 3.2 GB under 64 MiB.
#[test]
fn distinct_values_are_groups_under_a_limit() {
    samples::enter();
    let limited = runner(Some(32 << 20), false);
    for sql in &QUESTIONS[..7] {
        let plan = rows(&limited, &format!("EXPLAIN {sql}")).join("\n");
        assert!(!has_sets(&plan), "{plan}");
        assert!(plan.contains("__distinct_value_0"), "{plan}");
    }
    // The remaining questions keep sets, whose memory is counted.
    for sql in QUESTIONS.iter().rev().take(2) {
        let plan = rows(&limited, &format!("EXPLAIN {sql}")).join("\n");
        assert!(!has_sets(&plan), "{plan}");
    }
    // One of them is made into groups while packets are decoded.
    let question =
        "SELECT proto, count(*), count(DISTINCT addr.src) FROM 'demo/office.pcapng' GROUP BY proto";
    let plan = rows(&limited, &format!("EXPLAIN {question}")).join("\n");
    assert!(plan.contains("FusedAggregate"), "{plan}");
}
