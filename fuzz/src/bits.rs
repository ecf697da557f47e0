//! The choices of a target, taken from the start of its input.

/// The bytes that a target has not used yet. At the end they give zeros, so that every input is a
/// valid one.
#[derive(Clone, Copy)]
pub(crate) struct Bits<'a>(pub(crate) &'a [u8]);

impl<'a> Bits<'a> {
    pub(crate) fn u8(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.u8(), self.u8()])
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from(self.u16()) | u32::from(self.u16()) << 16
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.u8() & 1 == 1
    }

    /// One of `choices`, which must not be empty.
    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.u8()) % choices.len()]
    }

    /// Picks like [`Bits::pick`], for more than 256 choices.
    pub(crate) fn pick_of_many<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.u16()) % choices.len()]
    }

    /// The next bytes, as many as the next one or two say, or what is left.
    pub(crate) fn chunk(&mut self, len: usize) -> &'a [u8] {
        let (chunk, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        chunk
    }
}
