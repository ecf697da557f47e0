//! The keys that are pressed in a stream (RFC 4733).

use weir_messages::rtp::Event;

/// The last events of a stream, so that a late packet begins none.
#[derive(Default)]
pub(super) struct Pressed {
    recent: [Option<Press>; RECENT_MAX],
    /// The index of the next value.
    at: usize,
}

/// An event, or a segment of one that is longer than the maximum duration (RFC 4733, 2.5.1.3).
#[derive(Clone, Copy)]
struct Press {
    /// The number of the last packet.
    sequence: u16,
    timestamp: u32,
    event: u8,
    duration: u16,
    has_ended: bool,
    /// The place of its key among those of the stream, if it has one.
    key_at: Option<usize>,
}

/// The number of events that are remembered. Three copies of an end come within 100 ms, in which no one presses so many
/// keys; a packet may have several of them.
const RECENT_MAX: usize = 16;

impl Pressed {
    /// Returns whether a packet is the first one of an event: all packets of an event have its timestamp, except those
    /// of its later segments. Some senders advance it within an event.
    pub(super) fn begins(&mut self, at: (u16, u32), marker: bool, event: Event) -> bool {
        let (sequence, timestamp) = at;
        let mut known = self.recent.iter_mut().flatten();
        if let Some(press) = known.find(|it| it.timestamp == timestamp && it.event == event.event) {
            press.sequence = sequence;
            press.duration = press.duration.max(event.duration);
            press.has_ended |= event.is_end;
            return false;
        }
        let mut known = self.recent.iter().flatten();
        let goes_on = !marker && known.any(|press| press.goes_on(at, event));
        if let Some(place) = self.recent.get_mut(self.at) {
            *place = Some(Press {
                sequence,
                timestamp,
                event: event.event,
                duration: event.duration,
                has_ended: event.is_end,
                key_at: None,
            });
        }
        self.at = (self.at + 1) % RECENT_MAX;
        !goes_on
    }

    /// The place of the key of the event that began last, whose packet has this number and this timestamp, among `count` keys: in front
    /// of those that were pressed later, though the network delivered them first.
    pub(super) fn place_key(&mut self, (sequence, timestamp): (u16, u32), count: usize) -> usize {
        let is_later = |press: &&Press| {
            press.sequence.wrapping_sub(sequence) as i16 > 0
                && press.timestamp.wrapping_sub(timestamp) as i32 > 0
        };
        let known = self.recent.iter().flatten();
        let later = known.filter(is_later).filter_map(|press| press.key_at);
        let place = later.min().unwrap_or(count);
        for key_at in self
            .recent
            .iter_mut()
            .flatten()
            .flat_map(|press| &mut press.key_at)
        {
            *key_at += usize::from(*key_at >= place);
        }
        let last = (self.at + RECENT_MAX - 1) % RECENT_MAX;
        if let Some(press) = self.recent.get_mut(last).and_then(Option::as_mut) {
            press.key_at = Some(place);
        }
        place
    }
}

impl Press {
    /// Returns whether a packet with this number and another timestamp continues the event: a segment begins at the longest duration
    /// of this one, or at its duration when it was seen last. The next packet of a sender that advances the timestamp begins within
    /// the event, and has a longer duration, or repeats the end.
    fn goes_on(&self, (sequence, timestamp): (u16, u32), event: Event) -> bool {
        let since = timestamp.wrapping_sub(self.timestamp);
        let is_segment = since == u32::from(u16::MAX) || since == u32::from(self.duration);
        let is_within = since < u32::from(self.duration);
        let follows = is_within && sequence.wrapping_sub(self.sequence) == 1;
        let goes_on = match self.has_ended {
            true => follows && event.is_end && event.duration == self.duration,
            false => is_segment || follows && event.duration > self.duration,
        };
        event.event == self.event && goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns which of these packets of events begin one: timestamp, marker, event, end, duration.
    fn begin(packets: &[(u32, bool, u8, bool, u16)]) -> Vec<bool> {
        let mut pressed = Pressed::default();
        let mut sequence = 0;
        let of = |&(timestamp, marker, event, is_end, duration): &(u32, bool, u8, bool, u16)| {
            sequence += 1;
            let event = Event {
                event,
                is_end,
                volume: 10,
                duration,
            };
            pressed.begins((sequence, timestamp), marker, event)
        };
        packets.iter().map(of).collect()
    }

    #[test]
    fn an_end_that_comes_late_is_no_key() {
        let packets = [
            (800, true, 1, false, 160),
            (800, false, 1, true, 960),
            (2_080, true, 2, false, 160),
            (800, false, 1, true, 960),
            (2_080, false, 2, true, 960),
        ];
        assert_eq!(begin(&packets), [true, false, true, false, false]);
    }

    /// Each packet was a key.
    #[test]
    fn keys_whose_timestamp_advances_are_one() {
        let packets = [
            (800, true, 4, false, 160),
            (960, false, 4, false, 320),
            (1_120, false, 4, false, 480),
            (1_280, false, 4, true, 640),
            (1_440, false, 4, true, 640),
            // The same key again, without a marker.
            (3_200, false, 4, false, 160),
            (3_360, false, 4, true, 320),
        ];
        let told = begin(&packets);
        assert_eq!(told, [true, false, false, false, false, true, false]);
    }

    /// A long event has segments, each of which begins at the longest duration of the one before (RFC 4733, 2.5.1.3).
    #[test]
    fn segments_of_a_long_key_are_one() {
        let next = 800 + u32::from(u16::MAX);
        let third = next + u32::from(u16::MAX);
        let packets = [
            (800, true, 5, false, 160),
            (800, false, 5, false, u16::MAX),
            (next, false, 5, false, 160),
            (next, false, 5, false, 64_000),
            (third, false, 5, true, 500),
            (third, false, 5, true, 500),
            // The same key is pressed again, directly after the first.
            (third + 500, true, 5, false, 160),
            // Another key is pressed, and its packet has no marker.
            (third + 660, false, 6, false, 160),
        ];
        let told = begin(&packets);
        assert_eq!(told, [true, false, false, false, false, false, true, true]);
    }
}
