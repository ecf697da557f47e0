//! A study as a table and as JSON.

use std::fmt::Write as _;

use super::{Average, MessageFigures, Study, VARIANTS, peers::Peer};

impl Study {
    /// The averages as a table in plain text: sizes in octets, times in nanoseconds; beside them the published figures in
    /// microseconds, if the messages are those of the original.
    #[must_use]
    pub fn to_table(&self) -> String {
        let averages = self.averages();
        let peers = self.peers(&averages);
        let mut out = format!(
            "{:<30}{:>10}{:>8}{:>11}{:>11}{:>11}",
            "codec", "messages", "size", "encode ns", "decode ns", "total ns"
        );
        if !peers.is_empty() {
            out.push_str("  seed us e/d  Erlang 25 us e/d  faster than Erlang e/d");
        }
        out.push('\n');
        for average in &averages {
            let messages = if average.messages == self.messages().len() {
                average.messages.to_string()
            } else {
                format!("{} of {}", average.messages, self.messages().len())
            };
            // Writing to a String does not fail.
            let _ = write!(
                out,
                "{:<30}{messages:>10}{:>8.0}{:>11.0}{:>11.0}{:>11.0}",
                average.variant.name,
                average.size,
                average.encode_ns,
                average.decode_ns,
                average.total_ns()
            );
            if let Some(peer) = peer_of(peers, average) {
                let (encode, decode) = faster(peer, average);
                let _ = write!(
                    out,
                    "{:>13}{:>18}{:>24}",
                    format!("{:.0}/{:.0}", peer.seed.0, peer.seed.1),
                    format!("{:.1}/{:.1}", peer.erlang.0, peer.erlang.1),
                    format!("{encode:.1}/{decode:.1}")
                );
            }
            out.push('\n');
        }
        out
    }

    /// Averages and every message as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let averages = self.averages();
        let peers = self.peers(&averages);
        let mut out = format!(
            "{{\n\"messages\":{},\n\"averages\":[",
            self.messages().len()
        );
        for (at, average) in averages.iter().enumerate() {
            separate(&mut out, at);
            let _ = write!(
                out,
                "{{\"codec\":{},\"messages\":{},\"size\":{:.3},\"encode_ns\":{:.1},\"decode_ns\":{:.1},\"total_ns\":{:.1}",
                string(average.variant.name),
                average.messages,
                average.size,
                average.encode_ns,
                average.decode_ns,
                average.total_ns()
            );
            if let Some(peer) = peer_of(peers, average) {
                let _ = write!(
                    out,
                    ",\"seed_us\":[{},{}],\"erlang_us\":[{},{}]",
                    peer.seed.0, peer.seed.1, peer.erlang.0, peer.erlang.1
                );
            }
            out.push('}');
        }
        out.push_str("],\n\"each\":[");
        for (at, message) in self.messages().iter().enumerate() {
            separate(&mut out, at);
            message_json(&mut out, message);
        }
        out.push_str("]\n}\n");
        out
    }
}

fn message_json(out: &mut String, message: &MessageFigures) {
    let _ = write!(
        out,
        "{{\"name\":{},\"version\":{},\"codecs\":{{",
        string(&message.name),
        message.version
    );
    for (at, (variant, figure)) in VARIANTS.iter().zip(&message.figures).enumerate() {
        if at > 0 {
            out.push(',');
        }
        let _ = write!(out, "{}:", string(variant.name));
        let _ = match figure {
            Ok(figure) => write!(
                out,
                "{{\"size\":{},\"encode_ns\":{:.1},\"decode_ns\":{:.1}}}",
                figure.size, figure.encode_ns, figure.decode_ns
            ),
            Err(error) => write!(out, "{{\"error\":{}}}", string(&error.to_string())),
        };
    }
    out.push_str("}}");
}

fn separate(out: &mut String, at: usize) {
    out.push_str(if at > 0 { ",\n" } else { "\n" });
}

/// The figures of others for the same variant.
pub(super) fn peer_of<'p>(peers: &'p [Peer], average: &Average) -> Option<&'p Peer> {
    peers
        .iter()
        .find(|peer| peer.variant == average.variant.name)
}

/// The speed relative to Erlang: encode, decode.
fn faster(peer: &Peer, average: &Average) -> (f64, f64) {
    let times = |microseconds: f64, ns: f64| microseconds * 1000.0 / ns.max(1.0);
    (
        times(peer.erlang.0, average.encode_ns),
        times(peer.erlang.1, average.decode_ns),
    )
}

/// A string of JSON.
fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            plain => out.push(plain),
        }
    }
    out.push('"');
    out
}
