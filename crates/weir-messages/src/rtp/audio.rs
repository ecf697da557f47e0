//! G.711 (ITU-T) as samples on a line of time: what was heard, gaps as silence.

/// The encoding of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// A-law.
    A,
    /// µ-law.
    Mu,
}

/// Samples a second.
pub const SAMPLE_RATE: u32 = 8_000;
/// Samples of a track, at most: an hour.
pub const SAMPLES_MAX: usize = 3_600 * SAMPLE_RATE as usize;
/// The distance between the sender's clock and the time of arrival, in samples, from which on the clock has begun anew.
const APART_MAX: i64 = 2 * SAMPLE_RATE as i64;

impl Law {
    /// The law of a codec by its name in `rtpmap`.
    #[must_use]
    pub fn of_codec(name: &str) -> Option<Self> {
        match name {
            name if name.eq_ignore_ascii_case("PCMA") => Some(Self::A),
            name if name.eq_ignore_ascii_case("PCMU") => Some(Self::Mu),
            _ => None,
        }
    }

    /// The sample that an octet stands for, of 16 bits (G.711, tables 1 and 2).
    #[must_use]
    pub const fn sample(self, octet: u8) -> i16 {
        match self {
            Self::Mu => {
                let octet = !octet;
                let size = (((octet & 0x0f) as i16) << 3) + 0x84;
                let size = size << (octet >> 4 & 7);
                if octet & 0x80 == 0 {
                    size - 0x84
                } else {
                    0x84 - size
                }
            }
            Self::A => {
                let octet = octet ^ 0x55;
                let step = ((octet & 0x0f) as i16) << 4;
                let size = match octet >> 4 & 7 {
                    0 => step + 8,
                    segment => (step + 0x108) << (segment - 1),
                };
                if octet & 0x80 == 0 { -size } else { size }
            }
        }
    }
}

/// The sound of one side.
#[derive(Clone, Debug, Default)]
pub struct Track {
    samples: Vec<i16>,
    /// The number of places in `samples` before the beginning of all tracks: none until a packet needs one, and then as many as
    /// any may need, so that the samples are moved once.
    room: usize,
    /// The number of these places that packets have.
    lead: usize,
    /// A source with a time of its clock, and the sample that it is.
    known: Option<(u32, u32, i64)>,
    dropped: u64,
}

impl Track {
    /// Adds a packet that arrived `since_ns` after the beginning of all tracks. Its position follows the sender's clock, so that
    /// jitter is not heard, as long as the clock continues.
    pub fn push(&mut self, since_ns: i64, ssrc: u32, timestamp: u32, law: Law, payload: &[u8]) {
        let arrived = since_ns / (1_000_000_000 / i64::from(SAMPLE_RATE));
        let place = self
            .known
            .filter(|(source, ..)| *source == ssrc)
            .map(|(_, known, place)| place + i64::from(timestamp.wrapping_sub(known) as i32))
            .filter(|place| (place - arrived).abs() <= APART_MAX)
            .unwrap_or(arrived);
        self.known = Some((ssrc, timestamp, place));
        if (-APART_MAX..0).contains(&place) {
            // The first packets overtook this one.
            if self.room == 0 {
                self.room = APART_MAX as usize;
                let places = std::iter::repeat_n(0, self.room);
                drop(self.samples.splice(0..0, places));
            }
            let lead = usize::try_from(-place).unwrap_or_default();
            self.lead = self.lead.max(lead);
        }
        let room = i64::try_from(self.room).unwrap_or_default();
        let begin = usize::try_from(place.saturating_add(room)).ok();
        let end = begin.and_then(|begin| begin.checked_add(payload.len()));
        let end = end.filter(|end| end.saturating_sub(self.room) <= SAMPLES_MAX);
        let (Some(begin), Some(end)) = (begin, end) else {
            self.dropped = self.dropped.saturating_add(1);
            return;
        };
        if self.samples.len() < end {
            self.samples.resize(end, 0);
        }
        let places = self.samples.get_mut(begin..end).unwrap_or_default();
        for (place, octet) in places.iter_mut().zip(payload) {
            *place = law.sample(*octet);
        }
    }

    /// The number of samples before the beginning of all tracks: of packets that were overtaken by the first ones.
    #[must_use]
    pub const fn lead(&self) -> usize {
        self.lead
    }

    /// The samples.
    #[must_use]
    pub fn samples(&self) -> &[i16] {
        let unused = self.room.saturating_sub(self.lead);
        self.samples.get(unused..).unwrap_or_default()
    }

    /// Packets that have no place: more than two seconds before the beginning, or more than an hour after it.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_are_what_g711_says() {
        let mu = [
            (0xff, 0),
            (0x7f, 0),
            (0x80, 32_124),
            (0x00, -32_124),
            (0xfe, 8),
            (0xa0, 7_932),
        ];
        for (octet, sample) in mu {
            assert_eq!(Law::Mu.sample(octet), sample, "{octet:#x}");
        }
        let a = [
            (0xd5, 8),
            (0x55, -8),
            (0xaa, 32_256),
            (0x2a, -32_256),
            (0x80, 5_504),
        ];
        for (octet, sample) in a {
            assert_eq!(Law::A.sample(octet), sample, "{octet:#x}");
        }
        // Larger numbers are larger sounds, of either law.
        for law in [Law::A, Law::Mu] {
            let mut all: Vec<i16> = (0..=255).map(|octet| law.sample(octet)).collect();
            all.sort_unstable();
            all.dedup();
            assert!(
                all.len() >= 255
                    && all
                        .first()
                        .zip(all.last())
                        .is_some_and(|(low, high)| *low == -high)
            );
        }
    }

    #[test]
    fn what_is_missing_is_silence_and_jitter_is_none() {
        let mut track = Track::default();
        let ms = 1_000_000;
        track.push(0, 7, u32::MAX - 159, Law::Mu, &[0x80; 160]);
        // Late by 15 ms, and 20 ms after it one is missing; then one comes twice and out of order.
        track.push(35 * ms, 7, 0, Law::Mu, &[0x80; 160]);
        track.push(60 * ms, 7, 320, Law::Mu, &[0x80; 160]);
        track.push(61 * ms, 7, 0, Law::Mu, &[0x80; 160]);
        assert_eq!(track.samples().len(), 640);
        let silent: Vec<usize> = (0..640).filter(|at| track.samples()[*at] == 0).collect();
        assert_eq!(silent, (320..480).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_packets_may_be_out_of_order() {
        let mut track = Track::default();
        let ms = 1_000_000;
        track.push(0, 7, 320, Law::Mu, &[0x80; 160]);
        track.push(5 * ms, 7, 160, Law::Mu, &[0x00; 160]);
        track.push(6 * ms, 7, 0, Law::Mu, &[0xa0; 160]);
        track.push(20 * ms, 7, 480, Law::Mu, &[0x00; 160]);
        assert_eq!((track.dropped(), track.lead()), (0, 320));
        let heard: Vec<i16> = track.samples().iter().step_by(160).copied().collect();
        assert_eq!(heard, [7_932, -32_124, 32_124, -32_124]);
    }

    /// All samples were moved for each packet.
    #[test]
    fn packets_before_the_beginning_move_the_samples_once() {
        let mut track = Track::default();
        track.push(0, 7, 1_000_000, Law::Mu, &[0x80; 160]);
        let end_ns = 599 * 1_000_000_000;
        track.push(end_ns, 7, 1_000_000 + 599 * 8_000, Law::Mu, &[0x80; 160]);
        track.push(0, 7, 1_000_000, Law::Mu, &[0x80; 160]);
        for number in 1..=16_001_u32 {
            track.push(0, 7, 1_000_000 - number, Law::Mu, &[0x00]);
        }
        // The last one is more than two seconds away from its arrival.
        assert_eq!((track.dropped(), track.lead()), (0, 16_000));
        assert_eq!(track.samples().len(), 16_000 + 599 * 8_000 + 160);
        let early = track
            .samples()
            .iter()
            .take_while(|sample| **sample == -32_124);
        assert_eq!(early.count(), 16_001);
    }

    #[test]
    fn a_clock_that_jumps_does_not_fill_the_memory() {
        let mut track = Track::default();
        for number in 0..1_000_u32 {
            let since_ns = i64::from(number) * 20_000_000;
            track.push(
                since_ns,
                number % 3,
                number.wrapping_mul(0x1234_5678),
                Law::A,
                &[0xd5; 160],
            );
        }
        assert!(track.samples().len() <= 20 * 8_000 + APART_MAX as usize + 160);
        track.push(i64::MAX, 1, 1, Law::A, &[1; 160]);
        track.push(-3_000_000_000, 1, 1, Law::A, &[1; 160]);
        assert_eq!(track.dropped(), 2);
    }
}
