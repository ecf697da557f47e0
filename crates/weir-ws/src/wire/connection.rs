//! A whole connection: the handshake, then the messages of both directions.

use super::decoder::{Decoder, DecoderOptions, Event};
use super::direction::Direction;
use super::frame::{Header, Sender};
use super::handshake::{Handshake, head_end, is_preliminary, is_refusal};
use super::trial::{Trial, Verdict};
use crate::deflate::{Agreed, InflateOptions};

/// An event of a [`Connection`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ConnectionEvent<'a> {
    /// Both heads were read, or one of them, where the other one was not captured.
    Handshake(&'a Handshake),
    /// The bytes begin without a handshake: the capture began later. Four messages at least, of both
    /// directions, broke no rule, so that frames are read as they come, and permessage-deflate is assumed as the
    /// options say.
    MidStream,
    /// The next events are of a piece that was [fed](Connection::feed) before the heads of both directions were there, or before the
    /// bytes were recognised as those of a connection without them; after the last of these pieces, of the piece that is
    /// being fed.
    Replay {
        /// The number of the piece, from 0.
        number: usize,
        /// The number of the last bytes of the piece that are read, as those before them are of a head; `usize::MAX` for the piece that
        /// is being fed.
        bytes: usize,
    },
    /// This is not a WebSocket connection, or one without a handshake that violated a rule; nothing follows.
    NotWebSocket,
    /// A message or a violation.
    Wire(Direction, Event<'a>),
}

/// Reads the bytes of both directions, in the order in which they came, from the first byte of the
/// TCP connection on.
///
/// ```
/// use weir_ws::{Connection, ConnectionEvent, Direction, Event, DecoderOptions};
///
/// let mut connection = Connection::new(DecoderOptions::default());
/// let mut texts = Vec::new();
/// let mut each = |event: ConnectionEvent<'_>| {
///     if let ConnectionEvent::Wire(direction, Event::Message(message)) = event {
///         texts.push((direction, message.payload.to_vec()));
///     }
/// };
/// connection.feed(Direction::ToServer, b"GET /chat HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\n\
///     Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n", &mut each);
/// connection.feed(Direction::ToClient, b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
///     Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\x00", &mut each);
/// assert_eq!(texts, [(Direction::ToClient, b"Hello".to_vec())]);
/// ```
#[derive(Debug)]
pub struct Connection {
    options: DecoderOptions,
    state: ConnectionState,
    /// Bytes of each direction that wait for the handshake: to the server, to the client.
    waiting: [Vec<u8>; 2],
    /// The direction and length of each piece that waits for the handshake.
    pieces: Vec<(Direction, usize)>,
    /// Whether bytes of the head of a direction were not captured.
    lost: [bool; 2],
    /// The number of bytes behind those that were the rest of the head.
    passed: usize,
    /// The trial of bytes without a handshake, until they are recognised.
    trial: Option<Box<Trial>>,
    decoders: Option<[Decoder; 2]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionState {
    Handshake,
    /// The heads are read elsewhere.
    Heads,
    /// Frames without a handshake are on trial.
    Trial,
    Open,
    /// The connection is open, without a handshake: the first violation ends it.
    MidStream,
    Other,
}

/// A consumer of events.
type OnEvent<'e> = dyn FnMut(ConnectionEvent<'_>) + 'e;

/// Bytes that may wait for the end of the handshake, in each direction.
const HEAD_BYTES_MAX: usize = 64 << 10;

impl Connection {
    /// The state at the beginning. `options.sender` is set for each direction; `options.inflate` is assumed for a connection
    /// without its handshake, and its limit is used otherwise, too.
    #[must_use]
    pub fn new(options: DecoderOptions) -> Self {
        Self {
            options,
            state: ConnectionState::Handshake,
            waiting: [Vec::new(), Vec::new()],
            pieces: Vec::new(),
            lost: [false; 2],
            passed: 0,
            trial: None,
            decoders: None,
        }
    }

    /// The state of a connection whose heads are read elsewhere: bytes wait until these [agree](Self::agree).
    #[must_use]
    pub fn without_heads(options: DecoderOptions) -> Self {
        Self {
            state: ConnectionState::Heads,
            ..Self::new(options)
        }
    }

    /// Opens a connection [without heads](Self::without_heads). The caller has checked that the status of the response agrees.
    pub fn agree(&mut self, handshake: &Handshake, each: &mut dyn FnMut(ConnectionEvent<'_>)) {
        if self.state == ConnectionState::Heads {
            self.begin(handshake, [0; 2], each);
        }
    }

    /// Adds the next bytes of one direction.
    pub fn feed(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        each: &mut dyn FnMut(ConnectionEvent<'_>),
    ) {
        match self.state {
            ConnectionState::Other => {}
            ConnectionState::Open | ConnectionState::MidStream => {
                self.decode(direction, bytes, each);
            }
            ConnectionState::Trial => self.on_trial(each, |trial| trial.feed(direction, bytes)),
            ConnectionState::Heads => {
                let waiting = &mut self.waiting[direction.slot()];
                if waiting.len().saturating_add(bytes.len()) > HEAD_BYTES_MAX {
                    return self.close(each);
                }
                waiting.extend_from_slice(bytes);
                self.pieces.push((direction, bytes.len()));
            }
            ConnectionState::Handshake => {
                let rest = self.rest_of_head(direction, bytes);
                let behind = bytes.get(rest..).unwrap_or_default();
                if rest > 0 && behind.is_empty() {
                    self.pass(direction, rest, each);
                } else if self.is_without_handshake(direction, behind) {
                    self.begin_trial(direction, behind, each);
                } else {
                    self.feed_head(direction, behind, each);
                }
            }
        }
    }

    /// The number of these bytes that are the rest of the head of a response, of which a part was not captured.
    fn rest_of_head(&self, direction: Direction, bytes: &[u8]) -> usize {
        let [request, response] = &self.waiting;
        let is_behind_gap = self.lost[direction.slot()] && response.is_empty();
        let is_of_response = direction == Direction::ToClient && head_end(request).is_some();
        let begins_anew = bytes
            .iter()
            .zip(b"HTTP/")
            .all(|(byte, begin)| byte == begin);
        if !is_behind_gap || !is_of_response || begins_anew {
            return 0;
        }
        let end = head_end(bytes).unwrap_or(bytes.len());
        let is_text = |byte: &&u8| matches!(**byte, b'\t' | b'\r' | b'\n' | b' '..=b'~');
        let text = bytes.iter().take(end).take_while(is_text);
        let (count, last) = text.fold((0, None), |(count, _), byte| (count + 1, Some(*byte)));
        // The line end before the empty line may have come in an earlier piece.
        match count == end || last == Some(b'\n') {
            true => count,
            false => 0,
        }
    }

    /// Passes over bytes of a head.
    fn pass(&mut self, direction: Direction, bytes: usize, each: &mut OnEvent<'_>) {
        self.pieces.push((direction, bytes));
        self.passed = self.passed.saturating_add(bytes);
        if self.passed > HEAD_BYTES_MAX {
            self.close(each);
        }
    }

    /// Adds bytes of a head, or bytes that wait for the head of the other direction.
    fn feed_head(&mut self, direction: Direction, bytes: &[u8], each: &mut OnEvent<'_>) {
        let [request, _] = &self.waiting;
        let is_next_request = direction == Direction::ToServer
            && self.lost[Direction::ToClient.slot()]
            && head_end(request).is_some()
            && bytes.starts_with(b"GET ");
        if is_next_request {
            // The response that was not captured did not agree.
            return self.close(each);
        }
        let waiting = &mut self.waiting[direction.slot()];
        let room = (2 * HEAD_BYTES_MAX).saturating_sub(waiting.len());
        let taken = bytes.get(..room).unwrap_or(bytes);
        waiting.extend_from_slice(taken);
        self.pieces.push((direction, taken.len()));
        self.try_open(each);
        if self.state == ConnectionState::Handshake && self.lost != [false; 2] {
            self.open_alone(false, each);
        }
        let rest = bytes.get(room..).unwrap_or_default();
        let is_open = matches!(
            self.state,
            ConnectionState::Open | ConnectionState::MidStream
        );
        if is_open && !rest.is_empty() {
            self.decode(direction, rest, each);
        }
    }

    /// Skips bytes of one direction that were not captured: see [`Decoder::gap`]. During the handshake this ends the
    /// reading, unless the head of the other direction, with frames behind it or a response that agrees, shows what the
    /// connection is.
    pub fn gap(
        &mut self,
        direction: Direction,
        bytes: u64,
        each: &mut dyn FnMut(ConnectionEvent<'_>),
    ) {
        let is_begun = |trial: &Trial| trial.has_begun(direction);
        match self.state {
            ConnectionState::Other => {}
            // What precedes the first bytes of a direction may be its head.
            ConnectionState::Trial if !self.trial.as_deref().is_some_and(is_begun) => {}
            ConnectionState::Heads | ConnectionState::Trial => self.close(each),
            ConnectionState::Handshake => {
                let slot = direction.slot();
                if head_end(&self.waiting[slot]).is_none() {
                    if is_refusal(&self.waiting[slot]) {
                        return self.close(each);
                    }
                    self.waiting[slot].clear();
                    self.lost[slot] = true;
                }
                let may_open = self.lost[slot] && !self.waiting[1 - slot].is_empty();
                if self.open_alone(false, each) {
                    self.decode_gap(direction, bytes, each);
                } else if !may_open {
                    self.close(each);
                }
            }
            ConnectionState::Open | ConnectionState::MidStream => {
                self.decode_gap(direction, bytes, each);
            }
        }
    }

    fn decode_gap(&mut self, direction: Direction, bytes: u64, each: &mut OnEvent<'_>) {
        if let Some(decoders) = &mut self.decoders {
            decoders[direction.slot()].gap(bytes, &mut |event| {
                each(ConnectionEvent::Wire(direction, event));
            });
        }
    }

    /// The connection is over.
    pub fn finish(&mut self, each: &mut dyn FnMut(ConnectionEvent<'_>)) {
        for direction in [Direction::ToServer, Direction::ToClient] {
            self.finish_direction(direction, each);
        }
    }

    /// Ends one direction.
    pub fn finish_direction(
        &mut self,
        direction: Direction,
        each: &mut dyn FnMut(ConnectionEvent<'_>),
    ) {
        if self.state == ConnectionState::Handshake {
            self.open_alone(false, each);
        }
        if self.state == ConnectionState::Trial {
            self.on_trial(each, |trial| trial.finish(direction));
        } else if let Some(decoders) = &mut self.decoders {
            decoders[direction.slot()].finish(&mut |event| {
                each(ConnectionEvent::Wire(direction, event));
            });
        }
    }

    /// Bytes of memory that are held until more comes, about.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let waiting = self.waiting.iter().map(Vec::capacity);
        let decoders = self.decoders.iter().flatten().map(Decoder::held_bytes);
        let trial = self.trial.iter().map(|trial| trial.held_bytes());
        let pieces = self
            .pieces
            .capacity()
            .saturating_mul(size_of::<(Direction, usize)>());
        waiting.chain(decoders).chain(trial).chain([pieces]).sum()
    }

    /// The number of bytes that wait behind the head of their direction for that of the other one.
    #[must_use]
    pub fn bytes_behind_heads(&self) -> u64 {
        if self.state != ConnectionState::Handshake {
            return 0;
        }
        let behind = |waiting: &Vec<u8>| {
            let end = head_end(waiting).unwrap_or(waiting.len());
            waiting.len().saturating_sub(end) as u64
        };
        self.waiting.iter().map(behind).sum()
    }

    /// The number of the last bytes of a direction that belong to a message that is [not whole yet](Decoder::under_way_bytes); `None` while
    /// it is not known what the bytes are.
    #[must_use]
    pub fn under_way_bytes(&self, direction: Direction) -> Option<u64> {
        let decoders = self.decoders.as_ref()?;
        Some(decoders[direction.slot()].under_way_bytes())
    }

    /// True once it is known that this is no WebSocket connection.
    #[must_use]
    pub fn is_other(&self) -> bool {
        self.state == ConnectionState::Other
    }

    /// Decodes bytes of an open connection. Without a handshake, the first violation of a rule closes it.
    fn decode(&mut self, direction: Direction, bytes: &[u8], each: &mut OnEvent<'_>) {
        let is_mid_stream = self.state == ConnectionState::MidStream;
        let mut breaks_rules = false;
        if let Some(decoders) = &mut self.decoders {
            decoders[direction.slot()].feed(bytes, &mut |event| {
                breaks_rules |= is_mid_stream
                    && matches!(event, Event::Violation(violation) if violation.kind.is_fault());
                if !breaks_rules {
                    each(ConnectionEvent::Wire(direction, event));
                }
            });
        }
        if breaks_rules {
            self.close(each);
        }
    }

    /// Whether a direction begins with these bytes, and not with a handshake.
    fn is_without_handshake(&self, direction: Direction, bytes: &[u8]) -> bool {
        let begin: &[u8] = match direction {
            Direction::ToServer => b"GET ",
            Direction::ToClient => b"HTTP/",
        };
        let waiting = &self.waiting[direction.slot()];
        let all = waiting.iter().chain(bytes).zip(begin);
        !all.into_iter().all(|(byte, expected)| byte == expected)
    }

    /// Puts bytes without a handshake on trial, unless they are frames behind the head of one direction.
    fn begin_trial(&mut self, direction: Direction, bytes: &[u8], each: &mut OnEvent<'_>) {
        let sender = match direction {
            Direction::ToServer => Sender::Client,
            Direction::ToClient => Sender::Server,
        };
        if self.open_alone(begins_with_frame(bytes, sender), each) {
            return self.decode(direction, bytes, each);
        }
        // With a request or response in the other direction, this is another protocol.
        if self.waiting.iter().any(|waiting| !waiting.is_empty()) {
            return self.close(each);
        }
        self.state = ConnectionState::Trial;
        self.trial = Some(Box::new(Trial::new(self.options)));
        self.on_trial(each, |trial| trial.feed(direction, bytes));
    }

    /// The handshake of a response that agrees on a WebSocket, and the end of its head, when its request was not captured.
    fn agreement_alone(&self) -> Option<(Handshake, usize)> {
        let [request, response] = &self.waiting;
        let end = head_end(response).filter(|_| request.is_empty())?;
        Some((Handshake::of_response(response.get(..end)?)?, end))
    }

    /// The handshake of a request for a WebSocket, and the end of its head, when its response was not captured, and
    /// frames behind the request, or those that come now, show that it agreed.
    fn request_alone(&self, has_frames: bool) -> Option<(Handshake, usize)> {
        let [request, response] = &self.waiting;
        let end = head_end(request).filter(|_| response.is_empty())?;
        let (head, behind) = request.split_at_checked(end)?;
        let is_agreed = has_frames || begins_with_frame(behind, Sender::Client);
        let handshake = Handshake::of_request(head).filter(|_| is_agreed)?;
        Some((handshake, end))
    }

    /// Begins to read with the head of one direction, where that of the other one was not captured. `has_frames` is
    /// whether the bytes that come now begin with a frame. False where neither head shows a WebSocket.
    fn open_alone(&mut self, has_frames: bool, each: &mut OnEvent<'_>) -> bool {
        let (handshake, ends, inflate, is_sure) =
            if let Some((handshake, end)) = self.agreement_alone() {
                let inflate = self.inflate_of(handshake.agreed);
                (handshake, [0, end], inflate, true)
            } else if let Some((handshake, end)) = self.request_alone(has_frames) {
                // The frames show whether an offer was agreed on.
                let inflate = self.options.inflate;
                let inflate = inflate.filter(|_| !handshake.offers.is_empty());
                (handshake, [end, 0], [inflate; 2], false)
            } else {
                return false;
            };
        each(ConnectionEvent::Handshake(&handshake));
        self.open(inflate, !is_sure);
        self.replay(ends, each);
        true
    }

    /// Decodes what waits behind the heads, in the pieces in which it came.
    fn replay(&mut self, ends: [usize; 2], each: &mut OnEvent<'_>) {
        let waiting = std::mem::take(&mut self.waiting);
        let pieces = std::mem::take(&mut self.pieces);
        let mut all = [0_usize; 2];
        for (direction, len) in &pieces {
            let all = &mut all[direction.slot()];
            *all = all.saturating_add(*len);
        }
        let mut at = [0_usize; 2];
        for (number, (direction, len)) in pieces.iter().enumerate() {
            let slot = direction.slot();
            // The first bytes of a direction may not wait any more.
            let dropped = all[slot].saturating_sub(waiting[slot].len());
            let start = at[slot].saturating_sub(dropped).max(ends[slot]);
            at[slot] = at[slot].saturating_add(*len);
            let end = at[slot].saturating_sub(dropped);
            let piece = waiting[slot].get(start..end).unwrap_or_default();
            let bytes = piece.len();
            each(ConnectionEvent::Replay { number, bytes });
            self.decode(*direction, piece, each);
        }
        each(ConnectionEvent::Replay {
            number: pieces.len(),
            bytes: usize::MAX,
        });
    }

    /// Continues the trial, and begins to read when it is over.
    fn on_trial(&mut self, each: &mut OnEvent<'_>, step: impl FnOnce(&mut Trial) -> Verdict) {
        let Some(trial) = &mut self.trial else {
            return;
        };
        match step(trial) {
            Verdict::Open => {}
            Verdict::Other => self.close(each),
            Verdict::WebSocket => {
                let Some(trial) = self.trial.take() else {
                    return;
                };
                self.open([self.options.inflate; 2], true);
                each(ConnectionEvent::MidStream);
                for (number, (direction, piece)) in trial.pieces().enumerate() {
                    let bytes = piece.len();
                    each(ConnectionEvent::Replay { number, bytes });
                    self.decode(direction, piece, each);
                }
                for direction in [Direction::ToServer, Direction::ToClient] {
                    if trial.finished()[direction.slot()] {
                        self.finish_direction(direction, each);
                    }
                }
            }
        }
    }

    /// Begins to read once both heads are whole and agree on a WebSocket.
    fn try_open(&mut self, each: &mut OnEvent<'_>) {
        let [request, response] = &mut self.waiting;
        while let Some(end) = head_end(response).filter(|_| is_preliminary(response)) {
            response.drain(..end);
        }
        let begins = |bytes: &[u8], with: &[u8]| {
            bytes.starts_with(with) || (bytes.len() < with.len() && with.starts_with(bytes))
        };
        let get = begins(request, b"GET ");
        let http = begins(response, b"HTTP/");
        if !get || !http {
            return self.close(each);
        }
        let (Some(request_end), Some(response_end)) = (head_end(request), head_end(response))
        else {
            let is_long = request.len() > HEAD_BYTES_MAX || response.len() > HEAD_BYTES_MAX;
            if is_long && !self.open_alone(false, each) {
                self.close(each);
            }
            return;
        };
        let handshake = Handshake::of_both(&request[..request_end], &response[..response_end]);
        // A refused upgrade is not a connection, and nothing was agreed on.
        match handshake.filter(|handshake| handshake.status == 101) {
            Some(handshake) => self.begin(&handshake, [request_end, response_end], each),
            None => self.close(each),
        }
    }

    /// Begins to read as the heads say, behind them.
    fn begin(&mut self, handshake: &Handshake, ends: [usize; 2], each: &mut OnEvent<'_>) {
        each(ConnectionEvent::Handshake(handshake));
        self.open(self.inflate_of(handshake.agreed), false);
        self.replay(ends, each);
    }

    /// The transformation of each direction by what was agreed on.
    fn inflate_of(&self, agreed: Option<Agreed>) -> [Option<InflateOptions>; 2] {
        let limit = self.options.inflate.unwrap_or_default().message_bytes_max;
        let inflate = |no_takeover: bool, window_bits: u8| InflateOptions {
            takeover: !no_takeover,
            window_bits,
            message_bytes_max: limit,
        };
        [
            agreed.map(|a| inflate(a.client_no_context_takeover, a.client_window_bits())),
            agreed.map(|a| inflate(a.server_no_context_takeover, a.server_window_bits())),
        ]
    }

    /// Ends the reading: the bytes are not those of a WebSocket connection.
    fn close(&mut self, each: &mut OnEvent<'_>) {
        self.state = ConnectionState::Other;
        self.waiting = [Vec::new(), Vec::new()];
        self.pieces = Vec::new();
        self.trial = None;
        self.decoders = None;
        each(ConnectionEvent::NotWebSocket);
    }

    /// Begins to decode, with the transformation of each direction.
    fn open(&mut self, inflate: [Option<InflateOptions>; 2], mid_stream: bool) {
        self.state = match mid_stream {
            true => ConnectionState::MidStream,
            false => ConnectionState::Open,
        };
        let decoder = |sender, inflate| {
            let options = DecoderOptions {
                sender: Some(sender),
                inflate,
                ..self.options
            };
            match mid_stream {
                true => Decoder::mid_stream(options),
                false => Decoder::new(options),
            }
        };
        let [client, server] = inflate;
        self.decoders = Some([
            decoder(Sender::Client, client),
            decoder(Sender::Server, server),
        ]);
    }
}

/// True of bytes that begin with the header of a frame that breaks no rule.
fn begins_with_frame(bytes: &[u8], sender: Sender) -> bool {
    let mut is_plausible = true;
    let header = Header::parse(bytes);
    header.is_some_and(|header| {
        header.check(Some(sender), true, &mut |_| is_plausible = false);
        is_plausible
    })
}

#[cfg(test)]
mod tests;
