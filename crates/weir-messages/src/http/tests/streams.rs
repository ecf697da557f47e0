//! Streams of HTTP/2 that are tunnels, in pieces of any size, behind losses, and from the middle.

use super::*;

/// The contents of a stream, by stream and side, and other events.
#[derive(Debug, Default, PartialEq, Eq)]
struct Carried {
    data: Vec<(u32, usize, Vec<u8>, StreamOrigin)>,
    others: Vec<String>,
}

impl Carried {
    fn event(&mut self, event: StreamEvent<'_>) {
        let other = match event {
            StreamEvent::Data {
                stream,
                side,
                octets,
                origin,
            } => {
                let is_same = |it: &&mut (u32, usize, Vec<u8>, StreamOrigin)| {
                    (it.0, it.1, it.3) == (stream, side, origin)
                };
                match self.data.iter_mut().find(is_same) {
                    Some((_, _, all, _)) => all.extend_from_slice(octets),
                    None => self.data.push((stream, side, octets.to_vec(), origin)),
                }
                return;
            }
            StreamEvent::Answered {
                stream,
                request,
                response,
            } => {
                let (target, code) = (&request.head.line.target, response.head.line.code);
                format!("{stream} answered {target} {code}")
            }
            StreamEvent::Missing {
                stream,
                side,
                octets,
            } => format!("{stream} lacks {octets} of {side}"),
            StreamEvent::Ended { stream, side } => format!("{stream} ended by {side}"),
            StreamEvent::Lost { side } => format!("lost of {side}"),
        };
        self.others.push(other);
    }
}

fn literal((name, value): (&str, &str)) -> Vec<u8> {
    let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
    [vec![0], text(name), text(value)].concat()
}

fn head(stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    let block: Vec<u8> = fields.iter().copied().flat_map(literal).collect();
    frame(1, 4, stream, &block)
}

const CONNECT: &[(&str, &str)] = &[
    (":method", "CONNECT"),
    (":protocol", "websocket"),
    (":path", "/chat"),
];

fn begun() -> [Vec<u8>; 2] {
    let settings = frame(4, 0, 0, b"");
    [
        [two::PREFACE, &settings, &head(1, CONNECT)].concat(),
        [settings, head(1, &[(":status", "200")])].concat(),
    ]
}

fn take(streams: &mut Streams, pieces: &[(usize, &[u8])]) -> Carried {
    let mut carried = Carried::default();
    for (side, piece) in pieces {
        streams.take(*side, piece, Stamp::default(), &mut |event| {
            carried.event(event);
        });
    }
    carried
}

#[test]
fn data_of_tunnels_come_without_padding_in_pieces_of_any_size() {
    let [mut client, mut server] = begun();
    client.extend(frame(0, 0, 1, b"from "));
    // Another request, whose body is no tunnel's.
    client.extend(head(3, &[(":method", "POST"), (":path", "/")]));
    client.extend(frame(0, 1, 3, b"body"));
    client.extend(frame(0, 8, 1, b"\x03client\0\0\0"));
    client.extend(frame(0, 9, 1, b"\x02\0\0"));
    server.extend(frame(0, 0, 1, b"from server"));
    server.extend(frame(3, 0, 1, &[0, 0, 0, 8]));
    for size in [1, 2, 7, 10_000] {
        let mut streams = Streams::new(0);
        let pieces = |side, bytes: &'static [u8]| {
            bytes
                .chunks(size)
                .map(move |piece| (side, piece))
                .collect::<Vec<_>>()
        };
        let both = [
            pieces(0, client.clone().leak()),
            pieces(1, server.clone().leak()),
        ];
        let carried = take(&mut streams, &both.concat());
        let awaited = StreamOrigin::Awaited;
        assert_eq!(
            carried.data,
            [
                (1, 0, b"from client".to_vec(), awaited),
                (1, 1, b"from server".to_vec(), awaited)
            ],
            "by {size}"
        );
        let others = [
            "3 ended by 0",
            "1 ended by 0",
            "1 answered /chat 200",
            "1 ended by 1",
        ];
        assert_eq!(carried.others, others, "by {size}");
    }
}

/// Data after a loss are read where a piece begins with frames, without fields.
#[test]
fn behind_a_loss_data_are_those_of_streams_that_were_not_seen() {
    let [client, server] = begun();
    let mut streams = Streams::new(0);
    take(&mut streams, &[(0, &client), (1, &server)]);
    let mut carried = Carried::default();
    streams.gap(0, 100, &mut |event| carried.event(event));
    let behind = [
        head(5, CONNECT),
        frame(0, 0, 5, b"unseen"),
        frame(0, 0, 1, b"seen"),
    ]
    .concat();
    for (side, piece) in [(0, &b"the rest of a frame"[..]), (0, &behind)] {
        streams.take(side, piece, Stamp::default(), &mut |event| {
            carried.event(event);
        });
    }
    assert_eq!(carried.others, ["lost of 0"]);
    assert_eq!(
        carried.data,
        [
            (5, 0, b"unseen".to_vec(), StreamOrigin::Unseen),
            (1, 0, b"seen".to_vec(), StreamOrigin::Awaited)
        ]
    );
    // A loss within data only affects their octets.
    let mut streams = Streams::new(0);
    let [client, server] = begun();
    let part = frame(0, 0, 1, b"0123456789");
    take(
        &mut streams,
        &[(0, &client), (1, &server), (1, &part[..11])],
    );
    let mut carried = Carried::default();
    streams.gap(1, 3, &mut |event| carried.event(event));
    let rest = take(&mut streams, &[(1, &part[14..])]);
    assert_eq!(carried.others, ["1 lacks 3 of 1"]);
    assert_eq!(
        rest.data,
        [(1, 1, b"56789".to_vec(), StreamOrigin::Awaited)]
    );
}

#[test]
fn a_connection_from_the_middle_has_data_without_fields() {
    let mut streams = Streams::from_middle(1);
    let pieces: [(usize, &[u8]); 4] = [
        (1, b"rest"),
        (1, &frame(0, 0, 7, b"a")),
        (0, &[frame(6, 1, 0, &[0; 8]), frame(0, 1, 7, b"b")].concat()),
        (1, &head(9, CONNECT)),
    ];
    let carried = take(&mut streams, &pieces);
    let unseen = StreamOrigin::Unseen;
    assert_eq!(
        carried.data,
        [(7, 1, b"a".to_vec(), unseen), (7, 0, b"b".to_vec(), unseen)]
    );
    assert_eq!(carried.others, ["7 ended by 0"]);
    assert_eq!(streams.client_side(), 1);
}

/// A server whose settings are not there has sent something before: its fields are not read for others.
#[test]
fn fields_are_lost_where_a_side_begins_without_settings() {
    let [client, _] = begun();
    let mut streams = Streams::new(0);
    let response = head(1, &[(":status", "200")]);
    let carried = take(&mut streams, &[(0, &client), (1, &response)]);
    assert_eq!(carried.others, Vec::<String>::new());
}

#[test]
fn first_octets_say_which_side_begins() {
    let settings = frame(4, 0, 0, &[0; 6]);
    let preface = two::PREFACE;
    for end in 1..preface.len() {
        let expected = match end {
            1..4 => StreamsBegin::Unsure,
            _ => StreamsBegin::Client,
        };
        assert_eq!(Streams::begins(&preface[..end]), expected, "{end}");
    }
    for end in 1..=settings.len() {
        let expected = match end {
            1..9 => StreamsBegin::Unsure,
            _ => StreamsBegin::Server,
        };
        assert_eq!(Streams::begins(&settings[..end]), expected, "{end}");
    }
    for other in [
        &b"PRACK sip:a SIP/2.0"[..],
        b"PUT / HTTP/1.1",
        b"",
        b"\x81\x02hi",
        &[0; 9],
    ] {
        assert_eq!(Streams::begins(other), StreamsBegin::Other);
    }
    // Data are found behind other frames, and without their padding.
    let ping = frame(6, 0, 0, &[0; 8]);
    let padded = frame(0, 8, 1, b"\x02data\0\0");
    let both = [ping.clone(), padded].concat();
    assert_eq!(Streams::first_data(&both), Some(&b"data"[..]));
    assert_eq!(
        Streams::first_data(&both[..both.len() - 3]),
        Some(&b"dat"[..])
    );
    assert_eq!(Streams::first_data(&ping), None);
    for no_frames in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0; 30],
        &[0xff; 30],
        b"\0\0",
    ] {
        assert_eq!(Streams::first_data(no_frames), None);
    }
}

/// An exchange that begins while the other direction is lost has a fault.
#[test]
fn requests_behind_the_loss_of_responses_have_a_fault() {
    let settings = frame(4, 0, 0, b"");
    let request = |stream| head(stream, &[(":method", "GET"), (":path", "/")]);
    let mut connection = Connection::default();
    let mut found = Vec::new();
    let mut each = |it| found.push(it);
    let client = [two::PREFACE, &settings, &request(1)].concat();
    connection.take(0, &client, Stamp::default(), &mut each);
    connection.take(1, &settings, Stamp::default(), &mut each);
    connection.gap(1, 50, &mut each);
    connection.take(0, &request(3), Stamp::default(), &mut each);
    connection.finish(&mut each);
    let faults: Vec<Option<HttpFault>> = found.iter().map(|it| it.fault).collect();
    assert_eq!(faults, [Some(HttpFault::Missing); 2]);
}
