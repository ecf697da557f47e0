//! psql, as people use it.

use std::process::Command;
use std::time::{Duration, Instant};

use weir_testkit::Limited as _;

use crate::served::Served;

fn has_psql() -> bool {
    let has = Command::new("psql")
        .arg("--version")
        .output_limited()
        .is_ok();
    if !has {
        weir_testkit::missing("psql", "the PostgreSQL protocol beside psql");
    }
    has
}

#[test]
fn the_whole_language_is_spoken() {
    if !has_psql() {
        return;
    }
    let served = Served::plain();
    let count = served.answer(&["SELECT count(*) FROM 'office.pcapng'"]);
    assert!(count.trim().parse::<u64>().unwrap() > 0, "{count}");
    for same in [
        "FROM 'office.pcapng' |> AGGREGATE count(*)",
        "SELECT count(*) FROM packets('office.pcapng')",
        "SELECT count(*) FROM public.\"office.pcapng\"",
        "SELECT count(*) FROM \"office.pcapng\"",
        "SELECT count(*) FROM office.pcapng",
        "SELECT count(o.ip.src) + sum(CASE WHEN o.ip.src IS NULL THEN 1 ELSE 0 END) FROM 'office.pcapng' o",
        "COPY (SELECT count(*) FROM 'office.pcapng') TO STDOUT",
    ] {
        assert_eq!(served.answer(&[same]), count, "{same}");
    }
}

#[test]
fn values_are_exact() {
    if !has_psql() {
        return;
    }
    let served = Served::plain();
    for (sql, expected) in [
        (
            "SELECT arrow_cast(18446744073709551615, 'UInt64')",
            "18446744073709551615\n",
        ),
        ("SELECT NULL, 1.5, true, 'x'", "|1.5|t|x\n"),
        ("SELECT [1, 2, NULL]", "{1,2,NULL}\n"),
        ("SELECT X'00ff'", "\\x00ff\n"),
        (
            "SELECT TIMESTAMP '2026-01-02 03:04:05.5'",
            "2026-01-02 03:04:05.5\n",
        ),
        (
            "SELECT CAST(TIMESTAMP '2026-01-02 03:04:05.123456789' AS TEXT)",
            "2026-01-02T03:04:05.123456789\n",
        ),
    ] {
        assert_eq!(served.answer(&[sql]), expected, "{sql}");
    }
    let told = served.error(&["SELECT TIMESTAMP '2026-01-02 03:04:05.123456789' AS at"]);
    assert!(told.contains("at has nanoseconds"), "{told}");
}

#[test]
fn the_catalog_has_the_files() {
    if !has_psql() {
        return;
    }
    let served = Served::plain();
    let tables = served.answer(&["\\dt"]);
    assert!(tables.contains("public|office.pcapng|table"), "{tables}");
    let columns = served.answer(&["\\d \"office.pcapng\""]);
    assert!(columns.contains("frame.len|"), "{columns}");
    let sizes = served.answer(&["\\dt+"]);
    let size = std::fs::metadata(served.root.path().join("office.pcapng"))
        .unwrap()
        .len();
    assert!(
        sizes.contains(&format!("|{} kB|", (size + 512) / 1024)),
        "{sizes}"
    );
    let columns = served.answer(&["\\d+ \"office.pcapng\""]);
    assert!(columns.contains("frame.len|"), "{columns}");
    // A list of missing kinds of objects is empty and no error.
    for asked in [
        "\\l",
        "\\l+",
        "\\dn",
        "\\dn+",
        "\\du",
        "\\dp",
        "\\df",
        "\\dv",
        "\\di",
        "\\dT",
        "\\dD",
        "\\dO",
        "\\dy",
        "\\dd",
        "\\ddp",
        "\\drds",
        "\\db",
        "\\dx",
        "\\da",
        "\\do",
        "\\dconfig",
    ] {
        served.answer(&[asked]);
    }
    // As in PostgreSQL; it was `'lower' is not a whole number`.
    let error = served.error(&["\\sf lower"]);
    assert!(
        error.contains("function \"lower\" does not exist"),
        "{error}"
    );
    let version = served.answer(&[
        "SHOW server_version",
        "SELECT version()",
        "SELECT current_schema()",
    ]);
    assert!(
        version.contains("16.6 (weir") && version.contains("PostgreSQL 16.6"),
        "{version}"
    );
    served.answer(&[
        "BEGIN",
        "SELECT 1",
        "COMMIT",
        "SET application_name = 'x'",
        "SET whatever = 1",
    ]);
    assert_eq!(
        served.answer(&[
            "SET TIME ZONE '+02:00'",
            "SELECT TIMESTAMPTZ '2026-01-01 00:00:00Z'"
        ]),
        "SET\n2026-01-01 02:00:00+02\n"
    );
}

#[test]
fn a_timeout_and_a_cancel_end_the_scan_and_leave_the_connection() {
    if !has_psql() {
        return;
    }
    let served = Served::plain();
    let endless = "SELECT count(*) FROM generate_series(1, 1000000000000) a(v) WHERE v % 7 = 1000";
    let output = served.psql(&[
        "SET statement_timeout = 500",
        endless,
        "SELECT 'still here'",
    ]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("statement timeout"), "{errors}");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("still here"),
        "{errors}"
    );

    served.add_trace("large.pcap", 64 << 20);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let config = format!("host=127.0.0.1 port={} user=me dbname=weir", served.postgres.port());
        let (client, connection) = tokio_postgres::connect(&config, tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        // No machine is fast enough to be through before it is cancelled.
        let scan = "SELECT count(*) FROM 'large.pcap' a CROSS JOIN generate_series(1, 1000000000000) b(v) WHERE (a.frame.len + v) % 7 = 1000";
        // The best of three: a machine that does much else may take its time.
        let mut soonest = Duration::MAX;
        for _ in 0..3 {
            let cancel = client.cancel_token();
            let running = client.simple_query(scan);
            let canceller = async {
                tokio::task::block_in_place(|| served.wait_for("weir_queries_running 1"));
                let asked = Instant::now();
                cancel.cancel_query(tokio_postgres::NoTls).await.unwrap();
                asked
            };
            let (ended, asked) = tokio::join!(running, canceller);
            let error = ended.unwrap_err();
            soonest = soonest.min(asked.elapsed());
            assert_eq!(error.code(), Some(&tokio_postgres::error::SqlState::QUERY_CANCELED), "{error}");
            if soonest < Duration::from_secs(1) {
                break;
            }
        }
        assert!(soonest < Duration::from_secs(1), "{soonest:?}");
        let row = client.query_one("SELECT $1::bigint + 1", &[&41_i64]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), 42);
        let rows = client.query("SELECT frame.len FROM 'office.pcapng' WHERE frame.len > $1 LIMIT 3", &[&60_i64]).await.unwrap();
        assert_eq!(rows.len(), 3);
    });
    // A statement whose client does not wait any more does not run on.
    served.wait_for("weir_queries_running 0");
}

#[test]
fn long_answers_come_piece_by_piece() {
    if !has_psql() {
        return;
    }
    let served = Served::plain();
    let asked = "SELECT frame.number FROM 'office.pcapng' ORDER BY 1";
    let whole = served.answer(&[asked]);
    let mut pieces = Command::new("psql");
    let port = served.postgres.port().to_string();
    pieces
        .args([
            "-X",
            "-A",
            "-t",
            "-h",
            "127.0.0.1",
            "-U",
            "me",
            "-d",
            "weir",
        ])
        .args(["-p", &port, "-v", "FETCH_COUNT=100", "-c", asked]);
    let pieces = pieces.output_limited().unwrap();
    assert_eq!(String::from_utf8_lossy(&pieces.stdout), whole);
    assert!(pieces.stderr.is_empty(), "{pieces:?}");
}

/// Ctrl-C at a terminal, typed as in a shell.
#[test]
fn ctrl_c_ends_the_scan_and_leaves_the_connection() {
    if !has_psql() || !cfg!(unix) {
        return;
    }
    let served = Served::plain();
    let script = r#"
import os, pty, select, signal, sys, time
port = sys.argv[1]
pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(PAGER="cat", TERM="dumb", PSQL_HISTORY="/dev/null")
    os.execvp("psql", ["psql", "-X", "-n", "-h", "127.0.0.1", "-p", port, "-U", "me", "-d", "weir"])
said = ""
def until(text, seconds=60):
    global said
    end = time.monotonic() + seconds
    while text not in said:
        assert time.monotonic() < end, f"no {text!r} in {said!r}"
        if select.select([terminal], [], [], 0.1)[0]:
            said += os.read(terminal, 65536).decode(errors="replace")
    said = said[said.index(text) + len(text):]
until("weir=> ")
os.write(terminal, b"\\timing on\n")
until("Timing is on.")
until("weir=> ")
os.write(terminal, b"SELECT count(*) FROM generate_series(1, 1000000000000) a(v) WHERE v % 7 = 1000;\n")
until(";")
print("asked", flush=True)
sys.stdin.readline()
os.write(terminal, b"\x03")
until("canceling statement due to user request")
print("ended", flush=True)
until("weir=> ")
os.write(terminal, b"SELECT 40 + 2 AS answer;\n")
until("42")
until("Time: ")
os.write(terminal, b"\\q\n")
os.waitpid(pid, 0)
"#;
    use std::io::{BufRead, BufReader, Write};
    use std::process::Stdio;
    let mut typed = Command::new("python3")
        .args(["-c", script])
        .arg(served.postgres.port().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn_limited()
        .unwrap();
    let mut lines = BufReader::new(typed.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "asked");
    served.wait_for("weir_queries_running 1");
    let begun = Instant::now();
    writeln!(typed.stdin.take().unwrap()).unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "ended");
    println!("Ctrl-C was answered within {:?}", begun.elapsed());
    served.wait_for("weir_queries_running 0");
    assert!(typed.wait().unwrap().success());
}

/// As in PostgreSQL; they had no effect, without a word.
#[test]
fn commands_of_transactions_without_an_effect_have_warnings() {
    if !has_psql() {
        return;
    }
    let served = Served::plain();
    let begun = "WARNING:  there is already a transaction in progress";
    let none = "WARNING:  there is no transaction in progress";
    for (commands, expected) in [
        (["BEGIN", "BEGIN", "COMMIT"], vec![begun]),
        (["BEGIN", "COMMIT", "COMMIT"], vec![none]),
        (["ROLLBACK", "BEGIN", "ROLLBACK"], vec![none]),
        (
            ["SET client_min_messages = error", "COMMIT", "BEGIN"],
            vec![],
        ),
    ] {
        let told = served.error(&commands);
        assert_eq!(told.lines().collect::<Vec<_>>(), expected, "{commands:?}");
    }
}
