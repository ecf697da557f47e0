//! Decrypts TLS connections with known secrets: TLS 1.2 and 1.3 with AES-GCM or ChaCha20-Poly1305, by a file in the format of
//! SSLKEYLOGFILE (RFC 9850).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use aes_gcm::aead::{Aead, KeyInit, Payload};
use aes_gcm::{Aes128Gcm, Aes256Gcm};
use chacha20poly1305::ChaCha20Poly1305;
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use sha2::{Sha256, Sha384};
use weir_bytes::u16_be_at;

use super::hello::{ClientHello, RETRY, ServerHello};
use super::record::HANDSHAKE_OCTETS_MAX;
use super::suites::suite_word;

/// The offset of the random bytes in a record with a hello, after the headers of the record and of the message, and a version.
const RANDOM_BEGINS: usize = 5 + 4 + 2;

/// The secrets of connections, by what was random in their client's hello.
#[derive(Default, PartialEq, Eq)]
pub struct KeyLog {
    connections: HashMap<[u8; 32], Secrets>,
    /// The number of lines that were not understood.
    unread: u64,
}

#[derive(Default, PartialEq, Eq)]
struct Secrets {
    master: Option<Vec<u8>>,
    /// The secret of the client's early data.
    early: Option<Vec<u8>>,
    /// The secrets of client and server.
    handshake: [Option<Vec<u8>>; 2],
    traffic: [Option<Vec<u8>>; 2],
}

impl KeyLog {
    /// Reads the lines of a file. Lines with other labels are passed over.
    #[must_use]
    pub fn parse(text: &[u8]) -> Self {
        let mut log = Self::default();
        for line in text.split(|octet| *octet == b'\n') {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            if log.line(line).is_none() {
                log.unread = log.unread.saturating_add(1);
            }
        }
        log
    }

    /// Connections whose secrets are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// Whether there are no secrets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Secrets are known of the connection whose client's hello begins these octets, a record with what is random in it.
    #[must_use]
    pub fn knows_hello(&self, bytes: &[u8]) -> bool {
        let random = bytes.get(RANDOM_BEGINS..RANDOM_BEGINS + 32);
        random.is_some_and(|random| self.connections.contains_key(random))
    }

    /// Lines that are not of the format, or have another label.
    #[must_use]
    pub const fn unread(&self) -> u64 {
        self.unread
    }

    fn line(&mut self, line: &[u8]) -> Option<()> {
        let mut words = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty());
        let (label, random, secret) = (words.next()?, words.next()?, words.next()?);
        let random: [u8; 32] = hex::decode(random).ok()?.try_into().ok()?;
        let secret = hex::decode(secret)
            .ok()
            .filter(|secret| (1..=SECRET_OCTETS_MAX).contains(&secret.len()))?;
        let place = |secrets: &mut Secrets| -> Option<()> {
            let [client_handshake, server_handshake] = &mut secrets.handshake;
            let [client_traffic, server_traffic] = &mut secrets.traffic;
            let place = match label {
                b"CLIENT_RANDOM" => &mut secrets.master,
                b"CLIENT_EARLY_TRAFFIC_SECRET" => &mut secrets.early,
                b"CLIENT_HANDSHAKE_TRAFFIC_SECRET" => client_handshake,
                b"SERVER_HANDSHAKE_TRAFFIC_SECRET" => server_handshake,
                b"CLIENT_TRAFFIC_SECRET_0" => client_traffic,
                b"SERVER_TRAFFIC_SECRET_0" => server_traffic,
                _ => return None,
            };
            *place = Some(secret);
            Some(())
        };
        match self.connections.get_mut(&random) {
            Some(known) => place(known),
            None => {
                let mut new = Secrets::default();
                place(&mut new)?;
                self.connections.insert(random, new);
                Some(())
            }
        }
    }
}

/// Whether the extensions of a server's message have that of early data (RFC 8446, 4.2.10).
fn has_early_data(body: &[u8]) -> bool {
    let mut rest = body.get(2..).unwrap_or_default();
    while let [kind_high, kind_low, high, low, after @ ..] = rest {
        if [*kind_high, *kind_low] == [0, 42] {
            return true;
        }
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        rest = after.get(length..).unwrap_or_default();
    }
    false
}

/// Secrets are not for logs.
impl fmt::Debug for KeyLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyLog of {} connections", self.len())
    }
}

/// The maximum length of a secret: that of SHA-384.
const SECRET_OCTETS_MAX: usize = 48;

/// The cipher of records, and the hash from which their keys are derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suite {
    Aes128,
    Aes256,
    ChaCha20,
}

impl Suite {
    fn of(number: u16) -> Option<Self> {
        let word = suite_word(number)?;
        if word.ends_with("_AES_128_GCM_SHA256") {
            Some(Self::Aes128)
        } else if word.ends_with("_AES_256_GCM_SHA384") {
            Some(Self::Aes256)
        } else if word.ends_with("_CHACHA20_POLY1305_SHA256") {
            Some(Self::ChaCha20)
        } else {
            None
        }
    }

    const fn key_octets(self) -> usize {
        match self {
            Self::Aes128 => 16,
            Self::Aes256 | Self::ChaCha20 => 32,
        }
    }

    const fn is_sha384(self) -> bool {
        matches!(self, Self::Aes256)
    }
}

enum Cipher {
    Aes128(Box<Aes128Gcm>),
    Aes256(Box<Aes256Gcm>),
    ChaCha20(Box<ChaCha20Poly1305>),
}

/// The keys of one direction.
struct TrafficKeys {
    cipher: Cipher,
    suite: Suite,
    /// The nonce of the first record, or the part of it that stays (RFC 5288, 3).
    iv: Vec<u8>,
    /// Number of the next record.
    sequence: u64,
    /// The secret that they are of, where another follows it (RFC 8446, 7.2).
    secret: Vec<u8>,
}

impl TrafficKeys {
    fn new(suite: Suite, key: &[u8], iv: &[u8], secret: &[u8]) -> Option<Self> {
        let cipher = match suite {
            Suite::Aes128 => Cipher::Aes128(Box::new(Aes128Gcm::new_from_slice(key).ok()?)),
            Suite::Aes256 => Cipher::Aes256(Box::new(Aes256Gcm::new_from_slice(key).ok()?)),
            Suite::ChaCha20 => {
                Cipher::ChaCha20(Box::new(ChaCha20Poly1305::new_from_slice(key).ok()?))
            }
        };
        let (iv, secret) = (iv.to_vec(), secret.to_vec());
        Some(Self {
            cipher,
            suite,
            iv,
            sequence: 0,
            secret,
        })
    }

    /// The keys of a traffic secret (RFC 8446, 7.3).
    fn of_secret(suite: Suite, secret: &[u8]) -> Option<Self> {
        let mut key = vec![0; suite.key_octets()];
        let mut iv = [0; NONCE_OCTETS];
        expand(suite, secret, "key", &mut key)?;
        expand(suite, secret, "iv", &mut iv)?;
        Self::new(suite, &key, &iv, secret)
    }

    /// The keys that follow a key update.
    fn next(&self) -> Option<Self> {
        let mut secret = vec![0; self.secret.len()];
        expand(self.suite, &self.secret, "traffic upd", &mut secret)?;
        Self::of_secret(self.suite, &secret)
    }

    fn open(&mut self, nonce: [u8; NONCE_OCTETS], sealed: &[u8], aad: &[u8]) -> Option<Vec<u8>> {
        let payload = Payload { msg: sealed, aad };
        let opened = match &self.cipher {
            Cipher::Aes128(cipher) => cipher.decrypt(&nonce.into(), payload),
            Cipher::Aes256(cipher) => cipher.decrypt(&nonce.into(), payload),
            Cipher::ChaCha20(cipher) => cipher.decrypt(&nonce.into(), payload),
        };
        let opened = opened.ok()?;
        self.sequence = self.sequence.checked_add(1)?;
        Some(opened)
    }

    /// The first nonce with the record's number in it (RFC 8446, 5.3).
    fn nonce(&self) -> Option<[u8; NONCE_OCTETS]> {
        let mut nonce: [u8; NONCE_OCTETS] = self.iv.as_slice().try_into().ok()?;
        let numbers = self.sequence.to_be_bytes();
        for (octet, number) in nonce.iter_mut().skip(4).zip(numbers) {
            *octet ^= number;
        }
        Some(nonce)
    }

    /// A record of TLS 1.3, whose header is authenticated as it stands.
    fn open_13(&mut self, record: &SealedRecord<'_>) -> Option<(u8, Vec<u8>)> {
        let nonce = self.nonce()?;
        let mut inner = self.open(nonce, record.body, record.header)?;
        // The type is behind the content, and zeros may be behind it (RFC 8446, 5.2).
        let end = inner.iter().rposition(|octet| *octet != 0)?;
        let kind = *inner.get(end)?;
        inner.truncate(end);
        Some((kind, inner))
    }

    /// A record of TLS 1.2 (RFC 5246, 6.2.3.3; RFC 5288; RFC 7905).
    fn open_12(&mut self, record: &SealedRecord<'_>) -> Option<(u8, Vec<u8>)> {
        let (nonce, sealed) = match self.suite {
            Suite::ChaCha20 => (self.nonce()?, record.body),
            _ => {
                let (explicit, sealed) = record.body.split_at_checked(8)?;
                let nonce: Vec<u8> = self.iv.iter().chain(explicit).copied().collect();
                (nonce.try_into().ok()?, sealed)
            }
        };
        let length = u16::try_from(sealed.len().checked_sub(TAG_OCTETS)?).ok()?;
        let mut aad = self.sequence.to_be_bytes().to_vec();
        aad.extend_from_slice(record.header.get(..3)?);
        aad.extend_from_slice(&length.to_be_bytes());
        let opened = self.open(nonce, sealed, &aad)?;
        Some((record.kind, opened))
    }
}

const NONCE_OCTETS: usize = 12;
const TAG_OCTETS: usize = 16;

/// HKDF-Expand-Label without a context (RFC 8446, 7.1).
fn expand(suite: Suite, secret: &[u8], label: &str, out: &mut [u8]) -> Option<()> {
    let mut info = u16::try_from(out.len()).ok()?.to_be_bytes().to_vec();
    info.push(u8::try_from(6 + label.len()).ok()?);
    info.extend_from_slice(b"tls13 ");
    info.extend_from_slice(label.as_bytes());
    info.push(0);
    match suite.is_sha384() {
        true => Hkdf::<Sha384>::from_prk(secret)
            .ok()?
            .expand(&info, out)
            .ok(),
        false => Hkdf::<Sha256>::from_prk(secret)
            .ok()?
            .expand(&info, out)
            .ok(),
    }
}

/// The pseudorandom function of TLS 1.2 (RFC 5246, 5).
fn pseudorandom(suite: Suite, secret: &[u8], seed: &[u8], octets: usize) -> Option<Vec<u8>> {
    let hash = |message: &[&[u8]]| -> Option<Vec<u8>> {
        macro_rules! hmac {
            ($hash:ty) => {{
                let mut mac = <Hmac<$hash> as hmac::KeyInit>::new_from_slice(secret).ok()?;
                message.iter().for_each(|part| mac.update(part));
                mac.finalize().into_bytes().to_vec()
            }};
        }
        Some(match suite.is_sha384() {
            true => hmac!(Sha384),
            false => hmac!(Sha256),
        })
    };
    let mut out = Vec::new();
    let mut link = hash(&[seed])?;
    while out.len() < octets {
        out.extend(hash(&[&link, seed])?);
        link = hash(&[&link])?;
    }
    out.truncate(octets);
    Some(out)
}

/// A record as it was sent.
struct SealedRecord<'r> {
    kind: u8,
    header: &'r [u8],
    body: &'r [u8],
}

const HEADER_OCTETS: usize = 5;
/// Octets of a record's body, at most (RFC 5246, 6.2.3).
const RECORD_OCTETS_MAX: usize = (1 << 14) + 2_048;

/// Octets from a server's hello on that wait for the client's hello, at most.
const WAITING_OCTETS_MAX: usize = 1 << 18;

/// A connection that is read by its secrets. It keeps at most one record and one message of the handshake of either
/// direction, and some records of a server whose client's hello was captured later.
pub struct Decryptor {
    log: Arc<KeyLog>,
    client: Option<ClientHello>,
    client_side: usize,
    server: Option<ServerHello>,
    early: EarlyData,
    sides: [TlsSide; 2],
}

/// The early data of a client (RFC 8446, 4.2.10), sealed with a secret of the session before.
#[derive(Default)]
struct EarlyData {
    keys: Option<TrafficKeys>,
    /// The number of octets that were reported before the server took or refused them.
    octets: usize,
    /// The server took the data, or refused it.
    was_accepted: Option<bool>,
}

/// Octets of early data before the server takes or refuses it, at most.
const EARLY_OCTETS_MAX: usize = 1 << 18;

#[derive(Default)]
struct TlsSide {
    begun: Vec<u8>,
    handshake: Vec<u8>,
    keys: Option<TrafficKeys>,
    /// The keys are those of the application.
    has_finished: bool,
    /// Records may be of early data, which other keys seal.
    may_be_early: bool,
    /// The octets from the server's hello on wait for the client's.
    is_waiting: bool,
    /// Sealed records were passed over before there were keys.
    has_unread: bool,
    is_dead: bool,
}

/// The contents of a record, or the reason why decryption ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened<'o> {
    /// Octets of the application, of this side.
    Data(usize, &'o [u8]),
    /// Octets that the client, this side, sent before the server's hello. They count if the server accepts them.
    Early(usize, &'o [u8]),
    /// The server accepted the early octets of this side so far.
    Accepted(usize),
    /// The server refused the early octets of this side, which are sent again.
    Refused(usize),
    /// The rest of this side cannot be read: its keys are not known, its suite is not supported, or octets are missing.
    Closed(usize),
}

impl fmt::Debug for Decryptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decryptor with {:?}", self.log)
    }
}

impl Decryptor {
    /// The state before the first octet.
    #[must_use]
    pub fn new(log: Arc<KeyLog>) -> Self {
        Self {
            log,
            client: None,
            client_side: 0,
            server: None,
            early: EarlyData::default(),
            sides: Default::default(),
        }
    }

    /// Octets that are kept.
    #[must_use]
    pub fn held(&self) -> usize {
        let held = |side: &TlsSide| side.begun.capacity() + side.handshake.capacity();
        self.sides.iter().map(held).sum()
    }

    /// Octets of the record of a side that is not whole yet.
    #[must_use]
    pub fn begun(&self, side: usize) -> usize {
        self.sides.get(side).map_or(0, |side| side.begun.len())
    }

    /// Neither side can be read any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.sides.iter().all(|side| side.is_dead)
    }

    /// Sealed records were passed over, or wait for the hello of the client or of the server.
    #[must_use]
    pub fn has_unread(&self) -> bool {
        let mut sides = self.sides.iter();
        sides.any(|side| side.is_waiting || side.has_unread)
    }

    /// Octets of a side (0 or 1) are missing: what follows cannot be read, as records are numbered.
    pub fn gap(&mut self, side: usize, each: &mut dyn FnMut(Opened<'_>)) {
        self.close(side & 1, each);
    }

    /// Adds the next octets of a side, and reports their contents.
    pub fn take(&mut self, side: usize, bytes: &[u8], each: &mut dyn FnMut(Opened<'_>)) {
        let side = side & 1;
        let Some(place) = self.sides.get_mut(side).filter(|place| !place.is_dead) else {
            return;
        };
        place.is_waiting = false;
        let mut begun = std::mem::take(&mut place.begun);
        let all = match begun.is_empty() {
            true => bytes,
            false => {
                begun.extend_from_slice(bytes);
                &begun
            }
        };
        let mut at = 0;
        while let Some(rest) = all.get(at..) {
            let Some(length) = u16_be_at(rest, 3).map(usize::from) else {
                break;
            };
            let is_record = matches!(rest, [20..=24, 3, ..]) && length <= RECORD_OCTETS_MAX;
            let whole = rest.get(..HEADER_OCTETS + length);
            let was_accepted = self.early.was_accepted;
            let wanted = match whole.and_then(|record| record.split_at_checked(HEADER_OCTETS)) {
                None if is_record => break,
                Some((header, body)) if is_record => {
                    let kind = header.first().copied().unwrap_or_default();
                    let record = SealedRecord { kind, header, body };
                    if self.waits(side, &record) {
                        break;
                    }
                    self.record(side, &record, each)
                }
                _ => None,
            };
            if wanted.is_none() {
                self.close(side, each);
                return;
            }
            at += HEADER_OCTETS + length;
            match self.early.was_accepted {
                Some(true) if was_accepted.is_none() => each(Opened::Accepted(self.client_side)),
                Some(false) if was_accepted.is_none() => each(Opened::Refused(self.client_side)),
                _ => {}
            }
            let other = self.sides.get(1 - side);
            if self.client.is_some() && other.is_some_and(|other| other.is_waiting) {
                self.take(1 - side, &[], each);
            }
        }
        let rest = all.get(at..).unwrap_or_default().to_vec();
        if rest.len() > WAITING_OCTETS_MAX {
            self.close(side, each);
        } else if let Some(place) = self.sides.get_mut(side) {
            place.begun = rest;
        }
    }

    /// Whether a record begins the server's hello and has to wait for the client's, without which the secrets are not known:
    /// packets of both sides may be captured in the wrong order.
    fn waits(&mut self, side: usize, record: &SealedRecord<'_>) -> bool {
        let is_possible =
            self.client.is_none() && self.sides.get(1 - side).is_some_and(|other| !other.is_dead);
        let is_hello = record.kind == 22 && record.body.first() == Some(&2);
        let Some(place) = self.sides.get_mut(side) else {
            return false;
        };
        place.is_waiting = is_possible && is_hello && place.handshake.is_empty();
        place.is_waiting
    }

    fn close(&mut self, side: usize, each: &mut dyn FnMut(Opened<'_>)) {
        if let Some(place) = self.sides.get_mut(side)
            && !place.is_dead
        {
            *place = TlsSide {
                is_dead: true,
                ..TlsSide::default()
            };
            each(Opened::Closed(side));
        }
    }

    fn is_13(&self) -> bool {
        let server = self.server.as_ref();
        server.is_some_and(|hello| matches!(hello.negotiated(), 0x0304 | 0x7f00..=0x7fff))
    }

    /// Reads a record; `None` when the side cannot be read any more.
    fn record(
        &mut self,
        side: usize,
        record: &SealedRecord<'_>,
        each: &mut dyn FnMut(Opened<'_>),
    ) -> Option<()> {
        let is_13 = self.is_13();
        if record.kind == 20 {
            // The record has no meaning in TLS 1.3.
            let is_asked = is_13 || self.server.is_none();
            return if is_asked {
                Some(())
            } else {
                self.change(side)
            };
        }
        let place = self.sides.get_mut(side)?;
        let Some(keys) = &mut place.keys else {
            return match record.kind {
                22 => self.handshake(side, record.body, false),
                // Early data, or the server's hello is missing.
                23 => self.early(side, record, each),
                _ => Some(()),
            };
        };
        let opened = match is_13 {
            true if record.kind == 23 => keys.open_13(record),
            // An alert before the keys changed.
            true => return Some(()),
            false => keys.open_12(record),
        };
        let Some((kind, content)) = opened else {
            return match place.may_be_early {
                true => self.early(side, record, each),
                false => None,
            };
        };
        place.may_be_early = false;
        match kind {
            22 => self.handshake(side, &content, true),
            23 => {
                each(Opened::Data(side, &content));
                Some(())
            }
            _ => Some(()),
        }
    }

    /// Reads a record of early data, or passes over one whose keys are not known.
    fn early(
        &mut self,
        side: usize,
        record: &SealedRecord<'_>,
        each: &mut dyn FnMut(Opened<'_>),
    ) -> Option<()> {
        let opened = self.open_early(side, record);
        let place = self.sides.get_mut(side)?;
        match opened {
            // The end of early data (RFC 8446, 4.5).
            Some((22, _)) => place.may_be_early = false,
            Some((23, content)) => match self.early.was_accepted {
                Some(true) => each(Opened::Data(side, &content)),
                // The client sends it again.
                Some(false) => {}
                None => {
                    self.early.octets = self.early.octets.saturating_add(content.len());
                    if self.early.octets > EARLY_OCTETS_MAX {
                        return None;
                    }
                    each(Opened::Early(side, &content));
                }
            },
            Some(_) => {}
            None => {
                let is_refused = place.may_be_early && self.early.was_accepted == Some(false);
                place.has_unread |= !is_refused;
                return (self.server.is_none() || place.may_be_early).then_some(());
            }
        }
        Some(())
    }

    /// The type and the contents of a record of early data. Its suite is that of the session before, and shows by its keys.
    fn open_early(&mut self, side: usize, record: &SealedRecord<'_>) -> Option<(u8, Vec<u8>)> {
        if !self.sides.get(side)?.may_be_early {
            return None;
        }
        if let Some(keys) = &mut self.early.keys {
            return keys.open_13(record);
        }
        let secrets = self.log.connections.get(&self.client.as_ref()?.random)?;
        let secret = secrets.early.as_deref()?;
        let suites = match secret.len() {
            32 => &[Suite::Aes128, Suite::ChaCha20][..],
            _ => &[Suite::Aes256],
        };
        let mut all = suites.iter();
        let (keys, opened) = all.find_map(|suite| {
            let mut keys = TrafficKeys::of_secret(*suite, secret)?;
            let opened = keys.open_13(record)?;
            Some((keys, opened))
        })?;
        self.early.keys = Some(keys);
        Some(opened)
    }

    /// The server takes early data, or refuses it.
    fn accept_early(&mut self, is_accepted: bool) {
        self.early.was_accepted = Some(is_accepted);
        if !is_accepted && let Some(client) = self.sides.get_mut(self.client_side) {
            client.has_unread = false;
        }
    }

    /// Reads the messages of the handshake that a record completes.
    fn handshake(&mut self, side: usize, body: &[u8], is_sealed: bool) -> Option<()> {
        let mut all = std::mem::take(&mut self.sides.get_mut(side)?.handshake);
        all.extend_from_slice(body);
        let mut at = 0;
        while let Some([kind, a, b, c, after @ ..]) = all.get(at..) {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            let Some(message) = after.get(..length) else {
                break;
            };
            self.message(side, *kind, message, is_sealed)?;
            at += 4 + length;
        }
        all.drain(..at.min(all.len()));
        // Only long certificates are longer, and they are not needed: the connection is given up.
        let is_short = all.len() <= HANDSHAKE_OCTETS_MAX;
        self.sides.get_mut(side)?.handshake = all;
        is_short.then_some(())
    }

    fn message(&mut self, side: usize, kind: u8, body: &[u8], is_sealed: bool) -> Option<()> {
        match (kind, is_sealed) {
            (1, false) if self.server.is_none() => {
                let hello = ClientHello::parse(body, false).ok()?;
                self.log.connections.get(&hello.random)?;
                // A second hello says that the early data of the first one was refused.
                if self.client.is_some() {
                    self.accept_early(false);
                }
                self.sides.get_mut(side)?.may_be_early = hello.has_early_data;
                self.client_side = side;
                self.client = Some(hello);
            }
            (2, false) => {
                let hello = ServerHello::parse(body).ok()?;
                if hello.random == RETRY {
                    return Some(());
                }
                self.server = Some(hello);
                if self.is_13() {
                    self.change_13(false, 0)?;
                    self.change_13(false, 1)?;
                }
            }
            (8, true) if self.early.was_accepted.is_none() => {
                self.accept_early(has_early_data(body));
            }
            // Finished: the application's keys follow (RFC 8446, 7.3), which another one later does not change (4.6.2).
            (20, true) if self.is_13() && !self.sides.get(side)?.has_finished => {
                self.change_13(true, side)?;
                self.sides.get_mut(side)?.has_finished = true;
            }
            (24, true) if self.is_13() => {
                let place = self.sides.get_mut(side)?;
                place.keys = Some(place.keys.as_ref()?.next()?);
            }
            _ => {}
        }
        Some(())
    }

    /// The secrets of the connection, and what seals it.
    fn secrets(&self) -> Option<(&Secrets, Suite)> {
        let secrets = self.log.connections.get(&self.client.as_ref()?.random)?;
        Some((secrets, Suite::of(self.server.as_ref()?.suite)?))
    }

    /// Derives the keys of a side for TLS 1.3, those of the handshake or of the application.
    fn change_13(&mut self, is_application: bool, side: usize) -> Option<()> {
        let (secrets, suite) = self.secrets()?;
        let of = match is_application {
            true => &secrets.traffic,
            false => &secrets.handshake,
        };
        let role = usize::from(side != self.client_side);
        let keys = TrafficKeys::of_secret(suite, of.get(role)?.as_deref()?)?;
        self.sides.get_mut(side)?.keys = Some(keys);
        Some(())
    }

    /// Derives the first keys of a side for TLS 1.2 (RFC 5246, 6.3): a renegotiation is encrypted.
    fn change(&mut self, side: usize) -> Option<()> {
        let (secrets, suite) = self.secrets()?;
        let (client, server) = (self.client.as_ref()?, self.server.as_ref()?);
        if server.negotiated() != 0x0303 || self.sides.get(side)?.keys.is_some() {
            return None;
        }
        let mut seed = b"key expansion".to_vec();
        seed.extend_from_slice(&server.random);
        seed.extend_from_slice(&client.random);
        let iv_octets = if suite == Suite::ChaCha20 {
            NONCE_OCTETS
        } else {
            4
        };
        let key_octets = suite.key_octets();
        let octets = 2 * (key_octets + iv_octets);
        let block = pseudorandom(suite, secrets.master.as_deref()?, &seed, octets)?;
        let role = usize::from(side != self.client_side);
        let key = block.get(role * key_octets..)?.get(..key_octets)?;
        let iv = block
            .get(2 * key_octets + role * iv_octets..)?
            .get(..iv_octets)?;
        let keys = TrafficKeys::new(suite, key, iv, &[])?;
        self.sides.get_mut(side)?.keys = Some(keys);
        Some(())
    }
}
