//! SQL functions of the network, and of the special ranges of the registries, that an address belongs to.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, StringViewBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use weir_packet::Address;

use crate::computed::{Arguments, ColumnFunction};

/// `network(ip.src, 24)`: the network of so many bits that an address lies in.
const NETWORK: &str = "network";
/// `is_private(ip.src)`: whether an address is not routed in the Internet.
const IS_PRIVATE: &str = "is_private";
/// `is_multicast(ip.dst)`: whether an address is that of a group.
const IS_MULTICAST: &str = "is_multicast";

pub(crate) fn all() -> [ScalarUDF; 3] {
    [NETWORK, IS_PRIVATE, IS_MULTICAST].map(|name| {
        let function = ColumnFunction {
            name,
            arguments: Arguments::Coerced(coerced),
            kind: |name, _| {
                Ok(match name {
                    NETWORK => DataType::Utf8View,
                    _ => DataType::Boolean,
                })
            },
            values,
        };
        function.udf()
    })
}

fn coerced(name: &str, types: &[DataType]) -> Result<Vec<DataType>> {
    match (name, types) {
        (NETWORK, [kind, _]) if coerced_type(kind).is_some() => {
            let takes = coerced_type(kind).into_iter();
            Ok(takes.chain([DataType::Int64]).collect())
        }
        (NETWORK, _) => {
            plan_err!("network takes an address and a number of bits: network(ip.src, 24)")
        }
        (_, [kind]) if coerced_type(kind).is_some() => Ok(coerced_type(kind).into_iter().collect()),
        _ => plan_err!("{name} takes an address: {name}(ip.src)"),
    }
}

fn values(name: &str, given: &[ArrayRef]) -> Result<ArrayRef> {
    let Some((addresses, rest)) = given.split_first() else {
        return exec_err!("{name} got no address");
    };
    let addresses = parsed_addresses(addresses)?;
    let whether = |holds: fn(Address) -> bool| -> ArrayRef {
        let found = addresses.iter().map(|address| address.map(holds));
        Arc::new(found.collect::<BooleanArray>())
    };
    Ok(match (name, rest) {
        (NETWORK, [bits]) => {
            let bits = cast(bits, &DataType::Int64)?;
            let mut networks = StringViewBuilder::with_capacity(addresses.len());
            let mut text = String::new();
            for (address, bits) in addresses.iter().zip(bits.as_primitive::<Int64Type>()) {
                let network = address
                    .zip(bits)
                    .and_then(|(address, bits)| masked(address, bits));
                match network {
                    None => networks.append_null(),
                    Some((address, bits)) => {
                        text.clear();
                        write!(text, "{address}/{bits}").unwrap_or_default();
                        networks.append_value(&text);
                    }
                }
            }
            Arc::new(networks.finish())
        }
        (IS_PRIVATE, []) => whether(is_private),
        (IS_MULTICAST, []) => whether(is_multicast),
        _ => return exec_err!("{name} got {} arguments", given.len()),
    })
}

/// The type to which an argument of this type is cast; `None` for types that hold no addresses.
pub(crate) fn coerced_type(kind: &DataType) -> Option<DataType> {
    match kind {
        DataType::Binary | DataType::BinaryView | DataType::LargeBinary => {
            Some(DataType::BinaryView)
        }
        DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8 | DataType::Null => {
            Some(DataType::Utf8View)
        }
        _ => None,
    }
}

/// The addresses of a column of bytes, or of text that spells them.
pub(crate) fn parsed_addresses(array: &ArrayRef) -> Result<Vec<Option<Address>>> {
    Ok(match array.as_binary_view_opt() {
        Some(bytes) => bytes
            .iter()
            .map(|bytes| Address::from_bytes(bytes?))
            .collect(),
        None => cast(array, &DataType::Utf8View)?
            .as_string_view()
            .iter()
            .map(|text| text?.trim().parse().ok())
            .collect(),
    })
}

/// The first address of the network of so many bits, and the bits; `None` where an address has fewer.
fn masked(address: Address, bits: i64) -> Option<(Address, usize)> {
    let bits = usize::try_from(bits).ok()?;
    let mut bytes = address.as_bytes().to_vec();
    if bits > bytes.len() * 8 {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        let kept = bits.saturating_sub(at * 8).min(8);
        *byte &= (0xff00_u16 >> kept) as u8;
    }
    Some((Address::from_bytes(&bytes)?, bits))
}

/// Private (RFC 1918 and 4193), shared (RFC 6598), link-local (RFC 3927 and 4291) and loopback addresses, as in IANA's
/// special-purpose registries.
fn is_private(address: Address) -> bool {
    if let Ok(octets) = <[u8; 4]>::try_from(address.as_bytes()) {
        return v4_is_private(Ipv4Addr::from(octets));
    }
    match <[u8; 16]>::try_from(address.as_bytes()) {
        Ok(octets) => {
            let address = Ipv6Addr::from(octets);
            match address.to_ipv4_mapped() {
                Some(mapped) => v4_is_private(mapped),
                None => {
                    address.is_loopback()
                        || address.is_unique_local()
                        || address.is_unicast_link_local()
                }
            }
        }
        Err(_) => false,
    }
}

fn v4_is_private(address: Ipv4Addr) -> bool {
    let [first, second, ..] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || (first == 100 && (64..128).contains(&second))
}

/// Multicast is a range of IP addresses, and a bit of MAC addresses; broadcast does not count.
fn is_multicast(address: Address) -> bool {
    match address.as_bytes() {
        [first, _, _, _] => (224..240).contains(first),
        bytes @ [first, _, _, _, _, _] => first & 1 == 1 && bytes != [0xff; 6],
        [first, ..] if address.as_bytes().len() == 16 => *first == 0xff,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[test]
    fn networks_keep_the_bits_that_count() {
        for (text, bits, expected) in [
            ("10.1.2.3", 24, Some("10.1.2.0/24")),
            ("10.1.2.3", 0, Some("0.0.0.0/0")),
            ("10.1.2.3", 32, Some("10.1.2.3/32")),
            ("10.1.2.255", 25, Some("10.1.2.128/25")),
            ("10.1.2.3", 33, None),
            ("10.1.2.3", -1, None),
            ("2001:db8:1:2::3", 48, Some("2001:db8:1::/48")),
        ] {
            let found =
                masked(address(text), bits).map(|(address, bits)| format!("{address}/{bits}"));
            assert_eq!(found.as_deref(), expected, "{text}/{bits}");
        }
    }

    #[test]
    fn special_ranges_begin_and_end_where_the_registries_say() {
        for text in [
            "10.0.0.0",
            "172.16.0.0",
            "172.31.255.255",
            "192.168.0.1",
            "127.0.0.1",
            "169.254.1.1",
            "100.64.0.0",
            "100.127.255.255",
            "::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(is_private(address(text)), "{text}");
        }
        for text in [
            "11.0.0.0",
            "172.32.0.0",
            "192.169.0.1",
            "100.63.0.0",
            "100.128.0.0",
            "8.8.8.8",
            "2001:db8::1",
            "ff02::1",
            "::ffff:8.8.8.8",
        ] {
            assert!(!is_private(address(text)), "{text}");
        }
        for text in [
            "224.0.0.1",
            "239.255.255.255",
            "ff02::1",
            "01:00:5e:00:00:01",
        ] {
            assert!(is_multicast(address(text)), "{text}");
        }
        for text in [
            "240.0.0.1",
            "255.255.255.255",
            "fe80::1",
            "ff:ff:ff:ff:ff:ff",
            "00:00:5e:00:00:01",
        ] {
            assert!(!is_multicast(address(text)), "{text}");
        }
    }
}
