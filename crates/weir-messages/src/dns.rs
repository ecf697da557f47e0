//! DNS (RFC 1035), over UDP, TCP, multicast (RFC 6762) and link-local (RFC 4795): messages, and which
//! answer belongs to which question.
//!
//! A [`DnsMessage`] is a view of its bytes: names and records are taken apart as they are requested, and
//! nothing is allocated. Names are followed through at most [`POINTERS_MAX`] pointers and written up to
//! [`NAME_OCTETS_MAX`] octets, so that a message costs no more than its length times that.

mod copies;
mod data;
mod fault;
mod lookup;
mod name;
mod words;

use weir_bytes::{u16_be_at, u32_be_at};

pub use data::{Data, EdnsOption, EdnsOptions, Strings};
pub use fault::DnsFault;
pub use lookup::{Ask, Lookup, Lookups, Query, Questions, Way};
pub use name::{NAME_OCTETS_MAX, Name, POINTERS_MAX};
pub use words::{class_word, opcode_word, rcode_word, type_word};

/// The protocol that numbers of a message belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// DNS as RFC 1035 has it.
    #[default]
    Unicast,
    /// Multicast DNS, where the first bit of a class is a flag (RFC 6762, 10.2 and 18.12).
    Multicast,
    /// Link-local multicast name resolution, where two flags mean something else (RFC 4795, 2.1.1).
    LinkLocal,
}

impl Dialect {
    /// The dialect of messages between these ports.
    #[must_use]
    pub fn of_ports(ports: [u16; 2]) -> Self {
        if ports.contains(&MULTICAST_PORT) {
            Self::Multicast
        } else if ports.contains(&LINK_LOCAL_PORT) {
            Self::LinkLocal
        } else {
            Self::Unicast
        }
    }
}

/// Port of DNS.
pub const PORT: u16 = 53;
/// Port of multicast DNS.
pub const MULTICAST_PORT: u16 = 5353;
/// Port of link-local multicast name resolution.
pub const LINK_LOCAL_PORT: u16 = 5355;
/// Octets of a message's header.
const HEADER_OCTETS: usize = 12;
/// Octets of a header up to the end of its flags, behind which the counts are.
const COUNTS_AT: usize = 4;

/// A message, whose header is there, or its beginning.
#[derive(Clone, Copy, Debug)]
pub struct DnsMessage<'m> {
    bytes: &'m [u8],
    dialect: Dialect,
}

/// Flags of a message by their bits.
macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident $bit:literal,)*) => {
        impl DnsMessage<'_> {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $name(&self) -> bool {
                    self.flags() & $bit != 0
                }
            )*
        }
    };
}

flags! {
    /// QR: it is a response.
    is_response 0x8000,
    /// AA: the answer is authoritative; LLMNR's C, a conflict.
    is_authoritative 0x0400,
    /// TC: it was cut.
    is_truncated 0x0200,
    /// RD: recursion is desired; LLMNR's T, tentative.
    recursion_desired 0x0100,
    /// RA: recursion is available.
    recursion_available 0x0080,
    /// Z: reserved.
    reserved 0x0040,
    /// AD: the answer is authenticated (RFC 4035, 3.2.3).
    is_authenticated 0x0020,
    /// CD: checking is disabled (RFC 4035, 3.2.2).
    checking_disabled 0x0010,
}

impl<'m> DnsMessage<'m> {
    /// A view of a message; `None` when there is not even a header.
    #[must_use]
    pub const fn new(bytes: &'m [u8], dialect: Dialect) -> Option<Self> {
        match bytes.len() >= HEADER_OCTETS {
            true => Some(Self { bytes, dialect }),
            false => None,
        }
    }

    /// A view of a message of which the identification and the flags are there, at least; `None` when they are not. Counts that
    /// are not there are 0.
    #[must_use]
    pub const fn begun(bytes: &'m [u8], dialect: Dialect) -> Option<Self> {
        match bytes.len() >= COUNTS_AT {
            true => Some(Self { bytes, dialect }),
            false => None,
        }
    }

    /// The bytes.
    #[must_use]
    pub const fn bytes(&self) -> &'m [u8] {
        self.bytes
    }

    fn number(&self, offset: usize) -> u16 {
        u16_be_at(self.bytes, offset).unwrap_or_default()
    }

    /// Whether it is an update of a zone, or the response to one: its sections have other names (RFC 2136, 2.2).
    #[must_use]
    pub fn is_update(&self) -> bool {
        self.opcode() == 5
    }

    /// The dialect.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The number that a response repeats.
    #[must_use]
    pub fn id(&self) -> u16 {
        self.number(0)
    }

    /// All flags.
    #[must_use]
    pub fn flags(&self) -> u16 {
        self.number(2)
    }

    /// The kind of query: 0 standard query, 1 inverse query, 2 server status, 4 notify, 5 update.
    #[must_use]
    pub fn opcode(&self) -> u8 {
        (self.flags() >> 11 & 15) as u8
    }

    /// The response code of the header, without the bits that EDNS adds.
    #[must_use]
    pub fn rcode(&self) -> u8 {
        (self.flags() & 15) as u8
    }

    /// Entries of a section, as the header says.
    #[must_use]
    pub fn count(&self, section: Section) -> u16 {
        self.number(COUNTS_AT + 2 * section as usize)
    }

    /// Whether the header is there up to the number of entries of a section.
    #[must_use]
    pub const fn has_count(&self, section: Section) -> bool {
        self.bytes.len() >= COUNTS_AT + 2 * section as usize + 2
    }

    /// The questions.
    #[must_use]
    pub const fn questions(&self) -> Entries<'m, Question<'m>> {
        Entries {
            walk: Walk::new(*self),
            take: |entry| match entry {
                SectionEntry::Question(question) => Some(question),
                SectionEntry::Record(_) => None,
            },
        }
    }

    /// The records of all sections after the questions, in their order.
    #[must_use]
    pub const fn records(&self) -> Entries<'m, Record<'m>> {
        Entries {
            walk: Walk::new(*self),
            take: |entry| match entry {
                SectionEntry::Question(_) => None,
                SectionEntry::Record(record) => Some(record),
            },
        }
    }

    /// The first fault that keeps it from being read.
    #[must_use]
    pub fn fault(&self) -> Option<DnsFault> {
        if self.bytes.len() < HEADER_OCTETS {
            return Some(DnsFault::Short);
        }
        let mut walk = Walk::new(*self);
        while let Some(entry) = walk.step() {
            let fault = match entry {
                SectionEntry::Question(question) => question.name.fault(),
                SectionEntry::Record(record) => record.fault(),
            };
            if fault.is_some() {
                return fault;
            }
        }
        walk.fault
    }

    /// Octets behind the last entry.
    #[must_use]
    pub fn trailing_octets(&self) -> usize {
        let mut walk = Walk::new(*self);
        while walk.step().is_some() {}
        self.bytes.len().saturating_sub(walk.offset)
    }
}

/// A part of a message (RFC 1035, 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// The name, type and class that the query is for; in updates (RFC 2136) the zone.
    Question,
    /// Records that answer the question; in updates the prerequisites.
    Answer,
    /// Records that name the authoritative servers; in updates the records to add and to delete.
    Authority,
    /// Additional records, and EDNS.
    Additional,
}

/// The name, type and class that a query is for.
#[derive(Clone, Copy, Debug)]
pub struct Question<'m> {
    /// The name.
    pub name: Name<'m>,
    /// Type of records.
    pub kind: u16,
    /// Class of records.
    pub class: u16,
    /// Multicast DNS: a unicast response is wanted.
    pub wants_unicast: bool,
}

/// A record.
#[derive(Clone, Copy, Debug)]
pub struct Record<'m> {
    /// The section.
    pub section: Section,
    /// The name that owns the record.
    pub name: Name<'m>,
    /// The type.
    pub kind: u16,
    /// The class; for OPT the size of datagrams that the sender accepts (RFC 6891, 6.1.2).
    pub class: u16,
    /// Multicast DNS: what was known of that name before is over.
    pub flushes_cache: bool,
    /// The time to live, in seconds; for OPT further bits of the response code, a version and flags.
    pub ttl: u32,
    /// Length of its data as it says.
    pub data_octets: u16,
    message: &'m [u8],
    /// The offset of the data, which are shorter than declared when the message ends.
    data_at: usize,
}

impl<'m> Record<'m> {
    /// The data that are there, which may be fewer than declared.
    #[must_use]
    pub fn octets(&self) -> &'m [u8] {
        let rest = self.message.get(self.data_at..).unwrap_or_default();
        rest.get(..self.data_octets.into()).unwrap_or(rest)
    }

    /// The data.
    #[must_use]
    pub fn data(&self) -> Data<'m> {
        Data::of(self)
    }

    fn fault(&self) -> Option<DnsFault> {
        self.name.fault().or_else(|| self.data().fault())
    }
}

/// Entries of one type, one after the other; ends early where the message is damaged.
#[derive(Clone, Debug)]
pub struct Entries<'m, E> {
    walk: Walk<'m>,
    take: fn(SectionEntry<'m>) -> Option<E>,
}

impl<E> Iterator for Entries<'_, E> {
    type Item = E;

    fn next(&mut self) -> Option<E> {
        loop {
            if let Some(entry) = (self.take)(self.walk.step()?) {
                return Some(entry);
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum SectionEntry<'m> {
    Question(Question<'m>),
    Record(Record<'m>),
}

/// Walks over the entries of a message.
#[derive(Clone, Debug)]
struct Walk<'m> {
    message: DnsMessage<'m>,
    offset: usize,
    /// Entries taken of the section.
    taken: u16,
    section: Section,
    fault: Option<DnsFault>,
    is_over: bool,
}

impl<'m> Walk<'m> {
    const fn new(message: DnsMessage<'m>) -> Self {
        Self {
            message,
            offset: HEADER_OCTETS,
            taken: 0,
            section: Section::Question,
            fault: None,
            is_over: false,
        }
    }

    fn step(&mut self) -> Option<SectionEntry<'m>> {
        if self.is_over {
            return None;
        }
        while self.taken >= self.message.count(self.section) {
            self.taken = 0;
            self.section = match self.section {
                Section::Question => Section::Answer,
                Section::Answer => Section::Authority,
                Section::Authority => Section::Additional,
                Section::Additional => return None,
            };
        }
        self.taken += 1;
        let entry = self.entry();
        if entry.is_none() {
            self.stop(DnsFault::Short);
        }
        entry
    }

    /// Ends the search for records.
    fn stop(&mut self, fault: DnsFault) {
        self.fault = Some(fault);
        self.is_over = true;
    }

    fn entry(&mut self) -> Option<SectionEntry<'m>> {
        let bytes = self.message.bytes;
        let name = Name::new(bytes, self.offset);
        let at = name.end()?;
        match name.fault() {
            Some(DnsFault::Short) => return None,
            // The entry after a damaged name is the last one, because nothing after it is reliable.
            Some(fault) => self.stop(fault),
            None => {}
        }
        let is_multicast = self.message.dialect == Dialect::Multicast;
        let kind = u16_be_at(bytes, at)?;
        let class = u16_be_at(bytes, at + 2)?;
        let (class, flag) = match is_multicast && kind != data::OPT {
            true => (class & 0x7fff, class & 0x8000 != 0),
            false => (class, false),
        };
        if self.section == Section::Question {
            self.offset = at + 4;
            return Some(SectionEntry::Question(Question {
                name,
                kind,
                class,
                wants_unicast: flag,
            }));
        }
        let ttl = u32_be_at(bytes, at + 4)?;
        let data_octets = u16_be_at(bytes, at + 8)?;
        let data_at = at + 10;
        self.offset = data_at.saturating_add(data_octets.into());
        if self.offset > bytes.len() {
            // The record is given with the data that is there; no entry follows it.
            self.stop(DnsFault::Short);
        }
        Some(SectionEntry::Record(Record {
            section: self.section,
            name,
            kind,
            class,
            flushes_cache: flag,
            ttl,
            data_octets,
            message: bytes,
            data_at,
        }))
    }
}

/// Whether these are certainly the bytes of a message, on any port: all counted entries are there and well-formed, nothing follows,
/// and it has a question.
#[must_use]
pub fn looks_like_dns(bytes: &[u8]) -> bool {
    let Some(message) = DnsMessage::new(bytes, Dialect::Unicast) else {
        return false;
    };
    let counts = |section| message.count(section);
    let is_known = matches!(message.opcode(), 0 | 2 | 4 | 5) && !message.reserved();
    // A message without names and types could be anything.
    let asks = (1..=QUESTIONS_PLAUSIBLE).contains(&counts(Section::Question));
    is_known
        && asks
        && (message.is_response()
            || message.rcode() == 0 && counts(Section::Answer) == 0
            || message.opcode() == 5)
        && message.questions().all(|question| {
            question.name.is_plausible() && matches!(question.class, 1..=4 | 254 | 255)
        })
        && message.fault().is_none()
        && message.trailing_octets() == 0
}

/// Whether more octets may make these a message that [`looks_like_dns`]: by the header and the first name.
#[must_use]
pub fn may_look_like_dns(bytes: &[u8]) -> bool {
    // The missing octets of the header are those of a question.
    let mut header = [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    let known = header.iter_mut().zip(bytes);
    known.for_each(|(octet, known)| *octet = *known);
    let Some(message) = DnsMessage::new(&header, Dialect::Unicast) else {
        return false;
    };
    let is_known = matches!(message.opcode(), 0 | 2 | 4 | 5) && !message.reserved();
    let questions = message.count(Section::Question);
    let asks = (1..=QUESTIONS_PLAUSIBLE).contains(&questions)
        && (message.is_response()
            || message.rcode() == 0 && message.count(Section::Answer) == 0
            || message.opcode() == 5);
    let mut name = bytes.get(header.len()..).unwrap_or_default();
    while let [length @ 1..=63, rest @ ..] = name {
        let (label, behind) = rest.split_at(usize::from(*length).min(rest.len()));
        if !label.iter().all(u8::is_ascii_graphic) {
            return false;
        }
        name = behind;
    }
    is_known && asks && !matches!(name, [64..=0xbf, ..])
}

/// The offset of the first message in octets of a stream that may begin with the rest of another one: at its length field. The
/// message is well-formed up to its end, or to that of these octets.
#[must_use]
pub fn find_in_stream(bytes: &[u8]) -> Option<usize> {
    let all = 0..bytes.len();
    let likely = all.filter(|at| bytes.get(*at..).is_some_and(may_begin_in_stream));
    let mut read = likely.take(TRIES_MAX);
    read.find(|at| bytes.get(*at..).is_some_and(begins_in_stream))
}

/// Octets that [`find_in_stream`] has to see of a message: its length, its header and the longest entry without data.
pub const BEGINNING_OCTETS: usize = 2 + HEADER_OCTETS + 255 + 10;

/// True for a whole message of a stream, without its length, that is understood.
#[must_use]
pub fn is_understood(bytes: &[u8]) -> bool {
    DnsMessage::new(bytes, Dialect::Unicast)
        .is_some_and(|message| is_likely(&message, bytes.len()) && message.fault().is_none())
}

/// Whether the header of a message is consistent with its number of octets.
fn is_likely(message: &DnsMessage<'_>, octets: usize) -> bool {
    let of = |section| usize::from(message.count(section));
    let [questions, answers] = [Section::Question, Section::Answer].map(of);
    let others = of(Section::Authority) + of(Section::Additional);
    // The shortest question and the shortest record have the root's name.
    let least = HEADER_OCTETS + 5 * questions + 11 * (answers + others);
    let is_known = matches!(message.opcode(), 0 | 2 | 4 | 5) && !message.reserved();
    let is_kind = match message.is_response() {
        true => message.rcode() <= RCODE_MAX && (questions > 0 || answers > 0),
        false => message.rcode() == 0 && questions > 0 && (answers == 0 || message.opcode() > 0),
    };
    is_known && is_kind && questions <= usize::from(QUESTIONS_PLAUSIBLE) && least <= octets
}

/// The length and the header of a message that may be one.
fn may_begin_in_stream(bytes: &[u8]) -> bool {
    let total = u16_be_at(bytes, 0).map(usize::from);
    let message = DnsMessage::new(bytes.get(2..).unwrap_or_default(), Dialect::Unicast);
    total
        .zip(message)
        .is_some_and(|(total, message)| is_likely(&message, total))
}

/// Whether the message after its length field has names and is well-formed: all of it, or up to the end of these octets.
fn begins_in_stream(bytes: &[u8]) -> bool {
    let Some(total) = u16_be_at(bytes, 0).map(usize::from) else {
        return false;
    };
    let behind = bytes.get(2..).unwrap_or_default();
    let whole = behind.get(..total);
    let Some(message) = DnsMessage::new(whole.unwrap_or(behind), Dialect::Unicast) else {
        return false;
    };
    let mut walk = Walk::new(message);
    let (mut entries, mut is_text) = (0, true);
    while let Some(entry) = walk.step() {
        entries += 1;
        let (name, kind, class) = match entry {
            SectionEntry::Question(question) => (question.name, question.kind, question.class),
            SectionEntry::Record(record) => (record.name, record.kind, record.class),
        };
        let is_class = matches!(class, 1..=4 | 254 | 255) || kind == data::OPT;
        is_text &= name.is_plausible() && is_class && kind != 0;
    }
    entries > 0
        && is_text
        && match whole {
            Some(_) => message.fault().is_none() && message.trailing_octets() == 0,
            None => matches!(walk.fault, None | Some(DnsFault::Short)),
        }
}

/// The highest response code of a header that is in use (RFC 6895, 2.3).
const RCODE_MAX: u8 = 11;
/// The maximum number of headers among these octets whose messages are read.
const TRIES_MAX: usize = 64;
/// Questions of a message on a port that is not DNS's, at most.
const QUESTIONS_PLAUSIBLE: u16 = 4;

#[cfg(test)]
mod tests;
