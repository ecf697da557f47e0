//! The error of exhausted memory.

use core::alloc::Layout;
use core::fmt;

/// Memory could not be allocated. The dictionary is as it was before the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AllocError {
    layout: Layout,
}

/// Kinds of [`AllocError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AllocErrorKind {
    /// The allocator refused the request.
    Refused,
    /// More bytes were requested than the address space holds.
    TooLarge,
}

impl AllocError {
    pub(crate) const fn refused(layout: Layout) -> Self {
        Self { layout }
    }

    pub(crate) fn array<T>(count: usize) -> Self {
        // A layout of no bytes stands for one that is too large.
        Self {
            layout: Layout::array::<T>(count).unwrap_or_else(|_| Layout::new::<()>()),
        }
    }

    /// The kind of the error.
    #[must_use]
    pub const fn kind(&self) -> AllocErrorKind {
        if self.layout.size() == 0 {
            AllocErrorKind::TooLarge
        } else {
            AllocErrorKind::Refused
        }
    }

    /// The number of bytes that were requested in one piece; 0 when it overflows.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.layout.size()
    }

    /// Aborts the process as a failed allocation of the standard library does.
    #[cold]
    pub(crate) fn abort(self) -> ! {
        alloc::alloc::handle_alloc_error(self.layout)
    }
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            AllocErrorKind::Refused => write!(f, "no memory for {} bytes", self.layout.size()),
            AllocErrorKind::TooLarge => f.write_str("the memory needed exceeds the address space"),
        }
    }
}

impl core::error::Error for AllocError {}
