//! Where plain fields lie in usual packets.

use weir_bytes::{u8_at, u16_be_at, u32_be_at};

use crate::Layer;
use crate::outline::{ABSENT, ERF, Outline, SLOTS, slot};
use crate::packet::LayerSet;

/// Where a plain field lies: some bits of a header, or of one of two headers of which a packet has
/// at most one. The addresses of IPv4 are numbers of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    layers: LayerSet,
    /// The header in an outline, and the one that may stand in its place.
    slots: [usize; 2],
    offset: u32,
    bytes: u32,
    shift: u32,
    mask: u32,
    /// A byte of 0 is a pad: the field stands behind it.
    padded: bool,
}

impl Spot {
    /// Where the field with this name lies; `None` for one that is not plain.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        // Every layer that is named here has a slot.
        let number = |layer| slot(layer).unwrap_or_default();
        let at = |layer, offset, bytes, shift, mask| Self {
            layers: LayerSet::EMPTY.with(layer),
            slots: [number(layer); 2],
            offset,
            bytes,
            shift,
            mask,
            padded: false,
        };
        let byte = |layer, offset| at(layer, offset, 1, 0, 0xff);
        let word = |layer, offset| at(layer, offset, 2, 0, 0xffff);
        let flag = |shift| at(Layer::Tcp, 13, 1, shift, 1);
        let or = |or, spot: Self| Self {
            layers: spot.layers.with(or),
            slots: [spot.slots[0], number(or)],
            ..spot
        };
        Some(match name {
            "vlan.id" => at(Layer::Vlan, 0, 2, 0, 0xfff),
            "erf.flags" => byte(Layer::Erf, 9),
            "erf.flags.cap" => at(Layer::Erf, 9, 1, 0, 3),
            "erf.rlen" => word(Layer::Erf, 10),
            "erf.wlen" => word(Layer::Erf, 14),
            "erf.mchdlc.cn" => at(Layer::Erf, 16, 4, 0, 0x3ff),
            "fr.control" => byte(Layer::FrameRelay, 2),
            "fr.nlpid" => Self {
                padded: true,
                ..byte(Layer::FrameRelay, 3)
            },
            "ip.version" => or(Layer::Ipv6, at(Layer::Ipv4, 0, 1, 4, 0xf)),
            "ip.dsfield" => byte(Layer::Ipv4, 1),
            "ip.len" => word(Layer::Ipv4, 2),
            "ip.id" => word(Layer::Ipv4, 4),
            "ip.ttl" => byte(Layer::Ipv4, 8),
            "ip.proto" => byte(Layer::Ipv4, 9),
            "ip.src" => at(Layer::Ipv4, 12, 4, 0, u32::MAX),
            "ip.dst" => at(Layer::Ipv4, 16, 4, 0, u32::MAX),
            "ipv6.plen" => word(Layer::Ipv6, 4),
            "ipv6.nxt" => byte(Layer::Ipv6, 6),
            "ipv6.hlim" => byte(Layer::Ipv6, 7),
            "tcp.srcport" => word(Layer::Tcp, 0),
            "tcp.dstport" => word(Layer::Tcp, 2),
            "tcp.flags.fin" => flag(0),
            "tcp.flags.syn" => flag(1),
            "tcp.flags.reset" => flag(2),
            "tcp.flags.push" => flag(3),
            "tcp.flags.ack" => flag(4),
            "tcp.window_size_value" => word(Layer::Tcp, 14),
            "udp.srcport" => word(Layer::Udp, 0),
            "udp.dstport" => word(Layer::Udp, 2),
            "udp.length" => word(Layer::Udp, 4),
            "port.src" => or(Layer::Udp, word(Layer::Tcp, 0)),
            "port.dst" => or(Layer::Udp, word(Layer::Tcp, 2)),
            _ => return None,
        })
    }

    /// The headers that an outline must reach for this field.
    #[must_use]
    pub const fn layers(&self) -> LayerSet {
        self.layers
    }

    /// Bits of the largest value.
    #[must_use]
    pub const fn width(&self) -> u32 {
        u32::BITS - self.mask.leading_zeros()
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
            mask: self.mask & mask as u32,
            ..self
        }
    }

    /// The value in the frame with this outline; `None` where the packet has no such field.
    #[must_use]
    pub fn read(&self, data: &[u8], outline: &Outline) -> Option<u64> {
        let (mut values, mut there) = ([0], [false]);
        self.read_each(data, [(0, outline)].into_iter(), &mut values, &mut there);
        there[0].then_some(values[0])
    }

    /// Reads the value of each of the frames that begin at these places of `window` and have these
    /// outlines, as [`Spot::read`] does: at a fraction of the cost when they are many. What a packet
    /// does not have is not `there`.
    pub fn read_each<'p>(
        &self,
        window: &[u8],
        frames: impl Iterator<Item = (usize, &'p Outline)>,
        values: &mut [u64],
        there: &mut [bool],
    ) {
        let out = values.iter_mut().zip(there);
        let [first, second] = self.slots;
        let (first, second) = (first % SLOTS, second % SLOTS);
        // A loop of its own for each kind. The records of a card begin with their header.
        let of_first = move |outline: &Outline| outline.starts[first];
        let of_either = move |outline: &Outline| match outline.starts[first] {
            ABSENT => outline.starts[second],
            start => start,
        };
        match self.bytes {
            1 if self.padded => {
                let byte = |at| match u8_at(window, at) {
                    // An outline has been drawn only where it is not cut here.
                    Some(0) => u8_at(window, at + 1).map(u32::from),
                    byte => byte.map(u32::from),
                };
                self.read_with(frames, of_first, byte, out);
            }
            1 => {
                let byte = |at| u8_at(window, at).map(u32::from);
                match first {
                    ERF => self.read_with(frames, |_| 0, byte, out),
                    _ if first == second => self.read_with(frames, of_first, byte, out),
                    _ => self.read_with(frames, of_either, byte, out),
                }
            }
            2 => {
                let word = |at| u16_be_at(window, at).map(u32::from);
                match first {
                    ERF => self.read_with(frames, |_| 0, word, out),
                    _ if first == second => self.read_with(frames, of_first, word, out),
                    _ => self.read_with(frames, of_either, word, out),
                }
            }
            _ => {
                let words = |at| u32_be_at(window, at);
                match first {
                    ERF => self.read_with(frames, |_| 0, words, out),
                    _ => self.read_with(frames, of_first, words, out),
                }
            }
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "a loop of its own for each kind")]
    fn read_with<'p, 'o>(
        &self,
        frames: impl Iterator<Item = (usize, &'p Outline)>,
        start: impl Fn(&Outline) -> u16,
        load: impl Fn(usize) -> Option<u32>,
        out: impl Iterator<Item = (&'o mut u64, &'o mut bool)>,
    ) {
        let (offset, shift, mask) = (self.offset as usize, self.shift & 31, self.mask);
        for ((frame, outline), (value, there)) in frames.zip(out) {
            let start = start(outline);
            let word = load(frame + usize::from(start) + offset);
            *there = start != ABSENT && word.is_some();
            *value = u64::from(word.unwrap_or_default() >> shift & mask);
        }
    }
}
