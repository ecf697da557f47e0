//! An interface that a command takes packets from: the arguments that say how, its opening and its end,
//! and what the kernel has counted.

use std::thread;
use std::time::Duration;

use clap::Args;
use weir_live::{Counts, Instruction, Interface};
use weir_packet::LinkType;
use weir_tables::{Predicate, Stop, bpf};

use crate::message::Messages;
use crate::output::grouped;
use crate::quantity::{parse_period, parse_size};
use crate::session::Failure;

/// How packets are captured.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Capturing")]
pub(crate) struct InterfaceArgs {
    /// The interface, such as eth0 or lo
    #[arg(short, long, value_name = "INTERFACE")]
    pub(crate) interface: Option<String>,
    /// Also take packets that are for others
    #[arg(short, long, requires = "interface")]
    pub(crate) promiscuous: bool,
    /// Bytes kept of each packet
    #[arg(
        short,
        long,
        value_name = "BYTES",
        requires = "interface",
        default_value_t = weir_live::SNAP_LEN_MAX,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(weir_live::SNAP_LEN_MAX)),
    )]
    pub(crate) snaplen: u32,
    /// Memory for packets that wait to be read: 32m, 1g
    #[arg(
        long,
        value_name = "SIZE",
        requires = "interface",
        value_parser = parse_size,
        default_value = "32m"
    )]
    pub(crate) buffer: usize,
    /// End after so long: 10s, 5m, 1h
    #[arg(long, value_name = "TIME", requires = "interface", value_parser = parse_period)]
    pub(crate) duration: Option<Duration>,
}

impl InterfaceArgs {
    /// Opens the interface of this name; packets come once it is started.
    pub(crate) fn open(&self, name: &str) -> Result<Interface, Failure> {
        let mut options = weir_live::Options::default();
        options.snap_len = self.snaplen;
        options.promiscuous = self.promiscuous;
        options.ring_bytes = self.buffer;
        Ok(Interface::open(name, &options)?)
    }

    /// Asks for the end when the time is over, if there is one.
    pub(crate) fn end_in_time(&self, stop: &Stop) {
        if let Some(duration) = self.duration {
            let stop = stop.clone();
            thread::spawn(move || {
                thread::sleep(duration);
                stop.ask();
            });
        }
    }
}

/// What the kernel can decide of a predicate; empty when that is nothing.
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

/// Says that packets are captured from now on.
pub(crate) fn tell_start(name: &str, filter: &[Instruction], messages: Messages) {
    let filtered = match filter.len() {
        0 => "all packets".to_owned(),
        count => format!("a filter of {count} instructions in the kernel"),
    };
    messages.note(&format!("capturing on {name}: {filtered}"));
}

/// Says what the kernel has counted, and `remedy` when packets were lost.
pub(crate) fn tell_counts(name: &str, counts: &Counts, remedy: &str, messages: Messages) {
    let (received, dropped) = (counts.received(), counts.dropped());
    messages.note(&format!(
        "{} packets received on {name}, {} dropped by the kernel, {} read",
        grouped(received),
        grouped(dropped),
        grouped(counts.delivered()),
    ));
    if dropped > 0 {
        messages.warning(&format!(
            "{} of {} packets came faster than they were read and are missing; {remedy}",
            grouped(dropped),
            grouped(received),
        ));
    }
}
