//! A setting of permessage-deflate, and the grid of them.

use std::fmt;

/// The compression setting of one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Setting {
    /// The window is kept from message to message (context takeover, RFC 7692 section 7.1.1).
    pub takeover: bool,
    /// The logarithm of the window's size, 8 to 15 (RFC 7692 section 7.1.2). zlib deflates with 9 in place of 8; its output needs
    /// no more than 8, because its largest distance is the window less 262 bytes.
    pub window_bits: u8,
    /// zlib's level, 1 (fast) to 9 (small).
    pub level: u8,
    /// zlib's memLevel, 1 to 9: bits of its hash table and size of its blocks.
    pub mem_level: u8,
}

/// The number of settings: takeover or not, 8 windows, 9 levels, 9 memLevels.
pub const CELLS: usize = 2 * 8 * 9 * 9;

impl Setting {
    /// zlib's own default, with takeover: 15 window bits, level 6, memLevel 8.
    pub const ZLIB: Self = Self {
        takeover: true,
        window_bits: 15,
        level: 6,
        mem_level: 8,
    };

    /// This setting, but with or without takeover.
    #[must_use]
    pub const fn with_takeover(self, takeover: bool) -> Self {
        Self { takeover, ..self }
    }

    /// This setting, but with these window bits.
    #[must_use]
    pub const fn with_window_bits(self, window_bits: u8) -> Self {
        Self {
            window_bits,
            ..self
        }
    }

    /// This setting, but with this memLevel.
    #[must_use]
    pub const fn with_mem_level(self, mem_level: u8) -> Self {
        Self { mem_level, ..self }
    }

    /// All settings, in the order of [`Self::index`].
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        (0..CELLS).map(Self::from_index)
    }

    /// The place in the grid, below [`CELLS`]. Values out of range are taken as the nearest.
    #[must_use]
    pub fn index(self) -> usize {
        let window = usize::from(self.window_bits.clamp(8, 15) - 8);
        let level = usize::from(self.level.clamp(1, 9) - 1);
        let mem_level = usize::from(self.mem_level.clamp(1, 9) - 1);
        ((usize::from(self.takeover) * 8 + window) * 9 + level) * 9 + mem_level
    }

    /// The setting at a place in the grid (modulo its size).
    #[must_use]
    pub fn from_index(index: usize) -> Self {
        Self {
            takeover: index / 648 % 2 == 1,
            window_bits: (index / 81 % 8) as u8 + 8,
            level: (index / 9 % 9) as u8 + 1,
            mem_level: (index % 9) as u8 + 1,
        }
    }
}

impl fmt::Display for Setting {
    /// Such as `15/8 level 6 takeover`: window bits, memLevel, level.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{} level {} {}",
            self.window_bits,
            self.mem_level,
            self.level,
            if self.takeover {
                "takeover"
            } else {
                "no takeover"
            }
        )
    }
}

/// A part of the grid: every combination of some values of each parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    takeover: [bool; 2],
    windows: u16,
    levels: u16,
    mem_levels: u16,
}

impl Cells {
    /// The whole grid.
    #[must_use]
    pub const fn all() -> Self {
        Self {
            takeover: [true; 2],
            windows: 0xff << 8,
            levels: 0x1ff << 1,
            mem_levels: 0x1ff << 1,
        }
    }

    /// One setting.
    #[must_use]
    pub fn one(setting: Setting) -> Self {
        let setting = Setting::from_index(setting.index());
        Self {
            takeover: [!setting.takeover, setting.takeover],
            windows: 1 << setting.window_bits,
            levels: 1 << setting.level,
            mem_levels: 1 << setting.mem_level,
        }
    }

    /// Only with takeover, or only without.
    #[must_use]
    pub const fn only_takeover(mut self, takeover: bool) -> Self {
        self.takeover = [!takeover, takeover];
        self
    }

    /// Only these window bits.
    #[must_use]
    pub fn only_windows(mut self, windows: impl IntoIterator<Item = u8>) -> Self {
        self.windows = mask(windows, 8, 15);
        self
    }

    /// Only these levels.
    #[must_use]
    pub fn only_levels(mut self, levels: impl IntoIterator<Item = u8>) -> Self {
        self.levels = mask(levels, 1, 9);
        self
    }

    /// Only these memLevels.
    #[must_use]
    pub fn only_mem_levels(mut self, mem_levels: impl IntoIterator<Item = u8>) -> Self {
        self.mem_levels = mask(mem_levels, 1, 9);
        self
    }

    /// True for the settings that are part of it.
    #[must_use]
    pub fn contains(self, setting: Setting) -> bool {
        self.takeover(setting.takeover)
            && self.windows >> setting.window_bits & 1 == 1
            && self.level(setting.level)
            && self.mem_level(setting.mem_level)
    }

    pub(crate) fn takeover(self, takeover: bool) -> bool {
        self.takeover[usize::from(takeover)]
    }

    /// Eight bits are computed as nine.
    pub(crate) fn window(self, bits: u8) -> bool {
        self.windows >> bits & 1 == 1 || (bits == 9 && self.windows >> 8 & 1 == 1)
    }

    pub(crate) fn level(self, level: u8) -> bool {
        self.levels >> level & 1 == 1
    }

    pub(crate) fn mem_level(self, mem_level: u8) -> bool {
        self.mem_levels >> mem_level & 1 == 1
    }

    /// The longest chain that any of the levels searches.
    pub(crate) fn chain_max(self) -> usize {
        let levels = crate::exact::LEVELS.iter().zip(1..);
        levels
            .filter(|&(_, level)| self.level(level))
            .map(|(level, _)| level.chain)
            .max()
            .unwrap_or_default()
    }

    pub(crate) fn lazy(self) -> bool {
        self.levels >> 4 != 0
    }
}

fn mask(values: impl IntoIterator<Item = u8>, least: u8, most: u8) -> u16 {
    values
        .into_iter()
        .filter(|value| (least..=most).contains(value))
        .fold(0, |mask, value| mask | 1 << value)
}
