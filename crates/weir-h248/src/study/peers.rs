//! Published measurements of the original's messages.

use super::{Average, Study};

/// Microseconds to encode and to decode, averaged over the original's messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Peer {
    pub(super) variant: &'static str,
    /// Erlang/OTP's performance chapter of 2003 or so, on the machine of its day.
    pub(super) seed: (f64, f64),
    /// Erlang/OTP 25 with its just-in-time compiler, on the machine that weir was developed on.
    pub(super) erlang: (f64, f64),
}

const fn peer(variant: &'static str, seed: (f64, f64), erlang: (f64, f64)) -> Peer {
    Peer {
        variant,
        seed,
        erlang,
    }
}

const PEERS: [Peer; 10] = [
    peer("pretty", (30.0, 98.0), (4.4, 11.7)),
    peer("compact", (26.0, 80.0), (3.8, 9.7)),
    peer("per", (57.0, 58.0), (5.7, 6.1)),
    peer("per [native]", (36.0, 37.0), (3.6, 3.2)),
    peer("ber", (46.0, 51.0), (6.5, 6.0)),
    peer("ber [native]", (26.0, 29.0), (4.1, 2.8)),
    peer("erl_dist", (7.0, 13.0), (1.6, 4.7)),
    peer("erl_dist [megaco_compressed]", (8.0, 9.0), (1.3, 1.8)),
    peer("erl_dist [compressed]", (143.0, 31.0), (15.3, 8.2)),
    peer("erl_dist [both]", (119.0, 17.0), (10.4, 3.5)),
];

/// Messages of the original, and their average sizes in the binary encodings, rounded.
const MESSAGES: usize = 149;
const SIZES: [(&str, f64); 3] = [("ber", 165.0), ("per", 91.0), ("erl_dist", 875.0)];

impl Study {
    /// The published figures, if the messages are those of the original.
    pub(super) fn peers(&self, averages: &[Average]) -> &'static [Peer] {
        let same = |(name, size): &(&str, f64)| {
            averages
                .iter()
                .any(|average| average.variant.name == *name && average.size.round() == *size)
        };
        if self.messages().len() == MESSAGES && SIZES.iter().all(same) {
            &PEERS
        } else {
            &[]
        }
    }
}
