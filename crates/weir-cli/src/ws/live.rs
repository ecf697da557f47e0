//! WebSocket connections as they cross an interface.

use std::sync::Arc;

use clap::Args;
use weir_live::{Counts, Packets};
use weir_tables::Stop;

use crate::failure::Failure;
use crate::interface::{self, InterfaceArgs};
use crate::message::Messages;
use crate::quantity::parse_count;
use crate::refusal::Refusal;
use crate::signals;

/// The options of capturing.
#[derive(Args, Debug)]
pub(super) struct LiveArgs {
    #[command(flatten)]
    pub(super) capture: InterfaceArgs,
    /// Stop after N text and binary messages, such as 1000 or 10k
    #[arg(short, long, value_name = "N", requires = "interface", value_parser = parse_count, help_heading = "Capturing")]
    count: Option<u64>,
}

impl LiveArgs {
    /// Captures from now on, when an interface is named.
    pub(super) fn start(&self, messages: Messages) -> Result<Option<Capture>, Failure> {
        let Some(name) = &self.capture.interface else {
            // clap does not check `requires` here, because the files exclude the interface.
            if self.count.is_some() || self.capture.duration.is_some() {
                return Err(Refusal::usage(
                    "--count and --duration are for an interface",
                    "files are read to their end; -i names an interface",
                )
                .into());
            }
            return Ok(None);
        };
        let interface = self.capture.open(name)?;
        let counts = Arc::clone(interface.counts());
        let stop = Stop::default();
        signals::end_gracefully(stop.flag());
        // All packets are taken: only the stream of a connection shows whether it is a WebSocket.
        let packets = interface.start(&[], Arc::clone(stop.flag()))?;
        self.capture.end_in_time(&stop);
        interface::report_start(name, &[], messages);
        messages.note("Ctrl-C ends it, and prints the report");
        Ok(Some(Capture {
            name: name.clone(),
            packets,
            meter: Meter {
                left: self.count,
                stop,
            },
            counts,
        }))
    }
}

/// The packets of an interface, until the stop flag is set.
pub(super) struct Capture {
    pub(super) name: String,
    pub(super) packets: Packets,
    pub(super) meter: Meter,
    pub(super) counts: Arc<Counts>,
}

/// Reports the counts of a capture after its last packet.
pub(super) fn report(name: &str, counts: &Counts, messages: Messages) {
    let remedy = "their messages are flagged as cut; use a larger --buffer";
    interface::report_counts(name, counts, remedy, messages);
}

/// Counts messages, and sets the stop flag after the last one.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// `None` is without a limit.
    left: Option<u64>,
    stop: Stop,
}

impl Meter {
    /// Returns true while more messages are wanted; packets may still bring some after the last one.
    pub(super) fn take(&mut self) -> bool {
        let Some(left) = &mut self.left else {
            return true;
        };
        let wanted = *left > 0;
        *left = left.saturating_sub(1);
        if *left == 0 {
            self.stop.request();
        }
        wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capturing_stops_with_the_last_message() {
        let stop = Stop::default();
        let mut meter = Meter {
            left: Some(2),
            stop: stop.clone(),
        };
        assert!(meter.take() && !stop.is_requested());
        assert!(meter.take() && stop.is_requested());
        assert!(!meter.take() && !meter.take());
        assert!((0..9).all(|_| Meter::default().take()));
    }
}
