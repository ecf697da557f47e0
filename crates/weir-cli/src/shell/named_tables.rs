//! The tables that a statement names, also while it is being written.

use weir_engine::{Token, TokenKind, tokens};

/// A table that a statement names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableUse {
    pub(super) origin: TableOrigin,
    pub(super) alias: Option<String>,
    /// The table as the statement writes it.
    pub(super) text: String,
}

/// The origin of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TableOrigin {
    /// A file, or several.
    File(String),
    /// A function that gives rows, in lower case.
    Call(String),
    /// A name alone, in lower case.
    Name(String),
    /// A table that the statement defines itself.
    Other,
}

impl TableUse {
    /// The name of a table that is a name alone.
    pub(super) fn plain_name(&self) -> Option<&str> {
        match &self.origin {
            TableOrigin::Name(name) => Some(name),
            _ => None,
        }
    }

    /// Whether this name in front of a column means the table.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let own = || match &self.origin {
            TableOrigin::Name(name) | TableOrigin::Call(name) => Some(name.as_str()),
            _ => None,
        };
        let called = self.alias.as_deref().or_else(own);
        called.is_some_and(|called| called.eq_ignore_ascii_case(name))
    }
}

/// The tables that an unfinished statement names so far.
pub(super) fn tables_of(sql: &str) -> Vec<TableUse> {
    let all = tokens(sql);
    let words = StatementWords { sql, tokens: &all };
    let mut tables = Vec::new();
    let mut at = 0;
    while at < all.len() {
        let begins = FROM.contains(&words.upper(at).as_str()) && words.is_word(at);
        at += 1;
        if begins {
            at = words.list(at, &mut tables);
        }
    }
    // Names of WITH are the statement's own.
    let own: Vec<String> = (0..all.len())
        .filter(|at| words.upper(at + 1) == "AS" && words.text(at + 2) == "(")
        .map(|at| words.name(at))
        .collect();
    for table in &mut tables {
        if table
            .plain_name()
            .is_some_and(|name| own.iter().any(|own| own == name))
        {
            table.origin = TableOrigin::Other;
        }
    }
    tables
}

/// The words of a statement.
pub(super) struct StatementWords<'t> {
    pub(super) sql: &'t str,
    pub(super) tokens: &'t [Token],
}

impl StatementWords<'_> {
    pub(super) fn text(&self, at: usize) -> &str {
        let token = self.tokens.get(at);
        token.map_or("", |token| self.sql.get(token.range.clone()).unwrap_or(""))
    }

    pub(super) fn upper(&self, at: usize) -> String {
        self.text(at).to_ascii_uppercase()
    }

    pub(super) fn name(&self, at: usize) -> String {
        match self.kind(at) {
            Some(TokenKind::Quoted) => self.text(at).trim_matches('"').replace("\"\"", "\""),
            _ => self.text(at).to_ascii_lowercase(),
        }
    }

    fn kind(&self, at: usize) -> Option<TokenKind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    pub(super) fn is_word(&self, at: usize) -> bool {
        matches!(self.kind(at), Some(TokenKind::Name | TokenKind::Keyword))
    }

    /// Adds the tables of a list that begins here, and returns the place after it.
    fn list(&self, mut at: usize, tables: &mut Vec<TableUse>) -> usize {
        loop {
            let start = at;
            let Some(origin) = self.table(&mut at) else {
                return at;
            };
            let bytes = |at: usize| self.tokens.get(at).map(|token| token.range.clone());
            let text = match (bytes(start), bytes(at.saturating_sub(1))) {
                (Some(first), Some(last)) => self.sql.get(first.start..last.end),
                _ => None,
            };
            let text = text.unwrap_or_default().to_owned();
            at += usize::from(self.upper(at) == "AS");
            let is_alias = match self.kind(at) {
                Some(TokenKind::Quoted | TokenKind::Name) => true,
                Some(TokenKind::Keyword) => !BEHIND.contains(&self.upper(at).as_str()),
                _ => false,
            };
            let alias = is_alias.then(|| self.name(at));
            at += usize::from(is_alias);
            tables.push(TableUse {
                origin,
                alias,
                text,
            });
            if self.text(at) != "," {
                return at;
            }
            at += 1;
        }
    }

    /// The origin of the table that begins here, and the place after it.
    fn table(&self, at: &mut usize) -> Option<TableOrigin> {
        let here = *at;
        *at += 1;
        match self.kind(here)? {
            TokenKind::Text => Some(TableOrigin::File(
                self.text(here).trim_matches('\'').to_owned(),
            )),
            TokenKind::Name | TokenKind::Keyword | TokenKind::Quoted => {
                let name = self.name(here);
                if self.text(here + 1) == "(" {
                    *at = self.behind_bracket(here + 1);
                    return Some(TableOrigin::Call(name));
                }
                let is_name = !BEHIND.contains(&self.upper(here).as_str());
                is_name.then_some(TableOrigin::Name(name))
            }
            TokenKind::Symbol if self.text(here) == "[" => {
                let file = self.text(here + 1).trim_matches('\'').to_owned();
                *at = self.behind_bracket(here);
                Some(TableOrigin::File(file))
            }
            // A query in brackets has a FROM of its own, which is parsed next.
            _ => {
                *at = here;
                None
            }
        }
    }

    fn behind_bracket(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for at in open..self.tokens.len() {
            match self.text(at) {
                "(" | "[" => depth += 1,
                ")" | "]" => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return at + 1;
            }
        }
        self.tokens.len()
    }
}

/// Words in front of tables.
pub(super) const FROM: &[&str] = &["FROM", "JOIN"];

/// Words that stand behind a table, and are not its name.
const BEHIND: &[&str] = &[
    "AS",
    "ASC",
    "CROSS",
    "DESC",
    "EXCEPT",
    "FETCH",
    "FULL",
    "GROUP",
    "HAVING",
    "INNER",
    "INTERSECT",
    "JOIN",
    "LATERAL",
    "LEFT",
    "LIMIT",
    "NATURAL",
    "OFFSET",
    "ON",
    "ORDER",
    "QUALIFY",
    "RIGHT",
    "SELECT",
    "TABLESAMPLE",
    "TO",
    "UNION",
    "USING",
    "VALUES",
    "WHERE",
    "WINDOW",
    "WITH",
];
