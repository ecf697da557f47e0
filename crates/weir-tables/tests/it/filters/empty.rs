//! Filters over texts that are empty.

use weir_testkit::packet::{Ipv4, protocol, udp};

use super::are_selected;

/// Filters with the packets of [`with_empty_texts`] that they select.
const OF_EMPTY_TEXTS: &[(&str, &[u64])] = &[
    ("snmp.community", &[1, 2]),
    ("snmp.community == \"\"", &[1]),
    ("snmp.community != \"\"", &[2]),
    ("snmp.msgUserName", &[3]),
    ("snmp.msgUserName == \"\"", &[3]),
    ("snmp.contextName == \"\"", &[3, 4]),
    ("mqtt.clientid == \"\"", &[8]),
];

/// Messages of SNMP: with an empty community, with another one, with an empty user and context, and of a security model that has no
/// user; and a CONNECT of MQTT without an identifier of its client.
fn with_empty_texts() -> Vec<Vec<u8>> {
    let ends = [([10, 0, 0, 1], 40_000), ([10, 0, 0, 2], 1_883)];
    let [client, server] = ends.map(|(address, port)| (std::net::Ipv4Addr::from(address), port));
    let datagram = |port: u16, bytes: &[u8]| {
        let datagram = udp(client.0.into(), server.0.into(), port, 161, bytes);
        Ipv4::new(client.0, server.0, protocol::UDP).packet(&datagram)
    };
    let get = b"\xa0\x19\x02\x04\0\0\0\x01\x02\x01\0\x02\x01\0\x30\x0b\x30\x09\x06\x05\x2b\x06\x01\x02\x01\x05\0";
    let without = [&b"\x30\x20\x02\x01\0\x04\0"[..], get].concat();
    let public = [&b"\x30\x26\x02\x01\0\x04\x06public"[..], get].concat();
    let scoped = b"\x30\x11\x04\0\x04\0\xa0\x0b\x02\x01\x26\x02\x01\0\x02\x01\0\x30\0";
    let of_user = b"\x30\x10\x04\x02id\x02\x01\x07\x02\x01\x09\x04\0\x04\0\x04\0";
    let version_3 = |model: u8, parameters: &[u8]| {
        let mut body =
            b"\x02\x01\x03\x30\x0d\x02\x01\x05\x02\x02\x05\xdc\x04\x01\x04\x02\x01".to_vec();
        body.extend([model, 4, parameters.len() as u8]);
        body.extend(parameters);
        body.extend(scoped);
        [&[0x30, body.len() as u8][..], &body].concat()
    };
    let mut packets = vec![
        datagram(40_000, &without),
        datagram(40_001, &public),
        datagram(40_002, &version_3(3, of_user)),
        datagram(40_003, &version_3(4, b"")),
    ];
    let mut connection = crate::wire::Connection::open(client, server, &mut packets);
    let connect = b"\x10\x0c\0\x04MQTT\x04\x02\0\x3c\0\0";
    connection.send_one(true, connect, &mut packets);
    packets
}

/// Messages of DHCP: without a file, with one, and with options in the field for it.
fn with_files() -> Vec<Vec<u8>> {
    let [server, client] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::Ipv4Addr::from);
    let offer = |file: &[u8], options: &[u8]| {
        let mut message = vec![2, 1, 6, 0, 0, 0, 0, 7];
        message.resize(108, 0);
        message.extend(file);
        message.resize(236, 0);
        message.extend([0x63, 0x82, 0x53, 0x63, 53, 1, 2]);
        message.extend(options);
        message.push(255);
        let datagram = udp(server.into(), client.into(), 67, 68, &message);
        Ipv4::new(server, client, protocol::UDP).packet(&datagram)
    };
    vec![
        offer(b"", b""),
        offer(b"boot", b""),
        offer(&[255], &[52, 1, 1]),
    ]
}

/// A file that is not given was NULL.
#[test]
fn files_of_dhcp_that_are_empty_are_selected() {
    let filters: &[(&str, &[u64])] = &[
        ("dhcp.file", &[1, 2]),
        ("dhcp.file == \"\"", &[1]),
        ("dhcp.file != \"\"", &[2]),
    ];
    are_selected(&with_files(), filters, &[]);
}

/// Texts that are there and empty were NULL, so that these filters selected nothing.
#[test]
fn texts_that_are_empty_are_selected() {
    are_selected(&with_empty_texts(), OF_EMPTY_TEXTS, &[]);
}
