//! A media gateway and its controller: a start, a call that is made and taken down, and commands that fail.

use super::START_NS;
use super::wire::{Wire, WireEnd};
use crate::Rng;
use std::io;
use std::net::Ipv4Addr;

const GATEWAY: WireEnd = (Ipv4Addr::new(10, 2, 0, 1), 2944);
const CONTROLLER: WireEnd = (Ipv4Addr::new(10, 2, 0, 2), 2944);

/// The capture, and how many packets it has.
pub(super) fn megaco_pcap(random: &mut Rng) -> io::Result<(Vec<u8>, u64)> {
    let mut wire = Wire::default();
    let say = |wire: &mut Wire, at_ms: u64, from: WireEnd, to: WireEnd, body: &str| {
        let text = format!("MEGACO/1 [{}]:{}\n{body}", from.0, from.1);
        wire.datagram(at_ms, from, to, text.as_bytes());
    };
    let start = "Services { Method = Restart, Reason = \"901 Cold boot\", ServiceChangeAddress = 2944, Profile = ResGW/1 }";
    let request =
        format!("Transaction = 1 {{ Context = - {{ ServiceChange = ROOT {{ {start} }} }} }}");
    say(&mut wire, 0, GATEWAY, CONTROLLER, &request);
    let granted = "Services { ServiceChangeAddress = 2944, Profile = ResGW/1 }";
    let reply = format!("Reply = 1 {{ Context = - {{ ServiceChange = ROOT {{ {granted} }} }} }}");
    say(&mut wire, 12, CONTROLLER, GATEWAY, &reply);
    for call in 0..20 {
        let (number, line, context) = (10_000 + 10 * call, 4_000 + call, 2_000 + call);
        let mut at_ms = 1_000 + 700 * call;
        let media = "Media { LocalControl { Mode = ReceiveOnly } }";
        let made = [
            (
                format!("Context = $ {{ Add = A{line}, Add = $ {{ {media} }} }}"),
                format!("Context = {context} {{ Add = A{line}, Add = RTP/{call} }}"),
            ),
            (
                format!("Context = {context} {{ Modify = A{line} {{ Signals {{ cg/rt }} }} }}"),
                format!("Context = {context} {{ Modify = A{line} }}"),
            ),
            (
                format!("Context = {context} {{ Subtract = A{line}, Subtract = RTP/{call} }}"),
                match call % 7 {
                    3 => format!(
                        "Context = {context} {{ Error = 430 {{ \"Unknown TerminationID\" }} }}"
                    ),
                    _ => format!(
                        "Context = {context} {{ Subtract = A{line}, Subtract = RTP/{call} }}"
                    ),
                },
            ),
        ];
        for (step, (asked, answered)) in (0..).zip(made) {
            let request = format!("Transaction = {} {{ {asked} }}", number + step);
            say(&mut wire, at_ms, CONTROLLER, GATEWAY, &request);
            if call % 5 == 4 && step == 0 {
                // The first copy of the request was lost after the point of capture.
                at_ms += 200;
                say(&mut wire, at_ms, CONTROLLER, GATEWAY, &request);
            }
            at_ms += random.between(8, 40);
            let reply = format!("Reply = {} {{ {answered} }}", number + step);
            say(&mut wire, at_ms, GATEWAY, CONTROLLER, &reply);
            at_ms += 90;
        }
    }
    wire.pcap(START_NS / 1_000_000_000)
}
