//! Tests of files in an object store and on the web: the answers are those of local files.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use weir_testkit::Limited as _;
use weir_testkit::web::{Faults, Moto, WebServer};

use crate::shell::{Ended, command, folder, run};

/// Runs a command line with the keys of the store in the environment.
fn with_store(line: &str, folder: &Path, moto: &Moto) -> Ended {
    let mut command = command(line, folder);
    for (name, value) in moto.environment() {
        command.env(name, value);
    }
    let output = command.output_limited().unwrap();
    let ended = Ended {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    let told = format!("{}{}", ended.stdout, ended.stderr);
    for secret in ["KEYOFTHEBUCKET", "SECRETOFTHEBUCKET"] {
        assert!(!told.contains(secret), "{line}: {told}");
    }
    ended
}

#[test]
fn answers_from_a_store_are_those_of_files() {
    let Some(moto) = Moto::start() else {
        weir_testkit::missing("moto", "reading and writing S3");
        return;
    };
    let folder = folder("answers_from_a_store_are_those_of_files");
    let made = run(
        "mkdir day day/deep && cp demo/office.pcapng demo/voip.pcap day/ && cp demo/voip.pcap day/deep/ \
         && gzip -k day/voip.pcap && cp demo/voip.pcap 'day/a b+c%20.pcap' \
         && weir query \"COPY 'demo/voip.pcap' TO 'day/packed.pcap.zst'\"; \
         for form in parquet csv tsv json ndjson arrow; do \
         weir query \"SELECT frame.number, frame.len, ip.src, frame.time FROM 'demo/voip.pcap'\" -o day/rows.$form || exit 1; done",
        &folder,
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let mut files = vec![folder.join("day")];
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(
                std::fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            continue;
        }
        let key = path.strip_prefix(&folder).unwrap().to_str().unwrap();
        // The address of a request has the characters of a key in encoded form.
        let key = key
            .replace('%', "%25")
            .replace(' ', "%20")
            .replace('+', "%2B");
        moto.put(&key, &std::fs::read(&path).unwrap());
    }
    let queries = [
        "SELECT count(*), sum(frame.len), min(frame.time) FROM '@day/voip.pcap'",
        "SELECT frame.number, ip.src, udp.srcport FROM '@day/office.pcapng' ORDER BY 1",
        "SELECT ip.src, count(*) FROM '@day/voip.pcap.gz' GROUP BY 1 ORDER BY 1",
        "SELECT ip.src, count(*) FROM '@day/packed.pcap.zst' GROUP BY 1 ORDER BY 1",
        "SELECT count(*) FROM '@day/a b+c%20.pcap'",
        "SELECT regexp_replace(frame.file, '.*day/', ''), count(*) FROM '@day/*.pcap*' GROUP BY 1 ORDER BY 1",
        "SELECT count(*) FROM '@day/**/voip.pcap'",
        "SELECT count(*) FROM packets('@day/*.pcap', merge => true)",
        "SELECT * FROM flows('@day/voip.pcap') ORDER BY 1, 2, 3",
        "SELECT * FROM calls('@day/voip.pcap')",
        "SELECT * FROM '@day/rows.parquet' ORDER BY 1",
        "SELECT * FROM '@day/rows.csv' ORDER BY 1",
        "SELECT * FROM '@day/rows.tsv' ORDER BY 1",
        "SELECT * FROM '@day/rows.json' ORDER BY 1",
        "SELECT * FROM '@day/rows.ndjson' ORDER BY 1",
        "SELECT * FROM '@day/rows.arrow' ORDER BY 1",
        "SELECT count(*) FROM '@day/voip.pcap' WHERE frame.number IN (SELECT frame.number FROM '@day/rows.parquet')",
        "SELECT * FROM '@day/voip.pcap' LIMIT 3",
    ];
    for query in queries {
        let here = query.replace('@', "");
        let there = query.replace('@', "s3://bucket/");
        let [here, there] = [here, there]
            .map(|query| format!("weir query --format csv \"{query}\""))
            .map(|line| with_store(&line, &folder, &moto));
        assert_eq!(there.code, here.code, "{query}: {}", there.stderr);
        let local = there.stdout.replace("s3://bucket/", "");
        assert_eq!(local, here.stdout, "{query}");
        assert!(
            here.stdout.lines().count() > 1 || query.contains("calls"),
            "{query}"
        );
    }
}

#[test]
fn what_is_written_into_a_store_is_what_is_written_into_a_file() {
    let Some(moto) = Moto::start() else {
        weir_testkit::missing("moto", "reading and writing S3");
        return;
    };
    let folder = folder("what_is_written_into_a_store_is_what_is_written_into_a_file");
    let rows = "SELECT frame.number, ip.src FROM 'demo/voip.pcap'";
    for line in [
        format!("weir query \"COPY ({rows}) TO 's3://bucket/new/copied.parquet'\""),
        format!("weir query \"{rows}\" -o s3://bucket/new/written.parquet"),
        "weir query \"COPY (SELECT * FROM 'demo/voip.pcap' WHERE udp.srcport = 5060) TO 's3://bucket/new/sip.pcap.zst'\"".to_owned(),
        "weir filter 'udp.srcport == 5060' demo/voip.pcap -o s3://bucket/new/filtered.pcap".to_owned(),
    ] {
        let ended = with_store(&line, &folder, &moto);
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
    }
    for (there, here) in [
        ("SELECT * FROM 's3://bucket/new/copied.parquet'", rows),
        ("SELECT * FROM 's3://bucket/new/written.parquet'", rows),
        (
            "SELECT count(*), sum(frame.len) FROM 's3://bucket/new/sip.pcap.zst'",
            "SELECT count(*), sum(frame.len) FROM 'demo/voip.pcap' WHERE udp.srcport = 5060",
        ),
        (
            "SELECT count(*), sum(frame.len) FROM 's3://bucket/new/filtered.pcap'",
            "SELECT count(*), sum(frame.len) FROM 'demo/voip.pcap' WHERE udp.srcport = 5060",
        ),
    ] {
        let [there, here] = [there, here]
            .map(|query| format!("weir query --format csv \"{query}\""))
            .map(|line| with_store(&line, &folder, &moto));
        assert_eq!(there.stdout, here.stdout, "{}", there.stderr);
        assert!(here.stdout.lines().count() > 1);
    }
    // A command that fails leaves no object, and an existing capture stays.
    for (line, code, expected) in [
        (
            "weir query \"COPY (SELECT * FROM 'demo/voip.pcap') TO 's3://bucket/new/filtered.pcap'\"",
            2,
            "is a capture, and is not replaced",
        ),
        (
            "weir filter 'udp' demo/voip.pcap -o s3://bucket/new/filtered.pcap",
            2,
            "is a capture, and is not replaced",
        ),
        (
            "weir query \"SELECT 1 / (frame.number - 5) FROM 'demo/voip.pcap'\" -o s3://bucket/new/failed.csv",
            3,
            "division by zero",
        ),
        (
            "weir query \"COPY (SELECT 1 AS a) TO 's3://bucket/new/parts' PARTITIONED BY (a)\"",
            2,
            "only a single named file",
        ),
        (
            "weir query \"COPY (SELECT 1 AS a) TO 'https://example.org/x.csv?signature=SECRET'\"",
            2,
            "https://example.org/x.csv?…: a web address cannot be written to",
        ),
    ] {
        let ended = with_store(line, &folder, &moto);
        assert_eq!(ended.code, Some(code), "{line}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{line}: {}", ended.stderr);
        assert!(!ended.stderr.contains("=SECRET"), "{}", ended.stderr);
    }
    assert!(!moto.has("new/failed.csv"));
}

/// The uploaded parts of an incomplete object would stay in the store, invisible and at a cost.
#[cfg(unix)]
#[test]
fn an_interrupted_copy_leaves_no_parts_in_a_store() {
    let Some(moto) = Moto::start() else {
        weir_testkit::missing("moto", "reading and writing S3");
        return;
    };
    let folder = folder("an_interrupted_copy_leaves_no_parts_in_a_store");
    let rows = "SELECT a.frame.number, repeat('x', 20000) AS x FROM 'demo/voip.pcap' a, 'demo/voip.pcap' b";
    for (signal, line) in [
        (
            "INT",
            format!("exec weir query \"COPY ({rows}) TO 's3://bucket/new/large.csv'\""),
        ),
        (
            "TERM",
            format!("exec weir query \"{rows}\" -o s3://bucket/new/large.csv"),
        ),
    ] {
        let mut command = command(&line, &folder);
        for (name, value) in moto.environment() {
            command.env(name, value);
        }
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn_limited().unwrap();
        let until = Instant::now() + Duration::from_secs(120);
        while moto.uploads() == 0 {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            assert!(Instant::now() < until, "nothing is sent");
            thread::sleep(Duration::from_millis(20));
        }
        crate::shell::signal(signal, &child);
        let ended = child.wait().unwrap();
        assert!(!ended.success(), "{signal}: {ended:?}");
        assert_eq!(moto.uploads(), 0, "{signal}");
        assert!(!moto.has("new/large.csv"), "{signal}");
    }
}

#[test]
fn a_signed_address_is_read_and_shown_nowhere() {
    let folder = folder("a_signed_address_is_read_and_shown_nowhere");
    let server = WebServer::start(Faults {
        break_every: 3,
        ..Faults::default()
    });
    for name in ["voip.pcap", "office.pcapng"] {
        let bytes = std::fs::read(folder.join("demo").join(name)).unwrap();
        server.put(name, bytes);
    }
    let made = run(
        "weir query \"SELECT frame.number, ip.src FROM 'demo/voip.pcap'\" -o rows.parquet",
        &folder,
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    server.put(
        "rows.parquet",
        std::fs::read(folder.join("rows.parquet")).unwrap(),
    );
    let host = server.host();
    let at = |name: &str| format!("http://me:SECRET@{host}/{name}?X-Amz-Signature=SECRET");
    let (voip, office, rows) = (at("voip.pcap"), at("office.pcapng"), at("rows.parquet"));
    let other = voip.replace("=SECRET", "=SECRET2");
    for (query, code) in [
        (format!("SELECT count(*), min(frame.file) FROM '{voip}'"), 0),
        (format!("SELECT count(*) FROM ['{voip}', '{office}']"), 0),
        (format!("SELECT * FROM '{rows}' LIMIT 2"), 0),
        (format!("EXPLAIN SELECT * FROM '{rows}'"), 0),
        (
            format!("EXPLAIN SELECT count(*) FROM '{voip}' a, '{other}' b"),
            0,
        ),
        (
            format!("EXPLAIN ANALYZE SELECT ip.src, count(*) FROM '{voip}' GROUP BY 1"),
            0,
        ),
        (format!("DESCRIBE '{rows}'"), 0),
        (format!("SELECT nothing FROM '{voip}'"), 2),
        (format!("SELECT 1 FRO '{voip}'"), 2),
        (format!("SELECT '{voip}'::int FROM '{rows}'"), 3),
        (format!("SELECT 1 FROM clf('{voip}')"), 2),
        (format!("SELECT 1 FROM records('{voip}', '{other}')"), 2),
        (
            format!("SELECT 1 FROM http('{voip}', keylog => '{other}')"),
            2,
        ),
        (format!("COPY (SELECT 1) TO '{voip}'"), 2),
        (
            format!("CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '{rows}'"),
            2,
        ),
        (format!("SELECT 1 FROM flows('{rows}')"), 2),
        (format!("SELECT 1 FROM '{}'", at("none.pcap")), 2),
    ] {
        let ended = run(&format!("weir query --stats \"{query}\""), &folder);
        let told = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!told.contains("SECRET"), "{query}: {told}");
        match code {
            0 => assert_eq!(ended.code, Some(0), "{query}: {told}"),
            _ => assert_ne!(ended.code, Some(0), "{query}: {told}"),
        }
    }
    let here = run(
        "weir query --format csv \"SELECT count(*) FROM 'demo/voip.pcap'\"",
        &folder,
    );
    let there = run(
        &format!("weir query --format csv \"SELECT count(*) FROM '{voip}'\""),
        &folder,
    );
    assert_eq!(there.stdout, here.stdout, "{}", there.stderr);
    // Two signatures of one path are two tables of one statement, and neither takes the place of the other.
    let joined = format!(
        "SELECT (SELECT count(*) FROM '{voip}') AS a, (SELECT count(*) FROM '{other}') AS b"
    );
    let ended = run(&format!("weir query --format csv \"{joined}\""), &folder);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

/// Ends TLS before a server that has none: the address that it listens at is its first line.
const TLS: &str = "
import socket, ssl, sys, threading
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain('server.pem', 'server.key')
listener = socket.create_server(('127.0.0.1', 0))
print(listener.getsockname()[1], flush=True)
host, port = sys.argv[1].split(':')
def pass_on(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
def welcome(plain):
    try:
        client = context.wrap_socket(plain, server_side=True)
    except OSError:
        return
    server = socket.create_connection((host, int(port)))
    threading.Thread(target=pass_on, args=(client, server), daemon=True).start()
    pass_on(server, client)
while True:
    threading.Thread(target=welcome, args=(listener.accept()[0],), daemon=True).start()
";

#[test]
fn https_is_read_from_servers_with_a_trusted_certificate() {
    let known = Command::new("openssl")
        .arg("version")
        .output_limited()
        .is_ok()
        && Command::new("python3")
            .arg("--version")
            .output_limited()
            .is_ok();
    if !known {
        weir_testkit::missing("openssl and python3", "reading by HTTPS");
        return;
    }
    let folder = folder("https_is_read_from_servers_with_a_trusted_certificate");
    let made = run(
        "echo subjectAltName=IP:127.0.0.1,DNS:localhost > names; \
         openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 30 -subj /CN=ours && \
         openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost && \
         openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.pem -days 30 -extfile names",
        &folder,
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let server = WebServer::start(Faults {
        break_every: 5,
        ..Faults::default()
    });
    for name in ["voip.pcap", "office.pcapng"] {
        let bytes = std::fs::read(folder.join("demo").join(name)).unwrap();
        server.put(name, bytes);
    }
    let mut tls = Command::new("python3")
        .args(["-c", TLS, server.host()])
        .current_dir(&folder)
        .stdout(Stdio::piped())
        .spawn_limited()
        .unwrap();
    let mut port = String::new();
    BufReader::new(tls.stdout.take().unwrap())
        .read_line(&mut port)
        .unwrap();
    let at = format!("https://localhost:{}", port.trim());
    let query = |name: &str| format!("SELECT ip.src, count(*) FROM '{name}' GROUP BY 1 ORDER BY 1");
    let ask = |from: &str, trusted: bool| {
        let line = format!("weir query --format csv \"{}\"", query(from));
        let mut command = command(&line, &folder);
        if trusted {
            command.env("SSL_CERT_FILE", folder.join("ca.pem"));
        }
        let output = command.output_limited().unwrap();
        let told = [output.stdout, output.stderr];
        let told = told.map(|told| String::from_utf8_lossy(&told).into_owned());
        (output.status.code(), told)
    };
    let (refused, stranger) = (ask(&format!("{at}/voip.pcap"), false), &at);
    let answers = ["voip.pcap", "office.pcapng"].map(|name| {
        let here = run(
            &format!(
                "weir query --format csv \"{}\"",
                query(&format!("demo/{name}"))
            ),
            &folder,
        );
        (here, ask(&format!("{at}/{name}"), true))
    });
    tls.kill().unwrap();
    tls.wait().unwrap();
    for (here, (code, [stdout, stderr])) in answers {
        assert_eq!(code, Some(0), "{stderr}");
        assert_eq!(stdout, here.stdout);
    }
    let (code, [stdout, stderr]) = refused;
    assert_ne!(code, Some(0), "{stdout}");
    let errors: Vec<_> = stderr
        .lines()
        .filter(|line| line.starts_with("error"))
        .collect();
    assert_eq!(errors.len(), 1, "{stderr}");
    assert!(errors[0].contains(stranger.as_str()), "{stderr}");
    assert!(errors[0].contains("certificate"), "{stderr}");
}

#[test]
fn parts_of_one_large_object_give_the_answer_of_one_reader() {
    let folder = folder("parts_of_one_large_object_give_the_answer_of_one_reader");
    // A capture is its header and its records: the records again and again are one, too.
    let capture = std::fs::read(folder.join("demo/voip.pcap")).unwrap();
    let (header, records) = capture.split_at(24);
    let mut large = header.to_vec();
    while large.len() < 24 << 20 {
        large.extend_from_slice(records);
    }
    std::fs::write(folder.join("large.pcap"), &large).unwrap();
    let server = WebServer::start(Faults {
        break_every: 5,
        ..Faults::default()
    });
    server.put("large.pcap", large);
    let url = server.url("large.pcap");
    let query = |from: &str, threads: u32| {
        let sql =
            format!("SELECT ip.src, count(*), sum(frame.len) FROM '{from}' GROUP BY 1 ORDER BY 1");
        run(
            &format!("weir query --threads {threads} --format csv \"{sql}\""),
            &folder,
        )
    };
    let here = query("large.pcap", 1);
    assert_eq!(here.code, Some(0), "{}", here.stderr);
    for threads in [1, 4] {
        let there = query(&url, threads);
        assert_eq!(there.stdout, here.stdout, "{}", there.stderr);
    }
    // A query with a LIMIT fetches only the beginning of the object.
    let before = server.bytes();
    let ended = run(
        &format!("weir query --format csv \"SELECT * FROM '{url}' LIMIT 1\""),
        &folder,
    );
    assert_eq!(ended.stdout.lines().count(), 2, "{}", ended.stderr);
    assert!(
        server.bytes() - before < 20 << 20,
        "{}",
        server.bytes() - before
    );
    let _ = std::fs::remove_file(folder.join("large.pcap"));
}

#[test]
fn a_program_with_roots_reads_only_the_named_addresses() {
    let folder = folder("a_program_with_roots_reads_only_the_named_addresses");
    let server = WebServer::start(Faults::default());
    server.put(
        "day/a.pcap",
        std::fs::read(folder.join("demo/voip.pcap")).unwrap(),
    );
    server.put(
        "other/a.pcap",
        std::fs::read(folder.join("demo/voip.pcap")).unwrap(),
    );
    let host = server.host();
    let ask = |more: &str, name: &str| {
        // The server prints its address, to which the test sends its queries.
        let line = format!(
            "weir serve --root demo {more} --listen 127.0.0.1:0 --http 127.0.0.1:0 > at 2> log & pid=$!; \
             for i in $(seq 600); do grep -q http: at && break; sleep 0.1; done; \
             python3 -c \"import sys, urllib.request, urllib.error
at = [line.strip() for line in open('at') if line.startswith('http')][0]
sql = 'SELECT count(*) AS found FROM \\'http://{host}/{name}\\''
try:
    print(urllib.request.urlopen(urllib.request.Request(at + 'query', sql.encode(), {{'Content-Type': 'text/plain'}})).read().decode())
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())\"; kill $pid; wait $pid; cat log"
        );
        let ended = run(&line, &folder);
        format!("{}{}", ended.stdout, ended.stderr)
    };
    let refused = ask("", "day/a.pcap");
    assert!(
        refused.contains("outside the locations that may be read"),
        "{refused}"
    );
    assert_eq!(server.requests(), 0);
    let allowed = format!("--remote http://{host}/day/");
    let answered = ask(&allowed, "day/a.pcap");
    assert!(answered.contains("found"), "{answered}");
    let before = server.requests();
    let refused = ask(&allowed, "other/a.pcap");
    assert!(
        refused.contains("outside the locations that may be read"),
        "{refused}"
    );
    assert_eq!(server.requests(), before);
}
