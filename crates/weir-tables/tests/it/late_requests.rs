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
    // The CONNACK waits for its CONNECT.
    let expected = [["5", "1"], ["4", "2"], ["6", "4"], ["7", "12"]];
    assert_eq!(columns_of("mqtt", &late, &columns), expected);
    let later = capture(&[answers[0], answers[1], request, ping]);
    let expected = [["5", "4"], ["6", "1"], ["4", "2"], ["7", "12"]];
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

/// The answer to octets of which some were captured behind it was judged by itself, too.
#[test]
fn an_answer_to_octets_of_which_some_were_captured_behind_it_waits_for_them() {
    let connect = b"\x10\x10\0\x04MQTT\x04\x02\0\x3c\0\x04gate";
    let sent = connect.len() as u32;
    let accepted = (false, 0, sent, &b"\x20\x02\0\0"[..]);
    let ping = (true, sent, 4, &b"\xc0\0"[..]);
    for begun in [1, 5, 9] {
        let (begin, rest) = connect.split_at(begun);
        let begin = (true, 0, 0, begin);
        let rest = (true, begun as u32, 0, rest);
        for segments in [[begin, accepted, rest, ping], [begin, accepted, ping, rest]] {
            let mut found = columns_of("mqtt", &capture(&segments), &["mqtt.msgtype"]);
            found.sort();
            assert_eq!(found, [["1"], ["12"], ["2"]], "{begun}");
        }
    }
    // An answer to the first octets alone shows that they are something else.
    let begin = (true, 0, 0, &connect[..5]);
    let answer = (false, 0, 5, &b"\x20\x02\0\0"[..]);
    let rest = (true, 5, 4, &connect[5..]);
    let found = columns_of("mqtt", &capture(&[begin, answer, rest]), &["mqtt.msgtype"]);
    assert_eq!(found, [[""; 1]; 0]);
}
