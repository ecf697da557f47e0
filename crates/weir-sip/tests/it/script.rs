//! Calls made of short lines, for tests.

use std::net::SocketAddr;

use weir_sip::{Call, CallLimits, Calls, Digest, Flow, Limits, Message, Seen};

/// Follows messages that are written as `SECOND START-LINE | HEADER: VALUE | …`, with `SECOND/PASSED` where a clock was set.
///
/// `From`, `To`, `Call-ID`, `CSeq` and `Via` are those of Alice's INVITE unless a line says
/// otherwise; `F:` and `T:` stand for the tags, `B:` for the branch, and `V:` for the host of the Via.
pub(crate) struct Script {
    pub(crate) calls: Calls,
    pub(crate) reported: Vec<Call>,
}

impl Script {
    pub(crate) fn new(limits: CallLimits) -> Self {
        Self {
            calls: Calls::new(limits),
            reported: Vec::new(),
        }
    }

    /// Plays the messages of these lines, and returns the classification of each.
    pub(crate) fn play(&mut self, lines: &[&str]) -> Vec<Seen> {
        lines.iter().map(|line| self.one(line)).collect()
    }

    fn one(&mut self, line: &str) -> Seen {
        let mut parts = line.split('|').map(str::trim);
        let (second, start) = parts.next().unwrap().split_once(' ').unwrap();
        let mut from_tag = "a";
        let mut to_tag = "";
        let mut call_id = "call@h";
        let mut branch = "z9hG4bK-1";
        let mut host = "h";
        let mut cseq = String::new();
        let mut more = String::new();
        for part in parts {
            match part.split_once(": ").unwrap() {
                ("F", tag) => from_tag = tag,
                ("T", tag) => to_tag = tag,
                ("I", id) => call_id = id,
                ("B", id) => branch = id,
                ("V", name) => host = name,
                ("CSeq", value) => cseq = value.to_owned(),
                _ => more.push_str(&format!("{part}\r\n")),
            }
        }
        if cseq.is_empty() {
            let method = start.split(' ').next().unwrap();
            let method = if method == "SIP/2.0" {
                "INVITE"
            } else {
                method
            };
            cseq = format!("1 {method}");
        }
        let tag = |tag: &str| match tag {
            "" => String::new(),
            tag => format!(";tag={tag}"),
        };
        let text = format!(
            "{start}\r\nVia: SIP/2.0/UDP {host};branch={branch}\r\nFrom: <sip:alice@a>{}\r\nTo: <sip:bob@b>{}\r\n\
             Call-ID: {call_id}\r\nCSeq: {cseq}\r\nMax-Forwards: 70\r\n{more}Content-Length: 0\r\n\r\n",
            tag(from_tag),
            tag(to_tag),
        );
        let message = Message::parse(text.as_bytes(), &Limits::default()).unwrap();
        assert!(message.check().first_error().is_none(), "{text}");
        let socket = |port: u16| SocketAddr::from(([10, 0, 0, 1], port));
        let is_from_alice = start.starts_with("SIP/2.0") != (from_tag == "a");
        let (src, dst) = if is_from_alice { (1, 2) } else { (2, 1) };
        let flow = Flow {
            src: socket(src),
            dst: socket(dst),
            number: None,
        };
        let (second, passed) = second.split_once('/').unwrap_or((second, second));
        let [time_ns, passed_ns] =
            [second, passed].map(|second| (second.parse::<f64>().unwrap() * 1e9) as i64);
        let reported = &mut self.reported;
        let digest = Digest::of(&message);
        self.calls
            .take_passed(time_ns, passed_ns, Some(flow), &digest, &mut |call| {
                reported.push(call);
            })
    }

    pub(crate) fn finish(mut self) -> Vec<Call> {
        let reported = &mut self.reported;
        self.calls.finish(&mut |call| reported.push(call));
        assert_eq!(self.calls.live(), 0);
        self.reported
    }
}
