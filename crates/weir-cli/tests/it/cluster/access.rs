//! The peers that a cluster lets in: by certificates, by tokens, and those that do not ask.

use std::io::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};

use weir_testkit::Limited as _;

use super::{Processes, captures, scheduler_by};
use crate::shell::{folder, run};

#[test]
fn peers_with_certificates_or_a_token_are_accepted() {
    if Command::new("openssl")
        .arg("version")
        .output_limited()
        .is_err()
    {
        weir_testkit::missing("openssl", "TLS of the cluster");
        return;
    }
    let folder = captures("peers_with_certificates_or_a_token_are_accepted");
    let made = run(
        "echo subjectAltName=IP:127.0.0.1 > names; echo a-token-of-the-test > token; echo a-token-of-others > other; \
         for ca in ours theirs; do \
         openssl req -x509 -newkey rsa:2048 -nodes -keyout $ca-ca.key -out $ca-ca.pem -days 30 -subj /CN=$ca && \
         openssl req -newkey rsa:2048 -nodes -keyout $ca.key -out $ca.csr -subj /CN=machine && \
         openssl x509 -req -in $ca.csr -CA $ca-ca.pem -CAkey $ca-ca.key -CAcreateserial -out $ca.pem -days 30 \
         -extfile names || exit 1; done",
        &folder,
    );
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let ours = "--tls-cert ours.pem --tls-key ours.key --tls-ca ours-ca.pem";
    let more = format!("{ours} --token-file token");
    let words: Vec<&str> = more.split(' ').collect();
    let cluster = Processes::start_with(&folder, 2, &words, Vec::new());
    let sql = "\"SELECT ip.src, count(*) FROM 'day/[0-6].pcap' GROUP BY 1 ORDER BY 1\"";
    let here = run(&format!("weir query --format csv {sql}"), &folder);
    let there = cluster.ask_both(&format!("weir query {more} --format csv {sql}"));
    assert_eq!(there.code, Some(0), "{}", there.stderr);
    assert_eq!(there.stdout, here.stdout, "{}", there.stderr);
    for (with, expected) in [
        ("", "if it uses TLS, give --tls-cert"),
        (ours, "the token is missing"),
        (&format!("{ours} --token-file other"), "the token is wrong"),
        (
            "--tls-cert theirs.pem --tls-key theirs.key --tls-ca ours-ca.pem --token-file token",
            "rejects the certificate of --tls-cert",
        ),
        (
            "--tls-cert ours.pem --tls-key ours.key --tls-ca theirs-ca.pem --token-file token",
            "is not signed by --tls-ca",
        ),
    ] {
        let refused = cluster.ask(&format!("weir query {with} --format csv {sql}"));
        assert_eq!(refused.code, Some(3), "{with}: {}", refused.stderr);
        let errors: Vec<_> = refused
            .stderr
            .lines()
            .filter(|line| line.starts_with("error"))
            .collect();
        assert!(
            errors.len() == 1 && errors[0].contains(expected),
            "{with}: {}",
            refused.stderr
        );
        assert!(!refused.stderr.contains("a-token"), "{}", refused.stderr);
        let address = &cluster.address;
        let stranger = run(
            &format!("weir cluster executor --scheduler {address} --work-dir stranger {with}"),
            &folder,
        );
        assert_ne!(stranger.code, Some(0), "{with}");
        assert!(
            stranger.stderr.contains(expected),
            "{with}: {}",
            stranger.stderr
        );
    }
    assert!(!cluster.logs().contains("a-token"), "{}", cluster.logs());
    let local = run(&format!("weir query --cluster local {ours} {sql}"), &folder);
    assert_eq!(local.code, Some(2), "{}", local.stderr);
}

#[test]
fn addresses_beyond_this_machine_need_an_option() {
    let folder = folder("addresses_beyond_this_machine_need_an_option");
    for line in [
        "weir cluster scheduler --listen 0.0.0.0:0",
        "weir cluster executor --scheduler 127.0.0.1:1 --listen 0.0.0.0",
    ] {
        let ended = run(line, &folder);
        assert_eq!(ended.code, Some(2), "{line}: {}", ended.stderr);
        assert!(
            ended.stderr.contains("--trusted-network"),
            "{}",
            ended.stderr
        );
    }
    let wrong = run("weir query --cluster nowhere \"SELECT 1\"", &folder);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    assert!(
        wrong.stderr.contains("not a host and port"),
        "{}",
        wrong.stderr
    );
}

/// Without options, only its user can reach a cluster on one machine.
#[cfg(unix)]
#[test]
fn users_of_one_machine_cannot_reach_each_other() {
    use std::os::unix::fs::PermissionsExt as _;

    let folder = captures("users_of_one_machine_cannot_reach_each_other");
    let cluster = Processes::start(&folder, 2);
    let sql = "weir query --format csv \"SELECT count(*) FROM 'day/[0-6].pcap'\"";
    assert_eq!(cluster.ask(sql).code, Some(0));
    let token = folder.join(".cache/weir/cluster-token");
    let mode = std::fs::metadata(&token).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let executor = |with: &str, home: &str| {
        let address = &cluster.address;
        let line = format!(
            "HOME=$PWD/{home} weir cluster executor --scheduler {address} --work-dir stranger {with}"
        );
        run(&line, &folder)
    };
    // Another user has another home, or says that there is no token.
    for (with, home, expected) in [
        ("", "other", "the token is wrong"),
        ("--no-token", "", "the token is missing"),
    ] {
        let line = sql.replace("weir query", &format!("weir query {with}"));
        let asked = cluster.ask(&format!("HOME=$PWD/{home} {line}"));
        assert_eq!(asked.code, Some(3), "{expected}: {}", asked.stderr);
        assert!(
            asked.stderr.contains(expected),
            "{expected}: {}",
            asked.stderr
        );
        let executed = executor(with, home);
        assert_ne!(executed.code, Some(0), "{expected}");
        assert!(executed.stderr.contains(expected), "{}", executed.stderr);
    }
    // A client refuses a token file that other users can read.
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o644)).unwrap();
    let asked = cluster.ask(sql);
    assert_eq!(asked.code, Some(2), "{}", asked.stderr);
    assert!(asked.stderr.contains("by others"), "{}", asked.stderr);
    std::fs::set_permissions(&token, std::fs::Permissions::from_mode(0o600)).unwrap();
    // The token for clients allows queries, and no executor.
    let made = run("weir cluster client-token > ask-only", &folder);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let line = sql.replace("weir query", "weir query --token-file ask-only");
    let asked = cluster.ask(&line);
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    // The file has the mode of the shell.
    let copy = folder.join("ask-only");
    std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(0o644)).unwrap();
    let asked = cluster.ask(&line);
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    assert!(
        asked.stderr.contains("can read ask-only"),
        "{}",
        asked.stderr
    );
    let executed = executor("--token-file ask-only", "");
    assert!(
        executed.stderr.contains("that of a client"),
        "{}",
        executed.stderr
    );
}

/// A process with a limit of 200 open files gets more connections than that, which are idle or stop in the middle.
#[cfg(unix)]
#[test]
fn silent_connections_take_no_files_from_others() {
    let folder = captures("silent_connections_take_no_files_from_others");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let mut cluster = Processes::start(&folder, 0);
    cluster.scheduler.kill().unwrap();
    cluster.scheduler.wait().unwrap();
    let (scheduler, address) = scheduler_by("ulimit -n 200;", &folder, &cluster.address, &[]);
    cluster.scheduler = scheduler;
    cluster.more = vec!["--port".to_owned(), port.to_string()];
    let executor = cluster.executor_by("ulimit -n 200;", 0);
    cluster.executors.push(executor);
    let sql = "weir query --format csv \"SELECT ip.src, count(*) FROM 'day/[0-6].pcap' GROUP BY 1 ORDER BY 1\"";
    let before = cluster.ask(sql);
    assert_eq!(before.code, Some(0), "{}", before.stderr);
    let silent: Vec<_> = (0..260)
        .flat_map(|number| {
            [address.clone(), format!("127.0.0.1:{port}")].map(|to| {
                let mut stream = std::net::TcpStream::connect(to).unwrap();
                // The head of a handshake of TLS whose rest does not come.
                let octets: &[u8] = if number % 2 == 0 {
                    b""
                } else {
                    &[22, 3, 1, 2, 0, 1]
                };
                let _ = stream.write_all(octets);
                stream
            })
        })
        .collect();
    let begun = Instant::now();
    let meanwhile = cluster.ask(sql);
    assert_eq!(meanwhile.stdout, before.stdout, "{}", meanwhile.stderr);
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    drop(silent);
}
