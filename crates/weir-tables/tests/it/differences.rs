//! The written list of deliberate differences from Wireshark, each with its reason.
//!
//! A difference belongs here when the value is right by the standard or by the documentation of the column, and
//! Wireshark's comes from something else: a guess, state of the conversation, another definition of the field. A value
//! that is merely wrong is to be corrected, not listed.

use std::fmt::Write as _;

/// Values that differ on purpose.
pub(crate) struct Difference {
    /// The kind of difference, for the heading of the page.
    pub(crate) title: &'static str,
    /// The columns; `*` stands for any text.
    pub(crate) columns: &'static [&'static str],
    /// The captures in which it was seen, by their names; `*` stands for any text.
    pub(crate) captures: &'static [&'static str],
    /// The values that the difference is about.
    pub(crate) when: When,
    /// The reason of the difference.
    pub(crate) reason: &'static str,
}

/// A selection of the values of a column that a difference is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// All values that differ.
    Differ,
    /// Wireshark has a value, and the column is NULL.
    OnlyTheirs,
    /// The column has a value, and Wireshark none.
    OnlyOurs,
}

/// A capture in which weir and Wireshark do not see the same records.
pub(crate) struct RecordDifference {
    pub(crate) title: &'static str,
    /// A part of the message in that case.
    pub(crate) says: &'static str,
    pub(crate) reason: &'static str,
}

impl When {
    /// Returns whether this selects a value that is NULL if `ours_missing`, and `theirs` in Wireshark.
    pub(crate) fn covers(self, ours_missing: bool, theirs: &str) -> bool {
        match self {
            Self::Differ => true,
            Self::OnlyTheirs => ours_missing,
            Self::OnlyOurs => theirs.is_empty(),
        }
    }
}

/// Returns whether one of the patterns, in which `*` stands for any text, matches all of `name`.
pub(crate) fn any_matches(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, name))
}

fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(name) = name.strip_prefix(start) else {
        return false;
    };
    (0..=name.len()).any(|at| name.get(at..).is_some_and(|name| matches(rest, name)))
}

#[test]
fn a_star_stands_for_any_text() {
    for (pattern, name, expected) in [
        ("tcp.*", "tcp.len", true),
        ("tcp.*", "udp.length", false),
        ("*", "", true),
        ("*.src", "ip.src", true),
        ("a*b*c", "aXbYbZc", true),
        ("a*b*c", "aXc", false),
        ("ip.src", "ip.src.x", false),
    ] {
        assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
    }
}

/// The page for users, made of the list.
fn page() -> String {
    let mut text = String::from(
        "# Where weir differs from Wireshark on purpose\n\n\
         Every column that Wireshark has too is compared with tshark 4.0, record by record, over real and\n\
         generated captures; more than 99.95 % of the values have to be equal. What differs on purpose is\n\
         listed here, with the columns and the captures in which it was seen. `tcp.seq` and `tcp.ack`,\n\
         which are relative numbers in Wireshark, are `tcp.seq_raw` and `tcp.ack_raw`.\n\n\
         This page is written by a test: change `crates/weir-tables/tests/it/differences.rs`, and run it\n\
         with `WEIR_BLESS=1`.\n",
    );
    for difference in DIFFERENCES {
        let columns = difference.columns.join("`, `");
        let _ = write!(
            text,
            "\n## {}\n\n{}\n\nColumns: `{columns}`\n",
            difference.title, difference.reason
        );
    }
    text.push_str(
        "\n## Columns that were not compared\n\n\
         Every column has a value in at least one of the captures; where no captured traffic at hand has one,\n\
         frames were made with scapy or written down by the standard\n\
         (`crates/weir-tables/tests/frames/make.py`), and tshark was asked. A test keeps the two lists exact.\n\n",
    );
    match UNCHECKED {
        [] => text.push_str("No column that Wireshark has too is left unchecked.\n"),
        columns => {
            let columns = columns.join("`, `");
            let _ = writeln!(
                text,
                "Wireshark has these too, and no value was ever compared: `{columns}`."
            );
        }
    }
    let own = OWN.join("`, `");
    let _ = write!(
        text,
        "\nWireshark has no field of the names of these, so that only tests with frames of our own, and with what\n\
         their standards say, judge them: `{own}`.\n"
    );
    text.push_str("\n## Files of which the two see other records\n\n");
    for difference in RECORD_DIFFERENCES {
        let _ = writeln!(text, "- {}: {}", difference.title, difference.reason);
    }
    text
}

#[test]
fn the_page_for_users_has_the_same_list() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/reference/wireshark-differences.md"
    );
    if std::env::var_os("WEIR_BLESS").is_some() {
        std::fs::write(path, page()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), page());
}

/// The deliberate differences from Wireshark.
pub(crate) const DIFFERENCES: &[Difference] = &[
    Difference {
        title: "AAL5 units are put together from cells",
        columns: &["*"],
        captures: &["generated/*atm.erf"],
        when: When::Differ,
        reason: "The row of the last cell of an AAL5 unit has the headers of the whole unit; tshark \
                 leaves raw cells of ERF captures as they are.",
    },
    Difference {
        title: "The NLPID behind padding",
        columns: &["fr.nlpid"],
        captures: &[
            "generated/framerelay.pcap",
            "generated/wan.erf",
            "generated/trace-frame-relay.erf",
        ],
        when: When::Differ,
        reason: "RFC 2427, 3 puts a zero octet of padding in front of some NLPIDs; tshark gives the \
                 padding as a first value of the field, the column gives the NLPID.",
    },
    Difference {
        title: "An NLPID that is not followed",
        columns: &["fr.nlpid"],
        captures: &["*esis_snpa_asan-4.pcap"],
        when: When::OnlyOurs,
        reason: "tshark hands the frame to another protocol, which shows no field for its NLPID.",
    },
    Difference {
        title: "TCP over IP that is longer than its length field can say",
        columns: &["*"],
        captures: &["*bigtcp-*"],
        when: When::Differ,
        reason: "BIG TCP sends IP packets of more than 64 KiB whose length field is 0; the frame's end is taken as the packet's, where tshark 4.0 stops.",
    },
    Difference {
        title: "The outermost header is the column",
        columns: &[
            "eth.len", "eth.type", "ip.opt.*", "llc.*", "eth.dst", "udp.*", "icmp.*",
        ],
        captures: &[
            "*erspan-type-ii-3.pcap",
            "*vxlan-encapsulated-igmp-v2.pcap",
            "frames/ethernet.pcap",
            "*found/capwap.pcap",
            "*gtp_control_prime.pcap",
            "*pdp_ctx_messages.pcapng",
            "*of10_s4810.pcap",
            "*l2tp-avp-overflow.pcap",
            "*of13_ericsson.pcapng",
        ],
        when: When::Differ,
        reason: "A field that the outermost header of a protocol lacks is NULL, also where an inner header of \
                 the same protocol, or a packet inside an application's message, has it; tshark gives \
                 the first that comes.",
    },
    Difference {
        title: "Headers quoted by error messages",
        columns: &["tcp.*"],
        captures: &["*alexa-app.pcapng"],
        when: When::OnlyOurs,
        reason: "All fields of a quoted header that was captured are there; tshark sometimes shows the ports only.",
    },
    Difference {
        title: "Accurate ECN",
        columns: &["tcp.flags.*"],
        captures: &["*accecn_handshake.pcap"],
        when: When::Differ,
        reason: "The three flags are shown as flags in every segment; tshark follows the connection and \
                 shows a counter once it was negotiated.",
    },
    Difference {
        title: "Fields of headers that are cut or too short",
        columns: &["*"],
        captures: &[
            "*icmp_print-oobr-*",
            "*trunc-hdr.pcap",
            "*ipv4-internally-truncated-header.pcap",
            "*ip6_frag_asan.pcap",
            "*ipv6_frag6_negative_len.pcap",
            "*reasm_crash_anon.pcapng",
            "generated/office.pcapng",
        ],
        when: When::Differ,
        reason: "Each field whose bytes are there has its value, and frame.stopped says what is wrong; tshark \
                 gives some, none, or a text that something is missing.",
    },
    Difference {
        title: "Payloads that a length field cuts",
        columns: &["udp.payload", "udp.checksum"],
        captures: &[
            "*lisp_invalid_length.pcap",
            "*macsec-short-shorter.pcap",
            "*sflow_print-segv.pcap",
            "*quic_32_bit_pointer_overflow.pcap",
            "*ipv6-reassembly-state-leak.pcap",
        ],
        when: When::Differ,
        reason: "The payload ends where UDP's length says, or IP's where that is shorter; tshark lets an \
                 impossible length count in other ways.",
    },
    Difference {
        title: "Protocols that are not decoded",
        columns: &["*"],
        captures: &[
            "*802_15_4-data.pcap",
            "*lwapp-data.pcap",
            "*various_gre.pcap",
            "*nhrp-trace.pcap",
        ],
        when: When::OnlyTheirs,
        reason: "What is inside IEEE 802.15.4 with 6LoWPAN, LWAPP, Cisco's metadata in GRE, and the packets that NHRP \
                 errors quote is not looked into.",
    },
    Difference {
        title: "Link types that only look alike",
        columns: &["juniper.direction", "ppp.protocol", "pktap.*"],
        captures: &[
            "*pktap-heap-overflow.pcap",
            "*juniper_atm1_oobr.pcap",
            "*of10_inv_QUEUE_GET_CONFIG_REPLY.pcap",
        ],
        when: When::Differ,
        reason: "Damaged captures in which tshark's guess at the payload is another.",
    },
    Difference {
        title: "FabricPath without a check sequence",
        columns: &["tcp.*", "udp.*", "sctp.*", "ipv6.dst"],
        captures: &["*cisco-fabric-path.pcap", "*ajp.pcap"],
        when: When::Differ,
        reason: "tshark takes the last four bytes of every frame for a check sequence, though captures rarely have \
                 it, and cuts short packets by them; here a packet ends where IP's length says.",
    },
    Difference {
        title: "802.11 in CAPWAP in the byte order of the air",
        columns: &["*"],
        captures: &["frames/capwap-in-the-byte-order-of-the-air.pcap"],
        when: When::Differ,
        reason: "Cisco swaps the two bytes of the frame control field, and tshark takes that for granted unless told \
                 otherwise. Here each frame tells: data has a direction in the second byte, management a zero.",
    },
    Difference {
        title: "Destinations of source routes",
        columns: &["ip.dst"],
        captures: &["frames/source-route.pcap"],
        when: When::Differ,
        reason: "ip.dst is the header's destination, the next hop of a source route; tshark gives the last address of \
                 the route.",
    },
    Difference {
        title: "Times beyond the range",
        columns: &["frame.time", "frame.time_relative", "frame.time_delta"],
        captures: &["*timestamp_invalid_nano.pcap"],
        when: When::Differ,
        reason: "An impossible fraction of a second is added up without overflow; tshark's time is negative, and a time \
                 since another record has more than nine digits behind its point.",
    },
    Difference {
        title: "Interfaces whose name is empty",
        columns: &["frame.interface_name"],
        captures: &["*conncheck.pcap"],
        when: When::OnlyOurs,
        reason: "An interface without a name is called unknown, as in Wireshark, also where a capture \
                 gives an empty name.",
    },
    Difference {
        title: "Interfaces of ERF",
        columns: &["frame.interface_description"],
        captures: &[
            "frames/records.erf",
            "generated/trace-frame-relay.erf",
            "generated/wan.erf",
        ],
        when: When::OnlyTheirs,
        reason: "ERF has numbers of interfaces and no words about them; tshark makes some of the number, such as \
                 `Port A (ERF Interface 0)`.",
    },
];

/// Columns that tshark has too, none of whose values in any capture was the same as tshark's.
pub(crate) const UNCHECKED: &[&str] = &[];

/// Columns that tshark does not have, by their names.
pub(crate) const OWN: &[&str] = &[
    "frame.file",
    "frame.link_type",
    "frame.link_type_name",
    "frame.layers",
    "frame.stopped",
    "addr.src",
    "addr.dst",
    "port.src",
    "port.dst",
    "proto",
    "avsp.seconds",
    "avsp.nanoseconds",
    "switch_tag.dst",
    "switch_tag.src",
    "ip.checksum_ok",
    "icmp.checksum_ok",
    "icmpv6.checksum_ok",
    "tcp.checksum_ok",
    "udp.checksum_ok",
    "sctp.checksum_ok",
];

/// The captures in which weir and Wireshark do not see the same records.
pub(crate) const RECORD_DIFFERENCES: &[RecordDifference] = &[RecordDifference {
    title: "Link types that tshark 4.0 refuses",
    says: "unknown or unsupported)",
    reason: "they are read, and the protocols inside decoded where they are known.",
}];
