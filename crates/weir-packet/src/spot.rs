//! Where plain fields lie in usual packets.

use weir_bytes::{Bits, Endian, u8_at, u16_be_at, u32_be_at};

use crate::LayerSet;
use crate::header_offsets::{ABSENT, ERF, HeaderOffsets, SLOTS, Slot, slot};
use crate::shape::Location;
use crate::{Field, Kind};

/// Where a plain field lies: some bits of a header, or of one of two headers of which a packet has
/// at most one. The addresses of IPv4 are numbers of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    layers: LayerSet,
    /// The header, and the one that may stand in its place.
    slots: [usize; 2],
    bits: Bits,
    shift: u32,
    mask: u64,
    /// A byte of 0 is a pad: the field stands behind it.
    padded: bool,
}

impl Spot {
    /// Where a field lies in headers that have offsets; `None` for one that is not plain there.
    #[must_use]
    pub fn of(field: &Field) -> Option<Self> {
        let is_number = match field.get.kind() {
            Kind::Bool | Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 => true,
            Kind::Address => field.width() == 32,
            _ => false,
        };
        // Packets with the others are not drawn.
        let mut places = field.locations.iter().filter_map(|location| {
            let slot = slot(location.layer)?;
            let left = location
                .when
                .iter()
                .filter(|test| !slot.tests.iter().any(|known| known.implies(test)));
            Some((location, slot, left.collect::<Vec<_>>()))
        });
        let (first, slot, left) = places.next().filter(|_| is_number)?;
        let (second, third) = (places.next(), places.next());
        let bits = first.at.bits()?;
        // What a slot requires, the field must require too: others of the layer have no slot.
        let requires = |location: &Location, slot: &Slot| {
            slot.required
                .iter()
                .all(|test| location.when.contains(test))
        };
        let mut spot = Self {
            layers: LayerSet::EMPTY.with(first.layer),
            slots: [slot.number; 2],
            bits,
            shift: bits.shift(),
            mask: bits.mask(),
            padded: false,
        };
        if third.is_some() || !requires(first, &slot) {
            return None;
        }
        let Some((second, other_slot, others)) = second else {
            return left.is_empty().then_some(spot);
        };
        if !others.is_empty() || !requires(second, &other_slot) {
            return None;
        }
        if second.layer == first.layer {
            // Behind a pad, which is a byte of 0.
            spot.padded = matches!(left[..], [test] if test.bits == bits && test.ranges == [(1, 0xff)])
                && second.at.bits() == Some(Bits::byte(bits.offset()).after(1))
                && bits == Bits::byte(bits.offset());
            return spot.padded.then_some(spot);
        }
        spot.layers = spot.layers.with(second.layer);
        spot.slots[1] = other_slot.number;
        (left.is_empty() && second.at.bits() == Some(bits)).then_some(spot)
    }

    /// The headers that must have been found for this field.
    #[must_use]
    pub const fn layers(&self) -> LayerSet {
        self.layers
    }

    /// Bits of the largest value.
    #[must_use]
    pub const fn width(&self) -> u32 {
        u64::BITS - self.mask.leading_zeros()
    }

    /// The same number shifted to the right by so many bits.
    #[must_use]
    pub const fn shifted_right(self, bits: u32) -> Self {
        let (shift, mask) = match self.mask.checked_shr(bits) {
            // Some of its bits are left, so that the shift is within the word.
            Some(mask) if mask > 0 => (self.shift + bits, mask),
            _ => (0, 0),
        };
        Self {
            shift,
            mask,
            ..self
        }
    }

    /// The bits of the number that are in `mask`.
    #[must_use]
    pub const fn masked(self, mask: u64) -> Self {
        Self {
            mask: self.mask & mask,
            ..self
        }
    }

    /// The value in the frame with these offsets; `None` where the packet has no such field.
    #[must_use]
    pub fn read(&self, data: &[u8], header_offsets: &HeaderOffsets) -> Option<u64> {
        let (mut values, mut validity) = ([0], [false]);
        self.read_each(
            data,
            [(0, header_offsets)].into_iter(),
            &mut values,
            &mut validity,
        );
        validity[0].then_some(values[0])
    }

    /// Reads the value of each of the frames that begin at these places of `window` and have these
    /// offsets, as [`Spot::read`] does: at a fraction of the cost when they are many. What a packet
    /// does not have is not `there`.
    pub fn read_each<'p>(
        &self,
        window: &[u8],
        frames: impl Iterator<Item = (usize, &'p HeaderOffsets)>,
        values: &mut [u64],
        validity: &mut [bool],
    ) {
        let out = values.iter_mut().zip(validity);
        let [first, second] = self.slots;
        let (first, second) = (first % SLOTS, second % SLOTS);
        // A loop of its own for each kind. The records of a card begin with their header.
        let of_first = move |header_offsets: &HeaderOffsets| header_offsets.starts[first];
        // The outermost; what is not there comes last.
        let of_either = move |header_offsets: &HeaderOffsets| {
            header_offsets.starts[first].min(header_offsets.starts[second])
        };
        let is_big = self.bits.bytes() == 1 || self.bits.endian() == Endian::Big;
        match self.bits.bytes() {
            1 if self.padded => {
                let byte = |at| match u8_at(window, at) {
                    // Header offsets has been drawn only where it is not cut here.
                    Some(0) => u8_at(window, at + 1).map(u64::from),
                    byte => byte.map(u64::from),
                };
                self.read_with(frames, of_first, byte, out);
            }
            1 => {
                let byte = |at| u8_at(window, at).map(u64::from);
                match first {
                    ERF => self.read_with(frames, |_| 0, byte, out),
                    _ if first == second => self.read_with(frames, of_first, byte, out),
                    _ => self.read_with(frames, of_either, byte, out),
                }
            }
            2 if is_big => {
                let word = |at| u16_be_at(window, at).map(u64::from);
                match first {
                    ERF => self.read_with(frames, |_| 0, word, out),
                    _ if first == second => self.read_with(frames, of_first, word, out),
                    _ => self.read_with(frames, of_either, word, out),
                }
            }
            4 if is_big && (first == ERF || first == second) => {
                let words = |at| u32_be_at(window, at).map(u64::from);
                match first {
                    ERF => self.read_with(frames, |_| 0, words, out),
                    _ => self.read_with(frames, of_first, words, out),
                }
            }
            _ => {
                let offset = self.bits.offset();
                let whole = Bits::whole(offset, self.bits.bytes(), self.bits.endian());
                let rare = |at: usize| whole.read_at(window, at.checked_sub(offset as usize)?);
                match first {
                    ERF => self.read_with(frames, |_| 0, rare, out),
                    _ => self.read_with(frames, of_either, rare, out),
                }
            }
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a loop of its own for each kind")]
    fn read_with<'p, 'o>(
        &self,
        frames: impl Iterator<Item = (usize, &'p HeaderOffsets)>,
        start: impl Fn(&HeaderOffsets) -> u16,
        load: impl Fn(usize) -> Option<u64>,
        out: impl Iterator<Item = (&'o mut u64, &'o mut bool)>,
    ) {
        let (offset, shift, mask) = (self.bits.offset() as usize, self.shift & 63, self.mask);
        for ((frame, header_offsets), (value, validity)) in frames.zip(out) {
            let start = start(header_offsets);
            let word = load(frame + usize::from(start) + offset);
            *validity = start != ABSENT && word.is_some();
            *value = word.unwrap_or_default() >> shift & mask;
        }
    }
}
