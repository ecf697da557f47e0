//! Statements and messages that try to leave the roots or to end the server, by every door: each is refused, and the
//! file system and the server are as they were.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use arrow_flight::sql::client::FlightSqlServiceClient;
use futures::TryStreamExt as _;
use tokio_postgres::{NoTls, SimpleQueryMessage};
use tonic::transport::Channel;
use weir_testkit::until;

use crate::served::Served;

/// Files and folders below a folder, with what is in the files.
fn below(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        match path.is_dir() {
            true => {
                all.push((name, Vec::new()));
                all.extend(below(&path));
            }
            false => all.push((name, std::fs::read(&path).unwrap())),
        }
    }
    all.sort();
    all
}

pub(crate) async fn postgres(served: &Served) -> tokio_postgres::Client {
    let config = format!("host=127.0.0.1 port={} user=me", served.postgres.port());
    let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

pub(crate) async fn flight(served: &Served) -> FlightSqlServiceClient<Channel> {
    let address = format!("http://{}", served.flight);
    let channel = Channel::from_shared(address).unwrap().connect().await;
    FlightSqlServiceClient::new(channel.unwrap())
}

/// The rows that a simple query gives, or the message of its error.
pub(crate) async fn simple(
    client: &tokio_postgres::Client,
    sql: &str,
) -> Result<Vec<String>, String> {
    let answer = client.simple_query(sql).await;
    let answer = answer.map_err(|error| match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => error.to_string(),
    })?;
    let rows = answer.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => {
            let values = (0..row.len()).map(|index| row.get(index).unwrap_or("NULL"));
            Some(values.collect::<Vec<_>>().join("|"))
        }
        _ => None,
    });
    Ok(rows.collect())
}

pub(crate) const POST: &str =
    "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sql";

#[test]
fn words_of_the_catalog_lead_out_of_nothing() {
    let served = Served::plain();
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.csv"), "s\nhidden words\n").unwrap();
    let before = (below(served.path()), below(outside.path()));
    let out = outside.path().display();
    let statements = [
        format!("COPY (SELECT 'x' AS pg_a) TO '{out}/evil.csv'"),
        format!("COPY (SELECT oid FROM pg_catalog.pg_class) TO '{out}/evil.csv' STORED AS CSV"),
        format!("COPY pg_catalog.pg_class TO '{out}/evil.parquet'"),
        "COPY (SELECT 'x' AS pg_a) TO 'evil.csv'".to_owned(),
        format!("EXPLAIN ANALYZE COPY (SELECT 1 AS pg_a) TO '{out}/evil.csv'"),
        format!("SELECT 1 FROM pg_class; COPY (SELECT 1) TO '{out}/evil.csv'"),
        format!("SELECT relname ~ 'x' FROM pg_class; COPY (SELECT 1) TO '{out}/evil.csv'"),
        format!("SELECT '\\'; COPY (SELECT 1 AS pg_a) TO ''{out}/evil.csv''; --'; SELECT pg_x"),
        "CREATE SCHEMA pg_r".to_owned(),
        format!(
            "CREATE EXTERNAL TABLE pg_r.e (s VARCHAR) STORED AS CSV LOCATION '{out}/secret.csv'"
        ),
        format!("CREATE EXTERNAL TABLE pg_e STORED AS CSV LOCATION '{out}/secret.csv'"),
        "SELECT s FROM pg_r.e".to_owned(),
        "SELECT s FROM pg_e".to_owned(),
        "CREATE TABLE pg_t AS SELECT 1 AS a".to_owned(),
        "SELECT 1 AS a INTO pg_t".to_owned(),
        "SELECT oid INTO pg_t FROM pg_catalog.pg_class".to_owned(),
        "INSERT INTO pg_catalog.pg_class VALUES (1)".to_owned(),
        "WITH x AS (INSERT INTO pg_class VALUES (1)) SELECT * FROM x, pg_class".to_owned(),
        "UPDATE pg_class SET oid = 1".to_owned(),
        "DELETE FROM pg_class".to_owned(),
        "TRUNCATE pg_class".to_owned(),
        "DROP TABLE pg_class".to_owned(),
        "CREATE FUNCTION pg_f(int) RETURNS int RETURN 1".to_owned(),
        "SET datafusion.runtime.temp_directory = '/tmp/pg_x'".to_owned(),
        format!("SELECT * FROM '{out}/secret.csv' AS pg_a"),
        format!("SELECT * FROM \"{out}/secret.csv\" pg_a"),
        format!("SELECT * FROM pg_catalog.\"{out}/secret.csv\""),
        format!("SELECT * FROM information_schema.'{out}/secret.csv'"),
        format!("SELECT * FROM pg_class, '{out}/secret.csv'"),
        format!("SELECT (SELECT s FROM '{out}/secret.csv') FROM pg_class"),
        format!("WITH pg_x AS (SELECT * FROM '{out}/secret.csv') SELECT * FROM pg_x"),
        format!("CREATE VIEW pg_v AS SELECT * FROM '{out}/secret.csv'"),
        format!("PREPARE pg_p AS SELECT * FROM '{out}/secret.csv'"),
        format!("SELECT * FROM read_csv('{out}/secret.csv') pg_a"),
        "SELECT pg_read_file('/etc/passwd')".to_owned(),
        "SELECT pg_ls_dir('/')".to_owned(),
        "SELECT repeat('pg_', 1000000000), relname FROM pg_class".to_owned(),
    ];
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        for sql in &statements {
            // The statements are refused directly and prepared, also after other statements.
            let client = postgres(&served).await;
            let error = simple(&client, sql).await.unwrap_err();
            assert!(!error.contains("hidden words"), "{sql}: {error}");
            assert!(client.query(sql.as_str(), &[]).await.is_err(), "{sql}");
            let cursor = format!("BEGIN; DECLARE c CURSOR FOR {sql}; FETCH ALL FROM c");
            assert!(simple(&client, &cursor).await.is_err(), "{sql}");
            let client = postgres(&served).await;
            let copied = format!("COPY ({sql}) TO STDOUT");
            assert!(simple(&client, &copied).await.is_err(), "{sql}");
            let answer = served.request(POST, sql);
            assert!(answer.starts_with("HTTP/1.1 4"), "{sql}: {answer}");
            let mut client = flight(&served).await;
            // A plan is no answer yet: how long values are is known when they are made.
            if let Ok(info) = client.execute(sql.clone(), None).await {
                let ticket = info.endpoint[0].ticket.clone().unwrap();
                let rows = match client.do_get(ticket).await {
                    Ok(rows) => rows.try_collect::<Vec<_>>().await.map(drop).is_ok(),
                    Err(_) => false,
                };
                assert!(!rows, "{sql}");
            }
            let after = (below(served.path()), below(outside.path()));
            assert!(after == before, "{sql}");
        }
        // A word is a word, and the catalog is still asked.
        let client = postgres(&served).await;
        let rows = simple(&client, "SELECT count(*) AS pg_packets FROM 'office.pcapng'").await;
        let of_engine = simple(&client, "SELECT count(*) FROM 'office.pcapng'").await;
        assert_eq!(rows, of_engine);
        let rows = simple(
            &client,
            "BEGIN; SELECT relname FROM pg_catalog.pg_class WHERE relname = 'office.pcapng'; COMMIT",
        );
        assert_eq!(rows.await, Ok(vec!["office.pcapng".to_owned()]));
        let rows = client.query(
            "SELECT table_name FROM information_schema.tables WHERE table_name = $1",
            &[&"office.pcapng"],
        );
        assert_eq!(rows.await.unwrap().len(), 1);
    });
}

#[test]
fn what_is_too_deep_or_too_large_is_refused_and_the_server_goes_on() {
    let served = Served::with(|options| options.limits.time_max = Some(Duration::from_secs(20)));
    let many = 100_000;
    let shapes = [
        ("explain", format!("{}SELECT 1", "EXPLAIN ".repeat(many))),
        ("sum", format!("SELECT 1{}", "+1".repeat(4 * many))),
        (
            "and",
            format!("SELECT 1 WHERE true{}", " AND true".repeat(many)),
        ),
        (
            "and of the catalog",
            format!(
                "SELECT 1 FROM pg_class WHERE true{}",
                " AND true".repeat(many)
            ),
        ),
        (
            "and few",
            format!("SELECT 1 WHERE true{}", " AND true".repeat(5000)),
        ),
        (
            "union",
            format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(40_000)),
        ),
        (
            "union of the catalog",
            format!(
                "SELECT oid FROM pg_class{}",
                " UNION ALL SELECT 1".repeat(40_000)
            ),
        ),
        (
            "parentheses",
            format!("SELECT {}1{}", "(".repeat(many), ")".repeat(many)),
        ),
        (
            "case",
            format!(
                "SELECT {}1{}",
                "CASE WHEN true THEN ".repeat(30_000),
                " END".repeat(30_000)
            ),
        ),
        ("not", format!("SELECT {}true", "NOT ".repeat(many))),
        (
            "lists",
            format!("SELECT {}1{}", "[".repeat(many), "]".repeat(many)),
        ),
        (
            "subqueries",
            format!(
                "SELECT * FROM {}SELECT 1{}",
                "(".repeat(many),
                ")".repeat(many)
            ),
        ),
        ("casts", format!("SELECT 1{}", "::int".repeat(many))),
        (
            "joins",
            format!(
                "SELECT * FROM 'office.pcapng'{}",
                " CROSS JOIN 'office.pcapng'".repeat(3000)
            ),
        ),
        (
            "pipes",
            format!("FROM 'office.pcapng'{}", " |> WHERE true".repeat(3000)),
        ),
        (
            "folders",
            format!("SELECT * FROM '{}x.pcap'", "**/".repeat(300_000)),
        ),
        (
            "folders of a function",
            format!("SELECT * FROM dns('{}x.pcap')", "**/".repeat(300_000)),
        ),
        (
            "subqueries of each row",
            format!(
                "SELECT 1{} FROM 'office.pcapng' a",
                ", (SELECT max(b.frame.len) FROM 'office.pcapng' b WHERE b.frame.number = a.frame.number)"
                    .repeat(200)
            ),
        ),
        (
            "columns of a join",
            format!(
                "SELECT * FROM 'office.pcapng'{}",
                " CROSS JOIN 'office.pcapng'".repeat(20)
            ),
        ),
        (
            "keys",
            format!("SELECT 1 FROM 'office.pcapng' ORDER BY 1{}", ", 1".repeat(1000)),
        ),
        (
            "a list in a type",
            "SELECT CAST(NULL AS INT[2000000000])".to_owned(),
        ),
        ("statements", "SELECT 1;".repeat(60_000)),
        ("parameter", "SELECT $10000000000".to_owned()),
        (
            "parameter of the catalog",
            "SELECT $10000000000 FROM pg_class".to_owned(),
        ),
    ];
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        for (name, sql) in &shapes {
            let client = postgres(&served).await;
            let error = simple(&client, sql).await.unwrap_err();
            assert!(!error.contains("closed"), "{name}: {error}");
            assert!(client.prepare(sql).await.is_err(), "{name}");
            let answer = served.request(POST, sql);
            assert!(answer.starts_with("HTTP/1.1 4"), "{name}: {answer}");
            let mut client = flight(&served).await;
            assert!(client.execute(sql.clone(), None).await.is_err(), "{name}");
            assert!(client.prepare(sql.clone(), None).await.is_err(), "{name}");
            assert!(served.request(POST, "SELECT 42").contains("42"), "{name}");
        }
    });
}

/// The text was parsed statement by statement when there were too many in it, all at once, before a clock looked.
#[test]
fn the_statements_of_a_text_are_counted_before_any_is_parsed() {
    let served = Served::plain();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        for word in ["SET a.b = 1;", "BEGIN;", "SELECT 1;", "DISCARD ALL;"] {
            let error = simple(&client, &word.repeat(1001)).await.unwrap_err();
            assert!(
                error.contains("a text has 1000 statements at most"),
                "{word}: {error}"
            );
        }
        let answer = simple(&client, &"SET a.b = 1;".repeat(1000)).await;
        assert_eq!(answer, Ok(Vec::new()));
    });
}

/// Two arrays of half a million values, a megabyte each, took 800 MB of the process that answers all.
#[test]
fn arrays_that_are_parameters_have_a_limit() {
    let served = Served::with(|options| options.limits.text_bytes_max = 8 << 20);
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        let sql = "SELECT CAST(cardinality($1::bigint[]) AS BIGINT)";
        let long = vec![1_i64; 200_001];
        let error = client.query_one(sql, &[&long]).await.unwrap_err();
        let message = error.as_db_error().unwrap().message();
        assert_eq!(message, "an array has 200000 values at most");
        let row = client.query_one(sql, &[&vec![1_i64; 1000]]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), 1000);
    });
    let params = vec!["1"; 200_001].join(",");
    let body = format!("{{\"sql\":\"SELECT 1 = ANY($1)\",\"params\":[[{params}]]}}");
    let head = "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json";
    let answer = served.request(head, &body);
    assert!(answer.contains("200000 values at most"), "{answer}");
}

#[test]
fn what_is_as_deep_as_may_be_is_answered() {
    let served = Served::plain();
    let many = 450;
    let sums = format!("SELECT 1{} AS a", "+1".repeat(150));
    let ands = format!(
        "SELECT 1 AS a FROM (SELECT 7 AS b) WHERE true{}",
        " AND b = 7".repeat(many)
    );
    let ors = format!(
        "SELECT 1 AS a FROM (SELECT 7 AS b) WHERE b = 0{}",
        " OR b = 7".repeat(many)
    );
    let unions = format!(
        "SELECT count(*) AS a FROM (SELECT 1{})",
        " UNION ALL SELECT 1".repeat(300)
    );
    let of_catalog = format!(
        "SELECT count(*) AS a FROM pg_class WHERE true{}",
        " AND oid > 0".repeat(many)
    );
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        for sql in [&sums, &ands, &ors, &unions] {
            let client = postgres(&served).await;
            assert_eq!(simple(&client, sql).await.map(|rows| rows.len()), Ok(1));
            assert_eq!(client.query(sql.as_str(), &[]).await.unwrap().len(), 1);
            let answer = served.request(POST, sql);
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            let mut client = flight(&served).await;
            assert!(client.execute(sql.clone(), None).await.is_ok());
        }
        let client = postgres(&served).await;
        let rows = simple(&client, &of_catalog).await.map(|rows| rows.len());
        assert_eq!(rows, Ok(1));
    });
}

#[test]
fn messages_before_any_password_end_their_connection_and_nothing_else() {
    let served = Served::with(|options| options.password = Some("right".to_owned()));
    let startup: &[u8] = b"\0\0\0\x11\0\x03\0\0user\0me\0\0";
    let message = |body: &[u8]| {
        let length = u32::try_from(body.len() + 4).unwrap();
        [b"p", &length.to_be_bytes()[..], body].concat()
    };
    for body in [
        &b""[..],
        b"\0",
        b"SCRAM-SHA-256",
        b"SCRAM-SHA-256\0",
        b"SCRAM-SHA-256\0\0\0",
        b"SCRAM-SHA-256\0\x7f\xff\xff\xffn,,",
        b"SCRAM-SHA-256\0\x80\0\0\0n,,",
        b"SCRAM-SHA-256\0\xff\xff\xff\xfen,,",
        b"SCRAM-SHA-256\0\0\0\0\x04n,,",
        b"OAUTHBEARER\0\0\0\0\x09n,,",
    ] {
        let mut socket = TcpStream::connect(served.postgres).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        socket.write_all(startup).unwrap();
        socket.write_all(&message(body)).unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(
            answer.contains("the parts of a message do not have its length"),
            "{body:?}: {answer}"
        );
    }
    // Statements were passed over, for as long as an authentication may take.
    let query = b"Q\0\0\0\x0dSELECT 1\0";
    let long = [b"Q", &1_000_000_u32.to_be_bytes()[..], b"SELECT"].concat();
    for (statement, expected) in [
        (&query[..], "expected a SASL response"),
        (&long[..], "invalid message length: 1000000"),
    ] {
        let mut socket = TcpStream::connect(served.postgres).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        socket.write_all(startup).unwrap();
        socket.write_all(statement).unwrap();
        let mut answer = Vec::new();
        socket.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(
            answer.contains("08P01") && answer.contains(expected),
            "{answer}"
        );
    }
    let answer = served.psql(&["SELECT 42"]);
    assert_eq!(String::from_utf8_lossy(&answer.stdout), "42\n");
}

/// Rows without an end.
pub(crate) const ENDLESS: &str = "SELECT a.v, b.v FROM generate_series(1, 1000000) a(v) CROSS JOIN generate_series(1, 1000000) b(v)";

#[test]
fn values_that_are_far_larger_than_their_statement_are_refused() {
    let served = Served::with(|options| options.engine.memory_limit_bytes = Some(200 << 20));
    let doubled = |mut sql: String, times: usize| {
        for _ in 0..times {
            sql = format!("SELECT x || x AS x FROM ({sql})");
        }
        sql
    };
    let constant = "x".repeat(500_000);
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        let from = "FROM 'office.pcapng'";
        for sql in [
            "SELECT length(repeat('x', 2000000000))".to_owned(),
            format!("SELECT max(length(repeat('x', 200000000 + frame.len))) {from}"),
            "SELECT length(lpad('x', 2000000000, 'yz'))".to_owned(),
            format!("SELECT max(length(rpad('x', 100000000 + frame.len, 'yz'))) {from}"),
            "SELECT cardinality(array_resize([1], 10000000000, 2))".to_owned(),
            format!("SELECT max(cardinality(array_resize([1], 100000000 + frame.len, 2))) {from}"),
            "SELECT cardinality(array_repeat('x', 4000000000))".to_owned(),
            "SELECT cardinality(range(1, 9223372036854775807))".to_owned(),
            "SELECT cardinality(generate_series(TIMESTAMP '1970-01-01', TIMESTAMP '2200-01-01', INTERVAL '1 nanosecond'))".to_owned(),
            format!("SELECT max(length(x)) FROM ({})", doubled(format!("SELECT ip.src AS x {from}"), 24)),
            format!("SELECT max(length(x)) FROM ({})", doubled(format!("SELECT ip.src AS x {from}"), 24).replace("x || x", "concat(x, x)")),
            format!("SELECT max(length(replace(repeat('a', 100000), 'a', repeat('b', 100000)))) {from}"),
            "SELECT length(regexp_replace(repeat('a', 100000), '', repeat('b', 100000), 'g'))".to_owned(),
        ] {
            let error = simple(&client, &sql).await.unwrap_err();
            // A value that is refused, or a process that has taken too much before.
            let is_refused = ["MiB", "overflow", "the running statements held more than --memory-limit"];
            assert!(is_refused.iter().any(|part| error.contains(part)), "{sql:.200}: {error}");
        }
        // Each of them is small enough.
        let lengths = |times: usize| {
            let all: Vec<_> = (0..times).map(|number| format!("length('y' || repeat('x', 10000000)) AS a{number}")).collect();
            format!("SELECT {}", all.join(", "))
        };
        let error = simple(&client, &lengths(30)).await.unwrap_err();
        assert!(error.contains("256 MiB together"), "{error}");
        assert_eq!(simple(&client, &lengths(1)).await.unwrap(), ["10000001"]);
        // The catalog's parser nests less deep.
        let long = format!("SELECT relname || '{}' AS x FROM pg_catalog.pg_class", "x".repeat(5000));
        let doubled = doubled(long, 16);
        for sql in [doubled.replace("x || x", "concat(x, x)"), doubled] {
            let sql = format!("SELECT max(length(x)) FROM ({sql})");
            let error = simple(&client, &sql).await.unwrap_err();
            assert!(error.contains("MiB"), "{error}");
        }
        // Long constants are as they were.
        let sql = format!("SELECT count(*), max(length(x)) FROM (SELECT '{constant}' AS x {from})");
        let long = simple(&client, &sql).await.unwrap();
        let few = simple(&client, &format!("SELECT count(*), 500000 {from}")).await.unwrap();
        assert_eq!(long, few);
        assert_eq!(simple(&client, "SELECT 'a' || 1 || NULL").await.unwrap(), ["NULL"]);
        assert_eq!(simple(&client, "SELECT 'a' || 1").await.unwrap(), ["a1"]);
        assert_eq!(simple(&client, "SELECT lpad(repeat('ab', 2), 6, '-')").await.unwrap(), ["--abab"]);
    });
    // Nothing panicked.
    served.wait_for("weir_panics_total 0");
}

#[test]
fn what_is_held_between_messages_has_a_limit() {
    let served = Served::plain();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        let text = |number: usize| format!("SELECT {number}, '{}'", "x".repeat(900_000));
        let mut held = Vec::new();
        let error = loop {
            match client.prepare(&text(held.len())).await {
                Ok(statement) => held.push(statement),
                Err(error) => break error,
            }
            assert!(held.len() < 10, "10 statements of 900 KB are held");
        };
        let error = error.as_db_error().unwrap();
        assert_eq!(error.code().code(), "54000");
        assert!(
            error.message().contains("of a connection take 16 MiB"),
            "{error}"
        );
        // Closed statements make room.
        held.clear();
        client.simple_query("SELECT 1").await.unwrap();
        client.prepare(&text(0)).await.unwrap();
        let mut refused = None;
        for number in 0..10 {
            let view = format!("CREATE VIEW v{number} AS {}", text(number));
            refused = refused.or(simple(&client, &view).await.err());
        }
        assert!(refused.unwrap().contains("of a connection take 16 MiB"));
        // Dropped statements and views make room, and failed ones hold nothing.
        let client = postgres(&served).await;
        for number in 0..30 {
            for sql in [
                format!("PREPARE p{number} AS {}", text(number)),
                format!("DEALLOCATE P{number}"),
                format!("CREATE VIEW v{number} AS {}", text(number)),
                format!("DROP VIEW V{number}"),
            ] {
                let done = simple(&client, &sql).await;
                assert!(done.is_ok(), "{number} {sql:.40}: {done:?}");
            }
            let wrong = format!(
                "CREATE VIEW w{number} AS SELECT no_column, '{}'",
                "x".repeat(900_000)
            );
            let error = simple(&client, &wrong).await.unwrap_err();
            assert!(error.contains("no_column"), "{error:.200}");
        }
        // So do closed cursors.
        let client = postgres(&served).await;
        client.batch_execute("BEGIN").await.unwrap();
        for number in 0..6 {
            let sql = format!("DECLARE c{number} CURSOR FOR {}", text(number));
            client.execute(sql.as_str(), &[]).await.unwrap();
            let close = format!("CLOSE c{number}");
            client.batch_execute(&close).await.unwrap();
        }
    });
}

#[test]
fn statements_that_never_end_keep_no_other_from_being_answered() {
    let served = Served::with(|options| {
        options.limits.queries_max = 2;
        options.engine.memory_limit_bytes = Some(400 << 20);
    });
    let endless = ENDLESS.replace("a.v, b.v", "max(a.v + b.v)");
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let mut running = Vec::new();
        for _ in 0..6 {
            let client = postgres(&served).await;
            let sql = endless.clone();
            running.push(tokio::spawn(async move { simple(&client, &sql).await }));
        }
        // Each has a process that has to start.
        until("six statements", || {
            served.has_counter("weir_queries_running 6")
        });
        // Each of these waits for its turn, which one of those gives.
        for number in 0..6 {
            let other = postgres(&served).await;
            let sql = format!("SELECT {number}");
            let answer = simple(&other, &sql).await;
            assert_eq!(answer.unwrap(), [number.to_string()]);
        }
        assert!(running.iter().all(|one| !one.is_finished()));
        // The statements end with their clients.
        running.iter().for_each(tokio::task::JoinHandle::abort);
    });
    served.wait_for("weir_queries_running 0");
}

/// The memory that statements take before it is counted.
#[test]
fn statements_that_take_more_memory_than_there_is_end_alone() {
    let served = Served::with(|options| {
        options.engine.memory_limit_bytes = Some(200 << 20);
        options.limits.time_max = Some(Duration::from_secs(60));
    });
    let many = "generate_series(1, 1000000) s(v)";
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        let other = postgres(&served).await;
        assert_eq!(simple(&client, "CREATE VIEW kept AS SELECT 7 AS a").await.unwrap().len(), 0);
        for (name, sql) in [
            (
                "a list beside each row",
                format!("SELECT count(*) FROM (SELECT array_agg(v) AS a FROM {many}) CROSS JOIN {many} WHERE a[v] = 5"),
            ),
            (
                "a list for each row of a window",
                format!("SELECT count(a) FROM (SELECT array_agg(v) OVER (ORDER BY v) AS a FROM {many})"),
            ),
            (
                "a text beside each row",
                format!("SELECT max(length(a || v)) FROM (SELECT string_agg(v, 'abc') AS a FROM {many}) CROSS JOIN {many}"),
            ),
            (
                "one long text for all rows of a window",
                format!("SELECT length(b) FROM (SELECT max(CASE WHEN v = 1 THEN repeat('x', 1000000) ELSE '' END) OVER () AS b FROM {many})"),
            ),
            (
                "lists of lists",
                format!("SELECT cardinality(array_agg(a)) FROM (SELECT make_array({}) AS a FROM {many})", ["v"; 100].join(", ")),
            ),
            (
                "a row that no client can take",
                "SELECT array_agg(v) FROM generate_series(1, 8000000) s(v)".to_owned(),
            ),
        ] {
            let error = simple(&client, &sql).await.unwrap_err();
            assert!(!error.contains("closed"), "{name}: {error}");
            let answer = served.request(POST, &sql);
            assert!(answer.starts_with("HTTP/1.1 4"), "{name}: {answer:.300}");
            // The connection has what it had, and others are answered.
            assert_eq!(simple(&client, "SELECT a FROM kept").await.unwrap(), ["7"], "{name}");
            assert_eq!(simple(&other, "SELECT 1").await.unwrap(), ["1"], "{name}");
        }
    });
    served.wait_for("weir_panics_total 0");
}

/// Long rows that no client takes, and other statements with equally long rows.
#[test]
fn long_rows_that_are_not_taken_make_room_for_others() {
    let served = Served::plain();
    let long = |letter: char| {
        format!("SELECT repeat('{letter}', 20000000) AS t FROM generate_series(1, 3)")
    };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let idle = postgres(&served).await;
        let cursor = format!("BEGIN; DECLARE c CURSOR FOR {}; FETCH 1 FROM c", long('x'));
        let rows = simple(&idle, &cursor).await.unwrap();
        assert_eq!(rows.iter().map(String::len).sum::<usize>(), 20_000_000);
        // The cursor has the room: the other statement waits, and gets the room when the connection of the cursor ends.
        let other = postgres(&served).await;
        let rows = simple(&other, &long('y')).await.unwrap();
        assert_eq!(rows.len(), 3);
        assert!(rows.iter().all(|row| row.len() == 20_000_000));
        assert!(simple(&idle, "FETCH 1 FROM c").await.is_err());
        // The room of the row has been returned: an HTTP answer without a reader makes room, too.
        let mut page = TcpStream::connect(served.http).unwrap();
        let sql = long('z');
        write!(page, "{POST}\r\nContent-Length: {}\r\n\r\n{sql}", sql.len()).unwrap();
        page.read_exact(&mut [0; 16]).unwrap();
        let rows = simple(&other, &long('y')).await.unwrap();
        assert_eq!(rows.len(), 3);
        let mut client = flight(&served).await;
        let info = client
            .execute("SELECT 7 AS a".to_owned(), None)
            .await
            .unwrap();
        let ticket = info.endpoint[0].ticket.clone().unwrap();
        let rows: Vec<_> = client
            .do_get(ticket)
            .await
            .unwrap()
            .try_collect()
            .await
            .unwrap();
        assert_eq!(rows.len(), 1);
    });
    served.wait_for("weir_queries_running 0");
}

/// Values of a bit each, whose text is hundreds of times as long.
#[test]
fn lists_of_short_values_have_the_limit_of_their_text() {
    let served = Served::plain();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        for list in [
            "array_agg(v > 0)",
            "array_agg(CAST(1 AS TINYINT))",
            "array_agg(NULL)",
        ] {
            let sql = format!("SELECT {list} FROM generate_series(1, 20000000) s(v)");
            let error = simple(&client, &sql).await.unwrap_err();
            assert!(error.contains("32 MiB"), "{list}: {error}");
            let answer = served.request(POST, &sql);
            assert!(answer.starts_with("HTTP/1.1 413"), "{list}: {answer:.300}");
        }
    });
}

#[test]
fn a_copy_whose_process_is_ended_leaves_no_file() {
    let served = Served::with(|options| {
        options.engine.memory_limit_bytes = Some(200 << 20);
        options.allow_write = true;
    });
    let before = below(served.path());
    let rows = "SELECT v % 2 AS k, array_agg(v) OVER (ORDER BY v) AS a FROM generate_series(1, 1000000) s(v)";
    let copy = format!("COPY ({rows}) TO 'parts' STORED AS PARQUET PARTITIONED BY (k)");
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        let error = simple(&client, &copy).await.unwrap_err();
        assert!(error.contains("memory"), "{error}");
    });
    served.wait_for("weir_processes_lost_total 1");
    until("the folder is as it was", || below(served.path()) == before);
}

#[test]
fn planning_ends_when_its_time_is_over() {
    let served = Served::with(|options| {
        options.limits.queries_max = 1;
        options.limits.time_max = Some(Duration::from_millis(300));
    });
    // Each of these tables has hundreds of columns: so many are within the limits, and are planned for seconds.
    let tables = (0..6).map(|number| format!("'office.pcapng' AS t{number}"));
    let tables = tables.collect::<Vec<_>>().join(" CROSS JOIN ");
    let joined = format!("SELECT * FROM (SELECT * FROM {tables}) WHERE false");
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        for _ in 0..2 {
            let error = simple(&client, &joined).await.unwrap_err();
            assert!(error.contains("300 ms"), "{error}");
            let prepared = client.prepare(&joined).await.unwrap_err();
            let error = prepared.as_db_error().unwrap().message().to_owned();
            assert!(error.contains("300 ms"), "{error}");
        }
    });
    // The statement has ended completely: the only turn is free.
    served.wait_for("weir_queries_running 0");
    // The next statement has a process, and one of values alone.
    until("two processes", || served.has_counter("weir_processes 2"));
}

/// A cancel had no effect while a statement was prepared, and neither had the client's own limit.
#[test]
fn preparing_ends_when_it_is_cancelled_or_the_time_of_the_client_is_over() {
    let served = Served::plain();
    // These are planned for seconds.
    let tables = (0..6).map(|number| format!("'office.pcapng' AS t{number}"));
    let tables = tables.collect::<Vec<_>>().join(" CROSS JOIN ");
    let joined = format!("SELECT * FROM (SELECT * FROM {tables}) WHERE false");
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        let cancel = client.cancel_token();
        let preparing = client.prepare(&joined);
        tokio::pin!(preparing);
        // A cancel that comes before the statement ends nothing, so that there are several.
        let error = loop {
            tokio::select! {
                prepared = &mut preparing => break prepared.unwrap_err(),
                cancelled = cancel.cancel_query(NoTls) => drop(cancelled),
            }
        };
        let error = error.as_db_error().unwrap().message().to_owned();
        assert!(error.contains("due to user request"), "{error}");
        let other = postgres(&served).await;
        simple(&other, "SET statement_timeout = 20").await.unwrap();
        let error = other.prepare(&joined).await.unwrap_err();
        let error = error.as_db_error().unwrap().message().to_owned();
        assert!(error.contains("statement timeout: 20 ms"), "{error}");
    });
    served.wait_for("weir_queries_running 0");
}

#[test]
fn sessions_are_what_their_statements_made_of_them_in_every_process() {
    let served = Served::plain();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let (one, other) = (postgres(&served).await, postgres(&served).await);
        simple(&one, "CREATE VIEW v AS SELECT 1 AS a; PREPARE p AS SELECT $1 + 1; SET TIME ZONE '+02:00'").await.unwrap();
        simple(&other, "CREATE VIEW v AS SELECT 2 AS a").await.unwrap();
        // Two that are open at once have a process each.
        let begun = simple(&one, "BEGIN; DECLARE c CURSOR FOR SELECT a, v FROM v CROSS JOIN generate_series(1, 100000) s(v); FETCH 1 FROM c");
        assert_eq!(begun.await.unwrap(), ["1|1"]);
        assert_eq!(simple(&one, "SELECT a FROM v").await.unwrap(), ["1"]);
        assert_eq!(simple(&other, "SELECT a FROM v").await.unwrap(), ["2"]);
        assert_eq!(simple(&one, "EXECUTE p(41)").await.unwrap(), ["42"]);
        assert!(simple(&other, "EXECUTE p(41)").await.is_err());
        let shown = simple(&one, "SELECT CAST(TIMESTAMPTZ '2026-01-01T00:00:00Z' AS TEXT)").await.unwrap();
        assert!(shown[0].contains("+02:00"), "{shown:?}");
        assert_eq!(simple(&one, "FETCH 1 FROM c").await.unwrap(), ["1|2"]);
        simple(&one, "DROP VIEW v; DEALLOCATE p").await.unwrap();
        assert!(simple(&one, "SELECT a FROM v").await.is_err());
        assert_eq!(simple(&other, "SELECT a FROM v").await.unwrap(), ["2"]);
    });
}

/// One statement of each kind that the parser knows and that is no question: what it would do stands behind it.
const EFFECTS: &[&str] = &[
    "INSERT INTO 'office.pcapng' SELECT * FROM 'office.pcapng'",
    "INSERT OVERWRITE DIRECTORY 'out' SELECT 1",
    "UPDATE 'office.pcapng' SET a = 1",
    "DELETE FROM 'office.pcapng'",
    "MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE",
    "TRUNCATE TABLE t",
    "COPY (SELECT 1 AS a) TO 'evil.csv'",
    "COPY (SELECT * FROM 'office.pcapng') TO 'evil.pcap'",
    "COPY (SELECT 1 AS a) TO 'evil' STORED AS PARQUET PARTITIONED BY (a)",
    "COPY t FROM '/etc/passwd'",
    "COPY t TO PROGRAM 'touch evil'",
    "UNLOAD ('SELECT 1') TO 'evil.csv' IAM_ROLE 'x'",
    "CREATE TABLE t AS SELECT 1 AS a",
    "CREATE TABLE t (a INT)",
    "CREATE TEMPORARY TABLE t (a INT)",
    "CREATE MATERIALIZED VIEW v AS SELECT 1",
    "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
    "CREATE EXTERNAL TABLE t (a INT) STORED AS PARQUET LOCATION 'evil/'",
    "CREATE DATABASE d",
    "CREATE SCHEMA s",
    "CREATE INDEX i ON t (a)",
    "CREATE FUNCTION f(INT) RETURNS INT RETURN $1",
    "CREATE FUNCTION f AS 'Evil' USING JAR 'evil.jar'",
    "CREATE PROCEDURE p() AS BEGIN SELECT 1; END",
    "CREATE MACRO m(a) AS a + 1",
    "CREATE SEQUENCE s",
    "CREATE TYPE t AS ENUM ('a')",
    "CREATE DOMAIN d AS INT",
    "CREATE ROLE r",
    "CREATE SECRET s (TYPE s3)",
    "CREATE EXTENSION e",
    "CREATE TRIGGER t BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()",
    "CREATE VIRTUAL TABLE t USING csv('/etc/passwd')",
    "CREATE STAGE s URL = 'file:///'",
    "CREATE SERVER s FOREIGN DATA WRAPPER w",
    "ALTER TABLE t ADD COLUMN a INT",
    "ALTER VIEW v AS SELECT 1",
    "ALTER ROLE r SUPERUSER",
    "ALTER INDEX i RENAME TO j",
    "DROP TABLE t",
    "DROP SCHEMA public CASCADE",
    "DROP DATABASE d",
    "DROP FUNCTION f",
    "DROP SECRET s",
    "GRANT ALL ON t TO me",
    "REVOKE ALL ON t FROM me",
    "SET datafusion.runtime.temp_directory = '/tmp/evil'",
    "SET datafusion.catalog.location = '/'",
    "SET ROLE admin",
    "ATTACH DATABASE 'evil.db' AS d",
    "ATTACH '/etc/passwd' AS p",
    "DETACH d",
    "INSTALL httpfs",
    "LOAD 'evil.so'",
    "PRAGMA writable_schema = 1",
    "CALL evil()",
    "EXECUTE IMMEDIATE 'COPY (SELECT 1) TO ''evil.csv'''",
    "PREPARE evil AS COPY (SELECT 1 AS a) TO 'evil.csv'",
    "PREPARE evil AS INSERT INTO t VALUES (1)",
    "CACHE TABLE t AS SELECT 1",
    "REPAIR TABLE t",
    "MSCK REPAIR TABLE t",
    "ANALYZE TABLE t COMPUTE STATISTICS",
    "VACUUM t",
    "OPTIMIZE TABLE t",
    "LOCK TABLES t WRITE",
    "FLUSH TABLES",
    "KILL 1",
    "EXPORT DATA OPTIONS (uri = 'evil.csv') AS SELECT 1",
    "LOAD DATA INPATH '/etc/passwd' INTO TABLE t",
    "COMMENT ON TABLE t IS 'x'",
    "DO $$ BEGIN END $$",
    "NOTIFY evil",
    "SELECT 1 AS a INTO t",
    "SELECT 1 AS a INTO OUTFILE 'evil.csv'",
    "WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT * FROM x",
    "EXPLAIN ANALYZE COPY (SELECT 1 AS a) TO 'evil.csv'",
    "EXPLAIN ANALYZE INSERT INTO t VALUES (1)",
];

#[test]
fn statements_of_every_kind_change_no_file_and_end_nothing() {
    let served = Served::plain();
    let before = below(served.path());
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let mut of_flight = flight(&served).await;
        for sql in EFFECTS {
            let client = postgres(&served).await;
            // Some are settings of a connection, which PostgreSQL's clients send and which have no effect here.
            let is_accepted = sql.starts_with("SET ROLE");
            let answers = [
                simple(&client, sql).await.is_ok(),
                client.execute(*sql, &[]).await.is_ok(),
            ];
            assert_eq!(answers, [is_accepted; 2], "{sql}");
            let answer = served.request(POST, sql);
            assert!(answer.starts_with("HTTP/1.1 4"), "{sql}: {answer}");
            assert!(
                of_flight.execute((*sql).to_owned(), None).await.is_err(),
                "{sql}"
            );
            assert!(
                of_flight
                    .execute_update((*sql).to_owned(), None)
                    .await
                    .is_err(),
                "{sql}"
            );
            assert_eq!(simple(&client, "SELECT 42").await.unwrap(), ["42"], "{sql}");
        }
    });
    assert!(below(served.path()) == before);
    served.wait_for("weir_panics_total 0");
    served.wait_for("weir_processes_lost_total 0");
}
