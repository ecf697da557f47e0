//! The words of a state that belong to the run, and the result of compiled code.

/// The first words of a state: where records begin, and how many may yet be done. A program cannot use
/// them otherwise.
pub(crate) const STATE_WORDS: u64 = 2;
pub(crate) const AT_WORD: usize = 0;
pub(crate) const LEFT_WORD: usize = 1;
/// The result of the compiled code in place of the number of a [`Terminator::Leave`](crate::Terminator::Leave).
pub(crate) const PAUSED: u64 = u8::MAX as u64;
