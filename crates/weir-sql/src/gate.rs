//! The limits on the size of a text of statements and of its tree, which hold for every interface.
//!
//! Parsers, planners and what frees their trees go one call deeper for each level of a tree. So a tree has no more
//! levels than their stacks have room for: the words of a text are counted before they are parsed, which bounds how deep
//! the parser's tree can be, and the tree that it makes is measured on a stack that has room for the deepest of those.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::error::DataFusionError;
use datafusion::sql::parser::{CopyToSource, Statement as DfStatement};
use datafusion::sql::sqlparser::ast::{
    self, BinaryOperator, Expr, ObjectName, Query, Select, SetExpr, TableFactor, Visit, Visitor,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use weir_functions::{Error, ErrorKind};

use crate::walk::walk;

/// Parses a text in PostgreSQL's own dialect, which some questions of its clients are written in, within the limits
/// that the engine's own statements have.
///
/// # Errors
/// When it is not SQL, or larger or deeper than statements may be.
pub(crate) fn parse_postgres(sql: &str) -> Result<Vec<ast::Statement>, Error> {
    on_stack(|| {
        look_at_text(sql)?;
        let dialect = PostgreSqlDialect {};
        let failed =
            |error: &dyn std::fmt::Display| Error::new(ErrorKind::Syntax, error.to_string());
        let tokens = Tokenizer::new(&dialect, sql)
            .tokenize_with_location()
            .map_err(|error| failed(&error))?;
        look_at_tokens(&tokens)?;
        let statements = Parser::new(&dialect)
            .with_recursion_limit(BRACKETS_MAX)
            .with_tokens_with_locations(tokens)
            .parse_statements()
            .map_err(|error| failed(&error))?;
        for statement in &statements {
            look_at_tree(statement)?;
        }
        Ok(statements)
    })
}

/// Does something that may go as deep as a text of statements can make it.
pub(crate) fn on_stack<T>(work: impl FnOnce() -> T) -> T {
    stacker::grow(STACK_BYTES, work)
}

/// Checks the length of a text.
///
/// # Errors
/// When it is longer than texts of statements may be.
pub(crate) fn look_at_text(sql: &str) -> Result<(), Error> {
    match sql.len() {
        0..=TEXT_BYTES_MAX => Ok(()),
        len => Err(limit(format!(
            "the text has {len} bytes, and the limit is {TEXT_BYTES_MAX}"
        ))),
    }
}

/// Checks the words of a text: their number, and the depth of the tree that they may become.
///
/// # Errors
/// When there are more than there may be, or the number of a parameter is not allowed.
pub(crate) fn look_at_tokens(tokens: &[TokenWithSpan]) -> Result<(), Error> {
    let mut counts = WordCounts {
        words: 0,
        chains: vec![0],
        explains: 0,
        repeated: 0,
        types: 0,
    };
    let mut before: Option<&Token> = None;
    for TokenWithSpan { token, .. } in tokens {
        if matches!(token, Token::Whitespace(_)) {
            continue;
        }
        counts.add(token, before)?;
        before = Some(token);
        counts.check()?;
    }
    Ok(())
}

/// The counters of the words of a text.
struct WordCounts {
    words: usize,
    /// The words behind the last comma, in each open bracket, with those in front of it.
    chains: Vec<usize>,
    explains: usize,
    repeated: usize,
    types: usize,
}

impl WordCounts {
    /// Counts a word, which follows another.
    fn add(&mut self, token: &Token, before: Option<&Token>) -> Result<(), Error> {
        self.words += 1;
        let chain = self.chains.last().copied().unwrap_or(0);
        match token {
            Token::SemiColon => {
                (self.chains, self.explains, self.types) = (vec![0], 0, 0);
            }
            Token::LParen | Token::LBracket | Token::LBrace => self.chains.push(chain + 1),
            Token::RParen | Token::RBracket | Token::RBrace if self.chains.len() > 1 => {
                self.chains.pop();
                if let Some(chain) = self.chains.last_mut() {
                    *chain += 1;
                }
            }
            Token::Comma => {
                let outside = self.chains.len().checked_sub(2);
                let outside = outside.and_then(|index| self.chains.get(index)).copied();
                if let Some(chain) = self.chains.last_mut() {
                    *chain = outside.map_or(0, |chain| chain + 1);
                }
            }
            Token::Placeholder(name) => look_at_parameter(name)?,
            Token::Word(word) if word.value.len() > NAME_BYTES_MAX => {
                return Err(limit(format!(
                    "the text has a name of {} bytes, and the limit is {NAME_BYTES_MAX}",
                    word.value.len()
                )));
            }
            Token::Word(word) if word.keyword == Keyword::EXPLAIN => self.explains += 1,
            Token::Lt if matches!(before, Some(Token::Word(_))) => {
                self.types += usize::from(is_type(before));
            }
            _ => {}
        }
        if let Some(chain) = self.chains.last_mut() {
            *chain += 1;
        }
        // These are quantifiers of patterns, and lists of lists of a type.
        self.repeated = match before {
            Some(last)
                if last == token
                    && !matches!(
                        token,
                        Token::Word(_) | Token::LParen | Token::RParen | Token::SemiColon
                    ) =>
            {
                self.repeated + 1
            }
            Some(Token::RBracket) if *token == Token::LBracket => self.repeated + 1,
            Some(Token::LBracket) if *token == Token::RBracket => self.repeated,
            _ => 0,
        };
        Ok(())
    }

    /// Checks that no count exceeds its limit.
    fn check(&self) -> Result<(), Error> {
        let chain = self.chains.last().copied().unwrap_or(0);
        for (what, found, most) in [
            ("words", self.words, WORDS_MAX),
            ("levels of brackets", self.chains.len() - 1, BRACKETS_MAX),
            ("words without a comma between them", chain, CHAIN_MAX),
            ("levels of EXPLAIN", self.explains, EXPLAINS_MAX),
            (
                "operators of one kind in a row",
                self.repeated,
                BRACKETS_MAX,
            ),
            ("types of lists and structs", self.types, BRACKETS_MAX),
        ] {
            if found > most {
                return Err(limit(format!("the text has more than {most} {what}")));
            }
        }
        Ok(())
    }
}

/// Checks that the number of a parameter is allowed.
fn look_at_parameter(name: &str) -> Result<(), Error> {
    let digits = name.get(1..).unwrap_or_default();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: Option<usize> = digits.parse().ok();
    if is_number && number.is_none_or(|number| number > PARAMETERS_MAX) {
        return Err(limit(format!(
            "the number of the parameter {name} is above {PARAMETERS_MAX}"
        )));
    }
    Ok(())
}

/// Whether a `<` behind a word begins the type of what is in a list or a struct.
fn is_type(word: Option<&Token>) -> bool {
    let Some(Token::Word(word)) = word else {
        return false;
    };
    matches!(
        word.keyword,
        Keyword::ARRAY | Keyword::STRUCT | Keyword::MAP | Keyword::TUPLE | Keyword::NESTED
    )
}

/// The error of a text that is too deep for the parser.
pub(crate) fn too_deep(error: &DataFusionError) -> Option<Error> {
    match error.find_root() {
        DataFusionError::SQL(error, _) if **error == ParserError::RecursionLimitExceeded => {
            Some(limit(format!(
                "the text nests expressions and queries more than {BRACKETS_MAX} levels deep"
            )))
        }
        _ => None,
    }
}

/// The statement that EXPLAIN explains, or the statement itself.
pub(crate) fn innermost(statement: &DfStatement) -> &DfStatement {
    match statement {
        DfStatement::Explain(explain) => innermost(&explain.statement),
        other => other,
    }
}

/// Checks the depth of the tree of a statement.
///
/// # Errors
/// When it is deeper than trees may be.
pub(crate) fn look_at(statement: &DfStatement) -> Result<(), Error> {
    match innermost(statement) {
        DfStatement::Statement(statement) => {
            look_at_prepared(statement.as_ref())?;
            look_at_tree(statement.as_ref())
        }
        DfStatement::CopyTo(copy) => match &copy.source {
            CopyToSource::Query(query) => look_at_tree(query.as_ref()),
            CopyToSource::Relation(_) => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Checks that what is prepared is no PREPARE: what runs statements goes into each other with them.
fn look_at_prepared(statement: &ast::Statement) -> Result<(), Error> {
    match statement {
        ast::Statement::Prepare { statement, .. }
            if matches!(statement.as_ref(), ast::Statement::Prepare { .. }) =>
        {
            let error = Error::new(ErrorKind::Syntax, "PREPARE takes a query, and no PREPARE");
            Err(error.with_hint("PREPARE name AS SELECT …"))
        }
        _ => Ok(()),
    }
}

fn look_at_tree(tree: &impl Visit) -> Result<(), Error> {
    let mut depth = Depth::default();
    let _ = walk(tree, &mut depth);
    if depth.most > DEPTH_MAX {
        return Err(limit(format!(
            "the statement is {} levels deep, and the limit is {DEPTH_MAX}",
            depth.most
        ))
        .with_hint("use IN (…) for many values, or join a file of values"));
    }
    let mut doubled = Doubled::default();
    let _ = walk(tree, &mut doubled);
    if doubled.most > DOUBLED_MAX {
        return Err(limit(format!(
            "the statement has subqueries, rows, maps and queries of WITH more than {DOUBLED_MAX} levels deep in each other"
        ))
        .with_hint("each level is planned twice as often as the one around it: JOIN has the rows of a subquery beside others"));
    }
    let mut expansion = Expansion::default();
    let _ = walk(tree, &mut expansion);
    match expansion.most {
        0..=EXPANDED_MAX => Ok(()),
        _ => Err(limit(format!(
            "the queries of WITH expand to more than {EXPANDED_MAX} tables"
        ))
        .with_hint("each is planned again wherever it is named; COPY (…) TO 'x.parquet' saves the rows of one")),
    }
}

/// The size of a statement in which the queries of WITH are in the places that name them, as the planner has them: of twenty, each of
/// which names the one before it twice, a million tables. This is known before a file is opened; views are counted in the plan, with all
/// other tables (`weir_functions::plan_size`).
#[derive(Default)]
struct Expansion {
    /// The tables that a query of WITH stands for, by its name in lower case.
    sizes: HashMap<String, usize>,
    /// The names of the queries of WITH that the walk has not left.
    names: HashMap<*const Query, String>,
    /// Of each query around this place: the tables that it stands for so far, and those among them that are of queries of WITH.
    around: Vec<(usize, usize)>,
    /// The most of the latter.
    most: usize,
}

impl Expansion {
    fn add(&mut self, tables: usize, of_with: usize) {
        if let Some(around) = self.around.last_mut() {
            around.0 = around.0.saturating_add(tables);
            around.1 = around.1.saturating_add(of_with);
        }
    }
}

impl Visitor for Expansion {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let name = cte.alias.name.value.to_lowercase();
            self.names.insert(std::ptr::from_ref(&*cte.query), name);
        }
        self.around.push((0, 0));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let (tables, of_with) = self.around.pop().unwrap_or_default();
        self.most = self.most.max(of_with);
        match self.names.remove(&std::ptr::from_ref(query)) {
            Some(name) => {
                self.sizes.insert(name, tables.max(1));
            }
            None => self.add(tables, of_with),
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let size = match relation.0.as_slice() {
            [part] => part
                .as_ident()
                .and_then(|name| self.sizes.get(&name.value.to_lowercase())),
            _ => None,
        };
        match size.copied() {
            Some(size) => self.add(size, size),
            None => self.add(1, 0),
        }
        ControlFlow::Continue(())
    }
}

/// The levels of what is planned twice, or more often, together with all that lies within it: with each level the time of planning doubles.
#[derive(Default)]
struct Doubled {
    now: usize,
    most: usize,
}

impl Doubled {
    fn enter(&mut self, is_doubled: bool) -> ControlFlow<()> {
        self.now = self.now.saturating_add(usize::from(is_doubled));
        self.most = self.most.max(self.now);
        ControlFlow::Continue(())
    }

    fn leave(&mut self, is_doubled: bool) -> ControlFlow<()> {
        self.now = self.now.saturating_sub(usize::from(is_doubled));
        ControlFlow::Continue(())
    }
}

impl Visitor for Doubled {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.enter(query.with.is_some())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.leave(query.with.is_some())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.enter(is_doubled(expr))
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.leave(is_doubled(expr))
    }
}

/// Whether what lies within an expression is planned twice, as measured. A comparison with ANY or ALL of the rows of a subquery is two
/// levels with it.
fn is_doubled(expr: &Expr) -> bool {
    match expr {
        Expr::Subquery(_)
        | Expr::Exists { .. }
        | Expr::InSubquery { .. }
        | Expr::AnyOp { .. }
        | Expr::AllOp { .. }
        | Expr::Map(_) => true,
        Expr::Function(function) => match function.name.0.as_slice() {
            [part] => part.as_ident().is_some_and(|name| {
                let doubled = ["row", "map", "make_map"];
                doubled
                    .iter()
                    .any(|doubled| name.value.eq_ignore_ascii_case(doubled))
            }),
            _ => false,
        },
        _ => false,
    }
}

/// The depth of a tree: levels of expressions, and of operators of plans.
#[derive(Default)]
struct Depth {
    now: usize,
    most: usize,
    /// The levels that each query and SELECT around this place adds.
    around: Vec<usize>,
}

impl Depth {
    fn enter(&mut self, levels: usize) -> ControlFlow<()> {
        self.now = self.now.saturating_add(levels);
        self.most = self.most.max(self.now);
        ControlFlow::Continue(())
    }

    fn leave(&mut self, levels: usize) -> ControlFlow<()> {
        self.now = self.now.saturating_sub(levels);
        ControlFlow::Continue(())
    }

    fn enter_around(&mut self, levels: usize) -> ControlFlow<()> {
        self.around.push(levels);
        self.enter(levels)
    }

    fn leave_around(&mut self) -> ControlFlow<()> {
        let levels = self.around.pop().unwrap_or(0);
        self.leave(levels)
    }
}

impl Visitor for Depth {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        fn height(body: &SetExpr) -> usize {
            match body {
                SetExpr::SetOperation { left, right, .. } => height(left).max(height(right)) + 1,
                _ => 1,
            }
        }
        // Each query of a WITH may refer to the one before it.
        let with = query.with.iter().map(|with| with.cte_tables.len());
        let around: usize = with.sum::<usize>() + query.pipe_operators.len();
        self.enter_around(height(&query.body).saturating_add(around))
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.leave_around()
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let joined = select.from.iter().map(|table| table.joins.len() + 1);
        let joined: usize = joined.sum();
        self.enter_around(joined.saturating_sub(1).saturating_mul(JOINED_LEVELS) + 1)
    }

    fn post_visit_select(&mut self, _: &Select) -> ControlFlow<()> {
        self.leave_around()
    }

    fn pre_visit_table_factor(&mut self, _: &TableFactor) -> ControlFlow<()> {
        self.enter(1)
    }

    fn post_visit_table_factor(&mut self, _: &TableFactor) -> ControlFlow<()> {
        self.leave(1)
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.enter(levels(expr))
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.leave(levels(expr))
    }
}

/// The levels that an expression counts as. The planner names what is above the columns by all that is below, again at each level,
/// so that a level of arithmetic takes it far longer than one of AND and OR.
fn levels(expr: &Expr) -> usize {
    match expr {
        Expr::CompoundFieldAccess { access_chain, .. } => {
            access_chain.len().saturating_mul(NAMED_LEVELS) + 1
        }
        Expr::CompoundIdentifier(parts) => parts.len(),
        Expr::Identifier(_) | Expr::Value(_) | Expr::Nested(_) => 1,
        Expr::BinaryOp {
            op: BinaryOperator::And | BinaryOperator::Or,
            ..
        } => 1,
        _ => NAMED_LEVELS,
    }
}

fn limit(message: String) -> Error {
    Error::new(ErrorKind::Limit, message)
}

/// Bytes of a text of statements.
const TEXT_BYTES_MAX: usize = 4 << 20;
/// Words of a text: 100,000 values in a list.
const WORDS_MAX: usize = 200_000;
/// Brackets in each other.
pub(crate) const BRACKETS_MAX: usize = 64;
/// Words that a tree may have above each other, at most, before it is measured.
const CHAIN_MAX: usize = 20_000;
/// Bytes of a name, which may be the path of a file: what is not known is looked for among all names that are.
const NAME_BYTES_MAX: usize = 4096;
/// More than one is refused by the planner.
const EXPLAINS_MAX: usize = 16;
/// Levels of a tree.
const DEPTH_MAX: usize = 500;
/// The weight of a level whose name contains those of all levels below it.
const NAMED_LEVELS: usize = 3;
/// The weight of a joined table: planning takes more than the square of their number, and some 120 a second.
const JOINED_LEVELS: usize = 4;
/// Levels of what is planned twice: ten are planned a thousand times, for a tenth of a second.
const DOUBLED_MAX: usize = 10;
/// Tables that queries of WITH stand for, in all places that name them.
const EXPANDED_MAX: usize = 1024;
/// The protocols count parameters in 16 bits.
const PARAMETERS_MAX: usize = 65_535;
/// Memory is taken from the system only as far as the stack is used.
const STACK_BYTES: usize = 256 << 20;

#[cfg(test)]
mod tests {
    use crate::statement::Statement;
    use weir_functions::ErrorKind;

    #[test]
    fn statements_of_usual_size_pass() {
        let list: Vec<String> = (0..50_000).map(|number| number.to_string()).collect();
        let or: Vec<String> = (0..450).map(|number| format!("a = {number}")).collect();
        let unions =
            vec!["SELECT ip.src, count(*) FROM 'x.pcap' WHERE udp.dstport = 53 GROUP BY 1"; 400];
        for sql in [
            format!("SELECT a IN ({})", list.join(", ")),
            format!("SELECT {}", or.join(" OR ")),
            unions.join(" UNION ALL "),
            format!("SELECT {}1{}", "(".repeat(40), ")".repeat(40)),
            format!("SELECT * FROM {}SELECT 1{}", "(".repeat(20), ")".repeat(20)),
            format!("SELECT * FROM {}'x.pcap'{}", "(".repeat(20), ")".repeat(20)),
            "SELECT a[1][2], $65535, CAST(b AS ARRAY<INT>)".to_owned(),
            format!("SELECT {}1{}", "EXISTS (SELECT ".repeat(8), ")".repeat(8)),
            format!("SELECT {}", vec!["ROW(1, (SELECT 2))"; 50].join(", ")),
            format!("SELECT {}1{}", "MAP {'a': ".repeat(10), "}".repeat(10)),
            format!(
                "WITH c AS (SELECT * FROM 'x.pcap') {}",
                ["SELECT * FROM c"; 400].join(" UNION ALL ")
            ),
        ] {
            let parsed = Statement::parse(&sql);
            assert!(parsed.is_ok(), "{:?}", parsed.map(drop));
        }
    }

    /// Forty of them in each other overflowed the stack of the command line.
    #[test]
    fn what_is_prepared_is_no_prepare() {
        for (sql, is_taken) in [
            ("PREPARE p AS SELECT 1", true),
            ("PREPARE p AS PREPARE q AS SELECT 1", false),
            ("EXPLAIN PREPARE p AS PREPARE q AS SELECT 1", false),
        ] {
            let refusal = Statement::parse(sql).map(drop).err();
            let kind = refusal.as_ref().map(weir_functions::Error::kind);
            assert_eq!(kind, (!is_taken).then_some(ErrorKind::Syntax), "{sql}");
        }
    }

    #[test]
    fn what_is_too_deep_or_too_long_is_refused_by_its_limit() {
        let many = 100_000;
        let shapes: Vec<(&str, String)> = vec![
            ("explain", format!("{}SELECT 1", "EXPLAIN ".repeat(many))),
            ("sum", format!("SELECT 1{}", "+1".repeat(many))),
            (
                "and",
                format!("SELECT 1 WHERE true{}", " AND true".repeat(many)),
            ),
            (
                "and few",
                format!("SELECT 1 WHERE true{}", " AND true".repeat(5000)),
            ),
            (
                "or",
                format!("SELECT 1 WHERE a = 1{}", " OR a = 1".repeat(many)),
            ),
            (
                "union",
                format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(many)),
            ),
            (
                "union few",
                format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(3000)),
            ),
            (
                "except",
                format!("SELECT 1{}", " EXCEPT SELECT 1".repeat(3000)),
            ),
            (
                "parentheses",
                format!("SELECT {}1{}", "(".repeat(many), ")".repeat(many)),
            ),
            ("open", format!("SELECT {}", "(".repeat(many))),
            (
                "case",
                format!(
                    "SELECT {}1{}",
                    "CASE WHEN true THEN ".repeat(many),
                    " END".repeat(many)
                ),
            ),
            ("not", format!("SELECT {}true", "NOT ".repeat(many))),
            ("minus", format!("SELECT {}1", "- ".repeat(many))),
            ("plus", format!("SELECT {}1", "+ - ".repeat(many))),
            (
                "lists",
                format!("SELECT {}1{}", "[".repeat(many), "]".repeat(many)),
            ),
            (
                "subqueries",
                format!(
                    "SELECT * FROM {}SELECT 1{}",
                    "(".repeat(many),
                    ")".repeat(many)
                ),
            ),
            ("casts", format!("SELECT 1{}", "::int".repeat(many))),
            (
                "casts of lists",
                format!("SELECT CAST(1 AS int{})", "[]".repeat(many)),
            ),
            (
                "casts of types",
                format!(
                    "SELECT CAST(1 AS {}int{})",
                    "ARRAY<".repeat(many),
                    ">".repeat(many)
                ),
            ),
            ("subscripts", format!("SELECT a{}", "[1]".repeat(many))),
            ("subscripts few", format!("SELECT a{}", "[1]".repeat(1000))),
            ("names", format!("SELECT a{}", ".a".repeat(1000))),
            (
                "with",
                format!(
                    "WITH c AS (SELECT 1){} SELECT * FROM c",
                    ", c AS (SELECT * FROM c)".repeat(1000)
                ),
            ),
            (
                "with doubled",
                (1..12).fold("WITH c0 AS (SELECT 1)".to_owned(), |sql, n| {
                    let last = n - 1;
                    format!("{sql}, c{n} AS (SELECT 1 FROM c{last} AS a, C{last} AS b)")
                }) + " SELECT * FROM c11",
            ),
            (
                "with within with",
                (1..12).fold("WITH c0 AS (SELECT 1)".to_owned(), |sql, n| {
                    let last = n - 1;
                    format!(
                        "{sql}, c{n} AS (WITH d{n} AS (SELECT * FROM c{last}) SELECT 1 FROM d{n} AS a, d{n} AS b)"
                    )
                }) + " SELECT * FROM c11",
            ),
            (
                "exists",
                format!("SELECT {}1{}", "EXISTS (SELECT ".repeat(11), ")".repeat(11)),
            ),
            (
                "scalar",
                format!("SELECT {}1{}", "(SELECT ".repeat(11), ")".repeat(11)),
            ),
            (
                "any",
                format!(
                    "SELECT 1 WHERE {}true{}",
                    "1 = ANY (SELECT 1 WHERE ".repeat(6),
                    ")".repeat(6)
                ),
            ),
            (
                "in",
                format!(
                    "SELECT 1 WHERE {}true{}",
                    "1 IN (SELECT 1 WHERE ".repeat(11),
                    ")".repeat(11)
                ),
            ),
            (
                "rows",
                format!("SELECT {}1{}", "ROW(".repeat(11), ")".repeat(11)),
            ),
            (
                "maps",
                format!("SELECT {}1{}", "MAP {'a': ".repeat(11), "}".repeat(11)),
            ),
            (
                "calls of map",
                format!("SELECT {}1{}", "Map(['a'], [".repeat(11), "])".repeat(11)),
            ),
            (
                "calls of make_map",
                format!("SELECT {}1{}", "make_map('a', ".repeat(11), ")".repeat(11)),
            ),
            (
                "with in with",
                format!(
                    "{}SELECT 1{}",
                    "WITH a AS (".repeat(11),
                    ") SELECT * FROM a".repeat(11)
                ),
            ),
            ("is null", format!("SELECT a{}", " IS NULL".repeat(many))),
            ("collate", format!("SELECT a{}", " COLLATE x".repeat(many))),
            (
                "at",
                format!("SELECT a{}", " AT TIME ZONE 'UTC'".repeat(many)),
            ),
            ("concat", format!("SELECT 'a'{}", "||'a'".repeat(many))),
            (
                "joins",
                format!("SELECT * FROM t{}", " CROSS JOIN t".repeat(many)),
            ),
            ("tables", format!("SELECT * FROM t{}", ", t".repeat(130))),
            (
                "joins few",
                format!("SELECT * FROM t{}", " JOIN t ON true".repeat(130)),
            ),
            ("pipes", format!("FROM t{}", " |> WHERE true".repeat(3000))),
            (
                "pattern",
                format!(
                    "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (a{}) DEFINE a AS true)",
                    "*".repeat(many)
                ),
            ),
            (
                "prepare",
                format!("{}SELECT 1", "PREPARE p AS ".repeat(many)),
            ),
            ("words", format!("SELECT 1{}", ", 1".repeat(2 * many))),
            ("statements", "SELECT 1;".repeat(many)),
            ("parameter", "SELECT $10000000000".to_owned()),
            ("parameter 65536", "SELECT $65536".to_owned()),
            ("parameter large", format!("SELECT ${}", "9".repeat(100))),
            ("text", format!("SELECT '{}'", "x".repeat(5 << 20))),
            ("name", format!("SELECT {} FROM t", "x".repeat(1 << 20))),
            ("quoted", format!("SELECT \"{}\"", "x".repeat(5000))),
        ];
        for (name, sql) in shapes {
            let refusal = Statement::parse(&sql).map(drop).unwrap_err();
            let message = refusal.to_string();
            assert_eq!(refusal.kind(), ErrorKind::Limit, "{name}: {message}");
            assert!(message.len() < 200, "{name}: {message}");
            let postgres = super::parse_postgres(&sql);
            assert!(postgres.is_err(), "{name}");
        }
    }
}
