//! The first message of either side.

use weir_bytes::{Endian, Reader, Short};

/// The hello of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientHello {
    /// The version that is there for old servers.
    pub version: u16,
    /// The random value.
    pub random: [u8; 32],
    /// The session that it would resume, or something random.
    pub session_id: Vec<u8>,
    /// Cipher suites, best first.
    pub suites: Vec<u16>,
    /// Types of the extensions, in their order.
    pub extensions: Vec<u16>,
    /// The name that is wanted (RFC 6066, 3).
    pub server_name: Option<String>,
    /// Application protocols (RFC 7301).
    pub protocols: Vec<String>,
    /// The first of them as it came.
    pub(super) first_protocol: Vec<u8>,
    /// Groups of keys.
    pub groups: Vec<u16>,
    /// Formats of points.
    pub point_formats: Vec<u8>,
    /// Algorithms of signatures.
    pub signatures: Vec<u16>,
    /// Algorithms of signatures of all extensions that list some, those for certificates and delegated
    /// credentials among them.
    pub all_signatures: Vec<u16>,
    /// Versions (RFC 8446, 4.2.1).
    pub versions: Vec<u16>,
    /// The hello has a ticket of an earlier session (RFC 5077), or a pre-shared key (RFC 8446, 4.2.11).
    pub has_ticket: bool,
    /// The client sends early data (RFC 8446, 4.2.10).
    pub has_early_data: bool,
    /// The hello has the form of SSL 2 (RFC 5246, E.2), for which no fingerprint is defined.
    pub is_ssl2_form: bool,
    /// The end of the hello was not captured: its lists may lack some, and no fingerprint is that of its client.
    pub is_cut: bool,
}

/// The hello of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerHello {
    /// The version of the message, which is TLS 1.2's for later ones.
    pub version: u16,
    /// The random value.
    pub random: [u8; 32],
    /// The session.
    pub session_id: Vec<u8>,
    /// The cipher suite.
    pub suite: u16,
    /// Types of the extensions, in their order.
    pub extensions: Vec<u16>,
    /// The version that was chosen, where an extension says it.
    pub chosen_version: Option<u16>,
    /// The application protocol, where the server names it in clear: TLS 1.3 encrypts it.
    pub protocol: Option<String>,
    /// The group of its key share.
    pub group: Option<u16>,
    /// The key of an earlier session was taken.
    pub has_key_of_earlier: bool,
}

/// The random of a server hello that asks for another client hello (RFC 8446, 4.1.3).
pub(super) const RETRY: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// A list behind its length in one or two octets.
fn list<'m>(reader: &mut Reader<'m>, wide: bool) -> Result<&'m [u8], Short> {
    let length = match wide {
        true => reader.u16(Endian::Big)?.into(),
        false => reader.u8()?.into(),
    };
    reader.take(length)
}

/// The numbers of a list.
fn numbers(bytes: &[u8]) -> Vec<u16> {
    let pairs = bytes.chunks_exact(2);
    pairs
        .map(|pair| u16::from_be_bytes(pair.try_into().unwrap_or_default()))
        .collect()
}

/// Names of application protocols.
fn protocols(body: &[u8]) -> Vec<&[u8]> {
    let mut reader = Reader::new(body);
    let mut all = Vec::new();
    if let Ok(names) = list(&mut reader, true) {
        let mut reader = Reader::new(names);
        while let Ok(name) = list(&mut reader, false) {
            all.push(name);
        }
    }
    all
}

/// Calls `each` with the type and the body of each extension of a message.
fn extensions<'m>(reader: &mut Reader<'m>, each: impl FnMut(u16, &'m [u8])) {
    if let Ok(all) = list(reader, true) {
        extensions_of(all, each);
    }
}

/// The same of a list of extensions, as far as it is there.
fn extensions_of<'m>(all: &'m [u8], mut each: impl FnMut(u16, &'m [u8])) {
    let mut reader = Reader::new(all);
    while let Ok(kind) = reader.u16(Endian::Big) {
        let Ok(body) = list(&mut reader, true) else {
            return;
        };
        each(kind, body);
    }
}

impl ClientHello {
    /// Reads the body of the message. The cipher suites and the following fields are read as far as they are there.
    ///
    /// # Errors
    /// It ends before.
    pub fn parse(body: &[u8], is_datagram: bool) -> Result<Self, Short> {
        let mut reader = Reader::new(body);
        let mut hello = Self::begun(&mut reader, is_datagram)?;
        extensions(&mut reader, |kind, body| hello.extension(kind, body));
        Ok(hello)
    }

    /// Reads the first octets of the body of a message, of which the rest was not captured.
    ///
    /// # Errors
    /// They end in front of the cipher suites.
    pub(super) fn parse_cut(body: &[u8], is_datagram: bool) -> Result<Self, Short> {
        let mut reader = Reader::new(body);
        let mut hello = Self::begun(&mut reader, is_datagram)?;
        hello.is_cut = true;
        if reader.u16(Endian::Big).is_ok() {
            extensions_of(reader.rest(), |kind, body| hello.extension(kind, body));
        }
        Ok(hello)
    }

    /// Reads the fields in front of the extensions.
    fn begun(reader: &mut Reader<'_>, is_datagram: bool) -> Result<Self, Short> {
        let mut hello = Self {
            version: reader.u16(Endian::Big)?,
            random: reader.array()?,
            session_id: list(reader, false)?.to_vec(),
            ..Self::default()
        };
        if is_datagram {
            list(reader, false)?;
        }
        let length = usize::from(reader.u16(Endian::Big)?);
        hello.suites = numbers(reader.take(length.min(reader.remaining()))?);
        // Without compression methods, the reader is at the end.
        if list(reader, false).is_err() {
            reader.skip(reader.remaining())?;
        }
        Ok(hello)
    }

    /// Reads a hello in the form of SSL 2 (RFC 5246, E.2), behind the two octets of its length. Suites of SSL 2
    /// itself, which have three octets, are passed over.
    ///
    /// # Errors
    /// It ends before its challenge does.
    pub fn parse_ssl2(body: &[u8]) -> Result<Self, Short> {
        let mut reader = Reader::new(body);
        reader.u8()?;
        let version = reader.u16(Endian::Big)?;
        let mut length = || reader.u16(Endian::Big).map(usize::from);
        let (suites, session, challenge) = (length()?, length()?, length()?);
        let triples = reader.take(suites)?.chunks_exact(3);
        let suites = triples
            .filter_map(|triple| match triple {
                [0, high, low] => Some(u16::from_be_bytes([*high, *low])),
                _ => None,
            })
            .collect();
        let session_id = reader.take(session)?.to_vec();
        let challenge = reader.take(challenge)?;
        // A challenge of fewer octets has zeros before it.
        let mut random = [0; 32];
        for (to, from) in random.iter_mut().rev().zip(challenge.iter().rev()) {
            *to = *from;
        }
        Ok(Self {
            version,
            random,
            session_id,
            suites,
            is_ssl2_form: true,
            ..Self::default()
        })
    }

    fn extension(&mut self, kind: u16, body: &[u8]) {
        self.extensions.push(kind);
        let mut reader = Reader::new(body);
        if matches!(kind, 13 | 34 | 50) {
            let mut reader = Reader::new(body);
            self.all_signatures
                .extend(list(&mut reader, true).map(numbers).unwrap_or_default());
        }
        match kind {
            0 => self.server_name = server_name(&mut reader),
            10 => self.groups = list(&mut reader, true).map(numbers).unwrap_or_default(),
            11 => {
                let formats = list(&mut reader, false);
                self.point_formats = formats.unwrap_or_default().to_vec();
            }
            13 => self.signatures = list(&mut reader, true).map(numbers).unwrap_or_default(),
            16 => {
                let all = protocols(body);
                self.first_protocol = all.first().copied().unwrap_or_default().to_vec();
                self.protocols = all.into_iter().map(crate::printable).collect();
            }
            35 => self.has_ticket |= !body.is_empty(),
            41 => self.has_ticket = true,
            42 => self.has_early_data = true,
            43 => self.versions = list(&mut reader, false).map(numbers).unwrap_or_default(),
            _ => {}
        }
    }
}

/// The first name of type host.
fn server_name(reader: &mut Reader<'_>) -> Option<String> {
    let mut names = Reader::new(list(reader, true).ok()?);
    let kind = names.u8().ok()?;
    let name = list(&mut names, true).ok()?;
    (kind == 0).then(|| crate::printable(name))
}

impl ServerHello {
    /// Reads the body of the message.
    ///
    /// # Errors
    /// It ends before the cipher suite.
    pub fn parse(body: &[u8]) -> Result<Self, Short> {
        let mut reader = Reader::new(body);
        let version = reader.u16(Endian::Big)?;
        let random = reader.array()?;
        let mut hello = Self {
            version,
            random,
            ..Self::default()
        };
        // Drafts of TLS 1.3 before the 22nd have neither session nor compression.
        let is_draft = version >> 8 == 0x7f;
        if !is_draft {
            hello.session_id = list(&mut reader, false)?.to_vec();
        }
        hello.suite = reader.u16(Endian::Big)?;
        if is_draft || reader.u8().is_ok() {
            extensions(&mut reader, |kind, body| hello.extension(kind, body));
        }
        Ok(hello)
    }

    fn extension(&mut self, kind: u16, body: &[u8]) {
        self.extensions.push(kind);
        let mut reader = Reader::new(body);
        match kind {
            16 => self.protocol = protocols(body).first().map(|name| crate::printable(name)),
            41 => self.has_key_of_earlier = true,
            43 => self.chosen_version = reader.u16(Endian::Big).ok(),
            51 => self.group = reader.u16(Endian::Big).ok(),
            _ => {}
        }
    }

    /// Whether it requests another client hello.
    #[must_use]
    pub fn is_retry(&self) -> bool {
        self.random == RETRY
    }

    /// The version that both will speak.
    #[must_use]
    pub fn negotiated(&self) -> u16 {
        self.chosen_version.unwrap_or(self.version)
    }
}
