//! Values of parameters of the PostgreSQL protocol.

use std::io::Write;

use crate::refusals::{begun, message, until_ready};
use crate::served::Served;

/// A text with an octet 0 was a value.
#[test]
fn parameters_that_are_no_texts_are_refused() {
    let served = Served::plain();
    let mut socket = begun(&served);
    let parse = message(b'P', b"\0SELECT $1::text AS a, $2::bytea AS b\0\0\0");
    for (value, format, expected) in [
        (b"abc", 0, None),
        (b"abc", 1, None),
        (
            b"a\0c",
            0,
            Some("invalid byte sequence for encoding \"UTF8\": 0x00"),
        ),
        (
            b"a\0c",
            1,
            Some("invalid byte sequence for encoding \"UTF8\": 0x00"),
        ),
        (
            b"a\xe4c",
            0,
            Some("invalid byte sequence for encoding \"UTF8\""),
        ),
    ] {
        // The octets of the other parameter are of no encoding.
        let codes = [0, 2, 0, format, 0, 1, 0, 2];
        let values = [[0, 0, 0, 3].as_slice(), value, &[0, 0, 0, 2, 0, 0xff, 0, 0]].concat();
        let bind = message(b'B', &[b"\0\0".as_slice(), &codes, &values].concat());
        let rest = [message(b'E', b"\0\0\0\0\0"), message(b'S', b"")].concat();
        socket
            .write_all(&[parse.as_slice(), &bind, &rest].concat())
            .unwrap();
        let answer = until_ready(&mut socket);
        match expected {
            Some(expected) => assert!(
                answer.contains("C22021\0") && answer.contains(&format!("M{expected}\0")),
                "{answer}"
            ),
            None => assert!(answer.contains("SELECT 1\0"), "{answer}"),
        }
    }
}
