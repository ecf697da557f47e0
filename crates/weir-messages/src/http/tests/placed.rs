//! Messages whose places in their streams are known: captured in any order, lost, and sent without being asked.

use super::*;

/// A sent message of a connection.
struct SentMessage {
    side: usize,
    text: String,
    /// Octets of the other direction that its sender had received.
    received: u64,
    is_lost: bool,
}

/// Feeds what was captured, gaps before what is behind them; gives targets, codes and faults.
fn placed(sent: &[SentMessage]) -> Vec<(String, u16, Option<HttpFault>)> {
    let mut connection = Connection::searching();
    let mut found = Vec::new();
    let mut each = |it| found.push(it);
    let (mut offsets, mut missing) = ([0; 2], [0; 2]);
    for message in sent {
        let (side, len) = (message.side, message.text.len() as u64);
        if message.is_lost {
            missing[side] += len;
        } else {
            let gap = std::mem::take(&mut missing[side]);
            if gap > 0 {
                connection.at(side, offsets[side] - gap, Some(message.received));
                connection.gap(side, gap, &mut each);
            }
            connection.at(side, offsets[side], Some(message.received));
            connection.take(side, message.text.as_bytes(), Stamp::default(), &mut each);
        }
        offsets[side] += len;
    }
    connection.finish(&mut each);
    let rows = found.iter().map(|it| {
        let target = it.request.as_ref().map(|it| it.head.line.target.clone());
        let code = it.response.as_ref().map(|it| it.head.line.code);
        let (target, code) = (target.unwrap_or_default(), code.unwrap_or_default());
        (target, code, it.fault)
    });
    rows.collect()
}

/// Requests and responses, each request after the response to the one before, of which these are lost: those of the client, then
/// those of the server.
fn one_by_one(count: u16, lost: [&[u16]; 2]) -> Vec<SentMessage> {
    let mut sent = Vec::new();
    let mut offsets = [0_u64; 2];
    for n in 0..count {
        let request = format!("GET /{n} HTTP/1.1\r\n\r\n");
        let body = "x".repeat(usize::from(n % 3));
        let code = 210 + n;
        let response = format!(
            "HTTP/1.1 {code} A\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        for (side, text) in [request, response].into_iter().enumerate() {
            let received = offsets[1 - side];
            offsets[side] += text.len() as u64;
            let is_lost = lost[side].contains(&n);
            sent.push(SentMessage {
                side,
                text,
                received,
                is_lost,
            });
        }
    }
    sent
}

/// A server answers a head that takes too long, or is too long, before its end (RFC 9110, 15.5.9; RFC 6585, 5): such a response was one
/// of another request that was not there.
#[test]
fn a_response_to_a_head_without_an_end_is_its_own() {
    let message = |side, text: &str, received| SentMessage {
        side,
        text: text.to_owned(),
        received,
        is_lost: false,
    };
    let head = "GET /2 HTTP/1.1\r\nHost: a\r\n";
    let refused = "HTTP/1.1 408 A\r\nContent-Length: 0\r\n\r\n";
    let head_octets = head.len() as u64;
    let both = [message(0, head, 0), message(1, refused, head_octets)];
    let expected = ("/2".to_owned(), 408, Some(HttpFault::Cut));
    assert_eq!(placed(&both), std::slice::from_ref(&expected));
    // The rest of the head comes behind the response.
    let [first, second] = both;
    let rest = message(0, "\r\n", 0);
    let whole = ("/2".to_owned(), 408, None);
    assert_eq!(placed(&[first, second, rest]), [whole]);
    // A connection in which others came before.
    let mut sent = one_by_one(1, [&[], &[]]);
    let octets = [0, 1].map(|side: usize| sent[side].text.len() as u64);
    sent.push(message(0, head, octets[1]));
    sent.push(message(1, refused, octets[0] + head_octets));
    assert_eq!(placed(&sent), [("/0".to_owned(), 210, None), expected]);
}

/// Two requests are lost at once, and the response to the second, which the client had when it asked for more.
#[test]
fn what_the_client_had_before_it_asked_is_not_what_it_asked_for() {
    let request = |n: u16| format!("GET /{n} HTTP/1.1\r\n\r\n");
    let response = |n: u16| format!("HTTP/1.1 {} A\r\nContent-Length: 0\r\n\r\n", 210 + n);
    let [request_octets, response_octets] = [request(0).len() as u64, response(0).len() as u64];
    let sent = |side, n, received, is_lost| SentMessage {
        side,
        text: if side == 0 { request(n) } else { response(n) },
        received,
        is_lost,
    };
    let all = [
        sent(0, 0, 0, false),
        sent(1, 0, request_octets, false),
        sent(0, 1, response_octets, true),
        sent(0, 2, response_octets, true),
        sent(1, 1, 3 * request_octets, false),
        sent(1, 2, 3 * request_octets, true),
        sent(0, 3, 3 * response_octets, false),
        sent(0, 4, 3 * response_octets, false),
        sent(1, 3, 5 * request_octets, false),
        sent(1, 4, 5 * request_octets, false),
    ];
    let found = placed(&all);
    let row = |target: &str, code| (target.to_owned(), code);
    let pairs: Vec<_> = found.iter().map(|it| (it.0.clone(), it.1)).collect();
    let expected = [row("/0", 210), row("", 211), row("/3", 213), row("/4", 214)];
    assert_eq!(pairs, expected, "{found:?}");
}

/// The last responses are lost, which shows at the end of the connection: the first request without one said so, the others did not.
#[test]
fn requests_whose_responses_are_lost_at_the_end_say_so() {
    let request = |n: u16| format!("GET /{n} HTTP/1.1\r\n\r\n");
    let octets = request(0).len() as u64;
    let response = "HTTP/1.1 210 A\r\nContent-Length: 0\r\n\r\n";
    let end = response.len() as u64;
    let mut connection = Connection::searching();
    let mut found = Vec::new();
    let mut each = |it| found.push(it);
    for n in 0..3 {
        connection.at(0, octets * u64::from(n), Some(0));
        connection.take(0, request(n).as_bytes(), Stamp::default(), &mut each);
    }
    connection.at(1, 0, Some(3 * octets));
    connection.take(1, response.as_bytes(), Stamp::default(), &mut each);
    connection.at(1, end, Some(3 * octets));
    connection.gap(1, 2 * end, &mut each);
    // This one was sent by a client that had all of that.
    connection.at(0, 3 * octets, Some(3 * end));
    connection.take(0, request(3).as_bytes(), Stamp::default(), &mut each);
    connection.finish(&mut each);
    let faults: Vec<_> = found.iter().map(|it: &Exchange| it.fault).collect();
    assert_eq!(faults, [None, MISSING, MISSING, None]);
    // One by one: the client had some of what is missing when it sent the second request.
    let mut connection = Connection::searching();
    let mut found = Vec::new();
    let mut each = |it| found.push(it);
    for n in 0..2 {
        connection.at(0, octets * n, Some(end * n));
        connection.take(0, request(0).as_bytes(), Stamp::default(), &mut each);
    }
    connection.at(1, 0, Some(2 * octets));
    connection.gap(1, 2 * end, &mut each);
    connection.finish(&mut each);
    let faults: Vec<_> = found.iter().map(|it: &Exchange| it.fault).collect();
    assert_eq!(faults, [MISSING; 2]);
}

/// The last requests are lost, which shows at the end of the connection: each of their responses says so.
#[test]
fn responses_to_lost_requests_at_the_end_say_so() {
    let all = one_by_one(4, [&[2, 3], &[]]);
    let mut connection = Connection::searching();
    let mut found = Vec::new();
    let mut each = |it| found.push(it);
    let (mut offsets, mut missing) = ([0; 2], 0);
    for message in &all {
        let (side, len) = (message.side, message.text.len() as u64);
        if message.is_lost {
            missing += len;
        } else {
            connection.at(side, offsets[side], Some(message.received));
            connection.take(side, message.text.as_bytes(), Stamp::default(), &mut each);
        }
        offsets[side] += len;
    }
    connection.at(0, offsets[0] - missing, Some(offsets[1]));
    connection.gap(0, missing, &mut each);
    connection.finish(&mut each);
    let faults = found.iter().filter(|it| it.request.is_none());
    let faults: Vec<_> = faults.map(|it| it.fault).collect();
    assert_eq!(faults, [MISSING; 2]);
}

/// A request without its first octets had the response of the next one, and so had all behind it.
#[test]
fn the_response_to_a_request_without_its_first_octets_is_its_own() {
    // Octets before these may have been captured.
    for (begin, cut) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
        let mut all = one_by_one(4, [&[], &[]]);
        let second = all.remove(2);
        let (first, rest) = second.text.split_at(cut);
        let (begun, lost) = first.split_at(begin);
        let pieces = [(begun, false), (lost, true), (rest, false)];
        let pieces = pieces.into_iter().filter(|(text, _)| !text.is_empty());
        for (at, (text, is_lost)) in pieces.enumerate() {
            let piece = SentMessage {
                text: text.to_owned(),
                is_lost,
                ..second
            };
            all.insert(2 + at, piece);
        }
        // What is left of a method may be another one.
        let target = if cut < 3 { "/1" } else { "" };
        let row = |target: &str, code, fault| (target.to_owned(), code, fault);
        let expected = [
            row("/0", 210, None),
            row(target, 211, MISSING),
            row("/2", 212, None),
            row("/3", 213, None),
        ];
        assert_eq!(placed(&all), expected, "{begin} to {cut}");
    }
}

/// A gap up to the end of a chunk left the line end behind it unread until the next response came, which had its place then: that
/// response had no request, and all behind it had those of the responses before.
#[test]
fn a_gap_up_to_the_end_of_a_chunk_shifts_no_response() {
    let request = |n: u16| format!("GET /{n} HTTP/1.1\r\n\r\n");
    let head = "HTTP/1.1 210 A\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n";
    let [last, end] = [
        "HTTP/1.1 211 A\r\nContent-Length: 0\r\n\r\n",
        "\r\n0\r\n\r\n",
    ];
    let asked = request(0).len() as u64;
    let answered = (head.len() + 5 + end.len()) as u64;
    for (from, to) in [(0, 5), (2, 5), (2, 4)] {
        let data = "hello";
        let message = |side, text: String, received, is_lost| SentMessage {
            side,
            text,
            received,
            is_lost,
        };
        let all = [
            message(0, request(0), 0, false),
            message(1, format!("{head}{}", &data[..from]), asked, false),
            message(1, data[from..to].to_owned(), asked, true),
            message(1, format!("{}{end}", &data[to..]), asked, false),
            message(0, request(1), answered, false),
            message(1, last.to_owned(), 2 * asked, false),
        ];
        let row = |target: &str, code| (target.to_owned(), code, None);
        assert_eq!(placed(&all), [row("/0", 210), row("/1", 211)], "{from}");
    }
}

#[test]
fn after_any_number_of_lost_messages_responses_are_those_of_their_requests() {
    // All that may be lost of six exchanges.
    for lost in 0..1_u32 << 12 {
        let of_side = |side: u32| -> Vec<u16> {
            (0..6)
                .filter(|n| lost >> (2 * n + side) & 1 == 1)
                .map(|n| n as u16)
                .collect()
        };
        let lost = [of_side(0), of_side(1)];
        let found = placed(&one_by_one(6, [&lost[0], &lost[1]]));
        let mut seen = [Vec::new(), Vec::new()];
        for (target, code, fault) in &found {
            let asked = target.strip_prefix('/').map(|n| n.parse::<u16>().unwrap());
            let answered = code.checked_sub(210);
            if let (Some(asked), Some(answered)) = (asked, answered) {
                assert_eq!(asked, answered, "{lost:?}: {found:?}");
            }
            // Several pairs may be possible when messages of both ends are lost.
            let is_certain = *fault != Some(HttpFault::Uncertain);
            let of_one_end = lost.iter().any(Vec::is_empty);
            assert!(is_certain || !of_one_end, "{lost:?}: {found:?}");
            seen[0].extend(asked);
            seen[1].extend(answered);
        }
        for (seen, lost) in seen.iter_mut().zip(&lost) {
            seen.sort_unstable();
            let there: Vec<u16> = (0..6).filter(|n| !lost.contains(n)).collect();
            assert_eq!(*seen, there, "{lost:?}: {found:?}");
        }
    }
}

/// Requests in bursts of these sizes, each burst after the responses to the one before; the requests of `lost` are lost.
fn in_bursts(sizes: &[u16], lost: u32) -> Vec<SentMessage> {
    let mut sent = Vec::new();
    let mut offsets = [0_u64; 2];
    let mut first = 0;
    for size in sizes {
        let burst = first..first + size;
        let received = offsets[1];
        for n in burst.clone() {
            let text = format!("GET /{n} HTTP/1.1\r\n\r\n");
            offsets[0] += text.len() as u64;
            let is_lost = lost >> n & 1 == 1;
            sent.push(SentMessage {
                side: 0,
                text,
                received,
                is_lost,
            });
        }
        for n in burst.clone() {
            let text = format!("HTTP/1.1 {} A\r\nContent-Length: 0\r\n\r\n", 210 + n);
            offsets[1] += text.len() as u64;
            sent.push(SentMessage {
                side: 1,
                text,
                received: offsets[0],
                is_lost: false,
            });
        }
        first = burst.end;
    }
    sent
}

/// Requests that were lost together counted as one, and the responses after them were silently paired with others.
#[test]
fn however_many_requests_of_a_burst_are_lost_each_response_is_right_or_says_that_it_may_not_be() {
    let mut certain = 0;
    for sizes in [
        [1, 1, 1, 3].as_slice(),
        &[6],
        &[1, 5],
        &[3, 3],
        &[2, 2, 2],
        &[1, 3, 1, 1],
        &[4, 1, 2],
    ] {
        let count: u16 = sizes.iter().sum();
        for lost in 0..1_u32 << count {
            let found = placed(&in_bursts(sizes, lost));
            let mut answers = Vec::new();
            for (target, code, fault) in &found {
                let asked = target.strip_prefix('/').map(|n| n.parse::<u16>().unwrap());
                let answered = code.checked_sub(210);
                answers.extend(answered);
                let is_known = |n: &u16| lost >> n & 1 == 0;
                if fault.is_none() {
                    assert_eq!(
                        asked,
                        answered.filter(is_known),
                        "{sizes:?} {lost:b}: {found:?}"
                    );
                    certain += 1;
                }
            }
            answers.sort_unstable();
            assert_eq!(
                answers,
                Vec::from_iter(0..count),
                "{sizes:?} {lost:b}: {found:?}"
            );
        }
    }
    assert!(certain > 500, "{certain}");
}

/// Feeds messages in another order than they were sent in: `order` says of which side the next one is. Gives targets, codes and
/// faults.
fn captured(sent: &[SentMessage], order: &[usize]) -> Vec<(String, u16, Option<HttpFault>)> {
    let mut connection = Connection::searching();
    let mut found = Vec::new();
    let mut each = |it: Exchange| {
        let target = it.request.as_ref().map(|it| it.head.line.target.clone());
        let code = it.response.as_ref().map(|it| it.head.line.code);
        let rows = (target.unwrap_or_default(), code.unwrap_or_default());
        found.push((rows.0, rows.1, it.fault));
    };
    let mut offsets = [0; 2];
    let mut next = [0, 1].map(|side| sent.iter().filter(move |it| it.side == side));
    for side in order {
        let message = next[*side].next().unwrap();
        connection.at(*side, offsets[*side], Some(message.received));
        let bytes = message.text.as_bytes();
        connection.take(*side, bytes, Stamp::default(), &mut each);
        offsets[*side] += bytes.len() as u64;
    }
    connection.finish(&mut each);
    found
}

/// All orders of so many messages of each side.
fn orders(count: usize) -> impl Iterator<Item = Vec<usize>> {
    let all = 0..1_u32 << (2 * count);
    let balanced = all.filter(move |bits| bits.count_ones() as usize == count);
    balanced.map(move |bits| (0..2 * count).map(|at| (bits >> at & 1) as usize).collect())
}

/// The received octets of the server tell that a request is still to come, whatever the order of capture is.
#[test]
fn in_any_order_of_both_sides_responses_are_those_of_their_requests() {
    for count in 1..=5 {
        let waiting = one_by_one(count, [&[], &[]]);
        let mut at_once = one_by_one(count, [&[], &[]]);
        let asked = at_once.iter().filter(|it| it.side == 0);
        let asked = asked.map(|it| it.text.len() as u64).sum();
        for message in &mut at_once {
            message.received = if message.side == 0 { 0 } else { asked };
        }
        let expected: Vec<_> = (0..count)
            .map(|n| (format!("/{n}"), 210 + n, None))
            .collect();
        for order in orders(count.into()) {
            for sent in [&waiting, &at_once] {
                let mut found = captured(sent, &order);
                found.sort_by(|one, two| one.0.cmp(&two.0));
                assert_eq!(found, expected, "{order:?}");
            }
        }
    }
}

/// A message of the client, or of the server, whose sender had received so many octets.
fn sent(side: usize, text: &str, received: u64) -> SentMessage {
    SentMessage {
        side,
        text: text.to_owned(),
        received,
        is_lost: false,
    }
}

#[track_caller]
fn are_captured(
    sent: &[SentMessage],
    order: &[usize],
    expected: &[(&str, u16, Option<HttpFault>)],
) {
    let found = captured(sent, order);
    let found: Vec<_> = found
        .iter()
        .map(|(target, code, fault)| (target.as_str(), *code, *fault))
        .collect();
    assert_eq!(found, expected);
}

/// A server that closes an idle connection sends an unsolicited response, while the next request may be on its way (RFC 9110,
/// 15.5.9). It had received nothing of that.
#[test]
fn a_response_that_no_request_asked_for_is_that_of_none() {
    let get = |n: u8| format!("GET /{n} HTTP/1.1\r\n\r\n");
    let none = |code: u16| format!("HTTP/1.1 {code} A\r\nContent-Length: 0\r\n\r\n");
    let (asks, answers) = (get(1).len() as u64, none(201).len() as u64);
    let messages = [
        sent(0, &get(1), 0),
        sent(1, &none(201), asks),
        sent(1, &none(408), asks),
        sent(0, &get(2), answers),
        sent(1, &none(202), 2 * asks),
    ];
    let expected = [("/1", 201, None), ("", 408, None), ("/2", 202, None)];
    are_captured(&messages, &[0, 1, 1, 0, 1], &expected);
    are_captured(&messages, &[0, 1, 0, 1, 1], &expected);
    // A server that begins with one.
    let messages = [
        sent(1, &none(408), 0),
        sent(0, &get(1), 0),
        sent(1, &none(201), asks),
    ];
    let expected = [("", 408, None), ("/1", 201, None)];
    are_captured(&messages, &[1, 0, 1], &expected);
    are_captured(&messages, &[0, 1, 1], &expected);
}

/// A response to HEAD has no body, whether the request was captured or not.
#[test]
fn a_lost_request_for_a_head_does_not_take_the_next_response() {
    for length in [
        "Content-Length: 1000",
        "Transfer-Encoding: chunked",
        "X-Server: anything at all",
    ] {
        let mut all = one_by_one(3, [&[0], &[]]);
        let before = all[1].text.len() as u64;
        all[1].text = format!("HTTP/1.1 210 A\r\n{length}\r\n\r\n");
        let more = all[1].text.len() as u64 - before;
        for message in all.iter_mut().skip(2).filter(|it| it.side == 0) {
            message.received += more;
        }
        let found = placed(&all);
        let row = |target: &str, code: u16| (target.to_owned(), code);
        let rows: Vec<_> = found.iter().map(|it| (it.0.clone(), it.1)).collect();
        assert_eq!(
            rows,
            [row("", 210), row("/1", 211), row("/2", 212)],
            "{found:?}"
        );
    }
}

/// What is lost behind the response to HEAD was counted as a part of its body, to which all further responses belonged then.
#[test]
fn a_response_lost_behind_that_to_a_head_is_no_body() {
    let mut all = one_by_one(4, [&[0], &[1]]);
    let before = all[1].text.len() as u64;
    all[1].text = "HTTP/1.1 210 A\r\nContent-Length: 1000\r\n\r\n".to_owned();
    let more = all[1].text.len() as u64 - before;
    for message in all.iter_mut().skip(2).filter(|it| it.side == 0) {
        message.received += more;
    }
    let found = placed(&all);
    let row = |target: &str, code: u16| (target.to_owned(), code);
    let rows: Vec<_> = found.iter().map(|it| (it.0.clone(), it.1)).collect();
    let expected = [row("", 210), row("/1", 0), row("/2", 212), row("/3", 213)];
    assert_eq!(rows, expected, "{found:?}");
    assert_eq!(found[1].2, MISSING);
}

/// The response to HEAD that was taken for that of the request before it had all further ones for its body.
#[test]
fn an_uncertain_response_may_be_that_to_a_head() {
    let uncertain = Some(HttpFault::Uncertain);
    // What else is wrong with the exchange does not matter.
    for (version, fault) in [("1.1", uncertain), ("1.2", Some(HttpFault::Malformed))] {
        let request = |n: u16| match n {
            1 => format!("GET /1 HTTP/{version}\r\n\r\n"),
            2 => "HEAD /2 HTTP/1.1\r\n\r\n".to_owned(),
            _ => format!("GET /{n} HTTP/1.1\r\n\r\n"),
        };
        let response = |n: u16| {
            let length = if n == 2 { 1_000 } else { 0 };
            format!("HTTP/1.1 {} A\r\nContent-Length: {length}\r\n\r\n", 200 + n)
        };
        let asked: u64 = (0..4).map(|n| request(n).len() as u64).sum();
        let mut all: Vec<_> = (0..4).map(|n| sent(0, &request(n), 0)).collect();
        all.extend((0..4).map(|n| SentMessage {
            is_lost: n < 2,
            ..sent(1, &response(n), asked)
        }));
        let found = placed(&all);
        let found: Vec<_> = found.iter().map(|it| (it.0.as_str(), it.1, it.2)).collect();
        let [unanswered, last] = ["/0", "/3"].map(|target| (target, 0, MISSING));
        let expected = [unanswered, ("/1", 202, fault), ("/2", 203, uncertain), last];
        assert_eq!(found, expected);
    }
}

/// The same where its client sends requests together: the server had received no more before the next response.
#[test]
fn a_lost_request_for_a_head_among_others_does_not_either() {
    let request = |n: u16| format!("GET /{n} HTTP/1.1\r\n\r\n");
    let response =
        |code: u16, length: u16| format!("HTTP/1.1 {code} A\r\nContent-Length: {length}\r\n\r\n");
    let sent = |side, text: String, received, is_lost| SentMessage {
        side,
        text,
        received,
        is_lost,
    };
    let asked = 3 * request(0).len() as u64;
    let found = placed(&[
        sent(0, request(0), 0, false),
        sent(0, request(1), 0, true),
        sent(0, request(2), 0, false),
        sent(1, response(210, 0), asked, false),
        sent(1, response(211, 1_000), asked, false),
        sent(1, response(212, 0), asked, false),
    ]);
    let row = |target: &str, code: u16| (target.to_owned(), code);
    let rows: Vec<_> = found.iter().map(|it| (it.0.clone(), it.1)).collect();
    let expected = [row("/0", 210), row("", 211), row("/2", 212)];
    assert_eq!(rows, expected, "{found:?}");
    // A server alone: no gap says that requests are missing.
    let found = placed(&[
        sent(1, response(210, 0), asked, false),
        sent(1, response(211, 1_000), asked, false),
        sent(1, response(212, 0), asked, false),
    ]);
    let codes: Vec<_> = found.iter().map(|it| it.1).collect();
    assert_eq!(codes, [210, 211, 212], "{found:?}");
}

/// Responses to requests of a burst are lost, and so is the request behind it: the next response may be that of the last one of the
/// burst, and was without a word.
#[test]
fn a_response_behind_lost_ones_may_be_that_of_a_request_that_was_not_captured() {
    let request = |n: u16| format!("GET /{n} HTTP/1.1\r\n\r\n");
    let response = |n: u16| format!("HTTP/1.1 {} A\r\nContent-Length: 0\r\n\r\n", 210 + n);
    let octets = request(0).len() as u64;
    let mut all: Vec<_> = (0..3).map(|n| sent(0, &request(n), 0)).collect();
    all.push(sent(1, &response(0), 3 * octets));
    for n in 1..3 {
        let is_lost = true;
        all.push(SentMessage {
            is_lost,
            ..sent(1, &response(n), 3 * octets)
        });
    }
    // The request was lost, and nothing of the client came behind it.
    all.push(sent(1, &response(3), 4 * octets));
    let uncertain = Some(HttpFault::Uncertain);
    let expected = [
        ("/0", 210, None),
        ("/1", 0, MISSING),
        ("/2", 213, uncertain),
    ];
    let found = placed(&all);
    let found: Vec<_> = found.iter().map(|it| (it.0.as_str(), it.1, it.2)).collect();
    assert_eq!(found, expected);
}

/// The requests behind one that was refused were its body, which its client left out, where the response was lost.
#[test]
fn a_body_that_waits_for_a_lost_response_is_not_what_follows() {
    let asked = "POST /1 HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5000\r\n\r\n";
    let next = "GET /2 HTTP/1.1\r\n\r\n";
    let response = |code: u16| format!("HTTP/1.1 {code} A\r\nContent-Length: 0\r\n\r\n");
    let [asks, answers] = [asked.len() as u64, response(417).len() as u64];
    let lost = SentMessage {
        is_lost: true,
        ..sent(1, &response(417), asks)
    };
    let found = placed(&[
        sent(0, asked, 0),
        lost,
        sent(0, next, answers),
        sent(1, &response(202), asks + next.len() as u64),
    ]);
    let found: Vec<_> = found.iter().map(|it| (it.0.as_str(), it.1, it.2)).collect();
    assert_eq!(found, [("/1", 0, MISSING), ("/2", 202, None)]);
    // A body that a server wants.
    let more = "HTTP/1.1 100 Continue\r\n\r\n";
    let whole = format!("{next}{}", "x".repeat(5_000 - next.len()));
    let found = placed(&[
        sent(0, asked, 0),
        sent(1, more, asks),
        sent(0, &whole, more.len() as u64),
        sent(1, &response(201), asks + 5_000),
    ]);
    assert_eq!(found, [("/1".to_owned(), 201, None)]);
}

/// A response that is not understood leaves the ones behind it to their requests.
#[test]
fn after_a_response_that_is_not_understood_the_rest_is_not_shifted() {
    let mut all = one_by_one(4, [&[], &[]]);
    let text = &mut all[3].text;
    *text = "?".repeat(text.len() - 4) + "\r\n\r\n";
    let found = placed(&all);
    let row = |target: &str, code: u16| (target.to_owned(), code);
    let rows: Vec<_> = found.iter().map(|it| (it.0.clone(), it.1)).collect();
    let pairs = [row("/0", 210), row("/1", 0), row("/2", 212), row("/3", 213)];
    assert_eq!(rows, pairs, "{found:?}");
    assert_eq!(found[1].2, Some(HttpFault::Head));
}

/// Reads messages of sides, whose senders had received so many octets, as far as that is known.
fn read_at(sent: &[(usize, String, Option<u64>)]) -> Vec<(String, u16, Option<HttpFault>)> {
    let mut connection = Connection::searching();
    let mut found = Vec::new();
    let mut each = |it| found.push(it);
    let mut offsets = [0; 2];
    for (side, text, received) in sent {
        connection.at(*side, offsets[*side], *received);
        connection.take(*side, text.as_bytes(), Stamp::default(), &mut each);
        offsets[*side] += text.len() as u64;
    }
    connection.finish(&mut each);
    let rows = found.iter().map(|it: &Exchange| {
        let target = it.request.as_ref().map(|it| it.head.line.target.clone());
        let code = it.response.as_ref().map_or(0, |it| it.head.line.code);
        (target.unwrap_or_default(), code, it.fault)
    });
    rows.collect()
}

/// What TLS seals has no places: the first response of a connection that was captured in front of its request was one of another.
#[test]
fn the_first_response_without_a_place_is_that_of_the_first_request_behind_it() {
    let request = b"GET /1 HTTP/1.1\r\n\r\n";
    let response = b"HTTP/1.1 201 A\r\nContent-Length: 0\r\n\r\n";
    for (is_from_start, rows) in [(true, 1), (false, 2)] {
        let mut connection = Connection::searching();
        let mut found = Vec::new();
        let mut each = |it| found.push(it);
        if is_from_start {
            connection.from_start();
        }
        for (side, text) in [(1, &response[..]), (0, &request[..])] {
            connection.at(side, 0, None);
            connection.take(side, text, Stamp::default(), &mut each);
        }
        connection.finish(&mut each);
        let faults: Vec<_> = found.iter().map(|it: &Exchange| it.fault).collect();
        assert_eq!(faults, vec![None; rows]);
    }
}

/// A capture that begins within a connection, and lacks the response to its first request.
#[test]
fn several_requests_before_all_of_the_server_say_that_they_may_be_mixed_up() {
    let get = |n: u8| format!("GET /{n} HTTP/1.1\r\n\r\n");
    let ok = |n: u8| format!("HTTP/1.1 20{n} A\r\nContent-Length: 0\r\n\r\n");
    let (asks, answers) = (get(1).len() as u64, ok(1).len() as u64);
    let found = read_at(&[
        (0, get(1), None),
        (0, get(2), None),
        (1, ok(2), Some(2 * asks)),
        (0, get(3), Some(answers)),
        (1, ok(3), Some(3 * asks)),
        (0, get(4), Some(2 * answers)),
        (1, ok(4), Some(4 * asks)),
    ]);
    let (_, _, fault) = found.iter().find(|(_, code, _)| *code == 202).unwrap();
    assert_eq!(*fault, Some(HttpFault::Uncertain), "{found:?}");
    let last: Vec<_> = found.iter().map(|it| (it.0.as_str(), it.1)).collect();
    assert_eq!(last[2..], [("/3", 203), ("/4", 204)], "{found:?}");
    // The request of the last response was not captured, and nothing of the client came behind it.
    let found = read_at(&[
        (0, get(1), None),
        (0, get(2), None),
        (1, ok(2), Some(2 * asks)),
        (1, ok(3), Some(3 * asks)),
    ]);
    let row = |target: &str, code: u16| (target.to_owned(), code, Some(HttpFault::Uncertain));
    assert_eq!(found, [row("/1", 202), row("/2", 203)]);
}

/// A capture that begins within a connection: of what the server had received nothing is known before something of the client
/// was captured.
#[test]
fn a_response_before_all_of_the_client_is_that_of_its_request() {
    let get = |n: u8| format!("GET /{n} HTTP/1.1\r\n\r\n");
    let ok = |n: u8| format!("HTTP/1.1 20{n} A\r\nContent-Length: 0\r\n\r\n");
    let (asks, answers) = (get(1).len() as u64, ok(1).len() as u64);
    let row = |target: &str, code: u16| (target.to_owned(), code, None::<HttpFault>);
    let all = [row("/1", 201), row("/2", 202)];
    // Each response is captured before its request, or both before both.
    let in_turn = [
        (1, ok(1), None),
        (0, get(1), Some(0)),
        (1, ok(2), Some(2 * asks)),
        (0, get(2), Some(answers)),
    ];
    assert_eq!(read_at(&in_turn), all);
    let behind = [
        (1, ok(1), None),
        (1, ok(2), None),
        (0, get(1), Some(0)),
        (0, get(2), Some(answers)),
    ];
    assert_eq!(read_at(&behind), all);
    // The request of the first response was sent before the capture, or it had none.
    let older = [
        (1, ok(1), None),
        (0, get(2), Some(answers)),
        (1, ok(2), Some(asks)),
    ];
    assert_eq!(read_at(&older), [row("", 201), row("/2", 202)]);
    let unasked = [
        (1, ok(1).replace("201", "408"), None),
        (0, get(2), Some(0)),
        (1, ok(2), Some(asks)),
    ];
    assert_eq!(read_at(&unasked), [row("", 408), row("/2", 202)]);
    // It was captured behind a request of which its server had nothing.
    let late = [
        (0, get(2), None),
        (1, ok(1), Some(0)),
        (1, ok(2), Some(asks)),
    ];
    assert_eq!(read_at(&late), [row("", 201), row("/2", 202)]);
}

/// The end of a response depends on its request: HEAD, CONNECT, and one that leads to another protocol.
#[test]
fn a_request_behind_its_response_says_how_that_ends() {
    let head = "HEAD /1 HTTP/1.1\r\n\r\n";
    let get = "GET /2 HTTP/1.1\r\n\r\n";
    let (asks, both) = (head.len() as u64, (head.len() + get.len()) as u64);
    for length in ["Content-Length: 1000", "Transfer-Encoding: chunked", "A: b"] {
        let response = format!("HTTP/1.1 201 A\r\n{length}\r\n\r\n");
        let answers = response.len() as u64;
        let messages = [
            sent(0, head, 0),
            sent(1, &response, asks),
            sent(0, get, answers),
            sent(1, "HTTP/1.1 202 A\r\nContent-Length: 2\r\n\r\nab", both),
        ];
        let expected = [("/1", 201, None), ("/2", 202, None)];
        for order in [[0, 1, 0, 1], [1, 0, 0, 1], [1, 0, 1, 0]] {
            are_captured(&messages, &order, &expected);
        }
    }
    let connect = "CONNECT a:80 HTTP/1.1\r\n\r\n";
    let asks = connect.len() as u64;
    let opened = "HTTP/1.1 200 OK\r\n\r\n";
    let messages = [
        sent(0, connect, 0),
        sent(1, opened, asks),
        sent(0, get, opened.len() as u64),
        sent(
            1,
            "HTTP/1.1 202 A\r\nContent-Length: 2\r\n\r\nab",
            asks + get.len() as u64,
        ),
    ];
    let expected = [("a:80", 200, None), ("/2", 202, None)];
    are_captured(&messages, &[0, 1, 0, 1], &expected);
    are_captured(&messages, &[1, 0, 0, 1], &expected);
    let upgrade = "GET /1 HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    let switched = "HTTP/1.1 101 A\r\nUpgrade: websocket\r\n\r\n";
    let messages = [
        sent(0, upgrade, 0),
        sent(1, switched, upgrade.len() as u64),
        sent(1, "\x01\x02hi", upgrade.len() as u64),
    ];
    are_captured(&messages, &[0, 1, 1], &[("/1", 101, None)]);
    are_captured(&messages, &[1, 0, 1], &[("/1", 101, None)]);
    are_captured(&messages, &[1, 1, 0], &[("/1", 101, None)]);
}

/// Each response of a connection whose client was captured up to its SYN only is a row, with the record that completed it.
#[test]
fn a_server_alone_has_rows_of_its_responses() {
    for count in [1_u16, 5, 9, 30] {
        let mut connection = Connection::searching();
        let mut found = Vec::new();
        let mut each = |it: Exchange| {
            let code = it.response.as_ref().map(|it| it.head.line.code).unwrap();
            found.push((code, it.over.map(|it| it.frame), it.fault));
        };
        let mut offset = 0;
        for n in 0..count {
            let text = format!("HTTP/1.1 {} A\r\nContent-Length: 0\r\n\r\n", 201 + n);
            let stamp = Stamp {
                frame: u64::from(n) + 1,
                time_ns: None,
            };
            connection.at(1, offset, Some(100 * (u64::from(n) + 1)));
            connection.take(1, text.as_bytes(), stamp, &mut each);
            assert!(connection.held() < 16 << 10);
            offset += text.len() as u64;
        }
        connection.finish(&mut each);
        let expected: Vec<_> = (0..count)
            .map(|n| (201 + n, Some(u64::from(n) + 1), None))
            .collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn a_response_that_may_be_that_of_another_request_says_so() {
    let text = |n: u16| format!("HTTP/1.1 {} A\r\nContent-Length: 0\r\n\r\n", 200 + n);
    let mut sent = Vec::new();
    let (mut asked, mut answered) = (0, 0);
    for n in 0..4 {
        let text = format!("GET /{n} HTTP/1.1\r\n\r\n");
        asked += text.len() as u64;
        sent.push(SentMessage {
            side: 0,
            text,
            received: 0,
            is_lost: false,
        });
    }
    for n in 0..4 {
        let text = text(n);
        answered += text.len() as u64;
        sent.push(SentMessage {
            side: 1,
            text,
            received: asked,
            is_lost: n < 2,
        });
    }
    let found = placed(&sent);
    let uncertain = Some(HttpFault::Uncertain);
    let rows: Vec<_> = found
        .iter()
        .map(|(target, code, fault)| (target.as_str(), *code, *fault))
        .collect();
    // The number of lost responses to concurrent requests is unknown: one is assumed.
    assert_eq!(
        rows,
        [
            ("/0", 0, MISSING),
            ("/1", 202, uncertain),
            ("/2", 203, uncertain),
            ("/3", 0, MISSING)
        ]
    );
    // The response to a client that waited for nothing else is probably that of the next request.
    let text_4 = "GET /4 HTTP/1.1\r\n\r\n".to_owned();
    sent.push(SentMessage {
        side: 0,
        text: text_4,
        received: answered,
        is_lost: false,
    });
    sent.push(SentMessage {
        side: 1,
        text: text(4),
        received: asked + 18,
        is_lost: false,
    });
    let found = placed(&sent);
    assert_eq!(found[3], ("/3".to_owned(), 0, MISSING), "{found:?}");
    assert_eq!(found[4], ("/4".to_owned(), 204, uncertain), "{found:?}");
}

/// Streams of HTTP/2 have the responses that were captured before their requests.
#[test]
fn a_response_of_http_2_before_its_request_is_that_of_it() {
    let (client, server) = http2_connection();
    for size in [1, 7, 1_000] {
        let mut connection = Connection::searching();
        let mut found = Vec::new();
        for (side, all) in [(1, &server), (0, &client)] {
            for piece in all.chunks(size) {
                connection.take(side, piece, Stamp::default(), &mut |it| found.push(it));
            }
        }
        let rows: Vec<_> = found
            .iter()
            .map(|it| {
                let method = it.request.as_ref().map(|it| &*it.head.line.method);
                let code = it.response.as_ref().map(|it| it.head.line.code);
                (it.stream.unwrap(), method.unwrap(), code.unwrap(), it.over)
            })
            .collect();
        let expected = [
            (2, "GET", 200, None),
            (1, "GET", 404, None),
            (3, "POST", 200, None),
        ];
        assert_eq!(rows, expected, "{size}");
    }
}

/// A server of HTTP/2 alone has rows of its responses, of which few wait, and none once its client is lost.
#[test]
fn a_server_of_http_2_alone_has_rows_of_its_responses() {
    let mut connection = Connection::searching();
    let mut found = Vec::new();
    connection.take(1, &frame(4, 0, 0, b""), Stamp::default(), &mut |_| {});
    for n in 0..40 {
        let answer = frame(1, 5, 2 * n + 1, b"\x88");
        let stamp = Stamp {
            frame: n.into(),
            time_ns: None,
        };
        connection.take(1, &answer, stamp, &mut |it| found.push(it));
    }
    assert_eq!(found.len(), 24);
    connection.gap(0, 50, &mut |it| found.push(it));
    let frames: Vec<_> = found.iter().map(|it| it.over.unwrap().frame).collect();
    assert_eq!(frames, (0..40).collect::<Vec<_>>());
    assert_eq!(found[30].fault, Some(HttpFault::Missing));
}

/// RFC 9113, 8.1: a server may answer before it has all of a request, and give up the rest of it.
#[test]
fn a_request_of_http_2_that_is_answered_early_keeps_its_body() {
    let post = [two::PREFACE, &frame(1, 4, 1, b"\x83\x84")].concat();
    let answer = frame(1, 5, 1, b"\x8d");
    let read = |behind: &[(usize, Vec<u8>)]| {
        let mut connection = Connection::default();
        let mut found = Vec::new();
        let mut each = |it: Exchange| {
            let request = it.request.unwrap();
            found.push((request.body_len, request.is_whole, it.fault));
        };
        let begun = [(0, post.clone()), (1, answer.clone())];
        for (side, bytes) in begun.iter().chain(behind) {
            connection.take(*side, bytes, Stamp::default(), &mut each);
        }
        connection.finish(&mut each);
        found
    };
    let data = |flags: u8| (0, frame(0, flags, 1, b"body"));
    assert_eq!(read(&[data(0), data(1)]), [(8, true, None)]);
    let given_up = (1, frame(3, 0, 1, &[0; 4]));
    assert_eq!(read(&[data(0), given_up]), [(4, false, None)]);
    assert_eq!(read(&[]), [(0, false, None)]);
}
