//! Names of numbers, as IANA and Zeek have them.

/// The name of a record type, such as `AAAA`; `*` for a question for all types; `None` when it has none.
#[must_use]
pub fn type_word(kind: u16) -> Option<&'static str> {
    TYPES
        .binary_search_by_key(&kind, |(number, _)| *number)
        .ok()
        .and_then(|at| TYPES.get(at))
        .map(|(_, word)| *word)
}

/// The name of a response code, such as `NXDOMAIN`.
#[must_use]
pub fn rcode_word(rcode: u16) -> Option<&'static str> {
    const WORDS: &[&str] = &[
        "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN", "YXRRSET",
        "NXRRSET", "NOTAUTH", "NOTZONE",
    ];
    match rcode {
        16 => Some("BADVERS"),
        17 => Some("BADKEY"),
        18 => Some("BADTIME"),
        19 => Some("BADMODE"),
        20 => Some("BADNAME"),
        21 => Some("BADALG"),
        22 => Some("BADTRUNC"),
        23 => Some("BADCOOKIE"),
        _ => WORDS.get(usize::from(rcode)).copied(),
    }
}

/// The name of an opcode, such as `query`.
#[must_use]
pub fn opcode_word(opcode: u8) -> Option<&'static str> {
    const WORDS: &[&str] = &["query", "iquery", "status", "", "notify", "update", "dso"];
    WORDS
        .get(usize::from(opcode))
        .copied()
        .filter(|word| !word.is_empty())
}

/// The name of a class in Zeek's words, such as `C_INTERNET`.
#[must_use]
pub fn class_word(class: u16) -> Option<&'static str> {
    Some(match class {
        1 => "C_INTERNET",
        2 => "C_CSNET",
        3 => "C_CHAOS",
        4 => "C_HESIOD",
        254 => "C_NONE",
        255 => "C_ANY",
        _ => return None,
    })
}

/// The types in the order of their numbers.
static TYPES: &[(u16, &str)] = &[
    (1, "A"),
    (2, "NS"),
    (3, "MD"),
    (4, "MF"),
    (5, "CNAME"),
    (6, "SOA"),
    (7, "MB"),
    (8, "MG"),
    (9, "MR"),
    (10, "NULL"),
    (11, "WKS"),
    (12, "PTR"),
    (13, "HINFO"),
    (14, "MINFO"),
    (15, "MX"),
    (16, "TXT"),
    (17, "RP"),
    (18, "AFSDB"),
    (19, "X25"),
    (20, "ISDN"),
    (21, "RT"),
    (22, "NSAP"),
    (23, "NSAP-PTR"),
    (24, "SIG"),
    (25, "KEY"),
    (26, "PX"),
    (27, "GPOS"),
    (28, "AAAA"),
    (29, "LOC"),
    (30, "NXT"),
    (31, "EID"),
    (32, "NB"),
    (33, "SRV"),
    (34, "ATMA"),
    (35, "NAPTR"),
    (36, "KX"),
    (37, "CERT"),
    (38, "A6"),
    (39, "DNAME"),
    (40, "SINK"),
    (41, "OPT"),
    (42, "APL"),
    (43, "DS"),
    (44, "SSHFP"),
    (45, "IPSECKEY"),
    (46, "RRSIG"),
    (47, "NSEC"),
    (48, "DNSKEY"),
    (49, "DHCID"),
    (50, "NSEC3"),
    (51, "NSEC3PARAM"),
    (52, "TLSA"),
    (53, "SMIMEA"),
    (55, "HIP"),
    (56, "NINFO"),
    (57, "RKEY"),
    (58, "TALINK"),
    (59, "CDS"),
    (60, "CDNSKEY"),
    (61, "OPENPGPKEY"),
    (62, "CSYNC"),
    (63, "ZONEMD"),
    (64, "SVCB"),
    (65, "HTTPS"),
    (99, "SPF"),
    (104, "NID"),
    (105, "L32"),
    (106, "L64"),
    (107, "LP"),
    (108, "EUI48"),
    (109, "EUI64"),
    (249, "TKEY"),
    (250, "TSIG"),
    (251, "IXFR"),
    (252, "AXFR"),
    (253, "MAILB"),
    (254, "MAILA"),
    (255, "*"),
    (256, "URI"),
    (257, "CAA"),
    (32768, "TA"),
    (32769, "DLV"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_found_by_its_number() {
        for (number, word) in TYPES {
            assert_eq!(type_word(*number), Some(*word));
        }
        assert_eq!(type_word(100), None);
    }
}
