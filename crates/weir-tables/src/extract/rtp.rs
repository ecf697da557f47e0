//! `rtp`: one row a packet of RTP.

use std::collections::VecDeque;
use std::sync::Arc;

use weir_messages::rtp::{Codec, Event};
use weir_packet::{Kind, Needs, Value};

use super::extraction::{Extract, Extraction, ItemField, columns, push_item};
use super::media::{Announcement, Finder, RtpSight, Sight};
use super::messages::{Way, WithWay, columns_with_way};
use super::note::Note;
use super::value::{frame, number};
use crate::Row;
use crate::row::Item;
use crate::rows::Rows;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "rtp",
    doc: "one row per RTP packet, announced by signalling or in a run of packets on any port",
    columns: || columns_with_way(columns(&[], FIELDS)),
    needs: &[Needs::All],
    start: |settings| {
        Box::new(Rtp {
            finder: Finder::default().with_settings(settings),
            ..Rtp::default()
        })
    },
    arguments: super::settings::SECRETS,
    aliases: &[],
};

#[derive(Default)]
struct Rtp {
    finder: Finder,
    /// The packets that were complete, or given up, only at the end of the capture.
    last: Option<VecDeque<LastPacket>>,
}

/// A packet, its direction, and the announcement of its media.
struct LastPacket {
    bytes: Vec<u8>,
    way: Way,
    announced: Option<Arc<Announcement>>,
}

impl Extract for Rtp {
    fn keeps_records(&self) -> bool {
        true
    }

    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        self.finder.packet(row.packet, &mut |sight| {
            if let Sight::Rtp(sight) = sight {
                let item = WithWay {
                    way: &sight.way,
                    own: &RtpItem::new(sight),
                };
                rows.push_row(&row.with_item(&item));
            }
        });
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        let finder = &mut self.finder;
        let last = self.last.get_or_insert_with(|| {
            let mut last = VecDeque::new();
            finder.finish(&mut |_| {}, &mut |sight, _| {
                if let Sight::Rtp(sight) = sight {
                    last.push_back(LastPacket {
                        bytes: sight.packet.bytes().to_vec(),
                        way: sight.way,
                        announced: sight.announced.clone(),
                    });
                }
            });
            last
        });
        while !rows.is_full() {
            let Some(LastPacket {
                bytes,
                way,
                announced,
            }) = last.pop_front()
            else {
                return false;
            };
            if let Some(sight) = RtpSight::read(&bytes, way, announced) {
                let item = WithWay {
                    way: &sight.way,
                    own: &RtpItem::new(&sight),
                };
                push_item(rows, "", &item);
            }
        }
        true
    }

    fn notes(&self) -> Vec<Note> {
        Note::of("rtp", self.finder.counted()).collect()
    }
}

/// A packet and its decoded values.
struct RtpItem<'p> {
    sight: &'p RtpSight<'p>,
    csrcs: Vec<u32>,
    codec: Option<Codec>,
    event: Option<Event>,
}

impl<'p> RtpItem<'p> {
    fn new(sight: &'p RtpSight<'p>) -> Self {
        let codec = sight.codec();
        let is_event = codec.as_ref().is_some_and(Codec::is_events);
        Self {
            sight,
            csrcs: sight.packet.csrcs().collect(),
            event: sight.event().filter(|_| is_event),
            codec,
        }
    }
}

impl Item for RtpItem<'_> {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        (FIELDS.get(index)?.get)(self)
    }
}

type RtpGetter = for<'i> fn(&'i RtpItem<'_>) -> Option<Value<'i>>;

#[rustfmt::skip]
static FIELDS: &[ItemField<RtpGetter>] = &[
    ItemField::new("rtp.padding", Kind::Bool, |r| Some(Value::Bool(r.sight.packet.has_padding())),
        "The payload ends in padding", "RFC 3550, 5.1"),
    ItemField::new("rtp.ext", Kind::Bool, |r| Some(Value::Bool(r.sight.packet.has_extension())),
        "The header has an extension", "RFC 3550, 5.3.1"),
    ItemField::new("rtp.cc", Kind::U8, |r| number(r.sight.packet.contributors()),
        "Number of contributing sources", "RFC 3550, 5.1"),
    ItemField::new("rtp.marker", Kind::Bool, |r| Some(Value::Bool(r.sight.packet.marker())),
        "Marker bit: for audio the first packet after a pause, for video the last of a frame", "RFC 3550, 5.1"),
    ItemField::new("rtp.p_type", Kind::U8, |r| number(r.sight.packet.payload_type()),
        "Payload type", "RFC 3551, 6"),
    ItemField::new("rtp.codec", Kind::Text, |r| Some(Value::Text(&r.codec.as_ref()?.name)),
        "Codec of the payload type, by rtpmap or RFC 3551; NULL for dynamic types that no signalling describes", "RFC 3551, 6; RFC 8866, 6.6"),
    ItemField::new("rtp.seq", Kind::U16, |r| number(r.sight.packet.sequence()),
        "Sequence number", "RFC 3550, 5.1"),
    ItemField::new("rtp.timestamp", Kind::U32, |r| number(r.sight.packet.timestamp()),
        "RTP timestamp", "RFC 3550, 5.1"),
    ItemField::new("rtp.ssrc", Kind::U32, |r| number(r.sight.packet.ssrc()),
        "Synchronization source", "RFC 3550, 5.1"),
    ItemField::new("rtp.csrc.item", Kind::Numbers, |r| Some(Value::Numbers(&r.csrcs)).filter(|_| !r.csrcs.is_empty()),
        "Contributing sources", "RFC 3550, 5.1"),
    ItemField::new("rtp.ext.profile", Kind::U16, |r| number(r.sight.packet.extension()?.0),
        "Profile of the header extension", "RFC 3550, 5.3.1; RFC 8285"),
    ItemField::new("rtp.ext.len", Kind::U16, |r| number(r.sight.packet.extension()?.1),
        "Length of the header extension in 32-bit words", "RFC 3550, 5.3.1"),
    ItemField::new("rtp.payload_len", Kind::U32, |r| number(r.sight.packet.payload_len()? as u64),
        "Octets of the payload, without padding; NULL where the end of the padding, which gives its length, was not captured, and where rtp.fault has a reason", "RFC 3550, 5.1"),
    ItemField::new("rtp.payload", Kind::Bytes, |r| Some(Value::Bytes(r.sight.packet.payload())).filter(|_| !r.sight.packet.payload().is_empty()),
        "The payload, without padding, as far as it was captured", "RFC 3550, 5.1"),
    ItemField::new("rtp.missing", Kind::U32, |r| number(r.sight.way.missing).filter(|_| r.sight.way.missing > 0),
        "Octets at the end of the packet that were not captured; NULL when it is whole", "weir"),
    ItemField::new("rtp.fault", Kind::Text, |r| Some(Value::Text(r.sight.packet.fault()?.as_str())),
        "Why the packet has no payload: sources, a header extension or padding that are longer than it; NULL when it is sound", "weir"),
    ItemField::new("rtpevent.event_id", Kind::U8, |r| number(r.event?.event),
        "Named event, the first of several: 0 to 15 are the keys of a telephone", "RFC 4733, 2.3.1"),
    ItemField::new("rtpevent.end_of_event", Kind::Bool, |r| Some(Value::Bool(r.event?.is_end)),
        "End of the event", "RFC 4733, 2.3.2"),
    ItemField::new("rtpevent.volume", Kind::U8, |r| number(r.event?.volume),
        "Level of the event below full scale, in dB", "RFC 4733, 2.3.4"),
    ItemField::new("rtpevent.duration", Kind::U16, |r| number(r.event?.duration),
        "Duration of the event so far, in units of the RTP timestamp", "RFC 4733, 2.3.5"),
    ItemField::new("rtp.setup_method", Kind::Text, |r| Some(Value::Text(r.sight.announced.as_ref().map_or("content", |it| it.by))),
        "How the stream was found: sip, h248, mgcp, or content (a run of packets)", "weir"),
    ItemField::new("rtp.setup_frame", Kind::U64, |r| frame(r.sight.announced.as_ref()?.frame),
        "Number of the record that announced the stream", "weir"),
    ItemField::new("sip.call_id", Kind::Text, |r| r.sight.announced.as_ref()?.call_id.as_deref().map(Value::Text),
        "Call-ID of the SIP message that announced the stream, as in calls", "RFC 3261, 20.8"),
];
