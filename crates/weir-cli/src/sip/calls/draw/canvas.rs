//! Texts in the cells of an area, and their styles.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use weir_output::text::fitted;

/// The styles, with colour or without.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Theme {
    pub(crate) colour: bool,
}

impl Theme {
    pub(super) fn of(self, colour: Color) -> Style {
        match self.colour {
            true => Style::new().fg(colour),
            false => Style::new(),
        }
    }

    /// Refused calls are red, and without colour bold.
    pub(super) fn failure(self) -> Style {
        match self.colour {
            true => Style::new().fg(Color::Red),
            false => Style::new().add_modifier(Modifier::BOLD),
        }
    }

    pub(super) fn selected() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    pub(super) fn heading() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }
}

/// Writes a line, cut to its place.
pub(super) fn line(buffer: &mut Buffer, area: Rect, text: &str, style: Style) {
    put(buffer, area, 0, 0, text, usize::from(area.width), style);
}

/// Writes a text into the place at `x` and `y` of an area, cut to `room` cells and to the area.
pub(super) fn put(
    buffer: &mut Buffer,
    area: Rect,
    x: usize,
    y: usize,
    text: &str,
    room: usize,
    style: Style,
) {
    let (Ok(x), Ok(y)) = (u16::try_from(x), u16::try_from(y)) else {
        return;
    };
    if x >= area.width || y >= area.height {
        return;
    }
    let room = room.min(usize::from(area.width.saturating_sub(x)));
    let text = fitted(text, room);
    buffer.set_stringn(
        area.x.saturating_add(x),
        area.y.saturating_add(y),
        &text,
        room,
        style,
    );
}

/// The first line that is shown of a list so that `place` is seen, moved as little as possible.
pub(super) fn scrolled(top: usize, place: usize, room: usize, len: usize) -> usize {
    let room = room.max(1);
    let top = top.min(len.saturating_sub(room));
    match place {
        place if place < top => place,
        place if place >= top.saturating_add(room) => place.saturating_sub(room.saturating_sub(1)),
        _ => top,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_line_is_seen() {
        assert_eq!(scrolled(0, 30, 10, 40), 21);
        assert_eq!(scrolled(21, 25, 10, 40), 21);
        assert_eq!(scrolled(21, 3, 10, 40), 3);
        assert_eq!(scrolled(21, 3, 10, 4), 0);
        assert_eq!(scrolled(0, 0, 0, 0), 0);
    }
}
