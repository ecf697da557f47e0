//! Studies of other factors with one setting: fragments, a threshold, reconnects, broadcast, mixed types, and text that an attacker
//! could guess.
//!
//! All sizes are stock zlib's, to the byte. A study takes the messages of one direction of one
//! connection.

use std::collections::HashMap;

use crate::exact::{Engine, EngineOptions};
use crate::kind::kind_of;
use crate::setting::{Cells, Setting};

/// Bytes of a study's variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Variant {
    /// The varied value: bytes of a fragment or threshold, messages between reconnects; 0 is without.
    pub value: u64,
    /// Bytes of all payloads on the wire.
    pub payload_bytes: u64,
    /// Messages that were sent compressed.
    pub compressed_messages: u64,
}

fn engine(setting: Setting, takeover: bool, classes: usize) -> Engine {
    let options = EngineOptions {
        cells: Cells::one(setting.with_takeover(takeover)),
        classes_max: classes,
        ..EngineOptions::default()
    };
    Engine::new(options)
}

/// Bytes of all messages, with an empty window before those that `begins` names.
fn compressed(messages: &[&[u8]], setting: Setting, begins: impl Fn(usize) -> bool) -> u64 {
    let mut engine = engine(setting, true, 1);
    for (n, message) in messages.iter().enumerate() {
        if begins(n) {
            engine.begin_context();
        }
        engine.message(message, 0);
    }
    engine
        .finish()
        .total()
        .compressed(setting.with_takeover(true))
}

/// Bytes of all messages on one connection.
fn total(messages: &[&[u8]], setting: Setting) -> u64 {
    let mut engine = engine(setting, setting.takeover, 1);
    for message in messages {
        engine.message(message, 0);
    }
    engine.finish().total().compressed(setting)
}

/// Fragments of at most so many bytes before compression, each flushed by itself (0: none): what
/// libraries do that compress while a message is written.
#[must_use]
pub fn fragmentation(messages: &[&[u8]], setting: Setting, fragment_bytes: &[u64]) -> Vec<Variant> {
    fragment_bytes
        .iter()
        .map(|&most| {
            let mut engine = engine(setting, true, 2);
            let mut pieces = 0u64;
            for message in messages {
                if !setting.takeover {
                    engine.begin_context();
                }
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                let size = if most == 0 {
                    message.len().max(1)
                } else {
                    most
                };
                let mut count = 0;
                for piece in message.chunks(size) {
                    engine.message(piece, 0);
                    count += 1;
                }
                if message.is_empty() {
                    engine.message(b"", 0);
                    count = 1;
                }
                // All but the last keep the four bytes of their flush.
                pieces += count - 1;
            }
            let exact = setting.with_takeover(true);
            let payload_bytes = engine.finish().total().compressed(exact) + 4 * pieces;
            Variant {
                value: most,
                payload_bytes,
                compressed_messages: messages.len() as u64,
            }
        })
        .collect()
}

/// Messages shorter than each threshold are sent uncompressed, and do not enter the window.
#[must_use]
pub fn threshold(messages: &[&[u8]], setting: Setting, thresholds: &[u64]) -> Vec<Variant> {
    thresholds
        .iter()
        .map(|&least| {
            let (long, short): (Vec<&[u8]>, Vec<&[u8]>) = messages
                .iter()
                .partition(|message| message.len() as u64 >= least);
            let packed = compressed(&long, setting, |_| !setting.takeover);
            let plain: u64 = short.iter().map(|message| message.len() as u64).sum();
            Variant {
                value: least,
                payload_bytes: packed + plain,
                compressed_messages: long.len() as u64,
            }
        })
        .collect()
}

/// The window is lost every so many messages (0: never).
#[must_use]
pub fn reconnects(messages: &[&[u8]], setting: Setting, every: &[u64]) -> Vec<Variant> {
    every
        .iter()
        .map(|&every| {
            let packed = compressed(messages, setting, |n| {
                !setting.takeover || (every > 0 && (n as u64).is_multiple_of(every))
            });
            Variant {
                value: every,
                payload_bytes: packed,
                compressed_messages: messages.len() as u64,
            }
        })
        .collect()
}

/// A message for many clients: compressed once for all, or for each with its own window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Broadcast {
    /// Bytes to each client, compressed once without takeover.
    pub once_bytes: u64,
    /// Bytes to each client, compressed for it with takeover.
    pub each_bytes: u64,
    /// Messages that are compressed when it is done once.
    pub once_compressions: u64,
    /// Messages that are compressed when it is done for each.
    pub each_compressions: u64,
}

/// Compares both ways of sending the messages to `clients` clients.
#[must_use]
pub fn broadcast(messages: &[&[u8]], setting: Setting, clients: u64) -> Broadcast {
    let count = messages.len() as u64;
    Broadcast {
        once_bytes: total(messages, setting.with_takeover(false)),
        each_bytes: total(messages, setting.with_takeover(true)),
        once_compressions: count,
        each_compressions: count.saturating_mul(clients),
    }
}

/// All kinds of messages on one connection, or each kind on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mixed {
    /// Compressed bytes on one connection.
    pub together_bytes: u64,
    /// The name, the messages, and the compressed bytes on a separate connection, of each kind.
    pub apart: Vec<(String, u64, u64)>,
}

/// Compares all messages on one connection with a connection for each kind, of which the first 64 have names.
#[must_use]
pub fn mixed(messages: &[&[u8]], setting: Setting) -> Mixed {
    let mut kinds: HashMap<String, Vec<&[u8]>> = HashMap::new();
    for message in messages {
        let mut kind = kind_of(message, std::str::from_utf8(message).is_err());
        if !kinds.contains_key(&kind) && kinds.len() >= 64 {
            kind = "other".to_owned();
        }
        kinds.entry(kind).or_default().push(message);
    }
    let mut apart: Vec<_> = kinds
        .into_iter()
        .map(|(kind, messages)| {
            let bytes = total(&messages, setting);
            (kind, messages.len() as u64, bytes)
        })
        .collect();
    apart.sort();
    Mixed {
        together_bytes: total(messages, setting),
        apart,
    }
}

/// A text that came from one side and is sent back by the other in a compressed message, next to
/// others: from the lengths an observer learns whether a guess agrees with a secret nearby (CRIME, BREACH).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Reflection {
    /// The name of the member in the response, as far as it is JSON.
    pub field: String,
    /// The number of occurrences.
    pub count: u64,
    /// Bytes of the longest.
    pub longest: usize,
}

/// Finds the strings of at least eight bytes that a client sent and that come back in the server's
/// JSON messages, by the names of the members that they come back in. `messages` are in order, true
/// for those from the client. Keeps the last 4,096 strings that were sent.
#[must_use]
pub fn reflections<'a>(messages: impl IntoIterator<Item = (bool, &'a [u8])>) -> Vec<Reflection> {
    const KEPT: usize = 4096;
    let mut sent: std::collections::VecDeque<&[u8]> = std::collections::VecDeque::new();
    let mut known: HashMap<&[u8], usize> = HashMap::new();
    let mut found: HashMap<&[u8], (u64, usize)> = HashMap::new();
    for (from_client, message) in messages {
        each_string(message, |field, string| {
            if string.len() < 8 {
                return;
            }
            if from_client {
                sent.push_back(string);
                *known.entry(string).or_default() += 1;
                if sent.len() > KEPT
                    && let Some(old) = sent.pop_front()
                    && let Some(count) = known.get_mut(old)
                {
                    *count -= 1;
                    if *count == 0 {
                        known.remove(old);
                    }
                }
            } else if known.contains_key(string)
                && (found.len() < 1024 || found.contains_key(field))
            {
                let entry = found.entry(field).or_default();
                entry.0 += 1;
                entry.1 = entry.1.max(string.len());
            }
        });
    }
    let mut all: Vec<Reflection> = found
        .into_iter()
        .map(|(field, (count, longest))| Reflection {
            field: String::from_utf8_lossy(field).into_owned(),
            count,
            longest,
        })
        .collect();
    all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.field.cmp(&b.field)));
    all
}

/// The strings of a JSON text that are values, each with the name before it.
fn each_string<'a>(text: &'a [u8], mut each: impl FnMut(&'a [u8], &'a [u8])) {
    let mut at = 0;
    let mut field: &[u8] = b"";
    while let Some(begin) = memchr::memchr(b'"', text.get(at..).unwrap_or_default()) {
        let begin = at + begin + 1;
        let mut end = begin;
        while let Some(&byte) = text.get(end) {
            match byte {
                b'"' => break,
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        let string = text.get(begin..end.min(text.len())).unwrap_or_default();
        at = (end + 1).min(text.len());
        let rest = text.get(at..).unwrap_or_default().trim_ascii_start();
        if rest.first() == Some(&b':') {
            field = string;
        } else {
            each(field, string);
        }
    }
}
