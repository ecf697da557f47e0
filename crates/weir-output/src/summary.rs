//! The summary of written rows, and of those that a terminal was not shown.

use super::text;

/// The summary of the rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Rows that the query gave.
    pub rows: u64,
    /// Rows of these that the table left out.
    pub rows_hidden: u64,
    /// Columns left out because they are NULL in every row.
    pub columns_folded: Vec<String>,
    /// Columns left out because the terminal is not wide enough.
    pub columns_cut: Vec<String>,
    /// Whether a value or a name was shortened to fit (it then ends in `…`).
    pub values_cut: bool,
    /// The reader went away before the end.
    pub closed: bool,
    /// The rows went to a terminal as a table, so that words about it are welcome.
    pub table_on_terminal: bool,
    /// The note about what a picture lacks, such as rows beyond the limit.
    pub picture: Option<String>,
}

impl Summary {
    /// The lines for standard error, each without a final full stop. For pipes and files only the note about a picture.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = self.picture.iter().cloned().collect();
        if !self.table_on_terminal || self.closed {
            return notes;
        }
        if self.rows == 0 {
            notes.push("no rows".to_owned());
        }
        if self.rows_hidden > 0 {
            notes.push(format!(
                "{} of {} rows shown; '--rows all' shows the rest",
                grouped(self.rows.saturating_sub(self.rows_hidden)),
                grouped(self.rows)
            ));
        }
        if !self.columns_folded.is_empty() {
            let (columns, are) = match self.columns_folded.len() {
                1 => ("column", "is"),
                _ => ("columns", "are"),
            };
            notes.push(format!(
                "{} {columns} {are} NULL in every row and left out ({}); '--all-columns' shows them",
                self.columns_folded.len(),
                some_names(&self.columns_folded)
            ));
        }
        if !self.columns_cut.is_empty() {
            let (columns, do_not) = match self.columns_cut.len() {
                1 => ("column", "does not"),
                _ => ("columns", "do not"),
            };
            notes.push(format!(
                "{} more {columns} {do_not} fit this terminal ({}); '--all-columns' shows them",
                self.columns_cut.len(),
                some_names(&self.columns_cut)
            ));
        } else if self.values_cut {
            notes.push("values cut at '…'; '--all-columns' shows them in full".to_owned());
        }
        notes
    }
}

/// A number as people read it: `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len().saturating_mul(4) / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The first names of a list, safe for a terminal.
fn some_names(names: &[String]) -> String {
    let mut shown: Vec<_> = names
        .iter()
        .take(NAMES_SHOWN)
        .map(|name| text::escaped(name).into_owned())
        .collect();
    if names.len() > NAMES_SHOWN {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

/// Names that a note lists before it gives up.
const NAMES_SHOWN: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, expected) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1,000"),
            (1_234_567, "1,234,567"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ] {
            assert_eq!(grouped(number), expected);
        }
    }

    #[test]
    fn notes_name_the_flag_and_stay_away_from_pipes() {
        let summary = Summary {
            rows: 1_500,
            rows_hidden: 1_460,
            columns_folded: vec!["vlan.id".into(), "evil\x1b[2J".into()],
            columns_cut: (0..9).map(|at| format!("c{at}")).collect(),
            table_on_terminal: true,
            ..Summary::default()
        };
        assert_eq!(
            summary.notes(),
            [
                "40 of 1,500 rows shown; '--rows all' shows the rest",
                "2 columns are NULL in every row and left out (vlan.id, evil\\x1b[2J); \
                 '--all-columns' shows them",
                "9 more columns do not fit this terminal (c0, c1, c2, c3, c4, c5, …); \
                 '--all-columns' shows them",
            ]
        );
        let piped = Summary {
            table_on_terminal: false,
            ..summary
        };
        assert!(piped.notes().is_empty());
        let drawn = Summary {
            picture: Some("a character is missing".into()),
            ..piped
        };
        assert_eq!(drawn.notes(), ["a character is missing"]);
    }
}
