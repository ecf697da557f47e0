//! The list of calls.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use super::canvas::{Theme, put, scrolled};
use crate::sip::calls::book::{Book, CallRow};
use crate::sip::calls::view::View;
use weir_output::grouped;
use weir_output::text::width;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListColumn {
    Time,
    From,
    To,
    State,
    Length,
    Reply,
    Mos,
    Messages,
}

impl ListColumn {
    const fn title(self) -> &'static str {
        match self {
            Self::Time => "UTC",
            Self::From => "From",
            Self::To => "To",
            Self::State => "State",
            Self::Length => "Length",
            Self::Reply => "Reply",
            Self::Mos => "MOS",
            Self::Messages => "Msgs",
        }
    }

    const fn is_number(self) -> bool {
        matches!(self, Self::Length | Self::Mos | Self::Messages)
    }

    fn value(self, row: &CallRow, book: &Book, room: usize) -> String {
        match self {
            Self::Time => clock(row.first_ns, room >= MILLIS_CELLS),
            Self::From => row.listed(&row.from),
            Self::To => row.listed(&row.to),
            Self::State => row.state.clone(),
            Self::Length => row.length_s(book.now_ns()).map(span).unwrap_or_default(),
            Self::Reply => match &row.reply {
                Some((status, reason)) if room > 5 => format!("{status} {reason}"),
                Some((status, _)) => status.to_string(),
                None => String::new(),
            },
            Self::Mos => book
                .sound(row)
                .mos
                .map(|mos| format!("{mos:.1}"))
                .unwrap_or_default(),
            Self::Messages => row.messages.to_string(),
        }
    }
}

/// The columns that fit, in their order, with their cells.
fn layout(cells: usize) -> Vec<(ListColumn, usize)> {
    let is_wide = cells >= WIDE_CELLS;
    let wanted = [
        (ListColumn::Reply, if is_wide { 20 } else { 5 }),
        (ListColumn::Time, if is_wide { MILLIS_CELLS } else { 8 }),
        (ListColumn::Length, 7),
        (ListColumn::Mos, 4),
        (ListColumn::Messages, 4),
    ];
    let mut taken = vec![(ListColumn::State, STATE_CELLS)];
    // A blank stands before each column but the first; the two parties share what is left.
    let mut left = cells.saturating_sub(STATE_CELLS.saturating_add(2));
    for (column, cells) in wanted {
        let rest = left.saturating_sub(cells.saturating_add(1));
        if rest >= PARTY_CELLS_MIN.saturating_mul(2) {
            left = rest;
            taken.push((column, cells));
        }
    }
    taken.push((ListColumn::From, left.div_ceil(2)));
    taken.push((ListColumn::To, left / 2));
    let order = [
        ListColumn::Time,
        ListColumn::From,
        ListColumn::To,
        ListColumn::State,
        ListColumn::Length,
        ListColumn::Reply,
        ListColumn::Mos,
        ListColumn::Messages,
    ];
    let find = |column: ListColumn| taken.iter().find(|(taken, _)| *taken == column).copied();
    order.into_iter().filter_map(find).collect()
}

/// Draws the list, and returns the text of the title.
pub(super) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    view: &mut View,
    book: &Book,
    theme: Theme,
) -> String {
    let listed = view.listed(book);
    let place = view.place(&listed);
    let columns = layout(usize::from(area.width.saturating_sub(MARK_CELLS)));
    let titles = usize::from(area.height >= 2);
    let room = usize::from(area.height).saturating_sub(titles);
    let top = scrolled(view.top, place, room, listed.len());
    let mut each = |y: usize, style: Style, value: &dyn Fn(ListColumn, usize) -> String| {
        let mut x = usize::from(MARK_CELLS);
        for (column, cells) in &columns {
            let text = value(*column, *cells);
            let indent = match column.is_number() {
                true => cells.saturating_sub(width(&text)),
                false => 0,
            };
            let (x_text, cells_text) = (x.saturating_add(indent), cells.saturating_sub(indent));
            put(buffer, area, x_text, y, &text, cells_text, style);
            x = x.saturating_add(cells.saturating_add(1));
        }
    };
    if titles > 0 {
        each(0, Theme::heading(), &|column, _| column.title().to_owned());
    }
    for (line, row) in listed.iter().skip(top).take(room).enumerate() {
        let y = line.saturating_add(titles);
        each(y, style(row, theme), &|column, cells| {
            column.value(row, book, cells)
        });
    }
    let marked = place.saturating_sub(top).saturating_add(titles);
    if !listed.is_empty()
        && marked < usize::from(area.height)
        && let Ok(y) = u16::try_from(marked)
    {
        put(buffer, area, 0, marked, ">", 1, Style::new());
        let line = Rect {
            x: area.x,
            y: area.y.saturating_add(y),
            width: area.width,
            height: 1,
        };
        buffer.set_style(line, Theme::selected());
    }
    let (count, talking) = (listed.len(), talking(&listed));
    let (everything, is_filtered) = (view.everything, !view.filter.is_empty());
    view.top = top;
    view.room = room.max(1);
    let what = if everything { "dialogs" } else { "calls" };
    let mut title = format!("{} {what}", grouped(count as u64));
    if is_filtered {
        title.push_str(" that match");
    }
    if talking > 0 {
        title.push_str(&format!(", {} in call", grouped(talking as u64)));
    }
    title.push_str(&format!(", {} packets", grouped(book.packets)));
    if book.forgotten() > 0 {
        title.push_str(&format!(", {} forgotten", grouped(book.forgotten())));
    }
    title
}

fn talking(listed: &[&CallRow]) -> usize {
    listed.iter().filter(|row| row.state == "in_call").count()
}

fn style(row: &CallRow, theme: Theme) -> Style {
    if row.is_failure {
        return theme.failure();
    }
    match row.state.as_str() {
        "in_call" => theme.of(Color::Green),
        "ringing" => theme.of(Color::Yellow),
        "trying" => theme.of(Color::Cyan),
        "cancelled" | "redirected" | "superseded" => theme.of(Color::Magenta),
        _ => Style::new(),
    }
}

/// The time of day.
pub(super) fn clock(time_ns: i64, has_millis: bool) -> String {
    let ms = time_ns.div_euclid(1_000_000);
    let day_ms = ms.rem_euclid(86_400_000);
    let seconds = day_ms / 1_000;
    let time = format!(
        "{:02}:{:02}:{:02}",
        seconds / 3_600,
        seconds / 60 % 60,
        seconds % 60
    );
    match has_millis {
        true => format!("{time}.{:03}", day_ms % 1_000),
        false => time,
    }
}

/// A length as clocks show it: `1:03`, `1:00:03`.
fn span(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// The mark of the selected line, which needs no colour.
const MARK_CELLS: u16 = 1;
const STATE_CELLS: usize = 10;
const PARTY_CELLS_MIN: usize = 12;
const MILLIS_CELLS: usize = 12;
/// Cells from which on there is room for more.
const WIDE_CELLS: usize = 110;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_take_the_room_that_there_is() {
        for cells in 0..300 {
            let columns = layout(cells);
            let sum: usize = columns.iter().map(|(_, cells)| cells).sum();
            let blanks = columns.len() - 1;
            assert!(cells < 12 || sum + blanks == cells, "{cells}: {columns:?}");
        }
        let named = |cells: usize| -> Vec<&str> {
            let columns = layout(cells).into_iter();
            columns.map(|(column, _)| column.title()).collect()
        };
        assert_eq!(named(19), ["From", "To", "State"]);
        assert_eq!(
            named(79),
            [
                "UTC", "From", "To", "State", "Length", "Reply", "MOS", "Msgs"
            ]
        );
    }

    #[test]
    fn times_are_those_of_clocks() {
        assert_eq!(clock(1_700_000_000_123_456_789, true), "22:13:20.123");
        assert_eq!(clock(-1, false), "23:59:59");
        assert_eq!((span(0), span(3_661)), ("0:00".into(), "1:01:01".into()));
    }
}
