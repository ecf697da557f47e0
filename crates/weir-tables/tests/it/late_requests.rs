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
