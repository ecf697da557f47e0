//! The peers of open connections, and their roles.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tokio::sync::oneshot;

use crate::identity::Role;

/// The open connections. Each takes one of the file descriptors of the process. When there are too many that are not authenticated
/// yet, the oldest one of the host with most of them is closed.
#[derive(Clone, Default)]
pub(crate) struct Connections(Arc<Mutex<OpenConnections>>);

/// The connections that are open.
#[derive(Default)]
pub(crate) struct OpenConnections {
    /// The connections that are not authenticated yet, the oldest first.
    pub(crate) pending: VecDeque<OpenConnection>,
    pub(crate) admitted: Vec<OpenConnection>,
    /// The number of requests so far.
    requests: u64,
}

impl OpenConnections {
    /// Closes the oldest pending connection of the host that has most of them: a host that connects all the time leaves others the time for
    /// their handshakes.
    fn close_pending(&mut self) {
        let mut of_host = HashMap::<Option<IpAddr>, usize>::new();
        for (known, _) in &self.pending {
            *of_host.entry(known.host).or_default() += 1;
        }
        let most = of_host.values().max();
        let mut pending = self.pending.iter();
        let oldest = pending.position(|(known, _)| of_host.get(&known.host) == most);
        if let Some(place) = oldest {
            self.pending.remove(place);
        }
    }
}

/// The address of a host: an IPv4 address, or the prefix of 64 bits (RFC 4291, 2.5.4) of all that one host may have.
fn network(host: IpAddr) -> IpAddr {
    match host.to_canonical() {
        IpAddr::V6(address) => {
            let prefix = address.to_bits() & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from_bits(prefix))
        }
        address => address,
    }
}

/// A connection is closed when its sender is dropped.
type OpenConnection = (Arc<Known>, oneshot::Sender<()>);

/// The state of a connection's peer.
#[derive(Default)]
pub(crate) struct Known {
    /// The address of the peer, as [`network`] has it.
    host: Option<IpAddr>,
    /// The role in which it is authenticated; empty before that.
    role: OnceLock<Role>,
    /// A request of it was refused.
    is_refused: AtomicBool,
    /// The number of its last request among those of all.
    last_request: AtomicU64,
}

impl Known {
    /// The number of the connection among those that are open.
    pub(crate) fn number(self: &Arc<Self>) -> usize {
        Arc::as_ptr(self).addr()
    }

    /// The number of its last request among those of all; 0 before the first.
    pub(crate) fn last_request(&self) -> u64 {
        self.last_request.load(Ordering::Relaxed)
    }
}

impl Connections {
    pub(crate) fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection from this address; what is given back beside its peer is ready when it is to be closed.
    pub(crate) fn enter(&self, host: Option<IpAddr>) -> (Peer, oneshot::Receiver<()>) {
        let known = Arc::new(Known {
            host: host.map(network),
            ..Known::default()
        });
        let (stays, closed) = oneshot::channel();
        let mut open = self.open();
        open.pending.push_back((Arc::clone(&known), stays));
        if open.pending.len() > STRANGERS_MAX {
            open.close_pending();
        }
        drop(open);
        let connections = self.clone();
        (Peer { known, connections }, closed)
    }

    /// Moves a connection from the pending ones to the authenticated ones.
    fn admit(&self, known: &Arc<Known>) {
        let mut open = self.open();
        let place = open
            .pending
            .iter()
            .position(|(pending, _)| Arc::ptr_eq(pending, known));
        if let Some(place) = place
            && let Some(connection) = open.pending.remove(place)
        {
            open.admitted.push(connection);
        }
    }

    fn count_request(&self, known: &Known) {
        let mut open = self.open();
        open.requests += 1;
        known.last_request.store(open.requests, Ordering::Relaxed);
    }

    fn leave(&self, known: &Arc<Known>) {
        let mut open = self.open();
        open.pending.retain(|(of, _)| !Arc::ptr_eq(of, known));
        open.admitted.retain(|(of, _)| !Arc::ptr_eq(of, known));
    }
}

/// The state of a connection, as an extension of its requests.
#[derive(Clone)]
pub(crate) struct Peer {
    known: Arc<Known>,
    connections: Connections,
}

impl Peer {
    /// The role in which the connection is authenticated.
    pub(crate) fn role(&self) -> Option<Role> {
        self.known.role.get().copied()
    }

    /// The host of the peer: its IPv4 address, or its network of IPv6.
    pub(crate) fn host(&self) -> Option<IpAddr> {
        self.known.host
    }

    /// The number of the connection among those that are open.
    pub(crate) fn connection(&self) -> usize {
        self.known.number()
    }

    /// Records that a request was refused: a peer that is not authenticated has little time left.
    pub(crate) fn refuse(&self) {
        self.known.is_refused.store(true, Ordering::Relaxed);
    }

    /// Marks the connection as authenticated.
    pub(crate) fn admit(&self, role: Role) {
        if self.known.role.set(role).is_ok() {
            self.connections.admit(&self.known);
        }
    }

    /// Records a request of a connection that is authenticated.
    pub(crate) fn count_request(&self) {
        self.connections.count_request(&self.known);
    }

    /// Whether an authenticated request of it was recorded.
    pub(crate) fn has_asked(&self) -> bool {
        self.known.last_request() > 0
    }

    /// Whether a request of it was refused.
    pub(crate) fn is_refused(&self) -> bool {
        self.known.is_refused.load(Ordering::Relaxed)
    }

    /// Removes its connection, which has ended.
    pub(crate) fn leave(&self) {
        self.connections.leave(&self.known);
    }
}

/// The maximum number of connections that are not authenticated. Hundreds of machines do not connect at the same instant, and the
/// limit of file descriptors can be as low as a few hundred.
pub(crate) const STRANGERS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// A host that asked from one address of its network after the other had the turns, and the room for plans, of many hosts.
    #[test]
    fn the_addresses_of_a_network_are_one_host() {
        let connections = Connections::default();
        let host = |address: &str| {
            let (peer, _closed) = connections.enter(address.parse().ok());
            peer.host().unwrap().to_string()
        };
        for (address, expected) in [
            ("2001:db8:0:1::1", "2001:db8:0:1::"),
            ("2001:db8:0:1:ffff::2", "2001:db8:0:1::"),
            ("2001:db8:0:2::1", "2001:db8:0:2::"),
            ("10.0.0.1", "10.0.0.1"),
            // An IPv4 address at a socket of IPv6.
            ("::ffff:10.0.0.2", "10.0.0.2"),
        ] {
            assert_eq!(host(address), expected, "{address}");
        }
    }
}
