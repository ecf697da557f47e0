//! `dhcp`: one row a message of DHCP or BOOTP.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use weir_messages::dhcp::{DhcpFault, DhcpMessage, PORTS, type_word};
use weir_packet::{Kind, Needs, Value};

use super::extraction::{Extraction, ItemField, columns};
use super::list::{Cache, List, Say};
use super::messages::{Messages, Protocol, Push, Way, columns_with_way};
use super::value::{address, number};
use crate::row::Item;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "dhcp",
    doc: "one row per DHCP or BOOTP message, over IPv4, on any port",
    columns: || columns_with_way(columns(&[], FIELDS)),
    needs: &[Needs::All],
    start: Messages::<Dhcp>::start,
    arguments: super::settings::NETWORKS,
    aliases: &[],
};

#[derive(Default)]
struct Dhcp;

impl Protocol for Dhcp {
    const NAME: &'static str = "dhcp";

    fn is_datagram(bytes: &[u8], ports: [u16; 2]) -> bool {
        DhcpMessage::new(bytes, ports).is_some()
    }

    const REPORTS_CUT: bool = true;

    fn may_be_cut(_bytes: &[u8], ports: [u16; 2]) -> bool {
        ports.iter().any(|port| PORTS.contains(port))
    }

    fn message(&mut self, bytes: &[u8], way: &Way, push: &mut Push<'_>) -> bool {
        let captured = Captured {
            bytes: bytes.to_vec(),
            ports: way.ports(),
            missing: way.missing,
        };
        let cache = Cache::new(FIELDS.len());
        push(way, &DhcpItem { captured, cache });
        true
    }
}

/// A message and its parsed form.
struct DhcpItem {
    captured: Captured,
    cache: Cache,
}

/// A message as it was captured, of which a row is made when its columns are read.
struct Captured {
    bytes: Vec<u8>,
    ports: [u16; 2],
    missing: u64,
}

impl Captured {
    fn message(&self) -> Option<DhcpMessage<'_>> {
        DhcpMessage::new(&self.bytes, self.ports)
    }

    fn option(&self, code: u8) -> Option<Cow<'_, [u8]>> {
        self.message()?.option(code)
    }

    /// The addresses that an option lists.
    fn addresses(&self, code: u8, list: &mut List) {
        let whole = self.option(code).unwrap_or_default();
        for octets in whole.chunks_exact(4) {
            if let Ok(octets) = <[u8; 4]>::try_from(octets) {
                list.text(Ipv4Addr::from(octets));
            }
        }
    }

    /// A text without the zeros at its end.
    fn text(&self, code: u8) -> Option<String> {
        let text = self.option(code)?;
        let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
        Some(weir_messages::printable(text))
    }

    fn address(&self, code: u8) -> Option<Value<'static>> {
        four(self.four(code)?)
    }

    /// The four octets of an option; the first four where it is repeated.
    fn four(&self, code: u8) -> Option<[u8; 4]> {
        let message = self.message()?;
        let first = message.options().find(|option| option.code == code)?;
        let whole = <[u8; 4]>::try_from(first.data).ok();
        whole.or_else(|| <[u8; 4]>::try_from(&*self.option(code)?).ok())
    }

    /// The reason why the message cannot be decoded to its end.
    fn fault(&self) -> Option<&'static str> {
        match self.missing {
            0 => self.message()?.fault().map(DhcpFault::as_str),
            _ => Some("bytes were not captured"),
        }
    }

    fn number(&self, code: u8) -> Option<Value<'static>> {
        number(u32::from_be_bytes(self.four(code)?))
    }
}

fn four(octets: [u8; 4]) -> Option<Value<'static>> {
    address(Ipv4Addr::from(octets).into())
}

impl Item for DhcpItem {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        self.cache.value(FIELDS, index, &self.captured)
    }
}

#[rustfmt::skip]
static FIELDS: &[ItemField<Say<Captured>>] = &[
    ItemField::new("dhcp.type", Kind::U8, Say::Value(|s| number(s.message()?.operation())),
        "Message type: 1 boot request (of a client), 2 boot reply (of a server)", "RFC 2131, 2"),
    ItemField::new("dhcp.option.dhcp", Kind::U8, Say::Value(|s| number(*s.option(53)?.first()?)),
        "DHCP message type; NULL for BOOTP", "RFC 2132, 9.6"),
    ItemField::new("dhcp.msg_type", Kind::Text, Say::Value(|s| type_word(*s.option(53)?.first()?).map(Value::Text)),
        "Name of the DHCP message type: DISCOVER, OFFER, REQUEST, ACK, NAK, …", "RFC 2132, 9.6"),
    ItemField::new("dhcp.id", Kind::U32, Say::Value(|s| number(s.message()?.id())),
        "Transaction ID", "RFC 2131, 2"),
    ItemField::new("dhcp.hops", Kind::U8, Say::Value(|s| number(s.message()?.hops())),
        "Relay agents on the way", "RFC 2131, 2"),
    ItemField::new("dhcp.secs", Kind::U16, Say::Value(|s| number(s.message()?.seconds()?)),
        "Seconds elapsed since the client began", "RFC 2131, 2"),
    ItemField::new("dhcp.flags", Kind::U16, Say::Value(|s| number(s.message()?.flags()?)),
        "Flags: 32768 asks for broadcast answers", "RFC 2131, 2"),
    ItemField::new("dhcp.hw.type", Kind::U8, Say::Value(|s| number(s.message()?.hardware_type())),
        "Hardware type: 1 Ethernet", "RFC 2131, 2"),
    ItemField::new("dhcp.hw.mac_addr", Kind::Text, Say::Text(|s| {
            let octets = s.message()?.mac()?.map(|octet| format!("{octet:02x}"));
            Some(octets.join(":"))
        }), "Client MAC address", "RFC 2131, 2"),
    ItemField::new("dhcp.ip.client", Kind::Address, Say::Value(|s| four(s.message()?.client()?)),
        "Client IP address", "RFC 2131, 2"),
    ItemField::new("dhcp.ip.your", Kind::Address, Say::Value(|s| four(s.message()?.yours()?)),
        "IP address that the server gives to the client", "RFC 2131, 2"),
    ItemField::new("dhcp.ip.server", Kind::Address, Say::Value(|s| four(s.message()?.server()?)),
        "Next server IP address", "RFC 2131, 2"),
    ItemField::new("dhcp.ip.relay", Kind::Address, Say::Value(|s| four(s.message()?.relay()?)),
        "Relay agent IP address", "RFC 2131, 2"),
    ItemField::new("dhcp.option.hostname", Kind::Text, Say::Text(|s| s.text(12)),
        "Host name of the client", "RFC 2132, 3.14"),
    ItemField::new("dhcp.option.domain_name", Kind::Text, Say::Text(|s| s.text(15)),
        "Domain name of the client", "RFC 2132, 3.17"),
    ItemField::new("dhcp.option.vendor_class_id", Kind::Text, Say::Text(|s| s.text(60)),
        "Vendor class identifier: software of the client", "RFC 2132, 9.13"),
    ItemField::new("dhcp.option.requested_ip_address", Kind::Address, Say::Value(|s| s.address(50)),
        "Requested IP address", "RFC 2132, 9.1"),
    ItemField::new("dhcp.option.ip_address_lease_time", Kind::U32, Say::Value(|s| s.number(51)),
        "IP address lease time in seconds", "RFC 2132, 9.2"),
    ItemField::new("dhcp.option.dhcp_server_id", Kind::Address, Say::Value(|s| s.address(54)),
        "DHCP server identifier", "RFC 2132, 9.7"),
    ItemField::new("dhcp.option.subnet_mask", Kind::Address, Say::Value(|s| s.address(1)),
        "Subnet mask", "RFC 2132, 3.3"),
    ItemField::new("dhcp.option.router", Kind::Texts, Say::List(|s, list| s.addresses(3, list)),
        "Routers", "RFC 2132, 3.5"),
    ItemField::new("dhcp.option.domain_name_server", Kind::Texts, Say::List(|s, list| s.addresses(6, list)),
        "Domain name servers", "RFC 2132, 3.8"),
    ItemField::new("dhcp.option.request_list_item", Kind::Numbers, Say::List(|s, list| list.numbers(&s.option(55).unwrap_or_default())),
        "Options that the client requests", "RFC 2132, 9.8"),
    ItemField::new("dhcp.option.message", Kind::Text, Say::Text(|s| s.text(56)),
        "Error message", "RFC 2132, 9.9"),
    ItemField::new("dhcp.option.type", Kind::Numbers, Say::List(|s, list| {
            s.message().into_iter().flat_map(|message| message.options()).for_each(|option| list.number(option.code));
        }), "Codes of the options", "RFC 2132, 2"),
    ItemField::new("dhcp.file", Kind::Text, Say::Text(|s| Some(weir_messages::printable(&s.message()?.file()?))),
        "Boot file name, empty where none is given; NULL where its field carries options and none of them is a file", "RFC 2131, 2"),
    ItemField::new("dhcp.fault", Kind::Text, Say::Value(|s| s.fault().map(Value::Text)),
        "Why decoding of the message stopped: bytes were not captured, the message ends within its fixed part, the operation is neither 1 nor 2, the hardware address is longer than its field, an option is longer than the rest of the message, or the options have no end", "weir"),
];
