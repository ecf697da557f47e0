//! The contents of packets: plain words, and DNS messages.

use crate::Rng;

/// `len` bytes of plain words.
pub(crate) fn text(rng: &mut Rng, len: usize) -> Vec<u8> {
    const WORDS: [&str; 16] = [
        "river ", "gate ", "stone ", "water ", "mill ", "bridge ", "reed ", "current ", "bank ",
        "fall ", "pool ", "ford ", "lock ", "sluice ", "weir ", "spring ",
    ];
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend_from_slice(rng.pick(&WORDS).as_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// A DNS question and its answer with `answers` addresses of the question's type.
pub(crate) fn dns(rng: &mut Rng, name: &str, ipv6: bool, answers: u16) -> (Vec<u8>, Vec<u8>) {
    let kind: u16 = if ipv6 { 28 } else { 1 };
    let id = rng.next_u16().to_be_bytes();
    let mut question = Vec::new();
    for label in name.split('.') {
        question.push(label.len() as u8);
        question.extend_from_slice(label.as_bytes());
    }
    question.push(0);
    question.extend_from_slice(&kind.to_be_bytes());
    question.extend_from_slice(&[0, 1]);

    let mut query = id.to_vec();
    query.extend_from_slice(&[0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0]);
    query.extend_from_slice(&question);

    let mut answer = id.to_vec();
    // A name that does not exist is answered with code 3 (NXDOMAIN).
    let flags = if answers == 0 {
        [0x81, 0x83]
    } else {
        [0x81, 0x80]
    };
    answer.extend_from_slice(&flags);
    answer.extend_from_slice(&[0, 1]);
    answer.extend_from_slice(&answers.to_be_bytes());
    answer.extend_from_slice(&[0, 0, 0, 0]);
    answer.extend_from_slice(&question);
    for _ in 0..answers {
        // The name by a pointer to the question, the type, class IN, five minutes to live.
        answer.extend_from_slice(&[0xc0, 12]);
        answer.extend_from_slice(&kind.to_be_bytes());
        answer.extend_from_slice(&[0, 1, 0, 0, 1, 44]);
        if ipv6 {
            answer.extend_from_slice(&[0, 16, 0x20, 0x01, 0x0d, 0xb8, 0, 0x99, 0, 0]);
            answer.extend_from_slice(&rng.bytes(8));
        } else {
            answer.extend_from_slice(&[0, 4, 198, 51, 100, rng.next_u8()]);
        }
    }
    (query, answer)
}
