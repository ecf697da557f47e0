//! Cursors: `DECLARE name CURSOR FOR query`, `FETCH`, `MOVE` and `CLOSE`, by which psql (`FETCH_COUNT`), psycopg's named
//! cursors and ODBC read long answers piece by piece.
//!
//! A cursor goes forward only and ends with its transaction, unless it is declared WITH HOLD. Its query begins with the
//! first FETCH.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pgwire::api::portal::{Format, Portal};
use pgwire::api::results::{FieldInfo, QueryResponse};
use pgwire::error::{ErrorInfo, PgWireError};
use weir_engine::{Token, TokenKind, tokens};

use super::encode::format_of;
use super::prepare::Prepared;
use crate::error::{Failure, FailureKind};

/// A statement about cursors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CursorStatement {
    Declare(Declared),
    Fetch(Fetched),
    /// The one of this name, or all.
    Close(Option<String>),
}

/// `DECLARE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    pub(super) name: String,
    pub(super) query: String,
    pub(super) is_binary: bool,
    /// The cursor outlives its transaction (WITH HOLD).
    pub(super) is_held: bool,
}

/// `FETCH` or `MOVE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fetched {
    pub(super) name: String,
    /// The number of rows; `None` for all that are left.
    pub(super) count: Option<usize>,
    /// The rows are skipped (MOVE).
    pub(super) is_move: bool,
}

/// Reads a statement about cursors; `None` when the text is another statement.
pub(super) fn parsed(sql: &str) -> Option<Result<CursorStatement, Failure>> {
    let first = sql.trim_start().get(..7).unwrap_or(sql.trim_start());
    let first = first.to_ascii_lowercase();
    // Most texts are other statements, and need not be taken apart. A comment may stand in front.
    let mut beginnings = ABOUT.iter().chain(&["--", "/*"]);
    if !beginnings.any(|word| first.starts_with(word)) {
        return None;
    }
    let mut words = Words::new(sql);
    let read = match words.next_plain().as_str() {
        "declare" => declared(sql, &mut words).map(CursorStatement::Declare),
        "fetch" => fetched(&mut words, false).map(CursorStatement::Fetch),
        "move" => fetched(&mut words, true).map(CursorStatement::Fetch),
        "close" => closed(&mut words).map(CursorStatement::Close),
        _ => return None,
    };
    Some(read)
}

/// Whether some statement of a text may be about cursors.
pub(super) fn may_be_of_cursors(sql: &str) -> bool {
    let sql = sql.to_ascii_lowercase();
    ABOUT.iter().any(|word| sql.contains(word))
}

fn declared(sql: &str, words: &mut Words<'_>) -> Result<Declared, Failure> {
    let name = words.name()?;
    let (mut is_binary, mut is_held, mut is_cursor) = (false, false, false);
    loop {
        match words.next_plain().as_str() {
            "for" => break,
            "binary" => is_binary = true,
            "cursor" => is_cursor = true,
            "asensitive" | "insensitive" | "without" => {}
            // WITHOUT HOLD is what is meant without a word.
            "with" => is_held = true,
            "hold" => {}
            "no" => {
                words.expect("scroll")?;
            }
            "scroll" => {
                return Err(forward_only().with_hint("write NO SCROLL, or leave SCROLL out"));
            }
            _ => return Err(misread("DECLARE name CURSOR [WITH HOLD] FOR SELECT …")),
        }
    }
    let query = sql.get(words.end..).unwrap_or_default().trim();
    // A cursor is declared for a query. Declarations within declarations would be parsed to any depth that a client
    // likes.
    if ABOUT.contains(&words.peek_plain().as_str()) {
        return Err(misread("DECLARE name CURSOR [WITH HOLD] FOR SELECT …"));
    }
    match is_cursor && !query.is_empty() {
        true => Ok(Declared {
            name,
            query: query.to_owned(),
            is_binary,
            is_held,
        }),
        false => Err(misread("DECLARE name CURSOR [WITH HOLD] FOR SELECT …")),
    }
}

fn fetched(words: &mut Words<'_>, is_move: bool) -> Result<Fetched, Failure> {
    let form = "FETCH [FORWARD] [number | ALL] FROM name";
    let mut count = Some(1);
    let begins = words.peek_plain();
    match begins.as_str() {
        "next" => drop(words.next_plain()),
        "prior" | "first" | "last" | "absolute" | "relative" | "backward" => {
            return Err(forward_only().with_hint(form));
        }
        "forward" => drop(words.next_plain()),
        _ => {}
    }
    let number = words.peek_plain();
    match number.as_str() {
        "all" => {
            words.next_plain();
            count = None;
        }
        "-" => return Err(forward_only().with_hint(form)),
        digits if digits.starts_with(|first: char| first.is_ascii_digit()) => {
            words.next_plain();
            let digits = digits.parse().map_err(|_| misread(form))?;
            count = Some(digits);
        }
        _ => {}
    }
    if ["from", "in"].contains(&words.peek_plain().as_str()) {
        words.next_plain();
    }
    let name = words.name()?;
    words.finish(form)?;
    Ok(Fetched {
        name,
        count,
        is_move,
    })
}

fn closed(words: &mut Words<'_>) -> Result<Option<String>, Failure> {
    if words.peek_plain() == "all" {
        words.next_plain();
        words.finish("CLOSE ALL")?;
        return Ok(None);
    }
    let name = words.name()?;
    words.finish("CLOSE name")?;
    Ok(Some(name))
}

fn misread(form: &str) -> Failure {
    Failure::new(
        FailureKind::Syntax,
        "syntax error in a statement about cursors",
    )
    .with_hint(form)
}

fn forward_only() -> Failure {
    Failure::new(FailureKind::Refused, "cursor can only scan forward")
}

/// The words of a statement, one after the other, without comments.
struct Words<'s> {
    sql: &'s str,
    rest: std::vec::IntoIter<Token>,
    /// The end of the last word.
    end: usize,
}

impl<'s> Words<'s> {
    fn new(sql: &'s str) -> Self {
        let words = tokens(sql).into_iter();
        let words =
            words.filter(|token| !matches!(token.kind, TokenKind::Comment | TokenKind::Semicolon));
        Self {
            sql,
            rest: words.collect::<Vec<_>>().into_iter(),
            end: 0,
        }
    }

    fn take(&mut self) -> Option<(TokenKind, &'s str)> {
        let token = self.rest.next()?;
        self.end = token.range.end;
        Some((token.kind, self.sql.get(token.range)?))
    }

    /// The next word in lower case; empty for a quoted one.
    fn next_plain(&mut self) -> String {
        match self.take() {
            Some((TokenKind::Quoted | TokenKind::Text, _)) | None => String::new(),
            Some((_, word)) => word.to_ascii_lowercase(),
        }
    }

    fn peek_plain(&self) -> String {
        let token = self.rest.as_slice().first();
        match token {
            Some(token) if !matches!(token.kind, TokenKind::Quoted | TokenKind::Text) => {
                let word = self.sql.get(token.range.clone());
                word.unwrap_or_default().to_ascii_lowercase()
            }
            _ => String::new(),
        }
    }

    fn expect(&mut self, word: &str) -> Result<(), Failure> {
        match self.next_plain() == word {
            true => Ok(()),
            false => Err(misread(&word.to_ascii_uppercase())),
        }
    }

    /// A name as PostgreSQL takes it: in small letters, unless it is in double quotes.
    fn name(&mut self) -> Result<String, Failure> {
        match self.take() {
            Some((TokenKind::Name | TokenKind::Keyword, word)) => Ok(word.to_ascii_lowercase()),
            Some((TokenKind::Quoted, word)) => {
                let inner = word.get(1..word.len() - 1).unwrap_or_default();
                Ok(inner.replace("\"\"", "\""))
            }
            _ => Err(misread("the name of a cursor")),
        }
    }

    fn finish(&mut self, form: &str) -> Result<(), Failure> {
        match self.take() {
            None => Ok(()),
            Some(_) => Err(misread(form)),
        }
    }
}

/// A cursor of a connection.
pub(super) struct Cursor {
    /// The query with the values of its parameters.
    pub(super) portal: Portal<Prepared>,
    pub(super) is_binary: bool,
    pub(super) is_held: bool,
    pub(super) rows: CursorRows,
}

/// The state of a cursor.
pub(super) enum CursorRows {
    NotStarted,
    /// The first FETCH has determined the format of its rows.
    Started(QueryResponse),
    Finished,
}

impl Cursor {
    /// The columns of its rows.
    pub(super) fn fields(&self) -> Arc<Vec<FieldInfo>> {
        Arc::clone(self.portal.statement.statement.fields())
    }

    /// Says which format the rows of a FETCH come in.
    ///
    /// # Errors
    /// When rows that come in another one have begun.
    pub(super) fn set_format(&mut self, wanted: &Format) -> Result<(), Failure> {
        let wanted = match self.is_binary {
            true => Format::UnifiedBinary,
            false => wanted.clone(),
        };
        if let CursorRows::Started(rows) = &self.rows {
            let columns = rows.row_schema.iter().enumerate();
            let mut columns = columns.map(|(index, field)| (field.format(), index));
            return match columns.all(|(format, index)| format == format_of(&wanted, index)) {
                true => Ok(()),
                false => Err(Failure::new(
                    FailureKind::Plan,
                    "all rows of a cursor have the format of its first FETCH, text or binary",
                )),
            };
        }
        self.portal.result_column_format = wanted;
        Ok(())
    }
}

/// The cursors of a connection.
#[derive(Clone, Default)]
pub(super) struct Cursors(Arc<Mutex<HashMap<String, Cursor>>>);

impl Cursors {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Cursor>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a new cursor.
    ///
    /// # Errors
    /// When there is one of this name, or there are too many.
    pub(super) fn add(&self, name: &str, cursor: Cursor) -> Result<(), PgWireError> {
        let mut all = self.lock();
        if all.contains_key(name) {
            return Err(exists(name));
        }
        if name.len() > NAME_BYTES_MAX {
            let message = format!("the name of a cursor has {NAME_BYTES_MAX} bytes at most");
            return Err(error("42622", message));
        }
        if all.len() >= CURSORS_MAX {
            let message = format!("a connection has {CURSORS_MAX} cursors at most");
            return Err(error("54000", message));
        }
        all.insert(name.to_owned(), cursor);
        Ok(())
    }

    /// Whether there is a cursor of this name.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.lock().contains_key(name)
    }

    /// Removes a cursor, to be put back when its rows have been fetched: a failed or cancelled cursor is gone.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn take(&self, name: &str) -> Result<Cursor, PgWireError> {
        self.lock().remove(name).ok_or_else(|| absent(name))
    }

    pub(super) fn put_back(&self, name: &str, cursor: Cursor) {
        self.lock().insert(name.to_owned(), cursor);
    }

    /// The columns of a cursor.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn fields(&self, name: &str) -> Result<Arc<Vec<FieldInfo>>, PgWireError> {
        let all = self.lock();
        let cursor = all.get(name).ok_or_else(|| absent(name))?;
        Ok(cursor.fields())
    }

    /// Ends one, or all.
    ///
    /// # Errors
    /// When there is none of this name.
    pub(super) fn close(&self, name: Option<&str>) -> Result<(), PgWireError> {
        match name {
            Some(name) => drop(self.take(name)?),
            None => self.lock().clear(),
        }
        Ok(())
    }

    /// A transaction has ended.
    pub(super) fn end_transaction(&self) {
        self.lock().retain(|_, cursor| cursor.is_held);
    }
}

/// The error of a cursor or a portal with a name that is in use.
pub(super) fn exists(name: &str) -> PgWireError {
    error("42P03", format!("cursor \"{name}\" already exists"))
}

/// The error of a cursor that would end with the statement that declares it.
pub(super) fn outside_of_transactions() -> PgWireError {
    let message = "DECLARE CURSOR can only be used in transaction blocks".to_owned();
    let mut info = ErrorInfo::new("ERROR".to_owned(), "25P01".to_owned(), message);
    info.hint = Some("begin a transaction, or declare the cursor WITH HOLD".to_owned());
    PgWireError::UserError(Box::new(info))
}

fn absent(name: &str) -> PgWireError {
    error("34000", format!("cursor \"{name}\" does not exist"))
}

fn error(code: &str, message: String) -> PgWireError {
    let info = ErrorInfo::new("ERROR".to_owned(), code.to_owned(), message);
    PgWireError::UserError(Box::new(info))
}

/// The first words of statements about cursors.
const ABOUT: [&str; 4] = ["declare", "fetch", "move", "close"];
/// Each that has begun holds a place among the queries that run at once.
const CURSORS_MAX: usize = 16;
/// Bytes of the name of a cursor, as many as PostgreSQL's identifiers have.
const NAME_BYTES_MAX: usize = 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_about_cursors_are_read() {
        let declared = |name: &str, query: &str, is_binary, is_held| {
            let (name, query) = (name.to_owned(), query.to_owned());
            CursorStatement::Declare(Declared {
                name,
                query,
                is_binary,
                is_held,
            })
        };
        let fetched = |name: &str, count, is_move| {
            let name = name.to_owned();
            CursorStatement::Fetch(Fetched {
                name,
                count,
                is_move,
            })
        };
        for (sql, expected) in [
            (
                "DECLARE _psql_cursor NO SCROLL CURSOR FOR\nSELECT 1",
                declared("_psql_cursor", "SELECT 1", false, false),
            ),
            (
                "declare \"For you\" binary cursor with hold for FROM 'x.pcap' |> LIMIT 1;",
                declared("For you", "FROM 'x.pcap' |> LIMIT 1;", true, true),
            ),
            (
                "/* c */ DECLARE C CURSOR WITHOUT HOLD FOR SELECT 'for'",
                declared("c", "SELECT 'for'", false, false),
            ),
            (
                "FETCH FORWARD 1000 FROM _psql_cursor",
                fetched("_psql_cursor", Some(1000), false),
            ),
            ("FETCH FORWARD ALL FROM \"C\"", fetched("C", None, false)),
            ("fetch c", fetched("c", Some(1), false)),
            ("FETCH NEXT IN c;", fetched("c", Some(1), false)),
            ("FETCH all in c", fetched("c", None, false)),
            ("MOVE 5 FROM c", fetched("c", Some(5), true)),
            ("CLOSE c", CursorStatement::Close(Some("c".to_owned()))),
            ("CLOSE ALL", CursorStatement::Close(None)),
        ] {
            assert_eq!(parsed(sql).unwrap().unwrap(), expected, "{sql}");
        }
        for wrong in [
            "DECLARE c SCROLL CURSOR FOR SELECT 1",
            "DECLARE c CURSOR FOR",
            "DECLARE c FOR SELECT 1",
            "DECLARE 'c' CURSOR FOR SELECT 1",
            "DECLARE c CURSOR FOR DECLARE d CURSOR FOR SELECT 1",
            "DECLARE c CURSOR FOR /* d */ Fetch d",
            "DECLARE c CURSOR FOR CLOSE ALL",
            "FETCH PRIOR FROM c",
            "FETCH -1 FROM c",
            "FETCH 99999999999999999999999 FROM c",
            "FETCH 1 FROM c d",
            "CLOSE",
        ] {
            assert!(parsed(wrong).unwrap().is_err(), "{wrong}");
        }
        for other in ["SELECT 1", "", "-- declare\nSELECT 1", "closed", "é"] {
            assert!(parsed(other).is_none(), "{other}");
        }
    }
}
