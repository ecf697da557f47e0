//! The head of a message whose rest may be broken, in any encoding.

use crate::{
    Arena, BinaryOptions, Encoding, Error, ErrorKind, detect,
    error::{Failure, Stop},
    message::{AuthenticationHeader, MId, TransactionAck},
    text,
    wire::{
        Wire,
        ber::BerReader,
        erl::{ErlReader, ListStart, NO_VALUE},
        leaf::{Uint32, Version},
        per::PerReader,
    },
};

/// The head of a message, which is read without its body: enough to answer it with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mini<'a> {
    /// Version of the protocol.
    pub version: u8,
    /// The message identifier: the name or address of the sender.
    pub mid: MId<'a>,
    /// Number of its first transaction, if that can be read.
    pub transaction_id: Option<u32>,
}

impl<'a> Mini<'a> {
    pub(crate) fn new(version: u8, mid: MId<'a>, transaction_id: Option<u32>) -> Self {
        Self {
            version,
            mid,
            transaction_id,
        }
    }
}

/// Reads version, sender and first transaction of a message whose encoding is found by content.
/// Compressed Erlang terms have no head that could be read without the rest.
///
/// # Errors
/// [`ErrorKind::UnknownEncoding`] when it begins like no encoding; else the fault and its place, when version or sender
/// cannot be read.
pub fn decode_mini<'a>(input: &'a [u8], arena: &'a Arena) -> Result<Mini<'a>, Error> {
    let fail = |kind, expected| {
        let failure = Failure::new(kind, 0, expected);
        Err(Error::from_failure(failure, input, false))
    };
    let found = match detect(input) {
        None => return fail(ErrorKind::UnknownEncoding, "a Megaco message"),
        Some(Encoding::Pretty | Encoding::Compact) => return text::decode_mini(input, arena),
        Some(Encoding::Ber) => ber(input, arena),
        Some(Encoding::Per) => {
            per(&mut PerReader::new(input, arena, BinaryOptions::default())).ok()
        }
        Some(Encoding::Erl) => input
            .get(1..)
            .and_then(|term| erl(&mut ErlReader::new(term, arena, BinaryOptions::default())).ok()),
    };
    match found {
        Some(mini) => Ok(mini),
        None => fail(ErrorKind::Syntax, "the version and the sender of a message"),
    }
}

/// An element whose contents may be cut off: tag, contents, what is behind.
fn element(input: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = input.split_first()?;
    let (&len, rest) = rest.split_first()?;
    let (len, rest) = match len {
        0..=0x7f => (usize::from(len), rest),
        // Indefinite: to the end, as far as the head is concerned.
        0x80 => (rest.len(), rest),
        _ => {
            let (len, rest) = rest.split_at_checked(usize::from(len & 0x7f))?;
            let len = len
                .iter()
                .fold(0_usize, |sum, octet| sum << 8 | usize::from(*octet));
            (len, rest)
        }
    };
    let (contents, behind) = rest.split_at(len.min(rest.len()));
    Some((tag, contents, behind))
}

/// The contents of an element with this tag.
fn inside(input: &[u8], wanted: u8) -> Option<&[u8]> {
    element(input)
        .filter(|(tag, ..)| *tag == wanted)
        .map(|(_, contents, _)| contents)
}

fn ber<'a>(input: &'a [u8], arena: &'a Arena) -> Option<Mini<'a>> {
    let mut message = inside(input, 0x30)?;
    if let Some((0xa0, _, behind)) = element(message) {
        message = behind;
    }
    let mut message = inside(message, 0xa1)?;
    let mut r = BerReader::new(input, arena, BinaryOptions::default());
    let (0x80, version) = r.element(&mut message).ok()? else {
        return None;
    };
    let (0xa1, mid) = r.element(&mut message).ok()? else {
        return None;
    };
    let version = Version::ber_read(version, &mut r).ok()?;
    let mid = MId::ber_read(mid, &mut r).ok()?;
    let transaction_id = inside(message, 0xa2)
        .and_then(|body| inside(body, 0xa1))
        .and_then(element)
        .and_then(|(tag, mut first, _)| {
            if tag == 0xa3 {
                first = inside(first, 0x30)?;
            }
            match r.element(&mut first).ok()? {
                (0x80, id) => Uint32::ber_read(id, &mut r).ok(),
                _ => None,
            }
        });
    Some(Mini::new(version, mid, transaction_id))
}

fn per<'a>(r: &mut PerReader<'a>) -> Result<Mini<'a>, Stop> {
    if r.bit()? {
        AuthenticationHeader::per_read(r)?;
    }
    r.bit()?;
    let version = Version::per_read(r)?;
    let mid = MId::per_read(r)?;
    Ok(Mini::new(version, mid, per_transaction(r).ok()))
}

fn per_transaction(r: &mut PerReader<'_>) -> Result<u32, Stop> {
    let fail = |r: &mut PerReader<'_>| Err(r.fail(ErrorKind::Syntax, "a transaction"));
    if !r.bit()? || r.length()? == 0 {
        return fail(r);
    }
    if r.bit()? {
        // The one alternative of version 3, in an open type.
        r.small()?;
        return r.open(|r| {
            r.bits(2)?;
            Uint32::per_read(r)
        });
    }
    match r.bits(2)? {
        // Requests and pendings begin with their extension mark, replies have a flag behind it.
        0 | 1 => r.bits(1)?,
        2 => r.bits(2)?,
        _ => {
            return match r.length()? {
                0 => fail(r),
                _ => TransactionAck::per_read(r).map(|ack| ack.first),
            };
        }
    };
    Uint32::per_read(r)
}

fn erl<'a>(r: &mut ErlReader<'a>) -> Result<Mini<'a>, Stop> {
    r.tuple()?;
    r.atom()?;
    if !r.is_atom(NO_VALUE)? {
        AuthenticationHeader::erl_read(r)?;
    }
    r.tuple()?;
    r.atom()?;
    let version = Version::erl_read(r)?;
    let mid = MId::erl_read(r)?;
    Ok(Mini::new(version, mid, erl_transaction(r).ok()))
}

/// Through pairs and lists down to the first number of the first transaction.
fn erl_transaction(r: &mut ErlReader<'_>) -> Result<u32, Stop> {
    let choice = |r: &mut ErlReader<'_>| {
        r.tuple()?;
        r.atom().map(|_| ())
    };
    choice(r)?;
    r.list()?;
    choice(r)?;
    if r.next_tag()? == LIST {
        let ListStart::Elements(_) = r.list()? else {
            return Err(r.fail(ErrorKind::Syntax, "a transaction"));
        };
    }
    choice(r)?;
    Uint32::erl_read(r)
}

/// The tag of a list.
const LIST: u8 = 108;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EncodeOptions, TextOptions, decode_text, encode};

    #[test]
    fn the_head_of_a_message_that_is_cut() {
        let options = EncodeOptions::default();
        for (body, id) in [
            (
                "T=9{C=-{MF=11111111/00000000/00000000}}T=10{C=1{S=ROOT}}",
                9,
            ),
            ("P=77777/1{C=-{AV=ROOT}}", 77_777),
            ("P=3{IA,ER=500{}}", 3),
            ("PN=12{}", 12),
            ("K{5-9,11}", 5),
            ("SM=4000000000/2/&", 4_000_000_000),
        ] {
            let text = format!("!/3 <mgc.example>:2944\n{body}");
            let arena = Arena::new();
            let message = decode_text(text.as_bytes(), &arena, TextOptions::strict()).unwrap();
            for encoding in [
                Encoding::Compact,
                Encoding::Pretty,
                Encoding::Ber,
                Encoding::Per,
                Encoding::Erl,
            ] {
                let mut octets = Vec::new();
                encode(&message, encoding, &options, &mut octets).unwrap();
                let mini = decode_mini(&octets, &arena).unwrap();
                let expected = Mini::new(3, message.mid, Some(id));
                assert_eq!(mini, expected, "{encoding:?} {body}");
                // Every prefix gives as much as it holds, and no prefix gives another number.
                for len in 0..octets.len() {
                    let arena = Arena::new();
                    if let Ok(mini) = decode_mini(&octets[..len], &arena)
                        && !matches!(encoding, Encoding::Compact | Encoding::Pretty)
                    {
                        assert_eq!((mini.version, mini.mid), (3, message.mid));
                        assert!(
                            mini.transaction_id
                                .is_none_or(|found| found == id || len < 40)
                        );
                    }
                }
            }
        }
        let arena = Arena::new();
        for broken in [
            &b"\x30\x03\xa1\x01"[..],
            b"\x00",
            b"\x83h\x03",
            b"",
            b"\xff\xff",
        ] {
            assert!(decode_mini(broken, &arena).is_err(), "{broken:?}");
        }
    }
}
