//! Messages whose counterparts were not captured: what the missing one would say is NULL.

use weir_testkit::packet::{Ipv4, protocol, udp};

use crate::untidy_connections::{CLIENT, SERVER, rows};
use crate::wire::HostPort;

fn datagram(from: HostPort, to: HostPort, bytes: &[u8]) -> Vec<u8> {
    let datagram = udp(from.0.into(), to.0.into(), from.1, to.1, bytes);
    Ipv4::new(from.0, to.0, protocol::UDP).packet(&datagram)
}

/// The row of a reply had the context of the reply as that of the request, which may ask for a new one, and a command that was not
/// optional.
#[test]
fn a_reply_of_megaco_says_nothing_of_its_request() {
    let [client, server] = [(CLIENT.0, 2_944), (SERVER.0, 2_944)];
    let request = b"MEGACO/1 [10.0.0.1]:2944\nTransaction = 9 { Context = $ { O-Add = A1 } }";
    let reply = b"MEGACO/1 [10.0.0.2]:2944\nReply = 9 { Context = 2001 { Add = A1 } }";
    let packets = [
        datagram(client, server, request),
        datagram(server, client, reply),
    ];
    let columns = [
        "h248.kind",
        "h248.command",
        "h248.context_id",
        "h248.reply_context_id",
        "h248.optional",
        "h248.wildcard_return",
    ];
    let (both, _) = rows("h248", &packets, &columns);
    assert_eq!(
        both,
        [["request", "Add", "4294967294", "2001", "true", "false"]]
    );
    let (alone, _) = rows("h248", &packets[1..], &columns);
    assert_eq!(alone, [["reply", "Add", "", "2001", "", ""]]);
}
