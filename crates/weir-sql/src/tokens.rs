//! The words of a text of SQL, and the ends of its statements.
//!
//! For programs that show or complete statements while they are written: the text is cut as the parser cuts it, and
//! need not be whole.

use std::ops::Range;

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{
    Location, Token as SqlToken, TokenWithSpan, Tokenizer, Whitespace,
};

use crate::dialect::WeirDialect;

/// A word of SQL, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The range of its bytes in the text.
    pub range: Range<usize>,
    /// The kind.
    pub kind: TokenKind,
}

/// The kind of a word of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TokenKind {
    /// A word that means something to SQL in some place; it may be a name in another.
    Keyword,
    /// A name, with the dots in it: `ip.src`.
    Name,
    /// A name in double quotes.
    Quoted,
    /// A text in single quotes.
    Text,
    /// A number.
    Number,
    /// A comment.
    Comment,
    /// The end of a statement.
    Semicolon,
    /// A comma, a bracket, an operator.
    Symbol,
    /// A text, a name or a comment that has no end yet.
    Unfinished,
    /// The beginning is that of no word.
    Unknown,
}

/// The words of a text in their order; what is between them is white space.
#[must_use]
pub fn tokens(sql: &str) -> Vec<Token> {
    let mut found: Vec<TokenWithSpan> = Vec::new();
    let outcome = Tokenizer::new(&WeirDialect, sql).tokenize_with_location_into_buf(&mut found);
    let mut places = BytePositions::new(sql);
    let mut tokens: Vec<Token> = Vec::with_capacity(found.len());
    let mut end = 0;
    for TokenWithSpan { token, span } in &found {
        let range = places.byte(span.start)..places.byte(span.end);
        end = range.end;
        let kind = match token {
            SqlToken::Whitespace(
                Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_),
            ) => TokenKind::Comment,
            SqlToken::Whitespace(_) | SqlToken::EOF => continue,
            SqlToken::SemiColon => TokenKind::Semicolon,
            SqlToken::Number(..) => TokenKind::Number,
            SqlToken::Word(word) => match (word.quote_style, word.keyword) {
                (Some(_), _) => TokenKind::Quoted,
                (None, Keyword::NoKeyword) => TokenKind::Name,
                (None, _) => TokenKind::Keyword,
            },
            _ => match sql.get(range.clone()).map(ends_quoted) {
                Some(true) => TokenKind::Text,
                _ => TokenKind::Symbol,
            },
        };
        push(&mut tokens, sql, Token { range, kind });
    }
    if let Err(error) = outcome {
        let rest = sql.get(end..).unwrap_or_default();
        let start = end + (rest.len() - rest.trim_start().len());
        // The missing character is only in the text of the tokenizer's messages.
        let message = error.to_string();
        let lacks_end = ["Unterminated", "EOF"];
        let kind = match lacks_end.iter().any(|words| message.contains(words)) {
            true => TokenKind::Unfinished,
            false => TokenKind::Unknown,
        };
        let range = start..sql.len();
        tokens.push(Token { range, kind });
    }
    tokens
}

/// The statements of a text, each without the semicolon after it, and whether the last one has one. A text of comments only has no
/// statement.
#[must_use]
pub fn statements(sql: &str) -> (Vec<Range<usize>>, bool) {
    let mut statements = Vec::new();
    let (mut start, mut has_words, mut is_ended) = (0, false, true);
    for token in tokens(sql) {
        match token.kind {
            TokenKind::Semicolon => {
                if has_words {
                    statements.push(start..token.range.start);
                }
                (start, has_words, is_ended) = (token.range.end, false, true);
            }
            TokenKind::Comment => {}
            // A text that cannot be read is complete: the parser reports the error.
            TokenKind::Unknown => {
                has_words = true;
                is_ended = sql.trim_end().ends_with(';');
            }
            // A text that is only the beginning of a comment needs its end, too.
            _ => (has_words, is_ended) = (true, false),
        }
    }
    if has_words {
        statements.push(start..sql.len());
    }
    (statements, is_ended)
}

/// Adds a word; those that dots join are one name.
fn push(tokens: &mut Vec<Token>, sql: &str, token: Token) {
    let joins = |last: &Token| {
        let is_word = |kind| matches!(kind, TokenKind::Name | TokenKind::Keyword);
        let text = |range: &Range<usize>| sql.get(range.clone()).unwrap_or_default();
        last.range.end == token.range.start
            && is_word(last.kind)
            && (text(&token.range) == "."
                || text(&last.range).ends_with('.')
                    && (is_word(token.kind) || token.kind == TokenKind::Number))
    };
    match tokens.last_mut().filter(|last| joins(last)) {
        Some(last) => {
            last.range.end = token.range.end;
            last.kind = TokenKind::Name;
        }
        None => tokens.push(token),
    }
}

/// Whether a text ends with a quoted string or bytes.
fn ends_quoted(text: &str) -> bool {
    text.len() > 1 && text.ends_with(['\'', '$']) && text.contains(['\'', '$'])
}

/// Finds bytes by lines and columns that never go back.
struct BytePositions<'t> {
    characters: std::iter::Peekable<std::str::CharIndices<'t>>,
    line: u64,
    column: u64,
    len: usize,
}

impl<'t> BytePositions<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            characters: text.char_indices().peekable(),
            line: 1,
            column: 1,
            len: text.len(),
        }
    }

    fn byte(&mut self, place: Location) -> usize {
        while (self.line, self.column) < (place.line, place.column) {
            match self.characters.next() {
                Some((_, '\n')) => (self.line, self.column) = (self.line + 1, 1),
                Some(_) => self.column += 1,
                None => return self.len,
            }
        }
        self.characters.peek().map_or(self.len, |(byte, _)| *byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(sql: &str) -> Vec<(&str, TokenKind)> {
        let tokens = tokens(sql).into_iter();
        tokens
            .map(|token| (sql.get(token.range).unwrap(), token.kind))
            .collect()
    }

    #[test]
    fn words_are_what_the_parser_takes_them_for() {
        use TokenKind::{
            Comment, Keyword, Name, Number, Quoted, Semicolon, Symbol, Text, Unfinished,
        };
        for (sql, expected) in [
            (
                "SELECT ip.src, \"a b\" FROM 'é日.pcap' p;",
                vec![
                    ("SELECT", Keyword),
                    ("ip.src", Name),
                    (",", Symbol),
                    ("\"a b\"", Quoted),
                    ("FROM", Keyword),
                    ("'é日.pcap'", Text),
                    ("p", Name),
                    (";", Semicolon),
                ],
            ),
            (
                "-- a ' b\n1.5 + frame.time.",
                vec![
                    ("-- a ' b\n", Comment),
                    ("1.5", Number),
                    ("+", Symbol),
                    ("frame.time.", Name),
                ],
            ),
            (
                "WHERE x = 'a;\nb",
                vec![
                    ("WHERE", Keyword),
                    ("x", Name),
                    ("=", Symbol),
                    ("'a;\nb", Unfinished),
                ],
            ),
            ("/* a ; b", vec![("/* a ; b", Unfinished)]),
        ] {
            assert_eq!(words(sql), expected, "{sql}");
        }
    }

    #[test]
    fn statements_end_at_semicolons_that_stand_alone() {
        for (sql, expected, is_ended) in [
            ("SELECT 1;", vec!["SELECT 1"], true),
            (
                "SELECT 1; SELECT ';' -- ;\n",
                vec!["SELECT 1", " SELECT ';' -- ;\n"],
                false,
            ),
            ("SELECT 'a;", vec!["SELECT 'a;"], false),
            ("SELECT \"a;", vec!["SELECT \"a;"], false),
            ("SELECT /* ; */ 1", vec!["SELECT /* ; */ 1"], false),
            ("-- nothing", vec![], true),
            ("/* not yet ;", vec!["/* not yet ;"], false),
            (" ;; ", vec![], true),
            ("", vec![], true),
        ] {
            let (found, ended) = statements(sql);
            let found: Vec<&str> = found.into_iter().map(|range| &sql[range]).collect();
            assert_eq!((found, ended), (expected, is_ended), "{sql}");
        }
    }

    #[test]
    fn every_beginning_of_a_text_has_words() {
        let sql = "SELECT 'é', $$x$$, E'\\'', x'1f' /* 日 */ FROM \"t\" -- é\n;";
        for (end, _) in sql.char_indices() {
            let text = &sql[..end];
            for token in tokens(text) {
                assert!(text.get(token.range.clone()).is_some(), "{text}: {token:?}");
            }
            let _ = statements(text);
        }
    }
}
