//! The widths of the columns of a table, and the choice of those that fit.

/// The natural size of a column, in character cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Natural {
    /// The widest value.
    pub(super) value: usize,
    /// The name.
    pub(super) name: usize,
    /// Values must not be cut (numbers, times).
    pub(super) whole: bool,
}

impl Natural {
    fn width(&self) -> usize {
        self.value.max(self.name)
    }

    /// The width below which the column is rather left out.
    fn least(&self) -> usize {
        let value = if self.whole {
            self.value
        } else {
            self.value.min(TEXT_LEAST)
        };
        value.max(self.name.min(NAME_LEAST))
    }
}

/// The layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Widths of the columns that are shown: the first of those given.
    pub(super) widths: Vec<usize>,
    /// Whether a last column of `…` stands for those that are not.
    pub(super) more: bool,
}

/// Every column in its natural width.
pub(super) fn natural(columns: &[Natural]) -> Layout {
    Layout {
        widths: columns.iter().map(Natural::width).collect(),
        more: false,
    }
}

/// Columns for a terminal of `cells`: where they do not fit, the widest give way first, and when
/// all have given what they can, columns at the right are left out. At least one is shown.
pub(super) fn fitted(columns: &[Natural], cells: usize) -> Layout {
    let whole = natural(columns);
    if total(&whole.widths, false) <= cells || columns.is_empty() {
        return whole;
    }
    let least: Vec<_> = columns.iter().map(Natural::least).collect();
    let shown = if total(&least, false) <= cells {
        columns.len()
    } else {
        // The columns from the left are shown, with room for the `…`.
        let mut left = cells.saturating_sub(total(&[], true));
        let fit = |width: &&usize| match left.checked_sub(width.saturating_add(BORDER)) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        least.iter().take_while(fit).count().max(1)
    };
    let more = shown < columns.len();
    let columns = columns.get(..shown).unwrap_or_default();
    let widths_under = |cap: usize| -> Vec<usize> {
        let width = |column: &Natural| column.width().min(cap).max(column.least());
        columns.iter().map(width).collect()
    };
    // The largest cap under which all fit; widths grow with the cap.
    let mut low = 0;
    let mut high = cells;
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if total(&widths_under(middle), more) <= cells {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let mut widths = widths_under(low);
    // The cells that the common cap leaves go to the columns from the left.
    let mut spare = cells.saturating_sub(total(&widths, more));
    for (width, column) in widths.iter_mut().zip(columns) {
        let extra = column.width().saturating_sub(*width).min(spare);
        *width += extra;
        spare -= extra;
    }
    // A single column that is too wide even at its least is cut to what there is.
    if let [width] = widths.as_mut_slice() {
        *width = (*width).min(cells.saturating_sub(total(&[0], more))).max(1);
    }
    Layout { widths, more }
}

/// Cells that a table takes with its borders: `│ a │ b │`.
fn total(widths: &[usize], more: bool) -> usize {
    let columns = widths.len().saturating_add(usize::from(more));
    widths
        .iter()
        .fold(usize::from(more), |sum, width| sum.saturating_add(*width))
        .saturating_add(columns.saturating_mul(BORDER))
        .saturating_add(1)
}

/// Cells that a column takes beside its text: a border and two blanks.
const BORDER: usize = 3;
/// Text is cut to no less than this: an IPv4 address still fits.
const TEXT_LEAST: usize = 15;
/// Names are cut to no less than this.
const NAME_LEAST: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: usize, name: usize) -> Natural {
        Natural {
            value,
            name,
            whole: false,
        }
    }

    fn number(value: usize, name: usize) -> Natural {
        Natural {
            value,
            name,
            whole: true,
        }
    }

    #[test]
    fn columns_give_way_from_the_widest_and_then_from_the_right() {
        for (columns, cells, widths, more) in [
            // 1 + 2 * 3 cells are borders.
            (vec![text(10, 5), number(3, 5)], 22, vec![10, 5], false),
            (vec![text(60, 5), text(20, 5)], 80, vec![53, 20], false),
            (vec![text(60, 5), text(60, 5)], 80, vec![37, 36], false),
            (vec![text(60, 5), number(30, 5)], 60, vec![23, 30], false),
            (vec![text(60, 5), number(30, 5)], 50, vec![42], true),
            (vec![number(3, 40), number(3, 9)], 30, vec![14, 9], false),
            (vec![text(60, 5); 4], 40, vec![32], true),
            (vec![text(60, 5); 4], 60, vec![16, 15, 15], true),
            (vec![number(60, 5); 3], 40, vec![32], true),
            (vec![number(60, 5)], 3, vec![1], false),
            (vec![], 10, vec![], false),
        ] {
            let layout = fitted(&columns, cells);
            assert_eq!(
                (layout.widths.clone(), layout.more),
                (widths, more),
                "{columns:?}"
            );
            if cells > 10 {
                assert!(total(&layout.widths, layout.more) <= cells);
            }
        }
    }

    #[test]
    fn a_huge_number_of_columns_is_laid_out_at_once() {
        let columns = vec![text(usize::MAX, usize::MAX); 100_000];
        let layout = fitted(&columns, 200);
        assert!(layout.more && layout.widths.len() < 20);
        assert_eq!(natural(&columns).widths.len(), 100_000);
    }
}
