//! The sample captures of `weir demo`: small, believable, the same every time.

mod atm;
mod call;
mod calls;
mod megaco;
mod office;
mod recorder;
mod services;
mod talk;
mod voip;
mod wan;
mod websocket;
mod wire;

use crate::Rng;
use std::io;
use std::net::Ipv6Addr;
use std::path::Path;

pub use call::call_pcap;

/// The record layout of recorder.bin, as `records(...)` reads it.
pub const RECORDER_LAYOUT: &str = include_str!("recorder.toml");

/// A file that [`write_demo`] wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DemoFile {
    /// The name within the directory.
    pub file_name: &'static str,
    /// The content, in a line.
    pub what: &'static str,
    /// The number of records; 0 for files that are no captures.
    pub records: u64,
}

/// Writes the sample captures into `dir`, which is made if it is missing; files of the same names
/// are replaced. Their bytes are the same on every machine. Some 3 MB, well under a second.
///
/// # Errors
/// The errors of the file system.
pub fn write_demo(dir: &Path) -> io::Result<Vec<DemoFile>> {
    std::fs::create_dir_all(dir)?;
    let mut files = Vec::new();
    for (file, bytes) in demo_files()? {
        std::fs::write(dir.join(file.file_name), bytes)?;
        files.push(file);
    }
    Ok(files)
}

/// The sample captures and their bytes, for callers that write the files themselves.
///
/// # Errors
/// The errors of the writer of captures.
pub fn demo_files() -> io::Result<Vec<(DemoFile, Vec<u8>)>> {
    let mut files = Vec::new();
    for (index, (file_name, what, make)) in FILES.iter().enumerate() {
        // Each file has a seed of its own, so that a change of one leaves the others unchanged.
        let (bytes, records) = make(&mut Rng::new(2026 + index as u64))?;
        let file = DemoFile {
            file_name,
            what,
            records,
        };
        files.push((file, bytes));
    }
    Ok(files)
}

/// Makes a file's bytes and counts its records.
type Make = fn(&mut Rng) -> io::Result<(Vec<u8>, u64)>;

const FILES: [(&str, &str, Make); 14] = [
    (
        "office.pcapng",
        "an office network on two interfaces: VLANs, IPv4 and IPv6, TCP, UDP, SCTP, ICMP, tunnels",
        office::office_pcapng,
    ),
    (
        "wan.erf",
        "frame relay on the channels of T1 lines, as a multi-channel ERF card records it",
        wan::wan_erf,
    ),
    (
        "framerelay.pcap",
        "frame relay with addresses of 2, 3 and 4 bytes and every way to carry IP",
        wan::frame_relay_pcap,
    ),
    (
        "atm.erf",
        "ATM cells and AAL5 units, plain and multi-channel",
        atm::atm_erf,
    ),
    (
        "sunatm.pcap",
        "classical IP and LAN emulation over ATM, seen by a host",
        atm::sun_atm_pcap,
    ),
    (
        "recorder.bin",
        "a T1 recorder's private format, described by recorder.toml",
        |rng| Ok(recorder::file(rng)),
    ),
    ("recorder.toml", "the layout of recorder.bin", |_| {
        Ok((RECORDER_LAYOUT.as_bytes().to_vec(), 0))
    }),
    (
        "voip.pcap",
        "a small office: a name, a web page, a scan of ports, SIP calls over UDP and TCP",
        voip::voip_pcap,
    ),
    (
        "megaco.pcap",
        "a media gateway and its controller: Megaco in text over UDP",
        megaco::megaco_pcap,
    ),
    (
        "websocket.pcap",
        "prices over WebSocket connections with permessage-deflate",
        websocket::websocket_pcap,
    ),
    (
        "messages.ndjson",
        "such messages, one a line",
        websocket::messages,
    ),
    (
        "calls.pcap",
        "telephones that register, and three calls, of which one has its voice (RTP, RTCP)",
        calls::calls_pcap,
    ),
    (
        "services.pcap",
        "a small site: DHCP, ARP, DNS, NTP, SNMP, RADIUS, MQTT, HTTP, TLS, QUIC, tags, and a machine that calls home",
        services::services_pcap,
    ),
    (
        "diameter.pcap",
        "the core of a mobile network: Diameter over TCP and SCTP (S6a, Gx, Cx, credit control, accounting)",
        |_| Ok((include_bytes!("diameter.pcap").to_vec(), 27)),
    ),
];

/// 2026-01-01T00:00:00Z.
const START_NS: u64 = 1_767_225_600_000_000_000;

/// The activity in each half minute of the ten minutes: a working day in miniature.
const BUSY: [u64; 20] = [
    2, 2, 3, 5, 8, 11, 13, 14, 13, 10, 9, 12, 14, 13, 11, 9, 7, 5, 3, 2,
];

/// A time within the ten minutes, likelier when they are busy.
fn arrival_ns(rng: &mut Rng) -> u64 {
    let mut ticket = rng.below(BUSY.iter().sum());
    let mut half_minute = 0;
    for weight in BUSY {
        if ticket < weight {
            break;
        }
        ticket -= weight;
        half_minute += 1;
    }
    START_NS + half_minute * 30_000_000_000 + rng.below(30_000_000_000)
}

/// A host's address in the network 2001:db8:10::/64.
const fn ipv6(host: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0x10, 0, 0, 0, 0, host)
}
