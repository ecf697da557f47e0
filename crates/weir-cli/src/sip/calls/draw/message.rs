//! A message with its text.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::canvas::{Theme, put};
use super::list::clock;
use crate::sip::calls::book::{Book, CallRow};
use crate::sip::calls::view::View;
use weir_output::text::{escaped, width};

/// Draws the message that is open, and returns the text of the title.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, view: &mut View, book: &Book) -> String {
    let entry = book.row(view.open).and_then(|row| {
        let step = row.ladder().rungs().get(view.rung)?.step;
        CallRow::entries(row).get(step)
    });
    let Some(entry) = entry else {
        return "this message was dropped from memory".to_owned();
    };
    let text = String::from_utf8_lossy(entry.bytes.as_deref().unwrap_or_default());
    let lines = folded(&text, usize::from(area.width));
    view.text_lines = lines.len();
    view.text_top = view.text_top.min(lines.len().saturating_sub(view.room));
    for (y, (line, is_first)) in lines.iter().skip(view.text_top).take(view.room).enumerate() {
        let style = match is_first {
            true => Theme::heading(),
            false => Style::new(),
        };
        put(buffer, area, 0, y, line, usize::from(area.width), style);
    }
    let time = entry.time_ns.map_or_else(String::new, |ns| clock(ns, true));
    let frame = match entry.frame {
        0 => String::new(),
        frame => format!(", frame {frame}"),
    };
    format!("{time} {} -> {}{frame}", entry.src, entry.dst)
}

/// The lines of a text, escaped and folded to `cells` columns, with true for the parts of its first line.
fn folded(text: &str, cells: usize) -> Vec<(String, bool)> {
    let cells = cells.max(2);
    let mut lines = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = escaped(line.strip_suffix('\r').unwrap_or(line)).into_owned();
        let mut folded = String::new();
        let mut used = 0;
        for character in line.chars() {
            let next = width(character.encode_utf8(&mut [0; 4]));
            if used + next > cells {
                lines.push((std::mem::take(&mut folded), number == 0));
                used = 0;
            }
            folded.push(character);
            used += next;
        }
        lines.push((folded, number == 0));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_folded_between_characters() {
        let found: Vec<String> = folded("ab王王\r\n\r\nx\x1b", 3)
            .into_iter()
            .map(|(line, _)| line)
            .collect();
        assert_eq!(found, ["ab", "王", "王", "", "x\\x", "1b"]);
    }
}
