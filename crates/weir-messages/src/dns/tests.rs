//! DNS: messages, questions with their answers, and what has no end.

use proptest::prelude::*;

use super::*;

/// A response with a compressed name in its answer, by RFC 1035, 4.1.4.
pub(super) const RESPONSE: &[u8] = b"\x12\x34\x81\x80\0\x01\0\x01\0\0\0\x01\
    \x03www\x04weir\x04test\0\0\x01\0\x01\
    \xc0\x0c\0\x01\0\x01\0\0\x01\x2c\0\x04\xc0\0\x02\x01\
    \0\0\x29\x10\0\0\0\x80\0\0\0";

fn message(bytes: &[u8]) -> DnsMessage<'_> {
    DnsMessage::new(bytes, Dialect::Unicast).unwrap()
}

#[test]
fn a_response_is_read() {
    let message = message(RESPONSE);
    assert!(message.is_response() && message.recursion_available());
    let question = message.questions().next().unwrap();
    assert_eq!(question.name.to_string(), "www.weir.test");
    let records: Vec<_> = message.records().collect();
    assert_eq!(records.len(), 2);
    assert_eq!(records[0].name.to_string(), "www.weir.test");
    assert_eq!(records[0].ttl, 300);
    assert!(matches!(records[0].data(), Data::A([192, 0, 2, 1])));
    assert_eq!(records[1].name.to_string(), "<Root>");
    assert_eq!(message.fault(), None);
    assert!(looks_like_dns(RESPONSE));
}

#[test]
fn every_prefix_is_damaged_and_says_so() {
    for length in 0..RESPONSE.len() {
        let prefix = &RESPONSE[..length];
        assert!(!looks_like_dns(prefix), "{length}");
        match DnsMessage::new(prefix, Dialect::Unicast) {
            Some(message) => assert!(message.fault().is_some(), "{length}"),
            None => assert!(length < 12),
        }
    }
}

/// A question whose name is `name`, as it lies behind the header.
fn asking(name: &[u8]) -> Vec<u8> {
    [b"\0\x01\x01\0\0\x01\0\0\0\0\0\0", name, b"\0\x01\0\x01"].concat()
}

#[test]
fn pointers_that_loop_end() {
    for name in [&b"\xc0\x0c"[..], b"\x01a\xc0\x0c", b"\xc0\x0e\xc0\x0c"] {
        let bytes = asking(name);
        let found = message(&bytes).questions().next().unwrap();
        let fault = found.name.fault().unwrap();
        assert!(
            matches!(fault, DnsFault::Pointer | DnsFault::NameTooLong),
            "{fault}"
        );
        assert!(found.name.to_string().len() <= 260);
    }
}

#[test]
fn a_name_of_many_labels_is_too_long() {
    let bytes = asking(&[&b"\x01a".repeat(127)[..], b"\0"].concat());
    assert_eq!(message(&bytes).fault(), None);
    let bytes = asking(&[&b"\x01a".repeat(128)[..], b"\0"].concat());
    assert_eq!(message(&bytes).fault(), Some(DnsFault::NameTooLong));
}

#[test]
fn what_cannot_be_printed_is_written_as_wireshark_does() {
    let bytes = asking(b"\x04a\x01\xff\nb\0".as_slice());
    assert!(message(&bytes).fault().is_some());
    let bytes = asking(b"\x04a\x01\xff\n\0".as_slice());
    let question = message(&bytes).questions().next().unwrap();
    assert_eq!(question.name.to_string(), "a\\001\\377\\n");
}

#[test]
fn an_answer_finds_its_question() {
    let question = asking(b"\x03www\x04weir\x04test\0");
    let mut response = RESPONSE.to_vec();
    response[1] = 1;
    response[0] = 0;
    let way = |time_ns, frame| Way {
        flow: 7,
        time_ns: Some(time_ns),
        passed_ns: time_ns,
        frame,
        identification: None,
    };
    let mut questions = Questions::default();
    assert_eq!(
        questions.take(&message(&question), way(10, 1)).question,
        None
    );
    assert!(questions.take(&message(&question), way(20, 2)).is_repeat);
    let ask = questions.take(&message(&response), way(35, 3));
    assert_eq!(ask.question.unwrap().time_ns, Some(10));
    assert!(!ask.is_repeat);
    assert!(questions.take(&message(&response), way(36, 4)).is_repeat);

    let mut lookups = Lookups::default();
    let mut rows = Vec::new();
    lookups.take(&message(&question), way(10, 1), &"a", &mut |row| {
        rows.push(row);
    });
    assert!(rows.is_empty());
    lookups.take(&message(&response), way(35, 2), &"b", &mut |row| {
        rows.push(row);
    });
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].way, "a");
    assert_eq!(rows[0].rtt_ns, Some(25));
    assert_eq!(rows[0].answers, ["192.0.2.1"]);
    assert_eq!(rows[0].ttls, [300]);
    assert!(!lookups.finish(&mut |_| {}));
}

/// Of several questions with one number the response was that to the first one, whatever it answered.
#[test]
fn an_answer_is_that_of_the_question_that_it_repeats() {
    let asked = [b"\x01a\x04test\0", b"\x01b\x04test\0"].map(|name| asking(name));
    let responses = [&asked[0], &asked[1]].map(|question| {
        let mut response = question.clone();
        // The server has the letters in another case (RFC 1035, 2.3.3).
        response[2] = 0x84;
        response[15..19].make_ascii_uppercase();
        response
    });
    let way = |frame| Way {
        flow: 7,
        time_ns: Some(10),
        passed_ns: 10,
        frame,
        identification: None,
    };
    // The first question has no answer, and the answers come in the other order.
    for (answers, expected) in [
        (&[1][..], vec![(Some(2), Some(3)), (Some(1), None)]),
        (&[1, 0][..], vec![(Some(2), Some(3)), (Some(1), Some(4))]),
        (&[0, 1][..], vec![(Some(1), Some(3)), (Some(2), Some(4))]),
    ] {
        let mut questions = Questions::default();
        let mut lookups = Lookups::default();
        let mut rows = Vec::new();
        let mut each = |row: Lookup<()>| rows.push((row.question_frame, row.answer_frame));
        for (question, frame) in asked.iter().zip(1..) {
            assert!(!questions.take(&message(question), way(frame)).is_repeat);
            lookups.take(&message(question), way(frame), &(), &mut each);
        }
        for (answer, frame) in answers.iter().zip(3..) {
            let response = message(&responses[*answer]);
            let ask = questions.take(&response, way(frame));
            assert_eq!(ask.question.unwrap().frame, *answer as u64 + 1);
            assert!(!ask.is_repeat);
            lookups.take(&response, way(frame), &(), &mut each);
        }
        while lookups.finish(&mut each) {}
        assert_eq!(rows, expected);
    }
}

/// A question that was sent again had the copy of the answer to the first one, as a mirror port gives it, and the answer to it had no
/// question.
#[test]
fn the_copy_of_an_answer_answers_no_question_that_was_sent_again() {
    let question = asking(b"\x03www\x04weir\x04test\0");
    let mut response = RESPONSE.to_vec();
    response[..2].copy_from_slice(&[0, 1]);
    // What came, by its identification and the milliseconds that had passed.
    let rows_of = |sent: &[(bool, u16, i64)]| {
        let mut rows = Vec::new();
        let mut lookups = Lookups::default();
        let mut each = |row: Lookup<()>| rows.push((row.question_frame, row.answer_frame));
        for ((is_question, id, passed_ms), frame) in sent.iter().zip(1..) {
            let way = Way {
                flow: 7,
                time_ns: None,
                passed_ns: passed_ms * 1_000_000,
                frame,
                identification: Some(*id).filter(|id| *id != 0),
            };
            let bytes = if *is_question { &question } else { &response };
            lookups.take(&message(bytes), way, &(), &mut each);
        }
        while lookups.finish(&mut each) {}
        rows
    };
    let asked_again = |ids: [u16; 5]| {
        let [first, second, answer, copy, other] = ids;
        rows_of(&[
            (true, first, 0),
            (true, second, 900),
            (false, answer, 950),
            (false, copy, 951),
            (false, other, 952),
        ])
    };
    let expected = [(Some(1), Some(3)), (None, Some(4)), (Some(2), Some(5))];
    assert_eq!(asked_again([1, 2, 8, 8, 9]), expected);
    assert_eq!(asked_again([0, 0, 8, 8, 9]), expected);
    // Where identifications do not tell the answers apart, the next one is that of the next question.
    let expected = [(Some(1), Some(3)), (Some(2), Some(4)), (None, Some(5))];
    assert_eq!(asked_again([1, 2, 0, 0, 0]), expected);
    assert_eq!(asked_again([1, 2, 8, 9, 9]), expected);
    // The question was captured twice, too.
    for id in [0, 1] {
        let all = [(true, id, 0), (true, id, 1), (false, 8, 2), (false, 8, 3)];
        let expected = [(Some(1), Some(3)), (Some(2), Some(4))];
        assert_eq!(rows_of(&all), expected);
    }
    // The same identification comes again later.
    let later = [
        (true, 1, 0),
        (false, 8, 1),
        (true, 2, 1_001),
        (false, 8, 1_002),
    ];
    assert_eq!(rows_of(&later), [(Some(1), Some(2)), (Some(3), Some(4))]);
}

/// A clock that is set back, or the clocks of two hosts, end no wait: deadlines go by the time that has passed.
#[test]
fn deadlines_go_by_the_time_that_has_passed() {
    const SECOND: i64 = 1_000_000_000;
    let question = asking(b"\x03www\x04weir\x04test\0");
    let mut response = RESPONSE.to_vec();
    response[..2].copy_from_slice(&[0, 1]);
    let way = |time_s: i64, passed_s: i64, frame| Way {
        flow: 7,
        time_ns: Some(time_s * SECOND),
        passed_ns: passed_s * SECOND,
        frame,
        identification: None,
    };
    // A minute and a second later by the clock that stamped the answer, and a second before.
    for answered_s in [1_061, 1_002, 10] {
        let mut rows = Vec::new();
        let mut lookups = Lookups::default();
        let mut each = |row: Lookup<&str>| rows.push((row.question_frame, row.answer_frame));
        lookups.take(&message(&question), way(1_000, 1_000, 1), &"a", &mut each);
        let answered = way(answered_s, 1_001, 2);
        lookups.take(&message(&response), answered, &"b", &mut each);
        assert_eq!(rows, [(Some(1), Some(2))], "{answered_s}");
    }
    let mut rows = Vec::new();
    let mut lookups = Lookups::default();
    let mut each = |row: Lookup<&str>| rows.push((row.question_frame, row.answer_frame));
    lookups.take(&message(&question), way(1_000, 1_000, 1), &"a", &mut each);
    lookups.take(&message(&response), way(900, 1_061, 2), &"b", &mut each);
    assert_eq!(rows, [(Some(1), None), (None, Some(2))]);
    // The same question is another one after five seconds, by elapsed time.
    let mut questions = Questions::default();
    questions.take(&message(&question), way(1_000, 1_000, 1));
    assert!(
        questions
            .take(&message(&question), way(10, 1_004, 2))
            .is_repeat
    );
    assert!(
        !questions
            .take(&message(&question), way(1_001, 1_005, 3))
            .is_repeat
    );
}

/// The flags of one side are unknown when it was not captured, except RD, which the other side repeats (RFC 1035, 4.1.1):
/// some servers clear it, so that an answer without it says nothing of its question.
#[test]
fn what_was_not_seen_of_a_lookup_is_not_known() {
    let way = |frame| Way {
        flow: 7,
        time_ns: Some(5),
        passed_ns: 5,
        frame,
        identification: None,
    };
    // RD, and of the three bits CD; TC as well.
    let mut question = asking(b"\x03www\x04weir\x04test\0");
    (question[2], question[3]) = (0x01, 0x10);
    let mut cut = question.clone();
    cut[2] |= 0x02;
    // RD and RA, and AA.
    let mut response = RESPONSE.to_vec();
    response[..4].copy_from_slice(&[0, 1, 0x85, 0x80]);
    let flags_of = |messages: &[&[u8]], dialect| {
        let mut rows = Vec::new();
        let mut lookups = Lookups::default();
        for (bytes, frame) in messages.iter().zip(1..) {
            let message = DnsMessage::new(bytes, dialect).unwrap();
            lookups.take(&message, way(frame), &(), &mut |row| rows.push(row));
        }
        while lookups.finish(&mut |row| rows.push(row)) {}
        assert_eq!(rows.len(), 1);
        let row = rows.swap_remove(0);
        (
            [
                row.is_authoritative,
                row.recursion_available,
                row.is_rejected,
            ],
            row.is_truncated,
            row.recursion_desired,
            row.reserved,
        )
    };
    let (yes, no) = (Some(true), Some(false));
    let of_both = ([yes, yes, no], no, yes, Some(1));
    assert_eq!(flags_of(&[&question, &response], Dialect::Unicast), of_both);
    let of_question = ([None; 3], None, yes, Some(1));
    assert_eq!(flags_of(&[&question], Dialect::Unicast), of_question);
    let of_answer = ([yes, yes, no], None, yes, None);
    assert_eq!(flags_of(&[&response], Dialect::Unicast), of_answer);
    let mut cleared = response.clone();
    cleared[2] &= !0x01;
    assert_eq!(flags_of(&[&question, &cleared], Dialect::Unicast).2, yes);
    assert_eq!(flags_of(&[&cleared], Dialect::Unicast).2, None);
    // A message that was cut is marked as such.
    assert_eq!(flags_of(&[&cut], Dialect::Unicast).1, yes);
    assert_eq!(flags_of(&[&cut, &response], Dialect::Unicast).1, yes);
    // LLMNR has another bit in the place of RD (RFC 4795, 2.1.1).
    assert_eq!(flags_of(&[&response], Dialect::LinkLocal).2, None);
}

/// RFC 5936, 2.2 and RFC 1995, 4: later messages of a transfer were taken for repeated ones.
#[test]
fn a_zone_comes_in_several_responses() {
    let way = |frame| Way {
        flow: 7,
        time_ns: Some(10),
        passed_ns: 10,
        frame,
        identification: None,
    };
    for (kind, is_repeat) in [(252_u16, false), (251, false), (1, true)] {
        let mut question = asking(b"\x04zone\0");
        let at = question.len() - 4;
        question[at..at + 2].copy_from_slice(&kind.to_be_bytes());
        let mut questions = Questions::default();
        questions.take(&message(&question), way(1));
        // Later messages have no question.
        let first = [b"\0\x01\x84\0", &question[4..]].concat();
        let second = b"\0\x01\x84\0\0\0\0\0\0\0\0\0";
        assert!(!questions.take(&message(&first), way(2)).is_repeat);
        let ask = questions.take(&message(second), way(3));
        assert_eq!(
            (ask.question.unwrap().frame, ask.is_repeat),
            (1, is_repeat),
            "{kind}"
        );
    }
}

/// A response with a record of this type and these data.
fn answering(kind: u16, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\0\x01\x84\0\0\0\0\x01\0\0\0\0\x01a\0".to_vec();
    bytes.extend(kind.to_be_bytes());
    bytes.extend([0, 1, 0, 0, 0, 60]);
    bytes.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
    bytes.extend(data);
    bytes
}

/// RFC 7344, RFC 4431 and RFC 1035, 3.3.10.
#[test]
fn keys_of_children_and_of_others_are_keys() {
    for kind in [43, 59, 32_769] {
        let bytes = answering(kind, b"\0\x07\x05\x02digest");
        let data = message(&bytes).records().next().unwrap().data();
        assert!(
            matches!(
                data,
                Data::Ds {
                    key_tag: 7,
                    algorithm: 5,
                    digest_type: 2
                }
            ),
            "{kind}: {data:?}"
        );
    }
    for kind in [48, 60] {
        let bytes = answering(kind, b"\x01\x01\x03\x05key");
        let data = message(&bytes).records().next().unwrap().data();
        assert!(
            matches!(
                data,
                Data::Dnskey {
                    flags: 257,
                    algorithm: 5
                }
            ),
            "{kind}: {data:?}"
        );
    }
    let bytes = answering(10, b"any\0octets");
    let data = message(&bytes).records().next().unwrap().data();
    assert!(matches!(data, Data::Null(b"any\0octets")), "{data:?}");
}

#[test]
fn a_name_has_as_many_octets_as_its_labels_and_dots() {
    for (name, octets, labels) in [
        (&b"\x03www\x04weir\0"[..], 8, 2),
        (b"\x03a\0b\0", 3, 1),
        (b"\x01\xff\x01b\0", 3, 2),
        (b"\0", 0, 0),
    ] {
        let bytes = asking(name);
        let name = message(&bytes).questions().next().unwrap().name;
        assert_eq!(
            (name.text_octets(), name.label_count()),
            (octets, labels),
            "{name}"
        );
    }
}

#[test]
fn questions_without_answers_wait_within_limits() {
    let mut lookups = Lookups::default();
    let mut questions = Questions::default();
    let mut given = 0_u64;
    let bytes = asking(b"\x03www\0");
    for flow in 0..70_000 {
        let way = Way {
            flow,
            time_ns: Some(5),
            passed_ns: 5,
            frame: 1,
            identification: None,
        };
        questions.take(&message(&bytes), way);
        lookups.take(&message(&bytes), way, &(), &mut |_| given += 1);
    }
    assert_eq!(given, 70_000 - 65_536);
    assert_eq!(lookups.given_up(), given);
    assert_eq!(questions.forgotten(), given);
    while lookups.finish(&mut |_| given += 1) {}
    assert_eq!(given, 70_000);
}

proptest! {
    #[test]
    fn any_bytes_are_read_to_an_end(bytes in proptest::collection::vec(any::<u8>(), 0..300), counts in 0_u8..4) {
        let mut bytes = bytes;
        if bytes.len() > 12 {
            bytes[4..12].copy_from_slice(&[0, counts, 0, counts, 0, counts, 0, counts]);
        }
        let _ = looks_like_dns(&bytes);
        if let Some(message) = DnsMessage::new(&bytes, Dialect::Multicast) {
            let entries = message.questions().count() + message.records().count();
            prop_assert!(entries <= 4 * usize::from(counts).max(65_536));
            let _ = message.fault();
            for record in message.records() {
                prop_assert!(record.name.to_string().len() <= 4 * NAME_OCTETS_MAX);
            }
        }
    }
}
