//! SQL functions of registries: the manufacturer of a card, and the service of a port.
//!
//! The registries are built in (`data/README.md` has their origins) and unpacked when they are first used.

use std::io::Read as _;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;

use crate::computed::{Arguments, ColumnFunction};
use crate::networks;

/// `oui(eth.src)`: the manufacturer of the card.
const OUI: &str = "oui";
/// `service_name(443, 'tcp')`: what IANA registered the port for.
const SERVICE_NAME: &str = "service_name";

pub(crate) fn all() -> [ScalarUDF; 2] {
    [OUI, SERVICE_NAME].map(|name| {
        let function = ColumnFunction {
            name,
            arguments: Arguments::Coerced(coerced),
            kind: |_, _| Ok(DataType::Utf8View),
            values,
        };
        function.udf()
    })
}

fn coerced(name: &str, types: &[DataType]) -> Result<Vec<DataType>> {
    match (name, types) {
        (OUI, [kind]) if networks::coerced_type(kind).is_some() => {
            Ok(networks::coerced_type(kind).into_iter().collect())
        }
        (OUI, _) => plan_err!("oui takes a MAC address: oui(eth.src)"),
        (_, [port]) if port.is_integer() || port.is_null() => Ok(vec![DataType::Int64]),
        (_, [port, _]) if port.is_integer() || port.is_null() => {
            Ok(vec![DataType::Int64, DataType::Utf8View])
        }
        _ => plan_err!(
            "service_name takes a port and an optional protocol: service_name(port.dst), service_name(443, 'tcp')"
        ),
    }
}

fn values(name: &str, given: &[ArrayRef]) -> Result<ArrayRef> {
    let rows = given.first().map_or(0, Array::len);
    let mut names = StringViewBuilder::with_capacity(rows).with_deduplicate_strings();
    match (name, given) {
        (OUI, [addresses]) => {
            for address in networks::parsed_addresses(addresses)? {
                names.append_option(address.and_then(|address| maker(address.as_bytes())));
            }
        }
        (SERVICE_NAME, [ports]) => {
            for port in cast(ports, &DataType::Int64)?.as_primitive::<Int64Type>() {
                names.append_option(port.and_then(|port| service(port, None)));
            }
        }
        (SERVICE_NAME, [ports, protocols]) => {
            let ports = cast(ports, &DataType::Int64)?;
            let protocols = cast(protocols, &DataType::Utf8View)?;
            let protocols = protocols.as_string_view();
            for (port, protocol) in ports.as_primitive::<Int64Type>().iter().zip(protocols) {
                let both = port.zip(protocol);
                names
                    .append_option(both.and_then(|(port, protocol)| service(port, Some(protocol))));
            }
        }
        _ => return exec_err!("{name} got {} arguments", given.len()),
    }
    Ok(Arc::new(names.finish()))
}

/// The organization that registered the prefix of a MAC address; the longest prefix counts. `None` for unregistered
/// addresses, such as locally administered ones.
fn maker(address: &[u8]) -> Option<&'static str> {
    let [first, rest @ ..] = address.first_chunk::<6>()?;
    // Addresses of 4 and 16 bytes are of IP.
    if !matches!(address.len(), 6 | 8) {
        return None;
    }
    // Groups have their maker's prefix with the lowest bit set.
    let mut number = u64::from(first & 0xfe);
    for byte in rest {
        number = number << 8 | u64::from(*byte);
    }
    let makers = MAKERS.get_or_init(Makers::unpack);
    PREFIX_DIGITS.iter().rev().find_map(|digits| {
        let prefix = number >> (48 - digits * 4);
        let wanted = (*digits, prefix);
        let found = makers
            .prefixes
            .binary_search_by_key(&wanted, |(digits, prefix, _)| (*digits, *prefix))
            .ok()?;
        let (_, _, name) = makers.prefixes.get(found)?;
        makers.names.get(*name as usize).map(String::as_str)
    })
}

/// The numbers of hexadecimal digits of prefixes: MA-L, MA-M, MA-S and IAB.
const PREFIX_DIGITS: [u32; 3] = [6, 7, 9];

/// IANA's name of a port: of this protocol, or of the first of TCP, UDP, SCTP and DCCP that has one for it.
fn service(port: i64, protocol: Option<&str>) -> Option<&'static str> {
    let port = u16::try_from(port).ok()?;
    let services = SERVICES.get_or_init(unpack_services);
    let of = |protocol: u8| {
        let found = services
            .binary_search_by_key(&(port, protocol), |(port, protocol, _)| (*port, *protocol))
            .ok()?;
        services.get(found).map(|(_, _, name)| name.as_str())
    };
    match protocol {
        None => (0..PROTOCOLS.len() as u8).find_map(of),
        Some(protocol) => {
            let place = PROTOCOLS
                .iter()
                .position(|known| known.eq_ignore_ascii_case(protocol.trim()))?;
            of(place as u8)
        }
    }
}

/// The protocols in the order in which a port without a protocol is looked up.
const PROTOCOLS: [&str; 4] = ["tcp", "udp", "sctp", "dccp"];

/// Prefixes of MAC addresses.
struct Makers {
    names: Vec<String>,
    /// The number of digits, the prefix, and the offset of the name; in this order.
    prefixes: Vec<(u32, u64, u32)>,
}

impl Makers {
    fn unpack() -> Self {
        let (mut names, mut prefixes) = (Vec::new(), Vec::new());
        for line in unpack(include_bytes!("../data/makers.zst")).lines() {
            let mut parts = line.split('\t');
            let Some(name) = parts.next() else { continue };
            for prefix in parts {
                if let Ok(number) = u64::from_str_radix(prefix, 16) {
                    prefixes.push((prefix.len() as u32, number, names.len() as u32));
                }
            }
            names.push(name.to_owned());
        }
        prefixes.sort_unstable();
        Self { names, prefixes }
    }
}

static MAKERS: OnceLock<Makers> = OnceLock::new();
/// Port, place of the protocol in [`PROTOCOLS`], name; in this order.
static SERVICES: OnceLock<Vec<(u16, u8, String)>> = OnceLock::new();

fn unpack_services() -> Vec<(u16, u8, String)> {
    let text = unpack(include_bytes!("../data/services.zst"));
    let services = text.lines().filter_map(|line| {
        let mut parts = line.split('\t');
        let port = parts.next()?.parse().ok()?;
        let protocol = parts.next()?;
        let protocol = PROTOCOLS.iter().position(|known| *known == protocol)?;
        Some((port, protocol as u8, parts.next()?.to_owned()))
    });
    let mut services: Vec<_> = services.collect();
    services.sort_unstable();
    services
}

/// A registry's text. It is part of the program: a test reads both whole.
fn unpack(packed: &[u8]) -> String {
    let mut text = String::new();
    if let Ok(mut reader) = zstd::Decoder::new(packed) {
        // A file that cannot be read counts as missing.
        let _ = reader.read_to_string(&mut text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registries_are_whole() {
        let makers = MAKERS.get_or_init(Makers::unpack);
        assert!(makers.names.len() > 20_000, "{}", makers.names.len());
        assert!(makers.prefixes.len() > 35_000, "{}", makers.prefixes.len());
        let services = SERVICES.get_or_init(unpack_services);
        assert!(services.len() > 10_000, "{}", services.len());
    }

    #[test]
    fn a_card_has_the_maker_of_its_longest_prefix() {
        for (address, expected) in [
            (
                &[0xb8, 0x27, 0xeb, 1, 2, 3][..],
                Some("Raspberry Pi Foundation"),
            ),
            (
                &[0xb8, 0x27, 0xeb, 0xff, 0xfe, 1, 2, 3],
                Some("Raspberry Pi Foundation"),
            ),
            (&[0x00, 0x00, 0x0c, 0, 0, 1], Some("Cisco Systems, Inc")),
            // The group addresses of IPv4 are of a prefix of IANA's.
            (&[0x01, 0x00, 0x5e, 0, 0, 1], Some("ICANN, IANA Department")),
            // 70-B3-D5 is shared by owners of 36 bits, and no organization has all of it.
            (&[0x70, 0xb3, 0xd5, 0x00, 0x3f, 1], Some("ANYROAM")),
            (&[0x70, 0xb3, 0xd5, 0xff, 0xff, 1], None),
            (&[0x02, 0x42, 0xac, 0x11, 0, 2], None),
            (&[0xff; 6], None),
            (&[10, 0, 0, 1], None),
            (&[0x20; 16], None),
        ] {
            assert_eq!(maker(address), expected, "{address:02x?}");
        }
    }

    #[test]
    fn a_port_has_the_name_that_iana_gave_it() {
        for (port, protocol, expected) in [
            (80, None, Some("http")),
            (443, Some("TCP"), Some("https")),
            (53, Some("udp"), Some("domain")),
            (5060, Some("sctp"), Some("sip")),
            (3868, None, Some("diameter")),
            (514, Some("udp"), Some("syslog")),
            (514, Some("tcp"), Some("shell")),
            (22, Some("icmp"), None),
            (65_535, None, None),
            (-1, None, None),
            (70_000, None, None),
        ] {
            assert_eq!(service(port, protocol), expected, "{port} {protocol:?}");
        }
    }
}
