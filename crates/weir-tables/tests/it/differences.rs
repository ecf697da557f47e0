//! The written list of deliberate differences from Wireshark, each with its reason.
//!
//! A difference belongs here when the value is right by the standard or by what the columns promise
//! to users, and Wireshark's comes from something else: a guess, state of the conversation, another
//! idea of what a field is. What is merely wrong is to be corrected, not listed.

/// Values that differ on purpose.
pub(crate) struct Difference {
    /// What differs, for the heading of the page.
    pub(crate) title: &'static str,
    /// Columns; `*` stands for any text.
    pub(crate) columns: &'static [&'static str],
    /// Captures in which it was seen, by their names; `*` stands for any text.
    pub(crate) captures: &'static [&'static str],
    /// Which of the differing values.
    pub(crate) when: When,
    /// Why.
    pub(crate) reason: &'static str,
}

/// Which values of a column a difference is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// All that differ.
    Differ,
    /// Wireshark has a value, and the column is NULL.
    OnlyTheirs,
    /// The column has a value, and Wireshark none.
    OnlyOurs,
    /// Wireshark has this text, and the column is NULL.
    Theirs(&'static str),
}

/// Captures of which the two do not see the same records.
pub(crate) struct RecordDifference {
    pub(crate) title: &'static str,
    pub(crate) captures: &'static [&'static str],
    pub(crate) reason: &'static str,
}

impl When {
    /// True when this is about a value of which `ours` is missing and Wireshark has `theirs`.
    pub(crate) fn covers(self, ours_missing: bool, theirs: &str) -> bool {
        match self {
            Self::Differ => true,
            Self::OnlyTheirs => ours_missing,
            Self::OnlyOurs => theirs.is_empty(),
            Self::Theirs(text) => ours_missing && theirs == text,
        }
    }
}

/// True when one of the patterns, in which `*` stands for any text, is all of `name`.
pub(crate) fn any_matches(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, name))
}

fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(name) = name.strip_prefix(start) else {
        return false;
    };
    (0..=name.len()).any(|at| name.get(at..).is_some_and(|name| matches(rest, name)))
}

#[test]
fn a_star_stands_for_any_text() {
    for (pattern, name, expected) in [
        ("tcp.*", "tcp.len", true),
        ("tcp.*", "udp.length", false),
        ("*", "", true),
        ("*.src", "ip.src", true),
        ("a*b*c", "aXbYbZc", true),
        ("a*b*c", "aXc", false),
        ("ip.src", "ip.src.x", false),
    ] {
        assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
    }
}

/// See the module.
pub(crate) const DIFFERENCES: &[Difference] = &[];

/// See [`RecordDifference`].
pub(crate) const RECORD_DIFFERENCES: &[RecordDifference] = &[];
