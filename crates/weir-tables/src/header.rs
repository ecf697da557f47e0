//! Fields of protocols of which a packet has several headers.
//!
//! A column has the value of the outermost header. `vlan.id[2]` is that of the second one, counted from the outside,
//! `vlan.id[-1]` that of the innermost, and `vlan.id[:]` the list of all. The same applies to the labels of MPLS, and
//! to the addresses in tunnels. Headers that an ICMP error quotes are counted, as in display filters.

use weir_packet::{Field, Get, Kind, Layer, Needs, Packet, Value};

use crate::{Column, Origin};

/// A field of one of several headers of a protocol, or of all of them.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    field: &'static Field,
    layer: Layer,
    pub(crate) which: Which,
}

/// The selection among several headers of a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The header of this number: from 1 for the outermost on, from -1 for the innermost on.
    Number(i16),
    /// All of them.
    All,
}

impl Header {
    /// The column `name`, which is `base` followed by brackets.
    pub(crate) fn column(base: &Column, name: &str) -> Option<Column> {
        let inside = name
            .strip_prefix(&*base.name)?
            .strip_prefix('[')?
            .strip_suffix(']')?;
        let Origin::Packet(field, Needs::Layer(layer)) = base.origin else {
            return None;
        };
        let which = match inside {
            ":" => Which::All,
            number => Which::Number(number.parse().ok().filter(|number| *number != 0)?),
        };
        // The values are copied out of a header; bytes and texts are not supported, as they have slices of their own.
        let kind = match (which, base.kind) {
            (
                Which::Number(_),
                kind @ (Kind::Bool | Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::Address),
            ) => kind,
            (Which::All, Kind::Bool | Kind::U8 | Kind::U16 | Kind::U32) => Kind::Numbers,
            (Which::All, Kind::Address) => Kind::Texts,
            _ => return None,
        };
        let of = match which {
            Which::All => "all headers, the outermost first".to_owned(),
            Which::Number(number) if number > 0 => format!("header {number} from the outside"),
            Which::Number(number) => format!("header {} from the inside", number.unsigned_abs()),
        };
        Some(Column {
            name: name.into(),
            kind,
            doc: format!("{}: of {of}", base.doc).into(),
            reference: base.reference.clone(),
            origin: Origin::Header(Self {
                field,
                layer,
                which,
            }),
        })
    }

    /// The value of the selected header.
    pub(crate) fn copied(&self, packet: &Packet<'_>) -> Option<Value<'static>> {
        let Which::Number(number) = self.which else {
            return None;
        };
        let number = match usize::try_from(number) {
            Ok(number) => number,
            Err(_) => {
                let headers = packet.headers().filter(|(layer, _)| *layer == self.layer);
                let behind = usize::from(number.unsigned_abs());
                (headers.count() + 1).checked_sub(behind)?
            }
        };
        let (mut at, mut value) = (0_usize, None);
        packet.each_of(self.layer, &mut |packet| {
            at += 1;
            if at == number {
                value = copied(self.field.get, packet);
            }
            at < number
        });
        value
    }

    /// The values of all headers, the outermost first; `None` when there is none.
    pub(crate) fn all(&self, packet: &Packet<'_>) -> Option<Vec<Option<Value<'static>>>> {
        let mut values = Vec::new();
        packet.each_of(self.layer, &mut |packet| {
            values.push(copied(self.field.get, packet));
            true
        });
        (!values.is_empty()).then_some(values)
    }
}

/// A value that borrows nothing from the packet.
fn copied(get: Get, packet: &Packet<'_>) -> Option<Value<'static>> {
    match get {
        Get::Bool(get) => get(packet).map(Value::Bool),
        Get::U8(get) => get(packet).map(|value| Value::Unsigned(value.into())),
        Get::U16(get) => get(packet).map(|value| Value::Unsigned(value.into())),
        Get::U32(get) => get(packet).map(|value| Value::Unsigned(value.into())),
        Get::U64(get) => get(packet).map(Value::Unsigned),
        Get::Address(get) => get(packet).map(Value::Address),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::Table;
    use weir_packet::Kind;

    #[test]
    fn brackets_behind_a_field_of_a_header_are_a_column() {
        let table = Table::packets();
        let kind = |name: &str| table.header_column(name).map(|column| column.kind);
        for (name, expected) in [
            ("vlan.id[2]", Some(Kind::U16)),
            ("vlan.id[-1]", Some(Kind::U16)),
            ("vlan.id[:]", Some(Kind::Numbers)),
            ("ip.src[2]", Some(Kind::Address)),
            ("ip.src[:]", Some(Kind::Texts)),
            ("tcp.flags.syn[1]", Some(Kind::Bool)),
            // There is no header 0, bytes have slices of their own, and the capture has no headers.
            ("vlan.id[0]", None),
            ("vlan.id[x]", None),
            ("vlan.id[99999]", None),
            ("tcp.payload[1]", None),
            ("frame.len[1]", None),
            ("addr.src[1]", None),
            ("nonsense[1]", None),
        ] {
            assert_eq!(kind(name), expected, "{name}");
        }
    }
}
