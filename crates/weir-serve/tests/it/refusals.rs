//! Tests of requests that a server refuses, over every protocol.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_postgres::NoTls;
use tokio_postgres::error::SqlState;
use weir_serve::{Options, Server, TlsFiles};
use weir_testkit::Limited as _;

use crate::messages::begun;
use crate::served::Served;

fn has_psql() -> bool {
    std::process::Command::new("psql")
        .arg("--version")
        .output_limited()
        .is_ok()
}

#[test]
fn nothing_leads_out_of_the_roots_and_nothing_is_written() {
    let served = Served::plain();
    let outside = tempfile::tempdir().unwrap();
    std::fs::copy(
        served.path().join("office.pcapng"),
        outside.path().join("secret.pcapng"),
    )
    .unwrap();
    std::fs::write(outside.path().join("secret.csv"), "a,b\n1,2\n").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.path(), served.path().join("way")).unwrap();
    let secret = outside.path().join("secret.csv");
    let secret = secret.to_str().unwrap();
    let mut doors: Vec<String> = [
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM '../secret.csv'",
        "SELECT * FROM 'way/secret.csv'",
        "SELECT * FROM 'way/secret.pcapng'",
        "SELECT * FROM packets('way/*.pcapng')",
        "SELECT * FROM flows('way/secret.pcapng')",
        "CREATE VIEW v AS SELECT * FROM 'way/secret.csv'",
        "PREPARE p AS SELECT * FROM 'way/secret.csv'",
        "EXPLAIN SELECT * FROM 'way/secret.csv'",
        "DESCRIBE 'way/secret.csv'",
        "COPY (SELECT 1) TO 'out.csv'",
        "COPY (SELECT 1) TO '/tmp/out.csv'",
        "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
        "CREATE TABLE t AS SELECT 1",
        "SELECT 1 AS a INTO t",
        "INSERT INTO t VALUES (1)",
        "UPDATE t SET a = 1",
        "DELETE FROM t",
        "TRUNCATE t",
        "DROP TABLE t",
        "ALTER TABLE t ADD COLUMN b INT",
        "CREATE SCHEMA s",
        "CREATE FUNCTION f(int) RETURNS int RETURN 1",
        "GRANT SELECT ON t TO me",
        "SET datafusion.runtime.temp_directory = '/tmp'",
        "COPY (SELECT * FROM 'way/secret.csv') TO STDOUT",
    ]
    .map(str::to_owned)
    .into();
    doors.push(format!("SELECT * FROM '{secret}'"));
    for sql in &doors {
        if has_psql() {
            let error = served.error(&[sql]);
            assert!(
                error.contains("ERROR") && !error.contains("1,2"),
                "{sql}: {error}"
            );
        }
        if sql.contains("STDOUT") {
            continue;
        }
        let head = "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sql";
        let answer = served.request(head, sql);
        assert!(answer.starts_with("HTTP/1.1 4"), "{sql}: {answer}");
        let says = answer.contains("restricted") || answer.contains("refused");
        assert!(says, "{sql}: {answer}");
    }
    assert!(!served.path().join("out.csv").exists());
    let files = served.request("GET /files HTTP/1.1\r\nHost: localhost", "");
    assert!(!files.contains("secret"), "{files}");
}

#[test]
fn passwords_are_asked_for() {
    if !has_psql() {
        return;
    }
    let right = Served::with(|options| options.password = Some("right".to_owned()));
    assert_eq!(right.answer(&["SELECT 1"]), "1\n");
    let wrong = Served::with(|options| options.password = Some("other".to_owned()));
    let error = wrong.error(&["SELECT 1"]);
    let expected = "password authentication failed for user \"me\"";
    assert!(error.contains(expected), "{error}");
}

/// A limit in the options of a connection was passed over, without a word.
#[test]
fn a_timeout_of_the_startup_message_ends_statements() {
    let served = Served::plain();
    let config = |limit: &str| {
        let port = served.postgres.port();
        format!("host=127.0.0.1 port={port} user=me options='-c statement_timeout={limit}'")
    };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let connected = tokio_postgres::connect(&config("300ms"), NoTls).await;
        let (client, connection) = connected.unwrap();
        tokio::spawn(connection);
        let endless = client.simple_query(crate::attacks::ENDLESS).await;
        let code = endless.err().and_then(|error| error.code().cloned());
        assert_eq!(code, Some(SqlState::QUERY_CANCELED));
        let refused = tokio_postgres::connect(&config("soon"), NoTls).await;
        let code = refused.err().and_then(|error| error.code().cloned());
        assert_eq!(code, Some(SqlState::INVALID_PARAMETER_VALUE));
    });
}

#[test]
fn strangers_are_not_answered_over_http() {
    let served = Served::with(|options| options.token = Some("sesame".to_owned()));
    let ask = |head: &str| served.request(&format!("GET /files HTTP/1.1\r\n{head}"), "");
    // The host of a whole address goes before `Host`.
    for (host, status) in [("localhost", "200"), ("evil.example", "403")] {
        let head = "HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sesame";
        let answer = served.request(&format!("GET http://{host}/files {head}"), "");
        let expected = format!("HTTP/1.1 {status}");
        assert!(answer.starts_with(&expected), "{host}: {answer}");
    }
    for (head, status) in [
        ("Host: localhost\r\nAuthorization: Bearer sesame", "200"),
        ("Host: 127.0.0.1:1\r\nAuthorization: Bearer sesame", "200"),
        ("Host: localhost", "401"),
        ("Host: localhost\r\nAuthorization: Bearer sesamf", "401"),
        ("Host: evil.example\r\nAuthorization: Bearer sesame", "403"),
        (
            "Host: localhost\r\nAuthorization: Bearer sesame\r\nOrigin: http://evil.example",
            "403",
        ),
        (
            "Host: localhost\r\nAuthorization: Bearer sesame\r\nOrigin: null",
            "403",
        ),
        (
            "Host: localhost\r\nAuthorization: Bearer sesame\r\nOrigin: http://localhost",
            "200",
        ),
        (
            "Host: localhost\r\nAuthorization: Bearer sesame\r\nOrigin: http://localhost\r\nOrigin: http://evil.example",
            "403",
        ),
        (
            "Host: localhost\r\nHost: evil.example\r\nAuthorization: Bearer sesame",
            "403",
        ),
        (
            "Host: [::1]evil.example\r\nAuthorization: Bearer sesame",
            "403",
        ),
        // A picture of another site's page, and of one at another port, a link or a frame there, and the page itself.
        (
            "Host: localhost\r\nAuthorization: Bearer sesame\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors",
            "403",
        ),
        (
            "Host: localhost\r\nAuthorization: Bearer sesame\r\nSec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors",
            "403",
        ),
        (
            "Host: localhost\r\nAuthorization: Bearer sesame\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate",
            "403",
        ),
        (
            "Host: localhost\r\nAuthorization: Bearer sesame\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors",
            "200",
        ),
    ] {
        let answer = ask(head);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{head}: {answer}"
        );
    }
    let link = "Host: localhost\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate";
    let page = served.request(&format!("GET / HTTP/1.1\r\n{link}"), "");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    // A request that a form of another site can send is no query.
    let head = "POST /query HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer sesame\r\nContent-Type: application/x-www-form-urlencoded";
    assert!(served.request(head, "SELECT 1").starts_with("HTTP/1.1 415"));
}

#[test]
fn a_server_that_would_be_open_or_cannot_have_its_tls_does_not_start() {
    let root = tempfile::tempdir().unwrap();
    let start = |change: &dyn Fn(&mut Options)| {
        let mut options = Options::default();
        options.roots = vec![root.path().to_path_buf()];
        options.listen = Some("127.0.0.1:0".parse().unwrap());
        change(&mut options);
        Server::start(options)
            .map(drop)
            .map_err(|error| error.to_string())
    };
    assert_eq!(start(&|_| {}), Ok(()));
    let open = start(&|options| options.listen = Some("0.0.0.0:0".parse().unwrap()));
    assert!(open.unwrap_err().contains("no password"));
    let open = start(&|options| options.http = Some("0.0.0.0:0".parse().unwrap()));
    assert!(open.unwrap_err().contains("no token"));
    let empty = start(&|options| options.password = Some(String::new()));
    assert!(empty.unwrap_err().contains("empty"));
    let missing = start(&|options| {
        options.tls = Some(TlsFiles {
            certificate: root.path().join("cert.pem"),
            key: root.path().join("key.pem"),
        });
    });
    assert!(missing.unwrap_err().contains("cert.pem"));
    std::fs::write(root.path().join("cert.pem"), "no certificate").unwrap();
    let none = start(&|options| {
        options.tls = Some(TlsFiles {
            certificate: root.path().join("cert.pem"),
            key: root.path().join("key.pem"),
        });
    });
    assert!(none.unwrap_err().contains("no certificate"));
    assert!(start(&|options| options.roots = vec![root.path().join("nowhere")]).is_err());
}

#[test]
fn long_messages_and_many_connections_are_refused_by_name() {
    let served = Served::with(|options| {
        options.limits.text_bytes_max = 1000;
        options.limits.connections_max = 3;
        options.limits.idle_min = Duration::from_secs(3600);
        options.limits.rows_max = Some(5);
    });
    let head = "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sql";
    let long = format!("SELECT '{}'", "x".repeat(2000));
    let answer = served.request(head, &long);
    assert!(answer.contains("--max-text"), "{answer}");
    let answer = served.request(head, "SELECT * FROM generate_series(1, 10)");
    assert!(answer.contains("--max-rows"), "{answer}");
    // A message that says that it has a gigabyte is not waited for.
    let mut socket = TcpStream::connect(served.postgres).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    socket
        .write_all(b"\0\0\0\x11\0\x03\0\0user\0me\0\0Q\x40\0\0\0")
        .unwrap();
    socket.write_all(b"SELECT").unwrap();
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.contains("--max-text"), "{answer:?}");
    drop(socket);
    served.wait_for("weir_connections_open 1");
    // A connection that is refused and stays is no reason not to tell the next one.
    let kept: Vec<TcpStream> = (0..3).map(|_| begun(&served)).collect();
    if has_psql() {
        let error = served.error(&["SELECT 1"]);
        assert!(error.contains("--max-connections"), "{error}");
    }
    drop(kept);
}

#[test]
fn silent_connections_give_their_places_to_others() {
    let served = Served::with(|options| {
        options.limits.connections_max = 4;
        options.limits.idle_min = Duration::from_secs(3600);
        options.password = Some("right".to_owned());
        options.token = Some("right".to_owned());
    });
    let doors = [served.postgres, served.http, served.flight];
    let mut silent = Vec::new();
    for address in doors {
        silent.extend((0..6).map(|_| TcpStream::connect(address).unwrap()));
    }
    let head = "POST /query HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer right\r\nContent-Type: application/sql";
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let (port, flight) = (served.postgres.port(), served.flight);
        let config = format!("host=127.0.0.1 port={port} user=me password=right");
        // Accepted connections keep their places until no place is left.
        let mut clients = Vec::new();
        for _ in 0..4 {
            let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
            tokio::spawn(connection);
            clients.push(client);
        }
        let Err(error) = tokio_postgres::connect(&config, NoTls).await else {
            panic!("a fifth connection");
        };
        assert_eq!(error.code(), Some(&SqlState::TOO_MANY_CONNECTIONS));
        for client in &clients {
            client.simple_query("SELECT 1").await.unwrap();
        }
        let channel = tonic::transport::Channel::from_shared(format!("http://{flight}")).unwrap();
        let channel = channel.connect().await.unwrap();
        let mut client = arrow_flight::sql::client::FlightSqlServiceClient::new(channel);
        client.set_token("right".to_owned());
        client.execute("SELECT 1".to_owned(), None).await.unwrap();
    });
    let answer = served.request(head, "SELECT 42");
    assert!(answer.contains("42"), "{answer}");
    drop(silent);
}

/// A hundred admitted but idle connections once blocked all others for good: connections without requests, unfinished requests,
/// and answers that were not read.
#[test]
fn connections_that_wait_for_their_clients_give_their_places_to_others() {
    let served = Served::with(|options| {
        options.limits.connections_max = 3;
        options.limits.idle_min = Duration::ZERO;
    });
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let config = format!("host=127.0.0.1 port={} user=me", served.postgres.port());
        let (busy, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
        tokio::spawn(connection);
        let cancel = busy.cancel_token();
        let long = busy.simple_query("SELECT count(*) FROM generate_series(1, 100000000000)");
        let others = async {
            while !served.has_counter("weir_queries_running 1") {
                tokio::task::yield_now().await;
            }
            for _ in 0..5 {
                let (other, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
                let connection = tokio::spawn(connection);
                other.simple_query("SELECT 42").await.unwrap();
                // The connection stays open.
                drop(connection);
                std::mem::forget(other);
            }
            // The one whose statement is at work has kept its place.
            cancel.cancel_query(NoTls).await.unwrap();
        };
        let (ended, ()) = tokio::join!(long, others);
        let error = ended.unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED), "{error}");
    });
    let head = "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sql";
    let long = "SELECT repeat('x', 20000000)";
    let mut silent = Vec::new();
    for _ in 0..4 {
        silent.push(begun(&served));
        for request in [
            "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
            format!("{head}\r\nContent-Length: 1000\r\n\r\nSELECT"),
            "POST /upload?name=a.pcap HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nx"
                .to_owned(),
            format!("{head}\r\nContent-Length: {}\r\n\r\n{long}", long.len()),
        ] {
            let mut socket = TcpStream::connect(served.http).unwrap();
            socket.write_all(request.as_bytes()).unwrap();
            silent.push(socket);
        }
    }
    let answer = served.request(head, "SELECT 42");
    assert!(answer.contains("42"), "{answer}");
    drop(silent);
}

/// Each connection kept seven settings of a megabyte.
#[test]
fn values_of_settings_have_a_limit() {
    let served = Served::plain();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let config = format!("host=127.0.0.1 port={} user=me", served.postgres.port());
        let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
        tokio::spawn(connection);
        for (bytes, is_taken) in [(1024, true), (1025, false)] {
            let set = format!("SET application_name = '{}'", "x".repeat(bytes));
            assert_eq!(
                client.batch_execute(&set).await.is_ok(),
                is_taken,
                "{bytes}"
            );
        }
    });
}

#[test]
fn ten_thousand_connections_are_refused_for_lack_of_places_and_a_statement_can_be_cancelled() {
    let served = Served::with(|options| {
        options.limits.connections_max = 1;
        options.limits.idle_min = Duration::from_secs(3600);
    });
    let (postgres, http) = (served.postgres, served.http);
    let told = async |address: std::net::SocketAddr, first: &'static [u8]| {
        // The connection of a client that sends nothing for two seconds is closed, as on a busy machine: it connects again.
        for _ in 0..20 {
            let mut socket = tokio::net::TcpStream::connect(address).await.unwrap();
            let mut answer = Vec::new();
            if socket.write_all(first).await.is_ok()
                && socket.read_to_end(&mut answer).await.is_ok()
            {
                return String::from_utf8_lossy(&answer).into_owned();
            }
        }
        panic!("each connection is reset");
    };
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let config = format!("host=127.0.0.1 port={} user=me", postgres.port());
        let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        let cancel = client.cancel_token();
        let long = client.simple_query("SELECT count(*) FROM generate_series(1, 100000000000)");
        let others = async {
            for _ in 0..100 {
                let startup = b"\0\0\0\x11\0\x03\0\0user\0me\0\0";
                let clients = (0..100).map(|_| told(postgres, startup));
                for answer in futures::future::join_all(clients).await {
                    assert!(answer.contains("C53300"), "{answer:?}");
                    assert!(answer.contains("--max-connections is 1"), "{answer:?}");
                }
            }
            // A CancelRequest takes no place.
            cancel.cancel_query(NoTls).await.unwrap();
        };
        let (ended, ()) = tokio::join!(long, others);
        let error = ended.unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::QUERY_CANCELED), "{error}");
        client.simple_query("SELECT 1").await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();

        let mut kept = tokio::net::TcpStream::connect(http).await.unwrap();
        let health = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
        kept.write_all(health).await.unwrap();
        let mut first = [0; 12];
        kept.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        let ask = b"POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\n\r\nSELECT 1";
        let clients = (0..100).map(|_| told(http, ask));
        for answer in futures::future::join_all(clients).await {
            assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
            assert!(answer.contains("--max-connections is 1"), "{answer}");
        }
        drop(kept);
    });
}

/// The codes are those of PostgreSQL: 57P01 for a session that the end of the server ends, 57P03 for a client without a session.
#[test]
fn clients_that_wait_get_the_reason_when_the_server_ends() {
    let served = Served::plain();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let config = format!("host=127.0.0.1 port={} user=me", served.postgres.port());
    let (client, connection) = runtime
        .block_on(tokio_postgres::connect(&config, NoTls))
        .unwrap();
    let connection = runtime.spawn(connection);
    runtime.block_on(client.simple_query("SELECT 1")).unwrap();
    drop(served);
    let ended = runtime.block_on(connection).unwrap().unwrap_err();
    assert_eq!(ended.code(), Some(&SqlState::ADMIN_SHUTDOWN), "{ended}");
    let message = ended.as_db_error().unwrap().message();
    assert_eq!(
        message,
        "terminating connection due to administrator command"
    );

    let served = Served::with(|options| options.password = Some("right".to_owned()));
    let mut socket = TcpStream::connect(served.postgres).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    socket
        .write_all(b"\0\0\0\x11\0\x03\0\0user\0me\0\0")
        .unwrap();
    // The server asks for the password, and gets none.
    let mut first = [0];
    socket.read_exact(&mut first).unwrap();
    assert_eq!(first, *b"R");
    drop(served);
    let mut rest = Vec::new();
    socket.read_to_end(&mut rest).unwrap();
    let rest = String::from_utf8_lossy(&rest);
    assert!(rest.contains("C57P03"), "{rest:?}");
    assert!(
        rest.contains("the database system is shutting down"),
        "{rest:?}"
    );
}

#[test]
fn bytes_that_are_no_messages_end_the_connection_only() {
    let served = Served::plain();
    let mut seed = 1_u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let begin: &[u8] = b"\0\0\0\x11\0\x03\0\0user\0me\0\0";
    for round in 0..200 {
        let mut bytes = if round % 2 == 0 {
            begin.to_vec()
        } else {
            Vec::new()
        };
        let kinds = b"QPBEDSHCXdcfFp\0\xff";
        bytes.push(kinds[usize::try_from(random() % 16).unwrap()]);
        bytes.extend([0, 0, 0, u8::try_from(random() % 40).unwrap()]);
        bytes.extend((0..random() % 60).map(|_| random().to_le_bytes()[0]));
        let Ok(mut socket) = TcpStream::connect(served.postgres) else {
            continue;
        };
        let _ = socket.write_all(&bytes);
        let _ = socket.shutdown(std::net::Shutdown::Write);
        socket
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        let _ = socket.read_to_end(&mut Vec::new());
    }
    if has_psql() {
        assert_eq!(served.answer(&["SELECT 1"]), "1\n");
    }
}

#[test]
fn what_is_copied_in_is_refused_by_name() {
    if !has_psql() {
        return;
    }
    let error = Served::plain().error(&["COPY t FROM STDIN"]);
    assert!(
        error.contains("COPY … FROM is refused") && error.contains("/upload"),
        "{error}"
    );
}

#[test]
fn what_may_write_stays_in_its_root_and_its_limits() {
    let served = Served::with(|options| options.allow_write = true);
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().display();
    let head = "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sql";
    for sql in [
        format!("SET datafusion.runtime.temp_directory = '{folder}'"),
        format!("SET \"datafusion\".\"Runtime\".\"temp_directory\" = '{folder}'"),
        format!("SET \"datafusion.runtime.temp_directory\" = '{folder}'"),
        format!("PREPARE p AS SET datafusion.runtime.temp_directory = '{folder}'; EXECUTE p"),
        "SET datafusion.runtime.memory_limit = '100G'".to_owned(),
        "RESET datafusion.runtime.memory_limit".to_owned(),
        format!("COPY (SELECT 1 AS a) TO '{folder}/out.csv'"),
        "COPY (SELECT 1 AS a) TO '../out.csv'".to_owned(),
        format!("COPY (SELECT 1 AS a) TO '{folder}/out' STORED AS CSV PARTITIONED BY (a)"),
    ] {
        let sorted =
            "SELECT max(v) FROM (SELECT v FROM generate_series(1, 1000) s(v) ORDER BY 1 DESC)";
        let answer = served.request(head, &format!("{sql}; {sorted}"));
        assert!(answer.starts_with("HTTP/1.1 4"), "{sql}: {answer}");
        let left = std::fs::read_dir(outside.path()).unwrap().count();
        assert_eq!(left, 0, "{sql}");
    }
    let set = "SET datafusion.execution.batch_size = 100; SELECT 1";
    let answer = served.request(head, set);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// Files are written through the open folder; what stands at its path afterwards does not matter (weir-file).
#[cfg(target_os = "linux")]
#[test]
fn what_may_write_follows_links_within_its_root_only() {
    use std::os::unix::fs::symlink;
    let served = Served::with(|options| options.allow_write = true);
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("rows.csv"), "a\n0\n").unwrap();
    let at = |name: &str| served.path().join(name);
    for folder in ["day", "day/parts"] {
        std::fs::create_dir(at(folder)).unwrap();
    }
    std::fs::write(at("day/rows.csv"), "a\n0\n").unwrap();
    symlink("day/rows.csv", at("in.csv")).unwrap();
    symlink("day", at("in")).unwrap();
    symlink("day/parts", at("parts")).unwrap();
    symlink(outside.path().join("rows.csv"), at("out.csv")).unwrap();
    symlink(outside.path(), at("out")).unwrap();
    symlink(outside.path(), at("day/parts/a=2")).unwrap();
    let head = "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sql";
    let copied = |value: u8, to: &str| {
        served.request(head, &format!("COPY (SELECT {value} AS a, 7 AS b) TO {to}"))
    };
    for (value, to) in [
        (1, "'in.csv'"),
        (1, "'in/own.csv'"),
        (1, "'in/quoted.csv' OPTIONS (format.quote '#')"),
        (1, "'parts' STORED AS CSV PARTITIONED BY (a)"),
        (1, "'in/new/' STORED AS CSV PARTITIONED BY (a)"),
    ] {
        let answer = copied(value, to);
        assert!(answer.starts_with("HTTP/1.1 200"), "{to}: {answer}");
    }
    for (value, to) in [
        (1, "'out.csv'"),
        (1, "'out/own.csv'"),
        (1, "'out/quoted.csv' OPTIONS (format.quote '#')"),
        (1, "'out' STORED AS CSV PARTITIONED BY (a)"),
        (2, "'parts' STORED AS CSV PARTITIONED BY (a)"),
    ] {
        let answer = copied(value, to);
        assert!(!answer.starts_with("HTTP/1.1 200"), "{to}: {answer}");
    }
    assert!(at("in.csv").is_symlink());
    let read = |name: &str| std::fs::read_to_string(at(name)).unwrap();
    assert_eq!(read("day/rows.csv"), "a,b\n1,7\n");
    assert_eq!(read("day/own.csv"), "a,b\n1,7\n");
    assert_eq!(read("day/quoted.csv"), "a,b\n1,7\n");
    for folder in ["day/parts/a=1", "day/new/a=1"] {
        assert_eq!(
            std::fs::read_dir(at(folder)).unwrap().count(),
            1,
            "{folder}"
        );
    }
    let left = std::fs::read_dir(outside.path()).unwrap().count();
    assert_eq!(left, 1);
    let text = std::fs::read_to_string(outside.path().join("rows.csv")).unwrap();
    assert_eq!(text, "a\n0\n");
}

#[test]
fn what_may_write_says_how_many_rows_it_wrote() {
    if !has_psql() {
        return;
    }
    let served = Served::with(|options| options.allow_write = true);
    let told = served.answer(&[
        "CREATE TABLE t AS SELECT 1 AS a",
        "INSERT INTO t SELECT v FROM generate_series(1, 5) s(v)",
        "SELECT count(*) FROM t",
        "SELECT 2 AS a INTO u",
        "SELECT a FROM u",
        "CREATE SCHEMA s",
        "COPY (SELECT 1 AS a UNION ALL SELECT 2 ORDER BY a) TO 'out.csv'",
    ]);
    assert_eq!(
        told,
        "CREATE TABLE\nINSERT 0 5\n6\nCREATE TABLE\n2\nCREATE SCHEMA\nCOPY 2\n"
    );
    assert_eq!(
        std::fs::read_to_string(served.path().join("out.csv")).unwrap(),
        "a\n1\n2\n"
    );
}

/// A pipe without a writer held a turn for good.
#[cfg(unix)]
#[test]
fn what_is_no_file_is_refused() {
    let served = Served::plain();
    for name in ["pipe.csv", "pipe.pcap", "pipe.parquet"] {
        let pipe = served.path().join(name);
        let made = std::process::Command::new("mkfifo").arg(pipe).status();
        assert!(made.unwrap().success());
        let head = "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sql";
        let asked = served.request(head, &format!("SELECT * FROM '{name}'"));
        let get = |path: &str| {
            let head = format!("GET {path}path={name} HTTP/1.1\r\nHost: localhost");
            served.request(&head, "")
        };
        for answer in [asked, get("/packet?number=1&"), get("/study/websocket?")] {
            assert!(answer.starts_with("HTTP/1.1 404"), "{name}: {answer}");
            assert!(
                answer.contains("is a pipe, a socket or a device"),
                "{name}: {answer}"
            );
        }
    }
}

/// Names of all kinds that are not there had one code (42000), and all values another (22000). The expected codes are those of PostgreSQL
/// 16 for the same statements (the file apart).
#[test]
fn errors_have_the_codes_of_postgresql() {
    let served = Served::plain();
    let port = served.postgres.port();
    let config = format!("host=127.0.0.1 port={port} user=me");
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let (client, connection) = tokio_postgres::connect(&config, NoTls).await.unwrap();
        tokio::spawn(connection);
        for (sql, code) in [
            ("SELEC 1", "42601"),
            ("SELECT * FROM nowhere", "42P01"),
            ("SELECT * FROM pg_catalog.pg_nowhere", "42P01"),
            ("SELECT 'nowhere'::regclass", "42P01"),
            ("SELECT a FROM 'office.pcapng'", "42703"),
            ("SELECT u.x FROM (SELECT 1 AS x) AS t", "42703"),
            ("SELECT nope(1)", "42883"),
            ("SELECT lower(1, 2)", "42883"),
            ("SELECT true + 1", "42883"),
            (
                "SELECT x FROM (SELECT 1 AS x) AS a, (SELECT 2 AS x) AS b",
                "42702",
            ),
            ("WITH a AS (SELECT 1), a AS (SELECT 2) SELECT 1", "42712"),
            ("SELECT x, count(*) FROM (SELECT 1 AS x) AS a", "42803"),
            ("SELECT 1 WHERE 1", "42804"),
            ("SELECT 1 / 0", "22012"),
            ("SELECT 9223372036854775807 + 1", "22003"),
            ("SELECT 70000::smallint", "22003"),
            ("SELECT x::smallint FROM (VALUES (70000)) AS t(x)", "22003"),
            ("SELECT 'abc'::int", "22P02"),
            ("SELECT 'abc'::date", "22007"),
            ("SELECT $1", "42P02"),
            ("EXECUTE nope", "26000"),
        ] {
            let error = client.simple_query(sql).await.unwrap_err();
            assert_eq!(error.code().map(SqlState::code), Some(code), "{sql}");
        }
    });
}
