//! Many questions, and clients that go in the middle of one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use futures::TryStreamExt;
use weir_serve::{Options, Server};
use weir_testkit::{Limited as _, until};

use crate::served::Served;

/// A server in a process of its own, whose memory and files are its own.
struct Alone {
    child: Child,
    postgres: SocketAddr,
    http: SocketAddr,
    flight: SocketAddr,
    /// Open as long as the server runs: the harness says into it that a test has run for a minute, and ends when
    /// its other end is closed.
    _told: BufReader<ChildStdout>,
}

impl Alone {
    fn over(folder: &std::path::Path) -> Self {
        let program = std::env::current_exe().unwrap();
        let mut child = Command::new(program)
            .args([
                "--exact",
                "loads::a_server_of_its_own",
                "--ignored",
                "--nocapture",
            ])
            .env("WEIR_SERVE_ALONE", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn_limited()
            .unwrap();
        let mut told = BufReader::new(child.stdout.take().unwrap());
        let mut lines = told.by_ref().lines();
        let doors = lines.find_map(|line| {
            let line = line.unwrap();
            let (_, doors) = line.split_once("doors: ")?;
            Some(
                doors
                    .split(' ')
                    .map(|door| door.parse().unwrap())
                    .collect::<Vec<_>>(),
            )
        });
        let doors = doors.unwrap();
        Self {
            child,
            postgres: doors[0],
            http: doors[1],
            flight: doors[2],
            _told: told,
        }
    }

    /// Resident kilobytes, and files that are open.
    fn held(&self) -> (u64, usize) {
        let folder = format!("/proc/{}", self.child.id());
        let status = std::fs::read_to_string(format!("{folder}/status")).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS"))
            .unwrap();
        let resident = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        let files = std::fs::read_dir(format!("{folder}/fd")).unwrap().count();
        (resident, files)
    }

    /// Seconds of processor time.
    fn seconds(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let after = stat.rsplit_once(") ").unwrap().1;
        let fields: Vec<&str> = after.split(' ').collect();
        let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
        ticks / 100.0
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        // The server ends when its standard input is closed.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "other tests start it in a process of its own"]
fn a_server_of_its_own() {
    let Some(root) = std::env::var_os("WEIR_SERVE_ALONE") else {
        return;
    };
    let mut options = Options::default();
    options.roots = vec![root.into()];
    let any = || Some("127.0.0.1:0".parse().unwrap());
    (options.listen, options.http, options.flight) = (any(), any(), any());
    let server = Server::start(options).unwrap();
    let doors = [server.postgres(), server.http(), server.flight()];
    let doors = doors.map(|door| door.unwrap().to_string()).join(" ");
    println!("\ndoors: {doors}");
    std::io::stdout().flush().unwrap();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let end = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
        server.run(async { drop(end.await) }).await.unwrap();
    });
}

fn post(address: SocketAddr, sql: &str) -> String {
    let mut socket = std::net::TcpStream::connect(address).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let head = "POST /query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sql\r\nConnection: close";
    write!(
        socket,
        "{head}\r\nContent-Length: {}\r\n\r\n{sql}",
        sql.len()
    )
    .unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_thousand_questions_leave_memory_and_files_as_they_were() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    weir_testkit::demo::write_demo(folder.path()).unwrap();
    let alone = Alone::over(folder.path());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let questions = [
        "SELECT ip.src, count(*) FROM 'office.pcapng' GROUP BY 1",
        "SELECT frame.number, frame.time, ip.src FROM 'voip.pcap'",
        "SELECT count(*) FROM flows('voip.pcap')",
    ];
    runtime.block_on(async {
        let ask = async |count: usize| {
            let config = format!(
                "host=127.0.0.1 port={} user=me dbname=weir",
                alone.postgres.port()
            );
            for index in 0..count {
                let sql = questions[index % questions.len()];
                // Every tenth on a connection of its own.
                let (client, connection) = tokio_postgres::connect(&config, tokio_postgres::NoTls)
                    .await
                    .unwrap();
                let connection = tokio::spawn(connection);
                client.simple_query(sql).await.unwrap();
                client.query(sql, &[]).await.unwrap();
                drop(client);
                connection.await.unwrap().unwrap();
                let http = alone.http;
                let answer = tokio::task::spawn_blocking(move || post(http, sql))
                    .await
                    .unwrap();
                assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                let address = format!("http://{}", alone.flight);
                let channel = tonic::transport::Channel::from_shared(address)
                    .unwrap()
                    .connect()
                    .await;
                let mut client =
                    arrow_flight::sql::client::FlightSqlServiceClient::new(channel.unwrap());
                let info = client.execute(sql.to_owned(), None).await.unwrap();
                let rows = client
                    .do_get(info.endpoint[0].ticket.clone().unwrap())
                    .await
                    .unwrap();
                let rows: Vec<_> = rows.try_collect().await.unwrap();
                assert!(!rows.is_empty());
            }
        };
        ask(60).await;
        let (resident, files) = alone.held();
        // Four questions a round.
        ask(250).await;
        // The resources of the last connections are released shortly after their end.
        until("memory and files to be given back", || {
            let (resident_now, files_now) = alone.held();
            println!("{resident} kB, {files} files; now {resident_now} kB, {files_now} files");
            files_now <= files + 4 && resident_now < resident + resident / 5 + 16_000
        });
    });
}

#[test]
fn a_client_that_is_killed_leaves_the_processor_alone() {
    if !cfg!(target_os = "linux")
        || Command::new("psql")
            .arg("--version")
            .output_limited()
            .is_err()
    {
        weir_testkit::missing("psql", "a client that is killed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let alone = Alone::over(folder.path());
    let endless = "SELECT count(*) FROM generate_series(1, 1000000000000) a(v) WHERE v % 7 = 1000";
    let mut client = Command::new("psql")
        .args([
            "-X",
            "-h",
            "127.0.0.1",
            "-U",
            "me",
            "-d",
            "weir",
            "-c",
            endless,
            "-p",
        ])
        .arg(alone.postgres.port().to_string())
        .spawn_limited()
        .unwrap();
    let begun = alone.seconds();
    until("the statement to run", || alone.seconds() > begun + 0.5);
    client.kill().unwrap();
    client.wait().unwrap();
    // The statement would never end by itself.
    until("the processor to be left alone", || {
        let before = alone.seconds();
        std::thread::sleep(Duration::from_millis(300));
        alone.seconds() - before < 0.02
    });
}

#[test]
fn many_rows_pass_in_constant_memory_over_flight_sql() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let served = Served::plain();
    let alone = Alone::over(served.path());
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let address = format!("http://{}", alone.flight);
        let channel = tonic::transport::Channel::from_shared(address).unwrap().connect().await;
        let mut client = arrow_flight::sql::client::FlightSqlServiceClient::new(channel.unwrap());
        let ask = async |client: &mut arrow_flight::sql::client::FlightSqlServiceClient<_>, rows: u64| {
            let sql = format!("SELECT v, v * 2 AS w, CAST(v AS TEXT) AS t, v % 7 AS m, v + 0.5 AS h, v > 5 AS f FROM generate_series(1, {rows}) s(v)");
            let info = client.execute(sql, None).await.unwrap();
            let mut batches = client.do_get(info.endpoint[0].ticket.clone().unwrap()).await.unwrap();
            let (mut count, mut most) = (0, 0);
            while let Some(batch) = batches.try_next().await.unwrap() {
                count += batch.num_rows() as u64;
                most = most.max(alone.held().0);
            }
            assert_eq!(count, rows);
            most
        };
        let few = ask(&mut client, 100_000).await;
        let many = ask(&mut client, 2_000_000).await;
        println!("{few} kB with 100,000 rows, {many} kB with 2,000,000");
        assert!(many < few + 40_000, "{few} kB, then {many} kB");
    });
}
