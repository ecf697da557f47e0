//! Filters over TLS in packets of other protocols.

use std::net::Ipv4Addr;

use weir_testkit::packet::{Ipv4, ethernet, protocol, udp};

use super::{are_selected, are_selected_in};
use crate::untidy_handshakes::{control, datagrams, eap, eapol, hellos, prelogin, record};
use crate::wire::{Connection, Sent};

/// A change of cipher spec, and a message of the handshake that is sealed.
const SEALED: &[u8] = b"\x14\x03\x03\0\x01\x01\x16\x03\x03\0\x04abcd";

/// The client's hello, and what the server answers: two records.
fn handshake() -> [Vec<u8>; 2] {
    let [client, server] = hellos();
    [client, [server, record(14, b"")].concat()]
}

/// The first packet of a message of EAP, behind the length of the message, and the rest.
fn parts(message: &[u8], at: usize) -> [Vec<u8>; 2] {
    let (first, rest) = message.split_at(at);
    let length = (message.len() as u32).to_be_bytes();
    [[&length[..], first].concat(), rest.to_vec()]
}

/// The filters, with the frames of the client's hello, of the server's answer, and of those with sealed records of the handshake.
fn are_read(selected: impl FnOnce(&[(&str, &[u64])]), client: u64, server: u64, sealed: &[u64]) {
    let both = [client, server];
    let all = [&both[..], sealed].concat();
    let expected: [(&str, &[u64]); 11] = [
        ("tls && !tls.app_data", &all),
        ("tls.handshake", &all),
        ("tls.record.content_type == 22", &all),
        ("tls.handshake.type", &both),
        ("tls.handshake.type == 1", &[client]),
        ("tls.handshake.type == 2", &[server]),
        ("tls.handshake.type == 14", &[server]),
        ("tls.handshake.session_id_length == 0", &both),
        (
            "tls.handshake.extensions_server_name == \"weir.test\"",
            &[client],
        ),
        ("tls.record.version == 0x0301", &both),
        ("tls.change_cipher_spec", sealed),
    ];
    selected(&expected);
}

/// `tls` has a row for these handshakes, and filters over records selected none of their frames.
#[test]
fn tls_in_eap_that_radius_carries_is_selected() {
    let [client, server] = handshake();
    let [begun, rest] = parts(&client, 50);
    // The hello is whole within the first packet, and the message is not.
    let [answer, end] = parts(&server, server.len() - 4);
    let [a, b, c, d] = [b"a", b"b", b"c", b"d"].map(|state| Some(&state[..]));
    let sent = [
        (true, eap(1, 10, None, (0, b""))),
        (false, eap(11, 10, a, (0x20, b""))),
        (true, eap(1, 11, a, (0xc0, &begun))),
        (false, eap(11, 11, b, (0, b""))),
        (true, eap(1, 12, b, (0, &rest))),
        (false, eap(11, 12, c, (0xc0, &answer))),
        (true, eap(1, 13, c, (0, b""))),
        (false, eap(11, 13, d, (0, &end))),
        (true, eap(1, 14, d, (0, SEALED))),
    ];
    let ends = [1, 2].map(|last| Ipv4Addr::new(10, 0, 0, last));
    let packets = sent.map(|(from_client, bytes)| {
        let (from, to, ports) = match from_client {
            true => (ends[0], ends[1], (40_000, 1_812)),
            false => (ends[1], ends[0], (1_812, 40_000)),
        };
        let datagram = udp(from.into(), to.into(), ports.0, ports.1, &bytes);
        Ipv4::new(from, to, protocol::UDP).packet(&datagram)
    });
    are_read(|expected| are_selected(&packets, expected, &[]), 5, 8, &[9]);
}

#[test]
fn tls_in_eap_on_links_is_selected() {
    let [client, server] = handshake();
    let [begun, rest] = parts(&client, 50);
    let [answer, end] = parts(&server, server.len() - 4);
    let sent = [
        (false, eapol(1, 1, (0x20, b""))),
        (true, eapol(2, 1, (0xc0, &begun))),
        (false, eapol(1, 2, (0, b""))),
        (true, eapol(2, 2, (0, &rest))),
        (false, eapol(1, 3, (0xc0, &answer))),
        (true, eapol(2, 3, (0, b""))),
        (false, eapol(1, 4, (0, &end))),
        (true, eapol(2, 4, (0, SEALED))),
    ];
    let (peer, authenticator) = ([4; 6], [2; 6]);
    let frames = sent.map(|(is_of_peer, bytes)| match is_of_peer {
        true => ethernet(authenticator, peer, 0x888e, &bytes),
        false => ethernet(peer, authenticator, 0x888e, &bytes),
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("links.pcap");
    crate::networks::write(&path, &frames);
    are_read(|expected| are_selected_in(&path, expected, &[]), 4, 7, &[8]);
}

#[test]
fn tls_in_openvpn_is_selected() {
    let [client, server] = handshake();
    let sent = [
        (true, control(true, 7, 0, 0, b"")),
        (false, control(false, 8, 0, 0, b"")),
        (true, control(true, 4, 0, 1, &client)),
        (false, control(false, 4, 0, 1, &server)),
        (true, control(true, 4, 0, 2, SEALED)),
    ];
    let packets = datagrams(&sent);
    are_read(|expected| are_selected(&packets, expected, &[]), 3, 4, &[5]);
    let framed = sent.map(|(from_client, packet)| {
        let length = (packet.len() as u16).to_be_bytes();
        (from_client, [&length[..], &packet].concat())
    });
    let framed = framed
        .each_ref()
        .map(|(from_client, packet)| (*from_client, packet.as_slice()));
    let packets = segments(1_194, &framed);
    are_read(|expected| are_selected(&packets, expected, &[]), 6, 7, &[8]);
}

#[test]
fn tls_in_packets_of_tds_is_selected() {
    let [client, server] = handshake();
    let options = prelogin(b"\0\0\x06\0\x06\xff\x10\0\0\0\0\0");
    let [client, server, sealed] = [client.as_slice(), &server, SEALED].map(prelogin);
    let data = b"\x17\x03\x03\0\x04data";
    let packets = segments(
        1_433,
        &[
            (true, &options),
            (false, &options),
            (true, &client),
            (false, &server),
            (true, &sealed),
            (false, &sealed),
            (true, data),
            (false, data),
        ],
    );
    are_read(
        |expected| are_selected(&packets, expected, &[]),
        6,
        7,
        &[8, 9],
    );
    are_selected(&packets, &[("tls.app_data", &[10, 11])], &[]);
}

/// A TCP connection with what a client (true) and the server at this port send, each in a segment behind the three that open it.
fn segments(port: u16, sent: &[Sent<'_>]) -> Vec<Vec<u8>> {
    let ends = [1, 2].map(|last| Ipv4Addr::new(10, 0, 0, last));
    let mut packets = Vec::new();
    let mut connection = Connection::open((ends[0], 40_000), (ends[1], port), &mut packets);
    for (from_client, bytes) in sent {
        connection.send_one(*from_client, bytes, &mut packets);
    }
    packets
}
