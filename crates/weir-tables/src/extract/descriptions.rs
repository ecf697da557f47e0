//! The lines of descriptions (SDP, RFC 8866) for display filters: a row for each message of SIP, MGCP or Megaco that has some. It is
//! not a table of SQL, whose `sip` has the body of a message.

mod value_names;

use std::collections::VecDeque;

use weir_flow::{Carried, Interest, Payload};
use weir_packet::{Kind, Needs, Value};
use weir_sip::Digest;

use self::value_names::format_name;
use super::extraction::{Extract, Extraction, ItemField, columns, push_item};
use super::h248::CarrierStreams;
use super::media::{gateway, is_text};
use super::note::Note;
use super::opened::OpenedPayloads;
use super::sip::{SipFinder, SipMessage};
use super::value::frame;
use crate::Row;
use crate::row::Item;
use crate::rows::Rows;

/// The extraction of this module.
pub(crate) const EXTRACTION: Extraction = Extraction {
    name: "descriptions",
    doc: "one row per message with a session description",
    columns: || columns(&[], FIELDS),
    needs: &[Needs::All],
    start: |settings| {
        Box::new(Descriptions {
            payloads: OpenedPayloads::with_settings(settings).with_upgrades_of_hep(),
            readers: Readers::default(),
            last: None,
        })
    },
    arguments: &[],
    aliases: &[],
};

/// Whether a field is one of descriptions.
pub(crate) fn has(name: &str) -> bool {
    name.starts_with("sdp.") && FIELDS.iter().any(|field| field.name == name)
}

const FRAME: &str = "frame.number";
const PORT: &str = "sdp.media.port";

/// A column of texts.
const fn texts(name: &'static str, doc: &'static str) -> ItemField<()> {
    ItemField::new(name, Kind::Texts, (), doc, "RFC 8866, 5")
}

#[rustfmt::skip]
const FIELDS: &[ItemField<()>] = &[
    ItemField::new(FRAME, Kind::U64, (), "Number of the frame", "weir"),
    ItemField::new(PORT, Kind::Numbers, (), "Ports of media", "RFC 8866, 5.14"),
    texts("sdp.version", "Versions (v)"),
    texts("sdp.owner", "Origins (o)"),
    texts("sdp.owner.username", "Users of origins"),
    texts("sdp.owner.sessionid", "Identifiers of sessions"),
    texts("sdp.owner.version", "Versions of sessions"),
    texts("sdp.owner.network_type", "Types of the network of origins"),
    texts("sdp.owner.address_type", "Types of the address of origins"),
    texts("sdp.owner.address", "Addresses of origins"),
    texts("sdp.session_name", "Names of sessions (s)"),
    texts("sdp.session_info", "Information on sessions (i)"),
    texts("sdp.media_title", "Titles of media (i)"),
    texts("sdp.uri", "URIs (u)"),
    texts("sdp.email", "E-mail addresses (e)"),
    texts("sdp.phone", "Telephone numbers (p)"),
    texts("sdp.connection_info", "Connections (c)"),
    texts("sdp.connection_info.network_type", "Types of the network of connections"),
    texts("sdp.connection_info.address_type", "Types of the address of connections"),
    texts("sdp.connection_info.address", "Addresses of connections"),
    texts("sdp.connection_info.ttl", "Times to live of connections"),
    texts("sdp.bandwidth", "Bandwidths (b)"),
    texts("sdp.bandwidth.modifier", "Types of bandwidths"),
    texts("sdp.bandwidth.value", "Values of bandwidths"),
    texts("sdp.time", "Times (t)"),
    texts("sdp.time.start", "Beginnings of sessions"),
    texts("sdp.time.stop", "Ends of sessions"),
    texts("sdp.session_attr", "Attributes of sessions (a)"),
    texts("sdp.session_attr.field", "Names of attributes of sessions that have values"),
    texts("sdp.session_attr.value", "Values of attributes of sessions"),
    texts("sdp.media", "Media (m)"),
    texts("sdp.media.media", "Types of media"),
    texts("sdp.media.port_string", "Ports of media, as written"),
    texts("sdp.media.portcount", "Numbers of ports of media"),
    texts("sdp.media.proto", "Transport protocols of media"),
    texts("sdp.media.format", "Formats of media, and those of rtpmap and fmtp"),
    texts("sdp.media_attr", "Attributes of media (a)"),
    texts("sdp.mime.type", "Encodings of rtpmap"),
    texts("sdp.sample_rate", "Clock rates of rtpmap"),
];

/// The columns of a line of words: that of the whole line, then those of its words.
const OWNER: [&str; 7] = [
    "sdp.owner",
    "sdp.owner.username",
    "sdp.owner.sessionid",
    "sdp.owner.version",
    "sdp.owner.network_type",
    "sdp.owner.address_type",
    "sdp.owner.address",
];
const TIME: [&str; 3] = ["sdp.time", "sdp.time.start", "sdp.time.stop"];
const CONNECTION: [&str; 3] = [
    "sdp.connection_info",
    "sdp.connection_info.network_type",
    "sdp.connection_info.address_type",
];

/// The profiles whose formats are payload types of RTP, which have names.
const RTP_PROFILES: [&str; 6] = [
    "RTP/AVP",
    "RTP/AVPF",
    "RTP/SAVP",
    "RTP/SAVPF",
    "UDP/TLS/RTP/SAVP",
    "UDP/TLS/RTP/SAVPF",
];

/// The lines of the descriptions of a message.
#[derive(Debug)]
struct Lines {
    frame: u64,
    ports: Vec<u32>,
    /// The texts of each column.
    texts: Vec<Vec<String>>,
    /// The lines are of media, and no longer of the session.
    is_of_media: bool,
    is_empty: bool,
}

impl Lines {
    /// The lines of a text: of all, where it is a description, or of the descriptions in it, each of which begins with its version.
    fn of(text: &[u8], is_description: bool, frame: u64) -> Option<Self> {
        let mut lines = Self {
            frame,
            ports: Vec::new(),
            texts: vec![Vec::new(); FIELDS.len()],
            is_of_media: false,
            is_empty: true,
        };
        let mut is_inside = is_description;
        for line in text.split(|octet| *octet == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            // A brace may follow a line in a text of Megaco.
            let end = line.iter().position(|octet| *octet == b'}');
            let end = end.filter(|_| !is_description);
            let line = line.get(..end.unwrap_or(line.len())).unwrap_or(line);
            if let [name, b'=', value @ ..] = line {
                is_inside |= *name == b'v';
                if is_inside {
                    lines.line(*name, &String::from_utf8_lossy(value));
                }
            } else {
                is_inside = is_description;
            }
            is_inside &= end.is_none();
        }
        (!lines.is_empty).then_some(lines)
    }

    fn add(&mut self, name: &str, value: &str) {
        let column = FIELDS.iter().position(|field| field.name == name);
        if let Some(texts) = column.and_then(|column| self.texts.get_mut(column)) {
            texts.push(value.to_owned());
        }
    }

    /// Adds a line to its column, which is the first one, and its words to the others.
    fn words(&mut self, names: &[&str], value: &str) {
        let values = std::iter::once(value).chain(value.split_ascii_whitespace());
        for (name, value) in names.iter().zip(values) {
            self.add(name, value);
        }
    }

    fn line(&mut self, name: u8, value: &str) {
        self.is_empty = false;
        match name {
            b'v' => {
                self.is_of_media = false;
                self.add("sdp.version", value);
            }
            b'o' => self.words(&OWNER, value),
            b's' => self.add("sdp.session_name", value),
            b'i' if self.is_of_media => self.add("sdp.media_title", value),
            b'i' => self.add("sdp.session_info", value),
            b'u' => self.add("sdp.uri", value),
            b'e' => self.add("sdp.email", value),
            b'p' => self.add("sdp.phone", value),
            b'c' => self.connection(value),
            b'b' => {
                self.add("sdp.bandwidth", value);
                if let Some((modifier, value)) = value.split_once(':') {
                    self.add("sdp.bandwidth.modifier", modifier);
                    self.add("sdp.bandwidth.value", value);
                }
            }
            b't' => self.words(&TIME, value),
            b'm' => self.media(value),
            b'a' if self.is_of_media => self.media_attribute(value),
            b'a' => {
                self.add("sdp.session_attr", value);
                if let Some((field, value)) = value.split_once(':') {
                    self.add("sdp.session_attr.field", field);
                    self.add("sdp.session_attr.value", value);
                }
            }
            _ => {}
        }
    }

    /// The value of `c=`: `IN IP4 192.0.2.1/127`.
    fn connection(&mut self, value: &str) {
        self.words(&CONNECTION, value);
        let mut parts = value
            .split_ascii_whitespace()
            .nth(2)
            .unwrap_or_default()
            .split('/');
        if let Some(address) = parts.next().filter(|address| !address.is_empty()) {
            self.add("sdp.connection_info.address", address);
        }
        if let Some(ttl) = parts.next() {
            self.add("sdp.connection_info.ttl", ttl);
        }
    }

    /// The value of `m=`: `audio 49170/2 RTP/AVP 0 8`.
    fn media(&mut self, value: &str) {
        self.is_of_media = true;
        self.add("sdp.media", value);
        let mut words = value.split_ascii_whitespace();
        if let Some(kind) = words.next() {
            self.add("sdp.media.media", kind);
        }
        let mut ports = words.next().unwrap_or_default().split('/');
        if let Some(port) = ports.next().filter(|port| !port.is_empty()) {
            self.add("sdp.media.port_string", port);
            let number = port.parse::<u32>().ok();
            self.ports
                .extend(number.map(|number| number.min(u16::MAX.into())));
        }
        if let Some(count) = ports.next() {
            self.add("sdp.media.portcount", count);
        }
        let protocol = words.next().unwrap_or_default();
        if !protocol.is_empty() {
            self.add("sdp.media.proto", protocol);
        }
        let is_rtp = RTP_PROFILES.contains(&protocol);
        for format in words {
            let number = format.parse::<u32>().ok().filter(|_| is_rtp);
            let name = number.and_then(format_name);
            self.add("sdp.media.format", name.as_deref().unwrap_or(format));
        }
    }

    fn media_attribute(&mut self, value: &str) {
        self.add("sdp.media_attr", value);
        let Some((name, value)) = value.split_once(':') else {
            return;
        };
        let is_map = name.eq_ignore_ascii_case("rtpmap");
        if !is_map && !name.eq_ignore_ascii_case("fmtp") {
            return;
        }
        let mut words = value.split_ascii_whitespace();
        if let Some(format) = words.next() {
            self.add("sdp.media.format", format);
        }
        let mut codec = words
            .next()
            .filter(|_| is_map)
            .unwrap_or_default()
            .split('/');
        if let Some(encoding) = codec.next().filter(|encoding| !encoding.is_empty()) {
            self.add("sdp.mime.type", encoding);
        }
        if let Some(rate) = codec.next() {
            self.add("sdp.sample_rate", rate);
        }
    }
}

impl Item for Lines {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        match FIELDS.get(index)?.name {
            FRAME => frame(self.frame),
            PORT => Some(Value::Numbers(&self.ports)).filter(|_| !self.ports.is_empty()),
            _ => {
                let texts = self.texts.get(index)?;
                Some(Value::Texts(texts)).filter(|_| !texts.is_empty())
            }
        }
    }
}

/// What reads the payloads.
#[derive(Default)]
struct Readers {
    sip: SipFinder,
    megaco: CarrierStreams,
}

type OnLines<'e> = dyn FnMut(Lines) + 'e;

impl Readers {
    fn payload(&mut self, payload: &Payload<'_>, each: &mut OnLines<'_>) -> Interest {
        let Self { sip, megaco } = self;
        let interest = sip.payload(payload, &mut |message| of_sip(message, each));
        if let Carried::Datagram(bytes) = payload.carried {
            if gateway(bytes, payload).is_some()
                && let Some(lines) = Lines::of(bytes, false, payload.frame)
            {
                each(lines);
            }
            return Interest::Ignore;
        }
        let of_megaco = megaco.payload_on_ports(payload, &mut |found| {
            if is_text(found.encoding)
                && let Some(lines) = Lines::of(found.octets, false, found.frame)
            {
                each(lines);
            }
        });
        match interest {
            Interest::Ignore => of_megaco,
            Interest::Follow => Interest::Follow,
        }
    }
}

fn of_sip(found: &SipMessage<'_>, each: &mut OnLines<'_>) {
    let Some(message) = found.parsed() else {
        return;
    };
    let digest = Digest::of(&message);
    let is_description = digest.has_sdp();
    if (is_description || digest.has_parts())
        && let Some(lines) = Lines::of(digest.body, is_description, found.way.frame)
    {
        each(lines);
    }
}

struct Descriptions {
    payloads: OpenedPayloads,
    readers: Readers,
    /// Those of the messages that were complete only at the end of the capture.
    last: Option<VecDeque<Lines>>,
}

impl Extract for Descriptions {
    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        let Self {
            payloads, readers, ..
        } = self;
        payloads.packet(row.packet, &mut |payload| {
            readers.payload(payload, &mut |lines| {
                rows.push_row(&row.with_item(&lines));
            })
        });
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        let Self {
            payloads,
            readers,
            last,
        } = self;
        let last = last.get_or_insert_with(|| {
            let mut last = VecDeque::new();
            payloads.finish(&mut |payload| {
                readers.payload(payload, &mut |lines| last.push_back(lines))
            });
            readers.sip.finish(&mut |message| {
                of_sip(message, &mut |lines| last.push_back(lines));
            });
            last
        });
        rows.take_waiting(last, |rows, lines| push_item(rows, "", &lines))
    }

    fn notes(&self) -> Vec<Note> {
        let Readers { sip, megaco } = &self.readers;
        let counted = sip.counted().into_iter().chain(megaco.counted());
        Note::of("sdp", counted.chain(self.payloads.given_up())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(lines: &Lines, name: &str) -> Vec<String> {
        let index = FIELDS.iter().position(|field| field.name == name);
        lines.texts[index.unwrap()].clone()
    }

    /// The values are those of tshark 4.0.
    #[test]
    fn the_lines_of_a_body_have_their_fields() {
        let body = "v=0\r\no=alice 289 2 IN IP4 10.0.0.1\r\ns=Call of  a\r\ni=Info\r\nc=IN IP4 10.0.0.1/127/3\r\nb=AS:64\r\n\
            b=TIAS:64000\r\nt=0 100\r\na=sendrecv\r\na=group:BUNDLE 0 1\r\nm=audio 4000/2 RTP/AVP 8 111 101 9\r\n\
            a=rtpmap:8 PCMA/8000\r\na=rtpmap:111 opus/48000/2\r\na=fmtp:111 useinbandfec=1; minptime=10\r\na=ptime:20\r\n\
            m=video 0 RTP/SAVP 96 34\r\nc=IN IP6 2001:db8::1\r\na=rtpmap:96 H264/90000\r\na=inactive\r\n\
            m=image 5000 udptl t38\r\nm=message 9 TCP/MSRP *\r\n";
        for text in [body.to_owned(), body.replace("\r\n", "\n")] {
            let lines = Lines::of(text.as_bytes(), true, 7).unwrap();
            assert_eq!(lines.ports, [4_000, 0, 5_000, 9]);
            for (name, expected) in [
                ("sdp.owner", &["alice 289 2 IN IP4 10.0.0.1"][..]),
                ("sdp.owner.sessionid", &["289"]),
                ("sdp.owner.address", &["10.0.0.1"]),
                ("sdp.session_name", &["Call of  a"]),
                ("sdp.connection_info.address", &["10.0.0.1", "2001:db8::1"]),
                ("sdp.connection_info.address_type", &["IP4", "IP6"]),
                ("sdp.connection_info.ttl", &["127"]),
                ("sdp.bandwidth.modifier", &["AS", "TIAS"]),
                ("sdp.bandwidth.value", &["64", "64000"]),
                ("sdp.time.stop", &["100"]),
                ("sdp.session_attr", &["sendrecv", "group:BUNDLE 0 1"]),
                ("sdp.session_attr.field", &["group"]),
                ("sdp.session_attr.value", &["BUNDLE 0 1"]),
                ("sdp.media.media", &["audio", "video", "image", "message"]),
                ("sdp.media.port_string", &["4000", "0", "5000", "9"]),
                ("sdp.media.portcount", &["2"]),
                (
                    "sdp.media.proto",
                    &["RTP/AVP", "RTP/SAVP", "udptl", "TCP/MSRP"],
                ),
                (
                    "sdp.media.format",
                    &[
                        "ITU-T G.711 PCMA",
                        "DynamicRTP-Type-111",
                        "DynamicRTP-Type-101",
                        "ITU-T G.722",
                        "8",
                        "111",
                        "111",
                        "DynamicRTP-Type-96",
                        "ITU-T H.263",
                        "96",
                        "t38",
                        "*",
                    ],
                ),
                ("sdp.mime.type", &["PCMA", "opus", "H264"]),
                ("sdp.sample_rate", &["8000", "48000", "90000"]),
            ] {
                assert_eq!(all(&lines, name), expected, "{name}");
            }
        }
    }

    #[test]
    fn descriptions_in_other_texts_end_with_them() {
        let megaco = b"MEGACO/1 [1.1.1.1]:2944\nC=1 { Add = a { Media { Local {\nv=0\nc=IN IP4 $\nm=audio $ RTP/AVP 4\n}, Remote {\n\
            v=0\nc=IN IP4 192.0.2.7\nm=audio 1111 RTP/AVP 4 }}}}}\ns=x";
        let lines = Lines::of(megaco, false, 1).unwrap();
        assert_eq!(lines.ports, [1_111]);
        let addresses = all(&lines, "sdp.connection_info.address");
        assert_eq!(addresses, ["$", "192.0.2.7"]);
        assert_eq!(all(&lines, "sdp.session_name"), [""; 0]);
        let parts = b"--b\r\nContent-Type: application/sdp\r\n\r\nv=0\r\nm=audio 2 RTP/AVP 0\r\n--b--\r\ns=x\r\n";
        let lines = Lines::of(parts, false, 1).unwrap();
        assert_eq!(lines.ports, [2]);
        assert_eq!(all(&lines, "sdp.session_name"), [""; 0]);
        assert!(Lines::of(b"200 1 OK\r\nI: 1\r\n", false, 1).is_none());
    }

    #[test]
    fn columns_have_different_names() {
        for (number, field) in FIELDS.iter().enumerate() {
            let first = FIELDS.iter().position(|other| other.name == field.name);
            assert_eq!(first, Some(number), "{}", field.name);
        }
        for name in OWNER.iter().chain(&TIME).chain(&CONNECTION) {
            assert!(has(name), "{name}");
        }
        assert!(!has(FRAME));
    }
}
