//! The columns of `media`.

use weir_messages::rtp::Measure;
use weir_packet::{Kind, Value};

use super::Stream;
use crate::extract::extraction::ItemField;
use crate::extract::list::Say;
use crate::extract::value::{frame, number, seconds, span_ns};

fn float(value: f64) -> Option<Value<'static>> {
    Some(Value::Float(value))
}

/// Converts ticks of the media's clock to milliseconds.
fn ms(stream: &Stream, ticks: u32) -> Option<f64> {
    let rate = stream.measure.clock_rate().filter(|rate| *rate > 0)?;
    Some(f64::from(ticks) * 1e3 / f64::from(rate))
}

#[allow(clippy::cast_precision_loss, reason = "packets of a stream")]
fn percent(measure: &Measure) -> f64 {
    100.0 * measure.lost() as f64 / measure.expected().max(1) as f64
}

#[rustfmt::skip]
pub(super) static FIELDS: &[ItemField<Say<Stream>>] = &[
    ItemField::new("rtp.ssrc", Kind::U32, Say::Value(|s| number(s.ssrc?)),
        "Synchronization source; NULL for T.38", "RFC 3550, 5.1"),
    ItemField::new("media.protocol", Kind::Text, Say::Value(|s| Some(Value::Text(if s.is_fax() { "T.38" } else { "RTP" }))),
        "RTP, or T.38 over UDPTL, whose sequence numbers show losses", "RFC 3550; ITU-T T.38, 9.1"),
    ItemField::new("media.type", Kind::Text, Say::Value(|s| Some(Value::Text(&s.announced.as_ref()?.media.kind))),
        "audio, video, image or another, as in SDP; NULL for streams found by content", "RFC 8866, 5.14"),
    ItemField::new("media.codec", Kind::Text, Say::Value(|s| s.codec().map(Value::Text)),
        "Codec as rtpmap names it: the first that is neither telephone-event nor CN; NULL for dynamic payload types that no signalling describes", "RFC 3551, 6; RFC 8866, 6.6"),
    ItemField::new("media.codecs", Kind::Texts, Say::Value(|s| Some(Value::Texts(&s.codecs)).filter(|_| !s.codecs.is_empty())),
        "All codecs of the stream", "RFC 3551, 6; RFC 8866, 6.6"),
    ItemField::new("media.payload_types", Kind::Numbers, Say::Value(|s| Some(Value::Numbers(&s.payload_types)).filter(|_| !s.is_fax())),
        "Payload types of the stream; NULL for T.38", "RFC 3551, 6"),
    ItemField::new("media.clock_rate", Kind::U32, Say::Value(|s| s.measure.clock_rate().and_then(number)),
        "Clock rate of the RTP timestamp in Hz; NULL where it is not known, or where a description gives G722 or opus another one than they have", "RFC 3551, 6; RFC 8866, 6.6"),
    ItemField::new("media.found_by", Kind::Text, Say::Value(|s| Some(Value::Text(s.announced.as_ref().map_or("content", |it| it.by)))),
        "How the stream was found: sip, h248, mgcp, or content (a run of packets)", "weir"),
    ItemField::new("media.setup_frame", Kind::U64, Say::Value(|s| frame(s.announced.as_ref()?.frame)),
        "Number of the record that announced the stream", "weir"),
    ItemField::new("sip.call_id", Kind::Text, Say::Value(|s| s.announced.as_ref()?.call_id.as_deref().map(Value::Text)),
        "Call-ID of the SIP message that announced the stream, as in calls", "RFC 3261, 20.8"),
    ItemField::new("media.secure", Kind::Bool, Say::Value(|s| Some(Value::Bool(s.announced.as_ref()?.is_secure()))),
        "The stream was announced as SRTP, or both sides gave keys; NULL for streams found by content", "RFC 3711; RFC 4568"),
    ItemField::new("media.first_frame", Kind::U64, Say::Value(|s| frame(s.first_frame)),
        "Number of the record with the first packet", "weir"),
    ItemField::new("media.start", Kind::Time, Say::Value(|s| s.start_ns.map(Value::Time)),
        "Time of the first packet", "weir"),
    ItemField::new("media.duration", Kind::F64, Say::Value(|s| seconds(span_ns(s.start_ns, s.way.time_ns)?)),
        "Seconds from the first packet to the last", "weir"),
    ItemField::new("media.packets", Kind::U64, Say::Value(|s| number(s.measure.packets())),
        "Packets received", "RFC 3550, A.3"),
    ItemField::new("media.octets", Kind::U64, Say::Value(|s| number(s.octets)),
        "Octets of payload received", "RFC 3550, 6.4.1"),
    ItemField::new("media.expected", Kind::U64, Say::Value(|s| number(s.measure.expected())),
        "Packets expected by the first and the highest sequence number", "RFC 3550, A.3"),
    ItemField::new("media.lost", Kind::I64, Say::Value(|s| Some(Value::Signed(s.measure.lost()))),
        "Expected packets less those received; negative with more duplicates than losses", "RFC 3550, A.3"),
    ItemField::new("media.lost_percent", Kind::F64, Say::Value(|s| float(percent(&s.measure))),
        "Lost packets in percent of the expected ones", "RFC 3550, A.3"),
    ItemField::new("media.missing", Kind::U64, Say::Value(|s| number(s.measure.missing())),
        "Sequence numbers that were never received", "weir"),
    ItemField::new("media.out_of_order", Kind::U64, Say::Value(|s| number(s.measure.out_of_order())),
        "Packets received after one with a higher sequence number", "weir"),
    ItemField::new("media.duplicates", Kind::U64, Say::Value(|s| number(s.measure.duplicates())),
        "Packets received twice, among the last 1,024 sequence numbers", "weir"),
    ItemField::new("media.gaps", Kind::U64, Say::Value(|s| number(s.measure.gaps())),
        "Gaps in the sequence, each of one packet or more that was never received, or only behind the next 1,024", "weir"),
    ItemField::new("media.longest_gap", Kind::U64, Say::Value(|s| number(s.measure.longest_gap())),
        "Length of the longest gap in packets", "weir"),
    ItemField::new("media.late", Kind::U64, Say::Value(|s| number(s.measure.late()).filter(|_| s.measure.clock_rate().is_some())),
        "Packets that came more than 60 ms later than the fastest ones: too late for a jitter buffer of that length; NULL without a clock rate", "weir"),
    ItemField::new("media.jitter_min", Kind::F64, Say::Value(|s| float(s.measure.jitters_ms()?.0)),
        "Lowest interarrival jitter in milliseconds; NULL without a clock rate", "RFC 3550, A.8"),
    ItemField::new("media.jitter_mean", Kind::F64, Say::Value(|s| float(s.measure.jitters_ms()?.1)),
        "Mean interarrival jitter in milliseconds", "RFC 3550, A.8"),
    ItemField::new("media.jitter_max", Kind::F64, Say::Value(|s| float(s.measure.jitters_ms()?.2)),
        "Highest interarrival jitter in milliseconds", "RFC 3550, A.8"),
    ItemField::new("media.delta_min", Kind::F64, Say::Value(|s| float(s.measure.deltas_ms()?.0)),
        "Shortest time between packets in milliseconds", "weir"),
    ItemField::new("media.delta_mean", Kind::F64, Say::Value(|s| float(s.measure.deltas_ms()?.1)),
        "Mean time between packets in milliseconds", "weir"),
    ItemField::new("media.delta_max", Kind::F64, Say::Value(|s| float(s.measure.deltas_ms()?.2)),
        "Longest time between packets in milliseconds; packets after a pause do not count", "weir"),
    ItemField::new("media.skew_max", Kind::F64, Say::Value(|s| float(s.measure.skew_ms()?)),
        "Largest difference between media time and arrival time, in milliseconds; positive when the media was ahead", "weir"),
    ItemField::new("media.clock_drift", Kind::F64, Say::Value(|s| float(s.measure.drift_ppm()?)),
        "How much faster the sender's clock runs than that of the capture, in parts per million; NULL for fewer than 100 packets", "weir"),
    ItemField::new("media.talkspurts", Kind::U64, Say::Value(|s| number(s.markers)),
        "Packets with the marker bit: for audio, beginnings after a pause", "RFC 3551, 4.1"),
    ItemField::new("media.comfort_noise", Kind::U64, Say::Value(|s| number(s.comfort_noise)),
        "Packets of comfort noise", "RFC 3389"),
    ItemField::new("media.dtmf", Kind::Text, Say::Value(|s| Some(Value::Text(&s.keys)).filter(|_| !s.keys.is_empty() && !s.is_secure())),
        "DTMF keys of named events; 256 at most; NULL for SRTP, which encrypts them", "RFC 4733, 3.2"),
    ItemField::new("media.events", Kind::U32, Say::Value(|s| number(s.events).filter(|_| !s.is_secure())),
        "Named events; NULL for SRTP, which encrypts them", "RFC 4733"),
    ItemField::new("media.codec.ie", Kind::F64, Say::Value(|s| float(s.impairment()?.ie)),
        "Input of R: equipment impairment factor Ie of the codec; NULL for codecs without one", "ITU-T G.113, appendix I"),
    ItemField::new("media.codec.bpl", Kind::F64, Say::Value(|s| float(s.impairment()?.bpl)),
        "Input of R: packet-loss robustness Bpl of the codec; for G.711 with concealment", "ITU-T G.113, appendix I"),
    ItemField::new("media.unheard_percent", Kind::F64, Say::Value(|s| float(s.measure.unheard_percent()).filter(|_| s.measure.clock_rate().is_some())),
        "Input of R: Ppl, missing or late packets in percent of the expected ones; NULL without a clock rate", "ITU-T G.107, 7.6"),
    ItemField::new("media.burst_ratio", Kind::F64, Say::Value(|s| float(s.measure.burst_ratio()).filter(|_| !s.is_fax())),
        "Input of R: BurstR, mean length of gaps relative to random loss of the same rate; at least 1", "ITU-T G.107, 7.6"),
    ItemField::new("media.delay", Kind::F64, Say::Value(|s| float(s.delay_ms()).filter(|_| !s.is_fax())),
        "Input of R: delay in milliseconds: half of media.rtcp.round_trip where it is known, the time between packets, and the jitter buffer of 60 ms", "ITU-T G.107, 7.5"),
    ItemField::new("media.r_factor", Kind::F64, Say::Value(|s| float(s.rating()?)),
        "Rating factor R of the E-model, 0 to 100, with the defaults of its table 2; NULL for codecs without Ie", "ITU-T G.107, 7"),
    ItemField::new("media.mos", Kind::F64, Say::Value(|s| float(s.opinion()?)),
        "Mean opinion score of R, 1 to 4.5", "ITU-T G.107, annex B"),
    ItemField::new("media.rtcp.reports", Kind::U32, Say::Value(|s| number(s.reported.reports)),
        "Reports of the receiver that were captured", "RFC 3550, 6.4"),
    ItemField::new("media.rtcp.lost", Kind::I64, Say::Value(|s| Some(Value::Signed(s.reported.lost?.into()))),
        "Lost packets, by the last of these reports", "RFC 3550, 6.4.1"),
    ItemField::new("media.rtcp.lost_percent_max", Kind::F64, Say::Value(|s| float(f64::from(s.reported.fraction_max?) / 2.56)),
        "Highest loss between two reports, in percent", "RFC 3550, 6.4.1"),
    ItemField::new("media.rtcp.jitter_max", Kind::F64, Say::Value(|s| float(ms(s, s.reported.jitter_max?)?)),
        "Highest jitter that the receiver reports, in milliseconds", "RFC 3550, 6.4.1"),
    ItemField::new("media.rtcp.round_trip", Kind::F64, Say::Value(|s| float(s.reported.round_trip_ms?)),
        "Milliseconds from the point of capture to the receiver and back, by the last report", "RFC 3550, 6.4.1"),
    ItemField::new("media.rtcp.sent", Kind::U32, Say::Value(|s| number(s.reported.sent?)),
        "Packets sent, by the sender's last report", "RFC 3550, 6.4.1"),
    ItemField::new("media.rtcp.cname", Kind::Text, Say::Value(|s| s.reported.name.as_deref().map(Value::Text)),
        "Canonical name of the sender", "RFC 3550, 6.5.1"),
    ItemField::new("media.xr.r_factor", Kind::U8, Say::Value(|s| number(s.reported.rating?)),
        "Rating factor that the receiver reports", "RFC 3611, 4.7.5"),
    ItemField::new("media.xr.mos_lq", Kind::F64, Say::Value(|s| float(s.reported.listening?)),
        "Listening quality (MOS-LQ) that the receiver reports", "RFC 3611, 4.7.5"),
    ItemField::new("media.xr.mos_cq", Kind::F64, Say::Value(|s| float(s.reported.conversing?)),
        "Conversational quality (MOS-CQ) that the receiver reports", "RFC 3611, 4.7.5"),
];
