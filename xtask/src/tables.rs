//! `cargo xtask bench tables`: rows a second of `dns`, `tls`, `http` and `rtp`, beside tshark with the same fields.
//!
//! `WEIR_PROGRAM=path/to/weir` measures that program instead of one that is built; `WEIR_ROWS=1000` makes small traces,
//! which try the benchmark and say little.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context, Result, bail};
use weir_testkit::Rng;
use weir_testkit::capture::{Endian, PcapVariant, PcapWriter};
use weir_testkit::packet::{Ipv4, Tcp, protocol, tcp_flags, udp};

use crate::comparison::Comparison;
use crate::measure::{Subject, alternate, median};
use crate::process::installed;
use crate::scan::program;

/// A query of a table, and tshark's for the same.
struct TableQuery {
    table: &'static str,
    columns: &'static str,
    /// tshark's filter and fields for it.
    filter: &'static str,
    fields: &'static [&'static str],
    make: fn(&mut Trace, &mut Rng, u32) -> Result<()>,
}

const QUESTIONS: &[TableQuery] = &[
    TableQuery {
        table: "dns",
        columns: "dns.id, dns.qry.name, dns.flags.rcode, dns.a, dns.time",
        filter: "dns",
        fields: &[
            "dns.id",
            "dns.qry.name",
            "dns.flags.rcode",
            "dns.a",
            "dns.time",
        ],
        make: dns,
    },
    TableQuery {
        table: "tls",
        columns: "tls.handshake.extensions_server_name, tls.version, tls.cipher",
        filter: "tls.handshake",
        fields: &[
            "tls.handshake.extensions_server_name",
            "tls.handshake.version",
            "tls.handshake.ciphersuite",
        ],
        make: tls,
    },
    TableQuery {
        table: "http",
        columns: "http.request.method, http.host, http.request.uri, http.response.code, http.time",
        filter: "http",
        fields: &[
            "http.request.method",
            "http.host",
            "http.request.uri",
            "http.response.code",
            "http.time",
        ],
        make: http,
    },
    TableQuery {
        table: "rtp",
        columns: "rtp.ssrc, rtp.seq, rtp.timestamp, rtp.p_type",
        filter: "rtp",
        fields: &["rtp.ssrc", "rtp.seq", "rtp.timestamp", "rtp.p_type"],
        make: rtp,
    },
];

/// Rows of a trace.
const ROWS: u32 = 200_000;
const ROUNDS: usize = 3;
/// The goal: weir's speed as a multiple of tshark's.
const GOAL: f64 = 50.0;

/// Runs the benchmark.
pub(crate) fn run() -> Result<Vec<Comparison>> {
    let weir = program()?;
    let rows = match std::env::var("WEIR_ROWS") {
        Ok(rows) => rows.parse().context("WEIR_ROWS is a number")?,
        Err(_) => ROWS,
    };
    if !installed("tshark") {
        bail!("tshark is the peer, and is not there");
    }
    let folder = std::env::temp_dir().join("weir-bench-tables");
    fs::create_dir_all(&folder)?;
    let mut comparisons = Vec::new();
    for question in QUESTIONS {
        let path = folder.join(format!("{}.pcap", question.table));
        let mut trace = Trace::new(&path)?;
        (question.make)(&mut trace, &mut Rng::new(1), rows)?;
        trace.end()?;
        comparisons.push(compare(question, &weir, &path)?);
    }
    fs::remove_dir_all(&folder)?;
    Ok(comparisons)
}

fn compare(question: &TableQuery, weir: &str, path: &Path) -> Result<Comparison> {
    let capture = path.to_str().context("the path of a trace is UTF-8")?;
    let sql = format!(
        "SELECT {} FROM {}('{capture}')",
        question.columns, question.table
    );
    let mut arguments = vec!["-n", "-r", capture, "-T", "fields", "-Y", question.filter];
    // The traces have no signalling, so both programs must recognize RTP themselves.
    arguments.extend(["--enable-heuristic", "rtp_udp"]);
    for field in question.fields {
        arguments.extend(["-e", field]);
    }
    let subjects = [
        Subject::new("weir", weir, &["query", "--format", "csv", "-q", &sql]),
        Subject::new("tshark", "tshark", &arguments),
    ];
    let results = alternate(&subjects, ROUNDS)?;
    let rows = results[0].1.lines().count().saturating_sub(1);
    if rows == 0 || results[1].1.lines().count() == 0 {
        bail!("{}: nothing was found", question.table);
    }
    let wall = |at: usize| median(&results[at].0, |cost| cost.wall);
    let (ours, peer) = (wall(0), wall(1));
    println!(
        "{}: {rows} rows in {ours:.3} s, {:.0} rows a second; tshark {peer:.3} s, {:.1} times as long (goal {GOAL})",
        question.table,
        rows as f64 / ours,
        peer / ours
    );
    Ok(Comparison {
        name: format!("{} wall", question.table),
        peer_name: "tshark -T fields".to_owned(),
        ours,
        peer,
        unit: "s".to_owned(),
    })
}

/// A capture of raw IP under way.
struct Trace {
    writer: PcapWriter<BufWriter<File>>,
    time_ns: u64,
}

const RAW_IP: u16 = 101;
const SERVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);

impl Trace {
    fn new(path: &Path) -> Result<Self> {
        let file = BufWriter::new(File::create(path)?);
        let writer = PcapWriter::new(file, RAW_IP, 65_535, PcapVariant::Nano, Endian::Little)?;
        Ok(Self {
            writer,
            time_ns: 1_700_000_000_000_000_000,
        })
    }

    fn packet(
        &mut self,
        src: Ipv4Addr,
        dst: Ipv4Addr,
        transport: u8,
        segment: &[u8],
    ) -> Result<()> {
        self.time_ns += 50_000;
        let packet = Ipv4::new(src, dst, transport).packet(segment);
        self.writer
            .packet(self.time_ns, packet.len() as u32, &packet)?;
        Ok(())
    }

    fn datagram(&mut self, src: (Ipv4Addr, u16), dst: (Ipv4Addr, u16), bytes: &[u8]) -> Result<()> {
        let segment = udp(src.0.into(), dst.0.into(), src.1, dst.1, bytes);
        self.packet(src.0, dst.0, protocol::UDP, &segment)
    }

    /// A connection in which both sides send these pieces in turn, the client first.
    fn connection(&mut self, client: (Ipv4Addr, u16), port: u16, pieces: &[Vec<u8>]) -> Result<()> {
        let mut numbers = [1_000_u32, 5_000];
        let mut segment = |trace: &mut Self, side: usize, flags: u8, bytes: &[u8]| {
            let ends = [client, (SERVER, port)];
            let (src, dst) = (ends[side], ends[1 - side]);
            let tcp = Tcp::new(src.1, dst.1)
                .numbers(numbers[side], numbers[1 - side])
                .flags(flags);
            let bytes_on_wire = tcp.segment(src.0.into(), dst.0.into(), bytes);
            let beyond = u32::from(flags & (tcp_flags::SYN | tcp_flags::FIN) != 0);
            numbers[side] += bytes.len() as u32 + beyond;
            trace.packet(src.0, dst.0, protocol::TCP, &bytes_on_wire)
        };
        segment(self, 0, tcp_flags::SYN, b"")?;
        segment(self, 1, tcp_flags::SYN | tcp_flags::ACK, b"")?;
        segment(self, 0, tcp_flags::ACK, b"")?;
        for (number, piece) in pieces.iter().enumerate() {
            segment(self, number % 2, tcp_flags::ACK | tcp_flags::PSH, piece)?;
        }
        segment(self, 0, tcp_flags::FIN | tcp_flags::ACK, b"")?;
        segment(self, 1, tcp_flags::FIN | tcp_flags::ACK, b"")
    }

    fn end(self) -> Result<()> {
        self.writer.into_inner().flush()?;
        Ok(())
    }
}

/// A client of its own for each number.
fn client(number: u32) -> (Ipv4Addr, u16) {
    let [_, high, middle, low] = (number / 60_000 + 1).to_be_bytes();
    (
        Ipv4Addr::new(10, high, middle, low),
        1_024 + (number % 60_000) as u16,
    )
}

fn dns(trace: &mut Trace, random: &mut Rng, rows: u32) -> Result<()> {
    for number in 0..rows / 2 {
        let name = format!("host{}", random.below(5_000));
        let mut question = (number as u16).to_be_bytes().to_vec();
        question.extend(b"\x01\0\0\x01\0\0\0\0\0\0");
        question.push(name.len() as u8);
        question.extend(name.as_bytes());
        question.extend(b"\x07example\x03org\0\0\x01\0\x01");
        let mut answer = question.clone();
        answer[2..8].copy_from_slice(b"\x81\x80\0\x01\0\x01");
        answer.extend(b"\xc0\x0c\0\x01\0\x01\0\0\x01\x2c\0\x04");
        answer.extend(random.bytes(4));
        let asks = client(number);
        trace.datagram(asks, (SERVER, 53), &question)?;
        trace.datagram((SERVER, 53), asks, &answer)?;
    }
    Ok(())
}

fn http(trace: &mut Trace, random: &mut Rng, rows: u32) -> Result<()> {
    for number in 0..rows / 4 {
        let mut pieces = Vec::new();
        for _ in 0..4 {
            let page = random.below(10_000);
            pieces.push(
                format!("GET /pages/{page} HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n")
                    .into_bytes(),
            );
            let length = 100 + random.below(900) as usize;
            let mut response = format!(
                "HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n"
            )
            .into_bytes();
            response.extend(vec![b'x'; length]);
            pieces.push(response);
        }
        trace.connection(client(number), 80, &pieces)?;
    }
    Ok(())
}

fn tls(trace: &mut Trace, random: &mut Rng, rows: u32) -> Result<()> {
    let record = |kind: u8, body: &[u8]| {
        let mut record = vec![kind, 3, 3];
        record.extend((body.len() as u16).to_be_bytes());
        record.extend(body);
        record
    };
    let message = |kind: u8, body: &[u8]| {
        let [_, high, middle, low] = (body.len() as u32).to_be_bytes();
        [&[kind, high, middle, low][..], body].concat()
    };
    for number in 0..rows {
        let name = format!("host{:05}.example.org", random.below(50_000));
        let mut hello = vec![3, 3];
        hello.extend(random.bytes(32));
        hello.extend(b"\0\0\x04\xc0\x2f\xc0\x30\x01\0");
        let mut extension = b"\0\0".to_vec();
        extension.extend((name.len() as u16 + 5).to_be_bytes());
        extension.extend((name.len() as u16 + 3).to_be_bytes());
        extension.push(0);
        extension.extend((name.len() as u16).to_be_bytes());
        extension.extend(name.as_bytes());
        hello.extend((extension.len() as u16).to_be_bytes());
        hello.extend(extension);
        let mut answer = vec![3, 3];
        answer.extend(random.bytes(32));
        answer.extend(b"\0\xc0\x2f\0");
        let change = record(20, &[1]);
        let sealed = record(22, &random.bytes(40));
        let data = record(23, &random.bytes(200));
        let pieces = [
            record(22, &message(1, &hello)),
            [
                record(22, &message(2, &answer)),
                record(22, &message(14, b"")),
            ]
            .concat(),
            [&change[..], &sealed].concat(),
            [&change[..], &sealed].concat(),
            data.clone(),
            data,
        ];
        trace.connection(client(number), 443, &pieces)?;
    }
    Ok(())
}

fn rtp(trace: &mut Trace, random: &mut Rng, rows: u32) -> Result<()> {
    /// Streams at one time.
    const STREAMS: u32 = 200;
    let sound = random.bytes(160);
    for number in 0..rows {
        let (stream, at) = (number % STREAMS, number / STREAMS);
        let mut packet = vec![0x80, 0];
        packet.extend((at as u16).to_be_bytes());
        packet.extend(at.wrapping_mul(160).to_be_bytes());
        packet.extend((stream + 1).to_be_bytes());
        packet.extend(&sound);
        let port = 10_000 + 2 * stream as u16;
        trace.datagram((Ipv4Addr::new(10, 0, 0, 1), port), (SERVER, port), &packet)?;
    }
    Ok(())
}
