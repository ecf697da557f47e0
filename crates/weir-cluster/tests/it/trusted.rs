//! Authentication by certificates and a token at every service.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use arrow_flight::Ticket;
use arrow_flight::flight_service_client::FlightServiceClient;
use ballista_core::serde::protobuf::executor_grpc_client::ExecutorGrpcClient;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    CancelTasksParams, ExecutorStoppedParams, GetJobStatusParams, HeartBeatParams,
    LaunchMultiTaskParams, LaunchTaskParams, RegisterExecutorParams, RemoveJobDataParams,
    StopExecutorParams, UpdateTaskStatusParams,
};
use tonic::Code;
use tonic::transport::Channel;
use weir_cluster::{
    Client, ExecutorOptions, LocalCluster, Scheduler, SchedulerOptions, TlsFiles, Trust,
    WorkFolder, run_executor,
};
use weir_testkit::{Limited as _, until};

use crate::samples::{Asks, enter};

const TOKEN: &str = "a-token-of-the-test";

fn openssl(folder: &Path, line: &str) {
    let output = Command::new("openssl")
        .args(line.split_whitespace())
        .current_dir(folder)
        .output_limited()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl {line}: {errors}");
}

/// Two authorities, each with a certificate of this machine.
fn certificates(name: &str) -> Option<PathBuf> {
    if Command::new("openssl")
        .arg("version")
        .output_limited()
        .is_err()
    {
        weir_testkit::missing("openssl", "TLS of the cluster");
        return None;
    }
    let folder = enter().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("names"),
        "subjectAltName=IP:127.0.0.1,DNS:localhost\n",
    )
    .unwrap();
    for who in ["ours", "theirs"] {
        for line in [
            format!(
                "req -x509 -newkey rsa:2048 -nodes -keyout {who}-ca.key -out {who}-ca.pem -days 30 -subj /CN={who}"
            ),
            format!(
                "req -newkey rsa:2048 -nodes -keyout {who}.key -out {who}.csr -subj /CN=machine"
            ),
            format!(
                "x509 -req -in {who}.csr -CA {who}-ca.pem -CAkey {who}-ca.key -CAcreateserial -out {who}.pem -days 30 -extfile names"
            ),
        ] {
            openssl(&folder, &line);
        }
    }
    Some(folder)
}

fn files(folder: &Path, certificate: &str, authority: &str) -> TlsFiles {
    TlsFiles {
        certificate: folder.join(format!("{certificate}.pem")),
        key: folder.join(format!("{certificate}.key")),
        authorities: folder.join(format!("{authority}-ca.pem")),
    }
}

fn trust(files: Option<&TlsFiles>, token: Option<&str>) -> Trust {
    Trust::new(files, token.map(ToOwned::to_owned)).unwrap()
}

/// A connection with these credentials, and another user agent if there is one.
fn channel(to: &str, trust: &Trust, agent: Option<&str>) -> Channel {
    let mut endpoint = trust.endpoint(to).unwrap();
    if let Some(agent) = agent {
        endpoint = endpoint.user_agent(agent).unwrap();
    }
    trust.channel(&endpoint.timeout(Duration::from_secs(10)))
}

#[test]
fn certificates_and_token_are_required_at_every_service() {
    let Some(folder) = certificates("tls") else {
        return;
    };
    let (ours, theirs) = (
        files(&folder, "ours", "ours"),
        files(&folder, "theirs", "ours"),
    );
    let trusted = trust(Some(&ours), Some(TOKEN));
    let cluster = LocalCluster::start_trusted(&folder, 2, None, &trusted).unwrap();
    // Rows are exchanged between executors, and fetched by the client.
    let sql = "SELECT ip.src, count(*), sum(frame.len) FROM 'day/*.pcap' GROUP BY 1 ORDER BY 1";
    let there = Asks::by(cluster.client(3).unwrap());
    let answered = there.ask_both(sql);
    assert_eq!(answered.rows, Asks::here().ask(sql).unwrap().rows);
    let executors = there.client.as_ref().unwrap().executors();
    assert!(!executors.is_empty());

    // Clients of the scheduler.
    let scheduler = cluster.scheduler().to_string();
    let work = Arc::new(WorkFolder::create_in(&folder.join("stranger")).unwrap());
    for (trust, expected) in [
        (trust(Some(&ours), None), "the token is missing"),
        (
            trust(Some(&ours), Some("a-token-of-somebody-else")),
            "the token is wrong",
        ),
        (
            trust(Some(&theirs), Some(TOKEN)),
            "rejects the certificate of --tls-cert",
        ),
        (
            trust(Some(&files(&folder, "ours", "theirs")), Some(TOKEN)),
            "is not signed by --tls-ca",
        ),
        (trust(None, Some(TOKEN)), "if it uses TLS, give --tls-cert"),
    ] {
        let asks = Asks::by(Client::trusted(scheduler.clone(), 3, trust.clone()).unwrap());
        let refused = asks.ask(sql).unwrap_err().to_string();
        assert!(refused.contains(expected), "{expected}: {refused}");
        assert!(refused.contains(&scheduler), "{refused}");
        assert!(
            !refused.contains('\n') && !refused.contains(TOKEN),
            "{refused}"
        );
        // An executor of the scheduler.
        let mut options = ExecutorOptions::new(scheduler.clone(), Arc::clone(&work));
        options.trust = trust;
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let refused = runtime
            .block_on(run_executor(&options, std::future::pending()))
            .unwrap_err();
        assert!(
            refused.to_string().contains(expected),
            "{expected}: {refused}"
        );
    }

    // Other programs are rejected at every service.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        for (trust, is_known) in [
            (trust(Some(&ours), Some(TOKEN)), true),
            (trust(Some(&ours), None), false),
            (trust(Some(&ours), Some("a-token-of-somebody-else")), false),
            (trust(Some(&theirs), Some(TOKEN)), false),
            (trust(None, Some(TOKEN)), false),
            (trust(None, None), false),
        ] {
            // An unauthenticated peer gets no gRPC response: the codes are those of a failed connection.
            let is_refused = |status: &tonic::Status, endpoint: &str| {
                let has_failed = matches!(
                    status.code(),
                    Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled
                );
                assert_eq!(has_failed, !is_known, "{endpoint}: {status:?}");
            };
            let to = channel(&scheduler, &trust, None);
            match SchedulerGrpcClient::new(to)
                .get_job_status(GetJobStatusParams::default())
                .await
            {
                Ok(_) => assert!(is_known),
                Err(status) => is_refused(&status, "scheduler"),
            }
            for executor in &executors {
                let to = channel(executor, &trust, None);
                match ExecutorGrpcClient::new(to.clone())
                    .cancel_tasks(CancelTasksParams::default())
                    .await
                {
                    Ok(_) => assert!(is_known),
                    Err(status) => is_refused(&status, "tasks"),
                }
                let ticket = Ticket::new("nothing");
                let status = FlightServiceClient::new(to)
                    .do_get(ticket)
                    .await
                    .unwrap_err();
                is_refused(&status, "rows");
            }
        }
    });
}

/// A scheduler that has certificates of the same authority, and no token, or another one.
#[test]
fn a_server_with_certificates_alone_is_asked_nothing() {
    let Some(folder) = certificates("tls-alone") else {
        return;
    };
    let ours = files(&folder, "ours", "ours");
    let whole = trust(Some(&ours), Some(TOKEN));
    let client = trust(Some(&ours), whole.client_token().as_deref());
    for (server, expected) in [
        (trust(Some(&ours), None), "the peer has no token"),
        (
            trust(Some(&ours), Some("a-token-of-somebody-else")),
            "the token is wrong",
        ),
    ] {
        let cluster = LocalCluster::start_trusted(&folder, 1, None, &server).unwrap();
        let scheduler = cluster.scheduler().to_string();
        for trust in [&whole, &client] {
            let asks = Asks::by(Client::trusted(scheduler.clone(), 2, trust.clone()).unwrap());
            let refused = asks.ask(SQL).unwrap_err().to_string();
            assert!(refused.contains(expected), "{expected}: {refused}");
            assert!(!refused.contains('\n'), "{refused}");
        }
        let work = Arc::new(WorkFolder::create_in(&folder).unwrap());
        let mut options = ExecutorOptions::new(scheduler, work);
        options.trust = whole.clone();
        let refused = tokio::runtime::Runtime::new()
            .unwrap()
            .block_on(run_executor(&options, std::future::pending()))
            .unwrap_err();
        assert!(
            refused.to_string().contains(expected),
            "{expected}: {refused}"
        );
        // Clients with the token of the cluster are answered.
        let own = Asks::by(cluster.client(2).unwrap());
        assert!(!own.ask(SQL).unwrap().rows.is_empty());
    }
}

#[test]
fn public_addresses_require_authentication() {
    let Some(folder) = certificates("tls-guard") else {
        return;
    };
    enter();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut options = SchedulerOptions::default();
    options.listen = "0.0.0.0:0".parse().unwrap();
    // A short token does not withstand guessing over a network.
    for trust in [Trust::default(), trust(None, Some(TOKEN))] {
        options.trust = trust;
        let refused = runtime.block_on(Scheduler::bind(&options)).unwrap_err();
        assert!(refused.hint().unwrap().contains("--tls-cert"), "{refused}");
    }
    let ours = files(&folder, "ours", "ours");
    options.trust = trust(Some(&ours), None);
    assert!(runtime.block_on(Scheduler::bind(&options)).is_ok());
    // Files that do not match, or do not exist, are an error at once.
    let mut wrong = ours.clone();
    wrong.key = folder.join("theirs.key");
    let refused = Trust::new(Some(&wrong), None).unwrap_err().to_string();
    assert!(refused.contains("theirs.key"), "{refused}");
    for (path, expected) in [("none.pem", "none.pem"), ("names", "has no certificate")] {
        let mut wrong = ours.clone();
        wrong.certificate = folder.join(path);
        let refused = Trust::new(Some(&wrong), None).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}

/// A connection with the token of the cluster, and the user agent of another version.
#[test]
fn another_version_is_rejected_whatever_its_token() {
    let folder = folder("token-version");
    let trusted = trust(None, Some(TOKEN));
    let cluster = LocalCluster::start_trusted(&folder, 1, None, &trusted).unwrap();
    let to = cluster.scheduler().to_string();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let status = SchedulerGrpcClient::new(channel(&to, &trusted, Some("weir/9.9.9 plans/99")))
            .register_executor(RegisterExecutorParams::default())
            .await
            .unwrap_err();
        assert_eq!(status.code(), Code::FailedPrecondition);
        assert!(
            status
                .message()
                .contains("weir 9.9.9 with plan format 99: run the same version on all machines"),
            "{status:?}"
        );
    });
}

fn folder(name: &str) -> PathBuf {
    let folder = enter().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

const SQL: &str = "SELECT ip.src, count(*) FROM 'day/*.pcap' GROUP BY 1 ORDER BY 1";

/// A token without certificates authenticates and encrypts all connections.
#[test]
fn a_token_is_required_at_every_service() {
    let folder = folder("token-alone");
    let trusted = trust(None, Some(TOKEN));
    let cluster = LocalCluster::start_trusted(&folder, 2, None, &trusted).unwrap();
    let there = Asks::by(cluster.client(3).unwrap());
    assert_eq!(
        there.ask_both(SQL).rows,
        Asks::here().ask(SQL).unwrap().rows
    );
    let executors = there.client.as_ref().unwrap().executors();
    let scheduler = cluster.scheduler().to_string();
    for (trust, expected) in [
        (Trust::default(), "the token is missing"),
        (
            trust(None, Some("a-token-of-somebody-else")),
            "the token is wrong",
        ),
    ] {
        let asks = Asks::by(Client::trusted(scheduler.clone(), 3, trust.clone()).unwrap());
        let refused = asks.ask(SQL).unwrap_err().to_string();
        assert!(refused.contains(expected), "{expected}: {refused}");
        assert!(!refused.contains(TOKEN), "{refused}");
        let work = Arc::new(WorkFolder::create_in(&folder.join("stranger")).unwrap());
        let mut options = ExecutorOptions::new(scheduler.clone(), work);
        options.trust = trust.clone();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let refused = runtime
            .block_on(run_executor(&options, std::future::pending()))
            .unwrap_err();
        assert!(
            refused.to_string().contains(expected),
            "{expected}: {refused}"
        );
        runtime.block_on(async {
            for executor in &executors {
                let to = channel(executor, &trust, None);
                let taken = ExecutorGrpcClient::new(to.clone())
                    .cancel_tasks(CancelTasksParams::default())
                    .await;
                assert!(taken.is_err(), "{expected}");
                let got = FlightServiceClient::new(to)
                    .do_get(Ticket::new("nothing"))
                    .await
                    .unwrap_err();
                assert_ne!(got.code(), Code::InvalidArgument, "{expected}: {got:?}");
            }
        });
    }
    // A client with a token does not send requests to a server without one, which may be an impostor.
    let open = LocalCluster::start_below(&folder, 1, None).unwrap();
    let asks = Asks::by(Client::trusted(open.scheduler().to_string(), 3, trusted).unwrap());
    let refused = asks.ask(SQL).unwrap_err().to_string();
    assert!(refused.contains("the peer has no token"), "{refused}");
}

/// A client token permits queries, and is rejected for the calls of schedulers and executors.
#[test]
fn a_client_token_permits_queries_only() {
    let Some(certificates) = certificates("tls-roles") else {
        return;
    };
    let ours = files(&certificates, "ours", "ours");
    for files in [None, Some(&ours)] {
        let folder = folder("roles");
        let whole = trust(files, Some(TOKEN));
        let token = whole.client_token().unwrap();
        assert!(!token.contains(TOKEN));
        let client = trust(files, Some(&token));
        let cluster = LocalCluster::start_trusted(&folder, 2, None, &whole).unwrap();
        let scheduler = cluster.scheduler().to_string();
        let asks = Asks::by(Client::trusted(scheduler.clone(), 3, client.clone()).unwrap());
        assert_eq!(asks.ask_both(SQL).rows, Asks::here().ask(SQL).unwrap().rows);
        let executors = asks.client.as_ref().unwrap().executors();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let refused = |status: &tonic::Status| {
                assert_eq!(status.code(), Code::PermissionDenied, "{status:?}");
                assert!(
                    status
                        .message()
                        .contains("a client token permits queries only"),
                    "{status:?}"
                );
            };
            let mut to = SchedulerGrpcClient::new(channel(&scheduler, &client, None));
            refused(
                &to.register_executor(RegisterExecutorParams::default())
                    .await
                    .unwrap_err(),
            );
            refused(
                &to.heart_beat_from_executor(HeartBeatParams::default())
                    .await
                    .unwrap_err(),
            );
            refused(
                &to.update_task_status(UpdateTaskStatusParams::default())
                    .await
                    .unwrap_err(),
            );
            refused(
                &to.executor_stopped(ExecutorStoppedParams::default())
                    .await
                    .unwrap_err(),
            );
            let mut to = ExecutorGrpcClient::new(channel(&executors[0], &client, None));
            refused(
                &to.launch_task(LaunchTaskParams::default())
                    .await
                    .unwrap_err(),
            );
            refused(
                &to.launch_multi_task(LaunchMultiTaskParams::default())
                    .await
                    .unwrap_err(),
            );
            refused(
                &to.cancel_tasks(CancelTasksParams::default())
                    .await
                    .unwrap_err(),
            );
            refused(
                &to.remove_job_data(RemoveJobDataParams::default())
                    .await
                    .unwrap_err(),
            );
            refused(
                &to.stop_executor(StopExecutorParams::default())
                    .await
                    .unwrap_err(),
            );
        });
        // A server cannot be started with it.
        let mut options = SchedulerOptions::default();
        options.listen.set_port(0);
        options.trust = client.clone();
        let refused = runtime.block_on(Scheduler::bind(&options)).unwrap_err();
        assert!(
            refused.to_string().contains("that of a client"),
            "{refused}"
        );
        let work = Arc::new(WorkFolder::create_in(&folder).unwrap());
        let mut options = ExecutorOptions::new(scheduler, work);
        options.trust = client;
        let refused = runtime
            .block_on(run_executor(&options, std::future::pending()))
            .unwrap_err();
        assert!(
            refused.to_string().contains("that of a client"),
            "{refused}"
        );
    }
}

/// Another user binds the port of a scheduler that has ended, while executors and clients go on connecting.
#[test]
fn an_impostor_at_the_port_of_a_scheduler_sees_no_token() {
    let Some(certificates) = certificates("tls-thief") else {
        return;
    };
    let ours = files(&certificates, "ours", "ours");
    for (name, files) in [("thief", None), ("thief-tls", Some(&ours))] {
        let folder = folder(name);
        let trusted = trust(files, Some(TOKEN));
        let thief = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = thief.local_addr().unwrap().port();
        drop(thief);
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let mut options = SchedulerOptions::default();
        options.listen.set_port(port);
        options.trust = trusted.clone();
        let scheduler = runtime.block_on(Scheduler::bind(&options)).unwrap();
        let scheduling = tokio::runtime::Runtime::new().unwrap();
        scheduling.spawn(scheduler.run());
        let work = Arc::new(WorkFolder::create_in(&folder).unwrap());
        let mut options = ExecutorOptions::new(format!("127.0.0.1:{port}"), work);
        options.cores = 1;
        options.trust = trusted.clone();
        options.heartbeats.every = Duration::from_millis(500);
        runtime.spawn(async move { run_executor(&options, std::future::pending()).await });
        let client = Client::trusted(format!("127.0.0.1:{port}"), 2, trusted.clone()).unwrap();
        assert!(!Asks::by(client).ask(SQL).unwrap().rows.is_empty());
        scheduling.shutdown_timeout(Duration::from_millis(200));

        // The connections of the client, and of the executor, which goes on connecting.
        let received = heard_at(port, 3, || {
            let client = Client::trusted(format!("127.0.0.1:{port}"), 2, trusted.clone()).unwrap();
            assert!(Asks::by(client).ask(SQL).is_err());
        });
        runtime.shutdown_timeout(Duration::from_millis(200));
        assert!(received.len() > 2, "{name}: {} connections", received.len());
        let client = trusted.client_token().unwrap();
        let secrets = [TOKEN, &client, client.rsplit('-').next().unwrap()];
        for bytes in &received {
            assert!(!bytes.is_empty());
            for secret in secrets {
                let secret = secret.as_bytes();
                let is_there = bytes.windows(secret.len()).any(|window| window == secret);
                assert!(!is_there, "{name}: {}", String::from_utf8_lossy(bytes));
            }
            // A TLS handshake, which reveals neither the peer nor the request.
            assert_eq!(bytes[0], 22, "{name}");
        }
    }
}

/// The ports of `--cluster local` are accessible to its own process only.
#[test]
fn a_cluster_of_one_process_is_private() {
    enter();
    let cluster = LocalCluster::start(1, None).unwrap();
    let own = Asks::by(cluster.client(2).unwrap());
    assert_eq!(
        own.ask(SQL).unwrap().rows,
        Asks::here().ask(SQL).unwrap().rows
    );
    let scheduler = cluster.scheduler().to_string();
    for (trust, expected) in [
        (Trust::default(), "the token is missing"),
        (Trust::among_clones().unwrap(), "the token is wrong"),
    ] {
        let asks = Asks::by(Client::trusted(scheduler.clone(), 2, trust).unwrap());
        let refused = asks.ask(SQL).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
}

/// Health checks need no token.
#[test]
fn health_checks_need_no_token() {
    use std::io::{Read as _, Write as _};

    let folder = folder("pages");
    let trusted = trust(None, Some(TOKEN));
    let cluster = LocalCluster::start_trusted(&folder, 1, None, &trusted).unwrap();
    Asks::by(cluster.client(2).unwrap()).ask(SQL).unwrap();
    for (page, expected) in [("healthz", "\r\n\r\nok"), ("readyz", "\r\n\r\nready")] {
        let mut stream = std::net::TcpStream::connect(cluster.scheduler()).unwrap();
        let request = format!("GET /{page} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answered = String::new();
        stream.read_to_string(&mut answered).unwrap();
        assert!(answered.starts_with("HTTP/1.1 200"), "{answered}");
        assert!(answered.ends_with(expected), "{answered}");
    }
}

/// The bytes that are received at this port while a closure runs and until there were so many connections, by connection.
fn heard_at(port: u16, connections: usize, done: impl FnOnce()) -> Vec<Vec<u8>> {
    use std::io::{Read as _, Write as _};

    let listener = std::net::TcpListener::bind(("127.0.0.1", port)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let end = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let ended = Arc::clone(&end);
    let listening = std::thread::spawn(move || {
        let mut received = Vec::new();
        let is_over = |received: &Vec<Vec<u8>>| {
            ended.load(std::sync::atomic::Ordering::Relaxed) && received.len() >= connections
        };
        while !is_over(&received) {
            let mut accepted = None;
            until("a connection", || {
                accepted = listener.accept().ok();
                accepted.is_some() || is_over(&received)
            });
            let Some((mut stream, _)) = accepted else {
                continue;
            };
            stream.set_nonblocking(false).unwrap();
            stream
                .set_read_timeout(Some(Duration::from_millis(100)))
                .unwrap();
            // The SETTINGS frame of an HTTP/2 server.
            let _ = stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
            let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
            while let Ok(count @ 1..) = stream.read(&mut part) {
                bytes.extend_from_slice(&part[..count]);
            }
            received.push(bytes);
        }
        received
    });
    done();
    end.store(true, std::sync::atomic::Ordering::Relaxed);
    listening.join().unwrap()
}
