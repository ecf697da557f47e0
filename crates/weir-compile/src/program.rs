//! The parts of a program.

use std::fmt;
use std::sync::Arc;

/// The processing of each record of a window of bytes: an acyclic graph of blocks, run from its first block once a record. It works
/// on 64-bit registers, reads the window, and reads and writes *spaces*, which are slices of 64-bit words.
///
/// A program is checked when it is made: every access lies behind a test that it is within its bounds,
/// every register is set before it is read. So a program can be run without trusting the code that made it.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    pub(crate) blocks: Vec<Block>,
    pub(crate) registers: u16,
    pub(crate) carried: Vec<Carried>,
    pub(crate) spaces: Vec<Space>,
}

/// A 64-bit number of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register(pub(crate) u16);

impl Register {
    /// The position of the current record in the window; at [`Terminator::Next`], that of the next one.
    pub const AT: Self = Self(0);
    /// The length of the window.
    pub const WINDOW_LEN: Self = Self(1);
    pub(crate) const GIVEN: u16 = 2;

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A block of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub(crate) u16);

impl Label {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One of the slices of words that a program works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpaceId(pub(crate) u8);

impl SpaceId {
    /// The state: its first words are where the records begin.
    pub const STATE: Self = Self(0);

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The facts about a space.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Space {
    /// Given by the caller of each run, with so many words at least.
    Given { words_min: u64 },
    /// The same for each run, and never written.
    Constant(Arc<[u64]>),
}

impl Space {
    pub(crate) fn words_min(&self) -> u64 {
        match self {
            Self::Given { words_min } => *words_min,
            Self::Constant(words) => words.len() as u64,
        }
    }
}

/// A register that lives from record to record, and in a word of the state between two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Carried {
    pub(crate) register: Register,
    pub(crate) word: u32,
}

/// A register or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Operand {
    Register(Register),
    Constant(u64),
}

impl From<Register> for Operand {
    fn from(register: Register) -> Self {
        Self::Register(register)
    }
}

impl From<u64> for Operand {
    fn from(constant: u64) -> Self {
        Self::Constant(constant)
    }
}

/// An operation on two numbers. Arithmetic wraps around unless its name tells otherwise; shifts take the lowest six bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Operation {
    Add,
    /// The sum, or the largest number where it would overflow.
    AddSaturating,
    Subtract,
    Multiply,
    /// The quotient of a division by a constant that is not 0.
    Divide,
    /// The quotient of a division by a constant from 1 to 2^63 - 1.
    DivideSigned,
    /// The remainder of a division by a constant that is not 0.
    Remainder,
    /// The remainder of a division by a constant from 1 to 2^63 - 1.
    RemainderSigned,
    And,
    Or,
    ExclusiveOr,
    ShiftLeft,
    ShiftRight,
    ShiftRightSigned,
    Minimum,
    Maximum,
    MinimumSigned,
    MaximumSigned,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 18] = [
        Self::Add,
        Self::AddSaturating,
        Self::Subtract,
        Self::Multiply,
        Self::Divide,
        Self::DivideSigned,
        Self::Remainder,
        Self::RemainderSigned,
        Self::And,
        Self::Or,
        Self::ExclusiveOr,
        Self::ShiftLeft,
        Self::ShiftRight,
        Self::ShiftRightSigned,
        Self::Minimum,
        Self::Maximum,
        Self::MinimumSigned,
        Self::MaximumSigned,
    ];

    /// The meaning of the operation. A divisor of 0 counts as 1, which a checked program never has.
    #[inline]
    #[must_use]
    pub const fn apply(self, left: u64, right: u64) -> u64 {
        let shift = (right & 63) as u32;
        let divisor = if right == 0 { 1 } else { right };
        match self {
            Self::Add => left.wrapping_add(right),
            Self::AddSaturating => left.saturating_add(right),
            Self::Subtract => left.wrapping_sub(right),
            Self::Multiply => left.wrapping_mul(right),
            Self::Divide => left / divisor,
            Self::DivideSigned => (left as i64).wrapping_div(divisor as i64) as u64,
            Self::Remainder => left % divisor,
            Self::RemainderSigned => (left as i64).wrapping_rem(divisor as i64) as u64,
            Self::And => left & right,
            Self::Or => left | right,
            Self::ExclusiveOr => left ^ right,
            Self::ShiftLeft => left << shift,
            Self::ShiftRight => left >> shift,
            Self::ShiftRightSigned => (left as i64 >> shift) as u64,
            Self::Minimum if left < right => left,
            Self::Minimum => right,
            Self::Maximum if left > right => left,
            Self::Maximum => right,
            Self::MinimumSigned if (left as i64) < right as i64 => left,
            Self::MinimumSigned => right,
            Self::MaximumSigned if (left as i64) > right as i64 => left,
            Self::MaximumSigned => right,
        }
    }
}

/// A comparison of two unsigned numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Relation {
    /// Every relation.
    pub const ALL: [Self; 6] = [
        Self::Equal,
        Self::NotEqual,
        Self::Less,
        Self::LessOrEqual,
        Self::Greater,
        Self::GreaterOrEqual,
    ];

    /// The meaning of the relation.
    #[inline]
    #[must_use]
    pub const fn holds(self, left: u64, right: u64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
        }
    }

    /// The relation that holds where this one does not.
    #[must_use]
    pub const fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }
}

/// The number of bytes of the window that make a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Bytes {
    One,
    Two,
    Four,
    Eight,
}

impl Bytes {
    /// The number.
    #[must_use]
    pub const fn count(self) -> u64 {
        match self {
            Self::One => 1,
            Self::Two => 2,
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// The largest number of so many bytes.
    #[must_use]
    pub const fn max(self) -> u64 {
        u64::MAX >> (64 - 8 * self.count())
    }
}

/// An instruction of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// `to` becomes a copy.
    Set {
        /// The register that is set.
        to: Register,
        /// The value.
        from: Operand,
    },
    /// `to` becomes what is computed.
    Compute {
        /// The register that is set.
        to: Register,
        /// The operation.
        operation: Operation,
        /// The first number.
        left: Register,
        /// The second.
        right: Operand,
    },
    /// `to` becomes one of two numbers.
    Select {
        /// The register that is set.
        to: Register,
        /// Whether it is `then`.
        relation: Relation,
        /// The first number of the relation.
        left: Register,
        /// The second.
        right: Operand,
        /// The number when the relation holds.
        then: Operand,
        /// The number otherwise.
        otherwise: Operand,
    },
    /// `to` becomes a number of the window, at `at` and `offset` bytes.
    Load {
        /// The register that is set.
        to: Register,
        /// A place in the window.
        at: Register,
        /// Bytes behind it.
        offset: u32,
        /// The size of the number.
        bytes: Bytes,
        /// The last byte is the most significant.
        is_little: bool,
    },
    /// `to` becomes a word of a space, at `at` and `offset` words.
    Read {
        /// The register that is set.
        to: Register,
        /// The space.
        space: SpaceId,
        /// A place in it; its beginning when there is none.
        at: Option<Register>,
        /// Words behind that.
        offset: u32,
    },
    /// A word of a space becomes `from`.
    Write {
        /// The value that is written.
        from: Operand,
        /// The space.
        space: SpaceId,
        /// A place in it; its beginning when there is none.
        at: Option<Register>,
        /// Words behind that.
        offset: u32,
    },
}

/// The terminator of a block. Blocks lead to later blocks only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminator {
    /// A jump to a block.
    Jump(Label),
    /// A branch by a relation.
    If {
        /// Whether it is `then`.
        relation: Relation,
        /// The first number.
        left: Register,
        /// The second.
        right: Operand,
        /// The target if the relation is true.
        then: Label,
        /// The target otherwise.
        otherwise: Label,
    },
    /// A branch to `then` when `bytes` bytes from `at` on end at `end` or before.
    Within {
        /// A place in the window, perhaps behind its end.
        at: Register,
        /// The number of bytes.
        bytes: u32,
        /// A place within the window.
        end: Register,
        /// The target if they do.
        then: Label,
        /// The target otherwise.
        otherwise: Label,
    },
    /// A branch to `then`, with `to` behind `bytes` bytes from `at` on, when that is `end` or before.
    Reach {
        /// Becomes the place behind the bytes, on the way to `then`.
        to: Register,
        /// A place in the window, perhaps behind its end.
        at: Register,
        /// The number of bytes.
        bytes: Register,
        /// A place within the window.
        end: Register,
        /// The target if they do.
        then: Label,
        /// The target otherwise.
        otherwise: Label,
    },
    /// A branch to `then` when a space has `words` words from `at` on.
    WithinSpace {
        /// A place in the space, perhaps behind its end.
        at: Register,
        /// The number of words.
        words: u32,
        /// The space.
        space: SpaceId,
        /// The target if it has them.
        then: Label,
        /// The target otherwise.
        otherwise: Label,
    },
    /// The record is done: the next one begins at [`Register::AT`].
    Next,
    /// The program ends, with the record at [`Register::AT`] still to do, and tells why by a number below
    /// [`Terminator::LEAVE_MAX`].
    Leave(u8),
}

impl Terminator {
    /// Numbers that tell why a program ends lie below.
    pub const LEAVE_MAX: u8 = 200;

    /// Calls `look` with each label that it leads to.
    pub(crate) fn each(self, look: &mut impl FnMut(Label)) {
        self.map(&mut |label| {
            look(label);
            Some(label)
        });
    }

    /// The same with other labels; `None` when one of them has none.
    pub(crate) fn map(self, of: &mut impl FnMut(Label) -> Option<Label>) -> Option<Self> {
        let mut end = self;
        match &mut end {
            Self::Jump(to) => *to = of(*to)?,
            Self::If {
                then, otherwise, ..
            }
            | Self::Within {
                then, otherwise, ..
            }
            | Self::Reach {
                then, otherwise, ..
            }
            | Self::WithinSpace {
                then, otherwise, ..
            } => {
                *then = of(*then)?;
                *otherwise = of(*otherwise)?;
            }
            Self::Next | Self::Leave(_) => {}
        }
        Some(end)
    }
}

/// Steps, and where to go behind them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    pub(crate) steps: Vec<Instruction>,
    pub(crate) end: Terminator,
}

impl Program {
    /// The maximum length of a window.
    pub const WINDOW_LEN_MAX: u64 = u32::MAX as u64;
    /// Blocks of a program, at most.
    pub const BLOCKS_MAX: usize = 4096;
    /// Steps of a program, at most.
    pub const STEPS_MAX: usize = 16_384;
    /// Registers of a program, at most.
    pub const REGISTERS_MAX: usize = 4096;
    /// Spaces of a program, at most.
    pub const SPACES_MAX: usize = 24;

    /// Words of all its constant spaces.
    #[must_use]
    pub fn constant_words(&self) -> usize {
        let constants = self.spaces.iter().map(|space| match space {
            Space::Constant(words) => words.len(),
            Space::Given { .. } => 0,
        });
        constants.fold(0, usize::saturating_add)
    }

    /// The number of blocks.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The number of steps, which determines the cost of compiling.
    #[must_use]
    pub fn steps(&self) -> usize {
        self.blocks.iter().map(|block| block.steps.len() + 1).sum()
    }
}

impl fmt::Display for Program {
    /// One line a step, to show what a query has been compiled to.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, block) in self.blocks.iter().enumerate() {
            writeln!(f, "block {number}:")?;
            for step in &block.steps {
                writeln!(f, "    {step:?}")?;
            }
            writeln!(f, "    {:?}", block.end)?;
        }
        Ok(())
    }
}
