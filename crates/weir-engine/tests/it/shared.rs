//! Tests that queries of the same files read each file once: the counter of bytes proves it, and the answers are those of
//! separate queries.

use std::path::Path;

use weir_engine::{Compile, Options};

use crate::samples;
use crate::slt::Runner;

const OFFICE: &str = "demo/office.pcapng";

fn options(threads: usize) -> Options {
    let mut options = Options::default();
    options.threads = Some(threads);
    options
}

/// Bytes of one reading.
fn bytes_of(file: &str) -> u64 {
    let runner = Runner::new(&options(1));
    runner
        .rows(&format!("SELECT count(*) FROM '{file}'"))
        .unwrap();
    let bytes = runner.totals().bytes;
    assert!(bytes > 100_000, "{file} is no more than {bytes} bytes");
    bytes
}

/// The statements, answered together after one reading of the file, give what each gives alone.
fn assert_one_reading(file: &str, statements: &[&str], threads: usize) {
    let statements: Vec<_> = statements
        .iter()
        .map(|sql| sql.replace("FILE", &format!("'{file}'")))
        .collect();
    let together = Runner::new(&options(threads));
    let answers = together.answers(&statements.join(";\n")).unwrap();
    assert_eq!(together.totals().bytes, bytes_of(file), "{statements:#?}");
    assert_eq!(answers.len(), statements.len());
    for (answer, sql) in answers.iter().zip(&statements) {
        let alone = Runner::new(&options(threads)).rows(sql).unwrap();
        assert!(!alone.rows.is_empty(), "{sql}");
        assert_eq!(answer.rows, alone.rows, "{sql}");
        assert_eq!(answer.names, alone.names, "{sql}");
    }
}

#[test]
fn groups_of_several_statements() {
    samples::enter();
    for threads in 1..=3 {
        let statements = [
            "SELECT count(*), sum(frame.len) FROM FILE",
            "SELECT ip.src, count(*) FROM FILE WHERE ip.proto = 6 GROUP BY ip.src",
            // Nothing in common but the file.
            "SELECT max(n) FROM (SELECT port.dst, count(*) AS n FROM FILE GROUP BY port.dst)",
            "SELECT proto, count(DISTINCT ip.src), min(ip.ttl) FROM FILE GROUP BY 1 ORDER BY 1",
            "SELECT avg(frame.len) FROM FILE WHERE tcp.flags.syn",
        ];
        assert_one_reading(OFFICE, &statements, threads);
        let wan = [
            "SELECT erf.flags.cap, count(*) FROM FILE WHERE fr.nlpid = 204 GROUP BY 1",
            "SELECT count(*), sum(ip.len) FROM FILE WHERE fr.nlpid = 128 AND ip.version = 4",
            "SELECT port.src, port.dst, count(*) FROM FILE WHERE ip.version = 4 GROUP BY 1, 2",
        ];
        assert_one_reading("demo/wan.erf", &wan, threads);
    }
}

/// More groups than have places in one program, with conditions of their own, over files of several link types.
#[test]
fn groups_of_many_statements_over_several_files() {
    samples::enter();
    let files = "['net.pcap', 'early.pcap', 'cooked.pcap', 'late.pcap', 'snapped.pcap']";
    let statements = [
        "SELECT ip.src, count(*) FROM FILES GROUP BY 1",
        "SELECT ip.ttl, sum(frame.len) FROM FILES WHERE ip.proto = 17 GROUP BY 1",
        "SELECT ip.src, ip.dst, max(ip.len) FROM FILES WHERE ip.ttl > 10 GROUP BY 1, 2",
        "SELECT count(*), min(frame.len) FROM FILES WHERE vlan.id IS NULL",
        "SELECT ip.proto, count(*) FROM FILES GROUP BY 1 HAVING count(*) > 1",
        "SELECT udp.srcport, count(ip.ttl) FROM FILES GROUP BY 1",
        "SELECT vlan.id, count(*) FROM FILES GROUP BY 1 ORDER BY 1 NULLS FIRST LIMIT 2",
        // The same again, and what has no place any more.
        "SELECT ip.src, count(*) FROM FILES GROUP BY 1",
        "SELECT port.src, port.dst, count(*) FROM FILES WHERE port.src IS NOT NULL GROUP BY 1, 2",
        "SELECT frame.len, max(frame.number) FROM FILES WHERE frame.len > 60 GROUP BY 1",
        // None of its rows.
        "SELECT ip.dst, count(*) FROM FILES WHERE ip.ttl = 255 AND ip.ttl = 1 GROUP BY 1",
    ];
    let statements = statements.map(|sql| sql.replace("FILES", files));
    for threads in [1, 2] {
        for many in 2..=statements.len() {
            let mut options = options(threads);
            options.compile = Compile::Always;
            let together = Runner::new(&options);
            let answers = together.answers(&statements[..many].join(";\n")).unwrap();
            assert!(together.totals().compiled > 0);
            assert_eq!(answers.len(), many);
            options.compile = Compile::Never;
            for (answer, sql) in answers.iter().zip(&statements) {
                let alone = Runner::new(&options).rows(sql).unwrap();
                assert_eq!(answer.rows, alone.rows, "{sql}");
            }
        }
    }
    // A statement that fails does so in its turn.
    let overflow =
        format!("SELECT ip.src, sum(frame.len * 4611686018427387904) FROM {files} GROUP BY 1");
    let failing = [statements[0].clone(), overflow, statements[1].clone()];
    assert!(
        Runner::new(&options(1))
            .answers(&failing.join(";\n"))
            .is_err()
    );
}

#[test]
fn rows_and_groups_of_several_statements() {
    samples::enter();
    for threads in [1, 2] {
        let statements = [
            "SELECT frame.number, ip.src FROM FILE WHERE udp.dstport = 53",
            "SELECT count(*) FROM FILE",
            "SELECT frame.number, frame.len FROM FILE",
            "SELECT proto, sum(frame.len) FROM FILE GROUP BY 1",
            // Connections of the same packets.
            "SELECT count(*), sum(tcp.srcport) FROM FILE WHERE tcp.flags.syn AND NOT tcp.flags.ack",
        ];
        assert_one_reading(OFFICE, &statements, threads);
        let reversed: Vec<_> = statements.into_iter().rev().collect();
        assert_one_reading(OFFICE, &reversed, threads);
    }
}

#[test]
fn parts_of_one_statement() {
    samples::enter();
    let statements = [
        "SELECT (SELECT count(*) FROM FILE WHERE ip.proto = 6) AS tcp, (SELECT count(*) FROM FILE WHERE ip.proto = 17) AS udp",
        "SELECT frame.number FROM FILE WHERE udp.dstport = 53 UNION ALL SELECT frame.len FROM FILE WHERE udp.srcport = 53",
        "WITH busy AS (SELECT ip.src AS host FROM FILE GROUP BY 1 HAVING count(*) > 20)
            SELECT frame.number FROM FILE JOIN busy ON ip.src = host ORDER BY 1",
    ];
    for sql in statements {
        for threads in [1, 2] {
            assert_one_reading(OFFICE, &[sql], threads);
        }
    }
}

/// Requests with their answers: a join of a file with itself, and with a copy of it, which is another
/// file to the engine.
#[test]
fn a_join_of_a_file_with_itself() {
    samples::enter();
    let copy = "office-copy.pcapng";
    std::fs::copy(OFFICE, copy).unwrap();
    let sql = |right: &str| {
        format!(
            "SELECT q.frame.number, a.frame.number FROM '{OFFICE}' q JOIN '{right}' a
                ON q.udp.srcport = a.udp.dstport AND q.ip.src = a.ip.dst
            WHERE q.udp.dstport = 53 AND a.udp.srcport = 53 ORDER BY 1, 2"
        )
    };
    let itself = Runner::new(&options(2));
    let rows = itself.rows(&sql(OFFICE)).unwrap().rows;
    assert_eq!(itself.totals().bytes, bytes_of(OFFICE));
    let twice = Runner::new(&options(2));
    assert_eq!(twice.rows(&sql(copy)).unwrap().rows, rows);
    assert_eq!(twice.totals().bytes, 2 * bytes_of(OFFICE));
    assert!(rows.len() > 10);
    let plan = itself.rows(&format!("EXPLAIN {}", sql(OFFICE))).unwrap();
    let plan = plan.rows.join("\n");
    assert_eq!(plan.matches("read once with=1 other").count(), 2, "{plan}");
    std::fs::remove_file(Path::new(copy)).unwrap();
}

/// A file is read again when there is no room for waiting rows; no row is lost or given twice.
#[test]
fn rows_that_do_not_fit_are_read_again() {
    samples::enter();
    let sql = format!(
        "SELECT frame.number, frame.len, ip.src, ip.dst, frame.layers FROM '{OFFICE}'
        UNION ALL SELECT frame.number, frame.len, ip.src, ip.dst, frame.layers FROM '{OFFICE}' WHERE frame.len > 60;
        SELECT frame.number, frame.time FROM '{OFFICE}'; SELECT ip.src FROM '{OFFICE}'"
    );
    let roomy = Runner::new(&options(1));
    let rows = roomy.rows(&sql).unwrap().rows;
    assert_eq!(roomy.totals().bytes, bytes_of(OFFICE));
    for limit in [1, 20_000, 200_000] {
        let mut options = options(1);
        options.memory_limit_bytes = Some(limit);
        let tight = Runner::new(&options);
        assert_eq!(tight.rows(&sql).unwrap().rows, rows, "{limit}");
        assert!(tight.totals().bytes > bytes_of(OFFICE), "{limit}");
    }
}

/// Damage is reported once, with any number of queries.
#[test]
fn damage_is_reported_once() {
    samples::enter();
    let runner = Runner::new(&options(2));
    let count = "SELECT count(*) FROM 'cut.pcap'";
    let rows = "SELECT frame.number FROM 'cut.pcap'";
    let first = Runner::new(&options(2));
    first.rows(count).unwrap();
    let errors = first.errors();
    assert_eq!(errors.len(), 1);
    runner.answers(&format!("{count};{rows};{count}")).unwrap();
    assert_eq!(runner.errors(), errors);
    // A statement that does not fit fails in its turn.
    let error = runner.answers(&format!("{count};SELECT nothing FROM 'cut.pcap'"));
    assert!(error.is_err());
}
