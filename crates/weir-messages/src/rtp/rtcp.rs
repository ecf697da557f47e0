//! RTCP (RFC 3550, 6; RFC 3611; RFC 4585): the reports of a datagram.

use weir_bytes::{array_at, u8_at, u16_be_at, u32_be_at, u64_be_at};

/// Types of packets, by their numbers.
pub mod kind {
    /// Sender report.
    pub const SENDER_REPORT: u8 = 200;
    /// Receiver report.
    pub const RECEIVER_REPORT: u8 = 201;
    /// Source description.
    pub const SOURCE_DESCRIPTION: u8 = 202;
    /// Goodbye.
    pub const GOODBYE: u8 = 203;
    /// The application-defined packet.
    pub const APPLICATION: u8 = 204;
    /// Feedback of the transport (RFC 4585).
    pub const TRANSPORT_FEEDBACK: u8 = 205;
    /// Feedback of the payload (RFC 4585).
    pub const PAYLOAD_FEEDBACK: u8 = 206;
    /// Extended report (RFC 3611).
    pub const EXTENDED_REPORT: u8 = 207;
}

/// The name of a type of packet, as its RFC has it: `SR`, `RR`, `SDES`, `BYE`, `APP`, `RTPFB`, `PSFB`, `XR`.
#[must_use]
pub const fn kind_word(kind: u8) -> Option<&'static str> {
    Some(match kind {
        kind::SENDER_REPORT => "SR",
        kind::RECEIVER_REPORT => "RR",
        kind::SOURCE_DESCRIPTION => "SDES",
        kind::GOODBYE => "BYE",
        kind::APPLICATION => "APP",
        kind::TRANSPORT_FEEDBACK => "RTPFB",
        kind::PAYLOAD_FEEDBACK => "PSFB",
        kind::EXTENDED_REPORT => "XR",
        _ => return None,
    })
}

/// One thing that a datagram reports: a packet of it, or, of a packet with several blocks, chunks or sources, one
/// of these.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report<'p> {
    /// The number of the packet in the datagram, from 1.
    pub packet: u32,
    /// The number of the part in the packet, from 1.
    pub part: u32,
    /// Type of the packet, see [`kind`].
    pub kind: u8,
    /// The count of the header: blocks, chunks, sources; the format of feedback.
    pub count: u8,
    /// 32-bit words behind the first.
    pub words: u16,
    /// The SSRC of its sender.
    pub sender: Option<u32>,
    /// The source that it is about.
    pub source: Option<u32>,
    /// The sender information.
    pub sent: Option<Sent>,
    /// The reception report block.
    pub received: Option<Received>,
    /// The items of a source description.
    pub items: Items<'p>,
    /// The reason for leaving of a BYE, or the name of an APP packet.
    pub text: Option<&'p [u8]>,
    /// A block of an extended report.
    pub block: Option<Block<'p>>,
    /// The reason why not all of the packet is read, or of what is behind it.
    pub fault: Option<RtcpFault>,
}

/// The reason why a packet of a datagram cannot be read to its end, or what is behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RtcpFault {
    /// The packet is longer than the rest of the datagram.
    Long,
    /// The packet has no room for what it counts.
    Short,
    /// Octets behind the packet are too few for another one.
    Trailing,
}

impl RtcpFault {
    /// The fault as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Long => "the packet is longer than the rest of the datagram",
            Self::Short => "the packet has no room for what it counts",
            Self::Trailing => "octets behind the packet are too few for another one",
        }
    }

    /// The fault of the packet with which these octets of a datagram begin.
    fn of(bytes: &[u8]) -> Option<Self> {
        match bytes.get(octets_of(bytes)?..) {
            None => Some(Self::Long),
            Some(_) if octets_of(bytes)? < least_octets(bytes) => Some(Self::Short),
            Some([_] | [_, _] | [_, _, _]) => Some(Self::Trailing),
            Some(_) => None,
        }
    }
}

/// The sender information of a report (RFC 3550, 6.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// The sender's clock, as NTP has it.
    pub ntp: u64,
    /// The same time by the media's clock.
    pub timestamp: u32,
    /// Packets so far.
    pub packets: u32,
    /// Octets of payload so far.
    pub octets: u32,
}

/// The reception report block of a source (RFC 3550, 6.4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Lost since the last report, in 256ths.
    pub fraction_lost: u8,
    /// Lost in all; negative when more came than were expected.
    pub lost: i32,
    /// Highest sequence number, with its cycles above.
    pub highest: u32,
    /// Jitter, by the media's clock.
    pub jitter: u32,
    /// Middle of the clock in the last sender report; 0 without one.
    pub last_report: u32,
    /// The delay since that report, in 65,536ths of a second.
    pub delay: u32,
}

/// A block of an extended report (RFC 3611).
#[derive(Clone, Copy, Debug)]
pub struct Block<'p> {
    /// The block type: 7 has VoIP metrics.
    pub kind: u8,
    /// The contents.
    pub contents: &'p [u8],
}

impl<'p> Block<'p> {
    /// The VoIP metrics (RFC 3611, 4.7).
    #[must_use]
    pub fn voice(&self) -> Option<Voice<'p>> {
        (self.kind == 7 && self.contents.len() >= 32).then_some(Voice(self.contents))
    }
}

/// The VoIP metrics of a receiver (RFC 3611, 4.7).
#[derive(Clone, Copy, Debug)]
pub struct Voice<'p>(&'p [u8]);

impl Voice<'_> {
    fn octet(&self, at: usize) -> u8 {
        u8_at(self.0, at).unwrap_or_default()
    }

    fn number(&self, at: usize) -> u16 {
        u16_be_at(self.0, at).unwrap_or_default()
    }

    /// The value 127 stands for unknown.
    fn known(&self, at: usize) -> Option<u8> {
        Some(self.octet(at)).filter(|value| *value != 127)
    }

    /// Lost, in 256ths.
    #[must_use]
    pub fn loss_rate(&self) -> u8 {
        self.octet(4)
    }

    /// Came too late to be played, in 256ths.
    #[must_use]
    pub fn discard_rate(&self) -> u8 {
        self.octet(5)
    }

    /// Lost or late within bursts, in 256ths.
    #[must_use]
    pub fn burst_density(&self) -> u8 {
        self.octet(6)
    }

    /// Lost or late between bursts, in 256ths.
    #[must_use]
    pub fn gap_density(&self) -> u8 {
        self.octet(7)
    }

    /// Mean length of bursts, in milliseconds.
    #[must_use]
    pub fn burst_ms(&self) -> u16 {
        self.number(8)
    }

    /// Mean length of what is between bursts, in milliseconds.
    #[must_use]
    pub fn gap_ms(&self) -> u16 {
        self.number(10)
    }

    /// There and back, in milliseconds.
    #[must_use]
    pub fn round_trip_ms(&self) -> u16 {
        self.number(12)
    }

    /// Delay within the listener's system, in milliseconds.
    #[must_use]
    pub fn system_ms(&self) -> u16 {
        self.number(14)
    }

    /// Rating factor of this path.
    #[must_use]
    pub fn rating(&self) -> Option<u8> {
        self.known(20)
    }

    /// Opinion score of listening.
    #[must_use]
    pub fn listening(&self) -> Option<f64> {
        self.known(22).map(|tenths| f64::from(tenths) / 10.0)
    }

    /// Opinion score of conversing.
    #[must_use]
    pub fn conversing(&self) -> Option<f64> {
        self.known(23).map(|tenths| f64::from(tenths) / 10.0)
    }

    /// Nominal delay of the buffer, in milliseconds.
    #[must_use]
    pub fn buffer_ms(&self) -> u16 {
        self.number(26)
    }
}

/// The items of a source description (RFC 3550, 6.5).
#[derive(Clone, Copy, Debug, Default)]
pub struct Items<'p>(&'p [u8]);

impl<'p> Items<'p> {
    /// The first item of this type: 1 is the canonical name.
    #[must_use]
    pub fn of(mut self, kind: u8) -> Option<&'p [u8]> {
        self.find(|item| item.0 == kind).map(|item| item.1)
    }
}

impl<'p> Iterator for Items<'p> {
    type Item = (u8, &'p [u8]);

    fn next(&mut self) -> Option<(u8, &'p [u8])> {
        match self.0 {
            [] | [0, ..] | [_] => None,
            [kind, length, rest @ ..] => {
                let (text, rest) = rest.split_at_checked(usize::from(*length))?;
                self.0 = rest;
                Some((*kind, text))
            }
        }
    }
}

/// Whether a datagram consists of adjacent RTCP packets, the first of which is a report; if `is_announced`, also a single goodbye,
/// application-defined packet or feedback (RFC 5506).
#[must_use]
pub fn is_rtcp(bytes: &[u8], is_announced: bool) -> bool {
    is_rtcp_cut(bytes, is_announced, 0)
}

/// Whether the first octets of a datagram, of which `missing` more were not captured, are RTCP as in [`is_rtcp`].
#[must_use]
pub fn is_rtcp_cut(bytes: &[u8], is_announced: bool, missing: u64) -> bool {
    let Some(first) = u8_at(bytes, 1) else {
        return false;
    };
    let begins = match first {
        kind::SENDER_REPORT | kind::RECEIVER_REPORT => true,
        kind::SOURCE_DESCRIPTION..=kind::EXTENDED_REPORT => is_announced,
        _ => false,
    };
    let mut rest = bytes;
    while begins && !rest.is_empty() {
        let Some([packet, ..]) = array_at::<1>(rest, 0) else {
            return false;
        };
        let is_known = u8_at(rest, 1).is_some_and(|kind| KINDS.contains(&kind));
        let Some(octets) = octets_of(rest) else {
            return missing > 0;
        };
        if packet >> 6 != 2 || !is_known || octets < least_octets(rest) {
            return false;
        }
        match rest.get(octets..) {
            Some(more) => rest = more,
            None => return octets.saturating_sub(rest.len()) as u64 <= missing,
        }
    }
    begins
}

/// Whether a datagram between sockets of media consists of packets of RTCP with a [fault](RtcpFault). Behind the first header of encrypted
/// reports (RFC 3711, 3.4) nothing is legible, so that what follows a packet must begin as one, too.
#[must_use]
pub fn is_damaged(bytes: &[u8]) -> bool {
    let first = kind::SENDER_REPORT..=kind::EXTENDED_REPORT;
    let is_report = u8_at(bytes, 1).is_some_and(|kind| first.contains(&kind));
    let mut is_damaged = false;
    let mut rest = bytes;
    while let [version, kind, _, _, ..] = rest {
        if version >> 6 != 2 || !KINDS.contains(kind) {
            return false;
        }
        is_damaged |= RtcpFault::of(rest).is_some();
        let octets = octets_of(rest).unwrap_or(rest.len());
        rest = rest.get(octets..).unwrap_or_default();
    }
    is_report && is_damaged
}

/// The types of packets that are assigned (IANA).
const KINDS: std::ops::RangeInclusive<u8> = 192..=213;

/// The number of octets of the packet with which these begin, by its header.
fn octets_of(bytes: &[u8]) -> Option<usize> {
    u16_be_at(bytes, 2).map(|words| 4 + 4 * usize::from(words))
}

/// Octets that a packet has at least, by its type and what it counts.
fn least_octets(packet: &[u8]) -> usize {
    let count = usize::from(u8_at(packet, 0).unwrap_or_default() & 31);
    match u8_at(packet, 1).unwrap_or_default() {
        kind::SENDER_REPORT => 28 + 24 * count,
        kind::RECEIVER_REPORT => 8 + 24 * count,
        kind::GOODBYE => 4 + 4 * count,
        kind::APPLICATION | kind::TRANSPORT_FEEDBACK | kind::PAYLOAD_FEEDBACK => 12,
        _ => 4,
    }
}

/// Calls `each` with the reports of a datagram, of which so many octets behind these were not captured: those of packets that were captured
/// whole. A packet of a datagram that was captured whole is read as far as it is there, and has a fault.
pub fn reports<'p>(bytes: &'p [u8], missing: u64, each: &mut dyn FnMut(&Report<'p>)) {
    let mut rest = bytes;
    let mut packet = 0_u32;
    while let (Some(first), Some(kind), Some(words)) =
        (u8_at(rest, 0), u8_at(rest, 1), u16_be_at(rest, 2))
    {
        let fault = RtcpFault::of(rest).filter(|_| missing == 0);
        let (whole, more) = match rest.split_at_checked(4 + 4 * usize::from(words)) {
            Some(divided) => divided,
            None if fault.is_some() => (rest, Default::default()),
            None => return,
        };
        rest = more;
        packet = packet.saturating_add(1);
        let has_padding = first & 0x20 != 0 && fault != Some(RtcpFault::Long);
        let padding = match has_padding {
            true => usize::from(whole.last().copied().unwrap_or_default()),
            false => 0,
        };
        let body = whole
            .get(4..whole.len().saturating_sub(padding))
            .unwrap_or_default();
        let mut parts = CompoundParts {
            report: Report {
                packet,
                part: 0,
                kind,
                count: first & 31,
                words,
                fault,
                ..Report::default()
            },
            each: &mut *each,
        };
        parts.packet(body);
    }
}

/// Passes on the parts of a packet.
struct CompoundParts<'e, 'p> {
    /// The fields that all parts have.
    report: Report<'p>,
    each: &'e mut dyn FnMut(&Report<'p>),
}

impl<'p> CompoundParts<'_, 'p> {
    fn push(&mut self, part: Report<'p>) {
        self.report.part = self.report.part.saturating_add(1);
        (self.each)(&Report {
            part: self.report.part,
            ..part
        });
    }

    fn packet(&mut self, body: &'p [u8]) {
        let report = &mut self.report;
        match report.kind {
            kind::SENDER_REPORT | kind::RECEIVER_REPORT => {
                report.sender = u32_be_at(body, 0);
                let is_sender = report.kind == kind::SENDER_REPORT;
                let sent = if is_sender { sent(body) } else { None };
                self.blocks(body, sent, if is_sender { 24 } else { 4 });
            }
            kind::SOURCE_DESCRIPTION => self.chunks(body),
            kind::GOODBYE => self.goodbye(body),
            kind::APPLICATION => {
                report.source = u32_be_at(body, 0);
                report.text = body.get(4..8);
                let part = *report;
                self.push(part);
            }
            kind::TRANSPORT_FEEDBACK | kind::PAYLOAD_FEEDBACK => {
                report.sender = u32_be_at(body, 0);
                report.source = u32_be_at(body, 4);
                let part = *report;
                self.push(part);
            }
            kind::EXTENDED_REPORT => self.extended(body),
            _ => {
                let part = *report;
                self.push(part);
            }
        }
    }

    fn blocks(&mut self, body: &'p [u8], sent: Option<Sent>, start: usize) {
        for n in 0..usize::from(self.report.count) {
            let at = start + 24 * n;
            let Some(received) = received(body, at) else {
                break;
            };
            let part = Report {
                source: u32_be_at(body, at),
                received: Some(received),
                sent: sent.filter(|_| n == 0),
                ..self.report
            };
            self.push(part);
        }
        if self.report.part == 0 {
            let part = Report {
                sent,
                ..self.report
            };
            self.push(part);
        }
    }

    fn chunks(&mut self, body: &'p [u8]) {
        let mut rest = body;
        for _ in 0..self.report.count {
            let Some(source) = u32_be_at(rest, 0) else {
                break;
            };
            let items = Items(rest.get(4..).unwrap_or_default());
            let octets: usize = items.map(|(_, text)| 2 + text.len()).sum();
            // The items end with at least one zero, up to the next word.
            let next = (4 + octets + 4) / 4 * 4;
            let part = Report {
                source: Some(source),
                items,
                ..self.report
            };
            self.push(part);
            rest = rest.get(next..).unwrap_or_default();
        }
        if self.report.part == 0 {
            let part = self.report;
            self.push(part);
        }
    }

    fn goodbye(&mut self, body: &'p [u8]) {
        let count = usize::from(self.report.count);
        let reason = body.get(4 * count..).and_then(|rest| {
            let (length, text) = rest.split_first()?;
            text.get(..usize::from(*length))
        });
        self.report.text = reason.filter(|reason| !reason.is_empty());
        for n in 0..count {
            let Some(source) = u32_be_at(body, 4 * n) else {
                break;
            };
            let part = Report {
                source: Some(source),
                ..self.report
            };
            self.push(part);
        }
        if self.report.part == 0 {
            let part = self.report;
            self.push(part);
        }
    }

    fn extended(&mut self, body: &'p [u8]) {
        self.report.sender = u32_be_at(body, 0);
        let mut rest = body.get(4..).unwrap_or_default();
        while let (Some(kind), Some(words)) = (u8_at(rest, 0), u16_be_at(rest, 2)) {
            let octets = 4 * usize::from(words);
            let Some(contents) = rest.get(4..4 + octets) else {
                break;
            };
            let has_source = matches!(kind, 1..=3 | 6 | 7);
            let part = Report {
                source: u32_be_at(contents, 0).filter(|_| has_source),
                block: Some(Block { kind, contents }),
                ..self.report
            };
            self.push(part);
            rest = rest.get(4 + octets..).unwrap_or_default();
        }
        if self.report.part == 0 {
            let part = self.report;
            self.push(part);
        }
    }
}

fn sent(body: &[u8]) -> Option<Sent> {
    Some(Sent {
        ntp: u64_be_at(body, 4)?,
        timestamp: u32_be_at(body, 12)?,
        packets: u32_be_at(body, 16)?,
        octets: u32_be_at(body, 20)?,
    })
}

fn received(body: &[u8], at: usize) -> Option<Received> {
    let lost = u32_be_at(body, at + 4)?;
    Some(Received {
        fraction_lost: (lost >> 24) as u8,
        // The field has twenty-four bits with a sign.
        lost: (lost << 8) as i32 >> 8,
        highest: u32_be_at(body, at + 8)?,
        jitter: u32_be_at(body, at + 12)?,
        last_report: u32_be_at(body, at + 16)?,
        delay: u32_be_at(body, at + 20)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sender's report with two blocks, a description, an extended report and a goodbye.
    fn compound() -> Vec<u8> {
        let mut bytes = vec![0x82, 200, 0, 18];
        bytes.extend(7_u32.to_be_bytes());
        bytes.extend(0x1122_3344_5566_7788_u64.to_be_bytes());
        for word in [160_u32, 10, 1_600] {
            bytes.extend(word.to_be_bytes());
        }
        for (source, lost) in [(8_u32, 0x40ff_fffe_u32), (9, 3)] {
            for word in [source, lost, 0x1_0005, 12, 0x3344_5566, 65_536] {
                bytes.extend(word.to_be_bytes());
            }
        }
        bytes.extend([0x81, 202, 0, 3, 0, 0, 0, 7, 1, 3, b'a', b'@', b'b', 0, 0, 0]);
        bytes.extend([0x80, 207, 0, 10, 0, 0, 0, 7, 7, 0, 0, 8]);
        let mut voice = [0_u8; 32];
        voice[3] = 8;
        voice[20..24].copy_from_slice(&[93, 127, 41, 127]);
        bytes.extend(voice);
        bytes.extend([
            0x81, 203, 0, 3, 0, 0, 0, 7, 4, b'd', b'o', b'n', b'e', 0, 0, 0,
        ]);
        bytes
    }

    fn read(bytes: &[u8]) -> Vec<Report<'_>> {
        let mut all = Vec::new();
        reports(bytes, 1, &mut |report| all.push(*report));
        all
    }

    /// The packets, the sources and the faults of a datagram that was captured whole.
    fn damage(bytes: &[u8]) -> Vec<(u32, Option<u32>, Option<RtcpFault>)> {
        let mut all = Vec::new();
        reports(bytes, 0, &mut |report| {
            all.push((report.packet, report.source, report.fault));
        });
        all
    }

    /// All of a datagram was left out where one of its packets was damaged.
    #[test]
    fn packets_with_faults_are_read_as_far_as_they_go() {
        use RtcpFault::{Long, Short, Trailing};
        let report = [0x80, 201, 0, 1, 0, 0, 0, 7];
        let description = [0x81, 202, 0, 3, 0, 0, 0, 7, 1, 3, b'a', b'@', b'b', 0, 0, 0];
        let compound = |count: u8, words: u8, behind: &[u8]| {
            let mut bytes = [&report[..], &description, behind].concat();
            bytes[0] |= count;
            bytes[11] = words;
            bytes
        };
        let first = |fault| (1, None, fault);
        let second = |fault| (2, Some(7), fault);
        for (bytes, expected) in [
            (compound(0, 3, &[]), [first(None), second(None)]),
            (compound(0, 32, &[]), [first(None), second(Some(Long))]),
            (compound(2, 3, &[]), [first(Some(Short)), second(None)]),
            (compound(0, 3, &[0]), [first(None), second(Some(Trailing))]),
        ] {
            assert_eq!(damage(&bytes), expected, "{bytes:x?}");
            let has_fault = expected.iter().any(|it| it.2.is_some());
            assert_eq!(is_damaged(&bytes), has_fault, "{bytes:x?}");
            assert_eq!(is_rtcp(&bytes, true), !has_fault, "{bytes:x?}");
        }
        let long = compound(0, 32, &[]);
        reports(&long, 0, &mut |report| {
            let name = report.items.of(1);
            assert_eq!(name.is_some(), report.packet == 2);
        });
        // What an encrypted report has behind its header begins as no packet.
        let sealed = [&report[..], &[0x5a; 14]].concat();
        assert!(!is_damaged(&sealed));
        assert!(!is_damaged(&[]) && !is_damaged(&[0x80, 201]));
        // A goodbye that counts more than its length has room for.
        assert_eq!(
            damage(&[0x85, 203, 0, 1, 0, 0, 0, 7]),
            [(1, Some(7), Some(Short))]
        );
    }

    #[test]
    fn a_compound_is_read() {
        let bytes = compound();
        assert!(is_rtcp(&bytes, false));
        let all = read(&bytes);
        let shape: Vec<_> = all
            .iter()
            .map(|it| (it.packet, it.part, it.kind, it.source))
            .collect();
        assert_eq!(
            shape,
            [
                (1, 1, 200, Some(8)),
                (1, 2, 200, Some(9)),
                (2, 1, 202, Some(7)),
                (3, 1, 207, Some(8)),
                (4, 1, 203, Some(7)),
            ]
        );
        assert_eq!(all[0].sent.unwrap().packets, 10);
        assert!(all[1].sent.is_none(), "the first block has it");
        let received = all[0].received.unwrap();
        assert_eq!((received.fraction_lost, received.lost), (64, -2));
        assert_eq!(all[2].items.of(1), Some(&b"a@b"[..]));
        let voice = all[3].block.unwrap().voice().unwrap();
        assert_eq!(
            (voice.rating(), voice.listening(), voice.conversing()),
            (Some(93), Some(4.1), None)
        );
        assert_eq!(all[4].text, Some(&b"done"[..]));
    }

    #[test]
    fn every_prefix_is_read_as_far_as_it_goes() {
        let bytes = compound();
        let ends = [76, 92, 136, 152];
        for length in 0..=bytes.len() {
            let prefix = &bytes[..length];
            assert_eq!(is_rtcp(prefix, false), ends.contains(&length), "{length}");
            let whole = ends.iter().filter(|end| length >= **end).count();
            assert_eq!(
                read(prefix).last().map_or(0, |it| it.packet as usize),
                whole
            );
        }
    }

    #[test]
    fn one_that_was_cut_is_one() {
        let report = [0x80, 201, 0, 1, 0, 0, 0, 1, 0x81, 202, 0, 4, 0, 0, 0, 1];
        for length in 4..report.len() {
            let missing = (28 - length) as u64;
            assert!(is_rtcp_cut(&report[..length], false, missing), "{length}");
            assert_eq!(is_rtcp(&report[..length], false), length == 8, "{length}");
        }
        assert!(!is_rtcp_cut(&report, false, 11));
    }

    #[test]
    fn what_only_looks_like_it_is_none() {
        // A count that its length has no room for.
        assert!(!is_rtcp(&[0x81, 201, 0, 1, 0, 0, 0, 1], false));
        assert!(is_rtcp(&[0x80, 201, 0, 1, 0, 0, 0, 1], false));
        // A single goodbye counts only where RTCP is announced.
        assert!(!is_rtcp(&[0x81, 203, 0, 1, 0, 0, 0, 1], false));
        assert!(is_rtcp(&[0x81, 203, 0, 1, 0, 0, 0, 1], true));
        assert!(!is_rtcp(&[], true));
    }

    #[test]
    fn a_goodbye_had_as_many_rows_as_it_counts_without_room_for_them() {
        assert_eq!(read(&[0x9f, 203, 0, 0]).len(), 1);
        assert_eq!(read(&[0x9f, 203, 0, 1, 0, 0, 0, 7]).len(), 1);
    }
}
