//! `media`: one row a stream of RTP, or of T.38 over UDPTL.

mod announced;
mod columns;
mod dialog;
mod finder;
mod pressed;
mod relay;
mod streams;
mod trips;

use std::collections::VecDeque;

use weir_packet::{Needs, Value};

pub(super) use self::announced::Announcement;
use self::columns::FIELDS;
pub(super) use self::finder::{Finder, RtpSight, Sight, gateway, is_text};
pub(super) use self::relay::{TurnConnections, data_of_peer};
pub(super) use self::streams::{CANONICAL_NAME, CallSpan, CallStreams, Heard, Stream, Streams};
pub(super) use self::trips::Trips;
use super::extraction::{Extract, Extraction, columns, push_item};
use super::list::Cache;
use super::messages::{WithWay, columns_with_way};
use super::note::Note;
use crate::Row;
use crate::row::Item;
use crate::rows::Rows;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "media",
    doc: "one row per RTP or T.38 stream, with its losses and its quality",
    columns: || columns_with_way(columns(&[], FIELDS)),
    needs: &[Needs::All],
    start: |settings| {
        Box::new(Media {
            finder: Finder::default().with_settings(settings),
            ..Media::default()
        })
    },
    arguments: super::settings::SECRETS,
    aliases: &[],
};

#[derive(Default)]
struct Media {
    finder: Finder,
    streams: Streams,
    /// Finished streams that have no place in the batch yet.
    told: VecDeque<Box<Stream>>,
    is_finished: bool,
}

struct StreamItem<'s> {
    stream: &'s Stream,
    cache: Cache,
}

impl Item for StreamItem<'_> {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        self.cache.value(FIELDS, index, self.stream)
    }
}

impl Media {
    fn push(&mut self, rows: &mut Rows) {
        while !rows.is_full()
            && let Some(mut stream) = self.told.pop_front()
        {
            if stream.announced.is_none() {
                stream.announced = self.finder.late(&stream.way);
            }
            let own = StreamItem {
                stream: &stream,
                cache: Cache::new(FIELDS.len()),
            };
            let item = WithWay {
                way: &stream.way,
                own: &own,
            };
            push_item(rows, "", &item);
        }
    }
}

/// Adds a packet to its stream.
fn take(streams: &mut Streams, told: &mut VecDeque<Box<Stream>>, sight: &Sight<'_>) {
    match sight {
        Sight::Rtp(sight) => {
            streams.rtp(sight, &mut |stream| told.push_back(stream));
        }
        Sight::Rtcp(bytes, way, _) => streams.rtcp(bytes, way),
        Sight::Fax(sight) => {
            streams.fax(sight, &mut |stream| told.push_back(stream));
        }
    }
}

impl Extract for Media {
    fn keeps_records(&self) -> bool {
        true
    }

    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        let Self {
            finder,
            streams,
            told,
            ..
        } = self;
        finder.packet(row.packet, &mut |sight| take(streams, told, sight));
        self.push(rows);
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        if !self.is_finished {
            self.is_finished = true;
            let Self {
                finder,
                streams,
                told,
                ..
            } = self;
            finder.finish(&mut |_| {}, &mut |sight, _| take(streams, told, sight));
            told.append(&mut streams.finish());
        }
        let had_some = !self.told.is_empty();
        self.push(rows);
        had_some
    }

    fn notes(&self) -> Vec<Note> {
        let own = [(
            self.streams.evicted(),
            "streams were written before their end because there were more than 65,536",
        )];
        Note::of("media", own.into_iter().chain(self.finder.counted())).collect()
    }
}
