//! The columns that packets offer: name, type, meaning, and how a value is got.

use std::fmt;

use crate::shape::Location;
use crate::{Address, Layer, Packet, protocol::PROTOCOLS};

/// One column: a name of Wireshark's display-filter language (or one of ours beside it) and the
/// function that reads its value out of a decoded packet.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Column name, lower case, such as `ip.src`.
    pub name: &'static str,
    /// The function that reads the value, which also determines its type.
    pub get: Get,
    /// The positions of its value in packets with plain headers ([`HeaderShape`](crate::HeaderShape)): the first of these whose
    /// header is present, and outermost among them, and has the field. A packet with none of them has no value. For a field that
    /// needs [`Needs::Transport`], only the header right above the outermost IP header counts. Empty for a field that only `get`
    /// can read.
    pub locations: &'static [Location],
    /// The validity of the positions in packets that are not plain.
    described: Described,
    /// The meaning, with unit and range, in one line.
    pub doc: &'static str,
    /// The definition: an RFC with its section, an ITU or IEEE clause, the specification of a format.
    pub reference: &'static str,
}

/// The validity of the positions of a field in packets that are not plain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Described {
    /// Nothing.
    Plainly,
    /// That values are not wider there.
    Bounded,
    /// All: the value is there in every header.
    Exactly,
}

/// Reads one value of a packet; `None` becomes NULL.
#[derive(Clone, Copy)]
pub enum Get {
    /// A flag.
    Bool(fn(&Packet<'_>) -> Option<bool>),
    /// A number of up to 8 bits.
    U8(fn(&Packet<'_>) -> Option<u8>),
    /// A number of up to 16 bits.
    U16(fn(&Packet<'_>) -> Option<u16>),
    /// A number of up to 32 bits.
    U32(fn(&Packet<'_>) -> Option<u32>),
    /// A number of up to 64 bits.
    U64(fn(&Packet<'_>) -> Option<u64>),
    /// Nanoseconds since 1970-01-01 UTC.
    Time(fn(&Packet<'_>) -> Option<i64>),
    /// A network or link-layer address.
    Address(fn(&Packet<'_>) -> Option<Address>),
    /// Bytes of the packet itself.
    Bytes(for<'p> fn(&'p Packet<'_>) -> Option<&'p [u8]>),
    /// Text that is in the packet, in the capture or fixed.
    Text(for<'p> fn(&'p Packet<'_>) -> Option<&'p str>),
    /// Text that is made on demand: writes it and gives true, or gives false for NULL.
    Write(fn(&Packet<'_>, &mut dyn fmt::Write) -> Result<bool, fmt::Error>),
}

impl fmt::Debug for Get {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Get::{:?}", self.kind())
    }
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// True or false.
    Bool,
    /// 0 to 2^8 - 1.
    U8,
    /// 0 to 2^16 - 1.
    U16,
    /// 0 to 2^32 - 1.
    U32,
    /// 0 to 2^64 - 1.
    U64,
    /// -2^63 to 2^63 - 1 (record layouts only).
    I64,
    /// An IEEE 754 double (record layouts only).
    F64,
    /// Nanoseconds since 1970-01-01 UTC.
    Time,
    /// An [`Address`].
    Address,
    /// Bytes.
    Bytes,
    /// UTF-8 text.
    Text,
    /// A list of UTF-8 texts (tables of what packets carry only).
    Texts,
    /// A list of numbers, 0 to 2^32 - 1 (tables of what packets carry only).
    Numbers,
}

/// One value, as record layouts give them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// See [`Kind::Bool`].
    Bool(bool),
    /// See [`Kind::U8`] to [`Kind::U64`].
    Unsigned(u64),
    /// See [`Kind::I64`].
    Signed(i64),
    /// See [`Kind::F64`].
    Float(f64),
    /// See [`Kind::Time`].
    Time(i64),
    /// See [`Kind::Address`].
    Address(Address),
    /// See [`Kind::Bytes`].
    Bytes(&'a [u8]),
    /// See [`Kind::Text`].
    Text(&'a str),
    /// See [`Kind::Texts`].
    Texts(&'a [String]),
    /// See [`Kind::Numbers`].
    Numbers(&'a [u32]),
}

impl Get {
    /// The type of the values.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Bool(_) => Kind::Bool,
            Self::U8(_) => Kind::U8,
            Self::U16(_) => Kind::U16,
            Self::U32(_) => Kind::U32,
            Self::U64(_) => Kind::U64,
            Self::Time(_) => Kind::Time,
            Self::Address(_) => Kind::Address,
            Self::Bytes(_) => Kind::Bytes,
            Self::Text(_) | Self::Write(_) => Kind::Text,
        }
    }
}

/// The part of a packet that must be decoded for a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// No header of a protocol: the record header of the capture has it.
    Record,
    /// The outermost header of this protocol.
    Layer(Layer),
    /// The outermost IP header.
    Network,
    /// The header above the outermost IP header.
    Transport,
    /// Everything, to the innermost header.
    All,
}

/// Every field with its protocol: frame fields, joined fields, then those of [`PROTOCOLS`] in the order of that table.
pub fn fields() -> impl Iterator<Item = (&'static Field, Needs)> {
    let own = crate::frame::FIELDS.iter().chain(crate::joined::FIELDS);
    let protocols = PROTOCOLS.iter().enumerate().flat_map(|(index, protocol)| {
        let needs = Layer::from_index(index).map_or(Needs::All, needs);
        protocol.fields.iter().map(move |field| (field, needs))
    });
    own.map(|(field, needs)| (field, *needs)).chain(protocols)
}

/// The part of a packet that the fields of `layer` need.
fn needs(layer: Layer) -> Needs {
    match layer {
        // The columns of options are those of the first header with such an option, so that both headers must be decoded: otherwise
        // the value would depend on the other columns.
        Layer::Ipv6HopByHop | Layer::Ipv6DestinationOptions => Needs::All,
        _ => Needs::Layer(layer),
    }
}

macro_rules! constructors {
    ($($function:ident $variant:ident $type:ty;)*) => { impl Field { $(
        pub(crate) const fn $function(
            name: &'static str,
            get: $type,
            doc: &'static str,
            reference: &'static str,
        ) -> Self {
            Self { name, get: Get::$variant(get), locations: &[], described: Described::Plainly, doc, reference }
        }
    )* } };
}

constructors! {
    bool Bool fn(&Packet<'_>) -> Option<bool>;
    u8 U8 fn(&Packet<'_>) -> Option<u8>;
    u16 U16 fn(&Packet<'_>) -> Option<u16>;
    u32 U32 fn(&Packet<'_>) -> Option<u32>;
    u64 U64 fn(&Packet<'_>) -> Option<u64>;
    time Time fn(&Packet<'_>) -> Option<i64>;
    address Address fn(&Packet<'_>) -> Option<Address>;
    bytes Bytes for<'p> fn(&'p Packet<'_>) -> Option<&'p [u8]>;
    text Text for<'p> fn(&'p Packet<'_>) -> Option<&'p str>;
    write Write fn(&Packet<'_>, &mut dyn fmt::Write) -> Result<bool, fmt::Error>;
}

impl Field {
    /// The same field, whose value lies at these places in plain packets, and is never wider in others.
    pub(crate) const fn plain_at(self, locations: &'static [Location]) -> Self {
        Self {
            locations,
            described: Described::Bounded,
            ..self
        }
    }

    /// The same field, whose value lies at these places in every packet.
    pub(crate) const fn exactly_at(self, locations: &'static [Location]) -> Self {
        Self {
            locations,
            described: Described::Exactly,
            ..self
        }
    }

    /// The same field, whose values may be wider in packets that are not plain.
    pub(crate) const fn or_wider(self) -> Self {
        Self {
            described: Described::Plainly,
            ..self
        }
    }

    /// Whether its [`locations`](Self::locations) say all of it, in packets that are not plain too.
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        matches!(self.described, Described::Exactly)
    }

    /// The one protocol without whose header a packet has no value, be it in another form ([`Layer::form_of`]), of
    /// a field that needs this; `None` when there is no such protocol, or not one alone.
    #[must_use]
    pub fn home(&self, needs: Needs) -> Option<Layer> {
        match needs {
            Needs::Layer(layer) => {
                let home = layer.form_of();
                let mut locations = self.locations.iter();
                let is_one = locations.all(|location| location.layer.form_of() == home);
                is_one.then_some(home)
            }
            _ => None,
        }
    }

    /// Bits that hold every value of a number that is never negative, and of an address every one.
    #[must_use]
    pub fn width(&self) -> u32 {
        let of_kind = match self.get.kind() {
            Kind::Bool => 1,
            Kind::U8 => 8,
            Kind::U16 => 16,
            Kind::U32 => 32,
            Kind::Address => 128,
            _ => u64::BITS,
        };
        let widths = self.locations.iter().map(|location| location.at.width());
        match widths.max() {
            Some(width) if self.described != Described::Plainly => width.min(of_kind),
            _ => of_kind,
        }
    }
}

/// A field whose function is made of its description.
///
/// `plain!(u16, "udp.srcport", [Location::bits(Layer::Udp, Bits::be16(0))], "Source port", "RFC 768")`
macro_rules! plain {
    ($kind:ident, $name:expr, $locations:expr, $doc:expr, $reference:expr $(,)?) => {{
        const LOCATIONS: &[$crate::shape::Location] = &$locations;
        $crate::field::Field::$kind(
            $name,
            |packet| $crate::field::plain!(@ $kind, packet, LOCATIONS),
            $doc,
            $reference,
        )
        .exactly_at(LOCATIONS)
    }};
    (@ bool, $packet:expr, $locations:expr) => {
        $packet.number($locations).map(|value| value != 0)
    };
    (@ address, $packet:expr, $locations:expr) => {
        $crate::Address::from_bytes($packet.bytes_at($locations)?)
    };
    (@ bytes, $packet:expr, $locations:expr) => {
        $packet.bytes_at($locations)
    };
    (@ $kind:ident, $packet:expr, $locations:expr) => {
        // The field is as wide as its type allows.
        $packet.number($locations).map(|value| value as $kind)
    };
}

/// A field whose value lies at these places in plain packets, and is never wider than there; in other
/// packets a function has to look for it.
macro_rules! mostly_plain {
    ($kind:ident, $name:expr, $locations:expr, $get:expr, $doc:expr, $reference:expr $(,)?) => {{
        const LOCATIONS: &[$crate::shape::Location] = &$locations;
        $crate::field::Field::$kind($name, $get, $doc, $reference).plain_at(LOCATIONS)
    }};
}
pub(crate) use {mostly_plain, plain};

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_field_has_one_name_a_meaning_and_a_source() {
        let mut seen = HashSet::new();
        for (field, _) in fields() {
            assert!(seen.insert(field.name), "{} stands twice", field.name);
            assert!(
                !field.doc.is_empty() && !field.reference.is_empty(),
                "{}",
                field.name
            );
            assert_eq!(field.name, field.name.to_ascii_lowercase());
            assert!(
                field
                    .name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "._".contains(c)),
                "{}",
                field.name
            );
            let is_flag = field.get.kind() == Kind::Bool;
            for location in field.locations.iter().filter(|_| is_flag) {
                assert_eq!(location.at.width(), 1, "{} is a flag", field.name);
            }
        }
    }
}
