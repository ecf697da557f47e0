//! The dialect of statements: sqlparser's generic dialect, with the operator precedence of PostgreSQL and DuckDB.
//!
//! The generic dialect takes a whole expression for the right side of `IS [NOT] DISTINCT FROM`, so that `a IS DISTINCT
//! FROM b AND c` means `a IS DISTINCT FROM (b AND c)` in it; it holds `a = b LIKE c` for `(a = b) LIKE c` and `a || b`
//! for a product, and `^` for an exclusive or. All of that is parsed without an error, and answers another question.
//! `docs/decisions/0005-sql-means-what-postgresql-and-duckdb-mean.md` has the list.

use std::any::TypeId;

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};
use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use crate::{between, in_list};

/// The dialect of all statements.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WeirDialect;

/// Methods that are those of the generic dialect.
macro_rules! as_generic {
    ($($name:ident),* $(,)?) => {
        $(
            fn $name(&self) -> bool {
                GenericDialect {}.$name()
            }
        )*
    };
}

impl Dialect for WeirDialect {
    /// The parser treats it as the generic dialect where it compares dialects.
    fn dialect(&self) -> TypeId {
        GenericDialect {}.dialect()
    }

    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        GenericDialect {}.is_delimited_identifier_start(ch)
    }

    // `#` is an exclusive or, and no part of a name: `5 #3` was 5 with the name `#3`.
    fn is_identifier_start(&self, ch: char) -> bool {
        ch != '#' && GenericDialect {}.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        ch != '#' && GenericDialect {}.is_identifier_part(ch)
    }

    /// `1_000` is a number, as in PostgreSQL and DuckDB: it was 1 with the name `_000`.
    fn supports_numeric_literal_underscores(&self) -> bool {
        true
    }

    /// Texts on lines that follow each other are one, as in PostgreSQL: the second was the name of the first.
    fn supports_string_literal_concatenation_with_newline(&self) -> bool {
        true
    }

    // All that the generic dialect of the version in use overrides: a test holds the two together.
    as_generic!(
        supports_unicode_string_literal,
        supports_partition_by_after_order_by,
        supports_array_join_syntax,
        supports_group_by_expr,
        supports_group_by_with_modifier,
        supports_left_associative_joins_without_parens,
        supports_connect_by,
        supports_match_recognize,
        supports_pipe_operator,
        supports_start_transaction_modifier,
        supports_window_function_null_treatment_arg,
        supports_dictionary_syntax,
        supports_window_clause_named_window_reference,
        supports_parenthesized_set_variables,
        supports_select_wildcard_except,
        support_map_literal_syntax,
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_extract_comma_syntax,
        supports_create_view_comment_syntax,
        supports_parens_around_table_factor,
        supports_values_as_table_factor,
        supports_create_index_with_clause,
        supports_explain_with_utility_options,
        supports_limit_comma,
        supports_update_order_by,
        supports_from_first_select,
        supports_projection_trailing_commas,
        supports_asc_desc_in_column_definition,
        supports_try_convert,
        supports_bitwise_shift_operators,
        supports_comment_on,
        supports_load_extension,
        supports_named_fn_args_with_assignment_operator,
        supports_struct_literal,
        supports_empty_projections,
        supports_nested_comments,
        supports_multiline_comment_hints,
        supports_user_host_grantee,
        supports_string_escape_constant,
        supports_array_typedef_with_brackets,
        supports_match_against,
        supports_set_names,
        supports_comma_separated_set_assignments,
        supports_filter_during_aggregation,
        supports_select_wildcard_exclude,
        supports_data_type_signed_suffix,
        supports_interval_options,
        supports_quote_delimited_string,
        supports_select_wildcard_replace,
        supports_select_wildcard_ilike,
        supports_select_wildcard_rename,
        supports_optimize_table,
        supports_install,
        supports_detach,
        supports_prewhere,
        supports_with_fill,
        supports_limit_by,
        supports_interpolate,
        supports_settings,
        supports_select_format,
        supports_comment_optimizer_hint,
        supports_constraint_keyword_without_name,
        supports_key_column_option,
        supports_comma_separated_trim,
        supports_cte_without_as,
        supports_select_item_multi_column_alias,
        supports_xml_expressions,
    );

    fn prec_value(&self, precedence: Precedence) -> u8 {
        match precedence {
            Precedence::Period => 200,
            Precedence::DoubleColon => 140,
            Precedence::AtTz => 110,
            Precedence::Caret => 100,
            Precedence::MulDivModOp => 90,
            Precedence::PlusMinus => 80,
            Precedence::Xor => 75,
            Precedence::Ampersand | Precedence::Pipe | Precedence::Colon | Precedence::PgOther => {
                OTHER
            }
            Precedence::Between | Precedence::Like => 60,
            Precedence::Eq => 50,
            Precedence::Is => 40,
            Precedence::UnaryNot => 30,
            Precedence::And => 20,
            Precedence::Or => 10,
        }
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        match &parser.peek_token_ref().token {
            Token::LBracket => Some(Ok(BRACKET)),
            Token::StringConcat | Token::Sharp | Token::ShiftLeft | Token::ShiftRight => {
                Some(Ok(OTHER))
            }
            _ => None,
        }
    }

    /// A sign binds closer than any operator but `::` and `[]`: `-2 ^ 2` is 4.
    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        let op = match &parser.peek_token_ref().token {
            Token::Minus => UnaryOperator::Minus,
            Token::Plus => UnaryOperator::Plus,
            _ => return None,
        };
        parser.advance_token();
        let operand = parser.parse_subexpr(SIGN);
        Some(operand.map(|expr| Expr::UnaryOp {
            op,
            expr: Box::new(expr),
        }))
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        left: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        if let Some(between) = between::parse(parser, left, precedence) {
            return Some(between);
        }
        if let Some(list) = in_list::parse(parser, left) {
            return Some(list);
        }
        let left = || Box::new(left.clone());
        let op = match &parser.peek_token_ref().token {
            Token::Caret => Some(BinaryOperator::PGExp),
            Token::Sharp => Some(BinaryOperator::PGBitwiseXor),
            _ => None,
        };
        if let Some(op) = op {
            parser.advance_token();
            let right = parser.parse_subexpr(precedence);
            return Some(right.map(|right| Expr::BinaryOp {
                left: left(),
                op,
                right: Box::new(right),
            }));
        }
        if parser.parse_keywords(&[Keyword::IS, Keyword::DISTINCT, Keyword::FROM]) {
            let right = parser.parse_subexpr(precedence);
            return Some(right.map(|right| Expr::IsDistinctFrom(left(), Box::new(right))));
        }
        if parser.parse_keywords(&[Keyword::IS, Keyword::NOT, Keyword::DISTINCT, Keyword::FROM]) {
            let right = parser.parse_subexpr(precedence);
            return Some(right.map(|right| Expr::IsNotDistinctFrom(left(), Box::new(right))));
        }
        None
    }
}

const BRACKET: u8 = 130;
/// Above `AT TIME ZONE` and `^`.
const SIGN: u8 = 125;
/// `||`, `&`, `|`, `#`, shifts, and what else PostgreSQL calls "any other operator".
const OTHER: u8 = 70;

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> String {
        fn show(expr: &Expr) -> String {
            match expr {
                Expr::BinaryOp { left, op, right } => {
                    format!("({} {op} {})", show(left), show(right))
                }
                Expr::IsDistinctFrom(left, right) => {
                    format!("({} IS DISTINCT FROM {})", show(left), show(right))
                }
                Expr::IsNotDistinctFrom(left, right) => {
                    format!("({} IS NOT DISTINCT FROM {})", show(left), show(right))
                }
                Expr::UnaryOp { op, expr } => format!("({op} {})", show(expr)),
                Expr::IsNull(expr) => format!("({} IS NULL)", show(expr)),
                Expr::Nested(expr) => show(expr),
                Expr::Like { expr, pattern, .. } => {
                    format!("({} LIKE {})", show(expr), show(pattern))
                }
                other => other.to_string(),
            }
        }
        let parser = Parser::new(&WeirDialect).try_with_sql(text);
        show(&parser.and_then(|mut parser| parser.parse_expr()).unwrap())
    }

    /// `a IS DISTINCT FROM b AND c` was read as `a IS DISTINCT FROM (b AND c)`.
    #[test]
    fn is_distinct_from_ends_where_its_right_side_does() {
        for (text, expected) in [
            (
                "a IS DISTINCT FROM b AND c",
                "((a IS DISTINCT FROM b) AND c)",
            ),
            (
                "a IS NOT DISTINCT FROM b OR c AND d",
                "((a IS NOT DISTINCT FROM b) OR (c AND d))",
            ),
            (
                "p AND a IS DISTINCT FROM b OR c",
                "((p AND (a IS DISTINCT FROM b)) OR c)",
            ),
            (
                "NOT a IS DISTINCT FROM b AND c",
                "((NOT (a IS DISTINCT FROM b)) AND c)",
            ),
            (
                "a + 1 IS DISTINCT FROM b + 2 AND c",
                "(((a + 1) IS DISTINCT FROM (b + 2)) AND c)",
            ),
            (
                "x = (a IS DISTINCT FROM b AND c)",
                "(x = ((a IS DISTINCT FROM b) AND c))",
            ),
            (
                "a IS DISTINCT FROM (b AND c)",
                "(a IS DISTINCT FROM (b AND c))",
            ),
            (
                "a IS DISTINCT FROM b IS DISTINCT FROM c",
                "((a IS DISTINCT FROM b) IS DISTINCT FROM c)",
            ),
        ] {
            assert_eq!(parsed(text), expected, "{text}");
        }
    }

    #[test]
    fn operators_bind_as_in_postgresql() {
        for (text, expected) in [
            ("a || b = c", "((a || b) = c)"),
            ("a + b || c", "((a + b) || c)"),
            ("a = b LIKE c", "(a = (b LIKE c))"),
            ("a & b + c", "(a & (b + c))"),
            ("a & b = c", "((a & b) = c)"),
            ("a | b & c", "((a | b) & c)"),
            ("a = b IS NULL", "((a = b) IS NULL)"),
            ("NOT a IS NULL", "(NOT (a IS NULL))"),
            ("-a ^ b", "((- a) ^ b)"),
            ("-a * b", "((- a) * b)"),
            ("a // b * c", "((a // b) * c)"),
            ("a << b + c", "(a << (b + c))"),
            ("a # b + c", "(a # (b + c))"),
            ("a#b & c #3", "(((a # b) & c) # 3)"),
        ] {
            assert_eq!(parsed(text), expected, "{text}");
        }
    }

    #[test]
    fn texts_on_lines_of_their_own_are_one() {
        assert_eq!(parsed("a = 'b'\n  'c'\n'd'"), "(a = 'bcd')");
    }

    /// The error was "Expected: ), found: ,".
    #[test]
    fn a_list_may_begin_with_a_query() {
        for (text, elements) in [
            ("a IN ((SELECT 1), 0)", Some(2)),
            ("a NOT IN ( (SELECT 1) + 1, (SELECT 2), 3)", Some(3)),
            ("a IN ((SELECT b IN ((SELECT 1), 2))::int)", Some(1)),
            ("a IN ((1), 2)", Some(2)),
            ("(a, b) IN ((1, 2), (3, 4))", Some(2)),
            ("a IN ((SELECT 1))", None),
            ("a IN ((SELECT 1) UNION (SELECT 2))", None),
        ] {
            let parser = Parser::new(&WeirDialect).try_with_sql(text);
            let parsed = parser.and_then(|mut parser| parser.parse_expr()).unwrap();
            let found = match &parsed {
                Expr::InList { list, .. } => Some(list.len()),
                Expr::InSubquery { .. } => None,
                other => panic!("{text}: {other:?}"),
            };
            assert_eq!(found, elements, "{text}");
            assert_eq!(parsed.to_string().contains("NOT"), text.contains("NOT"));
        }
    }

    #[test]
    fn lists_of_queries_stand_in_each_other() {
        let text = format!("{}1{}", "a IN ((SELECT ".repeat(6), "), 0)".repeat(6));
        let parser = Parser::new(&WeirDialect).try_with_sql(&text);
        let parsed = parser.and_then(|mut parser| parser.parse_expr());
        assert!(matches!(parsed, Ok(Expr::InList { .. })), "{parsed:?}");
    }

    /// Another version of the parser may override more in its generic dialect: compare its `generic.rs`, and check the
    /// list in `docs/decisions/0003`.
    #[test]
    fn the_dialect_was_held_against_this_version_of_the_parser() {
        let lock = include_str!("../../../Cargo.lock");
        assert!(lock.contains("name = \"sqlparser\"\nversion = \"0.62.0\""));
    }
}
