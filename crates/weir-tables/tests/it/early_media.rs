//! Packets of media that come before it is known that there are media between their sockets.

use crate::faxes::{RECEIVER, SENDER, datagram, message, rtp};
use crate::{sip, wire};

/// Columns of the rows of a table.
fn rows_of<const N: usize>(table: &str, packets: &[Vec<u8>], names: [&str; N]) -> Vec<[String; N]> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("media.pcap");
    wire::write(packets, &path);
    let batch = sip::read(table, &[&path], 100);
    let columns = names.map(|name| sip::column(&batch, name));
    (0..batch.num_rows())
        .map(|row| columns.each_ref().map(|column| column[row].clone()))
        .collect()
}

/// A packet of RTP from one socket to another.
fn to_b(ssrc: u8, number: u8) -> Vec<u8> {
    datagram(false, [4000, 5000], &rtp(ssrc, number))
}

/// The packets of a second source before the first one was recognised had no rows, those behind it had.
#[test]
fn packets_of_another_source_before_media_are_recognised_are_media() {
    let mut packets = vec![to_b(9, 1), to_b(7, 1), to_b(7, 2), to_b(9, 2), to_b(7, 3)];
    packets.extend([to_b(7, 4), to_b(9, 3)]);
    let found = rows_of("rtp", &packets, ["frame.number", "rtp.ssrc"]);
    let sources = ["9", "7", "7", "9", "7", "7", "9"];
    let expected: Vec<[String; 2]> = (1..)
        .zip(sources)
        .map(|(frame, source): (u32, &str)| [frame.to_string(), source.to_owned()])
        .collect();
    assert_eq!(found, expected);
    // Without a stream that is recognised, nothing is.
    assert!(rows_of("rtp", &packets[..5], ["rtp.ssrc"]).is_empty());
}

/// RFC 3264, 5.1: media may come before the answer that describes it. The packets before it had no rows.
#[test]
fn packets_of_a_source_before_its_description_are_media() {
    let audio = |port: u16| format!("m=audio {port} RTP/AVP 0\r\n");
    let invite = message("INVITE sip:b@x SIP/2.0", 1, SENDER, &audio(4000));
    let answer = message("SIP/2.0 200 OK", 1, RECEIVER, &audio(5000));
    let packets = [
        to_b(7, 1),
        to_b(9, 1),
        to_b(7, 2),
        datagram(false, [5060, 5060], &invite),
        datagram(true, [5060, 5060], &answer),
        to_b(7, 3),
    ];
    let found = rows_of("rtp", &packets, ["frame.number", "rtp.setup_frame"]);
    let frames: Vec<&str> = found.iter().map(|[frame, _]| frame.as_str()).collect();
    assert_eq!(frames, ["1", "3", "6"]);
    assert!(found.iter().all(|[_, setup]| *setup == found[2][1]));
    assert!(!found[2][1].is_empty());
    let names = ["rtp.ssrc", "media.packets", "media.lost"];
    assert_eq!(rows_of("media", &packets, names), [["7", "3", "0"]]);
}

/// The losses in front of the first description were not among those of the call, as where a capture begins within it.
#[test]
fn packets_before_their_description_are_of_the_call() {
    let audio = |port: u16| format!("m=audio {port} RTP/AVP 0\r\n");
    let invite = message("INVITE sip:b@x SIP/2.0", 2, SENDER, &audio(4000));
    let answer = message("SIP/2.0 200 OK", 2, RECEIVER, &audio(5000));
    for early in [&[1, 3][..], &[1, 3, 4, 5, 6, 7]] {
        let mut packets: Vec<Vec<u8>> = early.iter().map(|number| to_b(7, *number)).collect();
        packets.push(datagram(false, [5060, 5060], &invite));
        packets.push(datagram(true, [5060, 5060], &answer));
        packets.extend([8, 10, 11].map(|number| to_b(7, number)));
        let lost = if early.len() == 2 { "6" } else { "2" };
        let found = rows_of("calls", &packets, ["sip.call_id", "call.lost"]);
        assert_eq!(found, [["fax", lost]]);
        let frames = |packets: &[Vec<u8>]| {
            let rows = rows_of("call_packets", packets, ["frame.number", "call.protocol"]);
            let numbers = rows.iter().map(|[number, _]| number.parse().unwrap());
            let mut numbers: Vec<usize> = numbers.collect();
            numbers.sort_unstable();
            numbers
        };
        let all: Vec<usize> = (1..=packets.len()).collect();
        assert_eq!(frames(&packets), all);
        // A stream that ends before its sockets are described is of no call.
        packets.drain(early.len() + 2..);
        let found = rows_of("calls", &packets, ["sip.call_id", "call.lost"]);
        assert_eq!(found, [["fax", ""]]);
        assert_eq!(frames(&packets), [early.len() + 1, early.len() + 2]);
    }
}

/// A call that has the Call-ID of one before had the losses of both.
#[test]
fn calls_with_one_call_id_have_streams_of_their_own() {
    let audio = |port: u16| format!("m=audio {port} RTP/AVP 0\r\n");
    let mut packets = Vec::new();
    for (number, ssrc, media) in [(1, 7, [1, 4, 5]), (5, 9, [1, 2, 3])] {
        let text = |first: &str, number: u32, address, media: &str| {
            let text = String::from_utf8(message(first, number, address, media)).unwrap();
            text.replace("z9hG4bKa", &format!("z9hG4bK{number}"))
        };
        let invite = text("INVITE sip:b@x SIP/2.0", number, SENDER, &audio(4000));
        let answer = text("SIP/2.0 200 OK", number, RECEIVER, &audio(5000));
        let of_bye = |first: &str| {
            let text = text(first, number + 1, SENDER, "");
            let text = text.replace("application/sdp", "text/plain");
            text.replace(" INVITE\r\n", " BYE\r\n")
        };
        let signal = |is_back, text: &str| datagram(is_back, [5060, 5060], text.as_bytes());
        packets.push(signal(false, &invite.replace(";tag=2", "")));
        packets.push(signal(true, &answer));
        packets.extend(media.map(|number| to_b(ssrc, number)));
        packets.push(signal(false, &of_bye("BYE sip:b@x SIP/2.0")));
        packets.push(signal(true, &of_bye("SIP/2.0 200 OK")));
    }
    let names = ["sip.call_id", "call.state", "call.lost"];
    let expected = [["fax", "completed", "2"], ["fax", "completed", "0"]];
    assert_eq!(rows_of("calls", &packets, names), expected);
}
