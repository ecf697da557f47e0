//! TLS at every door, and what does not start.

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use weir_serve::{Options, Server, TlsFiles};
use weir_testkit::Limited as _;

use crate::served::Served;

fn openssl(folder: &Path, arguments: &str) {
    let output = Command::new("openssl")
        .args(arguments.split(' '))
        .current_dir(folder)
        .output_limited()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {errors}");
}

/// A folder with a certificate of this machine and its key, one of another key, and one that has expired.
fn certificates() -> Option<TempDir> {
    if Command::new("openssl")
        .arg("version")
        .output_limited()
        .is_err()
    {
        weir_testkit::missing("openssl", "TLS of the server");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let curve = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost";
    openssl(
        path,
        &format!(
            "req -x509 {curve} -keyout key.pem -out cert.pem -days 2 -addext subjectAltName=DNS:localhost,IP:127.0.0.1"
        ),
    );
    openssl(
        path,
        &format!("req -new {curve} -keyout other.pem -out other.csr"),
    );
    openssl(
        path,
        "x509 -req -in other.csr -signkey other.pem -days -1 -out expired.pem",
    );
    openssl(
        path,
        "pkcs8 -topk8 -in key.pem -out sealed.pem -passout pass:x",
    );
    Some(folder)
}

fn secure(folder: &TempDir) -> Served {
    Served::with(|options| {
        options.tls = Some(TlsFiles {
            certificate: folder.path().join("cert.pem"),
            key: folder.path().join("key.pem"),
        });
    })
}

fn printed(output: &Output) -> String {
    let (out, errors) = (&output.stdout, &output.stderr);
    format!(
        "{}{}",
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(errors)
    )
}

#[test]
fn psql_speaks_tls_and_nothing_else() {
    let Some(folder) = certificates() else {
        return;
    };
    if Command::new("psql")
        .arg("--version")
        .output_limited()
        .is_err()
    {
        weir_testkit::missing("psql", "TLS of the PostgreSQL protocol");
        return;
    }
    let served = secure(&folder);
    let port = served.postgres.port();
    let ask = |host: &str, rest: &str| {
        let connection =
            format!("host={host} hostaddr=127.0.0.1 port={port} user=me dbname=weir {rest}");
        let asked = Command::new("psql")
            .args(["-X", "-A", "-t", "-c", "SELECT 42", &connection])
            .output_limited();
        asked.unwrap()
    };
    let root = format!(
        "sslmode=verify-full sslrootcert={}/cert.pem",
        folder.path().display()
    );
    for (host, rest) in [
        ("localhost", "sslmode=require"),
        ("localhost", root.as_str()),
        ("127.0.0.1", root.as_str()),
    ] {
        let output = ask(host, rest);
        assert_eq!(printed(&output), "42\n", "{host} {rest}");
    }
    let plain = printed(&ask("localhost", "sslmode=disable"));
    assert!(plain.contains("requires TLS"), "{plain}");
    let stranger = printed(&ask("elsewhere", &root));
    assert!(stranger.contains("does not match host name"), "{stranger}");
}

#[test]
fn https_is_answered_and_http_is_not() {
    let Some(folder) = certificates() else {
        return;
    };
    let served = secure(&folder);
    let script = r#"
import os, ssl, sys, urllib.request
port, root = sys.argv[1:]
context = ssl.create_default_context(cafile=root)
for host in ("localhost", "127.0.0.1"):
    with urllib.request.urlopen(f"https://{host}:{port}/health", context=context, timeout=10) as answer:
        assert answer.read() == b"ok\n"
try:
    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10)
    raise SystemExit("it was answered in clear")
except OSError:
    pass
except Exception as error:
    assert "Remote" in type(error).__name__ or "Bad" in type(error).__name__, error
try:
    urllib.request.urlopen(f"https://localhost:{port}/health", timeout=10)
    raise SystemExit("a certificate of an unknown issuer was accepted")
except OSError as error:
    assert "CERTIFICATE_VERIFY_FAILED" in str(error), error
"#;
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(served.http.port().to_string())
        .arg(folder.path().join("cert.pem"))
        .output_limited();
    let Ok(output) = output else {
        weir_testkit::missing("python", "HTTPS");
        return;
    };
    assert!(output.status.success(), "{}", printed(&output));
}

#[test]
fn flight_sql_speaks_tls_and_nothing_else() {
    let Some(folder) = certificates() else {
        return;
    };
    let has = Command::new("python3")
        .args(["-c", "import adbc_driver_flightsql.dbapi"])
        .output_limited();
    if !has.is_ok_and(|output| output.status.success()) {
        weir_testkit::missing("adbc_driver_flightsql", "TLS of Flight SQL");
        return;
    }
    let served = secure(&folder);
    let script = r#"
import sys, adbc_driver_flightsql as f, adbc_driver_flightsql.dbapi as d
port, root = sys.argv[1:]
def ask(uri, **options):
    with d.connect(uri, db_kwargs=options, autocommit=True) as c, c.cursor() as cur:
        cur.execute("SELECT 42")
        return cur.fetchone()[0]
known = {f.DatabaseOptions.TLS_ROOT_CERTS.value: open(root).read()}
assert ask(f"grpc+tls://localhost:{port}", **known) == 42
for uri, options in ((f"grpc://127.0.0.1:{port}", {}), (f"grpc+tls://localhost:{port}", {})):
    try:
        ask(uri, **options)
        raise SystemExit(f"{uri} was answered")
    except d.Error as error:
        assert "navailable" in str(error) or "UNAVAILABLE" in str(error), error
"#;
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(served.flight.port().to_string())
        .arg(folder.path().join("cert.pem"))
        .output_limited()
        .unwrap();
    assert!(output.status.success(), "{}", printed(&output));
}

#[test]
fn a_server_whose_certificate_or_key_is_wrong_does_not_start() {
    let Some(folder) = certificates() else {
        return;
    };
    let start = |certificate: &str, key: &str| {
        let mut options = Options::default();
        options.roots = vec![folder.path().to_path_buf()];
        options.flight = Some("127.0.0.1:0".parse().unwrap());
        options.tls = Some(TlsFiles {
            certificate: folder.path().join(certificate),
            key: folder.path().join(key),
        });
        Server::start(options)
            .map(drop)
            .map_err(|error| error.to_string())
    };
    assert_eq!(start("cert.pem", "key.pem"), Ok(()));
    for (certificate, key, says) in [
        (
            "expired.pem",
            "other.pem",
            "expired.pem: the certificate expired at 20",
        ),
        ("cert.pem", "other.pem", "cert.pem and "),
        ("cert.pem", "sealed.pem", "sealed.pem: "),
        ("cert.pem", "cert.pem", "cert.pem: "),
        ("cert.pem", "nowhere.pem", "nowhere.pem: "),
        ("key.pem", "key.pem", "has no certificate"),
        // A device has no end.
        ("/dev/zero", "key.pem", "/dev/zero: the file has more than"),
        ("cert.pem", "/dev/zero", "/dev/zero: the file has more than"),
    ] {
        let error = start(certificate, key).unwrap_err();
        assert!(error.contains(says), "{certificate} {key}: {error}");
    }
}

/// Bytes in clear behind the request for TLS were taken as if they had come through it.
#[test]
fn bytes_in_clear_behind_the_request_for_tls_are_refused() {
    use std::io::{Read, Write};

    let Some(folder) = certificates() else {
        return;
    };
    let served = secure(&folder);
    // openssl asks for TLS itself and cannot be made to add something, so a socket in between does.
    let between = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = between.local_addr().unwrap();
    let server = served.postgres;
    let thread = std::thread::spawn(move || {
        let (mut client, _) = between.accept().unwrap();
        let mut server = std::net::TcpStream::connect(server).unwrap();
        let mut request = [0; 8];
        client.read_exact(&mut request).unwrap();
        let startup = b"\0\0\0\x11\0\x03\0\0user\0me\0\0Q\0\0\0\x0dSELECT 1\0";
        server.write_all(&[&request[..], startup].concat()).unwrap();
        let (mut back, mut out) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        let answers = std::thread::spawn(move || {
            let _ = std::io::copy(&mut back, &mut out);
            let _ = out.shutdown(std::net::Shutdown::Both);
        });
        let _ = std::io::copy(&mut client, &mut server);
        let _ = server.shutdown(std::net::Shutdown::Both);
        answers.join().unwrap();
    });
    let output = Command::new("openssl")
        .args(["s_client", "-starttls", "postgres", "-quiet", "-connect"])
        .arg(address.to_string())
        .output_limited()
        .unwrap();
    thread.join().unwrap();
    let message = printed(&output);
    assert!(message.contains("unencrypted data after"), "{message}");
    assert!(!message.contains("SELECT 1"), "{message}");
}
