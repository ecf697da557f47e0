//! The screens in characters, drawn from the book and the view into cells.

mod canvas;
mod ladder;
mod list;
mod message;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};

use super::book::Book;
use super::view::{Prompt, Screen, View};
pub(super) use canvas::Theme;
use canvas::line;
use weir_output::text::width;

/// Draws the current screen into an area of any size.
pub(super) fn draw(
    buffer: &mut Buffer,
    area: Rect,
    view: &mut View,
    book: &Book,
    source: &str,
    theme: Theme,
) {
    let (title, body, foot) = parts(area);
    view.room = usize::from(body.height).max(1);
    let summary = match view.screen {
        Screen::List => list::draw(buffer, body, view, book, theme),
        Screen::Ladder => ladder::draw(buffer, body, view, book, theme),
        Screen::Message => message::draw(buffer, body, view, book),
    };
    let over = if book.is_over { ", at its end" } else { "" };
    let heading = format!("{source}{over}: {summary}");
    line(buffer, title, &heading, Theme::heading());
    let (text, style) = match (&view.prompt, &view.status) {
        (Some(Prompt::Filter), _) => (format!("/{}_", view.filter), Theme::heading()),
        (Some(Prompt::Save(name)), _) => (format!("save as: {name}_"), Theme::heading()),
        (None, Some((text, true))) => (text.clone(), theme.failure()),
        (None, Some((text, false))) => (text.clone(), Style::new()),
        (None, None) => (help(view, foot.width), theme.of(Color::DarkGray)),
    };
    // The end of the typed text is visible.
    let room = usize::from(foot.width);
    let text = match view.prompt {
        Some(_) if width(&text) > room => ending(&text, room),
        _ => text,
    };
    line(buffer, foot, &text, style);
}

/// The keys of a screen: as many words as there is room for.
fn help(view: &View, room: u16) -> String {
    let words: &[&str] = match view.screen {
        Screen::List => &[
            "Enter ladder",
            "/ filter",
            "s save",
            "q quit",
            "a all",
            "End newest",
            "PgUp PgDn",
        ],
        Screen::Ladder => &[
            "Enter message",
            "s save",
            "q back",
            "Left Right columns",
            "PgUp PgDn",
        ],
        Screen::Message => &["q back", "s save", "Left Right next", "PgUp PgDn"],
    };
    let filtered = !view.filter.is_empty() && view.screen == Screen::List;
    let mut help = String::new();
    if filtered {
        help = format!("/{}", view.filter);
    }
    for word in words {
        let next = match help.is_empty() {
            true => (*word).to_owned(),
            false => format!("{help}  {word}"),
        };
        if width(&next) > usize::from(room) {
            break;
        }
        help = next;
    }
    help
}

/// A first line, what is between, and a last line, as far as there are lines.
fn parts(area: Rect) -> (Rect, Rect, Rect) {
    let one = |y: u16, height: u16| Rect {
        x: area.x,
        y,
        width: area.width,
        height,
    };
    let title = if area.height >= 3 { 1 } else { 0 };
    let foot = if area.height >= 2 { 1 } else { 0 };
    let body = area.height.saturating_sub(title + foot);
    let top = area.y.saturating_add(title);
    (
        one(area.y, title),
        one(top, body),
        one(top.saturating_add(body), foot),
    )
}

/// The last of a text that fit into `room` cells.
fn ending(text: &str, room: usize) -> String {
    let mut kept = text;
    while width(kept) > room {
        let mut characters = kept.chars();
        if characters.next().is_none() {
            break;
        }
        kept = characters.as_str();
    }
    kept.to_owned()
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::style::Modifier;

    use super::super::book::tests::{message, sample, send};
    use super::super::keys::KeyPress;
    use super::*;

    /// The screen of a terminal of this size.
    fn shown(view: &mut View, book: &Book, columns: u16, lines: u16, colour: bool) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
        terminal
            .draw(|frame| {
                let area = frame.area();
                let theme = Theme { colour };
                draw(frame.buffer_mut(), area, view, book, "lo", theme);
            })
            .unwrap();
        terminal.backend().buffer().clone()
    }

    fn lines(buffer: &Buffer) -> String {
        let mut text = String::new();
        for y in 0..buffer.area.height {
            let mut row = String::new();
            let mut skip = 0;
            for x in 0..buffer.area.width {
                if skip > 0 {
                    skip -= 1;
                    continue;
                }
                let symbol = buffer[(x, y)].symbol();
                skip = width(symbol).saturating_sub(1);
                row.push_str(symbol);
            }
            text.push_str(row.trim_end());
            text.push('\n');
        }
        text
    }

    /// Holds a screen against the file of its name; `WEIR_BLESS=1` writes it.
    fn check(name: &str, found: &str) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/screens");
        let path = format!("{folder}/{name}.txt");
        if std::env::var_os("WEIR_BLESS").is_some() {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(&path, found).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            expected == found,
            "{name}: expected\n{expected}\nfound\n{found}"
        );
    }

    const SIZES: [(u16, u16); 4] = [(80, 24), (140, 12), (40, 10), (20, 8)];

    #[test]
    fn lists_are_as_they_were() {
        let book = sample();
        for (columns, rows) in SIZES {
            let mut view = View::new(false);
            view.everything = true;
            view.key(KeyPress::Down, &book);
            let found = lines(&shown(&mut view, &book, columns, rows, true));
            check(&format!("list-{columns}"), &found);
        }
        let mut view = View::new(false);
        for key in "/bob 486".chars().map(KeyPress::Char) {
            view.key(key, &book);
        }
        check(
            "list-filtered",
            &lines(&shown(&mut view, &book, 80, 8, true)),
        );
        view.key(KeyPress::Enter, &book);
        view.key(KeyPress::Char('s'), &book);
        check("list-saving", &lines(&shown(&mut view, &book, 80, 8, true)));
    }

    #[test]
    fn ladders_are_as_they_were() {
        let mut book = sample();
        let reply = message("SIP/2.0 200 OK", "two", "王小明", "9 OPTIONS");
        send(
            &mut book,
            5.0,
            2,
            9,
            &reply.replace("OK", "好的 好的 好的 好的 好的"),
        );
        for (columns, rows) in SIZES {
            for call in [0, 1] {
                let mut view = View::new(false);
                (0..call).for_each(|_| drop(view.key(KeyPress::Down, &book)));
                view.key(KeyPress::Enter, &book);
                view.key(KeyPress::Down, &book);
                let found = lines(&shown(&mut view, &book, columns, rows, true));
                check(&format!("ladder-{call}-{columns}"), &found);
            }
        }
    }

    #[test]
    fn messages_are_as_they_were_and_do_not_steer_the_terminal() {
        let mut book = Book::new(1 << 20);
        let invite = message(
            "INVITE sip:b\x1b[2J@h SIP/2.0",
            "x",
            "al\u{202e}ice",
            "1 INVITE",
        );
        let text = format!("{invite}v=0\r\na=\x07\u{9b}31m {}\r\n", "long ".repeat(40));
        send(
            &mut book,
            0.0,
            1,
            2,
            &text.replace("Length: 0", "Length: 220"),
        );
        for (columns, rows) in SIZES {
            let mut view = View::new(false);
            view.key(KeyPress::Enter, &book);
            view.key(KeyPress::Enter, &book);
            let found = lines(&shown(&mut view, &book, columns, rows, true));
            assert!(!found.contains(['\x1b', '\x07', '\u{9b}', '\u{202e}']));
            check(&format!("message-{columns}"), &found);
        }
    }

    #[test]
    fn what_was_refused_is_red_and_without_colour_bold() {
        let book = sample();
        for colour in [true, false] {
            let buffer = shown(&mut View::new(false), &book, 80, 24, colour);
            let text = lines(&buffer);
            let y = text.lines().position(|line| line.contains("busy")).unwrap();
            // The selected line, the first, is apart; states begin in one column.
            let line = text.lines().nth(2).unwrap();
            let x = width(&line[..line.find("completed").unwrap()]);
            let cell = &buffer[(u16::try_from(x).unwrap(), u16::try_from(y).unwrap())];
            assert_eq!(cell.fg == Color::Red, colour);
            assert_eq!(cell.modifier.contains(Modifier::BOLD), !colour);
            let coloured = buffer.content.iter().any(|cell| cell.fg != Color::Reset);
            assert_eq!(coloured, colour);
        }
    }

    #[test]
    fn every_size_can_be_drawn() {
        let mut book = sample();
        let screens: [&[KeyPress]; 3] =
            [&[], &[KeyPress::Enter], &[KeyPress::Enter, KeyPress::Enter]];
        for keys in screens {
            for (columns, rows) in [(1, 1), (2, 2), (3, 3), (5, 4), (13, 5), (300, 100)] {
                let mut view = View::new(false);
                keys.iter().for_each(|key| drop(view.key(*key, &book)));
                for _ in 0..9 {
                    shown(&mut view, &book, columns, rows, true);
                    view.key(KeyPress::Down, &book);
                    view.key(KeyPress::Right, &book);
                }
            }
        }
        // The open call may be dropped meanwhile.
        let mut view = View::new(false);
        view.key(KeyPress::Enter, &book);
        book = Book::new(1);
        let found = lines(&shown(&mut view, &book, 80, 5, true));
        assert!(found.contains("dropped from memory"), "{found}");
        view.key(KeyPress::Down, &book);
        assert_eq!(view.screen, Screen::List);
    }

    #[test]
    fn the_end_of_a_typed_text_is_seen() {
        assert_eq!(ending("abc王", 3), "c王");
    }
}
