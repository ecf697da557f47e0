//! Clients that send many messages behind a statement that runs.

use std::io::{Read as _, Write as _};

use crate::messages::{begun, message, until_ready};
use crate::served::Served;

const ENDLESS: &[u8] =
    b"SELECT count(*) FROM generate_series(1, 1000000000000) a(v) WHERE v % 7 = 1000\0";

/// The FIN came behind more than the window of the connection takes, and the statement went on.
#[test]
fn a_statement_ends_when_its_client_has_gone_behind_many_messages() {
    let served = Served::plain();
    let long = format!("SELECT 1 -- {}\0", "x".repeat(1 << 20));
    for behind in [
        message(b'Q', b"SELECT 1\0").repeat(15_000),
        message(b'Q', long.as_bytes()),
    ] {
        let mut socket = begun(&served);
        socket.write_all(&message(b'Q', ENDLESS)).unwrap();
        served.wait_for("weir_queries_running 1");
        socket.write_all(&behind).unwrap();
        drop(socket);
        served.wait_for("weir_queries_running 0");
    }
}

#[test]
fn what_was_read_ahead_is_answered_in_its_order() {
    let served = Served::plain();
    let mut socket = begun(&served);
    let long = "x".repeat(20_000);
    let mut messages = message(b'Q', b"SET statement_timeout = 1500\0");
    messages.extend(message(b'Q', ENDLESS));
    for number in 1000..1020 {
        let text = format!("SELECT {number} -- {long}\0");
        messages.extend(message(b'Q', text.as_bytes()));
    }
    socket.write_all(&messages).unwrap();
    until_ready(&mut socket);
    let ended = until_ready(&mut socket);
    assert!(ended.contains("C57014"), "{ended}");
    for number in 1000..1020 {
        let answer = until_ready(&mut socket);
        assert!(answer.contains(&format!("\u{4}{number}C")), "{answer:?}");
    }
}

/// What is read ahead has a bound, behind which the end of a client is not seen.
#[test]
fn a_connection_with_too_much_behind_a_statement_is_closed() {
    let served = Served::with(|options| options.limits.text_bytes_max = 1000);
    let mut socket = begun(&served);
    socket.write_all(&message(b'Q', ENDLESS)).unwrap();
    served.wait_for("weir_queries_running 1");
    // The server may close the connection before all is written.
    let _ = socket.write_all(&message(b'Q', b"SELECT 1\0").repeat(50_000));
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.contains("C54000"), "{answer:?}");
    assert!(
        answer.contains("bytes of messages wait behind a statement that runs"),
        "{answer:?}"
    );
    served.wait_for("weir_queries_running 0");
}

/// The messages of a client were "unfinished" when it had sent 8 MiB of them without a pause.
#[test]
fn clients_send_message_behind_message() {
    let served = Served::plain();
    // Messages of COPY are passed over outside of one.
    for (length, count) in [(100_000, 100), (1000, 10_000)] {
        let mut socket = begun(&served);
        let copied = message(b'd', &vec![b'x'; length]).repeat(count);
        socket.write_all(&copied).unwrap();
        socket.write_all(&message(b'S', b"")).unwrap();
        let answer = until_ready(&mut socket);
        assert!(!answer.contains("FATAL"), "{answer}");
    }
}
