//! Connections of TCP that share their ports with another one, of which one direction is missing, or into which segments came that
//! are of no connection.

use std::net::Ipv4Addr;

use weir_testkit::packet::{Ipv4, Tcp, protocol, tcp_flags};

use crate::sip::{column, read_with_notes};
use crate::wire::{self, Connection, HostPort};

pub(crate) const CLIENT: HostPort = (Ipv4Addr::new(10, 0, 0, 1), 40_000);
pub(crate) const SERVER: HostPort = (Ipv4Addr::new(10, 0, 0, 2), 8_080);

/// A segment with its number and its acknowledgment number.
pub(crate) fn segment(
    from: HostPort,
    to: HostPort,
    [seq, ack]: [u32; 2],
    flags: u8,
    bytes: &[u8],
) -> Vec<u8> {
    let tcp = Tcp::new(from.1, to.1).numbers(seq, ack).flags(flags);
    let segment = tcp.segment(from.0.into(), to.0.into(), bytes);
    Ipv4::new(from.0, to.0, protocol::TCP).packet(&segment)
}

/// Columns of the rows of a table, in their order; NULL is empty.
pub(crate) fn rows(
    table: &str,
    packets: &[Vec<u8>],
    columns: &[&str],
) -> (Vec<Vec<String>>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    wire::write(packets, &path);
    let (batch, notes) = read_with_notes(table, &[&path], 100);
    let columns: Vec<Vec<String>> = columns.iter().map(|it| column(&batch, it)).collect();
    let rows = (0..batch.num_rows())
        .map(|row| columns.iter().map(|column| column[row].clone()).collect())
        .collect();
    (rows, notes)
}

/// Segments of a server, whose client was not captured, in pieces of this size.
fn of_server_alone(bytes: &[u8], size: usize) -> Vec<Vec<u8>> {
    let mut seq = 1_000;
    let mut packets = Vec::new();
    for piece in bytes.chunks(size) {
        packets.push(segment(SERVER, CLIENT, [seq, 1], tcp_flags::ACK, piece));
        seq += piece.len() as u32;
    }
    packets
}

/// The length that the response to HEAD has (RFC 9110, 9.3.2) was taken for that of a body: the responses behind it had no rows.
#[test]
fn responses_behind_one_to_head_are_rows_where_the_client_was_not_captured() {
    let last = "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno";
    for field in [
        "Content-Length: 70000",
        "Transfer-Encoding: chunked",
        "Server: a",
    ] {
        let first = format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n");
        let both = format!("{first}{first}{last}");
        for size in [1, 3, 10, first.len(), both.len()] {
            let packets = of_server_alone(both.as_bytes(), size);
            let columns = ["http.response.code", "http.response.body_len"];
            let (found, notes) = rows("http", &packets, &columns);
            let expected = [["200", "0"], ["200", "0"], ["404", "2"]];
            assert_eq!(found, expected, "{field} by {size}");
            assert_eq!(notes, Vec::<String>::new());
        }
    }
}

/// A request and its response with this number, from these octets of a connection on.
fn exchange(number: u16, [sent, answered]: [u32; 2]) -> ([Vec<u8>; 2], [u32; 2]) {
    let request = format!("GET /{number} HTTP/1.1\r\nHost: h\r\n\r\n");
    let response = format!("HTTP/1.1 {number} A\r\nContent-Length: 2\r\n\r\nok");
    let behind = sent.wrapping_add(request.len() as u32);
    let next = [behind, answered.wrapping_add(response.len() as u32)];
    let flags = tcp_flags::ACK;
    let packets = [
        segment(CLIENT, SERVER, [sent, answered], flags, request.as_bytes()),
        segment(
            SERVER,
            CLIENT,
            [answered, behind],
            flags,
            response.as_bytes(),
        ),
    ];
    (packets, next)
}

/// Of a connection whose SYNs were not captured, on the ports of one that was open, nothing or one direction was read, without a word.
#[test]
fn requests_on_the_ports_of_an_open_connection_are_rows() {
    for other in [
        [1_500_000_000, 1_400_000_000],
        [3_000_000_000, 2_900_000_000],
        [3_000_000_000, 1_000_000_000],
        [1_000_000_000, 3_000_000_000],
    ] {
        let mut packets = Vec::new();
        Connection::open(CLIENT, SERVER, &mut packets);
        for numbers in [[1, 1], other] {
            let (first, next) = exchange(201, numbers);
            let (second, _) = exchange(202, next);
            packets.extend(first.into_iter().chain(second));
        }
        let columns = [
            "http.request.uri",
            "http.response.code",
            "http.fault",
            "flow.id",
        ];
        let (found, notes) = rows("http", &packets, &columns);
        let expected = [
            ["/201", "201", "", "1"],
            ["/202", "202", "", "1"],
            ["/201", "201", "", "2"],
            ["/202", "202", "", "2"],
        ];
        assert_eq!((found, notes), (expected.map(owned).to_vec(), Vec::new()));
    }
}

fn owned(row: [&str; 4]) -> Vec<String> {
    row.map(str::to_owned).to_vec()
}

/// Requests and responses that are lost, and the rows of the others.
type LossCase<'c> = (&'c [usize], &'c [usize], &'c [[&'c str; 3]]);

/// Where the first request or response behind the beginning of a capture was lost, each response had the request behind its own,
/// without a word.
#[test]
fn responses_behind_a_lost_beginning_have_their_requests() {
    let (missing, uncertain) = (
        "bytes were not captured",
        "the response may belong to another request, because messages were not captured",
    );
    let requests: Vec<Vec<u8>> = (1..4)
        .map(|n| format!("GET /{n} HTTP/1.1\r\nHost: x\r\n\r\n").into_bytes())
        .collect();
    let responses: Vec<Vec<u8>> = (1..4)
        .map(|n| format!("HTTP/1.1 20{n} OK\r\nContent-Length: 2\r\n\r\nok").into_bytes())
        .collect();
    let cases: [LossCase<'_>; 4] = [
        (
            &[0],
            &[],
            &[["", "201", missing], ["/2", "202", ""], ["/3", "203", ""]],
        ),
        (
            &[],
            &[0],
            &[
                ["/1", "", missing],
                ["/2", "202", uncertain],
                ["/3", "203", uncertain],
            ],
        ),
        (&[0], &[0], &[["/2", "202", ""], ["/3", "203", ""]]),
        (
            &[],
            &[],
            &[
                ["/1", "201", uncertain],
                ["/2", "202", uncertain],
                ["/3", "203", uncertain],
            ],
        ),
    ];
    for (lost_requests, lost_responses, expected) in cases {
        let ack = |from, to, numbers| segment(from, to, numbers, tcp_flags::ACK, b"");
        let mut packets = vec![
            ack(CLIENT, SERVER, [1_000, 5_000]),
            ack(SERVER, CLIENT, [5_000, 1_000]),
        ];
        let (mut asked, mut answered) = (1_000, 5_000);
        for (at, request) in requests.iter().enumerate() {
            if !lost_requests.contains(&at) {
                let numbers = [asked, 5_000];
                packets.push(segment(CLIENT, SERVER, numbers, tcp_flags::ACK, request));
            }
            asked += request.len() as u32;
        }
        for (at, response) in responses.iter().enumerate() {
            if !lost_responses.contains(&at) {
                let numbers = [answered, asked];
                packets.push(segment(SERVER, CLIENT, numbers, tcp_flags::ACK, response));
            }
            answered += response.len() as u32;
            packets.push(ack(CLIENT, SERVER, [asked, answered]));
        }
        let columns = ["http.request.uri", "http.response.code", "http.fault"];
        let (found, _) = rows("http", &packets, &columns);
        assert_eq!(found, expected, "{lost_requests:?} {lost_responses:?}");
    }
}
