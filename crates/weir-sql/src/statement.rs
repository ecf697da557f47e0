//! One SQL statement, parsed.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::parser::{
    CopyToSource, CopyToStatement, DFParserBuilder, ResetStatement, Statement as DfStatement,
};
use datafusion::sql::sqlparser::ast::{
    self, BinaryOperator, Expr, FunctionArg, LimitClause, ObjectName, PipeOperator, Query, Select,
    SelectFlavor, SelectItem, SetExpr, TableAlias, TableFactor, UnaryOperator, Value, Visitor,
    VisitorMut,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use weir_functions::number::{DIV, NEGATIVE};
use weir_functions::{Error, ErrorKind};

use crate::copy_options::{with_copy_options, with_partition_names};
use crate::correlation;
use crate::dialect::WeirDialect;
use crate::embedded::Parameter;
use crate::gate::{self, innermost};
use crate::iso_interval;
use crate::names::{call, keep_written_names};
use crate::ordered;
use crate::patterns;
use crate::reworded;
use crate::row_in;
use crate::syntax;
use crate::walk::{walk, walk_mut};

/// One statement of a query text, parsed but not planned: no file has been opened.
#[derive(Clone, Debug)]
pub struct Statement {
    pub(crate) inner: DfStatement,
    /// The recipe by which another process makes the same statement.
    pub(crate) recipe: Option<Recipe>,
}

/// The recipe of a statement for another process: the text that it was parsed from, and the values that replaced parameters.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Recipe {
    /// The whole text, of all its statements.
    pub text: Arc<str>,
    /// The index of the statement in the text, from 0.
    pub index: usize,
    /// Files that took the places of names, as [`Statement::name_files`] puts them.
    pub files: Vec<(Vec<String>, String)>,
    /// Values that took the places of parameters, as [`Statement::bind`] puts them.
    pub values: Arc<[(String, Parameter)]>,
    /// The text is parsed by [`Statement::parse_postgres`].
    pub is_postgres: bool,
}

impl Recipe {
    /// The recipe of one statement of a text without values.
    #[must_use]
    pub fn new(text: Arc<str>, index: usize) -> Self {
        Self {
            text,
            index,
            files: Vec::new(),
            values: Arc::default(),
            is_postgres: false,
        }
    }

    /// Makes the statement.
    ///
    /// # Errors
    /// When the text is not SQL or has fewer statements, or the values do not fit its parameters.
    pub fn statement(&self) -> Result<Statement, Error> {
        let mut statements = match self.is_postgres {
            true => Statement::parse_postgres(&self.text)?,
            false => Statement::parse(&self.text)?,
        };
        if self.index >= statements.len() {
            return Err(Error::new(ErrorKind::Syntax, "no statement"));
        }
        let mut statement = statements.swap_remove(self.index);
        if !self.files.is_empty() {
            statement.name_files(&mut |parts| {
                let known = self.files.iter().find(|(name, _)| name == parts);
                known.map(|(_, path)| path.clone())
            });
        }
        match self.values.is_empty() {
            true => Ok(statement),
            false => statement.bind(&self.values),
        }
    }
}

/// An object that a statement creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The name, in lower case unless it is quoted.
    pub name: String,
    /// A view, and not a table.
    pub is_view: bool,
}

/// A name as the session has it: parts without quotes are in lower case.
fn known_by(name: &ObjectName) -> String {
    let parts = name.0.iter().filter_map(|part| part.as_ident());
    let parts = parts.map(|ident| match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    });
    parts.collect::<Vec<_>>().join(".")
}

/// Whether a query creates a table of its rows: `SELECT … INTO name`.
fn has_into(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => select.into.is_some(),
        SetExpr::SetOperation { left, right, .. } => has_into(left) || has_into(right),
        SetExpr::Query(query) => has_into(&query.body),
        _ => false,
    }
}

/// `SET TIME ZONE 'Europe/Berlin'`, as the standard has it, becomes the setting of the engine.
fn name_time_zone(statement: &mut DfStatement) {
    let DfStatement::Statement(statement) = statement else {
        return;
    };
    if let ast::Statement::Set(set) = statement.as_mut()
        && let ast::Set::SetTimeZone {
            local: false,
            value,
        } = set
    {
        *set = ast::Set::SingleAssignment {
            scope: None,
            hivevar: false,
            variable: ObjectName::from(vec![ast::Ident::new("timezone")]),
            values: vec![value.clone()],
        };
    }
}

impl Statement {
    /// Parses a text of one or several statements, separated by semicolons, that are no larger and no deeper than
    /// statements may be.
    ///
    /// # Errors
    /// When the text is not SQL.
    pub fn parse(sql: &str) -> Result<Vec<Self>, Error> {
        gate::on_stack(|| Self::parse_here(sql))
    }

    fn parse_here(sql: &str) -> Result<Vec<Self>, Error> {
        gate::look_at_text(sql)?;
        let dialect = WeirDialect;
        let tokens = Tokenizer::new(&dialect, sql)
            .tokenize_with_location()
            .map_err(|error| explained(sql, Error::new(ErrorKind::Syntax, error.to_string())))?;
        gate::look_at_tokens(&tokens)?;
        let tokens = with_partition_names(with_copy_options(with_and(tokens))?);
        let tokens = with_described(with_null_columns(with_hex_numbers(with_numbers(tokens)?)));
        let mut parser = DFParserBuilder::new(with_lists(with_plain_trim(tokens)))
            .with_dialect(&dialect)
            .with_recursion_limit(gate::BRACKETS_MAX)
            .build()
            .map_err(|error| Error::from_datafusion(ErrorKind::Syntax, error, &[]))?;
        let statements = parser.parse_statements().map_err(|error| {
            explained(
                sql,
                gate::too_deep(&error)
                    .unwrap_or_else(|| Error::from_datafusion(ErrorKind::Syntax, error, &[])),
            )
        })?;
        let text: Arc<str> = Arc::from(sql);
        statements
            .into_iter()
            .enumerate()
            .map(|(index, mut inner)| {
                gate::look_at(&inner)?;
                name_time_zone(&mut inner);
                let mut statement = Self {
                    inner,
                    recipe: Some(Recipe::new(Arc::clone(&text), index)),
                };
                statement.visit_mut(&mut FromFirst);
                Ok(statement)
            })
            .collect()
    }

    /// Parses a text in PostgreSQL's own dialect, which some questions of its clients are written in, within the same
    /// limits.
    ///
    /// # Errors
    /// When the text is not SQL.
    pub fn parse_postgres(sql: &str) -> Result<Vec<Self>, Error> {
        let statements = gate::parse_postgres(sql)?;
        let text: Arc<str> = Arc::from(sql);
        let statements = statements.into_iter().enumerate();
        let statements = statements.map(|(index, parsed)| {
            let mut inner = DfStatement::Statement(Box::new(parsed));
            if let Some(query) = top_query(&mut inner) {
                keep_written_names(query);
            }
            let recipe = Recipe {
                is_postgres: true,
                ..Recipe::new(Arc::clone(&text), index)
            };
            Self {
                inner,
                recipe: Some(recipe),
            }
        });
        Ok(statements.collect())
    }

    /// The recipe for another process; `None` for a statement that was made of others.
    #[must_use]
    pub const fn recipe(&self) -> Option<&Recipe> {
        self.recipe.as_ref()
    }

    /// Whether the statement only describes how it would run.
    #[must_use]
    pub fn is_explain(&self) -> bool {
        matches!(self.inner, DfStatement::Explain(_))
    }

    /// Whether it is a plain query, without side effects.
    #[must_use]
    pub fn is_query(&self) -> bool {
        match &self.inner {
            DfStatement::Statement(statement) => {
                matches!(statement.as_ref(), ast::Statement::Query(_))
            }
            _ => false,
        }
    }

    /// Whether the answer has rows, or could have some: not for `CREATE VIEW` and the like.
    #[must_use]
    pub fn gives_rows(&self) -> bool {
        match &self.inner {
            DfStatement::Statement(statement) => match statement.as_ref() {
                // SELECT … INTO makes a table.
                ast::Statement::Query(query) => !has_into(&query.body),
                other => !matches!(
                    other,
                    ast::Statement::CreateView { .. }
                        | ast::Statement::CreateSchema { .. }
                        | ast::Statement::CreateTable { .. }
                        | ast::Statement::Drop { .. }
                        | ast::Statement::Set(_)
                        | ast::Statement::Prepare { .. }
                        | ast::Statement::Deallocate { .. }
                ),
            },
            DfStatement::CreateExternalTable(_) => false,
            _ => true,
        }
    }

    /// The name that it makes a view or a table known by.
    #[must_use]
    pub fn made(&self) -> Option<Made> {
        let DfStatement::Statement(statement) = &self.inner else {
            return None;
        };
        let (name, is_view) = match statement.as_ref() {
            ast::Statement::CreateView(view) => (&view.name, true),
            ast::Statement::CreateTable(table) => (&table.name, false),
            _ => return None,
        };
        Some(Made {
            name: known_by(name),
            is_view,
        })
    }

    /// The names of the views and tables that it drops.
    #[must_use]
    pub fn dropped(&self) -> Vec<String> {
        match &self.inner {
            DfStatement::Statement(statement) => match statement.as_ref() {
                ast::Statement::Drop { names, .. } => names.iter().map(known_by).collect(),
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// The text of a plain query, or of the explained one.
    pub fn query_text(&self) -> Option<String> {
        match innermost(&self.inner) {
            DfStatement::Statement(statement) => match statement.as_ref() {
                ast::Statement::Query(query) => Some(query.to_string()),
                _ => None,
            },
            _ => None,
        }
    }

    /// The `COPY` of the statement, when it has one.
    pub fn copy_mut(&mut self) -> Option<&mut CopyToStatement> {
        match innermost_mut(&mut self.inner) {
            DfStatement::CopyTo(copy) => Some(copy),
            _ => None,
        }
    }

    /// A text as a plain query, if it is one.
    pub fn query_of(sql: &str) -> Option<Box<Query>> {
        match Self::parse(sql).ok()?.pop()?.inner {
            DfStatement::Statement(statement) => match *statement {
                ast::Statement::Query(query) => Some(query),
                _ => None,
            },
            _ => None,
        }
    }

    /// The name and the arguments of a call in FROM.
    pub fn call_of(text: &str) -> Option<(ObjectName, Vec<FunctionArg>)> {
        let query = Self::query_of(&format!("SELECT 1 FROM {text}"))?;
        let SetExpr::Select(select) = *query.body else {
            return None;
        };
        match select.from.into_iter().next()?.relation {
            TableFactor::Table {
                name,
                args: Some(args),
                ..
            } => Some((name, args.args)),
            _ => None,
        }
    }

    /// A text as one expression.
    pub(crate) fn expression_of(text: &str) -> Option<Expr> {
        let query = Self::query_of(&format!("SELECT {text}"))?;
        let SetExpr::Select(select) = *query.body else {
            return None;
        };
        match select.projection.into_iter().next()? {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
            _ => None,
        }
    }

    /// The names that it gives to columns, in lower case.
    pub fn given_names(&self) -> HashSet<String> {
        let mut collector = Given(HashSet::new());
        self.visit(&mut collector);
        collector.0
    }

    /// The pattern of `SHOW FUNCTIONS`, if it has one.
    pub fn shown_functions(&self) -> Option<Option<String>> {
        let DfStatement::Statement(statement) = &self.inner else {
            return None;
        };
        match statement.as_ref() {
            ast::Statement::ShowFunctions { filter } => match filter {
                None => Some(None),
                Some(
                    ast::ShowStatementFilter::Like(pattern)
                    | ast::ShowStatementFilter::ILike(pattern)
                    | ast::ShowStatementFilter::NoKeyword(pattern),
                ) => Some(Some(pattern.clone())),
                Some(ast::ShowStatementFilter::Where(_)) => None,
            },
            _ => None,
        }
    }

    /// The statement, or the one that it explains.
    pub fn innermost_mut(&mut self) -> &mut DfStatement {
        innermost_mut(&mut self.inner)
    }

    /// The setting of DataFusion's runtime, such as where rows are spilled, that it changes.
    #[must_use]
    pub fn runtime_setting(&self) -> Option<String> {
        runtime_setting(&self.inner)
    }

    /// The name that a `COPY` writes to.
    #[must_use]
    pub fn copies_to(&self) -> Option<&str> {
        match innermost(&self.inner) {
            DfStatement::CopyTo(copy) => Some(&copy.target),
            _ => None,
        }
    }

    /// Puts the query in place of the `COPY` of it.
    pub fn without_copy(mut self) -> Self {
        self.recipe = None;
        let inner = innermost_mut(&mut self.inner);
        if let DfStatement::CopyTo(copy) = inner
            && let CopyToSource::Query(query) = &copy.source
        {
            *inner = DfStatement::Statement(Box::new(ast::Statement::Query(query.clone())));
        }
        self
    }

    /// Visits every part of the statement.
    pub fn visit(&self, visitor: &mut dyn Visitor<Break = ()>) {
        let _: ControlFlow<()> = match innermost(&self.inner) {
            DfStatement::Statement(statement) => walk(statement.as_ref(), visitor),
            DfStatement::CopyTo(copy) => match &copy.source {
                CopyToSource::Query(query) => walk(query.as_ref(), visitor),
                CopyToSource::Relation(_) => ControlFlow::Continue(()),
            },
            _ => ControlFlow::Continue(()),
        };
    }

    /// Visits every part of the statement, to change it.
    pub fn visit_mut(&mut self, visitor: &mut dyn VisitorMut<Break = ()>) {
        let _: ControlFlow<()> = match innermost_mut(&mut self.inner) {
            DfStatement::Statement(statement) => walk_mut(statement.as_mut(), visitor),
            DfStatement::CopyTo(copy) => match &mut copy.source {
                CopyToSource::Query(query) => walk_mut(query.as_mut(), visitor),
                CopyToSource::Relation(_) => ControlFlow::Continue(()),
            },
            _ => ControlFlow::Continue(()),
        };
    }

    /// The tables and table functions that the statement names.
    pub fn table_factors(&self) -> Vec<TableFactor> {
        struct Collector(Vec<TableFactor>);
        impl Visitor for Collector {
            type Break = ();
            fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
                // A subquery may have others within, and each would be copied as often as it is deep.
                if matches!(factor, TableFactor::Table { .. }) {
                    self.0.push(factor.clone());
                }
                ControlFlow::Continue(())
            }
        }
        let mut collector = Collector(Vec::new());
        self.visit(&mut collector);
        collector.0
    }

    /// The subject of `DESCRIBE`.
    pub fn described(&mut self) -> Option<&mut ObjectName> {
        match &mut self.inner {
            DfStatement::Statement(statement) => match statement.as_mut() {
                ast::Statement::ExplainTable { table_name, .. } => Some(table_name),
                _ => None,
            },
            _ => None,
        }
    }

    /// The aliases of what is no file: subqueries, and what flows through `|> AS`.
    pub fn aliases(&self) -> Vec<String> {
        struct Collector(Vec<String>);
        impl Visitor for Collector {
            type Break = ();
            fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
                if !matches!(factor, TableFactor::Table { .. }) {
                    self.0
                        .extend(alias(factor).map(|alias| alias.name.value.clone()));
                }
                ControlFlow::Continue(())
            }
            fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
                for operator in &query.pipe_operators {
                    if let PipeOperator::As { alias } = operator {
                        self.0.push(alias.value.clone());
                    }
                }
                ControlFlow::Continue(())
            }
        }
        let mut collector = Collector(Vec::new());
        self.visit(&mut collector);
        collector.0
    }
}

impl Statement {
    /// Other names of columns, in lower case: those that mean the columns wherever they stand, and those
    /// that the statement gives to something of its own in a SELECT.
    pub fn split_aliases(
        &self,
        aliases: HashMap<String, String>,
    ) -> (HashMap<String, String>, HashMap<String, String>) {
        if aliases.is_empty() {
            return (aliases, HashMap::new());
        }
        let given = self.given_names();
        aliases
            .into_iter()
            .partition(|(name, _)| !given.contains(name))
    }
}

/// The error with the hint for what is wrong with the text, when that is found.
fn explained(sql: &str, error: Error) -> Error {
    match syntax::hint(sql, &error.to_string()) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

/// Names that a statement gives to columns: in SELECT, and in parentheses behind the names of tables.
struct Given(HashSet<String>);

impl Given {
    fn add_columns(&mut self, alias: &TableAlias) {
        let names = alias.columns.iter().map(|column| &column.name.value);
        self.0.extend(names.map(|name| name.to_ascii_lowercase()));
    }
}

impl Visitor for Given {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.add_columns(&cte.alias);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let Some(alias) = alias(factor) {
            self.add_columns(alias);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        for item in &select.projection {
            if let SelectItem::ExprWithAlias { alias, .. } = item {
                self.0.insert(alias.value.to_ascii_lowercase());
            }
        }
        ControlFlow::Continue(())
    }
}

/// The alias of a table factor.
fn alias(factor: &TableFactor) -> Option<&TableAlias> {
    match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => alias.as_ref(),
        _ => None,
    }
}

fn innermost_mut(statement: &mut DfStatement) -> &mut DfStatement {
    match statement {
        DfStatement::Explain(explain) => innermost_mut(&mut explain.statement),
        other => other,
    }
}

/// The setting of DataFusion's runtime that a statement changes.
fn runtime_setting(statement: &DfStatement) -> Option<String> {
    let variable = match innermost(statement) {
        DfStatement::Reset(ResetStatement::Variable(variable)) => variable,
        DfStatement::Statement(statement) => match innermost_prepared(statement) {
            ast::Statement::Set(ast::Set::SingleAssignment { variable, .. }) => variable,
            _ => return None,
        },
        _ => return None,
    };
    let parts = variable.0.iter().filter_map(ast::ObjectNamePart::as_ident);
    let parts = parts.map(|part| part.value.to_lowercase());
    let name = parts.collect::<Vec<_>>().join(".");
    name.starts_with("datafusion.runtime.").then_some(name)
}

/// The statement that a PREPARE has, or the statement itself.
fn innermost_prepared(statement: &ast::Statement) -> &ast::Statement {
    match statement {
        ast::Statement::Prepare { statement, .. } => innermost_prepared(statement),
        other => other,
    }
}

fn top_query(statement: &mut DfStatement) -> Option<&mut Query> {
    match innermost_mut(statement) {
        DfStatement::Statement(statement) => query_of(statement),
        DfStatement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => Some(query),
            CopyToSource::Relation(_) => None,
        },
        _ => None,
    }
}

/// The query that a statement is, or that it prepares.
fn query_of(statement: &mut ast::Statement) -> Option<&mut Query> {
    match statement {
        ast::Statement::Query(query) => Some(query),
        ast::Statement::Prepare { statement, .. } => query_of(statement),
        _ => None,
    }
}

/// Rewrites syntax that the planner does not support: `FROM 'x'` alone means all columns of it, `a // b` is `div(a,
/// b)`, and `FETCH FIRST 3 ROWS ONLY` is `LIMIT 3`.
struct FromFirst;

impl VisitorMut for FromFirst {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &mut ast::Statement) -> ControlFlow<()> {
        reworded::name_columns_of_view(statement);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        reworded::name_columns_of_factor(factor);
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        reworded::name_columns_of_with(query);
        reworded::mark_casts_of_recursive(query);
        reworded::order_by_listed(query);
        ordered::by_columns_of_tables(query);
        keep_written_names(query);
        reworded::number_repeated(&mut query.body);
        reworded::group_all(&mut query.body);
        if let SetExpr::Select(select) = query.body.as_mut()
            && select.flavor == SelectFlavor::FromFirstNoSelect
            && select.projection.is_empty()
        {
            select.flavor = SelectFlavor::Standard;
            select.projection = vec![SelectItem::Wildcard(Default::default())];
        }
        if let (Some(fetch), None | Some(LimitClause::LimitOffset { limit: None, .. })) =
            (&query.fetch, &query.limit_clause)
            && !fetch.with_ties
            && !fetch.percent
        {
            let one = || Expr::Value(Value::Number("1".to_owned(), false).into());
            let limit = Some(fetch.quantity.clone().unwrap_or_else(one));
            query.limit_clause = Some(match query.limit_clause.take() {
                Some(LimitClause::LimitOffset {
                    offset, limit_by, ..
                }) => LimitClause::LimitOffset {
                    limit,
                    offset,
                    limit_by,
                },
                _ => LimitClause::LimitOffset {
                    limit,
                    offset: None,
                    limit_by: Vec::new(),
                },
            });
            query.fetch = None;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if let Some(condition) = &mut select.selection {
            row_in::reword(condition);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        patterns::reword(expr);
        reworded::exact_decimal(expr);
        reworded::parts_by_name(expr);
        reworded::plain_text(expr);
        iso_interval::reword(expr);
        reworded::row(expr);
        reworded::equal_rows(expr);
        reworded::with_both_ends(expr);
        if let Expr::Function(function) = expr {
            reworded::nulls_of_argument(function);
            reworded::rename(function);
            reworded::unit_of_time(function);
            reworded::pad(function);
        }
        if let Expr::BinaryOp {
            left,
            op: BinaryOperator::DuckIntegerDivide | BinaryOperator::MyIntegerDivide,
            right,
        } = expr
        {
            let null = || Box::new(Expr::Value(Value::Null.into()));
            let left = std::mem::replace(left, null());
            let right = std::mem::replace(right, null());
            *expr = call(DIV, vec![*left, *right]);
        }
        if let Expr::Function(function) = expr
            && let Some(reworded) = reworded::sliding_text(function)
                .or_else(|| reworded::sliding_flag(function))
                .or_else(|| reworded::determined(function))
                .or_else(|| correlation::of_spread(function))
                .or_else(|| reworded::remainder(function))
        {
            *expr = reworded;
        }
        if let Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr: inner,
        } = expr
            && reworded::has_sign_of_its_own(inner)
        {
            let inner = std::mem::replace(inner.as_mut(), Expr::Value(Value::Null.into()));
            *expr = call(NEGATIVE, vec![inner]);
        }
        ControlFlow::Continue(())
    }
}

/// Numbers the parameters `?` of each statement, as `$1` and so on are.
fn with_numbers(mut tokens: Vec<TokenWithSpan>) -> Result<Vec<TokenWithSpan>, Error> {
    let (mut unnamed, mut named) = (0_usize, false);
    for TokenWithSpan { token, .. } in &mut tokens {
        match token {
            Token::SemiColon => (unnamed, named) = (0, false),
            Token::Placeholder(name) if name == "?" => {
                unnamed += 1;
                *name = format!("${unnamed}");
            }
            Token::Question => {
                unnamed += 1;
                *token = Token::Placeholder(format!("${unnamed}"));
            }
            Token::Placeholder(_) => named = true,
            _ => continue,
        }
        if unnamed > 0 && named {
            return Err(Error::new(
                ErrorKind::Syntax,
                "parameters must be all ? or all $1, $2 and so on",
            ));
        }
    }
    Ok(tokens)
}

/// Makes `&&` the AND that it is in most languages, with AND's precedence: lists have no operator of this name.
fn with_and(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    for TokenWithSpan { token, .. } in &mut tokens {
        if *token == Token::Overlap {
            *token = Token::make_keyword("AND");
        }
    }
    tokens
}

/// Makes the table function behind DESCRIBE one name, because the parser takes only a name there.
fn with_described(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut result: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // The number of words of the statement so far, and whether it describes.
    let (mut words, mut describes) = (0, false);
    let mut call: Option<(String, usize)> = None;
    for token in tokens {
        if let Some((text, open)) = &mut call {
            text.push_str(&token.token.to_string());
            match token.token {
                Token::LParen => *open += 1,
                Token::RParen => *open = open.saturating_sub(1),
                _ => {}
            }
            if *open == 0 {
                let span = token.span;
                let token = Token::make_word(text, Some('"'));
                result.push(TokenWithSpan { token, span });
                call = None;
            }
            continue;
        }
        match &token.token {
            Token::Whitespace(_) => {}
            Token::SemiColon => (words, describes) = (0, false),
            Token::Word(word) if words == 0 => {
                describes = matches!(word.keyword, Keyword::DESCRIBE | Keyword::DESC);
                words = 1;
            }
            Token::Word(_) => words += 1,
            Token::LParen if describes && words == 2 => {
                let name = result.pop();
                let name = name.map(|name| name.token.to_string()).unwrap_or_default();
                call = Some((format!("{name}("), 1));
                continue;
            }
            _ => words = usize::MAX / 2,
        }
        result.push(token);
    }
    if let (Some((text, _)), Some(last)) = (call, result.last()) {
        // The bracket is not closed, which the parser reports.
        let span = last.span;
        let token = Token::make_word(&text, None);
        result.push(TokenWithSpan { token, span });
    }
    result
}

/// Makes `0x1f` the number that it is in most languages: the tokenizer holds it for the same as
/// `X'1f'`, which is bytes. Numbers lose the underscores between their digits: `1_000`.
fn with_hex_numbers(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    for TokenWithSpan { token, span } in &mut tokens {
        if let Token::Number(digits, _) = token
            && !digits.ends_with('_')
        {
            digits.retain(|digit| digit != '_');
        }
        if let Token::HexStringLiteral(digits) = token {
            let written_len = span.end.column.saturating_sub(span.start.column);
            // The text has two characters more than digits in 0x1f, and three in X'1f'.
            let digits_len = u64::try_from(digits.len()).unwrap_or(u64::MAX);
            if written_len == digits_len.saturating_add(2)
                && let Ok(number) = u64::from_str_radix(&digits.replace('_', ""), 16)
            {
                *token = Token::Number(number.to_string(), false);
            }
        }
    }
    tokens
}

/// Lets the columns of BSD loopback be written as Wireshark does: `null.family`. No value has parts, so that
/// NULL in front of a dot is a name.
fn with_null_columns(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    for at in 0..tokens.len() {
        if let Some([word, dot, name]) = tokens.get_mut(at..at.saturating_add(3))
            && matches!(&word.token, Token::Word(word) if word.keyword == Keyword::NULL)
            && dot.token == Token::Period
            && matches!(name.token, Token::Word(_))
        {
            word.token = Token::make_word("null", Some('"'));
        }
    }
    tokens
}

/// Leaves out the FROM of `trim(TRAILING FROM a)` and `trim(FROM a)`, which name nothing that is trimmed: the parser wants it there.
fn with_plain_trim(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut result: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // The number of words that such a call begins with, up to here: TRIM, a bracket, a side.
    let mut begun = 0;
    for token in tokens {
        let keyword = match &token.token {
            Token::Word(word) => word.keyword,
            _ => Keyword::NoKeyword,
        };
        begun = match (&token.token, keyword, begun) {
            (Token::Whitespace(_), _, so_far) => so_far,
            (_, Keyword::TRIM, _) => 1,
            (Token::LParen, _, 1) => 2,
            (_, Keyword::BOTH | Keyword::LEADING | Keyword::TRAILING, 2) => 3,
            (_, Keyword::FROM, 2 | 3) => {
                begun = 0;
                continue;
            }
            _ => 0,
        };
        result.push(token);
    }
    result
}

/// Lets a list of files stand where a table stands: `FROM ['a.pcap', 'b.pcap']` becomes
/// `FROM packets(['a.pcap', 'b.pcap'])`.
fn with_lists(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut result = Vec::with_capacity(tokens.len());
    let mut after_from = false;
    let mut open = false;
    for token in tokens {
        let span = token.span;
        let mut put = |token| result.push(TokenWithSpan { token, span });
        match &token.token {
            Token::Whitespace(_) => put(token.token),
            Token::LBracket if after_from => {
                put(Token::make_word("packets", None));
                put(Token::LParen);
                put(Token::LBracket);
                (after_from, open) = (false, true);
            }
            Token::RBracket if open => {
                put(Token::RBracket);
                put(Token::RParen);
                open = false;
            }
            other => {
                after_from = matches!(
                    other,
                    Token::Word(word) if matches!(word.keyword, Keyword::FROM | Keyword::JOIN)
                );
                put(token.token);
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Scope;

    #[test]
    fn trim_needs_not_name_what_is_trimmed() {
        for (written, expected) in [
            ("trim(FROM a)", "TRIM(a)"),
            ("trim(TRAILING FROM a)", "TRIM(TRAILING a)"),
            ("Trim ( leading from lower(a) )", "TRIM(LEADING lower(a))"),
            ("trim(BOTH /* sides */ FROM a)", "TRIM(BOTH a)"),
            ("trim(BOTH 'x' FROM a)", "TRIM(BOTH 'x' FROM a)"),
            ("trim(\"both\" FROM a)", "TRIM(\"both\" FROM a)"),
            ("trim(a)", "TRIM(a)"),
        ] {
            let statements = Statement::parse(&format!("SELECT a WHERE {written} = ''")).unwrap();
            let text = statements[0].inner.to_string();
            assert_eq!(text, format!("SELECT a WHERE {expected} = ''"), "{written}");
        }
    }

    #[test]
    fn every_column_of_packets_can_be_written_without_quotes() {
        let names = weir_packet::fields().map(|(field, _)| field.name);
        let names: Vec<&str> = names.filter(|name| name.contains('.')).collect();
        let scope = Scope {
            dotted: names.iter().map(|name| (*name).to_owned()).collect(),
            ..Scope::default()
        };
        for name in names.iter().chain(&["NULL.Family"]) {
            let sql = format!("SELECT 1 FROM 'x.pcap' WHERE {name} = NULL");
            let mut statements = Statement::parse(&sql).unwrap();
            let statement = statements.first_mut().unwrap();
            statement.visit_mut(&mut scope.resolver());
            let text = statement.inner.to_string();
            let expected = format!(r#"WHERE "{}" = NULL"#, name.to_ascii_lowercase());
            assert!(text.contains(&expected), "{name}: {text}");
        }
    }
}
