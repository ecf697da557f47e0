//! The terminal: its raw mode, drawing, keys, and how it is restored.

use std::io::{self, Stdout};
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use weir_tables::Stop;

use super::draw::{Theme, draw};
use super::keys::KeyPress;
use super::reading::SharedBook;
use super::saving::Saving;
use super::view::{Action, View};

/// Shows calls until the user quits, or a signal ends the program.
pub(super) fn show(
    shared: &SharedBook,
    mut view: View,
    saving: &mut Saving,
    source: &str,
    theme: Theme,
    stop: &Stop,
) -> io::Result<()> {
    let mut screen = RawTerminal::new()?;
    let mut drawn: Option<(u64, bool, Instant)> = None;
    let mut is_stale = true;
    while !stop.is_requested() {
        if let Some(status) = saving.finished() {
            view.status = Some(status);
            is_stale = true;
        }
        let is_due = {
            let book = shared.look();
            drawn.is_none_or(|(packets, is_over, when)| {
                (packets, is_over) != (book.packets, book.is_over) && when.elapsed() >= DRAW_EVERY
            })
        };
        if is_stale || is_due {
            let book = shared.look();
            screen.terminal.draw(|frame| {
                let area = frame.area();
                draw(frame.buffer_mut(), area, &mut view, &book, source, theme);
            })?;
            drawn = Some((book.packets, book.is_over, Instant::now()));
            is_stale = false;
        }
        if !event::poll(LISTEN_FOR)? {
            continue;
        }
        // Keys that were typed ahead are taken before the next drawing.
        loop {
            let event = event::read()?;
            is_stale |= matches!(event, Event::Resize(..));
            if let Some(key) = KeyPress::of(&event) {
                is_stale = true;
                // The lock of the book is released before the next one.
                let action = view.key(key, &shared.look());
                match action {
                    Action::Nothing => {}
                    Action::Leave => return Ok(()),
                    Action::Save(number, path) => {
                        let call_id = shared.look().row(number).map(|row| row.call_id.clone());
                        view.status = Some(match call_id {
                            Some(call_id) => saving.begin(&call_id, path),
                            None => ("this call was dropped from memory".to_owned(), true),
                        });
                    }
                }
            }
            if !event::poll(Duration::ZERO)? {
                break;
            }
        }
    }
    Ok(())
}

/// The terminal in raw mode, which is restored when this is dropped.
struct RawTerminal {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl RawTerminal {
    fn new() -> io::Result<Self> {
        // Whatever ends the program, the terminal is restored for the shell.
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            hook(panic);
        }));
        enable_raw_mode()?;
        let mut out = io::stdout();
        let begun = execute!(out, EnterAlternateScreen, cursor::Hide)
            .and_then(|()| Terminal::new(CrosstermBackend::new(out)));
        match begun {
            Ok(terminal) => Ok(Self { terminal }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Errors are ignored: a terminal that is gone needs no restoring.
fn restore() {
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), LeaveAlternateScreen, cursor::Show);
}

/// Lists that grow are drawn so often at most.
const DRAW_EVERY: Duration = Duration::from_millis(100);
/// The time to wait for a key before the next check for changes to draw.
const LISTEN_FOR: Duration = Duration::from_millis(50);
