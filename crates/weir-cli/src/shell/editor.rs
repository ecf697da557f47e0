//! Lines from the keyboard.

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use reedline::{
    ColumnarMenu, Completer, CompletionResult, EditCommand, Emacs, FileBackedHistory, KeyCode,
    KeyModifiers, MenuBuilder, Prompt, PromptEditMode, PromptHistorySearch,
    PromptHistorySearchStatus, Reedline, ReedlineEvent, ReedlineMenu, Signal, Span, Suggestion,
    ValidationResult, Validator, default_emacs_keybindings,
};

use super::catalog::Catalog;
use super::complete::complete;
use super::highlight::Colours;
use super::hint::Hints;
use super::input::{PendingLines, is_whole};
use super::places::Places;
use super::views::make_folder;
use super::work::Work;
use crate::args::Global;
use crate::message::Messages;
use weir_output::terminal_width;

/// Reads lines: with everything a terminal can do, or plainly.
pub(super) struct LineReader {
    editor: Option<Box<Reedline>>,
    messages: Messages,
}

impl LineReader {
    /// A reader that completes the names of a session.
    pub(super) fn new(
        work: &Work,
        places: &Places,
        history_max: usize,
        global: Global,
        messages: Messages,
    ) -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|name| name == "dumb");
        let editor = (!is_dumb).then(|| {
            let catalog = Catalog::new(work.session(), work.known());
            let history = places.history.as_deref().filter(|_| history_max > 0);
            Box::new(editor(&catalog, history, history_max, global, messages))
        });
        Self { editor, messages }
    }

    /// The next input, which may have several lines; `None` at the end.
    pub(super) fn next_line(&mut self, input: &mut PendingLines) -> Option<String> {
        while let Some(editor) = &mut self.editor {
            match editor.read_line(&Marks) {
                Ok(Signal::Success(text)) => return Some(text),
                Ok(Signal::CtrlD) => return None,
                Ok(_) => input.clear(),
                Err(error) => {
                    self.messages
                        .note(&format!("line editing is not available: {error}"));
                    self.editor = None;
                }
            }
        }
        plain(input)
    }

    /// Writes the history to its file.
    pub(super) fn keep(&mut self) {
        if let Some(editor) = &mut self.editor
            && let Err(error) = editor.sync_history()
        {
            self.messages
                .warning(&format!("the history is not saved: {error}"));
        }
    }
}

/// Reads a line without editing, on a terminal without cursor control.
fn plain(input: &PendingLines) -> Option<String> {
    let mark = match input.is_waiting() {
        true => CONTINUES,
        false => MARK,
    };
    let mut line = String::new();
    // A terminal that cannot be written to shows no mark.
    let _ = io::stderr().write_all(mark.as_bytes());
    match io::stdin().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}

fn editor(
    catalog: &Catalog,
    history: Option<&Path>,
    history_max: usize,
    global: Global,
    messages: Messages,
) -> Reedline {
    let mut keys = default_emacs_keybindings();
    keys.add_binding(
        KeyModifiers::NONE,
        KeyCode::Tab,
        ReedlineEvent::UntilFound(vec![
            ReedlineEvent::Menu(MENU.to_owned()),
            ReedlineEvent::MenuNext,
        ]),
    );
    keys.add_binding(
        KeyModifiers::SHIFT,
        KeyCode::BackTab,
        ReedlineEvent::MenuPrevious,
    );
    keys.add_binding(
        KeyModifiers::ALT,
        KeyCode::Enter,
        ReedlineEvent::Edit(vec![EditCommand::InsertNewline]),
    );
    let menu = ColumnarMenu::default()
        .with_name(MENU)
        // A line each: the meaning stands beside.
        .with_columns(1);
    let has_colour = global.color.applies(true);
    let columns = terminal_width().unwrap_or(80);
    let editor = Reedline::create()
        .with_edit_mode(Box::new(Emacs::new(keys)))
        .with_completer(Box::new(NameCompleter(catalog.clone())))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_partial_completions(true)
        .with_quick_completions(true)
        .with_validator(Box::new(Wholes))
        .with_hinter(Box::new(Hints::new(catalog.clone(), columns)))
        .with_ansi_colors(has_colour)
        .use_bracketed_paste(true)
        // A line that begins with a blank stays out of the history, as in other shells.
        .with_history_exclusion_prefix(Some(" ".to_owned()));
    let editor = match has_colour {
        true => editor.with_highlighter(Box::new(Colours)),
        false => editor,
    };
    let history = history.map(|path| kept(path, history_max));
    match history {
        Some(Ok(history)) => editor.with_history(Box::new(history)),
        Some(Err(error)) => {
            messages.warning(&format!("the history is not saved: {error}"));
            editor
        }
        None => editor,
    }
}

/// The history in a file that only its user can read: statements may name confidential things.
fn kept(path: &Path, lines: usize) -> io::Result<FileBackedHistory> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    drop(file);
    FileBackedHistory::with_file(lines, path.to_owned()).map_err(io::Error::from)
}

/// Completes names.
struct NameCompleter(Catalog);

impl Completer for NameCompleter {
    fn complete(&mut self, line: &str, place: usize) -> CompletionResult {
        let found = complete(line, place, &self.0).into_iter();
        let suggestions = found.map(|candidate| Suggestion {
            description: (!candidate.meaning.is_empty()).then_some(candidate.meaning),
            span: Span::new(candidate.range.start, candidate.range.end),
            append_whitespace: false,
            value: candidate.value,
            ..Suggestion::default()
        });
        CompletionResult::fresh(suggestions.collect::<Vec<_>>())
    }
}

/// Decides whether Enter ends the input.
struct Wholes;

impl Validator for Wholes {
    fn validate(&self, line: &str) -> ValidationResult {
        match is_whole(line) {
            true => ValidationResult::Complete,
            false => ValidationResult::Incomplete,
        }
    }
}

/// The prompts before lines.
struct Marks;

impl Prompt for Marks {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(MARK.trim_end_matches("> "))
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("> ")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed(CONTINUES)
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let failing = match search.status {
            PromptHistorySearchStatus::Passing => "",
            PromptHistorySearchStatus::Failing => "not ",
        };
        Cow::Owned(format!(" ({failing}found: {}) ", search.term))
    }
}

/// The prompt.
const MARK: &str = "weir> ";

/// The prompt of a continuation line.
const CONTINUES: &str = "   -> ";

const MENU: &str = "names";
