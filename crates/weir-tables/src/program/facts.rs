//! Facts about headers: the positions in which they occur, and what one test implies for another.

use weir_bytes::{Bits, Endian};
use weir_packet::{BitsTest, HeaderLen, HeaderShape, Layer, NextHeader};

pub(super) const fn bit(layer: Layer) -> u128 {
    1 << layer as u32
}

/// All headers in front of the network layer, which come first in the list of protocols.
pub(super) const LINKS: u128 = bit(Layer::Arp) - 1;

/// Tags of virtual LANs, which stand behind each other.
pub(super) const TAGS: u128 = bit(Layer::Vlan) | bit(Layer::ServiceVlan);

pub(super) const fn is_link(layer: Layer) -> bool {
    LINKS & bit(layer) != 0
}

/// Returns whether a plain header of a protocol carries no header with which a program continues.
pub(super) fn is_last(layer: Layer) -> bool {
    let mut shapes = layer.shapes().iter();
    shapes.all(|shape| {
        matches!(
            shape.next,
            NextHeader::Payload | NextHeader::UdpPorts { .. }
        )
    })
}

/// The result of a test of a header, if it follows from the header's shape and from tests that are decided.
pub(super) fn decided(
    test: &BitsTest,
    known: &[(BitsTest, bool)],
    shape: Option<&HeaderShape>,
) -> Option<bool> {
    let covers = |outer: &[(u64, u64)], (low, high): (u64, u64)| {
        outer.iter().any(|(from, to)| *from <= low && high <= *to)
    };
    let meets = |outer: &[(u64, u64)], (low, high): (u64, u64)| {
        outer.iter().any(|(from, to)| *from <= high && low <= *to)
    };
    if let Some(shape) = shape
        && let HeaderLen::Field { bits, unit, base } = shape.len
        && bits == test.bits
        && unit > 0
    {
        let least = shape.len_min.saturating_sub(base).div_ceil(unit);
        if covers(test.ranges, (least.into(), bits.mask())) {
            return Some(true);
        }
    }
    let of_the_same = known.iter().find_map(|(other, holds)| match holds {
        _ if other == test => Some(*holds),
        true if other.bits == test.bits && !other.when_cut => {
            if other.ranges.iter().all(|range| covers(test.ranges, *range)) {
                Some(true)
            } else if other.ranges.iter().any(|range| meets(test.ranges, *range)) {
                None
            } else {
                Some(false)
            }
        }
        // A number that is in none of those ranges is in no part of them.
        false if other.bits == test.bits && !test.when_cut && !other.when_cut => {
            let is_part = test.ranges.iter().all(|range| covers(other.ranges, *range));
            is_part.then_some(false)
        }
        _ => None,
    });
    of_the_same.or_else(|| {
        let held = || known.iter().filter(|(_, holds)| *holds);
        let from_whole = held().find_map(|(other, _)| follows(other, test));
        let is_excluded = || held().any(|(other, _)| excludes(other, test));
        from_whole.or_else(|| is_excluded().then_some(false))
    })
}

/// The number of bits of a header in front of a number and behind it, from the header's first bit on; `None` for one
/// whose bytes stand in the other order.
pub(super) fn span(bits: &Bits) -> Option<(u32, u32)> {
    let is_in_order = bits.bytes() == 1 || bits.endian() == Endian::Big;
    let end = (bits.offset() + bits.bytes()) * 8 - bits.shift();
    is_in_order.then(|| (end - bits.width(), end))
}

/// The result of `test`, whose bits lie within those of `whole`, if it is the same for all numbers for which `whole`
/// holds.
pub(super) fn follows(whole: &BitsTest, test: &BitsTest) -> Option<bool> {
    let ((from, to), (first, last)) = (span(&whole.bits)?, span(&test.bits)?);
    // Otherwise the bytes may be missing.
    let is_there = !whole.when_cut && test.bits.end() <= whole.bits.end();
    if !is_there || first < from || to < last {
        return None;
    }
    let count = |(low, high): &(u64, u64)| high.saturating_sub(*low).saturating_add(1);
    let counts = whole.ranges.iter().map(count);
    if counts.fold(0, u64::saturating_add) > VALUES_MAX {
        return None;
    }
    let values = whole.ranges.iter().flat_map(|(low, high)| *low..=*high);
    let mut outcomes = values.map(|value| test.accepts(value >> (to - last) & test.bits.mask()));
    let outcome = outcomes.next()?;
    outcomes.all(|other| other == outcome).then_some(outcome)
}

/// The number of values that are tried one by one.
pub(super) const VALUES_MAX: u64 = 64;

/// Returns whether a header of which these tests are decided can have a shape.
pub(super) fn is_possible(shape: &HeaderShape, known: &[(BitsTest, bool)]) -> bool {
    let mut tests = shape.tests.iter();
    tests.all(|test| decided(test, known, None) != Some(false))
}

/// Returns whether a header of a shape can have this number in these bits.
pub(super) fn has_number(shape: &HeaderShape, bits: &Bits, number: u64) -> bool {
    let of_bits = |test: &&BitsTest| test.bits == *bits && !test.when_cut;
    let mut tests = shape.tests.iter().filter(of_bits);
    tests.all(|test| test.accepts(number))
}

/// Returns whether no header meets both tests, of which one is on the first bits of those of the other: a header whose
/// third byte is 3 has no 0x0800 there.
pub(super) fn excludes(one: &BitsTest, other: &BitsTest) -> bool {
    let (Some((of_one, _)), Some((of_other, _))) = (span(&one.bits), span(&other.bits)) else {
        return false;
    };
    if of_one != of_other || one.when_cut || other.when_cut {
        return false;
    }
    let (long, short) = match one.bits.width() > other.bits.width() {
        true => (one, other),
        false => (other, one),
    };
    let shift = long.bits.width() - short.bits.width();
    let meets = |(low, high): &(u64, u64)| {
        let (low, high) = (low >> shift, high >> shift);
        short
            .ranges
            .iter()
            .any(|(from, to)| *from <= high && low <= *to)
    };
    !long.ranges.iter().any(meets)
}
