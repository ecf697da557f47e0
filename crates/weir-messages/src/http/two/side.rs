//! One direction of a connection of HTTP/2.

use super::frame::{FrameHeader, PREFACE};
use crate::http::hpack::Decoder;

/// The parser state of one direction.
#[derive(Debug, Default)]
pub(super) enum DirectionState {
    /// The preface of a client, of which nothing is read yet.
    Preface,
    /// Between frames.
    #[default]
    Frame,
    /// A frame that is kept until it is whole.
    Kept(FrameHeader),
    /// Data, and the padding behind them.
    Data {
        header: FrameHeader,
        left: usize,
        padding: usize,
    },
    /// A frame whose type is not read; these octets of its payload are still to be skipped.
    Passed(usize),
    /// Frames or fields are lost: octets are passed over until a piece begins with a frame.
    Lost,
}

#[derive(Debug, Default)]
pub(super) struct Http2Side {
    pub(super) state: DirectionState,
    pub(super) begun: Vec<u8>,
    pub(super) fields: Decoder,
    /// An incomplete field block, with its first frame and the stream that it belongs to.
    pub(super) block: Option<(FrameHeader, u32, Vec<u8>)>,
}

impl Http2Side {
    /// The state behind a loss: frames begin with a later piece, and the fields of earlier ones are unknown.
    pub(super) fn partial() -> Self {
        Self {
            state: DirectionState::Lost,
            fields: Decoder::partial(),
            ..Self::default()
        }
    }

    /// Reads what comes of the preface; false where something else comes.
    pub(super) fn preface(&mut self, rest: &mut &[u8]) -> bool {
        let is_whole = fill(&mut self.begun, rest, PREFACE.len());
        if !PREFACE.starts_with(&self.begun) {
            return false;
        }
        if is_whole {
            self.begun.clear();
            self.state = DirectionState::Frame;
        }
        true
    }
}

/// Moves octets until there are `count`; true when there are.
pub(super) fn fill(begun: &mut Vec<u8>, rest: &mut &[u8], count: usize) -> bool {
    let wanted = count.saturating_sub(begun.len()).min(rest.len());
    let (taken, behind) = rest.split_at(wanted);
    begun.extend_from_slice(taken);
    *rest = behind;
    begun.len() >= count
}
