//! Values of parameters of the PostgreSQL protocol.

use tokio_postgres::error::SqlState;

use crate::attacks::postgres;
use crate::messages::{begun, executed, message};
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
        let answer = executed(&mut socket, &parse, &bind);
        match expected {
            Some(expected) => assert!(
                answer.contains("C22021\0") && answer.contains(&format!("M{expected}\0")),
                "{answer}"
            ),
            None => assert!(answer.contains("SELECT 1\0"), "{answer}"),
        }
    }
}

/// An element with an octet 0 was an array in a wrong format (22P03).
#[test]
fn elements_of_arrays_that_are_no_texts_are_refused() {
    let served = Served::plain();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = postgres(&served).await;
        let sql = "SELECT cardinality($1::text[]) AS n";
        client.query(sql, &[&["a", "b"].as_slice()]).await.unwrap();
        let refused = client.query(sql, &[&["a", "b\0c"].as_slice()]).await;
        let error = refused.unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::CHARACTER_NOT_IN_REPERTOIRE));
        assert_eq!(
            error.as_db_error().unwrap().message(),
            "invalid byte sequence for encoding \"UTF8\": 0x00"
        );
    });
    let mut socket = begun(&served);
    let parse = message(
        b'P',
        b"\0SELECT cardinality($1::text[]) AS n\0\0\x01\0\0\x03\xf1",
    );
    for (element, expected) in [
        (
            [b'a', 0xe4],
            Some("invalid byte sequence for encoding \"UTF8\"\0"),
        ),
        (
            [0, b'a'],
            Some("invalid byte sequence for encoding \"UTF8\": 0x00\0"),
        ),
        ([b'a', b'b'], None),
    ] {
        // An array of one dimension, whose elements are texts, with NULL and one text.
        let words = [1, 1, 25, 2, 1, u32::MAX, 2];
        let array: Vec<u8> = words
            .iter()
            .flat_map(|word: &u32| word.to_be_bytes())
            .collect();
        let array = [array.as_slice(), &element].concat();
        let head: [u8; 12] = [0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 30];
        let bind = message(b'B', &[head.as_slice(), &array, &[0, 0]].concat());
        let answer = executed(&mut socket, &parse, &bind);
        match expected {
            Some(expected) => assert!(
                answer.contains("C22021\0") && answer.contains(expected),
                "{answer}"
            ),
            None => assert!(answer.contains("SELECT 1\0"), "{answer}"),
        }
    }
}
