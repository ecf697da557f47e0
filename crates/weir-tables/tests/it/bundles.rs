//! Media of a bundle (RFC 9143) are found at the sockets that they share.

use weir_testkit::packet::{Chunk, Ipv4, protocol, sctp};

use crate::faxes::{RECEIVER, SENDER, datagram, message};
use crate::wire::Connection;
use crate::{sip, wire};

/// Packets of a stream of RTP between these ports.
fn stream(is_back: bool, ports: [u16; 2], payload_type: u8, ssrc: u8) -> Vec<Vec<u8>> {
    let packet = |number: u8| {
        let mut bytes = vec![0x80, payload_type, 0, number, 0, 0, number, 0];
        bytes.extend([0, 0, 0, ssrc]);
        bytes.extend([0x55; 40]);
        datagram(is_back, ports, &bytes)
    };
    (0..10).map(packet).collect()
}

/// RFC 9143, 7.2: the first offer has a port for each of the media, the answer one for all, to which all are sent. A candidate of
/// ICE (RFC 8839) may be another.
#[test]
fn media_with_ports_of_their_own_are_found_where_the_first_is_sent() {
    let media = |ports: [u16; 2], more: &str| {
        format!(
            "a=group:BUNDLE a v\r\nm=audio {} RTP/AVP 111\r\na=mid:a\r\na=rtcp-mux\r\na=rtpmap:111 opus/48000/2\r\n{more}\
             m=video {} RTP/AVP 96\r\na=mid:v\r\na=rtcp-mux\r\na=rtpmap:96 VP8/90000\r\n",
            ports[0], ports[1]
        )
    };
    let candidate = "a=candidate:1 1 UDP 2130706431 10.0.0.1 4100 typ host\r\n";
    let offer = message(
        "INVITE sip:b@x SIP/2.0",
        1,
        SENDER,
        &media([4000, 4002], candidate),
    );
    let answer = message("SIP/2.0 200 OK", 1, RECEIVER, &media([5000, 5000], ""));
    let mut packets = vec![
        datagram(false, [5060, 5060], &offer),
        datagram(true, [5060, 5060], &answer),
    ];
    for (is_back, ports, first) in [
        (false, [4000, 5000], 1),
        (true, [5000, 4000], 3),
        (true, [5000, 4100], 5),
    ] {
        packets.extend(stream(is_back, ports, 111, first));
        packets.extend(stream(is_back, ports, 96, first + 1));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bundle.pcap");
    wire::write(&packets, &path);
    let found = sip::read("media", &[&path], 10);
    let [sources, kinds, codecs, calls] = ["rtp.ssrc", "media.type", "media.codec", "sip.call_id"]
        .map(|name| sip::column(&found, name));
    assert_eq!(sources, ["1", "2", "3", "4", "5", "6"]);
    let found: Vec<String> = kinds
        .iter()
        .zip(&codecs)
        .map(|(kind, codec)| format!("{kind} {codec}"))
        .collect();
    assert_eq!(found, ["audio opus", "video VP8"].repeat(3));
    assert!(calls.iter().all(|it| it == "fax"), "{calls:?}");
}

/// RFC 8840: candidates may come in INFO, behind an offer that has none. Media that were sent there had neither call nor codec.
#[test]
fn media_are_found_at_candidates_that_come_later() {
    let media = "a=group:BUNDLE 0 1\r\na=ice-ufrag:8hhY\r\nm=audio 9 RTP/AVP 111\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=rtcp-mux\r\n\
        a=rtpmap:111 opus/48000/2\r\nm=video 9 RTP/AVP 96\r\nc=IN IP4 0.0.0.0\r\na=mid:1\r\na=rtcp-mux\r\na=rtpmap:96 VP8/90000\r\n";
    let offer = message("INVITE sip:b@x SIP/2.0", 1, SENDER, media);
    let answer = message("SIP/2.0 183 Session Progress", 1, RECEIVER, media);
    let info = |is_back: bool, lines: &str| {
        let tags = if is_back { ["2", "1"] } else { ["1", "2"] };
        format!(
            "INFO sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP 10.0.0.1;branch=z9hG4bKi\r\nFrom: <sip:a@x>;tag={}\r\n\
             To: <sip:b@x>;tag={}\r\nCall-ID: fax\r\nCSeq: 7 INFO\r\nInfo-Package: trickle-ice\r\n\
             Content-Type: application/trickle-ice-sdpfrag\r\nContent-Disposition: Info-Package\r\n\
             Content-Length: {}\r\n\r\n{lines}",
            tags[0],
            tags[1],
            lines.len()
        )
        .into_bytes()
    };
    let candidate = |mid: u8, address: &str, port: u16| {
        format!(
            "a=ice-ufrag:8hhY\r\nm=audio 9 RTP/AVP 0\r\na=mid:{mid}\r\n\
             a=candidate:1 1 UDP 1658497328 {address} {port} typ host\r\n"
        )
    };
    let first = candidate(0, "10.0.0.1", 4100);
    let both = format!(
        "{first}a=candidate:2 1 UDP 1658497327 10.0.0.1 4200 typ host\r\na=end-of-candidates\r\n"
    );
    let mut packets = vec![
        datagram(false, [5060, 5060], &offer),
        datagram(true, [5060, 5060], &answer),
        datagram(false, [5060, 5060], &info(false, &first)),
        datagram(false, [5060, 5060], &info(false, &both)),
        // No media have this name.
        datagram(
            true,
            [5060, 5060],
            &info(true, &candidate(7, "10.0.0.2", 6200)),
        ),
        datagram(
            true,
            [5060, 5060],
            &info(true, &candidate(0, "10.0.0.2", 5100)),
        ),
    ];
    for (is_back, ports, first) in [
        (true, [6000, 4100], 1),
        (true, [6000, 4200], 3),
        (false, [7000, 5100], 5),
        (false, [7000, 6200], 7),
    ] {
        packets.extend(stream(is_back, ports, 111, first));
        packets.extend(stream(is_back, ports, 96, first + 1));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trickled.pcap");
    wire::write(&packets, &path);
    let found = sip::read("media", &[&path], 10);
    let columns = ["media.codec", "media.setup_frame", "sip.call_id"];
    let [codecs, frames, calls] = columns.map(|name| sip::column(&found, name));
    assert_eq!(codecs[..6], ["opus", "VP8"].repeat(3));
    assert_eq!(codecs[6..], ["", ""]);
    assert_eq!(frames[..6], ["4", "4", "4", "4", "6", "6"]);
    assert!(calls[..6].iter().all(|it| it == "fax"), "{calls:?}");
}

/// Media whose address is a host name were left out without a word.
#[test]
fn media_with_host_names_are_counted() {
    let media =
        |port: u16, host: &str| format!("m=audio {port} RTP/AVP 0\r\nc=IN IP4 {host}.example\r\n");
    let offer = message("INVITE sip:b@x SIP/2.0", 1, SENDER, &media(4000, "phone"));
    let answer = message("SIP/2.0 200 OK", 1, RECEIVER, &media(5000, "gateway"));
    let mut packets = vec![
        datagram(false, [5060, 5060], &offer),
        datagram(true, [5060, 5060], &answer),
    ];
    packets.extend(stream(false, [4000, 5000], 0, 1));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("names.pcap");
    wire::write(&packets, &path);
    for (table, rows) in [("calls", 1), ("media", 1)] {
        let (batch, notes) = sip::read_with_notes(table, &[&path], 100);
        assert_eq!(batch.num_rows(), rows, "{table}");
        let note = format!(
            "{table}: 2 media in descriptions have a host name in place of an address: they are found by content only, \
             and are of no call"
        );
        assert!(notes.contains(&note), "{notes:?}");
    }
}

/// Media of `RTP/AVP` with keys that both sides gave (RFC 4568) were not told to be encrypted.
#[test]
fn media_are_encrypted_where_both_sides_gave_keys() {
    let keys =
        "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:d0RmdmcmVCspeEc3QGZiNWpVLFJhQX1cfHAwJSoj\r\n";
    let media = |port: u16, more: &str| format!("m=audio {port} RTP/AVP 0\r\n{more}");
    for (of_answer, expected) in [(keys, "true"), ("", "false")] {
        let offer = message("INVITE sip:b@x SIP/2.0", 1, SENDER, &media(4000, keys));
        let answer = message("SIP/2.0 200 OK", 1, RECEIVER, &media(5000, of_answer));
        let mut packets = vec![
            datagram(false, [5060, 5060], &offer),
            datagram(true, [5060, 5060], &answer),
        ];
        packets.extend(stream(false, [4000, 5000], 0, 1));
        packets.extend(stream(true, [5000, 4000], 0, 2));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.pcap");
        wire::write(&packets, &path);
        let found = sip::read("media", &[&path], 10);
        let secure = sip::column(&found, "media.secure");
        assert_eq!(secure, [expected, expected]);
    }
}

/// Media that Megaco announced over SCTP, over TCP, and behind a header of authentication were found by content only.
#[test]
fn media_of_gateways_are_announced_over_all_transports() {
    let text =
        b"MEGACO/1 [10.0.0.1]:2944 Reply=1{Context=1{Add=A{Media{Local{\nv=0\nc=IN IP4 10.0.0.1\n\
        m=audio 4000 RTP/AVP 8\n}}}}}";
    let header = b"Authentication = 0x12345678:0x00000001:0x0123456789abcdef01234567\r\n";
    let authenticated = [&header[..], text].concat();
    let chunk = Chunk::Data {
        tsn: 1,
        stream: 1,
        sequence: 0,
        protocol: 7,
        payload: text.to_vec(),
    };
    let over_sctp = sctp(2_944, 2_944, 1, &[chunk]);
    let over_sctp = Ipv4::new(SENDER, RECEIVER, protocol::SCTP).packet(&over_sctp);
    let mut over_tcp = Vec::new();
    let mut connection = Connection::open((SENDER, 40_000), (RECEIVER, 2_944), &mut over_tcp);
    let length = (text.len() as u16 + 4).to_be_bytes();
    let framed = [&[3, 0, length[0], length[1]][..], text].concat();
    connection.send_one(true, &framed, &mut over_tcp);
    for mut packets in [
        vec![over_sctp],
        over_tcp,
        vec![datagram(false, [2_944, 2_944], &authenticated)],
    ] {
        packets.extend(stream(true, [5000, 4000], 8, 1));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gateway.pcap");
        wire::write(&packets, &path);
        let found = sip::read("media", &[&path], 10);
        let [found_by, kinds, codecs] = ["media.found_by", "media.type", "media.codec"]
            .map(|name| sip::column(&found, name).join(" "));
        assert_eq!([found_by, kinds, codecs], ["h248", "audio", "PCMA"]);
    }
}

/// White space may be around the slash of a type of media (RFC 3261, 25.1); descriptions behind such a header were not read.
#[test]
fn descriptions_are_found_by_their_type_however_it_is_written() {
    for content_type in [
        "application / SDP",
        "APPLICATION/SDP ;charset=utf-8",
        "multipart / mixed;boundary=b",
    ] {
        let media = "m=audio 4000 RTP/AVP 8\r\n";
        let offer = message("INVITE sip:b@x SIP/2.0", 1, SENDER, media);
        let offer = String::from_utf8(offer).unwrap();
        let offer = offer.replace("application/sdp", content_type);
        let mut packets = vec![datagram(false, [5060, 5060], offer.as_bytes())];
        packets.extend(stream(true, [5000, 4000], 8, 1));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("types.pcap");
        wire::write(&packets, &path);
        let found = sip::read("media", &[&path], 10);
        assert_eq!(
            sip::column(&found, "sip.call_id"),
            ["fax"],
            "{content_type}"
        );
    }
}
