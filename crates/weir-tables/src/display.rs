//! Display filters of Wireshark over the headers of packets.
//!
//! A field has as many values as there are headers of its protocol in the packet, including those in tunnels and in
//! quotes of ICMP errors, as in Wireshark; columns of tables have the value of the outermost. A relation holds when it
//! holds for one of them (`!=`: for all), and never for a missing field.
//!
//! A field of messages (`dns.qry.name`) is a column of an extraction's table. Which frames have a message for which a
//! relation holds is read before the packets, from that table over the same file (`messages.rs`).

mod filter;
mod literal;
mod messages;
mod pattern;
mod protocols;
mod reader;
mod value_names;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use memchr::memmem::Finder;
use regex::bytes::Regex;
use weir_filter::{ArithmeticOperator, Quantifier, Range};
use weir_packet::{Address, Field, Get, Layer, Packet, Value};

use crate::value::{Network, Operator};
use crate::{Origin, Row, Since};
use messages::{Cell, Messages, borrowed};

pub use filter::DisplayFilter;
pub(crate) use protocols::is_protocol;

/// The packet or message whose values are read.
enum At<'a> {
    Packet(&'a Row<'a>),
    /// A value of a column of messages.
    Message(&'a Cell<'a>),
    /// All values that a field of messages has in a frame.
    Values(&'a [FieldValue<'static>]),
}

#[derive(Clone, Debug)]
enum Test {
    All(Vec<Test>),
    One(Vec<Test>),
    Not(Box<Test>),
    /// The packet has a header of this protocol.
    Layer(Layer),
    /// Every packet passes.
    Always,
    /// There is a value; with the flag, one that is not 0.
    Exists(ValueSource, bool),
    Compare(Quantifier, ValueSource, Relation, ValueSource),
    /// The bytes contain these: a search that is prepared once.
    Contains(Quantifier, ValueSource, Box<Finder<'static>>),
    Matches(Quantifier, ValueSource, Regex),
    In(
        Quantifier,
        ValueSource,
        Type,
        Vec<(Literal, Option<Literal>)>,
    ),
    /// The frame has a message for which the relation of this number holds.
    Message(usize, Arc<Messages>),
}

/// The relation of two values.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Relation {
    /// The order of values of this type.
    Order(Operator, Type),
    Contains,
}

impl Relation {
    /// Whether the relation is true of values in this order.
    fn holds(self, ordering: Ordering) -> bool {
        matches!(self, Self::Order(operator, _) if operator.holds(ordering))
    }
}

/// The source of values.
#[derive(Clone, Debug)]
enum ValueSource {
    /// Fields of packets; if the filter has numbers (`ip.src#2`, `ip.src#[1-2]`), only those of the headers with these numbers.
    Fields(Vec<&'static Field>, Option<Layer>, Vec<Range>),
    /// The bytes of the header of a protocol, or from it on, as Wireshark has them of this protocol.
    Header(Layer, Vec<Range>),
    /// The bytes from the header of a protocol on, in which Wireshark searches.
    FromHeader(Layer, Vec<Range>),
    /// The whole frame.
    Frame,
    File,
    Since(Since),
    /// The value of a column of messages.
    Cell,
    Literal(Literal),
    Slice(Box<ValueSource>, Vec<Range>),
    Lower(Box<ValueSource>),
    Upper(Box<ValueSource>),
    Length(Box<ValueSource>),
    Count(Box<ValueSource>),
    Absolute(Box<ValueSource>),
    /// The values of one source and then of the next.
    Joined(Vec<ValueSource>),
    /// The last value only: that of the innermost header.
    Last(Box<ValueSource>),
    /// The least or the greatest of all values of these sources, which are of this type.
    Extreme(Ordering, Type, Vec<ValueSource>),
    /// Numbers and addresses as text.
    Written(Box<ValueSource>),
    Calculated(ArithmeticOperator, Box<ValueSource>, Box<ValueSource>),
}

#[derive(Clone, Debug)]
enum Literal {
    Number(i128),
    Bytes(Vec<u8>),
    Network(Network),
}

/// A value of a packet.
#[derive(Clone, Debug)]
enum FieldValue<'p> {
    Number(i128),
    Bytes(Cow<'p, [u8]>),
}

impl FieldValue<'_> {
    /// The number, or that of a few bytes.
    fn number(&self) -> Option<i128> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Bytes(bytes) if bytes.len() <= size_of::<u64>() => Some(
                bytes
                    .iter()
                    .fold(0, |all, byte| all << 8 | i128::from(*byte)),
            ),
            Self::Bytes(_) => None,
        }
    }
}

/// The type of a source, which decides how literals beside it are parsed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Type {
    Number,
    Flag,
    Time,
    /// Seconds since 1970, or a duration.
    Seconds,
    Address,
    Bytes,
    Text,
    /// A literal, which takes the type of the other side.
    Open,
}

impl Type {
    /// The order of texts is that of their first difference; of bytes of unequal length the shorter ones are less, as in Wireshark.
    fn order(self, left: &[u8], right: &[u8]) -> Ordering {
        match self {
            Self::Text => left.cmp(right),
            _ => left.len().cmp(&right.len()).then_with(|| left.cmp(right)),
        }
    }
}

impl Test {
    /// Returns the same test with searches prepared.
    fn prepared(self) -> Self {
        let all = |parts: Vec<Self>| parts.into_iter().map(Self::prepared).collect();
        match self {
            Self::All(parts) => Self::All(all(parts)),
            Self::One(parts) => Self::One(all(parts)),
            Self::Not(inner) => Self::Not(Box::new(inner.prepared())),
            Self::Compare(
                quantifier,
                source,
                Relation::Contains,
                ValueSource::Literal(Literal::Bytes(bytes)),
            ) => {
                let finder = Finder::new(&bytes).into_owned();
                Self::Contains(quantifier, source, Box::new(finder))
            }
            other => other,
        }
    }

    /// Whether it needs no header.
    fn is_of_record(&self) -> bool {
        match self {
            Self::All(parts) | Self::One(parts) => parts.iter().all(Self::is_of_record),
            Self::Not(inner) => inner.is_of_record(),
            Self::Always => true,
            Self::Layer(_) | Self::Message(..) => false,
            Self::Exists(source, _)
            | Self::Contains(_, source, _)
            | Self::Matches(_, source, _)
            | Self::In(_, source, ..) => source.is_of_record(),
            Self::Compare(_, left, _, right) => left.is_of_record() && right.is_of_record(),
        }
    }

    /// Whether it needs all values of a frame at once.
    fn takes_all_values(&self) -> bool {
        self.has_source(|source| matches!(source, ValueSource::Count(_) | ValueSource::Extreme(..)))
    }

    /// Whether it reads values of the packet, and not of its messages alone.
    fn reads_packet(&self) -> bool {
        self.has_source(|source| {
            matches!(
                source,
                ValueSource::Fields(..)
                    | ValueSource::Header(..)
                    | ValueSource::FromHeader(..)
                    | ValueSource::Frame
                    | ValueSource::File
                    | ValueSource::Since(_)
            )
        })
    }

    /// Whether one of its sources of values, or a part of one, is wanted.
    fn has_source(&self, is_wanted: fn(&ValueSource) -> bool) -> bool {
        match self {
            Self::All(parts) | Self::One(parts) => {
                parts.iter().any(|part| part.has_source(is_wanted))
            }
            Self::Not(inner) => inner.has_source(is_wanted),
            Self::Always | Self::Layer(_) | Self::Message(..) => false,
            Self::Exists(source, _)
            | Self::Contains(_, source, _)
            | Self::Matches(_, source, _)
            | Self::In(_, source, ..) => source.has_part(is_wanted),
            Self::Compare(_, left, _, right) => {
                left.has_part(is_wanted) || right.has_part(is_wanted)
            }
        }
    }

    fn holds(&self, at: &At<'_>) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(at)),
            Self::One(parts) => parts.iter().any(|part| part.holds(at)),
            Self::Not(inner) => !inner.holds(at),
            Self::Layer(layer) => match at {
                At::Packet(row) => {
                    let mut forms = layer.other_forms().iter();
                    row.packet.has(*layer)
                        || forms.any(|form| is_called_so(*form, *layer) && row.packet.has(*form))
                }
                At::Message(_) | At::Values(_) => false,
            },
            Self::Message(question, messages) => match at {
                At::Packet(row) => messages.hold(*question, row),
                At::Message(_) | At::Values(_) => false,
            },
            Self::Always => true,
            Self::Exists(source, not_zero) => source.any(at, &mut |value| match value {
                FieldValue::Number(number) => !not_zero || number != 0,
                FieldValue::Bytes(bytes) if *not_zero => bytes.iter().any(|byte| *byte != 0),
                FieldValue::Bytes(bytes) => !bytes.is_empty() || !source.is_slice(),
            }),
            Self::Compare(quantifier, left, relation, right) => {
                holds(*quantifier, |decide| {
                    left.each(at, &mut |left| {
                        right.each(at, &mut |right| decide(compare(&left, *relation, &right)))
                    })
                }) || self.holds_for_network(at)
            }
            Self::Contains(quantifier, source, finder) => holds(*quantifier, |decide| {
                source.each(at, &mut |value| {
                    decide(match &value {
                        FieldValue::Bytes(bytes) => found(finder, bytes),
                        FieldValue::Number(_) => false,
                    })
                })
            }),
            Self::Matches(quantifier, source, pattern) => holds(*quantifier, |decide| {
                source.each(at, &mut |value| {
                    decide(match &value {
                        FieldValue::Bytes(bytes) if bytes.is_empty() && source.is_slice() => false,
                        FieldValue::Bytes(bytes) => pattern.is_match(bytes),
                        FieldValue::Number(number) => {
                            pattern.is_match(number.to_string().as_bytes())
                        }
                    })
                })
            }),
            Self::In(quantifier, source, kind, set) => holds(*quantifier, |decide| {
                source.each(at, &mut |value| {
                    decide(set.iter().any(|(first, last)| match last {
                        None => first.order(*kind, &value).is_some_and(Ordering::is_eq),
                        Some(last) => {
                            first.order(*kind, &value).is_some_and(Ordering::is_le)
                                && last.order(*kind, &value).is_some_and(Ordering::is_ge)
                        }
                    }))
                })
            }),
        }
    }

    /// A comparison with a network.
    fn holds_for_network(&self, at: &At<'_>) -> bool {
        let Self::Compare(quantifier, left, relation, right) = self else {
            return false;
        };
        let ((source, ValueSource::Literal(Literal::Network(network)))
        | (ValueSource::Literal(Literal::Network(network)), source)) = (left, right)
        else {
            return false;
        };
        let is_left = matches!(left, ValueSource::Literal(_));
        holds(*quantifier, |decide| {
            source.each(at, &mut |value| {
                let ordering = match &value {
                    FieldValue::Bytes(bytes) => network.order(bytes),
                    FieldValue::Number(_) => None,
                };
                // An address of another family is in no order to the network.
                decide(match ordering {
                    Some(ordering) if is_left => relation.holds(ordering.reverse()),
                    Some(ordering) => relation.holds(ordering),
                    None => matches!(relation, Relation::Order(Operator::NotEqual, _)),
                })
            })
        })
    }
}

impl ValueSource {
    /// Whether it is a part of bytes, which is empty where it is not there.
    const fn is_slice(&self) -> bool {
        matches!(self, Self::Slice(..))
    }

    /// The bytes of which slices are taken where it is a protocol.
    fn sliced(self) -> Self {
        match self {
            Self::Header(layer, numbers) if !is_header_alone(layer) => {
                Self::FromHeader(layer, numbers)
            }
            other => other,
        }
    }

    /// The bytes that Wireshark searches where it is a protocol.
    fn searched(self) -> Self {
        match self {
            Self::Header(layer, numbers) => Self::FromHeader(layer, numbers),
            other => other,
        }
    }

    /// Whether it, or a source within it, is wanted.
    fn has_part(&self, is_wanted: fn(&Self) -> bool) -> bool {
        if is_wanted(self) {
            return true;
        }
        match self {
            Self::Slice(inner, _)
            | Self::Lower(inner)
            | Self::Upper(inner)
            | Self::Length(inner)
            | Self::Count(inner)
            | Self::Absolute(inner)
            | Self::Last(inner)
            | Self::Written(inner) => inner.has_part(is_wanted),
            Self::Joined(of) | Self::Extreme(_, _, of) => {
                of.iter().any(|part| part.has_part(is_wanted))
            }
            Self::Calculated(_, left, right) => {
                left.has_part(is_wanted) || right.has_part(is_wanted)
            }
            Self::Frame
            | Self::File
            | Self::Since(_)
            | Self::Literal(_)
            | Self::Fields(..)
            | Self::Header(..)
            | Self::FromHeader(..)
            | Self::Cell => false,
        }
    }

    /// Whether it needs no header.
    fn is_of_record(&self) -> bool {
        match self {
            Self::Frame | Self::File | Self::Since(_) | Self::Literal(_) => true,
            Self::Fields(..) | Self::Header(..) | Self::FromHeader(..) | Self::Cell => false,
            Self::Slice(inner, _)
            | Self::Lower(inner)
            | Self::Upper(inner)
            | Self::Length(inner)
            | Self::Count(inner)
            | Self::Absolute(inner)
            | Self::Last(inner)
            | Self::Written(inner) => inner.is_of_record(),
            Self::Extreme(_, _, of) | Self::Joined(of) => of.iter().all(Self::is_of_record),
            Self::Calculated(_, left, right) => left.is_of_record() && right.is_of_record(),
        }
    }
}

/// Whether any, or each of at least one, of the values that `visit` passes to its argument is true. `visit` stops when
/// its argument returns false: the rest cannot change the result.
fn holds(quantifier: Quantifier, visit: impl FnOnce(&mut dyn FnMut(bool) -> bool) -> bool) -> bool {
    let (mut any, mut all) = (false, true);
    visit(&mut |holds| {
        any = true;
        match quantifier {
            Quantifier::Any => {
                all = holds;
                !holds
            }
            Quantifier::All => {
                all &= holds;
                holds
            }
        }
    });
    any && all
}

fn compare(left: &FieldValue<'_>, relation: Relation, right: &FieldValue<'_>) -> bool {
    let ordering = match (left, right) {
        (FieldValue::Number(left), FieldValue::Number(right)) => left.cmp(right),
        (FieldValue::Bytes(left), FieldValue::Bytes(right)) => match relation {
            Relation::Contains => return contains(left, right),
            Relation::Order(_, kind) => kind.order(left, right),
        },
        _ => return false,
    };
    relation.holds(ordering)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    found(&Finder::new(part), bytes)
}

/// Whether what is searched is in these bytes; an empty text is in none, as in Wireshark.
fn found(finder: &Finder<'_>, bytes: &[u8]) -> bool {
    !finder.needle().is_empty() && finder.find(bytes).is_some()
}

impl Literal {
    /// The order of the literal and a value of this type.
    fn order(&self, kind: Type, value: &FieldValue<'_>) -> Option<Ordering> {
        match (self, value) {
            (Self::Number(own), FieldValue::Number(value)) => Some(own.cmp(value)),
            (Self::Bytes(own), FieldValue::Bytes(value)) => Some(kind.order(own, value)),
            (Self::Network(own), FieldValue::Bytes(value)) => {
                own.order(value).map(Ordering::reverse)
            }
            _ => None,
        }
    }
}

impl ValueSource {
    /// Passes each value to `f` until that returns false. Returns false when it was stopped.
    fn each(&self, at: &At<'_>, f: &mut dyn FnMut(FieldValue<'_>) -> bool) -> bool {
        match (self, at) {
            (Self::Literal(literal), _) => match literal {
                Literal::Number(number) => f(FieldValue::Number(*number)),
                Literal::Bytes(bytes) => f(FieldValue::Bytes(bytes.as_slice().into())),
                // A network is compared by `holds_for_network`.
                Literal::Network(_) => true,
            },
            (Self::Slice(of, ranges), _) => of.each(at, &mut |value| {
                let FieldValue::Bytes(bytes) = value else {
                    return true;
                };
                // A part that is not all there is empty, as in Wireshark: udp[9] != 00 is true of a header.
                let parts: Vec<&[u8]> =
                    ranges.iter().filter_map(|range| range.of(&bytes)).collect();
                match parts.as_slice() {
                    [part] => f(FieldValue::Bytes((*part).into())),
                    parts => f(FieldValue::Bytes(parts.concat().into())),
                }
            }),
            (Self::Lower(of), _) => of.each(at, &mut |value| {
                f(changed(value, <[u8]>::to_ascii_lowercase))
            }),
            (Self::Upper(of), _) => of.each(at, &mut |value| {
                f(changed(value, <[u8]>::to_ascii_uppercase))
            }),
            (Self::Length(of), _) => of.each(at, &mut |value| match value {
                FieldValue::Bytes(bytes) => f(FieldValue::Number(bytes.len() as i128)),
                FieldValue::Number(_) => true,
            }),
            (Self::Count(of), _) => {
                let mut count = 0_i128;
                of.each(at, &mut |_| {
                    count += 1;
                    true
                });
                count == 0 || f(FieldValue::Number(count))
            }
            (Self::Absolute(of), _) => of.each(at, &mut |value| match value {
                FieldValue::Number(number) => f(FieldValue::Number(number.saturating_abs())),
                FieldValue::Bytes(_) => true,
            }),
            (Self::Joined(of), _) => of.iter().all(|source| source.each(at, f)),
            (Self::Last(of), _) => {
                let mut last = None;
                of.each(at, &mut |value| {
                    last = Some(owned(value));
                    true
                });
                last.is_none_or(f)
            }
            (Self::Extreme(side, kind, of), _) => {
                let extreme = extreme(*side, *kind, of, at);
                extreme.is_none_or(f)
            }
            (Self::Written(of), _) => of.each(at, &mut |value| {
                let text = written(&value);
                text.is_none_or(|text| f(FieldValue::Bytes(text.into_bytes().into())))
            }),
            (Self::Calculated(calculation, left, right), _) => left.each(at, &mut |left| {
                right.each(
                    at,
                    &mut |right| match combined(*calculation, &left, &right) {
                        Some(value) => f(value),
                        None => true,
                    },
                )
            }),
            (Self::Cell, At::Message(cell)) => cell.each(f),
            (Self::Cell, At::Values(values)) => values.iter().all(|value| f(borrowed(value))),
            (_, At::Packet(row)) => self.each_of_packet(row, f),
            (_, At::Message(_) | At::Values(_)) => true,
        }
    }

    /// The values that a packet and its record have.
    fn each_of_packet(&self, row: &Row<'_>, f: &mut dyn FnMut(FieldValue<'_>) -> bool) -> bool {
        match self {
            Self::Fields(fields, Some(layer), numbers) if numbers.is_empty() => {
                each_header(row.packet, *layer, &mut |packet| {
                    read_all(fields, packet, f)
                })
            }
            Self::Fields(fields, Some(layer), numbers) => {
                read_numbered(fields, row.packet, *layer, numbers, f)
            }
            Self::Fields(fields, None, _) => read_all(fields, row.packet, f),
            Self::Header(layer, numbers) if is_header_alone(*layer) => {
                let headers = row
                    .packet
                    .headers_alone(|found| is_called_so(found, *layer));
                each_numbered(headers, *layer, numbers, f)
            }
            Self::FromHeader(layer, numbers) if ends_itself(*layer) => {
                let headers = row
                    .packet
                    .headers_to_their_end(|found| is_called_so(found, *layer));
                each_numbered(headers, *layer, numbers, f)
            }
            Self::Header(layer, numbers) | Self::FromHeader(layer, numbers) => {
                let headers = row.packet.headers();
                let headers = headers.filter(|(found, _)| is_called_so(*found, *layer));
                each_numbered(headers.map(|(_, bytes)| bytes), *layer, numbers, f)
            }
            Self::Frame => f(FieldValue::Bytes(row.packet.frame().data.into())),
            Self::File => f(FieldValue::Bytes(row.file.as_bytes().into())),
            Self::Since(since) => match row.given(Origin::Since(*since)) {
                Some(Value::Float(seconds)) => f(FieldValue::Number(nanoseconds(seconds))),
                _ => true,
            },
            _ => true,
        }
    }

    fn any(&self, at: &At<'_>, is: &mut dyn FnMut(FieldValue<'_>) -> bool) -> bool {
        !self.each(at, &mut |value| !is(value))
    }
}

/// Passes the bytes of headers of a protocol to `f`: of all, or of those with these numbers.
fn each_numbered<'p>(
    mut headers: impl Iterator<Item = &'p [u8]>,
    layer: Layer,
    numbers: &[Range],
    f: &mut dyn FnMut(FieldValue<'_>) -> bool,
) -> bool {
    if numbers.is_empty() {
        return headers.all(|bytes| f(FieldValue::Bytes(bytes.into())));
    }
    let mut count = HeaderCount::default();
    let headers: Vec<(u32, &[u8])> = headers
        .map(|bytes| (count.next(layer, bytes), bytes))
        .collect();
    let last = count.number;
    headers.iter().all(|(number, bytes)| {
        !numbers.iter().any(|range| range.has(*number, last))
            || f(FieldValue::Bytes((*bytes).into()))
    })
}

/// Passes the fields of those headers of a protocol to `f` that have these numbers, of which the last is that of the last header
/// with such a field.
fn read_numbered(
    fields: &[&'static Field],
    packet: &Packet<'_>,
    layer: Layer,
    numbers: &[Range],
    f: &mut dyn FnMut(FieldValue<'_>) -> bool,
) -> bool {
    let (mut count, mut last) = (HeaderCount::default(), 0);
    each_header(packet, layer, &mut |packet| {
        let number = count.next(layer, packet.bytes(layer).unwrap_or_default());
        if !read_all(fields, packet, &mut |_| false) {
            last = number;
        }
        true
    });
    let mut count = HeaderCount::default();
    each_header(packet, layer, &mut |packet| {
        let number = count.next(layer, packet.bytes(layer).unwrap_or_default());
        !numbers.iter().any(|range| range.has(number, last)) || read_all(fields, packet, f)
    })
}

/// Counts the headers of a protocol, from the outermost on. The labels of a stack of MPLS are one header, as in Wireshark.
#[derive(Default)]
struct HeaderCount {
    number: u32,
    /// The next label belongs to the stack of the one before.
    is_within_stack: bool,
}

impl HeaderCount {
    /// The number of the next header, of these bytes.
    fn next(&mut self, layer: Layer, bytes: &[u8]) -> u32 {
        if !self.is_within_stack {
            self.number = self.number.saturating_add(1);
        }
        self.is_within_stack =
            layer == Layer::Mpls && bytes.get(2).is_some_and(|byte| byte & 1 == 0);
        self.number
    }
}

/// Whether a protocol is the bytes of its header alone, and not those behind it, in slices, lengths and comparisons: so tshark 4.0
/// has it for frames of these protocols.
fn is_header_alone(layer: Layer) -> bool {
    ALONE.contains(&layer.protocol().name)
}

/// Whether what is searched of a protocol ends where its own length says, in front of the padding of a short frame: so Wireshark has
/// it for these, and for what they carry.
const fn ends_itself(layer: Layer) -> bool {
    matches!(layer, Layer::Arp | Layer::Ipv4 | Layer::Ipv6)
}

/// The protocols of [`is_header_alone`].
const ALONE: &[&str] = &[
    "cfp",
    "chdlc",
    "eth",
    "fddi",
    "ieee8021ad",
    "ip",
    "ipnet",
    "ipoib",
    "ipv6",
    "ipv6.dstopts",
    "ipv6.fraghdr",
    "ipv6.hopopts",
    "mpls",
    "null",
    "radiotap",
    "sll",
    "udp",
    "udplite",
    "vlan",
    "vxlan",
    "wlan",
];

/// Whether a header is one of this protocol, in whatever form, by the name of the protocol.
fn is_called_so(form: Layer, layer: Layer) -> bool {
    form == layer || form.form_of() == layer && form.protocol().name == layer.protocol().name
}

/// Passes a packet for each of its headers of a protocol, the outermost first: of those in other forms, whose fields are the same,
/// where none is in the usual one. Returns false when `visit` has.
fn each_header(
    packet: &Packet<'_>,
    layer: Layer,
    visit: &mut dyn FnMut(&Packet<'_>) -> bool,
) -> bool {
    if packet.has(layer) {
        return packet.each_of(layer, visit);
    }
    let mut forms = layer.other_forms().iter();
    forms.all(|form| packet.each_of(*form, visit))
}

/// Converts seconds to nanoseconds, as which they are compared.
fn nanoseconds(seconds: f64) -> i128 {
    (seconds * 1e9).round() as i128
}

fn changed(value: FieldValue<'_>, change: fn(&[u8]) -> Vec<u8>) -> FieldValue<'static> {
    match value {
        FieldValue::Bytes(bytes) => FieldValue::Bytes(change(&bytes).into()),
        FieldValue::Number(number) => FieldValue::Number(number),
    }
}

fn owned(value: FieldValue<'_>) -> FieldValue<'static> {
    match value {
        FieldValue::Number(number) => FieldValue::Number(number),
        FieldValue::Bytes(bytes) => FieldValue::Bytes(bytes.into_owned().into()),
    }
}

/// The least or the greatest of all values.
fn extreme(
    side: Ordering,
    kind: Type,
    of: &[ValueSource],
    at: &At<'_>,
) -> Option<FieldValue<'static>> {
    let mut extreme: Option<FieldValue<'static>> = None;
    for source in of {
        source.each(at, &mut |value| {
            let is_further = match (&value, &extreme) {
                (_, None) => true,
                (FieldValue::Number(value), Some(FieldValue::Number(known))) => {
                    value.cmp(known) == side
                }
                (FieldValue::Bytes(value), Some(FieldValue::Bytes(known))) => {
                    kind.order(value, known) == side
                }
                _ => false,
            };
            if is_further {
                extreme = Some(owned(value));
            }
            true
        });
    }
    extreme
}

/// Returns a number in decimal, or an address in its usual notation.
fn written(value: &FieldValue<'_>) -> Option<String> {
    match value {
        FieldValue::Number(number) => Some(number.to_string()),
        FieldValue::Bytes(bytes) => Some(Address::from_bytes(bytes)?.to_string()),
    }
}

/// The value that a calculation makes of two; `None` where it is not defined for them.
fn combined(
    calculation: ArithmeticOperator,
    left: &FieldValue<'_>,
    right: &FieldValue<'_>,
) -> Option<FieldValue<'static>> {
    if let (ArithmeticOperator::And, FieldValue::Bytes(left), FieldValue::Bytes(right)) =
        (calculation, left, right)
    {
        let both = left.iter().zip(right.iter());
        let bits: Vec<u8> = both.map(|(left, right)| left & right).collect();
        return Some(FieldValue::Bytes(bits.into()));
    }
    let (left, right) = left.number().zip(right.number())?;
    calculated(calculation, left, right).map(FieldValue::Number)
}

fn calculated(calculation: ArithmeticOperator, left: i128, right: i128) -> Option<i128> {
    match calculation {
        ArithmeticOperator::Add => left.checked_add(right),
        ArithmeticOperator::Subtract => left.checked_sub(right),
        ArithmeticOperator::Multiply => left.checked_mul(right),
        ArithmeticOperator::Divide => left.checked_div(right),
        ArithmeticOperator::Remainder => left.checked_rem(right),
        ArithmeticOperator::And => Some(left & right),
    }
}

fn read_all(
    fields: &[&'static Field],
    packet: &Packet<'_>,
    f: &mut dyn FnMut(FieldValue<'_>) -> bool,
) -> bool {
    // The fields of wlan.addr share addresses: a receiver may be the destination, too.
    if let [first, _, ..] = fields
        && first.name == "wlan.ra"
    {
        return weir_packet::each_wlan_address(packet, &mut |address| {
            f(FieldValue::Bytes(address.as_bytes().into()))
        });
    }
    fields.iter().all(|field| read(field, packet, f))
}

fn read(field: &Field, packet: &Packet<'_>, f: &mut dyn FnMut(FieldValue<'_>) -> bool) -> bool {
    // The column has the first option of a header; the field has all.
    if let Some(each) = weir_packet::of_each_option(field.name) {
        return each(packet, &mut |number| f(FieldValue::Number(number.into())));
    }
    let number = match field.get {
        Get::Bool(get) => get(packet).map(i128::from),
        Get::U8(get) => get(packet).map(i128::from),
        Get::U16(get) => get(packet).map(i128::from),
        Get::U32(get) => get(packet).map(i128::from),
        Get::U64(get) => get(packet).map(i128::from),
        Get::Time(get) => get(packet).map(i128::from),
        Get::Address(get) => {
            return get(packet)
                .is_none_or(|address| f(FieldValue::Bytes(address.as_bytes().into())));
        }
        Get::Bytes(get) => {
            return get(packet).is_none_or(|bytes| f(FieldValue::Bytes(bytes.into())));
        }
        Get::Text(get) => {
            return get(packet).is_none_or(|text| f(FieldValue::Bytes(text.as_bytes().into())));
        }
        Get::Write(write) => {
            let mut text = String::new();
            return match write(packet, &mut text) {
                Ok(true) => f(FieldValue::Bytes(text.as_bytes().into())),
                _ => true,
            };
        }
    };
    number.is_none_or(|number| f(FieldValue::Number(number)))
}

#[cfg(test)]
mod tests;
