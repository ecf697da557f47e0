//! One SQL statement, parsed.

use std::ops::ControlFlow;

use datafusion::sql::parser::{CopyToSource, DFParserBuilder, Statement as DfStatement};
use datafusion::sql::sqlparser::ast::{
    self, Query, SelectFlavor, SelectItem, SetExpr, TableFactor, Visit, VisitMut, Visitor,
    VisitorMut,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use crate::error::{Error, ErrorKind};
use crate::names::keep_written_names;

/// One statement of a query text, parsed but not planned: no file has been opened.
#[derive(Clone, Debug)]
pub struct Statement {
    pub(crate) inner: DfStatement,
}

impl Statement {
    /// Parses a text of one or several statements, separated by semicolons.
    pub(crate) fn parse(sql: &str) -> Result<Vec<Self>, Error> {
        let dialect = GenericDialect {};
        let tokens = Tokenizer::new(&dialect, sql)
            .tokenize_with_location()
            .map_err(|error| Error::new(ErrorKind::Syntax, error.to_string()))?;
        let mut parser = DFParserBuilder::new(with_lists(tokens))
            .with_dialect(&dialect)
            .build()
            .map_err(|error| Error::from_datafusion(ErrorKind::Syntax, error, &[]))?;
        let statements = parser.parse_statements().map_err(|error| {
            Error::from_datafusion(ErrorKind::Syntax, error, &[]).with_hint(
                "file names and text stand in single quotes: FROM 'trace.pcap' WHERE ip.src = '10.0.0.1'",
            )
        })?;
        Ok(statements
            .into_iter()
            .map(|mut inner| {
                let _: ControlFlow<()> = match innermost_mut(&mut inner) {
                    DfStatement::Statement(statement) => {
                        VisitMut::visit(statement.as_mut(), &mut FromFirst)
                    },
                    _ => ControlFlow::Continue(()),
                };
                if let Some(query) = top_query(&mut inner) {
                    keep_written_names(query);
                }
                Self { inner }
            })
            .collect())
    }

    /// True when the statement only describes how it would run.
    #[must_use]
    pub fn is_explain(&self) -> bool {
        matches!(self.inner, DfStatement::Explain(_))
    }

    /// Visits every part of the statement.
    pub(crate) fn visit<V: Visitor<Break = ()>>(&self, visitor: &mut V) {
        let _: ControlFlow<()> = match innermost(&self.inner) {
            DfStatement::Statement(statement) => statement.visit(visitor),
            DfStatement::CopyTo(copy) => match &copy.source {
                CopyToSource::Query(query) => query.visit(visitor),
                CopyToSource::Relation(_) => ControlFlow::Continue(()),
            },
            _ => ControlFlow::Continue(()),
        };
    }

    /// Visits every part of the statement, to change it.
    pub(crate) fn visit_mut<V: VisitorMut<Break = ()>>(&mut self, visitor: &mut V) {
        let _: ControlFlow<()> = match innermost_mut(&mut self.inner) {
            DfStatement::Statement(statement) => VisitMut::visit(statement.as_mut(), visitor),
            DfStatement::CopyTo(copy) => match &mut copy.source {
                CopyToSource::Query(query) => VisitMut::visit(query.as_mut(), visitor),
                CopyToSource::Relation(_) => ControlFlow::Continue(()),
            },
            _ => ControlFlow::Continue(()),
        };
    }

    /// The tables and table functions that the statement names.
    pub(crate) fn table_factors(&self) -> Vec<TableFactor> {
        struct Collector(Vec<TableFactor>);
        impl Visitor for Collector {
            type Break = ();
            fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
                self.0.push(factor.clone());
                ControlFlow::Continue(())
            }
        }
        let mut collector = Collector(Vec::new());
        self.visit(&mut collector);
        collector.0
    }
}

fn innermost(statement: &DfStatement) -> &DfStatement {
    match statement {
        DfStatement::Explain(explain) => innermost(&explain.statement),
        other => other,
    }
}

fn innermost_mut(statement: &mut DfStatement) -> &mut DfStatement {
    match statement {
        DfStatement::Explain(explain) => innermost_mut(&mut explain.statement),
        other => other,
    }
}

fn top_query(statement: &mut DfStatement) -> Option<&mut Query> {
    match innermost_mut(statement) {
        DfStatement::Statement(statement) => match statement.as_mut() {
            ast::Statement::Query(query) => Some(query),
            _ => None,
        },
        DfStatement::CopyTo(copy) => match &mut copy.source {
            CopyToSource::Query(query) => Some(query),
            CopyToSource::Relation(_) => None,
        },
        _ => None,
    }
}

/// `FROM 'x'` alone means all columns of it, which the planner does not know.
struct FromFirst;

impl VisitorMut for FromFirst {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = query.body.as_mut()
            && select.flavor == SelectFlavor::FromFirstNoSelect
            && select.projection.is_empty()
        {
            select.flavor = SelectFlavor::Standard;
            select.projection = vec![SelectItem::Wildcard(Default::default())];
        }
        ControlFlow::Continue(())
    }
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
