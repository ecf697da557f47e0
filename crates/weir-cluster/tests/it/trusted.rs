//! Certificates and a token at every door: who has them is answered, and nobody else.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use arrow_flight::Ticket;
use arrow_flight::flight_service_client::FlightServiceClient;
use ballista_core::serde::protobuf::executor_grpc_client::ExecutorGrpcClient;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    CancelTasksParams, GetJobStatusParams, RegisterExecutorParams,
};
use tonic::Code;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use weir_cluster::{
    Client, ExecutorOptions, LocalCluster, Scheduler, SchedulerOptions, TlsFiles, Trust,
    WorkFolder, run_executor,
};
use weir_testkit::Limited as _;

use crate::samples::{Asks, enter};

const TOKEN: &str = "a-token-of-the-test";

fn openssl(folder: &Path, line: &str) {
    let output = Command::new("openssl")
        .args(line.split_whitespace())
        .current_dir(folder)
        .output_limited()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "openssl {line}: {said}");
}

/// Two authorities, and of each a certificate of this machine.
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

/// A connection that has what it is given, and says what it is told to say.
fn channel(to: &str, files: Option<&TlsFiles>, agent: &str) -> Channel {
    let scheme = if files.is_some() { "https" } else { "http" };
    let mut endpoint = Endpoint::from_shared(format!("{scheme}://{to}")).unwrap();
    if let Some(files) = files {
        let read = |path: &Path| std::fs::read(path).unwrap();
        let tls = ClientTlsConfig::new()
            .identity(Identity::from_pem(
                read(&files.certificate),
                read(&files.key),
            ))
            .ca_certificate(Certificate::from_pem(read(&files.authorities)));
        endpoint = endpoint.tls_config(tls).unwrap();
    }
    let endpoint = endpoint.user_agent(agent).unwrap();
    endpoint.timeout(Duration::from_secs(10)).connect_lazy()
}

#[test]
fn who_has_certificate_and_token_is_answered_at_every_door_and_nobody_else() {
    let Some(folder) = certificates("tls") else {
        return;
    };
    let (ours, theirs) = (
        files(&folder, "ours", "ours"),
        files(&folder, "theirs", "ours"),
    );
    let trusted = trust(Some(&ours), Some(TOKEN));
    let cluster = LocalCluster::start_trusted(&folder, 2, None, &trusted).unwrap();
    // Groups go from executor to executor, and rows come home.
    let sql = "SELECT ip.src, count(*), sum(frame.len) FROM 'day/*.pcap' GROUP BY 1 ORDER BY 1";
    let there = Asks::by(cluster.client(3).unwrap());
    let answered = there.ask_both(sql);
    assert_eq!(answered.rows, Asks::here().ask(sql).unwrap().rows);
    let executors = there.client.as_ref().unwrap().executors();
    assert!(!executors.is_empty());

    // Who asks the scheduler.
    let scheduler = cluster.scheduler().to_string();
    let work = Arc::new(WorkFolder::create_in(&folder.join("stranger")).unwrap());
    for (trust, said) in [
        (trust(Some(&ours), None), "the token is missing"),
        (
            trust(Some(&ours), Some("a-token-of-somebody-else")),
            "the token is wrong",
        ),
        (
            trust(Some(&theirs), Some(TOKEN)),
            "does not take the certificate of --tls-cert",
        ),
        (
            trust(Some(&files(&folder, "ours", "theirs")), Some(TOKEN)),
            "its certificate is not one that --tls-ca signed",
        ),
        (
            trust(None, Some(TOKEN)),
            "if it speaks TLS, give --tls-cert",
        ),
    ] {
        let asks = Asks::by(Client::trusted(scheduler.clone(), 3, trust.clone()).unwrap());
        let refused = asks.ask(sql).unwrap_err().to_string();
        assert!(refused.contains(said), "{said}: {refused}");
        assert!(refused.contains(&scheduler), "{refused}");
        assert!(
            !refused.contains('\n') && !refused.contains(TOKEN),
            "{refused}"
        );
        // Who would work for it.
        let mut options = ExecutorOptions::new(scheduler.clone(), Arc::clone(&work));
        options.trust = trust;
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let refused = runtime
            .block_on(run_executor(&options, std::future::pending()))
            .unwrap_err();
        assert!(refused.to_string().contains(said), "{said}: {refused}");
    }

    // Who goes to the doors by other programs: each is refused, at each.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let agent = format!(
        "weir/{} plans/{}",
        env!("CARGO_PKG_VERSION"),
        weir_cluster::FORMAT
    );
    let with_token = format!("{agent} token/{TOKEN}");
    runtime.block_on(async {
        for (files, agent, code) in [
            (Some(&ours), &with_token, None),
            (Some(&ours), &agent, Some(Code::Unauthenticated)),
            (Some(&theirs), &with_token, Some(Code::Unavailable)),
            (None, &with_token, Some(Code::Unavailable)),
        ] {
            let refused = |status: &tonic::Status, door: &str| match code {
                Some(Code::Unauthenticated) => {
                    assert_eq!(status.code(), Code::Unauthenticated, "{door}: {status:?}");
                }
                // What is no TLS, or of a stranger, does not come so far that anybody would answer.
                Some(_) => assert!(
                    matches!(
                        status.code(),
                        Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled
                    ),
                    "{door}: {status:?}"
                ),
                // Let in, and told that it makes no sense.
                None => assert_ne!(status.code(), Code::Unauthenticated, "{door}: {status:?}"),
            };
            let to = channel(&scheduler, files, agent);
            match SchedulerGrpcClient::new(to)
                .get_job_status(GetJobStatusParams::default())
                .await
            {
                Ok(_) => assert_eq!(code, None),
                Err(status) => refused(&status, "scheduler"),
            }
            for executor in &executors {
                let to = channel(executor, files, agent);
                match ExecutorGrpcClient::new(to.clone())
                    .cancel_tasks(CancelTasksParams::default())
                    .await
                {
                    Ok(_) => assert_eq!(code, None),
                    Err(status) => refused(&status, "tasks"),
                }
                let ticket = Ticket::new("nothing");
                let status = FlightServiceClient::new(to)
                    .do_get(ticket)
                    .await
                    .unwrap_err();
                refused(&status, "rows");
            }
        }
        // An executor of another version.
        let other = format!("weir/9.9.9 plans/99 token/{TOKEN}");
        let to = channel(&scheduler, Some(&ours), &other);
        let status = SchedulerGrpcClient::new(to)
            .register_executor(RegisterExecutorParams::default())
            .await
            .unwrap_err();
        assert_eq!(status.code(), Code::FailedPrecondition);
        assert!(
            status.message().contains(
                "weir 9.9.9 with plans of format 99: run the same version on all machines"
            ),
            "{status:?}"
        );
    });
}

#[test]
fn addresses_of_others_are_listened_at_with_certificates_only() {
    let Some(folder) = certificates("tls-guard") else {
        return;
    };
    enter();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut options = SchedulerOptions::default();
    options.listen = "0.0.0.0:0".parse().unwrap();
    // A token alone would be sent where all can read it.
    for trust in [Trust::default(), trust(None, Some(TOKEN))] {
        options.trust = trust;
        let refused = runtime.block_on(Scheduler::bind(&options)).unwrap_err();
        assert!(refused.hint().unwrap().contains("--tls-cert"), "{refused}");
    }
    let ours = files(&folder, "ours", "ours");
    options.trust = trust(Some(&ours), None);
    assert!(runtime.block_on(Scheduler::bind(&options)).is_ok());
    // Files that do not go together, or are none, are told of at once.
    let mut wrong = ours.clone();
    wrong.key = folder.join("theirs.key");
    let refused = Trust::new(Some(&wrong), None).unwrap_err().to_string();
    assert!(refused.contains("theirs.key"), "{refused}");
    for (path, said) in [("none.pem", "none.pem"), ("names", "has no certificate")] {
        let mut wrong = ours.clone();
        wrong.certificate = folder.join(path);
        let refused = Trust::new(Some(&wrong), None).unwrap_err().to_string();
        assert!(refused.contains(said), "{refused}");
    }
}
