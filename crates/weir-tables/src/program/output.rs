//! The destination of the values of records: the words of a state, which aggregates read.

use weir_compile::Operation;
use weir_packet::Kind;

use crate::aggregate::{Function, ROWS};
use crate::groups::PlaceHash;
use crate::key::Key;

/// The destination of the rows of one aggregate.
pub(crate) struct Output {
    pub(crate) mode: Mode,
    /// The word with the number of waiting rows.
    pub(crate) rows_word: u32,
    /// The word with the multiplier that hashes keys to places.
    pub(crate) multiplier_word: u32,
    /// The first word of the columns of the waiting rows, or of the state of the only group.
    pub(crate) first_word: u32,
    /// The columns of a waiting row.
    pub(crate) columns: Vec<WaitingColumn>,
    pub(crate) key: Key,
    pub(crate) key_words: usize,
    pub(crate) measures: Vec<MeasurePlan>,
    /// The number of words of the state of a group.
    pub(crate) state_len: usize,
    pub(crate) flags_at: usize,
    /// The number of rows of a record, at most.
    pub(crate) branches: usize,
}

/// The way in which rows are added to their groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Rows wait, and are added some hundred at a time.
    Rows,
    /// There is one group: its state is in registers.
    One,
    /// Keys are places: rows of groups that are known are added at once, others wait.
    Direct {
        /// The number of bits of the keys.
        bits: u32,
    },
    /// Keys have places by their hash: rows whose group is the last one at its place are added at once, and others
    /// wait.
    Hashed,
}

/// A column of the waiting rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitingColumn {
    /// A word of the key.
    Key(usize),
    /// The argument of a measure.
    Value(usize),
    /// The validity of the argument: 0 or 1.
    Validity(usize),
}

/// The update of a measure in place.
pub(crate) struct MeasurePlan {
    /// The index of the word in the state.
    pub(crate) at: usize,
    pub(crate) flag: u64,
    /// Whether the measure counts rows, NULL or not.
    pub(crate) counts_rows: bool,
    /// The operation that combines a value with the word; `None` for counts.
    pub(crate) operation: Option<Operation>,
}

impl MeasurePlan {
    /// The update for a function of numbers of a kind; `None` when it takes more than one operation, or depends on the
    /// order of the rows.
    pub(crate) fn new(function: &Function, kind: Kind, at: usize, flag: u64) -> Option<Self> {
        let signed = matches!(kind, Kind::I64 | Kind::Time);
        let operation = match function {
            Function::CountRows | Function::Count => None,
            // Signed numbers may use all 64 bits, and their sums are checked one by one.
            Function::Sum if signed => return None,
            Function::Sum => Some(Operation::AddSaturating),
            Function::Minimum if signed => Some(Operation::MinimumSigned),
            Function::Minimum => Some(Operation::Minimum),
            Function::Maximum if signed => Some(Operation::MaximumSigned),
            Function::Maximum => Some(Operation::Maximum),
            Function::BitAnd | Function::BoolAnd => Some(Operation::And),
            Function::BitOr | Function::BoolOr => Some(Operation::Or),
            Function::BitExclusiveOr => Some(Operation::ExclusiveOr),
            _ => return None,
        };
        Some(Self {
            at,
            flag,
            counts_rows: matches!(function, Function::CountRows),
            operation,
        })
    }
}

impl Mode {
    /// The number of bits of a place, where keys have one.
    pub(crate) const fn place_bits(self) -> Option<u32> {
        match self {
            Self::Rows | Self::One => None,
            Self::Direct { bits } => Some(bits),
            Self::Hashed => Some(PlaceHash::BITS),
        }
    }
}

impl Output {
    /// The number of words of the columns or the state.
    pub(crate) fn words(&self) -> usize {
        match self.mode {
            Mode::One => self.state_len,
            _ => self.columns.len() * ROWS,
        }
    }
}
