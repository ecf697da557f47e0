//! Aggregates that are computed while captures are decoded give what DataFusion's own operators
//! give, on queries made at random, and the plan says that they were computed there.

use weir_engine::{Compile, Options};
use weir_testkit::Rng;

use crate::samples;
use crate::slt::Runner;

/// A table with columns that make keys, numbers to compute with, and conditions.
struct Material {
    table: &'static str,
    keys: &'static [&'static str],
    numbers: &'static [&'static str],
    conditions: &'static [&'static str],
}

const OFFICE: Material = Material {
    table: "'demo/office.pcapng'",
    keys: &[
        "ip.src",
        "ip.dst",
        "addr.dst",
        "eth.src",
        "proto",
        "port.src",
        "port.dst",
        "ip.ttl",
        "tcp.flags.syn",
        "frame.interface_name",
        "frame.layers",
        "frame.file",
        "vlan.id",
        "ip.ttl >> 2",
        "frame.len / 100",
        "tcp.window_size_value % 7",
        "ip.id & 15",
        "ip.id | 15",
        "frame.len - frame.cap_len",
    ],
    numbers: &[
        "frame.len",
        "ip.len",
        "ip.ttl",
        "tcp.seq_raw",
        "udp.length",
        "frame.number",
        "ip.len + 14",
        "frame.len * 8",
        "ip.len - frame.len",
    ],
    conditions: &[
        "udp.dstport = 53",
        "ip.addr = '10.0.5.10'",
        "ip.addr <> '10.0.5.10'",
        "tcp.port = 443 OR udp.port = 53",
        "ip.ttl = 64 OR vlan.id IS NOT NULL OR ip.src IS NULL",
        "display_filter('tcp.port == 443 or not ip')",
        "ip.ttl >> 4 = 4",
        "frame.len - 14 > 100",
        "tcp.flags.syn AND NOT tcp.flags.ack",
        "cidr_match(ip.src, '192.168.0.0/16')",
        "ip.dst >= '10.0.0.0' AND ip.dst < '11.0.0.0'",
        "ip.src IN ('192.168.20.51', '203.0.113.1', '::1')",
        "ip.dst != '10.0.5.10'",
        "proto IN ('udp', 'icmp')",
        "ip.src IS NULL",
        "frame.len > 60 AND (vlan.id = 20 OR proto = 'tcp')",
        "frame.number % 3 = 1",
        // Left above the scan.
        "frame.layers LIKE '%udp%'",
    ],
};

const WAN: Material = Material {
    table: "'demo/wan.erf'",
    keys: &[
        "ip.dst",
        "erf.flags >> 4",
        "erf.flags.cap",
        "erf.mchdlc.cn >> 5",
        "erf.mchdlc.cn & 31",
        "fr.dlci",
        "fr.nlpid",
        "ip.proto",
        "port.dst",
    ],
    numbers: &["frame.len", "ip.len", "fr.dlci", "erf.wlen"],
    conditions: &[
        "erf.flags >> 4 = 0",
        "fr.control = 3 AND fr.nlpid = 204",
        "fr.control = 3 AND ip.version = 4",
        "port.src IS NOT NULL",
    ],
};

const RECORDS: Material = Material {
    table: "records('kinds.bin', 'kinds.toml')",
    keys: &[
        "signed",
        "big",
        "flag",
        "label",
        "at",
        "server",
        "signed & 3",
    ],
    numbers: &["signed", "big", "float", "signed + 1"],
    conditions: &[
        "signed < 0",
        "flag",
        "label = 'b'",
        "signed % 2 = 1",
        "float > 0.5",
    ],
};

#[test]
fn fused_aggregates_give_what_datafusion_gives() {
    samples::enter();
    let runner = |unfused, threads| {
        let mut options = Options::default();
        options.threads = Some(threads);
        options.unfused = unfused;
        Runner::new(&options)
    };
    let (fused, parallel, plain) = (runner(false, 1), runner(false, 3), runner(true, 1));
    let mut random = Rng::new(20);
    let (mut fused_queries, mut queries) = (0, 0);
    for material in [&OFFICE, &WAN, &RECORDS] {
        for _ in 0..40 {
            let sql = query(material, &mut random);
            let expected = sorted(&plain, &sql);
            assert_eq!(sorted(&fused, &sql), expected, "{sql}");
            assert_eq!(sorted(&parallel, &sql), expected, "{sql}");
            let plan = fused
                .rows(&format!("EXPLAIN {sql}"))
                .unwrap()
                .rows
                .join("\n");
            fused_queries += usize::from(plan.contains("FusedAggregate"));
            queries += 1;
            let plan = plain
                .rows(&format!("EXPLAIN {sql}"))
                .unwrap()
                .rows
                .join("\n");
            assert!(!plan.contains("FusedAggregate"), "{sql}");
        }
    }
    // Those with a pattern or the largest text are left to DataFusion.
    assert!(fused_queries * 2 > queries, "{fused_queries} of {queries}");
}

/// Compiled queries give the answers of the decoder and of DataFusion.
#[test]
fn compiled_questions_give_what_decoded_and_unfused_ones_give() {
    samples::enter();
    let runner = |compile, unfused, threads| {
        let mut options = Options::default();
        options.threads = Some(threads);
        options.unfused = unfused;
        options.compile = compile;
        Runner::new(&options)
    };
    let compiled = runner(Compile::Always, false, 1);
    let parallel = runner(Compile::Always, false, 3);
    let decoded = runner(Compile::Never, false, 1);
    let plain = runner(Compile::Never, true, 1);
    let net = Material {
        table: "['net.pcap', 'early.pcap', 'cooked.pcap', 'late.pcap', 'snapped.pcap']",
        ..OFFICE
    };
    let mut random = Rng::new(15);
    let mut answers = 0;
    for material in [&WAN, &net, &RECORDS] {
        let before = compiled.totals().compiled;
        for _ in 0..40 {
            let sql = query(material, &mut random);
            let expected = outcome(&plain, &sql);
            // A sum may not fit, and then it fits in none.
            answers += usize::from(expected.is_ok());
            assert_eq!(outcome(&decoded, &sql), expected, "{sql}");
            assert_eq!(outcome(&compiled, &sql), expected, "{sql}");
            assert_eq!(outcome(&parallel, &sql), expected, "{sql}");
        }
        let has_compiled = compiled.totals().compiled > before;
        // Those records have fields of several kinds.
        let expected = material.table != RECORDS.table;
        assert_eq!(has_compiled, expected, "{}", material.table);
    }
    assert_eq!(decoded.totals().compiled, 0);
    assert!(answers > 100, "{answers}");
}

/// One thread whose files had no group, beside others with sketches, made the query panic.
#[test]
fn files_without_groups_go_with_sketches_of_others() {
    samples::enter();
    let mut options = Options::default();
    options.threads = Some(3);
    let runner = Runner::new(&options);
    let sql = "SELECT ip.ttl, approx_distinct(udp.length) FROM
        packets('net.pcap', 'demo/office.pcapng', 'no-packets.pcap') GROUP BY 1";
    assert!(sorted(&runner, sql).len() > 1);
}

/// EXPLAIN shows what is compiled, or why it is not; it shows neither for sources that are too small.
#[test]
fn explain_shows_what_is_compiled() {
    samples::enter();
    let runner = |compile| {
        let mut options = Options::default();
        options.compile = compile;
        Runner::new(&options)
    };
    let explain = |runner: &Runner, sql: &str| {
        let rows = runner.rows(&format!("EXPLAIN {sql}")).unwrap().rows;
        rows.join("\n")
    };
    let always = runner(Compile::Always);
    let plain = "SELECT udp.dstport, count(*) FROM 'net.pcap' WHERE ip.version = 4 GROUP BY 1";
    let layers = "SELECT frame.layers, count(*) FROM 'net.pcap' GROUP BY 1";
    let found = explain(&always, plain);
    assert!(
        found.contains("; compiled=aggregation of plain records"),
        "{found}"
    );
    let found = explain(&always, layers);
    let why = "; not compiled=more than plain fields is asked for";
    assert!(found.contains(why), "{found}");
    let found = explain(&runner(Compile::Large), plain);
    assert!(!found.contains("compiled="), "{found}");
    let found = explain(&runner(Compile::Never), plain);
    let why = "; not compiled=compiling is turned off";
    assert!(found.contains(why), "{found}");
}

/// Under a limit the groups are read in parts, which DataFusion's own operator puts together.
#[test]
fn groups_in_parts_give_what_datafusion_gives() {
    samples::enter();
    let runner = |unfused, threads| {
        let mut options = Options::default();
        options.threads = Some(threads);
        options.unfused = unfused;
        // Parts of 1 MiB, which the larger of these groups fill several times.
        options.memory_limit_bytes = (!unfused).then_some(8 << 20);
        Runner::new(&options)
    };
    let (limited, parallel, plain) = (runner(false, 1), runner(false, 3), runner(true, 1));
    let files = "packets('demo/office.pcapng', 'demo/wan.erf', 'net.pcap', 'demo/office.pcapng')";
    let sql = [
        "SELECT frame.number, ip.src, frame.time, count(*), sum(ip.len), avg(ip.len), min(ip.ttl),
            max(frame.time), bit_or(ip.id), bool_and(tcp.flags.syn), count(ip.ttl),
            count(*) FILTER (WHERE udp.dstport = 53)
            FROM FILES GROUP BY 1, 2, 3",
        "SELECT frame.layers, ip.dst, frame.number, sum(frame.len), avg(ip.ttl) FROM FILES GROUP BY 1, 2, 3",
        "SELECT count(*), avg(frame.len), sum(ip.len), max(ip.ttl), bit_xor(ip.id) FROM FILES",
        "SELECT count(*), avg(ip.len), sum(ip.len) FROM FILES WHERE frame.len > 70000",
        // Their states without keys were those of many groups, which DataFusion's operator could not read.
        "SELECT approx_distinct(ip.src), approx_distinct(frame.layers), approx_distinct(ip.ttl),
            approx_distinct(frame.number), approx_distinct(frame.time), median(ip.len) FROM FILES",
        "SELECT approx_distinct(ip.src), median(ip.len) FROM FILES WHERE frame.len > 70000",
    ];
    for sql in sql.map(|sql| sql.replace("FILES", files)) {
        let expected = sorted(&plain, &sql);
        assert_eq!(sorted(&limited, &sql), expected, "{sql}");
        assert_eq!(sorted(&parallel, &sql), expected, "{sql}");
        let plan = limited.rows(&format!("EXPLAIN {sql}")).unwrap().rows;
        assert!(plan.join("\n").contains("emits groups at=1.0 MiB"), "{sql}");
    }
    // DataFusion computes aggregates that cannot be merged from parts.
    let distinct = format!("SELECT proto, count(DISTINCT ip.src) FROM {files} GROUP BY 1");
    assert_eq!(sorted(&limited, &distinct), sorted(&plain, &distinct));
}

/// A sort beyond the memory limit spills to disk, with a note. (One thread keeps the memory at each time predictable.)
#[test]
fn what_is_spilled_is_reported() {
    samples::enter();
    let runner = |memory_limit_bytes| {
        let mut options = Options::default();
        options.threads = Some(1);
        options.memory_limit_bytes = memory_limit_bytes;
        Runner::new(&options)
    };
    let (limited, plain) = (runner(Some(4 << 20)), runner(None));
    let sql = "SELECT frame.len, frame.number, ip.src, ip.dst, frame.layers, frame.time, ip.id, tcp.seq_raw
        FROM packets('demo/office.pcapng', 'demo/wan.erf', 'demo/office.pcapng', 'demo/office.pcapng')
        ORDER BY 1, 2, 3, 4, 5, 6";
    assert_eq!(
        limited.rows(sql).unwrap().rows,
        plain.rows(sql).unwrap().rows
    );
    let notes = limited.notes().join("\n");
    assert!(notes.contains("MiB were spilled to disk"), "{notes}");
    assert!(!plain.notes().join("\n").contains("spilled"));
}

/// Sketches come to the same or, where what they come to hangs on how the values are dealt out, to as
/// good an answer.
#[test]
fn sketches_are_as_good_as_those_of_datafusion() {
    samples::enter();
    let runner = |threads, unfused, memory_limit_bytes| {
        let mut options = Options::default();
        options.threads = Some(threads);
        options.unfused = unfused;
        options.memory_limit_bytes = memory_limit_bytes;
        Runner::new(&options)
    };
    let plain = runner(1, true, None);
    let fused = [
        runner(1, false, None),
        runner(3, false, None),
        runner(2, false, Some(32 << 20)),
    ];
    let files = "packets('demo/office.pcapng', 'demo/wan.erf', 'net.pcap')";
    let compare = |sql: &str, agrees: &dyn Fn(&str, &str) -> bool| {
        let sql = sql.replace("FILES", files);
        let expected = sorted(&plain, &sql);
        assert!(expected.len() > 1, "{sql}");
        for runner in &fused {
            let plan = runner.rows(&format!("EXPLAIN {sql}")).unwrap().rows;
            assert!(plan.join("\n").contains("FusedAggregate"), "{sql}");
            let found = sorted(runner, &sql);
            assert_eq!(found.len(), expected.len(), "{sql}");
            for (found, expected) in found.iter().zip(&expected) {
                assert!(agrees(found, expected), "{found} or {expected}: {sql}");
            }
        }
    };
    // The questions include groups without a value, and values that a filter leaves out.
    compare(
        "SELECT proto, approx_distinct(ip.src), approx_distinct(frame.layers), median(ip.len),
            approx_distinct(ip.id) FILTER (WHERE ip.ttl = 64), count(*), approx_distinct(fr.dlci)
            FROM FILES GROUP BY 1",
        &|found, expected| found == expected,
    );
    let close = |most: f64| {
        move |found: &str, expected: &str| {
            let mut pairs = found.split(' ').zip(expected.split(' '));
            let numbers = |(a, b): (&str, &str)| match (a.trim().parse::<f64>(), b.trim().parse()) {
                (Ok(a), Ok(b)) => f64::abs(a - b) <= most * f64::max(a, b),
                _ => a == b,
            };
            pairs.all(numbers)
        }
    };
    compare(
        "SELECT ip.ttl, count(*), stddev(frame.len), var_pop(ip.len) FROM FILES GROUP BY 1",
        &close(1e-9),
    );
    compare(
        "SELECT ip.ttl, approx_median(frame.len), approx_percentile_cont(0.9) WITHIN GROUP (ORDER BY ip.len),
            approx_percentile_cont(frame.len, 0.99) FROM FILES GROUP BY 1",
        &close(0.02),
    );
    // Counts of so few different values are exact.
    compare(
        "SELECT proto, approx_top_k(port.dst, 3) FROM FILES WHERE port.dst < 1000 GROUP BY 1",
        &|found, expected| found == expected,
    );
}

#[test]
fn branches_over_the_same_file_read_it_once() {
    samples::enter();
    let mut options = Options::default();
    options.threads = Some(2);
    let runner = Runner::new(&options);
    let before = runner.totals();
    let whole = "SELECT count(*) FROM 'demo/wan.erf'";
    runner.rows(whole).unwrap();
    let once = runner.totals().bytes - before.bytes;
    assert!(once > 100_000);
    let union = "SELECT erf.flags.cap AS board, count(*), sum(length) FROM (
            SELECT erf.flags.cap, ip.proto, ip.len AS length FROM 'demo/wan.erf'
            WHERE fr.nlpid = 204 AND ip.version = 4
            UNION ALL SELECT erf.flags.cap, ip.proto, ip.len FROM 'demo/wan.erf'
            WHERE fr.nlpid = 128 AND ip.version = 4)
        GROUP BY 1 ORDER BY 1";
    let before = runner.totals();
    let rows = runner.rows(union).unwrap().rows;
    assert_eq!(runner.totals().bytes - before.bytes, once);
    options.unfused = true;
    assert_eq!(Runner::new(&options).rows(union).unwrap().rows, rows);
    assert!(!rows.is_empty());
}

#[test]
fn groups_come_in_the_order_of_their_first_records_whatever_the_threads() {
    samples::enter();
    let sql = "SELECT addr.src, proto, count(*), first_value(frame.number), last_value(frame.len),
            count(DISTINCT port.dst)
        FROM packets('demo/office.pcapng', 'net.pcap', 'early.pcap', 'late.pcap', 'demo/wan.erf')
        GROUP BY 1, 2";
    let rows = |threads| {
        let mut options = Options::default();
        options.threads = Some(threads);
        Runner::new(&options).rows(sql).unwrap().rows
    };
    let one = rows(1);
    assert!(one.len() > 50);
    for threads in 2..=5 {
        assert_eq!(rows(threads), one, "{threads} threads");
    }
}

fn sorted(runner: &Runner, sql: &str) -> Vec<String> {
    match outcome(runner, sql) {
        Ok(rows) => rows,
        Err(error) => panic!("{error}: {sql}"),
    }
}

/// The rows in sorted order, or the reason of the failure.
fn outcome(runner: &Runner, sql: &str) -> Result<Vec<String>, String> {
    let mut rows = runner.rows(sql).map_err(|error| error.to_string())?.rows;
    rows.sort();
    Ok(rows)
}

/// A query with some keys, some aggregates and perhaps conditions, over one table or two of them.
fn query(material: &Material, random: &mut Rng) -> String {
    let keys: Vec<_> = (0..random.below(4))
        .map(|_| *pick(material.keys, random))
        .collect();
    let mut outputs: Vec<String> = keys
        .iter()
        .enumerate()
        .map(|(i, key)| format!("{key} AS k{i}"))
        .collect();
    for index in 0..1 + random.below(4) {
        outputs.push(format!("{} AS a{index}", aggregate(material, random)));
    }
    let mut sql = format!("SELECT {} FROM {}", outputs.join(", "), material.table);
    if random.below(3) > 0 {
        sql += &format!(" WHERE {}", pick(material.conditions, random));
    }
    if !keys.is_empty() {
        let places: Vec<String> = (1..=keys.len()).map(|place| place.to_string()).collect();
        sql += &format!(" GROUP BY {}", places.join(", "));
    }
    if random.below(4) == 0 {
        sql += &format!(" HAVING count(*) > {}", random.below(5));
    }
    sql
}

fn aggregate(material: &Material, random: &mut Rng) -> String {
    let number = pick(material.numbers, random);
    let call = match random.below(12) {
        0 | 1 => "count(*)".to_owned(),
        2 => format!("count({})", pick(material.keys, random)),
        3 => format!("count(DISTINCT {})", pick(material.keys, random)),
        4 | 5 => format!("sum({number})"),
        6 => format!("min({number})"),
        7 => format!("max({number})"),
        8 => format!("avg({number})"),
        9 if *number != "float" => format!("bit_xor({number})"),
        10 => match random.below(3) {
            0 if *number != "float" => format!("approx_distinct({number})"),
            1 => format!("median({number})"),
            _ => format!("approx_distinct({})", pick(material.keys, random)),
        },
        _ => format!("max({})", pick(material.keys, random)),
    };
    match random.below(5) {
        0 => format!(
            "{call} FILTER (WHERE {})",
            pick(material.conditions, random)
        ),
        _ => call,
    }
}

fn pick<'m, T>(from: &'m [T], random: &mut Rng) -> &'m T {
    &from[random.below(from.len() as u64) as usize]
}
