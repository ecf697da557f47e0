//! `diameter`: one row a message of Diameter.

use weir_messages::diameter::{
    Avp, BEGINNING_OCTETS, DiameterMessage, OCTETS_MAX, PORTS, application_word, begins, begun,
    command_word, find, length, may_begin,
};
use weir_packet::{Kind, Needs, Value};

use super::extraction::{Extraction, ItemField, columns};
use super::list::{Cache, List, Say};
use super::messages::{Length, Messages, Protocol, Push, Way, columns_with_way};
use super::requests::{OpenRequest, Requests};
use super::value::{SHORTER_THAN_LENGTH, address, frame, number, seconds};
use crate::row::Item;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "diameter",
    doc: "one row per Diameter message, over TCP or SCTP, on any port",
    columns: || columns_with_way(columns(&[], FIELDS)),
    needs: &[Needs::All],
    start: Messages::<Diameter>::start,
    arguments: super::settings::SECRETS,
    aliases: &[],
};

#[derive(Default)]
struct Diameter(Requests<(u32, u32)>);

fn is_port(ports: [u16; 2]) -> bool {
    ports.iter().any(|port| PORTS.contains(port))
}

impl Protocol for Diameter {
    const NAME: &'static str = "diameter";
    const MESSAGE_BYTES_MAX: usize = OCTETS_MAX;

    fn is_datagram(bytes: &[u8], ports: [u16; 2]) -> bool {
        match is_port(ports) {
            true => DiameterMessage::new(bytes).is_some(),
            false => begins(bytes),
        }
    }

    const READS_SEGMENTS: bool = true;

    fn of_user_message(bytes: &[u8]) -> (&[u8], &[u8]) {
        let Some(Ok(total)) = length(bytes) else {
            return (bytes, &[]);
        };
        match bytes.split_at_checked(total) {
            Some((message, behind)) if begins(behind) => (message, behind),
            _ => (bytes, &[]),
        }
    }

    fn begins(bytes: &[u8], ports: [u16; 2]) -> bool {
        let is_known = is_port(ports) && !matches!(length(bytes), Some(Err(())));
        is_known || begins(bytes)
    }

    fn may_begin(bytes: &[u8]) -> bool {
        may_begin(bytes)
    }

    fn is_expected(ports: [u16; 2]) -> bool {
        is_port(ports)
    }

    fn length(bytes: &[u8]) -> Length {
        match length(bytes) {
            None => Length::Wait,
            Some(Err(())) => Length::Broken,
            Some(Ok(total)) => Length::Message { skip: 0, total },
        }
    }

    const FINDS_ANYWHERE: bool = true;
    const FIND_OCTETS: usize = BEGINNING_OCTETS;

    fn find(bytes: &[u8]) -> Option<usize> {
        find(bytes)
    }

    fn begun(bytes: &[u8]) -> usize {
        begun(bytes)
    }

    fn message(&mut self, bytes: &[u8], way: &Way, push: &mut Push<'_>) -> bool {
        let Some(message) = DiameterMessage::new(bytes).filter(|_| way.transport != "udp") else {
            return false;
        };
        let id = (message.hop_by_hop(), message.command());
        let request = match message.is_request() {
            true => {
                self.0.add(way, id);
                None
            }
            false => self.0.answer(way, id),
        };
        let captured = CapturedDiameter {
            bytes: bytes.to_vec(),
            is_captured: way.missing == 0,
            time_ns: request.and_then(|request| request.until(way)),
            request,
        };
        let cache = Cache::new(FIELDS.len());
        push(way, &DiameterItem { captured, cache });
        true
    }

    fn counted(&self) -> Vec<(u64, &'static str)> {
        self.0.counted()
    }
}

struct DiameterItem {
    captured: CapturedDiameter,
    cache: Cache,
}

impl Item for DiameterItem {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        self.cache.value(FIELDS, index, &self.captured)
    }
}

/// A message as it was captured, of which a row is made when its columns are read.
struct CapturedDiameter {
    bytes: Vec<u8>,
    /// Whether all octets of what carries it were captured.
    is_captured: bool,
    request: Option<OpenRequest>,
    time_ns: Option<i64>,
}

/// The vendor of the codes of 3GPP.
const TGPP: u32 = 10_415;

impl CapturedDiameter {
    fn message(&self) -> Option<DiameterMessage<'_>> {
        DiameterMessage::new(&self.bytes)
    }

    fn fault(&self) -> Option<&'static str> {
        let message = self.message()?;
        let length = usize::try_from(message.length()).unwrap_or(usize::MAX);
        if self.is_captured && self.bytes.len() < length {
            return Some(SHORTER_THAN_LENGTH);
        }
        // What stands behind a message in one of SCTP begins no other one.
        let is_longer = self.bytes.len() > length;
        message
            .fault()
            .or_else(|| is_longer.then_some("octets behind the message begin no other one"))
    }

    fn flag(&self, bit: u8) -> Option<Value<'static>> {
        Some(Value::Bool(self.message()?.flags() & bit != 0))
    }

    fn avp(&self, vendor: u32, code: u32) -> Option<Avp<'_>> {
        self.message()?.avp(vendor, code)
    }

    fn text(&self, vendor: u32, code: u32) -> Option<String> {
        self.avp(vendor, code).map(|avp| avp.text())
    }

    fn octets(&self, vendor: u32, code: u32) -> Option<Value<'_>> {
        Some(Value::Bytes(self.avp(vendor, code)?.data))
    }

    fn unsigned(&self, vendor: u32, code: u32) -> Option<Value<'static>> {
        number(u64::try_from(self.avp(vendor, code)?.number()?).ok()?)
    }

    fn integer(&self, code: u32) -> Option<Value<'static>> {
        let number = self.avp(0, code)?.number()?;
        Some(Value::Signed(number.try_into().ok()?))
    }

    fn integer_of_3gpp(&self, code: u32) -> Option<Value<'static>> {
        let number = self.avp(TGPP, code)?.number()?;
        Some(Value::Signed(number.try_into().ok()?))
    }

    /// Adds the values of all AVPs of a code of the base protocol.
    fn all(&self, code: u32, list: &mut List) {
        let all = self.message().into_iter().flat_map(|it| it.all(0, code));
        all.for_each(|avp| list.text(avp.text()));
    }

    fn each(&self, mut each: impl FnMut(Avp<'_>)) {
        if let Some(message) = self.message() {
            message.avps().for_each(&mut each);
        }
    }
}

#[rustfmt::skip]
static FIELDS: &[ItemField<Say<CapturedDiameter>>] = &[
    ItemField::new("diameter.version", Kind::U8, Say::Value(|s| number(s.message()?.version())),
        "Version: 1", "RFC 6733, 3"),
    ItemField::new("diameter.length", Kind::U32, Say::Value(|s| number(s.message()?.length())),
        "Length of the message in octets", "RFC 6733, 3"),
    ItemField::new("diameter.flags", Kind::U8, Say::Value(|s| number(s.message()?.flags())),
        "All flags", "RFC 6733, 3"),
    ItemField::new("diameter.flags.request", Kind::Bool, Say::Value(|s| s.flag(0x80)),
        "The message is a request", "RFC 6733, 3"),
    ItemField::new("diameter.flags.proxyable", Kind::Bool, Say::Value(|s| s.flag(0x40)),
        "The message may be proxied, relayed or redirected", "RFC 6733, 3"),
    ItemField::new("diameter.flags.error", Kind::Bool, Say::Value(|s| s.flag(0x20)),
        "The message reports a protocol error", "RFC 6733, 3"),
    ItemField::new("diameter.flags.t", Kind::Bool, Say::Value(|s| s.flag(0x10)),
        "The message may be a retransmission", "RFC 6733, 3"),
    ItemField::new("diameter.cmd.code", Kind::U32, Say::Value(|s| number(s.message()?.command())),
        "Command code: 257 capabilities exchange, 272 credit control, 280 device watchdog, 316 update location, …", "RFC 6733, 3.1"),
    ItemField::new("diameter.cmd.name", Kind::Text, Say::Value(|s| command_word(s.message()?.command()).map(Value::Text)),
        "Name of the command without Request or Answer: Capabilities-Exchange, Credit-Control, …", "RFC 6733, 3.1; 3GPP TS 29.230, 7"),
    ItemField::new("diameter.applicationid", Kind::U32, Say::Value(|s| number(s.message()?.application())),
        "Application identifier: 0 base protocol, 4 credit control, 16777216 Cx, 16777238 Gx, 16777251 S6a, …", "RFC 6733, 2.4"),
    ItemField::new("diameter.application", Kind::Text, Say::Value(|s| application_word(s.message()?.application()).map(Value::Text)),
        "Name of the application: 3GPP Cx, 3GPP Gx, 3GPP S6a, …", "RFC 6733, 2.4; 3GPP TS 29.230, 5"),
    ItemField::new("diameter.hopbyhopid", Kind::U32, Say::Value(|s| number(s.message()?.hop_by_hop())),
        "Hop-by-hop identifier, the same in request and answer between two peers", "RFC 6733, 3"),
    ItemField::new("diameter.endtoendid", Kind::U32, Say::Value(|s| number(s.message()?.end_to_end())),
        "End-to-end identifier, the same in request and answer from end to end", "RFC 6733, 3"),
    ItemField::new("diameter.resp_time", Kind::F64, Say::Value(|s| seconds(s.time_ns?)),
        "Seconds from the request to this answer", "weir"),
    ItemField::new("diameter.answer_to", Kind::U64, Say::Value(|s| frame(s.request?.frame)),
        "Number of the record with the request that this answers", "weir"),
    ItemField::new("diameter.avp.code", Kind::Numbers, Say::List(|s, list| s.each(|avp| list.number(avp.code))),
        "Codes of all AVPs; the members of a grouped AVP follow it", "RFC 6733, 4.1"),
    ItemField::new("diameter.avp.vendorid", Kind::Numbers, Say::List(|s, list| s.each(|avp| if let Some(vendor) = avp.vendor { list.number(vendor); })),
        "Vendor identifiers of the AVPs that have one: 10415 is 3GPP", "RFC 6733, 4.1"),
    ItemField::new("diameter.avp.name", Kind::Texts, Say::List(|s, list| s.each(|avp| match avp.name() {
            Some(name) => list.text(name),
            None => list.text(format_args!("{}/{}", avp.vendor.unwrap_or(0), avp.code)),
        })), "Names of all AVPs, in the same order: those of the base protocol and 3GPP; vendor/code for others", "RFC 6733, 4.5; 3GPP TS 29.230, 6"),
    ItemField::new("diameter.avp.value", Kind::Texts, Say::List(|s, list| s.each(|avp| list.text(avp.text()))),
        "Values of all AVPs, each as a text: nothing for a grouped AVP, unprintable octets in hexadecimal digits, times in seconds since 1970", "RFC 6733, 4.1"),
    ItemField::new("diameter.session_id", Kind::Text, Say::Text(|s| s.text(0, 263)),
        "Session ID", "RFC 6733, 8.8"),
    ItemField::new("diameter.origin_host", Kind::Text, Say::Text(|s| s.text(0, 264)),
        "Host that sent the message", "RFC 6733, 6.3"),
    ItemField::new("diameter.origin_realm", Kind::Text, Say::Text(|s| s.text(0, 296)),
        "Realm of the sender", "RFC 6733, 6.4"),
    ItemField::new("diameter.destination_host", Kind::Text, Say::Text(|s| s.text(0, 293)),
        "Host that the message is for", "RFC 6733, 6.5"),
    ItemField::new("diameter.destination_realm", Kind::Text, Say::Text(|s| s.text(0, 283)),
        "Realm that the message is for", "RFC 6733, 6.6"),
    ItemField::new("diameter.result_code", Kind::I64, Say::Value(|s| s.integer(268)),
        "Result code: 2001 success, 3xxx protocol errors, 4xxx transient failures, 5xxx permanent failures", "RFC 6733, 7.1"),
    ItemField::new("diameter.experimental_result_code", Kind::I64, Say::Value(|s| s.integer(298)),
        "Result code of an application: 5001 user unknown, …", "RFC 6733, 7.7"),
    ItemField::new("diameter.error_message", Kind::Text, Say::Text(|s| s.text(0, 281)),
        "Error message, for people to read", "RFC 6733, 7.3"),
    ItemField::new("diameter.error_reporting_host", Kind::Text, Say::Text(|s| s.text(0, 294)),
        "Host that set the result code, where that is not the origin host", "RFC 6733, 7.4"),
    ItemField::new("diameter.user_name", Kind::Text, Say::Text(|s| s.text(0, 1)),
        "User name; in S6a the IMSI", "RFC 6733, 8.14"),
    ItemField::new("diameter.auth_application_id", Kind::U32, Say::Value(|s| s.unsigned(0, 258)),
        "First authorization application identifier", "RFC 6733, 6.8"),
    ItemField::new("diameter.acct_application_id", Kind::U32, Say::Value(|s| s.unsigned(0, 259)),
        "First accounting application identifier", "RFC 6733, 6.9"),
    ItemField::new("diameter.vendor_id", Kind::U32, Say::Value(|s| s.unsigned(0, 266)),
        "First vendor identifier", "RFC 6733, 5.3.3"),
    ItemField::new("diameter.product_name", Kind::Text, Say::Text(|s| s.text(0, 269)),
        "Product name of the peer", "RFC 6733, 5.3.7"),
    ItemField::new("diameter.host_ip_address", Kind::Texts, Say::List(|s, list| s.all(257, list)),
        "Addresses of the peer", "RFC 6733, 5.3.5"),
    ItemField::new("diameter.origin_state_id", Kind::U32, Say::Value(|s| s.unsigned(0, 278)),
        "Number that increases when the sender loses its state", "RFC 6733, 8.16"),
    ItemField::new("diameter.route_record", Kind::Texts, Say::List(|s, list| s.all(282, list)),
        "Peers that the request came through", "RFC 6733, 6.7.1"),
    ItemField::new("diameter.auth_session_state", Kind::I64, Say::Value(|s| s.integer(277)),
        "Session state: 0 maintained, 1 not maintained", "RFC 6733, 8.11"),
    ItemField::new("diameter.termination_cause", Kind::I64, Say::Value(|s| s.integer(295)),
        "Why a session ended: 1 logout, …", "RFC 6733, 8.15"),
    ItemField::new("diameter.disconnect_cause", Kind::I64, Say::Value(|s| s.integer(273)),
        "Why a peer disconnects: 0 rebooting, 1 busy, 2 does not want to talk", "RFC 6733, 5.4.3"),
    ItemField::new("diameter.event_timestamp", Kind::Time, Say::Value(|s| s.avp(0, 55)?.time()?.checked_mul(1_000_000_000).map(Value::Time)),
        "Time of the event, by the sender's clock", "RFC 6733, 8.21"),
    ItemField::new("diameter.accounting_record_type", Kind::I64, Say::Value(|s| s.integer(480)),
        "Accounting record type: 1 event, 2 start, 3 interim, 4 stop", "RFC 6733, 9.8.1"),
    ItemField::new("diameter.accounting_record_number", Kind::U32, Say::Value(|s| s.unsigned(0, 485)),
        "Number of the record within its session", "RFC 6733, 9.8.3"),
    ItemField::new("diameter.cc_request_type", Kind::I64, Say::Value(|s| s.integer(416)),
        "Credit control request type: 1 initial, 2 update, 3 termination, 4 event", "RFC 8506, 8.3"),
    ItemField::new("diameter.cc_request_number", Kind::U32, Say::Value(|s| s.unsigned(0, 415)),
        "Number of the request within its session", "RFC 8506, 8.2"),
    ItemField::new("diameter.cc_total_octets", Kind::U64, Say::Value(|s| s.unsigned(0, 421)),
        "Octets granted or used, of the first service that has them", "RFC 8506, 8.23"),
    ItemField::new("diameter.rating_group", Kind::U32, Say::Value(|s| s.unsigned(0, 432)),
        "First rating group", "RFC 8506, 8.29"),
    ItemField::new("diameter.service_context_id", Kind::Text, Say::Text(|s| s.text(0, 461)),
        "Service context: what is charged", "RFC 8506, 8.42"),
    ItemField::new("diameter.subscription_id_type", Kind::Numbers, Say::List(|s, list| s.each(|avp| if (avp.vendor, avp.code) == (None, 450) && let Some(kind) = avp.number().and_then(|it| u32::try_from(it).ok()) { list.number(kind); })),
        "Types of the subscription identifiers: 0 telephone number, 1 IMSI, 2 SIP", "RFC 8506, 8.47"),
    ItemField::new("diameter.subscription_id_data", Kind::Texts, Say::List(|s, list| s.all(444, list)),
        "Subscription identifiers", "RFC 8506, 8.48"),
    ItemField::new("diameter.called_station_id", Kind::Text, Say::Text(|s| s.text(0, 30)),
        "Access point name (APN) that the user asks for", "RFC 7155, 4.2.5; 3GPP TS 29.061, 16a.4"),
    ItemField::new("diameter.framed_ip_address", Kind::Address, Say::Value(|s| address(s.avp(0, 8)?.address()?)),
        "Address of the user", "RFC 7155, 4.4.10.5.1"),
    ItemField::new("diameter.service_selection", Kind::Text, Say::Text(|s| s.text(0, 493)),
        "Access point name (APN)", "RFC 5778, 6.2"),
    ItemField::new("diameter.3gpp_imsi", Kind::Text, Say::Text(|s| s.text(TGPP, 1)),
        "IMSI", "3GPP TS 29.061, 16.4.7"),
    ItemField::new("diameter.3gpp_user_location_info", Kind::Bytes, Say::Value(|s| s.octets(TGPP, 22)),
        "User location information", "3GPP TS 29.061, 16.4.7"),
    ItemField::new("diameter.public_identity", Kind::Text, Say::Text(|s| s.text(TGPP, 601)),
        "Public identity: a SIP URI or a telephone number", "3GPP TS 29.229, 6.3.2"),
    ItemField::new("diameter.server_name", Kind::Text, Say::Text(|s| s.text(TGPP, 602)),
        "Name of the serving IMS server (S-CSCF)", "3GPP TS 29.229, 6.3.3"),
    ItemField::new("diameter.msisdn", Kind::Bytes, Say::Value(|s| s.octets(TGPP, 701)),
        "MSISDN: digits, the low half of each octet first", "3GPP TS 29.329, 6.3.2"),
    ItemField::new("diameter.visited_plmn_id", Kind::Bytes, Say::Value(|s| s.octets(TGPP, 1_407)),
        "Visited network (PLMN)", "3GPP TS 29.272, 7.3.9"),
    ItemField::new("diameter.rat_type", Kind::I64, Say::Value(|s| s.integer_of_3gpp(1_032)),
        "Radio access technology: 1000 UTRAN, 1001 GERAN, 1004 EUTRAN, …", "3GPP TS 29.212, 5.3.31"),
    ItemField::new("diameter.charging_rule_name", Kind::Texts, Say::List(|s, list| s.each(|avp| if (avp.vendor, avp.code) == (Some(TGPP), 1_005) { list.text(avp.text()); })),
        "Policy and charging rules that are installed, removed or reported", "3GPP TS 29.212, 5.3.6"),
    ItemField::new("diameter.qos_class_identifier", Kind::I64, Say::Value(|s| s.integer_of_3gpp(1_028)),
        "First QoS class identifier (QCI)", "3GPP TS 29.212, 5.3.17"),
    ItemField::new("diameter.fault", Kind::Text, Say::Value(|s| s.fault().map(Value::Text)),
        "Why pairs could not be read: they end behind the message or their group, are in groups nested more than 12 deep, are numbers or addresses of another length, were not captured, the message is shorter than its length, or octets behind it in a message of SCTP begin no other one", "weir"),
];
