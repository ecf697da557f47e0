//! What a table left out, or gave up for a limit.

use std::borrow::Cow;
use std::fmt;

/// A number of items that a table left out, or gave up for a limit, for the closing report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The table or the filter that counted; empty where the description says it.
    of: &'static str,
    count: u64,
    what: Cow<'static, str>,
}

impl Note {
    /// The notes of a table on its counters that are not 0, each of which comes with its description.
    pub(crate) fn of<W: Into<Cow<'static, str>>>(
        of: &'static str,
        counted: impl IntoIterator<Item = (u64, W)>,
    ) -> impl Iterator<Item = Self> {
        let counted = counted.into_iter().filter(|(count, _)| *count > 0);
        counted.map(move |(count, what)| Self {
            of,
            count,
            what: what.into(),
        })
    }

    /// The note of a part of a table, as one of the table.
    pub(crate) fn named(self, of: &'static str) -> Self {
        Self { of, ..self }
    }

    /// The sums of notes on the same of several networks, in the order of the first of each.
    pub(crate) fn sum(notes: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut sums: Vec<Self> = Vec::new();
        for note in notes {
            let same = |known: &&mut Self| known.of == note.of && known.what == note.what;
            match sums.iter_mut().find(same) {
                Some(known) => known.count = known.count.saturating_add(note.count),
                None => sums.push(note),
            }
        }
        sums
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.of.is_empty() {
            write!(f, "{}: ", self.of)?;
        }
        write!(f, "{} {}", self.count, self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_on_the_same_are_added_up() {
        let of_one = [(3, "messages of 16,384 octets were cut"), (0, "were long")];
        let of_other = [(4, "messages of 16,384 octets were cut"), (4, "were long")];
        let of_filter = [(1, "were long")];
        let notes = Note::of("h248", of_one)
            .chain(Note::of("h248", of_other))
            .chain(Note::of("", of_filter));
        let sums: Vec<String> = Note::sum(notes).iter().map(ToString::to_string).collect();
        assert_eq!(
            sums,
            [
                "h248: 7 messages of 16,384 octets were cut",
                "h248: 4 were long",
                "1 were long",
            ]
        );
    }
}
