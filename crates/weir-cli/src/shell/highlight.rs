//! The colours of the statement at the prompt.

use std::ops::Range;

use reedline::{Color, Highlighter, StyledText};
use weir_engine::{TokenKind, tokens};

use super::complete::KEYWORDS;
use super::input::is_command;

/// The part of a statement that has one colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HighlightPart {
    Plain,
    Keyword,
    Function,
    Text,
    Number,
    Comment,
    Command,
}

/// The parts of a text, which together are all of it.
pub(super) fn parts(text: &str) -> Vec<(Range<usize>, HighlightPart)> {
    if is_command(text) {
        let end = text.trim_start().find(char::is_whitespace);
        let end = end.map_or(text.len(), |end| text.len() - text.trim_start().len() + end);
        return vec![
            (0..end, HighlightPart::Command),
            (end..text.len(), HighlightPart::Plain),
        ];
    }
    let mut parts = Vec::new();
    let mut end = 0;
    let tokens = tokens(text);
    for (at, token) in tokens.iter().enumerate() {
        let word = text.get(token.range.clone()).unwrap_or_default();
        let behind = tokens
            .get(at + 1)
            .and_then(|next| text.get(next.range.clone()));
        let is_keyword = || KEYWORDS.contains(&word.to_ascii_uppercase().as_str());
        let part = match token.kind {
            TokenKind::Keyword if is_keyword() => HighlightPart::Keyword,
            TokenKind::Keyword | TokenKind::Name if behind == Some("(") => HighlightPart::Function,
            TokenKind::Text => HighlightPart::Text,
            TokenKind::Number => HighlightPart::Number,
            TokenKind::Comment => HighlightPart::Comment,
            TokenKind::Unfinished if word.starts_with("/*") => HighlightPart::Comment,
            TokenKind::Unfinished => HighlightPart::Text,
            _ => HighlightPart::Plain,
        };
        if token.range.start > end {
            parts.push((end..token.range.start, HighlightPart::Plain));
        }
        end = token.range.end;
        parts.push((token.range.clone(), part));
    }
    if end < text.len() {
        parts.push((end..text.len(), HighlightPart::Plain));
    }
    parts
}

/// Colours statements.
pub(super) struct Colours;

impl Highlighter for Colours {
    fn highlight(&self, line: &str, _cursor: usize) -> StyledText {
        let mut styled = StyledText::new();
        for (range, part) in parts(line) {
            let style = match part {
                HighlightPart::Plain => Color::Default.normal(),
                HighlightPart::Keyword => Color::Blue.bold(),
                HighlightPart::Function => Color::Cyan.normal(),
                HighlightPart::Text => Color::Green.normal(),
                HighlightPart::Number => Color::Magenta.normal(),
                HighlightPart::Comment => Color::DarkGray.italic(),
                HighlightPart::Command => Color::Yellow.bold(),
            };
            let text = line.get(range).unwrap_or_default();
            styled.push((style, text.to_owned()));
        }
        styled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_the_whole_text() {
        for text in [
            "SELECT count(*), 'é日' -- x\n FROM 'a' WHERE x = 1.5;  ",
            " .mode csv",
            "SELECT 'not yet",
            "",
        ] {
            let joined: String = parts(text)
                .iter()
                .map(|(range, _)| &text[range.clone()])
                .collect();
            assert_eq!(joined, text);
        }
        let text = "SELECT count(*) FROM 'a' LIMIT 5";
        let named: Vec<(&str, HighlightPart)> = parts(text)
            .into_iter()
            .map(|(range, part)| (&text[range], part))
            .filter(|(_, part)| *part != HighlightPart::Plain)
            .collect();
        assert_eq!(
            named,
            [
                ("SELECT", HighlightPart::Keyword),
                ("count", HighlightPart::Function),
                ("FROM", HighlightPart::Keyword),
                ("'a'", HighlightPart::Text),
                ("LIMIT", HighlightPart::Keyword),
                ("5", HighlightPart::Number),
            ]
        );
    }
}
