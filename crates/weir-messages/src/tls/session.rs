//! A handshake, from both sides.

use weir_bytes::Short;

use super::certificate::Certificate;
use super::hello::{ClientHello, ServerHello};
use super::quic::{Initials, QuicIds};
use super::record::{Datagrams, Direction, RecordPart, Stamp};

/// Certificates of a chain, at most; further ones are counted only.
const CERTIFICATES_MAX: usize = 32;
/// Alerts that are kept, at most.
const ALERTS_MAX: usize = 16;
/// Encrypted records of each side after which a hello of the server that was not captured does not come any more.
const SEALED_RECORDS: u8 = 3;
/// The type of records with data of the application.
const APPLICATION: u8 = 23;

/// The carrier of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// A stream.
    Tls,
    /// Datagrams.
    Dtls,
    /// QUIC.
    Quic,
}

impl Carrier {
    /// `tls`, `dtls` or `quic`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tls => "tls",
            Self::Dtls => "dtls",
            Self::Quic => "quic",
        }
    }
}

/// An alert in clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alert {
    /// The client sent it.
    pub from_client: bool,
    /// 1 warning, 2 fatal.
    pub level: u8,
    /// The description of the alert.
    pub description: u8,
}

/// Whether a session has to be read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionState {
    /// The handshake continues.
    More,
    /// The handshake is over: the rest of it is encrypted.
    Done,
    /// This is no TLS, or no longer.
    NotTls,
}

/// A handshake as far as it was seen.
#[derive(Debug)]
#[non_exhaustive]
pub struct Session {
    /// The carrier.
    pub carrier: Carrier,
    /// The first hello of the client.
    pub client: Option<ClientHello>,
    /// When it came.
    pub client_stamp: Stamp,
    /// The hello of the server, except a HelloRetryRequest.
    pub server: Option<ServerHello>,
    /// When it came.
    pub server_stamp: Stamp,
    /// The server asked for another hello of the client.
    pub was_retried: bool,
    /// Certificates of the server, its own first.
    pub certificates: Vec<Certificate>,
    /// Certificates of the client, its own first.
    pub client_certificates: Vec<Certificate>,
    /// Certificates beyond what is kept.
    pub certificates_dropped: u64,
    /// Alerts in clear.
    pub alerts: Vec<Alert>,
    /// The group of the server's key, of versions before 1.3.
    pub group: Option<u16>,
    /// Both sides began to talk in private.
    pub is_established: bool,
    /// Messages that were too long.
    pub too_long: u64,
    /// The server's flight is complete, which it is where no session is resumed (RFC 5246, 7.3).
    has_hello_done: bool,
    /// The client's key exchange is there, which follows that.
    has_key_exchange: bool,
    /// The side that is the client.
    client_side: Option<usize>,
    /// Something of a side was seen.
    received: [bool; 2],
    /// Something of a side's stream is missing.
    gaps: [bool; 2],
    /// Octets of a side in front of the handshake were not captured: they may be some of it.
    gaps_before: [bool; 2],
    /// A side may begin within a record.
    is_partial: [bool; 2],
    changed: [bool; 2],
    has_data: [bool; 2],
    /// A record of data of the application was seen.
    has_application: [bool; 2],
    /// An encrypted record of each side was seen.
    is_encrypted: [bool; 2],
    /// Records behind the change of cipher spec of each side.
    sealed: [u8; 2],
    /// When the last octets of each side of a stream came, or its first datagram.
    stamps: [Stamp; 2],
    directions: [Direction; 2],
    datagrams: [Datagrams; 2],
    initials: Initials,
}

impl Session {
    /// The state before the first octet.
    #[must_use]
    pub fn new(carrier: Carrier) -> Self {
        Self {
            carrier,
            client: None,
            client_stamp: Stamp::default(),
            server: None,
            server_stamp: Stamp::default(),
            was_retried: false,
            certificates: Vec::new(),
            client_certificates: Vec::new(),
            certificates_dropped: 0,
            alerts: Vec::new(),
            group: None,
            is_established: false,
            too_long: 0,
            has_hello_done: false,
            has_key_exchange: false,
            client_side: None,
            received: [false; 2],
            gaps: [false; 2],
            gaps_before: [false; 2],
            is_partial: [false; 2],
            changed: [false; 2],
            has_data: [false; 2],
            has_application: [false; 2],
            is_encrypted: [false; 2],
            sealed: [0; 2],
            stamps: Default::default(),
            directions: Default::default(),
            datagrams: Default::default(),
            initials: Initials::default(),
        }
    }

    /// The side of the client, 0 or 1, when it is known.
    #[must_use]
    pub const fn client_side(&self) -> Option<usize> {
        self.client_side
    }

    /// The connection IDs of a QUIC connection.
    #[must_use]
    pub const fn quic(&self) -> Option<&QuicIds> {
        self.initials.ids.as_ref()
    }

    /// Octets that are kept of messages under way.
    #[must_use]
    pub fn held(&self) -> usize {
        let streams: usize = self.directions.iter().map(Direction::held).sum();
        let datagrams: usize = self.datagrams.iter().map(Datagrams::held).sum();
        streams + datagrams + self.initials.held()
    }

    /// Something was seen that makes it a handshake.
    #[must_use]
    pub const fn is_seen(&self) -> bool {
        self.client.is_some() || self.server.is_some()
    }

    /// The version that both speak, when the server said it.
    #[must_use]
    pub fn version(&self) -> Option<u16> {
        self.server.as_ref().map(ServerHello::negotiated)
    }

    /// Whether an earlier session was resumed. `None` where it is unknown: without the server's hello, and up to TLS 1.2 where the
    /// handshake did not reach its end, or something of the server is missing that may have been a certificate.
    #[must_use]
    pub fn resumed(&self) -> Option<bool> {
        let server = self.server.as_ref()?;
        if is_private_hello(server.negotiated()) {
            return Some(server.has_key_of_earlier);
        }
        let is_full = self.has_hello_done || self.has_key_exchange;
        if is_full || !self.certificates.is_empty() || self.group.is_some() {
            return Some(false);
        }
        (self.is_established && !self.lacks_some_of_server()).then_some(true)
    }

    /// Whether both sides began to encrypt. `None` where it is unknown: for QUIC, where something is missing, and where one side
    /// did and nothing of the other one was captured, or sent data of the application, which only some do before the other one
    /// (RFC 7918).
    #[must_use]
    pub fn established(&self) -> Option<bool> {
        if self.is_established || self.is_sealed(1) {
            return Some(true);
        }
        let is_seen_in_part = self.received != [true; 2] && self.changed != [false; 2];
        let is_without_hello = self.server.is_none() && self.is_encrypted == [true; 2];
        let version = self.version();
        let is_old = version.is_some_and(|version| !is_private_hello(version));
        let is_in_use = is_old && self.has_application != [false; 2];
        let is_unknown =
            self.carrier == Carrier::Quic || self.lacks_some() || is_without_hello || is_in_use;
        (!is_unknown && !is_seen_in_part).then_some(false)
    }

    /// The server asked for another hello of the client. `None` where that is not known: without the server's hello, or where
    /// something of the server is missing.
    #[must_use]
    pub fn retried(&self) -> Option<bool> {
        if self.was_retried {
            return Some(true);
        }
        let server = self.server.as_ref()?;
        // The first answer, to the first hello, may be missing in front of these.
        let is_second = is_private_hello(server.negotiated())
            && (self.client.is_none() || self.is_server_side(self.gaps_before));
        (!is_second && !self.lacks_some_of_server()).then_some(false)
    }

    /// Whether this is so of the server's side.
    fn is_server_side(&self, sides: [bool; 2]) -> bool {
        self.client_side
            .is_some_and(|client| sides[1 - (client & 1)])
    }

    /// What was not captured of the handshake; `None` where nothing shows that something is missing.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        let is_cut = self.client.as_ref().is_some_and(|client| client.is_cut);
        if is_cut || self.gaps != [false; 2] {
            return Some("bytes were not captured");
        }
        match (&self.client, &self.server) {
            (None, Some(_)) => Some("the client's hello was not captured"),
            (Some(_), None) if self.is_encrypted == [true; 2] => {
                Some("the server's hello was not captured")
            }
            _ => self.lacks_some().then_some("bytes were not captured"),
        }
    }

    /// Whether something between what came did not come.
    fn lacks_some(&self) -> bool {
        let lacks_done = self.server.is_some() && self.has_key_exchange && !self.has_hello_done;
        let mut datagrams = self.datagrams.iter();
        self.gaps != [false; 2]
            || lacks_done
            || self.initials.lacks_some()
            || datagrams.any(Datagrams::lacks_messages)
    }

    /// Whether both sides have sent so many encrypted records, and the server's hello was not captured.
    fn is_sealed(&self, records: u8) -> bool {
        self.server.is_none() && self.sealed.iter().all(|sealed| *sealed >= records)
    }

    fn lacks_some_of_server(&self) -> bool {
        let server = self.client_side.map(|client| 1 - (client & 1));
        server.is_some_and(|side| {
            let mut datagrams = self.datagrams.get(side).into_iter();
            self.gaps.get(side) == Some(&true)
                || datagrams
                    .any(|datagrams| datagrams.lacks_messages() || datagrams.lacks_records())
        })
    }

    /// Sets the sides of which octets in front of the handshake were not captured.
    pub const fn lacks_before(&mut self, sides: [bool; 2]) {
        self.gaps_before = sides;
        self.is_partial = sides;
    }

    /// The first octets of a side were not captured, if there were some.
    pub const fn begins_within(&mut self, side: usize) {
        self.is_partial[side & 1] = true;
    }

    /// Octets of a stream, of one side.
    pub fn stream(&mut self, side: usize, bytes: &[u8], stamp: Stamp) -> SessionState {
        let Some(direction) = self.directions.get_mut(side) else {
            return SessionState::NotTls;
        };
        let mut direction = std::mem::take(direction);
        self.stamps[side & 1] = stamp;
        let is_tls = direction.take(bytes, &mut |direction, part| {
            self.part(side, part, stamp);
            // Records after a change of cipher spec are encrypted before TLS 1.3. A server that sent a HelloRetryRequest uses
            // 1.3, where this record has no meaning (RFC 8446, D.4): both second hellos follow it in clear.
            let is_old = !self.was_retried
                && self
                    .version()
                    .is_none_or(|version| !is_private_hello(version));
            direction.is_private |= is_old && matches!(part, RecordPart::ChangeCipherSpec);
        });
        // The rest of a record whose beginning was not captured. Another protocol may answer in text.
        let is_text = matches!(bytes.first(), Some(b' '..=b'~'));
        let is_rest = !is_tls && self.is_partial[side & 1] && !self.received[side & 1] && !is_text;
        if is_rest {
            direction.gap(&mut |_, _| {});
            self.gaps[side & 1] = true;
        }
        if let Some(place) = self.directions.get_mut(side) {
            *place = direction;
        }
        match is_tls || is_rest {
            true => self.state(),
            false => SessionState::NotTls,
        }
    }

    /// Octets of a stream are missing. Of a client's hello in front of them, what is there is read.
    pub fn gap(&mut self, side: usize) {
        let side = side & 1;
        let mut direction = std::mem::take(&mut self.directions[side]);
        let stamp = self.stamps[side];
        direction.gap(&mut |_, part| self.part(side, part, stamp));
        self.directions[side] = direction;
        self.gaps[side] = true;
    }

    /// Nothing more of the handshake comes: of a client's hello that came in part in datagrams, what is there is read.
    pub fn end(&mut self) {
        if self.client.is_some() {
            return;
        }
        let is_datagram = self.carrier == Carrier::Dtls;
        for side in [0, 1] {
            let of_quic = self.initials.begun_hello(side);
            if let Some(begun) = of_quic.or_else(|| self.datagrams[side].begun_hello()) {
                let hello = ClientHello::parse_cut(&begun, is_datagram);
                self.client_hello(side, hello, self.stamps[side]);
            }
        }
    }

    /// A datagram of QUIC; `None` when it is of another connection. The session of the client's first packet is this
    /// one.
    pub fn quic_datagram(
        &mut self,
        side: usize,
        bytes: &[u8],
        stamp: Stamp,
    ) -> Option<SessionState> {
        let mut initials = std::mem::take(&mut self.initials);
        let is_its = initials.take(side, bytes, &mut |part| self.part(side, part, stamp));
        self.initials = initials;
        if is_its {
            self.note_first(side, stamp);
        }
        is_its.then(|| self.state())
    }

    /// A datagram of DTLS or QUIC.
    pub fn datagram(&mut self, side: usize, bytes: &[u8], stamp: Stamp) -> SessionState {
        if self.carrier == Carrier::Quic {
            self.quic_datagram(side, bytes, stamp);
        } else if let Some(datagrams) = self.datagrams.get_mut(side) {
            let mut datagrams = std::mem::take(datagrams);
            self.note_first(side, stamp);
            datagrams.take(bytes, &mut |part| self.part(side, part, stamp));
            if let Some(place) = self.datagrams.get_mut(side) {
                *place = datagrams;
            }
        }
        self.state()
    }

    /// Notes when the first datagram of a side came.
    const fn note_first(&mut self, side: usize, stamp: Stamp) {
        let first = &mut self.stamps[side & 1];
        if first.frame == 0 {
            *first = stamp;
        }
    }

    fn state(&self) -> SessionState {
        let is_done = match self.carrier {
            // The rest is private.
            Carrier::Quic => self.client.is_some() && self.server.is_some(),
            // Few datagrams are captured behind later ones.
            _ => self.is_established || self.is_sealed(SEALED_RECORDS),
        };
        match is_done {
            true => SessionState::Done,
            false => SessionState::More,
        }
    }

    fn part(&mut self, side: usize, part: RecordPart<'_>, stamp: Stamp) {
        self.received[side & 1] = true;
        match part {
            RecordPart::Handshake(kind, body) => self.message(side, kind, body, stamp),
            RecordPart::CutHello(body) if self.client_side != Some(1 - (side & 1)) => {
                let is_datagram = self.carrier == Carrier::Dtls;
                self.client_hello(side, ClientHello::parse_cut(body, is_datagram), stamp);
            }
            RecordPart::CutHello(_) => {}
            RecordPart::CutChain(body) => self.certificate(self.client_side == Some(side), body),
            RecordPart::Ssl2Hello(body) => {
                self.client_hello(side, ClientHello::parse_ssl2(body), stamp);
            }
            RecordPart::Alert(level, description) => {
                let alert = Alert {
                    from_client: self.client_side == Some(side),
                    level,
                    description,
                };
                // Datagrams are sent again.
                let is_again = self.carrier != Carrier::Tls && self.alerts.last() == Some(&alert);
                if self.alerts.len() < ALERTS_MAX && !is_again {
                    self.alerts.push(alert);
                }
            }
            RecordPart::ChangeCipherSpec => {
                self.changed[side & 1] = true;
                let is_old = self
                    .version()
                    .is_some_and(|version| !is_private_hello(version));
                self.is_established |= is_old && self.changed == [true; 2];
            }
            RecordPart::Data(kind) => {
                self.has_application[side & 1] |= kind == APPLICATION;
                let sealed = &mut self.sealed[side & 1];
                *sealed = sealed.saturating_add(self.changed[side & 1].into());
                self.is_encrypted[side & 1] = true;
                // Data of a client that sends none early answer a server whose hello is captured later.
                let is_of_client = self.client_side == Some(side);
                let client = self.client.as_ref().filter(|_| is_of_client);
                let is_late = client.is_some_and(|client| !client.has_early_data && !client.is_cut);
                self.has_data[side & 1] |= self.server.is_some() || is_late;
                self.is_established |= match self.version().map(is_private_hello) {
                    Some(true) => self.has_data == [true; 2],
                    // A change of cipher spec before it was not captured.
                    Some(false) => {
                        self.changed[side & 1] = true;
                        self.changed == [true; 2]
                    }
                    None => false,
                };
            }
            RecordPart::TooLong => self.too_long = self.too_long.saturating_add(1),
        }
    }

    fn message(&mut self, side: usize, kind: u8, body: &[u8], stamp: Stamp) {
        let is_datagram = self.carrier == Carrier::Dtls;
        match kind {
            1 => self.client_hello(side, ClientHello::parse(body, is_datagram), stamp),
            2 if self.server.is_none() => {
                if let Ok(hello) = ServerHello::parse(body) {
                    if hello.is_retry() {
                        self.was_retried = true;
                        return;
                    }
                    self.server = Some(hello);
                    self.server_stamp = stamp;
                    self.client_side.get_or_insert(1 - (side & 1));
                }
            }
            11 => self.certificate(self.client_side == Some(side), body),
            12 => {
                // A named curve (RFC 8422, 5.4).
                if let [3, high, low, ..] = body {
                    self.group = Some(u16::from_be_bytes([*high, *low]));
                } else {
                    self.group.get_or_insert(0);
                }
            }
            14 => self.has_hello_done = true,
            16 => self.has_key_exchange = true,
            _ => {}
        }
    }

    /// Keeps the first hello of the client.
    fn client_hello(&mut self, side: usize, hello: Result<ClientHello, Short>, stamp: Stamp) {
        if self.client.is_none()
            && let Ok(hello) = hello
        {
            self.client = Some(hello);
            self.client_stamp = stamp;
            self.client_side = Some(side);
        }
    }

    /// A chain of certificates, as versions before 1.3 send it.
    fn certificate(&mut self, from_client: bool, body: &[u8]) {
        let chain = match from_client {
            true => &mut self.client_certificates,
            false => &mut self.certificates,
        };
        if !chain.is_empty() {
            return;
        }
        let mut rest = body.get(3..).unwrap_or_default();
        while let [a, b, c, after @ ..] = rest {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            let Some((der, next)) = after.split_at_checked(length) else {
                return;
            };
            if chain.len() < CERTIFICATES_MAX {
                chain.push(Certificate::parse(der));
            } else {
                self.certificates_dropped = self.certificates_dropped.saturating_add(1);
            }
            rest = next;
        }
    }
}

/// True for versions in which all behind the hellos is private.
const fn is_private_hello(version: u16) -> bool {
    matches!(version, 0x0304 | 0xfefc | 0x7f00..=0x7fff)
}
