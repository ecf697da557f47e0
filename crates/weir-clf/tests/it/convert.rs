//! Conversions from every form to every other preserve everything that both forms can carry.

use proptest::prelude::*;
use weir_clf::{
    Encoder, Field, Flags, Form, Loss, Retransmission, Time, Transport, literal, push_optional,
};

use crate::common::{Owned, read, written};

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => "[a-zA-Z0-9@:.;=<>%+*_-]{1,40}".prop_map(String::into_bytes),
        1 => Just(b"-".to_vec()),
        1 => Just(b"?".to_vec()),
        1 => Just(b"+".to_vec()),
        1 => Just(b"--".to_vec()),
        1 => Just(Vec::new()),
        1 => proptest::collection::vec(any::<u8>(), 0..20),
        1 => Just("Grüße 🎉".as_bytes().to_vec()),
    ]
}

fn record() -> impl Strategy<Value = Owned> {
    let letters =
        (0..2_usize, 0..3_usize, 0..2_usize, 0..4_usize, 0..2_usize).prop_map(|(a, b, c, d, e)| {
            Flags::from_letters([b"Rr"[a], b"ODS"[b], b"SR"[c], b"UTSW"[d], b"EU"[e]]).unwrap()
        });
    // Any of them may be unknown, and often those are for which a draft has no place.
    let unknown = prop_oneof![0..32_u8, Just(0), Just(12), Just(15)];
    let letters = (letters, unknown).prop_map(|(flags, unknown)| Flags {
        response: flags.response,
        retransmission: flags.retransmission.filter(|_| unknown & 17 != 1),
        sent: flags.sent.filter(|_| unknown & 18 != 2),
        transport: flags.transport.filter(|_| unknown & 20 != 4),
        encrypted: flags.encrypted.filter(|_| unknown & 24 != 8),
    });
    let optional = proptest::collection::vec((0..4_u8, value()), 0..3).prop_map(|fields| {
        let mut out = Vec::new();
        for (tag, value) in fields {
            let prefix: &[u8] = [&b"Contact: "[..], b"text/plain ", b"", b""][usize::from(tag)];
            push_optional(
                tag,
                if tag == 3 { 32473 } else { 0 },
                prefix,
                &value,
                &mut out,
            );
        }
        out
    });
    let fields = proptest::collection::vec(value(), Field::COUNT);
    // Some times are whole seconds or milliseconds, because hardly any other record is carried without a loss.
    let unit = prop_oneof![Just(1), Just(1_000_000), Just(1_000_000_000)];
    let nanoseconds = (0..1_000_000_000_u32, unit).prop_map(|(number, unit)| number / unit * unit);
    let time = (0..9_999_999_999_u64, nanoseconds);
    (
        time,
        letters,
        fields,
        value(),
        optional,
        0..5_u32,
        100..700_u16,
    )
        .prop_map(
            |((seconds, nanoseconds), flags, mut fields, user, optional, number, status)| {
                for field in &mut fields {
                    *field = literal(field).to_vec();
                }
                let number = match number {
                    4 => "-".to_owned(),
                    number => number.to_string(),
                };
                fields[Field::CSeq as usize] = format!("{number} INVITE").into_bytes();
                if flags.response {
                    fields[Field::Status as usize] = status.to_string().into_bytes();
                } else {
                    fields[Field::Status as usize] = b"-".to_vec();
                }
                let user = literal(&user).to_vec();
                Owned {
                    time: Time {
                        seconds,
                        nanoseconds,
                    },
                    flags,
                    fields,
                    user,
                    optional,
                }
            },
        )
}

fn through(record: &Owned, form: Form) -> (Owned, weir_clf::Losses) {
    let mut encoder = Encoder::new(form);
    encoder.push(&record.record());
    let (mut back, damage) = read(encoder.bytes());
    assert!(
        damage.is_empty(),
        "{form:?}: {damage:?} in {:?}",
        String::from_utf8_lossy(encoder.bytes())
    );
    assert_eq!(back.len(), 1, "{form:?}");
    (back.remove(0), encoder.losses())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// JSON carries everything.
    #[test]
    fn json_gives_back_what_it_got(record in record()) {
        let (back, losses) = through(&record, Form::Json);
        prop_assert!(losses.is_empty());
        prop_assert_eq!(back, record);
    }

    /// A record that is converted without a loss is read back unchanged; with losses, only the reported fields differ,
    /// and a second conversion loses nothing more.
    #[test]
    fn each_form_gives_back_what_it_has(record in record()) {
        for form in Form::ALL {
            let (back, losses) = through(&record, form);
            if losses.is_empty() {
                prop_assert_eq!(&back, &record, "{:?}", form);
            }
            // A record that went through a form once is one that the form carries.
            let (again, _) = through(&back, form);
            prop_assert_eq!(&again, &back, "{:?}", form);
        }
    }

    /// RFC 6873 loses time below a millisecond, the user's name, and bytes that break a line.
    #[test]
    fn rfc_6873_loses_what_it_counts(record in record()) {
        let (back, losses) = through(&record, Form::Rfc6873);
        prop_assert_eq!(losses.count(Loss::Time) > 0, record.time.nanoseconds % 1_000_000 != 0);
        prop_assert_eq!(losses.count(Loss::User) > 0, record.user != b"-");
        prop_assert_eq!(&back.optional, &record.optional);
        prop_assert_eq!(losses.count(Loss::Assumed) > 0, !record.flags.is_complete());
        prop_assert_eq!(back.flags.letters(), record.flags.letters());
        let changed = back.fields.iter().zip(&record.fields).filter(|(one, other)| one != other).count();
        prop_assert_eq!(changed as u64, losses.count(Loss::Escaped));
    }
}

#[test]
fn the_binary_draft_carries_what_it_has_places_for() {
    let mut optional = Vec::new();
    push_optional(0, 0, b"Contact: ", b"<sip:alice@192.0.2.1>", &mut optional);
    push_optional(0, 0, b"Contact: ", b"<sip:alice@192.0.2.2>", &mut optional);
    push_optional(2, 0, b"", b"INVITE sip:b SIP/2.0\r\n\r\n", &mut optional);
    let fields = [
        "7 INVITE",
        "-",
        "sip:bob@example.net",
        "-",
        "192.0.2.200",
        "sip:bob@example.net",
        "tag-b",
        "sip:alice@example.com",
        "tag-a",
        "call-1",
        "server",
        "client",
    ];
    let record = Owned {
        time: Time {
            seconds: 1 << 40,
            nanoseconds: 999_999_999,
        },
        flags: Flags {
            retransmission: Some(Retransmission::Duplicate),
            sent: Some(false),
            ..Flags::default()
        },
        fields: fields.map(|field| field.as_bytes().to_vec()).to_vec(),
        user: b"alice".to_vec(),
        optional,
    };
    let (back, losses) = through(&record, Form::Binary);
    assert!(losses.is_empty(), "{losses}");
    assert_eq!(back, record);
    let mut lossy = record.clone();
    lossy.flags.transport = Some(Transport::Tcp);
    lossy.flags.retransmission = Some(Retransmission::Stateless);
    lossy.fields[Field::Source as usize] = b"[2001:db8::9]:5061".to_vec();
    lossy.fields[Field::Destination as usize] = b"192.0.2.1:5060".to_vec();
    push_optional(1, 0, b"text/plain ", b"hello", &mut lossy.optional);
    let (back, losses) = through(&lossy, Form::Binary);
    for loss in [
        Loss::Transport,
        Loss::Retransmission,
        Loss::Address,
        Loss::Optional,
    ] {
        assert_eq!(losses.count(loss), 1, "{loss:?}");
    }
    assert_eq!(losses.iter().count(), 4);
    assert_eq!(back.fields[Field::Source as usize], b"[2001:db8::9]");
    assert_eq!(back.fields[Field::Destination as usize], b"-");
}

/// Returns each Contact after a conversion, in a record that loses nothing else in the form, and the losses.
fn contacts_through(form: Form, contacts: &[&str]) -> Vec<(String, weir_clf::Losses)> {
    let read = |contact: &&str| {
        let mut optional = Vec::new();
        push_optional(0, 0, b"Contact: ", contact.as_bytes(), &mut optional);
        let mut record = Owned::of(&weir_clf::Record::default());
        record.optional = optional;
        let (back, losses) = through(&record, form);
        let mut value = Vec::new();
        if let Some(field) = back.record().optional.header("Contact") {
            field.decode(field.value, &mut value).unwrap();
        }
        (String::from_utf8(value).unwrap(), losses)
    };
    contacts.iter().map(read).collect()
}

#[test]
fn a_contact_of_two_dashes_was_read_as_an_extension_of_the_line() {
    for (contact, losses) in contacts_through(Form::Text, &["--"]) {
        assert_eq!(contact, "--");
        assert!(losses.is_empty(), "{losses}");
    }
    // The line begins the log in one case, and stands behind another in the other.
    let request = "1 h u INVITE r f t i \"--\" s c\r\n";
    let response = "2 s c 200 + t \"--\" -- x=1\r\n";
    for (log, count) in [
        (request.to_owned(), 1),
        (response.to_owned(), 1),
        (format!("{request}{response}"), 2),
        (format!("{request}3 + + ACK + + + + + s +\r\n{response}"), 3),
    ] {
        let (records, damage) = read(log.as_bytes());
        assert_eq!((records.len(), damage.len()), (count, 0), "{log}");
        for record in &records {
            let contact = record.record().optional.header("Contact").unwrap();
            assert_eq!(contact.value, b"--", "{log}");
        }
    }
    // Unquoted, two dashes begin an extension.
    let (records, damage) = read(b"1 h u INVITE r f t i - s c -- x=1 y\r\n");
    assert_eq!((records.len(), damage.len()), (1, 0));
    assert!(records[0].optional.is_empty());
}

#[test]
fn words_in_quotes_fell_apart_beside_a_reference() {
    let log =
        b"1 h \"a b\" INVITE r f t i <sip:a\"b> s c\r\n2 + \"a b\" ACK + + + + + s \"--\"\r\n";
    let (records, damage) = read(log);
    assert_eq!((records.len(), damage.len()), (2, 0));
    for record in &records {
        assert_eq!(record.user, b"a b");
        let contact = record.record().optional.header("Contact").unwrap();
        assert_eq!(contact.value, b"<sip:a\"b>");
    }
    assert_eq!(records[1].fields[Field::ClientTxn as usize], b"--");
}

#[test]
fn contacts_that_the_text_draft_changed_were_no_loss() {
    let contacts = contacts_through(Form::Text, &["-", "?", "+", "a\tb\tc", ""]);
    let found: Vec<_> = contacts
        .iter()
        .map(|(contact, losses)| {
            let losses = losses.iter().map(|(loss, _, count)| (loss, count));
            (contact.as_str(), losses.collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(
        found,
        [
            ("%2D", vec![(Loss::Escaped, 1)]),
            ("%3F", vec![(Loss::Escaped, 1)]),
            ("%2B", vec![(Loss::Escaped, 1)]),
            ("a%09b%09c", vec![(Loss::Escaped, 1)]),
            ("", vec![(Loss::Optional, 1)]),
        ]
    );
}

#[test]
fn a_contact_lost_the_spaces_that_it_began_with() {
    for value in [&b" x"[..], b"  x ", b" \0"] {
        let mut record = Owned::of(&weir_clf::Record::default());
        push_optional(0, 0, b"Contact: ", value, &mut record.optional);
        for form in [Form::Text, Form::Binary] {
            let (back, losses) = through(&record, form);
            if losses.count(Loss::Escaped) == 0 {
                assert_eq!(back.optional, record.optional, "{form:?}");
            }
            assert_eq!(through(&back, form).0, back, "{form:?}");
        }
    }
}

#[test]
fn a_message_before_a_contact_came_back_behind_it() {
    let record = |fields: &[(u8, &[u8], &[u8])]| {
        let mut optional = Vec::new();
        for (tag, prefix, value) in fields {
            push_optional(*tag, 0, prefix, value, &mut optional);
        }
        Owned {
            flags: Flags {
                retransmission: Some(Retransmission::Original),
                sent: Some(true),
                ..Flags::default()
            },
            optional,
            ..Owned::of(&weir_clf::Record::default())
        }
    };
    let long = vec![b'm'; 70_000];
    for message in [&long[..], b""] {
        let written = record(&[
            (0, b"Contact: ", b"<sip:alice@192.0.2.1>"),
            (2, b"", message),
            (0, b"Contact: ", b"<sip:alice@192.0.2.2>"),
        ]);
        let (back, losses) = through(&written, Form::Binary);
        assert!(losses.is_empty(), "{losses}");
        assert_eq!(back, written);
    }
    // A second one has no place: its groups would be more of the first.
    let two = record(&[(2, b"", b"one"), (2, b"", b"two")]);
    let (back, losses) = through(&two, Form::Binary);
    assert_eq!(back, record(&[(2, b"", b"one")]));
    assert_eq!(losses.count(Loss::Optional), 1);
}

#[test]
fn the_last_second_of_the_binary_draft_is_one_of_the_text_draft() {
    let mut record = Owned::of(&weir_clf::Record::default());
    record.time.seconds = u64::MAX;
    for form in [Form::Binary, Form::Text] {
        assert_eq!(through(&record, form).0.time, record.time, "{form:?}");
    }
}

#[test]
fn the_text_draft_reports_what_it_leaves_out() {
    let records = crate::common::calls(3, 2);
    let mut encoder = Encoder::new(Form::Text);
    for record in &records {
        encoder.push(&record.record());
    }
    let losses = encoder.losses();
    assert_eq!(losses.count(Loss::CSeqNumber), 2);
    assert_eq!(losses.count(Loss::Address), 2);
    assert_eq!(losses.count(Loss::Time), 2);
    let (back, _) = read(encoder.bytes());
    assert_eq!(
        back[0].fields[Field::CallId as usize],
        records[0].fields[Field::CallId as usize]
    );
    assert_eq!(back[0].fields[Field::CSeq as usize], b"- INVITE");
}

/// A draft has no place for some flags: they are absent when it is read, and not a default.
#[test]
fn drafts_were_read_back_with_flags_and_numbers_that_they_do_not_have() {
    let text =
        b"1230756550 192.168.1.2 - REGISTER sip:example.com sip:alice@example.com;tag=iu8u76 \
        sip:alice@example.com 8719u@example.com - hgt678h -\r\n";
    let (records, _) = read(text);
    let record = records[0].record();
    assert_eq!(record.flags, Flags::default());
    assert!(record.flags.transport.is_none() && record.flags.sent.is_none());
    assert_eq!(
        (record.cseq_number(), record.method()),
        (None, Some(&b"REGISTER"[..]))
    );

    let json = |record: &Owned| {
        let mut encoder = Encoder::new(Form::Json);
        encoder.push(&record.record());
        assert!(encoder.losses().is_empty());
        String::from_utf8(encoder.bytes().to_vec()).unwrap()
    };
    assert_eq!(
        json(&records[0]),
        "{\"time\":\"2008-12-31T20:49:10Z\",\"type\":\"request\",\"method\":\"REGISTER\",\
         \"r_uri\":\"sip:example.com\",\"src\":\"192.168.1.2\",\"to_uri\":\"sip:alice@example.com\",\
         \"from_uri\":\"sip:alice@example.com\",\"from_tag\":\"iu8u76\",\"call_id\":\"8719u@example.com\",\
         \"server_txn\":\"hgt678h\"}\n"
    );
    // The binary form keeps every known value for which it has a place.
    let (binary, losses) = through(&records[0], Form::Binary);
    assert_eq!(losses.count(Loss::Assumed), 1);
    assert_eq!(
        (binary.flags.transport, binary.flags.encrypted),
        (None, None)
    );
    assert_eq!(binary.record().cseq_number(), None);
    assert!(json(&binary).contains("\"direction\":\"received\",\"method\":\"REGISTER\""));
    // RFC 6873 has letters for known flags only.
    let (letters, losses) = through(&records[0], Form::Rfc6873);
    assert_eq!(losses.count(Loss::Assumed), 1);
    assert_eq!(&letters.flags.letters(), b"RSRUU");
    // A logged number 0 is preserved by every form but the binary draft, which reports the loss.
    let mut zero = records[0].clone();
    zero.fields[Field::CSeq as usize] = b"0 REGISTER".to_vec();
    assert_eq!(through(&zero, Form::Binary).1.count(Loss::CSeqNumber), 1);
    assert_eq!(
        through(&zero, Form::Rfc6873).0.record().cseq_number(),
        Some(0)
    );
}

#[test]
fn logs_that_were_damaged_never_panic_in_any_form() {
    let records = crate::common::calls(5, 30);
    let mut rng = weir_testkit::Rng::new(11);
    for form in Form::ALL {
        let log = written(&records, form);
        for _ in 0..300 {
            let mut log = log.clone();
            for _ in 0..rng.below(4) + 1 {
                let at = rng.below(log.len() as u64) as usize;
                log[at] = rng.next_u8();
            }
            log.truncate(rng.below(log.len() as u64) as usize + 1);
            let mut reader = weir_clf::Reader::new(&log[..]);
            let mut end = 0;
            while let Ok(Some(item)) = reader.next() {
                let (offset, len) = match item {
                    weir_clf::Item::Record { offset, len, .. } => (offset, len as u64),
                    weir_clf::Item::Damage(damage) => (damage.offset, damage.len),
                };
                assert!(offset >= end && len > 0, "{form:?} {offset} {end} {len}");
                end = offset + len;
                assert!(end <= log.len() as u64);
            }
        }
    }
}
