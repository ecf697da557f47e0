/// Filters over messages that errors of ICMP quote, and which of the packets of [`quotes`] they select, from 1.
const OF_QUOTES: &[(&str, &[u64])] = &[
    ("dns.qry.name", &[1, 2, 3, 6, 8, 9, 14]),
    ("dns.qry.name == \"www.example.org\"", &[1, 2, 3, 6, 8, 9, 14]),
    ("not dns.qry.name", &[4, 5, 7, 10, 11, 12, 13]),
    ("dns.qry.name == \"www.example.org\" && icmp", &[2, 3, 8, 9, 14]),
    ("dns.qry.name == \"www.example.org\" && icmpv6", &[6]),
    ("dns.flags.response == 1", &[8, 9]),
    ("dns.a == 192.0.2.80", &[8, 9]),
    ("dns.id == 0x1234", &[1, 2, 3, 4, 6, 8, 9, 14]),
    // Neither of the two is the answer of the other: they are quoted.
    ("dns.time", &[]),
    ("sip.Method == \"OPTIONS\"", &[10]),
    ("sip.Call-ID == \"q\"", &[10]),
    ("ntp.flags.mode == 3", &[11]),
    ("snmp.community == \"public\"", &[12]),
];

/// Datagrams of UDP, and the errors of ICMP that quote them whole or cut: RFC 792 gives 8 octets of what IP carries at
/// least, RFC 1812 (4.3.2.3) and RFC 4443 (3) as much as fits.
fn quotes() -> Vec<Vec<u8>> {
    let [desk, server] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::Ipv4Addr::from);
    let datagram = |ports: (u16, u16), payload: &[u8]| {
        let datagram = udp(desk.into(), server.into(), ports.0, ports.1, payload);
        Ipv4::new(desk, server, protocol::UDP).packet(&datagram)
    };
    let error = |kind: u8, code: u8, quote: &[u8]| {
        Ipv4::new(server, desk, protocol::ICMP).packet(&icmp(kind, code, [0; 4], quote))
    };
    let mut question = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\x01\x03www\x07example\x03org\0\0\x01\0\x01".to_vec();
    let mut answer = question.clone();
    (answer[2], answer[7], answer[11]) = (0x81, 1, 0);
    answer.extend(b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x50");
    // RFC 6891: OPT.
    question.extend(b"\0\0\x29\x10\0\0\0\0\0\0\0");
    let asked = datagram((40_001, 53), &question);
    let answered = datagram((53, 40_001), &answer);
    let asked_by_6 = {
        let [desk, server] = ["2001:db8::1", "2001:db8::2"].map(|it| it.parse().unwrap());
        let datagram = udp(IpAddr::V6(desk), IpAddr::V6(server), 40_001, 53, &question);
        let asked = Ipv6::new(desk, server, protocol::UDP).packet(&datagram);
        let error = icmpv6(server, desk, 1, 4, [0; 4], &asked);
        Ipv6::new(server, desk, protocol::ICMPV6).packet(&error)
    };
    let options = "OPTIONS sip:b@h SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\r\nFrom: <sip:a@h>;tag=1\r\n\
        To: <sip:b@h>\r\nCall-ID: q\r\nCSeq: 1 OPTIONS\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n";
    let time = [&[0x23][..], &[0; 47]].concat();
    let get = b"\x30\x26\x02\x01\0\x04\x06public\xa0\x19\x02\x04\0\0\0\x01\x02\x01\0\x02\x01\0\x30\x0b\x30\x09\
        \x06\x05\x2b\x06\x01\x02\x01\x05\0";
    vec![
        asked.clone(),
        error(3, 3, &asked),
        // Cut within OPT, within the name, and behind the header of UDP.
        error(11, 0, &asked[..asked.len() - 6]),
        error(3, 1, &asked[..20 + 8 + 20]),
        error(3, 3, &asked[..20 + 8]),
        asked_by_6,
        // It is no error, though its data look so.
        Ipv4::new(desk, server, protocol::ICMP).packet(&icmp_echo(false, 1, 1, &asked)),
        error(3, 3, &answered),
        error(3, 3, &answered),
        error(3, 3, &datagram((5060, 5060), options.as_bytes())),
        error(3, 3, &datagram((123, 123), &time)),
        error(3, 3, &datagram((40_002, 161), get)),
        // A redirect quotes what was sent on, and is no error.
        error(5, 1, &asked),
        error(3, 13, &datagram((40_003, 9), &question)),
    ]
}

/// They were read as headers alone, and `dns.qry.name` selected none of them.
#[test]
fn messages_that_errors_of_icmp_quote_are_selected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("quotes.pcap");
    crate::wire::write(&quotes(), &path);
    for (filter, expected) in OF_QUOTES {
        let selected: Vec<u64> = by_weir(filter, &path).into_iter().collect();
        assert_eq!(selected, *expected, "{filter}");
    }
    // What is only quoted was not sent, and tables do not have it.
    let dns = crate::sip::read("dns", &[&path], 100);
    assert_eq!(crate::sip::column(&dns, "frame.number"), ["1"]);
    if !tshark::is_installed() {
        weir_testkit::missing("tshark", "nothing judges filters over what is quoted");
        return;
    }
    let filters: Vec<&str> = OF_QUOTES.iter().map(|(filter, _)| *filter).collect();
    let script = folder.path().join("filters.lua");
    std::fs::write(&script, lua(&filters)).unwrap();
    let selected = by_tshark(&script, &[], &path, filters.len()).unwrap();
    for ((filter, expected), selected) in OF_QUOTES.iter().zip(selected) {
        let selected: Vec<u64> = selected.into_iter().collect();
        assert_eq!(selected, *expected, "tshark: {filter}");
    }
}
