//! TLS whose packets were captured in another order, also in connections that begin in clear (RFC 3207, RFC 4217).

use crate::quic::hello;
use crate::untidy::{capture, columns_of};

/// A record of the handshake (RFC 8446, 5.1).
fn record(message: &[u8]) -> Vec<u8> {
    [&[22, 3, 3, 0, message.len() as u8][..], message].concat()
}

/// A server's hello that chooses TLS 1.3 (RFC 8446, 4.1.3).
fn server_hello() -> Vec<u8> {
    let mut hello = vec![2, 0, 0, 46, 3, 3];
    hello.extend([7; 32]);
    hello.extend([0, 0x13, 1, 0, 0, 6, 0, 43, 0, 2, 3, 4]);
    hello
}

/// Data of the client before the hello that they answer did not count, and the handshake was not established.
#[test]
fn a_handshake_is_established_though_the_hello_of_the_server_was_captured_late() {
    let sealed = b"\x14\x03\x03\0\x01\x01\x17\x03\x03\0\x03abc";
    let first = record(&hello());
    let answer = [&record(&server_hello())[..], sealed].concat();
    let [asked, answered] = [first.len(), answer.len()].map(|octets| octets as u32);
    let request = (true, 0, 0, &first[..]);
    let response = (false, 0, asked, &answer[..]);
    let goes_on = (true, asked, answered, &sealed[..]);
    let columns = ["tls.cipher", "tls.established"];
    for segments in [[request, response, goes_on], [request, goes_on, response]] {
        let found = columns_of("tls", &capture(&segments), &columns);
        assert_eq!(found, [["TLS_AES_128_GCM_SHA256", "true"]]);
    }
}

/// The last words of the server in clear ended the handshake where they were captured behind the client's hello: the row had
/// nothing of the server.
#[test]
fn words_in_clear_that_were_captured_behind_a_hello_are_not_part_of_the_handshake() {
    let (client_hello, server_hello) = (record(&hello()), record(&server_hello()));
    let (ready, ask, go) = (b"220 ready\r\n", b"AUTH TLS\r\n", b"234 go\r\n");
    let asked = ask.len() as u32;
    let [greeted, agreed] = [ready.len(), ready.len() + go.len()].map(|octets| octets as u32);
    let greeting = (false, 0, 0, &ready[..]);
    let question = (true, 0, greeted, &ask[..]);
    let answer = (false, greeted, asked, &go[..]);
    let of_client = (true, asked, agreed, &client_hello[..]);
    let behind = asked + client_hello.len() as u32;
    let of_server = (false, agreed, behind, &server_hello[..]);
    let columns = ["tls.handshake.extensions_server_name", "tls.cipher"];
    for segments in [
        &[greeting, question, answer, of_client, of_server][..],
        &[greeting, question, of_client, answer, of_server],
        &[greeting, question, of_client, of_server, answer],
        &[greeting, of_client, question, answer, of_server],
        // The answer is missing.
        &[greeting, question, of_client, of_server],
    ] {
        let found = columns_of("tls", &capture(segments), &columns);
        assert_eq!(found, [["weir.test", "TLS_AES_128_GCM_SHA256"]]);
    }
}

/// The rest of a server's hello that had begun before the client's hello was taken for words in clear, and an octet of the answer
/// of a proxy (RFC 1928, 6) for a record: the rows had nothing of the server.
#[test]
fn a_hello_that_begins_in_front_of_the_other_one_is_no_word_in_clear() {
    let (client_hello, server_hello) = (record(&hello()), record(&server_hello()));
    let (ask, port) = (b"\x05\x01\0\x01\x0a\0\0\x01\x01\xbb", b"\xbb");
    let go = b"\x05\0\0\x01\x0a\0\0\x01\x01";
    let asked = ask.len() as u32;
    let [gone, agreed] = [go.len(), go.len() + port.len()].map(|octets| octets as u32);
    let question = (true, 0, 0, &ask[..]);
    let answer = (false, 0, asked, &go[..]);
    let last = (false, gone, asked, &port[..]);
    let of_client = (true, asked, agreed, &client_hello[..]);
    let behind = asked + client_hello.len() as u32;
    let columns = ["tls.handshake.extensions_server_name", "tls.cipher"];
    for octets in [0, 1, 3, 9] {
        let (begin, rest) = server_hello.split_at(octets);
        let begin = (false, agreed, behind, begin);
        let rest = (false, agreed + octets as u32, behind, rest);
        for segments in [
            [question, answer, last, begin, of_client, rest],
            [question, of_client, answer, last, begin, rest],
        ] {
            let sent = segments.into_iter().filter(|segment| !segment.3.is_empty());
            let sent: Vec<_> = sent.collect();
            let found = columns_of("tls", &capture(&sent), &columns);
            assert_eq!(found, [["weir.test", "TLS_AES_128_GCM_SHA256"]], "{octets}");
        }
    }
}

/// The last octets of the client were not captured, and the server goes on, which has them: the handshake was not established, without a
/// fault.
#[test]
fn octets_that_were_acknowledged_and_not_captured_may_be_the_end_of_a_handshake() {
    let sealed = b"\x14\x03\x03\0\x01\x01\x17\x03\x03\0\x03abc";
    let first = record(&hello());
    let answer = [&record(&server_hello())[..], sealed].concat();
    let [asked, answered, finished] = [first.len(), answer.len(), sealed.len()].map(|it| it as u32);
    let request = (true, 0, 0, &first[..]);
    let response = (false, 0, asked, &answer[..]);
    let columns = ["tls.established", "tls.fault"];
    // Nothing of the client came, and then a segment that was not captured, and then one that ended its side.
    for (octets, expected) in [
        (0, ["false", ""]),
        (finished, ["", "bytes were not captured"]),
        (1, ["false", ""]),
    ] {
        let goes_on = (false, answered, asked + octets, &sealed[6..]);
        let found = columns_of("tls", &capture(&[request, response, goes_on]), &columns);
        assert_eq!(found, [expected], "{octets}");
    }
}
