//! SDP (RFC 8866): where media will be, and what they are.
//!
//! Read are lines by themselves: so the same reader finds the descriptions in a body of SIP, in a text of Megaco
//! or in one of MGCP.

use std::net::{IpAddr, SocketAddr};

use crate::rtp::Codec;

/// Media that a description announces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// `audio`, `video`, ….
    pub kind: String,
    /// The transport's profile: `RTP/AVP`, `RTP/SAVP`, ….
    pub profile: String,
    /// The address that the media are sent to.
    pub address: IpAddr,
    /// The port of RTP.
    pub port: u16,
    /// The port of RTCP.
    pub control_port: u16,
    /// The codecs of payload types.
    pub codecs: Vec<(u8, Codec)>,
    /// The identification in a bundle (`mid`, RFC 5888, 4).
    pub mid: Option<String>,
    /// Number of the header extension with that name (RFC 9143, 15; RFC 8285, 5).
    pub mid_extension: Option<u8>,
    /// The synchronization sources of the media that the describing side sends (RFC 5576, 4.1).
    pub sources: Vec<u32>,
    /// Other sockets that the media may be sent to: candidates of ICE (RFC 8839, 5.1), and those of the first media of the bundle
    /// (RFC 9143, 7.2).
    pub others: Vec<SocketAddr>,
    /// Whether the describing side gives keys of SRTP (RFC 4568, 9.1), or the fingerprint of the certificate with which they are
    /// agreed on (RFC 5763, 5).
    pub has_keys: bool,
    /// Whether the describing side agrees on sockets by ICE (RFC 8839, 5.4), and may name further candidates.
    pub has_ice: bool,
}

/// Candidates of ICE that a fragment of a description adds to media (RFC 8840, 9).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// The identification of the media (`mid`).
    pub mid: Option<String>,
    /// The sockets of the candidates over UDP.
    pub sockets: Vec<SocketAddr>,
}

/// The media of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The media whose address is known, including those of T.38 over UDPTL.
    pub media: Vec<Media>,
    /// The number of media that are left out because their address is a host name.
    pub named: u64,
    /// The number of media that are left out because there is no line with their address.
    pub without_address: u64,
}

impl Media {
    /// True for T.38 in datagrams of UDPTL (ITU-T T.38, annex D), which are no RTP.
    #[must_use]
    pub fn is_fax(&self) -> bool {
        self.profile.eq_ignore_ascii_case(UDPTL)
    }

    /// Whether it is sent over TCP (RFC 4571), by its profile: `TCP/RTP/AVP`.
    #[must_use]
    pub fn is_over_tcp(&self) -> bool {
        let transport = self.profile.split('/').next();
        transport.is_some_and(|protocol| protocol.eq_ignore_ascii_case("tcp"))
    }

    /// Whether it is sent over TLS, over TCP (RFC 8122), by its profile: `TCP/TLS/RTP/SAVP`.
    #[must_use]
    pub fn is_over_tls(&self) -> bool {
        let mut words = self.profile.split('/');
        self.is_over_tcp() && words.any(|word| word.eq_ignore_ascii_case("tls"))
    }

    /// Whether it is encrypted: SRTP (RFC 3711), by its profile.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.profile.contains("SAVP")
    }

    /// The codec of a payload type.
    #[must_use]
    pub fn codec(&self, payload_type: u8) -> Option<&Codec> {
        let found = self.codecs.iter().find(|codec| codec.0 == payload_type)?;
        Some(&found.1)
    }
}

/// Media of a text, and payload types of each, at most.
pub const MEDIA_MAX: usize = 64;
/// See [`MEDIA_MAX`].
const CODECS_MAX: usize = 64;
/// Octets of a name that are kept.
const NAME_OCTETS_MAX: usize = 64;
/// Other sockets of media that are kept.
const OTHERS_MAX: usize = 16;
/// Synchronization sources of media that are kept.
const SOURCES_MAX: usize = 64;
/// The attribute that each side has which agrees on sockets by ICE.
const ICE: &str = "ice-ufrag";
/// The profile of T.38 without RTP.
const UDPTL: &str = "udptl";
/// The header extension with the name of media in a bundle.
const MID_EXTENSION: &str = "urn:ietf:params:rtp-hdrext:sdes:mid";

/// A description under way.
#[derive(Default)]
struct SdpReader {
    session: Option<IpAddr>,
    /// The address of the session is a host name.
    is_named: bool,
    /// There is a line with the address of the session.
    has_address: bool,
    has_keys: bool,
    has_ice: bool,
    /// The names of the media in the bundle of the description.
    bundle: Vec<String>,
    mid_extension: Option<u8>,
    begun: Option<Begun>,
    all: Vec<Media>,
    /// The number of media before this description.
    before: usize,
    /// The number of media whose address is a host name.
    named: u64,
    /// The number of media without a line with their address.
    without_address: u64,
}

/// Media whose lines are being read.
struct Begun {
    kind: String,
    profile: String,
    address: Option<IpAddr>,
    /// The address is a host name.
    is_named: bool,
    has_address: bool,
    has_keys: bool,
    has_ice: bool,
    port: u16,
    /// The number of ports, each with one for its reports.
    ports: u16,
    control_port: Option<u16>,
    /// Where reports are sent if not to the address of the media (RFC 3605, 2.1).
    control_address: Option<IpAddr>,
    is_multiplexed: bool,
    /// The media share the port of the first ones (RFC 9143, 6).
    is_bundle_only: bool,
    codecs: Vec<(u8, Codec)>,
    mid: Option<String>,
    mid_extension: Option<u8>,
    sources: Vec<u32>,
    others: Vec<SocketAddr>,
}

/// The media over RTP that a text announces, as far as an address and a port are there.
#[must_use]
pub fn media(text: &[u8]) -> Vec<Media> {
    let mut media = media_and_faxes(text);
    media.retain(|media| !media.is_fax());
    media
}

/// The media, including those of T.38 over UDPTL.
#[must_use]
pub fn media_and_faxes(text: &[u8]) -> Vec<Media> {
    describe(text).media
}

/// The media of a text, and the number of those whose address is not known.
#[must_use]
pub fn describe(text: &[u8]) -> Description {
    let mut reader = SdpReader::default();
    for (name, value) in lines(text) {
        reader.line(name, value);
    }
    reader.end();
    Description {
        media: reader.all,
        named: reader.named,
        without_address: reader.without_address,
    }
}

/// The candidates of ICE in a fragment of a description, of each media that has some.
#[must_use]
pub fn candidates(text: &[u8]) -> Vec<Candidates> {
    let mut all = vec![Candidates::default()];
    for (name, value) in lines(text) {
        match name {
            b'm' if all.len() > MEDIA_MAX => break,
            b'm' => all.push(Candidates::default()),
            b'a' => {
                if let Some(last) = all.last_mut() {
                    last.attribute(value);
                }
            }
            _ => {}
        }
    }
    all.retain(|media| !media.sockets.is_empty());
    all
}

/// The lines of a text that have a name, and their values.
fn lines(text: &[u8]) -> impl Iterator<Item = (u8, &str)> {
    let lines = text.split(|byte| matches!(byte, b'\n' | b'\r'));
    lines.filter_map(|line| {
        // A brace may follow a line in a text of Megaco.
        let line = line.split(|byte| *byte == b'}').next().unwrap_or_default();
        let [name, b'=', value @ ..] = line.trim_ascii() else {
            return None;
        };
        Some((*name, std::str::from_utf8(value).ok()?))
    })
}

impl Candidates {
    fn attribute(&mut self, attribute: &str) {
        if let Some(mid) = value_of(attribute, "mid") {
            self.mid = Some(kept(mid.trim()));
        }
        if let Some(socket) = value_of(attribute, "candidate").and_then(candidate)
            && self.sockets.len() < OTHERS_MAX
            && !self.sockets.contains(&socket)
        {
            self.sockets.push(socket);
        }
    }
}

impl SdpReader {
    fn line(&mut self, name: u8, value: &str) {
        match name {
            b'v' => {
                self.end();
                self.session = None;
                self.is_named = false;
                self.has_address = false;
                self.has_keys = false;
                self.has_ice = false;
                self.mid_extension = None;
                self.bundle.clear();
                self.before = self.all.len();
            }
            b'c' => {
                let address = connection(value);
                match &mut self.begun {
                    Some(begun) => {
                        begun.address = address.or(begun.address);
                        begun.is_named = is_named(value);
                        begun.has_address = true;
                    }
                    None => {
                        self.session = address;
                        self.is_named = is_named(value);
                        self.has_address = true;
                    }
                }
            }
            b'm' => {
                self.end();
                self.begun = begin(value);
            }
            b'a' => match &mut self.begun {
                Some(begun) => begun.attribute(value),
                None => {
                    self.mid_extension = mid_extension(value).or(self.mid_extension);
                    self.has_keys |= gives_keys(value);
                    self.has_ice |= value_of(value, ICE).is_some();
                    let group = value_of(value, "group");
                    if let Some(names) = group.and_then(|group| group.strip_prefix("BUNDLE ")) {
                        let names = names.split_ascii_whitespace().map(kept);
                        self.bundle.extend(names.take(MEDIA_MAX));
                        self.bundle.truncate(MEDIA_MAX);
                    }
                }
            },
            _ => {}
        }
    }

    fn end(&mut self) {
        let Some(mut begun) = self.begun.take() else {
            return;
        };
        if begun.port == 0
            && begun.is_bundle_only
            && let Some(first) = self.all.get(self.before)
        {
            begun.port = first.port;
            begun.control_port = Some(first.control_port);
            begun.address = Some(first.address);
        }
        // A port of 0 refuses the media (RFC 3264, 6).
        if begun.port == 0 || self.all.len() >= MEDIA_MAX {
            return;
        }
        let session = self.session.filter(|_| !begun.is_named);
        let Some(address) = begun.address.or(session) else {
            let is_named = begun.is_named || self.is_named;
            self.named = self.named.saturating_add(is_named.into());
            let has_address = begun.has_address || self.has_address;
            self.without_address = self.without_address.saturating_add((!has_address).into());
            return;
        };
        let control_port = match begun.is_multiplexed {
            true => begun.port,
            false => begun.control_port.unwrap_or(begun.port.saturating_add(1)),
        };
        if let (Some(port), Some(control)) = (begun.control_port, begun.control_address)
            && control != address
        {
            begun.other(SocketAddr::new(control, port));
        }
        begun.hierarchy(address);
        let first = self.first_of_bundle(begun.mid.as_deref());
        for socket in first {
            begun.other(socket);
        }
        self.all.push(Media {
            kind: begun.kind,
            profile: begun.profile,
            address,
            port: begun.port,
            control_port,
            codecs: begun.codecs,
            mid: begun.mid,
            mid_extension: begun.mid_extension.or(self.mid_extension),
            sources: begun.sources,
            others: begun.others,
            has_keys: begun.has_keys || self.has_keys,
            has_ice: begun.has_ice || self.has_ice,
        });
    }

    /// The sockets of the first media of the bundle that these media are in. All are sent there once the bundle is agreed on, while
    /// the first offer has a port for each.
    fn first_of_bundle(&self, mid: Option<&str>) -> Vec<SocketAddr> {
        let is_bundled = |mid: &str| self.bundle.iter().any(|name| name == mid);
        if !mid.is_some_and(is_bundled) {
            return Vec::new();
        }
        let own = self.all.get(self.before..).unwrap_or_default();
        let first = own
            .iter()
            .find(|media| media.mid.as_deref().is_some_and(is_bundled));
        first.map_or_else(Vec::new, |first| {
            let socket = SocketAddr::new(first.address, first.port);
            std::iter::once(socket)
                .chain(first.others.iter().copied())
                .collect()
        })
    }
}

fn kept(text: &str) -> String {
    text.chars().take(NAME_OCTETS_MAX).collect()
}

/// The value of `c=`: `IN IP4 192.0.2.1/127`.
fn connection(value: &str) -> Option<IpAddr> {
    let address = value.split_ascii_whitespace().nth(2)?;
    address.split('/').next()?.parse().ok()
}

/// Whether the address in the value of `c=` is a host name: `IN IP4 gateway.example`.
fn is_named(value: &str) -> bool {
    let address = value.split_ascii_whitespace().nth(2);
    let is_name = |address: &str| {
        !address.contains(':') && address.contains(|c: char| c.is_ascii_alphabetic())
    };
    address.is_some_and(is_name)
}

/// Whether an attribute has keys of SRTP, or the fingerprint of a certificate.
fn gives_keys(attribute: &str) -> bool {
    ["crypto", "fingerprint"]
        .iter()
        .any(|name| value_of(attribute, name).is_some())
}

/// The value of `m=`: `audio 49170/2 RTP/AVP 0 8`.
fn begin(value: &str) -> Option<Begun> {
    let mut words = value.split_ascii_whitespace();
    let (kind, port, profile) = (words.next()?, words.next()?, words.next()?);
    let (port, ports) = port.split_once('/').unwrap_or((port, "1"));
    let port = port.parse().ok()?;
    let profile = profile.to_ascii_uppercase();
    if !profile.contains("RTP/") && !profile.eq_ignore_ascii_case(UDPTL) {
        return None;
    }
    let assigned = words.filter_map(|word| {
        let payload_type: u8 = word.parse().ok().filter(|number| *number < 128)?;
        Some((payload_type, Codec::assigned(payload_type)?))
    });
    Some(Begun {
        kind: kept(kind),
        profile: kept(&profile),
        address: None,
        is_named: false,
        has_address: false,
        has_keys: false,
        has_ice: false,
        port,
        ports: ports.parse().unwrap_or(1),
        control_port: None,
        control_address: None,
        is_multiplexed: false,
        is_bundle_only: false,
        codecs: assigned.take(CODECS_MAX).collect(),
        mid: None,
        mid_extension: None,
        sources: Vec::new(),
        others: Vec::new(),
    })
}

/// The socket of `candidate`, where it is of UDP: `1 1 UDP 2130706431 192.0.2.1 40000 typ host`.
fn candidate(value: &str) -> Option<SocketAddr> {
    let mut words = value.split_ascii_whitespace().skip(2);
    let transport = words.next()?;
    let address = words.nth(1)?.parse().ok()?;
    let port: u16 = words.next()?.parse().ok()?;
    let is_udp = transport.eq_ignore_ascii_case("udp") && port > 0;
    is_udp.then(|| SocketAddr::new(address, port))
}

/// The value of an attribute that has this name, in letters of either case: there are senders that write `RTPMAP`.
fn value_of<'t>(attribute: &'t str, name: &str) -> Option<&'t str> {
    let (own, value) = attribute.split_once(':')?;
    own.eq_ignore_ascii_case(name).then_some(value)
}

/// The number of an attribute that announces the extension with names of media: `extmap:4/sendrecv urn:…:sdes:mid`.
fn mid_extension(attribute: &str) -> Option<u8> {
    let (number, name) = value_of(attribute, "extmap")?.trim().split_once(' ')?;
    let number = number.split('/').next()?.parse().ok()?;
    (name.split_ascii_whitespace().next() == Some(MID_EXTENSION)).then_some(number)
}

impl Begun {
    /// Adds the ports behind the first one: `49170/2` are those from 49170 to 49173, every second one for reports (RFC 8866, 5.14).
    fn hierarchy(&mut self, address: IpAddr) {
        let more = u16::try_from(OTHERS_MAX).unwrap_or(u16::MAX);
        let more = self.ports.saturating_mul(2).min(more).max(2);
        for step in 2..more {
            if let Some(port) = self.port.checked_add(step) {
                self.other(SocketAddr::new(address, port));
            }
        }
    }

    fn other(&mut self, socket: SocketAddr) {
        if self.others.len() < OTHERS_MAX && !self.others.contains(&socket) {
            self.others.push(socket);
        }
    }

    fn attribute(&mut self, value: &str) {
        self.mid_extension = mid_extension(value).or(self.mid_extension);
        self.has_keys |= gives_keys(value);
        self.has_ice |= value_of(value, ICE).is_some();
        let (name, value) = value.split_once(':').unwrap_or((value, ""));
        match name.to_ascii_lowercase().as_str() {
            "rtpmap" => {
                let Some((payload_type, codec)) = rtpmap(value) else {
                    return;
                };
                self.codecs.retain(|known| known.0 != payload_type);
                if self.codecs.len() < CODECS_MAX {
                    self.codecs.push((payload_type, codec));
                }
            }
            "rtcp" => {
                let mut words = value.split_ascii_whitespace();
                self.control_port = words.next().and_then(|port| port.parse().ok());
                self.control_address = words.nth(2).and_then(|address| address.parse().ok());
            }
            "rtcp-mux" => self.is_multiplexed = true,
            "bundle-only" => self.is_bundle_only = true,
            "candidate" => {
                if let Some(socket) = candidate(value) {
                    self.other(socket);
                }
            }
            "mid" => self.mid = Some(kept(value.trim())),
            "ssrc" => {
                let source = value.split_ascii_whitespace().next();
                if let Some(source) = source.and_then(|source| source.parse().ok())
                    && !self.sources.contains(&source)
                    && self.sources.len() < SOURCES_MAX
                {
                    self.sources.push(source);
                }
            }
            _ => {}
        }
    }
}

/// The value of `rtpmap`: `101 telephone-event/8000`.
fn rtpmap(value: &str) -> Option<(u8, Codec)> {
    let (payload_type, codec) = value.trim().split_once(' ')?;
    let mut parts = codec.trim().split('/');
    let name = parts.next().filter(|name| !name.is_empty())?;
    let spelled = Codec::spelled(name);
    let codec = Codec {
        name: spelled.map_or_else(|| kept(name).into(), Into::into),
        clock_rate: parts.next()?.trim().parse().ok()?,
    };
    let payload_type = payload_type.parse().ok().filter(|number| *number < 128)?;
    Some((payload_type, codec))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFER: &str = "v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nc=IN IP4 192.0.2.1\r\nt=0 0\r\n\
        m=audio 30000 RTP/AVP 0 8 101\r\na=rtpmap:101 telephone-event/8000\r\na=rtpmap:0 PCMU/8000/1\r\n\
        m=video 40000/2 RTP/SAVPF 96\r\nc=IN IP6 2001:db8::1\r\na=rtpmap:96 VP8/90000\r\na=rtcp-mux\r\n\
        m=audio 0 RTP/AVP 8\r\nm=image 5000 udptl t38\r\nm=audio 50000 RTP/AVP 9\r\na=rtcp:50007 IN IP4 192.0.2.1\r\n";

    /// The two ends of a call may spell a codec differently, which was two codecs then.
    #[test]
    fn names_of_codecs_are_spelled_as_they_are_registered() {
        let text = "v=0\r\nc=IN IP4 192.0.2.1\r\nm=audio 30000 RTP/AVP 8 96 97 98\r\na=rtpmap:8 pcma/8000\r\n\
            a=rtpmap:96 OPUS/48000/2\r\na=rtpmap:97 Telephone-Event/8000\r\na=rtpmap:98 x-Own/8000\r\n";
        let all = media(text.as_bytes());
        let names: Vec<&str> = all[0]
            .codecs
            .iter()
            .map(|(_, codec)| &*codec.name)
            .collect();
        assert_eq!(names, ["PCMA", "opus", "telephone-event", "x-Own"]);
    }

    #[test]
    fn an_offer_is_read() {
        let all = media(OFFER.as_bytes());
        let ports: Vec<_> = all
            .iter()
            .map(|media| (media.port, media.control_port, media.is_secure()))
            .collect();
        assert_eq!(
            ports,
            [
                (30_000, 30_001, false),
                (40_000, 40_000, true),
                (50_000, 50_007, false)
            ]
        );
        assert!(all[0].codec(101).unwrap().is_events());
        assert_eq!(all[0].codec(8).unwrap().name, "PCMA");
        assert_eq!(all[1].address, "2001:db8::1".parse::<IpAddr>().unwrap());
        assert_eq!(all[1].codec(96).unwrap().clock_rate, 90_000);
    }

    /// RFC 9143, 6: what is only there in a bundle has no port of its own.
    #[test]
    fn bundled_media_have_the_port_of_the_first() {
        let text = b"v=0\r\nc=IN IP4 192.0.2.1\r\na=group:BUNDLE 0 1\r\nm=audio 30000 RTP/SAVPF 111\r\na=rtpmap:111 opus/48000/2\r\n\
            a=rtcp-mux\r\nm=video 0 RTP/SAVPF 96\r\na=rtpmap:96 VP8/90000\r\na=bundle-only\r\nm=video 0 RTP/SAVPF 97\r\n";
        let all = media(text);
        let ports: Vec<_> = all
            .iter()
            .map(|media| (&*media.kind, media.port, media.control_port))
            .collect();
        assert_eq!(
            ports,
            [("audio", 30_000, 30_000), ("video", 30_000, 30_000)]
        );
    }

    /// RFC 9143, 7.2: the first offer has a port for each, and all are sent to the first one where the bundle is agreed on.
    #[test]
    fn bundled_media_with_ports_of_their_own_may_be_sent_to_the_first() {
        let text = b"v=0\r\nc=IN IP4 192.0.2.1\r\na=group:BUNDLE 0 1\r\nm=audio 30000 RTP/AVP 111\r\na=mid:0\r\n\
            a=candidate:1 1 UDP 2130706431 192.0.2.7 31000 typ host\r\na=candidate:1 1 TCP 7 192.0.2.7 9 typ host\r\n\
            a=candidate:2 1 udp 7 x.local 31000 typ host\r\nm=video 30002 RTP/AVP 96\r\na=mid:1\r\nm=video 30004 RTP/AVP 96\r\n\
            a=mid:2\r\nv=0\r\nc=IN IP4 192.0.2.2\r\nm=video 30006 RTP/AVP 96\r\na=mid:1\r\n";
        let all = media(text);
        let others: Vec<Vec<String>> = all
            .iter()
            .map(|media| media.others.iter().map(ToString::to_string).collect())
            .collect();
        let candidate = "192.0.2.7:31000".to_owned();
        let first = "192.0.2.1:30000".to_owned();
        assert_eq!(
            others,
            [
                vec![candidate.clone()],
                vec![first, candidate],
                vec![],
                vec![]
            ]
        );
    }

    /// RFC 8866, 5.14: these are pairs of ports, of which the first alone was read.
    #[test]
    fn media_with_several_ports_have_all_of_them() {
        let others = |port: &str| -> Vec<u16> {
            let text = format!("c=IN IP4 192.0.2.1\nm=audio {port} RTP/AVP 8\n");
            let all = media(text.as_bytes());
            all[0].others.iter().map(SocketAddr::port).collect()
        };
        assert!(others("49170").is_empty());
        assert!(others("49170/1").is_empty());
        assert_eq!(others("49170/2"), [49_172, 49_173]);
        assert_eq!(others("65533/2"), [65_535]);
        assert_eq!(others("1/65535").len(), 14);
        assert!(others("49170/x").is_empty());
    }

    /// RFC 3605, 2.1: reports may be sent to another address than the media.
    #[test]
    fn reports_have_an_address_of_their_own() {
        let others = |value: &str| {
            let text = format!("c=IN IP4 192.0.2.1\nm=audio 4000 RTP/AVP 8\na=rtcp:{value}\n");
            let media = media(text.as_bytes()).remove(0);
            (media.control_port, media.others)
        };
        let socket: SocketAddr = "192.0.2.7:53020".parse().unwrap();
        assert_eq!(others("53020 IN IP4 192.0.2.7"), (53_020, vec![socket]));
        assert_eq!(others("53020"), (53_020, vec![]));
        let socket: SocketAddr = "[2001:db8::7]:53020".parse().unwrap();
        assert_eq!(others("53020 IN IP6 2001:db8::7"), (53_020, vec![socket]));
    }

    /// There are senders that write the profile in small letters, and their media had no call.
    #[test]
    fn profiles_may_be_in_small_letters() {
        let all = media(b"c=IN IP4 192.0.2.1\nm=audio 4000 rtp/savp 8\n");
        assert_eq!(all[0].profile, "RTP/SAVP");
        assert!(all[0].is_secure());
    }

    #[test]
    fn media_without_an_address_are_counted() {
        let count = |text: &str| {
            let description = describe(text.as_bytes());
            (description.media.len(), description.without_address)
        };
        assert_eq!(count("v=0\nm=audio 4000 RTP/AVP 8\n"), (0, 1));
        assert_eq!(
            count("c=IN IP4 192.0.2.1\nm=audio 4000 RTP/AVP 8\n"),
            (1, 0)
        );
        assert_eq!(count("c=IN IP4 $\nm=audio 4000 RTP/AVP 8\n"), (0, 0));
        assert_eq!(count("m=audio 0 RTP/AVP 8\n"), (0, 0));
    }

    #[test]
    fn names_and_sources_of_bundled_media_are_read() {
        let text = b"v=0\r\nc=IN IP4 192.0.2.1\r\na=group:BUNDLE a v\r\na=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid\r\n\
            m=audio 30000 RTP/AVP 96\r\na=mid:a\r\na=ssrc:7 cname:x\r\na=ssrc:7 msid:y\r\na=ssrc:x\r\n\
            m=video 30000 RTP/AVP 96\r\na=mid:v\r\na=extmap:2 urn:other\r\n\
            a=extmap:5/sendrecv urn:ietf:params:rtp-hdrext:sdes:mid\r\na=ssrc:4294967295 cname:x\r\n";
        let all = media(text);
        let found: Vec<_> = all
            .iter()
            .map(|media| {
                (
                    media.mid.as_deref(),
                    media.mid_extension,
                    &media.sources[..],
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                (Some("a"), Some(3), &[7][..]),
                (Some("v"), Some(5), &[u32::MAX])
            ]
        );
        let many: String = (0..1_000)
            .map(|number| format!("a=ssrc:{number} x\n"))
            .collect();
        let text = format!("c=IN IP4 192.0.2.1\nm=audio 1 RTP/AVP 0\n{many}");
        assert_eq!(media(text.as_bytes())[0].sources.len(), SOURCES_MAX);
    }

    #[test]
    fn names_of_attributes_may_be_in_capitals() {
        let attributes = "a=group:BUNDLE a v\r\na=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid\r\n\
            m=audio 30000 RTP/AVP 101\r\na=mid:a\r\na=rtpmap:101 telephone-event/8000\r\na=rtcp-mux\r\na=ssrc:7 cname:x\r\n\
            a=candidate:1 1 UDP 2130706431 192.0.2.7 31000 typ host\r\nm=video 30002 RTP/AVP 96\r\na=mid:v\r\na=rtcp:30009\r\n";
        let mut capitals = attributes.to_owned();
        for name in [
            "group",
            "extmap",
            "mid",
            "rtpmap",
            "rtcp-mux",
            "ssrc",
            "candidate",
            "rtcp",
        ] {
            let written =
                capitals.replace(&format!("a={name}"), &format!("a={}", name.to_uppercase()));
            assert_ne!(written, capitals, "{name}");
            capitals = written;
        }
        let read = |text: &str| media(format!("c=IN IP4 192.0.2.1\r\n{text}").as_bytes());
        let all = read(&capitals);
        assert!(all[0].codec(101).unwrap().is_events());
        assert_eq!(all, read(attributes));
    }

    /// Media whose address is a host name were left out without a word, or had the address of the session.
    #[test]
    fn media_with_host_names_are_counted() {
        let count = |session: &str, own: &str| {
            let text =
                format!("v=0\r\n{session}m=audio 30000 RTP/AVP 0\r\n{own}m=video 0 RTP/AVP 96\r\n");
            let description = describe(text.as_bytes());
            (description.media.len(), description.named)
        };
        let (name, address) = ("c=IN IP4 gateway.example\r\n", "c=IN IP6 2001:db8::a\r\n");
        assert_eq!(count(name, ""), (0, 1));
        assert_eq!(count(address, name), (0, 1));
        assert_eq!(count(name, address), (1, 0));
        // Neither is a name.
        assert_eq!(count("c=IN IP4 $\r\n", ""), (0, 0));
        assert_eq!(count("", ""), (0, 0));
    }

    #[test]
    fn keys_are_those_of_the_session_or_of_media() {
        let has_keys = |attributes: &str| {
            let text = format!(
                "v=0\nc=IN IP4 192.0.2.1\n{attributes}m=audio 2 RTP/AVP 0\nv=0\nc=IN IP4 192.0.2.2\nm=audio 4 RTP/AVP 0\n"
            );
            media(text.as_bytes())
                .iter()
                .map(|media| media.has_keys)
                .collect::<Vec<_>>()
        };
        assert_eq!(has_keys(""), [false, false]);
        assert_eq!(has_keys("a=fingerprint:sha-256 00:11\n"), [true, false]);
        let crypto = "m=video 6 RTP/AVP 96\na=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:x\n";
        assert_eq!(has_keys(crypto), [true, false, false]);
    }

    /// RFC 8840, 9: the lines `m=` of a fragment say of which media the candidates are, and no more.
    #[test]
    fn candidates_of_a_fragment_are_read() {
        let text = b"a=ice-pwd:asd88fgpdd777uzjYhagZg\r\na=ice-ufrag:8hhY\r\nm=audio 9 RTP/AVP 0\r\na=mid:1\r\n\
            a=candidate:1 1 UDP 1658497328 192.0.2.3 5000 typ host\r\na=candidate:1 2 udp 1658497328 2001:db8::3 5001 typ host\r\n\
            a=candidate:1 1 UDP 1658497328 192.0.2.3 5000 typ host\r\nm=video 9 RTP/AVP 0\r\na=mid:2\r\na=end-of-candidates\r\n";
        let all = candidates(text);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].mid.as_deref(), Some("1"));
        let expected: [SocketAddr; 2] = [
            "192.0.2.3:5000".parse().unwrap(),
            "[2001:db8::3]:5001".parse().unwrap(),
        ];
        assert_eq!(all[0].sockets, expected);
        // A fragment describes no media.
        assert!(describe(text).media.is_empty());
        let has_ice = |text: &str| media(text.as_bytes())[0].has_ice;
        assert!(has_ice(
            "c=IN IP4 0.0.0.0\na=ice-ufrag:8hhY\nm=audio 9 RTP/AVP 0\n"
        ));
        assert!(has_ice(
            "c=IN IP4 0.0.0.0\nm=audio 9 RTP/AVP 0\na=ice-ufrag:8hhY\n"
        ));
        assert!(!has_ice("c=IN IP4 0.0.0.0\nm=audio 9 RTP/AVP 0\n"));
    }

    #[test]
    fn faxes_are_no_media_over_rtp() {
        assert!(media(OFFER.as_bytes()).iter().all(|media| !media.is_fax()));
        let faxes: Vec<_> = media_and_faxes(OFFER.as_bytes())
            .into_iter()
            .filter(Media::is_fax)
            .map(|media| (media.kind, media.port))
            .collect();
        assert_eq!(faxes, [("image".to_owned(), 5_000)]);
    }

    #[test]
    fn a_descriptor_of_megaco_is_read() {
        let text = b"MEGACO/1 [1.1.1.1]:2944\nTransaction = 1 { Context = $ { Add = a { Media { Local {\n\
            v=0\nc=IN IP4 $\nm=audio $ RTP/AVP 4\n}, Remote {\nv=0\nc=IN IP4 192.0.2.7\nm=audio 1111 RTP/AVP 4 }}}}}";
        let all = media(text);
        assert_eq!(all.len(), 1);
        assert_eq!((all[0].port, all[0].codecs.len()), (1_111, 1));
    }

    #[test]
    fn every_prefix_is_read_as_far_as_it_goes() {
        for length in 0..OFFER.len() {
            assert!(media(&OFFER.as_bytes()[..length]).len() <= 3);
        }
    }

    #[test]
    fn a_flood_of_media_stays_within_its_limit() {
        let mut text = "c=IN IP4 192.0.2.1\n".to_owned();
        for port in 1..10_000 {
            text.push_str(&format!("m=audio {port} RTP/AVP 0\na=rtpmap:99 x/1\n"));
        }
        assert_eq!(media(text.as_bytes()).len(), MEDIA_MAX);
    }
}
