//! Protocols that weir guesses by content are compared with those of tshark and Zeek, and right and wrong guesses
//! counted.
//!
//! Every capture beside the checkout is read; tshark reads those in which something was recognised, and all of them
//! with `WEIR_ORACLE_STRIDE=1`, which counts missed messages too. Flows are those of every eighth capture by default.
//! `WEIR_BLESS=1` with it writes the table of `docs/reference/guesses.md`.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::AsArray;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use weir_tables::{Extraction, Scan, ScanOptions, Source, Table};
use weir_testkit::captures::{FOLDERS, data};
use weir_testkit::zeek;

use crate::captures::{self, Capture};
use crate::{transports, tshark};

/// The numbers of guesses that are right, wrong, cannot be judged (tshark names nothing above the transport), or were
/// missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct GuessCounts {
    so: u64,
    not_so: u64,
    unknown: u64,
    missed: u64,
}

/// The protocols that tshark sees in each record of a capture, by its number; empty before tshark has run.
type SeenProtocols = OnceCell<HashMap<u64, BTreeSet<String>>>;

/// The results of some captures.
#[derive(Default)]
struct Guessed {
    counts: BTreeMap<String, GuessCounts>,
    /// Guesses that are wrong: the guess, the capture, and the protocols that tshark sees.
    wrong: BTreeSet<(String, String, String)>,
}

/// Guesses that tshark contradicts, and the reason why tshark is wrong.
const EXPLAINED: &[(&str, &str, &str)] = &[
    (
        "flow.service = ssh",
        "ssh-on-port-80.pcap",
        "tshark takes the port's word; the capture was made to have SSH there",
    ),
    (
        "flow.service = ssh",
        "ssl-and-ssh-using-sslh.pcap",
        "tshark takes the port's word, where sslh serves TLS and SSH",
    ),
    (
        "flow.service = mysql",
        "mysql-on-port-5432.pcap",
        "tshark takes the port's word; the capture was made to have MySQL there",
    ),
];

/// Protocols below those that are guessed, by tshark's names.
const BELOW: &str = "eth ethertype ip ipv6 tcp udp sctp data frame sll raw null ppp vlan mpls gre icmp icmpv6 fr llc \
    radiotap wlan pppoe l2tp vxlan gtp geneve pkt_comment prism ipv6.hopopts ipv6.routing ipv6.dstopts \
    ipv6.fraghdr esp ah mptcp";

/// The names that tshark has for a table's messages.
const TABLES: &[(&str, &str)] = &[
    ("websocket", "websocket"),
    ("sip", "sip"),
    ("h248", "megaco h248"),
];

/// The names that tshark has for a service, where it has others.
const SERVICES: &[(&str, &str)] = &[
    ("bgp", "bgp"),
    ("bittorrent", "bittorrent"),
    ("dhcp", "dhcp bootp"),
    ("diameter", "diameter"),
    ("dnp3", "dnp3"),
    ("dns", "dns mdns llmnr nbns"),
    ("dtls", "dtls"),
    ("ftp", "ftp"),
    ("h248", "megaco h248"),
    ("http", "http http2 websocket"),
    ("imap", "imap"),
    ("irc", "irc"),
    ("krb", "kerberos"),
    ("ldap", "ldap cldap"),
    ("modbus", "mbtcp modbus"),
    ("m3ua", "m3ua"),
    ("mgcp", "mgcp"),
    ("mqtt", "mqtt"),
    ("mysql", "mysql"),
    ("ntp", "ntp"),
    ("pop3", "pop"),
    ("postgresql", "pgsql"),
    ("quic", "quic gquic"),
    ("radius", "radius"),
    ("rdp", "rdp tpkt cotp"),
    ("redis", "resp"),
    ("rfb", "vnc"),
    ("rtcp", "rtcp"),
    ("rtp", "rtp"),
    ("rtsp", "rtsp"),
    ("sip", "sip"),
    ("smb", "smb smb2 nbss"),
    ("smtp", "smtp imf"),
    ("snmp", "snmp"),
    ("socks", "socks"),
    ("ssh", "ssh"),
    ("ssl", "tls ssl"),
    ("stun", "stun stun-udp stun-tcp classicstun"),
    ("syslog", "syslog"),
    ("tftp", "tftp"),
    ("websocket", "websocket"),
    ("xmpp", "xmpp"),
];

fn names(list: &str) -> BTreeSet<&str> {
    list.split_whitespace().collect()
}

/// Returns some columns of a table as text, row by row; damage of the capture is ignored.
fn read(table: &str, path: &Path, wanted: &[&str]) -> Vec<Vec<Option<String>>> {
    let table = Table::extracted(Extraction::named(table).unwrap());
    let place = |name: &&str| {
        table
            .columns()
            .iter()
            .position(|column| *column.name == **name)
    };
    let projection: Vec<usize> = wanted.iter().map(|name| place(name).unwrap()).collect();
    let sources = vec![Source::capture(path)];
    let mut scan = Scan::new(&table, &projection, None, sources, ScanOptions::default());
    let mut rows = Vec::new();
    while let Ok(Some(batch)) = scan.next_batch() {
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| match column.data_type() {
                DataType::BinaryView => {
                    let bytes = column.as_binary_view();
                    let texts = bytes.iter().map(|value| value.map(address));
                    texts.collect::<Vec<_>>()
                }
                _ => {
                    let texts = cast(column, &DataType::Utf8).unwrap();
                    let texts = texts.as_string::<i32>().iter();
                    texts.map(|text| text.map(str::to_owned)).collect()
                }
            })
            .collect();
        for row in 0..batch.num_rows() {
            rows.push(columns.iter().map(|column| column[row].clone()).collect());
        }
    }
    rows
}

fn address(bytes: &[u8]) -> String {
    match (<[u8; 4]>::try_from(bytes), <[u8; 16]>::try_from(bytes)) {
        (Ok(four), _) => std::net::Ipv4Addr::from(four).to_string(),
        (_, Ok(sixteen)) => std::net::Ipv6Addr::from(sixteen).to_string(),
        _ => String::new(),
    }
}

impl Guessed {
    fn count(&mut self, guess: &str) -> &mut GuessCounts {
        self.counts.entry(guess.to_owned()).or_default()
    }

    /// Counts a guess about rows in which tshark sees `protocols`.
    fn judge(
        &mut self,
        guess: &str,
        expected: &str,
        capture: &Capture,
        protocols: &BTreeSet<&str>,
        rows: u64,
    ) {
        let below = names(BELOW);
        let above: Vec<&str> = protocols.difference(&below).copied().collect();
        let is_so = above.iter().any(|name| names(expected).contains(name));
        let counts = self.count(guess);
        if is_so {
            counts.so += rows;
        } else if above.is_empty() {
            counts.unknown += rows;
        } else {
            counts.not_so += rows;
            let seen = above.join(" ");
            self.wrong
                .insert((guess.to_owned(), capture.name.clone(), seen));
        }
    }

    /// The rows of `websocket`, `sip` and `h248`, by the records that completed them.
    fn tables(&mut self, capture: &Capture, seen: &SeenProtocols, is_full: bool) {
        let none = BTreeSet::new();
        let claims: Vec<HashMap<u64, u64>> = TABLES
            .iter()
            .map(|(table, _)| {
                let mut frames = HashMap::new();
                for row in read(table, &capture.path, &["frame.number"]) {
                    // A row that is completed by the end of the capture has no record.
                    if let Some(number) = row[0].as_ref().and_then(|text| text.parse().ok()) {
                        *frames.entry(number).or_default() += 1;
                    }
                }
                frames
            })
            .collect();
        if !is_full && claims.iter().all(HashMap::is_empty) {
            return;
        }
        let seen = seen.get_or_init(|| tshark::protocols(&capture.path));
        for ((table, expected), frames) in TABLES.iter().zip(claims) {
            for (frame, rows) in &frames {
                let protocols = seen.get(frame).unwrap_or(&none);
                let protocols = protocols.iter().map(String::as_str).collect();
                self.judge(table, expected, capture, &protocols, *rows);
            }
            let is_missed = |(frame, protocols): &(&u64, &BTreeSet<String>)| {
                !frames.contains_key(frame)
                    && names(expected).iter().any(|name| protocols.contains(*name))
            };
            self.count(table).missed += seen.iter().filter(is_missed).count() as u64;
        }
    }

    /// The services of flows, by all their records.
    fn services(&mut self, capture: &Capture, seen: &SeenProtocols) {
        let mut services: HashMap<String, Option<String>> = HashMap::new();
        for row in read("flows", &capture.path, &["flow.id", "flow.service"]) {
            let service = services.entry(row[0].clone().unwrap()).or_default();
            *service = row[1].clone().or(service.take());
        }
        let seen = seen.get_or_init(|| tshark::protocols(&capture.path));
        let mut protocols: HashMap<String, BTreeSet<&str>> = HashMap::new();
        for row in read("flow_packets", &capture.path, &["flow.id", "frame.number"]) {
            let [Some(flow), Some(frame)] = &row[..] else {
                continue;
            };
            let names = seen.get(&frame.parse().unwrap());
            let names = names.into_iter().flatten().map(String::as_str);
            protocols.entry(flow.clone()).or_default().extend(names);
        }
        for (flow, service) in services {
            let seen = protocols.remove(&flow).unwrap_or_default();
            match service {
                Some(service) => {
                    let expected = SERVICES.iter().find(|(name, _)| *name == service);
                    let (_, expected) =
                        expected.unwrap_or_else(|| panic!("{service} has no judge"));
                    self.judge(
                        &format!("flow.service = {service}"),
                        expected,
                        capture,
                        &seen,
                        1,
                    );
                }
                None => {
                    let is_there = |(_, list): &&(&str, &str)| !names(list).is_disjoint(&seen);
                    if let Some((service, _)) = SERVICES.iter().find(is_there) {
                        self.count(&format!("flow.service = {service}")).missed += 1;
                    }
                }
            }
        }
    }

    fn add(&mut self, other: Self) {
        for (guess, counts) in other.counts {
            let sum = self.count(&guess);
            sum.so += counts.so;
            sum.not_so += counts.not_so;
            sum.unknown += counts.unknown;
            sum.missed += counts.missed;
        }
        self.wrong.extend(other.wrong);
    }
}

#[test]
fn nothing_was_guessed_that_tshark_sees_to_be_something_else() {
    if !tshark::is_installed() {
        weir_testkit::missing("tshark", "nothing judges what is guessed by content");
        return;
    }
    let stride = std::env::var("WEIR_ORACLE_STRIDE").map_or(8, |stride| stride.parse().unwrap());
    let mut captures = Vec::new();
    for folder in FOLDERS {
        let found = captures::listed(folder);
        captures.extend(found.into_iter().map(|capture| capture.within(folder)));
    }
    if captures.is_empty() {
        weir_testkit::missing("captures", &data().display().to_string());
        return;
    }
    let made = tempfile::tempdir().unwrap();
    captures.extend(transports::megaco_captures(made.path()));
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Guessed::default());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(capture) = captures.get(number) else {
                return;
            };
            let mut found = Guessed::default();
            let seen = SeenProtocols::new();
            found.tables(capture, &seen, stride == 1);
            if number.is_multiple_of(stride) {
                found.services(capture, &seen);
            }
            all.lock().unwrap().add(found);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    let all = all.into_inner().unwrap();
    for (guess, counts) in &all.counts {
        println!("{guess}: {counts:?}");
    }
    let explained = |(guess, capture, _): &&(String, String, String)| {
        EXPLAINED
            .iter()
            .any(|(known, end, _)| guess == known && capture.ends_with(end))
    };
    let unexplained: Vec<_> = all.wrong.iter().filter(|wrong| !explained(wrong)).collect();
    assert!(unexplained.is_empty(), "{unexplained:#?}");
    let h248 = all.counts["h248"];
    assert!(h248.so > 180 && h248.not_so == 0, "{h248:?}");
    // A connection without a judgement is no WebSocket connection, as a capture of one was never seen to be.
    let websocket = all.counts["websocket"];
    assert_eq!((websocket.not_so, websocket.unknown), (0, 0));
    if stride == 1 {
        page(&all, captures.len());
    }
}

/// Compares with the page, or writes its table. More guesses may be right than the page has, as captures are added.
fn page(all: &Guessed, captures: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/guesses.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = text.split_once(BEGIN).unwrap();
    let (table, tail) = rest.split_once(END).unwrap();
    if std::env::var_os("WEIR_BLESS").is_some() {
        let mut table = format!(
            "\nOver {captures} captures:\n\n| guess | so | not so | not to be judged | missed |\n|---|--:|--:|--:|--:|\n"
        );
        for (guess, counts) in &all.counts {
            let GuessCounts {
                so,
                not_so,
                unknown,
                missed,
            } = counts;
            table += &format!("| `{guess}` | {so} | {not_so} | {unknown} | {missed} |\n");
        }
        std::fs::write(&path, format!("{head}{BEGIN}{table}{END}{tail}")).unwrap();
        return;
    }
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    for row in rows {
        let (guess, numbers) = row.split_once("` |").unwrap();
        let numbers: Vec<u64> = numbers
            .split('|')
            .filter_map(|text| text.trim().parse().ok())
            .collect();
        let counts = all.counts.get(guess).copied().unwrap_or_default();
        assert!(
            counts.so >= numbers[0],
            "{guess}: {counts:?}, the page says {row}"
        );
        assert!(
            counts.not_so <= numbers[1],
            "{guess}: {counts:?}, the page says {row}"
        );
    }
}

const BEGIN: &str = "<!-- made by a test: begin -->";
const END: &str = "<!-- made by a test: end -->";

/// Where Zeek names a service, the column has the same or none; where it names none, tshark judges.
#[test]
fn services_of_flows_are_those_of_zeeks_conn_log() {
    let cases = zeek::cases("conn.log", "services of flows with Zeek's conn.log").unwrap();
    if cases.is_empty() {
        return;
    }
    let (mut same, mut missed, mut different) = (0, 0, Vec::new());
    for case in cases {
        let mut ours: HashMap<[String; 4], String> = HashMap::new();
        let wanted = [
            "addr.src",
            "port.src",
            "addr.dst",
            "port.dst",
            "flow.service",
        ];
        for row in read("flows", &case.capture, &wanted) {
            let mut row: Vec<String> = row.into_iter().map(Option::unwrap_or_default).collect();
            let service = row.pop().unwrap();
            ours.insert(row.try_into().unwrap(), service);
        }
        for row in &case.expected {
            let ends = ["id.orig_h", "id.orig_p", "id.resp_h", "id.resp_p"];
            let ends = ends.map(|name| row.get(name).cloned().unwrap_or_default());
            let theirs = row.get("service").map_or("-", String::as_str);
            let Some(service) = ours.get(&ends) else {
                continue;
            };
            match service.as_str() {
                _ if theirs == "-" => {}
                "" => missed += 1,
                // Zeek names several services in any order: `quic,ssl`.
                service
                    if theirs
                        .split(',')
                        .any(|name| name == service || same_service(name, service)) =>
                {
                    same += 1;
                }
                service => {
                    different.push(format!("{}: {ends:?}: {theirs}, ours {service}", case.name));
                }
            }
        }
    }
    println!(
        "{same} flows with the service that Zeek names, {missed} with none, {} with another",
        different.len()
    );
    assert!(same > 0);
    assert!(different.is_empty(), "{different:#?}");
}

/// Returns whether a service is the same when Zeek names it by the protocol that carries it, or more exactly.
fn same_service(theirs: &str, ours: &str) -> bool {
    matches!(
        (theirs, ours),
        ("ldap_tcp" | "ldap_udp", "ldap")
            | ("krb_tcp", "krb")
            | ("dce_rpc" | "gssapi" | "ntlm", "smb")
            | ("spicy_ssh", "ssh")
            | ("gssapi", "ldap")
    )
}
