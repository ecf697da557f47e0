//! `dns` and `lookups`: one row a DNS message, and one row a question with its answer.

use std::cell::{Cell, OnceCell};

use weir_messages::dns::{
    Ask, BEGINNING_OCTETS, Data, Dialect, DnsFault, DnsMessage, LINK_LOCAL_PORT, MULTICAST_PORT,
    PORT, Question, Questions, Record, Section, find_in_stream, is_understood, looks_like_dns,
    may_look_like_dns, opcode_word, rcode_word, type_word,
};
use weir_packet::{Address, Kind, Needs, Value};

use super::extraction::{Extraction, ItemField, columns};
use super::list::List;
use super::messages::{Length, Messages, Protocol, Push, Way, columns_with_way, concat_columns};
use super::value::{frame, number, seconds, span_ns};
use crate::row::Item;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "dns",
    doc: "one row per DNS message, over UDP or TCP, also mDNS and LLMNR, on any port",
    columns: || columns_with_way(concat_columns(columns(&[], FIELDS), columns(&[], LISTS))),
    needs: &[Needs::All],
    start: Messages::<Dns>::start,
    arguments: super::settings::SECRETS,
    aliases: &[],
};

#[derive(Default)]
struct Dns {
    questions: Questions,
    lists: Lists,
}

/// The port of the NetBIOS name service (RFC 1002).
const NETBIOS_PORT: u16 = 137;

/// Returns true for ports of the protocol, whatever the contents are.
fn is_port(ports: [u16; 2]) -> bool {
    let known = [PORT, MULTICAST_PORT, LINK_LOCAL_PORT];
    ports.iter().any(|port| known.contains(port))
}

/// Returns whether a datagram is a message. Messages of the NetBIOS name service look alike and are excluded.
fn is_datagram(bytes: &[u8], ports: [u16; 2]) -> bool {
    if ports.contains(&NETBIOS_PORT) && !ports.contains(&PORT) {
        return false;
    }
    match is_port(ports) {
        true => DnsMessage::new(bytes, Dialect::Unicast).is_some(),
        false => looks_like_dns(bytes),
    }
}

/// Returns whether a datagram between ports of the protocol is the beginning of a header.
fn begins_on_port(bytes: &[u8], ports: [u16; 2]) -> bool {
    is_port(ports) && DnsMessage::begun(bytes, Dialect::Unicast).is_some()
}

/// Returns whether the first bytes of a stream are a length and a message (RFC 1035, 4.2.2).
fn begins(bytes: &[u8], ports: [u16; 2]) -> bool {
    let is_message = || match length(bytes) {
        Length::Message { skip, total } => bytes.get(skip..total).is_some_and(looks_like_dns),
        _ => false,
    };
    is_port(ports) || is_message()
}

/// Returns whether further bytes of a stream may complete a message.
fn may_begin(bytes: &[u8]) -> bool {
    match length(bytes) {
        Length::Message { skip, total } => {
            let begun = bytes.get(skip..).unwrap_or_default();
            bytes.len() < total && total >= SHORTEST_OCTETS && may_look_like_dns(begun)
        }
        _ => !bytes.is_empty(),
    }
}

/// The number of octets of the shortest question, with its length before it.
const SHORTEST_OCTETS: usize = 2 + 12 + 5;

/// The length of the first message of a stream.
fn length(bytes: &[u8]) -> Length {
    match bytes {
        [high, low, ..] => Length::Message {
            skip: 2,
            total: 2 + usize::from(u16::from_be_bytes([*high, *low])),
        },
        _ => Length::Wait,
    }
}

/// The first message of a segment without the length before it, which not all probes send on (RFC 1035, 4.2.2), and the
/// octets behind it.
fn without_length(bytes: &[u8]) -> (&[u8], &[u8]) {
    let Length::Message { skip, total } = length(bytes) else {
        return (bytes, &[]);
    };
    let Some((first, behind)) = bytes.split_at_checked(total) else {
        return (bytes, &[]);
    };
    let message = first.get(skip..).unwrap_or_default();
    // The first octets of a message without a length may be taken for one.
    match behind.is_empty() || looks_like_dns(message) && !looks_like_dns(bytes) {
        true => (message, behind),
        false => (bytes, &[]),
    }
}

/// Reads the message of a payload.
pub(super) fn read<'m>(
    bytes: &'m [u8],
    way: &Way,
) -> Option<(DnsMessage<'m>, weir_messages::dns::Way)> {
    let message = DnsMessage::new(bytes, Dialect::of_ports(way.ports()))?;
    Some((message, seen(way)))
}

/// Reads the beginning of a message whose header is not all there. Of a stream, and of segments of one, it may be anything.
fn read_beginning<'m>(
    bytes: &'m [u8],
    way: &Way,
) -> Option<(DnsMessage<'m>, weir_messages::dns::Way)> {
    let is_begun = way.transport == "udp" && begins_on_port(bytes, way.ports());
    let message = DnsMessage::begun(bytes, Dialect::of_ports(way.ports()))?;
    is_begun.then(|| (message, seen(way)))
}

/// The flow and the time of a message.
fn seen(way: &Way) -> weir_messages::dns::Way {
    weir_messages::dns::Way {
        flow: way.conversation(),
        time_ns: way.time_ns,
        passed_ns: way.passed_ns,
        frame: way.frame,
        identification: way.identification,
    }
}

/// Returns true for a response that has a question: those of multicast DNS are often sent without (RFC 6762, 6), and
/// those of LLMNR take another path (RFC 4795, 2.4).
pub(super) fn may_be_early(message: &DnsMessage<'_>) -> bool {
    message.is_response() && message.dialect() == Dialect::Unicast
}

/// A table of the messages of DNS.
pub(super) trait DnsTable: Default + Send + 'static {
    /// The table's name.
    const NAME: &'static str;
    /// Whether datagrams that end within the header have rows, too.
    const READS_BEGINNINGS: bool = false;

    /// Makes rows of a message, as [`Protocol::message_or_wait`] does when an answer may wait (`waits`) for an unknown
    /// question.
    fn take(&mut self, bytes: &[u8], way: &Way, waits: bool, push: &mut Push<'_>) -> Option<bool>;

    /// Ends the capture: pushes a row for an open entry; returns false when there is none.
    fn finish(&mut self, _push: &mut Push<'_>) -> bool {
        false
    }

    /// The items that were given up for limits.
    fn counted(&self) -> Vec<(u64, &'static str)>;
}

impl<T: DnsTable> Protocol for T {
    const NAME: &'static str = <T as DnsTable>::NAME;

    fn is_datagram(bytes: &[u8], ports: [u16; 2]) -> bool {
        is_datagram(bytes, ports) || T::READS_BEGINNINGS && begins_on_port(bytes, ports)
    }

    fn of_segment(bytes: &[u8]) -> (&[u8], &[u8]) {
        without_length(bytes)
    }

    fn begins(bytes: &[u8], ports: [u16; 2]) -> bool {
        begins(bytes, ports)
    }

    fn may_begin(bytes: &[u8]) -> bool {
        may_begin(bytes)
    }

    fn length(bytes: &[u8]) -> Length {
        length(bytes)
    }

    const FIND_OCTETS: usize = BEGINNING_OCTETS;

    fn find(bytes: &[u8]) -> Option<usize> {
        find_in_stream(bytes)
    }

    fn is_likely(bytes: &[u8]) -> bool {
        is_understood(bytes)
    }

    const REPORTS_CUT: bool = true;

    fn may_be_cut(_bytes: &[u8], ports: [u16; 2]) -> bool {
        is_port(ports)
    }

    fn message(&mut self, bytes: &[u8], way: &Way, push: &mut Push<'_>) -> bool {
        self.take(bytes, way, false, push).unwrap_or_default()
    }

    fn message_or_wait(&mut self, bytes: &[u8], way: &Way, push: &mut Push<'_>) -> Option<bool> {
        self.take(bytes, way, true, push)
    }

    fn finish(&mut self, push: &mut Push<'_>) -> bool {
        DnsTable::finish(self, push)
    }

    fn counted(&self) -> Vec<(u64, &'static str)> {
        DnsTable::counted(self)
    }
}

impl DnsTable for Dns {
    const NAME: &'static str = "dns";
    const READS_BEGINNINGS: bool = true;

    fn take(&mut self, bytes: &[u8], way: &Way, _waits: bool, push: &mut Push<'_>) -> Option<bool> {
        let found = read(bytes, way).or_else(|| read_beginning(bytes, way));
        let Some((message, seen)) = found else {
            return Some(false);
        };
        self.lists.clear();
        let item = DnsItem {
            message,
            ask: self.questions.take(&message, seen),
            time_ns: way.time_ns,
            is_cut: way.missing > 0,
            question: OnceCell::new(),
            name: OnceCell::new(),
            lists: &self.lists,
        };
        push(way, &item);
        Some(true)
    }

    fn counted(&self) -> Vec<(u64, &'static str)> {
        vec![(
            self.questions.forgotten(),
            "questions were forgotten because more than 65,536 waited, so that dns.time may be missing",
        )]
    }
}

/// The parts of a message from which columns are read.
struct DnsItem<'m> {
    message: DnsMessage<'m>,
    ask: Ask,
    time_ns: Option<i64>,
    /// Whether octets of the message were not captured.
    is_cut: bool,
    question: OnceCell<Option<Question<'m>>>,
    name: OnceCell<String>,
    lists: &'m Lists,
}

/// The values of [`LISTS`] of a message, which are computed when a column needs them. The cells are kept from message to message:
/// to make and drop so many takes longer than to read a message.
struct Lists {
    cells: [OnceCell<List>; LISTS_MAX],
    /// One bit for each cell that has a value.
    used: Cell<u64>,
}

impl Default for Lists {
    fn default() -> Self {
        Self {
            cells: [const { OnceCell::new() }; LISTS_MAX],
            used: Cell::new(0),
        }
    }
}

impl Lists {
    /// Forgets the values of a message.
    fn clear(&mut self) {
        let mut used = self.used.take();
        while used != 0 {
            if let Some(cell) = self.cells.get_mut(used.trailing_zeros() as usize) {
                *cell = OnceCell::new();
            }
            used &= used - 1;
        }
    }
}

/// The number of columns of lists, at most.
const LISTS_MAX: usize = 51;

impl<'m> DnsItem<'m> {
    fn question(&self) -> Option<Question<'m>> {
        *self
            .question
            .get_or_init(|| self.message.questions().next())
    }

    /// Returns the reason why the message could not be decoded to its end.
    fn fault(&self) -> Option<&'static str> {
        match self.is_cut {
            true => Some("bytes were not captured"),
            false => self.message.fault().map(DnsFault::as_str),
        }
    }

    /// A list; NULL when nothing is in it.
    fn list(&self, index: usize) -> Option<Value<'_>> {
        let field = LISTS.get(index)?;
        let lists = self.lists;
        let list = lists.cells.get(index)?.get_or_init(|| {
            lists.used.set(lists.used.get() | 1_u64 << index);
            let mut list = List::of(field.kind);
            match field.get {
                Collect::Questions(collect) => {
                    for question in self.message.questions() {
                        collect(&question, &mut list);
                    }
                }
                Collect::Records(collect) => {
                    for record in self.message.records() {
                        collect(&record, &mut list);
                    }
                }
            }
            list
        });
        list.value()
    }

    fn flag(&self, bit: u16) -> Option<Value<'static>> {
        Some(Value::Bool(self.message.flags() & bit != 0))
    }

    /// A flag that messages of DNS and of multicast DNS have.
    fn flag_of_dns(&self, bit: u16) -> Option<Value<'static>> {
        self.flag(bit)
            .filter(|_| self.message.dialect() != Dialect::LinkLocal)
    }

    /// A flag of DNS responses: in queries the bit has no meaning.
    fn flag_of_responses(&self, bit: u16) -> Option<Value<'static>> {
        self.flag_of_dns(bit).filter(|_| self.message.is_response())
    }

    /// A flag that link-local name resolution has in the place of one of DNS (RFC 4795, 2.1.1).
    fn flag_of_link_local(&self, bit: u16) -> Option<Value<'static>> {
        self.flag(bit)
            .filter(|_| self.message.dialect() == Dialect::LinkLocal)
    }

    /// The flag AD: in queries it means that the flag is understood (RFC 6840, 5.7), and is there only where it is set.
    fn authenticated(&self) -> Option<Value<'static>> {
        self.flag_of_dns(0x0020)
            .filter(|flag| self.message.is_response() || *flag == Value::Bool(true))
    }

    /// The number of entries of a section of messages that are no updates.
    fn count(&self, section: Section) -> Option<Value<'static>> {
        self.count_of_all(section)
            .filter(|_| !self.message.is_update())
    }

    /// The number of entries of a section of updates.
    fn count_of_update(&self, section: Section) -> Option<Value<'static>> {
        self.count_of_all(section)
            .filter(|_| self.message.is_update())
    }

    /// The number of entries of a section; NULL where the header ends in front of it.
    fn count_of_all(&self, section: Section) -> Option<Value<'static>> {
        number(self.message.count(section)).filter(|_| self.message.has_count(section))
    }
}

impl Item for DnsItem<'_> {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        match index.checked_sub(FIELDS.len()) {
            Some(list) => self.list(list),
            None => (FIELDS.get(index)?.get)(self),
        }
    }
}

type DnsGetter = for<'i> fn(&'i DnsItem<'_>) -> Option<Value<'i>>;

#[rustfmt::skip]
static FIELDS: &[ItemField<DnsGetter>] = &[
    ItemField::new("dns.id", Kind::U16, |d| number(d.message.id()),
        "Transaction ID, which the response repeats", "RFC 1035, 4.1.1"),
    ItemField::new("dns.length", Kind::U32, |d| number(d.message.bytes().len() as u64),
        "Length of the message in octets", "RFC 1035, 4.2"),
    ItemField::new("dns.flags", Kind::U16, |d| number(d.message.flags()),
        "All flags, with opcode and response code", "RFC 1035, 4.1.1"),
    ItemField::new("dns.flags.response", Kind::Bool, |d| d.flag(0x8000),
        "The message is a response", "RFC 1035, 4.1.1"),
    ItemField::new("dns.flags.opcode", Kind::U8, |d| number(d.message.opcode()),
        "Opcode: 0 query, 4 notify, 5 update", "RFC 1035, 4.1.1"),
    ItemField::new("dns.opcode_name", Kind::Text, |d| opcode_word(d.message.opcode()).map(Value::Text),
        "Name of the opcode: query, notify, update, …", "RFC 1035, 4.1.1"),
    ItemField::new("dns.flags.authoritative", Kind::Bool, |d| d.flag_of_responses(0x0400),
        "Authoritative answer; NULL in questions", "RFC 1035, 4.1.1"),
    ItemField::new("dns.flags.conflict", Kind::Bool, |d| d.flag_of_link_local(0x0400),
        "LLMNR: several hosts claim the name", "RFC 4795, 2.1.1"),
    ItemField::new("dns.flags.truncated", Kind::Bool, |d| d.flag(0x0200),
        "The message was truncated", "RFC 1035, 4.1.1"),
    ItemField::new("dns.flags.recdesired", Kind::Bool, |d| d.flag_of_dns(0x0100),
        "Recursion is desired; NULL in LLMNR, which has none of the flags below", "RFC 1035, 4.1.1"),
    ItemField::new("dns.flags.tentative", Kind::Bool, |d| d.flag_of_link_local(0x0100),
        "LLMNR: the responder has not verified yet that the name is its own", "RFC 4795, 2.1.1"),
    ItemField::new("dns.flags.recavail", Kind::Bool, |d| d.flag_of_responses(0x0080),
        "Recursion is available; NULL in questions", "RFC 1035, 4.1.1"),
    ItemField::new("dns.flags.z", Kind::Bool, |d| d.flag_of_dns(0x0040),
        "Reserved bit", "RFC 1035, 4.1.1"),
    ItemField::new("dns.flags.authenticated", Kind::Bool, |d| d.authenticated(),
        "The server authenticated the answer (AD); in questions true where the sender understands the flag, else NULL",
        "RFC 4035, 3.2.3; RFC 6840, 5.7"),
    ItemField::new("dns.flags.checkdisable", Kind::Bool, |d| d.flag_of_dns(0x0010),
        "Checking disabled (CD): answers that fail validation are accepted", "RFC 4035, 3.2.2"),
    ItemField::new("dns.flags.rcode", Kind::U8, |d| number(d.message.rcode()).filter(|_| d.message.is_response()),
        "Response code; NULL in questions", "RFC 1035, 4.1.1"),
    ItemField::new("dns.rcode_name", Kind::Text, |d| rcode_word(d.message.rcode().into()).map(Value::Text).filter(|_| d.message.is_response()),
        "Name of the response code: NOERROR, NXDOMAIN, …; NULL in questions", "RFC 1035, 4.1.1; RFC 6895, 2.3"),
    ItemField::new("dns.count.queries", Kind::U16, |d| d.count(Section::Question),
        "Questions, as the header says; NULL in updates, like dns.count.answers and dns.count.auth_rr", "RFC 1035, 4.1.1"),
    ItemField::new("dns.count.zones", Kind::U16, |d| d.count_of_update(Section::Question),
        "Updates: zones, as the header says", "RFC 2136, 2.2"),
    ItemField::new("dns.count.answers", Kind::U16, |d| d.count(Section::Answer),
        "Records of the answer section, as the header says", "RFC 1035, 4.1.1"),
    ItemField::new("dns.count.prerequisites", Kind::U16, |d| d.count_of_update(Section::Answer),
        "Updates: prerequisites, as the header says", "RFC 2136, 2.2"),
    ItemField::new("dns.count.auth_rr", Kind::U16, |d| d.count(Section::Authority),
        "Records of the authority section, as the header says", "RFC 1035, 4.1.1"),
    ItemField::new("dns.count.updates", Kind::U16, |d| d.count_of_update(Section::Authority),
        "Updates: records to add or to delete, as the header says", "RFC 2136, 2.2"),
    ItemField::new("dns.count.add_rr", Kind::U16, |d| d.count_of_all(Section::Additional),
        "Records of the additional section, as the header says", "RFC 1035, 4.1.1"),
    ItemField::new("dns.qry.name", Kind::Text, |d| {
            let question = d.question()?;
            Some(Value::Text(d.name.get_or_init(|| question.name.text())))
        }, "Name of the first question", "RFC 1035, 4.1.2"),
    ItemField::new("dns.qry.name.len", Kind::U16, |d| {
            let name = d.question()?.name;
            number(match name.text_octets() {
                0 => d.name.get_or_init(|| name.text()).len(),
                octets => octets,
            } as u64)
        }, "Length of that name in octets, with a dot between labels; 6 for `<Root>`", "RFC 1035, 4.1.2"),
    ItemField::new("dns.count.labels", Kind::U16, |d| number(d.question()?.name.label_count().max(1)),
        "Labels of that name; 1 for the root", "RFC 1035, 4.1.2"),
    ItemField::new("dns.qry.type", Kind::U16, |d| number(d.question()?.kind),
        "Type of the first question", "RFC 1035, 3.2.2"),
    ItemField::new("dns.qry.type_name", Kind::Text, |d| type_word(d.question()?.kind).map(Value::Text),
        "Name of that type: A, AAAA, …", "RFC 1035, 3.2.2"),
    ItemField::new("dns.qry.class", Kind::U16, |d| number(d.question()?.class),
        "Class of the first question", "RFC 1035, 3.2.4"),
    ItemField::new("dns.qry.qu", Kind::Bool, |d| Some(Value::Bool(d.question().filter(|_| d.message.dialect() == Dialect::Multicast)?.wants_unicast)),
        "mDNS: the first question asks for a unicast response", "RFC 6762, 18.12"),
    ItemField::new("dns.null", Kind::Bytes, |d| {
            let mut records = d.message.records();
            records.find_map(|record| match record.data() {
                Data::Null(octets) => Some(Value::Bytes(octets)),
                _ => None,
            })
        }, "Data of the first NULL record, which some tunnels use", "RFC 1035, 3.3.10"),
    ItemField::new("dns.time", Kind::F64, |d| {
            let question = d.ask.question.filter(|_| !d.ask.is_repeat)?;
            seconds(span_ns(question.time_ns, d.time_ns)?)
        }, "Seconds from the question to this response; NULL when an earlier response answered it", "weir"),
    ItemField::new("dns.response_to", Kind::U64, |d| frame(d.ask.question.filter(|_| !d.ask.is_repeat)?.frame),
        "Number of the record with the question of this response; NULL when an earlier response answered it", "weir"),
    ItemField::new("dns.repeat", Kind::Bool, |d| Some(Value::Bool(d.ask.is_repeat)),
        "Retransmission: the question was sent within the last five seconds and not answered, or the response was sent before; zone transfers do not count", "weir"),
    ItemField::new("dns.fault", Kind::Text, |d| d.fault().map(Value::Text),
        "Why decoding of the message stopped: bytes were not captured, or what is malformed", "weir"),
];

/// The way in which the values of a list are collected.
enum Collect {
    Questions(fn(&Question<'_>, &mut List)),
    Records(fn(&Record<'_>, &mut List)),
}

/// A column that collects values from the data of records.
macro_rules! of_data {
    ($pattern:pat, $list:ident, $collect:expr) => {
        Collect::Records(|record, $list| {
            if let $pattern = record.data() {
                $collect;
            }
        })
    };
}

/// A name in the data of records of one type.
macro_rules! name_of {
    ($kind:literal) => {
        Collect::Records(|record, list| {
            if let Data::Name(name) = record.data()
                && record.kind == $kind
            {
                list.text(name);
            }
        })
    };
}

/// A list of records that are not pseudo-records.
macro_rules! plain {
    ($record:ident, $list:ident, $collect:expr) => {
        Collect::Records(|$record, $list| {
            if $record.kind != OPT {
                $collect;
            }
        })
    };
}

/// A list of options of OPT.
macro_rules! opt {
    ($record:ident, $list:ident, $collect:expr) => {
        Collect::Records(|$record, $list| {
            if $record.kind == OPT {
                $collect;
            }
        })
    };
}

/// The length of the name of a question, as it is shown.
fn text_octets(question: &Question<'_>) -> u32 {
    let octets = match question.name.text_octets() {
        0 => question.name.text().len(),
        octets => octets,
    };
    u32::try_from(octets).unwrap_or(u32::MAX)
}

const OPT: u16 = 41;

#[rustfmt::skip]
static LISTS: &[ItemField<Collect>] = &[
    ItemField::new("dns.qry.names", Kind::Texts, Collect::Questions(|question, list| list.text(question.name)),
        "The names of all questions: multicast DNS asks several at once", "RFC 1035, 4.1.2"),
    ItemField::new("dns.qry.types", Kind::Numbers, Collect::Questions(|question, list| list.number(question.kind)),
        "The types of all questions", "RFC 1035, 3.2.2"),
    ItemField::new("dns.qry.classes", Kind::Numbers, Collect::Questions(|question, list| list.number(question.class)),
        "The classes of all questions", "RFC 1035, 3.2.4"),
    ItemField::new("dns.qry.name_lengths", Kind::Numbers, Collect::Questions(|question, list| list.number(text_octets(question))),
        "Lengths of the names of all questions, as dns.qry.name.len", "RFC 1035, 4.1.2"),
    ItemField::new("dns.qry.label_counts", Kind::Numbers, Collect::Questions(|question, list| list.number(question.name.label_count().max(1))),
        "Labels of the names of all questions, as dns.count.labels", "RFC 1035, 4.1.2"),
    ItemField::new("dns.resp.name", Kind::Texts, Collect::Records(|record, list| list.text(record.name)),
        "Names of the records of all sections, in their order", "RFC 1035, 4.1.3"),
    ItemField::new("dns.resp.type", Kind::Numbers, Collect::Records(|record, list| list.number(record.kind)),
        "Types of the records of all sections", "RFC 1035, 3.2.2"),
    ItemField::new("dns.resp.class", Kind::Numbers, plain!(record, list, list.number(record.class)),
        "Classes of the records, without OPT", "RFC 1035, 3.2.4"),
    ItemField::new("dns.resp.ttl", Kind::Numbers, plain!(record, list, list.number(record.ttl)),
        "Times to live of the records in seconds, without OPT", "RFC 1035, 4.1.3"),
    ItemField::new("dns.resp.len", Kind::Numbers, Collect::Records(|record, list| list.number(record.data_octets)),
        "Lengths of the data of the records", "RFC 1035, 4.1.3"),
    ItemField::new("dns.a", Kind::Texts, of_data!(Data::A(octets), list, list.text(Address::from(std::net::Ipv4Addr::from(octets)))),
        "IPv4 addresses of A records", "RFC 1035, 3.4.1"),
    ItemField::new("dns.aaaa", Kind::Texts, of_data!(Data::Aaaa(octets), list, list.text(std::net::Ipv6Addr::from(octets))),
        "IPv6 addresses of AAAA records", "RFC 3596, 2.1"),
    ItemField::new("dns.cname", Kind::Texts, name_of!(5),
        "Canonical names", "RFC 1035, 3.3.1"),
    ItemField::new("dns.ns", Kind::Texts, name_of!(2),
        "Name servers", "RFC 1035, 3.3.11"),
    ItemField::new("dns.ptr.domain_name", Kind::Texts, name_of!(12),
        "Names of PTR records", "RFC 1035, 3.3.12"),
    ItemField::new("dns.dname", Kind::Texts, name_of!(39),
        "Names of DNAME records", "RFC 6672, 2.1"),
    ItemField::new("dns.mx.preference", Kind::Numbers, of_data!(Data::Mx { preference, .. }, list, list.number(preference)),
        "Preferences of mail exchanges", "RFC 1035, 3.3.9"),
    ItemField::new("dns.mx.mail_exchange", Kind::Texts, of_data!(Data::Mx { exchange, .. }, list, list.text(exchange)),
        "Mail exchanges", "RFC 1035, 3.3.9"),
    ItemField::new("dns.txt", Kind::Texts, Collect::Records(|record, list| if let Data::Text(strings) = record.data() && record.kind == 16 {
            strings.for_each(|string| list.bytes(string));
        }), "Texts of TXT records, each string by itself", "RFC 1035, 3.3.14"),
    ItemField::new("dns.spf", Kind::Texts, Collect::Records(|record, list| if let Data::Text(strings) = record.data() && record.kind == 99 {
            strings.for_each(|string| list.bytes(string));
        }), "Texts of SPF records", "RFC 7208, 3.1"),
    ItemField::new("dns.soa.mname", Kind::Texts, of_data!(Data::Soa { primary, .. }, list, list.text(primary)),
        "Primary servers of zones", "RFC 1035, 3.3.13"),
    ItemField::new("dns.soa.rname", Kind::Texts, of_data!(Data::Soa { mailbox, .. }, list, list.text(mailbox)),
        "Mailboxes of those responsible for zones", "RFC 1035, 3.3.13"),
    ItemField::new("dns.soa.serial_number", Kind::Numbers, of_data!(Data::Soa { numbers, .. }, list, list.number(numbers[0])),
        "Serial numbers of zones", "RFC 1035, 3.3.13"),
    ItemField::new("dns.soa.minimum_ttl", Kind::Numbers, of_data!(Data::Soa { numbers, .. }, list, list.number(numbers[4])),
        "Minimum TTLs of zones: how long a nonexistent name may be cached, in seconds", "RFC 2308, 4"),
    ItemField::new("dns.srv.priority", Kind::Numbers, of_data!(Data::Srv { priority, .. }, list, list.number(priority)),
        "Priorities of services", "RFC 2782"),
    ItemField::new("dns.srv.weight", Kind::Numbers, of_data!(Data::Srv { weight, .. }, list, list.number(weight)),
        "Weights of services", "RFC 2782"),
    ItemField::new("dns.srv.port", Kind::Numbers, of_data!(Data::Srv { port, .. }, list, list.number(port)),
        "Ports of services", "RFC 2782"),
    ItemField::new("dns.srv.target", Kind::Texts, of_data!(Data::Srv { target, .. }, list, list.text(target)),
        "Hosts of services", "RFC 2782"),
    ItemField::new("dns.naptr.order", Kind::Numbers, of_data!(Data::Naptr { numbers, .. }, list, list.number(numbers[0])),
        "Orders of NAPTR records", "RFC 3403, 4.1"),
    ItemField::new("dns.naptr.preference", Kind::Numbers, of_data!(Data::Naptr { numbers, .. }, list, list.number(numbers[1])),
        "Preferences of NAPTR records", "RFC 3403, 4.1"),
    ItemField::new("dns.naptr.service", Kind::Texts, of_data!(Data::Naptr { texts, .. }, list, list.bytes(texts[1])),
        "Services of NAPTR records", "RFC 3403, 4.1"),
    ItemField::new("dns.naptr.regex", Kind::Texts, of_data!(Data::Naptr { texts, .. }, list, list.bytes(texts[2])),
        "Rewriting rules of NAPTR records, ENUM's among them", "RFC 3403, 4.1; RFC 6116"),
    ItemField::new("dns.naptr.replacement", Kind::Texts, of_data!(Data::Naptr { replacement, .. }, list, list.text(replacement)),
        "Replacement names of NAPTR records", "RFC 3403, 4.1"),
    ItemField::new("dns.svcb.targetname", Kind::Texts, of_data!(Data::Svcb { target, .. }, list, list.text(target)),
        "Targets of SVCB and HTTPS records", "RFC 9460, 2.2"),
    ItemField::new("dns.svcb.svcpriority", Kind::Numbers, of_data!(Data::Svcb { priority, .. }, list, list.number(priority)),
        "Priorities of SVCB and HTTPS records", "RFC 9460, 2.2"),
    ItemField::new("dns.hinfo.cpu", Kind::Texts, of_data!(Data::Hinfo { cpu, .. }, list, list.bytes(cpu)),
        "CPU types of HINFO records", "RFC 1035, 3.3.2"),
    ItemField::new("dns.hinfo.os", Kind::Texts, of_data!(Data::Hinfo { os, .. }, list, list.bytes(os)),
        "Operating systems of HINFO records", "RFC 1035, 3.3.2"),
    ItemField::new("dns.caa.value", Kind::Texts, of_data!(Data::Caa { value, .. }, list, list.bytes(value)),
        "Values of CAA records: for issue and issuewild the certification authority", "RFC 8659, 4.1"),
    ItemField::new("dns.rrsig.type_covered", Kind::Numbers, of_data!(Data::Rrsig { covered, .. }, list, list.number(covered)),
        "Types of the signed records", "RFC 4034, 3.1.1"),
    ItemField::new("dns.rrsig.key_tag", Kind::Numbers, of_data!(Data::Rrsig { key_tag, .. }, list, list.number(key_tag)),
        "Tags of the signing keys", "RFC 4034, 3.1.6"),
    ItemField::new("dns.rrsig.signers_name", Kind::Texts, of_data!(Data::Rrsig { signer, .. }, list, list.text(signer)),
        "Zones of the signing keys", "RFC 4034, 3.1.7"),
    ItemField::new("dns.ds.key_id", Kind::Numbers, of_data!(Data::Ds { key_tag, .. }, list, list.number(key_tag)),
        "Tags of the keys in DS, CDS and DLV records", "RFC 4034, 5.1.1; RFC 7344, 3.1; RFC 4431, 2"),
    ItemField::new("dns.dnskey.flags", Kind::Numbers, of_data!(Data::Dnskey { flags, .. }, list, list.number(flags)),
        "Flags of the keys in DNSKEY and CDNSKEY records: 256 zone key, 257 key signing key", "RFC 4034, 2.1.1; RFC 7344, 3.2"),
    ItemField::new("dns.nsec.next_domain_name", Kind::Texts, of_data!(Data::Nsec(next), list, list.text(next)),
        "Next existing names", "RFC 4034, 4.1.1"),
    ItemField::new("dns.rr.udp_payload_size", Kind::Numbers, opt!(record, list, list.number(record.class)),
        "EDNS: largest UDP payload in octets that the sender accepts", "RFC 6891, 6.1.2"),
    ItemField::new("dns.resp.ext_rcode", Kind::Numbers, opt!(record, list, list.number(record.ttl >> 24)),
        "EDNS: upper bits of the response code", "RFC 6891, 6.1.3"),
    ItemField::new("dns.resp.edns0_version", Kind::Numbers, opt!(record, list, list.number(record.ttl >> 16 & 0xff)),
        "EDNS: version", "RFC 6891, 6.1.3"),
    ItemField::new("dns.resp.z", Kind::Numbers, opt!(record, list, list.number(record.ttl & 0xffff)),
        "EDNS: flags; 32768 asks for DNSSEC records (DO)", "RFC 6891, 6.1.4"),
    ItemField::new("dns.opt.code", Kind::Numbers, of_data!(Data::Opt(options), list, options.for_each(|option| list.number(option.code))),
        "EDNS: codes of the options", "RFC 6891, 6.1.2"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_has_its_place() {
        assert!(LISTS.len() <= LISTS_MAX);
        let is_list = |kind| matches!(kind, Kind::Texts | Kind::Numbers);
        assert!(LISTS.iter().all(|field| is_list(field.kind)));
    }
}
