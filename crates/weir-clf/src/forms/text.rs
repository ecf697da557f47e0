//! The ASCII draft, draft-gurbani-sipping-clf-01: a line of words for each message.
//!
//! ```text
//! time host user method request-uri from to call-id "contact" server-txn client-txn
//! time server-txn client-txn status method to "contact"
//! ```
//!
//! `-` is absent, `+` the same as in an earlier line of the same server transaction. The draft's examples leave out the
//! quotes around `-` and end lines with LF or CR LF: both are read.

use std::borrow::Cow;

use crate::decimal::{decimal, push_decimal};
use crate::fault::{Fault, FaultKind};
use crate::forms::escape::{is_word, push_percent};
use crate::forms::line::Line;
use crate::forms::scratch::Scratch;
use crate::forms::words::{
    EXTENSION, REQUEST_TXN, REQUEST_WORDS, RESPONSE_TXN, RESPONSE_WORDS, words,
};
use crate::index::mark::Mark;
use crate::losses::{Loss, Losses};
use crate::optional::{HEADER, Optionals, push_optional};
use crate::record::{ABSENT, Field, Flags, Record, Time, literal, present};

/// Returns whether a line has the number of words of a message, and a time as the first one.
pub(crate) fn is_line(bytes: &[u8]) -> bool {
    let line = bytes
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    words(line).is_ok_and(|(words, count)| {
        (count == REQUEST_WORDS || count == RESPONSE_WORDS) && time_of(words[0]).is_some()
    })
}

/// The number of bytes that [`may_refer`] needs to recognise a reference.
pub(crate) const REFERENCE_BYTES: u64 = 4;

/// Returns whether a word of the lines may be a `+`.
pub(crate) fn may_refer(lines: &[u8]) -> bool {
    let bare = memchr::memmem::find_iter(lines, b" +").any(|at| {
        let next = lines.get(at.saturating_add(2));
        next.is_none_or(u8::is_ascii_whitespace)
    });
    bare || memchr::memmem::find(lines, b" \"+\"").is_some()
}

/// Reads a line without its line feed.
pub(crate) fn decode<'a>(line: &'a [u8], scratch: &'a mut Scratch) -> Result<Record<'a>, Fault> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let (found, count) = words(line)?;
    let response = match count {
        RESPONSE_WORDS => true,
        REQUEST_WORDS => false,
        _ => return Err(Fault::at(line.len(), FaultKind::Field)),
    };
    let Scratch {
        line: resolved,
        built,
        earlier,
        losses,
    } = scratch;
    resolved.clear();
    built.clear();
    let transaction = found[if response { RESPONSE_TXN } else { REQUEST_TXN }];
    let refers = found.iter().take(count).any(|word| *word == b"+");
    if refers {
        let Some(earlier) = earlier else {
            return Err(Fault::at(0, FaultKind::Reference));
        };
        resolve(
            &found,
            response,
            earlier.find(transaction),
            resolved,
            losses,
        );
    }
    let resolved = if refers { resolved } else { line };
    if let (false, Some(_), Some(earlier)) = (response, present(transaction), earlier) {
        earlier.remember(resolved, transaction);
    }
    let found = if refers { words(resolved)?.0 } else { found };
    let time = time_of(found[0]).ok_or(Fault::at(0, FaultKind::Time))?;
    if response {
        Ok(response_of(time, &found, built))
    } else {
        Ok(request_of(time, &found, built))
    }
}

/// Writes the line again, with the words of an earlier one for each `+`; `-` when there is none.
fn resolve(
    found: &[&[u8]; REQUEST_WORDS],
    response: bool,
    earlier: Option<&[u8]>,
    out: &mut Vec<u8>,
    losses: &mut Losses,
) {
    let earlier = earlier
        .and_then(|line| words(line).ok())
        .map(|(words, _)| words);
    // These are the indices in a request of the words of a response.
    const AS_REQUEST: [usize; RESPONSE_WORDS] = [0, 9, 10, REQUEST_WORDS, 3, 6, 8];
    let count = if response {
        RESPONSE_WORDS
    } else {
        REQUEST_WORDS
    };
    for (place, word) in found.iter().take(count).enumerate() {
        if place > 0 {
            out.push(b' ');
        }
        let same = if response { AS_REQUEST[place] } else { place };
        let word = if *word != b"+" {
            word
        } else if let Some(word) = earlier.as_ref().and_then(|words| words.get(same)) {
            word
        } else {
            losses.note(Loss::Unresolved);
            ABSENT
        };
        // Unquoted, this word would be read as several words or as the end of the line.
        if word == EXTENSION || word.iter().any(u8::is_ascii_whitespace) {
            out.push(b'"');
            out.extend_from_slice(word);
            out.push(b'"');
        } else {
            out.extend_from_slice(word);
        }
    }
}

fn request_of<'a>(
    time: Time,
    words: &[&'a [u8]; REQUEST_WORDS],
    built: &'a mut Vec<u8>,
) -> Record<'a> {
    let [
        _,
        host,
        user,
        method,
        uri,
        from,
        to,
        call_id,
        contact,
        server,
        client,
    ] = *words;
    let (from_uri, from_tag) = split_tag(from);
    let (to_uri, to_tag) = split_tag(to);
    let (cseq, optional) = build(method, contact, built);
    Record {
        time,
        flags: Flags::default(),
        fields: [
            cseq, ABSENT, uri, ABSENT, host, to_uri, to_tag, from_uri, from_tag, call_id, server,
            client,
        ],
        user,
        optional,
    }
}

fn response_of<'a>(
    time: Time,
    words: &[&'a [u8]; REQUEST_WORDS],
    built: &'a mut Vec<u8>,
) -> Record<'a> {
    let [_, server, client, status, method, to, contact, ..] = *words;
    let (to_uri, to_tag) = split_tag(to);
    let (cseq, optional) = build(method, contact, built);
    let mut record = Record {
        time,
        flags: Flags {
            response: true,
            ..Flags::default()
        },
        optional,
        ..Record::default()
    };
    for (field, value) in [
        (Field::CSeq, cseq),
        (Field::Status, status),
        (Field::ToUri, to_uri),
        (Field::ToTag, to_tag),
        (Field::ServerTxn, server),
        (Field::ClientTxn, client),
    ] {
        record.set(field, value);
    }
    record
}

/// Builds the CSeq, whose number the draft does not have, and the Contact as an optional field.
fn build<'a>(method: &[u8], contact: &[u8], out: &'a mut Vec<u8>) -> (&'a [u8], Optionals<'a>) {
    if let Some(method) = present(method) {
        out.extend_from_slice(b"- ");
        out.extend_from_slice(method);
    } else {
        out.extend_from_slice(ABSENT);
    }
    let end = out.len();
    if present(contact).is_some() {
        push_optional(HEADER, 0, b"Contact: ", &unquoted(contact), out);
    }
    let (cseq, optional) = out.split_at(end);
    (cseq, Optionals::new(optional))
}

/// Undoes the backslashes of a quoted word.
fn unquoted(word: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', word).is_none() {
        return Cow::Borrowed(word);
    }
    let mut out = Vec::with_capacity(word.len());
    let mut escaped = false;
    for &byte in word {
        if byte == b'\\' && !escaped {
            escaped = true;
        } else {
            out.push(byte);
            escaped = false;
        }
    }
    Cow::Owned(out)
}

/// Splits a URI from its tag.
fn split_tag(word: &[u8]) -> (&[u8], &[u8]) {
    let mut end = word.len();
    // The tag is nearly always the last parameter.
    while let Some(at) = memchr::memrchr(b';', word.get(..end).unwrap_or_default()) {
        let (uri, parameter) = word.split_at(at);
        if let Some(tag) = parameter.strip_prefix(b";tag=") {
            return (uri, literal(tag));
        }
        end = at;
    }
    (word, ABSENT)
}

/// Parses seconds, with a fraction of up to nine digits that the draft allows.
fn time_of(word: &[u8]) -> Option<Time> {
    if let Some(seconds) = decimal(word) {
        return Some(Time {
            seconds,
            nanoseconds: 0,
        });
    }
    let mut parts = word.splitn(2, |&byte| byte == b'.');
    let seconds = decimal(parts.next()?)?;
    let nanoseconds = match parts.next() {
        None => 0,
        Some(digits) if digits.len() <= 9 => {
            let scale = 10_u64.checked_pow(9_u32.checked_sub(digits.len() as u32)?)?;
            decimal(digits)?.checked_mul(scale)?
        }
        Some(_) => return None,
    };
    Some(Time {
        seconds,
        nanoseconds: u32::try_from(nanoseconds).ok()?,
    })
}

/// Appends a record as a line that ends with CR LF.
pub(crate) fn push(record: &Record<'_>, line: &mut Line, out: &mut Vec<u8>, losses: &mut Losses) {
    let (number, method) = record.cseq();
    losses.note_if(record.time.nanoseconds != 0, Loss::Time);
    losses.note_if(number.is_some(), Loss::CSeqNumber);
    let flags = record.flags;
    losses.note_if(
        flags.transport.is_some() || flags.encrypted.is_some(),
        Loss::Transport,
    );
    losses.note_if(flags.sent.is_some(), Loss::Direction);
    losses.note_if(flags.retransmission.is_some(), Loss::Retransmission);
    let method = method.unwrap_or(ABSENT);
    let host = without_port(record.field(Field::Source));
    let plain = if flags.response {
        note_response(record, losses);
        line.response(record, method)
    } else {
        note_request(record, host, losses);
        line.request(record, host, method)
    };
    match plain {
        Some(line) => out.extend_from_slice(line),
        None => push_words(record, host, method, out, losses),
    }
}

/// Writes the line of a record word by word, each escaped where it has to be.
fn push_words(
    record: &Record<'_>,
    host: &[u8],
    method: &[u8],
    out: &mut Vec<u8>,
    losses: &mut Losses,
) {
    push_decimal(record.time.seconds, 1, out);
    if record.flags.response {
        response(record, method, out, losses);
    } else {
        request(record, host, method, out, losses);
    }
    out.extend_from_slice(b"\r\n");
}

/// The mark of a record when its line is read back unchanged; `None` when only reading the line can show that.
pub(crate) fn mark(record: &Record<'_>, len: usize) -> Option<Mark> {
    let response = record.flags.response;
    let to = record.field(Field::ToUri);
    let (call_id, from, status) = match response {
        true => (ABSENT, ABSENT, record.status()),
        false => (
            record.field(Field::CallId),
            record.field(Field::FromUri),
            None,
        ),
    };
    // A text that looks like a tag is read as one.
    let plain = [from, to].into_iter().all(|uri| {
        memchr::memchr(b';', uri).is_none() || memchr::memmem::find(uri, b";tag=").is_none()
    });
    let time = Time {
        nanoseconds: 0,
        ..record.time
    };
    plain.then(|| Mark::with([call_id, from, to], time, record.method(), status, len))
}

/// Counts the values for which the line of a request has no place.
fn note_request(record: &Record<'_>, host: &[u8], losses: &mut Losses) {
    let source = record.field(Field::Source);
    losses.note_if(
        host.len() != source.len() || record.value(Field::Destination).is_some(),
        Loss::Address,
    );
    losses.note_if(record.value(Field::Status).is_some(), Loss::Field);
}

/// Counts the values for which the line of a response has no place.
fn note_response(record: &Record<'_>, losses: &mut Losses) {
    for field in [
        Field::RequestUri,
        Field::FromUri,
        Field::FromTag,
        Field::CallId,
    ] {
        losses.note_if(record.value(field).is_some(), Loss::Field);
    }
    let addresses = [Field::Source, Field::Destination];
    losses.note_if(
        addresses.iter().any(|&field| record.value(field).is_some()),
        Loss::Address,
    );
    losses.note_if(present(record.user).is_some(), Loss::User);
}

fn request(
    record: &Record<'_>,
    host: &[u8],
    method: &[u8],
    out: &mut Vec<u8>,
    losses: &mut Losses,
) {
    word(host, out, losses);
    word(record.user, out, losses);
    word(method, out, losses);
    word(record.field(Field::RequestUri), out, losses);
    tagged(record, Field::FromUri, Field::FromTag, out, losses);
    tagged(record, Field::ToUri, Field::ToTag, out, losses);
    word(record.field(Field::CallId), out, losses);
    contact(record, out, losses);
    word(record.field(Field::ServerTxn), out, losses);
    word(record.field(Field::ClientTxn), out, losses);
}

fn response(record: &Record<'_>, method: &[u8], out: &mut Vec<u8>, losses: &mut Losses) {
    word(record.field(Field::ServerTxn), out, losses);
    word(record.field(Field::ClientTxn), out, losses);
    word(record.field(Field::Status), out, losses);
    word(method, out, losses);
    tagged(record, Field::ToUri, Field::ToTag, out, losses);
    contact(record, out, losses);
}

/// Returns the address without the port, which the drafts do not have. Another text stays as it is.
pub(crate) fn without_port(address: &[u8]) -> &[u8] {
    let Some(colon) = address.iter().rposition(|byte| !byte.is_ascii_digit()) else {
        return address;
    };
    let (host, port) = address.split_at(colon);
    if port.first() != Some(&b':') || port.len() < 2 {
        return address;
    }
    let bracketed = host.first() == Some(&b'[') && host.last() == Some(&b']');
    let plain = !host.is_empty() && !host.contains(&b':');
    if bracketed || plain { host } else { address }
}

/// Writes a space and a word; bytes that would end it, or give it another meaning, as `%` and two digits.
fn word(value: &[u8], out: &mut Vec<u8>, losses: &mut Losses) {
    out.push(b' ');
    escaped(value, out, losses);
}

fn escaped(value: &[u8], out: &mut Vec<u8>, losses: &mut Losses) {
    match value {
        b"" => return out.extend_from_slice(ABSENT),
        b"?" => {
            losses.note(Loss::Unparsable);
            return out.extend_from_slice(ABSENT);
        }
        b"+" | b"--" => {
            losses.note(Loss::Escaped);
            for &byte in value {
                push_percent(byte, out);
            }
            return;
        }
        _ => {}
    }
    if is_word(value) && value.first() != Some(&b'"') {
        return out.extend_from_slice(value);
    }
    losses.note(Loss::Escaped);
    for (place, byte) in value.iter().enumerate() {
        if is_word(std::slice::from_ref(byte)) && !(place == 0 && *byte == b'"') {
            out.push(*byte);
        } else {
            push_percent(*byte, out);
        }
    }
}

fn tagged(record: &Record<'_>, uri: Field, tag: Field, out: &mut Vec<u8>, losses: &mut Losses) {
    word(record.field(uri), out, losses);
    if let Some(tag) = record.value(tag) {
        out.extend_from_slice(b";tag=");
        escaped(tag, out, losses);
    }
}

/// Writes the first Contact, in quotes; every other optional field is lost.
fn contact(record: &Record<'_>, out: &mut Vec<u8>, losses: &mut Losses) {
    if record.optional.is_empty() {
        return out.extend_from_slice(b" \"-\"");
    }
    let found = record
        .optional
        .iter()
        .find_map(|field| Some((field, field.contact()?)));
    let lost = record.optional.iter().count() > usize::from(found.is_some());
    losses.note_if(lost, Loss::Optional);
    let mut value = Vec::new();
    if let Some((field, encoded)) = found
        && field.decode(encoded, &mut value).is_err()
    {
        value.clear();
    }
    out.extend_from_slice(b" \"");
    match value.as_slice() {
        // The draft has no empty Contact.
        b"" => {
            losses.note_if(found.is_some(), Loss::Optional);
            out.extend_from_slice(ABSENT);
        }
        // A reader would read each of these as an absent Contact, or an earlier one.
        &[byte @ (b'-' | b'?' | b'+')] => {
            losses.note(Loss::Escaped);
            push_percent(byte, out);
        }
        value => {
            losses.note_if(value.iter().any(u8::is_ascii_control), Loss::Escaped);
            for &byte in value {
                match byte {
                    b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
                    0..b' ' | 0x7f => push_percent(byte, out),
                    byte => out.push(byte),
                }
            }
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the part of a record that is read back unchanged.
    fn carried<'a>(record: &Record<'a>) -> Option<Record<'a>> {
        let mut carried = *record;
        carried.time.nanoseconds = 0;
        carried.flags = Flags {
            response: record.flags.response,
            ..Flags::default()
        };
        if record.flags.response {
            carried.set(Field::FromUri, ABSENT);
            carried.set(Field::CallId, ABSENT);
        } else {
            carried.set(Field::Status, ABSENT);
        }
        // A text that looks like a tag is read as one.
        let plain = [Field::FromUri, Field::ToUri].into_iter().all(|field| {
            let uri = carried.field(field);
            memchr::memchr(b';', uri).is_none() || memchr::memmem::find(uri, b";tag=").is_none()
        });
        plain.then_some(carried)
    }

    fn read(lines: &[&str]) -> (Vec<String>, Losses) {
        let mut scratch = Scratch::in_order();
        let mut out = Vec::new();
        for line in lines {
            let record = decode(line.as_bytes(), &mut scratch).unwrap();
            let mut again = Vec::new();
            push(
                &record,
                &mut Line::default(),
                &mut again,
                &mut Losses::default(),
            );
            out.push(String::from_utf8(again).unwrap());
        }
        (out, scratch.losses)
    }

    const REQUEST: &str = "1230756550 192.168.1.2 - REGISTER sip:example.com \
        sip:alice@example.com;tag=iu8u76 sip:alice@example.com 8719u@example.com - hgt678h -";

    #[test]
    fn the_drafts_examples_are_read() {
        let mut scratch = Scratch::in_order();
        let record = decode(REQUEST.as_bytes(), &mut scratch).unwrap();
        assert_eq!(record.method(), Some(&b"REGISTER"[..]));
        assert_eq!(record.field(Field::FromTag), b"iu8u76");
        assert_eq!(record.field(Field::ToTag), b"-");
        assert_eq!(record.field(Field::CallId), b"8719u@example.com");
        assert_eq!(record.field(Field::ServerTxn), b"hgt678h");
        let line = "1230756550 hgt678h - 401 REGISTER sip:alice@example.com;tag=8hy -\r";
        let record = decode(line.as_bytes(), &mut scratch).unwrap();
        assert_eq!(record.status(), Some(401));
        assert!(record.flags.response);
        assert_eq!(record.field(Field::ToTag), b"8hy");
    }

    #[test]
    fn a_plus_is_what_stood_there_before() {
        let again = "1230756551 + + ACK + + + + \"+\" hgt678h +";
        let (lines, losses) = read(&[REQUEST, again, "1230756552 hgt678h + 200 + + -"]);
        assert!(losses.is_empty());
        assert_eq!(
            lines[1],
            lines[0].replace("REGISTER", "ACK").replace("550", "551")
        );
        assert_eq!(
            lines[2],
            "1230756552 hgt678h - 200 ACK sip:alice@example.com \"-\"\r\n"
        );
        let (lines, losses) = read(&["1 h u ACK + + + + + other -"]);
        assert_eq!(lines[0], "1 h u ACK - - - - \"-\" other -\r\n");
        assert_eq!(losses.count(Loss::Unresolved), 5);
    }

    /// The lines before the first `+` fill three generations, and others follow it.
    #[test]
    fn a_plus_is_found_however_late_the_first_one_stands() {
        let mut scratch = Scratch::in_order();
        let long = "x".repeat(1_000);
        let line = |n: u32| format!("1 h{n} u INVITE sip:b f t i{n} \"{long}\" txn{n} c");
        let again = |n: u32| format!("2 + + ACK + + + + \"+\" txn{n} +");
        for n in 0..9_000 {
            decode(line(n).as_bytes(), &mut scratch).unwrap();
        }
        for (n, host) in [(5_000, "h5000"), (8_999, "h8999"), (0, "-"), (9_000, "-")] {
            let line = again(n);
            let record = decode(line.as_bytes(), &mut scratch).unwrap();
            assert_eq!(record.field(Field::Source), host.as_bytes());
        }
        decode(line(9_001).as_bytes(), &mut scratch).unwrap();
        let line = again(9_001);
        let record = decode(line.as_bytes(), &mut scratch).unwrap();
        assert_eq!(record.field(Field::CallId), b"i9001");
        // Two lines have no earlier one for eight words.
        assert_eq!(scratch.losses.count(Loss::Unresolved), 16);
    }

    #[test]
    fn contacts_with_quotes_survive() {
        let contact = r#"1 h - INVITE sip:b f t i "\"Bob \\\" Hill\" <sip:bob@h>, <sip:c@h>" s c"#;
        let (lines, _) = read(&[contact]);
        assert_eq!(lines[0].trim_end(), contact);
    }

    #[test]
    fn words_that_would_forge_are_escaped() {
        let mut record = Record::default();
        record.set(Field::CallId, b"a b\r\n1 2");
        record.set(Field::ServerTxn, b"+");
        let (mut out, mut losses) = (Vec::new(), Losses::default());
        push(&record, &mut Line::default(), &mut out, &mut losses);
        assert_eq!(out, b"0 - - - - - - a%20b%0D%0A1%202 \"-\" %2B -\r\n");
        assert_eq!(losses.count(Loss::Escaped), 2);
    }

    /// The records are random ones of words that are plain, to be escaped, or of another meaning.
    #[test]
    fn plain_lines_are_as_those_written_word_by_word() {
        let mut rng = weir_testkit::Rng::new(9);
        let long = "x".repeat(900);
        let odd = [
            "", "-", "?", "+", "--", "\"", "\"a", "a b", "a\tb", "\u{7f}", "é", "\r\n", &long,
        ];
        let plain = [
            "sip:alice@example.com",
            "z9hG4bK776asdhds",
            "192.0.2.1:5060",
            "7",
        ];
        let cseqs = ["1 INVITE", "- BYE", "7 ", "7", "x y z"];
        let contacts = [
            "<sip:a@h>",
            "",
            "-",
            "+",
            "?",
            "a b",
            "\"B\" <sip:b@h>",
            "100%25",
            "%0D%0A",
            "\0",
            "é",
        ];
        let (mut line, mut fast, mut count) = (Line::default(), 0, 0);
        while count < 20_000 {
            count += 1;
            let odds = rng.below(8);
            let mut some = || match rng.below(10) < odds {
                true => odd[rng.below(odd.len() as u64) as usize].as_bytes(),
                false => plain[rng.below(plain.len() as u64) as usize].as_bytes(),
            };
            let mut record = Record {
                user: some(),
                ..Record::default()
            };
            record.fields = std::array::from_fn(|_| some());
            record.set(Field::CSeq, cseqs[rng.below(5) as usize].as_bytes());
            record.time.seconds = 10_u64.pow(rng.below(20) as u32);
            record.flags.response = rng.below(2) == 0;
            let mut optional = Vec::new();
            for _ in 0..rng.below(3) {
                let name: &[u8] =
                    [&b"Contact: "[..], b"contact:  ", b"Subject: "][rng.below(3) as usize];
                let value = contacts[rng.below(contacts.len() as u64) as usize];
                push_optional(HEADER, 0, name, value.as_bytes(), &mut optional);
            }
            record.optional = Optionals::new(&optional);
            let method = record.method().unwrap_or(ABSENT);
            let host = without_port(record.field(Field::Source));
            let (mut written, mut losses) = (Vec::new(), Losses::default());
            push(&record, &mut line, &mut written, &mut losses);
            let (mut expected, mut lost) = (Vec::new(), Losses::default());
            push_words(&record, host, method, &mut expected, &mut lost);
            let found = if record.flags.response {
                line.response(&record, method)
            } else {
                line.request(&record, host, method)
            };
            fast += usize::from(found.is_some());
            assert!(found.is_none_or(|found| found == expected), "{record:?}");
            assert_eq!(written, expected, "{record:?}");
            let carried = carried(&record).map(|record| Mark::of(&record, 7));
            assert_eq!(mark(&record, 7), carried, "{record:?}");
            for loss in [
                Loss::Escaped,
                Loss::Unparsable,
                Loss::Optional,
                Loss::Unresolved,
            ] {
                assert_eq!(losses.count(loss), lost.count(loss), "{record:?}");
            }
        }
        assert!(fast > count / 20 && fast < count / 2, "{fast} of {count}");
    }

    #[test]
    fn a_port_is_digits_behind_a_host() {
        for (address, host) in [
            ("192.0.2.1:5060", "192.0.2.1"),
            ("[2001:db8::1]:5060", "[2001:db8::1]"),
            ("2001:db8::1", "2001:db8::1"),
            ("[2001:db8::1]", "[2001:db8::1]"),
            ("host:", "host:"),
            (":5060", ":5060"),
            ("5060", "5060"),
            ("host:50x", "host:50x"),
            ("host", "host"),
            ("", ""),
        ] {
            assert_eq!(
                without_port(address.as_bytes()),
                host.as_bytes(),
                "{address}"
            );
        }
    }
}
