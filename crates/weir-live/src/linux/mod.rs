//! Live captures on Linux: a packet socket, its ring, and the stream of its packets.

mod ring;
mod socket;

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weir_capture::{WriteError, WriteRecord, Writer};

use crate::{CaptureOptions, Counts, Error, ErrorKind, Instruction};
use ring::{Ring, RingPacket};
use socket::PacketSocket;

pub use socket::interfaces;

/// An interface to capture on; no packet is captured before it is started.
#[derive(Debug)]
pub struct Interface {
    socket: PacketSocket,
    index: i32,
    link_type: u32,
    options: CaptureOptions,
    counts: Arc<Counts>,
}

impl Interface {
    /// Opens an interface, which needs the capability `CAP_NET_RAW`.
    ///
    /// # Errors
    /// When there is no such interface, it may not be captured on, or what it carries is unknown.
    pub fn open(name: &str, options: &CaptureOptions) -> Result<Self, Error> {
        let Some(index) = socket::index_of(name) else {
            let error = Error::new(ErrorKind::NotFound, format!("no interface named {name}"));
            let known = interfaces().unwrap_or_default();
            return Err(error.with_hint(format!("the interfaces are {}", known.join(", "))));
        };
        let failed = |error| Error::system(&format!("cannot capture on {name}"), error);
        let socket = PacketSocket::open().map_err(failed)?;
        socket.bind(index, false).map_err(failed)?;
        let hardware = socket.hardware_type().map_err(failed)?;
        let link_type = link_type(hardware).ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                format!(
                    "{name} has a hardware type without a link type for captures (ARPHRD {hardware})"
                ),
            )
        })?;
        Ok(Self {
            socket,
            index,
            link_type,
            options: options.clone(),
            counts: Arc::default(),
        })
    }

    /// The LINKTYPE_ number of its packets.
    #[must_use]
    pub const fn link_type(&self) -> u32 {
        self.link_type
    }

    /// The counters of the capture, which go on counting.
    #[must_use]
    pub const fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    /// Captures the packets that pass `filter`; all of them when it is empty. After `stop` is set, the packets that have arrived
    /// are still returned.
    ///
    /// # Errors
    /// When the system has no memory for the ring, or refuses the filter.
    pub fn start(self, filter: &[Instruction], stop: Arc<AtomicBool>) -> Result<Packets, Error> {
        let failed = |what: &'static str| move |error| Error::system(what, error);
        let Self { socket, .. } = &self;
        let ring = Ring::new(socket, self.options.ring_bytes)
            .map_err(failed("cannot set up the ring of packets"))?;
        if self.options.promiscuous {
            socket
                .be_promiscuous(self.index)
                .map_err(failed("cannot switch to promiscuous mode"))?;
        }
        // A packet over loopback would be captured twice. Kernels before 4.20 do not have the option: outgoing packets are skipped
        // one by one, too.
        let _ = socket.ignore_outgoing(
            self.link_type_is_loopback()
                .map_err(failed("cannot read its link type"))?,
        );
        if !filter.is_empty() {
            socket
                .attach(filter)
                .map_err(failed("the kernel refuses the filter"))?;
        }
        socket
            .bind(self.index, true)
            .map_err(failed("cannot start to capture"))?;
        let skips_outgoing = self.link_type_is_loopback().unwrap_or(false);
        let writer = Writer::pcap_of(Vec::new(), self.link_type)
            .map_err(|error| Error::new(ErrorKind::System, error.to_string()))?;
        Ok(Packets {
            ring,
            socket: self.socket,
            writer,
            given: 0,
            snap_len: self.options.snap_len,
            link_type: self.link_type,
            skips_outgoing,
            tagged: Vec::new(),
            counts: self.counts,
            stop,
            stopping: None,
            paused_at: Instant::now(),
        })
    }

    fn link_type_is_loopback(&self) -> io::Result<bool> {
        Ok(self.socket.hardware_type()? == libc::ARPHRD_LOOPBACK)
    }
}

/// The captured packets as an endless pcap with times in nanoseconds and the lengths on the wire. A read fails with
/// [`io::ErrorKind::WouldBlock`] when no packet has arrived for a moment, and ten times a second anyway.
pub struct Packets {
    // The fields are dropped in this order: the ring is unmapped before its socket is closed.
    ring: Ring,
    socket: PacketSocket,
    /// The buffer of the pcap.
    writer: Writer<Vec<u8>>,
    /// The number of bytes of the buffer that were returned.
    given: usize,
    snap_len: u32,
    link_type: u32,
    skips_outgoing: bool,
    /// The buffer of a packet whose VLAN tag, which the kernel removes, is put back.
    tagged: Vec<u8>,
    counts: Arc<Counts>,
    stop: Arc<AtomicBool>,
    /// The deadline for packets that had arrived when `stop` was set.
    stopping: Option<Instant>,
    paused_at: Instant,
}

impl Packets {
    /// The counters of the capture.
    #[must_use]
    pub const fn counts(&self) -> &Arc<Counts> {
        &self.counts
    }

    /// Writes the packets of a part of the ring into the buffer; false when there are none.
    fn gather(&mut self) -> Result<bool, WriteError> {
        let mut delivered = 0;
        let mut found = false;
        while self.writer.get_mut().len() < GATHER_BYTES {
            let Some(packet) = self.ring.next() else {
                break;
            };
            found = true;
            if self.skips_outgoing && packet.outgoing {
                continue;
            }
            let RingPacket {
                time_ns, wire_len, ..
            } = packet;
            let (data, tag_len) = with_tag(&packet, &mut self.tagged);
            let len = data.len().min(self.snap_len as usize);
            let mut record =
                WriteRecord::new(self.link_type, time_ns, data.get(..len).unwrap_or(data));
            record.wire_len = wire_len.saturating_add(tag_len);
            match self.writer.write(&record) {
                // A packet is kept although its time is before 1970 or after 2106.
                Err(WriteError::Time(_)) => {
                    record.time_ns = 0;
                    self.writer.write(&record)?;
                }
                outcome => outcome?,
            }
            delivered += 1;
            self.writer.flush()?;
        }
        self.counts.deliver(delivered);
        Ok(found)
    }

    fn count(&self) -> io::Result<()> {
        let (received, dropped) = self.socket.statistics()?;
        self.counts.add(received, dropped);
        Ok(())
    }

    /// Captures no further packets; those that the kernel has are returned soon.
    fn begin_to_stop(&mut self) -> io::Result<()> {
        if self.stopping.is_none() && self.stop.load(Ordering::Relaxed) {
            self.socket.attach(&[REFUSE])?;
            self.stopping = Some(Instant::now() + LINGER);
        }
        Ok(())
    }
}

impl Read for Packets {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let rest = self.writer.get_mut().get(self.given..).unwrap_or_default();
            if !rest.is_empty() || out.is_empty() {
                let len = rest.len().min(out.len());
                let (to, from) = (out.get_mut(..len), rest.get(..len));
                if let (Some(to), Some(from)) = (to, from) {
                    to.copy_from_slice(from);
                }
                self.given += len;
                return Ok(len);
            }
            self.writer.get_mut().clear();
            self.given = 0;
            if self.paused_at.elapsed() >= PAUSE_EVERY {
                self.paused_at = Instant::now();
                self.count()?;
                return Err(io::ErrorKind::WouldBlock.into());
            }
            self.begin_to_stop()?;
            let found = self.gather().map_err(io::Error::other)?;
            if !found {
                if self.stopping.is_some_and(|last| Instant::now() >= last) {
                    self.count()?;
                    return Ok(0);
                }
                self.socket.wait(WAIT)?;
            }
        }
    }
}

impl fmt::Debug for Packets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packets")
            .field("link_type", &self.link_type)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

/// The bytes of a packet, with its outermost VLAN tag, and the length of the tag.
fn with_tag<'a>(packet: &'a RingPacket<'_>, tagged: &'a mut Vec<u8>) -> (&'a [u8], u32) {
    let Some((protocol, control)) = packet.vlan else {
        return (packet.data, 0);
    };
    let Some((addresses, rest)) = packet.data.split_at_checked(ADDRESSES_LEN) else {
        return (packet.data, 0);
    };
    tagged.clear();
    tagged.extend_from_slice(addresses);
    tagged.extend_from_slice(&protocol.to_be_bytes());
    tagged.extend_from_slice(&control.to_be_bytes());
    tagged.extend_from_slice(rest);
    (tagged, TAG_LEN)
}

/// The LINKTYPE_ number of a type of hardware (`ARPHRD_` in `if_arp.h`), as libpcap maps them.
const fn link_type(hardware: u16) -> Option<u32> {
    Some(match hardware {
        libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK => 1,
        // Packets of these types begin with the IP header.
        libc::ARPHRD_NONE
        | libc::ARPHRD_TUNNEL
        | libc::ARPHRD_TUNNEL6
        | libc::ARPHRD_SIT
        | libc::ARPHRD_IPGRE
        | ARPHRD_RAWIP
        | libc::ARPHRD_PPP => 101,
        libc::ARPHRD_IEEE80211 => 105,
        libc::ARPHRD_IEEE80211_PRISM => 119,
        libc::ARPHRD_IEEE80211_RADIOTAP => 127,
        _ => return None,
    })
}

const ARPHRD_RAWIP: u16 = 519;
/// The length of both Ethernet addresses.
const ADDRESSES_LEN: usize = 12;
const TAG_LEN: u32 = 4;
/// The number of bytes of the pcap that are gathered before they are returned.
const GATHER_BYTES: usize = 128 << 10;
/// `ret #0`: no packet passes.
const REFUSE: Instruction = Instruction {
    code: 0x06,
    jump_true: 0,
    jump_false: 0,
    constant: 0,
};
/// The longest time for which rows wait for further packets.
const PAUSE_EVERY: Duration = Duration::from_millis(100);
/// The time for which packets are waited for before the clock is read again.
const WAIT: Duration = Duration::from_millis(20);
/// Twice the time after which the kernel returns a block that is not full.
const LINGER: Duration = Duration::from_millis(2 * ring::RETIRE_MS as u64);
