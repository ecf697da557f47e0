//! Round trips between the place of the capture and those that answer reports.

use std::collections::{HashMap, VecDeque};

use weir_messages::rtp::rtcp::Report;

use crate::extract::messages::Way;

/// Measures round trips from the place of the capture to the receiver that answers a sender report.
#[derive(Default)]
pub(in crate::extract) struct Trips {
    /// The last reports of a sender: the middle 32 bits of its NTP timestamp, and the time of capture in nanoseconds.
    sent: HashMap<u32, VecDeque<(u32, i64)>>,
}

/// The maximum by which a round trip may be less than nothing, in milliseconds, for the errors of both clocks.
const TRIP_ERROR_MS: f64 = 1.0;
/// The number of senders whose reports are stored, and of reports of each.
const SENDERS_MAX: usize = 1 << 14;
const REPORTS_MAX: usize = 4;

impl Trips {
    /// Reads a report; returns the round-trip time in milliseconds: the time since the capture of the report that it
    /// refers to, less the delay of the receiver.
    pub(in crate::extract) fn take(&mut self, report: &Report<'_>, way: &Way) -> Option<f64> {
        let now_ns = way.time_ns?;
        if let (Some(sender), Some(sent)) = (report.sender, report.sent) {
            if self.sent.len() >= SENDERS_MAX && !self.sent.contains_key(&sender) {
                // Reports come every few seconds: a discarded one is missing for one round trip.
                self.sent.clear();
            }
            let known = self.sent.entry(sender).or_default();
            known.push_back(((sent.ntp >> 16) as u32, now_ns));
            if known.len() > REPORTS_MAX {
                known.pop_front();
            }
        }
        let received = report.received.filter(|it| it.last_report != 0)?;
        let known = self.sent.get(&report.source?)?;
        let (_, then_ns) = known.iter().rev().find(|it| it.0 == received.last_report)?;
        let gone_ns = now_ns.checked_sub(*then_ns)?;
        let kept_ms = f64::from(received.delay) / 65_536.0 * 1e3;
        #[allow(
            clippy::cast_precision_loss,
            reason = "nanoseconds between records of a capture, of which doubles keep the microseconds"
        )]
        let trip_ms = gone_ns as f64 / 1e6 - kept_ms;
        // The delay has a resolution of 15 microseconds, and comes from another clock: what is less than nothing by more is not known.
        (trip_ms > -TRIP_ERROR_MS).then(|| trip_ms.max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use weir_messages::rtp::rtcp;

    use super::*;

    /// The time between the reports was cut to milliseconds, and short trips were less than nothing.
    #[test]
    fn round_trips_have_their_microseconds() {
        let end = |last: u8| weir_flow::Endpoint {
            address: [10, 0, 0, last].into(),
            port: 4_001,
        };
        let way = |time_ns| Way {
            flow: 1,
            src: end(1),
            dst: end(2),
            transport: "udp",
            time_ns: Some(time_ns),
            passed_ns: time_ns,
            frame: 1,
            missing: 0,
            identification: None,
        };
        let sent = Report {
            sender: Some(7),
            sent: Some(rtcp::Sent {
                ntp: 0x1234_5678_0000,
                ..rtcp::Sent::default()
            }),
            ..Report::default()
        };
        let received = |delay| Report {
            sender: Some(8),
            source: Some(7),
            received: Some(rtcp::Received {
                last_report: 0x1234_5678,
                delay,
                ..rtcp::Received::default()
            }),
            ..Report::default()
        };
        let mut trips = Trips::default();
        assert_eq!(trips.take(&sent, &way(1_000)), None);
        for (gone_ns, delay, expected) in [
            (1_000_900_000, 65_536, Some(0.9)),
            (1_002_250_000, 65_536, Some(2.25)),
            (999_990_000, 65_536, Some(0.0)),
            (900_000_000, 65_536, None),
        ] {
            let trip = trips.take(&received(delay), &way(1_000 + gone_ns));
            let is_right = match (trip, expected) {
                (Some(trip), Some(expected)) => f64::abs(trip - expected) < 1e-6,
                (trip, expected) => trip == expected,
            };
            assert!(is_right, "{gone_ns}: {trip:?}");
        }
    }
}
