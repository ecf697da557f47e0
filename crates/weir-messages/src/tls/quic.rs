//! The Initial packets of QUIC, whose keys are derived from what the packet has in clear (RFC 9001, 5.2; RFC 9369, 3.3).

use std::collections::BTreeMap;

use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use aes_gcm::Aes128Gcm;
use aes_gcm::aead::{Aead, Payload};
use hkdf::Hkdf;
use sha2::Sha256;
use weir_bytes::{Endian, Reader, u32_be_at};

use super::record::RecordPart;

/// The connection IDs of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuicIds {
    /// Version: the client's, as long as the server has not answered in another one (RFC 9368).
    pub version: u32,
    /// Destination of the client's first packet.
    pub destination: Vec<u8>,
    /// Source of it.
    pub source: Vec<u8>,
    /// Source of the server's first packet, once it came.
    pub server: Option<Vec<u8>>,
    /// Source of a Retry packet (RFC 9000, 17.2.5): the client calls the server so then.
    pub retry: Option<Vec<u8>>,
    /// The side of the client, 0 or 1.
    pub client_side: usize,
}

impl QuicIds {
    /// Whether a datagram of a side belongs to the connection by its connection IDs (RFC 9000, 5.2), as far as these are known. An
    /// empty connection ID leaves the ends alone to identify the connection: of those between the same ends it is one whose end
    /// chose it, but for the first packet of a client, which never calls its server so (RFC 9000, 7.2).
    #[must_use]
    pub fn are_of(&self, side: usize, datagram: &[u8]) -> bool {
        let Some(header) = LongHeader::parse(datagram) else {
            return false;
        };
        let is = |id: Option<&Vec<u8>>, octets: &[u8]| {
            id.is_some_and(|id| !id.is_empty() && id == octets)
        };
        let is_to_empty = header.destination.is_empty();
        if side == self.client_side {
            header.destination == self.destination
                || is_to_empty
                    && header.source == self.source
                    && self.server.as_ref().is_none_or(Vec::is_empty)
                || is(self.server.as_ref(), header.destination)
                || is(self.retry.as_ref(), header.destination)
                || self.server.is_none() && is(Some(&self.source), header.source)
        } else {
            is(self.server.as_ref(), header.source)
                || is_to_empty
                    && self.source.is_empty()
                    && self.server.as_deref() == Some(header.source)
                || is(self.retry.as_ref(), header.source)
                || is(Some(&self.source), header.destination)
        }
    }
}

/// Octets of an identifier, at most (RFC 9000, 17.2).
const ID_OCTETS_MAX: usize = 20;
/// Octets of the handshake in first packets that are put together, at most.
const CRYPTO_OCTETS_MAX: usize = 1 << 16;
/// Google's version T050, whose CRYPTO frames have another number.
const T050: u32 = 0x5430_3530;
/// Facebook's versions (mvfst), which have the keys of the drafts 22 and 27.
const MVFST_22: u32 = 0xface_b001;
const MVFST_27_EARLY: u32 = 0xface_b002;
const MVFST_27: u32 = 0xface_b00e;
/// Pieces of it that wait for what is before them, at most.
const PIECES_MAX: usize = 256;

/// The parameters from which a version derives its keys.
struct Version {
    salt: [u8; 20],
    key: &'static str,
    iv: &'static str,
    header: &'static str,
    /// The type of first packets.
    initial: u8,
}

fn version_of(version: u32) -> Option<Version> {
    let one = |salt| Version {
        salt,
        key: "quic key",
        iv: "quic iv",
        header: "quic hp",
        initial: 0,
    };
    Some(match version {
        1 | 0xff00_0021 | 0xff00_0022 => one([
            0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8,
            0x0c, 0xad, 0xcc, 0xbb, 0x7f, 0x0a,
        ]),
        VERSION_2 => Version {
            salt: [
                0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26,
                0x9d, 0xcb, 0xf9, 0xbd, 0x2e, 0xd9,
            ],
            key: "quicv2 key",
            iv: "quicv2 iv",
            header: "quicv2 hp",
            initial: 1,
        },
        // This is the draft's form with a salt of Google's.
        T050 => one([
            0x7f, 0xf5, 0x79, 0xe5, 0xac, 0xd0, 0x72, 0x91, 0x55, 0x80, 0x30, 0x4c, 0x43, 0xa2,
            0x36, 0x7c, 0x60, 0x48, 0x83, 0x10,
        ]),
        // Drafts.
        0xff00_001d..=0xff00_0020 => one([
            0xaf, 0xbf, 0xec, 0x28, 0x99, 0x93, 0xd2, 0x4c, 0x9e, 0x97, 0x86, 0xf1, 0x9c, 0x61,
            0x11, 0xe0, 0x43, 0x90, 0xa8, 0x99,
        ]),
        0xff00_0017..=0xff00_001c | MVFST_27 | MVFST_27_EARLY => one([
            0xc3, 0xee, 0xf7, 0x12, 0xc7, 0x2e, 0xbb, 0x5a, 0x11, 0xa7, 0xd2, 0x43, 0x2b, 0xb4,
            0x63, 0x65, 0xbe, 0xf9, 0xf5, 0x02,
        ]),
        0xff00_0015 | 0xff00_0016 | MVFST_22 => one([
            0x7f, 0xbc, 0xdb, 0x0e, 0x7c, 0x66, 0xbb, 0xe9, 0x19, 0x3a, 0x96, 0xcd, 0x21, 0x51,
            0x9e, 0xbd, 0x7a, 0x02, 0x64, 0x4a,
        ]),
        _ => return None,
    })
}

/// The fields of long headers of all versions (RFC 8999, 5.1).
struct LongHeader<'p> {
    first: u8,
    version: u32,
    destination: &'p [u8],
    source: &'p [u8],
}

impl<'p> LongHeader<'p> {
    fn parse(bytes: &'p [u8]) -> Option<Self> {
        Self::read(&mut Reader::new(bytes))
    }

    fn read(reader: &mut Reader<'p>) -> Option<Self> {
        let first = reader.u8().ok()?;
        let version = reader.u32(Endian::Big).ok()?;
        // The bit behind the first one, which is fixed elsewhere, may be anything once both ends agreed on it
        // (RFC 9287).
        if first & 0x80 == 0 {
            return None;
        }
        let mut id = || {
            let length = reader.u8().ok()?.into();
            (length <= ID_OCTETS_MAX).then_some(())?;
            reader.take(length).ok()
        };
        let (destination, source) = (id()?, id()?);
        Some(Self {
            first,
            version,
            destination,
            source,
        })
    }

    /// The type, as version 1 numbers it: 0 Initial, 3 Retry.
    fn kind(&self) -> Option<u8> {
        let keys = version_of(self.version)?;
        Some((self.first >> 4).wrapping_sub(keys.initial) & 3)
    }
}

/// The type of a Retry packet, as version 1 numbers it.
const RETRY: u8 = 3;

/// A packet with a long header and a length.
struct Long<'p> {
    version: u32,
    destination: &'p [u8],
    source: &'p [u8],
    is_initial: bool,
    /// It is one that begins a connection: the bit behind the first one is set, or it has a token, with which a client that
    /// knows its server may leave the bit out (RFC 9287, 3.1).
    may_begin: bool,
    /// All of it, and where its number lies.
    packet: &'p [u8],
    number_at: usize,
}

/// A number of QUIC (RFC 9000, 16).
fn number(reader: &mut Reader<'_>) -> Option<u64> {
    let first = reader.u8().ok()?;
    let mut value = u64::from(first & 0x3f);
    for _ in 1..1_u32 << (first >> 6) {
        value = value << 8 | u64::from(reader.u8().ok()?);
    }
    Some(value)
}

impl<'p> Long<'p> {
    /// The packet that a datagram begins with.
    fn parse(bytes: &'p [u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let header = LongHeader::read(&mut reader)?;
        let kind = header.kind()?;
        let is_initial = kind == 0;
        // A retry has no length.
        if kind == RETRY {
            return None;
        }
        let mut may_begin = header.first & 0x40 != 0;
        if is_initial {
            let token = number(&mut reader)?;
            reader.skip(usize::try_from(token).ok()?).ok()?;
            may_begin |= token > 0;
        }
        let length = usize::try_from(number(&mut reader)?).ok()?;
        let number_at = reader.offset();
        reader.skip(length).ok()?;
        Some(Self {
            version: header.version,
            destination: header.destination,
            source: header.source,
            is_initial,
            may_begin,
            packet: bytes.get(..reader.offset())?,
            number_at,
        })
    }
}

/// Whether a datagram has an Initial packet of a version with known keys, at its beginning or after other packets with long headers
/// (RFC 9000, 12.2).
#[must_use]
pub fn is_initial(bytes: &[u8]) -> bool {
    // Most datagrams of other protocols fail this test, which costs less than taking packets apart.
    let is_long = bytes.first().is_some_and(|first| first & 0x80 != 0)
        && u32_be_at(bytes, 1).is_some_and(|version| version_of(version).is_some());
    is_long && packets(bytes).any(|long| long.is_initial && long.may_begin)
}

/// Whether a datagram may have the first packet of a server that leaves out the bit behind the first one, which its client permits
/// (RFC 9287, 3). It has as many octets as that of a client.
#[must_use]
pub fn may_be_initial_of_server(bytes: &[u8]) -> bool {
    let is_long = bytes.first().is_some_and(|first| first & 0x80 != 0)
        && u32_be_at(bytes, 1).is_some_and(|version| version_of(version).is_some());
    is_long && bytes.len() >= INITIAL_OCTETS_MIN && packets(bytes).any(|long| long.is_initial)
}

/// Octets of a datagram with an Initial packet that its receiver has to acknowledge, at least (RFC 9000, 14.1).
const INITIAL_OCTETS_MIN: usize = 1_200;

/// Whether a datagram may begin with a client's Initial packet of a version whose keys are not known: a draft of version 1 or 2,
/// or one of Google's or Facebook's. Those that only make a server say which versions it knows (RFC 9000, 15) do not count.
#[must_use]
pub fn is_of_unknown_version(bytes: &[u8]) -> bool {
    let is_long = bytes.first().is_some_and(|first| first & 0xc0 == 0xc0);
    let Some(version) = u32_be_at(bytes, 1).filter(|_| is_long) else {
        return false;
    };
    let is_named = match version.to_be_bytes() {
        [0xff, 0 | 2, 0, _] | [0xfa, 0xce, 0xb0, _] | [0x70, 0x9a, 0x50, 0xc4] => true,
        [b'Q' | b'T', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    is_named && bytes.len() >= INITIAL_OCTETS_MIN && version_of(version).is_none()
}

/// Whether a datagram begins with a packet with a long header of a version that there is: one with known keys, a draft, one of
/// Google's or Facebook's in this form, or one that only makes a server say which versions it knows (RFC 9000, 15).
#[must_use]
pub fn has_long_header(bytes: &[u8]) -> bool {
    // Most datagrams of other protocols fail this test.
    let is_long = bytes.first().is_some_and(|first| first & 0x80 != 0);
    is_long
        && LongHeader::parse(bytes).is_some_and(|header| {
            let is_named = match header.version.to_be_bytes() {
                [0xff, 0, 0, draft] => draft >= 11,
                [0xfa, 0xce, 0xb0, _] | [0x70, 0x9a, 0x50, 0xc4] => true,
                [b'Q' | b'T', b'0', b'5', digit] => digit.is_ascii_digit(),
                _ => header.version & 0x0f0f_0f0f == 0x0a0a_0a0a,
            };
            is_named || version_of(header.version).is_some()
        })
}

/// Whether a datagram begins with an Initial packet of a version with known keys, as far as its first octets say: of one that was
/// captured whole [`is_initial`] is true, too.
#[must_use]
pub fn may_be_initial(bytes: &[u8]) -> bool {
    let Some((first, version)) = bytes.first().zip(u32_be_at(bytes, 1)) else {
        return false;
    };
    let header = LongHeader {
        first: *first,
        version,
        destination: &[],
        source: &[],
    };
    first & 0xc0 == 0xc0 && header.kind() == Some(0)
}

/// The packets with long headers and lengths that a datagram begins with.
fn packets(datagram: &[u8]) -> impl Iterator<Item = Long<'_>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        let long = Long::parse(rest)?;
        rest = rest.get(long.packet.len()..).unwrap_or_default();
        Some(long)
    })
}

/// The header of a packet, as far as it is in clear (RFC 8999, 5; RFC 9000, 17).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuicHeader<'p> {
    /// The first octet.
    pub first: u8,
    /// Version of a long header.
    pub version: Option<u32>,
    /// Destination of a long header; of a short one where it is that of a packet before it in the datagram.
    pub destination: Option<&'p [u8]>,
    /// Source of a long header.
    pub source: Option<&'p [u8]>,
}

/// The headers of the packets of a datagram (RFC 9000, 12.2): others than the first one have its destination. A short header
/// ends the datagram, and so does a packet whose length is not known.
pub fn headers(datagram: &[u8]) -> impl Iterator<Item = QuicHeader<'_>> {
    let mut rest = datagram;
    let mut called: Option<&[u8]> = None;
    std::iter::from_fn(move || {
        let all = std::mem::take(&mut rest);
        let (first, behind) = all.split_first()?;
        if first & 0x80 == 0 {
            let is_its = match called {
                Some(called) => behind.starts_with(called),
                None => behind.len() >= ID_OCTETS_MAX,
            };
            return is_its.then_some(QuicHeader {
                first: *first,
                version: None,
                destination: called,
                source: None,
            });
        }
        let header = LongHeader::parse(all)?;
        if called.is_some_and(|called| called != header.destination) {
            return None;
        }
        called = Some(header.destination);
        rest = Long::parse(all)
            .and_then(|long| all.get(long.packet.len()..))
            .unwrap_or_default();
        Some(QuicHeader {
            first: *first,
            version: Some(header.version),
            destination: called,
            source: Some(header.source),
        })
    })
}

/// The version 2 of QUIC (RFC 9369), in which packets have other types.
const VERSION_2: u32 = 0x6b33_43cf;

impl QuicHeader<'_> {
    /// The type of a long header, as its version numbers it. A packet of version 0, which says what versions a server knows, has none.
    #[must_use]
    pub fn kind(&self) -> Option<u8> {
        self.version.filter(|version| *version != 0)?;
        Some(self.first >> 4 & 3)
    }

    /// Whether it is one of version 2.
    #[must_use]
    pub fn is_of_version_2(&self) -> bool {
        self.version == Some(VERSION_2)
    }

    /// The bit behind the first one, where the packet has it: not in one that says versions, nor in a Retry.
    #[must_use]
    pub fn fixed_bit(&self) -> Option<bool> {
        let is_long = self.version.is_some();
        let retry = if self.is_of_version_2() { 0 } else { RETRY };
        let has_bit = !is_long || self.kind().is_some_and(|kind| kind != retry);
        has_bit.then_some(self.first & 0x40 != 0)
    }
}

/// The keys of one direction.
struct PacketKeys {
    cipher: Aes128Gcm,
    iv: [u8; 12],
    header: Aes128,
}

impl PacketKeys {
    /// The keys of one side, by its label, derived from the destination connection ID of the client's first packet.
    fn of(version: u32, destination: &[u8], label: &str) -> Option<Self> {
        let version = version_of(version)?;
        let initial = Hkdf::<Sha256>::new(Some(&version.salt), destination);
        let mut secret = [0; 32];
        expand(&initial, label, &mut secret)?;
        let secret = Hkdf::<Sha256>::from_prk(&secret).ok()?;
        let (mut key, mut iv, mut header) = ([0; 16], [0; 12], [0; 16]);
        expand(&secret, version.key, &mut key)?;
        expand(&secret, version.iv, &mut iv)?;
        expand(&secret, version.header, &mut header)?;
        Some(Self {
            cipher: Aes128Gcm::new_from_slice(&key).ok()?,
            iv,
            header: Aes128::new_from_slice(&header).ok()?,
        })
    }

    /// The frames of a packet; `None` when these are not its keys.
    fn open(&self, long: &Long<'_>) -> Option<Vec<u8>> {
        let sample = long.packet.get(long.number_at + 4..long.number_at + 20)?;
        let mut mask = aes::Block::try_from(sample).ok()?;
        self.header.encrypt_block(&mut mask);
        let mut head = long.packet.get(..long.number_at + 4)?.to_vec();
        let first = head.first_mut()?;
        *first ^= mask[0] & 0x0f;
        let number_octets = usize::from(*first & 3) + 1;
        let mut nonce = self.iv;
        for at in 0..number_octets {
            let octet = head.get_mut(long.number_at + at)?;
            *octet ^= mask[1 + at];
            nonce[12 - number_octets + at] ^= *octet;
        }
        head.truncate(long.number_at + number_octets);
        let payload = Payload {
            msg: long.packet.get(head.len()..)?,
            aad: &head,
        };
        self.cipher.decrypt(&nonce.into(), payload).ok()
    }
}

/// HKDF-Expand-Label (RFC 8446, 7.1).
fn expand(secret: &Hkdf<Sha256>, label: &str, out: &mut [u8]) -> Option<()> {
    let mut info = u16::try_from(out.len()).ok()?.to_be_bytes().to_vec();
    info.push(u8::try_from(6 + label.len()).ok()?);
    info.extend_from_slice(b"tls13 ");
    info.extend_from_slice(label.as_bytes());
    info.push(0);
    secret.expand(&info, out).ok()
}

/// Both directions of a connection's first packets.
#[derive(Debug, Default)]
pub(super) struct Initials {
    /// The connection IDs of the client's first packet.
    pub(super) ids: Option<QuicIds>,
    sides: [Crypto; 2],
    /// The client calls its server otherwise than at first, as the server wants it (RFC 9000, 7.2).
    is_answered: bool,
}

/// The handshake of one direction, put in order.
#[derive(Debug, Default)]
struct Crypto {
    octets: Vec<u8>,
    waiting: BTreeMap<usize, Vec<u8>>,
    /// Octets of it that were handed on.
    read: usize,
}

impl Crypto {
    fn take(&mut self, offset: usize, octets: &[u8]) {
        let end = offset.saturating_add(octets.len());
        if end > CRYPTO_OCTETS_MAX || end <= self.octets.len() {
            return;
        }
        if offset > self.octets.len() {
            // The longest of the pieces at the same offset contains the others.
            let known = self.waiting.get(&offset).map_or(0, Vec::len);
            let has_room = known > 0 || self.waiting.len() < PIECES_MAX;
            if has_room && octets.len() > known {
                self.waiting.insert(offset, octets.to_vec());
            }
            return;
        }
        let known = self.octets.len() - offset;
        self.octets
            .extend_from_slice(octets.get(known..).unwrap_or_default());
        while let Some(first) = self.waiting.first_entry()
            && *first.key() <= self.octets.len()
        {
            let (offset, piece) = first.remove_entry();
            let known = self.octets.len() - offset;
            self.octets
                .extend_from_slice(piece.get(known..).unwrap_or_default());
        }
    }

    /// Passes on the messages that are whole.
    fn messages(&mut self, each: &mut dyn FnMut(RecordPart<'_>)) {
        while let Some([kind, a, b, c, after @ ..]) = self.octets.get(self.read..) {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            let Some(message) = after.get(..length) else {
                return;
            };
            each(RecordPart::Handshake(*kind, message));
            self.read += 4 + length;
        }
    }
}

impl Initials {
    pub(super) fn held(&self) -> usize {
        let sides = self.sides.iter();
        sides
            .map(|side| side.octets.len() + side.waiting.values().map(Vec::len).sum::<usize>())
            .sum()
    }

    /// Whether something did not come which others that came follow: a piece of the handshake, or all packets of a server whose client
    /// has some.
    pub(super) fn lacks_some(&self) -> bool {
        let is_unseen = self.ids.as_ref().is_some_and(|ids| ids.server.is_none());
        let mut sides = self.sides.iter();
        self.is_answered && is_unseen || sides.any(|side| !side.waiting.is_empty())
    }

    /// The first octets of the body of a client's hello that came in part.
    pub(super) fn begun_hello(&self, side: usize) -> Option<Vec<u8>> {
        let crypto = self.sides.get(side)?;
        match crypto.octets.get(crypto.read..)? {
            [1, _, _, _, body @ ..] => Some(body.to_vec()),
            _ => None,
        }
    }

    /// Reads a datagram of one side, and reports the messages that it completes, and alerts. False when none of its packets is of this
    /// connection.
    pub(super) fn take(
        &mut self,
        side: usize,
        datagram: &[u8],
        each: &mut dyn FnMut(RecordPart<'_>),
    ) -> bool {
        if self.is_retry(side, datagram) {
            return true;
        }
        let mut is_its = false;
        for long in packets(datagram).filter(|long| long.is_initial) {
            if let Some(frames) = self.open(side, &long)
                && let Some(crypto) = self.sides.get_mut(side)
            {
                is_its = true;
                read_frames(&frames, long.version, crypto, each);
                crypto.messages(each);
            }
        }
        is_its
    }

    /// Reads the connection ID that a Retry packet gives the server (RFC 9000, 17.2.5).
    fn is_retry(&mut self, side: usize, datagram: &[u8]) -> bool {
        let Some(ids) = self.ids.as_mut().filter(|ids| ids.client_side != side) else {
            return false;
        };
        let header = LongHeader::parse(datagram).filter(|header| header.kind() == Some(RETRY));
        let is_its =
            |header: &LongHeader<'_>| header.destination == ids.source && ids.server.is_none();
        let Some(header) = header.filter(is_its) else {
            return false;
        };
        ids.retry = Some(header.source.to_vec());
        true
    }

    /// The frames of a first packet; `None` when it is of another connection.
    fn open(&mut self, side: usize, long: &Long<'_>) -> Option<Vec<u8>> {
        let was_retried = match &mut self.ids {
            None => false,
            Some(ids) => {
                let is_client = side == ids.client_side;
                let label = if is_client { "client in" } else { "server in" };
                let keys = PacketKeys::of(long.version, &ids.destination, label);
                if let Some(frames) = keys.and_then(|keys| keys.open(long)) {
                    if ids.server.is_none() {
                        ids.version = long.version;
                    }
                    self.is_answered |= is_client && long.destination != ids.destination;
                    if !is_client {
                        ids.server.get_or_insert_with(|| long.source.to_vec());
                    }
                    return Some(frames);
                }
                // The first packet after a retry has other keys.
                let is_called_so = ids.retry.as_deref() == Some(long.destination);
                let is_same = !ids.source.is_empty() && ids.source == long.source;
                if !is_client || ids.server.is_some() || !is_called_so && !is_same {
                    return None;
                }
                true
            }
        };
        let frames = PacketKeys::of(long.version, long.destination, "client in")?.open(long)?;
        let retry = self.ids.take().and_then(|ids| ids.retry);
        self.ids = Some(QuicIds {
            version: long.version,
            destination: long.destination.to_vec(),
            source: long.source.to_vec(),
            server: None,
            retry: retry.filter(|_| was_retried),
            client_side: side,
        });
        Some(frames)
    }
}

/// A frame that closes the connection (RFC 9000, 19.19).
const CONNECTION_CLOSE: u64 = 0x1c;

/// Reads the CRYPTO frames of a packet (RFC 9000, 19), and reports an alert by which its sender closes the connection.
fn read_frames(
    frames: &[u8],
    version: u32,
    crypto: &mut Crypto,
    each: &mut dyn FnMut(RecordPart<'_>),
) {
    let mut reader = Reader::new(frames);
    let crypto_kind = if version == T050 { 8 } else { 6 };
    while let Some(kind) = number(&mut reader) {
        let done = match kind {
            0 | 1 => Some(()),
            2 | 3 => acknowledgment(&mut reader, kind == 3),
            kind if kind == crypto_kind => {
                let place = number(&mut reader).zip(number(&mut reader));
                place.and_then(|(offset, length)| {
                    let octets = reader.take(usize::try_from(length).ok()?).ok()?;
                    crypto.take(usize::try_from(offset).ok()?, octets);
                    Some(())
                })
            }
            CONNECTION_CLOSE => {
                // An error of the handshake is a fatal alert (RFC 9001, 4.8).
                if let Some(error @ 0x100..=0x1ff) = number(&mut reader) {
                    each(RecordPart::Alert(2, (error & 0xff) as u8));
                }
                None
            }
            _ => None,
        };
        if done.is_none() {
            return;
        }
    }
}

/// Passes over an ACK frame.
fn acknowledgment(reader: &mut Reader<'_>, has_counts: bool) -> Option<()> {
    number(reader)?;
    number(reader)?;
    let ranges = number(reader)?;
    number(reader)?;
    for _ in 0..ranges {
        number(reader)?;
        number(reader)?;
    }
    if has_counts {
        for _ in 0..3 {
            number(reader)?;
        }
    }
    Some(())
}

/// Writes a client's Initial packet with these frames (RFC 9000, 17.2.2), as the only one of its datagram: `first` has the type and
/// the bits that the version defines, `ids` are those of the server and of the client. `None` where the keys of the version are
/// not known, or the packet is too long.
#[must_use]
pub fn write_initial(
    first: u8,
    version: u32,
    ids: [&[u8]; 2],
    token: &[u8],
    frames: &[u8],
) -> Option<Vec<u8>> {
    let keys = PacketKeys::of(version, ids[0], "client in")?;
    write_initial_with(&keys, first, version, ids, token, frames)
}

/// The same with these keys.
fn write_initial_with(
    keys: &PacketKeys,
    first: u8,
    version: u32,
    ids: [&[u8]; 2],
    token: &[u8],
    frames: &[u8],
) -> Option<Vec<u8>> {
    let short = |octets: &[u8]| {
        u8::try_from(octets.len())
            .ok()
            .filter(|octets| *octets < 64)
    };
    let mut head = vec![first & 0xf0 | 1];
    head.extend(version.to_be_bytes());
    for octets in [ids[0], ids[1], token] {
        head.push(short(octets)?);
        head.extend_from_slice(octets);
    }
    // The length, the number and the tag have 20 octets together.
    let mut frames = frames.to_vec();
    let shortest = INITIAL_OCTETS_MIN.saturating_sub(head.len() + 20);
    frames.resize(frames.len().max(shortest), 0);
    let length = u16::try_from(frames.len() + 18).ok();
    let length = length.filter(|length| *length < 0x4000)?;
    head.extend((0x4000 | length).to_be_bytes());
    let number_at = head.len();
    head.extend([0, 0]);
    let payload = Payload {
        msg: &frames,
        aad: &head,
    };
    let sealed = keys.cipher.encrypt(&keys.iv.into(), payload).ok()?;
    let mut mask = aes::Block::try_from(sealed.get(2..18)?).ok()?;
    keys.header.encrypt_block(&mut mask);
    head.extend_from_slice(&sealed);
    *head.first_mut()? ^= mask[0] & 0x0f;
    for (octet, mask) in head.iter_mut().skip(number_at).zip([mask[1], mask[2]]) {
        *octet ^= mask;
    }
    Some(head)
}

/// The messages of the handshake that come in these pieces, by their offsets.
#[cfg(test)]
pub(super) fn tests_only_messages(pieces: &[(usize, &[u8])]) -> Vec<(u8, Vec<u8>)> {
    let (mut crypto, mut found) = (Crypto::default(), Vec::new());
    for (offset, octets) in pieces {
        crypto.take(*offset, octets);
        crypto.messages(&mut |part| {
            if let RecordPart::Handshake(kind, body) = part {
                found.push((kind, body.to_vec()));
            }
        });
    }
    found
}

/// The server's hello in a packet to a client that was called so.
#[cfg(test)]
pub(super) fn tests_only_open(packet: &[u8], destination: &[u8]) -> Option<super::ServerHello> {
    let mut initials = Initials {
        ids: Some(QuicIds {
            version: 1,
            destination: destination.to_vec(),
            ..QuicIds::default()
        }),
        ..Initials::default()
    };
    let mut hello = None;
    initials.take(1, packet, &mut |part| {
        if let RecordPart::Handshake(2, body) = part {
            hello = super::ServerHello::parse(body).ok();
        }
    });
    hello
}

/// An Initial packet of a side, `client in` or `server in`, of a connection whose client first called its server so.
#[cfg(test)]
pub(super) fn tests_only_initial(
    version: u32,
    called: &[u8],
    label: &str,
    ids: [&[u8]; 2],
    frames: &[u8],
) -> Vec<u8> {
    let keys = PacketKeys::of(version, called, label).unwrap();
    let first = 0xc0 | version_of(version).unwrap().initial << 4;
    write_initial_with(&keys, first, version, ids, b"", frames).unwrap()
}

/// The packet of RFC 9001, A.3, as a server that greases the fixed bit sends it (RFC 9287).
#[cfg(test)]
pub(super) fn tests_only_greased(packet: &[u8], destination: &[u8]) -> Vec<u8> {
    let keys = PacketKeys::of(1, destination, "server in").unwrap();
    let long = Long::parse(packet).unwrap();
    let frames = keys.open(&long).unwrap();
    let mut head = packet[..long.number_at].to_vec();
    head[0] = 0x81;
    head.extend_from_slice(&[0, 1]);
    let mut nonce = keys.iv;
    nonce[11] ^= 1;
    let payload = Payload {
        msg: &frames,
        aad: &head,
    };
    let sealed = keys.cipher.encrypt(&nonce.into(), payload).unwrap();
    let mut mask = aes::Block::try_from(&sealed[2..18]).unwrap();
    keys.header.encrypt_block(&mut mask);
    head[0] ^= mask[0] & 0x0f;
    head[long.number_at] ^= mask[1];
    head[long.number_at + 1] ^= mask[2];
    head.extend_from_slice(&sealed);
    head
}
