//! A call, odd messages, and a stream of them.

use crate::frames::Seed;

const HEAD: &str = "Via: SIP/2.0/UDP h:5060;branch=z9hG4bK1\r\nFrom: \"A\" <sip:a@h>;tag=1\r\n";

/// The targets with their seeds; the first two bytes of a stream are what the target takes.
pub(crate) fn all() -> Vec<(&'static str, Vec<Seed>)> {
    let message = |start: &str, to: &str, cseq: &str, more: &str| {
        format!(
            "{start}\r\n{HEAD}To: <sip:b@[::1]>{to}\r\nCall-ID: x@h\r\nCSeq: {cseq}\r\n{more}\r\n"
        )
    };
    let invite = message(
        "INVITE sip:b@h SIP/2.0",
        "",
        "1 INVITE",
        "m: <sip:a@h:5061;transport=tcp>;q=0.5\r\nMax-Forwards: 70\r\nc: application/sdp\r\nl: 0\r\n",
    );
    let ringing = message("SIP/2.0 180 Ringing", ";tag=2", "1 INVITE", "RSeq: 1\r\n");
    let answer = message("SIP/2.0 200 OK", ";tag=2", "1 INVITE", "Server: s\r\n");
    let bye = message(
        "BYE sip:b@h SIP/2.0",
        ";tag=2",
        "2 BYE",
        "Date: Sat, 15 Oct 2005 04:44:56 GMT\r\n",
    );
    let cancel = message(
        "CANCEL sip:b@h SIP/2.0",
        "",
        "1 CANCEL",
        "Reason: SIP;cause=200\r\n",
    );
    let odd = "BYE  <sip:a b@h?c>  SIP/7.0 \nv :SIP / 2.0\n /TCP [::1] : 5060;;,;,\nFrom:\"x <sip:y>;tag\n\
               t: Bell, A <tel:+1;x=y>;tag=2 z\nno colon\nl: -1\n: \nWarning: 1 x\n\n";
    let stream = |flags: [u8; 2], parts: &[&str]| [&flags[..], parts.concat().as_bytes()].concat();
    let named = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());
    vec![
        (
            "sip_message",
            vec![
                named("invite", invite.as_bytes()),
                named("ringing", ringing.as_bytes()),
                named("bye", bye.as_bytes()),
                named("odd", odd.as_bytes()),
            ],
        ),
        (
            "sip_stream",
            vec![
                named(
                    "call",
                    &stream([0, 9], &[&invite, &ringing, &answer, "\r\n\r\n", &bye]),
                ),
                named(
                    "cancel",
                    &stream([1, 70], &[&invite, &invite, &cancel, "\r\n"]),
                ),
                named(
                    "garbage",
                    &stream(
                        [1, 3],
                        &[
                            "garbage\r\n\r\n",
                            "BYE sip:h SIP/2.0\r\nl: 9\r\n\r\nbody",
                            &bye,
                        ],
                    ),
                ),
            ],
        ),
    ]
}
