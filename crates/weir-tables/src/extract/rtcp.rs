//! `rtcp`: one row a report of RTCP.

use std::cell::OnceCell;
use std::collections::VecDeque;

use weir_messages::rtp::rtcp::{Received, Report, Sent, Voice, kind, kind_word, reports};
use weir_packet::{Kind, Needs, Value};

use super::extraction::{Extract, Extraction, ItemField, columns, push_item};
use super::media::{CANONICAL_NAME, Finder, Sight, Trips};
use super::messages::{Way, WithWay, columns_with_way};
use super::note::Note;
use super::value::number;
use crate::Row;
use crate::row::Item;
use crate::rows::Rows;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "rtcp",
    doc: "one row per RTCP report: a packet, or each of its blocks, chunks or sources",
    columns: || columns_with_way(columns(&[], FIELDS)),
    needs: &[Needs::All],
    start: |settings| {
        Box::new(Rtcp {
            finder: Finder::default().with_settings(settings),
            ..Rtcp::default()
        })
    },
    arguments: super::settings::SECRETS,
    aliases: &[],
};

/// The octets of a datagram, where it went, and the Call-ID of its media.
type LastReport = (Vec<u8>, Way, Option<String>);

#[derive(Default)]
struct Rtcp {
    finder: Finder,
    trips: Trips,
    /// The datagrams that were complete, or given up, only at the end of the capture.
    last: Option<VecDeque<LastReport>>,
}

impl Extract for Rtcp {
    fn keeps_records(&self) -> bool {
        true
    }

    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        let Self { finder, trips, .. } = self;
        finder.packet(row.packet, &mut |sight| {
            let Sight::Rtcp(bytes, way, announced) = sight else {
                return;
            };
            let call_id = announced.and_then(|it| it.call_id.as_deref());
            push_reports(bytes, way, call_id, trips, &mut |item| {
                rows.push_row(&row.with_item(item));
            });
        });
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        let Self {
            finder,
            trips,
            last,
        } = self;
        let last = last.get_or_insert_with(|| {
            let mut last = VecDeque::new();
            finder.finish(&mut |_| {}, &mut |sight, _| {
                if let Sight::Rtcp(bytes, way, announced) = sight {
                    let call_id = announced.and_then(|it| it.call_id.clone());
                    last.push_back((bytes.to_vec(), *way, call_id));
                }
            });
            last
        });
        rows.take_waiting(last, |rows, (bytes, way, call_id)| {
            push_reports(&bytes, &way, call_id.as_deref(), trips, &mut |item| {
                push_item(rows, "", item);
            });
        })
    }

    fn notes(&self) -> Vec<Note> {
        Note::of("rtcp", self.finder.counted()).collect()
    }
}

/// Pushes a row for each report of a datagram.
fn push_reports(
    bytes: &[u8],
    way: &Way,
    call_id: Option<&str>,
    trips: &mut Trips,
    push: &mut dyn FnMut(&dyn Item),
) {
    reports(bytes, way.missing, &mut |report| {
        let own = ReportItem {
            report: *report,
            call_id,
            round_trip_ms: trips.take(report, way),
            name: OnceCell::new(),
            text: OnceCell::new(),
        };
        push(&WithWay { way, own: &own });
    });
}

struct ReportItem<'p> {
    report: Report<'p>,
    /// The call whose description announced the media.
    call_id: Option<&'p str>,
    round_trip_ms: Option<f64>,
    name: OnceCell<String>,
    text: OnceCell<String>,
}

impl ReportItem<'_> {
    fn sent(&self) -> Option<Sent> {
        self.report.sent
    }

    fn received(&self) -> Option<Received> {
        self.report.received
    }

    fn voice(&self) -> Option<Voice<'_>> {
        self.report.block?.voice()
    }

    /// A text of a packet of this kind.
    fn text(&self, of: u8) -> Option<Value<'_>> {
        let text = self.report.text.filter(|_| self.report.kind == of)?;
        let text = self.text.get_or_init(|| weir_messages::printable(text));
        Some(Value::Text(text))
    }

    fn format(&self, of: u8) -> Option<Value<'static>> {
        number(self.report.count).filter(|_| self.report.kind == of)
    }
}

impl Item for ReportItem<'_> {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        (FIELDS.get(index)?.get)(self)
    }
}

type ReportGetter = for<'i> fn(&'i ReportItem<'_>) -> Option<Value<'i>>;

/// The seconds from 1900 to 1970.
const EPOCH: i64 = 2_208_988_800;

/// A time of NTP; `None` where the sender gives none (RFC 3550, 6.4.1). Seconds whose highest bit is 0 are of the era
/// that begins in 2036 (RFC 5905, 6), as in the table of NTP and in Wireshark.
fn ntp(sent: Sent) -> Option<i64> {
    let seconds = i64::from((sent.ntp >> 32) as u32);
    let era = if sent.ntp >> 63 == 0 { 1_i64 << 32 } else { 0 };
    let fraction = (sent.ntp & 0xffff_ffff).saturating_mul(1_000_000_000) >> 32;
    let ns = (seconds + era - EPOCH).checked_mul(1_000_000_000)?;
    let ns = ns.checked_add(i64::try_from(fraction).ok()?);
    ns.filter(|_| sent.ntp > 0)
}

#[rustfmt::skip]
static FIELDS: &[ItemField<ReportGetter>] = &[
    ItemField::new("rtcp.packet", Kind::U32, |r| number(r.report.packet),
        "Number of the RTCP packet within the datagram, from 1", "RFC 3550, 6.1"),
    ItemField::new("rtcp.part", Kind::U32, |r| number(r.report.part),
        "Number of the block, chunk or source within the packet, from 1", "RFC 3550, 6"),
    ItemField::new("rtcp.pt", Kind::U8, |r| number(r.report.kind),
        "Packet type", "RFC 3550, 12.1"),
    ItemField::new("rtcp.type", Kind::Text, |r| kind_word(r.report.kind).map(Value::Text),
        "Name of the packet type: SR, RR, SDES, BYE, APP, RTPFB, PSFB, XR", "RFC 3550, 12.1; RFC 4585; RFC 3611"),
    ItemField::new("rtcp.length", Kind::U16, |r| number(r.report.words),
        "Length of the packet in 32-bit words, minus one", "RFC 3550, 6.4.1"),
    ItemField::new("rtcp.senderssrc", Kind::U32, |r| number(r.report.sender?),
        "SSRC of the packet's sender", "RFC 3550, 6.4.1"),
    ItemField::new("rtcp.ssrc.identifier", Kind::U32, |r| number(r.report.source.filter(|_| !matches!(r.report.kind, kind::TRANSPORT_FEEDBACK | kind::PAYLOAD_FEEDBACK))?),
        "SSRC that the block, chunk or BYE is about", "RFC 3550, 6"),
    ItemField::new("rtcp.mediassrc", Kind::U32, |r| number(r.report.source.filter(|_| matches!(r.report.kind, kind::TRANSPORT_FEEDBACK | kind::PAYLOAD_FEEDBACK))?),
        "SSRC that the feedback is about", "RFC 4585, 6.1"),
    ItemField::new("rtcp.timestamp.ntp", Kind::Time, |r| ntp(r.sent()?).map(Value::Time),
        "NTP timestamp of the sender report; in one row of a packet; a clock that counts from its own start seems to be in 2036",
        "RFC 3550, 6.4.1; RFC 5905, 6"),
    ItemField::new("rtcp.timestamp.ntp.msw", Kind::U32, |r| number(r.sent()?.ntp >> 32),
        "NTP timestamp: seconds since 1900, or since the sender started", "RFC 3550, 6.4.1"),
    ItemField::new("rtcp.timestamp.ntp.lsw", Kind::U32, |r| number(r.sent()?.ntp & 0xffff_ffff),
        "NTP timestamp: fraction in 2^32ths of a second", "RFC 3550, 6.4.1"),
    ItemField::new("rtcp.timestamp.rtp", Kind::U32, |r| number(r.sent()?.timestamp),
        "RTP timestamp of the sender report", "RFC 3550, 6.4.1"),
    ItemField::new("rtcp.sender.packetcount", Kind::U32, |r| number(r.sent()?.packets),
        "Packets sent so far", "RFC 3550, 6.4.1"),
    ItemField::new("rtcp.sender.octetcount", Kind::U32, |r| number(r.sent()?.octets),
        "Octets of payload sent so far", "RFC 3550, 6.4.1"),
    ItemField::new("rtcp.ssrc.fraction", Kind::U8, |r| number(r.received().map(|it| it.fraction_lost).or_else(|| Some(r.voice()?.loss_rate()))?),
        "Fraction lost since the last report, in 256ths; in an extended report since the beginning", "RFC 3550, 6.4.1; RFC 3611, 4.7.1"),
    ItemField::new("rtcp.ssrc.cum_nr", Kind::I64, |r| Some(Value::Signed(r.received()?.lost.into())),
        "Cumulative number of packets lost; negative when more were received than expected", "RFC 3550, 6.4.1"),
    ItemField::new("rtcp.ssrc.ext_high", Kind::U32, |r| number(r.received()?.highest),
        "Extended highest sequence number received, with its cycles in the upper bits", "RFC 3550, 6.4.1"),
    ItemField::new("rtcp.ssrc.jitter", Kind::U32, |r| number(r.received()?.jitter),
        "Interarrival jitter, in units of the RTP timestamp", "RFC 3550, 6.4.1"),
    ItemField::new("rtcp.ssrc.lsr", Kind::U32, |r| number(r.received()?.last_report),
        "Last SR timestamp: middle 32 bits of its NTP timestamp; 0 without one", "RFC 3550, 6.4.1"),
    ItemField::new("rtcp.ssrc.dlsr", Kind::U32, |r| number(r.received()?.delay),
        "Delay since the last SR, in 65,536ths of a second", "RFC 3550, 6.4.1"),
    ItemField::new("rtcp.roundtrip_delay", Kind::F64, |r| r.round_trip_ms.map(Value::Float),
        "Milliseconds from the point of capture to the reporter and back, where the sender report was seen", "RFC 3550, 6.4.1"),
    ItemField::new("rtcp.sdes.cname", Kind::Text, |r| {
            let name = r.report.items.of(CANONICAL_NAME)?;
            Some(Value::Text(r.name.get_or_init(|| weir_messages::printable(name))))
        }, "Canonical name of the source", "RFC 3550, 6.5.1"),
    ItemField::new("rtcp.bye.reason", Kind::Text, |r| r.text(kind::GOODBYE),
        "Reason for leaving", "RFC 3550, 6.6"),
    ItemField::new("rtcp.app.name", Kind::Text, |r| r.text(kind::APPLICATION),
        "Name of an application-defined packet", "RFC 3550, 6.7"),
    ItemField::new("rtcp.rtpfb.fmt", Kind::U8, |r| r.format(kind::TRANSPORT_FEEDBACK),
        "Type of transport layer feedback: 1 NACK, 15 congestion control", "RFC 4585, 6.2"),
    ItemField::new("rtcp.psfb.fmt", Kind::U8, |r| r.format(kind::PAYLOAD_FEEDBACK),
        "Type of payload-specific feedback: 1 PLI, 4 FIR, 15 application layer", "RFC 4585, 6.3"),
    ItemField::new("rtcp.xr.bt", Kind::U8, |r| number(r.report.block?.kind),
        "Block type of an extended report: 7 VoIP metrics", "RFC 3611, 3"),
    ItemField::new("rtcp.ssrc.discarded", Kind::U8, |r| number(r.voice()?.discard_rate()),
        "Fraction discarded because it came too late to be played, in 256ths", "RFC 3611, 4.7.1"),
    ItemField::new("rtcp.xr.voipmetrics.burstdensity", Kind::U8, |r| number(r.voice()?.burst_density()),
        "Fraction lost or discarded within bursts, in 256ths", "RFC 3611, 4.7.2"),
    ItemField::new("rtcp.xr.voipmetrics.gapdensity", Kind::U8, |r| number(r.voice()?.gap_density()),
        "Fraction lost or discarded within gaps between bursts, in 256ths", "RFC 3611, 4.7.2"),
    ItemField::new("rtcp.xr.voipmetrics.burstduration", Kind::U16, |r| number(r.voice()?.burst_ms()),
        "Mean duration of bursts, in milliseconds", "RFC 3611, 4.7.2"),
    ItemField::new("rtcp.xr.voipmetrics.gapduration", Kind::U16, |r| number(r.voice()?.gap_ms()),
        "Mean duration of gaps between bursts, in milliseconds", "RFC 3611, 4.7.2"),
    ItemField::new("rtcp.xr.voipmetrics.rtdelay", Kind::U16, |r| number(r.voice()?.round_trip_ms()),
        "Round-trip delay, in milliseconds", "RFC 3611, 4.7.3"),
    ItemField::new("rtcp.xr.voipmetrics.esdelay", Kind::U16, |r| number(r.voice()?.system_ms()),
        "End system delay, in milliseconds", "RFC 3611, 4.7.3"),
    ItemField::new("rtcp.xr.voipmetrics.rfactor", Kind::U8, |r| number(r.voice()?.rating()?),
        "Rating factor R; NULL where it is not known", "RFC 3611, 4.7.5"),
    ItemField::new("rtcp.xr.voipmetrics.moslq", Kind::F64, |r| r.voice()?.listening().map(Value::Float),
        "Listening quality (MOS-LQ), 1 to 5; NULL where it is not known", "RFC 3611, 4.7.5"),
    ItemField::new("rtcp.xr.voipmetrics.moscq", Kind::F64, |r| r.voice()?.conversing().map(Value::Float),
        "Conversational quality (MOS-CQ), 1 to 5; NULL where it is not known", "RFC 3611, 4.7.5"),
    ItemField::new("sip.call_id", Kind::Text, |r| r.call_id.map(Value::Text),
        "Call-ID of the call whose SDP announced the media", "RFC 3261, 20.8"),
    ItemField::new("rtcp.xr.voipmetrics.jbnominal", Kind::U16, |r| number(r.voice()?.buffer_ms()),
        "Nominal delay of the jitter buffer, in milliseconds", "RFC 3611, 4.7.7"),
    ItemField::new("rtcp.fault", Kind::Text, |r| Some(Value::Text(r.report.fault?.as_str())),
        "Why the packet, or what is behind it, could not be read to its end: it is longer than the rest of the datagram, it has no room for what it counts, or octets behind it are too few for another one", "weir"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The times are those of `date -u -d … +%s`; the second era begins at 2036-02-07 06:28:16.
    #[test]
    fn times_beyond_2036_are_of_the_next_era() {
        for (ntp_time, ns) in [
            (0, None),
            (1 << 31, Some(2_085_978_496_500_000_000)),
            (0x0000_0001_0000_0000, Some(2_085_978_497_000_000_000)),
            (0x7fff_ffff_0000_0000, Some(4_233_462_143_000_000_000)),
            (0x8000_0000_0000_0000, Some(-61_505_152_000_000_000)),
            (0x83aa_7e80_0000_0000, Some(0)),
            (0xffff_ffff_8000_0000, Some(2_085_978_495_500_000_000)),
        ] {
            let sent = Sent {
                ntp: ntp_time,
                timestamp: 0,
                packets: 0,
                octets: 0,
            };
            assert_eq!(ntp(sent), ns, "{ntp_time:#x}");
        }
    }
}
