//! Connections whose first octets were captured behind what answers them.

use crate::untidy::{capture, columns_of};

/// The answer, which begins no connection of MQTT, was judged by itself, and the connection had no rows, without a word.
#[test]
fn a_connection_is_judged_by_its_first_octets_though_their_answer_was_captured_before() {
    let connect = b"\x10\x10\0\x04MQTT\x04\x02\0\x3c\0\x04gate";
    let sent = connect.len() as u32;
    let (accepted, more) = (b"\x20\x02\0\0", b"\x40\x02\0\x01");
    let ping = (true, sent, 8, &b"\xc0\0"[..]);
    let request = (true, 0, 0, &connect[..]);
    let answers = [(false, 0, sent, &accepted[..]), (false, 4, sent, &more[..])];
    let columns = ["frame.number", "mqtt.msgtype"];
    let late = capture(&[answers[0], request, answers[1], ping]);
    let expected = [["4", "2"], ["5", "1"], ["6", "4"], ["7", "12"]];
    assert_eq!(columns_of("mqtt", &late, &columns), expected);
    let later = capture(&[answers[0], answers[1], request, ping]);
    let expected = [["4", "2"], ["5", "4"], ["6", "1"], ["7", "12"]];
    assert_eq!(columns_of("mqtt", &later, &columns), expected);
    // The octets that are answered are something else.
    let other = (true, 0, 0, &b"another protocol"[..]);
    let packets = capture(&[(false, 0, 16, &accepted[..]), other, ping]);
    assert_eq!(columns_of("mqtt", &packets, &columns), [[""; 2]; 0]);
}

/// The upgrade was taken for the request that was refused, and the connection had no rows.
#[test]
fn an_answer_to_another_request_behind_an_upgrade_does_not_refuse_it() {
    let get = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    let refused = b"HTTP/1.1 401 No\r\nContent-Length: 3\r\n\r\nabc";
    let upgrade =
        b"GET /chat HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    let switch = b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    let [first, asked] = [get.len(), get.len() + upgrade.len()].map(|octets| octets as u32);
    let [answered, opened] =
        [refused.len(), refused.len() + switch.len()].map(|octets| octets as u32);
    let request = (true, 0, 0, &get[..]);
    let answer = (false, 0, first, &refused[..]);
    let second = (true, first, answered, &upgrade[..]);
    let switched = (false, answered, asked, &switch[..]);
    let one = (true, asked, opened, &b"\x81\x83\0\0\0\0one"[..]);
    let four = (false, opened, asked + 9, &b"\x81\x04four"[..]);
    for segments in [
        &[request, answer, second, switched, one, four][..],
        &[request, second, answer, switched, one, four],
        &[request, second, switched, one, answer, four],
    ] {
        let found = columns_of(
            "websocket",
            &capture(segments),
            &["websocket.payload_length"],
        );
        assert_eq!(found, [["3"], ["4"]]);
    }
}
