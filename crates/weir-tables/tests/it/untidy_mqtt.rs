//! Packets of MQTT in connections that are not tidy: other protocols on the port of a broker, answers before their requests,
//! connections whose beginning was not captured.

use crate::untidy::{
    CLIENT, SERVER, capture, columns_of, from_the_middle, rows, without_the_first,
};
use crate::wire::Connection;

/// Text on the port of a broker has the flags of no packet.
#[test]
fn requests_on_the_port_of_a_broker_are_no_packets_of_mqtt() {
    let lines: [&[u8]; 3] = [
        b"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
        b"CONNECT h:1883 HTTP/1.1\r\nHost: h:1883\r\n\r\n",
        b"SSH-2.0-scanner\r\n and what follows",
    ];
    for line in lines {
        let (found, notes) = rows("mqtt", &without_the_first(1_883, 0, line, 1_000));
        // The connection is counted.
        assert_eq!((found, notes.len()), (0, 1), "{}", line.escape_ascii());
    }
}

/// MQTT 5.0, 3.2.2: a CONNACK of version 5 has properties, so that it says the version where the CONNECT was not captured. One
/// without them may be of 3.1, whose flags are reserved.
#[test]
fn a_connack_says_the_version_where_the_connect_is_missing() {
    let columns = [
        "mqtt.session_present",
        "mqtt.conack.val",
        "mqtt.property.topic_alias",
    ];
    let cases: [(&[u8], &[[&str; 3]]); 3] = [
        (
            b"\x20\x03\x01\0\0\x30\x0b\0\x03a/b\x03\x23\0\x07hi",
            &[["true", "", ""], ["", "", "7"]],
        ),
        (b"\x20\x02\0\0", &[["", "0", ""]]),
        (
            b"\x10\x0c\0\x04MQTT\x04\x02\0\x3c\0\0\x20\x02\0\0",
            &[["", "", ""], ["false", "0", ""]],
        ),
    ];
    for (bytes, expected) in cases {
        let packets = without_the_first(1_883, 0, bytes, 1_000);
        let found = columns_of("mqtt", &packets, &columns);
        assert_eq!(found, expected, "{}", bytes.escape_ascii());
    }
}

/// MQTT 3.1.1, 3.1.2.2: a server refuses a version that it does not have with 1. Of a CONNECT of version 6 the columns were NULL, and
/// so was the code.
#[test]
fn a_connect_of_an_unknown_version_is_read() {
    let columns = ["mqtt.ver", "mqtt.clientid", "mqtt.conack.val", "mqtt.fault"];
    for version in [6, 0x84] {
        let mut connect = b"\x10\x0e\0\x04MQTT\x04\x02\0\x3c\0\x02id\x20\x02\0\x01".to_vec();
        connect[8] = version;
        let packets = without_the_first(1_883, 0, &connect, 1_000);
        let found = columns_of("mqtt", &packets, &columns);
        let version = version.to_string();
        assert_eq!(found, [[&*version, "id", "", ""], ["", "", "1", ""]]);
    }
}

/// MQTT 3.1, 2.1, has a quality of service in PUBREL, SUBSCRIBE and UNSUBSCRIBE; later versions reserve these bits, and SUBSCRIBE of
/// 3.1.1 alone had one.
#[test]
fn subscriptions_have_a_quality_of_service_in_version_3_1_only() {
    let columns = ["mqtt.msgtype", "mqtt.qos", "mqtt.dupflag"];
    let packets =
        b"\x32\x05\0\x01a\0\x07\x62\x02\0\x01\x8a\x06\0\x01\0\x01a\x01\xa2\x05\0\x01\0\x01a";
    let begun = |connect: &[u8]| {
        let packets = without_the_first(1_883, 0, &[connect, packets].concat(), 1_000);
        columns_of("mqtt", &packets, &columns)
    };
    assert_eq!(
        begun(b"\x10\x0e\0\x06MQIsdp\x03\x02\0\x3c\0\0"),
        [
            ["1", "", ""],
            ["3", "1", "false"],
            ["6", "1", "false"],
            ["8", "1", "true"],
            ["10", "1", "false"],
        ]
    );
    assert_eq!(
        begun(b"\x10\x0c\0\x04MQTT\x04\x02\0\x3c\0\0"),
        [
            ["1", "", ""],
            ["3", "1", "false"],
            ["6", "", ""],
            ["8", "", ""],
            ["10", "", ""],
        ]
    );
}

/// The version was not known when the CONNACK was read, so that its flag was NULL.
#[test]
fn a_connack_before_its_connect_is_read_by_the_version_of_that() {
    let connect = b"\x10\x10\0\x04MQTT\x04\x02\0\x3c\0\x04gate";
    let octets = connect.len() as u32;
    let ping = (true, octets, 4, &b"\xc0\0"[..]);
    let connect = (true, 0, 0, &connect[..]);
    let connack = (false, 0, octets, &b"\x20\x02\0\0"[..]);
    let columns = ["mqtt.msgtype", "mqtt.session_present"];
    for segments in [[connect, connack, ping], [connack, connect, ping]] {
        let found = columns_of("mqtt", &capture(&segments), &columns);
        assert_eq!(found, [["1", ""], ["2", "false"], ["12", ""]]);
    }
}

/// Between ports of no protocol a connection whose CONNECT was not captured had no rows, without a word.
#[test]
fn mqtt_without_its_connect_is_found_by_whole_packets_of_both_sides() {
    let sent: [(bool, &[u8]); 8] = [
        (true, b"\x10\x0c\0\x04MQTT\x04\x02\0\x3c\0\0"),
        (false, b"\x20\x02\0\0"),
        (true, b"\x82\x08\0\x01\0\x03a/b\0"),
        (false, b"\x90\x03\0\x01\0"),
        (true, b"\x30\x07\0\x03a/bhi"),
        (false, b"\x30\x07\0\x03a/bhi"),
        (true, b"\xc0\0"),
        (false, b"\xd0\0"),
    ];
    for size in [1, 3, 1_000] {
        let mut packets = Vec::new();
        let ends = [(CLIENT, 40_000), (SERVER, 5_999)];
        let mut connection = Connection::open(ends[0], ends[1], &mut packets);
        let handshake = packets.len();
        let mut first = 0;
        for (from_client, packet) in sent {
            for piece in packet.chunks(size) {
                connection.send_one(from_client, piece, &mut packets);
            }
            first = if first == 0 { packets.len() } else { first };
        }
        for lost in [handshake..first, 0..first] {
            let mut packets = packets.clone();
            packets.drain(lost.clone());
            let mut columns = columns_of("mqtt", &packets, &["mqtt.msgtype"]);
            columns.sort();
            let expected = ["12", "13", "2", "3", "3", "8", "9"].map(|it| [it]);
            assert_eq!(columns, expected, "{lost:?} by {size}");
        }
    }
    // One side alone proves nothing, and neither do packets without a text.
    let client: Vec<&[u8]> = sent[2..].iter().filter(|it| it.0).map(|it| it.1).collect();
    assert_eq!(rows("mqtt", &from_the_middle(5_999, &client)).0, 0);
    let mut packets = Vec::new();
    let ends = [(CLIENT, 40_000), (SERVER, 5_999)];
    let mut connection = Connection::open(ends[0], ends[1], &mut packets);
    for _ in 0..20 {
        connection.send_one(true, b"\xc0\0", &mut packets);
        connection.send_one(false, b"\xd0\0", &mut packets);
    }
    assert_eq!(rows("mqtt", &packets[3..]).0, 0);
}

/// A server's first message that was captured before its client's ended the search in the connection, so that there were no rows, without
/// a word.
#[test]
fn a_connack_in_a_websocket_message_before_its_connect_is_read() {
    let upgrade =
        b"GET /mqtt HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    let switch = b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    let masked = |bytes: &[u8]| [&[0x82, 0x80 | bytes.len() as u8, 0, 0, 0, 0][..], bytes].concat();
    let connect = masked(b"\x10\x10\0\x04MQTT\x04\x02\0\x3c\0\x04gate");
    let ping = masked(b"\xc0\0");
    let mut packets = Vec::new();
    let ends = [(CLIENT, 40_000), (SERVER, 8_083)];
    let mut connection = Connection::open(ends[0], ends[1], &mut packets);
    connection.send_one(true, upgrade, &mut packets);
    connection.send_one(false, switch, &mut packets);
    connection.send_one(true, &connect, &mut packets);
    connection.send_one(false, b"\x82\x04\x20\x02\0\0", &mut packets);
    connection.send_one(true, &ping, &mut packets);
    let columns = ["mqtt.msgtype", "mqtt.session_present"];
    let expected = [["1", ""], ["2", "false"], ["12", ""]];
    assert_eq!(columns_of("mqtt", &packets, &columns), expected);
    let connack = packets.len() - 2;
    packets.swap(connack - 1, connack);
    assert_eq!(columns_of("mqtt", &packets, &columns), expected);
}

/// A connection of version 5 whose CONNECT and CONNACK were not captured was read as one of 3.1.1 to its end.
#[test]
fn packets_that_only_version_5_has_say_the_version() {
    let subscribe: &[u8] = b"\x82\x09\0\x01\0\0\x03a/b\0";
    let publish: &[u8] = b"\x30\x08\0\x03a/b\0hi";
    let columns = ["mqtt.msgtype", "mqtt.fault"];
    let packets = from_the_middle(1_883, &[subscribe, publish]);
    let expected = [["8", ""], ["3", ""]];
    assert_eq!(columns_of("mqtt", &packets, &columns), expected);
    assert_eq!(rows("mqtt", &packets), (2, Vec::new()));
    // The version is not known yet when the message is read.
    let (found, notes) = rows("mqtt", &from_the_middle(1_883, &[publish, subscribe]));
    assert_eq!(found, 2);
    assert!(notes[0].starts_with("mqtt: 1 messages may begin with the octet of an empty list"));
}

/// Between ports of no protocol a broker whose client was not captured had no rows, and neither had a side alone of a connection that
/// began before the capture, without a word.
#[test]
fn many_packets_of_one_side_prove_mqtt() {
    let sent: [(bool, &[u8]); 8] = [
        (true, b"\x10\x0c\0\x04MQTT\x04\x02\0\x3c\0\0"),
        (false, b"\x20\x02\0\0"),
        (true, b"\x82\x08\0\x01\0\x03a/b\0"),
        (false, b"\x90\x03\0\x01\0"),
        (true, b"\x30\x07\0\x03a/bhi"),
        (false, b"\x30\x07\0\x03a/bhi"),
        (true, b"\xc0\0"),
        (false, b"\xd0\0"),
    ];
    for size in [1, 3, 1_000] {
        let mut packets = Vec::new();
        let ends = [(CLIENT, 40_000), (SERVER, 5_999)];
        let mut connection = Connection::open(ends[0], ends[1], &mut packets);
        for (from_client, packet) in sent {
            for piece in packet.chunks(size) {
                connection.send_one(from_client, piece, &mut packets);
            }
        }
        packets.retain(|packet| packet[12..16] == SERVER.octets());
        // The CONNACK waits for its CONNECT.
        let mut found = columns_of("mqtt", &packets, &["mqtt.msgtype"]);
        found.sort();
        assert_eq!(found, [["13"], ["2"], ["3"], ["9"]], "{size}");
    }
    let client: Vec<&[u8]> = sent[2..].iter().filter(|it| it.0).map(|it| it.1).collect();
    let found = rows("mqtt", &from_the_middle(5_999, &client.repeat(3)));
    assert_eq!(found, (9, Vec::new()));
    let at_once = client.repeat(3).concat();
    let found = rows("mqtt", &from_the_middle(5_999, &[&at_once]));
    assert_eq!(found, (9, Vec::new()));
}
