//! Captures: what tshark says of each message, and what calls come of them.

use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use weir_packet::{Decoder, Frame, Layer, LinkType};
use weir_sip::{
    Call, CallState, Calls, Digest, Flow, Limits, Message, Method, Side, looks_like_sip,
};
use weir_testkit::peer::Question;

fn shared(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/sip")
        .join(name);
    if !path.exists() {
        weir_testkit::missing("captures", &path.display().to_string());
        return None;
    }
    Some(path)
}

/// Hands on number, time, sockets and payload of each datagram.
fn datagrams(path: &Path, mut each: impl FnMut(u64, i64, Flow, &[u8])) {
    let mut reader = weir_capture::Reader::new(File::open(path).unwrap()).unwrap();
    let mut decoder = Decoder::default();
    while let Some(record) = reader.next().unwrap() {
        let link_type = LinkType(record.link_type);
        let packet = decoder.decode(Frame::new(link_type, record.data));
        let Some(udp) = packet.bytes(Layer::Udp) else {
            continue;
        };
        let address = |offset: usize| -> IpAddr {
            let bytes = packet.part(Layer::Ipv4, offset, 4).unwrap();
            <[u8; 4]>::try_from(bytes).unwrap().into()
        };
        let flow = Flow {
            src: SocketAddr::new(address(12), packet.u16_be(Layer::Udp, 0).unwrap()),
            dst: SocketAddr::new(address(16), packet.u16_be(Layer::Udp, 2).unwrap()),
            number: None,
        };
        each(record.number, record.time_ns.unwrap(), flow, &udp[8..]);
    }
}

const FIELDS: &[&str] = &[
    "frame.number",
    "sip.Method",
    "sip.Status-Code",
    "sip.r-uri",
    "sip.Call-ID",
    "sip.CSeq.seq",
    "sip.CSeq.method",
    "sip.from.user",
    "sip.from.host",
    "sip.from.tag",
    "sip.to.user",
    "sip.to.host",
    "sip.to.tag",
    "sip.Via.branch",
    "sip.Content-Length",
    "sip.Max-Forwards",
    "sip.User-Agent",
];

fn row(number: u64, digest: &Digest<'_>) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let some = |bytes: Option<&[u8]>| bytes.map(text).unwrap_or_default();
    let from = digest.from.unwrap();
    let to = digest.to.unwrap();
    let cseq = digest.cseq.unwrap();
    let method = digest.method.filter(|_| digest.is_request());
    vec![
        number.to_string(),
        some(method.as_ref().map(Method::as_bytes)),
        digest
            .status
            .map(|code| code.to_string())
            .unwrap_or_default(),
        some(digest.request_uri),
        some(digest.call_id),
        cseq.number.to_string(),
        text(cseq.method.as_bytes()),
        some(from.uri.user),
        text(from.uri.host),
        some(from.tag()),
        some(to.uri.user),
        text(to.uri.host),
        some(to.tag()),
        some(digest.via.unwrap().branch()),
        digest
            .content_length
            .map(|len| len.to_string())
            .unwrap_or_default(),
        digest
            .max_forwards
            .map(|hops| hops.to_string())
            .unwrap_or_default(),
        some(digest.user_agent.filter(|_| digest.is_request())),
    ]
}

fn tshark_rows(path: &Path) -> Option<Vec<Vec<String>>> {
    let mut command = Question::to("tshark");
    command
        .arg("-r")
        .file(path)
        .args(["-Y", "sip", "-T", "fields", "-E", "occurrence=f"]);
    for field in FIELDS {
        command.args(["-e", field]);
    }
    let Ok(answer) = command.answer() else {
        weir_testkit::missing("tshark", "nothing judges the fields of SIP");
        return None;
    };
    assert!(
        answer.is_success(),
        "{}",
        String::from_utf8_lossy(&answer.stderr)
    );
    let text = String::from_utf8(answer.stdout).unwrap();
    let rows = text
        .lines()
        .map(|line| line.split('\t').map(str::to_owned).collect());
    Some(rows.collect())
}

fn agree(name: &str, expected: usize) {
    let Some(path) = shared(name) else { return };
    let mut rows = Vec::new();
    datagrams(&path, |number, _, _, payload| {
        if looks_like_sip(payload) {
            let message = Message::parse(payload, &Limits::default()).unwrap();
            rows.push(row(number, &Digest::of(&message)));
        }
    });
    assert_eq!(rows.len(), expected);
    let Some(theirs) = tshark_rows(&path) else {
        return;
    };
    assert_eq!(theirs.len(), rows.len());
    for (ours, theirs) in rows.iter().zip(&theirs) {
        for ((field, ours), theirs) in FIELDS.iter().zip(ours).zip(theirs) {
            // A Server is our user agent of a response; tshark keeps the two apart.
            if *field != "sip.User-Agent" || !theirs.is_empty() {
                assert_eq!(ours, theirs, "{field}");
            }
        }
    }
}

#[test]
fn tshark_agrees_on_a_thousand_calls() {
    agree("sipp-1000.pcap", 6000);
}

#[test]
fn tshark_agrees_on_long_paths() {
    agree("captures/zeek-sip-long-request-response-paths.pcap", 2);
}

#[test]
fn tshark_agrees_on_real_traffic() {
    agree("captures/zeek-wireshark.pcap", 81);
}

fn follow(path: &Path) -> (Vec<Call>, Calls) {
    let mut calls = Calls::default();
    let mut reported = Vec::new();
    datagrams(path, |_, time_ns, flow, payload| {
        if let Ok(message) = Message::parse(payload, &Limits::default()) {
            let seen = calls.take(time_ns, Some(flow), &Digest::of(&message), &mut |call| {
                reported.push(call);
            });
            assert!(!seen.is_repeat);
        }
    });
    calls.finish(&mut |call| reported.push(call));
    (reported, calls)
}

#[test]
fn a_thousand_calls_are_a_thousand_calls() {
    let Some(path) = shared("sipp-1000.pcap") else {
        return;
    };
    let (reported, calls) = follow(&path);
    assert_eq!(reported.len(), 1000);
    for (call, number) in reported.iter().zip(1..) {
        assert_eq!(call.number, number);
        assert_eq!(call.call_id, format!("{number}-23716@127.0.0.1").as_bytes());
        assert_eq!(call.state, CallState::Completed);
        assert_eq!(call.ended_by, Some(Side::Caller));
        assert_eq!((call.status, call.messages), (Some(200), 6));
        assert_eq!((call.attempts, call.dialogs), (1, 1));
        let (request, setup) = (call.request_delay_ns.unwrap(), call.setup_delay_ns.unwrap());
        assert!(0 < request && request <= setup && setup < 1_000_000_000);
        assert!(call.duration_ns.is_some() && call.disconnect_delay_ns.is_some());
        assert_eq!(call.caller.user.as_deref(), Some(&b"sipp"[..]));
        assert_eq!(call.callee.user.as_deref(), Some(&b"service"[..]));
    }
    assert_eq!(calls.counters().messages, 6000);
    assert_eq!(calls.counters().outside, 0);
    // The same input tells the same calls in the same order.
    assert_eq!(follow(&path).0, reported);
}
