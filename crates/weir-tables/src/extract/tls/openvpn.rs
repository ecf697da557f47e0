//! Handshakes in the control channel of OpenVPN, over UDP and TCP.

use std::collections::{HashMap, VecDeque};

use weir_flow::{Content, FlowKey};
use weir_messages::tls::{
    Carrier, OPENVPN_PORT, OpenVpn, OpenVpnPiece, Session, SessionState, Stamp,
    begins_with_openvpn, openvpn_key,
};

use crate::extract::messages::Way;

/// The callback for a handshake that is over, with the way of its last octets and the side that sent them.
pub(super) type OnControl<'e> = dyn FnMut(Box<Session>, Way, usize) + 'e;

/// The control channels of OpenVPN over UDP, of all endpoints.
#[derive(Default)]
pub(super) struct OpenVpnChannels {
    /// The channels by their ends and the number of their key.
    open: HashMap<(FlowKey, u8), ControlChannel>,
    /// Their keys in the order in which they began.
    order: VecDeque<(FlowKey, u8)>,
    given_up: u64,
    unread: u64,
}

/// The number of channels at one time, at most.
const CHANNELS_MAX: usize = 1 << 12;

/// A channel over UDP.
struct ControlChannel {
    channel: OpenVpn,
    /// The handshake; `None` once it is over.
    session: Option<Box<Session>>,
    /// The way of its last datagram, and the side that sent it.
    way: Way,
    side: usize,
}

impl OpenVpnChannels {
    /// The number of handshakes that were reported early because there were too many.
    pub(super) const fn given_up(&self) -> u64 {
        self.given_up
    }

    /// The number of channels that a client began, and in which no TLS was found.
    pub(super) const fn unread(&self) -> u64 {
        self.unread
    }

    /// Counts a channel over TCP in which no TLS was found.
    pub(super) const fn count_unread(&mut self) {
        self.unread = self.unread.saturating_add(1);
    }

    /// Reads a datagram, and reports the handshake that it completes. Returns false where it does not belong to the control channel
    /// between ports of OpenVPN.
    pub(super) fn take(
        &mut self,
        key: &FlowKey,
        bytes: &[u8],
        way: &Way,
        side: usize,
        each: &mut OnControl<'_>,
    ) -> bool {
        let is_port = way.ports().contains(&OPENVPN_PORT);
        let Some(number) = openvpn_key(bytes).filter(|_| is_port) else {
            return false;
        };
        let key = (*key, number);
        if !self.open.contains_key(&key) {
            self.make_room(each);
            self.order.push_back(key);
        }
        let known = self.open.entry(key);
        let channel = known.or_insert_with(|| ControlChannel::new(way, side));
        if channel.channel.begins_anew(side, bytes) {
            let old = std::mem::replace(channel, ControlChannel::new(way, side));
            self.unread = self.unread.saturating_add(old.give_up(each).into());
        }
        channel.take(bytes, way, side, each);
        true
    }

    /// Makes room for another channel.
    fn make_room(&mut self, each: &mut OnControl<'_>) {
        if self.order.len() < CHANNELS_MAX {
            return;
        }
        if let Some(oldest) = self.order.pop_front()
            && let Some(channel) = self.open.remove(&oldest)
        {
            let was_open = channel.session.is_some() && channel.channel.is_understood();
            self.given_up = self.given_up.saturating_add(was_open.into());
            self.unread = self.unread.saturating_add(channel.give_up(each).into());
        }
    }

    /// Reports the handshakes that are open when the capture ends.
    pub(super) fn finish(&mut self, each: &mut OnControl<'_>) {
        while let Some(key) = self.order.pop_front() {
            if let Some(channel) = self.open.remove(&key) {
                self.unread = self.unread.saturating_add(channel.give_up(each).into());
            }
        }
    }
}

impl ControlChannel {
    fn new(way: &Way, side: usize) -> Self {
        Self {
            channel: OpenVpn::default(),
            session: Some(Box::new(Session::new(Carrier::Tls))),
            way: *way,
            side,
        }
    }

    /// Reads a datagram, and reports the handshake once it is over.
    fn take(&mut self, bytes: &[u8], way: &Way, side: usize, each: &mut OnControl<'_>) {
        let Some(session) = &mut self.session else {
            return;
        };
        (self.way, self.side) = (*way, side);
        let mut state = SessionState::More;
        self.channel.take(side, bytes, &mut |side, piece| {
            pass(session, &mut state, stamp(way), (side, piece));
        });
        if state != SessionState::More
            && let Some(session) = self.session.take()
        {
            each(session, *way, side);
        }
    }

    /// Reports the handshake that is not over. Returns true where no TLS was found.
    fn give_up(mut self, each: &mut OnControl<'_>) -> bool {
        let Some(mut session) = self.session.take() else {
            return false;
        };
        let mut state = SessionState::More;
        self.channel.finish(&mut |side, piece| {
            pass(&mut session, &mut state, stamp(&self.way), (side, piece));
        });
        if self.channel.is_understood() {
            each(session, self.way, self.side);
        }
        self.channel.is_unread()
    }
}

/// A channel over TCP.
pub(super) struct OpenVpnStream {
    channel: OpenVpn,
    session: Box<Session>,
}

impl OpenVpnStream {
    /// The state before these first octets of a connection between ports of OpenVPN; `None` where they begin something else.
    pub(super) fn beginning(bytes: &[u8], ports: [u16; 2]) -> Option<Self> {
        let begins = ports.contains(&OPENVPN_PORT) && begins_with_openvpn(bytes);
        begins.then(|| Self {
            channel: OpenVpn::default(),
            session: Box::new(Session::new(Carrier::Tls)),
        })
    }

    /// Octets that are kept.
    pub(super) fn held(&self) -> usize {
        self.channel.held() + self.session.held() + size_of::<Session>()
    }

    /// Reads the next content of a side.
    pub(super) fn take(&mut self, content: Content<'_>, side: usize, stamp: Stamp) -> SessionState {
        let Self { channel, session } = self;
        let mut state = SessionState::More;
        let mut each = |side: usize, piece: OpenVpnPiece<'_>| {
            pass(session, &mut state, stamp, (side, piece));
        };
        match content {
            Content::Bytes(bytes) => channel.take_stream(side, bytes, &mut each),
            Content::Gap(_) => channel.gap(side, &mut each),
            Content::End(_) => {}
        }
        state
    }

    /// The handshake, as far as it came; `None` where no TLS was found.
    pub(super) fn end(self, stamp: Stamp) -> Option<Box<Session>> {
        let Self {
            mut channel,
            mut session,
        } = self;
        let mut state = SessionState::More;
        channel.finish(&mut |side, piece| {
            pass(&mut session, &mut state, stamp, (side, piece));
        });
        channel.is_understood().then_some(session)
    }
}

/// Passes on what a channel carries to a handshake, until that is over.
fn pass(
    session: &mut Session,
    state: &mut SessionState,
    stamp: Stamp,
    (side, piece): (usize, OpenVpnPiece<'_>),
) {
    match piece {
        OpenVpnPiece::Octets(bytes) if *state == SessionState::More => {
            *state = session.stream(side, bytes, stamp);
        }
        OpenVpnPiece::Octets(_) => {}
        OpenVpnPiece::Gap => session.gap(side),
    }
}

const fn stamp(way: &Way) -> Stamp {
    Stamp {
        time_ns: way.time_ns,
        frame: way.frame,
    }
}
