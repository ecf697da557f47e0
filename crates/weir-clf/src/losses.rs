//! Counts of values that a form could not represent.

use std::fmt;

/// The loss or change when a record is written in a form that cannot represent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Loss {
    /// The time is cut to the form's unit, or out of its range.
    Time,
    /// The number of CSeq is lost.
    CSeqNumber,
    /// The transport or its encryption is lost.
    Transport,
    /// The direction, sent or received, is lost.
    Direction,
    /// The distinction of originals, retransmissions and stateless elements is lost.
    Retransmission,
    /// The destination, the source, or a port is lost.
    Address,
    /// A mandatory field has no place in the form.
    Field,
    /// The name of the authenticated user is lost.
    User,
    /// An optional field has no place in the form.
    Optional,
    /// A field was cut to the form's longest.
    Cut,
    /// A byte that the form does not allow was written as `%` and two digits, or as a space.
    Escaped,
    /// The transaction of a `+` is not known (any more).
    Unresolved,
    /// A field `?`, not parsable, was written as absent.
    Unparsable,
    /// A flag is unknown, and the form has letters of known ones only.
    Assumed,
}

const COUNT: usize = 14;

const ALL: [(Loss, &str); COUNT] = [
    (Loss::Time, "times truncated to the unit of the format"),
    (Loss::CSeqNumber, "CSeq numbers left out"),
    (Loss::Transport, "transports left out"),
    (Loss::Direction, "directions left out"),
    (Loss::Retransmission, "retransmission flags left out"),
    (Loss::Address, "addresses or ports left out"),
    (Loss::Field, "fields left out"),
    (Loss::User, "authenticated users left out"),
    (Loss::Optional, "optional fields left out"),
    (
        Loss::Cut,
        "fields truncated to the longest that the format allows",
    ),
    (Loss::Escaped, "fields with bytes that had to be escaped"),
    (Loss::Unresolved, "'+' without a known transaction"),
    (Loss::Unparsable, "unparsable fields written as absent"),
    (
        Loss::Assumed,
        "records that lack flags (written as S for stateless, R for received, U for UDP, U for unencrypted)",
    ),
];

/// The number of occurrences of each [`Loss`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses([u64; COUNT]);

impl Losses {
    /// The number of occurrences of `loss`.
    #[must_use]
    pub const fn count(&self, loss: Loss) -> u64 {
        self.0[loss as usize]
    }

    /// Whether there were no losses.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|&count| count == 0)
    }

    /// The losses, with their descriptions.
    pub fn iter(&self) -> impl Iterator<Item = (Loss, &'static str, u64)> {
        ALL.iter()
            .zip(self.0)
            .filter(|&(_, count)| count > 0)
            .map(|(&(loss, text), count)| (loss, text, count))
    }

    /// Adds the losses of another writer.
    pub fn add(&mut self, other: &Self) {
        for (count, other) in self.0.iter_mut().zip(other.0) {
            *count = count.saturating_add(other);
        }
    }

    /// The number of values that were written differently.
    pub(crate) const fn values(&self) -> u64 {
        let (cut, escaped) = (self.count(Loss::Cut), self.count(Loss::Escaped));
        let sum = cut.saturating_add(escaped);
        sum.saturating_add(self.count(Loss::Unparsable))
    }

    pub(crate) const fn note(&mut self, loss: Loss) {
        let count = &mut self.0[loss as usize];
        *count = count.saturating_add(1);
    }

    pub(crate) const fn note_if(&mut self, lost: bool, loss: Loss) {
        if lost {
            self.note(loss);
        }
    }
}

impl fmt::Display for Losses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (_, text, count)) in self.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{count} {text}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_loss_has_its_own_counter() {
        let mut losses = Losses::default();
        assert!(losses.is_empty());
        for (place, (loss, _)) in ALL.iter().enumerate() {
            assert_eq!(*loss as usize, place);
            losses.note(*loss);
        }
        losses.note(Loss::Unparsable);
        assert_eq!(losses.iter().map(|(.., count)| count).sum::<u64>(), 15);
        assert!(
            losses
                .to_string()
                .contains("2 unparsable fields written as absent")
        );
    }
}
