//! HTTP/2 (RFC 9113): frames of both directions of a connection, and the exchanges that its streams are.

mod fields;
pub(super) mod frame;
mod settings;
mod side;

use std::collections::VecDeque;

use weir_bytes::u32_be_at;

pub use self::fields::FIELD_OCTETS_MAX;
use self::fields::Fields;
pub(super) use self::frame::PREFACE;
use self::frame::{
    ACK, CONTINUATION, DATA, END_HEADERS, END_STREAM, FRAME_HEADER, FrameHeader, HEADERS, PADDED,
    PRIORITIES, PRIORITY, PRIORITY_UPDATE, PROMISE, RESET, SETTINGS, are_frames, begin_with_frame,
    fields_of, header,
};
use self::settings::Ahead;
pub use self::settings::{Dependency, Priority, SETTINGS_MAX, Settings, setting_name};
use self::side::{DirectionState, Http2Side, fill};
use super::hpack::{Decoder, Field};
use super::stream_event::{StreamEvent, StreamOrigin};
use super::{
    ConnectionState, Exchange, Head, HttpFault, Request, RequestLine, Response, StatusLine,
};
use crate::tls::Stamp;

/// The maximum octets of a field block as it is sent, with its continuations.
pub const BLOCK_OCTETS_MAX: usize = 1 << 16;
/// Streams of a connection that wait for their responses, at most.
pub const STREAMS_MAX: usize = 1_024;

/// Whether the sender of a piece is the client of a connection of HTTP/2, of which the beginning was not seen: the piece
/// is frames up to its end, among them the whole head of a request or of a response. `None` where it is not.
pub(super) fn is_of_client(bytes: &[u8]) -> Option<bool> {
    if !begin_with_frame(bytes) {
        return None;
    }
    let mut rest = bytes;
    while let Some(header) = header(rest) {
        let end = FRAME_HEADER.saturating_add(header.length);
        let payload = rest.get(FRAME_HEADER..end)?;
        rest = rest.get(end..)?;
        if header.kind != HEADERS || header.flags & END_HEADERS == 0 {
            continue;
        }
        let mut is_request = None;
        let mut see = |(name, _): Field| match &*name {
            ":method" | ":path" | ":scheme" | ":authority" => is_request = Some(true),
            ":status" => is_request = Some(false),
            _ => {}
        };
        Decoder::partial()
            .read(fields_of(header, payload)?, &mut see)
            .ok()?;
        if is_request.is_some() {
            return is_request;
        }
    }
    None
}

/// An event of a connection.
#[allow(
    clippy::large_enum_variant,
    reason = "an event is handed on at once, and none is stored"
)]
#[derive(Debug)]
pub(super) enum Event<'a> {
    /// An exchange that is over.
    Over(Exchange),
    /// An event of a stream that may be a tunnel (RFC 8441).
    Stream(StreamEvent<'a>),
}

/// A connection.
#[derive(Debug)]
pub(super) struct Http2Connection {
    sides: [Http2Side; 2],
    client: usize,
    /// Streams that wait, in the order in which they began.
    streams: VecDeque<Exchange>,
    depth: u64,
    dropped: u64,
    is_over: bool,
    /// Streams that the client reset and whose responses may be on their way, oldest first.
    reset: VecDeque<u32>,
    /// Streams that were reset and reported: later frames of them begin nothing.
    gone: VecDeque<u32>,
    /// The reason why the fields of each side are lost, where they are.
    lost: [Option<HttpFault>; 2],
    /// Requests may be lost.
    lacks_requests: bool,
    /// Frames are read again behind a loss, without their fields.
    resumes: bool,
    /// The last stream whose response may be among what is lost of the server.
    unanswered: Option<u32>,
    /// The number of blocks of fields that begin no row, as it is not known what they are.
    unknown: u64,
    /// Octets that were passed over behind a loss.
    passed: u64,
    /// A frame of each side was seen.
    has_begun: [bool; 2],
    /// The settings of each side.
    settings: [Option<Settings>; 2],
    /// Priorities of streams to come.
    ahead: Ahead,
    /// When the octets came that are read.
    stamp: Stamp,
}

/// Streams that were reset and wait for what is on its way, at most.
const RESET_MAX: usize = 16;
/// Responses that are complete and wait for their requests, or for the rest of them, at most.
const EARLY_MAX: usize = 16;
/// Streams that were reset and are remembered, at most.
const GONE_MAX: usize = 256;

impl Http2Connection {
    /// The state before the first octets, of which `client` sends a preface. `depth` exchanges came before.
    pub(super) fn new(client: usize, depth: u64) -> Self {
        let mut sides = <[Http2Side; 2]>::default();
        if let Some(side) = sides.get_mut(client) {
            side.state = DirectionState::Preface;
        }
        Self {
            sides,
            client,
            streams: VecDeque::new(),
            depth,
            dropped: 0,
            is_over: false,
            reset: VecDeque::new(),
            gone: VecDeque::new(),
            lost: [None; 2],
            lacks_requests: false,
            resumes: false,
            unanswered: None,
            unknown: 0,
            passed: 0,
            has_begun: [false; 2],
            settings: [None, None],
            ahead: Ahead::default(),
            stamp: Stamp::default(),
        }
    }

    /// The same; frames behind a loss are read without their fields, for what streams carry.
    pub(super) fn resuming(client: usize) -> Self {
        Self {
            resumes: true,
            ..Self::new(client, 0)
        }
    }

    /// The same of a connection whose beginning was not seen.
    pub(super) fn from_middle(client: usize) -> Self {
        let mut this = Self::resuming(client);
        for side in &mut this.sides {
            side.state = DirectionState::Lost;
        }
        this.lost = [Some(HttpFault::Missing); 2];
        this
    }

    /// The same; the fields that do not refer to those of earlier frames are read.
    pub(super) fn partly(client: usize) -> Self {
        let mut this = Self::new(client, 0);
        this.sides = [Http2Side::partial(), Http2Side::partial()];
        this
    }

    /// The same after an upgrade, whose request is that of the first stream (RFC 7540, 3.2).
    pub(super) fn upgraded(client: usize, depth: u64, mut exchange: Exchange) -> Self {
        exchange.stream = Some(1);
        let mut this = Self::new(client, depth);
        // The client's settings are a field of the request (RFC 7540, 3.2.1).
        let sent = exchange
            .request
            .as_ref()
            .and_then(|it| it.head.field("http2-settings"));
        // The settings are encoded in base64url.
        let sent = sent.map(|it| it.replace('-', "+").replace('_', "/"));
        if let Some(payload) = sent.and_then(|it| crate::base64(&it)) {
            this.set(client, &payload);
        }
        exchange.request_settings = this.settings.get(client).cloned().flatten();
        this.streams.push_back(exchange);
        this
    }

    pub(super) const fn depth(&self) -> u64 {
        self.depth
    }

    pub(super) const fn client(&self) -> usize {
        self.client
    }

    pub(super) const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The number of blocks of fields that begin no row, as it is not known whether they are heads.
    pub(super) const fn unknown(&self) -> u64 {
        self.unknown
    }

    /// The number of octets that were passed over behind a loss, as no frame begins with their segments.
    pub(super) const fn passed(&self) -> u64 {
        self.passed
    }

    pub(super) fn held(&self) -> usize {
        let of_side = |side: &Http2Side| {
            let block = side
                .block
                .as_ref()
                .map_or(0, |(.., block)| block.capacity());
            side.begun.capacity() + side.fields.held() + block
        };
        let sides: usize = self.sides.iter().map(of_side).sum();
        let streams: usize = self.streams.iter().map(Exchange::held).sum();
        sides
            .saturating_add(streams)
            .saturating_add(self.ahead.held())
    }

    /// How many of the last octets of a side are the header, or a part of it, of a frame whose data begin with the next octet.
    pub(super) fn header_octets(&self, side: usize) -> usize {
        let side = self.sides.get(side);
        match side.map(|side| (&side.state, side.begun.len())) {
            Some((DirectionState::Frame, begun)) => begun,
            Some((
                DirectionState::Data {
                    header,
                    left,
                    padding,
                },
                _,
            )) => match header.length.saturating_sub(*left) {
                0 => FRAME_HEADER,
                // The length of the padding precedes the data.
                1 if *padding > 0 => FRAME_HEADER + 1,
                _ => 0,
            },
            _ => 0,
        }
    }

    /// Adds octets of a side.
    pub(super) fn take(
        &mut self,
        side: usize,
        bytes: &[u8],
        stamp: Stamp,
        each: &mut dyn FnMut(Event<'_>),
    ) -> ConnectionState {
        let Some(place) = self.sides.get_mut(side) else {
            return ConnectionState::Over;
        };
        let mut this = std::mem::take(place);
        self.stamp = stamp;
        let mut rest = bytes;
        while !rest.is_empty() && !self.is_over {
            match &mut this.state {
                DirectionState::Lost if self.resumes && are_frames(rest) => {
                    this.state = DirectionState::Frame;
                }
                DirectionState::Lost
                    if !self.resumes && rest.len() == bytes.len() && self.may_resume(rest) =>
                {
                    this.state = DirectionState::Frame;
                    self.goes_on(side);
                }
                DirectionState::Lost => {
                    self.passed = self.passed.saturating_add(rest.len() as u64);
                    break;
                }
                DirectionState::Preface => {
                    if !this.preface(&mut rest) {
                        // It was not captured, or not completely.
                        let taken = bytes.len().saturating_sub(rest.len());
                        self.is_over = this.begun.len() != taken || !begin_with_frame(bytes);
                        rest = bytes;
                        self.lose(side, &mut this, HttpFault::Missing, each);
                    }
                }
                DirectionState::Frame => {
                    if fill(&mut this.begun, &mut rest, FRAME_HEADER) {
                        self.frame_begins(side, &mut this, stamp, each);
                    }
                }
                DirectionState::Kept(header) => {
                    let header = *header;
                    if fill(&mut this.begun, &mut rest, header.length) {
                        self.frame_done(side, &mut this, header, stamp, each);
                        this.begun = Vec::new();
                    }
                }
                DirectionState::Data {
                    header,
                    left,
                    padding,
                } => {
                    let data = data_of(header, left, padding, &mut rest);
                    let (header, is_done) = (*header, *left == 0);
                    self.data(side, header.stream, data, each);
                    if is_done {
                        this.state = DirectionState::Frame;
                        self.ended(side, header, each);
                    }
                }
                DirectionState::Passed(left) => {
                    let passed = rest.len().min(*left);
                    rest = rest.get(passed..).unwrap_or_default();
                    *left -= passed;
                    if *left == 0 {
                        this.state = DirectionState::Frame;
                    }
                }
            }
        }
        if let Some(place) = self.sides.get_mut(side) {
            *place = this;
        }
        match self.is_over {
            true => ConnectionState::Over,
            false => ConnectionState::More,
        }
    }

    /// Begins a frame whose header is whole.
    fn frame_begins(
        &mut self,
        side: usize,
        this: &mut Http2Side,
        stamp: Stamp,
        each: &mut dyn FnMut(Event<'_>),
    ) {
        let header = header(&this.begun).unwrap_or_default();
        this.begun.clear();
        self.begins(side, header);
        this.state = state_of(header, &this.block);
        if let DirectionState::Lost = this.state {
            self.lose_fields(side, this, header.stream, each);
        } else if header.kind == RESET {
            self.reset(side, header.stream, each);
        }
        if header.length == 0 && !matches!(this.state, DirectionState::Lost) {
            self.frame_done(side, this, header, stamp, each);
        }
    }

    /// A side begins with its settings (RFC 9113, 3.4): before any other frame something is missing.
    fn begins(&mut self, side: usize, header: FrameHeader) {
        if let (Some(begun), Some(lost)) = (self.has_begun.get_mut(side), self.lost.get_mut(side))
            && !std::mem::replace(begun, true)
            && self.resumes
            && header.kind != SETTINGS
        {
            lost.get_or_insert(HttpFault::Missing);
        }
    }

    /// Octets of a side were not captured: data may miss some, all else is lost with its frame.
    pub(super) fn gap(&mut self, side: usize, octets: u64, each: &mut dyn FnMut(Event<'_>)) {
        let Some(place) = self.sides.get_mut(side) else {
            return;
        };
        let mut this = std::mem::take(place);
        let gap = usize::try_from(octets).unwrap_or(usize::MAX);
        match &mut this.state {
            DirectionState::Data {
                header,
                left,
                padding,
            } if gap <= left.saturating_sub(*padding) => {
                *left -= gap;
                let (header, is_done) = (*header, *left == 0);
                self.missing(side, header.stream, octets, each);
                if is_done {
                    this.state = DirectionState::Frame;
                    self.ended(side, header, each);
                }
            }
            DirectionState::Passed(left) if gap < *left => *left -= gap,
            _ => self.lose(side, &mut this, HttpFault::Missing, each),
        }
        if let Some(place) = self.sides.get_mut(side) {
            *place = this;
        }
    }

    /// A side has ended by a FIN or a RST: no more of the messages comes that it has begun.
    pub(super) fn close(&mut self, side: usize) {
        for exchange in &mut self.streams {
            let is_short = match side == self.client {
                true => exchange.request.as_ref().is_some_and(|it| !it.is_whole),
                false => exchange.response.as_ref().is_some_and(|it| !it.is_whole),
            };
            if is_short {
                exchange.fault.get_or_insert(HttpFault::Unended);
            }
        }
    }

    /// The connection has ended: the waiting messages are reported.
    pub(super) fn finish(&mut self, each: &mut dyn FnMut(Event<'_>)) {
        for exchange in std::mem::take(&mut self.streams) {
            each(Event::Over(self.without_half(exchange)));
        }
    }

    fn lose(
        &mut self,
        side: usize,
        this: &mut Http2Side,
        fault: HttpFault,
        each: &mut dyn FnMut(Event<'_>),
    ) {
        if let Some(lost) = self.lost.get_mut(side) {
            lost.get_or_insert(fault);
        }
        each(Event::Stream(StreamEvent::Lost { side }));
        this.state = DirectionState::Lost;
        this.begun = Vec::new();
        this.block = None;
        for exchange in &mut self.streams {
            let waits = match self.client == side {
                true => exchange.request.as_ref().is_none_or(|it| !it.is_whole),
                false => match &exchange.response {
                    Some(response) => !response.is_whole,
                    // Its head may come behind what is missing.
                    None => self.resumes || fault != HttpFault::Missing,
                },
            };
            if waits {
                exchange.fault.get_or_insert(fault);
            }
        }
        if side == self.client {
            self.lacks_requests = true;
            self.pass_early(0, each);
        } else {
            self.unanswered = Some(u32::MAX);
        }
        if !self.resumes {
            *this = Http2Side::partial();
        }
    }

    /// Whether a piece behind a loss begins with a frame: one that is whole, or a head, or data of a stream that is known.
    fn may_resume(&self, bytes: &[u8]) -> bool {
        let is_known = |header: FrameHeader| {
            let mut streams = self.streams.iter();
            header.kind == HEADERS
                || header.kind == DATA && streams.any(|it| it.stream == Some(header.stream))
        };
        begin_with_frame(bytes) || are_frames(bytes) && header(bytes).is_some_and(is_known)
    }

    /// A block of fields is damaged, or longer than what is kept: it may be the head of a stream, which has no row then.
    fn lose_fields(
        &mut self,
        side: usize,
        this: &mut Http2Side,
        stream: u32,
        each: &mut dyn FnMut(Event<'_>),
    ) {
        let is_new = self.stream(stream).is_none();
        self.unknown = self.unknown.saturating_add(is_new.into());
        self.lose(side, this, HttpFault::Fields, each);
    }

    /// A block of fields cannot be read. Where it is whole, the next frame begins behind it, and what does not refer to earlier
    /// fields is read.
    fn block_damaged(
        &mut self,
        side: usize,
        this: &mut Http2Side,
        header: FrameHeader,
        each: &mut dyn FnMut(Event<'_>),
    ) {
        let stream = header.stream;
        if self.resumes || header.flags & END_HEADERS == 0 {
            return self.lose_fields(side, this, stream, each);
        }
        *this = Http2Side::partial();
        this.state = DirectionState::Frame;
        if side == self.client && self.stream(stream).is_none() {
            self.begin(stream, each);
        }
        match self.stream(stream) {
            Some(exchange) => {
                exchange.fault.get_or_insert(HttpFault::Fields);
            }
            None => self.unknown = self.unknown.saturating_add(1),
        }
    }

    /// The frames of a side are read again behind a loss. The responses to later streams are not among what was lost.
    fn goes_on(&mut self, side: usize) {
        if let Some(lost) = self.lost.get_mut(side) {
            *lost = None;
        }
        if side != self.client && self.unanswered.is_some() {
            self.unanswered = self.streams.iter().filter_map(|it| it.stream).max();
        }
    }

    /// An exchange that is over, and lacks its request, or its response, where that may be lost.
    fn without_half(&self, mut exchange: Exchange) -> Exchange {
        let lacks_request = self.lacks_requests && exchange.request.is_none();
        if lacks_request || exchange.response.is_none() && exchange.stream <= self.unanswered {
            exchange.fault.get_or_insert(HttpFault::Missing);
        }
        exchange
    }

    /// Reports responses that wait for their requests or the rest of them, the oldest first, but so many.
    fn pass_early(&mut self, most: usize, each: &mut dyn FnMut(Event<'_>)) {
        let is_early = |it: &Exchange| it.response.as_ref().is_some_and(|it| it.is_whole);
        let waiting = self.streams.iter().filter(|it| is_early(it)).count();
        for _ in most..waiting {
            let place = self.streams.iter().position(is_early);
            if let Some(early) = place.and_then(|place| self.streams.remove(place)) {
                each(Event::Over(self.without_half(early)));
            }
        }
    }

    fn frame_done(
        &mut self,
        side: usize,
        this: &mut Http2Side,
        header: FrameHeader,
        stamp: Stamp,
        each: &mut dyn FnMut(Event<'_>),
    ) {
        this.state = DirectionState::Frame;
        let payload = std::mem::take(&mut this.begun);
        match header.kind {
            DATA => self.ended(side, header, each),
            HEADERS | PROMISE | CONTINUATION => {
                let is_read = self.block(side, this, header, &payload, stamp, each);
                if is_read.is_none() {
                    self.block_damaged(side, this, header, each);
                }
            }
            SETTINGS => self.set(side, &payload),
            PRIORITIES if side == self.client => {
                if let Some(dependency) = Dependency::read(&payload) {
                    self.prioritize(header.stream, |it| it.dependency = Some(dependency));
                }
            }
            PRIORITY_UPDATE if side == self.client => {
                if let Some((stream, value)) = settings::update(&payload) {
                    self.prioritize(stream, |it| it.update = Some(value));
                }
            }
            _ => {}
        }
    }

    /// Applies a SETTINGS frame.
    fn set(&mut self, side: usize, payload: &[u8]) {
        if let Some(settings) = self.settings.get_mut(side) {
            *settings = Some(settings::with(settings.as_ref(), payload));
        }
    }

    /// Stores the priority of a stream, which may not have begun yet.
    fn prioritize(&mut self, stream: u32, change: impl FnOnce(&mut Priority)) {
        match self.stream(stream) {
            Some(exchange) => change(exchange.priority.get_or_insert_default()),
            None => self.ahead.change(stream, change),
        }
    }

    /// A side ends a stream (RFC 9113, 5.4.2). Frames that the server sent before it received the reset come behind it.
    fn reset(&mut self, side: usize, stream: u32, each: &mut dyn FnMut(Event<'_>)) {
        each(Event::Stream(StreamEvent::Ended { stream, side }));
        let stamp = self.stamp;
        let Some(exchange) = self.stream(stream) else {
            return;
        };
        if exchange.response.as_ref().is_some_and(|it| it.is_whole) {
            // The rest of a request that is answered is not wanted (RFC 9113, 8.1).
            if exchange.request.is_some() {
                self.leave(stream, each);
            }
            return;
        }
        exchange.fault.get_or_insert(HttpFault::Reset);
        // The request may be captured behind the reset of its response.
        let lacks_request = exchange.request.is_none() && stream % 2 == 1;
        if lacks_request {
            exchange.over = Some(stamp);
        }
        let may_follow = lacks_request && !self.is_lost(self.client);
        if side != self.client && !may_follow {
            return self.leave(stream, each);
        }
        if !self.reset.contains(&stream) {
            self.reset.push_back(stream);
        }
        if self.reset.len() > RESET_MAX
            && let Some(oldest) = self.reset.pop_front()
        {
            self.leave(oldest, each);
        }
    }

    /// Reports the exchange of a stream that was reset.
    fn leave(&mut self, stream: u32, each: &mut dyn FnMut(Event<'_>)) {
        let place = self
            .streams
            .iter()
            .rposition(|it| it.stream == Some(stream));
        let Some(exchange) = place.and_then(|place| self.streams.remove(place)) else {
            return;
        };
        if self.gone.len() >= GONE_MAX {
            self.gone.pop_front();
        }
        self.gone.push_back(stream);
        each(Event::Over(exchange));
    }

    /// Reads a part of a field block. `None` when its padding, its length or its HPACK is damaged: later blocks need the table
    /// that this one would have left, so that the fields of this direction are lost.
    fn block(
        &mut self,
        side: usize,
        this: &mut Http2Side,
        header: FrameHeader,
        payload: &[u8],
        stamp: Stamp,
        each: &mut dyn FnMut(Event<'_>),
    ) -> Option<()> {
        let (first, stream, block) = if header.kind == CONTINUATION {
            let (first, stream, mut block) = this.block.take()?;
            block.extend_from_slice(payload);
            (first, stream, block)
        } else {
            let mut rest = payload;
            let mut padding = 0;
            if header.flags & PADDED != 0 {
                padding = usize::from(*rest.first()?);
                rest = rest.get(1..)?;
            }
            let mut stream = header.stream;
            if header.kind == PROMISE {
                stream = u32_be_at(rest, 0)? & 0x7fff_ffff;
                rest = rest.get(4..)?;
            } else if header.flags & PRIORITY != 0 {
                let dependency = Dependency::read(rest)?;
                rest = rest.get(5..)?;
                if side == self.client {
                    self.prioritize(stream, |it| it.dependency = Some(dependency));
                }
            }
            let end = rest.len().checked_sub(padding)?;
            (header, stream, rest.get(..end)?.to_vec())
        };
        if block.len() > BLOCK_OCTETS_MAX {
            return None;
        }
        if header.flags & END_HEADERS == 0 {
            this.block = Some((first, stream, block));
            return Some(());
        }
        if self.is_lost(side) {
            // The dynamic table of its fields is unknown.
            if first.kind == HEADERS {
                self.ended(side, FrameHeader { stream, ..first }, each);
            }
            return Some(());
        }
        let mut read = Fields::default();
        let is_partly = this.fields.is_partial();
        let mut add = |field: Field| match is_partly && field.0.is_empty() {
            true => read.is_unknown = true,
            false => read.add(field),
        };
        this.fields.read(&block, &mut add).ok()?;
        let is_head = read.is_of_request() || read.has(&[":status"]);
        if read.is_unknown && !is_head && self.stream(stream).is_none() {
            self.unknown = self.unknown.saturating_add(1);
        }
        // A promise is a request that the server makes in the client's place.
        let is_request = self.client == side || first.kind == PROMISE;
        match is_request {
            true => self.request(stream, read, stamp, each),
            false => {
                // These are the last fields of a response whose head is lost.
                read.is_unknown |= is_partly
                    && !read.has(&[":status"])
                    && self.stream(stream).is_some_and(|it| it.response.is_none());
                self.response(stream, read, stamp, each);
            }
        }
        if first.kind == HEADERS {
            self.ended(side, FrameHeader { stream, ..first }, each);
        } else if let Some(request) = self.stream(stream).and_then(|it| it.request.as_mut()) {
            request.is_whole = true;
        }
        Some(())
    }

    fn stream(&mut self, stream: u32) -> Option<&mut Exchange> {
        self.streams
            .iter_mut()
            .rev()
            .find(|it| it.stream == Some(stream))
    }

    /// The exchange of a stream, which begins where it is new.
    fn begin(&mut self, stream: u32, each: &mut dyn FnMut(Event<'_>)) {
        if self.streams.len() >= STREAMS_MAX
            && let Some(oldest) = self.streams.pop_front()
        {
            self.dropped = self.dropped.saturating_add(1);
            each(Event::Over(self.without_half(oldest)));
        }
        self.depth += 1;
        // The response may come behind what is lost of a server.
        let sides = if self.resumes {
            0..2
        } else {
            self.client..self.client.saturating_add(1)
        };
        let mut lost = self.lost.get(sides).into_iter().flatten().flatten();
        let fault = lost.next().copied();
        self.streams.push_back(Exchange {
            depth: self.depth,
            stream: Some(stream),
            priority: self.ahead.take(stream).map(Box::new),
            fault,
            ..Exchange::default()
        });
    }

    fn request(
        &mut self,
        stream: u32,
        read: Fields,
        stamp: Stamp,
        each: &mut dyn FnMut(Event<'_>),
    ) {
        let method = read.pseudo(":method");
        // A block after a body has no method.
        let is_head = !method.is_empty() || read.is_unknown && read.is_of_request();
        if self.stream(stream).is_none() && is_head {
            self.begin(stream, each);
        }
        let settings = self.settings.get(self.client).cloned().flatten();
        let Some(exchange) = self.stream(stream) else {
            return;
        };
        if let Some(fault) = read.fault() {
            exchange.fault.get_or_insert(fault);
        }
        if exchange.request.is_some() {
            // A stream has one request (RFC 9113, 8.1).
            self.unknown = self.unknown.saturating_add((!method.is_empty()).into());
            return;
        }
        exchange.request_settings = settings;
        exchange.over = None;
        let line = RequestLine {
            method,
            target: read.pseudo(":path"),
            ..RequestLine::default()
        };
        exchange.request = Some(Request {
            head: Head {
                line,
                fields: read.fields,
                is_malformed: false,
            },
            stamp,
            ..Request::default()
        });
        connected(exchange, stream, each);
    }

    fn response(
        &mut self,
        stream: u32,
        read: Fields,
        stamp: Stamp,
        each: &mut dyn FnMut(Event<'_>),
    ) {
        let status = read.pseudo(":status");
        let is_new = self.stream(stream).is_none() && !self.gone.contains(&stream);
        if is_new && !status.is_empty() {
            self.begin(stream, each);
        }
        let settings = self.settings.get(1 - (self.client & 1)).cloned().flatten();
        let Some(exchange) = self.stream(stream) else {
            return;
        };
        if let Some(fault) = read.fault() {
            exchange.fault.get_or_insert(fault);
        }
        if exchange.response.is_some() {
            return;
        }
        exchange.response_settings = settings;
        let line = StatusLine {
            code: status.parse().unwrap_or_default(),
            ..StatusLine::default()
        };
        if line.code / 100 == 1 {
            exchange.interim = Some(line);
            exchange.interim_stamp = stamp;
            return;
        }
        exchange.response = Some(Response {
            head: Head {
                line,
                fields: read.fields,
                is_malformed: false,
            },
            stamp,
            ..Response::default()
        });
        connected(exchange, stream, each);
    }

    fn data(&mut self, side: usize, stream: u32, octets: &[u8], each: &mut dyn FnMut(Event<'_>)) {
        if let Some(origin) = self.origin(stream) {
            each(Event::Stream(StreamEvent::Data {
                stream,
                side,
                octets,
                origin,
            }));
        }
        let is_client = self.client == side;
        let Some(exchange) = self.stream(stream) else {
            return;
        };
        match (is_client, &mut exchange.request, &mut exchange.response) {
            (true, Some(request), _) => request.add(octets),
            (false, _, Some(response)) => response.add(octets),
            _ => {}
        }
    }

    /// The origin of a stream that may be a tunnel; `None` for other requests.
    fn origin(&self, stream: u32) -> Option<StreamOrigin> {
        let is_of = |it: &&Exchange| it.stream == Some(stream);
        let exchange = self.streams.iter().rev().find(is_of);
        match exchange.map(|it| &it.request) {
            Some(Some(request)) => is_extended_connect(request).then_some(StreamOrigin::Awaited),
            _ if self.is_lost(self.client) => Some(StreamOrigin::Unseen),
            Some(None) => Some(StreamOrigin::Awaited),
            None => Some(StreamOrigin::Over),
        }
    }

    fn is_lost(&self, side: usize) -> bool {
        self.lost.get(side).is_some_and(Option::is_some)
    }

    fn missing(&mut self, side: usize, stream: u32, octets: u64, each: &mut dyn FnMut(Event<'_>)) {
        each(Event::Stream(StreamEvent::Missing {
            stream,
            side,
            octets,
        }));
        let is_client = self.client == side;
        let Some(exchange) = self.stream(stream) else {
            return;
        };
        let missing = match (is_client, &mut exchange.request, &mut exchange.response) {
            (true, Some(request), _) => &mut request.missing,
            (false, _, Some(response)) => &mut response.missing,
            _ => return,
        };
        *missing = missing.saturating_add(octets);
    }

    /// A frame is over: with the stream's end a response takes its exchange with it, once its request is there, too.
    fn ended(&mut self, side: usize, header: FrameHeader, each: &mut dyn FnMut(Event<'_>)) {
        if header.flags & END_STREAM == 0 {
            return;
        }
        let stream = header.stream;
        each(Event::Stream(StreamEvent::Ended { stream, side }));
        let is_client = self.client == side;
        // The client's streams are odd (RFC 9113, 5.1.1).
        let may_follow = stream % 2 == 1 && !self.is_lost(self.client);
        let stamp = self.stamp;
        let place = self
            .streams
            .iter()
            .rposition(|it| it.stream == Some(header.stream));
        let Some(exchange) = place.and_then(|place| self.streams.get_mut(place)) else {
            return;
        };
        let is_over = match (is_client, &mut exchange.request, &mut exchange.response) {
            (true, Some(request), response) => {
                request.is_whole = true;
                // The response came before its end.
                response.as_ref().is_some_and(|it| it.is_whole)
            }
            (false, request, Some(response)) => {
                response.is_whole = true;
                exchange.over = request.is_none().then_some(stamp);
                let is_whole = request.as_ref().is_some_and(|it| it.is_whole);
                is_whole || !may_follow
            }
            _ => return,
        };
        if !is_over {
            self.pass_early(EARLY_MAX, each);
        } else if let Some(exchange) = place.and_then(|place| self.streams.remove(place)) {
            each(Event::Over(exchange));
        }
    }
}

/// A request for a tunnel of some protocol (RFC 8441, 4).
fn is_extended_connect(request: &Request) -> bool {
    request.head.line.method == "CONNECT" && request.head.field(":protocol").is_some()
}

/// Reports the response that accepts or refuses a tunnel.
fn connected(exchange: &Exchange, stream: u32, each: &mut dyn FnMut(Event<'_>)) {
    if let (Some(request), Some(response)) = (&exchange.request, &exchange.response)
        && is_extended_connect(request)
    {
        each(Event::Stream(StreamEvent::Answered {
            stream,
            request,
            response,
        }));
    }
}

/// The next state for a frame with this header.
fn state_of(header: FrameHeader, block: &Option<(FrameHeader, u32, Vec<u8>)>) -> DirectionState {
    // No other frame may stand between the parts of a block (RFC 9113, 6.10).
    let goes_on = block.as_ref().map(|(first, ..)| first.stream);
    let is_block = matches!(header.kind, HEADERS | PROMISE | CONTINUATION);
    if goes_on.is_some_and(|stream| header.kind != CONTINUATION || header.stream != stream)
        || goes_on.is_none() && header.kind == CONTINUATION
        || is_block && header.length > BLOCK_OCTETS_MAX
    {
        return DirectionState::Lost;
    }
    let is_short = header.length <= settings::FRAME_OCTETS_MAX;
    match header.kind {
        DATA => DirectionState::Data {
            header,
            left: header.length,
            padding: 0,
        },
        HEADERS | PROMISE | CONTINUATION => DirectionState::Kept(header),
        SETTINGS if header.flags & ACK == 0 && is_short => DirectionState::Kept(header),
        PRIORITIES | PRIORITY_UPDATE if is_short => DirectionState::Kept(header),
        _ => DirectionState::Passed(header.length),
    }
}

/// The data that `rest` begins with, as far as they are of the frame. The padding is passed over, and so is its length
/// in front of the data.
fn data_of<'b>(
    header: &mut FrameHeader,
    left: &mut usize,
    padding: &mut usize,
    rest: &mut &'b [u8],
) -> &'b [u8] {
    if *left == header.length
        && header.flags & PADDED != 0
        && let Some((first, behind)) = rest.split_first()
    {
        *rest = behind;
        *left -= 1;
        *padding = usize::from(*first).min(*left);
        header.flags &= !PADDED;
    }
    let (taken, behind) = rest.split_at(rest.len().min(*left));
    let data = (*left).saturating_sub(*padding).min(taken.len());
    *left -= taken.len();
    *rest = behind;
    taken.get(..data).unwrap_or_default()
}
