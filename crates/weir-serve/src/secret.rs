//! Secrets, and random names that cannot be guessed.

use std::fmt::Write as _;

use tokio_rustls::rustls::crypto::ring;

use crate::error::{Failure, FailureKind};

/// Whether a secret is the right one. It takes as long for a wrong one as for the right one.
pub(crate) fn is_same(given: &str, right: &str) -> bool {
    let differs = given
        .bytes()
        .zip(right.bytes())
        .fold(0, |differs, (one, other)| differs | (one ^ other));
    given.len() == right.len() && differs == 0
}

/// A random name of [`NAME_LEN`] hex digits.
///
/// # Errors
/// When the system has no random numbers.
pub(crate) fn random_name() -> Result<String, Failure> {
    let mut bytes = [0; NAME_LEN / 2];
    let filled = ring::default_provider().secure_random.fill(&mut bytes);
    filled.map_err(|_| Failure::new(FailureKind::Run, "the system provides no random numbers"))?;
    let mut name = String::with_capacity(NAME_LEN);
    for byte in bytes {
        // Writing into a String does not fail.
        let _ = write!(name, "{byte:02x}");
    }
    Ok(name)
}

/// The length of a name.
pub(crate) const NAME_LEN: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_the_same_when_all_of_them_is() {
        assert!(is_same("sesame", "sesame"));
        for wrong in ["", "sesam", "sesamf", "sesame ", "Sesame"] {
            assert!(!is_same(wrong, "sesame"), "{wrong}");
        }
        let (one, other) = (random_name().unwrap(), random_name().unwrap());
        assert!(one != other && one.len() == NAME_LEN, "{one} {other}");
    }
}
