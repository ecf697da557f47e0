//! Results, counters and located errors of a cluster equal those of one engine.

use crate::samples::{Asks, enter};

/// Statements with an ORDER BY, or with one row.
const ORDERED: &[&str] = &[
    "SELECT count(*), sum(frame.len), min(frame.time), max(frame.time), avg(frame.len) FROM 'day/*.pcap'",
    "SELECT ip.src, count(*), sum(frame.len) FROM 'day/*.pcap' GROUP BY 1 ORDER BY 2 DESC, 1",
    "SELECT proto, count(DISTINCT ip.src), count(*) FILTER (WHERE udp.dstport = 53) FROM 'day/*.pcap' GROUP BY 1 ORDER BY 1",
    "SELECT frame.file, frame.number, ip.src FROM 'day/*.pcap' WHERE udp.dstport = 5060 ORDER BY 1, 2 LIMIT 20",
    "SELECT DISTINCT ip.dst FROM 'day/*.pcap' WHERE ip.src = '192.168.10.29' ORDER BY 1",
    "SELECT max(n) FROM (SELECT port.dst, count(*) AS n FROM 'day/*.pcap' GROUP BY port.dst)",
    "SELECT count(*) FROM 'day/*.pcap' WHERE cidr_match(ip.src, '10.0.0.0/8') OR ip.ttl > 60",
    "SELECT count(*) FROM 'day/*.pcap' WHERE display_filter('tcp.port == 443 || udp')",
    "SELECT a.src, n, m FROM (SELECT ip.src AS src, count(*) AS n FROM 'day/*.pcap' GROUP BY 1) a \
     JOIN (SELECT ip.dst AS dst, count(*) AS m FROM 'day/*.pcap' GROUP BY 1) b ON a.src = b.dst ORDER BY 1",
    "SELECT a.src, n, m FROM (SELECT ip.src AS src, count(*) AS n FROM 'day/*.pcap' GROUP BY 1) a \
     LEFT JOIN (SELECT ip.dst AS dst, count(*) AS m FROM 'day/*.pcap' WHERE udp.dstport = 53 GROUP BY 1) b ON a.src = b.dst ORDER BY 1, 2, 3",
    "SELECT count(*) FROM 'day/*.pcap' WHERE ip.src NOT IN (SELECT ip.dst FROM 'day/0.pcap' WHERE ip.dst IS NOT NULL)",
    "SELECT count(*) FROM 'day/*.pcap' WHERE frame.len > (SELECT avg(frame.len) FROM 'day/*.pcap')",
    "SELECT p, count(*) FROM (SELECT udp.dstport AS p FROM 'day/*.pcap' WHERE udp.dstport IS NOT NULL UNION ALL \
     SELECT tcp.dstport FROM 'day/*.pcap' WHERE tcp.dstport IS NOT NULL) GROUP BY p ORDER BY 2 DESC, 1 LIMIT 10",
    "SELECT tumble(frame.time, INTERVAL '1 second') AS w, count(*) FROM 'day/*.pcap' GROUP BY 1 ORDER BY 1",
    "SELECT ip.src, count(*) AS n, rank() OVER (ORDER BY count(*) DESC, ip.src) FROM 'day/*.pcap' GROUP BY 1 ORDER BY 3, 1",
    "SELECT frame.file, count(*) FROM 'day/*.pcap' GROUP BY 1 ORDER BY 1",
    "SELECT approx_distinct(ip.src), approx_distinct(frame.layers), approx_distinct(udp.dstport), median(frame.len) FROM 'day/*.pcap'",
    "SELECT proto, approx_distinct(ip.src) FROM 'day/*.pcap' GROUP BY 1 ORDER BY 1",
    "SELECT first_value(frame.number ORDER BY frame.len DESC, frame.number), last_value(ip.src) FROM 'day/*.pcap'",
    "SELECT ip.src, array_agg(DISTINCT udp.dstport ORDER BY udp.dstport) FROM 'day/*.pcap' WHERE udp.dstport < 1000 GROUP BY 1 ORDER BY 1",
    "SELECT count(*) FROM 'day/*.pcap' HAVING count(*) > 5",
    "SELECT frame.time, extract(hour FROM frame.time) FROM 'day/1.pcap' ORDER BY frame.number LIMIT 3",
    "WITH f AS (SELECT * FROM flows('day/*.pcap')) SELECT flow.service, count(*) FROM f GROUP BY 1 ORDER BY 2 DESC, 1",
    "SELECT sip.method, count(*) FROM sip('day/*.pcap') GROUP BY 1 ORDER BY 1",
    "SELECT count(*) FROM calls('day/*.pcap')",
    "SELECT count(*) FROM lookups('day/*.pcap')",
    "SELECT count(*) FROM packets('day/*.pcap', merge => true)",
    "SELECT 1 + 1",
    "SELECT count(*) FROM 'day/*.pcap' WHERE false",
    // Statements with a constant row in a union had no end.
    "SELECT count(*), sum(x) FROM (SELECT frame.number AS x FROM 'day/*.pcap' UNION ALL SELECT 2)",
    "SELECT x, count(*) FROM (SELECT 1 AS x FROM 'day/*.pcap' UNION ALL SELECT 2 UNION ALL SELECT 2 \
     UNION ALL SELECT 3 FROM 'day/0.pcap') GROUP BY 1 ORDER BY 1",
];

#[test]
fn answers_are_those_of_one_engine() {
    enter();
    let (here, there) = (Asks::here(), Asks::there());
    for sql in ORDERED {
        let expected = match here.ask(sql) {
            Ok(expected) => expected,
            Err(error) => panic!("{sql}: {error}"),
        };
        let found = match there.ask(sql) {
            Ok(found) => found,
            Err(error) => panic!("{sql}: {error}\n{}", there.plan(sql)),
        };
        assert_eq!(found.rows, expected.rows, "{sql}\n{}", there.plan(sql));
        assert!(!expected.rows.is_empty(), "{sql}");
        assert_eq!(found.errors, expected.errors, "{sql}");
        for note in &found.notes {
            assert!(!note.contains("this machine"), "{sql}: {note}");
        }
    }
}

/// The sets of different values of a DISTINCT count for no limit of memory: an executor of 200 MiB had 1.3 GB of them, and sets of
/// structs, which count too much, were out of memory at 400 values.
#[test]
fn different_values_are_keys_of_groups() {
    enter();
    let (here, there) = (Asks::here(), Asks::there());
    for sql in [
        "SELECT ip.src, count(DISTINCT udp.srcport), count(DISTINCT ip.dst), sum(frame.len) FROM 'day/*.pcap' GROUP BY 1 ORDER BY 1",
        "SELECT count(DISTINCT (ip.src, ip.dst)) FROM 'day/*.pcap'",
    ] {
        let plan = there.plan(sql);
        assert!(plan.contains("__distinct_value_0"), "{plan}");
        assert!(plan.contains("ClusterExec"), "{plan}");
        let (found, expected) = (there.ask(sql).unwrap(), here.ask(sql).unwrap());
        assert_eq!(found.rows, expected.rows, "{sql}");
    }
    // Beside a median the values are collected, whose order does not count.
    let sql = "SELECT proto, count(DISTINCT ip.src), median(frame.len) FROM 'day/*.pcap' GROUP BY 1 ORDER BY 1";
    let plan = there.plan(sql);
    assert!(plan.contains("__distinct_outer_0"), "{plan}");
    assert!(!plan.contains("in one piece"), "{plan}");
    assert_eq!(there.ask(sql).unwrap().rows, here.ask(sql).unwrap().rows);
}

/// Rows without an ORDER BY have the order of the files.
#[test]
fn rows_come_in_the_order_of_the_files() {
    enter();
    let sql = "SELECT frame.file, frame.number, ip.src, frame.len FROM 'day/*.pcap' WHERE frame.len > 100";
    let expected = Asks::here().ask(sql).unwrap();
    let found = Asks::there().ask(sql).unwrap();
    assert!(expected.rows.len() > 100);
    assert!(found.rows == expected.rows, "{:?}", &found.rows[..3]);
    assert_eq!(found.records, expected.records);
    let sql = "SELECT frame.file, frame.number FROM 'day/*.pcap' LIMIT 7";
    assert_eq!(
        Asks::there().ask(sql).unwrap().rows,
        Asks::here().ask(sql).unwrap().rows
    );
}

/// Rows were numbered in the order in which executors had read them.
#[test]
fn window_functions_without_an_order_have_that_of_the_files() {
    enter();
    let (here, there) = (Asks::here(), Asks::there());
    for sql in [
        "SELECT frame.file, frame.number, row_number() OVER () FROM 'day/*.pcap'",
        "SELECT frame.file, frame.number, lag(frame.number) OVER () FROM 'day/*.pcap'",
        "SELECT frame.file, frame.number, sum(frame.len) OVER (ROWS 3 PRECEDING) FROM 'day/*.pcap'",
    ] {
        let plan = there.plan(sql);
        assert!(plan.contains("in one piece: a value depends"), "{plan}");
        // One process reads its files one after the other, too.
        let plan = here.plan(sql);
        assert!(!plan.contains("side by side"), "{plan}");
        let (found, expected) = (there.ask(sql).unwrap(), here.ask(sql).unwrap());
        assert!(expected.rows.len() > 100, "{sql}");
        assert!(found.rows == expected.rows, "{sql}: {:?}", &found.rows[..3]);
    }
    // An aggregate of all rows has one value, and an ORDER BY its own order.
    for sql in [
        "SELECT frame.number, sum(frame.len) OVER () FROM 'day/*.pcap'",
        "SELECT frame.number, row_number() OVER (ORDER BY frame.file, frame.number) FROM 'day/*.pcap'",
    ] {
        let plan = there.plan(sql);
        assert!(!plan.contains("in one piece"), "{plan}");
    }
}

/// Files that are no captures are read on this machine, and were read side by side there: a value changed from run to run.
#[test]
fn values_without_an_order_have_that_of_files_that_are_no_captures() {
    enter();
    let (here, there) = (Asks::here(), Asks::there());
    for kind in ["parquet", "csv"] {
        let written = format!(
            "COPY (SELECT value AS a FROM generate_series(1, 300000)) TO 'in_order_a.{kind}'; \
             COPY (SELECT 0 AS a) TO 'in_order_b.{kind}'"
        );
        here.ask(&written).unwrap();
        for (sql, expected) in [
            (
                "SELECT first_value(a), last_value(a), (array_agg(a))[300001] FROM 'in_order_*.@'",
                "1\t0\t0",
            ),
            (
                "SELECT n FROM (SELECT a, row_number() OVER () AS n FROM 'in_order_*.@') WHERE a = 0",
                "300001",
            ),
        ] {
            let sql = sql.replace('@', kind);
            assert_eq!(here.ask(&sql).unwrap().rows, [expected], "{sql}");
            assert_eq!(there.ask(&sql).unwrap().rows, [expected], "{sql}");
        }
    }
}

/// All tables of protocols, each with all of its columns.
#[test]
fn tables_of_conversations_are_whole() {
    enter();
    let (here, there) = (Asks::here(), Asks::there());
    for extraction in weir_tables::EXTRACTIONS {
        let sql = match extraction.name {
            // The function requires arguments.
            "stream" => continue,
            name => format!("SELECT * FROM {name}('day/*.pcap')"),
        };
        let expected = here.ask(&sql).unwrap().sorted();
        let found = match there.ask(&sql) {
            Ok(found) => found.sorted(),
            Err(error) => panic!("{sql}: {error}\n{}", there.plan(&sql)),
        };
        assert!(found.rows == expected.rows, "{sql}");
        assert_eq!(found.notes, expected.notes, "{sql}");
    }
    let plan = there.plan("SELECT * FROM flows('day/*.pcap')");
    assert!(
        plan.contains("in one piece: conversations may continue"),
        "{plan}"
    );
}

/// Errors of values had the words of Arrow, and hints stood in the line of their errors.
#[test]
fn errors_are_those_of_one_engine() {
    enter();
    let (here, there) = (Asks::here(), Asks::there());
    for sql in [
        "SELECT frame.len / 0 FROM 'day/*.pcap'",
        "SELECT sum(1 / (frame.number - 5)) FROM 'day/*.pcap'",
        "SELECT CAST(frame.layers AS BIGINT) FROM 'day/2.pcap'",
        "SELECT 9223372036854775807 + frame.len FROM 'day/2.pcap'",
        "SELECT (SELECT ip.src FROM 'day/*.pcap')",
    ] {
        let [expected, found] = [&here, &there].map(|asks| {
            let error = asks.ask(sql).unwrap_err();
            (error.to_string(), error.hint().map(str::to_owned))
        });
        assert!(expected.1.is_some(), "{sql}: {}", expected.0);
        assert_eq!(found, expected, "{sql}");
    }
}

/// One process that read a capture twice reported its damage twice.
#[test]
fn damage_that_is_read_twice_is_reported_once() {
    enter();
    let (here, there) = (Asks::here(), Asks::there());
    for operator in ["EXCEPT", "INTERSECT"] {
        let rows = "SELECT frame.number FROM 'damaged/*.pcap'";
        let sql = format!("{rows} {operator} {rows} WHERE udp.dstport = 5060 ORDER BY 1");
        let (found, expected) = (there.ask(&sql).unwrap(), here.ask(&sql).unwrap());
        assert_eq!(expected.errors.len(), 3, "{sql}: {:?}", expected.errors);
        assert_eq!(found.errors, expected.errors, "{sql}");
        assert_eq!(found.rows, expected.rows, "{sql}");
    }
}

#[test]
fn damage_is_reported_as_it_is_here() {
    enter();
    let (here, there) = (Asks::here(), Asks::there());
    for sql in [
        "SELECT count(*), sum(frame.len) FROM 'damaged/*.pcap'",
        "SELECT ip.src, count(*) FROM 'damaged/*.pcap' GROUP BY 1 ORDER BY 1",
        "SELECT frame.number FROM 'damaged/*.pcap' WHERE udp.dstport = 5060 ORDER BY 1",
        "SELECT count(*) FROM sip('damaged/*.pcap')",
        "SELECT count(*) FROM packets('damaged/*.pcap', merge => true)",
    ] {
        let expected = here.ask(sql).unwrap();
        let found = there.ask(sql).unwrap();
        assert_eq!(expected.errors.len(), 3, "{sql}: {:?}", expected.errors);
        assert_eq!(found.errors, expected.errors, "{sql}");
        assert_eq!(found.rows, expected.rows, "{sql}");
        assert_eq!(found.records, expected.records, "{sql}");
        assert_eq!(found.stopped, expected.stopped, "{sql}");
    }
}

#[test]
fn views_go_with_the_statements_that_name_them() {
    enter();
    let sql = "CREATE VIEW v AS SELECT ip.src AS s, frame.time AS t FROM packets('day/*.pcap', merge => true); \
               SELECT s, count(*) FROM v GROUP BY 1 ORDER BY 1";
    let expected = Asks::here().ask(sql).unwrap();
    let there = Asks::there();
    assert_eq!(there.ask(sql).unwrap().rows, expected.rows);
    let plan = there.plan("SELECT count(*) FROM v");
    assert!(plan.contains("PieceQuery"), "{plan}");
}

/// A statement that travels as its text was answered in the time zone, and with the settings, of its executor.
#[test]
fn settings_of_a_session_count_where_its_statements_are_answered() {
    enter();
    for set in [
        "SET TIME ZONE = 'Asia/Tokyo'",
        "SET datafusion.sql_parser.default_null_ordering = 'nulls_first'",
        "SET datafusion.sql_parser.parse_float_as_decimal = true",
    ] {
        let sql = format!(
            "{set}; SELECT udp.dstport, frame.time, 0.1 + 0.2 FROM packets('day/*.pcap', merge => true) ORDER BY 1, 2 LIMIT 3"
        );
        let expected = Asks::here().ask(&sql).unwrap();
        assert_eq!(expected.rows.len(), 3);
        assert_eq!(
            Asks::there().ask(&sql).unwrap().rows,
            expected.rows,
            "{sql}"
        );
    }
}

/// A source that only this process can read is read here, with a note.
#[test]
fn what_cannot_be_sent_is_answered_here_and_reported() {
    enter();
    let there = Asks::there();
    let made =
        "CREATE TABLE t AS SELECT DISTINCT ip.src AS s FROM 'day/0.pcap' WHERE ip.src IS NOT NULL";
    there.ask(made).unwrap();
    let found = there
        .ask("SELECT count(*) FROM packets('day/*.pcap', merge => true) WHERE ip.src IN (SELECT s FROM t)")
        .unwrap();
    assert_eq!(found.rows.len(), 1);
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("on this machine")),
        "{:?}",
        found.notes
    );
}

/// The damage of captures was not reported, and the exit status was 0, where a plan in pieces stayed on the machine that asks.
#[test]
fn damage_is_reported_where_a_plan_cannot_be_sent() {
    enter();
    let sql = "CREATE TABLE nothing AS SELECT ip.src AS s FROM 'day/0.pcap' WHERE false; \
               SELECT s, count(*) FROM (SELECT s FROM nothing UNION ALL SELECT ip.src FROM 'damaged/*.pcap') \
               GROUP BY 1 ORDER BY 1";
    let expected = Asks::here().ask(sql).unwrap();
    let found = Asks::there().ask(sql).unwrap();
    assert_eq!(expected.errors.len(), 3, "{:?}", expected.errors);
    assert_eq!(found.errors, expected.errors, "{:?}", found.notes);
    assert_eq!(found.rows, expected.rows);
    assert_eq!(found.records, expected.records);
}

/// A file that is missing on an executor is an error.
#[test]
fn a_file_that_is_gone_fails_the_statement() {
    enter();
    std::fs::create_dir_all("gone").unwrap();
    for number in 0..2 {
        std::fs::copy("demo/voip.pcap", format!("gone/{number}.pcap")).unwrap();
    }
    let there = Asks::there();
    let error = there.ask_after("SELECT count(*) FROM 'gone/*.pcap'", || {
        std::fs::remove_file("gone/1.pcap").unwrap();
    });
    let message = error.unwrap_err().to_string();
    assert!(
        message.contains("gone/1.pcap") && message.contains("cannot be read by the executor"),
        "{message}"
    );
}
