//! Filters over the lines of descriptions (SDP).

use super::are_selected;
use crate::faxes::{RECEIVER, SENDER, datagram, message};

/// Filters, with the packets of [`packets`] that they select.
const OF_DESCRIPTIONS: &[(&str, &[u64])] = &[
    ("sdp", &[1, 2, 4, 5, 6]),
    ("sdp.version", &[1, 2, 4, 5, 6]),
    ("sip and not sdp", &[3]),
    ("sdp.media.port == 4000", &[1]),
    ("sdp.media.port == 0", &[1]),
    ("sdp.media.port > 4999", &[2, 6]),
    ("sdp.media.port_string == \"$\"", &[5]),
    ("sdp.media.portcount == \"2\"", &[2]),
    ("sdp.media.media == \"video\"", &[1]),
    ("sdp.media contains \"RTP/AVP 8\"", &[2]),
    ("sdp.media.proto == \"RTP/SAVPF\"", &[1]),
    ("sdp.media.format == \"ITU-T G.711 PCMA\"", &[2]),
    ("sdp.media.format == \"DynamicRTP-Type-96\"", &[1]),
    ("sdp.media.format contains \"96\"", &[1]),
    ("sdp.connection_info.address == \"10.0.0.1\"", &[1]),
    ("sdp.connection_info contains \"IP6\"", &[1]),
    ("sdp.connection_info.address == \"192.0.2.7\"", &[4, 5]),
    ("sdp.owner.username == \"me\"", &[4]),
    ("sdp.session_name == \"-\"", &[4]),
    ("sdp.time.start == \"0\"", &[4]),
    ("sdp.bandwidth.value == \"64\"", &[1]),
    ("sdp.session_attr.field == \"group\"", &[1]),
    ("sdp.media_attr == \"sendonly\"", &[2]),
    ("sdp.mime.type == \"H264\"", &[1]),
    ("sdp.sample_rate == \"90000\"", &[1]),
    ("all sdp.media.port == 4000", &[]),
];

fn packets() -> Vec<Vec<u8>> {
    let invite = message(
        "INVITE sip:b@x SIP/2.0",
        1,
        SENDER,
        "b=AS:64\r\na=group:BUNDLE 0 1\r\nm=audio 4000 RTP/AVP 0\r\nm=video 0 RTP/SAVPF 96\r\nc=IN IP6 2001:db8::1\r\n\
         a=rtpmap:96 H264/90000\r\n",
    );
    let media = "m=audio 5000/2 RTP/AVP 8\r\na=sendonly\r\n";
    let answer = message("SIP/2.0 200 OK", 1, RECEIVER, media);
    let plain = message("INVITE sip:b@x SIP/2.0", 2, SENDER, media);
    let plain = String::from_utf8(plain).unwrap();
    let plain = plain.replace("application/sdp", "text/plain");
    let mgcp = "200 1 OK\r\nI: 1\r\n\r\nv=0\r\no=me 1 1 IN IP4 192.0.2.7\r\ns=-\r\nc=IN IP4 192.0.2.7\r\nt=0 0\r\n\
        m=audio 3000 RTP/AVP 0\r\n";
    let megaco = "MEGACO/1 [1.1.1.1]:2944\nTransaction = 1 { Context = $ { Add = a { Media { Local {\nv=0\nc=IN IP4 $\n\
        m=audio $ RTP/AVP 4\n}, Remote {\nv=0\nc=IN IP4 192.0.2.7\nm=audio 1111 RTP/AVP 4\n}}}}}";
    let body = "--b\r\nContent-Type: application/sdp\r\n\r\nv=0\r\nc=IN IP4 192.0.2.8\r\nm=audio 6000 RTP/AVP 0\r\n--b--\r\n";
    let parts = format!(
        "INVITE sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP 10.0.0.1;branch=z9hG4bKb\r\nFrom: <sip:a@x>;tag=1\r\nTo: <sip:b@x>\r\n\
         Call-ID: parts\r\nCSeq: 1 INVITE\r\nContent-Type: multipart/mixed;boundary=b\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    vec![
        datagram(false, [5060, 5060], &invite),
        datagram(true, [5060, 5060], &answer),
        datagram(false, [5060, 5060], plain.as_bytes()),
        datagram(false, [2427, 2727], mgcp.as_bytes()),
        datagram(false, [2944, 2944], megaco.as_bytes()),
        datagram(false, [5060, 5060], parts.as_bytes()),
    ]
}

/// These fields were refused.
#[test]
fn lines_of_descriptions_are_fields() {
    are_selected(&packets(), OF_DESCRIPTIONS, &[]);
}
