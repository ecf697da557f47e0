//! TLS in connections that begin in clear (RFC 3207, RFC 4217), whose packets were captured in another order.

use crate::quic::hello;
use crate::untidy::{capture, columns_of};

/// A record of the handshake (RFC 8446, 5.1).
fn record(message: &[u8]) -> Vec<u8> {
    [&[22, 3, 3, 0, message.len() as u8][..], message].concat()
}

/// The last words of the server in clear ended the handshake where they were captured behind the client's hello: the row had
/// nothing of the server.
#[test]
fn words_in_clear_that_were_captured_behind_a_hello_are_none_of_the_handshake() {
    let mut server = vec![2, 0, 0, 46, 3, 3];
    server.extend([7; 32]);
    server.extend([0, 0x13, 1, 0, 0, 6, 0, 43, 0, 2, 3, 4]);
    let (client_hello, server_hello) = (record(&hello()), record(&server));
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
