//! The walk from header to header by their shapes, and the fields of each header.

use std::sync::Arc;

use weir_bytes::Bits;
use weir_compile::{Builder, Label, Operation, Register, Relation, SpaceId};
use weir_packet::{
    BitsTest, HeaderLen, HeaderShape, Layer, NextHeader, NextTable, PayloadEnd, known_udp_ports,
};

use super::condition::NumberRange;
use super::facts::{LINKS, TAGS, bit, decided, has_number, is_link, is_possible};
use super::lower::{Lowering, Path, Set, Target};

/// A header of a known shape, with the facts that the program has from its tests.
struct Here<'h> {
    layer: Layer,
    shape: &'h HeaderShape,
    at: Register,
    /// The end of the bytes that the headers before it leave.
    end: Register,
    /// The position after the header.
    payload: Register,
    payload_end: Register,
}

impl Lowering<'_> {
    /// Reads a header of a protocol: in the first of its shapes that matches, or else the decoder reads the record.
    pub(super) fn header(&mut self, layer: Layer, path: &Path) {
        let is_first = path.layers >> layer as u32 & 1 == 0;
        let at = match is_first && self.is_wanted(layer, path) {
            true => {
                let at = self.start(layer);
                self.builder.set(at, self.at);
                at
            }
            false => self.builder.copy(self.at),
        };
        let end = self.builder.copy(self.end);
        let shapes = layer.shapes().iter();
        let shapes: Vec<_> = shapes
            .filter(|shape| shape.is_enabled(self.options))
            .collect();
        self.shapes(layer, &shapes, (at, end), path, &[], 0);
    }

    /// Reads a header in the first of these shapes that matches. `known` are tests of it that are decided at this
    /// place, and the number of its bytes that are known to exist. A header that is shorter than the current shape is
    /// left to the decoder, whatever other shape it has.
    fn shapes(
        &mut self,
        layer: Layer,
        shapes: &[&HeaderShape],
        (at, end): (Register, Register),
        path: &Path,
        known: &[(BitsTest, bool)],
        room: u32,
    ) {
        let Some((shape, others)) = shapes.split_first() else {
            return self.builder.jump(self.leave);
        };
        if !is_possible(shape, known) {
            return self.shapes(layer, others, (at, end), path, known, room);
        }
        let mut known = known.to_vec();
        // The places that continue with the other shapes, and the tests that are decided there.
        let mut elsewhere = Vec::new();
        let mut go_elsewhere = |builder: &mut Builder, leave: Label, known: Vec<_>| {
            if !others.iter().any(|other| is_possible(other, &known)) {
                return leave;
            }
            let label = builder.label();
            elsewhere.push((label, known));
            label
        };
        if shape.len_min > room {
            self.builder
                .require_bytes(at, shape.len_min, end, self.leave);
        }
        let least = room.max(shape.len_min);
        let mut room = least;
        for test in shape.tests {
            if decided(test, &known, None) == Some(true) {
                continue;
            }
            let mut without = known.clone();
            without.push((*test, false));
            let fail = go_elsewhere(&mut self.builder, self.leave, without);
            self.test(test, at, end, room, fail);
            if !test.when_cut {
                room = room.max(test.bits.end());
            }
            known.push((*test, true));
        }
        let fail = go_elsewhere(&mut self.builder, self.leave, known.clone());
        self.shape(layer, shape, (at, end), path, &mut known, fail);
        for (label, known) in elsewhere {
            self.builder.write(label);
            self.shapes(layer, others, (at, end), path, &known, least);
        }
    }

    pub(super) fn start(&mut self, layer: Layer) -> Register {
        let builder = &mut self.builder;
        *self
            .starts
            .entry(layer)
            .or_insert_with(|| builder.register())
    }

    fn is_wanted(&self, layer: Layer, path: &Path) -> bool {
        let fields = self.plan.fields.iter().zip(&path.fields);
        fields.into_iter().any(|(field, known)| {
            known.is_none()
                && field
                    .locations
                    .iter()
                    .any(|location| location.layer == layer)
        })
    }

    fn shape(
        &mut self,
        layer: Layer,
        shape: &HeaderShape,
        (at, end): (Register, Register),
        path: &Path,
        known: &mut Vec<(BitsTest, bool)>,
        fail: Label,
    ) {
        let (payload, len) = self.payload(shape, (at, end), known, fail);
        let payload_end = self.payload_end(shape, (at, end), len, fail);
        let mut path = path.clone();
        let is_first = path.layers >> layer as u32 & 1 == 0;
        path.layers |= match layer {
            // After IPv4 or IPv6, no other IP header is read.
            Layer::Ipv4 | Layer::Ipv6 => 1 << Layer::Ipv4 as u32 | 1 << Layer::Ipv6 as u32,
            layer => 1 << layer as u32,
        };
        let here = Here {
            layer,
            shape,
            at,
            end,
            payload,
            payload_end,
        };
        match is_first {
            true => self.resolve(&here, path, 0, 0, known),
            false => self.go_on(&here, path),
        }
    }

    /// The position and the declared length of the payload of a header of a shape.
    fn payload(
        &mut self,
        shape: &HeaderShape,
        (at, end): (Register, Register),
        known: &[(BitsTest, bool)],
        fail: Label,
    ) -> (Register, Option<Register>) {
        match shape.len {
            HeaderLen::Fixed => {
                let len = u64::from(shape.len_min);
                (self.builder.compute(Operation::Add, at, len), None)
            }
            HeaderLen::Field { bits, unit, base } => {
                let mut len = self.bits(at, &bits);
                if unit != 1 {
                    len = self
                        .builder
                        .compute(Operation::Multiply, len, u64::from(unit));
                }
                if base != 0 {
                    len = self.builder.compute(Operation::Add, len, u64::from(base));
                }
                let least = shape.len_min.saturating_sub(base).div_ceil(unit.max(1));
                let is_long = known.iter().any(|(test, holds)| {
                    *holds
                        && test.bits == bits
                        && !test.when_cut
                        && test.ranges.iter().all(|(low, _)| *low >= u64::from(least))
                });
                if !is_long {
                    let least = u64::from(shape.len_min);
                    self.builder
                        .require(Relation::GreaterOrEqual, len, least, fail);
                }
                (self.builder.reach(at, len, end, fail), Some(len))
            }
        }
    }

    /// The end of the payload of a header of a shape, with `len` bytes before it.
    fn payload_end(
        &mut self,
        shape: &HeaderShape,
        (at, end): (Register, Register),
        len: Option<Register>,
        fail: Label,
    ) -> Register {
        match shape.end {
            PayloadEnd::Outer => end,
            PayloadEnd::Field {
                bits,
                base,
                zero_is_outer,
            } => {
                let value = self.bits(at, &bits);
                if !zero_is_outer {
                    self.builder.require(Relation::NotEqual, value, 0, fail);
                }
                let total = match base {
                    0 => value,
                    base => self.builder.compute(Operation::Add, value, u64::from(base)),
                };
                // The value that stands for no length is longer than any header here.
                let total = match zero_is_outer {
                    true => {
                        self.builder
                            .select((Relation::Equal, value, 0), u64::from(u32::MAX), total)
                    }
                    false => total,
                };
                match len {
                    Some(len) => self
                        .builder
                        .require(Relation::GreaterOrEqual, total, len, fail),
                    None => self.builder.require(
                        Relation::GreaterOrEqual,
                        total,
                        u64::from(shape.len_min),
                        fail,
                    ),
                }
                let stated = self.builder.compute(Operation::Add, at, total);
                self.builder.compute(Operation::Minimum, stated, end)
            }
        }
    }

    /// Jumps to `fail` unless the test holds.
    fn test(&mut self, test: &BitsTest, at: Register, end: Register, known: u32, fail: Label) {
        let behind = self.builder.label();
        if test.bits.end() > known {
            let cut = if test.when_cut { behind } else { fail };
            self.builder.require_bytes(at, test.bits.end(), end, cut);
        }
        let value = self.bits(at, &test.bits);
        let Some((last, others)) = test.ranges.split_last() else {
            self.builder.jump(fail);
            self.builder.write(behind);
            return;
        };
        for (low, high) in others {
            let next = self.builder.label();
            let range = NumberRange::from_to(*low, *high);
            let (relation, left, right) = self.relation(&range, value);
            self.builder.branch(relation, left, right, behind, next);
            self.builder.write(next);
        }
        let range = NumberRange::from_to(last.0, last.1);
        let (relation, left, right) = self.relation(&range, value);
        self.builder.branch(relation, left, right, behind, fail);
        self.builder.write(behind);
    }

    /// Determines which of the fields from `field` on the header has, trying the locations of the first from `location`
    /// on. `known` are tests that are decided.
    fn resolve(
        &mut self,
        here: &Here<'_>,
        mut path: Path,
        field: usize,
        location: usize,
        known: &mut Vec<(BitsTest, bool)>,
    ) {
        let mut location = location;
        for field in field..self.plan.fields.len() {
            let locations = self.plan.fields[field].locations;
            let from = std::mem::take(&mut location);
            if path.fields[field].is_some() {
                continue;
            }
            for (index, place) in locations.iter().enumerate().skip(from) {
                if place.layer != here.layer {
                    continue;
                }
                let decided = |test: &BitsTest| decided(test, known, Some(here.shape));
                if place.when.iter().any(|test| decided(test) == Some(false)) {
                    continue;
                }
                let open: Vec<BitsTest> = place
                    .when
                    .iter()
                    .filter(|test| decided(test).is_none())
                    .copied()
                    .collect();
                let is_there = place.at.end() <= here.shape.len_min;
                if open.is_empty() && is_there {
                    path.fields[field] = u8::try_from(index).ok();
                    break;
                }
                // There are two paths from here on: with the field at this place, and without.
                let without = self.builder.label();
                for test in &open {
                    self.test(test, here.at, here.end, here.shape.len_min, without);
                }
                if !is_there {
                    self.builder
                        .require_bytes(here.at, place.at.end(), here.end, without);
                }
                let decided_before = known.len();
                known.extend(open.iter().map(|test| (*test, true)));
                let mut with = path.clone();
                with.fields[field] = u8::try_from(index).ok();
                self.resolve(here, with, field + 1, 0, known);
                known.truncate(decided_before);
                if let ([test], true) = (&open[..], is_there) {
                    known.push((*test, false));
                }
                self.builder.write(without);
            }
        }
        self.go_on(here, path);
    }

    /// Continues after a header.
    fn go_on(&mut self, here: &Here<'_>, mut path: Path) {
        if !self.decide(&mut path, false) {
            return;
        }
        if !self.is_open(&path) {
            return self.go(Target::Rows, path);
        }
        let mut leaf = None;
        if !here.shape.no_next.is_empty() {
            let label = self.builder.label();
            for test in here.shape.no_next {
                let on = self.builder.label();
                self.test(test, here.at, here.end, here.shape.len_min, on);
                self.builder.jump(label);
                self.builder.write(on);
            }
            leaf = Some(label);
        }
        self.builder.set(self.at, here.payload);
        self.builder.set(self.end, here.payload_end);
        match here.shape.next {
            NextHeader::Payload => self.leaf(path.clone()),
            NextHeader::Layer(layer) => self.go_to_header(layer, path.clone()),
            NextHeader::IpVersion => self.by_version(here, &path),
            NextHeader::Number { bits, table } => self.by_number(here, bits, table, &path),
            NextHeader::UdpPorts {
                source,
                destination,
            } => {
                let known = self.set(Set::UdpPorts);
                for bits in [source, destination] {
                    let port = self.bits(here.at, &bits);
                    self.leave_if_in(port, known);
                }
                self.leaf(path.clone());
            }
        }
        if let Some(label) = leaf {
            self.builder.write(label);
            self.leaf(path);
        }
    }

    fn go_to_header(&mut self, layer: Layer, path: Path) {
        match self.is_plain(layer, &path) {
            true => self.go(Target::Header(layer), path),
            false => self.builder.jump(self.leave),
        }
    }

    /// Returns whether it has shapes, and no header of the same kind was read before: a repeated one is in a tunnel,
    /// which the decoder reads, and so is a link header after another one, except for tags and the record of a capture
    /// card.
    pub(super) fn is_plain(&self, layer: Layer, path: &Path) -> bool {
        let is_ip = |layers: u128| layers & (bit(Layer::Ipv4) | bit(Layer::Ipv6)) != 0;
        let is_in_another = path.layers & LINKS & !bit(Layer::Erf) != 0;
        let is_tunnelled = is_link(layer) && TAGS & bit(layer) == 0 && is_in_another;
        path.layers & bit(layer) == 0
            && !(is_ip(bit(layer)) && is_ip(path.layers))
            && !is_tunnelled
            && layer
                .shapes()
                .iter()
                .any(|shape| shape.is_enabled(self.options))
    }

    fn by_version(&mut self, here: &Here<'_>, path: &Path) {
        let leaf = self.builder.label();
        self.builder
            .require_bytes(here.payload, 1, here.payload_end, leaf);
        let version = self.bits(here.payload, &Bits::byte(0).part(4, 4));
        for (number, layer) in [(4, Layer::Ipv4), (6, Layer::Ipv6)] {
            let (is_it, other) = (self.builder.label(), self.builder.label());
            self.builder
                .branch(Relation::Equal, version, number, is_it, other);
            self.builder.write(is_it);
            self.go_to_header(layer, path.clone());
            self.builder.write(other);
        }
        self.builder.jump(leaf);
        self.builder.write(leaf);
        self.leaf(path.clone());
    }

    fn by_number(&mut self, here: &Here<'_>, bits: Bits, table: NextTable, path: &Path) {
        if bits.width() > 16 {
            return self.builder.jump(self.leave);
        }
        let number = self.bits(here.at, &bits);
        let mut entries: Vec<(u32, Layer)> = table
            .entries()
            .filter(|(number, layer)| {
                u64::from(*number) <= bits.mask()
                    && has_number(here.shape, &bits, (*number).into())
                    && self.is_plain(*layer, path)
            })
            .collect();
        // The headers of most traffic are tested first.
        entries.sort_by_key(|(_, layer)| match layer {
            Layer::Ipv4 | Layer::Tcp => 0,
            Layer::Udp => 1,
            Layer::Ipv6 | Layer::Vlan => 2,
            _ => 3,
        });
        for (entry, layer) in entries {
            let target = self.label_of(Target::Header(layer), path.clone());
            let other = self.builder.label();
            self.builder
                .branch(Relation::Equal, number, u64::from(entry), target, other);
            self.builder.write(other);
        }
        let known = self.set(Set::Table(table));
        self.leave_if_in(number, known);
        self.leaf(path.clone());
    }

    /// Leaves the record to the decoder when a number is in the set.
    fn leave_if_in(&mut self, number: Register, set: SpaceId) {
        let word = self.builder.compute(Operation::ShiftRight, number, 6);
        let word = self.builder.read(set, Some(word), 0);
        let bit = self.builder.compute(Operation::ShiftRight, word, number);
        let bit = self.builder.compute(Operation::And, bit, 1);
        self.builder.require(Relation::Equal, bit, 0, self.leave);
    }

    fn set(&mut self, set: Set) -> SpaceId {
        if let Some(space) = self.sets.get(&set) {
            return *space;
        }
        // The set has a bit for each number of 16 bits.
        let mut words = vec![0_u64; 1024];
        let mut add = |number: u32| {
            if let Some(word) = words.get_mut(number as usize >> 6) {
                *word |= 1 << (number & 63);
            }
        };
        match set {
            Set::Table(table) => table.entries().for_each(|(number, _)| add(number)),
            Set::UdpPorts => known_udp_ports().for_each(|port| add(port.into())),
        }
        let space = self.builder.constants(Arc::from(words));
        self.sets.insert(set, space);
        space
    }
}
