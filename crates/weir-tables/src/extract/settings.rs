//! The settings of the named arguments of a table function.

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use weir_capture::{Format, Reader, read_small};
use weir_flow::{Options, Payloads, Scope, SharedFlows, Tunnels};
use weir_messages::tls::KeyLog;

use crate::{Location, Source};

/// Settings of an extraction, with their defaults.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// Limits and timeouts of `flows`.
    pub flows: Options,
    /// Rows of `flow_packets` wait until it is known which flow their fragments are of.
    pub fragments: bool,
    /// The name of the file with secrets of TLS connections. The caller opens it, with [`Self::open_keylog`].
    pub keylog_name: Option<String>,
    /// The secrets by which TLS connections are decrypted.
    pub keylog: Option<Arc<KeyLog>>,
    /// The flows of all networks, for an extraction that reads the packets of one of them.
    pub(super) networks: Option<SharedFlows>,
}

/// The value of a named argument.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Setting<'s> {
    /// An interval.
    Duration(Duration),
    /// A whole number.
    Number(u64),
    /// A text.
    Word(&'s str),
    /// True or false.
    Flag(bool),
}

/// The secrets in front of the first packet of a pcapng.
fn secrets_of(source: &Source) -> Option<Vec<u8>> {
    if source.is_stdin() || source.layout().is_some() {
        return None;
    }
    let bytes: Box<dyn Read> = match source.location() {
        // Only the beginning of a remote object is requested.
        Location::Object(object) => Box::new(object.open(0..BEGINNING_BYTES).ok()?),
        location => Box::new(location.open().ok()?),
    };
    let mut reader = Reader::new(bytes).ok()?;
    if reader.format() != Format::Pcapng {
        return None;
    }
    let _ = reader.next();
    Some(reader.tls_secrets().to_vec())
}

/// The named arguments of `flows`, each with the kind of its value.
pub(super) const FLOWS: &[(&str, &str)] = match FLOW_PACKETS.split_last() {
    Some((_, of_flows)) => of_flows,
    None => &[],
};

/// The named arguments of `flow_packets`.
pub(super) const FLOW_PACKETS: &[(&str, &str)] = &[
    ("tcp_idle", INTERVAL),
    ("tcp_attempt", INTERVAL),
    ("tcp_close", INTERVAL),
    ("udp_idle", INTERVAL),
    ("icmp_idle", INTERVAL),
    ("sctp_idle", INTERVAL),
    ("other_idle", INTERVAL),
    ("active", INTERVAL),
    ("flows_max", NUMBER),
    ("details_max", NUMBER),
    (VLAN, FLAG),
    ("checksums", FLAG),
    ("tunnels", "'outer' or 'inner'"),
    ("fragments", FLAG),
];

/// The argument that names a file of secrets.
pub(super) const KEYLOG: &str = "keylog";

/// The argument that tells networks apart by their VLANs.
pub(super) const VLAN: &str = "vlan";

/// The arguments of tables of what packets carry.
pub(super) const NETWORKS: &[(&str, &str)] = &[(VLAN, FLAG)];

/// The arguments of such tables that decrypt TLS, too.
pub(super) const SECRETS: &[(&str, &str)] = &[
    (KEYLOG, "a file in the SSLKEYLOGFILE format: 'keys.log'"),
    (VLAN, FLAG),
];

/// The number of bytes in which a capture shows its format and most secrets.
const BEGINNING_BYTES: u64 = 64 << 10;

/// The number of bytes of a file of secrets, at most: some 300,000 connections.
const KEYLOG_BYTES_MAX: u64 = 256 << 20;

const INTERVAL: &str = "an interval without months: INTERVAL '30 seconds'";
const NUMBER: &str = "a number above 0";
const FLAG: &str = "true or false";

impl Settings {
    /// Reads the file of secrets at `path`.
    ///
    /// # Errors
    /// When it cannot be read, is longer than 256 MiB, or has no secret in it: what is wrong, with the path.
    pub fn open_keylog(&mut self, path: &Path) -> Result<(), String> {
        let shown = path.display();
        let failed = |error: std::io::Error| format!("{shown}: {error}");
        // A device has no length, and no end.
        let bytes = match read_small(path, KEYLOG_BYTES_MAX) {
            Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                return Err(format!(
                    "{shown}: the key log is larger than the limit of 256 MiB"
                ));
            }
            read => read.map_err(failed)?,
        };
        let log = KeyLog::parse(&bytes);
        if log.is_empty() {
            return Err(format!(
                "{shown}: it has no secret in the SSLKEYLOGFILE format"
            ));
        }
        self.keylog = Some(Arc::new(log));
        Ok(())
    }

    /// Adds the TLS secrets that captures have before their packets, unless a file of secrets was named. Standard input
    /// and growing files are skipped.
    pub fn take_secrets_of(&mut self, sources: &[Source]) {
        if self.keylog.is_some() || self.keylog_name.is_some() {
            return;
        }
        let mut lines = Vec::new();
        for source in sources.iter().filter(|source| !source.is_growing()) {
            // The scan that reads the capture later reports its damage.
            let Some(found) = secrets_of(source) else {
                continue;
            };
            let room = (KEYLOG_BYTES_MAX as usize).saturating_sub(lines.len());
            lines.extend_from_slice(found.get(..room).unwrap_or(&found));
        }
        let log = KeyLog::parse(&lines);
        if !log.is_empty() {
            self.keylog = Some(Arc::new(log));
        }
    }

    /// The reader of what packets carry.
    pub(super) fn payloads(&self) -> Payloads {
        match &self.networks {
            Some(flows) => Payloads::with_flows(flows.clone()),
            None => Payloads::new(),
        }
    }

    /// Sets an argument; returns false when its value is of the wrong kind.
    pub(super) fn set_named(&mut self, name: &str, value: Setting<'_>) -> bool {
        match (name, value) {
            (KEYLOG, Setting::Word(path)) => {
                self.keylog_name = Some(path.to_owned());
                true
            }
            ("fragments", Setting::Flag(fragments)) => {
                self.fragments = fragments;
                true
            }
            _ => self.set_flows(name, value),
        }
    }

    /// Sets an argument of `flows`; returns false when its value is of the wrong kind.
    fn set_flows(&mut self, name: &str, value: Setting<'_>) -> bool {
        let options = &mut self.flows;
        match (name, value) {
            (_, Setting::Duration(duration)) => {
                let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
                let place = match name {
                    "tcp_idle" => &mut options.tcp_idle_ns,
                    "tcp_attempt" => &mut options.tcp_attempt_ns,
                    "tcp_close" => &mut options.tcp_close_ns,
                    "udp_idle" => &mut options.udp_idle_ns,
                    "icmp_idle" => &mut options.icmp_idle_ns,
                    "sctp_idle" => &mut options.sctp_idle_ns,
                    "other_idle" => &mut options.other_idle_ns,
                    "active" => options.active_ns.insert(ns),
                    _ => return false,
                };
                *place = ns;
                ns > 0
            }
            (_, Setting::Number(number)) => {
                let place = match name {
                    "flows_max" => &mut options.flows_max,
                    "details_max" => &mut options.details_max,
                    _ => return false,
                };
                *place = usize::try_from(number).unwrap_or(usize::MAX);
                number > 0
            }
            (VLAN, Setting::Flag(vlan)) => {
                options.scope = if vlan { Scope::Vlan } else { Scope::Addresses };
                true
            }
            ("checksums", Setting::Flag(checksums)) => {
                options.checksums = checksums;
                true
            }
            ("tunnels", Setting::Word(word)) => {
                options.tunnels = match word {
                    "outer" => Tunnels::Outer,
                    "inner" => Tunnels::Inner,
                    _ => return false,
                };
                true
            }
            _ => false,
        }
    }
}
