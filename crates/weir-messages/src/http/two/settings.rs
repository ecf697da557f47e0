//! Settings of a connection (RFC 9113, 6.5), and priorities of its streams (RFC 9218; RFC 7540, 5.3).

use std::collections::VecDeque;
use std::sync::Arc;

use weir_bytes::{u8_at, u16_be_at, u32_be_at};

/// Settings of a side that are kept.
pub const SETTINGS_MAX: usize = 64;
/// Octets of a frame of settings, or of a priority's value, that are read.
pub(super) const FRAME_OCTETS_MAX: usize = 1 << 14;
/// Streams that did not begin yet and have a priority, at most.
const AHEAD_MAX: usize = 64;
const SETTING: usize = 6;

/// The settings of a side: identifiers with their last values, in the order of their first occurrence.
pub type Settings = Arc<[(u16, u32)]>;

/// The priority that a client gives a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Priority {
    /// The place in the tree of streams.
    pub dependency: Option<Dependency>,
    /// The value of the last PRIORITY_UPDATE (RFC 9218, 7.1).
    pub update: Option<String>,
}

/// A place in the tree of streams (RFC 7540, 5.3), as HEADERS or PRIORITY gave it last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dependency {
    /// The stream that it depends on.
    pub stream: u32,
    /// The stream is the only dependent one.
    pub is_exclusive: bool,
    /// The weight less one, as it is sent.
    pub weight: u8,
}

impl Dependency {
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let word = u32_be_at(bytes, 0)?;
        Some(Self {
            stream: word & 0x7fff_ffff,
            is_exclusive: word >> 31 != 0,
            weight: u8_at(bytes, 4)?,
        })
    }
}

/// The stream and the value of a PRIORITY_UPDATE.
pub(super) fn update(payload: &[u8]) -> Option<(u32, String)> {
    let stream = u32_be_at(payload, 0)? & 0x7fff_ffff;
    let value = String::from_utf8_lossy(payload.get(4..)?);
    Some((stream, value.into_owned()))
}

/// The settings of a side after those of a frame.
pub(super) fn with(before: Option<&Settings>, payload: &[u8]) -> Settings {
    let mut all: Vec<(u16, u32)> = before.map_or_else(Vec::new, |known| known.to_vec());
    for setting in payload.chunks_exact(SETTING) {
        let (Some(identifier), Some(value)) = (u16_be_at(setting, 0), u32_be_at(setting, 2)) else {
            break;
        };
        if let Some((_, last)) = all.iter_mut().find(|(known, _)| *known == identifier) {
            *last = value;
        } else if all.len() < SETTINGS_MAX {
            all.push((identifier, value));
        }
    }
    all.into()
}

/// The name of a setting as Wireshark has it, where it is known.
#[must_use]
pub const fn setting_name(identifier: u16) -> Option<&'static str> {
    Some(match identifier {
        1 => "header_table_size",
        2 => "enable_push",
        3 => "max_concurrent_streams",
        4 => "initial_window_size",
        5 => "max_frame_size",
        6 => "max_header_list_size",
        8 => "extended_connect",
        9 => "no_rfc7540_priorities",
        _ => return None,
    })
}

/// Priorities of streams that did not begin yet, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Ahead(VecDeque<(u32, Priority)>);

impl Ahead {
    pub(super) fn change(&mut self, stream: u32, change: impl FnOnce(&mut Priority)) {
        let mut priority = self.take(stream).unwrap_or_default();
        change(&mut priority);
        if self.0.len() >= AHEAD_MAX {
            self.0.pop_front();
        }
        self.0.push_back((stream, priority));
    }

    pub(super) fn take(&mut self, stream: u32) -> Option<Priority> {
        let place = self.0.iter().position(|(known, _)| *known == stream)?;
        self.0.remove(place).map(|(_, priority)| priority)
    }

    pub(super) fn held(&self) -> usize {
        let updates = self
            .0
            .iter()
            .filter_map(|(_, update)| update.update.as_ref());
        updates.map(String::capacity).sum()
    }
}
