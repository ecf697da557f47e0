//! Messages of clients of the PostgreSQL protocol: texts, formats and names that are refused.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::served::Served;

/// A connection of the PostgreSQL protocol that is ready for a query.
pub(crate) fn begun(served: &Served) -> TcpStream {
    let mut socket = TcpStream::connect(served.postgres).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    socket
        .write_all(b"\0\0\0\x11\0\x03\0\0user\0me\0\0")
        .unwrap();
    until_ready(&mut socket);
    socket
}

/// The messages of the server until it is ready for a query.
pub(crate) fn until_ready(socket: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    while !answer.ends_with(b"Z\0\0\0\x05I") {
        let mut octet = [0];
        socket.read_exact(&mut octet).unwrap();
        answer.extend(octet);
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// A message of a client of the PostgreSQL protocol.
pub(crate) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).unwrap() + 4;
    [[kind].as_slice(), &length.to_be_bytes(), body].concat()
}

/// The answer to a statement that is parsed, bound and executed.
pub(crate) fn executed(socket: &mut TcpStream, parse: &[u8], bind: &[u8]) -> String {
    let rest = [message(b'E', b"\0\0\0\0\0"), message(b'S', b"")].concat();
    socket.write_all(&[parse, bind, &rest].concat()).unwrap();
    until_ready(socket)
}

/// Octets of a text that is not UTF-8 were replaced.
#[test]
fn texts_that_are_not_utf_8_are_refused() {
    let served = Served::plain();
    let mut socket = begun(&served);
    let valid = message(b'Q', "SELECT 'ä'\0".as_bytes());
    let sync = message(b'S', b"");
    let bind = message(b'B', b"\0\0\0\0\0\0\0\0");
    for (sent, expected) in [
        (vec![valid.clone()], false),
        (vec![message(b'Q', b"SELECT '\xe4'\0")], true),
        (vec![valid.clone()], false),
        (
            vec![message(b'P', b"\0SELECT '\xe4'\0\0\0"), bind, sync.clone()],
            true,
        ),
        (vec![message(b'P', b"\xff\0SELECT 1\0\0\0"), sync], true),
        (vec![valid], false),
    ] {
        socket.write_all(&sent.concat()).unwrap();
        let answer = until_ready(&mut socket);
        assert_eq!(answer.contains("C22021\0"), expected, "{answer}");
        assert_eq!(answer.contains('ä'), !expected, "{answer}");
    }
}

/// A value was sent as text when a client asked for a format that there is not.
#[test]
fn formats_that_are_none_are_refused() {
    let served = Served::plain();
    let mut socket = begun(&served);
    let parse = message(b'P', b"\0SELECT $1::text\0\0\0");
    // A code for one parameter, its value, and a code for the columns.
    for (parameters, columns, expected) in [
        (2, 0, Some("unsupported format code: 2")),
        (0, 2, Some("unsupported format code: 2")),
        (0, 0xff, Some("unsupported format code: 255")),
        (0, 0, None),
        (1, 1, None),
    ] {
        let values = [
            0, 1, 0, parameters, 0, 1, 0, 0, 0, 1, b'x', 0, 1, 0, columns,
        ];
        let bind = message(b'B', &[b"\0\0".as_slice(), &values].concat());
        let answer = executed(&mut socket, &parse, &bind);
        match expected {
            Some(expected) => assert!(
                answer.contains("C22023\0") && answer.contains(expected),
                "{answer}"
            ),
            None => assert!(answer.contains("SELECT 1\0"), "{answer}"),
        }
    }
}

/// The first of two statements or portals of one name was replaced, and names were not counted as memory that is held.
#[test]
fn names_are_refused_while_they_are_in_use() {
    let served = Served::plain();
    let mut socket = begun(&served);
    let parse = |name: &str, sql: &str| message(b'P', format!("{name}\0{sql}\0\0\0").as_bytes());
    let bind = |portal: &str, statement: &str| {
        let body = format!("{portal}\0{statement}\0\0\0\0\0\0\0");
        message(b'B', body.as_bytes())
    };
    let execute = |portal: &str| message(b'E', format!("{portal}\0\0\0\0\0").as_bytes());
    let query = |sql: &str| message(b'Q', format!("{sql}\0").as_bytes());
    let sync = || message(b'S', b"");
    let twice = |portal: &str| {
        vec![
            bind(portal, "s"),
            bind(portal, "s"),
            execute(portal),
            sync(),
        ]
    };
    let begin = |sql: &str, portal: &str| {
        let bound = [bind(portal, "s"), sync(), bind(portal, "s"), sync()];
        [vec![query(sql)], bound.to_vec(), vec![query("ROLLBACK")]].concat()
    };
    for (sent, code) in [
        (vec![parse("s", "SELECT 1"), sync()], None),
        (vec![parse("s", "SELECT 2"), sync()], Some("C42P05\0")),
        (
            vec![parse("", "SELECT 1"), parse("", "SELECT 2"), sync()],
            None,
        ),
        (vec![parse("e", ""), sync()], None),
        (vec![parse("e", ";"), sync()], Some("C42P05\0")),
        (vec![query("DEALLOCATE s")], None),
        (vec![parse("s", "SELECT 3"), sync()], None),
        (
            vec![message(b'C', b"Ss\0"), parse("s", "SELECT 4"), sync()],
            None,
        ),
        (twice("p"), Some("C42P03\0")),
        // Portals end with their transaction.
        (vec![bind("p", "s"), execute("p"), sync()], None),
        (
            vec![
                bind("p", "s"),
                message(b'C', b"Pp\0"),
                bind("p", "s"),
                sync(),
            ],
            None,
        ),
        (twice(""), None),
        (begin("BEGIN", "p"), Some("C42P03\0")),
        (begin("BEGIN", ""), None),
        (
            begin("BEGIN; DECLARE c CURSOR FOR SELECT 1", "c"),
            Some("C42P03\0"),
        ),
        (vec![query("DISCARD ALL")], None),
        (vec![parse("s", "SELECT 5"), parse("e", ""), sync()], None),
        (vec![query("DEALLOCATE ALL")], None),
        (vec![bind("", "s"), sync()], Some("C26000\0")),
    ] {
        socket.write_all(&sent.concat()).unwrap();
        let answer = until_ready(&mut socket);
        match code {
            Some(code) => assert!(answer.contains(code), "{code} {answer}"),
            None => assert!(!answer.contains("ERROR"), "{answer}"),
        }
    }
    let long = "x".repeat(1 << 20);
    let names = |number: usize| parse(&format!("{number}{long}"), "");
    let mut many = b"SELECT 1\0\x7f\xff".to_vec();
    many.resize(many.len() + 4 * 0x7fff, 0);
    socket
        .write_all(&[parse("gaps", "SELECT $65535"), sync()].concat())
        .unwrap();
    let answer = until_ready(&mut socket);
    assert!(answer.contains("data type of parameter $1\0"), "{answer}");
    let types = |number: usize| {
        let name = format!("t{number}\0");
        message(b'P', &[name.as_bytes(), &many].concat())
    };
    let senders: [&dyn Fn(usize) -> Vec<u8>; 2] = [&names, &types];
    for sender in senders {
        let refused = (0..50).find_map(|number| {
            let sent = [sender(number), sync()].concat();
            socket.write_all(&sent).unwrap();
            let answer = until_ready(&mut socket);
            answer.contains("C54000\0").then_some(answer)
        });
        let answer = refused.unwrap();
        assert!(answer.contains("of a connection take 16 MiB"), "{answer}");
    }
}

/// A length of 3 was "more than --max-text allows: 1048576".
#[test]
fn a_message_that_is_shorter_than_its_length_field_is_malformed() {
    let served = Served::plain();
    let mut socket = begun(&served);
    socket.write_all(b"Q\0\0\0\x03").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let expected = "C08P01\0Minvalid message length: 3\0";
    assert!(answer.contains(expected), "{answer}");
    // A browser's request was advised to raise --max-text, which does not hold for first messages.
    let mut socket = TcpStream::connect(served.postgres).unwrap();
    socket.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    let expected = "C08P01\0Minvalid message length: 1195725856\0";
    assert!(answer.contains(expected), "{answer}");
}

/// What stood in a message without parts was read as a message of its own, and pgwire panicked at it.
#[test]
fn messages_without_parts_have_no_octets() {
    let served = Served::plain();
    let bind = message(b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0");
    for kind in [b'H', b'S', b'c'] {
        let mut socket = begun(&served);
        socket.write_all(&message(kind, &bind)).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        let expected = "C08P01\0Minvalid message format: the parts of a message";
        assert!(answer.contains(expected), "{kind} {answer}");
    }
}

/// A portal that is not there had the SQLSTATE of a statement, an unnamed one a name of pgwire's, a Describe of neither ended the
/// connection, and a Close of neither was accepted.
#[test]
fn what_messages_name_and_is_not_there_is_refused_as_in_postgresql() {
    let served = Served::plain();
    let mut socket = begun(&served);
    for (sent, expected) in [
        (
            message(b'E', b"p\0\0\0\0\0"),
            "C34000\0Mportal \"p\" does not exist\0",
        ),
        (
            message(b'E', b"\0\0\0\0\0"),
            "C34000\0Mportal \"\" does not exist\0",
        ),
        (
            message(b'D', b"Pp\0"),
            "C34000\0Mportal \"p\" does not exist\0",
        ),
        (
            message(b'D', b"Ss\0"),
            "C26000\0Mprepared statement \"s\" does not exist\0",
        ),
        (
            message(b'B', b"\0\0\0\0\0\0\0\0"),
            "C26000\0Munnamed prepared statement does not exist\0",
        ),
        (
            message(b'D', b"Xx\0"),
            "C08P01\0Minvalid DESCRIBE message subtype 88\0",
        ),
        (
            message(b'C', b"Xx\0"),
            "C08P01\0Minvalid CLOSE message subtype 88\0",
        ),
    ] {
        let sync = message(b'S', b"");
        socket.write_all(&[sent, sync].concat()).unwrap();
        let answer = until_ready(&mut socket);
        assert!(answer.contains(expected), "{expected} {answer}");
    }
}

/// A portal that had copied its rows was run again as a query without rows.
#[test]
fn portals_of_statements_without_rows_are_run_once() {
    let served = Served::plain();
    let mut socket = begun(&served);
    for (sql, first, again) in [
        (
            "COPY (SELECT 1) TO STDOUT",
            "COPY 1\0",
            "C55000\0Mportal \"\" cannot be run\0",
        ),
        (
            "CREATE VIEW v AS SELECT 1 AS a",
            "CREATE VIEW\0",
            "C55000\0Mportal \"\" cannot be run\0",
        ),
        ("SELECT 1", "SELECT 1\0", "SELECT 0\0"),
    ] {
        let parsed = message(b'P', format!("\0{sql}\0\0\0").as_bytes());
        let bound = message(b'B', b"\0\0\0\0\0\0\0\0");
        let bound = [bound, message(b'E', b"\0\0\0\0\0")].concat();
        let answer = executed(&mut socket, &parsed, &bound);
        assert!(answer.contains(first), "{sql}: {answer}");
        assert!(answer.contains(again), "{sql}: {answer}");
    }
}

/// Formats that were fewer than the columns ended the connection.
#[test]
fn formats_are_none_or_one_or_as_many_as_there_are_values() {
    let served = Served::plain();
    let mut socket = begun(&served);
    let sql = b"\0SELECT $1::text, $2::text, $3::text\0\0\0";
    let sent = |formats: u8, values: u8, columns: u8| {
        let mut bind = vec![0, 0, 0, formats];
        bind.extend(vec![0; 2 * usize::from(formats)]);
        bind.extend([0, values]);
        bind.extend([0, 0, 0, 1, b'x'].repeat(usize::from(values)));
        bind.extend([0, columns]);
        bind.extend(vec![0; 2 * usize::from(columns)]);
        [
            message(b'P', sql),
            message(b'B', &bind),
            message(b'E', b"\0\0\0\0\0"),
            message(b'S', b""),
        ]
        .concat()
    };
    for (formats, values, columns, expected) in [
        (0, 3, 0, None),
        (1, 3, 1, None),
        (3, 3, 3, None),
        (
            2,
            3,
            0,
            Some("bind message has 2 parameter formats but 3 parameters"),
        ),
        (
            4,
            3,
            0,
            Some("bind message has 4 parameter formats but 3 parameters"),
        ),
        (
            0,
            3,
            2,
            Some("bind message has 2 result formats but query has 3 columns"),
        ),
        (
            0,
            3,
            4,
            Some("bind message has 4 result formats but query has 3 columns"),
        ),
        (
            0,
            2,
            0,
            Some("bind message supplies 2 parameters, but prepared statement \"\" requires 3"),
        ),
    ] {
        socket.write_all(&sent(formats, values, columns)).unwrap();
        let answer = until_ready(&mut socket);
        match expected {
            Some(expected) => assert!(
                answer.contains("C08P01\0") && answer.contains(expected),
                "{answer}"
            ),
            None => assert!(answer.contains("SELECT 1\0"), "{answer}"),
        }
    }
}

/// A cursor that ends with its transaction was declared outside of any, and stayed.
#[test]
fn cursors_are_declared_in_transactions() {
    let served = Served::plain();
    let mut socket = begun(&served);
    let outside = "C25P01\0MDECLARE CURSOR can only be used in transaction blocks\0";
    let absent = "C34000\0Mcursor \"c\" does not exist\0";
    for (sql, expected) in [
        ("DECLARE c CURSOR FOR SELECT 1", outside),
        // The statements of a text are a transaction.
        ("DECLARE c CURSOR FOR SELECT 1; FETCH c", "FETCH 1\0"),
        ("FETCH c", absent),
        (
            "DECLARE c CURSOR FOR SELECT 1; SELECT no_column",
            "C42703\0",
        ),
        ("FETCH c", absent),
        (
            "BEGIN; DECLARE c CURSOR FOR SELECT 1; COMMIT",
            "DECLARE CURSOR\0",
        ),
        ("FETCH c", absent),
        (
            "DECLARE h CURSOR WITH HOLD FOR SELECT 1",
            "DECLARE CURSOR\0",
        ),
        ("FETCH h", "FETCH 1\0"),
    ] {
        let query = message(b'Q', format!("{sql}\0").as_bytes());
        socket.write_all(&query).unwrap();
        let answer = until_ready(&mut socket);
        assert!(answer.contains(expected), "{sql}: {answer}");
    }
    let parse = message(b'P', b"\0DECLARE c CURSOR FOR SELECT 1\0\0\0");
    let bind = message(b'B', b"\0\0\0\0\0\0\0\0");
    let answer = executed(&mut socket, &parse, &bind);
    assert!(answer.contains(outside), "{answer}");
}
