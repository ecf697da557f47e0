//! Recognises application protocols by the first bytes of a stream or datagram, and not by the port.

use weir_bytes::{u8_at, u16_be_at, u32_be_at};

/// Names an application protocol.
macro_rules! applications {
    ($($name:ident $word:literal,)*) => {
        /// The application protocol of a flow, by Zeek's name if Zeek has one.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u8)]
        #[allow(missing_docs, reason = "as_str names them")]
        pub enum Application {
            #[default]
            Unknown,
            $($name,)*
        }

        impl Application {
            /// All that are known.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The name in lower case; `None` when it is not known.
            #[must_use]
            pub const fn as_str(self) -> Option<&'static str> {
                match self {
                    Self::Unknown => None,
                    $(Self::$name => Some($word),)*
                }
            }
        }
    };
}

applications! {
    Http "http",
    WebSocket "websocket",
    Tls "ssl",
    Dtls "dtls",
    Ssh "ssh",
    Smtp "smtp",
    Ftp "ftp",
    Pop3 "pop3",
    Imap "imap",
    Irc "irc",
    Sip "sip",
    H248 "h248",
    Mgcp "mgcp",
    M3ua "m3ua",
    Diameter "diameter",
    Rtsp "rtsp",
    Rtp "rtp",
    Rtcp "rtcp",
    Stun "stun",
    Dns "dns",
    Dhcp "dhcp",
    Ntp "ntp",
    Snmp "snmp",
    Quic "quic",
    Syslog "syslog",
    Radius "radius",
    Tftp "tftp",
    Smb "smb",
    Rdp "rdp",
    Ldap "ldap",
    Kerberos "krb",
    Mqtt "mqtt",
    MySql "mysql",
    PostgreSql "postgresql",
    Redis "redis",
    Socks "socks",
    Bgp "bgp",
    Modbus "modbus",
    Dnp3 "dnp3",
    Rfb "rfb",
    BitTorrent "bittorrent",
    Xmpp "xmpp",
}

/// The facts about the bytes that are not in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// The bytes are of a stream (TCP), and not of a datagram or an SCTP message.
    pub is_stream: bool,
    /// The bytes were sent by the originator.
    pub from_originator: bool,
    /// The responder's port, which decides between protocols that look alike.
    pub server_port: u16,
}

/// The application protocol whose first bytes these are, as far as they tell.
///
/// Reads at most some hundred bytes and allocates nothing. Where little is there to tell by (DNS,
/// NTP and the like), the port has to agree.
#[must_use]
pub fn detect(payload: &[u8], context: &Context) -> Application {
    if payload.is_empty() {
        return Application::Unknown;
    }
    let text = text_protocol(without_blank_lines(payload, context), context);
    if text != Application::Unknown {
        return text;
    }
    if context.is_stream {
        stream_protocol(payload, context)
    } else {
        datagram_protocol(payload, context)
    }
}

/// Protocols of lines of text.
fn text_protocol(payload: &[u8], context: &Context) -> Application {
    if is_sip(payload) {
        return Application::Sip;
    }
    if is_h248_text(payload) {
        return Application::H248;
    }
    if payload.starts_with(b"RTSP/1.0 ") || request_version(payload) == Some(b"RTSP") {
        return Application::Rtsp;
    }
    if !context.is_stream {
        return match is_mgcp(payload, context) {
            true => Application::Mgcp,
            false => Application::Unknown,
        };
    }
    if payload.starts_with(b"HTTP/1.") {
        return if is_upgrade(payload) {
            Application::WebSocket
        } else {
            Application::Http
        };
    }
    if request_version(payload) == Some(b"HTTP") || is_old_http(payload, context) {
        return Application::Http;
    }
    let starts = |words: &[&[u8]]| words.iter().any(|word| payload.starts_with(word));
    if starts(&[b"SSH-1.", b"SSH-2.0-"]) {
        Application::Ssh
    } else if starts(&[b"* OK", b"* PREAUTH"]) {
        Application::Imap
    } else if starts(&[b"+OK"]) && !context.from_originator && context.server_port != 6379 {
        Application::Pop3
    } else if starts(&[b"EHLO ", b"HELO ", b"MAIL FROM:"]) {
        Application::Smtp
    } else if starts(&[b"220"]) && !context.from_originator {
        greeting(payload, context)
    } else if starts(&[b"USER anonymous", b"FEAT\r\n", b"AUTH TLS\r\n"])
        && context.server_port == 21
    {
        Application::Ftp
    } else if starts(&[b"NICK ", b"USER ", b"PASS "]) && is_irc_port(context.server_port) {
        Application::Irc
    } else if starts(&[b"RFB 003.", b"RFB 004."]) {
        Application::Rfb
    } else if starts(&[b"\x13BitTorrent protocol"]) {
        Application::BitTorrent
    } else if is_xmpp(payload) {
        Application::Xmpp
    } else {
        Application::Unknown
    }
}

/// Whether octets begin a stream of XMPP (RFC 6120, 4.2 and 11.5), with a declaration of XML before it or without.
fn is_xmpp(payload: &[u8]) -> bool {
    let declaration = payload.strip_prefix(b"<?xml");
    let behind = declaration.and_then(|rest| {
        let head = rest.get(..XML_DECLARATION_OCTETS_MAX).unwrap_or(rest);
        let end = head.windows(2).position(|two| two == b"?>")?;
        rest.get(end.saturating_add(2)..)
    });
    let stream = behind.unwrap_or(payload).trim_ascii_start();
    stream.starts_with(b"<stream:stream")
}

/// Octets of a declaration of XML that are searched for its end.
const XML_DECLARATION_OCTETS_MAX: usize = 128;

/// A stream without the empty lines that may stand before a message (RFC 3261, 7.5; RFC 9112, 2.2).
fn without_blank_lines<'p>(payload: &'p [u8], context: &Context) -> &'p [u8] {
    let is_text = |byte: &u8| !matches!(byte, b'\r' | b'\n');
    match payload.iter().position(is_text) {
        Some(blank) if context.is_stream => payload.get(blank..).unwrap_or_default(),
        _ => payload,
    }
}

/// A reply 220: FTP and SMTP greet alike. The first of its lines that names one of them counts; otherwise, once the
/// reply is whole, the port does.
fn greeting(payload: &[u8], context: &Context) -> Application {
    const OCTETS_MAX: usize = 256;
    let head = payload.get(..OCTETS_MAX).unwrap_or(payload);
    let mut is_whole = head.len() == OCTETS_MAX;
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        if !line.ends_with(b"\n") && head.len() < OCTETS_MAX {
            break;
        }
        if contains(line, b"SMTP") {
            return Application::Smtp;
        }
        if contains(line, b"FTP") {
            return Application::Ftp;
        }
        is_whole |= line.starts_with(b"220 ");
    }
    match context.server_port {
        25 | 465 | 587 if is_whole => Application::Smtp,
        21 | 2811 if is_whole => Application::Ftp,
        _ => Application::Unknown,
    }
}

const fn is_irc_port(port: u16) -> bool {
    matches!(port, 6660..=6669 | 7000)
}

/// True for the first bytes of a SIP message (RFC 3261, 7): a request or status line of version 2.0.
#[must_use]
pub fn is_sip(payload: &[u8]) -> bool {
    payload.starts_with(b"SIP/2.0 ") || request_version(payload) == Some(b"SIP/")
}

/// True for the first bytes of a Megaco/H.248 message in text (H.248.1, B.2), long or short.
#[must_use]
pub fn is_h248_text(payload: &[u8]) -> bool {
    let bytes = payload.trim_ascii_start();
    let Some(rest) = [&b"MEGACO/"[..], b"!/"].iter().find_map(|word| {
        let head = bytes.get(..word.len())?;
        head.eq_ignore_ascii_case(word)
            .then(|| bytes.get(word.len()..))
            .flatten()
    }) else {
        return false;
    };
    // The version, then white space and the identifier of the sender (RFC 3525, B.2: `mId`).
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (1..=2).contains(&digits) && rest.get(digits).is_some_and(u8::is_ascii_whitespace)
}

/// True for the first bytes of a message of MGCP (RFC 3435, 3.2 and 3.3): a command and its version, or, from its ports, a
/// return code and a transaction.
fn is_mgcp(payload: &[u8], context: &Context) -> bool {
    const LINE_MAX: usize = 512;
    let head = payload
        .get(..payload.len().min(LINE_MAX))
        .unwrap_or(payload);
    let line = head.split(|byte| matches!(byte, b'\r' | b'\n'));
    let mut words = line
        .take(1)
        .flat_map(|line| line.split(|byte| *byte == b' '));
    let (Some(first), Some(second)) = (words.next(), words.next()) else {
        return false;
    };
    let is_number = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    if !is_number(second) {
        return false;
    }
    let is_command = first.len() == 4 && first.iter().all(u8::is_ascii_alphabetic);
    match is_command {
        true => words
            .nth(1)
            .is_some_and(|word| word.eq_ignore_ascii_case(b"MGCP")),
        false => matches!(context.server_port, 2427 | 2727) && first.len() == 3 && is_number(first),
    }
}

/// The name in the version of a request line (`HTTP`, `SIP/` or `RTSP`). The line is a method, a space, anything, a space, the
/// version, and the end of the line.
fn request_version(payload: &[u8]) -> Option<&'static [u8; 4]> {
    const LINE_MAX: usize = 2_048;
    let head = payload.get(..payload.len().min(LINE_MAX))?;
    let method = head.iter().take(20).position(|byte| *byte == b' ')?;
    let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"-.!%*_+`'~".contains(byte);
    if method == 0 || !head.get(..method)?.iter().all(is_token) {
        return None;
    }
    let Some(end) = head.iter().position(|byte| *byte == b'\n') else {
        // The line is longer than what is there: the methods of HTTP are few.
        let method = head.get(..method)?;
        return HTTP_METHODS.contains(&method).then_some(b"HTTP");
    };
    let line = head.get(..end)?.trim_ascii_end();
    let version = line.get(line.iter().rposition(|byte| *byte == b' ')?..)?;
    match version {
        b" HTTP/1.1" | b" HTTP/1.0" | b" HTTP/2.0" => Some(b"HTTP"),
        b" SIP/2.0" => Some(b"SIP/"),
        b" RTSP/1.0" => Some(b"RTSP"),
        _ => None,
    }
}

const HTTP_METHODS: &[&[u8]] = &[
    b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"CONNECT",
];

/// HTTP before it had versions: `GET` and a path.
fn is_old_http(payload: &[u8], context: &Context) -> bool {
    payload.starts_with(b"GET /") && matches!(context.server_port, 80 | 8000 | 8080)
}

/// Whether a response of HTTP/1.1 switches to WebSocket (RFC 6455, 4.2.2).
#[must_use]
pub fn is_upgrade(response: &[u8]) -> bool {
    const HEAD_MAX: usize = 4_096;
    let head = response
        .get(..response.len().min(HEAD_MAX))
        .unwrap_or_default();
    if !head.starts_with(b"HTTP/1.1 101") {
        return false;
    }
    head.split(|byte| *byte == b'\n').any(|line| {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            return false;
        };
        let (name, value) = line.split_at(colon);
        let value = value.get(1..).unwrap_or_default();
        name.eq_ignore_ascii_case(b"upgrade")
            && value
                .split(|byte| *byte == b',')
                .any(|token| token.trim_ascii().eq_ignore_ascii_case(b"websocket"))
    })
}

/// Binary protocols over TCP.
fn stream_protocol(payload: &[u8], context: &Context) -> Application {
    if is_tls(payload) {
        return Application::Tls;
    }
    let port = context.server_port;
    match payload {
        [_, _, _, _, 0xff, b'S', b'M', b'B', ..] | [_, _, _, _, 0xfe, b'S', b'M', b'B', ..] => {
            Application::Smb
        }
        [3, 0, _, _, _, 0xe0, ..] if port == 3389 || contains(payload, b"mstshash") => {
            Application::Rdp
        }
        [3, 0, _, _, ..] if port == 2944 || port == 2945 => Application::H248,
        [b'B', b'G', b'P', ..] => Application::Unknown,
        [0x10, _, 0, 4 | 6, b'M', b'Q', ..] | [0x10, _, _, 0, 4 | 6, b'M', b'Q', ..] => {
            Application::Mqtt
        }
        [5, methods, ..] if port == 1080 && payload.len() >= usize::from(*methods) + 2 => {
            Application::Socks
        }
        [4, 1 | 2, _, _, ..] if port == 1080 => Application::Socks,
        [0x05, 0x64, _, ..] if port == 20000 => Application::Dnp3,
        [_, _, 0, 0, _, _, _, 1..=0x7f, ..] if port == 502 => Application::Modbus,
        [0xff, ..] if is_bgp(payload) => Application::Bgp,
        [b'*', b'1'..=b'9', ..] if is_redis(payload) => Application::Redis,
        [1, ..] if is_diameter(payload, context) => Application::Diameter,
        _ if is_mysql(payload, context) => Application::MySql,
        _ if is_postgresql(payload) => Application::PostgreSql,
        _ if is_ldap(payload) && matches!(port, 389 | 3268) => Application::Ldap,
        _ if port == 88 && is_kerberos(payload.get(4..).unwrap_or_default()) => {
            Application::Kerberos
        }
        _ if port == 53 && is_dns(payload.get(2..).unwrap_or_default()) => Application::Dns,
        _ => Application::Unknown,
    }
}

/// A TLS record with a hello (RFC 8446, 5.1), or SSL 2's client hello.
fn is_tls(payload: &[u8]) -> bool {
    match payload {
        // A hello may come in records of one octet each, and behind an empty one.
        [22, 3, 0..=4, 0, 0, 22, 3, 0..=4, ..] => true,
        [22, 3, 0..=4, high, low, 1 | 2, ..] => (high, low) != (&0, &0),
        // An alert may stand in the place of a hello.
        [21, 3, 0..=4, 0, 2, 1 | 2, ..] => true,
        [length, _, 1, 3, 0..=3, ..] => length & 0x80 != 0 && payload.len() > 9,
        _ => false,
    }
}

/// A header of Diameter, and between its ports or with the header of a pair of its base (RFC 6733, 3 and 4.1).
fn is_diameter(payload: &[u8], context: &Context) -> bool {
    let (Some(length), Some(flags)) = (u32_be_at(payload, 0), u8_at(payload, 4)) else {
        return false;
    };
    let length = length & 0x00ff_ffff;
    let is_header = length >= 20
        && length.is_multiple_of(4)
        && flags & 0x0f == 0
        && flags & 0xa0 != 0xa0
        && payload.len() >= 20;
    if !is_header || matches!(context.server_port, 3868 | 5868) {
        return is_header;
    }
    let pair = (u32_be_at(payload, 20), u32_be_at(payload, 24));
    let (Some(code), Some(flags_and_length)) = pair else {
        return false;
    };
    let pair_length = flags_and_length & 0x00ff_ffff;
    (1..=999).contains(&code)
        && flags_and_length >> 24 & 0x9f == 0
        && (8..=length - 20).contains(&pair_length)
}

/// The application of an SCTP user message, by its payload protocol identifier (IANA), or by its bytes.
pub(crate) fn of_message(protocol: u32, payload: &[u8], context: &Context) -> Application {
    match protocol {
        3 => Application::M3ua,
        7 => Application::H248,
        46 => Application::Diameter,
        47 => Application::Dtls,
        _ => text_protocol(payload, context),
    }
}

fn is_bgp(payload: &[u8]) -> bool {
    payload.starts_with(&[0xff; 16]) && matches!(u8_at(payload, 18), Some(1..=5))
}

fn is_redis(payload: &[u8]) -> bool {
    let mut lines = payload.split(|byte| *byte == b'\n');
    let digits = |line: &[u8]| {
        let digits = line.get(1..).unwrap_or_default().trim_ascii_end();
        !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
    };
    lines.next().is_some_and(digits)
        && lines
            .next()
            .is_some_and(|line| line.starts_with(b"$") && digits(line))
}

/// The greeting of the server: length, number 0, protocol 10, a version that is text.
fn is_mysql(payload: &[u8], context: &Context) -> bool {
    let [l0, l1, l2, 0, 10, version @ ..] = payload else {
        return false;
    };
    let len = u32::from_le_bytes([*l0, *l1, *l2, 0]) as usize;
    let end = version.iter().position(|byte| *byte == 0);
    !context.from_originator
        && len.saturating_add(4) <= payload.len()
        && end.is_some_and(|end| end > 2 && version.iter().take(end).all(u8::is_ascii_graphic))
}

/// A startup message of protocol 3.0, or the request to go on with TLS.
fn is_postgresql(payload: &[u8]) -> bool {
    let (Some(len), Some(code)) = (u32_be_at(payload, 0), u32_be_at(payload, 4)) else {
        return false;
    };
    len as usize <= payload.len() && (code == 0x0003_0000 && len > 8 || code == 80_877_103)
}

/// A message of BER (RFC 4511, 4.1.1): a sequence, a small number, a bind or search.
fn is_ldap(payload: &[u8]) -> bool {
    let body = match payload {
        [0x30, 0x84, _, _, _, _, body @ ..] => body,
        [0x30, 0x82, _, _, body @ ..] | [0x30, 0x81, _, body @ ..] => body,
        [0x30, 0..=0x7f, body @ ..] => body,
        _ => return false,
    };
    matches!(body, [2, len @ 1..=4, ..] if matches!(u8_at(body, 2 + usize::from(*len)), Some(0x60..=0x78)))
}

fn is_kerberos(message: &[u8]) -> bool {
    matches!(message, [0x6a..=0x6f | 0x7e, ..]) && message.len() > 10
}

/// Binary protocols over UDP.
fn datagram_protocol(payload: &[u8], context: &Context) -> Application {
    let port = context.server_port;
    if u32_be_at(payload, 4) == Some(STUN_COOKIE) && payload.len() >= 20 && is_small(payload) {
        return Application::Stun;
    }
    match port {
        53 | 5353 | 5355 | 137 if is_dns(payload) => return Application::Dns,
        67 | 68 if u32_be_at(payload, 236) == Some(0x6382_5363) => return Application::Dhcp,
        123 if is_ntp(payload) => return Application::Ntp,
        161 | 162 if is_snmp(payload) => return Application::Snmp,
        514 if payload.first() == Some(&b'<') => return Application::Syslog,
        1812 | 1813 | 1645 | 1646 if is_radius(payload) => return Application::Radius,
        69 if matches!(payload, [0, 1 | 2, ..]) && payload.ends_with(&[0]) => {
            return Application::Tftp;
        }
        88 if is_kerberos(payload) => return Application::Kerberos,
        389 if is_ldap(payload) => return Application::Ldap,
        20000 if payload.starts_with(&[5, 0x64]) => return Application::Dnp3,
        _ => {}
    }
    if matches!(payload, [20..=23, 0xfe, 0xfd | 0xff, ..]) || is_old_dtls(payload) {
        return Application::Dtls;
    }
    if is_quic(payload) {
        return Application::Quic;
    }
    rtp_or_rtcp(payload)
}

/// A record of the handshake in the version of OpenSSL before RFC 4347, 0x0100, of the first epoch and as long as it says.
fn is_old_dtls(payload: &[u8]) -> bool {
    let length = u16_be_at(payload, 11).map(usize::from);
    matches!(payload, [22, 1, 0, 0, 0, ..])
        && length.is_some_and(|length| length >= 12 && payload.len() >= 13 + length)
}

const STUN_COOKIE: u32 = 0x2112_a442;

/// The two first bits are zero and the length is a multiple of four (RFC 8489, 5).
fn is_small(payload: &[u8]) -> bool {
    u16_be_at(payload, 0).is_some_and(|kind| kind < 0x4000)
        && u16_be_at(payload, 2).is_some_and(|len| len.is_multiple_of(4))
}

/// A header whose counts fit its length (RFC 1035, 4.1.1).
fn is_dns(message: &[u8]) -> bool {
    let number = |at| u16_be_at(message, at).map(usize::from);
    let (Some(flags), Some(questions), Some(answers)) = (number(2), number(4), number(6)) else {
        return false;
    };
    let operation = flags >> 11 & 15;
    let counted = questions.saturating_mul(5) + answers.saturating_mul(11);
    message.len() >= 12 && operation <= 6 && counted <= message.len()
}

fn is_ntp(payload: &[u8]) -> bool {
    let mode_and_version = payload.first().map(|first| (first & 7, first >> 3 & 7));
    matches!(mode_and_version, Some((1..=7, 1..=4))) && payload.len() >= 12
}

fn is_snmp(payload: &[u8]) -> bool {
    let version_at = match payload {
        [0x30, 0x82, ..] => 4,
        [0x30, 0x81, ..] => 3,
        [0x30, ..] => 2,
        _ => return false,
    };
    matches!(payload.get(version_at..), Some([2, 1, 0..=3, ..]))
}

fn is_radius(payload: &[u8]) -> bool {
    u16_be_at(payload, 2).is_some_and(|len| usize::from(len) == payload.len() && len >= 20)
}

/// A long header of a known version (RFC 9000, 17.2), or Google's older one.
fn is_quic(payload: &[u8]) -> bool {
    let Some(version) = u32_be_at(payload, 1) else {
        return false;
    };
    let is_known = matches!(
        version,
        1 | 0x6b33_43cf | 0xff00_0017..=0xff00_0022 | 0xface_b001 | 0xface_b002 | 0xface_b00e
    );
    let is_google = version >> 8 == 0x0051_3034 || version >> 8 == 0x0051_3035;
    payload.first().is_some_and(|first| first & 0xc0 == 0xc0)
        && payload.len() >= 40
        && (is_known || is_google)
}

/// The fields of an RTP header that continue from packet to packet (RFC 3550, 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RtpHeader {
    pub(crate) sequence: u16,
    pub(crate) source: u32,
}

impl RtpHeader {
    /// The header of a datagram that [`detect`] recognises as RTP.
    pub(crate) fn of(payload: &[u8]) -> Option<Self> {
        Some(Self {
            sequence: u16_be_at(payload, 2)?,
            source: u32_be_at(payload, 8)?,
        })
    }
}

/// Version 2 and a payload type that is in use (RFC 3550, 5.1 and 6.1; RFC 3551, 6). One packet says
/// little, so only types that are assigned or dynamic count, and what follows must fit. The flow table asks
/// for several packets that go on ([`RtpHeader`]).
fn rtp_or_rtcp(payload: &[u8]) -> Application {
    let (Some(first), Some(second)) = (u8_at(payload, 0), u8_at(payload, 1)) else {
        return Application::Unknown;
    };
    if first >> 6 != 2 {
        return Application::Unknown;
    }
    if (200..=204).contains(&second) {
        let words = usize::from(u16_be_at(payload, 2).unwrap_or(u16::MAX)) + 1;
        return if words * 4 <= payload.len() && words >= 2 {
            Application::Rtcp
        } else {
            Application::Unknown
        };
    }
    let kind = second & 0x7f;
    let header = 12 + usize::from(first & 15) * 4;
    let is_in_use = matches!(kind, 0 | 3..=18 | 25..=26 | 28 | 31..=34 | 96..=127);
    if is_in_use && first & 0x20 == 0 && payload.len() > header {
        Application::Rtp
    } else {
        Application::Unknown
    }
}

pub(crate) fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: Context = Context {
        is_stream: true,
        from_originator: true,
        server_port: 40_000,
    };

    fn server(port: u16) -> Context {
        Context {
            from_originator: false,
            server_port: port,
            ..CLIENT
        }
    }

    fn datagram(port: u16) -> Context {
        Context {
            is_stream: false,
            server_port: port,
            ..CLIENT
        }
    }

    #[test]
    fn first_bytes_tell() {
        let dns = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x01a\0\0\x01\0\x01";
        let cases: &[(&[u8], Context, Application)] = &[
            (b"GET / HTTP/1.1\r\nHost: a\r\n", CLIENT, Application::Http),
            (b"HTTP/1.0 200 OK\r\n", server(1), Application::Http),
            (
                b"HTTP/1.1 101 Switching\r\nUPGRADE: h2c, WebSocket\r\n\r\n",
                server(1),
                Application::WebSocket,
            ),
            (
                b"HTTP/1.1 101 S\r\nUpgrade: h2c\r\n\r\n",
                server(1),
                Application::Http,
            ),
            (b"INVITE sip:a@b SIP/2.0\r\n", datagram(1), Application::Sip),
            (b"INVITE sip:a@b SIP/2.0\r\n", CLIENT, Application::Sip),
            (b"SIP/2.0 200 OK\r\n", datagram(1), Application::Sip),
            (b"MEGACO/1 [1.2.3.4]\nTr", datagram(1), Application::H248),
            (b"!/3 <mg>\nT=1{", datagram(1), Application::H248),
            (b"!/x", datagram(1), Application::Unknown),
            (b"SSH-2.0-OpenSSH\r\n", server(1), Application::Ssh),
            (b"220 mail ESMTP\r\n", server(1), Application::Smtp),
            (b"220 ready\r\n", server(21), Application::Ftp),
            (b"\x16\x03\x01\x02\x00\x01\x00", CLIENT, Application::Tls),
            // RFC 8446, 5.1: a message may come in fragments of an octet, and in none that is empty.
            (
                b"\x16\x03\x01\0\x01\x01\x16\x03\x01\0\x01\0",
                CLIENT,
                Application::Tls,
            ),
            (
                b"\x16\x03\x01\0\0\x01\0\0\0\0",
                CLIENT,
                Application::Unknown,
            ),
            (dns, datagram(53), Application::Dns),
            (dns, datagram(54), Application::Unknown),
            (
                b"RQNT 1202 aaln/1@rgw MGCP 1.0\rX: 1\r",
                datagram(9),
                Application::Mgcp,
            ),
            (b"200 1202 OK\r\n", datagram(2427), Application::Mgcp),
            (b"200 1202 OK\r\n", datagram(9), Application::Unknown),
            (b"OPTIONS rtsp://a RTSP/1.0\r\n", CLIENT, Application::Rtsp),
            (b"*1\r\n$4\r\nPING\r\n", CLIENT, Application::Redis),
            (
                &[0x80, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 9],
                datagram(9),
                Application::Rtp,
            ),
            (b"", CLIENT, Application::Unknown),
            (b"GET", CLIENT, Application::Unknown),
        ];
        for (payload, context, expected) in cases {
            let text = String::from_utf8_lossy(payload);
            assert_eq!(detect(payload, context), *expected, "{text}");
        }
    }

    /// A watchdog of Diameter, whole and as far as its header.
    #[test]
    fn diameter_is_recognised_by_its_header_and_first_pair() {
        let mut message = vec![
            1, 0, 0, 40, 0x80, 0, 1, 24, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1,
        ];
        message.extend(b"\0\0\x01\x08\x40\0\0\x11h.example\0\0\0");
        assert_eq!(detect(&message, &CLIENT), Application::Diameter);
        assert_eq!(detect(&message[..28], &CLIENT), Application::Diameter);
        assert_eq!(detect(&message[..27], &CLIENT), Application::Unknown);
        assert_eq!(detect(&message[..20], &server(3868)), Application::Diameter);
        // A request that is an error, a length of no words, a pair of a vendor.
        for (at, octet) in [(4, 0xa0), (3, 41), (24, 0xc0)] {
            let mut other = message.clone();
            other[at] = octet;
            assert_eq!(detect(&other, &CLIENT), Application::Unknown, "{at}");
        }
        let context = datagram(9);
        assert_eq!(of_message(46, b"", &context), Application::Diameter);
        assert_eq!(of_message(3, b"", &context), Application::M3ua);
        let invite = b"INVITE sip:a@b SIP/2.0\r\n";
        assert_eq!(of_message(0, invite, &context), Application::Sip);
        assert_eq!(of_message(0, b"\x01\x02", &context), Application::Unknown);
    }

    #[test]
    fn any_prefix_of_anything_is_survived() {
        let mut random = weir_testkit::Rng::new(5);
        for round in 0..20_000 {
            let mut bytes = random.bytes(round % 64);
            for byte in &mut bytes {
                // Letters, spaces and line ends come up more often.
                if random.below(2) == 0 {
                    *byte = b" \r\nGETSIP/2.0HMEGACO!:*$1"[random.below(25) as usize];
                }
            }
            for port in [53, 80, 88, 389, 502, 1080, 3389] {
                for context in [server(port), datagram(port)] {
                    let found = detect(&bytes, &context);
                    assert!(!bytes.is_empty() || found == Application::Unknown);
                }
            }
        }
    }
}
