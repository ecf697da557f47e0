//! Settings of HTTP/2, and priorities of its streams.

use super::*;

fn setting(identifier: u16, value: u32) -> Vec<u8> {
    [&identifier.to_be_bytes()[..], &value.to_be_bytes()].concat()
}

fn settings(all: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> = all
        .iter()
        .flat_map(|(it, value)| setting(*it, *value))
        .collect();
    frame(4, 0, 0, &payload)
}

/// GET, with a place in the tree of streams.
fn get(stream: u32, place: Option<[u8; 5]>) -> Vec<u8> {
    let fields = b"\x82\x84";
    match place {
        Some(place) => frame(1, 0x25, stream, &[&place[..], fields].concat()),
        None => frame(1, 5, stream, fields),
    }
}

fn update(stream: u32, value: &str) -> Vec<u8> {
    frame(
        16,
        0,
        0,
        &[&stream.to_be_bytes()[..], value.as_bytes()].concat(),
    )
}

/// The exchanges of these octets of both sides, in turn.
fn exchanges(sent: &[(usize, Vec<u8>)], size: usize) -> Vec<Exchange> {
    let mut connection = Connection::default();
    let mut found = Vec::new();
    for (side, bytes) in sent {
        for piece in bytes.chunks(size) {
            connection.take(*side, piece, Stamp::default(), &mut |it| found.push(it));
        }
    }
    connection.finish(&mut |it| found.push(it));
    found
}

fn all(of: &Option<Settings>) -> Vec<(u16, u32)> {
    of.as_ref().map_or_else(Vec::new, |it| it.to_vec())
}

#[test]
fn settings_are_those_before_the_head_of_each_side() {
    let client = [
        two::PREFACE,
        &settings(&[(1, 65_536), (3, 1_000), (0x4a4a, 7)]),
    ]
    .concat();
    let ok = |stream| frame(1, 5, stream, b"\x88");
    let sent = [
        (0, client),
        (1, settings(&[(3, 100)])),
        // An acknowledgment has no settings.
        (0, frame(4, 1, 0, b"")),
        (0, get(1, None)),
        (1, ok(1)),
        (1, settings(&[(4, 9), (3, 50)])),
        (0, get(3, None)),
        (0, settings(&[(2, 0)])),
        (1, ok(3)),
    ];
    for size in [1, 5, 1_000] {
        let found = exchanges(&sent, size);
        let client = [(1, 65_536), (3, 1_000), (0x4a4a, 7)];
        assert_eq!(all(&found[0].request_settings), client);
        assert_eq!(all(&found[0].response_settings), [(3, 100)]);
        assert_eq!(all(&found[1].request_settings), client);
        assert_eq!(all(&found[1].response_settings), [(3, 50), (4, 9)]);
    }
    // A stream without a response has no settings of the server.
    let found = exchanges(&sent[..4], 1_000);
    assert_eq!(found[0].response_settings, None);
}

/// RFC 7540, 3.2.1: in base64url, without padding.
#[test]
fn settings_of_an_upgrade_are_a_field_of_its_request() {
    let request =
        b"GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\
        HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n";
    let response = [
        &b"HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"[..],
        &settings(&[(5, 20_000)]),
        &frame(1, 5, 1, b"\x88"),
    ]
    .concat();
    let found = exchanges(&[(0, request.to_vec()), (1, response)], 1_000);
    assert_eq!(all(&found[0].request_settings), [(3, 100), (4, 0xffff)]);
    assert_eq!(all(&found[0].response_settings), [(5, 20_000)]);
}

#[test]
fn priorities_are_the_last_that_the_client_gave_before_or_behind_the_request() {
    let begun = [two::PREFACE, &settings(&[])].concat();
    let place =
        |stream: u8, exclusive: bool, weight| [u8::from(exclusive) << 7, 0, 0, stream, weight];
    let sent = [
        (0, begun),
        (1, settings(&[])),
        // One update precedes its stream, and one belongs to a stream that never begins.
        (0, update(3, "u=1")),
        (0, frame(2, 0, 99, &place(0, false, 9))),
        (0, get(1, Some(place(0, true, 255)))),
        (0, get(3, None)),
        (0, get(5, Some(place(1, false, 0)))),
        (0, get(7, None)),
        (0, frame(2, 0, 5, &place(3, false, 41))),
        (0, update(5, "u=0, i")),
        (0, update(3, "u=7")),
        // A server's priorities are ignored.
        (1, frame(2, 0, 1, &place(3, false, 1))),
        (1, update(1, "u=2")),
        // Neither has the length that it needs.
        (0, frame(16, 0, 0, b"\0\0\0")),
        (0, frame(2, 0, 7, b"\0\0")),
    ];
    for size in [1, 1_000] {
        let found = exchanges(&sent, size);
        let places: Vec<Option<(u32, bool, u8)>> = found
            .iter()
            .map(|it| {
                let dependency = it.priority.as_ref()?.dependency?;
                Some((
                    dependency.stream,
                    dependency.is_exclusive,
                    dependency.weight,
                ))
            })
            .collect();
        assert_eq!(
            places,
            [Some((0, true, 255)), None, Some((3, false, 41)), None]
        );
        let updates: Vec<Option<&str>> = found
            .iter()
            .map(|it| it.priority.as_ref()?.update.as_deref())
            .collect();
        assert_eq!(updates, [None, Some("u=7"), Some("u=0, i"), None]);
    }
}

#[test]
fn floods_of_settings_and_priorities_stay_within_their_limits() {
    let mut connection = Connection::default();
    let begun = [two::PREFACE, &settings(&[])].concat();
    connection.take(0, &begun, Stamp::default(), &mut |_| {});
    for number in 0..3_000_u16 {
        let value = "u".repeat(1_000);
        let flood = [
            settings(&[(number, 1)]),
            update(u32::from(number) * 2 + 1, &value),
        ]
        .concat();
        connection.take(0, &flood, Stamp::default(), &mut |_| {});
    }
    assert!(connection.held() < 100_000, "{}", connection.held());
    let mut found = Vec::new();
    connection.take(0, &get(7_001, None), Stamp::default(), &mut |_| {});
    connection.finish(&mut |it| found.push(it));
    assert_eq!(all(&found[0].request_settings).len(), SETTINGS_MAX);
    // A frame beyond what is read is passed over.
    let long = frame(4, 0, 0, &[0; 16_386]);
    let mut connection = Connection::default();
    connection.take(0, &begun, Stamp::default(), &mut |_| {});
    connection.take(0, &long, Stamp::default(), &mut |_| {});
    connection.take(0, &get(1, None), Stamp::default(), &mut |_| {});
    connection.finish(&mut |it| found.push(it));
    assert_eq!(all(&found[1].request_settings), []);
    assert!(found[1].request.is_some());
}
