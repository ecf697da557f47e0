//! Predicates as classic BPF, which the kernel evaluates before a packet is copied.
//!
//! A filter may pass packets that the predicate drops, never the other way round: the scan tests again. So each
//! condition becomes "it may hold". It is tested exactly where the headers are plain, that is an IPv4 header without
//! options or an IPv6 header directly after Ethernet (or at the start, for interfaces without link header), with TCP or
//! UDP directly after it. Packets that may carry such headers further in, with tags, tunnels or fragments, are passed.
//!
//! The kernel takes the outermost VLAN tag out of a packet before the filter sees it, and the tag counts
//! in `frame.len`.

use weir_bytes::Endian;
use weir_packet::{Extent, Field, Ipv4Header, Layer, LinkType, Needs};

use crate::{Column, Constant, Network, Operator, Origin, Predicate};

/// One instruction, as in `struct sock_filter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The operation.
    pub code: u16,
    /// The number of instructions that are skipped when a comparison holds.
    pub jump_true: u8,
    /// The number of instructions that are skipped when it does not.
    pub jump_false: u8,
    /// The constant, offset or jump.
    pub constant: u32,
}

/// The filter of a predicate on packets of this link type; `None` when it would pass all packets, or be too long for
/// the jumps of BPF.
#[must_use]
pub fn compile(predicate: &Predicate, link_type: LinkType) -> Option<Vec<Instruction>> {
    let base = match link_type {
        LinkType::ETHERNET => Base::Ethernet,
        RAW_IP => Base::Raw,
        _ => return None,
    };
    let mut assembler = Assembler {
        base,
        parts: Vec::new(),
        labels: 0,
        decides: false,
    };
    let (keep, drop) = (assembler.label(), assembler.label());
    assembler.may(predicate, true, keep, drop);
    assembler.mark(drop);
    assembler.push(RETURN, 0);
    assembler.mark(keep);
    assembler.push(RETURN, u32::MAX);
    if !assembler.decides {
        return None;
    }
    assembler.resolve()
}

/// The position of the IP header.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    Ethernet,
    Raw,
}

impl Base {
    const fn offset(self) -> u32 {
        match self {
            Self::Ethernet => 14,
            Self::Raw => 0,
        }
    }
}

/// A place in the program that is the target of jumps.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Label(usize);

enum BpfPart {
    Plain(u16, u32),
    Jump {
        code: u16,
        constant: u32,
        yes: Label,
        no: Label,
    },
    Mark(Label),
}

struct Assembler {
    base: Base,
    parts: Vec<BpfPart>,
    labels: usize,
    /// Whether some packet is dropped.
    decides: bool,
}

/// The comparison of a condition with a value.
#[derive(Clone, Copy)]
enum Test<'p> {
    Compare(Operator, &'p Constant),
    In(&'p [Constant]),
    Within(&'p Network),
    /// The comparison holds for any value.
    Given,
}

/// The position of the value of a column in plain packets: the headers that may have it.
#[derive(Clone, Copy, Default)]
struct BpfPlace {
    v4: Option<Extent>,
    v6: Option<Extent>,
    tcp: Option<Extent>,
    udp: Option<Extent>,
    /// The protocol number of the only header above IP that may have the value; `None` when there are several.
    above: Option<u32>,
    is_protocol: bool,
    is_length: bool,
}

impl BpfPlace {
    fn of(column: &Column) -> Option<Self> {
        let Origin::Packet(field, needs) = column.origin else {
            return None;
        };
        let mut place = Self::default();
        // These two fields are not in a header.
        match field.name {
            "proto" => place.is_protocol = true,
            "frame.len" => place.is_length = true,
            _ => place.find(field, needs)?,
        }
        Some(place)
    }

    /// Finds the value in the headers that this filter reads.
    fn find(&mut self, field: &Field, needs: Needs) -> Option<()> {
        for location in field.locations.iter().filter(|_| field.is_exact()) {
            let place = match location.layer {
                Layer::Ipv4 => &mut self.v4,
                Layer::Ipv6 => &mut self.v6,
                Layer::Tcp => &mut self.tcp,
                Layer::Udp => &mut self.udp,
                // Packets with other headers pass, as they are not plain.
                Layer::UdpLite | Layer::Sctp | Layer::Dccp => continue,
                _ => return None,
            };
            let is_loaded = match location.at {
                Extent::Bits(bits) => {
                    matches!(bits.bytes(), 1 | 2 | 4)
                        && (bits.bytes() == 1 || bits.endian() == Endian::Big)
                }
                Extent::Bytes { len, .. } => matches!(len, 4 | 16),
            };
            // The header is tested to be one of its protocol here, too.
            let valid = match location.layer {
                Layer::Ipv4 | Layer::Ipv6 => location.layer.shapes().first()?.tests,
                _ => &[],
            };
            let is_always = location.when.iter().all(|test| valid.contains(test));
            if is_loaded && is_always {
                *place = Some(location.at);
            } else {
                *self = Self::default();
                break;
            }
        }
        let is_of = |layer| needs == Needs::Layer(layer);
        self.above = match (self.tcp, self.udp) {
            (Some(_), None) => Some(TCP),
            (None, Some(_)) => Some(UDP),
            (None, None) if is_of(Layer::Tcp) => Some(TCP),
            (None, None) if is_of(Layer::Udp) => Some(UDP),
            _ => None,
        };
        let is_somewhere = self.v4.is_some() || self.v6.is_some() || self.tcp.is_some();
        (is_somewhere || self.above.is_some()).then_some(())
    }
}

impl Assembler {
    fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    fn push(&mut self, code: u16, constant: u32) {
        self.parts.push(BpfPart::Plain(code, constant));
    }

    fn jump(&mut self, code: u16, constant: u32, yes: Label, no: Label) {
        let part = BpfPart::Jump {
            code,
            constant,
            yes,
            no,
        };
        self.parts.push(part);
    }

    fn mark(&mut self, label: Label) {
        self.parts.push(BpfPart::Mark(label));
    }

    fn go(&mut self, to: Label) {
        self.jump(JUMP_IF_EQUAL, 0, to, to);
    }

    /// Jumps to `yes` when the predicate may come out as `wanted`, to `no` when it does not.
    fn may(&mut self, predicate: &Predicate, wanted: bool, yes: Label, no: Label) {
        match predicate {
            Predicate::Not(inner) => self.may(inner, !wanted, yes, no),
            Predicate::And(parts) | Predicate::Or(parts) => {
                // For AND to be true all parts must hold, and for OR to be false all must fail.
                let all = matches!(predicate, Predicate::And(_)) == wanted;
                for part in parts {
                    let next = self.label();
                    match all {
                        true => self.may(part, wanted, next, no),
                        false => self.may(part, wanted, yes, next),
                    }
                    self.mark(next);
                }
                self.go(if all { yes } else { no });
            }
            Predicate::Compare(column, operator, constant) => {
                let operator = if wanted {
                    *operator
                } else {
                    negated(*operator)
                };
                self.test(column, Test::Compare(operator, constant), yes, no);
            }
            Predicate::In(column, constants) if wanted => {
                self.test(column, Test::In(constants), yes, no);
            }
            Predicate::Within(column, network) if wanted => {
                self.test(column, Test::Within(network), yes, no);
            }
            // These are not true of a missing value.
            Predicate::In(column, _) | Predicate::Within(column, _) | Predicate::IsTrue(column) => {
                self.test(column, Test::Given, yes, no);
            }
            Predicate::IsNull(column) if !wanted => self.test(column, Test::Given, yes, no),
            // A value may be missing for reasons that the filter cannot see.
            Predicate::IsNull(_)
            | Predicate::Calculated(..)
            | Predicate::Search(..)
            | Predicate::Display(_) => {
                self.go(yes);
            }
        }
    }

    fn test(&mut self, column: &Column, test: Test<'_>, yes: Label, no: Label) {
        match BpfPlace::of(column) {
            None => self.go(yes),
            Some(place) if place.is_length => self.test_length(test, yes, no),
            Some(place) => self.test_header(&place, test, yes, no),
        }
    }

    /// The length may lack the tag that the kernel took out.
    fn test_length(&mut self, test: Test<'_>, yes: Label, no: Label) {
        let Test::Compare(operator, Constant::Integer(constant)) = test else {
            return self.go(yes);
        };
        let (Ok(constant), Some(less)) = (u32::try_from(*constant), constant.checked_sub(4)) else {
            return self.go(yes);
        };
        self.decides = true;
        self.push(LOAD_LENGTH, 0);
        let untagged = self.label();
        self.compare(operator, constant, yes, untagged);
        self.mark(untagged);
        match u32::try_from(less) {
            Ok(less) => self.compare(operator, less, yes, no),
            Err(_) => self.go(yes),
        }
    }

    /// Recognises plain packets by the type after the link header.
    fn test_header(&mut self, place: &BpfPlace, test: Test<'_>, yes: Label, no: Label) {
        let (v4, v6) = (self.label(), self.label());
        let (not_v4, not_v6) = (self.label(), self.label());
        let base = self.base.offset();
        self.need(base + 1, yes);
        match self.base {
            Base::Ethernet => {
                self.push(LOAD_HALF, 12);
                self.jump(JUMP_IF_EQUAL, 0x0800, v4, not_v4);
                self.mark(not_v4);
                self.jump(JUMP_IF_EQUAL, 0x86dd, v6, not_v6);
                self.mark(not_v6);
                // ARP has no payload.
                self.jump(JUMP_IF_EQUAL, 0x0806, no, yes);
            }
            Base::Raw => {
                self.push(LOAD_BYTE, 0);
                self.push(AND, 0xf0);
                self.jump(JUMP_IF_EQUAL, 0x40, v4, not_v4);
                self.mark(not_v4);
                self.jump(JUMP_IF_EQUAL, 0x60, v6, yes);
                self.mark(not_v6);
            }
        }
        self.decides = true;
        self.mark(v4);
        self.test_v4(place, test, yes, no);
        self.mark(v6);
        self.test_v6(place, test, yes, no);
    }

    fn test_v4(&mut self, place: &BpfPlace, test: Test<'_>, yes: Label, no: Label) {
        let base = self.base.offset();
        self.need(base + V4_LEN, yes);
        // The header has no options.
        let plain = self.label();
        self.push(LOAD_BYTE, base);
        self.jump(JUMP_IF_EQUAL, 0x45, plain, yes);
        self.mark(plain);
        if let Some(extent) = place.v4 {
            return self.test_extent(base, extent, test, yes, no);
        }
        if place.tcp.is_some() || place.udp.is_some() {
            let whole = self.label();
            let fragment = Ipv4Header::fragment_offset_bits();
            self.push(LOAD_HALF, base + fragment.offset());
            self.jump(JUMP_IF_ANY, fragment.mask() as u32, yes, whole);
            self.mark(whole);
        }
        self.push(LOAD_BYTE, base + V4_PROTOCOL);
        self.test_transport(place, base + V4_LEN, test, yes, no);
    }

    fn test_v6(&mut self, place: &BpfPlace, test: Test<'_>, yes: Label, no: Label) {
        let base = self.base.offset();
        self.need(base + V6_LEN, yes);
        let plain = self.label();
        self.push(LOAD_BYTE, base);
        self.push(AND, 0xf0);
        self.jump(JUMP_IF_EQUAL, 0x60, plain, yes);
        self.mark(plain);
        if let Some(extent) = place.v6 {
            return self.test_extent(base, extent, test, yes, no);
        }
        self.push(LOAD_BYTE, base + V6_PROTOCOL);
        self.test_transport(place, base + V6_LEN, test, yes, no);
    }

    /// Tests the header above IP at `at`; the number of its protocol is loaded.
    fn test_transport(&mut self, place: &BpfPlace, at: u32, test: Test<'_>, yes: Label, no: Label) {
        match (place.tcp, place.udp, place.above) {
            _ if place.is_protocol => self.test_protocol(test, yes, no),
            (None, None, Some(protocol)) => self.test_above(protocol, yes, no),
            // The value is in an IP header of the other version, which is not inside TCP.
            (None, None, None) => self.jump(JUMP_IF_EQUAL, TCP, no, yes),
            (tcp, udp, _) => {
                let (is_tcp, not_tcp) = (self.label(), self.label());
                let (is_udp, other) = (self.label(), self.label());
                self.jump(JUMP_IF_EQUAL, TCP, is_tcp, not_tcp);
                self.mark(not_tcp);
                self.jump(JUMP_IF_EQUAL, UDP, is_udp, other);
                for (label, extent) in [(is_tcp, tcp), (is_udp, udp)] {
                    self.mark(label);
                    match extent {
                        Some(extent) => {
                            self.need(at + extent.end(), yes);
                            self.test_extent(at, extent, test, yes, no);
                        }
                        // Only UDP has more headers above it.
                        None if label == is_tcp => self.go(no),
                        None => self.go(yes),
                    }
                }
                self.mark(other);
                self.go(yes);
            }
        }
    }

    /// Tests the field of the header at `base`, which is there in full.
    fn test_extent(&mut self, base: u32, extent: Extent, test: Test<'_>, yes: Label, no: Label) {
        match extent {
            Extent::Bytes { offset, len } => {
                self.test_address(base + offset, len as usize, test, yes, no);
            }
            Extent::Bits(bits) => {
                let load = match bits.bytes() {
                    1 => LOAD_BYTE,
                    2 => LOAD_HALF,
                    _ => LOAD_WORD,
                };
                self.push(load, base + bits.offset());
                if bits.shift() > 0 {
                    self.push(SHIFT_RIGHT, bits.shift());
                }
                if bits.shift() + bits.width() < bits.bytes() * 8 {
                    self.push(AND, bits.mask() as u32);
                }
                self.test_number(test, yes, no);
            }
        }
    }

    /// Tests whether there may be a header of the protocol above the one whose number is loaded: there is none above
    /// TCP.
    fn test_above(&mut self, protocol: u32, yes: Label, no: Label) {
        match protocol {
            TCP => self.go(yes),
            _ => self.jump(JUMP_IF_EQUAL, TCP, no, yes),
        }
    }

    /// Tests the name of the protocol whose number is loaded. Unless it is well known, there may be further headers
    /// above it.
    fn test_protocol(&mut self, test: Test<'_>, yes: Label, no: Label) {
        let wanted = |constant: &Constant| match constant {
            Constant::Text(text) => WELL_KNOWN.iter().find(|(name, _)| name == text),
            _ => None,
        };
        let numbers: Vec<u32> = match test {
            Test::Compare(Operator::Equal, constant) => {
                wanted(constant).iter().map(|(_, number)| *number).collect()
            }
            Test::In(constants) => {
                let known = constants.iter().filter_map(wanted);
                known.map(|(_, number)| *number).collect()
            }
            _ => return self.go(yes),
        };
        for (_, number) in WELL_KNOWN {
            let next = self.label();
            let to = if numbers.contains(number) { yes } else { no };
            self.jump(JUMP_IF_EQUAL, *number, to, next);
            self.mark(next);
        }
        self.go(yes);
    }

    /// Tests the loaded number.
    fn test_number(&mut self, test: Test<'_>, yes: Label, no: Label) {
        let number = |constant: &Constant| match constant {
            Constant::Integer(constant) => u32::try_from(*constant).ok(),
            _ => None,
        };
        match test {
            Test::Compare(operator, constant) => match number(constant) {
                Some(constant) => self.compare(operator, constant, yes, no),
                None => self.go(yes),
            },
            Test::In(constants) => {
                for constant in constants {
                    let next = self.label();
                    match number(constant) {
                        Some(constant) => self.jump(JUMP_IF_EQUAL, constant, yes, next),
                        None => self.go(yes),
                    }
                    self.mark(next);
                }
                self.go(no);
            }
            Test::Within(_) | Test::Given => self.go(yes),
        }
    }

    fn compare(&mut self, operator: Operator, constant: u32, yes: Label, no: Label) {
        match operator {
            Operator::Equal => self.jump(JUMP_IF_EQUAL, constant, yes, no),
            Operator::NotEqual => self.jump(JUMP_IF_EQUAL, constant, no, yes),
            Operator::Greater => self.jump(JUMP_IF_GREATER, constant, yes, no),
            Operator::LessOrEqual => self.jump(JUMP_IF_GREATER, constant, no, yes),
            Operator::GreaterOrEqual => self.jump(JUMP_IF_NOT_LESS, constant, yes, no),
            Operator::Less => self.jump(JUMP_IF_NOT_LESS, constant, no, yes),
        }
    }

    /// Tests an address of `len` bytes.
    fn test_address(&mut self, at: u32, len: usize, test: Test<'_>, yes: Label, no: Label) {
        let bytes = |constant: &Constant| match constant {
            Constant::Bytes(bytes) => Some(bytes.clone()),
            _ => None,
        };
        match test {
            Test::Compare(Operator::Equal, constant) => match bytes(constant) {
                Some(bytes) => self.test_prefix(at, len, &bytes, bytes.len() * 8, yes, no),
                None => self.go(yes),
            },
            Test::Compare(Operator::NotEqual, constant) => match bytes(constant) {
                Some(bytes) => self.test_prefix(at, len, &bytes, bytes.len() * 8, no, yes),
                None => self.go(yes),
            },
            Test::In(constants) => {
                for constant in constants {
                    let next = self.label();
                    match bytes(constant) {
                        Some(bytes) => {
                            self.test_prefix(at, len, &bytes, bytes.len() * 8, yes, next);
                        }
                        None => self.go(yes),
                    }
                    self.mark(next);
                }
                self.go(no);
            }
            Test::Within(network) => {
                let (address, prefix_bits) = network.parts();
                let bits = usize::from(prefix_bits);
                self.test_prefix(at, len, address.as_bytes(), bits, yes, no);
            }
            Test::Compare(..) | Test::Given => self.go(yes),
        }
    }

    /// Tests whether the address begins with these bits; an address of another length never does.
    fn test_prefix(
        &mut self,
        at: u32,
        len: usize,
        bytes: &[u8],
        bits: usize,
        yes: Label,
        no: Label,
    ) {
        if bytes.len() != len {
            return self.go(no);
        }
        let words = bytes.chunks_exact(4).zip((at..).step_by(4)).enumerate();
        for (index, (word, at)) in words {
            let bits = bits.saturating_sub(index * 32).min(32);
            if bits == 0 {
                break;
            }
            let word = word
                .iter()
                .fold(0, |word, byte| word << 8 | u32::from(*byte));
            let mask = u32::MAX << (32 - bits);
            self.push(LOAD_WORD, at);
            if bits < 32 {
                self.push(AND, mask);
            }
            let next = self.label();
            self.jump(JUMP_IF_EQUAL, word & mask, next, no);
            self.mark(next);
        }
        self.go(yes);
    }

    /// A load beyond the end would drop the packet: a packet that is shorter than `len` passes.
    fn need(&mut self, len: u32, yes: Label) {
        let enough = self.label();
        self.push(LOAD_LENGTH, 0);
        self.jump(JUMP_IF_NOT_LESS, len, enough, yes);
        self.mark(enough);
    }

    /// Turns labels into distances; `None` when one is too long.
    fn resolve(self) -> Option<Vec<Instruction>> {
        let mut places = vec![0; self.labels];
        let mut place: usize = 0;
        for part in &self.parts {
            match part {
                BpfPart::Mark(label) => *places.get_mut(label.0)? = place,
                BpfPart::Plain(..) | BpfPart::Jump { .. } => place += 1,
            }
        }
        let mut program = Vec::with_capacity(place);
        for part in self.parts {
            let next = program.len() + 1;
            let distance = |label: Label| {
                let distance = places.get(label.0)?.checked_sub(next)?;
                u8::try_from(distance).ok()
            };
            program.push(match part {
                BpfPart::Mark(_) => continue,
                BpfPart::Plain(code, constant) => Instruction {
                    code,
                    jump_true: 0,
                    jump_false: 0,
                    constant,
                },
                BpfPart::Jump {
                    code,
                    constant,
                    yes,
                    no,
                } => Instruction {
                    code,
                    jump_true: distance(yes)?,
                    jump_false: distance(no)?,
                    constant,
                },
            });
        }
        (program.len() <= PROGRAM_MAX).then_some(program)
    }
}

const fn negated(operator: Operator) -> Operator {
    match operator {
        Operator::Equal => Operator::NotEqual,
        Operator::NotEqual => Operator::Equal,
        Operator::Less => Operator::GreaterOrEqual,
        Operator::LessOrEqual => Operator::Greater,
        Operator::Greater => Operator::LessOrEqual,
        Operator::GreaterOrEqual => Operator::Less,
    }
}

/// The protocols above IP that are not a header before one that `proto` would name.
const WELL_KNOWN: &[(&str, u32)] = &[("tcp", TCP), ("udp", UDP), ("icmp", 1), ("icmpv6", 58)];
const TCP: u32 = 6;
const UDP: u32 = 17;
const RAW_IP: LinkType = LinkType(101);

/// The length of an IPv4 header without options (RFC 791, 3.1).
const V4_LEN: u32 = 20;
const V4_PROTOCOL: u32 = 9;
/// The length of an IPv6 header (RFC 8200, 3).
const V6_LEN: u32 = 40;
const V6_PROTOCOL: u32 = 6;

/// The operation codes are those of `linux/bpf_common.h`: `BPF_LD | BPF_W | BPF_ABS` and so on.
const LOAD_WORD: u16 = 0x20;
const LOAD_HALF: u16 = 0x28;
const LOAD_BYTE: u16 = 0x30;
const LOAD_LENGTH: u16 = 0x80;
const AND: u16 = 0x54;
const SHIFT_RIGHT: u16 = 0x74;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_GREATER: u16 = 0x25;
const JUMP_IF_NOT_LESS: u16 = 0x35;
const JUMP_IF_ANY: u16 = 0x45;
const RETURN: u16 = 0x06;
/// The limit `BPF_MAXINSNS`.
const PROGRAM_MAX: usize = 4096;

#[cfg(test)]
mod tests;
