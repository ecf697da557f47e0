//! `a IN ((SELECT 1), 0)`: a list whose first element begins with a query. The parser takes it for the query of `a IN (SELECT …)`, and stops
//! at the comma.

use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// Parses the operator behind its left side; `None` where another one stands there, and where a query may stand in the parentheses.
pub(crate) fn parse(parser: &mut Parser<'_>, left: &Expr) -> Option<Result<Expr, ParserError>> {
    is_list(parser).then(|| list(parser, left))
}

fn list(parser: &mut Parser<'_>, left: &Expr) -> Result<Expr, ParserError> {
    let negated = parser.parse_keyword(Keyword::NOT);
    parser.expect_keyword_is(Keyword::IN)?;
    parser.expect_token(&Token::LParen)?;
    let list = parser.parse_comma_separated(Parser::parse_expr)?;
    parser.expect_token(&Token::RParen)?;
    Ok(Expr::InList {
        expr: Box::new(left.clone()),
        list,
        negated,
    })
}

/// Whether IN stands there, and parentheses in its own, behind which a comma or an operator shows that they are no query's. Tokens are counted, and
/// not parsed: what is parsed twice at each level takes time that doubles with each.
fn is_list(parser: &Parser<'_>) -> bool {
    let mut tokens = (0..)
        .map(|at| parser.peek_nth_token_no_skip(at).token)
        .filter(|token| !matches!(token, Token::Whitespace(_)));
    let mut first = tokens.next();
    if is_keyword(first.as_ref(), Keyword::NOT) {
        first = tokens.next();
    }
    if !is_keyword(first.as_ref(), Keyword::IN)
        || tokens.next() != Some(Token::LParen)
        || tokens.next() != Some(Token::LParen)
    {
        return false;
    }
    let mut open = 1_usize;
    while open > 0 {
        match tokens.next() {
            Some(Token::LParen) => open += 1,
            Some(Token::RParen) => open -= 1,
            Some(Token::EOF) | None => return false,
            Some(_) => {}
        }
    }
    // Words and `|>` go on a query: UNION, LIMIT.
    !matches!(
        tokens.next(),
        None | Some(
            Token::RParen | Token::EOF | Token::Word(_) | Token::VerticalBarRightAngleBracket
        )
    )
}

fn is_keyword(token: Option<&Token>, keyword: Keyword) -> bool {
    matches!(token, Some(Token::Word(word)) if word.keyword == keyword)
}
