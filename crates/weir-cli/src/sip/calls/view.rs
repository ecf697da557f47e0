//! The state of the screens: the current one, its call and message, and the typed text. Keys change this state; drawing changes
//! only the size of the visible area.

use std::path::PathBuf;

use weir_sip::Ladder;

use super::book::{Book, CallRow};
use super::keys::KeyPress;
use super::saving::StatusLine;

/// The screens, one on top of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Screen {
    List,
    Ladder,
    Message,
}

/// A line that is typed into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Prompt {
    /// The filter of the list, which works while it is typed.
    Filter,
    /// The name of the capture to write.
    Save(String),
}

/// The action of a key, beside a change of the view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Nothing,
    Leave,
    /// Write the packets of the call of this number.
    Save(u64, PathBuf),
}

/// The part of the program that is shown.
#[derive(Debug)]
pub(super) struct View {
    pub(super) screen: Screen,
    pub(super) prompt: Option<Prompt>,
    /// The filter as it was typed.
    pub(super) filter: String,
    /// Registrations and what else is no call are listed, too.
    pub(super) everything: bool,
    /// The newest call is the selected one.
    pub(super) follows: bool,
    /// Number of the selected call.
    pub(super) selected: Option<u64>,
    /// The first line of the list that is shown.
    pub(super) top: usize,
    /// Number of the call that is open.
    pub(super) open: u64,
    /// The selected rung of its ladder, the first that is shown, and the first column.
    pub(super) rung: usize,
    pub(super) ladder_top: usize,
    pub(super) left: usize,
    /// The first line of the message that is shown.
    pub(super) text_top: usize,
    /// Lines that there is room for, and lines of the message, as the last drawing found.
    pub(super) room: usize,
    pub(super) text_lines: usize,
    /// The text that the last line shows until the next key.
    pub(super) status: Option<StatusLine>,
}

impl View {
    /// The list; of what is still to come, the newest call is selected.
    pub(super) const fn new(follows: bool) -> Self {
        Self {
            screen: Screen::List,
            prompt: None,
            filter: String::new(),
            everything: false,
            follows,
            selected: None,
            top: 0,
            open: 0,
            rung: 0,
            ladder_top: 0,
            left: 0,
            text_top: 0,
            room: 1,
            text_lines: 0,
            status: None,
        }
    }

    /// The calls that the filter lets through.
    pub(super) fn listed<'b>(&self, book: &'b Book) -> Vec<&'b CallRow> {
        let words: Vec<String> = self
            .filter
            .split_whitespace()
            .map(str::to_lowercase)
            .collect();
        let rows = book.rows().filter(|row| self.everything || row.is_call);
        rows.filter(|row| row.has(&words)).collect()
    }

    /// The place of the selected call among those that are listed.
    pub(super) fn place(&self, listed: &[&CallRow]) -> usize {
        let last = listed.len().saturating_sub(1);
        if self.follows {
            return last;
        }
        let Some(selected) = self.selected else {
            return 0;
        };
        // The call after it is selected if it is no longer listed.
        listed
            .partition_point(|row| row.number < selected)
            .min(last)
    }

    /// Processes a key.
    pub(super) fn key(&mut self, key: KeyPress, book: &Book) -> Action {
        self.status = None;
        if key == KeyPress::Interrupt {
            return Action::Leave;
        }
        if self.prompt.is_some() {
            return self.typed(key, book);
        }
        match self.screen {
            Screen::List => self.list_key(key, book),
            Screen::Ladder => self.ladder_key(key, book),
            Screen::Message => self.message_key(key, book),
        }
    }

    fn typed(&mut self, key: KeyPress, book: &Book) -> Action {
        match (&mut self.prompt, key) {
            (Some(Prompt::Filter), KeyPress::Escape) => {
                self.filter.clear();
                self.prompt = None;
            }
            (Some(Prompt::Filter), KeyPress::Enter) | (Some(Prompt::Save(_)), KeyPress::Escape) => {
                self.prompt = None;
            }
            (Some(Prompt::Filter), KeyPress::Backspace) => {
                self.filter.pop();
            }
            (Some(Prompt::Filter), KeyPress::Char(character)) => {
                put(character, &mut self.filter);
            }
            (Some(Prompt::Filter), _) => self.walk(key, book),
            (Some(Prompt::Save(name)), KeyPress::Backspace) => {
                name.pop();
            }
            (Some(Prompt::Save(name)), KeyPress::Char(character)) => {
                put(character, name);
            }
            (Some(Prompt::Save(name)), KeyPress::Enter) if !name.is_empty() => {
                let path = PathBuf::from(std::mem::take(name));
                self.prompt = None;
                if let Some(number) = self.chosen(book) {
                    return Action::Save(number, path);
                }
            }
            _ => {}
        }
        Action::Nothing
    }

    /// The call that is open, or selected.
    fn chosen(&self, book: &Book) -> Option<u64> {
        if self.screen != Screen::List {
            return Some(self.open);
        }
        let listed = self.listed(book);
        listed.get(self.place(&listed)).map(|row| row.number)
    }

    fn list_key(&mut self, key: KeyPress, book: &Book) -> Action {
        match key {
            KeyPress::Char('q') => return Action::Leave,
            KeyPress::Escape if self.filter.is_empty() => return Action::Leave,
            KeyPress::Escape => self.filter.clear(),
            KeyPress::Char('/') => self.prompt = Some(Prompt::Filter),
            KeyPress::Char('a') => self.everything = !self.everything,
            KeyPress::Char('s') => self.ask_name(book),
            KeyPress::Enter => {
                if let Some(number) = self.chosen(book) {
                    self.open = number;
                    // The selected call keeps its place in the list.
                    self.selected = Some(number);
                    self.follows = false;
                    self.screen = Screen::Ladder;
                    (self.rung, self.ladder_top, self.left) = (0, 0, 0);
                }
            }
            _ => self.walk(key, book),
        }
        Action::Nothing
    }

    fn walk(&mut self, key: KeyPress, book: &Book) {
        let listed = self.listed(book);
        let last = listed.len().saturating_sub(1);
        let Some(place) = moved(key, self.place(&listed), last, self.room) else {
            return;
        };
        self.selected = listed.get(place).map(|row| row.number);
        self.follows = key == KeyPress::End || key == KeyPress::Char('G');
    }

    fn ladder_key(&mut self, key: KeyPress, book: &Book) -> Action {
        let Some(ladder) = book.row(self.open).map(CallRow::ladder) else {
            self.screen = Screen::List;
            return Action::Nothing;
        };
        let last = ladder.rungs().len().saturating_sub(1);
        match key {
            KeyPress::Char('q') | KeyPress::Escape => self.screen = Screen::List,
            KeyPress::Char('s') => self.ask_name(book),
            KeyPress::Left => self.left = self.left.saturating_sub(1),
            KeyPress::Right => {
                let right = ladder.columns().len().saturating_sub(1);
                self.left = self.left.saturating_add(1).min(right);
            }
            KeyPress::Enter if self.has_text(book, &ladder) => {
                self.screen = Screen::Message;
                self.text_top = 0;
            }
            KeyPress::Enter => self.status = Some(("a stream has no text".to_owned(), false)),
            _ => {
                if let Some(rung) = moved(key, self.rung, last, self.room) {
                    self.rung = rung;
                }
            }
        }
        Action::Nothing
    }

    fn message_key(&mut self, key: KeyPress, book: &Book) -> Action {
        match key {
            KeyPress::Char('q') | KeyPress::Escape => self.screen = Screen::Ladder,
            KeyPress::Char('s') => self.ask_name(book),
            KeyPress::Left | KeyPress::Char('p') => self.turn(book, false),
            KeyPress::Right | KeyPress::Char('n') => self.turn(book, true),
            _ => {
                let last = self.text_lines.saturating_sub(self.room);
                if let Some(top) = moved(key, self.text_top.min(last), last, self.room) {
                    self.text_top = top;
                }
            }
        }
        Action::Nothing
    }

    /// Moves to the next message with a text, or to the previous one.
    fn turn(&mut self, book: &Book, forward: bool) {
        let Some(ladder) = book.row(self.open).map(CallRow::ladder) else {
            self.screen = Screen::List;
            return;
        };
        let from = self.rung;
        loop {
            let next = match forward {
                true => self.rung.checked_add(1),
                false => self.rung.checked_sub(1),
            };
            match next.filter(|next| *next < ladder.rungs().len()) {
                Some(next) => self.rung = next,
                None => {
                    self.rung = from;
                    return;
                }
            }
            if self.has_text(book, &ladder) {
                self.text_top = 0;
                return;
            }
        }
    }

    fn has_text(&self, book: &Book, ladder: &Ladder) -> bool {
        let rung = ladder.rungs().get(self.rung);
        let entries = book
            .row(self.open)
            .map(CallRow::entries)
            .unwrap_or_default();
        rung.and_then(|rung| entries.get(rung.step))
            .is_some_and(|entry| entry.bytes.is_some())
    }

    fn ask_name(&mut self, book: &Book) {
        let row = self.chosen(book).and_then(|number| book.row(number));
        match row {
            Some(row) => self.prompt = Some(Prompt::Save(name_of(&row.call_id))),
            None => self.status = Some(("there is no call to save".to_owned(), true)),
        }
    }
}

/// The place that a key leads to among places up to `last`; `None` when the key does not move.
fn moved(key: KeyPress, place: usize, last: usize, room: usize) -> Option<usize> {
    let page = room.saturating_sub(1).max(1);
    let place = match key {
        KeyPress::Up | KeyPress::Char('k') => place.saturating_sub(1),
        KeyPress::Down | KeyPress::Char('j') => place.saturating_add(1),
        KeyPress::PageUp => place.saturating_sub(page),
        KeyPress::PageDown | KeyPress::Char(' ') => place.saturating_add(page),
        KeyPress::Home | KeyPress::Char('g') => 0,
        KeyPress::End | KeyPress::Char('G') => last,
        _ => return None,
    };
    Some(place.min(last))
}

/// The file name for the capture of a call, without characters that could lead to another folder.
fn name_of(call_id: &[u8]) -> String {
    let plain = call_id.iter().take(NAME_MAX).map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' => char::from(*byte),
        _ => '_',
    });
    format!("call-{}.pcap", plain.collect::<String>())
}

/// A character that was typed, as long as there is room for it.
fn put(character: char, text: &mut String) {
    if text.chars().count() < TYPED_MAX {
        text.push(character);
    }
}

const TYPED_MAX: usize = 256;
const NAME_MAX: usize = 40;

#[cfg(test)]
mod tests {
    use super::super::book::tests::{message, sample, send};
    use super::*;

    fn typed(view: &mut View, book: &Book, text: &str) -> Action {
        let mut action = Action::Nothing;
        for character in text.chars() {
            action = view.key(KeyPress::Char(character), book);
        }
        action
    }

    fn listed(view: &View, book: &Book) -> Vec<u64> {
        view.listed(book).iter().map(|row| row.number).collect()
    }

    #[test]
    fn the_selected_call_stays_selected_while_the_list_grows() {
        let mut book = sample();
        let mut view = View::new(true);
        assert_eq!(view.place(&view.listed(&book)), 2);
        view.key(KeyPress::Up, &book);
        assert_eq!((view.follows, view.selected), (false, Some(1)));
        let invite = "INVITE sip:bob@biloxi.example SIP/2.0";
        send(
            &mut book,
            70.0,
            1,
            2,
            &message(invite, "new", "eve", "1 INVITE"),
        );
        assert_eq!(view.place(&view.listed(&book)), 1);
        view.key(KeyPress::End, &book);
        assert_eq!(view.place(&view.listed(&book)), 3);
        send(
            &mut book,
            71.0,
            1,
            2,
            &message(invite, "newer", "eve", "1 INVITE"),
        );
        assert_eq!(view.place(&view.listed(&book)), 4);
    }

    #[test]
    fn typing_filters_and_escape_takes_it_back() {
        let book = sample();
        let mut view = View::new(false);
        assert_eq!(listed(&view, &book), [0, 1, 2]);
        typed(&mut view, &book, "a");
        assert_eq!(listed(&view, &book), [0, 1, 2, 3]);
        // Letters are text in the filter.
        typed(&mut view, &book, "/qs");
        assert_eq!(view.filter, "qs");
        view.key(KeyPress::Backspace, &book);
        view.key(KeyPress::Backspace, &book);
        typed(&mut view, &book, "ringing");
        assert_eq!(listed(&view, &book), [2]);
        view.key(KeyPress::Enter, &book);
        assert_eq!(view.prompt, None);
        assert_eq!(view.key(KeyPress::Escape, &book), Action::Nothing);
        assert_eq!(listed(&view, &book).len(), 4);
        assert_eq!(view.key(KeyPress::Escape, &book), Action::Leave);
        assert_eq!(view.key(KeyPress::Interrupt, &book), Action::Leave);
    }

    #[test]
    fn a_call_opens_a_message_opens_and_each_closes_again() {
        let book = sample();
        let mut view = View::new(false);
        view.key(KeyPress::Enter, &book);
        assert_eq!((view.screen, view.open), (Screen::Ladder, 0));
        view.key(KeyPress::Down, &book);
        view.key(KeyPress::Enter, &book);
        assert_eq!((view.screen, view.rung), (Screen::Message, 1));
        view.key(KeyPress::Right, &book);
        assert_eq!(view.rung, 2);
        typed(&mut view, &book, "q");
        assert_eq!(view.screen, Screen::Ladder);
        for _ in 0..9 {
            view.key(KeyPress::Down, &book);
        }
        assert_eq!(view.rung, 5);
        typed(&mut view, &book, "q");
        assert_eq!(view.screen, Screen::List);
        assert_eq!(typed(&mut view, &book, "q"), Action::Leave);
    }

    #[test]
    fn the_prompt_for_a_name_proposes_a_safe_one() {
        let book = sample();
        let mut view = View::new(false);
        typed(&mut view, &book, "s");
        assert_eq!(view.prompt, Some(Prompt::Save("call-one_pc33.pcap".into())));
        let name = PathBuf::from("call-one_pc33.pcap");
        assert_eq!(view.key(KeyPress::Enter, &book), Action::Save(0, name));
        assert_eq!(name_of(b"../../etc/x\x1b"), "call-.._.._etc_x_.pcap");
        typed(&mut view, &book, "s");
        assert_eq!(view.key(KeyPress::Escape, &book), Action::Nothing);
        assert_eq!(view.prompt, None);
    }

    #[test]
    fn no_key_leads_out_of_an_empty_list() {
        let book = Book::new(1 << 20);
        for follows in [false, true] {
            let mut view = View::new(follows);
            for key in [
                KeyPress::Enter,
                KeyPress::Up,
                KeyPress::Down,
                KeyPress::PageUp,
                KeyPress::PageDown,
                KeyPress::Home,
                KeyPress::End,
                KeyPress::Left,
                KeyPress::Right,
                KeyPress::Char('s'),
            ] {
                assert_eq!(view.key(key, &book), Action::Nothing);
            }
            assert_eq!((view.screen, view.prompt.take()), (Screen::List, None));
        }
    }
}
