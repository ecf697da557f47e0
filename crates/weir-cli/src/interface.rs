//! Live sources of packets, an interface or a collector of HEP: the arguments of commands, the opening, the end, and the counters.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use clap::Args;
use weir_live::{Collector, Counts, Instruction, Interface};
use weir_packet::LinkType;
use weir_tables::{Predicate, Stop, bpf};

use crate::failure::Failure;
use crate::message::Messages;
use crate::quantity::{parse_period, parse_size};
use weir_output::grouped;

/// The options of capturing.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Capturing")]
pub(crate) struct InterfaceArgs {
    /// The interface, such as eth0 or lo
    #[arg(short, long, value_name = "INTERFACE", group = "live_source")]
    pub(crate) interface: Option<String>,
    /// Also capture packets for other machines (promiscuous mode)
    #[arg(short, long, requires = "interface")]
    pub(crate) promiscuous: bool,
    /// Bytes to capture of each packet
    #[arg(
        short,
        long,
        value_name = "BYTES",
        requires = "interface",
        default_value_t = weir_live::SNAP_LEN_MAX,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(weir_live::SNAP_LEN_MAX)),
    )]
    pub(crate) snaplen: u32,
    /// Memory for packets that are not read yet: 32m, 1g
    #[arg(
        long,
        value_name = "SIZE",
        requires = "interface",
        value_parser = parse_size,
        default_value = "32m"
    )]
    pub(crate) buffer: usize,
    /// Stop after this time: 10s, 5m, 1h
    #[arg(long, value_name = "TIME", requires = "live_source", value_parser = parse_period)]
    pub(crate) duration: Option<Duration>,
}

impl InterfaceArgs {
    /// Opens the interface of this name; packets come once it is started.
    pub(crate) fn open(&self, name: &str) -> Result<Interface, Failure> {
        let mut options = weir_live::CaptureOptions::default();
        options.snap_len = self.snaplen;
        options.promiscuous = self.promiscuous;
        options.ring_bytes = self.buffer;
        Ok(Interface::open(name, &options)?)
    }

    /// Sets the stop flag when the duration is over, if there is one.
    pub(crate) fn end_in_time(&self, stop: &Stop) {
        if let Some(duration) = self.duration {
            let stop = stop.clone();
            thread::spawn(move || {
                thread::sleep(duration);
                stop.request();
            });
        }
    }
}

/// An interface, or what others send on.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Capturing")]
pub(crate) struct SourceArgs {
    #[command(flatten)]
    pub(crate) capture: InterfaceArgs,
    /// Receive HEP from proxies and probes at this address, instead of an interface: 127.0.0.1:9060
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        group = "live_source",
        long_help = "Receive HEP from proxies and probes at this address (as Homer does), instead of an interface: \
            127.0.0.1:9060. Versions 1 to 3 over UDP, and 3 over TCP, from any host that reaches the address"
    )]
    pub(crate) hep: Option<SocketAddr>,
}

impl SourceArgs {
    /// Whether a live source is given.
    pub(crate) const fn is_named(&self) -> bool {
        self.capture.interface.is_some() || self.hep.is_some()
    }

    /// Opens the named source and returns it with its name; packets arrive after it is started. `None` without a named source.
    pub(crate) fn open(&self) -> Result<Option<(String, Source)>, Failure> {
        if let Some(address) = self.hep {
            let collector = Collector::bind(address)?;
            let name = format!("hep:{}", collector.address());
            return Ok(Some((name, Source::Collector(collector))));
        }
        let Some(name) = &self.capture.interface else {
            return Ok(None);
        };
        let interface = self.capture.open(name)?;
        Ok(Some((name.clone(), Source::Interface(interface))))
    }
}

/// A live source before its first packet.
#[derive(Debug)]
pub(crate) enum Source {
    Interface(Interface),
    Collector(Collector),
}

impl Source {
    pub(crate) fn counts(&self) -> LiveCounts {
        match self {
            Self::Interface(interface) => LiveCounts::ByKernel(Arc::clone(interface.counts())),
            Self::Collector(collector) => LiveCounts::ByCollector(Arc::clone(collector.counts())),
        }
    }

    pub(crate) const fn link_type(&self) -> u32 {
        match self {
            Self::Interface(interface) => interface.link_type(),
            Self::Collector(_) => Collector::LINK_TYPE,
        }
    }

    /// Packets from now on, of an interface those only that may be wanted; and a note for the user about the start.
    pub(crate) fn start(
        self,
        name: &str,
        wanted: Option<&Predicate>,
        stop: Arc<AtomicBool>,
    ) -> io::Result<(Box<dyn Read + Send>, String)> {
        match self {
            Self::Interface(interface) => {
                let filter = filter(wanted, interface.link_type());
                let packets = interface.start(&filter, stop).map_err(io::Error::other)?;
                Ok((Box::new(packets), started(name, &filter)))
            }
            Self::Collector(collector) => {
                let note = format!(
                    "listening on {} for HEP, by UDP and TCP",
                    collector.address()
                );
                Ok((Box::new(collector.start(stop)?), note))
            }
        }
    }
}

/// The counts of a live capture, by their source.
#[derive(Debug)]
pub(crate) enum LiveCounts {
    ByKernel(Arc<Counts>),
    ByCollector(Arc<Counts>),
}

impl LiveCounts {
    /// Reports what was counted, and `remedy` when packets were lost.
    pub(crate) fn report(&self, name: &str, remedy: &str, messages: Messages) {
        let counts = match self {
            Self::ByKernel(counts) => return report_counts(name, counts, remedy, messages),
            Self::ByCollector(counts) => counts,
        };
        messages.note(&format!(
            "{} messages received on {name}, {} read",
            grouped(counts.received()),
            grouped(counts.delivered()),
        ));
        if counts.dropped() > 0 {
            messages.warning(&format!(
                "{} of them are not HEP and were left out",
                grouped(counts.dropped())
            ));
        }
    }
}

/// The part of a predicate that the kernel can evaluate; empty when there is none.
pub(crate) fn filter(wanted: Option<&Predicate>, link_type: u32) -> Vec<Instruction> {
    let filter = wanted.and_then(|wanted| bpf::compile(wanted, LinkType(link_type)));
    let instruction = |from: &bpf::Instruction| Instruction {
        code: from.code,
        jump_true: from.jump_true,
        jump_false: from.jump_false,
        constant: from.constant,
    };
    filter.unwrap_or_default().iter().map(instruction).collect()
}

/// Reports that packets are captured from now on.
pub(crate) fn report_start(name: &str, filter: &[Instruction], messages: Messages) {
    messages.note(&started(name, filter));
}

fn started(name: &str, filter: &[Instruction]) -> String {
    let filtered = match filter.len() {
        0 => "all packets".to_owned(),
        count => format!("a filter of {count} instructions in the kernel"),
    };
    format!("capturing on {name}: {filtered}")
}

/// Reports what the kernel has counted, and `remedy` when packets were lost.
pub(crate) fn report_counts(name: &str, counts: &Counts, remedy: &str, messages: Messages) {
    let (received, dropped) = (counts.received(), counts.dropped());
    messages.note(&format!(
        "{} packets received on {name}, {} dropped by the kernel, {} read",
        grouped(received),
        grouped(dropped),
        grouped(counts.delivered()),
    ));
    if dropped > 0 {
        messages.warning(&format!(
            "{} of {} packets arrived faster than they were read and are missing; {remedy}",
            grouped(dropped),
            grouped(received),
        ));
    }
}
