//! Tests of the end of a server, and of statements that do not end.

use std::sync::mpsc;
use std::time::Duration;

use weir_serve::{Options, Server};
use weir_testkit::until;

use crate::served::Served;

/// The parser of a long text does not look up: the server waited for its end, after the last of hundreds that had waited for each other.
#[test]
fn a_server_ends_while_a_thread_of_it_computes() {
    let root = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.roots = vec![root.path().to_path_buf()];
    options.http = Some("127.0.0.1:0".parse().unwrap());
    options.limits.grace = Duration::from_millis(10);
    let server = Server::start(options).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    let (begun, begins) = mpsc::channel();
    let (go_on, waits) = mpsc::channel::<()>();
    runtime.spawn(async move {
        begun.send(()).unwrap();
        tokio::task::block_in_place(|| waits.recv()).unwrap();
    });
    begins.recv().unwrap();
    server.run_on(runtime, async {}).unwrap();
    // The thread is at it still: it has not let go what it waits for.
    go_on.send(()).unwrap();
}

/// A call of a function that cannot be interrupted went on for hours, in a process that waited for the next statement.
#[test]
fn a_process_whose_statement_goes_on_takes_no_other() {
    let served = Served::plain();
    let head =
        "POST /query?timeout_ms=1000 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sql";
    // Where the server is busy, the statement has no process when its time is over.
    until("a process to be killed", || {
        let sql = "SELECT regexp_count(repeat('a', 1000000), 'a*b|a')";
        let answer = served.request(head, sql);
        assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
        !served.has_counter("weir_processes_lost_occupied_total 0")
    });
}
