//! Tests of the end of a server.

use std::sync::mpsc;
use std::time::Duration;

use weir_serve::{Options, Server};

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
