//! Columns whose texts are words of a closed list, and other names of these words.
//!
//! A query with `proto = 'TCP'` or `flow.service = 'tls'` means the word that the column has. The lists stand
//! here and nowhere else; words of other crates are taken from them.

use std::borrow::Cow;
use std::sync::LazyLock;

use arrow::datatypes::Field;
use weir_flow::{Application, ConnState};
use weir_packet::{FLAG_LETTERS, protocol_name};
use weir_ws::Opcode;

/// The words that a column can have.
#[derive(Debug)]
pub struct Vocabulary {
    /// Name of the column.
    pub column: &'static str,
    words: Vec<&'static str>,
    /// Other names in lower case, with the words.
    aliases: &'static [(&'static str, &'static str)],
    /// The other values of the column, by their kind.
    others: Others,
}

/// The values of a column besides its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    Nothing,
    /// A value without a name is its number.
    Numbers,
    /// A value is one letter for each flag that is set, and a middle dot for one that is not.
    Flags(&'static [char]),
}

impl Vocabulary {
    /// The vocabulary of the column of this name of the tables of this crate; `None` for columns that may
    /// have any text.
    #[must_use]
    pub fn of(column: &str) -> Option<&'static Self> {
        VOCABULARIES.iter().find(|known| known.column == column)
    }

    /// The vocabulary of the column of an Arrow field.
    #[must_use]
    pub fn of_field(field: &Field) -> Option<&'static Self> {
        Self::of(field.metadata().get(VOCABULARY_KEY)?)
    }

    /// The words, as the column has them.
    #[must_use]
    pub fn words(&self) -> &[&'static str] {
        &self.words
    }

    /// Words and other names of them.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let aliases = self.aliases.iter().map(|(name, _)| *name);
        self.words.iter().copied().chain(aliases)
    }

    /// The word of a text, without regard to case and by any of its names; `None` when the column can never have it.
    #[must_use]
    pub fn word(&self, text: &str) -> Option<Cow<'static, str>> {
        let text = text.trim();
        if let Some(word) = self
            .words
            .iter()
            .find(|word| word.eq_ignore_ascii_case(text))
        {
            return Some(Cow::Borrowed(word));
        }
        let alias = self
            .aliases
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text));
        if let Some((_, word)) = alias {
            return Some(Cow::Borrowed(word));
        }
        match self.others {
            Others::Nothing => None,
            Others::Numbers => {
                let number: u8 = text.parse().ok()?;
                Some(match protocol_name(number) {
                    Some(word) => Cow::Borrowed(word),
                    None => Cow::Owned(number.to_string()),
                })
            }
            Others::Flags(letters) => flags(letters, text).map(Cow::Owned),
        }
    }

    /// The pattern of a `LIKE` in the case of the column's words; `None` when these have both cases.
    #[must_use]
    pub fn pattern(&self, text: &str) -> Option<String> {
        let none = |of: fn(char) -> bool| !self.words.iter().any(|word| word.contains(of));
        match self.others {
            Others::Flags(_) => Some(text.to_ascii_uppercase()),
            _ if none(|letter| letter.is_ascii_uppercase()) => Some(text.to_ascii_lowercase()),
            _ if none(|letter| letter.is_ascii_lowercase()) => Some(text.to_ascii_uppercase()),
            _ => None,
        }
    }
}

/// Flags in the form of the column: users also write full stops, hyphens and asterisks for flags that are not set.
fn flags(letters: &[char], text: &str) -> Option<String> {
    let mut given = text.chars();
    let flags: Option<String> = letters
        .iter()
        .map(|letter| match given.next()? {
            '·' | '.' | '-' | '*' => Some('·'),
            set if set.eq_ignore_ascii_case(letter) => Some(*letter),
            _ => None,
        })
        .collect();
    flags.filter(|_| given.next().is_none())
}

static VOCABULARIES: LazyLock<Vec<Vocabulary>> = LazyLock::new(|| {
    let of = |column, words: &[&'static str], aliases| Vocabulary {
        column,
        words: words.to_vec(),
        aliases,
        others: Others::Nothing,
    };
    let protocols = (0..=u8::MAX).filter_map(protocol_name);
    let services = Application::ALL.iter().filter_map(|known| known.as_str());
    let states = ConnState::ALL.iter().map(|state| state.as_str());
    let opcodes = [0, 1, 2, 8, 9, 10, 15].map(|bits| Opcode::from_bits(bits).name());
    vec![
        Vocabulary {
            column: "proto",
            words: protocols.collect(),
            aliases: PROTOCOLS,
            others: Others::Numbers,
        },
        of("flow.service", &services.collect::<Vec<_>>(), SERVICES),
        of("flow.state", &states.collect::<Vec<_>>(), &[]),
        of(
            "flow.end_reason",
            &["closed", "idle", "active", "reused", "evicted", "end"],
            &[],
        ),
        of(
            "call.state",
            &[
                "trying",
                "ringing",
                "in_call",
                "completed",
                "cancelled",
                "busy",
                "rejected",
                "redirected",
                "superseded",
            ],
            &[("canceled", "cancelled"), ("in call", "in_call")],
        ),
        of("call.ended_by", &["caller", "callee"], &[]),
        of(
            "call.end_reason",
            &["ended", "expired", "evicted", "reused", "input_ended"],
            &[],
        ),
        of(
            "sip.transport",
            &["udp", "tcp", "sctp", "ws"],
            &[("websocket", "ws")],
        ),
        of("h248.transport", &["udp", "tcp", "sctp"], &[]),
        of(
            "h248.encoding",
            &["pretty", "compact", "ber", "per", "erl"],
            &[("erlang", "erl")],
        ),
        of("h248.kind", &["request", "reply", "error", "damaged"], &[]),
        of(
            "h248.command",
            &[
                "Add",
                "Move",
                "Modify",
                "Subtract",
                "AuditCapability",
                "AuditValue",
                "Notify",
                "ServiceChange",
            ],
            &[("auditcapabilities", "AuditCapability")],
        ),
        of("websocket.direction", &["to_server", "to_client"], &[]),
        of("websocket.type", &opcodes, &[]),
        Vocabulary {
            column: "tcp.flags.str",
            words: Vec::new(),
            aliases: &[],
            others: Others::Flags(&FLAG_LETTERS),
        },
    ]
});

/// Other names of IP protocols: those of IANA, `/etc/protocols` and Wireshark.
const PROTOCOLS: &[(&str, &str)] = &[
    ("icmp6", "icmpv6"),
    ("ipv6-icmp", "icmpv6"),
    ("icmp4", "icmp"),
    ("icmpv4", "icmp"),
    ("udp-lite", "udplite"),
    ("ospfigp", "ospf"),
    ("ipencap", "ipip"),
    ("ip-in-ip", "ipip"),
    ("ipv4", "ipip"),
    ("6in4", "ipv6"),
    ("mobile-ip", "mobile"),
    ("mipv6", "mobility"),
    ("mobility-header", "mobility"),
    ("ipsec-esp", "esp"),
    ("ipsec-ah", "ah"),
    ("ipv6-no-nxt", "ipv6-nonxt"),
    ("l2tpv3", "l2tp"),
    ("carp", "vrrp"),
];

/// Other names of services.
const SERVICES: &[(&str, &str)] = &[
    ("tls", "ssl"),
    ("https", "ssl"),
    ("tlsv1", "ssl"),
    ("ws", "websocket"),
    ("kerberos", "krb"),
    ("krb5", "krb"),
    ("postgres", "postgresql"),
    ("pgsql", "postgresql"),
    ("vnc", "rfb"),
    ("megaco", "h248"),
    ("h.248", "h248"),
    ("jabber", "xmpp"),
    ("cifs", "smb"),
    ("smb2", "smb"),
    ("domain", "dns"),
    ("bootp", "dhcp"),
    ("bittorrent-dht", "bittorrent"),
];

/// Key of an Arrow field's metadata, with the name of the column that the vocabulary is of.
pub const VOCABULARY_KEY: &str = "weir.vocabulary";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EXTRACTIONS, Table};

    /// The conditions `proto = 'TCP'` and `flow.service = 'tls'` found nothing.
    #[test]
    fn words_are_known_in_any_case_and_by_other_names() {
        for (column, text, word) in [
            ("proto", "TCP", Some("tcp")),
            ("proto", "6", Some("tcp")),
            ("proto", "253", Some("253")),
            ("proto", "ipv6-icmp", Some("icmpv6")),
            ("proto", "tpc", None),
            ("proto", "256", None),
            ("flow.service", "TLS", Some("ssl")),
            ("flow.service", "SIP", Some("sip")),
            ("flow.service", "6", None),
            ("flow.state", "sf", Some("SF")),
            ("call.state", "Canceled", Some("cancelled")),
            ("h248.command", "ADD", Some("Add")),
            ("h248.command", "AuditCapabilities", Some("AuditCapability")),
            ("websocket.type", "Text", Some("text")),
            ("tcp.flags.str", ".......ap...", Some("·······AP···")),
            ("tcp.flags.str", "·······AP···", Some("·······AP···")),
            ("tcp.flags.str", "AP", None),
            ("tcp.flags.str", "ap...........", None),
        ] {
            let known = Vocabulary::of(column).unwrap().word(text);
            assert_eq!(known.as_deref(), word, "{column} {text}");
        }
    }

    #[test]
    fn every_vocabulary_is_of_a_column_with_that_mark() {
        let mut tables: Vec<Table> = EXTRACTIONS.iter().map(Table::extracted).collect();
        tables.push(Table::packets());
        for known in VOCABULARIES.iter() {
            let of_tables = tables.iter().filter(|table| {
                let field = table.schema().field_with_name(known.column);
                field.is_ok_and(|field| Vocabulary::of_field(field).is_some())
            });
            assert!(of_tables.count() > 0, "{}", known.column);
            for (name, word) in known.aliases {
                assert!(known.words.contains(word), "{name}: {word}");
                assert!(!known.words.contains(name), "{name} is a word itself");
            }
        }
    }
}
