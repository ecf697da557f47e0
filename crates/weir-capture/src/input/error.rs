//! Errors of a source, and of what is decompressed of it.

use std::fmt;
use std::io;

use crate::error::DecompressFailure;
use crate::{Compression, Error};

/// The reason why no more bytes can be had.
#[derive(Debug)]
pub(crate) enum InputError {
    Io(io::Error),
    Decompress(Compression, DecompressFailure),
}

/// An error of decompression, on its way through [`io::Read`].
#[derive(Debug)]
struct DecompressError(Compression, DecompressFailure);

impl fmt::Display for DecompressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0, self.1)
    }
}

impl std::error::Error for DecompressError {}

impl InputError {
    /// See [`Error::is_pause`].
    pub(crate) fn is_pause(&self) -> bool {
        matches!(self, Self::Io(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

impl From<io::Error> for InputError {
    fn from(error: io::Error) -> Self {
        match error.downcast::<DecompressError>() {
            Ok(DecompressError(compression, failure)) => Self::Decompress(compression, failure),
            Err(error) => Self::Io(error),
        }
    }
}

impl From<InputError> for io::Error {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Io(error) => error,
            InputError::Decompress(compression, failure) => Self::new(
                io::ErrorKind::InvalidData,
                DecompressError(compression, failure),
            ),
        }
    }
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Io(error) => Self::io(error),
            InputError::Decompress(compression, failure) => Self::decompress(compression, failure),
        }
    }
}
